// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks on several cores that share resources, fixed priority: examples, relations between analyses, extremes.

use proptest::prelude::*;
use taut_analysis::multi::unsound::{mixed_han14, mpcp_lnr09_paper};
use taut_analysis::multi::{
    Bounds, Guard, GuardedSet, ResponseTerms, Status, fmlp_plus, fmlp07, mixed, mpcp_lnr09_sound, msrp_gai01,
    msrp_holistic, msrp_joint,
};
use taut_analysis::uni::fp::preemptive::{FpTask, Subject, response};
use taut_analysis::{Assumption, Overflow, Verdict, Why};
use taut_model::{ArrivalPattern, Body, Request, Resource, SchedulingPolicy, SetTask, TaskSet};
use taut_sim::{GlobalRule, Rules, RunEnd, Scenario, Simulation};
use taut_time::Duration;

/// (core, priority, C, T, D, J, sections as (resource, how many, how long)), in nanoseconds.
type Row = (usize, u32, u64, u64, u64, u64, Vec<(usize, u32, u64)>);

fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

fn set(cores: usize, resources: usize, rows: &[Row]) -> TaskSet {
    let task = |(core, priority, cost, period, deadline, jitter, sections): &Row| SetTask {
        name: "t".into(),
        core: *core,
        priority: *priority,
        arrivals: ArrivalPattern::Sporadic,
        period: ns(*period),
        deadline: ns(*deadline),
        jitter: ns(*jitter),
        body: Body::Anywhere {
            cost: ns(*cost),
            requests: sections
                .iter()
                .map(|&(resource, count, length)| Request {
                    resource,
                    count,
                    length: ns(length),
                    outermost: true,
                })
                .collect(),
        },
    };
    let resources = vec![Resource { name: "r".into() }; resources];
    let tasks = rows.iter().map(task).collect();
    TaskSet::new(vec![SchedulingPolicy::FixedPriority; cores], resources, tasks).expect("valid")
}

fn found(verdict: &Verdict<Bounds>) -> &Bounds {
    match verdict {
        Verdict::Schedulable(bounds) | Verdict::NotShown(Why::Passes(bounds)) => bounds,
        other => panic!("{other:?}"),
    }
}

fn responses(verdict: &Verdict<Bounds>) -> Vec<u64> {
    found(verdict).tasks.iter().map(|task| task.from_arrival.as_ns()).collect()
}

fn terms(verdict: &Verdict<Bounds>, task: usize) -> [u64; 6] {
    parts(&found(verdict).tasks[task].terms)
}

fn parts(terms: &ResponseTerms) -> [u64; 6] {
    let ResponseTerms { own, spin, local_blocking, remote_blocking, interference, jitter } = *terms;
    [own, spin, local_blocking, remote_blocking, interference, jitter].map(Duration::as_ns)
}

fn all_short(set: &TaskSet) -> Result<Verdict<Bounds>, Overflow> {
    fmlp07::response_times(set, |_| fmlp07::FmlpResource::Short)
}

fn all_long(set: &TaskSet) -> Result<Verdict<Bounds>, Overflow> {
    fmlp07::response_times(set, |_| fmlp07::FmlpResource::Long)
}

fn guarded(
    set: &TaskSet,
    suspends: impl Fn(usize) -> bool,
) -> Result<Result<GuardedSet, Assumption>, Overflow> {
    let mut guarded = match GuardedSet::new(set)? {
        Ok(guarded) => guarded,
        Err(assumption) => return Ok(Err(assumption)),
    };
    for resource in (0..set.resources().len()).filter(|&resource| suspends(resource)) {
        guarded.guard(resource, Guard::Suspending);
    }
    Ok(Ok(guarded))
}

fn mixed(set: &TaskSet, suspends: impl Fn(usize) -> bool) -> Result<Verdict<Bounds>, Overflow> {
    match guarded(set, suspends)? {
        Ok(guarded) => mixed::response_times(&guarded),
        Err(assumption) => Ok(Verdict::NotApplicable(assumption)),
    }
}

fn by_turns(set: &TaskSet) -> Result<Verdict<Bounds>, Overflow> {
    mixed(set, |resource| resource % 2 == 0)
}

type Analysis = fn(&TaskSet) -> Result<Verdict<Bounds>, Overflow>;

const ALL: [Analysis; 8] = [
    msrp_gai01::response_times,
    msrp_holistic::response_times,
    msrp_joint::response_times,
    mpcp_lnr09_sound::response_times,
    fmlp_plus::response_times,
    all_short,
    all_long,
    by_turns,
];

/// The term of [Lakshmanan09] for how late a job can run is too small; [Chen19] has the right one. The second task
/// suspends five times exactly while the first does not run, and ends at 19959. Its next job comes at 20000 and does
/// not wait, so the third task, released at 9999, responds in 21960. The paper's equation claims 12000.
#[test]
fn counterexample() {
    let rows = [
        (0, 4, 1000, 2000, 2000, 0, vec![]),
        (0, 3, 5000, 20000, 20000, 0, vec![(0, 5, 10)]),
        (0, 2, 1000, 100_000, 100_000, 0, vec![]),
        (1, 1, 1000, 2000, 2000, 0, vec![(0, 1, 1000)]),
    ];
    let set = set(2, 1, &rows);
    let mpcp_lnr09_paper::Claims::Unsound(claims) = mpcp_lnr09_paper::claims(&set).unwrap() else { panic!() };
    assert_eq!(claims.iter().map(|c| c.claimed.as_ns()).collect::<Vec<_>>(), [1010, 20000, 12000, 1100]);
    assert!(claims.iter().all(|claim| claim.claimed_to_fit));
    let sound = mpcp_lnr09_sound::response_times(&set).unwrap();
    assert_eq!(responses(&sound), [1010, 20000, 22000, 1100]);
    assert!(sound.holds());
    let reached = [1009, 19959, 21960, 1000];
    let exceeds = |bounds: Vec<u64>| reached.iter().zip(bounds).any(|(reached, bound)| *reached > bound);
    assert!(exceeds(claims.iter().map(|claim| claim.claimed.as_ns()).collect()));
    assert!(!exceeds(responses(&sound)));
}

/// Three tasks, one resource; all numbers by hand. Own, spin, local, remote, interference, jitter.
#[test]
fn by_hand() {
    let rows = [
        (0, 3, 10, 1000, 1000, 7, vec![(0, 1, 2)]),
        (0, 2, 20, 1000, 1000, 0, vec![(0, 1, 4)]),
        (1, 1, 30, 1000, 1000, 0, vec![(0, 1, 5)]),
    ];
    let set = set(2, 1, &rows);
    for spinning in [msrp_gai01::response_times, msrp_holistic::response_times, all_short] {
        let verdict = spinning(&set).unwrap();
        // The second blocks the first: it spins for 5 and is in its section for 4.
        assert_eq!(terms(&verdict, 0), [10, 5, 9, 0, 0, 7]);
        assert_eq!(terms(&verdict, 1), [20, 5, 0, 0, 15, 0]);
        assert_eq!(terms(&verdict, 2), [30, 4, 0, 0, 0, 0]);
        let bound = &found(&verdict).tasks[0];
        assert_eq!((bound.from_release, bound.from_arrival), (ns(24), ns(31)));
        let witness = bound.witnesses.local_blocking;
        assert_eq!((witness.task, witness.resource, witness.time), (Some(1), Some(0), ns(9)));
        assert_eq!(found(&verdict).tasks[1].witnesses.interference.task, Some(0));
    }
    // MPCP: W is 2 plus the second's 4 for the first task, 4 + 2 for the second, 5 for the third. The first waits for
    // the longest of the less urgent ones, 6, and is blocked twice by 4.
    let verdict = mpcp_lnr09_sound::response_times(&set).unwrap();
    assert_eq!(terms(&verdict, 0), [10, 0, 8, 6, 0, 7]);
    // The second waits for 5 and for two jobs of the first, 6 each; one job of the first interferes for 10.
    assert_eq!(terms(&verdict, 1), [20, 0, 0, 5 + 2 * 6, 10, 0]);
    assert_eq!(terms(&verdict, 2), [30, 0, 0, 2 * 6 + 2 * 6, 0, 0]);
    // FMLP+: one request of the other core comes first; the job could be blocked twice, but there is only one
    // section.
    let verdict = fmlp_plus::response_times(&set).unwrap();
    assert_eq!(terms(&verdict, 0), [10, 0, 4, 5, 0, 7]);
    assert_eq!(terms(&verdict, 1), [20, 0, 0, 5, 10, 0]);
    assert_eq!(terms(&verdict, 2), [30, 0, 0, 2 + 4, 0, 0]);
    // FMLP: the same by suspension, where a holder may wait for the other holder of its core.
    let verdict = all_long(&set).unwrap();
    assert_eq!(terms(&verdict, 0), [10, 0, 8, (4 + 2) + 5, 0, 7]);
    assert_eq!(terms(&verdict, 1), [20, 0, 0, (2 + 4) + 5, 10, 0]);
    assert_eq!(terms(&verdict, 2), [30, 0, 0, (2 + 4) + (4 + 2), 0, 0]);
}

/// Five requests of a job cannot all meet a section that comes at most twice while the job is pending.
#[test]
fn holistic_counts_what_can_come() {
    let rows =
        [(0, 2, 100, 1000, 1000, 0, vec![(0, 5, 10)]), (1, 1, 100, 50_000, 50_000, 0, vec![(0, 1, 30)])];
    let set = set(2, 1, &rows);
    assert_eq!(terms(&msrp_gai01::response_times(&set).unwrap(), 0), [100, 150, 0, 0, 0, 0]);
    assert_eq!(terms(&msrp_holistic::response_times(&set).unwrap(), 0), [100, 30, 0, 0, 0, 0]);
    let windows = [ns(1000), ns(50_000)];
    let blocking = msrp_holistic::blocking(&set, &windows).unwrap().unwrap();
    assert_eq!(parts(&blocking[0]), [0, 30 * 2, 0, 0, 0, 0]);
}

/// A short and a long resource on one core: a holder of the long one may wait for a non-preemptive section.
#[test]
fn fmlp07_short_and_long() {
    let rows = [
        (0, 4, 10, 1000, 1000, 0, vec![(0, 1, 2)]),
        (0, 3, 10, 1000, 1000, 0, vec![(1, 2, 3)]),
        (1, 2, 10, 1000, 1000, 0, vec![(0, 1, 4)]),
        (1, 1, 10, 1000, 1000, 0, vec![(1, 1, 5)]),
    ];
    let set = set(2, 2, &rows);
    let kind =
        |resource| if resource == 0 { fmlp07::FmlpResource::Long } else { fmlp07::FmlpResource::Short };
    let verdict = fmlp07::response_times(&set, kind).unwrap();
    // The first waits for the third, which may first wait for the fourth's span 3 + 5; the second's span 5 + 3 blocks
    // it at its start and after the wait.
    assert_eq!(terms(&verdict, 0), [10, 0, 2 * 8, 4 + 8, 0, 0]);
    assert_eq!(terms(&verdict, 1), [10, 2 * 5, 0, 0, 10, 0]);
    assert_eq!(terms(&verdict, 2), [10, 0, 2 * 8, 2 + 8, 0, 0]);
    assert_eq!(terms(&verdict, 3), [10, 3, 0, 0, 10, 0]);
}

/// A resource that jobs spin for beside one that they suspend for: queues by priority, and each spinning stretch
/// counts once.
#[test]
fn mixed_spinning_and_suspended() {
    let rows = [
        (0, 4, 10, 1000, 1000, 0, vec![(0, 1, 2)]),
        (0, 3, 10, 1000, 1000, 0, vec![(1, 2, 3)]),
        (1, 2, 10, 1000, 1000, 0, vec![(0, 1, 4)]),
        (1, 1, 10, 1000, 1000, 0, vec![(1, 1, 5)]),
    ];
    let set = set(2, 2, &rows);
    let verdict = mixed(&set, |resource| resource == 0).unwrap();
    // The first waits for the third, which may first wait for the fourth's span 3 + 5; the second's span 5 + 3 blocks
    // it at its start and after the wait.
    assert_eq!(terms(&verdict, 0), [10, 0, 2 * 8, 4 + 8, 0, 0]);
    // Two requests, and one section of the fourth that they can meet.
    assert_eq!(terms(&verdict, 1), [10, 5, 0, 0, 10, 0]);
    // Two jobs of the first may come before it, each delayed by the second's span.
    assert_eq!(terms(&verdict, 2), [10, 0, 2 * 8, 2 * (2 + 8), 0, 0]);
    assert_eq!(terms(&verdict, 3), [10, 3, 0, 0, 10, 0]);
    // In the printed equations, spinning does not delay a holder of the first resource.
    let mpcp_lnr09_paper::Claims::Unsound(claims) =
        mixed_han14::claims(&guarded(&set, |resource| resource == 0).unwrap().unwrap()).unwrap()
    else {
        panic!("the equations claim something");
    };
    assert_eq!(parts(&claims[0].terms), [10, 0, 8, 4, 0, 0]);
    assert_eq!(parts(&claims[1].terms), [10, 2 * 5, 0, 0, 10, 0]);
    assert_eq!(parts(&claims[2].terms), [10, 0, 8, 2 * 2, 0, 0]);
}

/// Local resources beside global ones: a section with a ceiling blocks once where only one less urgent task can be in
/// one.
#[test]
fn local_beside_global() {
    let rows = [
        (0, 4, 20, 1000, 1000, 0, vec![(0, 1, 2), (1, 1, 1)]),
        (0, 3, 20, 1000, 1000, 0, vec![(0, 1, 3), (1, 1, 9)]),
        (0, 2, 20, 1000, 1000, 0, vec![(1, 1, 12)]),
        (1, 1, 20, 1000, 1000, 0, vec![(0, 1, 5)]),
    ];
    let set = set(2, 2, &rows);
    // The longest of: a span 5 + 3, a ceiling section of 9 or 12.
    assert_eq!(terms(&msrp_gai01::response_times(&set).unwrap(), 0)[2], 12);
    // Twice: the second's global 3, and the third's local 12, which has no global section.
    assert_eq!(terms(&mpcp_lnr09_sound::response_times(&set).unwrap(), 0)[2], 2 * (3 + 12));
    assert_eq!(terms(&fmlp_plus::response_times(&set).unwrap(), 0)[2], 3 + 2 * 12);
    assert_eq!(terms(&all_long(&set).unwrap(), 0)[2], 2 * (3 + 12));
}

#[test]
fn assumptions_and_limits() {
    for analysis in ALL {
        let late = set(1, 0, &[(0, 1, 1, 10, 11, 0, vec![])]);
        assert_eq!(analysis(&late), Ok(Verdict::NotApplicable(Assumption::ConstrainedDeadline)));
        assert!(analysis(&set(1, 0, &[])).unwrap().holds());
        // 1 ns every 2 ns beside 1 h: the window grows by half of what is left each time.
        let hour = 3_600_000_000_000;
        let beside = [(0, 2, 1, 2, 2, 0, vec![]), (0, 1, hour / 2 - 1, hour, hour, 0, vec![])];
        assert_eq!(responses(&analysis(&set(1, 0, &beside)).unwrap()), [1, hour - 2]);
        // Utilisation 1.
        let full = [(0, 2, 1, 2, 2, 0, vec![]), (0, 1, hour / 2, hour, hour, 0, vec![])];
        assert_eq!(responses(&analysis(&set(1, 0, &full)).unwrap()), [1, hour]);
        // The window grows by one nanosecond a step.
        let slow = [(0, 2, 1, 1, 1, 0, vec![]), (0, 1, 1, hour, hour, 0, vec![])];
        assert!(matches!(analysis(&set(1, 0, &slow)).unwrap(), Verdict::NotShown(Why::Steps(_))));
        // Values that do not fit.
        let max = u64::MAX;
        let short_of_time = [
            (0, 2, 1, 2, 1, 0, vec![]),
            (0, 1, 5, hour, hour, 0, vec![(0, 1, 1)]),
            (1, 3, 1, hour, hour, 0, vec![(0, 1, 1)]),
        ];
        let verdict = analysis(&set(2, 1, &short_of_time)).unwrap();
        assert!(matches!(verdict, Verdict::NotShown(Why::Passes(_))));
        let huge = [
            (0, 2, max / 2, max, max, max, vec![(0, 1, max / 2)]),
            (0, 1, max / 2, max, max, 0, vec![(0, 1, max / 2)]),
            (1, 3, max / 2, max, max, 0, vec![(0, 2, max / 8)]),
        ];
        assert_eq!(analysis(&set(2, 1, &huge)), Err(Overflow));
        let late = [(0, 1, 1, 10, 10, 10, vec![])];
        assert!(matches!(analysis(&set(1, 0, &late)).unwrap(), Verdict::NotShown(Why::Passes(_))));
    }
}

/// A task waits behind requests that fill a core, 2 ns every 2 ns, or all but a trillionth of it: the search does not
/// go through an hour nanosecond by nanosecond.
#[test]
fn a_wait_without_end_is_found_soon() {
    let hour = 3_600_000_000_000;
    for (time, period) in [(2, 2), (hour - 1, hour)] {
        let rows = [
            (0, 3, time, period, period, 0, vec![(0, 1, time)]),
            (1, 1, 5, 1_000 * hour, 1_000 * hour, 0, vec![(0, 1, 1)]),
        ];
        let set = set(2, 1, &rows);
        let verdict = mpcp_lnr09_sound::response_times(&set).unwrap();
        assert_eq!(found(&verdict).tasks[1].status, Status::Passes);
        let mpcp_lnr09_paper::Claims::Unsound(claims) = mpcp_lnr09_paper::claims(&set).unwrap() else {
            panic!()
        };
        assert!(!claims[1].claimed_to_fit);
    }
    // Half of a core: the wait ends. b = (⌈b / 2⌉ + 1) · 1 ns = 2 ns.
    let rows = [(0, 3, 1, 2, 2, 0, vec![(0, 1, 1)]), (1, 1, 5, hour, hour, 0, vec![(0, 1, 1)])];
    let verdict = mpcp_lnr09_sound::response_times(&set(2, 1, &rows)).unwrap();
    assert_eq!(terms(&verdict, 1)[3], 2);
}

/// A miss leaves the bounds of other tasks proven only where they do not depend on it.
#[test]
fn what_a_miss_leaves() {
    let rows = [(0, 2, 10, 100, 100, 0, vec![(0, 1, 2)]), (1, 1, 60, 100, 50, 0, vec![(0, 1, 5)])];
    let set = set(2, 1, &rows);
    let status = |analysis: Analysis| {
        let verdict = analysis(&set).unwrap();
        assert!(!verdict.holds());
        found(&verdict).tasks.iter().map(|task| task.status).collect::<Vec<_>>()
    };
    assert_eq!(status(msrp_gai01::response_times), [Status::Proven, Status::Passes]);
    assert_eq!(status(msrp_holistic::response_times), [Status::Depends, Status::Passes]);
    assert_eq!(status(mpcp_lnr09_sound::response_times), [Status::Depends, Status::Passes]);
    assert_eq!(status(fmlp_plus::response_times), [Status::Depends, Status::Passes]);
}

/// Up to eight tasks, up to three resources. Costs are what is outside of sections, plus the sections.
fn some_rows(cores: usize) -> impl Strategy<Value = Vec<Row>> {
    let sections = prop::collection::vec((0..3usize, 1..3u32, 1..12u64), 0..3);
    let row = (0..cores, 0..6u32, 1..30u64, 40..600u64, 0..40u64, 0..20u64, sections);
    let fill = |(core, priority, outside, period, early, jitter, sections)| {
        let sections: Vec<(usize, u32, u64)> = sections;
        let inside: u64 = sections.iter().map(|&(_, count, length)| u64::from(count) * length).sum();
        (core, priority, outside + inside, period, period - early, jitter, sections)
    };
    prop::collection::vec(row.prop_map(fill), 1..9)
}

fn no_more(less: &Verdict<Bounds>, more: &Verdict<Bounds>) -> Result<(), TestCaseError> {
    if let Verdict::Schedulable(more) = more {
        let less = less.bound();
        prop_assert!(less.is_some());
        for (less, more) in less.iter().flat_map(|bounds| &bounds.tasks).zip(&more.tasks) {
            prop_assert!(less.from_arrival <= more.from_arrival);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn terms_sum_up(rows in some_rows(2)) {
        let set = set(2, 3, &rows);
        for analysis in ALL {
            let verdict = analysis(&set).unwrap();
            for (task, row) in found(&verdict).tasks.iter().zip(&rows) {
                prop_assert_eq!(task.terms.sum(), Some(task.from_arrival));
                prop_assert_eq!(task.from_release.checked_add(ns(row.5)), Some(task.from_arrival));
                prop_assert_eq!(task.status == Status::Passes, task.from_arrival > ns(row.4));
            }
            let proven = found(&verdict).tasks.iter().all(|task| task.status == Status::Proven);
            prop_assert_eq!(proven, verdict.holds());
        }
    }

    #[test]
    fn a_longer_section_never_helps(rows in some_rows(2), which in 0..8usize, by in 1..9u64) {
        let mut longer = rows.clone();
        let at = which % rows.len();
        let row = &mut longer[at];
        if let Some(section) = row.6.first_mut() {
            section.2 += by;
            row.2 += by * u64::from(section.1);
        }
        let (less, more) = (set(2, 3, &rows), set(2, 3, &longer));
        for analysis in ALL {
            no_more(&analysis(&less).unwrap(), &analysis(&more).unwrap())?;
        }
    }

    #[test]
    fn relations(rows in some_rows(3)) {
        let set = set(3, 3, &rows);
        let gai = msrp_gai01::response_times(&set).unwrap();
        let holistic = msrp_holistic::response_times(&set).unwrap();
        no_more(&holistic, &gai)?;
        no_more(&msrp_joint::response_times(&set).unwrap(), &holistic)?;
        prop_assert_eq!(&all_short(&set).unwrap(), &gai);
        let spinning = mixed(&set, |_| false).unwrap();
        prop_assert_eq!(&spinning, &msrp_holistic::response_times(&set).unwrap());
        let sound = mpcp_lnr09_sound::response_times(&set).unwrap();
        let suspended = mixed(&set, |_| true).unwrap();
        if let (Verdict::Schedulable(one), Verdict::Schedulable(other)) = (&suspended, &sound) {
            prop_assert_eq!(&one.tasks, &other.tasks);
        }
        prop_assert_eq!(suspended.holds(), sound.holds());
        if let Verdict::Schedulable(sound) = sound {
            let mpcp_lnr09_paper::Claims::Unsound(claims) = mpcp_lnr09_paper::claims(&set).unwrap() else {
                panic!()
            };
            // The published claims are never above the sound bounds.
            for (claim, bound) in claims.iter().zip(&sound.tasks) {
                prop_assert!(claim.claimed_to_fit && claim.claimed <= bound.from_arrival);
            }
        }
    }

    /// A resource without a guard is like one that no task requests.
    #[test]
    fn absent_guards(rows in some_rows(3), mask in 0..8usize, which in 0..3usize) {
        let all = set(3, 3, &rows);
        let without: Vec<Row> = rows.iter().cloned().map(|mut row| {
            row.6.retain(|section| section.0 != which);
            row
        }).collect();
        let mut judged = guarded(&all, |resource| mask >> resource & 1 == 1).unwrap().unwrap();
        judged.guard(which, Guard::Absent);
        let expected = mixed(&set(3, 3, &without), |resource| mask >> resource & 1 == 1).unwrap();
        prop_assert_eq!(mixed::response_times(&judged).unwrap(), expected);
    }

    /// Every run under both protocols at once stays within the bounds.
    #[test]
    fn mixed_holds_in_runs(rows in some_rows(3), mask in 0..8usize, seed in 0..1000u64) {
        let set = set(3, 3, &rows);
        let suspends = |resource: usize| mask >> resource & 1 == 1;
        let Verdict::Schedulable(bounds) = mixed(&set, suspends).unwrap() else {
            return Ok(());
        };
        let mut rules = Rules::of(&set, GlobalRule::Msrp);
        for (resource, rule) in rules.resources.iter_mut().enumerate() {
            if suspends(resource) {
                *rule = GlobalRule::Mpcp;
            }
        }
        let mut simulation = Simulation::new(&set, &rules).unwrap();
        for at in 0..6 {
            let scenario = Scenario::random(ns(5_000), seed * 6 + at);
            let scenario = if at == 0 { Scenario::worst(ns(5_000)) } else { scenario };
            let outcome = simulation.run(&scenario, &mut ()).unwrap();
            prop_assert_eq!(&outcome.end, &RunEnd::Complete);
            for (task, bound) in outcome.tasks.iter().zip(&bounds.tasks) {
                prop_assert!(task.response_max <= bound.from_arrival);
            }
        }
    }

    /// Without global resources, all analyses are the one-core equation with a ceiling section as blocking.
    #[test]
    fn one_core_is_srp(rows in some_rows(1)) {
        let set = set(1, 3, &rows);
        let verdicts = ALL.map(|analysis| analysis(&set).unwrap());
        for (at, row) in rows.iter().enumerate() {
            let ceiling = |resource| {
                let uses = |row: &&Row| row.6.iter().any(|section| section.0 == resource);
                rows.iter().filter(uses).map(|row| row.1).max()
            };
            let lower = rows.iter().filter(|other| other.1 < row.1).flat_map(|other| &other.6);
            let blocking = lower.filter(|section| ceiling(section.0) >= Some(row.1)).map(|section| section.2);
            let task = |row: &Row| {
                FpTask {
                    cost: ns(row.2),
                    period: ns(row.3),
                    jitter: ns(row.5),
                    arrivals: ArrivalPattern::Periodic,
                }
            };
            let subject = Subject {
                task: task(row),
                deadline: ns(row.4),
                blocking: ns(blocking.max().unwrap_or(0)),
                blocking_attained: false,
                preemptible: true,
            };
            let higher = rows.iter().enumerate().filter(|&(other, higher)| other != at && higher.1 >= row.1);
            let higher: Vec<FpTask> = higher.map(|(_, row)| task(row)).collect();
            let expected = match response(&subject, &higher).unwrap() {
                Verdict::Schedulable(found) | Verdict::NotShown(Why::Passes(found)) => found.from_arrival,
                other => panic!("{other:?}"),
            };
            for verdict in &verdicts {
                prop_assert_eq!(found(verdict).tasks[at].from_arrival, expected);
            }
        }
    }
}
