// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_analysis::wait_free::writes_during_read::{self, WriterTiming};
use taut_analysis::{Overflow, Verdict};
use taut_time::Duration;

use crate::draw::Draw;

/// The writer's period, and its deadline.
pub(super) const PERIOD: Duration = Duration::from_ns(1_000);

/// Draws readers as [Huang02, Fig. 11] divides them: their periods, in ns, the fast ones first. Of the fast readers a
/// fifth is twice as frequent as the writer, and the others are 1 to 15 times less frequent. Of the slow readers a
/// fifth is 50 to 100 times less frequent, and the others 15 to 50 times. The figure has 15 to 25 % for the fifths.
pub(super) fn draw(readers: usize, fast_percent: usize, draw: &mut Draw) -> Vec<u64> {
    let period = PERIOD.as_ns();
    let fast = readers * fast_percent / 100;
    let fifth = |all: usize| (2 * all + 5) / 10;
    let mut of = |low: u64, high: u64| draw.pick(low * period, high * period);
    let mut periods: Vec<u64> =
        (0..fast).map(|at| if at < fifth(fast) { period / 2 } else { of(1, 15) }).collect();
    let slow = readers - fast;
    periods.extend((0..slow).map(|at| if at < fifth(slow) { of(50, 100) } else { of(15, 50) }));
    periods
}

/// N_max of a read that lasts `read` ns.
pub(super) fn writes(read: u64) -> Result<u64, Overflow> {
    let writer = WriterTiming { period: PERIOD, within: PERIOD };
    match writes_during_read::printed(Duration::from_ns(read), &writer)? {
        Verdict::Schedulable(writes) => Ok(writes),
        _ => Err(Overflow),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_of_their_classes() {
        let periods = draw(20, 40, &mut Draw::new(3));
        assert_eq!(periods[..2], [500, 500]);
        for (class, low, high) in [(2..8, 1, 15), (8..10, 50, 100), (10..20, 15, 50)] {
            assert!(
                periods[class].iter().all(|period| (low * 1_000..=high * 1_000).contains(period)),
                "{periods:?}"
            );
        }
    }

    #[test]
    fn a_read_of_a_period_meets_two_writes() {
        assert_eq!([500, 1_000, 1_001, 100_000].map(writes), [Ok(2), Ok(2), Ok(3), Ok(101)]);
    }
}
