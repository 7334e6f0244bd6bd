// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Random schedules of requests and releases: the locks grant in the order of the rules that were analysed and
//! simulated.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

use taut_lock::{AcquiredState, LINE_BYTES, Line, Memory, queued, spin};
use taut_policy::{FmlpLong, Global, GlobalAnswer, Grant, LockParty, Mpcp, Msrp, Waiter};
use taut_time::Instant;

const MOST: usize = 8;

/// A lock as the rules see it: parties by number.
trait Lock {
    fn new(lines: &'static mut [Line], parties: u32) -> Self;

    /// Requests; returns whether the lock is granted at once.
    fn request(&mut self, party: usize, priority: u32) -> bool;

    /// Releases, and returns the party that is granted, if any.
    fn release(&mut self, party: usize) -> Option<usize>;
}

struct Spun(Vec<spin::Party<'static>>);

impl Lock for Spun {
    fn new(lines: &'static mut [Line], parties: u32) -> Self {
        Self(spin::group(Memory::new(lines), parties).unwrap().collect())
    }

    fn request(&mut self, party: usize, _: u32) -> bool {
        self.0[party].request();
        self.0[party].granted() == Some(AcquiredState::Clean)
    }

    fn release(&mut self, party: usize) -> Option<usize> {
        self.0[party].leave();
        // In any order: it is the turn of at most one.
        let granted: Vec<_> = (0..self.0.len()).rev().filter(|i| self.0[*i].granted().is_some()).collect();
        assert!(granted.len() <= 1, "{granted:?}");
        granted.first().copied()
    }
}

struct Slept(Vec<queued::Party<'static>>);

impl Lock for Slept {
    fn new(lines: &'static mut [Line], parties: u32) -> Self {
        Self(queued::group(Memory::new(lines), parties).unwrap().collect())
    }

    fn request(&mut self, party: usize, priority: u32) -> bool {
        self.0[party].request(priority) == queued::RequestOutcome::Granted(AcquiredState::Clean)
    }

    fn release(&mut self, party: usize) -> Option<usize> {
        let next = self.0[party].release();
        let granted: Vec<_> = (0..self.0.len()).filter(|i| self.0[*i].granted().is_some()).collect();
        assert_eq!(granted, Vec::from_iter(next.map(|next| next as usize)));
        granted.first().copied()
    }
}

/// A sequence of random numbers: xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound
    }
}

/// One schedule. Returns how many grants went to a party that had waited, and how many of these went to another
/// than the first waiter.
fn run<L: Lock, R: Global>(seed: u64, mut rule: R, parties: usize, same_priority: bool) -> (u32, u32) {
    let lines = (0..spin::bytes(parties as u32) / LINE_BYTES).map(|_| Line::new()).collect::<Box<[Line]>>();
    let lines = Box::into_raw(lines);
    // SAFETY: the lines were just allocated, and nothing else uses them.
    let mut lock = L::new(unsafe { &mut *lines }, parties as u32);
    let mut random = Random(seed | 1);
    let party = |task| LockParty { core: task % 3, task };
    let (mut waiting, mut granted, mut overtook) = (Vec::new(), 0, 0);
    for now in 0..if cfg!(miri) { 40 } else { 300 } {
        let task = random.below(parties);
        if rule.holder() == Some(party(task)) {
            let next = rule.release(party(task)).unwrap().map(|grant| grant.party.task);
            assert_eq!(lock.release(task), next, "seed {seed}, at {now}");
            if let Some(next) = next {
                granted += 1;
                overtook += u32::from(waiting.first() != Some(&next));
                waiting.retain(|waits| *waits != next);
            }
        } else if !waiting.contains(&task) {
            let priority = if same_priority { 1 } else { random.below(4) as u32 };
            let asked = rule.request(Instant::from_ns(now), party(task), priority).unwrap();
            let at_once = matches!(asked, GlobalAnswer::Granted(Grant { .. }));
            assert_eq!(lock.request(task, priority), at_once, "seed {seed}, at {now}");
            if !at_once {
                waiting.push(task);
            }
        }
    }
    drop(lock);
    // SAFETY: the pointer is from `into_raw`; the parties are gone.
    drop(unsafe { Box::from_raw(lines) });
    (granted, overtook)
}

/// Random schedules, of 2 to `MOST` parties.
fn check<L: Lock, R: Global>(rule: impl Fn() -> R, same_priority: bool, overtakes: bool) {
    let (mut granted, mut overtook) = (0, 0);
    for seed in 1..if cfg!(miri) { 8 } else { 200u64 } {
        let parties = 2 + seed as usize % (MOST - 1);
        let (grants, others) =
            run::<L, R>(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), rule(), parties, same_priority);
        granted += grants;
        overtook += others;
    }
    let enough = if cfg!(miri) { 20 } else { 5_000 };
    assert!(
        granted > enough && (overtook > enough / 10) == overtakes,
        "{granted} grants, {overtook} not in turn"
    );
}

#[test]
fn msrp() {
    check::<Spun, _>(|| Msrp::new([Waiter::EMPTY; MOST]), false, false);
}

#[test]
fn mpcp() {
    check::<Slept, _>(|| Mpcp::new([Waiter::EMPTY; MOST], [5, 5, 5]), false, true);
}

#[test]
fn fmlp_long() {
    check::<Slept, _>(|| FmlpLong::new([Waiter::EMPTY; MOST]), true, false);
}
