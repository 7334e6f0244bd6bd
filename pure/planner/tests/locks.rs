// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! States that may get a lock: when they do, what the plan says of it, and that runs keep what is proven with it.

mod drafts;
mod systems;

use drafts::{cost, model, payload, plan, sharing, shown, size, state, task, time};
use insta::assert_snapshot;
use systems::{Numbers, Seen, check, system, tasks};
use taut_model::{
    Aim, Draft, Evidence, Executor, LockingProtocol, Scalar, SchedulingPolicy, SectionDraft, SegmentDraft,
    Severity, Shared, codes,
};
use taut_plan::{ChannelPlan, ClassPlan, Mechanism, Overrides, Pin, Plan};
use taut_planner::{OverrideError, Planned, why_channel};
use taut_time::Duration;

fn map(plan: &Plan) -> &ChannelPlan {
    &plan.channels[0]
}

fn taken(draft: &Draft) -> Mechanism {
    let planned = plan(draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    map(&planned.plan).mechanism
}

#[test]
fn a_lock_where_it_is_smaller_and_fits() {
    assert_eq!(taken(&sharing([0, 0, 0])), Mechanism::Srp, "one core");
    assert_eq!(taken(&sharing([0, 0, 1])), Mechanism::Msrp, "several");
    let mut edf = sharing([0, 0, 1]);
    edf.platform.scheduler = SchedulingPolicy::Edf;
    assert_eq!(taken(&edf), Mechanism::Msrp, "under EDF");
    // No lock while its cost is a guess.
    let mut guess = sharing([0, 0, 1]);
    guess.platform.overheads.sources.lock = None;
    assert_eq!(taken(&guess).locking(), None);
    // A party that is not real-time never makes others wait.
    let mut client = sharing([0, 0, 1]);
    client.clients = vec![taut_model::ClientDraft {
        name: "ui".into(),
        kind: taut_model::ClientKind::Process,
        max_attached: 1,
        min_gap: None,
    }];
    client.channels[0].to.push("ui".into());
    assert_eq!(taken(&client).locking(), None);
}

#[test]
fn who_is_in_the_way() {
    let mut draft = sharing([0, 0, 1]);
    // Two of them copy for long; no task may wait for that.
    draft.platform.overheads.copy = time("100us");
    task(&mut draft, "near").deadline = time("1700us");
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    let channel = map(&planned.plan);
    assert_eq!(channel.mechanism.locking(), None);
    let choice = channel.choice.as_ref().expect("a choice");
    let refused: Vec<_> = choice.cheaper.iter().map(|other| other.mechanism).collect();
    assert_eq!(refused, [Mechanism::Msrp, Mechanism::Mpcp]);
    for other in &choice.cheaper {
        assert!(other.refused.as_ref().is_some_and(|why| why.contains("` would take")), "{other:?}");
    }
    assert_snapshot!(why_channel(&model(&draft), &Overrides::default(), "map").expect("a channel"));
}

#[test]
fn an_aim() {
    let mut draft = sharing([0, 0, 1]);
    let of = |draft: &Draft| {
        let plan = plan(draft).plan;
        let response = |task: &taut_plan::TaskPlan| match &task.class {
            ClassPlan::RealTime { response, .. } => response.expect("proven").as_ns(),
            ClassPlan::BestEffort {} => 0,
        };
        (map(&plan).mechanism, map(&plan).region.size, plan.tasks.iter().map(response).sum::<u64>())
    };
    let memory = of(&draft);
    draft.platform.minimise = Aim::Response;
    let response = of(&draft);
    assert!(memory.1 < response.1 && memory.2 > response.2, "{memory:?} {response:?}");
    draft.platform.minimise = Aim::Slack;
    assert_eq!(of(&draft).0.locking(), None);
}

#[test]
fn pinned() {
    let mut text = String::new();
    for mechanism in [Mechanism::Srp, Mechanism::Msrp, Mechanism::Mpcp] {
        for cores in [[0, 0, 0], [0, 0, 1]] {
            let mut draft = sharing(cores);
            draft.platform.overheads.sources.lock = None;
            draft.channels[0].mechanism = Some(mechanism);
            let planned = plan(&draft);
            let channel = map(&planned.plan);
            text += &format!("{} on cores {cores:?}: {}\n", mechanism.paper_name(), channel.reason);
            text += &shown(&planned.faults);
            assert_eq!(planned.plan.proven, (mechanism == Mechanism::Srp) == (cores[2] == 0), "{text}");
        }
    }
    // The state cannot have this lock.
    let mut long = sharing([0, 0, 1]);
    long.channels[0].mechanism = Some(Mechanism::Msrp);
    long.platform.overheads.copy = time("200us");
    text += &shown(&plan(&long).faults);
    let mut ordered = sharing([0, 0, 1]);
    ordered.channels[0].mechanism = Some(Mechanism::Msrp);
    let run = SegmentDraft { hold: None, run: Some(time("100us")), segments: Vec::new() };
    task(&mut ordered, "far").segments = vec![run];
    text += &shown(&plan(&ordered).faults);
    assert_snapshot!(text);
}

#[test]
fn wishes() {
    let draft = sharing([0, 0, 1]);
    let model = model(&draft);
    let pin = |channel: &str, mechanism| Overrides {
        minimise: None,
        pins: vec![Pin { channel: channel.into(), mechanism }],
    };
    let planned = Planned::make_with(&model, Vec::new(), pin("map", Mechanism::Chen)).expect("it can be had");
    assert_eq!(map(&planned.plan).mechanism, Mechanism::Chen);
    let text = planned.plan.to_lock().expect("text");
    assert_eq!(Plan::from_lock(&text).expect("a plan"), planned.plan);
    let aimed = Overrides { minimise: Some(Aim::Response), pins: Vec::new() };
    let planned = Planned::make_with(&model, Vec::new(), aimed).expect("it can be had");
    assert_eq!(map(&planned.plan).mechanism.locking(), None);
    let refused =
        |overrides| Planned::make_with(&model, Vec::new(), overrides).expect_err("it cannot be had");
    let unknown = refused(pin("mapp", Mechanism::Chen));
    assert_eq!(unknown, OverrideError::Channel("mapp".into(), Some("map".into())));
    let misfit = refused(pin("map", Mechanism::Qrtr));
    assert_eq!(
        misfit.to_string(),
        "QrtR does not fit the parties of channel `map`; these do: presence, chen, double-buffer, peterson, hybrid, \
         improved-chen, nbw, srp, msrp, mpcp"
    );
}

/// A channel may be pinned once, even with other pins between.
#[test]
fn wishes_for_several_channels() {
    let mut draft = sharing([0, 0, 1]);
    draft.channels.push(state("back", "far", "writer", "Map"));
    let model = model(&draft);
    let wished = |channels: &[&str]| {
        let pin = |channel: &&str| Pin { channel: (*channel).into(), mechanism: Mechanism::Chen };
        let pins = channels.iter().map(pin).collect();
        Planned::make_with(&model, Vec::new(), Overrides { minimise: None, pins })
    };
    let planned = wished(&["map", "back"]).expect("it can be had");
    assert!(planned.plan.channels.iter().all(|channel| channel.mechanism == Mechanism::Chen));
    let refused = wished(&["map", "back", "map"]).expect_err("one of them twice");
    assert_eq!(refused, OverrideError::Twice("map".into()));
}

/// The parties are charged what Peterson copies after the first copy.
#[test]
fn what_is_copied_again_is_charged() {
    let response = |mechanism| {
        let mut draft = sharing([0, 0, 1]);
        draft.channels[0].mechanism = Some(mechanism);
        plan(&draft)
            .plan
            .tasks
            .iter()
            .map(|task| match &task.class {
                ClassPlan::RealTime { response: Some(response), .. } => *response,
                _ => panic!("{task:?}"),
            })
            .collect::<Vec<Duration>>()
    };
    let (chen, peterson) = (response(Mechanism::Chen), response(Mechanism::Peterson));
    // 4,096 bytes with the stamp take 4 us; the writer copies twice more, which delays `near`; a reader copies once
    // more.
    assert!(peterson[0].saturating_sub(chen[0]) >= time("8us"));
    assert!(peterson[1].saturating_sub(chen[1]) >= time("12us"));
    assert!(peterson[2].saturating_sub(chen[2]) >= time("4us"));
}

/// States and resources together: what one gets decides what is left for the others.
#[test]
fn beside_resources() {
    let mut draft = sharing([0, 0, 1]);
    draft.resources = vec![Shared { name: "map".into(), protocol: Some(LockingProtocol::Mpcp) }];
    for name in ["writer", "far"] {
        let section = SectionDraft { resource: "map".into(), longest: time("20us"), count: 1 };
        task(&mut draft, name).sections.push(section);
    }
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    assert_eq!(planned.plan.resources.len(), 1, "the state's is told with the state");
    assert!(map(&planned.plan).mechanism.locking().is_some());
    draft.resources[0].protocol = Some(LockingProtocol::FmlpPlus);
    let planned = plan(&draft);
    assert!(planned.plan.proven, "{}", shown(&planned.faults));
    assert_eq!(map(&planned.plan).mechanism.locking(), None, "none goes with FMLP+");
    // A margin is on sections, too.
    draft.resources[0].protocol = None;
    task(&mut draft, "far").wcet = cost("500us", 50);
    assert!(plan(&draft).plan.proven);
}

/// Values of 1 KiB and 2 KiB; a copy takes a second per KiB.
fn states(draft: &mut Draft, numbers: &mut Numbers) {
    draft.platform.overheads.copy = systems::s(1);
    draft.platform.overheads.sources.lock = Some(Evidence::Measured);
    draft.platform.executor = Executor::Dispatched;
    draft.platform.memory = size("256MiB");
    draft.payloads =
        vec![payload("Short", &[("", Scalar::U64, 126)]), payload("Long", &[("", Scalar::U64, 254)])];
    let names: Vec<String> = draft.tasks.iter().map(|task| task.name.clone()).collect();
    for at in 0..numbers.next(1, 3) {
        let writer = numbers.next(0, names.len() as u64 - 1) as usize;
        let payload = if numbers.chance(50) { "Short" } else { "Long" };
        let readers = names.iter().filter(|name| **name != names[writer]);
        let mut readers: Vec<String> = readers.filter(|_| numbers.chance(50)).cloned().collect();
        let Some(first) = names.iter().find(|name| **name != names[writer]) else { return };
        if readers.is_empty() {
            readers.push(first.clone());
        }
        let mut channel = state(&format!("s{at}"), &names[writer], "", payload);
        channel.to = readers;
        draft.channels.push(channel);
    }
}

#[test]
fn runs_keep_what_is_proven() {
    let (mut numbers, mut seen, mut locked) = (Numbers(11), Seen::default(), [0u32; 3]);
    for round in 0..200u64 {
        let scheduler = if round % 4 == 3 { SchedulingPolicy::Edf } else { SchedulingPolicy::FixedPriority };
        let tasks =
            tasks(2, &mut numbers, |numbers, cost, period| numbers.next(cost.max(period / 2), period));
        let mut draft = system(2, scheduler, tasks);
        states(&mut draft, &mut numbers);
        if round % 5 == 0 {
            systems::share(&mut draft, &mut numbers, |numbers| {
                numbers.chance(30).then_some(LockingProtocol::Msrp)
            });
        }
        let (Some(model), faults) = draft.clone().build() else { continue };
        assert!(faults.iter().all(|fault| fault.severity != Severity::Error));
        let planned = Planned::make(&model, Vec::new());
        for channel in &planned.plan.channels {
            let kinds = [Mechanism::Srp, Mechanism::Msrp, Mechanism::Mpcp];
            if let Some(at) = kinds.iter().position(|kind| *kind == channel.mechanism) {
                locked[at] += 1;
            }
            // No mechanism that would do alone is smaller.
            assert_eq!(channel.choice.is_some(), planned.plan.proven);
            let next = channel.choice.as_ref().and_then(|choice| choice.next.as_ref());
            // The words of a lock between cores do not count: they are not part of the object.
            let words = next.filter(|next| next.mechanism.locking().is_some()).map_or(0, |_| 8 * 128);
            assert!(
                next.and_then(|next| next.bytes).is_none_or(|next| next + words >= channel.region.size),
                "{channel:?}"
            );
        }
        assert!(planned.faults.iter().all(|fault| fault.code != codes::MECHANISM_MISFIT));
        check(&draft, 12, &mut numbers, &mut seen);
    }
    assert!(seen.proven > 60 && locked.iter().all(|count| *count > 1), "{seen:?} {locked:?}");
}

/// All pins of all states with all protocols of all resources: no proven plan needs less memory than the chosen
/// one, as `taut check` prints it and `platform.memory` limits it.
#[test]
fn nothing_needs_less() {
    least_of_all(16);
}

/// The same for many more systems: `cargo test --release -p taut-plan --test locks -- --ignored`.
#[test]
#[ignore = "some minutes"]
fn nothing_needs_less_in_the_long_form() {
    least_of_all(400);
}

fn least_of_all(rounds: u64) {
    let (mut numbers, mut proven, mut locked, mut free, mut best) = (Numbers(77), 0, 0, 0, 0);
    for round in 0..rounds {
        let scheduler = if round % 6 == 5 { SchedulingPolicy::Edf } else { SchedulingPolicy::FixedPriority };
        let tasks =
            tasks(2, &mut numbers, |numbers, cost, period| numbers.next(cost.max(period / 2), period));
        let mut draft = system(2, scheduler, tasks);
        states(&mut draft, &mut numbers);
        draft.channels.truncate(2);
        draft.platform.executor = Executor::Auto;
        // From sizes that are not worth a dispatcher to sizes that are worth some.
        let words = [126, 20_000, 60_000, 200_000][(round % 4) as usize];
        draft.payloads.iter_mut().for_each(|payload| payload.fields[0].len = words);
        draft.platform.overheads.copy = time("1ms");
        if round % 3 == 0 {
            systems::share(&mut draft, &mut numbers, |_| None);
        }
        let (Some(open), _) = draft.clone().build() else { continue };
        let chosen = Planned::make(&open, Vec::new()).plan;
        let mut least: Option<u64> = None;
        let protocols = if draft.resources.is_empty() {
            vec![None]
        } else {
            vec![None, Some(LockingProtocol::Srp), Some(LockingProtocol::Msrp), Some(LockingProtocol::Mpcp)]
        };
        let count = Mechanism::ALL.len();
        let channels = draft.channels.len();
        for protocol in protocols {
            for number in 0..count.pow(channels as u32) {
                let mut with = draft.clone();
                with.resources.iter_mut().for_each(|resource| resource.protocol = protocol);
                for (at, channel) in with.channels.iter_mut().enumerate() {
                    channel.mechanism = Some(Mechanism::ALL[number / count.pow(at as u32) % count]);
                }
                let (Some(model), faults) = with.build() else { continue };
                if faults.iter().any(|fault| fault.severity == Severity::Error) {
                    continue;
                }
                let plan = Planned::make(&model, Vec::new()).plan;
                if plan.proven {
                    least = least.into_iter().chain([plan.memory.total.as_bytes()]).min();
                }
            }
        }
        assert!(chosen.proven || least.is_none(), "round {round}");
        let Some(least) = least.filter(|_| chosen.proven) else { continue };
        proven += 1;
        let total = chosen.memory.total.as_bytes();
        if chosen.decision.as_ref().is_some_and(|decision| decision.best) {
            best += 1;
            assert!(total <= least, "round {round}: {total}, and {least} would do\n{:#?}", chosen.channels);
        }
        let locks = chosen.channels.iter().filter(|channel| channel.mechanism.locking().is_some()).count();
        (locked, free) = (locked + u32::from(locks > 0), free + u32::from(locks == 0));
    }
    assert!(proven > 4 && best > 3 && locked > 0 && free > 0, "{proven} {best} {locked} {free}");
}
