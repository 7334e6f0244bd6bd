// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Processes change a value under a lock as fast as they can, and are killed at any moment from outside: the others
//! go on, and find the value whole, or get a report that a party died inside. 40 deaths each; `TAUT_STRESS_DEATHS`
//! makes it more.
#![cfg(not(any(loom, shuttle, miri)))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

mod payload;
#[path = "../../share/tests/process/mod.rs"]
mod process;

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use payload::marked;
use process::{Mapping, Process, orders};
use taut_lock::life::{Alive, Lives};
use taut_lock::{Guarded, Patience, Queued, Spin, Stuck, Turns, life, shared_bytes};

const PARTIES: u32 = 3;
/// Words of the value: long enough for a death inside to be likely.
const N: usize = 500;
/// The word in which all parties count the deaths that they got reported.
const REPORTED: usize = 4;
type Value = [u64; N];
const LOCK: usize = shared_bytes::<Value>(PARTIES);

fn lives(mapping: &Mapping) -> Lives<'static> {
    Lives::new(mapping.part(LOCK, life::bytes(PARTIES)), PARTIES).unwrap()
}

fn spun<'a>(mapping: &Mapping, which: u32, alive: &'a Alive) -> Spin<'a, Value> {
    // SAFETY: the test uses the memory only as this lock and value.
    unsafe { Spin::attach(mapping.part(0, LOCK), PARTIES, which, lives(mapping), alive) }.unwrap()
}

fn slept<'a>(mapping: &Mapping, which: u32, alive: &'a Alive) -> Queued<'a, Value> {
    // SAFETY: the test uses the memory only as this lock and value.
    unsafe { Queued::attach(mapping.part(0, LOCK), PARTIES, which, lives(mapping), alive) }.unwrap()
}

/// Increments the value, in many steps; returns whether a death was reported.
fn up<P: Turns>(end: &mut Guarded<'_, P, Value>) -> Result<bool, Stuck> {
    let patience = Patience::Until(taut_sys::clock::monotonic_ns() + 30_000_000_000);
    end.recover(patience, |value, poisoned| {
        if poisoned.is_none() && value[0] != 0 {
            let number = value[0].wrapping_mul(0xF1DE_83E1_9937_733D);
            assert_eq!(*value, marked(number), "torn, and nobody was told");
        }
        let number = value[0].wrapping_mul(0xF1DE_83E1_9937_733D);
        for (word, new) in value.iter_mut().zip(marked::<N>(number.wrapping_add(1))) {
            // Each word by itself, as in a longer section.
            store(word, new);
        }
        poisoned.is_some()
    })
}

/// A store that the compiler does not merge with others.
#[inline(never)]
fn store(word: &mut u64, new: u64) {
    *std::hint::black_box(word) = new;
}

/// The started processes: their number is that of their party.
#[test]
fn process() {
    let Some((role, mapping, number)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    let which = u32::try_from(number).unwrap();
    let alive = Alive::claim(lives(&mapping), which).unwrap();
    if role == "spun" {
        turns(&mut spun(&mapping, which, &alive), &mapping, which);
    } else {
        turns(&mut slept(&mapping, which, &alive), &mapping, which);
    }
}

fn turns<P: Turns>(end: &mut Guarded<'_, P, Value>, mapping: &Mapping, which: u32) {
    loop {
        let reported = up(end).unwrap();
        mapping.reported(REPORTED).fetch_add(u64::from(reported), Relaxed);
        mapping.reported(which as usize).fetch_add(1, Relaxed);
    }
}

fn deaths() -> u64 {
    std::env::var("TAUT_STRESS_DEATHS").ok().and_then(|s| s.parse().ok()).unwrap_or(40)
}

/// Starts a process, and waits until it works.
fn start(mapping: &Mapping, role: &str, which: u32) -> Process {
    let before = mapping.reported(which as usize).load(Relaxed);
    let process = mapping.start(role, which.into());
    let limit = Instant::now() + Duration::from_secs(20);
    while mapping.reported(which as usize).load(Relaxed) == before {
        assert!(Instant::now() < limit, "{role} {which} does not get anywhere");
        std::thread::sleep(Duration::from_micros(100));
    }
    process
}

fn survive<P: Turns + Send>(
    role: &str,
    others: &[u32],
    attach: impl Fn(&Mapping, u32, &'static Alive) -> Guarded<'static, P, Value>,
) {
    let mapping = Mapping::create(LOCK + life::bytes(PARTIES));
    let alive = Box::leak(Box::new(Alive::claim(lives(&mapping), 0).unwrap()));
    let mut end = attach(&mapping, 0, alive);
    let (over, reports) = (AtomicBool::new(false), mapping.reported(REPORTED));
    let (had, deaths) = std::thread::scope(|scope| {
        let survivor = scope.spawn(|| {
            let mut had = 0u64;
            while !over.load(Relaxed) {
                reports.fetch_add(u64::from(up(&mut end).unwrap()), Relaxed);
                had += 1;
            }
            had
        });
        // A panic is caught, because otherwise the survivor would go on.
        let killing = std::panic::AssertUnwindSafe(|| {
            let mut processes: Vec<_> =
                others.iter().map(|which| Some(start(&mapping, role, *which))).collect();
            let (mut n, limit) = (0, Instant::now() + Duration::from_secs(60));
            // Continues until a process has died inside, which is rare where processors are few or busy.
            while n < deaths() || (reports.load(Relaxed) == 0 && Instant::now() < limit) {
                let victim = n as usize % others.len();
                std::thread::sleep(Duration::from_micros(n * 7919 % 1500));
                processes[victim].take().unwrap().kill();
                processes[victim] = Some(start(&mapping, role, others[victim]));
                n += 1;
            }
            n
        });
        let killed = std::panic::catch_unwind(killing);
        over.store(true, Relaxed);
        (survivor.join().unwrap(), killed.unwrap())
    });
    let reported = reports.load(Relaxed);
    println!("{role}: {had} turns of the survivor; {reported} of {deaths} died inside");
    assert!(reported > 0 && reported <= deaths, "{role}: told {reported} times");
    assert!(had > deaths, "{role}: {had} turns of the survivor");
}

#[test]
fn spin_survives_its_parties() {
    // One other party: of three that spin on two processors, a waiter is nearly always not running.
    survive("spun", &[1], spun);
}

#[test]
fn queued_survives_its_parties() {
    survive("slept", &[1, 2], slept);
}
