// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The kinds of sets that are executed: a rule for the cores, and rules for global resources.

use taut_model::{ArrivalPattern, SchedulingPolicy, TaskSet};
use taut_sim::{GlobalRule, LocalRule, Rules};
use taut_time::Duration;

use super::charge::{Overheads, WHOLE, charged};
use crate::claims;
use crate::draw::{self, Draw, Requirements, Shares};

/// A kind: a row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    scheduler: SchedulingPolicy,
    shares: Shares,
    core: LocalRule,
    /// The rule of resources at even positions, and of those at odd positions.
    global: [GlobalRule; 2],
    /// The analyses whose bounds count.
    by: By,
}

#[derive(Clone, Copy, Debug)]
enum By {
    All,
    Only(&'static str),
    But(&'static str),
}

const fn kind(name: &'static str, core: LocalRule, shares: Shares, global: [GlobalRule; 2], by: By) -> Kind {
    let scheduler = match core {
        LocalRule::Immediate | LocalRule::Original => SchedulingPolicy::FixedPriority,
        _ => SchedulingPolicy::Edf,
    };
    Kind { name, scheduler, shares, core, global, by }
}

use GlobalRule::{FmlpLong, Mpcp, Msrp};
use LocalRule::{Dfp, Immediate, Original, Srp};

const FMLP: &str = "multi::fmlp07";

/// All kinds.
pub(crate) const KINDS: [Kind; 14] = [
    kind("fixed priority", Immediate, Shares::Nothing, [Msrp; 2], By::All),
    kind("immediate ceilings", Immediate, Shares::Local, [Msrp; 2], By::All),
    kind("original ceilings", Original, Shares::Local, [Msrp; 2], By::All),
    kind("EDF", Srp, Shares::Nothing, [Msrp; 2], By::All),
    kind("SRP", Srp, Shares::Local, [Msrp; 2], By::All),
    kind("DFP", Dfp, Shares::Local, [Msrp; 2], By::All),
    kind("MSRP", Immediate, Shares::Global, [Msrp; 2], By::But(FMLP)),
    kind("MPCP", Immediate, Shares::Global, [Mpcp; 2], By::All),
    kind("MPCP, original ceilings", Original, Shares::Global, [Mpcp; 2], By::All),
    kind("FMLP short", Immediate, Shares::Global, [Msrp; 2], By::Only(FMLP)),
    kind("FMLP long", Immediate, Shares::Global, [FmlpLong; 2], By::All),
    kind("FMLP short and long", Immediate, Shares::Global, [FmlpLong, Msrp], By::All),
    kind("MPCP and MSRP", Immediate, Shares::Global, [Mpcp, Msrp], By::All),
    kind("EDF, MSRP", Srp, Shares::Global, [Msrp; 2], By::All),
];

/// A set that has been analysed and accepted.
pub(crate) struct Proven {
    pub(crate) set: TaskSet,
    pub(crate) rules: Rules,
    /// The bound of each task, from the arrival.
    pub(crate) bounds: Vec<Duration>,
    /// How long a job of each task keeps its core at most, with all charges and its spinning.
    pub(crate) costs: Vec<Duration>,
}

/// How many sets are drawn until one is accepted. The overhead of each request of a global resource is long beside
/// short periods, so few sets with such resources are accepted.
const DRAWN_MAX: u64 = 400;
/// Where cores share resources, the best of this many accepted sets is executed.
const ACCEPTED: u64 = 8;
/// The highest load of a core in the first set that is drawn, and in the last, in percent.
const LOAD: (u64, u64) = (70, 30);
/// The lowest load of a core, in percent.
const LOAD_LEAST: u64 = 20;

impl Kind {
    pub(crate) fn cores(&self) -> usize {
        if self.shares == Shares::Global { 2 } else { 1 }
    }

    /// Whether tasks of one core share resources, under ceilings or floors.
    pub(crate) fn has_local(&self) -> bool {
        self.shares == Shares::Local
    }

    /// Whether cores share resources.
    pub(crate) fn has_global(&self) -> bool {
        self.shares == Shares::Global
    }

    /// Whether a set contains what this kind is about: a resource of several tasks, or of several cores. A drawn set
    /// may lack it.
    fn is_of(&self, set: &TaskSet) -> bool {
        let mut resources = 0..set.resources().len();
        match self.shares {
            Shares::Nothing => true,
            Shares::Local => resources.any(|at| set.users(at).count() > 1),
            Shares::Global => resources.any(|at| !set.is_local(at)),
        }
    }

    /// Draws sets of this kind, with ever less load, until some are accepted with the machine's overheads. Returns
    /// the set whose jobs wait most for resources that other cores hold; none if no set is accepted.
    pub(crate) fn proven(&self, draw: &mut Draw, add: &Overheads) -> Result<Option<Proven>, String> {
        let of = if self.has_global() { ACCEPTED } else { 1 };
        let (mut best, mut accepted): (Option<(u128, Proven)>, _) = (None, 0);
        for tried in 0..DRAWN_MAX {
            let Some(proven) = self.drawn(draw, LOAD.0 - (LOAD.0 - LOAD.1) * tried / DRAWN_MAX, add)? else {
                continue;
            };
            let waits = waits(&proven.set);
            if best.as_ref().is_none_or(|(most, _)| waits > *most) {
                best = Some((waits, proven));
            }
            accepted += 1;
            if accepted == of {
                break;
            }
        }
        Ok(best.map(|(_, proven)| proven))
    }

    /// Draws one set; none unless it is of this kind and is accepted.
    fn drawn(&self, draw: &mut Draw, load: u64, add: &Overheads) -> Result<Option<Proven>, String> {
        let (global, placed) = (draw.pick(1, 4), draw.chance(25));
        let (cores, shares) = (self.cores(), self.shares);
        let requirements = Requirements {
            cores,
            tasks: 5,
            tasks_least: 2,
            octaves: 5,
            load: (LOAD_LEAST, load),
            shares,
            global,
            local: (0, 2),
            uses: 50,
            placed,
            phased: false,
        };
        let (mut tasks, resources) = draw::tasks(draw, &requirements);
        // The executor releases tasks from a calendar, so a deadline floor counts from these instants.
        tasks.iter_mut().for_each(|task| task.arrivals = ArrivalPattern::Periodic);
        let set = draw::set(cores, self.scheduler, &tasks, resources)?;
        if !self.is_of(&set) {
            return Ok(None);
        }
        let rule = |at: usize| self.global[at % 2];
        let rules = Rules { cores: vec![self.core; cores], resources: (0..resources).map(rule).collect() };
        let Some(longer) = charged(&set, |at| rule(at) != Msrp, add) else { return Ok(None) };
        let late = |task: &taut_model::SetTask| task.jitter >= task.deadline;
        if (0..cores).any(|core| is_full(&longer, core)) || longer.tasks().iter().any(late) {
            return Ok(None);
        }
        let Some(bounds) = self.bounds(&longer, &rules)? else { return Ok(None) };
        let costs = (0..longer.tasks().len()).map(|task| keeps(&longer, task)).collect();
        Ok(Some(Proven { set, rules, bounds, costs }))
    }

    /// The least bound of each task, if an analysis of this kind accepts the set.
    fn bounds(&self, set: &TaskSet, rules: &Rules) -> Result<Option<Vec<Duration>>, String> {
        let same = |analysed: &LocalRule| match (analysed, self.core) {
            (LocalRule::DfpByClock { .. }, Dfp) => true,
            (analysed, core) => *analysed == core,
        };
        let protocols = claims::of(set, self.shares)?;
        let fits = |one: &&claims::Protocol| {
            one.rules.cores.iter().all(same) && (!self.has_global() || one.rules.resources == rules.resources)
        };
        let protocol = protocols.iter().find(fits).ok_or("nothing is claimed of what is executed")?;
        let counts = |claim: &&claims::Claim| match self.by {
            By::All => true,
            By::Only(name) => claim.name == name,
            By::But(name) => claim.name != name,
        };
        let accepting: Vec<_> =
            protocol.claims.iter().filter(counts).filter(|claim| claim.accepted).collect();
        if accepting.is_empty() {
            return Ok(None);
        }
        let least = |task| accepting.iter().filter_map(|claim| claim.limit(set, task)).min();
        Ok((0..set.tasks().len()).map(least).collect())
    }
}

/// The cost of a job, plus the longest section of another core for each request.
fn keeps(set: &TaskSet, task: usize) -> Duration {
    let others = |resource: usize| {
        set.users(resource).filter(|user| set.tasks()[*user].core != set.tasks()[task].core)
    };
    let longest = |resource: usize| {
        let sections = others(resource).flat_map(|user| set.requests(user));
        sections
            .filter(|other| other.resource == resource)
            .map(|other| other.length.as_ns())
            .max()
            .unwrap_or(0)
    };
    let spins: u64 =
        set.requests(task).iter().map(|request| u64::from(request.count) * longest(request.resource)).sum();
    Duration::from_ns(set.cost(task).as_ns() + spins)
}

/// How often jobs wait for a section of another core, if requests are independent. A relative figure without a unit.
fn waits(set: &TaskSet) -> u128 {
    // Requests per second, and the ns of a second that their sections take.
    let on = |core: usize, resource: usize| {
        let (mut often, mut busy) = (0, 0);
        for task in set.on_core(core) {
            for request in set.requests(task).iter().filter(|request| request.resource == resource) {
                let rate = u128::from(request.count) * WHOLE / u128::from(set.tasks()[task].period.as_ns());
                often += rate;
                busy += rate * u128::from(request.length.as_ns());
            }
        }
        (often, busy)
    };
    let mut sum = 0;
    for resource in 0..set.resources().len() {
        let cores: Vec<_> = (0..set.cores().len()).map(|core| on(core, resource)).collect();
        let all: u128 = cores.iter().map(|core| core.1).sum();
        sum += cores.iter().map(|core| core.0 * (all - core.1)).sum::<u128>();
    }
    sum
}

/// Whether a core has no time left.
fn is_full(set: &TaskSet, core: usize) -> bool {
    let share = |at: usize| {
        let parts = u128::from(set.cost(at).as_ns()) * 1_000_000;
        parts.div_ceil(u128::from(set.tasks()[at].period.as_ns()))
    };
    set.on_core(core).map(share).sum::<u128>() >= 1_000_000
}
