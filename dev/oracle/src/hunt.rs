// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Searches for runs that exceed a claimed bound of a random set, by the search of the simulator.
//!
//! Each new set gets the same number of search steps under each rule. After that the hunt spends twice as many steps
//! on the kept set whose run came nearest to a bound that no run has reached yet. Every rule has its own list of such
//! sets, so that no rule takes all of the time.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration as Wall, Instant};

use taut_model::TaskSet;
use taut_sim::{Best, Hunt, HuntProgress};
use taut_time::Duration;

use crate::claims::{self, Claimed, Protocol};

/// What the command line asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings<'a> {
    /// When to stop.
    pub(crate) limit: Wall,
    /// The seed of the first set; each next set has the next seed.
    pub(crate) seed: u64,
    /// Count the claims of this analysis alone.
    pub(crate) analysis: Option<&'a str>,
    /// An analysis to weaken on purpose. The hunt ends when the search catches it.
    pub(crate) canary: Option<&'a str>,
}

/// Search steps for a new set under each rule, and for a set that the hunt returns to.
const STEPS_NEW: u32 = 8;
const STEPS_BACK: u32 = 16;
/// Sets that the hunt keeps under each rule.
const KEPT: usize = 24;
/// By how much each return in vain lowers a set's rank, in thousandths.
const IN_VAIN: u64 = 5;
/// How many failures the hunt prints; it only counts the rest.
const PRINTED_MAX: usize = 20;
/// How often the hunt prints its progress: on a terminal, and elsewhere.
const PROGRESS_EVERY: [Wall; 2] = [Wall::from_secs(2), Wall::from_secs(60)];

/// A set under a rule, and the search for a run of it that exceeds a bound.
struct Quarry {
    seed: u64,
    set: TaskSet,
    protocol: Protocol,
    hunt: Hunt,
    /// How often the hunt returned to this set without coming nearer.
    in_vain: u64,
    /// How many witnesses the hunt has printed, and whether it has printed a run that ended as no run should.
    reported: (usize, bool),
}

/// The results of one analysis over all sets.
#[derive(Debug, Default)]
struct Row {
    sets: u64,
    runs: u64,
    /// For each bound, how near a run came to it, in thousandths.
    nearest: Vec<u16>,
    /// Bounds that a run reached to the nanosecond.
    attained: u64,
    exceeded: u64,
}

/// The state of a hunt.
struct Party<'a> {
    settings: &'a Settings<'a>,
    begin: Instant,
    last_progress: Instant,
    kept: BTreeMap<String, Vec<Quarry>>,
    rows: BTreeMap<&'static str, Row>,
    sets: u64,
    runs: u64,
    failures: usize,
}

/// Hunts and prints the results. Returns whether no bound was exceeded or, with a canary, whether a bound was exceeded.
pub(crate) fn run(settings: &Settings<'_>) -> Result<bool, String> {
    let begin = Instant::now();
    let mut party = Party {
        settings,
        begin,
        last_progress: begin,
        kept: BTreeMap::new(),
        rows: BTreeMap::new(),
        sets: 0,
        runs: 0,
        failures: 0,
    };
    let mut seed = settings.seed;
    while !party.is_over() {
        party.draw(seed).map_err(|why| format!("seed {seed}: {why}"))?;
        seed = seed.wrapping_add(1);
    }
    party.close();
    if party.rows.is_empty() {
        return Err("there is nothing to hunt: no analysis of that name claims a bound".into());
    }
    Ok(match settings.canary {
        None => party.failures == 0,
        Some(name) => {
            let caught = party.failures > 0;
            println!("{name}, weakened on purpose, was {}", if caught { "caught" } else { "NOT caught" });
            caught
        }
    })
}

impl Party<'_> {
    fn is_over(&self) -> bool {
        let caught = self.settings.canary.is_some() && self.failures > 0;
        caught || self.begin.elapsed() >= self.settings.limit
    }

    /// Searches a new set under each of its rules. After each, returns once to the kept set of that rule that is
    /// worth most.
    fn draw(&mut self, seed: u64) -> Result<(), String> {
        self.sets += 1;
        for Claimed { set, protocols } in claims::of_seed(seed, self.settings.canary)? {
            for mut protocol in protocols {
                let counts = |name: &str| self.settings.analysis.is_none_or(|only| only == name);
                protocol.claims.retain(|claim| counts(claim.name));
                if self.is_over() {
                    return Ok(());
                }
                if protocol.says_something() {
                    let rule = protocol.to_string();
                    let mut quarry = Quarry::new(seed, set.clone(), protocol)?;
                    self.search(&mut quarry, STEPS_NEW);
                    self.keep(&rule, quarry);
                    self.go_back(&rule);
                }
            }
        }
        Ok(())
    }

    fn go_back(&mut self, rule: &str) {
        let Some(kept) = self.kept.get_mut(rule) else { return };
        let worth = |at: &usize| kept[*at].worth();
        let Some(at) = (0..kept.len()).max_by_key(worth) else { return };
        let mut quarry = kept.swap_remove(at);
        let before = quarry.nearest();
        self.search(&mut quarry, STEPS_BACK);
        quarry.in_vain += u64::from(quarry.nearest() <= before);
        self.keep(rule, quarry);
    }

    /// Keeps a set; if there are too many, drops the set that is worth least.
    fn keep(&mut self, rule: &str, quarry: Quarry) {
        let kept = self.kept.entry(rule.into()).or_default();
        kept.push(quarry);
        let least = (0..kept.len()).min_by_key(|at| kept[*at].worth());
        if let Some(at) = least.filter(|_| kept.len() > KEPT) {
            let gone = kept.swap_remove(at);
            self.enter(&gone);
        }
    }

    /// Makes up to `steps` steps, until the time is over. Reports what the search finds.
    fn search(&mut self, quarry: &mut Quarry, steps: u32) {
        for _ in 0..steps {
            if self.is_over() {
                return;
            }
            let before = quarry.hunt.progress().runs;
            quarry.hunt.step();
            self.runs += quarry.hunt.progress().runs - before;
            self.failures += quarry.report(self.failures);
            self.report();
            if quarry.hunt.progress().runs == before {
                return;
            }
        }
    }

    /// Enters the results of a set in the table.
    fn enter(&mut self, quarry: &Quarry) {
        let HuntProgress { runs, tasks, .. } = quarry.hunt.progress();
        for claim in &quarry.protocol.claims {
            let row = self.rows.entry(claim.name).or_default();
            row.sets += 1;
            row.runs += runs;
            for (at, best) in tasks.iter().enumerate() {
                let Some(limit) = claim.limit(&quarry.set, at) else { continue };
                let near = Best { claimed: Some(limit), ..*best };
                row.nearest.push(u16::try_from(near.permille().unwrap_or(0)).unwrap_or(u16::MAX));
                row.attained += u64::from(best.reached == limit);
                row.exceeded += u64::from(best.reached > limit);
            }
        }
    }

    /// Prints the progress, at intervals.
    fn report(&mut self) {
        let is_terminal = std::io::stderr().is_terminal();
        if self.last_progress.elapsed() < PROGRESS_EVERY[usize::from(!is_terminal)] {
            return;
        }
        self.last_progress = Instant::now();
        let line = format!(
            "{} of {} s, {} sets, {} runs, {} bounds exceeded",
            self.begin.elapsed().as_secs(),
            self.settings.limit.as_secs(),
            self.sets,
            self.runs,
            self.failures
        );
        if is_terminal {
            eprint!("\r{line}\x1b[K");
            let _ = std::io::stderr().flush();
        } else {
            eprintln!("{line}");
        }
    }

    /// Enters the sets that are left, and prints the table.
    fn close(&mut self) {
        for quarry in std::mem::take(&mut self.kept).into_values().flatten() {
            self.enter(&quarry);
        }
        if std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
        println!(
            "{:<30} {:>8} {:>10} {:>9} {:>10} {:>9} {:>9} {:>9}",
            "analysis", "sets", "runs", "bounds", "median, %", "max, %", "attained", "exceeded"
        );
        for (name, row) in &mut self.rows {
            row.nearest.sort_unstable();
            let percent = |permille: Option<&u16>| permille.map_or(0.0, |p| f64::from(*p) / 10.0);
            println!(
                "{name:<30} {:>8} {:>10} {:>9} {:>10.1} {:>9.1} {:>9} {:>9}",
                row.sets,
                row.runs,
                row.nearest.len(),
                percent(row.nearest.get(row.nearest.len() / 2)),
                percent(row.nearest.last()),
                row.attained,
                row.exceeded
            );
        }
        println!(
            "{} sets from seed {}, {} runs, {:.1} s: {} bounds exceeded",
            self.sets,
            self.settings.seed,
            self.runs,
            self.begin.elapsed().as_secs_f64(),
            self.failures
        );
    }
}

impl Quarry {
    /// Hunts the least of all claimed bounds: a run that exceeds any of them exceeds the least bound too.
    fn new(seed: u64, set: TaskSet, protocol: Protocol) -> Result<Self, String> {
        let least = |at: usize| protocol.claims.iter().filter_map(|claim| claim.limit(&set, at)).min();
        let limits: Vec<Option<Duration>> = (0..set.tasks().len()).map(least).collect();
        let hunt = Hunt::new(&set, &protocol.rules, &limits, seed).map_err(|fault| fault.to_string())?;
        Ok(Self { seed, set, protocol, hunt, in_vain: 0, reported: (0, false) })
    }

    /// How near a run came to a bound that no run has reached, in thousandths; 0 if all bounds are reached.
    fn nearest(&self) -> u64 {
        let open = |best: &&Best| best.claimed.is_some_and(|claimed| best.reached < claimed);
        self.hunt.progress().tasks.iter().filter(open).filter_map(Best::permille).max().unwrap_or(0)
    }

    fn worth(&self) -> u64 {
        self.nearest().saturating_sub(IN_VAIN * self.in_vain)
    }

    /// Prints what the search found since the last report; returns how many findings there are.
    fn report(&mut self, before: usize) -> usize {
        let HuntProgress { witnesses, stuck, .. } = self.hunt.progress();
        let mut found = Vec::new();
        for witness in witnesses.iter().skip(self.reported.0) {
            let task = witness.task;
            let reached = witness.reached;
            let limit = |claim: &claims::Claim| claim.limit(&self.set, task);
            let who = self.protocol.claims.iter().filter(|claim| limit(claim).is_some_and(|l| l < reached));
            let names: Vec<_> = who.map(|claim| claim.name).collect();
            found.push((
                format!(
                    "{}: job {} of task {task} took {} ns, and the bound is {} ns",
                    names.join(", "),
                    witness.job,
                    reached.as_ns(),
                    witness.claimed.as_ns()
                ),
                &witness.scenario,
            ));
        }
        if let Some((end, scenario)) = stuck.as_ref().filter(|_| !self.reported.1) {
            found.push((format!("a run ended as {end:?}"), scenario));
        }
        for (what, scenario) in found.iter().take(PRINTED_MAX.saturating_sub(before)) {
            println!("seed {}: under {}: {what}", self.seed, self.protocol);
            println!("    cores {:?}, {} resources", self.set.cores(), self.set.resources().len());
            self.set.tasks().iter().for_each(|task| println!("    {task:?}"));
            println!("    {scenario:?}");
        }
        let (count, reported) = (found.len(), (witnesses.len(), stuck.is_some()));
        self.reported = reported;
        count
    }
}
