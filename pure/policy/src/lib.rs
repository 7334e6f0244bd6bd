// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Scheduling and locking rules as state machines: events in, decisions out. The crate also defines the types that
//! plan, simulator and executor share: [`SchedulingPolicy`], [`LocalRule`], [`GlobalRule`], [`LockingProtocol`],
//! [`Overrun`], [`ServerPolicy`], [`Arrival`], [`ArrivalPattern`], [`Mechanism`].
//!
//! A rule knows no clock, no thread and no heap. The caller, a simulator or a dispatcher, reports events and calls
//! [`Scheduler::decide`] to learn which task runs. The caller passes in all storage at construction, and it never
//! grows. There is one instance per core, and one per resource that several cores share:
//!
//! ```text
//!                    +---------------- Core ----------------+
//!  release, complete |  pinned    spins or holds: stays     |        Msrp  Mpcp  FmlpLong
//!  lock, unlock      |  boosted   holds what others wait for| <----  one per global resource:
//!  decide -> task    |  local     one of the rules below    |        its waiters, and its holder
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
//! | [`Dfp`] | deadline | deadline floor | as `Srp` in the worst case, other schedules |
//!
//! | global rule | a waiting task | order | holder |
//! |---|---|---|---|
//! | [`Msrp`], also for short resources of FMLP | spins, pinned | FIFO | pinned |
//! | [`Mpcp`] | is suspended | priority | boosted to a ceiling |
//! | [`FmlpLong`] | is suspended | FIFO | boosted, by order of request |
//!
//! [`AnyLocal`] is one of the local rules, chosen at construction.
//!
//! Every rule here is sound under the conditions that its file states. Published rules that are known to be wrong are
//! in `dev/papers`, which hands them to the simulator.
//!
//! | beside a rule | |
//! |---|---|
//! | [`server::Served`] | servers of requests; the rule treats each as a task |
//! | [`Budget`], [`Overrun`] | how long a job may run, and what happens to a job that takes longer or is late |
//! | [`Background`] | jobs that run below all others |
//! | [`ReleaseGrid`] | the releases of a task that follows a [`DeviceClock`] |
//!
//! **Indices.** The index of a task is its position on its core; that of a resource is its position among the
//! resources that the core knows. Rules check both: a call that breaks the rules returns [`Misuse`] and changes
//! nothing.
//!
//! **At one instant**, report all completions and unlocks first, then all releases, then call `decide` once; only the
//! task that `decide` then returns may lock. A rule that compares a task with the running task compares strictly, so
//! that among equals the holder of a resource continues.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod any;
mod arrival;
mod attribute;
mod background;
mod budget;
pub mod ceiling;
mod channel;
mod core;
mod device_clock;
mod dfp;
mod edf;
mod failure;
mod fifo;
mod fixed_priority;
mod fmlp;
mod mechanism;
mod mpcp;
mod msrp;
mod protocol;
pub mod queue;
mod ranked;
mod release_grid;
mod rule;
mod sections;
pub mod server;
mod srp;
mod stated;
mod store;

pub use crate::core::Core;
pub use any::{AnyCore, AnyLocal, AnyQueue, Attributes, BandedCore, queue as any_queue};
pub use arrival::{Arrival, ArrivalPattern};
pub use attribute::Attribute;
pub use background::Background;
pub use budget::{Budget, Overrun, Remedy, Trouble};
pub use channel::{
    ChannelKind, Flow, LINE_BYTES, LatePolicy, MessageOrder, OverflowPolicy, PAYLOAD_NUMBER_BYTES, Reception,
    STAMP_BYTES,
};
pub use device_clock::{DRIFT_PPM_MAX, DeviceClock, TICKS_UNSEEN_MAX};
pub use dfp::Dfp;
pub use edf::Edf;
pub use failure::{AfterFailure, FailureRemedy, OnFailure, RESTARTS_MAX, ServiceStart};
pub use fifo::Waiter;
pub use fixed_priority::FixedPriority;
pub use fmlp::FmlpLong;
pub use mechanism::{ClientReads, Mechanism, MechanismForm, PartyCounts, Way, spare_slots};
pub use mpcp::Mpcp;
pub use msrp::Msrp;
pub use protocol::{
    GlobalRule, HolderRank, LocalRule, LockingProtocol, QueueOrder, SchedulingPolicy, Waiting,
};
pub use ranked::Slot;
pub use release_grid::{GridRelease, GridState, ReleaseGrid};
pub use rule::{Global, GlobalAnswer, Grant, LocalAnswer, LockParty, Locking, Misuse, Scheduler};
pub use sections::{LocalResource, Uncontended};
pub use server::ServerPolicy;
pub use srp::{Srp, SrpTask};
pub use stated::{
    ATTACHED_MAX, Aim, BLOCKS_MAX, BLOCKS_MIN, CAPACITY_MAX, DEVICES_MAX, Evidence, EvidenceFile, HeapPolicy,
    OnMissingPrivilege, PRIORITY_MAX, PROBE_PERIOD, PROBE_PRIORITY, SAFE_STATE_MAX, STACK_BYTES,
    VALUE_RECORDS_OF_JOB, VALUE_RING_BYTES_MAX, VALUE_RING_BYTES_MIN, VALUE_SLOT_BYTES, is_name, value_slots,
};
pub use store::Store;
