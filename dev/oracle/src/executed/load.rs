// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What is busy beside a run, and what notices that a run does not end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration as Time;

use taut_sys::memory;

/// What is copied at a time: more than caches near a core have.
const BYTES: usize = 4 << 20;
/// How much longer than its time a set may take before a wake-up counts as lost.
const GRACE: Time = Time::from_secs(30);

/// Ordinary threads that compute, copy and call the kernel for as long as this lives.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    pub(crate) fn new(threads: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = |_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || toil(&stop))
        };
        Self { threads: (0..threads).map(thread).collect(), stop }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that failed was a load no longer; nothing is concluded from it.
            let _ = thread.join();
        }
    }
}

fn toil(stop: &AtomicBool) {
    let (one, mut other) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
    let mut sum = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        other.copy_from_slice(&one);
        sum = other
            .iter()
            .step_by(64)
            .fold(sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        // Long system calls, of which a kernel that cannot be preempted lets others wait.
        drop(memory::map_anonymous(1 << 20));
    }
    std::hint::black_box(sum);
}

/// Ends the process if a set does not come to its end.
pub(crate) struct Watchdog {
    /// The seed and 1 of a set that runs; 0 of none. Which of the sets it is, and for how long.
    running: Arc<AtomicU64>,
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
                        println!("seed {seed}: a wake-up was lost: it does not end");
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
        // It lives as long as the process.
        let _ = self.sets.send((seed, time));
    }

    pub(crate) fn ended(&self) {
        self.running.store(0, Ordering::Release);
    }
}
