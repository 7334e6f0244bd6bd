// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The end of a channel in a client's process.

use std::fmt;

use taut_plan::Mechanism;
use taut_segment::{Attached, Entry, Role};
use taut_share::Memory;
use taut_share::queue::qrtr;
use taut_share::state::{sdrtr, sdrtw};
use taut_sys::clock;

use crate::Payload;
use crate::bell::Bell;
use crate::endpoint::{StateSlot, StateView, publish, read};
use crate::payload::Stamped;

/// The end of a channel in a client's process: the same protocols as inside, without a trace.
pub struct ClientEnd<'c, P: Payload> {
    kind: EndKind<'c, P>,
    sequence: u64,
}

enum EndKind<'c, P: Payload> {
    Write(StateSlot<'c, P>),
    Send(qrtr::Writer<'c, Stamped<P>>, Option<&'c Bell>),
    Read(StateView<'c, P>),
}

impl<P: Payload> fmt::Debug for ClientEnd<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientEnd")
    }
}

impl<'c, P: Payload> ClientEnd<'c, P> {
    /// The end that a directory's entry describes; `None` if this version does not know its mechanism, or the
    /// region does not fit it.
    ///
    /// The application grants each client's name to one connection at a time, so there is one writer.
    pub fn new(attached: &'c Attached, entry: &Entry) -> Option<Self> {
        let mechanism = [Mechanism::Sdrtr, Mechanism::Sdrtw, Mechanism::Qrtr];
        let mechanism = mechanism.into_iter().find(|known| known.paper_name() == entry.mechanism)?;
        if entry.value_size as usize != size_of::<P>() {
            return None;
        }
        let region = attached.region(&entry.channel).ok()?;
        let (base, size) = (region.cast::<u8>(), region.len());
        // SAFETY:
        // - `region` checked that it lies inside the mapping, which lives as long as 'c, at a multiple of 128
        // - the application made it for this channel alone; that the application could lie is accepted: a
        //   client trusts the application that it attaches to
        // - mapped read-only for a client that writes nothing, and then only `reader`s are made below
        let memory = unsafe { Memory::from_raw(base, size) };
        // SAFETY:
        // - one connection at a time has this client's name, and our caller takes each end once
        let kind = unsafe {
            match (mechanism, entry.role) {
                (Mechanism::Sdrtr, Role::Writes) => {
                    EndKind::Write(StateSlot::Sdrtr(sdrtr::writer(memory).ok()?))
                }
                (Mechanism::Sdrtw, Role::Reads) => {
                    EndKind::Read(StateView::Sdrtw(sdrtw::reader(memory).ok()?))
                }
                (Mechanism::Qrtr, Role::Writes) => {
                    let ring = qrtr::writer(memory, entry.capacity).ok()?;
                    let bell = if entry.triggered { Some(bell(base, size)?) } else { None };
                    EndKind::Send(ring, bell)
                }
                _ => return None,
            }
        };
        Some(Self { kind, sequence: 0 })
    }

    /// Publishes or sends a value; gives it back if it did not get in.
    pub fn publish(&mut self, value: P) -> Result<(), P> {
        let sent_ns = clock::monotonic_ns();
        match &mut self.kind {
            EndKind::Write(slot) => publish(slot, &mut self.sequence, sent_ns, value).map_err(|busy| busy.0),
            EndKind::Send(ring, bell) => {
                let stamped = Stamped { sent_ns, sequence: self.sequence + 1, value };
                ring.push(stamped).map_err(|refused| refused.0.value)?;
                self.sequence += 1;
                if let Some(bell) = bell {
                    bell.ring();
                }
                Ok(())
            }
            EndKind::Read(_) => Err(value),
        }
    }

    /// The newest value and its number.
    pub fn latest(&mut self) -> Option<(u64, P)> {
        match &mut self.kind {
            EndKind::Read(view) => {
                let stamped = read(view)?;
                let sequence = stamped.sequence;
                Some((sequence, stamped.value))
            }
            EndKind::Write(_) | EndKind::Send(..) => None,
        }
    }
}

/// The last line of a region.
///
/// # Safety
/// The region is valid for `'c` and ends with a bell.
unsafe fn bell<'c>(base: std::ptr::NonNull<u8>, size: usize) -> Option<&'c Bell> {
    let offset = size.checked_sub(size_of::<Bell>())?;
    // SAFETY:
    // - offset + size_of::<Bell>() = size, and both base and size are multiples of 128
    Some(unsafe { base.add(offset).cast::<Bell>().as_ref() })
}
