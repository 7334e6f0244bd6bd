// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the records of a run say about each task, channel, chain and core. Here the report takes in every event: one
//! that is not joined into jobs ([`crate::jobs`]) or decisions ([`crate::decisions`]) is filed under its subject.
//! Subjects that the plan does not have are left out.

use std::collections::BTreeMap;

use taut_event::{
    Counter, Event, GridPhase, Interference, ObservedPlacement, Record, SafeStateOutcome, Stood,
};
use taut_plan::{ClassPlan, FailureRemedy, Plan};

/// `State::Running` of `taut_run`, as recorded.
pub(crate) const RUNNING: u64 = 1;
/// `State::Paused`.
pub(crate) const PAUSED: u64 = 2;
/// `State::Stopped`.
pub(crate) const STOPPED: u64 = 3;
/// The task was reset, because its service restarted.
pub(crate) const RESTARTED: u64 = 4;

/// All observations of a run. Instants and times in ns; lists in the order of the records, which are sorted by thread,
/// not overall.
#[derive(Debug, Default)]
pub(crate) struct Observations {
    pub(crate) tasks: Vec<OfTask>,
    pub(crate) channels: Vec<OfChannel>,
    /// By chain, its outputs: the instant, and the age of the data.
    pub(crate) chains: Vec<Vec<(u64, u64)>>,
    pub(crate) cores: Vec<OfCore>,
    pub(crate) services: Vec<StateChange>,
    pub(crate) modes: Vec<ModeStep>,
    pub(crate) followed: Vec<FollowedStep>,
    pub(crate) values: Vec<ValueEnd>,
    /// Core, instant at which the probe woke, its lateness.
    pub(crate) stalls: Vec<(u16, u64, u64)>,
    pub(crate) interference: Vec<(u64, Interference)>,
    /// Jobs that ran when the application was ended without waiting for them.
    pub(crate) stood: Vec<Stood>,
    pub(crate) rests: Vec<AtRest>,
    /// The messages and the bytes of the file of recorded values.
    pub(crate) values_file: Option<(u64, u64)>,
    /// Records that are missing from that file.
    pub(crate) values_lost: u64,
    /// Records of jobs of tasks that the plan does not have.
    pub(crate) strange: u64,
}

/// What is recorded of a task.
#[derive(Debug, Default)]
pub(crate) struct OfTask {
    pub(crate) releases: Vec<u64>,
    pub(crate) overruns: u64,
    pub(crate) exhausted: u64,
    /// The due instants of releases that were dropped because the backlog was full.
    pub(crate) beyond_backlog: Vec<u64>,
    /// By code.
    pub(crate) failed: BTreeMap<u64, u64>,
    pub(crate) panics: Vec<JobPanic>,
    /// The instants of jobs that used the heap against the manifest.
    pub(crate) heap_used: Vec<u64>,
    pub(crate) scope_exceeded: u64,
    pub(crate) counts: Vec<(Counter, u64)>,
    pub(crate) lost: u64,
    pub(crate) slept: Vec<Sleep>,
    /// The first placement in which the runtime found its thread instead of its own.
    pub(crate) moved: Option<Moved>,
    /// The first instant at which one of its jobs recorded another CPU than the plan's.
    pub(crate) elsewhere: Option<u64>,
}

/// What a release had to do with the clock of a device that its task follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FollowedStep {
    pub(crate) at: u64,
    pub(crate) task: u16,
    /// In ns.
    pub(crate) error: u64,
    pub(crate) phase: GridPhase,
    pub(crate) has_broken: bool,
}

/// A panic of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobPanic {
    /// The instant.
    pub(crate) at: u64,
    /// The job.
    pub(crate) job: u64,
    /// The remedy; none if this version does not know it.
    pub(crate) remedy: Option<FailureRemedy>,
}

impl JobPanic {
    /// Whether the task had no further job.
    pub(crate) fn ends_task(&self) -> bool {
        self.remedy != Some(FailureRemedy::Restart)
    }
}

/// Sleeps in a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sleep {
    pub(crate) at: u64,
    pub(crate) job: u64,
    pub(crate) times: u64,
}

/// A placement in which the runtime found a thread, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub(crate) at: u64,
    pub(crate) placement: ObservedPlacement,
}

/// What is recorded of a channel.
#[derive(Debug, Default)]
pub(crate) struct OfChannel {
    pub(crate) sent: u64,
    /// The instants at which values were received, and how long each had waited.
    pub(crate) received: Vec<(u64, u64)>,
    /// The instants at which values were lost, and how many.
    pub(crate) dropped: Vec<(u64, u64)>,
    /// Values that its end refused, because the job had sent as many as it may.
    pub(crate) too_many: u64,
    /// By task: what is recorded of each reader of a broadcast. `received` has all of it, too.
    pub(crate) by_reader: BTreeMap<u16, OfReader>,
}

/// What is recorded of a reader of a broadcast.
#[derive(Debug, Default)]
pub(crate) struct OfReader {
    /// The instants at which it received values, and how long each had waited.
    pub(crate) received: Vec<(u64, u64)>,
    /// The instants at which it learned that it had lost values, and how many.
    pub(crate) lost: Vec<(u64, u64)>,
}

/// What is recorded of a core.
#[derive(Debug, Default)]
pub(crate) struct OfCore {
    pub(crate) lost: u64,
    pub(crate) counts: Vec<(Counter, u64)>,
    pub(crate) probe_moved: Option<Moved>,
    /// The main thread, which was kept off this core.
    pub(crate) main_moved: Option<Moved>,
    /// By worker thread; 0 is the dispatcher.
    pub(crate) workers_moved: BTreeMap<u64, Moved>,
}

/// A service's change to another state, which a task followed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateChange {
    pub(crate) at: u64,
    pub(crate) service: u16,
    pub(crate) task: u16,
    pub(crate) state: u64,
}

/// A task has followed a change of mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModeStep {
    pub(crate) at: u64,
    pub(crate) task: u16,
    pub(crate) from: u16,
    pub(crate) to: u16,
    /// Time since the application asked for the change.
    pub(crate) since: u64,
}

/// A value at one end of its channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueEnd {
    pub(crate) at: u64,
    pub(crate) channel: u16,
    pub(crate) sequence: u64,
    pub(crate) sent: bool,
    /// The task that received it, if the channel has several readers.
    pub(crate) reader: Option<u16>,
}

/// What became of the outputs' safe state; no result if this version does not know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtRest {
    pub(crate) result: Option<SafeStateOutcome>,
    pub(crate) took_ns: u64,
    pub(crate) heap_use: Option<u16>,
}

impl OfTask {
    /// The value of a count; `None` if it was not taken.
    pub(crate) fn count(&self, of: Counter) -> Option<u64> {
        sum(&self.counts, of)
    }
}

impl OfCore {
    fn worker_moved(&mut self, worker: u64, moved: Moved) {
        self.workers_moved.entry(worker).or_insert(moved);
    }

    fn moved(&mut self, is_main: bool) -> &mut Option<Moved> {
        if is_main { &mut self.main_moved } else { &mut self.probe_moved }
    }

    /// The value of a count; `None` if it was not taken.
    pub(crate) fn count(&self, of: Counter) -> Option<u64> {
        sum(&self.counts, of)
    }
}

/// A count that was not taken is not zero.
fn sum(counts: &[(Counter, u64)], of: Counter) -> Option<u64> {
    counts.iter().filter(|(count, _)| *count == of).map(|(_, times)| *times).reduce(u64::saturating_add)
}

impl Observations {
    pub(crate) fn of(plan: &Plan, records: &[Record]) -> Self {
        let mut all = Self {
            tasks: plan.tasks.iter().map(|_| OfTask::default()).collect(),
            channels: plan.channels.iter().map(|_| OfChannel::default()).collect(),
            chains: vec![Vec::new(); plan.chains.len()],
            cores: plan.cores.iter().map(|_| OfCore::default()).collect(),
            ..Self::default()
        };
        let cpus: Vec<Option<u16>> = plan
            .tasks
            .iter()
            .map(|task| match &task.class {
                ClassPlan::RealTime { cpu, .. } => Some(*cpu),
                ClassPlan::BestEffort {} => None,
            })
            .collect();
        for record in records {
            // This version ignores a record with a value that it does not know.
            if let Ok(event) = Event::of(record) {
                all.take(record.at.as_ns(), event);
                all.place(record, event, &cpus);
            }
        }
        all
    }

    /// Files an event under its subject.
    fn take(&mut self, at: u64, event: Event) {
        match event {
            Event::Release { task, .. } => self.job_of(task, |of| of.releases.push(at)),
            Event::Start { task, .. } | Event::Complete { task, .. } => self.job_of(task, |_| {}),
            Event::Skip { task, is_backlog_full, .. } => {
                self.job_of(task, |of| of.beyond_backlog.extend(is_backlog_full.then_some(at)));
            }
            Event::Overrun { task, .. } => self.task(task, |of| of.overruns += 1),
            Event::Exhausted { task, .. } => self.task(task, |of| of.exhausted += 1),
            Event::Failed { task, code, .. } => {
                self.task(task, |of| *of.failed.entry(code).or_default() += 1);
            }
            Event::Panicked { task, job, remedy } => {
                let remedy = FailureRemedy::ALL.into_iter().find(|known| *known as u64 == remedy);
                self.task(task, |of| of.panics.push(JobPanic { at, job, remedy }));
            }
            Event::HeapUsed { task, .. } => self.task(task, |of| of.heap_used.push(at)),
            Event::ScopeExceeded { task, .. } => self.task(task, |of| of.scope_exceeded += 1),
            Event::Counted { task, count, times } => self.task(task, |of| of.counts.push((count, times))),
            Event::Lost { task, records } => self.task(task, |of| add(&mut of.lost, records)),
            Event::Slept { task, job, times } => {
                self.task(task, |of| of.slept.push(Sleep { at, job, times }));
            }
            Event::Moved { task, placement } => self.task(task, |of| first(&mut of.moved, at, placement)),
            Event::Send { channel, sequence, .. } => {
                let end = ValueEnd { at, channel, sequence, sent: true, reader: None };
                self.value(end, |of| of.sent += 1);
            }
            Event::Receive { channel, sequence, latency } => {
                let end = ValueEnd { at, channel, sequence, sent: false, reader: None };
                self.value(end, |of| of.received.push((at, latency.as_ns())));
            }
            Event::ReceivedBy { channel, sequence, reader, latency } => {
                let end = ValueEnd { at, channel, sequence, sent: false, reader: Some(reader) };
                self.value(end, |of| {
                    of.received.push((at, latency.as_ns()));
                    of.by_reader.entry(reader).or_default().received.push((at, latency.as_ns()));
                });
            }
            Event::LostBy { channel, reader, values } => {
                self.channel(channel, |of| {
                    of.by_reader.entry(reader).or_default().lost.push((at, values));
                });
            }
            Event::Drop { channel, values, .. } => self.channel(channel, |of| of.dropped.push((at, values))),
            Event::TooMany { channel, values, .. } => {
                self.channel(channel, |of| add(&mut of.too_many, values))
            }
            Event::ChainEnd { chain, age, .. } => {
                self.chain(chain, |of| of.push((at, age.as_ns())));
            }
            Event::Service { service, task, state } => {
                self.services.push(StateChange { at, service, task, state });
            }
            Event::ModeFollowed { task, from, to, since } => {
                self.modes.push(ModeStep { at, task, from, to, since: since.as_ns() });
            }
            Event::Stall { core, lateness } => self.stalls.push((core, at, lateness.as_ns())),
            Event::CoreLost { core, records } => self.core(core, |of| add(&mut of.lost, records)),
            Event::CoreCounted { core, count, times } => self.core(core, |of| of.counts.push((count, times))),
            Event::ProbeMoved { core, is_main, placement } => {
                self.core(core, |of| first(of.moved(is_main), at, placement));
            }
            Event::CoreMoved { core, worker, placement } => {
                self.core(core, |of| of.worker_moved(worker, Moved { at, placement }));
            }
            Event::Stopped { interference } => self.interference.push((at, interference)),
            Event::Stood { task, job, place, resource } => {
                self.stood.push(Stood { task, job, at: place, resource });
            }
            Event::SafeState { heap_use, result, took } => {
                self.rests.push(AtRest { result, took_ns: took.as_ns(), heap_use });
            }
            Event::ValuesRecorded { messages, bytes } => self.values_file = Some((messages, bytes)),
            Event::Followed { task, error, phase, has_broken, .. } => {
                self.followed.push(FollowedStep { at, task, error: error.as_ns(), phase, has_broken });
            }
            Event::ValuesLost { records } => add(&mut self.values_lost, records),
            // The frame of the run, and the mark of a late job.
            Event::Begin { .. } | Event::End { .. } | Event::Miss { .. } => {}
            // Decisions.
            Event::Preempt { .. } | Event::Resume { .. } | Event::Granted { .. } => {}
            Event::Locked { .. } | Event::Unlock { .. } | Event::Spin { .. } | Event::Suspend { .. } => {}
            // Changes that the application asked for, and what only a replay judges.
            Event::Level { .. } | Event::Ceiling { .. } => {}
            Event::Budget { .. } | Event::Beside { .. } | Event::Looked { .. } => {}
            // `taut_event::Foreign` joins them.
            Event::Foreign { .. } => {}
        }
    }

    /// Notes the first instant at which a job's thread recorded another CPU than the plan's. A CPU number that does not
    /// fit into a record shows nothing.
    fn place(&mut self, record: &Record, event: Event, cpus: &[Option<u16>]) {
        let (Event::Start { task, .. } | Event::Complete { task, .. }) = event else { return };
        let planned = cpus.get(usize::from(task)).copied().flatten();
        if record.cpu != u8::MAX && planned.is_some_and(|cpu| cpu != u16::from(record.cpu)) {
            let at = record.at.as_ns();
            self.task(task, |of| of.elsewhere = Some(of.elsewhere.map_or(at, |first| first.min(at))));
        }
    }

    fn task(&mut self, task: u16, note: impl FnOnce(&mut OfTask)) {
        if let Some(of) = self.tasks.get_mut(usize::from(task)) {
            note(of);
        }
    }

    /// Files a job's record; counts it as strange if the plan does not have its task.
    fn job_of(&mut self, task: u16, note: impl FnOnce(&mut OfTask)) {
        self.strange += u64::from(usize::from(task) >= self.tasks.len());
        self.task(task, note);
    }

    fn channel(&mut self, channel: u16, note: impl FnOnce(&mut OfChannel)) {
        if let Some(of) = self.channels.get_mut(usize::from(channel)) {
            note(of);
        }
    }

    fn chain(&mut self, chain: u16, note: impl FnOnce(&mut Vec<(u64, u64)>)) {
        if let Some(of) = self.chains.get_mut(usize::from(chain)) {
            note(of);
        }
    }

    fn value(&mut self, end: ValueEnd, note: impl FnOnce(&mut OfChannel)) {
        self.values.push(end);
        self.channel(end.channel, note);
    }

    fn core(&mut self, core: u16, note: impl FnOnce(&mut OfCore)) {
        if let Some(of) = self.cores.get_mut(usize::from(core)) {
            note(of);
        }
    }
}

fn add(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

fn first(place: &mut Option<Moved>, at: u64, placement: ObservedPlacement) {
    place.get_or_insert(Moved { at, placement });
}
