// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Other aims, constraints besides deadlines, and why an object got its offer.

use taut_analysis::multi::Guard;
use taut_planner::select::{Aim, Alone, Constraint, Equations, Judgement, Miss, best, exhaustive, why};
use taut_time::Duration;

use crate::system::{Draw, ns, small};

#[test]
fn the_best_of_all() {
    let (mut kept, mut missed, mut ended) = (0, 0, [0; 2]);
    for seed in 0..90 {
        let aim = [Aim::Memory, Aim::Response, Aim::Slack][seed as usize % 3];
        let system = small(&mut Draw(seed), 6, 150);
        let mut problem = system.problem(Equations::Sound);
        let open = problem.judge(&vec![None; system.objects.len()]).unwrap();
        let ends = |responses: &[Duration]| responses[0].as_ns() + responses[responses.len() - 1].as_ns();
        let limit = open.map_or(0, |open| ends(&open.responses)) + seed % 80;
        // Data go through the first and the last task, and arrive later if the first object is guarded.
        let age = |responses: &[Duration], guards: &[Guard]| {
            let later = if guards[0] == Guard::Absent { 0 } else { 50 };
            Ok(Some(ns(responses[0].as_ns() + responses[responses.len() - 1].as_ns() + later)))
        };
        problem.aim(aim).constrain(Constraint::new("age", ns(limit), age));
        let all = exhaustive::search(&mut problem).unwrap();
        let ours = best::search(&mut problem, u64::MAX, &mut |_| true).unwrap();
        assert!(ours.is_proven(), "seed {seed}");
        let value = all.as_ref().map(|(_, judged)| judged.value(aim));
        assert_eq!(ours.best.as_ref().map(|(_, judged)| judged.value(aim)), value, "seed {seed}");
        let (Some((selection, judged)), Some((_, all))) = (ours.best, all) else { continue };
        ended[0] += 1;
        ended[1] += u32::from(judged.values(aim) == all.values(aim));
        if aim != Aim::Memory {
            // Then bytes are the least there are with that value, too.
            assert_eq!(judged.values(aim)[1], all.values(aim)[1], "seed {seed}");
        }
        assert!(judged.responses[0].as_ns() + judged.responses[judged.responses.len() - 1].as_ns() <= limit);
        for object in 0..selection.len() {
            let mut others = why(&mut problem, &selection, object).unwrap().unwrap();
            assert_eq!(others.remove(selection[object]).alone, Alone::Selected(judged.clone()));
            let mut next = u64::MAX;
            for other in others {
                match other.alone {
                    // If it were better, the search would have taken it.
                    Alone::Feasible(other) => {
                        assert!(other.value(aim) >= judged.value(aim));
                        next = next.min(other.value(aim));
                        kept += 1;
                    }
                    Alone::Missed(Miss::Deadline { response, deadline, .. }) => assert!(response > deadline),
                    Alone::Missed(Miss::Constraint { time, limit, .. }) => {
                        assert!(time.unwrap() > limit);
                        missed += 1;
                    }
                    other => panic!("{other:?}"),
                }
            }
            let second = best::runner_up(&mut problem, &selection, object, u64::MAX, &mut |_| true).unwrap();
            assert!(second.is_proven() && second.at_least >= ours.at_least && second.at_least <= next);
            if let Some((other, _)) = second.best {
                assert_ne!(other[object], selection[object]);
                assert!(matches!(problem.outcome(&other).unwrap(), Judgement::Feasible(_)));
            }
        }
    }
    assert!(kept > 100 && missed > 5 && ended[1] * 10 >= ended[0] * 9, "{kept} {missed} {ended:?}");
}
