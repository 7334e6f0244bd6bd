// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Real-time applications that are proven before they run, run as proven, and show it.
