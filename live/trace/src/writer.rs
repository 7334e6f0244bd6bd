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

/// The interval at which [`RecordingWriter::run`] empties the rings. A ring must hold what its thread records in this
/// interval, plus the time for which the kernel may keep a best-effort thread from its core.
pub const POLL_EVERY: Duration = Duration::from_millis(10);
/// The interval at which [`RecordingWriter::run`] flushes: a killed run loses at most the records of this interval, and
/// those that were in rings.
pub const FLUSH_EVERY: Duration = Duration::from_millis(100);

/// Where a recording goes: bytes at positions. If the recording has a limit, the newest bytes overwrite the oldest.
pub trait RecordingSink {
    /// Writes all bytes at a position.
    ///
    /// # Errors
    /// The error that prevents the write. Some of the bytes may be written then.
    fn write_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()>;

    /// Truncates the sink at a position: the bytes behind it are lost.
    ///
    /// # Errors
    /// The error that prevents the truncation.
    fn cut(&mut self, place: u64) -> io::Result<()>;

    /// The file behind the sink, for another thread; `None` if it is no file.
    fn file(&self) -> Option<File> {
        None
    }
}

impl RecordingSink for File {
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

impl RecordingSink for Vec<u8> {
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

impl RecordingSink for io::Sink {
    fn write_at(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn cut(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// What a [`RecordingWriter`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Records written, including those that report a loss.
    pub records: u64,
    /// Records that the sink did not take.
    pub unwritten: u64,
}

/// Empties rings into a recorded run, in the format of [`taut_event::file`]. Best-effort: it may block on its sink,
/// and belongs on a housekeeping core.
///
/// While the sink takes nothing, the writer still empties the rings, and tries to write each block. The next block that
/// it writes contains the number of records that are missing before it, and the number of the last error.
/// [`RecordingWriter::finish`] also returns the first error.
#[derive(Debug)]
pub struct RecordingWriter<W: RecordingSink> {
    drains: Vec<Drain>,
    out: Out<W>,
}

#[derive(Debug)]
struct Out<W: RecordingSink> {
    sink: W,
    blocks: Blocks,
    /// The records of the next block.
    records: Vec<Record>,
    block: Vec<u8>,
    written: Written,
    /// The system's number of the last error, until a block is written.
    os_error: u32,
    error: Option<io::Error>,
}

impl<W: RecordingSink> RecordingWriter<W> {
    /// Writes the head.
    ///
    /// # Errors
    /// The sink's error, or [`io::ErrorKind::InvalidInput`] if the head cannot begin a recording.
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

    /// Hands the buffered records to the sink.
    pub fn flush(&mut self) {
        if !self.out.records.is_empty() {
            self.out.block(false);
        }
    }

    /// Polls and flushes on the calling thread until `stop` is true, then once more. A thread that sets `stop` and
    /// unparks the calling thread ends the call at once.
    pub fn run(&mut self, stop: &AtomicBool) {
        let mut flushed = Instant::now();
        loop {
            // Read first: the poll below then takes everything that was recorded before `stop` was set.
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

    /// Hands the buffered records to the sink, and returns what another thread needs to write the last block; `None`
    /// if the sink is no file.
    pub fn final_block(&mut self) -> Option<FinalBlock> {
        self.flush();
        let Out { sink, blocks, .. } = &self.out;
        let room = BLOCK_BYTES + FinalBlock::RECORDS * Record::SIZE;
        Some(FinalBlock { file: sink.file()?, blocks: blocks.clone(), block: Vec::with_capacity(room) })
    }

    /// Takes the remaining records, and marks the recording as closed. For a process that ends before
    /// [`RecordingWriter::finish`] can be called.
    pub fn close(&mut self) {
        self.poll();
        self.flush();
        self.out.block(true);
    }

    /// Takes the remaining records, closes the recording, and returns the sink.
    ///
    /// # Errors
    /// The first error that the sink has returned, in this call or before: the file is then incomplete.
    pub fn finish(mut self) -> io::Result<(W, Written)> {
        self.close();
        match self.out.error {
            Some(error) => Err(error),
            None => Ok((self.out.sink, self.out.written)),
        }
    }
}

/// The last block of a recording, for a thread that writes it if the [`RecordingWriter`] cannot. Use it only while the
/// `RecordingWriter` writes nothing.
#[derive(Debug)]
pub struct FinalBlock {
    file: File,
    blocks: Blocks,
    block: Vec<u8>,
}

impl FinalBlock {
    /// The number of records that it has room for.
    pub const RECORDS: usize = 8;

    /// Writes these records behind the recording, at most [`FinalBlock::RECORDS`]. Uses neither the heap nor a lock;
    /// waits for the disk.
    ///
    /// # Errors
    /// The error that prevents the write.
    pub fn write(mut self, records: &[Record]) -> io::Result<()> {
        let records = &records[..records.len().min(Self::RECORDS)];
        let place = self.blocks.block(records, false, 0, &mut self.block);
        let written = self.file.write_all_at(&self.block, place);
        // Dropping `self` would use the heap.
        std::mem::forget(self);
        written
    }
}

impl<W: RecordingSink> Out<W> {
    fn put(&mut self, record: Record) {
        self.records.push(record);
        if self.records.len() == BLOCK_RECORDS {
            self.block(false);
        }
    }

    fn block(&mut self, last: bool) {
        if !self.write(last, is_end) {
            // The record of the end needs little room, and readers judge the rest of the recording by it.
            self.records.retain(is_end);
            if !self.records.is_empty() {
                self.write(last, |_| false);
            }
        }
        self.records.clear();
    }

    /// Writes the block; returns whether it is written. If not, the records for which `again` holds do not count as
    /// lost yet, because the caller tries to write them again.
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
                // A half-written block takes room, and a reader would have to distinguish it from damage.
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
