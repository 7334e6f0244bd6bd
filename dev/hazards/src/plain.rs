// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The scenario as people write it: a thread per task under SCHED_FIFO, and a mutex per resource.

use std::time::Duration;

use taut_event::{Kind, Record};
use taut_lock::{Serial, Taken};
use taut_sys::{clock, thread};
use taut_time::Instant;

use crate::scenario::{Player, Scenario, Step};

/// Which mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutex {
    /// One that knows nothing of priorities.
    Ordinary,
    /// With priority inheritance.
    Inheritance,
}

/// Who has waited for so long waits for ever.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// From now to release 0.
const LEAD_NS: u64 = 20_000_000;

enum Lock {
    Ordinary(parking_lot::Mutex<()>),
    Inheritance(Serial<()>),
}

/// What a job has; given back when it is dropped.
enum Held<'l> {
    Ordinary(#[expect(dead_code, reason = "held")] parking_lot::MutexGuard<'l, ()>),
    Inheritance(#[expect(dead_code, reason = "held")] Taken<'l, ()>),
}

impl Lock {
    fn new(kind: Mutex) -> Result<Self, String> {
        match kind {
            Mutex::Ordinary => Ok(Self::Ordinary(parking_lot::Mutex::new(()))),
            Mutex::Inheritance => Serial::new(()).map(Self::Inheritance).map_err(|error| error.to_string()),
        }
    }

    fn try_lock(&self) -> Option<Held<'_>> {
        match self {
            Self::Ordinary(mutex) => mutex.try_lock().map(Held::Ordinary),
            Self::Inheritance(mutex) => mutex.try_lock().ok().flatten().map(Held::Inheritance),
        }
    }

    /// None if it does not come to an end.
    fn lock(&self) -> Option<Held<'_>> {
        match self {
            Self::Ordinary(mutex) => mutex.try_lock_for(PATIENCE).map(Held::Ordinary),
            Self::Inheritance(mutex) => mutex.lock().ok().map(Held::Inheritance),
        }
    }
}

/// Plays so many cycles; what happened, by time.
pub(crate) fn play(scenario: &Scenario, kind: Mutex, cycles: u64) -> Result<Vec<Record>, String> {
    let resources = scenario.plan.resources.len();
    let locks = (0..resources).map(|_| Lock::new(kind)).collect::<Result<Vec<_>, _>>()?;
    let origin_ns = clock::monotonic_ns() + LEAD_NS;
    let end_ns = origin_ns + cycles * scenario.cycle_ns();
    let records = std::thread::scope(|threads| {
        let players = scenario.players.iter().enumerate().map(|(at, player)| {
            let part = Part { at, player, locks: &locks, origin_ns, end_ns };
            threads.spawn(move || part.run())
        });
        // All of them first: none waits for another to be over.
        let players: Vec<_> = players.collect();
        let joined =
            players.into_iter().map(|player| player.join().map_err(|_| "a thread panicked".to_owned())?);
        joined.collect::<Result<Vec<_>, String>>()
    })?;
    let begin =
        Record { at: Instant::from_ns(origin_ns), kind: Kind::Begin, cpu: 0, subject: 0, job: 0, value: 0 };
    let mut all: Vec<Record> = std::iter::once(begin).chain(records.into_iter().flatten()).collect();
    all.sort_by_key(|record| record.at);
    let last = all.last().map_or(begin.at, |record| record.at);
    all.push(Record { at: last, kind: Kind::End, ..begin });
    Ok(all)
}

/// A thread's part.
struct Part<'s> {
    at: usize,
    player: &'s Player,
    locks: &'s [Lock],
    origin_ns: u64,
    end_ns: u64,
}

impl Part<'_> {
    fn run(self) -> Result<Vec<Record>, String> {
        thread::set_affinity(&[self.player.cpu]).map_err(|error| error.to_string())?;
        thread::set_fifo(self.player.priority).map_err(|error| error.to_string())?;
        let mut records = Vec::with_capacity(4_096);
        let mut due_ns = self.origin_ns + self.player.offset_ns;
        let mut job = 0;
        while due_ns < self.end_ns {
            clock::sleep_until(due_ns);
            self.note(&mut records, due_ns, Kind::Release, job, 0);
            self.note(&mut records, clock::monotonic_ns(), Kind::Start, job, 0);
            let begin_ns = clock::thread_cpu_ns();
            if !self.steps(&mut records, job) {
                return Ok(records);
            }
            let now_ns = clock::monotonic_ns();
            let used_ns = clock::thread_cpu_ns() - begin_ns;
            self.note(&mut records, now_ns, Kind::Complete, job, used_ns);
            if now_ns > due_ns + self.player.deadline_ns {
                self.note(&mut records, now_ns, Kind::Miss, job, now_ns - due_ns);
            }
            due_ns += self.player.period_ns;
            job += 1;
        }
        Ok(records)
    }

    /// Whether the job came to its end.
    fn steps(&self, records: &mut Vec<Record>, job: u64) -> bool {
        let mut held = Vec::with_capacity(self.locks.len());
        for step in &self.player.steps {
            match *step {
                Step::Run(ns) => compute(within(ns)),
                Step::Lock(resource) => {
                    let lock = &self.locks[resource];
                    let got = lock.try_lock().or_else(|| {
                        self.note(records, clock::monotonic_ns(), Kind::Suspend, job, resource as u64);
                        lock.lock()
                    });
                    let Some(got) = got else { return false };
                    held.push(got);
                    self.note(records, clock::monotonic_ns(), Kind::Locked, job, resource as u64);
                }
                Step::Unlock(resource) => {
                    // Before it is given back: who waits for it may run at once.
                    self.note(records, clock::monotonic_ns(), Kind::Unlock, job, resource as u64);
                    held.pop();
                }
            }
        }
        true
    }

    fn note(&self, records: &mut Vec<Record>, at_ns: u64, kind: Kind, job: u64, value: u64) {
        let (subject, cpu) = (self.at as u16, self.player.cpu as u8);
        records.push(Record { at: Instant::from_ns(at_ns), kind, cpu, subject, job, value });
    }
}

/// What a part of a job executes that may take so long: less, so that the clock's own cost has room.
pub(crate) fn within(ns: u64) -> u64 {
    ns - ns / 20
}

/// Uses so much processor time.
pub(crate) fn compute(ns: u64) {
    let end_ns = clock::thread_cpu_ns() + ns;
    while clock::thread_cpu_ns() < end_ns {}
}
