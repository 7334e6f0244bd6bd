// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The results of all runs together.
//!
//! - A call that copies the value contains the access, which cannot be timed apart from the call. The overhead of such
//!   a call is its time less the median time of an access of that size in a section of the same mode.
//! - A call that another job preempts, or that waits, includes the time of the preemption or the wait. In accumulated
//!   times, calls beyond the 99th percentile of their kind count as the 99th percentile.

use std::collections::BTreeMap;

use super::campaign::{Mode, Run};
use super::mechanism::Mechanism;
use super::meter::{Call, Sample, Touch};
use super::system::Scheme;

/// An access, as a place in Table I: bytes, whether it writes, whether the other core uses the object.
pub(super) type Place = (u16, bool, bool);

/// A place in Figures 6 to 13.
pub(super) type Point = (Mode, Mechanism, Scheme, usize);

/// The time that the calls of a system take together in a timer period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Period {
    pub(super) average_us: f64,
    pub(super) largest_us: f64,
    /// The part of the average that activations take.
    pub(super) activations_us: f64,
    /// The part of the average that waiting for writers and notifying readers takes.
    pub(super) events_us: f64,
}

/// All results; times are sorted.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    /// ns of an access in a section.
    pub(super) accesses: BTreeMap<(Mode, Place), Vec<f64>>,
    /// ns of a call.
    pub(super) calls: BTreeMap<(Mode, Mechanism, Call), Vec<f64>>,
    /// ns of a write, or of an activation of a writer in a flow, by the number of readers.
    pub(super) by_readers: BTreeMap<(Mode, Mechanism, u8), Vec<f64>>,
    /// One entry for each system.
    pub(super) periods: BTreeMap<Point, Vec<Period>>,
    /// The number of operations that were refused or found no value, and the number of samples.
    pub(super) refused: (u64, u64),
}

/// The value at a quantile, 0 to 1, of sorted values; NaN if there are none.
pub(super) fn at(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((part * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
}

fn sort<K: Ord>(lists: &mut BTreeMap<K, Vec<f64>>) {
    lists.values_mut().for_each(|list| list.sort_by(f64::total_cmp));
}

impl Gathered {
    pub(super) fn new(runs: &[Run]) -> Self {
        let mut gathered = Self::default();
        for run in runs.iter().filter(|run| run.key.mechanism.is_lock()) {
            for sample in run.samples.iter().filter(|sample| sample.call == Call::Access) {
                let key = (run.key.mode, place(sample.touch));
                gathered.accesses.entry(key).or_default().push(f64::from(sample.ns));
            }
        }
        sort(&mut gathered.accesses);
        for run in runs {
            let (mode, mechanism) = (run.key.mode, run.key.mechanism);
            gathered.refused.0 += run.refused;
            gathered.refused.1 += run.samples.len() as u64;
            for sample in run.samples.iter().filter(|sample| sample.call != Call::Access) {
                let ns = gathered.overhead(run, sample);
                gathered.calls.entry((mode, mechanism, sample.call)).or_default().push(ns);
                let finds = if mechanism.preserves() { Call::ActivateWriter } else { Call::Write };
                if sample.call == finds {
                    let key = (mode, mechanism, sample.touch.readers);
                    gathered.by_readers.entry(key).or_default().push(ns);
                }
            }
        }
        sort(&mut gathered.calls);
        sort(&mut gathered.by_readers);
        for run in runs {
            let key = run.key;
            let period = gathered.period(run);
            gathered
                .periods
                .entry((key.mode, key.mechanism, key.scheme, key.objects))
                .or_default()
                .push(period);
        }
        gathered
    }

    /// ns of a call without the access to the value.
    fn overhead(&self, run: &Run, sample: &Sample) -> f64 {
        let copied = run.key.mechanism.copies() && matches!(sample.call, Call::Write | Call::Read);
        let access = self.accesses.get(&(run.key.mode, place(sample.touch)));
        let access = access.filter(|_| copied).map_or(0.0, |access| at(access, 0.5));
        f64::from(sample.ns) - access
    }

    fn period(&self, run: &Run) -> Period {
        let (mode, mechanism) = (run.key.mode, run.key.mechanism);
        let mut most = BTreeMap::new();
        let mut ticks = vec![0.0; run.ticks as usize];
        let (mut activations_us, mut events_us) = (0.0, 0.0);
        for sample in run.samples.iter().filter(|sample| sample.call != Call::Access) {
            let most = most
                .entry(sample.call)
                .or_insert_with(|| at(&self.calls[&(mode, mechanism, sample.call)], 0.99));
            // Calls after the last period do not count.
            if let Some(tick) = ticks.get_mut(sample.tick as usize) {
                let us = self.overhead(run, sample).min(*most) / 1e3;
                *tick += us;
                match sample.call {
                    Call::ActivateWriter | Call::ActivateReader => activations_us += us,
                    Call::Wait | Call::NotifyReaders => events_us += us,
                    _ => {}
                }
            }
        }
        let largest_us = ticks.iter().copied().fold(0.0, f64::max);
        let count = ticks.len().max(1) as f64;
        let average_us = ticks.iter().sum::<f64>() / count;
        Period {
            average_us,
            largest_us,
            activations_us: activations_us / count,
            events_us: events_us / count,
        }
    }

    /// The mean over the systems of a point; NaN if there are none.
    pub(super) fn mean(&self, point: Point, of: fn(&Period) -> f64) -> f64 {
        let periods = self.periods.get(&point).map_or(&[][..], Vec::as_slice);
        periods.iter().map(of).sum::<f64>() / periods.len() as f64
    }

    /// The numbers of objects, in order.
    pub(super) fn numbers(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> = self.periods.keys().map(|point| point.3).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// A row for each point.
    pub(super) fn csv(&self) -> String {
        let mut text = String::from(
            "mode,mechanism,scheme,objects,systems,average_us,average_least_us,average_most_us,largest_us,largest_most_us\n",
        );
        for (&point, periods) in &self.periods {
            let (mode, mechanism, scheme, objects) = point;
            let of = |of: fn(&Period) -> f64, fold: fn(f64, f64) -> f64, start| {
                periods.iter().map(of).fold(start, fold)
            };
            let average = |period: &Period| period.average_us;
            let largest = |period: &Period| period.largest_us;
            text += &format!(
                "{},{},{},{objects},{},{:.3},{:.3},{:.3},{:.2},{:.2}\n",
                mode.word(),
                mechanism.word(),
                scheme.word(),
                periods.len(),
                self.mean(point, average),
                of(average, f64::min, f64::INFINITY),
                of(average, f64::max, 0.0),
                self.mean(point, largest),
                of(largest, f64::max, 0.0),
            );
        }
        text
    }
}

fn place(touch: Touch) -> Place {
    (touch.bytes, touch.write, touch.across)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::campaign::Key;
    use super::*;

    fn touch(write: bool) -> Touch {
        Touch { bytes: 4, readers: 1, write, across: true }
    }

    fn run(mechanism: Mechanism, samples: &[(Call, bool, u32, u32)]) -> Run {
        let sample = |&(call, write, tick, ns): &(Call, bool, u32, u32)| Sample {
            call,
            touch: touch(write),
            tick,
            ns,
        };
        Run {
            key: Key { mode: Mode::Native, mechanism, scheme: Scheme::Light, objects: 1, which: 0 },
            ticks: 2,
            samples: samples.iter().map(sample).collect(),
            refused: 1,
        }
    }

    #[test]
    fn periods_accumulate_calls_without_accesses() {
        let locks = run(
            Mechanism::Msrp,
            &[
                (Call::GetGlobal, true, 0, 1_000),
                (Call::Access, true, 0, 300),
                (Call::GiveGlobal, true, 0, 500),
                (Call::GetGlobal, true, 1, 2_000),
                (Call::Access, true, 1, 300),
                // After the last period.
                (Call::GiveGlobal, true, 2, 500),
            ],
        );
        let copies = run(Mechanism::Tccp, &[(Call::Write, true, 1, 900)]);
        let gathered = Gathered::new(&[locks, copies]);
        let of = |mechanism| gathered.periods[&(Mode::Native, mechanism, Scheme::Light, 1)][0];
        assert_eq!(
            of(Mechanism::Msrp),
            Period { average_us: 1.75, largest_us: 2.0, activations_us: 0.0, events_us: 0.0 }
        );
        assert_eq!(
            of(Mechanism::Tccp),
            Period { average_us: 0.3, largest_us: 0.6, activations_us: 0.0, events_us: 0.0 }
        );
        assert_eq!(gathered.refused, (2, 7));
        assert!(
            gathered.csv().contains("\nnative,WF-TCCP,light,1,1,0.300,0.300,0.300,0.60,0.60\n"),
            "{}",
            gathered.csv()
        );
    }

    #[test]
    fn what_was_interrupted_counts_as_the_longest_that_was_not() {
        let calls: Vec<_> =
            (0..200).map(|at| (Call::Read, false, 0, if at == 7 { 5_000_000 } else { 100 })).collect();
        let gathered = Gathered::new(&[run(Mechanism::Dbp, &calls)]);
        let period = gathered.periods[&(Mode::Native, Mechanism::Dbp, Scheme::Light, 1)][0];
        assert_eq!(period.largest_us.round(), 20.0);
        assert_eq!(at(&gathered.calls[&(Mode::Native, Mechanism::Dbp, Call::Read)], 1.0), 5e6);
    }

    /// Results by a formula, as if they had been measured.
    pub(in crate::overheads) fn by(of: impl Fn(Mode, Mechanism, Scheme, f64) -> Period) -> Gathered {
        let mut gathered = Gathered::default();
        for mode in Mode::ALL {
            for mechanism in Mechanism::ALL {
                for scheme in Scheme::ALL {
                    for objects in [1, 10, 20, 30] {
                        let period = of(mode, mechanism, scheme, objects as f64);
                        gathered.periods.insert((mode, mechanism, scheme, objects), vec![period]);
                    }
                }
            }
        }
        gathered
    }
}
