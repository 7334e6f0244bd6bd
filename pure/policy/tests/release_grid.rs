// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The release grid beside devices whose ticks are known: 10,000 random ones that keep their word, and some that do not.

use taut_policy::{DeviceClock, GridState, ReleaseGrid, TICKS_UNSEEN_MAX};
use taut_time::{Duration, Instant};

/// Numbers that look random, by splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// From 0 to one of the limits.
    fn up_to_one(&mut self, limits: [u64; 3]) -> u64 {
        let most = limits[self.to(2) as usize];
        self.to(most)
    }

    /// From 0 to `most`.
    fn to(&mut self, most: u64) -> u64 {
        self.next() % (most + 1)
    }
}

fn clock(random: &mut Random) -> DeviceClock {
    loop {
        let period = 1_000 + random.up_to_one([20_000, 2_000_000, 100_000_000]);
        let clock = DeviceClock {
            period: Duration::from_ns(period),
            offset: Duration::from_ns(random.to(period - 1)),
            name: "card".to_owned(),
            drift_ppm: random.up_to_one([0, 300, 10_000]) as u32,
            jitter: Duration::from_ns(random.up_to_one([0, period / 50, period / 2])),
        };
        if clock.is_distinct() {
            return clock;
        }
    }
}

/// A device: how its periods and the delays of its observations come about. Exact units of ns.
struct Device {
    tick: u64,
    /// The tick, and the instant with which it is observed.
    observed: Option<(u64, u64)>,
    periods: u64,
    delays: u64,
    wander: u64,
}

impl Device {
    /// Both kinds from 0 to 4: always the least, always the most, in turns for long, anywhere, slowly wandering.
    fn draw(&mut self, kind: u64, number: u64, most: u64, random: &mut Random) -> u64 {
        match kind {
            0 => 0,
            1 => most,
            2 => (number / 37 % 2) * most,
            3 => random.to(most),
            _ => {
                self.wander =
                    (self.wander + random.to(2) * (most / 100)).saturating_sub(most / 100).min(most);
                self.wander
            }
        }
    }

    /// The next tick; the drift is the declared one and `more`.
    fn tick(&mut self, clock: &DeviceClock, number: u64, more: u64, random: &mut Random) {
        let drift = clock.drift().as_ns();
        let by = self.draw(self.periods, number, 2 * drift, random);
        self.tick += clock.period.as_ns() - drift + by + more;
        let late = self.draw(self.delays, number, clock.jitter.as_ns(), random);
        self.observed = Some((number, self.tick + late));
    }
}

#[derive(Debug, Default)]
struct Outcome {
    /// Releases in which the grid was locked.
    locked: u64,
    /// The first of them.
    first: Option<u64>,
    broke: u64,
    /// The largest distance of a locked release from its tick, in millionths of the bound.
    share: u64,
    /// Locked releases, less the ticks from the first of them to the last.
    surplus: i64,
}

/// Runs a device beside a grid for so many releases. Checks gaps always, and the phase while locked if the device keeps
/// its word: if `more` is 0. `unseen` says which ticks nobody observes.
fn run(
    clock: &DeviceClock,
    (releases, more): (u64, u64),
    random: &mut Random,
    unseen: impl Fn(u64) -> bool,
) -> Outcome {
    let (period, offset) = (clock.period.as_ns(), clock.offset.as_ns());
    let first = Instant::from_ns(1_000_000_000_000 + random.to(10 * period));
    let start = first.as_ns() - 3 * period + random.to(period);
    let [periods, delays] = [random.to(4), random.to(4)];
    let mut device = Device { tick: start, observed: None, periods, delays, wander: clock.drift().as_ns() };
    let mut grid = ReleaseGrid::new(clock, first);
    let mut last = first.as_ns();
    let (mut ticks, mut newest, mut number) = (vec![], None, 0);
    let slow = random.to(3) * period;
    let mut outcome = Outcome::default();
    let mut whole = None;
    for release in 0..releases {
        // The loop looks when the last job is over, at the ticks that have been reported by then.
        let looks = last + random.to(period);
        while device.tick < looks + 3 * period {
            number += 1;
            device.tick(clock, number, more, random);
            ticks.push((number, device.tick, device.observed.expect("a tick").1));
        }
        let known = ticks.iter().rev().find(|(at, _, seen)| seen + slow <= looks && !unseen(*at));
        newest = known.map(|(_, _, seen)| Instant::from_ns(*seen)).or(newest);
        let next = grid.next(newest);
        let gap = Duration::from_ns(next.at.as_ns() - last);
        assert!(gap >= clock.min_gap() && gap <= clock.max_gap(), "{gap} {clock:?}");
        last = next.at.as_ns();
        outcome.broke += u64::from(next.broke);
        let apart = |tick: u64| last.abs_diff(tick + offset);
        let (of, tick, _) = *ticks.iter().min_by_key(|(_, tick, _)| apart(*tick)).expect("ticks");
        if next.state == GridState::Locked {
            let bound = clock.phase_error().as_ns();
            let error = next.error.expect("known where the tick is").as_ns();
            if more == 0 {
                assert!(apart(tick) <= error, "{} > {error}: {clock:?} at {release}", apart(tick));
            }
            assert!(error <= bound, "{error} > {bound}");
            outcome.locked += 1;
            outcome.first.get_or_insert(release);
            outcome.share = outcome.share.max(apart(tick) * 1_000_000 / bound.max(1));
            let (from, since) = *whole.get_or_insert((of, release));
            outcome.surplus = (release - since) as i64 - (of - from) as i64;
        }
        ticks.retain(|(_, tick, _)| tick + 16 * period > last);
    }
    outcome
}

#[test]
fn ten_thousand_devices_that_keep_their_word_stay_within_the_bound() {
    let mut random = Random(11);
    let (mut worst, mut least) = (0, u64::MAX);
    for _ in 0..10_000 {
        let clock = clock(&mut random);
        let gap = random.to(6);
        // Some ticks nobody observes, but never so many in a row that the lock is lost.
        let outcome = run(&clock, (400, 0), &mut random, |tick| gap > 0 && tick % gap == 1);
        assert_eq!(outcome.broke, 0, "a false accusation: {clock:?}");
        let first = outcome.first.unwrap_or_else(|| panic!("not locked: {clock:?}"));
        assert!(first <= 128 + TICKS_UNSEEN_MAX, "locked after {first}: {clock:?}");
        assert_eq!(outcome.locked, 400 - first, "the lock was lost: {clock:?}");
        assert_eq!(outcome.surplus, 0, "a release more or less than ticks: {clock:?}");
        (worst, least) = (worst.max(outcome.share), least.min(outcome.share));
    }
    // The bound is not far from what happens.
    assert!(worst > 850_000, "at most {worst} millionths of the bound were seen");
    assert!(worst <= 1_000_000, "{worst} {least}");
}

#[test]
fn a_device_that_drifts_more_than_declared_is_found_out_and_gaps_stay() {
    let mut random = Random(12);
    for _ in 0..300 {
        let clock = clock(&mut random);
        // Beyond the declared drift by a hundredth of a period, whatever is drawn: the interval stays behind the ticks.
        let more = 2 * clock.drift().as_ns() + clock.period.as_ns() / 100;
        let outcome = run(&clock, (400, more), &mut random, |_| false);
        assert!(outcome.broke > 0, "not found out: {clock:?}");
    }
}

#[test]
fn without_ticks_the_grid_goes_on_and_says_so() {
    let clock = DeviceClock {
        period: Duration::from_ms(8),
        offset: Duration::ZERO,
        name: "card".to_owned(),
        drift_ppm: 200,
        jitter: Duration::from_us(500),
    };
    assert_eq!(clock.drift(), Duration::from_ns(1_600));
    assert_eq!(clock.slew(), Duration::from_ns(62_500));
    assert_eq!(clock.min_gap(), Duration::from_ns(7_935_900));
    assert_eq!(clock.max_gap(), Duration::from_ns(8_064_100));
    assert_eq!(clock.phase_error(), Duration::from_ns(262_800));
    let mut grid = ReleaseGrid::new(&clock, Instant::from_ns(0));
    let free = grid.next(None);
    assert_eq!((free.at, free.state, free.error), (Instant::from_ns(8_000_000), GridState::Free, None));
    // A tick 1 ms after release 1, observed at once: in reality anywhere in the 500 us before.
    let mut now = free;
    let mut tick = 9_000_000;
    let mut steps = 0;
    while now.state != GridState::Locked {
        now = grid.next(Some(Instant::from_ns(tick)));
        tick += 8_000_000;
        steps += 1;
        assert!(steps < 100, "{now:?}");
    }
    assert_eq!(steps, 12, "0.75 ms in steps of 64.1 us, the last within the bound");
    let (locked, mut last) = (now, now.error);
    for unseen in 1..=100 {
        let next = grid.next(Some(Instant::from_ns(tick - 8_000_000)));
        let is_locked = unseen < TICKS_UNSEEN_MAX;
        assert_eq!(next.state == GridState::Locked, is_locked, "{unseen}: {next:?}");
        assert!(is_locked || next.state == GridState::Unseen);
        assert!(next.error >= last || unseen < 12, "{unseen}");
        last = next.error;
    }
    assert!(last > locked.error);
}
