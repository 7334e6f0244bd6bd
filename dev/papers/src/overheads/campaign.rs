// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! All runs: each system under each mechanism in both modes, one after the other, so that a drift of the machine
//! affects all alike.

use taut_exec::Wanted;
use taut_lock::EventCount;
use taut_sys::thread;

use super::mechanism::Mechanism;
use super::meter::{Sample, clock_ns};
use super::system::{Scheme, System};
use super::task_code::{Ground, task_codes};
use super::{dispatched, native};

/// The scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mode {
    Dispatched,
    Native,
}

impl Mode {
    pub(super) const ALL: [Self; 2] = [Self::Dispatched, Self::Native];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Dispatched => "dispatched",
            Self::Native => "native",
        }
    }
}

/// How much to run.
#[derive(Clone, Debug)]
pub(super) struct Effort {
    /// Numbers of objects.
    pub(super) objects: Vec<usize>,
    /// Systems for each number of objects and each scheme.
    pub(super) systems: u64,
    /// The length of a run, in timer periods.
    pub(super) ticks: u64,
    pub(super) wanted: Wanted,
}

/// What was run: the mode, the mechanism and the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) mode: Mode,
    pub(super) mechanism: Mechanism,
    pub(super) scheme: Scheme,
    pub(super) objects: usize,
    pub(super) which: u64,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) key: Key,
    pub(super) ticks: u64,
    pub(super) samples: Vec<Sample>,
    pub(super) refused: u64,
}

/// Runs everything.
///
/// # Errors
/// There are fewer than two processors, there is no privilege for fixed priorities, or an object reports an error.
pub(super) fn runs(effort: &Effort) -> Result<Vec<Run>, String> {
    let cpus = thread::affinity().map_err(|error| error.to_string())?;
    let &[first, second, ..] = &cpus[..] else { return Err("there is only one processor".into()) };
    let _hold = taut_sys::machine::dma_latency_hold();
    let clock_ns = clock_ns();
    let mut runs = Vec::new();
    for which in 0..effort.systems {
        for scheme in Scheme::ALL {
            for &objects in &effort.objects {
                let system = System::drawn(scheme, objects, which)?;
                for mechanism in Mechanism::ALL {
                    for mode in Mode::ALL {
                        let key = Key { mode, mechanism, scheme, objects, which };
                        runs.push(run(&system, key, effort, ([first, second], clock_ns))?);
                    }
                }
            }
        }
    }
    Ok(runs)
}

fn run(system: &System, key: Key, effort: &Effort, (cpus, clock_ns): ([u16; 2], u64)) -> Result<Run, String> {
    let Key { mode, mechanism, .. } = key;
    let mut ground = Ground::new(system, mechanism);
    let (steps, flows) = ground.stand(system, mechanism)?;
    let event_counts: Vec<EventCount> = system.tasks.iter().map(|_| EventCount::new()).collect();
    let mut task_codes = task_codes(system, steps, (&flows, &event_counts), clock_ns);
    let origin_ns = match mode {
        Mode::Dispatched => {
            let how = (cpus, effort.wanted, effort.ticks);
            dispatched::run(system, mechanism, (&mut task_codes, &event_counts), how)?
        }
        Mode::Native => {
            native::run(system, mechanism, (&mut task_codes, &event_counts), (cpus, effort.ticks))?
        }
    };
    let refused = task_codes.iter().map(|task_code| task_code.meter.refused).sum();
    let samples = task_codes.iter().flat_map(|task_code| task_code.meter.samples(origin_ns)).collect();
    Ok(Run { key, ticks: effort.ticks, samples, refused })
}
