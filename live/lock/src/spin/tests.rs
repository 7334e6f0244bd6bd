// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_atomic::{LINE_BYTES, Line};

use super::party::{CHOOSES, TICKET, TICKET_SHIFT};
use super::*;
use crate::PARTIES_LIMIT;
use crate::global::{AcquiredState, Patience, Stuck};

/// The memory of a lock, and the lives of two processes, both of which are this one.
fn shared(parties: u32) -> (impl Fn() -> Memory<'static>, Lives<'static>) {
    let bytes = bytes(parties);
    let lines = (0..bytes / LINE_BYTES).map(|_| Line::new()).collect::<Box<[Line]>>();
    let start = std::ptr::NonNull::from(Box::leak(lines)).cast();
    // SAFETY: the lines are leaked, aligned and of that length, and only parties of one lock use them.
    let memory = move || unsafe { Memory::from_raw(start, bytes) };
    let lines = vec![Line::new(), Line::new()].into_boxed_slice();
    (memory, Lives::new(Memory::new(Box::leak(lines)), 2).expect("room"))
}

#[test]
fn one_at_a_time() {
    let mut lines = [const { Line::new() }; 4];
    let mut parties = group(Memory::new(&mut lines), 3).unwrap().collect::<Vec<_>>();
    for round in 0..3 {
        assert_eq!(parties[round].enter(Patience::Endless), Ok(AcquiredState::Clean));
        assert_eq!(parties[round].enter(Patience::Endless), Ok(AcquiredState::Clean), "it has it");
        for other in (0..3).filter(|other| *other != round) {
            let stuck = Stuck { party: round as u32 };
            assert_eq!(parties[other].enter(Patience::Looks(50)), Err(stuck));
            assert_eq!(parties[other].enter(Patience::Until(0)), Err(stuck));
            parties[other].leave();
            assert!(!parties[other].is_inside());
        }
        assert!(parties[round].is_inside());
        parties[round].leave();
    }
}

#[test]
fn a_party_that_draws_a_ticket_may_be_earlier() {
    let mut lines = [const { Line::new() }; 3];
    let mut parties = group(Memory::new(&mut lines), 2).unwrap();
    let (mut one, mut other) = (parties.next().unwrap(), parties.next().unwrap());
    assert!(!one.is_undecided(), "it has not asked");
    other.request();
    one.request();
    assert_eq!((one.granted(), one.is_undecided()), (None, false), "it has seen the ticket");
    other.withdraw();
    // The state between the two steps of a request.
    other.write(CHOOSES);
    assert_eq!((one.granted(), one.is_undecided()), (None, true));
    other.withdraw();
    other.request();
    assert!(one.is_undecided(), "the other's is later, and it has not looked");
    assert_eq!((one.granted(), one.is_undecided()), (Some(AcquiredState::Clean), false));
}

#[test]
fn a_party_inside_does_not_withdraw() {
    let mut lines = [const { Line::new() }; 3];
    let mut parties = group(Memory::new(&mut lines), 2).unwrap();
    let (mut one, mut other) = (parties.next().unwrap(), parties.next().unwrap());
    one.withdraw();
    assert_eq!(one.enter(Patience::Endless), Ok(AcquiredState::Clean));
    one.withdraw();
    assert!(one.is_inside());
    assert_eq!(other.enter(Patience::Looks(50)), Err(Stuck { party: 0 }));
}

/// In spoiled memory the tickets may wrap while an application runs: ticket 0 would mean none.
#[test]
fn no_ticket_is_nothing() {
    let (memory, lives) = shared(2);
    let alive = Alive::claim(lives, 0).unwrap();
    let mut one = party(memory(), 2, 0, lives, &alive).unwrap();
    // The first word of a lock is the number of tickets drawn: here the largest.
    memory().claim().word(0).store(TICKET >> TICKET_SHIFT, Relaxed);
    one.request();
    assert_eq!(one.granted(), Some(AcquiredState::Clean));
}

#[test]
fn layouts_that_do_not_fit_are_refused() {
    let refused = |lines: &mut [Line], parties| group(Memory::new(lines), parties).err();
    let mut lines = [const { Line::new() }; 2];
    assert_eq!(refused(&mut lines, 0), Some(LockLayoutError::Parties));
    assert_eq!(refused(&mut lines, PARTIES_LIMIT + 1), Some(LockLayoutError::Parties));
    assert_eq!(refused(&mut lines, 2), Some(LockLayoutError::TooSmall { needed: 384, given: 256 }));
    let (memory, lives) = shared(2);
    let alive = Alive::claim(lives, 0).unwrap();
    assert_eq!(party(memory(), 2, 2, lives, &alive).err(), Some(LockLayoutError::Parties));
    let first = party(memory(), 2, 0, lives, &alive).unwrap();
    assert_eq!(party(memory(), 2, 0, lives, &alive).err(), Some(LockLayoutError::Taken));
    drop(first);
    assert!(party(memory(), 2, 0, lives, &alive).is_ok());
}

#[test]
fn a_death_inside_is_reported_once() {
    for successor in [false, true] {
        let (memory, lives) = shared(3);
        let (dying, alive) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
        let mut first = party(memory(), 3, 0, lives, &dying).unwrap();
        let mut second = party(memory(), 3, 1, lives, &alive).unwrap();
        let mut third = party(memory(), 3, 2, lives, &alive).unwrap();
        first.enter(Patience::Endless).unwrap();
        assert_eq!(second.enter(Patience::Looks(100)), Err(Stuck { party: 0 }));
        // The first party dies inside, as far as the others can tell.
        std::mem::forget(first);
        drop(dying);
        let mut heir = successor.then(|| party(memory(), 3, 0, lives, &alive).unwrap());
        assert_eq!(second.enter(Patience::Looks(100)), Ok(AcquiredState::OwnerDied(0)));
        assert_eq!(third.enter(Patience::Looks(100)), Err(Stuck { party: 1 }));
        second.leave();
        assert_eq!(third.enter(Patience::Endless), Ok(AcquiredState::Clean));
        third.leave();
        if let Some(heir) = &mut heir {
            assert_eq!(heir.enter(Patience::Endless), Ok(AcquiredState::Clean));
        }
    }
}

#[test]
fn the_successor_itself_gets_the_report() {
    let (memory, lives) = shared(2);
    let (dying, alive) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
    let mut first = party(memory(), 2, 0, lives, &dying).unwrap();
    first.enter(Patience::Endless).unwrap();
    std::mem::forget(first);
    drop(dying);
    // One successor comes and goes without a request; the next one requests.
    drop(party(memory(), 2, 0, lives, &alive).unwrap());
    let mut heir = party(memory(), 2, 0, lives, &alive).unwrap();
    assert_eq!(heir.enter(Patience::Endless), Ok(AcquiredState::OwnerDied(0)));
    heir.leave();
    assert_eq!(heir.enter(Patience::Endless), Ok(AcquiredState::Clean));
}

/// A party that died while it waited had nothing: the next party inside gets no report of a death.
#[test]
fn a_death_while_waiting_is_not_reported() {
    let (memory, lives) = shared(3);
    let (dying, alive) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
    let mut dead = party(memory(), 3, 0, lives, &dying).unwrap();
    let mut next = party(memory(), 3, 1, lives, &alive).unwrap();
    let mut inside = party(memory(), 3, 2, lives, &alive).unwrap();
    assert_eq!(inside.enter(Patience::Endless), Ok(AcquiredState::Clean));
    dead.request();
    next.request();
    std::mem::forget(dead);
    drop(dying);
    assert!((0..200).all(|_| next.granted().is_none()));
    inside.leave();
    assert_eq!(next.enter(Patience::Looks(100)), Ok(AcquiredState::Clean));
}

/// A party that was seen dead may have a successor that requests before the dead party's word is cleared. The
/// successor keeps its place.
#[test]
fn a_successor_that_has_asked_keeps_its_place() {
    let (memory, lives) = shared(3);
    let (dying, alive) = (Alive::claim(lives, 0).unwrap(), Alive::claim(lives, 1).unwrap());
    let mut dead = party(memory(), 3, 0, lives, &dying).unwrap();
    let mut next = party(memory(), 3, 1, lives, &alive).unwrap();
    let mut other = party(memory(), 3, 2, lives, &alive).unwrap();
    assert_eq!(other.enter(Patience::Endless), Ok(AcquiredState::Clean));
    dead.request();
    next.request();
    std::mem::forget(dead);
    drop(dying);
    assert!(
        (0..200).all(|_| next.granted().is_none()),
        "it has passed the dead one, and waits for the other"
    );
    let mut heir = party(memory(), 3, 0, lives, &alive).unwrap();
    heir.request();
    other.leave();
    assert_eq!(next.granted(), Some(AcquiredState::Clean));
    other.request();
    assert_eq!((heir.granted(), other.granted()), (None, None));
    next.leave();
    assert_eq!((other.granted(), heir.granted()), (None, Some(AcquiredState::Clean)));
    heir.leave();
    assert_eq!(other.granted(), Some(AcquiredState::Clean));
}
