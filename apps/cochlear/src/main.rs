// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A cochlear implant's sound processor on taut.

fn main() {}
