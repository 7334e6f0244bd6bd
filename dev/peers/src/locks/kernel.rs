// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! POSIX mutexes, and a bare futex.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Release};

use taut_sys::futex;

use super::partner::{Partner, Waits};

/// A POSIX mutex with a protocol: none, inheritance or a ceiling.
pub(super) struct Pthread(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: once the mutex is made, only pthread calls touch it, which any thread may make.
unsafe impl Sync for Pthread {}
// SAFETY: the mutex does not move while it is used: it is made and dropped in an `Arc`.
unsafe impl Send for Pthread {}

/// The ceiling of [`Protected`]: above the threads of a trial.
const CEILING: i32 = 30;

impl Pthread {
    fn shared(protocol: i32) -> Result<[Arc<Self>; 2], String> {
        let lock = Arc::new(Self(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)));
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the attributes are made before they are set and used, and destroyed once; the mutex is made where
        // it stays, before any other thread has it.
        let codes = unsafe {
            let attributes = attributes.as_mut_ptr();
            let made = libc::pthread_mutexattr_init(attributes);
            let set = libc::pthread_mutexattr_setprotocol(attributes, protocol);
            let ceiling = if protocol == libc::PTHREAD_PRIO_PROTECT {
                pthread_mutexattr_setprioceiling(attributes, CEILING)
            } else {
                0
            };
            let mutex = libc::pthread_mutex_init(lock.0.get(), attributes);
            libc::pthread_mutexattr_destroy(attributes);
            [made, set, ceiling, mutex]
        };
        match codes.into_iter().find(|code| *code != 0) {
            None => Ok([lock.clone(), lock]),
            Some(code) => {
                Err(format!("the mutex cannot be made: {}", std::io::Error::from_raw_os_error(code)))
            }
        }
    }

    /// Whether this thread may lock it.
    fn tried(&self) -> Result<(), String> {
        // SAFETY: the mutex was made, and the thread that locks it unlocks it.
        let code = unsafe { libc::pthread_mutex_lock(self.0.get()) };
        if code != 0 {
            return Err(format!("this thread may not lock it: {}", std::io::Error::from_raw_os_error(code)));
        }
        // SAFETY: as above.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
        Ok(())
    }

    #[inline(always)]
    fn with<R>(&self, section: impl FnOnce() -> R) -> R {
        // SAFETY: the mutex was made, and the thread that locks it unlocks it: sections do not unwind, panics abort.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        let made = section();
        // SAFETY: as above.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
        made
    }
}

impl Drop for Pthread {
    fn drop(&mut self) {
        // SAFETY: no thread has it any more.
        unsafe { libc::pthread_mutex_destroy(self.0.get()) };
    }
}

unsafe extern "C" {
    fn pthread_mutexattr_setprioceiling(attributes: *mut libc::pthread_mutexattr_t, ceiling: i32) -> i32;
}

macro_rules! pthread {
    ($type:ident, $name:literal, $protocol:expr, $what:literal) => {
        #[doc = $what]
        pub(super) struct $type;

        impl Partner for $type {
            const NAME: &'static str = $name;
            const WAITS: Waits = Waits::Sleeping;
            type Side = Arc<Pthread>;

            fn sides() -> Result<[Self::Side; 2], String> {
                Pthread::shared($protocol)
            }

            fn begin(side: &mut Self::Side) -> Result<(), String> {
                side.tried()
            }

            #[inline(always)]
            fn with<R>(side: &mut Self::Side, section: impl FnOnce() -> R) -> R {
                Pthread::with(side, section)
            }
        }
    };
}

pthread!(Plain, "pthread mutex", libc::PTHREAD_PRIO_NONE, "Without a protocol.");
pthread!(Inheriting, "PTHREAD_PRIO_INHERIT", libc::PTHREAD_PRIO_INHERIT, "With priority inheritance.");
pthread!(Protected, "PTHREAD_PRIO_PROTECT", libc::PTHREAD_PRIO_PROTECT, "With a priority ceiling.");

/// No exclusion: a side sleeps until the other side lets it go on. A lock whose waiters sleep cannot be faster than
/// this.
pub(super) struct Wake;

/// A side, and the word that says which side's turn it is.
pub(super) struct WakeSide {
    own: u32,
    turn: Arc<AtomicU32>,
}

impl Partner for Wake {
    const NAME: &'static str = "bare futex";
    const WAITS: Waits = Waits::Sleeping;
    type Side = WakeSide;

    fn sides() -> Result<[Self::Side; 2], String> {
        let turn = Arc::new(AtomicU32::new(0));
        Ok([0, 1].map(|own| WakeSide { own, turn: turn.clone() }))
    }

    fn with<R>(side: &mut Self::Side, section: impl FnOnce() -> R) -> R {
        let WakeSide { own, turn } = side;
        while turn.load(Acquire) != *own {
            let _ = futex::wait(turn, 1 - *own, None, false);
        }
        let made = section();
        turn.store(1 - *own, Release);
        let _ = futex::wake(turn, 1, false);
        made
    }
}
