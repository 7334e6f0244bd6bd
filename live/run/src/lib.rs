// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Services, tasks, receivers and channels.
//!
//! An application gives its code to an [`App`], task by task, on the main thread; [`run`] then boots it as the plan
//! says and runs it to its end. The programming model is that of RTDroid [Yan 2018, chapter 4]: services of
//! periodic tasks, receivers that a message releases, a persistent and a release scope for each, and channels
//! between real-time parties and others. What RTDroid's virtual machine checks at run time, the compiler or boot
//! checks here, before release 0.

mod alarm;
mod app;
pub mod bench;
mod bench_ends;
mod bench_resource;
mod best_effort;
mod body;
mod broadcast;
mod bulk;
mod client_blocks;
mod client_end;
mod client_requests;
mod clock;
mod component;
mod control;
mod create;
mod deadline;
mod device;
mod device_clock;
mod device_thread;
mod dispatch;
mod dispatched;
mod endpoint;
mod error;
mod flow;
mod guard;
mod guardian;
mod handler;
mod heapless;
mod job;
mod job_error;
mod lifecycle;
mod locked;
mod message;
mod modes;
mod names;
mod native;
mod one_of;
mod outside;
mod panics;
mod payload;
mod periodic;
mod pool;
mod probe;
mod queue;
mod receiver;
mod recording;
mod replay;
mod request;
mod resource;
mod runtime;
mod safe_state;
mod set_up;
mod sources;
mod state;
mod supervisor;
mod tap;
mod threads;
mod triggered;
mod values;
mod watched_device;

pub use alarm::{AlarmReader, AlarmRefused, AlarmSetter, AlarmToken, DueAlarm};
pub use app::{App, Service};
pub use best_effort::Context;
pub use bulk::{BlockLoan, BlockReceiver, BlockSender, LoanRefused, ReceivedBlock};
pub use client_blocks::{ClientBlock, ClientBlockReceiver};
pub use client_end::{Attachment, ClientEnd, EndError, Overtaken};
pub use client_requests::ClientRequests;
pub use component::{Component, Receiver, Task};
pub use control::{Control, Reason, ServiceError, State, Unknown};
pub use create::Create;
pub use deadline::NoValue;
pub use device::Device;
pub use device_clock::TickReporter;
pub use endpoint::{PublishError, QueueReader, QueueWriter, SendError, StateReader, StateWriter};
pub use error::{EXIT_UNWRITTEN, Error};
pub use guard::{CountingAllocator, heap_uses};
pub use handler::{Handler, Looper, MessageHandler};
pub use job::{Caller, Failure, Job};
pub use job_error::JobError;
pub use message::{Delivered, MessageReader};
pub use modes::ModeError;
pub use one_of::OneOf;
pub use panics::report_panics;
pub use payload::Payload;
pub use replay::{ReplayConfig, replay};
pub use request::{Answer, CallError, ReceivedRequest, RequestNumber, RequestReader, RequestWriter};
pub use set_up::SetUpExceeded;
pub use supervisor::{AppEnd, Config, RECORDING, RunObserver, run};

pub use resource::Resource;
/// The exit code of an application that ended with [`Error::NotAdmitted`].
pub use taut_boot::EXIT_NOT_ADMITTED;
/// Why a job could not lock.
pub use taut_exec::LockError;
/// What became of an alarm that its setter cancelled.
pub use taut_share::queue::timed_slots::Cancellation;
/// What gives payloads the words of their layout.
pub use taut_share::{Layout, Words, layout};
/// Writes to stderr as much as stderr takes without waiting.
pub use taut_sys::terminal::write_error;
/// The crate whose derives make payloads.
pub use zerocopy;

// The recipes of that page use objects and event counts. They are tests here, in the one crate that uses both.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/which-one-do-i-need.md")]
mod which_one_do_i_need {}
