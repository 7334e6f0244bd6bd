// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The parts of a source that its reader did not read: each reader records the values that it asks for, and reports
//! all others at its end.

use crate::xml::shown;

/// What is known about values that the reader does not read. Letter case is ignored.
pub(crate) struct Known {
    /// Names of values that carry no information, each with the values for which that is so; an empty list means any
    /// value.
    pub(crate) dull: &'static [(&'static str, &'static [&'static str])],
    /// Reasons why other values are left out.
    pub(crate) why: &'static [(&'static [&'static str], &'static str)],
}

impl Known {
    /// Whether a value carries no information.
    pub(crate) fn is_dull(&self, name: &str, value: &str) -> bool {
        let value = value.trim();
        self.dull.iter().any(|(other, values)| {
            let any = value.is_empty() || values.is_empty();
            other.eq_ignore_ascii_case(name)
                && (any || values.iter().any(|other| other.eq_ignore_ascii_case(value)))
        })
    }

    /// The report of a value that the reader did not read.
    pub(crate) fn left_out(&self, name: &str, of: &str, value: &str) -> String {
        let value = if value.is_empty() { String::new() } else { format!(" ({})", shown(value)) };
        let why =
            self.why.iter().find(|(names, _)| names.iter().any(|other| other.eq_ignore_ascii_case(name)));
        let why = why.map_or("its meaning is not known here", |(_, why)| why);
        format!("`{}` of `{}` is left out{value}: {why}", shown(name), shown(of))
    }
}
