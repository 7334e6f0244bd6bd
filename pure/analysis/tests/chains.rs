// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reaction time and data age of chains against simulation: never exceeded, and nearly reached.

use std::collections::VecDeque;
use taut_model::ArrivalPattern;

mod draw;
mod simulator;

use draw::Draw;
use taut_analysis::chain::data_age::data_age;
use taut_analysis::chain::end_to_end::{ChainChannel, ChainTask, Hop, Reading};
use taut_analysis::chain::reaction::{davare07, reaction};
use taut_analysis::chain::{ChainLink, age};
use taut_analysis::{Assumption, Verdict};
use taut_time::Duration;

fn ns(ticks: u64) -> Duration {
    Duration::from_ns(ticks)
}

/// How a task of a simulated chain gets its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Newest,
    Preserved,
    Delayed,
    Queue { triggered: bool },
}

#[derive(Clone, Copy, Debug)]
struct Simulated {
    core: usize,
    priority: u64,
    cost: u64,
    period: u64,
    jitter: u64,
    offset: u64,
    /// Ignored for the first task.
    input: Input,
}

/// When the environment was sampled, and when the job that did so arrived.
#[derive(Clone, Copy, Debug)]
struct Token {
    sampled: u64,
    origin: u64,
}

struct Job {
    arrival: u64,
    done: u64,
    cost: u64,
    read_at: u64,
    /// Which job of the writer it reads, if that is fixed; from 1.
    reported: Option<usize>,
    token: Option<Token>,
}

/// What a run showed. Responses are those of the run itself, so that bounds are computed from what really happened.
#[derive(Debug, Default)]
struct Seen {
    responses: Vec<u64>,
    reaction: u64,
    until_output: u64,
    until_replaced: u64,
}

/// Jobs take anything from a tick to all of their cost, read anywhere in it, and write when they complete.
fn run(tasks: &[Simulated], end: u64, lazy: u64, draw: &mut Draw) -> Seen {
    let count = tasks.len();
    let mut ready: Vec<VecDeque<Job>> = (0..count).map(|_| VecDeque::new()).collect();
    // Arrival and release of the next job.
    let draw_job = |task: &Simulated, arrival: u64, draw: &mut Draw| {
        (arrival, arrival + if draw.chance(50) { draw.pick(0, task.jitter) } else { 0 })
    };
    let mut next: Vec<(u64, u64)> = tasks.iter().map(|task| draw_job(task, task.offset, draw)).collect();
    let mut last_release = vec![0; count];
    let mut last_arrival: Vec<Option<u64>> = vec![None; count];
    // What each task wrote: the newest value, the values of all jobs, and the values that wait.
    let mut newest: Vec<Option<Token>> = vec![None; count];
    let mut by_job: Vec<Vec<Option<Token>>> = vec![Vec::new(); count];
    let mut waiting: Vec<VecDeque<Token>> = vec![VecDeque::new(); count];
    let mut activated = vec![0_usize; count];
    let mut seen = Seen { responses: vec![0; count], ..Seen::default() };
    let (mut known, mut shown): (Option<u64>, Option<Token>) = (None, None);
    for now in 0..end {
        for i in 0..count {
            let task = &tasks[i];
            let triggered = i > 0 && task.input == Input::Queue { triggered: true };
            if triggered {
                let due = last_arrival[i].is_none_or(|last| now >= last + task.period);
                if !due || waiting[i - 1].is_empty() || !ready[i].is_empty() {
                    continue;
                }
                next[i] = (now, now);
            }
            if next[i].1.max(last_release[i]) > now {
                continue;
            }
            let arrival = next[i].0;
            (last_arrival[i], last_release[i]) = (Some(arrival), now);
            activated[i] += 1;
            let reported = match task.input {
                _ if i == 0 => None,
                Input::Preserved => Some(activated[i - 1]),
                Input::Delayed => Some(activated[i - 1].saturating_sub(1)),
                _ => None,
            };
            let cost = if draw.chance(lazy) { task.cost } else { draw.pick(1, task.cost) };
            let read_at = draw.pick(0, 1) * draw.pick(0, cost - 1);
            ready[i].push_back(Job { arrival, done: 0, cost, read_at, reported, token: None });
            next[i] = draw_job(task, arrival + task.period, draw);
        }
        let cores = tasks.iter().map(|task| task.core + 1).max().unwrap_or(0);
        let run_now: Vec<usize> = (0..cores)
            .filter_map(|core| {
                let can = |&i: &usize| {
                    let job = ready[i].front();
                    // A reader below the writer on another core waits for the value.
                    let complete = |reported| reported <= by_job[i - 1].len();
                    tasks[i].core == core && job.is_some_and(|job| job.reported.is_none_or(complete))
                };
                (0..count).filter(can).max_by_key(|&i| tasks[i].priority)
            })
            .collect();
        for &i in &run_now {
            let job = &mut ready[i][0];
            if job.done == job.read_at {
                job.token = match (i, tasks[i].input, job.reported) {
                    (0, ..) => Some(Token { sampled: now, origin: job.arrival }),
                    (_, _, Some(reported)) => reported.checked_sub(1).and_then(|at| by_job[i - 1][at]),
                    (_, Input::Queue { .. }, _) => waiting[i - 1].pop_front(),
                    _ => newest[i - 1],
                };
            }
            job.done += 1;
        }
        for &i in &run_now {
            if ready[i][0].done < ready[i][0].cost {
                continue;
            }
            let job = ready[i].pop_front().expect("it ran");
            let at = now + 1;
            seen.responses[i] = seen.responses[i].max(at - job.arrival);
            // A job that writes nothing leaves the previous value.
            let before = by_job[i].last().copied().flatten();
            by_job[i].push(job.token.or(before));
            let Some(token) = job.token else { continue };
            newest[i] = Some(token);
            if tasks.get(i + 1).is_some_and(|next| matches!(next.input, Input::Queue { .. })) {
                waiting[i].push_back(token);
            }
            if i + 1 == count {
                // An event just after the last sample that was known shows now for the first time.
                if known.is_none_or(|known| token.sampled > known) {
                    seen.reaction = seen.reaction.max(known.map_or(0, |known| at - known));
                    known = Some(token.sampled);
                }
                seen.until_output = seen.until_output.max(at - token.origin);
                if let Some(before) = shown.replace(token) {
                    seen.until_replaced = seen.until_replaced.max(at - before.origin);
                }
            }
        }
    }
    // A starved task has a long response, too.
    for (response, jobs) in seen.responses.iter_mut().zip(&ready) {
        *response = jobs.iter().map(|job| end - job.arrival).fold(*response, u64::max);
    }
    seen
}

fn analysed(tasks: &[Simulated], responses: &[u64]) -> (ChainTask, Vec<Hop>) {
    let task = |i: usize| ChainTask {
        arrivals: match tasks[i].input {
            Input::Queue { triggered: true } if i > 0 => ArrivalPattern::Sporadic,
            _ => ArrivalPattern::Periodic,
        },
        period: ns(tasks[i].period),
        response: ns(responses[i]),
        jitter: ns(tasks[i].jitter),
    };
    let hop = |i: usize| {
        let (writer, reader) = (tasks[i - 1], tasks[i]);
        let above = writer.core == reader.core && writer.priority > reader.priority;
        let channel = match reader.input {
            Input::Newest if above => ChainChannel::State(Reading::NewestBelowWriter),
            Input::Newest => ChainChannel::State(Reading::Newest),
            Input::Preserved => ChainChannel::State(Reading::Preserved),
            Input::Delayed => ChainChannel::State(Reading::PreservedDelayed),
            Input::Queue { triggered } => ChainChannel::Queue { sends: 1, takes: 1, triggered },
        };
        Hop { channel, reader: task(i) }
    };
    (task(0), (1..tasks.len()).map(hop).collect())
}

fn draw_chain(draw: &mut Draw, queues: bool) -> Vec<Simulated> {
    let count = draw.pick(2, 4) as usize;
    let cores = draw.pick(1, 2);
    let mut tasks: Vec<Simulated> = Vec::new();
    for i in 0..count {
        let period = draw.pick(3, 12) * cores.max(1);
        let input = match draw.pick(0, if queues { 4 } else { 2 }) {
            0 => Input::Newest,
            1 => Input::Preserved,
            2 => Input::Delayed,
            3 => Input::Queue { triggered: false },
            _ => Input::Queue { triggered: true },
        };
        let mut task = Simulated {
            core: draw.pick(0, cores - 1) as usize,
            priority: draw.pick(0, 1000) * 8 + i as u64,
            cost: draw.pick(1, (period / count as u64).max(1)),
            period,
            jitter: if draw.chance(40) { draw.pick(0, period / 3) } else { 0 },
            offset: draw.pick(0, period),
            input,
        };
        if let (Some(writer), Input::Queue { triggered }) = (tasks.last(), input) {
            // What is sent must be taken; triggered tasks have no jitter of their own here.
            task.period = task.period.min(writer.period);
            task.offset %= task.period;
            task.cost = task.cost.min(task.period);
            task.jitter = if triggered { 0 } else { task.jitter.min(task.period / 3) };
        }
        if let Some(writer) = tasks.last() {
            // On one core, a reader of a preserved flow runs below the writer, and one with a unit delay above it.
            let below = task.priority < writer.priority;
            if task.core == writer.core && (task.input == Input::Preserved) != below && is_told(task.input) {
                task.input = if below { Input::Preserved } else { Input::Delayed };
            }
        }
        tasks.push(task);
    }
    tasks
}

fn is_told(input: Input) -> bool {
    matches!(input, Input::Preserved | Input::Delayed)
}

/// Whether the run keeps to one job at a time, which preserved flows need, and has any output.
fn is_settled(tasks: &[Simulated], seen: &Seen, end: u64) -> bool {
    seen.responses.iter().zip(tasks).all(|(&response, task)| response > 0 && response <= task.period)
        && seen.until_output > 0
        && end > 0
}

#[test]
fn no_run_reacts_later_or_shows_older_data() {
    let (mut runs, mut reactions, mut ages, mut replaced) = (0, (0, 0), (0, 0), (0, 0));
    for seed in 0..4_000 {
        let draw = &mut Draw::new(seed + 77);
        let tasks = draw_chain(draw, seed % 2 == 0);
        let lazy = [20, 60, 100][seed as usize % 3];
        let seen = run(&tasks, 400, lazy, draw);
        if !is_settled(&tasks, &seen, 400) {
            continue;
        }
        runs += 1;
        let (first, hops) = analysed(&tasks, &seen.responses);
        let check = |name: &str, seen: u64, bound: Duration, close: &mut (u32, u32)| {
            assert!(seen <= bound.as_ns(), "seed {seed}: {name} {seen} > {bound}: {tasks:#?} {hops:?}");
            close.0 += u32::from(seen * 10 >= bound.as_ns() * 7);
            close.1 += 1;
        };
        if let Verdict::Schedulable(bound) = reaction(&first, &hops).expect("small") {
            let parts: u64 = bound.hops.iter().map(|wait| wait.as_ns()).sum();
            assert_eq!(bound.sampling.as_ns() + parts + bound.response.as_ns(), bound.total.as_ns());
            check("reaction", seen.reaction, bound.total, &mut reactions);
        }
        if let Verdict::Schedulable(bound) = data_age(&first, &hops).expect("small") {
            check("age", seen.until_output, bound.until_output, &mut ages);
            if let Some(bound) = bound.until_replaced {
                check("replaced", seen.until_replaced, bound, &mut replaced);
            }
        }
    }
    assert!(runs > 1_000, "{runs}");
    assert!(reactions.1 > 700 && ages.1 > 700 && replaced.1 > 500, "{reactions:?} {ages:?} {replaced:?}");
    // Random runs come near the bounds, so the bounds give little away.
    assert!(reactions.0 * 3 > reactions.1 && ages.0 * 3 > ages.1, "{reactions:?} {ages:?} {replaced:?}");
}

/// Two tasks on two cores, all offsets: the worst case is the bound of [Davare07], to within two ticks.
#[test]
fn two_tasks_at_all_offsets() {
    for (t1, t2) in [(3, 5), (5, 3), (4, 6), (7, 7)] {
        let task = |core, period, offset| Simulated {
            core,
            priority: 1,
            cost: 2,
            period,
            jitter: 0,
            offset,
            input: Input::Newest,
        };
        let mut worst = (0, 0);
        for (o1, o2) in (0..t1).flat_map(|o1| (0..t2).map(move |o2| (o1, o2))) {
            let tasks = [task(0, t1, o1), task(1, t2, o2)];
            for seed in 0..20 {
                let seen = run(&tasks, 120, if seed == 0 { 100 } else { 60 }, &mut Draw::new(seed));
                worst = (worst.0.max(seen.reaction), worst.1.max(seen.until_replaced));
                let (first, hops) = analysed(&tasks, &[2, 2]);
                let bound = reaction(&first, &hops).expect("small");
                assert!(seen.reaction <= bound.bound().expect("applies").total.as_ns());
            }
        }
        let sum = t1 + 2 + t2 + 2;
        assert!(worst.0 <= sum && worst.0 + 2 >= sum, "{t1} {t2}: {worst:?} of {sum}");
        assert!(worst.1 <= sum && worst.1 + 2 >= sum, "{t1} {t2}: {worst:?} of {sum}");
    }
}

fn periodic(period: u64, response: u64, jitter: u64) -> ChainTask {
    let [period, response, jitter] = [period, response, jitter].map(ns);
    ChainTask { arrivals: ArrivalPattern::Periodic, period, response, jitter }
}

fn state(reading: Reading, reader: ChainTask) -> Hop {
    Hop { channel: ChainChannel::State(reading), reader }
}

const READINGS: [Reading; 4] =
    [Reading::Newest, Reading::NewestBelowWriter, Reading::Preserved, Reading::PreservedDelayed];

/// Σ (T_i + R_i), and the older `age` behind periodic tasks.
#[test]
fn davare07_is_all_newest() {
    let tasks = [periodic(10, 4, 0), periodic(25, 9, 1), periodic(8, 8, 3)];
    let hops = [state(Reading::Newest, tasks[1]), state(Reading::Newest, tasks[2])];
    let found = reaction(&tasks[0], &hops).expect("small");
    assert_eq!(found.bound().map(|bound| bound.total), davare07(&tasks).ok());
    assert_eq!(davare07(&tasks), Ok(ns(10 + 4 + 25 + 9 + 8 + 8)));
    let link = |writer: ChainTask, reader: ChainTask| ChainLink::State {
        period: writer.period,
        periodic: true,
        response: reader.response,
    };
    let old = age(tasks[0].response, &[link(tasks[0], tasks[1]), link(tasks[1], tasks[2])]).expect("small");
    let new = data_age(&tasks[0], &hops).expect("small");
    assert_eq!(old.bound().map(|bound| bound.total), new.bound().map(|bound| bound.until_output));
}

/// Periodic tasks and states: the reaction time is the age until the output is replaced.
#[test]
fn age_and_reaction_are_one() {
    let draw = &mut Draw::new(5);
    for _ in 0..500 {
        let task = |draw: &mut Draw| {
            let period = draw.pick(1, 1_000);
            let response = draw.pick(1, period);
            periodic(period, response, draw.pick(0, response))
        };
        let first = task(draw);
        let hops: Vec<Hop> =
            (0..draw.pick(0, 5)).map(|_| state(READINGS[draw.pick(0, 3) as usize], task(draw))).collect();
        let reacts = reaction(&first, &hops).expect("small").bound().expect("applies").total;
        let ages = data_age(&first, &hops).expect("small").bound().expect("applies").until_replaced;
        assert_eq!(ages, Some(reacts), "{first:?} {hops:?}");
    }
}

#[test]
fn by_hand() {
    let (first, last) = (periodic(10, 7, 2), periodic(4, 3, 0));
    let total = |reading| {
        let hops = [state(reading, last)];
        let reacts = reaction(&first, &hops).expect("small").bound().expect("applies").total.as_ns();
        let ages = data_age(&first, &hops).expect("small").bound().expect("applies").until_output.as_ns();
        (reacts, ages)
    };
    assert_eq!(total(Reading::Newest), (10 + 7 + 4 + 3, 10 + 7 + 3));
    assert_eq!(total(Reading::NewestBelowWriter), (10 + 2 + 4 + 3, 10 + 2 + 3));
    assert_eq!(total(Reading::Preserved), (10 + 2 + 4 + 3, 10 + 2 + 3));
    assert_eq!(total(Reading::PreservedDelayed), (10 + 10 + 2 + 4 + 3, 20 + 2 + 3));
    // A queue gives every value to a task that it releases: the only sampling is that of the first task.
    let receiver = ChainTask { arrivals: ArrivalPattern::Sporadic, ..last };
    let queue =
        Hop { channel: ChainChannel::Queue { sends: 1, takes: 1, triggered: true }, reader: receiver };
    assert_eq!(reaction(&first, &[queue]).expect("small").bound().expect("applies").total, ns(10 + 7 + 3));
    // Released by the event itself.
    let event = ChainTask { arrivals: ArrivalPattern::Sporadic, ..first };
    assert_eq!(reaction(&event, &[queue]).expect("small").bound().expect("applies").total, ns(7 + 3));
    // The output stays until the first task's next job gets through.
    let ages = data_age(&first, &[queue]).expect("small");
    assert_eq!(ages.bound().expect("applies").until_replaced, Some(ns(7 + 3 + 10)));
    assert_eq!(data_age(&event, &[queue]).expect("small").bound().expect("applies").until_replaced, None);
    // A state behind the queue keeps its value for as long, however often its writer runs.
    let often = Hop { channel: ChainChannel::Queue { sends: 1, takes: 1, triggered: false }, reader: last };
    let ages = data_age(&first, &[often, state(Reading::Newest, last)]).expect("small");
    assert_eq!(ages.bound().expect("applies").until_output, ns((7 + 4) + (10 + 3) + 3));
}

#[test]
fn what_is_not_said() {
    let (first, last) = (periodic(10, 7, 2), periodic(4, 3, 0));
    let sporadic = |task: ChainTask| ChainTask { arrivals: ArrivalPattern::Sporadic, ..task };
    let queue = Hop { channel: ChainChannel::Queue { sends: 1, takes: 1, triggered: false }, reader: last };
    let newest = state(Reading::Newest, last);
    let why = |first: &ChainTask, hops: &[Hop]| {
        let reason = |is: Option<Assumption>| is;
        let reacts = match reaction(first, hops).expect("small") {
            Verdict::NotApplicable(assumption) => Some(assumption),
            _ => None,
        };
        let ages = match data_age(first, hops).expect("small") {
            Verdict::NotApplicable(assumption) => Some(assumption),
            _ => None,
        };
        (reason(reacts), reason(ages))
    };
    // A sporadic reader may never look; a sporadic writer may never replace the value.
    assert_eq!(
        why(&first, &[state(Reading::Newest, sporadic(last))]),
        (Some(Assumption::PeriodicReader), None)
    );
    assert_eq!(why(&sporadic(first), &[newest]), (None, Some(Assumption::PeriodicWriter)));
    // Nor may a writer whose queue may be empty for ever.
    assert_eq!(why(&sporadic(first), &[queue, newest]), (None, Some(Assumption::PeriodicWriter)));
    assert_eq!(why(&first, &[queue, newest]), (None, None));
    let triggered =
        Hop { channel: ChainChannel::Queue { sends: 1, takes: 1, triggered: true }, reader: sporadic(last) };
    let behind = [triggered, state(Reading::PreservedDelayed, last)];
    assert_eq!(why(&first, &behind), (Some(Assumption::PeriodicWriter), Some(Assumption::PeriodicWriter)));
    let delayed = [state(Reading::PreservedDelayed, last)];
    assert_eq!(
        why(&sporadic(first), &delayed),
        (Some(Assumption::PeriodicWriter), Some(Assumption::PeriodicWriter))
    );
    let endless = ChainTask { response: Duration::MAX, ..first };
    assert!(reaction(&endless, &[newest]).is_err() && data_age(&endless, &[newest]).is_err());
    assert!(davare07(&[endless]).is_err());
}
