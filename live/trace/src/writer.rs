// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use taut_event::{Record, file};

use crate::Drain;

/// How often [`Writer::run`] empties the rings. A ring must hold what its thread records in this time, and in
/// the time that a best-effort thread may be kept from its core.
pub const POLL_EVERY: Duration = Duration::from_millis(10);
/// How often [`Writer::run`] flushes: a killed run loses at most this much of its record, plus what was in rings.
pub const FLUSH_EVERY: Duration = Duration::from_millis(100);

const BUFFER_BYTES: usize = 1 << 16;

/// What a [`Writer`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Records written, those that tell a loss included.
    pub records: u64,
}

/// Empties rings into a recorded run, in the format of [`taut_event::file`]. Best-effort: it may block on its
/// sink, and belongs on a housekeeping core.
///
/// After the sink's first error it goes on emptying the rings, writes nothing more, and tells the error at the end.
#[derive(Debug)]
pub struct Writer<W: Write> {
    sink: BufWriter<W>,
    drains: Vec<Drain>,
    written: Written,
    error: Option<io::Error>,
}

impl<W: Write> Writer<W> {
    /// Writes the head: the plan as in `taut.lock`, and the machine's facts as `key = value` lines.
    ///
    /// # Errors
    /// The sink's, or [`io::ErrorKind::InvalidInput`] if a text exceeds 4 GiB.
    pub fn new(sink: W, plan: &str, machine: &str, drains: Vec<Drain>) -> io::Result<Self> {
        let head = file::head(plan, machine).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
        let mut sink = BufWriter::with_capacity(BUFFER_BYTES, sink);
        sink.write_all(&head)?;
        sink.flush()?;
        Ok(Self { sink, drains, written: Written::default(), error: None })
    }

    /// Empties every ring once. Returns how many records it took.
    pub fn poll(&mut self) -> u64 {
        let Self { sink, drains, written, error } = self;
        let mut taken = 0;
        for drain in drains {
            taken += drain.drain(|record| put(sink, written, error, record));
        }
        taken
    }

    /// Writes a record that no ring carries, such as the end of the run.
    pub fn append(&mut self, record: Record) {
        put(&mut self.sink, &mut self.written, &mut self.error, record);
    }

    /// Hands what is buffered to the sink.
    pub fn flush(&mut self) {
        if self.error.is_none() {
            self.error = self.sink.flush().err();
        }
    }

    /// Polls and flushes on the calling thread until `stop` is true, then once more. Setting `stop` and unparking
    /// the thread ends it at once.
    pub fn run(&mut self, stop: &AtomicBool) {
        let mut flushed = Instant::now();
        loop {
            // Read first: what was recorded before `stop` was set is then still taken below.
            let last = stop.load(Ordering::Acquire);
            self.poll();
            if last || flushed.elapsed() >= FLUSH_EVERY {
                self.flush();
                flushed = Instant::now();
            }
            if last {
                return;
            }
            thread::park_timeout(POLL_EVERY);
        }
    }

    /// Takes what is left, flushes, and gives the sink back.
    ///
    /// # Errors
    /// The first error that the sink gave, now or before: the file is then incomplete.
    pub fn finish(mut self) -> io::Result<(W, Written)> {
        self.poll();
        self.flush();
        if let Some(error) = self.error {
            return Err(error);
        }
        let sink = self.sink.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok((sink, self.written))
    }
}

fn put<W: Write>(
    sink: &mut BufWriter<W>,
    written: &mut Written,
    error: &mut Option<io::Error>,
    record: Record,
) {
    if error.is_some() {
        return;
    }
    match sink.write_all(&record.to_bytes()) {
        Ok(()) => written.records += 1,
        Err(e) => *error = Some(e),
    }
}
