// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A device whose bytes are the instant of their write, and the task that it releases. At the end the program writes how long
//! each value took from the write until the job had read it, in ns, a line each, to `latencies` in the folder of the recording.

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use taut::{App, Component, Context, Device, Duration, Error, Failure, Job, Task};

/// Values that are kept: more than a run of a quarter of a minute has.
const KEPT: usize = 8_000;
const PERIOD: Duration = Duration::from_ms(2);

struct Reads<'p> {
    line: Device,
    kept: &'p mut [u64],
    count: usize,
}

impl Component for Reads<'_> {
    fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let Some(folder) = std::env::var_os("TAUT_OUT") else { return Ok(()) };
        let lines: String = self.kept[..self.count].iter().map(|ns| format!("{ns}\n")).collect();
        Ok(std::fs::write(std::path::Path::new(&folder).join("latencies"), lines)?)
    }
}

impl Task for Reads<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let mut written = [0; 8];
        if self.line.read(job, &mut written).is_ok_and(|count| count == written.len())
            && let Some(kept) = self.kept.get_mut(self.count)
        {
            *kept = job.now().as_ns().saturating_sub(u64::from_ne_bytes(written));
            self.count += 1;
        }
        Ok(())
    }
}

fn setup(app: &mut App<'_>) -> Result<(), Error> {
    let (ours, mut theirs) = UnixStream::pair().map_err(|error| Error::Application(error.into()))?;
    app.device("line", ours)?;
    app.task("reads", |create| {
        let kept = create.scope().slice(KEPT, 0)?;
        Ok(Reads { line: create.device("line")?, kept, count: 0 })
    })?;
    app.best_effort("writes", |_| {
        Ok(move |context: &mut Context<'_>| {
            while context.sleep(PERIOD) {
                if theirs.write_all(&context.now().as_ns().to_ne_bytes()).is_err() {
                    return;
                }
            }
        })
    })
}

taut::main!(setup);
