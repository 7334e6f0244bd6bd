// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A client of the application: a process of its own, which may stop or die at any time. It sends
//! an order a second.

#[path = "../manifest.rs"]
mod manifest;

use std::process::ExitCode;

use manifest::client;
use taut::{AttachError, Liveness};

fn send() -> Result<(), AttachError> {
    let (client, mut io) = client::buttons::attach(manifest::NAME)?;
    for order in [1, 1, 1, -1, -1, -1].into_iter().cycle() {
        if client.liveness() != Liveness::Running {
            break;
        }
        match io.orders.publish(order) {
            Ok(()) => taut::outln!("sent {order}"),
            Err(order) => taut::outln!("the queue is full: {order} was not sent"),
        }
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    Ok(())
}

fn main() -> ExitCode {
    let Err(error) = send() else {
        return ExitCode::SUCCESS;
    };
    taut::errln!("error: {error}");
    ExitCode::FAILURE
}
