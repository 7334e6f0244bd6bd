// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Bound and measured side by side: tables, JSON, HTML, Perfetto.
#![forbid(unsafe_code)]
