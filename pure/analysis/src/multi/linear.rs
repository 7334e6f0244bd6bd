// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Upper bounds of linear programs: floating point proposes, integers decide.
//!
//! ```text
//! Program     max Σ c_j · x_j  over  Σ_j a_ij · x_j ≤ b_i  for each row i,  0 ≤ x_j ≤ u_j
//! Equation    V(y) = Σ_i b_i · y_i + Σ_j u_j · max(0, c_j − Σ_i a_ij · y_i)  for any y ≥ 0
//! Symbols     c, b, u whole and not negative; a whole
//! Verdict     V(y) is never below the maximum, whatever y is
//! Cost        a solver's, of the dual; then one sum over all coefficients
//! ```
//!
//! **Why.** For every x that satisfies the rows and limits, and every y ≥ 0:
//! c·x ≤ c·x + y·(b − A·x) = y·b + Σ_j (c_j − (Aᵀ·y)_j) · x_j ≤ V(y).
//!
//! The best y is the solution of the dual program, min V(y). A solver in floating point proposes it; it is rounded to
//! whole multiples of 2⁻³², and V of that is computed in integers and rounded up. If the solver fails or proposes
//! something worse, V(0) = Σ u_j · c_j holds. So a faulty solver makes a bound larger, never wrong.

use microlp::{ComparisonOp, OptimizationDirection, Problem};

use crate::Overflow;

/// y is in multiples of 2 to the power of minus this.
const BITS: u32 = 32;

/// A program to maximise.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    /// c and u of each variable.
    variables: Vec<(u64, u64)>,
    /// Each row's coefficients, by variable, and b.
    rows: Vec<(Vec<(usize, i64)>, u64)>,
}

impl Program {
    /// Adds a variable with its gain and its limit.
    pub(super) fn variable(&mut self, gain: u64, most: u64) -> usize {
        self.variables.push((gain, most));
        self.variables.len() - 1
    }

    /// Adds a row: a sum that is at most `most`. No variable occurs twice.
    pub(super) fn at_most(&mut self, sum: Vec<(usize, i64)>, most: u64) {
        if !sum.is_empty() {
            self.rows.push((sum, most));
        }
    }

    /// Removes everything, and keeps the memory of the lists.
    pub(super) fn clear(&mut self) {
        self.variables.clear();
        self.rows.clear();
    }

    /// An upper bound: no solution gains more.
    ///
    /// # Errors
    /// [`Overflow`] if that does not fit in 64 bits.
    pub(super) fn bound(&self) -> Result<u64, Overflow> {
        let without = self.value(&vec![0; self.rows.len()]);
        let with = self.proposal().and_then(|y| self.value(&y));
        let best = without.into_iter().chain(with).min().ok_or(Overflow)?;
        u64::try_from(best).map_err(|_| Overflow)
    }

    /// V(y), rounded up; none if it does not fit. y is in multiples of 2⁻³².
    fn value(&self, y: &[u64]) -> Option<u128> {
        // 1. c − Aᵀ·y.
        let scaled = |(gain, _): &(u64, u64)| i128::from(*gain) << BITS;
        let mut reduced: Vec<i128> = self.variables.iter().map(scaled).collect();
        let mut sum = 0u128;
        for ((coefficients, most), &price) in self.rows.iter().zip(y) {
            for &(variable, coefficient) in coefficients {
                let less = i128::from(coefficient).checked_mul(price.into())?;
                reduced[variable] = reduced[variable].checked_sub(less)?;
            }
            sum = sum.checked_add(u128::from(*most).checked_mul(price.into())?)?;
        }
        // 2. What the limits of the variables still allow.
        for (gain, (_, most)) in reduced.into_iter().zip(&self.variables) {
            let gain = u128::try_from(gain).unwrap_or(0);
            sum = sum.checked_add(gain.checked_mul(u128::from(*most))?)?;
        }
        Some(sum.div_ceil(1 << BITS))
    }

    /// The y that the solver finds best; none if it gives up.
    fn proposal(&self) -> Option<Vec<u64>> {
        // In units of the largest gain, so that the dual's numbers are about 1.
        let unit = self.variables.iter().map(|(gain, _)| *gain).max().filter(|unit| *unit > 0)? as f64;
        let mut dual = Problem::new(OptimizationDirection::Minimize);
        let open = (0.0, f64::INFINITY);
        let prices: Vec<_> = self.rows.iter().map(|(_, most)| dual.add_var(*most as f64, open)).collect();
        let mut columns: Vec<Vec<_>> = vec![Vec::new(); self.variables.len()];
        for ((coefficients, _), price) in self.rows.iter().zip(&prices) {
            for (variable, coefficient) in coefficients {
                columns[*variable].push((*price, *coefficient as f64));
            }
        }
        for (mut column, (gain, most)) in columns.into_iter().zip(&self.variables) {
            column.push((dual.add_var(*most as f64, open), 1.0));
            dual.add_constraint(&column, ComparisonOp::Ge, *gain as f64 / unit);
        }
        let solution = dual.solve().ok()?.into_solution().ok()?;
        let whole = |price: f64| (price * unit * (1u64 << BITS) as f64).round();
        // `as` turns negative values and NaN into 0, and values that are too large into the largest.
        Some(prices.iter().map(|price| whole(solution.var_value(*price)) as u64).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two rows that share a variable: the maximum is 3 · 2 + 5 · 2 = 16 at (2, 2), and y = (3, 2) shows it.
    #[test]
    fn a_small_one_by_hand() {
        let mut program = Program::default();
        let (a, b) = (program.variable(3, 10), program.variable(5, 10));
        program.at_most(vec![(a, 1), (b, 1)], 4);
        program.at_most(vec![(b, 1)], 2);
        assert_eq!(program.bound(), Ok(16));
        assert_eq!(program.value(&[3 << BITS, 2 << BITS]), Some(16));
        // Without the rows: 3 · 10 + 5 · 10.
        assert_eq!(program.value(&[0, 0]), Some(80));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let mut program = Program::default();
        program.variable(u64::MAX, u64::MAX);
        assert_eq!(program.bound(), Err(Overflow));
        program.clear();
        assert_eq!(program.bound(), Ok(0));
    }

    fn small() -> impl Strategy<Value = (Program, Vec<u64>)> {
        let variables = prop::collection::vec((0u64..20, 0u64..4), 1..5);
        variables.prop_flat_map(|variables| {
            let row = (prop::collection::vec(-2i64..3, variables.len()), 0u64..6);
            let rows = prop::collection::vec(row, 0..4);
            (Just(variables), rows, prop::collection::vec(0u64..1 << 40, 4)).prop_map(
                |(variables, rows, y)| {
                    let row = |(row, most): (Vec<i64>, u64)| (row.into_iter().enumerate().collect(), most);
                    let program = Program { variables, rows: rows.into_iter().map(row).collect() };
                    (program, y)
                },
            )
        })
    }

    /// The best whole solution, found by trying all.
    fn best(program: &Program) -> u64 {
        let mut best = 0;
        let mut x = vec![0u64; program.variables.len()];
        loop {
            let keeps = program.rows.iter().all(|(row, most)| {
                let sum: i64 = row.iter().map(|(at, a)| a * x[*at] as i64).sum();
                sum <= *most as i64
            });
            if keeps {
                best = best.max(x.iter().zip(&program.variables).map(|(x, (gain, _))| x * gain).sum());
            }
            let Some(at) = (0..x.len()).find(|at| x[*at] < program.variables[*at].1) else { return best };
            x[at] += 1;
            x[..at].fill(0);
        }
    }

    proptest! {
        #[test]
        fn no_whole_solution_gains_more((program, y) in small()) {
            let best = best(&program);
            prop_assert!(program.bound().unwrap() >= best);
            // The same holds for any y.
            prop_assert!(program.value(&y[..program.rows.len()]).unwrap() >= u128::from(best));
        }
    }
}
