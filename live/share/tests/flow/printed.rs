// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The errors of wait-free buffers as described in [Han14], shown on small sequential models, each beside the same
//! sequence of steps on our objects.

use taut_share::state::dbp::{self, Shape};
use taut_share::state::tccp;
use taut_share::{LINE_BYTES, Line, Memory};

fn lines(bytes: Option<usize>) -> Vec<Line> {
    (0..bytes.unwrap().div_ceil(LINE_BYTES)).map(|_| Line::new()).collect()
}

const EMPTY: usize = usize::MAX;

/// Algorithms 1 and 2 for one reader, with one buffer more than readers: GetBuf avoids only the buffer that READING
/// names. Single steps, whose order a test chooses.
struct PlusOne {
    buffers: [[u32; 2]; 2],
    reading: usize,
    latest: usize,
}

impl PlusOne {
    fn free(&self) -> usize {
        (0..2).find(|buffer| *buffer != self.reading).unwrap()
    }

    fn publish(&mut self, buffer: usize) {
        self.latest = buffer;
        self.exchange(buffer);
    }

    /// Compare and swap of READING from empty to the new value; returns the entry.
    fn exchange(&mut self, new: usize) -> usize {
        if self.reading == EMPTY {
            self.reading = new;
        }
        self.reading
    }
}

#[test]
fn one_buffer_more_than_readers_tears_in_parallel() {
    let new = || PlusOne { buffers: [[1; 2], [0; 2]], reading: 1, latest: 0 };

    // One processor, the writer more urgent: all of it runs between any two steps of the reader.
    for before in 0..5 {
        let mut printed = new();
        let write = |printed: &mut PlusOne| {
            let buffer = printed.free();
            printed.buffers[buffer] = [2; 2];
            printed.publish(buffer);
        };
        let mut copy = [0; 2];
        let (mut latest, mut entry) = (0, 0);
        for step in 0..5 {
            if step == before {
                write(&mut printed);
            }
            match step {
                0 => printed.reading = EMPTY,
                1 => latest = printed.latest,
                2 => entry = printed.exchange(latest),
                3 => copy[0] = printed.buffers[entry][0],
                _ => copy[1] = printed.buffers[entry][1],
            }
        }
        assert_eq!(copy[0], copy[1], "whole, though the writer came before step {before}");
    }

    // Two processors: the reader has emptied its entry and loaded LATEST when the writer looks for a buffer.
    let mut printed = new();
    printed.reading = EMPTY;
    let latest = printed.latest;
    let buffer = printed.free();
    printed.buffers[buffer][0] = 2;
    let entry = printed.exchange(latest);
    let copy = printed.buffers[entry];
    printed.buffers[buffer][1] = 2;
    assert_eq!((copy, printed.buffers[entry]), ([2, 1], [2; 2]), "torn, in the middle of a write");

    // Ours, with as many buffers: the reader's job holds its value from its activation on.
    let shape = Shape::one_processor(1, 0);
    assert_eq!(shape.buffers, 2);
    let mut memory = lines(dbp::bytes::<[u32; 2]>(shape));
    let (mut dispatcher, mut writer, mut readers) =
        dbp::group::<[u32; 2]>(Memory::new(&mut memory), shape).unwrap();
    let mut reader = readers.next().unwrap();
    dispatcher.activate_writer(0).unwrap();
    writer.job().unwrap().write(&[1; 2]);
    dispatcher.activate_reader(0, 1).unwrap();
    for at in 2..9 {
        dispatcher.activate_writer(at).unwrap();
        let mut job = writer.job().unwrap();
        job.write_with(|value| {
            value[0] = 2;
            // In the middle of the write.
            assert_eq!(
                reader.job().map(|mut job| {
                    let value = job.read();
                    core::mem::forget(job);
                    value
                }),
                Some(Ok(Some([1; 2])))
            );
            value[1] = 2;
        });
    }
}

/// Algorithms 3 and 4 as the text describes them, for one reader of higher priority than the writer, three buffers.
struct Activations {
    buffers: [[u32; 2]; 3],
    reading: usize,
    previous: usize,
    latest: usize,
}

impl Activations {
    /// GetBuf: a buffer that is neither LATEST nor being read.
    fn free(&self) -> Option<usize> {
        (0..3).find(|buffer| *buffer != self.latest && *buffer != self.reading)
    }

    fn exchange(&mut self, new: usize) {
        if self.reading == EMPTY {
            self.reading = new;
        }
    }
}

#[test]
fn getbuf_before_previous_leaves_a_higher_reader_unprotected() {
    let new = || Activations { buffers: [[1; 2], [2; 2], [0; 2]], reading: 2, previous: 0, latest: 1 };

    // In the order of Algorithm 1: the reader has emptied its entry and loaded PREVIOUS when GetBuf runs.
    let mut printed = new();
    printed.reading = EMPTY;
    let loaded = printed.previous;
    let buffer = printed.free().unwrap();
    printed.exchange(loaded);
    printed.previous = printed.latest;
    printed.latest = buffer;
    printed.exchange(printed.previous);
    printed.buffers[buffer][0] = 3;
    assert_eq!(printed.buffers[printed.reading], [3, 1], "torn");

    // PREVIOUS first, then the entry, then GetBuf: wherever the reader's exchange takes place, it reads one value.
    for exchange_at in 0..4 {
        let mut ordered = new();
        ordered.reading = EMPTY;
        let loaded = ordered.previous;
        let mut buffer = EMPTY;
        for step in 0..4 {
            if step == exchange_at {
                ordered.exchange(loaded);
            }
            match step {
                0 => ordered.previous = ordered.latest,
                1 => ordered.exchange(ordered.previous),
                2 => buffer = ordered.free().unwrap(),
                _ => ordered.buffers[buffer][0] = 3,
            }
        }
        let value = ordered.buffers[ordered.reading];
        assert_eq!(value[0], value[1], "exchange before step {exchange_at}");
    }

    // Ours: the activations are ordered; the reader's is before the writer's third, or after it.
    for reader_first in [true, false] {
        let shape = Shape::several_processors(0, 1);
        assert_eq!(shape.buffers, 3);
        let mut memory = lines(dbp::bytes::<[u32; 2]>(shape));
        let (mut dispatcher, mut writer, mut readers) =
            dbp::group::<[u32; 2]>(Memory::new(&mut memory), shape).unwrap();
        let mut reader = readers.next().unwrap();
        for n in 1..=2 {
            dispatcher.activate_writer(n).unwrap();
            writer.job().unwrap().write(&[n as u32; 2]);
        }
        if reader_first {
            assert_eq!(dispatcher.activate_reader(0, 3), Ok(1));
        }
        dispatcher.activate_writer(4).unwrap();
        if !reader_first {
            assert_eq!(dispatcher.activate_reader(0, 4), Ok(2));
        }
        let expected = if reader_first { 1 } else { 2 };
        writer.job().unwrap().write_with(|value| {
            value[0] = 3;
            assert_eq!(reader.job().unwrap().read(), Ok(Some([expected; 2])));
            value[1] = 3;
        });
    }
}

#[test]
fn without_a_check_a_late_reader_gets_a_torn_value() {
    // Two buffers in turn; the reader's job should have ended before the second activation after its own.
    let mut buffers = [[0u32; 2]; 2];
    buffers[1] = [1; 2];
    let first = buffers[1][0];
    buffers[0] = [2; 2];
    buffers[1] = [3; 2];
    assert_ne!(first, buffers[1][1], "torn");

    let shape = Shape { lower: 1, higher: 0, buffers: 2 };
    assert_eq!(tccp::buffers(10, 10, false), Some(2));
    let mut memory = lines(tccp::bytes::<[u32; 2]>(shape));
    let (mut dispatcher, mut writer, mut readers) =
        tccp::group::<[u32; 2]>(Memory::new(&mut memory), shape).unwrap();
    let mut reader = readers.next().unwrap();
    dispatcher.activate_writer(0).unwrap();
    writer.job().unwrap().write(&[1; 2]);
    dispatcher.activate_reader(0, 0).unwrap();
    let mut job = reader.job().unwrap();
    assert_eq!(job.read(), Ok(Some([1; 2])));
    dispatcher.activate_writer(10).unwrap();
    writer.job().unwrap().write(&[2; 2]);
    assert_eq!(job.read(), Ok(Some([1; 2])), "in time");
    dispatcher.activate_writer(20).unwrap();
    assert_eq!(job.read(), Err(tccp::NotRead::Overrun), "told, though nothing is written yet");
    writer.job().unwrap().write(&[3; 2]);
    assert_eq!(job.read(), Err(tccp::NotRead::Overrun));
}
