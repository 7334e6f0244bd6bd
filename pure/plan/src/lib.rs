// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The content of `taut.lock`: cores, priorities, mechanisms, capacities and the memory map, with the bounds that prove
//! them.
//!
//! [`Plan`] holds everything that booting and reporting need, so that neither reads a manifest. `taut-planner` makes it,
//! and turns on the feature `write`: the text of a plan, and the differences between two plans. An application reads one
//! text and needs neither.
#![forbid(unsafe_code)]

mod aperiodic;
mod basis;
mod broadcast;
mod bulk;
mod channel;
mod core;
#[cfg(feature = "write")]
mod difference;
mod explain;
mod inputs;
pub mod layout;
mod lock;
mod message;
mod modes;
mod number;
mod one_of;
mod overrides;
mod recorded;
mod request;
mod server;
mod shape;
mod sources;
#[cfg(feature = "write")]
mod text;
mod valid;

pub use aperiodic::{AperiodicChannel, AperiodicTask};
pub use basis::{Basis, OverheadBasis, OverheadPlan, TimeBasis};
pub use broadcast::{Broadcast, BroadcastReader};
pub use bulk::Bulk;
pub use explain::{explain_chain, explain_channel, explain_task};
pub use inputs::InputChange;
pub use lock::{NotExecuted, PlanTextError, digest};
pub use message::{Message, MessageSender};
pub use modes::explain_mode;
pub use number::WholeNumber;
pub use one_of::payloads_of;
pub use overrides::{Overrides, Pin};
pub use recorded::NotReplayed;
pub use server::{BacklogPlan, ServerPlan};
pub use shape::{
    ChainPlan, ChangePlan, ChannelPlan, ChoicePlan, ClassPlan, ClientLimit, CorePlan, DecisionPlan, Input,
    LanePlan, MemoryMap, MemoryPlan, ModeBound, ModePlan, OtherPlan, Plan, ReaderPlan, Region, ReplyPlan,
    ResourcePlan, ScopePlan, ServicePlan, SourcePlan, StepPlan, TaskPlan, TermPlan, WriterPlan,
};
pub use sources::{SourceView, SourcedState};
/// Types of other crates that occur in a plan.
pub use taut_policy::{
    ATTACHED_MAX, AfterFailure, Aim, Arrival, ChannelKind, ClientReads, DEVICES_MAX, DRIFT_PPM_MAX,
    DeviceClock, Evidence, EvidenceFile, FailureRemedy, Flow, HeapPolicy, LatePolicy, LockingProtocol,
    Mechanism, MechanismForm, MessageOrder, OnFailure, OnMissingPrivilege, OverflowPolicy, Overrun,
    PAYLOAD_NUMBER_BYTES, PROBE_PERIOD, PROBE_PRIORITY, STACK_BYTES, STAMP_BYTES, SchedulingPolicy,
    ServerPolicy, ServiceStart, VALUE_RING_BYTES_MAX, VALUE_RING_BYTES_MIN, VALUE_SLOT_BYTES, Waiting, Way,
    is_name, lock_mechanisms, spare_slots, value_slots,
};
pub use taut_time::Size;
pub use valid::{Invalid, ValidPlan};
