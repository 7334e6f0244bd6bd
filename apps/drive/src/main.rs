// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The blocks of the model as tasks. When all tasks have ended, the program compares every value that a task read with
//! the model's value. It exits with 1 if a value differs.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use taut::{
    App, Component, CountingAllocator, Create, Duration, Error, Failure, Job, StateReader, StateWriter, Task,
};
use taut_drive::{BLOCKS, Block, Reads, Value, compare, compute};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

taut::payload! {
    /// A value that one block passes to others.
    pub struct Signal {
        /// The hash.
        pub value: u64,
        /// The number of the job that computed it, from 0.
        pub job: u64,
    }
}

/// How much of a run the program keeps for the comparison, in ms. It does not compare later jobs.
const KEPT_MS: u64 = 20_000;
/// The most inputs that a block has.
const INPUTS_MAX: usize = 6;
/// Failure code: a task could not publish a value. No cause of that is known.
const NOT_PUBLISHED: u32 = 1;

/// The signal that drives the machine.
const ACTUATES: &str = "moment";

/// What a job has read, as the program keeps it for the comparison: the job's number, and its inputs, read twice.
#[derive(Clone, Copy)]
struct Held {
    job: u64,
    read: [[Option<Value>; INPUTS_MAX]; 2],
}

/// The set point with which the inverter drives no current.
const AT_REST: u64 = 0;

/// The inverter's set point, in place of its register: the torque that the machine should produce.
static SET_POINT: AtomicU64 = AtomicU64::new(AT_REST);

/// What all blocks have read, once they have ended.
static READ: Mutex<Vec<Reads>> = Mutex::new(Vec::new());

struct Running<'p> {
    at: usize,
    block: &'static Block,
    inputs: Vec<StateReader<'p, Signal>>,
    output: Option<StateWriter<'p, Signal>>,
    last: u64,
    kept: &'p mut [Held],
    jobs: usize,
}

impl<'p> Running<'p> {
    fn new(create: &mut Create<'_, 'p>, at: usize) -> Result<Self, Error> {
        let block = &BLOCKS[at];
        let inputs = block.reads.iter().map(|(signal, _)| create.state_reader(signal));
        let inputs = inputs.collect::<Result<Vec<_>, Error>>()?;
        let output = block.gives.map(|signal| create.state_writer(signal)).transpose()?;
        let jobs = usize::try_from(KEPT_MS / block.period_ms).unwrap_or(0);
        let kept = create.scope().slice(jobs, Held { job: 0, read: [[None; INPUTS_MAX]; 2] })?;
        Ok(Self { at, block, inputs, output, last: 0, kept, jobs: 0 })
    }

    fn read(&mut self, job: &mut Job<'_>) -> [Option<Value>; INPUTS_MAX] {
        let mut read = [None; INPUTS_MAX];
        for (value, input) in read.iter_mut().zip(&mut self.inputs) {
            *value = input.latest(job).map(|signal| (signal.value, signal.job));
        }
        read
    }
}

impl Component for Running<'_> {
    fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        let inputs = self.inputs.len();
        let mut all = READ.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(self.kept[..self.jobs.min(self.kept.len())].iter().map(|kept| {
            let [before, behind] = kept.read.map(|read| read[..inputs].to_vec());
            Reads { block: self.at, job: kept.job, before, behind }
        }));
        Ok(())
    }
}

impl Task for Running<'_> {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let before = self.read(job);
        let begun = job.now();
        while job.now().since(begun) < Duration::from_us(self.block.takes_us) {
            std::hint::spin_loop();
        }
        let behind = self.read(job);
        if let Some(kept) = self.kept.get_mut(self.jobs) {
            *kept = Held { job: job.number(), read: [before, behind] };
        }
        self.jobs += 1;
        let read = before.into_iter().take(self.inputs.len());
        self.last = compute(self.at, job.number(), self.last, read);
        let signal = Signal { value: self.last, job: job.number() };
        if self.block.gives == Some(ACTUATES) {
            SET_POINT.store(self.last.max(AT_REST + 1), Ordering::Relaxed);
        }
        match &mut self.output {
            Some(output) => output.publish(job, signal).map_err(|_| Failure::Code(NOT_PUBLISHED)),
            None => Ok(()),
        }
    }
}

fn set_up(app: &mut App<'_>) -> Result<(), Error> {
    // This works whatever ends the application, and needs nothing but the register.
    app.safe_state(|| SET_POINT.store(AT_REST, Ordering::Relaxed))?;
    for (at, block) in BLOCKS.iter().enumerate() {
        app.task(block.name, |create| Running::new(create, at))?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let code = taut::start(set_up);
    if code != ExitCode::SUCCESS {
        return code;
    }
    let read = std::mem::take(&mut *READ.lock().unwrap_or_else(PoisonError::into_inner));
    let comparison = compare(&read);
    if SET_POINT.load(Ordering::Relaxed) != AT_REST {
        taut::outln!("the inverter is not at rest");
        return ExitCode::FAILURE;
    }
    taut::outln!("{} values, read in {} jobs", comparison.reads, comparison.jobs);
    if comparison.dropped > 0 {
        taut::outln!("{} jobs were dropped, and the model drops them too", comparison.dropped);
    }
    match comparison.first {
        None => {
            taut::outln!("all values equal the model");
            ExitCode::SUCCESS
        }
        Some(first) => {
            taut::outln!("{} differ from the model", comparison.different);
            taut::outln!("{first}");
            ExitCode::FAILURE
        }
    }
}
