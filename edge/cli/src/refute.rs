// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut refute`: hunts for a run that exceeds a claimed bound.

use std::io::{IsTerminal, Write};
use std::time::{Duration as Wall, Instant as WallInstant};

use taut_analysis::multi::{
    Bounds, Status, fmlp_plus, mpcp_lnr09_paper, mpcp_lnr09_sound, msrp_gai01, msrp_holistic,
};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{Arrivals, Model, TaskSet};
use taut_plan::{ClassPlan, Plan};
use taut_sim::{GlobalRule, Hunt, Progress, Rules, Start, Witness};
use taut_time::Duration;

use crate::arguments::{Analysis, Format, Refute, Screen};
use crate::input::Files;
use crate::outcome::{Failure, Outcome};
use crate::sim::rules;

pub(crate) fn refute(arguments: &Refute, screen: &Screen) -> Result<Outcome, Failure> {
    let text = Files::find(&arguments.manifest)?.load()?;
    let Some(model) = text.model() else {
        text.show(None, screen);
        return Ok(Outcome::Usage);
    };
    let plan = text.plan(model).plan;
    let set = crate::sim::set(model)?;
    // What an analysis claims, it claims of jobs that come at any time, T or more apart; the plan's come as planned.
    let set = match arguments.analysis {
        Analysis::Plan | Analysis::Deadlines => set,
        _ => at_any_time(&set)?,
    };
    let (claims, rules) = claims(arguments.analysis, model, &plan, &set)?;
    if claims.iter().all(Option::is_none) {
        return Err(Failure::Usage(format!(
            "{} claims no bound here: there is nothing to refute",
            arguments.analysis.name()
        )));
    }
    let mut hunt = Hunt::new(&set, &rules, &claims, arguments.seed)
        .map_err(|fault| Failure::Usage(format!("this cannot be simulated: {fault}")))?;
    let limit = Wall::from_nanos(arguments.duration.as_ns());
    let begun = WallInstant::now();
    let mut told = begun;
    let terminal = std::io::stderr().is_terminal();
    while begun.elapsed() < limit && hunt.progress().witnesses.is_empty() && hunt.progress().stuck.is_none() {
        hunt.step();
        if terminal && told.elapsed() > Wall::from_millis(200) {
            told = WallInstant::now();
            eprint!("\r{}", progress(&set, hunt.progress(), begun.elapsed(), limit));
            let _ = std::io::stderr().flush();
        }
    }
    if told != begun {
        eprintln!();
    }
    let progress = hunt.progress();
    match arguments.format {
        Format::Human => print!("{}", answer(&set, arguments, progress, begun.elapsed())),
        Format::Json => println!("{:#}", json(&set, arguments, progress)),
    }
    if let Some((end, _)) = &progress.stuck {
        return Err(Failure::Internal(format!("a simulated run ended with {end:?}")));
    }
    Ok(if progress.witnesses.is_empty() { Outcome::Yes } else { Outcome::No })
}

fn at_any_time(set: &TaskSet) -> Result<TaskSet, Failure> {
    let mut tasks = set.tasks().to_vec();
    for task in &mut tasks {
        if task.arrivals != Arrivals::Sporadic {
            task.arrivals = Arrivals::Sporadic;
        }
    }
    TaskSet::new(set.cores().to_vec(), set.resources().to_vec(), tasks)
        .map_err(|_| Failure::Internal("a set whose jobs come at any time is none".into()))
}

/// What is claimed of each task, and the rules under which it is.
fn claims(
    analysis: Analysis,
    model: &Model,
    plan: &Plan,
    set: &TaskSet,
) -> Result<(Vec<Option<Duration>>, Rules), Failure> {
    let bounds = |found: Result<Verdict<Bounds>, Overflow>| {
        let found = found.map_err(|overflow| Failure::Usage(overflow.to_string()))?;
        let all = match found {
            Verdict::Schedulable(bounds)
            | Verdict::NotShown(Why::Passes(bounds))
            | Verdict::Unschedulable(bounds) => bounds.tasks,
            Verdict::NotApplicable(assumption) => {
                return Err(Failure::Usage(format!("{} does not apply: {assumption}", analysis.name())));
            }
            Verdict::NotShown(_) => Vec::new(),
        };
        Ok(all.iter().map(|task| (task.status == Status::Proven).then_some(task.from_arrival)).collect())
    };
    let found = match analysis {
        Analysis::Plan => {
            let response = |task: &taut_model::SetTask| {
                let at = plan.task(&task.name)?;
                match &plan.tasks[at].class {
                    ClassPlan::RealTime { response, .. } => *response,
                    ClassPlan::BestEffort {} => None,
                }
            };
            return Ok((set.tasks().iter().map(response).collect(), rules(plan, set)));
        }
        Analysis::Deadlines => {
            let deadlines = model.real_time().map(|(.., task)| Some(task.deadline)).collect();
            return Ok((deadlines, rules(plan, set)));
        }
        Analysis::MsrpGai01 => bounds(msrp_gai01::response_times(set))?,
        Analysis::MsrpHolistic => bounds(msrp_holistic::response_times(set))?,
        Analysis::MpcpLnr09Sound => bounds(mpcp_lnr09_sound::response_times(set))?,
        Analysis::FmlpPlus => bounds(fmlp_plus::response_times(set))?,
        Analysis::MpcpLnr09Paper => {
            match mpcp_lnr09_paper::claims(set).map_err(|overflow| Failure::Usage(overflow.to_string()))? {
                mpcp_lnr09_paper::Claims::Unsound(claims) => {
                    claims.iter().map(|claim| claim.claimed_to_fit.then_some(claim.claimed)).collect()
                }
                mpcp_lnr09_paper::Claims::NotApplicable(assumption) => {
                    return Err(Failure::Usage(format!("{} does not apply: {assumption}", analysis.name())));
                }
                mpcp_lnr09_paper::Claims::Steps(_) => Vec::new(),
            }
        }
    };
    let global = match analysis {
        Analysis::MpcpLnr09Paper | Analysis::MpcpLnr09Sound => GlobalRule::Mpcp,
        Analysis::FmlpPlus => GlobalRule::FmlpLong,
        _ => GlobalRule::Msrp,
    };
    Ok((found, Rules::of(set, global)))
}

/// The task whose claim is nearest to being exceeded, and how near.
fn nearest(progress: &Progress) -> Option<(usize, u64)> {
    let shares = progress.tasks.iter().enumerate().filter_map(|(at, best)| Some((at, best.permille()?)));
    shares.max_by_key(|(_, share)| *share)
}

fn percent(permille: u64) -> String {
    format!("{}.{} %", permille / 10, permille % 10)
}

fn progress(set: &TaskSet, progress: &Progress, spent: Wall, limit: Wall) -> String {
    let near = nearest(progress).map_or_else(String::new, |(at, share)| {
        format!(", nearest `{}` at {} of its bound", set.tasks()[at].name, percent(share))
    });
    format!("{} of {} s, {} runs{near}   ", spent.as_secs(), limit.as_secs(), progress.runs)
}

fn answer(set: &TaskSet, arguments: &Refute, progress: &Progress, spent: Wall) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let mut line = |arguments: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{arguments}");
    };
    let (runs, seconds) = (progress.runs, spent.as_secs_f64());
    line(format_args!(
        "{}: {runs} runs in {seconds:.1} s, seed {}",
        arguments.analysis.name(),
        arguments.seed
    ));
    line(format_args!("  {:<16} {:>12} {:>12} {:>10}", "task", "reached", "claimed", "share"));
    for (task, best) in set.tasks().iter().zip(&progress.tasks) {
        let claimed = best.claimed.map_or_else(|| "-".to_owned(), |claimed| claimed.to_string());
        let share = best.permille().map_or_else(|| "-".to_owned(), percent);
        line(format_args!("  {:<16} {:>12} {claimed:>12} {share:>10}", task.name, best.reached.to_string()));
    }
    match progress.witnesses.first() {
        None => line(format_args!("no run exceeds a claim; that is no proof")),
        Some(witness) => {
            let name = &set.tasks()[witness.task].name;
            line(format_args!(
                "REFUTED: job {} of `{name}` takes {}, at most {} were claimed",
                witness.job, witness.reached, witness.claimed
            ));
            line(format_args!("arrivals of that run, from its start:"));
            for (task, times) in arrivals(set, witness) {
                let shown: Vec<String> = times.iter().take(12).map(Duration::to_string).collect();
                let more =
                    if times.len() > 12 { format!(", and {} more", times.len() - 12) } else { String::new() };
                line(format_args!("  {task:<16} {}{more}", shown.join(", ")));
            }
        }
    }
    text
}

/// When the jobs of each task arrive in a witness; where it is not said, the first one.
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

fn json(set: &TaskSet, arguments: &Refute, progress: &Progress) -> serde_json::Value {
    let task = |(task, best): (&taut_model::SetTask, &taut_sim::Best)| {
        serde_json::json!({
            "name": task.name,
            "reached_ns": best.reached.as_ns(),
            "claimed_ns": best.claimed.map(Duration::as_ns),
        })
    };
    let witness = |witness: &Witness| {
        let times = arrivals(set, witness);
        let times = times.into_iter().map(|(name, times)| {
            serde_json::json!({ "task": name, "arrivals_ns": times.into_iter().map(Duration::as_ns).collect::<Vec<_>>() })
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
        "analysis": arguments.analysis.name(),
        "seed": arguments.seed,
        "runs": progress.runs,
        "events": progress.events,
        "tasks": set.tasks().iter().zip(&progress.tasks).map(task).collect::<Vec<_>>(),
        "witnesses": progress.witnesses.iter().map(witness).collect::<Vec<_>>(),
    })
}
