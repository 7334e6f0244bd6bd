// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Writes a table of all telemetry, while the application runs.

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::PathBuf;

use taut::Context;
use taut_cochlear::manifest::task;

/// The name of the table.
pub(crate) const TABLE: &str = "telemetry.csv";

/// Writes the table into the folder, if there is one, until the application stops.
pub(crate) fn log(
    io: &mut task::logger::Io<'_>,
    context: &mut Context<'_>,
    folder: Option<PathBuf>,
) -> Result<()> {
    let Some(folder) = folder else { return Ok(()) };
    let mut table = BufWriter::new(File::create(folder.join(TABLE))?);
    writeln!(table, "frame,loudest,pulses")?;
    while let Some(telemetry) = io.telemetry.receive_until_stop(context) {
        writeln!(table, "{},{},{}", telemetry.frame, telemetry.loudest, telemetry.pulses)?;
    }
    writeln!(table, "# {} lost", io.telemetry.lost())?;
    table.flush()
}
