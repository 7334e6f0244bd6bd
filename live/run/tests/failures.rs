// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Jobs panic, and what the manifest says happens: the service restarts, or stops, or the application does. Everything
//! else goes on. On both executors.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, Once};

use app::{Outcome, each, run_of};
use taut_event::{Ending, Kind};
use taut_plan::FailureRemedy;
use taut_run::{
    App, Component, Context, Error, Failure, Job, QueueWriter, Reason, Receiver, Resource, State, Task,
};
use taut_time::Duration;

const EXECUTORS: [&str; 2] = ["native", "dispatched"];

/// `source` sends a value to `takes` in each job; both are of one service. `other` is of none.
fn tables(executor: &str, on_failure: &str) -> String {
    format!(
        "executor = \"{executor}\"\n[payloads]\nCount = {{ type = \"u64\" }}\n\
         [services.sound]\n{on_failure}\n\
         [tasks.source]\nservice = \"sound\"\narrival = {{ periodic = \"5ms\" }}\ndeadline = \"5ms\"\n\
         wcet = {{ value = \"100us\", source = \"guess\" }}\n\
         [tasks.takes]\nservice = \"sound\"\narrival = {{ sporadic = \"4ms\", trigger = \"counts\" }}\n\
         deadline = \"4ms\"\nwcet = {{ value = \"100us\", source = \"guess\" }}\n\
         [tasks.other]\narrival = {{ periodic = \"5ms\" }}\ndeadline = \"5ms\"\n\
         wcet = {{ value = \"100us\", source = \"guess\" }}\n\
         [channels.counts]\nkind = \"queue\"\nfrom = \"source\"\nto = \"takes\"\npayload = \"Count\"\ncapacity = 64\n"
    )
}

/// A message with a backtrace takes longer than a run here, and the job that panics prints it: panics on purpose have none.
fn without_messages() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |about| {
            if !about.to_string().contains("on purpose") {
                hook(about);
            }
        }));
    });
}

fn run_for(
    ms: u64,
    (app, tables): (&str, &str),
    setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>,
) -> Outcome {
    without_messages();
    run_of(app, tables, Some(Duration::from_ms(ms)), setup)
}

/// What the components of a run were called for, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Called {
    Job(u64),
    Reset,
    Resume,
    Stop,
    Finish,
}

#[derive(Default)]
struct Calls {
    source: Mutex<Vec<Called>>,
    takes: Mutex<Vec<Called>>,
    others: AtomicU64,
}

/// What a component does besides its work.
#[derive(Clone, Copy, Default)]
struct Faults {
    /// The numbers of the jobs that panic, and of the values at whose receipt they do.
    panics: &'static [u64],
    /// The resets that panic, counted from 0.
    reset_panics: &'static [usize],
    /// The resets that return an error.
    reset_fails: &'static [usize],
}

impl Faults {
    fn reset(self, calls: &Mutex<Vec<Called>>) -> Result<(), Failure> {
        let before = calls.lock().unwrap().iter().filter(|called| **called == Called::Reset).count();
        calls.lock().unwrap().push(Called::Reset);
        assert!(!self.reset_panics.contains(&before), "a reset, on purpose");
        if self.reset_fails.contains(&before) { Err(Failure::Code(7)) } else { Ok(()) }
    }
}

struct Source<'p> {
    counts: QueueWriter<'p, u64>,
    sent: u64,
    /// How often it has panicked in a job.
    panicked: usize,
    faults: Faults,
    calls: &'p Calls,
}

impl Component for Source<'_> {
    fn reset(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
        self.faults.reset(&self.calls.source)
    }
    fn resume(&mut self) {
        self.calls.source.lock().unwrap().push(Called::Resume);
    }
    fn stop(&mut self) {
        self.calls.source.lock().unwrap().push(Called::Stop);
    }
    fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        self.calls.source.lock().unwrap().push(Called::Finish);
        Ok(())
    }
}

impl Task for Source<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        self.calls.source.lock().unwrap().push(Called::Job(job.number()));
        // At this number or after it: a stall may skip one.
        let is_due = self.faults.panics.get(self.panicked).is_some_and(|panics| *panics <= job.number());
        self.panicked += usize::from(is_due);
        assert!(!is_due, "on purpose");
        self.counts.send(job, self.sent).map_err(|_| Failure::Code(1))?;
        self.sent += 1;
        Ok(())
    }
}

struct Takes<'p> {
    faults: Faults,
    calls: &'p Calls,
}

impl Component for Takes<'_> {
    fn reset(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
        self.faults.reset(&self.calls.takes)
    }
    fn resume(&mut self) {
        self.calls.takes.lock().unwrap().push(Called::Resume);
    }
    fn stop(&mut self) {
        self.calls.takes.lock().unwrap().push(Called::Stop);
    }
}

impl Receiver<u64> for Takes<'_> {
    fn receive(&mut self, _: &mut Job<'_>, value: u64) -> Result<(), Failure> {
        self.calls.takes.lock().unwrap().push(Called::Job(value));
        assert!(!self.faults.panics.contains(&value), "a value, on purpose");
        Ok(())
    }
}

/// Runs the application for 400 ms, or until something ends it.
fn outcome(app: &str, tables: &str, source: Faults, takes: Faults) -> (Outcome, &'static Calls) {
    let calls: &'static Calls = Box::leak(Box::default());
    let outcome = run_for(400, (app, tables), |app: &mut App<'_>| {
        app.service("sound", |service| {
            service.task("source", |create| {
                let counts = create.queue_writer::<u64>("counts")?;
                Ok(Source { counts, sent: 0, panicked: 0, faults: source, calls })
            })?;
            service.receiver("takes", |_| Ok(Takes { faults: takes, calls }))
        })?;
        app.task("other", |_| {
            Ok(each(|_| {
                calls.others.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }))
        })
    });
    (outcome, calls)
}

fn remedies(outcome: &Outcome) -> Vec<u64> {
    outcome.of(Kind::Panicked).iter().map(|record| record.value).collect()
}

fn resets(outcome: &Outcome) -> usize {
    outcome.of(Kind::Service).iter().filter(|record| record.value == 4).count()
}

const RESTART: u64 = FailureRemedy::Restart as u64;
const STOP_SERVICE: u64 = FailureRemedy::StopService as u64;
const STOPS_APP: u64 = FailureRemedy::StopApp as u64;

/// The other task had a job in each period until the end.
fn others_went_on(outcome: &Outcome, calls: &Calls) {
    let skipped = outcome.of_task(Kind::Skip, 2).len() as u64;
    assert_eq!(calls.others.load(Ordering::Relaxed) + skipped, 80);
}

#[test]
fn a_service_restarts_in_place_of_its_next_jobs() {
    for executor in EXECUTORS {
        let tables = tables(executor, "on-failure = { restart = 2, within = \"60s\" }");
        let faults = Faults { panics: &[5, 20], ..Faults::default() };
        let (outcome, calls) = outcome("", &tables, faults, Faults::default());
        let ending = outcome.ending.as_ref().unwrap();
        assert!(ending.orderly && ending.reason == Reason::Elapsed, "{executor}: {ending:?}");
        assert_eq!(remedies(&outcome), [RESTART, RESTART], "{executor}");
        // The service's other component was reset as well.
        assert_eq!(resets(&outcome), 4, "{executor}");
        let source = calls.source.lock().unwrap().clone();
        for panics in [5, 20] {
            let at = source.iter().position(|called| *called >= Called::Job(panics)).unwrap();
            assert_eq!(
                source[at + 1],
                Called::Reset,
                "{executor}: nothing runs between a panic and the reset"
            );
        }
        assert_eq!(source[source.len() - 2..], [Called::Stop, Called::Finish], "{executor}");
        let takes = calls.takes.lock().unwrap().clone();
        assert_eq!(takes.iter().filter(|called| **called == Called::Reset).count(), 2, "{executor}");
        // No value was lost, and none came twice.
        let values: Vec<u64> = takes.iter().filter_map(|called| called.job()).collect();
        assert!(
            values.iter().copied().eq(0..values.len() as u64) && values.len() > 50,
            "{executor}: {values:?}"
        );
        // A job that panics completes, and a reset is a job.
        let jobs = outcome.of_task(Kind::Complete, 0).len();
        let codes = source.iter().filter(|called| matches!(called, Called::Job(_) | Called::Reset)).count();
        assert_eq!(jobs, codes, "{executor}");
        others_went_on(&outcome, calls);
    }
}

impl Called {
    fn job(self) -> Option<u64> {
        match self {
            Self::Job(number) => Some(number),
            Self::Reset | Self::Resume | Self::Stop | Self::Finish => None,
        }
    }
}

impl PartialOrd for Called {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.job()?.partial_cmp(&other.job()?)
    }
}

/// A receiver need not wait for its next value to learn of a restart.
#[test]
fn a_receiver_without_values_is_reset_at_once() {
    for executor in EXECUTORS {
        let tables = tables(executor, "on-failure = { restart = 1, within = \"60s\" }");
        let calls: &'static Calls = Box::leak(Box::default());
        let outcome = run_for(200, ("", &tables), |app| {
            app.service("sound", |service| {
                service.task("source", |create| {
                    create.queue_writer::<u64>("counts")?;
                    Ok(each(|job| {
                        assert!(job.number() != 10, "on purpose");
                        Ok(())
                    }))
                })?;
                service.receiver("takes", |_| Ok(Takes { faults: Faults::default(), calls }))
            })?;
            app.task("other", |_| Ok(each(|_| Ok(()))))
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{executor}");
        assert_eq!(*calls.takes.lock().unwrap(), [Called::Reset, Called::Stop], "{executor}");
    }
}

#[test]
fn one_failure_more_than_the_window_allows_stops_the_service() {
    for executor in EXECUTORS {
        for (then, end) in [("", STOP_SERVICE), (", then = \"stop-app\"", STOPS_APP)] {
            let on_failure = format!("on-failure = {{ restart = 2, within = \"60s\"{then} }}");
            let faults = Faults { panics: &[5, 10, 15], ..Faults::default() };
            let (outcome, calls) = outcome("", &tables(executor, &on_failure), faults, Faults::default());
            assert_eq!(remedies(&outcome), [RESTART, RESTART, end], "{executor}");
            assert_eq!(outcome.reported.unfinished, ["source: it panicked"], "{executor}");
            let ending = outcome.ending.as_ref().unwrap();
            assert!(!ending.orderly, "{executor}");
            let source = calls.source.lock().unwrap().clone();
            let last = source.last().unwrap().job().unwrap();
            assert!(
                last >= 15,
                "{executor}: neither `stop` nor `finish` runs after the last panic: {source:?}"
            );
            let takes = calls.takes.lock().unwrap().clone();
            assert_eq!(takes.last(), Some(&Called::Stop), "{executor}");
            assert_eq!(takes.iter().filter(|called| **called == Called::Stop).count(), 1, "{executor}");
            if end == STOPS_APP {
                assert_eq!(Ending::of(&outcome.records), Ending::Panic(0), "{executor}");
                continue;
            }
            assert_eq!(Ending::of(&outcome.records), Ending::Done, "{executor}");
            others_went_on(&outcome, calls);
        }
    }
}

#[test]
fn the_window_slides() {
    for executor in EXECUTORS {
        // Failures every 50 ms: never two within 6 ms, unless the machine stands still for long.
        let tables = tables(executor, "on-failure = { restart = 1, within = \"6ms\" }");
        let faults = Faults { panics: &[5, 15, 25, 35, 45, 55, 65], ..Faults::default() };
        let (outcome, calls) = outcome("", &tables, faults, Faults::default());
        assert_eq!(remedies(&outcome), [RESTART; 7], "{executor}");
        assert!(outcome.ending.as_ref().unwrap().orderly, "{executor}");
        others_went_on(&outcome, calls);
    }
}

#[test]
fn a_reset_that_fails_is_a_failure() {
    for executor in EXECUTORS {
        for faults in [
            Faults { panics: &[5], reset_panics: &[0], ..Faults::default() },
            Faults { panics: &[5], reset_fails: &[0], ..Faults::default() },
        ] {
            for (restart, expected) in [(1, vec![RESTART, STOP_SERVICE]), (2, vec![RESTART, RESTART])] {
                let tables =
                    tables(executor, &format!("on-failure = {{ restart = {restart}, within = \"60s\" }}"));
                let (outcome, calls) = outcome("", &tables, faults, Faults::default());
                assert_eq!(remedies(&outcome), expected, "{executor}");
                assert_eq!(outcome.ending.as_ref().unwrap().orderly, restart == 2, "{executor}");
                let source = calls.source.lock().unwrap().clone();
                let resets = source.iter().filter(|called| **called == Called::Reset).count();
                assert_eq!(resets, restart, "{executor}");
                others_went_on(&outcome, calls);
            }
        }
    }
}

#[test]
fn a_receiver_fails_and_loses_only_the_value_at_which_it_did() {
    for executor in EXECUTORS {
        let tables = tables(executor, "on-failure = { restart = 3, within = \"60s\" }");
        let faults = Faults { panics: &[7, 8, 30], ..Faults::default() };
        let (outcome, calls) = outcome("", &tables, Faults::default(), faults);
        assert!(outcome.ending.as_ref().unwrap().orderly, "{executor}");
        assert_eq!(remedies(&outcome), [RESTART; 3], "{executor}");
        let takes = calls.takes.lock().unwrap().clone();
        let values: Vec<u64> = takes.iter().filter_map(|called| called.job()).collect();
        assert!(
            values.iter().copied().eq(0..values.len() as u64) && values.len() > 50,
            "{executor}: {values:?}"
        );
        for panics in [7, 8, 30] {
            let at = takes.iter().position(|called| *called == Called::Job(panics)).unwrap();
            assert_eq!(takes[at + 1], Called::Reset, "{executor}");
        }
        others_went_on(&outcome, calls);
    }
}

/// A receiver that has failed follows its service's stop without running any code.
#[test]
fn a_receiver_fails_and_its_service_stops() {
    for executor in EXECUTORS {
        let faults = Faults { panics: &[7], ..Faults::default() };
        let (outcome, calls) = outcome("", &tables(executor, ""), Faults::default(), faults);
        assert_eq!(remedies(&outcome), [STOP_SERVICE], "{executor}");
        assert_eq!(outcome.reported.unfinished, ["takes: it panicked"], "{executor}");
        assert_eq!(calls.takes.lock().unwrap().last(), Some(&Called::Job(7)), "{executor}");
        assert_eq!(calls.source.lock().unwrap()[..].last(), Some(&Called::Finish), "{executor}");
        others_went_on(&outcome, calls);
    }
}

const ALONE: &str = "[tasks.tick]\narrival = { periodic = \"5ms\" }\ndeadline = \"5ms\"\n\
                     wcet = { value = \"100us\", source = \"guess\" }\n\
                     [tasks.tock]\narrival = { periodic = \"5ms\" }\ndeadline = \"5ms\"\n\
                     wcet = { value = \"100us\", source = \"guess\" }\n";

/// A task of no service fails: it stops alone, or the application does. With a safe state that is the default.
#[test]
fn a_task_of_no_service_stops_alone_unless_outputs_must_come_to_rest() {
    for executor in EXECUTORS {
        for (app, ends) in [
            ("", false),
            ("on-failure = \"stop-app\"\n", true),
            ("safe-state = \"1ms\"\n", true),
            ("safe-state = \"1ms\"\non-failure = \"stop-service\"\n", false),
        ] {
            let tables = format!("executor = \"{executor}\"\n{ALONE}");
            let tocks: &'static AtomicU64 = Box::leak(Box::default());
            let outcome = run_for(200, (app, &tables), |setup| {
                if app.contains("safe-state") {
                    setup.safe_state(|| ())?;
                }
                setup.task("tick", |_| {
                    Ok(each(|job| {
                        assert!(job.number() < 10, "on purpose");
                        Ok(())
                    }))
                })?;
                setup.task("tock", |_| {
                    Ok(each(|_| {
                        tocks.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    }))
                })
            });
            let remedy = if ends { STOPS_APP } else { STOP_SERVICE };
            assert_eq!(remedies(&outcome), [remedy], "{executor} {app}");
            assert_eq!(outcome.reported.unfinished, ["tick: it panicked"], "{executor} {app}");
            let expected = if ends { Ending::Panic(0) } else { Ending::Done };
            assert_eq!(Ending::of(&outcome.records), expected, "{executor} {app}");
            let skipped = outcome.of_task(Kind::Skip, 1).len() as u64;
            assert!(ends || tocks.load(Ordering::Relaxed) + skipped == 40, "{executor} {app}");
        }
    }
}

struct Holder {
    bus: Resource<u64>,
    torn: &'static AtomicU64,
}

impl Component for Holder {
    fn reset(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        job.recover(&self.bus, |value, torn, _| {
            assert_eq!((*value % 2, torn), (1, true), "left in the middle of a change");
            *value += 1;
            self.torn.fetch_add(1, Ordering::Relaxed);
        })?;
        Ok(())
    }
}

impl Task for Holder {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        Ok(job.lock(&self.bus, |value, job| {
            *value += 1;
            assert!(job.number() != 10, "on purpose, between two halves of a change");
            *value += 1;
        })?)
    }
}

/// A job panics while it holds a resource: jobs of others are refused it until `reset` has repaired the value.
#[test]
fn a_reset_repairs_what_a_job_left_in_the_middle_of_a_change() {
    static TORN: AtomicU64 = AtomicU64::new(0);
    static REFUSED: AtomicU64 = AtomicU64::new(0);
    static LOCKED: AtomicU64 = AtomicU64::new(0);
    let tables = "[resources.bus]\n[services.sound]\non-failure = { restart = 1, within = \"60s\" }\n\
         [tasks.holder]\nservice = \"sound\"\narrival = { periodic = \"5ms\" }\ndeadline = \"5ms\"\n\
         wcet = { value = \"100us\", source = \"guess\" }\n\
         sections = [{ resource = \"bus\", count = 1, longest = \"50us\" }]\n\
         [tasks.user]\narrival = { periodic = \"5ms\", offset = \"2ms\" }\ndeadline = \"3ms\"\n\
         wcet = { value = \"100us\", source = \"guess\" }\n\
         sections = [{ resource = \"bus\", count = 1, longest = \"50us\" }]\n";
    let outcome = run_for(200, ("", tables), |app| {
        app.resource("bus", 0_u64)?;
        app.service("sound", |service| {
            service.task("holder", |create| Ok(Holder { bus: create.resource("bus")?, torn: &TORN }))
        })?;
        app.task("user", |create| {
            let bus = create.resource::<u64>("bus")?;
            Ok(each(move |job| {
                match job.lock(&bus, |value, _| assert_eq!(*value % 2, 0, "no half of a change is seen")) {
                    Ok(()) => LOCKED.fetch_add(1, Ordering::Relaxed),
                    Err(_) => REFUSED.fetch_add(1, Ordering::Relaxed),
                };
                Ok(())
            }))
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.ending);
    assert_eq!((remedies(&outcome).as_slice(), resets(&outcome)), (&[RESTART][..], 1));
    assert_eq!((TORN.load(Ordering::Relaxed), REFUSED.load(Ordering::Relaxed)), (1, 1));
    assert!(LOCKED.load(Ordering::Relaxed) > 30);
}

/// A writer in a synchronous flow fails: the reader's jobs begin all the same, whether the writer restarts or has no
/// further job.
#[test]
fn a_failure_in_a_flow_holds_up_nobody() {
    for executor in EXECUTORS {
        for restart in ["restart = 1, within = \"60s\"", "then = \"stop-service\""] {
            let tables = format!(
                "executor = \"{executor}\"\n[payloads]\nCount = {{ type = \"u64\" }}\n\
                 [services.sound]\non-failure = {{ {restart} }}\n{ALONE}\
                 [tasks.writes]\nservice = \"sound\"\narrival = {{ periodic = \"5ms\" }}\ndeadline = \"5ms\"\n\
                 wcet = {{ value = \"100us\", source = \"guess\" }}\n\
                 [channels.count]\nkind = \"state\"\nfrom = \"writes\"\nto = [\"tick\", \"tock\"]\n\
                 payload = \"Count\"\nflow = \"synchronous\"\n"
            );
            let read: &'static Mutex<Vec<u64>> = Box::leak(Box::default());
            read.lock().unwrap().reserve(100);
            let outcome = run_for(200, ("", &tables), |app| {
                for name in ["tick", "tock"] {
                    app.task(name, |create| {
                        let mut count = create.state_reader::<u64>("count")?;
                        Ok(each(move |job| {
                            let value = count.latest(job).unwrap_or(0);
                            if name == "tick" {
                                read.lock().unwrap().push(value);
                            }
                            Ok(())
                        }))
                    })?;
                }
                app.service("sound", |service| {
                    service.task("writes", |create| {
                        let mut count = create.state_writer::<u64>("count")?;
                        Ok(each(move |job| {
                            assert!(job.number() != 10, "on purpose");
                            let _ = count.publish(job, job.number() + 1);
                            Ok(())
                        }))
                    })
                })
            });
            let goes_on = restart.starts_with("restart");
            let remedy = if goes_on { RESTART } else { STOP_SERVICE };
            let skips = outcome.of_task(Kind::Skip, 2).len();
            assert!(
                skips > 0 || remedies(&outcome) == [remedy],
                "{executor} {restart}: {:?}",
                outcome.ending
            );
            let read = read.lock().unwrap();
            let skipped = outcome.of_task(Kind::Skip, 0).len();
            assert_eq!(read.len() + skipped, 40, "{executor} {restart}: {read:?}");
            let last = *read.last().unwrap();
            assert!(if goes_on { last > 30 } else { last <= 10 }, "{executor} {restart}: {read:?}");
        }
    }
}

/// A best-effort task in a service sees the service's state, and ends with the service. One that panics has the remedy
/// of its service, or of the application; it does not restart.
#[test]
fn best_effort_tasks_belong_to_services_too() {
    for (on_failure, panics, remedy) in [
        ("", false, None),
        ("", true, Some(STOP_SERVICE)),
        ("on-failure = { restart = 5, within = \"1s\" }", true, Some(STOP_SERVICE)),
        ("on-failure = { then = \"stop-app\" }", true, Some(STOPS_APP)),
    ] {
        let seen: &'static Mutex<Vec<State>> = Box::leak(Box::default());
        let tables = format!(
            "[services.sound]\n{on_failure}\n{ALONE}service = \"sound\"\n\
             [tasks.logs]\nclass = \"best-effort\"\nservice = \"sound\"\n"
        );
        let ended: &'static AtomicU64 = Box::leak(Box::default());
        let late: &'static AtomicBool = Box::leak(Box::default());
        let outcome = run_for(60_000, ("", &tables), |app| {
            let control = app.control();
            app.task("tick", |_| {
                Ok(each(move |job| {
                    match job.number() {
                        10 => control.pause("sound").unwrap(),
                        20 => control.resume("sound").unwrap(),
                        30 => control.stop_service("sound").unwrap(),
                        // The thread has its sleep ended by the stop, or the run takes its time to an end that fails.
                        number if number > 40 && (ended.load(Ordering::Relaxed) == 1 || number > 2_000) => {
                            late.store(number > 2_000, Ordering::Relaxed);
                            control.stop();
                        }
                        _ => {}
                    }
                    Ok(())
                }))
            })?;
            app.service("sound", |service| {
                service.task("tock", |_| Ok(each(|_| Ok(()))))?;
                service.best_effort("logs", |_| {
                    Ok(move |context: &mut Context<'_>| {
                        let _ended = Ended(ended);
                        seen.lock().unwrap().push(context.state());
                        loop {
                            let mut states = seen.lock().unwrap();
                            if states.last() != Some(&context.state()) {
                                states.push(context.state());
                            }
                            // Once the service was resumed, until the stop wakes it.
                            let ms = if states.len() == 3 { 60_000 } else { 1 };
                            drop(states);
                            if !context.sleep(Duration::from_ms(ms)) {
                                break;
                            }
                            assert!(!panics, "on purpose");
                        }
                    })
                })
            })
        });
        let ending = outcome.ending.as_ref().unwrap();
        assert_eq!(remedies(&outcome), remedy.into_iter().collect::<Vec<_>>(), "{on_failure}");
        assert_eq!(ending.orderly, !panics, "{on_failure}");
        assert!(!late.load(Ordering::Relaxed), "{on_failure}: the stop of its service did not wake it");
        if panics {
            assert_eq!(outcome.reported.unfinished, ["logs: it panicked"], "{on_failure}");
            let expected = if remedy == Some(STOPS_APP) { Ending::Panic(2) } else { Ending::Done };
            assert_eq!(Ending::of(&outcome.records), expected, "{on_failure}");
        } else {
            assert_eq!(*seen.lock().unwrap(), [State::Running, State::Paused, State::Running]);
        }
    }
}

/// Notes that it was dropped.
struct Ended(&'static AtomicU64);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(1, Ordering::Relaxed);
    }
}

/// A service that starts on demand has no job before; a stopped one starts again, also after a failure. Each start is a
/// reset. The caller learns when all tasks have followed.
#[test]
fn services_start_on_demand_and_again() {
    for executor in EXECUTORS {
        let tables = tables(executor, "start = \"demand\"") + "[tasks.steers]\nclass = \"best-effort\"\n";
        let calls: &'static Calls = Box::leak(Box::default());
        let faults = Faults { panics: &[40], ..Faults::default() };
        let outcome = run_for(60_000, ("", &tables), |app| {
            app.service("sound", |service| {
                service.task("source", |create| {
                    let counts = create.queue_writer::<u64>("counts")?;
                    Ok(Source { counts, sent: 0, panicked: 0, faults, calls })
                })?;
                service.receiver("takes", |_| Ok(Takes { faults: Faults::default(), calls }))
            })?;
            app.task("other", |_| {
                Ok(each(|_| {
                    calls.others.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                }))
            })?;
            app.best_effort("steers", |_| {
                Ok(move |context: &mut Context<'_>| {
                    let control = context.control();
                    let followed =
                        || control.wait_acknowledged("sound", Duration::from_ms(10_000)) == Ok(true);
                    let counts = || [&calls.source, &calls.takes].map(|of| of.lock().unwrap().len());
                    let last = || [&calls.source, &calls.takes].map(|of| of.lock().unwrap().last().copied());
                    assert!(followed(), "there is nothing to follow");
                    context.sleep(Duration::from_ms(50));
                    assert_eq!(counts(), [0, 0]);
                    control.start_service("sound").unwrap();
                    assert!(followed());
                    let of = |at: usize| calls.source.lock().unwrap()[at];
                    assert_eq!((of(0), calls.takes.lock().unwrap()[0]), (Called::Reset, Called::Reset));
                    context.sleep(Duration::from_ms(50));
                    // A service that runs stays as it is.
                    control.start_service("sound").unwrap();
                    assert!(followed());
                    control.stop_service("sound").unwrap();
                    assert!(followed());
                    assert_eq!(last(), [Some(Called::Stop); 2]);
                    let before = counts();
                    context.sleep(Duration::from_ms(50));
                    assert_eq!(counts(), before);
                    // The source panics now: the service stops.
                    control.start_service("sound").unwrap();
                    while control.state("sound") == Ok(State::Running) && context.sleep(Duration::from_ms(1))
                    {
                    }
                    let begun = context.now();
                    while last()[1] != Some(Called::Stop)
                        && context.now().since(begun) < Duration::from_ms(10_000)
                    {
                        context.sleep(Duration::from_ms(1));
                    }
                    let failed = last()[0].unwrap();
                    assert!(failed >= Called::Job(40), "its `stop` does not run: {failed:?}");
                    assert_eq!(last()[1], Some(Called::Stop));
                    control.start_service("sound").unwrap();
                    assert!(followed());
                    control.stop();
                })
            })
        });
        let ending = outcome.ending.as_ref().unwrap();
        assert!(ending.orderly, "{executor}: {ending:?} {:?}", outcome.reported.unfinished);
        assert_eq!(remedies(&outcome), [STOP_SERVICE], "{executor}");
        let source = calls.source.lock().unwrap().clone();
        assert_eq!(source.iter().filter(|called| **called == Called::Reset).count(), 3, "{executor}");
        assert_eq!(
            source.iter().filter(|called| **called == Called::Stop).count(),
            2,
            "{executor}: {source:?}"
        );
        assert_eq!(source.last(), Some(&Called::Finish), "{executor}");
        let all = [source, calls.takes.lock().unwrap().clone()].concat();
        assert!(!all.contains(&Called::Resume), "{executor}: the reset is the start");
        let skipped = outcome.of_task(Kind::Skip, 2).len() as u64;
        assert!(calls.others.load(Ordering::Relaxed) + skipped > 40, "{executor}");
    }
}

/// A change that the application makes while it is set up is followed once it runs.
#[test]
fn a_change_before_release_0_is_followed() {
    for executor in EXECUTORS {
        let tables = tables(executor, "start = \"demand\"");
        let calls: &'static Calls = Box::leak(Box::default());
        let outcome = run_for(200, ("", &tables), |app| {
            let control = app.control();
            control.start_service("sound").unwrap();
            app.service("sound", |service| {
                service.task("source", |create| {
                    let counts = create.queue_writer::<u64>("counts")?;
                    Ok(Source { counts, sent: 0, panicked: 0, faults: Faults::default(), calls })
                })?;
                service.receiver("takes", |_| Ok(Takes { faults: Faults::default(), calls }))
            })?;
            app.task("other", |_| {
                Ok(each(move |job| {
                    assert!(job.number() < 30 || control.is_acknowledged("sound") == Ok(true));
                    Ok(())
                }))
            })
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{executor}: {:?}", outcome.reported.unfinished);
        for of in [&calls.source, &calls.takes] {
            let of = of.lock().unwrap();
            assert!(of[0] == Called::Reset && of.len() > 20, "{executor}: {of:?}");
        }
    }
}

/// Other callbacks than jobs and resets have no remedy: their panic ends the application.
#[test]
fn a_panic_in_another_callback_ends_the_application() {
    struct Pauses;
    impl Component for Pauses {
        fn pause(&mut self) {
            panic!("on purpose");
        }
    }
    impl Task for Pauses {
        fn release(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
            Ok(())
        }
    }
    for executor in EXECUTORS {
        let tables = format!(
            "executor = \"{executor}\"\n[services.sound]\non-failure = {{ restart = 9, within = \"1s\" }}\n\
             {ALONE}service = \"sound\"\n"
        );
        let outcome = run_for(60_000, ("", &tables), |app| {
            let control = app.control();
            app.task("tick", |_| {
                Ok(each(move |_| {
                    let _ = control.pause("sound");
                    Ok(())
                }))
            })?;
            app.service("sound", |service| service.task("tock", |_| Ok(Pauses)))
        });
        assert_eq!(Ending::of(&outcome.records), Ending::Panic(1), "{executor}");
        assert!(remedies(&outcome).is_empty(), "{executor}");
    }
}
