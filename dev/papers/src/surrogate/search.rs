// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Changes the writers, readers and sizes of objects until the sums are the printed ones.
//!
//! Steps are drawn; a step that does not lead further away is kept. Response times depend a little on the writers and
//! readers. A round of steps uses those from before the round, and there are several rounds.

use taut_analysis::wait_free::lifetime;
use taut_analysis::wait_free::writes_during_read::WriterTiming;
use taut_planner::select::Equations;
use taut_sweep::SharedObject;
use taut_time::Duration;

use super::fuel_injection::SIZES;
use super::{Case, draws};
use crate::draw::Draw;
use crate::han14::generators::{TCCP, problem};

/// Bytes of all resources: one value each, with WF-DBP, with WF-TCCP, and with the cheaper of both for each where the
/// load leaves no other choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Goal {
    pub(crate) bytes: u64,
    pub(crate) dbp: u64,
    pub(crate) tccp: u64,
    pub(crate) wait_free: u64,
}

/// Loads in permille. The paper does not print the load of its WF-TCCP sum: the first is halfway up the printed
/// loads. The second is the load above which nothing is locked.
pub(crate) const LOADS: [u64; 2] = [725, 950];
/// The size of an index in the mechanisms.
const INDEX: u64 = 1;
const ROUNDS: u32 = 4;
/// The most steps of a round.
const STEPS: u32 = 100_000;

struct Search<'c> {
    case: &'c mut Case,
    goal: &'c Goal,
    /// Response times, by load and task.
    responses: [Vec<Duration>; 2],
}

/// Bytes of one object: with DBP, with TCCP at the lower load, with the cheaper of both at the higher load.
type Bytes = [u64; 3];

/// Changes the objects of a case so that their sums come as near to the goal as the search finds.
pub(super) fn approach(case: &mut Case, goal: &Goal, draw: &mut Draw) {
    for _ in 0..ROUNDS {
        let responses = LOADS.map(|load| {
            let problem = case.system(load).ok().and_then(|system| problem(&system, Equations::Sound).ok());
            let judged =
                problem.and_then(|mut problem| problem.judge(&vec![Some(TCCP); case.objects.len()]).ok()?);
            // A case that misses a deadline counts as if it just met all of them.
            let just = || case.tasks.iter().map(|task| task.period).collect();
            judged.map_or_else(just, |judged| judged.responses)
        });
        Search { case, goal, responses }.round(draw);
    }
}

impl Search<'_> {
    fn bytes(&self, object: &SharedObject) -> Bytes {
        let tccp = |responses: &[Duration]| {
            let writer = WriterTiming {
                period: self.case.tasks[object.writer].period,
                within: responses[object.writer],
            };
            let used: Vec<_> = object.readers.iter().map(|&reader| responses[reader]).collect();
            let count = lifetime::buffers(&used, &writer).ok().and_then(|count| count.bound().copied());
            count.unwrap_or(0) * object.bytes + INDEX
        };
        let readers = object.readers.len() as u64;
        let dbp = (readers + 2) * object.bytes + (readers + 1) * INDEX;
        [dbp, tccp(&self.responses[0]), dbp.min(tccp(&self.responses[1]))]
    }

    /// The distance from the goal. A byte of the smaller sums counts more.
    fn distance(&self, sums: Bytes) -> u64 {
        let goal = [self.goal.dbp, self.goal.tccp, self.goal.wait_free];
        let far = |at: usize, weight: u64| sums[at].abs_diff(goal[at]) * weight;
        far(0, 20) + far(1, 1) + far(2, 20)
    }

    fn round(mut self, draw: &mut Draw) {
        let mut each: Vec<Bytes> = self.case.objects.iter().map(|object| self.bytes(object)).collect();
        let sum = |each: &[Bytes]| {
            each.iter().fold([0; 3], |sum: Bytes, one| [0, 1, 2].map(|at| sum[at] + one[at]))
        };
        let mut nearest = self.distance(sum(&each));
        for _ in 0..STEPS {
            if nearest == 0 {
                break;
            }
            let last = self.case.objects.len() as u64 - 1;
            let [one, other] = [draw.pick(0, last) as usize, draw.pick(0, last) as usize];
            let before = [one, other].map(|at| (self.case.objects[at].clone(), each[at]));
            self.step(one, other, draw);
            for at in [one, other] {
                each[at] = self.bytes(&self.case.objects[at]);
            }
            let distance = self.distance(sum(&each));
            if distance <= nearest {
                nearest = distance;
                continue;
            }
            for (at, (object, bytes)) in [one, other].into_iter().zip(before) {
                (self.case.objects[at], each[at]) = (object, bytes);
            }
        }
    }

    fn step(&mut self, one: usize, other: usize, draw: &mut Draw) {
        let objects = &mut self.case.objects;
        // The first two objects have the least and the largest size, and keep them.
        let kept = one < 2 || other < 2 || one == other;
        match draw.pick(0, 3) {
            0 => {
                let count = draw.pick(1, 6) as usize;
                (objects[one].writer, objects[one].readers) = draws::parties(&self.case.tasks, count, draw);
            }
            1 if !kept => {
                let sizes = [objects[other].bytes, objects[one].bytes];
                [objects[one].bytes, objects[other].bytes] = sizes;
            }
            _ if !kept => {
                let most = (objects[one].bytes - SIZES[0]).min(SIZES[1] - objects[other].bytes).min(8);
                let moved = draw.pick(0, most);
                objects[one].bytes -= moved;
                objects[other].bytes += moved;
            }
            _ => {}
        }
    }
}
