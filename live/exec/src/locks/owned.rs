// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Locks between cores that own their memory.

use taut_lock::{LockLayoutError, PARTIES_LIMIT};
use taut_policy::GlobalRule;

use crate::locks::global::{GlobalResource, Parties};
use crate::locks::lines::Lines;

impl<T: Send> GlobalResource<'static, T> {
    pub(crate) fn owned(
        protocol: GlobalRule,
        parties: u32,
        number: u32,
        value: T,
    ) -> Result<Self, LockLayoutError> {
        let most = parties.min(PARTIES_LIMIT);
        let lines = Lines::new(Parties::bytes(protocol.waiting(), most));
        // SAFETY: taken once, for the parties of a `GlobalResource` that also gets the lines, and drops them after the
        // parties.
        let memory = unsafe { lines.memory() };
        Self::new(protocol, memory, parties, number, value, Some(lines))
    }
}
