// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The parties that a test plays: clients, and best-effort tasks.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;

use taut_plan::{ClassPlan, ValidPlan};
use taut_share::queue::timed_slots::Cancellation;
use taut_time::{Duration, Instant};
use taut_trace::Drain;

use super::ORIGIN_NS;
use crate::alarm::{AlarmRefused, AlarmSetter, AlarmToken};
use crate::app::App;
use crate::bench_ends::{BenchChannels, PartyCaller, ReadingParty};
use crate::bulk::{BlockReceiver, BlockSender};
use crate::create::{Create, PartyPosition};
use crate::endpoint::{QueueWriter, StateWriter};
use crate::job::EventRecorder;
use crate::names::no_such;
use crate::request::{Answer, RequestNumber, RequestWriter};
use crate::values::TaskValues;
use crate::{Control, Error, Payload};

/// The clients and best-effort tasks of an application, as a test plays them.
pub struct PlayedParties {
    pub(super) app: App<'static>,
    /// By party and channel: a [`QueueWriter`], [`StateWriter`], [`AlarmSetter`], [`RequestWriter`], [`BlockSender`]
    /// or [`BlockReceiver`] of
    /// the channel's types. No party has both ends of a channel.
    ends: HashMap<(PartyPosition, usize), Box<dyn Any>>,
    readers: HashMap<(PartyPosition, usize), Box<dyn ReadingParty>>,
    caller: PartyCaller,
    pub(super) drain: Drain,
    /// Whether a party has done something since the bench looked.
    pub(super) has_acted: bool,
    /// What becomes of the values of parties, but for the one that acted last, whose values the caller has.
    pub(super) values: HashMap<PartyPosition, TaskValues>,
    acting: Option<PartyPosition>,
}

impl fmt::Debug for PlayedParties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlayedParties").finish_non_exhaustive()
    }
}

impl PlayedParties {
    /// The caller has taken the code of the tasks out of `app`, so that nobody else has an end of these
    /// parties.
    pub(super) fn new(mut app: App<'static>, recorder: EventRecorder, drain: Drain) -> Result<Self, Error> {
        app.taken.clear();
        let mut parties = Self {
            app,
            ends: HashMap::new(),
            readers: HashMap::new(),
            caller: PartyCaller(recorder),
            drain,
            has_acted: true,
            values: HashMap::new(),
            acting: None,
        };
        (0..parties.app.plan.channels.len()).try_for_each(|channel| parties.make_readers(channel))?;
        Ok(parties)
    }

    /// A client of the manifest.
    pub fn client(&mut self, name: &str) -> PlayedParty<'_> {
        let at = self.app.plan.clients.iter().position(|client| client == name);
        let at = at.map(PartyPosition::Client).ok_or_else(|| no_such("client", name));
        PlayedParty { parties: self, at }
    }

    /// A best-effort task of the manifest: its code does not run in a bench, the test plays it.
    pub fn task(&mut self, name: &str) -> PlayedParty<'_> {
        let is_best_effort = |at: &usize| matches!(self.app.plan.tasks[*at].class, ClassPlan::BestEffort {});
        let at = self.app.plan.task(name).filter(is_best_effort);
        let at = at.map(PartyPosition::Task).ok_or_else(|| no_such("best-effort task", name));
        PlayedParty { parties: self, at }
    }

    /// Reports a tick of a device's clock that is observed at an instant, given as the time since release 0: as who has the end
    /// for it would.
    ///
    /// # Errors
    /// If no task follows such a clock.
    pub fn tick(&mut self, clock: &str, observed: Duration) -> Result<(), Error> {
        let newest = self.app.clocks.get(clock).ok_or_else(|| no_such("clock", clock))?;
        newest.0.set(Instant::from_ns(ORIGIN_NS.saturating_add(observed.as_ns())));
        Ok(())
    }

    /// Steers the services.
    pub fn control(&mut self) -> &Control {
        self.has_acted = true;
        self.app.control
    }

    /// A job is over: its channels' taps keep what it sent.
    pub(super) fn end_job(&self) {
        self.app.bench.iter().for_each(BenchChannels::end_job);
    }

    /// What is sent and received from now on is this party's.
    fn act_as(&mut self, at: PartyPosition) {
        if self.acting == Some(at) {
            return;
        }
        let values = self.values.remove(&at).unwrap_or_default();
        let before = self.caller.0.replace_values(values);
        if let Some(last) = self.acting.replace(at) {
            self.values.insert(last, before);
        }
    }

    /// The time since release 0.
    pub fn now(&self) -> Duration {
        Duration::from_ns(self.caller.0.now_ns().saturating_sub(ORIGIN_NS))
    }

    /// Makes the reading ends of a channel, once its writing end has given its values a type: a queue keeps
    /// nothing for a reader that does not exist yet.
    fn make_readers(&mut self, channel: usize) -> Result<(), Error> {
        let plan: &'static ValidPlan = self.app.plan;
        let Some(make) = self.app.bench.as_ref().and_then(|bench| bench.reader(channel)) else {
            return Ok(());
        };
        let of = &plan.channels[channel];
        // A caller has one end for requests and replies.
        if of.answers.is_some() {
            return Ok(());
        }
        // One end reads all sources of a state; the first writing end of any of them gives its values their type.
        let first = whole(plan, of.table()).unwrap_or(channel);
        for reader in &of.readers {
            let at = match reader.client {
                true => plan.clients.iter().position(|name| *name == reader.name).map(PartyPosition::Client),
                false => plan.task(&reader.name).filter(|at| is_played(plan, *at)).map(PartyPosition::Task),
            };
            let Some(at) = at.filter(|at| !self.readers.contains_key(&(*at, first))) else { continue };
            let end = make(&mut Create::new(&mut self.app, at), of.table())?;
            self.readers.insert((at, first), end);
        }
        Ok(())
    }
}

/// The position of a channel, or of the first source of a state that has several.
fn whole(plan: &ValidPlan, channel: &str) -> Option<usize> {
    plan.channel(channel).or_else(|| plan.sources(channel).first().map(|(at, _)| *at))
}

/// Whether a task is a best-effort one.
fn is_played(plan: &ValidPlan, task: usize) -> bool {
    matches!(plan.tasks[task].class, ClassPlan::BestEffort {})
}

/// A client or a best-effort task that a test plays.
#[derive(Debug)]
pub struct PlayedParty<'b> {
    parties: &'b mut PlayedParties,
    at: Result<PartyPosition, Error>,
}

impl PlayedParty<'_> {
    /// Sends a value to a queue or a message of this party. Returns whether the queue took it.
    ///
    /// # Errors
    /// If there is no such party or channel, the end belongs to another party, or it carries other values.
    pub fn send<P: Payload>(self, channel: &str, value: P) -> Result<bool, Error> {
        let (end, caller) =
            self.end::<P, QueueWriter<'static, P>>(channel, |create| create.queue_writer::<P>(channel))?;
        Ok(end.send(caller, value).is_ok())
    }

    /// Publishes a value to a state of this party. Returns whether the state took it.
    ///
    /// # Errors
    /// As [`PlayedParty::send`].
    pub fn publish<P: Payload>(self, channel: &str, value: P) -> Result<bool, Error> {
        let (end, caller) =
            self.end::<P, StateWriter<'static, P>>(channel, |create| create.state_writer::<P>(channel))?;
        Ok(end.publish(caller, value).is_ok())
    }

    /// Sets an alarm for an instant, given as the time since release 0. A test's party sets neither windows
    /// nor repeated alarms.
    ///
    /// # Errors
    /// As [`PlayedParty::send`]. The inner error says why the alarm was not set.
    pub fn set_alarm<P: Payload>(
        self,
        alarm: &str,
        at: Duration,
        value: P,
    ) -> Result<Result<AlarmToken, AlarmRefused<P>>, Error> {
        let at = Instant::from_ns(ORIGIN_NS.saturating_add(at.as_ns()));
        let (end, caller) =
            self.end::<P, AlarmSetter<'static, P>>(alarm, |create| create.alarm_setter::<P>(alarm))?;
        Ok(end.set(caller, at, value))
    }

    /// Cancels an alarm that this party has set, and says whether its receiver will take it.
    ///
    /// # Errors
    /// As [`PlayedParty::send`].
    pub fn cancel_alarm<P: Payload>(self, alarm: &str, token: AlarmToken) -> Result<Cancellation, Error> {
        let (end, caller) =
            self.end::<P, AlarmSetter<'static, P>>(alarm, |create| create.alarm_setter::<P>(alarm))?;
        Ok(end.cancel(caller, token))
    }

    /// Sends a request, of which this party is a caller; `None` if as many as may be are open.
    ///
    /// # Errors
    /// As [`PlayedParty::send`].
    pub fn request<Q: Payload, R: Payload>(
        self,
        request: &str,
        value: Q,
    ) -> Result<Option<RequestNumber>, Error> {
        let (end, caller) = self.end::<Q, RequestWriter<'static, Q, R>>(request, |create| {
            create.request_writer::<Q, R>(request)
        })?;
        Ok(end.send(caller, value).ok())
    }

    /// The next answer to a request of this party; `None` if none has come.
    ///
    /// # Errors
    /// As [`PlayedParty::send`].
    pub fn answer<Q: Payload, R: Payload>(
        self,
        request: &str,
    ) -> Result<Option<(RequestNumber, Answer<R>)>, Error> {
        let (end, caller) = self.end::<Q, RequestWriter<'static, Q, R>>(request, |create| {
            create.request_writer::<Q, R>(request)
        })?;
        Ok(end.answer(caller))
    }

    /// Takes the oldest value that waits in a queue of this party; `None` if none waits.
    ///
    /// # Errors
    /// As [`PlayedParty::send`].
    pub fn receive<P: Payload>(self, queue: &str) -> Result<Option<P>, Error> {
        self.read(queue, taut_plan::ChannelKind::Queue)
    }

    /// The newest value of a state that this party reads; `None` before the first.
    ///
    /// # Errors
    /// As [`PlayedParty::send`].
    pub fn latest<P: Payload>(self, state: &str) -> Result<Option<P>, Error> {
        self.read(state, taut_plan::ChannelKind::State)
    }

    /// Lets this party use its sending end of a bulk channel, as its code would: `act` gets the end, and the user that the
    /// end asks for. It cannot wait there, as no time passes.
    ///
    /// # Errors
    /// As [`PlayedParty::send`].
    pub fn send_blocks<P: Payload, R>(
        self,
        channel: &str,
        act: impl FnOnce(&mut BlockSender<'_, P>, &mut PartyCaller) -> R,
    ) -> Result<R, Error> {
        let (end, caller) =
            self.end::<P, BlockSender<'static, P>>(channel, |create| create.block_sender::<P>(channel))?;
        Ok(act(end, caller))
    }

    /// Lets this party use its receiving end of a bulk channel, as [`PlayedParty::send_blocks`]. A block that `act` leaks
    /// (`mem::forget`) stays with the party until its next receive: so a test plays a receiver that is slow.
    ///
    /// # Errors
    /// As [`PlayedParty::send`].
    pub fn receive_blocks<P: Payload, R>(
        self,
        channel: &str,
        act: impl FnOnce(&mut BlockReceiver<'_, P>, &mut PartyCaller) -> R,
    ) -> Result<R, Error> {
        let (end, caller) =
            self.end::<P, BlockReceiver<'static, P>>(channel, |create| create.block_receiver::<P>(channel))?;
        Ok(act(end, caller))
    }

    fn read<P: Payload>(self, channel: &str, kind: taut_plan::ChannelKind) -> Result<Option<P>, Error> {
        let Self { parties, at } = self;
        let (at, plan) = (at?, parties.app.plan);
        let position = whole(plan, channel).ok_or_else(|| no_such("channel", channel))?;
        let of = &plan.channels[position];
        if of.kind != kind {
            let what = if kind == taut_plan::ChannelKind::Queue { "queue" } else { "state" };
            return Err(no_such(what, channel));
        }
        if P::layout() != of.layout {
            return Err(other_values::<P>(plan, position));
        }
        let (me, is_client) = at.name(plan);
        if !of.readers.iter().any(|reader| reader.name == me && reader.client == is_client) {
            let readers: Vec<_> = of.readers.iter().map(|reader| format!("`{}`", reader.name)).collect();
            let (channel, of, by) = (channel.to_owned(), readers.join(", "), me.to_owned());
            return Err(Error::NotYours { channel, of, by });
        }
        parties.act_as(at);
        let Some(end) = parties.readers.get_mut(&(at, position)) else { return Ok(None) };
        let mut value = P::new_zeroed();
        parties.has_acted = true;
        Ok(end.read(&mut parties.caller, value.as_mut_bytes()).then_some(value))
    }
}

impl<'b> PlayedParty<'b> {
    /// The end of a channel, of the type `E`, which is made if the party does not have it yet; and who uses it.
    fn end<P: Payload, E: 'static>(
        self,
        channel: &str,
        make: impl FnOnce(&mut Create<'_, 'static>) -> Result<E, Error>,
    ) -> Result<(&'b mut E, &'b mut PartyCaller), Error> {
        let Self { parties, at } = self;
        let (at, plan) = (at?, parties.app.plan);
        let (me, is_client) = at.name(plan);
        // A writer knows its own part by the name of the whole.
        let parts = plan.lanes(channel).into_iter().chain(plan.sources(channel));
        let mut own = parts.filter(|(_, lane)| lane.writer.client == is_client && lane.writer.name == me);
        let position = plan.channel(channel).or_else(|| own.next().map(|(position, _)| position));
        let position = position.ok_or_else(|| no_such("channel", channel))?;
        if !parties.ends.contains_key(&(at, position)) {
            let end = make(&mut Create::new(&mut parties.app, at))?;
            parties.ends.insert((at, position), Box::new(end));
            // Parties that read what this one writes.
            parties.make_readers(position)?;
        }
        parties.has_acted = true;
        parties.act_as(at);
        let PlayedParties { ends, caller, .. } = parties;
        let end = ends.get_mut(&(at, position)).and_then(|end| end.downcast_mut::<E>());
        let end = end.ok_or_else(|| other_values::<P>(plan, position))?;
        Ok((end, caller))
    }
}

/// The error of a type that is not the channel's.
pub(super) fn other_values<P: Payload>(plan: &ValidPlan, channel: usize) -> Error {
    let of = &plan.channels[channel];
    Error::Layout { channel: of.name.clone(), manifest: of.layout.clone(), code: P::layout() }
}
