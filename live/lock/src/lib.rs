// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Mechanisms by which threads wait for each other: one file each.
//!
//! | you need | use | real-time cost |
//! |---|---|---|
//! | to sleep until the other side has written | [`EventCount`]: [`Notifier`] and [`Listener`] | 1 exchange; 1 system call if a listener sleeps |
//! | to sleep until one of many others has written | [`EventCount::notify_from_any`] and [`SoleListener`] | 1 exchange; 1 system call if the listener sleeps |
//! | the same in an `async` function | [`Watch`] | the same; the wait takes a thread, which is not real-time |
//! | one state for the threads of a processor, in sections that cost two stores | [`preemption_control::PreemptionControl`] | 3 loads, 2 stores; no system call |
//! | one thread to sleep until another lets it go on | [`parker::Parker`] | 1 exchange; to unpark 1 store and 1 system call |
//! | to ask a thread that does not wait | [`request_slot::RequestSlot`] | for that thread 1 load, and 1 store for an answer; the requester blocks |
//! | threads without priorities to take turns | [`futex_mutex::FutexMutex`] | uncontended 2 exchanges, no system call |
//! | two threads to share one end of an object | [`Serial`] | uncontended 2 exchanges, no system call |
//! | cores to take turns, in short sections | [`spin`] | uncontended 1 exchange, 4 stores, a load for each other core |
//! | tasks or threads of several cores to take turns by priority, asleep meanwhile | [`queued`] | uncontended 2 exchanges, no system call; 1 to wake |
//!
//! The last two also work between processes, and go on when one of the processes is killed: see [`life`].
//!
//! The wait-free objects themselves are in `taut-share`, which makes no system call.

mod event_count;
pub mod futex_mutex;
mod futexes;
mod global;
#[cfg(not(any(loom, shuttle)))]
mod guarded;
pub mod life;
pub mod parker;
#[cfg(not(any(loom, shuttle)))]
mod place;
pub mod preemption_control;
pub mod queued;
pub mod request_slot;
mod serial;
mod sleep;
pub mod spin;
mod watch;

pub use event_count::{Epoch, EventCount, Listener, Notifier, SoleListener, Woken};
pub use global::{AcquiredState, LockLayoutError, PARTIES_LIMIT, Patience, Stuck};
#[cfg(not(any(loom, shuttle)))]
pub use guarded::{Asking, Guarded, Poisoned, Queued, Spin, TryWithError, Turns};
#[cfg(not(any(loom, shuttle)))]
pub use place::{SharedValue, shared_bytes};
pub use serial::{Refused, Serial};
pub use taut_atomic::{LINE_BYTES, Line, Memory};
pub use taut_share::Plain;
pub use watch::{Notified, Watch};
