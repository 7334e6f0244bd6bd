// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Fixed-priority preemptive cores, tick by tick: small, slow, and written independently of the equations.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use std::collections::VecDeque;

use crate::draw::Draw;

/// When a task's jobs arrive.
#[derive(Clone, Debug)]
pub enum Source {
    /// (arrival, release) of each, in order.
    Given(Vec<(u64, u64)>),
    /// By a queue: at once if `gap` has passed since the previous arrival, else when it has; released up to `jitter`
    /// later.
    Queue { queue: usize, gap: u64, jitter: u64 },
}

#[derive(Clone, Debug)]
pub struct Task {
    pub core: usize,
    pub priority: u32,
    /// Least and greatest cost of a job; at least 1.
    pub cost: (u64, u64),
    /// Longest section that cannot be preempted.
    pub section: u64,
    pub source: Source,
    /// Takes from this queue, at most this many values per job.
    pub takes: Option<(usize, u64)>,
    /// Sends to this queue, this many values per job.
    pub sends: Option<(usize, u64)>,
}

impl Task {
    pub fn plain(core: usize, priority: u32, cost: u64, jobs: Vec<(u64, u64)>) -> Self {
        let source = Source::Given(jobs);
        Self { core, priority, cost: (cost, cost), section: 0, source, takes: None, sends: None }
    }
}

#[derive(Clone, Copy)]
struct Value {
    sent: u64,
    /// Arrival of the job of the chain's first task that the value comes from.
    origin: u64,
}

struct Job {
    arrival: u64,
    release: u64,
    cost: u64,
    done: u64,
    section: (u64, u64),
    take_at: u64,
    send_at: Vec<u64>,
    taken: Vec<Value>,
    has_taken: bool,
}

/// What a run showed.
#[derive(Debug, Default)]
pub struct Seen {
    /// Longest response of each task, from arrival, and from release.
    pub response: Vec<u64>,
    pub from_release: Vec<u64>,
    /// Most values in each queue.
    pub occupancy: Vec<u64>,
    /// Longest time from a send to the end of the job that took it, per queue.
    pub latency: Vec<u64>,
    /// Oldest data at the end of a job, per task: from the arrival of the first task's job.
    pub age: Vec<u64>,
}

/// Runs `tasks` with `queues` queues until `end`; ignores later jobs.
pub fn run(tasks: &[Task], queues: usize, end: u64, draw: &mut Draw) -> Seen {
    let count = tasks.len();
    let mut seen = Seen {
        response: vec![0; count],
        from_release: vec![0; count],
        occupancy: vec![0; queues],
        latency: vec![0; queues],
        age: vec![0; count],
    };
    let mut queue: Vec<VecDeque<Value>> = vec![VecDeque::new(); queues];
    let mut ready: Vec<VecDeque<Job>> = (0..count).map(|_| VecDeque::new()).collect();
    let mut next_given = vec![0; count];
    let mut last_arrival: Vec<Option<u64>> = vec![None; count];
    let cores = tasks.iter().map(|t| t.core + 1).max().unwrap_or(0);
    let mut running: Vec<Option<usize>> = vec![None; cores];
    for now in 0..end {
        for (i, task) in tasks.iter().enumerate() {
            match &task.source {
                Source::Given(jobs) => {
                    while let Some(&(arrival, release)) = jobs.get(next_given[i]).filter(|j| j.1 <= now) {
                        next_given[i] += 1;
                        ready[i].push_back(job(task, arrival, release, draw));
                    }
                }
                &Source::Queue { queue: q, gap, jitter } => {
                    let waits = !queue[q].is_empty() && ready[i].is_empty();
                    if waits && last_arrival[i].is_none_or(|last| now >= last + gap) {
                        last_arrival[i] = Some(now);
                        let release = now + draw.pick(0, jitter);
                        ready[i].push_back(job(task, now, release, draw));
                    }
                }
            }
        }
        // Which core acts first within a tick is random.
        let first = draw.pick(0, cores.max(1) as u64 - 1) as usize;
        for core in (0..cores).map(|c| (c + first) % cores) {
            let held = running[core]
                .filter(|&i| ready[i].front().is_some_and(|j| j.done > j.section.0 && j.done < j.section.1));
            let most_urgent = (0..count)
                .filter(|&i| tasks[i].core == core && ready[i].front().is_some_and(|j| j.release <= now))
                .max_by_key(|&i| tasks[i].priority);
            running[core] = held.or(most_urgent);
            let Some(i) = running[core] else { continue };
            if ready[i][0].done == 0 {
                act(i, now, tasks, &mut ready, &mut queue, &mut seen);
            }
            ready[i][0].done += 1;
            act(i, now + 1, tasks, &mut ready, &mut queue, &mut seen);
            if ready[i][0].done == ready[i][0].cost {
                let job = ready[i].pop_front().expect("it ran");
                let at = now + 1;
                seen.response[i] = seen.response[i].max(at - job.arrival);
                seen.from_release[i] = seen.from_release[i].max(at - job.release);
                for value in &job.taken {
                    let (q, _) = tasks[i].takes.expect("it took");
                    seen.latency[q] = seen.latency[q].max(at - value.sent);
                    seen.age[i] = seen.age[i].max(at - value.origin);
                }
                running[core] = None;
            }
        }
    }
    seen
}

fn job(task: &Task, arrival: u64, release: u64, draw: &mut Draw) -> Job {
    let cost = draw.pick(task.cost.0, task.cost.1);
    let start = draw.pick(0, cost.saturating_sub(task.section));
    let take_at = draw.pick(0, cost);
    let sends = task.sends.map_or(0, |(_, n)| n);
    // Not before the end of the first tick, so that a task that it releases is examined in time.
    let mut send_at: Vec<u64> = (0..sends).map(|_| draw.pick(take_at.max(1), cost)).collect();
    send_at.sort_unstable();
    let section = (start, (start + task.section).min(cost));
    Job { arrival, release, cost, done: 0, section, take_at, send_at, taken: vec![], has_taken: false }
}

/// Does the takes and sends that are due at this point of the job.
fn act(
    i: usize,
    now: u64,
    tasks: &[Task],
    ready: &mut [VecDeque<Job>],
    queue: &mut [VecDeque<Value>],
    seen: &mut Seen,
) {
    let job = &mut ready[i][0];
    if let Some((q, most)) = tasks[i].takes
        && job.done >= job.take_at
        && !job.has_taken
    {
        job.has_taken = true;
        job.taken.extend((0..most).map_while(|_| queue[q].pop_front()));
    }
    if let Some((q, _)) = tasks[i].sends {
        let due = job.send_at.iter().take_while(|&&at| at <= job.done).count();
        job.send_at.drain(..due);
        // A task that takes passes on the oldest of what it took; one that took nothing is silent.
        let origin = match tasks[i].takes {
            Some(_) => job.taken.first().map(|value| value.origin),
            None => Some(job.arrival),
        };
        if let Some(origin) = origin {
            queue[q].extend((0..due).map(|_| Value { sent: now, origin }));
            seen.occupancy[q] = seen.occupancy[q].max(queue[q].len() as u64);
        }
    }
}
