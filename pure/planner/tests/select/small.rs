// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Small systems: what the search calls the best is the best of all.

use taut_planner::select::{Aim, Equations, Judged, Problem, best, exhaustive, paper};

use crate::recheck;
use crate::system::{Draw, System, charged, small};

/// Counts over some systems.
#[derive(Debug, Default)]
struct Tally {
    systems: u64,
    /// Systems without a selection that keeps all deadlines.
    none: u64,
    /// Systems with both kinds of locks in the best selection, or with one of them and copies.
    mixed: u64,
    /// Systems for which the published heuristic needs more.
    above: u64,
    selections: u64,
    most_objects: usize,
}

fn value(aim: Aim, found: Option<&(Vec<usize>, Judged)>) -> Option<u64> {
    found.map(|(_, judged)| judged.value(aim))
}

/// All selections, each judged by a set made anew.
fn by_hand(system: &System) -> Option<u64> {
    let mut least = None;
    for number in 0..system.selections() {
        let mut left = number;
        let digits = system.objects.iter().map(|object| {
            let digit = left % object.offers.len() as u64;
            left /= object.offers.len() as u64;
            digit as usize
        });
        let selection: Vec<usize> = digits.collect();
        if let Some(responses) = recheck::responses(system, &selection) {
            let taken = system.objects.iter().zip(&selection).map(|(object, &offer)| &object.offers[offer]);
            let bytes = taken.map(|offer| recheck::bytes(system, offer, &responses)).sum::<u64>();
            let bytes = bytes + recheck::charged(system, &selection);
            least = least.into_iter().chain([bytes]).min();
        }
    }
    least
}

fn hold(seed: u64, objects: usize, selections: u64, tally: &mut Tally) {
    hold_all(seed, &small(&mut Draw(seed), objects, selections), tally);
}

fn hold_all(seed: u64, system: &System, tally: &mut Tally) {
    let mut problem = system.problem(Equations::Sound);
    let all = exhaustive::search(&mut problem).unwrap();
    let ours = best::search(&mut problem, u64::MAX, &mut |_| true).unwrap();
    assert!(ours.is_proven(), "seed {seed}");
    assert_eq!(value(Aim::Memory, ours.best.as_ref()), value(Aim::Memory, all.as_ref()), "seed {seed}");
    if system.selections() <= 300 {
        assert_eq!(by_hand(system), value(Aim::Memory, all.as_ref()), "seed {seed}");
    }
    tally.systems += 1;
    tally.selections += system.selections();
    tally.most_objects = tally.most_objects.max(system.objects.len());
    let Some((selection, judged)) = &ours.best else {
        tally.none += 1;
        return;
    };
    recheck::check(system, selection, judged, 3);
    let guards = selection.iter().zip(&system.objects).map(|(&offer, object)| object.offers[offer].guard);
    let mut guards: Vec<_> = guards.collect();
    guards.sort_unstable();
    guards.dedup();
    tally.mixed += u64::from(guards.len() > 1);
    let published = paper::heuristic(&mut problem, best::DEPTH).unwrap();
    if let Some((_, published)) = &published {
        assert!(published.bytes >= judged.bytes, "seed {seed}");
    }
    tally.above += u64::from(published.is_none_or(|(_, published)| published.bytes > judged.bytes));
}

#[test]
fn the_least_of_all() {
    let mut tally = Tally::default();
    (0..120).for_each(|seed| hold(seed, 8, 400, &mut tally));
    assert!(tally.mixed > 40 && tally.none < 40 && tally.above > 0, "{tally:?}");
}

/// The same, with charges for the first lock on a core.
#[test]
fn the_least_of_all_with_charges() {
    let (mut tally, mut free) = (Tally::default(), 0);
    for seed in 2_000..2_150 {
        let system = charged(&mut Draw(seed), 8, 400);
        hold_all(seed, &system, &mut tally);
        // Without the charges, another selection is the best of some systems.
        let mut without = System { charges: Vec::new(), ..system.clone() }.problem(Equations::Sound);
        let mut with = system.problem(Equations::Sound);
        let [one, other] =
            [&mut without, &mut with].map(|problem| best::search(problem, u64::MAX, &mut |_| true).unwrap());
        free += u32::from(one.best.map(|best| best.0) != other.best.map(|best| best.0));
    }
    assert!(tally.none < 60 && free > 20, "{tally:?} {free}");
}

/// 10,000 systems that have a selection, with up to 12 objects and 20,000 selections each. Some minutes:
/// `cargo test --release -p taut-plan --test select -- --ignored --nocapture ten_thousand_systems`.
#[test]
#[ignore = "some minutes"]
fn ten_thousand_systems() {
    let mut tally = Tally::default();
    let mut seed = 1_000_000;
    while tally.systems - tally.none < 10_000 {
        hold(seed, 12, 20_000, &mut tally);
        seed += 1;
    }
    println!("{tally:?}");
    assert_eq!(tally.most_objects, 12);
}

/// The published equations prove nothing, but the search finds their least as well.
#[test]
fn as_printed() {
    for seed in 0..60 {
        let system = small(&mut Draw(seed), 5, 100);
        let mut problem = system.problem(Equations::Printed);
        let all = exhaustive::search(&mut problem).unwrap();
        let ours = best::search(&mut problem, u64::MAX, &mut |_| true).unwrap();
        assert!(ours.is_proven());
        assert_eq!(value(Aim::Memory, ours.best.as_ref()), value(Aim::Memory, all.as_ref()), "seed {seed}");
    }
}

/// Wherever the search is stopped, its answer holds.
#[test]
fn stopped_early() {
    let mut open = 0;
    for seed in 0..100 {
        let system = small(&mut Draw(seed), 6, 300);
        let mut problem = system.problem(Equations::Sound);
        let least = best::search(&mut problem, u64::MAX, &mut |_| true).unwrap();
        for judgements in [0, 5, 40, 200] {
            let early = best::search(&mut problem, judgements, &mut |_| true).unwrap();
            assert!(early.at_least <= least.at_least);
            assert!(early.best.as_ref().is_none_or(|(_, judged)| judged.bytes >= least.at_least));
            // Only the least is said to be the least.
            let bytes = value(Aim::Memory, early.best.as_ref()).unwrap_or(u64::MAX);
            assert!(!early.is_proven() || bytes == least.at_least, "seed {seed}");
            open += u32::from(!early.is_proven());
            let published = paper::heuristic(&mut problem, best::DEPTH).unwrap();
            assert!(published.is_none_or(|(_, published)| published.bytes >= bytes), "seed {seed}");
            let again = best::search(&mut problem, judgements, &mut |_| true).unwrap();
            assert_eq!(early, again);
            let mut asked = 0;
            let stopped = best::search(&mut problem, u64::MAX, &mut |progress| {
                assert!(
                    progress.at_least <= least.at_least
                        && progress.best.is_none_or(|best| best >= least.at_least)
                );
                asked += 1;
                asked <= judgements / 5
            });
            assert!(stopped.unwrap().at_least <= least.at_least);
            // After it says no, the caller is not asked again.
            assert!(asked <= judgements / 5 + 1);
        }
    }
    assert!(open > 100, "{open}");
}

/// Without judgements of its own, the search returns what the published heuristic finds, which looks at memory
/// alone. If its caller says no at once, it does not refine that.
#[test]
fn no_judgements() {
    for seed in 0..60 {
        let aim = [Aim::Memory, Aim::Response, Aim::Slack][seed as usize % 3];
        let mut problem = small(&mut Draw(seed), 6, 300).problem(Equations::Sound);
        problem.aim(aim);
        let made = |problem: &mut Problem, judgements: u64, go_on: bool| {
            let before = problem.judged();
            let answer = best::search(problem, judgements, &mut |_| go_on).unwrap();
            (answer, problem.judged() - before)
        };
        let (none, refined) = made(&mut problem, 0, true);
        let (_, stopped) = made(&mut problem, u64::MAX, false);
        if aim == Aim::Memory {
            assert!(stopped < refined, "seed {seed}");
        } else {
            assert_eq!((none.best, refined, stopped), (None, 0, 0), "seed {seed}");
        }
    }
}
