// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What one frame costs: wall time around `Processor::process`, over speech, noise and silence.
//!
//! Observed figures of an ordinary thread, not bounds: the maximum holds whatever the machine did meanwhile.
//! `cargo run --release -p taut-cochlear --example frame_cost`
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use taut_cochlear::speech::Speech;
use taut_cochlear::{AudioFrame, Params, Processor, Settings};

fn main() {
    let mut seed = 1_u32;
    let noise = std::iter::repeat_with(|| {
        AudioFrame(std::array::from_fn(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as i16
        }))
    });
    let noise: Vec<_> = noise.take(1000).collect();
    let speech: Vec<_> = Speech::bundled().collect();
    let silence = vec![AudioFrame([0; 128]); 1000];
    println!(
        "{:<8} {:>8} {:>10} {:>10} {:>10} {:>10}",
        "input", "frames", "p50 us", "p99 us", "p99.9 us", "max us"
    );
    for (name, frames) in [("speech", speech), ("noise", noise), ("silence", silence)] {
        let mut processor = Processor::new(&Params::default());
        let mut costs = Vec::with_capacity(40_000);
        let mut levels = [0; 176];
        for n in 0..40_000 {
            let sound = &frames[n % frames.len()].0;
            let settings = Settings { volume: 1.0, sensitivity: if n / 500 % 2 == 0 { 0.0 } else { 6.0 } };
            let start = Instant::now();
            processor.process(black_box(sound), settings, &mut levels);
            costs.push(start.elapsed().as_nanos() as f64 / 1000.0);
            black_box(&levels);
        }
        costs.sort_by(f64::total_cmp);
        let at = |part: f64| costs[((costs.len() - 1) as f64 * part) as usize];
        println!(
            "{name:<8} {:>8} {:>10.2} {:>10.2} {:>10.2} {:>10.2}",
            costs.len(),
            at(0.5),
            at(0.99),
            at(0.999),
            at(1.0)
        );
    }
}
