// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A control loop: every 10 ms a real-time task sets the power of a heater. A logger prints a line
//! a second.

use taut::{App, Component, Context, Duration, Error, Failure, Job, QueueWriter, Task};

taut::payload! {
    /// What one job of the control measured and set, as in taut.toml.
    struct Sample {
        /// Number of the job, from 0.
        job: u64,
        /// Temperature (°C).
        temperature: f64,
        /// Power of the heater, 0 to 1.
        power: f64,
    }
}

/// The power that brings the temperature to 60 °C.
fn power(temperature: f64) -> f64 {
    (60.0 - temperature).clamp(0.0, 1.0)
}

/// The temperature 10 ms later. It stands in for a heater and a sensor: put yours in its place.
fn heated(temperature: f64, power: f64) -> f64 {
    temperature + 0.01 * (8.0 * power - 0.1 * (temperature - 20.0))
}

struct Control<'p> {
    log: QueueWriter<'p, Sample>,
    temperature: f64,
}

impl Component for Control<'_> {}

impl Task for Control<'_> {
    /// One job. It must not wait or allocate memory. The report counts jobs that fail.
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let (temperature, power) = (self.temperature, power(self.temperature));
        self.temperature = heated(temperature, power);
        let sample = Sample {
            job: job.number(),
            temperature,
            power,
        };
        self.log.send(job, sample).map_err(|_| Failure::Code(1))
    }
}

/// Gives each task of taut.toml its code.
fn setup(app: &mut App<'_>) -> Result<(), Error> {
    app.task("control", |create| {
        Ok(Control {
            log: create.queue_writer("log")?,
            temperature: 20.0,
        })
    })?;
    app.best_effort("logger", |create| {
        let mut log = create.queue_reader::<Sample>("log")?;
        Ok(move |context: &mut Context<'_>| {
            while !context.stopping() {
                if let Some(sample) = log.receive_within(context, Duration::from_ms(1_000))
                    && sample.job % 100 == 0
                {
                    let (heat, lost) = (100.0 * sample.power, log.lost());
                    taut::outln!(
                        "{:.1} °C, power {heat:.0} %, {lost} lost",
                        sample.temperature
                    );
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
    fn the_control_reaches_60_degrees() {
        let mut temperature = 20.0;
        for _ in 0..6_000 {
            temperature = heated(temperature, power(temperature));
        }
        assert!((59.0..61.0).contains(&temperature), "{temperature} °C");
        assert_eq!(power(80.0), 0.0);
    }
}
