// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Named shared memory between an application, its owner, and the application's clients: other processes, perhaps
//! of other users, perhaps hostile, perhaps killed at any instruction.
//!
//! The memory has no name in any file system. It is a memory file of the owner's; a client asks for it at the
//! owner's *door*, a Unix stream socket, and is handed a descriptor:
//!
//! ```text
//!   owner                                   client
//!   Owner::create ── binds APP.sock         attach(app, client)
//!     door thread <── request ───────────────  connects
//!                 ─── reply + descriptor ───>  verifies, maps
//!        holds the connection open            holds the connection open
//!   either side's death is the other side's end of file
//! ```
//!
//! One connection per client name at a time (of a [`board`]'s clients that only look, up to 128). The kernel closes it when the client dies, however it dies, and the
//! name is free again; nothing is left to clean up. When the owner dies, all that is left is its socket file,
//! which refuses connections; the next owner of that name, or [`remove_stale`], removes it.
//!
//! Programs that share objects of `taut-share` by name, without a manifest, do so on a [`board`].
//!
//! # The folder
//!
//! `$TAUT_RUNTIME_DIR`; else one that nobody else can have made: root's is `/run/taut`, another user's
//! `$XDG_RUNTIME_DIR/taut` or `/run/user/UID/taut`, whichever first is below a folder that is that user's alone to write.
//! Where there is none (a service's user; root of a user namespace, whose `/run` it is not) it is the one in `/dev/shm` that is
//! called `taut-UID`, or `taut-UID.` and more, and belongs to that user: it is found by its owner, whom nobody can forge, and
//! whoever takes the first name keeps nobody from starting. Users that a user namespace does not map are one user in it: there
//! set `$TAUT_RUNTIME_DIR`. The owner makes it with mode 0711 and refuses it if it is
//! not a folder, is not its own, or may be written by others. A client refuses it on the same grounds, except that
//! a folder named by `$TAUT_RUNTIME_DIR` may belong to another user, who must then also be the user of the door.
//! The socket is `APP.sock`, mode 0600, or 0660 with the group that the manifest grants. A socket behind which nobody is any more
//! is replaced, also where a child that the dead owner had forked has it still; anything else in its place (a file, a pipe, a
//! link) stays as it is, and is named.
//!
//! # The segment, format 2
//!
//! Memory files, each a stretch of the segment's bytes that begins at a multiple of 4096. The first holds the header and the
//! channels that no client writes; the owner alone may write there. What a client writes lies in files of its own, and each
//! client is given the descriptors of those files that it is a party of.
//!
//! | file | sealed | who may write |
//! |---|---|---|
//! | the first | `F_SEAL_SHRINK`, `F_SEAL_GROW`, `F_SEAL_FUTURE_WRITE` (since Linux 5.1), `F_SEAL_SEAL` | the owner, by the mapping that it made before |
//! | of channels that one client writes, no other reads, and by which it wakes no task | secret memory (`memfd_secret`), where the machine has it: fixed in its size, without holes | that client, the owner |
//! | of a client's other channels; of an object on a board | `F_SEAL_SHRINK`, `F_SEAL_GROW`, `F_SEAL_SEAL` | that client, the owner; the object's parts |
//!
//! The first 128 bytes, integers in the machine's own order:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | magic, `TAUTSEG` and a zero byte |
//! | 8 | 4 | `0x01020304`: read as `0x04030201`, the segment is of the other byte order |
//! | 12 | 4 | format version, 2 |
//! | 16 | 4 | bytes of this header, 128 |
//! | 20 | 4 | 0 |
//! | 24 | 8 | bytes of the segment, this header included |
//! | 32 | 8 | layout hash: 64-bit FNV-1a of the layout text (below) |
//! | 40 | 8 | epoch: random, another for every run of the owner |
//! | 48 | 4 | the owner's process id, in its own name space |
//! | 52 | 4 | 0 |
//! | 56 | 8 | the owner's start time, clock ticks since boot (field 22 of `/proc/PID/stat`) |
//! | 64 | 4 | state: 0 booting, 1 running, 2 ended; atomic |
//! | 68 | 60 | 0 |
//!
//! The regions of the channels follow, at the offsets in the directory.
//!
//! # The directory
//!
//! UTF-8 text, at most 64 KiB; one line per channel that the client is a party of, ended by a line feed, fields
//! separated by one space, in this order, numbers in decimal:
//!
//! ```text
//! levels reads mechanism=sdrtw value=184 capacity=1 readers=0 offset=128 size=768 triggered=no layout=frame:u64 levels:u8*176
//! ```
//!
//! The channel's name; what the client does with it (`writes` or `reads`); the protocol; bytes of a value; values
//! that can wait, or copies of a state's value; readers that have a place of their own (0 where the layout says it);
//! bytes from the segment's start to the region (a multiple of 128, at least 128); bytes of the region; whether a
//! value of it releases a task; the layout of a value, which is all the rest of the line and may hold spaces. Names
//! are 1 to 64 ASCII letters, digits, `-` or `_`; a layout is 1 to 4096 bytes without control characters.
//!
//! The *layout text* is, for every client in the owner's order, the line `client NAME` and its directory.
//!
//! # The door, version 3
//!
//! Integers here are little-endian. The client sends one request:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | magic, `TAUTDOOR` |
//! | 8 | 2 | version, 3 |
//! | 10 | 2 | bytes of the name, 1 to 64 |
//! | 12 | | the client's name |
//!
//! and gets one reply, whose first 16 bytes mean the same in all versions:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | magic, `TAUTDOOR` |
//! | 8 | 2 | the owner's version, 3 |
//! | 10 | 2 | 0 granted, 1 malformed, 2 version, 3 unknown client, 4 name taken, 5 not permitted |
//! | 12 | 4 | bytes of the text, at most 65536 |
//! | 16 | 8 | layout hash, as in the header; 0 if refused |
//! | 24 | 8 | epoch, as in the header; 0 if refused |
//! | 32 | 8 | bytes of the segment; 0 if refused |
//! | 40 | 2 | number of files, at most 32; 0 if refused |
//! | 42 | 6 | 0 |
//! | 48 | 24 each | the files, the segment's first one first |
//! | | | the text: the client's directory, or one line for a person |
//!
//! Of a file:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | where it begins in the segment, a multiple of 4096 |
//! | 8 | 8 | its bytes |
//! | 16 | 4 | 1 if the client may write there, else 0 |
//! | 20 | 4 | 0 |
//!
//! If granted, the files' descriptors come with the reply's first byte (`SCM_RIGHTS`), in the order of the files. Of those that the
//! client may not write, they were opened for reading only. The client then keeps the connection and sends nothing
//! more: whatever it sends ends the connection. A request has two seconds; a refused connection is closed.
//!
//! # How long an attach takes
//!
//! One conversation: nobody sleeps or asks again unless more wait than there is room for, or the owner has just ended. What
//! takes longer is two ordinary threads, ours and the door's, until Linux lets them run. A real-time thread that does not let go
//! of the door's CPU keeps the door from answering until Linux gives ordinary threads their 5 % (0.95 s by default; 937 ms
//! measured, 0.7 ms without that thread). So the door belongs on a CPU without such threads: it takes its creator's affinity,
//! and an application of a manifest creates it on the housekeeping CPUs.
//!
//! # Who can do what to whom
//!
//! - A client cannot resize a file, nor (as another user) open it again with more rights.
//! - A client can write to its own channels' files and to no other: not to the header, nor to what tasks or other clients
//!   write. The protocols bound every index that it can change.
//! - Whoever may write to an ordinary memory file can also punch holes into it, which cannot be sealed away meanwhile: whoever
//!   reads there then finds zeros, takes a page fault, and waits until the hole is made, but gets no signal. So can a client
//!   with the channels that wake a task by its values (the kernel refuses futexes in secret memory), with all its own
//!   channels where the machine has no secret memory, and a part of a board's object with that object. With a secret file
//!   nobody can.
//! - Processes of the owner's own user, and root, can do more by other ways (`ptrace`, `/proc/PID/fd`): against
//!   them this is a guard rail and no wall.

pub mod board;
mod client;
mod directory;
mod door;
mod error;
mod files;
mod folder;
mod header;
mod message;
mod owner;

pub use client::{Attached, Liveness, attach, attach_in};
pub use directory::{Directory, DirectoryError, Entry, Role};
pub use door::{DoorReport, Visitor};
pub use error::{Error, FolderProblem};
pub use folder::{Found, found, found_in, remove_stale, remove_stale_in, runtime_folder, stale, stale_in};
pub use header::{HEADER_BYTES, State};
pub use owner::Owner;

/// The format of segments that this crate makes and accepts.
pub const FORMAT: u32 = 2;

/// The version of the door's messages that this crate speaks.
pub const DOOR_VERSION: u16 = 3;

/// Regions that different clients write lie in different pages of so many bytes, whatever pages the machine has.
pub const PAGE_BYTES: u64 = 4096;
