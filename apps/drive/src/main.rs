// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The blocks of the model as tasks. When all tasks have ended, the program compares every value that a task read with
//! the model's value. It exits with 1 if a value differs.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use taut::{Context, CountingAllocator, Duration, Error, Job, PublishError, Scope};
use taut_drive::manifest::payload::Signal;
use taut_drive::manifest::{Ready, Setup, Tasks, app, task};
use taut_drive::{BLOCKS, Block, Reads, Value, compare, compute};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// How much of a run the program keeps for the comparison, in ms. It does not compare later jobs.
const KEPT_MS: u64 = 20_000;
/// The most inputs that a block has.
const INPUTS_MAX: usize = 6;

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
    last: u64,
    kept: &'p mut [Held],
    jobs: usize,
}

impl<'p> Running<'p> {
    fn new(at: usize, scope: &'p Scope<'p>) -> Result<Self, Error> {
        let block = &BLOCKS[at];
        let jobs = usize::try_from(KEPT_MS / block.period_ms).unwrap_or(0);
        let kept = scope.slice(jobs, Held { job: 0, read: [[None; INPUTS_MAX]; 2] })?;
        Ok(Self { at, block, last: 0, kept, jobs: 0 })
    }

    /// The output of a job, which reads its inputs before it executes and again after.
    fn compute<const INPUTS: usize>(
        &mut self,
        job: &mut Job<'_>,
        mut inputs: impl FnMut(&mut Job<'_>) -> [Option<Signal>; INPUTS],
    ) -> Signal {
        let mut read = |job: &mut Job<'_>| {
            let signals = inputs(job);
            let value =
                |at: usize| signals.get(at).copied().flatten().map(|signal| (signal.value, signal.job));
            std::array::from_fn(value)
        };
        let before = read(job);
        let begun = job.now();
        while job.now().since(begun) < Duration::from_us(self.block.takes_us) {
            std::hint::spin_loop();
        }
        let behind = read(job);
        if let Some(kept) = self.kept.get_mut(self.jobs) {
            *kept = Held { job: job.number(), read: [before, behind] };
        }
        self.jobs += 1;
        self.last = compute(self.at, job.number(), self.last, before.into_iter().take(INPUTS));
        if self.block.gives == Some(ACTUATES) {
            SET_POINT.store(self.last.max(AT_REST + 1), Ordering::Relaxed);
        }
        Signal { value: self.last, job: job.number() }
    }
}

/// Counts the set points, until the application stops.
fn log(io: &mut task::logger::Io<'_>, context: &mut Context<'_>) {
    let mut logged = 0;
    while io.telemetry.receive_until_stop(context).is_some() {
        logged += 1;
    }
    taut::outln!("{logged} set points logged, {} lost", io.telemetry.lost());
}

/// The blocks as code of their tasks, each with its inputs in the order of [`BLOCKS`], its output if it has one, and its
/// telemetry if it sends some.
macro_rules! blocks {
    ($($at:literal $code:ident $task:ident [$($input:ident)+] $($output:ident $(+ $queue:ident)?)?;)+) => {
        $(impl task::$code for Running<'_> {
            type Error = PublishError<Signal>;

            fn release(&mut self, io: &mut task::$task::Io<'_>, job: &mut Job<'_>) -> Result<(), Self::Error> {
                let _signal = self.compute(job, |job| [$(io.$input.latest(job)),+]);
                $(io.$output.publish(job, _signal)?;
                $(let _ = io.$queue.send(job, _signal);)?)?
                Ok(())
            }

            fn finish(&mut self) -> Result<(), Box<dyn std::error::Error>> {
                let mut all = READ.lock().unwrap_or_else(PoisonError::into_inner);
                all.extend(self.kept[..self.jobs.min(self.kept.len())].iter().map(|kept| {
                    let [before, behind] = kept.read.map(|read| read[..self.block.reads.len()].to_vec());
                    Reads { block: self.at, job: kept.job, before, behind }
                }));
                Ok(())
            }
        })+

        fn set_up(setup: Setup<'_, '_>) -> Result<Ready, Error> {
            let scopes = setup.task;
            let tasks = Tasks { $($task: Running::new($at, scopes.$task)?,)+ logger: log };
            // This works whatever ends the application, and needs nothing but the register.
            setup.application(tasks, || SET_POINT.store(AT_REST, Ordering::Relaxed))
        }
    };
}

blocks! {
    0 Current current [moment bounds] amperes;
    1 Position position [amperes] angle;
    2 Speed speed [angle] rpm;
    3 Planner planner [rpm] reference;
    4 Torque torque [demand bounds] moment + telemetry;
    5 Limits limits [demand] bounds;
    6 Filter filter [rpm bounds] smoothed;
    7 Control control [smoothed reference] demand;
    8 Monitor monitor [amperes angle smoothed demand moment bounds];
}

fn main() -> ExitCode {
    let code = taut::start(app(set_up));
    // A replay of code leaves nothing to compare with the model, and the inverter to the machine.
    if code != ExitCode::SUCCESS || taut::is_replay() {
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

#[cfg(test)]
mod tests {
    use taut::bench::{Bench, ExecutionTime, RunVerdict, report};

    use super::*;

    /// Twenty seconds in virtual time, with other execution times in each run: what every job read is what the model reads.
    #[test]
    fn whatever_jobs_take_they_read_what_the_model_reads() -> Result<(), Error> {
        for seed in 0..4 {
            let mut bench = Bench::new("taut.lock", app(set_up))?.seed(seed);
            for block in BLOCKS {
                let most = Duration::from_us(50 + block.takes_us);
                let least = Duration::from_us(1 + block.takes_us / 2);
                bench.execution(block.name, ExecutionTime::uniform(least..=most))?;
            }
            bench.run_for(Duration::from_s(20))?;
            assert_eq!(report(&bench)?.verdict(), &RunVerdict::Kept);
            bench.end()?;
            let read = std::mem::take(&mut *READ.lock().unwrap_or_else(PoisonError::into_inner));
            let comparison = compare(&read);
            assert_eq!((comparison.different, comparison.first), (0, None), "seed {seed}");
            assert_eq!(comparison.jobs, 9_000);
            assert_eq!(SET_POINT.load(Ordering::Relaxed), AT_REST);
        }
        Ok(())
    }
}
