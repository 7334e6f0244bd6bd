// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs of the protocols that rely on time, or copy on demand, by loom:
//! `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release --test loom temporal::`.

use std::sync::atomic::{AtomicUsize, Ordering};

use loom::thread;
use taut_share::state::{Sample, emeralds, improved_peterson, nbw_temporal, peterson, spinlock};
use taut_share::{LINE_BYTES, Memory};

use crate::explore::explore_on;
use crate::payload::{marked, number};

type Value = [u64; 2];

/// Checks that a value is not torn, comes from the write that it names, and is not older than the last one seen;
/// returns its number.
fn newer(last: u64, sample: Option<Sample<Value>>) -> u64 {
    let Some(sample) = sample else {
        assert_eq!(last, 0, "nothing after a value");
        return 0;
    };
    assert_eq!(number(&sample.value), sample.version, "another write's value");
    assert!(sample.version >= last, "backwards");
    sample.version
}

fn nbw(buffers: u32, writes: u64, reads: u64) -> impl Fn(Memory<'static>) + Sync + Send {
    move |memory| {
        let (mut writer, mut reader) = nbw_temporal::pair::<Value>(memory, buffers).unwrap();
        let writing = thread::spawn(move || (1..=writes).for_each(|n| writer.write(&marked(n))));
        let mut last = 0;
        for _ in 0..reads {
            if let Ok(sample) = reader.read() {
                last = newer(last, sample);
            }
        }
        writing.join().unwrap();
        assert_eq!(newer(last, reader.read().unwrap()), writes, "not the newest");
    }
}

#[test]
fn nbw_two_buffers() {
    let size = nbw_temporal::bytes::<Value>(2).unwrap();
    explore_on(size, "nbw, 2 buffers, 3 × 1", None, nbw(2, 3, 1));
    explore_on(size, "nbw, 2 buffers, 4 × 2", Some(5), nbw(2, 4, 2));
}

#[test]
fn nbw_three_buffers() {
    let size = nbw_temporal::bytes::<Value>(3).unwrap();
    explore_on(size, "nbw, 3 buffers, 4 × 1", None, nbw(3, 4, 1));
}

#[test]
fn nbw_in_time_is_never_overrun() {
    // As many buffers as timing requires if all three writes can overlap the read.
    let size = nbw_temporal::bytes::<Value>(5).unwrap();
    explore_on(size, "nbw, 5 buffers, in time", None, |memory| {
        let (mut writer, mut reader) = nbw_temporal::pair::<Value>(memory, 5).unwrap();
        let writing = thread::spawn(move || (1..=3).for_each(|n| writer.write(&marked(n))));
        newer(0, reader.read().unwrap());
        writing.join().unwrap();
    });
}

#[test]
fn nbw_readers_agree() {
    // A reader does not return an older value than another reader returned before it began.
    let size = nbw_temporal::bytes::<Value>(2).unwrap();
    explore_on(size, "nbw, 2 readers", None, |memory| {
        let (mut writer, mut reader) = nbw_temporal::pair::<Value>(memory, 2).unwrap();
        let mut second = reader.clone();
        let writing = thread::spawn(move || (1..=2).for_each(|n| writer.write(&marked(n))));
        let reading = thread::spawn(move || second.read().map(|sample| newer(0, sample)).unwrap_or(0));
        let last = reading.join().unwrap();
        if let Ok(sample) = reader.read() {
            newer(last, sample);
        }
        writing.join().unwrap();
    });
}

#[test]
fn peterson_three_writes() {
    let size = peterson::bytes::<Value>(1).unwrap();
    for (writes, reads, bound) in [(2, 1, None), (3, 2, Some(4))] {
        explore_on(size, &format!("peterson, {writes} × {reads}"), bound, move |memory| {
            let (mut writer, mut readers) = peterson::group::<Value>(memory, 1).unwrap();
            let mut reader = readers.next().unwrap();
            let writing = thread::spawn(move || (1..=writes).for_each(|n| writer.write(&marked(n))));
            let mut last = 0;
            for _ in 0..reads {
                last = newer(last, reader.read_sample());
            }
            writing.join().unwrap();
            assert_eq!(newer(last, reader.read_sample()), writes, "not the newest");
        });
    }
}

#[test]
fn peterson_newer_is_newer() {
    let size = peterson::bytes::<Value>(1).unwrap();
    explore_on(size, "peterson, newer", None, |memory| {
        let (mut writer, mut readers) = peterson::group::<Value>(memory, 1).unwrap();
        let mut reader = readers.next().unwrap();
        let writing = thread::spawn(move || (1..=2).for_each(|n| writer.write(&marked(n))));
        let mut last = 0;
        for _ in 0..2 {
            if let Some(sample) = reader.read_if_newer() {
                assert!(sample.version > last, "not newer");
                last = newer(last, Some(sample));
            }
        }
        writing.join().unwrap();
        let newest = reader.read_if_newer().map_or(last, |sample| newer(last, Some(sample)));
        assert_eq!(newest, 2, "not the newest");
    });
}

#[test]
fn peterson_readers_agree() {
    let size = peterson::bytes::<Value>(2).unwrap();
    explore_on(size, "peterson, 2 readers", Some(3), |memory| {
        let (mut writer, mut readers) = peterson::group::<Value>(memory, 2).unwrap();
        let (mut reader, mut second) = (readers.next().unwrap(), readers.next().unwrap());
        let writing = thread::spawn(move || (1..=2).for_each(|n| writer.write(&marked(n))));
        let reading = thread::spawn(move || newer(0, second.read_sample()));
        let last = reading.join().unwrap();
        newer(last, reader.read_sample());
        writing.join().unwrap();
    });
}

#[test]
fn peterson_request_left_open() {
    // The previous read has made a request, and the answer comes while the next ones run.
    let size = peterson::bytes::<Value>(1).unwrap();
    explore_on(size, "peterson, a request left open", Some(3), |memory| {
        let (mut writer, mut readers) = peterson::group::<Value>(memory, 1).unwrap();
        let mut reader = readers.next().unwrap();
        writer.write(&marked(1));
        newer(1, reader.read_sample());
        let writing = thread::spawn(move || {
            writer.write(&marked(2));
            writer.write(&marked(3));
        });
        let last = newer(1, reader.read_sample());
        newer(last, reader.read_sample());
        writing.join().unwrap();
    });
}

#[test]
fn improved_peterson_slow_and_fast() {
    let size = improved_peterson::bytes::<Value>(1, 3).unwrap();
    explore_on(size, "improved peterson, slow and fast", Some(3), |memory| {
        let (mut writer, mut slow, mut fast) = improved_peterson::group::<Value>(memory, 1, 3).unwrap();
        let mut slow = slow.next().unwrap();
        let writing = thread::spawn(move || (1..=3).for_each(|n| writer.write(&marked(n))));
        let reading = thread::spawn(move || fast.read().map(|sample| newer(0, sample)).unwrap_or(0));
        let last = newer(0, slow.read_sample());
        newer(last, slow.read_sample());
        reading.join().unwrap();
        writing.join().unwrap();
        assert_eq!(slow.read(), Some(marked(3)), "not the newest");
    });
}

#[test]
fn emeralds_is_helped() {
    let size = emeralds::bytes::<Value>(1, 2).unwrap();
    let helped = std::sync::Arc::new(AtomicUsize::new(0));
    let helps = helped.clone();
    explore_on(size, "emeralds, 2 buffers, 3 × 1", None, move |memory| {
        let answered = memory.again().claim().word(4 * taut_share::LINE_BYTES - 112);
        let (mut writer, mut slow, _) = emeralds::group::<Value>(memory, 1, 2).unwrap();
        let mut slow = slow.next().unwrap();
        let writing = thread::spawn(move || (1..=3).for_each(|n| writer.write(&marked(n))));
        let mut last = 0;
        if let Ok(sample) = slow.read_bounded(3) {
            last = newer(last, sample);
        }
        writing.join().unwrap();
        helps.fetch_add(usize::from(answered.load(taut_atomic::Ordering::Relaxed) != 0), Ordering::Relaxed);
        assert_eq!(newer(last, slow.read().unwrap()), 3, "not the newest");
    });
    assert!(helped.load(Ordering::Relaxed) > 0, "the writer has never answered");
}

#[test]
fn emeralds_twice() {
    // An answer to the first read comes during the second.
    let size = emeralds::bytes::<Value>(1, 2).unwrap();
    explore_on(size, "emeralds, 2 buffers, 4 × 2", Some(3), |memory| {
        let (mut writer, mut slow, _) = emeralds::group::<Value>(memory, 1, 2).unwrap();
        let mut slow = slow.next().unwrap();
        let writing = thread::spawn(move || (1..=4).for_each(|n| writer.write(&marked(n))));
        let mut last = 0;
        for _ in 0..2 {
            if let Ok(sample) = slow.read() {
                last = newer(last, sample);
            }
        }
        writing.join().unwrap();
        assert_eq!(newer(last, slow.read().unwrap()), 4, "not the newest");
    });
}

#[test]
fn emeralds_newer_is_newer() {
    let size = emeralds::bytes::<Value>(1, 2).unwrap();
    explore_on(size, "emeralds, newer", Some(3), |memory| {
        let (mut writer, mut slow, _) = emeralds::group::<Value>(memory, 1, 2).unwrap();
        let mut slow = slow.next().unwrap();
        let writing = thread::spawn(move || (1..=2).for_each(|n| writer.write(&marked(n))));
        let mut last = 0;
        for _ in 0..2 {
            if let Ok(Some(sample)) = slow.read_if_newer() {
                assert!(sample.version > last, "not newer");
                last = newer(last, Some(sample));
            }
        }
        writing.join().unwrap();
    });
}

#[test]
fn emeralds_is_helped_again() {
    // The previous reader made a request and died; the answer is there. The first read takes it if it is overtaken,
    // and the place belongs to the writer again as soon as the second read makes a request.
    let size = emeralds::bytes::<Value>(1, 2).unwrap();
    explore_on(size, "emeralds, again", Some(3), |memory| {
        memory.again().claim().word(2 * taut_share::LINE_BYTES).store(1, taut_atomic::Ordering::Relaxed);
        let (mut writer, mut slow, _) = emeralds::group::<Value>(memory, 1, 2).unwrap();
        let mut slow = slow.next().unwrap();
        writer.write(&marked(1));
        let writing = thread::spawn(move || (2..=4).for_each(|n| writer.write(&marked(n))));
        let mut last = 1;
        for _ in 0..2 {
            if let Ok(sample) = slow.read_bounded(1) {
                last = newer(last, sample);
            }
        }
        writing.join().unwrap();
    });
}

#[test]
fn spinlock_excludes() {
    explore_on(2 * LINE_BYTES, "spinlock", None, |memory| {
        let (mut writer, mut readers) = spinlock::group::<Value>(memory, 2).unwrap();
        let (mut reader, mut second) = (readers.next().unwrap(), readers.next().unwrap());
        let writing = thread::spawn(move || {
            let mut written = 0;
            for _ in 0..2 {
                if writer.try_write(&marked(written + 1)).is_ok() {
                    written += 1;
                }
            }
            written
        });
        let reading = thread::spawn(move || second.try_read().map(|sample| newer(0, sample)).unwrap_or(0));
        let mut last = 0;
        for _ in 0..2 {
            if let Ok(sample) = reader.try_read() {
                last = newer(last, sample);
            }
        }
        reading.join().unwrap();
        let written = writing.join().unwrap();
        assert_eq!(newer(last, reader.try_read().unwrap()), written, "not the newest");
    });
}

#[test]
fn spinlock_spins() {
    explore_on(2 * LINE_BYTES, "spinlock, spinning", Some(3), |memory| {
        let (mut writer, mut readers) = spinlock::group::<Value>(memory, 1).unwrap();
        let mut reader = readers.next().unwrap();
        let writing = thread::spawn(move || {
            writer.write(&marked(1));
            writer.write(&marked(2));
        });
        let first = reader.read().map_or(0, |value| number(&value));
        let second = reader.read().map_or(0, |value| number(&value));
        assert!(second >= first, "backwards");
        writing.join().unwrap();
        assert_eq!(reader.read(), Some(marked(2)));
    });
}
