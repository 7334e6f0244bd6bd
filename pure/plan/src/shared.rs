// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Applications with resources, or with cores under EDF: all of their tasks are analysed as one set.
//!
//! What the machine adds is charged against us:
//!
//! | what | charged as |
//! |---|---|
//! | context switch x | C' = C + 2x; under a protocol that suspends, 2x more for every request of a global resource |
//! | release y, kernel blocking k | J' = J + y + k: both come before a job's first instruction |
//! | lock l | every section is longer by it |
//! | kernel blocking in a section of a resource of several cores | the section is longer by k: others wait for it too |
//! | waking who was suspended | under a protocol that suspends, such a section is longer by y |
//! | platform probe | time on its cores goes slower; see below |
//! | non-preemptive stretches | sections of a resource that is the core, and that all of its tasks use |
//!
//! **The probe** runs above all tasks, holders and those who spin included, so no bound on it depends on them. In a
//! window w it takes at most C_p · ⌈(w + y) / T_p⌉ ≤ K + u · w, with u = C_p / T_p and K = C_p · (1 + y / T_p). What
//! takes x of the core's time is over after (x + K) / (1 − u) at most. So all that runs is scaled by 1 / (1 − u), and
//! K / (1 − u) comes once to what a window is asked for: once per job, as jitter, and once per section that others wait
//! for on other cores. Those who spin for it are under their own core's probe, so its length is scaled once more.

use taut_analysis::multi::{Bounds, Status, TaskBound, Witness};
use taut_analysis::multi::{edf_msrp, fmlp_plus, mpcp_lnr09_sound, msrp_gai01, msrp_holistic};
use taut_analysis::uni::edf::demand::Demand;
use taut_analysis::uni::edf::srp;
use taut_analysis::{Overflow, PROBE_COST, PROBE_PERIOD, Verdict, Why};
use taut_model::{
    Arrivals, Body, Fault, Locking, Model, Overheads, Place, Request, Resource, ResourceId, Scheduler,
    SetTask, TaskSet, codes,
};
use taut_time::Duration;

use crate::seats::{Seat, Seats};
use crate::{ResourcePlan, Term};

/// What stands for a section whose length does not matter: whoever has it only raises a ceiling.
const INSTANT: Duration = Duration::from_ns(1);

/// What was found about the whole.
pub(crate) struct Shared {
    /// The protocol of each resource, and why that one.
    protocols: Vec<(Locking, String)>,
    test: &'static str,
    answer: Answer,
}

enum Answer {
    /// By seat, under fixed priority; whether all keep their deadlines.
    Bounds(Bounds, Charged, bool),
    /// All keep their deadlines, under EDF.
    Kept,
    /// On this core, a window is too short, under EDF.
    Short(usize, Demand),
    /// Neither, and why.
    Nothing(String),
}

/// Tasks as they are analysed, with what was charged.
struct Charged {
    set: TaskSet,
    /// By seat: context switches.
    switches: Vec<Duration>,
    /// By seat: locks, and what comes to global sections.
    locks: Vec<Duration>,
    /// By seat: the platform probe, as cost and as jitter.
    probe: Vec<Duration>,
}

/// What the platform probe does to time.
struct Probe {
    /// C_p, context switches included, and T_p, in ns; the former is less.
    cost: u64,
    period: u64,
    /// K / (1 − u).
    once: Duration,
}

impl Probe {
    fn new(overheads: &Overheads) -> Result<Self, Overflow> {
        let switches = overheads.context_switch.checked_mul(2).ok_or(Overflow)?;
        let cost = PROBE_COST.checked_add(switches).ok_or(Overflow)?;
        // A probe that leaves no time: nothing can be bounded.
        if cost >= PROBE_PERIOD {
            return Err(Overflow);
        }
        let mut probe = Self { cost: cost.as_ns(), period: PROBE_PERIOD.as_ns(), once: Duration::ZERO };
        let late = u128::from(probe.cost) * u128::from(overheads.release.as_ns());
        let late = u64::try_from(late.div_ceil(probe.period.into())).map_err(|_| Overflow)?;
        probe.once = probe.slower(cost.checked_add(Duration::from_ns(late)).ok_or(Overflow)?)?;
        Ok(probe)
    }

    /// x / (1 − u), rounded up.
    fn slower(&self, time: Duration) -> Result<Duration, Overflow> {
        let scaled = u128::from(time.as_ns()) * u128::from(self.period);
        let scaled = scaled.div_ceil(u128::from(self.period - self.cost));
        u64::try_from(scaled).map(Duration::from_ns).map_err(|_| Overflow)
    }

    /// How long a section takes at most, seen by those who wait for it on another core.
    fn section(&self, time: Duration) -> Result<Duration, Overflow> {
        let real = self.slower(time)?.checked_add(self.once).ok_or(Overflow)?;
        self.slower(real)
    }
}

/// A protocol for resources of several cores, with its test.
struct Candidate {
    locking: Locking,
    test: &'static str,
    suspends: bool,
    analysis: fn(&TaskSet) -> Result<Verdict<Bounds>, Overflow>,
}

const SPINNING: Candidate = Candidate {
    locking: Locking::Msrp,
    test: "response-time analysis, fixed priority, MSRP, requests counted together (Brandenburg 2011)",
    suspends: false,
    analysis: msrp_holistic::response_times,
};

const CANDIDATES: [Candidate; 3] = [
    SPINNING,
    Candidate {
        locking: Locking::Mpcp,
        test: "response-time analysis, fixed priority, MPCP (Lakshmanan et al. 2009, with the jitter that it lacks)",
        suspends: true,
        analysis: mpcp_lnr09_sound::response_times,
    },
    Candidate {
        locking: Locking::FmlpPlus,
        test: "response-time analysis, fixed priority, FMLP+ (Brandenburg 2011)",
        suspends: true,
        analysis: fmlp_plus::response_times,
    },
];

/// If nothing is shared between cores.
const LOCAL: Candidate = Candidate {
    locking: Locking::Srp,
    test: "response-time analysis, fixed priority, immediate ceilings (Baker 1991; Audsley et al. 1993)",
    suspends: false,
    analysis: msrp_gai01::response_times,
};

const DEMAND: &str = "processor demand, EDF (Baruah et al. 1990, Zhang & Burns 2009)";
const DEMAND_SHARED: &str =
    "processor demand, EDF, the stack resource policy (Baruah 2006, Zhang & Burns 2009)";
const DEMAND_SPINNING: &str = "processor demand, EDF, MSRP (Gai et al. 2001, Baruah 2006)";

impl Shared {
    /// Nothing, if no task shares anything and cores go by fixed priority: then each core is analysed by itself.
    pub(crate) fn analyse(model: &Model, seats: &Seats<'_>, faults: &mut Vec<Fault>) -> Option<Self> {
        let edf = model.platform().scheduler == Scheduler::Edf;
        if !edf && model.resources().is_empty() {
            return None;
        }
        let global: Vec<bool> = (0..model.resources().len()).map(|at| is_global(seats, at)).collect();
        let named = fit(model, seats, &global, faults);
        let any = global.contains(&true);
        let (locking, test, answer) = if edf {
            let test = match (any, model.resources().is_empty()) {
                (true, _) => DEMAND_SPINNING,
                (false, false) => DEMAND_SHARED,
                (false, true) => DEMAND,
            };
            (Locking::Msrp, test, under_edf(model, seats, &global))
        } else {
            let candidates: Vec<&Candidate> = match (any, named) {
                (false, _) => vec![&LOCAL],
                (true, Some(locking)) => CANDIDATES.iter().filter(|c| c.locking == locking).collect(),
                (true, None) => CANDIDATES.iter().collect(),
            };
            by_priority(model, seats, &global, &candidates)
        };
        let reason = |(at, resource): (usize, &taut_model::Shared)| {
            let (protocol, reason) = match (resource.protocol, global[at], edf) {
                (Some(protocol), ..) => (protocol, "as the manifest says"),
                (None, false, _) => (Locking::Srp, "all of its users are on one core: a ceiling is enough"),
                (None, true, true) => (locking, "users on several cores, under EDF: spinning"),
                (None, true, false) if locking == Locking::Msrp => (
                    locking,
                    "users on several cores: spinning; suspending is tried only if that does not fit",
                ),
                (None, true, false) => (locking, "users on several cores: spinning does not fit, this does"),
            };
            (protocol, reason.to_owned())
        };
        let protocols = model.resources().iter().enumerate().map(reason).collect();
        Some(Self { protocols, test, answer })
    }

    /// R of a seat, if it is proven. Under EDF it is D: that is what is proven.
    pub(crate) fn response(&self, seats: &Seats<'_>, seat: usize) -> Option<Duration> {
        match &self.answer {
            Answer::Bounds(bounds, ..) => {
                let bound = &bounds.tasks[seat];
                (bound.status == Status::Proven).then_some(bound.from_arrival)
            }
            Answer::Kept => Some(seats.seats[seat].task.deadline),
            Answer::Short(..) | Answer::Nothing(_) => None,
        }
    }

    /// R of a seat, the test, and R in parts.
    pub(crate) fn found(
        &self,
        model: &Model,
        seats: &Seats<'_>,
        seat: usize,
    ) -> (Option<Duration>, String, Vec<Term>) {
        let response = self.response(seats, seat);
        let terms = match &self.answer {
            Answer::Bounds(bounds, charged, _) => terms(model, seats, seat, &bounds.tasks[seat], charged),
            Answer::Kept => {
                let deadline = seats.seats[seat].task.deadline;
                vec![term("demand", Some("all that is due no later"), deadline)]
            }
            Answer::Short(..) | Answer::Nothing(_) => Vec::new(),
        };
        (response, format!("{} (sufficient)", self.test), terms)
    }

    /// What is said about a task that is not shown to keep its deadline.
    pub(crate) fn deadline(&self, model: &Model, seats: &Seats<'_>, seat: usize, faults: &mut Vec<Fault>) {
        let at = &seats.seats[seat];
        let name = at.name;
        let place = || Place::value(format!("tasks.{name}.deadline"));
        let cpu = model.platform().cores[at.core];
        match &self.answer {
            Answer::Kept => {}
            Answer::Bounds(_, _, true) => {}
            Answer::Bounds(bounds, charged, false) => {
                let bound = &bounds.tasks[seat];
                if bound.status != Status::Passes {
                    return;
                }
                let message = format!("task `{name}` is not shown to keep its deadline on core {cpu}");
                let text =
                    format!("{} passed: the bound is at least {}", at.task.deadline, bound.from_arrival);
                let mut fault = Fault::error(codes::DEADLINE_MISSED, message, place(), text);
                for (what, witness, part) in parts(bound) {
                    fault = witnessed(fault, model, seats, what, witness, part);
                }
                for term in terms(model, seats, seat, bound, charged) {
                    let of = term.of.map_or_else(String::new, |of| format!(", {of}"));
                    fault = fault.note(format!("{}{of}: {}", term.kind, term.time));
                }
                let most = parts(bound).into_iter().max_by_key(|(_, _, part)| *part);
                let help = match most {
                    Some((what, _, part)) if part > bound.terms.own => {
                        format!("{what} is the longest part, {part}: shorten what causes it, or move a task")
                    }
                    _ => "its own execution is the longest part: shorten it, or give it more time".to_owned(),
                };
                faults.push(fault.note(format!("test: {}", self.test)).help(help));
            }
            // Said once, at the first task of the core.
            Answer::Short(core, demand) => {
                let first = seats.cores[*core].members.iter().min();
                if first != Some(&seat) {
                    return;
                }
                let cpu = model.platform().cores[*core];
                let message = format!("deadlines are not shown to be kept on core {cpu}");
                let place = Place::value(format!("platform.cores.{core}"));
                let Some(window) = demand.short else {
                    // More is asked for than there is: that has been said.
                    return;
                };
                let text = format!("{} are asked for in {}", window.demand, window.length);
                let mut fault = Fault::error(codes::DEADLINE_MISSED, message, place, text);
                for &member in &seats.cores[*core].members {
                    let seat = &seats.seats[member];
                    if seat.task.deadline <= window.length {
                        let place = Place::value(format!("tasks.{}.deadline", seat.name));
                        fault = fault.also(place, format!("due in time: {} each", seat.cost));
                    }
                }
                if !window.blocking.is_zero() {
                    fault = fault.note(format!("a critical section blocks for {} more", window.blocking));
                }
                faults.push(
                    fault
                        .note(format!("test: {}; overheads and the platform probe included", self.test))
                        .help("shorten executions or sections, or give more time to what is due first"),
                );
            }
            Answer::Nothing(why) => {
                let message = format!("the response time of task `{name}` is not shown");
                faults.push(
                    Fault::error(codes::NOT_SHOWN, message, place(), why.clone())
                        .note(format!("test: {}", self.test)),
                );
            }
        }
    }

    /// What the plan says of resources.
    pub(crate) fn resources(&self, model: &Model) -> Vec<ResourcePlan> {
        let all = model.resources().iter().zip(&self.protocols).enumerate();
        all.map(|(at, (resource, (protocol, reason)))| {
            let uses = |id: &ResourceId| id.index() == at;
            let users =
                model.real_time().filter(|(.., task)| task.sections.iter().any(|s| uses(&s.resource)));
            ResourcePlan {
                name: resource.name.clone(),
                protocol: *protocol,
                reason: reason.clone(),
                users: users.map(|(_, task, _)| task.name.clone()).collect(),
            }
        })
        .collect()
    }
}

/// Whether tasks of several cores use a resource.
fn is_global(seats: &Seats<'_>, resource: usize) -> bool {
    let mut cores = users(seats, resource).map(|seat| seat.core);
    let first = cores.next();
    cores.any(|core| Some(core) != first)
}

fn users<'s, 'm>(seats: &'s Seats<'m>, resource: usize) -> impl Iterator<Item = &'s Seat<'m>> {
    let uses = move |seat: &&Seat<'_>| seat.task.sections.iter().any(|s| s.resource.index() == resource);
    seats.seats.iter().filter(uses)
}

/// Reports protocols that do not fit; the one that is named for resources of several cores.
fn fit(model: &Model, seats: &Seats<'_>, global: &[bool], faults: &mut Vec<Fault>) -> Option<Locking> {
    let edf = model.platform().scheduler == Scheduler::Edf;
    let mut first: Option<(usize, Locking)> = None;
    for (at, resource) in model.resources().iter().enumerate() {
        let Some(protocol) = resource.protocol else { continue };
        let name = protocol.paper_name();
        let place = |at: usize| Place::value(format!("resources.{}.protocol", model.resources()[at].name));
        let mut refuse = |text: String, help: &str| {
            let message = format!("{name} does not fit resource `{}`", resource.name);
            let mut fault = Fault::error(codes::LOCKING_MISFIT, message, place(at), text).help(help);
            for seat in users(seats, at) {
                let cpu = model.platform().cores[seat.core];
                let core = Place::key(format!("tasks.{}", seat.name));
                fault = fault.also(core, format!("uses it on core {cpu}"));
            }
            faults.push(fault);
        };
        let local = matches!(protocol, Locking::Srp | Locking::Dfp);
        if local && global[at] {
            refuse("for tasks of one core".into(), "use \"auto\", or \"msrp\"");
        } else if !local && !global[at] {
            refuse("for tasks of several cores".into(), "use \"auto\", or \"srp\"");
        } else if protocol == Locking::Dfp && !edf {
            refuse("for cores under EDF".into(), "use \"auto\", or \"srp\"");
        } else if matches!(protocol, Locking::Mpcp | Locking::FmlpPlus) && edf {
            refuse("for cores of fixed priority".into(), "use \"auto\", or \"msrp\"");
        } else if !local {
            match first {
                Some((other, named)) if named != protocol => {
                    let message = "two protocols for resources of several cores";
                    faults.push(
                        Fault::error(codes::LOCKING_MISFIT, message, place(at), name)
                            .also(place(other), named.paper_name())
                            .note("no analysis here bounds how holders of the one delay holders of the other")
                            .help("use the same for both, or \"auto\""),
                    );
                }
                _ => first = Some((at, protocol)),
            }
        }
    }
    first.map(|(_, named)| named)
}

/// The first candidate that keeps all deadlines, else the first.
fn by_priority(
    model: &Model,
    seats: &Seats<'_>,
    global: &[bool],
    candidates: &[&Candidate],
) -> (Locking, &'static str, Answer) {
    let mut first: Option<(Locking, &'static str, Answer)> = None;
    for candidate in candidates {
        let answer = charged(model, seats, global, candidate.suspends)
            .and_then(|charged| (candidate.analysis)(&charged.set).map(|verdict| (charged, verdict)));
        let answer = match answer {
            Err(overflow) => Answer::Nothing(overflow.to_string()),
            // A stretch that is not preempted delays holders, which these do not count.
            Ok(_)
                if candidate.suspends
                    && seats.seats.iter().any(|seat| !seat.task.non_preemptive.is_zero()) =>
            {
                Answer::Nothing("a non-preemptive stretch would delay those who hold a resource".into())
            }
            Ok((charged, Verdict::Schedulable(bounds))) => Answer::Bounds(bounds, charged, true),
            Ok((charged, Verdict::NotShown(Why::Passes(bounds)) | Verdict::Unschedulable(bounds))) => {
                Answer::Bounds(bounds, charged, false)
            }
            Ok((_, Verdict::NotShown(Why::Rate))) => Answer::Nothing("no bound".into()),
            Ok((_, Verdict::NotShown(Why::Steps(n)))) => Answer::Nothing(format!("given up after {n} steps")),
            Ok((_, Verdict::NotApplicable(assumption))) => Answer::Nothing(assumption.to_string()),
        };
        let keeps = matches!(answer, Answer::Bounds(_, _, true));
        let found = (candidate.locking, candidate.test, answer);
        if keeps {
            return found;
        }
        first.get_or_insert(found);
    }
    first.unwrap_or((Locking::Msrp, SPINNING.test, Answer::Nothing("the protocols do not fit".into())))
}

fn under_edf(model: &Model, seats: &Seats<'_>, global: &[bool]) -> Answer {
    let charged = match charged(model, seats, global, false) {
        Ok(charged) => charged,
        Err(overflow) => return Answer::Nothing(overflow.to_string()),
    };
    let told = |core: usize, verdict: Verdict<Demand>| match verdict {
        Verdict::Schedulable(_) => None,
        Verdict::Unschedulable(demand) | Verdict::NotShown(Why::Passes(demand)) => {
            Some(Answer::Short(core, demand))
        }
        Verdict::NotShown(Why::Rate) => Some(Answer::Nothing("no bound".into())),
        Verdict::NotShown(Why::Steps(n)) => Some(Answer::Nothing(format!("given up after {n} steps"))),
        Verdict::NotApplicable(assumption) => Some(Answer::Nothing(assumption.to_string())),
    };
    if global.contains(&true) {
        return match edf_msrp::cores(&charged.set) {
            Err(overflow) => Answer::Nothing(overflow.to_string()),
            Ok(Verdict::NotShown(Why::Passes(found))) => match found.last() {
                Some(demand) => Answer::Short(found.len() - 1, *demand),
                None => Answer::Nothing("no bound".into()),
            },
            Ok(verdict) => {
                told(0, verdict.map(|_| Demand { horizon: Duration::ZERO, steps: 0, short: None }))
                    .unwrap_or(Answer::Kept)
            }
        };
    }
    for core in 0..charged.set.cores().len() {
        match srp::core(&charged.set, core) {
            Err(overflow) => return Answer::Nothing(overflow.to_string()),
            Ok(verdict) => {
                if let Some(answer) = told(core, verdict) {
                    return answer;
                }
            }
        }
    }
    Answer::Kept
}

/// The set that is analysed: a task per seat, in their order.
fn charged(model: &Model, seats: &Seats<'_>, global: &[bool], suspends: bool) -> Result<Charged, Overflow> {
    let overheads = model.platform().overheads;
    let probe = Probe::new(&overheads)?;
    let switches = overheads.context_switch.checked_mul(2).ok_or(Overflow)?;
    let cores = model.platform().cores.len();
    // One more resource per core with a stretch that is not preempted: the core itself.
    let mut resources: Vec<Resource> =
        model.resources().iter().map(|shared| Resource { name: shared.name.clone() }).collect();
    let kept: Vec<Option<usize>> = (0..cores)
        .map(|core| {
            let members = &seats.cores[core].members;
            members.iter().any(|&i| !seats.seats[i].task.non_preemptive.is_zero()).then(|| {
                resources.push(Resource { name: format!("core {}", model.platform().cores[core]) });
                resources.len() - 1
            })
        })
        .collect();
    let mut tasks = Vec::with_capacity(seats.seats.len());
    let (mut of_switches, mut of_locks, mut of_probe) = (Vec::new(), Vec::new(), Vec::new());
    for seat in &seats.seats {
        let (mut requests, mut switching) = (Vec::new(), switches);
        // What is in local sections, what comes to it; and in global ones, as charged.
        let (mut inside, mut locking) = (Duration::ZERO, Duration::ZERO);
        let (mut global_inside, mut global_charged) = (Duration::ZERO, Duration::ZERO);
        let add = |sum: &mut Duration, more: Duration, times: u32| {
            *sum = more.checked_mul(times.into()).and_then(|more| sum.checked_add(more)).ok_or(Overflow)?;
            Ok::<_, Overflow>(())
        };
        for section in &seat.task.sections {
            let (at, count) = (section.resource.index(), section.count);
            let length = seat.task.wcet.with_margin(section.longest).ok_or(Overflow)?;
            let locked = length.checked_add(overheads.lock).ok_or(Overflow)?;
            add(&mut inside, length, count)?;
            let length = if global[at] {
                // Whoever was suspended holds it from the moment that it is given, and wakes later.
                let wakes = if suspends { overheads.release } else { Duration::ZERO };
                let held = locked
                    .checked_add(overheads.kernel_blocking)
                    .and_then(|held| held.checked_add(wakes))
                    .ok_or(Overflow)?;
                let charged = probe.section(held)?;
                add(&mut global_inside, length, count)?;
                add(&mut global_charged, charged, count)?;
                if suspends {
                    add(&mut switching, switches, count)?;
                }
                charged
            } else {
                // Scaled sections are rounded up one by one, which a scaled sum is not.
                add(&mut locking, overheads.lock.checked_add(INSTANT).ok_or(Overflow)?, count)?;
                probe.slower(locked)?
            };
            requests.push(Request { resource: at, count, length, outermost: true });
        }
        // Margins of parts are rounded up one by one, and may pass the whole's.
        let own = seat.cost.max(inside);
        if let Some(core) = kept[seat.core] {
            let stretch = seat.task.non_preemptive.max(INSTANT);
            // As many as fit in beside the sections: more there cannot be. Where one is around a section, the cost
            // becomes more than it is.
            let left = own.saturating_sub(inside);
            let count = if stretch == INSTANT { 1 } else { left.div_floor(stretch).unwrap_or(0).max(1) };
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            let over = stretch.checked_mul(count.into()).ok_or(Overflow)?.saturating_sub(left);
            add(&mut locking, over, 1)?;
            add(&mut locking, INSTANT, count)?;
            requests.push(Request { resource: core, count, length: probe.slower(stretch)?, outermost: true });
        }
        let sum = |parts: [Duration; 3]| {
            parts.into_iter().try_fold(Duration::ZERO, Duration::checked_add).ok_or(Overflow)
        };
        let plain = sum([own.saturating_sub(global_inside), switching, locking])?;
        let cost = probe.slower(plain)?.checked_add(global_charged).ok_or(Overflow)?;
        let late = sum([overheads.release, overheads.kernel_blocking, probe.once])?;
        tasks.push(SetTask {
            name: seat.name.to_owned(),
            core: seat.core,
            priority: seat.priority.into(),
            arrivals: Arrivals::Sporadic,
            period: seat.task.arrival.period(),
            deadline: seat.task.deadline,
            jitter: seat.task.jitter.checked_add(late).ok_or(Overflow)?,
            body: Body::Anywhere { cost, requests },
        });
        // What is left of the cost is the probe's share and what comes to sections.
        let slowed = probe.slower(plain)?.saturating_sub(plain);
        of_locks.push(cost.saturating_sub(sum([seat.cost, switching, slowed])?));
        of_switches.push(switching);
        of_probe.push(slowed.checked_add(probe.once).ok_or(Overflow)?);
    }
    let schedulers = vec![model.platform().scheduler; cores];
    // What the model guarantees is what a set asks for; a sum that does not fit is left.
    let set = TaskSet::new(schedulers, resources, tasks).map_err(|_| Overflow)?;
    Ok(Charged { set, switches: of_switches, locks: of_locks, probe: of_probe })
}

fn term(kind: &str, of: Option<&str>, time: Duration) -> Term {
    Term { kind: kind.to_owned(), of: of.map(str::to_owned), count: None, time }
}

/// The parts of a bound that others cause.
fn parts(bound: &TaskBound) -> [(&'static str, Witness, Duration); 4] {
    let (terms, witnesses) = (&bound.terms, &bound.witnesses);
    [
        ("spinning", witnesses.spin, terms.spin),
        ("blocking", witnesses.local_blocking, terms.local_blocking),
        ("waiting suspended", witnesses.remote_blocking, terms.remote_blocking),
        ("interference", witnesses.interference, terms.interference),
    ]
}

/// Who is meant by a witness: `task`, `resource`, or both.
fn called(model: &Model, seats: &Seats<'_>, witness: Witness) -> Option<String> {
    let task = witness.task.and_then(|at| seats.seats.get(at)).map(|seat| format!("`{}`", seat.name));
    let resource = witness.resource.map(|at| match model.resources().get(at) {
        Some(resource) => format!("`{}`", resource.name),
        None => "the core".to_owned(),
    });
    match (task, resource) {
        (Some(task), Some(resource)) => Some(format!("{task} in {resource}")),
        (one, other) => one.or(other),
    }
}

/// R of a task in parts; they sum to it.
fn terms(model: &Model, seats: &Seats<'_>, seat: usize, bound: &TaskBound, charged: &Charged) -> Vec<Term> {
    let at = &seats.seats[seat];
    let overheads = model.platform().overheads;
    let most = |witness| called(model, seats, witness).map(|who| format!("most by {who}"));
    let mut terms = vec![term("own", None, at.cost)];
    let kinds = ["spin", "blocking", "remote", "interference"];
    for (kind, (_, witness, time)) in kinds.into_iter().zip(parts(bound)) {
        terms.push(term(kind, most(witness).as_deref(), time));
    }
    terms.push(term("overhead", Some("locks"), charged.locks[seat]));
    terms.push(term("overhead", Some("context switch"), charged.switches[seat]));
    terms.push(term("overhead", Some("platform probe"), charged.probe[seat]));
    terms.push(term("blocking", Some("kernel"), overheads.kernel_blocking));
    terms.push(term("jitter", None, at.task.jitter));
    terms.push(term("overhead", Some("release"), overheads.release));
    terms.retain(|term| !term.time.is_zero() || term.kind == "own");
    terms
}

/// A label at whoever causes most of a part.
fn witnessed(
    fault: Fault,
    model: &Model,
    seats: &Seats<'_>,
    what: &str,
    witness: Witness,
    part: Duration,
) -> Fault {
    let task = witness.task.and_then(|at| seats.seats.get(at));
    let resource = witness.resource.and_then(|at| model.resources().get(at));
    let place = match (task, resource) {
        (Some(seat), Some(resource)) => {
            let is = |section: &taut_model::Section| model.resource(section.resource).name == resource.name;
            let index = seat.task.sections.iter().position(is).unwrap_or(0);
            Place::value(format!("tasks.{}.sections.{index}.longest", seat.name))
        }
        (Some(seat), None) => Place::value(format!("tasks.{}.wcet.value", seat.name)),
        (None, Some(resource)) => Place::key(format!("resources.{}", resource.name)),
        (None, None) => return fault,
    };
    fault.also(place, format!("{what}: {part} in all, {} of it by this", witness.time))
}
