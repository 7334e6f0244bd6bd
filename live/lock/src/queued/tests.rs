// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_atomic::{LINE_BYTES, Line};

use super::*;
use crate::global::{AcquiredState, Patience, Stuck, now};

const CLEAN: RequestOutcome = RequestOutcome::Granted(AcquiredState::Clean);

fn parties<const N: usize>(lines: &mut [Line]) -> [Party<'_>; N] {
    let mut parties = group(Memory::new(lines), N as u32).expect("room");
    std::array::from_fn(|_| parties.next().expect("as many"))
}

#[test]
fn by_priority_then_first_come() {
    let mut lines = [const { Line::new() }; 6];
    let [mut a, mut b, mut c, mut d, mut e] = parties(&mut lines);
    assert_eq!(a.request(1), CLEAN);
    for (party, priority) in [(&mut b, 5), (&mut c, 9), (&mut d, 5), (&mut e, 3)] {
        assert_eq!(party.request(priority), RequestOutcome::Waits);
        assert_eq!((party.granted(), party.is_inside()), (None, false));
    }
    for (holder, next) in [(a, 2), (c, 1), (b, 3), (d, 4)] {
        let mut holder = holder;
        if holder.which() != 0 {
            assert_eq!(holder.granted(), Some(AcquiredState::Clean));
        }
        assert!(holder.is_inside());
        assert_eq!(holder.release(), Some(next));
        assert!(!holder.is_inside());
        assert_eq!((holder.release(), holder.granted()), (None, None), "it has it no more");
    }
    assert_eq!((e.wait(Patience::Endless), e.release()), (Ok(AcquiredState::Clean), None));
    assert_eq!(e.request(0), CLEAN);
}

#[test]
fn patience_ends_and_a_withdrawn_party_is_skipped() {
    let mut lines = [const { Line::new() }; 4];
    let [mut a, mut b, mut c] = parties(&mut lines);
    assert_eq!(a.request(1), CLEAN);
    assert_eq!(b.wait(Patience::Endless), Err(Stuck { party: 0 }), "it has not asked");
    assert_eq!((b.request(9), c.request(1)), (RequestOutcome::Waits, RequestOutcome::Waits));
    let soon = Patience::Until(now() + 2_000_000);
    assert_eq!(b.wait(soon), Err(Stuck { party: 0 }));
    assert_eq!((b.withdraw(), a.withdraw()), (Withdrawn::Left, Withdrawn::Next));
    assert_eq!(a.release(), Some(2));
    assert_eq!(c.withdraw(), Withdrawn::Next);
    assert_eq!(c.wait(Patience::Looks(0)), Ok(AcquiredState::Clean));
    assert_eq!(b.request(1), RequestOutcome::Waits);
    assert_eq!(b.wait(Patience::Looks(2)), Err(Stuck { party: 2 }));
    assert_eq!((b.request(1), b.withdraw(), c.release()), (RequestOutcome::Waits, Withdrawn::Left, None));
    assert_eq!(b.request(1), CLEAN);
}

#[test]
fn a_dropped_party_releases_its_lock_or_its_request() {
    let mut lines = [const { Line::new() }; 4];
    let [mut a, mut b, mut c] = parties(&mut lines);
    assert_eq!(
        (a.request(1), b.request(1), c.request(1)),
        (CLEAN, RequestOutcome::Waits, RequestOutcome::Waits)
    );
    drop(a);
    drop(b);
    assert_eq!(c.granted(), Some(AcquiredState::Clean));
}

#[test]
fn dead_parties_are_replaced_and_reported_if_inside() {
    for (inside, heir_first) in [(false, false), (false, true), (true, false), (true, true)] {
        let bytes = bytes(3);
        let lines = (0..bytes / LINE_BYTES).map(|_| Line::new()).collect::<Box<[Line]>>();
        let start = std::ptr::NonNull::from(Box::leak(lines)).cast();
        // SAFETY: the lines are leaked, aligned and of that length, and only parties of one lock use them.
        let memory = || unsafe { Memory::from_raw(start, bytes) };
        let lines = vec![Line::new(), Line::new()].into_boxed_slice();
        let lives = Lives::new(Memory::new(Box::leak(lines)), 2).unwrap();
        let (dying, alive) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
        let mut first = party(memory(), 3, 0, lives, &dying).unwrap();
        let mut second = party(memory(), 3, 1, lives, &alive).unwrap();
        let mut third = party(memory(), 3, 2, lives, &alive).unwrap();
        if inside {
            assert_eq!(first.request(1), CLEAN);
        } else {
            assert_eq!((third.request(1), first.request(2)), (CLEAN, RequestOutcome::Waits));
            assert_eq!(third.release(), Some(0));
        }
        assert_eq!((second.request(1), third.request(2)), (RequestOutcome::Waits, RequestOutcome::Waits));
        assert_eq!(second.wait(Patience::Looks(3)), Err(Stuck { party: 0 }));
        assert_eq!(second.request(1), RequestOutcome::Waits);
        std::mem::forget(first);
        drop(dying);
        let reported = if inside { AcquiredState::OwnerDied(0) } else { AcquiredState::Clean };
        let heir = heir_first.then(|| party(memory(), 3, 0, lives, &alive).unwrap());
        assert_eq!(second.granted(), None, "the other one is more urgent");
        assert_eq!(third.wait(Patience::Endless), Ok(reported));
        assert_eq!(third.release(), Some(1));
        assert_eq!(second.wait(Patience::Endless), Ok(AcquiredState::Clean));
        drop(heir);
    }
}

/// Another program finds the words of a party where the documentation of the module says.
#[test]
fn the_words_of_a_party_are_where_documented() {
    let bytes = bytes(2);
    let lines = (0..bytes / LINE_BYTES).map(|_| Line::new()).collect::<Box<[Line]>>();
    let start = std::ptr::NonNull::from(Box::leak(lines)).cast::<u8>();
    // SAFETY: the lines are leaked, aligned and of that length, and only parties of one lock use them.
    let mut parties = group(unsafe { Memory::from_raw(start, bytes) }, 2).unwrap();
    let (mut holder, mut waiter) = (parties.next().unwrap(), parties.next().unwrap());
    assert_eq!((holder.request(1), waiter.request(7)), (CLEAN, RequestOutcome::Waits));
    // SAFETY: the word is within the memory and aligned; all accesses to it are atomic.
    let word = |at| unsafe { std::sync::atomic::AtomicU64::from_ptr(start.add(at).cast().as_ptr()) };
    let [tickets, state, priority] =
        [8, 256, 256 + 16].map(|at| word(at).load(std::sync::atomic::Ordering::Relaxed));
    assert_eq!((tickets, state, priority), (1, 1 << 2 | 1, 7));
}

/// A waiter sleeps, however long that takes, and wakes when it is handed the lock.
#[test]
#[cfg_attr(miri, ignore = "reads the state of another thread from /proc")]
fn a_waiting_party_sleeps_until_it_is_notified() {
    let mut lines = [const { Line::new() }; 3];
    let [mut holder, mut waiter] = parties(&mut lines);
    assert_eq!(holder.request(1), CLEAN);
    let tid = std::sync::atomic::AtomicI32::new(0);
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| {
            crate::sleep::tests::say_which(&tid);
            waiter.request(1);
            waiter.wait(Patience::Endless)
        });
        crate::sleep::tests::until_asleep(&tid);
        assert_eq!(holder.release(), Some(1));
        assert_eq!(waits.join().unwrap(), Ok(AcquiredState::Clean));
    });
}
