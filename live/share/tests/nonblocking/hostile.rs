// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! As `../hostile.rs`, for SDrtR, SDrtW and QrtR: every possible outcome occurs, and the forms that retry keep their
//! bounds too.
#![cfg(not(any(loom, shuttle, miri)))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

#[path = "../process/mod.rs"]
mod process;
#[path = "../scribbler/mod.rs"]
mod scribbler;

use std::time::Duration;

use scribbler::{bounded, scribble, scribbled};
use taut_share::queue::qrtr;
use taut_share::state::{sdrtr, sdrtw};

type Value = [u64; 12];
const CAPACITY: u32 = 3;
const TIME: Duration = Duration::from_millis(150);

#[test]
fn process() {
    scribble();
}

const W: u64 = 12;

#[test]
fn sdrtr_keeps_its_bounds() {
    let (mut some, mut none, mut published, mut busy, mut corrupt) = (0u64, 0u64, 0u64, 0u64, 0u64);
    scribbled(sdrtr::bytes::<Value>(), TIME, |memory| {
        let (mut writer, mut reader) = sdrtr::pair::<Value>(memory()).unwrap();
        for n in 0..20 {
            match bounded(2 + W, || reader.read()) {
                Some(_) => some += 1,
                None => none += 1,
            }
            if n == 10 {
                std::thread::yield_now(); // On one processor too, the other process gets to run in between.
            }
            match bounded(W + 4, || writer.publish_within(&[n; 12], 4)) {
                Ok(()) => published += 1,
                Err(sdrtr::NotPublished::Busy) => busy += 1,
                Err(sdrtr::NotPublished::Corrupt) => corrupt += 1,
            }
        }
        some > 0 && none > 0 && corrupt > 0
    });
    println!("read {some}, nothing {none}; published {published}, busy {busy}, corrupt {corrupt}");
}

#[test]
fn sdrtw_keeps_its_bounds() {
    let (mut read, mut retry) = (0u64, 0u64);
    scribbled(sdrtw::bytes::<Value>(), TIME, |memory| {
        let (mut writer, mut reader) = sdrtw::pair::<Value>(memory()).unwrap();
        for n in 0..20 {
            bounded(2 + 1 + W, || writer.write(&[n; 12]));
            if n == 10 {
                std::thread::yield_now();
            }
            match bounded(3 * (2 + 2 + W), || reader.read_bounded(3)) {
                Ok(_) => read += 1,
                Err(sdrtw::Retry) => retry += 1,
            }
            let _ = bounded(2 + 2 + W, || reader.read_if_newer());
        }
        read > 0 && retry > 0
    });
    println!("read {read}, retry {retry}");
}

#[test]
fn qrtr_keeps_its_bounds() {
    let (mut popped, mut empty, mut corrupt, mut pushed, mut full) = (0u64, 0u64, 0u64, 0u64, 0u64);
    scribbled(qrtr::bytes::<Value>(CAPACITY).unwrap(), TIME, |memory| {
        let (mut writer, mut reader) = qrtr::pair::<Value>(memory(), CAPACITY).unwrap();
        for n in 0..20 {
            match bounded(2 + W, || writer.push([n; 12])) {
                Ok(()) => pushed += 1,
                Err(qrtr::QueueFull(value)) => {
                    assert_eq!(value, [n; 12]);
                    full += 1;
                }
            }
            if n == 10 {
                std::thread::yield_now();
            }
            match bounded(2 + W, || reader.pop()) {
                Ok(Some(_)) => popped += 1,
                Ok(None) => empty += 1,
                Err(qrtr::Corrupt) => corrupt += 1,
            }
            assert!(reader.len() <= CAPACITY as usize && writer.len() <= CAPACITY as usize);
        }
        popped > 0 && corrupt > 0 && pushed > 0 && full > 0
    });
    println!("popped {popped}, empty {empty}, corrupt {corrupt}; pushed {pushed}, full {full}");
}
