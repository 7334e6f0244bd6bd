// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Where a replay ends: at a difference, where a core cannot be compared any further, or with its records.

use taut_event::Record;

use super::player::{Halt, Player, stop};
use super::tape::{Item, What};
use super::{CoreState, Difference, Stop, Why};
use crate::run::Seat;
use crate::{End, Sink};

/// Records that are shown behind a difference.
const AFTER: usize = 3;

impl<S: Sink> Player<'_, S> {
    pub(super) fn differs(&self, core: usize, item: Item, refused: Option<End>, records: &[Record]) -> Halt {
        let lane = &self.lanes[core];
        let record = |item: &Item| records.get(item.record).copied();
        let after = self.tape.items[core].iter().skip(lane.next + 1).take(AFTER);
        let state = |core| {
            let Seat { runs, ready, waits } = self.simulation.seat(core);
            CoreState { runs, ready, waits }
        };
        let Some(recorded) = record(&item) else { return Halt::Stops(core, stop(item, Why::NoBeginning)) };
        Halt::Differs(Box::new(Difference {
            core,
            index: lane.found.events,
            recorded: (item.record, recorded),
            simulated: lane.expected.front().copied(),
            refused,
            before: lane.equal.iter().copied().collect(),
            recorded_after: after.filter_map(record).collect(),
            simulated_after: lane.expected.iter().skip(1).copied().collect(),
            cores: (0..self.lanes.len()).map(state).collect(),
            held: self.held.clone(),
        }))
    }

    /// A loss that is told of behind a difference, or locks that were not recorded, on a core that may have to do with
    /// it.
    pub(super) fn loss(&self, found: &Difference) -> Option<(usize, Stop)> {
        let component = self.tape.component[found.core];
        let mut cores = (0..self.lanes.len()).filter(|core| self.tape.component[*core] == component);
        let (record, at) = (found.recorded.0, found.recorded.1.at);
        let lost = |core: &usize| {
            self.tape.items[*core][self.lanes[*core].next..].iter().find_map(|item| match item.what {
                What::End(why @ Why::Lost(_)) => Some(why),
                _ => None,
            })
        };
        let stop = |core, why| (core, Stop { at, record, why });
        let silent = |core: &usize| self.tape.silent[*core] && self.lanes[*core].found.dispatched;
        cores.clone().find_map(|core| Some(stop(core, lost(&core)?))).or_else(|| {
            let core = cores.find(silent)?;
            Some(stop(core, Why::NoLocks))
        })
    }

    /// A core is not compared any further, nor is any that shares resources with it.
    pub(super) fn stop(&mut self, core: usize, stop: Stop) {
        for other in 0..self.lanes.len() {
            let lane = &mut self.lanes[other];
            if self.tape.component[other] != self.tape.component[core] || lane.found.stop.is_some() {
                continue;
            }
            lane.expected.clear();
            lane.undecided = None;
            let why = if other == core { stop.why } else { Why::With(core) };
            // What has been compared to its end is not cut short.
            if other == core || self.tape.items[other].get(lane.next).is_some() {
                lane.found.stop = Some(Stop { why, ..stop });
            }
        }
    }

    pub(super) fn finish(&mut self) {
        for core in 0..self.lanes.len() {
            // A rule that refuses here has nothing recorded beside it.
            let _ = self.decide(core);
        }
    }
}
