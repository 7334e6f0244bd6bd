// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures how long analyses and runs take on one core; prints JSON.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use serde_json::json;
#[cfg(feature = "linear-programming")]
use taut_analysis::multi::mpcp_linear;
use taut_analysis::multi::{fmlp_plus, mpcp_lnr09_sound, msrp_gai01, msrp_holistic, msrp_joint};
use taut_analysis::uni::fp::sweep;
use taut_model::{SchedulingPolicy, SetTask, TaskSet};
use taut_sim::{GlobalRule, Rules, Scenario, Simulation};
use taut_time::Duration;

use crate::draw::{self, Draw, Requirements, Shares};

/// How often each measurement is repeated.
const ROUNDS: usize = 15;
/// The number of small sets in a round, and how often each is analysed in it.
const SMALL: u64 = 1000;
const TIMES: usize = 50;
/// The number of large sets, and how often each is analysed. The median counts, because another program may delay one
/// analysis.
const LARGE: u64 = 100;
const ASKED: usize = 9;
/// The sets whose runs are compared with other tools' runs, and the simulated time of each run.
const SETS: u64 = 20;
const HORIZON_MS: u64 = 1000;

const SIX: Requirements = Requirements {
    cores: 1,
    tasks: 6,
    tasks_least: 6,
    octaves: 7,
    load: (60, 90),
    shares: Shares::Nothing,
    global: 0,
    local: (0, 0),
    uses: 0,
    placed: false,
    phased: false,
};

const EIGHTY: Requirements = Requirements {
    cores: 4,
    tasks: 20,
    tasks_least: 20,
    octaves: 7,
    load: (10, 40),
    shares: Shares::Global,
    global: 30,
    local: (0, 0),
    uses: 10,
    placed: false,
    phased: false,
};

/// Takes and prints all measurements.
pub(crate) fn run(sets_to: Option<&Path>) -> Result<(), String> {
    let sets = (0..SETS).map(|seed| made(&SIX, seed)).collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = sets_to {
        std::fs::write(path, lines(&sets)?).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let large = (0..LARGE).map(|seed| made(&EIGHTY, seed)).collect::<Result<Vec<_>, _>>()?;
    let (event_ns, run_ms) = simulated(&sets)?;
    #[cfg_attr(not(feature = "linear-programming"), expect(unused_mut))]
    let mut figures = json!({
        "sweep_ns": swept()?,
        "msrp_gai01_ms": asked(&large, |set| msrp_gai01::response_times(set).is_ok_and(|v| v.holds())),
        "msrp_holistic_ms": asked(&large, |set| msrp_holistic::response_times(set).is_ok_and(|v| v.holds())),
        "msrp_joint_ms": asked(&large, |set| msrp_joint::response_times(set).is_ok_and(|v| v.holds())),
        "mpcp_lnr09_sound_ms": asked(&large, |set| mpcp_lnr09_sound::response_times(set).is_ok_and(|v| v.holds())),
        "fmlp_plus_ms": asked(&large, |set| fmlp_plus::response_times(set).is_ok_and(|v| v.holds())),
        "accepted": large.iter().filter(|set| msrp_holistic::response_times(set).is_ok_and(|v| v.holds())).count(),
        "event_ns": event_ns,
        "run_ms": run_ms,
    });
    #[cfg(feature = "linear-programming")]
    {
        let holds = |set: &TaskSet| mpcp_linear::response_times(set).is_ok_and(|v| v.holds());
        figures["mpcp_linear_ms"] = json!(asked(&large, holds));
    }
    println!("{figures}");
    Ok(())
}

fn made(requirements: &Requirements, seed: u64) -> Result<TaskSet, String> {
    let (tasks, resources) = draw::tasks(&mut Draw::new(seed), requirements);
    draw::set(requirements.cores, SchedulingPolicy::FixedPriority, &tasks, resources)
}

/// The sets as other tools read them: times in whole microseconds, the most urgent task first, and the time to run.
fn lines(sets: &[TaskSet]) -> Result<String, String> {
    let us = |time: Duration| time.as_ns() / 1000;
    let mut text = String::new();
    for set in sets {
        let mut order: Vec<usize> = (0..set.tasks().len()).collect();
        order.sort_by_key(|&at| u32::MAX - set.tasks()[at].priority);
        let task = |&at: &usize| {
            let task = &set.tasks()[at];
            json!({ "C": us(set.cost(at)), "T": us(task.period), "D": us(task.deadline) })
        };
        let tasks: Vec<_> = order.iter().map(task).collect();
        writeln!(text, "{}", json!({ "ms": HORIZON_MS, "tasks": tasks }))
            .map_err(|error| error.to_string())?;
    }
    Ok(text)
}

/// Nanoseconds per analysis of six tasks.
fn swept() -> Result<Vec<f64>, String> {
    let task = |set: &TaskSet, at: usize, task: &SetTask| sweep::SweepTask {
        cost: set.cost(at),
        period: task.period,
        deadline: task.deadline,
        jitter: task.jitter,
        blocking: Duration::ZERO,
    };
    let mut sets = Vec::new();
    for seed in 0..SMALL {
        let set = made(&SIX, seed)?;
        let mut order: Vec<usize> = (0..set.tasks().len()).collect();
        order.sort_by_key(|&at| u32::MAX - set.tasks()[at].priority);
        sets.push(order.iter().map(|&at| task(&set, at, &set.tasks()[at])).collect::<Vec<_>>());
    }
    let mut levels = Vec::new();
    let round = || {
        let begin = Instant::now();
        for _ in 0..TIMES {
            for set in &sets {
                let _ = black_box(sweep::responses(black_box(set), &mut levels));
            }
        }
        begin.elapsed().as_nanos() as f64 / (TIMES as f64 * SMALL as f64)
    };
    Ok(std::iter::repeat_with(round).take(ROUNDS).collect())
}

/// Milliseconds per analysis: the median of each set.
fn asked(sets: &[TaskSet], ask: impl Fn(&TaskSet) -> bool) -> Vec<f64> {
    let once = |set: &TaskSet| {
        let begin = Instant::now();
        black_box(ask(black_box(set)));
        begin.elapsed().as_secs_f64() * 1e3
    };
    let of_set = |set: &TaskSet| {
        let mut samples: Vec<f64> = (0..ASKED).map(|_| once(set)).collect();
        samples.sort_by(f64::total_cmp);
        samples[ASKED / 2]
    };
    sets.iter().map(of_set).collect()
}

/// Nanoseconds per event, and milliseconds for one run of every set, set-up included.
fn simulated(sets: &[TaskSet]) -> Result<(Vec<f64>, Vec<f64>), String> {
    let scenario = Scenario::worst(Duration::from_ms(HORIZON_MS));
    let mut event_ns = Vec::new();
    let mut run_ms = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let mut events = 0;
        for set in sets {
            let rules = Rules::of(set, GlobalRule::Msrp);
            let mut simulation = Simulation::new(set, &rules).map_err(|fault| fault.to_string())?;
            let outcome = simulation.run(&scenario, &mut ()).map_err(|fault| fault.to_string())?;
            events += black_box(outcome).events;
        }
        let elapsed = begin.elapsed();
        event_ns.push(elapsed.as_nanos() as f64 / events as f64);
        run_ms.push(elapsed.as_secs_f64() * 1e3);
    }
    Ok((event_ns, run_ms))
}
