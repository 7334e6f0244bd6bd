// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What makes threads wait for each other in the kernel: one file each.
//!
//! | you need | use | real-time cost |
//! |---|---|---|
//! | to sleep until the other side has written | [`Bell`]: [`Ringer`] and [`Listener`] | 1 exchange; 1 system call if somebody sleeps |
//! | the same in an `async` function | [`Watch`] | the same; waiting takes a thread, which is not real-time |
//! | two threads to share one end of an object | [`Serial`] | uncontended 2 exchanges, no system call |
//!
//! The wait-free objects themselves are in `taut-share`, which makes no system call.

mod bell;
mod serial;
mod watch;

pub use bell::{Bell, Listener, Ringer, Rings, Woken};
pub use serial::{Serial, Taken};
pub use watch::{Ring, Watch};
