// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks that follow a device's clock: real ones, on a core that Linux schedules and on a dispatched one, beside a device
//! whose periods are longer than the manifest's; and in virtual time, where the device also stops and breaks its word.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test code")]

mod app;

use app::{Outcome, each, plan, run};
use taut_boot::LoadedPlan;
use taut_event::{Event, GridPhase, Kind, Record};
use taut_plan::{ClassPlan, DeviceClock, Plan, ValidPlan};
use taut_run::bench::Bench;
use taut_run::{App, Component, Context, Error, Failure, Job, Task, TickReporter};
use taut_time::{Duration, Instant};

/// 500 millionths longer than the manifest's.
const DEVICE_NS: u64 = 4_002_000;
const JITTER_NS: u64 = 300_000;
const OFFSET_NS: u64 = 500_000;

/// The task that follows the clock is task 0.
fn tables(executor: &str) -> String {
    format!(
        "{executor}\n[services.sound]\n[tasks.audio]\narrival = {{ periodic = \"4ms\", clock = \"card\", offset = \"500us\", \
         drift-ppm = 1000, jitter = \"300us\" }}\ndeadline = \"3ms\"\nwcet = {{ value = \"50us\", source = \"guess\" }}\n\
         service = \"sound\"\n[tasks.observes]\nclass = \"best-effort\"\n"
    )
}

fn clock(plan: &Plan) -> DeviceClock {
    let ClassPlan::RealTime { arrival, .. } = &plan.tasks[0].class else { panic!("not real-time") };
    arrival.clock().unwrap().clone()
}

/// How late a tick is observed (ns): anything from 0 to the declared jitter.
fn late_ns(tick: u64) -> u64 {
    tick.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (JITTER_NS + 1)
}

/// The releases of task 0, each with whether the grid was locked to the device then.
fn releases(records: &[Record]) -> Vec<(u64, bool)> {
    let mut phases = Vec::new();
    let mut found = Vec::new();
    for record in records.iter().filter(|record| record.subject == 0) {
        match Event::of(record).unwrap() {
            Event::Followed { release, phase, .. } => phases.push((release, phase)),
            Event::Release { job, .. } => found.push((job, record.at.as_ns())),
            _ => {}
        }
    }
    let locked = |job: u64| {
        let last = phases.iter().rfind(|(release, _)| *release <= job);
        last.is_some_and(|(_, phase)| *phase == GridPhase::Locked)
    };
    found.into_iter().map(|(job, at)| (at, locked(job))).collect()
}

/// Checks all gaps, and the phase of all locked releases. Returns how many these are, and the largest error.
fn check(releases: &[(u64, bool)], first_tick_ns: u64, clock: &DeviceClock) -> (u64, u64) {
    for pair in releases.windows(2) {
        let gap = Duration::from_ns(pair[1].0 - pair[0].0);
        assert!(gap >= clock.min_gap() && gap <= clock.max_gap(), "{gap}");
    }
    let errors = releases.iter().filter(|(_, locked)| *locked).map(|(at, _)| {
        let behind = (at - OFFSET_NS - first_tick_ns + DEVICE_NS / 2) % DEVICE_NS;
        behind.abs_diff(DEVICE_NS / 2)
    });
    let errors: Vec<u64> = errors.collect();
    let largest = errors.iter().copied().max().unwrap_or(0);
    assert!(largest <= clock.phase_error().as_ns(), "{largest}");
    (errors.len() as u64, largest)
}

/// The device of a real run is a thread with a schedule of its own. It reports when it observed each tick.
#[test]
fn a_real_task_follows_a_device() {
    for executor in ["", "executor = \"dispatched\""] {
        real_task(executor);
    }
}

fn real_task(executor: &str) {
    let (tell, told) = std::sync::mpsc::channel();
    let outcome: Outcome = run(&tables(executor), Some(Duration::from_ms(2_500)), |app| {
        app.service("sound", |service| service.task("audio", |_| Ok(each(|_| Ok(())))))?;
        app.best_effort("observes", |create| {
            let mut card = create.clock("card")?;
            Ok(move |context: &mut Context<'_>| {
                let first_ns = context.now().as_ns() + 2_345_678;
                tell.send(first_ns).unwrap();
                for tick in 0.. {
                    let observed = Instant::from_ns(first_ns + tick * DEVICE_NS + late_ns(tick));
                    if !context.sleep(observed.since(context.now())) {
                        return;
                    }
                    card.tick(observed);
                }
            })
        })
    });
    assert!(outcome.ending.as_ref().unwrap().orderly, "{:?}", outcome.reported.unfinished);
    let clock = clock(&plan(&tables(executor)).0);
    let releases = releases(&outcome.records);
    let (locked, largest) = check(&releases, told.recv().unwrap(), &clock);
    println!("{executor}: {locked} of {} locked, {largest} ns at most", releases.len());
    // By 500 millionths in 2.5 s, a grid of the machine's clock would be 1.25 ms off. It locks in 65 releases, or in 130 if the
    // machine was busy; and loses the lock if the observer does not run for 8 periods.
    assert!(locked > 200, "{locked} of {}", releases.len());
    let is_locked = |(_, locked): &(u64, bool)| *locked;
    let (from, to) =
        (releases.iter().position(is_locked).unwrap(), releases.iter().rposition(is_locked).unwrap());
    let ticks = (releases[to].0 - releases[from].0 + DEVICE_NS / 2) / DEVICE_NS;
    assert_eq!((to - from) as u64, ticks, "a release more or less than ticks");
    let broken =
        |record: &&&Record| matches!(Event::of(record), Ok(Event::Followed { has_broken: true, .. }));
    assert_eq!(outcome.of(Kind::Followed).iter().filter(broken).count(), 0, "the device kept its word");
}

/// Reports the ticks of a virtual device in its jobs, up to one of them.
struct Audio {
    card: TickReporter,
    first_ns: u64,
    /// The ticks at which the device stops, goes on, and jumps.
    stops: u64,
    goes_on: u64,
    jumps: u64,
}

impl Component for Audio {}

impl Task for Audio {
    fn release(&mut self, job: &mut Job<'_>) -> Result<(), Failure> {
        let now_ns = job.now().as_ns();
        // The newest tick that was observed by now.
        let newest = (0..2_000).rev().find(|tick| self.observed_ns(*tick) <= now_ns);
        if let Some(tick) = newest.filter(|tick| !(self.stops..self.goes_on).contains(tick)) {
            self.card.tick(Instant::from_ns(self.observed_ns(tick)));
        }
        Ok(())
    }
}

impl Audio {
    fn observed_ns(&self, tick: u64) -> u64 {
        let jump_ns = if tick >= self.jumps { DEVICE_NS / 4 } else { 0 };
        self.first_ns + tick * DEVICE_NS + late_ns(tick) + jump_ns
    }
}

const FIRST_NS: u64 = 1_001_234_567;

fn bench(stops: (u64, u64), jumps: u64) -> Bench {
    let plan = plan(&tables("")).0;
    let text = plan.to_lock().unwrap();
    let set_up = move |app: &mut App<'_>| -> Result<(), Error> {
        app.service("sound", |service| {
            service.task("audio", |create| {
                let card = create.clock("card")?;
                Ok(Audio { card, first_ns: FIRST_NS, stops: stops.0, goes_on: stops.1, jumps })
            })
        })?;
        app.best_effort("observes", |_| Ok(|_: &mut Context<'_>| ()))
    };
    Bench::with_plan(LoadedPlan { plan: ValidPlan::new(plan).unwrap(), text }, set_up).unwrap()
}

/// Each change of the grid's state: the release, the state, whether the device broke its word.
fn steps(bench: &Bench) -> Vec<(u64, GridPhase, bool)> {
    let mut steps: Vec<(u64, GridPhase, bool)> = Vec::new();
    for record in bench.records() {
        if let Ok(Event::Followed { release, phase, has_broken, .. }) = Event::of(record)
            && (has_broken || steps.last().is_none_or(|(_, last, _)| *last != phase))
        {
            steps.push((release, phase, has_broken));
        }
    }
    steps
}

#[test]
fn in_virtual_time_a_task_follows_a_device() {
    let mut bench = bench((u64::MAX, u64::MAX), u64::MAX);
    bench.run_for(Duration::from_ms(4_000)).unwrap();
    let clock = clock(bench.plan());
    let found = releases(bench.records());
    let (locked, largest) = check(&found, FIRST_NS, &clock);
    assert_eq!((found.len(), locked), (1_000, 951), "in 4 s, and 49 releases until it is locked");
    assert!((20_000..clock.phase_error().as_ns()).contains(&largest), "{largest}");
    let steps = steps(&bench);
    assert_eq!(steps, [(2, GridPhase::Approaching, false), (49, GridPhase::Locked, false)]);
}

/// A device that is lost for 100 ticks is followed again. One that jumps by a quarter of a period has broken its word, once.
#[test]
fn a_device_that_is_lost_or_jumps_is_followed_again() {
    let mut lost = bench((300, 400), u64::MAX);
    lost.run_for(Duration::from_ms(3_000)).unwrap();
    check(&releases(lost.records()), FIRST_NS, &clock(lost.plan()));
    let phases: Vec<GridPhase> = steps(&lost).iter().map(|(_, phase, _)| *phase).collect();
    use GridPhase::{Approaching, Locked, Unseen};
    let expected = [Unseen, Approaching, Locked];
    assert_eq!(phases, [&[Approaching, Locked][..], &expected].concat());
    assert_eq!(phases.last(), Some(&Locked));
    assert!(steps(&lost).iter().all(|(_, _, has_broken)| !has_broken));

    let mut jumps = bench((u64::MAX, u64::MAX), 300);
    jumps.run_for(Duration::from_ms(3_000)).unwrap();
    let steps = steps(&jumps);
    assert_eq!(steps.iter().filter(|(_, _, has_broken)| *has_broken).count(), 1, "{steps:?}");
    assert_eq!(steps.last().map(|(_, phase, _)| *phase), Some(Locked));
}

/// While its service is paused the grid goes on; ticks come from the test.
#[test]
fn a_paused_task_stays_on_the_grid() {
    let mut bench = bench((0, u64::MAX), u64::MAX);
    for tick in 0..700 {
        let observed = Duration::from_ns(1_234_567 + tick * DEVICE_NS + late_ns(tick));
        bench.at(observed, move |parties| parties.tick("card", observed));
    }
    bench.at(Duration::from_ms(1_000), |parties| {
        parties.control().pause("sound").unwrap();
        Ok(())
    });
    bench.at(Duration::from_ms(1_500), |parties| {
        parties.control().resume("sound").unwrap();
        Ok(())
    });
    bench.run_for(Duration::from_ms(2_500)).unwrap();
    check(&releases(bench.records()), FIRST_NS, &clock(bench.plan()));
    let locked = releases(bench.records()).iter().filter(|(_, locked)| *locked).count();
    assert!(locked > 500, "{locked}");
    assert_eq!(steps(&bench).last().map(|(_, phase, _)| *phase), Some(GridPhase::Locked));
}

/// A clock whose ticks nobody can report, and an end that is asked for twice or under another name.
#[test]
fn the_end_of_a_clock_is_taken_once() {
    let with = |names: &'static [&'static str]| {
        let plan = plan(&tables("")).0;
        let text = plan.to_lock().unwrap();
        let set_up = move |app: &mut App<'_>| -> Result<(), Error> {
            app.service("sound", |service| service.task("audio", |_| Ok(each(|_| Ok(())))))?;
            app.best_effort("observes", |create| {
                names.iter().try_for_each(|name| create.clock(name).map(drop))?;
                Ok(|_: &mut Context<'_>| ())
            })
        };
        Bench::with_plan(LoadedPlan { plan: ValidPlan::new(plan).unwrap(), text }, set_up).map(drop)
    };
    assert!(with(&["card"]).is_ok());
    let refused = |names| with(names).unwrap_err().to_string();
    assert!(matches!(with(&[]), Err(Error::Unused(_))), "{}", refused(&[]));
    assert!(matches!(with(&["card", "card"]), Err(Error::Twice(_))), "{}", refused(&["card", "card"]));
    assert!(refused(&["dard"]).contains("clock"), "{}", refused(&["dard"]));
}
