// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One thread of the process, the safe-state thread, brings outputs to rest before the process ends, once. Any thread
//! may request this, also in a signal's handler.
//!
//! ```text
//! ABSENT -> READY -> ASKED -> RUNNING -> DONE, FAILED or CRASHED
//!             \-> HOME   \-> MISSED
//! ```
//!
//! If the thread does not begin in time after the request, the request is MISSED: the thread does not begin any more.
//!
//! Orderings: a thread that sees a state has acquired the stores before it: the budget with READY, the instants with
//! the states that follow.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use crate::{clock, futex, interrupt, thread};

/// How long the thread may take from the request to its first instruction. An interpreter is slower.
pub const START_NS: u64 = if cfg!(miri) { 60_000_000_000 } else { 100_000_000 };

const ABSENT: u32 = 0;
const READY: u32 = 1;
const ASKED: u32 = 2;
const RUNNING: u32 = 3;
const DONE: u32 = 4;
const FAILED: u32 = 5;
const CRASHED: u32 = 6;
const HOME: u32 = 7;
const MISSED: u32 = 8;

static STATE: AtomicU32 = AtomicU32::new(ABSENT);
static TID: AtomicI32 = AtomicI32::new(0);
static BUDGET_NS: AtomicU64 = AtomicU64::new(0);
static ASKED_NS: AtomicU64 = AtomicU64::new(0);
static BEGUN_NS: AtomicU64 = AtomicU64::new(0);
static ENDED_NS: AtomicU64 = AtomicU64::new(0);
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// How the safe-state thread ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadEnd {
    /// It returned.
    Done,
    /// It panicked.
    Failed,
    /// It raised this signal.
    Crashed(i32),
    /// It did not return within its budget.
    Late,
    /// It did not start on a processor within [`START_NS`].
    NotStarted,
}

/// How the safe-state thread ended, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadReport {
    /// How it ended.
    pub outcome: ThreadEnd,
    /// The instant of the request, ns.
    pub asked_ns: u64,
    /// The instant of the thread's first instruction, ns; 0 if it did not start.
    pub begun_ns: u64,
    /// The instant of the thread's end, ns; if it has not ended, the instant of this report.
    pub ended_ns: u64,
}

/// Makes the calling thread the safe-state thread, until [`clear`].
pub fn prepare(budget_ns: u64) {
    TID.store(thread::tid(), Ordering::Relaxed);
    BUDGET_NS.store(budget_ns, Ordering::Relaxed);
    for instant in [&ASKED_NS, &BEGUN_NS, &ENDED_NS] {
        instant.store(0, Ordering::Relaxed);
    }
    STATE.store(READY, Ordering::Release);
    let _ = futex::wake(&STATE, u32::MAX, false);
}

/// Puts the calling thread, which has called [`prepare`], to sleep until it must bring outputs to rest; `false` if it
/// need not, and may end.
pub fn wait() -> bool {
    loop {
        match STATE.load(Ordering::Acquire) {
            READY => drop(futex::wait(&STATE, READY, None, false)),
            ASKED => {
                BEGUN_NS.store(clock::monotonic_ns(), Ordering::Relaxed);
                if STATE.compare_exchange(ASKED, RUNNING, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                    // Its budget counts from now on.
                    let _ = futex::wake(&STATE, u32::MAX, false);
                    return true;
                }
            }
            _ => return false,
        }
    }
}

/// The safe-state thread calls this when outputs are at rest; `well` is `false` if its code panicked.
pub fn end(well: bool) {
    ENDED_NS.store(clock::monotonic_ns(), Ordering::Relaxed);
    over(if well { DONE } else { FAILED });
}

/// Whether a thread of this process waits for the request.
pub fn is_ready() -> bool {
    STATE.load(Ordering::Acquire) == READY
}

/// Whether the thread has returned after the request.
pub fn has_returned() -> bool {
    matches!(STATE.load(Ordering::Acquire), DONE | FAILED)
}

/// Releases the thread, if no request was made: it may end.
pub fn send_home() {
    if STATE.compare_exchange(READY, HOME, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        let _ = futex::wake(&STATE, u32::MAX, false);
    }
}

/// Records that there is no such thread any more.
pub fn clear() {
    TID.store(0, Ordering::Relaxed);
    STATE.store(ABSENT, Ordering::Release);
}

/// The longest that [`bring_to_rest`] takes.
pub fn patience_ns() -> u64 {
    match STATE.load(Ordering::Acquire) {
        ABSENT | HOME => 0,
        _ => BUDGET_NS.load(Ordering::Relaxed).saturating_add(START_NS),
    }
}

/// Requests that outputs be brought to rest, unless another thread has requested it already, and waits for the end:
/// at most [`patience_ns`]. Parks a safe-state thread that does not return within its budget. `None` if there is no
/// such thread, and in that thread itself. A signal's handler may call it; it takes no lock and no memory.
pub fn bring_to_rest() -> Option<ThreadReport> {
    if TID.load(Ordering::Relaxed) == thread::tid() {
        return None;
    }
    let _ = ASKED_NS.compare_exchange(0, clock::monotonic_ns(), Ordering::Relaxed, Ordering::Relaxed);
    if STATE.compare_exchange(READY, ASKED, Ordering::AcqRel, Ordering::Acquire).is_ok() {
        let _ = futex::wake(&STATE, u32::MAX, false);
    }
    loop {
        let (state, now_ns) = (STATE.load(Ordering::Acquire), clock::monotonic_ns());
        let (from, patience_ns) = match state {
            ASKED => (&ASKED_NS, START_NS),
            RUNNING => (&BEGUN_NS, BUDGET_NS.load(Ordering::Relaxed)),
            _ => return seen(),
        };
        let until_ns = from.load(Ordering::Relaxed).saturating_add(patience_ns);
        if now_ns >= until_ns {
            if state == ASKED
                && STATE.compare_exchange(ASKED, MISSED, Ordering::AcqRel, Ordering::Acquire).is_err()
            {
                // The thread has begun meanwhile.
                continue;
            }
            interrupt::park_one(TID.load(Ordering::Relaxed));
            return seen();
        }
        let _ = futex::wait(&STATE, state, Some(until_ns), false);
    }
}

/// The result so far; `None` if no request was made, or if there is no such thread.
pub fn seen() -> Option<ThreadReport> {
    let outcome = match STATE.load(Ordering::Acquire) {
        ASKED | MISSED => ThreadEnd::NotStarted,
        RUNNING => ThreadEnd::Late,
        DONE => ThreadEnd::Done,
        FAILED => ThreadEnd::Failed,
        CRASHED => ThreadEnd::Crashed(SIGNAL.load(Ordering::Relaxed)),
        _ => return None,
    };
    let ended_ns = Some(ENDED_NS.load(Ordering::Relaxed)).filter(|ns| *ns != 0);
    // A thread that comes too late has stored an instant, and does not begin.
    let begun_ns = if outcome == ThreadEnd::NotStarted { 0 } else { BEGUN_NS.load(Ordering::Relaxed) };
    let ended_ns = ended_ns.unwrap_or_else(clock::monotonic_ns);
    let late = ended_ns.saturating_sub(begun_ns) > BUDGET_NS.load(Ordering::Relaxed);
    let outcome = if outcome == ThreadEnd::Done && late { ThreadEnd::Late } else { outcome };
    Some(ThreadReport { outcome, asked_ns: ASKED_NS.load(Ordering::Relaxed), begun_ns, ended_ns })
}

/// Whether `tid` is the safe-state thread.
pub(crate) fn is_of(tid: i32) -> bool {
    TID.load(Ordering::Relaxed) == tid
}

/// The handler of the safe-state thread's own crash calls this.
pub(crate) fn crashed(signal: i32) {
    SIGNAL.store(signal, Ordering::Relaxed);
    ENDED_NS.store(clock::monotonic_ns(), Ordering::Relaxed);
    over(CRASHED);
}

fn over(state: u32) {
    STATE.store(state, Ordering::Release);
    let _ = futex::wake(&STATE, u32::MAX, false);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test: a process has only one such thread.
    #[test]
    fn it_runs_once_and_a_caller_waits_at_most_its_budget() {
        assert_eq!((bring_to_rest(), patience_ns()), (None, 0));
        let runs = AtomicU32::new(0);
        let with = |budget_ns: u64, work: &(dyn Fn() + Sync), ask: &dyn Fn()| {
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    prepare(budget_ns);
                    if wait() {
                        runs.fetch_add(1, Ordering::Relaxed);
                        work();
                        assert_eq!(bring_to_rest(), None, "it does not wait for itself");
                        end(true);
                    }
                });
                while patience_ns() == 0 {
                    std::thread::yield_now();
                }
                ask();
            });
            clear();
        };
        with(1_000_000_000, &|| {}, &|| {
            let rest = bring_to_rest().unwrap();
            assert_eq!(rest.outcome, ThreadEnd::Done);
            assert!(rest.asked_ns <= rest.begun_ns && rest.begun_ns <= rest.ended_ns);
            assert_eq!(bring_to_rest(), Some(rest), "it has run already");
        });
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        with(1_000_000_000, &|| {}, &send_home);
        assert_eq!((runs.load(Ordering::Relaxed), seen()), (1, None));
        // The safe-state thread hangs until the test has seen that no thread waits for it any more.
        let go_on = AtomicU32::new(0);
        let hangs = || {
            let until_ns = clock::monotonic_ns() + 60_000_000_000;
            while go_on.load(Ordering::Acquire) == 0 && clock::monotonic_ns() < until_ns {
                std::thread::yield_now();
            }
        };
        with(1_000_000, &hangs, &|| {
            let rest = bring_to_rest().unwrap();
            assert_eq!((rest.outcome, has_returned()), (ThreadEnd::Late, false));
            assert!(rest.ended_ns - rest.begun_ns >= 1_000_000, "{rest:?}");
            go_on.store(1, Ordering::Release);
        });
        assert_eq!(runs.load(Ordering::Relaxed), 2);
        // A thread that comes too late does not begin. An interpreter would take a minute here.
        if !cfg!(miri) {
            let prepared = AtomicU32::new(0);
            let missed = AtomicU32::new(0);
            std::thread::scope(|threads| {
                let late = threads.spawn(|| {
                    prepare(1_000_000_000);
                    prepared.store(1, Ordering::Release);
                    while missed.load(Ordering::Acquire) == 0 {
                        std::thread::yield_now();
                    }
                    (wait(), seen().map(|rest| (rest.outcome, rest.begun_ns)))
                });
                while prepared.load(Ordering::Acquire) == 0 {
                    std::thread::yield_now();
                }
                let rest = bring_to_rest().unwrap();
                missed.store(1, Ordering::Release);
                assert_eq!((rest.outcome, rest.begun_ns, has_returned()), (ThreadEnd::NotStarted, 0, false));
                assert!(rest.ended_ns - rest.asked_ns >= START_NS, "{rest:?}");
                assert_eq!(late.join().unwrap(), (false, Some((ThreadEnd::NotStarted, 0))));
            });
            clear();
        }
    }
}
