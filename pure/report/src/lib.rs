// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bound and measured side by side: tables, JSON, HTML, Perfetto.
//!
//! [`Report::new`] joins a plan with a recorded run of it and judges: did every response, latency and age stay within
//! its proven bound, and if not, was it the machine's fault or ours ([`blame`] has the rule)? The same report is then
//! written for a terminal ([`Report::text`]), a program ([`Report::json`]), a browser ([`Report::html`]) and a trace
//! viewer ([`Report::perfetto`]). The same viewer shows a [`Simulated`] run on the same tracks. [`Calibration`] collects
//! the execution times of several runs. Nothing here reads a clock or a file.
#![forbid(unsafe_code)]

mod ages;
mod backlog;
pub mod blame;
mod calibrate;
mod changes;
mod clocks;
mod decisions;
#[cfg(test)]
mod decoded;
mod end;
mod figures;
mod flows;
mod frame;
mod html;
mod jobs;
mod json;
mod judge;
mod notes;
mod observations;
mod output;
mod outside;
mod pauses;
mod perfetto;
mod protobuf;
#[cfg(test)]
#[path = "../tests/recorded/mod.rs"]
mod recorded;
mod report;
mod schedule;
mod simulated;
mod table;
mod text;
mod threads;
mod tracks;
mod verdict;
mod waits;
mod wording;

pub use calibrate::{CalibratedRun, CalibratedTask, Calibration, FittedBound, NoFit, NotCalibrated};
pub use figures::{
    ChainFigures, ChannelFigures, ClockFigures, CoreFigures, Counts, Distribution, ModeChangeFigures,
    ProbeFigures, ReactionFigures, ReaderFigures, ResourceFigures, ServiceChange, SetUpFigures, StepFigures,
    TaskFigures, ValuesFileFigures,
};
pub use report::{About, Report};
pub use simulated::{Focus, Simulated, Window};
pub use taut_event::Ending;
pub use verdict::{Breach, Cause, Ended, Forbidden, JobFailures, JobLocation, RunVerdict, Unrest, Warning};
