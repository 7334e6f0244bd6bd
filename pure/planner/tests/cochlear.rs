// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The whole plan of the first application.

mod drafts;

use drafts::{cochlear, cost, model, plan, shown, task, time};
use insta::assert_snapshot;
use taut_plan::{ClassPlan, Plan, PlanTextError, explain_chain, explain_channel, explain_task};
use taut_planner::Planned;

#[test]
fn the_lock() {
    let planned = plan(&cochlear());
    assert_eq!(planned.faults, []);
    assert!(planned.plan.proven);
    assert_snapshot!(planned.plan.to_lock().unwrap());
}

#[test]
fn the_same_model_gives_the_same_text_and_back() {
    let lock = || plan(&cochlear()).plan.to_lock().unwrap();
    let text = lock();
    assert_eq!(text, lock());
    let read = Plan::from_lock(&text).unwrap();
    assert_eq!(read, plan(&cochlear()).plan);
    assert_eq!(read.to_lock().unwrap(), text);
}

#[test]
fn a_damaged_lock_is_refused() {
    let text = plan(&cochlear()).plan.to_lock().unwrap();
    let other = text.replacen("lock = 2", "lock = 1", 1);
    assert_eq!(Plan::from_lock(&other), Err(PlanTextError::Version(1)));
    for (from, to) in [
        ("proven = true", ""),
        ("[memory]", "[memory]\nmore = 1"),
        ("\"8ms\"", "8"),
        ("[[tasks]]", "[[tasks]]\nmore = 1"),
    ] {
        let damaged = text.replacen(from, to, 1);
        assert_ne!(damaged, text);
        assert!(matches!(Plan::from_lock(&damaged), Err(PlanTextError::Malformed(_))), "{from} -> {to}");
    }
}

#[test]
fn explanations() {
    let plan = plan(&cochlear()).plan;
    let mut text = String::new();
    for name in ["recording", "processing", "output", "source"] {
        text += &explain_task(&plan, name).unwrap();
        text += "\n";
    }
    text += &explain_chain(&plan, "microphone-to-electrode").unwrap();
    for name in ["samples", "audio", "electrodes", "levels", "settings"] {
        text += "\n";
        text += &explain_channel(&plan, name).unwrap();
    }
    assert_snapshot!(text);
    assert_eq!(explain_task(&plan, "nobody"), None);
    assert_eq!(explain_chain(&plan, "nobody"), None);
    assert_eq!(explain_channel(&plan, "nobody"), None);
}

#[test]
fn terms_sum_to_the_bound() {
    for task in &plan(&cochlear()).plan.tasks {
        let ClassPlan::RealTime { response, terms, .. } = &task.class else { continue };
        let sum: u64 = terms.iter().map(|term| term.time.as_ns()).sum();
        assert_eq!(Some(sum), response.map(|r| r.as_ns()), "{}", task.name);
    }
}

#[test]
fn too_slow_a_processing() {
    let mut draft = cochlear();
    task(&mut draft, "processing").wcet = cost("3ms", 50);
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    assert_snapshot!(format!(
        "{}\n{}",
        shown(&planned.faults),
        explain_task(&planned.plan, "processing").unwrap()
    ));
    let lock = planned.plan.to_lock().unwrap();
    assert_eq!(Plan::from_lock(&lock).as_ref(), Ok(&planned.plan));
}

#[test]
fn too_slow_an_output_in_an_interrupted_processing() {
    let mut draft = cochlear();
    task(&mut draft, "processing").non_preemptive = time("600us");
    let planned = plan(&draft);
    assert_snapshot!(shown(&planned.faults));
}

#[test]
fn too_old_at_the_electrode() {
    let mut draft = cochlear();
    draft.chains[0].max_latency = time("10ms");
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    let explained = explain_chain(&planned.plan, "microphone-to-electrode").unwrap();
    assert_snapshot!(format!("{}\n{explained}", shown(&planned.faults)));
}

#[test]
fn overloaded() {
    let mut draft = cochlear();
    task(&mut draft, "recording").wcet = cost("1ms", 50);
    task(&mut draft, "processing").wcet = cost("3ms", 50);
    task(&mut draft, "output").arrival = taut_model::ArrivalDraft::Sporadic {
        min_gap: time("1ms"),
        triggers: taut_model::TriggerDraft::only("electrodes"),
        device: None,
    };
    task(&mut draft, "output").wcet = cost("300us", 0);
    let planned = plan(&draft);
    assert_snapshot!(shown(&planned.faults));
}

#[test]
fn too_short_a_queue_and_too_little_memory() {
    let mut draft = cochlear();
    draft.channels[1].capacity = Some(1);
    draft.platform.memory = drafts::size("9MiB");
    let planned = plan(&draft);
    assert!(!planned.plan.proven);
    assert_snapshot!(shown(&planned.faults));
    draft.channels[1].capacity = Some(2);
    draft.platform.memory = drafts::size("64MiB");
    assert_eq!(plan(&draft).faults, []);
}

#[test]
fn what_changed() {
    let old = plan(&cochlear()).plan;
    let mut draft = cochlear();
    task(&mut draft, "processing").priority = Some(74);
    task(&mut draft, "recording").wcet = cost("210us", 50);
    draft.channels.remove(4);
    draft.tasks.push(drafts::periodic("logging", "100ms", "100ms", "1ms"));
    let new = plan(&draft).plan;
    assert_eq!(old.differences(&old), Vec::<String>::new());
    assert_snapshot!(old.differences(&new).join("\n"));
}

#[test]
fn which_input_changed() {
    let plan = Planned::make(
        &model(&cochlear()),
        [("taut.toml", "a"), ("board.toml", "b"), ("lab.toml", "c")]
            .map(|(path, text)| taut_plan::Input {
                path: path.into(),
                hash: taut_plan::digest(text.as_bytes()),
            })
            .to_vec(),
    )
    .plan;
    let changes = |now: &[(&'static str, &'static str)]| {
        let now = now.iter().map(|(path, text)| (*path, text.as_bytes()));
        plan.changed_inputs(now).iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(changes(&[("taut.toml", "a"), ("board.toml", "b"), ("lab.toml", "c")]), "");
    assert_eq!(
        changes(&[("taut.toml", "x"), ("board.toml", "b"), ("lab.toml", "c")]),
        "taut.toml has changed"
    );
    assert_eq!(
        changes(&[("taut.toml", "a"), ("lab.toml", "c"), ("board.toml", "b")]),
        "the overlays are given in another order"
    );
    assert_eq!(
        changes(&[("taut.toml", "a"), ("board.toml", "b"), ("home.toml", "c")]),
        "the plan was made from lab.toml, which is not given now; home.toml is given now, but the plan was not made \
         from it"
    );
}
