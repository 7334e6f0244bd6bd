// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random sets, analysed by everything that is sound for them, and run: no run may pass a bound, and none may miss a
//! deadline in a set that was accepted. What a run shows is a lower bound, so this can refute and not prove.

use std::collections::BTreeMap;
use std::time::{Duration as Wall, Instant};

use taut_analysis::multi::{
    Bounds, Status, edf_msrp, fmlp_plus, fmlp07, mpcp_lnr09_sound, msrp_gai01, msrp_holistic,
};
use taut_analysis::uni::edf::{demand, dfp, srp};
use taut_analysis::uni::fp::{local_locks, sweep};
use taut_analysis::{Overflow, Verdict, Why};
use taut_model::{Scheduler, TaskSet};
use taut_sim::{
    CoreRule, End, Execution, Gaps, GlobalRule, Jitter, Outcome, Placement, Rules, Scenario, Simulation,
    Start,
};
use taut_time::Duration;

use crate::draw::{self, Draw, Shares};

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings<'a> {
    /// How many sets.
    pub(crate) sets: u64,
    /// Of the first set; each next one has the next.
    pub(crate) seed: u64,
    /// When to stop, wherever it is.
    pub(crate) limit: Option<Wall>,
    /// An analysis that is weakened: it forgets that less urgent tasks are in the way.
    pub(crate) canary: Option<&'a str>,
}

/// What an analysis says of a set.
struct Claim {
    name: &'static str,
    /// Of each task, if it is proven.
    bounds: Vec<Option<Duration>>,
    /// Whether all deadlines are kept.
    accepted: bool,
}

/// How a set is run, and what is claimed of these runs.
struct Protocol {
    rules: Rules,
    claims: Vec<Claim>,
}

/// The names of all analyses that can be weakened.
pub(crate) const CANARIES: [&str; 9] = [
    "uni::fp::local_locks",
    "multi::msrp_gai01",
    "multi::msrp_holistic",
    "multi::mpcp_lnr09_sound",
    "multi::fmlp_plus",
    "multi::fmlp07",
    "uni::edf::srp",
    "uni::edf::dfp",
    "multi::edf_msrp",
];

/// What came of an analysis over all sets.
#[derive(Debug, Default)]
struct Row {
    sets: u64,
    accepted: u64,
    runs: u64,
    values: u64,
    /// Bounds that a run reached to the nanosecond.
    attained: u64,
    exceeded: u64,
}

/// Failures that are told; the others are counted.
const TOLD: usize = 20;
/// Random runs of a set under one protocol, besides four that are not.
const RANDOM_RUNS: u64 = 4;

/// Runs it and prints what came of it; whether nothing was exceeded or, with a canary, something was.
pub(crate) fn run(settings: &Settings<'_>) -> Result<bool, String> {
    let begin = Instant::now();
    let mut rows: BTreeMap<&'static str, Row> = BTreeMap::new();
    let mut told = Vec::new();
    let (mut failures, mut events, mut sets) = (0_usize, 0_u64, 0_u64);
    for seed in (0..settings.sets).map(|at| settings.seed.wrapping_add(at)) {
        if settings.limit.is_some_and(|limit| begin.elapsed() >= limit) {
            break;
        }
        sets += 1;
        let failed = one(seed, settings.canary, &mut rows, &mut events)
            .map_err(|why| format!("seed {seed}: {why}"))?;
        failures += failed.len();
        told.extend(failed.into_iter().take(TOLD.saturating_sub(told.len())));
    }
    println!(
        "{:<24} {:>8} {:>9} {:>9} {:>10} {:>9} {:>9}",
        "analysis", "sets", "accepted", "runs", "responses", "attained", "exceeded"
    );
    for (name, row) in &rows {
        println!(
            "{name:<24} {:>8} {:>9} {:>9} {:>10} {:>9} {:>9}",
            row.sets, row.accepted, row.runs, row.values, row.attained, row.exceeded
        );
    }
    for line in &told {
        println!("{line}");
    }
    println!(
        "{sets} sets from seed {}, {events} events, {:.1} s: {failures} times a run did what was ruled out",
        settings.seed,
        begin.elapsed().as_secs_f64()
    );
    Ok(match settings.canary {
        None => failures == 0,
        Some(name) => {
            println!(
                "{name}, weakened on purpose, was {}",
                if failures > 0 { "caught" } else { "NOT caught" }
            );
            failures > 0
        }
    })
}

/// One set: what it failed in, in words.
fn one(
    seed: u64,
    canary: Option<&str>,
    rows: &mut BTreeMap<&'static str, Row>,
    events: &mut u64,
) -> Result<Vec<String>, String> {
    let mut draw = Draw::new(seed);
    let wish = draw::wish(&mut draw);
    let (mut tasks, resources) = draw::tasks(&mut draw, &wish);
    let fixed = draw::set(wish.cores, Scheduler::FixedPriority, &tasks, resources)?;
    let mut protocols = fixed_priority(&fixed, wish.shares, canary)?;
    let mut failed = Vec::new();
    for protocol in &protocols {
        runs(&fixed, protocol, seed, rows, events, &mut failed)?;
    }
    // With resources, the tests of EDF know no jitter.
    if wish.shares != Shares::Nothing {
        tasks.iter_mut().for_each(|task| task.jitter = Duration::ZERO);
    }
    let edf = draw::set(wish.cores, Scheduler::Edf, &tasks, resources)?;
    protocols = earliest_deadline(&edf, wish.shares, canary)?;
    for protocol in &protocols {
        runs(&edf, protocol, seed, rows, events, &mut failed)?;
    }
    Ok(failed)
}

fn fixed_priority(set: &TaskSet, shares: Shares, canary: Option<&str>) -> Result<Vec<Protocol>, String> {
    let rules = |core, global| Rules::all(set, core, global);
    let weak = |name: &str| canary == Some(name);
    if shares != Shares::Global {
        let mut claims = vec![locks(set, weak("uni::fp::local_locks"))?];
        if shares == Shares::Nothing {
            claims.extend(swept(set)?);
        }
        let mut all = vec![Protocol { rules: rules(CoreRule::Immediate, GlobalRule::Msrp), claims }];
        if shares == Shares::Local {
            let claims = vec![locks(set, weak("uni::fp::local_locks"))?];
            all.push(Protocol { rules: rules(CoreRule::Original, GlobalRule::Msrp), claims });
        }
        return Ok(all);
    }
    let claim = |name, found| of_bounds(set, name, found, weak(name));
    let mpcp = || claim("multi::mpcp_lnr09_sound", mpcp_lnr09_sound::response_times(set));
    let fmlp = || claim("multi::fmlp_plus", fmlp_plus::response_times(set));
    let short = fmlp07::response_times(set, |_| fmlp07::Kind::Short);
    let long = fmlp07::response_times(set, |_| fmlp07::Kind::Long);
    Ok(vec![
        Protocol {
            rules: rules(CoreRule::Immediate, GlobalRule::Msrp),
            claims: vec![
                claim("multi::msrp_gai01", msrp_gai01::response_times(set))?,
                claim("multi::msrp_holistic", msrp_holistic::response_times(set))?,
                claim("multi::fmlp07", short)?,
            ],
        },
        Protocol { rules: rules(CoreRule::Immediate, GlobalRule::Mpcp), claims: vec![mpcp()?] },
        Protocol { rules: rules(CoreRule::Original, GlobalRule::Mpcp), claims: vec![mpcp()?] },
        Protocol {
            rules: rules(CoreRule::Immediate, GlobalRule::FmlpLong),
            claims: vec![fmlp()?, claim("multi::fmlp07", long)?],
        },
        Protocol { rules: rules(CoreRule::Original, GlobalRule::FmlpLong), claims: vec![fmlp()?] },
    ])
}

fn earliest_deadline(set: &TaskSet, shares: Shares, canary: Option<&str>) -> Result<Vec<Protocol>, String> {
    let rules = |core| Rules::all(set, core, GlobalRule::Msrp);
    // Who forgets what is in the way asks for the demand alone.
    let verdict = |name: &'static str, core: CoreTest| {
        let core = if canary == Some(name) { demand::core } else { core };
        let mut accepted = true;
        for at in 0..set.cores().len() {
            accepted &= judged(core(set, at))?.holds();
        }
        Ok::<_, String>(Claim { name, bounds: Vec::new(), accepted })
    };
    let floor = CoreRule::Dfp { jitter: None };
    Ok(match shares {
        Shares::Nothing => vec![Protocol {
            rules: rules(CoreRule::Srp),
            claims: vec![verdict("uni::edf::demand", demand::core)?],
        }],
        Shares::Local => vec![
            Protocol { rules: rules(CoreRule::Srp), claims: vec![verdict("uni::edf::srp", srp::core)?] },
            Protocol { rules: rules(floor), claims: vec![verdict("uni::edf::dfp", dfp::core)?] },
        ],
        Shares::Global => {
            let name = "multi::edf_msrp";
            let claim = if canary == Some(name) {
                verdict(name, demand::core)?
            } else {
                Claim { name, bounds: Vec::new(), accepted: judged(edf_msrp::cores(set))?.holds() }
            };
            vec![Protocol { rules: rules(CoreRule::Srp), claims: vec![claim] }]
        }
    })
}

type CoreTest = fn(&TaskSet, usize) -> Result<Verdict<demand::Demand>, Overflow>;

/// A verdict about a set that the generator made for this analysis: it applies.
fn judged<B>(found: Result<Verdict<B>, Overflow>) -> Result<Verdict<B>, String> {
    match found.map_err(|overflow| overflow.to_string())? {
        Verdict::NotApplicable(why) => Err(format!("an analysis does not apply: {why}")),
        verdict => Ok(verdict),
    }
}

fn of_bounds(
    set: &TaskSet,
    name: &'static str,
    found: Result<Verdict<Bounds>, Overflow>,
    weak: bool,
) -> Result<Claim, String> {
    let found = judged(found)?;
    let accepted = found.holds();
    let bounds = match found {
        Verdict::Schedulable(bounds)
        | Verdict::NotShown(Why::Passes(bounds))
        | Verdict::Unschedulable(bounds) => bounds.tasks,
        _ => return Ok(Claim { name, bounds: vec![None; set.tasks().len()], accepted: false }),
    };
    let of_task = |task: &taut_analysis::multi::TaskBound| {
        let forgotten = if weak { task.terms.local_blocking } else { Duration::ZERO };
        (task.status == Status::Proven).then(|| task.from_arrival.saturating_sub(forgotten))
    };
    Ok(Claim { name, bounds: bounds.iter().map(of_task).collect(), accepted })
}

fn locks(set: &TaskSet, weak: bool) -> Result<Claim, String> {
    let mut bounds = vec![None; set.tasks().len()];
    for core in 0..set.cores().len() {
        for found in local_locks::responses(set, core).map_err(|overflow| overflow.to_string())? {
            let forgotten = if weak { found.blocking.time } else { Duration::ZERO };
            let bound = judged(Ok(found.verdict))?.bound().map(|r| r.from_arrival);
            bounds[found.task] = bound.map(|bound| bound.saturating_sub(forgotten));
        }
    }
    let accepted = bounds.iter().all(Option::is_some);
    Ok(Claim { name: "uni::fp::local_locks", bounds, accepted })
}

/// The fast form for whole cores; none if two tasks are as urgent, which it does not know.
fn swept(set: &TaskSet) -> Result<Option<Claim>, String> {
    let mut bounds = vec![None; set.tasks().len()];
    let mut levels = Vec::new();
    for core in 0..set.cores().len() {
        let mut order: Vec<usize> = set.on_core(core).collect();
        order.sort_by_key(|&at| u32::MAX - set.tasks()[at].priority);
        if order.windows(2).any(|pair| set.tasks()[pair[0]].priority == set.tasks()[pair[1]].priority) {
            return Ok(None);
        }
        let task = |&at: &usize| {
            let task = &set.tasks()[at];
            sweep::Task {
                cost: set.cost(at),
                period: task.period,
                deadline: task.deadline,
                jitter: task.jitter,
                blocking: Duration::ZERO,
            }
        };
        let tasks: Vec<_> = order.iter().map(task).collect();
        let shown = match judged(sweep::responses(&tasks, &mut levels))? {
            Verdict::Schedulable(_) => tasks.len(),
            Verdict::NotShown(Why::Passes(at)) | Verdict::Unschedulable(at) => at,
            _ => 0,
        };
        for (&at, level) in order.iter().zip(&levels).take(shown) {
            bounds[at] = Some(level.response);
        }
    }
    let accepted = bounds.iter().all(Option::is_some);
    Ok(Some(Claim { name: "uni::fp::sweep", bounds, accepted }))
}

/// Everything that can be decided before a run, in ways that are hard on different tasks.
fn scenarios(set: &TaskSet, seed: u64) -> Vec<Scenario> {
    let longest = set.tasks().iter().map(|task| task.period).max().unwrap_or(Duration::from_us(1));
    let horizon = longest.checked_mul(3).unwrap_or(longest);
    let worst = Scenario::worst(horizon);
    let placed = |placement| Scenario { placement, ..worst.clone() };
    let mut all = vec![
        worst.clone(),
        placed(Placement::Back),
        placed(Placement::Even),
        Scenario { start: Start::Synchronous, jitter: Jitter::Full, ..worst.clone() },
    ];
    let random = Scenario::random(horizon, seed);
    for at in 0..RANDOM_RUNS {
        let full = at % 2 == 0;
        all.push(Scenario {
            seed: seed.wrapping_mul(31).wrapping_add(at),
            // As much and as often as may be, or all at random.
            execution: if full { Execution::Full } else { random.execution },
            gaps: if full { Gaps::Least } else { random.gaps },
            ..random.clone()
        });
    }
    all
}

fn runs(
    set: &TaskSet,
    protocol: &Protocol,
    seed: u64,
    rows: &mut BTreeMap<&'static str, Row>,
    events: &mut u64,
    failed: &mut Vec<String>,
) -> Result<(), String> {
    for claim in &protocol.claims {
        let row = rows.entry(claim.name).or_default();
        row.sets += 1;
        row.accepted += u64::from(claim.accepted);
    }
    // Nothing is claimed, so no run can contradict it.
    if protocol.claims.iter().all(|claim| !claim.accepted && claim.bounds.iter().all(Option::is_none)) {
        return Ok(());
    }
    let mut simulation = Simulation::new(set, &protocol.rules).map_err(|fault| fault.to_string())?;
    let mut longest = vec![Duration::ZERO; set.tasks().len()];
    let scenarios = scenarios(set, seed);
    for (number, scenario) in scenarios.iter().enumerate() {
        let outcome = simulation.run(scenario, &mut ()).map_err(|fault| fault.to_string())?;
        *events += outcome.events;
        if outcome.end != End::Complete {
            failed.push(format!(
                "seed {seed}: run {number} under {:?} ended as {:?}",
                protocol.rules, outcome.end
            ));
            continue;
        }
        for (longest, task) in longest.iter_mut().zip(&outcome.tasks) {
            *longest = (*longest).max(task.response_max);
        }
        for claim in &protocol.claims {
            let row = rows.entry(claim.name).or_default();
            row.runs += 1;
            let before = failed.len();
            compare(claim, outcome, &mut |what| {
                failed.push(format!(
                    "seed {seed}: {}: run {number} under {:?}: {what}",
                    claim.name,
                    rule(protocol)
                ));
            });
            row.exceeded += (failed.len() - before) as u64;
            row.values += claim.bounds.iter().flatten().count() as u64;
        }
    }
    for claim in &protocol.claims {
        let attained =
            claim.bounds.iter().zip(&longest).filter(|(bound, reached)| **bound == Some(**reached));
        rows.entry(claim.name).or_default().attained += attained.count() as u64;
    }
    Ok(())
}

fn rule(protocol: &Protocol) -> (Option<&CoreRule>, Option<&GlobalRule>) {
    (protocol.rules.cores.first(), protocol.rules.resources.first())
}

fn compare(claim: &Claim, outcome: &Outcome, tell: &mut impl FnMut(String)) {
    if claim.accepted && outcome.missed() {
        tell("a deadline was missed, and the set was accepted".into());
    }
    for (at, (task, bound)) in outcome.tasks.iter().zip(&claim.bounds).enumerate() {
        let reached = task.response_max;
        if let Some(bound) = bound.filter(|bound| reached > *bound) {
            tell(format!("task {at} took {} ns, and the bound is {} ns", reached.as_ns(), bound.as_ns()));
        }
    }
}
