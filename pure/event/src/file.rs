// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The file of a recorded run: a head with the plan and the machine's facts, then blocks of records, each with a
//! checksum.
//!
//! ```text
//! head    0 "taut-run"  8 u32 format=2  12 u32 plan bytes  16 u32 machine bytes  20 u32 segments  24 u64 segment bytes
//!        32 u64 id of the run  40 u32 0  44 u32 checksum of the head without itself, texts included
//!        48 the plan as in taut.lock (UTF-8), then the machine's facts (UTF-8, `key = value` lines)
//! block   0 "blok"  4 u32 records  8 u64 its number  16 u64 number of the oldest block that is kept
//!        24 u64 records of the run before it  32 u64 the latest instant among these (ns)
//!        40 u64 release 0 (ns), 0 if it is not recorded yet
//!        48 u32 1 in the last block  52 u32 the system error that kept earlier records from being written, otherwise 0
//!        56 u32 0  60 u32 checksum of the block without itself, continued from that of the head
//!        64 its records, 32 bytes each
//! ```
//!
//! Without a limit there are no segments: blocks follow each other to the end of the file, and the last block is
//! marked as such. With a limit, segments follow the head, which states their size, and blocks follow each other
//! within a segment. A block that does not fit starts the next segment (after the last segment, the first) and
//! overwrites the oldest blocks. So the file keeps the newest records and never grows beyond its limit; anything after
//! a segment's newest block belongs to an earlier round.
//!
//! **What is read.** The reader takes the blocks whose numbers follow each other: the first ones of a run without a
//! limit, the newest ones of a run with one. Where that sequence ends before the last block, [`Run::damage`] reports
//! it, and the reader ignores everything after that place. A flipped bit, a cut, and a swapped or repeated block each
//! end the sequence. A block's checksum starts from that of the head, so a block of another recording does not fit
//! either.
//!
//! **What was dropped.** Records reach the file thread by thread, not by time. Every record that is later than the
//! latest record before a block is in that block or after it. So a run whose oldest blocks are gone is complete after
//! the latest instant before its first block ([`Run::since`]), and the reader leaves out all records up to that
//! instant.

use std::fmt;

use taut_time::Instant;

use crate::checksum::checksum;
use crate::{Ending, Kind, Record};

/// The first bytes of a recorded run.
pub const MAGIC: [u8; 8] = *b"taut-run";
/// The format's version.
pub const FORMAT: u32 = 2;
/// Bytes of a head without its texts.
pub const HEAD_BYTES: usize = 48;
/// Bytes of a block without its records.
pub const BLOCK_BYTES: usize = 64;
/// The most records of a block: 64 KiB with its head.
pub const BLOCK_RECORDS: usize = 2_046;
/// Segments of a run with a limit. The file keeps at least seven eighths of the limit.
pub const SEGMENTS: u32 = 8;

/// How the fact begins that names the errors of a task: the task's name follows, and the value is the names for the codes of
/// [`Kind::Failed`] from 1 on, with `, ` between them.
pub const ERRORS_OF: &str = "errors-of-";

const BLOCK_MAGIC: [u8; 4] = *b"blok";
const LAST: u32 = 1;

/// The head of a recorded run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head<'a> {
    /// The plan that runs, in the text of `taut.lock`.
    pub plan: &'a str,
    /// The machine's facts, and the names of the application's errors ([`ERRORS_OF`]): `key = value` lines.
    pub machine: &'a str,
    /// Distinguishes this run from others with the same plan on the same machine.
    pub id: u64,
    /// The size in bytes of a file that keeps only the newest records; `None` keeps all.
    pub limit: Option<u64>,
}

/// Why a recorded run cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// A text exceeds 4 GiB.
    Text,
    /// The limit has no room for the head and two blocks in each segment. Holds the smallest sufficient limit in
    /// bytes.
    Limit(u64),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("the plan or the machine's facts exceed 4 GiB"),
            Self::Limit(least) => {
                write!(f, "a recording of this plan needs at least {} KiB", least.div_ceil(1024))
            }
        }
    }
}

impl std::error::Error for WriteError {}

/// Encodes a recorded run block by block, and gives each block's place in the file.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    seed: u32,
    /// The offset of the first block in the file.
    front: u64,
    /// 0: no limit.
    segment_bytes: u64,
    segments: u64,
    /// By segment: the number of its first block.
    firsts: Vec<Option<u64>>,
    segment: u64,
    /// The offset of the next block in the file, if it fits in its segment.
    place: u64,
    number: u64,
    before: u64,
    since: u64,
    begin: u64,
}

/// The largest size of a block.
const BLOCK_MAX: u64 = (BLOCK_BYTES + BLOCK_RECORDS * Record::SIZE) as u64;

impl Blocks {
    /// Starts a run with this head. Also returns the bytes of the head.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn new(head: &Head<'_>) -> Result<(Self, Vec<u8>), WriteError> {
        let length = |text: &str| u32::try_from(text.len()).map_err(|_| WriteError::Text);
        let (plan, machine) = (length(head.plan)?, length(head.machine)?);
        let front = HEAD_BYTES as u64 + u64::from(plan) + u64::from(machine);
        let segments = if head.limit.is_some() { SEGMENTS } else { 0 };
        let segment_bytes = match head.limit {
            None => 0,
            Some(limit) => {
                let least = 2 * BLOCK_MAX;
                let bytes = limit.saturating_sub(front) / u64::from(SEGMENTS);
                if bytes < least {
                    return Err(WriteError::Limit(front + least * u64::from(SEGMENTS)));
                }
                bytes
            }
        };
        let mut bytes = Vec::with_capacity(HEAD_BYTES + head.plan.len() + head.machine.len());
        bytes.extend_from_slice(&MAGIC);
        for word in [FORMAT, plan, machine, segments] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&segment_bytes.to_le_bytes());
        bytes.extend_from_slice(&head.id.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(head.plan.as_bytes());
        bytes.extend_from_slice(head.machine.as_bytes());
        let seed = sum_but(0, &bytes, HEAD_BYTES - 4);
        bytes[HEAD_BYTES - 4..HEAD_BYTES].copy_from_slice(&seed.to_le_bytes());
        let firsts = vec![None; segments as usize];
        let segments = segments.into();
        Ok((Self { seed, front, segment_bytes, segments, firsts, place: front, ..Self::default() }, bytes))
    }

    /// Continues a recorded run after the last whole block that the reader accepted.
    pub fn behind(run: &Run) -> Self {
        run.next.clone()
    }

    /// Encodes the next block, of at most [`BLOCK_RECORDS`] records, into `block`, and returns its offset in the file.
    /// The block counts as written; a caller that cannot write it calls [`Blocks::take_back`].
    pub fn block(&mut self, records: &[Record], last: bool, os_error: u32, block: &mut Vec<u8>) -> u64 {
        let records = &records[..records.len().min(BLOCK_RECORDS)];
        let bytes = (BLOCK_BYTES + records.len() * Record::SIZE) as u64;
        let end_of = |segment: u64| self.front + (segment + 1) * self.segment_bytes;
        if self.segments > 0 && self.place + bytes > end_of(self.segment) {
            self.segment = (self.segment + 1) % self.segments;
            self.place = self.front + self.segment * self.segment_bytes;
        }
        if let Some(first) = self.firsts.get_mut(self.segment as usize)
            && self.place == self.front + self.segment * self.segment_bytes
        {
            *first = Some(self.number);
        }
        if let Some(begin) = records.iter().find(|record| record.kind == Kind::Begin) {
            self.begin = begin.at.as_ns();
        }
        let oldest = self.firsts.iter().flatten().min().copied().unwrap_or(0);
        block.clear();
        block.extend_from_slice(&BLOCK_MAGIC);
        block.extend_from_slice(&(records.len() as u32).to_le_bytes());
        for word in [self.number, oldest, self.before, self.since, self.begin] {
            block.extend_from_slice(&word.to_le_bytes());
        }
        for word in [if last { LAST } else { 0 }, os_error, 0, 0] {
            block.extend_from_slice(&word.to_le_bytes());
        }
        for record in records {
            block.extend_from_slice(&record.to_bytes());
        }
        let sum = sum_but(self.seed, block, BLOCK_BYTES - 4);
        block[BLOCK_BYTES - 4..BLOCK_BYTES].copy_from_slice(&sum.to_le_bytes());
        let place = self.place;
        self.place += bytes;
        self.number += 1;
        self.before += records.len() as u64;
        self.since = latest(self.since, records);
        place
    }

    /// Whether new blocks overwrite old ones.
    pub fn has_limit(&self) -> bool {
        self.segments > 0
    }

    /// Takes back the most recent block, at `place`, which the caller could not write: the next block gets its number
    /// and its place. The caller puts `again` of its records into the next block; the other records stay unwritten.
    pub fn take_back(&mut self, place: u64, again: usize) {
        self.number -= 1;
        self.place = place;
        self.before -= again as u64;
    }
}

/// The latest instant among the records and `since`.
fn latest(since: u64, records: &[Record]) -> u64 {
    records.iter().map(|record| record.at.as_ns()).fold(since, u64::max)
}

/// The checksum of bytes without the four at `gap`.
fn sum_but(before: u32, bytes: &[u8], gap: usize) -> u32 {
    let (front, back) = bytes.split_at(gap.min(bytes.len()));
    checksum(checksum(before, front), back.get(4..).unwrap_or_default())
}

/// A complete recording of these records as bytes: closed, without a limit.
///
/// # Errors
/// [`WriteError`].
pub fn recording(plan: &str, machine: &str, records: &[Record]) -> Result<Vec<u8>, WriteError> {
    let (mut blocks, mut bytes) = Blocks::new(&Head { plan, machine, id: 0, limit: None })?;
    let mut block = Vec::new();
    for records in records.chunks(BLOCK_RECORDS) {
        blocks.block(records, false, 0, &mut block);
        bytes.extend_from_slice(&block);
    }
    blocks.block(&[], true, 0, &mut block);
    bytes.extend_from_slice(&block);
    Ok(bytes)
}

/// A recorded run, read back.
#[derive(Clone, Debug)]
pub struct Run {
    /// The plan that ran, in the text of `taut.lock`.
    pub plan: String,
    /// The machine's facts, and the names of the application's errors ([`ERRORS_OF`]): `key = value` lines.
    pub machine: String,
    /// Distinguishes this run from others; the file of its recorded values has the same.
    pub id: u64,
    /// All records, in the order in which the recorder drained them: sorted per thread, not overall.
    pub records: Vec<Record>,
    /// Records of a kind that this version does not know.
    pub unknown: u64,
    /// Whether the recording has its last block.
    pub closed: bool,
    /// Where the file is damaged; the reader ignored everything after that place.
    pub damage: Option<Damage>,
    /// Records that newer ones replaced.
    pub dropped: u64,
    /// If records were dropped: `records` are complete after this instant.
    pub since: Option<Instant>,
    /// Release 0, if it is known.
    pub begin: Option<Instant>,
    /// Records that could not be written, for example because a disk was full.
    pub unwritten: u64,
    /// The system error that prevented writing; 0 if there was none.
    pub os_error: u32,
    next: Blocks,
}

/// Where a recording is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The first damaged byte of the file.
    pub at: u64,
    /// The number of bytes from there on, which the reader ignored.
    pub bytes: u64,
    /// Whether the file simply ends there, inside a block: the writer was ended, or the file was cut.
    pub cut: bool,
}

impl Run {
    /// A complete and closed run of these records, for a caller whose records do not come from a file.
    pub fn of(records: Vec<Record>) -> Self {
        let begin = records.iter().find(|record| record.kind == Kind::Begin).map(|record| record.at);
        Self {
            id: 0,
            plan: String::new(),
            machine: String::new(),
            records,
            unknown: 0,
            closed: true,
            damage: None,
            dropped: 0,
            since: None,
            begin,
            unwritten: 0,
            os_error: 0,
            next: Blocks::default(),
        }
    }

    /// How the run ended. A run's own end counts only if the recording is whole up to its last block.
    pub fn ending(&self) -> Ending {
        match Ending::of(&self.records) {
            ending if ending.is_own() && (!self.closed || self.damage.is_some()) => Ending::Unrecorded,
            ending => ending,
        }
    }

    /// The length in bytes of the file's whole part, if it has no limit.
    pub fn whole_bytes(&self) -> Option<u64> {
        (self.next.segments == 0).then_some(self.next.place)
    }
}

/// Why bytes are not a recorded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// They do not start with [`MAGIC`].
    NotARun,
    /// The format is not [`FORMAT`].
    Version(u32),
    /// They end inside the head.
    Truncated,
    /// The head fails its checksum, or a text in it is not UTF-8.
    Damaged,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARun => f.write_str(
                "not a recorded run of taut: give a `run.taut` that `taut run` wrote, or its folder",
            ),
            Self::Version(1) => write!(
                f,
                "recorded in format 1, which has no checksums, so that damage cannot be detected; this version reads \
                 format {FORMAT}: record it again, or read it with the version that wrote it"
            ),
            Self::Version(v) => write!(f, "recorded in format {v}; this version reads format {FORMAT}"),
            Self::Truncated => f.write_str("the file ends inside its head; record it again with `taut run`"),
            Self::Damaged => f.write_str("the head is damaged: its checksum does not match"),
        }
    }
}

impl std::error::Error for Malformed {}

/// The head and the records of a block whose checksum fits.
struct Block<'b> {
    number: u64,
    oldest: u64,
    before: u64,
    since: u64,
    begin: u64,
    last: bool,
    os_error: u32,
    records: &'b [u8],
}

impl<'b> Block<'b> {
    /// Reads the block at the front of `bytes`. If there is none, the error says whether the bytes end inside a
    /// block.
    fn read(seed: u32, bytes: &'b [u8]) -> Result<Self, bool> {
        if bytes.len() < BLOCK_BYTES {
            return Err(
                BLOCK_MAGIC.starts_with(&bytes[..bytes.len().min(4)]) || bytes.starts_with(&BLOCK_MAGIC)
            );
        }
        let count = word(bytes, 4) as usize;
        if !bytes.starts_with(&BLOCK_MAGIC) || count > BLOCK_RECORDS {
            return Err(false);
        }
        let whole = bytes.get(..BLOCK_BYTES + count * Record::SIZE).ok_or(true)?;
        if sum_but(seed, whole, BLOCK_BYTES - 4) != word(bytes, BLOCK_BYTES - 4) {
            return Err(false);
        }
        Ok(Self {
            number: long(bytes, 8),
            oldest: long(bytes, 16),
            before: long(bytes, 24),
            since: long(bytes, 32),
            begin: long(bytes, 40),
            last: word(bytes, 48) & LAST != 0,
            os_error: word(bytes, 52),
            records: &whole[BLOCK_BYTES..],
        })
    }

    fn bytes(&self) -> usize {
        BLOCK_BYTES + self.records.len()
    }

    /// Only an ending that another process adds may follow the last block.
    fn is_followed_by(&self, next: &Self) -> bool {
        self.number.checked_add(1) == Some(next.number) && (next.last || !self.last)
    }

    fn count(&self) -> u64 {
        (self.records.len() / Record::SIZE) as u64
    }
}

/// The number at an offset, which must lie inside of `bytes`.
fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

/// Consecutive blocks, and where they end.
struct Chain<'b> {
    blocks: Vec<Block<'b>>,
    /// The offset in the file after the last of these blocks.
    end: usize,
    /// Whether the bytes end there inside a block.
    cut: bool,
}

/// The consecutive blocks at the front of `bytes`, which are at offset `place` of the file.
fn chain(seed: u32, bytes: &[u8], place: usize) -> Chain<'_> {
    let mut found = Chain { blocks: Vec::new(), end: place, cut: false };
    loop {
        match Block::read(seed, &bytes[found.end - place..]) {
            Ok(block) if found.blocks.last().is_none_or(|last| last.is_followed_by(&block)) => {
                found.end += block.bytes();
                found.blocks.push(block);
            }
            Ok(_) => return found,
            Err(cut) => {
                found.cut = cut;
                return found;
            }
        }
    }
}

impl Run {
    /// Reads a recorded run as far as it is whole. Memory use is proportional to the length of `bytes`, whatever
    /// sizes the file claims.
    ///
    /// # Errors
    /// [`Malformed`] describes damage to the head. [`Run::damage`] describes damage after the head.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        if bytes.get(..8).is_none_or(|magic| magic != MAGIC) {
            return Err(Malformed::NotARun);
        }
        let format = bytes.get(..12).map(|bytes| word(bytes, 8)).ok_or(Malformed::Truncated)?;
        if format != FORMAT {
            return Err(Malformed::Version(format));
        }
        let fixed = bytes.get(..HEAD_BYTES).ok_or(Malformed::Truncated)?;
        let [plan_bytes, machine_bytes] = [12, 16].map(|at| word(fixed, at) as usize);
        let front = HEAD_BYTES.checked_add(plan_bytes).and_then(|end| end.checked_add(machine_bytes));
        let front = front.filter(|front| *front <= bytes.len()).ok_or(Malformed::Truncated)?;
        let seed = sum_but(0, &bytes[..front], HEAD_BYTES - 4);
        if seed != word(fixed, HEAD_BYTES - 4) {
            return Err(Malformed::Damaged);
        }
        let text = |from: usize, to: usize| {
            std::str::from_utf8(&bytes[from..to]).map(str::to_owned).map_err(|_| Malformed::Damaged)
        };
        let plan = text(HEAD_BYTES, HEAD_BYTES + plan_bytes)?;
        let machine = text(HEAD_BYTES + plan_bytes, front)?;
        let (segments, segment_bytes) = (word(fixed, 20), long(fixed, 24));
        let mut run = Self { plan, machine, id: long(fixed, 32), ..Self::of(Vec::new()) };
        if segments != 0 && segments != SEGMENTS {
            return Err(Malformed::Damaged);
        }
        let (segments, place) = (u64::from(segments), front as u64);
        run.next = Blocks { seed, front: place, segment_bytes, segments, place, ..Blocks::default() };
        let blocks = if segments == 0 { run.endless(bytes, front) } else { run.ring(bytes, front) };
        run.take(&blocks);
        Ok(run)
    }

    /// Takes over the contents of consecutive blocks.
    fn take(&mut self, blocks: &[Block<'_>]) {
        self.closed = blocks.last().is_some_and(|block| block.last);
        let Some(first) = blocks.first() else { return };
        self.since = (first.number > 0).then_some(Instant::from_ns(first.since));
        self.dropped = if self.since.is_some() { first.before } else { 0 };
        let mut expected = self.dropped;
        let count = blocks.iter().map(|block| block.count() as usize).sum();
        self.records.reserve_exact(count);
        for block in blocks {
            self.unwritten += block.before.saturating_sub(expected);
            expected = block.before.saturating_add(block.count());
            if block.os_error != 0 {
                self.os_error = block.os_error;
            }
            if block.begin != 0 {
                self.begin = Some(Instant::from_ns(block.begin));
            }
            for record in block.records.as_chunks::<{ Record::SIZE }>().0 {
                match Record::from_bytes(record) {
                    None => self.unknown += 1,
                    Some(record) if self.since.is_some_and(|since| record.at <= since) => self.dropped += 1,
                    Some(record) => self.records.push(record),
                }
            }
            self.next.number = block.number + 1;
            self.next.since = block.since;
            self.next.begin = block.begin;
        }
        self.next.before = expected;
        self.next.since = latest(self.next.since, &self.records);
    }

    /// The blocks of a run without a limit: consecutive from number 0 to the end of the file.
    fn endless<'b>(&mut self, bytes: &'b [u8], front: usize) -> Vec<Block<'b>> {
        let mut found = chain(self.next.seed, &bytes[front..], front);
        if found.blocks.first().is_some_and(|block| block.number != 0) {
            found = Chain { blocks: Vec::new(), end: front, cut: false };
        }
        self.next.place = found.end as u64;
        let left = (bytes.len() - found.end) as u64;
        self.damage = (left > 0).then_some(Damage { at: found.end as u64, bytes: left, cut: found.cut });
        found.blocks
    }

    /// The newest blocks of a run with a limit.
    fn ring<'b>(&mut self, bytes: &'b [u8], front: usize) -> Vec<Block<'b>> {
        let Blocks { seed, segments, segment_bytes, .. } = self.next;
        let bytes_of = |segment: u64| {
            let from = usize::try_from(segment.checked_mul(segment_bytes)?).ok()?.checked_add(front)?;
            let to =
                from.saturating_add(usize::try_from(segment_bytes).unwrap_or(usize::MAX)).min(bytes.len());
            bytes.get(from..to).filter(|bytes| !bytes.is_empty()).map(|bytes| (from, bytes))
        };
        let mut chains: Vec<(u64, Chain<'b>)> = Vec::new();
        for segment in 0..segments {
            let Some((from, bytes)) = bytes_of(segment) else { break };
            let found = chain(seed, bytes, from);
            if !found.blocks.is_empty() {
                chains.push((segment, found));
            }
        }
        chains.sort_by_key(|(_, chain)| chain.blocks.first().map(|block| block.number));
        let damaged = |at: usize| Damage { at: at as u64, bytes: (bytes.len() - at) as u64, cut: false };
        let newest = chains.last().and_then(|(_, chain)| chain.blocks.last());
        let Some(oldest) = newest.map(|block| block.oldest) else {
            self.damage = (bytes.len() > front).then(|| damaged(front));
            return Vec::new();
        };
        self.next.firsts = vec![None; chains.last().map_or(0, |_| usize::try_from(segments).unwrap_or(0))];
        let mut kept: Vec<Block<'b>> = Vec::new();
        let mut end = front;
        for (segment, found) in chains {
            let first = found.blocks.first().map(|block| block.number);
            if first != Some(kept.last().map_or(oldest, |last| last.number.saturating_add(1))) {
                // Blocks before this gap are dropped: a recording with a limit is for the newest records.
                self.damage = Some(damaged(end));
                kept.clear();
            }
            if let Some(of) = usize::try_from(segment).ok().and_then(|at| self.next.firsts.get_mut(at)) {
                *of = first;
            }
            (self.next.segment, self.next.place, end) = (segment, found.end as u64, found.end);
            kept.extend(found.blocks);
        }
        kept
    }
}
