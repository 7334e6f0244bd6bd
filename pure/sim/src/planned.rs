// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A plan as input of a simulation, or of a replay of its run.

use core::fmt;

use taut_model::{ArrivalPattern, Body, Request, Resource, SetFault, SetTask, TaskSet};
use taut_plan::{Arrival, ClassPlan, LockingProtocol, Overrun, Plan, ServerPlan, TaskPlan};
use taut_time::Duration;

use crate::{GlobalRule, Limit, RecordedServer, Rules};

/// The shortest time that a part of a task set can take.
const MOMENT: Duration = Duration::from_ns(1);

/// The rules of a plan, for the task set that its model gives.
pub fn rules(plan: &Plan, set: &TaskSet) -> Rules {
    let mut rules = Rules::of(set, GlobalRule::Msrp);
    rules.cores = plan.cores.iter().map(|core| plan.local_rule(core)).collect();
    // In a set, resources that guard states come after the manifest's resources, in the order of the channels.
    let states = plan.channels.iter().filter_map(|channel| channel.mechanism.locking());
    let protocols = plan.resources.iter().map(|resource| resource.protocol).chain(states);
    for (rule, protocol) in rules.resources.iter_mut().zip(protocols) {
        *rule = protocol.global().unwrap_or(GlobalRule::Msrp);
    }
    rules
}

/// The limits of jobs with budgets, context switches included as in the set that a plan's model gives. Jobs whose
/// overrun stops the application have no limit: the simulation continues after the overrun.
pub fn limits(plan: &Plan, set: &TaskSet) -> Vec<(usize, Limit)> {
    let switch = plan.overheads.iter().find(|overhead| overhead.name == "context-switch");
    let switches = switch.map_or(Some(Duration::ZERO), |switch| switch.time.checked_mul(2));
    let limit = |(at, task): (usize, &SetTask)| {
        let of = &plan.tasks[plan.task(&task.name)?];
        let ClassPlan::RealTime { on_overrun, budget: Some(budget), .. } = &of.class else { return None };
        let budget = switches.and_then(|switches| budget.checked_add(switches));
        (*on_overrun != Overrun::StopApp).then_some((at, Limit { overrun: *on_overrun, budget }))
    };
    set.tasks().iter().enumerate().filter_map(limit).collect()
}

/// Why a plan cannot have been executed: it was changed, or a recording of it is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damaged {
    /// A task or server of this name is on no core of the plan.
    NoCore(String),
    /// Its tasks form no set.
    Set(Vec<SetFault>),
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the plan of this run is damaged: ")?;
        match self {
            Self::NoCore(name) => write!(f, "`{name}` has no core"),
            Self::Set(faults) => match faults.first() {
                Some(fault) => write!(f, "{}", fault.what),
                None => f.write_str("its tasks do not form a task set"),
            },
        }
    }
}

impl core::error::Error for Damaged {}

/// A plan that was executed, as input of a replay.
#[derive(Clone, Debug)]
pub struct Executed {
    /// The tasks as an executor sees them: which tasks use a resource matters, how long they use it does not.
    /// Servers follow the tasks. Resources are those of the manifest, then those that guard states, in the order of
    /// the channels.
    pub set: TaskSet,
    /// The rules of its cores and resources.
    pub rules: Rules,
    /// What happens to jobs that use up their budgets or are late.
    pub limits: Vec<(usize, Limit)>,
    /// By task of the plan: its position in the set, if it is real-time or in a server.
    pub subjects: Vec<Option<usize>>,
    /// Cores with a dispatcher.
    pub dispatched: Vec<usize>,
    /// The servers.
    pub served: Vec<RecordedServer>,
}

impl Executed {
    /// The set, the rules and the limits under which an executor runs a plan.
    ///
    /// # Errors
    /// [`Damaged`] if no executor can have run it.
    pub fn new(plan: &Plan) -> Result<Self, Damaged> {
        let guarded = guarded(plan);
        let (mut tasks, mut subjects) = (Vec::new(), Vec::new());
        for task in &plan.tasks {
            let set_task = set_task(plan, task, &guarded)?;
            subjects.push(set_task.as_ref().map(|_| tasks.len()));
            tasks.extend(set_task);
        }
        let mut served = Vec::new();
        for server in &plan.servers {
            let place = |name: &String| subjects.get(plan.task(name)?).copied().flatten();
            served.push(RecordedServer {
                task: tasks.len(),
                policy: server.policy,
                budget: server.budget,
                period: server.period,
                serves: server.tasks.iter().filter_map(place).collect(),
            });
            tasks.push(SetTask { name: format!("server {}", server.name), ..of_server(plan, server)? });
        }
        let schedulers = plan.cores.iter().map(|core| core.scheduler).collect();
        let names = guarded.iter().map(|(name, ..)| Resource { name: (*name).to_owned() }).collect();
        let set = TaskSet::new(schedulers, names, tasks).map_err(Damaged::Set)?;
        let rules = rules(plan, &set);
        let limit = |(task, subject): (&TaskPlan, &Option<usize>)| match &task.class {
            ClassPlan::RealTime { on_overrun, budget, .. } => {
                Some(((*subject)?, Limit { overrun: *on_overrun, budget: *budget }))
            }
            ClassPlan::BestEffort {} => None,
        };
        let limits = plan.tasks.iter().zip(&subjects).filter_map(limit).collect();
        let dispatched =
            (0..plan.cores.len()).filter(|core| plan.cores[*core].dispatched.is_some()).collect();
        Ok(Self { set, rules, limits, subjects, dispatched, served })
    }
}

/// Resources, then states under locks: name, protocol, users.
fn guarded(plan: &Plan) -> Vec<(&str, LockingProtocol, Vec<&str>)> {
    let resources = plan.resources.iter().map(|resource| {
        let users = resource.users.iter().map(String::as_str).collect();
        (resource.name.as_str(), resource.protocol, users)
    });
    let states = plan.channels.iter().filter_map(|channel| {
        let protocol = channel.mechanism.locking()?;
        let readers = channel.readers.iter().map(|reader| reader.name.as_str());
        let users = readers.chain([channel.writer.name.as_str()]).collect();
        Some((channel.name.as_str(), protocol, users))
    });
    resources.chain(states).collect()
}

fn core_of(plan: &Plan, name: &str, cpu: u16) -> Result<usize, Damaged> {
    let core = plan.cores.iter().position(|core| core.cpu == cpu);
    core.ok_or_else(|| Damaged::NoCore(name.to_owned()))
}

/// A task of the set; none for a best-effort task outside of any server.
fn set_task(
    plan: &Plan,
    task: &TaskPlan,
    guarded: &[(&str, LockingProtocol, Vec<&str>)],
) -> Result<Option<SetTask>, Damaged> {
    let ClassPlan::RealTime { cpu, priority, arrival, deadline, wcet, .. } = &task.class else {
        // The budget of its server determines when it has a job.
        let served = plan.server_of(&task.name).filter(|of| plan.cores.iter().any(|core| core.cpu == of.cpu));
        return served
            .map(|server| Ok(SetTask { name: task.name.clone(), ..of_server(plan, server)? }))
            .transpose();
    };
    let uses = |(_, (_, _, users)): &(usize, &(&str, LockingProtocol, Vec<&str>))| {
        users.contains(&task.name.as_str())
    };
    let request = |(resource, _)| Request { resource, count: 1, length: MOMENT, outermost: true };
    let requests: Vec<Request> = guarded.iter().enumerate().filter(uses).map(request).collect();
    let cost = (*wcet).max(Duration::from_ns(1 + requests.len() as u64));
    Ok(Some(SetTask {
        name: task.name.clone(),
        core: core_of(plan, &task.name, *cpu)?,
        priority: (*priority).into(),
        arrivals: match arrival {
            Arrival::Periodic { .. } => ArrivalPattern::Periodic,
            Arrival::Clocked(_) | Arrival::Sporadic { .. } | Arrival::Aperiodic { .. } => {
                ArrivalPattern::Sporadic
            }
        },
        // A set has no task without a period, and a replay reads none.
        period: if arrival.is_aperiodic() { MOMENT } else { arrival.period() },
        deadline: *deadline,
        jitter: Duration::ZERO,
        body: Body::Anywhere { cost, requests },
    }))
}

/// A server as a task.
fn of_server(plan: &Plan, server: &ServerPlan) -> Result<SetTask, Damaged> {
    Ok(SetTask {
        name: server.name.clone(),
        core: core_of(plan, &server.name, server.cpu)?,
        priority: server.priority.into(),
        arrivals: ArrivalPattern::Sporadic,
        period: server.period,
        deadline: server.period,
        jitter: Duration::ZERO,
        body: Body::Anywhere { cost: MOMENT, requests: Vec::new() },
    })
}
