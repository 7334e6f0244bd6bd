// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every value in order, from one writer to one reader. The first three protocols differ in what a push to a full queue
//! does; the others are for several readers or several senders.
//!
//! | a push to a full queue       | protocol  | may be real-time | which operation can fail                               |
//! |------------------------------|-----------|------------------|--------------------------------------------------------|
//! | is refused                   | [`qrtr`]  | both             | a push: `QueueFull`, with the value                    |
//! | discards the oldest value    | [`qrtwo`] | the writer       | a pop that is overtaken during its copy: `Overwritten` |
//! | discards all waiting values  | [`qrtwc`] | the writer       | the same                                               |
//! | is refused; several readers  | [`broadcast`] | all but followers | a push: `QueueFull`                               |
//! | as its lane; several senders | [`lanes`] | as its lanes     | as its lanes                                           |
//! | finds no free slot; each value waits for its instant | [`timed_slots`] | both | none                      |
//!
//! The reader counts the discarded values. [`qrtwo`] and [`qrtwc`] share one [`ring`], and allow any number of
//! additional readers. [The table](crate#how-to-choose) compares them with the other objects.

pub mod broadcast;
mod chunk;
pub mod lanes;
mod position;
pub mod qrtr;
pub mod qrtwc;
pub mod qrtwo;
pub mod ring;
pub mod timed_slots;
