// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Writing: bytes of the file, piece by piece.

use super::{MAGIC, Topic, what};
use crate::checksum::mcap_checksum;

/// Bytes of a record before its content.
const HEAD: usize = 9;

/// Makes the bytes of a file: the caller writes each piece behind the one before.
#[derive(Clone, Debug)]
pub struct McapEncoder {
    /// Bytes of the file so far.
    place: u64,
    /// Schemas and topics, for the summary.
    topics: Vec<u8>,
    /// Indexes of metadata, for the summary.
    metadata: Vec<u8>,
    /// The messages of the next chunk, with the first and the last instant.
    messages: Vec<u8>,
    first_ns: u64,
    last_ns: u64,
    /// By topic: instant and place in the chunk of each message.
    index: Vec<Vec<(u64, u64)>>,
    /// By topic: messages so far.
    counts: Vec<u64>,
    /// Indexes of chunks, for the summary, and how many.
    chunks: Vec<u8>,
    chunk_count: u32,
    /// The first and last instant of the file.
    from_ns: u64,
    to_ns: u64,
    piece: Vec<u8>,
}

fn text(out: &mut Vec<u8>, text: &str) {
    block(out, text.as_bytes());
}

/// The number of some bytes, then the bytes. Nothing here is as long as 4 GiB; of more bytes the number is too
/// small, and a reader refuses the file.
fn block(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn facts(out: &mut Vec<u8>, facts: &[(String, String)]) {
    let mut pairs = Vec::new();
    for (key, value) in facts {
        text(&mut pairs, key);
        text(&mut pairs, value);
    }
    block(out, &pairs);
}

/// A record whose content `fill` makes.
fn record(out: &mut Vec<u8>, what: u8, fill: impl FnOnce(&mut Vec<u8>)) {
    let from = out.len();
    out.push(what);
    out.extend([0; HEAD - 1]);
    fill(out);
    let bytes = (out.len() - from - HEAD) as u64;
    out[from + 1..from + HEAD].copy_from_slice(&bytes.to_le_bytes());
}

/// Metadata, behind `before` bytes of the file, and its index.
fn metadata(out: &mut Vec<u8>, before: u64, name: &str, of: &[(String, String)]) -> Vec<u8> {
    let from = out.len();
    record(out, what::METADATA, |out| {
        text(out, name);
        facts(out, of);
    });
    let mut index = Vec::new();
    record(&mut index, what::METADATA_INDEX, |index| {
        index.extend((before + from as u64).to_le_bytes());
        index.extend(((out.len() - from) as u64).to_le_bytes());
        text(index, name);
    });
    index
}

/// The number of a topic in the file; its schema has the next number.
fn number(topic: usize) -> u16 {
    u16::try_from(topic).unwrap_or(u16::MAX - 1)
}

fn described(topics: &[Topic]) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, topic) in topics.iter().enumerate() {
        // A schema cannot have the number 0.
        let schema = number(at) + 1;
        record(&mut out, what::SCHEMA, |out| {
            out.extend(schema.to_le_bytes());
            text(out, &topic.schema);
            text(out, "ros1msg");
            text(out, &topic.definition);
        });
        record(&mut out, what::TOPIC, |out| {
            out.extend(number(at).to_le_bytes());
            out.extend(schema.to_le_bytes());
            text(out, &topic.name);
            text(out, "ros1");
            facts(out, &topic.facts);
        });
    }
    out
}

impl McapEncoder {
    /// A file with these topics, fewer than 2¹⁶, and its first bytes, with facts under `name`.
    pub fn new(name: &str, of: &[(String, String)], topics: &[Topic]) -> (Self, Vec<u8>) {
        let mut head = MAGIC.to_vec();
        record(&mut head, what::HEADER, |out| {
            text(out, "");
            text(out, "taut");
        });
        let metadata = metadata(&mut head, 0, name, of);
        let described = described(topics);
        head.extend_from_slice(&described);
        let encoder = Self {
            place: head.len() as u64,
            topics: described,
            metadata,
            messages: Vec::new(),
            first_ns: u64::MAX,
            last_ns: 0,
            index: vec![Vec::new(); topics.len()],
            counts: vec![0; topics.len()],
            chunks: Vec::new(),
            chunk_count: 0,
            from_ns: u64::MAX,
            to_ns: 0,
            piece: Vec::new(),
        };
        (encoder, head)
    }

    /// Puts a message into the next chunk. `topic` is one of the file's.
    pub fn message(&mut self, topic: usize, sequence: u32, at_ns: u64, value: &[u8]) {
        let place = self.messages.len() as u64;
        record(&mut self.messages, what::MESSAGE, |out| {
            out.extend(number(topic).to_le_bytes());
            out.extend(sequence.to_le_bytes());
            out.extend(at_ns.to_le_bytes());
            out.extend(at_ns.to_le_bytes());
            out.extend_from_slice(value);
        });
        (self.first_ns, self.last_ns) = (self.first_ns.min(at_ns), self.last_ns.max(at_ns));
        if let Some(index) = self.index.get_mut(topic) {
            index.push((at_ns, place));
        }
    }

    /// Bytes of the next chunk's messages so far.
    pub fn waiting(&self) -> usize {
        self.messages.len()
    }

    /// No fewer bytes than the next chunk has, with its indexes.
    pub fn chunk_bytes_max(&self) -> u64 {
        // A message takes 31 bytes and more, and 16 in an index.
        let (messages, topics) = (self.messages.len() as u64, self.index.len() as u64);
        messages.saturating_mul(2).saturating_add(topics * 32).saturating_add(128)
    }

    /// Drops the messages since the last chunk.
    pub fn discard(&mut self) {
        self.messages.clear();
        self.index.iter_mut().for_each(Vec::clear);
        (self.first_ns, self.last_ns) = (u64::MAX, 0);
    }

    /// The next bytes of the file: a chunk of all messages since the last one, and its indexes. Empty if there are none.
    pub fn chunk(&mut self) -> &[u8] {
        self.piece.clear();
        if self.messages.is_empty() {
            return &self.piece;
        }
        let Self { piece, messages, index, .. } = self;
        let (first_ns, last_ns, begin) = (self.first_ns, self.last_ns, self.place);
        record(piece, what::CHUNK, |out| {
            out.extend(first_ns.to_le_bytes());
            out.extend(last_ns.to_le_bytes());
            out.extend((messages.len() as u64).to_le_bytes());
            out.extend(mcap_checksum(messages).to_le_bytes());
            text(out, "");
            out.extend((messages.len() as u64).to_le_bytes());
            out.extend_from_slice(messages);
        });
        let length = piece.len() as u64;
        let mut offsets = Vec::new();
        for (topic, places) in index.iter_mut().enumerate().filter(|(_, places)| !places.is_empty()) {
            offsets.extend(number(topic).to_le_bytes());
            offsets.extend((begin + piece.len() as u64).to_le_bytes());
            record(piece, what::MESSAGE_INDEX, |out| {
                out.extend(number(topic).to_le_bytes());
                let pairs = places.iter().flat_map(|(at_ns, place)| [*at_ns, *place]);
                block(out, &pairs.flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
            });
            self.counts[topic] += places.len() as u64;
            places.clear();
        }
        let indexes = piece.len() as u64 - length;
        record(&mut self.chunks, what::CHUNK_INDEX, |out| {
            out.extend([first_ns, last_ns, begin, length].iter().flat_map(|word| word.to_le_bytes()));
            block(out, &offsets);
            out.extend(indexes.to_le_bytes());
            text(out, "");
            out.extend([(messages.len() as u64).to_le_bytes(); 2].concat());
        });
        self.chunk_count = self.chunk_count.saturating_add(1);
        self.place += piece.len() as u64;
        (self.from_ns, self.to_ns) = (self.from_ns.min(first_ns), self.to_ns.max(last_ns));
        (self.first_ns, self.last_ns) = (u64::MAX, 0);
        messages.clear();
        piece
    }

    /// The last bytes of the file, with facts under `name`. Messages that are in no chunk yet are lost.
    pub fn finish(self, name: &str, of: &[(String, String)]) -> Vec<u8> {
        let mut out = Vec::new();
        let end = metadata(&mut out, self.place, name, of);
        record(&mut out, what::DATA_END, |out| out.extend([0; 4]));
        let summary = self.place + out.len() as u64;
        out.extend_from_slice(&self.topics);
        record(&mut out, what::STATISTICS, |out| {
            let topics = u32::try_from(self.counts.len()).unwrap_or(u32::MAX);
            out.extend(self.counts.iter().sum::<u64>().to_le_bytes());
            out.extend(u16::try_from(topics).unwrap_or(u16::MAX).to_le_bytes());
            out.extend([topics, 0, 2, self.chunk_count].iter().flat_map(|count| count.to_le_bytes()));
            let from_ns = if self.chunk_count == 0 { 0 } else { self.from_ns };
            out.extend(from_ns.to_le_bytes());
            out.extend(self.to_ns.to_le_bytes());
            let counts = self.counts.iter().enumerate().flat_map(|(topic, count)| {
                number(topic).to_le_bytes().into_iter().chain(count.to_le_bytes())
            });
            block(out, &counts.collect::<Vec<u8>>());
        });
        out.extend_from_slice(&self.chunks);
        out.extend_from_slice(&self.metadata);
        out.extend_from_slice(&end);
        record(&mut out, what::FOOTER, |out| {
            out.extend(summary.to_le_bytes());
            out.extend([0; 8 + 4]);
        });
        out.extend(MAGIC);
        out
    }
}
