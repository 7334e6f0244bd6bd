// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Published equations that are known to be wrong: for reproducing published results, and for a search that refutes
//! them. What they claim is no [`Verdict`](crate::Verdict), and no plan rests on it.
//!
//! | file | waiting for a global resource | refuted |
//! |---|---|---|
//! | [`mpcp_lnr09_paper`] | suspending, by priority | test `counterexample` |
//! | [`mixed_han14`] | spinning as in MSRP for some, suspending as in MPCP for the others | as `mpcp_lnr09_paper` |

pub mod mixed_han14;
pub mod mpcp_lnr09_paper;
