// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_policy::LockingProtocol;
use taut_time::Duration;

use crate::ResourceId;

/// Something that only one job at a time may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Its name in the manifest.
    pub name: String,
    /// The protocol, which says which jobs wait, how, and for how long; `None` lets the plan choose.
    pub protocol: Option<LockingProtocol>,
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
