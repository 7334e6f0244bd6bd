// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Age of data along a chain of tasks and channels.
//!
//! ```text
//! Equation    L = R_1 + Σ_{i≥2} (W_i + R_i)
//! Symbols     [ns] L from the arrival of the first task's job to the completion of the last task's job that used
//!             its data; R_i response time from arrival; W_i what the channel in front of task i adds
//!             queue   W as [`crate::queue::wait`] says: a periodic reader's period (one value a job), nothing for
//!                     a triggered reader whose gap is not longer than the writer's period
//!             state   W = T, the time within which the writer is certain to write a newer value: until then, the old
//!                     one may be read. T is the writer's period; if the writer takes its input from a queue, which it
//!                     may find empty, T is the period of the task that fills the queue
//! Assumes     A1 a job takes its input after its arrival and sends its result before it completes
//!             A2 the assumptions of the queue   A3 the writer of a state is periodic
//! Verdict     sufficient
//! Cost        one pass
//! Source      own; periodic chains: [Davare07] "Period optimization for hard real-time distributed automotive
//!             systems", DAC 2007, Σ (T_i + R_i)
//! ```
//!
//! **Why.** Let P_i bound the time from the first arrival to the arrival of the job of task i that uses the data;
//! that job completes by P_i + R_i. Queue: that job sends within R_i of its arrival, and the reader's job arrives
//! within W after that: P_{i+1} = P_i + R_i + W. State: the value of a job that arrived at A is replaced by
//! A + T + R_i, so a job that reads it arrived before that time: P_{i+1} = P_i + R_i + T. If the writer takes its
//! input from a queue, the next value is in the queue T later, and gets through by the same bound.
//!
//! **Age, not reaction.** The bound covers data that reach the end, the oldest of them. A reader of a state that runs
//! less often than its writer never sees some values, so the bound does not say when a change of the input first
//! shows. [`reaction`] does; [`data_age`] bounds the age with knowledge of how states are read.

pub mod data_age;
pub mod end_to_end;
pub mod reaction;

use taut_time::Duration;

use crate::queue::{self, SendingTask, TakingTask};
use crate::{Assumption, Overflow, Verdict};

/// A channel of a chain, with its writer and its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainLink {
    /// Every value, in order.
    Queue(SendingTask, TakingTask),
    /// The latest value.
    State {
        /// T: the writer's period; if the writer takes its input from a queue, the T of the task that fills the
        /// queue.
        period: Duration,
        /// Whether the task with that T is periodic.
        periodic: bool,
        /// R of the reader.
        response: Duration,
    },
}

/// What one link adds to the age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgeStep {
    /// W: the wait in the channel.
    pub wait: Duration,
    /// R: the response time of the reader.
    pub response: Duration,
}

/// L and its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Age {
    /// L.
    pub total: Duration,
    /// What each link adds, in order; with the first task's response they sum to L.
    pub steps: Vec<AgeStep>,
}

/// Bounds the age of data behind `links`, after a first task with response time `first`.
///
/// # Errors
/// [`Overflow`].
pub fn age(first: Duration, links: &[ChainLink]) -> Result<Verdict<Age>, Overflow> {
    let mut total = first;
    let mut steps = Vec::with_capacity(links.len());
    for link in links {
        let (wait, response) = match link {
            ChainLink::Queue(writer, reader) => (queue::wait(writer, reader)?, reader.response),
            ChainLink::State { periodic: false, .. } => {
                return Ok(Verdict::NotApplicable(Assumption::PeriodicWriter));
            }
            ChainLink::State { period, response, .. } => (Verdict::Schedulable(*period), *response),
        };
        let wait = match wait {
            Verdict::Schedulable(wait) => wait,
            other => return Ok(other.map(|_| Age { total, steps })),
        };
        total = total.checked_add(wait).and_then(|t| t.checked_add(response)).ok_or(Overflow)?;
        steps.push(AgeStep { wait, response });
    }
    Ok(Verdict::Schedulable(Age { total, steps }))
}
