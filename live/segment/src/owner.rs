// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::HashSet;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::thread::JoinHandle;

use taut_sys::{process, socket};

use crate::directory::{self, Directory, Entry, is_name};
use crate::door::{self, Door, DoorReport, Grant, Shared};
use crate::files::{self, File, Handout};
use crate::header::{HEADER_BYTES, Header};
use crate::{Error, State, folder};

pub(crate) use crate::folder::Folder;

/// Connections that may wait for the door's thread.
const BACKLOG: u16 = 64;

/// The application's side: it makes the memory, and lets clients in until it ends.
///
/// Nothing that a client does can make it fail or wait: all that it needs to know it keeps for itself.
/// Dropping it is [`Owner::end`]. In a child of `fork` neither does anything.
#[derive(Debug)]
pub struct Owner {
    app: String,
    /// The first is ours alone and has the header.
    files: Vec<File>,
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
    /// that may attach, with what each is told; regions of different channels are disjoint, a channel with several clients has
    /// one region, and regions that different clients write lie on different pages of [`PAGE_BYTES`](crate::PAGE_BYTES), as
    /// do those that no client writes, or by which a client wakes a task. `group` (name or number) lets its members attach too.
    ///
    /// The memory is zeroed, populated, and locked if the privilege is there. The door's
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
        let lists: Vec<_> = clients.iter().map(|client| client.lists).collect();
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
        let sketch = files::sketch(&clients)?.into_iter();
        let mut files = sketch.map(|file| File::make(app, file, &clients)).collect::<Result<Vec<_>, _>>()?;
        let Handout { descriptors, parts } = files::hand_out(&mut files, &clients, &lists)?;
        State::Booting.store(files[0].map());
        header.store(files[0].map());

        let (folder, ours, lock) = folder::prepare_at(folder)?;
        let door = folder::door(&folder, app)?;
        let replaced = clear(&door, app)?;
        let listener = socket::bind(&door).map_err(at(&door))?;
        // Bound, not listening: until the mode is right, nobody gets in.
        let identity = open_to(&door, group).and_then(|()| {
            socket::listen(listener.as_fd(), BACKLOG).map_err(at(&door))?;
            let metadata = fs::symlink_metadata(&door).map_err(io("stat", &door))?;
            Ok((metadata.dev(), metadata.ino()))
        });
        let identity = identity.inspect_err(|_| drop(fs::remove_file(&door)))?;
        drop(lock);

        let (stop, stopped) = socket::pair()?;
        let shared = Shared::default();
        let mut owner = Self {
            app: app.to_owned(),
            files,
            header,
            folder,
            ours,
            door,
            identity,
            replaced,
            shared: std::sync::Arc::clone(&shared),
            stop: Some(stop),
            thread: None,
        };
        let grants = clients.iter().zip(parts).zip(many);
        let grants = grants.map(|((client, parts), many)| Grant::new(client, parts, many)).collect();
        let door = Door { stop: stopped, listener, grants, group, header, descriptors, shared };
        // If it cannot start, dropping the owner removes the socket.
        let thread = std::thread::Builder::new().name("taut-door".to_owned()).spawn(move || door.run());
        owner.thread =
            Some(thread.map_err(|error| Error::System(taut_sys::Error::from_io("pthread_create", &error)))?);
        Ok(owner)
    }

    /// `size` bytes at `offset`, if they lie in one file of the segment behind the header; they stay where they are. Other
    /// processes may read them, and write those of a client's, at any time: only atomic accesses are sound.
    pub fn region(&self, offset: u64, size: u64) -> Option<NonNull<[u8]>> {
        self.files.iter().find_map(|file| file.region(offset, size))
    }

    /// How many of the segment's files are secret memory, into which nobody can punch holes.
    pub fn secret_files(&self) -> usize {
        self.files.iter().filter(|file| file.is_secret()).count()
    }

    /// Tells clients that values flow.
    pub fn set_running(&self) {
        State::Running.store(self.files[0].map());
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
    /// [`Error::Door`] or [`Error::Folder`] if the socket could not be removed.
    pub fn end(mut self) -> Result<(), Error> {
        self.close()
    }

    fn close(&mut self) -> Result<(), Error> {
        let Some(stop) = self.stop.take() else { return Ok(()) };
        // A child of `fork` has no such thread, and what its parent offers goes on.
        if self.header.pid != process::pid() {
            std::mem::forget(self.thread.take());
            return Ok(());
        }
        // In this order: who sees the connection end then knows that it was in order.
        State::Ended.store(self.files[0].map());
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
    /// Whether it is only told of its entries, and given no memory of theirs.
    pub(crate) lists: bool,
}

fn singles(clients: Vec<(String, Vec<Entry>)>) -> Vec<Client> {
    clients.into_iter().map(|(name, entries)| Client { name, entries, many: false, lists: false }).collect()
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

/// Removes what a dead owner left at the door, under the folder's lock; gives whether there was something. What no owner makes
/// stays: it may be somebody's file, or lead to another door.
fn clear(door: &Path, app: &str) -> Result<Option<PathBuf>, Error> {
    match folder::is_socket(door) {
        None => return Ok(None),
        Some(false) => return Err(Error::NotASocket { door: door.to_owned() }),
        Some(true) => {}
    }
    if let Some(pid) = folder::behind(door).map_err(at(door))? {
        return Err(Error::AlreadyRunning { app: app.to_owned(), pid });
    }
    folder::remove(door)?;
    Ok(Some(door.to_owned()))
}

/// Lets our user connect, and the group if there is one.
fn open_to(door: &Path, group: Option<u32>) -> Result<(), Error> {
    let mode = match group {
        Some(group) => {
            socket::set_group(door, group).map_err(at(door))?;
            0o660
        }
        None => 0o600,
    };
    fs::set_permissions(door, fs::Permissions::from_mode(mode)).map_err(io("chmod", door))
}

/// What Linux refused, about a door.
pub(crate) fn at(door: &Path) -> impl FnOnce(taut_sys::Error) -> Error + '_ {
    move |error| Error::Door { door: door.to_owned(), error }
}

/// As [`at`], of a call of the standard library's.
pub(crate) fn io<'a>(call: &'static str, door: &'a Path) -> impl FnOnce(std::io::Error) -> Error + 'a {
    move |error| at(door)(taut_sys::Error::from_io(call, &error))
}
