// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What each step of the search guarantees by itself.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

#[path = "../../../tests/select/system.rs"]
#[allow(dead_code, reason = "the tests of what is public use the rest")]
mod system;

use std::sync::Arc;

use taut_analysis::Overflow;
use taut_analysis::multi::Guard;
use taut_time::Duration;

use super::around::{around, neighbours};
use super::best::{DEPTH, SearchProgress, among};
use super::exchange::exchange;
use super::judge::{all, offers};
use super::subtree::{Goal, Search};
use super::{
    Aim, BufferCount, Buffers, Equations, Footprint, Judged, Offer, OfferMemory, Problem, Selection,
    exhaustive, paper,
};
use system::{Draw, System, charged, small};

const AIMS: [Aim; 3] = [Aim::Memory, Aim::Response, Aim::Slack];

fn judge(problem: &mut Problem, selection: &[usize]) -> Option<Judged> {
    problem.judge(&selection.iter().copied().map(Some).collect::<Vec<_>>()).unwrap()
}

/// A random selection that keeps everything.
fn drawn(problem: &mut Problem, draw: &mut Draw) -> Option<(Selection, Judged)> {
    (0..60).find_map(|_| {
        let selection: Selection =
            problem.objects.iter().map(|object| draw.index(object.offers.len())).collect();
        let judged = judge(problem, &selection)?;
        Some((selection, judged))
    })
}

/// The possible offers: all, or some of them and those taken.
fn possible(problem: &Problem, selection: &[usize], draw: &mut Draw) -> Vec<u64> {
    let whole = draw.pick(0, 1) == 0;
    let bits = problem.objects.iter().zip(selection).map(|(object, taken)| match whole {
        true => all(object),
        false => all(object) & draw.pick(0, u64::MAX - 1) | 1 << taken,
    });
    bits.collect()
}

/// The exchange ends where no exchange of its kind is better: this test tries them all.
#[test]
fn nothing_is_left_to_exchange() {
    let (mut started, mut better, mut ended) = (0, 0, 0);
    for seed in 0..240 {
        let mut draw = Draw(40_000 + seed);
        let aim = AIMS[seed as usize % 3];
        let system = if seed % 2 == 0 { small(&mut draw, 6, 3_000) } else { charged(&mut draw, 6, 3_000) };
        let mut problem = system.problem(Equations::Sound);
        // Start anywhere, and where the search starts.
        let published = seed % 4 == 0 && aim == Aim::Memory;
        let published = if published { paper::heuristic(&mut problem, 0).unwrap() } else { None };
        let Some(start) = published.or_else(|| drawn(&mut problem, &mut draw)) else { continue };
        let possible = possible(&problem, &start.0, &mut draw);
        let bytes = |problem: &Problem, at: usize, offer: usize, judged: &Judged| {
            let offer = &problem.objects[at].offers[offer];
            problem.bytes(offer, &judged.responses).unwrap().unwrap_or(u64::MAX)
        };
        // By object, the cheapest offer without a guard.
        let free = |at: usize| {
            let open =
                offers(possible[at]).filter(|&at_| problem.objects[at].offers[at_].guard == Guard::Absent);
            open.min_by_key(|&offer| bytes(&problem, at, offer, &start.1))
        };
        let free: Vec<Option<usize>> = (0..possible.len()).map(free).collect();
        let mut found = start.clone();
        exchange(&mut problem, &possible, aim, &mut found).unwrap();
        let (selection, judged) = found;
        started += 1;
        better += u32::from(judged.values(aim) < start.1.values(aim));
        assert!(judged.values(aim) <= start.1.values(aim), "seed {seed}");
        assert_eq!(judge(&mut problem, &selection).as_ref(), Some(&judged), "seed {seed}");
        assert!((0..selection.len()).all(|at| possible[at] >> selection[at] & 1 == 1), "seed {seed}");
        let mut is_better = |selection: &[usize]| {
            judge(&mut problem, selection).is_some_and(|other| other.values(aim) < judged.values(aim))
        };
        for at in 0..selection.len() {
            for offer in offers(possible[at]).filter(|offer| *offer != selection[at]) {
                let of = |offer: usize| bytes(&system.problem(Equations::Sound), at, offer, &judged);
                let (now, then) = (of(selection[at]), of(offer));
                if aim == Aim::Memory && then > now && system.charges.is_empty() {
                    continue;
                }
                let mut other = selection.clone();
                other[at] = offer;
                assert!(!is_better(&other), "seed {seed}: object {at} with offer {offer}");
                for (instead, free) in free.iter().enumerate().filter(|(instead, _)| *instead != at) {
                    let Some(free) = free.filter(|_| then < now && aim == Aim::Memory) else { continue };
                    let kept = std::mem::replace(&mut other[instead], free);
                    assert!(!is_better(&other), "seed {seed}: objects {at} and {instead}");
                    other[instead] = kept;
                }
            }
        }
        ended += u32::from(selection == start.0);
    }
    assert!(started > 150 && better > 100 && ended > 5, "{started} {better} {ended}");
}

/// One object per list of users, all without a price.
fn shared_by(users: &[&[usize]]) -> Problem {
    let mut system = small(&mut Draw(1), 1, 7);
    let row = system::Row { sections: Vec::new(), ..system.rows[0].clone() };
    system.rows = vec![row; 8];
    let object = system.objects[0].clone();
    system.objects.clear();
    for (at, users) in users.iter().enumerate() {
        let mut object = object.clone();
        object.resource = at;
        object.offers.truncate(1);
        object.offers[0].added.clear();
        system.objects.push(object);
        users.iter().for_each(|user| system.rows[*user].sections.push((at, 1, 1)));
    }
    system.problem(Equations::Sound)
}

/// The object itself comes first, then the objects by how many users they share with it, of equals the earlier one.
#[test]
fn neighbours_by_users_in_common() {
    let problem = shared_by(&[&[0, 1, 2], &[3, 4], &[2, 3, 4], &[1, 2, 5], &[6]]);
    let near = [[0, 3, 2, 1, 4], [1, 2, 0, 3, 4], [2, 1, 0, 3, 4], [3, 0, 2, 1, 4], [4, 0, 1, 2, 3]];
    assert_eq!(neighbours(&problem), near);
}

fn ignore(_: &SearchProgress) -> bool {
    true
}

/// A search among all offers that has looked at nothing yet, from a given selection.
fn from<'p>(problem: &'p mut Problem, aim: Aim, start: (Selection, Judged)) -> (Search<'p>, Vec<u64>) {
    let bits: Vec<u64> = problem.objects.iter().map(all).collect();
    (Search::new(problem, bits.clone(), Goal { aim, within: None }, Some(start)), bits)
}

/// With no more objects than are free at a time, all are chosen anew: the search finds the best of all.
#[test]
fn around_a_few_objects_is_the_best() {
    let (mut tried, mut better) = (0, 0);
    for seed in 0..90 {
        let mut draw = Draw(50_000 + seed);
        let aim = AIMS[seed as usize % 3];
        let mut problem = small(&mut draw, 6, 200).problem(Equations::Sound);
        problem.aim(aim);
        let Some(start) = drawn(&mut problem, &mut draw) else { continue };
        let least = exhaustive::search(&mut problem).unwrap().unwrap().1.value(aim);
        better += u32::from(least < start.1.value(aim));
        let (mut search, possible) = from(&mut problem, aim, start);
        around(&mut search, &possible, u64::MAX, &mut ignore).unwrap();
        let (selection, judged) = search.best.unwrap();
        assert_eq!(judged.value(aim), least, "seed {seed}");
        assert_eq!(judge(&mut problem, &selection), Some(judged), "seed {seed}");
        tried += 1;
    }
    assert!(tried > 60 && better > 40, "{tried} {better}");
}

/// A search takes a selection from outside only if it is better than its own best.
#[test]
fn a_search_starts_from_what_is_better() {
    let offers = [30, 10, 20, 20].map(|bytes| offer(Guard::Absent, OfferMemory::Fixed(bytes)));
    let mut problem = with_offers(offers.to_vec());
    let [dear, cheap, start, equal] = [0, 1, 2, 3].map(|offer| {
        let judged = judge(&mut problem, &[offer]).unwrap();
        (vec![offer], judged)
    });
    let (mut search, _) = from(&mut problem, Aim::Memory, start.clone());
    for found in [None, Some(dear), Some(equal)] {
        search.start_from(found);
        assert_eq!(search.best.as_ref(), Some(&start));
    }
    search.start_from(Some(cheap.clone()));
    assert_eq!(search.best, Some(cheap));
}

/// If a short search does not prove the best, the answer is no worse than the published heuristic's at its depth.
#[test]
fn the_published_heuristic_is_never_better() {
    let mut bettered = 0;
    for seed in 0..60 {
        let system = small(&mut Draw(70_000 + seed), 7, 3_000);
        let problem = || system.problem(Equations::Sound);
        let bytes = |found: Option<(Selection, Judged)>| found.map_or(u64::MAX, |(_, judged)| judged.bytes);
        let deep = bytes(paper::heuristic(&mut problem(), DEPTH).unwrap());
        let mut short = problem();
        let possible = [short.undominated(Aim::Memory).unwrap(), short.undominated(Aim::Memory).unwrap()];
        // The search has no judgements of its own.
        let answer = among(&mut short, possible.clone(), [0, 0], true, &mut ignore).unwrap();
        let found = bytes(answer.best);
        assert!(found <= deep, "seed {seed}: {found} {deep}");
        let mut begun = problem();
        if let Some(mut start) = paper::heuristic(&mut begun, 0).unwrap() {
            exchange(&mut begun, &possible[0], Aim::Memory, &mut start).unwrap();
            bettered += u32::from(deep < start.1.bytes);
        }
    }
    assert!(bettered > 0, "{bettered}");
}

/// Many objects of one system: around each object, the free ones get the best offers there are, all others as they
/// are.
#[test]
fn around_each_object_nothing_is_better() {
    let mut better = 0;
    for seed in 0..12 {
        let system = many(seed);
        let mut problem = system.problem(Equations::Sound);
        let start: Selection = vec![0; system.objects.len()];
        let Some(judged) = judge(&mut problem, &start) else { continue };
        let before = judged.bytes;
        let (mut search, possible) = from(&mut problem, Aim::Memory, (start, judged));
        around(&mut search, &possible, u64::MAX, &mut ignore).unwrap();
        let (selection, judged) = search.best.unwrap();
        assert_eq!(judge(&mut problem, &selection).as_ref(), Some(&judged), "seed {seed}");
        better += u32::from(judged.bytes < before);
        for near in neighbours(&problem) {
            let near = &near[..7];
            for taken in 0..1usize << near.len() {
                let mut other = selection.clone();
                near.iter().enumerate().for_each(|(bit, &at)| other[at] = taken >> bit & 1);
                let other = judge(&mut problem, &other);
                assert!(other.is_none_or(|other| other.bytes >= judged.bytes), "seed {seed}");
            }
        }
    }
    assert!(better > 8, "{better}");
}

/// Sixteen objects with two offers: a copy, and something smaller that takes time.
fn many(seed: u64) -> System {
    let mut draw = Draw(60_000 + seed);
    let mut system = small(&mut draw, 1, 7);
    let mut object = system.objects[0].clone();
    object.offers.truncate(1);
    object.offers.push(object.offers[0].clone());
    system.objects.clear();
    system.rows.iter_mut().for_each(|row| row.sections.clear());
    for at in 0..16 {
        let users = [draw.index(system.rows.len()), draw.index(system.rows.len())];
        let mut object = object.clone();
        object.resource = at;
        for (offer, (bytes, time)) in
            [(draw.pick(100, 300), 0), (draw.pick(20, 90), draw.pick(1, 12))].iter().enumerate()
        {
            object.offers[offer] = Offer {
                name: "copy".into(),
                guard: Guard::Absent,
                added: vec![(users[0], Duration::from_ns(*time))],
                held: Duration::ZERO,
                memory: OfferMemory::Fixed(*bytes),
            };
        }
        system.objects.push(object);
        for user in &users[..if users[0] == users[1] { 1 } else { 2 }] {
            system.rows[*user].sections.push((at, 1, 1));
        }
    }
    system
}

/// `around` ends at its limit, when its caller says so, and when nothing can be better; the best that it reports is
/// never worse than before.
#[test]
fn around_ends() {
    let mut reported = 0;
    for seed in 0..30 {
        let system = many(seed);
        let mut problem = system.problem(Equations::Sound);
        let start: Selection = vec![0; system.objects.len()];
        let Some(judged) = judge(&mut problem, &start) else { continue };
        let (before, made) = (judged.bytes, problem.judged());
        // No judgements are left.
        let (mut search, possible) = from(&mut problem, Aim::Memory, (start.clone(), judged.clone()));
        around(&mut search, &possible, made, &mut |_| panic!("it is at its limit")).unwrap();
        assert_eq!(search.best.as_ref(), Some(&(start.clone(), judged.clone())));
        assert_eq!(search.problem.judged(), made);
        // Nothing can be better.
        search.open[0].at_least = before;
        around(&mut search, &possible, u64::MAX, &mut |_| panic!("it is the best")).unwrap();
        assert_eq!(search.problem.judged(), made);
        // The caller ends it, at once or later.
        search.open[0].at_least = 1;
        for steps in 1..6 {
            search.best = Some((start.clone(), judged.clone()));
            let (mut asked, mut least) = (0, before);
            around(&mut search, &possible, u64::MAX, &mut |progress| {
                asked += 1;
                let best = progress.best.unwrap();
                assert!(best <= least && progress.at_least == 1, "{progress:?}");
                least = best;
                asked < steps
            })
            .unwrap();
            assert_eq!(asked, steps);
            reported += u32::from(least < before);
        }
        // With few judgements left, it makes not many more than those.
        search.best = Some((start.clone(), judged.clone()));
        let limit = search.problem.judged() + 100;
        around(&mut search, &possible, limit, &mut ignore).unwrap();
        let over = search.problem.judged() - limit;
        assert!(over < 200, "{over}");
    }
    assert!(reported > 20, "{reported}");
}

/// A problem of one object with these offers; the first of eight tasks writes it and the second reads it.
fn with_offers(offers: Vec<Offer>) -> Problem {
    let mut system = small(&mut Draw(1), 1, 7);
    let row = system::Row {
        core: 0,
        period: 100,
        deadline: 100,
        jitter: 0,
        priority: 1,
        outside: 5,
        sections: Vec::new(),
    };
    system.rows = vec![row; 8];
    system.rows[0].sections.push((0, 1, 1));
    system.rows[1].sections.push((0, 1, 1));
    system.objects.truncate(1);
    system.objects[0].offers = offers;
    system.problem(Equations::Sound)
}

fn offer(guard: Guard, memory: OfferMemory) -> Offer {
    Offer { name: "it".into(), guard, added: Vec::new(), held: Duration::ZERO, memory }
}

fn timed(fixed: u64, each: u64, writer: usize, reader: usize, count: BufferCount) -> Offer {
    let buffers = Buffers { fixed, each, writer, readers: vec![reader], count };
    offer(Guard::Absent, OfferMemory::Timed(buffers))
}

/// As many bytes as the first task's response has ns, available up to a limit.
#[derive(Debug)]
struct Asked(u64);

impl Footprint for Asked {
    fn bytes(&self, responses: &[Duration]) -> Result<Option<u64>, Overflow> {
        Ok(Some(responses[0].as_ns()).filter(|bytes| *bytes <= self.0))
    }
}

/// An offer is dropped if another is never worse, in time and in bytes, whatever the responses.
#[test]
fn what_need_not_be_looked_at() {
    use Guard::{Absent, Spinning, Suspending};
    let fixed = |guard, bytes| offer(guard, OfferMemory::Fixed(bytes));
    let slower = |mut offer: Offer| {
        offer.added = vec![(0, Duration::from_ns(1))];
        offer
    };
    let held = |mut offer: Offer| {
        offer.held = Duration::from_ns(1);
        offer
    };
    let asked = |limit| OfferMemory::Asked(Arc::new(Asked(limit)));
    let [whole, short] = [1_000, 50].map(asked);
    let both = |one: &Offer, other: &Offer, aim| {
        let [forth, back] = [[one, other], [other, one]]
            .map(|offers| with_offers(offers.map(Clone::clone).to_vec()).undominated(aim).unwrap()[0]);
        (forth, back)
    };
    let first = (0b01, 0b10);
    let second = (0b10, 0b01);
    let neither = (0b11, 0b11);
    let check = |one: Offer, other: Offer, memory, time| {
        assert_eq!(both(&one, &other, Aim::Memory), memory, "{one:?} {other:?}");
        for aim in [Aim::Response, Aim::Slack] {
            assert_eq!(both(&one, &other, aim), time, "{one:?} {other:?}");
        }
    };
    // Of equal offers the last stays.
    let one = fixed(Absent, 9);
    assert_eq!(both(&one, &one, Aim::Memory), (0b10, 0b10));
    check(fixed(Absent, 9), fixed(Absent, 10), first, (0b10, 0b10));
    check(fixed(Absent, 9), slower(fixed(Absent, 9)), first, first);
    check(slower(fixed(Absent, 9)), fixed(Absent, 10), neither, second);
    check(slower(fixed(Absent, 9)), slower(fixed(Absent, 10)), first, (0b10, 0b10));
    check(fixed(Absent, 10), fixed(Spinning, 10), first, first);
    check(fixed(Absent, 10), fixed(Spinning, 9), neither, first);
    check(fixed(Suspending, 9), fixed(Spinning, 10), neither, neither);
    check(fixed(Spinning, 9), held(fixed(Spinning, 9)), first, first);
    check(fixed(Spinning, 9), held(fixed(Spinning, 8)), neither, first);
    // Two or three buffers, by the response times; offers that count alike are compared by their parts.
    let by_time = |fixed, each| timed(fixed, each, 0, 1, BufferCount::Lifetime);
    let equal = (0b10, 0b10);
    check(by_time(1, 10), by_time(1, 11), first, equal);
    check(by_time(1, 10), by_time(2, 10), first, equal);
    check(by_time(2, 10), by_time(1, 11), neither, equal);
    check(by_time(1, 10), timed(1, 11, 2, 1, BufferCount::Lifetime), neither, equal);
    check(by_time(1, 10), timed(1, 11, 0, 2, BufferCount::Lifetime), neither, equal);
    check(by_time(1, 10), timed(1, 11, 0, 1, BufferCount::Smallest), neither, equal);
    check(by_time(1, 10), by_time(1, 100), first, equal);
    check(by_time(1, 10), fixed(Absent, 31), first, equal);
    check(by_time(1, 10), fixed(Absent, 30), neither, equal);
    // An offer with a `Footprint` is no dearer than itself alone, and an offer that may not be available is no better
    // than another.
    let of = |memory: &OfferMemory| offer(Absent, memory.clone());
    check(of(&whole), slower(of(&whole)), first, first);
    check(of(&whole), slower(of(&asked(1_000))), neither, first);
    check(of(&short), slower(fixed(Absent, u64::MAX)), neither, neither);
    check(fixed(Absent, 1), slower(of(&short)), first, first);
}

/// Parts of a deadline in millionths, rounded up, as far as 64 bits go.
#[test]
fn millionths() {
    let day = 86_400_000_000_000;
    let parts = [
        (0, 7),
        (1, 3),
        (2, 4),
        (5, 0),
        (30 * day, 30 * day),
        (30 * day + 1, 30 * day),
        (u64::MAX, u64::MAX),
    ];
    let ppm = parts.map(|(response, deadline)| super::aim::ppm(response, deadline));
    assert_eq!(ppm, [0, 333_334, 500_000, 5_000_000, 1_000_000, 1_000_001, 1_000_000].map(Ok));
    assert_eq!(super::aim::ppm(u64::MAX, 1), Err(Overflow));
}

#[test]
fn a_constraint_is_shown_by_name_and_limit() {
    let constraint = super::Constraint::new("age", Duration::from_ns(7), |_, _| Ok(None));
    assert_eq!(format!("{constraint:?}"), "Constraint { name: \"age\", limit: Duration { ns: 7 }, .. }");
}

/// The time by which a section is longer is added to a job once per request, wherever in the job the request is.
#[test]
fn longer_sections_are_counted_by_requests() {
    let mut system = small(&mut Draw(1), 1, 7);
    let row = system::Row {
        period: 1_000,
        deadline: 1_000,
        outside: 5,
        sections: Vec::new(),
        ..system.rows[0].clone()
    };
    system.rows = vec![row; 2];
    system.rows[0].sections = vec![(0, 1, 1), (0, 2, 4)];
    system.rows[1].sections = vec![(0, 1, 1)];
    system.objects.truncate(1);
    let held = Offer { held: Duration::from_ns(3), ..offer(Guard::Spinning, OfferMemory::Fixed(1)) };
    let added = Offer { added: vec![(1, Duration::from_ns(2))], ..held.clone() };
    system.objects[0].offers = vec![held, added];
    let problem = system.problem(Equations::Sound);
    let added = problem.loads[0].iter().map(|load| load.added.clone());
    assert_eq!(added.collect::<Vec<_>>(), [[(0, 9), (1, 3)], [(0, 9), (1, 5)]]);
    assert_eq!(problem.longest(0), 4);
}

/// A constraint counts in every check of whether everything may be kept.
#[test]
fn constraints_count_before_responses_are_asked_for() {
    let mut problem = with_offers(vec![offer(Guard::Absent, OfferMemory::Fixed(1))]);
    assert_eq!((problem.may_fit(&[1], None), problem.fits(&[1], None)), (Ok(true), Ok(true)));
    let at_most = |limit| {
        super::Constraint::new("age", Duration::from_ns(limit), |_, _| Ok(Some(Duration::from_ns(7))))
    };
    problem.constrain(at_most(7));
    assert_eq!((problem.may_fit(&[1], None), problem.fits(&[1], None)), (Ok(true), Ok(true)));
    problem.constrain(at_most(6));
    assert_eq!((problem.may_fit(&[1], None), problem.fits(&[1], None)), (Ok(false), Ok(false)));
}
