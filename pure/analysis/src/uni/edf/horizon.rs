// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Up to which window length processor demand must be examined, EDF, one core.
//!
//! ```text
//! Equation    U = Σ C_i / T_i > 1: no length is enough
//!             else min { L_b, L_a, L_r }, and 0 if D − J ≥ T for all tasks
//!             L_b = least L > 0 with L = Σ ⌈(L + J_i) / T_i⌉ · C_i
//!             L_a = max(D_i − J_i − T_i, Σ (T_i − D_i + J_i) · U_i / (1 − U)), if U < 1
//!             L_r = 1 + lcm(T_i) + max(0, D_i − J_i − T_i)
//! Symbols     [ns] C cost, T period or least time between arrivals, D deadline from the arrival, J jitter
//! Assumes     as `demand`
//! Verdict     the first t with h(t) > t lies before it, if there is any
//! Cost        pseudo-polynomial; limited
//! Source      [Spuri96] L_b with jitter; [ZhangBurns09] L_a; L_r: h repeats itself
//! ```
//!
//! - L_b: at a t > L_b with h(t) > t, the jobs released after L_b and due by t make h(t − L_b) > t − L_b, so t is not
//!   the first.
//! - L_a: h(t) ≤ U · t + Σ (T − D + J) · U for t past every D − J − T. Shares are rounded up to 2⁻⁶⁴, which only makes
//!   L_a longer; L_a is left out where the rounded shares reach 1. U itself is compared with 1 exactly.
//! - L_r: from D − J − T on, h(t + lcm) = h(t) + U · lcm ≤ h(t) + lcm.

use taut_time::Duration;

use super::demand::{Row, STEPS_MAX, TERMS_MAX};
use crate::Overflow;
use crate::uni::utilisation::Utilisation;

/// 1 as a share.
const ONE: u128 = 1 << 64;

/// How far to search.
pub(crate) enum Horizon {
    /// Below this.
    Before(u64),
    /// U > 1.
    Rate,
    /// The search for the horizon ran out of steps.
    Steps(u32),
}

/// The length before which the first window that is too short must lie.
pub(crate) fn horizon(rows: &[Row]) -> Result<Horizon, Overflow> {
    // 1. U, with every share rounded up.
    let mut share = 0u128;
    for row in rows {
        let own = (u128::from(row.cost) << 64).div_ceil(row.period.into());
        share = share.saturating_add(own);
    }
    if share > ONE {
        let tasks = rows.iter().map(|row| (Duration::from_ns(row.cost), Duration::from_ns(row.period)));
        if !Utilisation::fit(tasks).unwrap_or(false) {
            return Ok(Horizon::Rate);
        }
    }
    // 2. Nothing to search if no job is due before the next one arrives: then h(t) ≤ U · t.
    if rows.iter().all(|row| row.due >= row.period) {
        return Ok(Horizon::Before(0));
    }
    // 3. The two closed formulas; either may not fit, or not exist.
    let later = rows.iter().map(|row| row.due.saturating_sub(row.period)).max().unwrap_or(0);
    let cap = match (by_share(rows, share).map(|time| time.max(later)), by_repetition(rows, later)) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    // 4. The busy window, until it is longer than those.
    let mut window = rows.iter().try_fold(0u64, |sum, row| sum.checked_add(row.cost)).ok_or(Overflow)?;
    let mut steps = 0u32;
    loop {
        if let Some(cap) = cap.filter(|&cap| window >= cap) {
            return Ok(Horizon::Before(cap));
        }
        if steps > STEPS_MAX || u64::from(steps) * rows.len() as u64 > TERMS_MAX {
            return Ok(cap.map_or(Horizon::Steps(steps), Horizon::Before));
        }
        steps += 1;
        let mut next = 0u128;
        for row in rows {
            let jobs = (u128::from(window) + u128::from(row.jitter)).div_ceil(row.period.into());
            let time = jobs.checked_mul(row.cost.into()).ok_or(Overflow)?;
            next = next.checked_add(time).ok_or(Overflow)?;
        }
        match (u64::try_from(next), cap) {
            (Ok(next), _) if next == window => return Ok(Horizon::Before(window)),
            (Ok(next), _) => window = next,
            (Err(_), Some(cap)) => return Ok(Horizon::Before(cap)),
            (Err(_), None) => return Err(Overflow),
        }
    }
}

/// Σ (T − D + J) · U_i / (1 − U), rounded up; `None` if U may be 1 or it does not fit.
fn by_share(rows: &[Row], share: u128) -> Option<u64> {
    let rest = ONE.checked_sub(share).filter(|&rest| rest > 0)?;
    let (mut more, mut less) = (0u128, 0u128);
    for row in rows {
        let cost = u128::from(row.cost) << 64;
        let (sum, time, own) = match row.period.checked_sub(row.due) {
            Some(time) => (&mut more, time, cost.div_ceil(row.period.into())),
            None => (&mut less, row.due - row.period, cost / u128::from(row.period)),
        };
        *sum = sum.checked_add(own.checked_mul(time.into())?)?;
    }
    u64::try_from(more.saturating_sub(less).div_ceil(rest)).ok()
}

/// One more than the least common multiple of all periods and `later`; `None` if it does not fit.
fn by_repetition(rows: &[Row], later: u64) -> Option<u64> {
    common_multiple(rows.iter().map(|row| row.period))?.checked_add(later)?.checked_add(1)
}

/// The least common multiple of numbers above 0; `None` if it does not fit.
pub(super) fn common_multiple(mut numbers: impl Iterator<Item = u64>) -> Option<u64> {
    numbers.try_fold(1u64, |multiple, number| {
        let (mut a, mut b) = (multiple, number);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        multiple.checked_mul(number / a)
    })
}
