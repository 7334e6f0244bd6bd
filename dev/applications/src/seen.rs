// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the parties of a drawn application see. Every value has its sender and its number, so what is lost or comes twice shows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use taut_plan::{ChannelKind, Plan};
use taut_run::payload_with;

use crate::blocks::Ledger;
use crate::requests::Calls;

payload_with! {
    "taut_run::zerocopy"
    /// A value of most channels.
    pub(crate) struct Value { pub(crate) urgency: u32, pub(crate) sender: u32, pub(crate) number: u64 }
}

payload_with! {
    "taut_run::zerocopy"
    /// A larger one, whose last words follow from the first, so that one which is torn or another's shows.
    #[derive(PartialEq)]
    pub(crate) struct Long {
        pub(crate) urgency: u32,
        pub(crate) sender: u32,
        pub(crate) number: u64,
        low: u64,
        high: u64
    }
}

payload_with! {
    "taut_run::zerocopy"
    /// What a message of several payloads carries.
    pub(crate) enum Several {
        /// Odd numbers.
        Value(Value),
        /// Even numbers.
        Long(Long),
    }
}

impl Long {
    /// The only one with the numbers of this value.
    pub(crate) fn of(Value { urgency, sender, number }: Value) -> Self {
        let low = (number << 32 | u64::from(sender)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { urgency, sender, number, low, high: !low ^ u64::from(urgency) }
    }
}

impl Several {
    /// The payload in which this value travels.
    pub(crate) fn of(value: Value) -> Self {
        if value.number.is_multiple_of(2) { Self::Long(Long::of(value)) } else { Self::Value(value) }
    }

    /// The value that came; `None` if it is not as it was sent.
    pub(crate) fn value(self) -> Option<Value> {
        match self {
            Self::Value(value) => Some(value).filter(|value| !value.number.is_multiple_of(2)),
            Self::Long(long) => {
                let value = Value { urgency: long.urgency, sender: long.sender, number: long.number };
                (long == Long::of(value) && value.number.is_multiple_of(2)).then_some(value)
            }
        }
    }
}

/// What readers got, by channel and sender: how many values, and the largest number. Each task has a `Seen` of its own, so
/// no job waits for another or uses the heap.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    senders: usize,
    counts: Vec<(u64, u64)>,
    /// By channel: the alarms that were cancelled in time.
    pub(crate) prevented: Vec<u64>,
    /// By message, under its first lane: the values that were dropped before those that came.
    pub(crate) lost: Vec<u64>,
    /// By channel of replies.
    pub(crate) calls: Vec<Calls>,
    /// By channel; only bulk channels have one.
    ledgers: BTreeMap<usize, Ledger>,
    /// What must not be.
    pub(crate) wrong: Vec<String>,
}

/// What all tasks have seen, once they have ended.
pub(crate) type Shared = Arc<Mutex<Seen>>;

impl Seen {
    pub(crate) fn of_plan(plan: &Plan) -> Self {
        let senders = plan.tasks.len();
        let channels = plan.channels.len();
        let bulk = plan.channels.iter().enumerate().filter(|(_, channel)| channel.kind == ChannelKind::Bulk);
        Self {
            senders,
            counts: vec![(0, 0); senders * channels],
            prevented: vec![0; channels],
            lost: vec![0; channels],
            calls: vec![Calls::default(); channels],
            ledgers: bulk.map(|(at, _)| (at, Ledger::new())).collect(),
            wrong: Vec::new(),
        }
    }

    /// Counts a value. `ordered`: its number must be the next one of its sender, after `lost` numbers that are missing.
    pub(crate) fn take(&mut self, channel: usize, value: &Value, ordered: bool, lost: u64) {
        let entry = &mut self.counts[channel * self.senders + value.sender as usize];
        let next = entry.1 + 1 + lost;
        *entry = (entry.0 + 1, entry.1.max(value.number));
        if ordered && value.number != next {
            self.wrong(format!("channel {channel}: {value:?}, expected number {next}"));
        }
    }

    /// Something is as it must not be.
    pub(crate) fn wrong(&mut self, what: String) {
        if self.wrong.len() < 10 {
            self.wrong.push(what);
        }
    }

    /// How many values of a sender were got, and the largest number.
    pub(crate) fn of(&self, channel: usize, sender: u32) -> (u64, u64) {
        self.counts[channel * self.senders + sender as usize]
    }

    /// How many values were dropped in lanes.
    pub(crate) fn all_lost(&self) -> u64 {
        self.lost.iter().sum()
    }

    /// How many requests were answered, and how many dropped.
    pub(crate) fn requests(&self) -> [u64; 2] {
        self.calls
            .iter()
            .map(Calls::outcomes)
            .fold([0, 0], |[all, none], [answered, dropped]| [all + answered, none + dropped])
    }

    /// How many alarms of a channel were cancelled in time.
    pub(crate) fn prevented(&self, channel: usize) -> u64 {
        self.prevented[channel]
    }

    /// What became of the blocks of a channel.
    pub(crate) fn ledger(&self, channel: usize) -> Option<&Ledger> {
        self.ledgers.get(&channel)
    }

    /// The same, for a party to enter what it sees.
    pub(crate) fn enter(&mut self, channel: usize) -> &mut Ledger {
        self.ledgers.entry(channel).or_insert_with(Ledger::new)
    }

    /// As [`Seen::take`], of a channel that may lose values.
    pub(crate) fn take_any(&mut self, channel: usize, value: &Value) {
        self.take(channel, value, false, 0);
    }

    /// Adds this to what all tasks have seen.
    pub(crate) fn show(&self, shared: &Shared) {
        shared.lock().unwrap_or_else(PoisonError::into_inner).add(self);
    }

    /// Adds what another task has seen: all readers of a channel together.
    fn add(&mut self, other: &Self) {
        for (all, own) in self.counts.iter_mut().zip(&other.counts) {
            *all = (all.0 + own.0, all.1.max(own.1));
        }
        self.prevented.iter_mut().zip(&other.prevented).for_each(|(all, own)| *all += own);
        self.lost.iter_mut().zip(&other.lost).for_each(|(all, own)| *all += own);
        self.calls.iter_mut().zip(&other.calls).for_each(|(all, own)| all.add(own));
        for (channel, ledger) in &other.ledgers {
            let twice = self.ledgers.get_mut(channel).and_then(|all| all.add(ledger));
            if let Some(number) = twice {
                self.wrong
                    .push(format!("channel {channel}: block {number} came twice, or was taken back as well"));
            }
        }
        self.wrong.extend_from_slice(&other.wrong);
    }
}
