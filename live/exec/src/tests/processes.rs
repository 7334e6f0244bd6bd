// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What ends the process, or must not. Each case runs in a process of its own, which is this test started anew.

use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration as Time;

use taut_sys::clock;
use taut_time::Duration;

use super::{Canary, Fault, alone, busy, cpu, postures};
use crate::{Job, LocalRule, Release, Setup, TaskSetup, Wanted};

const CHILD: &str = "TAUT_EXEC_CHILD";

/// The command that runs this test in another process.
pub(super) fn child(test: &str, how: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads", "1"]).env(CHILD, how);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(super) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

pub(super) fn ended(output: &Output) -> String {
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn every(us: u64) -> Release {
    Release::Periodic { period: Duration::from_us(us), offset: Duration::from_us(us) }
}

/// The upper job sleeps in a section, so Linux runs the one below it, which then locks.
fn sleeps_in_a_section() {
    let mut setup = Setup::new();
    let core = setup.core(cpu(), LocalRule::Srp);
    let (one, other) = (setup.resource(core, ()), setup.resource(core, ()));
    let (ours, theirs) = (one.clone(), other.clone());
    let upper = TaskSetup::new("sleeper", every(20_000)).deadline(Duration::from_us(500)).uses(&one);
    setup.task(core, upper, move |job: &mut Job<'_>| {
        job.lock(&ours, |(), _| std::thread::sleep(Time::from_millis(5))).unwrap();
    });
    let lower = TaskSetup::new("below", every(100_000)).uses(&other);
    setup.task(core, lower, move |job: &mut Job<'_>| {
        let until = clock::monotonic_ns() + 50_000_000;
        while clock::monotonic_ns() < until {
            job.lock(&theirs, |(), _| busy(1000)).unwrap();
        }
    });
    setup.run(Wanted::Strict, |exec| exec.wait(Some(Time::from_millis(300)))).unwrap();
}

#[test]
fn a_job_that_sleeps_in_a_section_ends_the_process() {
    if is_child() {
        return sleeps_in_a_section();
    }
    let _alone = alone();
    if !postures().contains(&Wanted::Strict) {
        return println!("skipped: strict runs");
    }
    let name = "tests::processes::a_job_that_sleeps_in_a_section_ends_the_process";
    let reported = ended(&child(name, "sleep").output().unwrap());
    assert!(
        reported.contains("`below`: it runs in place of `sleeper`, which blocked in the kernel"),
        "{reported}"
    );
    assert!(reported.contains("help: a job must not sleep"), "{reported}");
}

/// Ceilings exclude nobody, so two jobs meet in a resource. The executor reports it before the second one gets the
/// resource.
fn breaks(rule: LocalRule, wanted: Wanted) {
    let mut setup = Setup::new();
    setup.fault = Fault::NoCeilings;
    let core = setup.core(cpu(), rule);
    let resource = setup.resource(core, Canary::default());
    let (ours, theirs) = (resource.clone(), resource.clone());
    let user = |name: &str, ms| {
        let task = TaskSetup::new(name, Release::ByHand).deadline(Duration::from_ms(ms)).uses(&resource);
        task.priority(1000 - ms as u32)
    };
    let upper = setup.task(core, user("upper", 10), move |job: &mut Job<'_>| {
        let whole = job.lock(&theirs, |canary, _| canary.change(1, || ())).unwrap();
        assert!(whole, "two had it");
    });
    let lower = setup.task(core, user("lower", 500), move |job: &mut Job<'_>| {
        job.lock(&ours, |canary, job| canary.change(0, || job.release(upper).unwrap())).unwrap();
    });
    setup
        .run(wanted, |exec| {
            exec.release(lower).unwrap();
            exec.wait(Some(Time::from_millis(200)))
        })
        .unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "starts other processes")]
fn a_rule_that_breaks_ends_the_process() {
    let rules = [("srp", LocalRule::Srp), ("dfp", LocalRule::Dfp), ("immediate", LocalRule::Immediate)];
    if let Ok(how) = std::env::var(CHILD) {
        let (rule, enforcement) = how.split_once(' ').unwrap();
        let rule = rules.iter().find(|(name, _)| *name == rule).unwrap().1;
        return breaks(rule, if enforcement == "strict" { Wanted::Strict } else { Wanted::Loose });
    }
    let _alone = alone();
    for wanted in postures() {
        let enforcement = if wanted == Wanted::Strict { "strict" } else { "loose" };
        for (rule, _) in rules {
            let name = "tests::processes::a_rule_that_breaks_ends_the_process";
            let reported = ended(&child(name, &format!("{rule} {enforcement}")).output().unwrap());
            let expected = "`upper`: another job holds resource 0, against the rule";
            assert!(reported.contains(expected), "{rule} {enforcement}: {reported}");
        }
    }
}

/// Jobs preempt each other in sections while the process is stopped and continued.
fn goes_on() {
    let wrong = AtomicU64::new(0);
    let mut setup = Setup::new();
    let core = setup.core(cpu(), LocalRule::Srp);
    let resource = setup.resource(core, Canary::default());
    for (at, period_us) in [700, 1_900, 5_300].into_iter().enumerate() {
        let (ours, wrong) = (resource.clone(), &wrong);
        setup.task(core, TaskSetup::new("t", every(period_us)).uses(&resource), move |job: &mut Job<'_>| {
            for _ in 0..5 {
                let change = |canary: &mut Canary, _: &mut Job<'_>| canary.change(at as u64, || busy(20_000));
                wrong.fetch_add(u64::from(!job.lock(&ours, change).unwrap()), Ordering::Relaxed);
            }
        });
    }
    let (_, outcome) = setup.run(Wanted::Best, |exec| exec.wait(Some(Time::from_millis(700)))).unwrap();
    assert_eq!(wrong.into_inner(), 0);
    for task in outcome.tasks {
        assert!(task.completed > 0 && task.completed == task.released, "{task:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "starts other processes")]
fn a_stopped_process_goes_on() {
    if is_child() {
        return goes_on();
    }
    let _alone = alone();
    let child = child("tests::processes::a_stopped_process_goes_on", "stop").spawn().unwrap();
    let signal = |signal| {
        // SAFETY: plain integers; the process is our child and not yet waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
    };
    for _ in 0..6 {
        std::thread::sleep(Time::from_millis(70));
        signal(libc::SIGSTOP);
        std::thread::sleep(Time::from_millis(15));
        signal(libc::SIGCONT);
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
