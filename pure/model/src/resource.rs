// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::{Deserialize, Serialize};
use taut_time::Duration;

use crate::ResourceId;

/// Something that one job at a time may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Its name in the manifest.
    pub name: String,
    /// Who waits, how, and for how long; `None` lets the plan choose.
    pub protocol: Option<Locking>,
}

/// A locking protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Locking {
    /// The resource's ceiling is taken at once: immediate ceiling under fixed priority, the stack resource policy
    /// under EDF. Tasks of one core.
    Srp,
    /// The deadline floor protocol. Tasks of one core, under EDF.
    Dfp,
    /// Spinning in the order of arrival, without being preempted. Tasks of several cores.
    Msrp,
    /// Suspending in the order of priority; holders run above all others. Tasks of several cores, under fixed priority.
    Mpcp,
    /// Suspending in the order of arrival; holders run above all others. Tasks of several cores, under fixed priority.
    FmlpPlus,
}

impl Locking {
    /// The name as its paper prints it.
    pub fn paper_name(self) -> &'static str {
        match self {
            Self::Srp => "SRP",
            Self::Dfp => "DFP",
            Self::Msrp => "MSRP",
            Self::Mpcp => "MPCP",
            Self::FmlpPlus => "FMLP+",
        }
    }
}

/// Critical sections of a task on one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// What is held.
    pub resource: ResourceId,
    /// How long the longest lasts, as the execution time that includes it was told, without its margin.
    pub longest: Duration,
    /// How many a job has at most.
    pub count: u32,
}
