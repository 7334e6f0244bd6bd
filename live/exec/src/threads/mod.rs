// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the threads of a core do.

pub(crate) mod admissions;
pub(crate) mod ahead;
pub(crate) mod dispatcher;
pub(crate) mod listeners;
pub(crate) mod worker;
