// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A pipeline: a task samples every 10 ms, and each sample releases a job of a filter. A logger
//! prints a line a second.

use taut::{App, Component, Context, Duration, Error, Failure, Job, QueueWriter, Receiver, Task};

/// 0 and 1 in turn. It stands in for a sensor: put yours in its place.
fn sensor(number: u64) -> f64 {
    (number % 2) as f64
}

/// The average after another value, which counts for a twentieth of it.
fn smooth(average: f64, value: f64) -> f64 {
    average + 0.05 * (value - average)
}

struct Sample<'p> {
    samples: QueueWriter<'p, f64>,
}

impl Component for Sample<'_> {}

impl Task for Sample<'_> {
    /// One job. It must not wait or allocate memory. The report counts jobs that fail.
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let value = sensor(job.number());
        self.samples.send(job, value).map_err(|_| Failure::Code(1))
    }
}

struct Filter<'p> {
    log: QueueWriter<'p, f64>,
    average: f64,
}

impl Component for Filter<'_> {}

impl Receiver<f64> for Filter<'_> {
    /// One job, with the value that released it.
    fn receive(&mut self, job: &mut Job<'_>, value: f64) -> Result<(), Failure> {
        self.average = smooth(self.average, value);
        self.log
            .send(job, self.average)
            .map_err(|_| Failure::Code(1))
    }
}

/// Gives each task of taut.toml its code.
fn setup(app: &mut App<'_>) -> Result<(), Error> {
    app.task("sample", |create| {
        Ok(Sample {
            samples: create.queue_writer("samples")?,
        })
    })?;
    app.receiver("filter", |create| {
        Ok(Filter {
            log: create.queue_writer("log")?,
            average: 0.0,
        })
    })?;
    app.best_effort("logger", |create| {
        let mut log = create.queue_reader::<f64>("log")?;
        Ok(move |context: &mut Context<'_>| {
            let mut received = 0;
            while !context.stopping() {
                if let Some(average) = log.receive_within(context, Duration::from_ms(1_000)) {
                    if received % 100 == 0 {
                        taut::outln!("average {average:.3}, {} lost", log.lost());
                    }
                    received += 1;
                }
            }
        })
    })
}

taut::main!(setup);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_comes_near_the_mean() {
        let average = (0..1_000).map(sensor).fold(0.0, smooth);
        assert!((0.45..0.55).contains(&average), "{average}");
    }
}
