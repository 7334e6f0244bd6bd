// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Wait-free objects that real-time tasks share with each other and with other threads, one file per protocol.
//!
//! # How to choose
//!
//! First choose between the newest value, every value, and large blocks; then by which sides are real-time; then by
//! the number of readers, and by whether a bound of their reading time is known. `docs/which-one-do-i-need.md` shows
//! the choice as a diagram, adds memory and traffic between processors, and has recipes. If in doubt, use
//! [`state::group`] or [`state::pair`].
//!
//! | you need | object | may be real-time | a write | a read | what can fail |
//! |----------|--------|------------------|---------|--------|----------------|
//! | **the newest value** | | | | | |
//! | the default | [`state`]: [`hybrid`](state::hybrid) | all | 2 stores, 2 fences, a load for each reader | 2 loads, 1 fence | nothing |
//! | in place | [`chen`](state::chen) | all | 1 store, 1 fence, a load for each reader | 2 loads, 1 store, 1 fence, 1 exchange | nothing |
//! | in place, up to 58 readers | [`presence`](state::presence) | all | 1 store and 1 exchange, at most 1 more of both for each reader | 1 load, 1 exchange | nothing |
//! | in place, no exchanges | [`double_buffer`](state::double_buffer) | all | 3 stores, 1 fence, a load for each reader | 4 loads, 1 store, 1 fence | nothing |
//! | the writer copies for active readers | [`peterson`](state::peterson) | all | 1 store, 2 fences, a load for each reader, a copy for each that is reading | 3 loads, 1 store, 2 fences, 1 copy more | nothing |
//! | readers of known speed | [`nbw_temporal`](state::nbw_temporal) | all | 1 store, 1 fence | 2 loads, 2 fences | a read that takes longer: `ReaderOvertaken` |
//! | some readers of known speed | [`improved_chen`](state::improved_chen), [`improved_double_buffer`](state::improved_double_buffer), [`improved_peterson`](state::improved_peterson) | all | as the one they improve, for the slow readers only | slow: as there; fast: 2 loads, 2 fences | a fast read that takes longer: `ReaderOvertaken` |
//! | the same, the writer helps slow readers | [`emeralds`](state::emeralds) | all | 1 store, 1 fence, a load for each slow reader, a copy for each that is overtaken | 2 loads, 1 fence | the same; between cores a slow read too |
//! | on one slot | [`sdrtw`](state::sdrtw) | the writer | 2 stores, 1 fence | 2 loads, 2 fences | a read that is overtaken: `Retry` |
//! | on two slots, one reader | [`sdrtr`](state::sdrtr) | the reader | 1 exchange | 1 exchange | a write: `Busy` |
//! | of the right job | [`dbp`](state::dbp); by time [`tccp`](state::tccp): see [`flow`](state::flow) | all | 1 load, 2 stores | 4 or 5 loads, 1 store | a read before its writer is complete: `NotYet` |
//! | for comparison | [`spinlock`](state::spinlock) | none | unbounded | unbounded | every operation |
//! | **every value** | | | | | |
//! | refused when full | [`queue::qrtr`] | both | 1 load, 1 store | 1 load, 1 store | a push: `QueueFull` |
//! | when full, discards the oldest | [`queue::qrtwo`] | the writer | 1 store, 1 fence | 2 loads, 1 store, 1 fence | a pop that is overtaken: `Overwritten` |
//! | when full, discards all that wait | [`queue::qrtwc`] | the writer | the same | the same | the same |
//! | by all of several readers | [`queue::broadcast`] | all | 1 store, 1 fence; a load for each reader if the room seen is used up | 2 loads, 1 store, 2 fences | a push: `QueueFull` |
//! | from many senders | [`queue::lanes`] | all | a push, 1 store | a load for each 8 lanes, an exchange for each that announced, a pop | as its queues |
//! | at its instant, or cancelled before | [`queue::timed_slots`] | both | 5 stores, 1 fence, 2 loads; a load for each slot in use | 1 exchange, 3 loads, 1 store | nothing; a setter may find no free slot |
//! | **large blocks** | | | | | |
//! | one sender, one receiver | [`bulk`] | both | 2 stores | 1 load, 1 exchange | a loan, or the oldest block is recalled |
//! | the same, a receiver that is not trusted | [`bulk::reserved`] | the sender | 2 loads, 4 stores, 1 fence | 4 loads, 1 store, 1 fence | nothing; the oldest block is recalled |
//!
//! The steps are bounds, in addition to one copy of the value (none in `bulk`), while no reader is in the middle of a
//! claim and nobody is overtaken; each file has all bounds, and tests count them. A real-time side never waits, never
//! retries, and depends on nothing that the other side wrote except the value itself. Each file states its orderings
//! and its proof, and what a process leaves behind if it dies at any step.
//!
//! # What an operation can report, and what to do then
//!
//! `None` is no error: nothing has been written yet, nothing is new, or nothing waits (for a sender: no block is
//! free). This table has all other reports of an operation that did not succeed. Then nothing was read, taken or
//! published, and the next call may succeed.
//!
//! | report | reported to | what it means | what to do |
//! |------|---------|---------------|------------|
//! | [`state::ReaderOvertaken`] | observers, fast readers, slow readers of `emeralds` | more writes took place during the read than there are buffers for | continue with the last value, and read again next time. In a protocol that relies on time, the reader or the writer has broken its assumption: count it, and use more buffers |
//! | [`sdrtw::Retry`](state::sdrtw::Retry) | readers of one slot | a write is in progress, or took place meanwhile | retry: `read_bounded`. A retry succeeds when the writer pauses; if the writer died in a write, when there is a new one |
//! | [`sdrtr::NotPublished::Busy`](state::sdrtr::NotPublished::Busy) | the writer for one reader | the reader is copying the previous value | retry: `publish_within`, or publish the next value. If the reader has died: `release_reader`, or a new reader |
//! | [`spinlock::LockHeld`](state::spinlock::LockHeld) | callers of the `try_` forms | another end holds the lock | retry; code that is not real-time can use the forms that wait |
//! | [`NotYet`](state::flow::NotYet), [`NotRead`](state::tccp::NotRead)`::NotYet` | a reader's job | the writer's job whose value it reads is not complete | on the writer's processor, this is an error of the schedule; on another one, retry: `is_ready` |
//! | [`NotRead`](state::tccp::NotRead)`::Overrun` | a reader's job | the job takes longer than the number of buffers allows | continue without the value: it is gone. Use more buffers |
//! | [`NotActivated`](state::flow::NotActivated) | a dispatcher | a job has overrun its period, or the calls are not in the order of activations | treat it as a missed deadline; the variants say which |
//! | [`QueueFull`](queue::qrtr::QueueFull) | the writer of `qrtr` and of `broadcast` | no slot is free; the error of `qrtr` returns the value | keep it, or count it as lost. If a reader of `broadcast` has died: `release_reader`, or a new reader |
//! | [`LaneUnavailable`](queue::lanes::LaneUnavailable) | the receiver of `lanes` | no lane has a value, and one reported this error of its queue | as the queue's own error says |
//! | [`Overwritten`](queue::ring::Overwritten) | readers and followers of `qrtwo`, `qrtwc` | the writer went around the ring during the copy | retry: `pop_within`. The next value says how many were `lost`. If it happens often, use more spare slots |
//! | [`NotReceived::Overtaken`](bulk::NotReceived::Overtaken) | a receiver | the sender recalled blocks as fast as the receiver looked for them | retry: the next call continues after them |
//! | `Corrupt`: of [`qrtr`](queue::qrtr::Corrupt), [`sdrtr`](state::sdrtr::NotPublished::Corrupt), [`bulk`](bulk::NotReceived::Corrupt) | the side that detects it | a shared word has a value that the protocol cannot produce: the other side is broken or hostile | do not trust the other side any more: end the object, and create a new one |
//! | [`LayoutError`] | the code that builds an object | the numbers, or the memory, do not fit it | correct the program; size the memory by `bytes` |
//!
//! # Where objects live
//!
//! For threads of one process, [`owned`] creates an object on the heap, in two lines. [`ends`] has one form of each
//! operation for all protocols, for generic code.
//!
//! All other objects are on a [`Memory`]: lines of this process ([`Memory::new`]), or a mapping that several
//! processes share ([`Memory::from_raw`]). All-zero memory is an empty object, so a fresh shared file needs no
//! set-up. Values are [`Plain`]: any bit pattern is a value, and there is no padding and no address inside.
//!
//! Between processes, `taut_segment::registry` creates such a mapping and finds it by name. It allows each end only
//! once at a time, and so makes the `unsafe` constructors of single ends safe.
//!
//! A process that can write the mapping can break the protocol. Then the ends keep their step bounds, stay inside the
//! memory, and at worst get wrong bits. But no protocol can keep two ends of *one* process apart on memory that a third
//! party corrupts: an object between threads belongs in private memory of the process.
//!
//! # The newest value
//!
//! By default, for two readers; each of the three ends may be real-time:
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
//! assert_eq!(writer.push(9), Err(qrtr::QueueFull(9)));
//! assert_eq!(reader.pop(), Ok(Some(7)));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```
//!
//! # What the types forbid
//!
//! An end that may exist only once cannot be copied:
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
//! nor shared between threads, only moved to another thread:
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
//! and no code keeps a word of the memory that an object is built on:
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
//! Each protocol's file ends with a list of its checks, how far they go, and what they do not cover. Most checks are
//! programs that run all protocols, each protocol through an adapter (`tests/objects`). The folders beside
//! (`tests/queues`) have the checks that are only for a family of protocols, with a file for each of these programs.
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
