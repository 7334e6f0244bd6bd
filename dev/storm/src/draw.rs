// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Draws the trials: each follows from the seed and the trial's number alone.

use crate::fault::{self, Fault};

/// An application of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Application {
    /// `apps/cochlear`.
    Cochlear,
    /// `apps/drive`.
    Drive,
    /// `sections` of this folder: its jobs take turns at a resource.
    Sections,
}

impl Application {
    /// Its name in the manifest.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cochlear => "cochlear",
            Self::Drive => "drive",
            Self::Sections => "sections",
        }
    }

    /// The folder of its manifest, relative to the repository.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Cochlear => "apps/cochlear",
            Self::Drive => "apps/drive",
            Self::Sections => "dev/storm/sections",
        }
    }

    /// The function in the program that a job of one of its tasks calls.
    pub(crate) fn function(self) -> Option<&'static str> {
        match self {
            Self::Cochlear => Some("<taut_cochlear::Processing as taut_run::component::Task>::release"),
            Self::Drive => Some("<taut_drive::Running as taut_run::component::Task>::release"),
            Self::Sections => None,
        }
    }

    /// The CPUs on which it has real-time tasks.
    pub(crate) fn cores(self) -> &'static [u16] {
        match self {
            Self::Cochlear => &[0],
            Self::Drive | Self::Sections => &[0, 1],
        }
    }
}

/// The scheduler of its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Executor {
    /// Linux, with a thread for each task.
    Native,
    /// A dispatcher on each core.
    Dispatched,
}

impl Executor {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Native, Self::Dispatched];

    /// Its name in the manifest.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Dispatched => "dispatched",
        }
    }
}

/// One run of one application with one fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trial {
    pub(crate) application: Application,
    pub(crate) executor: Executor,
    pub(crate) fault: Fault,
    /// The time from the start of the process to the fault (ms).
    pub(crate) after_ms: u64,
}

/// The earliest and the latest instant of a fault (ms): from within boot until well before the run's own end.
const AFTER_MS: std::ops::Range<u64> = 150..900;

/// The trial of this number.
pub(crate) fn trial(seed: u64, number: u64, only: Option<&str>) -> Trial {
    let mut random = SplitMix64(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
    let faults: Vec<Fault> =
        fault::all().filter(|fault| only.is_none_or(|only| fault.name() == only)).collect();
    let fault = faults[random.below(faults.len() as u64) as usize];
    let applications = fault.applications();
    let application = applications[random.below(applications.len() as u64) as usize];
    // Tasks of one core that share a lock need a dispatcher.
    let executor = match application {
        Application::Sections => Executor::Dispatched,
        _ => Executor::ALL[random.below(2) as usize],
    };
    let after_ms = AFTER_MS.start + random.below(AFTER_MS.end - AFTER_MS.start);
    Trial { application, executor, fault, after_ms }
}

/// Steele, Lea and Flood's generator, 2014.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`, which is small beside 2^64: the bias is too small to show in a storm.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_trials() {
        for number in 0..50 {
            assert_eq!(trial(7, number, None), trial(7, number, None));
        }
        assert!((0..50).any(|number| trial(7, number, None) != trial(8, number, None)));
    }

    #[test]
    fn every_fault_is_drawn_on_every_executor() {
        for fault in fault::all() {
            for executor in Executor::ALL {
                let one = fault.applications() == [Application::Sections] && executor == Executor::Native;
                let drawn = (0..8_000).map(|number| trial(1, number, None));
                assert!(
                    one || drawn.into_iter().any(|trial| trial.fault == fault && trial.executor == executor),
                    "{} {}",
                    fault.name(),
                    executor.name()
                );
            }
        }
    }

    #[test]
    fn one_fault_alone() {
        assert!((0..100).all(|number| trial(1, number, Some("SIGSEGV")).fault.name() == "SIGSEGV"));
    }

    #[test]
    fn instants_lie_within_the_run() {
        assert!((0..1_000).all(|number| AFTER_MS.contains(&trial(3, number, None).after_ms)));
    }
}
