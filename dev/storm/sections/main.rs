// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! An application whose jobs take turns at a resource. `TAUT_STORM="DEED JOB"` says what the holder's job with that
//! number does inside its section. An endless loop ends after a limited time, so that a run that does not end leaves
//! no busy process behind.

use std::time::{Duration as Span, Instant};

use taut::{App, Component, Error, Failure, Job, Resource, Task};

/// How long a late job computes before it continues: longer than its deadline.
const LATE: Span = Span::from_millis(30);
/// How long "for ever" lasts: longer than the storm waits.
const FOR_EVER: Span = Span::from_secs(30);

/// Misbehaves inside a section.
fn act(deed: &str) {
    match deed {
        "loops" => compute(FOR_EVER),
        "late" => compute(LATE),
        "waits" => {
            // Continues after each signal that interrupts the wait.
            let begun = Instant::now();
            while begun.elapsed() < FOR_EVER {
                std::thread::sleep(FOR_EVER);
            }
        }
        "sleeps" => std::thread::sleep(Span::from_millis(3)),
        "panics" => panic!("the storm's panic"),
        "aborts" => std::process::abort(),
        "exits" => std::process::exit(0),
        "overflows" => drop(std::hint::black_box(recurse(0))),
        "allocates" => drop(std::hint::black_box(Box::new([0_u8; 64]))),
        _ => {}
    }
}

fn compute(span: Span) {
    let begun = Instant::now();
    while begun.elapsed() < span {
        std::hint::spin_loop();
    }
}

/// Uses up the stack.
fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { recurse(depth + 1) + frame[7] }
}

struct Party {
    held: Resource<u64>,
    /// What one of its jobs does, and that job's number.
    deed: Option<(String, u64)>,
}

impl Component for Party {}

impl Task for Party {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let number = job.number();
        let deed = self.deed.as_ref().filter(|(_, when)| *when == number).map(|(deed, _)| deed.as_str());
        job.lock(&self.held, |value, _| {
            *value += 1;
            act(deed.unwrap_or_default());
        })?;
        Ok(())
    }
}

struct Bystander;

impl Component for Bystander {}

impl Task for Bystander {
    fn release(&mut self, _: &mut Job<'_>) -> Result<(), Failure> {
        Ok(())
    }
}

taut::main!(|app: &mut App<'_>| -> Result<(), Error> {
    let drawn = std::env::var("TAUT_STORM").ok();
    let deed = drawn.and_then(|text| {
        let (deed, number) = text.split_once(' ')?;
        Some((deed.to_owned(), number.parse().ok()?))
    });
    app.resource("held", 0_u64)?;
    app.task("holder", |create| Ok(Party { held: create.resource("held")?, deed }))?;
    app.task("waiter", |create| Ok(Party { held: create.resource("held")?, deed: None }))?;
    app.task("bystander", |_| Ok(Bystander))
});
