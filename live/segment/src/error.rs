// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;
use std::path::PathBuf;

use taut_share::LayoutError;

use crate::{DirectoryError, Role};

/// Why there is no segment, or no channel in it. Each text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// An application's or client's name that cannot be one.
    BadName {
        /// What was given.
        name: String,
    },
    /// The folder of doors cannot be used.
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        problem: FolderProblem,
    },
    /// The door's path is longer than Linux allows.
    PathTooLong {
        /// Which.
        path: PathBuf,
    },
    /// Another owner of that name lives.
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
    /// The owner's directory is none.
    Directory {
        /// Whose.
        client: String,
        /// Why.
        error: DirectoryError,
    },
    /// A client stands twice in the owner's list.
    ClientTwice {
        /// Which.
        client: String,
    },
    /// A region ends outside of the segment.
    OutOfBounds {
        /// Whose.
        client: String,
        /// The segment's size, bytes.
        size: u64,
    },
    /// Two channels share bytes, or one has two regions.
    Overlap {
        /// The one.
        first: String,
        /// The other.
        second: String,
    },

    /// Two channels that belong into different files lie on one page.
    SharedPage {
        /// The one; none for the header and the channels that no client writes.
        first: Option<String>,
        /// The other.
        second: String,
    },
    /// A client is a party of channels in more files than one message brings.
    TooManyFiles {
        /// Which.
        client: String,
        /// How many it can be.
        limit: usize,
    },

    /// The segment takes more memory than the machine has.
    TooLarge {
        /// What it takes, bytes; the largest number if it is none.
        size: u64,
        /// What the machine has, bytes.
        memory: u64,
    },

    /// An object of a board cannot be built.
    Layout {
        /// Which.
        object: String,
        /// Why.
        error: LayoutError,
    },

    /// There is no door.
    NotRunning {
        /// The application.
        app: String,
        /// Where its door would be.
        door: PathBuf,
    },
    /// There is a door, and nobody behind it.
    Stale {
        /// The application.
        app: String,
        /// What is left of it.
        door: PathBuf,
    },
    /// Something that no owner makes is where the door belongs.
    NotASocket {
        /// Where.
        door: PathBuf,
    },
    /// The door is shut to this user.
    NotPermitted {
        /// The application.
        app: String,
        /// Who said so, and why.
        reason: String,
    },
    /// The owner has no client of that name.
    UnknownClient {
        /// The name.
        client: String,
        /// What the owner said.
        reason: String,
    },
    /// A client of that name is attached.
    NameTaken {
        /// The name.
        client: String,
        /// What the owner said.
        reason: String,
    },
    /// There is no such object on the board.
    NoObject {
        /// What was asked for.
        object: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The object is as we say, and has no such part.
    NoPart {
        /// The object.
        object: String,
        /// What was asked for.
        part: String,
    },
    /// Another process plays this part, or too many do.
    PartTaken {
        /// The object.
        object: String,
        /// The part.
        part: String,
        /// What the owner said.
        reason: String,
    },
    /// The owner's object is another one than ours.
    ObjectDiffers {
        /// Which.
        object: String,
        /// What differs.
        what: &'static str,
        /// What we have.
        ours: String,
        /// What the owner has.
        theirs: String,
    },
    /// The owner speaks another version at the door.
    WrongDoorVersion {
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
    /// The owner ended the conversation without an answer, again and again.
    TurnedAway {
        /// The application.
        app: String,
    },
    /// What is behind the door is no owner of ours.
    NotADoor {
        /// Why.
        problem: &'static str,
    },

    /// The file does not start as a segment.
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
    /// The file's size is not fixed: whoever holds it could take it from under us.
    NotSealed,
    /// What we are to write counts as locked memory, and is more than this process may lock.
    MemoryLimit {
        /// Its bytes.
        bytes: u64,
    },
    /// The door and the header contradict each other.
    Inconsistent {
        /// In what.
        what: &'static str,
    },

    /// The client is no party of that channel.
    NoChannel {
        /// Which.
        channel: String,
        /// The channels that it is a party of.
        known: Vec<String>,
    },
    /// The client is the other party of that channel.
    WrongRole {
        /// Which.
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

    /// Linux refused something about a door.
    Door {
        /// Its socket.
        door: PathBuf,
        /// What was refused.
        error: taut_sys::Error,
    },
    /// The segment cannot be opened for those who only read.
    NoProc {
        /// What was refused.
        error: taut_sys::Error,
    },
    /// Linux refused something that is about no path.
    System(taut_sys::Error),
}

/// What to do about what Linux refused, if that needs no path.
fn remedy_without_path(error: taut_sys::Error) -> &'static str {
    match error.errno {
        taut_sys::EMFILE | taut_sys::ENFILE | taut_sys::ENOMEM => remedy(error),
        _ => "",
    }
}

/// What to do about what Linux refused, of a folder or of what is in it. Starts with a colon, or is empty.
fn remedy(error: taut_sys::Error) -> &'static str {
    match error.errno {
        taut_sys::EACCES | taut_sys::EPERM => {
            ": give this user the right to it, or set TAUT_RUNTIME_DIR to a folder of its own"
        }
        taut_sys::ENOENT | taut_sys::ENOTDIR => {
            ": make the folder that it is in, or set TAUT_RUNTIME_DIR to one that is there"
        }
        taut_sys::EROFS => ": set TAUT_RUNTIME_DIR to a folder that can be written",
        taut_sys::ENOSPC | taut_sys::EDQUOT => {
            ": make room there, or set TAUT_RUNTIME_DIR to a folder elsewhere"
        }
        taut_sys::EADDRINUSE => ": somebody made it at this moment; try again",
        taut_sys::EMFILE => ": let this process open more files (`ulimit -n`)",
        taut_sys::ENFILE => ": let this machine open more files (`sysctl fs.file-max`)",
        taut_sys::ENOMEM => ": this machine, or this process's limits, give no more memory",
        _ => "",
    }
}

/// Why a folder cannot hold doors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderProblem {
    /// It could not be made, or looked at.
    System(taut_sys::Error),
    /// It is a symbolic link, or no folder at all.
    NotAFolder,
    /// It belongs to this user, who is not us.
    OtherOwner(u32),
    /// Others may write to it: its mode.
    WritableByOthers(u32),
    /// Another process has held its lock for too long.
    Busy,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName { name } => {
                write!(
                    f,
                    "`{}` is no name: use 1 to 64 letters, digits, `-` or `_` (an object of a board: 32)",
                    name.escape_debug()
                )
            }
            Self::Folder { path, problem } => write!(f, "the folder of doors, {}: {problem}", path.display()),
            Self::PathTooLong { path } => write!(
                f,
                "{} is too long for a socket (107 bytes): set TAUT_RUNTIME_DIR to a shorter folder",
                path.display()
            ),
            Self::AlreadyRunning { app, pid } => {
                write!(f, "{app} is running already, as process {pid}: end that one first")
            }
            Self::UnknownGroup { group } => {
                write!(f, "the manifest grants a group `{group}` that this machine does not know: create it")
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
            Self::SharedPage { first: Some(first), second } => {
                write!(
                    f,
                    "channels {first} and {second} share a page of 4096 bytes and belong into different files: other \
                     clients write or read them, or one wakes a task and the other does not"
                )
            }
            Self::SharedPage { first: None, second } => {
                write!(f, "channel {second} lies on a page of channels that its client does not write")
            }
            Self::TooManyFiles { client, limit } => write!(
                f,
                "client {client} reads channels of so many other clients that it needs more than {limit} files"
            ),
            Self::TooLarge { size, memory } => write!(
                f,
                "the segment takes {size} bytes, and this machine has {memory}: use smaller values, or fewer places for them"
            ),
            Self::NotRunning { app, door } => write!(
                f,
                "{app} is not running (no {}): start it, or set TAUT_RUNTIME_DIR as it was set for {app}",
                door.display()
            ),
            Self::Stale { app, door } => write!(
                f,
                "{app} is not running: it died and left {}; starting it again removes that",
                door.display()
            ),
            Self::NotASocket { door } => write!(
                f,
                "the door, {}, is no socket, so no owner left it there: take it away, or set TAUT_RUNTIME_DIR to another \
                 folder",
                door.display()
            ),
            Self::NotPermitted { app, reason } => write!(f, "{app} does not let this user in: {reason}"),
            Self::UnknownClient { client, reason } => write!(f, "no client `{client}`: {reason}"),
            Self::NameTaken { client, reason } => {
                write!(f, "client `{client}` is attached already: {reason}")
            }
            Self::WrongDoorVersion { ours, theirs } => write!(
                f,
                "the application speaks version {theirs} at its door, this client {ours}: build both with the same taut"
            ),
            Self::NoAnswer { app } => {
                write!(f, "{app} did not answer within two seconds: is it stopped?")
            }
            Self::TurnedAway { app } => {
                write!(f, "{app} turned us away for two seconds: too many are asking; try again")
            }
            Self::NotADoor { problem } => write!(f, "what answers is not an application of taut: {problem}"),
            Self::WrongMagic => f.write_str("what was handed out is not a segment of taut"),
            Self::WrongByteOrder => {
                f.write_str("the segment is of the other byte order: build client and application for one")
            }
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
            Self::NotSealed => {
                f.write_str("the segment's size is not sealed: it could vanish under its users")
            }
            Self::MemoryLimit { bytes } => write!(
                f,
                "the {bytes} bytes of what this client writes count as locked memory, of which this process may not have so much: \
                 raise its limit (`ulimit -l`), or give it CAP_IPC_LOCK"
            ),
            Self::Inconsistent { what } => {
                write!(f, "the door and the segment disagree about the {what}: attach again")
            }
            Self::Layout { object, error } => write!(f, "object {object} cannot be built: {error}"),
            Self::NoObject { object, known } if known.is_empty() => {
                write!(f, "no object `{object}`: the board is empty")
            }
            Self::NoObject { object, known } => {
                write!(f, "no object `{object}` on this board: it has {}", known.join(", "))
            }
            Self::NoPart { object, part } => write!(f, "object {object} has no part `{part}`"),
            Self::PartTaken { object, part, reason } => {
                write!(f, "part `{part}` of object {object} is taken: {reason}")
            }
            Self::ObjectDiffers { object, what, ours, theirs } => write!(
                f,
                "object {object} differs in its {what}: this program has `{ours}`, the board `{theirs}`"
            ),
            Self::NoChannel { channel, known } if known.is_empty() => {
                write!(f, "no channel `{channel}`: this client is a party of none")
            }
            Self::NoChannel { channel, known } => {
                write!(f, "no channel `{channel}` for this client: it has {}", known.join(", "))
            }
            Self::WrongRole { channel, ours, theirs } => {
                write!(f, "this program {ours} channel {channel}, but by the manifest its client {theirs} it")
            }
            Self::LayoutDiffers { channel, ours, theirs } => write!(
                f,
                "channel {channel} carries another type: this program has `{ours}`, the application `{theirs}`"
            ),
            Self::Door { door, error } => {
                write!(f, "the door, {}: {error}{}", door.display(), remedy(*error))
            }
            Self::NoProc { error } => write!(
                f,
                "{error}: is /proc mounted? Clients that only read are given memory that was opened anew through it"
            ),
            Self::System(error) => write!(f, "{error}{}", remedy_without_path(*error)),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Directory { error, .. } => Some(error),
            Self::Layout { error, .. } => Some(error),
            Self::System(error) | Self::Door { error, .. } | Self::NoProc { error } => Some(error),
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
                write!(f, "belongs to user {uid}, not to us: have it removed, or set TAUT_RUNTIME_DIR")
            }
            Self::WritableByOthers(mode) => {
                write!(f, "may be written by others (mode {mode:04o}): chmod go-w, or set TAUT_RUNTIME_DIR")
            }
            Self::Busy => f.write_str("another process has held its lock for two seconds: try again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Linux refuses about a folder or what is in it, by what is to be done; about no path, only what the path is not needed
    /// for.
    #[test]
    fn what_linux_refuses_says_what_to_do() {
        let refused = |errno| taut_sys::Error { call: "call", errno };
        for (errnos, remedy, is_of_no_path) in [
            (&[taut_sys::EACCES, taut_sys::EPERM][..], ": give this user the right to it", false),
            (&[taut_sys::ENOENT, taut_sys::ENOTDIR], ": make the folder that it is in", false),
            (&[taut_sys::EROFS], ": set TAUT_RUNTIME_DIR to a folder that can be written", false),
            (&[taut_sys::ENOSPC, taut_sys::EDQUOT], ": make room there", false),
            (&[taut_sys::EADDRINUSE], ": somebody made it at this moment; try again", false),
            (&[taut_sys::EMFILE], ": let this process open more files (`ulimit -n`)", true),
            (&[taut_sys::ENFILE], ": let this machine open more files (`sysctl fs.file-max`)", true),
            (&[taut_sys::ENOMEM], ": this machine, or this process's limits, give no more memory", true),
        ] {
            for &errno in errnos {
                let error = refused(errno);
                let of_folder = FolderProblem::System(error).to_string();
                assert!(of_folder.starts_with(&format!("{error}{remedy}")), "{of_folder}");
                let door = Error::Door { door: "/run/x.sock".into(), error }.to_string();
                assert!(door.starts_with(&format!("the door, /run/x.sock: {error}{remedy}")), "{door}");
                let of_none = Error::System(error).to_string();
                let expected = if is_of_no_path { of_folder } else { error.to_string() };
                assert_eq!(of_none, expected);
            }
        }
        let unknown = refused(taut_sys::ECONNRESET);
        assert_eq!(FolderProblem::System(unknown).to_string(), unknown.to_string());
    }

    /// Where what is wrong with one is another sentence than what is wrong between two, and an empty list than a list.
    #[test]
    fn each_case_has_its_sentence() {
        let text = |text: &str| text.to_owned();
        let overlap = |second| Error::Overlap { first: text("a"), second: text(second) }.to_string();
        assert_eq!(overlap("a"), "channel a has two different regions");
        assert_eq!(overlap("b"), "channels a and b share bytes");
        let object = |known| Error::NoObject { object: text("a"), known }.to_string();
        assert_eq!(object(vec![]), "no object `a`: the board is empty");
        assert_eq!(object(vec![text("b"), text("c")]), "no object `a` on this board: it has b, c");
        let channel = |known| Error::NoChannel { channel: text("a"), known }.to_string();
        assert_eq!(channel(vec![]), "no channel `a`: this client is a party of none");
        assert_eq!(channel(vec![text("b"), text("c")]), "no channel `a` for this client: it has b, c");
    }

    #[test]
    fn an_error_has_its_source() {
        use std::error::Error as _;
        let error = taut_sys::Error { call: "call", errno: taut_sys::EPERM };
        let directory = DirectoryError { line: 3, problem: "the channel is named twice" };
        let client = || "ui".to_owned();
        for (outer, source) in [
            (Error::System(error), error.to_string()),
            (Error::Door { door: PathBuf::new(), error }, error.to_string()),
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
