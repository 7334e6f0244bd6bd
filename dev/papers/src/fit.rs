// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Statistics: a straight line through points, and the spread of values.

/// A straight line through points, and the share of their variance that it explains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fit {
    pub(crate) slope: f64,
    pub(crate) explains: f64,
}

/// The least-squares line. For points that do not differ in y it explains all of the variance.
pub(crate) fn fit(points: &[(f64, f64)]) -> Fit {
    let count = points.len().max(1) as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|point| of(point.0 - x, point.1 - y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|dx, _| dx * dx), sum(&|dx, dy| dx * dy), sum(&|_, dy| dy * dy));
    let slope = if xx == 0.0 { 0.0 } else { xy / xx };
    Fit { slope, explains: if yy == 0.0 { 1.0 } else { slope * xy / yy } }
}

/// The least, the middle and the largest value; NaN if there are none.
pub(crate) fn spread(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted[..] {
        [] => [f64::NAN; 3],
        [first, .., last] => [first, sorted[sorted.len() / 2], last],
        [only] => [only; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_points() {
        let line = fit(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]);
        assert!((line.slope - 2.0).abs() < 1e-12 && (line.explains - 1.0).abs() < 1e-12, "{line:?}");
        let level = fit(&[(0.0, 1.0), (1.0, -1.0), (2.0, 1.0)]);
        assert!(level.slope.abs() < 1e-12 && level.explains.abs() < 1e-12, "{level:?}");
        assert_eq!(fit(&[(1.0, 4.0), (2.0, 4.0)]), Fit { slope: 0.0, explains: 1.0 });
    }

    #[test]
    fn the_middle_is_one_of_them() {
        assert_eq!(spread(&[3.0, 1.0, 2.0]), [1.0, 2.0, 3.0]);
        assert_eq!(spread(&[4.0]), [4.0; 3]);
    }
}
