// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The published heuristic [Han14, Algorithm 6], compared with its steps written down once more: every selection is
//! whole, and judged anew.

use taut_analysis::multi::Guard;
use taut_planner::select::{Equations, Judged, Problem, best, exhaustive, paper};

use crate::system::{Draw, System, charged, small};

type Found = Option<(Vec<usize>, Judged)>;

/// What the algorithm decides by.
struct Steps<'s> {
    problem: &'s mut Problem,
    /// The wait-free offer of each object.
    free: Vec<usize>,
    /// By object, the locks that it may have instead: spinning, suspending.
    locks: Vec<[Option<usize>; 2]>,
    /// By what a lock saves, the most first.
    order: Vec<usize>,
    /// By the longest section, the longest first.
    by_length: Vec<usize>,
}

impl<'s> Steps<'s> {
    /// Step 1; `None` if wait-free offers alone do not keep the deadlines.
    fn of(system: &System, problem: &'s mut Problem) -> Option<Self> {
        let open = problem.judge(&vec![None; system.objects.len()]).unwrap()?;
        let (mut free, mut locks, mut saved) = (Vec::new(), Vec::new(), Vec::new());
        for object in &system.objects {
            let bytes = |offer: usize| {
                problem.bytes(&object.offers[offer], &open.responses).unwrap().unwrap_or(u64::MAX)
            };
            let cheapest = |guard: Guard| {
                let mut found: Option<usize> = None;
                for offer in 0..object.offers.len() {
                    let is_less = found.is_none_or(|found| bytes(offer) < bytes(found));
                    if object.offers[offer].guard == guard && is_less {
                        found = Some(offer);
                    }
                }
                found
            };
            let of_object = [Guard::Spinning, Guard::Suspending].map(cheapest);
            let [spin, suspend] = of_object;
            let start = cheapest(Guard::Absent).or(spin).or(suspend).unwrap();
            let lock = of_object.iter().flatten().map(|&lock| bytes(lock)).min();
            saved.push(lock.map_or(0, |lock| bytes(start).saturating_sub(lock)));
            free.push(start);
            locks.push(of_object);
        }
        let longest = |object: usize| {
            let sections = system.rows.iter().flat_map(|row| &row.sections);
            sections.filter(|section| section.0 == object).map(|section| section.2).max()
        };
        let sorted = |key: &dyn Fn(usize) -> u64| {
            let mut objects: Vec<usize> = (0..free.len()).collect();
            objects.sort_by(|&one, &other| key(other).cmp(&key(one)).then(one.cmp(&other)));
            objects
        };
        let order = sorted(&|object| saved[object]);
        let by_length = sorted(&|object| longest(object).unwrap_or(0));
        let steps = Self { problem, free, locks, order, by_length };
        let fits = judge(steps.problem, &steps.free).is_some();
        fits.then_some(steps)
    }

    /// Step 3, in which objects of `kept` stay wait-free and the `split` longest prefer to suspend.
    fn walk(&mut self, split: usize, kept: &[usize]) -> Vec<usize> {
        let mut selection = self.free.clone();
        for at in self.order.clone() {
            let mut locks = self.locks[at];
            if self.by_length[..split].contains(&at) {
                locks.reverse();
            }
            for lock in locks.into_iter().flatten().filter(|_| !kept.contains(&at)) {
                let before = std::mem::replace(&mut selection[at], lock);
                if judge(self.problem, &selection).is_some() {
                    break;
                }
                selection[at] = before;
            }
        }
        selection
    }

    fn heuristic(&mut self, depth: usize) -> Found {
        let mut best = None;
        for split in 0..=self.free.len() {
            let first = self.walk(split, &[]);
            let got_a_lock = |&at: &usize| first[at] != self.free[at];
            let near: Vec<usize> = self.order.iter().copied().filter(got_a_lock).take(depth).collect();
            for subset in 0..1usize << near.len() {
                let kept = (0..near.len()).filter(|bit| subset >> bit & 1 == 1).map(|bit| near[bit]);
                let kept: Vec<usize> = kept.collect();
                let selection = self.walk(split, &kept);
                keep(self.problem, selection, &mut best);
            }
        }
        best
    }

    fn backtracking(&mut self, depth: usize) -> Found {
        let first = self.walk(0, &[]);
        let last: Vec<usize> = self.order.iter().copied().rev().take(depth).collect();
        let mut all = vec![first.clone()];
        for &at in last.iter().rev() {
            let [spin, suspend] = self.locks[at];
            let ways: Vec<usize> = spin.into_iter().chain(suspend).chain([self.free[at]]).collect();
            let with = |selection: &Vec<usize>, way: usize| {
                let mut selection = selection.clone();
                selection[at] = way;
                selection
            };
            all = all.iter().flat_map(|selection| ways.iter().map(|&way| with(selection, way))).collect();
        }
        let mut best = None;
        for selection in [first].into_iter().chain(all) {
            keep(self.problem, selection, &mut best);
        }
        best
    }
}

fn judge(problem: &mut Problem, selection: &[usize]) -> Option<Judged> {
    problem.judge(&selection.iter().copied().map(Some).collect::<Vec<_>>()).unwrap()
}

/// Keeps the best selection; of equals the first.
fn keep(problem: &mut Problem, selection: Vec<usize>, best: &mut Found) {
    let Some(judged) = judge(problem, &selection) else { return };
    if best.as_ref().is_none_or(|(_, best)| judged.bytes < best.bytes) {
        *best = Some((selection, judged));
    }
}

/// Systems, also with objects that have no wait-free offer, or only one kind of lock.
fn systems() -> impl Iterator<Item = (u64, System)> {
    (0..300).map(|seed| {
        let mut draw = Draw(7_000 + seed);
        let system = if seed % 4 == 0 { charged(&mut draw, 6, 2_000) } else { small(&mut draw, 6, 2_000) };
        (seed, system)
    })
}

#[test]
fn the_published_steps() {
    let (mut found, mut none, mut deeper, mut back) = (0, 0, 0, 0);
    for (seed, system) in systems() {
        let mut problem = system.problem(Equations::Sound);
        let mut fresh = system.problem(Equations::Sound);
        let count = system.objects.len() as u64;
        let mut steps = Steps::of(&system, &mut fresh);
        let mut bytes = Vec::new();
        for depth in [0, 1, 2, 5] {
            let before = problem.judged();
            let ours = paper::heuristic(&mut problem, depth).unwrap();
            let most = (count + 1) * (1 << depth.min(system.objects.len())) * (2 * count + 1) + 2;
            assert!(problem.judged() - before <= most, "seed {seed}");
            let theirs = steps.as_mut().and_then(|steps| steps.heuristic(depth));
            assert_eq!(ours, theirs, "seed {seed}, depth {depth}");
            bytes.extend(ours.map(|(_, judged)| judged.bytes));
        }
        for depth in [0, 1, 3, 9] {
            let before = problem.judged();
            let ours = paper::backtracking(&mut problem, depth).unwrap();
            let most = 2 * count + 3u64.pow(depth.min(system.objects.len()) as u32) + 3;
            assert!(problem.judged() - before <= most, "seed {seed}");
            let theirs = steps.as_mut().and_then(|steps| steps.backtracking(depth));
            assert_eq!(ours, theirs, "seed {seed}, depth {depth}");
            // It tries only what the walk takes, but in all ways.
            back += u32::from(ours.is_some_and(|(_, ours)| ours.bytes < bytes[0]));
        }
        match steps {
            Some(_) => found += 1,
            None => none += 1,
        }
        assert!(bytes.is_sorted_by(|shallow, deep| shallow >= deep), "seed {seed}");
        deeper += u32::from(bytes.last() < bytes.first());
    }
    assert!(found > 60 && none > 10 && deeper > 3 && back > 3, "{found} {none} {deeper} {back}");
}

/// No heuristic has less than the least, and the search has no more than the heuristic, as it guarantees.
#[test]
fn between_the_least_and_the_published() {
    let mut above = [0; 2];
    for (seed, system) in systems() {
        let mut problem = system.problem(Equations::Sound);
        let least = exhaustive::search(&mut problem).unwrap().map_or(u64::MAX, |(_, judged)| judged.bytes);
        let bytes = |found: Found| found.map_or(u64::MAX, |(_, judged)| judged.bytes);
        let published = bytes(paper::heuristic(&mut problem, best::DEPTH).unwrap());
        let back = bytes(paper::backtracking(&mut problem, 3).unwrap());
        assert!(published >= least && back >= least, "seed {seed}");
        above[0] += u32::from(published > least);
        above[1] += u32::from(back > least);
    }
    assert!(above.iter().all(|count| *count > 0), "{above:?}");
}
