// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One periodic task that does nothing, to measure its releases.

use taut::{App, Component, Error, Failure, Job, Task};

struct Nothing;

impl Component for Nothing {}

impl Task for Nothing {
    fn release(&mut self, _job: &mut Job<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

fn setup(app: &mut App<'_>) -> Result<(), Error> {
    app.task("tick", |_| Ok(Nothing))
}

taut::main!(setup);
