// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Queues from a real-time task to readers that are not real-time: mechanism, capacity, places, and what a wake costs.

mod drafts;

use drafts::{empty, payload, periodic, plan, queue, shown, time};
use insta::assert_snapshot;
use taut_model::{
    BestEffort, ChannelDraft, ClassDraft, ClientDraft, ClientKind, Draft, OverflowPolicy, Reception, Scalar,
    TaskDraft,
};
use taut_plan::{ChannelPlan, ClassPlan, MemoryMap, Plan, explain_channel};

/// `control` sends `sends` values in each job to these readers.
fn draft(overflow: OverflowPolicy, reception: Reception, to: &[&str], sends: u32) -> Draft {
    let mut draft = empty(&[0]);
    draft.payloads = vec![payload("Levels", &[("", Scalar::U64, 4)])];
    draft.tasks = vec![periodic("control", "1ms", "1ms", "100us")];
    let class = || ClassDraft::BestEffort(BestEffort::default());
    for name in ["logger", "audit"] {
        draft.tasks.push(TaskDraft { name: name.into(), service: None, class: class() });
    }
    draft.clients = ["panel", "web"]
        .map(|name| ClientDraft {
            name: name.into(),
            kind: ClientKind::Process,
            max_attached: 1,
            min_gap: None,
        })
        .to_vec();
    let to = to.iter().map(|name| (*name).to_owned()).collect();
    let queue = queue("telemetry", "control", "", "Levels", None);
    draft.channels = vec![ChannelDraft { to, overflow, reception, sends_per_release: sends, ..queue }];
    draft
}

fn proven(draft: &Draft) -> Plan {
    let planned = plan(draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    taut_plan::ValidPlan::new(planned.plan).expect("a valid plan").into_plan()
}

fn channel(plan: &Plan) -> &ChannelPlan {
    &plan.channels[0]
}

fn response(plan: &Plan) -> u64 {
    let ClassPlan::RealTime { response, .. } = &plan.tasks[0].class else { panic!("real-time") };
    response.expect("a bound").as_ns()
}

#[test]
fn the_overflow_decides_the_mechanism() {
    use OverflowPolicy::{Clear, DropOldest, Reject};
    let mut text = String::new();
    for (overflow, to) in [
        (DropOldest, &["logger"][..]),
        (DropOldest, &["logger", "panel", "audit"]),
        (Clear, &["panel", "web"]),
        (Reject, &["logger"]),
        (Reject, &["panel"]),
    ] {
        let plan = proven(&draft(overflow, Reception::Poll, to, 1));
        text += &explain_channel(&plan, "telemetry").expect("a channel");
        text += "\n";
        let is_client = to.iter().any(|name| ["panel", "web"].contains(name));
        assert_eq!(channel(&plan).place == MemoryMap::Segment, is_client);
        assert_eq!(channel(&plan).latency, None, "nothing bounds when a reader looks");
    }
    let waiting = proven(&draft(DropOldest, Reception::Wait, &["logger", "panel"], 1));
    text += &explain_channel(&waiting, "telemetry").expect("a channel");
    assert_snapshot!(text);
}

/// `reject` to a client is the one case in which a client stores in the object, which then lies on pages of its own.
#[test]
fn a_client_that_stores_has_the_object_for_itself() {
    let shared = |overflow| {
        let mut draft = draft(overflow, Reception::Poll, &["panel"], 1);
        draft.channels[0].capacity = Some(4);
        draft.channels.push(drafts::state("shown", "control", "panel", "Levels"));
        let plan = proven(&draft);
        let [queue, state] = [0, 1].map(|at: usize| plan.channels[at].region);
        let pages = queue.offset / 4096..=(queue.offset + queue.size - 1) / 4096;
        pages.contains(&(state.offset / 4096))
    };
    assert!(shared(OverflowPolicy::DropOldest));
    assert!(!shared(OverflowPolicy::Reject));
}

/// Each reader has a line of its own: a task's in the process's map, a client's on a page that only that client writes.
#[test]
fn each_reader_that_waits_has_a_line_of_its_own() {
    let plan =
        proven(&draft(OverflowPolicy::Clear, Reception::Wait, &["logger", "panel", "audit", "web"], 2));
    let lines: Vec<_> =
        channel(&plan).readers.iter().map(|reader| reader.event_count.expect("a line")).collect();
    let pages: Vec<u64> = lines.iter().map(|line| line.offset / 4096).collect();
    assert!(lines.iter().all(|line| line.size == 128));
    assert_ne!(lines[0].offset, lines[2].offset, "both in the process's map");
    assert!(pages[1] != pages[3], "{pages:?}");
    let object = channel(&plan).region;
    assert!(object.offset + object.size <= pages[1].min(pages[3]) * 4096, "{object:?} before {pages:?}");
}

#[test]
fn a_wake_is_charged_for_each_value_and_reader() {
    let of = |reception, to: &[&str], sends| {
        response(&proven(&draft(OverflowPolicy::DropOldest, reception, to, sends)))
    };
    let switch = time("5us").as_ns();
    let polls = of(Reception::Poll, &["logger", "panel"], 3);
    assert_eq!(polls, of(Reception::Poll, &["logger"], 1));
    assert_eq!(of(Reception::Wait, &["logger"], 1), polls + switch);
    assert_eq!(of(Reception::Wait, &["logger", "panel"], 3), polls + 6 * switch);
    // A charge that the deadline has no room for.
    let planned = plan(&draft(OverflowPolicy::DropOldest, Reception::Wait, &["logger", "panel"], 200));
    assert!(!planned.plan.proven && !planned.faults.is_empty());
}

/// Without a stated capacity the queue holds a second; a stated one is taken as it is, for nothing can be proven of it.
#[test]
fn capacities() {
    let of = |period: &str, sends, stated| {
        let mut draft = draft(OverflowPolicy::DropOldest, Reception::Poll, &["logger"], sends);
        draft.tasks[0] = periodic("control", period, period, "1us");
        draft.channels[0].capacity = stated;
        channel(&proven(&draft)).capacity
    };
    assert_eq!(of("1ms", 1, None), 1_000);
    assert_eq!(of("1ms", 3, None), 3_000);
    assert_eq!(of("3ms", 1, None), 334);
    assert_eq!(of("5s", 1, None), 2, "two jobs' values at least");
    assert_eq!(of("500us", 100, None), 65_536, "the most that a queue holds");
    assert_eq!(of("1ms", 1, Some(7)), 7);
}

/// An altered plan is refused before anything relies on it.
#[test]
fn forged_event_counts() {
    let plan = proven(&draft(OverflowPolicy::DropOldest, Reception::Wait, &["logger", "panel"], 1));
    let refused = |alter: &dyn Fn(&mut Plan)| {
        let mut plan = plan.clone();
        alter(&mut plan);
        taut_plan::ValidPlan::new(plan).map(drop).expect_err("refused").to_string()
    };
    let mut text = String::new();
    let region = channel(&plan).region;
    for alter in [
        &(|plan: &mut Plan| plan.channels[0].readers[1].event_count = Some(region)) as &dyn Fn(&mut Plan),
        &|plan| plan.channels[0].readers[0].event_count.as_mut().expect("a line").size = 64,
        &|plan| plan.channels[0].readers[0].event_count.as_mut().expect("a line").offset += 1 << 20,
        &|plan| {
            let first = plan.channels[0].readers[1].event_count.expect("a line");
            plan.channels[0].region.offset = first.offset + 128;
        },
        &|plan| plan.channels[0].overflow = OverflowPolicy::Reject,
        &|plan| plan.channels[0].mechanism = taut_plan::Mechanism::Qrtwc,
    ] {
        text += &refused(alter);
        text += "\n";
    }
    assert_snapshot!(text);
}

/// A job that executes for as long as the help allows keeps its deadline, with the wakes that it makes.
#[test]
fn the_help_counts_the_wakes() {
    let executing = |wcet: &str| {
        let mut draft = draft(OverflowPolicy::DropOldest, Reception::Wait, &["logger", "audit"], 1);
        draft.tasks[0] = periodic("control", "1ms", "1ms", wcet);
        plan(&draft)
    };
    let figure = |wcet: u64| {
        let refused = shown(&executing(&format!("{wcet}us")).faults);
        let (_, rest) = refused.split_once("at most `value = \"")?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let value = &(500..1_000).step_by(10).find_map(figure).expect("a deadline that is missed");
    let planned = executing(value);
    assert!(planned.plan.proven, "{value}: {}", shown(&planned.faults));
}
