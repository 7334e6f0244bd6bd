// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Chains: age and reaction over states and queues, and the faults if they are too long.

mod drafts;

use drafts::{Edit, cost, empty, periodic, plan, queue, shown, state, task, time};
use insta::assert_snapshot;
use taut_model::{ArrivalDraft, ChainDraft, Draft, SchedulingPolicy, Shared, TriggerDraft, codes};
use taut_plan::{ChainPlan, ClassPlan, Plan, explain_chain};
use taut_time::Duration;

/// Sensor, filter and motor: two states; other tasks read the first one, too.
fn three() -> Draft {
    let mut draft = empty(&[0, 1]);
    draft.tasks = vec![
        periodic("sensor", "2ms", "2ms", "100us")
            .with(|task| (task.core, task.priority) = (Some(0), Some(60))),
        periodic("filter", "5ms", "5ms", "300us")
            .with(|task| (task.core, task.priority) = (Some(1), Some(50))),
        periodic("motor", "10ms", "10ms", "200us")
            .with(|task| (task.core, task.priority) = (Some(1), Some(40))),
        periodic("watch", "100ms", "100ms", "1ms").with(|task| task.core = Some(0)),
    ];
    let mut samples = state("samples", "sensor", "filter", "Sample");
    samples.to.push("watch".into());
    draft.channels = vec![samples, state("forces", "filter", "motor", "Sample")];
    let path = ["sensor", "samples", "filter", "forces", "motor"].map(String::from).to_vec();
    let max_reaction = Some(time("40ms"));
    draft.chains = vec![ChainDraft { name: "control".into(), path, max_latency: time("30ms"), max_reaction }];
    draft
}

fn response(plan: &Plan, name: &str) -> Duration {
    match &plan.tasks[plan.task(name).expect("a task")].class {
        ClassPlan::RealTime { response, .. } => response.expect("proven"),
        ClassPlan::BestEffort {} => panic!("{name} is best-effort"),
    }
}

fn chain(plan: &Plan) -> &ChainPlan {
    &plan.chains[0]
}

fn sum(times: &[Duration]) -> Duration {
    times.iter().fold(Duration::ZERO, |sum, time| sum.checked_add(*time).expect("small"))
}

#[test]
fn over_states() {
    let planned = plan(&three());
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let plan = &planned.plan;
    let of = |name| response(plan, name);
    // The filter is above the motor on one core: it has written when the motor starts, except for its release of 60
    // us.
    let known = time("60us");
    let age = [of("sensor"), time("2ms"), known, time("5ms"), of("motor")];
    assert_eq!(chain(plan).latency, Some(sum(&age)));
    let reaction = [time("2ms"), of("sensor"), time("5ms"), known, time("10ms"), of("motor")];
    assert_eq!(chain(plan).reaction, Some(sum(&reaction)));
    // The steps are the terms.
    assert_eq!(chain(plan).path.iter().map(|step| step.time).collect::<Vec<_>>(), age);
    assert_eq!(chain(plan).reaction_path.iter().map(|step| step.time).collect::<Vec<_>>(), reaction);
    assert_snapshot!(explain_chain(plan, "control").expect("a chain"));
    let text = plan.to_lock().expect("text");
    assert_eq!(Plan::from_lock(&text).as_ref(), Ok(plan));
}

/// A chain counts on a writer above its reader only where the writer is above.
#[test]
fn above_its_reader() {
    let gain = |edit: &dyn Fn(&mut Draft)| {
        let mut draft = three();
        edit(&mut draft);
        let planned = plan(&draft);
        assert!(planned.plan.proven, "{}", shown(&planned.faults));
        let plan = &planned.plan;
        let all = [
            response(plan, "sensor"),
            time("2ms"),
            response(plan, "filter"),
            time("5ms"),
            response(plan, "motor"),
        ];
        sum(&all).checked_sub(chain(plan).latency.expect("shown")).expect("never longer")
    };
    assert!(gain(&|_| {}) > Duration::ZERO);
    assert_eq!(gain(&|draft| task(draft, "motor").priority = Some(51)), Duration::ZERO, "below it");
    assert_eq!(gain(&|draft| task(draft, "motor").core = Some(0)), Duration::ZERO, "on another core");
    let edf = |draft: &mut Draft| {
        draft.platform.scheduler = SchedulingPolicy::Edf;
        draft.tasks.iter_mut().for_each(|task| drafts::real_time(task).priority = None);
    };
    assert_eq!(gain(&edf), Duration::ZERO, "by deadlines");
    let bus = |draft: &mut Draft| draft.resources = vec![Shared { name: "bus".into(), protocol: None }];
    assert_eq!(gain(&bus), Duration::ZERO, "where tasks may wait for what others lock");
}

#[test]
fn too_slow() {
    let mut draft = three();
    draft.chains[0].max_latency = time("7ms");
    draft.chains[0].max_reaction = Some(time("12ms"));
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    assert_eq!(planned.faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), [codes::CHAIN_TOO_SLOW; 2]);
    assert_snapshot!(shown(&planned.faults));
    // The manifest does not limit the reaction.
    draft.chains[0].max_latency = time("30ms");
    draft.chains[0].max_reaction = None;
    let plan = plan(&draft).plan;
    assert_eq!((plan.proven, chain(&plan).reaction, chain(&plan).reaction_path.len()), (true, None, 0));
}

/// A reader of a state that another channel releases has an age, and no reaction: it may not be released.
#[test]
fn a_reader_that_is_released_by_another() {
    let mut draft = three();
    task(&mut draft, "motor").arrival = ArrivalDraft::Sporadic {
        min_gap: time("10ms"),
        triggers: TriggerDraft::only("orders"),
        device: None,
    };
    draft.channels.push(queue("orders", "watch", "motor", "Sample", None));
    let planned = plan(&draft);
    assert!(chain(&planned.plan).latency.is_some());
    assert_snapshot!(shown(&planned.faults));
}

/// Behind a queue, the event releases the first task, so nothing is sampled.
#[test]
fn released_by_the_event() {
    let mut draft = three();
    task(&mut draft, "watch").wcet = cost("100us", 0);
    task(&mut draft, "sensor").arrival =
        ArrivalDraft::Sporadic { min_gap: time("2ms"), triggers: TriggerDraft::only("events"), device: None };
    draft.channels.push(queue("events", "watch", "sensor", "Sample", None));
    draft.chains[0].path.truncate(3);
    let planned = plan(&draft);
    let plan = &planned.plan;
    let of = |name| response(plan, name);
    assert_eq!(chain(plan).reaction, Some(sum(&[of("sensor"), time("5ms"), of("filter")])));
    // Nothing bounds how old a state gets if its writer may not come again.
    assert_eq!(planned.faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), [codes::CHAIN_TOO_SLOW]);
}

/// Sensor and filter on cores of their own, with a queue between them that releases the filter if `triggered`.
fn queued(sends: u32, takes: u32, triggered: bool) -> Draft {
    let mut draft = three();
    task(&mut draft, "sensor").arrival =
        ArrivalDraft::Periodic { period: time("4ms"), offset: Duration::ZERO };
    let filter = task(&mut draft, "filter");
    filter.deadline = time("2ms");
    filter.arrival = match triggered {
        true => ArrivalDraft::Sporadic {
            min_gap: time("2ms"),
            triggers: TriggerDraft::only("samples"),
            device: None,
        },
        false => ArrivalDraft::Periodic { period: time("2ms"), offset: Duration::ZERO },
    };
    let mut samples = queue("samples", "sensor", "filter", "Sample", None);
    (samples.sends_per_release, samples.takes_per_release) = (sends, takes);
    draft.channels[0] = samples;
    draft.chains[0].path.truncate(3);
    draft.chains[0].max_reaction = None;
    draft
}

/// What a queue adds to a chain: nothing, the gap of its reader, or periods of it.
#[test]
fn waits_in_queues() {
    for (sends, takes, triggered, wait, adds) in [
        (1, 1, true, "0s", "releases its reader at once"),
        (2, 1, true, "2ms", "waits for its reader's gap"),
        (1, 1, false, "2ms", "waits at most a period of its reader"),
        (3, 2, false, "4ms", "waits at most some periods of its reader"),
    ] {
        let planned = plan(&queued(sends, takes, triggered));
        assert!(planned.plan.proven, "{}", shown(&planned.faults));
        let path = &chain(&planned.plan).path;
        assert_eq!(
            path.iter().map(|step| step.adds.as_str()).collect::<Vec<_>>(),
            ["response", adds, "response"]
        );
        assert_eq!(path[1].time, time(wait), "{adds}");
    }
}

/// The help names the step that adds most, and what can be done about it.
#[test]
fn advice_by_the_largest_step() {
    let advice = |edit: &dyn Fn(&mut Draft)| {
        let mut draft = three();
        edit(&mut draft);
        let planned = plan(&draft);
        assert_eq!(planned.faults.len(), 1, "{}", shown(&planned.faults));
        let chain = chain(&planned.plan);
        let late = chain.latency.filter(|latency| *latency > chain.max_latency).or(chain.reaction);
        let help = planned.faults[0].help.clone().expect("help");
        let allow = format!(", or allow \"{}\"", late.expect("shown"));
        help.strip_suffix(&allow).unwrap_or_else(|| panic!("{help}{allow}")).to_owned()
    };
    let response = |draft: &mut Draft| {
        task(draft, "motor").wcet = cost("6ms", 0);
        draft.chains[0].max_latency = time("7ms");
    };
    assert_eq!(advice(&response), "`motor` adds most: make it faster");
    let sampling = |draft: &mut Draft| {
        task(draft, "sensor").arrival =
            ArrivalDraft::Periodic { period: time("20ms"), offset: Duration::ZERO };
        draft.chains[0].max_reaction = Some(time("20ms"));
    };
    assert_eq!(advice(&sampling), "`sensor` adds most: let it run more often");
    let release = |draft: &mut Draft| {
        let filter = task(draft, "filter");
        (filter.deadline, filter.jitter) = (time("20ms"), time("12ms"));
        draft.chains[0].max_latency = time("7ms");
    };
    assert_eq!(advice(&release), "`filter` adds most: let it be released earlier");
}
