// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks on cores with the resources that they share: the input of analyses and simulation.

use core::fmt;
use taut_policy::ArrivalPattern;

use taut_time::Duration;

use crate::SchedulingPolicy;

/// Tasks, bound to cores, that share resources. Holding a value proves that
/// - every period, deadline and cost is more than 0, and every offset less than its period;
/// - a task's cost includes its critical sections;
/// - sections are properly nested, never one inside another of the same resource, and the users of each nested
///   resource are all on one core.
///
/// Positions are indices into the lists in the order given. Larger priority = more urgent; of two tasks with equal
/// priority, each counts the other as more urgent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSet {
    cores: Vec<SchedulingPolicy>,
    resources: Vec<Resource>,
    tasks: Vec<SetTask>,
    /// By task, the requests of its body.
    requests: Vec<Vec<Request>>,
    costs: Vec<Duration>,
}

/// Something that only one job at a time may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its name.
    pub name: String,
}

/// A recurring activity on a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetTask {
    /// Its name.
    pub name: String,
    /// The core: a position in the list of cores.
    pub core: usize,
    /// Larger = more urgent, over all cores; EDF cores ignore it.
    pub priority: u32,
    /// When jobs arrive.
    pub arrivals: ArrivalPattern,
    /// T: the period, or the least time between two arrivals.
    pub period: Duration,
    /// D, from the arrival; may be longer than the period.
    pub deadline: Duration,
    /// J: the longest time from an arrival to its release.
    pub jitter: Duration,
    /// What a job does.
    pub body: Body,
}

/// What a job does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// These segments, in this order.
    Segments(Vec<Segment>),
    /// A total cost C with these sections in it, in any order and at any place, none inside another.
    Anywhere {
        /// C, the sections included.
        cost: Duration,
        /// The sections.
        requests: Vec<Request>,
    },
}

/// A part of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Execution that locks no further resource.
    Normal(Duration),
    /// A critical section.
    Section {
        /// The resource: a position in the list.
        resource: usize,
        /// What the job does while it holds the resource.
        inside: Vec<Segment>,
    },
}

/// Critical sections of a job on one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The resource: a position in the list.
    pub resource: usize,
    /// N: the most sections per job.
    pub count: u32,
    /// w: the length of the longest section, including the sections inside it.
    pub length: Duration,
    /// Whether these sections are outermost: none is inside a section of another resource.
    pub outermost: bool,
}

/// Why tasks do not form a [`TaskSet`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetFault {
    /// The task: a position in the list.
    pub task: usize,
    /// The fault.
    pub what: Wrong,
}

/// What is wrong with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Its core does not exist.
    Core,
    /// A period of 0.
    Period,
    /// A deadline of 0.
    Deadline,
    /// A cost of 0.
    Cost,
    /// An offset that is not less than the period.
    Offset,
    /// It names a resource that does not exist.
    Resource,
    /// Its sections are longer than its cost.
    Sections,
    /// A section of length 0, or a count of 0.
    Section,
    /// It locks a resource that it already holds.
    Again,
    /// It locks a global resource inside another section, or another resource inside a global one.
    Nested,
    /// A sum does not fit in 64 bits.
    Overflow,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Core => "there is no such core",
            Self::Period => "a period of zero",
            Self::Deadline => "a deadline of zero",
            Self::Cost => "a cost of zero",
            Self::Offset => "an offset of a period or more",
            Self::Resource => "there is no such resource",
            Self::Sections => "critical sections longer than the cost that includes them",
            Self::Section => "a critical section of length zero, or a count of zero",
            Self::Again => "a resource locked while it is held",
            Self::Nested => "a section of a resource of several cores inside or around another",
            Self::Overflow => "a sum that does not fit in 64 bits",
        })
    }
}

impl TaskSet {
    /// Checks all rules.
    ///
    /// # Errors
    /// Every fault of every task.
    pub fn new(
        cores: Vec<SchedulingPolicy>,
        resources: Vec<Resource>,
        tasks: Vec<SetTask>,
    ) -> Result<Self, Vec<SetFault>> {
        let mut faults = Vec::new();
        let mut requests = Vec::with_capacity(tasks.len());
        let mut costs = Vec::with_capacity(tasks.len());
        for (at, task) in tasks.iter().enumerate() {
            let mut fault = |what| faults.push(SetFault { task: at, what });
            let wrong = [
                (task.core >= cores.len(), Wrong::Core),
                (task.period.is_zero(), Wrong::Period),
                (task.deadline.is_zero(), Wrong::Deadline),
                (
                    matches!(task.arrivals, ArrivalPattern::Phased(offset) if offset >= task.period),
                    Wrong::Offset,
                ),
            ];
            wrong.into_iter().filter(|(is, _)| *is).for_each(|(_, what)| fault(what));
            match sums(&task.body, resources.len()) {
                Ok((cost, _)) if cost.is_zero() => fault(Wrong::Cost),
                Ok((cost, of_task)) => {
                    costs.push(cost);
                    requests.push(of_task);
                }
                Err(what) => fault(what),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let set = Self { cores, resources, tasks, requests, costs };
        let nested = |at: &usize| set.tasks[*at].body.nests_any(&|resource| !set.is_local(resource));
        let faults: Vec<_> =
            (0..set.tasks.len()).filter(nested).map(|task| SetFault { task, what: Wrong::Nested }).collect();
        if faults.is_empty() { Ok(set) } else { Err(faults) }
    }

    /// The scheduler of each core.
    pub fn cores(&self) -> &[SchedulingPolicy] {
        &self.cores
    }

    /// The resources.
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// The tasks.
    pub fn tasks(&self) -> &[SetTask] {
        &self.tasks
    }

    /// C of a task: its longest execution, critical sections included.
    pub fn cost(&self, task: usize) -> Duration {
        self.costs[task]
    }

    /// The critical sections of a task, sorted by resource: for each, one entry for outermost sections and one for
    /// nested ones.
    pub fn requests(&self, task: usize) -> &[Request] {
        &self.requests[task]
    }

    /// The tasks of a core.
    pub fn on_core(&self, core: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.tasks.len()).filter(move |&task| self.tasks[task].core == core)
    }

    /// The tasks that use a resource.
    pub fn users(&self, resource: usize) -> impl Iterator<Item = usize> + '_ {
        let uses = move |task: &usize| self.requests[*task].iter().any(|r| r.resource == resource);
        (0..self.tasks.len()).filter(uses)
    }

    /// Whether all users of a resource are on one core.
    pub fn is_local(&self, resource: usize) -> bool {
        let mut cores = self.users(resource).map(|task| self.tasks[task].core);
        let first = cores.next();
        cores.all(|core| Some(core) == first)
    }
}

impl Body {
    /// Whether it has nested sections of which at least one is on a resource that satisfies `such`.
    fn nests_any(&self, such: &impl Fn(usize) -> bool) -> bool {
        fn below(segments: &[Segment], held: Option<bool>, such: &impl Fn(usize) -> bool) -> bool {
            segments.iter().any(|segment| match segment {
                Segment::Normal(_) => false,
                Segment::Section { resource, inside } => {
                    let is = such(*resource);
                    held.is_some_and(|around| around || is)
                        || below(inside, Some(is || held.unwrap_or(false)), such)
                }
            })
        }
        match self {
            Self::Segments(segments) => below(segments, None, such),
            Self::Anywhere { .. } => false,
        }
    }
}

/// C and the requests of a body.
fn sums(body: &Body, resources: usize) -> Result<(Duration, Vec<Request>), Wrong> {
    match body {
        Body::Segments(segments) => {
            let mut requests = Vec::new();
            let cost = walk(segments, resources, &mut Vec::new(), &mut requests)?;
            requests.sort_by_key(|request| (request.resource, !request.outermost));
            Ok((cost, requests))
        }
        Body::Anywhere { cost, requests } => {
            let mut sections = Duration::ZERO;
            for request in requests {
                if request.resource >= resources {
                    return Err(Wrong::Resource);
                }
                if request.length.is_zero() || request.count == 0 {
                    return Err(Wrong::Section);
                }
                let time = request.length.checked_mul(request.count.into()).ok_or(Wrong::Overflow)?;
                sections = sections.checked_add(time).ok_or(Wrong::Overflow)?;
            }
            if sections > *cost {
                return Err(Wrong::Sections);
            }
            let mut requests: Vec<_> =
                requests.iter().map(|request| Request { outermost: true, ..*request }).collect();
            requests.sort_by_key(|request| request.resource);
            Ok((*cost, requests))
        }
    }
}

fn walk(
    segments: &[Segment],
    resources: usize,
    held: &mut Vec<usize>,
    requests: &mut Vec<Request>,
) -> Result<Duration, Wrong> {
    let mut cost = Duration::ZERO;
    for segment in segments {
        let time = match segment {
            Segment::Normal(time) => *time,
            Segment::Section { resource, inside } => {
                if *resource >= resources {
                    return Err(Wrong::Resource);
                }
                if held.contains(resource) {
                    return Err(Wrong::Again);
                }
                held.push(*resource);
                let length = walk(inside, resources, held, requests)?;
                held.pop();
                if length.is_zero() {
                    return Err(Wrong::Section);
                }
                let outermost = held.is_empty();
                let same = |r: &&mut Request| (r.resource, r.outermost) == (*resource, outermost);
                match requests.iter_mut().find(same) {
                    Some(request) => {
                        request.count = request.count.checked_add(1).ok_or(Wrong::Overflow)?;
                        request.length = request.length.max(length);
                    }
                    None => requests.push(Request { resource: *resource, count: 1, length, outermost }),
                }
                length
            }
        };
        cost = cost.checked_add(time).ok_or(Wrong::Overflow)?;
    }
    Ok(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_us(us)
    }

    fn task(core: usize, body: Body) -> SetTask {
        SetTask {
            name: "t".into(),
            core,
            priority: 1,
            arrivals: ArrivalPattern::Sporadic,
            period: us(100),
            deadline: us(100),
            jitter: Duration::ZERO,
            body,
        }
    }

    fn section(resource: usize, inside: Vec<Segment>) -> Segment {
        Segment::Section { resource, inside }
    }

    fn set(tasks: Vec<SetTask>) -> Result<TaskSet, Vec<Wrong>> {
        let resource = |name: &str| Resource { name: name.into() };
        let resources = ["a", "b"].map(resource).to_vec();
        TaskSet::new(vec![SchedulingPolicy::FixedPriority; 2], resources, tasks)
            .map_err(|faults| faults.into_iter().map(|fault| fault.what).collect())
    }

    #[test]
    fn a_cost_includes_its_sections() {
        let body = Body::Segments(vec![
            Segment::Normal(us(5)),
            section(0, vec![Segment::Normal(us(2)), section(1, vec![Segment::Normal(us(1))])]),
            section(0, vec![Segment::Normal(us(1))]),
            section(1, vec![Segment::Normal(us(7))]),
        ]);
        let set = set(vec![task(0, body)]).expect("valid");
        assert_eq!(set.cost(0), us(16));
        let request =
            |resource, count, length, outermost| Request { resource, count, length: us(length), outermost };
        assert_eq!(
            set.requests(0),
            [request(0, 2, 3, true), request(1, 1, 7, true), request(1, 1, 1, false)]
        );
        assert!(set.is_local(0) && set.is_local(1));
    }

    #[test]
    fn anywhere_must_fit() {
        let anywhere = |cost, count, length| Body::Anywhere {
            cost: us(cost),
            requests: vec![Request { resource: 0, count, length: us(length), outermost: true }],
        };
        assert!(set(vec![task(0, anywhere(10, 2, 5))]).is_ok());
        assert_eq!(set(vec![task(0, anywhere(10, 2, 6))]), Err(vec![Wrong::Sections]));
        assert_eq!(set(vec![task(0, anywhere(10, 0, 6))]), Err(vec![Wrong::Section]));
        assert_eq!(set(vec![task(0, anywhere(10, 3, u64::MAX / 2000))]), Err(vec![Wrong::Overflow]));
    }

    #[test]
    fn all_faults_at_once() {
        let mut bad = task(7, Body::Segments(vec![section(2, vec![])]));
        bad.period = Duration::ZERO;
        bad.deadline = Duration::ZERO;
        let again = Body::Segments(vec![section(0, vec![section(0, vec![Segment::Normal(us(1))])])]);
        let empty = Body::Segments(vec![section(0, vec![])]);
        let found = set(vec![bad, task(0, again), task(0, empty), task(0, Body::Segments(vec![]))]);
        let expected = [
            Wrong::Core,
            Wrong::Period,
            Wrong::Deadline,
            Wrong::Resource,
            Wrong::Again,
            Wrong::Section,
            Wrong::Cost,
        ];
        assert_eq!(found, Err(expected.to_vec()));
    }

    #[test]
    fn global_resources_do_not_nest() {
        let nested = |core| {
            let inner = section(1, vec![Segment::Normal(us(1))]);
            task(core, Body::Segments(vec![section(0, vec![inner])]))
        };
        let user = |core, resource| {
            task(core, Body::Segments(vec![section(resource, vec![Segment::Normal(us(1))])]))
        };
        assert!(set(vec![nested(0), user(0, 0), user(0, 1)]).is_ok());
        assert_eq!(set(vec![nested(0), user(1, 0)]), Err(vec![Wrong::Nested]), "the outer one is global");
        assert_eq!(set(vec![nested(0), user(1, 1)]), Err(vec![Wrong::Nested]), "the inner one is global");
    }
}
