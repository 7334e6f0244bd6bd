// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Small random systems as manifests, the same for the same seed.

use std::fmt::Write;

/// Periods in ms, with a short hyperperiod.
const PERIODS: [u64; 8] = [4, 5, 8, 10, 20, 25, 40, 50];

/// The kind of system to draw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requirements {
    pub(crate) edf: bool,
    pub(crate) cores: usize,
    /// Whether first arrivals are at different times.
    pub(crate) offsets: bool,
    /// Whether deadlines are shorter than periods.
    pub(crate) constrained: bool,
    /// Whether tasks of a core share resources.
    pub(crate) resources: bool,
    /// The most load of each core, in percent.
    pub(crate) percent: u64,
}

struct Random(u64);

impl Random {
    /// Less than `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % end
    }
}

/// A manifest. No two deadlines fall on one instant, so that EDF has no ties to break.
pub(crate) fn manifest(requirements: Requirements, seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut text = "manifest = 1\n[app]\nname = \"drawn\"\n[platform]\nmemory = \"64MiB\"\n".to_owned();
    let cores: Vec<_> = (0..requirements.cores).map(|core| core.to_string()).collect();
    let scheduler = if requirements.edf { "edf" } else { "fp" };
    writeln!(text, "cores = [{}]\nscheduler = \"{scheduler}\"", cores.join(", ")).unwrap();
    writeln!(text, "[platform.overheads]\nrelease = \"0ns\"\ncontext-switch = \"0ns\"").unwrap();
    writeln!(text, "kernel-blocking = \"0ns\"\nlock = \"0ns\"").unwrap();
    let mut number = 0;
    for core in 0..requirements.cores {
        let count = 2 + random.below(5);
        if requirements.resources {
            writeln!(text, "[resources.of-{core}]").unwrap();
        }
        for _ in 0..count {
            number += 1;
            let period = PERIODS[usize::try_from(random.below(8)).unwrap()] * 1_000;
            let share = period * requirements.percent / 100 / count;
            let cost = share / 2 + random.below(share / 2);
            let offset = if requirements.offsets { random.below(period / 1_000) * 1_000 } else { 0 };
            let least = cost.max(period / 2) / 1_000 * 1_000;
            let whole = if requirements.constrained {
                least + 1_000 + random.below((period - least) / 1_000) * 1_000
            } else {
                period
            };
            // Each task's deadline has its own remainder within a millisecond.
            let deadline = whole.max(cost + 1_000) - number;
            writeln!(
                text,
                "[tasks.task-{number}]\narrival = {{ periodic = \"{period}us\", offset = \"{offset}us\" }}"
            )
            .unwrap();
            writeln!(text, "deadline = \"{deadline}us\"\non-overrun = \"run-on\"").unwrap();
            writeln!(text, "wcet = {{ value = \"{cost}us\", source = \"static\" }}\ncore = {core}").unwrap();
            if !requirements.edf {
                writeln!(text, "priority = {}", 99 - number).unwrap();
            }
            if requirements.resources && cost > 10 && random.below(2) == 0 {
                let longest = 1 + random.below(cost / 2);
                writeln!(text, "sections = [{{ resource = \"of-{core}\", longest = \"{longest}us\" }}]")
                    .unwrap();
            }
        }
    }
    text
}
