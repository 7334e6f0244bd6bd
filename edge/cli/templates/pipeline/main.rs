// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A pipeline: a task samples every 10 ms, and each sample releases a job of a filter. A logger
//! prints a line a second.

mod manifest;

use manifest::payload::Value;
use manifest::{Ready, Setup, Tasks, task};
use taut::{Context, Error, Job, SendError};

/// 0 and 1 in turn. It stands in for a sensor: put yours in its place.
fn sensor(number: u64) -> f64 {
    (number % 2) as f64
}

/// The average after another value, which counts for a twentieth of it.
fn smooth(average: f64, value: f64) -> f64 {
    average + 0.05 * (value - average)
}

struct Sample;

impl task::Sample for Sample {
    type Error = SendError<Value>;

    /// One job. It must not wait or allocate memory. The report counts jobs that fail.
    fn release(
        &mut self,
        io: &mut task::sample::Io<'_>,
        job: &mut Job<'_>,
    ) -> Result<(), Self::Error> {
        let value = sensor(job.number());
        io.samples.send(job, value)
    }
}

struct Filter {
    average: f64,
}

impl task::Filter for Filter {
    type Error = SendError<Value>;

    /// One job, with the value that released it.
    fn receive(
        &mut self,
        io: &mut task::filter::Io<'_>,
        job: &mut Job<'_>,
        value: Value,
    ) -> Result<(), Self::Error> {
        self.average = smooth(self.average, value);
        io.log.send(job, self.average)
    }
}

fn logger(io: &mut task::logger::Io<'_>, context: &mut Context<'_>) {
    let mut received = 0;
    while let Some(average) = io.log.receive_until_stop(context) {
        if received % 100 == 0 {
            taut::outln!("average {average:.3}, {} lost", io.log.lost());
        }
        received += 1;
    }
}

/// Gives each task of taut.toml its code.
fn setup(setup: Setup<'_, '_>) -> Result<Ready, Error> {
    setup.application(Tasks {
        sample: Sample,
        filter: Filter { average: 0.0 },
        logger,
    })
}

taut::main!(manifest::app(setup));

#[cfg(test)]
mod tests {
    use super::*;
    use taut::Duration;
    use taut::bench::{Bench, ExecutionTime, RunVerdict, report};

    #[test]
    fn the_average_comes_near_the_mean() {
        let average = (0..1_000).map(sensor).fold(0.0, smooth);
        assert!((0.45..0.55).contains(&average), "{average}");
    }

    /// A minute of the application in virtual time: its own tasks, over the plan in taut.lock.
    #[test]
    fn every_sample_is_filtered_in_time() -> Result<(), Error> {
        let mut bench = Bench::new("taut.lock", manifest::app(setup))?;
        let time = Duration::from_us(100)..=Duration::from_us(900);
        bench.execution("sample", ExecutionTime::uniform(time.clone()))?;
        bench.execution("filter", ExecutionTime::uniform(time))?;
        bench.watch("log")?;
        bench.run_for(Duration::from_s(60))?;

        let averages = bench.sent::<Value>("log")?;
        assert_eq!(averages.len(), 6_000);
        let expected = (0..6_000).map(sensor).fold(0.0, smooth);
        assert_eq!(averages[5_999].value, expected);
        assert_eq!(report(&bench)?.verdict(), &RunVerdict::Kept);
        bench.end()
    }
}
