// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Atomics that are std's, loom's or shuttle's; counts steps in tests.
