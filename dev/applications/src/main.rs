// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Draws applications, plans them, executes each for a moment, and judges: no bound of the plan is exceeded beyond what the
//! machine's own stalls explain, no value of a real-time sender is lost, no value comes twice, and what was lost of the others
//! was counted; every block comes whole or was taken back; every request
//! has one outcome. If the path of `taut` is given, `taut replay` replays each
//! run on dispatched cores. Before that, the program
//! runs many more applications in virtual time, where the machine excuses nothing. Half of the applications record values; the
//! code of their tasks runs once more, and must do the same. A lateness that one run does not explain is a finding if it comes
//! again.
//!
//! `cargo xtask soak applications` and a step of `cargo xtask ci` build it and start it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod blocks;
mod code;
mod draw;
mod ends;
mod judged;
mod replayed;
mod requests;
mod seen;
mod virtual_time;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser;
use taut_boot::Guarantees;
use taut_event::Kind;
use taut_event::file::Run;
use taut_manifest::{SourceText, load};
use taut_plan::{Input, Plan, digest};
use taut_planner::Planned;
use taut_report::{Breach, Cause, Report, RunVerdict};
use taut_run::{Config, RECORDING, Reason, RunObserver};
use taut_time::Duration;

use crate::draw::Draw;
use crate::judged::{counted, lost_values};
use crate::seen::{Seen, Shared};

/// Random applications, planned and executed.
#[derive(Debug, Parser)]
#[command(name = "taut-applications")]
struct Arguments {
    /// How many applications are executed.
    #[arg(long, default_value_t = 20)]
    runs: u64,
    /// How many applications run in virtual time before that.
    #[arg(long, default_value_t = 0)]
    in_virtual_time: u64,
    /// The applications are those of the seeds after this one: `--seed 6 --runs 1` executes that of seed 7.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long each runs (ms).
    #[arg(long, default_value_t = 300)]
    length: u64,
    /// Executes no further application after this time (s).
    #[arg(long)]
    seconds: Option<u64>,
    /// The command `taut`, for replays.
    #[arg(long)]
    taut: Option<PathBuf>,
    /// Keeps the plan and the recording of each run with a finding, or with an unexplained lateness, in a folder in this one.
    #[arg(long)]
    keep: Option<PathBuf>,
}

/// How often an application runs again after a lateness that one run does not explain.
const REPEATS: u32 = 3;

/// What became of all runs.
#[derive(Debug, Default)]
struct Sums {
    drawn: u64,
    refused: u64,
    executed: u64,
    jobs: u64,
    values: u64,
    excused: u64,
    /// Applications with a job that was late for no known reason, and not when the application ran again.
    late_once: u64,
    broken: Vec<String>,
    replayed: u64,
    /// Jobs whose code was replayed.
    codes: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Err(found) = all_in_virtual_time(&arguments) {
        eprintln!("{found}");
        return ExitCode::FAILURE;
    }
    let mut sums = Sums::default();
    if let Some(end) = all_executed(&arguments, &mut sums) {
        return end;
    }
    println!(
        "{} applications drawn, {} not proven, {} executed: {} jobs, {} values, {} late by the machine alone, {} late once, \
         and not again; {} replayed, and the code of {} jobs; {} with a finding",
        sums.drawn,
        sums.refused,
        sums.executed,
        sums.jobs,
        sums.values,
        sums.excused,
        sums.late_once,
        sums.replayed,
        sums.codes,
        sums.broken.len()
    );
    // Once more and last: of a long text, logs show the end.
    for found in &sums.broken {
        eprintln!("{found}");
    }
    if sums.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Executes as many applications as are asked for; an end if no more can be executed.
fn all_executed(arguments: &Arguments, sums: &mut Sums) -> Option<ExitCode> {
    let begun = std::time::Instant::now();
    let mut seed = arguments.seed;
    while sums.executed < arguments.runs
        && arguments.seconds.is_none_or(|seconds| begun.elapsed().as_secs() < seconds)
    {
        seed += 1;
        sums.drawn += 1;
        let manifest = draw::manifest(&mut Draw::new(seed));
        let plan = match planned(&manifest) {
            Err(why) => {
                eprintln!("seed {seed}: a drawn manifest is no manifest: {why}\n{manifest}");
                return Some(ExitCode::FAILURE);
            }
            Ok(None) => {
                sums.refused += 1;
                continue;
            }
            Ok(Some(plan)) => plan,
        };
        match repeated(|| executed(&plan, &manifest, seed, arguments, sums)) {
            Ok(None) => {}
            Ok(Some(late)) => {
                println!("seed {seed}: late, and not in {REPEATS} further runs: {late}");
                sums.late_once += 1;
            }
            Err(Problem::Skipped(why)) => {
                println!("skipped: nothing was executed: {why}");
                return Some(ExitCode::from(4));
            }
            Err(Problem::Found(what) | Problem::Late(what)) => {
                eprintln!("seed {seed}: {what}\n{manifest}");
                sums.broken.push(format!("seed {seed}: {what}"));
            }
        }
        sums.executed += 1;
    }
    None
}

/// Runs an application, and again if a job was late for a reason that one run does not show: the machine may have stood
/// still without its probe noticing, which does not come again with the same jobs, or a bound is too small, which does.
/// Returns the lateness that did not come again, if there was one.
fn repeated(mut run: impl FnMut() -> Result<(), Problem>) -> Result<Option<String>, Problem> {
    let late = match run() {
        Err(Problem::Late(late)) => late,
        other => return other.map(|()| None),
    };
    for _ in 0..REPEATS {
        run()?;
    }
    Ok(Some(late))
}

/// Runs as many applications in virtual time as are asked for; the first finding ends it.
fn all_in_virtual_time(arguments: &Arguments) -> Result<(), String> {
    let length = Duration::from_ms(arguments.length);
    let (mut ran, mut jobs, mut values, mut seed) = (0, 0, 0, arguments.seed);
    let (mut recorded, mut tasks, mut again) = (0_u64, 0, 0);
    let (mut answered, mut dropped, mut lost) = (0, 0, 0);
    while ran < arguments.in_virtual_time {
        seed += 1;
        let manifest = draw::manifest(&mut Draw::new(seed));
        let found = |what: String| format!("seed {seed}: {what}\n{manifest}");
        let Some(plan) = planned(&manifest).map_err(found)? else { continue };
        let folder = written(&plan, &manifest, None).map_err(|problem| found(problem.to_string()))?;
        let shared: Shared = Arc::new(Mutex::new(Seen::of_plan(&plan)));
        let run = virtual_time::recorded(&plan, folder.path(), seed, length, &shared);
        let run = run.map_err(|error| found(error.to_string()))?;
        virtual_time::judged(&plan, &run).map_err(found)?;
        let seen = shared.lock().unwrap_or_else(PoisonError::into_inner);
        counted(&plan, &run, &seen, None).map_err(found)?;
        let code = code::Code { plan: &plan, seed, shared: &shared, spins: false };
        let replayed = replayed::replayed(&plan, folder.path(), folder.path(), code).map_err(found)?;
        recorded += u64::from(replayed.tasks > 0);
        (tasks, again) = (tasks + replayed.tasks, again + replayed.jobs);
        let of = |kind: Kind| run.records.iter().filter(|record| record.kind == kind).count();
        (ran, jobs, values) = (ran + 1, jobs + of(Kind::Complete), values + of(Kind::Send));
        let [more_answered, more_dropped] = seen.requests();
        (answered, dropped, lost) =
            (answered + more_answered, dropped + more_dropped, lost + seen.all_lost());
    }
    if ran > 0 {
        println!(
            "{ran} applications in virtual time, {} ms each: {jobs} jobs, {values} values, {lost} dropped in lanes, {answered} \
             requests answered and {dropped} dropped; of {recorded} of them the code of {tasks} tasks was replayed: {again} \
             jobs; no finding",
            arguments.length
        );
    }
    Ok(())
}

/// A folder with the manifest and its plan.
fn written(plan: &Plan, manifest: &str, within: Option<&Path>) -> Result<tempfile::TempDir, Problem> {
    let failed = |error: std::io::Error| Problem::Skipped(error.to_string());
    let folder = within.map_or_else(tempfile::tempdir, tempfile::tempdir_in).map_err(failed)?;
    std::fs::write(folder.path().join("taut.toml"), manifest).map_err(failed)?;
    let text = plan.to_lock().map_err(|error| Problem::Found(error.to_string()))?;
    std::fs::write(folder.path().join("taut.lock"), text).map_err(failed)?;
    Ok(folder)
}

/// The plan of a manifest; `None` if it is not proven.
fn planned(manifest: &str) -> Result<Option<Plan>, String> {
    let source = SourceText { name: "taut.toml".to_owned(), text: manifest.to_owned() };
    let loaded = load(&source, &[]);
    let Some(model) = loaded.model else {
        // The model refuses these without a proof: more is sent than is taken, a capacity is too small, or nothing bounds a
        // delivery.
        let refusals = ["TAUT0407", "TAUT0408", "TAUT0419"];
        let shown = taut_manifest::render(&loaded.diagnostics, &[&source], false, 100);
        return if refusals.iter().any(|code| shown.contains(code)) { Ok(None) } else { Err(shown) };
    };
    let input = Input { path: "taut.toml".to_owned(), hash: digest(manifest.as_bytes()) };
    let planned = Planned::make(&model, vec![input]);
    Ok(planned.plan.proven.then_some(planned.plan))
}

/// Why a run does not count as good.
enum Problem {
    /// The machine cannot run it.
    Skipped(String),
    /// Something is wrong.
    Found(String),
    /// Jobs were late: the machine stood still unseen, or the plan is wrong.
    Late(String),
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Skipped(what) | Self::Found(what) | Self::Late(what)) = self;
        f.write_str(what)
    }
}

/// Prints only what is wrong: a task that is stuck, or whose `finish` fails.
struct Quiet;

impl RunObserver for Quiet {
    fn guarantees(&mut self, _: &Guarantees) {}
    fn removed_stale(&mut self, _: &str) {}
    fn started(&mut self, _: &Plan, _: Option<Duration>) {}
    fn stopping(&mut self, _: Reason) {}
    fn stuck(&mut self, task: &str) {
        eprintln!("{task} is stuck");
    }
    fn unfinished(&mut self, task: &str, error: &dyn std::error::Error) {
        eprintln!("{task}: {error}");
    }
}

fn executed(
    plan: &Plan,
    manifest: &str,
    seed: u64,
    arguments: &Arguments,
    sums: &mut Sums,
) -> Result<(), Problem> {
    let folder = written(plan, manifest, arguments.keep.as_deref())?;
    let result = executed_in(folder.path(), plan, seed, arguments, sums);
    if arguments.keep.is_some() && matches!(result, Err(Problem::Found(_) | Problem::Late(_))) {
        eprintln!("seed {seed}: kept in {}", folder.keep().display());
    }
    result
}

/// As [`executed`], in a folder that has the manifest and the plan.
fn executed_in(
    folder: &Path,
    plan: &Plan,
    seed: u64,
    arguments: &Arguments,
    sums: &mut Sums,
) -> Result<(), Problem> {
    let failed = |error: std::io::Error| Problem::Skipped(error.to_string());
    let lock = folder.join("taut.lock");
    let out = folder.join("out");
    let config = Config {
        lock,
        out: Some(out.clone()),
        duration: Some(Duration::from_ms(arguments.length)),
        spawned_ns: None,
        record_limit: None,
        applications: None,
    };
    let shared: Shared = Arc::new(Mutex::new(Seen::of_plan(plan)));
    let ending = taut_run::run(&config, &mut Quiet, |app| {
        code::Code { plan, seed, shared: &shared, spins: true }.set_up(app, || code::line(seed))
    });
    match ending {
        Ok(ending) if ending.orderly => {}
        Ok(_) => return Err(Problem::Found("the run did not end in order".to_owned())),
        Err(error) => return Err(Problem::Found(error.to_string())),
    }
    let bytes = std::fs::read(out.join(RECORDING)).map_err(failed)?;
    let run = Run::from_bytes(&bytes).map_err(|error| Problem::Found(error.to_string()))?;
    if run.machine.contains("lost-priorities") {
        return Err(Problem::Skipped("no privilege for real-time priorities".to_owned()));
    }
    let report = Report::new(plan, &run);
    sums.jobs += report.tasks().iter().map(|task| task.completions).sum::<u64>();
    sums.values += report.channels().iter().map(|channel| channel.sent).sum::<u64>();
    match report.verdict() {
        RunVerdict::Kept => {}
        RunVerdict::KeptButMachine(late) => sums.excused += late,
        RunVerdict::Broken(breaches) => {
            let what = format!("broken: {breaches:?}");
            let open = breaches.iter().all(is_open);
            return Err(if open { Problem::Late(what) } else { Problem::Found(what) });
        }
    }
    let seen = shared.lock().unwrap_or_else(PoisonError::into_inner);
    counted(plan, &run, &seen, Some(&report)).map_err(Problem::Found)?;
    drop(seen);
    let code = code::Code { plan, seed, shared: &shared, spins: true };
    if !lost_values(&run) {
        sums.codes += replayed::replayed(plan, folder, &out, code).map_err(Problem::Found)?.jobs;
    }
    if let Some(taut) =
        arguments.taut.as_ref().filter(|_| plan.cores.iter().all(|core| core.dispatched.is_some()))
    {
        replayed(taut, &out).map_err(Problem::Found)?;
        sums.replayed += 1;
    }
    Ok(())
}

/// Whether one run cannot show what a breach is due to: a job or a value was late, or a core was late to wake. The code spins
/// for a third of a job's WCET: a job that used more than all of it was slowed down by the machine, which charges what it
/// takes to the job, or by the runtime, which does it again. Where a reader takes just as many values as are sent, one short
/// stall delays all that follow.
fn is_open(breach: &Breach) -> bool {
    let is_response = matches!(
        breach,
        Breach::Response { cause: Cause::Unknown | Cause::Release { .. } | Cause::Wcet { .. }, .. }
    );
    is_response || matches!(breach, Breach::Latency { .. } | Breach::Age { .. } | Breach::Reaction { .. })
}

fn replayed(taut: &Path, out: &Path) -> Result<(), String> {
    let output = Command::new(taut).arg("replay").arg(out).output().map_err(|error| error.to_string())?;
    match output.status.code() {
        Some(0) => Ok(()),
        code => Err(format!("replay ended with {code:?}: {}", String::from_utf8_lossy(&output.stdout))),
    }
}
