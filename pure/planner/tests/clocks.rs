// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tasks that follow a device's clock: analysed with the least gap that the grid keeps, and as readers with the longest.

mod drafts;

use drafts::{empty, payload, periodic, plan, queue, shown, task, time};
use taut_model::{ArrivalDraft, ClockDraft, Code, Draft, Scalar, codes};
use taut_plan::{Arrival, ClassPlan, DeviceClock, Plan, ValidPlan, explain_task};

fn card() -> ClockDraft {
    ClockDraft {
        period: time("8ms"),
        offset: time("1ms"),
        name: Some("card".to_owned()),
        drift_ppm: Some(200),
        jitter: Some(time("500us")),
    }
}

fn draft() -> Draft {
    let mut draft = empty(&[0]);
    draft.tasks = vec![periodic("audio", "8ms", "4ms", "500us"), periodic("controls", "20ms", "20ms", "1ms")];
    task(&mut draft, "audio").arrival = ArrivalDraft::Clocked(card());
    draft
}

fn response(plan: &Plan, name: &str) -> taut_time::Duration {
    match &plan.tasks[plan.task(name).expect("a task")].class {
        ClassPlan::RealTime { response, .. } => response.expect("proven"),
        ClassPlan::BestEffort {} => panic!("real-time"),
    }
}

#[test]
fn the_least_gap_is_what_the_analysis_takes() {
    let planned = plan(&draft());
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let text = planned.plan.to_lock().expect("it can be written");
    let read = ValidPlan::new(Plan::from_lock(&text).expect("it can be read")).expect("a valid plan");
    assert_eq!(*read, planned.plan, "the text has all of it");
    let explained = explain_task(&planned.plan, "audio").expect("a task");
    let said = "every 8ms of clock `card`\nreleases are 7935.9us to 8064.1us apart, and within 262.8us of a tick and 1ms while \
                the grid is locked\n";
    assert!(explained.contains(said), "{explained}");
    // As if it were sporadic with that gap: some task below it finishes later than beside a periodic one.
    let below = |arrival: ArrivalDraft, cost: u64| {
        let mut of = draft();
        task(&mut of, "controls").wcet.value = taut_time::Duration::from_us(cost);
        task(&mut of, "audio").arrival = arrival;
        response(&plan(&of).plan, "controls")
    };
    let min_gap = time("7935900ns");
    let sporadic =
        || ArrivalDraft::Sporadic { min_gap, triggers: Vec::new(), device: Some("line".to_owned()) };
    let later = (6_500..7_500).step_by(20).filter(|cost| {
        let clocked = below(ArrivalDraft::Clocked(card()), *cost);
        assert_eq!(clocked, below(sporadic(), *cost));
        clocked > below(periodic_arrival("8ms"), *cost)
    });
    assert!(later.count() > 0);
}

fn periodic_arrival(period: &str) -> ArrivalDraft {
    ArrivalDraft::Periodic { period: time(period), offset: time("0ns") }
}

/// A queue that the task reads, and that does not release it: the reader looks once in the longest gap.
#[test]
fn a_reader_looks_in_the_longest_gap() {
    let mut draft = draft();
    draft.payloads = vec![payload("Level", &[("value", Scalar::F32, 1)])];
    draft.channels = vec![queue("levels", "controls", "audio", "Level", None)];
    let latency = |draft: &Draft| {
        let planned = plan(draft);
        assert!(planned.plan.proven, "{}", shown(&planned.faults));
        planned.plan.channels[0].latency.expect("a bound")
    };
    let clocked = latency(&draft);
    task(&mut draft, "audio").arrival = periodic_arrival("8064100ns");
    assert_eq!(clocked, latency(&draft), "as of a task with the longest gap as its period");
    task(&mut draft, "audio").arrival = periodic_arrival("7935900ns");
    assert!(clocked > latency(&draft));
}

/// A writer that sends as seldom as the least gap of the reader allows sends more than the longest gap takes.
#[test]
fn a_reader_keeps_up_in_the_longest_gap() {
    let sent_every = |period: &str| {
        let mut draft = draft();
        draft.payloads = vec![payload("Level", &[("value", Scalar::F32, 1)])];
        draft.channels = vec![queue("levels", "controls", "audio", "Level", None)];
        let controls = task(&mut draft, "controls");
        (controls.arrival, controls.deadline) = (periodic_arrival(period), time("8ms"));
        draft.build().1.iter().any(|fault| fault.code == codes::RATE_OVERFLOW)
    };
    assert_eq!(["8ms", "9ms", "8064099ns", "8064100ns"].map(sent_every), [true, false, true, false]);
}

fn refused(change: impl Fn(&mut ClockDraft)) -> Vec<Code> {
    let mut wrong = draft();
    let mut clock = card();
    change(&mut clock);
    task(&mut wrong, "audio").arrival = ArrivalDraft::Clocked(clock);
    wrong.build().1.iter().map(|fault| fault.code).filter(|code| *code != codes::UNUSED).collect()
}

#[test]
fn a_clock_that_no_task_can_follow_is_refused() {
    assert_eq!(refused(|_| {}), []);
    type Change<'c> = &'c dyn Fn(&mut ClockDraft);
    let wrong: [(Code, Change<'_>); 7] = [
        (codes::BAD_CLOCK, &|clock| clock.name = None),
        (codes::BAD_CLOCK, &|clock| clock.drift_ppm = None),
        (codes::BAD_CLOCK, &|clock| clock.jitter = None),
        (codes::BAD_CLOCK, &|clock| clock.offset = time("8ms")),
        (codes::BAD_CLOCK, &|clock| clock.drift_ppm = Some(10_001)),
        // 2 J + 36 D = T.
        (codes::BAD_CLOCK, &|clock| clock.jitter = Some(time("3971200ns"))),
        (codes::BAD_NAME, &|clock| clock.name = Some("a card".to_owned())),
    ];
    for (at, (code, change)) in wrong.into_iter().enumerate() {
        assert_eq!(refused(change), [code], "{at}");
    }
    assert_eq!(refused(|clock| clock.jitter = Some(time("3971199ns"))), []);
    let mut twice = draft();
    task(&mut twice, "controls").arrival = ArrivalDraft::Clocked(card());
    let (model, faults) = twice.build();
    assert!(
        model.is_none() && shown(&faults).contains("two tasks follow clock `card`"),
        "{}",
        shown(&faults)
    );
}

#[test]
fn a_plan_with_another_clock_is_forged() {
    let forged = |change: &dyn Fn(&mut DeviceClock)| {
        let mut forged = plan(&draft()).plan;
        let ClassPlan::RealTime { arrival: Arrival::Clocked(clock), .. } = &mut forged.tasks[0].class else {
            panic!("it follows a clock")
        };
        change(clock);
        ValidPlan::new(forged).expect_err("forged").to_string()
    };
    for (said, change) in [
        ("is not the name", (&|clock: &mut DeviceClock| clock.name.clear()) as &dyn Fn(&mut DeviceClock)),
        ("drifts too much", &|clock| clock.drift_ppm = 10_001),
        ("a period after a tick", &|clock| clock.offset = clock.period),
        ("are not distinct", &|clock| clock.jitter = clock.period),
    ] {
        let found = forged(change);
        assert!(found.contains(said), "{found}");
    }
    let mut twice = plan(&draft()).plan;
    let [first, second] = &mut twice.tasks[..] else { panic!("two tasks") };
    let (ClassPlan::RealTime { arrival: from, .. }, ClassPlan::RealTime { arrival: to, .. }) =
        (&first.class, &mut second.class)
    else {
        panic!("real-time")
    };
    let ClassPlan::RealTime { deadline, .. } = &first.class else { panic!("real-time") };
    *to = from.clone();
    let deadline = *deadline;
    let ClassPlan::RealTime { deadline: of, .. } = &mut second.class else { panic!("real-time") };
    *of = deadline;
    let said = ValidPlan::new(twice).expect_err("forged").to_string();
    assert!(said.contains("two tasks follow clock `card`"), "{said}");
}
