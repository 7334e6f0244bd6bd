// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::Duration;

use super::{Case, Section, Task};
use crate::draw::Draw;

/// All sections of a task together, in millionths of its execution time: the most that the paper draws.
const SECTIONS: u64 = 100_000;

/// Gives every task a section for each object that it writes or reads. Together they take a tenth of its execution
/// time, cut at places drawn uniformly.
pub(super) fn sections(case: &mut Case, draw: &mut Draw) {
    for task in 0..case.tasks.len() {
        let used: Vec<usize> = (0..case.objects.len()).filter(|&object| case.uses(task, object)).collect();
        let parts = draw.cut(SECTIONS, used.len().max(1));
        case.tasks[task].sections = used.into_iter().zip(parts.into_iter().map(Section::Fraction)).collect();
    }
}

/// Tasks with these periods on each core. A core's load is cut among its tasks; each has a 500th at least.
pub(super) fn tasks(periods: [&[u64]; 2], draw: &mut Draw) -> Vec<Task> {
    let mut tasks: Vec<Task> = Vec::new();
    for (core, periods) in periods.into_iter().enumerate() {
        let least = 2_000;
        let rest = 1_000_000 - least * periods.len() as u64;
        let shares = draw.cut(rest, periods.len());
        for (period, share) in periods.iter().zip(shares) {
            tasks.push(Task {
                name: format!("task-{}-of-{period}ms", tasks.len()),
                period: Duration::from_ms(*period),
                deadline: Duration::from_ms(*period),
                core,
                share: share + least,
                sections: Vec::new(),
            });
        }
    }
    tasks
}

/// Sizes within a range that sum to `whole`: drawn, and then adjusted. Both ends of the range occur.
pub(super) fn sizes(
    drawn: &[u64],
    count: usize,
    [least, most]: [u64; 2],
    whole: u64,
    draw: &mut Draw,
) -> Vec<u64> {
    let mut sizes: Vec<u64> = (0..count).map(|_| draw.of(drawn)).collect();
    (sizes[0], sizes[1]) = (least, most);
    loop {
        let sum: u64 = sizes.iter().sum();
        let at = draw.pick(2, count as u64 - 1) as usize;
        match sum.cmp(&whole) {
            std::cmp::Ordering::Equal => return sizes,
            std::cmp::Ordering::Less => sizes[at] = (sizes[at] + (whole - sum).min(sizes[at])).min(most),
            std::cmp::Ordering::Greater => {
                sizes[at] = (sizes[at] - (sum - whole).min(sizes[at] / 2)).max(least)
            }
        }
    }
}

/// A writer, and readers that are not all on the writer's core.
pub(super) fn parties(tasks: &[Task], readers: usize, draw: &mut Draw) -> (usize, Vec<usize>) {
    loop {
        let mut all: Vec<usize> = (0..tasks.len()).collect();
        let writer = all.swap_remove(draw.pick(0, all.len() as u64 - 1) as usize);
        let mut of = || all.swap_remove(draw.pick(0, all.len() as u64 - 1) as usize);
        let mut readers: Vec<usize> = (0..readers).map(|_| of()).collect();
        if readers.iter().any(|&reader| tasks[reader].core != tasks[writer].core) {
            readers.sort_unstable();
            return (writer, readers);
        }
    }
}
