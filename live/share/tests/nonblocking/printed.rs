// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The mistakes of the printed listings [Perez Ruiz 2020], shown on small sequential models of the listings, each
//! beside the same sequence of steps on our object.

use core::ptr::NonNull;

use taut_share::queue::qrtr;
use taut_share::state::{sdrtr, sdrtw};
use taut_share::{LINE_BYTES, Line, Memory};

/// Listing 1, single steps in the order that a test chooses.
struct PrintedSdrtr {
    index: u32,
    mask: u32,
    buffers: [u32; 2],
}

impl PrintedSdrtr {
    /// Lines 17 to 26; the busy wait of line 23 is cut off after `spins`.
    fn write(&mut self, value: u32, spins: u32) -> bool {
        let writer_index = 1 - (self.index >> 1);
        let non_reading_value = self.index & self.mask;
        self.buffers[writer_index as usize] = value;
        for _ in 0..spins {
            if self.index == non_reading_value {
                self.index = writer_index * 2;
                return true;
            }
        }
        false
    }

    /// Line 34.
    fn enter(&mut self) {
        self.index += 1;
    }

    /// Line 35: the buffer that it would copy.
    fn buffer(&self) -> u32 {
        self.index >> 1
    }
}

#[test]
fn the_printed_mask_stops_the_second_write_for_ever() {
    let mut printed = PrintedSdrtr { index: 0, mask: 0xFFFF_F000, buffers: [0; 2] };
    assert!(printed.write(1, 1));
    // No reader has ever run; the event that the loop waits for cannot happen.
    assert!(!printed.write(2, 10_000));
    // The mask that the authors meant.
    let mut meant = PrintedSdrtr { index: 0, mask: 0xFFFF_FFFE, buffers: [0; 2] };
    assert!((1..100).all(|n| meant.write(n, 1)));

    let mut lines = [const { Line::new() }; 3];
    let (mut writer, mut reader) = sdrtr::pair::<u32>(Memory::new(&mut lines)).unwrap();
    for n in 1..100 {
        assert_eq!(writer.try_publish(&n), Ok(()));
        assert_eq!(reader.read(), Some(n));
    }
}

#[test]
fn two_printed_readers_leave_the_buffers() {
    let mut printed = PrintedSdrtr { index: 0, mask: 0xFFFF_FFFE, buffers: [0; 2] };
    assert!(printed.write(1, 1));
    printed.enter();
    printed.enter();
    assert_eq!(printed.buffer(), 2, "there are buffers 0 and 1");
    // Ours: the second reader does not compile (`Reader` is not Clone: see the crate's documentation), and the reader
    // masks a word that two readers have left.
    let mut lines = [const { Line::new() }; 3];
    let start = NonNull::from(&mut lines).cast::<u8>();
    let idx = start.cast::<u64>().as_ptr();
    // SAFETY: aligned lines, of that length, which outlive the ends; accessed only through `start`.
    let memory = unsafe { Memory::from_raw(start, 3 * LINE_BYTES) };
    let (mut writer, mut reader) = sdrtr::pair::<u32>(memory).unwrap();
    writer.try_publish(&7).unwrap();
    // SAFETY: the word outlives the test's use of it, and is accessed only atomically.
    let idx = unsafe { taut_atomic::AtomicU64::from_ptr(idx) };
    for word in 0..64 {
        idx.store(word, taut_atomic::Ordering::Relaxed);
        let expected = (word & 4 != 0).then_some(if word & 2 == 0 { 0 } else { 7 });
        assert_eq!(reader.read(), expected);
    }
}

#[test]
fn a_counter_that_wraps_passes_a_torn_value() {
    // Listing 2 with a counter modulo 4: the reader is overtaken by exactly two writes.
    let (mut counter, mut buffer) = (2u8, [1u32, 1]);
    let begin = counter;
    let first = buffer[0];
    for value in [2, 3] {
        counter = (counter + 1) % 4;
        buffer = [value; 2];
        counter = (counter + 1) % 4;
    }
    let second = buffer[1];
    assert!(begin == counter && begin.is_multiple_of(2), "the printed check is content");
    assert_ne!(first, second, "and the value is torn");

    // Ours: 64 bits, and no even value occurs twice, even across writers that died in a write.
    let mut lines = [const { Line::new() }; 1];
    let (mut writer, mut reader) = sdrtw::pair::<[u32; 2]>(Memory::new(&mut lines)).unwrap();
    let mut last = 0;
    for n in 0..if cfg!(miri) { 50 } else { 1000 } {
        writer.write(&[n; 2]);
        let version = reader.try_read().unwrap().unwrap().version;
        assert!(version > last);
        last = version;
    }
}

#[test]
fn the_printed_queue_wastes_a_slot() {
    // Listing 5: full when (tail + 2) mod size == head, tail at first size - 1.
    let size = 4;
    let (mut tail, head, mut held) = (size - 1, 0, 0);
    while (tail + 2) % size != head {
        tail = (tail + 1) % size;
        held += 1;
    }
    assert_eq!(held, size - 1);

    let mut lines = [const { Line::new() }; 3];
    let (mut writer, _reader) = qrtr::pair::<u64>(Memory::new(&mut lines), 4).unwrap();
    assert_eq!((0..9).filter(|n| writer.push(*n).is_ok()).count(), 4);
}
