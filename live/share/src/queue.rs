// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every value, in order, from one writer to one reader.

pub mod qrtr;
