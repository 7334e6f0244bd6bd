// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a thread that is not real-time learns about the executor's threads.

use crate::run::exec::Exec;
use crate::violation::Outside;

impl Exec<'_> {
    /// Threads of all cores that someone outside has moved since the executor placed them. Cores are in the order of
    /// the set-up. Finds nothing if Linux does not enforce the dispatcher's decisions.
    ///
    /// Takes some microseconds per thread; for a thread that is not real-time. A thread whose priority the executor
    /// is just about to change may look moved: rely on what two calls find, some milliseconds apart.
    pub fn outside(&self) -> impl Iterator<Item = (u32, Outside)> + '_ {
        self.cores.iter().flat_map(|core| core.moved().map(|found| (core.cpu, found)))
    }

    /// The process that traces a thread of the executor.
    pub fn tracer(&self) -> Option<u32> {
        self.cores.iter().find_map(|core| match core.outside() {
            Some(Outside::Traced { by }) => Some(by),
            _ => None,
        })
    }

    /// The least `SCHED_FIFO` priority that a thread of the core on this CPU may have. Linux may prefer any thread
    /// above it to a job. `None` if there is no such core, or its threads have no priorities.
    pub fn least_priority(&self, cpu: u32) -> Option<u8> {
        let core = self.cores.iter().find(|core| core.cpu == cpu && core.strict)?;
        Some(core.least_priority)
    }
}
