// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;
use std::path::PathBuf;

use taut_share::LayoutError;

use crate::{DirectoryError, Role};

/// Why there is no segment, or no channel in it. Each text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The name cannot be the name of an application, a client or an object.
    BadName {
        /// The name.
        name: String,
    },
    /// The folder of the sockets cannot be used.
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        problem: FolderProblem,
    },
    /// The path of the listener's socket is longer than Linux allows.
    PathTooLong {
        /// The path.
        path: PathBuf,
    },
    /// Another owner of that name is alive.
    AlreadyRunning {
        /// The application.
        app: String,
        /// Its process.
        pid: u32,
    },
    /// The group that the manifest grants is unknown here.
    UnknownGroup {
        /// Its name.
        group: String,
    },
    /// A client's directory is not valid.
    Directory {
        /// The client.
        client: String,
        /// Why.
        error: DirectoryError,
    },
    /// The owner's list names a client twice.
    ClientTwice {
        /// The client.
        client: String,
    },
    /// A region ends outside the segment.
    OutOfBounds {
        /// The client whose channel it is.
        client: String,
        /// The segment's size, bytes.
        size: u64,
    },
    /// Two channels share bytes, or one has two regions.
    Overlap {
        /// The first channel.
        first: String,
        /// The second channel; the same as the first if that one has two regions.
        second: String,
    },

    /// Two channels that belong in different files lie on one page.
    SharedPage {
        /// The first channel; `None` for the header and the channels that no client writes.
        first: Option<String>,
        /// The second channel.
        second: String,
    },
    /// Several processes of a client may be attached, and would store in one object.
    SharedPlace {
        /// The client.
        client: String,
        /// The channel.
        channel: String,
    },
    /// A client uses channels in more files than one message can carry.
    TooManyFiles {
        /// The client.
        client: String,
        /// The limit on the files of one client.
        limit: usize,
    },

    /// The segment takes more memory than the machine has.
    TooLarge {
        /// What it takes, bytes; `u64::MAX` if the sum overflows.
        size: u64,
        /// What the machine has, bytes.
        memory: u64,
    },

    /// An object of a registry cannot be built.
    Layout {
        /// The object.
        object: String,
        /// Why.
        error: LayoutError,
    },

    /// The application has no socket.
    NotRunning {
        /// The application.
        app: String,
        /// The path where the socket would be.
        socket: PathBuf,
    },
    /// The socket exists, but its owner is dead.
    Stale {
        /// The application.
        app: String,
        /// The socket that the dead owner left.
        socket: PathBuf,
    },
    /// Something that no owner makes stands where the socket belongs.
    NotASocket {
        /// The path.
        socket: PathBuf,
    },
    /// The owner does not let this user attach.
    NotPermitted {
        /// The application.
        app: String,
        /// The reason: from the owner's reply, or found by this client.
        reason: String,
    },
    /// The owner has no client of that name.
    UnknownClient {
        /// The name.
        client: String,
        /// The owner's reason.
        reason: String,
    },
    /// A client of that name is attached.
    NameTaken {
        /// The name.
        client: String,
        /// The owner's reason.
        reason: String,
    },
    /// The registry has no such object.
    NoObject {
        /// The object that the caller asked for.
        object: String,
        /// The objects that the registry has.
        known: Vec<String>,
    },
    /// The object has the caller's kind and shape, but no such endpoint.
    NoEndpoint {
        /// The object.
        object: String,
        /// The endpoint that the caller asked for.
        endpoint: String,
    },
    /// Another process holds this endpoint, or too many processes do.
    EndpointTaken {
        /// The object.
        object: String,
        /// The endpoint.
        endpoint: String,
        /// The owner's reason.
        reason: String,
    },
    /// The owner's object differs from the caller's.
    ObjectDiffers {
        /// The object.
        object: String,
        /// What differs.
        what: &'static str,
        /// The caller's.
        ours: String,
        /// The owner's.
        theirs: String,
    },
    /// The owner speaks another version of the listener's messages.
    WrongProtocolVersion {
        /// Ours.
        ours: u16,
        /// The owner's.
        theirs: u16,
    },
    /// The owner did not answer in time.
    NoAnswer {
        /// The application.
        app: String,
    },
    /// The owner closed the connection without an answer, again and again until the time was over.
    TurnedAway {
        /// The application.
        app: String,
    },
    /// The process that answers at the socket is no owner, or does not keep to the protocol.
    NotAnApplication {
        /// Why.
        problem: &'static str,
    },

    /// The file does not start like a segment.
    WrongMagic,
    /// The segment was made for the other byte order.
    WrongByteOrder,
    /// The segment has another format.
    WrongFormat {
        /// Ours.
        ours: u32,
        /// The owner's.
        theirs: u32,
    },
    /// The header has another size.
    WrongHeaderSize {
        /// Ours, bytes.
        ours: u32,
        /// The owner's, bytes.
        theirs: u32,
    },
    /// The file is smaller than the segment.
    Truncated {
        /// The segment's bytes.
        expected: u64,
        /// The file's bytes.
        actual: u64,
    },
    /// The file is larger than the segment.
    SizeDiffers {
        /// The segment's bytes.
        expected: u64,
        /// The file's bytes.
        actual: u64,
    },
    /// The file's size is not sealed: a process that holds the file could shrink it under the client.
    NotSealed,
    /// The memory that this client writes counts as locked memory, and it is more than this process may lock.
    MemoryLimit {
        /// The bytes of that memory.
        bytes: u64,
    },
    /// The listener's reply and the segment contradict each other.
    Inconsistent {
        /// What they contradict each other about.
        what: &'static str,
    },

    /// The client does not use that channel.
    NoChannel {
        /// The channel.
        channel: String,
        /// The channels that it uses.
        known: Vec<String>,
    },
    /// The client uses that channel in the other role.
    WrongRole {
        /// The channel.
        channel: String,
        /// What the client wants to do.
        ours: Role,
        /// What the owner lets it do.
        theirs: Role,
    },
    /// Program and owner have different types for a channel.
    LayoutDiffers {
        /// Which.
        channel: String,
        /// The program's.
        ours: String,
        /// The owner's.
        theirs: String,
    },

    /// Linux refused a system call on a listener's socket.
    Socket {
        /// The socket's path.
        socket: PathBuf,
        /// What was refused.
        error: taut_sys::Error,
    },
    /// The owner cannot open the segment a second time, for clients that only read.
    NoProc {
        /// What was refused.
        error: taut_sys::Error,
    },
    /// Linux refused a system call that concerns no path.
    System(taut_sys::Error),
}

/// The remedy for an error of Linux, if it needs no path.
fn remedy_without_path(error: taut_sys::Error) -> &'static str {
    match error.errno {
        taut_sys::EMFILE | taut_sys::ENFILE | taut_sys::ENOMEM => remedy(error),
        _ => "",
    }
}

/// The remedy for an error of Linux about a folder or something in it. Starts with a colon, or is empty.
fn remedy(error: taut_sys::Error) -> &'static str {
    match error.errno {
        taut_sys::EACCES | taut_sys::EPERM => {
            ": give this user access to it, or set TAUT_RUNTIME_DIR to a folder of this user"
        }
        taut_sys::ENOENT | taut_sys::ENOTDIR => {
            ": create its parent folder, or set TAUT_RUNTIME_DIR to a folder that exists"
        }
        taut_sys::EROFS => ": set TAUT_RUNTIME_DIR to a folder that can be written",
        taut_sys::ENOSPC | taut_sys::EDQUOT => {
            ": free space there, or set TAUT_RUNTIME_DIR to a folder elsewhere"
        }
        taut_sys::EADDRINUSE => ": another process created it at this moment; try again",
        taut_sys::EMFILE => ": let this process open more files (`ulimit -n`)",
        taut_sys::ENFILE => ": let this machine open more files (`sysctl fs.file-max`)",
        taut_sys::ENOMEM => ": this machine or the limits of this process allow no more memory",
        _ => "",
    }
}

/// Why a folder cannot hold the sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderProblem {
    /// Linux refused to make or to inspect it.
    System(taut_sys::Error),
    /// It is a symbolic link, or not a folder.
    NotAFolder,
    /// It belongs to this user, who is not the caller.
    OtherOwner(u32),
    /// Others may write to it; its mode.
    WritableByOthers(u32),
    /// Another process has held its lock for too long.
    Busy,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName { .. }
            | Self::Folder { .. }
            | Self::PathTooLong { .. }
            | Self::AlreadyRunning { .. }
            | Self::UnknownGroup { .. }
            | Self::Directory { .. }
            | Self::ClientTwice { .. }
            | Self::OutOfBounds { .. }
            | Self::Overlap { .. }
            | Self::SharedPage { .. }
            | Self::SharedPlace { .. }
            | Self::TooManyFiles { .. }
            | Self::TooLarge { .. } => self.fmt_making(f),
            Self::NotRunning { .. }
            | Self::Stale { .. }
            | Self::NotASocket { .. }
            | Self::NotPermitted { .. }
            | Self::UnknownClient { .. }
            | Self::NameTaken { .. }
            | Self::WrongProtocolVersion { .. }
            | Self::NoAnswer { .. }
            | Self::TurnedAway { .. }
            | Self::NotAnApplication { .. } => self.fmt_attaching(f),
            Self::WrongMagic
            | Self::WrongByteOrder
            | Self::WrongFormat { .. }
            | Self::WrongHeaderSize { .. }
            | Self::Truncated { .. }
            | Self::SizeDiffers { .. }
            | Self::NotSealed
            | Self::MemoryLimit { .. }
            | Self::Inconsistent { .. } => self.fmt_memory(f),
            Self::Layout { .. }
            | Self::NoObject { .. }
            | Self::NoEndpoint { .. }
            | Self::EndpointTaken { .. }
            | Self::ObjectDiffers { .. } => self.fmt_object(f),
            Self::NoChannel { .. } | Self::WrongRole { .. } | Self::LayoutDiffers { .. } => {
                self.fmt_channel(f)
            }
            Self::Socket { .. } | Self::NoProc { .. } | Self::System(_) => self.fmt_system(f),
        }
    }
}

/// The texts, by what the error is about. Each function has the texts of its group, which `fmt` chooses; it would show
/// an error of another group as `Debug` does.
impl Error {
    /// Memory that parties may not share.
    fn fmt_shared(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SharedPage { first: Some(first), second } => {
                write!(
                    f,
                    "channels {first} and {second} share a page of 4096 bytes but need different files: \
                     their clients differ, or only one of the channels wakes a task"
                )
            }
            Self::SharedPage { first: None, second } => {
                write!(f, "channel {second} lies on a page of channels that its client does not write")
            }
            Self::SharedPlace { client, channel } => {
                write!(
                    f,
                    "several processes of client {client} would store in the memory of channel {channel}"
                )
            }
            other => fmt::Debug::fmt(other, f),
        }
    }

    /// The texts about the segment that an owner makes.
    fn fmt_making(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName { name } => {
                write!(
                    f,
                    "`{}` is not a valid name: use 1 to 64 letters, digits, `-` or `_` (an object of a \
                     registry: 32)",
                    name.escape_debug()
                )
            }
            Self::Folder { path, problem } => {
                write!(f, "the folder of sockets, {}: {problem}", path.display())
            }
            Self::PathTooLong { path } => write!(
                f,
                "{} is too long for the path of a socket (at most 107 bytes): set TAUT_RUNTIME_DIR to a \
                 shorter folder",
                path.display()
            ),
            Self::AlreadyRunning { app, pid } => {
                write!(f, "{app} is already running, as process {pid}: end that process first")
            }
            Self::UnknownGroup { group } => {
                write!(
                    f,
                    "the manifest grants access to group `{group}`, which this machine does not have: create \
                     the group"
                )
            }
            Self::Directory { client, error } => write!(f, "the directory of client {client}: {error}"),
            Self::ClientTwice { client } => write!(f, "client {client} is listed twice"),
            Self::OutOfBounds { client, size } => {
                write!(f, "a channel of client {client} ends outside of the segment of {size} bytes")
            }
            Self::Overlap { first, second } if first == second => {
                write!(f, "channel {first} has two different regions")
            }
            Self::Overlap { first, second } => write!(f, "channels {first} and {second} share bytes"),
            Self::SharedPage { .. } | Self::SharedPlace { .. } => self.fmt_shared(f),
            Self::TooManyFiles { client, limit } => write!(
                f,
                "client {client} reads channels of so many other clients that it needs more than {limit} files"
            ),
            Self::TooLarge { size, memory } => write!(
                f,
                "the segment takes {size} bytes, and this machine has {memory}: use smaller values, or \
                 smaller capacities"
            ),
            other => fmt::Debug::fmt(other, f),
        }
    }

    /// The texts about how a client attaches.
    fn fmt_attaching(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning { app, socket } => write!(
                f,
                "{app} is not running (no {}): start it, or set TAUT_RUNTIME_DIR to the same folder as for \
                 {app}",
                socket.display()
            ),
            Self::Stale { app, socket } => write!(
                f,
                "{app} is not running: it died and left {}; its next start removes that file",
                socket.display()
            ),
            Self::NotASocket { socket } => write!(
                f,
                "{} is not a socket, so no application left it there: remove it, or set TAUT_RUNTIME_DIR to \
                 another folder",
                socket.display()
            ),
            Self::NotPermitted { app, reason } => {
                write!(f, "{app} does not permit this user to attach: {reason}")
            }
            Self::UnknownClient { client, reason } => write!(f, "no client `{client}`: {reason}"),
            Self::NameTaken { client, reason } => {
                write!(f, "client `{client}` is already attached: {reason}")
            }
            Self::WrongProtocolVersion { ours, theirs } => write!(
                f,
                "the application speaks version {theirs}, this client {ours}: build both with the same taut"
            ),
            Self::NoAnswer { app } => {
                write!(f, "{app} did not answer within two seconds: is it stopped?")
            }
            Self::TurnedAway { app } => {
                write!(
                    f,
                    "{app} refused the connection for two seconds: too many clients attach at once; try again"
                )
            }
            Self::NotAnApplication { problem } => {
                write!(f, "the process at the socket is not an application of taut: {problem}")
            }
            other => fmt::Debug::fmt(other, f),
        }
    }

    /// The texts about the memory that a client received.
    fn fmt_memory(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongMagic => f.write_str("the received file is not a segment of taut"),
            Self::WrongByteOrder => f.write_str(
                "the segment has the other byte order: build client and application for the same byte \
                 order",
            ),
            Self::WrongFormat { ours, theirs } => write!(
                f,
                "the segment has format {theirs}, this client reads {ours}: build both with the same taut"
            ),
            Self::WrongHeaderSize { ours, theirs } => {
                write!(f, "the segment's header has {theirs} bytes, this client reads {ours}")
            }
            Self::Truncated { expected, actual } => {
                write!(f, "the segment is cut off: {expected} bytes by its header, {actual} in the file")
            }
            Self::SizeDiffers { expected, actual } => {
                write!(f, "the segment has {expected} bytes by its header, but {actual} in the file")
            }
            Self::NotSealed => f.write_str(
                "the size of the segment is not sealed: the file could shrink while clients use it",
            ),
            Self::MemoryLimit { bytes } => write!(
                f,
                "the {bytes} bytes that this client writes count as locked memory, and exceed the limit of \
                 this process: raise the limit (`ulimit -l`), or give the process CAP_IPC_LOCK"
            ),
            Self::Inconsistent { what } => {
                write!(f, "the listener and the segment disagree about the {what}: attach again")
            }
            other => fmt::Debug::fmt(other, f),
        }
    }

    /// The texts about an object of a registry.
    fn fmt_object(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout { object, error } => write!(f, "object {object} cannot be built: {error}"),
            Self::NoObject { object, known } if known.is_empty() => {
                write!(f, "no object `{object}`: the registry is empty")
            }
            Self::NoObject { object, known } => {
                write!(f, "no object `{object}` in this registry: it has {}", known.join(", "))
            }
            Self::NoEndpoint { object, endpoint } => {
                write!(f, "object {object} has no endpoint `{endpoint}`")
            }
            Self::EndpointTaken { object, endpoint, reason } => {
                write!(f, "endpoint `{endpoint}` of object {object} is taken: {reason}")
            }
            Self::ObjectDiffers { object, what, ours, theirs } => write!(
                f,
                "object {object} differs in its {what}: this program has `{ours}`, the registry `{theirs}`"
            ),
            other => fmt::Debug::fmt(other, f),
        }
    }

    /// The texts about a channel.
    fn fmt_channel(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoChannel { channel, known } if known.is_empty() => {
                write!(f, "no channel `{channel}`: this client has no channel")
            }
            Self::NoChannel { channel, known } => {
                write!(f, "no channel `{channel}` for this client: it has {}", known.join(", "))
            }
            Self::WrongRole { channel, ours, theirs } => {
                write!(f, "this program {ours} channel {channel}, but in the manifest its client {theirs} it")
            }
            Self::LayoutDiffers { channel, ours, theirs } => write!(
                f,
                "channel {channel} carries another type: this program has `{ours}`, the application `{theirs}`"
            ),
            other => fmt::Debug::fmt(other, f),
        }
    }

    /// The texts about what Linux refused.
    fn fmt_system(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket { socket, error } => {
                write!(f, "the socket, {}: {error}{}", socket.display(), remedy(*error))
            }
            Self::NoProc { error } => write!(
                f,
                "{error}: is /proc mounted? For clients that only read, the listener opens the memory again \
                 through it"
            ),
            Self::System(error) => write!(f, "{error}{}", remedy_without_path(*error)),
            other => fmt::Debug::fmt(other, f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Directory { error, .. } => Some(error),
            Self::Layout { error, .. } => Some(error),
            Self::System(error) | Self::Socket { error, .. } | Self::NoProc { error } => Some(error),
            _ => None,
        }
    }
}

impl From<taut_sys::Error> for Error {
    fn from(error: taut_sys::Error) -> Self {
        Self::System(error)
    }
}

impl fmt::Display for FolderProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(f, "{error}{}", remedy(*error)),
            Self::NotAFolder => {
                f.write_str("not a folder, or a symbolic link: remove it, or set TAUT_RUNTIME_DIR")
            }
            Self::OtherOwner(uid) => {
                write!(f, "belongs to user {uid}, not to this user: have it removed, or set TAUT_RUNTIME_DIR")
            }
            Self::WritableByOthers(mode) => {
                write!(
                    f,
                    "other users may write to it (mode {mode:04o}): chmod go-w, or set TAUT_RUNTIME_DIR"
                )
            }
            Self::Busy => f.write_str("another process has held its lock for two seconds: try again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The remedy for each errno on a folder or something in it; without a path, only the remedies that need none.
    #[test]
    fn refusals_of_linux_say_what_to_do() {
        let refused = |errno| taut_sys::Error { call: "call", errno };
        for (errnos, remedy, is_of_no_path) in [
            (&[taut_sys::EACCES, taut_sys::EPERM][..], ": give this user access to it", false),
            (&[taut_sys::ENOENT, taut_sys::ENOTDIR], ": create its parent folder", false),
            (&[taut_sys::EROFS], ": set TAUT_RUNTIME_DIR to a folder that can be written", false),
            (&[taut_sys::ENOSPC, taut_sys::EDQUOT], ": free space there", false),
            (&[taut_sys::EADDRINUSE], ": another process created it at this moment; try again", false),
            (&[taut_sys::EMFILE], ": let this process open more files (`ulimit -n`)", true),
            (&[taut_sys::ENFILE], ": let this machine open more files (`sysctl fs.file-max`)", true),
            (&[taut_sys::ENOMEM], ": this machine or the limits of this process allow no more memory", true),
        ] {
            for &errno in errnos {
                let error = refused(errno);
                let of_folder = FolderProblem::System(error).to_string();
                assert!(of_folder.starts_with(&format!("{error}{remedy}")), "{of_folder}");
                let socket = Error::Socket { socket: "/run/x.sock".into(), error }.to_string();
                assert!(socket.starts_with(&format!("the socket, /run/x.sock: {error}{remedy}")), "{socket}");
                let of_none = Error::System(error).to_string();
                let expected = if is_of_no_path { of_folder } else { error.to_string() };
                assert_eq!(of_none, expected);
            }
        }
        let unknown = refused(taut_sys::ECONNRESET);
        assert_eq!(FolderProblem::System(unknown).to_string(), unknown.to_string());
    }

    /// The text about a fault of one channel differs from the text about a fault between two channels, and the text
    /// for an empty list from the text for a full list.
    #[test]
    fn each_case_has_its_sentence() {
        let text = |text: &str| text.to_owned();
        let overlap = |second| Error::Overlap { first: text("a"), second: text(second) }.to_string();
        assert_eq!(overlap("a"), "channel a has two different regions");
        assert_eq!(overlap("b"), "channels a and b share bytes");
        let object = |known| Error::NoObject { object: text("a"), known }.to_string();
        assert_eq!(object(vec![]), "no object `a`: the registry is empty");
        assert_eq!(object(vec![text("b"), text("c")]), "no object `a` in this registry: it has b, c");
        let channel = |known| Error::NoChannel { channel: text("a"), known }.to_string();
        assert_eq!(channel(vec![]), "no channel `a`: this client has no channel");
        assert_eq!(channel(vec![text("b"), text("c")]), "no channel `a` for this client: it has b, c");
    }

    /// `fmt` sends each error to the function that has its text.
    #[test]
    fn no_error_is_shown_as_debug() {
        let (text, error) = (|| "x".to_owned(), taut_sys::Error { call: "call", errno: taut_sys::EPERM });
        let (path, ours, theirs) = (PathBuf::new, 1, 2);
        let directory = DirectoryError { line: 3, problem: "the channel is named twice" };
        let layout = LayoutError::Readers;
        for error in [
            Error::BadName { name: text() },
            Error::Folder { path: path(), problem: FolderProblem::Busy },
            Error::PathTooLong { path: path() },
            Error::AlreadyRunning { app: text(), pid: 1 },
            Error::UnknownGroup { group: text() },
            Error::Directory { client: text(), error: directory },
            Error::ClientTwice { client: text() },
            Error::OutOfBounds { client: text(), size: 1 },
            Error::Overlap { first: text(), second: text() },
            Error::SharedPage { first: None, second: text() },
            Error::SharedPage { first: Some(text()), second: text() },
            Error::SharedPlace { client: text(), channel: text() },
            Error::TooManyFiles { client: text(), limit: 1 },
            Error::TooLarge { size: 2, memory: 1 },
            Error::Layout { object: text(), error: layout },
            Error::NotRunning { app: text(), socket: path() },
            Error::Stale { app: text(), socket: path() },
            Error::NotASocket { socket: path() },
            Error::NotPermitted { app: text(), reason: text() },
            Error::UnknownClient { client: text(), reason: text() },
            Error::NameTaken { client: text(), reason: text() },
            Error::NoObject { object: text(), known: vec![] },
            Error::NoEndpoint { object: text(), endpoint: text() },
            Error::EndpointTaken { object: text(), endpoint: text(), reason: text() },
            Error::ObjectDiffers { object: text(), what: "kind", ours: text(), theirs: text() },
            Error::WrongProtocolVersion { ours: 1, theirs: 2 },
            Error::NoAnswer { app: text() },
            Error::TurnedAway { app: text() },
            Error::NotAnApplication { problem: "it is none" },
            Error::WrongMagic,
            Error::WrongByteOrder,
            Error::WrongFormat { ours, theirs },
            Error::WrongHeaderSize { ours, theirs },
            Error::Truncated { expected: 2, actual: 1 },
            Error::SizeDiffers { expected: 1, actual: 2 },
            Error::NotSealed,
            Error::MemoryLimit { bytes: 1 },
            Error::Inconsistent { what: "size" },
            Error::NoChannel { channel: text(), known: vec![] },
            Error::WrongRole { channel: text(), ours: Role::Reads, theirs: Role::Writes },
            Error::LayoutDiffers { channel: text(), ours: text(), theirs: text() },
            Error::Socket { socket: path(), error },
            Error::NoProc { error },
            Error::System(error),
        ] {
            assert_ne!(error.to_string(), format!("{error:?}"));
        }
    }

    #[test]
    fn an_error_has_its_source() {
        use std::error::Error as _;
        let error = taut_sys::Error { call: "call", errno: taut_sys::EPERM };
        let directory = DirectoryError { line: 3, problem: "the channel is named twice" };
        let client = || "ui".to_owned();
        for (outer, source) in [
            (Error::System(error), error.to_string()),
            (Error::Socket { socket: PathBuf::new(), error }, error.to_string()),
            (Error::NoProc { error }, error.to_string()),
            (
                Error::Directory { client: client(), error: directory },
                "line 3: the channel is named twice".to_owned(),
            ),
            (
                Error::Layout { object: client(), error: LayoutError::Readers },
                LayoutError::Readers.to_string(),
            ),
        ] {
            assert_eq!(outer.source().map(ToString::to_string), Some(source), "{outer}");
        }
        assert!(Error::NotSealed.source().is_none());
    }
}
