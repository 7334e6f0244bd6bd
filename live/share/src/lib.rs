// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Wait-free objects between real-time parties and others, one file per protocol.
//!
//! # How to choose
//!
//! Two questions: is the newest value enough, or must every value arrive; and which side is real-time?
//!
//! | you need             | real-time side | protocol          | real-time cost      | the other side                 |
//! |----------------------|----------------|-------------------|---------------------|--------------------------------|
//! | the newest value     | any, or all    | [`state::hybrid`], the default: [`state`] | read: 2 loads + copy; write: 2 stores + 1 fence + copy | the same: nobody is told anything |
//! | the same, in place   | any, or all    | [`state::chen`]   | 1 exchange + 1 fence; nothing if unchanged | the same |
//! | the same, reads in known time | any, or all | [`state::improved_chen`] | as hybrid, with fewer slots | too slow a fast reader is told `Overrun` |
//! | the newest value     | one reader     | [`state::sdrtr`]  | 2 exchanges + copy  | publishes, or is told `Busy`   |
//! | the newest value     | the writer     | [`state::sdrtw`]  | 2 stores + copy     | reads, or is told `Retry`      |
//! | the newest value     | all, by time   | [`state::nbw_temporal`] | 1 store + copy | 2 loads + copy, or is told `Overrun` |
//! | the newest value     | all            | [`state::peterson`] | fence, load and at most one copy for each reader | at most 2 copies |
//! | the newest value     | all, fast readers by time | [`state::improved_peterson`] | as Peterson, slow readers alone | as both |
//! | the newest value     | writer, fast readers by time | [`state::emeralds`] | load for each slow reader, copy when it was overtaken | slow ones may be told `Overrun` |
//! | a baseline           | none           | [`state::spinlock`] | unbounded       | unbounded                      |
//! | every value in order | one reader, or both | [`queue::qrtr`] | 1 load + 1 store + copy | pushes, or gets the value back |
//! | large values, in place | either, or both | [`bulk`]        | 2 stores; 1 load + 1 exchange; no copy | the same             |
//!
//! The real-time side never waits, never retries and never depends on what the other side wrote beyond the value
//! itself. Each module states its step bounds, its orderings and proof, and what is left behind by a process that
//! dies at any step.
//!
//! # Where objects live
//!
//! On a [`Memory`]: lines of this process ([`Memory::new`]), or a mapping that several processes share
//! ([`Memory::from_raw`]). All-zero memory is an empty object, so a fresh shared file needs no set-up. Values are
//! [`Plain`]: any bit pattern is one, there is no padding, no address inside.
//!
//! A process that can write the mapping can break the protocol. Then the ends keep their step bounds and stay inside
//! of the memory, and get wrong bits at worst. What no protocol can do is to keep two ends of *one* process apart on
//! memory that a third party spoils: an object between threads belongs into memory of the process.
//!
//! # The newest value, read by real-time code
//!
//! ```
//! use taut_share::{Line, Memory, state::sdrtr};
//!
//! let mut lines = [const { Line::new() }; 3];
//! let (mut writer, mut reader) = sdrtr::pair::<[f32; 2]>(Memory::new(&mut lines))?;
//! assert_eq!(reader.read(), None);
//! assert_eq!(writer.try_publish(&[0.5, 1.0]), Ok(()));
//! assert_eq!(reader.read(), Some([0.5, 1.0]));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! # The newest value, written by real-time code
//!
//! ```
//! use taut_share::{Line, Memory, state::sdrtw};
//!
//! let mut lines = [const { Line::new() }; 1];
//! let (mut writer, mut reader) = sdrtw::pair::<[u32; 4]>(Memory::new(&mut lines))?;
//! writer.write(&[1, 2, 3, 4]);
//! let sample = reader.read_bounded(3).expect("no write disturbs").expect("written once");
//! assert_eq!((sample.value, sample.version), ([1, 2, 3, 4], 1));
//! assert_eq!(reader.read_if_newer(), Ok(None));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! # Every value
//!
//! ```
//! use taut_share::{Line, Memory, queue::qrtr};
//!
//! let mut lines = [const { Line::new() }; 3];
//! let (mut writer, mut reader) = qrtr::pair::<u64>(Memory::new(&mut lines), 2)?;
//! assert_eq!(writer.push(7), Ok(()));
//! assert_eq!(writer.push(8), Ok(()));
//! assert_eq!(writer.push(9), Err(qrtr::Full(9)));
//! assert_eq!(reader.pop(), Ok(Some(7)));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! # What the types forbid
//!
//! An end of which there may be one cannot be copied:
//!
//! ```compile_fail,E0599
//! # use taut_share::{Line, Memory, state::sdrtr};
//! let mut lines = [const { Line::new() }; 3];
//! let (writer, reader) = sdrtr::pair::<u64>(Memory::new(&mut lines)).unwrap();
//! let second = reader.clone();
//! ```
//! ```compile_fail,E0599
//! # use taut_share::{Line, Memory, state::sdrtw};
//! let mut lines = [const { Line::new() }; 1];
//! let (writer, reader) = sdrtw::pair::<u64>(Memory::new(&mut lines)).unwrap();
//! let readers_may_be_many = reader.clone();
//! let second = writer.clone();
//! ```
//! ```compile_fail,E0599
//! # use taut_share::{Line, Memory, queue::qrtr};
//! let mut lines = [const { Line::new() }; 3];
//! let (writer, reader) = qrtr::pair::<u64>(Memory::new(&mut lines), 2).unwrap();
//! let second = reader.clone();
//! ```
//!
//! nor shared between threads, only moved to one:
//!
//! ```compile_fail,E0277
//! # use taut_share::{Line, Memory, state::sdrtr};
//! fn shared<T: Sync>(_: &T) {}
//! let mut lines = [const { Line::new() }; 3];
//! let (writer, reader) = sdrtr::pair::<u64>(Memory::new(&mut lines)).unwrap();
//! shared(&reader);
//! ```
//! ```compile_fail,E0277
//! # use taut_share::{Line, Memory, state::sdrtw};
//! fn shared<T: Sync>(_: &T) {}
//! let mut lines = [const { Line::new() }; 1];
//! let (writer, reader) = sdrtw::pair::<u64>(Memory::new(&mut lines)).unwrap();
//! shared(&reader);
//! ```
//! ```compile_fail,E0277
//! # use taut_share::{Line, Memory, queue::qrtr};
//! fn shared<T: Sync>(_: &T) {}
//! let mut lines = [const { Line::new() }; 3];
//! let (writer, reader) = qrtr::pair::<u64>(Memory::new(&mut lines), 2).unwrap();
//! shared(&writer);
//! ```
//! ```
//! # use taut_share::{Line, Memory, queue::qrtr};
//! fn moved<T: Send>(_: T) {}
//! let mut lines = [const { Line::new() }; 3];
//! let (writer, reader) = qrtr::pair::<u64>(Memory::new(&mut lines), 2).unwrap();
//! moved(writer);
//! moved(reader);
//! ```
//!
//! A value may not hold an address, a type with forbidden bit patterns, or padding:
//!
//! ```compile_fail,E0277
//! let bytes = taut_share::state::sdrtr::bytes::<&'static u64>();
//! ```
//! ```compile_fail,E0277
//! let bytes = taut_share::state::sdrtr::bytes::<bool>();
//! ```
//! ```compile_fail,E0277
//! let bytes = taut_share::state::sdrtr::bytes::<(u8, u32)>();
//! ```
//!
//! nor be aligned to more than a word:
//!
//! ```compile_fail,E0080
//! let bytes = taut_share::state::sdrtr::bytes::<u128>();
//! ```
//!
//! and memory holds one object at a time:
//!
//! ```compile_fail,E0382
//! # use taut_share::{Line, Memory, state::sdrtr};
//! let mut lines = [const { Line::new() }; 3];
//! let memory = Memory::new(&mut lines);
//! let one = sdrtr::pair::<u64>(memory).unwrap();
//! let two = sdrtr::pair::<u64>(memory).unwrap();
//! ```
//!
//! # How it is checked
//!
//! Each protocol's file says by what, how far, and what is left open. Most checks are programs over all protocols, which
//! know each by an adapter (`tests/objects`); files of tests whose names go on (`loom_first.rs`) are about some of them.
//! The commands, beside `cargo test -p taut-share`:
//!
//! ```text
//! RUSTFLAGS="--cfg loom"    cargo test -p taut-share --release --test 'loom*'      every execution of small runs
//! RUSTFLAGS="--cfg shuttle" cargo test -p taut-share --release --test 'shuttle*'   longer random ones
//! RUSTFLAGS="--cfg steps"   cargo test -p taut-share --test 'steps*' --test 'deaths*' --test 'hostile*'
//! MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p taut-share --lib --test conformance --test 'behaviour*' --test 'printed*' --test 'stress*'
//! RUSTFLAGS=-Zsanitizer=thread cargo +nightly test -Zbuild-std --target x86_64-unknown-linux-gnu -p taut-share --release --test 'stress*'
//! TAUT_STRESS_SECONDS=60 TAUT_STRESS_DEATHS=1000 cargo test -p taut-share --release --test 'stress*' --test 'processes*'
//! cargo bench -p taut-share --bench cost                                           ns beside a plain copy
//! ```
#![no_std]

pub mod bulk;
mod list;
mod places;
mod plain;
pub mod queue;
pub mod state;

pub use list::List;
pub use plain::{LayoutError, Plain};
pub use taut_atomic::{LINE_BYTES, Line, Memory};
