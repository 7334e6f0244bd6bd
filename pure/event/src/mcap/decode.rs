// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reading.

use super::{MAGIC, McapError, McapFile, Topic, TopicMessage, what};
use crate::checksum::mcap_checksum;

/// The bytes of a record's content that are left.
struct Content<'f>(&'f [u8]);

impl<'f> Content<'f> {
    fn take(&mut self, bytes: usize) -> Option<&'f [u8]> {
        let (taken, left) = self.0.split_at_checked(bytes)?;
        self.0 = left;
        Some(taken)
    }

    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.number().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.number().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.number().map(u64::from_le_bytes)
    }

    fn block(&mut self) -> Option<&'f [u8]> {
        let bytes = self.u32()?;
        self.take(usize::try_from(bytes).ok()?)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.block()?.to_vec()).ok()
    }

    fn facts(&mut self) -> Option<Vec<(String, String)>> {
        let mut pairs = Self(self.block()?);
        let mut facts = Vec::new();
        while !pairs.0.is_empty() {
            facts.push((pairs.text()?, pairs.text()?));
        }
        Some(facts)
    }

    /// The next record: what it is, and its content.
    fn record(&mut self) -> Option<(u8, Content<'f>)> {
        let [what] = self.number()?;
        let bytes = usize::try_from(self.u64()?).ok()?;
        Some((what, Content(self.take(bytes)?)))
    }
}

/// A schema: its number, name and definition.
type Schema = (u16, String, String);

/// What has been read of a file.
#[derive(Default)]
struct Reading<'f> {
    file: McapFile<'f>,
    schemas: Vec<Schema>,
    /// The numbers of topics, by position.
    numbers: Vec<u16>,
}

impl<'f> McapFile<'f> {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// [`McapError`]: nothing is read then.
    pub fn from_bytes(bytes: &'f [u8]) -> Result<Self, McapError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(McapError::Foreign)?;
        let (mut left, mut reading) = (Content(rest), Reading::default());
        // The summary behind the data repeats what was read.
        let mut is_data = true;
        loop {
            let at = (bytes.len() - left.0.len()) as u64;
            let (what, content) = left.record().ok_or(McapError::Cut(at))?;
            if is_data {
                reading.record(at, what, content)?;
            }
            is_data &= what != what::DATA_END;
            if what == what::FOOTER {
                let end = (bytes.len() - left.0.len()) as u64;
                return match left.0 {
                    _ if is_data => Err(McapError::Damaged(at)),
                    rest if rest == MAGIC => Ok(reading.file),
                    rest if MAGIC.starts_with(rest) => Err(McapError::Cut(end)),
                    _ => Err(McapError::Damaged(end)),
                };
            }
        }
    }
}

impl<'f> Reading<'f> {
    /// Reads the record that begins at byte `at`.
    fn record(&mut self, at: u64, what: u8, content: Content<'f>) -> Result<(), McapError> {
        let read = match what {
            what::SCHEMA => self.schema(content),
            what::TOPIC => self.topic(content),
            what::METADATA => self.metadata(content),
            what::CHUNK => return self.chunk(at, content),
            // A message outside of a chunk has no checksum.
            what::MESSAGE => None,
            _ => Some(()),
        };
        read.ok_or(McapError::Damaged(at))
    }

    fn schema(&mut self, mut content: Content<'f>) -> Option<()> {
        let (number, name) = (content.u16()?, content.text()?);
        let _encoding = content.text()?;
        self.schemas.push((number, name, content.text()?));
        Some(())
    }

    fn topic(&mut self, mut content: Content<'f>) -> Option<()> {
        let (number, of, name) = (content.u16()?, content.u16()?, content.text()?);
        let _encoding = content.text()?;
        let facts = content.facts()?;
        let (_, schema, definition) = self.schemas.iter().find(|(known, ..)| *known == of)?.clone();
        if self.numbers.contains(&number) {
            return None;
        }
        self.numbers.push(number);
        self.file.topics.push(Topic { name, schema, definition, facts });
        Some(())
    }

    fn metadata(&mut self, mut content: Content<'f>) -> Option<()> {
        self.file.metadata.push((content.text()?, content.facts()?));
        Some(())
    }

    fn chunk(&mut self, at: u64, mut content: Content<'f>) -> Result<(), McapError> {
        let damaged = McapError::Damaged(at);
        let mut head = || {
            let _instants = content.take(16)?;
            Some((content.u64()?, content.u32()?, content.text()?, content.u64()?))
        };
        let (bytes, checksum, compression, stored) = head().ok_or(damaged)?;
        if !compression.is_empty() {
            return Err(McapError::Compressed(at));
        }
        let messages = content.0;
        let is_whole =
            bytes == stored && messages.len() as u64 == bytes && mcap_checksum(messages) == checksum;
        if !is_whole {
            return Err(damaged);
        }
        let mut messages = Content(messages);
        while !messages.0.is_empty() {
            let (what, content) = messages.record().ok_or(damaged)?;
            if what == what::MESSAGE {
                let message = self.message(content).ok_or(damaged)?;
                self.file.messages.push(message);
            }
        }
        Ok(())
    }

    fn message(&self, mut content: Content<'f>) -> Option<TopicMessage<'f>> {
        let (number, sequence, at_ns) = (content.u16()?, content.u32()?, content.u64()?);
        let _published_ns = content.u64()?;
        let topic = self.numbers.iter().position(|known| *known == number)?;
        Some(TopicMessage { topic, sequence, at_ns, value: content.0 })
    }
}
