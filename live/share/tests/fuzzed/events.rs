// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Events in the middle of an operation, and operations that must end within their bounds.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::Scene;
use super::input::Spoil;

#[derive(Clone, Copy)]
pub(super) enum Event {
    /// The number of the end, and the kind of operation.
    Operate(u8, u8),
    Succeed(u8),
    Spoil(Spoil),
}

/// How several events are spread over steps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    AtOnce,
    /// One before each step.
    OneByOne,
    /// All events, before each step.
    Again,
}

/// The work before a step; returns whether there is more before the next one.
type Work = Box<dyn FnMut() -> bool>;

std::thread_local! {
    /// The work for the next operation, and the step before which it takes place.
    static NEXT: RefCell<Option<(u64, Work)>> = const { RefCell::new(None) };
    /// The work in this operation, and how many more steps the operation may take.
    static NOW: RefCell<Option<(Work, u64)>> = const { RefCell::new(None) };
    /// The step bound of this operation.
    static LIMIT: Cell<u64> = const { Cell::new(0) };
}

/// Discards all pending events.
pub(super) fn forget() {
    NEXT.set(None);
    NOW.set(None);
}

/// Schedules `events` before step `n` of the next operation, or in a later one if the bound of that one is lower.
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
/// At the step after the `limit`th, in a build that counts steps.
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
        // Nothing can be interrupted, so the events take place before the operation.
        if let Some((_, mut work)) = next {
            work();
        }
        operation()
    }
}
