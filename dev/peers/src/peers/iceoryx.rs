// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The project iceoryx2: processes find objects by name; each side has a node of its own.

use std::fmt::Display;

use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::reader::{BlackboardValue, EntryHandle};
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::port::writer::EntryHandleMut;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::{blackboard, publish_subscribe};

use crate::object::{About, Ends, Kind, Place, Placed, capacity};

fn said(error: impl Display) -> String {
    error.to_string()
}

/// Ends whose counts of owners are not atomic, moved to a thread as a whole.
pub(super) struct Moved<T>(T);

// SAFETY: each end is made with a node and a service of its own, moved with them once, before its first use, and
// dropped with them: two threads never reach the same count of owners.
unsafe impl<T> Send for Moved<T> {}

fn node() -> Result<Node<ipc::Service>, String> {
    set_log_level(LogLevel::Error);
    NodeBuilder::new()
        .signal_handling_mode(SignalHandlingMode::Disabled)
        .create::<ipc::Service>()
        .map_err(said)
}

fn name(place: &Place<'_>) -> Result<ServiceName, String> {
    place.name.try_into().map_err(|error| format!("{error:?}"))
}

/// Publish and subscribe; a value that finds no room is discarded.
pub(super) struct PubSub;

impl About for PubSub {
    const NAME: &'static str = "iceoryx2 pub-sub";
    const KIND: Kind = Kind::Queue;
    const LINES: [&'static str; 2] = ["2 queues of indices + L", "2 queues of indices + L"];
}

type Topic<const N: usize> = publish_subscribe::PortFactory<ipc::Service, [u64; N], ()>;

fn topic<const N: usize>(place: &Place<'_>, node: &Node<ipc::Service>) -> Result<Topic<N>, String> {
    let builder = node.service_builder(&name(place)?).publish_subscribe::<[u64; N]>();
    builder
        .max_publishers(1)
        .max_subscribers(1)
        .history_size(0)
        .subscriber_max_buffer_size(capacity(N))
        .subscriber_max_borrowed_samples(2)
        .enable_safe_overflow(false)
        .open_or_create()
        .map_err(said)
}

impl<const N: usize> Ends<N> for PubSub {
    type Writer = Moved<(Publisher<ipc::Service, [u64; N], ()>, Topic<N>, Node<ipc::Service>)>;
    type Reader = Moved<(Subscriber<ipc::Service, [u64; N], ()>, Topic<N>, Node<ipc::Service>)>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        let Ok(sample) = writer.0.0.loan_uninit() else { return false };
        // The number of subscribers that have room for it.
        sample.write_payload(*value).send().is_ok_and(|receivers| receivers > 0)
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        reader.0.0.receive().ok().flatten().map(|sample| look(&sample))
    }
}

impl<const N: usize> Placed<N> for PubSub {
    const MANY: bool = false;

    fn bytes(_: u32) -> usize {
        0
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        let node = node()?;
        let topic = topic(&place, &node)?;
        let strategy = BackpressureStrategy::DiscardData;
        let publisher = topic.publisher_builder().backpressure_strategy(strategy).create().map_err(said)?;
        Ok(Moved((publisher, topic, node)))
    }

    unsafe fn reader(place: Place<'_>, _: u32) -> Result<Self::Reader, String> {
        let node = node()?;
        let topic = topic(&place, &node)?;
        let subscriber = topic.subscriber_builder().create().map_err(said)?;
        Ok(Moved((subscriber, topic, node)))
    }
}

/// The blackboard, with one entry.
pub(super) struct Blackboard;

impl About for Blackboard {
    const NAME: &'static str = "iceoryx2 blackboard";
    const KIND: Kind = Kind::State;
    const LINES: [&'static str; 2] =
        ["exchanges waited for + L", "exchanges waited for + L, until not written meanwhile"];
}

type Board = blackboard::PortFactory<ipc::Service, u64>;

fn board<const N: usize>(place: &Place<'_>, node: &Node<ipc::Service>) -> Result<Board, String> {
    let name = name(place)?;
    let open = || node.service_builder(&name).blackboard_opener::<u64>().open();
    if let Ok(board) = open() {
        return Ok(board);
    }
    let creator = node.service_builder(&name).blackboard_creator::<u64>().max_readers(32);
    creator.add::<[u64; N]>(0, [0; N]).create().map_err(said)
}

/// The state of a reader: its handle, and the value that it saw last.
pub(super) struct Seen<const N: usize> {
    handle: EntryHandle<ipc::Service, u64, [u64; N]>,
    last: Option<BlackboardValue<[u64; N]>>,
}

impl<const N: usize> Ends<N> for Blackboard {
    type Writer = Moved<(EntryHandleMut<ipc::Service, u64, [u64; N]>, Board, Node<ipc::Service>)>;
    type Reader = Moved<(Seen<N>, Board, Node<ipc::Service>)>;

    #[inline(always)]
    fn put(writer: &mut Self::Writer, value: &[u64; N]) -> bool {
        writer.0.0.update_with_copy(*value);
        true
    }

    #[inline(always)]
    fn take<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        Some(look(&reader.0.0.handle.get()))
    }

    #[inline(always)]
    fn newer<R>(reader: &mut Self::Reader, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        let seen = &mut reader.0.0;
        if seen.last.as_ref().is_some_and(|last| seen.handle.is_up_to_date(last)) {
            return None;
        }
        let value = seen.handle.get();
        let looked = look(&value);
        seen.last = Some(value);
        Some(looked)
    }
}

impl<const N: usize> Placed<N> for Blackboard {
    const MANY: bool = false;

    fn bytes(_: u32) -> usize {
        0
    }

    unsafe fn writer(place: Place<'_>) -> Result<Self::Writer, String> {
        let node = node()?;
        let board = board::<N>(&place, &node)?;
        let writer = board.writer_builder().create().map_err(said)?;
        let entry = writer.entry::<[u64; N]>(&0).map_err(said)?;
        Ok(Moved((entry, board, node)))
    }

    unsafe fn reader(place: Place<'_>, _: u32) -> Result<Self::Reader, String> {
        let node = node()?;
        let board = board::<N>(&place, &node)?;
        let reader = board.reader_builder().create().map_err(said)?;
        let handle = reader.entry::<[u64; N]>(&0).map_err(said)?;
        Ok(Moved((Seen { handle, last: None }, board, node)))
    }
}
