// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The recorded values of a run in virtual time: the file that the application would have written, for a replay of its code.

use taut_event::Interaction;
use taut_plan::ClassPlan;
use taut_trace::ValueDrain;

use super::Bench;
use crate::Error;
use crate::create::PartyPosition;
use crate::names::position;
use crate::values::{TaskValues, ValuesWriter};

/// A record: the task, the instant (ns), and the value if it is kept.
type ValueRecord = (u16, u64, Interaction, Vec<u8>);

/// What the tasks of a bench have recorded.
#[derive(Debug, Default)]
pub(super) struct BenchValues {
    /// By task.
    drains: Vec<(u16, ValueDrain)>,
    log: Vec<ValueRecord>,
}

impl BenchValues {
    /// Empties the rings, in which a job may record without the heap.
    pub(super) fn poll(&mut self) {
        let Self { drains, log } = self;
        for (task, drain) in drains {
            drain.drain(|at_ns, interaction, value| log.push((*task, at_ns, interaction, value.to_vec())));
        }
    }
}

/// Recorded values.
impl Bench {
    /// Records, from release 0 on, the values of the channels of which the manifest says so, and what the jobs get whose code
    /// a replay can run again. Without this call a bench keeps none.
    ///
    /// # Errors
    /// [`Error::Bench`] if something has happened before: values count from the first.
    pub fn record_values(&mut self) -> Result<(), Error> {
        let Self { parties, log, .. } = self;
        parties.drain.drain(|record| log.push(record));
        if self.values.is_some() || self.log.len() > 1 {
            return Err(Error::Bench(
                "values are recorded from the beginning of a run, or not at all".to_owned(),
            ));
        }
        let plan = self.parties.app.plan;
        let mut recorded = BenchValues::default();
        let mut values = |task: usize| {
            let (values, drain) = TaskValues::of_task(plan, task);
            recorded.drains.extend(drain.map(|drain| (position(task), drain)));
            values
        };
        for task in &mut self.tasks {
            task.context.set_values(values(task.in_plan));
        }
        let is_played = |task: &usize| matches!(plan.tasks[*task].class, ClassPlan::BestEffort {});
        let played = (0..plan.tasks.len()).filter(is_played);
        self.parties.values = played.map(|task| (PartyPosition::Task(task), values(task))).collect();
        self.values = Some(recorded);
        Ok(())
    }

    /// The recorded values of the run so far, as the application would have written them: for a file that
    /// [`crate::replay`] reads.
    ///
    /// # Errors
    /// [`Error::Bench`] without [`Bench::record_values`].
    pub fn recorded_values(&mut self) -> Result<Vec<u8>, Error> {
        let Some(values) = &mut self.values else {
            return Err(Error::Bench("no values are recorded".to_owned()));
        };
        values.poll();
        // SAFETY:
        // - the parts are dropped in this call
        let parts = unsafe { self.environment.parts() };
        let run = (self.seed, parts.loaded.text.as_str());
        let writer = ValuesWriter::new(Vec::new(), &parts.loaded.plan, run, None, false);
        let mut writer = writer.map_err(|error| Error::Application(error.into()))?;
        for (task, at_ns, interaction, value) in &values.log {
            writer.put(*task, *at_ns, *interaction, value);
        }
        let lost = values.drains.iter().map(|(_, drain)| drain.lost()).sum();
        Ok(writer.finish(lost).1)
    }
}
