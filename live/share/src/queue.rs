// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Values in order, from one writer to one reader: what happens to a value that finds its queue full is the choice.
//!
//! | when full                         | protocol  | never waits, never fails | the other side           |
//! |-----------------------------------|-----------|--------------------------|--------------------------|
//! | the writer gets it back           | [`qrtr`]  | the reader               | writes, or is told `Full` |
//! | the oldest one makes room         | [`qrtwo`] | the writer               | pops, or is told `Overtaken` |
//! | all that wait make room           | [`qrtwc`] | the writer               | pops, or is told `Overtaken` |

mod chunk;
mod position;
pub mod qrtr;
pub mod qrtwc;
pub mod qrtwo;
pub mod ring;
