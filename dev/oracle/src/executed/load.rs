// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The load beside a run, and a watchdog for runs that do not end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration as Time;

use taut_sys::{clock, memory, thread};

use super::probe::Seen;

/// Bytes copied in a round: more than the caches near a core hold.
const BYTES: usize = 4 << 20;
/// How much longer than its time a set may take before a wake-up counts as lost.
const GRACE: Time = Time::from_secs(30);

/// Bytes copied between two clock reads, which takes a few microseconds.
const PIECE: usize = 16 << 10;
/// Rounds of copying between two system calls. A call takes half a millisecond, in which the thread cannot report
/// that it has its core.
const ROUNDS: usize = 16;
/// If two clock reads of an ordinary thread are no farther apart than this, the thread had its core all the time in
/// between; it may have worked there.
const THERE_NS: u64 = 20_000;
/// The longest stretch of time that is recorded at once.
const STRETCH_NS: u64 = 100_000;
/// How often a thread that only watches checks whether there is a set to watch.
const RESTS: Time = Time::from_micros(500);

/// Where a thread records when it had its core, while a set runs.
type Place = Arc<Mutex<Option<Arc<Seen>>>>;

/// Ordinary threads, at least one on each core, for as long as this lives; always ready while a set runs. Some work:
/// they compute, copy and make system calls. All of them record when they had the core: nothing else wanted it then.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    cores: usize,
    places: Vec<Place>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// `toiling` threads work; the others only watch, and only while a set runs.
    pub(crate) fn new(cpus: &[u16], toiling: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let count = if cpus.is_empty() { 0 } else { toiling.max(cpus.len()) };
        let places: Vec<Place> = (0..count).map(|_| Place::default()).collect();
        let thread = |(at, place): (usize, &Place)| {
            let (stop, place, cpu) = (Arc::clone(&stop), Arc::clone(place), cpus[at % cpus.len()]);
            std::thread::spawn(move || {
                // On another core the thread would report that core's spare time as this one's.
                if thread::set_affinity(&[cpu]).is_ok() {
                    be_there(&stop, &place, (at < toiling).then(Toil::new));
                }
            })
        };
        Self { threads: places.iter().enumerate().map(thread).collect(), cores: cpus.len(), places, stop }
    }

    /// From now on the threads record when they have each of `cores`; none does if `cores` is empty.
    pub(crate) fn watch(&self, cores: &[Arc<Seen>]) {
        for (at, place) in self.places.iter().enumerate() {
            let seen = if cores.is_empty() { None } else { cores.get(at % self.cores).cloned() };
            *place.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that failed is no load any more; nothing is concluded from it.
            let _ = thread.join();
        }
    }
}

/// Runs whenever nothing else wants the core.
fn be_there(stop: &AtomicBool, place: &Place, mut toil: Option<Toil>) {
    let mut from = clock::monotonic_ns();
    let mut before = from;
    while !stop.load(Ordering::Relaxed) {
        let now = clock::monotonic_ns();
        let watches = match &*place.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(seen) => {
                let is_cut = now - before > THERE_NS;
                if is_cut || before - from > STRETCH_NS {
                    seen.spare(from, before);
                    from = if is_cut { now } else { before };
                }
                true
            }
            None => {
                from = now;
                false
            }
        };
        before = now;
        match &mut toil {
            Some(toil) => toil.a_little(),
            None if watches => {}
            None => std::thread::sleep(RESTS),
        }
    }
}

/// Copies and sums up a piece at a time, and makes a system call after every [`ROUNDS`] rounds.
struct Toil {
    one: Vec<u8>,
    other: Vec<u8>,
    at: usize,
    round: usize,
    sum: u64,
}

impl Toil {
    fn new() -> Self {
        Self { one: vec![1; BYTES], other: vec![0; BYTES], at: 0, round: 0, sum: 0 }
    }

    fn a_little(&mut self) {
        let piece = self.at..self.at + PIECE;
        self.other[piece.clone()].copy_from_slice(&self.one[piece.clone()]);
        let bytes = self.other[piece].iter().step_by(64);
        self.sum = bytes.fold(self.sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        self.at += PIECE;
        if self.at == BYTES {
            self.at = 0;
            self.round += 1;
            std::hint::black_box(self.sum);
            if self.round.is_multiple_of(ROUNDS) {
                // A long call: a kernel without preemption keeps other threads waiting during it.
                drop(memory::map_anonymous(1 << 20));
            }
        }
    }
}

/// Ends the process if a set does not come to its end.
pub(crate) struct Watchdog {
    /// The seed of the running set, plus 1; 0 if none runs.
    running: Arc<AtomicU64>,
    /// The sets that begin: the seed and the time of each.
    sets: mpsc::Sender<(u64, Time)>,
}

impl Watchdog {
    pub(crate) fn new() -> Self {
        let running = Arc::new(AtomicU64::new(0));
        let (sets, begun) = mpsc::channel::<(u64, Time)>();
        let seen = Arc::clone(&running);
        std::thread::spawn(move || {
            while let Ok((seed, time)) = begun.recv() {
                let end = std::time::Instant::now() + time + GRACE;
                while seen.load(Ordering::Acquire) == seed + 1 {
                    if std::time::Instant::now() > end {
                        println!("seed {seed}: a wake-up was lost, so the run does not end");
                        std::process::exit(1);
                    }
                    std::thread::sleep(Time::from_millis(20));
                }
            }
        });
        Self { running, sets }
    }

    pub(crate) fn begins(&self, seed: u64, time: Time) {
        self.running.store(seed + 1, Ordering::Release);
        // The thread that receives it lives as long as the process.
        let _ = self.sets.send((seed, time));
    }

    pub(crate) fn ended(&self) {
        self.running.store(0, Ordering::Release);
    }
}
