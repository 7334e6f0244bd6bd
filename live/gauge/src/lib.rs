// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Measures what a machine adds to every job: the figures of `platform.overheads`.
//!
//! | measured | from | to | stands for |
//! |---|---|---|---|
//! | [`releases`] | the instant until which a thread sleeps | its first instruction | `release` |
//! | [`releases_beside_calls`] | same, beside an ordinary thread's system calls | | `kernel-blocking`, less the above |
//! | [`switches`] | the wake of a more urgent thread of the core | its first instruction | `context-switch` |
//! | [`copies`] | 1 KiB that another core wrote last | copied | `copy` |
//! | [`device_wakes`] | a thread that looks at devices, one of them ready | its next sleep | `device` |
//!
//! A bound must hold for the greatest of all delays, and no measurement finds the greatest delay: a machine that stalls
//! once a day shows the stall once a day. So [`Samples`] keeps all samples, and a caller that takes a quantile of them
//! as an overhead can see how many samples exceed it ([`Samples::above`]). A recorded run has a probe on every core,
//! which distinguishes such stalls from delays that taut itself causes.
//!
//! Every function leaves the CPUs and priority of the calling thread unchanged and starts threads of its own, pinned
//! and under `SCHED_FIFO`. If other threads keep a CPU for themselves, these threads never take their samples. So the
//! calling thread gives up a measurement that takes [`PATIENCE`] longer than it would undisturbed, and the measuring
//! threads end on another CPU. A measurement therefore ends in bounded time as long as the calling thread gets some
//! CPU time.

mod copies;
mod device_wakes;
mod releases;
mod spread;
mod switches;
mod thread_placement;

pub use copies::copies;
pub use device_wakes::device_wakes;
pub use releases::{releases, releases_beside_calls};
pub use spread::Samples;
pub use switches::switches;
pub use thread_placement::{NotMeasured, PATIENCE};
