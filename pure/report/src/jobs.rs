// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Records, grouped by thread and not sorted overall, joined into jobs.

use std::collections::BTreeMap;

use taut_event::{Kind, Record};

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

/// What the records say about one task's jobs.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskJobs {
    /// By release.
    pub(crate) jobs: Vec<Job>,
    /// Released, not skipped, and not complete when the records end: number and release.
    pub(crate) open: Vec<(u64, u64)>,
    pub(crate) releases: u64,
    pub(crate) skipped: u64,
}

#[derive(Default)]
struct Parts {
    release: Option<u64>,
    start: Option<u64>,
    complete: Option<(u64, u64)>,
    skips: u64,
    missed: bool,
}

/// One entry per task of the plan; records of tasks that the plan does not have are left out.
pub(crate) fn join(records: &[Record], tasks: usize) -> Vec<TaskJobs> {
    let mut parts: Vec<BTreeMap<u64, Parts>> = (0..tasks).map(|_| BTreeMap::new()).collect();
    for record in records {
        let Some(jobs) = parts.get_mut(usize::from(record.subject)) else { continue };
        let at = record.at.as_ns();
        match record.kind {
            Kind::Release => jobs.entry(record.job).or_default().release = Some(at),
            Kind::Start => jobs.entry(record.job).or_default().start = Some(at),
            Kind::Complete => jobs.entry(record.job).or_default().complete = Some((at, record.value)),
            Kind::Skip => jobs.entry(record.job).or_default().skips += 1,
            Kind::Miss => jobs.entry(record.job).or_default().missed = true,
            _ => {}
        }
    }
    parts.into_iter().enumerate().map(|(task, parts)| of_task(task, parts)).collect()
}

fn of_task(task: usize, parts: BTreeMap<u64, Parts>) -> TaskJobs {
    let mut found = TaskJobs::default();
    for (number, part) in parts {
        found.skipped += part.skips;
        if part.skips > 0 && part.start.is_none() {
            continue;
        }
        found.releases += u64::from(part.release.is_some());
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
            Parts { release: Some(release), complete: None, .. } => found.open.push((number, release)),
            // Its other records were lost; the loss is told by itself.
            _ => {}
        }
    }
    found.jobs.sort_by_key(|job| (job.release, job.number));
    found
}

#[cfg(test)]
mod tests {
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
        ];
        for _ in 0..records.len() {
            records.rotate_left(1);
            let found = &join(&records, 1)[0];
            let job = Job { task: 0, number: 0, release: 10, start: 12, complete: 20, cpu: 7, missed: false };
            assert_eq!(found.jobs, [job]);
            assert_eq!((job.response(), job.jitter()), (10, 2));
            assert_eq!((found.releases, found.skipped, found.open.as_slice()), (2, 1, &[(2, 50)][..]));
        }
        assert!(join(&records, 0).is_empty());
    }
}
