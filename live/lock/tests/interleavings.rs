// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every interleaving of the steps of a notifier and two listeners, including the kernel's, on a model: no listener
//! may sleep for good while a value waits. The test must find that a wrong design is wrong.

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
