// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures this machine briefly: on any machine, every measurement ends, and its figures are plausible.

use taut_gauge::{NotMeasured, Samples, copies, device_wakes, releases, releases_beside_calls, switches};
use taut_sys::{EPERM, thread};

/// The first CPU, and another one if there is one.
fn cpus() -> (u16, u16) {
    let online = thread::online_cpus();
    (online[0], *online.last().expect("a CPU"))
}

/// The figures; `None` if this user may not use `SCHED_FIFO`, which must then be the error.
fn measured(found: Result<Samples, NotMeasured>, count: usize) -> Option<Samples> {
    match found {
        Ok(spread) => {
            assert_eq!(spread.count(), count);
            Some(spread)
        }
        Err(NotMeasured::System(error)) => {
            assert_eq!((error.call, error.errno), ("sched_setscheduler", EPERM));
            None
        }
        Err(NotMeasured::Starved) => panic!("nobody keeps the CPU"),
    }
}

#[test]
fn sleepers_are_late() {
    let (cpu, _) = cpus();
    for found in [releases(cpu, 100), releases_beside_calls(cpu, 100)] {
        if let Some(spread) = measured(found, 100) {
            // No clock and no timer of Linux is that precise.
            assert!(spread.quantile(1) > 50, "{spread:?}");
        }
    }
}

#[test]
fn switches_take_time() {
    let (cpu, _) = cpus();
    if let Some(spread) = measured(switches(cpu, 500), 500) {
        assert!(spread.median() > 100, "{spread:?}");
    }
}

/// Two looks at one device or at sixteen take time, and more at more.
#[test]
fn wakes_of_a_device_thread_take_time() {
    let (cpu, _) = cpus();
    let of = |devices| measured(device_wakes(cpu, devices, 200), 200);
    if let (Some(one), Some(many)) = (of(1), of(16)) {
        assert!(one.median() > 200 && many.median() > one.median(), "{} {}", one.median(), many.median());
    }
}

#[test]
fn copies_from_another_core_and_from_its_own() {
    let (reader, writer) = cpus();
    for from in [writer, reader] {
        if let Some(spread) = measured(copies(reader, from, 300), 300) {
            assert!(spread.median() >= 1, "{spread:?}");
        }
    }
}

#[test]
fn a_cpu_that_is_not_there() {
    let check = |found: Result<Samples, NotMeasured>| match found {
        // The thread asks for its priority first.
        Err(NotMeasured::System(error)) if error.errno == EPERM => {
            assert_eq!(error.call, "sched_setscheduler")
        }
        Err(NotMeasured::System(error)) => assert_eq!(error.call, "sched_setaffinity"),
        other => panic!("no such CPU: {other:?}"),
    };
    let absent = thread::CPU_LIMIT - 1;
    let (cpu, _) = cpus();
    check(releases(absent, 3));
    check(releases_beside_calls(absent, 3));
    check(switches(absent, 3));
    check(device_wakes(absent, 2, 3));
    for (reader, writer) in [(absent, cpu), (cpu, absent), (absent, absent)] {
        check(copies(reader, writer, 3));
    }
}
