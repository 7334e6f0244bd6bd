// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What safe code can try against boot: false plans, maps taken twice and forgotten, channels of another plan,
//! start barriers that are opened twice, called off, or abandoned. Boot refuses each attempt, or the attempt is
//! harmless.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "test code")]

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use taut_boot::thread::{StartBarrier, ThreadPlacement, place_thread};
use taut_boot::{Guarantee, Guarantees, LoadError, LoadedPlan, MapError, Maps};
use taut_plan::{ChannelPlan, Input, MemoryMap, Plan, PlanTextError, Region, Size, ValidPlan, digest};
use taut_planner::Planned;

const MANIFEST: &str = r#"manifest = 1
app.name = "boot-attack"
[platform]
cores = [0]
memory = "32MiB"
on-missing-privilege = "degrade"
[payloads]
Word = { type = "u64" }
[tasks.first]
arrival = { periodic = "1ms" }
deadline = "1ms"
wcet = { value = "50us", source = "guess" }
memory = { persistent = "1KiB", release = "1KiB" }
[tasks.second]
arrival = { sporadic = "1ms", trigger = "words" }
deadline = "1ms"
wcet = { value = "50us", source = "guess" }
[channels.words]
kind = "queue"
from = "first"
to = "second"
payload = "Word"
[channels.newest]
kind = "state"
from = "first"
to = "second"
payload = "Word"
"#;

/// Guarantees without those that a placement needs.
fn without() -> Guarantees {
    let mut guarantees = Guarantees::default();
    guarantees.lose(Guarantee::Cores, "taken away");
    guarantees.lose(Guarantee::Priorities, "taken away");
    guarantees
}

fn planned() -> Plan {
    let source = taut_manifest::SourceText { name: "taut.toml".to_owned(), text: MANIFEST.to_owned() };
    let loaded = taut_manifest::load(&source, &[]);
    let shown = taut_manifest::render(&loaded.diagnostics, &[&source], false, 100);
    let model = loaded.model.unwrap_or_else(|| panic!("{shown}"));
    let input = Input { path: "taut.toml".to_owned(), hash: digest(MANIFEST.as_bytes()) };
    Planned::make(&model, vec![input]).plan
}

/// Regions with numbers of any size: an accepted region lies in the map, and every other one is refused.
#[test]
#[cfg_attr(miri, ignore = "calls mmap with MAP_POPULATE")]
fn no_region_lies_outside_of_its_map() {
    let plan = ValidPlan::new(planned()).unwrap();
    let maps = Maps::take(&plan).unwrap();
    assert!(maps.segment().is_none(), "nobody is a client");
    let whole = plan.memory.process.as_bytes();
    let start = {
        let mut first = plan.channels[0].clone();
        first.region = Region { offset: 0, size: whole };
        maps.place(&first).unwrap().0.addr().get()
    };
    let numbers = [
        0,
        1,
        64,
        127,
        128,
        whole - 128,
        whole - 1,
        whole,
        whole + 128,
        1 << 32,
        1 << 63,
        u64::MAX - 127,
        u64::MAX,
    ];
    let (mut given, mut refused) = (0, 0);
    for place in [MemoryMap::Process, MemoryMap::Segment] {
        for offset in numbers {
            for size in numbers {
                let channel =
                    ChannelPlan { place, region: Region { offset, size }, ..plan.channels[0].clone() };
                let fits = place == MemoryMap::Process
                    && offset.is_multiple_of(128)
                    && offset.checked_add(size).is_some_and(|end| end <= whole);
                match maps.place(&channel) {
                    Ok((at, bytes)) => {
                        assert!(fits, "{place:?} {offset} {size}");
                        assert_eq!((at.addr().get() - start, bytes), (offset as usize, size as usize));
                        given += 1;
                    }
                    Err(error) => {
                        assert!(!fits && matches!(error, MapError::Outside(_)), "{place:?} {offset} {size}");
                        refused += 1;
                    }
                }
                let lined = fits && size >= 128 && size.is_multiple_of(128);
                match maps.last_line(&channel) {
                    Ok(line) => {
                        assert!(lined, "{place:?} {offset} {size}");
                        assert_eq!(line.addr().get() - start, (offset + size - 128) as usize);
                    }
                    Err(error) => {
                        assert!(!lined && matches!(error, MapError::Outside(_)), "{place:?} {offset} {size}");
                    }
                }
            }
        }
    }
    assert!(given > 5 && refused > 200, "{given} {refused}");
}

/// Maps of one plan that are taken twice, moved to a thread that ends, and forgotten have no byte in common.
#[test]
#[cfg_attr(miri, ignore = "calls mmap with MAP_POPULATE")]
fn maps_taken_twice_are_apart() {
    let plan = ValidPlan::new(planned()).unwrap();
    let first = Maps::take(&plan).unwrap();
    let second = std::thread::scope(|threads| threads.spawn(|| Maps::take(&plan)).join()).unwrap().unwrap();
    for channel in &plan.channels {
        let places = [&first, &second].map(|maps| maps.place(channel).unwrap());
        let [one, other] = places.map(|(at, bytes)| (at.addr().get(), bytes));
        assert!(one.0 + one.1 <= other.0 || other.0 + other.1 <= one.0, "{}", channel.name);
    }
    std::mem::forget(first);
    let third: &'static Maps = Box::leak(Box::new(Maps::take(&plan).unwrap()));
    drop(second);
    assert!(plan.channels.iter().all(|channel| third.place(channel).is_ok()));
}

/// A plan whose numbers were changed, for example to no memory, is not valid, so nobody can take maps for it.
#[test]
#[cfg_attr(miri, ignore = "slow: ten plans are made; nothing in it is unsafe")]
fn plans_that_lie_are_refused() {
    type Lie = fn(&mut Plan);
    let lies: [(&str, Lie); 8] = [
        ("smaller", |plan| plan.memory.process = Size::from_bytes(128)),
        ("nothing", |plan| plan.memory.process = Size::ZERO),
        ("a segment for nobody", |plan| plan.memory.segment = Size::from_bytes(1 << 20)),
        ("twice", |plan| plan.channels[1].region = plan.channels[0].region),
        ("behind the end", |plan| plan.channels[0].region.offset = 1 << 40),
        ("around the end", |plan| plan.channels[0].region.offset = (1 << 63) - 128),
        ("no bytes", |plan| plan.channels[0].region.size = 0),
        ("in the segment", |plan| plan.channels[0].place = MemoryMap::Segment),
    ];
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taut.toml"), MANIFEST).unwrap();
    let lock = folder.path().join("taut.lock");
    for (what, lie) in lies {
        let mut plan = planned();
        lie(&mut plan);
        // With a digest that fits.
        std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
        let refused = LoadedPlan::from_file(&lock).map(drop);
        assert!(matches!(refused, Err(LoadError::Lock(_, PlanTextError::Invalid(_)))), "{what}: {refused:?}");
        assert!(ValidPlan::new(plan).is_err(), "{what}");
    }
    std::fs::write(&lock, planned().to_lock().unwrap()).unwrap();
    let loaded = LoadedPlan::from_file(&lock).unwrap();
    // A plan that is changed after it was read loses its validity, by its type.
    let mut changed = loaded.plan.into_plan();
    changed.channels[1].region = changed.channels[0].region;
    assert!(ValidPlan::new(changed).is_err());
}

/// Processors and priorities that do not exist: an error, and the thread stays where it was.
#[test]
#[cfg_attr(miri, ignore = "calls sched_setscheduler")]
fn impossible_placements() {
    let thread = std::thread::spawn(|| {
        let before = taut_sys::thread::affinity().unwrap();
        for cpu in [1_023, 1_024, 4_096, u16::MAX] {
            assert!(
                place_thread(ThreadPlacement { cpu, priority: 1 }, &Guarantees::default()).is_err(),
                "{cpu}"
            );
        }
        assert_eq!(taut_sys::thread::affinity().unwrap(), before);
        for priority in [0, 100, u8::MAX] {
            assert!(
                place_thread(ThreadPlacement { cpu: before[0], priority }, &Guarantees::default()).is_err(),
                "{priority}"
            );
        }
        // Without guarantees, the placement asks for nothing that the system could refuse; the stack is small, and
        // the placement touches no page beyond it.
        assert_eq!(place_thread(ThreadPlacement { cpu: u16::MAX, priority: 0 }, &without()), Ok(()));
    });
    thread.join().unwrap();
    let small = || place_thread(ThreadPlacement { cpu: 0, priority: 1 }, &without());
    let small = std::thread::Builder::new().stack_size(128 << 10).spawn(small).unwrap();
    assert_eq!(small.join().unwrap(), Ok(()), "a stack smaller than what is made present");
}

/// A barrier that is opened twice, or opened and called off, releases every thread once, late ones too; each thread
/// gets one of the given instants, or none.
#[test]
fn a_start_barrier_that_is_opened_twice() {
    for round in 0..if cfg!(miri) { 4 } else { 50 } {
        let (barrier, gone) = (StartBarrier::default(), AtomicU32::new(0));
        let wait = || {
            let reported = barrier.wait();
            gone.fetch_add(1, Ordering::SeqCst);
            reported
        };
        std::thread::scope(|threads| {
            let early = [threads.spawn(wait), threads.spawn(wait)];
            if round % 2 == 0 {
                assert_eq!(barrier.arrivals(2, u64::MAX), 2);
            }
            let other = threads.spawn(|| if round % 4 < 2 { barrier.open(8) } else { barrier.call_off() });
            barrier.open(7);
            for early in early {
                let reported = early.join().unwrap();
                assert!(
                    matches!(reported, Some(7 | 8)) || (reported.is_none() && round % 4 >= 2),
                    "{reported:?}"
                );
            }
            other.join().unwrap();
            let late = wait();
            assert!(matches!(late, Some(7 | 8)) || (late.is_none() && round % 4 >= 2), "{late:?}");
        });
        assert_eq!(gone.into_inner(), 3);
    }
}

/// A wait for more threads than there are ends at its deadline, even at one in the past; a deadline at the end of
/// the number range is far away. A thread whose start is called off has waited for nobody.
#[test]
fn a_start_barrier_that_no_thread_reaches() {
    static GATE: LazyLock<StartBarrier> = LazyLock::new(StartBarrier::default);
    let barrier: &'static StartBarrier = &GATE;
    assert_eq!(barrier.arrivals(1, 0), 0);
    assert_eq!(barrier.arrivals(u32::MAX, taut_sys::clock::monotonic_ns() + 1_000_000), 0);
    assert_eq!(barrier.arrivals(0, u64::MAX), 0);
    let waits = std::thread::spawn(|| barrier.wait());
    assert_eq!(barrier.arrivals(1, u64::MAX), 1);
    assert!(barrier.arrivals(2, 0) == 1 && !waits.is_finished());
    std::thread::sleep(Duration::from_millis(1));
    barrier.call_off();
    assert_eq!(waits.join().unwrap(), None);
}

/// A pipe without a writer, a file without an end and a folder are refused, and nothing waits for them.
#[test]
#[cfg_attr(miri, ignore = "starts another process: `mkfifo`")]
fn a_plan_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("taut.lock");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for lock in [pipe.as_path(), std::path::Path::new("/dev/zero"), folder.path()] {
        let refused = LoadedPlan::from_file(lock).map(drop).unwrap_err();
        assert!(refused.to_string().contains("it is not a regular file"), "{refused}");
    }
}

/// A program may be shipped with its `taut.lock` alone; a manifest that is there must be the one of the plan.
#[test]
#[cfg_attr(miri, ignore = "slow: a plan is made; nothing in it is unsafe")]
fn a_plan_is_loaded_without_its_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let (lock, manifest) = (folder.path().join("taut.lock"), folder.path().join("taut.toml"));
    std::fs::write(&lock, planned().to_lock().unwrap()).unwrap();
    assert!(LoadedPlan::from_file(&lock).is_ok());
    std::fs::write(&manifest, MANIFEST).unwrap();
    assert!(LoadedPlan::from_file(&lock).is_ok());
    std::fs::write(&manifest, format!("{MANIFEST}# another text\n")).unwrap();
    let refused = LoadedPlan::from_file(&lock).map(drop).unwrap_err();
    assert!(matches!(refused, LoadError::Stale { .. }), "{refused}");
    // A manifest that cannot be read is not an absent one.
    std::fs::remove_file(&manifest).unwrap();
    std::fs::create_dir(&manifest).unwrap();
    let refused = LoadedPlan::from_file(&lock).map(drop).unwrap_err();
    assert!(matches!(refused, LoadError::Read(..)), "{refused}");
}
