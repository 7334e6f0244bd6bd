// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! DBP and TCCP on four threads, on a payload that shows tearing: a dispatcher that activates as fast as it can, and
//! jobs that run at any time. 10 000 activations each; `TAUT_STRESS_SECONDS` makes it longer. Under Miri the runs are
//! short.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use taut_share::state::dbp::{self, NotActivated, NotYet, Shape};
use taut_share::state::tccp::{self, NotRead};
use taut_share::{LINE_BYTES, Line, Memory};

use crate::alone;
use crate::payload::{marked, number};

type Value = [u64; 40];
const ACTIVATIONS: u64 = if cfg!(miri) { 40 } else { 10_000 };

/// Ends the threads when it is dropped, also by a panic.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

macro_rules! stress {
    ($name:ident, $protocol:ident, $shape:expr, $reported:expr) => {
        #[test]
        fn $name() {
            let _turn = alone();
            let shape = $shape;
            let bytes = $protocol::bytes::<Value>(shape).unwrap();
            let mut lines: Vec<Line> = (0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect();
            let (mut dispatcher, mut writer, readers) =
                $protocol::group::<Value>(Memory::new(&mut lines), shape).unwrap();
            let (over, met) = (&AtomicBool::new(false), &AtomicU32::new(0));
            let seconds =
                std::env::var("TAUT_STRESS_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(0.0);
            let end = Instant::now() + Duration::from_secs_f64(seconds);
            let limit = end + Duration::from_secs(60);
            thread::scope(|scope| {
                scope.spawn(move || {
                    while !over.load(Relaxed) {
                        let Some(mut job) = writer.job() else {
                            thread::yield_now();
                            continue;
                        };
                        let value = marked(job.number());
                        job.write(&value);
                    }
                });
                let readers: Vec<_> = (0u32..)
                    .zip(readers)
                    .map(|(which, mut reader)| {
                        scope.spawn(move || {
                            let mut read = 0u64;
                            while !over.load(Relaxed) {
                                let Some(mut job) = reader.job() else {
                                    thread::yield_now();
                                    continue;
                                };
                                for _ in 0..3 {
                                    match job.read() {
                                        Ok(None) => assert_eq!(job.version(), 0),
                                        Ok(Some(value)) => {
                                            assert_eq!(number(&value), job.version());
                                            met.fetch_add(u32::from(read == 0), Relaxed);
                                            read += 1;
                                        }
                                        Err(why) => assert!($reported(why, which < shape.lower), "{why}"),
                                    }
                                }
                            }
                            read
                        })
                    })
                    .collect();
                let ended = Over(over);
                let mut done = 0;
                for at in 0.. {
                    match dispatcher.activate_writer(at) {
                        Ok(job) => done = job,
                        Err(NotActivated::Running) => {}
                        Err(other) => panic!("{other}"),
                    }
                    for which in 0..shape.lower + shape.higher {
                        match dispatcher.activate_reader(which, at) {
                            Ok(version) => {
                                assert_eq!(version, done - u64::from(which >= shape.lower).min(done))
                            }
                            Err(NotActivated::Running) => thread::yield_now(),
                            Err(other) => panic!("{other}"),
                        }
                    }
                    // If other programs are busy too, a reader may get no processor for a long time.
                    let all = cfg!(miri) || met.load(Relaxed) == shape.lower + shape.higher;
                    let now = Instant::now();
                    if done >= ACTIVATIONS && now > end && (all || now > limit) {
                        break;
                    }
                }
                drop(ended);
                for reader in readers {
                    assert!(reader.join().unwrap() > 0 || cfg!(miri), "a reader that read nothing");
                }
            });
        }
    };
}

// Only a lower reader may get `NotYet`.
stress!(dbp, dbp, Shape::several_processors(1, 1), |NotYet, lower| lower);
stress!(tccp, tccp, Shape { lower: 1, higher: 1, buffers: 3 }, |why, lower| lower || why == NotRead::Overrun);
