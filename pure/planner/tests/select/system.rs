// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random systems with offers, from a seed.

use taut_analysis::multi::Guard;
use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
use taut_planner::select::{BufferCount, Buffers, Equations, ObjectOffers, Offer, OfferMemory, Problem};
use taut_time::Duration;

pub(crate) fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

/// Random numbers that a seed determines (SplitMix64).
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn pick(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    pub(crate) fn index(&mut self, count: usize) -> usize {
        self.pick(0, count as u64 - 1) as usize
    }
}

/// A task: core, T, D, J, priority, C outside of sections, sections as (object, count, length).
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) core: usize,
    pub(crate) period: u64,
    pub(crate) deadline: u64,
    pub(crate) jitter: u64,
    pub(crate) priority: u32,
    pub(crate) outside: u64,
    pub(crate) sections: Vec<(usize, u32, u64)>,
}

#[derive(Clone, Debug)]
pub(crate) struct System {
    pub(crate) rows: Vec<Row>,
    pub(crate) objects: Vec<ObjectOffers>,
    /// Bytes that are charged once if any of these objects has a guard.
    pub(crate) charges: Vec<(u64, Vec<usize>)>,
}

impl System {
    /// Sections are longer by `held`. Sections of objects that are not `kept` are left out, but their time stays.
    pub(crate) fn set(
        &self,
        held: impl Fn(usize) -> u64,
        kept: impl Fn(usize) -> bool,
        added: &[u64],
    ) -> TaskSet {
        let task = |(at, row): (usize, &Row)| {
            let inside: u64 =
                row.sections.iter().map(|use_| u64::from(use_.1) * (use_.2 + held(use_.0))).sum();
            let requests = row.sections.iter().filter(|use_| kept(use_.0)).map(|use_| Request {
                resource: use_.0,
                count: use_.1,
                length: ns(use_.2 + held(use_.0)),
                outermost: true,
            });
            SetTask {
                name: format!("t{at}"),
                core: row.core,
                priority: row.priority,
                arrivals: ArrivalPattern::Periodic,
                period: ns(row.period),
                deadline: ns(row.deadline),
                jitter: ns(row.jitter),
                body: Body::Anywhere {
                    cost: ns(row.outside + inside + added.get(at).copied().unwrap_or(0)),
                    requests: requests.collect(),
                },
            }
        };
        let resources = (0..self.objects.len()).map(|at| Resource { name: format!("r{at}") }).collect();
        let cores = self.rows.iter().map(|row| row.core + 1).max().unwrap_or(1);
        let tasks = self.rows.iter().enumerate().map(task).collect();
        TaskSet::new(vec![SchedulingPolicy::FixedPriority; cores], resources, tasks).unwrap()
    }

    pub(crate) fn problem(&self, equations: Equations) -> Problem {
        let set = self.set(|_| 0, |_| true, &[]);
        let mut problem = Problem::new(&set, self.objects.clone(), |_| Guard::Spinning, equations).unwrap();
        for (bytes, objects) in &self.charges {
            problem.charge(*bytes, objects.clone());
        }
        problem
    }

    /// How many selections there are.
    pub(crate) fn selections(&self) -> u64 {
        self.objects.iter().map(|object| object.offers.len() as u64).product()
    }
}

/// A system with at most so many objects and at most so many selections.
pub(crate) fn small(draw: &mut Draw, objects: usize, selections: u64) -> System {
    let cores = draw.pick(1, 3).max(draw.pick(1, 3));
    let mut rows: Vec<Row> = (0..draw.pick(4, 8))
        .map(|_| {
            let period = draw.pick(60, 900);
            Row {
                core: draw.index(cores as usize),
                period,
                deadline: period - draw.pick(0, 9).saturating_sub(6) * period / 12,
                jitter: draw.pick(0, 12).saturating_sub(8),
                priority: 0,
                outside: 1 + period * draw.pick(2, 18) / 100,
                sections: Vec::new(),
            }
        })
        .collect();
    // Rate-monotonic, or random; sometimes equal.
    let monotonic = draw.pick(0, 3) > 0;
    for row in &mut rows {
        row.priority = if monotonic { 1_000 - row.period as u32 } else { draw.pick(1, 12) as u32 };
    }
    let mut system = System { rows, objects: Vec::new(), charges: Vec::new() };
    let mut left = selections;
    for at in 0..draw.pick(1, objects as u64) as usize {
        let mut parties: Vec<usize> = (0..system.rows.len()).collect();
        let readers = draw.pick(1, 3) as usize;
        let mut chosen = Vec::new();
        for _ in 0..=readers {
            chosen.push(parties.swap_remove(draw.index(parties.len())));
        }
        for &task in &chosen {
            let count = draw.pick(1, 5).saturating_sub(3).max(1) as u32;
            let longest = 4 + system.rows[task].period / 60;
            system.rows[task].sections.push((at, count, draw.pick(1, longest)));
        }
        let bytes = draw.pick(1, 200);
        let mut offers = offers(draw, bytes, chosen[0], &chosen[1..]);
        let most = left.min(7) as usize;
        while offers.len() > most.max(1) {
            offers.swap_remove(draw.index(offers.len()));
        }
        left /= offers.len() as u64;
        system.objects.push(ObjectOffers { name: format!("r{at}"), resource: at, offers });
    }
    system
}

/// The same, with a charge on some cores for their first object with a guard.
pub(crate) fn charged(draw: &mut Draw, objects: usize, selections: u64) -> System {
    let mut system = small(draw, objects, selections);
    let cores = system.rows.iter().map(|row| row.core + 1).max().unwrap_or(1);
    for core in (0..cores).filter(|_| draw.pick(0, 3) > 0).collect::<Vec<_>>() {
        let rows = system.rows.iter().filter(|row| row.core == core);
        let here = rows.flat_map(|row| row.sections.iter().map(|section| section.0)).collect();
        let bytes = draw.pick(1, 900);
        system.charges.push((bytes, here));
    }
    system
}

/// Both locks, and copies by different mechanisms, some of which are of no use.
fn offers(draw: &mut Draw, bytes: u64, writer: usize, readers: &[usize]) -> Vec<Offer> {
    let mut offer = |name: &str, guard, (low, high), held, memory| {
        let parties = [writer].into_iter().chain(readers.iter().copied());
        let added = parties.map(|task| (task, ns(draw.pick(low, high)))).collect();
        Offer { name: name.into(), guard, added, held: ns(held), memory }
    };
    let count = readers.len() as u64;
    let timed = |fixed, count| {
        OfferMemory::Timed(Buffers { fixed, each: bytes, writer, readers: readers.to_vec(), count })
    };
    vec![
        offer("spin", Guard::Spinning, (1, 1), 0, OfferMemory::Fixed(bytes + 4)),
        offer("suspend", Guard::Suspending, (2, 3), bytes % 3, OfferMemory::Fixed(bytes + 4)),
        offer("copies", Guard::Absent, (2, 4), 0, OfferMemory::Fixed((count + 2) * bytes + count)),
        offer("timed", Guard::Absent, (1, 5), 0, timed(1, BufferCount::Smallest)),
        offer("by time", Guard::Absent, (1, 5), 0, timed(0, BufferCount::Lifetime)),
        offer("slow", Guard::Absent, (5, 9), 0, OfferMemory::Fixed((count + 2) * bytes)),
        offer("two", Guard::Absent, (3, 12), 0, OfferMemory::Fixed(2 * bytes)),
    ]
}

/// As many bytes, objects and periods as in the fuel injection of [Han14]: 2 cores, 16 tasks, 46 objects, 5,032
/// bytes.
pub(crate) fn injection(seed: u64, load: u64) -> System {
    let mut draw = Draw(seed);
    let periods_ms = [4, 5, 10, 12, 50, 100, 1000];
    let mut rows = Vec::new();
    for at in 0..16usize {
        let period = periods_ms[if at < 14 { at / 2 } else { draw.index(7) }] * 1_000_000;
        let outside = period / 1_000 * draw.pick(load / 10, load / 5);
        rows.push(Row {
            core: at % 2,
            period,
            deadline: period,
            jitter: 0,
            priority: 0,
            outside,
            sections: Vec::new(),
        });
    }
    let mut order: Vec<usize> = (0..16).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(rows[at].period));
    order.iter().enumerate().for_each(|(rank, &at)| rows[at].priority = rank as u32 + 1);
    let mut system = System { rows, objects: Vec::new(), charges: Vec::new() };
    let sizes = [8, 16, 48, 128, 347];
    let mut left = 5_032;
    for at in 0..46usize {
        let bytes = if at == 45 { left } else { sizes[draw.index(5)].min(left / (46 - at as u64)).max(1) };
        left -= bytes;
        let mut parties: Vec<usize> = (0..16).collect();
        let writer = parties.swap_remove(draw.index(16));
        // A reader on the other core.
        parties.retain(|&task| task % 2 != writer % 2);
        let mut readers = vec![parties.swap_remove(draw.index(8))];
        for _ in 0..draw.pick(0, 2) {
            readers.push(parties.swap_remove(draw.index(parties.len())));
        }
        for &task in [writer].iter().chain(&readers) {
            let length = system.rows[task].outside / 1_000 * draw.pick(2, 30);
            system.rows[task].sections.push((at, 1, length.max(1_000)));
        }
        let each =
            |time: u64| [writer].iter().chain(&readers).map(|&task| (task, ns(time))).collect::<Vec<_>>();
        let count = readers.len() as u64;
        let offer = |name: &str, guard, time, memory| Offer {
            name: name.into(),
            guard,
            added: each(time),
            held: Duration::ZERO,
            memory,
        };
        let buffers =
            Buffers { fixed: 1, each: bytes, writer, readers: readers.clone(), count: BufferCount::Lifetime };
        let offers = vec![
            offer("MSRP", Guard::Spinning, 1_000, OfferMemory::Fixed(bytes + 4)),
            offer("MPCP", Guard::Suspending, 2_500, OfferMemory::Fixed(bytes + 4)),
            offer("WF-DBP", Guard::Absent, 600, OfferMemory::Fixed((count + 2) * bytes + count + 1)),
            offer("WF-TCCP", Guard::Absent, 250, OfferMemory::Timed(buffers)),
        ];
        system.objects.push(ObjectOffers { name: format!("r{at}"), resource: at, offers });
    }
    system
}
