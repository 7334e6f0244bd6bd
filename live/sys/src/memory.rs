// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Locking, anonymous and shared mappings, sealed memory files.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::check;
use crate::{Error, Result};

/// Locks every page of the process, present and future, in memory: the kernel never reads one back from a disk, and
/// populates later mappings at once. Thread stacks count in full.
///
/// From then on the C library's heap has one arena. Otherwise the C library would make more arenas for threads that
/// allocate, up to eight for each processor, of 64 MiB of addresses each. These stay unused, but count as locked, also
/// towards RLIMIT_MEMLOCK. Call this function from the first thread of a process, before that thread starts others.
///
/// # Errors
/// EPERM or ENOMEM without CAP_IPC_LOCK and beyond RLIMIT_MEMLOCK.
pub fn lock_all() -> Result {
    one_arena();
    // SAFETY: plain integers.
    check("mlockall", unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) }).map(drop)
}

#[cfg(target_env = "gnu")]
fn one_arena() {
    // SAFETY: plain integers. The call accepts them; without it, more memory counts as locked.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Other C libraries have one arena.
#[cfg(not(target_env = "gnu"))]
fn one_arena() {}

/// As [`lock_all`], but locks a page when it is first touched: large stacks and mappings that are never used cost
/// nothing. Before real-time threads start, touch the pages that they use.
///
/// # Errors
/// As [`lock_all`].
pub fn lock_all_on_fault() -> Result {
    let flags = libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT;
    // SAFETY: plain integers.
    check("mlockall", unsafe { libc::mlockall(flags) }).map(drop)
}

/// Undoes [`lock_all`] and every single lock.
///
/// # Errors
/// None is expected.
pub fn unlock_all() -> Result {
    // SAFETY: no arguments.
    check("munlockall", unsafe { libc::munlockall() }).map(drop)
}

/// Locks, and populates, the pages that hold these bytes.
///
/// # Errors
/// EPERM or ENOMEM without CAP_IPC_LOCK and beyond RLIMIT_MEMLOCK; ENOMEM where nothing is mapped.
pub fn lock(ptr: *const u8, len: usize) -> Result {
    // SAFETY: the kernel checks the range; locking changes no content.
    check("mlock", unsafe { libc::mlock(ptr.cast(), len) }).map(drop)
}

/// A mapping, ended on drop.
///
/// It gives only addresses: code that reads or writes through them must prove that nothing races, or use atomics.
/// Holding a mapping proves that `len` bytes at `ptr` are mapped, page-aligned, and stay mapped while the value lives.
/// Accesses cause no fault (SIGBUS) in anonymous mappings and in files sealed against shrinking.
#[derive(Debug)]
pub struct Mapping {
    ptr: NonNull<u8>,
    len: usize,
    writable: bool,
    locked: Result,
}

// SAFETY: a mapping belongs to the process, not to a thread; the type itself never accesses its bytes.
unsafe impl Send for Mapping {}
// SAFETY: as above; `&Mapping` gives only addresses.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// The first byte; a multiple of the page size.
    pub fn ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never true: an empty mapping cannot be made.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the memory was mapped for writing. Otherwise a write is a fault.
    pub fn writable(&self) -> bool {
        self.writable
    }

    /// `Ok` if the mapping is locked in memory, else the error of locking it.
    pub fn locked(&self) -> Result {
        self.locked
    }

    /// Locks the mapping in memory, which populates it; [`Mapping::locked`] keeps the result.
    ///
    /// # Errors
    /// EPERM or ENOMEM without CAP_IPC_LOCK and beyond RLIMIT_MEMLOCK.
    pub fn lock(&mut self) -> Result {
        self.locked = lock(self.ptr(), self.len);
        self.locked
    }

    fn new(len: usize, writable: bool, flags: i32, fd: i32) -> Result<Self> {
        let access = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a new mapping at an address of the kernel's choice replaces no existing one.
        let ptr = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, fd, 0) };
        if ptr == libc::MAP_FAILED {
            return Err(Error::last("mmap"));
        }
        let ptr = NonNull::new(ptr.cast()).ok_or(Error { call: "mmap", errno: libc::EFAULT })?;
        Ok(Self { ptr, len, writable, locked: Err(Error { call: "mlock", errno: libc::ENOMEM }) })
    }

    /// Makes all pages present, and writable if the mapping is writable. On kernels before 5.14 only the mapping's
    /// own populating flag has an effect.
    fn populate(&self) {
        let advice = if self.writable { libc::MADV_POPULATE_WRITE } else { libc::MADV_POPULATE_READ };
        // SAFETY: the range is this mapping; populating changes no content.
        unsafe { libc::madvise(self.ptr().cast(), self.len, advice) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is exactly what was mapped, and nothing refers to it: the addresses that the mapping gave
        // out are valid only while the mapping lives, which is the duty of the code that uses them.
        unsafe { libc::munmap(self.ptr().cast(), self.len) };
    }
}

/// Private memory: zeroed, populated, and locked if the process may lock it ([`Mapping::locked`] reports it).
///
/// # Errors
/// ENOMEM; EINVAL for no bytes.
pub fn map_anonymous(len: usize) -> Result<Mapping> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    let mut map = Mapping::new(len, true, flags, -1)?;
    let _ = map.lock();
    Ok(map)
}

/// As [`map_anonymous`], neither populated nor locked.
#[cfg(test)]
pub(crate) fn map_untouched(len: usize) -> Result<Mapping> {
    Mapping::new(len, true, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
}

/// Maps the first `len` bytes of a file, shared with other mappings of it; populated, not locked.
///
/// The caller makes sure that the file has that many bytes and keeps them ([`seals`], [`file_size`]): an access
/// beyond its end is a fault.
///
/// # Errors
/// EACCES to write to a file that was opened for reading; EPERM to write to a file that is sealed against writing.
pub fn map_shared(fd: BorrowedFd<'_>, len: usize, writable: bool) -> Result<Mapping> {
    let map = Mapping::new(len, writable, libc::MAP_SHARED | libc::MAP_POPULATE, fd.as_raw_fd())?;
    map.populate();
    Ok(map)
}

/// What a memory file is sealed against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seals(i32);

impl Seals {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Becoming shorter.
    pub const SHRINK: Self = Self(libc::F_SEAL_SHRINK);
    /// Becoming longer.
    pub const GROW: Self = Self(libc::F_SEAL_GROW);
    /// Any writing.
    pub const WRITE: Self = Self(libc::F_SEAL_WRITE);
    /// Writing by any process, except through mappings for writing that exist already. A process that may write to a
    /// file can also punch holes into it; under this seal no process can. Since Linux 5.1.
    pub const FUTURE_WRITE: Self = Self(libc::F_SEAL_FUTURE_WRITE);
    /// Further seals.
    pub const SEAL: Self = Self(libc::F_SEAL_SEAL);
    /// A size that is fixed for good.
    pub const FIXED: Self = Self(libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL);

    /// Both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `self` includes all of `other`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A file that exists only in memory, of `len` zero bytes, with seals. Closed on exec. Only its owner may open it
/// again.
///
/// # Errors
/// EINVAL for a name of over 249 bytes; EMFILE, ENFILE, ENOMEM; EFBIG beyond what the machine can hold.
pub fn memfd(name: &CStr, len: u64, seals: Seals) -> Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name ends with a zero and outlives the call.
    let fd = check("memfd_create", unsafe { libc::memfd_create(name.as_ptr(), flags) })?;
    // SAFETY: the descriptor is new and ours alone.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let size = libc::off_t::try_from(len).map_err(|_| Error { call: "ftruncate", errno: libc::EFBIG })?;
    // SAFETY: plain integers.
    check("ftruncate", unsafe { libc::ftruncate(fd.as_raw_fd(), size) })?;
    // A memory file is created with mode 0777: a process that received it for reading could open it again for
    // writing.
    // SAFETY: plain integers.
    check("fchmod", unsafe { libc::fchmod(fd.as_raw_fd(), 0o600) })?;
    seal(fd.as_fd(), seals)?;
    Ok(fd)
}

/// Adds seals to a memory file.
///
/// # Errors
/// EPERM if it is sealed against further seals; EBUSY for [`Seals::WRITE`] while it is mapped for writing; EINVAL for
/// another kind of file, and for a seal that this kernel does not know.
pub fn seal(fd: BorrowedFd<'_>, seals: Seals) -> Result {
    // SAFETY: plain integers.
    check("fcntl(F_ADD_SEALS)", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, seals.0) }).map(drop)
}

/// A secret memory file, of `len` zero bytes: its size is fixed, and no process can punch holes into it, not even one
/// that may write to it. Its pages never move and count as locked, in every process that maps it. Not for words that
/// processes sleep on: the kernel refuses futexes there. Closed on exec; it cannot be opened again.
///
/// # Errors
/// ENOSYS before Linux 5.14, and where it is switched off (the default until 6.5, unless `secretmem.enable=1` is
/// set); EMFILE, ENFILE, ENOMEM.
pub fn secret_file(len: u64) -> Result<OwnedFd> {
    // SAFETY: plain integers.
    let fd = unsafe { libc::syscall(libc::SYS_memfd_secret, libc::O_CLOEXEC) };
    let fd = check("memfd_secret", i32::try_from(fd).unwrap_or(-1))?;
    // SAFETY: the descriptor is new and ours alone.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    resize(fd.as_fd(), len)?;
    Ok(fd)
}

/// Whether a file is a secret memory file.
///
/// # Errors
/// None is expected.
pub fn is_secret(fd: BorrowedFd<'_>) -> Result<bool> {
    // The kernel's number for this kind of file, which libc does not define.
    const SECRETMEM_MAGIC: libc::c_long = 0x5345_434d;
    // SAFETY: integers, for which zero is a value.
    let mut status: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is ours and writable.
    check("fstatfs", unsafe { libc::fstatfs(fd.as_raw_fd(), &mut status) })?;
    Ok(status.f_type == SECRETMEM_MAGIC)
}

/// Maps the first `len` bytes of a secret file for writing, shared with other mappings of it; populated.
///
/// # Errors
/// EAGAIN beyond RLIMIT_MEMLOCK without CAP_IPC_LOCK; EINVAL for a file of another kind, or with fewer bytes.
pub fn map_secret(fd: BorrowedFd<'_>, len: usize) -> Result<Mapping> {
    if !is_secret(fd)? || file_size(fd)? < len as u64 {
        return Err(Error { call: "mmap", errno: libc::EINVAL });
    }
    let mut map = Mapping::new(len, true, libc::MAP_SHARED, fd.as_raw_fd())?;
    // The kernel does not populate these pages at mmap. The loop touches pages larger than 4 KiB more than once.
    for page in (0..len).step_by(4096) {
        // SAFETY:
        // - within the mapping, and within the file, whose size was checked and is fixed; aligned, as any byte is
        // - atomic, and changes nothing: all other code accesses it atomically or from outside this program
        unsafe { AtomicU8::from_ptr(map.ptr().add(page)) }.fetch_or(0, Ordering::Relaxed);
    }
    // All secret memory is locked.
    map.locked = Ok(());
    Ok(map)
}

/// What a memory file is sealed against.
///
/// # Errors
/// EINVAL for another kind of file.
pub fn seals(fd: BorrowedFd<'_>) -> Result<Seals> {
    // SAFETY: plain integers.
    check("fcntl(F_GET_SEALS)", unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) }).map(Seals)
}

/// The size of a file, bytes.
///
/// # Errors
/// EIO; none is expected of a memory file.
pub fn file_size(fd: BorrowedFd<'_>) -> Result<u64> {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `status` is ours and writable.
    check("fstat", unsafe { libc::fstat(fd.as_raw_fd(), &mut status) })?;
    Ok(u64::try_from(status.st_size).unwrap_or(0))
}

/// Changes the size of a file.
///
/// # Errors
/// EPERM if it is sealed against that; EINVAL if it was opened for reading.
pub fn resize(fd: BorrowedFd<'_>, len: u64) -> Result {
    let size = libc::off_t::try_from(len).map_err(|_| Error { call: "ftruncate", errno: libc::EFBIG })?;
    // SAFETY: plain integers.
    check("ftruncate", unsafe { libc::ftruncate(fd.as_raw_fd(), size) }).map(drop)
}

/// Punches a hole into a file: its bytes there are gone, and a process that maps it takes a page fault at the next
/// access. Any process that may write to a memory file can do this, unless a seal forbids it; callers use it to check
/// that the seals hold.
///
/// # Errors
/// EPERM if the file is sealed against writing ([`Seals::WRITE`] or [`Seals::FUTURE_WRITE`]); EBADF if it was opened
/// for reading; EOPNOTSUPP for a [`secret_file`].
pub fn punch_hole(fd: BorrowedFd<'_>, offset: u64, len: u64) -> Result {
    let number = |number: u64| {
        libc::off_t::try_from(number).map_err(|_| Error { call: "fallocate", errno: libc::EFBIG })
    };
    let (offset, len) = (number(offset)?, number(len)?);
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: plain integers.
    check("fallocate", unsafe { libc::fallocate(fd.as_raw_fd(), mode, offset, len) }).map(drop)
}

/// Opens the same file again, for reading: it allows no writable mapping.
///
/// # Errors
/// EACCES if the file belongs to another user; ENOENT where `/proc` is not mounted.
pub fn reopen_read_only(fd: BorrowedFd<'_>) -> Result<OwnedFd> {
    std::fs::File::open(format!("/proc/self/fd/{}", fd.as_raw_fd()))
        .map(OwnedFd::from)
        .map_err(|error| Error::from_io("open below /proc/self/fd", &error))
}

/// Whether a descriptor may write to its file.
///
/// # Errors
/// None is expected.
pub fn is_writable(fd: impl AsFd) -> Result<bool> {
    // SAFETY: plain integers.
    let flags = check("fcntl(F_GETFL)", unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_GETFL) })?;
    Ok(flags & libc::O_ACCMODE != libc::O_RDONLY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::thread_usage;

    fn touch(map: &Mapping) {
        for page in (0..map.len()).step_by(4096) {
            // SAFETY: within the mapping, which this test alone uses.
            unsafe { map.ptr().add(page).write_volatile(1) };
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls mmap with MAP_POPULATE")]
    fn mapped_memory_does_not_fault() {
        let anonymous = map_anonymous(1 << 20).unwrap();
        assert_eq!(anonymous.ptr().addr() % 4096, 0);
        if let Err(error) = anonymous.locked() {
            println!("not locked: {error}");
        }
        let fd = memfd(c"taut-test", 1 << 20, Seals::FIXED).unwrap();
        let shared = map_shared(fd.as_fd(), 1 << 20, true).unwrap();
        for map in [&anonymous, &shared] {
            let before = thread_usage();
            touch(map);
            assert_eq!(thread_usage().since(before).minor_faults, 0);
        }
        assert_eq!(map_anonymous(0).unwrap_err().errno, libc::EINVAL);
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls memfd_create")]
    fn mappings_end_with_their_owner() {
        // By name: at the address, another thread of the process may have mapped something since.
        let is_mapped =
            || std::fs::read_to_string("/proc/self/maps").unwrap().contains("taut-ends-with-its-owner");
        let fd = memfd(c"taut-ends-with-its-owner", 1 << 16, Seals::FIXED).unwrap();
        let map = map_shared(fd.as_fd(), 1 << 16, true).unwrap();
        assert!(is_mapped());
        drop(map);
        assert!(!is_mapped());
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls mlock")]
    fn unmapped_memory_cannot_be_locked() {
        // The first page of a process is never mapped (`vm.mmap_min_addr`).
        assert_eq!(lock(std::ptr::null(), 4096).unwrap_err().errno, libc::ENOMEM);
    }

    fn punch(fd: &OwnedFd, len: u64) -> Result {
        punch_hole(fd.as_fd(), 0, len)
    }

    fn remove(map: &Mapping) -> Result {
        // SAFETY: the range is this mapping, to which no reference exists.
        check("madvise", unsafe { libc::madvise(map.ptr().cast(), map.len(), libc::MADV_REMOVE) }).map(drop)
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls memfd_create")]
    fn a_writer_can_punch_holes_unless_sealed() {
        let fd = memfd(c"taut-test", 8192, Seals::SHRINK.and(Seals::GROW)).unwrap();
        let map = map_shared(fd.as_fd(), 8192, true).unwrap();
        touch(&map);
        assert_eq!((punch(&fd, 4096), remove(&map)), (Ok(()), Ok(())));
        // SAFETY: within the mapping, which this test alone uses.
        let first = || unsafe { map.ptr().read_volatile() };
        assert_eq!(first(), 0, "what was written is gone");
        touch(&map);
        seal(fd.as_fd(), Seals::FUTURE_WRITE.and(Seals::SEAL)).unwrap();
        let errno = |result: Result| result.unwrap_err().errno;
        assert_eq!((errno(punch(&fd, 4096)), errno(remove(&map))), (libc::EPERM, libc::EPERM));
        assert_eq!(map_shared(fd.as_fd(), 8192, true).unwrap_err().errno, libc::EPERM);
        assert_eq!(first(), 1);
        touch(&map);
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls memfd_secret")]
    fn a_secret_file_has_no_holes() {
        let fd = match secret_file(8192) {
            Ok(fd) => fd,
            Err(error) => return println!("skipped: no secret memory here ({error})"),
        };
        let map = map_secret(fd.as_fd(), 8192).unwrap();
        let before = thread_usage();
        touch(&map);
        assert_eq!(thread_usage().since(before).minor_faults, 0);
        assert_eq!(punch(&fd, 4096).unwrap_err().errno, libc::EOPNOTSUPP);
        // SAFETY: the range is this mapping.
        unsafe { libc::munlock(map.ptr().cast(), map.len()) };
        assert_eq!(remove(&map).unwrap_err().errno, libc::EINVAL);
        for len in [0, 4096, 16384] {
            assert_eq!(resize(fd.as_fd(), len).unwrap_err().errno, libc::EINVAL);
        }
        // SAFETY: within the mapping, which this test alone uses.
        assert_eq!(unsafe { map.ptr().read_volatile() }, 1);
        assert_eq!(map_secret(fd.as_fd(), 16384).unwrap_err().errno, libc::EINVAL);
        let memfd = memfd(c"taut-test", 8192, Seals::FIXED).unwrap();
        assert_eq!(map_secret(memfd.as_fd(), 8192).unwrap_err().errno, libc::EINVAL);
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls memfd_create")]
    fn seals_hold() {
        let fd = memfd(c"taut-test", 8192, Seals::FIXED).unwrap();
        assert_eq!(file_size(fd.as_fd()), Ok(8192));
        assert_eq!(seals(fd.as_fd()), Ok(Seals::FIXED));
        assert_eq!(resize(fd.as_fd(), 4096).unwrap_err().errno, libc::EPERM);
        assert_eq!(resize(fd.as_fd(), 16384).unwrap_err().errno, libc::EPERM);
        let loose = memfd(c"taut-test", 8192, Seals::NONE).unwrap();
        resize(loose.as_fd(), 4096).unwrap();
        assert_eq!(file_size(loose.as_fd()), Ok(4096));
        assert!(!seals(loose.as_fd()).unwrap().contains(Seals::SHRINK));
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls memfd_create")]
    fn reading_is_only_reading() {
        let fd = memfd(c"taut-test", 4096, Seals::FIXED).unwrap();
        let writer = map_shared(fd.as_fd(), 4096, true).unwrap();
        let reader = reopen_read_only(fd.as_fd()).unwrap();
        assert_eq!(is_writable(&fd), Ok(true));
        assert_eq!(is_writable(&reader), Ok(false));
        assert_eq!(map_shared(reader.as_fd(), 4096, true).unwrap_err().errno, libc::EACCES);
        let map = map_shared(reader.as_fd(), 4096, false).unwrap();
        // SAFETY: both within their mappings; one thread.
        unsafe {
            writer.ptr().write_volatile(42);
            assert_eq!(map.ptr().read_volatile(), 42);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls mallopt")]
    fn locking_everything() {
        // Affects all threads of the tests; none of them depends on it.
        for lock in [lock_all, lock_all_on_fault] {
            match lock() {
                Ok(()) => unlock_all().unwrap(),
                Err(error) => {
                    assert!(error.is_privilege() || error.errno == libc::ENOMEM, "{error}");
                    println!("skipped: {error}");
                }
            }
        }
    }
}
