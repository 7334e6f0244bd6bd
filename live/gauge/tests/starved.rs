// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measurements beside a thread that keeps the CPU: they end in bounded time, without a figure.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use taut_gauge::{
    NotMeasured, PATIENCE, Samples, copies, device_wakes, releases, releases_beside_calls, switches,
};
use taut_sys::thread;

/// How much longer than [`PATIENCE`] they may take to end: other threads may use the CPU that is left.
const MORE: Duration = Duration::from_secs(3);

/// The number of samples that take microseconds each: more than fit into 50 ms, the part of a second that the kernel
/// withholds from real-time threads.
const SHORT: usize = 10_000;

/// Measures a CPU, with a second CPU beside it.
type Measure = fn(u16, u16) -> Result<Samples, NotMeasured>;

#[test]
fn measurements_end_where_others_keep_the_cpu() {
    let online = thread::online_cpus();
    let [other, .., cpu] = online[..] else {
        println!("skipped: no second CPU");
        return;
    };
    let (ready, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let hog = scope.spawn(|| {
            let placed = thread::set_fifo(99).and_then(|()| thread::set_affinity(&[cpu]));
            ready.store(true, Ordering::Release);
            placed?;
            // This thread ends by itself, even if the test fails.
            let begin = Instant::now();
            while !done.load(Ordering::Relaxed) && begin.elapsed() < 3 * (PATIENCE + MORE) {
                std::hint::spin_loop();
            }
            Ok::<(), taut_sys::Error>(())
        });
        while !ready.load(Ordering::Acquire) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if hog.is_finished() {
            println!("skipped: this user may not create real-time threads");
            return;
        }
        let begin = Instant::now();
        let ways: [(&str, Measure); 6] = [
            ("releases", |cpu, _| releases(cpu, 200)),
            ("beside calls", |cpu, _| releases_beside_calls(cpu, 200)),
            ("switches", |cpu, _| switches(cpu, SHORT)),
            ("device wakes", |cpu, _| device_wakes(cpu, 4, 1_000)),
            ("copies", |cpu, other| copies(cpu, other, SHORT)),
            ("copies of it", |cpu, other| copies(other, cpu, SHORT)),
        ];
        let found = ways.map(|(name, measure)| (name, scope.spawn(move || measure(cpu, other))));
        let found = found.map(|(name, found)| (name, found.join().expect("no panic")));
        let took = begin.elapsed();
        done.store(true, Ordering::Relaxed);
        assert!(took < PATIENCE + MORE, "{took:?}");
        // A kernel that withholds time from real-time threads may give some of it to a less urgent one of them.
        let mut starved = 0;
        for (name, found) in found {
            match found {
                Ok(_) => println!("{name}: figures, in what the kernel took from the other"),
                Err(why) => {
                    assert_eq!(why, NotMeasured::Starved, "{name}");
                    starved += 1;
                }
            }
        }
        assert!(starved > 0, "nobody kept the CPU");
    });
}
