// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use serde::{Deserialize, Serialize};
use taut_time::Duration;

use crate::ResourceId;

/// Something that only one job at a time may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Its name in the manifest.
    pub name: String,
    /// The protocol, which says which jobs wait, how, and for how long; `None` lets the plan choose.
    pub protocol: Option<Locking>,
}

/// A locking protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Locking {
    /// A job takes the resource's ceiling at once: the immediate ceiling protocol under fixed priority, the stack
    /// resource policy under EDF. Tasks of one core.
    Srp,
    /// The deadline floor protocol. Tasks of one core, under EDF.
    Dfp,
    /// Waiters spin in FIFO order, without preemption. Tasks of several cores.
    Msrp,
    /// Waiters suspend in priority order; holders run above all other jobs. Tasks of several cores, under fixed
    /// priority.
    Mpcp,
    /// Waiters suspend in FIFO order; holders run above all other jobs. Tasks of several cores, under fixed priority.
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
    /// The resource.
    pub resource: ResourceId,
    /// The length of the longest one, on the same terms as the stated execution time that includes it: without its
    /// margin.
    pub longest: Duration,
    /// The most sections per job.
    pub count: u32,
}
