// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Finds the times in which the machine ran none of our threads, though one of them had something to run.
//!
//! ```text
//! jobs compute    ======|            |=====|   |==============|     |=======
//! ordinary thread            |--|
//! probe looks               x                    due.......x
//! records           |         |            | |
//!                       ---- pause ---                     ---- pause
//!                               .stall             ...stall   .stall
//! ```
//!
//! A **pause** is a time in which a core has something to run and none of its jobs computes. It may last as long as
//! the charges for the events in it: each look of the probe, each recorded release, each change of jobs, each lock
//! ([`Overheads`]). The time beyond that is a **stall**. The time by which the probe is later than its charge is a
//! stall too, even if a job computes: the machine did not respond.
//!
//! A pause may also mean that a wake-up is missing, which is not the machine's fault. Then the ordinary thread runs,
//! which every core has and which is always ready. The time of a pause in which this thread ran does not count as
//! stalled, from the instant at which a release would be recorded.
//!
//! A core has something to run while one of its open jobs is not suspended to wait for another core, and none of its
//! jobs spins to wait for another core. A job that gets its resource from another core has the resource from the
//! hand-over on ([`handed`]).

use std::collections::{BTreeMap, BTreeSet};

use taut_event::{Kind, Record};

use super::charge::Overheads;
use super::probe::Sign;

/// Begin and end, ns.
pub(crate) type Stall = (u64, u64);

/// A task, and the number of its job.
type JobOf = (u16, u64);

/// The instant at which another core handed over the resource that a job of this core waited for (ns), and that job.
pub(crate) type Handed = (u64, JobOf);

/// An event on the time axis. Arrivals sort first: they open a job, which can be late from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Occurrence {
    Arrival(JobOf),
    /// Another core has handed over the resource that this job waited for.
    Handed(JobOf),
    Look,
    Computes,
    Recorded(Change, JobOf),
}

/// The effect of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    /// The record changes nothing: it says that the dispatcher has seen the release.
    Known,
    Starts,
    Closes,
    Spins,
    /// The job suspends.
    Leaves,
    /// The job no longer waits.
    Returns,
    Locks,
    Other,
}

impl Occurrence {
    /// The charge for the event, ns.
    fn costs_ns(self, add: &Overheads) -> u64 {
        match self {
            Self::Look => add.look_ns,
            Self::Recorded(Change::Known, _) => add.visit_ns,
            Self::Recorded(Change::Starts | Change::Closes | Change::Leaves | Change::Returns, _) => {
                add.switch_ns
            }
            Self::Recorded(Change::Locks, _) => add.lock_ns,
            Self::Computes
            | Self::Arrival(_)
            | Self::Handed(_)
            | Self::Recorded(Change::Spins | Change::Other, _) => 0,
        }
    }

    /// The charge if the event ends a time in which there was nothing to run, ns.
    fn begins_ns(self, add: &Overheads, spins: bool) -> u64 {
        match self {
            // A spinning job has its core already.
            Self::Handed(_) if spins => add.kernel_ns,
            _ => add.release_ns + add.kernel_ns,
        }
    }
}

/// The hand-overs by other cores to jobs of this core (`is_here`) that waited. The instant of a hand-over is that of
/// the last release of the resource before the job got it.
pub(crate) fn handed(records: &[Record], is_here: impl Fn(&Record) -> bool) -> Vec<Handed> {
    let mut ordered: Vec<&Record> = records.iter().collect();
    ordered.sort_by_key(|record| record.at);
    let mut given: BTreeMap<u64, u64> = BTreeMap::new();
    let mut waits: BTreeSet<(JobOf, u64)> = BTreeSet::new();
    let mut handed = Vec::new();
    for record in ordered {
        let job = (record.subject, record.job);
        match record.kind {
            Kind::Unlock if is_here(record) => drop(given.remove(&record.value)),
            Kind::Unlock => drop(given.insert(record.value, record.at.as_ns())),
            Kind::Spin | Kind::Suspend => drop(waits.insert((job, record.value))),
            Kind::Granted | Kind::Locked => {
                let waited = waits.remove(&(job, record.value));
                // A free resource is not handed over.
                if let Some(at) = given.remove(&record.value).filter(|_| waited && is_here(record)) {
                    handed.push((at, job));
                }
            }
            _ => {}
        }
    }
    handed
}

/// The open jobs of a core, and those that wait for another core.
#[derive(Default)]
struct Jobs {
    open: BTreeSet<JobOf>,
    away: BTreeSet<JobOf>,
    spins: Option<JobOf>,
}

impl Jobs {
    fn can_run(&self) -> bool {
        self.spins.is_none() && self.open.len() > self.away.len()
    }

    fn waits_no_more(&mut self, job: JobOf) {
        self.away.remove(&job);
        self.spins = self.spins.filter(|spins| *spins != job);
    }

    fn take(&mut self, mark: Occurrence) {
        match mark {
            Occurrence::Arrival(job) => drop(self.open.insert(job)),
            Occurrence::Handed(job) | Occurrence::Recorded(Change::Returns | Change::Locks, job) => {
                self.waits_no_more(job)
            }
            Occurrence::Recorded(Change::Closes, job) => {
                self.open.remove(&job);
                self.waits_no_more(job);
            }
            Occurrence::Recorded(Change::Spins, job) => self.spins = Some(job),
            Occurrence::Recorded(Change::Leaves, job) if self.open.contains(&job) => {
                self.away.insert(job);
            }
            _ => {}
        }
    }
}

/// The stalls of a core, from the records of its tasks, its signs of life, and the hand-overs to its jobs
/// ([`handed`]). Stalls may overlap.
pub(crate) fn stalls<'r>(
    records: impl Iterator<Item = &'r Record>,
    signs: &[Sign],
    handed: &[Handed],
    add: &Overheads,
) -> Vec<Stall> {
    let mut marks: Vec<(u64, u64, Occurrence)> =
        handed.iter().map(|(at, job)| (*at, *at, Occurrence::Handed(*job))).collect();
    marks.extend(records.flat_map(occurrences).map(|(at, occurrence)| (at, at, occurrence)));
    let (mut found, mut spare) = (Vec::new(), Vec::new());
    for sign in signs {
        match *sign {
            Sign::Look { due_ns, seen_ns } => {
                let heard = due_ns + add.release_ns + add.kernel_ns;
                if seen_ns > heard {
                    found.push((heard, seen_ns));
                }
                marks.push((seen_ns, seen_ns, Occurrence::Look));
            }
            Sign::Alive { from_ns, to_ns } => marks.push((from_ns, to_ns, Occurrence::Computes)),
            Sign::Spare { from_ns, to_ns } => spare.push((from_ns, to_ns)),
        }
    }
    marks.sort_unstable();
    spare.sort_unstable();
    let mut jobs = Jobs::default();
    let mut pause = Pause::default();
    for (from, to, mark) in marks {
        let (could, spins) = (jobs.can_run(), jobs.spins.is_some());
        jobs.take(mark);
        if from < pause.since {
            continue;
        }
        pause.charged += mark.costs_ns(add);
        if could && (mark == Occurrence::Computes || !jobs.can_run()) {
            found.extend(pause.stall(from, &spare));
        }
        if mark == Occurrence::Computes {
            pause = Pause { since: to, latency: 0, charged: add.read_ns };
        } else if !could {
            let latency = mark.begins_ns(add, spins);
            pause = Pause { since: from, latency, charged: latency };
        }
    }
    found
}

/// The occurrences that a record reports, with their instants. The record of a release also reports when the job
/// arrived.
fn occurrences(record: &Record) -> impl Iterator<Item = (u64, Occurrence)> + use<> {
    let (at, job) = (record.at.as_ns(), (record.subject, record.job));
    let change = match record.kind {
        Kind::Release => Change::Known,
        Kind::Start => Change::Starts,
        Kind::Complete | Kind::Skip => Change::Closes,
        Kind::Spin => Change::Spins,
        Kind::Suspend => Change::Leaves,
        Kind::Granted => Change::Returns,
        Kind::Locked => Change::Locks,
        _ => Change::Other,
    };
    let arrival = (record.kind == Kind::Release).then_some((at, Occurrence::Arrival(job)));
    let reported = if record.kind == Kind::Release { at + record.value } else { at };
    arrival.into_iter().chain([(reported, Occurrence::Recorded(change, job))])
}

/// A time in which a core has something to run, and no job computes.
#[derive(Default)]
struct Pause {
    since: u64,
    /// The part of the charge during which the machine still runs what it ran before.
    latency: u64,
    charged: u64,
}

impl Pause {
    /// The stall at the end of the pause, if there is one.
    fn stall(&self, end: u64, spare: &[Stall]) -> Option<Stall> {
        let from = self.since + self.latency;
        // The spare times of a core do not overlap, so their ends are in order as well.
        let first = spare.partition_point(|(_, to)| *to <= from);
        let within = spare[first..].iter().take_while(|(begin, _)| *begin < end);
        let stalled = self.since + self.charged + covered(within, from, end);
        (stalled < end).then_some((stalled, end))
    }
}

/// How much of a window the stalls cover, counting each instant once.
pub(crate) fn covered<'s>(stalls: impl Iterator<Item = &'s Stall>, from_ns: u64, to_ns: u64) -> u64 {
    let mut parts: Vec<Stall> = stalls
        .map(|(from, to)| ((*from).max(from_ns), (*to).min(to_ns)))
        .filter(|(from, to)| from < to)
        .collect();
    parts.sort_unstable();
    let (mut sum, mut until) = (0, 0);
    for (from, to) in parts {
        sum += to.saturating_sub(from.max(until));
        until = until.max(to);
    }
    sum
}

#[cfg(test)]
mod tests {
    use taut_time::Instant;

    use super::*;

    const ADD: Overheads = Overheads {
        release_ns: 20,
        kernel_ns: 0,
        switch_ns: 0,
        lock_ns: 0,
        read_ns: 1,
        visit_ns: 6,
        look_ns: 4,
    };

    fn record(at: u64, kind: Kind, value: u64) -> Record {
        Record { at: Instant::from_ns(at), kind, cpu: 0, subject: 0, job: 0, value }
    }

    fn alive(from_ns: u64, to_ns: u64) -> Sign {
        Sign::Alive { from_ns, to_ns }
    }

    fn spare(from_ns: u64, to_ns: u64) -> Sign {
        Sign::Spare { from_ns, to_ns }
    }

    fn look(due_ns: u64, seen_ns: u64) -> Sign {
        Sign::Look { due_ns, seen_ns }
    }

    fn found(records: &[Record], signs: &[Sign]) -> Vec<Stall> {
        let mut found = stalls(records.iter(), signs, &[], &ADD);
        found.sort_unstable();
        found
    }

    #[test]
    fn an_instant_counts_once() {
        let stalls = [(10, 20), (15, 30), (12, 14), (40, 90)];
        assert_eq!(covered(stalls.iter(), 0, 100), 70);
        assert_eq!(covered(stalls.iter(), 18, 50), 22);
        assert_eq!(covered(stalls.iter(), 30, 40), 0);
    }

    #[test]
    fn a_silent_core_with_work_has_stalled() {
        let run = [
            record(1000, Kind::Release, 15),
            record(1020, Kind::Start, 0),
            record(2000, Kind::Complete, 0),
            record(5000, Kind::Release, 300),
            record(5310, Kind::Start, 0),
            record(5400, Kind::Complete, 0),
        ];
        let signs = [alive(1021, 1500), alive(1800, 1999), look(5000, 5290), alive(5311, 5399)];
        // In ns: 20 is the latency of any release, 4 a look, 6 the recording of a release. After that no job is open.
        assert_eq!(found(&run, &signs), [(1501, 1800), (5020, 5290), (5030, 5311)]);
    }

    /// The charges are 1 for a job's last clock read, 4 for the probe's look, and 6 for the recorded release.
    #[test]
    fn what_others_had_to_spare_is_no_stall() {
        let run = [
            record(1000, Kind::Release, 15),
            record(1020, Kind::Start, 0),
            record(1200, Kind::Release, 405),
            record(2000, Kind::Complete, 0),
        ];
        let with = |more: &[Sign]| {
            let signs = [alive(1021, 1500), look(1700, 1702), alive(1800, 2000)];
            found(&run, &[&signs, more].concat())
        };
        assert_eq!(with(&[]), [(1511, 1800)]);
        assert_eq!(with(&[spare(1520, 1590), spare(1710, 1720)]), [(1591, 1800)]);
        assert_eq!(with(&[spare(100, 400), spare(900, 1530), spare(1790, 1900)]), [(1551, 1800)]);
        assert_eq!(with(&[spare(1501, 1795)]), []);
    }

    #[test]
    fn a_machine_without_interrupts_has_stalled_the_computing_job() {
        let run =
            [record(1000, Kind::Release, 15), record(1020, Kind::Start, 0), record(2000, Kind::Complete, 0)];
        let with = |seen| found(&run, &[alive(1021, seen - 3), look(1100, seen), alive(seen + 1, 2000)]);
        assert_eq!(with(1190), [(1120, 1190)]);
        assert_eq!(with(1115), []);
    }

    /// Most dropped jobs were never released: then the same jobs are open as before.
    #[test]
    fn a_dropped_release_ends_no_job() {
        let of = |job, record: Record| Record { job, ..record };
        let run = [
            of(1, record(1000, Kind::Skip, 0)),
            of(2, record(2000, Kind::Release, 500)),
            of(2, record(2510, Kind::Start, 0)),
            of(3, record(2600, Kind::Release, 10)),
            of(3, record(2650, Kind::Skip, 0)),
            of(2, record(2900, Kind::Complete, 0)),
        ];
        let signs = [look(2000, 2490), alive(2511, 2640), look(2700, 2880), alive(2881, 2899)];
        assert_eq!(found(&run, &signs), [(2020, 2490), (2030, 2511), (2645, 2881), (2720, 2880)]);
    }

    #[test]
    fn a_job_that_is_not_woken_is_no_stall() {
        let run =
            [record(1000, Kind::Release, 5), record(9990, Kind::Start, 0), record(9999, Kind::Complete, 0)];
        // The ordinary thread still runs when the release is due, and may run for 20 ns more.
        let with = |until| found(&run, &[spare(700, until), alive(9990, 9998)]);
        assert_eq!(with(9988), []);
        assert_eq!(with(5000), [(5006, 9990)]);
    }

    #[test]
    fn a_waiting_core_may_be_silent() {
        for (kind, end) in [(Kind::Spin, Kind::Locked), (Kind::Suspend, Kind::Granted)] {
            let run = [
                record(1000, Kind::Release, 5),
                record(1010, Kind::Start, 0),
                record(1020, kind, 0),
                record(1800, end, 0),
                record(1805, Kind::Complete, 0),
            ];
            assert_eq!(found(&run, &[look(1200, 1201)]), []);
        }
    }

    /// The other core hands the resource over at 1100 ns; the job has it at 1800 ns.
    #[test]
    fn a_wake_that_takes_long_is_a_stall() {
        let of = |subject, record: Record| Record { subject, ..record };
        let run = |waits, knows| {
            [
                record(1000, Kind::Release, 5),
                record(1010, Kind::Start, 0),
                record(1020, waits, 7),
                record(1800, knows, 7),
                record(1805, Kind::Complete, 0),
            ]
        };
        let there = [of(1, record(1030, Kind::Unlock, 8)), of(1, record(1100, Kind::Unlock, 7))];
        let here = |record: &Record| record.subject == 0;
        let away = run(Kind::Suspend, Kind::Granted);
        let when = handed(&[&away[..], &there].concat(), here);
        assert_eq!(when, [(1100, (0, 0))]);
        let with = |signs: &[Sign]| stalls(away.iter(), signs, &when, &ADD);
        assert_eq!(with(&[]), [(1120, 1805)]);
        assert_eq!(with(&[look(1790, 1791)]), [(1124, 1805)]);
        assert_eq!(with(&[spare(1030, 1420)]), [(1420, 1805)]);
        // A spinning job needs no wake-up.
        let spins = run(Kind::Spin, Kind::Locked);
        let when = handed(&[&spins[..], &there].concat(), here);
        assert_eq!(stalls(spins.iter(), &[], &when, &ADD), [(1100, 1805)]);
        // A resource that no job waited for was not handed over.
        let free = run(Kind::Start, Kind::Locked);
        assert_eq!(handed(&[&free[..], &there].concat(), here), []);
    }

    /// One job is suspended, and the other, which it had preempted, does not continue.
    #[test]
    fn a_core_is_silent_by_right_only_if_all_its_jobs_are_away() {
        let of = |subject, record: Record| Record { subject, ..record };
        let run = [
            record(1000, Kind::Release, 5),
            record(1010, Kind::Start, 0),
            of(1, record(1100, Kind::Release, 5)),
            record(1105, Kind::Preempt, 0),
            of(1, record(1105, Kind::Start, 0)),
            of(1, record(1120, Kind::Suspend, 7)),
            record(1900, Kind::Resume, 0),
            record(1950, Kind::Complete, 0),
        ];
        let signs = [alive(1011, 1099), alive(1106, 1119), alive(1901, 1949)];
        assert_eq!(found(&run, &signs), [(1120, 1901)]);
    }
}
