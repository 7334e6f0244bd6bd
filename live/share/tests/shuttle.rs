// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Longer random runs, by shuttle: `RUSTFLAGS="--cfg shuttle" cargo test -p taut-share --release --test shuttle`.
//! Sequentially consistent; here exclusive slots are copied word by word with a change of threads in between, so
//! that an access that is not exclusive shows as a torn value.
#![cfg(shuttle)]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

mod payload;

use payload::{marked, number};
use shuttle::thread;
use taut_share::queue::qrtr;
use taut_share::state::{sdrtr, sdrtw};
use taut_share::{Line, Memory};

const RUNS: usize = 20_000;

fn explore(lines: usize, run: fn(Memory<'static>)) {
    shuttle::check_random(
        move || {
            let lines = Box::into_raw((0..lines).map(|_| Line::new()).collect::<Box<[Line]>>());
            // SAFETY: just allocated, used by nobody else.
            run(Memory::new(unsafe { &mut *lines }));
            // SAFETY: from `into_raw`; `run` has joined its threads and dropped its ends.
            drop(unsafe { Box::from_raw(lines) });
        },
        RUNS,
    );
}

#[test]
fn sdrtr_stays_whole_and_forward() {
    explore(3, |memory| {
        let (mut writer, mut reader) = sdrtr::pair::<[u64; 4]>(memory).unwrap();
        let writing = thread::spawn(move || {
            (1..=12).filter(|n| writer.publish_within(&marked(*n), 2).is_ok()).last().unwrap_or(0)
        });
        let mut last = 0;
        for _ in 0..12 {
            let n = reader.read().map_or(0, |value| number(&value));
            assert!(n >= last, "backwards");
            last = n;
        }
        assert_eq!(writing.join().unwrap(), reader.read().map_or(0, |value| number(&value)));
    });
}

#[test]
fn sdrtw_stays_whole_and_forward_for_two() {
    explore(1, |memory| {
        let (mut writer, reader) = sdrtw::pair::<[u64; 4]>(memory).unwrap();
        let reading = [reader.clone(), reader].map(|mut reader| {
            thread::spawn(move || {
                let mut last = 0;
                for _ in 0..8 {
                    if let Ok(Some(sample)) = reader.read_bounded(2) {
                        assert_eq!(number(&sample.value), sample.version);
                        assert!(sample.version >= last, "backwards");
                        last = sample.version;
                    }
                }
            })
        });
        for n in 1..=12 {
            writer.write(&marked(n));
        }
        for thread in reading {
            thread.join().unwrap();
        }
    });
}

#[test]
fn qrtr_loses_nothing() {
    explore(5, |memory| {
        let (mut writer, mut reader) = qrtr::pair::<[u64; 4]>(memory, 3).unwrap();
        let writing = thread::spawn(move || {
            let mut pushed = 0;
            for _ in 0..20 {
                pushed += u64::from(writer.push(marked(pushed + 1)).is_ok());
            }
            pushed
        });
        let mut popped = 0;
        for _ in 0..20 {
            if let Some(value) = reader.pop().unwrap() {
                popped += 1;
                assert_eq!(number(&value), popped);
            }
        }
        let pushed = writing.join().unwrap();
        while let Some(value) = reader.pop().unwrap() {
            popped += 1;
            assert_eq!(number(&value), popped);
        }
        assert_eq!(popped, pushed);
    });
}
