// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Scheduling and locking rules as state machines: events in, decisions out.
//!
//! A rule knows no clock, no thread and no heap. Whoever drives it, virtual time or real threads, tells what happened
//! and asks [`Scheduler::decide`] who runs; all storage is handed over at construction and never grows. One instance
//! per core, and one per resource that several cores share:
//!
//! ```text
//!                    +---------------- Core ----------------+
//!  release, complete |  pinned    spins or holds: stays     |        Msrp  Mpcp  FmlpLong
//!  lock, unlock      |  boosted   holds what others wait for| <----  one per global resource:
//!  decide -> who     |  local     one of the rules below    |        who waits, who is granted
//!                    +--------------------------------------+
//! ```
//!
//! | local rule | order | lock | |
//! |---|---|---|---|
//! | [`FixedPriority`] | priority | none | |
//! | [`ceiling::Immediate`] | priority | immediate ceiling | default under fixed priority |
//! | [`ceiling::Original`] | priority | priority ceiling with inheritance | a job may wait at each lock |
//! | [`Edf`] | deadline | none | |
//! | [`Srp`] | deadline | stack resource policy | default under EDF |
//! | [`SrpList`] | deadline | the same on one list | **wrong for nested locks**; kept for its experiments |
//! | [`Dfp`] | deadline | deadline floor | as `Srp` in the worst case, other schedules |
//! | [`DfpQueue`] | deadline | the same, what runs in the queue | **wrong for nested locks at equal deadlines**; kept for its experiments |
//!
//! | global rule | waits | order | holder |
//! |---|---|---|---|
//! | [`Msrp`], also for short resources of FMLP | spins, pinned | FIFO | pinned |
//! | [`Mpcp`] | suspended | priority | boosted to a ceiling |
//! | [`FmlpLong`] | suspended | FIFO | boosted, by order of request |
//!
//! [`AnyLocal`] is one of the local rules, chosen when it is set up.
//!
//! | beside a rule | |
//! |---|---|
//! | [`server::Served`] | servers of requests, each a task to the rule |
//! | [`Budget`], [`Overrun`] | how long a job may run, and what becomes of one that takes longer or is late |
//! | [`Background`] | jobs below all others |
//!
//! **Indices.** A task is its position on its core, a resource its position among those that the core knows. Both are
//! checked: a caller that breaks the rules gets [`Misuse`] and nothing has happened.
//!
//! **At one instant** tell all completions and unlocks first, then all releases, then ask once who runs; only what
//! runs then may lock. Rules that compare with what runs are strict, so that among equals the holder goes on.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod any;
mod attribute;
mod background;
mod budget;
pub mod ceiling;
mod core;
mod dfp;
mod dfp_queue;
mod edf;
mod fifo;
mod fixed_priority;
mod fmlp;
mod mpcp;
mod msrp;
pub mod queue;
mod ranked;
mod rule;
mod sections;
pub mod server;
mod srp;
mod srp_list;
mod store;

pub use crate::core::Core;
pub use any::{AnyCore, AnyLocal, AnyQueue, Attributes, LocalRule, queue as any_queue};
pub use attribute::Attribute;
pub use background::Background;
pub use budget::{Budget, Overrun, Remedy, Trouble};
pub use dfp::Dfp;
pub use dfp_queue::{DfpQueue, DfpQueueResource, DfpQueueTask};
pub use edf::Edf;
pub use fifo::Waiter;
pub use fixed_priority::FixedPriority;
pub use fmlp::FmlpLong;
pub use mpcp::Mpcp;
pub use msrp::Msrp;
pub use ranked::Slot;
pub use rule::{Answer, Global, Grant, Locking, Misuse, Party, Request, Scheduler};
pub use sections::{LocalResource, Uncontended};
pub use srp::{Srp, SrpTask};
pub use srp_list::{SrpList, SrpListResource, SrpListTask};
pub use store::Store;
