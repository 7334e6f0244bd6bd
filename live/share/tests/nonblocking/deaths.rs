// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! As `../deaths.rs`, for SDrtR, SDrtW and QrtR: exactly what the crash tables of their files say of a death at each
//! step. `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test deaths_nonblocking`.
#![cfg(steps)]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

#[path = "../payload/mod.rs"]
mod payload;
#[path = "../process/mod.rs"]
mod process;

use std::os::unix::process::ExitStatusExt;

use payload::{marked, number};
use process::{Mapping, orders};
use taut_atomic::steps::strike_at;
use taut_share::queue::qrtr;
use taut_share::state::{sdrtr, sdrtw};

type Value = [u64; 3];
const W: u64 = 3;
const CAPACITY: u32 = 2;

fn die() {
    // SAFETY: it kills this process, on purpose.
    unsafe { libc::raise(libc::SIGKILL) };
}

/// The started processes: each attaches, begins one operation, and dies before its n-th step.
#[test]
fn process() {
    let Some((role, mapping, n)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    let memory = mapping.memory();
    match role.as_str() {
        "sdrtr-writer" => {
            // SAFETY: the test starts one at a time.
            let mut writer = unsafe { sdrtr::writer::<Value>(memory) }.unwrap();
            strike_at(n, die);
            writer.try_publish(&marked(2)).unwrap();
        }
        "sdrtr-reader" => {
            // SAFETY: the test starts one at a time.
            let mut reader = unsafe { sdrtr::reader::<Value>(memory) }.unwrap();
            strike_at(n, die);
            assert_eq!(reader.read(), Some(marked(1)));
        }
        "sdrtw-writer" => {
            // SAFETY: the test starts one at a time.
            let mut writer = unsafe { sdrtw::writer::<Value>(memory) }.unwrap();
            strike_at(n, die);
            writer.write(&marked(2));
        }
        "sdrtw-reader" => {
            // SAFETY: readers may be many.
            let mut reader = unsafe { sdrtw::reader::<Value>(memory) }.unwrap();
            strike_at(n, die);
            assert_eq!(reader.try_read().unwrap().unwrap().value, marked(1));
        }
        "qrtr-writer" => {
            // SAFETY: the test starts one at a time.
            let mut writer = unsafe { qrtr::writer::<Value>(memory, CAPACITY) }.unwrap();
            strike_at(n, die);
            writer.push(marked(2)).unwrap();
        }
        "qrtr-reader" => {
            // SAFETY: the test starts one at a time.
            let mut reader = unsafe { qrtr::reader::<Value>(memory, CAPACITY) }.unwrap();
            strike_at(n, die);
            assert_eq!(reader.pop(), Ok(Some(marked(1))));
        }
        other => unreachable!("no role {other}"),
    }
}

/// Lets a process in `role` die before step `n` of an operation of `steps`; at `steps` + 1 it must complete it.
fn dies(mapping: &Mapping, role: &str, n: u64, steps: u64) {
    let status = mapping.start(role, n).wait();
    let expected = (n <= steps).then_some(libc::SIGKILL);
    assert_eq!(status.signal(), expected, "{role} at step {n}: {status}");
    assert!(n <= steps || status.success(), "{role}: {status}");
}

#[test]
fn sdrtr_writer() {
    for n in 1..=W + 2 {
        let mapping = Mapping::create(sdrtr::bytes::<Value>());
        let (mut first, mut reader) = sdrtr::pair::<Value>(mapping.memory()).unwrap();
        first.try_publish(&marked(1)).unwrap();
        dies(&mapping, "sdrtr-writer", n, W + 1);
        let seen = if n <= W + 1 { 1 } else { 2 };
        assert_eq!(reader.read().map(|value| number(&value)), Some(seen), "step {n}");
        // SAFETY: the previous writers have ended or are not used again.
        let mut next = unsafe { sdrtr::writer::<Value>(mapping.memory()) }.unwrap();
        for value in 3..7 {
            assert_eq!(next.try_publish(&marked(value)), Ok(()), "step {n}");
            assert_eq!(reader.read(), Some(marked(value)), "step {n}");
        }
    }
}

#[test]
fn sdrtr_reader() {
    for cleared_by_owner in [false, true] {
        for n in 1..=W + 3 {
            let mapping = Mapping::create(sdrtr::bytes::<Value>());
            // SAFETY: the only writer.
            let mut writer = unsafe { sdrtr::writer::<Value>(mapping.memory()) }.unwrap();
            writer.try_publish(&marked(1)).unwrap();
            dies(&mapping, "sdrtr-reader", n, W + 2);
            let inside = (2..=W + 2).contains(&n);
            let busy = if inside { Err(sdrtr::NotPublished::Busy) } else { Ok(()) };
            assert_eq!(writer.publish_within(&marked(2), 3), busy, "step {n}");
            if cleared_by_owner {
                // SAFETY: the only reader has ended.
                unsafe { writer.release_reader() };
                assert_eq!(writer.try_publish(&marked(2)), Ok(()), "step {n}");
            }
            // SAFETY: the previous reader has ended.
            let mut next = unsafe { sdrtr::reader::<Value>(mapping.memory()) }.unwrap();
            let seen = if inside && !cleared_by_owner { 1 } else { 2 };
            assert_eq!(next.read(), Some(marked(seen)), "step {n}");
            for value in 3..7 {
                assert_eq!(writer.try_publish(&marked(value)), Ok(()), "step {n}");
                assert_eq!(next.read(), Some(marked(value)), "step {n}");
            }
        }
    }
}

#[test]
fn sdrtw_writer() {
    // Odd store, fence, words, even store.
    for n in 1..=W + 4 {
        let mapping = Mapping::create(sdrtw::bytes::<Value>());
        let (mut first, mut reader) = sdrtw::pair::<Value>(mapping.memory()).unwrap();
        first.write(&marked(1));
        dies(&mapping, "sdrtw-writer", n, W + 3);
        let inside = (2..=W + 3).contains(&n);
        let seen = match n {
            1 => Ok(Some(1)),
            _ if inside => Err(sdrtw::Retry),
            _ => Ok(Some(2)),
        };
        let read = reader.read_bounded(10).map(|sample| sample.map(|sample| number(&sample.value)));
        assert_eq!(read, seen, "step {n}");
        // SAFETY: the previous writers have ended or are not used again.
        let mut next = unsafe { sdrtw::writer::<Value>(mapping.memory()) }.unwrap();
        next.write(&marked(3));
        let version = if n == 1 { 2 } else { 3 };
        assert_eq!(reader.try_read(), Ok(Some(sdrtw::Sample { value: marked(3), version })), "step {n}");
    }
}

#[test]
fn sdrtw_reader() {
    // Load, fence, words, fence, load.
    for n in 1..=W + 5 {
        let mapping = Mapping::create(sdrtw::bytes::<Value>());
        let (mut writer, mut reader) = sdrtw::pair::<Value>(mapping.memory()).unwrap();
        writer.write(&marked(1));
        let before: Vec<_> =
            mapping.words().iter().map(|word| word.load(std::sync::atomic::Ordering::Relaxed)).collect();
        dies(&mapping, "sdrtw-reader", n, W + 4);
        let after: Vec<_> =
            mapping.words().iter().map(|word| word.load(std::sync::atomic::Ordering::Relaxed)).collect();
        assert_eq!(before, after, "a reader leaves no trace");
        writer.write(&marked(2));
        assert_eq!(reader.try_read().unwrap().unwrap().value, marked(2));
    }
}

#[test]
fn qrtr_writer() {
    // Load of the head, words, store.
    for n in 1..=W + 3 {
        let mapping = Mapping::create(qrtr::bytes::<Value>(CAPACITY).unwrap());
        let (mut first, mut reader) = qrtr::pair::<Value>(mapping.memory(), CAPACITY).unwrap();
        first.push(marked(1)).unwrap();
        dies(&mapping, "qrtr-writer", n, W + 2);
        let arrived = n == W + 3;
        // SAFETY: the previous writers have ended or are not used again.
        let mut next = unsafe { qrtr::writer::<Value>(mapping.memory(), CAPACITY) }.unwrap();
        assert_eq!(next.push(marked(3)).is_err(), arrived, "step {n}");
        assert_eq!(reader.pop(), Ok(Some(marked(1))), "step {n}");
        assert_eq!(reader.pop(), Ok(Some(marked(if arrived { 2 } else { 3 }))), "step {n}");
        assert_eq!(reader.pop(), Ok(None), "step {n}");
    }
}

#[test]
fn qrtr_reader() {
    // Load of the tail, words, store.
    for n in 1..=W + 3 {
        let mapping = Mapping::create(qrtr::bytes::<Value>(CAPACITY).unwrap());
        // SAFETY: the only writer.
        let mut writer = unsafe { qrtr::writer::<Value>(mapping.memory(), CAPACITY) }.unwrap();
        writer.push(marked(1)).unwrap();
        writer.push(marked(2)).unwrap();
        dies(&mapping, "qrtr-reader", n, W + 2);
        let taken = n == W + 3;
        assert_eq!(writer.push(marked(3)).is_ok(), taken, "step {n}");
        // SAFETY: the previous reader has ended.
        let mut next = unsafe { qrtr::reader::<Value>(mapping.memory(), CAPACITY) }.unwrap();
        if !taken {
            assert_eq!(next.pop(), Ok(Some(marked(1))), "once more, step {n}");
        }
        assert_eq!(next.pop(), Ok(Some(marked(2))), "step {n}");
        assert_eq!(next.pop(), Ok(taken.then_some(marked(3))), "step {n}");
    }
}
