// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A client's process: its attachment to the application, and its ends of channels.
//!
//! State      an [`Attachment`] holds the connection and the memory; every end of a channel holds the
//!            attachment. So the memory outlives the ends, and the client keeps its name until the last end is dropped.
//! Invariants I1 each channel that the client writes or takes has at most one end at a time.
//!            I2 an end's protocol is dropped before its hold: fields drop in the order of their declaration.
//! Crash      the system ends the connection and frees the name; the files of the protocols say what the
//!            application then sees.

use std::collections::HashSet;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use taut_lock::{EventCount, Listener};
use taut_plan::{ClientReads, Mechanism, MechanismForm, Way};
use taut_segment::{Attached, ChannelEntry, Liveness, Role, ServiceState};
use taut_share::Memory;
use taut_share::state::ReaderOvertaken;
use taut_sys::clock;
use taut_time::Duration;

use crate::Payload;
use crate::deadline::{NoValue, ReaderDeadline};
use crate::message::Delivered;
use crate::payload::{Own, Stamped};
use crate::queue::{QueueShape, QueueSlot, QueueView, Wakes};
use crate::sources::{Look, SourceStamps, Sources};
use crate::state::{Shape, StateSlot, StateView};

/// How often a client looks for a value that does not wake it.
pub(crate) const LOOK_NS: u64 = 1_000_000;
/// How long a client that a send wakes sleeps before it looks whether the application is alive.
pub(crate) const ALIVE_NS: u64 = 10_000_000;

/// A client's attachment to a running application; its ends of channels share it.
#[derive(Debug)]
pub struct Attachment(Arc<Place>);

#[derive(Debug)]
struct Place {
    attached: Attached,
    /// Channels that have an end of which there may be one.
    held: Mutex<HashSet<String>>,
}

/// Why a client cannot have an end of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndError {
    /// There is no such channel, it carries other values, or it goes the other way.
    Segment(taut_segment::Error),
    /// This version does not know its mechanism or its region, or clients cannot read it by that mechanism.
    Mechanism(String),
    /// The channel already has the one end that it may have.
    Twice(String),
    /// The channel is a queue, and the caller asked for the end of a state, or the other way round.
    Kind {
        /// The channel.
        channel: String,
        /// Whether it is a queue.
        is_queue: bool,
    },
}

/// At each of a thousand attempts to read, the application was writing, or had been stopped in the middle of a
/// write; of a state with several sources, one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overtaken;

impl fmt::Display for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the application was writing at every attempt to read")
    }
}

impl std::error::Error for Overtaken {}

impl Attachment {
    /// Shares what was attached with the ends to come.
    pub fn new(attached: Attached) -> Self {
        Self(Arc::new(Place { attached, held: Mutex::default() }))
    }

    /// The segment and its owner.
    pub fn attached(&self) -> &Attached {
        &self.0.attached
    }

    /// Makes an end of a channel: any number of reading ends, but one at a time of a queue that rejects values; one
    /// writing end at a time.
    ///
    /// # Errors
    /// [`EndError`].
    pub fn end<P: Payload>(&self, channel: &str, role: Role) -> Result<ClientEnd<P>, EndError> {
        let parts = self.parts(channel);
        if role == Role::Reads && parts.len() > 1 {
            return self.reading_end_of(&parts);
        }
        // A writer knows its own part by the name of the whole. The directory has no part of a channel that another party writes,
        // unless this client reads all of them.
        let (entry, hold) = self.hold::<P>(parts.first().copied().unwrap_or(channel), role)?;
        let kind = hold.protocol(entry).ok_or_else(|| EndError::Mechanism(channel.to_owned()))?;
        Ok(ClientEnd { kind, sequence: 0, lost: 0, own: Own::new(), deadline: None, hold })
    }

    /// The names of the parts that a channel of several writers has in this client's directory: lanes of a message, or sources
    /// of a state. Empty of any other channel.
    fn parts(&self, channel: &str) -> Vec<&str> {
        let entries = self.0.attached.directory().entries().iter().map(|entry| entry.channel.as_str());
        let is_part = |entry: &&str| entry.split_once('/').is_some_and(|(whole, _)| whole == channel);
        entries.filter(is_part).collect()
    }

    /// The end that reads the sources of a state, in the order of the directory, which is that of the plan.
    fn reading_end_of<P: Payload>(&self, parts: &[&str]) -> Result<ClientEnd<P>, EndError> {
        let (mut sources, mut last) = (Vec::with_capacity(parts.len()), None);
        for part in parts {
            let (entry, hold) = self.hold::<P>(part, Role::Reads)?;
            let Some(EndKind::Read(one)) = hold.protocol(entry) else {
                return Err(EndError::Mechanism((*part).to_owned()));
            };
            sources.extend(one.into_ends());
            last = Some(hold);
        }
        let hold = last.ok_or_else(|| EndError::Mechanism(String::new()))?;
        let kind = EndKind::Read(Sources::new(sources));
        Ok(ClientEnd { kind, sequence: 0, lost: 0, own: Own::new(), deadline: None, hold })
    }

    /// The entry of a channel, and the hold of an end of it.
    fn hold<P: Payload>(&self, channel: &str, role: Role) -> Result<(&ChannelEntry, Hold), EndError> {
        let entry = self.0.attached.entry_as(channel, role, &P::layout()).map_err(EndError::Segment)?;
        let hold = Hold::take(&self.0, entry).ok_or_else(|| EndError::Twice(channel.to_owned()))?;
        Ok((entry, hold))
    }

    /// As [`Attachment::end`] for reading, of a state or of a queue.
    ///
    /// # Errors
    /// [`EndError`], also if the channel is of the other kind.
    pub fn reading_end<P: Payload>(&self, channel: &str, of_queue: bool) -> Result<ClientEnd<P>, EndError> {
        let end = self.end(channel, Role::Reads)?;
        let is_queue = matches!(end.kind, EndKind::Receive(..));
        if is_queue == of_queue {
            Ok(end)
        } else {
            Err(EndError::Kind { channel: channel.to_owned(), is_queue })
        }
    }
}

/// Keeps the memory of an end mapped and, for an end of which there may be one, excludes others.
pub(crate) struct Hold {
    place: Arc<Place>,
    channel: String,
    alone: bool,
}

impl Hold {
    /// `None` if the channel has the one end that it may have (I1).
    fn take(place: &Arc<Place>, entry: &ChannelEntry) -> Option<Self> {
        Self::new(place, entry, entry.role != Role::Reads)
    }

    /// Of an end of which there may be one, though it only reads the channel's region.
    pub(crate) fn alone(attachment: &Attachment, entry: &ChannelEntry) -> Option<Self> {
        Self::new(&attachment.0, entry, true)
    }

    fn new(place: &Arc<Place>, entry: &ChannelEntry, alone: bool) -> Option<Self> {
        let channel = entry.channel.clone();
        let mut held = place.held.lock().unwrap_or_else(PoisonError::into_inner);
        (!alone || held.insert(channel.clone())).then(|| Self { place: Arc::clone(place), channel, alone })
    }

    /// The protocol over the channel's region. Its type says that it lives for `'static`; in truth it lives as long
    /// as this hold, which [`ClientEnd`] ensures.
    fn protocol<P: Payload>(&self, entry: &ChannelEntry) -> Option<EndKind<P>> {
        let mechanism = Mechanism::from_word(&entry.mechanism)?;
        let shape = Shape { mechanism, buffers: entry.capacity, claims: entry.readers };
        let queue = QueueShape { mechanism, capacity: entry.capacity, claims: entry.readers };
        if entry.value_size as usize != size_of::<P>() {
            return None;
        }
        let region = self.place.attached.region(&self.channel).ok()?;
        let (base, size) = (region.cast::<u8>(), region.len());
        let last_line = if entry.triggered { size_of::<EventCount>() } else { 0 };
        // SAFETY:
        // - `region` checked that the region lies inside the mapping, at a multiple of 128; the mapping stays where
        //   it is as long as `self.place`, hence longer than the protocol (I2), and its file is sealed against
        //   shrinking
        // - the application made the region for this channel alone, and the line of the event count is left out;
        //   that the application could lie is accepted: a client trusts the application that it attaches to
        // - mapped read-only for a client that writes nothing, and then only readers are made below
        let memory = unsafe { Memory::from_raw(base, size.checked_sub(last_line)?) };
        // SAFETY:
        // - one connection at a time has this client's name, and keeps it as long as `self.place` lives
        // - a channel that we write or take has no other living end (I1); its last one has ended, since the lock of
        //   `held` orders the drop of that end's hold before ours
        // - what we write or take is mapped for writing: `attach` has checked it
        unsafe {
            Some(match (mechanism.form(), entry.role) {
                (MechanismForm::Queue, Role::Writes) => {
                    let slot = QueueSlot::over(memory, queue).ok()?;
                    let notifier =
                        if entry.triggered { Some(event_count(base, size)?.notifier()) } else { None };
                    EndKind::Send(slot, Wakes::new(notifier))
                }
                (_, Role::Writes) => EndKind::Write(Box::new(StateSlot::over(memory, shape).ok()?)),
                // A reader that stores words would fault in memory that is mapped read-only.
                (_, role) if !may_read(mechanism.clients_read(), role) => return None,
                // [`Attachment::block_receiver`] makes its end.
                _ if mechanism == Mechanism::ReservedBulk => return None,
                (MechanismForm::Queue, _) => {
                    let mut view = QueueView::over(memory, queue, None).ok()?;
                    view.rewind(entry.history);
                    EndKind::Receive(view, self.listener()?)
                }
                (_, _) => {
                    let view = StateView::over(memory, shape, Some(Way::LooksOn), None).ok()?;
                    let writer = entry.channel.split_once('/').map(|(_, writer)| writer.to_owned());
                    // Another client may have written it.
                    EndKind::Read(Sources::new(vec![((view, writer), SourceStamps::new(false))]))
                }
            })
        }
    }

    /// The event count on which this client waits for values of the channel, if there is one. Lives for `'static` as
    /// [`Hold::protocol`] does. `None` if the owner says that there is one where there is none.
    pub(crate) fn listener(&self) -> Option<Option<Listener<'static>>> {
        let Some(line) = self.place.attached.event_count(&self.channel).ok()? else { return Some(None) };
        if line.len() < size_of::<EventCount>() {
            return None;
        }
        // SAFETY:
        // - `event_count` checked that the line lies inside a mapping, at a multiple of 128, as in `protocol`
        // - an `EventCount` is an atomic and padding, for which all bytes are valid; the file is mapped for writing
        let event_count: &'static EventCount = unsafe { line.cast::<EventCount>().as_ref() };
        Some(Some(event_count.listener()))
    }
}

impl Hold {
    /// The channel.
    pub(crate) fn channel(&self) -> &str {
        &self.channel
    }

    /// Whether the application runs.
    pub(crate) fn is_owner_alive(&self) -> bool {
        self.place.attached.alive() == Liveness::Alive
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.alone {
            self.place.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.channel);
        }
    }
}

/// The end of a channel in a client's process: the same protocols as in the application, without a trace.
pub struct ClientEnd<P: Payload> {
    // Before `hold` (I2).
    kind: EndKind<P>,
    sequence: u64,
    lost: u64,
    own: Own<P>,
    deadline: Option<ReaderDeadline>,
    hold: Hold,
}

enum EndKind<P: Payload> {
    Write(Box<StateSlot<'static, P>>),
    Send(QueueSlot<'static, P>, Wakes<'static>),
    Read(Sources<ReadEnd<P>, P>),
    Receive(QueueView<'static, P>, Option<Listener<'static>>),
}

/// The reading end of a state that one party writes, and that party if it is one of several.
type ReadEnd<P> = (StateView<'static, P>, Option<String>);

/// How a client looks at the sources of a state.
struct Looking;

impl<P: Payload> Look<ReadEnd<P>, P> for Looking {
    fn read(&mut self, (view, _): &mut ReadEnd<P>, place: &mut Stamped<P>) -> Result<bool, ReaderOvertaken> {
        view.read(place)
    }

    fn now_ns(&mut self) -> u64 {
        clock::monotonic_ns()
    }
}

/// Whether a client with this role may read an object whose readers are of this kind.
fn may_read(reads: ClientReads, role: Role) -> bool {
    match reads {
        ClientReads::Never => false,
        ClientReads::Storing => role == Role::Takes,
        ClientReads::StoringNothing => true,
    }
}

impl<P: Payload> fmt::Debug for ClientEnd<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClientEnd").field(&self.hold.channel).finish()
    }
}

impl<P: Payload> ClientEnd<P> {
    /// Publishes or sends a value.
    ///
    /// # Errors
    /// Returns the value if the channel did not take it.
    pub fn publish(&mut self, value: P) -> Result<(), P> {
        if self.publish_from(&value) { Ok(()) } else { Err(value) }
    }

    /// As [`ClientEnd::publish`], but copies the value from where it lies: a large value, of more than a kilobyte,
    /// is not moved on its way. Returns whether the channel took the value.
    pub fn publish_from(&mut self, value: &P) -> bool {
        let stamped = self.own.set(clock::monotonic_ns(), self.sequence + 1, value);
        let is_in = match &mut self.kind {
            EndKind::Write(slot) => slot.publish(stamped),
            EndKind::Send(slot, wakes) => {
                let is_in = slot.push(stamped);
                if is_in {
                    wakes.notify();
                }
                is_in
            }
            EndKind::Read(_) | EndKind::Receive(..) => false,
        };
        self.sequence += u64::from(is_in);
        is_in
    }

    /// The newest value and its number; `None` before the first.
    ///
    /// # Errors
    /// [`Overtaken`].
    pub fn latest(&mut self) -> Result<Option<(u64, P)>, Overtaken> {
        Ok(self.latest_ref()?.map(|(number, value)| (number, *value)))
    }

    /// As [`ClientEnd::latest`], but borrows the value from this end's own copy: a large value, of more than a
    /// kilobyte, is not moved on its way.
    ///
    /// # Errors
    /// [`Overtaken`].
    pub fn latest_ref(&mut self) -> Result<Option<(u64, &P)>, Overtaken> {
        let EndKind::Read(sources) = &mut self.kind else { return Ok(None) };
        let found = sources.read(&mut self.own, &mut Looking).map_err(|_| Overtaken)?;
        Ok(found.map(|_| (self.own.stamped().sequence, self.own.value())))
    }

    /// As [`ClientEnd::latest_ref`], with the party that wrote the value in place of its number; it has no name if the state has
    /// one writer.
    ///
    /// # Errors
    /// [`Overtaken`].
    pub fn latest_from(&mut self) -> Result<Option<Delivered<'_, &P>>, Overtaken> {
        let EndKind::Read(sources) = &mut self.kind else { return Ok(None) };
        let found = sources.read(&mut self.own, &mut Looking).map_err(|_| Overtaken)?;
        let sender = |place: usize| sources.end(place).1.as_deref().unwrap_or_default();
        Ok(found.map(|place| Delivered { value: self.own.value(), sender: sender(place), lost: 0 }))
    }
}

impl<P: Payload> ClientEnd<P> {
    /// Takes the oldest value that waits in a queue, and returns it with its number; `None` if none waits, or if the
    /// application's writes overtook this reader at each of a thousand attempts.
    pub fn receive(&mut self) -> Option<(u64, P)> {
        self.receive_ref().map(|(number, value)| (number, *value))
    }

    /// As [`ClientEnd::receive`], but borrows the value from this end's own copy: a large value, of more than a
    /// kilobyte, is not moved on its way.
    pub fn receive_ref(&mut self) -> Option<(u64, &P)> {
        let EndKind::Receive(view, _) = &mut self.kind else { return None };
        self.lost = self.lost.saturating_add(view.pop(self.own.stamped_mut())?);
        Some((self.own.stamped().sequence, self.own.value()))
    }

    /// As [`ClientEnd::receive`], but if no value waits, sleeps until one comes, until the application has ended, or for at
    /// most `patience`. `None` if there is no value then.
    ///
    /// If the application does not wake this client, it looks every millisecond, and the end of the application wakes it. Otherwise
    /// it notices within 10 ms that the application has ended, in whatever way.
    pub fn receive_within(&mut self, patience: Duration) -> Option<(u64, P)> {
        let end_ns = clock::monotonic_ns().saturating_add(patience.as_ns());
        self.receive_until(end_ns).ok()
    }

    /// By when the next value must come: at most this long after the last one, or after this call; `None`, as at first: any time.
    pub fn set_deadline(&mut self, deadline: Option<Duration>) {
        self.deadline = deadline.map(|every| ReaderDeadline::new(every, clock::monotonic_ns()));
    }

    /// As [`ClientEnd::receive`], but if no value waits, sleeps until one comes or the deadline of this end is over.
    ///
    /// # Errors
    /// [`NoValue`] says why no value came. [`NoValue::Ended`] and [`NoValue::Died`] come as soon as the application has ended, as
    /// [`ClientEnd::receive_within`] notices it, and once all values that it sent before are taken.
    pub fn receive_by_deadline(&mut self) -> Result<(u64, P), NoValue> {
        let end_ns = self.deadline.as_ref().map_or(u64::MAX, ReaderDeadline::at_ns);
        let found = self.receive_until(end_ns);
        let now_ns = clock::monotonic_ns();
        match found {
            Ok(found) => {
                self.deadline.iter_mut().for_each(|deadline| deadline.came(now_ns));
                Ok(found)
            }
            Err(Liveness::Ended) => Err(NoValue::Ended),
            Err(Liveness::Died) => Err(NoValue::Died),
            Err(Liveness::Alive) => {
                self.deadline.iter_mut().for_each(|deadline| deadline.missed(now_ns));
                Err(if self.liveness().1 { NoValue::Overdue } else { NoValue::Paused })
            }
        }
    }

    /// The oldest value that waits, or the first that comes until `end_ns`; otherwise whether the application is alive.
    fn receive_until(&mut self, end_ns: u64) -> Result<(u64, P), Liveness> {
        let listener = if let EndKind::Receive(_, listener) = &self.kind { listener.clone() } else { None };
        loop {
            // The epoch is read before the look, so that no wake is missed.
            let epoch = listener.as_ref().map(Listener::epoch);
            if let Some(found) = self.receive() {
                return Ok(found);
            }
            let (now_ns, alive) = (clock::monotonic_ns(), self.hold.place.attached.alive());
            if now_ns >= end_ns || alive != Liveness::Alive {
                // What was sent last may have come after the look above.
                return self.receive().ok_or(alive);
            }
            match listener.as_ref().zip(epoch) {
                Some((listener, epoch)) => {
                    let _ = listener.wait(epoch, Some(end_ns.min(now_ns.saturating_add(ALIVE_NS))));
                }
                None => {
                    let patience = std::time::Duration::from_nanos(LOOK_NS.min(end_ns - now_ns));
                    self.hold.place.attached.wait_for_end(patience);
                }
            }
        }
    }

    /// The owner's entry for this end's channel.
    fn entry(&self) -> Option<&ChannelEntry> {
        self.hold.place.attached.directory().entry(&self.hold.channel)
    }

    /// How many values the queue holds; 0 of a state.
    pub(crate) fn capacity(&self) -> u32 {
        self.entry().map_or(0, |entry| entry.capacity)
    }

    /// Numbers values from the next after `before`.
    pub(crate) fn count_from(&mut self, before: u64) {
        self.sequence = before;
    }

    /// Whether the application lives, and whether the service runs whose task writes the channel; of several sources, whether one of
    /// these services does. A client that writes counts as running.
    pub fn liveness(&self) -> (Liveness, bool) {
        let attached = &self.hold.place.attached;
        let whole =
            |channel: &str| channel.split_once('/').map_or(channel.to_owned(), |(whole, _)| whole.to_owned());
        let own = whole(&self.hold.channel);
        let mut parts = attached.directory().entries().iter().filter(|entry| whole(&entry.channel) == own);
        let runs = parts.any(|entry| attached.service_of(entry) == ServiceState::Running);
        (attached.alive(), runs)
    }

    /// Whether the application runs.
    pub(crate) fn is_owner_alive(&self) -> bool {
        self.hold.is_owner_alive()
    }

    /// How many values this end has lost so far: those that the queue dropped before this end had taken them. It learns
    /// of them with the next value that it takes.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// The event count in the last line of a region.
///
/// # Safety
/// The region is valid for as long as the answer is used, and ends with an event count.
unsafe fn event_count(base: NonNull<u8>, size: usize) -> Option<&'static EventCount> {
    let offset = size.checked_sub(size_of::<EventCount>())?;
    // SAFETY:
    // - offset + size_of::<EventCount>() = size, and both base and size are multiples of 128
    Some(unsafe { base.add(offset).cast::<EventCount>().as_ref() })
}
