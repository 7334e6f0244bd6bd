// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The autopilot as a real-time application, and a logger of its telemetry.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use taut::{Context, CountingAllocator, Duration};
use taut_uav::arguments::{options, time};
use taut_uav::manifest::{app, task};
use taut_uav::tasks::set_up;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const USAGE: &str = "\
usage: taut-uav [--autopilot-ends TIME]
  --autopilot-ends TIME  stops the service `autopilot` in flight, as if its processor had died
By `taut run`: taut run apps/uav -- --autopilot-ends 8s
The aircraft is `uav-plant`, in another terminal.";

/// The name of the logger's table.
const TABLE: &str = "telemetry.csv";

/// Writes a table of the telemetry into the folder of the recording, and stops the autopilot when it is time.
fn log(
    io: &mut task::logger::Io<'_>,
    context: &mut Context<'_>,
    folder: &Path,
    ends: Option<Duration>,
) -> std::io::Result<()> {
    let mut table = BufWriter::new(File::create(folder.join(TABLE))?);
    writeln!(table, "time_s,mode,waypoint,east_m,north_m,height_m")?;
    let mut stopped = false;
    while let Some(row) = io.telemetry.receive_until_stop(context) {
        let after_s = row.job as f64 / 10.0;
        writeln!(
            table,
            "{after_s},{},{},{:.1},{:.1},{:.1}",
            row.mode, row.waypoint, row.east, row.north, row.height
        )?;
        if !stopped && ends.is_some_and(|ends| after_s * 1e9 >= ends.as_ns() as f64) {
            stopped = context.control().stop_service("autopilot").is_ok();
            taut::outln!("the autopilot has stopped");
        }
    }
    writeln!(table, "# {} lost", io.telemetry.lost())?;
    table.flush()
}

fn main() -> ExitCode {
    let parsed = options(std::env::args_os().skip(1), ["--autopilot-ends"]);
    let ends = parsed.and_then(|values| values.map(|[ends]| time(ends.as_ref())).transpose());
    let ends = match ends {
        Ok(Some(ends)) => ends,
        Ok(None) => {
            taut::outln!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            taut::errln!("error: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let folder = std::env::var_os("TAUT_OUT").map_or_else(|| PathBuf::from("."), PathBuf::from);
    taut::start(app(|setup| {
        set_up(setup, move |io: &mut task::logger::Io<'_>, context: &mut Context<'_>| {
            log(io, context, &folder, ends).unwrap_or_else(|error| taut::errln!("{TABLE}: {error}"));
        })
    }))
}
