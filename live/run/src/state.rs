// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ends of a state, of tasks and clients alike, in the protocol that the plan chose.

use std::sync::{Arc, Mutex};

use taut_plan::{Mechanism, Way, lock_mechanisms};
use taut_share::state::{
    ReaderOvertaken, chen, double_buffer, hybrid, improved_chen, nbw_temporal, peterson, presence, sdrtr,
    sdrtw,
};
use taut_share::{LayoutError, Memory};

use crate::flow;
use crate::payload::{Payload, Stamped};
use crate::tap::TappedState;

/// Attempts of a writer that is not real-time before it gives up, and of a reader that must retry. A read takes well
/// under a microsecond unless another thread preempts it, so with the yields in between these attempts span some
/// milliseconds.
pub(crate) const ATTEMPTS: u32 = 1_000;
/// Attempts of a real-time reader that is safe by time. One suffices while deadlines are met.
const ATTEMPTS_BY_TIME: u32 = 3;

/// The shape of an object, as the plan states it and a client receives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) mechanism: Mechanism,
    /// Copies of the value.
    pub(crate) buffers: u32,
    /// Readers that have a place of their own.
    pub(crate) claims: u32,
}

impl Shape {
    /// Spare slots of Hybrid.
    fn spare(self) -> u32 {
        self.buffers.saturating_sub(self.claims).saturating_sub(2)
    }

    /// Writes that may overlap a fast read of Improved Chen.
    fn overlaps(self) -> u32 {
        self.buffers.saturating_sub(self.claims).saturating_sub(1)
    }
}

/// The writing end.
pub(crate) enum StateSlot<'p, P: Payload> {
    Sdrtr(sdrtr::Writer<'p, Stamped<P>>),
    Sdrtw(sdrtw::Writer<'p, Stamped<P>>),
    Chen(chen::Writer<'p, Stamped<P>>),
    DoubleBuffer(double_buffer::Writer<'p, Stamped<P>>),
    Presence(presence::Writer<'p, Stamped<P>>),
    Peterson(peterson::Writer<'p, Stamped<P>>),
    /// Hybrid and Improved Chen.
    Hybrid(hybrid::Writer<'p, Stamped<P>>),
    Nbw(nbw_temporal::Writer<'p, Stamped<P>>),
    /// The end of a synchronous flow, shared with the job context.
    Flow(Arc<Mutex<flow::Writer<'p, P>>>),
    /// One of the others, with a tap: in a bench.
    Tapped(Box<TappedState<'p, P>>),
}

impl<'p, P: Payload> StateSlot<'p, P> {
    /// Makes the writing end over the memory of its channel.
    ///
    /// # Errors
    /// Those of the object; [`LayoutError::Capacity`] for a mechanism that is not one of a state.
    ///
    /// # Safety
    /// The memory holds an object of this shape for this value, or zeros; no other writer of it lives.
    pub(crate) unsafe fn over(memory: Memory<'p>, shape: Shape) -> Result<Self, LayoutError> {
        let Shape { mechanism, buffers, claims } = shape;
        // SAFETY:
        // - the caller's duties are those of each function called here
        unsafe {
            Ok(match mechanism {
                Mechanism::Sdrtr => Self::Sdrtr(sdrtr::writer(memory)?),
                Mechanism::Sdrtw => Self::Sdrtw(sdrtw::writer(memory)?),
                Mechanism::Chen => Self::Chen(chen::writer(memory, claims)?),
                Mechanism::DoubleBuffer => Self::DoubleBuffer(double_buffer::writer(memory, claims)?),
                Mechanism::Presence => Self::Presence(presence::writer(memory, claims)?),
                Mechanism::Peterson => Self::Peterson(peterson::writer(memory, claims)?),
                Mechanism::Hybrid => Self::Hybrid(hybrid::writer(memory, claims, shape.spare())?),
                Mechanism::ImprovedChen => {
                    Self::Hybrid(improved_chen::writer(memory, claims, shape.overlaps())?)
                }
                Mechanism::Nbw => Self::Nbw(nbw_temporal::writer(memory, buffers)?),
                // Not a state, or a state under a lock, whose ends are `Locked`; flows have ends of their own.
                Mechanism::Qrtr
                | Mechanism::TimedSlots
                | Mechanism::Broadcast
                | Mechanism::Bulk
                | Mechanism::ReservedBulk
                | Mechanism::Qrtwo
                | Mechanism::Qrtwc
                | lock_mechanisms!()
                | Mechanism::Dbp
                | Mechanism::Tccp => {
                    return Err(LayoutError::Capacity);
                }
            })
        }
    }

    /// Publishes a value; returns whether it did. Only SDrtR can refuse it, and a flow in which no job is activated.
    pub(crate) fn publish(&mut self, stamped: &Stamped<P>) -> bool {
        match self {
            Self::Sdrtw(writer) => writer.write(stamped),
            Self::Chen(writer) => writer.write(stamped),
            Self::DoubleBuffer(writer) => writer.write(stamped),
            Self::Presence(writer) => writer.write(stamped),
            Self::Peterson(writer) => writer.write(stamped),
            Self::Hybrid(writer) => writer.write(stamped),
            Self::Nbw(writer) => writer.write(stamped),
            Self::Tapped(state) => return state.publish(stamped),
            Self::Flow(writer) => {
                return flow::write(writer, stamped);
            }
            Self::Sdrtr(writer) => {
                let mut attempts = ATTEMPTS;
                while writer.try_publish(stamped).is_err() {
                    attempts -= 1;
                    if attempts == 0 {
                        return false;
                    }
                    std::thread::yield_now();
                }
            }
        }
        true
    }
}

/// A reading end.
pub(crate) enum StateView<'p, P: Payload> {
    Sdrtr(sdrtr::Reader<'p, Stamped<P>>),
    Sdrtw(sdrtw::Reader<'p, Stamped<P>>),
    Chen(chen::Reader<'p, Stamped<P>>),
    DoubleBuffer(double_buffer::Reader<'p, Stamped<P>>),
    Presence(presence::Reader<'p, Stamped<P>>),
    Peterson(peterson::Reader<'p, Stamped<P>>),
    Hybrid(hybrid::Reader<'p, Stamped<P>>),
    SlowChen(improved_chen::SlowReader<'p, Stamped<P>>),
    /// A reader of Hybrid or Improved Chen without a place; and its number of attempts.
    Looking(hybrid::Observer<'p, Stamped<P>>, u32),
    /// The same for NBW.
    Nbw(nbw_temporal::Reader<'p, Stamped<P>>, u32),
    /// The end of a synchronous flow, shared with the job context.
    Flow(Arc<Mutex<flow::Reader<'p, P>>>),
}

impl<'p, P: Payload> StateView<'p, P> {
    /// Makes a reading end over the memory of its channel: that of place `claim`, or one without a place.
    ///
    /// # Errors
    /// Those of the object; [`LayoutError::Readers`] if the mechanism has no such readers.
    ///
    /// # Safety
    /// The memory holds an object of this shape for this value, or zeros; no other reader of an SDrtR object, or of
    /// the same place, lives. If the memory is mapped read-only, the mechanism is not SDrtR and there is no
    /// `claim`.
    pub(crate) unsafe fn over(
        memory: Memory<'p>,
        shape: Shape,
        way: Option<Way>,
        claim: Option<u32>,
    ) -> Result<Self, LayoutError> {
        let Shape { mechanism, buffers, claims } = shape;
        let attempts = if way == Some(Way::ByTime) { ATTEMPTS_BY_TIME } else { ATTEMPTS };
        let (spare, overlaps) = (shape.spare(), shape.overlaps());
        // SAFETY:
        // - the caller's duties are those of each function called here
        unsafe {
            Ok(match (mechanism, claim) {
                (Mechanism::Sdrtr, None) => Self::Sdrtr(sdrtr::reader(memory)?),
                (Mechanism::Sdrtw, None) => Self::Sdrtw(sdrtw::reader(memory)?),
                (Mechanism::Chen, Some(which)) => Self::Chen(chen::reader(memory, claims, which)?),
                (Mechanism::DoubleBuffer, Some(which)) => {
                    Self::DoubleBuffer(double_buffer::reader(memory, claims, which)?)
                }
                (Mechanism::Presence, Some(which)) => {
                    Self::Presence(presence::reader(memory, claims, which)?)
                }
                (Mechanism::Peterson, Some(which)) => {
                    Self::Peterson(peterson::reader(memory, claims, which)?)
                }
                (Mechanism::Hybrid, Some(which)) => {
                    Self::Hybrid(hybrid::reader(memory, claims, spare, which)?)
                }
                (Mechanism::Hybrid, None) => {
                    Self::Looking(hybrid::observer(memory, claims, spare)?, attempts)
                }
                (Mechanism::ImprovedChen, Some(which)) => {
                    Self::SlowChen(improved_chen::slow_reader(memory, claims, overlaps, which)?)
                }
                (Mechanism::ImprovedChen, None) => {
                    Self::Looking(improved_chen::fast_reader(memory, claims, overlaps)?, attempts)
                }
                (Mechanism::Nbw, None) => Self::Nbw(nbw_temporal::reader(memory, buffers)?, attempts),
                // No place, or no reader without one; not a state, or one whose ends are others: see above.
                (Mechanism::Sdrtr | Mechanism::Sdrtw | Mechanism::Nbw, Some(_))
                | (
                    Mechanism::Chen | Mechanism::DoubleBuffer | Mechanism::Presence | Mechanism::Peterson,
                    None,
                )
                | (
                    Mechanism::Qrtr
                    | Mechanism::TimedSlots
                    | Mechanism::Broadcast
                    | Mechanism::Bulk
                    | Mechanism::ReservedBulk
                    | Mechanism::Qrtwo
                    | Mechanism::Qrtwc
                    | lock_mechanisms!()
                    | Mechanism::Dbp
                    | Mechanism::Tccp,
                    _,
                ) => {
                    return Err(LayoutError::Readers);
                }
            })
        }
    }

    /// Copies the newest value to `value`. Returns whether there is one.
    ///
    /// # Errors
    /// [`ReaderOvertaken`] if a reader without a place was overtaken at every attempt; `value` then holds anything.
    #[inline]
    pub(crate) fn read(&mut self, value: &mut Stamped<P>) -> Result<bool, ReaderOvertaken> {
        match self {
            Self::Sdrtr(reader) => Ok(reader.read_into(value)),
            Self::Sdrtw(reader) => again(ATTEMPTS, || reader.try_read_into(value)),
            Self::Chen(reader) => Ok(reader.read_into(value).is_some()),
            Self::DoubleBuffer(reader) => Ok(reader.read_into(value).is_some()),
            Self::Presence(reader) => Ok(reader.read_into(value).is_some()),
            Self::Peterson(reader) => Ok(reader.read_into(value).is_some()),
            Self::Hybrid(reader) => Ok(reader.read_into(value).is_some()),
            Self::SlowChen(reader) => Ok(reader.read_into(value).is_some()),
            Self::Looking(reader, attempts) => again(*attempts, || reader.try_read_into(value)),
            Self::Nbw(reader, attempts) => again(*attempts, || reader.read_into(value)),
            Self::Flow(reader) => flow::read(reader, value),
        }
    }
}

/// Reads until an attempt succeeds, at most `attempts` times.
#[inline]
fn again<E>(
    attempts: u32,
    mut read: impl FnMut() -> Result<Option<u64>, E>,
) -> Result<bool, ReaderOvertaken> {
    for _ in 0..attempts {
        if let Ok(version) = read() {
            return Ok(version.is_some());
        }
        std::hint::spin_loop();
    }
    Err(ReaderOvertaken)
}
