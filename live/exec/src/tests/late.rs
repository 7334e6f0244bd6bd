// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A late dispatcher.

use std::time::Duration as Time;

use taut_event::Kind;
use taut_policy::{AnyCore, LocalAnswer, Locking, Scheduler};
use taut_time::{Duration, Instant};

use super::random::run;
use super::{Fault, alone, cpu, drained, postures};
use crate::ready::rule::Attributes;
use crate::{Job, LocalRule, RecordingLevel, Release, Setup, TaskSetup, Wanted};

#[test]
#[cfg_attr(miri, ignore = "takes more than 90 s")]
fn late_releases_break_no_lock() {
    let _alone = alone();
    for wanted in postures() {
        for rule in [LocalRule::Dfp, LocalRule::Srp] {
            for seed in 1..=4 {
                run(rule, wanted, seed, Time::from_millis(80), 300_000, false, Fault::None)
                    .unwrap_or_else(|what| panic!("{rule:?}, {wanted:?}, set {seed}: {what}"));
            }
        }
    }
}

/// Two users of one resource. The second arrives at `arrival`, and is reported to the rule after the first has
/// locked, when the clock is at 100. `Ok` if the rule keeps it out; otherwise the rule's answer to its lock.
fn told_after_the_lock(arrival: u64, floor_from: u64) -> Result<(), Option<LocalAnswer>> {
    let deadlines = [1000, 50].map(Duration::from_ns);
    let attributes = Attributes {
        priorities: vec![1, 2],
        deadlines: deadlines.to_vec(),
        ceilings: vec![2],
        floors: vec![deadlines[1]],
    };
    let mut rule: AnyCore = attributes.rule(LocalRule::Dfp).unwrap();
    rule.release(0, Instant::from_ns(0)).unwrap();
    assert_eq!(rule.decide(), Some(0));
    assert_eq!(rule.lock(Instant::from_ns(floor_from), 0), Ok(LocalAnswer::Granted));
    rule.release(1, Instant::from_ns(arrival)).unwrap();
    match rule.decide() {
        Some(0) => Ok(()),
        _ => Err(rule.lock(Instant::from_ns(200), 0).ok()),
    }
}

#[test]
fn floors_count_from_the_next_unreported_release() {
    const CLOCK: u64 = 100;
    for arrival in [0, 60, 99, 100, 101, 500] {
        assert_eq!(told_after_the_lock(arrival, arrival), Ok(()), "the next release that has not been told");
    }
    // With a clock in its place, a release that is reported late breaks the lock: both jobs would hold it.
    assert_eq!(told_after_the_lock(CLOCK - 1, CLOCK), Err(Some(LocalAnswer::Broken)));
    assert_eq!(told_after_the_lock(CLOCK, CLOCK), Ok(()), "due at the same instant: the holder goes on");
}

/// How often a core with nothing due recorded a scan of its calendar; `release` is that of its other task.
fn looks(rule: LocalRule, release: Release) -> usize {
    let mut setup = Setup::new();
    let core = setup.core(cpu(), rule);
    let period = Duration::from_ms(1000);
    let seldom = Release::Periodic { period, offset: period };
    setup.task(core, TaskSetup::new("seldom", seldom), |_: &mut Job<'_>| {});
    setup.task(core, TaskSetup::new("other", release), |_: &mut Job<'_>| {});
    let mut drain = setup.record(core, RecordingLevel::Jobs, 4096);
    // The core scans at the latest when it is stopped.
    setup.run(Wanted::Loose, |_| ()).unwrap();
    let records = drained(&mut drain);
    let looked = records.iter().filter(|record| record.kind == Kind::Looked);
    looked.inspect(|record| assert_eq!((record.subject, record.job, record.value), (0, 0, 0))).count()
}

#[test]
#[cfg_attr(miri, ignore = "about a minute: `cargo xtask miri` runs it")]
fn looks_are_recorded_where_floors_count_from_them() {
    let _alone = alone();
    let timed = Release::Periodic { period: Duration::from_ms(1000), offset: Duration::ZERO };
    assert!(looks(LocalRule::Dfp, Release::ByHand) > 0);
    assert_eq!(looks(LocalRule::Dfp, timed), 0, "they count from the calendar");
    assert_eq!(looks(LocalRule::Srp, Release::ByHand), 0, "there are none");
}
