// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What is wrong, and what would help.

pub(crate) mod advise;
pub(crate) mod alternatives;
pub(crate) mod causes;
pub(crate) mod deadline;
pub(crate) mod feasibility;
pub(crate) mod guesses;
pub(crate) mod room;
pub(crate) mod shared_alternatives;
pub(crate) mod shared_deadline;
