// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The only crate that calls Linux.
//!
//! Safe, thin and by noun: a function makes one call, or the few that only make sense together, and returns the
//! kernel's refusal as an [`Error`] that names the call. A function that may run on a real-time path has a paragraph
//! *Real-time* in its documentation: it does not allocate, and blocks only where its name says so. All others are for
//! boot, for best-effort threads, or for reports.
//!
//! | module | content |
//! |---|---|
//! | [`account`] | the processor time that a thread has used, and how often it lost its processor |
//! | [`clock`] | monotonic and CPU time, sleeping until an instant |
//! | [`thread`] | policy, affinity, name, stack of the calling thread; the priority of others |
//! | [`mod@cpu`] | the CPU that the calling thread is on |
//! | [`switched`] | whether the calling thread has lost its processor |
//! | [`timer`] | timers armed ahead |
//! | [`memory`] | locking, anonymous and shared mappings, sealed memory files |
//! | [`device`] | sleeping until a descriptor can be read, reading and writing without waiting |
//! | [`mod@file`] | opening folders without following links |
//! | [`futex`] | waiting for a word to change, within or across processes |
//! | [`life`] | a word that the kernel marks when this process dies |
//! | [`mutex`] | the mutex with priority inheritance |
//! | [`usage`] | page faults and context switches of the calling thread |
//! | [`outside`] | tracers of this process's threads, real-time threads of other processes |
//! | [`signals`] | blocking and awaiting termination |
//! | [`process`] | identity, capabilities, limits |
//! | [`machine`] | throttling, power latency, facts for reports |
//! | [`socket`] | Unix stream sockets that carry file descriptors |

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("taut runs on 64-bit Linux");

pub mod account;
pub mod clock;
pub mod cpu;
pub mod crash;
pub mod device;
mod error;
pub mod file;
pub mod futex;
pub mod interrupt;
pub mod life;
pub mod machine;
pub mod memory;
pub mod mutex;
pub mod outside;
pub mod process;
mod rseq;
pub mod safe_state;
pub mod signals;
pub mod socket;
pub mod switched;
pub mod terminal;
pub mod thread;
pub mod timer;
pub mod usage;

pub use error::{Error, Result};
/// Error numbers that callers distinguish.
pub use libc::{
    EACCES, EADDRINUSE, EAGAIN, ECONNREFUSED, ECONNRESET, EDQUOT, EINVAL, EMFILE, ENFILE, ENOENT, ENOMEM,
    ENOSPC, ENOTDIR, EPERM, EROFS, ESRCH,
};
