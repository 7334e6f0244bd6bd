// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A tap at the writing end of a channel, in a bench: it keeps the values that a test watches, and loses
//! those that the test names.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use taut_plan::ChannelPlan;
use zerocopy::IntoBytes;

use crate::payload::{Payload, Stamped};
use crate::queue::QueueSlot;
use crate::state::StateSlot;

/// What a test asks of a channel: to keep its values, or to lose some.
pub(crate) struct ChannelTap(Mutex<Tapped>);

impl fmt::Debug for ChannelTap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChannelTap")
    }
}

struct Tapped {
    is_watched: bool,
    /// The values of the running job, with their stamps, one after the other.
    fresh: Vec<u8>,
    /// All earlier ones.
    kept: Vec<u8>,
    /// The numbers of values that never reach a reader.
    lost: BTreeSet<u64>,
    /// The room of `fresh`: what a job may send.
    room: usize,
}

impl ChannelTap {
    pub(crate) fn new(plan: &ChannelPlan) -> Self {
        let stamped = (taut_plan::STAMP_BYTES as usize).saturating_add(plan.size as usize);
        let room = stamped.saturating_mul(plan.sends_per_release as usize);
        Self(Mutex::new(Tapped {
            is_watched: false,
            fresh: Vec::new(),
            kept: Vec::new(),
            lost: BTreeSet::new(),
            room,
        }))
    }

    fn with<R>(&self, act: impl FnOnce(&mut Tapped) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps all values from now on.
    pub(crate) fn watch(&self) {
        self.with(|tapped| {
            tapped.is_watched = true;
            tapped.fresh.reserve(tapped.room);
        });
    }

    /// Loses the value of this number.
    pub(crate) fn lose(&self, number: u64) {
        self.with(|tapped| tapped.lost.insert(number));
    }

    /// The job is over: keeps what it sent, and makes room for the next job's values. While a job runs, a tap
    /// does not use the heap, because the job must not.
    pub(crate) fn end_job(&self) {
        self.with(|tapped| {
            if !tapped.fresh.is_empty() {
                tapped.kept.append(&mut tapped.fresh);
            }
        });
    }

    /// Passes the bytes of all kept values to `take`, oldest first, each with its stamp: instant (ns) and number.
    pub(crate) fn values<P: Payload>(&self, mut take: impl FnMut(Stamped<P>)) {
        self.with(|tapped| {
            tapped.kept.append(&mut tapped.fresh);
            for bytes in tapped.kept.chunks_exact(size_of::<Stamped<P>>()) {
                // The length is that of the type, for which all bytes are valid.
                if let Ok(stamped) = zerocopy::FromBytes::read_from_bytes(bytes) {
                    take(stamped);
                }
            }
        });
    }

    /// A value was sent: its stamp and its bytes.
    pub(crate) fn keep(&self, sent_ns: u64, number: u64, value: &[u8]) {
        self.with(|tapped| {
            if tapped.is_watched {
                tapped.fresh.extend_from_slice(sent_ns.as_bytes());
                tapped.fresh.extend_from_slice(number.as_bytes());
                tapped.fresh.extend_from_slice(value);
            }
        });
    }

    /// A value is sent. Returns whether it reaches its readers.
    fn arrives<P: Payload>(&self, stamped: &Stamped<P>) -> bool {
        self.with(|tapped| tapped.lost.is_empty() || !tapped.lost.contains(&{ stamped.sequence }))
    }

    fn sent<P: Payload>(&self, stamped: &Stamped<P>) {
        self.keep(stamped.sent_ns, stamped.sequence, stamped.value_bytes());
    }
}

/// The writing end of a queue in a bench.
pub(crate) struct TappedQueue<'p, P: Payload> {
    pub(crate) slot: QueueSlot<'p, P>,
    pub(crate) tap: Arc<ChannelTap>,
}

impl<P: Payload> TappedQueue<'_, P> {
    /// As [`QueueSlot::push`]. A value that is lost counts as appended: its sender does not learn of it.
    pub(crate) fn push(&mut self, stamped: &Stamped<P>) -> bool {
        let is_in = !self.tap.arrives(stamped) || self.slot.push(stamped);
        if is_in {
            self.tap.sent(stamped);
        }
        is_in
    }
}

/// The writing end of a state in a bench.
pub(crate) struct TappedState<'p, P: Payload> {
    pub(crate) slot: StateSlot<'p, P>,
    pub(crate) tap: Arc<ChannelTap>,
}

impl<P: Payload> TappedState<'_, P> {
    /// As [`StateSlot::publish`], with losses as in [`TappedQueue::push`].
    pub(crate) fn publish(&mut self, stamped: &Stamped<P>) -> bool {
        let is_published = !self.tap.arrives(stamped) || self.slot.publish(stamped);
        if is_published {
            self.tap.sent(stamped);
        }
        is_published
    }
}
