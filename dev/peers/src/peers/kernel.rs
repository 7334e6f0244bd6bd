// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Channels of the kernel, without waiting: a system call each way, and two copies.

use std::ffi::CString;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::across::fresh_name;
use crate::object::{About, Alone, Ends, Kind};

/// A kind of channel.
pub(super) trait Means: 'static {
    const NAME: &'static str;

    /// Opens a channel for messages of `bytes` bytes. Returns the descriptor to write to and the one to read from.
    fn open(bytes: usize) -> io::Result<(OwnedFd, OwnedFd)>;

    /// Sends without waiting. Returns the bytes sent, or a number below 0.
    fn send(fd: i32, message: &[u8]) -> isize {
        // SAFETY: the message is ours and readable for its length.
        unsafe { libc::write(fd, message.as_ptr().cast(), message.len()) }
    }

    /// Receives without waiting. Returns the bytes received, or a number below 0.
    fn receive(fd: i32, message: &mut [u8]) -> isize {
        // SAFETY: the message is ours and writable for its length.
        unsafe { libc::read(fd, message.as_mut_ptr().cast(), message.len()) }
    }
}

pub(super) struct Pipe;

impl Means for Pipe {
    const NAME: &'static str = "pipe";

    fn open(_: usize) -> io::Result<(OwnedFd, OwnedFd)> {
        let mut ends = [0; 2];
        // SAFETY: two descriptors fit.
        check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK | libc::O_CLOEXEC) })?;
        Ok((owned(ends[1]), owned(ends[0])))
    }
}

pub(super) struct Seqpacket;

impl Means for Seqpacket {
    const NAME: &'static str = "unix seqpacket";

    fn open(_: usize) -> io::Result<(OwnedFd, OwnedFd)> {
        let mut ends = [0; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: two descriptors fit.
        check(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) })?;
        Ok((owned(ends[0]), owned(ends[1])))
    }
}

/// A queue of 10 messages, the most that an ordinary user may have.
pub(super) struct MessageQueue;

impl Means for MessageQueue {
    const NAME: &'static str = "POSIX mq";

    fn open(bytes: usize) -> io::Result<(OwnedFd, OwnedFd)> {
        let name = CString::new(format!("/{}", fresh_name(0)))?;
        // SAFETY: all fields are integers, for which zero is a value.
        let mut settings: libc::mq_attr = unsafe { std::mem::zeroed() };
        settings.mq_maxmsg = 10;
        settings.mq_msgsize = bytes as i64;
        let open = |flags: i32| {
            let flags = flags | libc::O_NONBLOCK | libc::O_CLOEXEC;
            // SAFETY: the name ends with a zero; the settings are ours. On Linux the result is a descriptor.
            check(unsafe { libc::mq_open(name.as_ptr(), flags, 0o600, &settings) }).map(owned)
        };
        let ends = (open(libc::O_CREAT | libc::O_WRONLY), open(libc::O_RDONLY));
        // SAFETY: the name ends with a zero. The queue lives on until both are closed.
        unsafe { libc::mq_unlink(name.as_ptr()) };
        Ok((ends.0?, ends.1?))
    }

    fn send(fd: i32, message: &[u8]) -> isize {
        // SAFETY: the message is ours and readable for its length.
        unsafe { libc::mq_send(fd, message.as_ptr().cast(), message.len(), 0) as isize }
    }

    fn receive(fd: i32, message: &mut [u8]) -> isize {
        // SAFETY: the message is ours and writable for its length.
        unsafe { libc::mq_receive(fd, message.as_mut_ptr().cast(), message.len(), std::ptr::null_mut()) }
    }
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Owns a descriptor that a call has just returned.
fn owned(fd: i32) -> OwnedFd {
    // SAFETY: it is new and open, and has no other owner (private callers).
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A kind of channel as a queue.
pub(super) struct Kernel<M>(PhantomData<M>);

impl<M: Means> About for Kernel<M> {
    const NAME: &'static str = M::NAME;
    const KIND: Kind = Kind::Queue;
    const LINES: [&'static str; 2] = ["a system call, 2 L", "a system call, 2 L"];
}

impl<M: Means, const N: usize> Ends<N> for Kernel<M> {
    type Writer = OwnedFd;
    type Reader = OwnedFd;

    #[inline(always)]
    fn put(writer: &mut OwnedFd, value: &[u64; N]) -> bool {
        // SAFETY: words are bytes, without padding.
        let bytes = unsafe { std::slice::from_raw_parts(value.as_ptr().cast::<u8>(), size_of_val(value)) };
        M::send(writer.as_raw_fd(), bytes) >= 0
    }

    #[inline(always)]
    fn take<R>(reader: &mut OwnedFd, look: impl FnOnce(&[u64; N]) -> R) -> Option<R> {
        let mut value = [0; N];
        // SAFETY: words are bytes, without padding, and any bytes are words.
        let bytes = unsafe { std::slice::from_raw_parts_mut(value.as_mut_ptr().cast::<u8>(), 8 * N) };
        (M::receive(reader.as_raw_fd(), bytes) >= 0).then(|| look(&value))
    }
}

impl<M: Means, const N: usize> Alone<N> for Kernel<M> {
    fn pair() -> Result<(OwnedFd, OwnedFd), String> {
        M::open(8 * N).map_err(|error| error.to_string())
    }
}
