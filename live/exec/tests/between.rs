// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Resources of several processes, each with an executor of its own; some processes are killed at arbitrary moments.
//! Strict enforcement where the system allows fixed priorities and each process has a CPU; else loose. Nothing here
//! checks how long anything takes, except to conclude that something does not happen. For deaths at every step see
//! `tests/deaths.rs`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

#[path = "../../share/tests/process/mod.rs"]
mod process;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration as Time, Instant};

use process::{Mapping, Process, orders};
use taut_exec::{
    Between, GlobalResource, GlobalRule, Job, LocalRule, LockError, Release, Setup, SetupError, TaskSetup,
    Wanted,
};
use taut_lock::life::{Alive, Lives};
use taut_lock::{LockLayoutError, life, queued, shared_bytes};
use taut_time::Duration;

const PARTIES: u32 = 4;
/// The words of the value: enough for a death inside the section to be likely.
const N: usize = 300;
type Value = [u64; N];
const LOCK: usize = shared_bytes::<Value>(PARTIES);
/// Behind the first table of lives is a second one, which not all processes know.
const LIVES: usize = life::bytes(2);
/// Words that report: how often a job was inside, and how often a job learned of a death.
const HAD: usize = 0;
const TOLD: usize = 1;

const PROTOCOLS: [(&str, GlobalRule); 3] =
    [("Msrp", GlobalRule::Msrp), ("Mpcp", GlobalRule::Mpcp), ("Fmlp", GlobalRule::FmlpLong)];

fn mapping() -> &'static Mapping {
    Box::leak(Box::new(Mapping::create(LOCK + 2 * LIVES)))
}

fn lives(mapping: &Mapping, table: usize) -> Lives<'static> {
    Lives::new(mapping.part(LOCK + table * LIVES, LIVES), 2).unwrap()
}

fn claimed(lives: Lives<'static>, place: u32) -> &'static Alive {
    Box::leak(Box::new(Alive::claim(lives, place).unwrap()))
}

fn attach(
    setup: &mut Setup<'_>,
    protocol: GlobalRule,
    mapping: &Mapping,
    slots: Range<u32>,
    (lives, alive): (Lives<'static>, &'static Alive),
) -> Result<GlobalResource<'static, Value>, LockLayoutError> {
    let between = Between { parties: PARTIES, slots, priority_elsewhere: 4, lives, alive };
    // SAFETY: zeros, or what the tests' processes left there, and used only as this.
    unsafe { setup.global_between(protocol, mapping.part(0, LOCK), between) }
}

fn every(us: u64) -> Release {
    Release::Periodic { period: Duration::from_us(us), offset: Duration::ZERO }
}

/// Strict if each process can have a CPU of its own; and that CPU, the first or the last.
fn enforcement(last: bool) -> (Wanted, u16) {
    let cpus = taut_sys::thread::affinity().unwrap();
    let cpu = if last { cpus[cpus.len() - 1] } else { cpus[0] };
    if cpus.len() < 2 {
        println!("skipped: strict runs: no second processor");
    }
    (if cpus.len() > 1 { Wanted::Best } else { Wanted::Loose }, cpu)
}

/// A job that increments the value word by word, with a pause of `ns` in the middle, and repairs a half changed
/// value.
fn counts(job: &mut Job<'_>, global: &GlobalResource<'_, Value>, mapping: &Mapping, ns: u64) {
    let section = |value: &mut Value, torn: Option<u32>, _: &mut Job<'_>| {
        assert!(torn.is_some() || value.iter().all(|word| *word == value[0]), "torn, and nobody was told");
        let next = value[0] + 1;
        let (first, second) = value.split_at_mut(N / 2);
        first.iter_mut().for_each(|word| *std::hint::black_box(word) = next);
        let end = taut_sys::clock::monotonic_ns() + ns;
        while taut_sys::clock::monotonic_ns() < end {
            std::hint::spin_loop();
        }
        second.iter_mut().for_each(|word| *std::hint::black_box(word) = next);
        mapping.reported(TOLD).fetch_add(u64::from(torn.is_some()), Relaxed);
    };
    match job.lock_global(global, |value, job| section(value, None, job)) {
        Ok(()) => {}
        Err(LockError::Poisoned { .. }) => job.recover_global(global, section).unwrap(),
        Err(other) => panic!("{other}"),
    }
}

/// The started processes: protocol and role.
#[test]
fn process() {
    let Some((role, mapping, number)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    let mapping: &'static Mapping = Box::leak(Box::new(mapping));
    if role == "cpu" {
        return wants_cpu(mapping, number as u16);
    }
    let (name, role) = role.split_once('-').unwrap();
    let protocol = PROTOCOLS.iter().find(|(other, _)| *other == name).unwrap().1;
    let table = usize::from(role == "unknown");
    let lives = lives(mapping, table);
    // Two processes that do not know of each other have the same place, each in its own table.
    let alive = claimed(lives, u32::from(role == "counts"));
    let mut setup = Setup::new();
    let slots = if role == "counts" || role == "unknown" { 2..4 } else { 0..2 };
    let global = attach(&mut setup, protocol, mapping, slots, (lives, alive)).unwrap();
    let (wanted, cpu) = if role == "counts" { enforcement(true) } else { (Wanted::Loose, 0) };
    let core = setup.core(cpu, LocalRule::Immediate);
    for at in 0..2 {
        let (theirs, role) = (global.clone(), role.to_owned());
        let task = TaskSetup::new("t", every(300 + 400 * at)).priority(1 + at as u32);
        let task = setup.task(core, task, move |job: &mut Job<'_>| match role.as_str() {
            "keeps" | "unknown" => job
                .lock_global(&theirs, |_, _| {
                    mapping.reported(HAD).fetch_add(1, SeqCst);
                    std::thread::sleep(Time::from_secs(number));
                })
                .unwrap(),
            _ => {
                counts(job, &theirs, mapping, 60_000);
                mapping.reported(HAD).fetch_add(1, SeqCst);
            }
        });
        setup.uses_global(task, &global).unwrap();
    }
    setup.run(wanted, |exec| exec.wait(None)).unwrap();
}

/// Whether `done` becomes true within `limit`, which is long enough whatever else the machine does.
fn comes(limit: Time, done: impl Fn() -> bool) -> bool {
    let limit = Instant::now() + limit;
    while !done() {
        if Instant::now() > limit {
            return false;
        }
        std::thread::sleep(Time::from_micros(200));
    }
    true
}

const LONG: Time = Time::from_secs(20);

fn start(mapping: &Mapping, role: &str) -> Process {
    let had = mapping.reported(HAD).load(SeqCst);
    let process = mapping.start(role, 1000);
    assert!(comes(LONG, || mapping.reported(HAD).load(SeqCst) > had), "{role} does not get anywhere");
    process
}

#[test]
fn living_parties_continue() {
    for (name, protocol) in PROTOCOLS {
        let mapping = mapping();
        let own = (lives(mapping, 0), claimed(lives(mapping, 0), 0));
        let mut setup = Setup::new();
        let global = attach(&mut setup, protocol, mapping, 0..2, own).unwrap();
        let (wanted, cpu) = enforcement(false);
        let core = setup.core(cpu, LocalRule::Srp);
        let had = [AtomicU64::new(0), AtomicU64::new(0)];
        for (at, had) in had.iter().enumerate() {
            let ours = global.clone();
            let task = TaskSetup::new("survivor", every(350 + 450 * at as u64)).priority(1 + at as u32);
            let task = setup.task(core, task, move |job: &mut Job<'_>| {
                counts(job, &ours, mapping, 0);
                had.fetch_add(1, SeqCst);
            });
            setup.uses_global(task, &global).unwrap();
        }
        let (mut deaths, reported) = (0, mapping.reported(TOLD));
        let (enforcement, _) = setup
            .run(wanted, |exec| {
                let limit = Instant::now() + LONG;
                // Until one has died inside, which is rare if processors are few or busy.
                while deaths < 15 || (reported.load(Relaxed) == 0 && Instant::now() < limit) {
                    let process = start(mapping, &format!("{name}-counts"));
                    std::thread::sleep(Time::from_micros(deaths * 7919 % 1500));
                    process.kill();
                    deaths += 1;
                    let before = had.each_ref().map(|had| had.load(SeqCst));
                    let go_on = || had.iter().zip(before).all(|(had, before)| had.load(SeqCst) > before);
                    assert!(comes(LONG, go_on), "{name}: they stand still");
                }
                exec.enforcement()
            })
            .unwrap();
        let reported = reported.load(Relaxed);
        println!("{name}, {enforcement}: {had:?} jobs; {reported} of {deaths} died inside");
        assert!(reported > 0 && reported <= deaths, "{name}: {reported} of {deaths}");
    }
}

/// A process that does not know of the dead one's life waits for it for ever: the check above notices that.
#[test]
fn without_its_life_a_death_is_not_seen() {
    for (name, _) in [PROTOCOLS[0], PROTOCOLS[1]] {
        for knows in [true, false] {
            let mapping = mapping();
            let dying = start(mapping, &format!("{name}-keeps"));
            let waits = mapping.start(&format!("{name}-{}", if knows { "counts" } else { "unknown" }), 0);
            let limit = if knows { LONG } else { Time::from_millis(300) };
            std::thread::sleep(Time::from_millis(50));
            assert_eq!(mapping.reported(HAD).load(SeqCst), 1, "{name}: two have it");
            dying.kill();
            let goes_on = comes(limit, || mapping.reported(HAD).load(SeqCst) > 1);
            assert_eq!(goes_on, knows, "{name}: nobody could know that it died");
            waits.kill();
        }
    }
}

/// The result of [`wants_cpu`], as the process reports it.
const RUNS: u64 = 1;
const REFUSED: u64 = 2;
const NO_PRIVILEGE: u64 = 3;

/// A strict core, for as long as the process lives.
fn wants_cpu(mapping: &'static Mapping, cpu: u16) {
    let mut setup = Setup::new();
    let lives = lives(mapping, 0);
    let global = attach(&mut setup, GlobalRule::Msrp, mapping, 2..4, (lives, claimed(lives, 1))).unwrap();
    let core = setup.core(cpu, LocalRule::Srp);
    let task = setup.task(core, TaskSetup::new("t", Release::ByHand), |_: &mut Job<'_>| {});
    setup.uses_global(task, &global).unwrap();
    let runs = setup.run(Wanted::Strict, |exec| {
        mapping.reported(HAD).store(RUNS, SeqCst);
        exec.wait(None)
    });
    let reported = match runs {
        Err(SetupError::CpuElsewhere(taken)) if taken == cpu => REFUSED,
        Err(SetupError::Enforcement(_)) => NO_PRIVILEGE,
        other => panic!("{other:?}"),
    };
    mapping.reported(HAD).store(reported, SeqCst);
}

/// Two processes whose strict cores share a resource cannot be on one CPU: a job that spins there would keep out the
/// job that it waits for.
#[test]
fn a_cpu_has_one_process() {
    let cpus = taut_sys::thread::affinity().unwrap();
    let mapping = mapping();
    let own = (lives(mapping, 0), claimed(lives(mapping, 0), 0));
    let starts = |cpu: u16| {
        let reported = mapping.reported(HAD);
        reported.store(0, SeqCst);
        let process = mapping.start("cpu", cpu.into());
        assert!(comes(LONG, || reported.load(SeqCst) != 0), "it says nothing");
        (process, reported.load(SeqCst))
    };
    let on = |cpu: u16, wanted: Wanted, meanwhile: &mut dyn FnMut()| {
        let mut setup = Setup::new();
        let global = attach(&mut setup, GlobalRule::Msrp, mapping, 0..2, own).unwrap();
        let core = setup.core(cpu, LocalRule::Srp);
        let task = setup.task(core, TaskSetup::new("t", Release::ByHand), |_: &mut Job<'_>| {});
        setup.uses_global(task, &global).unwrap();
        setup.run(wanted, |_| meanwhile()).map(drop)
    };
    let mut had = Vec::new();
    if let Err(why) = on(cpus[0], Wanted::Strict, &mut || had.push(starts(cpus[0]))) {
        assert!(matches!(why, SetupError::Enforcement(_)), "{why}");
        println!("skipped: {why}");
        return;
    }
    let (ended, reported) = had.pop().unwrap();
    assert_eq!(reported, REFUSED);
    assert!(ended.wait().success());
    // Our executor has stopped, so another process may take the CPU. Until it is killed, we are refused there, except
    // with loose enforcement.
    let (process, reported) = starts(cpus[0]);
    assert_eq!(reported, RUNS);
    let refused = on(cpus[0], Wanted::Strict, &mut || ()).unwrap_err();
    assert_eq!(refused, SetupError::CpuElsewhere(cpus[0]));
    assert!(refused.to_string().contains("give each process its own"), "{refused}");
    on(cpus[0], Wanted::Loose, &mut || ()).unwrap();
    if let Some(other) = cpus.get(1) {
        on(*other, Wanted::Strict, &mut || ()).unwrap();
    }
    process.kill();
    on(cpus[0], Wanted::Strict, &mut || ()).unwrap();
}

#[test]
fn a_party_slot_has_one_process() {
    for (_, protocol) in PROTOCOLS {
        let mapping = mapping();
        let lives = lives(mapping, 0);
        let (one, other) = ((lives, claimed(lives, 0)), (lives, claimed(lives, 1)));
        let mut setup = Setup::new();
        let first = attach(&mut setup, protocol, mapping, 0..2, one).unwrap();
        let refused = attach(&mut setup, protocol, mapping, 1..3, other).err();
        assert_eq!(refused, Some(LockLayoutError::Taken));
        assert_eq!(attach(&mut setup, protocol, mapping, 3..5, other).err(), Some(LockLayoutError::Parties));
        // The refused call has released the slots that it had taken.
        let second = attach(&mut setup, protocol, mapping, 2..4, other).unwrap();
        drop(first);
        let first = attach(&mut setup, protocol, mapping, 0..2, other).unwrap();
        assert!(first.into_value().is_none() && second.into_value().is_none(), "it is not of one process");
    }
}

/// The panic left the value half changed: the others learn of it as of a death.
#[test]
fn a_panic_leaves_the_value_to_be_repaired() {
    for (_, protocol) in PROTOCOLS {
        let mapping = mapping();
        let own = (lives(mapping, 0), claimed(lives(mapping, 0), 0));
        let run = |work: &(dyn Fn(&mut Job<'_>, &GlobalResource<'static, Value>) + Sync)| {
            let done = &AtomicBool::new(false);
            let mut setup = Setup::new();
            let global = attach(&mut setup, protocol, mapping, 1..2, own).unwrap();
            let core = setup.core(0, LocalRule::Srp);
            let ours = global.clone();
            let task = setup.task(core, TaskSetup::new("t", Release::ByHand), move |job: &mut Job<'_>| {
                work(job, &ours);
                done.store(true, SeqCst);
            });
            setup.uses_global(task, &global).unwrap();
            setup
                .run(Wanted::Loose, |exec| {
                    exec.release(task).unwrap();
                    comes(LONG, || done.load(SeqCst) || exec.wait(Some(Time::ZERO)).is_some())
                })
                .unwrap();
        };
        let panics = || run(&|job, global| job.lock_global(global, |_, _| panic!("inside")).unwrap());
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        run(&|job, global| {
            let reported = Err(LockError::Poisoned { by: 1 });
            assert_eq!(job.lock_global(global, |_, _| ()), reported);
            assert_eq!(job.lock_global(global, |_, _| ()), reported, "nobody has repaired it");
            assert_eq!(job.recover_global(global, |_, torn, _| torn), Ok(Some(1)));
            assert_eq!(job.recover_global(global, |_, torn, _| torn), Ok(None));
            assert_eq!(job.lock_global(global, |_, _| ()), Ok(()));
        });
    }
    // A job that waits asleep looks once per tick.
    const { assert!(queued::TICK_NS <= 1_000_000) };
}
