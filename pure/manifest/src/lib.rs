// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! taut.toml to model, with diagnostics that carry spans.
#![forbid(unsafe_code)]
