// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Decides cores, priorities, mechanisms, capacities and the memory map, and proves the result.
//!
//! [`Plan`] is the content of `taut.lock`: everything that booting and reporting need, so that neither reads a
//! manifest. It is made from a model alone, so the same model gives the same plan, byte for byte.
#![forbid(unsafe_code)]

// One file draws random systems for the tests in this crate and for the tests of its public items. It names this
// crate `taut_plan`.
#[cfg(test)]
extern crate self as taut_plan;

mod advise;
mod alternatives;
mod basis;
mod budget;
mod buffers;
mod chains;
mod decide;
mod difference;
mod dispatch;
mod explain;
mod flow;
mod lock;
mod make;
mod map;
mod overrides;
mod placement;
mod proof;
mod room;
pub mod select;
mod serve;
mod set;
mod shape;
mod shared;
mod synchronous;
mod text;
mod timing;
mod valid;
mod waits;

pub use advise::advise_task;
pub use basis::{Basis, OverheadBasis, OverheadPlan, TimeBasis};
pub use decide::why_channel;
pub use difference::InputChange;
pub use explain::{explain_chain, explain_channel, explain_task};
pub use lock::{LockError, NotExecuted, digest};
pub use make::Planned;
pub use overrides::{OverrideError, Overrides, Pin};
pub use serve::ServerPlan;
pub use shape::{
    ChainPlan, ChannelPlan, ChoicePlan, ClassPlan, CorePlan, DecisionPlan, Input, MemoryPlan, OtherPlan,
    Place, Plan, ReaderPlan, Region, ResourcePlan, ScopePlan, ServicePlan, StepPlan, TaskPlan, Term,
    WriterPlan,
};
/// The model's types that occur in a plan, so that a reader of plans need not know the model.
pub use taut_model::{
    Aim, Arrival, ChannelKind, Evidence, Flow, LockingProtocol, Mechanism, OnMissingPrivilege,
    OverflowPolicy, Overrun, STAMP_BYTES, SchedulingPolicy, ServerPolicy, Size, Way,
};
pub use valid::{Invalid, ValidPlan};
