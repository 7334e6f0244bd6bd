// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A value and the lock that protects it, for plain threads.

use std::cell::UnsafeCell;

use taut_atomic::Memory;
use taut_share::Plain;

use crate::global::{Entry, LayoutError, Patience, Stuck};
use crate::life::{Alive, Lives};
use crate::place::Place;
use crate::{queued, spin};

/// A value behind a lock that is spun for: the end of one party.
///
/// Between threads of one process the value is anything:
///
/// ```
/// use taut_lock::{Line, Memory, spin};
///
/// let mut lines = [const { Line::new() }; spin::bytes(2) / size_of::<Line>()];
/// let mut words = Vec::new();
/// let ends = spin::group(Memory::new(&mut lines), 2)?.guard(&mut words);
/// std::thread::scope(|scope| {
///     for (mut end, word) in ends.zip(["from one", "from the other"]) {
///         scope.spawn(move || end.with(|words| words.push(word)));
///     }
/// });
/// assert_eq!(words.len(), 2);
/// # Ok::<(), taut_lock::LayoutError>(())
/// ```
///
/// Who holds it can be preempted like any thread, and all others spin meanwhile: to prevent that is an executor's. On
/// a core whose threads have priorities of a real-time policy, a spinner above the holder would spin for ever.
pub type Spin<'m, T> = Guarded<'m, spin::Party<'m>, T>;

/// A value behind a lock that is slept for: the end of one party, which asks at the priority that it has here.
///
/// ```
/// use taut_lock::{Line, Memory, queued};
///
/// let mut lines = [const { Line::new() }; queued::bytes(2) / size_of::<Line>()];
/// let mut sum = 0;
/// let ends = queued::group(Memory::new(&mut lines), 2)?.guard(&mut sum);
/// std::thread::scope(|scope| {
///     for (mut end, priority) in ends.zip([3, 7]) {
///         end.set_priority(priority);
///         scope.spawn(move || end.with(|sum| *sum += priority));
///     }
/// });
/// assert_eq!(sum, 10);
/// # Ok::<(), taut_lock::LayoutError>(())
/// ```
///
/// The priority is the order in which they get it, and no thread's: an executor raises who holds it, plain threads stay as
/// they are. What inherits is [`Serial`](crate::Serial).
pub type Queued<'m, T> = Guarded<'m, Asking<'m>, T>;

/// A value, and a party of the lock that protects it.
pub struct Guarded<'m, P, T> {
    party: P,
    value: Value<'m, T>,
}

enum Value<'m, T> {
    Own(&'m UnsafeCell<T>),
    /// In the memory behind the lock.
    Shared(Place<'m, T>),
}

// SAFETY: what moves with it is the right to use the value, by one thread at a time.
unsafe impl<P: Send, T: Send> Send for Guarded<'_, P, T> {}

/// A party that asks at a priority.
pub struct Asking<'m> {
    party: queued::Party<'m>,
    priority: u32,
}

/// What has a lock in turns.
pub trait Turns: turns::Turns {}

impl Turns for spin::Party<'_> {}

impl Turns for Asking<'_> {}

mod turns {
    use super::{Asking, Entry, Patience, Stuck};
    use crate::{queued, spin};

    pub trait Turns {
        fn enter(&mut self, patience: Patience) -> Result<Entry, Stuck>;

        fn leave(&mut self);
    }

    impl Turns for spin::Party<'_> {
        #[inline]
        fn enter(&mut self, patience: Patience) -> Result<Entry, Stuck> {
            spin::Party::enter(self, patience)
        }

        #[inline]
        fn leave(&mut self) {
            spin::Party::leave(self);
        }
    }

    impl Turns for Asking<'_> {
        #[inline]
        fn enter(&mut self, patience: Patience) -> Result<Entry, Stuck> {
            match self.party.request(self.priority) {
                queued::Request::Granted(entry) => Ok(entry),
                queued::Request::Waits => self.party.wait(patience),
            }
        }

        #[inline]
        fn leave(&mut self) {
            self.party.release();
        }
    }
}

/// Leaves when dropped, also when what is done inside panics.
struct Inside<'p, P: Turns>(&'p mut P);

impl<P: Turns> Drop for Inside<'_, P> {
    #[inline]
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl<P: Turns, T> Guarded<'_, P, T> {
    /// Lets `work` have the value once the lock is had. A panic of it gives the lock back, and leaves the value as it is
    /// then.
    #[inline]
    pub fn with<R>(&mut self, work: impl FnOnce(&mut T) -> R) -> R {
        loop {
            if let Ok(entry) = self.party.enter(Patience::Endless) {
                return self.inside(entry, |value, _| work(value));
            }
        }
    }

    /// The same while the patience lasts; and `work` is told if another process died with the lock.
    ///
    /// # Errors
    ///
    /// [`Stuck`]: nothing was done.
    #[inline]
    pub fn try_with<R>(
        &mut self,
        patience: Patience,
        work: impl FnOnce(&mut T, Entry) -> R,
    ) -> Result<R, Stuck> {
        let entry = self.party.enter(patience)?;
        Ok(self.inside(entry, work))
    }

    #[inline]
    fn inside<R>(&mut self, entry: Entry, work: impl FnOnce(&mut T, Entry) -> R) -> R {
        let _inside = Inside(&mut self.party);
        match &self.value {
            // SAFETY: all that have this value are parties of one lock (`guard`), and this one is inside.
            Value::Own(value) => work(unsafe { &mut *value.get() }, entry),
            // SAFETY: all that use it are parties of one lock, whose processes keep to it (callers of `attach`), and this one
            // is inside.
            Value::Shared(place) => unsafe { place.with(|value| work(value, entry)) },
        }
    }
}

impl<T> Queued<'_, T> {
    /// From now on it asks at this priority; larger = more urgent. 0 at first.
    pub fn set_priority(&mut self, priority: u32) {
        self.party.priority = priority;
    }
}

impl<'m> spin::Parties<'m> {
    /// The parties that have not been given yet, each with a value that all of them have in turns.
    pub fn guard<T>(self, value: &'m mut T) -> impl Iterator<Item = Spin<'m, T>> {
        let value = own(value);
        self.map(move |party| Guarded { party, value: Value::Own(value) })
    }
}

impl<'m> queued::Parties<'m> {
    /// The parties that have not been given yet, each with a value that all of them have in turns.
    pub fn guard<T>(self, value: &'m mut T) -> impl Iterator<Item = Queued<'m, T>> {
        let value = own(value);
        self.map(move |party| Guarded { party: Asking { party, priority: 0 }, value: Value::Own(value) })
    }
}

/// As a cell, for as long as it is borrowed.
fn own<T>(value: &mut T) -> &UnsafeCell<T> {
    // SAFETY: the same layout, and borrowed mutably by nobody else.
    unsafe { &*std::ptr::from_mut(value).cast::<UnsafeCell<T>>() }
}

impl<'m, T: Plain> Spin<'m, T> {
    /// Party `which` of a lock between processes, with its value behind it: zeros before the first change.
    ///
    /// # Errors
    ///
    /// As [`spin::party`].
    ///
    /// # Safety
    ///
    /// What stands on the memory is such a lock and value, of this many parties and this `T`, or zeros; all processes that
    /// can write there keep to it; and `alive` is of these `lives`.
    pub unsafe fn attach(
        memory: Memory<'m>,
        parties: u32,
        which: u32,
        lives: Lives<'m>,
        alive: &'m Alive,
    ) -> Result<Self, LayoutError> {
        let (lock, place) = Place::cut(memory, parties)?;
        let party = spin::party(lock, parties, which, lives, alive)?;
        Ok(Self { party, value: Value::Shared(place) })
    }
}

impl<'m, T: Plain> Queued<'m, T> {
    /// Party `which` of a lock between processes, with its value behind it: zeros before the first change.
    ///
    /// # Errors
    ///
    /// As [`queued::party`].
    ///
    /// # Safety
    ///
    /// What stands on the memory is such a lock and value, of this many parties and this `T`, or zeros; all processes that
    /// can write there keep to it; and `alive` is of these `lives`.
    pub unsafe fn attach(
        memory: Memory<'m>,
        parties: u32,
        which: u32,
        lives: Lives<'m>,
        alive: &'m Alive,
    ) -> Result<Self, LayoutError> {
        let (lock, place) = Place::cut(memory, parties)?;
        let party = queued::party(lock, parties, which, lives, alive)?;
        Ok(Self { party: Asking { party, priority: 0 }, value: Value::Shared(place) })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use taut_atomic::{LINE_BYTES, Line};

    use super::*;
    use crate::shared_bytes;

    #[test]
    fn a_panic_gives_the_lock_back() {
        let mut lines = [const { Line::new() }; 2];
        let mut number = 7;
        let mut end = spin::group(Memory::new(&mut lines), 1).unwrap().guard(&mut number).next().unwrap();
        let panics = std::panic::AssertUnwindSafe(|| {
            end.with(|number| {
                *number = 8;
                panic!("inside")
            })
        });
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!(end.try_with(Patience::Looks(1), |number, entry| (*number, entry)), Ok((8, Entry::Clean)));
    }

    #[test]
    fn a_value_between_processes_outlives_its_holder() {
        let bytes = shared_bytes::<[u32; 5]>(2);
        let lines = (0..bytes / LINE_BYTES).map(|_| Line::new()).collect::<Box<[Line]>>();
        let start = std::ptr::NonNull::from(Box::leak(lines)).cast();
        // SAFETY: leaked, aligned, of that length; used by parties of one lock alone.
        let memory = |bytes| unsafe { Memory::from_raw(start, bytes) };
        let lines = vec![Line::new(), Line::new()].into_boxed_slice();
        let lives = Lives::new(Memory::new(Box::leak(lines)), 2).unwrap();
        let (dying, alive) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
        fn attach<'m>(
            memory: Memory<'m>,
            which: u32,
            lives: Lives<'m>,
            alive: &'m Alive,
        ) -> Result<Queued<'m, [u32; 5]>, LayoutError> {
            // SAFETY: zeros, and used as this alone.
            unsafe { Queued::attach(memory, 2, which, lives, alive) }
        }
        assert_eq!(
            attach(memory(256), 0, lives, &alive).err(),
            Some(LayoutError::TooSmall { needed: 512, given: 256 })
        );
        let mut second = attach(memory(bytes), 1, lives, &alive).unwrap();
        let mut first = attach(memory(bytes), 0, lives, &dying).unwrap();
        first.set_priority(3);
        first.with(|value| value[4] = 9);
        // It dies inside, as far as the other can tell.
        first.party.party.request(1);
        std::mem::forget(first);
        drop(dying);
        let soon = Patience::Until(crate::global::now() + 1_000_000_000);
        let had = second.try_with(soon, |value, entry| (*value, entry));
        assert_eq!(had, Ok(([0, 0, 0, 0, 9], Entry::OwnerDied(0))));
    }
}
