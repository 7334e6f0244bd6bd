// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Turns records into figures and a verdict. The rules of blame are in [`crate::blame`].

use std::collections::{BTreeMap, BTreeSet};

use taut_event::file::{Damage, Run};
use taut_event::{Count, Kind, Record};
use taut_plan::{Arrival, ClassPlan, Plan, Term};
use taut_time::Duration;

use crate::Ending;
use crate::ages;
use crate::blame::{self, CoreJobs, Finding, Pending, Stalls};
use crate::decisions::Decisions;
use crate::end;
use crate::figures::{ChannelFigures, CoreFigures, Counts, ProbeFigures, ServiceChange, TaskFigures, Values};
use crate::frame::{facts, frame};
use crate::jobs::{self, Early, Job, Open, TaskJobs};
use crate::notes::Notes;
use crate::outside::Outside;
use crate::pauses::Pauses;
use crate::report::{Lateness, Report};
use crate::verdict::{Breach, Cause, Ended, MAIN, Verdict, Warning};
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
        let release = |term: &&Term| term.kind == "overhead" && term.of.as_deref() == Some("release");
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
        let Job { task, number, release, start, complete, cpu, .. } = *job;
        Pending { task, number, priority: self.priority, release, start, complete, cpu, wcet: self.wcet }
    }
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
    records: BTreeMap<(Kind, u16), Vec<&'a Record>>,
    pub(crate) planned: Vec<Option<PlannedTiming>>,
    pub(crate) stalls: BTreeMap<u16, Stalls>,
    outside: Outside,
    pub(crate) pauses: Pauses,
    begin: u64,
    last: u64,
    /// If older records were dropped: the records are all that happened after this instant.
    since: Option<u64>,
    pub(crate) breaches: Vec<Breach>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) machine: u64,
    /// Late, but the cause may be before the recording.
    pub(crate) not_judged: u64,
    /// Late because a service was paused.
    pub(crate) paused: u64,
}

/// `State::Stopped` of `taut_run`, as recorded.
const STOPPED: u64 = 3;
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
    let cpu_of = |core: u16| plan.cores.get(usize::from(core)).map(|core| core.cpu);
    let of_kind = |kind| records.iter().filter(move |record| record.kind == kind);
    let mut stalls: Vec<(u16, u64, u64)> = of_kind(Kind::Stall)
        .filter_map(|record| Some((cpu_of(record.subject)?, record.at.as_ns(), record.value)))
        .collect();
    stalls.sort_unstable_by_key(|&(cpu, at, _)| (at, cpu));
    let mut by_kind: BTreeMap<(Kind, u16), Vec<&Record>> = BTreeMap::new();
    for record in records {
        by_kind.entry((record.kind, record.subject)).or_default().push(record);
    }
    let mut by_cpu: BTreeMap<u16, Vec<(u64, u64)>> = BTreeMap::new();
    for &(cpu, at, lateness) in &stalls {
        by_cpu.entry(cpu).or_default().push((at, lateness));
    }
    let by_cpu: BTreeMap<u16, Stalls> =
        by_cpu.into_iter().map(|(cpu, records)| (cpu, Stalls::new(records))).collect();
    let mut judge = Judge {
        plan,
        records: by_kind,
        planned: plan.tasks.iter().map(|task| PlannedTiming::of(&task.class)).collect(),
        outside: Outside::of(plan, &run.records, &by_cpu),
        pauses: Pauses::of(plan, &run.records),
        stalls: by_cpu,
        begin,
        last,
        since: run.since.map(taut_time::Instant::as_ns),
        breaches: Vec::new(),
        warnings: Vec::new(),
        machine: 0,
        not_judged: 0,
        paused: 0,
    };
    let machine = facts(&run.machine);
    judge.about_the_run(run);
    judge.about_the_machine(&machine);
    let joined = jobs::join(records, plan.tasks.len(), run.since.is_none(), end.unwrap_or(u64::MAX));
    judge.about_the_records(&joined);
    let before_jobs = judge.breaches.len();
    let decisions = Decisions::of(plan, &run.records);
    let (tasks, found) = judge.tasks(&joined, ending, &decisions);
    let channels: Vec<ChannelFigures> = (0..plan.channels.len()).map(|at| judge.channel(at)).collect();
    let chains = (0..plan.chains.len()).map(|at| judge.chain(at, &tasks, &channels, &history)).collect();
    let real_time = judge.planned.iter().any(Option::is_some);
    for (at, core) in plan.cores.iter().enumerate() {
        let records = judge.of(Kind::CoreLost, at).map(|record| record.value).fold(0, u64::saturating_add);
        if records > 0 {
            judge.breaches.push(Breach::LostOnCore { cpu: core.cpu, records });
        }
    }
    // Interference from outside comes before the lateness that it caused.
    let mut causes = judge.moves(&machine);
    causes.extend(judge.outside.breaches(begin));
    judge.breaches.splice(before_jobs..before_jobs, causes);
    judge.warnings.extend(judge.outside.warnings());
    if real_time && joined.iter().all(|task| task.jobs.is_empty()) {
        judge.breaches.push(Breach::Nothing);
    }
    let cores = plan.cores.iter().enumerate().filter_map(|(at, core)| {
        let counted = |count: Count| {
            let of_it = of_kind(Kind::CoreCounted)
                .filter(move |record| usize::from(record.subject) == at && record.job == count as u64);
            of_it.map(|record| record.value).reduce(u64::saturating_add)
        };
        let (minor_faults, major_faults) = (counted(Count::MinorFaults)?, counted(Count::MajorFaults)?);
        Some(CoreFigures { cpu: core.cpu, minor_faults, major_faults })
    });
    let cores: Vec<CoreFigures> = cores.collect();
    for core in &cores {
        let (cpu, count) = (core.cpu, core.minor_faults.saturating_add(core.major_faults));
        if count > 0 {
            judge.warnings.push(Warning::CoreFaults { cpu, count });
        }
    }
    if judge.not_judged > 0 {
        judge.warnings.push(Warning::NotJudged { findings: judge.not_judged });
    }
    if judge.paused > 0 {
        judge.warnings.push(Warning::Paused { findings: judge.paused });
    }
    let verdict = match (judge.breaches.is_empty(), judge.machine) {
        (true, 0) => Verdict::Kept,
        (true, late) => Verdict::KeptButMachine(late),
        (false, _) => Verdict::Broken(judge.breaches),
    };
    let mut values: Vec<Record> =
        run.records.iter().filter(|r| matches!(r.kind, Kind::Send | Kind::Receive)).copied().collect();
    values.sort_by_key(|record| record.at);
    // Without real-time priorities there is no probe: no thread above the tasks measured how late the machine was.
    let watched = machine.iter().all(|(key, _)| key != NO_PROBE);
    let probes = plan.cores.iter().filter(|_| watched).map(|core| {
        let of_core = stalls.iter().filter(|&&(cpu, _, _)| cpu == core.cpu).map(|&(_, _, lateness)| lateness);
        ProbeFigures {
            cpu: core.cpu,
            stalls: of_core.clone().count() as u64,
            total_ns: of_core.clone().fold(0, u64::saturating_add),
            max_ns: of_core.max().unwrap_or(0),
        }
    });
    let probes = probes.collect();
    let services = of_kind(Kind::Service).filter_map(|record| {
        let service = plan.services.get(usize::from(record.subject))?.name.clone();
        Some(ServiceChange { at_ns: record.at.as_ns().saturating_sub(begin), service, state: record.value })
    });
    let services = services.collect();
    Report {
        resources: decisions.resources(plan),
        decisions,
        notes: Notes::of(plan, &run.records),
        plan: plan.clone(),
        verdict,
        warnings: judge.warnings,
        tasks,
        channels,
        chains,
        cores,
        probes,
        services,
        machine,
        begin,
        duration: last.saturating_sub(begin),
        since: run.since.map_or(0, |since| since.as_ns().saturating_sub(begin)),
        dropped: run.dropped,
        ending,
        rested_ns: end::rested_ns(&run.records),
        jobs: found,
        stalls,
        values,
    }
}

impl Judge<'_> {
    /// The records of this kind and subject (position in the plan), in the order in which they were drained.
    pub(crate) fn of(&self, kind: Kind, subject: usize) -> impl Iterator<Item = Record> + Clone + '_ {
        let found = u16::try_from(subject).ok().and_then(|subject| self.records.get(&(kind, subject)));
        found.into_iter().flatten().map(|record| **record)
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
        self.breaches.extend(run.records.iter().filter_map(|record| end::stood(self.plan, record)));
        self.breaches.extend(run.records.iter().filter_map(end::not_at_rest));
        self.warnings.extend(run.records.iter().filter_map(end::rest_heap));
        if run.unwritten > 0 {
            self.breaches.push(Breach::Unwritten { records: run.unwritten, os_error: run.os_error });
        }
        if let Some(since) = run.since {
            let at_ns = self.since_begin(since.as_ns());
            self.warnings.push(Warning::Since { at_ns, records: run.dropped });
        }
        if !self.plan.proven {
            self.warnings.push(Warning::NotProven);
        }
        let tasks = self.plan.tasks.len();
        let strange = |record: &&Record| {
            matches!(record.kind, Kind::Release | Kind::Start | Kind::Complete | Kind::Skip)
                && usize::from(record.subject) >= tasks
        };
        let records = run.unknown + run.records.iter().filter(strange).count() as u64;
        if records > 0 {
            self.breaches.push(Breach::Unknown { records });
        }
    }

    /// Reports jobs with missing or impossible records, and tasks without releases: they are not shown to keep their
    /// bounds.
    fn about_the_records(&mut self, joined: &[TaskJobs]) {
        let tasks = joined.iter().zip(&self.planned).zip(&self.plan.tasks);
        let real_time = tasks.filter_map(|((found, planned), task)| Some((found, planned.as_ref()?, task)));
        let newest = real_time.clone().flat_map(|(found, ..)| found.jobs.last()).map(|job| job.release).max();
        for (found, planned, task) in real_time {
            if found.faulty > 0 {
                self.breaches.push(Breach::Faulty { task: task.name.clone(), jobs: found.faulty });
            }
            let stopped = task.service.as_ref().is_some_and(|service| {
                let of = self.plan.services.iter().position(|other| other.name == *service);
                of.is_some_and(|of| self.of(Kind::Service, of).any(|record| record.value == STOPPED))
            });
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
        let mut cores: BTreeMap<u16, Vec<Pending>> = BTreeMap::new();
        let tasks = joined.iter().zip(&self.planned).zip(&self.plan.tasks).enumerate();
        for (at, ((found, planned), task)) in tasks {
            let Some(planned) = planned else {
                // The turns of a best-effort task in its server, which took time from other tasks.
                if let Some(server) = self.plan.server_of(&task.name) {
                    let turn = |job: &Job| {
                        let Job { task, number, release, start, complete, cpu, .. } = *job;
                        Pending {
                            task,
                            number,
                            priority: server.priority,
                            release,
                            start,
                            complete,
                            cpu,
                            wcet: u64::MAX,
                        }
                    };
                    let on_core = cores.entry(server.cpu).or_default();
                    on_core.extend(found.jobs.iter().map(turn));
                    on_core.extend(found.early.iter().map(|job| early(at, server.priority, job)));
                }
                continue;
            };
            let on_core = cores.entry(planned.cpu).or_default();
            on_core.extend(found.jobs.iter().map(|job| planned.pending(job)));
            on_core.extend(found.early.iter().map(|job| early(at, planned.priority, job)));
        }
        let cores: BTreeMap<u16, CoreJobs> =
            cores.into_iter().map(|(cpu, jobs)| (cpu, CoreJobs::new(jobs))).collect();
        let places = self.planned.iter().map(|planned| planned.as_ref().map(|of| (of.cpu, of.priority)));
        let whole = self.since.is_none();
        let waits = Waits::new(self.plan, places.collect(), joined, &cores, (decisions, whole));
        let planned = std::mem::take(&mut self.planned);
        let all = joined.iter().zip(&planned).enumerate().map(|(at, (found, planned))| {
            let mut figures = self.figures(at, found, planned.as_ref(), ending);
            let mut judged: Vec<(Job, Lateness)> =
                found.jobs.iter().map(|job| (*job, Lateness::InTime)).collect();
            if let Some(planned) = planned {
                let empty = (CoreJobs::default(), Stalls::default());
                let on_core = cores.get(&planned.cpu).unwrap_or(&empty.0);
                let stalls = self.stalls.get(&planned.cpu).cloned().unwrap_or(empty.1);
                for (job, lateness) in &mut judged {
                    *lateness = self.job(&mut figures, planned, job, None, (on_core, &stalls, &waits));
                }
                for open in &found.open {
                    // A job that may still meet its deadline is not late yet.
                    if self.last.saturating_sub(open.release) > planned.deadline {
                        let (number, release, complete) = (open.number, open.release, self.last);
                        let start = release;
                        let job = Job { task: at, number, release, start, complete, cpu: 0, missed: true };
                        let place = (on_core, &stalls, &waits);
                        self.job(&mut figures, planned, &job, Some(open), place);
                    }
                }
                self.conduct(&mut figures, planned, found, &stalls);
                self.sleeps(at, &figures, found, &stalls);
            }
            self.losses(at, &figures, planned.is_some());
            (figures, judged)
        });
        let all = all.collect::<Vec<_>>();
        self.planned = planned;
        all.into_iter().unzip()
    }

    fn figures(
        &self,
        at: usize,
        found: &TaskJobs,
        planned: Option<&PlannedTiming>,
        ending: Ending,
    ) -> TaskFigures {
        let sum = |kind| self.of(kind, at).map(|record| record.value).fold(0, u64::saturating_add);
        let count = |count: Count| {
            let mut of_it = self.of(Kind::Counted, at).filter(move |record| record.job == count as u64);
            // A count that was not taken is not zero.
            let first = of_it.next()?.value;
            Some(of_it.map(|record| record.value).fold(first, u64::saturating_add))
        };
        let counted = ending != Ending::Unrecorded && self.of(Kind::Counted, at).next().is_some();
        let task = &self.plan.tasks[at];
        let test = match &task.class {
            ClassPlan::RealTime { test, .. } => Some(test.clone()),
            ClassPlan::BestEffort {} => None,
        };
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
            overruns: self.of(Kind::Overrun, at).count() as u64,
            exhausted: self.of(Kind::Exhausted, at).count() as u64,
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
                heap_use: count(Count::HeapUse),
                minor_faults: count(Count::MinorFaults),
                major_faults: count(Count::MajorFaults),
                blocked: count(Count::Blocked),
                preempted: count(Count::Preempted),
            }),
            records_lost: sum(Kind::Lost),
        }
    }

    /// Judges one job, complete or not.
    fn job(
        &mut self,
        figures: &mut TaskFigures,
        planned: &PlannedTiming,
        job: &Job,
        open: Option<&Open>,
        (on_core, stalls, waits): (&CoreJobs, &Stalls, &Waits<'_>),
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
            on_core.before(&late).flat_map(|job| waits.of(job.task, job.number)).collect();
        // Lateness without a proven bound is our fault, whatever happened before.
        if planned.bound.is_some() {
            let begin = on_core.busy_since(late.priority, late.release);
            let first = awaited.iter().map(|awaited| awaited.from).fold(begin, u64::min);
            if self.is_unrecorded(first) {
                figures.late_not_judged += 1;
                self.not_judged += 1;
                return Lateness::NotJudged;
            }
        }
        let others = self.stalls_elsewhere(&awaited);
        let (stolen_ns, wcet) = match on_core.judge(&late, planned.bound, stalls, &others) {
            Finding::Machine => {
                figures.late_machine += 1;
                self.machine += 1;
                return Lateness::Machine;
            }
            Finding::Ours { stolen, wcet } => (stolen, wcet),
        };
        let outside = self.outside_cause(planned, on_core, &late, (stolen_ns, wcet.is_some()), waits);
        let lateness = if outside.is_some() { Lateness::Outside } else { Lateness::Ours };
        *(if outside.is_some() { &mut figures.late_outside } else { &mut figures.late_ours }) += 1;
        let ours = || match (wcet, planned.bound, open) {
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
                if late_ns > planned_ns { Cause::Release { late_ns, planned_ns } } else { Cause::Unknown }
            }
        };
        let cause = outside.unwrap_or_else(ours);
        let breach = Breach::Response {
            task: figures.name.clone(),
            job: job.number,
            at_ns: self.since_begin(job.release),
            response_ns: response,
            limit_ns: planned.limit(),
            missed,
            unfinished,
            stolen_ns,
            cause,
        };
        self.breaches.push(breach);
        lateness
    }

    /// What the records say about a job that is not complete when they end.
    fn unfinished(&self, task: usize, planned: &PlannedTiming, open: &Open, on_core: &CoreJobs) -> Cause {
        let ran = |start| self.last.saturating_sub(start).saturating_sub(on_core.within(start));
        let stood = self.of(Kind::Stood, task).filter(|record| record.job == open.number);
        Cause::Unfinished {
            began_ns: open.start.map(|start| start.saturating_sub(open.release)),
            ran_ns: open.start.map_or(0, ran),
            wcet_ns: planned.wcet,
            stood: stood.last().and_then(|record| end::place(self.plan, &record)),
        }
    }

    /// The cause from outside, if any, of a lateness that would otherwise be our fault.
    fn outside_cause(
        &mut self,
        planned: &PlannedTiming,
        on_core: &CoreJobs,
        late: &Pending,
        (stolen_ns, wcet): (u64, bool),
        waits: &Waits<'_>,
    ) -> Option<Cause> {
        let from = on_core.busy_since(late.priority, late.release);
        let due = late.release.saturating_add(planned.limit());
        let unexplained = late.complete.saturating_sub(due).saturating_sub(stolen_ns);
        let awaited = on_core.before(late).flat_map(|job| waits.of(job.task, job.number));
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
        let tasks = self.planned.iter().enumerate();
        let tasks = tasks.filter_map(|(at, planned)| Some((Kind::Moved, at, planned.as_ref()?.cpu)));
        let cores = self.plan.cores.iter().enumerate();
        let probes = cores.clone().map(|(at, core)| (Kind::ProbeMoved, at, core.cpu));
        let pinned = machine.iter().all(|(key, _)| key != NO_CORES);
        let moved = |task, thread: Option<String>, cpu, record: Record| Breach::Moved {
            task,
            thread,
            cpu,
            policy: record.value & 0xff,
            priority: record.value >> 8 & 0xff,
            unpinned: record.value >> 16 & 1 == 1,
            at_ns: self.since_begin(record.at.as_ns()),
        };
        let mut found: Vec<Breach> = Vec::new();
        for (at, core) in cores {
            let mut threads: BTreeMap<u64, Record> = BTreeMap::new();
            for record in self.of(Kind::CoreMoved, at) {
                threads.entry(record.job).or_insert(record);
            }
            found.extend(threads.into_iter().map(|(number, record)| {
                let thread = if number == 0 { "dispatcher".to_owned() } else { format!("thread {number}") };
                moved(None, Some(thread), core.cpu, record)
            }));
        }
        for (kind, at, cpu) in tasks.chain(probes) {
            let task = (kind == Kind::Moved).then(|| self.plan.tasks[at].name.clone());
            let thread = (kind == Kind::ProbeMoved).then(|| "probe".to_owned());
            let mains = |record: &Record| kind == Kind::ProbeMoved && record.job == 1;
            let main = self.of(kind, at).find(mains);
            found.extend(main.map(|record| moved(None, Some(MAIN.to_owned()), cpu, record)));
            let seen = self.of(kind, at).find(|record| !mains(record));
            // A CPU number that does not fit into a record shows nothing.
            let ran = [Kind::Start, Kind::Complete].into_iter().flat_map(|kind| self.of(kind, at));
            let elsewhere = |record: &Record| record.cpu != u8::MAX && u16::from(record.cpu) != cpu;
            let ran = ran.filter(|record| task.is_some() && pinned && elsewhere(record));
            let ran = ran.min_by_key(|record| record.at).map(|record| {
                let planned = self.planned.get(at).and_then(Option::as_ref);
                let priority = planned.map_or(0, |planned| u64::from(planned.priority));
                Record { value: 1 | priority << 8 | 1 << 16, ..record }
            });
            found.extend(seen.or(ran).map(|record| moved(task, thread, cpu, record)));
        }
        found
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
            ("heap use", counts.heap_use),
            ("page faults", counts.faults()),
            ("blocking calls", counts.blocked),
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
        let records: Vec<Record> = self.of(Kind::Slept, at).collect();
        for record in records {
            // The judgement needs the probe's records from the job's start on, and that was before the records.
            if early.contains(&record.job) {
                self.not_judged = self.not_judged.saturating_add(record.value);
                continue;
            }
            let start = starts.get(&record.job).copied().unwrap_or(record.at.as_ns());
            let stalled = stalls.stolen(start, record.at.as_ns()) > 0;
            let times = if stalled { &mut stopped } else { &mut slept };
            *times = times.saturating_add(record.value);
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
        let failed = self.of(Kind::Failed, at).count() as u64;
        if failed > 0 {
            self.warnings.push(Warning::Failed { task: name(), jobs: failed });
        }
        let exceeded = self.of(Kind::ScopeExceeded, at).count() as u64;
        if exceeded > 0 {
            self.warnings.push(Warning::ScopeExceeded { task: name(), times: exceeded });
        }
        // The overrun policy or a pause dropped the other ones.
        let beyond: Vec<u64> = self
            .of(Kind::Skip, at)
            .filter(|record| record.value == 1)
            .map(|record| record.at.as_ns())
            .collect();
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
