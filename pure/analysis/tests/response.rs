// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Response times against simulation on small sets: never exceeded, and attained where the test calls itself exact.

mod draw;
mod simulator;

use draw::Draw;
use proptest::prelude::*;
use simulator::{Task as Simulated, run};
use taut_analysis::overheads::probe;
use taut_analysis::uni::fp::preemptive::{FpResponse, FpTask, Subject, response};
use taut_analysis::{AnalysedCore, CoreTask, Verdict, Why};
use taut_model::{ArrivalPattern, OverheadSources, Overheads};
use taut_time::Duration;

/// A task in ticks (nanoseconds), the most urgent first in a set.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    cost: u64,
    period: u64,
    deadline: u64,
    jitter: u64,
    section: u64,
}

fn draw_set(draw: &mut Draw, tasks: u64, longest_period: u64) -> Vec<Ticks> {
    let one = |_| {
        let period = draw.pick(3, longest_period);
        let deadline = draw.pick(period.div_ceil(2), period);
        let cost = draw.pick(1, (period / tasks).max(1) + 1);
        let jitter = if draw.chance(40) { draw.pick(0, period / 3) } else { 0 };
        Ticks { cost, period, deadline, jitter, section: 0 }
    };
    (0..tasks).map(one).collect()
}

fn analyse(set: &[Ticks], task: usize) -> Verdict<FpResponse> {
    let ns = Duration::from_ns;
    let tasks: Vec<FpTask> = set
        .iter()
        .map(|t| FpTask {
            cost: ns(t.cost),
            period: ns(t.period),
            jitter: ns(t.jitter),
            arrivals: ArrivalPattern::Periodic,
        })
        .collect();
    let blocking = set[task + 1..].iter().map(|t| t.section).max().unwrap_or(0);
    let subject = Subject {
        task: tasks[task],
        deadline: ns(set[task].deadline),
        blocking: ns(blocking),
        blocking_attained: true,
        preemptible: set[task].section == 0,
    };
    response(&subject, &tasks[..task]).expect("small numbers")
}

fn simulated(set: &[Ticks], jobs: Vec<Vec<(u64, u64)>>) -> Vec<Simulated> {
    let task = |((i, t), jobs): ((usize, &Ticks), Vec<(u64, u64)>)| {
        let mut task = Simulated::plain(0, 100 - i as u32, t.cost, jobs);
        task.section = t.section;
        task
    };
    set.iter().enumerate().zip(jobs).map(task).collect()
}

/// Every task is released at once after all of its jitter, then as often as it may.
fn critical_instant(set: &[Ticks], end: u64) -> Vec<Vec<(u64, u64)>> {
    let instant = set.iter().map(|t| t.jitter).max().unwrap_or(0);
    let jobs = |t: &Ticks| {
        let first = instant - t.jitter;
        let arrivals = (0..).map(|k| first + k * t.period).take_while(|&a| a < end);
        arrivals.map(|a| (a, a.max(instant))).collect()
    };
    set.iter().map(jobs).collect()
}

#[test]
fn some_run_attains_the_bound() {
    let (mut attained, mut missed) = (0, 0);
    for seed in 0..3_000 {
        let draw = &mut Draw::new(seed);
        let set = draw_set(draw, 2 + seed % 3, 14);
        let end = 60;
        let seen = run(&simulated(&set, critical_instant(&set, end)), 0, end, draw);
        for (i, task) in set.iter().enumerate() {
            match analyse(&set, i) {
                Verdict::Schedulable(bound) => {
                    assert_eq!(seen.response[i], bound.from_arrival.as_ns(), "{set:?} task {i}");
                    attained += 1;
                }
                Verdict::Unschedulable(_) => {
                    // The run may end before the job does; then the job is late as well.
                    let miss = seen.response[i] > task.deadline || seen.response[i] == 0;
                    assert!(miss, "{set:?} task {i}");
                    missed += 1;
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(attained > 3_000 && missed > 500, "{attained} {missed}");
}

#[test]
fn no_run_exceeds_the_bound() {
    let mut tight = 0;
    for seed in 0..2_000 {
        let draw = &mut Draw::new(seed + 50_000);
        let mut set = draw_set(draw, 2 + seed % 4, 20);
        for task in &mut set {
            if draw.chance(40) {
                task.section = draw.pick(0, task.cost);
            }
        }
        let bounds: Vec<_> = (0..set.len()).map(|i| analyse(&set, i)).collect();
        let end = 300;
        for _ in 0..8 {
            let jobs = set.iter().map(|t| sporadic(t, end, draw)).collect();
            let mut tasks = simulated(&set, jobs);
            for (task, t) in tasks.iter_mut().zip(&set) {
                task.cost = (if draw.chance(50) { t.cost } else { 1 }, t.cost);
            }
            let seen = run(&tasks, 0, end, draw);
            for (i, verdict) in bounds.iter().enumerate() {
                if let Some(bound) = verdict.bound() {
                    assert!(seen.response[i] <= bound.from_arrival.as_ns(), "{set:?} task {i} seed {seed}");
                    assert!(seen.from_release[i] <= bound.from_release.as_ns(), "{set:?} task {i}");
                    tight += u32::from(seen.response[i] == bound.from_arrival.as_ns());
                }
            }
        }
    }
    assert!(tight > 1_000, "the runs come near the bounds: {tight}");
}

/// Arrivals at random gaps, often the least one; jitter at random, often all of it.
fn sporadic(t: &Ticks, end: u64, draw: &mut Draw) -> Vec<(u64, u64)> {
    let mut jobs: Vec<(u64, u64)> = Vec::new();
    let mut arrival = draw.pick(0, t.period);
    while arrival < end {
        let release = arrival + if draw.chance(50) { t.jitter } else { draw.pick(0, t.jitter) };
        let release = jobs.last().map_or(release, |last| release.max(last.1));
        jobs.push((arrival, release));
        arrival += t.period + if draw.chance(70) { 0 } else { draw.pick(0, t.period) };
    }
    jobs
}

/// Every combination of offsets of every set of two or three tasks with periods of 2 to 5: the largest response
/// is the bound, to the tick.
#[test]
fn exhaustive_on_tiny_sets() {
    let mut sets = 0;
    let draw = &mut Draw::new(1);
    for code in 0..4u64.pow(3) * 2u64.pow(3) {
        let digit = |k: u32| code / 4u64.pow(k) % 4;
        let bit = |k: u32| code / 64 / 2u64.pow(k) % 2;
        let set: Vec<Ticks> = (0..3)
            .map(|k| {
                let period = 2 + digit(k);
                Ticks { cost: 1 + bit(k), period, deadline: period, jitter: 0, section: 0 }
            })
            .collect();
        let Verdict::Schedulable(bound) = analyse(&set, 2) else { continue };
        let mut longest = 0;
        for offsets in 0..set[0].period * set[1].period * set[2].period {
            let mut left = offsets;
            let jobs = set.iter().map(|t| {
                let offset = left % t.period;
                left /= t.period;
                (0..30).map(|k| (offset + k * t.period, offset + k * t.period)).collect()
            });
            let jobs = jobs.collect();
            longest = longest.max(run(&simulated(&set, jobs), 0, 70, draw).response[2]);
        }
        assert_eq!(longest, bound.from_arrival.as_ns(), "{set:?}");
        sets += 1;
    }
    assert!(sets > 20, "{sets}");
}

/// Blocking is a supremum: a section that starts a tick before the release blocks one tick less.
#[test]
fn blocking_is_attained_but_for_a_tick() {
    let ticks = |cost, period, section| Ticks { cost, period, deadline: period, jitter: 0, section };
    let set = [ticks(2, 20, 0), ticks(7, 40, 7)];
    let bound = analyse(&set, 0).bound().map(|b| b.from_arrival.as_ns());
    assert_eq!(bound, Some(9));
    let jobs = vec![vec![(1, 1)], vec![(0, 0)]];
    assert_eq!(run(&simulated(&set, jobs), 0, 40, &mut Draw::new(3)).response[0], 8);
}

fn core_task() -> impl Strategy<Value = CoreTask> {
    let us = Duration::from_us;
    (1u64..20_000, 100u64..1_000_000, 1u64..=100, 0u64..2_000, 0u64..300, 1u8..99).prop_map(
        move |(cost, period, percent, jitter, section, priority)| CoreTask {
            back_to_back: Duration::ZERO,
            cost: us(cost),
            period: us(period),
            deadline: us((period * percent / 100).max(1)),
            jitter: us(jitter),
            non_preemptive: us(section.min(cost)),
            priority,
            arrivals: ArrivalPattern::Periodic,
        },
    )
}

const OVERHEADS: Overheads = Overheads {
    release: Duration::from_us(60),
    context_switch: Duration::from_us(5),
    kernel_blocking: Duration::from_us(50),
    lock: Duration::ZERO,
    sources: OverheadSources::NONE,
    copy: Duration::ZERO,
    device: Duration::from_us(20),
};

fn response_on(tasks: &[CoreTask], task: usize) -> Verdict<taut_analysis::Bound> {
    let core = AnalysedCore::new(tasks.to_vec(), Vec::new(), OVERHEADS).expect("small numbers");
    core.response(task).expect("small numbers")
}

fn length(verdict: &Verdict<taut_analysis::Bound>) -> u64 {
    verdict.bound().map_or(u64::MAX, |bound| bound.from_arrival.as_ns())
}

proptest! {
    #[test]
    fn terms_sum_to_the_bound(
        tasks in prop::collection::vec(core_task(), 1..8),
        gaps in prop::collection::vec(500u64..100_000, 0..4),
    ) {
        let gaps: Vec<Duration> = gaps.into_iter().map(Duration::from_us).collect();
        let core = AnalysedCore::new(tasks.clone(), gaps, OVERHEADS).unwrap();
        for (i, task) in tasks.iter().enumerate() {
            let bound = match core.response(i).unwrap() {
                Verdict::Schedulable(bound) | Verdict::Unschedulable(bound) => bound,
                Verdict::NotShown(taut_analysis::Why::Passes(bound)) => bound,
                other => return Err(TestCaseError::fail(format!("{other:?}"))),
            };
            let sum: u64 = bound.terms.iter().map(|term| term.time.as_ns()).sum();
            prop_assert_eq!(sum, bound.from_arrival.as_ns());
            let jitter = task.jitter.as_ns() + OVERHEADS.release.as_ns();
            prop_assert_eq!(bound.from_release.as_ns() + jitter, sum);
        }
    }

    #[test]
    fn asking_for_all_is_asking_for_each(
        mut tasks in prop::collection::vec(core_task(), 1..10),
        levels in 1u8..10,
    ) {
        // Few levels, so that there are ties, and light tasks, so that many sets pass.
        for task in &mut tasks {
            task.priority %= levels;
            task.cost = Duration::from_ns(task.cost.as_ns() / 20);
            task.non_preemptive = task.non_preemptive.min(task.cost);
        }
        let core = AnalysedCore::new(tasks.clone(), Vec::new(), OVERHEADS).unwrap();
        let each = (0..tasks.len()).all(|i| response_on(&tasks, i).holds());
        prop_assert_eq!(core.holds(), each);
    }

    #[test]
    fn a_cost_that_grows_never_helps(
        tasks in prop::collection::vec(core_task(), 1..8),
        which in any::<prop::sample::Index>(),
        more in 1u64..5_000,
    ) {
        let mut dearer = tasks.clone();
        let task = &mut dearer[which.index(tasks.len())];
        task.cost = task.cost.checked_add(Duration::from_us(more)).unwrap();
        for i in 0..tasks.len() {
            prop_assert!(length(&response_on(&dearer, i)) >= length(&response_on(&tasks, i)));
        }
    }

    #[test]
    fn another_task_never_helps(
        tasks in prop::collection::vec(core_task(), 1..8),
        another in core_task(),
    ) {
        let more = [&tasks[..], &[another]].concat();
        for i in 0..tasks.len() {
            prop_assert!(length(&response_on(&more, i)) >= length(&response_on(&tasks, i)));
        }
    }

    #[test]
    fn a_longer_section_or_jitter_never_helps(
        tasks in prop::collection::vec(core_task(), 1..8),
        which in any::<prop::sample::Index>(),
    ) {
        let mut worse = tasks.clone();
        let task = &mut worse[which.index(tasks.len())];
        task.non_preemptive = task.cost;
        task.jitter = task.jitter.checked_add(Duration::from_us(70)).unwrap();
        for i in 0..tasks.len() {
            prop_assert!(length(&response_on(&worse, i)) >= length(&response_on(&tasks, i)));
        }
    }
}

/// The probe and every overhead are in the bound of a task that is alone.
#[test]
fn a_task_alone_pays_for_the_machine() {
    let task = CoreTask {
        back_to_back: Duration::ZERO,
        cost: Duration::from_us(100),
        period: Duration::from_ms(8),
        deadline: Duration::from_ms(8),
        jitter: Duration::ZERO,
        non_preemptive: Duration::ZERO,
        priority: 80,
        arrivals: ArrivalPattern::Phased(Duration::ZERO),
    };
    let bound = response_on(&[task], 0);
    // Its 100 + 10, the kernel's 50, one probe of 10 + 10, and 60 from the timer to its first instruction.
    assert_eq!(length(&bound), 240_000);
    assert_eq!(probe::COST, Duration::from_us(10));
    let core = AnalysedCore::new(vec![task], Vec::new(), OVERHEADS).unwrap();
    // 110 / 8000 + 20 / 1000
    assert_eq!(core.utilisation().map(|u| u.ppm()), Some(33_750));
}

/// A device thread delays every task of its core, also the most urgent one: in each gap by two wakes with their switches, and
/// two switches of the dispatcher.
#[test]
fn every_task_pays_for_the_device_thread() {
    let us = Duration::from_us;
    let task = |priority| CoreTask {
        back_to_back: Duration::ZERO,
        cost: us(100),
        period: Duration::from_ms(8),
        deadline: Duration::from_ms(8),
        jitter: Duration::ZERO,
        non_preemptive: Duration::ZERO,
        priority,
        arrivals: ArrivalPattern::Periodic,
    };
    let lengths = |gaps: Vec<Duration>| {
        let core = AnalysedCore::new(vec![task(80), task(70)], gaps, OVERHEADS).unwrap();
        [0, 1].map(|i| length(&core.response(i).unwrap()))
    };
    // As in the test above: 240, and 110 more.
    assert_eq!(lengths(Vec::new()), [240_000, 350_000]);
    let device = 2 * 20_000 + 6 * 5_000;
    assert_eq!(lengths(vec![us(4_000)]), [240_000 + device, 350_000 + device]);
    assert_eq!(lengths(vec![us(4_000), us(8_000)]), [240_000 + 2 * device, 350_000 + 2 * device]);
    // One of 400 us comes twice within the longer window, with 60 us of jitter.
    assert_eq!(lengths(vec![us(400)]), [240_000 + device, 350_000 + 2 * device]);
    let core = AnalysedCore::new(vec![task(80)], vec![us(4_000)], OVERHEADS).unwrap();
    // 110 / 8000 + 20 / 1000 + 70 / 4000
    assert_eq!(core.utilisation().map(|u| u.ppm()), Some(51_250));
    // No run has to take all of that.
    assert_eq!(core.is_exact(0), Ok(false));
    assert_eq!(AnalysedCore::new(vec![task(80)], Vec::new(), OVERHEADS).unwrap().is_exact(0), Ok(true));
}

/// A tie counts against both tasks: each waits for the other's jobs.
#[test]
fn a_tie_counts_against_both() {
    let mut tasks = [1, 2].map(|cost| CoreTask {
        back_to_back: Duration::ZERO,
        cost: Duration::from_ms(cost),
        period: Duration::from_ms(20),
        deadline: Duration::from_ms(20),
        jitter: Duration::ZERO,
        non_preemptive: Duration::from_us(100),
        priority: 50,
        arrivals: ArrivalPattern::Periodic,
    });
    let tied = [0, 1].map(|i| length(&response_on(&tasks, i)));
    tasks[0].priority = 51;
    let above = length(&response_on(&tasks, 0));
    let below = length(&response_on(&tasks, 1));
    assert!(tied[0] > above);
    assert!(tied[1] >= below);
}

/// Each of two equals passes its deadline, by a bound that counts the other; but in a run only one of them is second.
#[test]
fn a_tie_is_no_certain_miss() {
    let ms = Duration::from_ms;
    let mut tasks = [3, 4].map(|cost| CoreTask {
        back_to_back: Duration::ZERO,
        cost: ms(cost),
        period: ms(20),
        deadline: ms(6),
        jitter: Duration::ZERO,
        non_preemptive: Duration::ZERO,
        priority: 50,
        arrivals: ArrivalPattern::Periodic,
    });
    for i in [0, 1] {
        assert!(matches!(response_on(&tasks, i), Verdict::NotShown(taut_analysis::Why::Passes(_))));
    }
    tasks[1].priority = 49;
    assert!(response_on(&tasks, 0).holds());
    assert!(matches!(response_on(&tasks, 1), Verdict::Unschedulable(_)));
}

/// No work, and no time left after the jitter: the job is done when it is released, at its deadline.
#[test]
fn a_job_without_work_is_done_in_time() {
    let ns = Duration::from_ns;
    let task = FpTask { cost: ns(0), period: ns(10), jitter: ns(5), arrivals: ArrivalPattern::Periodic };
    let ask = |deadline, higher: &[FpTask]| {
        let subject = Subject {
            task,
            deadline: ns(deadline),
            blocking: ns(0),
            blocking_attained: true,
            preemptible: true,
        };
        response(&subject, higher).unwrap()
    };
    assert_eq!(ask(5, &[]).bound().map(|r| r.from_arrival), Some(ns(5)));
    assert!(matches!(ask(4, &[]), Verdict::Unschedulable(_)));
    assert!(matches!(ask(5, &[FpTask { cost: ns(1), ..task }]), Verdict::Unschedulable(_)));
}

/// Two equally urgent tasks, C = 3 and 4, T = 5 and 20, D = 5 and 9. Served in order of arrival, the second is done
/// by 7; the equation counts two jobs of the first before it, which gives 10. So a bound past the deadline proves
/// nothing.
#[test]
fn equals_are_not_said_to_be_late() {
    use taut_analysis::uni::fp::local_locks;
    use taut_model::{ArrivalPattern, Body, SchedulingPolicy, Segment, SetTask, TaskSet};
    let task = |priority, cost, period, deadline| SetTask {
        name: "t".into(),
        core: 0,
        priority,
        arrivals: ArrivalPattern::Sporadic,
        period: Duration::from_ns(period),
        deadline: Duration::from_ns(deadline),
        jitter: Duration::ZERO,
        body: Body::Segments(vec![Segment::Normal(Duration::from_ns(cost))]),
    };
    let second = |priority| {
        let tasks = vec![task(priority, 3, 5, 5), task(1, 4, 20, 9)];
        let set = TaskSet::new(vec![SchedulingPolicy::FixedPriority], vec![], tasks).expect("valid");
        local_locks::responses(&set, 0).unwrap().remove(1).verdict
    };
    assert!(matches!(second(1), Verdict::NotShown(Why::Passes(late)) if late.from_arrival.as_ns() == 10));
    assert!(matches!(second(2), Verdict::Unschedulable(late) if late.from_arrival.as_ns() == 10));
}

/// The order by D − J is as good as any: compared with all orders of small sets with sections and jitter, some with
/// fixed numbers.
#[test]
fn no_order_is_better_than_the_assigned_one() {
    use taut_analysis::uni::fp::assignment::{Candidate, assign};
    let (mut kept, mut lost, mut sections) = (0, 0, 0);
    for seed in 0..4_000 {
        let draw = &mut Draw::new(seed + 77_000);
        let count = 2 + seed as usize % 3;
        let us = Duration::from_us;
        let mut tasks: Vec<CoreTask> = (0..count)
            .map(|_| {
                let period = draw.pick(500, 2_000);
                let cost = draw.pick(20, 1_400 / count as u64);
                CoreTask {
                    back_to_back: Duration::ZERO,
                    cost: us(cost),
                    period: us(period),
                    deadline: us(draw.pick(period / 2, period)),
                    jitter: us(if draw.chance(40) { draw.pick(0, 300) } else { 0 }),
                    non_preemptive: us(if draw.chance(50) { draw.pick(0, cost) } else { 0 }),
                    priority: 0,
                    arrivals: ArrivalPattern::Periodic,
                }
            })
            .collect();
        let fixed: Vec<Option<u8>> =
            (0..count).map(|i| draw.chance(30).then_some([40, 60, 20, 80][i])).collect();
        let passes = |tasks: &[CoreTask]| (0..count).all(|i| response_on(tasks, i).holds());
        let candidates: Vec<Candidate> = tasks
            .iter()
            .zip(&fixed)
            .map(|(t, &fixed)| Candidate { fixed, laxity: t.deadline.saturating_sub(t.jitter) })
            .collect();
        for (task, priority) in tasks.iter_mut().zip(assign(&candidates).expect("numbers")) {
            task.priority = priority;
        }
        let assigned = passes(&tasks);
        assert_eq!(assigned, AnalysedCore::new(tasks.clone(), Vec::new(), OVERHEADS).unwrap().holds());
        // Every order that keeps the tasks with fixed numbers in their order.
        let any = orders(count).into_iter().any(|order| {
            let respects = |a: usize, b: usize| match (fixed[order[a]], fixed[order[b]]) {
                (Some(above), Some(below)) => above > below,
                _ => true,
            };
            if !(0..count).all(|a| (a + 1..count).all(|b| respects(a, b))) {
                return false;
            }
            let mut tried = tasks.clone();
            order.iter().enumerate().for_each(|(level, &i)| tried[i].priority = 90 - level as u8);
            passes(&tried)
        });
        assert_eq!(assigned, any, "{tasks:?} {fixed:?}");
        let counted = if assigned { &mut kept } else { &mut lost };
        *counted += 1;
        sections += u32::from(tasks.iter().any(|t| !t.non_preemptive.is_zero()));
    }
    assert!(kept > 500 && lost > 500 && sections > 2_000, "{kept} {lost} {sections}");
}

/// Every order of 0 to n − 1.
fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let shorter = orders(n - 1);
    shorter.iter().flat_map(|p| (0..n).map(|at| [&p[..at], &[n - 1], &p[at..]].concat())).collect()
}
