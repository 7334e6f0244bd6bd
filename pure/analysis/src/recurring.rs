// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The least fixed point of a busy window, for streams with gaps from a nanosecond to an hour side by side.
//!
//! ```text
//! Equation    the least w = F + Σ_k max(1, ⌈w / G_k⌉) · c_k
//! Symbols     [ns] w window, F work at the start, G_k least time between two arrivals of a stream, c_k cost of one
//! Cost        a step jumps to where all frequent streams are served, so that only rare arrivals cost steps; limited
//! ```

use taut_time::Duration;

use crate::Overflow;
use crate::wide::{count, ns};

/// A stream of arrivals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recurring {
    /// G, more than 0.
    pub(crate) gap: Duration,
    /// c.
    pub(crate) cost: u128,
}

/// How a search ended, and after how many steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Least {
    /// w.
    Found(u64, u32),
    /// w is past the limit. The value is what the streams ask for at the limit: more than the limit, and no more than
    /// w.
    Past(u64, u32),
    /// The steps ran out.
    Steps,
}

/// The least w, if it is at most `limit`, in at most `steps_max` steps.
pub(crate) fn least(
    at_start: u128,
    streams: impl Iterator<Item = Recurring> + Clone,
    limit: u64,
    steps_max: u32,
) -> Result<Least, Overflow> {
    let limit = u128::from(limit);
    // Checks that costs fit, which `ahead` needs.
    asked(at_start, streams.clone(), at_start)?;
    // Far from the start, only rates count.
    let mut w = at_start.max(ahead(at_start, streams.clone(), 0, u128::MAX)).min(limit + 1);
    for steps in 1..=steps_max {
        let next = asked(at_start, streams.clone(), w)?;
        if next == w && w <= limit {
            return Ok(Least::Found(count(w)?, steps));
        }
        // The window ends at `next` or later, and not before the rates at `next` allow.
        w = if next > limit { next } else { ahead(at_start, streams.clone(), w, next).max(next) };
        if w > limit {
            return Ok(Least::Past(count(asked(at_start, streams, limit)?)?, steps));
        }
    }
    Ok(Least::Steps)
}

/// at_start + Σ max(1, ⌈w / gap⌉) · cost.
fn asked(at_start: u128, mut streams: impl Iterator<Item = Recurring>, w: u128) -> Result<u128, Overflow> {
    let sum = streams.try_fold(at_start, |sum, one| {
        let jobs = w.div_ceil(ns(one.gap)).max(1);
        jobs.checked_mul(one.cost).and_then(|time| sum.checked_add(time))
    });
    let sum = sum.ok_or(Overflow)?;
    count(sum)?;
    Ok(sum)
}

/// A time before which no solution lies, if none lies before `next`. Each term is at least its value at `w`, and at
/// least cost / gap times the window. That lower bound is a convex function of the window, so it is above its tangent
/// at `next`, and its fixed point is not before the tangent's. 2⁶⁴, past all deadlines, if the tangent has none.
fn ahead(at_start: u128, streams: impl Iterator<Item = Recurring>, w: u128, next: u128) -> u128 {
    // The tangent's height at 0, and its slope in units of 2⁻⁶⁴, rounded down. All costs and sums are below 2⁶⁴,
    // since `next` is.
    let (mut height, mut slope) = (at_start, 0u128);
    for one in streams {
        let gap = ns(one.gap);
        let jobs = w.div_ceil(gap).max(1);
        if jobs * gap < next {
            slope = slope.saturating_add((one.cost << 64) / gap);
        } else {
            height += jobs * one.cost;
        }
    }
    if height == 0 {
        return 0;
    }
    match (1u128 << 64).checked_sub(slope) {
        Some(rest) if rest > 0 => (height << 64) / rest,
        _ => 1 << 64,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use taut_time::Duration;

    /// Iterates one value after the other.
    fn plain(at_start: u128, recurring: &[Recurring], limit: u128) -> Option<u128> {
        let mut w = at_start;
        loop {
            let next = asked(at_start, recurring.iter().copied(), w).expect("small");
            if next > limit {
                return None;
            }
            if next == w {
                return Some(w);
            }
            w = next;
        }
    }

    fn recurring(list: &[(u64, u64)]) -> Vec<Recurring> {
        list.iter().map(|&(gap, cost)| Recurring { gap: Duration::from_ns(gap), cost: cost.into() }).collect()
    }

    proptest! {
        #[test]
        fn the_same_as_one_value_after_the_other(
            at_start in 0..200_u128,
            list in prop::collection::vec((1..60_u64, 0..25_u64), 0..5),
            limit in 0..4_000_u64,
        ) {
            let list = recurring(&list);
            let found = least(at_start, list.iter().copied(), limit, 10_000).expect("small");
            match (found, plain(at_start, &list, limit.into())) {
                (Least::Found(found, _), Some(w)) => prop_assert_eq!(u128::from(found), w),
                (Least::Past(late, _), None) => {
                    prop_assert!(late > limit);
                    // No more than the true window, if there is one.
                    if let Some(w) = plain(at_start, &list, 1_000_000) {
                        prop_assert!(u128::from(late) <= w);
                    }
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    /// 1 ns every 2 ns, and nearly all of the rest in pieces of about half an hour; and a stream that leaves a
    /// millionth.
    #[test]
    fn one_nanosecond_beside_an_hour() {
        const HOUR: u64 = 3_600_000_000_000;
        let shown = |at_start: u64, list: &[(u64, u64)]| {
            let streams = recurring(list).into_iter();
            let Ok(Least::Found(w, _)) = least(at_start.into(), streams, u64::MAX, 1_000) else { panic!() };
            w
        };
        // 1 h + 0.49 h · 99 + ⌈w / 2⌉ ns, and the last piece has arrived.
        let w = shown(HOUR, &[(2, 1), (HOUR, HOUR / 100 * 49)]);
        assert_eq!(w, HOUR + w.div_ceil(2) + HOUR / 100 * 49 * w.div_ceil(HOUR));
        assert!(w / HOUR >= 98, "{w}");
        let w = shown(HOUR, &[(1_000_000, 999_999)]);
        assert_eq!(w, HOUR * 1_000_000);
        // As much arrives as is served.
        let full = recurring(&[(2, 1), (HOUR, HOUR / 2)]);
        assert!(matches!(least(1, full.into_iter(), HOUR, 1_000), Ok(Least::Past(late, _)) if late > HOUR));
    }
}
