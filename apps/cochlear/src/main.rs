// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The sound processor as a real-time application: its tasks, and the channels between them.
//!
//! ```text
//! source ─samples─▶ recording ─audio─▶ processing ─electrodes─▶ output
//!  (file)            8 ms               8 ms │ ▲ └─telemetry─▶ logger   (each frame)
//!                                     levels ▼ │ settings └─▶ cochlear-ui
//!                                       cochlear-ui
//! ```

mod arguments;
mod logger;
mod output;
mod source;

use std::path::PathBuf;
use std::process::ExitCode;

use taut::{CountingAllocator, Error, Job};
use taut_cochlear::manifest::{Ready, Setup, Tasks, app, task};
use taut_cochlear::speech::Speech;
use taut_cochlear::{FRAME_SAMPLES, Map, Params, Processor, Stimulation, Telemetry};

use crate::arguments::{Arguments, USAGE};
use crate::output::Output;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

taut::errors! {
    /// Why a job fails.
    enum Fault {
        /// The frame's reader is behind.
        FrameLost,
        /// The frame has a defect, such as a gap in the numbers, a level out of range, or too many pulses.
        Defect,
    }
}

/// Takes the next frame of the source, as a microphone's driver would.
struct Recording;

impl task::Recording for Recording {
    type Error = Fault;

    fn release(&mut self, io: &mut task::recording::Io<'_>, job: &mut Job<'_>) -> Result<(), Fault> {
        // A microphone is never late: without a frame of the file there is silence.
        let frame = io.samples.receive(job).unwrap_or([0; FRAME_SAMPLES]);
        io.audio.send(job, frame).map_err(|_| Fault::FrameLost)
    }
}

/// Turns sound into current levels.
struct Processing {
    processor: Processor,
    frame: u64,
}

impl task::Processing for Processing {
    type Error = Fault;

    fn release(&mut self, io: &mut task::processing::Io<'_>, job: &mut Job<'_>) -> Result<(), Fault> {
        let Some(sound) = io.audio.receive(job) else {
            return Ok(());
        };
        // `sanitised` brings any value that a client wrote into range.
        let settings = io.settings.latest(job).unwrap_or_default().sanitised();
        let mut stimulation = Stimulation::silent(self.frame);
        self.processor.process(&sound, settings, &mut stimulation.levels);
        self.frame += 1;
        // The electrodes depend on their queue alone; these two cannot fail.
        let _ = io.levels.publish(job, stimulation);
        let _ = io.telemetry.send(job, Telemetry::of(&sound, &stimulation));
        io.electrodes.send(job, stimulation).map_err(|_| Fault::FrameLost)
    }
}

fn set_up(setup: Setup<'_, '_>, speech: Speech, out: Option<PathBuf>) -> Result<Ready, Error> {
    let params = Params::new(Map::default());
    let output = Output::new(setup.task.output, &params, out.clone())?;
    setup.application(Tasks {
        recording: Recording,
        processing: Processing { processor: Processor::new(&params), frame: 0 },
        output,
        source: |io, context| source::source(io, context, speech),
        logger: |io, context| {
            logger::log(io, context, out).unwrap_or_else(|error| taut::errln!("{}: {error}", logger::TABLE));
        },
    })
}

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args_os().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            taut::outln!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(message) => return refuse(&message),
    };
    // Check the recording before the application boots.
    match arguments.speech() {
        Ok(speech) => taut::start(app(|setup| set_up(setup, speech, arguments.out()))),
        Err(error) => refuse(&error.to_string()),
    }
}

fn refuse(message: &str) -> ExitCode {
    taut::errln!("error: {message}");
    ExitCode::from(2)
}
