// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An application changes its mode while it runs: what stops, what starts and when, and what goes on. On both executors.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use app::{Outcome, each, plan_of, run_of};
use taut_event::{Kind, Record};
use taut_run::{
    App, Component, Context, Failure, Job, ModeError, QueueWriter, Receiver, ServiceError, State, Task,
};
use taut_time::Duration;

const EXECUTORS: [&str; 2] = ["native", "dispatched"];

const HEARS: u16 = 0;
const PROBES: u16 = 1;
const ANSWERS: u16 = 2;
const OTHER: u16 = 3;

/// `hears` is of the first mode, `probes` and `answers` are of the second; `other`, of no service, sends to `answers`.
fn tables(executor: &str) -> String {
    let wcet = "wcet = { value = \"200us\", source = \"guess\" }\n";
    format!(
        "executor = \"{executor}\"\n[payloads]\nCount = {{ type = \"u64\" }}\n\
         [services.hearing]\n[services.diagnosis]\n\
         [modes]\nhearing = [\"hearing\"]\ndiagnosis = [\"diagnosis\"]\n\
         [tasks.hears]\nservice = \"hearing\"\narrival = {{ periodic = \"5ms\" }}\ndeadline = \"5ms\"\n{wcet}\
         [tasks.probes]\nservice = \"diagnosis\"\narrival = {{ periodic = \"4ms\" }}\ndeadline = \"4ms\"\n{wcet}\
         [tasks.answers]\nservice = \"diagnosis\"\narrival = {{ sporadic = \"4ms\", trigger = \"counts\" }}\n\
         deadline = \"4ms\"\n{wcet}\
         [tasks.other]\narrival = {{ periodic = \"5ms\" }}\ndeadline = \"5ms\"\n{wcet}\
         [tasks.steers]\nclass = \"best-effort\"\n\
         [channels.counts]\nkind = \"queue\"\nfrom = \"other\"\nto = \"answers\"\npayload = \"Count\"\ncapacity = 8\n"
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Called {
    Job(u64),
    Reset,
    Resume,
    Stop,
}

type Calls = Mutex<Vec<Called>>;

/// A component that notes what it is called for.
struct Notes(&'static Calls);

impl Notes {
    fn note(&self, called: Called) {
        self.0.lock().unwrap().push(called);
    }
}

impl Component for Notes {
    fn reset(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
        self.note(Called::Reset);
        Ok(())
    }
    fn resume(&mut self) {
        self.note(Called::Resume);
    }
    fn stop(&mut self) {
        self.note(Called::Stop);
    }
}

impl Task for Notes {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        self.note(Called::Job(job.number()));
        Ok(())
    }
}

impl Receiver<u64> for Notes {
    fn receive(&mut self, _: &mut Job<'_>, value: u64) -> Result<(), Failure> {
        self.note(Called::Job(value));
        Ok(())
    }
}

struct All {
    hears: Calls,
    probes: Calls,
    answers: Calls,
    others: AtomicU64,
}

/// With room for all calls, so that no job uses the heap.
fn all() -> &'static All {
    let calls = || Mutex::new(Vec::with_capacity(10_000));
    Box::leak(Box::new(All { hears: calls(), probes: calls(), answers: calls(), others: AtomicU64::new(0) }))
}

/// Runs the application while `steers` does.
fn run_while(
    executor: &'static str,
    steers: impl FnOnce(&mut Context<'_>, &'static All) + Send + 'static,
) -> (Outcome, &'static All) {
    let all = all();
    let outcome = run_of("", &tables(executor), Some(Duration::from_ms(60_000)), |app: &mut App<'_>| {
        app.service("hearing", |service| service.task("hears", |_| Ok(Notes(&all.hears))))?;
        app.service("diagnosis", |service| {
            service.task("probes", |_| Ok(Notes(&all.probes)))?;
            service.receiver::<u64, _>("answers", |_| Ok(Notes(&all.answers)))
        })?;
        app.task("other", |create| {
            let mut counts: QueueWriter<'_, u64> = create.queue_writer("counts")?;
            Ok(each(move |job| {
                let number = all.others.fetch_add(1, Ordering::Relaxed);
                // Values for a receiver that does not run wait, as many as the queue holds.
                let _ = counts.send(job, number);
                Ok(())
            }))
        })?;
        app.best_effort("steers", |_| {
            Ok(move |context: &mut Context<'_>| {
                steers(context, all);
                context.control().stop();
            })
        })
    });
    let ending = outcome.ending.as_ref().unwrap();
    assert!(ending.orderly, "{executor}: {ending:?} {:?}", outcome.reported.unfinished);
    (outcome, all)
}

const PATIENCE: Duration = Duration::from_ms(20_000);

#[test]
fn a_change_stops_the_old_and_starts_the_new() {
    for executor in EXECUTORS {
        let (outcome, all) = run_while(executor, move |context, all| {
            let control = context.control();
            context.sleep(Duration::from_ms(50));
            assert_eq!((control.current_mode(), control.is_mode_reached()), (Some("hearing"), true));
            let of_modes = Err(ServiceError::OfModes("diagnosis".to_owned()));
            assert_eq!(control.start_service("diagnosis"), of_modes);
            assert_eq!(control.change_mode("sleep"), Err(ModeError::Unknown("sleep".to_owned())));
            assert_eq!(all.probes.lock().unwrap().len() + all.answers.lock().unwrap().len(), 0);
            control.change_mode("diagnosis").unwrap();
            assert!(control.wait_mode_reached(PATIENCE), "{executor}");
            let heard = all.hears.lock().unwrap().clone();
            assert!(heard.len() > 3 && heard.last() == Some(&Called::Stop), "{heard:?}");
            assert_eq!(control.state("hearing"), Ok(State::Stopped));
            context.sleep(Duration::from_ms(50));
            assert_eq!(*all.hears.lock().unwrap(), heard, "it has stopped");
            control.change_mode("hearing").unwrap();
            assert!(control.wait_mode_reached(PATIENCE), "{executor}");
            context.sleep(Duration::from_ms(50));
        });
        let hears = all.hears.lock().unwrap().clone();
        let stop = hears.iter().position(|called| *called == Called::Stop).unwrap();
        assert_eq!(hears[stop + 1], Called::Reset, "{executor}: {hears:?}");
        assert!(matches!(hears[stop + 2..], [Called::Job(_), Called::Job(_), ..]), "{executor}: {hears:?}");
        for calls in [&all.probes, &all.answers] {
            let calls = calls.lock().unwrap().clone();
            assert_eq!(
                (calls[0], calls.last()),
                (Called::Reset, Some(&Called::Stop)),
                "{executor}: {calls:?}"
            );
            assert!(calls.len() > 4 && !calls.contains(&Called::Resume), "{executor}: {calls:?}");
        }
        // The values that waited come first, the oldest of them first.
        assert_eq!(all.answers.lock().unwrap()[1], Called::Job(0), "{executor}");
        followed(executor, &outcome);
    }
}

/// What the records say: which tasks followed which change, and when the first jobs were released.
fn followed(executor: &str, outcome: &Outcome) {
    let (plan, _) = plan_of("", &tables(executor));
    let steps = outcome.of(Kind::ModeFollowed);
    let of =
        |change: u64| -> Vec<&Record> { steps.iter().filter(|step| step.job == change).copied().collect() };
    let (there, back) = (of(1 << 16), of(1));
    let tasks = |steps: &[&Record]| {
        let mut tasks: Vec<u16> = steps.iter().map(|step| step.subject).collect();
        tasks.sort_unstable();
        tasks
    };
    assert_eq!((tasks(&there), tasks(&back)), (vec![HEARS, PROBES, ANSWERS], vec![HEARS, PROBES, ANSWERS]));
    for (steps, stopping, from, to) in [(&there, vec![HEARS], 0, 1), (&back, vec![PROBES, ANSWERS], 1, 0)] {
        let idle_ns = plan.change(from, to).unwrap().idle.unwrap().as_ns();
        assert!(idle_ns > 0);
        let stops = steps.iter().filter(|step| stopping.contains(&step.subject));
        let stopped_ns = stops.map(|step| step.at.as_ns()).max().unwrap();
        for start in steps.iter().filter(|step| !stopping.contains(&step.subject)) {
            let task = start.subject;
            // Its `reset` ran in the last job that began before.
            let starts = outcome.of_task(Kind::Start, task);
            let first =
                starts.iter().filter(|began| began.at <= start.at).max_by_key(|began| began.at).unwrap();
            let released = outcome.of_task(Kind::Release, task);
            let released = released.iter().find(|release| release.job == first.job).unwrap();
            assert!(
                released.at.as_ns() >= stopped_ns + idle_ns,
                "{executor}: task {task} was released {} ns too early",
                stopped_ns + idle_ns - released.at.as_ns()
            );
            assert!(start.value > 0, "{executor}: how long it took");
        }
    }
    let (jobs, skipped) = (outcome.of_task(Kind::Complete, OTHER), outcome.of_task(Kind::Skip, OTHER));
    let numbers: std::collections::BTreeSet<u64> =
        jobs.iter().chain(&skipped).map(|record| record.job).collect();
    assert_eq!(
        numbers.len() as u64,
        numbers.last().unwrap() + 1,
        "{executor}: it goes on through every change"
    );
}

/// A job may ask for the change; nothing waits in it.
#[test]
fn a_job_may_ask() {
    for executor in EXECUTORS {
        let all = all();
        let outcome = run_of("", &tables(executor), Some(Duration::from_ms(400)), |app: &mut App<'_>| {
            let control = app.control();
            app.service("hearing", |service| service.task("hears", |_| Ok(Notes(&all.hears))))?;
            app.service("diagnosis", |service| {
                service.task("probes", |_| Ok(Notes(&all.probes)))?;
                service.receiver::<u64, _>("answers", |_| Ok(Notes(&all.answers)))
            })?;
            app.task("other", |create| {
                let _: QueueWriter<'_, u64> = create.queue_writer("counts")?;
                Ok(each(move |job| {
                    if job.number() == 10 {
                        control.change_mode("diagnosis").map_err(|_| Failure::Code(1))?;
                    }
                    Ok(())
                }))
            })?;
            app.best_effort("steers", |_| Ok(|_: &mut Context<'_>| {}))
        });
        assert!(outcome.ending.as_ref().unwrap().orderly, "{executor}: {:?}", outcome.reported.unfinished);
        assert!(outcome.of(Kind::Failed).is_empty(), "{executor}");
        assert!(outcome.of(Kind::HeapUsed).is_empty(), "{executor}: a change uses no heap");
        assert!(all.probes.lock().unwrap().len() > 10, "{executor}");
    }
}
