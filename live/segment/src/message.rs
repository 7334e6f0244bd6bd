// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The messages between client and listener. Both sides read bytes of a process that they do not trust.

use taut_sys::socket::FD_LIMIT;

use crate::directory::{NAME_LIMIT, TEXT_LIMIT, is_name};
use crate::files::Extent;
use crate::{Error, PROTOCOL_VERSION};

pub(crate) const MAGIC: [u8; 8] = *b"TAUTDOOR";

const REQUEST_HEAD: usize = 12;
pub(crate) const REQUEST_LIMIT: usize = REQUEST_HEAD + NAME_LIMIT;
pub(crate) const REPLY_HEAD: usize = 48;
pub(crate) const PART_BYTES: usize = 24;

/// Why the listener refuses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Refusal {
    Malformed = 1,
    Version = 2,
    UnknownClient = 3,
    NameTaken = 4,
    NotPermitted = 5,
}

/// The part of a request that has arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request<'a> {
    /// The beginning of a request; more bytes must come.
    Partial,
    /// Not a request, whatever follows.
    Wrong(Refusal),
    /// The client's name.
    Whole(&'a str),
}

pub(crate) fn request(client: &str) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(PROTOCOL_VERSION.to_le_bytes());
    bytes.extend((client.len() as u16).to_le_bytes());
    bytes.extend(client.as_bytes());
    bytes
}

impl<'a> Request<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Self {
        let known = bytes.len().min(MAGIC.len());
        if bytes[..known] != MAGIC[..known] {
            return Self::Wrong(Refusal::Malformed);
        }
        // The version first: another version defines the bytes that follow it.
        let Some(version) = bytes.get(8..10) else { return Self::Partial };
        if version != PROTOCOL_VERSION.to_le_bytes() {
            return Self::Wrong(Refusal::Version);
        }
        let Some(&[low, high]) = bytes.get(10..12) else { return Self::Partial };
        let end = REQUEST_HEAD + usize::from(u16::from_le_bytes([low, high]));
        if end > REQUEST_LIMIT || bytes.len() > end {
            return Self::Wrong(Refusal::Malformed);
        }
        let Some(name) = bytes.get(REQUEST_HEAD..end) else { return Self::Partial };
        match std::str::from_utf8(name) {
            Ok(name) if is_name(name) => Self::Whole(name),
            _ => Self::Wrong(Refusal::Malformed),
        }
    }
}

/// The fixed part of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) version: u16,
    pub(crate) code: u16,
    pub(crate) text_len: usize,
    pub(crate) layout_hash: u64,
    pub(crate) epoch: u64,
    pub(crate) total: u64,
    /// How many files follow.
    pub(crate) extents: usize,
}

pub(crate) fn granted(
    directory: &str,
    extents: impl ExactSizeIterator<Item = Extent>,
    [layout_hash, epoch, total]: [u64; 3],
) -> Vec<u8> {
    reply(0, directory, extents, [layout_hash, epoch, total])
}

pub(crate) fn refused(refusal: Refusal, text: &str) -> Vec<u8> {
    reply(refusal as u16, text, std::iter::empty(), [0; 3])
}

fn reply(
    code: u16,
    text: &str,
    extents: impl ExactSizeIterator<Item = Extent>,
    numbers: [u64; 3],
) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(PROTOCOL_VERSION.to_le_bytes());
    bytes.extend(code.to_le_bytes());
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
    bytes.extend((extents.len() as u16).to_le_bytes());
    bytes.resize(REPLY_HEAD, 0);
    for Extent { start, bytes: count, writes } in extents {
        bytes.extend([start, count, u64::from(writes)].into_iter().flat_map(u64::to_le_bytes));
    }
    bytes.extend(text.as_bytes());
    bytes
}

impl Reply {
    /// From the first [`REPLY_HEAD`] bytes.
    pub(crate) fn read(head: &[u8; REPLY_HEAD]) -> Result<Self, Error> {
        if head[..8] != MAGIC {
            return Err(Error::NotAnApplication {
                problem: "its answer does not begin as an answer of an application",
            });
        }
        let long = |at: usize| long(head, at);
        let text_len = u32::from_le_bytes([head[12], head[13], head[14], head[15]]) as usize;
        if text_len > TEXT_LIMIT {
            return Err(Error::NotAnApplication { problem: "its answer is longer than the limit" });
        }
        let extents = usize::from(u16::from_le_bytes([head[40], head[41]]));
        if extents > FD_LIMIT {
            return Err(Error::NotAnApplication { problem: "its answer has more files than the limit" });
        }
        Ok(Self {
            version: u16::from_le_bytes([head[8], head[9]]),
            code: u16::from_le_bytes([head[10], head[11]]),
            text_len,
            layout_hash: long(16),
            epoch: long(24),
            total: long(32),
            extents,
        })
    }
}

/// The files, from the bytes behind the head; the length of `bytes` is a multiple of [`PART_BYTES`].
pub(crate) fn extents(bytes: &[u8]) -> Vec<Extent> {
    let extent = |bytes: &[u8]| Extent {
        start: long(bytes, 0),
        bytes: long(bytes, 8),
        // Any other value than 1 gives no right to write.
        writes: long(bytes, 16) == 1,
    };
    bytes.chunks_exact(PART_BYTES).map(extent).collect()
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let mut long = [0; 8];
    long.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests() {
        let bytes = request("ui");
        assert_eq!(bytes, b"TAUTDOOR\x05\x00\x02\x00ui");
        for end in 0..bytes.len() {
            assert_eq!(Request::read(&bytes[..end]), Request::Partial);
        }
        assert_eq!(Request::read(&bytes), Request::Whole("ui"));
        let malformed = Request::Wrong(Refusal::Malformed);
        assert_eq!(Request::read(b"TAUTDOOR\x05\x00\x02\x00ui!"), malformed);
        assert_eq!(Request::read(b"TAUTDOOR\x05\x00\x41\x00"), malformed);
        assert_eq!(Request::read(b"TAUTDOOR\x05\x00\x00\x00"), malformed);
        assert_eq!(Request::read(b"TAUTDOOR\x05\x00\x02\x00\xff\xff"), malformed);
        assert_eq!(Request::read(b"TAUTDOOR\x05\x00\x02\x00/u"), malformed);
        assert_eq!(Request::read(b"G"), malformed);
        assert_eq!(Request::read(b"TAUTDOOR\x04\x00"), Request::Wrong(Refusal::Version));
        let longest = "x".repeat(NAME_LIMIT);
        assert_eq!(Request::read(&request(&longest)), Request::Whole(&longest));
    }

    #[test]
    fn replies() {
        let files = [
            Extent { start: 0, bytes: 4000, writes: false },
            Extent { start: 8192, bytes: u64::MAX, writes: true },
        ];
        let bytes = granted("x\n", files.into_iter(), [1, 2, 3]);
        let head: &[u8; REPLY_HEAD] = bytes.first_chunk().unwrap();
        let reply =
            Reply { version: 5, code: 0, text_len: 2, layout_hash: 1, epoch: 2, total: 3, extents: 2 };
        assert_eq!(Reply::read(head), Ok(reply));
        let text = REPLY_HEAD + 2 * PART_BYTES;
        assert_eq!(extents(&bytes[REPLY_HEAD..text]), files);
        assert_eq!(bytes[text..], *b"x\n");
        assert!(!files[1].holds(16384, u64::MAX), "no sum overflows");
        // The largest count that is accepted, and one more.
        let with_text = |count: usize| {
            let mut head = *head;
            head[12..16].copy_from_slice(&(count as u32).to_le_bytes());
            Reply::read(&head).map(|reply| reply.text_len).ok()
        };
        assert_eq!([with_text(65536), with_text(65537), with_text(0xffff_ffff)], [Some(65536), None, None]);
        let with_files = |count: u8| {
            let mut head = *head;
            head[40] = count;
            Reply::read(&head).map(|reply| reply.extents).ok()
        };
        assert_eq!([with_files(32), with_files(33)], [Some(32), None]);
        assert!(Reply::read(&[0; REPLY_HEAD]).is_err());
    }

    proptest! {
        #[test]
        #[cfg_attr(miri, ignore = "minutes: hundreds of drawn texts; nothing in it is unsafe")]
        fn any_bytes_are_survived(tail in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut bytes = MAGIC.to_vec();
            bytes.extend(PROTOCOL_VERSION.to_le_bytes());
            bytes.extend(tail);
            if let Request::Whole(name) = Request::read(&bytes) {
                prop_assert_eq!(request(name), bytes);
            }
        }
    }
}
