// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The sound processor as a real-time application: its tasks, and the channels between them.
//!
//! ```text
//! source ─samples─▶ recording ─audio─▶ processing ─electrodes─▶ output
//!  (file)            8 ms               8 ms │ ▲                 (each frame)
//!                                     levels ▼ │ settings
//!                                       cochlear-ui
//! ```

mod arguments;
mod output;
mod source;

use std::path::PathBuf;
use std::process::ExitCode;

use taut::{
    App, Component, CountingAllocator, Error, Failure, Job, QueueReader, QueueWriter, StateReader,
    StateWriter, Task,
};
use taut_cochlear::speech::Speech;
use taut_cochlear::{AudioFrame, FRAME_SAMPLES, Map, Params, Processor, Settings, Stimulation};

use crate::arguments::{Arguments, USAGE};
use crate::output::Output;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Failure code: a task could not pass a frame on because the frame's reader is behind.
const FRAME_LOST: u32 = 1;

/// Takes the next frame of the source, as a microphone's driver would.
struct Recording<'p> {
    samples: QueueReader<'p, AudioFrame>,
    audio: QueueWriter<'p, AudioFrame>,
}

impl Component for Recording<'_> {}

impl Task for Recording<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        // A microphone is never late: without a frame of the file there is silence.
        let frame = self.samples.receive(job).unwrap_or(AudioFrame([0; FRAME_SAMPLES]));
        self.audio.send(job, frame).map_err(|_| Failure::Code(FRAME_LOST))
    }
}

/// Turns sound into current levels.
struct Processing<'p> {
    processor: Processor,
    audio: QueueReader<'p, AudioFrame>,
    settings: StateReader<'p, Settings>,
    electrodes: QueueWriter<'p, Stimulation>,
    levels: StateWriter<'p, Stimulation>,
    frame: u64,
}

impl Component for Processing<'_> {}

impl Task for Processing<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let Some(sound) = self.audio.receive(job) else {
            return Ok(());
        };
        // `sanitised` brings any value that a client wrote into range.
        let settings = self.settings.latest(job).unwrap_or_default().sanitised();
        let mut stimulation = Stimulation::silent(self.frame);
        self.processor.process(&sound.0, settings, &mut stimulation.levels);
        self.frame += 1;
        // A real-time writer of a state never fails; the electrodes depend on the queue alone.
        let _ = self.levels.publish(job, stimulation);
        self.electrodes.send(job, stimulation).map_err(|_| Failure::Code(FRAME_LOST))
    }
}

fn setup(app: &mut App<'_>, speech: Speech, out: Option<PathBuf>) -> Result<(), Error> {
    let params = Params::new(Map::default());
    app.service("sound", |service| {
        service.task("recording", |create| {
            let (samples, audio) = (create.queue_reader("samples")?, create.queue_writer("audio")?);
            Ok(Recording { samples, audio })
        })?;
        service.task("processing", |create| {
            Ok(Processing {
                processor: Processor::new(&params),
                audio: create.queue_reader("audio")?,
                settings: create.state_reader("settings")?,
                electrodes: create.queue_writer("electrodes")?,
                levels: create.state_writer("levels")?,
                frame: 0,
            })
        })
    })?;
    app.receiver("output", |create| Output::new(create, &params, out))?;
    app.best_effort("source", |create| source::source(create, speech))
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
        Ok(speech) => taut::start(|app| setup(app, speech, arguments.out())),
        Err(error) => refuse(&error.to_string()),
    }
}

fn refuse(message: &str) -> ExitCode {
    taut::errln!("error: {message}");
    ExitCode::from(2)
}
