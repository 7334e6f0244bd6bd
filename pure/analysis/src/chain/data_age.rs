// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Data age: from the arrival of the job that sampled the environment to the last output made from that sample.
//!
//! ```text
//! Equation    L = Σ_i W_i + R_n;  until the output is replaced: L + E_n
//!             W_i  from the arrival of a job to that of the last job that reads what it wrote
//!                  newest                     E_i + R_i
//!                  newest, more urgent writer E_i + J_i
//!                  flow preserved             E_i + J_i;  with a unit delay E_i + T_i + J_i
//!                  queue                      R_i + W, W of [`crate::queue::wait`]
//!             E_i  after which time newer data reach task i: T_i, or E_{i−1} behind a queue
//! Symbols     [ns] T period, R response time from arrival, J release jitter; n tasks
//! Assumes     A1 a job reads after its arrival and writes before it completes   A2 jobs of a task in order
//!             A3 the first task, and each task that reads a state, is periodic and writes in every job, if only queues
//!             lie between it and the next state, or between it and an output whose replacement is asked for; with a
//!             unit delay the writer is
//!             A4 what [`super::end_to_end`] says of how states are read   A5 the assumptions of the queue
//! Verdict     sufficient
//! Cost        one pass
//! Source      all newest: [`super::age`]; names: [Feiertag09], last to last; [Becker17], [Guenzel21], which measure
//!             it until the output is replaced, too; the more urgent writer: [Duerr19]; form and proof are own
//! ```
//!
//! **Why.** What a job that arrived at A wrote is replaced when the next job completes, by A + T_i + R_i, so a job
//! that reads it arrived before that time. If the writer is more urgent and on the same core, a reader that arrives
//! at A + T_i + J_i or later starts after the writer's next release and reads the next value. If activations decide
//! which value is read, its readers are activated before the writer's next release, or with a unit delay before the
//! release after that. The last task's output of a job that arrived at A is replaced by A + T_n + R_n.
//!
//! **Age and reaction are one.** For periodic tasks and states, the age until the output is replaced equals the
//! reaction time, term by term in another order: Σ (T_i + R_i), with J in place of R where the writer is more urgent.
//! That the true values are equal as well is known [Guenzel 2023].
//!
//! **A writer fed by a queue** may find it empty; then it writes nothing new, however short its period is. Newer data
//! come with the next job of the task that fills the queue, E later, and within the same bound: each datum of the
//! queue gets through in P. So queues pass E on, and each task that reads a state starts anew with its own period.

use taut_time::Duration;

use super::end_to_end::{ChainChannel, ChainTask, Hop, Reading, ends};
use crate::wide::{duration, ns};
use crate::{Assumption, Overflow, Verdict, queue};

/// L and its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataAge {
    /// L: until the last output made from the sample.
    pub until_output: Duration,
    /// L + E_n: until that output is replaced; none if nothing bounds when the last task writes something newer, or
    /// if the sum does not fit in 64 bits.
    pub until_replaced: Option<Duration>,
    /// W of each hop: from the arrival of the writer's job to that of the reader's.
    pub hops: Vec<Duration>,
    /// R_n: response time of the last task.
    pub response: Duration,
}

/// Bounds the age of data behind a chain.
///
/// # Errors
/// [`Overflow`].
pub fn data_age(first: &ChainTask, hops: &[Hop]) -> Result<Verdict<DataAge>, Overflow> {
    let mut waits = Vec::with_capacity(hops.len());
    let mut total = 0;
    let mut writer = first;
    let mut renewed = renewal(first);
    for hop in hops {
        let wait = match between(writer, renewed, hop)? {
            Verdict::Schedulable(wait) => wait,
            other => {
                let past = DataAge {
                    until_output: duration(total)?,
                    until_replaced: None,
                    hops: waits,
                    response: Duration::ZERO,
                };
                return Ok(other.map(|_| past));
            }
        };
        total += ns(wait);
        waits.push(wait);
        writer = &hop.reader;
        if matches!(hop.channel, ChainChannel::State(_)) {
            renewed = renewal(writer);
        }
    }
    let until_output = duration(total + ns(writer.response))?;
    let until_replaced = renewed.and_then(|renewed| until_output.checked_add(renewed));
    Ok(Verdict::Schedulable(DataAge { until_output, until_replaced, hops: waits, response: writer.response }))
}

/// E of a task that takes in something new in every job: its period, if it is periodic.
fn renewal(task: &ChainTask) -> Option<Duration> {
    task.arrivals.is_periodic().then_some(task.period)
}

/// W: from the arrival of the writer's job to that of the reader's.
fn between(writer: &ChainTask, renewed: Option<Duration>, hop: &Hop) -> Result<Verdict<Duration>, Overflow> {
    let reading = match hop.channel {
        ChainChannel::Message { wait } => {
            return duration(ns(wait) + ns(writer.response)).map(Verdict::Schedulable);
        }
        ChainChannel::Queue { sends, takes, triggered } => {
            let (from, to) = ends(writer, &hop.reader, (sends, takes, triggered));
            return match queue::wait(&from, &to)? {
                Verdict::Schedulable(wait) => {
                    duration(ns(wait) + ns(writer.response)).map(Verdict::Schedulable)
                }
                other => Ok(other),
            };
        }
        ChainChannel::State(reading) => reading,
    };
    let periodic = writer.arrivals.is_periodic() || reading != Reading::PreservedDelayed;
    let Some(renewed) = renewed.filter(|_| periodic) else {
        return Ok(Verdict::NotApplicable(Assumption::PeriodicWriter));
    };
    let kept = match reading {
        Reading::Newest => ns(writer.response),
        Reading::NewestBelowWriter | Reading::Preserved => ns(writer.jitter),
        Reading::PreservedDelayed => ns(writer.period) + ns(writer.jitter),
    };
    duration(ns(renewed) + kept).map(Verdict::Schedulable)
}
