// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! One end of an object for several real-time threads: a mutex with priority inheritance in front of the end.
//!
//! # Use
//! The objects of `taut-share` have two sides. Where a side may have one party only, several threads must take
//! turns ([Perez Ruiz 2020, Figure 1]). A lock among the threads of one side is harmless if only the owner can make
//! a thread of higher priority wait: priority inheritance ensures that. The lock never excludes the other side, to
//! which these threads are one party.
//!
//! # Callers
//! Any thread except one that is inside. If a thread that is inside calls [`Serial::with`], it gets an error, never
//! a deadlock.
//!
//! # Progress
//! `with`: 1 exchange without contention. Otherwise it blocks for the rest of the owner's critical section, and the
//! owner runs at the highest priority of the waiters. The time is bounded by the longest section times the number of
//! parties, which the analysis adds as a blocking term. Unlocking: 1 exchange, and a system call if a thread waits.
//!
//! # Orderings
//! Those of the system's mutex: what an owner did happens before what the next owner does.
//!
//! # Crash
//! A panic inside, or a thread that ends there, poisons the end, which may be in the middle of an operation. The file
//! of every object describes this as the death of its party at that step: call `recover`, and make a new end in its
//! place. Processes that share a side do not share an end, because ends keep counters of their own: each process
//! attaches anew under a [`PiMutex`] of their segment.
//!
//! # Source
//! [Perez Ruiz 2020, Figure 1]; [Sha 1990] for the inheritance; the mutex is the C library's, on FUTEX_LOCK_PI.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;

use taut_sys::mutex::{Had, PiMutex};

// # State
//
// The mutex on a line of its own; beside it the end, and whether it is whole; in memory of this process.
//
// # Invariants
//
// - I1 The end is borrowed only within a call of `with`, `try_with` or `recover`, by the thread that has the mutex.
// - I2 When such a call has returned, or a panic has left it, its thread does not have the mutex.
// - I3 An end that was left in the middle of a change is poisoned until a `recover` returns.

/// An end, or any value, that one thread at a time uses.
///
/// Nothing of the end leaves the closure that gets it:
///
/// ```compile_fail,E0521
/// let serial = taut_lock::Serial::new(vec![1]).unwrap();
/// let mut kept: Option<&mut Vec<i32>> = None;
/// serial.with(|end| kept = Some(end)).unwrap();
/// ```
///
/// Nor is a `Serial` dropped while a thread is inside:
///
/// ```compile_fail,E0505
/// let serial = taut_lock::Serial::new(1).unwrap();
/// serial.with(|_| drop(serial)).unwrap();
/// ```
pub struct Serial<E> {
    // Boxed: a mutex of the system must not move.
    mutex: Box<PiMutex>,
    guarded: UnsafeCell<Guarded<E>>,
}

struct Guarded<E> {
    end: E,
    /// Whether a thread is in the middle of a change, or has left a change unfinished.
    poisoned: bool,
}

// SAFETY: only the thread that has the mutex reaches the end (I1), so the end moves from thread to thread but is
// never shared.
unsafe impl<E: Send> Sync for Serial<E> {}

/// Why a call did not get the end. Nothing has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Another thread has it. Only from [`Serial::try_with`].
    Busy,
    /// This thread has it already, or the system refuses its mutex.
    System(taut_sys::Error),
    /// A panic left it in the middle of a change, and no thread has repaired it since: see [`Serial::recover`].
    Poisoned,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("another thread uses the end"),
            Self::System(error) => write!(f, "{error}"),
            Self::Poisoned => {
                f.write_str("a thread panicked while it used the end: repair it with `recover`")
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Holds the mutex until dropped; a local of one call (I2).
struct Turn<'s>(&'s PiMutex);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // This thread has the mutex, so unlocking cannot fail.
        let _ = self.0.unlock();
    }
}

impl<E> Serial<E> {
    /// Puts a mutex in front of `end`. Not for real-time paths: it allocates.
    ///
    /// # Errors
    /// The error of the system, if it has no priority inheritance.
    pub fn new(end: E) -> taut_sys::Result<Self> {
        let mut mutex = Box::new(MaybeUninit::<PiMutex>::uninit());
        // SAFETY: the memory is fresh, aligned by its type, and boxed, so it does not move.
        let mutex = unsafe {
            PiMutex::init(mutex.as_mut_ptr())?;
            mutex.assume_init()
        };
        Ok(Self { mutex, guarded: UnsafeCell::new(Guarded { end, poisoned: false }) })
    }

    /// Waits for the caller's turn, and gives `work` access to the end. A panic of `work` poisons the end.
    ///
    /// # Errors
    /// [`Refused::Poisoned`]; [`Refused::System`] with EDEADLK if this thread is inside already.
    pub fn with<R>(&self, work: impl FnOnce(&mut E) -> R) -> Result<R, Refused> {
        let had = self.mutex.lock().map_err(Refused::System)?;
        self.inside(had, |end, poisoned| if poisoned { Err(Refused::Poisoned) } else { Ok(work(end)) })
    }

    /// As [`Serial::with`], if no other thread has the end.
    ///
    /// # Errors
    /// [`Refused::Busy`], [`Refused::Poisoned`].
    pub fn try_with<R>(&self, work: impl FnOnce(&mut E) -> R) -> Result<R, Refused> {
        let had = self.mutex.try_lock().map_err(Refused::System)?.ok_or(Refused::Busy)?;
        self.inside(had, |end, poisoned| if poisoned { Err(Refused::Poisoned) } else { Ok(work(end)) })
    }

    /// As [`Serial::with`], also if the end is poisoned, and clears the poison when `work` returns. The second
    /// argument of `work` says whether the end is poisoned.
    ///
    /// # Errors
    /// [`Refused::System`].
    pub fn recover<R>(&self, work: impl FnOnce(&mut E, bool) -> R) -> Result<R, Refused> {
        let had = self.mutex.lock().map_err(Refused::System)?;
        self.inside(had, |end, poisoned| Ok(work(end, poisoned)))
    }

    /// Calls `work`, and then unlocks the mutex, which this thread has.
    fn inside<R>(
        &self,
        had: Had,
        work: impl FnOnce(&mut E, bool) -> Result<R, Refused>,
    ) -> Result<R, Refused> {
        // Proof: I1: the call borrows the end after it has locked the mutex, and passes the borrow to a closure that
        // must accept any lifetime, so the closure cannot keep it. I2: a local of the call unlocks the mutex. No other
        // code sees that local, so it cannot be leaked or sent to another thread. So no thread ends with the mutex,
        // unless something ends the thread without unwinding, which no safe code does. While the mutex is locked the
        // `Serial` is borrowed, so it is not moved, dropped or unwrapped while its mutex is on a thread's list of
        // robust mutexes. A guard that the caller kept would ensure neither: `Box::leak` could send away what it
        // dereferences to, and a forgotten guard ends the borrow but not the lock. I3: the mark is set before the
        // closure is called, and cleared when it returns.
        let _turn = Turn(&self.mutex);
        // SAFETY: this thread has the mutex until `_turn` is dropped, which is after the last use of the borrow. It
        // has the mutex once, because the mutex refuses a second lock (I1).
        let Guarded { end, poisoned } = unsafe { &mut *self.guarded.get() };
        // Set while `work` runs, so that a panic leaves the end poisoned (I3).
        let was = std::mem::replace(poisoned, true) || had == Had::OwnerDied;
        let result = work(end, was);
        *poisoned = matches!(result, Err(Refused::Poisoned));
        result
    }

    /// The end, which no other thread has; poisoned or not.
    pub fn into_inner(self) -> E {
        self.guarded.into_inner().end
    }
}

impl<E> fmt::Debug for Serial<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serial").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn one_at_a_time() {
        const EACH: u64 = if cfg!(miri) { 100 } else { 20_000 };
        let serial = Serial::new((0u64, 0u64)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        serial
                            .with(|pair| {
                                assert_eq!(pair.0, pair.1);
                                pair.0 += 1;
                                pair.1 += 1;
                            })
                            .unwrap();
                    }
                });
            }
        });
        assert_eq!(serial.into_inner(), (3 * EACH, 3 * EACH));
    }

    #[test]
    fn a_nested_call_is_refused() {
        let serial = Serial::new(1).unwrap();
        let nested = serial.with(|_| (serial.with(|_| ()), serial.try_with(|_| ()))).unwrap();
        assert!(
            matches!(nested.0, Err(Refused::System(error)) if error.to_string().contains("EDEADLK")),
            "{nested:?}"
        );
        assert_eq!(nested.1, Err(Refused::Busy));
        assert_eq!(serial.with(|end| *end), Ok(1));
    }

    #[test]
    fn a_panic_inside_poisons_until_a_thread_recovers() {
        let serial = Serial::new((0, 0)).unwrap();
        let half = |end: &mut (i32, i32)| -> () {
            end.0 += 1;
            panic!("on purpose")
        };
        let panics = || catch_unwind(AssertUnwindSafe(|| serial.with(half)));
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(panics().is_err()));
        });
        assert_eq!(serial.with(|_| ()), Err(Refused::Poisoned));
        assert_eq!(serial.try_with(|_| ()), Err(Refused::Poisoned));
        // A recovery that panics has not recovered anything.
        let fails = AssertUnwindSafe(|| serial.recover(|_, poisoned| assert!(!poisoned, "on purpose")));
        assert!(catch_unwind(fails).is_err());
        assert_eq!(serial.with(|_| ()), Err(Refused::Poisoned));
        let recovered = serial.recover(|end, poisoned| {
            end.1 = end.0;
            poisoned
        });
        assert_eq!(recovered, Ok(true));
        assert_eq!(serial.recover(|_, poisoned| poisoned), Ok(false));
        assert_eq!(serial.with(|end| *end), Ok((1, 1)));
        assert!(panics().is_err());
        assert_eq!(serial.into_inner(), (2, 1));
    }

    /// Serials come and go while their memory is used again. None may stay on a thread's list of robust mutexes, to
    /// which the C library would write.
    #[test]
    #[cfg_attr(miri, ignore = "needs the list of robust mutexes, which the C library gives the kernel")]
    fn the_list_of_robust_mutexes_is_empty_afterwards() {
        let other = Serial::new(0).unwrap();
        for _ in 0..1_000 {
            let serial = Serial::new([0_u8; 32]).unwrap();
            let fails = AssertUnwindSafe(|| serial.with(|_| -> () { panic!("on purpose") }));
            let quiet = std::panic::take_hook();
            std::panic::set_hook(Box::new(|_| ()));
            assert!(catch_unwind(fails).is_err());
            std::panic::set_hook(quiet);
            drop(serial);
            let blocks: Vec<_> = (0..4).map(|_| vec![0xAA_u8; 128]).collect();
            other.with(|count| *count += 1).unwrap();
            assert!(blocks.iter().flatten().all(|byte| *byte == 0xAA));
        }
    }

    #[test]
    fn a_refusal_says_why() {
        assert_eq!(Refused::Busy.to_string(), "another thread uses the end");
        let system = taut_sys::Error { call: "futex", errno: 35 };
        assert_eq!(Refused::System(system).to_string(), system.to_string());
        let repair = "a thread panicked while it used the end: repair it with `recover`";
        assert_eq!(Refused::Poisoned.to_string(), repair);
    }
}

// # Checked
//
// - here: one thread at a time, a panic inside, recovery, errors; code that would keep the end does not compile
// - `tests/processes.rs`: the mutex in shared memory, its owner killed; that the owner runs at the priority of the
//   waiter
