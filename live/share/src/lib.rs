// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Wait-free objects between real-time parties and others, one file per protocol.
//!
//! # How to choose
//!
//! The newest value, every value, or large blocks; then who is real-time; then how many readers, and whether it is
//! known how long they take. `docs/which-one-do-i-need.md` asks it in a picture, adds memory and what crosses between
//! processors, and has recipes. If in doubt: [`state::group`] or [`state::pair`].
//!
//! | you need | object | may be real-time | a write | a read | who is put off |
//! |----------|--------|------------------|---------|--------|----------------|
//! | **the newest value** | | | | | |
//! | the default | [`state`]: [`hybrid`](state::hybrid) | all | 2 stores, 2 fences, a load for each reader | 2 loads, 1 fence | nobody |
//! | in place | [`chen`](state::chen) | all | 1 store, 1 fence, a load for each reader | 2 loads, 1 store, 1 fence, 1 exchange | nobody |
//! | in place, up to 58 readers | [`presence`](state::presence) | all | 1 store and 1 exchange, at most 1 more of both for each reader | 1 load, 1 exchange | nobody |
//! | in place, no exchanges | [`double_buffer`](state::double_buffer) | all | 3 stores, 1 fence, a load for each reader | 4 loads, 1 store, 1 fence | nobody |
//! | copied by the writer for whom it meets | [`peterson`](state::peterson) | all | 1 store, 2 fences, a load for each reader, a copy for each that reads | 3 loads, 1 store, 2 fences, 1 copy more | nobody |
//! | by readers of known speed | [`nbw_temporal`](state::nbw_temporal) | all | 1 store, 1 fence | 2 loads, 2 fences | a reader that takes longer: `Overrun` |
//! | by readers of which some are | [`improved_chen`](state::improved_chen), [`improved_double_buffer`](state::improved_double_buffer), [`improved_peterson`](state::improved_peterson) | all | as the one they improve, with slow readers alone | slow as there, fast 2 loads, 2 fences | a fast reader that takes longer: `Overrun` |
//! | the same, helped by the writer | [`emeralds`](state::emeralds) | all | 1 store, 1 fence, a load for each slow reader, a copy for each overtaken | 2 loads, 1 fence | slow readers too, between cores |
//! | on one slot | [`sdrtw`](state::sdrtw) | the writer | 2 stores, 1 fence | 2 loads, 2 fences | a reader that was overtaken: `Retry` |
//! | on two slots, one reader | [`sdrtr`](state::sdrtr) | the reader | 1 exchange | 1 exchange | the writer: `Busy` |
//! | of the right job | [`dbp`](state::dbp); by time [`tccp`](state::tccp): see [`flow`](state::flow) | all | 1 load, 2 stores | 4 or 5 loads, 1 store | a reader before its writer: `NotYet` |
//! | to compare with | [`spinlock`](state::spinlock) | nobody | unbounded | unbounded | everybody |
//! | **every value** | | | | | |
//! | refused when full | [`queue::qrtr`] | both | 1 load, 1 store | 1 load, 1 store | the writer: `Full` |
//! | when full, the oldest goes | [`queue::qrtwo`] | the writer | 1 store, 1 fence | 2 loads, 1 store, 1 fence | a reader that was overtaken: `Overtaken` |
//! | when full, all that wait go | [`queue::qrtwc`] | the writer | the same | the same | the same |
//! | **large blocks** | | | | | |
//! | one sender, one receiver | [`bulk`] | both | 2 stores | 1 load, 1 exchange | the sender, or the oldest block |
//!
//! Steps are bounds, beside one copy of the value (none in `bulk`), where no reader is in the middle of a claim and
//! nobody is overtaken; each file has them all, counted by tests. A real-time side never waits, never retries, and
//! never depends on what the other side wrote beyond the value itself. Each file states its orderings and its proof,
//! and what is left behind by a process that dies at any step.
//!
//! # Who is told, and what then
//!
//! `None` is no error: nothing has been written yet, nothing is new, or nothing waits (for a sender: no block is free).
//! Everything else that an operation can say instead of doing it is here. Then nothing was read, taken or published, and
//! the next call may succeed.
//!
//! | told | to whom | what it means | what to do |
//! |------|---------|---------------|------------|
//! | [`state::Overrun`] | observers, fast readers, `emeralds`' slow ones | more writes took place during the read than there are buffers for | go on with the last value, read again next time. Who relies on time has not kept the assumption, or the writer has not: count it, and have more buffers |
//! | [`sdrtw::Retry`](state::sdrtw::Retry) | readers of one slot | a write is going on, or took place meanwhile | again: `read_bounded`. It ends when the writer pauses; after its death in a write, with a new one |
//! | [`sdrtr::NotPublished::Busy`](state::sdrtr::NotPublished::Busy) | the writer for one reader | the reader is copying the value before | again: `publish_within`, or with the next value. After the reader's death: `release_reader`, or a new reader |
//! | [`spinlock::Busy`](state::spinlock::Busy) | all, of `try_` forms | another holds the lock | again, or not to be real-time |
//! | [`NotYet`](state::flow::NotYet), [`NotRead`](state::tccp::NotRead)`::NotYet` | a reader's job | the writer's job whose value it reads is not complete | on the writer's processor an error of the schedule; on another one again: `is_ready` |
//! | [`NotRead`](state::tccp::NotRead)`::Overrun` | a reader's job | the job takes longer than the buffers were counted for | go without: the value will not come back. Have more buffers |
//! | [`NotActivated`](state::flow::NotActivated) | a dispatcher | a job has overrun its period, or the order is another than that of activations | as it treats a missed deadline; the variants say which |
//! | [`Full`](queue::qrtr::Full) | the writer of `qrtr` | no place is free; the value comes back | keep it, or count it as lost |
//! | [`Overtaken`](queue::ring::Overtaken) | readers and followers of `qrtwo`, `qrtwc` | the writer came round the ring during the copy | again: `pop_within`. The next value says how many were `lost`. Often: more spare slots |
//! | [`NotReceived::Overtaken`](bulk::NotReceived::Overtaken) | a receiver | the sender recalled blocks as fast as they were looked for | again: the next call goes on behind them |
//! | `Corrupt`: of [`qrtr`](queue::qrtr::Corrupt), [`sdrtr`](state::sdrtr::NotPublished::Corrupt), [`bulk`](bulk::NotReceived::Corrupt) | who can see it | a shared word is not one that the protocol leads to: the other side is broken or hostile | trust it no more: end the object, and make a new one |
//! | [`LayoutError`] | who builds an object | the numbers, or the memory, are not ones for it | in the program, or by `bytes` |
//!
//! # Where objects live
//!
//! Between threads of one process, on the heap, in two lines: [`owned`]. There is one form of each operation for all
//! protocols, [`ends`], for code that is generic.
//!
//! Everything else is on a [`Memory`]: lines of this process ([`Memory::new`]), or a mapping that several processes share
//! ([`Memory::from_raw`]). All-zero memory is an empty object, so a fresh shared file needs no set-up. Values are
//! [`Plain`]: any bit pattern is one, there is no padding, no address inside.
//!
//! Between processes, `taut_segment::board` makes such a mapping, finds it by name, lets each end live once at a time,
//! and so makes the `unsafe` constructors of single ends safe.
//!
//! A process that can write the mapping can break the protocol. Then the ends keep their step bounds and stay inside
//! of the memory, and get wrong bits at worst. What no protocol can do is to keep two ends of *one* process apart on
//! memory that a third party spoils: an object between threads belongs into memory of the process.
//!
//! # The newest value
//!
//! By default, to two readers, any of the three parties real-time:
//!
//! ```
//! use taut_share::{Line, Memory, state};
//!
//! const SPARE: u32 = state::spare::<[f32; 2]>();
//! const LINES: usize = state::bytes::<[f32; 2]>(2, SPARE) / size_of::<Line>();
//! let mut lines = [const { Line::new() }; LINES];
//! let (mut writer, mut readers) = state::group::<[f32; 2]>(Memory::new(&mut lines), 2, SPARE)?;
//! let (mut first, mut second) = (readers.next().unwrap(), readers.next().unwrap());
//! assert_eq!(first.read(), None);
//! writer.write(&[0.5, 1.0]);
//! assert_eq!(first.read(), Some([0.5, 1.0]));
//! assert_eq!(second.read_if_newer().map(|sample| sample.version), Some(1));
//! assert_eq!(second.read_if_newer(), None);
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! # On two slots, read by real-time code
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
//! # On one slot, written by real-time code
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
//! and nobody keeps a word of the memory that an object is made from:
//!
//! ```compile_fail,E0382
//! # use taut_share::{Line, Memory, state::sdrtr};
//! let mut lines = [const { Line::new() }; 3];
//! let memory = Memory::new(&mut lines);
//! let idx = memory.claim().word(0);
//! let (writer, reader) = sdrtr::pair::<u64>(memory).unwrap();
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
//! know each by an adapter (`tests/objects`); files of tests whose names go on (`loom_nonblocking.rs`) are about some of them.
//! The commands, beside `cargo test -p taut-share`:
//!
//! ```text
//! RUSTFLAGS="--cfg loom"    cargo test -p taut-share --release --test 'loom*'      every execution of small runs
//! RUSTFLAGS="--cfg shuttle" cargo test -p taut-share --release --test 'shuttle*'   longer random ones
//! RUSTFLAGS="--cfg steps"   cargo test -p taut-share --test 'steps*' --test 'deaths*' --test 'hostile*' --test 'printed*'
//! MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test -p taut-share --lib --test conformance --test 'behaviour*' --test 'printed*' --test 'stress*'
//! RUSTFLAGS=-Zsanitizer=thread cargo +nightly test -Zbuild-std --target x86_64-unknown-linux-gnu -p taut-share --release --test 'stress*'
//! TAUT_STRESS_SECONDS=60 TAUT_STRESS_DEATHS=1000 cargo test -p taut-share --release --test 'stress*' --test 'processes*'
//! cargo check -p taut-share --target thumbv7em-none-eabihf                         without 64-bit atomics: see taut_atomic
//! cargo bench -p taut-share --bench cost                                           ns beside a plain copy
//! ```
#![no_std]

pub mod bulk;
pub mod ends;
pub mod layout;
mod list;
#[cfg(all(feature = "alloc", not(any(loom, shuttle))))]
pub mod owned;
mod places;
mod plain;
pub mod queue;
pub mod state;

pub use layout::{Layout, Words};
pub use list::List;
pub use plain::{LayoutError, Plain, copy};
pub use taut_atomic::{LINE_BYTES, Line, Memory};
