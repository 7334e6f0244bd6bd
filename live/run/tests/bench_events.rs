// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Applications in virtual time: alarms, devices that the test plays, and changes of mode.
#![allow(clippy::unwrap_used, reason = "test code")]

mod app;

use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use app::{each, plan};
use taut_boot::LoadedPlan;
use taut_event::Kind;
use taut_plan::{ClassPlan, ValidPlan};
use taut_run::bench::{Bench, ExecutionTime};
use taut_run::{
    AlarmReader, AlarmRefused, AlarmSetter, App, Cancellation, Component, Control as AppControl, Device,
    Error, Failure, Job, ModeError, QueueReader, Receiver, Task,
};
use taut_time::{Duration, Instant};

fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

fn bench(tables: &str, setup: impl for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>) -> Bench {
    let plan = plan(tables).0;
    let text = plan.to_lock().unwrap();
    Bench::with_plan(LoadedPlan { plan: ValidPlan::new(plan).unwrap(), text }, setup).unwrap()
}

/// The releases of a task since release 0, in µs.
fn releases(bench: &Bench, task: u16) -> Vec<u64> {
    let of = |record: &&taut_event::Record| record.kind == Kind::Release && record.subject == task;
    bench.records().iter().filter(of).map(|record| record.at.as_ns() / 1_000 - 1_000_000).collect()
}

/// What jobs found, each with the instant since release 0 at which their code ran, in µs.
type Found<T> = Arc<Mutex<Vec<(u64, T)>>>;

fn taken<T: Clone>(found: &Found<T>) -> Vec<(u64, T)> {
    std::mem::take(&mut *found.lock().unwrap())
}

fn now_us(job: &Job<'_>) -> u64 {
    job.now().as_ns() / 1_000 - 1_000_000
}

/// `control` takes alarms 2 ms apart and answers number 100 with one of its own; it is task 0.
fn alarms(arrival: &str, keys: &str) -> String {
    format!(
        "[payloads]\nNumber = {{ type = \"u64\" }}\n[tasks.control]\narrival = {{ {arrival} }}\ndeadline = \"2ms\"\n\
         wcet = {{ value = \"100us\", source = \"guess\" }}\ncore = 0\npriority = 40\n\
         [tasks.ticks]\narrival = {{ periodic = \"10ms\" }}\ndeadline = \"10ms\"\n\
         wcet = {{ value = \"50us\", source = \"guess\" }}\ncore = 0\npriority = 20\n\
         [tasks.steers]\nclass = \"best-effort\"\n\
         [channels.timeouts]\nkind = \"alarm\"\nfrom = [\"control\", \"ticks\", \"steers\"]\nto = \"control\"\n\
         payload = \"Number\"\n{keys}"
    )
}

const TRIGGERED: &str = "sporadic = \"2ms\", trigger = \"timeouts\"";

struct Control<'p> {
    timeouts: AlarmReader<'p, u64>,
    own: AlarmSetter<'p, u64>,
    /// The number of each alarm, and how often it was missed.
    found: Found<(u64, u64)>,
}

impl Component for Control<'_> {}

impl Task for Control<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let at = now_us(job);
        let mut asks = false;
        while let Some(alarm) = self.timeouts.next(job) {
            assert!(alarm.due.as_ns() / 1_000 <= 1_000_000 + at, "before its instant");
            asks |= *alarm.value == 100;
            self.found.lock().unwrap().push((at, (*alarm.value, alarm.missed)));
        }
        if asks {
            self.own.set(job, after(job.release(), ms(5)), 101)?;
        }
        Ok(())
    }
}

fn after(instant: Instant, time: Duration) -> Instant {
    instant.checked_add(time).unwrap()
}

fn alarmed(
    tables: &str,
    found: &Found<(u64, u64)>,
    tick: impl FnMut(&mut Job<'_>, &mut AlarmSetter<'_, u64>) -> Result<(), Failure> + Send + 'static,
) -> Bench {
    let (found, mut tick) = (Arc::clone(found), tick);
    bench(tables, move |app| {
        app.task("control", |create| {
            let (timeouts, own) = (create.alarm_reader("timeouts")?, create.alarm_setter("timeouts")?);
            Ok(Control { timeouts, own, found })
        })?;
        app.task("ticks", |create| {
            let mut timeouts = create.alarm_setter::<u64>("timeouts")?;
            Ok(each(move |job| tick(job, &mut timeouts)))
        })?;
        app.best_effort("steers", |create| {
            let _timeouts = create.alarm_setter::<u64>("timeouts")?;
            Ok(|_: &mut taut_run::Context<'_>| ())
        })
    })
}

#[test]
fn an_alarm_comes_at_its_instant() {
    for executor in ["", "executor = \"dispatched\"\n"] {
        let found = Found::default();
        let tables = format!("{executor}{}", alarms(TRIGGERED, "capacity = 3\n"));
        let mut bench = alarmed(&tables, &found, |_, _| Ok(()));
        bench.run_until(ms(1)).unwrap();
        let set = |bench: &mut Bench, at, number: u64| {
            bench.task("steers").set_alarm("timeouts", at, number).unwrap()
        };
        let tokens = [(30, 1), (12, 2), (20, 3)].map(|(at, number)| set(&mut bench, ms(at), number).unwrap());
        assert_eq!(set(&mut bench, ms(40), 4), Err(AlarmRefused::Full(4)));
        let cancel =
            |bench: &mut Bench, token| bench.task("steers").cancel_alarm::<u64>("timeouts", token).unwrap();
        assert_eq!(cancel(&mut bench, tokens[2]), Cancellation::Prevented);
        assert_eq!(cancel(&mut bench, tokens[2]), Cancellation::Over);
        // One that is set later, and due before the one for which the task waits.
        bench.at(ms(25), |parties| {
            let at = parties.now().checked_add(ms(3)).unwrap();
            parties.task("steers").set_alarm("timeouts", at, 100_u64)?.unwrap();
            Ok(())
        });
        // One whose instant has passed is due at once.
        bench.at(ms(50), |parties| {
            parties.task("steers").set_alarm("timeouts", ms(2), 5_u64)?.unwrap();
            Ok(())
        });
        bench.run_until(ms(60)).unwrap();
        let expected = [(12_100, 2), (28_100, 100), (30_100, 1), (33_100, 101), (50_100, 5)];
        assert_eq!(taken(&found), expected.map(|(at, number)| (at, (number, 0))));
        // No job for the one that was cancelled, or for setting one.
        assert_eq!(releases(&bench, 0), [12_000, 28_000, 30_000, 33_000, 50_000]);
    }
}

#[test]
fn jobs_set_alarms_and_their_receiver_keeps_its_gap() {
    let found = Found::default();
    let mut bench = alarmed(&alarms(TRIGGERED, "capacity = 2\n"), &found, |job, timeouts| {
        timeouts.set(job, after(job.release(), ms(15)), job.number())?;
        let more = timeouts.set(job, job.release(), 99);
        assert_eq!(more, Err(AlarmRefused::TooMany(99)), "one in each job");
        Ok(())
    });
    // Within the gap of another one, which `takes-per-release` leaves to the next job.
    for at in [14, 15] {
        bench.task("steers").set_alarm("timeouts", ms(at), at).unwrap().unwrap();
    }
    bench.run_until(ms(50)).unwrap();
    let expected = [(14_100, 14), (16_100, 15), (18_100, 0), (25_100, 1), (35_100, 2), (45_100, 3)];
    assert_eq!(taken(&found), expected.map(|(at, number)| (at, (number, 0))));
    assert!(bench.records().iter().all(|record| record.kind != Kind::Panicked));
    // How late the second of them was.
    let late = |record: &&taut_event::Record| record.kind == Kind::Receive && record.value >= 2_000_000;
    let late: Vec<u64> = bench.records().iter().filter(late).map(|record| record.value / 1_000).collect();
    assert_eq!(late, [3_100]);
}

#[test]
fn a_periodic_task_looks_for_alarms_and_a_repeated_one_counts_what_it_missed() {
    let found = Found::default();
    let keys = "capacity = 2\ntakes-per-release = 2\n";
    let mut bench = alarmed(&alarms("periodic = \"2ms\"", keys), &found, |job, timeouts| {
        if job.number() == 1 {
            timeouts.set_repeating(job, after(job.release(), us(500)), us(800), 7)?;
        }
        Ok(())
    });
    bench.run_until(ms(17)).unwrap();
    // Due at 10.5, 11.3, 12.1, 12.9, 13.7, 14.5, 15.3 and 16.1 ms.
    assert_eq!(taken(&found), [(12_100, (7, 2)), (14_100, (7, 1)), (16_100, (7, 2))]);
    let error = bench.watch("timeouts/ticks").unwrap_err().to_string();
    assert_eq!(error, "`timeouts/ticks` carries alarms, of which a bench keeps and loses none");
    let wrong = bench.task("steers").set_alarm("timeouts", ms(20), 7_u32).unwrap_err().to_string();
    assert!(wrong.contains("carries other values"), "{wrong}");
    let other = bench.task("steers").set_alarm("timeout", ms(20), 7_u64).unwrap_err().to_string();
    assert_eq!(other, "the manifest has no channel `timeout`");
}

/// A release by an alarm may come late, too, and an alarm that is set meanwhile does not change that.
#[test]
fn a_late_alarm_is_one_fault() {
    let found = Found::default();
    let keys = "capacity = 3\n";
    let mut bench = alarmed(&alarms(TRIGGERED, keys), &found, |_, _| Ok(()));
    bench.late("control", 1, ms(3)).unwrap();
    for (at, number) in [(12, 1_u64), (20, 2)] {
        bench.task("steers").set_alarm("timeouts", ms(at), number).unwrap().unwrap();
    }
    for (at, due) in [(15, 40), (21, 42)] {
        bench.at(ms(at), move |parties| {
            parties.task("steers").set_alarm("timeouts", ms(due), due)?.unwrap();
            Ok(())
        });
    }
    bench.run_until(ms(50)).unwrap();
    assert_eq!(taken(&found), [(12_100, (1, 0)), (23_100, (2, 0)), (40_100, (40, 0)), (42_100, (42, 0))]);
}

/// `gyro` reads samples of 4 bytes, at most one in 4 ms, and acknowledges each.
const DEVICE: &str = r#"
[services.sensing]
[tasks.gyro]
arrival = { sporadic = "4ms", device = "imu" }
deadline = "2ms"
wcet = { value = "100us", source = "guess" }
service = "sensing"
core = 0
priority = 40
"#;

struct Gyro {
    imu: Device,
    /// Each sample; nothing for an empty read.
    found: Found<Option<[u8; 4]>>,
}

impl Component for Gyro {
    fn pause(&mut self) {
        self.found.lock().unwrap().push((0, None));
    }
}

impl Task for Gyro {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let mut sample = [0; 4];
        let count = self.imu.read(job, &mut sample).map_err(|_| Failure::Code(1))?;
        self.found.lock().unwrap().push((now_us(job), (count == 4).then_some(sample)));
        if count == 4 {
            self.imu.write(job, &sample[..1]).map_err(|_| Failure::Code(2))?;
        }
        Ok(())
    }
}

fn sensing(found: &Found<Option<[u8; 4]>>) -> (Bench, UnixStream) {
    sensing_with(DEVICE, found)
}

fn sensing_with(tables: &str, found: &Found<Option<[u8; 4]>>) -> (Bench, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let found = Arc::clone(found);
    let bench = bench(tables, move |app| {
        app.device("imu", OwnedFd::from(theirs))?;
        app.service("sensing", |service| {
            service.task("gyro", |create| Ok(Gyro { imu: create.device("imu")?, found }))
        })
    });
    (bench, ours)
}

#[test]
fn a_device_releases_a_job_at_the_instant_of_its_bytes() {
    let found = Found::default();
    let (mut bench, ours) = sensing(&found);
    for (at, byte) in [(10, 1), (21, 2), (22, 3)] {
        let mut ours = ours.try_clone().unwrap();
        bench.at(ms(at), move |_| Ok(ours.write_all(&[byte; 4])?));
    }
    let mut ours = ours;
    // Between two calls, too.
    bench.run_until(ms(5)).unwrap();
    ours.write_all(&[0; 4]).unwrap();
    bench.run_until(ms(30)).unwrap();
    // The fourth waits for the least gap.
    let expected = [(5_100, 0), (10_100, 1), (21_100, 2), (25_100, 3)];
    assert_eq!(taken(&found), expected.map(|(at, byte)| (at, Some([byte; 4]))));
    assert_eq!(releases(&bench, 0), [5_000, 10_000, 21_000, 25_000]);
    let mut answers = Vec::new();
    assert_eq!(ours.read_to_end(&mut answers).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(answers, [0, 1, 2, 3]);
}

/// What a job leaves in the device, and the end of the device, release jobs a gap apart.
#[test]
fn a_device_that_stays_readable_releases_a_job_in_each_gap() {
    let found = Found::default();
    let (mut bench, mut ours) = sensing(&found);
    ours.write_all(&[1, 1, 1, 1, 2, 2, 2, 2]).unwrap();
    bench.run_until(ms(14)).unwrap();
    assert_eq!(taken(&found), [(100, Some([1; 4])), (4_100, Some([2; 4]))]);
    let mut answers = [0; 2];
    ours.read_exact(&mut answers).unwrap();
    drop(ours);
    bench.run_until(ms(20)).unwrap();
    assert_eq!(taken(&found), [(14_100, None), (18_100, None)]);
    assert!(bench.records().iter().all(|record| record.kind != Kind::Failed));
}

/// On a core with a dispatcher a device thread watches the device of a run. In a bench the device releases at the same instants.
#[test]
fn a_device_releases_on_a_dispatched_core() {
    let found = Found::default();
    let (mut bench, mut ours) =
        sensing_with(&DEVICE.replace("[services", "executor = \"dispatched\"\n[services"), &found);
    ours.write_all(&[1, 1, 1, 1, 2, 2, 2, 2]).unwrap();
    let mut later = ours.try_clone().unwrap();
    bench.at(ms(21), move |_| Ok(later.write_all(&[3; 4])?));
    bench.run_until(ms(30)).unwrap();
    let expected = [(100, 1), (4_100, 2), (21_100, 3)];
    assert_eq!(taken(&found), expected.map(|(at, byte)| (at, Some([byte; 4]))));
}

/// `mixes` takes settings, and samples of a device.
const BESIDE: &str = r#"
[payloads]
Setting = { type = "u64" }
[tasks.mixes]
arrival = { sporadic = "4ms", device = "imu", trigger = "settings" }
deadline = "2ms"
wcet = { value = "100us", source = "guess" }
core = 0
priority = 40
[tasks.sets]
class = "best-effort"
[channels.settings]
kind = "queue"
from = "sets"
to = "mixes"
payload = "Setting"
capacity = 16
"#;

struct Mixes<'p> {
    imu: Device,
    settings: QueueReader<'p, u64>,
    found: Found<(Option<u64>, usize)>,
}

impl Component for Mixes<'_> {}

impl Task for Mixes<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let mut sample = [0; 4];
        let setting = self.settings.receive(job);
        let count = self.imu.read(job, &mut sample).unwrap_or(0);
        self.found.lock().unwrap().push((now_us(job), (setting, count)));
        Ok(())
    }
}

/// A device and a channel release jobs of one task, a gap apart, and a job takes from both.
#[test]
fn a_device_and_a_channel_release_one_task() {
    for executor in ["", "executor = \"dispatched\"\n"] {
        let found = Found::default();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let own = Arc::clone(&found);
        let mut bench = bench(&format!("{executor}{BESIDE}"), move |app| {
            app.device("imu", OwnedFd::from(theirs))?;
            app.task("mixes", |create| {
                let settings = create.queue_reader("settings")?;
                Ok(Mixes { imu: create.device("imu")?, settings, found: own })
            })?;
            app.best_effort("sets", |create| {
                create.queue_writer::<u64>("settings").map(|_| |_: &mut taut_run::Context<'_>| ())
            })
        });
        let sample = |at, mut ours: UnixStream| {
            move |bench: &mut Bench| {
                bench.at(ms(at), move |_| Ok(ours.write_all(&[0; 4])?));
            }
        };
        let set = |at, value: u64| {
            move |bench: &mut Bench| {
                bench.at(ms(at), move |parties| {
                    parties.task("sets").send("settings", value)?;
                    Ok(())
                });
            }
        };
        sample(10, ours.try_clone().unwrap())(&mut bench);
        set(20, 1)(&mut bench);
        // Within the gap of the job before.
        sample(21, ours.try_clone().unwrap())(&mut bench);
        // Both at one instant: one job.
        sample(40, ours.try_clone().unwrap())(&mut bench);
        set(40, 2)(&mut bench);
        bench.run_until(ms(50)).unwrap();
        let expected =
            [(10_100, (None, 4)), (20_100, (Some(1), 0)), (24_100, (None, 4)), (40_100, (Some(2), 4))];
        assert_eq!(taken(&found), expected, "{executor}");
    }
}

#[test]
fn nobody_looks_at_the_device_of_a_paused_service() {
    let found = Found::default();
    let (mut bench, mut ours) = sensing(&found);
    bench.control().pause("sensing").unwrap();
    ours.write_all(&[1; 4]).unwrap();
    bench.run_until(ms(20)).unwrap();
    assert_eq!(taken(&found), [(0, None)]);
    bench.control().resume("sensing").unwrap();
    bench.late("gyro", 2, ms(1)).unwrap();
    bench.run_until(ms(30)).unwrap();
    // The job after the one that resumes, a gap later, and late.
    assert_eq!(taken(&found), [(25_100, Some([1; 4]))]);
}

/// `slow` and `quick` are of the first mode, `probes` and `answers` of the second; `both` runs in each, and sends to
/// `answers`.
const MODES: &str = r#"
[payloads]
Number = { type = "u64" }
[services.hearing]
[services.diagnosis]
[modes]
hearing = ["hearing"]
diagnosis = ["diagnosis"]
[tasks.quick]
service = "hearing"
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "3ms", source = "guess" }
core = 0
priority = 30
[tasks.slow]
service = "hearing"
arrival = { periodic = "20ms" }
deadline = "20ms"
wcet = { value = "4ms", source = "guess" }
core = 0
priority = 20
[tasks.probes]
service = "diagnosis"
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "4ms", source = "guess" }
core = 0
priority = 25
[tasks.answers]
service = "diagnosis"
arrival = { sporadic = "10ms", trigger = "counts" }
deadline = "10ms"
wcet = { value = "2ms", source = "guess" }
core = 0
priority = 10
[tasks.both]
arrival = { periodic = "10ms" }
deadline = "10ms"
wcet = { value = "1ms", source = "guess" }
core = 0
priority = 40
[channels.counts]
kind = "queue"
from = "both"
to = "answers"
payload = "Number"
capacity = 4
"#;

const QUICK: u16 = 0;
const SLOW: u16 = 1;
const PROBES: u16 = 2;
const ANSWERS: u16 = 3;

/// What the components of a task were called for: numbers of jobs, or values.
type Calls = Arc<Mutex<Vec<(u16, &'static str, u64)>>>;

struct Notes(u16, Calls);

impl Notes {
    fn note(&self, what: &'static str, number: u64) {
        self.1.lock().unwrap().push((self.0, what, number));
    }
}

impl Component for Notes {
    fn reset(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        self.note("reset", job.number());
        Ok(())
    }
    fn stop(&mut self) {
        self.note("stop", 0);
    }
}

impl Task for Notes {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        self.note("job", job.number());
        Ok(())
    }
}

impl Receiver<u64> for Notes {
    fn receive(&mut self, _: &mut Job<'_>, value: u64) -> Result<(), Failure> {
        self.note("value", value);
        Ok(())
    }
}

/// `each` is called by each job of `both`.
fn moded(each_both: impl FnMut(&mut Job<'_>, &AppControl) + Send + 'static) -> (Bench, Calls) {
    let calls = Calls::default();
    let (kept, mut each_both) = (Arc::clone(&calls), each_both);
    let bench = bench(MODES, move |app| {
        let notes = |task| Notes(task, Arc::clone(&kept));
        app.service("hearing", |service| {
            service.task("quick", |_| Ok(notes(QUICK)))?;
            service.task("slow", |_| Ok(notes(SLOW)))
        })?;
        app.service("diagnosis", |service| {
            service.task("probes", |_| Ok(notes(PROBES)))?;
            service.receiver::<u64, _>("answers", |_| Ok(notes(ANSWERS)))
        })?;
        let control = app.control();
        app.task("both", |create| {
            let mut counts = create.queue_writer("counts")?;
            Ok(each(move |job| {
                let _ = counts.send(job, job.number());
                each_both(job, control);
                Ok(())
            }))
        })
    });
    (bench, calls)
}

/// The positions of a mode in the plan.
fn mode(bench: &Bench, name: &str) -> usize {
    bench.plan().modes.iter().position(|mode| mode.name == name).unwrap()
}

/// The tasks that have followed a change since release 0 (µs), each with the time since the request (µs).
fn followed(bench: &Bench) -> Vec<(u16, u64, u64)> {
    let records = bench.records().iter().filter(|record| record.kind == Kind::ModeFollowed);
    let of = |record: &taut_event::Record| {
        (record.subject, record.at.as_ns() / 1_000 - 1_000_000, record.value / 1_000)
    };
    records.map(of).collect()
}

#[test]
fn a_change_waits_for_the_jobs_that_run_and_for_idle_cores() {
    let (mut bench, calls) = moded(|_, _| ());
    let (from, to) = (mode(&bench, "hearing"), mode(&bench, "diagnosis"));
    let idle_us = bench.plan().change(from, to).unwrap().idle.unwrap().as_ns() / 1_000;
    // `slow` has begun its job of 0 ms at 4 ms; what it does there is not affected by the request.
    bench.run_until(ms(5)).unwrap();
    assert_eq!(bench.control().change_mode("third"), Err(ModeError::Unknown("third".to_owned())));
    bench.control().change_mode("diagnosis").unwrap();
    assert_eq!(bench.control().current_mode(), Some("diagnosis"));
    bench.run_until(ms(100)).unwrap();
    assert_eq!(bench.control().change_mode("hearing"), Ok(()));
    // Nothing would happen while the test waits, so it does not.
    let before = std::time::Instant::now();
    assert!(!bench.control().wait_mode_reached(Duration::from_s(30)));
    assert!(before.elapsed() < std::time::Duration::from_secs(10));
    assert_eq!(bench.control().change_mode("diagnosis"), Err(ModeError::Changing));
    let found = std::mem::take(&mut *calls.lock().unwrap());
    let of = |task: u16| -> Vec<_> {
        found.iter().filter(|(of, ..)| *of == task).map(|(_, what, number)| (*what, *number)).collect()
    };
    assert_eq!(of(QUICK), [("job", 0), ("stop", 0)]);
    assert_eq!(of(SLOW), [("job", 0), ("stop", 0)]);
    // `quick` stops at 10 + 1 + 3 ms, `slow` at 20 + 1 + 4 ms: by then `quick` does nothing, but for a nanosecond.
    let switched = followed(&bench);
    assert_eq!(switched[..2], [(QUICK, 14_000, 9_000), (SLOW, 25_000, 20_000)]);
    // No job of the new mode is released until the cores have been idle: the receiver's first one at once, the periodic task's
    // in its old phase. `both` is in the way of each for 1 ms.
    let starts_us = 25_000 + idle_us;
    let first_us = starts_us.next_multiple_of(10_000);
    assert_eq!(switched[2].0, ANSWERS);
    assert!((starts_us + 2_000..=starts_us + 3_000).contains(&switched[2].1), "{switched:?} {starts_us}");
    assert_eq!(switched[3], (PROBES, first_us + 5_000, first_us));
    assert_eq!(of(PROBES)[..2], [("reset", first_us / 10_000), ("job", first_us / 10_000 + 1)]);
    // The receiver gets what waited: as much as the queue holds.
    assert_eq!(of(ANSWERS)[0].0, "reset");
    assert_eq!(of(ANSWERS)[1..5], [("value", 0), ("value", 1), ("value", 2), ("value", 3)]);
    assert_eq!(switched.len(), 4);
    // And back.
    bench.run_until(ms(200)).unwrap();
    assert!(bench.control().is_mode_reached());
    let found = std::mem::take(&mut *calls.lock().unwrap());
    assert_eq!(found.iter().filter(|(_, what, _)| *what == "reset").count(), 2);
    assert!(found.iter().any(|call| matches!(call, (SLOW, "job", _))), "{found:?}");
}

/// Jobs ask for changes at many instants, with execution times that are drawn: every response and every step of a change is
/// within its bound.
#[test]
fn changes_at_any_instant_keep_the_bounds_of_the_plan() {
    let mut modes = ["diagnosis", "hearing"].into_iter().cycle();
    let mut next = modes.next();
    let (mut bench, calls) = moded(move |job, control| {
        let is_turn = (job.number() * job.number()) % 7 == 3 || job.number() % 11 == 0;
        if is_turn && next.is_some_and(|name| control.change_mode(name).is_ok()) {
            next = modes.next();
        }
    });
    for task in ["quick", "slow", "probes", "answers", "both"] {
        let most = match &bench.plan().tasks[bench.plan().task(task).unwrap()].class {
            ClassPlan::RealTime { wcet, .. } => *wcet,
            ClassPlan::BestEffort {} => unreachable!(),
        };
        bench.execution(task, ExecutionTime::uniform(us(1)..=most)).unwrap();
    }
    bench.run_until(Duration::from_s(60)).unwrap();
    let plan = bench.plan();
    let mut responses = 0;
    for (at, task) in plan.tasks.iter().enumerate() {
        let ClassPlan::RealTime { response: bound, .. } = &task.class else { continue };
        let of = |kind| {
            let of =
                move |record: &&taut_event::Record| record.kind == kind && usize::from(record.subject) == at;
            bench.records().iter().filter(of)
        };
        for (release, complete) in of(Kind::Release).zip(of(Kind::Complete)) {
            assert_eq!(release.job, complete.job);
            let response = complete.at.since(release.at);
            assert!(response <= bound.unwrap(), "{}: {response} {bound:?}", task.name);
            responses += 1;
        }
    }
    assert!(responses > 20_000, "{responses}");
    let changes = bench.records().iter().filter(|record| record.kind == Kind::ModeFollowed);
    let mut steps = 0;
    for record in changes {
        let (from, to) = ((record.job & 0xffff) as usize, (record.job >> 16) as usize);
        let change = plan.change(from, to).unwrap();
        let service = plan.tasks[usize::from(record.subject)].service.clone().unwrap();
        let stops = plan.modes[from].services.contains(&service);
        let all = change.stop.as_ns() + change.idle.unwrap().as_ns() + change.start.as_ns();
        let most = if stops { change.stop.as_ns() } else { all };
        assert!(record.value <= most, "{record:?} {most}");
        steps += 1;
    }
    assert!(steps > 400, "{steps}");
    let calls = calls.lock().unwrap();
    let count = |what| calls.iter().filter(|(_, of, _)| *of == what).count();
    assert!(count("stop") > 200 && count("reset") > 200, "{} {}", count("stop"), count("reset"));
}

/// A reader of a broadcast whose service restarts takes nothing in the job that `reset` replaces. Nobody is refused meanwhile.
#[test]
fn a_restart_holds_up_no_writer_of_a_broadcast() {
    const TABLES: &str = "[payloads]\nNumber = { type = \"u64\" }\n\
        [services.part]\non-failure = { restart = 4, within = \"1s\", then = \"stop-app\" }\n\
        [tasks.sends]\narrival = { periodic = \"5ms\" }\ndeadline = \"5ms\"\nwcet = { value = \"50us\", source = \"guess\" }\n\
        [tasks.looks]\nservice = \"part\"\narrival = { periodic = \"20ms\" }\ndeadline = \"20ms\"\n\
        wcet = { value = \"50us\", source = \"guess\" }\n\
        [tasks.fails]\nservice = \"part\"\narrival = { periodic = \"5ms\" }\ndeadline = \"5ms\"\n\
        wcet = { value = \"50us\", source = \"guess\" }\n\
        [channels.numbers]\nkind = \"broadcast\"\nfrom = \"sends\"\nto = \"looks\"\npayload = \"Number\"\n\
        takes-per-release = 8\n";
    let found: Found<u64> = Found::default();
    let of_job = Arc::clone(&found);
    let mut bench = bench(TABLES, |app| {
        app.task("sends", |create| {
            let (mut numbers, mut next) = (create.queue_writer::<u64>("numbers")?, 0);
            Ok(each(move |job| {
                next += 1;
                numbers.send(job, next).map_err(|_| Failure::Code(1))
            }))
        })?;
        app.service("part", |service| {
            service.task("looks", |create| {
                let mut numbers = create.queue_reader::<u64>("numbers")?;
                Ok(each(move |job| {
                    while let Some(number) = numbers.receive(job) {
                        of_job.lock().unwrap().push((now_us(job), number));
                    }
                    Ok(())
                }))
            })?;
            service.task("fails", |_| {
                let mut jobs = 0;
                Ok(each(move |_| {
                    jobs += 1;
                    // Between two releases of `looks`: the job at 120 ms becomes a reset.
                    if jobs == 22 {
                        std::panic::resume_unwind(Box::new(()));
                    }
                    Ok(())
                }))
            })
        })
    });
    bench.run_for(ms(300)).unwrap();
    let refused = |record: &&taut_event::Record| matches!(record.kind, Kind::Drop | Kind::Failed);
    assert_eq!(bench.records().iter().filter(refused).count(), 0);
    let taken = taken(&found);
    let around = |us: u64| taken.iter().filter(|(at, _)| (us..us + 10_000).contains(at)).count();
    assert_eq!((around(100_000), around(120_000)), (4, 0), "{taken:?}");
    // It begins again with what was sent after the restart.
    assert_eq!(around(140_000), 4, "{taken:?}");
    assert!(taken.windows(2).all(|pair| pair[1].1 > pair[0].1));
    assert_eq!(bench.stopped(), None);
}
