// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A value and the lock that protects it, for plain threads.

use std::cell::UnsafeCell;
use std::fmt;

use taut_atomic::Memory;
use taut_share::Plain;

use crate::global::{AcquiredState, LockLayoutError, Patience, Stuck};
use crate::life::{Alive, Lives};
use crate::place::{Poison, SharedValue};
use crate::{queued, spin};

/// A value behind a spin lock: the end of one party.
///
/// Between threads of one process the value can be of any type:
///
/// ```
/// use taut_lock::{Line, Memory, spin};
///
/// let mut lines = [const { Line::new() }; spin::bytes(2) / size_of::<Line>()];
/// let mut words = Vec::new();
/// let ends = spin::group(Memory::new(&mut lines), 2)?.guard(&mut words);
/// std::thread::scope(|scope| {
///     for (mut end, word) in ends.zip(["from one", "from the other"]) {
///         scope.spawn(move || end.with(|words| words.push(word)).unwrap());
///     }
/// });
/// assert_eq!(words.len(), 2);
/// # Ok::<(), taut_lock::LockLayoutError>(())
/// ```
///
/// The holder can be preempted like any thread, and all others spin meanwhile; only an executor prevents that. On a
/// core whose threads have priorities of a real-time policy, a spinner of higher priority than the holder would
/// spin for ever.
pub type Spin<'m, T> = Guarded<'m, spin::Party<'m>, T>;

/// A value behind a queued lock, whose waiters sleep: the end of one party, which requests the lock at the priority
/// set here.
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
///         scope.spawn(move || end.with(|sum| *sum += priority).unwrap());
///     }
/// });
/// assert_eq!(sum, 10);
/// # Ok::<(), taut_lock::LockLayoutError>(())
/// ```
///
/// The priority orders the waiters only; it is not the priority of a thread. An executor raises the holder; plain
/// threads keep their priority. For priority inheritance see [`Serial`](crate::Serial).
pub type Queued<'m, T> = Guarded<'m, Asking<'m>, T>;

/// A value, and a party of the lock that protects it.
///
/// A section that ends by a panic or, between processes, by a death poisons the value, which may be half changed. From
/// then on every party gets [`Poisoned`], with the number of the party whose section that was, until a party has
/// repaired the value:
///
/// ```
/// # use taut_lock::{Line, Memory, Patience, Poisoned, spin};
/// # let mut lines = [const { Line::new() }; spin::bytes(2) / size_of::<Line>()];
/// # let mut pair = (1, 1);
/// # let mut ends = spin::group(Memory::new(&mut lines), 2)?.guard(&mut pair);
/// # let (mut first, mut second) = (ends.next().unwrap(), ends.next().unwrap());
/// # std::panic::set_hook(Box::new(|_| ()));
/// let panics = std::panic::AssertUnwindSafe(|| {
///     first.with(|pair| {
///         pair.0 = 2;
///         panic!("before the other one is 2 as well")
///     })
/// });
/// assert!(std::panic::catch_unwind(panics).is_err());
/// assert_eq!(second.with(|pair| *pair), Err(Poisoned { by: 0 }));
/// second.recover(Patience::Endless, |pair, by| {
///     assert_eq!(by, Some(0));
///     pair.1 = pair.0;
/// })?;
/// assert_eq!(second.with(|pair| *pair), Ok((2, 2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Nothing of the value leaves the closure that borrows it:
///
/// ```compile_fail,E0521
/// # use taut_lock::{Line, Memory, spin};
/// # let mut lines = [const { Line::new() }; spin::bytes(2) / size_of::<Line>()];
/// # let mut list = vec![1];
/// let mut end = spin::group(Memory::new(&mut lines), 2).unwrap().guard(&mut list).next().unwrap();
/// let mut kept: Option<&mut Vec<i32>> = None;
/// end.with(|list| kept = Some(list)).unwrap();
/// ```
///
/// An end goes to another thread only if its value may:
///
/// ```compile_fail,E0277
/// # use taut_lock::{Line, Memory, spin};
/// # let mut lines = [const { Line::new() }; spin::bytes(2) / size_of::<Line>()];
/// # let mut shared = std::rc::Rc::new(1);
/// let mut end = spin::group(Memory::new(&mut lines), 2).unwrap().guard(&mut shared).next().unwrap();
/// std::thread::scope(|scope| scope.spawn(move || end.with(|shared| drop(shared.clone()))).join().unwrap()).unwrap();
/// ```
///
/// The value stays where it is as long as it has ends:
///
/// ```compile_fail,E0505
/// # use taut_lock::{Line, Memory, spin};
/// # let mut lines = [const { Line::new() }; spin::bytes(2) / size_of::<Line>()];
/// # let mut list = vec![1];
/// let mut end = spin::group(Memory::new(&mut lines), 2).unwrap().guard(&mut list).next().unwrap();
/// drop(list);
/// end.with(|list| list.push(2)).unwrap();
/// ```
pub struct Guarded<'m, P, T> {
    party: P,
    value: Value<'m, T>,
}

/// A panic or a death ended a section, and no party has repaired the value since: see [`Guarded::recover`]. This call
/// has not touched the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poisoned {
    /// The party whose section it was.
    pub by: u32,
}

impl fmt::Display for Poisoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "party {} of the lock panicked or died while it changed the value: repair the value with \
             `recover`",
            self.by
        )
    }
}

impl std::error::Error for Poisoned {}

/// Why [`Guarded::try_with`] did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryWithError {
    /// The patience is over.
    Stuck(Stuck),
    /// The party got the lock, but the value is poisoned.
    Poisoned(Poisoned),
}

impl fmt::Display for TryWithError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stuck(stuck) => stuck.fmt(f),
            Self::Poisoned(poisoned) => poisoned.fmt(f),
        }
    }
}

impl std::error::Error for TryWithError {}

enum Value<'m, T> {
    Own(&'m UnsafeCell<T>, Poison<'m>),
    /// In the memory after the lock.
    Shared(SharedValue<'m, T>),
}

impl<T> Value<'_, T> {
    #[inline]
    fn poison(&self) -> Poison<'_> {
        match self {
            Self::Own(_, poison) => *poison,
            Self::Shared(place) => place.poison(),
        }
    }
}

// SAFETY: what moves with the end is the right to use the value, by one thread at a time.
unsafe impl<P: Send, T: Send> Send for Guarded<'_, P, T> {}

/// A party that requests the lock at a priority.
pub struct Asking<'m> {
    party: queued::Party<'m>,
    priority: u32,
}

/// A party of a lock that parties take in turns.
pub trait Turns: turns::SealedTurns {}

impl Turns for spin::Party<'_> {}

impl Turns for Asking<'_> {}

mod turns {
    use super::{AcquiredState, Asking, Patience, Stuck};
    use crate::{queued, spin};

    pub trait SealedTurns {
        fn enter(&mut self, patience: Patience) -> Result<AcquiredState, Stuck>;

        fn leave(&mut self);

        /// Its number among the parties of the lock.
        fn which(&self) -> u32;
    }

    impl SealedTurns for spin::Party<'_> {
        #[inline]
        fn enter(&mut self, patience: Patience) -> Result<AcquiredState, Stuck> {
            spin::Party::enter(self, patience)
        }

        #[inline]
        fn leave(&mut self) {
            spin::Party::leave(self);
        }

        fn which(&self) -> u32 {
            spin::Party::which(self)
        }
    }

    impl SealedTurns for Asking<'_> {
        #[inline]
        fn enter(&mut self, patience: Patience) -> Result<AcquiredState, Stuck> {
            match self.party.request(self.priority) {
                queued::RequestOutcome::Granted(entry) => Ok(entry),
                queued::RequestOutcome::Waits => self.party.wait(patience),
            }
        }

        #[inline]
        fn leave(&mut self) {
            self.party.release();
        }

        fn which(&self) -> u32 {
            self.party.which()
        }
    }
}

/// Holds the lock until dropped; a local of one call.
struct Inside<'p, P: Turns> {
    party: &'p mut P,
    poison: Poison<'p>,
    /// The value may be half changed.
    changes: bool,
}

impl<P: Turns> Drop for Inside<'_, P> {
    #[inline]
    fn drop(&mut self) {
        if self.changes {
            // A panic unwinds through the section.
            self.poison.put(self.party.which());
        }
        self.party.leave();
    }
}

impl<P: Turns> Inside<'_, P> {
    #[inline]
    fn is_whole(&self) -> Result<(), Poisoned> {
        self.poison.by().map_or(Ok(()), |by| Err(Poisoned { by }))
    }

    /// Gives `work` access to `value`, which this party's lock protects.
    #[inline]
    fn run<T, R>(mut self, value: &Value<'_, T>, work: impl FnOnce(&mut T) -> R) -> R {
        self.changes = true;
        let result = match value {
            // SAFETY: all users of this value are parties of one lock (`guard`). This party is inside until `self`
            // is dropped, which is after the last use of the borrow. It is inside once, because its end is borrowed
            // mutably meanwhile.
            Value::Own(value, _) => work(unsafe { &mut *value.get() }),
            // SAFETY: as above, but the caller that attached the parties ensures that their processes obey the
            // lock.
            Value::Shared(place) => unsafe { place.with(work) },
        };
        self.changes = false;
        result
    }
}

impl<P: Turns, T> Guarded<'_, P, T> {
    /// Takes the lock, and gives `work` access to the value. A panic of `work` releases the lock, and poisons the
    /// value.
    ///
    /// # Errors
    ///
    /// [`Poisoned`]: `work` was not called.
    #[inline]
    pub fn with<R>(&mut self, work: impl FnOnce(&mut T) -> R) -> Result<R, Poisoned> {
        let entry = loop {
            if let Ok(entry) = self.party.enter(Patience::Endless) {
                break entry;
            }
        };
        let (inside, value) = self.inside(entry);
        inside.is_whole()?;
        Ok(inside.run(value, work))
    }

    /// As [`Guarded::with`], but waits for the lock only while the patience lasts.
    ///
    /// # Errors
    ///
    /// [`TryWithError`]: `work` was not called.
    #[inline]
    pub fn try_with<R>(
        &mut self,
        patience: Patience,
        work: impl FnOnce(&mut T) -> R,
    ) -> Result<R, TryWithError> {
        let entry = self.party.enter(patience).map_err(TryWithError::Stuck)?;
        let (inside, value) = self.inside(entry);
        inside.is_whole().map_err(TryWithError::Poisoned)?;
        Ok(inside.run(value, work))
    }

    /// As [`Guarded::try_with`], also if the value is poisoned. Then the second argument of `work` is the party
    /// that poisoned it, and any part of the value may be old or new. The second argument is `None` if the value is
    /// whole. The value counts as whole when `work` returns, but not if `work` panics or its process dies.
    ///
    /// # Errors
    ///
    /// [`Stuck`]: `work` was not called.
    pub fn recover<R>(
        &mut self,
        patience: Patience,
        work: impl FnOnce(&mut T, Option<u32>) -> R,
    ) -> Result<R, Stuck> {
        let entry = self.party.enter(patience)?;
        let (inside, value) = self.inside(entry);
        let poison = inside.poison;
        Ok(inside.run(value, |value| {
            let result = work(value, poison.by());
            poison.clear();
            result
        }))
    }

    /// The party has the lock.
    #[inline]
    fn inside(&mut self, entry: AcquiredState) -> (Inside<'_, P>, &Value<'_, T>) {
        let Self { party, value } = self;
        let poison = value.poison();
        if let AcquiredState::OwnerDied(party) = entry {
            poison.put(party);
        }
        (Inside { party, poison, changes: false }, value)
    }
}

impl<T> Queued<'_, T> {
    /// Sets the priority of all later requests; larger = more urgent. Initially 0.
    pub fn set_priority(&mut self, priority: u32) {
        self.party.priority = priority;
    }
}

impl<'m> spin::Parties<'m> {
    /// The parties that this iterator has not returned yet, each with access to a value that they use in turns.
    pub fn guard<T>(self, value: &'m mut T) -> impl Iterator<Item = Spin<'m, T>> {
        let (value, poison) = (own(value), Poison(self.poison));
        self.map(move |party| Guarded { party, value: Value::Own(value, poison) })
    }
}

impl<'m> queued::Parties<'m> {
    /// The parties that this iterator has not returned yet, each with access to a value that they use in turns.
    pub fn guard<T>(self, value: &'m mut T) -> impl Iterator<Item = Queued<'m, T>> {
        let (value, poison) = (own(value), Poison(self.poison));
        self.map(move |party| Guarded {
            party: Asking { party, priority: 0 },
            value: Value::Own(value, poison),
        })
    }
}

/// The value as a cell, for as long as it is borrowed.
fn own<T>(value: &mut T) -> &UnsafeCell<T> {
    // SAFETY: both types have the same layout, and the mutable borrow is the only one.
    unsafe { &*std::ptr::from_mut(value).cast::<UnsafeCell<T>>() }
}

impl<'m, T: Plain> Spin<'m, T> {
    /// Party `which` of a lock between processes, with the value after the lock in the memory. The value is zeros
    /// before the first change.
    ///
    /// # Errors
    ///
    /// As [`spin::party`].
    ///
    /// # Safety
    ///
    /// The memory holds such a lock and value, of this number of parties and this `T`, or zeros; all processes that
    /// can write there obey the lock; and `alive` is of these `lives`.
    pub unsafe fn attach(
        memory: Memory<'m>,
        parties: u32,
        which: u32,
        lives: Lives<'m>,
        alive: &'m Alive,
    ) -> Result<Self, LockLayoutError> {
        let (lock, place) = SharedValue::cut(memory, parties)?;
        let party = spin::party(lock, parties, which, lives, alive)?;
        Ok(Self { party, value: Value::Shared(place) })
    }
}

impl<'m, T: Plain> Queued<'m, T> {
    /// Party `which` of a lock between processes, with the value after the lock in the memory. The value is zeros
    /// before the first change.
    ///
    /// # Errors
    ///
    /// As [`queued::party`].
    ///
    /// # Safety
    ///
    /// The memory holds such a lock and value, of this number of parties and this `T`, or zeros; all processes that
    /// can write there obey the lock; and `alive` is of these `lives`.
    pub unsafe fn attach(
        memory: Memory<'m>,
        parties: u32,
        which: u32,
        lives: Lives<'m>,
        alive: &'m Alive,
    ) -> Result<Self, LockLayoutError> {
        let (lock, place) = SharedValue::cut(memory, parties)?;
        let party = queued::party(lock, parties, which, lives, alive)?;
        Ok(Self { party: Asking { party, priority: 0 }, value: Value::Shared(place) })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[allow(clippy::unwrap_used, reason = "a test: helpers too")]
mod tests {
    use taut_atomic::{LINE_BYTES, Line};

    use super::*;
    use crate::shared_bytes;

    /// Panics in a section of `end`, and catches the panic.
    fn panics<P: Turns>(end: &mut Guarded<'_, P, [u32; 2]>, recovers: bool) {
        let change = |value: &mut [u32; 2]| {
            value[0] += 1;
            std::panic::resume_unwind(Box::new("in the middle of a change"))
        };
        let section = std::panic::AssertUnwindSafe(|| {
            if recovers {
                end.recover(Patience::Endless, |value, _| change(value)).unwrap();
            } else {
                end.with(change).unwrap();
            }
        });
        assert!(std::panic::catch_unwind(section).is_err());
    }

    fn is_poisoned_by_a_panic<'m, P: Turns>(mut ends: impl Iterator<Item = Guarded<'m, P, [u32; 2]>>) {
        let (mut first, mut second) = (ends.next().unwrap(), ends.next().unwrap());
        let soon = Patience::Looks(50);
        assert_eq!(second.with(|value| *value), Ok([0, 0]));
        panics(&mut second, false);
        let by = Poisoned { by: 1 };
        for _ in 0..2 {
            assert_eq!(first.with(|value| *value), Err(by));
            assert_eq!(first.try_with(soon, |value| *value), Err(TryWithError::Poisoned(by)));
            assert_eq!(second.with(|value| *value), Err(by), "also who left it so");
        }
        panics(&mut first, true);
        assert_eq!(second.with(|value| *value), Err(Poisoned { by: 0 }), "it was not repaired");
        let repair = |value: &mut [u32; 2], by| {
            value[1] = value[0];
            by
        };
        assert_eq!(second.recover(soon, repair), Ok(Some(0)));
        assert_eq!(first.recover(soon, |value, by| (*value, by)), Ok(([2, 2], None)));
        assert_eq!(first.with(|value| *value), Ok([2, 2]));
    }

    #[test]
    fn a_panic_poisons_until_a_party_recovers() {
        let (mut lines, mut value) = ([const { Line::new() }; 3], [0; 2]);
        is_poisoned_by_a_panic(spin::group(Memory::new(&mut lines), 2).unwrap().guard(&mut value));
        value = [0; 2];
        is_poisoned_by_a_panic(queued::group(Memory::new(&mut lines), 2).unwrap().guard(&mut value));
    }

    #[test]
    fn memory_used_again_is_not_poisoned() {
        fn spun<'m>(lines: &'m mut [Line], value: &'m mut [u32; 2]) -> Spin<'m, [u32; 2]> {
            spin::group(Memory::new(lines), 2).unwrap().guard(value).next().unwrap()
        }
        let (mut lines, mut value) = ([const { Line::new() }; 3], [0; 2]);
        panics(&mut spun(&mut lines, &mut value), false);
        assert_eq!(spun(&mut lines, &mut value).with(|value| value[0]), Ok(1));
    }

    #[test]
    fn a_value_between_processes_outlives_its_holder() {
        let bytes = shared_bytes::<[u32; 5]>(2);
        let lines = (0..bytes / LINE_BYTES).map(|_| Line::new()).collect::<Box<[Line]>>();
        let start = std::ptr::NonNull::from(Box::leak(lines)).cast();
        // SAFETY: the lines are leaked, aligned and of that length, and only parties of one lock use them.
        let memory = |bytes| unsafe { Memory::from_raw(start, bytes) };
        let lines = vec![Line::new(), Line::new()].into_boxed_slice();
        let lives = Lives::new(Memory::new(Box::leak(lines)), 2).unwrap();
        let (dying, alive) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
        fn attach<'m>(
            memory: Memory<'m>,
            which: u32,
            lives: Lives<'m>,
            alive: &'m Alive,
        ) -> Result<Queued<'m, [u32; 5]>, LockLayoutError> {
            // SAFETY: the memory is zeros, and is used only as this lock and value.
            unsafe { Queued::attach(memory, 2, which, lives, alive) }
        }
        assert_eq!(
            attach(memory(256), 0, lives, &alive).err(),
            Some(LockLayoutError::TooSmall { needed: 512, given: 256 })
        );
        let mut second = attach(memory(bytes), 1, lives, &alive).unwrap();
        let mut first = attach(memory(bytes), 0, lives, &dying).unwrap();
        first.set_priority(3);
        first.with(|value| value[4] = 9).unwrap();
        // The first party dies inside, as far as the other can tell.
        first.party.party.request(1);
        std::mem::forget(first);
        drop(dying);
        let soon = Patience::Until(crate::global::now() + 1_000_000_000);
        let had = second.try_with(soon, |value| *value);
        assert_eq!(had, Err(TryWithError::Poisoned(Poisoned { by: 0 })));
        assert_eq!(second.with(|value| *value), Err(Poisoned { by: 0 }), "told to all that come after");
        let repair = |value: &mut [u32; 5], by| (std::mem::take(value), by);
        assert_eq!(second.recover(soon, repair), Ok(([0, 0, 0, 0, 9], Some(0))));
        assert_eq!(second.with(|value| *value), Ok([0; 5]));
    }

    /// Of three parties that have requested in their order, the one whose priority was raised goes first.
    #[test]
    fn a_request_of_higher_priority_goes_first() {
        let (mut lines, mut value) = ([const { Line::new() }; 4], ());
        let mut ends: Vec<_> = queued::group(Memory::new(&mut lines), 3).unwrap().guard(&mut value).collect();
        ends[2].set_priority(3);
        for end in &mut ends {
            let asked = end.party.party.request(end.party.priority);
            assert_eq!(asked == queued::RequestOutcome::Waits, end.party.party.which() > 0);
        }
        assert_eq!(ends[0].party.party.release(), Some(2));
    }

    #[test]
    fn each_error_says_what_to_do() {
        let poisoned = Poisoned { by: 5 };
        let repair = "party 5 of the lock panicked or died while it changed the value: repair the value with `recover`";
        assert_eq!(poisoned.to_string(), repair);
        assert_eq!(TryWithError::Poisoned(poisoned).to_string(), repair);
        let stuck = crate::Stuck { party: 7 };
        assert_eq!(TryWithError::Stuck(stuck).to_string(), stuck.to_string());
    }
}
