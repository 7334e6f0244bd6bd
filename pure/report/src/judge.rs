// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Turns records into figures and a verdict. The rules of blame are in [`crate::blame`].

use std::collections::{BTreeMap, BTreeSet};

use taut_event::file::{Damage, Run};
use taut_event::{Counter, ObservedPlacement, Stood};
use taut_plan::{Arrival, ClassPlan, CorePlan, FailureRemedy, Plan, TermPlan};
use taut_time::{Duration, Size};

use crate::Ending;
use crate::ages;
use crate::backlog::{Backlogs, Known};
use crate::blame::{self, CoreJobs, Finding, Pending, Stalls};
use crate::decisions::Decisions;
use crate::end;
use crate::figures::{
    ChannelFigures, CoreFigures, Counts, ProbeFigures, ServiceChange, SetUpFigures, TaskFigures, Values,
    ValuesFileFigures,
};
use crate::frame::{ErrorNames, error_names, facts, frame};
use crate::jobs::{self, Early, Job, Open, TaskJobs};
use crate::notes::Notes;
use crate::observations::{JobPanic, Moved, Observations, STOPPED, StateChange};
use crate::outside::Outside;
use crate::pauses::Pauses;
use crate::report::{Lateness, Report};
use crate::verdict::{Breach, Cause, Ended, Forbidden, JobFailures, MAIN, RunVerdict, Warning};
use crate::waits::{Awaited, Waits};

/// The plan's timing of a real-time task.
pub(crate) struct PlannedTiming {
    pub(crate) cpu: u16,
    priority: u8,
    pub(crate) period: u64,
    pub(crate) periodic: bool,
    deadline: u64,
    wcet: u64,
    /// R, if the plan shows it and it is within the deadline.
    bound: Option<u64>,
    /// The time that the plan allows from a release to the first instruction.
    release_overhead: u64,
}

impl PlannedTiming {
    fn of(class: &ClassPlan) -> Option<Self> {
        let ClassPlan::RealTime { cpu, priority, arrival, deadline, wcet, response, terms, .. } = class
        else {
            return None;
        };
        let (period, periodic) = (arrival.period(), matches!(arrival, Arrival::Periodic { .. }));
        let release = |term: &&TermPlan| term.kind == "overhead" && term.of.as_deref() == Some("release");
        Some(Self {
            release_overhead: terms.iter().filter(release).map(|term| term.time.as_ns()).sum(),
            cpu: *cpu,
            priority: *priority,
            period: period.as_ns(),
            periodic,
            deadline: deadline.as_ns(),
            wcet: wcet.as_ns(),
            bound: response.filter(|bound| bound <= deadline).map(Duration::as_ns),
        })
    }

    fn limit(&self) -> u64 {
        self.bound.unwrap_or(self.deadline)
    }

    fn pending(&self, job: &Job) -> Pending {
        pending(job, self.priority, self.wcet)
    }
}

fn pending(job: &Job, priority: u8, wcet: u64) -> Pending {
    let Job { task, number, release, start, complete, cpu, .. } = *job;
    Pending { task, number, priority, release, start, complete, cpu, wcet }
}

/// A job that was released before the records begin, with the earliest release possible. Its own WCET cannot be
/// judged.
fn early(task: usize, priority: u8, job: &Early) -> Pending {
    let &Early { number, start, complete } = job;
    let (start, complete) = (start.unwrap_or(0), complete.unwrap_or(u64::MAX));
    Pending { task, number, priority, release: 0, start, complete, cpu: 0, wcet: u64::MAX }
}

pub(crate) struct Judge<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) seen: Observations,
    pub(crate) planned: Vec<Option<PlannedTiming>>,
    /// The probes' records: CPU, instant of the wake, lateness; by time.
    wakes: Vec<(u16, u64, u64)>,
    pub(crate) stalls: BTreeMap<u16, Stalls>,
    outside: Outside,
    pub(crate) pauses: Pauses,
    pub(crate) backlogs: Backlogs,
    begin: u64,
    last: u64,
    /// If older records were dropped: the records are all that happened after this instant.
    since: Option<u64>,
    /// Whether the threads had real-time priorities.
    has_priorities: bool,
    pub(crate) breaches: Vec<Breach>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) machine: u64,
    /// Late, but the cause may be before the recording.
    pub(crate) not_judged: u64,
    /// Late because a service was paused.
    pub(crate) paused: u64,
    /// By task, the names of its errors.
    errors: ErrorNames,
}

/// How much longer than two of its periods a task may go without a release while others have some. At the end of a
/// run tasks stop one after another, and a stalled machine delays some of them.
const SILENCE_NS: u64 = 1_000_000_000;

/// The machine fact that means that no probe watched the machine.
const NO_PROBE: &str = "lost-priorities";

/// The machine fact that means that threads were not pinned to their CPUs.
const NO_CORES: &str = "lost-cores";

pub(crate) fn judge(plan: &Plan, run: &Run) -> Report {
    let mut records = run.records.clone();
    let history = ages::History::of(plan, &run.records);
    records.extend(ages::chain_ends(plan, &run.records, &history));
    let records = records.as_slice();
    let ((begin, end, last), ending) = (frame(run, records), run.ending());
    let (errors, machine) = error_names(facts(&run.machine));
    let joined = jobs::join(records, plan.tasks.len(), run.since.is_none(), end.unwrap_or(u64::MAX));
    let decisions = Decisions::of(plan, &run.records);
    let mut judge = Judge::new(plan, run, Observations::of(plan, records), (begin, last));
    judge.errors = errors;
    judge.about_the_run(run);
    judge.about_the_machine(&machine);
    judge.about_the_records(&joined);
    let before_jobs = judge.breaches.len();
    let (tasks, found) = judge.tasks(&joined, ending, &decisions);
    let channels: Vec<ChannelFigures> = (0..plan.channels.len()).map(|at| judge.channel(at)).collect();
    let chains = (0..plan.chains.len()).map(|at| judge.chain(at, &tasks, &channels, &history)).collect();
    let changes = judge.changes();
    let clocks = judge.clocks();
    judge.losses_on_cores();
    judge.interference(before_jobs, &machine);
    judge.nothing_shown(&joined);
    let cores = judge.cores();
    judge.not_counted();
    let mut values = std::mem::take(&mut judge.seen.values);
    values.sort_by_key(|value| value.at);
    Report {
        resources: decisions.resources(plan),
        decisions,
        notes: Notes::new(plan, &run.records),
        plan: plan.clone(),
        probes: judge.probes(&machine),
        services: judge.services(),
        changes,
        clocks,
        rested_ns: end::rested_ns(&judge.seen),
        values_file: judge.seen.values_file.map(|(messages, bytes)| ValuesFileFigures { messages, bytes }),
        verdict: judge.verdict(),
        warnings: judge.warnings,
        tasks,
        channels,
        chains,
        cores,
        machine,
        begin,
        duration: last.saturating_sub(begin),
        since: run.since.map_or(0, |since| since.as_ns().saturating_sub(begin)),
        dropped: run.dropped,
        ending,
        jobs: found,
        stalls: judge.wakes,
        values,
    }
}

/// The probes' records, by time.
fn wakes(plan: &Plan, seen: &Observations) -> Vec<(u16, u64, u64)> {
    let cpu_of = |core: u16| plan.cores.get(usize::from(core)).map(|core| core.cpu);
    let wake = |&(core, at, lateness): &(u16, u64, u64)| Some((cpu_of(core)?, at, lateness));
    let mut wakes: Vec<(u16, u64, u64)> = seen.stalls.iter().filter_map(wake).collect();
    wakes.sort_unstable_by_key(|&(cpu, at, _)| (at, cpu));
    wakes
}

/// By CPU, the time for which its probe accounts.
fn stalls(wakes: &[(u16, u64, u64)]) -> BTreeMap<u16, Stalls> {
    let mut by_cpu: BTreeMap<u16, Vec<(u64, u64)>> = BTreeMap::new();
    for &(cpu, at, lateness) in wakes {
        by_cpu.entry(cpu).or_default().push((at, lateness));
    }
    by_cpu.into_iter().map(|(cpu, records)| (cpu, Stalls::new(records))).collect()
}

/// What the judgement of a task's jobs needs to know of the task's core.
#[derive(Clone, Copy)]
struct OnCore<'j> {
    jobs: &'j CoreJobs,
    stalls: &'j Stalls,
    waits: &'j Waits<'j>,
}

impl<'a> Judge<'a> {
    fn new(plan: &'a Plan, run: &Run, seen: Observations, (begin, last): (u64, u64)) -> Self {
        let wakes = wakes(plan, &seen);
        let stalls = stalls(&wakes);
        Self {
            plan,
            planned: plan.tasks.iter().map(|task| PlannedTiming::of(&task.class)).collect(),
            outside: Outside::of(plan, (&run.records, &seen), &stalls),
            pauses: Pauses::of(plan, &seen, run.since.is_none()),
            backlogs: Backlogs::default(),
            seen,
            wakes,
            stalls,
            begin,
            last,
            since: run.since.map(taut_time::Instant::as_ns),
            has_priorities: run.machine.lines().all(|line| !line.starts_with(NO_PROBE)),
            breaches: Vec::new(),
            warnings: Vec::new(),
            machine: 0,
            not_judged: 0,
            paused: 0,
            errors: BTreeMap::new(),
        }
    }

    pub(crate) fn since_begin(&self, at: u64) -> u64 {
        at.saturating_sub(self.begin)
    }

    /// Whether an instant is before the recording.
    pub(crate) fn is_unrecorded(&self, at: u64) -> bool {
        self.since.is_some_and(|since| at < since)
    }

    fn about_the_run(&mut self, run: &Run) {
        // First, because the reader needs it to interpret the other findings.
        let damaged =
            |damage: Damage| Breach::Damaged { byte: damage.at, bytes: damage.bytes, cut: damage.cut };
        self.breaches.extend(run.damage.map(damaged));
        let ended = Ended::of(run.ending(), self.plan);
        // The missing end follows from the damage.
        let ended = ended.filter(|ended| run.damage.is_none() || *ended != Ended::Unrecorded);
        self.breaches.extend(ended.map(|ending| Breach::Ended { ending }));
        self.breaches.extend(self.seen.stood.iter().map(|stood| end::stood(self.plan, stood)));
        self.breaches.extend(self.seen.rests.iter().filter_map(end::not_at_rest));
        self.warnings.extend(self.seen.rests.iter().filter_map(end::rest_heap));
        if run.unwritten > 0 {
            self.breaches.push(Breach::Unwritten { records: run.unwritten, os_error: run.os_error });
        }
        if let Some(since) = run.since {
            let at_ns = self.since_begin(since.as_ns());
            self.warnings.push(Warning::Since { at_ns, records: run.dropped });
        }
        if self.seen.values_lost > 0 {
            self.warnings.push(Warning::ValuesLost { records: self.seen.values_lost });
        }
        if !self.plan.proven {
            self.warnings.push(Warning::NotProven);
        }
        let records = run.unknown + self.seen.strange;
        if records > 0 {
            self.breaches.push(Breach::Unknown { records });
        }
    }

    /// Reports jobs with missing or impossible records, and tasks without releases: they are not shown to keep their
    /// bounds.
    fn about_the_records(&mut self, joined: &[TaskJobs]) {
        let tasks = joined.iter().zip(&self.planned).zip(&self.plan.tasks).enumerate();
        let real_time =
            tasks.filter_map(|(at, ((found, planned), task))| Some((at, found, planned.as_ref()?, task)));
        let newest = real_time.clone().flat_map(|(_, found, ..)| found.jobs.last());
        let newest = newest.map(|job| job.release).max();
        for (at, found, planned, task) in real_time {
            if found.faulty > 0 {
                self.breaches.push(Breach::Faulty { task: task.name.clone(), jobs: found.faulty });
            }
            let stopped = task.service.as_ref().is_some_and(|service| {
                let of = self.plan.services.iter().position(|other| other.name == *service);
                let mut changes = self.seen.services.iter();
                changes.any(|change| Some(change.service.into()) == of && change.state == STOPPED)
            });
            let stopped = stopped || self.seen.tasks[at].panics.iter().any(JobPanic::ends_task);
            let ClassPlan::RealTime { arrival: Arrival::Periodic { offset, .. }, .. } = &task.class else {
                continue;
            };
            let due = match (found.newest, self.since) {
                // Its last release was before the records.
                (None, Some(since)) => self.since_begin(since),
                (newest, _) => {
                    let number = newest.map_or(0, |newest| newest.saturating_add(1));
                    planned.period.saturating_mul(number).saturating_add(offset.as_ns())
                }
            };
            let patience = planned.period.saturating_mul(2).saturating_add(SILENCE_NS);
            let newest = newest.map_or(0, |at| self.since_begin(at));
            if !stopped && newest.saturating_sub(due) > patience {
                self.breaches.push(Breach::Silent { task: task.name.clone(), at_ns: due });
            }
        }
    }

    /// The runtime adds what it lacked to the machine's facts: `lost-priorities = why`, `no-switch-mark = why`.
    fn about_the_machine(&mut self, facts: &[(String, String)]) {
        for (key, why) in facts {
            if let Some(guarantee) = key.strip_prefix("lost-") {
                self.warnings.push(Warning::Degraded { guarantee: guarantee.to_owned(), why: why.clone() });
            }
            if key == "no-switch-mark" {
                let look = facts.iter().find(|(key, _)| key == "switch-look-ns");
                let look_ns = look.and_then(|(_, ns)| ns.parse().ok());
                self.warnings.push(Warning::NoSwitchMark { why: why.clone(), look_ns });
            }
        }
    }

    fn tasks(
        &mut self,
        joined: &[TaskJobs],
        ending: Ending,
        decisions: &Decisions,
    ) -> (Vec<TaskFigures>, Vec<Vec<(Job, Lateness)>>) {
        let cores = self.core_jobs(joined);
        let places = self.planned.iter().map(|planned| planned.as_ref().map(|of| (of.cpu, of.priority)));
        let places: Vec<Option<(u16, u8)>> = places.collect();
        let known = Known { plan: self.plan, seen: &self.seen, jobs: joined, cores: &cores, places: &places };
        self.backlogs = Backlogs::of(&known);
        let whole = self.since.is_none();
        let waits = Waits::new(self.plan, places, joined, &cores, (decisions, whole));
        let planned = std::mem::take(&mut self.planned);
        let all = joined.iter().zip(&planned).enumerate().map(|(at, (found, planned))| {
            let mut figures = self.figures(at, found, planned.as_ref(), ending);
            let mut judged: Vec<(Job, Lateness)> =
                found.jobs.iter().map(|job| (*job, Lateness::InTime)).collect();
            if let Some(planned) = planned {
                let empty = (CoreJobs::default(), Stalls::default());
                let jobs = cores.get(&planned.cpu).unwrap_or(&empty.0);
                let stalls = &self.stalls.get(&planned.cpu).cloned().unwrap_or(empty.1);
                let on_core = OnCore { jobs, stalls, waits: &waits };
                for (job, lateness) in &mut judged {
                    *lateness = self.job(&mut figures, planned, job, None, on_core);
                }
                self.open_jobs(at, &mut figures, planned, found, on_core);
                self.conduct(&mut figures, planned, found, stalls);
                self.sleeps(at, &figures, found, stalls);
            }
            self.losses(at, &figures, planned.is_some());
            (figures, judged)
        });
        let all = all.collect::<Vec<_>>();
        self.planned = planned;
        all.into_iter().unzip()
    }

    /// By CPU, what ran there: jobs, and the turns of best-effort tasks in their servers, which took time from other
    /// tasks.
    fn core_jobs(&self, joined: &[TaskJobs]) -> BTreeMap<u16, CoreJobs> {
        let mut cores: BTreeMap<u16, Vec<Pending>> = BTreeMap::new();
        let tasks = joined.iter().zip(&self.planned).zip(&self.plan.tasks).enumerate();
        for (at, ((found, planned), task)) in tasks {
            let (cpu, priority) = match (planned, self.plan.server_of(&task.name)) {
                (Some(planned), _) => (planned.cpu, planned.priority),
                (None, Some(server)) => (server.cpu, server.priority),
                (None, None) => continue,
            };
            let wcet = planned.as_ref().map_or(u64::MAX, |planned| planned.wcet);
            let on_core = cores.entry(cpu).or_default();
            on_core.extend(found.jobs.iter().map(|job| pending(job, priority, wcet)));
            on_core.extend(found.early.iter().map(|job| early(at, priority, job)));
        }
        cores.into_iter().map(|(cpu, jobs)| (cpu, CoreJobs::new(jobs))).collect()
    }

    /// Judges the jobs that are not complete when the records end. One that may still meet its deadline is not late
    /// yet.
    fn open_jobs(
        &mut self,
        task: usize,
        figures: &mut TaskFigures,
        planned: &PlannedTiming,
        found: &TaskJobs,
        on_core: OnCore<'_>,
    ) {
        for open in &found.open {
            if self.last.saturating_sub(open.release) > planned.deadline {
                let Open { number, release, .. } = *open;
                let complete = self.last;
                let job = Job { task, number, release, start: release, complete, cpu: 0, missed: true };
                self.job(figures, planned, &job, Some(open), on_core);
            }
        }
    }

    fn figures(
        &self,
        at: usize,
        found: &TaskJobs,
        planned: Option<&PlannedTiming>,
        ending: Ending,
    ) -> TaskFigures {
        let seen = &self.seen.tasks[at];
        let is_of_jobs =
            |(count, _): &(Counter, u64)| !matches!(count, Counter::SetUpHeap | Counter::SetUpHeapPeak);
        let counted = ending != Ending::Unrecorded && seen.counts.iter().any(is_of_jobs);
        let task = &self.plan.tasks[at];
        let (test, set_up) = match &task.class {
            ClassPlan::RealTime { test, set_up, .. } => (Some(test.clone()), *set_up),
            ClassPlan::BestEffort {} => (None, None),
        };
        let taken = seen.count(Counter::SetUpHeap).zip(seen.count(Counter::SetUpHeapPeak));
        let bound = set_up.map(Size::as_bytes);
        TaskFigures {
            name: task.name.clone(),
            cpu: planned.map(|p| p.cpu),
            priority: planned.map(|p| p.priority),
            period_ns: planned.map(|p| p.period),
            deadline_ns: planned.map(|p| p.deadline),
            wcet_ns: planned.map(|p| p.wcet),
            bound_ns: planned.and_then(|p| p.bound),
            test,
            releases: if planned.is_some() { found.releases } else { 0 },
            completions: if planned.is_some() { found.jobs.len() as u64 } else { 0 },
            skipped: found.skipped,
            overruns: seen.overruns,
            exhausted: seen.exhausted,
            missed: 0,
            late_machine: 0,
            late_ours: 0,
            late_not_judged: 0,
            late_outside: 0,
            beyond_wcet: 0,
            response: Values::of(found.jobs.iter().map(Job::response)).spread(),
            jitter: Values::of(found.jobs.iter().map(Job::jitter)).spread(),
            execution: Values::of(found.jobs.iter().map(|job| job.cpu)).spread(),
            counts: counted.then(|| Counts {
                heap_use: seen.count(Counter::HeapUse),
                minor_faults: seen.count(Counter::MinorFaults),
                major_faults: seen.count(Counter::MajorFaults),
                blocked: seen.count(Counter::Blocked),
                preempted: seen.count(Counter::Preempted),
            }),
            set_up_heap: taken.map(|(in_use, peak)| SetUpFigures { in_use, peak, bound }),
            records_lost: seen.lost,
        }
    }

    /// Judges one job, complete or not.
    fn job(
        &mut self,
        figures: &mut TaskFigures,
        planned: &PlannedTiming,
        job: &Job,
        open: Option<&Open>,
        on_core: OnCore<'_>,
    ) -> Lateness {
        let response = job.response();
        let unfinished = open.is_some();
        let missed = unfinished || job.missed || response > planned.deadline;
        figures.missed += u64::from(missed);
        if !missed && response <= planned.limit() {
            return Lateness::InTime;
        }
        let late = planned.pending(job);
        let awaited: Vec<Awaited> =
            on_core.jobs.before(&late).flat_map(|job| on_core.waits.of(job.task, job.number)).collect();
        if self.may_be_unrecorded(planned, &late, &awaited, on_core.jobs) {
            figures.late_not_judged += 1;
            self.not_judged += 1;
            return Lateness::NotJudged;
        }
        let others = self.stalls_elsewhere(&awaited);
        let (stolen_ns, wcet) = match on_core.jobs.judge(&late, planned.bound, on_core.stalls, &others) {
            Finding::Machine => {
                figures.late_machine += 1;
                self.machine += 1;
                return Lateness::Machine;
            }
            Finding::Ours { stolen, wcet } => (stolen, wcet),
        };
        let outside = self.outside_cause(planned, &late, (stolen_ns, wcet.is_some()), on_core);
        let lateness = if outside.is_some() { Lateness::Outside } else { Lateness::Ours };
        *(if outside.is_some() { &mut figures.late_outside } else { &mut figures.late_ours }) += 1;
        self.breaches.push(Breach::Response {
            task: figures.name.clone(),
            job: job.number,
            at_ns: self.since_begin(job.release),
            response_ns: response,
            limit_ns: planned.limit(),
            missed,
            unfinished,
            stolen_ns,
            cause: outside.unwrap_or_else(|| self.own_cause(planned, job, (open, wcet), on_core.jobs)),
        });
        lateness
    }

    /// Whether the cause of a lateness may be before the recording. Lateness without a proven bound is our fault,
    /// whatever happened before.
    fn may_be_unrecorded(
        &self,
        planned: &PlannedTiming,
        late: &Pending,
        awaited: &[Awaited],
        on_core: &CoreJobs,
    ) -> bool {
        let begin = on_core.busy_since(late.priority, late.release);
        let first = awaited.iter().map(|awaited| awaited.from).fold(begin, u64::min);
        planned.bound.is_some() && self.is_unrecorded(first)
    }

    /// The cause of a lateness that is our fault. `wcet` is the job of the busy window that used more than its WCET.
    fn own_cause(
        &self,
        planned: &PlannedTiming,
        job: &Job,
        (open, wcet): (Option<&Open>, Option<(usize, u64)>),
        on_core: &CoreJobs,
    ) -> Cause {
        match (wcet, planned.bound, open) {
            (Some((of, used_ns)), ..) => Cause::Wcet {
                of: self.plan.tasks[of].name.clone(),
                wcet_ns: match &self.plan.tasks[of].class {
                    ClassPlan::RealTime { wcet, .. } => wcet.as_ns(),
                    ClassPlan::BestEffort {} => 0,
                },
                used_ns,
            },
            (None, None, _) => Cause::NotProven,
            (None, Some(_), Some(open)) => self.unfinished(job.task, planned, open, on_core),
            (None, Some(_), None) => {
                let (late_ns, planned_ns) =
                    (on_core.stood_free(&planned.pending(job)), planned.release_overhead);
                match late_ns > planned_ns {
                    true if !self.has_priorities => Cause::NoPriority { late_ns },
                    true => Cause::Release { late_ns, planned_ns },
                    false => Cause::Unknown,
                }
            }
        }
    }

    /// What the records say about a job that is not complete when they end.
    fn unfinished(&self, task: usize, planned: &PlannedTiming, open: &Open, on_core: &CoreJobs) -> Cause {
        let ran = |start| self.last.saturating_sub(start).saturating_sub(on_core.within(start));
        let of_it = |stood: &&Stood| usize::from(stood.task) == task && stood.job == open.number;
        Cause::Unfinished {
            began_ns: open.start.map(|start| start.saturating_sub(open.release)),
            ran_ns: open.start.map_or(0, ran),
            wcet_ns: planned.wcet,
            stood: self.seen.stood.iter().rfind(of_it).map(|stood| end::place(self.plan, stood)),
        }
    }

    /// The cause from outside, if any, of a lateness that would otherwise be our fault.
    fn outside_cause(
        &mut self,
        planned: &PlannedTiming,
        late: &Pending,
        (stolen_ns, wcet): (u64, bool),
        OnCore { jobs, waits, .. }: OnCore<'_>,
    ) -> Option<Cause> {
        let from = jobs.busy_since(late.priority, late.release);
        let due = late.release.saturating_add(planned.limit());
        let unexplained = late.complete.saturating_sub(due).saturating_sub(stolen_ns);
        let awaited = jobs.before(late).flat_map(|job| waits.of(job.task, job.number));
        let cpus: Vec<u16> = awaited.map(|awaited| awaited.cpu).chain([planned.cpu]).collect();
        self.outside.cause((from, late.complete), &cpus, unexplained, wcet)
    }

    /// The stalls of other cores for which a late job, or a job ahead of it, waited.
    fn stalls_elsewhere(&self, awaited: &[Awaited]) -> Vec<(u64, u64)> {
        let inside = awaited
            .iter()
            .filter_map(|&Awaited { cpu, from, to }| Some(self.stalls.get(&cpu)?.inside(from, to)));
        inside.flatten().collect()
    }

    /// Threads that were moved from outside, as the runtime observed it, or as the CPUs in their records show.
    fn moves(&self, machine: &[(String, String)]) -> Vec<Breach> {
        let pinned = machine.iter().all(|(key, _)| key != NO_CORES);
        let mut found: Vec<Breach> = Vec::new();
        for (core, seen) in self.plan.cores.iter().zip(&self.seen.cores) {
            found.extend(seen.workers_moved.iter().map(|(number, moved)| {
                let thread = if *number == 0 { "dispatcher".to_owned() } else { format!("thread {number}") };
                self.moved(None, Some(thread), core.cpu, *moved)
            }));
        }
        for (at, planned) in self.planned.iter().enumerate() {
            let Some(planned) = planned else { continue };
            let seen = &self.seen.tasks[at];
            // It recorded another CPU.
            let placement = ObservedPlacement { policy: 1, priority: planned.priority, is_unpinned: true };
            let elsewhere = seen.elsewhere.filter(|_| pinned).map(|at| Moved { at, placement });
            let task = || Some(self.plan.tasks[at].name.clone());
            let moved = seen.moved.or(elsewhere);
            found.extend(moved.map(|moved| self.moved(task(), None, planned.cpu, moved)));
        }
        for (core, seen) in self.plan.cores.iter().zip(&self.seen.cores) {
            let threads = [(MAIN, seen.main_moved), ("probe", seen.probe_moved)];
            let threads = threads.into_iter().filter_map(|(thread, moved)| Some((thread, moved?)));
            found.extend(
                threads.map(|(thread, moved)| self.moved(None, Some(thread.to_owned()), core.cpu, moved)),
            );
        }
        found
    }

    fn moved(&self, task: Option<String>, thread: Option<String>, cpu: u16, moved: Moved) -> Breach {
        let ObservedPlacement { policy, priority, is_unpinned } = moved.placement;
        Breach::Moved {
            task,
            thread,
            cpu,
            policy: policy.into(),
            priority: priority.into(),
            unpinned: is_unpinned,
            at_ns: self.since_begin(moved.at),
        }
    }

    /// Reports interference from outside before the lateness that it caused: its breaches go to the position
    /// `before_jobs`.
    fn interference(&mut self, before_jobs: usize, machine: &[(String, String)]) {
        let mut causes = self.moves(machine);
        causes.extend(self.outside.breaches(self.begin));
        self.breaches.splice(before_jobs..before_jobs, causes);
        self.warnings.extend(self.outside.warnings());
    }

    /// Records that the dispatchers of cores lost.
    fn losses_on_cores(&mut self) {
        for (core, seen) in self.plan.cores.iter().zip(&self.seen.cores) {
            if seen.lost > 0 {
                self.breaches.push(Breach::LostOnCore { cpu: core.cpu, records: seen.lost });
            }
        }
    }

    fn nothing_shown(&mut self, joined: &[TaskJobs]) {
        let real_time = self.planned.iter().any(Option::is_some);
        if real_time && joined.iter().all(|task| task.jobs.is_empty()) {
            self.breaches.push(Breach::Nothing);
        }
    }

    /// The counts of cores as a whole, and their page faults.
    fn cores(&mut self) -> Vec<CoreFigures> {
        let cores = self.plan.cores.iter().zip(&self.seen.cores).filter_map(|(core, seen)| {
            let (minor_faults, major_faults) =
                (seen.count(Counter::MinorFaults)?, seen.count(Counter::MajorFaults)?);
            Some(CoreFigures { cpu: core.cpu, minor_faults, major_faults })
        });
        let cores: Vec<CoreFigures> = cores.collect();
        for core in &cores {
            let (cpu, count) = (core.cpu, core.minor_faults.saturating_add(core.major_faults));
            if count > 0 {
                self.warnings.push(Warning::CoreFaults { cpu, count });
            }
        }
        cores
    }

    /// Warns of findings that count as nobody's fault.
    fn not_counted(&mut self) {
        if self.not_judged > 0 {
            self.warnings.push(Warning::NotJudged { findings: self.not_judged });
        }
        if self.paused > 0 {
            self.warnings.push(Warning::Paused { findings: self.paused });
        }
    }

    /// The verdict; moves the breaches into it.
    fn verdict(&mut self) -> RunVerdict {
        match (self.breaches.is_empty(), self.machine) {
            (true, 0) => RunVerdict::Kept,
            (true, late) => RunVerdict::KeptButMachine(late),
            (false, _) => RunVerdict::Broken(std::mem::take(&mut self.breaches)),
        }
    }

    /// Without real-time priorities there is no probe: no thread above the tasks measured how late the machine was.
    fn probes(&self, machine: &[(String, String)]) -> Vec<ProbeFigures> {
        let watched = machine.iter().all(|(key, _)| key != NO_PROBE);
        let probe = |core: &CorePlan| {
            let of_core = self.wakes.iter().filter(|&&(cpu, _, _)| cpu == core.cpu);
            let of_core = of_core.map(|&(_, _, lateness)| lateness);
            ProbeFigures {
                cpu: core.cpu,
                stalls: of_core.clone().count() as u64,
                total_ns: of_core.clone().fold(0, u64::saturating_add),
                max_ns: of_core.max().unwrap_or(0),
            }
        };
        self.plan.cores.iter().filter(|_| watched).map(probe).collect()
    }

    fn services(&self) -> Vec<ServiceChange> {
        let change = |change: &StateChange| {
            let service = self.plan.services.get(usize::from(change.service))?.name.clone();
            Some(ServiceChange { at_ns: self.since_begin(change.at), service, state: change.state })
        };
        self.seen.services.iter().filter_map(change).collect()
    }

    /// Forbidden actions of a task's thread, and jobs beyond their WCET.
    fn conduct(
        &mut self,
        figures: &mut TaskFigures,
        planned: &PlannedTiming,
        found: &TaskJobs,
        stalls: &Stalls,
    ) {
        // A tracer makes a thread use processor time that is not its own.
        let over = found.jobs.iter().filter(|job| {
            blame::exceeds(&planned.pending(job), stalls) && !self.outside.is_held(job.start, job.complete)
        });
        if let Some(used_ns) = over.clone().map(|job| job.cpu).max() {
            let (task, jobs) = (figures.name.clone(), over.count() as u64);
            figures.beyond_wcet = jobs;
            self.warnings.push(Warning::Wcet { task, wcet_ns: planned.wcet, used_ns, jobs });
        }
        let counts = figures.counts.unwrap_or_default();
        for (what, count) in [
            (Forbidden::HeapUse, counts.heap_use),
            (Forbidden::PageFault, counts.faults()),
            (Forbidden::BlockingCall, counts.blocked),
        ] {
            if let Some(count) = count.filter(|count| *count > 0) {
                self.warnings.push(Warning::Conduct { task: figures.name.clone(), what, count });
            }
        }
    }

    /// Jobs that slept while they held a resource. If the core's probe stood still as well, the job may instead have
    /// been stopped, from outside or by the machine: that is a warning, not a breach.
    fn sleeps(&mut self, at: usize, figures: &TaskFigures, found: &TaskJobs, stalls: &Stalls) {
        let (mut slept, mut stopped) = (0u64, 0u64);
        let early: BTreeSet<u64> = found.early.iter().map(|job| job.number).collect();
        let starts: BTreeMap<u64, u64> = found.jobs.iter().map(|job| (job.number, job.start)).collect();
        for sleep in &self.seen.tasks[at].slept {
            // The judgement needs the probe's records from the job's start on, but the job may have started before the
            // records.
            if early.contains(&sleep.job) {
                self.not_judged = self.not_judged.saturating_add(sleep.times);
                continue;
            }
            let start = starts.get(&sleep.job).copied().unwrap_or(sleep.at);
            let stalled = stalls.stolen(start, sleep.at) > 0;
            let times = if stalled { &mut stopped } else { &mut slept };
            *times = times.saturating_add(sleep.times);
        }
        let task = || figures.name.clone();
        if slept > 0 {
            self.breaches.push(Breach::Slept { task: task(), times: slept });
        }
        if stopped > 0 {
            self.warnings.push(Warning::Stopped { task: task(), times: stopped });
        }
    }

    /// Errors of jobs, dropped releases, and missing records.
    fn losses(&mut self, at: usize, figures: &TaskFigures, real_time: bool) {
        let name = || figures.name.clone();
        let seen = &self.seen.tasks[at];
        if !seen.failed.is_empty() {
            let names = self.errors.get(&figures.name).map_or(&[][..], Vec::as_slice);
            let errors = seen.failed.iter().filter_map(|(code, jobs)| {
                let at = usize::try_from(code.checked_sub(1)?).ok()?;
                Some(JobFailures { error: names.get(at)?.clone(), jobs: *jobs })
            });
            let (errors, jobs) = (errors.collect(), seen.failed.values().sum());
            self.warnings.push(Warning::Failed { task: name(), jobs, errors });
        }
        let restarts = seen.panics.iter().filter(|panic| !panic.ends_task()).count() as u64;
        if restarts > 0 {
            self.warnings.push(Warning::Restarted { task: name(), jobs: restarts });
        }
        // If the application stopped instead, its ending says so.
        let ends = |panic: &&JobPanic| panic.ends_task() && panic.remedy != Some(FailureRemedy::StopApp);
        for JobPanic { at, job, .. } in seen.panics.iter().filter(ends) {
            let at_ns = self.since_begin(*at);
            self.breaches.push(Breach::Panicked { task: name(), job: *job, at_ns });
        }
        if seen.scope_exceeded > 0 {
            self.warnings.push(Warning::ScopeExceeded { task: name(), times: seen.scope_exceeded });
        }
        if let Some(first) = seen.heap_used.iter().min() {
            let (task, jobs, at_ns) = (name(), seen.heap_used.len() as u64, self.since_begin(*first));
            self.breaches.push(Breach::HeapUsed { task, jobs, at_ns });
        }
        // Other dropped releases are no breach: the overrun policy or a pause dropped them.
        let beyond = &seen.beyond_backlog;
        if let Some(first) = beyond.iter().min() {
            let (task, releases, at_ns) = (name(), beyond.len() as u64, self.since_begin(*first));
            self.breaches.push(Breach::ReleasesDropped { task, releases, at_ns });
        }
        match (figures.records_lost, real_time) {
            (0, _) => {}
            (records, true) => self.breaches.push(Breach::Lost { task: name(), records }),
            (records, false) => self.warnings.push(Warning::Lost { task: name(), records }),
        }
    }
}
