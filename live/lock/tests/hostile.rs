// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A process writes random words all over a lock's memory while others use it: no panic, no access outside (the
//! words around the memory stay as they are), and each operation ends with its patience. If the process writes to
//! its own line only, the others still exclude each other. Also under `--cfg steps`, which bounds the steps.
#![cfg(not(any(loom, shuttle, miri)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

#[path = "../../share/tests/process/mod.rs"]
mod process;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use process::{Mapping, Process, orders};
use taut_lock::life::{Alive, Lives};
use taut_lock::queued::RequestOutcome;
use taut_lock::{LINE_BYTES, Memory, Patience, life, queued, spin};

const PARTIES: u32 = 3;
const LOCK: usize = spin::bytes(PARTIES);
const LIVES: usize = life::bytes(2);
const TIME: Duration = Duration::from_millis(400);
const GUARD: u64 = 0x6A55_1E55;
/// Far above what any operation needs, and below what an endless loop would take.
const STEPS: u64 = 1 << 22;

/// The started process: it scribbles on all of the lock, or on the line of party 0.
#[test]
fn process() {
    let Some((role, mapping, seed)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    let words = mapping.words();
    // After the line of the guard, in bytes.
    let range = match role.as_str() {
        "everywhere" => LINE_BYTES..LINE_BYTES + LOCK + LIVES,
        _ => 2 * LINE_BYTES..3 * LINE_BYTES,
    };
    let words = &words[range.start / 8..range.end / 8];
    let mut random = seed;
    for n in 1u64.. {
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Half of the values are small, because a small wrong value is the most credible. Most writes go to where
        // control words are.
        let value = if random & 1 == 0 { random } else { random >> 61 };
        let at = (random >> 32) as usize % words.len();
        let at = if random & 6 == 0 { at } else { at / 16 * 16 + at % 4 };
        words[at].store(value, Relaxed);
        mapping.reported(0).store(n, Relaxed);
        if role != "everywhere" && n % 64 == 0 {
            // So that the others make progress in between.
            words.iter().for_each(|word| word.store(0, Relaxed));
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// The memory that a process scribbles on, between guards.
struct Place {
    mapping: Mapping,
    scribbler: Option<Process>,
}

impl Place {
    fn new(role: &str) -> Self {
        let mapping = Mapping::create(LOCK + LIVES + 2 * LINE_BYTES);
        let guards = mapping.words();
        let guards = guards[..16].iter().chain(&guards[guards.len() - 16..]);
        guards.for_each(|word| word.store(GUARD, Relaxed));
        let scribbler = Some(mapping.start(role, 0x1234_5678_9ABC_DEF1));
        let limit = Instant::now() + Duration::from_secs(20);
        while mapping.reported(0).load(Relaxed) == 0 {
            assert!(Instant::now() < limit, "the process does not work");
        }
        Self { mapping, scribbler }
    }

    fn lock(&self) -> Memory<'static> {
        self.mapping.part(LINE_BYTES, LOCK)
    }

    fn lives(&self) -> Lives<'static> {
        Lives::new(self.mapping.part(LINE_BYTES + LOCK, LIVES), 2).unwrap()
    }

    /// Repeats `work` until the time is over and enough was seen.
    fn while_scribbled(&self, mut work: impl FnMut() -> bool) {
        let (end, limit) = (Instant::now() + TIME, Instant::now() + Duration::from_secs(20));
        let before = self.mapping.reported(0).load(Relaxed);
        while !work() || Instant::now() < end || self.mapping.reported(0).load(Relaxed) < before + 1_000 {
            assert!(Instant::now() < limit, "not every outcome was seen");
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.scribbler.take().unwrap().kill();
        let words = self.mapping.words();
        let mut guards = words[..16].iter().chain(&words[words.len() - 16..]);
        assert!(guards.all(|word| word.load(Relaxed) == GUARD), "an access outside");
    }
}

/// Runs `operation` and, where steps are counted, checks their number.
fn bounded<R>(operation: impl FnOnce() -> R) -> R {
    #[cfg(steps)]
    {
        let (result, steps) = taut_atomic::steps::count(operation);
        assert!(steps.total() <= STEPS, "{steps:?} are more than {STEPS}");
        result
    }
    #[cfg(not(steps))]
    {
        let _ = STEPS;
        operation()
    }
}

/// How often an operation succeeded, and how often not.
#[derive(Default)]
struct Seen {
    had: u32,
    not: u32,
}

impl Seen {
    fn note(&mut self, had: bool) {
        *(if had { &mut self.had } else { &mut self.not }) += 1;
    }

    fn both(&self) -> bool {
        self.had > 20 && self.not > 20
    }
}

#[test]
fn spin_in_spoiled_memory() {
    let place = Place::new("everywhere");
    let (mut attached, mut entered) = (Seen::default(), Seen::default());
    let mut alive = None;
    place.while_scribbled(|| {
        alive = Alive::claim(place.lives(), 1).ok().or(alive.take());
        let Some(alive) = &alive else { return false };
        for which in 0..PARTIES {
            let party = bounded(|| spin::party(place.lock(), PARTIES, which, place.lives(), alive));
            attached.note(party.is_ok());
            let Ok(mut party) = party else { continue };
            for _ in 0..5 {
                entered.note(bounded(|| party.enter(Patience::Looks(100))).is_ok());
                bounded(|| party.leave());
            }
            bounded(|| drop(party));
        }
        attached.both() && entered.both()
    });
}

#[test]
fn queued_in_spoiled_memory() {
    let place = Place::new("everywhere");
    let (mut attached, mut at_once, mut later) = (Seen::default(), Seen::default(), Seen::default());
    let mut alive = None;
    place.while_scribbled(|| {
        alive = Alive::claim(place.lives(), 1).ok().or(alive.take());
        let Some(alive) = &alive else { return false };
        for which in 0..PARTIES {
            let party = bounded(|| queued::party(place.lock(), PARTIES, which, place.lives(), alive));
            attached.note(party.is_ok());
            let Ok(mut party) = party else { continue };
            for priority in 0..5 {
                let asked = bounded(|| party.request(priority));
                at_once.note(asked != RequestOutcome::Waits);
                if asked == RequestOutcome::Waits {
                    let soon = Patience::Until(taut_sys::clock::monotonic_ns() + 20_000);
                    later.note(bounded(|| party.wait(soon)).is_ok());
                }
                bounded(|| party.release());
            }
            bounded(|| drop(party));
        }
        attached.both() && at_once.both() && later.had + later.not > 20
    });
}

/// Two honest threads, and which of them is inside by their own account.
struct Honest {
    inside: AtomicU64,
    had: [AtomicU64; 2],
}

impl Honest {
    fn new() -> Self {
        Self { inside: AtomicU64::new(0), had: [AtomicU64::new(0), AtomicU64::new(0)] }
    }

    fn inside(&self, which: usize) {
        assert_eq!(self.inside.swap(1, Relaxed), 0, "two are inside");
        (0..20).for_each(|_| std::hint::spin_loop());
        assert_eq!(self.inside.swap(0, Relaxed), 1);
        self.had[which].fetch_add(1, Relaxed);
    }

    fn both(&self) -> bool {
        self.had.iter().all(|had| had.load(Relaxed) > 100)
    }
}

/// Lets parties 1 and 2 take turns while a process scribbles on party 0's line.
fn honest<P: Send>(
    attach: impl Fn(&Place, u32, &'static Alive) -> P,
    turn: impl Fn(&mut P, usize, &Honest) + Sync,
) {
    let place = Place::new("line");
    let alive = Box::leak(Box::new(Alive::claim(place.lives(), 1).unwrap()));
    let (honest, over) = (Honest::new(), AtomicBool::new(false));
    let run = |mut party: P, which| {
        while !over.load(Relaxed) {
            turn(&mut party, which, &honest);
        }
    };
    let (first, second) = (attach(&place, 1, alive), attach(&place, 2, alive));
    std::thread::scope(|scope| {
        let run = &run;
        scope.spawn(move || run(first, 0));
        scope.spawn(move || run(second, 1));
        // A panic is caught, because otherwise the threads would go on.
        let seen = std::panic::AssertUnwindSafe(|| {
            place.while_scribbled(|| {
                std::thread::sleep(Duration::from_millis(1));
                honest.both()
            });
        });
        let seen = std::panic::catch_unwind(seen);
        over.store(true, Relaxed);
        seen.unwrap();
    });
}

#[test]
fn spin_beside_a_spoiled_line() {
    let attach = |place: &Place, which, alive: &'static Alive| {
        spin::party(place.lock(), PARTIES, which, place.lives(), alive).unwrap()
    };
    honest(attach, |party, which, honest| {
        if party.enter(Patience::Looks(10_000)).is_ok() {
            honest.inside(which);
            party.leave();
        }
    });
}

#[test]
fn queued_beside_a_spoiled_line() {
    let attach = |place: &Place, which, alive: &'static Alive| {
        queued::party(place.lock(), PARTIES, which, place.lives(), alive).unwrap()
    };
    honest(attach, |party, which, honest| {
        let soon = Patience::Until(taut_sys::clock::monotonic_ns() + 3_000_000);
        if party.request(1) != RequestOutcome::Waits || party.wait(soon).is_ok() {
            honest.inside(which);
            party.release();
        }
    });
}
