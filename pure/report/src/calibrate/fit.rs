// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A bound that a job exceeds with a stated probability, fitted to measured execution times: block maxima.
//!
//! The jobs of a task are cut, in their order, into blocks of equal size; no block spans two runs. If the execution
//! times are independent and of one distribution, the maxima of large blocks follow a generalized extreme-value
//! distribution G, and a job exceeds x with the probability p for which G(x) = (1 − p)^b, with b jobs in a block.
//!
//! There is no fit unless
//!
//! 1. there are [`FittedBound::LEAST_JOBS`] jobs, in [`BLOCKS_LEAST`] blocks of at least [`BLOCK_LEAST`] jobs;
//! 2. the maxima of the blocks take [`VALUES_LEAST`] different values: of a constant, only that constant is known;
//! 3. no trend is found: the first half of the jobs and the second are of one distribution (Kolmogorov and Smirnov);
//! 4. no correlation is found between jobs that follow each other (Ljung and Box, on ranks);
//! 5. the tail has a variance: the shape is below [`SHAPE_MOST`];
//! 6. the maxima follow the fitted distribution (Anderson and Darling).
//!
//! Each of the tests 3, 4 and 6 refuses a good series with a probability of [`SIGNIFICANCE`]. A test that passes is no
//! proof: a series that is too short to show a trend passes as well.
//!
//! The confidence interval and the probability of test 6 come from [`RESAMPLES`] samples that are drawn from the fitted
//! distribution with a fixed seed and fitted again (a parametric bootstrap [Stute 1993]), so that both account for the
//! fit. The interval is large where the tail is far beyond the measurements, which it usually is: that is its use.
//! Source: [Coles 2001, Ch. 3]; [Cucu Grosjean 2012] for execution times.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::draw::Draw;
use super::gev::Gev;
use super::series;

/// The least jobs of a block.
const BLOCK_LEAST: usize = 25;
/// The least blocks.
const BLOCKS_LEAST: usize = FittedBound::LEAST_JOBS / BLOCK_LEAST;
/// The most blocks: of more jobs, blocks become larger, and their maxima follow the distribution better.
const BLOCKS_MOST: usize = 200;
/// The least different maxima.
const VALUES_LEAST: usize = 10;
/// From this shape on, a distribution has no variance.
const SHAPE_MOST: f64 = 0.5;
/// The probability with which a test refuses a good series.
const SIGNIFICANCE: f64 = 0.01;
/// Samples that are drawn from the fitted distribution.
const RESAMPLES: usize = 999;
/// By position, the ends of the confidence interval of 95 % among the levels of these samples.
const INTERVAL: (usize, usize) = (24, 974);
const SEED: u64 = 0x7461_7574;

/// A bound fitted to the execution times of a task, an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FittedBound {
    /// The probability that a job exceeds the bound.
    pub exceedance: f64,
    /// The bound, rounded up; at least the largest measured time.
    pub bound_ns: u64,
    /// The lower end of the bound's confidence interval of 95 %.
    pub low_ns: u64,
    /// Its upper end; at least the bound.
    pub high_ns: u64,
    /// How many blocks of jobs.
    pub blocks: usize,
    /// How many jobs in a block.
    pub block_jobs: usize,
    /// μ of the distribution of the blocks' maxima.
    pub location_ns: f64,
    /// Its σ.
    pub scale_ns: f64,
    /// Its ξ: above 0 the tail is heavy, below 0 it ends.
    pub shape: f64,
    /// The probability of halves that differ as much as these, if there is no trend.
    pub trend_probability: f64,
    /// The probability of correlations as large as these, if jobs are independent.
    pub correlation_probability: f64,
    /// The probability of maxima as far from the fitted distribution as these, if they follow it.
    pub fit_probability: f64,
}

/// Why there is no fitted bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum NoFit {
    /// There are not enough jobs, or they are of too many short runs.
    TooFewJobs {
        /// Jobs in whole blocks.
        jobs: usize,
        /// How many it takes.
        least: usize,
    },
    /// The maxima of blocks hardly differ.
    TooFewValues {
        /// How many different ones there are.
        values: usize,
        /// How many it takes.
        least: usize,
    },
    /// Jobs were ended before they were complete, so that their execution times are not known.
    EndedEarly {
        /// How many.
        jobs: u64,
    },
    /// The execution times have a trend.
    Drifting {
        /// The probability of such halves without one.
        probability: f64,
    },
    /// The execution times of successive jobs are correlated.
    Dependent {
        /// The probability of such correlations between independent jobs.
        probability: f64,
    },
    /// The tail is so heavy that measurements say nothing about what lies beyond them.
    HeavyTail {
        /// ξ.
        shape: f64,
    },
    /// The maxima of blocks do not follow an extreme-value distribution.
    PoorFit {
        /// The probability of such a distance, if they do.
        probability: f64,
    },
}

impl NoFit {
    /// The word for it, as in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::TooFewJobs { .. } => "too-few-jobs",
            Self::TooFewValues { .. } => "too-few-values",
            Self::EndedEarly { .. } => "ended-early",
            Self::Drifting { .. } => "drifting",
            Self::Dependent { .. } => "dependent",
            Self::HeavyTail { .. } => "heavy-tail",
            Self::PoorFit { .. } => "poor-fit",
        }
    }
}

/// The word and the reason.
impl fmt::Display for NoFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.word())?;
        match self {
            Self::TooFewJobs { jobs, least } => {
                write!(f, "the runs have {jobs} jobs in whole blocks, and a fit needs {least}")
            }
            Self::TooFewValues { values: 1, .. } => f.write_str("the maxima of all blocks are the same"),
            Self::TooFewValues { values, least } => {
                write!(f, "the maxima of blocks take {values} different values, and a fit needs {least}")
            }
            Self::EndedEarly { jobs: 1 } => {
                f.write_str("1 job was ended when its budget was used up, so its execution time is not known")
            }
            Self::EndedEarly { jobs } => write!(
                f,
                "{jobs} jobs were ended when their budget was used up, so their execution times are not known"
            ),
            Self::Drifting { probability } => write!(
                f,
                "the first half of the jobs differs from the second; without a trend the probability of that is {}",
                shown(*probability)
            ),
            Self::Dependent { probability } => write!(
                f,
                "the execution times of successive jobs are correlated; between independent jobs the probability of \
                 that is {}",
                shown(*probability)
            ),
            Self::HeavyTail { shape } => write!(
                f,
                "the shape of the distribution is {shape:.2}, and from {SHAPE_MOST} on it has no variance"
            ),
            Self::PoorFit { probability } => write!(
                f,
                "the maxima of blocks do not follow the fitted distribution; if they did, the probability of that \
                 would be {}",
                shown(*probability)
            ),
        }
    }
}

/// A probability for people.
fn shown(probability: f64) -> String {
    if probability < 1e-4 { "below 0.0001".to_owned() } else { format!("{probability:.4}") }
}

impl FittedBound {
    /// The least jobs of a fit.
    pub const LEAST_JOBS: usize = 1_000;

    /// Fits a bound to the execution times of jobs (ns), by run and in the order of their releases.
    ///
    /// # Errors
    /// Every test that does not pass.
    pub(crate) fn of(runs: &[Vec<u64>], exceedance: f64) -> Result<Self, Vec<NoFit>> {
        let jobs: usize = runs.iter().map(Vec::len).sum();
        let block_jobs = (jobs / BLOCKS_MOST).max(BLOCK_LEAST);
        let maxima = maxima(runs, block_jobs);
        if maxima.len() < BLOCKS_LEAST {
            let (jobs, least) = (maxima.len() * block_jobs, Self::LEAST_JOBS);
            return Err(vec![NoFit::TooFewJobs { jobs, least }]);
        }
        let values = maxima.iter().collect::<BTreeSet<_>>().len();
        if values < VALUES_LEAST {
            return Err(vec![NoFit::TooFewValues { values, least: VALUES_LEAST }]);
        }
        let all = runs.concat();
        let (trend, correlation) = (series::same_halves(&all), series::independent(&all));
        let mut refused = Vec::new();
        if trend < SIGNIFICANCE {
            refused.push(NoFit::Drifting { probability: trend });
        }
        if correlation < SIGNIFICANCE {
            refused.push(NoFit::Dependent { probability: correlation });
        }
        if !refused.is_empty() {
            return Err(refused);
        }
        let mut sorted: Vec<f64> = maxima.iter().map(|ns| *ns as f64).collect();
        sorted.sort_by(f64::total_cmp);
        // The maxima have a spread, so only the tail can be at fault.
        let gev = Gev::of(&sorted).ok_or_else(|| vec![NoFit::HeavyTail { shape: 1.0 }])?;
        if gev.shape >= SHAPE_MOST {
            return Err(vec![NoFit::HeavyTail { shape: gev.shape }]);
        }
        // −ln G at the bound: G = (1 − p)^b.
        let reduced = -(block_jobs as f64) * (-exceedance).ln_1p();
        let (levels, fit) = resample(&gev, &sorted, reduced);
        if fit < SIGNIFICANCE {
            return Err(vec![NoFit::PoorFit { probability: fit }]);
        }
        let largest = all.iter().copied().max().unwrap_or(0);
        let end = |at: usize| levels.get(at).map_or(u64::MAX, |level| whole(*level));
        let bound_ns = whole(gev.level(reduced)).max(largest);
        Ok(Self {
            exceedance,
            bound_ns,
            low_ns: end(INTERVAL.0).min(bound_ns),
            high_ns: end(INTERVAL.1).max(bound_ns),
            blocks: maxima.len(),
            block_jobs,
            location_ns: gev.location,
            scale_ns: gev.scale,
            shape: gev.shape,
            trend_probability: trend,
            correlation_probability: correlation,
            fit_probability: fit,
        })
    }
}

/// The largest value of each whole block.
fn maxima(runs: &[Vec<u64>], block_jobs: usize) -> Vec<u64> {
    let blocks = runs.iter().flat_map(|run| run.chunks_exact(block_jobs));
    blocks.filter_map(|block| block.iter().copied().max()).collect()
}

/// The levels of samples of the distribution, sorted, and the share of these samples that are at least as far from
/// their own fit as the given sample is from its.
fn resample(gev: &Gev, sorted: &[f64], reduced: f64) -> (Vec<f64>, f64) {
    let distance = gev.distance(sorted);
    let mut draw = Draw::new(SEED);
    let mut levels = Vec::with_capacity(RESAMPLES);
    let mut further = 0u32;
    for _ in 0..RESAMPLES {
        let mut sample: Vec<f64> = sorted.iter().map(|_| gev.level(draw.exponential())).collect();
        sample.sort_by(f64::total_cmp);
        // A sample whose tail has no mean counts as one with a level beyond all others.
        let Some(of) = Gev::of(&sample) else {
            levels.push(f64::INFINITY);
            continue;
        };
        levels.push(of.level(reduced));
        further += u32::from(of.distance(&sample) >= distance);
    }
    levels.sort_by(f64::total_cmp);
    (levels, f64::from(further + 1) / (RESAMPLES + 1) as f64)
}

/// A time in whole ns, rounded up.
fn whole(ns: f64) -> u64 {
    // The conversion gives 0 for what is negative or no number, and the largest value for what is too large.
    ns.ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Execution times whose distribution has an exponential tail: its maxima are Gumbel-distributed.
    fn exponential(seed: u64, jobs: usize) -> Vec<u64> {
        let mut draw = Draw::new(seed);
        (0..jobs).map(|_| 100_000 + (draw.exponential() * 5_000.0) as u64).collect()
    }

    fn words(runs: &[Vec<u64>]) -> Vec<&'static str> {
        match FittedBound::of(runs, 1e-9) {
            Ok(_) => Vec::new(),
            Err(refused) => refused.iter().map(NoFit::word).collect(),
        }
    }

    /// The known bound of such a distribution is 100 µs + 5 µs · ln(1 / p). It is inside the confidence interval of 95 %
    /// in at least 26 of 30 samples: two standard deviations below 28.5.
    #[test]
    fn a_known_bound_is_inside_the_interval() {
        let (mut fitted, mut inside) = (0, 0);
        for seed in 0..30 {
            let Ok(bound) = FittedBound::of(&[exponential(seed, 20_000)], 1e-6) else { continue };
            let known = 100_000.0 + 5_000.0 * 1e6f64.ln();
            fitted += 1;
            inside += u32::from((bound.low_ns as f64..=bound.high_ns as f64).contains(&known));
            assert_eq!((bound.blocks, bound.block_jobs), (200, 100));
        }
        // Three tests refuse 1 % each.
        assert!(fitted >= 26, "{fitted} fitted");
        assert!(inside * 30 >= fitted * 26, "{inside} of {fitted}");
    }

    #[test]
    fn a_smaller_probability_gives_a_larger_bound() {
        let runs = [exponential(3, 5_000)];
        let of = |exceedance| FittedBound::of(&runs, exceedance).unwrap();
        let (often, seldom) = (of(1e-4), of(1e-9));
        assert!(often.bound_ns < seldom.bound_ns && often.high_ns < seldom.high_ns, "{often:?} {seldom:?}");
        for bound in [often, seldom] {
            assert!(bound.low_ns <= bound.bound_ns && bound.bound_ns <= bound.high_ns);
        }
        // What was measured is never above the bound, however often a job may exceed it.
        let largest = runs[0].iter().copied().max().unwrap();
        assert_eq!(of(1e-2).bound_ns, largest);
        assert_eq!(of(1e-9), seldom, "the same seed gives the same interval");
    }

    #[test]
    fn few_jobs_have_no_fit() {
        assert_eq!(words(&[exponential(1, 999)]), ["too-few-jobs"]);
        assert_eq!(words(&[exponential(1, 1_000)]), [""; 0]);
        // No block spans two runs.
        assert_eq!(words(&[exponential(1, 20), exponential(2, 990)]), ["too-few-jobs"]);
        assert_eq!(words(&[]), ["too-few-jobs"]);
    }

    #[test]
    fn a_constant_has_no_fit() {
        assert_eq!(words(&[vec![7_000; 5_000]]), ["too-few-values"]);
        // A clock with coarse ticks.
        let ticks = exponential(1, 5_000).iter().map(|ns| ns / 10_000 * 10_000).collect();
        assert_eq!(words(&[ticks]), ["too-few-values"]);
    }

    #[test]
    fn correlated_jobs_have_no_fit() {
        // First-order autoregression with a coefficient of 0.3.
        let plain = exponential(5, 10_000);
        let mut last = 105_000;
        let series: Vec<u64> = plain
            .iter()
            .map(|ns| {
                last = (last * 3 + ns * 7) / 10;
                last
            })
            .collect();
        assert_eq!(words(&[series]), ["dependent"]);
        // Each tenth job does more.
        let cycle = plain.iter().zip(0u64..).map(|(ns, at)| ns + if at % 10 == 0 { 20_000 } else { 0 });
        assert_eq!(words(&[cycle.collect()]), ["dependent"]);
    }

    #[test]
    fn a_trend_has_no_fit() {
        let trend = exponential(6, 10_000).iter().zip(0u64..).map(|(ns, at)| ns + at).collect();
        assert!(words(&[trend]).contains(&"drifting"));
        // Two runs, one on a slower machine.
        let slower = exponential(8, 4_000).iter().map(|ns| ns * 6 / 5).collect();
        assert!(words(&[exponential(7, 4_000), slower]).contains(&"drifting"));
    }

    #[test]
    fn another_tail_has_no_fit() {
        // Pareto's distribution with exponent 1: without a mean.
        let mut draw = Draw::new(4);
        let heavy = (0..10_000).map(|_| (10_000.0 / draw.uniform()) as u64).collect();
        assert_eq!(words(&[heavy]), ["heavy-tail"]);
        // Some blocks have a job of another kind, and some have none: two humps.
        let mut draw = Draw::new(5);
        let humps = exponential(9, 10_000);
        let humps = humps.iter().map(|ns| ns + if draw.uniform() < 0.01 { 200_000 } else { 0 });
        assert_eq!(words(&[humps.collect()]), ["poor-fit"]);
    }

    #[test]
    fn a_reason_is_a_sentence() {
        for (reason, text) in [
            (
                NoFit::TooFewJobs { jobs: 300, least: 1_000 },
                "too-few-jobs: the runs have 300 jobs in whole blocks",
            ),
            (
                NoFit::TooFewValues { values: 1, least: 10 },
                "too-few-values: the maxima of all blocks are the same",
            ),
            (NoFit::EndedEarly { jobs: 1 }, "ended-early: 1 job was ended when its budget"),
            (NoFit::EndedEarly { jobs: 2 }, "ended-early: 2 jobs were ended when their budget"),
            (NoFit::Drifting { probability: 1e-9 }, "drifting: the first half"),
            (NoFit::Dependent { probability: 0.0021 }, "probability of that is 0.0021"),
            (NoFit::HeavyTail { shape: 0.75 }, "heavy-tail: the shape of the distribution is 0.75"),
            (NoFit::PoorFit { probability: 0.001 }, "poor-fit: the maxima of blocks do not follow"),
        ] {
            assert!(reason.to_string().contains(text), "{reason}");
            assert_eq!(serde_json::to_value(reason).unwrap()["why"], reason.word());
        }
    }
}
