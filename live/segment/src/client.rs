// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use taut_sys::memory::{self, Mapping, Seals};
use taut_sys::process;
use taut_sys::socket::{self, Peer, Poll};

use crate::directory::{Directory, Entry, Role, is_name};
use crate::files::{Part, region};
use crate::folder::Folder;
use crate::header::{HEADER_BYTES, Header};
use crate::message::{self, PART_BYTES, REPLY_HEAD, Refusal, Reply};
use crate::{DOOR_VERSION, Error, FolderProblem, PAGE_BYTES, State, folder};

/// What is wrong with a door that hands out other files than it says.
const FILES_DIFFER: &str = "it does not hand out the files that it says";

/// What an owner has to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether the owner is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It is.
    Alive,
    /// It ended in order.
    Ended,
    /// It died.
    Died,
}

/// A client's side. The memory stays mapped while it lives, also when the owner is gone; dropping it frees the name, but not in
/// a child of `fork`: the name is its parent's.
#[derive(Debug)]
pub struct Attached {
    connection: OwnedFd,
    /// The process that attached.
    process: u32,
    /// The first has the header.
    maps: Vec<(Part, Mapping)>,
    directory: Directory,
    header: Header,
    owner: Peer,
}

/// Attaches to an application in the default folder, under a name that its manifest has for us. Waits for at most
/// two seconds.
///
/// # Errors
/// Whatever is not as the crate's documentation says: one [`Error`] each. Nothing is mapped before file, seals and
/// size are right.
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

fn attach_to(path: &Path, own: bool, app: &str, client: &str) -> Result<Attached, Error> {
    let deadline = Instant::now() + PATIENCE;
    let door = folder::door(path, app)?;
    if !is_name(client) {
        return Err(Error::BadName { name: client.to_owned() });
    }
    let not_running = || Error::NotRunning { app: app.to_owned(), door: door.clone() };
    let stale = || Error::Stale { app: app.to_owned(), door: door.clone() };
    let user = match folder::check(path, own.then(process::effective_uid)) {
        Ok(user) => user,
        Err(Error::Folder { problem: FolderProblem::System(error), .. }) if is_missing(error) => {
            return Err(not_running());
        }
        Err(error) => return Err(error),
    };
    loop {
        let attempt = match socket::connect(&door, deadline.saturating_duration_since(Instant::now())) {
            Ok(connection) => {
                let owner = socket::peer(connection.as_fd())?;
                if owner.uid != user {
                    return Err(Error::NotADoor { problem: "it belongs to another user than its folder" });
                }
                // A child that it had forked may have its socket still, and answers nobody.
                if process::is_gone(owner.pid) {
                    return Err(stale());
                }
                converse(connection, owner, app, client, deadline)
            }
            // All the time more have waited than the owner's backlog holds.
            Err(error) if error.would_block() => Err(Error::TurnedAway { app: app.to_owned() }),
            Err(error) if is_missing(error) => Err(not_running()),
            Err(error) if error.is_privilege() => {
                let door = door.display();
                let reason =
                    format!("its door, {door}, is shut to us (its manifest grants no group of ours)");
                Err(Error::NotPermitted { app: app.to_owned(), reason })
            }
            Err(error) if error.errno == taut_sys::ECONNREFUSED => match folder::is_socket(&door) {
                Some(false) => Err(Error::NotASocket { door: door.clone() }),
                _ => Err(stale()),
            },
            Err(error) => Err(Error::Door { door: door.clone(), error }),
        };
        match attempt {
            // Too many ask, or it just ended: the next attempt will tell.
            Err(Error::TurnedAway { .. }) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

fn is_missing(error: taut_sys::Error) -> bool {
    error.errno == taut_sys::ENOENT
}

/// Asks, and looks at the answer.
fn converse(
    connection: OwnedFd,
    owner: Peer,
    app: &str,
    client: &str,
    deadline: Instant,
) -> Result<Attached, Error> {
    let mut answer = Answer { connection: &connection, app, deadline, files: Vec::new() };
    // So few bytes go at once on a fresh socket. If the door has closed already, it may have said why.
    let _ = socket::send(connection.as_fd(), &message::request(client), &[]);
    let mut head = [0; REPLY_HEAD];
    answer.read(&mut head)?;
    let reply = Reply::read(&head)?;
    let mut parts = vec![0; reply.parts * PART_BYTES];
    answer.read(&mut parts)?;
    let parts = message::parts(&parts);
    let mut text = vec![0; reply.text_len];
    answer.read(&mut text)?;
    let files = answer.files;
    // For the eyes of a person, and from a stranger.
    let reason = || String::from_utf8_lossy(&text).chars().filter(|c| !c.is_control()).collect();
    let client = client.to_owned();
    let refusals = [
        (Refusal::UnknownClient, Error::UnknownClient { client: client.clone(), reason: reason() }),
        (Refusal::NameTaken, Error::NameTaken { client, reason: reason() }),
        (Refusal::NotPermitted, Error::NotPermitted { app: app.to_owned(), reason: reason() }),
        (Refusal::Malformed, Error::NotADoor { problem: "it does not understand our request" }),
    ];
    if reply.version != DOOR_VERSION || reply.code == Refusal::Version as u16 {
        return Err(Error::WrongDoorVersion { ours: DOOR_VERSION, theirs: reply.version });
    }
    if reply.code != 0 {
        let refusal = refusals.into_iter().find(|(code, _)| *code as u16 == reply.code);
        let unknown = Error::NotADoor { problem: "it refuses for a reason that we do not know" };
        return Err(refusal.map_or(unknown, |(_, error)| error));
    }
    if parts.is_empty() || files.len() != parts.len() {
        return Err(Error::NotADoor { problem: FILES_DIFFER });
    }
    let text = String::from_utf8(text).map_err(|_| Error::NotADoor { problem: "its text is not UTF-8" })?;
    let directory = Directory::from_text(&text)
        .map_err(|error| Error::Directory { client: "ours, from the application".to_owned(), error })?;
    let (maps, header) = open(parts.into_iter().zip(files).collect(), reply, &directory)?;
    Ok(Attached { connection, process: process::pid(), maps, directory, header, owner })
}

struct Answer<'a> {
    connection: &'a OwnedFd,
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
            socket::poll(&mut [Poll::readable(self.connection.as_fd())], Some(left))?;
            match socket::receive(self.connection.as_fd(), buffer) {
                Ok(received) if received.bytes == 0 => {
                    return Err(Error::TurnedAway { app: self.app.to_owned() });
                }
                Ok(received) => {
                    self.files.extend(received.fds);
                    if received.truncated || self.files.len() > socket::FD_LIMIT {
                        return Err(Error::NotADoor { problem: FILES_DIFFER });
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

/// Maps the files, if they are what the reply says.
fn open(
    files: Vec<(Part, OwnedFd)>,
    reply: Reply,
    directory: &Directory,
) -> Result<(Vec<(Part, Mapping)>, Header), Error> {
    let ours = || "ours, from the application".to_owned();
    if !directory.fits(reply.total) {
        return Err(Error::OutOfBounds { client: ours(), size: reply.total });
    }
    // In their order, apart from each other, and the header readable in the first of them.
    let mut end = 0;
    for (index, (part, _)) in files.iter().enumerate() {
        let starts = if index == 0 { part.start == 0 } else { part.start > 0 };
        if !starts || part.start < end || !part.start.is_multiple_of(PAGE_BYTES) || part.end() > reply.total {
            return Err(Error::NotADoor { problem: FILES_DIFFER });
        }
        end = part.end();
    }
    // What we are to write, we can: before a write faults.
    let writable =
        |entry: &Entry| files.iter().any(|(part, _)| part.writes && part.holds(entry.offset, entry.size));
    if !directory.entries().iter().all(|entry| entry.role == Role::Reads || writable(entry)) {
        return Err(Error::Inconsistent { what: "channels that this client writes" });
    }
    let mut maps = Vec::with_capacity(files.len());
    for (part, file) in files {
        let least = if maps.is_empty() { HEADER_BYTES as u64 } else { 1 };
        maps.push((part, map(part, &file, least)?));
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

fn map(part: Part, file: &OwnedFd, least: u64) -> Result<Mapping, Error> {
    let secret = memory::is_secret(file.as_fd()).unwrap_or(false);
    // Fixed for good before its size is believed.
    let sealed =
        || memory::seals(file.as_fd()).is_ok_and(|seals| seals.contains(Seals::SHRINK.and(Seals::GROW)));
    if !secret && !sealed() {
        return Err(Error::NotSealed);
    }
    let actual = memory::file_size(file.as_fd())?;
    let expected = part.bytes.max(least);
    if actual < expected {
        return Err(Error::Truncated { expected, actual });
    }
    if actual > expected {
        return Err(Error::SizeDiffers { expected, actual });
    }
    let size =
        usize::try_from(actual).map_err(|_| taut_sys::Error { call: "mmap", errno: taut_sys::ENOMEM })?;
    if !secret {
        return Ok(memory::map_shared(file.as_fd(), size, part.writes)?);
    }
    memory::map_secret(file.as_fd(), size).map_err(|error| match error.would_block() {
        true => Error::MemoryLimit { bytes: actual },
        false => error.into(),
    })
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Frees the name at once, also while a child of ours that is being forked has the descriptor too. In such a child it
        // is for its parent to free: ends of its part may live there.
        if self.process == process::pid() {
            let _ = socket::shutdown(self.connection.as_fd());
        }
    }
}

impl Attached {
    pub(crate) fn attach(folder: Folder<'_>, app: &str, client: &str) -> Result<Self, Error> {
        let (path, own) = folder.resolve();
        attach_to(&path, own, app, client)
    }

    /// Whether the owner is there. One short system call, no allocation: cheap enough for every frame.
    ///
    /// The connection decides; the segment's state word only tells an end from a death.
    pub fn alive(&self) -> Liveness {
        let mut polls = [Poll::hung_up(self.connection.as_fd())];
        // An error would be ours (no memory in the kernel), and says nothing about the owner.
        let gone = socket::poll(&mut polls, Some(Duration::ZERO)).is_ok_and(|ready| ready > 0);
        match (gone, self.state()) {
            (false, _) => Liveness::Alive,
            (true, State::Ended) => Liveness::Ended,
            (true, _) => Liveness::Died,
        }
    }

    /// What the owner says about itself, and nobody else can; [`Attached::alive`] also knows of its death.
    pub fn state(&self) -> State {
        State::load(&self.maps[0].1)
    }

    /// Our channels.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// What the owner says about one of our channels.
    ///
    /// # Errors
    /// [`Error::NoChannel`], with those that we have.
    pub fn entry(&self, channel: &str) -> Result<&Entry, Error> {
        self.directory.entry(channel).ok_or_else(|| Error::NoChannel {
            channel: channel.to_owned(),
            known: self.directory.entries().iter().map(|entry| entry.channel.clone()).collect(),
        })
    }

    /// As [`Attached::entry`], for a program that means to use it in this role, with values of this layout.
    ///
    /// # Errors
    /// [`Error::NoChannel`]; [`Error::WrongRole`]; [`Error::LayoutDiffers`], with both layouts.
    pub fn entry_as(&self, channel: &str, role: Role, layout: &str) -> Result<&Entry, Error> {
        let entry = self.entry(channel)?;
        if entry.role != role {
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
    /// They may be written if we write the channel ([`Attached::mapping`]).
    ///
    /// # Errors
    /// [`Error::NoChannel`].
    pub fn region(&self, channel: &str) -> Result<NonNull<[u8]>, Error> {
        let (entry, (part, map)) = (self.entry(channel)?, self.place(channel)?);
        region(map, *part, entry.offset, entry.size).ok_or(Error::Inconsistent { what: "region" })
    }

    /// The memory that holds a channel, and perhaps others of the same writer; stays where it is.
    ///
    /// # Errors
    /// [`Error::NoChannel`].
    pub fn mapping(&self, channel: &str) -> Result<&Mapping, Error> {
        Ok(&self.place(channel)?.1)
    }

    fn place(&self, channel: &str) -> Result<&(Part, Mapping), Error> {
        let entry = self.entry(channel)?;
        let holds = |(part, _): &&(Part, Mapping)| part.holds(entry.offset, entry.size);
        self.maps.iter().find(holds).ok_or(Error::Inconsistent { what: "region" })
    }

    /// The number of the owner's run: another one means another run, of which nothing here is known.
    pub fn epoch(&self) -> u64 {
        self.header.epoch
    }

    /// What tells the owner's layout from another.
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

    /// Locks the memory, if the privilege is there; its mappings say.
    pub(crate) fn lock(&mut self) {
        for (_, map) in &mut self.maps {
            let _ = map.lock();
        }
    }
}
