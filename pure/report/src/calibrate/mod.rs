// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The execution times of an application's tasks in recorded runs.
//!
//! **What counts.** The execution time of a job is the processor time of its thread meanwhile, as a report shows it:
//! with copies into and out of channels, with the time that it spun for a lock, and with most interrupts. A job counts if it is
//! complete in the records: released, started and completed, without a contradiction between these records. Its
//! measurement is then sound whatever happened to other jobs, so a job counts in a run that
//!
//! - ended badly, or whose recording is damaged or lost records: jobs are missing, among them perhaps the longest, but
//!   those that are there were measured in full;
//! - was disturbed by real-time threads from outside: they take the core, and are not counted as a job's time. They also
//!   take its cache, so a job takes longer, not shorter;
//! - had fewer guarantees: the same holds for threads without real-time priority;
//! - stood still because of the machine: on a virtual machine the kernel counts such a time as the job's. The time is
//!   then too long, which is on the safe side; [`CalibratedTask::stolen_ns`] says by how much at most.
//!
//! A job does not count if
//!
//! - the application was traced or stopped meanwhile: a tracer makes a thread use time that is not its own;
//! - it recorded another CPU than the plan's, unless the run could pin no threads: that core may be a slower one, or a
//!   faster one.
//!
//! A job that was ended because its budget was used up counts, but its time is less than the job needed: there is no fit
//! for its task. Every line of [`CalibratedRun::notes`] says such a thing of a run.
//!
//! **What is refused.** Runs of different applications, the same recording twice, and a run without a job that counts.

mod draw;
mod fit;
mod gev;
mod series;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use taut_event::Event;
use taut_event::file::Run;
use taut_plan::{ClassPlan, Overrun, Plan};
use taut_time::shown;

use crate::blame::Stalls;
use crate::jobs::Job;
use crate::report::Report;
use crate::verdict::{Breach, RunVerdict, Warning};
use crate::wording::{breach_text, plural, warning_text};

pub use fit::{FittedBound, NoFit};

/// A recorded run that was taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CalibratedRun {
    /// Its file.
    pub file: String,
    /// The digest of the file: `sha256:` and 64 hexadecimal digits.
    pub hash: String,
    /// Jobs that count.
    pub jobs: u64,
    /// From release 0, or from where a recording with a limit begins, to the last record.
    pub duration_ns: u64,
    /// What qualifies its measurements, a sentence each.
    pub notes: Vec<String>,
    /// Guarantees that it ran without, with the system's reason, a sentence each.
    pub degraded: Vec<String>,
    /// The machine's facts, as key and value.
    pub machine: Vec<(String, String)>,
}

/// The execution times of a real-time task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CalibratedTask {
    /// Its name.
    pub name: String,
    /// The CPU that it had in the last run.
    pub cpu: u16,
    /// Jobs that count.
    pub jobs: u64,
    /// Of these, the jobs of each run, by position. Ends with the last run whose plan has the task.
    pub jobs_by_run: Vec<u64>,
    /// Complete jobs that do not count.
    pub left_out: u64,
    /// The largest measured execution time; none without jobs.
    pub max_ns: Option<u64>,
    /// The run with that job, by position; 0 without jobs.
    pub max_run: usize,
    /// The most that the machine may have added to that job; 0 without jobs.
    pub stolen_ns: u64,
    /// Half of the jobs took at most this; none without jobs.
    pub p50_ns: Option<u64>,
    /// 99 % of them; none if there are fewer than 100.
    pub p99_ns: Option<u64>,
    /// 99.9 % of them; none if there are fewer than 1000.
    pub p999_ns: Option<u64>,
    /// C in the plan of the last run, margin included.
    pub planned_ns: u64,
    /// Whether no job took longer than that.
    pub holds: bool,
    /// The fitted bound, if a fit holds.
    pub fit: Option<FittedBound>,
    /// Otherwise why it does not; empty without jobs.
    pub no_fit: Vec<NoFit>,
}

/// Why a run cannot be taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotCalibrated {
    /// It is a run of another application than the first one.
    OtherApplication {
        /// The application of the first run.
        first: String,
        /// The application of this run.
        other: String,
    },
    /// It is the same recording as another. Holds the file of that.
    SameRecording(String),
    /// No job of a real-time task counts.
    NoJobs,
}

impl fmt::Display for NotCalibrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherApplication { first, other } => {
                write!(
                    f,
                    "a run of `{other}`, and the first one is of `{first}`: give runs of one application"
                )
            }
            Self::SameRecording(file) => {
                write!(f, "the same recording as {file}: its jobs would count twice")
            }
            Self::NoJobs => {
                f.write_str("no job of a real-time task completed, so it says nothing about execution times")
            }
        }
    }
}

impl std::error::Error for NotCalibrated {}

/// Recorded runs of an application, and the execution times in them.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    runs: Vec<CalibratedRun>,
    tasks: Vec<TaskTimes>,
    /// The plan of the first run.
    first: Option<Plan>,
}

/// What the runs have of a task.
#[derive(Clone, Debug, Default)]
struct TaskTimes {
    name: String,
    cpu: u16,
    planned_ns: u64,
    /// By run whose plan has the task, in the order of releases (ns).
    runs: Vec<Vec<u64>>,
    /// Jobs that count, by position of the run.
    jobs_by_run: Vec<u64>,
    left_out: u64,
    /// Jobs that were ended when their budget was used up.
    ended_early: u64,
    /// The largest time, the run that has it, and the most that the machine may have added to it.
    largest: Option<(u64, usize, u64)>,
}

/// Facts of a machine on which execution times depend.
const MATTERS: [&str; 7] =
    ["cpu", "cpus", "kernel", "preemption", "hypervisor", "frequency-governor", "idle-driver"];
/// The machine fact that means that threads were not pinned to their CPUs.
const NO_CORES: &str = "lost-cores";

impl Calibration {
    /// Takes in a run, with the name and the digest of its recording.
    ///
    /// # Errors
    /// [`NotCalibrated`]; the calibration stays as it was.
    pub fn add(&mut self, file: &str, hash: &str, plan: &Plan, run: &Run) -> Result<(), NotCalibrated> {
        if let Some(first) = self.first.as_ref().filter(|first| first.app != plan.app) {
            let (first, other) = (first.app.clone(), plan.app.clone());
            return Err(NotCalibrated::OtherApplication { first, other });
        }
        if let Some(same) = self.runs.iter().find(|run| run.hash == hash) {
            return Err(NotCalibrated::SameRecording(same.file.clone()));
        }
        let report = Report::new(plan, run);
        let sound = Sound::of(&report, run);
        let counts: u64 = sound.tasks.iter().map(|jobs| jobs.counting.len() as u64).sum();
        if counts == 0 {
            return Err(NotCalibrated::NoJobs);
        }
        let mut notes = notes(&report);
        notes.extend(sound.notes(plan));
        let degraded = report.warnings.iter().filter(|warning| matches!(warning, Warning::Degraded { .. }));
        let degraded = degraded.map(warning_text).collect();
        if let (Some(first), Some(other)) = (&self.first, self.runs.first()) {
            let different = machine_differences(&other.machine, &report.machine);
            let different = different.into_iter().chain(plan_differences(first, plan));
            notes.extend(different.map(|what| format!("{what} in {}", other.file)));
        }
        self.runs.push(CalibratedRun {
            file: file.to_owned(),
            hash: hash.to_owned(),
            jobs: counts,
            duration_ns: report.judged(),
            notes,
            degraded,
            machine: report.machine.clone(),
        });
        for (task, jobs) in plan.tasks.iter().zip(&sound.tasks) {
            if let ClassPlan::RealTime { cpu, wcet, .. } = &task.class {
                let (at, times) = (self.runs.len() - 1, self.times(&task.name));
                (times.cpu, times.planned_ns) = (*cpu, wcet.as_ns());
                times.add(at, jobs, &report);
            }
        }
        self.first.get_or_insert_with(|| plan.clone());
        Ok(())
    }

    /// The application; empty without runs.
    pub fn app(&self) -> &str {
        self.first.as_ref().map_or("", |plan| &plan.app)
    }

    /// The runs, in the order in which they were taken in.
    pub fn runs(&self) -> &[CalibratedRun] {
        &self.runs
    }

    /// The real-time tasks, with the bound that a job exceeds with the probability `exceedance`, above 0 and below 1.
    pub fn tasks(&self, exceedance: f64) -> Vec<CalibratedTask> {
        self.tasks.iter().map(|times| times.calibrated(exceedance)).collect()
    }

    /// The entry of a task, which is added if no earlier run has the task.
    fn times(&mut self, name: &str) -> &mut TaskTimes {
        let at = self.tasks.iter().position(|times| times.name == name).unwrap_or_else(|| {
            self.tasks.push(TaskTimes { name: name.to_owned(), ..TaskTimes::default() });
            self.tasks.len() - 1
        });
        &mut self.tasks[at]
    }
}

impl TaskTimes {
    fn add(&mut self, run: usize, jobs: &SoundJobs, report: &Report) {
        self.runs.push(jobs.counting.iter().map(|job| job.cpu).collect());
        // An earlier run may have lacked the task.
        self.jobs_by_run.resize(run, 0);
        self.jobs_by_run.push(jobs.counting.len() as u64);
        self.left_out += jobs.held + jobs.elsewhere;
        self.ended_early += jobs.ended_early;
        let Some(largest) = jobs.counting.iter().max_by_key(|job| job.cpu) else { return };
        if self.largest.is_none_or(|(ns, ..)| ns < largest.cpu) {
            let of_core = report.stalls.iter().filter(|(cpu, ..)| *cpu == self.cpu);
            let stalls = Stalls::new(of_core.map(|&(_, at, lateness)| (at, lateness)).collect());
            let stolen = stalls.stolen(largest.start, largest.complete).min(largest.cpu);
            self.largest = Some((largest.cpu, run, stolen));
        }
    }

    fn calibrated(&self, exceedance: f64) -> CalibratedTask {
        let mut sorted = self.runs.concat();
        sorted.sort_unstable();
        let fit = match (sorted.len(), self.ended_early) {
            (0, _) => Err(Vec::new()),
            (_, 0) => FittedBound::of(&self.runs, exceedance),
            (_, jobs) => Err(vec![NoFit::EndedEarly { jobs }]),
        };
        let (max_ns, max_run, stolen_ns) =
            self.largest.map_or((None, 0, 0), |(ns, run, stolen)| (Some(ns), run, stolen));
        CalibratedTask {
            name: self.name.clone(),
            cpu: self.cpu,
            jobs: sorted.len() as u64,
            jobs_by_run: self.jobs_by_run.clone(),
            left_out: self.left_out,
            max_ns,
            max_run,
            stolen_ns,
            p50_ns: quantile(&sorted, 500),
            p99_ns: quantile(&sorted, 990),
            p999_ns: quantile(&sorted, 999),
            planned_ns: self.planned_ns,
            holds: max_ns.is_none_or(|max| max <= self.planned_ns),
            fit: fit.as_ref().ok().copied(),
            no_fit: fit.err().unwrap_or_default(),
        }
    }
}

/// The least value that so many thousandths of the values do not exceed; `None` if there are too few values to tell
/// it from the largest.
fn quantile(sorted: &[u64], permille: usize) -> Option<u64> {
    let enough = sorted.len() * (1_000 - permille) >= 1_000 || permille <= 500;
    let at = (sorted.len() * permille).div_ceil(1_000).checked_sub(1)?;
    sorted.get(at).copied().filter(|_| enough)
}

/// Complete jobs of a run, by whether their measurements are sound.
struct Sound<'r> {
    /// By task of the plan.
    tasks: Vec<SoundJobs<'r>>,
}

#[derive(Clone, Default)]
struct SoundJobs<'r> {
    counting: Vec<&'r Job>,
    /// Jobs during which the application was traced or stopped.
    held: u64,
    /// Jobs that recorded another CPU than the plan's.
    elsewhere: u64,
    /// Counting jobs that were ended when their budget was used up.
    ended_early: u64,
}

impl<'r> Sound<'r> {
    fn of(report: &'r Report, run: &Run) -> Self {
        let held = held(report);
        let elsewhere = elsewhere(report, run);
        let exhausted = exhausted(run);
        let tasks = report.plan.tasks.iter().zip(&report.jobs).enumerate().map(|(at, (task, jobs))| {
            let mut found = SoundJobs::default();
            let ClassPlan::RealTime { on_overrun, .. } = &task.class else { return found };
            for (job, _) in jobs {
                if held.iter().any(|&(from, to)| from < job.complete && job.start < to) {
                    found.held += 1;
                } else if elsewhere.contains(&(at, job.number)) {
                    found.elsewhere += 1;
                } else {
                    let ends = *on_overrun == Overrun::KillJob;
                    found.ended_early += u64::from(ends && exhausted.contains(&(at, job.number)));
                    found.counting.push(job);
                }
            }
            found
        });
        Self { tasks: tasks.collect() }
    }

    /// The jobs that do not count, in sentences.
    fn notes(&self, plan: &Plan) -> Vec<String> {
        let mut notes = Vec::new();
        for (task, jobs) in plan.tasks.iter().zip(&self.tasks) {
            for (count, why) in [
                (jobs.held, "the application was traced or stopped meanwhile"),
                (jobs.elsewhere, "recorded on another CPU than the plan's"),
            ] {
                if count > 0 {
                    notes.push(format!(
                        "{} of `{}` left out: {why}",
                        plural(count, "job", "jobs"),
                        task.name
                    ));
                }
            }
            if jobs.ended_early > 0 {
                let jobs = plural(jobs.ended_early, "job", "jobs");
                notes.push(format!("{jobs} of `{}` ended when the budget was used up", task.name));
            }
        }
        notes
    }
}

/// The spans in which the application was traced or stopped, on the run's clock.
fn held(report: &Report) -> Vec<(u64, u64)> {
    let RunVerdict::Broken(breaches) = &report.verdict else { return Vec::new() };
    let span = |breach: &Breach| match breach {
        Breach::Stopped { at_ns, lasted_ns } | Breach::Traced { at_ns, lasted_ns, .. } => {
            let from = report.begin.saturating_add(*at_ns);
            Some((from, from.saturating_add(*lasted_ns)))
        }
        _ => None,
    };
    breaches.iter().filter_map(span).collect()
}

/// Jobs that recorded another CPU than the plan's, by task and number. A CPU number that does not fit into a record
/// shows nothing.
fn elsewhere(report: &Report, run: &Run) -> BTreeSet<(usize, u64)> {
    if report.machine.iter().any(|(key, _)| key == NO_CORES) {
        return BTreeSet::new();
    }
    let cpu = |task: u16| match &report.plan.tasks.get(usize::from(task))?.class {
        ClassPlan::RealTime { cpu, .. } => Some(*cpu),
        ClassPlan::BestEffort {} => None,
    };
    let moved = run.records.iter().filter_map(|record| match Event::of(record) {
        Ok(Event::Start { task, job } | Event::Complete { task, job, .. }) => {
            let other = record.cpu != u8::MAX && cpu(task)? != u16::from(record.cpu);
            other.then_some((usize::from(task), job))
        }
        _ => None,
    });
    moved.collect()
}

/// Jobs that used up their budgets, by task and number.
fn exhausted(run: &Run) -> BTreeSet<(usize, u64)> {
    let exhausted = run.records.iter().filter_map(|record| match Event::of(record) {
        Ok(Event::Exhausted { task, job, .. }) => Some((usize::from(task), job)),
        _ => None,
    });
    exhausted.collect()
}

/// What the report says of the run that concerns its measurements.
fn notes(report: &Report) -> Vec<String> {
    let concerns = |breach: &&Breach| match breach {
        Breach::Ended { .. } | Breach::Stood { .. } | Breach::Damaged { .. } | Breach::Unwritten { .. } => {
            true
        }
        Breach::Faulty { .. } | Breach::Lost { .. } | Breach::LostOnCore { .. } => true,
        Breach::Unknown { .. } | Breach::Moved { .. } | Breach::ForeignThread { .. } => true,
        Breach::Stopped { .. } | Breach::Traced { .. } => true,
        Breach::Response { .. } | Breach::Latency { .. } | Breach::Age { .. } | Breach::Reaction { .. } => {
            false
        }
        Breach::Drop { .. } | Breach::ReleasesDropped { .. } | Breach::Slept { .. } => false,
        Breach::Panicked { .. } => true,
        Breach::HeapUsed { .. } | Breach::ModeChange { .. } => false,
        Breach::NotAtRest { .. } | Breach::Silent { .. } | Breach::Nothing => false,
    };
    let breaches = match &report.verdict {
        RunVerdict::Broken(breaches) => breaches.as_slice(),
        RunVerdict::Kept | RunVerdict::KeptButMachine(_) => &[],
    };
    let doubts = |warning: &&Warning| {
        matches!(
            warning,
            Warning::ForeignThread { .. }
                | Warning::Failed { .. }
                | Warning::Restarted { .. }
                | Warning::Since { .. }
        )
    };
    let warnings = report.warnings.iter().filter(doubts).map(warning_text);
    breaches.iter().filter(concerns).map(breach_text).chain(warnings).collect()
}

/// What differs between the machines of two runs: facts on which execution times depend.
fn machine_differences(first: &[(String, String)], other: &[(String, String)]) -> Vec<String> {
    let value = |facts: &[(String, String)], key: &str| {
        facts.iter().find(|(name, _)| name == key).map_or("not known", |(_, value)| value).to_owned()
    };
    let pairs = MATTERS.iter().map(|key| (key, value(first, key), value(other, key)));
    let different = pairs.filter(|(_, first, other)| first != other);
    different
        .map(|(key, first, other)| format!("the machine differs: {key} is `{other}` here, and `{first}`"))
        .collect()
}

/// What differs between the plans of two runs of an application: what execution times depend on.
fn plan_differences(first: &Plan, other: &Plan) -> Vec<String> {
    let mut found = Vec::new();
    let places = |plan: &Plan| -> BTreeMap<String, (u16, bool)> {
        let dispatched = |cpu| plan.cores.iter().any(|core| core.cpu == cpu && core.dispatched.is_some());
        let place = |task: &taut_plan::TaskPlan| match &task.class {
            ClassPlan::RealTime { cpu, .. } => Some((task.name.clone(), (*cpu, dispatched(*cpu)))),
            ClassPlan::BestEffort {} => None,
        };
        plan.tasks.iter().filter_map(place).collect()
    };
    let (before, now) = (places(first), places(other));
    let by = |dispatched| if dispatched { "taut's dispatcher" } else { "Linux" };
    for (name, (cpu, dispatched)) in &now {
        match before.get(name) {
            None => found.push(format!("the plan differs: it has a task `{name}`, which is not")),
            Some((old, _)) if old != cpu => {
                found.push(format!("the plan differs: `{name}` is on CPU {cpu} here, and on CPU {old}"));
            }
            Some((_, old)) if old != dispatched => {
                let (by, old) = (by(*dispatched), by(*old));
                found.push(format!("the plan differs: {by} schedules `{name}` here, and {old}"));
            }
            Some(_) => {}
        }
    }
    for name in before.keys().filter(|name| !now.contains_key(*name)) {
        found.push(format!("the plan differs: it has no task `{name}`, which is"));
    }
    for channel in &other.channels {
        let old = first.channels.iter().find(|old| old.name == channel.name);
        if let Some(old) = old.filter(|old| (old.mechanism, old.size) != (channel.mechanism, channel.size)) {
            let of =
                |of: &taut_plan::ChannelPlan| format!("{} with {} B", of.mechanism.paper_name(), of.size);
            let (name, now, old) = (&channel.name, of(channel), of(old));
            found.push(format!("the plan differs: channel `{name}` is {now} here, and {old}"));
        }
    }
    found
}

impl CalibratedTask {
    /// What the measurements say about the planned execution time, in words.
    pub fn against_plan(&self) -> String {
        let planned = shown::time(self.planned_ns);
        match self.max_ns {
            None => format!("no job; the plan's {planned} is not tested"),
            Some(_) if self.holds => format!("the plan's {planned} holds"),
            Some(_) => format!("that exceeds the plan's {planned}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use taut_event::{Ending, Kind, Record};
    use taut_time::Instant;

    use super::*;
    use crate::recorded::{BEGIN, MS, OUTPUT, PROCESSING, RECORDING, Script, plan, run};

    fn added(files: &[(&str, &Plan, &Run)]) -> Calibration {
        let mut calibration = Calibration::default();
        for (file, plan, run) in files {
            calibration.add(file, &format!("sha256:{file}"), plan, run).unwrap();
        }
        calibration
    }

    fn task(calibration: &Calibration, task: u16) -> CalibratedTask {
        calibration.tasks(1e-9).swap_remove(task.into())
    }

    #[test]
    fn the_largest_is_that_of_the_report() {
        let (plan, slow) = (plan(), vec![(PROCESSING, 400, 5_200_000), (RECORDING, 700, 900_000)]);
        let (quiet, slow) = (run(Script::quiet()), run(Script { slow, ..Script::quiet() }));
        let calibration = added(&[("a", &plan, &quiet), ("b", &plan, &slow)]);
        assert_eq!((calibration.app(), calibration.runs().len()), ("cochlear", 2));
        let processing = task(&calibration, PROCESSING);
        assert_eq!((processing.jobs, processing.max_ns, processing.max_run), (2_500, Some(5_200_000), 1));
        assert_eq!(processing.jobs_by_run, [1_250, 1_250]);
        assert!(!processing.holds && processing.against_plan().contains("exceeds the plan's"));
        let report = Report::new(&plan, &quiet);
        let alone = added(&[("a", &plan, &quiet)]);
        for (figures, found) in report.tasks().iter().zip(alone.tasks(1e-9)) {
            let execution = figures.execution.unwrap();
            assert_eq!(
                (found.max_ns, found.jobs),
                (Some(execution.max_ns), execution.count),
                "{}",
                found.name
            );
            // The report's quantiles are rounded up to three digits.
            let near = |exact: Option<u64>, rounded: u64| {
                let exact = exact.unwrap();
                exact <= rounded && rounded <= exact + exact / 500 + 1
            };
            assert!(near(found.p50_ns, execution.p50_ns) && near(found.p99_ns, execution.p99_ns));
            assert_eq!(found.holds, Some(execution.max_ns) <= figures.wcet_ns);
        }
        assert_eq!(alone.runs()[0].jobs, 3_750);
        assert_eq!(alone.runs()[0].notes, [""; 0]);
    }

    #[test]
    fn what_is_refused_changes_nothing() {
        let (plan, quiet) = (plan(), run(Script { releases: 10, ..Script::quiet() }));
        let mut calibration = added(&[("a", &plan, &quiet)]);
        let before = format!("{calibration:?}");
        let other = Plan { app: "drive".into(), ..plan.clone() };
        let refused = calibration.add("b", "sha256:b", &other, &quiet).unwrap_err();
        assert!(
            refused.to_string().contains("a run of `drive`, and the first one is of `cochlear`"),
            "{refused}"
        );
        let refused = calibration.add("b", "sha256:a", &plan, &quiet).unwrap_err();
        assert_eq!(refused, NotCalibrated::SameRecording("a".into()));
        let mut empty = quiet.clone();
        empty.records.retain(|record| record.kind != Kind::Complete);
        assert_eq!(calibration.add("b", "sha256:b", &plan, &empty), Err(NotCalibrated::NoJobs));
        assert_eq!(format!("{calibration:?}"), before);
    }

    #[test]
    fn complete_jobs_of_a_bad_run_count_and_it_is_said() {
        let (plan, mut bad) = (plan(), run(Script { releases: 100, killed: true, ..Script::quiet() }));
        // The completion of a job is lost, and the run says so.
        let lost = bad.records.iter().position(|of| of.kind == Kind::Complete && of.subject == RECORDING);
        let at = bad.records.remove(lost.unwrap()).at;
        let record = |kind, value| Record { at, kind, cpu: 0, subject: RECORDING, job: 0, value };
        bad.records.push(record(Kind::Lost, 1));
        bad.records.extend(Ending::Killed(9).to_record(Instant::from_ns(at.as_ns() + 9_000 * MS)));
        let calibration = added(&[("bad", &plan, &bad)]);
        let notes = calibration.runs()[0].notes.join("\n");
        assert!(notes.contains("SIGKILL") && notes.contains("1 record of `recording`"), "{notes}");
        assert_eq!((task(&calibration, RECORDING).jobs, task(&calibration, OUTPUT).jobs), (99, 100));
    }

    #[test]
    fn jobs_on_another_cpu_do_not_count() {
        let (plan, mut moved) = (plan(), run(Script { releases: 100, ..Script::quiet() }));
        let slow = moved.records.iter_mut().find(|of| of.kind == Kind::Complete && of.subject == PROCESSING);
        let slow = slow.unwrap();
        (slow.cpu, slow.value) = (slow.cpu + 1, 7_000_000);
        let calibration = added(&[("a", &plan, &moved)]);
        let found = task(&calibration, PROCESSING);
        assert_eq!((found.jobs, found.left_out, found.holds), (99, 1, true));
        let notes = calibration.runs()[0].notes.join("\n");
        assert!(notes.contains("1 job of `processing` left out: recorded on another CPU"), "{notes}");
        // Without the right to pin its threads, an application's jobs are anywhere.
        moved.machine.push_str("lost-cores = \"not permitted\"\n");
        let calibration = added(&[("a", &plan, &moved)]);
        assert_eq!(task(&calibration, PROCESSING).max_ns, Some(7_000_000));
        assert!(calibration.runs()[0].degraded[0].contains("without the guarantee of cores"));
    }

    #[test]
    fn jobs_beside_a_tracer_do_not_count() {
        let (plan, mut traced) = (plan(), run(Script { releases: 100, ..Script::quiet() }));
        let at = Instant::from_ns(BEGIN + 400 * MS);
        let interference = taut_event::Interference::Traced { pid: 77 };
        traced.records.push(Event::Stopped { interference }.record(at, 0));
        let calibration = added(&[("a", &plan, &traced)]);
        // A tracer was attached for at most 200 ms before it was seen: 25 periods of 8 ms.
        let found = task(&calibration, RECORDING);
        assert!((25..=26).contains(&found.left_out), "{found:?}");
        assert_eq!(found.jobs + found.left_out, 100);
        let notes = calibration.runs()[0].notes.join("\n");
        assert!(notes.contains("process 77 traced the application"), "{notes}");
    }

    #[test]
    fn a_job_that_was_ended_early_forbids_a_fit() {
        let (mut plan, mut run) = (plan(), run(Script::quiet()));
        let ClassPlan::RealTime { on_overrun, .. } = &mut plan.tasks[usize::from(PROCESSING)].class else {
            panic!("processing is real-time")
        };
        let at = Instant::from_ns(BEGIN + 3 * MS);
        let budget = taut_time::Duration::from_ms(1);
        run.records.push(Event::Exhausted { task: PROCESSING, job: 0, budget }.record(at, 0));
        *on_overrun = Overrun::SkipNext;
        let before = task(&added(&[("a", &plan, &run)]), PROCESSING);
        assert!(before.no_fit.iter().all(|why| why.word() != "ended-early"), "{before:?}");
        let ClassPlan::RealTime { on_overrun, .. } = &mut plan.tasks[usize::from(PROCESSING)].class else {
            panic!("processing is real-time")
        };
        *on_overrun = Overrun::KillJob;
        let found = task(&added(&[("a", &plan, &run)]), PROCESSING);
        assert_eq!(found.no_fit, [NoFit::EndedEarly { jobs: 1 }]);
        assert_eq!(found.max_ns, before.max_ns);
    }

    #[test]
    fn a_stall_in_the_largest_job_is_said() {
        let (plan, begin) = (plan(), 8 * MS);
        // The machine stands still in the second job.
        let stalls = vec![(begin + 60_000, 3 * MS)];
        let found = task(&added(&[("a", &plan, &run(Script { stalls, ..Script::quiet() }))]), RECORDING);
        assert!(found.max_ns.unwrap() > 3 * MS && found.stolen_ns > 2 * MS, "{found:?}");
    }

    #[test]
    fn different_machines_and_plans_are_named() {
        let (first, quiet) = (plan(), run(Script { releases: 10, ..Script::quiet() }));
        let mut other = first.clone();
        let ClassPlan::RealTime { cpu, .. } = &mut other.tasks[usize::from(OUTPUT)].class else {
            panic!("output is real-time")
        };
        *cpu += 1;
        other.tasks[usize::from(RECORDING)].name = "microphone".into();
        let mut moved = quiet.clone();
        moved.machine =
            moved.machine.replace("AMD EPYC 9R45", "Cortex-A72").replace("preemption = \"none\"\n", "");
        moved.records.iter_mut().filter(|of| of.subject == OUTPUT).for_each(|of| of.cpu += 1);
        let calibration = added(&[("a", &first, &quiet), ("b", &other, &moved)]);
        assert_eq!(calibration.runs()[0].notes, [""; 0]);
        let notes = &calibration.runs()[1].notes;
        for note in [
            "the machine differs: cpu is `Cortex-A72` here, and `AMD EPYC 9R45` in a",
            "the machine differs: preemption is `not known` here, and `none` in a",
            "the plan differs: it has a task `microphone`, which is not in a",
            "the plan differs: it has no task `recording`, which is in a",
        ] {
            assert!(notes.iter().any(|of| of == note), "{note}: {notes:?}");
        }
        let moved = "the plan differs: `output` is on CPU";
        assert!(notes.iter().any(|of| of.starts_with(moved) && of.ends_with("in a")), "{notes:?}");
        // What does not matter is not named.
        let mut same = first.clone();
        same.description = "another line".into();
        let calibration = added(&[("a", &first, &quiet), ("b", &same, &quiet)]);
        assert_eq!(calibration.runs()[1].notes, [""; 0]);
    }

    #[test]
    fn a_quantile_needs_values_above_it() {
        let values: Vec<u64> = (1..=1_000).collect();
        assert_eq!([500, 990, 999].map(|of| quantile(&values, of)), [Some(500), Some(990), Some(999)]);
        assert_eq!([500, 990, 999].map(|of| quantile(&values[..99], of)), [Some(50), None, None]);
        assert_eq!(quantile(&[], 500), None);
        assert_eq!(quantile(&[7], 500), Some(7));
    }
}
