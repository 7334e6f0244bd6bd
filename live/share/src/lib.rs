// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Wait-free objects between real-time parties and others, one file per protocol.
