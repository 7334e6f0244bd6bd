// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How a client refuses forged segments that a false listener hands out.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "test code")]

mod support;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use support::*;
use taut_segment::{Error, Owner, OwnerSocket, attach_in, found_in};
use taut_sys::memory::{self, Seals};
use taut_sys::socket::{self, Poll};

const LINE: &str = "levels reads mechanism=sdrtw value=8 capacity=1 readers=0 offset=128 size=1024 triggered=no waits=no history=0 service=no layout=u64\n";
const BYTES: u64 = 4096;

/// A header, made from the documentation.
fn header() -> Vec<u8> {
    let mut header = b"TAUTSEG\0".to_vec();
    for word in [0x0102_0304u32, 3, 128, 0] {
        header.extend(word.to_ne_bytes());
    }
    for long in [BYTES, 77, 88] {
        header.extend(long.to_ne_bytes());
    }
    header.resize(128, 0);
    header
}

/// A file of a reply: where it begins, its bytes, and 1 if the client may write it.
type File = [u64; 3];

/// A reply with one file, which is the whole segment.
fn reply(version: u16, code: u16, text: &[u8], total: u64) -> Vec<u8> {
    reply_with(version, code, text, total, &[[0, total, 0]])
}

fn reply_with(version: u16, code: u16, text: &[u8], total: u64, files: &[File]) -> Vec<u8> {
    let mut reply = b"TAUTDOOR".to_vec();
    reply.extend(version.to_le_bytes());
    reply.extend(code.to_le_bytes());
    reply.extend((text.len() as u32).to_le_bytes());
    reply.extend([77, 88, total].into_iter().flat_map(u64::to_le_bytes));
    reply.extend((files.len() as u64).to_le_bytes());
    reply.extend(files.iter().flatten().flat_map(|number| number.to_le_bytes()));
    reply.extend(text);
    reply
}

fn file(content: &[u8], len: u64, seals: Seals) -> OwnedFd {
    let fd = memory::memfd(c"forged", len, seals).unwrap();
    let map = memory::map_shared(fd.as_fd(), len as usize, true).unwrap();
    let count = content.len().min(map.len());
    // SAFETY: `count` bytes are in both; no other code has the file.
    unsafe { map.ptr().copy_from_nonoverlapping(content.as_ptr(), count) };
    fd
}

/// The client's result when its request gets this reply.
fn answer(bytes: &[u8], files: &[BorrowedFd<'_>]) -> Result<(), Error> {
    let folder = folder();
    let listener = socket::bind(&folder.path().join("cochlear.sock")).unwrap();
    socket::listen(listener.as_fd(), 8).unwrap();
    std::thread::scope(|scope| {
        let client = scope.spawn(|| attach_in(folder.path(), APP, "ui").map(drop));
        socket::poll(&mut [Poll::readable(listener.as_fd())], Some(PATIENCE)).unwrap();
        let connection = socket::accept(listener.as_fd()).unwrap();
        socket::poll(&mut [Poll::readable(connection.as_fd())], Some(PATIENCE)).unwrap();
        let mut request = [0; 100];
        let got = socket::receive(connection.as_fd(), &mut request).unwrap().bytes;
        assert_eq!(request[..got], *b"TAUTDOOR\x05\x00\x02\x00ui");
        assert_eq!(socket::send(connection.as_fd(), bytes, files), Ok(bytes.len()));
        client.join().unwrap()
    })
}

fn granted(file: &OwnedFd) -> Error {
    answer(&reply(5, 0, LINE.as_bytes(), BYTES), &[file.as_fd()]).unwrap_err()
}

fn damaged(at: usize, bytes: &[u8]) -> Error {
    let mut header = header();
    header[at..at + bytes.len()].copy_from_slice(bytes);
    granted(&file(&header, BYTES, Seals::FIXED))
}

#[test]
fn a_faithful_forgery_is_accepted() {
    // Otherwise the refusals below would prove nothing.
    let file = file(&header(), BYTES, Seals::FIXED);
    assert_eq!(answer(&reply(5, 0, LINE.as_bytes(), BYTES), &[file.as_fd()]), Ok(()));
}

#[test]
fn headers() {
    assert_eq!(damaged(0, b"TAUTSEX"), Error::WrongMagic);
    assert_eq!(damaged(8, &0x0403_0201u32.to_ne_bytes()), Error::WrongByteOrder);
    assert_eq!(damaged(12, &9u32.to_ne_bytes()), Error::WrongFormat { ours: 3, theirs: 9 });
    assert_eq!(damaged(16, &64u32.to_ne_bytes()), Error::WrongHeaderSize { ours: 128, theirs: 64 });
    assert_eq!(damaged(24, &(2 * BYTES).to_ne_bytes()), Error::Inconsistent { what: "size" });
    assert_eq!(damaged(32, &78u64.to_ne_bytes()), Error::Inconsistent { what: "layout" });
    assert_eq!(damaged(40, &89u64.to_ne_bytes()), Error::Inconsistent { what: "epoch" });
}

#[test]
fn files() {
    let sized = |len| granted(&file(&header(), len, Seals::FIXED));
    assert_eq!(sized(BYTES - 1), Error::Truncated { expected: 4096, actual: 4095 });
    assert_eq!(sized(64), Error::Truncated { expected: 4096, actual: 64 });
    assert_eq!(sized(BYTES + 1), Error::SizeDiffers { expected: 4096, actual: 4097 });
    for seals in [Seals::NONE, Seals::SHRINK, Seals::GROW] {
        assert_eq!(granted(&file(&header(), BYTES, seals)), Error::NotSealed);
    }
    let tmp = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut &tmp, &header()).unwrap();
    tmp.set_len(BYTES).unwrap();
    assert_eq!(granted(&OwnedFd::from(tmp)), Error::NotSealed, "a file on a disk cannot be sealed");
    // The reply claims fewer bytes than a header has: the client refuses before it maps anything.
    let empty = file(&header(), 64, Seals::FIXED);
    let error = answer(&reply(5, 0, b"", 64), &[empty.as_fd()]).unwrap_err();
    assert_eq!(error, Error::Truncated { expected: 128, actual: 64 });
}

#[test]
fn a_writer_is_not_satisfied_with_reading() {
    let text = LINE.replace("reads", "writes");
    let file = file(&header(), BYTES, Seals::FIXED);
    let file = memory::reopen_read_only(file.as_fd()).unwrap();
    let said = |writes| reply_with(5, 0, text.as_bytes(), BYTES, &[[0, BYTES, writes]]);
    let error = answer(&said(1), &[file.as_fd()]).unwrap_err();
    assert_eq!(error.to_string(), "mmap: Permission denied (EACCES)");
    for no_right in [0, 2, u64::MAX] {
        let error = answer(&said(no_right), &[file.as_fd()]).unwrap_err();
        assert_eq!(error, Error::Inconsistent { what: "channels that this client writes" });
    }
}

#[test]
fn replies() {
    let file = file(&header(), BYTES, Seals::FIXED);
    let with_file = |bytes: &[u8]| answer(bytes, &[file.as_fd()]).unwrap_err();
    let text = |text: &[u8]| with_file(&reply(5, 0, text, BYTES));
    assert!(matches!(text(b"levels\n"), Error::Directory { .. }));
    assert!(matches!(text(&[0xff; 100]), Error::NotAnApplication { .. }));
    let outside = LINE.replace("size=1024", "size=8192");
    assert!(matches!(text(outside.as_bytes()), Error::OutOfBounds { .. }));
    let none = answer(&reply(5, 0, LINE.as_bytes(), BYTES), &[]).unwrap_err();
    let differ = Error::NotAnApplication { problem: "it hands out other files than its answer describes" };
    assert_eq!(none, differ);
    let two = answer(&reply(5, 0, LINE.as_bytes(), BYTES), &[file.as_fd(); 2]).unwrap_err();
    assert_eq!(two, differ);
    let version = Error::WrongProtocolVersion { ours: 5, theirs: 6 };
    assert_eq!(with_file(&reply(6, 2, b"this application speaks version 6", 0)), version);
    assert_eq!(with_file(&reply(6, 0, LINE.as_bytes(), BYTES)), version);
    assert!(matches!(with_file(&reply(5, 99, b"", 0)), Error::NotAnApplication { .. }));
    assert!(matches!(
        with_file(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        Error::NotAnApplication { .. }
    ));
    let mut huge = reply(5, 0, b"", BYTES);
    huge[12..16].fill(0xff);
    assert_eq!(with_file(&huge), Error::NotAnApplication { problem: "its answer is longer than the limit" });
    // The client shows the text of an untrusted listener without its control characters.
    let error = with_file(&reply(5, 3, b"go \x1b[2J away\n", 0));
    assert_eq!(error.to_string(), "no client `ui`: go [2J away");
}

#[test]
fn parts() {
    let first = file(&header(), BYTES, Seals::FIXED);
    let second = file(&[], 100, Seals::FIXED);
    // A segment of two pages, the second of which has 100 bytes.
    let total = BYTES + 100;
    first_says(&first, total);
    let said = |parts: &[File], files: &[BorrowedFd<'_>]| {
        answer(&reply_with(5, 0, LINE.as_bytes(), total, parts), files)
    };
    let both = [first.as_fd(), second.as_fd()];
    assert_eq!(said(&[[0, BYTES, 0], [BYTES, 100, 1]], &both), Ok(()));
    let differ =
        Err(Error::NotAnApplication { problem: "it hands out other files than its answer describes" });
    for wrong in [
        // The header in no file, in two files, in the second file.
        [[BYTES, 100, 1], [BYTES, 100, 1]],
        [[0, BYTES, 0], [0, BYTES, 1]],
        [[0, 0, 0], [0, 100, 1]],
        [[BYTES, 100, 1], [0, BYTES, 0]],
        // Between pages, inside the other file, behind the end, beyond all numbers.
        [[0, BYTES, 0], [BYTES + 128, 100, 1]],
        [[0, BYTES + 1, 0], [BYTES, 100, 1]],
        [[0, BYTES, 0], [2 * BYTES, 100, 1]],
        [[0, BYTES, 0], [BYTES, u64::MAX, 1]],
    ] {
        assert_eq!(said(&wrong, &both), differ, "{wrong:?}");
    }
    assert_eq!(said(&[[0, BYTES, 0]], &both), differ);
    assert_eq!(said(&[], &[]), differ);
    let short = Error::SizeDiffers { expected: 99, actual: 100 };
    assert_eq!(said(&[[0, BYTES, 0], [BYTES, 99, 1]], &both), Err(short));
    let many = reply_with(5, 0, LINE.as_bytes(), total, &[[0, BYTES, 0]; 33]);
    let error = answer(&many, &[first.as_fd()]).unwrap_err();
    assert_eq!(error, Error::NotAnApplication { problem: "its answer has more files than the limit" });
}

/// Writes the size of the segment into a header.
fn first_says(file: &OwnedFd, total: u64) {
    let map = memory::map_shared(file.as_fd(), 4096, true).unwrap();
    // SAFETY: within the mapping; no other code has the file.
    unsafe { map.ptr().add(24).cast::<u64>().write(total) };
}

#[test]
fn half_an_answer() {
    let bytes = reply(5, 0, LINE.as_bytes(), BYTES);
    let error = answer(&bytes[..50], &[]).unwrap_err();
    // The listener hangs up after half a reply: the client may try again, but by then no process listens.
    assert!(
        matches!(error, Error::Stale { .. } | Error::NoAnswer { .. } | Error::TurnedAway { .. }),
        "{error}"
    );
}

/// A client tries again if the listener hangs up without a reply; then it finds that no process listens any more.
#[test]
fn a_refused_client_tries_again() {
    let folder = folder();
    let socket = folder.path().join("cochlear.sock");
    let listener = socket::bind(&socket).unwrap();
    socket::listen(listener.as_fd(), 8).unwrap();
    std::thread::scope(|scope| {
        let client = scope.spawn(|| attach_in(folder.path(), APP, "ui").map(drop));
        for reads in [false, true, false] {
            socket::poll(&mut [Poll::readable(listener.as_fd())], Some(PATIENCE)).unwrap();
            let connection = socket::accept(listener.as_fd()).unwrap();
            // If the listener has not read the request, the connection is reset; otherwise it ends.
            socket::poll(&mut [Poll::readable(connection.as_fd())], Some(PATIENCE)).unwrap();
            if reads {
                socket::receive(connection.as_fd(), &mut [0; 100]).unwrap();
            }
        }
        drop(listener);
        assert_eq!(client.join().unwrap(), Err(Error::Stale { app: APP.to_owned(), socket }));
    });
}

/// The listener accepts none of the waiting connections: a new client waits for a place in the backlog, and gets
/// none.
#[test]
fn where_too_many_wait_one_is_turned_away() {
    let folder = folder();
    let socket = folder.path().join("cochlear.sock");
    let listener = socket::bind(&socket).unwrap();
    socket::listen(listener.as_fd(), 1).unwrap();
    let waiting = std::iter::from_fn(|| socket::connect(&socket, Duration::ZERO).ok());
    let waiting: Vec<_> = waiting.take(100).collect();
    assert!(waiting.len() < 100, "there is a place for all");
    let error = attach_in(folder.path(), APP, "ui").map(drop).unwrap_err();
    assert_eq!(error, Error::TurnedAway { app: APP.to_owned() });
    // A live process holds the socket, whichever it is: nobody takes the socket for a dead owner's.
    let found = OwnerSocket { app: APP.to_owned(), socket, pid: Some(0) };
    assert_eq!(found_in(folder.path()), Ok(vec![found]));
    let created = Owner::create_in(folder.path(), APP, SIZE, clients(), None).map(drop);
    assert_eq!(created, Err(Error::AlreadyRunning { app: APP.to_owned(), pid: 0 }));
}
