// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Alarms and resources in a replay of code: a setter gets again whether each alarm was set and what became of those that it
//! cancelled, a receiver what it took, with its instant; a job of a task that alone uses a resource finds there what its
//! earlier jobs left.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::path::Path;

use app::{Observed, TURN, each, plan};
use taut_event::values::{RecordedTask, RecordedValues, VALUES_FILE};
use taut_event::{CancelOutcome, Interaction, Refusal};
use taut_plan::NotReplayed;
use taut_run::{
    AlarmReader, AlarmRefused, AlarmSetter, AlarmToken, App, Cancellation, Component, Config, Context, Error,
    Failure, Job, LockError, ReplayConfig, Resource, StateWriter, Task,
};
use taut_time::Duration;

/// `sets` and the best-effort task `outside` set alarms for `rings`; both tell what they got.
fn tables(executor: &str, late: &str) -> String {
    let task = |name: &str, arrival: &str, priority: u32| {
        format!(
            "[tasks.{name}]\narrival = {{ {arrival} }}\ndeadline = \"2ms\"\n\
             wcet = {{ value = \"50us\", source = \"guess\" }}\ncore = 0\npriority = {priority}\n"
        )
    };
    let state = |name: &str| {
        format!(
            "[channels.{name}]\nkind = \"state\"\nfrom = \"{name}s\"\nto = \"logger\"\npayload = \"Word\"\n\
             record = true\n"
        )
    };
    [
        executor,
        "\n[payloads]\nWord = { type = \"u64\" }\n[tasks.outside]\nclass = \"best-effort\"\n\
         [tasks.logger]\nclass = \"best-effort\"\n",
        &task("sets", "periodic = \"5ms\"", 30),
        &task("rings", "sporadic = \"2ms\", trigger = \"due\"", 40),
        &format!(
            "[channels.due]\nkind = \"alarm\"\nfrom = [\"sets\", \"outside\"]\nto = \"rings\"\n\
             payload = \"Word\"\ncapacity = 3\nsends-per-release = 3\ntakes-per-release = 2\n\
             late = \"{late}\"\nrecord = true\n"
        ),
        &state("set"),
        &state("ring"),
    ]
    .concat()
}

/// A sum of all that a task has got, which one other answer would change.
#[derive(Clone, Copy, Debug, Default)]
struct Digest(u64);

impl Digest {
    fn add(&mut self, word: u64) {
        self.0 = self.0.wrapping_mul(31).wrapping_add(word).rotate_left(7);
    }
}

struct Sets<'p> {
    due: AlarmSetter<'p, u64>,
    set: StateWriter<'p, u64>,
    digest: Digest,
    last: Option<AlarmToken>,
    repeated: Option<AlarmToken>,
    /// From this job on it sets its alarms a little later.
    off_from: u64,
}

impl Component for Sets<'_> {}

impl Sets<'_> {
    fn tell(&mut self, result: Result<AlarmToken, AlarmRefused<u64>>) {
        self.digest.add(match result {
            Ok(token) => {
                self.last = Some(token);
                1
            }
            Err(AlarmRefused::Full(value)) => 2 + value,
            Err(AlarmRefused::Late(value)) => 3 + value,
            Err(AlarmRefused::TooMany(value)) => 4 + value,
            Err(AlarmRefused::Malformed(value)) => 5 + value,
        });
    }
}

impl Task for Sets<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let number = job.number();
        let later = |ms: u64| {
            let off = u64::from(number >= self.off_from);
            job.now().checked_add(Duration::from_us(ms * 1_000 + off)).unwrap()
        };
        let (soon, then, begun) = (later(2), later(6), job.release());
        // Of an earlier job: it is over, or still pending.
        let repeated = self.repeated.take_if(|_| number % 4 == 2);
        for token in self.last.take().into_iter().chain(repeated) {
            let cancelled = self.due.cancel(job, token);
            self.digest.add(match cancelled {
                Cancellation::Prevented => 11,
                Cancellation::Underway => 12,
                Cancellation::Over => 13,
            });
        }
        if number.is_multiple_of(4) {
            let set = self.due.set_repeating(job, soon, Duration::from_us(700), number + 3_000);
            self.tell(set);
            self.repeated = self.last.take();
        }
        let set = self.due.set(job, soon, number);
        self.tell(set);
        let set = self.due.set_window(job, soon, then, number + 1_000);
        self.tell(set);
        // Its instant is over: refused, or due at once.
        let set = self.due.set(job, begun, number + 2_000);
        self.tell(set);
        let set = self.due.set(job, then, number + 4_000);
        self.tell(set);
        let set = self.due.set(job, then, number + 5_000);
        self.tell(set);
        self.set.publish(job, self.digest.0).map_err(|_| Failure::Code(1))
    }
}

struct Rings<'p> {
    due: AlarmReader<'p, u64>,
    ring: StateWriter<'p, u64>,
    digest: Digest,
}

impl Component for Rings<'_> {}

impl Task for Rings<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        while let Some(alarm) = self.due.next(job) {
            let setter = alarm.setter.bytes().map(u64::from).sum::<u64>();
            for word in [*alarm.value, setter, alarm.due.as_ns(), alarm.missed] {
                self.digest.add(word);
            }
        }
        self.ring.publish(job, self.digest.0).map_err(|_| Failure::Code(1))
    }
}

fn set_up(app: &mut App<'_>, off_from: u64) -> Result<(), Error> {
    app.best_effort("outside", |create| {
        let mut due = create.alarm_setter::<u64>("due")?;
        Ok(move |context: &mut Context<'_>| {
            let mut number = 0;
            while context.sleep(Duration::from_ms(3)) {
                number += 1;
                let at = context.now().checked_add(Duration::from_us(1_500)).unwrap();
                let _ = due.set(context, at, number);
            }
        })
    })?;
    app.best_effort("logger", |create| {
        let (mut set, mut ring) = (create.state_reader::<u64>("set")?, create.state_reader::<u64>("ring")?);
        Ok(move |context: &mut Context<'_>| {
            while context.sleep(Duration::from_ms(9)) {
                let _ = (set.latest(context), ring.latest(context));
            }
        })
    })?;
    app.task("sets", |create| {
        let (due, set) = (create.alarm_setter("due")?, create.state_writer("set")?);
        Ok(Sets { due, set, digest: Digest::default(), last: None, repeated: None, off_from })
    })?;
    app.task("rings", |create| {
        let (due, ring) = (create.alarm_reader("due")?, create.state_writer("ring")?);
        Ok(Rings { due, ring, digest: Digest::default() })
    })
}

/// Runs an application on real threads, and returns its recorded values.
fn record(
    folder: &Path,
    tables: &str,
    setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>,
) -> Vec<u8> {
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (plan, manifest) = plan(tables);
    std::fs::write(folder.join("taut.toml"), manifest).unwrap();
    let lock = folder.join("taut.lock");
    std::fs::write(&lock, plan.to_lock().unwrap()).unwrap();
    let config = Config {
        lock,
        out: Some(folder.to_owned()),
        duration: Some(Duration::from_ms(300)),
        spawned_ns: None,
        record_limit: None,
        applications: None,
    };
    assert!(taut_run::run(&config, &mut Observed::default(), setup).unwrap().orderly);
    std::fs::read(folder.join(VALUES_FILE)).unwrap()
}

fn replay(folder: &Path, setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>) -> Vec<u8> {
    let config = ReplayConfig {
        lock: folder.join("taut.lock"),
        recorded: folder.join(VALUES_FILE),
        replayed: folder.join("replayed.mcap"),
    };
    taut_run::replay(&config, setup).unwrap();
    std::fs::read(&config.replayed).unwrap()
}

/// What the jobs of a task did and got: the numbers of received values, which a replay counts anew, are left out.
fn done(task: &RecordedTask<'_>) -> Vec<(u64, Interaction, Option<Vec<u8>>)> {
    let of_job = task.jobs.iter().flat_map(|job| job.interactions.iter().map(move |of| (job.job, of)));
    let known = of_job.map(|(job, of)| {
        let interaction = match of.interaction {
            Interaction::Received { channel, lost, .. } => Interaction::Received { channel, number: 0, lost },
            other => other,
        };
        (job, interaction, of.value.map(<[u8]>::to_vec))
    });
    known.collect()
}

/// Everything, in order, is what it was, with the instants of alarms, for which this replay's clock stands still.
#[test]
fn alarms_are_set_and_come_again() {
    for executor in ["", "executor = \"dispatched\"\n"] {
        for late in ["deliver", "refuse"] {
            let (folder, name) = (tempfile::tempdir().unwrap(), format!("{executor}{late}"));
            let was = record(folder.path(), &tables(executor, late), |app| set_up(app, u64::MAX));
            let was = RecordedValues::from_bytes(&was).unwrap();
            let is = replay(folder.path(), |app| set_up(app, u64::MAX));
            let is = RecordedValues::from_bytes(&is).unwrap();
            assert_eq!((was.lost, was.tasks.len(), is.tasks.len()), (0, 2, 2), "{name}");
            for (was, is) in was.tasks.iter().zip(&is.tasks) {
                assert!(was.jobs.len() > 20, "{name}: {} jobs", was.jobs.len());
                assert_eq!(done(was), done(is), "{name}");
            }
            let all: Vec<Interaction> = was.tasks.iter().flat_map(done).map(|(_, of, _)| of).collect();
            let has = |wanted: fn(&Interaction) -> bool| all.iter().any(wanted);
            use CancelOutcome::{Over, Prevented};
            assert!(has(|of| matches!(of, Interaction::AlarmPeriod { period_ns: 700_000, .. })), "{name}");
            assert!(has(|of| matches!(of, Interaction::Refused { why: Refusal::Full, .. })), "{name}");
            assert!(has(|of| matches!(of, Interaction::Refused { why: Refusal::TooMany, .. })), "{name}");
            let is_late = has(|of| matches!(of, Interaction::Refused { why: Refusal::Late, .. }));
            assert_eq!(is_late, late == "refuse", "{name}");
            assert!(has(|of| matches!(of, Interaction::AlarmCancelled { outcome: Over, .. })), "{name}");
            assert!(has(|of| matches!(of, Interaction::AlarmCancelled { outcome: Prevented, .. })), "{name}");
            assert!(
                has(|of| matches!(of, Interaction::Received { lost: 1.., .. })),
                "{name}: missed instants"
            );
        }
    }
}

/// An alarm for another instant is another alarm, though its value is the same and its setter gets the same answer.
#[test]
fn another_instant_shows_at_its_first_alarm() {
    let folder = tempfile::tempdir().unwrap();
    let was = record(folder.path(), &tables("", "deliver"), |app| set_up(app, u64::MAX));
    let was = RecordedValues::from_bytes(&was).unwrap();
    let is = replay(folder.path(), |app| set_up(app, 17));
    let is = RecordedValues::from_bytes(&is).unwrap();
    let (was, is) = (done(&was.tasks[0]), done(&is.tasks[0]));
    let (first, other) = was.iter().zip(&is).find(|(was, is)| was != is).unwrap();
    let (17, Interaction::AlarmAsked { latest_ns: first, .. }, _) = first else { panic!("{first:?}") };
    let (17, Interaction::AlarmAsked { latest_ns: other, .. }, _) = other else { panic!("{other:?}") };
    assert_eq!(*other - *first, 1_000);
}

/// Of `keeps` all is known: it alone uses `own`. What the two others find behind `bus` is in no recording.
const LOCKS: &str = "executor = \"dispatched\"\n[payloads]\nWord = { type = \"u64\" }\n[resources.own]\n[resources.bus]\n\
    [tasks.logger]\nclass = \"best-effort\"\n\
    [tasks.keeps]\narrival = { periodic = \"5ms\" }\ndeadline = \"5ms\"\nwcet = { value = \"500us\", source = \"guess\" }\n\
    budget = \"600us\"\non-overrun = \"kill-job\"\ncore = 0\npriority = 40\n\
    sections = [{ resource = \"own\", longest = \"50us\", count = 2 }]\n\
    [tasks.one]\narrival = { periodic = \"10ms\" }\ndeadline = \"10ms\"\nwcet = { value = \"50us\", source = \"guess\" }\n\
    core = 0\npriority = 30\nsections = [{ resource = \"bus\", longest = \"10us\" }]\n\
    [tasks.other]\narrival = { periodic = \"10ms\" }\ndeadline = \"10ms\"\nwcet = { value = \"50us\", source = \"guess\" }\n\
    core = 0\npriority = 20\nsections = [{ resource = \"bus\", longest = \"10us\" }]\n\
    [channels.kept]\nkind = \"state\"\nfrom = \"keeps\"\nto = \"logger\"\npayload = \"Word\"\nrecord = true\n\
    sends-per-release = 2\n\
    [channels.first]\nkind = \"state\"\nfrom = \"one\"\nto = \"logger\"\npayload = \"Word\"\nrecord = true\n\
    [channels.second]\nkind = \"state\"\nfrom = \"other\"\nto = \"logger\"\npayload = \"Word\"\nrecord = true\n";

struct Keeps<'p> {
    own: Resource<u64>,
    kept: StateWriter<'p, u64>,
    killed: u64,
}

impl Component for Keeps<'_> {}

impl Task for Keeps<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let number = job.number();
        let kept = job.lock(&self.own, |own, job| {
            *own = own.wrapping_mul(31).wrapping_add(number);
            (*own, job.checkpoint())
        })?;
        self.kept.publish(job, kept.0).map_err(|_| Failure::Code(1))?;
        kept.1?;
        // Some jobs use up their budget, and the next lock says so. The replay has no budget, and is told the same.
        if number % 5 == 3 {
            let begun = std::time::Instant::now();
            while begun.elapsed() < std::time::Duration::from_millis(2) {
                std::hint::spin_loop();
            }
        }
        let again = job.recover(&self.own, |own, _, _| *own);
        self.killed += u64::from(again == Err(LockError::Killed));
        self.kept.publish(job, again.unwrap_or(0).wrapping_add(self.killed)).map_err(|_| Failure::Code(1))
    }
}

fn locks(app: &mut App<'_>) -> Result<(), Error> {
    app.resource("own", 7_u64)?;
    app.resource("bus", 7_u64)?;
    app.task("keeps", |create| {
        let (own, kept) = (create.resource("own")?, create.state_writer("kept")?);
        Ok(Keeps { own, kept, killed: 0 })
    })?;
    for (task, channel) in [("one", "first"), ("other", "second")] {
        app.task(task, |create| {
            let (bus, mut writer) = (create.resource::<u64>("bus")?, create.state_writer(channel)?);
            Ok(each(move |job| {
                let value = job.lock(&bus, |bus, _| {
                    *bus += 1;
                    *bus
                })?;
                writer.publish(job, value).map_err(|_| Failure::Code(1))
            }))
        })?;
    }
    app.best_effort("logger", |create| {
        let names = ["kept", "first", "second"].into_iter();
        let mut all = names.map(|name| create.state_reader::<u64>(name)).collect::<Result<Vec<_>, _>>()?;
        Ok(move |context: &mut Context<'_>| {
            while context.sleep(Duration::from_ms(9)) {
                all.iter_mut().for_each(|state| _ = state.latest(context));
            }
        })
    })
}

#[test]
fn a_resource_of_one_task_is_as_it_was_left() {
    let (plan, _) = plan(LOCKS);
    let why: Vec<_> = (0..plan.tasks.len()).map(|task| plan.replays(task).err()).collect();
    let bus = Some(NotReplayed::Resource("bus".to_owned()));
    assert_eq!(why, [Some(NotReplayed::BestEffort), None, bus.clone(), bus]);

    let folder = tempfile::tempdir().unwrap();
    let was = record(folder.path(), LOCKS, locks);
    let was = RecordedValues::from_bytes(&was).unwrap();
    let is = replay(folder.path(), locks);
    let is = RecordedValues::from_bytes(&is).unwrap();
    assert_eq!((was.lost, was.tasks.len(), is.tasks.len()), (0, 1, 1));
    assert!(was.tasks[0].jobs.len() > 20, "{}", was.tasks[0].jobs.len());
    assert_eq!(done(&was.tasks[0]), done(&is.tasks[0]));
    let is_killed = |(_, of, _): &(u64, Interaction, Option<Vec<u8>>)| {
        matches!(of, Interaction::Checkpoint { is_killed: true })
    };
    assert!(done(&was.tasks[0]).iter().filter(|of| is_killed(of)).count() > 5, "jobs that a lock ended");
}
