// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures this machine, shortly: that it comes to an end, on whatever machine, and to figures that can be.

use taut_gauge::{Spread, copies, releases, releases_beside_calls, switches};
use taut_sys::{EPERM, Error, thread};

/// A CPU that there is, and another if there is one.
fn cpus() -> (u16, u16) {
    let online = thread::online_cpus();
    (online[0], *online.last().expect("a CPU"))
}

/// Figures, unless this user may not have `SCHED_FIFO`: then that is what is said.
fn measured(found: Result<Spread, Error>, count: usize) -> Option<Spread> {
    match found {
        Ok(spread) => {
            assert_eq!(spread.count(), count);
            Some(spread)
        }
        Err(error) => {
            assert_eq!((error.call, error.errno), ("sched_setscheduler", EPERM));
            None
        }
    }
}

#[test]
fn sleepers_are_late() {
    let (cpu, _) = cpus();
    for found in [releases(cpu, 100), releases_beside_calls(cpu, 100)] {
        if let Some(spread) = measured(found, 100) {
            // No clock and no timer of Linux is that good.
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
    let refused = |found: Result<Spread, Error>| found.expect_err("no such CPU").call;
    let absent = thread::CPU_LIMIT - 1;
    let (cpu, _) = cpus();
    assert_eq!(refused(releases(absent, 3)), "sched_setaffinity");
    assert_eq!(refused(releases_beside_calls(absent, 3)), "sched_setaffinity");
    assert_eq!(refused(switches(absent, 3)), "sched_setaffinity");
    for (reader, writer) in [(absent, cpu), (cpu, absent), (absent, absent)] {
        assert_eq!(refused(copies(reader, writer, 3)), "sched_setaffinity");
    }
}
