// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a bench adds to the ends of channels: a tap at each writing end, and reading ends for parties that a test plays.

use std::sync::Arc;

use taut_plan::ChannelPlan;

use crate::Error;
use crate::create::Create;
use crate::endpoint::{QueueReader, StateReader};
use crate::job::{EventRecorder, sealed};
use crate::payload::Payload;
use crate::queue::QueueSlot;
use crate::state::StateSlot;
use crate::tap::{ChannelTap, TappedQueue, TappedState};

/// A party that a test plays, as the user of its ends: it records what they send and receive.
#[derive(Debug)]
pub struct PartyCaller(pub(crate) EventRecorder);

impl sealed::SealedCaller for PartyCaller {
    const REAL_TIME: bool = false;

    #[expect(private_interfaces, reason = "sealed: nobody else implements or calls it")]
    fn event_recorder(&mut self) -> (&mut EventRecorder, u64) {
        (&mut self.0, 0)
    }
}

/// The reading end of a party, whatever the type of its values.
pub(crate) trait ReadingParty {
    /// Copies a value to `into`, which has the size of one: the oldest of a queue, which it takes, or the newest of a
    /// state. Returns whether there is one.
    fn read(&mut self, by: &mut PartyCaller, into: &mut [u8]) -> bool;
}

impl<P: Payload> ReadingParty for QueueReader<'_, P> {
    fn read(&mut self, by: &mut PartyCaller, into: &mut [u8]) -> bool {
        self.receive_ref(by).map(|value| into.copy_from_slice(value.as_bytes())).is_some()
    }
}

impl<P: Payload> ReadingParty for StateReader<'_, P> {
    fn read(&mut self, by: &mut PartyCaller, into: &mut [u8]) -> bool {
        self.latest_ref(by).map(|value| into.copy_from_slice(value.as_bytes())).is_some()
    }
}

/// Makes the reading end of a party that is no real-time task, for the type of the channel's values.
pub(crate) type MakeReader<'p> =
    for<'a> fn(&mut Create<'a, 'p>, &str) -> Result<Box<dyn ReadingParty + 'p>, Error>;

/// What a bench keeps of the channels of its application.
#[derive(Debug, Default)]
pub(crate) struct BenchChannels<'p> {
    /// By channel, once its writing end is made. The reading end of a bulk channel is made when a test first uses it.
    made: Vec<Option<(Arc<ChannelTap>, Option<MakeReader<'p>>)>>,
}

impl<'p> BenchChannels<'p> {
    pub(crate) fn new(channels: usize) -> Self {
        Self { made: vec![None; channels] }
    }

    /// The writing end of a queue, with its tap.
    pub(crate) fn queue<P: Payload>(
        &mut self,
        at: usize,
        plan: &ChannelPlan,
        slot: QueueSlot<'p, P>,
    ) -> QueueSlot<'p, P> {
        let tap =
            self.tap(at, plan, Some(|create, channel| Ok(Box::new(create.queue_reader::<P>(channel)?))));
        QueueSlot::Tapped(Box::new(TappedQueue { slot, tap }))
    }

    /// The writing end of a state, with its tap.
    pub(crate) fn state<P: Payload>(
        &mut self,
        at: usize,
        plan: &ChannelPlan,
        slot: StateSlot<'p, P>,
    ) -> StateSlot<'p, P> {
        let tap =
            self.tap(at, plan, Some(|create, channel| Ok(Box::new(create.state_reader::<P>(channel)?))));
        StateSlot::Tapped(Box::new(TappedState { slot, tap }))
    }

    /// The tap of a bulk channel.
    pub(crate) fn blocks(&mut self, at: usize, plan: &ChannelPlan) -> Arc<ChannelTap> {
        self.tap(at, plan, None)
    }

    /// The tap of a channel, which is made with its first writing end.
    fn tap(&mut self, at: usize, plan: &ChannelPlan, make: Option<MakeReader<'p>>) -> Arc<ChannelTap> {
        let (tap, _) = self.made[at].get_or_insert_with(|| (Arc::new(ChannelTap::new(plan)), make));
        Arc::clone(tap)
    }

    /// How the reading ends of a channel are made; `None` before the channel has a writing end, and of a bulk channel.
    pub(crate) fn reader(&self, channel: usize) -> Option<MakeReader<'p>> {
        self.made[channel].as_ref().and_then(|(_, make)| *make)
    }

    /// A job is over.
    pub(crate) fn end_job(&self) {
        self.made.iter().flatten().for_each(|(tap, _)| tap.end_job());
    }

    /// The tap of a channel; `None` before the channel has a writing end.
    pub(crate) fn tap_of(&self, channel: usize) -> Option<&ChannelTap> {
        self.made[channel].as_ref().map(|(tap, _)| &**tap)
    }
}
