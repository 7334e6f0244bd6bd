// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A process with an executor of its own kills itself with SIGKILL before the n-th shared step of what a job does
//! with a resource of several processes, for every n: while it asks, waits spinning or asleep, is granted the
//! resource, is inside and runs before all others of its core, and releases. The executor of this process goes on,
//! within the stated bounds. `RUSTFLAGS="--cfg steps" cargo test -p taut-exec --test deaths`.
//!
//! The dying process is strict, which has more steps, where the system allows fixed priorities; else loose.
#![cfg(steps)]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

#[path = "../../share/tests/process/mod.rs"]
mod process;

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release as Out, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration as Time, Instant};

use process::{Mapping, Process, orders};
use taut_atomic::steps::{count, strike_at};
use taut_exec::{
    Between, Exec, GlobalResource, GlobalRule, Job, LocalRule, LockError, Release, Setup, TaskId, TaskSetup,
    Wanted,
};
use taut_lock::life::{Alive, Lives};
use taut_lock::{life, shared_bytes};

const PARTIES: u32 = 3;
type Value = [u64; 3];
const LOCK: usize = shared_bytes::<Value>(PARTIES);

/// How far the dying process has come, in word 0 of its words in the mapping.
const INSIDE: u64 = 1;
const LETS_GO: u64 = 2;
const LEFT: u64 = 3;
/// Word 1: it asks. Word 2: its steps count from now on. Word 3: it may leave the section.
const ASKS: usize = 1;
const GO: usize = 2;
const LEAVE: usize = 3;

/// The bound that `Setup::global_between` states: the steps of a job that asks when the holder is dead, until it has
/// the lock.
fn bound(protocol: GlobalRule) -> u64 {
    let parties = u64::from(PARTIES);
    if protocol == GlobalRule::Msrp { 40 * parties } else { 6 * parties + 32 }
}

fn protocol(name: &str) -> GlobalRule {
    match name {
        "Msrp" => GlobalRule::Msrp,
        "Mpcp" => GlobalRule::Mpcp,
        _ => GlobalRule::FmlpLong,
    }
}

fn lives(mapping: &Mapping) -> Lives<'static> {
    Lives::new(mapping.part(LOCK, life::bytes(2)), 2).unwrap()
}

fn marked(number: u64) -> Value {
    [number, number.wrapping_mul(3), number.wrapping_mul(5)]
}

fn until(what: &str, done: impl Fn() -> bool) {
    let limit = Instant::now() + Time::from_secs(20);
    while !done() {
        assert!(Instant::now() < limit, "{what} does not come");
        std::thread::sleep(Time::from_micros(50));
    }
}

static ARMED: OnceLock<&'static AtomicU64> = OnceLock::new();
static LEFT_TO_LIVE: AtomicU64 = AtomicU64::new(0);
/// A step between two words of the value, at which the process can die.
static STEP: taut_atomic::AtomicU64 = taut_atomic::AtomicU64::new(0);

/// Runs before each step of the dying job.
fn tick() {
    if ARMED.get().is_some_and(|go| go.load(Acquire) == 1) && LEFT_TO_LIVE.fetch_sub(1, Relaxed) == 1 {
        // SAFETY: this ends the process, which is its purpose.
        unsafe { libc::raise(libc::SIGKILL) };
    }
    strike_at(1, tick);
}

fn between(mapping: &Mapping, slots: std::ops::Range<u32>, alive: &'static Alive) -> Between<'static> {
    Between { parties: PARTIES, slots, priority_elsewhere: 9, lives: lives(mapping), alive }
}

/// The started processes: protocol and role, and the step to die before.
#[test]
fn process() {
    let Some((role, mapping, n)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    let mapping: &'static Mapping = Box::leak(Box::new(mapping));
    let (name, role) = role.split_once('-').unwrap();
    let alive = Box::leak(Box::new(Alive::claim(lives(mapping), 0).unwrap()));
    let mut setup = Setup::new();
    // SAFETY: zeros, or what earlier processes left there, and used only as this.
    let global: GlobalResource<'_, Value> = unsafe {
        setup.global_between(protocol(name), mapping.part(0, LOCK), between(mapping, 0..1, alive)).unwrap()
    };
    let cpu = *taut_sys::thread::affinity().unwrap().last().unwrap();
    let core = setup.core(cpu, LocalRule::Immediate);
    let (upper_ran, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let hand = |name: &str, priority| TaskSetup::new(name, Release::ByHand).priority(priority);
    let upper = setup.task(core, hand("upper", 9), |_: &mut Job<'_>| upper_ran.store(true, SeqCst));
    let (theirs, role) = (global.clone(), role.to_owned());
    let (upper_ran, done) = (&upper_ran, &done);
    let dying = setup.task(core, hand("dying", 5), move |job: &mut Job<'_>| {
        LEFT_TO_LIVE.store(n, Relaxed);
        ARMED.set(mapping.reported(GO)).unwrap();
        strike_at(1, tick);
        mapping.reported(ASKS).store(1, Out);
        let section = |value: &mut Value, torn: Option<u32>, job: &mut Job<'_>| {
            assert_eq!(torn, None, "those who live have repaired it");
            mapping.reported(0).store(INSIDE, Out);
            for (word, new) in value.iter_mut().zip(marked(n)) {
                STEP.load(Relaxed);
                *std::hint::black_box(word) = new;
            }
            job.release(upper).unwrap();
            assert!(!upper_ran.load(SeqCst), "it goes before all jobs of its core");
            mapping.reported(0).store(LETS_GO, Out);
            if role == "hands" {
                until("the test", || mapping.reported(LEAVE).load(Acquire) == 1);
            }
        };
        job.recover_global(&theirs, section).unwrap();
        mapping.reported(0).store(LEFT, Out);
        done.store(true, SeqCst);
    });
    setup.uses_global(dying, &global).unwrap();
    setup
        .run(Wanted::Best, |exec| {
            exec.release(dying).unwrap();
            until("its end", || done.load(SeqCst) && upper_ran.load(SeqCst));
        })
        .unwrap();
}

/// What a survivor is to do, and its result.
#[derive(Default)]
struct Script {
    repairs: AtomicBool,
    /// The survivor keeps the resource until this is false.
    keeps: AtomicBool,
    asks: AtomicBool,
    has: AtomicBool,
    result: Mutex<Option<(Found, u64)>>,
}

/// What the survivor found: whether the value was whole, or whose death was reported.
type Found = Result<bool, LockError>;

impl Script {
    fn play(&self, job: &mut Job<'_>, global: &GlobalResource<'_, Value>) {
        let section = |value: &mut Value| {
            let whole = *value == marked(value[0]);
            self.has.store(true, SeqCst);
            until("the test", || !self.keeps.load(SeqCst));
            *value = marked(7);
            whole
        };
        self.asks.store(true, SeqCst);
        let (found, steps) = match self.repairs.load(SeqCst) {
            false => count(|| job.lock_global(global, |value, _| section(value))),
            true => count(|| {
                job.recover_global(global, |value, torn, _| {
                    section(value);
                    torn.is_some()
                })
            }),
        };
        *self.result.lock().unwrap() = Some((found, steps.total()));
    }

    fn has_ended(&self) -> (Found, u64) {
        until("a survivor", || self.result.lock().unwrap().is_some());
        self.result.lock().unwrap().take().unwrap()
    }
}

/// The survivors: two jobs of two cores of this process.
struct Scene<'e> {
    name: &'static str,
    mapping: &'static Mapping,
    exec: &'e Exec<'e>,
    tasks: [TaskId; 2],
    scripts: &'e [Script; 2],
    /// The most steps of a survivor that asked when the other process was dead.
    steps_max: u64,
}

impl Scene<'_> {
    /// Starts the dying process. Its steps count at once if `counts`, or else when `GO` is set.
    fn start(&self, role: &str, n: u64, counts: bool) -> Process {
        (0..4).for_each(|word| self.mapping.reported(word).store(0, Out));
        self.mapping.reported(GO).store(u64::from(counts), Out);
        self.mapping.start(&format!("{}-{role}", self.name), n)
    }

    /// Whether the process died, and how far it came.
    fn end(&self, process: Process, at: &str) -> (bool, u64) {
        let status = process.wait();
        let died = status.signal() == Some(libc::SIGKILL);
        assert!(died || status.success(), "{} {at}: {status}", self.name);
        (died, self.mapping.reported(0).load(Acquire))
    }

    fn release(&self, which: usize, repairs: bool) {
        self.scripts[which].asks.store(false, SeqCst);
        self.scripts[which].has.store(false, SeqCst);
        self.scripts[which].repairs.store(repairs, SeqCst);
        self.exec.release(self.tasks[which]).unwrap();
    }

    /// One of the survivors takes the resource, and keeps it.
    fn keep(&self, which: usize) {
        self.scripts[which].keeps.store(true, SeqCst);
        self.release(which, false);
        until("who keeps it", || self.scripts[which].has.load(SeqCst));
    }

    fn release_kept(&self, which: usize) -> Found {
        self.scripts[which].keeps.store(false, SeqCst);
        self.scripts[which].has_ended().0
    }

    fn turn(&mut self, which: usize, repairs: bool) -> Found {
        self.release(which, repairs);
        let (found, steps) = self.scripts[which].has_ended();
        self.steps_max = self.steps_max.max(steps);
        found
    }

    /// The other process is dead: the survivors take the value in turn. Returns whether the death was reported.
    /// `first` is the result of a survivor that asked before.
    fn goes_on(&mut self, first: Option<Found>, at: &str) -> bool {
        let first = first.unwrap_or_else(|| self.turn(0, false));
        let reported = first == Err(LockError::Poisoned { by: 0 });
        if reported {
            // Until a job repairs the value, every holder gets the report.
            assert_eq!(self.turn(1, false), first, "{} {at}", self.name);
            assert_eq!(self.turn(0, true), Ok(true), "{} {at}", self.name);
        } else {
            assert_eq!(first, Ok(true), "{} {at}: half changed, and nobody was told", self.name);
        }
        assert_eq!(self.turn(1, false), Ok(true), "{} {at}", self.name);
        reported
    }
}

/// What was seen over all steps.
#[derive(Default, Debug)]
struct Seen {
    reported: u32,
    untold: u32,
}

impl Seen {
    fn judge(&mut self, place: u64, died: bool, reported: bool, at: &str) {
        match place {
            INSIDE => assert!(reported, "{at}: it died inside"),
            // It may already, or still, have held the lock.
            0 | LETS_GO => assert!(died, "{at}"),
            _ => assert!(!reported, "{at}: it was not inside"),
        }
        *(if reported { &mut self.reported } else { &mut self.untold }) += 1;
    }
}

/// Runs the survivors, and `story` beside them.
fn scene(name: &'static str, story: impl FnOnce(&mut Scene<'_>)) {
    let mapping: &'static Mapping = Box::leak(Box::new(Mapping::create(LOCK + life::bytes(2))));
    let alive = Box::leak(Box::new(Alive::claim(lives(mapping), 1).unwrap()));
    let mut setup = Setup::new();
    // SAFETY: zeros, and used as this alone.
    let global: GlobalResource<'_, Value> = unsafe {
        setup.global_between(protocol(name), mapping.part(0, LOCK), between(mapping, 1..3, alive)).unwrap()
    };
    let scripts = [Script::default(), Script::default()];
    let tasks = [0, 1].map(|which| {
        let core = setup.core(which, LocalRule::Srp);
        let (script, ours) = (&scripts[usize::from(which)], global.clone());
        let task = TaskSetup::new("survivor", Release::ByHand).priority(3 + u32::from(which));
        let task = setup.task(core, task, move |job: &mut Job<'_>| script.play(job, &ours));
        setup.uses_global(task, &global).unwrap();
        task
    });
    setup
        .run(Wanted::Loose, |exec| {
            let mut scene = Scene { name, mapping, exec, tasks, scripts: &scripts, steps_max: 0 };
            story(&mut scene);
            println!("{name}: {} steps at most", scene.steps_max);
            assert!(scene.steps_max <= bound(protocol(name)), "{name}: {} steps", scene.steps_max);
        })
        .unwrap();
}

/// No survivor wants the resource.
fn alone(name: &'static str) {
    scene(name, |scene| {
        let mut seen = Seen::default();
        for n in 1.. {
            let at = format!("alone, step {n}");
            let process = scene.start("alone", n, true);
            let (died, place) = scene.end(process, &at);
            let reported = scene.goes_on(None, &at);
            seen.judge(place, died, reported, &at);
            if !died {
                break;
            }
        }
        println!("{name}: alone {seen:?}");
        assert!(seen.reported > 2 && seen.untold > 1 && seen.reported + seen.untold < 80, "{seen:?}");
    });
}

/// The dying process waits while a survivor has the resource.
fn waiting(name: &'static str) {
    scene(name, |scene| {
        for n in 1..=40 {
            let at = format!("waiting, step {n}");
            scene.keep(1);
            let process = scene.start("waits", n, true);
            let (died, place) = scene.end(process, &at);
            assert!(died && place == 0, "{at}: {place}");
            assert_eq!(scene.release_kept(1), Ok(true), "{at}");
            assert!(!scene.goes_on(None, &at), "{at}: it was never inside");
        }
    });
}

/// The dying process releases while a survivor waits.
fn handing_over(name: &'static str) {
    scene(name, |scene| {
        let mut seen = Seen::default();
        for n in 1.. {
            let at = format!("handing over, step {n}");
            let process = scene.start("hands", n, false);
            until("the process", || scene.mapping.reported(0).load(Acquire) == LETS_GO);
            scene.release(0, false);
            until("who asks", || scene.scripts[0].asks.load(SeqCst));
            std::thread::sleep(Time::from_millis(2));
            scene.mapping.reported(GO).store(1, Out);
            scene.mapping.reported(LEAVE).store(1, Out);
            let first = scene.scripts[0].has_ended().0;
            let reported = scene.goes_on(Some(first), &at);
            let (died, place) = scene.end(process, &at);
            seen.judge(place, died, reported, &at);
            if !died {
                break;
            }
        }
        println!("{name}: handing over {seen:?}");
        assert!(seen.reported > 0 && seen.untold > 1 && seen.reported + seen.untold < 80, "{seen:?}");
    });
}

/// The dying process sleeps, gets the resource handed over, and then runs before all jobs of its core.
fn granted(name: &'static str) {
    scene(name, |scene| {
        let mut seen = Seen::default();
        for n in 1.. {
            let at = format!("granted, step {n}");
            scene.keep(1);
            let process = scene.start("waits", n, false);
            until("the process", || scene.mapping.reported(ASKS).load(Acquire) == 1);
            // It is first in the queue, also where only the order of requests counts.
            std::thread::sleep(Time::from_millis(3));
            scene.release(0, false);
            until("who asks", || scene.scripts[0].asks.load(SeqCst));
            std::thread::sleep(Time::from_millis(1));
            scene.mapping.reported(GO).store(1, Out);
            assert_eq!(scene.release_kept(1), Ok(true), "{at}");
            let first = scene.scripts[0].has_ended().0;
            let reported = scene.goes_on(Some(first), &at);
            let (died, place) = scene.end(process, &at);
            seen.judge(place, died, reported, &at);
            if !died {
                break;
            }
        }
        println!("{name}: granted {seen:?}");
        assert!(seen.reported > 2 && seen.untold > 1 && seen.reported + seen.untold < 120, "{seen:?}");
    });
}

macro_rules! protocols {
    ($($module:ident $name:literal: $($story:ident)*;)*) => {$(
        mod $module {
            $(#[test]
            fn $story() {
                super::$story($name);
            })*
        }
    )*};
}
protocols! {
    msrp "Msrp": alone waiting handing_over;
    mpcp "Mpcp": alone waiting handing_over granted;
    fmlp "Fmlp": alone waiting handing_over granted;
}
