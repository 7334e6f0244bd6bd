// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A plan as input of a simulation: its tasks, its rules, and execution times of a recorded run.

use std::path::Path;

use taut_event::{Kind, Record};
use taut_model::{ArrivalPattern, Body, Model, Request, Resource, SetTask, TaskSet};
use taut_plan::{Arrival, ClassPlan, LockingProtocol, Overrun, Plan, SchedulingPolicy};
use taut_planner::Planned;
use taut_sim::{GlobalRule, Limit, LocalRule, Rules, Served, Shares};
use taut_time::Duration;

use crate::outcome::Failure;
use crate::report;

/// The execution times of jobs in a recorded run, by task.
pub(crate) fn executions(path: &Path, set: &TaskSet) -> Result<Vec<(usize, Shares)>, Failure> {
    let recording = report::find(path)?;
    let (run, plan) = report::read(&recording)?;
    let mut all = Vec::new();
    for (at, task) in set.tasks().iter().enumerate() {
        let Some(subject) = plan.task(&task.name) else { continue };
        let of_task =
            |record: &&Record| record.kind == Kind::Complete && usize::from(record.subject) == subject;
        let mut jobs: Vec<&Record> = run.records.iter().filter(of_task).collect();
        jobs.sort_by_key(|record| record.job);
        let times: Vec<Duration> = jobs.iter().map(|record| Duration::from_ns(record.value)).collect();
        if !times.is_empty() {
            all.push((at, Shares::recorded(&times, set.cost(at))));
        }
    }
    if all.is_empty() {
        let message = format!("{}: no job of a task of this application is in it", recording.display());
        return Err(Failure::Usage(message));
    }
    Ok(all)
}

/// The task set of a model, which must have a real-time task.
pub(crate) fn set(model: &Model) -> Result<TaskSet, Failure> {
    let set = taut_planner::task_set(model).map_err(|faults| {
        let fault = faults.first().map(|fault| fault.what.to_string());
        Failure::Usage(format!("this cannot be simulated: {}", fault.unwrap_or_default()))
    })?;
    if set.tasks().is_empty() {
        return Err(Failure::Usage("there is no real-time task to simulate".into()));
    }
    Ok(set)
}

/// The locking rules of a plan.
pub(crate) fn rules(planned: &Planned, set: &TaskSet) -> Rules {
    let mut rules = Rules::of(set, GlobalRule::Msrp);
    let protocols = || planned.plan.resources.iter().map(|resource| resource.protocol);
    // In a set, resources that guard states come after the manifest's resources.
    let model = &planned.model;
    let states = (protocols().len()..model.resources().len()).filter_map(|at| model.protocol(at));
    for (rule, protocol) in rules.resources.iter_mut().zip(protocols().chain(states)) {
        *rule = protocol.global().unwrap_or(GlobalRule::Msrp);
    }
    // Deadline floors apply to a whole core: if any resource needs them, every EDF core uses them. They count from
    // where the dispatchers count.
    if protocols().any(|protocol| protocol == LockingProtocol::Dfp) {
        for (rule, core) in rules.cores.iter_mut().zip(&planned.plan.cores) {
            if core.scheduler == SchedulingPolicy::Edf {
                *rule = LocalRule::Dfp;
            }
        }
    }
    rules
}

/// The limits of jobs with budgets, context switches included as in the set. Jobs whose overrun stops the application
/// have none: the simulation continues after it.
pub(crate) fn limits(planned: &Planned, set: &TaskSet) -> Vec<(usize, Limit)> {
    let switches = planned.model.platform().overheads.context_switch.checked_mul(2);
    let limit = |(at, task): (usize, &SetTask)| {
        let of = &planned.plan.tasks[planned.plan.task(&task.name)?];
        let ClassPlan::RealTime { on_overrun, budget: Some(budget), .. } = &of.class else { return None };
        let budget = switches.and_then(|switches| budget.checked_add(switches));
        (*on_overrun != Overrun::StopApp).then_some((at, Limit { overrun: *on_overrun, budget }))
    };
    set.tasks().iter().enumerate().filter_map(limit).collect()
}

/// A plan that was executed, as input of a replay.
pub(crate) struct Staged {
    pub(crate) set: TaskSet,
    pub(crate) rules: Rules,
    /// By task of the plan: its position in the set, if it is real-time or in a server.
    pub(crate) subjects: Vec<Option<usize>>,
    /// Cores with a dispatcher.
    pub(crate) dispatched: Vec<usize>,
    /// Servers, which follow the tasks in the set.
    pub(crate) served: Vec<Served>,
}

/// The tasks of a plan as an executor sees them: which tasks use a resource matters, how long they use it does not.
/// Resources are those of the manifest, then those that guard states, in the order of the channels.
pub(crate) fn staged(plan: &Plan) -> Result<Staged, Failure> {
    let core_of = |cpu: u16| plan.cores.iter().position(|core| core.cpu == cpu);
    let mut resources: Vec<(&str, LockingProtocol, Vec<&str>)> = Vec::new();
    for resource in &plan.resources {
        let users = resource.users.iter().map(String::as_str).collect();
        resources.push((&resource.name, resource.protocol, users));
    }
    for channel in &plan.channels {
        if let Some(protocol) = channel.mechanism.locking() {
            let readers = channel.readers.iter().map(|reader| reader.name.as_str());
            let users = readers.chain([channel.writer.name.as_str()]).collect();
            resources.push((&channel.name, protocol, users));
        }
    }
    let moment = Duration::from_ns(1);
    let (mut tasks, mut subjects) = (Vec::new(), Vec::new());
    for task in &plan.tasks {
        let ClassPlan::RealTime { cpu, priority, arrival, deadline, wcet, .. } = &task.class else {
            let Some((server, core)) =
                plan.server_of(&task.name).and_then(|server| Some((server, core_of(server.cpu)?)))
            else {
                subjects.push(None);
                continue;
            };
            // The budget of its server determines when it has a job.
            subjects.push(Some(tasks.len()));
            tasks.push(SetTask {
                name: task.name.clone(),
                core,
                priority: server.priority.into(),
                arrivals: ArrivalPattern::Sporadic,
                period: server.period,
                deadline: server.period,
                jitter: Duration::ZERO,
                body: Body::Anywhere { cost: moment, requests: Vec::new() },
            });
            continue;
        };
        let core = core_of(*cpu).ok_or_else(|| {
            Failure::Usage(format!("the plan of this run is damaged: `{}` is on no core", task.name))
        })?;
        let uses = |(_, (_, _, users)): &(usize, &(&str, LockingProtocol, Vec<&str>))| {
            users.contains(&task.name.as_str())
        };
        let request = |(resource, _)| Request { resource, count: 1, length: moment, outermost: true };
        let requests: Vec<Request> = resources.iter().enumerate().filter(uses).map(request).collect();
        let arrivals = match arrival {
            Arrival::Periodic { .. } => ArrivalPattern::Periodic,
            Arrival::Sporadic { .. } => ArrivalPattern::Sporadic,
        };
        subjects.push(Some(tasks.len()));
        tasks.push(SetTask {
            name: task.name.clone(),
            core,
            priority: (*priority).into(),
            arrivals,
            period: arrival.period(),
            deadline: *deadline,
            jitter: Duration::ZERO,
            body: Body::Anywhere {
                cost: (*wcet).max(Duration::from_ns(1 + requests.len() as u64)),
                requests,
            },
        });
    }
    let mut served = Vec::new();
    for of in &plan.servers {
        let core = core_of(of.cpu).ok_or_else(|| {
            Failure::Usage(format!("the plan of this run is damaged: `{}` is on no core", of.name))
        })?;
        let place = |name: &String| subjects.get(plan.task(name)?).copied().flatten();
        served.push(Served {
            task: tasks.len(),
            policy: of.policy,
            budget: of.budget,
            period: of.period,
            serves: of.tasks.iter().filter_map(place).collect(),
        });
        tasks.push(SetTask {
            name: format!("server {}", of.name),
            core,
            priority: of.priority.into(),
            arrivals: ArrivalPattern::Sporadic,
            period: of.period,
            deadline: of.period,
            jitter: Duration::ZERO,
            body: Body::Anywhere { cost: moment, requests: Vec::new() },
        });
    }
    let schedulers = plan.cores.iter().map(|core| core.scheduler);
    let names = resources.iter().map(|(name, ..)| Resource { name: (*name).to_owned() });
    let set = TaskSet::new(schedulers.collect(), names.collect(), tasks).map_err(|faults| {
        let fault = faults.first().map(|fault| fault.what.to_string());
        Failure::Usage(format!("the plan of this run is damaged: {}", fault.unwrap_or_default()))
    })?;
    let mut rules = Rules::of(&set, GlobalRule::Msrp);
    for (rule, (_, protocol, _)) in rules.resources.iter_mut().zip(&resources) {
        *rule = protocol.global().unwrap_or(GlobalRule::Msrp);
    }
    if resources.iter().any(|(_, protocol, _)| *protocol == LockingProtocol::Dfp) {
        let edf = |rule: &&mut LocalRule| **rule == LocalRule::Srp;
        rules.cores.iter_mut().filter(edf).for_each(|rule| *rule = LocalRule::Dfp);
    }
    let dispatched = (0..plan.cores.len()).filter(|core| plan.cores[*core].dispatched.is_some()).collect();
    Ok(Staged { set, rules, subjects, dispatched, served })
}
