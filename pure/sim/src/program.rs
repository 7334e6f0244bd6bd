// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A job's program, as a flat list of steps.

use taut_model::{Body, Segment, TaskSet, Waiting};

use crate::random::Random;
use crate::{GlobalRule, Placement, RulesFault, SectionPosition};

/// A step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) what: What,
    pub(crate) resource: u32,
    /// The length of a `Run`, in ns.
    pub(crate) time: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Run,
    Lock(Guard),
    Unlock(Guard),
    End,
}

/// What guards a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// The core's rule.
    Local,
    /// A global rule under which tasks spin.
    Spin,
    /// A global rule under which tasks suspend.
    Suspend,
}

/// The sections of a body that does not fix their places.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// Execution outside of sections, in ns.
    rest: u64,
    /// Guard, resource and length of each section, in the order of the requests.
    sections: Vec<(Guard, u32, u64)>,
    /// The same, in the order of the last job.
    ordered: Vec<(Guard, u32, u64)>,
    /// Whether the scenario fixes their places, for all jobs.
    pub(crate) exact: bool,
}

/// The most steps of all tasks' jobs together.
const OPS_MAX: usize = 1 << 20;

pub(crate) fn guard(set: &TaskSet, rules: &[GlobalRule], resource: usize) -> Guard {
    match rules[resource].waiting() {
        _ if set.is_local(resource) => Guard::Local,
        Waiting::Spinning => Guard::Spin,
        Waiting::Suspended => Guard::Suspend,
    }
}

/// Appends the program of a task's job. For a body that does not fix its places, reserves room and returns the
/// sections to place.
pub(crate) fn compile(body: &Body, guards: &[Guard], ops: &mut Vec<Op>) -> Result<Option<Open>, RulesFault> {
    let open = match body {
        Body::Segments(segments) => {
            walk(segments, guards, ops);
            None
        }
        Body::Anywhere { cost, requests } => {
            let mut sections = Vec::new();
            let mut rest = cost.as_ns();
            for request in requests {
                let count = request.count as usize;
                if sections.len().saturating_add(count) > OPS_MAX / 4 {
                    return Err(RulesFault::TooMany);
                }
                let length = request.length.as_ns();
                // The set guarantees that the sections fit into the cost.
                rest -= length * u64::from(request.count);
                let section = (guards[request.resource], request.resource as u32, length);
                sections.extend(core::iter::repeat_n(section, count));
            }
            let empty = Op { what: What::End, resource: 0, time: 0 };
            ops.extend(core::iter::repeat_n(empty, 4 * sections.len() + 1));
            Some(Open { rest, ordered: sections.clone(), sections, exact: false })
        }
    };
    ops.push(Op { what: What::End, resource: 0, time: 0 });
    if ops.len() > OPS_MAX { Err(RulesFault::TooMany) } else { Ok(open) }
}

fn walk(segments: &[Segment], guards: &[Guard], ops: &mut Vec<Op>) {
    for segment in segments {
        match segment {
            Segment::Normal(time) if time.is_zero() => {}
            Segment::Normal(time) => ops.push(Op { what: What::Run, resource: 0, time: time.as_ns() }),
            Segment::Section { resource, inside } => {
                let (guard, resource) = (guards[*resource], *resource as u32);
                ops.push(Op { what: What::Lock(guard), resource, time: 0 });
                walk(inside, guards, ops);
                ops.push(Op { what: What::Unlock(guard), resource, time: 0 });
            }
        }
    }
}

impl Open {
    /// Restores the order of the requests, so that a run does not depend on the previous run.
    pub(crate) fn reset(&mut self) {
        self.ordered.copy_from_slice(&self.sections);
        self.exact = false;
    }

    /// Writes a job with its sections at the given places, into the room that `compile` reserved.
    pub(crate) fn place_exactly(&mut self, places: &[SectionPosition], ops: &mut [Op]) {
        self.exact = true;
        let mut at = 0;
        let mut put = |op: Op| {
            ops[at] = op;
            at += 1;
        };
        let mut left = self.rest;
        let mut placed = 0;
        let mut places = places.iter();
        while placed < self.ordered.len() {
            let mut before = 0;
            if let Some(place) = places.next() {
                let same = |(_, resource, _): &(Guard, u32, u64)| *resource as usize == place.resource;
                let Some(found) = self.ordered[placed..].iter().position(same) else { continue };
                self.ordered[placed..=placed + found].rotate_right(1);
                before = place.before.as_ns().min(left);
            }
            let (guard, resource, length) = self.ordered[placed];
            placed += 1;
            left -= before;
            if before > 0 {
                put(Op { what: What::Run, resource: 0, time: before });
            }
            put(Op { what: What::Lock(guard), resource, time: 0 });
            put(Op { what: What::Run, resource: 0, time: length });
            put(Op { what: What::Unlock(guard), resource, time: 0 });
        }
        if left > 0 {
            put(Op { what: What::Run, resource: 0, time: left });
        }
        put(Op { what: What::End, resource: 0, time: 0 });
    }

    /// Writes a job with its sections placed by a pattern, into the room that `compile` reserved.
    pub(crate) fn place(&mut self, placement: Placement, random: &mut Random, ops: &mut [Op]) {
        let count = self.sections.len() as u64;
        if placement == Placement::Random {
            for last in (1..self.sections.len()).rev() {
                let other = random.up_to(last as u64) as usize;
                self.ordered.swap(last, other);
            }
        }
        let mut at = 0;
        let mut put = |op: Op| {
            ops[at] = op;
            at += 1;
        };
        let share = |index: u64| ((u128::from(self.rest) * u128::from(index)) / u128::from(count + 1)) as u64;
        let mut left = self.rest;
        for (index, &(guard, resource, length)) in self.ordered.iter().enumerate() {
            let index = index as u64;
            let before = match placement {
                Placement::Front => 0,
                Placement::Back if index == 0 => self.rest,
                Placement::Back => 0,
                Placement::Even => share(index + 1) - share(index),
                // At most twice a fair share, so that execution is left before later sections; sometimes nothing.
                Placement::Random => {
                    let fair = self.rest / (count + 1);
                    random.up_to(fair.saturating_mul(3)).saturating_sub(fair).min(left)
                }
            };
            left -= before;
            if before > 0 {
                put(Op { what: What::Run, resource: 0, time: before });
            }
            put(Op { what: What::Lock(guard), resource, time: 0 });
            put(Op { what: What::Run, resource: 0, time: length });
            put(Op { what: What::Unlock(guard), resource, time: 0 });
        }
        if left > 0 {
            put(Op { what: What::Run, resource: 0, time: left });
        }
        put(Op { what: What::End, resource: 0, time: 0 });
    }
}

#[cfg(test)]
mod tests {
    use taut_model::Request;
    use taut_time::Duration;

    use super::*;

    #[test]
    fn every_placement_is_the_same_work() {
        let request = |resource, count, length| Request {
            resource,
            count,
            length: Duration::from_ns(length),
            outermost: true,
        };
        let requests = vec![request(0, 2, 3), request(1, 1, 4)];
        let body = Body::Anywhere { cost: Duration::from_ns(23), requests };
        let mut ops = Vec::new();
        let guards = [Guard::Local, Guard::Spin];
        let mut open = compile(&body, &guards, &mut ops).expect("fits").expect("open");
        let mut random = Random::new(1);
        let runs = |ops: &[Op]| -> Vec<u64> {
            let until = ops.iter().take_while(|op| op.what != What::End);
            until.filter(|op| op.what == What::Run).map(|op| op.time).collect()
        };
        for (placement, expected) in [
            (Placement::Front, vec![3, 3, 4, 13]),
            (Placement::Back, vec![13, 3, 3, 4]),
            (Placement::Even, vec![3, 3, 3, 3, 3, 4, 4]),
        ] {
            open.place(placement, &mut random, &mut ops);
            assert_eq!(runs(&ops), expected);
        }
        let place = |resource, before| SectionPosition { resource, before: Duration::from_ns(before) };
        for (places, expected) in [
            (vec![place(1, 2), place(0, 5), place(0, 1)], vec![2, 4, 5, 3, 1, 3, 5]),
            // Resource 1 has no second section; the sections that are not listed follow.
            (vec![place(1, 2), place(1, 1), place(0, 0)], vec![2, 4, 3, 3, 11]),
            // The places ask for more execution than there is.
            (vec![place(0, 9), place(1, 9)], vec![9, 3, 4, 4, 3]),
            (vec![], vec![3, 3, 4, 13]),
        ] {
            open.reset();
            open.place_exactly(&places, &mut ops);
            assert_eq!(runs(&ops), expected);
        }
        open.reset();
        for _ in 0..100 {
            open.place(Placement::Random, &mut random, &mut ops);
            assert_eq!(runs(&ops).iter().sum::<u64>(), 23);
            let locks = ops
                .iter()
                .take_while(|op| op.what != What::End)
                .filter(|op| matches!(op.what, What::Lock(_)));
            assert_eq!(locks.count(), 3);
        }
    }
}
