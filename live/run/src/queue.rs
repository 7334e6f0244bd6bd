// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The two ends of a queue, whatever its mechanism, over the memory of its channel.

use taut_lock::Notifier;
use taut_plan::{ChannelPlan, Mechanism, spare_slots};
use taut_share::queue::{broadcast, qrtr, qrtwc, qrtwo, ring};
use taut_share::{LayoutError, Memory};

use crate::Payload;
use crate::payload::Stamped;
use crate::tap::TappedQueue;

/// How often a reader that is not real-time tries to take a value, if the writer overwrites it each time.
const ATTEMPTS: u32 = 1_000;
/// How often a real-time reader does: of a broadcast, whose writer overwrites nothing while rates are kept; and of a lane whose
/// sender drops its oldest values.
pub(crate) const URGENT_ATTEMPTS: u32 = 3;

/// The object of a queue, as the plan or a client's directory says it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueShape {
    pub(crate) mechanism: Mechanism,
    pub(crate) capacity: u32,
    /// How many readers the writer of a broadcast respects.
    pub(crate) claims: u32,
}

impl QueueShape {
    pub(crate) fn of(plan: &ChannelPlan) -> Self {
        Self { mechanism: plan.mechanism, capacity: plan.capacity, claims: plan.claims() }
    }
}

/// Spare slots of a ring for this payload, as the plan counts them.
pub(crate) fn spare<P: Payload>() -> u32 {
    spare_slots(u32::try_from(size_of::<Stamped<P>>()).unwrap_or(u32::MAX))
}

/// The writing end.
pub(crate) enum QueueSlot<'p, P: Payload> {
    Qrtr(qrtr::Writer<'p, Stamped<P>>),
    Qrtwo(qrtwo::Writer<'p, Stamped<P>>),
    Qrtwc(qrtwc::Writer<'p, Stamped<P>>),
    Broadcast(broadcast::Writer<'p, Stamped<P>>),
    /// One of the others, with a tap: in a bench.
    Tapped(Box<TappedQueue<'p, P>>),
}

impl<'p, P: Payload> QueueSlot<'p, P> {
    /// Makes the writing end over the memory of its channel.
    ///
    /// # Errors
    /// Those of the object; [`LayoutError::Capacity`] for a mechanism that is not one of a queue.
    ///
    /// # Safety
    /// The memory holds an object of this shape for this value, or zeros; no other writer of it lives.
    pub(crate) unsafe fn over(memory: Memory<'p>, shape: QueueShape) -> Result<Self, LayoutError> {
        let QueueShape { mechanism, capacity, claims } = shape;
        // SAFETY:
        // - the caller's duties are those of each function called here; both ends have the spare slots of the payload
        unsafe {
            match mechanism {
                Mechanism::Qrtr => qrtr::writer(memory, capacity).map(Self::Qrtr),
                Mechanism::Qrtwo => qrtwo::writer(memory, capacity, spare::<P>()).map(Self::Qrtwo),
                Mechanism::Qrtwc => qrtwc::writer(memory, capacity, spare::<P>()).map(Self::Qrtwc),
                Mechanism::Broadcast => broadcast::writer(memory, claims, capacity).map(Self::Broadcast),
                _ => Err(LayoutError::Capacity),
            }
        }
    }

    /// Appends a value; returns whether it is in the queue. QrtR and a broadcast can refuse it.
    #[inline]
    pub(crate) fn push(&mut self, stamped: &Stamped<P>) -> bool {
        match self {
            Self::Qrtr(writer) => return writer.push_from(stamped).is_ok(),
            Self::Qrtwo(writer) => writer.push(stamped),
            Self::Qrtwc(writer) => writer.push(stamped),
            Self::Broadcast(writer) => return writer.push(stamped).is_ok(),
            Self::Tapped(queue) => return queue.push(stamped),
        }
        true
    }
}

/// A reading end.
pub(crate) enum QueueView<'p, P: Payload> {
    Qrtr(qrtr::Reader<'p, Stamped<P>>),
    Qrtwo(qrtwo::Follower<'p, Stamped<P>>),
    Qrtwc(qrtwc::Follower<'p, Stamped<P>>),
    Broadcast(broadcast::Reader<'p, Stamped<P>>),
    Observer(broadcast::Follower<'p, Stamped<P>>),
}

impl<'p, P: Payload> QueueView<'p, P> {
    /// Makes a reading end over the memory of its channel; of a broadcast that of reader `which`, whom the writer respects.
    /// A follower, of QrtWo, QrtWc or a broadcast, begins with the next value that is sent.
    ///
    /// # Errors
    /// Those of the object; [`LayoutError::Capacity`] for a mechanism that is not one of a queue.
    ///
    /// # Safety
    /// The memory holds an object of this shape for this value, or zeros. For QrtR, and for a reader `which`, it is mapped
    /// for writing, and no other such reader of it lives.
    pub(crate) unsafe fn over(
        memory: Memory<'p>,
        shape: QueueShape,
        which: Option<u32>,
    ) -> Result<Self, LayoutError> {
        let QueueShape { mechanism, capacity, claims } = shape;
        // SAFETY:
        // - the caller's duties are those of each function called here; both ends have the spare slots of the payload;
        //   a follower only loads
        unsafe {
            match mechanism {
                Mechanism::Qrtr => qrtr::reader(memory, capacity).map(Self::Qrtr),
                Mechanism::Qrtwo => qrtwo::follower(memory, capacity, spare::<P>()).map(Self::Qrtwo),
                Mechanism::Qrtwc => qrtwc::follower(memory, capacity, spare::<P>()).map(Self::Qrtwc),
                Mechanism::Broadcast => match which {
                    Some(which) => broadcast::reader(memory, claims, capacity, which).map(Self::Broadcast),
                    None => broadcast::follower(memory, claims, capacity).map(Self::Observer),
                },
                _ => Err(LayoutError::Capacity),
            }
        }
    }

    /// Lets a follower begin with the last `count` values that were sent, as far as the queue holds them. Without effect on other
    /// readers.
    pub(crate) fn rewind(&mut self, count: u32) {
        match self {
            _ if count == 0 => {}
            Self::Qrtwo(reader) => reader.rewind(count),
            Self::Qrtwc(reader) => reader.rewind(count),
            Self::Observer(reader) => reader.rewind(count),
            Self::Qrtr(_) | Self::Broadcast(_) => {}
        }
    }

    /// Takes the oldest value into `value`, and returns how many were lost before it. `None` if no value
    /// waits, if the other process wrote nonsense into the queue's words, if the writer overtook this reader
    /// at each attempt (3 of a respected reader of a broadcast, a thousand of others), or if it takes no part
    /// in a broadcast.
    #[inline]
    pub(crate) fn pop(&mut self, value: &mut Stamped<P>) -> Option<u64> {
        match self {
            Self::Qrtr(reader) => (reader.pop_into(value) == Ok(true)).then_some(0),
            Self::Qrtwo(reader) => follow(ATTEMPTS, || reader.pop_into(value)),
            Self::Qrtwc(reader) => follow(ATTEMPTS, || reader.pop_into(value)),
            Self::Observer(reader) => follow(ATTEMPTS, || reader.pop_into(value)),
            Self::Broadcast(reader) => {
                if !reader.goes_on() {
                    return None;
                }
                follow(URGENT_ATTEMPTS, || reader.pop_into(value))
            }
        }
    }
}

/// Takes a value until an attempt succeeds or finds none.
pub(crate) fn follow(
    attempts: u32,
    mut pop: impl FnMut() -> Result<Option<u64>, ring::Overwritten>,
) -> Option<u64> {
    for _ in 0..attempts {
        if let Ok(popped) = pop() {
            return popped;
        }
        std::hint::spin_loop();
    }
    None
}

/// What a send wakes: the task that the queue releases, or the readers that wait for a value.
pub(crate) struct Wakes<'p>(Box<[Notifier<'p>]>);

impl<'p> Wakes<'p> {
    pub(crate) fn new(notifiers: impl IntoIterator<Item = Notifier<'p>>) -> Self {
        Self(notifiers.into_iter().collect())
    }

    /// Wakes the sleeping ones. Wait-free: an exchange for each, and a futex wake if it has slept since the
    /// last exchange.
    #[inline]
    pub(crate) fn notify(&mut self) {
        for notifier in &mut self.0 {
            notifier.notify();
        }
    }
}
