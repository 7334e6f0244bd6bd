// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures how long a bench takes for a thousand seconds of the application without its FFT: the wall time
//! around `Bench::run_for`. A script plays the source, all channels carry their values, and the output is
//! checked. Each round is a bench of its own. It drops its records every ten seconds of virtual time, once it
//! has counted them.
//!
//! `cargo run --release -p taut-cochlear --example virtual_time`, in the folder `apps/cochlear`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use taut::bench::{Bench, ExecutionTime};
use taut::{Context, Duration, Error, Job};
use taut_cochlear::inspection::Inspector;
use taut_cochlear::manifest::{Ready, Setup, Tasks, app, task};
use taut_cochlear::speech::Speech;
use taut_cochlear::{FRAME_SAMPLES, Map, Params, Stimulation, Telemetry};

const ROUNDS: usize = 7;
const SECONDS: u64 = 1_000;
/// Frames of 8 ms.
const FRAMES: u64 = SECONDS * 125;

taut::errors! {
    /// Why a job fails.
    enum Fault {
        /// A frame is lost, or has a defect.
        Frame,
    }
}

struct Recording;

impl task::Recording for Recording {
    type Error = Fault;

    fn release(&mut self, io: &mut task::recording::Io<'_>, job: &mut Job<'_>) -> Result<(), Fault> {
        let frame = io.samples.receive(job).unwrap_or([0; FRAME_SAMPLES]);
        io.audio.send(job, frame).map_err(|_| Fault::Frame)
    }
}

/// The processing task without its sound processing.
struct Processing(u64);

impl task::Processing for Processing {
    type Error = Fault;

    fn release(&mut self, io: &mut task::processing::Io<'_>, job: &mut Job<'_>) -> Result<(), Fault> {
        let Some(sound) = io.audio.receive(job) else {
            return Ok(());
        };
        let _ = io.settings.latest(job).unwrap_or_default().sanitised();
        let stimulation = Stimulation::silent(self.0);
        self.0 += 1;
        let _ = io.levels.publish(job, stimulation);
        let _ = io.telemetry.send(job, Telemetry::of(&sound, &stimulation));
        io.electrodes.send(job, stimulation).map_err(|_| Fault::Frame)
    }
}

struct Output(Inspector);

impl task::Output for Output {
    type Error = Fault;

    fn receive(
        &mut self,
        _: &mut task::output::Io<'_>,
        _: &mut Job<'_>,
        stimulation: Stimulation,
    ) -> Result<(), Fault> {
        if self.0.check(&stimulation).none() { Ok(()) } else { Err(Fault::Frame) }
    }

    fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        if self.0.frames() == FRAMES { Ok(()) } else { Err(format!("{} frames", self.0.frames()).into()) }
    }
}

fn set_up(setup: Setup<'_, '_>) -> Result<Ready, Error> {
    let params = Params::new(Map::default());
    setup.application(Tasks {
        recording: Recording,
        processing: Processing(0),
        output: Output(Inspector::new(params.map().clone(), params.maxima())),
        source: |_: &mut task::source::Io<'_>, _: &mut Context<'_>| (),
        logger: |_: &mut task::logger::Io<'_>, _: &mut Context<'_>| (),
    })
}

/// Runs a thousand seconds; returns the wall time in ms, and the number of events.
fn round(seed: u64) -> Result<(f64, usize), Error> {
    let mut bench = Bench::new("taut.lock", app(set_up))?.seed(seed);
    for (task, most) in [("recording", 50), ("processing", 75), ("output", 75)] {
        bench.execution(task, ExecutionTime::uniform(Duration::from_us(10)..=Duration::from_us(most)))?;
    }
    let mut speech = Speech::bundled().repeated();
    bench.every(Duration::from_ms(8), move |parties| match speech.next() {
        Some(frame) => parties.task("source").send("samples", frame),
        None => Ok(false),
    })?;
    let (mut events, before) = (0, Instant::now());
    for _ in 0..SECONDS / 10 {
        bench.run_for(Duration::from_s(10))?;
        events += bench.records().len();
        bench.forget_records();
    }
    let took = before.elapsed();
    bench.end()?;
    Ok((took.as_secs_f64() * 1e3, events))
}

fn main() -> Result<(), Error> {
    for seed in 0..ROUNDS as u64 {
        let (ms, events) = round(seed)?;
        println!("{SECONDS} s of virtual time: {ms:.1} ms, {events} events");
    }
    Ok(())
}
