// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A client's process: its place at the application, and its ends of channels.
//!
//! State      an [`Attachment`] holds the connection and the memory; every end of a channel holds the
//!            attachment. So the memory outlives the ends, and the client's name stays ours until the last
//!            of them is gone.
//! Invariants I1 of each channel that the client writes, one end lives at a time.
//!            I2 an end's protocol is gone before its hold: fields fall in the order of their declaration.
//! Crash      the system ends the connection and frees the name; what the application then sees stands in the
//!            protocols' files.

use std::collections::HashSet;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use taut_lock::{EventCount, Notifier};
use taut_plan::{Mechanism, Way};
use taut_segment::{Attached, Entry, Role};
use taut_share::Memory;
use taut_share::queue::qrtr;
use taut_sys::clock;

use crate::Payload;
use crate::payload::{Own, Stamped};
use crate::state::{Shape, StateSlot, StateView};

/// A client's place at a running application, shared by its ends of channels.
#[derive(Debug)]
pub struct Attachment(Arc<Place>);

#[derive(Debug)]
struct Place {
    attached: Attached,
    /// Channels of which an end that writes lives.
    written: Mutex<HashSet<String>>,
}

/// Why a client cannot have an end of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndError {
    /// There is no such channel, or it carries other values, or goes the other way.
    Segment(taut_segment::Error),
    /// Its mechanism or its region is not one that this version knows.
    Mechanism(String),
    /// An end that writes it lives already.
    Twice(String),
}

/// The application wrote, or was stopped in the middle of writing, at each of a thousand attempts to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overtaken;

impl fmt::Display for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the application was writing at every attempt to read")
    }
}

impl std::error::Error for Overtaken {}

impl Attachment {
    /// Holds what was attached.
    pub fn new(attached: Attached) -> Self {
        Self(Arc::new(Place { attached, written: Mutex::default() }))
    }

    /// The segment and its owner.
    pub fn attached(&self) -> &Attached {
        &self.0.attached
    }

    /// An end of a channel: of one that we read any number, of one that we write one at a time.
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

/// Keeps an end's memory mapped and, if it writes, other ends away.
struct Hold {
    place: Arc<Place>,
    channel: String,
    writes: bool,
}

impl Hold {
    /// `None` if an end that writes the channel lives (I1).
    fn take(place: &Arc<Place>, entry: &Entry) -> Option<Self> {
        let (channel, writes) = (entry.channel.clone(), entry.role == Role::Writes);
        let mut written = place.written.lock().unwrap_or_else(PoisonError::into_inner);
        (!writes || written.insert(channel.clone())).then(|| Self {
            place: Arc::clone(place),
            channel,
            writes,
        })
    }

    /// The protocol over the channel's region. It lives for `'static` as far as its type says; in truth as long
    /// as this hold, which [`ClientEnd`] sees to.
    fn protocol<P: Payload>(&self, entry: &Entry) -> Option<EndKind<P>> {
        let mechanism = Mechanism::from_word(&entry.mechanism)?;
        let shape = Shape { mechanism, buffers: entry.capacity, claims: entry.readers };
        if entry.value_size as usize != size_of::<P>() {
            return None;
        }
        let region = self.place.attached.region(&self.channel).ok()?;
        let (base, size) = (region.cast::<u8>(), region.len());
        let last_line = if entry.triggered { size_of::<EventCount>() } else { 0 };
        // SAFETY:
        // - `region` checked that it lies inside the mapping, at a multiple of 128; the mapping stays where it is
        //   as long as `self.place`, hence longer than the protocol (I2), and its file is sealed against shrinking
        // - the application made it for this channel alone, and the bell's line is left out; that the application could lie is accepted: a
        //   client trusts the application that it attaches to
        // - mapped read-only for a client that writes nothing, and then only readers are made below
        let memory = unsafe { Memory::from_raw(base, size.checked_sub(last_line)?) };
        // SAFETY:
        // - one connection at a time has this client's name, and holds it as long as `self.place`
        // - of the channels that we write, this is the only end that lives (I1); the last one has ended, since
        //   the lock of `written` orders its hold's fall before ours
        unsafe {
            Some(match (mechanism, entry.role) {
                (Mechanism::Qrtr, Role::Writes) => {
                    let ring = qrtr::writer(memory, entry.capacity).ok()?;
                    let notifier =
                        if entry.triggered { Some(event_count(base, size)?.notifier()) } else { None };
                    EndKind::Send(ring, notifier)
                }
                (Mechanism::Qrtr, Role::Reads) => return None,
                (_, Role::Writes) => EndKind::Write(Box::new(StateSlot::over(memory, shape).ok()?)),
                // SDrtR's reader and those with a place store words, which the memory may not be mapped for.
                (Mechanism::Sdrtr, Role::Reads) => return None,
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

/// The end of a channel in a client's process: the same protocols as inside, without a trace.
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
    /// Publishes or sends a value; gives it back if it did not get in.
    ///
    /// # Errors
    /// The value.
    pub fn publish(&mut self, value: P) -> Result<(), P> {
        if self.publish_from(&value) { Ok(()) } else { Err(value) }
    }

    /// [`ClientEnd::publish`] of a value that is copied from where it lies, and whether it got in: a large one, of more
    /// than a kilobyte, is not moved on its way.
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

    /// [`ClientEnd::latest`], lent out of this end's own copy: a large value, of more than a kilobyte, is not moved on its
    /// way.
    ///
    /// # Errors
    /// [`Overtaken`].
    pub fn latest_ref(&mut self) -> Result<Option<(u64, &P)>, Overtaken> {
        let EndKind::Read(reader) = &mut self.kind else { return Ok(None) };
        let is_there = reader.read(self.own.stamped_mut()).map_err(|_| Overtaken)?;
        Ok(is_there.then(|| (self.own.stamped().sequence, self.own.value())))
    }
}

/// The last line of a region.
///
/// # Safety
/// The region is valid for as long as the answer is used, and ends with a bell.
unsafe fn event_count(base: NonNull<u8>, size: usize) -> Option<&'static EventCount> {
    let offset = size.checked_sub(size_of::<EventCount>())?;
    // SAFETY:
    // - offset + size_of::<Bell>() = size, and both base and size are multiples of 128
    Some(unsafe { base.add(offset).cast::<EventCount>().as_ref() })
}
