// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Decides whether a late job is our fault or the machine's.
//!
//! On every real-time core, a platform probe that is more urgent than every task wakes each P = [`PROBE_PERIOD_NS`].
//! If it wakes at w, due at d and so late by l = w − d, its core did not choose to run anything of ours in [d, w].
//! The stall that delayed the probe began u before d. The probe did not see that part, and u < P, as the probe ran in
//! [d − P, d). The rule accepts an unseen part of up to [`UNSEEN_TIMES`] times the seen one: a wake accounts for
//! **[d − min(3 l, P), w]**, so for at most four times its lateness. Overlapping intervals count once.
//!
//! A stall of length X = u + l lies within that interval if u ≤ min(3 l, P), which is u ≤ 3 X / 4. The start of a
//! stall does not depend on the probe, so u is uniformly distributed over [0, P): the interval is too short for a
//! share of **1 − 3 X / (4 P)** of the stalls of length X, and for none of X ≥ 4 P / 3. Below 400 µs the share is
//! larger, as the probe does not record a wake that is late by 100 µs or less: 1 − (X − 100 µs) / P. If the rule
//! accepted every u up to P, as an earlier version did, that would be the share for all lengths, and a wake of 100 µs
//! would account for eleven times its lateness.
//!
//! ```text
//! Symbols  [ns] b start of the busy window: going back from the release, as long as a job at least as urgent as
//!          this one was pending on the core (so jobs queued behind a delayed one inherit its stall)
//!          r release, f completion, R the plan's bound
//!          S length of the stalls' intervals inside [b, f], and of those of other cores while a job of the busy window
//!            at least as urgent as this one waited for them ([`crate::waits`]); overlaps count once
//!          H min(processor time, WCET) of more urgent jobs on the core released in (r + R, f]: work that would
//!            have come after this job, had it not been late
//! Rule     the machine's  ⟺  S > 0, R ≤ D, and f − r − R ≤ S + H;  else ours
//! ```
//!
//! Argument. Let V(t) be the work at least as urgent as the job that is pending at t, V₀(t) the same without stalls
//! and with the same arrivals. The service in [b, t] is short by at most the time stolen since b, so V(r) ≤ V₀(r) +
//! S₁ with S₁ stolen before r. Without stalls the job completes by r + R, whatever arrives: V₀(r) plus the more
//! urgent arrivals of (r, r + R] is at most R. With stalls it completes at the first t at which the service since r
//! covers V(r) and the more urgent arrivals of (r, t]; at t = r + R + A those are at most R + S₁ + H, and the service
//! is R + A − S₂ with S₂ stolen after r. That suffices once A = S₁ + S₂ + H = S + H. Hence the stalls cannot explain
//! a job that is later than S + H beyond its bound, if every other assumption held: some WCET, overhead or blocking
//! was too small, which is our fault.
//!
//! *Other cores.* A job that waits for a job of another core continues when that job does, and so do the jobs queued
//! behind it. Seen backwards from f, at each instant one core kept the job from completing: its own, or during a
//! wait, the core of the job for which it waited, whose window began before the wait. Only a stall of the core in
//! question at that instant delayed it. So the total length of the stalls in those stretches, with each instant
//! counted once, is at least the delay that they added. A stall of a core for which no job waited is no excuse.
//!
//! The rule is strict where it is unsure. It does not count a stall that the probe did not see (between two of its
//! periods, or below its threshold of 100 µs), nor the unseen part of a stall beyond three times the seen one. H
//! counts no more than the WCET of each job, and a bound that the plan did not prove is never the machine's fault.
//! The limit of the rule: an S that is larger than the time really stolen, by at most min(3 l, P) per stall, can hide
//! an overrun of ours of that size.
//!
//! Channels and chains: an excess over a bound is the machine's if stalls on the cores of the tasks on the value's way
//! overlap the time that the value took, and the excess is at most S + one period of each periodic task on that way
//! after the first: a value that comes too late for one activation waits for the next. For a value that came through a
//! queue, the search for stalls goes further back (`backlog`), and the cores of all senders to its receiver
//! count. Where the period exceeds the excess, this rule is coarse; the strict rule above judges each job on the way. The loss of a
//! value in a queue between real-time tasks is the machine's if a stall overlaps the last capacity + 1 periods of its
//! writer, in which its reader must have stood still.

/// The platform probe's period.
pub const PROBE_PERIOD_NS: u64 = taut_plan::PROBE_PERIOD.as_ns();

/// How much longer than the seen part of a stall its unseen part may be.
pub const UNSEEN_TIMES: u64 = 3;

/// The time for which the probe of one core accounts: disjoint intervals, sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stalls {
    intervals: Vec<(u64, u64)>,
}

impl Stalls {
    /// From the probe's records on one core: the instant of each wake and its lateness.
    pub(crate) fn new(mut records: Vec<(u64, u64)>) -> Self {
        for (at, lateness) in &mut records {
            let unseen = lateness.saturating_mul(UNSEEN_TIMES).min(PROBE_PERIOD_NS);
            let reach = lateness.saturating_add(unseen);
            (*at, *lateness) = (at.saturating_sub(reach), *at);
        }
        records.sort_unstable();
        let mut intervals: Vec<(u64, u64)> = Vec::with_capacity(records.len());
        for (from, to) in records {
            match intervals.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => intervals.push((from, to)),
            }
        }
        Self { intervals }
    }

    /// How much of [from, to] the machine may have taken (ns).
    pub(crate) fn stolen(&self, from: u64, to: u64) -> u64 {
        self.inside(from, to).map(|(begin, end)| end - begin).sum()
    }

    /// The longest interval that ended between two instants.
    pub(crate) fn longest_ending_in(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let first = self.intervals.partition_point(|&(_, end)| end < from);
        let ending = self.intervals[first..].iter().copied().take_while(|&(_, end)| end <= to);
        ending.max_by_key(|(begin, end)| end - begin)
    }

    /// The parts of [from, to] that the machine may have taken.
    pub(crate) fn inside(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let first = self.intervals.partition_point(|&(_, end)| end <= from);
        let inside = self.intervals[first..].iter().take_while(move |&&(begin, _)| begin < to);
        inside.map(move |&(begin, end)| (begin.max(from), end.min(to)))
    }
}

/// A job as the rule needs it; an unfinished job ends where the records end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) task: usize,
    pub(crate) number: u64,
    pub(crate) priority: u8,
    pub(crate) release: u64,
    pub(crate) start: u64,
    pub(crate) complete: u64,
    pub(crate) cpu: u64,
    pub(crate) wcet: u64,
}

/// The jobs of one core, in the order of their releases.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoreJobs {
    jobs: Vec<Pending>,
    /// By position, the latest completion of the jobs up to it: it tells a backward search where it may stop.
    latest: Vec<u64>,
}

/// The result of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Machine,
    Ours {
        /// S.
        stolen: u64,
        /// The job of the busy window that exceeded its WCET by most: its task and processor time.
        wcet: Option<(usize, u64)>,
    },
}

impl CoreJobs {
    pub(crate) fn new(mut jobs: Vec<Pending>) -> Self {
        jobs.sort_by_key(|job| job.release);
        let latest = jobs.iter().scan(0, |latest, job| {
            *latest = job.complete.max(*latest);
            Some(*latest)
        });
        let latest = latest.collect();
        Self { jobs, latest }
    }

    /// b: the start of the busy window of a job with this priority and release.
    pub(crate) fn busy_since(&self, priority: u8, release: u64) -> u64 {
        let mut begin = release;
        let before = self.jobs.partition_point(|job| job.release < release);
        for at in (0..before).rev() {
            if self.latest[at] <= begin {
                break;
            }
            let job = &self.jobs[at];
            // The search visits jobs by falling release, so one pass finds the fixed point.
            if job.priority >= priority && job.complete > begin {
                begin = job.release;
            }
        }
        begin
    }

    /// How long the core was free for a job before the job started: from its release or, if that is later, from the
    /// completion of the last job at least as urgent.
    pub(crate) fn stood_free(&self, job: &Pending) -> u64 {
        let others = self.jobs.iter().take_while(|other| other.release <= job.start);
        let urgent = others.filter(|other| other.priority >= job.priority && other.complete <= job.start);
        let since = urgent.map(|other| other.complete).max().unwrap_or(0).max(job.release);
        job.start.saturating_sub(since)
    }

    /// The processor time of complete jobs that started at `from` or later.
    pub(crate) fn within(&self, from: u64) -> u64 {
        let started = self.jobs.iter().filter(|job| job.start >= from);
        started.map(|job| job.cpu).fold(0, u64::saturating_add)
    }

    /// The jobs in the busy window of a late job that are at least as urgent, including the late job.
    pub(crate) fn before(&self, late: &Pending) -> impl Iterator<Item = &Pending> {
        let (begin, late) = (self.busy_since(late.priority, late.release), *late);
        let first = self.jobs.partition_point(|job| job.release < begin);
        let window = self.jobs[first..].iter().take_while(move |job| job.release <= late.complete);
        window.filter(move |job| job.priority >= late.priority)
    }

    /// Applies the rule to a late job with its proven bound; `None` if the plan proves none. `others` are the stalls
    /// of other cores for which the job waited.
    pub(crate) fn judge(
        &self,
        late: &Pending,
        bound: Option<u64>,
        stalls: &Stalls,
        others: &[(u64, u64)],
    ) -> Finding {
        let begin = self.busy_since(late.priority, late.release);
        let own = stalls.inside(begin, late.complete);
        let stolen = length(own.chain(others.iter().copied()).collect());
        let first = self.jobs.partition_point(|job| job.release < begin);
        let window = self.jobs[first..].iter().take_while(|job| job.release <= late.complete);
        if let Some(bound) = bound
            && stolen > 0
        {
            let due = late.release.saturating_add(bound);
            let more_urgent = window.clone().filter(|job| job.priority > late.priority && job.release > due);
            let pushed: u64 = more_urgent.map(|job| job.cpu.min(job.wcet)).sum();
            if late.complete.saturating_sub(due) <= stolen.saturating_add(pushed) {
                return Finding::Machine;
            }
        }
        let guilty = window.filter(|job| job.priority >= late.priority && exceeds(job, stalls));
        let wcet = guilty.max_by_key(|job| job.cpu - job.wcet).map(|job| (job.task, job.cpu));
        Finding::Ours { stolen, wcet }
    }
}

/// The total length of the intervals; overlaps count once.
fn length(mut intervals: Vec<(u64, u64)>) -> u64 {
    intervals.sort_unstable();
    let mut reached = 0;
    let mut sum = 0u64;
    for (from, to) in intervals {
        sum = sum.saturating_add(to.saturating_sub(from.max(reached)));
        reached = reached.max(to);
    }
    sum
}

/// Whether a job used more than its WCET, beyond the time that a stall during its execution may have added: on a
/// virtual machine the guest charges stolen time to the running thread.
pub(crate) fn exceeds(job: &Pending, stalls: &Stalls) -> bool {
    job.cpu > job.wcet && job.cpu - job.wcet > stalls.stolen(job.start, job.complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: u64 = PROBE_PERIOD_NS;

    fn job(task: usize, priority: u8, release: u64, complete: u64, cpu: u64) -> Pending {
        Pending { task, number: 0, priority, release, start: release, complete, cpu, wcet: 300_000 }
    }

    #[test]
    fn overlapping_stalls_count_once() {
        // A probe that catches up reports one stall of 3 ms three times.
        let stalls = Stalls::new(vec![(10 * P, 3 * P), (10 * P + 1, 2 * P), (10 * P + 2, P)]);
        assert_eq!(stalls.stolen(0, 100 * P), 4 * P + 2);
        assert_eq!(stalls.stolen(0, 6 * P), 0);
        assert_eq!(stalls.stolen(7 * P, 8 * P), P);
        assert_eq!(stalls.stolen(10 * P + 2, 11 * P), 0);
        assert_eq!(Stalls::default().stolen(0, u64::MAX), 0);
    }

    #[test]
    fn a_wake_accounts_for_four_times_its_lateness_at_most() {
        for (late, accounted) in [
            (100_001, 400_004),
            (P / 4, P),
            (333_333, 4 * 333_333),
            (333_334, 333_334 + P),
            (P, 2 * P),
            (9 * P, 10 * P),
            (u64::MAX, 50 * P),
        ] {
            assert_eq!(Stalls::new(vec![(50 * P, late)]).stolen(0, 100 * P), accounted, "{late}");
        }
    }

    /// The probe's records of a stall; the probe is due each period from 0 on.
    fn seen(from: u64, to: u64) -> Vec<(u64, u64)> {
        let due = from.div_ceil(P) * P;
        let late = to.saturating_sub(due);
        if late > 100_000 { vec![(to, late)] } else { Vec::new() }
    }

    /// Compares stalls of known place and length with the time accounted for.
    #[test]
    fn drawn_stalls_are_accounted_for_as_often_as_stated() {
        const DRAWN: u64 = 20_000;
        let mut state = 7u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 16) % below
        };
        for length in (1..=30).map(|tenths| tenths * 100_000) {
            let mut short = 0;
            for _ in 0..DRAWN {
                let from = 20 * P + draw(P);
                let to = from + length;
                let records = seen(from, to);
                let late = records.first().map_or(0, |&(_, late)| late);
                let stalls = Stalls::new(records);
                let all = stalls.stolen(0, 100 * P);
                assert!(all <= 4 * late, "{length} at {from}: {all} of {late}");
                let more = all.saturating_sub(stalls.stolen(from, to));
                assert!(more <= (3 * late).min(P), "{length} at {from}: {more} more than it was");
                short += u64::from(stalls.stolen(from, to) < length);
            }
            let shared = if length < 400_000 { length - 100_000 } else { length * 3 / 4 };
            let stated = P.saturating_sub(shared) * DRAWN / P;
            // Three standard deviations, which are largest for a share of one half.
            assert!(short.abs_diff(stated) <= 213, "{length}: {short} of {DRAWN} fall short, not {stated}");
            assert!(stated > 0 || short == 0, "{length}: {short} of {DRAWN}");
        }
    }

    #[test]
    fn a_stall_explains_no_more_than_itself() {
        let stalls = Stalls::new(vec![(12 * P, 2 * P)]);
        let bound = Some(P);
        // Released at 9.5 P: the interval [9 P, 12 P] contributes 2.5 P to the window.
        for (complete, machine) in [(13 * P, true), (13 * P + 1, false)] {
            let late = job(0, 5, 9 * P + P / 2, complete, 100);
            let found = CoreJobs::new(vec![late]).judge(&late, bound, &stalls, &[]);
            assert_eq!(found == Finding::Machine, machine, "{complete} {found:?}");
        }
        let late = job(0, 5, 9 * P + P / 2, 13 * P, 100);
        let ours = Finding::Ours { stolen: 5 * P / 2, wcet: None };
        assert_eq!(CoreJobs::new(vec![late]).judge(&late, None, &stalls, &[]), ours, "not proven");
        let none = Finding::Ours { stolen: 0, wcet: None };
        assert_eq!(CoreJobs::new(vec![late]).judge(&late, bound, &Stalls::default(), &[]), none);
    }

    #[test]
    fn stalls_of_cores_that_it_waited_for_count_once() {
        let late = job(0, 5, 10 * P, 15 * P, 100);
        let cores = CoreJobs::new(vec![late]);
        let own = Stalls::new(vec![(13 * P, P)]);
        let judge = |others: &[(u64, u64)]| cores.judge(&late, Some(P), &own, others);
        let ours = |stolen| Finding::Ours { stolen, wcet: None };
        assert_eq!(judge(&[]), ours(2 * P));
        assert_eq!(judge(&[(11 * P, 13 * P)]), ours(2 * P), "at the same instants");
        assert_eq!(judge(&[(9 * P, 11 * P - 1), (9 * P, 10 * P)]), ours(4 * P - 1));
        assert_eq!(judge(&[(9 * P, 11 * P)]), Finding::Machine);
    }

    #[test]
    fn jobs_queued_behind_a_delayed_one_inherit_its_stall() {
        let stalls = Stalls::new(vec![(12 * P, P)]);
        let delayed = job(1, 6, 11 * P, 13 * P, 100);
        let late = job(0, 5, 12 * P + P / 2, 14 * P, 100);
        let judge = |others: Vec<Pending>| CoreJobs::new(others).judge(&late, Some(P), &stalls, &[]);
        assert_eq!(judge(vec![delayed, late]), Finding::Machine);
        let none = Finding::Ours { stolen: 0, wcet: None };
        assert_eq!(judge(vec![late]), none, "no busy window joins it to the stall");
        assert_eq!(judge(vec![Pending { priority: 4, ..delayed }, late]), none, "less urgent work does not");
        assert_eq!(judge(vec![Pending { complete: 12 * P + P / 2, ..delayed }, late]), none, "done before");
    }

    #[test]
    fn more_urgent_work_that_came_in_the_delay_counts_up_to_its_wcet() {
        let stalls = Stalls::new(vec![(12 * P, P)]);
        let late = job(0, 5, 10 * P, 13 * P + 200_000, 100);
        let urgent = |cpu| job(1, 9, 12 * P, 12 * P + 400_000, cpu);
        let judge = |urgent| CoreJobs::new(vec![late, urgent]).judge(&late, Some(P), &stalls, &[]);
        assert_eq!(judge(urgent(200_000)), Finding::Machine);
        assert!(matches!(judge(urgent(199_999)), Finding::Ours { .. }));
        let far = job(0, 5, 10 * P, 13 * P + 300_001, 100);
        let found = CoreJobs::new(vec![far, urgent(900_000)]).judge(&far, Some(P), &stalls, &[]);
        assert!(matches!(found, Finding::Ours { .. }), "no more than the WCET");
    }

    #[test]
    fn a_core_that_stood_free_is_seen() {
        let late = Pending { start: 15 * P, ..job(0, 5, 10 * P, 16 * P, 100) };
        let free = |others: &[Pending]| CoreJobs::new([others, &[late]].concat()).stood_free(&late);
        assert_eq!(free(&[]), 5 * P);
        assert_eq!(free(&[job(1, 9, 11 * P, 12 * P, 100)]), 3 * P);
        assert_eq!(free(&[job(1, 4, 11 * P, 12 * P, 100)]), 5 * P, "less urgent work does not keep it");
        assert_eq!(free(&[job(1, 9, 8 * P, 9 * P, 100)]), 5 * P, "done before the release");
    }

    #[test]
    fn the_wcet_that_was_too_small_is_named() {
        let guilty = job(7, 9, 10 * P, 11 * P, 900_000);
        let late = job(0, 5, 10 * P + 1, 12 * P, 100);
        let cores = CoreJobs::new(vec![guilty, late]);
        let found = cores.judge(&late, Some(P), &Stalls::default(), &[]);
        assert_eq!(found, Finding::Ours { stolen: 0, wcet: Some((7, 900_000)) });
        // A stall during its execution explains the excess.
        assert!(exceeds(&guilty, &Stalls::default()));
        assert!(!exceeds(&guilty, &Stalls::new(vec![(10 * P + 600_000, 150_000)])));
        assert!(exceeds(&guilty, &Stalls::new(vec![(10 * P + 600_000, 149_999)])));
    }
}
