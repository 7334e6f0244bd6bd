// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How many judgements the search takes. The order of all its steps is fixed, so these numbers belong to the
//! search, not to the machine. A search that bounds worse, probes in vain or branches otherwise shows here and
//! nowhere else, for what it finds is the best all the same.

use insta::assert_snapshot;
use taut_planner::select::{Aim, Equations, best, exhaustive};

use crate::system::{Draw, System, charged, injection, small};

/// Over some systems, the judgements until the best is proven, and the sum of its measures.
fn work(systems: impl Iterator<Item = System>, equations: Equations, aim: Aim) -> String {
    let (mut judged, mut sum) = (0, 0u64);
    for system in systems {
        let mut problem = system.problem(equations);
        problem.aim(aim);
        let answer = best::search(&mut problem, 20_000, &mut |_| true).unwrap();
        judged += problem.judged();
        sum += answer.best.as_ref().map_or(0, |(_, judged)| judged.values(aim).iter().sum());
        if let Some((selection, _)) = &answer.best {
            let second = best::runner_up(&mut problem, selection, 0, 2_000, &mut |_| true).unwrap();
            sum += second.best.as_ref().map_or(0, |(_, judged)| judged.values(aim).iter().sum());
        }
    }
    format!("{aim:?} {equations:?}: {judged} judgements, {sum}\n")
}

/// The same for the exhaustive search, with a checksum of the selections that it takes.
fn work_of_all(aim: Aim) -> String {
    let (mut judged, mut sum, mut digits) = (0, 0u64, 0);
    for seed in 0..25 {
        let mut problem = small(&mut Draw(5_000 + seed), 6, 300).problem(Equations::Sound);
        problem.aim(aim);
        if let Some((selection, found)) = exhaustive::search(&mut problem).unwrap() {
            sum += found.values(aim).iter().sum::<u64>();
            digits = selection.iter().fold(digits, |digits, offer| (digits * 7 + offer) % 1_000_003);
        }
        judged += problem.judged();
    }
    format!("{aim:?}, all: {judged} judgements, {sum}, {digits}\n")
}

#[test]
fn judgements() {
    let mut reported: String = [Aim::Memory, Aim::Slack].map(work_of_all).concat();
    for aim in [Aim::Memory, Aim::Response, Aim::Slack] {
        let plain = (0..60).map(|seed| small(&mut Draw(3_000 + seed), 7, 2_000));
        reported += &work(plain, Equations::Sound, aim);
        let with_charges = (0..60).map(|seed| charged(&mut Draw(4_000 + seed), 7, 2_000));
        reported += &work(with_charges, Equations::Sound, aim);
    }
    reported += &work((0..20).map(|seed| small(&mut Draw(seed), 5, 200)), Equations::Printed, Aim::Memory);
    reported += &work([injection(0, 300)].into_iter(), Equations::Sound, Aim::Memory);
    assert_snapshot!(reported);
}
