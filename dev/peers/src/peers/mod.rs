// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Objects of others, libraries and the kernel: a file for each, and a line below.

mod arc_swap;
mod array_queue;
mod bbqueue;
mod chunks;
mod force_push;
mod heapless;
#[cfg(feature = "iceoryx2")]
mod iceoryx;
mod kernel;
mod left_right;
mod parking_lot;
mod push_pop;
mod ringbuf;
mod rt_fifo;
mod rt_readable;
mod rt_writable;
mod seqlock;
mod std_mutex;
mod triple_buffer;

use crate::bench::{Bench, InProcess};

/// All objects of others.
pub(crate) fn all() -> Vec<Box<dyn Bench>> {
    vec![
        InProcess::<push_pop::Rtrb>::boxed(),
        InProcess::<chunks::Chunks>::boxed(),
        InProcess::<ringbuf::Ringbuf>::boxed(),
        InProcess::<array_queue::ArrayQueue>::boxed(),
        InProcess::<force_push::ForcePush>::boxed(),
        InProcess::<heapless::Heapless>::boxed(),
        InProcess::<bbqueue::Frames>::boxed(),
        InProcess::<rt_fifo::Fifo>::boxed(),
        InProcess::<kernel::Kernel<kernel::Pipe>>::boxed(),
        InProcess::<kernel::Kernel<kernel::MessageQueue>>::boxed(),
        InProcess::<kernel::Kernel<kernel::Seqpacket>>::boxed(),
        #[cfg(feature = "iceoryx2")]
        crate::bench::OnMemory::<iceoryx::PubSub>::theirs(),
        InProcess::<triple_buffer::TripleBuffer>::boxed(),
        InProcess::<seqlock::Seqlock>::boxed(),
        InProcess::<arc_swap::Swapped>::boxed(),
        InProcess::<left_right::LeftRight>::boxed(),
        InProcess::<rt_readable::Readable>::boxed(),
        InProcess::<rt_writable::Writable>::boxed(),
        InProcess::<std_mutex::StdMutex>::boxed(),
        InProcess::<parking_lot::ParkingLot>::boxed(),
        #[cfg(feature = "iceoryx2")]
        crate::bench::OnMemory::<iceoryx::Blackboard>::theirs(),
    ]
}
