// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules of `taut-policy` alone: the cost of a lock and an unlock without any thread.

use std::hint::black_box;

use taut_policy::queue::{Fronted, Heap, HeapSlot};
use taut_policy::{Dfp, LocalResource, Locking, Misuse, Slot, Srp, SrpTask};
use taut_time::{Duration, Instant};

use super::partner::{Row, repeated};
use crate::figures::Figures;
use crate::surroundings::Surroundings;

/// Deadlines are further away than a run lasts.
const DEADLINE: u64 = 3_600_000_000_000;

/// Makes a rule for tasks with these deadlines and resources with these floors.
type Make = fn(&[Duration], &[Duration]) -> Result<Box<dyn Paired>, Misuse>;

/// A rule beside a number of other ready tasks.
pub(super) struct Rule {
    name: &'static str,
    make: Make,
    others: u64,
    /// Whether each lock reads the clock.
    clock: bool,
}

/// A rule of any type, whose pairs of lock and unlock are timed.
trait Paired {
    fn paired(&mut self, surroundings: &Surroundings, clock: bool, others: u64) -> Result<Figures, Misuse>;
}

impl<L: Locking> Paired for L {
    fn paired(&mut self, surroundings: &Surroundings, clock: bool, others: u64) -> Result<Figures, Misuse> {
        let start = Instant::from_ns(taut_sys::clock::monotonic_ns());
        for task in 0..=others as usize {
            self.release(task, start)?;
        }
        if self.decide() != Some(0) {
            return Err(Misuse::State);
        }
        let mut refused = None;
        let figures = surroundings.both(
            |_| {
                repeated(surroundings, || {
                    let now = if clock { Instant::from_ns(taut_sys::clock::monotonic_ns()) } else { start };
                    let lock = self.lock(black_box(now), black_box(0));
                    let unlock = self.unlock(black_box(0));
                    black_box(self.decide());
                    if let (Err(misuse), _) | (_, Err(misuse)) = (lock, unlock) {
                        refused = Some(misuse);
                    }
                })
            },
            |_| (),
        );
        match (refused, figures) {
            (None, Ok((figures, _))) => Ok(figures),
            (misuse, _) => Err(misuse.unwrap_or(Misuse::State)),
        }
    }
}

fn srp(deadlines: &[Duration], ceilings: &[Duration]) -> Result<Box<dyn Paired>, Misuse> {
    let heap = Fronted::new(Heap::new(vec![HeapSlot::EMPTY; deadlines.len()]));
    let (tasks, resources) =
        (vec![SrpTask::EMPTY; deadlines.len()], vec![LocalResource::EMPTY; ceilings.len()]);
    Ok(Box::new(Srp::new(heap, tasks, deadlines, resources, ceilings)?))
}

fn dfp(deadlines: &[Duration], floors: &[Duration]) -> Result<Box<dyn Paired>, Misuse> {
    let heap = Fronted::new(Heap::new(vec![HeapSlot::EMPTY; deadlines.len()]));
    let (slots, resources) = (vec![Slot::EMPTY; deadlines.len()], vec![LocalResource::EMPTY; floors.len()]);
    Ok(Box::new(Dfp::new(heap, slots, deadlines, resources, floors, Duration::ZERO)?))
}

/// The rows for the list of all.
pub(super) fn rows() -> Vec<Box<dyn Row>> {
    let rule = |name, make, others, clock| Box::new(Rule { name, make, others, clock }) as Box<dyn Row>;
    vec![
        rule("SRP, rule alone", srp, 0, false),
        rule("SRP, rule alone, 100 ready", srp, 100, false),
        rule("DFP, rule alone", dfp, 0, false),
        rule("DFP, rule alone, 100 ready", dfp, 100, false),
        rule("DFP, rule alone, and the clock", dfp, 0, true),
    ]
}

impl Row for Rule {
    fn name(&self) -> &'static str {
        self.name
    }

    fn ours(&self) -> bool {
        true
    }

    fn trial(&self) -> &'static str {
        "alone"
    }

    fn run(&self, surroundings: &Surroundings) -> Result<Figures, String> {
        let deadlines: Vec<_> = (0..=self.others).map(|at| Duration::from_ns(DEADLINE + at)).collect();
        let made = (self.make)(&deadlines, &[Duration::from_ns(DEADLINE)]);
        let paired = made.and_then(|mut rule| rule.paired(surroundings, self.clock, self.others));
        paired.map_err(|misuse| format!("the rule refused: {misuse}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_its_time() {
        let surroundings = Surroundings::new(40).expect("two processors");
        for row in rows() {
            assert!(row.run(&surroundings).expect("figures")["ns"] > 0.0, "{}", row.name());
        }
    }
}
