// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A client's process: its attachment to the application, and its ends of channels.
//!
//! State      an [`Attachment`] holds the connection and the memory; every end of a channel holds the
//!            attachment. So the memory outlives the ends, and the client keeps its name until the last end is dropped.
//! Invariants I1 each channel that the client writes has at most one end at a time.
//!            I2 an end's protocol is dropped before its hold: fields drop in the order of their declaration.
//! Crash      the system ends the connection and frees the name; the files of the protocols say what the
//!            application then sees.

use std::collections::HashSet;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use taut_lock::{EventCount, Notifier};
use taut_plan::{Mechanism, Way};
use taut_segment::{Attached, ChannelEntry, Role};
use taut_share::Memory;
use taut_share::queue::qrtr;
use taut_sys::clock;

use crate::Payload;
use crate::payload::{Own, Stamped};
use crate::state::{Shape, StateSlot, StateView};

/// A client's attachment to a running application; its ends of channels share it.
#[derive(Debug)]
pub struct Attachment(Arc<Place>);

#[derive(Debug)]
struct Place {
    attached: Attached,
    /// Channels that have a writing end.
    written: Mutex<HashSet<String>>,
}

/// Why a client cannot have an end of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndError {
    /// There is no such channel, it carries other values, or it goes the other way.
    Segment(taut_segment::Error),
    /// This version does not know its mechanism or its region, or clients cannot read it by that mechanism.
    Mechanism(String),
    /// The channel already has a writing end.
    Twice(String),
}

/// At each of a thousand attempts to read, the application was writing, or had been stopped in the middle of a
/// write.
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
        Self(Arc::new(Place { attached, written: Mutex::default() }))
    }

    /// The segment and its owner.
    pub fn attached(&self) -> &Attached {
        &self.0.attached
    }

    /// Makes an end of a channel: any number of reading ends, one writing end at a time.
    ///
    /// # Errors
    /// [`EndError`].
    pub fn end<P: Payload>(&self, channel: &str, role: Role) -> Result<ClientEnd<P>, EndError> {
        let entry = self.0.attached.entry_as(channel, role, &P::layout()).map_err(EndError::Segment)?;
        let hold = Hold::take(&self.0, entry).ok_or_else(|| EndError::Twice(channel.to_owned()))?;
        let kind = hold.protocol(entry).ok_or_else(|| EndError::Mechanism(channel.to_owned()))?;
        Ok(ClientEnd { kind, sequence: 0, own: Own::new(), hold })
    }
}

/// Keeps the memory of an end mapped and, for a writing end, excludes other ends.
struct Hold {
    place: Arc<Place>,
    channel: String,
    writes: bool,
}

impl Hold {
    /// `None` if the channel has a writing end (I1).
    fn take(place: &Arc<Place>, entry: &ChannelEntry) -> Option<Self> {
        let (channel, writes) = (entry.channel.clone(), entry.role == Role::Writes);
        let mut written = place.written.lock().unwrap_or_else(PoisonError::into_inner);
        (!writes || written.insert(channel.clone())).then(|| Self {
            place: Arc::clone(place),
            channel,
            writes,
        })
    }

    /// The protocol over the channel's region. Its type says that it lives for `'static`; in truth it lives as long
    /// as this hold, which [`ClientEnd`] ensures.
    fn protocol<P: Payload>(&self, entry: &ChannelEntry) -> Option<EndKind<P>> {
        let mechanism = Mechanism::from_word(&entry.mechanism)?;
        let shape = Shape { mechanism, buffers: entry.capacity, claims: entry.readers };
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
        // - a channel that we write has no other living end (I1); its last one has ended, since the lock of
        //   `written` orders the drop of that end's hold before ours
        unsafe {
            Some(match (mechanism, entry.role) {
                (Mechanism::Qrtr, Role::Writes) => {
                    let ring = qrtr::writer(memory, entry.capacity).ok()?;
                    let notifier =
                        if entry.triggered { Some(event_count(base, size)?.notifier()) } else { None };
                    EndKind::Send(ring, notifier)
                }
                (_, Role::Writes) => EndKind::Write(Box::new(StateSlot::over(memory, shape).ok()?)),
                // A reader that stores words would fault: the memory is mapped read-only.
                (_, Role::Reads) if !mechanism.clients_read() => return None,
                (_, Role::Reads) => {
                    EndKind::Read(StateView::over(memory, shape, Some(Way::LooksOn), None).ok()?)
                }
            })
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.writes {
            self.place.written.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.channel);
        }
    }
}

/// The end of a channel in a client's process: the same protocols as in the application, without a trace.
pub struct ClientEnd<P: Payload> {
    // Before `hold` (I2).
    kind: EndKind<P>,
    sequence: u64,
    own: Own<P>,
    hold: Hold,
}

enum EndKind<P: Payload> {
    Write(Box<StateSlot<'static, P>>),
    Send(qrtr::Writer<'static, Stamped<P>>, Option<Notifier<'static>>),
    Read(StateView<'static, P>),
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
            EndKind::Write(slot) => slot.publish(stamped).is_ok(),
            EndKind::Send(ring, notifier) => {
                let is_in = ring.push_from(stamped).is_ok();
                if let (true, Some(notifier)) = (is_in, notifier) {
                    notifier.notify();
                }
                is_in
            }
            EndKind::Read(_) => false,
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
        let EndKind::Read(reader) = &mut self.kind else { return Ok(None) };
        let is_there = reader.read(self.own.stamped_mut()).map_err(|_| Overtaken)?;
        Ok(is_there.then(|| (self.own.stamped().sequence, self.own.value())))
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
