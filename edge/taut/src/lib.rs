// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Real-time applications that are proven before they run, run as proven, and show it.
//!
//! An application is a manifest, `taut.toml`, and a program that gives the manifest's tasks their code:
//!
//! ```no_run
//! use taut::{App, Component, Error, Failure, Job, Task};
//!
//! struct Blink { on: bool }
//!
//! impl Component for Blink {}
//!
//! impl Task for Blink {
//!     fn release(&mut self, _job: &mut Job<'_>) -> Result<(), Failure> {
//!         self.on = !self.on;
//!         Ok(())
//!     }
//! }
//!
//! taut::main!(|app: &mut App<'_>| -> Result<(), Error> {
//!     app.task("blink", |_| Ok(Blink { on: false }))
//! });
//! ```
//!
//! `taut run` checks and plans the manifest, builds the program, boots it and reports what it did. A program that
//! is started by itself boots the `taut.lock` of the working folder, if that is up to date.
//!
//! A program outside of the application, a *client*, attaches by name with [`Client`].

#[cfg(feature = "bench")]
pub mod bench;
mod client;
mod start;

pub use client::{AttachError, Client, ClientReader, ClientReceiver, ClientWriter, Liveness, Remedy};
pub use start::{is_replay, start};
#[cfg(feature = "manifest")]
pub use taut_macros::manifest;
pub use taut_run::{
    AlarmReader, AlarmRefused, AlarmSetter, AlarmToken, Answer, App, BlockLoan, BlockReceiver, BlockSender,
    CallError, Caller, Cancellation, ClientBlock, ClientBlockReceiver, ClientRequests, Component, Context,
    Control, CountingAllocator, Create, Delivered, Device, DueAlarm, Error, Failure, Handler, Job, JobError,
    Layout, LoanRefused, LockError, Looper, MessageHandler, MessageReader, ModeError, NoValue, OneOf,
    Overtaken, Payload, PublishError, QueueReader, QueueWriter, ReceivedBlock, ReceivedRequest, Receiver,
    RequestNumber, RequestReader, RequestWriter, Resource, SendError, Service, ServiceError, State,
    StateReader, StateWriter, Task, TickReporter, Unknown, Words, errors, layout, payload_with, zerocopy,
};
pub use taut_scope::{Exceeded, Scope};
pub use taut_time::{Duration, Instant};

/// Defines a payload with named fields, each a number or an array of numbers.
///
/// ```
/// taut::payload! {
///     /// What the electrodes get in one frame.
///     pub struct Stimulation {
///         /// Counts from 0.
///         pub frame: u64,
///         /// Current levels, 22 for each of 8 pulses.
///         pub levels: [u8; 176],
///     }
/// }
/// assert_eq!(<Stimulation as taut::Payload>::layout(), "frame:u64,levels:u8*176");
/// ```
///
/// A text states the payload's layout, and the manifest states it too; [`layout!`](crate::layout!) gives a layout to a
/// struct that is defined elsewhere. There must be no padding, which the compiler checks:
///
/// ```compile_fail,E0277
/// taut::payload! {
///     /// Seven bytes are missing at the end.
///     pub struct Gap {
///         /// Eight bytes.
///         pub a: u64,
///         /// One byte.
///         pub b: u8,
///     }
/// }
/// ```
///
/// Of an enum, whose variants have a payload each, it makes what a message of several payloads carries ([`OneOf`]). A variant
/// has the name that the manifest gives its payload; if that is no name in Rust, it follows as text:
///
/// ```
/// use taut::{OneOf, Payload};
///
/// taut::payload! {
///     /// What the receiver is asked for.
///     pub enum Requests {
///         /// How loud.
///         SetVolume(f32),
///         /// Which of the channels: a bit each.
///         MuteAll(u8) = "mute-all",
///     }
/// }
/// assert_eq!(<Requests as OneOf>::Stored::layout(), "SetVolume{f32}|mute-all{u8}");
/// ```
#[macro_export]
macro_rules! payload {
    ($($item:tt)*) => {
        $crate::payload_with! { "taut::zerocopy" $($item)* }
    };
}

/// Defines `main`: boots the application, runs it, and exits with 0 if it ended in order, 1 if its plan is stale or
/// unproven, 2 if its plan cannot be loaded for another reason or a variable of the environment is malformed, 3 if
/// the machine or a privilege is lacking, 5 if the rest of the recording could not be written, 6 if the
/// application does not fit beside those that run on the machine, 4 otherwise.
/// Installs the allocator that counts heap use on real-time threads.
///
/// The argument is a function or closure `for<'p> FnOnce(&mut App<'p>) -> Result<(), Error>`.
#[macro_export]
macro_rules! main {
    ($setup:expr) => {
        #[global_allocator]
        static TAUT_ALLOCATOR: $crate::CountingAllocator = $crate::CountingAllocator;

        fn main() -> ::std::process::ExitCode {
            $crate::start($setup)
        }
    };
}

/// Prints a line to stdout. Text that a closed pipe or a full disk does not take is lost; `println!` panics there,
/// which ends a thread of an application that controls something.
#[macro_export]
macro_rules! outln {
    ($($text:tt)*) => {{
        let _ = ::std::io::Write::write_fmt(
            &mut ::std::io::stdout(),
            format_args!("{}\n", format_args!($($text)*)),
        );
    }};
}

/// As [`outln!`], to stderr.
#[macro_export]
macro_rules! errln {
    ($($text:tt)*) => {{
        let _ = ::std::io::Write::write_fmt(
            &mut ::std::io::stderr(),
            format_args!("{}\n", format_args!($($text)*)),
        );
    }};
}

// The code in this page is a test of this crate.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/devices.md")]
mod devices {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/clocks.md")]
mod clocks {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/generated.md")]
mod generated {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/locks.md")]
mod locks {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/alarms.md")]
mod alarms {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/broadcasts.md")]
mod broadcasts {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/clients.md")]
mod clients {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/bulk.md")]
mod bulk {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/messages.md")]
mod messages {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/modes.md")]
mod modes {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/queues.md")]
mod queues {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/requests.md")]
mod requests {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rtdroid-listings.md")]
mod rtdroid_listings {}
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sources.md")]
mod sources {}
