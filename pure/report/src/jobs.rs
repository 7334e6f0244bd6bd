// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Joins records, which are grouped by thread and not sorted overall, into jobs.

use std::collections::BTreeMap;

use taut_event::{Event, Record};

/// A job that was released, started and completed. Times in ns on the run's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) task: usize,
    pub(crate) number: u64,
    pub(crate) release: u64,
    pub(crate) start: u64,
    pub(crate) complete: u64,
    /// Processor time, as the kernel counted it.
    pub(crate) cpu: u64,
    /// Whether the runtime recorded a miss.
    pub(crate) missed: bool,
}

impl Job {
    pub(crate) fn response(&self) -> u64 {
        self.complete.saturating_sub(self.release)
    }
    pub(crate) fn jitter(&self) -> u64 {
        self.start.saturating_sub(self.release)
    }
}

/// The records of one task's jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskJobs {
    /// Complete jobs, by release.
    pub(crate) jobs: Vec<Job>,
    /// Released, not skipped, and not complete when the records end.
    pub(crate) open: Vec<Open>,
    /// Released before the records begin, but with later records.
    pub(crate) early: Vec<Early>,
    pub(crate) releases: u64,
    pub(crate) skipped: u64,
    /// The number of jobs with missing or contradictory records: numbers without a record, a start without a release,
    /// two completions, a start before its release.
    pub(crate) faulty: u64,
    /// The largest number of a job or of a dropped release.
    pub(crate) newest: Option<u64>,
}

/// A job that is not complete when the records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) number: u64,
    pub(crate) release: u64,
    pub(crate) start: Option<u64>,
}

/// A job that was released before the records begin; an event from before them is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Early {
    pub(crate) number: u64,
    pub(crate) start: Option<u64>,
    pub(crate) complete: Option<u64>,
}

#[derive(Default)]
struct Parts {
    release: Option<u64>,
    start: Option<u64>,
    complete: Option<(u64, u64)>,
    skips: u64,
    missed: bool,
    twice: bool,
}

impl Parts {
    /// Whether its records cannot be complete and correct.
    fn is_faulty(&self, end: u64) -> bool {
        let Some(release) = self.release else { return true };
        let start = self.start.or(self.complete.map(|_| 0)).unwrap_or(u64::MAX);
        let complete = self.complete.map_or(u64::MAX, |(at, _)| at);
        let known = [self.release, self.start, self.complete.map(|(at, _)| at)];
        self.twice || start < release || complete < start || known.into_iter().flatten().any(|at| at > end)
    }
}

/// Stores a value; returns whether the place already had one.
fn fill<T>(place: &mut Option<T>, value: T) -> bool {
    place.replace(value).is_some()
}

/// One entry per task of the plan; ignores records of tasks that the plan does not have. `whole`: the records begin
/// with the run, not in the middle of it. No event of a job may be later than `end`.
pub(crate) fn join(records: &[Record], tasks: usize, whole: bool, end: u64) -> Vec<TaskJobs> {
    let mut parts: Vec<BTreeMap<u64, Parts>> = (0..tasks).map(|_| BTreeMap::new()).collect();
    let mut of = |task: u16, number: u64, note: &dyn Fn(&mut Parts)| {
        if let Some(jobs) = parts.get_mut(usize::from(task)) {
            note(jobs.entry(number).or_default());
        }
    };
    for record in records {
        let at = record.at.as_ns();
        match Event::of(record) {
            Ok(Event::Release { task, job, .. }) => {
                of(task, job, &|job| job.twice |= fill(&mut job.release, at));
            }
            Ok(Event::Start { task, job }) => of(task, job, &|job| job.twice |= fill(&mut job.start, at)),
            Ok(Event::Complete { task, job, used }) => {
                of(task, job, &|job| job.twice |= fill(&mut job.complete, (at, used.as_ns())));
            }
            Ok(Event::Skip { task, job, .. }) => of(task, job, &|job| job.skips += 1),
            Ok(Event::Miss { task, job, .. }) => of(task, job, &|job| job.missed = true),
            // Nothing else begins or ends a job.
            Ok(_) | Err(_) => {}
        }
    }
    parts.into_iter().enumerate().map(|(task, parts)| of_task(task, parts, whole, end)).collect()
}

fn of_task(task: usize, mut parts: BTreeMap<u64, Parts>, whole: bool, end: u64) -> TaskJobs {
    let mut found = TaskJobs::default();
    if !whole {
        // Missing records of jobs that were released before the records begin are no fault.
        let first = parts.iter().find(|(_, part)| part.release.is_some() || part.skips > 0);
        let first = first.map_or(u64::MAX, |(number, _)| *number);
        let own = parts.split_off(&first);
        let early = std::mem::replace(&mut parts, own).into_iter();
        found.early = early
            .map(|(number, part)| Early {
                number,
                start: part.start,
                complete: part.complete.map(|(at, _)| at),
            })
            .collect();
    }
    found.newest = parts.last_key_value().map(|(number, _)| *number);
    if let Some(newest) = found.newest {
        let first = if whole { 0 } else { parts.first_key_value().map_or(0, |(number, _)| *number) };
        // So many jobs from `first` to the newest have no record.
        found.faulty = (newest - first).saturating_sub(parts.len() as u64 - 1);
    }
    for (number, part) in parts {
        found.skipped += part.skips;
        if part.skips > 0 && part.start.is_none() {
            continue;
        }
        found.releases += u64::from(part.release.is_some());
        if part.is_faulty(end) {
            found.faulty += 1;
            continue;
        }
        match part {
            Parts {
                release: Some(release),
                start: Some(start),
                complete: Some((complete, cpu)),
                missed,
                ..
            } => {
                found.jobs.push(Job { task, number, release, start, complete, cpu, missed });
            }
            Parts { release: Some(release), start, complete: None, .. } => {
                found.open.push(Open { number, release, start });
            }
            // These are faulty and already counted.
            _ => {}
        }
    }
    found.jobs.sort_by_key(|job| (job.release, job.number));
    found
}

#[cfg(test)]
mod tests {
    use taut_event::Kind;
    use taut_time::Instant;

    use super::*;

    #[test]
    fn any_order_gives_the_same_jobs() {
        let record =
            |kind, at, job, value| Record { at: Instant::from_ns(at), kind, cpu: 0, subject: 0, job, value };
        let mut records = vec![
            record(Kind::Release, 10, 0, 0),
            record(Kind::Start, 12, 0, 0),
            record(Kind::Complete, 20, 0, 7),
            record(Kind::Skip, 30, 1, 0),
            record(Kind::Release, 50, 2, 0),
            record(Kind::Start, 51, 2, 0),
            record(Kind::Complete, 5, 3, 1),
            // Job 4 has no record at all.
            record(Kind::Release, 90, 5, 0),
            record(Kind::Complete, 99, 5, 1),
            record(Kind::Release, 100, 6, 0),
            record(Kind::Start, 99, 6, 0),
            record(Kind::Release, 110, 7, 0),
            record(Kind::Start, 119, 7, 0),
            record(Kind::Complete, 118, 7, 1),
            record(Kind::Release, 120, 8, 0),
            record(Kind::Release, 120, 8, 0),
        ];
        for _ in 0..records.len() {
            records.rotate_left(1);
            let found = &join(&records, 1, true, u64::MAX)[0];
            let job = Job { task: 0, number: 0, release: 10, start: 12, complete: 20, cpu: 7, missed: false };
            assert_eq!(found.jobs, [job]);
            assert_eq!((job.response(), job.jitter()), (10, 2));
            let open = Open { number: 2, release: 50, start: Some(51) };
            assert_eq!((found.releases, found.skipped, found.open.as_slice()), (6, 1, &[open][..]));
            assert_eq!((found.faulty, found.newest), (6, Some(8)), "3 to 8");
            // In the middle of a run, the records of jobs 0 to 2 can be all that there are.
            records.push(record(Kind::Start, 3, u64::MAX, 0));
            assert_eq!(
                join(&records, 1, false, u64::MAX)[0].faulty,
                u64::MAX - 2,
                "and as many that nobody has"
            );
            records.pop();
            assert_eq!(join(&records, 1, true, 15)[0].faulty, 8, "0 and 2 go on behind the end");
        }
        assert!(join(&records, 0, true, u64::MAX).is_empty());
    }

    #[test]
    fn a_run_that_begins_in_the_middle() {
        let record =
            |kind, at, job| Record { at: Instant::from_ns(at), kind, cpu: 0, subject: 0, job, value: 0 };
        let records = [
            record(Kind::Complete, 5, 70),
            record(Kind::Release, 10, 71),
            record(Kind::Start, 11, 71),
            record(Kind::Complete, 12, 71),
            record(Kind::Complete, 22, 72),
        ];
        let faulty = |whole| join(&records, 1, whole, u64::MAX)[0].faulty;
        assert_eq!(faulty(false), 1, "72 has no release");
        assert_eq!(faulty(true), 72, "nor have 0 to 70");
        assert_eq!(join(&records, 1, false, u64::MAX)[0].jobs.len(), 1);
        let early = vec![Early { number: 70, start: None, complete: Some(5) }];
        let alone = TaskJobs { early, ..TaskJobs::default() };
        assert_eq!(join(&records[..1], 1, false, u64::MAX)[0], alone);
    }
}
