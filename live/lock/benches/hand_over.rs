// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the locks between cores cost: alone, and from the moment before one lets go on one processor to the moment after
//! another has the lock on another one; beside a word that goes to and fro, and a plain futex wake, in the same run.
//!
//! `cargo bench -p taut-lock --bench hand_over [-- [--json] [--rounds N]]`. On the first and the last processor that the
//! program may use, under SCHED_FIFO if it may. Each round of each kind is the median of its samples; rounds of all kinds
//! interleaved; median, least and largest round. Times between processors include one look at the clock.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, reason = "a program for a person")]

use std::hint::{black_box, spin_loop};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

use taut_lock::{LINE_BYTES, Line, Memory, Patience, queued, spin};
use taut_sys::{clock, futex, thread};

/// Samples of a round.
const SAMPLES: u64 = 300;
/// Pairs of operations that are timed together.
const PAIRS: u32 = 20_000;
/// Turns of a word that goes to and fro.
const TURNS: u64 = 2_000;
/// Until the other one waits, or sleeps.
const SETTLED: Duration = Duration::from_micros(3);
const ASLEEP: Duration = Duration::from_micros(100);

/// A word on a line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Word(AtomicU64);

/// One kind of measurement: its rounds, in ns.
struct Row {
    name: &'static str,
    rounds: Vec<f64>,
}

impl Row {
    fn spread(&self) -> (f64, f64, f64) {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        (sorted[sorted.len() / 2], sorted[0], sorted[sorted.len() - 1])
    }
}

fn lines(parties: u32) -> &'static mut [Line] {
    Vec::leak((0..spin::bytes(parties) / LINE_BYTES).map(|_| Line::new()).collect())
}

/// ns of one of `PAIRS` calls.
fn time(mut pair: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..PAIRS).for_each(|_| pair());
    start.elapsed().as_nanos() as f64 / f64::from(PAIRS)
}

fn pause(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}

fn pin(cpu: u16) {
    thread::set_affinity(&[cpu]).unwrap();
    // Without the privilege the figures are those of an ordinary thread.
    let _ = thread::set_fifo(50);
}

/// Runs `first` and `second` on two processors.
fn on_two(cpus: [u16; 2], first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        scope.spawn(move || {
            pin(cpus[0]);
            first();
        });
        scope.spawn(move || {
            pin(cpus[1]);
            second();
        });
    });
}

/// The median of what lies between the instants that two threads have noted.
fn between(starts: Vec<u64>, ends: Vec<u64>) -> f64 {
    let mut times: Vec<_> = starts.iter().zip(&ends).map(|(start, end)| end.saturating_sub(*start)).collect();
    times.sort_unstable();
    times[times.len() / 2] as f64
}

/// A word goes to and fro: ns of both ways.
fn round_trip(cpus: [u16; 2]) -> f64 {
    let (there, back, took) = (Word::default(), Word::default(), Mutex::new(0.0));
    on_two(
        cpus,
        || {
            let mut start = Instant::now();
            for turn in 1..=2 * TURNS {
                if turn == TURNS {
                    start = Instant::now();
                }
                there.0.store(turn, Release);
                while back.0.load(Acquire) != turn {
                    spin_loop();
                }
            }
            *took.lock().unwrap() = start.elapsed().as_nanos() as f64 / TURNS as f64;
        },
        || {
            for turn in 1..=2 * TURNS {
                while there.0.load(Acquire) != turn {
                    spin_loop();
                }
                back.0.store(turn, Release);
            }
        },
    );
    took.into_inner().unwrap()
}

/// Two threads in turns, `SAMPLES` times: `give` by the first notes its start before it lets the second go on, `take` by the
/// second its end. `ready` is told by the second before it waits.
fn hand_over(
    cpus: [u16; 2],
    settle: Duration,
    mut prepare: impl FnMut() + Send,
    mut give: impl FnMut() + Send,
    mut take: impl FnMut() + Send,
    mut after: impl FnMut() + Send,
) -> f64 {
    let (ready, done) = (Word::default(), Word::default());
    let (starts, ends) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    on_two(
        cpus,
        || {
            let mut noted = Vec::with_capacity(SAMPLES as usize);
            for sample in 1..=SAMPLES {
                prepare();
                done.0.store(sample, Release);
                while ready.0.load(Acquire) != sample {
                    spin_loop();
                }
                pause(settle);
                noted.push(clock::monotonic_ns());
                give();
                while ready.0.load(Acquire) != sample + SAMPLES {
                    spin_loop();
                }
            }
            *starts.lock().unwrap() = noted;
        },
        || {
            let mut noted = Vec::with_capacity(SAMPLES as usize);
            for sample in 1..=SAMPLES {
                while done.0.load(Acquire) != sample {
                    spin_loop();
                }
                ready.0.store(sample, Release);
                take();
                noted.push(clock::monotonic_ns());
                after();
                ready.0.store(sample + SAMPLES, Release);
            }
            *ends.lock().unwrap() = noted;
        },
    );
    between(starts.into_inner().unwrap(), ends.into_inner().unwrap())
}

/// A plain word that the other one spins on.
fn signal(cpus: [u16; 2]) -> f64 {
    let word = Word::default();
    let (mut given, mut taken) = (0, 0);
    hand_over(
        cpus,
        SETTLED,
        || (),
        || {
            given += 1;
            word.0.store(given, Release);
        },
        || {
            taken += 1;
            while word.0.load(Acquire) != taken {
                spin_loop();
            }
        },
        || (),
    )
}

fn spun(cpus: [u16; 2]) -> f64 {
    let mut parties = spin::group(Memory::new(lines(2)), 2).unwrap();
    let first = Mutex::new(parties.next().unwrap());
    let second = Mutex::new(parties.next().unwrap());
    hand_over(
        cpus,
        SETTLED,
        || {
            let _ = first.lock().unwrap().enter(Patience::Endless);
        },
        || first.lock().unwrap().leave(),
        || {
            let _ = second.lock().unwrap().enter(Patience::Endless);
        },
        || second.lock().unwrap().leave(),
    )
}

/// A futex that the other one sleeps on.
fn woken(cpus: [u16; 2]) -> f64 {
    let word = AtomicU32::new(0);
    let (mut given, mut taken) = (0, 0);
    hand_over(
        cpus,
        ASLEEP,
        || (),
        || {
            given += 1;
            word.store(given, Release);
            futex::wake(&word, 1, false).unwrap();
        },
        || {
            while word.load(Acquire) == taken {
                futex::wait(&word, taken, None, false).unwrap();
            }
            taken += 1;
        },
        || (),
    )
}

fn slept(cpus: [u16; 2]) -> f64 {
    let mut parties = queued::group(Memory::new(lines(2)), 2).unwrap();
    let first = Mutex::new(parties.next().unwrap());
    let second = Mutex::new(parties.next().unwrap());
    hand_over(
        cpus,
        ASLEEP,
        || {
            let _ = first.lock().unwrap().request(1);
        },
        || {
            let _ = first.lock().unwrap().release();
        },
        || {
            let mut party = second.lock().unwrap();
            if party.request(1) == queued::RequestOutcome::Waits {
                party.wait(Patience::Endless).unwrap();
            }
        },
        || {
            let _ = second.lock().unwrap().release();
        },
    )
}

/// Uncontended pairs, of 2 and of 8 parties, and of the standard library's mutex.
fn alone(rows: &mut [Row]) {
    let mut figures = Vec::new();
    for parties in [2, 8] {
        let mut party = spin::group(Memory::new(lines(parties)), parties).unwrap().next().unwrap();
        figures.push(time(|| {
            let _ = black_box(party.enter(Patience::Endless));
            party.leave();
        }));
        let mut party = queued::group(Memory::new(lines(parties)), parties).unwrap().next().unwrap();
        figures.push(time(|| {
            black_box(party.request(1));
            party.release();
        }));
    }
    let mutex = Mutex::new(0u64);
    figures.push(time(|| *black_box(&mutex).lock().unwrap() += 1));
    let word = AtomicU64::new(0);
    figures.push(time(|| {
        black_box(&word).fetch_add(1, Relaxed);
    }));
    rows.iter_mut().zip(figures).for_each(|(row, figure)| row.rounds.push(figure));
}

fn main() -> ExitCode {
    let (mut json, mut rounds) = (false, 15);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--bench" => {}
            "--json" => json = true,
            "--rounds" => match words.next().and_then(|number| number.parse().ok()) {
                Some(number) if number > 0 => rounds = number,
                _ => return usage(),
            },
            _ => return usage(),
        }
    }
    let allowed = thread::affinity().unwrap();
    let cpus = [allowed[0], allowed[allowed.len() - 1]];
    if cpus[0] == cpus[1] {
        eprintln!("hand_over: needs two processors");
        return ExitCode::FAILURE;
    }
    let names = [
        "spin, enter + leave, 2 parties",
        "queued, request + release, 2 parties",
        "spin, enter + leave, 8 parties",
        "queued, request + release, 8 parties",
        "std mutex, lock + unlock",
        "one exchange",
        "a word, to and fro",
        "a word, seen",
        "spin, handed over",
        "futex, woken",
        "queued, handed over",
    ];
    let mut rows: Vec<_> = names.into_iter().map(|name| Row { name, rounds: Vec::new() }).collect();
    for _ in 0..rounds {
        alone(&mut rows[..6]);
        let between = [round_trip(cpus), signal(cpus), spun(cpus), woken(cpus), slept(cpus)];
        rows[6..].iter_mut().zip(between).for_each(|(row, figure)| row.rounds.push(figure));
    }
    // Beside what: the exchange; the way to and fro; the plain wake.
    let beside = |i: usize| rows[[5, 5, 5, 5, 5, 5, 6, 6, 6, 9, 9][i]].spread().0;
    if json {
        let shown = rows.iter().enumerate().map(|(i, row)| {
            let (median, min, max) = row.spread();
            format!(
                "{{\"what\":\"{}\",\"rounds\":{rounds},\"ns_median\":{median:.2},\"ns_min\":{min:.2},\
                 \"ns_max\":{max:.2},\"ratio\":{:.3}}}",
                row.name,
                median / beside(i)
            )
        });
        println!("[{}]", shown.collect::<Vec<_>>().join(",\n "));
    } else {
        println!("ns, {rounds} rounds on processors {cpus:?}: median [least, largest]");
        println!(
            "ratio: to one exchange; between processors to a word's way to and fro; asleep to a futex's wake"
        );
        for (i, row) in rows.iter().enumerate() {
            let (median, min, max) = row.spread();
            let spread = format!("[{min:.1}, {max:.1}]");
            println!("{:<38} {median:>9.1}  {spread:<22} {:>6.2}", row.name, median / beside(i));
        }
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: hand_over [--json] [--rounds N]");
    ExitCode::from(2)
}
