// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A system as threads that Linux schedules, each at its priority. They play the role of Trampoline in the paper:
//! every change of the threads that may run is a call of the kernel.
//!
//! `taut` itself gives tasks with locks to a dispatcher. Threads without a dispatcher use these locks:
//!
//! | | before | lock | after |
//! |---|---|---|---|
//! | local | priority to the ceiling | mutex, which no other thread can hold | priority back |
//! | MSRP | priority above all jobs of the core | `taut_lock::spin` | priority back |
//! | MPCP | priority to that of the resource | `taut_lock::queued` | priority back |

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration as Time;

use taut_atomic::{LINE_BYTES, Line, Memory};
use taut_lock::{EventCount, Queued, Spin, queued, spin};
use taut_sys::{clock, thread};

use super::mechanism::Mechanism;
use super::meter::{Call, now};
use super::system::{BYTES_MAX, Object, System, TICK_NS};
use super::task_code::{Locks, TaskCode, Value};

/// A task's own priority is above this.
const OWN: u8 = 5;
/// The holder of a lock whose waiters sleep is above all jobs, in the order of the most urgent of the other core's
/// users.
const BOOSTED: u8 = 48;
/// The priority of a thread that spins, or holds a lock for which others spin.
const PINNED: u8 = 96;

/// A task's end of an object.
enum End<'m> {
    None,
    Local { ceiling: u8, value: &'m Mutex<Value> },
    Spin(Spin<'m, Value>),
    Queued { ceiling: u8, end: Queued<'m, Value> },
}

struct OfThread<'m> {
    own: u8,
    /// The ends, by object.
    ends: Vec<End<'m>>,
}

impl OfThread<'_> {
    fn raised<R>(own: u8, to: u8, work: impl FnOnce() -> R) -> Option<R> {
        thread::set_fifo(to).ok()?;
        let result = work();
        thread::set_fifo(own).ok()?;
        Some(result)
    }
}

impl Locks for OfThread<'_> {
    #[inline]
    fn locked(&mut self, object: usize, section: impl FnOnce(&mut Value)) -> bool {
        let own = self.own;
        let done = match &mut self.ends[object] {
            End::None => None,
            End::Local { ceiling, value } => Self::raised(own, *ceiling, || {
                let Ok(mut value) = value.lock() else { return };
                section(&mut value);
            }),
            End::Spin(end) => Self::raised(own, PINNED, || end.with(section)).and_then(Result::ok),
            End::Queued { ceiling, end } => {
                Self::raised(own, *ceiling, || end.with(section)).and_then(Result::ok)
            }
        };
        done.is_some()
    }
}

fn own(priority: u32) -> u8 {
    OWN + u8::try_from(priority).unwrap_or(u8::MAX).min(BOOSTED - OWN - 1)
}

/// The priority of the most urgent user.
fn highest(system: &System, users: impl Iterator<Item = usize>) -> u32 {
    users.map(|user| system.tasks[user].priority).max().unwrap_or(0)
}

/// The end of each user of an object.
fn ends<'m>(
    system: &System,
    object: &Object,
    mechanism: Mechanism,
    (lines, value, local): (&'m mut [Line], &'m mut Value, &'m Mutex<Value>),
) -> Result<Vec<(usize, End<'m>)>, String> {
    let core = |user: usize| system.tasks[user].core;
    let parties = object.users().count() as u32;
    let memory = Memory::new(lines);
    if object.is_local(&system.tasks) {
        let ceiling = own(highest(system, object.users()));
        return Ok(object.users().map(|user| (user, End::Local { ceiling, value: local })).collect());
    }
    let said = |error: taut_lock::LockLayoutError| error.to_string();
    if mechanism == Mechanism::Msrp {
        let ends = spin::group(memory, parties).map_err(said)?.guard(value);
        return Ok(object.users().zip(ends.map(End::Spin)).collect());
    }
    let ends = queued::group(memory, parties).map_err(said)?.guard(value);
    let end = |(user, mut end): (usize, Queued<'m, Value>)| {
        end.set_priority(system.tasks[user].priority);
        let others = highest(system, object.users().filter(|other| core(*other) != core(user)));
        let ceiling = BOOSTED + u8::try_from(others).unwrap_or(u8::MAX).min(PINNED - BOOSTED - 1);
        (user, End::Queued { ceiling, end })
    };
    Ok(object.users().zip(ends).map(end).collect())
}

/// The longest that a job waits for its writers, in ns; then it runs without the value.
const PATIENCE_NS: u64 = 2_000_000;

/// Sleeps until the job's inputs are there. Only the processor time of the wait is recorded.
fn wait(task_code: &mut TaskCode<'_, '_>, event_counts: &[EventCount]) {
    let until = now() + PATIENCE_NS;
    while let Some((writer, touch)) = task_code.missing() {
        let (at, begin) = (now(), clock::thread_cpu_ns());
        let looked = clock::thread_cpu_ns();
        let there = || task_code.missing().is_none_or(|(other, _)| other != writer).then_some(());
        let came = event_counts[writer].listener().until(Some(until), there).is_some();
        let spent = (clock::thread_cpu_ns() - looked).saturating_sub(looked - begin);
        task_code.meter.spent(Call::Wait, touch, at, spent);
        if !came {
            return;
        }
    }
}

/// Runs the system for `ticks` timer periods. Returns the instant of release 0.
///
/// # Errors
/// The reason why the system cannot run here.
pub(super) fn run(
    system: &System,
    mechanism: Mechanism,
    (task_codes, event_counts): (&mut [TaskCode<'_, '_>], &[EventCount]),
    (cpus, ticks): ([u16; 2], u64),
) -> Result<u64, String> {
    let lines = |object: &Object| {
        let parties = object.users().count() as u32;
        let bytes = spin::bytes(parties).max(queued::bytes(parties));
        (0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect()
    };
    let mut room: Vec<Vec<Line>> = system.objects.iter().map(lines).collect();
    let mut values = vec![[0; BYTES_MAX]; system.objects.len()];
    let locals: Vec<Mutex<Value>> = system.objects.iter().map(|_| Mutex::new([0; BYTES_MAX])).collect();
    let of_thread = |task: &super::system::Task| OfThread {
        own: own(task.priority),
        ends: system.objects.iter().map(|_| End::None).collect(),
    };
    let mut threads: Vec<OfThread<'_>> = system.tasks.iter().map(of_thread).collect();
    let stands = room.iter_mut().zip(&mut values).zip(&locals);
    for (at, (object, ((lines, value), local))) in system.objects.iter().zip(stands).enumerate() {
        for (user, end) in ends(system, object, mechanism, (lines, value, local))? {
            threads[user].ends[at] = end;
        }
    }
    let start = Start { ready: AtomicU32::new(0), origin: AtomicU64::new(0) };
    let count = task_codes.len() as u32;
    std::thread::scope(|scope| {
        let threads: Vec<_> = task_codes
            .iter_mut()
            .zip(threads)
            .map(|(task_code, locks)| {
                let start = &start;
                scope.spawn(move || jobs(task_code, locks, event_counts, start, (cpus, ticks)))
            })
            .collect();
        while start.ready.load(Ordering::Acquire) < count {
            std::thread::sleep(Time::from_millis(1));
        }
        start.origin.store(clock::monotonic_ns() + 10_000_000, Ordering::Release);
        for thread in threads {
            thread.join().map_err(|_| "a thread panicked".to_owned())?.map_err(|error| error.to_string())?;
        }
        Ok(start.origin.load(Ordering::Relaxed))
    })
}

/// The common start of all threads.
struct Start {
    /// How many threads wait for it.
    ready: AtomicU32,
    /// The instant of release 0, in ns; 0 until it is decided.
    origin: AtomicU64,
}

/// What a task's thread does: waits for the start, and executes a job at each release.
fn jobs(
    task_code: &mut TaskCode<'_, '_>,
    mut locks: OfThread<'_>,
    event_counts: &[EventCount],
    start: &Start,
    (cpus, ticks): ([u16; 2], u64),
) -> taut_sys::Result<()> {
    let stationed = thread::set_affinity(&[cpus[task_code.task.core]])
        .and_then(|()| thread::timer_slack(1))
        .and_then(|()| thread::set_fifo(locks.own));
    start.ready.fetch_add(1, Ordering::Release);
    let origin_ns = loop {
        match start.origin.load(Ordering::Acquire) {
            0 => std::thread::sleep(Time::from_millis(1)),
            origin_ns => break origin_ns,
        }
    };
    stationed?;
    for tick in (0..ticks).step_by(task_code.task.ticks as usize) {
        clock::sleep_until(origin_ns + tick * TICK_NS);
        task_code.activate(tick);
        wait(task_code, event_counts);
        task_code.job(&mut locks);
    }
    Ok(())
}
