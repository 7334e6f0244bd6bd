// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The newest value: a reader misses values that it was too slow for, and wants to.

pub mod sdrtr;
pub mod sdrtw;
