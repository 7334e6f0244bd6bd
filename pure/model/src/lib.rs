// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Cores, tasks, channels and parties; valid once constructed.
//!
//! A [`Draft`] is the input, by name. [`Draft::build`] checks every rule that needs no timing analysis and returns a
//! [`Model`], by position, or all [`Fault`]s at once. A fault names its place by the path in the manifest
//! (`tasks.recording.deadline`), so that the parser of the text can point at it: the rules are the same for every
//! input format.
//!
//! A [`TaskSet`] is the input of analyses and simulation: tasks as segments and the resources that they share,
//! without names to resolve and without anything else of the application.
//!
//! Larger priority = more urgent, everywhere.
#![forbid(unsafe_code)]

mod channel;
pub mod codes;
mod decided;
mod draft;
mod fault;
mod flow;
mod id;
mod modes;
mod nearest;
mod platform;
mod resource;
mod rules;
mod server;
mod set;
mod system;
mod task;
mod what_if;

pub use channel::{
    BLOCK_BYTES_MAX, Channel, MessageLane, PAYLOAD_BYTES_MAX, Payload, PayloadField, ReplyLane, Scalar,
    StateSource,
};
pub use decided::Decisions;
pub use draft::{
    ArrivalDraft, ChainDraft, ChannelDraft, ClassDraft, ClientDraft, ClockDraft, Draft, ModeDraft,
    OnFailureDraft, RealTimeDraft, SectionDraft, SegmentDraft, ServerDraft, ServiceDraft, TaskDraft,
    TriggerDraft,
};
pub use fault::{Code, Fault, KeyPath, Label, Severity};
pub use flow::FlowLink;
pub use id::{ChannelId, ClientId, CoreId, ModeId, PartyId, ResourceId, ServiceId, TaskId};
pub use modes::Mode;
pub use nearest::nearest;
pub use platform::{Executor, OverheadSources, Overheads, Platform};
pub use resource::{Section, Shared};
pub use rules::traffic::keeps_up;
pub use server::Server;
pub use set::{Body, Request, Resource, Segment, SetFault, SetTask, TaskSet, Wrong};
pub use system::{App, Chain, ChainStep, Client, ClientKind, Model, Service};
pub use task::{BestEffort, Class, Cost, NO_DEADLINE, RealTime, Stated, Task, Waits};
pub use taut_policy::{
    ATTACHED_MAX, AfterFailure, Aim, Arrival, ArrivalPattern, BLOCKS_MAX, BLOCKS_MIN, CAPACITY_MAX,
    ChannelKind, ClientReads, DEVICES_MAX, DRIFT_PPM_MAX, DeviceClock, Evidence, EvidenceFile, Flow,
    HeapPolicy, LINE_BYTES, LatePolicy, LockingProtocol, Mechanism, MechanismForm, MessageOrder, OnFailure,
    OnMissingPrivilege, OverflowPolicy, Overrun, PRIORITY_MAX, PROBE_PERIOD, PROBE_PRIORITY, PartyCounts,
    RESTARTS_MAX, Reception, SAFE_STATE_MAX, STACK_BYTES, STAMP_BYTES, SchedulingPolicy, ServerPolicy,
    ServiceStart, VALUE_RECORDS_OF_JOB, VALUE_RING_BYTES_MAX, VALUE_RING_BYTES_MIN, VALUE_SLOT_BYTES,
    Waiting, Way, is_name, lock_mechanisms, value_slots,
};
pub use taut_time::{ParseSizeError, Size};
