// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Named shared memory between an application (the owner) and its clients. A client is another process. It may run as
//! another user, it may be hostile, and it may be killed at any instruction.
//!
//! The memory has no name in any file system: it consists of memory files that the owner makes. A client asks for
//! them at the owner's *listener*, a Unix stream socket, and receives descriptors:
//!
//! ```text
//!   owner                                   client
//!   Owner::create ── binds APP.sock         attach(app, client)
//!   listener thread <── request ─────────────  connects
//!                   ─── reply + descriptor ─>  verifies, maps
//!        holds the connection open            holds the connection open
//!   either side's death is the other side's end of file
//! ```
//!
//! Each client name has one connection at a time, or as many as the owner says for a client that only reads (up to 128 for such an
//! endpoint of a [`registry`]). The
//! kernel closes the connection when the client dies, however it dies, and the name is free again; nothing is left to
//! clean up. When the owner dies, only its socket file is left, which refuses connections; the next owner of that
//! name, or [`remove_stale`], removes the file.
//!
//! Programs that share objects of `taut-share` by name, without a manifest, use a [`registry`].
//!
//! # The folder
//!
//! `$TAUT_RUNTIME_DIR` if it is set; else a folder that no other user can have made: `/run/taut` for root; for
//! another user `$XDG_RUNTIME_DIR/taut` or `/run/user/UID/taut`, the first one below a folder that belongs to that
//! user and that no other user may write. Where there is none (a service's user, or root of a user namespace, who
//! does not own `/run`), the folder lies in `/dev/shm`, belongs to that user and is called `taut-UID` or `taut-UID.`
//! and a suffix. taut finds it by its owner, which nobody can forge, so an application starts even if another user
//! has taken the first name. A user namespace shows all users that it does not map as one user: set
//! `$TAUT_RUNTIME_DIR` there.
//! The owner makes the folder with mode 0711. It refuses the folder if it is not a folder, if it belongs to another
//! user, or if others may write to it. A client refuses it for the same reasons, except that a folder named by
//! `$TAUT_RUNTIME_DIR` may belong to another user; the owner must then run as that user.
//! The socket is `APP.sock`, with mode 0600, or 0660 and the group that the manifest grants. A new owner replaces the
//! socket of a dead one, even if a forked child of the dead owner still holds it open. Anything else in its place (a
//! file, a pipe, a link) stays as it is, and the error names it.
//!
//! # The segment, format 3
//!
//! The segment consists of memory files. Each is a stretch of the segment's bytes that begins at a multiple of 4096.
//! The first holds the header and the channels in which no client stores words; only the owner may write there. The
//! channels in which clients do, and the event counts on which they wait, lie in other files, and each client receives the descriptors of the files whose channels it
//! uses.
//!
//! | file | sealed | who may write |
//! |---|---|---|
//! | the first | `F_SEAL_SHRINK`, `F_SEAL_GROW`, `F_SEAL_FUTURE_WRITE` (since Linux 5.1), `F_SEAL_SEAL` | the owner, through the mapping that it made before |
//! | channels that one client writes or takes, that no other client reads, and that wake no task | secret memory (`memfd_secret`), where the machine has it: its size is fixed, and nobody can punch holes | that client, the owner |
//! | a client's other channels, and its event counts; an object of a registry | `F_SEAL_SHRINK`, `F_SEAL_GROW`, `F_SEAL_SEAL` | that client, the owner; the object's endpoints |
//!
//! The first 128 bytes are the header, with integers in the machine's own byte order:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | magic, `TAUTSEG` and a zero byte |
//! | 8 | 4 | `0x01020304`: read as `0x04030201`, the segment is of the other byte order |
//! | 12 | 4 | format version, 3 |
//! | 16 | 4 | bytes of this header, 128 |
//! | 20 | 4 | 0 |
//! | 24 | 8 | bytes of the segment, this header included |
//! | 32 | 8 | layout hash: 64-bit FNV-1a of the layout text (below) |
//! | 40 | 8 | epoch: random, different for every run of the owner |
//! | 48 | 4 | the owner's process id, in its own PID namespace |
//! | 52 | 4 | 0 |
//! | 56 | 8 | the owner's start time, clock ticks since boot (field 22 of `/proc/PID/stat`) |
//! | 64 | 4 | state: 0 booting, 1 running, 2 ended; atomic |
//! | 68 | 4 | 0 |
//! | 72 | 56 | a byte for each of the first 56 services: 0 running, 1 paused, 2 stopped; atomic |
//!
//! The regions of the channels follow, at the offsets in the directory.
//!
//! # The directory
//!
//! UTF-8 text, at most 64 KiB, with one line for each channel that the client uses. A line ends with a line feed. One
//! space separates the fields, which stand in this order; numbers are decimal:
//!
//! ```text
//! levels reads mechanism=sdrtw value=184 capacity=1 readers=0 offset=128 size=768 triggered=no waits=no history=0 service=0 layout=frame:u64 levels:u8*176
//! ```
//!
//! The fields are: the channel's name; what the client does with it (`writes`, `reads`, or `takes`: it reads, and stores
//! in the region how far it has read); the protocol; bytes of a
//! value; the values that a queue can hold, or the copies of a state's value; the readers that have a place of their
//! own (0 where the layout says how many); bytes from the segment's start to the region (a multiple of 128, at least
//! 128); bytes of the region; whether a value of the channel releases a task; bytes from the segment's start to the event
//! count on which the client waits for a value (a multiple of 128, at least 128; a `u32` on a line of 128 bytes), or
//! `no`; with how many earlier values a new reading end of a queue begins; the service of the task that writes, by its byte in
//! the header, or `no`; only of a channel whose blocks the client reserves, `reserves=` with the bytes from the segment's start to
//! the line of 128 bytes in which it does (a multiple of 128, at least 128); the layout of a value, which is the rest of the line
//! and may hold spaces. Names are 1 to 64 ASCII letters, digits, `-` or `_`; a layout is 1 to 4096 bytes
//! without control characters.
//!
//! The *layout text* holds, for every client in the owner's order, the line `client NAME` and the client's directory.
//!
//! # The listener's messages, version 5
//!
//! Integers here are little-endian. The client sends one request:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | magic, `TAUTDOOR` |
//! | 8 | 2 | version, 5 |
//! | 10 | 2 | bytes of the name, 1 to 64 |
//! | 12 | | the client's name |
//!
//! The listener sends one reply, whose first 16 bytes mean the same in all versions:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | magic, `TAUTDOOR` |
//! | 8 | 2 | the owner's version, 5 |
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
//! Each file is described by:
//!
//! | offset | bytes | content |
//! |---|---|---|
//! | 0 | 8 | where it begins in the segment, a multiple of 4096 |
//! | 8 | 8 | its bytes |
//! | 16 | 4 | 1 if the client may write there, else 0 |
//! | 20 | 4 | 0 |
//!
//! If the request is granted, the files' descriptors come with the reply's first byte (`SCM_RIGHTS`), in the order of
//! the files. The owner opens the files that the client may not write for reading only. The client then keeps the
//! connection open and sends nothing more: any byte that it sends ends the connection. A request must arrive within
//! two seconds; the listener closes a refused connection.
//!
//! A request for the name `_channels`, which no client has, lists what the application offers ([`offered`]). The reply has no files,
//! hash, epoch and size, and the listener closes the connection. Its text holds, for each client in the owner's order, the line
//! `#NAME max=8 attached=3` (how many processes may be attached, and how many are) and the client's directory. If this is longer than
//! 64 KiB, the last line is `#`, and the clients that would not fit are left out.
//!
//! # How long an attach takes
//!
//! An attach is one request and one reply. The client sleeps and asks again only if the backlog is full or the owner
//! has just ended. Otherwise an attach takes as long as Linux takes to run two ordinary threads: the caller's and the
//! listener's. A real-time thread that never yields the listener's CPU keeps the listener from answering until Linux
//! gives ordinary threads their 5 % (after 0.95 s by default; 937 ms measured, 0.7 ms without that thread). So the
//! listener belongs on a CPU without such threads: it takes its creator's affinity, and an application with a
//! manifest creates it on the housekeeping CPUs.
//!
//! # What a client can do to others
//!
//! - A client cannot resize a file. A client of another user cannot open a file again with more rights either.
//! - A client can write to the files of its own channels and to no others: not to the header, and not to what tasks
//!   or other clients write. The protocols bound every index that it can change.
//! - A process that may write to an ordinary memory file can also punch holes into it, and no seal prevents that
//!   while the process may write. A reader of the hole then finds zeros, takes a page fault and waits until the hole
//!   is made, but gets no signal. A client can punch holes into its channels that wake a task and into its event
//!   counts (the kernel refuses futexes in secret memory), and into all its own channels where the machine has no secret memory. An endpoint of
//!   a registry's object can punch holes into that object. Nobody can punch holes into a file of secret memory.
//! - Processes of the owner's own user, and root, can do more in other ways (`ptrace`, `/proc/PID/fd`): against them
//!   this is a guard rail and no wall.

mod client;
mod directory;
mod error;
mod files;
mod folder;
mod header;
mod listener;
mod message;
mod offer;
mod owner;
pub mod registry;

pub use client::{Attached, Liveness, attach, attach_in, offered, offered_in};
pub use directory::{ChannelEntry, Directory, DirectoryError, EVENT_COUNT_BYTES, RESERVATION_BYTES, Role};
pub use error::{Error, FolderProblem};
pub use folder::{
    OwnerSocket, applications_folder, found, found_in, remove_stale, remove_stale_in, runtime_folder, stale,
    stale_in,
};
pub use header::{HEADER_BYTES, OwnerState, SERVICES_MAX, ServiceState};
pub use listener::{AttachedClient, ListenerReport};
pub use offer::{OfferedClient, OfferedClients};
pub use owner::{ClientGrant, Owner};

/// The format of segments that this crate makes and accepts.
pub const FORMAT: u32 = 3;

/// The version of the listener's messages that this crate speaks.
pub const PROTOCOL_VERSION: u16 = 5;

/// Regions that different clients write lie in different pages of this many bytes, whatever the machine's page size.
pub const PAGE_BYTES: u64 = 4096;
