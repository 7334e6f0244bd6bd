// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The generalized extreme-value distribution, and its fit by L-moments.
//!
//! Equation    G(x) = exp(−y),  y = (1 + ξ (x − μ) / σ)^(−1/ξ);  y = exp(−(x − μ) / σ) for ξ = 0 (Gumbel)
//! Symbols     μ location, σ scale, ξ shape: above 0 the tail is heavy, below 0 it ends at μ − σ / ξ
//! Fit         l₁ = b₀, l₂ = 2 b₁ − b₀, l₃ = 6 b₂ − 6 b₁ + b₀ of the sorted sample, and with k = −ξ
//!             l₃ / l₂ = 2 (1 − 3^−k) / (1 − 2^−k) − 3,  σ = l₂ k / ((1 − 2^−k) Γ(1 + k)),  μ = l₁ − σ (1 − Γ(1 + k)) / k
//! Source      [Hosking 1985]; the published example of [Coles 2001, Sec. 3.4.1] is a test
//!
//! Values are estimates in floating point, for people. No verdict rests on them.

/// Euler's constant: the mean of a Gumbel distribution with location 0 and scale 1.
const EULER: f64 = 0.577_215_664_901_532_9;
/// A shape closer to 0 than this counts as 0.
const GUMBEL: f64 = 1e-7;
/// The range of −ln G that is calculated with: beyond it, G is 0 or 1.
const REDUCED: (f64, f64) = (1e-300, 700.0);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gev {
    pub(crate) location: f64,
    pub(crate) scale: f64,
    pub(crate) shape: f64,
}

impl Gev {
    /// The distribution with the L-moments of a sample, which is sorted; `None` if the sample has fewer than three
    /// values or no spread, or if no such distribution has a finite mean.
    pub(crate) fn of(sorted: &[f64]) -> Option<Self> {
        let (b0, b1, b2) = weighted_means(sorted)?;
        let (l1, l2, l3) = (b0, 2.0 * b1 - b0, 6.0 * b2 - 6.0 * b1 + b0);
        if l2.is_nan() || l2 <= 0.0 {
            return None;
        }
        let k = k_of(l3 / l2);
        if k.abs() < GUMBEL {
            let scale = l2 / std::f64::consts::LN_2;
            return Some(Self { location: l1 - EULER * scale, scale, shape: 0.0 });
        }
        if !(k > -1.0 && k < 100.0) {
            return None;
        }
        let gamma = gamma(1.0 + k);
        let scale = l2 * k / ((1.0 - 2f64.powf(-k)) * gamma);
        let location = l1 - scale * (1.0 - gamma) / k;
        (scale > 0.0 && location.is_finite()).then_some(Self { location, scale, shape: -k })
    }

    /// The value at which −ln G is `y`.
    pub(crate) fn level(&self, y: f64) -> f64 {
        let log = y.ln();
        let above = if self.shape == 0.0 { -log } else { (-self.shape * log).exp_m1() / self.shape };
        self.location + self.scale * above
    }

    /// −ln G of a value.
    pub(crate) fn reduced(&self, x: f64) -> f64 {
        let z = (x - self.location) / self.scale;
        let y = if self.shape == 0.0 {
            (-z).exp()
        } else if self.shape * z <= -1.0 {
            // Below the least value of a heavy tail, or above the largest value of a tail that ends.
            if self.shape > 0.0 { f64::INFINITY } else { 0.0 }
        } else {
            (-(self.shape * z).ln_1p() / self.shape).exp()
        };
        y.clamp(REDUCED.0, REDUCED.1)
    }

    /// Anderson and Darling's A² of a sorted sample: its distance from the distribution, with most weight in the tails.
    pub(crate) fn distance(&self, sorted: &[f64]) -> f64 {
        let reduced: Vec<f64> = sorted.iter().map(|x| self.reduced(*x)).collect();
        let m = reduced.len() as f64;
        let both = reduced.iter().zip(reduced.iter().rev()).zip(0u32..);
        // ln G of the value, and ln (1 − G) of its counterpart from the other end.
        let sum: f64 =
            both.map(|((low, high), at)| f64::from(2 * at + 1) * ((-(-high).exp_m1()).ln() - low)).sum();
        -m - sum / m
    }
}

/// b₀, b₁ and b₂: the means of a sorted sample, weighted by the shares of pairs and triples whose largest value each is.
fn weighted_means(sorted: &[f64]) -> Option<(f64, f64, f64)> {
    let n = sorted.len() as f64;
    if sorted.len() < 3 {
        return None;
    }
    let (mut b0, mut b1, mut b2) = (0.0, 0.0, 0.0);
    for (value, below) in sorted.iter().zip(0u32..) {
        let below = f64::from(below);
        b0 += value;
        b1 += value * below / (n - 1.0);
        b2 += value * below * (below - 1.0) / ((n - 1.0) * (n - 2.0));
    }
    Some((b0 / n, b1 / n, b2 / n))
}

/// k of a ratio l₃ / l₂: the approximation of the source, made exact by Newton's method.
fn k_of(ratio: f64) -> f64 {
    let c = 2.0 / (3.0 + ratio) - std::f64::consts::LN_2 / 3f64.ln();
    let mut k = 7.8590 * c + 2.9554 * c * c;
    for _ in 0..10 {
        let slope = (ratio_of(k + 1e-6) - ratio_of(k - 1e-6)) / 2e-6;
        let step = (ratio_of(k) - ratio) / slope;
        if !step.is_finite() {
            break;
        }
        k -= step;
        if step.abs() < 1e-12 {
            break;
        }
    }
    k
}

/// l₃ / l₂ of a k.
fn ratio_of(k: f64) -> f64 {
    if k.abs() < 1e-9 {
        // The limit: that of a Gumbel distribution.
        return 2.0 * 3f64.ln() / std::f64::consts::LN_2 - 3.0;
    }
    2.0 * (-k * 3f64.ln()).exp_m1() / (-k * std::f64::consts::LN_2).exp_m1() - 3.0
}

/// Γ of a number above 0, by Lanczos' approximation.
fn gamma(x: f64) -> f64 {
    const FIRST: f64 = 0.999_999_999_999_809_9;
    const OTHERS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return gamma(x + 1.0) / x;
    }
    let x = x - 1.0;
    let sum: f64 = OTHERS.iter().zip(1u32..).map(|(of, at)| of / (x + f64::from(at))).sum::<f64>() + FIRST;
    let t = x + 7.5;
    (2.0 * std::f64::consts::PI).sqrt() * t.powf(x + 0.5) * (-t).exp() * sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::draw::Draw;

    /// Annual maxima of the sea at Port Pirie, South Australia, in centimetres, 1923 to 1987 [Coles 2001, p. 4].
    const PORT_PIRIE: [u16; 65] = [
        403, 383, 365, 388, 401, 408, 418, 380, 436, 396, 398, 469, 385, 396, 385, 393, 375, 363, 357, 425,
        397, 405, 424, 422, 373, 437, 406, 371, 396, 406, 455, 379, 389, 411, 385, 386, 386, 421, 401, 411,
        424, 396, 421, 374, 385, 388, 366, 411, 371, 418, 390, 378, 391, 372, 400, 366, 362, 433, 455, 375,
        408, 390, 388, 394, 433,
    ];

    fn near(found: f64, wanted: f64, tolerance: f64) {
        assert!((found - wanted).abs() <= tolerance, "{found} is not {wanted} ± {tolerance}");
    }

    fn sorted(mut values: Vec<f64>) -> Vec<f64> {
        values.sort_by(f64::total_cmp);
        values
    }

    #[test]
    fn gamma_is_that_of_tables() {
        for (x, of) in [
            (1.0, 1.0),
            (0.5, std::f64::consts::PI.sqrt()),
            (5.0, 24.0),
            (1.5, 0.886_226_925_452_758),
            (0.25, 3.625_609_908_221_908),
        ] {
            near(gamma(x), of, 1e-12 * of);
        }
    }

    /// The source fits by maximum likelihood: μ 3.87, σ 0.198, ξ −0.050 with standard errors of 0.028, 0.020 and 0.098;
    /// levels of 4.30 and 4.69 for 10 and 100 years. L-moments give the same within a third of these errors.
    #[test]
    fn coles01_port_pirie() {
        let levels = sorted(PORT_PIRIE.iter().map(|level| f64::from(*level) / 100.0).collect());
        let gev = Gev::of(&levels).unwrap();
        near(gev.location, 3.87, 0.028 / 3.0);
        near(gev.scale, 0.198, 0.020 / 3.0);
        near(gev.shape, -0.050, 0.098 / 3.0);
        for (years, level) in [(10.0, 4.30), (100.0, 4.69)] {
            near(gev.level(-(1.0f64 - 1.0 / years).ln()), level, 0.02);
        }
        assert!(gev.distance(&levels) < 0.5, "a good fit: {}", gev.distance(&levels));
    }

    /// 20,000 values of a known distribution give its parameters: location and scale within 3 % of the scale, the shape
    /// within 0.02.
    #[test]
    fn a_known_distribution_is_recovered() {
        for (seed, shape) in [(1, 0.0), (2, -0.3), (3, -0.05), (4, 0.1), (5, 0.3)] {
            let known = Gev { location: 250_000.0, scale: 4_000.0, shape };
            let mut draw = Draw::new(seed);
            let values = sorted((0..20_000).map(|_| known.level(draw.exponential())).collect());
            let found = Gev::of(&values).unwrap();
            near(found.location, known.location, 0.03 * known.scale);
            near(found.scale, known.scale, 0.03 * known.scale);
            near(found.shape, known.shape, 0.02);
        }
    }

    #[test]
    fn a_level_and_back() {
        for shape in [-0.4, 0.0, 0.2] {
            let gev = Gev { location: 10.0, scale: 2.0, shape };
            for y in [1e-12, 1e-3, 0.7, 5.0] {
                near(gev.reduced(gev.level(y)) / y, 1.0, 1e-9);
            }
        }
        // Beyond the end of a tail.
        let ends = Gev { location: 10.0, scale: 2.0, shape: -0.5 };
        assert_eq!((ends.reduced(14.1), ends.reduced(1e9)), (REDUCED.0, REDUCED.0));
        assert_eq!(Gev { shape: 0.5, ..ends }.reduced(5.9), REDUCED.1);
    }

    #[test]
    fn values_without_spread_have_no_fit() {
        for values in [&[1.0, 1.0, 1.0, 1.0][..], &[1.0, 2.0], &[]] {
            assert_eq!(Gev::of(values), None, "{values:?}");
        }
    }
}
