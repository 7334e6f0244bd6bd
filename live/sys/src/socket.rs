// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Unix stream sockets that carry file descriptors, and waiting for several of them.
//!
//! Every descriptor made here is closed on exec and does not block: only [`poll`] waits.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use crate::error::{check, check_size};
use crate::{Error, Result};

/// The most descriptors that one message can carry.
pub const FD_LIMIT: usize = 32;

/// The most bytes that a socket's path may have.
pub const PATH_LIMIT: usize = 107;

/// A socket bound to `path` that does not listen yet: the caller can set mode and group before any client can
/// connect.
///
/// # Errors
/// EADDRINUSE if something is there; ENAMETOOLONG beyond [`PATH_LIMIT`]; EACCES, ENOENT as for a file.
pub fn bind(path: &Path) -> Result<OwnedFd> {
    let (address, len) = address("bind", path)?;
    let fd = stream_socket()?;
    // SAFETY: the address is ours, initialised, and `len` bytes long.
    check("bind", unsafe { libc::bind(fd.as_raw_fd(), std::ptr::from_ref(&address).cast(), len) })?;
    Ok(fd)
}

/// Lets clients connect; up to `backlog` connections wait.
///
/// # Errors
/// EINVAL for a socket that is not bound.
pub fn listen(fd: BorrowedFd<'_>, backlog: u16) -> Result {
    // SAFETY: plain integers.
    check("listen", unsafe { libc::listen(fd.as_raw_fd(), backlog.into()) }).map(drop)
}

/// Accepts the next waiting connection.
///
/// # Errors
/// EAGAIN if none waits; EMFILE and ENFILE without descriptors left.
pub fn accept(fd: BorrowedFd<'_>) -> Result<OwnedFd> {
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the address is not requested.
    let accepted =
        unsafe { libc::accept4(fd.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut(), flags) };
    let accepted = check("accept4", accepted)?;
    // SAFETY: the descriptor is new and ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(accepted) })
}

/// Connects to the socket at `path`. While the listener's backlog is full, waits for at most `patience` (zero: not at
/// all).
///
/// # Errors
/// ENOENT if there is no socket; ECONNREFUSED if no process listens any more; EACCES if its mode forbids it; EAGAIN
/// if there was no place in time; ENAMETOOLONG beyond [`PATH_LIMIT`].
pub fn connect(path: &Path, patience: Duration) -> Result<OwnedFd> {
    let (address, len) = address("connect", path)?;
    let fd = stream_socket()?;
    let once = || {
        // SAFETY: the address is ours, initialised, and `len` bytes long.
        check("connect", unsafe { libc::connect(fd.as_raw_fd(), std::ptr::from_ref(&address).cast(), len) })
    };
    // The call waits in the kernel's queue: a client that polled instead would starve beside a flood of connections.
    let deadline =
        crate::clock::monotonic_ns().saturating_add(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX));
    let mut result = once();
    while result.is_err_and(|error| error.would_block() || error.errno == libc::EINTR) {
        let left = deadline.saturating_sub(crate::clock::monotonic_ns()) / 1000;
        if left == 0 {
            break;
        }
        send_timeout(&fd, left)?;
        blocking(&fd, true)?;
        result = once();
        blocking(&fd, false)?;
    }
    result.map(|_| fd)
}

fn blocking(fd: &OwnedFd, blocking: bool) -> Result {
    let flags = if blocking { 0 } else { libc::O_NONBLOCK };
    // SAFETY: plain integers; no other flag of a fresh socket can be changed this way.
    check("fcntl(F_SETFL)", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags) }).map(drop)
}

/// Sets how long a blocking connect waits, µs; not 0, which would mean for ever.
fn send_timeout(fd: &OwnedFd, us: u64) -> Result {
    let time = libc::timeval {
        tv_sec: (us / 1_000_000) as libc::time_t,
        tv_usec: (us % 1_000_000) as libc::suseconds_t,
    };
    let len = size_of_val(&time) as libc::socklen_t;
    // SAFETY: the value is ours, readable and as long as we say.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_SNDTIMEO,
            std::ptr::from_ref(&time).cast(),
            len,
        )
    };
    check("setsockopt(SO_SNDTIMEO)", result).map(drop)
}

/// Ends the connection for both sides, even while a child that was just forked still has the descriptor.
///
/// # Errors
/// ENOTCONN if the connection has ended already.
pub fn shutdown(fd: BorrowedFd<'_>) -> Result {
    // SAFETY: plain integers.
    check("shutdown", unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_RDWR) }).map(drop)
}

/// Two ends that are connected to each other.
///
/// # Errors
/// EMFILE and ENFILE without descriptors left.
pub fn pair() -> Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the array is ours and has two places.
    check("socketpair", unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) })?;
    // SAFETY: both descriptors are new and ours alone.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

fn stream_socket() -> Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: plain integers.
    let fd = check("socket", unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?;
    // SAFETY: the descriptor is new and ours alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn address(call: &'static str, path: &Path) -> Result<(libc::sockaddr_un, libc::socklen_t)> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.len() > PATH_LIMIT {
        return Err(Error { call, errno: libc::ENAMETOOLONG });
    }
    // An empty path or a leading zero would mean the abstract namespace, which has no permissions.
    if bytes.is_empty() || bytes.contains(&0) {
        return Err(Error { call, errno: libc::EINVAL });
    }
    // SAFETY: integers, for which zero is a value.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    let len = std::mem::offset_of!(libc::sockaddr_un, sun_path) + bytes.len() + 1;
    Ok((address, len as libc::socklen_t))
}

/// The process at the other end, as the kernel saw it when it connected (or listened).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The process.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
    /// Its first group; [`peer_has_group`] checks the others.
    pub gid: u32,
}

/// The process at the other end.
///
/// # Errors
/// ENOTSOCK, ENOPROTOOPT for other descriptors.
pub fn peer(fd: BorrowedFd<'_>) -> Result<Peer> {
    let mut raw = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    option(fd, libc::SO_PEERCRED, std::slice::from_mut(&mut raw))?;
    Ok(Peer { pid: u32::try_from(raw.pid).unwrap_or(0), uid: raw.uid, gid: raw.gid })
}

/// Whether the process at the other end is in a group, as its first group or a further one.
///
/// # Errors
/// As [`peer`]; ERANGE for a process in more than 65536 groups.
pub fn peer_has_group(fd: BorrowedFd<'_>, group: u32) -> Result<bool> {
    if peer(fd)?.gid == group {
        return Ok(true);
    }
    let mut groups = vec![0u32; 256];
    loop {
        match option(fd, libc::SO_PEERGROUPS, &mut groups) {
            Ok(count) => return Ok(groups[..count].contains(&group)),
            Err(error) if error.errno == libc::ERANGE && groups.len() < 65536 => {
                groups.resize(groups.len() * 16, 0);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Reads a socket's option into `values`; returns how many the kernel wrote.
fn option<T: Copy>(fd: BorrowedFd<'_>, name: i32, values: &mut [T]) -> Result<usize> {
    let mut len = size_of_val(values) as libc::socklen_t;
    // SAFETY: `values` is ours and as long as we say; T is a plain integer or a structure of them.
    let result = unsafe {
        libc::getsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, name, values.as_mut_ptr().cast(), &mut len)
    };
    check("getsockopt", result)?;
    Ok((len as usize / size_of::<T>()).min(values.len()))
}

/// Room for [`FD_LIMIT`] descriptors in a control message, in words, because headers in it must be aligned.
const CONTROL_WORDS: usize = 18;
const _: () = {
    // SAFETY: computes a number.
    let needed = unsafe { libc::CMSG_SPACE((FD_LIMIT * size_of::<i32>()) as u32) } as usize;
    assert!(needed <= CONTROL_WORDS * size_of::<u64>());
};

/// Sends bytes, with descriptors attached to the first of them; returns how many bytes were sent.
///
/// # Errors
/// EAGAIN if there is no room; EPIPE if the other end is gone (without a signal); EINVAL for more than [`FD_LIMIT`]
/// descriptors.
pub fn send(fd: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<usize> {
    if fds.len() > FD_LIMIT {
        return Err(Error { call: "sendmsg", errno: libc::EINVAL });
    }
    let mut control = [0u64; CONTROL_WORDS];
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: integers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    if !fds.is_empty() {
        let payload = (fds.len() * size_of::<i32>()) as u32;
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: computes a number; it fits by the assertion above.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(payload) } as _;
        // SAFETY: the control buffer is aligned and long enough for one header and these descriptors, so the
        // first header exists and its data has room.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(payload) as _;
            let data = libc::CMSG_DATA(header);
            for (index, fd) in fds.iter().enumerate() {
                data.cast::<i32>().add(index).write_unaligned(fd.as_raw_fd());
            }
        }
    }
    // SAFETY: the message points to buffers that outlive the call; the kernel only reads them.
    check_size("sendmsg", unsafe {
        libc::sendmsg(fd.as_raw_fd(), &message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
    })
}

/// The result of a receive.
#[derive(Debug, Default)]
pub struct Received {
    /// The number of bytes; 0 at the end: the other side has closed.
    pub bytes: usize,
    /// Descriptors, in the order that they were sent; closed on drop and on exec.
    pub fds: Vec<OwnedFd>,
    /// Whether descriptors were lost because there were more than [`FD_LIMIT`].
    pub truncated: bool,
}

/// Receives bytes, and the descriptors that come with them. Allocates if there are any.
///
/// # Errors
/// EAGAIN if there is nothing yet; ECONNRESET if the other side closed without reading the bytes that this one sent.
pub fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<Received> {
    let mut control = [0u64; CONTROL_WORDS];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: integers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the message points to buffers that are ours, outlive the call and are as long as it says.
    let bytes = check_size("recvmsg", unsafe {
        libc::recvmsg(fd.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT)
    })?;
    let mut received =
        Received { bytes, fds: Vec::new(), truncated: message.msg_flags & libc::MSG_CTRUNC != 0 };
    // SAFETY: the headers were written by the kernel into the control buffer, whose length it updated; the macros
    // stay within it.
    let mut header = unsafe { libc::CMSG_FIRSTHDR(&message) };
    while !header.is_null() {
        // SAFETY: not null, so a whole header within the control buffer, aligned as the buffer is.
        let head = unsafe { &*header };
        if head.cmsg_level == libc::SOL_SOCKET && head.cmsg_type == libc::SCM_RIGHTS {
            // SAFETY: computes a number.
            let start = unsafe { libc::CMSG_LEN(0) } as usize;
            let count = (head.cmsg_len as usize).saturating_sub(start) / size_of::<i32>();
            for index in 0..count {
                // SAFETY: `count` descriptors follow the header, as the kernel's length says; each is new and
                // ours alone.
                received.fds.push(unsafe {
                    OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<i32>().add(index).read_unaligned())
                });
            }
        }
        // SAFETY: as for the first.
        header = unsafe { libc::CMSG_NXTHDR(&message, header) };
    }
    Ok(received)
}

/// A descriptor to wait for, and the result of the wait.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Poll<'fd> {
    raw: libc::pollfd,
    fd: std::marker::PhantomData<BorrowedFd<'fd>>,
}

impl<'fd> Poll<'fd> {
    /// Waits for nothing: the kernel skips negative descriptors.
    pub(crate) const NOTHING: Self =
        Self { raw: libc::pollfd { fd: -1, events: 0, revents: 0 }, fd: std::marker::PhantomData };

    /// Waits until there is something to read, or the other end is gone.
    pub fn readable(fd: BorrowedFd<'fd>) -> Self {
        Self::new(fd, libc::POLLIN)
    }

    /// Waits until there is room to write, or the other end is gone.
    pub fn writable(fd: BorrowedFd<'fd>) -> Self {
        Self::new(fd, libc::POLLOUT)
    }

    /// Waits only until the other end is gone.
    pub fn hung_up(fd: BorrowedFd<'fd>) -> Self {
        Self::new(fd, libc::POLLRDHUP)
    }

    fn new(fd: BorrowedFd<'fd>, events: libc::c_short) -> Self {
        Self { raw: libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 }, fd: std::marker::PhantomData }
    }

    /// Whether the awaited event happened, or the other end is gone.
    pub fn ready(&self) -> bool {
        self.raw.revents != 0
    }

    /// Whether the other end is gone (bytes that it sent before may still be read).
    pub fn gone(&self) -> bool {
        self.raw.revents & (libc::POLLHUP | libc::POLLRDHUP | libc::POLLERR) != 0
    }
}

/// Waits until one of these is ready, or `timeout` has passed (`None`: for ever); returns how many are ready. A
/// signal ends the wait with 0.
///
/// *Real-time* with a timeout of zero: one short system call.
///
/// # Errors
/// EINVAL for more than RLIMIT_NOFILE.
pub fn poll(polls: &mut [Poll<'_>], timeout: Option<Duration>) -> Result<usize> {
    let time = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `Poll` is a pollfd in memory; the slice is ours for the call; `time` is null or outlives it.
    let ready = unsafe {
        libc::ppoll(polls.as_mut_ptr().cast(), polls.len() as libc::nfds_t, time, std::ptr::null())
    };
    match check("ppoll", ready) {
        Ok(ready) => Ok(ready as usize),
        Err(error) if error.errno == libc::EINTR => {
            polls.iter_mut().for_each(|poll| poll.raw.revents = 0);
            Ok(0)
        }
        Err(error) => Err(error),
    }
}

/// Changes a path's group.
///
/// # Errors
/// EPERM if the caller is neither root nor in the group; otherwise as for a file.
pub fn set_group(path: &Path, group: u32) -> Result {
    std::os::unix::fs::lchown(path, None, Some(group)).map_err(|error| Error::from_io("lchown", &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Seals, file_size, memfd};
    use std::os::fd::AsFd;

    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("taut-sys-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls socketpair of AF_UNIX")]
    fn bytes_and_descriptors_arrive() {
        let folder = folder("socket");
        let path = folder.join("door");
        let listener = bind(&path).unwrap();
        assert_eq!(
            connect(&path, Duration::ZERO).unwrap_err().errno,
            libc::ECONNREFUSED,
            "bound, not listening"
        );
        listen(listener.as_fd(), 4).unwrap();
        assert!(accept(listener.as_fd()).unwrap_err().would_block());
        assert_eq!(bind(&path).unwrap_err().errno, libc::EADDRINUSE);

        let client = connect(&path, Duration::ZERO).unwrap();
        let mut waiting = [Poll::readable(listener.as_fd())];
        assert_eq!(poll(&mut waiting, Some(Duration::from_secs(5))), Ok(1));
        let server = accept(listener.as_fd()).unwrap();
        let me = Peer {
            pid: std::process::id(),
            uid: crate::process::effective_uid(),
            gid: crate::process::effective_gid(),
        };
        assert_eq!(peer(server.as_fd()), Ok(me));
        assert_eq!(peer_has_group(server.as_fd(), me.gid), Ok(true));
        assert_eq!(peer_has_group(server.as_fd(), 4_000_000_000), Ok(false));

        let mut buffer = [0; 64];
        assert!(receive(client.as_fd(), &mut buffer).unwrap_err().would_block());
        let files: Vec<_> =
            (1..=3).map(|kib| memfd(c"taut-test", kib * 1024, Seals::FIXED).unwrap()).collect();
        let fds: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        assert_eq!(send(server.as_fd(), b"three files", &fds), Ok(11));
        let received = receive(client.as_fd(), &mut buffer).unwrap();
        assert_eq!(&buffer[..received.bytes], b"three files");
        let sizes: Vec<_> = received.fds.iter().map(|fd| file_size(fd.as_fd()).unwrap()).collect();
        assert_eq!(sizes, [1024, 2048, 3072]);
        assert!(!received.truncated);
        let excess = [listener.as_fd(); FD_LIMIT + 1];
        assert_eq!(send(server.as_fd(), b"x", &excess).unwrap_err().errno, libc::EINVAL);

        let mut alive = [Poll::hung_up(client.as_fd())];
        assert_eq!(poll(&mut alive, Some(Duration::ZERO)), Ok(0));
        let copy = server.try_clone().unwrap();
        shutdown(server.as_fd()).unwrap();
        drop(server);
        assert_eq!(poll(&mut alive, Some(Duration::from_secs(5))), Ok(1), "in spite of the copy");
        assert!(alive[0].gone());
        assert_eq!(receive(client.as_fd(), &mut buffer).unwrap().bytes, 0);
        assert_eq!(send(client.as_fd(), b"x", &[]).unwrap_err().errno, libc::EPIPE);
        drop((copy, listener));
        assert_eq!(
            connect(&path, Duration::ZERO).unwrap_err().errno,
            libc::ECONNREFUSED,
            "nobody there any more"
        );
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!(connect(&path, Duration::ZERO).unwrap_err().errno, libc::ENOENT);
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls socket of AF_UNIX")]
    fn connecting_waits_for_a_place() {
        let folder = folder("backlog");
        let path = folder.join("door");
        let listener = bind(&path).unwrap();
        listen(listener.as_fd(), 0).unwrap();
        let _first = connect(&path, Duration::ZERO).unwrap();
        assert!(connect(&path, Duration::ZERO).unwrap_err().would_block());
        let start = crate::clock::monotonic_ns();
        assert!(connect(&path, Duration::from_millis(20)).unwrap_err().would_block());
        assert!(crate::clock::monotonic_ns() - start >= 19_000_000);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| connect(&path, Duration::from_secs(10)));
            std::thread::sleep(Duration::from_millis(10));
            drop(accept(listener.as_fd()).unwrap());
            let second = waiting.join().unwrap().unwrap();
            assert!(receive(second.as_fd(), &mut [0; 1]).unwrap_err().would_block(), "does not block again");
        });
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls sendmsg")]
    fn more_descriptors_than_there_is_room_for_are_closed() {
        // The test sends past this crate's own limit, as a hostile peer would.
        let (ours, theirs) = pair().unwrap();
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        for _ in 0..200 {
            let mut control = [0u64; 32];
            let byte = 1u8;
            let mut part = libc::iovec { iov_base: std::ptr::from_ref(&byte).cast_mut().cast(), iov_len: 1 };
            // SAFETY: as in `send`, with room for 40 descriptors.
            unsafe {
                let mut message: libc::msghdr = std::mem::zeroed();
                message.msg_iov = &mut part;
                message.msg_iovlen = 1;
                message.msg_control = control.as_mut_ptr().cast();
                message.msg_controllen = libc::CMSG_SPACE(160) as _;
                let header = libc::CMSG_FIRSTHDR(&message);
                (*header).cmsg_level = libc::SOL_SOCKET;
                (*header).cmsg_type = libc::SCM_RIGHTS;
                (*header).cmsg_len = libc::CMSG_LEN(160) as _;
                for index in 0..40 {
                    libc::CMSG_DATA(header).cast::<i32>().add(index).write_unaligned(theirs.as_raw_fd());
                }
                assert_eq!(libc::sendmsg(theirs.as_raw_fd(), &message, 0), 1);
            }
            let received = receive(ours.as_fd(), &mut [0; 8]).unwrap();
            assert!(received.truncated);
            assert!(received.fds.len() <= FD_LIMIT);
        }
        assert!(open() < 200, "descriptors leak");
    }

    #[test]
    fn paths_are_bounded() {
        let long = "x".repeat(PATH_LIMIT + 1);
        assert_eq!(bind(Path::new(&long)).unwrap_err().errno, libc::ENAMETOOLONG);
        assert_eq!(connect(Path::new(""), Duration::ZERO).unwrap_err().errno, libc::EINVAL);
        assert_eq!(connect(Path::new("\0abstract"), Duration::ZERO).unwrap_err().errno, libc::EINVAL);
    }
}
