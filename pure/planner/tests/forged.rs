// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Plans that somebody changed: the digest finds them, or, with a digest made anew, they are refused or harmless.

mod drafts;

use std::cell::Cell;

use drafts::{cochlear, empty, model, payload, periodic, plan, state, time};
use insta::assert_snapshot;
use proptest::prelude::*;
use taut_model::{
    ArrivalDraft, BestEffort, ClassDraft, ClientDraft, ClientKind, Draft, Evidence, Mechanism, Overrun,
    SchedulingPolicy, SectionDraft, ServerDraft, ServerPolicy, Shared, TaskDraft, Way, codes,
};
use taut_plan::{Aim, ClassPlan, MemoryMap, Overrides, Plan, PlanTextError, Region, ValidPlan, digest};
use taut_planner::Planned;
use toml::Value;

use drafts::Edit;

/// Two cores with a lock between them, a local one, and states, one of them under a lock.
fn locked(scheduler: SchedulingPolicy) -> Draft {
    let mut draft = empty(&[0, 1]);
    draft.platform.scheduler = scheduler;
    draft.platform.overheads.lock = time("1us");
    draft.platform.overheads.sources.lock = Some(Evidence::Measured);
    draft.payloads = vec![payload("Map", &[("", taut_model::Scalar::U8, 4000)])];
    let section =
        |resource: &str| SectionDraft { resource: resource.into(), longest: time("10us"), count: 1 };
    let shared = |name: &str| Shared { name: name.into(), protocol: None };
    draft.resources = vec![shared("bus"), shared("own")];
    for (name, period, core) in [("a", "5ms", 0), ("b", "20ms", 1), ("c", "50ms", 1)] {
        let task = periodic(name, period, period, "300us").with(|task| {
            task.core = Some(core);
            task.sections = vec![section(if name == "c" { "own" } else { "bus" })];
            task.release = drafts::size("4KiB");
        });
        draft.tasks.push(task);
    }
    drafts::task(&mut draft, "b").sections.push(section("own"));
    draft.channels = vec![state("map", "a", "b", "Map"), state("back", "b", "c", "Map")];
    draft
}

/// A server.
fn served() -> Draft {
    let mut draft = empty(&[0]);
    draft.servers.push(ServerDraft {
        name: "s".into(),
        policy: ServerPolicy::Sporadic,
        budget: time("1ms"),
        period: time("20ms"),
        core: Some(0),
        priority: None,
    });
    draft.tasks = vec![
        periodic("a", "10ms", "10ms", "100us").with(|task| task.core = Some(0)),
        periodic("d", "100ms", "100ms", "100us").with(|task| task.server = Some("s".into())),
    ];
    draft
}

/// A synchronous flow.
fn flow() -> Draft {
    let mut draft = empty(&[0]);
    draft.tasks = ["a", "b"]
        .map(|name| {
            periodic(name, "10ms", "10ms", "100us").with(|task| {
                task.arrival = ArrivalDraft::Periodic { period: time("10ms"), offset: time("1ms") };
            })
        })
        .into();
    let mut channel = state("x", "a", "b", "Sample");
    channel.flow = taut_model::Flow::Synchronous;
    draft.channels = vec![channel];
    draft
}

fn plans() -> Vec<Plan> {
    let drafts = [
        cochlear(),
        locked(SchedulingPolicy::FixedPriority),
        locked(SchedulingPolicy::Edf),
        flow(),
        served(),
    ];
    let plans = drafts.iter().map(plan).map(|planned| {
        assert!(planned.plan.proven, "{:#?}", planned.faults);
        planned.plan
    });
    plans.collect()
}

/// What an edited text says, and the same text with a digest that fits.
fn forged(text: &str) -> Result<(Plan, String), PlanTextError> {
    match Plan::from_lock(text) {
        Err(PlanTextError::Edited(plan)) => {
            let again = plan.to_lock().expect("text");
            Ok((*plan, again))
        }
        Ok(plan) => {
            let again = plan.to_lock().expect("text");
            Ok((plan, again))
        }
        Err(other) => Err(other),
    }
}

/// Checks pair by pair what `unsafe` rests on: any two regions of a map are apart, and all are inside.
fn assert_disjoint(plan: &Plan) {
    let mut regions: Vec<(MemoryMap, Region)> =
        plan.services.iter().map(|service| (MemoryMap::Process, service.persistent)).collect();
    for task in &plan.tasks {
        if let ClassPlan::RealTime { persistent, release, .. } = &task.class {
            regions.extend([(MemoryMap::Process, *persistent), (MemoryMap::Process, *release)]);
        }
    }
    regions.extend(plan.channels.iter().map(|channel| (channel.place, channel.region)));
    for (at, (place, one)) in regions.iter().enumerate() {
        let map = match place {
            MemoryMap::Process => plan.memory.process,
            MemoryMap::Segment => plan.memory.segment,
        };
        let end = u128::from(one.offset) + u128::from(one.size);
        assert!(end <= u128::from(map.as_bytes()) && one.offset % 128 == 0, "{one:?} in {map}");
        assert!(*place == MemoryMap::Process || one.offset >= 128, "{one:?} in the header");
        for (_, other) in regions[..at].iter().filter(|(elsewhere, _)| elsewhere == place) {
            let apart = end <= u128::from(other.offset)
                || u128::from(other.offset) + u128::from(other.size) <= u128::from(one.offset);
            assert!(apart || one.size == 0 || other.size == 0, "{one:?} and {other:?}");
        }
    }
    // No client has a page of a channel that another party writes.
    let shared: Vec<_> = plan.channels.iter().filter(|channel| channel.place == MemoryMap::Segment).collect();
    let pages = |region: Region| [region.offset / 4096, (region.offset + region.size - 1) / 4096];
    for (at, one) in shared.iter().enumerate() {
        for other in &shared[..at] {
            let writer =
                |channel: &taut_plan::ChannelPlan| channel.writer.client.then(|| channel.writer.name.clone());
            let ([from, to], [first, last]) = (pages(one.region), pages(other.region));
            let apart = to < first || last < from;
            assert!(apart || writer(one) == writer(other), "{one:?} and {other:?}");
        }
    }
}

/// All values that contain no others, and lists.
fn leaves<'v>(value: &'v mut Value, found: &mut Vec<&'v mut Value>) {
    let is_list_of_parts = value.as_array().is_some_and(|list| list.first().is_some_and(Value::is_table));
    if !value.is_table() && !is_list_of_parts {
        return found.push(value);
    }
    match value {
        Value::Table(table) => table.iter_mut().for_each(|(_, value)| leaves(value, found)),
        Value::Array(list) => list.iter_mut().for_each(|value| leaves(value, found)),
        _ => {}
    }
}

/// Changes a value into one of the same type.
fn change(value: &mut Value, how: u8, other: &Value, number: i64) {
    match value {
        Value::Integer(integer) => {
            *integer = match how % 8 {
                0 => 0,
                1 => integer.wrapping_add(1),
                2 => integer.wrapping_sub(1).max(0),
                3 => integer.wrapping_add(128),
                4 => other.as_integer().unwrap_or(number),
                5 => i64::MAX,
                6 => integer.wrapping_sub(128).max(0),
                _ => number.wrapping_abs(),
            }
        }
        Value::String(text) => {
            let length = text.ends_with('s') && text.starts_with(|c: char| c.is_ascii_digit());
            *text = match (how % 4, length) {
                (0, true) => "0ns".into(),
                (1, true) => "1ns".into(),
                (2, true) => "18446744073709551615ns".into(),
                (0, false) => "../x\0y".into(),
                (1, false) => String::new(),
                _ => other.as_str().unwrap_or("a").to_owned(),
            }
        }
        Value::Boolean(boolean) => *boolean = !*boolean,
        Value::Array(list) => match how % 3 {
            0 => drop(list.pop()),
            1 => list.extend(list.clone()),
            _ => list.reverse(),
        },
        _ => {}
    }
}

thread_local! {
    static REFUSED: Cell<u32> = const { Cell::new(0) };
    static TAKEN: Cell<u32> = const { Cell::new(0) };
}

/// Edits of one of the plans' texts: which leaf, how, with which other leaf, and a number.
fn edits() -> impl Strategy<Value = (usize, Vec<(prop::sample::Index, u8, prop::sample::Index, i64)>)> {
    let edit = (any::<prop::sample::Index>(), any::<u8>(), any::<prop::sample::Index>(), any::<i64>());
    (0usize..5, prop::collection::vec(edit, 1..4))
}

#[test]
fn edited_plans_are_refused_or_harmless() {
    let plans: Vec<String> = plans().iter().map(|plan| plan.to_lock().expect("text")).collect();
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases: 600, ..Default::default() });
    let run = runner.run(&edits(), |(which, edits)| {
        let original = &plans[which];
        let mut table: Value = toml::from_str::<toml::Table>(original).expect("TOML").into();
        for (leaf, how, other, number) in edits {
            let mut found = Vec::new();
            leaves(&mut table, &mut found);
            let other = found[other.index(found.len())].clone();
            let leaf = leaf.index(found.len());
            change(found[leaf], how, &other, number);
        }
        let text = toml::to_string(&table).expect("TOML");
        let before = Plan::from_lock(original).expect("a plan");
        let Ok((plan, with_digest)) = forged(&text) else { return Ok(()) };
        let same = plan == before;
        // With the digest of before, only an edit that changes nothing passes.
        prop_assert!(!text.contains("digest") || Plan::from_lock(&text).is_ok() <= same, "{text}");
        // With a digest that fits.
        match ValidPlan::from_lock(&with_digest) {
            Ok(valid) => {
                assert_disjoint(&valid);
                TAKEN.set(TAKEN.get() + u32::from(!same));
            }
            Err(error) => {
                prop_assert!(!same);
                prop_assert!(matches!(error, PlanTextError::Invalid(_)), "{error}");
                REFUSED.set(REFUSED.get() + 1);
            }
        }
        Ok(())
    });
    run.expect("refused or harmless");
    let (refused, taken) = (REFUSED.get(), TAKEN.get());
    assert!(refused > 100 && taken > 60, "{refused} refused, {taken} taken");
}

/// Each rule, broken with a digest that fits.
#[test]
fn rules() {
    let plans: Vec<String> = plans().iter().map(|plan| plan.to_lock().expect("text")).collect();
    let mut reported = String::new();
    let mut report = |which: usize, from: &str, to: &str| {
        let text = plans[which].replacen(from, to, 1);
        assert_ne!(text, plans[which], "{from}");
        let (_, text) = forged(&text).unwrap_or_else(|error| panic!("{from} -> {to}: {error}"));
        let error = ValidPlan::from_lock(&text).expect_err(to);
        assert_eq!(error.code(), Some(codes::LOCK_EDITED.to_string().as_str()));
        let PlanTextError::Invalid(what) = error else { panic!("{error}") };
        reported += &format!("{from} -> {to}\n    {what}\n");
    };
    let offset = |which: usize, name: &str, nth: usize| {
        let text: &str = &plans[which];
        let at = text.find(&format!("name = \"{name}\"")).expect("a name");
        let (found, _) = text[at..].match_indices("offset = ").nth(nth).expect("an offset");
        text[at + found..].lines().next().expect("a line").to_owned()
    };
    report(0, "offset = 262144, size = 16384", "offset = 0, size = 16384");
    let audio = offset(0, "audio", 0);
    let samples = offset(0, "samples", 0);
    report(0, &audio, &samples);
    report(0, "offset = 128", "offset = 0");
    // Onto the page of a client.
    report(0, "offset = 128", "offset = 4480");
    report(0, "segment = \"8KiB\"", "segment = \"4480B\"");
    report(0, "cpu = 0\nscheduler", "cpu = 7\nscheduler");
    report(0, "priority = 80", "priority = 99");
    report(0, "proven = true\n", "proven = true\nsafe-state = \"0ns\"\n");
    report(0, "proven = true\n", "proven = true\nsafe-state = \"1001ms\"\n");
    report(0, "capacity = 64", "capacity = 65");
    report(0, "capacity = 64", "capacity = 4294967295");
    report(0, "response = \"", "response = \"1");
    report(0, "deadline = \"2ms\"", "deadline = \"9ms\"");
    report(0, "periodic = \"8ms\"", "periodic = \"0ns\"");
    report(0, "name = \"recording\"", "name = \"output\"");
    report(0, "app = \"cochlear\"", "app = \"../cochlear\"");
    report(0, "place = \"segment\"", "place = \"process\"");
    report(0, "mechanism = \"hybrid\"", "mechanism = \"sdrtr\"");
    report(0, ", triggered = true", "");
    report(0, "trigger = \"electrodes\"", "trigger = \"audio\"");
    report(0, "service = \"sound\"", "service = \"vision\"");
    report(1, "users = [\"a\", \"b\"]", "users = [\"a\", \"x\"]");
    report(1, "protocol = \"msrp\"", "protocol = \"srp\"");
    report(4, "budget = \"1ms\"", "budget = \"1s\"");
    report(4, "tasks = [\"d\"]", "tasks = [\"d\", \"d\"]");
    report(2, "scheduler = \"edf\"", "scheduler = \"fp\"");
    report(3, "flow = \"synchronous\"\n", "");
    assert_snapshot!(reported);
}

/// A lock with overrides under their key of before: its digest is that of its own text.
#[test]
fn an_older_key_of_overrides_is_read() {
    let overrides = Overrides { minimise: Some(Aim::Slack), pins: Vec::new() };
    let plan = Planned::make_with(&model(&cochlear()), Vec::new(), overrides).expect("a plan").plan;
    let text = plan.to_lock().expect("text");
    let (head, body) = text.split_once("digest = ").expect("a digest");
    let (_, body) = body.split_once('\n').expect("a body");
    let older = body.replacen("[overrides]", "[wish]", 1);
    assert_ne!(older, body);
    let with = |body: &str| format!("{head}digest = \"{}\"\n{body}", digest(older.as_bytes()));
    assert_eq!(Plan::from_lock(&with(&older)).as_ref(), Ok(&plan));
    assert!(matches!(Plan::from_lock(&with(body)), Err(PlanTextError::Edited(_))), "another text");
    let edited = with(&older.replacen("\"slack\"", "\"memory\"", 1));
    assert!(matches!(Plan::from_lock(&edited), Err(PlanTextError::Edited(_))));
}

#[test]
fn a_plan_that_was_changed_says_so() {
    let text = plan(&cochlear()).plan.to_lock().expect("text");
    let edited = text.replacen("deadline = \"2ms\"", "deadline = \"3ms\"", 1);
    let error = Plan::from_lock(&edited).expect_err("it was changed");
    assert_eq!(error.code(), Some(codes::LOCK_EDITED.to_string().as_str()));
    assert_eq!(
        error.to_string(),
        "taut.lock was changed after `taut plan` wrote it; `taut plan` writes it anew"
    );
    let PlanTextError::Edited(says) = error else { panic!("{error}") };
    assert_eq!(says.differences(&plan(&cochlear()).plan).len(), 1);
    // Without a digest, or with that of another plan.
    let line = text.lines().find(|line| line.starts_with("digest")).expect("a digest");
    let other = plan(&flow()).plan.to_lock().expect("text");
    let its = other.lines().find(|line| line.starts_with("digest")).expect("a digest");
    for with in ["", its] {
        let error = Plan::from_lock(&text.replacen(line, with, 1));
        assert!(matches!(error, Err(PlanTextError::Edited(_))), "{with}: {error:?}");
    }
    // Comments, blank lines, spaces at the end of a line and the way lines end may change.
    let remarks =
        text.replace("[[", "# a remark\n  # another\n\n\n[[").replace('\n', " \t\r\n") + "\n# a remark\n";
    let tight = text.replace("\n\n", "\n");
    for same in [remarks, tight] {
        assert_eq!(Plan::from_lock(&same).as_ref(), Ok(&plan(&cochlear()).plan), "{same}");
    }
    // Nothing else may, even where the plan stays the same: spaces inside of a line, or a key that no plan has.
    for (from, to) in
        [(" = ", "  = "), ("proven = true", "proven = true\nremark = 1"), ("proven = true", " proven = true")]
    {
        let edited = Plan::from_lock(&text.replacen(from, to, 3));
        assert!(
            matches!(edited, Err(PlanTextError::Edited(_) | PlanTextError::Malformed(_))),
            "{to}: {edited:?}"
        );
    }
}

/// Each number, text, switch and list of the applications' own plans, changed by itself in one way, by turns: the
/// regions of a plan that is accepted are still apart and inside.
#[test]
fn each_value_of_the_applications_plans() {
    let plans =
        [include_str!("../../../apps/cochlear/taut.lock"), include_str!("../../../apps/drive/taut.lock")];
    for original in plans {
        let table: Value = toml::from_str::<toml::Table>(original).expect("TOML").into();
        let before = Plan::from_lock(original).expect("a plan");
        let mut count = Vec::new();
        let mut copy = table.clone();
        leaves(&mut copy, &mut count);
        let (leaf_count, mut refused, mut taken) = (count.len(), 0, 0);
        for leaf in 0..leaf_count {
            let how = (leaf % 8) as u8;
            let mut changed = table.clone();
            let mut found = Vec::new();
            leaves(&mut changed, &mut found);
            let other = found[(leaf + 1) % leaf_count].clone();
            change(found[leaf], how, &other, i64::MAX - 127);
            let text = toml::to_string(&changed).expect("TOML");
            let Ok((plan, with_digest)) = forged(&text) else { continue };
            match ValidPlan::from_lock(&with_digest) {
                Ok(valid) => {
                    assert_disjoint(&valid);
                    taken += u32::from(plan != before);
                }
                Err(error) => {
                    assert!(plan != before && matches!(error, PlanTextError::Invalid(_)), "{error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 20 && taken > 5, "{refused} refused, {taken} taken of {}", before.app);
    }
}

/// Why an edited plan is refused.
fn refusal(plan: &Plan, edit: impl FnOnce(&mut Plan)) -> String {
    let mut plan = plan.clone();
    edit(&mut plan);
    ValidPlan::new(plan).expect_err("an edit that breaks a rule").to_string()
}

fn real_time(plan: &mut Plan, name: &str, edit: impl FnOnce(&mut ClassPlan)) {
    edit(&mut plan.tasks.iter_mut().find(|task| task.name == name).expect("a task").class);
}

/// Rules whose numbers occur in several places of the text, each broken by itself.
#[test]
fn rules_of_cores_servers_and_sums() {
    let plans = plans();
    for plan in &plans {
        assert_eq!(ValidPlan::new(plan.clone()).as_deref(), Ok(plan));
    }
    let [cochlear, locked, _, flow, served] = &plans[..] else { panic!("five plans") };
    let reported = refusal(cochlear, |plan| plan.housekeeping.push(0));
    assert_eq!(reported, "CPU 0 is both a real-time core and a housekeeping core");
    let reported = refusal(cochlear, |plan| plan.cores[0].scheduler = SchedulingPolicy::Edf);
    assert_eq!(reported, "core 0 is under EDF, but has no dispatcher");
    let reported = refusal(cochlear, |plan| plan.cores.push(plan.cores[0].clone()));
    assert_eq!(reported, "two cores have CPU 0");
    // A task asks in either way for what nothing does on its core.
    let nothing = "task `recording` needs a dispatcher, which core 0 does not have";
    let reported = refusal(cochlear, |plan| {
        real_time(plan, "recording", |class| {
            let ClassPlan::RealTime { budget, .. } = class else { panic!("real-time") };
            *budget = Some(time("1ms"));
        });
    });
    assert_eq!(reported, nothing);
    for asked in [Overrun::KillJob, Overrun::Demote] {
        let reported = refusal(cochlear, |plan| {
            real_time(plan, "recording", |class| {
                let ClassPlan::RealTime { on_overrun, .. } = class else { panic!("real-time") };
                *on_overrun = asked;
            });
        });
        assert_eq!(reported, nothing);
    }
    let reported = refusal(locked, |plan| plan.cores[0].dispatched = None);
    assert_eq!(reported, "`a` uses `bus`, but is not a task of a dispatched core");
    // Servers: one without time, one that gets it late, and one that serves a task that it cannot serve.
    let reported = refusal(served, |plan| plan.servers[0].budget = taut_time::Duration::ZERO);
    assert_eq!(reported, "server `s` has a budget that is zero or longer than its period");
    let mut late = served.clone();
    late.servers[0].response = Some(late.servers[0].period);
    assert!(ValidPlan::new(late).is_ok());
    let reported = refusal(served, |plan| plan.servers[0].response = Some(time("20000001ns")));
    assert_eq!(reported, "the plan is proven, but server `s` has no bound within its period");
    let reported = refusal(served, |plan| plan.servers[0].tasks.push("nobody".into()));
    assert_eq!(reported, "server `s` serves `nobody`, which is not a task of its core");
    let reported = refusal(served, |plan| {
        let other = taut_plan::CorePlan { cpu: 1, ..plan.cores[0].clone() };
        plan.cores.push(other);
        real_time(plan, "d", |class| {
            let ClassPlan::RealTime { cpu, .. } = class else { panic!("real-time") };
            *cpu = 1;
        });
    });
    assert_eq!(reported, "server `s` serves `d`, which is not a task of its core");
    let reported = refusal(served, |plan| plan.cores[0].dispatched = None);
    assert_eq!(reported, "task `d` needs a dispatcher, which core 0 does not have");
    let aperiodic = |plan: &mut Plan, channels: &[&str]| {
        real_time(plan, "d", |class| {
            let ClassPlan::RealTime { arrival, on_overrun, .. } = class else { panic!("real-time") };
            *arrival =
                taut_plan::Arrival::Aperiodic { triggers: channels.iter().map(|&of| of.into()).collect() };
            *on_overrun = Overrun::RunOn;
        });
    };
    let reported = refusal(served, |plan| aperiodic(plan, &[]));
    assert_eq!(reported, "no channel releases task `d`");
    let reported = refusal(served, |plan| {
        aperiodic(plan, &["x"]);
        plan.servers[0].tasks.push("a".into());
    });
    assert_eq!(reported, "task `d` is aperiodic and not alone in a server");
    let reported = refusal(served, |plan| aperiodic(plan, &["x"]));
    assert_eq!(reported, "task `d` waits for `x`, which does not release it");
    // A map that is too short for its content.
    let reported = refusal(cochlear, |plan| plan.memory.process = drafts::size("128B"));
    assert!(reported.ends_with("ends beyond its memory map"), "{reported}");
    let reported = refusal(cochlear, |plan| {
        plan.memory.total = taut_model::Size::from_bytes(plan.memory.total.as_bytes() + 1);
    });
    assert_eq!(reported, "the total of the memory is not the sum of its parts");
    let reported = refusal(cochlear, |plan| {
        let more = taut_model::Size::from_bytes(64);
        plan.memory.set_up = more;
        plan.memory.total = taut_model::Size::from_bytes(plan.memory.total.as_bytes() + more.as_bytes());
    });
    assert_eq!(reported, "the memory of set-ups is not the sum of their bounds");
    // As many resources and channels as a record can number, and one more.
    let crowd = |plan: &mut Plan| {
        let resource = locked.resources[0].clone();
        let named =
            |at| taut_plan::ResourcePlan { name: format!("r{at}"), users: Vec::new(), ..resource.clone() };
        plan.resources = (0..u16::MAX).map(named).collect();
    };
    let too_many = "there are too many resources and channels";
    assert_eq!((flow.channels.len(), refusal(flow, crowd)), (1, too_many.into()));
    let mut crowded = flow.clone();
    crowd(&mut crowded);
    crowded.resources.pop();
    assert_eq!(ValidPlan::new(crowded).map(|_| ()), Ok(()));
}

/// A state from a task to a task or a client, each of them real-time or not, on a core.
fn parties(writer: &str, reader: &str) -> Plan {
    let mut draft = empty(&[0]);
    let best_effort = |name: &str| TaskDraft {
        name: name.into(),
        service: None,
        class: ClassDraft::BestEffort(BestEffort::default()),
    };
    draft.tasks = vec![
        periodic("a", "10ms", "10ms", "100us"),
        periodic("b", "10ms", "10ms", "100us"),
        best_effort("e"),
        best_effort("f"),
    ];
    draft.clients =
        vec![ClientDraft { name: "ui".into(), kind: ClientKind::Process, max_attached: 1, min_gap: None }];
    draft.channels = vec![state("x", writer, reader, "Sample")];
    let mut plan = plan(&draft).plan;
    // Locks need it.
    plan.cores[0].dispatched = Some("for a test".into());
    plan
}

/// Each way of each mechanism, for each kind of reader that it serves: only ways that its object has are accepted.
#[test]
fn ways_of_readers() {
    let (mut passed, mut refused) = (0, 0);
    for (writer, reader) in [("a", "b"), ("a", "f"), ("a", "ui"), ("e", "b")] {
        let plan = parties(writer, reader);
        for mechanism in Mechanism::ALL {
            for way in [None, Some(Way::Claims), Some(Way::ByTime), Some(Way::LooksOn)] {
                use Mechanism::{
                    Bulk, Chen, Dbp, DoubleBuffer, Hybrid, ImprovedChen, Mpcp, Msrp, Nbw, Peterson, Presence,
                    Qrtr, Qrtwc, Qrtwo, ReservedBulk, Sdrtr, Sdrtw, Srp, Tccp, TimedSlots,
                };
                let by_time = writer == "a" && reader == "b";
                let has = match (mechanism, way) {
                    (
                        Sdrtr | Sdrtw | Qrtr | Qrtwo | Qrtwc | TimedSlots | Bulk | ReservedBulk | Srp | Msrp
                        | Dbp | Tccp,
                        way,
                    ) => way.is_none(),
                    // It serves no state; `broadcasts.rs` has its ways.
                    (Mechanism::Broadcast, _) => continue,
                    (Chen | DoubleBuffer | Presence | Peterson | Mpcp, way) => way == Some(Way::Claims),
                    (Nbw, Some(Way::Claims)) => false,
                    (Hybrid | ImprovedChen, Some(Way::Claims)) => reader != "ui",
                    (Hybrid | ImprovedChen | Nbw, Some(Way::ByTime)) => by_time,
                    (Hybrid | ImprovedChen | Nbw, way) => way == Some(Way::LooksOn),
                };
                let mut plan = plan.clone();
                plan.channels[0].mechanism = mechanism;
                plan.channels[0].readers[0].way = way;
                let reported = ValidPlan::new(plan).err().map(|error| error.to_string()).unwrap_or_default();
                // A client that stores how far it has read a queue has its object in a file of its own.
                let is_elsewhere = mechanism == Qrtr && reader == "ui" && reported.contains("share a page");
                if is_elsewhere || reported.ends_with("does not serve channel `x`") {
                    continue;
                }
                let is_refused = reported.ends_with("has no such readers");
                assert_eq!(is_refused, !has, "{mechanism:?} {way:?} {writer} {reader}: {reported}");
                if has { passed += 1 } else { refused += 1 }
            }
        }
    }
    assert_eq!((passed, refused), (27, 53));
}

/// V9: what the runtime relies on when it changes the mode.
#[test]
fn modes_and_changes_fit_together() {
    let mut draft = empty(&[0]);
    let service = |name: &str| taut_model::ServiceDraft {
        name: name.into(),
        persistent: drafts::size("0B"),
        start: taut_model::ServiceStart::Boot,
        on_failure: None,
    };
    draft.services = vec![service("x"), service("y")];
    let mode = |name: &str, services: &[&str]| taut_model::ModeDraft {
        name: name.into(),
        services: services.iter().map(|name| (*name).to_owned()).collect(),
    };
    draft.modes = vec![mode("m", &["x"]), mode("n", &["x", "y"])];
    draft.tasks = ["x", "y"]
        .map(|name| {
            let mut task = periodic(name, "10ms", "10ms", "100us");
            task.service = Some(name.into());
            task
        })
        .into();
    let plan = plan(&draft).plan;
    assert!(plan.proven && ValidPlan::new(plan.clone()).is_ok());
    let first = "the mode at release 0 is not one of the modes";
    assert_eq!(refusal(&plan, |plan| plan.first_mode = None), first);
    assert_eq!(refusal(&plan, |plan| plan.first_mode = Some("o".into())), first);
    let without = |plan: &mut Plan| (plan.modes, plan.changes) = (Vec::new(), Vec::new());
    assert_eq!(refusal(&plan, without), first);
    let reported = refusal(&plan, |plan| plan.modes[1].name = "m".into());
    assert_eq!(reported, "two modes are called `m`");
    let reported = refusal(&plan, |plan| {
        plan.modes[1].name = "N".into();
        plan.changes.iter_mut().for_each(|change| {
            let name = if change.from == "n" { &mut change.from } else { &mut change.to };
            *name = "N".into();
        });
    });
    assert_eq!(reported, "the mode's name \"N\" is not well formed");
    let reported = refusal(&plan, |plan| plan.modes[0].services.push("x".into()));
    assert_eq!(reported, "mode `m` names service `x` twice");
    let reported = refusal(&plan, |plan| plan.modes[0].services.push("z".into()));
    assert_eq!(reported, "mode `m` names a service that does not exist");
    let reported = refusal(&plan, |plan| plan.modes[0].utilisation_ppm.clear());
    assert_eq!(reported, "mode `m` does not say how much of each core it uses");
    let misfit = "mode `m` has a bound of task `x` that does not fit the task's";
    assert_eq!(refusal(&plan, |plan| plan.modes[0].bounds[0].response = None), misfit);
    assert_eq!(refusal(&plan, |plan| plan.modes[0].bounds[0].response = Some(time("9ms"))), misfit);
    let reported = refusal(&plan, |plan| plan.modes[0].bounds[0].task = "y".into());
    assert_eq!(reported, "mode `m` has a bound of task `y` that does not fit the task's");
    let pairs = "the changes are not those from each mode to each other one";
    assert_eq!(refusal(&plan, |plan| plan.changes.truncate(1)), pairs);
    assert_eq!(refusal(&plan, |plan| plan.changes[0].to = "m".into()), pairs);
    let reported = refusal(&plan, |plan| plan.changes[1] = plan.changes[0].clone());
    assert_eq!(reported, "two changes go from `m` to `n`");
    assert_eq!(refusal(&plan, |plan| plan.changes[0].idle = None), "a change of mode has no bound");
}

/// Whether a mechanism serves a channel depends on which parties are real-time.
#[test]
fn mechanisms_serve_the_parties_there_are() {
    for (writer, reader, mechanism) in [
        ("a", "f", Mechanism::Msrp),
        ("a", "f", Mechanism::Chen),
        ("e", "b", Mechanism::Sdrtw),
        ("a", "ui", Mechanism::Nbw),
    ] {
        let reported = refusal(&parties(writer, reader), |plan| plan.channels[0].mechanism = mechanism);
        assert_eq!(reported, format!("{} does not serve channel `x`", mechanism.paper_name()));
    }
}
