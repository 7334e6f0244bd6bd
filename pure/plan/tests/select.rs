// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Selections of least memory, held against all selections, and run.
#![allow(clippy::unwrap_used, reason = "test code")]

use proptest::prelude::*;
use taut_analysis::multi::Guard;
use taut_model::{Arrivals, Body, Request, Resource, Scheduler, SetTask, TaskSet};
use taut_plan::select::{
    Aim, Alone, Buffers, Constraint, Count, Equations, Memory, Miss, Object, Offer, Outcome, Problem,
    ProblemFault, best, exhaustive, paper, why,
};
use taut_time::Duration;

fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

/// (core, T, C outside of sections), and per object (bytes, writer, readers, length of a section).
type Shape = (Vec<(usize, u64, u64)>, Vec<(u64, usize, Vec<usize>, u64)>);

fn set((tasks, objects): &Shape) -> TaskSet {
    let rows = tasks.iter().enumerate().map(|(at, &(core, period, cost))| {
        let uses = |object: &(u64, usize, Vec<usize>, u64)| object.1 == at || object.2.contains(&at);
        let requests: Vec<Request> = objects
            .iter()
            .enumerate()
            .filter(|(_, object)| uses(object))
            .map(|(resource, object)| Request { resource, count: 1, length: ns(object.3), outermost: true })
            .collect();
        let sections: u64 = requests.iter().map(|request| request.length.as_ns()).sum();
        SetTask {
            name: format!("t{at}"),
            core,
            // Rate-monotonic, the first of equals first.
            priority: 1_000
                - u32::try_from(tasks.iter().enumerate().filter(|(i, t)| (t.1, *i) < (period, at)).count())
                    .unwrap(),
            arrivals: Arrivals::Periodic,
            period: ns(period),
            deadline: ns(period),
            jitter: Duration::ZERO,
            body: Body::Anywhere { cost: ns(cost + sections), requests },
        }
    });
    let resources = (0..objects.len()).map(|at| Resource { name: format!("r{at}") }).collect();
    TaskSet::new(vec![Scheduler::FixedPriority; 2], resources, rows.collect()).unwrap()
}

fn offers(bytes: u64, writer: usize, readers: &[usize]) -> Vec<Offer> {
    let each =
        |time| [writer].into_iter().chain(readers.iter().copied()).map(|task| (task, ns(time))).collect();
    let offer = |name: &str, guard, added, memory| Offer {
        name: name.into(),
        guard,
        added,
        held: Duration::ZERO,
        memory,
    };
    let count = readers.len() as u64;
    let buffers =
        Buffers { fixed: 1, each: bytes, writer, readers: readers.to_vec(), count: Count::Smallest };
    vec![
        offer("spin", Guard::Spinning, each(1), Memory::Fixed(bytes + 4)),
        offer("suspend", Guard::Suspending, each(2), Memory::Fixed(bytes + 4)),
        offer("copies", Guard::Absent, each(3), Memory::Fixed((count + 2) * bytes + count)),
        offer("timed", Guard::Absent, each(4), Memory::Timed(buffers)),
    ]
}

fn problem(shape: &Shape, equations: Equations) -> Problem {
    let objects = shape.1.iter().enumerate().map(|(at, (bytes, writer, readers, _))| Object {
        name: format!("r{at}"),
        resource: at,
        offers: offers(*bytes, *writer, readers),
    });
    Problem::new(&set(shape), objects.collect(), |_| Guard::Spinning, equations).unwrap()
}

fn some_shape() -> impl Strategy<Value = Shape> {
    let task = (0..2usize, 50..800u64, 5..90u64);
    let object = (1..200u64, 0..8usize, prop::collection::vec(0..8usize, 1..4), 1..25u64);
    (prop::collection::vec(task, 4..8), prop::collection::vec(object, 1..6)).prop_map(
        |(tasks, mut objects)| {
            for (_, writer, readers, _) in &mut objects {
                *writer %= tasks.len();
                readers.iter_mut().for_each(|reader| *reader %= tasks.len());
                readers.sort_unstable();
                readers.dedup();
                let own = *writer;
                readers.retain(|reader| *reader != own);
                if readers.is_empty() {
                    readers.push((own + 1) % tasks.len());
                }
            }
            (tasks, objects)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Ours is the least of all, the published one never below it.
    #[test]
    fn the_least_of_all(shape in some_shape()) {
        for equations in [Equations::Sound, Equations::Printed] {
            let mut problem = problem(&shape, equations);
            let all = exhaustive::search(&mut problem).unwrap();
            let ours = best::search(&mut problem, u64::MAX, &mut |_| true).unwrap();
            prop_assert!(ours.is_proven());
            let bytes = |found: &Option<(Vec<usize>, taut_plan::select::Judged)>| found.as_ref().map(|(_, j)| j.bytes);
            prop_assert_eq!(bytes(&ours.best), bytes(&all));
            // From the selection alone it comes to the same.
            if let Some((selection, judged)) = &ours.best {
                let whole: Vec<_> = selection.iter().copied().map(Some).collect();
                let again = problem.judge(&whole).unwrap();
                prop_assert_eq!(again.as_ref(), Some(judged));
            }
            for found in [paper::heuristic(&mut problem, 0), paper::heuristic(&mut problem, 3), paper::backtracking(&mut problem, 3)] {
                let found = bytes(&found.unwrap());
                prop_assert!(found.is_none() || found >= bytes(&all));
            }
        }
    }

    /// The same for what else can be small, and with more to keep than deadlines.
    #[test]
    fn the_best_of_all(shape in some_shape(), aim in prop::sample::select(vec![Aim::Memory, Aim::Response, Aim::Slack]), limit in 200..3_000u64) {
        let mut problem = problem(&shape, Equations::Sound);
        // Data that go through the first and the last task; sampled later where the first object is guarded.
        problem.aim(aim).constrain(Constraint::new("age", ns(limit), |responses: &[Duration], guards: &[Guard]| {
            let later = if guards[0] == Guard::Absent { 0 } else { 50 };
            Ok(Some(ns(responses[0].as_ns() + responses[responses.len() - 1].as_ns() + later)))
        }));
        let all = exhaustive::search(&mut problem).unwrap();
        let ours = best::search(&mut problem, u64::MAX, &mut |_| true).unwrap();
        prop_assert!(ours.is_proven());
        prop_assert_eq!(ours.best.as_ref().map(|(_, j)| aim.value(j)), all.as_ref().map(|(_, j)| aim.value(j)));
        let Some((selection, judged)) = ours.best else { return Ok(()) };
        prop_assert!(judged.responses[0].as_ns() + judged.responses[judged.responses.len() - 1].as_ns() <= limit);
        for object in 0..selection.len() {
            let mut others = why(&mut problem, &selection, object).unwrap().unwrap();
            let selected = others.remove(selection[object]);
            prop_assert_eq!(&selected.alone, &Alone::Selected(judged.clone()));
            let mut next = u64::MAX;
            for other in others {
                match other.alone {
                    Alone::Selected(_) => prop_assert!(false),
                    // Otherwise it would not be the best.
                    Alone::Kept(other) => {
                        prop_assert!(aim.value(&other) >= aim.value(&judged));
                        next = next.min(aim.value(&other));
                    }
                    Alone::Missed(Miss::Deadline { response, deadline, .. }) => prop_assert!(response > deadline),
                    Alone::Missed(Miss::Constraint { time, limit, .. }) => prop_assert!(time.unwrap() > limit),
                    Alone::Missed(Miss::Steps | Miss::Memory) => prop_assert!(false),
                }
            }
            let runner_up = best::runner_up(&mut problem, &selection, object, u64::MAX, &mut |_| true).unwrap();
            prop_assert!(runner_up.is_proven() && runner_up.at_least >= ours.at_least && runner_up.at_least <= next);
            if let Some((other, _)) = runner_up.best {
                prop_assert!(other[object] != selection[object]);
                prop_assert!(matches!(problem.outcome(&other).unwrap(), Outcome::Kept(_)));
            }
        }
    }

    /// Stopped anywhere, what it says holds.
    #[test]
    fn stopped_early(shape in some_shape(), judgements in 0..60u64) {
        let mut problem = problem(&shape, Equations::Sound);
        let least = best::search(&mut problem, u64::MAX, &mut |_| true).unwrap();
        let early = best::search(&mut problem, judgements, &mut |_| true).unwrap();
        prop_assert!(early.at_least <= least.at_least);
        if let Some((_, judged)) = &early.best {
            prop_assert!(judged.bytes >= least.at_least);
        }
        let again = best::search(&mut problem, judgements, &mut |_| true).unwrap();
        prop_assert_eq!(early, again);
    }
}

#[test]
fn what_is_wrong_with_a_problem() {
    let shape: Shape = (vec![(0, 100, 10), (1, 100, 10)], vec![(8, 0, vec![1], 5)]);
    let set = set(&shape);
    let with = |resource, offers| {
        let objects = vec![Object { name: "r".into(), resource, offers }];
        Problem::new(&set, objects, |_| Guard::Spinning, Equations::Sound).map(|_| ())
    };
    assert_eq!(with(0, offers(8, 0, &[1])), Ok(()));
    assert_eq!(with(0, vec![]), Err(ProblemFault::Object(0)));
    assert_eq!(with(1, offers(8, 0, &[1])), Err(ProblemFault::Object(0)));
    assert_eq!(with(0, offers(8, 0, &[2])), Err(ProblemFault::Object(0)));
}
