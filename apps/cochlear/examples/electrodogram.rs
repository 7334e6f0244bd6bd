// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Runs the chain over a recording, as fast as it goes, and writes `electrodogram.svg` and `vocoded.wav`.
//!
//! `cargo run --release -p taut-cochlear --example electrodogram -- [FILE.wav] [OUTPUT DIRECTORY]`
//! Without a file: the bundled speech. Without a directory: the current one.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use taut_cochlear::inspection::Inspector;
use taut_cochlear::speech::Speech;
use taut_cochlear::{Params, Processor, Settings, Stimulation, electrodogram, vocoder};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (file, directory) = match arguments.as_slice() {
        [] => (None, "."),
        [one] if one.ends_with(".wav") => (Some(one.as_str()), "."),
        [one] => (None, one.as_str()),
        [file, directory, ..] => (Some(file.as_str()), directory.as_str()),
    };
    let speech = file.map_or_else(|| Ok(Speech::bundled()), Speech::open)?;
    let params = Params::default();
    let mut processor = Processor::new(&params);
    let mut inspector = Inspector::new(params.map().clone(), params.maxima());
    let mut frames = Vec::new();
    for (number, sound) in (0..).zip(speech) {
        let mut stimulation = Stimulation::silent(number);
        processor.process(&sound, Settings::default(), &mut stimulation.levels);
        inspector.check(&stimulation);
        frames.push(stimulation);
    }
    let directory = PathBuf::from(directory);
    std::fs::create_dir_all(&directory)?;
    let picture = directory.join("electrodogram.svg");
    let title = format!("Electrodogram: {}", file.unwrap_or("bundled speech"));
    std::fs::write(&picture, electrodogram::render(&frames, params.map(), &title))?;
    let sound = directory.join("vocoded.wav");
    vocoder::write_wav(&sound, &vocoder::vocode(&frames, &params))?;
    println!("{} frames, defects: {:?}", inspector.frames(), inspector.defects());
    println!("{}\n{}", picture.display(), sound.display());
    Ok(())
}
