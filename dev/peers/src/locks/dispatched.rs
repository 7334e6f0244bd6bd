// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Jobs on a core that one of our rules schedules: the cost of their locks, and how promptly they start and resume.

use std::hint::{black_box, spin_loop};
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use taut_exec::{CoreId, Exec, Job, LocalRule, LockError, Setup, SetupError, TaskId, TaskSetup, Wanted};
use taut_sys::clock;

use super::partner::{Row, repeated};
use super::releases::{PERIOD, RELEASES, percentiles};
use crate::clock::now;
use crate::figures::Figures;
use crate::surroundings::Surroundings;

/// Other ready tasks: as many as a core can have beside the measured one.
const READY: usize = 89;
/// How often each event happens in a round.
const TIMES: u32 = 300;

/// The rows for the list of all.
pub(super) fn rows() -> Vec<Box<dyn Row>> {
    let row = |name, trial, run| Box::new(Dispatched { name, trial, run }) as Box<dyn Row>;
    vec![
        row("SRP, dispatched", "alone", |surroundings| locks(surroundings, LocalRule::Srp, 0)),
        row("SRP, dispatched, 89 ready", "alone", |surroundings| locks(surroundings, LocalRule::Srp, READY)),
        row("DFP, dispatched", "alone", |surroundings| locks(surroundings, LocalRule::Dfp, 0)),
        row("DFP, dispatched, 89 ready", "alone", |surroundings| locks(surroundings, LocalRule::Dfp, READY)),
        row("ceilings, dispatched", "alone", |surroundings| locks(surroundings, LocalRule::Immediate, 0)),
        row("dispatched", "release", |surroundings| releases(surroundings, false)),
        row("dispatched, preempting", "release", |surroundings| releases(surroundings, true)),
        row("at an unlock, dispatched", "preempt", |surroundings| {
            handed_over(surroundings).map(|[unlock, ..]| unlock)
        }),
        row("to the next job, dispatched", "completion", |surroundings| {
            handed_over(surroundings).map(|[_, next, _]| next)
        }),
        row("to a preempted job, dispatched", "completion", |surroundings| {
            handed_over(surroundings).map(|[.., preempted]| preempted)
        }),
    ]
}

struct Dispatched {
    name: &'static str,
    trial: &'static str,
    run: fn(&Surroundings) -> Result<Figures, String>,
}

impl Row for Dispatched {
    fn name(&self) -> &'static str {
        self.name
    }

    fn ours(&self) -> bool {
        true
    }

    fn trial(&self) -> &'static str {
        self.trial
    }

    fn run(&self, surroundings: &Surroundings) -> Result<Figures, String> {
        (self.run)(surroundings)
    }
}

/// A task that is released by hand.
fn by_hand(name: &str, deadline_ms: u64) -> TaskSetup {
    let deadline = taut_time::Duration::from_ms(deadline_ms);
    // The shorter the deadline, the more urgent the task, whichever of the two the rule uses.
    let priority = 1_000_000_u64.saturating_sub(deadline_ms) as u32;
    TaskSetup::new(name, taut_exec::Release::ByHand).deadline(deadline).priority(priority)
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Runs jobs on the near processor until `done` is set. Releases the task that `tasks` returns, if it returns one.
fn ran<'w>(
    surroundings: &Surroundings,
    rule: LocalRule,
    done: &AtomicBool,
    tasks: impl FnOnce(&mut Setup<'w>, CoreId) -> Option<TaskId>,
) -> Result<(), String> {
    let mut setup = Setup::new();
    let core = setup.core(surroundings.cpus[0], rule);
    let first = tasks(&mut setup, core);
    let wait = |exec: &Exec<'_>| {
        if let Some(first) = first {
            exec.release(first).map_err(said)?;
        }
        let patience = Instant::now() + Duration::from_secs(5);
        while !done.load(Acquire) && Instant::now() < patience {
            std::thread::sleep(Duration::from_micros(500));
        }
        Ok(())
    };
    let ended: Result<(Result<(), String>, _), SetupError> = setup.run(Wanted::Strict, wait);
    ended.map_err(said)?.0?;
    if done.load(Acquire) { Ok(()) } else { Err("the jobs did not end in time".into()) }
}

/// Takes what a thread has left in `place`.
fn left<T: Default>(place: &Mutex<T>) -> T {
    std::mem::take(&mut place.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

fn leave<T>(place: &Mutex<T>, value: T) {
    *place.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = value;
}

/// Times lock and unlock by a job, while other tasks are ready.
fn locks(surroundings: &Surroundings, rule: LocalRule, ready: usize) -> Result<Figures, String> {
    let (done, figures, refused) = (AtomicBool::new(false), Mutex::new(Figures::new()), Mutex::new(None));
    ran(surroundings, rule, &done, |setup, core| {
        let resource = setup.resource(core, ());
        let waiting: Vec<TaskId> = (0..ready)
            .map(|at| setup.task(core, by_hand("waits", 2_000 + at as u64), |_: &mut Job<'_>| {}))
            .collect();
        let (done, figures, refused, ours) = (&done, &figures, &refused, resource.clone());
        let work = move |job: &mut Job<'_>| {
            let released = waiting.iter().try_for_each(|task| job.release(*task));
            let mut first = released.err();
            let timed = repeated(surroundings, || {
                if let Err(error) = job.lock(black_box(&ours), |(), _| black_box(())) {
                    first = Some(error);
                }
            });
            leave(figures, timed);
            leave(refused, first);
            done.store(true, Release);
        };
        Some(setup.task(core, by_hand("locks", 1_000).uses(&resource), work))
    })?;
    match left(&refused) {
        None => Ok(left(&figures)),
        Some(error) => Err(LockError::to_string(&error)),
    }
}

/// ns from each release of a periodic task to the first instruction of its job; if `preempting`, the job preempts one
/// that runs all the time.
fn releases(surroundings: &Surroundings, preempting: bool) -> Result<Figures, String> {
    let count = (RELEASES / surroundings.haste) as usize;
    let (done, late) = (AtomicBool::new(false), Mutex::new(Vec::<f64>::with_capacity(count)));
    ran(surroundings, LocalRule::Srp, &done, |setup, core| {
        let (done, late) = (&done, &late);
        let period = taut_time::Duration::from_ns(PERIOD.as_nanos() as u64);
        let each = taut_exec::Release::Periodic { period, offset: taut_time::Duration::ZERO };
        let mut seen = Vec::with_capacity(count);
        setup.task(core, TaskSetup::new("periodic", each), move |job: &mut Job<'_>| {
            let now = clock::monotonic_ns();
            if seen.len() < count {
                seen.push(now.saturating_sub(job.arrival().as_ns()) as f64);
                if seen.len() == count {
                    leave(late, std::mem::take(&mut seen));
                    done.store(true, Release);
                }
            }
        });
        let spins = |_: &mut Job<'_>| {
            while !done.load(Acquire) {
                spin_loop();
            }
        };
        preempting.then(|| setup.task(core, by_hand("spins", 100_000), spins))
    })?;
    Ok(percentiles(left(&late)))
}

/// ns of three hand-overs: preemption at an unlock, from the end of the section to the first instruction of the
/// blocked job; from completion to the first instruction of the next job, which has not run yet; and from completion
/// to the next instruction of a preempted job.
fn handed_over(surroundings: &Surroundings) -> Result<[Figures; 3], String> {
    let count = TIMES / surroundings.haste;
    let stamp = AtomicU64::new(0);
    let since = |stamp: &AtomicU64| now().wrapping_sub(stamp.load(Relaxed));
    let mark = |stamp: &AtomicU64| stamp.store(now(), Relaxed);
    let room = || Mutex::new(Vec::<u64>::with_capacity(count as usize));
    let (done, unlock, next, preempted, refused) =
        (AtomicBool::new(false), room(), room(), room(), Mutex::new(None));
    let add = |place: &Mutex<Vec<u64>>, ticks: u64| {
        place.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(ticks);
    };
    ran(surroundings, LocalRule::Srp, &done, |setup, core| {
        let resource = setup.resource(core, ());
        let (stamp, unlock, next, preempted) = (&stamp, &unlock, &next, &preempted);
        // The section blocks both, because its ceiling is the first task's level.
        let first = setup.task(core, by_hand("first", 10).uses(&resource), move |_: &mut Job<'_>| {
            add(unlock, since(stamp));
            mark(stamp);
        });
        let second = setup.task(core, by_hand("second", 20), move |_: &mut Job<'_>| {
            add(next, since(stamp));
            mark(stamp);
        });
        let (done, refused, ours) = (&done, &refused, resource.clone());
        let work = move |job: &mut Job<'_>| {
            for _ in 0..count {
                let both = job.lock(&ours, |(), job| {
                    let both = job.release(first).and_then(|()| job.release(second));
                    mark(stamp);
                    both
                });
                add(preempted, since(stamp));
                if let Err(error) = both.and_then(|both| both) {
                    leave(refused, Some(error));
                    break;
                }
            }
            done.store(true, Release);
        };
        Some(setup.task(core, by_hand("low", 1_000).uses(&resource), work))
    })?;
    if let Some(error) = left(&refused) {
        return Err(LockError::to_string(&error));
    }
    let figures = |place: &Mutex<Vec<u64>>| {
        percentiles(left(place).into_iter().map(|ticks| surroundings.clock.ns(ticks)).collect())
    };
    Ok([figures(&unlock), figures(&next), figures(&preempted)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_figures_or_needs_the_privilege() {
        let surroundings = Surroundings::new(40).expect("two processors");
        for row in rows() {
            match row.run(&surroundings) {
                Ok(figures) => assert!(figures["ns"] > 0.0, "{}: {figures:?}", row.name()),
                Err(why) => {
                    assert!(why.contains("sched") || why.contains("in time"), "{}: {why}", row.name())
                }
            }
        }
    }
}
