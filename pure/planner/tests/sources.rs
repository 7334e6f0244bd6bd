// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! States with several sources: a state for each source, with a mechanism of its own, and what a plan must not say of them.

mod drafts;

use drafts::{Edit, empty, payload, periodic, proven, state, time};
use insta::assert_snapshot;
use taut_model::{
    BestEffort, ChainDraft, ChannelDraft, ClassDraft, ClientDraft, ClientKind, Draft, Flow, Mechanism,
    Scalar, Severity, TaskDraft, codes,
};
use taut_plan::{Plan, ValidPlan, explain_channel};

fn client(name: &str) -> ClientDraft {
    ClientDraft { name: name.into(), kind: ClientKind::Process, max_attached: 1, min_gap: None }
}

/// A task, an ordinary task and a client know a position; two tasks and a client want to know it.
fn draft() -> Draft {
    let mut draft = empty(&[0, 1]);
    draft.payloads = vec![payload("Position", &[("x", Scalar::F64, 1), ("y", Scalar::F64, 1)])];
    draft.tasks = vec![
        periodic("odometry", "10ms", "10ms", "200us").with(|task| task.core = Some(0)),
        periodic("control", "20ms", "20ms", "500us").with(|task| task.core = Some(0)),
        periodic("planner", "40ms", "40ms", "500us").with(|task| task.core = Some(1)),
        TaskDraft {
            name: "camera".into(),
            service: None,
            class: ClassDraft::BestEffort(BestEffort::default()),
        },
    ];
    draft.clients = vec![client("receiver"), client("map")];
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    draft.channels = vec![ChannelDraft {
        from: names(&["receiver", "odometry", "camera"]),
        to: names(&["control", "planner", "map"]),
        ..state("position", "odometry", "control", "Position")
    }];
    draft
}

fn lines(plan: &Plan) -> String {
    let states = plan.sourced_states();
    states.iter().flat_map(|state| state.lines()).map(|line| line + "\n").collect()
}

/// The faults of a draft that yields no model.
fn refused(draft: Draft) -> String {
    let (model, faults) = draft.build();
    assert!(model.is_none());
    let errors = faults.iter().filter(|fault| fault.severity == Severity::Error);
    errors
        .map(|fault| format!("{} {} at {}\n", fault.code, fault.message, fault.primary.place.path()))
        .collect()
}

#[test]
fn each_source_is_a_state_of_its_own() {
    let plan = proven(&draft());
    assert_snapshot!(lines(&plan), @"
state position -> control, planner, map: the newest of 3 sources; a read copies 32 bytes of each
  receiver  Hybrid, 768 bytes, a client
  odometry  Improved Chen, 384 bytes
  camera    Hybrid, 768 bytes
");
    assert_snapshot!(explain_channel(&plan, "position").expect("a state"), @"
state position -> control, planner, map: the newest of 3 sources; a read copies 32 bytes of each
  receiver  Hybrid, 768 bytes, a client
  odometry  Improved Chen, 384 bytes
  camera    Hybrid, 768 bytes

position/receiver: Hybrid: source 1 of 3: state of a writer that is not real-time with a real-time reader; 6 buffers, 768 bytes; slow, safe whatever time it takes: `control`, `planner`; tries again if overtaken: `map`

position/odometry: Improved Chen: source 2 of 3: state of a real-time writer with a real-time reader; 3 buffers, 384 bytes; fast, at most 2 writes touch a read: `control`, `planner`; tries again if overtaken: `map`; next NBW with 384 bytes

position/camera: Hybrid: source 3 of 3: state of a writer that is not real-time with a real-time reader; 6 buffers, 768 bytes; slow, safe whatever time it takes: `control`, `planner`; tries again if overtaken: `map`

a reader reads each source once, and gets the value that was written last; of one instant, that of the source that is named first. What a source wrote last stays when it has ended
");
    assert!(explain_channel(&plan, "position/camera").is_some_and(|text| text.contains("source 3 of 3")));
    assert_eq!(plan.sources("position").iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(plan.sources("position/camera").is_empty() && plan.sourced_state("camera").is_none());
    // As much memory as three states of one writer.
    let mut apart = draft();
    let whole = apart.channels.remove(0);
    for writer in &whole.from {
        apart.channels.push(ChannelDraft {
            name: format!("of-{writer}"),
            from: vec![writer.clone()],
            ..whole.clone()
        });
    }
    assert_eq!(proven(&apart).memory, plan.memory);
}

/// One name in a list is a state as any other.
#[test]
fn one_source_is_no_choice() {
    let mut draft = draft();
    draft.channels[0].from.truncate(1);
    let plan = proven(&draft);
    assert_eq!(plan.channels[0].name, "position");
    assert!(plan.sourced_states().is_empty());
}

#[test]
fn what_each_source_writes_is_counted() {
    let mut draft = draft();
    draft.channels[0].sends_per_release = 2;
    draft.channels[0].sends_by_sender = vec![("odometry".into(), 5)];
    let plan = proven(&draft);
    let sends: Vec<u32> = plan.channels.iter().map(|channel| channel.sends_per_release).collect();
    assert_eq!(sends, [2, 5, 2]);
    draft.channels[0].sends_by_sender = vec![("odometri".into(), 5)];
    assert_snapshot!(refused(draft), @"
TAUT0302 `odometri` does not send state `position` at channels.position.sends-by-sender.odometri
");
}

#[test]
fn a_pinned_mechanism_serves_all_sources() {
    let mut draft = draft();
    draft.channels[0].mechanism = Some(Mechanism::Hybrid);
    assert!(proven(&draft).channels.iter().all(|channel| channel.mechanism == Mechanism::Hybrid));
    draft.channels[0].mechanism = Some(Mechanism::Nbw);
    assert_snapshot!(refused(draft), @"
TAUT0411 NBW does not fit the parties of channel `position/receiver` at channels.position.mechanism
");
}

/// A chain through one of the sources is bounded as one through a state of that source alone.
#[test]
fn ages_are_those_of_the_source() {
    let mut draft = draft();
    draft.chains = vec![ChainDraft {
        name: "steer".into(),
        path: ["odometry", "position", "control"].map(String::from).to_vec(),
        max_latency: time("100ms"),
        max_reaction: None,
    }];
    let plan = proven(&draft);
    let mut alone = draft.clone();
    alone.channels[0].from = vec!["odometry".into()];
    let steps = |plan: &Plan| plan.chains[0].path.iter().map(|step| step.time).collect::<Vec<_>>();
    assert_eq!(steps(&plan), steps(&proven(&alone)));
    assert_eq!(plan.chains[0].path[1].name, "position/odometry");
    draft.chains[0].max_reaction = Some(time("100ms"));
    assert_eq!(draft.clone().build().1[0].code, codes::BAD_SOURCES);
    assert_snapshot!(refused(draft), @"
TAUT0450 the reaction of chain `steer` goes through state `position` at chains.0.max-reaction
");
}

#[test]
fn mistakes_are_refused_once() {
    let of = |edit: &dyn Fn(&mut Draft)| {
        let mut draft = draft();
        edit(&mut draft);
        refused(draft)
    };
    let texts = [
        of(&|draft| draft.channels[0].flow = Flow::Synchronous),
        of(&|draft| draft.channels[0].from.push("odometry".into())),
        of(&|draft| draft.channels[0].from.push("odometri".into())),
        of(&|draft| draft.channels[0].from.push("control".into())),
        of(&|draft| draft.channels[0].to = vec!["map".into()]),
        of(&|draft| draft.channels[0].payload = "Positon".into()),
        of(&|draft| draft.channels[0].capacity = Some(3)),
        of(&|draft| draft.channels[0].order = Some(taut_model::MessageOrder::Fifo)),
    ];
    assert_snapshot!(texts.concat(), @"
TAUT0450 state `position` has a synchronous flow and 3 sources at channels.position.flow
TAUT0415 the flow of channel `position/receiver` cannot be synchronous with `receiver` at channels.position.flow
TAUT0415 the flow of channel `position/receiver` cannot be synchronous with `map` at channels.position.flow
TAUT0415 the flow of channel `position/camera` cannot be synchronous with `camera` at channels.position.flow
TAUT0405 `odometry` appears twice in `from` of state `position` at channels.position.from.3
TAUT0302 there is no task or client `odometri` at channels.position.from.3
TAUT0405 `control` writes to and reads from channel `position/control` at channels.position.to.0
TAUT0410 channel `position/receiver`: this version has no mechanism for parties of which none is real-time at channels.position.kind
TAUT0302 there is no payload `Positon` at channels.position.payload
TAUT0409 state channel `position/receiver` has a capacity at channels.position.capacity
TAUT0113 state `position` has `order` at channels.position.order
");
}

/// A plan that says something else of its sources is refused: the runtime relies on it.
#[test]
fn forged_sources_are_refused() {
    let refused = |change: &dyn Fn(&mut Plan)| {
        let mut plan = proven(&draft());
        change(&mut plan);
        ValidPlan::new(plan).expect_err("a forged plan").to_string()
    };
    let source = |plan: &mut Plan, at: usize, change: &dyn Fn(&mut taut_plan::SourcePlan)| {
        change(plan.channels[at].source.as_mut().expect("a source"));
    };
    let texts = [
        refused(&|plan| plan.channels[0].source = None),
        refused(&|plan| source(plan, 0, &|source| source.state = "other".into())),
        refused(&|plan| source(plan, 1, &|source| source.place = 0)),
        refused(&|plan| source(plan, 2, &|source| source.place = 3)),
        refused(&|plan| plan.channels[1].layout = "x:u64,y:f64".into()),
        refused(&|plan| plan.channels[1].readers.swap(0, 1)),
        refused(&|plan| plan.channels.truncate(1)),
    ];
    assert_snapshot!(texts.join("\n"), @"
channel `position/receiver` is called as a part of another, but is none
channel `position/receiver` is a source of `other` and not called `other/receiver`
source `position/odometry` has place 0, not 1
source `position/camera` has place 3, not 2
sources `position/receiver` and `position/odometry` are not of one state
sources `position/receiver` and `position/odometry` are not of one state
state `position` has one source, `position/receiver`, and names it as one of several
");
}
