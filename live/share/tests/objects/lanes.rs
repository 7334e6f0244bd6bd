// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_share::queue::{lanes, qrtr};
use taut_share::{LINE_BYTES, Memory};

use super::{Got, Queue, WhenFull};

/// One sender, in the last of [`LANES`] lanes; nobody sends in the others. Each queue has the same memory, behind the
/// flags. `messages/` has runs with several senders.
pub(crate) struct Lanes;

const LANES: u32 = 2;
const SENDER: u32 = LANES - 1;

impl Lanes {
    /// The memory of the flags, and of each lane's queue.
    fn parts<const N: usize>(
        memory: Memory<'static>,
        capacity: u32,
    ) -> (Memory<'static>, [Memory<'static>; 2]) {
        let (flags, queues) = memory.split(lanes::bytes(LANES)).unwrap();
        let (first, second) = queues.split(qrtr::bytes::<[u64; N]>(capacity).unwrap()).unwrap();
        (flags, [first, second])
    }
}

impl<const N: usize> Queue<N> for Lanes {
    const NAME: &'static str = "Lanes";
    const WHEN_FULL: WhenFull = WhenFull::Refuse;
    const PUSH_STEPS: u64 = 3 + N as u64;
    // One block, two flags; two lanes, of which one is empty.
    const POP_STEPS: u64 = 1 + 2 + 1 + 2 + N as u64;

    type Writer = lanes::Writer<'static, qrtr::Writer<'static, [u64; N]>>;
    type Reader = lanes::Reader<
        'static,
        qrtr::Reader<'static, [u64; N]>,
        [qrtr::Reader<'static, [u64; N]>; LANES as usize],
    >;

    fn bytes(capacity: u32) -> usize {
        let queue = qrtr::bytes::<[u64; N]>(capacity).unwrap().next_multiple_of(LINE_BYTES);
        lanes::bytes(LANES) + LANES as usize * queue
    }

    unsafe fn writer(memory: Memory<'static>, capacity: u32) -> Self::Writer {
        let (flags, [_, queue]) = Lanes::parts::<N>(memory, capacity);
        // SAFETY: the caller's duties are the same.
        unsafe {
            let announcer = lanes::announcer(flags, LANES, SENDER).unwrap();
            lanes::Writer::new(qrtr::writer(queue, capacity).unwrap(), announcer)
        }
    }

    unsafe fn reader(memory: Memory<'static>, capacity: u32) -> Self::Reader {
        let (flags, queues) = Lanes::parts::<N>(memory, capacity);
        // SAFETY: the caller's duties are the same.
        unsafe {
            let readers = queues.map(|queue| qrtr::reader(queue, capacity).unwrap());
            lanes::Reader::new(lanes::collector(flags, LANES).unwrap(), readers).unwrap()
        }
    }

    fn push(writer: &mut Self::Writer, value: [u64; N]) -> bool {
        writer.send(&value).is_ok()
    }

    fn pop(reader: &mut Self::Reader) -> Got<([u64; N], u64)> {
        match reader.next() {
            Ok(Some(taken)) => Got::Value((taken.value, taken.lost)),
            Ok(None) => Got::Nothing,
            Err(lanes::LaneUnavailable { error: qrtr::Corrupt, .. }) => Got::Unavailable,
        }
    }
}
