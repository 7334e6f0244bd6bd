// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The clock of a run: the machine's, or that of a bench.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use taut_sys::{clock, thread};

/// By how much each further look of a job at the clock of a bench is later than the look before (ns).
const LOOK_NS: u64 = 1_000;

/// The clock that stamps the events of a party, or changes of mode, and the CPU in their records.
#[derive(Clone, Debug)]
pub(crate) enum RunClock {
    /// The machine's monotonic clock, and the CPU on which the thread is.
    Machine,
    /// The clock of a bench, and the CPU that the plan gives the party.
    Bench(Arc<BenchClock>, u8),
}

/// The clock of a bench. One thread at a time uses it.
#[derive(Debug, Default)]
pub(crate) struct BenchClock {
    now_ns: AtomicU64,
    /// By how much the looks of the running job have moved the time that it sees (ns).
    looks_ns: AtomicU64,
}

impl BenchClock {
    pub(crate) fn now_ns(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }

    /// Sets the instant at which all following jobs run (ns).
    pub(crate) fn set(&self, now_ns: u64) {
        self.now_ns.store(now_ns, Ordering::Relaxed);
        self.begin_job();
    }

    /// The next look is the first of a job.
    pub(crate) fn begin_job(&self) {
        self.looks_ns.store(0, Ordering::Relaxed);
    }

    fn look(&self) -> u64 {
        let looks_ns = self.looks_ns.fetch_add(LOOK_NS, Ordering::Relaxed);
        self.now_ns().saturating_add(looks_ns)
    }
}

impl RunClock {
    /// The time now (ns).
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        match self {
            Self::Machine => clock::monotonic_ns(),
            Self::Bench(clock, _) => clock.now_ns(),
        }
    }

    /// The time now, for the code of a job (ns): in a bench, each look of one job is later than the one before.
    #[inline]
    pub(crate) fn read_ns(&self) -> u64 {
        match self {
            Self::Machine => clock::monotonic_ns(),
            Self::Bench(clock, _) => clock.look(),
        }
    }

    /// Whether it is the clock of a bench.
    pub(crate) fn is_virtual(&self) -> bool {
        matches!(self, Self::Bench(..))
    }

    /// The number of the CPU, as records have it.
    #[inline]
    pub(crate) fn cpu(&self) -> u8 {
        match self {
            Self::Machine => u8::try_from(thread::current_cpu()).unwrap_or(u8::MAX),
            Self::Bench(_, cpu) => *cpu,
        }
    }
}
