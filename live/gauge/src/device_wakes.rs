// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures what a device thread executes each time that it wakes.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use taut_sys::{Error, clock, device, futex};

use crate::thread_placement::{Crew, MEASURES, SERVES};
use crate::{NotMeasured, Samples};

/// Time between two wakes: enough for the other thread to run and to sleep again.
const APART_NS: u64 = 200_000;

/// Measures, `count` times, how long a thread takes that finds one of so many devices ready, wakes a thread of the same core,
/// and looks at the others before it sleeps. The devices are sockets, whose drivers answer at once: others may take longer.
///
/// # Errors
/// As [`crate::switches`]; and the system's, if it has no descriptors left.
pub fn device_wakes(cpu: u16, devices: usize, count: usize) -> Result<Samples, NotMeasured> {
    let refused = |error: std::io::Error| {
        NotMeasured::System(Error { call: "socketpair", errno: error.raw_os_error().unwrap_or(0) })
    };
    let pairs: Vec<(UnixStream, UnixStream)> =
        (0..devices.max(1)).map(|_| UnixStream::pair()).collect::<Result<_, _>>().map_err(refused)?;
    device::write(pairs[0].1.as_fd(), &[0]).map_err(NotMeasured::System)?;
    let all: Vec<_> = pairs.iter().map(|(ours, _)| Some(ours.as_fd())).collect();
    let others: Vec<_> = std::iter::once(None).chain(all[1..].iter().copied()).collect();
    let takes = Duration::from_nanos(2 * APART_NS).saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
    let (crew, word, over) = (Crew::new(takes), AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let woken = crew.post(scope, cpu, SERVES, || {
            while !over.load(Ordering::Acquire) && !crew.is_given_up() {
                let _ = futex::wait(&word, word.load(Ordering::Acquire), None, false);
            }
        });
        let urgent = crew.post(scope, cpu, MEASURES, || {
            let mut samples = Vec::with_capacity(count.max(1));
            while samples.len() < count.max(1) && !crew.is_given_up() {
                clock::sleep_until(clock::monotonic_ns().saturating_add(APART_NS));
                let before_ns = clock::monotonic_ns();
                let ready = device::wait_any(&all, Some(Duration::ZERO));
                word.fetch_add(1, Ordering::Release);
                // An error could only mean that the word is not mapped.
                let _ = futex::wake(&word, 1, false);
                let none = device::wait_any(&others, Some(Duration::ZERO));
                samples.push(clock::monotonic_ns().saturating_sub(before_ns));
                debug_assert_eq!((ready, none), (Ok(1), Ok(0)));
            }
            samples
        });
        let samples = urgent.map_err(NotMeasured::from).and_then(|urgent| crew.joined(urgent));
        over.store(true, Ordering::Release);
        word.fetch_add(1, Ordering::Release);
        let _ = futex::wake(&word, 1, false);
        crew.joined(woken?)?;
        Ok(Samples::of(samples?).expect("at least one"))
    })
}
