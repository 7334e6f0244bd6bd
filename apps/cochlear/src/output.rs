// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Takes the place of the implant's coil: checks every frame, keeps the newest, and at the end writes them as a
//! picture and as sound.

use std::error::Error as StdError;
use std::path::{Path, PathBuf};

use taut::{Error, Job, Scope};
use taut_cochlear::inspection::Inspector;
use taut_cochlear::manifest::task;
use taut_cochlear::vocoder::{vocode, write_wav};
use taut_cochlear::{Params, Stimulation, electrodogram};

use crate::Fault;
use crate::logger::TABLE;

/// The files that the output writes.
const PICTURE: &str = "electrodogram.svg";
const SOUND: &str = "vocoded.wav";

/// The receiver of frames.
pub(crate) struct Output<'p> {
    inspector: Inspector,
    /// The newest frames, in a ring buffer.
    frames: &'p mut [Stimulation],
    received: usize,
    params: Params,
    folder: Option<PathBuf>,
}

impl<'p> Output<'p> {
    /// Keeps as many frames as its persistent scope holds.
    pub(crate) fn new(scope: &'p Scope<'p>, params: &Params, folder: Option<PathBuf>) -> Result<Self, Error> {
        if let Some(folder) = &folder {
            // Fail now, not after an hour's run.
            writable(folder)?;
        }
        let frames = scope.slice(scope.size() / size_of::<Stimulation>(), Stimulation::silent(0))?;
        let inspector = Inspector::new(params.map().clone(), params.maxima());
        Ok(Self { inspector, frames, received: 0, params: params.clone(), folder })
    }

    /// The frames that were kept, oldest first.
    fn kept(&self) -> Vec<Stimulation> {
        let kept = self.received.min(self.frames.len());
        (self.received - kept..self.received).map(|number| self.frames[number % self.frames.len()]).collect()
    }

    fn write(&self, folder: &Path) -> Result<(), Box<dyn StdError>> {
        let frames = self.kept();
        if frames.is_empty() {
            return Ok(());
        }
        let picture = electrodogram::render(&frames, self.params.map(), "What the electrodes got");
        std::fs::write(folder.join(PICTURE), picture)?;
        write_wav(folder.join(SOUND), &vocode(&frames, &self.params))?;
        let here = std::env::current_dir().unwrap_or_default();
        let shown = folder.strip_prefix(here).unwrap_or(folder);
        for name in [PICTURE, SOUND] {
            taut::errln!("wrote {}", shown.join(name).display());
        }
        Ok(())
    }
}

/// Creates the folder and all files, to check that they can be written.
fn writable(folder: &Path) -> Result<(), Error> {
    let make = |name| std::fs::File::create(folder.join(name)).map(drop);
    std::fs::create_dir_all(folder)
        .and_then(|()| [PICTURE, SOUND, TABLE].into_iter().try_for_each(make))
        .map_err(|error| Error::Output(folder.to_owned(), error))
}

impl task::Output for Output<'_> {
    type Error = Fault;

    fn receive(
        &mut self,
        _: &mut task::output::Io<'_>,
        _: &mut Job<'_>,
        stimulation: Stimulation,
    ) -> Result<(), Fault> {
        let capacity = self.frames.len();
        if let Some(slot) = self.frames.get_mut(self.received % capacity.max(1)) {
            *slot = stimulation;
        }
        self.received += 1;
        if self.inspector.check(&stimulation).none() { Ok(()) } else { Err(Fault::Defect) }
    }

    fn finish(&mut self) -> Result<(), Box<dyn StdError>> {
        if let Some(folder) = &self.folder {
            self.write(folder)?;
        }
        let defects = self.inspector.defects();
        if defects.none() {
            return Ok(());
        }
        Err(format!("{} frames, with defects: {defects:?}", self.inspector.frames()).into())
    }
}
