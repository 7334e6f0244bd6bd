// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Deadline floors from the clock and from the next release: late reports of releases, and all small sets.

mod random;

use random::Random;
use taut_model::{ArrivalPattern, Body, Resource, SchedulingPolicy, Segment, SetTask, TaskSet};
use taut_sim::{GlobalRule, LocalRule, Outcome, Rules, RunEnd, Scenario, SimEvent, SimEventKind, Simulation};
use taut_time::Duration;

fn ns(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

fn section(resource: usize, inside: Vec<Segment>) -> Segment {
    Segment::Section { resource, inside }
}

fn task(deadline: Duration, period: Duration, jitter: Duration, body: Vec<Segment>) -> SetTask {
    SetTask {
        name: String::new(),
        core: 0,
        priority: 1,
        arrivals: ArrivalPattern::Periodic,
        period,
        deadline,
        jitter,
        body: Body::Segments(body),
    }
}

fn set(tasks: Vec<SetTask>) -> TaskSet {
    let resources = (0..2).map(|at| Resource { name: format!("r{at}") }).collect();
    TaskSet::new(vec![SchedulingPolicy::Edf], resources, tasks).expect("valid")
}

fn run(set: &TaskSet, rule: LocalRule, scenario: &Scenario, sink: &mut impl FnMut(SimEvent)) -> Outcome {
    let mut simulation = Simulation::new(set, &Rules::all(set, rule, GlobalRule::Msrp)).expect("fits");
    simulation.run(scenario, sink).expect("fits").clone()
}

const CLOCK: LocalRule = LocalRule::DfpByClock { jitter: Some(Duration::ZERO) };
const CLOCK_WITH_JITTER: LocalRule = LocalRule::DfpByClock { jitter: None };

/// 3 to 6 tasks of 1 to 5 ms whose sections nest, released up to 300 µs late.
fn late(random: &mut Random) -> TaskSet {
    let count = 3 + random.below(4);
    let tasks = (0..count).map(|_| {
        let period = 1_000 + random.below(4_000);
        let cost = 20 + random.below(period / (2 * count));
        let (outer, inner) = (us(1 + random.below(cost)), us(1 + random.below(cost)));
        let resource = random.below(2) as usize;
        let mut inside = vec![Segment::Normal(outer)];
        if random.below(2) == 0 {
            inside.push(section(1 - resource, vec![Segment::Normal(inner)]));
        }
        let deadline = period / 2 + random.below(period);
        let mut task = task(
            us(deadline),
            us(period),
            us(300),
            vec![Segment::Normal(us(cost)), section(resource, inside)],
        );
        if random.below(3) == 0 {
            task.arrivals = ArrivalPattern::Sporadic;
        }
        task
    });
    set(tasks.collect())
}

#[test]
fn releases_told_late_break_the_clock_and_not_the_next_release() {
    let mut random = Random(0xF100);
    let (mut broken, mut jobs) = (0, 0);
    for seed in 0..400 {
        let set = late(&mut random);
        let scenario = Scenario::random(Duration::from_ms(40), seed);
        let ends = |rule| {
            let outcome = run(&set, rule, &scenario, &mut |_| {});
            (outcome.end, outcome.tasks.iter().map(|task| task.completed).sum::<u64>())
        };
        broken += u64::from(matches!(ends(CLOCK).0, RunEnd::Broken { .. }));
        for rule in [CLOCK_WITH_JITTER, LocalRule::Dfp] {
            let (end, completed) = ends(rule);
            assert_eq!(end, RunEnd::Complete, "seed {seed} {rule:?}");
            jobs += completed;
        }
    }
    println!("{broken} of 400 sets broken by the clock; {jobs} jobs");
    assert!(broken > 20 && jobs > 10_000, "{broken} {jobs}");
}

/// How long jobs with later deadlines run while a released job waits.
#[derive(Default)]
struct Waits {
    /// Per task, the deadline of its job.
    due: Vec<Option<u64>>,
    running: Option<(usize, u64)>,
    /// Per task, the time that it was blocked.
    blocked: Vec<u64>,
}

impl Waits {
    fn see(&mut self, set: &TaskSet, event: SimEvent) {
        let now = event.at.as_ns();
        // The job that ran until now, and the jobs that waited for it.
        if let Some((runs, since)) = self.running {
            let own = self.due[runs];
            for task in 0..self.due.len() {
                if task != runs && self.due[task].is_some_and(|due| own.is_some_and(|own| due < own)) {
                    self.blocked[task] += now - since;
                }
            }
            self.running = Some((runs, now));
        }
        match event.kind {
            SimEventKind::Release { arrival } => {
                let deadline = set.tasks()[event.task].deadline;
                self.due[event.task] = Some(arrival.as_ns() + deadline.as_ns());
            }
            SimEventKind::Start | SimEventKind::Resume => self.running = Some((event.task, now)),
            SimEventKind::Preempt => self.running = None,
            SimEventKind::Complete { .. } => {
                (self.running, self.due[event.task]) = (None, None);
            }
            _ => {}
        }
    }
}

/// Execution, and a section after it: resource and length.
type Piece = (u64, Option<(usize, u64)>);

/// All sets of three tasks with different deadlines, in a few units of time.
fn small() -> impl Iterator<Item = (TaskSet, Vec<u64>, Vec<u64>)> {
    let bodies: [&[Piece]; 4] = [
        &[(1, None)],
        &[(0, Some((0, 2))), (1, None)],
        &[(1, Some((0, 2)))],
        &[(1, Some((1, 1))), (0, Some((0, 1)))],
    ];
    // For each task: arrival 0 to 2, lateness 0 to 2, one of the bodies.
    let choices = 3 * 3 * bodies.len() as u64;
    (0..choices.pow(3)).map(move |mut number| {
        let (mut tasks, mut arrivals, mut delays) = (Vec::new(), Vec::new(), Vec::new());
        for deadline in [9, 6, 4] {
            let choice = number % choices;
            number /= choices;
            let body = bodies[(choice / 9) as usize].iter().flat_map(|&(before, inside)| {
                let normal = (before > 0).then_some(Segment::Normal(ns(before)));
                let inside =
                    inside.map(|(resource, length)| section(resource, vec![Segment::Normal(ns(length))]));
                normal.into_iter().chain(inside)
            });
            tasks.push(task(ns(deadline), ns(100), ns(2), body.collect()));
            arrivals.push(choice % 3);
            delays.push(choice / 3 % 3);
        }
        (set(tasks), arrivals, delays)
    })
}

/// All of them: no two jobs hold a resource at once, however late releases are reported; and if none is late, the job
/// with the earliest deadline waits no longer than one section of a task with a longer deadline.
#[test]
fn all_small_sets() {
    let (mut sets, mut broken, mut blocked, mut longer) = (0_u64, 0_u64, 0_u64, 0_u64);
    for (set, arrivals, delays) in small() {
        let once = |of: &[u64]| of.iter().map(|at| vec![ns(*at)]).enumerate().collect::<Vec<_>>();
        let scenario =
            Scenario { exactly: once(&arrivals), delays: once(&delays), ..Scenario::worst(ns(90)) };
        let on_time = delays.iter().all(|delay| *delay == 0);
        let mut waits = Waits { due: vec![None; 3], running: None, blocked: vec![0; 3] };
        let outcome = run(&set, LocalRule::Dfp, &scenario, &mut |event| waits.see(&set, event));
        assert_eq!(outcome.end, RunEnd::Complete, "{arrivals:?} {delays:?} {set:?}");
        sets += 1;
        if on_time {
            for task in 0..3 {
                let deadline = |at: usize| set.tasks()[at].deadline;
                let lower = (0..3).filter(|other| deadline(*other) > deadline(task));
                let longest =
                    lower.flat_map(|other| set.requests(other)).map(|request| request.length.as_ns());
                // A release at the instant of a lock comes before the lock.
                let longest = longest.max().unwrap_or(0).saturating_sub(1);
                assert!(
                    waits.blocked[task] <= longest,
                    "{} of {longest}: {arrivals:?} {set:?}",
                    waits.blocked[task]
                );
                blocked += u64::from(waits.blocked[task] > 0);
                longer += u64::from(waits.blocked[task] == longest && longest > 0);
            }
        } else {
            let end = run(&set, CLOCK, &scenario, &mut |_| {}).end;
            broken += u64::from(matches!(end, RunEnd::Broken { .. }));
        }
    }
    println!(
        "{sets} sets, {broken} broken by the clock, {blocked} jobs blocked, {longer} for as long as may be"
    );
    assert!(broken > 100 && blocked > 100 && longer > 50, "{broken} {blocked} {longer}");
}
