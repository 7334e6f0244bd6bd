// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Interference with the application from outside, as its main thread recorded it, and the late jobs that it explains.
//!
//! A late job is blamed on interference from outside only if it would otherwise be our fault, and
//!
//! - all threads were stopped, or a tracer was attached, in its busy window: then no measurement is the application's
//!   own; or
//! - foreign real-time threads, each preferred to a thread of its core, together used at least the part of the job's
//!   lateness that stalls and more urgent work leave unexplained, while no job of the window used more than its WCET.
//!   A look shows the time that such a thread used since the look before it, and the kernel counts that time up to a
//!   tick late: so the looks that overlap the window count, and the next one.
//!
//! In neither case is the run kept: the proof assumes a machine without such interference.

use std::collections::BTreeMap;

use taut_event::{Foreign, Interference, Record};
use taut_plan::Plan;

use crate::blame::Stalls;
use crate::observations::Observations;
use crate::verdict::{Breach, Cause, Warning};

/// A thread looks for a tracer each 20 ms, and the tracer slows that thread down: sightings no further apart than
/// this are one.
const TRACED_APART_NS: u64 = 200_000_000;
/// The time that the probes may take to wake after the process continues.
const AWAKE_NS: u64 = 20_000_000;
/// Foreign threads that used less than this of a core are not reported, if no job was late because of them.
const REPORTED_NS: u64 = 1_000_000;

/// A span in which all threads were stopped or traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    from: u64,
    to: u64,
    /// The tracer's process; none if the threads were stopped.
    by: Option<u32>,
}

/// A foreign thread.
#[derive(Clone, Debug)]
struct Other {
    thread: Foreign,
    /// The time that it used in each span between two looks, in order.
    ran: Vec<(u64, u64, u64)>,
    late: u64,
}

impl Other {
    /// The most time that it used from `from` to `to`, as far as the looks show.
    fn ran(&self, from: u64, to: u64) -> u64 {
        let first = self.ran.partition_point(|&(_, until, _)| until <= from);
        let inside = self.ran[first..].iter().take_while(|&&(since, ..)| since < to).count();
        // A thread that did not run before the window's end did not delay the job.
        let next = usize::from(inside > 0);
        let looks = &self.ran[first..(first + inside + next).min(self.ran.len())];
        looks.iter().map(|&(.., ran)| ran).fold(0, u64::saturating_add)
    }

    fn total(&self) -> u64 {
        self.ran.iter().map(|&(.., ran)| ran).fold(0, u64::saturating_add)
    }
}

/// The spans in which all threads were stopped or traced.
fn held(seen: &Observations, stalls: &BTreeMap<u16, Stalls>) -> Vec<Held> {
    let mut held: Vec<Held> = Vec::new();
    let mut interference = seen.interference.clone();
    interference.sort_by_key(|(at, _)| *at);
    for (at, interference) in interference {
        match interference {
            Interference::Traced { pid } => {
                let by = Some(pid);
                // The tracer attached between the previous look and this one.
                let from = at.saturating_sub(TRACED_APART_NS);
                match held.iter_mut().rev().find(|held| held.by == by) {
                    Some(last) if from <= last.to => last.to = at,
                    _ => held.push(Held { from, to: at, by }),
                }
            }
            Interference::Stopped => {
                // A process that was not stopped can also receive the signal to continue: then its probes did not
                // stand still.
                let (from, to) = (at.saturating_sub(AWAKE_NS), at.saturating_add(AWAKE_NS));
                let stood = stalls.values().filter_map(|stalls| stalls.longest_ending_in(from, to));
                if let Some((from, to)) = stood.max_by_key(|(from, to)| to - from) {
                    held.push(Held { from, to, by: None });
                }
            }
        }
    }
    held
}

/// All interference from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outside {
    held: Vec<Held>,
    /// By CPU and thread number.
    others: BTreeMap<(u16, u32), Other>,
}

impl Outside {
    pub(crate) fn of(
        plan: &Plan,
        (records, seen): (&[Record], &Observations),
        stalls: &BTreeMap<u16, Stalls>,
    ) -> Self {
        let mut others: BTreeMap<(u16, u32), Other> = BTreeMap::new();
        for thread in Foreign::of(records) {
            let Some(core) = plan.cores.get(usize::from(thread.core)) else { continue };
            let other = others.entry((core.cpu, thread.tid));
            let other = other.or_insert_with(|| Other { thread, ran: Vec::new(), late: 0 });
            other.ran.push((thread.since.as_ns(), thread.until.as_ns(), thread.ran_ns));
        }
        Self { held: held(seen, stalls), others }
    }

    /// Whether all threads were stopped or traced at any time between two instants.
    pub(crate) fn is_held(&self, from: u64, to: u64) -> bool {
        self.held_in(from, to).is_some()
    }

    fn held_in(&self, from: u64, to: u64) -> Option<&Held> {
        self.held.iter().find(|held| held.from < to && from < held.to)
    }

    /// The cause from outside of a job that would otherwise be late by our fault. Takes its window, the CPUs that did
    /// its work, the part of its lateness that nothing else explains, and whether a job of the window used more than
    /// its WCET.
    pub(crate) fn cause(
        &mut self,
        (from, to): (u64, u64),
        cpus: &[u16],
        unexplained: u64,
        wcet: bool,
    ) -> Option<Cause> {
        if let Some(held) = self.held_in(from, to) {
            return Some(held.by.map_or(Cause::Stopped, |pid| Cause::Traced { pid }));
        }
        let here = self.others.iter_mut().filter(|((cpu, _), _)| cpus.contains(cpu));
        let here: Vec<(u64, &mut Other)> =
            here.map(|(_, other)| (other.ran(from, to), other)).filter(|(ran, _)| *ran > 0).collect();
        let together = here.iter().map(|(ran, _)| *ran).fold(0, u64::saturating_add);
        if wcet || together < unexplained {
            return None;
        }
        let (ran_ns, most) = here.into_iter().max_by_key(|(ran, _)| *ran)?;
        most.late += 1;
        Some(Cause::ForeignThread { thread: most.thread.name(), tid: most.thread.tid, ran_ns })
    }

    /// The breaches: all threads stopped or traced, and foreign threads that made jobs late.
    pub(crate) fn breaches(&self, begin: u64) -> Vec<Breach> {
        let held = self.held.iter().map(|held| {
            let (at_ns, lasted_ns) = (held.from.saturating_sub(begin), held.to - held.from);
            held.by.map_or(Breach::Stopped { at_ns, lasted_ns }, |pid| Breach::Traced {
                pid,
                at_ns,
                lasted_ns,
            })
        });
        let others = self.others.iter().filter(|(_, other)| other.late > 0).map(|((cpu, tid), other)| {
            Breach::ForeignThread {
                thread: other.thread.name(),
                tid: *tid,
                policy: other.thread.policy.into(),
                priority: other.thread.priority.into(),
                cpu: *cpu,
                ran_ns: other.total(),
                at_ns: other.ran.first().map_or(0, |&(since, ..)| since.saturating_sub(begin)),
                jobs: other.late,
            }
        });
        held.chain(others).collect()
    }

    /// Foreign threads that used a core for long without making a job late.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let others = self.others.iter();
        let others = others.filter(|(_, other)| other.late == 0 && other.total() >= REPORTED_NS);
        let warning = |((cpu, tid), other): (&(u16, u32), &Other)| Warning::ForeignThread {
            thread: other.thread.name(),
            tid: *tid,
            policy: other.thread.policy.into(),
            priority: other.thread.priority.into(),
            cpu: *cpu,
            ran_ns: other.total(),
        };
        others.map(warning).collect()
    }
}
