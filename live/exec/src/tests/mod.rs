// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tests on real threads: always with loose enforcement, and with strict enforcement where the system allows it. No
//! test checks how long anything took, because the machine may stall at any time.

mod across;
mod admission;
mod appendix;
mod behaviour;
mod conduct;
mod depth;
mod donation;
mod late;
mod processes;
mod random;
mod replay;
mod served;

use std::sync::{Mutex, MutexGuard, PoisonError};

use taut_event::Record;
use taut_sys::{clock, thread};
use taut_trace::Drain;

use crate::setup::CoreSetup;
use crate::shared::Shared;
use crate::{Enforcement, Setup, Wanted};

/// An injected fault, to check that a test finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Ceilings and floors exclude nobody.
    NoCeilings,
    /// There is no decision after an unlock.
    Deaf,
    /// A core has fewer threads than jobs that may have begun.
    ThreadMissing,
}

impl Fault {
    pub(crate) fn put_in(self, core: &mut CoreSetup<'_>) {
        core.no_ceilings = self == Self::NoCeilings;
        core.missing = usize::from(self == Self::ThreadMissing);
    }

    pub(crate) fn put_into(self, cores: &mut [Shared]) {
        cores.iter_mut().for_each(|core| core.deaf = self == Self::Deaf);
    }
}

/// Serialises the runs under SCHED_FIFO, because they share a CPU.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kinds of enforcement that are available here. With `TAUT_LOOSE` only loose enforcement: race detectors do not
/// understand the exclusion of strict enforcement, which comes from priorities.
pub(super) fn postures() -> Vec<Wanted> {
    if std::env::var_os("TAUT_LOOSE").is_some() {
        return vec![Wanted::Loose];
    }
    let mut setup = Setup::new();
    setup.core(cpu(), crate::LocalRule::Srp);
    let (enforcement, _) = setup.run(Wanted::Best, |exec| exec.enforcement()).unwrap();
    match enforcement {
        Enforcement::Strict => vec![Wanted::Loose, Wanted::Strict],
        Enforcement::Loose { why } => {
            println!("skipped: strict runs: {why:?}");
            vec![Wanted::Loose]
        }
    }
}

/// An existing CPU.
pub(super) fn cpu() -> u16 {
    thread::affinity().unwrap()[0]
}

/// Computes for `ns`.
pub(super) fn busy(ns: u64) {
    let end = clock::monotonic_ns() + ns;
    while clock::monotonic_ns() < end {
        std::hint::spin_loop();
    }
}

pub(super) fn drained(drain: &mut Drain) -> Vec<Record> {
    let mut records = Vec::new();
    drain.drain(|record| records.push(record));
    records
}

/// Pseudo-random numbers; the same for the same seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A value that reveals concurrent access.
#[derive(Debug, Default)]
pub(super) struct Canary {
    owner: u64,
    left: u64,
    right: u64,
}

impl Canary {
    /// Changes the value, slowly. Returns whether nobody else accessed it meanwhile.
    pub(super) fn change(&mut self, me: u64, work: impl FnOnce()) -> bool {
        let this = std::hint::black_box(self);
        let (owner, left) = (this.owner, this.left);
        let whole = owner == 0 && left == this.right;
        this.owner = me + 1;
        this.left += 1;
        work();
        let this = std::hint::black_box(this);
        let ours = this.owner == me + 1 && this.left == left + 1;
        this.right = this.left;
        this.owner = 0;
        whole && ours
    }
}
