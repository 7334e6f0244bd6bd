// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use taut_sys::memory::{self, Mapping, Seals};
use taut_sys::process;
use taut_sys::socket::{self, Peer, Poll};

use crate::directory::{ChannelEntry, Directory, EVENT_COUNT_BYTES, RESERVATION_BYTES, Role, is_name};
use crate::files::{Extent, region};
use crate::folder::Folder;
use crate::header::{HEADER_BYTES, Header, ServiceState};
use crate::message::{self, PART_BYTES, REPLY_HEAD, Refusal, Reply};
use crate::offer::{LISTING, OfferedClients};
use crate::{Error, FolderProblem, OwnerState, PAGE_BYTES, PROTOCOL_VERSION, folder};

/// The problem if a listener hands out other files than its reply says.
const FILES_DIFFER: &str = "it hands out other files than its answer describes";

/// The problem if the process that listens is not the folder's owner's.
const OTHER_USER: &str = "its user is not the owner of the folder";

/// How long an attach may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the owner is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It is alive.
    Alive,
    /// It ended in an orderly way.
    Ended,
    /// It died.
    Died,
}

/// An attached client. The memory stays mapped while this value lives, even after the owner's end. Dropping it frees
/// the client's name, except in a child of `fork`: there the name belongs to the parent.
#[derive(Debug)]
pub struct Attached {
    connection: OwnedFd,
    /// The process that attached.
    process: u32,
    /// The first one holds the header.
    maps: Vec<(Extent, Mapping)>,
    directory: Directory,
    header: Header,
    owner: Peer,
}

/// Attaches to an application in the default folder, under a client name from its manifest. Waits for at most two
/// seconds.
///
/// # Errors
/// One [`Error`] for each way in which the owner departs from the crate's documentation. Nothing is mapped before
/// file, seals and size are right.
pub fn attach(app: &str, client: &str) -> Result<Attached, Error> {
    Attached::attach(Folder::Default, app, client)
}

/// As [`attach`], in another folder, which may belong to another user.
///
/// # Errors
/// As [`attach`].
pub fn attach_in(folder: &Path, app: &str, client: &str) -> Result<Attached, Error> {
    Attached::attach(Folder::Given(folder), app, client)
}

/// Connects to an application's listener, and lets `converse` ask it for `client`, until the deadline that this sets.
pub(crate) fn attach_to<T>(
    path: &Path,
    own: bool,
    app: &str,
    client: &str,
    converse: impl Fn(OwnedFd, Peer, Instant) -> Result<T, Error>,
) -> Result<T, Error> {
    let deadline = Instant::now() + PATIENCE;
    let socket = folder::socket(path, app)?;
    if !is_name(client) {
        return Err(Error::BadName { name: client.to_owned() });
    }
    let not_running = || Error::NotRunning { app: app.to_owned(), socket: socket.clone() };
    let stale = || Error::Stale { app: app.to_owned(), socket: socket.clone() };
    let user = match folder::check(path, own.then(process::effective_uid)) {
        Ok(user) => user,
        Err(Error::Folder { problem: FolderProblem::System(error), .. }) if is_missing(error) => {
            return Err(not_running());
        }
        Err(error) => return Err(error),
    };
    loop {
        let attempt = match socket::connect(&socket, deadline.saturating_duration_since(Instant::now())) {
            Ok(connection) => {
                let owner = socket::peer(connection.as_fd())?;
                if owner.uid != user {
                    return Err(Error::NotAnApplication { problem: OTHER_USER });
                }
                // A child that the owner had forked may still hold the socket; it answers no client.
                if process::is_gone(owner.pid) {
                    return Err(stale());
                }
                converse(connection, owner, deadline)
            }
            // The owner's backlog was full until the deadline.
            Err(error) if error.would_block() => Err(Error::TurnedAway { app: app.to_owned() }),
            Err(error) if is_missing(error) => Err(not_running()),
            Err(error) if error.is_privilege() => {
                let socket = socket.display();
                let reason = format!(
                    "its socket, {socket}, is closed to this user, and its manifest grants no group of this user"
                );
                Err(Error::NotPermitted { app: app.to_owned(), reason })
            }
            Err(error) if error.errno == taut_sys::ECONNREFUSED => match folder::is_socket(&socket) {
                Some(false) => Err(Error::NotASocket { socket: socket.clone() }),
                _ => Err(stale()),
            },
            Err(error) => Err(Error::Socket { socket: socket.clone(), error }),
        };
        match attempt {
            // The backlog is full, or the owner just ended: the next attempt finds out.
            Err(Error::TurnedAway { .. }) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// Asks the running application `app` what it offers. Waits for at most two seconds, as [`attach`](crate::attach).
///
/// # Errors
/// As [`attach`](crate::attach), but for those about the client's name.
pub fn offered(app: &str) -> Result<OfferedClients, Error> {
    offered_at(Folder::Default, app)
}

/// As [`offered`], in another folder.
///
/// # Errors
/// As [`offered`].
pub fn offered_in(folder: &Path, app: &str) -> Result<OfferedClients, Error> {
    offered_at(Folder::Given(folder), app)
}

fn offered_at(folder: Folder<'_>, app: &str) -> Result<OfferedClients, Error> {
    let (path, own) = folder.resolve();
    attach_to(&path, own, app, LISTING, |connection, _, deadline| {
        let (_, _, text) = exchange(connection.as_fd(), app, LISTING, deadline)?;
        OfferedClients::from_text(&text)
            .map_err(|error| Error::Directory { client: LISTING.to_owned(), error })
    })
}

fn is_missing(error: taut_sys::Error) -> bool {
    error.errno == taut_sys::ENOENT
}

/// What the listener answers: the reply, its files with what of each is mapped, and its text.
type Answered = (Reply, Vec<(Extent, OwnedFd)>, String);

/// Sends the request, and checks the answer's head.
pub(crate) fn exchange(
    connection: BorrowedFd<'_>,
    app: &str,
    client: &str,
    deadline: Instant,
) -> Result<Answered, Error> {
    let mut answer = Answer { connection, app, deadline, files: Vec::new() };
    // A fresh socket takes all of these few bytes at once. If the listener has closed already, it may have sent the
    // reason.
    let _ = socket::send(connection, &message::request(client), &[]);
    let mut head = [0; REPLY_HEAD];
    answer.read(&mut head)?;
    let reply = Reply::read(&head)?;
    let mut extents = vec![0; reply.extents * PART_BYTES];
    answer.read(&mut extents)?;
    let extents = message::extents(&extents);
    let mut text = vec![0; reply.text_len];
    answer.read(&mut text)?;
    let files = answer.files;
    if reply.version != PROTOCOL_VERSION || reply.code == Refusal::Version as u16 {
        return Err(Error::WrongProtocolVersion { ours: PROTOCOL_VERSION, theirs: reply.version });
    }
    if reply.code != 0 {
        return Err(refusal(reply.code, app, client, &text));
    }
    if files.len() != extents.len() {
        return Err(Error::NotAnApplication { problem: FILES_DIFFER });
    }
    let text =
        String::from_utf8(text).map_err(|_| Error::NotAnApplication { problem: "its text is not UTF-8" })?;
    Ok((reply, extents.into_iter().zip(files).collect(), text))
}

/// Why an application refuses a request.
fn refusal(code: u16, app: &str, client: &str, text: &[u8]) -> Error {
    // The reason is for a person to read, and comes from a process that is not trusted.
    let reason = || String::from_utf8_lossy(text).chars().filter(|c| !c.is_control()).collect();
    let refusals = [
        (Refusal::UnknownClient, Error::UnknownClient { client: client.to_owned(), reason: reason() }),
        (Refusal::NameTaken, Error::NameTaken { client: client.to_owned(), reason: reason() }),
        (Refusal::NotPermitted, Error::NotPermitted { app: app.to_owned(), reason: reason() }),
        (
            Refusal::Malformed,
            Error::NotAnApplication { problem: "it does not understand the request of this client" },
        ),
    ];
    let refusal = refusals.into_iter().find(|(known, _)| *known as u16 == code);
    let unknown = Error::NotAnApplication { problem: "it refuses with an unknown code" };
    refusal.map_or(unknown, |(_, error)| error)
}

/// Attaches over a connection.
fn converse(
    connection: OwnedFd,
    owner: Peer,
    app: &str,
    client: &str,
    deadline: Instant,
) -> Result<Attached, Error> {
    let (reply, files, text) = exchange(connection.as_fd(), app, client, deadline)?;
    if files.is_empty() {
        return Err(Error::NotAnApplication { problem: FILES_DIFFER });
    }
    let directory =
        Directory::from_text(&text).map_err(|error| Error::Directory { client: client.to_owned(), error })?;
    let (maps, header) = open(files, reply, &directory, client)?;
    Ok(Attached { connection, process: process::pid(), maps, directory, header, owner })
}

struct Answer<'a> {
    connection: BorrowedFd<'a>,
    app: &'a str,
    deadline: Instant,
    files: Vec<OwnedFd>,
}

impl Answer<'_> {
    /// Fills the buffer.
    fn read(&mut self, mut buffer: &mut [u8]) -> Result<(), Error> {
        while !buffer.is_empty() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::NoAnswer { app: self.app.to_owned() });
            }
            socket::poll(&mut [Poll::readable(self.connection)], Some(left))?;
            match socket::receive(self.connection, buffer) {
                Ok(received) if received.bytes == 0 => {
                    return Err(Error::TurnedAway { app: self.app.to_owned() });
                }
                Ok(received) => {
                    self.files.extend(received.fds);
                    if received.truncated || self.files.len() > socket::FD_LIMIT {
                        return Err(Error::NotAnApplication { problem: FILES_DIFFER });
                    }
                    buffer = &mut buffer[received.bytes..];
                }
                Err(error) if error.would_block() => {}
                Err(error) if error.errno == taut_sys::ECONNRESET => {
                    return Err(Error::TurnedAway { app: self.app.to_owned() });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Maps the files, if they match the reply.
fn open(
    files: Vec<(Extent, OwnedFd)>,
    reply: Reply,
    directory: &Directory,
    client: &str,
) -> Result<(Vec<(Extent, Mapping)>, Header), Error> {
    if !directory.fits(reply.total) {
        return Err(Error::OutOfBounds { client: client.to_owned(), size: reply.total });
    }
    // The files must be in order and must not overlap; the first begins at 0 and holds the header.
    let mut end = 0;
    for (index, (extent, _)) in files.iter().enumerate() {
        let starts = if index == 0 { extent.start == 0 } else { extent.start > 0 };
        if !starts
            || extent.start < end
            || !extent.start.is_multiple_of(PAGE_BYTES)
            || extent.end() > reply.total
        {
            return Err(Error::NotAnApplication { problem: FILES_DIFFER });
        }
        end = extent.end();
    }
    // Check that the client may write its channels: otherwise a write would fault later.
    let writable = |offset, size| files.iter().any(|(extent, _)| extent.writes && extent.holds(offset, size));
    let stores = |entry: &ChannelEntry| {
        let waits = entry.event_count.is_none_or(|offset| writable(offset, EVENT_COUNT_BYTES));
        let reserves = entry.reservation.is_none_or(|offset| writable(offset, RESERVATION_BYTES));
        waits && reserves && (!entry.stores() || writable(entry.offset, entry.size))
    };
    if !directory.entries().iter().all(stores) {
        return Err(Error::Inconsistent { what: "channels that this client writes" });
    }
    let mut maps = Vec::with_capacity(files.len());
    for (extent, file) in files {
        let least = if maps.is_empty() { HEADER_BYTES as u64 } else { 1 };
        maps.push((extent, map(extent, &file, least)?));
    }
    let header = Header::load(&maps[0].1)?;
    let same = [
        (header.total == reply.total, "size"),
        (header.layout_hash == reply.layout_hash, "layout"),
        (header.epoch == reply.epoch, "epoch"),
    ];
    match same.into_iter().find(|(same, _)| !same) {
        Some((_, what)) => Err(Error::Inconsistent { what }),
        None => Ok((maps, header)),
    }
}

fn map(extent: Extent, file: &OwnedFd, least: u64) -> Result<Mapping, Error> {
    let secret = memory::is_secret(file.as_fd()).unwrap_or(false);
    // The size must be sealed before the client relies on it.
    let sealed =
        || memory::seals(file.as_fd()).is_ok_and(|seals| seals.contains(Seals::SHRINK.and(Seals::GROW)));
    if !secret && !sealed() {
        return Err(Error::NotSealed);
    }
    let actual = memory::file_size(file.as_fd())?;
    let expected = extent.bytes.max(least);
    if actual < expected {
        return Err(Error::Truncated { expected, actual });
    }
    if actual > expected {
        return Err(Error::SizeDiffers { expected, actual });
    }
    let size =
        usize::try_from(actual).map_err(|_| taut_sys::Error { call: "mmap", errno: taut_sys::ENOMEM })?;
    if !secret {
        return Ok(memory::map_shared(file.as_fd(), size, extent.writes)?);
    }
    memory::map_secret(file.as_fd(), size).map_err(|error| match error.would_block() {
        true => Error::MemoryLimit { bytes: actual },
        false => error.into(),
    })
}

impl Drop for Attached {
    fn drop(&mut self) {
        // The shutdown frees the name at once, even while a child that this process is forking holds the descriptor
        // too. A child does not shut the connection down: it belongs to the parent, in which ends of this endpoint may
        // still live.
        if self.process == process::pid() {
            let _ = socket::shutdown(self.connection.as_fd());
        }
    }
}

impl Attached {
    pub(crate) fn attach(folder: Folder<'_>, app: &str, client: &str) -> Result<Self, Error> {
        let (path, own) = folder.resolve();
        attach_to(&path, own, app, client, |connection, owner, deadline| {
            converse(connection, owner, app, client, deadline)
        })
    }

    /// Whether the owner is alive. One short system call, no allocation: cheap enough for every frame.
    ///
    /// The connection decides; the segment's state word only distinguishes an orderly end from a death.
    pub fn alive(&self) -> Liveness {
        let mut polls = [Poll::hung_up(self.connection.as_fd())];
        // An error would be this process's own (the kernel is out of memory), and says nothing about the owner.
        let gone = socket::poll(&mut polls, Some(Duration::ZERO)).is_ok_and(|ready| ready > 0);
        match (gone, self.state()) {
            (false, _) => Liveness::Alive,
            (true, OwnerState::Ended) => Liveness::Ended,
            (true, _) => Liveness::Died,
        }
    }

    /// The state that the owner publishes. Nobody else can write it, so it does not show the owner's death:
    /// [`Attached::alive`] does.
    pub fn state(&self) -> OwnerState {
        OwnerState::load(&self.maps[0].1)
    }

    /// Sleeps until the owner has ended, in whatever way, or for at most `patience`; may return in vain.
    pub fn wait_for_end(&self, patience: Duration) {
        let mut polls = [Poll::hung_up(self.connection.as_fd())];
        // An error would be this process's own: the kernel is out of memory.
        if socket::poll(&mut polls, Some(patience)).is_err() {
            std::thread::sleep(patience.min(Duration::from_millis(1)));
        }
    }

    /// The state of the service whose task writes a channel; running if the owner publishes none.
    pub fn service_of(&self, entry: &ChannelEntry) -> ServiceState {
        entry.service.map_or(ServiceState::Running, |service| ServiceState::load(&self.maps[0].1, service))
    }

    /// The channels of this client.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The owner's entry for one of this client's channels.
    ///
    /// # Errors
    /// [`Error::NoChannel`], with the channels that this client has.
    pub fn entry(&self, channel: &str) -> Result<&ChannelEntry, Error> {
        self.directory.entry(channel).ok_or_else(|| Error::NoChannel {
            channel: channel.to_owned(),
            known: self.directory.entries().iter().map(|entry| entry.channel.clone()).collect(),
        })
    }

    /// As [`Attached::entry`]; also checks that the entry has the role and the layout of values that the program
    /// expects. An entry that is taken is also read.
    ///
    /// # Errors
    /// [`Error::NoChannel`]; [`Error::WrongRole`]; [`Error::LayoutDiffers`], with both layouts.
    pub fn entry_as(&self, channel: &str, role: Role, layout: &str) -> Result<&ChannelEntry, Error> {
        let entry = self.entry(channel)?;
        let reads = role == Role::Reads && entry.role == Role::Takes;
        if entry.role != role && !reads {
            return Err(Error::WrongRole { channel: channel.to_owned(), ours: role, theirs: entry.role });
        }
        if entry.layout != layout {
            return Err(Error::LayoutDiffers {
                channel: channel.to_owned(),
                ours: layout.to_owned(),
                theirs: entry.layout.clone(),
            });
        }
        Ok(entry)
    }

    /// The bytes of a channel. Other processes may read and write them at any time: only atomic accesses are sound.
    /// The caller may write them if this client writes the channel ([`Attached::mapping`]).
    ///
    /// # Errors
    /// [`Error::NoChannel`].
    pub fn region(&self, channel: &str) -> Result<NonNull<[u8]>, Error> {
        let (entry, (extent, map)) = (self.entry(channel)?, self.place(channel)?);
        region(map, *extent, entry.offset, entry.size).ok_or(Error::Inconsistent { what: "region" })
    }

    /// The line of the event count on which this client waits for values of a channel; `None` if nothing wakes it. As
    /// with [`Attached::region`], only atomic accesses are sound. The caller may write it.
    ///
    /// # Errors
    /// [`Error::NoChannel`].
    pub fn event_count(&self, channel: &str) -> Result<Option<NonNull<[u8]>>, Error> {
        let Some(offset) = self.entry(channel)?.event_count else { return Ok(None) };
        let found =
            self.maps.iter().find_map(|(extent, map)| region(map, *extent, offset, EVENT_COUNT_BYTES));
        found.map(Some).ok_or(Error::Inconsistent { what: "event count" })
    }

    /// The line in which this client says which block of a channel it has; `None` of a channel without one. As with
    /// [`Attached::region`], only atomic accesses are sound. The caller may write it.
    ///
    /// # Errors
    /// [`Error::NoChannel`].
    pub fn reservation(&self, channel: &str) -> Result<Option<NonNull<[u8]>>, Error> {
        let Some(offset) = self.entry(channel)?.reservation else { return Ok(None) };
        let found =
            self.maps.iter().find_map(|(extent, map)| region(map, *extent, offset, RESERVATION_BYTES));
        found.map(Some).ok_or(Error::Inconsistent { what: "reservation" })
    }

    /// The memory that holds a channel, and perhaps other channels of the same writer; its address does not change.
    ///
    /// # Errors
    /// [`Error::NoChannel`].
    pub fn mapping(&self, channel: &str) -> Result<&Mapping, Error> {
        Ok(&self.place(channel)?.1)
    }

    fn place(&self, channel: &str) -> Result<&(Extent, Mapping), Error> {
        let entry = self.entry(channel)?;
        let holds = |(extent, _): &&(Extent, Mapping)| extent.holds(entry.offset, entry.size);
        self.maps.iter().find(holds).ok_or(Error::Inconsistent { what: "region" })
    }

    /// The number of the owner's run. A different number means another run, about which this value says nothing.
    pub fn epoch(&self) -> u64 {
        self.header.epoch
    }

    /// The hash that distinguishes the owner's layout from others.
    pub fn layout_hash(&self) -> u64 {
        self.header.layout_hash
    }

    /// The owner's process.
    pub fn owner_pid(&self) -> u32 {
        self.owner.pid
    }

    /// The owner's user.
    pub(crate) fn owner_uid(&self) -> u32 {
        self.owner.uid
    }

    /// Locks the memory, if this process has the privilege; each mapping reports the result.
    pub(crate) fn lock(&mut self) {
        for (_, map) in &mut self.maps {
            let _ = map.lock();
        }
    }
}
