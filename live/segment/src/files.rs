// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The memory files of a segment, and which client may write to which.
//!
//! A process that may write to a memory file can also punch holes into it. So the channels of different writers lie
//! in different files, and each client receives the files that it needs. The first file is the owner's: no other
//! process ever writes there.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;

use taut_sys::memory::{self, Mapping, Seals};
use taut_sys::socket::FD_LIMIT;

use crate::directory::{ChannelEntry, Directory, EVENT_COUNT_BYTES, RESERVATION_BYTES};
use crate::header::HEADER_BYTES;
use crate::{Error, PAGE_BYTES};

/// Bytes of a segment that lie in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// From the segment's start; a multiple of [`PAGE_BYTES`].
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    /// Whether the client that receives it may write there.
    pub(crate) writes: bool,
}

impl Extent {
    /// The first byte after it; `u64::MAX` if the sum overflows.
    pub(crate) fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes)
    }

    /// Whether a region lies in it.
    pub(crate) fn holds(&self, offset: u64, size: u64) -> bool {
        self.start <= offset && offset.checked_add(size).is_some_and(|end| end <= self.end())
    }
}

/// The clients that may write there, by position in the owner's list; and whether they alone map the file and nobody is
/// woken by it.
type Writers = (BTreeSet<usize>, bool);

/// A planned file.
#[derive(Debug)]
pub(crate) struct Sketch {
    start: u64,
    end: u64,
    writers: Writers,
    /// One of its channels; `None` for the owner's file.
    channel: Option<String>,
}

/// The files of a segment: the owner's first, the others in the order of their offsets.
pub(crate) fn sketch(clients: &[(String, Directory)]) -> Result<Vec<Sketch>, Error> {
    let mut channels: BTreeMap<&str, (&ChannelEntry, BTreeSet<usize>, BTreeSet<usize>)> = BTreeMap::new();
    for (client, (_, directory)) in clients.iter().enumerate() {
        for entry in directory.entries() {
            let (_, writers, readers) =
                channels.entry(&entry.channel).or_insert((entry, BTreeSet::new(), BTreeSet::new()));
            let parties = if entry.stores() { writers } else { readers };
            parties.insert(client);
        }
    }
    let owner = (BTreeSet::new(), false);
    let first = Sketch { start: 0, end: HEADER_BYTES as u64, writers: owner.clone(), channel: None };
    let mut files: BTreeMap<Writers, Sketch> = [(owner, first)].into();
    let mut add = |name: &str, writers: Writers, (offset, size): (u64, u64)| {
        let start = offset / PAGE_BYTES * PAGE_BYTES;
        let end = offset.saturating_add(size);
        let file = files.entry(writers.clone()).or_insert_with(|| Sketch {
            start,
            end,
            channel: Some(name.to_owned()),
            writers,
        });
        file.start = file.start.min(start);
        file.end = file.end.max(end);
    };
    for (name, (entry, writers, readers)) in channels {
        let alone = writers.len() == 1 && readers.is_empty() && !entry.triggered;
        add(name, (writers, alone), (entry.offset, entry.size));
    }
    for (client, (_, directory)) in clients.iter().enumerate() {
        for entry in directory.entries() {
            if let Some(offset) = entry.event_count {
                add(&entry.channel, ([client].into(), false), (offset, EVENT_COUNT_BYTES));
            }
            if let Some(offset) = entry.reservation {
                add(&entry.channel, ([client].into(), true), (offset, RESERVATION_BYTES));
            }
        }
    }
    let mut files: Vec<_> = files.into_values().collect();
    // The owner's file begins at 0; the loop below finds another one that does too.
    files.sort_by_key(|file| (file.start, file.channel.is_some()));
    for pair in files.windows(2) {
        if pair[1].start < pair[0].end.next_multiple_of(PAGE_BYTES) {
            let name = |file: &Sketch| file.channel.clone();
            let second = name(&pair[1]).unwrap_or_default();
            return Err(Error::SharedPage { first: name(&pair[0]), second });
        }
    }
    Ok(files)
}

/// A memory file of the owner.
#[derive(Debug)]
pub(crate) struct File {
    start: u64,
    map: Mapping,
    secret: bool,
    writers: BTreeSet<usize>,
    /// For the clients that may write; `None` for the owner's file.
    writable: Option<OwnedFd>,
    /// For the clients that may only read.
    read_only: Option<OwnedFd>,
}

/// What clients receive: the descriptors, and for each client its extents, each with the position of its descriptor.
#[derive(Debug)]
pub(crate) struct Handout {
    pub(crate) descriptors: Vec<OwnedFd>,
    pub(crate) extents: Vec<Vec<(Extent, usize)>>,
}

impl File {
    /// Makes a file: zeroed, populated, and locked if the process has the privilege.
    pub(crate) fn make(app: &str, sketch: Sketch, clients: &[(String, Directory)]) -> Result<Self, Error> {
        let Sketch { start, end, writers: (writers, alone), channel } = sketch;
        let bytes = end - start;
        let size =
            usize::try_from(bytes).map_err(|_| taut_sys::Error { call: "mmap", errno: taut_sys::ENOMEM })?;
        // Secret memory, where the machine has it. Mapping it fails beyond RLIMIT_MEMLOCK.
        if alone
            && let Ok(fd) = memory::secret_file(bytes)
            && let Ok(map) = memory::map_secret(fd.as_fd(), size)
        {
            return Ok(Self { start, map, secret: true, writers, writable: Some(fd), read_only: None });
        }
        let name = match &channel {
            Some(channel) => format!("taut-{app}-{channel}"),
            None => format!("taut-{app}"),
        };
        let name = CString::new(name).map_err(|_| Error::BadName { name: app.to_owned() })?;
        let fd = memory::memfd(&name, bytes, Seals::SHRINK.and(Seals::GROW))?;
        let mut map = memory::map_shared(fd.as_fd(), size, true)?;
        // Without the privilege the mapping stays unlocked, and reports so.
        let _ = map.lock();
        let within = |entry: &ChannelEntry| (start..end).contains(&entry.offset);
        let reads = |(_, directory): &(String, Directory)| {
            directory.entries().iter().any(|entry| !entry.stores() && within(entry))
        };
        let read_only = if channel.is_none() || clients.iter().any(reads) {
            let read_only = memory::reopen_read_only(fd.as_fd()).map_err(|error| match error.errno {
                taut_sys::ENOENT => Error::NoProc { error },
                _ => error.into(),
            })?;
            // Check once that clients with this descriptor can only read: it must not allow a mapping for writing.
            if memory::map_shared(read_only.as_fd(), size, true).is_ok() {
                return Err(Error::Inconsistent { what: "rights of the descriptor for readers" });
            }
            Some(read_only)
        } else {
            None
        };
        if channel.is_some() {
            memory::seal(fd.as_fd(), Seals::SEAL)?;
            return Ok(Self { start, map, secret: false, writers, writable: Some(fd), read_only });
        }
        // From here on only the owner's mapping writes. Before Linux 5.1 this seal does not exist; then only the
        // descriptor's rights keep other processes from writing.
        if memory::seal(fd.as_fd(), Seals::FUTURE_WRITE.and(Seals::SEAL)).is_err() {
            memory::seal(fd.as_fd(), Seals::SEAL)?;
        }
        Ok(Self { start, map, secret: false, writers, writable: None, read_only })
    }

    pub(crate) fn map(&self) -> &Mapping {
        &self.map
    }

    pub(crate) fn is_secret(&self) -> bool {
        self.secret
    }

    fn extent(&self, writes: bool) -> Extent {
        Extent { start: self.start, bytes: self.map.len() as u64, writes }
    }

    /// The bytes of a region, if it lies in this file.
    pub(crate) fn region(&self, offset: u64, size: u64) -> Option<NonNull<[u8]>> {
        region(&self.map, self.extent(false), offset, size)
    }
}

/// What each client receives: the owner's file, the files that it writes, and those that it reads. A client that
/// `lists` receives only the owner's file.
pub(crate) fn hand_out(
    files: &mut [File],
    clients: &[(String, Directory)],
    lists: &[bool],
) -> Result<Handout, Error> {
    let mut descriptors = Vec::new();
    let mut extents = vec![Vec::new(); clients.len()];
    for file in files {
        let mut position = |fd: Option<OwnedFd>| {
            fd.map(|fd| {
                descriptors.push(fd);
                descriptors.len() - 1
            })
        };
        let (writable, read_only) = (position(file.writable.take()), position(file.read_only.take()));
        for (client, (_, directory)) in clients.iter().enumerate() {
            let extent = file.extent(file.writers.contains(&client));
            let reads = |entry: &ChannelEntry| extent.holds(entry.offset, entry.size);
            let looks = file.start == 0 || (!lists[client] && directory.entries().iter().any(reads));
            let descriptor = if extent.writes { writable } else { read_only.filter(|_| looks) };
            extents[client].extend(descriptor.map(|descriptor| (extent, descriptor)));
        }
    }
    let handout = Handout { descriptors, extents };
    match handout.extents.iter().position(|extents| extents.len() > FD_LIMIT) {
        Some(client) => Err(Error::TooManyFiles { client: clients[client].0.clone(), limit: FD_LIMIT }),
        None => Ok(handout),
    }
}

/// Bytes of the segment, within the mapping of an extent; `None` for the header.
pub(crate) fn region(map: &Mapping, extent: Extent, offset: u64, size: u64) -> Option<NonNull<[u8]>> {
    if offset < HEADER_BYTES as u64 || !extent.holds(offset, size) {
        return None;
    }
    let (within, size) = (usize::try_from(offset - extent.start).ok()?, usize::try_from(size).ok()?);
    // The extent may claim more bytes than are mapped.
    if within.checked_add(size)? > map.len() {
        return None;
    }
    let start = NonNull::new(map.ptr().wrapping_add(within))?;
    Some(NonNull::slice_from_raw_parts(start, size))
}
