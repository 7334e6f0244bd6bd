// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Queues and chains against simulation on small sets: capacity, latency and age are never exceeded, and attained
//! where the analysis calls itself exact.

mod draw;
mod simulator;

use draw::Draw;
use simulator::{Source, Task, run};
use taut_analysis::Verdict;
use taut_analysis::chain::{ChainLink, age};
use taut_analysis::queue::{SendingTask, TakingTask, capacity, latency, wait};
use taut_time::Duration;

fn ns(ticks: u64) -> Duration {
    Duration::from_ns(ticks)
}

/// Writer and reader are each alone on a core, so that response times are known: jitter plus cost.
#[derive(Clone, Copy, Debug)]
struct Pair {
    tw: u64,
    rw: u64,
    n: u64,
    tr: u64,
    rr: u64,
    m: u64,
    triggered: bool,
}

impl Pair {
    fn draw(draw: &mut Draw) -> Self {
        let n = draw.pick(1, 3);
        let m = draw.pick(1, 3);
        let tr = draw.pick(2, 14);
        let least = (n * tr).div_ceil(m).max(2);
        let tw = if draw.chance(40) { least } else { least + draw.pick(0, 12) };
        Self { tw, rw: draw.pick(1, tw), n, tr, rr: draw.pick(1, tr), m, triggered: draw.chance(50) }
    }

    fn ends(&self) -> (SendingTask, TakingTask) {
        let writer = SendingTask { period: ns(self.tw), response: ns(self.rw), sends: self.n as u32 };
        let (period, response) = (ns(self.tr), ns(self.rr));
        (writer, TakingTask { period, response, takes: self.m as u32, triggered: self.triggered })
    }

    /// A random run: jobs take anything from a tick to all of their time.
    fn tasks(&self, end: u64, draw: &mut Draw) -> Vec<Task> {
        let mut writer = Task::plain(0, 1, 1, jobs(self.tw, self.rw - 1, draw.chance(50), end, draw));
        writer.sends = Some((0, self.n));
        let mut reader = Task::plain(1, 1, 1, jobs(self.tr, self.rr - 1, false, end, draw));
        if self.triggered {
            reader.source = Source::Queue { queue: 0, gap: self.tr, jitter: self.rr - 1 };
        }
        reader.takes = Some((0, self.m));
        vec![writer, reader]
    }
}

/// Arrivals every `period` after a random start, sometimes later if `sporadic`; releases up to `jitter` later.
fn jobs(period: u64, jitter: u64, sporadic: bool, end: u64, draw: &mut Draw) -> Vec<(u64, u64)> {
    let mut list: Vec<(u64, u64)> = Vec::new();
    let mut arrival = draw.pick(0, period);
    while arrival < end {
        let late = if draw.chance(30) { draw.pick(0, jitter) } else { jitter * draw.pick(0, 1) };
        list.push((arrival, arrival + late));
        arrival += period + if sporadic && draw.chance(30) { draw.pick(0, period) } else { 0 };
    }
    list
}

#[test]
fn no_run_needs_a_longer_queue_or_more_time() {
    let (mut full, mut slow, mut single, mut single_full) = (0, 0, 0, 0);
    for seed in 0..400 {
        let draw = &mut Draw::new(seed);
        let pair = Pair::draw(draw);
        let (writer, reader) = pair.ends();
        let values = *capacity(&writer, &reader).unwrap().bound().expect("the rate fits");
        let longest = latency(&writer, &reader).unwrap().bound().expect("the rate fits").as_ns();
        let (mut occupancy, mut delay) = (0, 0);
        for _ in 0..40 {
            let seen = run(&pair.tasks(200, draw), 1, 200, draw);
            occupancy = occupancy.max(seen.occupancy[0]);
            delay = delay.max(seen.latency[0]);
        }
        assert!(occupancy <= values, "{pair:?}: {occupancy} waited, {values} fit");
        assert!(delay <= longest, "{pair:?}: {delay} took longer than {longest}");
        full += u32::from(occupancy == values);
        slow += u32::from(delay + 2 >= longest);
        if pair.n == 1 && pair.m == 1 {
            single += 1;
            single_full += u32::from(occupancy == values);
        }
    }
    // Random runs do not find every worst case; that they find about half says that the bounds give little away.
    assert!(full > 160 && slow > 130, "{full} {slow}");
    assert!(single_full * 10 > single * 8, "{single_full} of {single}");
}

/// The claim of exactness, for one value per job: the run that the proof describes fills the queue.
#[test]
fn some_run_fills_the_queue() {
    // Writer: late once, then early. Reader: reads just before the first send, then as late as possible.
    let pair = Pair { tw: 8, rw: 3, n: 1, tr: 8, rr: 7, m: 1, triggered: false };
    let (writer, reader) = pair.ends();
    let bound = capacity(&writer, &reader).unwrap();
    assert_eq!(bound, Verdict::Schedulable(3));
    let mut send = Task::plain(0, 2, 1, vec![(0, 2), (8, 8), (16, 16)]);
    send.sends = Some((0, 1));
    let mut take = Task::plain(1, 1, 1, vec![(2, 2), (10, 16), (18, 18)]);
    take.takes = Some((0, 1));
    let most = (0..50).map(|seed| {
        let seen = run(&[send.clone(), take.clone()], 1, 40, &mut Draw::new(seed));
        seen.occupancy[0]
    });
    assert_eq!(most.max(), Some(3));
}

#[test]
fn figures_by_hand() {
    let pair = |tw, rw, n, tr, rr, m, triggered| Pair { tw, rw, n, tr, rr, m, triggered }.ends();
    let all = |(w, r): (SendingTask, TakingTask)| {
        let bound = |v: Verdict<Duration>| v.bound().map(|d| d.as_ns());
        let values = capacity(&w, &r).unwrap().bound().copied();
        (values, bound(wait(&w, &r).unwrap()), bound(latency(&w, &r).unwrap()))
    };
    // Same period: a value just missed waits for the next job.
    assert_eq!(all(pair(8, 2, 1, 8, 5, 1, false)), (Some(2), Some(8), Some(8 + 5 + 2)));
    // A receiver whose gap is short follows at once.
    assert_eq!(all(pair(8, 2, 1, 4, 1, 1, true)), (Some(1), Some(0), Some(1)));
    // Its gap equals the period: a late send delays the next arrival by as much.
    assert_eq!(all(pair(8, 2, 1, 8, 1, 1, true)), (Some(1), Some(0), Some(2 + 1)));
    // Three values per job to a receiver that takes one: the last waits for two gaps.
    assert_eq!(all(pair(30, 1, 3, 5, 1, 1, true)), (Some(3), Some(10), Some(10 + 1)));
    // Four jobs of the writer for one of the reader.
    assert_eq!(all(pair(2, 1, 1, 8, 4, 4, false)), (Some(7), Some(8), Some(8 + 4 + 1)));
    // More is sent than taken.
    assert_eq!(all(pair(7, 1, 1, 8, 1, 1, false)), (None, None, None));
}

#[test]
fn a_huge_count_takes_the_other_bound() {
    let writer = SendingTask { period: ns(1), response: ns(1), sends: 1 };
    let reader = TakingTask { period: ns(4_000_000_000), response: ns(1), takes: u32::MAX, triggered: false };
    // ⌊(1 + T_r + 1) / 1⌋ + 1
    assert_eq!(capacity(&writer, &reader).unwrap(), Verdict::Schedulable(4_000_000_003));
    let endless = SendingTask { response: Duration::MAX, ..writer };
    assert_eq!(capacity(&endless, &reader), Err(taut_analysis::Overflow));
}

/// Random chains of three tasks on two cores, through queues with periodic and triggered readers.
#[test]
fn no_run_makes_data_older() {
    let (mut chains, mut close) = (0, 0);
    for seed in 0..200 {
        let draw = &mut Draw::new(seed + 9_000);
        let first = Pair::draw(draw);
        let second = Pair::draw(draw);
        // The middle task takes and sends one value per job, so that every value has one origin.
        let (tw, rw) = (first.tw.max(first.tr), first.rw);
        let (tr, rr) = (first.tr, first.rr);
        let gap = second.tr.min(tr);
        let last_response = second.rr.min(gap);
        let writer = SendingTask { period: ns(tw), response: ns(rw), sends: 1 };
        let reader = |period, response, triggered| TakingTask {
            period: ns(period),
            response: ns(response),
            takes: 1,
            triggered,
        };
        let middle = SendingTask { period: ns(tr), response: ns(rr), sends: 1 };
        let links = [
            ChainLink::Queue(writer, reader(tr, rr, first.triggered)),
            ChainLink::Queue(middle, reader(gap, last_response, second.triggered)),
        ];
        let found = age(ns(rw), &links).unwrap();
        let bound = found.bound().expect("the rates fit");
        let parts: u64 = bound.steps.iter().map(|s| s.wait.as_ns() + s.response.as_ns()).sum();
        assert_eq!(rw + parts, bound.total.as_ns());
        let mut oldest = 0;
        for _ in 0..40 {
            let end = 250;
            let mut a = Task::plain(0, 1, 1, jobs(tw, rw - 1, draw.chance(50), end, draw));
            a.sends = Some((0, 1));
            let mut b = Task::plain(1, 1, 1, jobs(tr, rr - 1, false, end, draw));
            b.takes = Some((0, 1));
            b.sends = Some((1, 1));
            if first.triggered {
                b.source = Source::Queue { queue: 0, gap: tr, jitter: rr - 1 };
            }
            let mut c = Task::plain(2, 1, 1, jobs(gap, last_response - 1, false, end, draw));
            c.takes = Some((1, 1));
            if second.triggered {
                c.source = Source::Queue { queue: 1, gap, jitter: last_response - 1 };
            }
            oldest = oldest.max(run(&[a, b, c], 2, end, draw).age[2]);
        }
        assert!(oldest <= bound.total.as_ns(), "seed {seed}: {oldest} > {found:?} {links:?}");
        chains += 1;
        close += u32::from(oldest * 10 >= bound.total.as_ns() * 8);
    }
    assert!(close * 2 > chains, "{close} of {chains}");
}

/// A state is read until something replaces it. The oldest reading is computed here directly: the value of the
/// writer's job at 0, written at any time in [0, R_w], is read until the next value is there.
#[test]
fn a_state_ages_by_a_period() {
    let (tw, rw, rr) = (10, 4, 3);
    let link = |periodic| ChainLink::State { period: ns(tw), periodic, response: ns(rr) };
    let found = age(ns(rw), &[link(true)]).unwrap();
    // Read just before the next job's value is written, as late as it may be, by a job that then takes all of R_r.
    let oldest = (0..=rw).map(|next_written| tw + next_written + rr).max();
    assert_eq!(found.bound().map(|a| a.total.as_ns()), oldest);
    let sporadic = age(ns(rw), &[link(false)]).unwrap();
    assert_eq!(sporadic, Verdict::NotApplicable(taut_analysis::Assumption::PeriodicWriter));
}
