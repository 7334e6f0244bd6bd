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
//! Any thread but the one that is inside; [`Serial::with`] of a thread that is, is an error, never a deadlock.
//!
//! # Progress
//!
//! `with`: without contention 1 exchange; else it blocks for the rest of the owner's critical section, who runs at
//! the highest priority of those who wait. The time is bounded by the longest section times the number of parties,
//! which the analysis has as a blocking term. Unlocking: 1 exchange, and a system call if somebody waits.
//!
//! # State
//!
//! The mutex on a line of its own, the end and whether it is whole beside it, in memory of this process.
//!
//! # Invariants
//!
//! - I1 The end is borrowed only within a call of `with`, `try_with` or `recover`, by the thread that has the mutex.
//! - I2 When such a call has returned, or a panic has left it, its thread has not got the mutex.
//! - I3 An end that was left in the middle of a change is poisoned until a `recover` returns.
//!
//! # Orderings
//!
//! The system's: what an owner did happens before what the next one does.
//!
//! # Proof
//!
//! I1: the borrow is made after the mutex was had, and given to a closure that has it for any lifetime, so it cannot keep it.
//! I2: what unlocks is a local of the call, which nobody else sees: it cannot be leaked, nor sent to another thread. So no
//! thread ends with the mutex, unless something ends it without unwinding, which no safe code does; and while the mutex is
//! had the `Serial` is borrowed, so it is neither moved, dropped nor unwrapped with its mutex on a thread's list of robust
//! ones. A guard that the caller kept would be neither: what it dereferences to could be sent away by `Box::leak`, and a
//! forgotten one ends the borrow but not the lock.
//! I3: the mark is set before the closure is called, and taken off when it returns.
//!
//! # Crash
//!
//! A panic inside, or a thread that ends there: the end is poisoned. It may have been left in the middle of an operation, which
//! every object's file describes as the death of its party at that step: `recover`, and make a new end in its place. Processes
//! that share a side do not share an end, for ends keep counters of their own: each attaches anew under a
//! [`PiMutex`](taut_sys::mutex::PiMutex) of their segment.
//!
//! # Source
//!
//! [Perez Ruiz 2020, Figure 1]; [Sha 1990] for the inheritance; the mutex is the C library's, on FUTEX_LOCK_PI.
//!
//! # Checked
//!
//! - here: one at a time, a panic inside, recovery, errors; what would keep the end does not compile
//! - `tests/processes.rs`: the mutex in shared memory, its owner killed; that the owner runs at the priority of who waits

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;

use taut_sys::mutex::{Had, PiMutex};

/// An end, or anything, that one thread at a time uses.
///
/// Nothing of the end leaves the closure that it is given to:
///
/// ```compile_fail,E0521
/// let serial = taut_lock::Serial::new(vec![1]).unwrap();
/// let mut kept: Option<&mut Vec<i32>> = None;
/// serial.with(|end| kept = Some(end)).unwrap();
/// ```
///
/// nor does a `Serial` go while somebody is inside:
///
/// ```compile_fail,E0505
/// let serial = taut_lock::Serial::new(1).unwrap();
/// serial.with(|_| drop(serial)).unwrap();
/// ```
pub struct Serial<E> {
    // Boxed: a mutex of the system's may not move.
    mutex: Box<PiMutex>,
    guarded: UnsafeCell<Guarded<E>>,
}

struct Guarded<E> {
    end: E,
    /// Somebody is in the middle of a change, or was and did not finish it.
    poisoned: bool,
}

// SAFETY: the end is reached by who has the mutex alone (I1), so it moves from thread to thread but is never shared.
unsafe impl<E: Send> Sync for Serial<E> {}

/// Why an end was not had. Nothing has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Another thread has it: of [`Serial::try_with`].
    Busy,
    /// This thread has it already, or the system refuses its mutex.
    System(taut_sys::Error),
    /// A panic left it in the middle of a change, and nobody has repaired it since: see [`Serial::recover`].
    Poisoned,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("another thread has it"),
            Self::System(error) => write!(f, "{error}"),
            Self::Poisoned => f.write_str("it was left in the middle of a change: repair it with `recover`"),
        }
    }
}

impl std::error::Error for Refused {}

/// Has the mutex until it is dropped; a local of one call (I2).
struct Turn<'s>(&'s PiMutex);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // It is this thread's, so it cannot fail.
        let _ = self.0.unlock();
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
        Ok(Self { mutex, guarded: UnsafeCell::new(Guarded { end, poisoned: false }) })
    }

    /// Waits for its turn, and lets `work` have the end. A panic of it poisons the end.
    ///
    /// # Errors
    /// [`Refused::Poisoned`]; [`Refused::System`] with EDEADLK if this thread is inside already.
    pub fn with<R>(&self, work: impl FnOnce(&mut E) -> R) -> Result<R, Refused> {
        let had = self.mutex.lock().map_err(Refused::System)?;
        self.inside(had, |end, poisoned| if poisoned { Err(Refused::Poisoned) } else { Ok(work(end)) })
    }

    /// The same if nobody has it.
    ///
    /// # Errors
    /// [`Refused::Busy`], [`Refused::Poisoned`].
    pub fn try_with<R>(&self, work: impl FnOnce(&mut E) -> R) -> Result<R, Refused> {
        let had = self.mutex.try_lock().map_err(Refused::System)?.ok_or(Refused::Busy)?;
        self.inside(had, |end, poisoned| if poisoned { Err(Refused::Poisoned) } else { Ok(work(end)) })
    }

    /// As [`Serial::with`], also if the end is poisoned, and then it is not when `work` returns. `work` is told whether it is.
    ///
    /// # Errors
    /// [`Refused::System`].
    pub fn recover<R>(&self, work: impl FnOnce(&mut E, bool) -> R) -> Result<R, Refused> {
        let had = self.mutex.lock().map_err(Refused::System)?;
        self.inside(had, |end, poisoned| Ok(work(end, poisoned)))
    }

    /// Calls `work`, and releases the mutex, which this thread has.
    fn inside<R>(
        &self,
        had: Had,
        work: impl FnOnce(&mut E, bool) -> Result<R, Refused>,
    ) -> Result<R, Refused> {
        let _turn = Turn(&self.mutex);
        // SAFETY: this thread has the mutex until `_turn` is dropped, which is after the last use of the borrow; it has it
        // once, for the mutex refuses a second time (I1).
        let Guarded { end, poisoned } = unsafe { &mut *self.guarded.get() };
        // Set while `work` runs, so that a panic leaves it so (I3).
        let was = std::mem::replace(poisoned, true) || had == Had::OwnerDied;
        let result = work(end, was);
        *poisoned = matches!(result, Err(Refused::Poisoned));
        result
    }

    /// The end, which nobody else has; poisoned or not.
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
    fn who_is_inside_is_told_so() {
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
    fn a_panic_inside_poisons_until_somebody_recovers() {
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

    /// Serials come and go while their memory is used again: none may stay on a thread's list of mutexes that it has, to
    /// which the C library would write.
    #[test]
    #[cfg_attr(miri, ignore = "the list of robust mutexes, which the C library gives the kernel")]
    fn nothing_is_left_on_the_list_of_who_was_inside() {
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
        assert_eq!(Refused::Busy.to_string(), "another thread has it");
        let system = taut_sys::Error { call: "futex", errno: 35 };
        assert_eq!(Refused::System(system).to_string(), system.to_string());
        let repair = "it was left in the middle of a change: repair it with `recover`";
        assert_eq!(Refused::Poisoned.to_string(), repair);
    }
}
