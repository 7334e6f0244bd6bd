// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which job ran on a core, derived from starts and completions.
//!
//! Preemption is not recorded: under fixed priorities, the most urgent of a core's jobs that started and are not
//! complete runs. Anything else that ran meanwhile (the kernel, the probe) is not visible.

use crate::jobs::Job;

/// A stretch in which one job ran. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// Position in the caller's list of jobs.
    pub(crate) job: usize,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Whether the job completed at the end of the stretch; otherwise it was preempted.
    pub(crate) completes: bool,
}

/// The stretches of one core, by time, none empty; each job comes with its priority. Of jobs with the same priority
/// the one that started first runs.
pub(crate) fn slices(jobs: &[(Job, u8)]) -> Vec<Slice> {
    let mut starts: Vec<usize> =
        (0..jobs.len()).filter(|&at| jobs[at].0.start < jobs[at].0.complete).collect();
    starts.sort_by_key(|&at| jobs[at].0.start);
    let mut slices = Vec::with_capacity(jobs.len() + jobs.len() / 4);
    let mut active: Vec<usize> = Vec::new();
    let mut starts = starts.into_iter().peekable();
    let mut now = 0;
    loop {
        let next_start = starts.peek().map(|&at| jobs[at].0.start);
        // The most urgent one; of equals the first started, since `max_by_key` takes the last of the reversed order.
        let running = active.iter().rev().max_by_key(|&&at| jobs[at].1).copied();
        let Some(running) = running else {
            let Some(at) = starts.next() else { return slices };
            now = jobs[at].0.start;
            active.push(at);
            continue;
        };
        let end = jobs[running].0.complete.max(now);
        let (to, completes) = match next_start {
            Some(start) if start < end => (start, false),
            _ => (end, true),
        };
        if to > now {
            match slices.last_mut() {
                Some(Slice { job, to: until, completes: last, .. }) if *job == running && *until == now => {
                    (*until, *last) = (to, completes);
                }
                _ => slices.push(Slice { job: running, from: now, to, completes }),
            }
        }
        now = to;
        if completes {
            active.retain(|&at| at != running && jobs[at].0.complete > now);
        } else if let Some(at) = starts.next() {
            active.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(number: u64, start: u64, complete: u64) -> Job {
        Job { task: 0, number, release: start, start, complete, cpu: 0, missed: false }
    }

    fn slice(job: usize, from: u64, to: u64, completes: bool) -> Slice {
        Slice { job, from, to, completes }
    }

    #[test]
    fn the_most_urgent_started_job_runs() {
        let jobs = [(job(0, 10, 50), 1), (job(1, 20, 30), 5), (job(2, 60, 70), 1), (job(3, 25, 28), 9)];
        let expected = [
            slice(0, 10, 20, false),
            slice(1, 20, 25, false),
            slice(3, 25, 28, true),
            slice(1, 28, 30, true),
            slice(0, 30, 50, true),
            slice(2, 60, 70, true),
        ];
        assert_eq!(slices(&jobs), expected);
        assert_eq!(slices(&[]), []);
    }

    #[test]
    fn a_less_urgent_start_interrupts_nothing() {
        let jobs = [(job(0, 10, 50), 5), (job(1, 20, 60), 1)];
        assert_eq!(slices(&jobs), [slice(0, 10, 50, true), slice(1, 50, 60, true)]);
    }

    #[test]
    fn equal_priorities_run_in_order() {
        let jobs = [(job(0, 10, 50), 5), (job(1, 20, 60), 5)];
        assert_eq!(slices(&jobs), [slice(0, 10, 50, true), slice(1, 50, 60, true)]);
    }
}
