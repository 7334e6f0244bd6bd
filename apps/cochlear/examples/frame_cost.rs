// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures the cost of one frame: wall time around `Processor::process`, over speech, noise and silence, and over
//! speech with caches swept before every frame, as a task released every 8 ms may find them.
//!
//! These are observed figures of one thread, not bounds: the maximum includes whatever the machine did meanwhile. To
//! reduce that: `cargo build --release -p taut-cochlear --example frame_cost` and `sudo chrt -f 90 taskset -c 1
//! target/release/examples/frame_cost`.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use taut_cochlear::speech::Speech;
use taut_cochlear::{AudioFrame, Params, Processor, Settings};

/// More than the last-level cache share of one core.
const SWEPT_BYTES: usize = 32 << 20;

fn main() {
    let mut seed = 1_u32;
    let noise = std::iter::repeat_with(|| {
        std::array::from_fn(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as i16
        })
    });
    let noise: Vec<AudioFrame> = noise.take(1000).collect();
    let speech: Vec<_> = Speech::bundled().collect();
    let silence = vec![[0; 128]; 1000];
    println!("input            frames     p50 us     p99 us   p99.9 us     max us   loudest level");
    measure("speech", &speech, 40_000, false);
    measure("noise", &noise, 40_000, false);
    measure("silence", &silence, 40_000, false);
    measure("speech, cold", &speech, 1_000, true);
}

fn measure(name: &str, frames: &[AudioFrame], count: usize, cold: bool) {
    let mut processor = Processor::new(&Params::default());
    let mut swept = vec![1_u8; if cold { SWEPT_BYTES } else { 0 }];
    let mut costs = Vec::with_capacity(count);
    let mut levels = [0; 176];
    let mut loudest = 0;
    for n in 0..count {
        swept.iter_mut().step_by(64).for_each(|byte| *byte = byte.wrapping_add(1));
        black_box(&swept);
        let sound = &frames[n % frames.len()];
        // Every half second the sensitivity moves: that path costs a little more.
        let sensitivity = if n / 62 % 2 == 0 { 0.0 } else { 6.0 };
        let start = Instant::now();
        processor.process(black_box(sound), Settings { volume: 1.0, sensitivity }, &mut levels);
        costs.push(start.elapsed().as_nanos() as f64 / 1000.0);
        loudest = levels.iter().copied().fold(loudest, u8::max);
    }
    costs.sort_by(f64::total_cmp);
    let at = |part: f64| costs[((count - 1) as f64 * part) as usize];
    let (p50, p99, p999, max) = (at(0.5), at(0.99), at(0.999), at(1.0));
    println!("{name:<14} {count:>8} {p50:>10.2} {p99:>10.2} {p999:>10.2} {max:>10.2} {loudest:>15}");
}
