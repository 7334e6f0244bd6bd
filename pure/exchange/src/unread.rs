// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What of a source nobody read: each reader records the values that it asks for, and reports the others at its end.

use crate::xml::shown;

/// What is known of values that nobody reads. Case of letters aside.
pub(crate) struct Known {
    /// Names of values that say nothing, with the values at which they do so; with none, whatever the value.
    pub(crate) dull: &'static [(&'static str, &'static [&'static str])],
    /// Why others are left out.
    pub(crate) why: &'static [(&'static [&'static str], &'static str)],
}

impl Known {
    /// Whether a value says nothing.
    pub(crate) fn is_dull(&self, name: &str, value: &str) -> bool {
        let value = value.trim();
        self.dull.iter().any(|(other, values)| {
            let any = value.is_empty() || values.is_empty();
            other.eq_ignore_ascii_case(name)
                && (any || values.iter().any(|other| other.eq_ignore_ascii_case(value)))
        })
    }

    /// The report of a value that nobody read.
    pub(crate) fn left_out(&self, name: &str, of: &str, value: &str) -> String {
        let value = if value.is_empty() { String::new() } else { format!(" ({})", shown(value)) };
        let why =
            self.why.iter().find(|(names, _)| names.iter().any(|other| other.eq_ignore_ascii_case(name)));
        let why = why.map_or("its meaning is not known here", |(_, why)| why);
        format!("`{}` of `{}` is left out{value}: {why}", shown(name), shown(of))
    }
}
