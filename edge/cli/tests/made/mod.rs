// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Recordings of an application of two tasks whose execution times are drawn, the same ones each time.

#![allow(dead_code, unreachable_pub, reason = "each test takes a part of it")]

use std::path::Path;
use std::process::Command;

use taut_event::{Ending, Kind, Record};
use taut_time::Instant;

pub const MANIFEST: &str = r#"manifest = 1

[app]
name = "arm"

[platform]
cores = [0]
memory = "16MiB"

[tasks.control]
arrival = { periodic = "5ms" }
deadline = "5ms"
wcet = { value = "2ms", source = "guess" }

[tasks.log]
arrival = { periodic = "20ms" }
deadline = "15ms"
wcet = { value = "2ms", source = "guess" }
"#;

/// The tasks of the manifest, by position.
pub const CONTROL: u16 = 0;
const LOG: u16 = 1;
pub const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// A run: jobs of `control` every 5 ms whose times have an exponential tail, and jobs of `log` every 20 ms that all
/// take the same time.
pub struct Script {
    pub seed: u64,
    /// How many jobs of `control`; a fourth of that for `log`.
    pub jobs: u64,
    /// A job of `control` that takes this much: its number, and ns.
    pub longest: Option<(u64, u64)>,
    pub machine: &'static str,
    pub ending: Ending,
}

impl Script {
    pub fn usual() -> Self {
        let machine = "cpu = Cortex-A72\nkernel = 6.6.31-rt\npreemption = PREEMPT_RT\n";
        Self { seed: 1, jobs: 4_000, longest: None, machine, ending: Ending::Done }
    }

    fn records(&self) -> Vec<Record> {
        let record = |at, kind, subject, job, value| Record {
            at: Instant::from_ns(at),
            kind,
            cpu: 0,
            subject,
            job,
            value,
        };
        let mut state = self.seed;
        let mut exponential = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            -((((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64).ln()
        };
        let mut records = vec![record(MS, Kind::Begin, 0, 0, 0)];
        for job in 0..self.jobs {
            let release = MS + job * 5 * MS;
            let drawn = 800 * US + (exponential() * 20_000.0) as u64;
            let used = self.longest.filter(|(number, _)| *number == job).map_or(drawn, |(_, ns)| ns);
            let start = release + 50 * US;
            records.push(record(release, Kind::Release, CONTROL, job, 0));
            records.push(record(start, Kind::Start, CONTROL, job, 0));
            records.push(record(start + used, Kind::Complete, CONTROL, job, used));
            if job % 4 == 0 {
                let (start, used) = (start + used, 400 * US);
                records.push(record(release, Kind::Release, LOG, job / 4, 0));
                records.push(record(start, Kind::Start, LOG, job / 4, 0));
                records.push(record(start + used, Kind::Complete, LOG, job / 4, used));
            }
        }
        records.extend(self.ending.to_record(Instant::from_ns(MS + self.jobs * 5 * MS)));
        records
    }

    /// Writes the recording of such a run of the folder's application, whose plan is made.
    pub fn record(&self, folder: &Path, file: &str) {
        self.record_of(&std::fs::read_to_string(folder.join("taut.lock")).unwrap(), folder, file);
    }

    /// The same with another plan.
    pub fn record_of(&self, plan: &str, folder: &Path, file: &str) {
        let bytes = taut_event::file::recording(plan, self.machine, &self.records()).unwrap();
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

pub struct Answer {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub fn taut(folder: &Path, line: &str) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_taut"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Answer { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A folder with the manifest and its plan.
pub fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taut.toml"), MANIFEST).unwrap();
    let answer = taut(folder.path(), "plan");
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    folder
}
