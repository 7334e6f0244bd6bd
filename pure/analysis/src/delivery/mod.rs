// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Delivery through a looper, an alarm manager and a sensor manager: how long until a callback has run.
//!
//! | file | delivers | verdict |
//! |---|---|---|
//! | [`message`] | a message to its handler | exact |
//! | [`alarm`] | an alarm to its callback | sufficient |
//! | [`sensor`] | a sensor's event to its listener | sufficient |
//!
//! Each file has the phases as printed ([`phases`]), which are unsound, and a bound of the same terms, which is
//! sound.

pub mod alarm;
pub mod message;
pub mod phases;
pub mod sensor;
