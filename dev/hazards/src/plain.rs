// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The scenario as people write it: a thread per task under SCHED_FIFO, and a mutex per resource.

use std::time::Duration;

use taut_event::{Kind, Record};
use taut_lock::{Refused, Serial};
use taut_sys::{clock, thread};
use taut_time::Instant;

use crate::scenario::{Participant, Scenario, Step};

/// The kind of mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutex {
    /// A mutex that ignores priorities.
    Ordinary,
    /// With priority inheritance.
    Inheritance,
}

/// A job that has waited for so long counts as waiting for ever.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// The time from now to release 0.
const LEAD_NS: u64 = 20_000_000;

enum Lock {
    Ordinary(parking_lot::Mutex<()>),
    Inheritance(Serial<()>),
}

impl Lock {
    fn new(kind: Mutex) -> Result<Self, String> {
        match kind {
            Mutex::Ordinary => Ok(Self::Ordinary(parking_lot::Mutex::new(()))),
            Mutex::Inheritance => Serial::new(()).map(Self::Inheritance).map_err(|error| error.to_string()),
        }
    }

    /// Calls `section` while holding the lock. If another job holds the lock, calls `waits` first. Returns the result
    /// of the section; none if the wait does not end.
    fn with<C>(
        &self,
        context: &mut C,
        waits: impl FnOnce(&mut C),
        mut section: impl FnMut(&mut C) -> bool,
    ) -> Option<bool> {
        match self {
            Self::Ordinary(mutex) => {
                let _held = mutex.try_lock().or_else(|| {
                    waits(context);
                    mutex.try_lock_for(PATIENCE)
                })?;
                Some(section(context))
            }
            Self::Inheritance(mutex) => match mutex.try_with(|()| section(context)) {
                Err(Refused::Busy) => {
                    waits(context);
                    mutex.with(|()| section(context)).ok()
                }
                had => had.ok(),
            },
        }
    }
}

/// Executes `cycles` cycles; returns the records in order of time.
pub(crate) fn play(scenario: &Scenario, kind: Mutex, cycles: u64) -> Result<Vec<Record>, String> {
    let resources = scenario.plan.resources.len();
    let locks = (0..resources).map(|_| Lock::new(kind)).collect::<Result<Vec<_>, _>>()?;
    let origin_ns = clock::monotonic_ns() + LEAD_NS;
    let end_ns = origin_ns + cycles * scenario.cycle_ns();
    let records = std::thread::scope(|threads| {
        let players = scenario.players.iter().enumerate().map(|(at, participant)| {
            let code = TaskCode { at, participant, locks: &locks, origin_ns, end_ns };
            threads.spawn(move || code.run())
        });
        // Spawn all threads before joining any: none may wait for another to end.
        let players: Vec<_> = players.collect();
        let joined = players
            .into_iter()
            .map(|participant| participant.join().map_err(|_| "a thread panicked".to_owned())?);
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

/// The code of a thread.
struct TaskCode<'s> {
    at: usize,
    participant: &'s Participant,
    locks: &'s [Lock],
    origin_ns: u64,
    end_ns: u64,
}

impl TaskCode<'_> {
    fn run(self) -> Result<Vec<Record>, String> {
        thread::set_affinity(&[self.participant.cpu]).map_err(|error| error.to_string())?;
        thread::set_fifo(self.participant.priority).map_err(|error| error.to_string())?;
        let mut records = Vec::with_capacity(4_096);
        let mut due_ns = self.origin_ns + self.participant.offset_ns;
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
            if now_ns > due_ns + self.participant.deadline_ns {
                self.note(&mut records, now_ns, Kind::Miss, job, now_ns - due_ns);
            }
            due_ns += self.participant.period_ns;
            job += 1;
        }
        Ok(records)
    }

    /// Executes a job; returns whether it completed.
    fn steps(&self, records: &mut Vec<Record>, job: u64) -> bool {
        self.section(&mut self.participant.steps.iter(), records, job)
    }

    /// Executes the steps up to the end of the current section, or of the job; returns whether it got there.
    fn section(&self, steps: &mut std::slice::Iter<'_, Step>, records: &mut Vec<Record>, job: u64) -> bool {
        while let Some(step) = steps.next() {
            let note = |records: &mut Vec<Record>, kind, resource: usize| {
                self.note(records, clock::monotonic_ns(), kind, job, resource as u64);
            };
            match *step {
                Step::Run(ns) => compute(within(ns)),
                Step::Lock(resource) => {
                    let waits = |records: &mut Vec<Record>| note(records, Kind::Suspend, resource);
                    let section = |records: &mut Vec<Record>| {
                        note(records, Kind::Locked, resource);
                        self.section(steps, records, job)
                    };
                    if self.locks[resource].with(records, waits, section) != Some(true) {
                        return false;
                    }
                }
                Step::Unlock(resource) => {
                    // Record before the release: a waiting job may run at once.
                    note(records, Kind::Unlock, resource);
                    return true;
                }
            }
        }
        true
    }

    fn note(&self, records: &mut Vec<Record>, at_ns: u64, kind: Kind, job: u64, value: u64) {
        let (subject, cpu) = (self.at as u16, self.participant.cpu as u8);
        records.push(Record { at: Instant::from_ns(at_ns), kind, cpu, subject, job, value });
    }
}

/// The execution of a part of a job with cost `ns`: less than `ns`, to leave room for the cost of reading the clock.
pub(crate) fn within(ns: u64) -> u64 {
    ns - ns / 20
}

/// Uses `ns` of processor time.
pub(crate) fn compute(ns: u64) {
    let end_ns = clock::thread_cpu_ns() + ns;
    while clock::thread_cpu_ns() < end_ns {}
}
