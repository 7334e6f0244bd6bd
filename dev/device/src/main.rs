// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A device, and the task that it releases; what it measures is written to the folder of the recording.
//!
//! The bytes of the device are the instant of their write. `latencies` has a line for each value: how long after the write the
//! job began, and how long after it the job had read the value (ns).
//!
//! With `DEVICE_FLOODS` set, the device can always be read, and the job does nothing; with `DEVICE_FLOODS=0` it is never ready.
//! `used` then has the processor time that the threads of CPU 0 used of a second (ns).

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use taut::{App, Component, Context, Device, Duration, Error, Failure, Job, Task};

/// Values that are kept: more than a run of a quarter of a minute has.
const KEPT: usize = 8_000;
const PERIOD: Duration = Duration::from_ms(2);
/// Before the processor time is measured, and for as long it is.
const SETTLES: Duration = Duration::from_ms(300);
const MEASURED: Duration = Duration::from_ms(1_000);

struct Reads<'p> {
    line: Device,
    /// How long after the write the job began and had read; not while the device floods.
    kept: Option<&'p mut [(u64, u64)]>,
    count: usize,
}

/// Writes a file into the folder of the recording, if there is one.
fn write(name: &str, text: &str) -> std::io::Result<()> {
    let Some(folder) = std::env::var_os("TAUT_OUT") else { return Ok(()) };
    std::fs::write(std::path::Path::new(&folder).join(name), text)
}

impl Component for Reads<'_> {
    fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let lines: String =
            kept[..self.count].iter().map(|(began, read)| format!("{began} {read}\n")).collect();
        Ok(write("latencies", &lines)?)
    }
}

impl Task for Reads<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        let mut written = [0; 8];
        let began = job.now().as_ns();
        if self.line.read(job, &mut written).is_ok_and(|count| count == written.len())
            && let Some(kept) = kept.get_mut(self.count)
        {
            let written = u64::from_ne_bytes(written);
            *kept = (began.saturating_sub(written), job.now().as_ns().saturating_sub(written));
            self.count += 1;
        }
        Ok(())
    }
}

/// The processor time that the threads of CPU 0 have used (ns).
fn used_on_cpu_0() -> std::io::Result<u64> {
    let mut used = 0;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let thread = thread?;
        let status = std::fs::read_to_string(thread.path().join("status"))?;
        if status.lines().any(|line| line.split_whitespace().eq(["Cpus_allowed_list:", "0"])) {
            // Its first field is the time on a CPU (ns).
            let times = std::fs::read_to_string(thread.path().join("schedstat"))?;
            let on_cpu = times.split_whitespace().next().and_then(|field| field.parse::<u64>().ok());
            used += on_cpu.ok_or(std::io::ErrorKind::InvalidData)?;
        }
    }
    Ok(used)
}

/// Writes `used`.
fn measure(context: &mut Context<'_>) -> std::io::Result<()> {
    if context.sleep(SETTLES) {
        let (before, begun) = (used_on_cpu_0()?, context.now());
        if context.sleep(MEASURED) {
            let used = used_on_cpu_0()?.saturating_sub(before);
            let lasted = context.now().as_ns().saturating_sub(begun.as_ns()).max(1);
            write("used", &(used.saturating_mul(1_000_000_000) / lasted).to_string())?;
        }
    }
    Ok(())
}

fn setup(app: &mut App<'_>) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::Application(error.into());
    let (ours, mut theirs) = UnixStream::pair().map_err(failed)?;
    let floods = std::env::var("DEVICE_FLOODS").ok();
    if floods.as_ref().is_some_and(|floods| floods != "0") {
        theirs.write_all(&[0]).map_err(failed)?;
    }
    app.device("line", ours)?;
    let is_measured = floods.is_none();
    app.task("reads", |create| {
        let kept = if is_measured { Some(create.scope().slice(KEPT, (0, 0))?) } else { None };
        Ok(Reads { line: create.device("line")?, kept, count: 0 })
    })?;
    app.best_effort("writes", |_| {
        Ok(move |context: &mut Context<'_>| {
            if !is_measured {
                if let Err(error) = measure(context) {
                    taut::errln!("what CPU 0 used is not known: {error}");
                }
                // The other side of the device stays open.
                while context.sleep(PERIOD) {}
            }
            while context.sleep(PERIOD) {
                if theirs.write_all(&context.now().as_ns().to_ne_bytes()).is_err() {
                    return;
                }
            }
        })
    })
}

taut::main!(setup);
