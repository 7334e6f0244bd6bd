// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A recorded run of the cochlear application, made by a small simulation: one core, fixed priorities, 1250 releases,
//! a receiver that preempts its sender, and a machine that stands still where the script says so.

#![allow(dead_code, reason = "each test takes a part of it")]

mod plan;

use std::collections::VecDeque;

use taut_event::file::{Run, recording};
use taut_event::{Counter, Kind, Record};
use taut_time::Instant;

pub(crate) use plan::plan;

pub(crate) const MS: u64 = 1_000_000;
/// Release 0 on the run's clock.
pub(crate) const BEGIN: u64 = 5_000 * MS;
pub(crate) const RECORDING: u16 = 0;
pub(crate) const PROCESSING: u16 = 1;
pub(crate) const OUTPUT: u16 = 2;
pub(crate) const SOURCE: u16 = 3;
const PRIORITY: [u8; 3] = [80, 70, 75];
const DEADLINE: [u64; 3] = [2 * MS, 5 * MS, MS];

/// The exceptional events of the run.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) releases: u64,
    /// The stalls of the machine: start after release 0, and length (ns).
    pub(crate) stalls: Vec<(u64, u64)>,
    /// Jobs that use this much processor time: task, job, ns.
    pub(crate) slow: Vec<(u16, u64, u64)>,
    pub(crate) killed: bool,
}

impl Script {
    pub(crate) fn quiet() -> Self {
        Self { releases: 1250, stalls: Vec::new(), slow: Vec::new(), killed: false }
    }
}

/// Numbers that look random and are the same everywhere (Knuth's MMIX constants).
struct Chance(u64);

impl Chance {
    fn between(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from + (self.0 >> 33) % (to - from)
    }
    /// Mostly near `from`, rarely near `to`.
    fn tail(&mut self, from: u64, to: u64) -> u64 {
        let width = self.between(1, to - from + 1).min(self.between(1, to - from + 1));
        from + width.min(self.between(1, to - from + 1))
    }
}

#[derive(Clone, Copy, Debug)]
struct Active {
    task: u16,
    job: u64,
    release: u64,
    /// When it can run: its release plus the timer's latency.
    ready: u64,
    started: bool,
    cpu: u64,
    left: u64,
    /// The work left at which it sends to the output.
    send_at: Option<u64>,
}

struct Core {
    script: Script,
    chance: Chance,
    records: Vec<Record>,
}

impl Core {
    fn put(&mut self, kind: Kind, at: u64, subject: u16, job: u64, value: u64) {
        self.records.push(Record { at: Instant::from_ns(at), kind, cpu: 0, subject, job, value });
    }

    /// The end of the stall at `at`, or `at`.
    fn awake(&self, at: u64) -> u64 {
        let hit = self
            .script
            .stalls
            .iter()
            .find(|(from, length)| (BEGIN + from..BEGIN + from + length).contains(&at));
        hit.map_or(at, |(from, length)| BEGIN + from + length)
    }

    /// When `work` is done if it begins at `from`: the stalls meanwhile delay it.
    fn after(&self, from: u64, work: u64) -> u64 {
        let mut end = from + work;
        for &(begin, length) in &self.script.stalls {
            let begin = BEGIN + begin;
            if from <= begin && begin < end {
                end += length;
            }
        }
        end
    }

    fn arrival(&mut self, task: u16, job: u64, release: u64) -> Active {
        let latency = self.chance.tail(14_000, 44_000);
        let usual = match task {
            RECORDING => self.chance.tail(62_000, 180_000),
            PROCESSING => self.chance.tail(410_000, 860_000),
            _ => self.chance.tail(21_000, 80_000),
        };
        let reported =
            self.script.slow.iter().find(|slow| (slow.0, slow.1) == (task, job)).map(|slow| slow.2);
        let left = reported.unwrap_or(usual);
        let send_at = (task == PROCESSING).then_some(left / 20);
        let ready = self.awake(release + latency);
        Active { task, job, release, ready, started: false, cpu: 0, left, send_at }
    }
}

/// The run, with records grouped by thread, as a drain writes them.
pub(crate) fn run(script: Script) -> Run {
    let releases = script.releases;
    let killed = script.killed;
    let mut core = Core { script, chance: Chance(7), records: Vec::new() };
    core.put(Kind::Begin, BEGIN, 0, 0, 0);
    let mut coming: VecDeque<Active> = VecDeque::new();
    for k in 0..releases {
        let release = BEGIN + k * 8 * MS;
        let recording = core.arrival(RECORDING, k, release);
        let processing = core.arrival(PROCESSING, k, release + 2 * MS);
        coming.extend([recording, processing]);
        let sent = release - core.chance.between(2 * MS, 7 * MS);
        core.put(Kind::Send, sent, 0, 0, k);
    }
    let mut ready: Vec<Active> = Vec::new();
    let mut now = 0;
    while let Some(at) = next(&mut ready, &mut coming, &mut now) {
        let mut job = ready.swap_remove(at);
        if !job.started {
            now += core.chance.between(1_500, 4_500);
            job.started = true;
            core.put(Kind::Release, job.release, job.task, job.job, 0);
            core.put(Kind::Start, now, job.task, job.job, 0);
            receive(&mut core, &job, now);
        }
        let work = job.left - job.send_at.unwrap_or(0);
        let end = core.after(now, work);
        let interrupt = coming.front().map_or(u64::MAX, |next| next.ready).max(now);
        let urgent =
            coming.front().is_some_and(|next| PRIORITY[next.task as usize] > PRIORITY[job.task as usize]);
        if urgent && interrupt < end {
            let done = (interrupt - now).min(work);
            (job.left, job.cpu) = (job.left - done, job.cpu + (interrupt - now));
            ready.push(job);
            now = interrupt;
            continue;
        }
        (job.left, job.cpu, now) = (job.left - work, job.cpu + (end - now), end);
        if job.send_at.take().is_some() {
            core.put(Kind::Send, now, 2, job.job, job.job);
            let mut output = core.arrival(OUTPUT, job.job, now);
            let latency = core.chance.between(1_000, 3_000);
            output.ready = core.awake(now + latency);
            coming.push_front(output);
            ready.push(job);
            continue;
        }
        complete(&mut core, &job, now);
    }
    probe(&mut core);
    finish(core, releases, killed, now)
}

/// The position of the most urgent job that can run; advances the clock if there is none.
fn next(ready: &mut Vec<Active>, coming: &mut VecDeque<Active>, now: &mut u64) -> Option<usize> {
    if ready.is_empty() {
        *now = (*now).max(coming.front()?.ready);
    }
    while coming.front().is_some_and(|job| job.ready <= *now) {
        ready.extend(coming.pop_front());
    }
    (0..ready.len()).max_by_key(|&at| (PRIORITY[ready[at].task as usize], std::cmp::Reverse(ready[at].job)))
}

fn receive(core: &mut Core, job: &Active, now: u64) {
    let channel = job.task; // samples to recording, audio to processing, electrodes to output
    let sent = core
        .records
        .iter()
        .rev()
        .find(|r| r.kind == Kind::Send && r.subject == channel && r.value == job.job);
    if let Some(latency) = sent.map(|r| now + 900 - r.at.as_ns()) {
        core.put(Kind::Receive, now + 900, channel, job.job, latency);
    }
}

fn complete(core: &mut Core, job: &Active, now: u64) {
    if job.task == RECORDING {
        core.put(Kind::Send, now - 1_200, 1, job.job, job.job);
    }
    core.put(Kind::Complete, now, job.task, job.job, job.cpu);
    let response = now - job.release;
    if response > DEADLINE[job.task as usize] {
        core.put(Kind::Miss, now, job.task, job.job, response);
    }
    if job.task == OUTPUT {
        core.put(Kind::ChainEnd, now, 0, job.job, now - (BEGIN + job.job * 8 * MS));
    }
}

fn probe(core: &mut Core) {
    for (from, length) in core.script.stalls.clone() {
        let (begin, end) = (BEGIN + from, BEGIN + from + length);
        let due = begin.div_ceil(MS) * MS + 250_000;
        if due + 100_000 < end {
            core.put(Kind::Stall, end, 0, 0, end - due);
        }
    }
}

fn finish(mut core: Core, releases: u64, killed: bool, now: u64) -> Run {
    if !killed {
        for (task, preempted) in [(RECORDING, 0), (PROCESSING, releases), (OUTPUT, 0), (SOURCE, 12)] {
            for count in Counter::ALL {
                let value = match count {
                    Counter::Preempted => preempted,
                    Counter::SetUpHeap => 1_000 + u64::from(task),
                    Counter::SetUpHeapPeak => 4_096,
                    _ => 0,
                };
                core.put(Kind::Counted, now + MS, task, count as u64, value);
            }
        }
        core.put(Kind::End, now + 2 * MS, 0, 0, 0);
    }
    // A drain empties one ring after another: those of the tasks, then the others.
    core.records.sort_by_key(|r| match r.kind {
        Kind::Release | Kind::Start | Kind::Complete | Kind::Miss => r.subject,
        Kind::Send | Kind::Receive => 10 + r.subject,
        Kind::End => 99,
        _ => 20,
    });
    let lock = plan().to_lock().expect("the plan should have a text");
    let machine = "kernel = \"6.18.44\"\ncpu = \"AMD EPYC 9R45\"\ncpus = 2\npreemption = \"none\"\nscheduling = \
                   \"SCHED_FIFO\"\nmemory-locked = \"48MiB\"\nisolation = \"none\"\nclock = \"tsc\"\n";
    let bytes = recording(&lock, machine, &core.records).expect("the head should fit");
    let mut run = Run::from_bytes(&bytes).expect("what was written should be read");
    run.plan.clear(); // the reports take the plan itself
    run
}
