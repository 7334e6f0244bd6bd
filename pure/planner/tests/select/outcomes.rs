// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a selection results in or misses, by either kind of equations, compared with the analyses of a set made
//! anew.

use taut_analysis::Verdict;
use taut_analysis::Why;
use taut_analysis::multi::unsound::mixed_han14;
use taut_analysis::multi::unsound::mpcp_lnr09_paper::Claims;
use taut_analysis::multi::{Guard, Status, mixed};
use taut_planner::select::{Constraint, Equations, Judgement, Miss, Offer, OfferMemory, exhaustive};
use taut_time::Duration;

use crate::recheck;
use crate::system::{Draw, Row, System, ns, small};

/// R by task if all fit, else the tasks that pass their deadlines, each with its bound.
fn asked(
    system: &System,
    selection: &[usize],
    equations: Equations,
) -> Result<Vec<Duration>, Vec<(usize, Duration)>> {
    let (_, guarded) = recheck::guarded(system, selection);
    match equations {
        Equations::Sound => match mixed::response_times(&guarded).unwrap() {
            Verdict::Schedulable(bounds) => Ok(bounds.tasks.iter().map(|task| task.from_arrival).collect()),
            Verdict::NotShown(Why::Passes(bounds)) => {
                let passing =
                    bounds.tasks.iter().enumerate().filter(|(_, task)| task.status == Status::Passes);
                Err(passing.map(|(at, task)| (at, task.from_arrival)).collect())
            }
            other => panic!("{other:?}"),
        },
        Equations::Printed => {
            let Claims::Unsound(claims) = mixed_han14::claims(&guarded).unwrap() else { panic!("claims") };
            let missed = claims.iter().enumerate().filter(|(_, claim)| !claim.claimed_to_fit);
            let missed: Vec<_> = missed.map(|(at, claim)| (at, claim.claimed)).collect();
            if missed.is_empty() {
                Ok(claims.iter().map(|claim| claim.claimed).collect())
            } else {
                Err(missed)
            }
        }
    }
}

#[test]
fn kept_or_missed() {
    let (mut kept, mut missed, mut several) = ([0; 2], [0; 2], 0);
    for seed in 0..80 {
        let mut draw = Draw(9_000 + seed);
        let system = small(&mut draw, 5, 300);
        for (which, equations) in [Equations::Sound, Equations::Printed].into_iter().enumerate() {
            let mut problem = system.problem(equations);
            for _ in 0..8 {
                let drawn = system.objects.iter().map(|object| draw.index(object.offers.len()));
                let selection: Vec<usize> = drawn.collect();
                let whole: Vec<_> = selection.iter().copied().map(Some).collect();
                let judged = problem.judge(&whole).unwrap();
                let outcome = problem.outcome(&selection).unwrap();
                match asked(&system, &selection, equations) {
                    Ok(responses) => {
                        let judged = judged.expect("it is kept");
                        assert_eq!(judged.responses, responses, "seed {seed}");
                        assert_eq!(outcome, Judgement::Feasible(judged), "seed {seed}");
                        kept[which] += 1;
                    }
                    Err(passing) => {
                        assert_eq!(judged, None, "seed {seed}");
                        let deadline = |task: usize| system.rows[task].deadline;
                        let part = |(task, response): (usize, Duration)| {
                            (u128::from(response.as_ns()) * 1_000_000).div_ceil(deadline(task).into())
                        };
                        let most = passing.iter().copied().map(part).max();
                        let first = passing.iter().copied().find(|found| Some(part(*found)) == most);
                        let miss = first.map_or(Miss::Steps, |(task, response)| Miss::Deadline {
                            task,
                            response,
                            deadline: ns(deadline(task)),
                        });
                        assert_eq!(outcome, Judgement::Missed(miss), "seed {seed}");
                        missed[which] += 1;
                        several += u32::from(passing.len() > 1);
                    }
                }
            }
        }
    }
    assert!(
        kept.iter().chain(&missed).all(|count| *count > 50) && several > 20,
        "{kept:?} {missed:?} {several}"
    );
}

/// Of two tasks that pass their deadlines by the same ratio, the first is named.
#[test]
fn the_first_of_equals_is_named() {
    let mut system = small(&mut Draw(1), 1, 7);
    let row =
        Row { core: 0, period: 1_000, deadline: 100, jitter: 0, priority: 1, outside: 150, sections: vec![] };
    system.rows = vec![Row { outside: 5, ..row.clone() }, row.clone(), Row { core: 1, ..row }];
    system.rows[0].priority = 2;
    system.objects.truncate(1);
    system.objects[0].offers.truncate(1);
    system.objects[0].offers[0] = Offer {
        name: "copy".into(),
        guard: Guard::Absent,
        added: vec![],
        held: Duration::ZERO,
        memory: OfferMemory::Fixed(1),
    };
    system.rows[1].outside -= 5;
    for equations in [Equations::Sound, Equations::Printed] {
        match system.problem(equations).outcome(&[0]).unwrap() {
            Judgement::Missed(Miss::Deadline { task, .. }) => assert_eq!(task, 1, "{equations:?}"),
            other => panic!("{other:?}"),
        }
    }
}

/// Of selections that are equal in all measures, the exhaustive search takes the first.
#[test]
fn the_first_of_equals_is_taken() {
    let mut system = small(&mut Draw(1), 1, 7);
    system.objects[0].offers.truncate(1);
    let offer = system.objects[0].offers[0].clone();
    system.objects[0].offers.push(offer);
    let best = exhaustive::search(&mut system.problem(Equations::Sound)).unwrap();
    assert_eq!(best.map(|(selection, _)| selection), Some(vec![0]));
}

#[test]
fn constraints_are_in_the_order_in_which_they_were_asked_for() {
    let mut problem = small(&mut Draw(1), 1, 7).problem(Equations::Sound);
    for name in ["age", "reaction"] {
        problem.constrain(Constraint::new(name, ns(7), |_, _| Ok(None)));
    }
    let names: Vec<&str> = problem.constraints().iter().map(|constraint| constraint.name.as_str()).collect();
    assert_eq!(names, ["age", "reaction"]);
}
