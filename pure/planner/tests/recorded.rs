// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a plan says of recorded channels: rings and their memory, whose code can be replayed, and what a value is to other
//! tools.

mod drafts;

use drafts::{cochlear, plan, shown, time};
use taut_model::{ChannelDraft, Draft, SectionDraft, Shared};
use taut_plan::{NotReplayed, Plan, Size, ValidPlan};

fn channel<'a>(draft: &'a mut Draft, name: &str) -> &'a mut ChannelDraft {
    draft.channels.iter_mut().find(|channel| channel.name == name).expect("a channel")
}

/// The implant with these channels recorded.
fn recorded(channels: &[&str]) -> Draft {
    let mut draft = cochlear();
    channels.iter().for_each(|name| channel(&mut draft, name).record = true);
    draft
}

fn proven(draft: &Draft) -> Plan {
    let planned = plan(draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let text = planned.plan.to_lock().expect("it can be written");
    let read = ValidPlan::new(Plan::from_lock(&text).expect("it can be read")).expect("a valid plan");
    assert_eq!(*read, planned.plan, "the text has all of it");
    planned.plan
}

#[test]
fn a_task_with_a_recorded_end_has_a_ring_that_counts() {
    let none = proven(&recorded(&[]));
    assert!(none.tasks.iter().all(|task| task.value_ring.is_none()));
    let plan = proven(&recorded(&["audio", "samples"]));
    let rings: Vec<(&str, Option<u64>)> =
        plan.tasks.iter().map(|task| (task.name.as_str(), task.value_ring.map(Size::as_bytes))).collect();
    // 8 ms: 32 jobs in a quarter of a second. `recording` sends 256 bytes, which are 9 slots, takes one value, and has 6
    // slots besides: 16 KiB. `source` may do that 250 times: 120 000 bytes.
    let least = 64 << 10;
    let expected = [
        ("recording", Some(least)),
        ("processing", Some(least)),
        ("output", None),
        ("source", Some(128 << 10)),
    ];
    assert_eq!(rings, expected);
    assert_eq!(plan.memory.runtime.as_bytes() - none.memory.runtime.as_bytes(), 256 << 10);
}

/// Each reason, in the order in which it is given.
#[test]
fn the_code_of_a_task_is_replayed_if_all_that_it_gets_is_recorded() {
    let why = |draft: &Draft| -> Vec<Option<NotReplayed>> {
        let plan = plan(draft).plan;
        (0..plan.tasks.len()).map(|task| plan.replays(task).err()).collect()
    };
    let input = |name: &str| Some(NotReplayed::Input(name.to_owned()));
    let (best, output) = (Some(NotReplayed::BestEffort), Some(NotReplayed::Output));
    assert_eq!(why(&recorded(&[])), [input("samples"), input("audio"), input("electrodes"), best.clone()]);
    let inputs = ["samples", "audio", "settings", "electrodes"];
    assert_eq!(why(&recorded(&inputs)), [None, None, output.clone(), best.clone()]);
    assert_eq!(why(&recorded(&["samples"])), [output, input("audio"), input("electrodes"), best.clone()]);
    let mut draft = recorded(&inputs);
    draft.resources = vec![Shared { name: "gains".into(), protocol: None }];
    for name in ["recording", "processing"] {
        drafts::task(&mut draft, name).sections =
            vec![SectionDraft { resource: "gains".into(), longest: time("10us"), count: 1 }];
    }
    let locks = Some(NotReplayed::Resource("gains".to_owned()));
    assert_eq!(why(&draft)[..2], [locks.clone(), locks]);
    // A value that nobody else changes is what the task's earlier jobs left.
    drafts::task(&mut draft, "recording").sections.clear();
    assert_eq!(why(&draft)[..2], [None, None]);
    assert_eq!(proven(&recorded(&inputs)).replays(99), Err(NotReplayed::Output));
}

/// Of alarms and of bulk channels it counts for both ends whether they are recorded.
#[test]
fn alarms_and_blocks_are_inputs_too() {
    let plan = proven(&recorded(&["samples", "audio", "settings", "electrodes"]));
    let why = |plan: &Plan| [0, 1].map(|task| plan.replays(task).err());
    let of = |edit: &dyn Fn(&mut taut_plan::ChannelPlan)| {
        let mut plan = plan.clone();
        edit(plan.channels.iter_mut().find(|channel| channel.name == "audio").expect("a channel"));
        why(&plan)
    };
    let lane = taut_plan::LanePlan {
        message: "due".to_owned(),
        order: taut_plan::MessageOrder::Instant,
        by: None,
        rank: 0,
        takes: 1,
        late: taut_plan::LatePolicy::Deliver,
    };
    let alarm = Some(NotReplayed::Alarm("due".to_owned()));
    let timed = |record| {
        let lane = lane.clone();
        of(&move |channel| (channel.record, channel.lane) = (record, Some(lane.clone())))
    };
    assert_eq!(timed(false), [alarm.clone(), alarm]);
    assert_eq!(timed(true), [None, None]);
    let bulk = Some(NotReplayed::Bulk("audio".to_owned()));
    let blocks =
        |record| of(&move |channel| (channel.record, channel.kind) = (record, taut_plan::ChannelKind::Bulk));
    assert_eq!(blocks(false), [bulk.clone(), bulk]);
    assert_eq!(blocks(true), [None, None]);
}

/// A plan that somebody changed has no ring that does not fit.
#[test]
fn rings_of_other_sizes_are_refused() {
    let plan = proven(&recorded(&["audio"]));
    let refused = |edit: &dyn Fn(&mut Plan)| {
        let mut plan = plan.clone();
        edit(&mut plan);
        ValidPlan::new(plan).expect_err("it is refused").to_string()
    };
    let none = "has no ring for the values that it records, or one of another size than plans give";
    for ring in [None, Some(0), Some(100_000), Some(1 << 40)] {
        let error = refused(&|plan| plan.tasks[0].value_ring = ring.map(Size::from_bytes));
        assert_eq!(error, format!("task `recording` {none}"));
    }
    let error = refused(&|plan| plan.tasks[2].value_ring = Some(Size::from_bytes(64 << 10)));
    assert_eq!(
        error,
        "task `output` has no ring for the values that it records, or one of another size than plans give"
    );
}

#[test]
fn a_value_is_a_message_of_ros() {
    let plan = proven(&recorded(&[]));
    let definition =
        |name: &str| plan.channels.iter().find(|channel| channel.name == name).expect("it").ros_definition();
    assert_eq!(definition("audio"), "int16[128] value\n");
    assert_eq!(definition("electrodes"), "uint64 frame\nuint8[176] levels\n");
    assert_eq!(definition("settings"), "float32 volume\nfloat32 sensitivity\n");
    let mut other = plan.channels[0].clone();
    other.layout = "u8*..1500".to_owned();
    assert_eq!(other.ros_definition(), format!("uint8[{}] bytes\n", other.size));
}
