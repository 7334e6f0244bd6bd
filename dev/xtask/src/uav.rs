// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Flies `apps/uav` with JSBSim, an aircraft that others wrote.

use std::time::Duration;

use crate::command::Command;
use crate::exchange::with_package;
use crate::step::{Outcome, Step};

/// The flights in virtual time, and one in real time of so many seconds; skipped without JSBSim.
pub(crate) fn step(seconds: u64) -> Step {
    Step::new("uav: JSBSim", move |tree| {
        let python = match with_package(tree, "uav", "JSBSim", "jsbsim==1.3.3", "import jsbsim") {
            Ok(python) => python,
            Err(why) => return Outcome::skipped(why),
        };
        let test = Command::line("cargo test --locked -p taut-uav --test jsbsim -- --ignored --nocapture")
            .env("UAV_PYTHON", python)
            .env("UAV_SECONDS", seconds.to_string())
            .limit(Duration::from_secs(10 * 60 + seconds));
        Outcome::of_tests(test.dir(tree.root()))
    })
}
