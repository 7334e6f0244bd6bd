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

use crate::directory::{self, ChannelEntry, Directory, is_name};
use crate::files::{self, File, Handout};
use crate::header::{HEADER_BYTES, Header, ServiceState};
use crate::listener::{self, Grant, ListenerReport, SegmentListener, Shared};
use crate::{Error, OwnerState, folder};

pub(crate) use crate::folder::Folder;

/// The connections that may wait for the listener thread.
const BACKLOG: u16 = 64;

/// The application's side: it makes the memory, and accepts clients until it ends.
///
/// No client can make the owner fail or wait: the owner keeps all state that it needs in memory that no client can
/// write. Dropping the owner has the effect of [`Owner::end`]. In a child of `fork` neither has any effect.
#[derive(Debug)]
pub struct Owner {
    app: String,
    /// The first one holds the header; only the owner writes there.
    files: Vec<File>,
    header: Header,
    folder: PathBuf,
    /// Whether the folder is the user's default one, to be removed when it is empty.
    ours: bool,
    socket: PathBuf,
    /// The socket's device and inode: the owner must not remove another owner's socket.
    identity: (u64, u64),
    replaced: Option<PathBuf>,
    shared: Shared,
    /// Dropped to end the thread.
    stop: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Owner {
    /// Makes a segment of `size` bytes, header included, with its socket in the default folder. `clients` lists the
    /// names that may attach, each with its directory's entries ([`ClientGrant`], or a pair of both). Regions of different channels are disjoint, and a
    /// channel with several clients has one region. Regions that different clients write lie on different pages of
    /// [`PAGE_BYTES`](crate::PAGE_BYTES); so do regions that no client writes, and those by which a client wakes a
    /// task. `group` (name or number) lets its members attach too.
    ///
    /// The memory is zeroed, populated, and locked if the process has the privilege. The listener thread starts at
    /// once and inherits the caller's affinity: create the owner from a housekeeping CPU.
    ///
    /// The call removes what a dead owner of that name left; [`Owner::replaced`] reports it.
    ///
    /// # Errors
    /// [`Error::AlreadyRunning`] if an owner of that name is alive; [`Error::TooLarge`]; an error about names,
    /// regions, folder or group; and [`Error::System`].
    pub fn create(
        app: &str,
        size: u64,
        clients: impl IntoIterator<Item = impl Into<ClientGrant>>,
        group: Option<&str>,
    ) -> Result<Self, Error> {
        Self::create_at(Folder::Default, app, size, clients.into_iter().map(Into::into).collect(), group)
    }

    /// As [`Owner::create`], with the socket in another folder.
    ///
    /// # Errors
    /// As [`Owner::create`].
    pub fn create_in(
        folder: &Path,
        app: &str,
        size: u64,
        clients: impl IntoIterator<Item = impl Into<ClientGrant>>,
        group: Option<&str>,
    ) -> Result<Self, Error> {
        Self::create_at(
            Folder::Given(folder),
            app,
            size,
            clients.into_iter().map(Into::into).collect(),
            group,
        )
    }

    pub(crate) fn create_at(
        folder: Folder<'_>,
        app: &str,
        size: u64,
        clients: Vec<ClientGrant>,
        group: Option<&str>,
    ) -> Result<Self, Error> {
        // Check the name before making anything.
        folder::socket(&folder.resolve().0, app)?;
        let memory = taut_sys::machine::memory_bytes().unwrap_or(u64::MAX);
        // All memory of the segment is populated. A process that asks for more memory than the machine has gets no
        // error: Linux kills it.
        if size > memory {
            return Err(Error::TooLarge { size, memory });
        }
        let limits: Vec<_> = clients.iter().map(|client| usize::from(client.max_attached.max(1))).collect();
        let lists: Vec<_> = clients.iter().map(|client| client.lists).collect();
        let clients = check(clients, size)?;
        let group = group.map(group_id).transpose()?;
        let header = new_header(size, &clients)?;
        let (files, Handout { descriptors, extents }) = make_files(app, &clients, &lists, &header)?;
        let ListeningSocket { folder, ours, path: socket, identity, replaced, listener } =
            ListeningSocket::open(folder, app, group)?;

        let (stop, stopped) = socket::pair()?;
        let shared = Shared::default();
        let owner = Self {
            app: app.to_owned(),
            files,
            header,
            folder,
            ours,
            socket,
            identity,
            replaced,
            shared: std::sync::Arc::clone(&shared),
            stop: Some(stop),
            thread: None,
        };
        let grants = clients.iter().zip(extents).zip(limits);
        let grants = grants.map(|((client, extents), limit)| Grant::new(client, extents, limit)).collect();
        owner.serve(SegmentListener { stop: stopped, listener, grants, group, header, descriptors, shared })
    }

    /// Starts the listener thread. If it does not start, the owner is dropped, which removes the socket.
    fn serve(mut self, listener: SegmentListener) -> Result<Self, Error> {
        let thread =
            std::thread::Builder::new().name("taut-listener".to_owned()).spawn(move || listener.run());
        let refused = |error| Error::System(taut_sys::Error::from_io("pthread_create", &error));
        self.thread = Some(thread.map_err(refused)?);
        Ok(self)
    }

    /// `size` bytes at `offset`, if they lie in one file of the segment and behind the header; their address does not
    /// change. Other processes may read them at any time, and clients may write those of their channels: only atomic
    /// accesses are sound.
    pub fn region(&self, offset: u64, size: u64) -> Option<NonNull<[u8]>> {
        self.files.iter().find_map(|file| file.region(offset, size))
    }

    /// How many of the segment's files are secret memory, into which no process can punch holes.
    pub fn secret_files(&self) -> usize {
        self.files.iter().filter(|file| file.is_secret()).count()
    }

    /// Publishes the state [`OwnerState::Running`] to the clients: values flow.
    pub fn set_running(&self) {
        OwnerState::Running.store(self.files[0].map());
    }

    /// Publishes the state of a service to the clients, which its number in their directories refers to. Without effect from
    /// [`SERVICES_MAX`](crate::SERVICES_MAX) on. One store.
    pub fn set_service(&self, service: u16, state: ServiceState) {
        state.store(self.files[0].map(), service);
    }

    /// The number of this run: random, different every time.
    pub fn epoch(&self) -> u64 {
        self.header.epoch
    }

    /// The hash that distinguishes this layout from others.
    pub fn layout_hash(&self) -> u64 {
        self.header.layout_hash
    }

    /// The application's name.
    pub fn app(&self) -> &str {
        &self.app
    }

    /// The path of the listener's socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The socket that a dead owner of the same name had left, and that this owner removed.
    pub fn replaced(&self) -> Option<&Path> {
        self.replaced.as_deref()
    }

    /// The attached clients, and how often the listener was used. Allocates, and takes a lock: not for real-time
    /// threads.
    pub fn report(&self) -> ListenerReport {
        listener::look(&self.shared).clone()
    }

    /// Ends in an orderly way: publishes [`OwnerState::Ended`] to the clients, closes the listener and their
    /// connections, and removes the socket; also the folder, if it is the default one and empty. The clients keep their
    /// mappings; nothing else is left.
    ///
    /// # Errors
    /// [`Error::Socket`] or [`Error::Folder`] if the socket could not be removed.
    pub fn end(mut self) -> Result<(), Error> {
        self.close()
    }

    fn close(&mut self) -> Result<(), Error> {
        let Some(stop) = self.stop.take() else { return Ok(()) };
        // A child of `fork` has no listener thread, and its parent goes on serving.
        if self.header.pid != process::pid() {
            std::mem::forget(self.thread.take());
            return Ok(());
        }
        // In this order: a client that sees the connection end then reads that the end was orderly.
        OwnerState::Ended.store(self.files[0].map());
        let removed = self.remove_socket();
        // Shut down, not only closed: a child that is being forked at this moment holds the descriptor too.
        let _ = socket::shutdown(stop.as_fd());
        if let Some(thread) = self.thread.take() {
            // A panic of the listener thread has closed all connections too.
            let _ = thread.join();
        }
        removed
    }

    fn remove_socket(&self) -> Result<(), Error> {
        // Without the folder there is no socket to remove.
        let Some(_lock) = folder::lock(&self.folder)? else { return Ok(()) };
        match fs::symlink_metadata(&self.socket) {
            Ok(metadata) if (metadata.dev(), metadata.ino()) == self.identity => {
                folder::remove(&self.socket)?
            }
            // Another process removed it, and another owner may have taken its place.
            _ => {}
        }
        if self.ours {
            // Fails while other owners have sockets there, as it should.
            let _ = fs::remove_dir(&self.folder);
        }
        Ok(())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // A caller that needs the result calls `end`.
        let _ = self.close();
    }
}

/// The socket to which clients connect.
struct ListeningSocket {
    folder: PathBuf,
    /// Whether the folder is the user's default one.
    ours: bool,
    path: PathBuf,
    /// The socket's device and inode.
    identity: (u64, u64),
    /// The socket of a dead owner that was in its place.
    replaced: Option<PathBuf>,
    listener: OwnedFd,
}

impl ListeningSocket {
    /// Makes the socket of an application; it replaces the socket of a dead owner.
    fn open(folder: Folder<'_>, app: &str, group: Option<u32>) -> Result<Self, Error> {
        let (folder, ours, _lock) = folder::prepare_at(folder)?;
        let path = folder::socket(&folder, app)?;
        let replaced = clear(&path, app)?;
        let listener = socket::bind(&path).map_err(at(&path))?;
        // The socket is bound but does not listen: no client can connect before the mode is right.
        let identity = open_to(&path, group).and_then(|()| {
            socket::listen(listener.as_fd(), BACKLOG).map_err(at(&path))?;
            let metadata = fs::symlink_metadata(&path).map_err(io("stat", &path))?;
            Ok((metadata.dev(), metadata.ino()))
        });
        let identity = identity.inspect_err(|_| drop(fs::remove_file(&path)))?;
        Ok(Self { folder, ours, path, identity, replaced, listener })
    }
}

/// The number of a group, from its name or number.
fn group_id(group: &str) -> Result<u32, Error> {
    process::group_id(group).ok_or_else(|| Error::UnknownGroup { group: group.to_owned() })
}

/// The header of a segment of this process.
fn new_header(size: u64, clients: &[(String, Directory)]) -> Result<Header, Error> {
    Ok(Header {
        total: size,
        layout_hash: directory::hash(directory::layout_text(clients).as_bytes()),
        epoch: process::random_u64()?,
        pid: process::pid(),
        start_time: process::start_time_of(process::pid()).unwrap_or(0),
    })
}

/// Makes the files of a segment, with the header in the first. Returns them, and what clients receive.
fn make_files(
    app: &str,
    clients: &[(String, Directory)],
    lists: &[bool],
    header: &Header,
) -> Result<(Vec<File>, Handout), Error> {
    let sketch = files::sketch(clients)?.into_iter();
    let mut files = sketch.map(|file| File::make(app, file, clients)).collect::<Result<Vec<_>, _>>()?;
    let handout = files::hand_out(&mut files, clients, lists)?;
    OwnerState::Booting.store(files[0].map());
    header.store(files[0].map());
    Ok((files, handout))
}

/// A client that may attach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientGrant {
    /// Its name.
    pub name: String,
    /// Its channels.
    pub entries: Vec<ChannelEntry>,
    /// How many processes may be attached under this name at a time; 0 counts as 1. If several, every entry has the role
    /// [`Role::Reads`](crate::Role::Reads) and no event count.
    pub max_attached: u16,
    /// Whether the client only receives the list of its entries, and none of their memory.
    pub(crate) lists: bool,
}

impl ClientGrant {
    /// A client of one process.
    pub fn new(name: String, entries: Vec<ChannelEntry>) -> Self {
        Self { name, entries, max_attached: 1, lists: false }
    }
}

impl From<(String, Vec<ChannelEntry>)> for ClientGrant {
    fn from((name, entries): (String, Vec<ChannelEntry>)) -> Self {
        Self::new(name, entries)
    }
}

/// Makes the directories from the entries, and checks them.
fn check(clients: Vec<ClientGrant>, size: u64) -> Result<Vec<(String, Directory)>, Error> {
    let mut checked: Vec<(String, Directory)> = Vec::with_capacity(clients.len());
    let mut names = HashSet::new();
    for ClientGrant { name: client, entries, max_attached, .. } in clients {
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
        let stores = |entry: &ChannelEntry| entry.stores() || entry.event_count.is_some();
        if max_attached > 1
            && let Some(entry) = directory.entries().iter().find(|entry| stores(entry))
        {
            return Err(Error::SharedPlace { client, channel: entry.channel.clone() });
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

/// Removes the socket of a dead owner, under the folder's lock; returns the socket's path if there was one. Anything
/// that no owner makes stays: it may be another user's file, or lead to another socket.
fn clear(socket: &Path, app: &str) -> Result<Option<PathBuf>, Error> {
    match folder::is_socket(socket) {
        None => return Ok(None),
        Some(false) => return Err(Error::NotASocket { socket: socket.to_owned() }),
        Some(true) => {}
    }
    if let Some(pid) = folder::behind(socket).map_err(at(socket))? {
        return Err(Error::AlreadyRunning { app: app.to_owned(), pid });
    }
    folder::remove(socket)?;
    Ok(Some(socket.to_owned()))
}

/// Lets the owner's user connect, and the group if there is one.
fn open_to(socket: &Path, group: Option<u32>) -> Result<(), Error> {
    let mode = match group {
        Some(group) => {
            socket::set_group(socket, group).map_err(at(socket))?;
            0o660
        }
        None => 0o600,
    };
    fs::set_permissions(socket, fs::Permissions::from_mode(mode)).map_err(io("chmod", socket))
}

/// An error of Linux about a listener's socket.
pub(crate) fn at(socket: &Path) -> impl FnOnce(taut_sys::Error) -> Error + '_ {
    move |error| Error::Socket { socket: socket.to_owned(), error }
}

/// As [`at`], for a call of the standard library.
pub(crate) fn io<'a>(call: &'static str, socket: &'a Path) -> impl FnOnce(std::io::Error) -> Error + 'a {
    move |error| at(socket)(taut_sys::Error::from_io(call, &error))
}
