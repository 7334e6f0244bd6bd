// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One end of an object for several real-time parties: a mutex with priority inheritance in front of it.
//!
//! # Use
//!
//! The objects of `taut-share` have two sides, and where a side may have one party only, several must take turns
//! ([Perez Ruiz 2020, Figure 1]). Between parties of one side a lock is harmless as long as a party of higher
//! priority cannot be kept waiting by others than the owner: priority inheritance. The other side is never locked
//! out; to it they are one.
//!
//! # Callers
//!
//! Any thread but the one that holds it; [`Serial::lock`] of a thread that does is an error, never a deadlock.
//!
//! # Progress
//!
//! `lock`: without contention 1 exchange; else it blocks for the rest of the owner's critical section, who runs at
//! the highest priority of those who wait. The time is bounded by the longest section times the number of parties,
//! which the analysis has as a blocking term. Unlocking: 1 exchange, and a system call if somebody waits.
//!
//! # State
//!
//! The mutex on a line of its own, the end beside it, in memory of this process.
//!
//! # Invariants
//!
//! - I1 Whoever has a [`Guard`] has the mutex, and no other thread has either.
//!
//! # Orderings
//!
//! The system's: what an owner did happens before what the next one does.
//!
//! # Proof
//!
//! I1: a guard is made after `lock` or `try_lock` succeeded, unlocks when dropped, and cannot leave its thread.
//!
//! # Crash
//!
//! A thread that ends, or panics, with the guard leaked: the next one is told [`Taken::OwnerDied`], and has it. The
//! end may have been left in the middle of an operation, which every object's file describes as the death of its
//! party at that step: make a new end in its place. Processes that share a side do not share an end, for ends keep
//! counters of their own: each attaches anew under a [`PiMutex`](taut_sys::mutex::PiMutex) of their segment.
//!
//! # Source
//!
//! [Perez Ruiz 2020, Figure 1]; [Sha 1990] for the inheritance; the mutex is the C library's, on FUTEX_LOCK_PI.
//!
//! # Checked
//!
//! - here: one at a time, a thread that ends with it, errors; that the owner really runs at the priority of who waits
//! - `tests/processes.rs`: the mutex in shared memory, its owner killed

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use taut_sys::mutex::{Had, PiMutex};

/// An end, or anything, that one thread at a time uses.
pub struct Serial<E> {
    // Boxed: a mutex of the system's may not move.
    mutex: Box<PiMutex>,
    end: UnsafeCell<E>,
}

// SAFETY: the end is reached through a guard alone (I1), so it moves from thread to thread but is never shared.
unsafe impl<E: Send> Sync for Serial<E> {}

/// The end, and what became of its last owner.
#[derive(Debug)]
pub enum Taken<'s, E> {
    /// It was given back in order.
    Clean(Guard<'s, E>),
    /// The last owner ended with it: it may stand in the middle of an operation.
    OwnerDied(Guard<'s, E>),
}

impl<'s, E> Taken<'s, E> {
    /// The end, whatever became of its last owner.
    pub fn into_inner(self) -> Guard<'s, E> {
        match self {
            Self::Clean(guard) | Self::OwnerDied(guard) => guard,
        }
    }
}

impl<E> Serial<E> {
    /// Puts a mutex in front of `end`. Not for real-time paths: it allocates.
    ///
    /// # Errors
    /// The system's, if it has no priority inheritance.
    pub fn new(end: E) -> taut_sys::Result<Self> {
        let mut mutex = Box::new(MaybeUninit::<PiMutex>::uninit());
        // SAFETY: fresh, aligned by its type, and boxed: it does not move.
        let mutex = unsafe {
            PiMutex::init(mutex.as_mut_ptr())?;
            mutex.assume_init()
        };
        Ok(Self { mutex, end: UnsafeCell::new(end) })
    }

    /// Waits for its turn.
    ///
    /// # Errors
    /// EDEADLK if this thread has it already.
    pub fn lock(&self) -> taut_sys::Result<Taken<'_, E>> {
        self.mutex.lock().map(|had| self.taken(had))
    }

    /// Takes it if nobody has it.
    ///
    /// # Errors
    /// None is expected.
    pub fn try_lock(&self) -> taut_sys::Result<Option<Taken<'_, E>>> {
        Ok(self.mutex.try_lock()?.map(|had| self.taken(had)))
    }

    fn taken(&self, had: Had) -> Taken<'_, E> {
        let guard = Guard { serial: self, thread: PhantomData };
        match had {
            Had::Clean => Taken::Clean(guard),
            Had::OwnerDied => Taken::OwnerDied(guard),
        }
    }

    /// The end, which nobody else has.
    pub fn into_inner(self) -> E {
        self.end.into_inner()
    }
}

impl<E> fmt::Debug for Serial<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serial").finish_non_exhaustive()
    }
}

/// The turn: the end, until dropped. It cannot go to another thread.
///
/// ```compile_fail,E0277
/// let serial = taut_lock::Serial::new(0).unwrap();
/// let guard = serial.lock().unwrap().into_inner();
/// std::thread::scope(|scope| _ = scope.spawn(move || drop(guard)));
/// ```
pub struct Guard<'s, E> {
    serial: &'s Serial<E>,
    /// The mutex belongs to a thread.
    thread: PhantomData<*const ()>,
}

impl<E> Deref for Guard<'_, E> {
    type Target = E;

    fn deref(&self) -> &E {
        // SAFETY: this thread has the mutex (I1); no mutable borrow of this guard is alive.
        unsafe { &*self.serial.end.get() }
    }
}

impl<E> DerefMut for Guard<'_, E> {
    fn deref_mut(&mut self) -> &mut E {
        // SAFETY: this thread has the mutex (I1); this guard is borrowed mutably.
        unsafe { &mut *self.serial.end.get() }
    }
}

impl<E> Drop for Guard<'_, E> {
    fn drop(&mut self) {
        // It is this thread's (I1), so it cannot fail.
        let _ = self.serial.mutex.unlock();
    }
}

impl<E: fmt::Debug> fmt::Debug for Guard<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let serial = Serial::new((0u64, 0u64)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let mut pair = serial.lock().unwrap().into_inner();
                        assert_eq!(pair.0, pair.1);
                        pair.0 += 1;
                        pair.1 += 1;
                    }
                });
            }
        });
        assert_eq!(serial.into_inner(), (60_000, 60_000));
    }

    #[test]
    fn tells_what_became_of_its_owner() {
        let serial = Serial::new(1).unwrap();
        {
            let held = serial.lock().unwrap();
            assert!(matches!(held, Taken::Clean(_)));
            assert!(serial.lock().is_err(), "a second time in one thread");
            assert!(matches!(serial.try_lock(), Ok(None)));
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut held = serial.lock().unwrap().into_inner();
                *held = 2;
                std::mem::forget(held);
            });
        });
        let held = serial.lock().unwrap();
        assert!(matches!(held, Taken::OwnerDied(_)));
        assert_eq!(*held.into_inner(), 2);
        assert!(matches!(serial.try_lock(), Ok(Some(Taken::Clean(_)))));
    }
}
