// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A task on a native core has a thread of its own, which Linux schedules. The thread sleeps until each
//! release, and takes the steps of a job's life that a dispatcher takes elsewhere: see [`crate::lifecycle`].

use taut_event::Counter;
use taut_exec::Remedy;
use taut_lock::{Epoch, Listener, Woken};
use taut_sys::account::Account;
use taut_sys::futex::{self, WORDS_MAX};
use taut_sys::interrupt::ThreadSlot;
use taut_sys::usage::{Usage, thread_usage};
use taut_sys::{clock, interrupt};

use crate::flow::NotBegun;
use crate::guard::heap_uses;
use crate::job::{Failure, Job, JobDriver};
use crate::lifecycle::{JobCode, JobContext, Released};

/// How long a thread that waits for several event counts sleeps between two looks, on a system that has no
/// call to wait for all of them.
const LOOK_NS: u64 = 1_000_000;

/// The thread of a native task, from release 0 to the last job.
pub(crate) struct TaskThread<'s> {
    pub(crate) context: JobContext<'s>,
    /// Where the thread publishes the job that it runs.
    thread_slot: ThreadSlot,
    /// Processor time that the thread has used.
    account: Account,
    origin_ns: u64,
    /// The number of the next release.
    number: u64,
    /// How often the thread gave up its core on purpose.
    waits: u64,
}

impl<'s> TaskThread<'s> {
    /// Makes the calling thread the thread of a task, for all its jobs; release 0 is at `origin_ns`. `account` is the
    /// thread's own.
    pub(crate) fn new(
        mut context: JobContext<'s>,
        thread_slot: ThreadSlot,
        account: Account,
        origin_ns: u64,
    ) -> Self {
        context.set_next_release(origin_ns.saturating_add(context.timing.offset_ns));
        Self { context, thread_slot, account, origin_ns, number: 0, waits: 0 }
    }

    /// Calls `run_jobs`, then records the counts of the thread.
    pub(crate) fn count(&mut self, run_jobs: impl FnOnce(&mut Self)) {
        let before = Counts::now();
        run_jobs(self);
        let after = Counts::now();
        let waits = self.waits + self.context.waits();
        self.context.record_counts(after.since(&before, waits));
    }

    /// Takes one job of the task, released at `release_ns`, through its whole life. `false` if the application stops, or
    /// the component has failed for good.
    #[inline]
    pub(crate) fn run_job(
        &mut self,
        release_ns: u64,
        which: JobCode,
        code: impl FnOnce(&mut Job<'_>) -> Result<(), Failure>,
    ) -> bool {
        if !self.activate(release_ns) {
            return false;
        }
        let job = Released { number: self.number, at_ns: release_ns };
        self.number += 1;
        self.context.note_release(release_ns);
        let end_ns = self.execute(job, which, code);
        if self.context.is_over() {
            self.context.retire();
            return false;
        }
        match self.context.overrun(job.number, end_ns) {
            None => true,
            Some(remedy) => self.apply(remedy, end_ns),
        }
    }

    /// Runs a job's code from its start to its completion. Returns the instant of its completion.
    #[inline]
    fn execute(
        &mut self,
        job: Released,
        which: JobCode,
        code: impl FnOnce(&mut Job<'_>) -> Result<(), Failure>,
    ) -> u64 {
        let Self { context, thread_slot, account, .. } = self;
        thread_slot.begin(context.timing.task, job.number, context.timing.limit_ns(job.at_ns));
        let start_ns = clock::monotonic_ns();
        context.record_start(job, start_ns);
        let cpu_before_ns = account.look(start_ns);
        let result = context.execute(job, JobDriver::Thread, cpu_before_ns, which, code);
        let end_ns = clock::monotonic_ns();
        let cpu_ns = account.look(end_ns).saturating_sub(cpu_before_ns);
        thread_slot.end();
        context.record_completion(job, result, cpu_ns, end_ns);
        end_ns
    }

    /// Applies the remedy of the policy to a job that ended at `end_ns`, after its task's next release. `false` if the
    /// application stops.
    fn apply(&mut self, remedy: Remedy, end_ns: u64) -> bool {
        match remedy {
            Remedy::Drop => {
                while self.context.next_ns() <= end_ns
                    && !self.context.control.is_past(self.context.next_ns())
                {
                    if !self.skip() {
                        return false;
                    }
                }
                true
            }
            Remedy::Stop => {
                self.context.control.overran(self.context.timing.task);
                false
            }
            // The next job starts at once. The last two exist on dispatched cores only.
            Remedy::Report | Remedy::Wait | Remedy::End | Remedy::Demote => true,
        }
    }

    /// Skips the release that is due: activates and completes a job that does nothing, in its place. `false` if the
    /// application stops first.
    pub(crate) fn skip(&mut self) -> bool {
        let due_ns = self.context.next_ns();
        self.context.skip(self.number);
        self.number += 1;
        let activated = self.activate(due_ns);
        if activated {
            self.context.complete_flows();
        }
        activated
    }

    /// Sleeps until an instant; `false` if the application stops first.
    pub(crate) fn sleep_until(&mut self, due_ns: u64) -> bool {
        let control = self.context.control;
        if control.is_past(due_ns) {
            return false;
        }
        while !control.stopping() {
            if clock::monotonic_ns() >= due_ns {
                return true;
            }
            self.waits += 1;
            let mut woken = false;
            self.account.idle(|| {
                woken = interrupt::sleep_until(due_ns);
                1
            });
            if woken {
                return !control.stopping();
            }
        }
        false
    }

    /// Sleeps until an event count has passed its epoch.
    pub(crate) fn wait_for(&mut self, listener: &Listener<'_>, epoch: Epoch) {
        self.account.idle(|| {
            let waits = u32::from(listener.wait(epoch, None) != Woken::Notified);
            self.waits += u64::from(waits);
            waits
        });
    }

    /// Sleeps until one of at most [`WORDS_MAX`] event counts has passed its epoch, or until an instant; returns at once if
    /// there is no event count.
    pub(crate) fn wait_for_any<'l>(
        &mut self,
        listeners: impl IntoIterator<Item = (&'l Listener<'l>, Epoch)>,
        until_ns: Option<u64>,
    ) {
        self.account.idle(|| {
            let waits = wait_for_any(listeners.into_iter(), until_ns);
            self.waits += u64::from(waits);
            waits
        });
    }

    /// Sleeps in a call that returns whether it ended as wanted; returns the same.
    pub(crate) fn wait_by(&mut self, sleep: impl FnOnce() -> bool) -> bool {
        let mut ended = false;
        self.account.idle(|| {
            self.waits += 1;
            ended = sleep();
            1
        });
        ended
    }

    /// Activates the job that is released at an instant, and waits until the values that it reads exist;
    /// `false` if the application stops first.
    #[inline]
    fn activate(&mut self, release_ns: u64) -> bool {
        let at_ns = release_ns.saturating_sub(self.origin_ns);
        match self.context.activate(at_ns) {
            Ok(()) => true,
            Err(not_begun) => self.wait_to_activate(at_ns, not_begun),
        }
    }

    /// The part of [`TaskThread::activate`] that waits for the jobs in the way, of which `not_begun` is the first.
    fn wait_to_activate(&mut self, at_ns: u64, mut not_begun: NotBegun) -> bool {
        // The task to wait for, and its epoch before the last attempt.
        let mut behind = None;
        loop {
            let task = match not_begun {
                // A panic inside a flow stops the application; to try again would occupy the core until then.
                NotBegun::Refused => return false,
                NotBegun::Behind(task) => task,
            };
            if self.context.control.stopping() {
                return false;
            }
            // A task that is in the way has a listener. Without flows no task is in the way.
            let Some(listener) = self.context.listener(task) else { return true };
            match behind.take() {
                Some((other, epoch)) if other == task => self.wait_for(&listener, epoch),
                // The epoch is read before the next attempt, so that no notification is missed.
                _ => behind = Some((task, listener.epoch())),
            }
            match self.context.activate(at_ns) {
                Ok(()) => return true,
                Err(next) => not_begun = next,
            }
        }
    }
}

/// Sleeps until one of the event counts has passed its epoch, or until an instant. Returns how often the thread gave up its
/// core for it.
fn wait_for_any<'l>(
    mut listeners: impl Iterator<Item = (&'l Listener<'l>, Epoch)>,
    until_ns: Option<u64>,
) -> u32 {
    let awaited = |(listener, epoch): (&'l Listener<'l>, Epoch)| listener.awaited(epoch);
    let Some(first) = listeners.next().and_then(awaited) else { return 0 };
    let mut words = [first; WORDS_MAX];
    let mut count = 1;
    for (word, listener) in words.iter_mut().skip(1).zip(listeners) {
        let Some(awaited) = awaited(listener) else { return 0 };
        (*word, count) = (awaited, count + 1);
    }
    match futex::wait_any(&words[..count], until_ns) {
        Ok(futex::Waited::Changed) => 0,
        Ok(_) => 1,
        // Before Linux 5.16 no call waits for several words: sleep briefly, so that the caller looks at all.
        Err(_) => {
            let look_ns = clock::monotonic_ns().saturating_add(LOOK_NS);
            clock::sleep_until(until_ns.map_or(look_ns, |until_ns| until_ns.min(look_ns)));
            1
        }
    }
}

/// The counts of a thread.
struct Counts {
    heap: Option<u64>,
    usage: Usage,
}

impl Counts {
    fn now() -> Self {
        Self { heap: heap_uses(), usage: thread_usage() }
    }

    fn since(&self, before: &Self, waits: u64) -> impl Iterator<Item = (Counter, u64)> {
        let (now, then) = (&self.usage, &before.usage);
        let heap = self.heap.zip(before.heap).map(|(now, then)| (Counter::HeapUse, now - then));
        let voluntary = now.voluntary_switches - then.voluntary_switches;
        heap.into_iter().chain([
            (Counter::MinorFaults, now.minor_faults - then.minor_faults),
            (Counter::MajorFaults, now.major_faults - then.major_faults),
            (Counter::Blocked, voluntary.saturating_sub(waits)),
            (Counter::Preempted, now.involuntary_switches - then.involuntary_switches),
        ])
    }
}

#[cfg(test)]
mod tests {
    use taut_event::{Kind, Record};
    use taut_plan::{HeapPolicy, Input, Overrun, Plan, digest};
    use taut_scope::Scope;
    use taut_sys::switched::SwitchMark;
    use taut_trace::{RingOwner, ring};

    use super::*;
    use crate::control::{Control, Reason};
    use crate::job::EventRecorder;
    use crate::lifecycle::Timing;

    const PERIOD_NS: u64 = 10_000_000_000;
    const TASK: u16 = 0;

    const MANIFEST: &str = r#"
manifest = 1
[app]
name = "late"
[platform]
cores = [0]
memory = "8MiB"
[tasks.late]
arrival = { periodic = "10s" }
deadline = "10s"
wcet = { value = "100us", source = "guess" }
"#;

    fn plan() -> Plan {
        let source = taut_manifest::SourceText { name: "taut.toml".to_owned(), text: MANIFEST.to_owned() };
        let model = taut_manifest::load(&source, &[]).model.expect("a valid manifest");
        let input = Input { path: "taut.toml".to_owned(), hash: digest(MANIFEST.as_bytes()) };
        taut_planner::Planned::make(&model, vec![input]).plan
    }

    /// What a job that fails, and completes three and a half periods after its release, records: the kinds, each with
    /// its job; whether the application goes on; and the number of the next release, in periods since release 0.
    fn late(on_overrun: Overrun, trigger: Option<&str>, control: &Control) -> (Vec<(Kind, u64)>, bool, u64) {
        let (recorder, mut drain) = ring(RingOwner::Task(TASK), 64);
        let timing = Timing {
            task: TASK,
            service: None,
            period_ns: PERIOD_NS,
            offset_ns: 0,
            deadline_ns: PERIOD_NS,
            on_overrun,
            heap: HeapPolicy::Deny,
            triggers: trigger.into_iter().map(str::to_owned).collect(),
            device: None,
            clock: None,
            by_client: false,
        };
        let context =
            JobContext::new(Scope::new(&mut []), EventRecorder::new(recorder, TASK), control, timing, None);
        let origin_ns = clock::monotonic_ns() - 7 * PERIOD_NS / 2;
        let mut thread =
            TaskThread::new(context, ThreadSlot::none(), Account::new(SwitchMark::none()), origin_ns);
        let goes_on = thread.run_job(origin_ns, JobCode::Task, |job| {
            assert_eq!((job.number(), job.release().as_ns()), (0, origin_ns));
            Err(Failure::Code(7))
        });
        let next = (thread.context.next_ns() - origin_ns) / PERIOD_NS;
        assert!(trigger.is_some() || !goes_on || thread.number == next, "skipped releases are numbered");
        let mut records: Vec<Record> = Vec::new();
        drain.drain(|record| records.push(record));
        assert!(records.iter().all(|record| record.subject == TASK));
        (records.iter().map(|record| (record.kind, record.job)).collect(), goes_on, next)
    }

    const LIFE: [(Kind, u64); 5] =
        [(Kind::Release, 0), (Kind::Start, 0), (Kind::Complete, 0), (Kind::Failed, 0), (Kind::Miss, 0)];

    #[test]
    #[cfg_attr(miri, ignore = "reads the processor time of a thread")]
    fn an_overrun_is_recorded_once_and_remedied() {
        let plan = plan();
        let with = |more: &[(Kind, u64)]| [&LIFE[..], more].concat();
        let overrun = (Kind::Overrun, 0);
        let skips = |numbers: std::ops::RangeInclusive<u64>| numbers.map(|number| (Kind::Skip, number));
        let dropped = |last| std::iter::once(overrun).chain(skips(1..=last)).collect::<Vec<_>>();
        for (on_overrun, expected, next) in
            [(Overrun::RunOn, vec![overrun], 1), (Overrun::SkipNext, dropped(3), 4)]
        {
            let control = Control::new(&plan);
            assert_eq!(late(on_overrun, None, &control), (with(&expected), true, next), "{on_overrun:?}");
            assert_eq!(control.reason(), None);
        }
        let control = Control::new(&plan);
        assert_eq!(late(Overrun::StopApp, None, &control), (with(&[overrun]), false, 1));
        assert_eq!(control.reason(), Some(Reason::Overrun(TASK.into())));
        // A release after the end cannot be skipped: it does not take place.
        let control = Control::new(&plan);
        control.end_at(clock::monotonic_ns() - PERIOD_NS);
        assert_eq!(late(Overrun::SkipNext, None, &control), (with(&dropped(2)), true, 3));
    }

    /// A task that a channel releases has no next release at a known instant; `stop-app` alone does not wait for it.
    #[test]
    #[cfg_attr(miri, ignore = "reads the processor time of a thread")]
    fn a_receiver_overruns_only_if_that_stops_the_application() {
        let plan = plan();
        for on_overrun in [Overrun::RunOn, Overrun::SkipNext] {
            let control = Control::new(&plan);
            assert_eq!(late(on_overrun, Some("values"), &control), (LIFE.to_vec(), true, 1));
        }
        let control = Control::new(&plan);
        let (recorded, goes_on, _) = late(Overrun::StopApp, Some("values"), &control);
        assert_eq!((recorded.last(), goes_on), (Some(&(Kind::Overrun, 0)), false));
        assert_eq!(control.reason(), Some(Reason::Overrun(TASK.into())));
    }
}
