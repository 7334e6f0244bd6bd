// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random systems as [Han14, section IV] describes them. What the text known here has lost is assumed, and marked so.
//!
//! ```text
//! cores       2
//! tasks       4 to 20 on each; T one of 5, 10, 20, 50, 100, 200, 500, 1000 ms (assumed; their greatest common divisor
//!             is 5 ms, as the text says), D = T, rate-monotonic
//! load        given, on each core, mechanisms not included; cut among its tasks so that all ways are as likely
//! objects     the output of each task goes to 1 to 3 others (50, 40, 10 %) in the light scheme, 1 to 4 (20, 30, 30, 20)
//!             in the medium, 1 to 5 (10, 20, 30, 30, 10) in the heavy one
//! bytes       of 1, 4, 24, 48, 128, 256 and 512: the shares are lost; assumed 30, 30, 20, 20 % of the first four in the
//!             light scheme, 20 % of the first five in the medium, 10, 20, 20, 10, 20, 10, 10 % in the heavy one
//! sections    one per access; of a task they take 1 to 10 % of its execution time together
//! ```

use taut_model::{Arrivals, Body, Request, Resource, Scheduler, SetTask, TaskSet};
use taut_time::Duration;

use crate::draw::Draw;

/// How much is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Light,
    Medium,
    Heavy,
}

/// What is wished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) scheme: Scheme,
    /// Of each core, in permille.
    pub(crate) load: u64,
    /// How many objects of both cores; others are left out. `None`: as many as come.
    pub(crate) objects: Option<usize>,
}

/// Tasks, and what they share.
#[derive(Clone, Debug)]
pub(crate) struct System {
    /// With a resource per object, in their order.
    pub(crate) set: TaskSet,
    pub(crate) objects: Vec<Shared>,
}

/// An object with its parties.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) bytes: u64,
    pub(crate) writer: usize,
    pub(crate) readers: Vec<usize>,
}

const PERIODS_MS: [u64; 8] = [5, 10, 20, 50, 100, 200, 500, 1000];

impl Scheme {
    fn readers(self, draw: &mut Draw) -> usize {
        match self {
            Self::Light => draw.weighted(&[(50, 1), (40, 2), (10, 3)]),
            Self::Medium => draw.weighted(&[(20, 1), (30, 2), (30, 3), (20, 4)]),
            Self::Heavy => draw.weighted(&[(10, 1), (20, 2), (30, 3), (30, 4), (10, 5)]),
        }
    }

    fn bytes(self, draw: &mut Draw) -> u64 {
        match self {
            Self::Light => draw.weighted(&[(30, 1), (30, 4), (20, 24), (20, 48)]),
            Self::Medium => draw.weighted(&[(20, 1), (20, 4), (20, 24), (20, 48), (20, 128)]),
            Self::Heavy => {
                draw.weighted(&[(10, 1), (20, 4), (20, 24), (10, 48), (20, 128), (10, 256), (10, 512)])
            }
        }
    }
}

/// Draws systems until one has what is wished.
pub(crate) fn draw(wish: &Wish, seed: u64) -> System {
    let mut draw = Draw::new(seed);
    loop {
        if let Some(system) = once(wish, &mut draw) {
            return system;
        }
    }
}

fn once(wish: &Wish, draw: &mut Draw) -> Option<System> {
    let counts: Vec<usize> = (0..2).map(|_| draw.pick(4, 20) as usize).collect();
    let mut rows = Vec::new();
    for (core, &count) in counts.iter().enumerate() {
        for share in draw.cut(wish.load * 1_000, count) {
            let period = draw.of(&PERIODS_MS) * 1_000_000;
            // Of a millionth of a core at least, so that there is something to execute.
            rows.push((core, period, (period / 1_000_000 * share.max(100)).max(1_000)));
        }
    }
    // Who reads what.
    let mut objects = Vec::new();
    for writer in 0..rows.len() {
        let mut others: Vec<usize> = (0..rows.len()).filter(|&other| other != writer).collect();
        let readers: Vec<usize> = (0..wish.scheme.readers(draw))
            .map(|_| others.swap_remove(draw.pick(0, others.len() as u64 - 1) as usize))
            .collect();
        let bytes = wish.scheme.bytes(draw);
        // What stays on a core is not the question.
        if readers.iter().any(|&reader| rows[reader].0 != rows[writer].0) {
            objects.push(Shared { bytes, writer, readers });
        }
    }
    if let Some(wished) = wish.objects {
        if objects.len() < wished {
            return None;
        }
        objects.truncate(wished);
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&task| std::cmp::Reverse(rows[task].1));
    let mut tasks = Vec::new();
    for (at, &(core, period, cost)) in rows.iter().enumerate() {
        let accessed = objects
            .iter()
            .enumerate()
            .filter(|(_, object)| object.writer == at || object.readers.contains(&at));
        let accessed: Vec<usize> = accessed.map(|(at, _)| at).collect();
        let inside = cost / 1_000 * draw.pick(10, 100);
        let lengths = draw.cut(inside, accessed.len().max(1));
        let requests = accessed.iter().zip(lengths).map(|(&resource, length)| Request {
            resource,
            count: 1,
            length: Duration::from_ns(length.max(1)),
            outermost: true,
        });
        let requests: Vec<Request> = requests.collect();
        let sections: u64 = requests.iter().map(|request| request.length.as_ns()).sum();
        let priority = order.iter().position(|&task| task == at).unwrap_or(0) as u32 + 1;
        tasks.push(SetTask {
            name: format!("t{at}"),
            core,
            priority,
            arrivals: Arrivals::Periodic,
            period: Duration::from_ns(period),
            deadline: Duration::from_ns(period),
            jitter: Duration::ZERO,
            body: Body::Anywhere { cost: Duration::from_ns(cost.max(sections)), requests },
        });
    }
    let resources = (0..objects.len()).map(|at| Resource { name: format!("r{at}") }).collect();
    let set = TaskSet::new(vec![Scheduler::FixedPriority; 2], resources, tasks).ok()?;
    Some(System { set, objects })
}
