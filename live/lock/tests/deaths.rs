// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A process kills itself with SIGKILL before the n-th shared step of an operation on a lock, for every n: while it
//! requests, waits, is inside, hands over, and takes the place of a dead party. The others go on, and get a report
//! if it was inside. `RUSTFLAGS="--cfg steps" cargo test -p taut-lock --test deaths`.
#![cfg(steps)]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

mod payload;
#[path = "../../share/tests/process/mod.rs"]
mod process;

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::{Duration, Instant};

use payload::marked;
use process::{Mapping, orders};
use taut_atomic::steps::strike_at;
use taut_lock::life::{Alive, Lives};
use taut_lock::{AcquiredState, Patience, life, queued, spin};

type Spun = spin::Party<'static>;
type Slept = queued::Party<'static>;

const PARTIES: u32 = 3;
const LOCK: usize = spin::bytes(PARTIES);
const VALUE: usize = 128;
/// Words of the value.
const N: usize = 3;

/// How far a process has come, in word 0 of its reports.
const INSIDE: u64 = 1;
const LETS_GO: u64 = 2;
const LEFT: u64 = 3;
/// Word 1: it got a report of a death. Word 2: it waits. Word 3: it may go on.
const REPORTED: usize = 1;
const WAITS: usize = 2;
const GO: usize = 3;

fn die() {
    // SAFETY: the call ends this process, which is its purpose.
    unsafe { libc::raise(libc::SIGKILL) };
}

/// A lock of either kind, as this test uses it.
trait Lock: Sized {
    const NAME: &'static str;

    fn attach(mapping: &Mapping, which: u32, alive: &'static Alive) -> Self;

    /// Requests; returns the entry if the lock was granted at once.
    fn ask(&mut self, priority: u32) -> Option<AcquiredState>;

    /// Completes a request that was not granted at once.
    fn have(&mut self) -> AcquiredState;

    fn leave(&mut self);
}

fn lives(mapping: &Mapping) -> Lives<'static> {
    Lives::new(mapping.part(LOCK + VALUE, life::bytes(2)), 2).unwrap()
}

/// Long enough for a machine that does other work: nothing here should need it.
fn patience() -> Patience {
    Patience::Until(taut_sys::clock::monotonic_ns() + 20_000_000_000)
}

impl Lock for Spun {
    const NAME: &'static str = "spin";

    fn attach(mapping: &Mapping, which: u32, alive: &'static Alive) -> Self {
        spin::party(mapping.part(0, LOCK), PARTIES, which, lives(mapping), alive).unwrap()
    }

    fn ask(&mut self, _: u32) -> Option<AcquiredState> {
        None
    }

    fn have(&mut self) -> AcquiredState {
        self.enter(patience()).unwrap()
    }

    fn leave(&mut self) {
        self.leave();
    }
}

impl Lock for Slept {
    const NAME: &'static str = "queued";

    fn attach(mapping: &Mapping, which: u32, alive: &'static Alive) -> Self {
        queued::party(mapping.part(0, LOCK), PARTIES, which, lives(mapping), alive).unwrap()
    }

    fn ask(&mut self, priority: u32) -> Option<AcquiredState> {
        match self.request(priority) {
            queued::RequestOutcome::Granted(entry) => Some(entry),
            queued::RequestOutcome::Waits => None,
        }
    }

    fn have(&mut self) -> AcquiredState {
        self.wait(patience()).unwrap()
    }

    fn leave(&mut self) {
        self.release();
    }
}

/// Changes the value, a word at a time, between `INSIDE` and `LETS_GO`.
fn inside(mapping: &Mapping, entry: AcquiredState, value: u64) {
    mapping.reported(0).store(INSIDE, Release);
    mapping.reported(REPORTED).store(u64::from(entry != AcquiredState::Clean), Release);
    let slots = mapping.part(LOCK, VALUE).claim().slots(0, N * 8, 1);
    // SAFETY: index 0 is inside the slots, which are N words long; access is exclusive, because we hold the lock.
    unsafe { slots.write(0, &marked::<N>(value)) };
    mapping.reported(0).store(LETS_GO, Release);
}

/// Whether the value is not torn.
fn is_whole(mapping: &Mapping) -> bool {
    let slots = mapping.part(LOCK, VALUE).claim().slots(0, N * 8, 1);
    // SAFETY: index 0 is inside the slots, which are N words long; access is exclusive, because we hold the lock.
    let value = unsafe { slots.read::<[u64; N]>(0) };
    value == [0; N] || (0..1000).any(|number| value == marked(number))
}

/// The started processes. The number in their orders is the step before which they die, and in the bits from 16 on
/// a value.
#[test]
fn process() {
    let Some((role, mapping, number)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    let (lock, role) = role.split_once('-').unwrap();
    let (n, value) = (number & 0xFFFF, number >> 16);
    match lock {
        "spin" => play::<Spun>(role, &mapping, n, value),
        _ => play::<Slept>(role, &mapping, n, value),
    }
}

fn play<L: Lock>(role: &str, mapping: &Mapping, n: u64, value: u64) {
    let alive = Box::leak(Box::new(Alive::claim(lives(mapping), 0).unwrap()));
    if role == "heir" {
        strike_at(n, die);
    }
    let mut party = L::attach(mapping, 0, alive);
    if role == "turn" {
        strike_at(n, die);
    }
    let mut had = party.ask(2);
    mapping.reported(WAITS).store(1, Release);
    match role {
        "waits" => strike_at(n, die),
        "granted" => {
            until("the test", || mapping.reported(GO).load(Acquire) == 1);
            strike_at(n, die);
        }
        _ => {}
    }
    let entry = had.take().unwrap_or_else(|| party.have());
    inside(mapping, entry, value);
    if role == "hands" {
        until("the test", || mapping.reported(GO).load(Acquire) == 1);
        strike_at(n, die);
    }
    party.leave();
    mapping.reported(0).store(LEFT, Release);
    // The party is not dropped: the process ends as it is.
    std::mem::forget(party);
}

fn until(what: &str, done: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < limit, "{what} does not come");
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// The others: two parties of this process.
struct Scene<L> {
    mapping: Mapping,
    second: L,
    third: L,
}

/// How a process ended: how far it had come, and whether it died.
struct End {
    at: u64,
    died: bool,
}

impl<L: Lock> Scene<L> {
    fn new() -> Self {
        let mapping = Mapping::create(LOCK + VALUE + life::bytes(2));
        let alive = Box::leak(Box::new(Alive::claim(lives(&mapping), 1).unwrap()));
        let (second, third) = (L::attach(&mapping, 1, alive), L::attach(&mapping, 2, alive));
        Self { mapping, second, third }
    }

    fn start(&self, role: &str, n: u64, value: u64) -> process::Process {
        (0..4).for_each(|word| self.mapping.reported(word).store(0, Release));
        self.mapping.start(&format!("{}-{role}", L::NAME), n | value << 16)
    }

    fn end(&self, process: process::Process, at: &str) -> End {
        let status = process.wait();
        let died = status.signal() == Some(libc::SIGKILL);
        assert!(died || status.success(), "{}, {at}: {status}", L::NAME);
        End { at: self.mapping.reported(0).load(Acquire), died }
    }

    /// Runs a process until it dies or ends.
    fn run(&self, role: &str, n: u64, value: u64) -> End {
        let process = self.start(role, n, value);
        self.end(process, role)
    }

    /// The living parties take turns. Returns whether the first of them got a report of the death. `asked` says
    /// whether that party has requested before.
    fn goes_on(&mut self, asked: Option<bool>, at: &str) -> bool {
        let name = L::NAME;
        let entry = match asked {
            Some(true) => self.second.have(),
            _ => self.second.ask(1).unwrap_or_else(|| self.second.have()),
        };
        let reported = entry == AcquiredState::OwnerDied(0);
        assert!(reported || entry == AcquiredState::Clean, "{name}, {at}: {entry:?}");
        assert!(reported || is_whole(&self.mapping), "{name}, {at}: torn, and nobody was told");
        inside(&self.mapping, entry, 7);
        self.second.leave();
        for party in [&mut self.third, &mut self.second] {
            let entry = party.ask(1).unwrap_or_else(|| party.have());
            assert_eq!(entry, AcquiredState::Clean, "{name}, {at}: reported twice");
            party.leave();
        }
        reported
    }
}

/// How many deaths were reported, and how many not.
#[derive(Default)]
struct Seen {
    reported: u32,
    untold: u32,
    steps: u64,
}

impl Seen {
    /// Checks that a death was rightly reported or not: a process that is releasing may have finished or not.
    fn judge(&mut self, end: &End, reported: bool, at: &str) {
        match end.at {
            INSIDE => assert!(reported, "{at}: it died inside"),
            LETS_GO => assert!(end.died, "{at}"),
            _ => assert!(!reported, "{at}: it was not inside"),
        }
        *(if reported { &mut self.reported } else { &mut self.untold }) += 1;
        self.steps += 1;
    }
}

/// No other party wants the lock.
fn alone<L: Lock>() {
    let mut seen = Seen::default();
    for n in 1.. {
        let mut scene = Scene::<L>::new();
        let at = format!("{}, alone, step {n}", L::NAME);
        let end = scene.run("turn", n, 5);
        let reported = scene.goes_on(None, &at);
        seen.judge(&end, reported, &at);
        if !end.died {
            break;
        }
    }
    assert!(seen.reported > 2 && seen.untold > 1 && seen.steps < 40, "{} {}", seen.reported, seen.untold);
}

/// The process waits while another party holds the lock.
fn waiting<L: Lock>() {
    for n in 1..=60 {
        let mut scene = Scene::<L>::new();
        let at = format!("{}, waiting, step {n}", L::NAME);
        assert_eq!(scene.third.ask(1).unwrap_or_else(|| scene.third.have()), AcquiredState::Clean);
        let end = scene.run("waits", n, 5);
        assert!(end.died && end.at == 0, "{at}");
        scene.third.leave();
        assert!(!scene.goes_on(None, &at), "{at}: it was never inside");
    }
}

/// The process releases while others want the lock.
fn handing_over<L: Lock + Send>() {
    let mut seen = Seen::default();
    for n in 1.. {
        let mut scene = Scene::<L>::new();
        let at = format!("{}, handing over, step {n}", L::NAME);
        let process = scene.start("hands", n, 5);
        until("the process", || scene.mapping.reported(0).load(Acquire) == LETS_GO);
        let asked = scene.second.ask(1);
        assert!(asked.is_none(), "{at}");
        let go = scene.mapping.reported(GO);
        go.store(1, Release);
        // The party waits already when the process dies, for the lock in which request and wait are one step.
        let reported = scene.goes_on(Some(true), &at);
        let end = scene.mapping.reported(0).load(Acquire);
        let end = End { at: if end == LEFT { LEFT } else { LETS_GO }, ..scene.end(process, &at) };
        if end.died {
            seen.judge(&end, reported, &at);
        } else {
            assert!(!reported, "{at}");
            break;
        }
    }
    assert!(seen.reported > 0 && seen.steps < 40, "{} {}", seen.reported, seen.untold);
}

/// The lock is handed to the process, which is asleep or about to be.
fn granted() {
    let mut seen = Seen::default();
    for n in 1.. {
        let mut scene = Scene::<Slept>::new();
        let at = format!("queued, granted, step {n}");
        assert_eq!(scene.third.ask(1), Some(AcquiredState::Clean));
        let process = scene.start("granted", n, 5);
        until("the process", || scene.mapping.reported(WAITS).load(Acquire) == 1);
        assert!(scene.second.ask(1).is_none());
        assert_eq!(scene.third.release(), Some(0), "{at}: it is more urgent");
        scene.mapping.reported(GO).store(1, Release);
        let end = scene.end(process, &at);
        let reported = scene.goes_on(Some(true), &at);
        seen.judge(&end, reported, &at);
        if !end.died {
            break;
        }
    }
    assert!(seen.reported > 2 && seen.untold > 1 && seen.steps < 60, "{} {}", seen.reported, seen.untold);
}

/// The process takes the place of one that died before step `first` of being alone; `inside_first` says whether
/// that one was inside.
fn heir<L: Lock>(first: u64, inside_first: bool) {
    let mut deaths = 0;
    for n in 1.. {
        let mut scene = Scene::<L>::new();
        let at = format!("{}, heir of one dead at {first}, step {n}", L::NAME);
        let before = scene.run("turn", first, 5);
        assert_eq!(before.at == INSIDE, inside_first, "{at}");
        let end = scene.run("heir", n, 6);
        let heir_reported = scene.mapping.reported(REPORTED).load(Acquire) == 1;
        let reported = scene.goes_on(None, &at);
        match end.at {
            // It had not yet got the report, or was about to.
            0 => assert_eq!(reported, inside_first, "{at}"),
            INSIDE => assert!(reported && heir_reported == inside_first, "{at}"),
            LETS_GO => assert_eq!(heir_reported, inside_first, "{at}"),
            _ => assert!(!reported && heir_reported == inside_first, "{at}"),
        }
        deaths += u32::from(end.died);
        if !end.died {
            break;
        }
    }
    assert!((8..60).contains(&deaths), "{deaths}");
}

/// The first step of being alone at which the process dies inside.
fn step_inside<L: Lock>() -> u64 {
    (1..).find(|n| Scene::<L>::new().run("turn", *n, 5).at == INSIDE).unwrap()
}

macro_rules! locks {
    ($($name:ident $lock:ident)*) => {$(
        mod $name {
            use super::{$lock, heir, step_inside};

            #[test]
            fn alone() {
                super::alone::<$lock>();
            }

            #[test]
            fn waiting() {
                super::waiting::<$lock>();
            }

            #[test]
            fn an_heir() {
                let inside = step_inside::<$lock>();
                heir::<$lock>(inside - 2, false);
                heir::<$lock>(inside + 1, true);
            }
        }
    )*};
}
locks!(spun Spun slept Slept);

#[test]
fn spun_handing_over() {
    handing_over::<Spun>();
}

#[test]
fn slept_handing_over() {
    handing_over::<Slept>();
}

#[test]
fn slept_granted() {
    granted();
}
