// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random sets, for tests that compare two forms of one analysis.

use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
use taut_time::Duration;

/// Numbers that look random and are the same in every run.
pub(super) struct Draw(pub(super) u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// 0 to `number` - 1.
    pub(super) fn below(&mut self, number: usize) -> usize {
        (self.next() % number as u64) as usize
    }

    /// 0 to `most`.
    pub(super) fn up_to(&mut self, most: u64) -> u64 {
        let wide = (self.next() << 31) ^ self.next();
        wide % most.saturating_add(1).max(1)
    }
}

/// A set under fixed priority with `each` tasks on each of `cores` cores; most of them use resources.
pub(super) fn set(draw: &mut Draw, cores: usize, each: usize, resources: usize) -> TaskSet {
    let ns = Duration::from_ns;
    let mut tasks = Vec::new();
    for core in 0..cores {
        for rank in 0..each {
            let period = [1_000, 2_000, 5_000, 10_000, 100_000][draw.below(5)] + draw.up_to(50);
            let mut requests = Vec::new();
            for resource in 0..resources {
                if draw.below(3) < 2 {
                    let (count, length) = (draw.below(3) as u32 + 1, ns(draw.up_to(9) + 1));
                    requests.push(Request { resource, count, length, outermost: true });
                }
            }
            let inside: u64 =
                requests.iter().map(|request| u64::from(request.count) * request.length.as_ns()).sum();
            let share = period / (each as u64 * [2, 4, 40][draw.below(3)]);
            tasks.push(SetTask {
                name: "t".into(),
                core,
                // Some tasks are equally urgent.
                priority: (rank / 2 * 2 + draw.below(2)) as u32 + 1,
                arrivals: ArrivalPattern::Sporadic,
                period: ns(period),
                deadline: ns(period - draw.up_to(period / 4)),
                jitter: ns(draw.up_to(period / 20)),
                body: Body::Anywhere { cost: ns(inside + draw.up_to(share) + 1), requests },
            });
        }
    }
    let resources = vec![Resource { name: "r".into() }; resources];
    TaskSet::new(vec![SchedulingPolicy::FixedPriority; cores], resources, tasks).expect("valid")
}
