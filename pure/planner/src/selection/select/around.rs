// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Looks for better selections near a given one: all objects but a few that contend with one another stay as they
//! are, and the same search finds the best offers for these few.

use core::cmp::Reverse;

use taut_analysis::Overflow;

use super::best::SearchProgress;
use super::problem::Problem;
use super::subtree::Search;

/// How many objects are free at a time, and how many judgements each time gets: if few objects find nothing, more
/// may.
const FREE: [(usize, u64); 2] = [(7, 1_000), (14, 4_000)];

/// Searches around each object in turn, until none helps, `limit` judgements are made, or `go_on` says no.
pub(super) fn around(
    search: &mut Search<'_>,
    possible: &[u64],
    limit: u64,
    go_on: &mut dyn FnMut(&SearchProgress) -> bool,
) -> Result<(), Overflow> {
    let near = neighbours(search.problem);
    let at_least = search.at_least();
    let mut since = 0;
    for at in (0..near.len()).cycle() {
        let Some((selection, judged)) = &search.best else { return Ok(()) };
        let before = judged.value(search.goal.aim);
        let level = FREE.get(since / near.len());
        let Some(&(free, each)) = level.filter(|_| search.problem.judged < limit && before > at_least) else {
            return Ok(());
        };
        let mut bits: Vec<u64> = selection.iter().map(|offer| 1 << offer).collect();
        for &other in near[at].iter().take(free) {
            bits[other] = possible[other];
        }
        let best = search.best.clone();
        let end = search.problem.judged.saturating_add(each).min(limit);
        let mut stopped = false;
        let mut part = Search::new(&mut *search.problem, bits, search.goal, best);
        part.run(end, &mut |progress| {
            let best = progress.best.map_or(before, |best| best.min(before));
            stopped = !go_on(&SearchProgress { best: Some(best), at_least, ..*progress });
            !stopped
        })?;
        search.best = part.best;
        let after = search.best.as_ref().map_or(before, |(_, judged)| judged.value(search.goal.aim));
        since = if after < before { 0 } else { since + 1 };
        if stopped {
            return Ok(());
        }
    }
    Ok(())
}

/// By object: itself, and then the others by how many users they share with it, the most first.
pub(super) fn neighbours(problem: &Problem) -> Vec<Vec<usize>> {
    let users: Vec<Vec<usize>> = (0..problem.objects.len()).map(|at| problem.users(at).collect()).collect();
    let shared =
        |one: usize, other: usize| users[one].iter().filter(|user| users[other].contains(user)).count();
    let near = |one: usize| {
        let mut others: Vec<usize> = (0..users.len()).collect();
        others.sort_by_key(|&other| (other != one, Reverse(shared(one, other)), other));
        others
    };
    (0..users.len()).map(near).collect()
}
