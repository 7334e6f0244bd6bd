// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reaction time: from an external event to the first output that shows it, or something newer.
//!
//! ```text
//! Equation    L = B + Σ_i W_i + R_n
//!             B    T_1 if the first task is periodic and may just have missed the event; 0 if the event releases it
//!             W_i  from the arrival of a job that knows of the event to that of the first job that reads it or newer
//!                  newest                     R_i + T_{i+1}
//!                  newest, more urgent writer J_i + T_{i+1}
//!                  flow preserved             J_i + T_{i+1};  with a unit delay T_i + J_i + T_{i+1}
//!                  queue                      R_i + W, W of [`crate::queue::wait`]
//! Symbols     [ns] T period, R response time from arrival, J release jitter; n tasks
//! Assumes     A1 a job reads after its arrival and writes before it completes   A2 jobs of a task in order
//!             A3 readers of states are periodic; with a unit delay the writer too   A4 what [`super::end_to_end`]
//!             says of how states are read   A5 the assumptions of the queue
//! Verdict     sufficient
//! Cost        one pass
//! Source      all newest: [Davare07], Σ (T_i + R_i); the name and its variants: [Feiertag09], first to first; that a
//!             more urgent writer on the same core spares its response: [Duerr19]; form and proof of the rest are own
//! ```
//!
//! **Why.** Newer data say more, so it is enough to follow one job per task that knows of the event. The first job of
//! a periodic task that arrives at the event or later does so within T_1. A job that arrived at A has written by
//! A + R_i, and a job of a periodic reader that arrives then or later, within T_{i+1}, reads that value or a newer
//! one. If the writer is more urgent and on the same core, or if activations decide which value is read, it is enough
//! that the reader's job arrives at A + J_i or later: then it starts, or is activated, after the writer's release.
//! With a unit delay, after the writer's next release.

use taut_time::Duration;

use super::end_to_end::{ChainChannel, ChainTask, Hop, Reading, ends};
use crate::wide::{duration, ns};
use crate::{Assumption, Overflow, Verdict, queue};

/// L and its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// L = sampling + Σ hops + response.
    pub total: Duration,
    /// B: until a job arrives that samples the event.
    pub sampling: Duration,
    /// W of each hop: from the arrival of the writer's job to that of the reader's.
    pub hops: Vec<Duration>,
    /// R_n: response time of the last task.
    pub response: Duration,
}

/// Bounds the reaction time of a chain.
///
/// # Errors
/// [`Overflow`].
pub fn reaction(first: &ChainTask, hops: &[Hop]) -> Result<Verdict<Reaction>, Overflow> {
    let sampling = if first.arrivals.is_periodic() { first.period } else { Duration::ZERO };
    let mut waits = Vec::with_capacity(hops.len());
    let mut total = ns(sampling);
    let mut writer = first;
    for hop in hops {
        let wait = match between(writer, hop)? {
            Verdict::Schedulable(wait) => wait,
            other => {
                let past =
                    Reaction { total: duration(total)?, sampling, hops: waits, response: Duration::ZERO };
                return Ok(other.map(|_| past));
            }
        };
        total += ns(wait);
        waits.push(wait);
        writer = &hop.reader;
    }
    total += ns(writer.response);
    Ok(Verdict::Schedulable(Reaction {
        total: duration(total)?,
        sampling,
        hops: waits,
        response: writer.response,
    }))
}

/// The bound of [Davare 2007]: Σ (T_i + R_i), without knowledge of how states are read. For periodic tasks and
/// states.
///
/// # Errors
/// [`Overflow`].
pub fn davare07(tasks: &[ChainTask]) -> Result<Duration, Overflow> {
    duration(tasks.iter().map(|task| ns(task.period) + ns(task.response)).sum())
}

/// W: from the arrival of the writer's job to that of the reader's.
fn between(writer: &ChainTask, hop: &Hop) -> Result<Verdict<Duration>, Overflow> {
    let reader = &hop.reader;
    match hop.channel {
        ChainChannel::Message { wait } => duration(ns(wait) + ns(writer.response)).map(Verdict::Schedulable),
        ChainChannel::Queue { sends, takes, triggered } => {
            let (from, to) = ends(writer, reader, (sends, takes, triggered));
            match queue::wait(&from, &to)? {
                Verdict::Schedulable(wait) => {
                    duration(ns(wait) + ns(writer.response)).map(Verdict::Schedulable)
                }
                other => Ok(other),
            }
        }
        ChainChannel::State(_) if !reader.arrivals.is_periodic() => {
            Ok(Verdict::NotApplicable(Assumption::PeriodicReader))
        }
        ChainChannel::State(Reading::PreservedDelayed) if !writer.arrivals.is_periodic() => {
            Ok(Verdict::NotApplicable(Assumption::PeriodicWriter))
        }
        ChainChannel::State(reading) => {
            let known = match reading {
                Reading::Newest => ns(writer.response),
                Reading::NewestBelowWriter | Reading::Preserved => ns(writer.jitter),
                Reading::PreservedDelayed => ns(writer.period) + ns(writer.jitter),
            };
            duration(known + ns(reader.period)).map(Verdict::Schedulable)
        }
    }
}
