// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The total length of the sections of other cores that can occur in a window: of each core, the longest sections.
//!
//! ```text
//! Asked       for a core, a window w and a number F, of a resource:
//!             longest = Σ_E top_E(w, F),  next = Σ_E next_E(w, F),  over all other cores E
//!             x of core E can have ⌈(w + R_x) / T_x⌉ · N_xq sections of length w_xq in the window; of these, top_E is
//!             the sum of the F longest and next_E the longest after those
//! Symbols     [ns] w window, R response from the arrival, T period, w_xq longest section; N requests of a job
//! ```
//!
//! Two forms, which give the same result. [`one_by_one`] walks over the cores for each question: questions · cores
//! steps.
//!
//! [`together`] answers all questions about a resource, the shortest window first. Order the sections of E from the
//! longest to the shortest. If those of x have the numbers s to e, top_E has slope w_xq between F = s and F = e, and
//! next_E is the slope of top_E at F. So Σ top and Σ next are the sum and the slope of what all sections of all cores
//! add, and two sums over the numbers at which slopes change give both. A longer window changes s and e only for a
//! task of which it holds one job more, and for the sections behind that task's. The whole takes questions + changes
//! steps, each logarithmic in the number of different F; the number of changes depends on the windows and periods, not
//! on the number of cores.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::contention::Contention;
use super::fixed_point::State;
use crate::Overflow;

/// A question about a resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    /// The core whose sections do not count.
    pub(super) core: usize,
    /// w.
    pub(super) window: u64,
    /// F.
    pub(super) count: u64,
}

/// The answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sections {
    pub(super) longest: u64,
    pub(super) next: u64,
}

/// Answers all questions about a resource, in their order.
pub(super) fn sections(
    contention: &Contention,
    resource: usize,
    state: &State,
    questions: &[Question],
) -> Result<Vec<Sections>, Overflow> {
    let uses = contention.all_uses(resource);
    let most = questions.iter().map(|question| question.count).max().unwrap_or(0);
    let [first, last] = [questions.iter().map(|q| q.window).min(), questions.iter().map(|q| q.window).max()];
    let spread = last.unwrap_or(0) - first.unwrap_or(0);
    let asked = questions.len() as u64;
    let changes = |task: usize| (spread / contention.tasks[task].period + 1).min(asked);
    let changes = uses.iter().fold(0u64, |sum, x| sum.saturating_add(changes(x.task)));
    // A change costs a look-up in a heap and updates of two sums, for the sections behind it too.
    let logarithm = u64::from(asked.max(2).ilog2());
    let together_takes = changes.saturating_mul(6).saturating_add(asked).saturating_mul(logarithm);
    let longest = uses.iter().map(|x| x.length).max().unwrap_or(0);
    // Products of slopes and numbers are added up in 128 bits with a sign.
    let fits = u128::from(most.saturating_add(1)) * u128::from(longest)
        <= i128::MAX as u128 / 4 / (uses.len() as u128 + 1);
    if fits && together_takes < asked.saturating_mul(contention.cores as u64) {
        together(contention, resource, state, questions)
    } else {
        questions.iter().map(|question| one_by_one(contention, resource, state, *question)).collect()
    }
}

/// How many sections of a use a window can hold.
fn held(contention: &Contention, state: &State, task: usize, count: u64, window: u64) -> u64 {
    contention.jobs(task, window, state.response[task]).saturating_mul(count)
}

/// The sections of one core: top and next.
fn of_core(
    contention: &Contention,
    resource: usize,
    state: &State,
    core: usize,
    question: Question,
) -> Result<(u64, u64), Overflow> {
    let (mut sum, mut left) = (0u64, question.count);
    for theirs in contention.uses(resource, core) {
        let most = held(contention, state, theirs.task, theirs.count, question.window);
        let taken = most.min(left);
        let time = taken.checked_mul(theirs.length).ok_or(Overflow)?;
        sum = sum.checked_add(time).ok_or(Overflow)?;
        left -= taken;
        if most > taken {
            return Ok((sum, theirs.length));
        }
    }
    Ok((sum, 0))
}

/// Answers a question by walking over the cores.
fn one_by_one(
    contention: &Contention,
    resource: usize,
    state: &State,
    question: Question,
) -> Result<Sections, Overflow> {
    let mut all = Sections::default();
    for core in (0..contention.cores).filter(|&core| core != question.core) {
        let (longest, next) = of_core(contention, resource, state, core, question)?;
        all.longest = all.longest.checked_add(longest).ok_or(Overflow)?;
        all.next = all.next.checked_add(next).ok_or(Overflow)?;
    }
    Ok(all)
}

/// Where slopes change: sums over all numbers up to a given one, of the changes and of each change times its number.
struct Slopes {
    /// All F of the questions, each once, the least first.
    counts: Vec<u64>,
    /// Fenwick trees over them.
    sums: Vec<(i128, i128)>,
}

impl Slopes {
    fn new(questions: &[Question]) -> Self {
        let mut counts: Vec<u64> = questions.iter().map(|question| question.count).collect();
        counts.sort_unstable();
        counts.dedup();
        let sums = vec![(0, 0); counts.len() + 1];
        Self { counts, sums }
    }

    /// From number `from` on, the slope is larger by `change`.
    fn change(&mut self, from: u64, change: i128) {
        let mut at = self.counts.partition_point(|&count| count < from) + 1;
        while at < self.sums.len() {
            self.sums[at].0 += change;
            self.sums[at].1 += change * i128::from(from);
            at += at & at.wrapping_neg();
        }
    }

    /// The sum and the slope at the F of a question.
    fn at(&self, count: u64) -> (i128, i128) {
        let mut at = self.counts.partition_point(|&other| other <= count);
        let (mut slope, mut moment) = (0, 0);
        while at > 0 {
            slope += self.sums[at].0;
            moment += self.sums[at].1;
            at -= at & at.wrapping_neg();
        }
        (slope * i128::from(count) - moment, slope)
    }
}

/// Answers all questions, the shortest window first.
fn together(
    contention: &Contention,
    resource: usize,
    state: &State,
    questions: &[Question],
) -> Result<Vec<Sections>, Overflow> {
    let uses = contention.all_uses(resource);
    let mut order: Vec<usize> = (0..questions.len()).collect();
    order.sort_unstable_by_key(|&at| questions[at].window);
    let mut slopes = Slopes::new(questions);
    // From `end` on all numbers are alike: no question has a larger F.
    let end = slopes.counts.last().map_or(0, |most| most.saturating_add(1));
    let mut of_use = vec![0u64; uses.len()];
    let groups = groups(contention, resource);
    // The least window that holds one job more, and the use that it belongs to.
    let mut later: BinaryHeap<Reverse<(u64, usize)>> = (0..uses.len()).map(|at| Reverse((0, at))).collect();
    let mut answers = vec![Sections::default(); questions.len()];
    for at in order {
        let question = questions[at];
        // 1. The uses with more sections in this window than in the one before.
        while let Some(&Reverse((from, x))) = later.peek()
            && from <= question.window
        {
            later.pop();
            let group = groups[x].clone();
            let most = held(contention, state, uses[x].task, uses[x].count, question.window);
            let before = of_use[group.start..x].iter().fold(0u64, |sum, most| sum.saturating_add(*most));
            if before >= end {
                // The uses before this one are enough for every question, and stay so.
                continue;
            }
            for (sign, most) in [(-1, of_use[x]), (1, most)] {
                of_use[x] = most;
                let mut from = before;
                for y in x..group.end {
                    let to = from.saturating_add(of_use[y]).min(end);
                    if from < to {
                        slopes.change(from, sign * i128::from(uses[y].length));
                        slopes.change(to, -sign * i128::from(uses[y].length));
                    }
                    from = to;
                }
            }
            if before.saturating_add(of_use[x]) < end
                && let Some(from) = one_more(contention, state, uses[x].task, question.window)
            {
                later.push(Reverse((from, x)));
            }
        }
        // 2. All cores, without the question's own.
        let (longest, next) = slopes.at(question.count);
        let own = of_core_wide(contention, resource, state, question);
        answers[at] = Sections {
            longest: u64::try_from(longest - own.0).map_err(|_| Overflow)?,
            next: u64::try_from(next - own.1).map_err(|_| Overflow)?,
        };
    }
    Ok(answers)
}

/// The same as [`of_core`] for the question's own core, in 128 bits: a sum over 64 bits is subtracted again later.
fn of_core_wide(contention: &Contention, resource: usize, state: &State, question: Question) -> (i128, i128) {
    let (mut sum, mut left) = (0i128, question.count);
    for own in contention.uses(resource, question.core) {
        let most = held(contention, state, own.task, own.count, question.window);
        let taken = most.min(left);
        sum += i128::from(taken) * i128::from(own.length);
        left -= taken;
        if most > taken {
            return (sum, own.length.into());
        }
    }
    (sum, 0)
}

/// For each use of a resource, the uses of the same core.
fn groups(contention: &Contention, resource: usize) -> Vec<std::ops::Range<usize>> {
    let uses = contention.all_uses(resource);
    let core = |at: usize| contention.tasks[uses[at].task].core;
    let mut groups = Vec::with_capacity(uses.len());
    while groups.len() < uses.len() {
        let start = groups.len();
        let end = start + uses[start..].partition_point(|x| contention.tasks[x.task].core == core(start));
        groups.resize(end, start..end);
    }
    groups
}

/// The least window that is longer than `window` and holds one job more: if `window` holds k jobs, the first w with
/// w + R > k · T.
fn one_more(contention: &Contention, state: &State, task: usize, window: u64) -> Option<u64> {
    let jobs = contention.jobs(task, window, state.response[task]);
    let reach = u128::from(jobs) * u128::from(contention.tasks[task].period) + 1;
    u64::try_from(reach.saturating_sub(state.response[task].into())).ok().map(|from| from.max(window + 1))
}

#[cfg(test)]
mod tests {
    use super::super::drawn::{Draw, set};
    use super::*;

    /// Both forms, on random sets with random windows and response times.
    #[test]
    fn together_is_one_by_one() {
        let mut draw = Draw(7);
        let mut questions_asked = 0;
        for _ in 0..300 {
            let (cores, each, resources) = (draw.below(12) + 1, draw.below(5) + 1, draw.below(4) + 1);
            let set = set(&mut draw, cores, each, resources);
            let contention = Contention::any_deadline(&set).expect("fits");
            let tasks = contention.tasks.len();
            let far = [10, 1_000, 1_000_000, u64::MAX][draw.below(4)];
            let state = State {
                window: vec![0; tasks],
                response: (0..tasks).map(|task| contention.tasks[task].cost + draw.up_to(far / 2)).collect(),
            };
            let most = [1, 10, 1_000, u64::MAX / 1_000][draw.below(4)];
            let question = |draw: &mut Draw| Question {
                core: draw.below(cores),
                window: draw.up_to(far),
                count: draw.up_to(most),
            };
            let questions: Vec<Question> = (0..draw.below(60)).map(|_| question(&mut draw)).collect();
            for resource in 0..resources {
                let slow: Result<Vec<Sections>, Overflow> =
                    questions.iter().map(|&asked| one_by_one(&contention, resource, &state, asked)).collect();
                assert_eq!(
                    together(&contention, resource, &state, &questions),
                    slow,
                    "{set:?} {questions:?}"
                );
                questions_asked += questions.len();
            }
        }
        assert!(questions_asked > 10_000, "{questions_asked}");
    }

    #[test]
    fn what_does_not_fit_does_not_fit_in_either() {
        let mut draw = Draw(3);
        let set = set(&mut draw, 3, 2, 1);
        let mut contention = Contention::any_deadline(&set).expect("fits");
        contention.tasks.iter_mut().for_each(|task| task.period = 1);
        let state = State { window: vec![0; 6], response: vec![u64::MAX; 6] };
        let most = Question { core: 0, window: u64::MAX, count: u64::MAX };
        let few = Question { core: 0, window: u64::MAX, count: 1 };
        if contention.all_uses(0).iter().any(|x| contention.tasks[x.task].core != 0 && x.length > 1) {
            assert!(one_by_one(&contention, 0, &state, most).is_err());
            assert!(together(&contention, 0, &state, &[most]).is_err());
        }
        assert_eq!(
            together(&contention, 0, &state, &[few]),
            one_by_one(&contention, 0, &state, few).map(|one| vec![one])
        );
    }
}
