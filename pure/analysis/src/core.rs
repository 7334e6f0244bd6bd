// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One core by itself: its tasks, the machine's overheads, the platform probe and the device thread.

mod in_phase;

use taut_model::{ArrivalPattern, Overheads};
use taut_time::Duration;

use crate::overheads::{Charges, DEVICE_SWITCHES, probe};
use crate::uni::fp::{arbitrary, blocking, preemptive};
use crate::uni::utilisation::Utilisation;
use crate::{Overflow, Verdict, Why};

/// A task on a core, as its manifest states it: no overheads yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreTask {
    /// C, its margin included.
    pub cost: Duration,
    /// T: the period, or the least time between arrivals.
    pub period: Duration,
    /// D, from the arrival.
    pub deadline: Duration,
    /// J, without the release overhead of the machine.
    pub jitter: Duration,
    /// z: by how much less than T after its predecessor a job can run, as less urgent tasks see it: the back-to-back
    /// effect of a server, in addition to J.
    pub back_to_back: Duration,
    /// S: its longest section that blocks more urgent tasks.
    pub non_preemptive: Duration,
    /// Larger = more urgent. Of two tasks with equal priority, each counts as more urgent than the other.
    pub priority: u8,
    /// When its jobs arrive.
    pub arrivals: ArrivalPattern,
}

/// One core with its tasks, the machine's overheads and the platform probe: the input of [`preemptive::response`], or
/// for a deadline longer than the period of [`arbitrary::response`].
///
/// | term | charged as |
/// |---|---|
/// | context switch x, release y, kernel blocking k | see [`crate::overheads`] |
/// | back to back z | J'' = J' + z for a task that interferes, J' for the task under analysis |
/// | probe | a task, C = [`probe::COST`], T = [`probe::PERIOD`], above all others |
/// | device that the core's device thread watches | a task, C = [`Charges::device`], T = the least gap of the task that it releases, above all others |
#[derive(Clone, Debug)]
pub struct AnalysedCore {
    tasks: Vec<CoreTask>,
    /// The same tasks with overheads charged, then the probe, then the devices.
    charged: Vec<preemptive::FpTask>,
    charges: Charges,
    /// The least gaps of the devices that the core's device thread watches.
    devices: Vec<Duration>,
}

/// What a term of a bound stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundTerm {
    /// The task's own execution.
    Own,
    /// The longest non-preemptive section of this less urgent task.
    Section(usize),
    /// Blocking by the kernel.
    Kernel,
    /// Interference by jobs of this task, which is at least as urgent.
    Interference(usize),
    /// Interference by jobs of the platform probe.
    Probe,
    /// Interference by the core's device thread, for this one of its devices.
    Device(usize),
    /// Context switches of all jobs in the busy window.
    Switches,
    /// For a deadline longer than the period: the work of earlier jobs that is left when the job arrives, and the
    /// interference that more urgent jobs add. `count` is how many of the earlier jobs are the task's own. This term
    /// replaces the interference terms, and may be zero.
    Backlog,
    /// With known phases: jitter, blocking and interference together.
    InPhase,
    /// The task's own release jitter.
    Jitter,
    /// Release overhead: from the timer's expiry to the job's first instruction.
    Release,
}

/// A term of a bound, with its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// What it stands for.
    pub kind: BoundTerm,
    /// How often it occurs, if it is counted.
    pub count: Option<u64>,
    /// Its length in all.
    pub time: Duration,
}

/// A bound on a response time, with its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// From the release to the completion.
    pub from_release: Duration,
    /// From the arrival to the completion: the time that a deadline limits.
    pub from_arrival: Duration,
    /// The terms sum to `from_arrival`, exactly. A term of zero length is left out, unless it is [`BoundTerm::Own`] or
    /// [`BoundTerm::Backlog`].
    pub terms: Vec<Term>,
}

impl AnalysedCore {
    /// Charges the overheads to the tasks, and adds the probe and the devices that the core's device thread watches, given by
    /// the least gaps of the tasks that they release.
    ///
    /// # Errors
    /// [`Overflow`] if a cost or jitter with its overhead does not fit in 64 bits.
    pub fn new(tasks: Vec<CoreTask>, devices: Vec<Duration>, overheads: Overheads) -> Result<Self, Overflow> {
        let charges = Charges::of(&overheads);
        let charge = |cost: Duration, period, jitter: Duration, arrivals| {
            let (cost, jitter) = (charges.job(cost)?, charges.released(jitter)?);
            Ok(preemptive::FpTask { cost, period, jitter, arrivals })
        };
        let mut charged = tasks
            .iter()
            .map(|task| {
                let jitter = task.jitter.checked_add(task.back_to_back).ok_or(Overflow)?;
                charge(task.cost, task.period, jitter, task.arrivals)
            })
            .collect::<Result<Vec<_>, _>>()?;
        charged.push(charge(probe::COST, probe::PERIOD, Duration::ZERO, ArrivalPattern::Periodic)?);
        let (cost, jitter) = (charges.device()?, charges.released(Duration::ZERO)?);
        // No run has to take all that is charged, so no test with it is exact.
        let arrivals = ArrivalPattern::Driven;
        charged.extend(devices.iter().map(|&period| preemptive::FpTask { cost, period, jitter, arrivals }));
        Ok(Self { tasks, charged, charges, devices })
    }

    /// The least gaps of the devices that the core's device thread watches, as given.
    pub fn devices(&self) -> &[Duration] {
        &self.devices
    }

    /// The tasks, as given.
    pub fn tasks(&self) -> &[CoreTask] {
        &self.tasks
    }

    /// The same tasks with overheads charged, then the probe, then the devices.
    pub fn charged(&self) -> &[preemptive::FpTask] {
        &self.charged
    }

    /// B of a task: the longest section of a less urgent task, and kernel blocking.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn blocking(&self, task: usize) -> Result<Duration, Overflow> {
        let higher: Vec<usize> = self.higher(task).collect();
        Ok(self.question(task, &higher)?.0.blocking)
    }

    /// U of all tasks, the probe and the devices, context switches included; `None` if a period is zero.
    pub fn utilisation(&self) -> Option<Utilisation> {
        Utilisation::of(self.charged.iter().map(|task| (task.cost, task.period)))
    }

    /// Whether U ≤ 1 of all tasks, the probe and the devices, context switches included; faster than [`AnalysedCore::utilisation`].
    pub fn fits(&self) -> bool {
        Utilisation::fit(self.charged.iter().map(|task| (task.cost, task.period))).unwrap_or(false)
    }

    /// U of the task, of all tasks that are at least as urgent, of the probe and of the devices; `None` if a period
    /// is zero. If this
    /// is above 1, the task misses its deadline sooner or later, however long the deadline is.
    pub fn utilisation_at(&self, task: usize) -> Option<Utilisation> {
        let level = self.higher(task).chain([task]).chain(self.machine());
        Utilisation::of(level.map(|i| (self.charged[i].cost, self.charged[i].period)))
    }

    /// Bounds the response time of a task under the priorities that the tasks have.
    ///
    /// # Errors
    /// [`Overflow`] if a value past the deadline does not fit in 64 bits.
    pub fn response(&self, task: usize) -> Result<Verdict<Bound>, Overflow> {
        let higher: Vec<usize> = self.higher(task).collect();
        let (subject, section, above) = self.question(task, &higher)?;
        if subject.deadline > subject.task.period {
            return self.waiting(task, &higher, section, &arbitrary::response(&subject, &above)?);
        }
        let verdict = preemptive::response(&subject, &above)?;
        let terms = match &verdict {
            Verdict::Schedulable(r) | Verdict::Unschedulable(r) | Verdict::NotShown(Why::Passes(r)) => {
                self.terms(task, &higher, section, r)?
            }
            Verdict::NotShown(_) | Verdict::NotApplicable(_) => Vec::new(),
        };
        Ok(verdict.map(|r| Bound { from_release: r.from_release, from_arrival: r.from_arrival, terms }))
    }

    /// The bound of a task whose jobs may wait for earlier jobs of the same task.
    fn waiting(
        &self,
        task: usize,
        higher: &[usize],
        section: blocking::LongestSection,
        verdict: &Verdict<arbitrary::WindowResponse>,
    ) -> Result<Verdict<Bound>, Overflow> {
        let terms = match verdict {
            Verdict::Schedulable(r) | Verdict::Unschedulable(r) | Verdict::NotShown(Why::Passes(r)) => {
                let first = preemptive::FpResponse {
                    from_release: r.from_release,
                    from_arrival: r.from_arrival,
                    jobs: if r.job == 1 { r.jobs.clone() } else { Vec::new() },
                    steps: r.steps,
                };
                let mut terms = self.terms(task, higher, section, &first)?;
                if r.job > 1 {
                    // The busy window begins before the job arrives, so part of this work is done by then.
                    let sum = terms.iter().try_fold(Duration::ZERO, |sum, term| sum.checked_add(term.time));
                    let time = r.from_arrival.saturating_sub(sum.ok_or(Overflow)?);
                    terms.push(Term { kind: BoundTerm::Backlog, count: Some(r.job - 1), time });
                }
                terms
            }
            Verdict::NotShown(_) | Verdict::NotApplicable(_) => Vec::new(),
        };
        Ok(verdict.clone().map(|r| Bound {
            from_release: r.from_release,
            from_arrival: r.from_arrival,
            terms,
        }))
    }

    /// Whether all tasks are shown to keep their deadlines. Stops at the first task that is not. Faster than a call of
    /// [`AnalysedCore::response`] for each task.
    pub fn holds(&self) -> bool {
        // The least urgent task first: it suffers the most interference, so if any task is late, this one usually is.
        let least = (0..self.tasks.len()).min_by_key(|&task| self.tasks[task].priority);
        if !least.is_none_or(|task| self.keeps(task)) {
            return false;
        }
        let mut order: Vec<usize> = (0..self.tasks.len()).collect();
        order.sort_by_key(|&task| core::cmp::Reverse(self.tasks[task].priority));
        let mut before: Option<(Duration, Duration, u8)> = None;
        order.into_iter().all(|task| {
            let higher: Vec<usize> = self.higher(task).collect();
            let Ok((subject, _, above)) = self.question(task, &higher) else { return false };
            let priority = self.tasks[task].priority;
            // The previous task and all tasks above it interfere with this one, so this task's window is longer than
            // the previous one by at least this task's cost, unless its blocking is less or the two tasks are equally
            // urgent.
            let least = match before {
                Some((window, blocking, above)) if subject.blocking >= blocking && priority < above => {
                    window.checked_add(subject.task.cost).unwrap_or(window)
                }
                _ => Duration::ZERO,
            };
            if subject.deadline > subject.task.period {
                before = None;
                return arbitrary::response(&subject, &above).is_ok_and(|verdict| verdict.holds());
            }
            let found = preemptive::response_from(least, &subject, &above);
            let Ok(Verdict::Schedulable(response)) = found else { return false };
            before = Some((response.from_release, subject.blocking, priority));
            true
        })
    }

    /// Whether a task keeps its deadline; computes no terms.
    fn keeps(&self, task: usize) -> bool {
        let higher: Vec<usize> = self.higher(task).collect();
        let Ok((subject, _, above)) = self.question(task, &higher) else { return false };
        if subject.deadline > subject.task.period {
            return arbitrary::response(&subject, &above).is_ok_and(|verdict| verdict.holds());
        }
        preemptive::response(&subject, &above).is_ok_and(|verdict| verdict.holds())
    }

    /// Whether the test is exact for a task: then a bound past its deadline means that the task misses it in some run.
    ///
    /// # Errors
    /// [`Overflow`] as for [`AnalysedCore::response`].
    pub fn is_exact(&self, task: usize) -> Result<bool, Overflow> {
        let higher: Vec<usize> = self.higher(task).collect();
        let (subject, _, above) = self.question(task, &higher)?;
        Ok(preemptive::is_exact(&subject, &above))
    }

    /// The other tasks that are at least as urgent as this task.
    pub fn higher(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        let priority = self.tasks[task].priority;
        (0..self.tasks.len()).filter(move |&j| j != task && self.tasks[j].priority >= priority)
    }

    /// The positions of the probe and of the devices in [`AnalysedCore::charged`].
    pub fn machine(&self) -> std::ops::Range<usize> {
        self.tasks.len()..self.charged.len()
    }

    /// The tasks with which this task interferes: less urgent tasks, and equally urgent tasks, since a tie counts
    /// against both.
    pub fn lower(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        let priority = self.tasks[task].priority;
        (0..self.tasks.len()).filter(move |&j| j != task && self.tasks[j].priority <= priority)
    }

    fn question(
        &self,
        task: usize,
        higher: &[usize],
    ) -> Result<(preemptive::Subject, blocking::LongestSection, Vec<preemptive::FpTask>), Overflow> {
        let mut below = vec![true; self.tasks.len()];
        higher.iter().chain([&task]).for_each(|&j| below[j] = false);
        let others = self.tasks.iter().enumerate().filter(|&(j, _)| below[j]);
        let section = blocking::longest(others.map(|(j, other)| (j, other.non_preemptive)));
        let blocking = self.charges.blocking(section.time)?;
        // A section can begin just before the critical instant if its task's phase is free.
        let free = |j: usize| self.tasks[j].arrivals.is_free();
        // A tie counts against both tasks, but no run has to decide every tie against this one.
        let untied = higher.iter().all(|&j| self.tasks[j].priority > self.tasks[task].priority);
        let late = self.charges.released(self.tasks[task].jitter)?;
        let subject = preemptive::Subject {
            task: preemptive::FpTask { jitter: late, ..self.charged[task] },
            deadline: self.tasks[task].deadline,
            blocking,
            blocking_attained: untied && section.of.is_none_or(free),
            preemptible: self.tasks[task].non_preemptive.is_zero(),
        };
        let above = higher.iter().copied().chain(self.machine()).map(|j| self.charged[j]).collect();
        Ok((subject, section, above))
    }

    fn terms(
        &self,
        task: usize,
        higher: &[usize],
        section: blocking::LongestSection,
        response: &preemptive::FpResponse,
    ) -> Result<Vec<Term>, Overflow> {
        let own = &self.tasks[task];
        let mut terms = vec![Term { kind: BoundTerm::Own, count: None, time: own.cost }];
        if let Some(of) = section.of {
            terms.push(Term { kind: BoundTerm::Section(of), count: Some(1), time: section.time });
        }
        terms.push(Term { kind: BoundTerm::Kernel, count: None, time: self.charges.kernel_blocking() });
        let mut count = 2u64;
        let tasks = higher.iter().map(|&j| (BoundTerm::Interference(j), self.tasks[j].cost, 2));
        let of_device = self.charges.device()?.saturating_sub(self.charges.switches(DEVICE_SWITCHES)?);
        let devices = (0..self.devices.len()).map(|at| (BoundTerm::Device(at), of_device, DEVICE_SWITCHES));
        let above = tasks.chain([(BoundTerm::Probe, probe::COST, 2)]).chain(devices);
        for ((kind, cost, switches), &jobs) in above.zip(&response.jobs) {
            let time = cost.checked_mul(jobs).ok_or(Overflow)?;
            terms.push(Term { kind, count: Some(jobs), time });
            let more = jobs.checked_mul(switches).ok_or(Overflow)?;
            count = count.checked_add(more).ok_or(Overflow)?;
        }
        let time = self.charges.switches(count)?;
        terms.push(Term { kind: BoundTerm::Switches, count: Some(count), time });
        terms.push(Term { kind: BoundTerm::Jitter, count: None, time: own.jitter });
        terms.push(Term { kind: BoundTerm::Release, count: None, time: self.charges.release() });
        terms.retain(|term| !term.time.is_zero() || term.kind == BoundTerm::Own);
        Ok(terms)
    }
}
