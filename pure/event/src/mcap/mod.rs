// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Files of the format MCAP, as far as recorded values need it: <https://mcap.dev/spec>.
//!
//! ```text
//! file     magic, header, metadata, schemas and topics, chunks each with their indexes, metadata, end of the data,
//!          summary: schemas, topics, statistics, indexes of chunks and of metadata, footer, magic
//! record   0 u8 what  1 u64 bytes of its content  9 the content
//! chunk    u64 first and last instant (ns), u64 bytes, u32 checksum of them, "" (not compressed), u64 bytes, messages
//! message  u16 topic, u32 sequence, u64 instant (ns), u64 instant (ns), the value
//! ```
//!
//! **Why this subset.** A value of fixed layout without padding is its own ROS 1 serialisation: numbers little-endian, arrays
//! of a fixed length one after the other. So a schema of the encoding `ros1msg` describes the bytes as they lie in the
//! channel, no value is encoded anew, and every tool that reads MCAP with ROS 1 messages reads the file. Chunks have
//! checksums, and an index that tools need for long files.
//!
//! **What is read.** [`McapFile::from_bytes`] reads what [`McapEncoder`] writes, and skips records of other kinds. A file
//! that does not end with its footer is cut; a chunk whose checksum differs is damaged. Neither is read in part.

mod decode;
mod encode;

use std::fmt;

pub use encode::McapEncoder;

const MAGIC: [u8; 8] = *b"\x89MCAP0\r\n";

/// Numbers of records.
mod what {
    pub(super) const HEADER: u8 = 1;
    pub(super) const FOOTER: u8 = 2;
    pub(super) const SCHEMA: u8 = 3;
    pub(super) const TOPIC: u8 = 4;
    pub(super) const MESSAGE: u8 = 5;
    pub(super) const CHUNK: u8 = 6;
    pub(super) const MESSAGE_INDEX: u8 = 7;
    pub(super) const CHUNK_INDEX: u8 = 8;
    pub(super) const STATISTICS: u8 = 11;
    pub(super) const METADATA: u8 = 12;
    pub(super) const METADATA_INDEX: u8 = 13;
    pub(super) const DATA_END: u8 = 15;
}

/// A name and its facts.
pub type McapMetadata = (String, Vec<(String, String)>);

/// A series of messages of one type; MCAP calls it a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name. Several topics of a file may have one name.
    pub name: String,
    /// The name of its schema: `taut/levels`.
    pub schema: String,
    /// The schema: the definition of a ROS 1 message.
    pub definition: String,
    /// Facts about it.
    pub facts: Vec<(String, String)>,
}

impl Topic {
    /// The value of a fact.
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.facts.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicMessage<'f> {
    /// Its topic: a position in [`McapFile::topics`].
    pub topic: usize,
    /// Its number, modulo 2³².
    pub sequence: u32,
    /// Its instant (ns).
    pub at_ns: u64,
    /// Its value.
    pub value: &'f [u8],
}

/// A file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McapFile<'f> {
    /// Facts about the file.
    pub metadata: Vec<McapMetadata>,
    /// Its topics.
    pub topics: Vec<Topic>,
    /// Its messages, in the order of the file.
    pub messages: Vec<TopicMessage<'f>>,
}

/// Why a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McapError {
    /// It does not begin as an MCAP file does.
    Foreign,
    /// It ends too soon: inside of what begins at this byte, a record or the magic at the end.
    Cut(u64),
    /// The record that begins at this byte is not what was written.
    Damaged(u64),
    /// The chunk that begins at this byte is compressed.
    Compressed(u64),
}

impl fmt::Display for McapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign => f.write_str("it is not an MCAP file"),
            Self::Cut(at) => write!(f, "it is cut at byte {at}"),
            Self::Damaged(at) => write!(f, "it is damaged at byte {at}"),
            Self::Compressed(at) => {
                write!(f, "it has a compressed chunk at byte {at}, so another program wrote it")
            }
        }
    }
}

impl std::error::Error for McapError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics() -> Vec<Topic> {
        let topic = |name: &str, definition: &str| Topic {
            name: name.to_owned(),
            schema: format!("taut/{name}"),
            definition: definition.to_owned(),
            facts: vec![("by".to_owned(), "control".to_owned())],
        };
        vec![topic("a", "uint8 value\n"), topic("b", "uint16[2] value\n")]
    }

    fn facts(text: &str) -> Vec<(String, String)> {
        vec![("key".to_owned(), text.to_owned())]
    }

    fn file() -> Vec<u8> {
        let (mut encoder, mut file) = McapEncoder::new("begin", &facts("first"), &topics());
        encoder.message(0, 1, 10, &[7]);
        encoder.message(1, 1, 11, &[1, 2, 3, 4]);
        file.extend(encoder.chunk());
        encoder.message(0, 2, 12, &[8]);
        file.extend(encoder.chunk());
        file.extend(encoder.finish("end", &facts("last")));
        file
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = file();
        let read = McapFile::from_bytes(&bytes).unwrap();
        assert_eq!(read.topics, topics());
        let metadata =
            [("begin", "first"), ("end", "last")].map(|(name, text)| (name.to_owned(), facts(text)));
        assert_eq!(read.metadata, metadata);
        let message = |topic, sequence, at_ns, value| TopicMessage { topic, sequence, at_ns, value };
        let expected: [TopicMessage<'_>; 3] =
            [message(0, 1, 10, &[7]), message(1, 1, 11, &[1, 2, 3, 4]), message(0, 2, 12, &[8])];
        assert_eq!(read.messages, expected);
    }

    /// Dropped messages leave no trace, and a chunk is never longer than was said.
    #[test]
    fn dropped_messages_are_in_no_chunk() {
        let (mut encoder, mut bytes) = McapEncoder::new("begin", &[], &topics());
        encoder.message(0, 1, 10, &[7]);
        encoder.discard();
        assert_eq!(encoder.chunk(), []);
        for at in 0..100 {
            encoder.message(at % 2, at as u32, 20, &[8][..at % 3 / 2]);
        }
        let most = encoder.chunk_bytes_max();
        let chunk = encoder.chunk();
        assert!(chunk.len() as u64 <= most, "{} {most}", chunk.len());
        bytes.extend(chunk);
        bytes.extend(encoder.finish("end", &[]));
        let read = McapFile::from_bytes(&bytes).unwrap();
        assert_eq!((read.messages.len(), read.messages[0].at_ns), (100, 20));
    }

    /// A file without its last bytes is cut, wherever that is; nothing of it is read.
    #[test]
    fn a_cut_file_is_refused() {
        let bytes = file();
        for end in 0..bytes.len() {
            let error = McapFile::from_bytes(&bytes[..end]).unwrap_err();
            let expected = if end < MAGIC.len() { McapError::Foreign } else { error };
            assert_eq!(error, expected, "{end}");
            assert!(matches!(error, McapError::Foreign | McapError::Cut(_)), "{end}: {error}");
        }
    }

    /// No flipped bit of a chunk's messages goes unnoticed, and no flipped bit anywhere panics.
    #[test]
    fn a_damaged_chunk_is_refused() {
        let bytes = file();
        let whole = McapFile::from_bytes(&bytes).unwrap();
        let values: Vec<usize> = [7u8, 1, 8]
            .iter()
            .zip([0, 1, 2])
            .map(|(first, at)| {
                let value = whole.messages[at].value;
                assert_eq!(value[0], *first);
                value.as_ptr() as usize - bytes.as_ptr() as usize
            })
            .collect();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let read = McapFile::from_bytes(&damaged);
                if values.contains(&at) {
                    assert!(matches!(read, Err(McapError::Damaged(_))), "byte {at}, bit {bit}");
                }
            }
        }
    }

    #[test]
    fn a_compressed_chunk_is_refused() {
        let mut bytes = MAGIC.to_vec();
        let mut content = [0u8; 28].to_vec();
        content.extend(4u32.to_le_bytes());
        content.extend(b"zstd");
        content.extend(0u64.to_le_bytes());
        bytes.push(what::CHUNK);
        bytes.extend((content.len() as u64).to_le_bytes());
        bytes.extend(content);
        assert_eq!(McapFile::from_bytes(&bytes), Err(McapError::Compressed(8)));
    }
}
