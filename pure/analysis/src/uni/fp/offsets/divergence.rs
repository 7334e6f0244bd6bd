// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Whether responses that wait for each other have no bound, by the equation of [`super::holistic`].
//!
//! ```text
//! Equation    every solution has  R_i ≥ R_(i−1) + C_i + Σ_{j∈hp(i)} a_ij · (R_(j−1) − O_j),  a_ij = U_j / (1 − Σ_{h∈hp(i)} U_h)
//!             R_(i−1): of the predecessor of i in its transaction; the term is missing where there is none
//! Symbols     [ns] R response from the event, O least time from the event to the release, C cost; U = C / T;
//!             hp(i): all other activities at least as urgent as i
//! Verdict     if it says that there is no bound, no solution exists; if it does not, one may exist or not
//! Source      the equation of [`super::holistic`] without its roundings; the certificate is Farkas' lemma
//! ```
//!
//! **The inequality.** The first job of a window ends after w = B + C + Σ ⌈(w + J_j) / T_j⌉ · C_j ≥ C + Σ U_j · (w + J_j),
//! so w ≥ C + Σ a_ij · J_j; R_i = O_i + J_i + w; and J_j ≥ R_(j−1) − O_j.
//!
//! **The growth.** Written R ≥ A·R + b with A ≥ 0: for any y ≥ 0 with y·A ≥ y, every solution R that is not below R0
//! has 0 ≥ (y·A − y)·R + y·b ≥ (y·A − y)·R0 + y·b. If the last value is above 0, there is no solution: what each
//! round adds comes back larger. Powers of A give a candidate for y, which is then checked in whole numbers, all
//! rounded against the proof.

use std::ops::Range;

use super::Transaction;
use taut_time::Duration;

/// The most activities for which a proof is looked for: the matrix has their number squared.
const ACTIVITIES_MAX: usize = 256;

/// Powers of the matrix, and after how many of them a y is checked.
const POWERS: usize = 240;
const POWERS_EACH: usize = 30;

/// 1, in the unit of A's entries.
const ONE: u128 = 1 << 32;

/// The largest entry of y.
const LARGEST: u128 = 1 << 24;

/// Whether there is a proof that no solution is as large as `found`. No solution is below `found`, so then there is
/// none.
pub(super) fn has_no_bound(set: &[Transaction], found: &[Vec<Duration>]) -> bool {
    let rows = rows(set);
    let found: Vec<i128> = found.iter().flatten().map(|time| time.as_ns().into()).collect();
    if rows.is_empty() || rows.len() > ACTIVITIES_MAX || rows.len() != found.len() {
        return false;
    }
    let mut y = vec![LARGEST; rows.len()];
    for power in 1..=POWERS {
        // Half of y stays, so that the iteration settles.
        let mut next: Vec<u128> = y.iter().map(|part| part * ONE).collect();
        for (row, part) in rows.iter().zip(&y) {
            row.parts.iter().for_each(|(column, a)| next[*column] += part * a);
        }
        let largest = next.iter().copied().max().unwrap_or(0).max(1);
        let unit = (largest / LARGEST).max(1);
        y = next.iter().map(|part| part / unit).collect();
        if power % POWERS_EACH == 0 && certifies(&rows, &y, &found) {
            return true;
        }
    }
    false
}

/// One row of R ≥ A·R + b.
struct Row {
    /// Entries of A: columns and values; several of one column add up.
    parts: Vec<(usize, u128)>,
    /// b, in units of 1 / ONE. With A rounded down the inequality still holds, since jitters are at least 0.
    fixed: i128,
}

fn rows(set: &[Transaction]) -> Vec<Row> {
    const WHOLE: u128 = 1 << 60;
    let mut first = 0;
    let mut all = Vec::new();
    for transaction in set {
        let places: Range<usize> = first..first + transaction.activities.len();
        first = places.end;
        for (at, activity) in places.clone().zip(&transaction.activities) {
            let share =
                (u128::from(activity.cost.as_ns()) << 60) / u128::from(transaction.period.as_ns()).max(1);
            all.push((at, at.checked_sub(1).filter(|before| places.contains(before)), share, activity));
        }
    }
    if all.len() > ACTIVITIES_MAX {
        return Vec::new();
    }
    let row = |&(at, before, _, activity): &(usize, Option<usize>, u128, &super::Activity)| {
        let higher = || all.iter().filter(|(other, .., of)| *other != at && of.priority >= activity.priority);
        let taken = higher().try_fold(0u128, |sum, (_, _, share, _)| sum.checked_add(*share))?;
        let left = WHOLE.checked_sub(taken).filter(|left| *left > 0)?;
        let mut row = Row { parts: Vec::new(), fixed: i128::from(activity.cost.as_ns()) * ONE as i128 };
        row.parts.extend(before.map(|before| (before, ONE)));
        for (_, before, share, of) in higher() {
            if let Some(before) = before {
                // Shares are rounded down, so `left` is too large and a too small.
                let a = share.checked_mul(ONE)? / left;
                row.parts.push((*before, a));
                let offset = i128::from(of.offset.as_ns()).checked_mul(i128::try_from(a).ok()?)?;
                row.fixed = row.fixed.checked_sub(offset)?;
            }
        }
        Some(row)
    };
    all.iter().map(row).collect::<Option<Vec<Row>>>().unwrap_or_default()
}

/// Whether y proves that there is no solution.
fn certifies(rows: &[Row], y: &[u128], found: &[i128]) -> bool {
    // Tiny entries are set to 0: they need not satisfy y·A ≥ y, and the check covers whether the rest does.
    let y: Vec<i128> = y
        .iter()
        .map(|&part| if part < LARGEST >> 12 { 0 } else { i128::try_from(part).unwrap_or(0) })
        .collect();
    let sum = || -> Option<i128> {
        let mut growth: Vec<i128> = y.iter().map(|part| -part * ONE as i128).collect();
        let mut sum = 0i128;
        for (row, part) in rows.iter().zip(&y) {
            for (column, a) in &row.parts {
                growth[*column] = growth[*column].checked_add(part.checked_mul(i128::try_from(*a).ok()?)?)?;
            }
            sum = sum.checked_add(part.checked_mul(row.fixed)?)?;
        }
        if growth.iter().any(|growth| *growth < 0) {
            return None;
        }
        growth
            .iter()
            .zip(found)
            .try_fold(sum, |sum, (growth, found)| sum.checked_add(growth.checked_mul(*found)?))
    };
    sum().is_some_and(|sum| sum > 0)
}
