// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_sweep::SharedObject;

use super::search::{Goal, approach};
use super::{Case, draws};
use crate::draw::Draw;

const SEED: u64 = 46;
/// The printed periods in ms, by core. Most periods of a core divide each other, so that a load of 95 % is possible.
const PERIODS: [&[u64]; 2] = [&[4, 4, 12, 12, 100, 100, 1000, 1000], &[5, 5, 10, 10, 50, 50, 50, 1000]];
const RESOURCES: usize = 46;
/// The least and the most bytes of a resource.
pub(super) const SIZES: [u64; 2] = [1, 512];

/// The sums that the paper prints.
pub(crate) const PRINTED: Goal = Goal { bytes: 5_032, dbp: 20_722, tccp: 278_468, wait_free: 17_330 };

/// The surrogate of the fuel injection system.
pub(crate) fn fuel_injection() -> Case {
    let mut draw = Draw::new(SEED);
    let tasks = draws::tasks(PERIODS, &mut draw);
    let drawn = [1, 1, 2, 4, 4, 8, 16, 32, 64, 128, 256, 512];
    let sizes = draws::sizes(&drawn, RESOURCES, SIZES, PRINTED.bytes, &mut draw);
    let of = |bytes| {
        let count = draw.pick(1, 4) as usize;
        let (writer, readers) = draws::parties(&tasks, count, &mut draw);
        SharedObject { bytes, writer, readers }
    };
    let objects = sizes.into_iter().map(of).collect();
    let mut case = Case { cores: 2, tasks, objects };
    approach(&mut case, &PRINTED, &mut draw);
    draws::sections(&mut case, &mut draw);
    case
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_what_is_printed() {
        let case = fuel_injection();
        let sizes = || case.objects.iter().map(|object| object.bytes);
        assert_eq!((case.tasks.len(), case.objects.len(), sizes().sum()), (16, 46, 5_032));
        let mut periods: Vec<u64> = case.tasks.iter().map(|task| task.period.as_ns() / 1_000_000).collect();
        periods.sort_unstable();
        periods.dedup();
        assert_eq!(periods, [4, 5, 10, 12, 50, 100, 1000]);
        assert_eq!((sizes().min(), sizes().max()), (Some(1), Some(512)));
        for object in &case.objects {
            let cores = |core| object.readers.iter().any(|&reader| case.tasks[reader].core == core);
            assert!(cores(1 - case.tasks[object.writer].core) && !object.readers.contains(&object.writer));
        }
    }
}
