// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Timed slots beside a model, in one thread and in two; tokens; the successors of ends that are gone.

use std::cell::RefCell;
use std::collections::BTreeMap;

use taut_model::Mechanism;
use taut_share::queue::timed_slots::{self, Cancellation, Due, PendingSlot, SLOTS_MAX, SlotToken};
use taut_share::{LayoutError, Memory};

use crate::payload::{marked, number};
use crate::place::Place;

type Value = [u64; 3];
type Setter = timed_slots::Setter<'static, Value>;
type Taker = timed_slots::Taker<'static, Value>;

/// Zeroed memory that stays until this test's thread ends, after the ends on it.
fn memory(capacity: u32) -> Memory<'static> {
    std::thread_local!(static KEPT: RefCell<Vec<Place>> = const { RefCell::new(Vec::new()) });
    let place = Place::new(timed_slots::bytes::<Value>(capacity).unwrap());
    let memory = place.memory();
    KEPT.with_borrow_mut(|kept| kept.push(place));
    memory
}

fn at(instant: u64) -> Due {
    Due { earliest: instant, latest: instant, period: 0 }
}

fn set(setter: &mut Setter, due: Due, of: u64) -> SlotToken {
    setter.free().unwrap().set(due, &marked(of)).token
}

fn news(taker: &mut Taker) -> Vec<(usize, Option<PendingSlot>)> {
    let mut news = Vec::new();
    taker.collect(|slot, pending| news.push((slot, pending)));
    news
}

fn take(taker: &mut Taker, slot: usize, pending: PendingSlot) -> Option<(u64, Option<PendingSlot>)> {
    let mut value = marked(0);
    let later = |due: Due| Some(Due { earliest: due.earliest + 100, latest: due.latest + 100, period: 7 });
    let taken = taker.take_into(slot, pending, later, &mut value)?;
    assert_eq!(taken.due, pending.due);
    Some((number(&value), taken.again))
}

#[test]
fn bytes_are_those_of_the_model() {
    fn check<const N: usize>() {
        for capacity in [1, 3, 8, 9, 100, 65_536] {
            let of = Mechanism::TimedSlots.bytes(u32::try_from(N).unwrap(), capacity, 1);
            let size = of.and_then(|of| usize::try_from(of).ok());
            assert_eq!(timed_slots::bytes::<[u8; N]>(capacity), size, "{capacity} × {N}");
        }
    }
    check::<0>();
    check::<1>();
    check::<24>();
    check::<63>();
    check::<64>();
    check::<4000>();
    assert_eq!(timed_slots::bytes::<Value>(SLOTS_MAX + 1), None);
    let refused = |capacity| timed_slots::pair::<Value>(memory(1), capacity).err();
    assert_eq!(refused(0), Some(LayoutError::Capacity));
    assert_eq!(refused(SLOTS_MAX + 1), Some(LayoutError::Capacity));
    assert!(matches!(refused(9), Some(LayoutError::TooSmall { .. })));
}

/// What a slot holds, by the model.
struct Held {
    token: SlotToken,
    of: u64,
    due: Due,
}

/// Random calls of both ends; the taker's list, which its collections alone change, names what the model says.
#[test]
fn random_calls_are_those_of_a_model() {
    for (capacity, seed) in [(1, 5_u64), (3, 6), (9, 7), (64, 8)] {
        let (mut setter, mut taker) = timed_slots::pair::<Value>(memory(capacity), capacity).unwrap();
        let mut random = seed;
        let mut draw = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        let mut model: Vec<Held> = Vec::new();
        let mut over: Vec<SlotToken> = Vec::new();
        let mut listed: BTreeMap<usize, PendingSlot> = BTreeMap::new();
        let (mut full, mut stale) = (0, 0);
        for of in 1..if cfg!(miri) { 300 } else { 20_000 } {
            match draw(5) {
                0 | 1 => match setter.free() {
                    Some(free) => {
                        let (earliest, period) = (draw(50), draw(2) * 7);
                        let due = Due { earliest, latest: earliest + draw(9), period };
                        let token = free.set(due, &marked(of)).token;
                        assert!(
                            over.iter().chain(model.iter().map(|held| &held.token)).all(|old| *old != token)
                        );
                        model.push(Held { token, of, due });
                    }
                    None => {
                        full += 1;
                        assert_eq!(model.len(), capacity as usize, "full only if all are in use");
                    }
                },
                2 if !model.is_empty() => {
                    let held = model.swap_remove(draw(model.len() as u64) as usize);
                    assert_eq!(setter.cancel(held.token), Cancellation::Prevented);
                    over.push(held.token);
                }
                3 if !over.is_empty() => {
                    let token = over[draw(over.len() as u64) as usize];
                    assert_eq!(setter.cancel(token), Cancellation::Over, "an old token cancels nothing");
                }
                _ => {
                    if draw(2) == 0 {
                        for (slot, pending) in news(&mut taker) {
                            listed.remove(&slot);
                            pending.map(|pending| listed.insert(slot, pending));
                        }
                    }
                    let Some((&slot, &pending)) = listed.iter().min_by_key(|(_, of)| of.due.latest) else {
                        continue;
                    };
                    listed.remove(&slot);
                    let Some((of, again)) = take(&mut taker, slot, pending) else {
                        stale += 1;
                        continue;
                    };
                    let held = model.iter().position(|held| held.of == of).unwrap();
                    assert_eq!(model[held].due, pending.due);
                    match again {
                        Some(again) => {
                            assert_eq!(again.due.latest, pending.due.latest + 100);
                            model[held].due = again.due;
                            listed.insert(slot, again);
                        }
                        None => {
                            assert_eq!(pending.due.period, 0);
                            over.push(model.swap_remove(held).token);
                        }
                    }
                }
            }
            if over.len() > 200 {
                over.drain(..100);
            }
        }
        // A few hundred calls, as Miri makes, do not reach all of it with many slots.
        let reached = cfg!(miri) || full > 0 && stale > 0;
        assert!(reached, "{capacity}: {full} full, {stale} cancelled after the look");
        let mut left: Vec<u64> = model.iter().map(|held| held.due.latest).collect();
        for (slot, pending) in news(&mut taker) {
            listed.remove(&slot);
            pending.map(|pending| listed.insert(slot, pending));
        }
        let mut known: Vec<u64> = listed.values().map(|of| of.due.latest).collect();
        left.sort_unstable();
        known.sort_unstable();
        assert_eq!(left, known, "the taker knows all that is pending");
    }
}

/// A setter is told to wake the taker only for an instant before the one for which it waits.
#[test]
fn only_earlier_instants_wake() {
    let (mut setter, mut taker) = timed_slots::pair::<Value>(memory(8), 8).unwrap();
    let mut wakes = |due: u64| {
        let set = setter.free().unwrap().set(at(due), &marked(1));
        assert_eq!(setter.cancel(set.token), Cancellation::Prevented);
        set.wakes
    };
    assert!(!wakes(5), "nobody sleeps");
    taker.arm();
    assert!(wakes(5) && wakes(u64::MAX - 1));
    taker.narrow(100);
    assert_eq!([99, 100, 101].map(&mut wakes), [true, false, false]);
    taker.narrow(0);
    assert!(!wakes(5));
}

/// A repeated value that is cancelled while it is taken is not taken again.
#[test]
fn a_cancel_ends_a_repetition() {
    let (mut setter, mut taker) = timed_slots::pair::<Value>(memory(1), 1).unwrap();
    let token = set(&mut setter, Due { earliest: 5, latest: 5, period: 7 }, 1);
    let (slot, pending) = news(&mut taker)[0];
    let mut value = marked(0);
    let within = |due: Due| {
        assert_eq!(setter.cancel(token), Cancellation::Underway);
        assert!(setter.free().is_none(), "it is being taken");
        Some(due)
    };
    let taken = taker.take_into(slot, pending.unwrap(), within, &mut value).unwrap();
    assert_eq!((taken.again, number(&value)), (None, 1));
    assert_eq!(setter.cancel(token), Cancellation::Over);
    assert!(setter.free().is_some());
}

#[test]
fn successors_go_on() {
    let place = Place::new(timed_slots::bytes::<Value>(3).unwrap());
    // SAFETY: each end once at a time, in one thread.
    let setter = || unsafe { timed_slots::setter::<Value>(place.memory(), 3).unwrap() };
    // SAFETY: the same.
    let taker = || unsafe { timed_slots::taker::<Value>(place.memory(), 3).unwrap() };
    let (mut first, mut one) = (setter(), taker());
    let [a, b] = [at(5), Due { earliest: 6, latest: 6, period: 7 }]
        .map(|due| first.free().unwrap().set(due, &marked(due.latest)).token);
    assert_eq!(news(&mut one).iter().flat_map(|(_, of)| of).count(), 2);
    // The taker dies inside a take.
    let (slot, pending) = (1, news(&mut taker())[1].1.unwrap());
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        one.take_into(slot, pending, |_| panic!("dies"), &mut marked(0))
    }));
    assert!(died.is_err());
    assert_eq!(first.cancel(b), Cancellation::Underway);
    let mut next = taker();
    assert_eq!(first.cancel(b), Cancellation::Over, "at most once");
    let found: Vec<_> = news(&mut next).into_iter().filter_map(|(slot, of)| Some((slot, of?))).collect();
    assert_eq!(found.len(), 1, "its first collection is of all slots");
    // A new setter goes on where the other one was: no slot is lost, and old tokens are of old values.
    let mut second = setter();
    let all = [second.free().unwrap().set(at(8), &marked(8)), second.free().unwrap().set(at(9), &marked(9))];
    assert!(second.free().is_none());
    assert_eq!(second.cancel(b), Cancellation::Over);
    assert_eq!(second.cancel(a), Cancellation::Prevented);
    assert_eq!(news(&mut next).len(), 3, "all flags are raised");
    assert_eq!(second.cancel(all[1].token), Cancellation::Prevented);
}

/// A setter that sets, cancels and repeats beside a taker: whatever the setter did not prevent is taken exactly once, whole.
#[test]
fn between_threads_each_is_taken_once_or_prevented() {
    const VALUES: u64 = if cfg!(miri) { 60 } else { 60_000 };
    let place = Place::new(timed_slots::bytes::<Value>(4).unwrap());
    let (mut setter, mut taker) = timed_slots::pair::<Value>(place.memory(), 4).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    let (prevented, taken) = std::thread::scope(|scope| {
        let setting = scope.spawn(|| {
            let (mut prevented, mut last) = (Vec::new(), None);
            for of in 1..=VALUES {
                let token = loop {
                    match setter.free() {
                        Some(free) => break free.set(at(of), &marked(of)).token,
                        None => std::thread::yield_now(),
                    }
                };
                if of % 3 == 0 {
                    if setter.cancel(token) == Cancellation::Prevented {
                        prevented.push(of);
                    }
                } else if let Some((old, token)) = last.replace((of, token))
                    && of % 2 == 0
                    && setter.cancel(token) == Cancellation::Prevented
                {
                    prevented.push(old);
                }
            }
            done.store(true, std::sync::atomic::Ordering::Release);
            prevented
        });
        let (mut taken, mut listed) = (Vec::new(), BTreeMap::new());
        loop {
            let over = done.load(std::sync::atomic::Ordering::Acquire);
            for (slot, pending) in news(&mut taker) {
                listed.remove(&slot);
                pending.map(|pending| listed.insert(slot, pending));
            }
            while let Some((slot, pending)) = listed.pop_first() {
                taken.extend(take(&mut taker, slot, pending).map(|(of, _)| of));
            }
            if over {
                break;
            }
            std::hint::spin_loop();
        }
        (setting.join().unwrap(), taken)
    });
    let mut all = [prevented, taken].concat();
    all.sort_unstable();
    assert_eq!(all, (1..=VALUES).collect::<Vec<_>>());
}
