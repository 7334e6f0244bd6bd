// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use crate::Error;

/// The error for a name that the plan does not have.
pub(crate) fn no_such(what: &'static str, name: &str) -> Error {
    Error::NoSuch { what, name: name.to_owned() }
}

/// A position as records store it. The planner allows at most 65,535 of anything.
pub(crate) fn position(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}
