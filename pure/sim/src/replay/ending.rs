// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How a replay ends before its records do: at a difference, or where the comparison of a core must stop.

use taut_event::Record;

use super::log::{Item, What};
use super::replayer::{Halt, Replayer, stop};
use super::{CoreState, Difference, EarlyEnd, Stop};
use crate::run::CoreStatus;
use crate::{RunEnd, Sink};

/// How many records are shown after a difference.
const AFTER: usize = 3;

impl<S: Sink> Replayer<'_, S> {
    pub(super) fn differs(
        &self,
        core: usize,
        item: Item,
        refused: Option<RunEnd>,
        records: &[Record],
    ) -> Halt {
        let cursor = &self.cursors[core];
        let record = |item: &Item| records.get(item.record).copied();
        let after = self.log.items[core].iter().skip(cursor.next + 1).take(AFTER);
        let state = |core| {
            let CoreStatus { runs, ready, waits } = self.simulation.status(core);
            CoreState { runs, ready, waits }
        };
        let Some(recorded) = record(&item) else {
            return Halt::Stops(core, stop(item, EarlyEnd::NoBeginning));
        };
        Halt::Differs(Box::new(Difference {
            core,
            index: cursor.found.events,
            recorded: (item.record, recorded),
            simulated: cursor.expected.front().copied(),
            refused,
            before: cursor.equal.iter().copied().collect(),
            recorded_after: after.filter_map(record).collect(),
            simulated_after: cursor.expected.iter().skip(1).copied().collect(),
            cores: (0..self.cursors.len()).map(state).collect(),
            held: self.held.clone(),
        }))
    }

    /// A loss of records that is recorded after a difference, or unrecorded locks, on a core that may be involved in
    /// it.
    pub(super) fn loss(&self, found: &Difference) -> Option<(usize, Stop)> {
        let component = self.log.component[found.core];
        let mut cores = (0..self.cursors.len()).filter(|core| self.log.component[*core] == component);
        let (record, at) = (found.recorded.0, found.recorded.1.at);
        let lost = |core: &usize| {
            self.log.items[*core][self.cursors[*core].next..].iter().find_map(|item| match item.what {
                What::End(why @ EarlyEnd::Lost(_)) => Some(why),
                _ => None,
            })
        };
        let stop = |core, why| (core, Stop { at, record, why });
        let silent = |core: &usize| self.log.silent[*core] && self.cursors[*core].found.dispatched;
        cores.clone().find_map(|core| Some(stop(core, lost(&core)?))).or_else(|| {
            let core = cores.find(silent)?;
            Some(stop(core, EarlyEnd::NoLocks))
        })
    }

    /// Ends the comparison of a core, and of every core that shares resources with it.
    pub(super) fn stop(&mut self, core: usize, stop: Stop) {
        for other in 0..self.cursors.len() {
            let cursor = &mut self.cursors[other];
            if self.log.component[other] != self.log.component[core] || cursor.found.stop.is_some() {
                continue;
            }
            cursor.expected.clear();
            cursor.undecided = None;
            let why = if other == core { stop.why } else { EarlyEnd::With(core) };
            // A core that has been compared to its end is not stopped.
            if other == core || self.log.items[other].get(cursor.next).is_some() {
                cursor.found.stop = Some(Stop { why, ..stop });
            }
        }
    }
}
