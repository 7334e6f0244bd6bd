// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One page per code.

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

pages! {
    101 102 103 104 105 106 107 108 109 110 111 112 113
    201 202 203 204 211 212 213 214 215 216 217 218 219 220 221 222 223 224
    301 302 303 304 305 306 307 308 309
    401 402 403 404 405 406 407 408 409 410 411 412 413 414 415 416 417
    501 502 503 504 505 506 507 508 509
    601 602
    701
}
