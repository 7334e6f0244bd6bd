// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Threads take turns as fast as they can, on a value that shows tearing and is not atomic: for the thread
//! sanitizer and Miri. 0.3 s each; `TAUT_STRESS_SECONDS` makes it longer. Miri runs it short.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

mod payload;

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use payload::{marked, number};
use taut_lock::{LINE_BYTES, Line, Memory, Patience, queued, spin};

const N: usize = 6;

fn seconds() -> f64 {
    std::env::var("TAUT_STRESS_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(0.3)
}

/// The turns that a thread had, and those in which its patience ended.
type Turns = (u64, u64);

/// Threads take turns in adding 1 to a number: no turn is lost, and the number is always whole.
fn take_turns<E: Send>(
    name: &str,
    ends: impl Iterator<Item = E>,
    turn: impl Fn(&mut E, u64, &mut dyn FnMut(&mut [u64; N])) -> bool + Sync,
) -> u64 {
    let ends: Vec<_> = ends.collect();
    let barrier = Barrier::new(ends.len());
    let limit = Instant::now() + Duration::from_secs_f64(seconds());
    let turns: Vec<Turns> = thread::scope(|scope| {
        let (barrier, turn) = (&barrier, &turn);
        let threads: Vec<_> = ends
            .into_iter()
            .map(|mut end| {
                scope.spawn(move || {
                    barrier.wait();
                    let (mut had, mut not) = (0, 0);
                    for n in 0u64.. {
                        let mut up = |value: &mut [u64; N]| {
                            let before = number(value);
                            for (word, new) in value.iter_mut().zip(marked::<N>(before + 1)) {
                                *word = new;
                                // A second thread inside would interfere here.
                                std::hint::spin_loop();
                            }
                        };
                        *(if turn(&mut end, n, &mut up) { &mut had } else { &mut not }) += 1;
                        if if cfg!(miri) { n == 15 } else { n % 16 == 0 && Instant::now() > limit } {
                            break;
                        }
                        if n % 64 == 0 {
                            thread::yield_now();
                        }
                    }
                    (had, not)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    println!("{name}: {turns:?}");
    turns.iter().map(|(had, _)| had).sum()
}

fn lines(parties: u32) -> Vec<Line> {
    (0..spin::bytes(parties) / LINE_BYTES).map(|_| Line::new()).collect()
}

#[test]
fn spin() {
    for parties in if cfg!(miri) { [2, 2, 3] } else { [2, 3, 5] } {
        let (mut lines, mut value) = (lines(parties), marked::<N>(0));
        let ends = spin::group(Memory::new(&mut lines), parties).unwrap().guard(&mut value);
        let turns = take_turns(&format!("spin, {parties} parties"), ends, |end, n, up| {
            // On few processors a party may spin for one that does not run: endless patience takes its time there.
            let patience = if n % 3 == 0 { Patience::Endless } else { Patience::Looks(500) };
            end.try_with(patience, up).is_ok()
        });
        assert_eq!(number(&value), turns);
    }
}

#[test]
fn queued() {
    for parties in if cfg!(miri) { [2, 2, 3] } else { [2, 3, 8] } {
        let (mut lines, mut value) = (lines(parties), marked::<N>(0));
        let ends = queued::group(Memory::new(&mut lines), parties).unwrap().guard(&mut value);
        let turns = take_turns(&format!("queued, {parties} parties"), ends, |end, n, up| {
            end.set_priority((n % 4) as u32);
            if n % 5 == 0 {
                let soon = taut_sys::clock::monotonic_ns() + 20_000;
                end.try_with(Patience::Until(soon), up).is_ok()
            } else {
                end.with(up).unwrap();
                true
            }
        });
        assert_eq!(number(&value), turns);
    }
}
