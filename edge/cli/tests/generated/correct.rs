// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The program that each misuse changes in one place.
#![deny(warnings, missing_docs, unreachable_pub, rust_2018_idioms)]

mod manifest;
mod resource {
    pub(crate) type Bus = u64;
}

use manifest::payload::{Level, Requests, Sample};
use manifest::{Ready, Resources, Setup, Tasks, client, task};
use taut::{AttachError, Context, Error, Failure, Job, Scope};

taut::errors! {
    enum Fault {
        Behind,
    }
}

struct Sense<'p> {
    kept: &'p mut [Level],
}

impl task::Sense for Sense<'_> {
    type Error = Failure;

    fn release(&mut self, io: &mut task::sense::Io<'_>, job: &mut Job<'_>) -> Result<(), Failure> {
        let wish = io.wish.latest(job).unwrap_or(0);
        let bus = job.lock(&io.bus, |bus, _| *bus)?;
        self.kept[0] = wish;
        let sample = Sample { job: job.number(), value: bus as f64 };
        io.samples.send(job, sample)?;
        io.level.publish(job, wish)?;
        let mut image = io.images.loan(job)?;
        image.value = 1.0;
        image.send(job);
        io.requests.send(job, Requests::Sample(sample))?;
        Ok(())
    }
}

struct Filter;

impl task::Filter for Filter {
    type Error = Fault;

    fn receive(
        &mut self,
        io: &mut task::filter::Io<'_>,
        job: &mut Job<'_>,
        value: Sample,
    ) -> Result<(), Fault> {
        let _ = io.level.latest(job);
        io.log.send(job, value).map_err(|_| Fault::Behind)
    }
}

struct Watch;

impl task::Watch for Watch {
    type Error = Failure;

    fn release(&mut self, io: &mut task::watch::Io<'_>, job: &mut Job<'_>) -> Result<(), Failure> {
        while let Some(image) = io.images.next(job) {
            let _ = image.value;
        }
        while let Some(request) = io.requests.next(job) {
            match request.value {
                Requests::Sample(sample) => {
                    let _ = (sample.job, request.sender);
                }
                Requests::Level(_) => {}
            }
        }
        Ok(())
    }
}

fn logger(io: &mut task::logger::Io<'_>, context: &mut Context<'_>) {
    let _ = io.log.receive(context);
    let _ = io.requests.send_until_stop(context, Requests::Level(1));
}

fn setup(setup: Setup<'_, '_>) -> Result<Ready, Error> {
    let _: &Scope<'_> = setup.service.motion;
    let sense = Sense { kept: setup.task.sense.slice(8, 0)? };
    setup.application(
        Tasks { sense, filter: Filter, watch: Watch, logger },
        Resources { bus: 7 },
        || (),
    )
}

/// What a client does.
pub fn panel() -> Result<(), AttachError> {
    let (client, mut io) = client::panel::attach(manifest::NAME)?;
    let _ = (client.liveness(), io.wish.publish(3), io.level.latest(), io.log.receive());
    let _ = io.requests.publish(Requests::Level(2));
    Ok(())
}

taut::main!(manifest::app(setup));
