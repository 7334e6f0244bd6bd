// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Alarms: the receiver takes each once, none before its instant, the earliest first, and keeps its least gap; a setter
//! learns whether its alarm fits, is late, and was cancelled in time.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::sync::Mutex;

use app::{Outcome, each, run};
use taut_event::Kind;
use taut_run::{
    AlarmReader, AlarmRefused, AlarmSetter, Cancellation, Component, Context, Failure, Job, State, Task,
};
use taut_time::{Duration, Instant};

/// The setter's mark, and the number of the alarm.
type Value = [u64; 4];

fn value(mark: u64, number: u64) -> Value {
    [mark, number, mark, number]
}

const GAP_NS: u64 = 2_000_000;

/// The receiver comes first: it is task 0. Lanes are channels 0, 1 and 2.
fn tables(executor: &str, arrival: &str, keys: &str) -> String {
    format!(
        "{executor}\n[payloads]\nValue = {{ type = \"u64\", len = 4 }}\n[services.serving]\n\
         [tasks.control]\narrival = {{ {arrival} }}\ndeadline = \"2ms\"\nservice = \"serving\"\n\
         wcet = {{ value = \"100us\", source = \"guess\" }}\ncore = 0\npriority = 40\n\
         [tasks.ticks]\narrival = {{ periodic = \"10ms\" }}\ndeadline = \"10ms\"\n\
         wcet = {{ value = \"50us\", source = \"guess\" }}\ncore = 0\npriority = 20\n\
         [tasks.steers]\nclass = \"best-effort\"\n\
         [channels.timeouts]\nkind = \"alarm\"\nfrom = [\"control\", \"ticks\", \"steers\"]\nto = \"control\"\n\
         payload = \"Value\"\n{keys}"
    )
}

const TRIGGERED: &str = "sporadic = \"2ms\", trigger = \"timeouts\"";
const EXECUTORS: [(&str, &str); 2] = [("native", ""), ("dispatched", "executor = \"dispatched\"")];

/// An alarm as the receiver got it.
#[derive(Clone, Debug)]
struct Got {
    setter: String,
    number: u64,
    due: Instant,
    missed: u64,
    at: Instant,
}

struct Control<'p> {
    timeouts: AlarmReader<'p, Value>,
    own: AlarmSetter<'p, Value>,
    jobs: &'static Mutex<Vec<Vec<Got>>>,
}

impl Component for Control<'_> {}

impl Task for Control<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let mut taken = Vec::new();
        while let Some(alarm) = self.timeouts.next(job) {
            assert_eq!(alarm.value[..2], alarm.value[2..], "torn");
            taken.push(Got {
                setter: alarm.setter.to_owned(),
                number: alarm.value[1],
                due: alarm.due,
                missed: alarm.missed,
                at: Instant::from_ns(0),
            });
        }
        let at = job.now();
        for got in &mut taken {
            got.at = at;
            // Number 100 asks for an answer: the receiver sets an alarm for itself.
            if got.number == 100 {
                self.own.set(job, at.checked_add(Duration::from_ms(5)).unwrap(), value(0, 101))?;
            }
        }
        self.jobs.lock().unwrap().push(taken);
        Ok(())
    }
}

/// Runs the script of the best-effort setter. What is returned are the jobs of the receiver.
fn steered(
    tables: &str,
    tick: impl FnMut(&mut Job<'_>, &mut AlarmSetter<'_, Value>) -> Result<(), Failure> + Send + 'static,
    script: impl FnOnce(&mut Context<'_>, &mut AlarmSetter<'_, Value>) + Send + 'static,
) -> (Outcome, Vec<Vec<Got>>) {
    let jobs: &'static Mutex<Vec<Vec<Got>>> = Box::leak(Box::default());
    let mut tick = tick;
    let outcome = run(tables, None, |app| {
        app.service("serving", |service| {
            service.task("control", |create| {
                let (timeouts, own) = (create.alarm_reader("timeouts")?, create.alarm_setter("timeouts")?);
                Ok(Control { timeouts, own, jobs })
            })
        })?;
        app.task("ticks", |create| {
            let mut timeouts = create.alarm_setter::<Value>("timeouts")?;
            Ok(each(move |job| tick(job, &mut timeouts)))
        })?;
        app.best_effort("steers", |create| {
            let mut timeouts = create.alarm_setter::<Value>("timeouts")?;
            Ok(move |context: &mut Context<'_>| {
                context.sleep(Duration::from_ms(20));
                script(context, &mut timeouts);
                context.control().stop();
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly);
    assert!(outcome.of(Kind::Failed).is_empty() && outcome.of(Kind::HeapUsed).iter().all(|r| r.subject == 0));
    let releases: Vec<u64> = outcome.of_task(Kind::Release, 0).iter().map(|r| r.at.as_ns()).collect();
    assert!(releases.windows(2).all(|pair| pair[1] - pair[0] >= GAP_NS), "{releases:?}");
    let jobs = jobs.lock().unwrap().clone();
    (outcome, jobs)
}

fn ms(from: Instant, ms: u64) -> Instant {
    from.checked_add(Duration::from_ms(ms)).unwrap()
}

fn numbers(jobs: &[Vec<Got>]) -> Vec<u64> {
    jobs.iter().flatten().map(|got| got.number).collect()
}

#[test]
fn the_earliest_instant_comes_first_and_none_before_it() {
    for (name, executor) in EXECUTORS {
        for arrival in [TRIGGERED, "periodic = \"2ms\""] {
            let keys = "capacity = 8\ntakes-per-release = 2\n";
            let set: &'static Mutex<Vec<Instant>> = Box::leak(Box::default());
            let (outcome, jobs) = steered(
                &tables(executor, arrival, keys),
                |_, _| Ok(()),
                |context, timeouts| {
                    let now = context.now();
                    set.lock().unwrap().push(now);
                    for (number, at) in [(1, 90), (2, 40), (3, 60)] {
                        timeouts.set(context, ms(now, at), value(2, number)).unwrap();
                    }
                    timeouts.set_window(context, ms(now, 20), ms(now, 50), value(2, 4)).unwrap();
                    let token = timeouts.set(context, ms(now, 30), value(2, 5)).unwrap();
                    timeouts.set(context, ms(now, 70), value(2, 100)).unwrap();
                    assert_eq!(timeouts.cancel(context, token), Cancellation::Prevented);
                    assert_eq!(timeouts.cancel(context, token), Cancellation::Over);
                    context.sleep(Duration::from_ms(150));
                },
            );
            let what = format!("{name} {arrival}");
            let all: Vec<Got> = jobs.iter().flatten().cloned().collect();
            let now = set.lock().unwrap()[0];
            // The window of 4 has begun when 2 is due, and ends last of what comes next: one job takes both.
            assert_eq!(numbers(&jobs), [2, 4, 3, 100, 101, 1], "{what}");
            for got in &all {
                let earliest = match got.number {
                    4 => ms(now, 20),
                    101 => ms(now, 75),
                    _ => got.due,
                };
                assert!(got.at >= earliest, "{what}: {got:?}");
                let setter = if got.number == 101 { "control" } else { "steers" };
                assert_eq!((got.setter.as_str(), got.missed), (setter, 0), "{what}");
            }
            let both = jobs.iter().any(|job| job.iter().map(|got| got.number).eq([2, 4]));
            assert!(both, "{what}: one job for both, {jobs:?}");
            if arrival == TRIGGERED {
                // A release for each of the others, one for each wake-up of a setter, and one for the cancelled alarm.
                assert!(outcome.of_task(Kind::Release, 0).len() <= 12, "{what}");
            }
            assert_eq!(outcome.of_task(Kind::Send, 2).len(), 6, "{what}");
            assert_eq!(outcome.of_task(Kind::Receive, 2).len(), 5, "{what}");
            assert_eq!(outcome.of_task(Kind::Receive, 0).len(), 1, "{what}");
        }
    }
}

/// What does not fit is given back, and a job sets and takes no more than the manifest allows.
#[test]
fn setters_learn_that_all_are_pending() {
    for (name, executor) in EXECUTORS {
        let set: &'static Mutex<u64> = Box::leak(Box::default());
        let (outcome, jobs) = steered(
            &tables(executor, TRIGGERED, "capacity = 3\n"),
            |job, timeouts| {
                let at = job.now();
                if *set.lock().unwrap() < 1 {
                    *set.lock().unwrap() += 1;
                    timeouts.set(job, ms(at, 40), value(1, 10))?;
                    let more = timeouts.set(job, at, value(1, 11));
                    assert_eq!(more, Err(AlarmRefused::TooMany(value(1, 11))), "one in each job");
                }
                Ok(())
            },
            |context, timeouts| {
                let now = context.now();
                let first = timeouts.set(context, ms(now, 40), value(2, 1)).unwrap();
                timeouts.set(context, ms(now, 40), value(2, 2)).unwrap();
                timeouts.set(context, ms(now, 40), value(2, 3)).unwrap();
                let full = timeouts.set(context, ms(now, 10), value(2, 4));
                assert_eq!(full, Err(AlarmRefused::Full(value(2, 4))));
                assert_eq!(timeouts.cancel(context, first), Cancellation::Prevented);
                timeouts.set(context, ms(now, 40), value(2, 5)).unwrap();
                assert_eq!(timeouts.cancel(context, first), Cancellation::Over, "of the slot's last alarm");
                let window = timeouts.set_window(context, ms(now, 2), ms(now, 1), value(2, 6));
                assert_eq!(window, Err(AlarmRefused::Malformed(value(2, 6))));
                let period = timeouts.set_repeating(context, now, Duration::ZERO, value(2, 7));
                assert_eq!(period, Err(AlarmRefused::Malformed(value(2, 7))));
                context.sleep(Duration::from_ms(100));
            },
        );
        let mut taken = numbers(&jobs);
        taken.sort_unstable();
        assert_eq!(taken, [2, 3, 5, 10], "{name}");
        assert!(jobs.iter().all(|job| job.len() <= 1), "{name}: one in each job");
        assert_eq!(outcome.of_task(Kind::TooMany, 1).len(), 1, "{name}");
        assert!(outcome.of(Kind::Drop).is_empty(), "{name}: a best-effort task may try again");
    }
}

#[test]
fn late_alarms_are_delivered_or_refused() {
    for (name, executor) in EXECUTORS {
        let (outcome, jobs) = steered(
            &tables(executor, TRIGGERED, "capacity = 3\nlate = \"refuse\"\n"),
            |job, timeouts| {
                assert_eq!(
                    timeouts.set(job, job.release(), value(1, 1)),
                    Err(AlarmRefused::Late(value(1, 1)))
                );
                Ok(())
            },
            |context, timeouts| {
                let past = Instant::from_ns(context.now().as_ns() - 1);
                assert_eq!(timeouts.set(context, past, value(2, 2)), Err(AlarmRefused::Late(value(2, 2))));
                let period = Duration::from_ms(1);
                let repeated = timeouts.set_repeating(context, past, period, value(2, 2));
                assert_eq!(repeated, Err(AlarmRefused::Late(value(2, 2))));
                timeouts.set(context, ms(past, 20), value(2, 3)).unwrap();
                context.sleep(Duration::from_ms(60));
            },
        );
        assert_eq!(numbers(&jobs), [3], "{name}");
        assert!(outcome.of_task(Kind::Drop, 1).len() > 3, "{name}: each of a job is recorded");

        let began: &'static Mutex<Vec<Instant>> = Box::leak(Box::default());
        let (_, jobs) = steered(
            &tables(executor, TRIGGERED, "capacity = 3\n"),
            |_, _| Ok(()),
            |context, timeouts| {
                let now = context.now();
                began.lock().unwrap().push(now);
                let past = Instant::from_ns(now.as_ns() - 25_000_000);
                timeouts.set(context, past, value(2, 1)).unwrap();
                // Begins with the first instant to come.
                let period = Duration::from_ms(10);
                let token = timeouts.set_repeating(context, past, period, value(2, 2)).unwrap();
                context.sleep(Duration::from_ms(60));
                assert_ne!(timeouts.cancel(context, token), Cancellation::Over);
                context.sleep(Duration::from_ms(20));
            },
        );
        let (now, all) = (began.lock().unwrap()[0], jobs.iter().flatten().cloned().collect::<Vec<_>>());
        assert_eq!(all[0].number, 1, "{name}");
        assert!(all[0].due > now, "{name}: due when it was set, {:?}", all[0]);
        let repeated = &all[1..];
        assert!(repeated.len() >= 3, "{name}: {repeated:?}");
        let mut expected = None;
        for got in repeated {
            // On the grid of its first instant.
            assert_eq!((got.due.as_ns() - now.as_ns() + 25_000_000) % 10_000_000, 0, "{name}: {got:?}");
            assert!(got.number == 2 && got.due > now && got.at >= got.due, "{name}: {got:?}");
            assert!(expected.is_none_or(|expected| got.due == expected), "{name}: {repeated:?}");
            expected = Some(ms(got.due, 10 * (got.missed + 1)));
        }
    }
}

/// While its service is paused the receiver has no jobs: alarms wait, and a repeated one counts what it has missed.
#[test]
fn alarms_wait_for_a_paused_service() {
    for (name, executor) in EXECUTORS {
        let (_, jobs) = steered(
            &tables(executor, TRIGGERED, "capacity = 3\ntakes-per-release = 3\n"),
            |_, _| Ok(()),
            |context, timeouts| {
                let control = context.control();
                control.pause("serving").unwrap();
                control.wait_acknowledged("serving", Duration::from_s(5)).unwrap();
                let now = context.now();
                timeouts.set(context, ms(now, 10), value(2, 1)).unwrap();
                timeouts.set_repeating(context, ms(now, 5), Duration::from_ms(10), value(2, 2)).unwrap();
                context.sleep(Duration::from_ms(50));
                control.resume("serving").unwrap();
                context.sleep(Duration::from_ms(12));
                control.pause("serving").unwrap();
                control.wait_acknowledged("serving", Duration::from_s(5)).unwrap();
                assert_eq!(control.state("serving"), Ok(State::Paused));
            },
        );
        let all: Vec<Got> = jobs.iter().flatten().cloned().collect();
        assert_eq!(numbers(&jobs)[..2], [2, 1], "{name}");
        assert!(all[0].missed >= 3, "{name}: {all:?}");
    }
}

/// Alarms at drawn instants, some of them cancelled: each is taken exactly once, or prevented. It is on time as a rule.
#[test]
fn drawn_alarms_are_taken_once_or_prevented() {
    for (name, executor) in EXECUTORS {
        let fate: &'static Mutex<(Vec<u64>, Vec<u64>)> = Box::leak(Box::default());
        let (_, jobs) = steered(
            &tables(executor, TRIGGERED, "capacity = 16\ntakes-per-release = 4\n"),
            |_, _| Ok(()),
            |context, timeouts| {
                let mut random = 0x9E37_79B9_7F4A_7C15_u64;
                let mut draw = |below: u64| {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    random % below
                };
                let mut tokens = Vec::new();
                for number in 1_001..=1_150 {
                    let after = Duration::from_us(draw(25_000));
                    let at = context.now().checked_add(after).unwrap();
                    match timeouts.set(context, at, value(2, number)) {
                        Ok(token) => {
                            fate.lock().unwrap().0.push(number);
                            tokens.push((number, token));
                        }
                        Err(refused) => assert_eq!(refused, AlarmRefused::Full(value(2, number))),
                    }
                    if draw(3) == 0 && !tokens.is_empty() {
                        let (number, token) = tokens.swap_remove(draw(tokens.len() as u64) as usize);
                        if timeouts.cancel(context, token) == Cancellation::Prevented {
                            fate.lock().unwrap().1.push(number);
                        }
                    }
                    context.sleep(Duration::from_us(draw(3_000)));
                }
                context.sleep(Duration::from_ms(60));
            },
        );
        let (set, prevented) = fate.lock().unwrap().clone();
        assert!(
            set.len() > 100 && prevented.len() > 10,
            "{name}: {} set, {} prevented",
            set.len(),
            prevented.len()
        );
        let mut all = [numbers(&jobs), prevented].concat();
        all.sort_unstable();
        assert_eq!(all, set, "{name}");
        let mut late: Vec<u64> = jobs.iter().flatten().map(|got| got.at.as_ns() - got.due.as_ns()).collect();
        late.sort_unstable();
        // A gap, and what the machine adds.
        assert!(late[late.len() / 2] < 2 * GAP_NS, "{name}: {late:?}");
    }
}

/// A wake for an alarm of later counts as a job. An alarm that is set in the gap behind it, for an instant in that gap, releases a
/// job at the gap's end, and that job is in time.
#[test]
fn an_alarm_in_the_gap_behind_a_wake_arrives_at_its_end() {
    const ROUNDS: u64 = 15;
    for (name, executor) in EXECUTORS {
        let keys = "capacity = 4\ntakes-per-release = 4\n";
        let (outcome, jobs) = steered(
            &tables(executor, TRIGGERED, keys),
            |_, _| Ok(()),
            |context, timeouts| {
                for round in 0..ROUNDS {
                    let now = Instant::from_ns(taut_sys::clock::monotonic_ns());
                    timeouts.set(context, ms(now, 6), value(2, 2 * round + 1)).unwrap();
                    context.sleep(Duration::from_us(200));
                    let near = now.checked_add(Duration::from_us(500)).unwrap();
                    timeouts.set(context, near, value(2, 2 * round)).unwrap();
                    // Behind the job of the later alarm, no alarm is pending, and the next one wakes.
                    context.sleep(Duration::from_ms(12));
                }
            },
        );
        assert_eq!(numbers(&jobs), (0..2 * ROUNDS).collect::<Vec<_>>(), "{name}");
        let releases = outcome.of_task(Kind::Release, 0);
        // What lies between the arrival and the release.
        let mut late: Vec<u64> = releases.iter().step_by(2).map(|release| release.value).collect();
        late.sort_unstable();
        assert!(late[late.len() / 2] < GAP_NS / 4, "{name}: {late:?}");
    }
}

/// The example of the manual: proven, with a bound for each setter.
#[test]
fn the_example_is_proven() {
    let plan = app::plain::planned(include_str!("../../../examples/alarms/taut.toml"));
    assert!(plan.proven);
    let alarm = plan.message("timeouts").unwrap();
    let setters: Vec<(&str, bool)> =
        alarm.senders.iter().map(|of| (of.name, of.delivery.is_some())).collect();
    assert_eq!(setters, [("control", true), ("device", true), ("logger", true)]);
}

/// The page shows what `taut check` prints for its manifest.
#[test]
fn the_page_tells_the_truth() {
    let page = include_str!("../../../docs/alarms.md");
    let block = |kind: &str| {
        let (_, rest) = page.split_once(&format!("```{kind}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let plan = app::plain::planned(block("toml"));
    let lines: Vec<String> =
        plan.message("timeouts").unwrap().lines().iter().map(|line| format!("  {line}\n")).collect();
    assert_eq!(lines.concat(), block("text"));
}

/// The ends of alarms are taken as such, each once.
#[test]
fn ends_are_handed_out_to_their_parties() {
    let outcome = run(&tables("", TRIGGERED, "capacity = 3\n"), None, |app| {
        app.service("serving", |service| {
            service.task("control", |create| {
                assert!(create.message_reader::<Value>("timeouts").is_err(), "no message");
                assert!(create.queue_writer::<Value>("timeouts").is_err(), "no queue");
                assert!(create.alarm_reader::<[u64; 3]>("timeouts").is_err(), "another payload");
                assert!(create.alarm_setter::<Value>("others").is_err());
                let (timeouts, own) = (create.alarm_reader("timeouts")?, create.alarm_setter("timeouts")?);
                assert!(create.alarm_reader::<Value>("timeouts").is_err(), "twice");
                assert!(create.alarm_setter::<Value>("timeouts").is_err(), "twice");
                Ok(Control { timeouts, own, jobs: Box::leak(Box::default()) })
            })
        })?;
        app.task("ticks", |create| {
            assert!(create.alarm_reader::<Value>("timeouts").is_err(), "it sets");
            Ok(each(|_| Ok(())))
        })?;
        app.best_effort("steers", |create| {
            create.alarm_setter::<Value>("timeouts")?;
            Ok(|_: &mut Context<'_>| {})
        })
    });
    let error = outcome.ending.err().unwrap().to_string();
    assert!(error.contains("timeouts/ticks"), "{error}");
}
