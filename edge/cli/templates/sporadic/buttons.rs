// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A client of the application: a process of its own, which may stop or die at any time. It sends
//! an order a second.

use std::process::ExitCode;

use taut::{AttachError, Client, Liveness};

fn send() -> Result<(), AttachError> {
    // The application has the name of this package.
    let client = Client::attach(env!("CARGO_PKG_NAME"), "buttons")?;
    let mut orders = client.writer::<i32>("orders")?;
    for order in [1, 1, 1, -1, -1, -1].into_iter().cycle() {
        if client.liveness() != Liveness::Running {
            break;
        }
        match orders.publish(order) {
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
