// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A real-time task reacts to the orders of another process, and a logger prints what it did.

use taut::{App, Component, Context, Duration, Error, Failure, Job, QueueWriter, Receiver};

/// The level, 0 to 10, after an order. The other process may send any number.
fn level(level: i32, order: i32) -> i32 {
    level.saturating_add(order).clamp(0, 10)
}

struct React<'p> {
    log: QueueWriter<'p, i32>,
    level: i32,
}

impl Component for React<'_> {}

impl Receiver<i32> for React<'_> {
    /// One job, with the order that released it. It must not wait or allocate memory.
    fn receive(&mut self, job: &mut Job<'_>, order: i32) -> Result<(), Failure> {
        self.level = level(self.level, order);
        self.log.send(job, self.level).map_err(|_| Failure::Code(1))
    }
}

/// Gives each task of taut.toml its code.
fn setup(app: &mut App<'_>) -> Result<(), Error> {
    app.receiver("react", |create| {
        Ok(React {
            log: create.queue_writer("log")?,
            level: 0,
        })
    })?;
    app.best_effort("logger", |create| {
        let mut log = create.queue_reader::<i32>("log")?;
        Ok(move |context: &mut Context<'_>| {
            while !context.stopping() {
                if let Some(level) = log.receive_within(context, Duration::from_ms(1_000)) {
                    taut::outln!("level {level}, {} lost", log.lost());
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
    fn the_level_stays_within_its_range() {
        assert_eq!(level(3, 2), 5);
        assert_eq!((level(9, i32::MAX), level(9, i32::MIN)), (10, 0));
    }
}
