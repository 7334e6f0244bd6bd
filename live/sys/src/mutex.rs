// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The system's mutex with priority inheritance. It survives the death of its owner and works across processes.

use std::cell::UnsafeCell;

use crate::{Error, Result};

/// `pthread_mutex_t` with PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST and PTHREAD_PROCESS_SHARED: in the kernel,
/// FUTEX_LOCK_PI. It is of the error-checking type: with the other types a thread that locks it twice waits for ever.
/// It holds addresses, so it must not move while any thread may use it, and must lie in memory that only its users
/// write.
#[repr(C, align(128))]
pub struct PiMutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a process-shared mutex is made for several threads; all access is through pthread's functions.
unsafe impl Send for PiMutex {}
// SAFETY: as above.
unsafe impl Sync for PiMutex {}

/// In which state the caller got the mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Had {
    /// The last owner released it.
    Clean,
    /// The last owner died while holding it. The mutex itself is consistent again; the caller must repair the data
    /// that it protects.
    OwnerDied,
}

impl PiMutex {
    /// Makes a mutex in the bytes at `place`.
    ///
    /// # Errors
    /// ENOTSUP where the system has no priority inheritance.
    ///
    /// # Safety
    /// No code uses the memory at `place`, which has room and is aligned to 128; and it will not move.
    pub unsafe fn init(place: *mut Self) -> Result {
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
        let attributes = attributes.as_mut_ptr();
        // SAFETY: the attributes are made before they are used, and destroyed after; `place` is the caller's.
        unsafe {
            answer("pthread_mutexattr_init", libc::pthread_mutexattr_init(attributes))?;
            let made = (|| {
                let kind = libc::pthread_mutexattr_settype(attributes, libc::PTHREAD_MUTEX_ERRORCHECK);
                answer("pthread_mutexattr_settype", kind)?;
                // Miri has error-checking mutexes, without the other attributes.
                if cfg!(miri) {
                    let mutex = UnsafeCell::raw_get(std::ptr::addr_of!((*place).0));
                    return answer("pthread_mutex_init", libc::pthread_mutex_init(mutex, attributes));
                }
                let inherit = libc::pthread_mutexattr_setprotocol(attributes, libc::PTHREAD_PRIO_INHERIT);
                answer("pthread_mutexattr_setprotocol", inherit)?;
                let robust = libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST);
                answer("pthread_mutexattr_setrobust", robust)?;
                let shared = libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED);
                answer("pthread_mutexattr_setpshared", shared)?;
                let mutex = UnsafeCell::raw_get(std::ptr::addr_of!((*place).0));
                answer("pthread_mutex_init", libc::pthread_mutex_init(mutex, attributes))
            })();
            libc::pthread_mutexattr_destroy(attributes);
            made
        }
    }

    /// Locks it; blocks while another thread holds it, which meanwhile runs at the caller's priority if that is
    /// higher.
    ///
    /// *Real-time*: without contention no system call.
    ///
    /// # Errors
    /// EDEADLK if the calling thread holds it already.
    pub fn lock(&self) -> Result<Had> {
        // SAFETY: made by `init`, and not moved since.
        self.had("pthread_mutex_lock", unsafe { libc::pthread_mutex_lock(self.0.get()) })
    }

    /// Locks it if no thread holds it; else `None`.
    ///
    /// # Errors
    /// None is expected.
    pub fn try_lock(&self) -> Result<Option<Had>> {
        // SAFETY: made by `init`, and not moved since.
        match unsafe { libc::pthread_mutex_trylock(self.0.get()) } {
            // The error-checking type also returns one of these if the calling thread holds it.
            libc::EBUSY | libc::EDEADLK => Ok(None),
            code => self.had("pthread_mutex_trylock", code).map(Some),
        }
    }

    fn had(&self, call: &'static str, code: i32) -> Result<Had> {
        if code != libc::EOWNERDEAD {
            return answer(call, code).map(|()| Had::Clean);
        }
        // SAFETY: made by `init`, and locked by the calling thread now.
        let mended = unsafe { libc::pthread_mutex_consistent(self.0.get()) };
        answer("pthread_mutex_consistent", mended).map(|()| Had::OwnerDied)
    }

    /// Unlocks it.
    ///
    /// *Real-time*: a system call only if a thread waits.
    ///
    /// # Errors
    /// EPERM if the calling thread does not hold it.
    pub fn unlock(&self) -> Result {
        // SAFETY: made by `init`, and not moved since.
        answer("pthread_mutex_unlock", unsafe { libc::pthread_mutex_unlock(self.0.get()) })
    }
}

/// The pthread functions return their error number.
fn answer(call: &'static str, code: i32) -> Result {
    if code == 0 { Ok(()) } else { Err(Error { call, errno: code }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "a thread ends with a robust mutex")]
    fn one_at_a_time_and_only_its_owner_gives_it_back() {
        let mutex = Box::into_raw(Box::<PiMutex>::new_uninit()).cast::<PiMutex>();
        // SAFETY: fresh, aligned by its type, and leaked.
        let mutex: &'static PiMutex = unsafe {
            PiMutex::init(mutex).unwrap();
            &*mutex
        };
        assert_eq!(mutex.lock(), Ok(Had::Clean));
        assert_eq!(mutex.lock().unwrap_err().errno, libc::EDEADLK);
        std::thread::spawn(|| {
            assert_eq!(mutex.try_lock(), Ok(None));
            assert_eq!(mutex.unlock().unwrap_err().errno, crate::EPERM);
        })
        .join()
        .unwrap();
        mutex.unlock().unwrap();
        // A thread ends while it holds the mutex.
        std::thread::spawn(|| assert_eq!(mutex.lock(), Ok(Had::Clean))).join().unwrap();
        assert_eq!(mutex.lock(), Ok(Had::OwnerDied));
        mutex.unlock().unwrap();
        assert_eq!(mutex.try_lock(), Ok(Some(Had::Clean)));
        mutex.unlock().unwrap();
    }
}
