// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Records events without blocking.
//!
//! A thread that has an end of a recorded channel also owns a [`ValueRecorder`], for the values.
//!
//! Every real-time thread owns a [`Recorder`]. One best-effort thread owns the other ends and a [`RecordingWriter`]
//! that empties them into a file. A recorder never waits for the writer: a record that finds its ring full is lost and
//! counted, and the count appears in the file.
//!
//! ```
//! use taut_event::{Kind, Record, file::{Head, Run}};
//! use taut_time::Instant;
//! use taut_trace::{RingOwner, RecordingWriter, ring};
//!
//! let (mut recorder, drain) = ring(RingOwner::Task(0), 1024);
//! let at = Instant::from_ns(7);
//! recorder.record(Record { at, kind: Kind::Start, cpu: 0, subject: 0, job: 0, value: 0 });
//! let mut writer = RecordingWriter::new(Vec::new(), &Head::default(), vec![drain]).unwrap();
//! writer.poll();
//! let (bytes, written) = writer.finish().unwrap();
//! assert_eq!(written.records, 1);
//! assert_eq!(Run::from_bytes(&bytes).unwrap().records[0].at, at);
//! ```
#![forbid(unsafe_code)]

mod ring;
mod values;
mod writer;

pub use ring::{Drain, Recorder, RingOwner, STEPS, ring};
pub use values::{VALUE_STEPS, ValueDrain, ValueRecorder, value_ring};
pub use writer::{FLUSH_EVERY, FinalBlock, POLL_EVERY, RecordingSink, RecordingWriter, Written};
