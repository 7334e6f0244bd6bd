// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Changes who writes and reads what, and how large it is, until the sums are those that are printed.
//!
//! Steps are drawn; one that does not lead further away is kept. Response times depend on who accesses what, a little:
//! they are those before a round of steps, and there are some rounds.

use taut_analysis::wait_free::lifetime;
use taut_analysis::wait_free::writes_during_read::Writer;
use taut_plan::select::Equations;
use taut_sweep::Object;
use taut_time::Duration;

use super::fuel_injection::SIZES;
use super::{Case, draws};
use crate::draw::Draw;
use crate::han14::generators::{TCCP, problem};

/// Bytes of all resources: each once, with WF-DBP, with WF-TCCP, and with the cheaper of both for each where the load
/// leaves no other choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Goal {
    pub(crate) bytes: u64,
    pub(crate) dbp: u64,
    pub(crate) tccp: u64,
    pub(crate) wait_free: u64,
}

/// The load to which the printed sum of WF-TCCP belongs is not printed; half way up the loads that are, and the load
/// above which nothing is locked.
pub(crate) const LOADS: [u64; 2] = [725, 950];
/// Of an index, as the mechanisms have it.
const INDEX: u64 = 1;
const ROUNDS: u32 = 4;
/// Of a round, at most.
const STEPS: u32 = 100_000;

struct Search<'c> {
    case: &'c mut Case,
    goal: &'c Goal,
    /// R by load and task.
    responses: [Vec<Duration>; 2],
}

/// Bytes of one object: DBP, TCCP, the cheaper of both at the higher load.
type Bytes = [u64; 3];

/// Changes the objects of a case so that they come as near as is found.
pub(super) fn approach(case: &mut Case, goal: &Goal, draw: &mut Draw) {
    for _ in 0..ROUNDS {
        let responses = LOADS.map(|load| {
            let problem = case.system(load).ok().and_then(|system| problem(&system, Equations::Sound).ok());
            let judged =
                problem.and_then(|mut problem| problem.judge(&vec![Some(TCCP); case.objects.len()]).ok()?);
            // Who keeps no deadline is counted as if just so.
            let just = || case.tasks.iter().map(|task| task.period).collect();
            judged.map_or_else(just, |judged| judged.responses)
        });
        Search { case, goal, responses }.round(draw);
    }
}

impl Search<'_> {
    fn bytes(&self, object: &Object) -> Bytes {
        let tccp = |responses: &[Duration]| {
            let writer =
                Writer { period: self.case.tasks[object.writer].period, within: responses[object.writer] };
            let used: Vec<_> = object.readers.iter().map(|&reader| responses[reader]).collect();
            let count = lifetime::buffers(&used, &writer).ok().and_then(|count| count.bound().copied());
            count.unwrap_or(0) * object.bytes + INDEX
        };
        let readers = object.readers.len() as u64;
        let dbp = (readers + 2) * object.bytes + (readers + 1) * INDEX;
        [dbp, tccp(&self.responses[0]), dbp.min(tccp(&self.responses[1]))]
    }

    /// How far away: a byte of what needs least counts most.
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
        // The first two have the least and the most of all sizes, and keep them.
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
