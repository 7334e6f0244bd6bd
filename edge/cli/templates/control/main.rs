// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A control loop: every 10 ms a real-time task sets the power of a heater. A logger prints a line
//! a second.

mod manifest;

use manifest::payload::Sample;
use manifest::{Ready, Setup, Tasks, task};
use taut::{Context, Error, Job, SendError};

/// The power that brings the temperature to 60 °C.
fn power(temperature: f64) -> f64 {
    (60.0 - temperature).clamp(0.0, 1.0)
}

/// The temperature 10 ms later. It stands in for a heater and a sensor: put yours in its place.
fn heated(temperature: f64, power: f64) -> f64 {
    temperature + 0.01 * (8.0 * power - 0.1 * (temperature - 20.0))
}

struct Control {
    temperature: f64,
}

impl task::Control for Control {
    type Error = SendError<Sample>;

    /// One job. It must not wait or allocate memory. The report counts jobs that fail.
    fn release(
        &mut self,
        io: &mut task::control::Io<'_>,
        job: &mut Job<'_>,
    ) -> Result<(), Self::Error> {
        let (temperature, power) = (self.temperature, power(self.temperature));
        self.temperature = heated(temperature, power);
        let sample = Sample {
            job: job.number(),
            temperature,
            power,
        };
        io.log.send(job, sample)
    }
}

fn logger(io: &mut task::logger::Io<'_>, context: &mut Context<'_>) {
    while let Some(sample) = io.log.receive_until_stop(context) {
        if sample.job % 100 == 0 {
            let (heat, lost) = (100.0 * sample.power, io.log.lost());
            taut::outln!(
                "{:.1} °C, power {heat:.0} %, {lost} lost",
                sample.temperature
            );
        }
    }
}

/// Gives each task of taut.toml its code.
fn setup(setup: Setup<'_, '_>) -> Result<Ready, Error> {
    let control = Control { temperature: 20.0 };
    setup.application(Tasks { control, logger })
}

taut::main!(manifest::app(setup));

#[cfg(test)]
mod tests {
    use super::*;
    use taut::Duration;
    use taut::bench::{Bench, ExecutionTime, RunVerdict, report};

    #[test]
    fn the_power_is_within_its_range() {
        assert_eq!([power(20.0), power(59.5), power(80.0)], [1.0, 0.5, 0.0]);
    }

    /// A minute of the application in virtual time: its own tasks, over the plan in taut.lock.
    #[test]
    fn the_control_reaches_60_degrees() -> Result<(), Error> {
        let mut bench = Bench::new("taut.lock", manifest::app(setup))?;
        let time = Duration::from_us(100)..=Duration::from_us(900);
        bench.execution("control", ExecutionTime::uniform(time))?;
        bench.watch("log")?;
        bench.run_for(Duration::from_s(60))?;

        let log = bench.sent::<Sample>("log")?;
        assert_eq!(log.len(), 6_000);
        let end = log[5_999].value.temperature;
        assert!((59.0..61.0).contains(&end), "{end} °C");
        assert_eq!(report(&bench)?.verdict(), &RunVerdict::Kept);
        bench.end()
    }
}
