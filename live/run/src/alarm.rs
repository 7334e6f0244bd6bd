// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ends of alarms. Each setter has slots of its own; the receiver keeps the instants of all pending alarms in a heap.
//!
//! The receiver's end uses the heap in jobs; the runtime uses it while the task has no job, to learn when the
//! next job is due. So the heap's lock is always free: the lock is there because the compiler cannot know
//! that.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taut_event::{CancelOutcome, Kind, Refusal};
use taut_plan::LatePolicy;
use taut_policy::queue::{Heap, HeapSlot, QueueEnd, ReadyQueue};
use taut_share::queue::timed_slots::{self, Cancellation, Due, PendingSlot, SlotToken};
use taut_time::{Duration, Instant};
use zerocopy::IntoBytes;

use crate::endpoint::JobRate;
use crate::job::EventRecorder;
use crate::job::sealed::SealedCaller;
use crate::payload::{Own, Payload, Stamped};
use crate::queue::Wakes;
use crate::values::SendAnswer;
use crate::{Caller, Job};

/// Why an alarm was not set; returns the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmRefused<P> {
    /// As many alarms of this setter are pending as the manifest's `capacity` allows.
    Full(P),
    /// The instant has passed, and the manifest says `late = "refuse"`.
    Late(P),
    /// The job has set as many alarms as the manifest's `sends-per-release` allows.
    TooMany(P),
    /// The window ends before it begins, or the period is zero.
    Malformed(P),
}

impl<P> AlarmRefused<P> {
    /// The value.
    pub fn into_value(self) -> P {
        match self {
            Self::Full(value) | Self::Late(value) | Self::TooMany(value) | Self::Malformed(value) => value,
        }
    }
}

impl<P> fmt::Display for AlarmRefused<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "as many alarms are pending as the manifest allows",
            Self::Late(_) => "the instant of the alarm has passed",
            Self::TooMany(_) => "the job has set as many alarms as the manifest allows",
            Self::Malformed(_) => "the window of the alarm ends before it begins, or its period is zero",
        })
    }
}

impl<P: fmt::Debug> std::error::Error for AlarmRefused<P> {}

/// Names an alarm that was set, for its setter. No later alarm has the same token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AlarmToken {
    channel: u16,
    /// The number of the alarm: its setter counts from 1.
    number: u64,
    slot: SlotToken,
}

/// The end that sets alarms. One for each setter.
pub struct AlarmSetter<'p, P: Payload> {
    pub(crate) slots: timed_slots::Setter<'p, Stamped<P>>,
    pub(crate) wakes: Wakes<'p>,
    pub(crate) channel: u16,
    pub(crate) sequence: u64,
    pub(crate) late: LatePolicy,
    pub(crate) rate: JobRate,
    pub(crate) own: Own<P>,
}

impl<P: Payload> AlarmSetter<'_, P> {
    /// Sets an alarm: the receiver is released at the instant `at`, and takes the value. If that instant has
    /// passed, the alarm is due at once, or refused: the manifest's `late` decides.
    ///
    /// Wait-free: the steps of `free` and `set` of Timed Slots, two reads of the clock, and one exchange and at most one
    /// futex wake if the alarm is due before all others of its receiver.
    ///
    /// # Errors
    /// [`AlarmRefused`] returns the value. The refusal of a job's alarm is recorded.
    pub fn set<C: Caller>(
        &mut self,
        by: &mut C,
        at: Instant,
        value: P,
    ) -> Result<AlarmToken, AlarmRefused<P>> {
        self.set_due(by, Due { earliest: at.as_ns(), latest: at.as_ns(), period: 0 }, value)
    }

    /// As [`AlarmSetter::set`], for a window: the receiver is released at `latest`. It takes the value
    /// earlier, from `earliest` on, in a job that it has anyway, if no pending alarm has an earlier instant.
    /// So it need not be released once more.
    ///
    /// # Errors
    /// [`AlarmRefused::Malformed`], which is not recorded, if `earliest` is after `latest`; else as
    /// [`AlarmSetter::set`].
    pub fn set_window<C: Caller>(
        &mut self,
        by: &mut C,
        earliest: Instant,
        latest: Instant,
        value: P,
    ) -> Result<AlarmToken, AlarmRefused<P>> {
        if earliest > latest {
            return Err(AlarmRefused::Malformed(value));
        }
        self.set_due(by, Due { earliest: earliest.as_ns(), latest: latest.as_ns(), period: 0 }, value)
    }

    /// As [`AlarmSetter::set`], for all instants `first + k · period` that are still to come, until the alarm is cancelled.
    /// It stays one pending alarm: instants that pass before the receiver has taken the value are counted
    /// ([`DueAlarm::missed`]).
    ///
    /// # Errors
    /// [`AlarmRefused::Malformed`], which is not recorded, if `period` is zero; else as [`AlarmSetter::set`].
    pub fn set_repeating<C: Caller>(
        &mut self,
        by: &mut C,
        first: Instant,
        period: Duration,
        value: P,
    ) -> Result<AlarmToken, AlarmRefused<P>> {
        if period.is_zero() {
            return Err(AlarmRefused::Malformed(value));
        }
        let (first, period) = (first.as_ns(), period.as_ns());
        self.set_due(by, Due { earliest: first, latest: first, period }, value)
    }

    fn set_due<C: Caller>(&mut self, by: &mut C, due: Due, value: P) -> Result<AlarmToken, AlarmRefused<P>> {
        let (event_recorder, job) = by.event_recorder();
        let called_ns = event_recorder.now_ns();
        let window = (due.earliest, due.latest);
        event_recorder.values().alarm_asked(called_ns, self.channel, window, due.period);
        if C::REAL_TIME && !self.rate.allows(job) {
            event_recorder.other(called_ns, Kind::TooMany, self.channel, job, 1);
            event_recorder.values().refused(called_ns, self.channel, Refusal::TooMany);
            return Err(AlarmRefused::TooMany(value));
        }
        if let Some(answer) = event_recorder.values().answer_send(self.channel) {
            return self.set_replayed(event_recorder, answer, value);
        }
        let Some(free) = self.slots.free() else {
            if C::REAL_TIME {
                event_recorder.other(called_ns, Kind::Drop, self.channel, job, 1);
            }
            event_recorder.values().refused(called_ns, self.channel, Refusal::Full);
            return Err(AlarmRefused::Full(value));
        };
        // A4 of the bound: the clock is read once the slot is known to be free, and a late alarm is due after that.
        let now_ns = event_recorder.now_ns();
        let mut due = due;
        if due.latest <= now_ns {
            if self.late == LatePolicy::Refuse {
                if C::REAL_TIME {
                    event_recorder.other(now_ns, Kind::Drop, self.channel, job, 1);
                }
                event_recorder.values().refused(now_ns, self.channel, Refusal::Late);
                return Err(AlarmRefused::Late(value));
            }
            due = match passed(due, now_ns) {
                0 => Due { latest: now_ns.saturating_add(1), ..due },
                // A repeated alarm begins with the first instant that is still to come.
                passed => later(due, passed),
            };
        }
        let set = free.set(due, self.own.set(now_ns, self.sequence + 1, &value));
        self.sequence += 1;
        self.rate.count();
        event_recorder.other(now_ns, Kind::Send, self.channel, job, self.sequence);
        event_recorder.values().sent(now_ns, self.channel, self.sequence, value.as_bytes());
        if set.wakes {
            self.wakes.notify();
        }
        Ok(AlarmToken { channel: self.channel, number: self.sequence, slot: set.token })
    }

    /// What became of the alarm in the recorded run. No slot holds it: its receiver is given what it received.
    #[cold]
    fn set_replayed(
        &mut self,
        event_recorder: &EventRecorder,
        answer: SendAnswer,
        value: P,
    ) -> Result<AlarmToken, AlarmRefused<P>> {
        let (values, now_ns) = (event_recorder.values(), event_recorder.now_ns());
        if let Err(why) = answer {
            values.refused(now_ns, self.channel, why);
            return Err(match why {
                Refusal::Late => AlarmRefused::Late(value),
                Refusal::Full | Refusal::TooMany => AlarmRefused::Full(value),
            });
        }
        self.sequence += 1;
        self.rate.count();
        values.sent(now_ns, self.channel, self.sequence, value.as_bytes());
        Ok(AlarmToken { channel: self.channel, number: self.sequence, slot: SlotToken::NONE })
    }

    /// Cancels an alarm, and says whether its receiver will take it. Wait-free: the steps of `cancel` of Timed Slots.
    ///
    /// The receiver may have a job in which it finds no alarm, since it may have prepared for this one.
    pub fn cancel(&mut self, by: &mut impl Caller, token: AlarmToken) -> Cancellation {
        if token.channel != self.channel {
            return Cancellation::Over;
        }
        let (event_recorder, _) = by.event_recorder();
        let cancel = || match self.slots.cancel(token.slot) {
            Cancellation::Prevented => CancelOutcome::Prevented,
            Cancellation::Underway => CancelOutcome::Underway,
            Cancellation::Over => CancelOutcome::Over,
        };
        let of = (self.channel, token.number);
        match event_recorder.values().alarm_cancelled(|| event_recorder.now_ns(), of, cancel) {
            CancelOutcome::Prevented => Cancellation::Prevented,
            CancelOutcome::Underway => Cancellation::Underway,
            CancelOutcome::Over => Cancellation::Over,
        }
    }
}

/// How many instants of a repeated alarm have passed at `now_ns`; 0 if the alarm is not repeated.
fn passed(due: Due, now_ns: u64) -> u64 {
    let periods = now_ns.checked_sub(due.latest).and_then(|since_ns| since_ns.checked_div(due.period));
    periods.map_or(0, |periods| periods.saturating_add(1))
}

/// A repeated alarm, so many periods later. An instant that no clock will show is never due.
fn later(due: Due, periods: u64) -> Due {
    let by_ns = periods.saturating_mul(due.period);
    Due {
        earliest: due.earliest.saturating_add(by_ns),
        latest: due.latest.saturating_add(by_ns),
        period: due.period,
    }
}

/// The pending alarms of a receiver, in the order of their instants.
pub(crate) struct PendingAlarms<'p, P: Payload> {
    lanes: Vec<timed_slots::Taker<'p, Stamped<P>>>,
    /// By slot; the slots of all lanes are numbered one after the other.
    slots: Box<[PendingSlot]>,
    /// By slot: the lane, and the slot's number in it.
    places: Box<[(u32, u32)]>,
    order: Heap<Box<[HeapSlot]>>,
}

/// An alarm that was taken.
struct TakenAlarm {
    lane: usize,
    due_ns: u64,
    missed: u64,
}

impl<'p, P: Payload> PendingAlarms<'p, P> {
    pub(crate) fn new(lanes: Vec<timed_slots::Taker<'p, Stamped<P>>>) -> Self {
        let places: Box<[(u32, u32)]> = (0..)
            .zip(&lanes)
            .flat_map(|(at, lane)| (0..lane.capacity() as u32).map(move |slot| (at, slot)))
            .collect();
        let slots = vec![PendingSlot::NONE; places.len()].into_boxed_slice();
        let order = Heap::new(vec![HeapSlot::EMPTY; places.len()].into_boxed_slice());
        Self { lanes, slots, places, order }
    }

    /// Brings the order up to date with what the setters did.
    fn collect(&mut self) {
        let Self { lanes, slots, order, .. } = self;
        let mut first = 0;
        for lane in lanes {
            lane.collect(|slot, pending| {
                let at = first + slot;
                order.remove(at);
                if let Some(pending) = pending {
                    slots[at] = pending;
                    enter(order, at, pending);
                }
            });
            first += lane.capacity();
        }
    }

    /// When the next alarm is due; `None` if none is pending. From now on a setter of an earlier one wakes the receiver.
    fn earliest_ns(&mut self) -> Option<u64> {
        self.lanes.iter_mut().for_each(timed_slots::Taker::arm);
        self.collect();
        let first_ns = self.order.first().map(|(_, latest_ns)| latest_ns);
        self.lanes.iter_mut().for_each(|lane| lane.narrow(first_ns.unwrap_or(u64::MAX)));
        first_ns
    }

    /// Takes the alarm whose instant is the earliest into `value`, if that instant has passed at `now_ns`, or its window has
    /// begun.
    fn take_into(&mut self, now_ns: u64, value: &mut Stamped<P>) -> Option<TakenAlarm> {
        // Setters need not wake a job that runs.
        self.lanes.iter_mut().for_each(|lane| lane.narrow(0));
        self.collect();
        // Each turn removes one: at most all that are pending.
        loop {
            let (at, _) = self.order.first()?;
            let pending = self.slots[at];
            if pending.due.earliest > now_ns {
                return None;
            }
            self.order.take_first();
            let (lane, slot) = self.places[at];
            let again = |due: Due| Some(later(due, passed(due, now_ns).max(1)));
            let taken = self.lanes[lane as usize].take_into(slot as usize, pending, again, value);
            // Otherwise its setter has cancelled it.
            let Some(taken) = taken else { continue };
            if let Some(again) = taken.again {
                self.slots[at] = again;
                enter(&mut self.order, at, again);
            }
            let missed = passed(taken.due, now_ns).saturating_sub(1);
            return Some(TakenAlarm { lane: lane as usize, due_ns: taken.due.latest, missed });
        }
    }
}

fn enter(order: &mut Heap<Box<[HeapSlot]>>, at: usize, pending: PendingSlot) {
    // The slot exists, and is not in the heap.
    let entered = order.insert(at, pending.due.latest, QueueEnd::Back);
    debug_assert!(entered.is_ok(), "{entered:?}");
}

/// The pending alarms, for the end and for the runtime, which use them in turn.
pub(crate) struct SharedAlarms<'p, P: Payload>(Arc<Mutex<PendingAlarms<'p, P>>>);

impl<P: Payload> Clone for SharedAlarms<'_, P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<'p, P: Payload> SharedAlarms<'p, P> {
    pub(crate) fn new(pending: PendingAlarms<'p, P>) -> Self {
        Self(Arc::new(Mutex::new(pending)))
    }

    /// Never waits: the receiver's end calls this in jobs of the task, and the runtime while the task has
    /// none.
    fn lock(&self) -> MutexGuard<'_, PendingAlarms<'p, P>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The instants of alarms that release a task.
pub(crate) trait Instants: Send {
    /// When the next alarm is due (ns); `None` if none is pending. From now on a setter of an earlier one wakes the
    /// receiver.
    fn earliest_ns(&mut self) -> Option<u64>;
}

impl<P: Payload> Instants for SharedAlarms<'_, P> {
    fn earliest_ns(&mut self) -> Option<u64> {
        self.lock().earliest_ns()
    }
}

/// The end that receives alarms. One for each receiver's alarms.
pub struct AlarmReader<'p, P: Payload> {
    pub(crate) pending: SharedAlarms<'p, P>,
    /// By lane: the channel and the setter.
    pub(crate) setters: Box<[(u16, &'p str)]>,
    /// What the current job has taken.
    pub(crate) rate: JobRate,
    /// The receiver.
    pub(crate) owner: u16,
    pub(crate) own: Own<P>,
}

/// An alarm that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueAlarm<'r, P> {
    /// The value that its setter gave it.
    pub value: &'r P,
    /// The task that set it.
    pub setter: &'r str,
    /// The instant for which it was set; of a window its end. If the alarm was late when it was set: a
    /// nanosecond after its setter's end found that, or the first instant of a repeated alarm that was still
    /// to come.
    pub due: Instant,
    /// Of a repeated alarm: how many later instants have passed, too. The alarm is not due for them again.
    pub missed: u64,
}

impl<P: Payload> AlarmReader<'_, P> {
    /// The pending alarm whose instant is the earliest, if that instant has passed or its window has begun.
    /// Otherwise `None`; also if this job has taken as many as the manifest's `takes-per-release` allows, or
    /// if it is a job of another task. So a job may call it until it gives nothing, as the bounds of the plan
    /// suppose.
    ///
    /// Wait-free. With N slots of S setters: ⌈N / 8⌉ + S loads and S stores; for each alarm that was set or cancelled
    /// since the last look the steps of `collect` of Timed Slots and O(log N); those of `take_into` and O(log N), also for
    /// each alarm that its setter cancels meanwhile; and one read of the clock.
    pub fn next(&mut self, job: &mut Job<'_>) -> Option<DueAlarm<'_, P>> {
        let (event_recorder, number) = job.event_recorder();
        if self.owner != event_recorder.subject() || !self.rate.allows(number) {
            return None;
        }
        let now_ns = event_recorder.now_ns();
        // The lane of one setter stands for all of them.
        let first = self.setters.first().map_or(0, |(channel, _)| *channel);
        let replayed = event_recorder.values().answer_read(first, self.own.stamped_mut().as_mut_bytes());
        let taken = match replayed {
            Some(answer) => answer.and_then(|given| {
                let lane = self.setters.iter().position(|(channel, _)| *channel == given.channel)?;
                Some(TakenAlarm { lane, due_ns: given.due_ns, missed: given.lost })
            }),
            None => self.pending.lock().take_into(now_ns, self.own.stamped_mut()),
        };
        let Some(taken) = taken else {
            event_recorder.values().nothing(now_ns, first);
            return None;
        };
        self.rate.count();
        let (channel, setter) = self.setters[taken.lane];
        let stamped = self.own.stamped();
        let (sequence, late_ns) = (stamped.sequence, now_ns.saturating_sub(taken.due_ns));
        event_recorder.other(now_ns, Kind::Receive, channel, sequence, late_ns);
        let values = event_recorder.values();
        values.received(now_ns, channel, sequence, taken.missed, stamped.value_bytes());
        values.alarm_due(now_ns, channel, taken.due_ns);
        let (due, missed) = (Instant::from_ns(taken.due_ns), taken.missed);
        Some(DueAlarm { value: self.own.value(), setter, due, missed })
    }
}
