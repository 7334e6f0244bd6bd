// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tests A, B and C, timed on the rules themselves.
//!
//! ```text
//! A   lock, unlock and decide, in a loop over one rule; DFP once with a read of the clock at each lock, once without
//! B   unlock and decide, on four copies of a rule, between two reads of the clock; the time of two reads with
//!     nothing between them is subtracted
//! C   release and decide, in the same way
//! ```
//!
//! Each round runs each test of each rule with each number of tasks once, so that a drift of the machine affects all
//! alike.

use std::collections::BTreeMap;
use std::hint::black_box;

use taut_policy::{LocalAnswer, Locking, Misuse};
use taut_sys::{clock, thread};
use taut_time::Instant;

use super::rules::{RESOURCE, SHORT, Scene, Variant, With};

/// A test of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Test {
    /// A: lock and unlock.
    Pair,
    /// A, without a read of the clock where a lock needs one.
    PairWithoutClock,
    /// B: unlock.
    Unlock,
    /// C: from a release to the decision.
    Activation,
}

impl Test {
    pub(super) const ALL: [Self; 4] = [Self::Pair, Self::PairWithoutClock, Self::Unlock, Self::Activation];

    /// The name in rows.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Pair => "a",
            Self::PairWithoutClock => "a_without_clock",
            Self::Unlock => "b",
            Self::Activation => "c",
        }
    }

    /// Whether the test says something about this rule that no other test does.
    pub(super) fn takes(self, variant: Variant) -> bool {
        self != Self::PairWithoutClock || variant.reads_the_clock()
    }
}

/// What is measured: a rule in a test, beside a number of other ready tasks.
pub(super) type Cell = (Variant, Test, u32);

/// Ready tasks beside the short one, as in the paper's charts: up to 10, and from 10 to 100.
pub(super) const OTHERS: [u32; 20] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100];

/// Everything that is measured.
pub(super) fn cells() -> impl Iterator<Item = Cell> {
    let variants = || Variant::ALL.into_iter();
    Test::ALL.into_iter().flat_map(move |test| {
        let each = move |others| variants().map(move |variant| (variant, test, others));
        OTHERS.into_iter().flat_map(each).filter(|(variant, test, _)| test.takes(*variant))
    })
}

/// How much to time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub(super) rounds: usize,
    /// Pairs in a batch of A.
    pub(super) pairs: u32,
    /// Samples of B and C.
    pub(super) samples: usize,
}

/// Batches of A in a round; the middle one counts.
const BATCHES: usize = 5;
/// Copies of a rule in B and C.
const ALIKE: usize = 4;

/// Times of an operation in ns, one for each round, by rule, test and number of others.
pub(super) type Times = BTreeMap<Cell, Vec<f64>>;

/// Times everything, on the first of the processors that this thread may use.
///
/// # Errors
/// A rule refuses a call, or makes a wrong decision.
pub(super) fn times(effort: &Effort) -> Result<Times, String> {
    let cpus = thread::affinity().map_err(|error| error.to_string())?;
    // If the thread may not be pinned, the spread shows it.
    let _ = cpus.first().map(|first| thread::set_affinity(&[*first]));
    let times = rounds(effort);
    let _ = thread::set_affinity(&cpus);
    times.map_err(|misuse| format!("a rule refused: {misuse}"))
}

fn rounds(effort: &Effort) -> Result<Times, Misuse> {
    let mut times = Times::new();
    let all: Vec<Cell> = cells().collect();
    for _ in 0..effort.rounds {
        for &(variant, test, others) in &all {
            let scene = Scene::new(others, now());
            let timed = Timed { test, scene: &scene, clock: variant.reads_the_clock(), effort };
            let time = scene.made(variant, timed)??;
            times.entry((variant, test, others)).or_default().push(time);
        }
    }
    Ok(times)
}

fn now() -> Instant {
    Instant::from_ns(clock::monotonic_ns())
}

/// One test of one rule.
struct Timed<'a> {
    test: Test,
    scene: &'a Scene,
    /// Whether the rule's lock reads the clock.
    clock: bool,
    effort: &'a Effort,
}

impl With for Timed<'_> {
    type Made = Result<f64, Misuse>;

    fn with<R: Locking + Clone>(self, mut rule: R) -> Self::Made {
        self.scene.others(&mut rule)?;
        if self.test != Test::Activation {
            self.scene.short(&mut rule)?;
        }
        let start = self.scene.start;
        let done = |_: &mut R| Ok(());
        let alike = |rule| Alike { rules: vec![rule; ALIKE], samples: self.effort.samples };
        match self.test {
            Test::Pair if self.clock => pairs(&mut rule, self.effort.pairs, now),
            Test::Pair | Test::PairWithoutClock => pairs(&mut rule, self.effort.pairs, || start),
            Test::Unlock => alike(rule).timed(|rule| lock(rule, start), unlock, done),
            Test::Activation => alike(rule).timed(done, |rule| release(rule, start), complete),
        }
    }
}

#[inline(always)]
pub(super) fn lock(rule: &mut impl Locking, now: Instant) -> Result<(), Misuse> {
    match rule.lock(now, black_box(RESOURCE))? {
        LocalAnswer::Granted => Ok(()),
        _ => Err(Misuse::Holding),
    }
}

/// The running job unlocks the resource, and goes on.
#[inline(always)]
pub(super) fn unlock(rule: &mut impl Locking) -> Result<(), Misuse> {
    rule.unlock(black_box(RESOURCE))?;
    runs(rule.decide())
}

/// Releases the short task, which then runs.
#[inline(always)]
pub(super) fn release(rule: &mut impl Locking, arrival: Instant) -> Result<(), Misuse> {
    rule.release(black_box(SHORT), arrival)?;
    runs(rule.decide())
}

/// The short task completes, and the task that ran before goes on.
pub(super) fn complete(rule: &mut impl Locking) -> Result<(), Misuse> {
    rule.complete()?;
    rule.decide();
    Ok(())
}

#[inline(always)]
fn runs(task: Option<usize>) -> Result<(), Misuse> {
    if task == Some(SHORT) { Ok(()) } else { Err(Misuse::State) }
}

/// ns of a pair: the middle of some batches.
fn pairs(rule: &mut impl Locking, pairs: u32, now: impl Fn() -> Instant) -> Result<f64, Misuse> {
    let mut times = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        let begin = clock::monotonic_ns();
        for _ in 0..pairs {
            lock(rule, black_box(now()))?;
            unlock(rule)?;
        }
        times.push((clock::monotonic_ns() - begin) as f64 / f64::from(pairs));
    }
    Ok(middle(&mut times))
}

/// Copies of one rule.
struct Alike<R> {
    rules: Vec<R>,
    samples: usize,
}

impl<R> Alike<R> {
    /// ns of an operation. `before` and `after` prepare and clean up each sample; neither is timed.
    fn timed(
        mut self,
        before: impl Fn(&mut R) -> Result<(), Misuse>,
        operation: impl Fn(&mut R) -> Result<(), Misuse>,
        after: impl Fn(&mut R) -> Result<(), Misuse>,
    ) -> Result<f64, Misuse> {
        let (mut with, mut without) = (Vec::with_capacity(self.samples), Vec::with_capacity(self.samples));
        for _ in 0..self.samples {
            self.rules.iter_mut().try_for_each(&before)?;
            let begin = clock::monotonic_ns();
            self.rules.iter_mut().try_for_each(&operation)?;
            with.push((clock::monotonic_ns() - begin) as f64);
            self.rules.iter_mut().try_for_each(&after)?;
            let begin = clock::monotonic_ns();
            self.rules.iter_mut().for_each(|rule| {
                black_box(rule);
            });
            without.push((clock::monotonic_ns() - begin) as f64);
        }
        Ok((middle(&mut with) - middle(&mut without)) / ALIKE as f64)
    }
}

/// The mean of the middle half: as steady as the median, and finer than a step of the clock.
fn middle(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    let quarter = times.len() / 4;
    let half = &times[quarter..times.len() - quarter];
    half.iter().sum::<f64>() / half.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_half_counts() {
        assert_eq!(middle(&mut [100.0, 2.0, 3.0, 0.0]), 2.5);
        assert_eq!(middle(&mut [7.0]), 7.0);
    }

    #[test]
    fn each_test_of_each_rule_runs() {
        let times = times(&Effort { rounds: 1, pairs: 3, samples: 4 }).expect("rules do what they must");
        assert_eq!(times.len(), OTHERS.len() * (3 * 5 + 3));
        assert!(times.values().all(|rounds| rounds.len() == 1));
    }
}
