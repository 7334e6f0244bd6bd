// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What an offer may contain.

use std::sync::Arc;

use taut_analysis::Overflow;
use taut_analysis::multi::Guard;
use taut_planner::select::{
    Alone, BufferCount, Buffers, Equations, Footprint, Miss, ObjectOffers, Offer, OfferMemory, Problem,
    ProblemFault, best, exhaustive, why,
};
use taut_time::Duration;

use crate::system::{Draw, ns, small};

#[test]
fn what_is_wrong_with_a_problem() {
    let system = small(&mut Draw(3), 1, 100);
    let set = system.set(|_| 0, |_| true, &[]);
    let with = |resource, offers| {
        let objects = vec![ObjectOffers { name: "r".into(), resource, offers }];
        Problem::new(&set, objects, |_| Guard::Spinning, Equations::Sound).map(|_| ())
    };
    let offers = &system.objects[0].offers;
    assert_eq!(with(0, offers.clone()), Ok(()));
    assert_eq!(with(0, vec![]), Err(ProblemFault::Object(0)));
    assert_eq!(with(1, offers.clone()), Err(ProblemFault::Object(0)));
    assert_eq!(with(0, vec![offers[0].clone(); 64]), Ok(()));
    assert_eq!(with(0, vec![offers[0].clone(); 65]), Err(ProblemFault::Object(0)));
    // A task that does not exist: the first after the last.
    let beyond = set.tasks().len();
    let mut elsewhere = offers[0].clone();
    elsewhere.added = vec![(beyond, ns(1))];
    assert_eq!(with(0, vec![elsewhere]), Err(ProblemFault::Object(0)));
    let timed = |writer, readers| {
        let buffers = Buffers { fixed: 0, each: 1, writer, readers, count: BufferCount::Lifetime };
        with(0, vec![Offer { memory: OfferMemory::Timed(buffers), ..offers[0].clone() }])
    };
    assert_eq!(timed(0, vec![1]), Ok(()));
    assert_eq!(timed(beyond, vec![1]), Err(ProblemFault::Object(0)));
    assert_eq!(timed(0, vec![1, beyond]), Err(ProblemFault::Object(0)));
    let reported =
        "object 0 has no offer, too many offers, or refers to a task or resource that does not exist";
    assert_eq!(ProblemFault::Object(0).to_string(), reported);
    assert_eq!(ProblemFault::Overflow.to_string(), "times that do not fit in 64 bits");
}

/// A charge for an object that does not exist is charged for none.
#[test]
fn charges_for_nothing() {
    let mut kept = 0;
    for seed in 0..20 {
        let mut system = small(&mut Draw(seed), 1, 100);
        system.objects[0].offers.truncate(1);
        system.objects[0].offers[0].guard = Guard::Spinning;
        let mut problem = system.problem(Equations::Sound);
        let Some(before) = problem.judge(&[Some(0)]).unwrap() else { continue };
        problem.charge(1_000, vec![1]);
        assert_eq!(problem.judge(&[Some(0)]).unwrap().unwrap().bytes, before.bytes);
        problem.charge(1_000, vec![1, 0, 0]);
        assert_eq!(problem.judge(&[Some(0)]).unwrap().unwrap().bytes, before.bytes + 1_000);
        kept += 1;
    }
    assert!(kept > 5, "{kept}");
}

/// As many bytes as the first task's response, and not available past a limit.
#[derive(Debug)]
struct Short {
    limit: u64,
}

impl Footprint for Short {
    fn bytes(&self, responses: &[Duration]) -> Result<Option<u64>, Overflow> {
        Ok(Some(responses[0].as_ns()).filter(|bytes| *bytes <= self.limit))
    }
}

#[test]
fn bytes_that_others_count() {
    let mut not_had = 0;
    for seed in 0..80 {
        let mut draw = Draw(seed);
        let mut system = small(&mut draw, 5, 60);
        for object in &mut system.objects {
            let limit = draw.pick(20, 200);
            object.offers.push(Offer {
                name: "short".into(),
                guard: Guard::Absent,
                added: vec![(draw.index(4), ns(draw.pick(0, 4)))],
                held: Duration::ZERO,
                memory: OfferMemory::Asked(Arc::new(Short { limit })),
            });
        }
        let mut problem = system.problem(Equations::Sound);
        let all = exhaustive::search(&mut problem).unwrap();
        let ours = best::search(&mut problem, u64::MAX, &mut |_| true).unwrap();
        let bytes =
            |found: &Option<(Vec<usize>, taut_planner::select::Judged)>| found.as_ref().map(|(_, j)| j.bytes);
        assert!(ours.is_proven(), "seed {seed}");
        assert_eq!(bytes(&ours.best), bytes(&all), "seed {seed}");
        let Some((selection, _)) = ours.best else { continue };
        for object in 0..selection.len() {
            let last = why(&mut problem, &selection, object).unwrap().unwrap().pop().unwrap();
            not_had += u32::from(last.alone == Alone::Missed(Miss::Memory));
        }
    }
    assert!(not_had > 10, "{not_had}");
}

/// A section that is longer under a lock counts for its waiters, for its holder and for tasks below both.
#[test]
fn sections_that_are_longer() {
    let mut changed = 0;
    for seed in 0..40 {
        let mut system = small(&mut Draw(seed), 3, 100);
        for object in &mut system.objects {
            object.offers.truncate(1);
            object.offers[0].held = ns(3);
        }
        let whole = vec![0; system.objects.len()];
        let judged = system.problem(Equations::Sound).judge(&vec![Some(0); whole.len()]).unwrap();
        let expected = crate::recheck::responses(&system, &whole);
        let found = judged.map(|judged| judged.responses.iter().map(|r| r.as_ns()).collect::<Vec<_>>());
        assert_eq!(found, expected, "seed {seed}");
        changed += u32::from(found.is_some());
    }
    assert!(changed > 10);
}
