// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Charges a set for the overheads that were measured on this machine in the same run, pessimistically:
//!
//! | what | charged as |
//! |---|---|
//! | context switch x | C' = C + 2x; where waiting jobs suspend, 2x more for every request of a global resource |
//! | release y, kernel blocking k | J' = J + y + k |
//! | lock l | every section is longer by l; where waiting jobs suspend, by y besides |
//! | kernel blocking in a section that other cores wait for | the section is longer by k |
//! | clock read r, in a job that executes for a given time | every part of a job is longer by r |
//! | dispatcher v | at every release of the core, above all its tasks |
//! | probe p | at every release of the core, and every [`EVERY`] |
//!
//! The last two interrupt in streams s: each takes at most C_s · ⌈(w + y) / T_s⌉ of a window w. All streams together
//! take at most K + u · w, where u is the sum of C_s / T_s and K the sum of C_s · (1 + y / T_s). Execution of length
//! x ends after (x + K) / (1 − u) at most. So all execution is scaled by 1 / (1 − u). K / (1 − u) is added once to
//! the jitter of each job, and once to each section that other cores wait for. A job that spins for such a section is
//! interrupted too, so the section is scaled once more.

use taut_model::{Body, Request, Segment, SetTask, TaskSet};
use taut_time::Duration;

use super::probe::EVERY;

/// u is counted in units of 1 / `WHOLE`. Also the nanoseconds of a second.
pub(crate) const WHOLE: u128 = 1_000_000_000;

/// The measured overheads, in ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overheads {
    /// y: from the instant that a thread sleeps until to its first instruction.
    pub(crate) release_ns: u64,
    /// k: how much later a release is while ordinary threads execute system calls.
    pub(crate) kernel_ns: u64,
    /// x: from a wake-up to the first instruction of the woken thread.
    pub(crate) switch_ns: u64,
    /// l: an empty section, recorded.
    pub(crate) lock_ns: u64,
    /// r: a clock read of a job that executes for a given time.
    pub(crate) read_ns: u64,
    /// v: the time that a visit of the dispatcher takes from a job that continues.
    pub(crate) visit_ns: u64,
    /// p: the time that a look of the probe takes from a job.
    pub(crate) look_ns: u64,
}

impl Overheads {
    /// The time that interrupts take from a core's jobs at a release.
    pub(crate) fn interrupts_ns(&self) -> u64 {
        self.visit_ns + self.look_ns
    }
}

/// The streams of the worst core.
struct Streams {
    /// u.
    share: u128,
    /// K / (1 − u).
    once_ns: u64,
}

impl Streams {
    /// None if the streams leave no time.
    fn of(set: &TaskSet, add: &Overheads) -> Option<Self> {
        let mut worst = Self { share: 0, once_ns: 0 };
        for core in 0..set.cores().len() {
            let releases = set.on_core(core).map(|at| (add.interrupts_ns(), set.tasks()[at].period.as_ns()));
            let (mut share, mut once) = (0, 0);
            for (cost, period) in releases.chain([(add.look_ns, EVERY.as_ns())]) {
                share += (u128::from(cost) * WHOLE).div_ceil(u128::from(period));
                once += u128::from(cost)
                    + (u128::from(cost) * u128::from(add.release_ns)).div_ceil(u128::from(period));
            }
            if share >= WHOLE {
                return None;
            }
            worst.share = worst.share.max(share);
            worst.once_ns = worst.once_ns.max(u64::try_from(once).ok()?);
        }
        worst.once_ns = worst.slower(worst.once_ns);
        Some(worst)
    }

    /// x / (1 − u), rounded up.
    fn slower(&self, ns: u64) -> u64 {
        (u128::from(ns) * WHOLE).div_ceil(WHOLE - self.share) as u64
    }

    /// The longest time that a section takes, as seen by jobs that wait for it on another core.
    fn waited_for(&self, ns: u64) -> u64 {
        self.slower(self.slower(ns) + self.once_ns)
    }
}

/// The set to analyse, with all charges. `suspends` says for which resources waiting jobs suspend. None if a core has
/// no time left.
pub(crate) fn charged(set: &TaskSet, suspends: impl Fn(usize) -> bool, add: &Overheads) -> Option<TaskSet> {
    let streams = Streams::of(set, add)?;
    let section = |resource: usize, ns: u64| {
        if set.is_local(resource) {
            return streams.slower(ns + add.lock_ns + add.read_ns);
        }
        let wakes = if suspends(resource) { add.release_ns } else { 0 };
        streams.waited_for(ns + add.lock_ns + add.read_ns + add.kernel_ns + wakes)
    };
    let away = |resource: usize| {
        if !set.is_local(resource) && suspends(resource) { 2 * add.switch_ns } else { 0 }
    };
    let task = |task: &SetTask| {
        let late = add.release_ns + add.kernel_ns + streams.once_ns;
        let jitter = Duration::from_ns(task.jitter.as_ns() + late);
        let body = match &task.body {
            Body::Anywhere { cost, requests } => {
                let (mut rest, mut sections) = (cost.as_ns(), 0);
                let mut all = Vec::new();
                for request in requests {
                    let (length, count) = (request.length.as_ns(), u64::from(request.count));
                    let longer = section(request.resource, length);
                    rest =
                        rest.saturating_sub(length * count) + (away(request.resource) + add.read_ns) * count;
                    sections += longer * count;
                    all.push(Request { length: Duration::from_ns(longer), ..*request });
                }
                let cost = sections + streams.slower(rest + add.read_ns + 2 * add.switch_ns);
                Body::Anywhere { cost: Duration::from_ns(cost), requests: all }
            }
            Body::Segments(segments) => {
                let switches = Segment::Normal(Duration::from_ns(streams.slower(2 * add.switch_ns)));
                let parts = parts(segments, &section, &away, &streams, add);
                Body::Segments([switches].into_iter().chain(parts).collect())
            }
        };
        SetTask { jitter, body, ..task.clone() }
    };
    let tasks = set.tasks().iter().map(task).collect();
    TaskSet::new(set.cores().to_vec(), set.resources().to_vec(), tasks).ok()
}

fn parts(
    segments: &[Segment],
    section: &impl Fn(usize, u64) -> u64,
    away: &impl Fn(usize) -> u64,
    streams: &Streams,
    add: &Overheads,
) -> Vec<Segment> {
    let normal = |ns: u64| Segment::Normal(Duration::from_ns(ns));
    let mut all = Vec::new();
    for segment in segments {
        match segment {
            Segment::Normal(time) => all.push(normal(streams.slower(time.as_ns() + add.read_ns))),
            Segment::Section { resource, inside } => {
                all.push(normal(streams.slower(away(*resource))));
                // The charge for the section itself, beyond its parts. Nothing nests inside a global section, so the
                // whole charge applies once.
                let mut within = parts(inside, section, away, streams, add);
                let own: u64 = within.iter().map(length).sum();
                let plain: u64 = inside.iter().map(length).sum();
                within.push(normal(
                    section(*resource, plain).saturating_sub(own).max(streams.slower(add.lock_ns)),
                ));
                all.push(Segment::Section { resource: *resource, inside: within });
            }
        }
    }
    all
}

fn length(segment: &Segment) -> u64 {
    match segment {
        Segment::Normal(time) => time.as_ns(),
        Segment::Section { inside, .. } => inside.iter().map(length).sum(),
    }
}

#[cfg(test)]
mod tests {
    use taut_model::{ArrivalPattern, Resource, SchedulingPolicy};

    use super::*;

    fn set(body: Body) -> TaskSet {
        let task = SetTask {
            name: "a".into(),
            core: 0,
            priority: 1,
            arrivals: ArrivalPattern::Sporadic,
            period: Duration::from_ms(10),
            deadline: Duration::from_ms(10),
            jitter: Duration::ZERO,
            body,
        };
        let resources = vec![Resource { name: "r".into() }];
        TaskSet::new(vec![SchedulingPolicy::FixedPriority], resources, vec![task]).unwrap()
    }

    fn anywhere() -> TaskSet {
        let request = Request { resource: 0, count: 2, length: Duration::from_us(100), outermost: true };
        set(Body::Anywhere { cost: Duration::from_us(1000), requests: vec![request] })
    }

    #[test]
    fn nothing_measured_is_nothing_charged() {
        let set = anywhere();
        assert_eq!(charged(&set, |_| false, &Overheads::default()), Some(set));
    }

    #[test]
    fn each_overhead_comes_where_it_belongs() {
        let set = anywhere();
        let with = |add: Overheads| charged(&set, |_| false, &add).unwrap();
        let none = Overheads::default();
        let later = with(Overheads { release_ns: 7, kernel_ns: 5, ..none });
        assert_eq!((later.tasks()[0].jitter.as_ns(), later.cost(0)), (12, set.cost(0)));
        let locked = with(Overheads { lock_ns: 300, ..none });
        assert_eq!(locked.requests(0)[0].length.as_ns(), 100_300);
        assert_eq!(locked.cost(0).as_ns(), 1_000_600);
        let read = with(Overheads { read_ns: 10, ..none });
        assert_eq!((read.requests(0)[0].length.as_ns(), read.cost(0).as_ns()), (100_010, 1_000_050));
        // Looks of 50 us every 500 us take a tenth.
        let looked = with(Overheads { look_ns: 50_000, ..none });
        assert!(looked.cost(0) > Duration::from_us(1_100), "{looked:?}");
        assert!(looked.tasks()[0].jitter > Duration::from_us(100));
        assert_eq!(charged(&set, |_| false, &Overheads { look_ns: EVERY.as_ns(), ..none }), None);
    }

    /// Sections at fixed places are charged no less than sections without.
    #[test]
    fn placed_or_not() {
        let inside = vec![Segment::Normal(Duration::from_us(100))];
        let section = Segment::Section { resource: 0, inside };
        let rest = |us| Segment::Normal(Duration::from_us(us));
        // As many parts as a job with sections anywhere can have.
        let placed = set(Body::Segments(vec![rest(300), section.clone(), rest(300), section, rest(200)]));
        let add = Overheads {
            release_ns: 9_000,
            kernel_ns: 9,
            switch_ns: 3_000,
            lock_ns: 400,
            read_ns: 500,
            visit_ns: 9_000,
            look_ns: 4_000,
        };
        let one = charged(&placed, |_| false, &add).unwrap();
        let other = charged(&anywhere(), |_| false, &add).unwrap();
        assert!(one.cost(0) >= other.cost(0), "{} {}", one.cost(0), other.cost(0));
        assert!(one.requests(0)[0].length >= other.requests(0)[0].length);
    }
}
