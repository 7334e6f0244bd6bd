// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every interleaving of the steps of a notifier and two listeners, including the kernel's, on a model: no listener
//! may sleep for good while a value waits. The same for several notifiers and a sole listener ([`several`]). The tests
//! must find that wrong designs are wrong.

use std::collections::HashSet;

const RINGS: u8 = 3;
const LISTENERS: usize = 2;

/// Where the sleepers' flag is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flag {
    /// In the word of the epoch: the notifier's swap clears it.
    InTheWord,
    /// Beside it: the notifier reads and clears it after it has counted.
    Beside,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Notifier {
    Write,
    Count,
    /// Only with `Flag::Beside`: look at the flag and clear it.
    Clear,
    Wake,
    Done,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Listener {
    /// Takes the epoch.
    Take,
    /// Looks for the last value.
    Look,
    /// Declares that it is about to sleep.
    Flag,
    /// The kernel compares and puts the listener to sleep, in one step.
    Compare,
    Asleep,
    Done,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    value: u8,
    count: u8,
    flag: bool,
    /// Whether the notifier has found the flag.
    found: bool,
    notifier: Notifier,
    listeners: [(Listener, u8, u8); LISTENERS],
}

fn ring(state: &State, flag: Flag) -> Option<State> {
    let mut next = state.clone();
    match state.notifier {
        Notifier::Write => {
            next.value += 1;
            next.notifier = Notifier::Count;
        }
        Notifier::Count => {
            next.count += 1;
            next.notifier = Notifier::Clear;
            if flag == Flag::InTheWord {
                (next.found, next.flag, next.notifier) = (state.flag, false, Notifier::Wake);
            }
        }
        Notifier::Clear => (next.found, next.flag, next.notifier) = (state.flag, false, Notifier::Wake),
        Notifier::Wake => {
            if state.found {
                for listener in &mut next.listeners {
                    if listener.0 == Listener::Asleep {
                        listener.0 = Listener::Take;
                    }
                }
            }
            next.notifier = if state.value == RINGS { Notifier::Done } else { Notifier::Write };
        }
        Notifier::Done => return None,
    }
    Some(next)
}

fn listen(state: &State, which: usize, flag: Flag) -> Option<State> {
    let mut next = state.clone();
    let (step, taken, seen) = state.listeners[which];
    let again = (Listener::Take, taken, seen);
    next.listeners[which] = match step {
        Listener::Take => (Listener::Look, state.count, seen),
        Listener::Look if state.value == RINGS => (Listener::Done, taken, state.value),
        // Something new: come back for more.
        Listener::Look if state.value > seen => (Listener::Take, taken, state.value),
        Listener::Look => (Listener::Flag, taken, seen),
        Listener::Flag if flag == Flag::InTheWord && state.count != taken => again,
        Listener::Flag => {
            next.flag = true;
            (Listener::Compare, taken, seen)
        }
        // With `Flag::InTheWord` the kernel compares the flag too.
        Listener::Compare if state.count != taken || (flag == Flag::InTheWord && !state.flag) => again,
        Listener::Compare => (Listener::Asleep, taken, seen),
        Listener::Asleep | Listener::Done => return None,
    };
    Some(next)
}

/// The number of states, and of those in which no step is possible but a listener is not done.
fn explore(flag: Flag) -> (usize, usize) {
    let first = State {
        value: 0,
        count: 0,
        flag: false,
        found: false,
        notifier: Notifier::Write,
        listeners: [(Listener::Take, 0, 0); LISTENERS],
    };
    let (mut seen, mut open, mut stuck) = (HashSet::from([first.clone()]), vec![first], 0);
    while let Some(state) = open.pop() {
        let listeners = (0..LISTENERS).filter_map(|which| listen(&state, which, flag));
        let next: Vec<_> = ring(&state, flag).into_iter().chain(listeners).collect();
        if next.is_empty() && state.listeners.iter().any(|listener| listener.0 != Listener::Done) {
            stuck += 1;
        }
        open.extend(next.into_iter().filter(|state| seen.insert(state.clone())));
    }
    (seen.len(), stuck)
}

#[test]
fn no_reader_sleeps_while_a_value_waits() {
    let (states, stuck) = explore(Flag::InTheWord);
    assert!(states > 500, "{states}");
    assert_eq!(stuck, 0);
}

#[test]
fn a_flag_of_its_own_loses_a_wake_up() {
    assert!(explore(Flag::Beside).1 > 0);
}

/// Several notifiers, each with one value, and one listener. Each notifier may stop for good before any of its steps, as
/// one that is killed does, or one that never gets a processor.
mod several {
    use std::collections::HashSet;

    const NOTIFIERS: usize = 3;

    /// Who clears the bit that says that the listener sleeps.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) enum Cleared {
        /// The listener, when it runs again.
        ByTheListener,
        /// The notifier that finds it, by the exchange with which it counts.
        ByTheNotifier,
        /// The listener; but it sets the bit by a load and a store.
        AndSetByAStore,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    enum Notifier {
        Write,
        Count,
        Wake { found: bool },
        Done,
        Stopped,
    }

    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    enum Listener {
        /// Takes the epoch.
        Take,
        /// Looks for values, one notifier's after the other.
        Look {
            at: usize,
            found: u8,
        },
        /// Sets the bit, if the epoch has not changed.
        Announce,
        /// With [`Cleared::AndSetByAStore`]: the store that follows the load.
        Store,
        /// The kernel compares and puts the listener to sleep, in one step.
        Compare,
        Asleep,
        /// Runs again, and clears the bit.
        Clear,
    }

    #[derive(Clone, PartialEq, Eq, Hash)]
    struct State {
        values: [bool; NOTIFIERS],
        count: u8,
        asleep: bool,
        notifiers: [Notifier; NOTIFIERS],
        listener: Listener,
        taken: u8,
        /// The values that the listener has seen, a bit each.
        seen: u8,
    }

    fn notify(state: &State, which: usize, cleared: Cleared) -> Vec<State> {
        let mut next = state.clone();
        match state.notifiers[which] {
            Notifier::Write => {
                next.values[which] = true;
                next.notifiers[which] = Notifier::Count;
            }
            Notifier::Count => {
                next.count += 1;
                next.notifiers[which] = Notifier::Wake { found: state.asleep };
                if cleared == Cleared::ByTheNotifier {
                    next.asleep = false;
                }
            }
            Notifier::Wake { found } => {
                if found && state.listener == Listener::Asleep {
                    next.listener = Listener::Clear;
                }
                next.notifiers[which] = Notifier::Done;
            }
            Notifier::Done | Notifier::Stopped => return Vec::new(),
        }
        let mut stopped = state.clone();
        stopped.notifiers[which] = Notifier::Stopped;
        vec![next, stopped]
    }

    fn listen(state: &State, cleared: Cleared) -> Option<State> {
        let mut next = state.clone();
        match state.listener {
            Listener::Take => {
                next.taken = state.count;
                next.listener = Listener::Look { at: 0, found: 0 };
            }
            Listener::Look { at, found } if at < NOTIFIERS => {
                let found = found | u8::from(state.values[at]) << at;
                next.listener = Listener::Look { at: at + 1, found };
            }
            Listener::Look { found, .. } if found != state.seen => {
                next.seen = found;
                next.listener = Listener::Take;
            }
            Listener::Look { .. } => next.listener = Listener::Announce,
            Listener::Announce if state.count != state.taken => next.listener = Listener::Take,
            Listener::Announce if cleared == Cleared::AndSetByAStore => next.listener = Listener::Store,
            Listener::Announce => {
                next.asleep = true;
                next.listener = Listener::Compare;
            }
            Listener::Store => {
                // It stores the epoch that it has loaded, too.
                (next.count, next.asleep) = (state.taken, true);
                next.listener = Listener::Compare;
            }
            Listener::Compare if state.count != state.taken || !state.asleep => {
                next.listener = Listener::Clear;
            }
            Listener::Compare => next.listener = Listener::Asleep,
            Listener::Asleep => return None,
            Listener::Clear => {
                if cleared != Cleared::ByTheNotifier {
                    next.asleep = false;
                }
                next.listener = Listener::Take;
            }
        }
        Some(next)
    }

    /// The number of states, and of those in which no step is possible but the listener has not seen a value whose
    /// notifier is done.
    pub(super) fn explore(cleared: Cleared) -> (usize, usize) {
        let first = State {
            values: [false; NOTIFIERS],
            count: 0,
            asleep: false,
            notifiers: [Notifier::Write; NOTIFIERS],
            listener: Listener::Take,
            taken: 0,
            seen: 0,
        };
        let (mut seen, mut open, mut stuck) = (HashSet::from([first.clone()]), vec![first], 0);
        while let Some(state) = open.pop() {
            let notifiers = (0..NOTIFIERS).flat_map(|which| notify(&state, which, cleared));
            let next: Vec<_> = notifiers.chain(listen(&state, cleared)).collect();
            let unseen =
                |which: usize| state.notifiers[which] == Notifier::Done && state.seen & (1 << which) == 0;
            if next.is_empty() && (0..NOTIFIERS).any(unseen) {
                stuck += 1;
            }
            open.extend(next.into_iter().filter(|state| seen.insert(state.clone())));
        }
        (seen.len(), stuck)
    }
}

#[test]
fn a_sole_listener_sees_what_any_notifier_has_announced() {
    let (states, stuck) = several::explore(several::Cleared::ByTheListener);
    assert!(states > 5_000, "{states}");
    assert_eq!(stuck, 0);
}

/// A notifier that stops between its exchange and its wake keeps the wakes of the others back.
#[test]
fn a_bit_that_notifiers_clear_loses_wakes_to_one_that_stops() {
    assert!(several::explore(several::Cleared::ByTheNotifier).1 > 0);
}

#[test]
fn a_bit_that_is_set_by_a_store_loses_notifications() {
    assert!(several::explore(several::Cleared::AndSetByAStore).1 > 0);
}
