// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What makes threads wait for each other: one file each.
//!
//! | you need | use | real-time cost |
//! |---|---|---|
//! | to sleep until the other side has written | [`Bell`]: [`Ringer`] and [`Listener`] | 1 exchange; 1 system call if somebody sleeps |
//! | the same in an `async` function | [`Watch`] | the same; waiting takes a thread, which is not real-time |
//! | one state for the threads of a processor, in sections that cost two stores | [`mark::Mark`] | 3 loads, 2 stores; no system call |
//! | one thread to sleep until another lets it go on | [`gate::Gate`] | 1 exchange; to open 1 store and 1 system call |
//! | to ask a thread that does not wait | [`request_slot::RequestSlot`] | for that one 1 load, and 1 store for an answer; who asks blocks |
//! | threads without priorities to take turns | [`latch::Latch`] | uncontended 2 exchanges, no system call |
//! | two threads to share one end of an object | [`Serial`] | uncontended 2 exchanges, no system call |
//! | cores to take turns, in short sections | [`spin`] | uncontended 1 exchange, 4 stores, a load for each other core |
//! | tasks or threads of several cores to take turns, asleep meanwhile, by priority | [`queued`] | uncontended 2 exchanges, no system call; 1 to wake |
//!
//! The last two work between processes too, and go on when one of them is killed: [`life`].
//!
//! The wait-free objects themselves are in `taut-share`, which makes no system call.

mod bell;
pub mod gate;
mod gates;
mod global;
#[cfg(not(any(loom, shuttle)))]
mod guarded;
pub mod latch;
pub mod life;
pub mod mark;
#[cfg(not(any(loom, shuttle)))]
mod place;
pub mod queued;
pub mod request_slot;
mod serial;
mod sleep;
pub mod spin;
mod watch;

pub use bell::{Bell, Listener, Ringer, Rings, Woken};
pub use global::{Entry, LayoutError, PARTIES_LIMIT, Patience, Stuck};
#[cfg(not(any(loom, shuttle)))]
pub use guarded::{Asking, Guarded, Poisoned, Queued, Spin, TryWithError, Turns};
#[cfg(not(any(loom, shuttle)))]
pub use place::{Place, shared_bytes};
pub use serial::{Refused, Serial};
pub use taut_atomic::{LINE_BYTES, Line, Memory};
pub use taut_share::Plain;
pub use watch::{Ring, Watch};
