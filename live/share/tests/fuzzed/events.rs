// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What takes place in the middle of an operation, and operations that end within their bounds.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::Scene;
use super::input::Spoil;

#[derive(Clone, Copy)]
pub(super) enum Event {
    /// The number of the end, and how.
    Operate(u8, u8),
    Succeed(u8),
    Spoil(Spoil),
}

/// How several events follow each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    AtOnce,
    /// One before each step.
    OneByOne,
    /// All of them, before each step.
    Again,
}

/// What takes place before a step; whether more does before the next one.
type Work = Box<dyn FnMut() -> bool>;

std::thread_local! {
    /// Before which step of the next operation what takes place.
    static NEXT: RefCell<Option<(u64, Work)>> = const { RefCell::new(None) };
    /// What takes place in this one, and how many steps it may take from the one after that on.
    static NOW: RefCell<Option<(Work, u64)>> = const { RefCell::new(None) };
    /// The bound of this one.
    static LIMIT: Cell<u64> = const { Cell::new(0) };
}

/// Nothing is left of what was to take place.
pub(super) fn forget() {
    NEXT.set(None);
    NOW.set(None);
}

/// Lets `events` take place before step `n` of the next operation; in a later one if it is bound to take fewer.
pub(super) fn meanwhile(n: u64, scene: &Rc<dyn Scene>, events: Vec<Event>, pace: Pace) {
    let scene = Rc::clone(scene);
    let play = move |event: Event| match event {
        Event::Operate(end, how) => scene.operate(end % scene.ends(), how),
        Event::Succeed(end) => scene.succeed(end % scene.ends()),
        Event::Spoil(spoil) => scene.ground().spoil(spoil),
    };
    let mut next = 0;
    let work = move || {
        if pace == Pace::OneByOne {
            if let Some(event) = events.get(next) {
                play(*event);
            }
            next += 1;
            return next < events.len();
        }
        events.iter().copied().for_each(&play);
        pace == Pace::Again
    };
    NEXT.set(Some((n, Box::new(work))));
}

/// Runs an operation.
///
/// # Panics
///
/// At the step after the `limit`th, where steps are counted.
pub(super) fn bounded<R>(limit: u64, operation: impl FnOnce() -> R) -> R {
    let next = NEXT.take();
    #[cfg(steps)]
    {
        use taut_atomic::steps::strike_at;

        fn strike() {
            if let Some((mut work, left)) = NOW.take() {
                let limit = LIMIT.get();
                let more = work();
                LIMIT.set(limit);
                if more && left > 0 {
                    NOW.set(Some((work, left - 1)));
                    strike_at(1, strike);
                } else {
                    strike_at(left + 1, exceed);
                }
            }
        }
        fn exceed() {
            panic!("more than {} steps", LIMIT.get());
        }
        fn nothing() {}

        LIMIT.set(limit);
        match next {
            Some((n, work)) if n <= limit => {
                NOW.set(Some((work, limit - n)));
                strike_at(n, strike);
            }
            later => {
                NEXT.set(later.map(|(n, work)| (n - limit, work)));
                strike_at(limit + 1, exceed);
            }
        }
        let result = operation();
        strike_at(u64::MAX, nothing);
        NOW.set(None);
        result
    }
    #[cfg(not(steps))]
    {
        let _ = limit;
        // Nothing can be interrupted: then before.
        if let Some((_, mut work)) = next {
            work();
        }
        operation()
    }
}
