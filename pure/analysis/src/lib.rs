// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response times and other bounds, one file per theorem.
#![forbid(unsafe_code)]
