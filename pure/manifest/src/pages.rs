// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One page per code, of all that [`taut_model::codes`] has: a code without a page does not compile.

use taut_model::Code;

macro_rules! pages {
    ($($number:literal)*) => {
        /// The page of a code, in Markdown: its meaning, a smallest wrong example, the right one, and the reason for
        /// the rule. `None` for a number without a meaning.
        pub fn explain(code: Code) -> Option<&'static str> {
            match code.0 {
                $($number => Some(include_str!(concat!(
                    "../../../docs/errors/TAUT0", stringify!($number), ".md"
                ))),)*
                _ => None,
            }
        }
    };
}

taut_model::with_all_codes!(pages);
