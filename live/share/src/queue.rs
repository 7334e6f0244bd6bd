// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every value in order, from one writer to one reader: what happens to one that finds the queue full is the choice.
//!
//! | when full               | protocol  | may be real-time | who is put off                                     |
//! |-------------------------|-----------|------------------|----------------------------------------------------|
//! | the new one is refused  | [`qrtr`]  | both             | the writer: `Full`, with the value                 |
//! | the oldest makes room   | [`qrtwo`] | the writer       | a reader that was overtaken in a copy: `Overtaken` |
//! | all that wait make room | [`qrtwc`] | the writer       | the same                                           |
//!
//! What was discarded is counted by the reader. Of [`qrtwo`] and [`qrtwc`], which have one [`ring`], any number may read
//! along. How they compare with the rest: [the table](crate#how-to-choose).

mod chunk;
mod position;
pub mod qrtr;
pub mod qrtwc;
pub mod qrtwo;
pub mod ring;
