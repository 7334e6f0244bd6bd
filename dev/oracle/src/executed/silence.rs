// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! When the machine did nothing of ours, though there was something to do.
//!
//! ```text
//! jobs compute    ======|          |=====|                |=======
//! probe looks             x                  x   x   x            (on time)
//! records                   |  |                          |
//!                        silence          not the machine's
//! ```
//!
//! A **stall** is a time in which a core with jobs under way gave no sign of life, not of a job, of its dispatcher or of the
//! probe, beyond what is charged for what happens in between. Where the sign that ends it is the probe's, and on time, the
//! processor was there when it was wanted: then it counts as nothing. So jobs that nobody has woken are no stall, but for
//! the last [`EVERY`] at most. Nor is a core silent that has nothing to run, or whose job spins for a lock. One whose jobs are
//! all away has something to run again when another core hands one of them what it waits for: from then on, beyond what is
//! charged for a wake, it is silent.

use std::collections::{BTreeMap, BTreeSet};

use taut_event::{Kind, Record};

use super::charge::Overheads;
#[cfg(doc)]
use super::probe::EVERY;
use super::probe::Sign;

/// From and to.
pub(crate) type Stall = (u64, u64);

/// What is on the axis of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Arrival,
    /// A job that was away may come back.
    Handed,
    OnTime,
    Late,
    Alive,
    Told(Change),
}

/// What a record changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Opens,
    Closes,
    /// A job spins, or no longer.
    Spins,
    /// A job goes away.
    Leaves,
    Other,
}

/// When other cores handed jobs of a core what these were away for: of each grant, when it was given back last before.
pub(crate) fn handed(records: &[Record], is_here: impl Fn(&Record) -> bool) -> Vec<u64> {
    let mut ordered: Vec<&Record> = records.iter().collect();
    ordered.sort_by_key(|record| record.at);
    let mut given: BTreeMap<u64, u64> = BTreeMap::new();
    let mut handed = Vec::new();
    for record in ordered {
        match record.kind {
            Kind::Unlock if is_here(record) => drop(given.remove(&record.value)),
            Kind::Unlock => drop(given.insert(record.value, record.at.as_ns())),
            // What was free needs nobody.
            Kind::Locked => drop(given.remove(&record.value)),
            Kind::Granted if is_here(record) => handed.extend(given.remove(&record.value)),
            _ => {}
        }
    }
    handed
}

/// The stalls of a core, from the records of its tasks, its signs of life, and when its jobs were `handed` what they were away
/// for.
pub(crate) fn stalls<'r>(
    records: impl Iterator<Item = &'r Record>,
    signs: &[Sign],
    handed: &[u64],
    add: &Overheads,
) -> Vec<Stall> {
    let mut marks: Vec<(u64, u64, Mark)> = handed.iter().map(|at| (*at, *at, Mark::Handed)).collect();
    let mut released = BTreeSet::new();
    for record in records {
        let at = record.at.as_ns();
        let job = (record.subject, record.job);
        let change = match record.kind {
            Kind::Release => {
                released.insert(job);
                Change::Opens
            }
            // Of a job that was not released first nothing was open.
            Kind::Complete | Kind::Skip if released.remove(&job) => Change::Closes,
            Kind::Spin => Change::Spins,
            Kind::Suspend => Change::Leaves,
            _ => Change::Other,
        };
        if record.kind == Kind::Release {
            marks.push((at, at, Mark::Arrival));
        }
        let told = if record.kind == Kind::Release { at + record.value } else { at };
        marks.push((told, told, Mark::Told(change)));
    }
    marks.extend(signs.iter().map(|sign| match *sign {
        Sign::Look { due_ns, seen_ns } if seen_ns - due_ns > add.release_ns => (seen_ns, seen_ns, Mark::Late),
        Sign::Look { seen_ns, .. } => (seen_ns, seen_ns, Mark::OnTime),
        Sign::Alive { from_ns, to_ns } => (from_ns, to_ns, Mark::Alive),
    }));
    // Arrivals first: they open what is late from then on.
    marks.sort_unstable();
    let mut found = Vec::new();
    let (mut until, mut begin) = (0, Mark::OnTime);
    // Jobs that have arrived; whether one spins, or all are away.
    let (mut open, mut spins, mut away) = (0_i64, false, false);
    for (from, to, mark) in marks {
        let charged = match begin {
            Mark::Arrival | Mark::Handed => add.release_ns,
            _ => add.interrupts_ns(),
        };
        let quiet = matches!(mark, Mark::OnTime | Mark::Arrival | Mark::Handed);
        let silent = from.saturating_sub(until);
        if silent > charged && open > 0 && !spins && !away && !quiet {
            found.push((until + charged, from));
        }
        match mark {
            Mark::Arrival => open += 1,
            Mark::Told(change) => {
                open -= i64::from(change == Change::Closes);
                spins = change == Change::Spins;
                away = change == Change::Leaves;
            }
            Mark::Handed | Mark::OnTime | Mark::Late | Mark::Alive => {}
        }
        // These are no signs of life, but where nothing was to be run before.
        let begins = match mark {
            Mark::Arrival => open == 1,
            Mark::Handed => std::mem::take(&mut away),
            _ => true,
        };
        if to >= until && begins {
            (until, begin) = (to, mark);
        }
    }
    found
}

/// How much of a window stalls cover, each instant once.
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
        read_ns: 0,
        visit_ns: 6,
        look_ns: 4,
    };

    fn record(at: u64, kind: Kind, value: u64) -> Record {
        Record { at: Instant::from_ns(at), kind, cpu: 0, subject: 0, job: 0, value }
    }

    fn alive(from_ns: u64, to_ns: u64) -> Sign {
        Sign::Alive { from_ns, to_ns }
    }

    fn look(due_ns: u64, seen_ns: u64) -> Sign {
        Sign::Look { due_ns, seen_ns }
    }

    fn found(records: &[Record], signs: &[Sign]) -> Vec<Stall> {
        stalls(records.iter(), signs, &[], &ADD)
    }

    #[test]
    fn an_instant_counts_once() {
        let stalls = [(10, 20), (15, 30), (12, 14), (40, 90)];
        assert_eq!(covered(stalls.iter(), 0, 100), 70);
        assert_eq!(covered(stalls.iter(), 18, 50), 22);
        assert_eq!(covered(stalls.iter(), 30, 40), 0);
    }

    #[test]
    fn who_is_silent_with_something_to_do_has_stalled() {
        let run = [
            record(1000, Kind::Release, 15),
            record(1020, Kind::Start, 0),
            record(2000, Kind::Complete, 0),
            record(5000, Kind::Release, 300),
            record(5310, Kind::Start, 0),
            record(5400, Kind::Complete, 0),
        ];
        let signs = [alive(1021, 1500), alive(1800, 1999), look(5000, 5290), alive(5311, 5399)];
        // 10 of a stall are what interrupts, 20 are what a release is late anyway; then nothing is under way.
        assert_eq!(found(&run, &signs), [(1510, 1800), (5020, 5290)]);
    }

    /// Most that are dropped never were released: then as much is under way as before.
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
        assert_eq!(found(&run, &signs), [(2020, 2490), (2660, 2880)]);
    }

    #[test]
    fn a_job_that_nobody_wakes_is_no_stall() {
        let run =
            [record(1000, Kind::Release, 5), record(9990, Kind::Start, 0), record(9999, Kind::Complete, 0)];
        let looks: Vec<Sign> = (1..20).map(|at| look(500 * at, 500 * at + 3)).collect();
        let stalled = covered(found(&run, &looks).iter(), 0, 9999);
        assert!(stalled < 500, "{stalled}");
        // The machine's own, for the probe was late as well.
        let late = [look(1000, 1002), look(1500, 9980)];
        assert!(covered(found(&run, &late).iter(), 0, 9999) > 8900);
    }

    #[test]
    fn who_waits_for_others_is_silent_by_right() {
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

    /// Handed over at 1100 and woken at 1800; a look on time in between says that the processor was there.
    #[test]
    fn a_wake_that_takes_long_is_a_stall() {
        let of = |subject, record: Record| Record { subject, ..record };
        let run = [
            record(1000, Kind::Release, 5),
            record(1010, Kind::Start, 0),
            record(1020, Kind::Suspend, 7),
            record(1800, Kind::Granted, 7),
            record(1805, Kind::Complete, 0),
        ];
        let there = [of(1, record(1030, Kind::Unlock, 8)), of(1, record(1100, Kind::Unlock, 7))];
        let all = [&run[..], &there].concat();
        let handed = handed(&all, |record| record.subject == 0);
        assert_eq!(handed, [1100]);
        assert_eq!(stalls(run.iter(), &[], &handed, &ADD), [(1120, 1800)]);
        assert_eq!(stalls(run.iter(), &[look(1790, 1791)], &handed, &ADD), []);
        assert_eq!(stalls(run.iter(), &[look(1200, 1700)], &handed, &ADD), [(1120, 1700), (1710, 1800)]);
    }
}
