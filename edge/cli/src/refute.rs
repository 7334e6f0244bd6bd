// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut refute`: hunts for a run that exceeds a claimed bound.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration as Wall;

use taut_model::{ArrivalPattern, TaskSet};
use taut_sim::{Hunt, HuntProgress, Start, Witness};
use taut_time::Duration;

use crate::arguments::{Format, Refute, Screen};
use crate::attend::Attendant;
use crate::claims::{Analysis, claims};
use crate::columns::{columns, micros, share};
use crate::input::Files;
use crate::outcome::{Failure, Outcome};
use crate::say::{errln, out, outln};
use crate::trace::{self, Shown, Trace};

/// The default name of a trace.
const TRACE: &str = "refuted.perfetto-trace";

pub(crate) fn refute(arguments: &Refute, screen: &Screen) -> Result<Outcome, Failure> {
    let files = Files::find(&arguments.manifest)?;
    let text = files.load()?;
    let Some(model) = text.model() else {
        text.show(None, screen);
        return Ok(Outcome::Usage);
    };
    if arguments.duration.is_zero() {
        return Err(Failure::Usage("--for 0s: the search needs a duration above 0".into()));
    }
    arguments.trace.as_deref().map_or(Ok(()), trace::writable)?;
    let planned = text.plan(model)?;
    let plan = &planned.plan;
    let model = crate::task_set::in_mode(&planned, arguments.mode.as_deref())?;
    let set = crate::task_set::set(model)?;
    // An analysis makes its claims for jobs that arrive at any time, T or more apart; the plan's bounds are for
    // arrivals as planned.
    let set = match arguments.analysis {
        Analysis::Plan | Analysis::Deadlines => set,
        _ => at_any_time(&set)?,
    };
    let (claims, rules) = claims(arguments.analysis, &planned, &set)?;
    if claims.iter().all(Option::is_none) {
        return Err(no_claim(arguments.analysis));
    }
    let mut hunt = Hunt::new(&set, &rules, &claims, arguments.seed)
        .map_err(|fault| Failure::Usage(format!("this cannot be simulated: {fault}")))?;
    let (spent, interrupted) = search(&mut hunt, &set, arguments, screen)?;
    let progress = hunt.progress();
    let shown = match progress.witnesses.first() {
        Some(witness) => {
            let shown = Shown {
                plan,
                set: &set,
                rules: &rules,
                limits: &[],
                scenario: &witness.scenario,
                bounds: &claims,
                task: witness.task,
                job: witness.job,
                title: "refuted claim",
                most: arguments.trace_for,
            };
            Some((trace_path(arguments, &files), Trace::make(&shown)?))
        }
        None => None,
    };
    let reported = HuntReport { app: &plan.app, set: &set, arguments, progress, interrupted };
    reported.print(spent, shown.as_ref());
    if let Some((path, trace)) = &shown {
        write_trace(path, trace, arguments)?;
    }
    if let Some((end, _)) = &progress.stuck {
        return Err(Failure::Internal(format!("a simulated run ended with {end:?}")));
    }
    let answer = if progress.witnesses.is_empty() { Outcome::Yes } else { Outcome::No };
    Ok(trace::unless(interrupted, answer))
}

/// The failure of an analysis that claims no bound.
fn no_claim(analysis: Analysis) -> Failure {
    let (name, why) = match analysis {
        Analysis::Plan => ("the plan".to_owned(), "`taut check` says why; `--analysis` selects other claims"),
        other => (other.name(), "it proves no deadline; `--analysis` selects other claims"),
    };
    Failure::Usage(format!("{name} claims no bound here, so there is nothing to refute: {why}"))
}

/// Hunts until a run exceeds a claim, the time is over, or the user interrupts. Returns the time that it took, and
/// whether an interrupt ended it.
fn search(
    hunt: &mut Hunt,
    set: &TaskSet,
    arguments: &Refute,
    screen: &Screen,
) -> Result<(Wall, bool), Failure> {
    let limit = Wall::from_nanos(arguments.duration.as_ns());
    let mut attendant = Attendant::new(screen)?;
    let found = |hunt: &Hunt| !hunt.progress().witnesses.is_empty() || hunt.progress().stuck.is_some();
    while attendant.spent() < limit && !found(hunt) && !attendant.interrupted() {
        hunt.step();
        let spent = attendant.spent();
        attendant.report(|| progress(set, hunt.progress(), spent, limit));
    }
    let spent = attendant.spent();
    attendant.done();
    Ok((spent, attendant.interrupted() && !found(hunt) && spent < limit))
}

/// Writes the trace. If the user did not request a trace, a failure to write it is only a warning.
fn write_trace(path: &Path, trace: &Trace, arguments: &Refute) -> Result<(), Failure> {
    match trace::write(path, trace) {
        Err(failure) if arguments.trace.is_none() => {
            errln!("warning: {failure}; `--trace FILE` writes elsewhere");
            Ok(())
        }
        other => other,
    }
}

/// The path of the trace; by default in the folder that `taut run` writes to, which is created if possible.
fn trace_path(arguments: &Refute, files: &Files) -> PathBuf {
    arguments.trace.clone().unwrap_or_else(|| {
        let path = trace::default_path(&files.folder, TRACE);
        // If the folder cannot be created, writing into it reports why.
        let _ = path.parent().map(std::fs::create_dir_all);
        path
    })
}

fn at_any_time(set: &TaskSet) -> Result<TaskSet, Failure> {
    let mut tasks = set.tasks().to_vec();
    for task in &mut tasks {
        if !task.arrivals.is_sporadic() {
            task.arrivals = ArrivalPattern::Sporadic;
        }
    }
    TaskSet::new(set.cores().to_vec(), set.resources().to_vec(), tasks)
        .map_err(|_| Failure::Internal("the task set with sporadic arrivals is not valid".into()))
}

/// The task whose claim came nearest to being exceeded, and how near, in thousandths.
fn nearest(progress: &HuntProgress) -> Option<(usize, u64)> {
    let shares = progress.tasks.iter().enumerate().filter_map(|(at, best)| Some((at, best.permille()?)));
    shares.max_by_key(|(_, share)| *share)
}

fn progress(set: &TaskSet, progress: &HuntProgress, spent: Wall, limit: Wall) -> String {
    let near = nearest(progress).map_or_else(String::new, |(at, permille)| {
        format!(", nearest `{}` at {} of its claim", set.tasks()[at].name, share(Some(permille)))
    });
    format!("{} of {} s, {} runs{near}", spent.as_secs(), limit.as_secs(), progress.runs)
}

/// The result of a hunt, for display.
struct HuntReport<'a> {
    app: &'a str,
    set: &'a TaskSet,
    arguments: &'a Refute,
    progress: &'a HuntProgress,
    interrupted: bool,
}

impl HuntReport<'_> {
    /// Prints the answer; `shown` is the trace of the run that refutes, with its path.
    fn print(&self, spent: Wall, shown: Option<&(PathBuf, Trace)>) {
        match self.arguments.format {
            Format::Human => out!("{}", self.answer(spent, shown.map(|(_, trace)| trace))),
            Format::Json => outln!("{:#}", self.json(shown.map(|(path, trace)| trace.json(path)))),
        }
    }

    fn answer(&self, spent: Wall, trace: Option<&Trace>) -> String {
        let Self { app, set, arguments, progress, .. } = self;
        let mut text = String::new();
        let _ = writeln!(text, "{app}: {}", self.verdict());
        let whose = match arguments.analysis {
            Analysis::Plan => "the plan's bounds".to_owned(),
            Analysis::Deadlines => "all deadlines".to_owned(),
            other => format!("the bounds of {}", other.name()),
        };
        let (runs, seconds) = (progress.runs, spent.as_secs_f64());
        let _ = writeln!(text, "tested: {whose}, {runs} runs in {seconds:.1} s, seed {}", arguments.seed);
        let row = |(task, best): (&taut_model::SetTask, &taut_sim::Best)| {
            [task.name.clone(), micros(Some(best.reached)), micros(best.claimed), share(best.permille())]
        };
        let rows: Vec<_> = set.tasks().iter().zip(&progress.tasks).map(row).collect();
        text += &columns(["task", "reached", "claimed", "of claim"], &rows);
        text += "times in µs from arrival; reached: the longest of all runs\n";
        if let Some(witness) = progress.witnesses.first() {
            text += &refuting(set, witness);
            text += match arguments.analysis {
                Analysis::MpcpLnr09Paper => {
                    "this published analysis is unsound, and no proof of taut uses it; `taut check` uses \
                     `mpcp-lnr09-sound`\n"
                }
                Analysis::Deadlines => "",
                _ => "this bound should hold: please report it, with the manifest and the seed\n",
            };
        }
        if let Some(trace) = trace {
            let _ = writeln!(text, "trace: {}", trace.extent());
        }
        text
    }

    fn verdict(&self) -> String {
        match self.progress.witnesses.first() {
            None if self.interrupted => {
                "interrupted, and no run exceeds a claim so far; that is no proof".to_owned()
            }
            None => "no run exceeds a claim; that is no proof".to_owned(),
            Some(witness) => {
                let claimed = match self.arguments.analysis {
                    Analysis::Deadlines => format!("its deadline is {}", witness.claimed),
                    _ => format!("at most {} were claimed", witness.claimed),
                };
                let (task, job) = (&self.set.tasks()[witness.task].name, witness.job);
                format!("REFUTED: job {job} of `{task}` takes {}, {claimed}", witness.reached)
            }
        }
    }

    fn json(&self, trace: Option<serde_json::Value>) -> serde_json::Value {
        let Self { app, set, arguments, progress, interrupted } = self;
        let task = |(task, best): (&taut_model::SetTask, &taut_sim::Best)| {
            serde_json::json!({
                "name": task.name,
                "reached_ns": best.reached.as_ns(),
                "claimed_ns": best.claimed.map(Duration::as_ns),
            })
        };
        let witness = |witness: &Witness| {
            let times = arrivals(set, witness).into_iter().map(|(name, times)| {
                let times: Vec<u64> = times.into_iter().map(Duration::as_ns).collect();
                serde_json::json!({ "task": name, "arrivals_ns": times })
            });
            serde_json::json!({
                "task": set.tasks()[witness.task].name,
                "job": witness.job,
                "reached_ns": witness.reached.as_ns(),
                "claimed_ns": witness.claimed.as_ns(),
                "arrivals": times.collect::<Vec<_>>(),
            })
        };
        serde_json::json!({
            "schema_version": 1,
            "app": app,
            "analysis": arguments.analysis.name(),
            "seed": arguments.seed,
            "interrupted": interrupted,
            "runs": progress.runs,
            "events": progress.events,
            "tasks": set.tasks().iter().zip(&progress.tasks).map(task).collect::<Vec<_>>(),
            "witnesses": progress.witnesses.iter().map(witness).collect::<Vec<_>>(),
            "trace": trace,
        })
    }
}

/// When jobs arrive in the run that refutes, a line per task.
fn refuting(set: &TaskSet, witness: &Witness) -> String {
    let mut text =
        "the refuting run, reduced as far as it still exceeds the claim; arrivals of its jobs:\n".to_owned();
    let times = |times: &[Duration]| {
        let shown: Vec<String> = times.iter().take(12).map(Duration::to_string).collect();
        let more = match times.len().saturating_sub(12) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        format!("{}{more}", shown.join(", "))
    };
    let arrivals = arrivals(set, witness);
    let width = arrivals.iter().map(|(task, _)| task.chars().count()).max().unwrap_or(0);
    for (task, of) in &arrivals {
        let _ = writeln!(text, "  {task:<width$}  {}", times(of));
    }
    text
}

/// The arrivals of each task's jobs in a witness; where the witness does not give them, the first one.
fn arrivals<'s>(set: &'s TaskSet, witness: &Witness) -> Vec<(&'s str, Vec<Duration>)> {
    let scenario = &witness.scenario;
    let of = |(at, task): (usize, &'s taut_model::SetTask)| {
        let exactly = scenario.exactly.iter().find(|(task, _)| *task == at).map(|(_, times)| times.clone());
        let times = exactly.unwrap_or_else(|| match &scenario.start {
            Start::At(starts) => vec![starts.get(at).copied().unwrap_or_default()],
            _ => Vec::new(),
        });
        (task.name.as_str(), times)
    };
    set.tasks().iter().enumerate().map(of).collect()
}
