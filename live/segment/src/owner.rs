// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::JoinHandle;

use taut_sys::memory::{self, Mapping, Seals};
use taut_sys::{process, socket};

use crate::directory::{self, Directory, Entry, is_name};
use crate::door::{self, Door, DoorReport, Grant, Shared};
use crate::header::{HEADER_BYTES, Header};
use crate::{Error, State, folder};

pub(crate) use crate::folder::Folder;

/// Connections that may wait for the door's thread.
const BACKLOG: u16 = 64;

/// The application's side: it makes the memory, and lets clients in until it ends.
///
/// Nothing that a client does can make it fail or wait: all that it needs to know it keeps for itself.
/// Dropping it is [`Owner::end`].
#[derive(Debug)]
pub struct Owner {
    app: String,
    map: Arc<Mapping>,
    header: Header,
    folder: PathBuf,
    /// Whether the folder is of our making, to be removed when it is empty.
    ours: bool,
    door: PathBuf,
    /// The socket's device and inode: another owner's socket is not ours to remove.
    identity: (u64, u64),
    replaced: Option<PathBuf>,
    shared: Shared,
    /// Dropped to end the thread.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Owner {
    /// A segment of `size` bytes, header included, and its door in the default folder. `clients` are the names
    /// that may attach, with what each is told; regions of different channels are disjoint, and a channel with
    /// several clients has one region. `group` (name or number) lets its members attach too.
    ///
    /// The memory is zeroed, populated, and locked if the privilege is there ([`Mapping::locked`] says). The door's
    /// thread starts at once and inherits the caller's affinity: create the owner from a housekeeping CPU.
    ///
    /// What a dead owner of that name left is removed; [`Owner::replaced`] says so.
    ///
    /// # Errors
    /// [`Error::AlreadyRunning`] if one lives; [`Error::TooLarge`]; what is wrong with names, regions, folder or group;
    /// and [`Error::System`].
    pub fn create(
        app: &str,
        size: u64,
        clients: Vec<(String, Vec<Entry>)>,
        group: Option<&str>,
    ) -> Result<Self, Error> {
        Self::create_at(Folder::Default, app, size, singles(clients), group)
    }

    /// As [`Owner::create`], with the door in another folder.
    ///
    /// # Errors
    /// As [`Owner::create`].
    pub fn create_in(
        folder: &Path,
        app: &str,
        size: u64,
        clients: Vec<(String, Vec<Entry>)>,
        group: Option<&str>,
    ) -> Result<Self, Error> {
        Self::create_at(Folder::Given(folder), app, size, singles(clients), group)
    }

    pub(crate) fn create_at(
        folder: Folder<'_>,
        app: &str,
        size: u64,
        clients: Vec<Client>,
        group: Option<&str>,
    ) -> Result<Self, Error> {
        // Before anything is made.
        folder::door(&folder.resolve().0, app)?;
        let memory = taut_sys::machine::memory_bytes().unwrap_or(u64::MAX);
        // All of it is populated: who asks for more than there is, is not told so, but killed.
        if size > memory {
            return Err(Error::TooLarge { size, memory });
        }
        let many: Vec<_> = clients.iter().map(|client| client.many).collect();
        let clients = check(clients, size)?;
        let group = match group {
            Some(name) => {
                let id = process::group_id(name);
                Some(id.ok_or_else(|| Error::UnknownGroup { group: name.to_owned() })?)
            }
            None => None,
        };
        let header = Header {
            total: size,
            layout_hash: directory::hash(directory::layout_text(&clients).as_bytes()),
            epoch: process::random_u64()?,
            pid: process::pid(),
            start_time: process::start_time_of(process::pid()).unwrap_or(0),
        };
        let (writable, read_only, map) = memory_of(app, header)?;

        let (folder, ours, lock) = folder::prepare_at(folder)?;
        let door = folder::door(&folder, app)?;
        let replaced = clear(&door, app)?;
        let listener = socket::bind(&door)?;
        // Bound, not listening: until the mode is right, nobody gets in.
        let identity = open_to(&door, group).and_then(|()| {
            socket::listen(listener.as_fd(), BACKLOG)?;
            let metadata = fs::symlink_metadata(&door).map_err(io("stat"))?;
            Ok((metadata.dev(), metadata.ino()))
        });
        let identity = identity.inspect_err(|_| drop(fs::remove_file(&door)))?;
        drop(lock);

        let (stop, stopped) = socket::pair()?;
        let shared = Shared::default();
        let mut owner = Self {
            app: app.to_owned(),
            map: Arc::clone(&map),
            header,
            folder,
            ours,
            door,
            identity,
            replaced,
            shared: Arc::clone(&shared),
            stop: Some(stop),
            thread: None,
        };
        let grants = clients.iter().zip(many).map(|(client, many)| Grant::new(client, many)).collect();
        let door = Door { stop: stopped, listener, grants, group, header, map, writable, read_only, shared };
        // If it cannot start, dropping the owner removes the socket.
        let thread = std::thread::Builder::new().name("taut-door".to_owned()).spawn(move || door.run());
        owner.thread = Some(thread.map_err(io("pthread_create"))?);
        Ok(owner)
    }

    /// The memory, header included; stays where it is.
    pub fn memory(&self) -> &Mapping {
        &self.map
    }

    /// `size` bytes at `offset`, if they lie in the segment behind the header. Other processes may read and write
    /// them at any time: only atomic accesses are sound.
    pub fn region(&self, offset: u64, size: u64) -> Option<NonNull<[u8]>> {
        region(&self.map, offset, size)
    }

    /// Tells clients that values flow.
    pub fn set_running(&self) {
        State::Running.store(&self.map);
    }

    /// The number of this run: random, another every time.
    pub fn epoch(&self) -> u64 {
        self.header.epoch
    }

    /// What tells this layout from another.
    pub fn layout_hash(&self) -> u64 {
        self.header.layout_hash
    }

    /// The application's name.
    pub fn app(&self) -> &str {
        &self.app
    }

    /// The door's socket.
    pub fn door(&self) -> &Path {
        &self.door
    }

    /// The door that a dead owner of the same name had left, which was removed.
    pub fn replaced(&self) -> Option<&Path> {
        self.replaced.as_deref()
    }

    /// Who is attached, and how often the door was used. Allocates, and takes a lock: not for real-time threads.
    pub fn report(&self) -> DoorReport {
        door::look(&self.shared).clone()
    }

    /// Ends in order: tells clients, closes the door and their connections, removes the socket, and the folder if it
    /// is the default one and empty. The clients' maps stay theirs; nothing else is left.
    ///
    /// # Errors
    /// [`Error::System`] or [`Error::Folder`] if the socket could not be removed.
    pub fn end(mut self) -> Result<(), Error> {
        self.close()
    }

    fn close(&mut self) -> Result<(), Error> {
        let Some(stop) = self.stop.take() else { return Ok(()) };
        // In this order: who sees the connection end then knows that it was in order.
        State::Ended.store(&self.map);
        let removed = self.remove_door();
        // Shut down, not only closed: a child that is being forked at this moment has it too.
        let _ = socket::shutdown(stop.as_fd());
        if let Some(thread) = self.thread.take() {
            // A panic of the door's thread has closed all connections too.
            let _ = thread.join();
        }
        removed
    }

    fn remove_door(&self) -> Result<(), Error> {
        // Without the folder there is nothing in it.
        let Some(_lock) = folder::lock(&self.folder)? else { return Ok(()) };
        match fs::symlink_metadata(&self.door) {
            Ok(metadata) if (metadata.dev(), metadata.ino()) == self.identity => folder::remove(&self.door)?,
            // Someone removed it, and perhaps someone else moved in.
            _ => {}
        }
        if self.ours {
            // Fails, as it should, while other owners have doors there.
            let _ = fs::remove_dir(&self.folder);
        }
        Ok(())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Who wants to know calls `end`.
        let _ = self.close();
    }
}

/// A client that may attach.
pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) entries: Vec<Entry>,
    /// Whether several may at a time.
    pub(crate) many: bool,
}

fn singles(clients: Vec<(String, Vec<Entry>)>) -> Vec<Client> {
    clients.into_iter().map(|(name, entries)| Client { name, entries, many: false }).collect()
}

/// Directories from entries, if all is well with them.
fn check(clients: Vec<Client>, size: u64) -> Result<Vec<(String, Directory)>, Error> {
    let mut checked: Vec<(String, Directory)> = Vec::with_capacity(clients.len());
    let mut names = HashSet::new();
    for Client { name: client, entries, .. } in clients {
        if !is_name(&client) {
            return Err(Error::BadName { name: client });
        }
        if !names.insert(client.clone()) {
            return Err(Error::ClientTwice { client });
        }
        let directory = match Directory::new(entries) {
            Ok(directory) => directory,
            Err(error) => return Err(Error::Directory { client, error }),
        };
        if !directory.fits(size) {
            return Err(Error::OutOfBounds { client, size });
        }
        checked.push((client, directory));
    }
    if size < HEADER_BYTES as u64 {
        return Err(Error::Truncated { expected: HEADER_BYTES as u64, actual: size });
    }
    if let Some((first, second)) = directory::conflict(&checked) {
        return Err(Error::Overlap { first: first.channel.clone(), second: second.channel.clone() });
    }
    Ok(checked)
}

/// The memory file, twice, and its mapping.
fn memory_of(app: &str, header: Header) -> Result<(OwnedFd, OwnedFd, Arc<Mapping>), Error> {
    let name = CString::new(format!("taut-{app}")).map_err(|_| Error::BadName { name: app.to_owned() })?;
    let writable = memory::memfd(&name, header.total, Seals::FIXED)?;
    let read_only = memory::reopen_read_only(writable.as_fd())?;
    let size = usize::try_from(header.total)
        .map_err(|_| taut_sys::Error { call: "mmap", errno: taut_sys::ENOMEM })?;
    // The promise to those who only read, tried once: no map for writing can be made of their descriptor.
    if memory::map_shared(read_only.as_fd(), size, true).is_ok() {
        return Err(Error::Inconsistent { what: "rights of the descriptor for readers" });
    }
    let mut map = memory::map_shared(writable.as_fd(), size, true)?;
    // Without the privilege it stays unlocked, and says so.
    let _ = map.lock();
    State::Booting.store(&map);
    header.store(&map);
    Ok((writable, read_only, Arc::new(map)))
}

/// Removes what a dead owner left at the door, under the folder's lock; gives whether there was something.
fn clear(door: &Path, app: &str) -> Result<Option<PathBuf>, Error> {
    if fs::symlink_metadata(door).is_err() {
        return Ok(None);
    }
    if let Some(pid) = folder::behind(door)? {
        return Err(Error::AlreadyRunning { app: app.to_owned(), pid });
    }
    folder::remove(door)?;
    Ok(Some(door.to_owned()))
}

/// Lets our user connect, and the group if there is one.
fn open_to(door: &Path, group: Option<u32>) -> Result<(), Error> {
    let mode = match group {
        Some(group) => {
            socket::set_group(door, group)?;
            0o660
        }
        None => 0o600,
    };
    fs::set_permissions(door, fs::Permissions::from_mode(mode)).map_err(io("chmod"))
}

pub(crate) fn io(call: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |error| Error::System(taut_sys::Error::from_io(call, &error))
}

pub(crate) fn region(map: &Mapping, offset: u64, size: u64) -> Option<NonNull<[u8]>> {
    let (offset, size) = (usize::try_from(offset).ok()?, usize::try_from(size).ok()?);
    if offset < HEADER_BYTES || offset.checked_add(size)? > map.len() {
        return None;
    }
    let start = NonNull::new(map.ptr().wrapping_add(offset))?;
    Some(NonNull::slice_from_raw_parts(start, size))
}
