// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use taut_event::file::{BLOCK_BYTES, BLOCK_RECORDS, Blocks, Head};
use taut_event::{Kind, Record};

use crate::Drain;

/// How often [`Writer::run`] empties the rings. A ring must hold what its thread records in this time, and in
/// the time that a best-effort thread may be kept from its core.
pub const POLL_EVERY: Duration = Duration::from_millis(10);
/// How often [`Writer::run`] flushes: a killed run loses at most this much of its record, plus what was in rings.
pub const FLUSH_EVERY: Duration = Duration::from_millis(100);

/// Where a recording goes: bytes at places, the newest over the oldest if it has a limit.
pub trait Sink {
    /// Writes all bytes at a place.
    ///
    /// # Errors
    /// What keeps it from that; some of the bytes may be written then.
    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()>;

    /// Ends there: what is behind is gone.
    ///
    /// # Errors
    /// What keeps it from that.
    fn cut(&mut self, place: u64) -> io::Result<()>;

    /// The file that it is, for another thread; `None` if it is none.
    fn file(&self) -> Option<File> {
        None
    }
}

impl Sink for File {
    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(place))?;
        self.write_all(bytes)
    }

    fn cut(&mut self, place: u64) -> io::Result<()> {
        self.set_len(place)
    }

    fn file(&self) -> Option<File> {
        self.try_clone().ok()
    }
}

impl Sink for Vec<u8> {
    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        let from = usize::try_from(place).map_err(|_| io::ErrorKind::StorageFull)?;
        let end = from.checked_add(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        self.resize(self.len().max(end), 0);
        self[from..end].copy_from_slice(bytes);
        Ok(())
    }

    fn cut(&mut self, place: u64) -> io::Result<()> {
        self.truncate(usize::try_from(place).unwrap_or(usize::MAX));
        Ok(())
    }
}

impl Sink for io::Sink {
    fn write_at(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn cut(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// What a [`Writer`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Records written, those that tell a loss included.
    pub records: u64,
    /// Records that the sink did not take.
    pub unwritten: u64,
}

/// Empties rings into a recorded run, in the format of [`taut_event::file`]. Best-effort: it may block on its
/// sink, and belongs on a housekeeping core.
///
/// While the sink takes nothing it goes on emptying the rings, and tries again with each block. The next block that is
/// written says how many records are missing before it and what kept them out; the error is told at the end besides.
#[derive(Debug)]
pub struct Writer<W: Sink> {
    drains: Vec<Drain>,
    out: Out<W>,
}

#[derive(Debug)]
struct Out<W: Sink> {
    sink: W,
    blocks: Blocks,
    /// For the next block.
    records: Vec<Record>,
    block: Vec<u8>,
    written: Written,
    /// The system's last error, until a block is written.
    os_error: u32,
    error: Option<io::Error>,
}

impl<W: Sink> Writer<W> {
    /// Writes the head.
    ///
    /// # Errors
    /// The sink's, or [`io::ErrorKind::InvalidInput`] if no recording can be made of the head.
    pub fn new(mut sink: W, head: &Head<'_>, drains: Vec<Drain>) -> io::Result<Self> {
        let (blocks, head) =
            Blocks::new(head).map_err(|unfit| io::Error::new(io::ErrorKind::InvalidInput, unfit))?;
        sink.write_at(0, &head)?;
        let records = Vec::with_capacity(BLOCK_RECORDS);
        let (block, written) = (Vec::new(), Written::default());
        Ok(Self { drains, out: Out { sink, blocks, records, block, written, os_error: 0, error: None } })
    }

    /// Empties every ring once. Returns how many records it took.
    pub fn poll(&mut self) -> u64 {
        let Self { drains, out } = self;
        drains.iter_mut().map(|drain| drain.drain(|record| out.put(record))).sum()
    }

    /// Writes a record that no ring carries, such as the end of the run.
    pub fn append(&mut self, record: Record) {
        self.out.put(record);
    }

    /// Hands what is buffered to the sink.
    pub fn flush(&mut self) {
        if !self.out.records.is_empty() {
            self.out.block(false);
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

    /// Hands what is buffered to the sink, for whose last block another thread gets what it needs; `None` if that is no file.
    pub fn last_words(&mut self) -> Option<LastWords> {
        self.flush();
        let Out { sink, blocks, .. } = &self.out;
        let room = BLOCK_BYTES + LastWords::RECORDS * Record::SIZE;
        Some(LastWords { file: sink.file()?, blocks: blocks.clone(), block: Vec::with_capacity(room) })
    }

    /// Takes what is left and says that nothing follows; for a process that ends before [`Writer::finish`] can be called.
    pub fn close(&mut self) {
        self.poll();
        self.flush();
        self.out.block(true);
    }

    /// Takes what is left, closes the recording, and gives the sink back.
    ///
    /// # Errors
    /// The first error that the sink gave, now or before: the file is then incomplete.
    pub fn finish(mut self) -> io::Result<(W, Written)> {
        self.close();
        match self.out.error {
            Some(error) => Err(error),
            None => Ok((self.out.sink, self.out.written)),
        }
    }
}

/// The last block of a recording, for who writes it if the [`Writer`] itself cannot. Only while that writes nothing.
#[derive(Debug)]
pub struct LastWords {
    file: File,
    blocks: Blocks,
    block: Vec<u8>,
}

impl LastWords {
    /// Records that it has room for.
    pub const RECORDS: usize = 8;

    /// Writes these, behind what is recorded. Without the heap or a lock; waits for the disk.
    ///
    /// # Errors
    /// What keeps it from that.
    pub fn say(mut self, records: &[Record]) -> io::Result<()> {
        let records = &records[..records.len().min(Self::RECORDS)];
        let place = self.blocks.block(records, false, 0, &mut self.block);
        let said = self.file.write_all_at(&self.block, place);
        // Dropped, it would use the heap.
        std::mem::forget(self);
        said
    }
}

impl<W: Sink> Out<W> {
    fn put(&mut self, record: Record) {
        self.records.push(record);
        if self.records.len() == BLOCK_RECORDS {
            self.block(false);
        }
    }

    fn block(&mut self, last: bool) {
        if !self.write(last, is_end) {
            // How it ended needs little room, and is what the rest is read by.
            self.records.retain(is_end);
            if !self.records.is_empty() {
                self.write(last, |_| false);
            }
        }
        self.records.clear();
    }

    /// Whether the block is written. If not, its records that are to be tried `again` count as none yet.
    fn write(&mut self, last: bool, again: fn(&Record) -> bool) -> bool {
        let Self { sink, blocks, records, block, written, os_error, error } = self;
        let place = blocks.block(records, last, *os_error, block);
        match sink.write_at(place, block) {
            Ok(()) => {
                written.records += records.len() as u64;
                *os_error = 0;
                true
            }
            Err(found) => {
                let again = records.iter().filter(|record| again(record)).count();
                blocks.take_back(place, again);
                written.unwritten += (records.len() - again) as u64;
                // What is half written would have to be told from damage, and takes room.
                if !blocks.has_limit() {
                    let _ = sink.cut(place);
                }
                *os_error =
                    found.raw_os_error().and_then(|number| u32::try_from(number).ok()).unwrap_or(u32::MAX);
                error.get_or_insert(found);
                false
            }
        }
    }
}

fn is_end(record: &Record) -> bool {
    record.kind == Kind::End
}
