// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_sweep::SharedObject;

use super::{Case, draws};
use crate::draw::Draw;

const SEED: u64 = 42;
/// Periods in ms, by core: the printed ones, spread evenly over the 42 tasks.
const PERIODS: [&[u64]; 2] = [
    &[14, 14, 14, 14, 14, 20, 20, 20, 20, 20, 35, 35, 35, 35, 35, 35, 60, 60, 60, 60, 60],
    &[14, 14, 14, 14, 14, 20, 20, 20, 20, 20, 20, 35, 35, 35, 35, 35, 60, 60, 60, 60, 60],
];
const RESOURCES: usize = 36;
const BYTES: u64 = 2_240;
/// The least and the most bytes of a resource.
const SIZES: [u64; 2] = [20, 150];

/// The surrogate of the published example of task allocation. Each resource is a message: one task reads it.
pub(crate) fn allocation() -> Case {
    let mut draw = Draw::new(SEED);
    let tasks = draws::tasks(PERIODS, &mut draw);
    let sizes = draws::sizes(&[20, 30, 40, 50, 60, 80, 100, 150], RESOURCES, SIZES, BYTES, &mut draw);
    let of = |bytes| {
        let (writer, readers) = draws::parties(&tasks, 1, &mut draw);
        SharedObject { bytes, writer, readers }
    };
    let objects = sizes.into_iter().map(of).collect();
    let mut case = Case { cores: 2, tasks, objects };
    draws::sections(&mut case, &mut draw);
    case
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_what_is_printed() {
        let case = allocation();
        let sizes = || case.objects.iter().map(|object| object.bytes);
        assert_eq!((case.tasks.len(), case.objects.len(), sizes().sum()), (42, 36, 2_240));
        let mut periods: Vec<u64> = case.tasks.iter().map(|task| task.period.as_ns() / 1_000_000).collect();
        periods.sort_unstable();
        periods.dedup();
        assert_eq!(periods, [14, 20, 35, 60]);
        assert_eq!((sizes().min(), sizes().max()), (Some(20), Some(150)));
        for core in 0..2 {
            let shares = case.tasks.iter().filter(|task| task.core == core).map(|task| task.share);
            assert_eq!(shares.sum::<u64>(), 1_000_000);
        }
    }
}
