// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Two or three threads as fast as they can, on a payload that shows tearing. A second each;
//! `TAUT_STRESS_SECONDS` makes it longer. Miri runs it short.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

mod payload;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use payload::{marked, number};
use taut_share::queue::qrtr;
use taut_share::state::{sdrtr, sdrtw};
use taut_share::{Line, Memory};

/// Calls `step` with 1, 2, 3 … for the time of a run, and a minute more at most until all threads of `met` have met
/// it: where other programs are busy too, a thread may not get a processor for long. A few times under Miri.
fn repeat(met: &[&AtomicBool], mut step: impl FnMut(u64)) -> u64 {
    let seconds = std::env::var("TAUT_STRESS_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let limit = end + Duration::from_secs(60);
    let over = |now| now > limit || now > end && met.iter().all(|met| met.load(Ordering::Relaxed));
    for n in 1.. {
        if if cfg!(miri) { n > 150 } else { n % 64 == 0 && over(Instant::now()) } {
            return n - 1;
        }
        step(n);
    }
    unreachable!("the loop above has no end")
}

/// Reads after which a thread has met the writer.
const MET: u64 = 11;

/// One test at a time, so that its threads have the processors.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lines(bytes: usize) -> Vec<Line> {
    (0..bytes.div_ceil(128)).map(|_| Line::new()).collect()
}

fn sdrtr_holds<const N: usize>() {
    let _turn = alone();
    let mut lines = lines(sdrtr::bytes::<[u64; N]>());
    let (mut writer, mut reader) = sdrtr::pair::<[u64; N]>(Memory::new(&mut lines)).unwrap();
    let (done, met) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let (mut last, mut reads) = (0, 0u64);
            while !done.load(Ordering::Relaxed) {
                if let Some(value) = reader.read() {
                    let n = number(&value);
                    assert!(n >= last, "backwards");
                    (last, reads) = (n, reads + 1);
                    if reads == MET {
                        met.store(true, Ordering::Relaxed);
                    }
                }
                if reads % 4 == 0 {
                    thread::yield_now();
                }
            }
            (last, reads)
        });
        let mut published = 0;
        let tries = repeat(&[&met], |n| {
            if writer.publish_within(&marked(n), 50).is_ok() {
                published = n;
            }
        });
        done.store(true, Ordering::Relaxed);
        let (last, reads) = reading.join().unwrap();
        println!("SDrtR {N}: {tries} publishes tried, last {published}; {reads} reads, last {last}");
        assert!(published > 0 && last <= published);
        assert!(cfg!(miri) || (reads >= MET && last > 0), "the threads did not meet");
    });
}

fn sdrtw_holds<const N: usize>() {
    let _turn = alone();
    let mut lines = lines(sdrtw::bytes::<[u64; N]>());
    let (mut writer, reader) = sdrtw::pair::<[u64; N]>(Memory::new(&mut lines)).unwrap();
    let done = &AtomicBool::new(false);
    let met = [&AtomicBool::new(false), &AtomicBool::new(false)];
    thread::scope(|scope| {
        let mut readers = met.into_iter();
        let reading = [reader.clone(), reader].map(|mut reader| {
            let met = readers.next().unwrap();
            scope.spawn(move || {
                let (mut last, mut reads, mut retries) = (0, 0u64, 0u64);
                while !done.load(Ordering::Relaxed) {
                    match reader.read_if_newer() {
                        Ok(Some(sample)) => {
                            assert_eq!(number(&sample.value), sample.version);
                            assert!(sample.version > last, "not newer");
                            (last, reads) = (sample.version, reads + 1);
                            if reads == MET {
                                met.store(true, Ordering::Relaxed);
                            }
                        }
                        Ok(None) => {}
                        Err(sdrtw::Retry) => retries += 1,
                    }
                }
                (reads, retries)
            })
        });
        let writes = repeat(&met, |n| {
            writer.write(&marked(n));
            // Room for a reader to get through at times, and not to be preempted inside a write for a time slice.
            if n % 8 == 0 {
                thread::yield_now();
            }
        });
        done.store(true, Ordering::Relaxed);
        for thread in reading {
            let (reads, retries) = thread.join().unwrap();
            println!("SDrtW {N}: {writes} writes; {reads} reads, {retries} retries");
            assert!(cfg!(miri) || reads >= MET, "the threads did not meet");
        }
    });
}

fn qrtr_holds<const N: usize>(capacity: u32) {
    let _turn = alone();
    let mut lines = lines(qrtr::bytes::<[u64; N]>(capacity).unwrap());
    let (mut writer, mut reader) = qrtr::pair::<[u64; N]>(Memory::new(&mut lines), capacity).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut popped = 0;
            loop {
                let last_look = done.load(Ordering::Acquire);
                while let Some(value) = reader.pop().unwrap() {
                    popped += 1;
                    assert_eq!(number(&value), popped, "lost, twice, or out of order");
                }
                if last_look {
                    return popped;
                }
                thread::yield_now();
            }
        });
        let mut pushed = 0;
        let tries = repeat(&[], |_| match writer.push(marked(pushed + 1)) {
            Ok(()) => pushed += 1,
            Err(qrtr::Full(_)) => thread::yield_now(),
        });
        done.store(true, Ordering::Release);
        assert_eq!(reading.join().unwrap(), pushed);
        println!("QrtR {capacity} × {N}: {tries} tries, {pushed} through");
        assert!(pushed > 0);
    });
}

#[test]
fn sdrtr_holds_at_64_bytes() {
    sdrtr_holds::<8>();
}

#[test]
#[cfg_attr(miri, ignore = "slow; the same code as at 64 bytes")]
fn sdrtr_holds_at_4_kib() {
    sdrtr_holds::<512>();
}

#[test]
fn sdrtw_holds_at_64_bytes() {
    sdrtw_holds::<8>();
}

#[test]
#[cfg_attr(miri, ignore = "slow; the same code as at 64 bytes")]
fn sdrtw_holds_at_4_kib() {
    sdrtw_holds::<512>();
}

#[test]
fn qrtr_holds_at_64_bytes() {
    qrtr_holds::<8>(7);
}

#[test]
fn qrtr_holds_at_24_bytes_and_one_slot() {
    qrtr_holds::<3>(1);
}

#[test]
#[cfg_attr(miri, ignore = "slow; the same code as at 64 bytes")]
fn qrtr_holds_at_4_kib() {
    qrtr_holds::<512>(4);
}
