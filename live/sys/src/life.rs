// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A word in shared memory that the kernel marks when this process dies, however it dies.
//!
//! A parked thread has the word on its robust list (`set_robust_list(2)`), like a mutex that it holds for as long as
//! it lives. The list and all addresses lie in memory of this process; the shared memory holds only the word. The
//! thread replaces the C library's list by its own. The C library needs its list for robust mutexes, and this thread
//! locks none.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use crate::error::check;
use crate::{Error, Result, signals, thread};

/// The bit of a word that marks its holder as dead. The kernel sets it when it clears [`OWNER`].
pub const DIED: u32 = 0x4000_0000;

/// The bits of a word that hold the holder's thread id, as [`thread::tid`] gives it in its own namespace; 0 if no
/// thread holds the word.
pub const OWNER: u32 = 0x3FFF_FFFF;

/// The list that the kernel reads when the thread ends: a ring of this head and one entry.
#[cfg(not(miri))]
#[repr(C)]
struct List {
    /// `struct robust_list_head`: the first entry,
    first: *const Entry,
    /// the distance from an entry to its word,
    distance: libc::c_long,
    /// and an entry that is being locked. Always null: the kernel ignores an entry whose word another thread holds.
    pending: *const Entry,
    only: Entry,
}

#[cfg(not(miri))]
#[repr(C)]
struct Entry {
    next: *const Entry,
}

/// Holds a word until dropped, or until the process ends. In a child of `fork` it holds nothing.
#[derive(Debug)]
pub struct Life {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    process: u32,
}

impl Life {
    /// Starts a thread and passes its id to `claim`. `claim` stores the id under [`OWNER`] of the word, and returns
    /// whether it did. From then on, when the thread ends for whatever reason, the kernel clears the id and sets
    /// [`DIED`]. Returns `None` if `claim` did not store the id.
    ///
    /// For boot: starts a thread.
    ///
    /// # Errors
    /// ENOSYS where the kernel has no robust lists, or no `membarrier(2)` for [`left`]; the error of starting a
    /// thread.
    ///
    /// # Safety
    /// `word` is aligned to 4 and stays mapped for reading and writing: until the result is dropped, or until this
    /// call returns (also by a panic of `claim`) if there is no result.
    pub unsafe fn hold(word: NonNull<u32>, claim: impl FnOnce(u32) -> bool + Send) -> Result<Option<Self>> {
        membarrier(REGISTER_GLOBAL_EXPEDITED)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (ready_sender, ready_receiver) = mpsc::sync_channel(1);
        let (address, stopped) = (word.expose_provenance().get(), Arc::clone(&stop));
        let (go, went) = mpsc::sync_channel::<bool>(1);
        let builder = std::thread::Builder::new().name("taut-life".to_owned()).stack_size(64 * 1024);
        let thread = builder
            .spawn(move || {
                let ready = signals::block_all().and_then(|()| register(address));
                let _ = ready_sender.send(ready.map(|()| thread::tid().unsigned_abs()));
                if went.recv() == Ok(true) {
                    while !stopped.load(Ordering::Acquire) {
                        std::thread::park();
                    }
                }
                #[cfg(miri)]
                end(address);
            })
            .map_err(|error| Error::from_io("clone", &error))?;
        let id = match ready_receiver.recv() {
            Ok(Ok(id)) => id,
            Ok(Err(error)) => {
                let _ = thread.join();
                return Err(error);
            }
            Err(_) => return Err(Error { call: "clone", errno: libc::EIO }),
        };
        let life = Self { thread: Some(thread), stop, process: std::process::id() };
        // Dropped before `life`, also if `claim` panics: the thread then ends and is joined, so that no list holds
        // the word any more.
        let go = go;
        // The word is on the list already, so the kernel knows of the word at every moment at which this process holds
        // it.
        let claimed = claim(id);
        let _ = go.send(claimed);
        Ok(claimed.then_some(life))
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        // A child of `fork` does not have this thread; its parent's goes on.
        if self.process == std::process::id() {
            self.stop.store(true, Ordering::Release);
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// The kernel's work at the end of a thread with such a list, which Miri does not do.
#[cfg(miri)]
fn end(address: usize) {
    let word = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: `Life::hold` has exposed the address, and its caller keeps the word mapped; all accesses are atomic.
    let word = unsafe { std::sync::atomic::AtomicU32::from_ptr(word) };
    let own = thread::tid().unsigned_abs();
    let died = |now: u32| (now & OWNER == own).then_some(DIED);
    // The kernel reads the latest value; a plain load may return an older one.
    word.fetch_or(0, Ordering::AcqRel);
    let _ = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, died);
}

#[cfg(miri)]
fn register(_: usize) -> Result {
    Ok(())
}

/// Puts the word at `address` on a robust list of the calling thread. The kernel reads the list after the thread is
/// gone, so its few words are never freed.
#[cfg(not(miri))]
fn register(address: usize) -> Result {
    let list: &'static mut List = Box::leak(Box::new(List {
        first: std::ptr::null(),
        distance: 0,
        pending: std::ptr::null(),
        only: Entry { next: std::ptr::null() },
    }));
    list.first = &raw const list.only;
    list.only.next = std::ptr::from_ref(list).cast();
    // The distance from the entry to the word; it wraps if the word lies below.
    list.distance = address.wrapping_sub((&raw const list.only).addr()).cast_signed() as libc::c_long;
    let bytes = 3 * size_of::<usize>();
    // SAFETY: the head is leaked, has the kernel's layout and this length; the kernel writes only to the word, if its
    // bits under `OWNER` are this thread, when the thread ends.
    let answer = unsafe { libc::syscall(libc::SYS_set_robust_list, &raw const *list, bytes) };
    check("set_robust_list", answer as libc::c_int).map(drop)
}

/// Returns once no thread of a process that held a [`Life`] and is marked dead executes any code of that process.
///
/// The kernel marks the word when it ends one thread of the process; another thread, which the kernel has ordered to
/// stop, may still run user code on another processor. This call makes all processors that run such processes enter
/// the kernel once; a thread of the dead process does not return from there. From then on the caller sees all that the
/// dead process has written.
///
/// *Real-time*: one system call, which waits for the other processors to take an interrupt.
///
/// # Errors
/// None is expected after [`Life::hold`], which registers this process for the call.
pub fn left() -> Result {
    membarrier(GLOBAL_EXPEDITED)
}

/// Commands of `linux/membarrier.h`.
const GLOBAL_EXPEDITED: libc::c_int = 1 << 1;
const REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;

fn membarrier(command: libc::c_int) -> Result {
    // Miri's threads run one at a time.
    if cfg!(miri) {
        return Ok(());
    }
    // SAFETY: plain integers.
    check("membarrier", unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) as libc::c_int })
        .map(drop)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    fn hold(word: &'static AtomicU32) -> Option<Life> {
        let claim = |id| word.compare_exchange(0, id, Ordering::AcqRel, Ordering::Acquire).is_ok();
        // SAFETY: static.
        unsafe { Life::hold(NonNull::from(word).cast(), claim) }.unwrap()
    }

    #[test]
    fn a_word_is_held_and_marked_at_the_end() {
        static WORD: AtomicU32 = AtomicU32::new(0);
        let life = hold(&WORD).unwrap();
        let id = WORD.load(Ordering::Acquire);
        assert!(id & OWNER != 0 && id & DIED == 0);
        // The system does not know Miri's threads.
        assert!(cfg!(miri) || std::path::Path::new(&format!("/proc/self/task/{id}")).exists());
        assert!(hold(&WORD).is_none(), "another has it");
        assert_eq!(WORD.load(Ordering::Acquire), id, "and the kernel leaves it alone");
        drop(life);
        assert_eq!(WORD.load(Ordering::Acquire), DIED);
        left().unwrap();
    }

    #[test]
    fn a_panic_in_a_claim_leaves_the_word_alone() {
        static WORDS: [AtomicU32; 100] = [const { AtomicU32::new(0) }; 100];
        for word in WORDS.iter().take(if cfg!(miri) { 3 } else { 100 }) {
            let claim = |id| -> bool {
                word.store(id, Ordering::Release);
                std::panic::resume_unwind(Box::new("claim"))
            };
            let hold = || {
                // SAFETY: static.
                unsafe { Life::hold(NonNull::from(word).cast(), claim) }.map(drop)
            };
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(hold)).is_err());
            assert_eq!(word.load(Ordering::Acquire), DIED, "the kernel has it on a list still");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls fork")]
    fn a_child_of_fork_is_not_its_parent() {
        static WORD: AtomicU32 = AtomicU32::new(0);
        let life = hold(&WORD).unwrap();
        let id = WORD.load(Ordering::Acquire);
        // SAFETY: the child calls nothing that another thread could have locked.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(life);
            // SAFETY: ends the child without running its parent's exit handlers or destructors.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: our child, and a number of ours.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!((status, WORD.load(Ordering::Acquire)), (0, id));
        drop(life);
        assert_eq!(WORD.load(Ordering::Acquire), DIED);
    }
}
