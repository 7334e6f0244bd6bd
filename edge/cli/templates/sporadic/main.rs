// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A real-time task reacts to the orders of another process, and a logger prints what it did.

mod manifest;

use manifest::payload::Number;
use manifest::{Ready, Setup, Tasks, task};
use taut::{Context, Error, Job, SendError};

/// The level, 0 to 10, after an order. The other process may send any number.
fn level(level: i32, order: i32) -> i32 {
    level.saturating_add(order).clamp(0, 10)
}

struct React {
    level: i32,
}

impl task::React for React {
    type Error = SendError<Number>;

    /// One job, with the order that released it. It must not wait or allocate memory.
    fn receive(
        &mut self,
        io: &mut task::react::Io<'_>,
        job: &mut Job<'_>,
        order: Number,
    ) -> Result<(), Self::Error> {
        self.level = level(self.level, order);
        io.log.send(job, self.level)
    }
}

fn logger(io: &mut task::logger::Io<'_>, context: &mut Context<'_>) {
    while let Some(level) = io.log.receive_until_stop(context) {
        taut::outln!("level {level}, {} lost", io.log.lost());
    }
}

/// Gives each task of taut.toml its code.
fn setup(setup: Setup<'_, '_>) -> Result<Ready, Error> {
    let react = React { level: 0 };
    setup.application(Tasks { react, logger })
}

taut::main!(manifest::app(setup));

#[cfg(test)]
mod tests {
    use super::*;
    use taut::Duration;
    use taut::bench::{Bench, ExecutionTime, RunVerdict, report};

    #[test]
    fn the_level_stays_within_its_range() {
        assert_eq!(level(3, 2), 5);
        assert_eq!((level(9, i32::MAX), level(9, i32::MIN)), (10, 0));
    }

    /// Ten minutes of the application in virtual time: its own task, over the plan in taut.lock.
    /// The test plays the buttons.
    #[test]
    fn every_order_changes_the_level() -> Result<(), Error> {
        let mut bench = Bench::new("taut.lock", manifest::app(setup))?;
        let time = Duration::from_us(100)..=Duration::from_us(900);
        bench.execution("react", ExecutionTime::uniform(time))?;
        let mut orders = [1, 1, 1, -1, -1, -1].into_iter().cycle();
        bench.every(Duration::from_ms(100), move |parties| {
            let order = orders.next().unwrap_or(0);
            parties.client("buttons").send("orders", order)
        })?;
        bench.watch("log")?;
        bench.run_for(Duration::from_s(600))?;

        let levels = bench.sent::<Number>("log")?;
        assert_eq!(levels.len(), 6_000);
        let first: Vec<Number> = levels.iter().take(7).map(|sent| sent.value).collect();
        assert_eq!(first, [1, 2, 3, 2, 1, 0, 1]);
        assert_eq!(report(&bench)?.verdict(), &RunVerdict::Kept);
        bench.end()
    }
}
