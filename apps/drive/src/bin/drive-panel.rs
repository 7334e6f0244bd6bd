// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `drive-panel`: shows each set point of a running drive, from a process of its own, until the drive ends.

use std::process::ExitCode;

use taut::{Duration, Liveness};
use taut_drive::manifest::{NAME, client::panel};

fn main() -> ExitCode {
    let (client, mut io) = match panel::attach(NAME) {
        Ok(attached) => attached,
        Err(error) => {
            taut::errln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    loop {
        match io.telemetry.receive_within(Duration::from_ms(100)) {
            Some((number, set_point)) => {
                taut::outln!(
                    "{number}: {:016x} of job {}, {} lost",
                    set_point.value,
                    set_point.job,
                    io.telemetry.lost()
                );
            }
            None if client.liveness() == Liveness::Running => {}
            None => return ExitCode::SUCCESS,
        }
    }
}
