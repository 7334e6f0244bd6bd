// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The first 128 bytes of a segment.
//!
//! Only the owner may write here. It writes atomic words while clients read. A client copies the words once and
//! checks its copy.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

use taut_sys::memory::Mapping;

use crate::{Error, FORMAT};

/// Bytes of the header; the first region may start right behind it.
pub const HEADER_BYTES: usize = 128;

const MAGIC: [u8; 8] = *b"TAUTSEG\0";
const BYTE_ORDER: u32 = 0x0102_0304;
const CONSTANT_BYTES: usize = 64;
const STATE_OFFSET: usize = 64;
const SERVICES_OFFSET: usize = 72;

/// The services whose states the header can hold.
pub const SERVICES_MAX: u16 = (HEADER_BYTES - SERVICES_OFFSET) as u16;

/// The state of a service of the owner, whose tasks write channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceState {
    /// Its tasks run.
    Running,
    /// It is paused.
    Paused,
    /// It is stopped, or has not started.
    Stopped,
}

/// The owner's state, as the owner publishes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerState {
    /// The owner is still starting.
    Booting,
    /// Values flow.
    Running,
    /// The owner ended in an orderly way.
    Ended,
}

/// The fields that never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) total: u64,
    pub(crate) layout_hash: u64,
    pub(crate) epoch: u64,
    pub(crate) pid: u32,
    pub(crate) start_time: u64,
}

impl Header {
    pub(crate) fn to_bytes(self) -> [u8; CONSTANT_BYTES] {
        let mut bytes = [0; CONSTANT_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&BYTE_ORDER.to_ne_bytes());
        bytes[12..16].copy_from_slice(&FORMAT.to_ne_bytes());
        bytes[16..20].copy_from_slice(&(HEADER_BYTES as u32).to_ne_bytes());
        bytes[24..32].copy_from_slice(&self.total.to_ne_bytes());
        bytes[32..40].copy_from_slice(&self.layout_hash.to_ne_bytes());
        bytes[40..48].copy_from_slice(&self.epoch.to_ne_bytes());
        bytes[48..52].copy_from_slice(&self.pid.to_ne_bytes());
        bytes[56..64].copy_from_slice(&self.start_time.to_ne_bytes());
        bytes
    }

    /// Checks a copy of the header.
    pub(crate) fn from_bytes(bytes: &[u8; CONSTANT_BYTES]) -> Result<Self, Error> {
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| {
            let mut long = [0; 8];
            long.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(long)
        };
        if bytes[0..8] != MAGIC {
            return Err(Error::WrongMagic);
        }
        match word(8) {
            BYTE_ORDER => {}
            order if order == BYTE_ORDER.swap_bytes() => return Err(Error::WrongByteOrder),
            _ => return Err(Error::WrongMagic),
        }
        if word(12) != FORMAT {
            return Err(Error::WrongFormat { ours: FORMAT, theirs: word(12) });
        }
        if word(16) != HEADER_BYTES as u32 {
            return Err(Error::WrongHeaderSize { ours: HEADER_BYTES as u32, theirs: word(16) });
        }
        Ok(Self {
            total: long(24),
            layout_hash: long(32),
            epoch: long(40),
            pid: word(48),
            start_time: long(56),
        })
    }

    /// Writes the header to a segment; the mapping is writable and has at least [`HEADER_BYTES`].
    pub(crate) fn store(self, map: &Mapping) {
        for (index, word) in self.to_bytes().chunks_exact(8).enumerate() {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(word);
            self::word(map, index).store(u64::from_ne_bytes(bytes), Ordering::Relaxed);
        }
    }

    /// Copies the header from a segment, which has at least [`HEADER_BYTES`], and checks the copy.
    pub(crate) fn load(map: &Mapping) -> Result<Self, Error> {
        let mut bytes = [0; CONSTANT_BYTES];
        for (index, to) in bytes.chunks_exact_mut(8).enumerate() {
            to.copy_from_slice(&word(map, index).load(Ordering::Relaxed).to_ne_bytes());
        }
        Self::from_bytes(&bytes)
    }
}

fn word(map: &Mapping, index: usize) -> &AtomicU64 {
    assert!(index < CONSTANT_BYTES / 8 && map.len() >= HEADER_BYTES);
    // SAFETY:
    // - within the mapping, by the assertion, and aligned, as mappings start on a page;
    // - mapped for as long as the reference lives, as it borrows the mapping;
    // - every access of this program to these bytes goes through this function and is atomic; the accesses of other
    //   processes are outside this program, and any bits are a value.
    unsafe { AtomicU64::from_ptr(map.ptr().cast::<u64>().add(index)) }
}

/// The state word.
fn state_word(map: &Mapping) -> &AtomicU32 {
    assert!(map.len() >= HEADER_BYTES);
    // SAFETY: as for `word`; the offset is a multiple of 4 within the header and disjoint from its constant part.
    unsafe { AtomicU32::from_ptr(map.ptr().add(STATE_OFFSET).cast()) }
}

/// The byte of a service; `None` if the header has none.
fn service_byte(map: &Mapping, service: u16) -> Option<&AtomicU8> {
    assert!(map.len() >= HEADER_BYTES);
    // SAFETY: as for `word`; the offset is within the header, behind the state word.
    (service < SERVICES_MAX)
        .then(|| unsafe { AtomicU8::from_ptr(map.ptr().add(SERVICES_OFFSET + usize::from(service))) })
}

impl ServiceState {
    /// Publishes the state of a service; the mapping is writable. Without effect if the header has no place for it.
    pub(crate) fn store(self, map: &Mapping, service: u16) {
        let byte = match self {
            Self::Running => 0,
            Self::Paused => 1,
            Self::Stopped => 2,
        };
        // Relaxed: it tells nothing about other words.
        service_byte(map, service).into_iter().for_each(|place| place.store(byte, Ordering::Relaxed));
    }

    /// The state that the header holds; any other value means that it was damaged, and counts as running.
    pub(crate) fn load(map: &Mapping, service: u16) -> Self {
        match service_byte(map, service).map(|byte| byte.load(Ordering::Relaxed)) {
            Some(1) => Self::Paused,
            Some(2) => Self::Stopped,
            _ => Self::Running,
        }
    }
}

impl OwnerState {
    /// Publishes the state; the mapping is writable.
    pub(crate) fn store(self, map: &Mapping) {
        let word = match self {
            Self::Booting => 0,
            Self::Running => 1,
            Self::Ended => 2,
        };
        // Release: a client that reads `Running` sees what the owner wrote to the segment before.
        state_word(map).store(word, Ordering::Release);
    }

    /// The state that the word holds; any other value means that the word was damaged, and counts as running.
    pub(crate) fn load(map: &Mapping) -> Self {
        // A fence instead of an acquire load: for memory that is mapped for reading only, the language allows only
        // relaxed loads.
        let word = state_word(map).load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        match word {
            0 => Self::Booting,
            2 => Self::Ended,
            _ => Self::Running,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header { total: 4096, layout_hash: 7, epoch: 8, pid: 9, start_time: 10 };

    fn damaged(at: usize, bytes: &[u8]) -> Error {
        let mut header = HEADER.to_bytes();
        header[at..at + bytes.len()].copy_from_slice(bytes);
        Header::from_bytes(&header).unwrap_err()
    }

    #[test]
    fn bytes_are_as_documented() {
        let bytes = HEADER.to_bytes();
        assert_eq!(bytes[..8], *b"TAUTSEG\0");
        if cfg!(target_endian = "little") {
            assert_eq!(bytes[8..24], [4, 3, 2, 1, 3, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(bytes[24..40], [0, 16, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(bytes[40..56], [8, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
            assert_eq!(bytes[56..], [10, 0, 0, 0, 0, 0, 0, 0]);
        }
        assert_eq!(Header::from_bytes(&bytes), Ok(HEADER));
    }

    #[test]
    fn every_damage_has_its_error() {
        assert_eq!(damaged(0, b"ELF"), Error::WrongMagic);
        assert_eq!(damaged(8, &[9, 9, 9, 9]), Error::WrongMagic);
        assert_eq!(damaged(8, &BYTE_ORDER.swap_bytes().to_ne_bytes()), Error::WrongByteOrder);
        assert_eq!(damaged(12, &1u32.to_ne_bytes()), Error::WrongFormat { ours: 3, theirs: 1 });
        assert_eq!(damaged(16, &64u32.to_ne_bytes()), Error::WrongHeaderSize { ours: 128, theirs: 64 });
    }
}
