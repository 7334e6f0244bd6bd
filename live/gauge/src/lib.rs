// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a machine adds to every job, measured: the figures of `platform.overheads`.
//!
//! | measured | from | to | stands for |
//! |---|---|---|---|
//! | [`releases`] | the instant that a thread sleeps until | its first instruction | `release` |
//! | [`releases_beside_calls`] | the same, while an ordinary thread of the core is in system calls | | `kernel-blocking`, less the above |
//! | [`switches`] | the wake of a more urgent thread of the core | its first instruction | `context-switch` |
//! | [`copies`] | 1 KiB that another core wrote last | copied | `copy` |
//!
//! A bound must hold for the largest of all, and no measurement finds that: a machine that stalls once a day shows so
//! once a day. So all samples are kept ([`Spread`]), and whoever takes a quantile of them as an overhead is told how many
//! were above it. A recorded run has a probe on every core, which tells such stalls from what is ours.
//!
//! Every function takes the calling thread's CPUs and priority as they are, and starts threads of its own, pinned and
//! under `SCHED_FIFO`. Where others keep a CPU for themselves, these do not get to their samples: what takes [`PATIENCE`]
//! longer than undisturbed is given up, and the threads end on another CPU. So a measurement ends in bounded time as long as
//! the calling thread gets some CPU.

mod copies;
mod releases;
mod spread;
mod station;
mod switches;

pub use copies::copies;
pub use releases::{releases, releases_beside_calls};
pub use spread::Spread;
pub use station::{PATIENCE, Refused};
pub use switches::switches;
