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
        let Some(sound) = io.audio.receive(job) else { return Ok(()) };
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

#[cfg(test)]
mod tests {
    use taut::Duration;
    use taut::bench::{Bench, ExecutionTime, RunVerdict, report};
    use taut_cochlear::Settings;

    use super::*;

    /// The page on tests shows code of this file.
    #[test]
    fn the_page_on_tests_shows_code_that_runs() {
        let page = include_str!("../../../docs/testing.md");
        let blocks: Vec<&str> = page.split("```rust,ignore\n").skip(1).collect();
        assert_eq!(blocks.len(), 2);
        for block in blocks {
            let code = block.split("```").next().unwrap_or_default();
            assert!(include_str!("main.rs").contains(code), "{code}");
        }
    }

    /// Eight seconds of speech in virtual time. This test plays the source and the user interface: it turns the volume down
    /// after four seconds.
    #[test]
    fn the_electrodes_get_what_the_processor_computes() -> Result<(), Error> {
        let set_up = app(|setup| set_up(setup, Speech::bundled(), None));
        let mut bench = Bench::new("taut.lock", set_up)?.seed(1);
        for (task, most) in [("recording", 50), ("processing", 75), ("output", 75)] {
            let time = Duration::from_us(10)..=Duration::from_us(most);
            bench.execution(task, ExecutionTime::uniform(time))?;
        }
        let mut speech = Speech::bundled().repeated();
        bench.every(Duration::from_ms(8), move |parties| match speech.next() {
            Some(frame) => parties.task("source").send("samples", frame),
            None => Ok(false),
        })?;
        bench.watch("electrodes")?;
        bench.run_for(Duration::from_s(4))?;
        let quiet = Settings { volume: 0.5, ..Settings::default() };
        bench.client("ui").publish("settings", quiet)?;
        bench.run_for(Duration::from_s(4))?;

        let sent = bench.sent::<Stimulation>("electrodes")?;
        let mut processor = Processor::new(&Params::new(Map::default()));
        assert_eq!(sent.len(), 1_000);
        for (sent, sound) in sent.iter().zip(Speech::bundled().repeated()) {
            let mut expected = Stimulation::silent(sent.number - 1);
            let settings = if sent.number <= 500 { Settings::default() } else { quiet };
            processor.process(&sound, settings, &mut expected.levels);
            assert_eq!(sent.value, expected);
        }
        let shown = bench.client("ui").latest::<Stimulation>("levels")?;
        assert_eq!(shown, Some(sent[999].value));
        assert_eq!(report(&bench)?.verdict(), &RunVerdict::Kept);
        bench.end()
    }

    /// A source that is late for 40 ms: the recording sends silence, and nothing else is lost.
    #[test]
    fn a_late_source_is_silence() -> Result<(), Error> {
        let set_up = app(|setup| set_up(setup, Speech::bundled(), None));
        let mut bench = Bench::new("taut.lock", set_up)?;
        bench.every(Duration::from_ms(8), |parties| {
            let is_late = (Duration::from_ms(40)..Duration::from_ms(80)).contains(&parties.now());
            if !is_late {
                parties.task("source").send("samples", [1_000_i16; FRAME_SAMPLES])?;
            }
            Ok(true)
        })?;
        bench.watch("audio")?;
        bench.run_for(Duration::from_ms(120))?;
        let audio = bench.sent::<taut_cochlear::AudioFrame>("audio")?;
        let silent: Vec<u64> =
            audio.iter().filter(|sent| sent.value[0] == 0).map(|sent| sent.number).collect();
        assert_eq!((audio.len(), silent), (15, vec![6, 7, 8, 9, 10]));
        bench.end()
    }
}
