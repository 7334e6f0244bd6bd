// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How channels are realised, and how long data takes along chains of them.

pub(crate) mod alarms;
pub(crate) mod aperiodic;
pub(crate) mod broadcasts;
pub(crate) mod buffers;
pub(crate) mod bulk;
pub(crate) mod chains;
pub(crate) mod flow;
pub(crate) mod messages;
pub(crate) mod requests;
pub(crate) mod synchronous;
