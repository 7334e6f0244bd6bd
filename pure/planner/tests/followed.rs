// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A figure in a fault's help is enough at the first try: followed to the letter, it removes the fault. If the
//! figure is the least or the most that will do, a step past it will not.

mod drafts;
mod systems;

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use drafts::{empty, payload, periodic, queue, real_time, state, time};
use systems::{Numbers, any};
use taut_model::{
    BestEffort, ChainDraft, ClassDraft, Code, Draft, Fault, Overrun, Payload, PayloadField, Scalar,
    ServiceDraft, Severity, Size, TaskDraft, codes,
};
use taut_planner::Planned;
use taut_time::Duration;

/// Errors of the manifest's rules, or else of the plan.
fn errors(draft: &Draft) -> Vec<Fault> {
    let (model, mut faults) = draft.clone().build();
    if let Some(model) = model {
        faults = Planned::make(&model, Vec::new()).faults;
    }
    faults.retain(|fault| fault.severity == Severity::Error);
    faults
}

/// A figure that was followed: what it is of, the draft with it, and one with a step past it.
struct Followed {
    what: &'static str,
    with: Draft,
    /// None if the figure is one of those that will do, not the last.
    past: Option<Draft>,
}

/// The text between two other texts.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    Some(text.split_once(from)?.1.split_once(to)?.0)
}

fn figure<T: FromStr>(text: &str, from: &str, to: &str) -> Option<T> {
    let figure = between(text, from, to)?;
    Some(figure.parse().unwrap_or_else(|_| panic!("{figure} in {text}")))
}

/// The draft that follows a help to the letter; none if the help has no figure.
fn follow(draft: &Draft, fault: &Fault) -> Option<Followed> {
    let help = fault.help.as_deref()?;
    let path: Vec<&str> = fault.primary.place.path().split('.').collect();
    let step = |with: &dyn Fn(&mut Draft, bool)| {
        let (mut done, mut past) = (draft.clone(), draft.clone());
        with(&mut done, false);
        with(&mut past, true);
        (done, Some(past))
    };
    let (what, (with, past)) = match (fault.code, path.as_slice()) {
        (codes::MEMORY_EXCEEDED, ["platform", "memory"]) => {
            let text = between(help, "give at least \"", "\"")?;
            let size: Size = text.parse().expect("a size");
            let unit = if text.ends_with("MiB") { 1 << 20 } else { 1 };
            let less = Size::from_bytes(size.as_bytes() - unit);
            ("memory", step(&|draft, past| draft.platform.memory = if past { less } else { size }))
        }
        (codes::BAD_CAPACITY, ["channels", name, "capacity"]) => {
            let at = draft.channels.iter().position(|channel| channel.name == *name)?;
            if help.starts_with("write \"auto\"") {
                let mut with = draft.clone();
                with.channels[at].capacity = None;
                return Some(Followed { what: "auto", with, past: None });
            }
            let capacity: i64 = figure(help, "use `capacity = ", "`")?;
            let with = |draft: &mut Draft, past| {
                draft.channels[at].capacity = Some(capacity - i64::from(past));
            };
            ("capacity", step(&with))
        }
        (codes::CHAIN_TOO_SLOW, ["chains", at, key]) => {
            let limit: Duration = figure(help, "allow \"", "\"")?;
            let at: usize = at.parse().expect("a position");
            let with = |draft: &mut Draft, past: bool| {
                let limit = limit.saturating_sub(Duration::from_ns(past.into()));
                match *key {
                    "max-latency" => draft.chains[at].max_latency = limit,
                    "max-reaction" => draft.chains[at].max_reaction = Some(limit),
                    other => panic!("{other}"),
                }
            };
            ("chain", step(&with))
        }
        (codes::BAD_BUDGET, ["tasks", name, "budget"]) => {
            let budget: Duration = figure(help, "use at least \"", "\"")?;
            let with = |draft: &mut Draft, past: bool| {
                let budget = budget.saturating_sub(Duration::from_ns(past.into()));
                drafts::task(draft, name).budget = Some(budget);
            };
            ("budget", step(&with))
        }
        (codes::BAD_DEADLINE, ["tasks", name, "deadline"]) => {
            let most: Duration = figure(help, "use at most \"", "\"")?;
            let with = |draft: &mut Draft, past: bool| {
                drafts::task(draft, name).deadline =
                    most.checked_add(Duration::from_ns(past.into())).expect("small");
            };
            ("deadline", step(&with))
        }
        (codes::WCET_OVER_DEADLINE, ["tasks", name, "wcet", "value"]) => {
            let most: Duration = figure(help, "at most ", " fits, before")?;
            let with = |draft: &mut Draft, past: bool| {
                let more = if past { unit(most) } else { Duration::ZERO };
                drafts::task(draft, name).wcet.value = most.checked_add(more).expect("small");
            };
            ("wcet of the rules", step(&with))
        }
        (codes::BAD_LAYOUT, ["payloads", name]) => {
            let (field, missing) = between(help, "last field `", "\"`")?.split_once(" = \"u8*")?;
            let len: u32 = missing.parse().expect("a number");
            let field = PayloadField { name: field.into(), scalar: Scalar::U8, len };
            let mut with = draft.clone();
            with.payloads.iter_mut().find(|of| of.name == *name)?.fields.push(field);
            ("reserved bytes", (with, None))
        }
        (codes::BAD_LAYOUT, ["payloads", name, "fields", _]) => {
            let order: Vec<&str> = help
                .split_once("large ones first: ")?
                .1
                .split(", ")
                .map(|name| name.trim_matches('`'))
                .collect();
            let mut with = draft.clone();
            let fields = &mut with.payloads.iter_mut().find(|of| of.name == *name)?.fields;
            fields.sort_by_key(|field| order.iter().position(|name| *name == field.name));
            ("order of fields", (with, None))
        }
        _ => return None,
    };
    Some(Followed { what, with, past })
}

/// The same for a deadline that is not kept: each way alone is enough.
fn deadline(draft: &Draft, fault: &Fault, help: &str, late: &str) -> Vec<Followed> {
    let offsets = fault.notes.iter().any(|note| note.contains("offsets"));
    let mut ways = Vec::new();
    let mut way = |what, most: Option<Duration>, set: &dyn Fn(&mut Draft, Duration)| {
        let Some(most) = most else { return };
        // Figures are in whole microseconds if they are at least one.
        let unit = unit(most);
        let (mut with, mut past) = (draft.clone(), draft.clone());
        set(&mut with, most);
        set(&mut past, most.checked_add(unit).expect("small"));
        ways.push(Followed { what, with, past: (!offsets).then_some(past) });
    };
    let own = figure(help, "if its wcet is at most `value = \"", "\"`");
    way("wcet", own, &|draft, value| drafts::task(draft, late).wcet.value = value);
    if let Some(name) = between(help, "it fits if `tasks.", ".") {
        let other = figure(help, "wcet.value` is at most \"", "\"");
        way("another's wcet", other, &|draft, value| drafts::task(draft, name).wcet.value = value);
        let stretch = figure(help, "non-preemptive` is at most \"", "\"");
        way("another's stretch", stretch, &|draft, value| {
            drafts::task(draft, name).non_preemptive = value;
        });
    }
    if let Some(core) = figure::<u16>(&format!("{help}\n"), "as it is on core ", "\n") {
        let mut with = draft.clone();
        drafts::task(&mut with, late).core = Some(core);
        ways.push(Followed { what: "core", with, past: None });
    }
    ways
}

/// Advised execution times are in whole us, those below one in ns.
fn unit(most: Duration) -> Duration {
    if most < Duration::from_us(1) { Duration::from_ns(1) } else { Duration::from_us(1) }
}

/// All figures of a fault's help, each alone.
fn ways(draft: &Draft, fault: &Fault) -> Vec<Followed> {
    let path: Vec<&str> = fault.primary.place.path().split('.').collect();
    match (fault.code, path.as_slice(), &fault.help) {
        (codes::DEADLINE_MISSED, ["tasks", late, _], Some(help)) => deadline(draft, fault, help, late),
        (codes::DEADLINE_MISSED, ["platform", ..], Some(help)) => {
            between(help, "for `", "`: ").map_or(Vec::new(), |late| deadline(draft, fault, help, late))
        }
        _ => follow(draft, fault).into_iter().collect(),
    }
}

/// What is wrong with a draft, whatever the figures.
fn wrong(draft: &Draft) -> BTreeSet<(Code, String)> {
    errors(draft).iter().map(|fault| (fault.code, fault.primary.place.path().to_owned())).collect()
}

/// Follows each figure of a draft's faults alone.
fn each(seed: u64, draft: &Draft, seen: &mut BTreeMap<&'static str, (u32, u32)>) {
    for fault in errors(draft) {
        for Followed { what, with, past } in ways(draft, &fault) {
            let now = wrong(&with);
            let reported = || drafts::shown(std::slice::from_ref(&fault));
            let this = (fault.code, fault.primary.place.path().to_owned());
            assert!(!now.contains(&this), "{seed}: {}{}", reported(), drafts::shown(&errors(&with)));
            let (followed, last) = seen.entry(what).or_default();
            *followed += 1;
            if let Some(past) = past {
                // The step may break another deadline.
                assert!(!wrong(&past).is_subset(&now), "{seed}: a step past is enough: {}", reported());
                *last += 1;
            }
        }
    }
}

/// Two tasks of a core; the more urgent one leaves the other no time.
fn crowded(numbers: &mut Numbers) -> Draft {
    let mut draft = empty(&[0, 2]);
    for (name, share, priority) in [("urgent", 9, 20), ("other", 1, 10)] {
        let mut task = periodic(name, "10ms", "10ms", "1ms");
        let of = real_time(&mut task);
        (of.core, of.priority) = (Some(0), Some(priority));
        of.wcet.value = Duration::from_us(share * numbers.next(200, 1000));
        if name == "other" {
            of.deadline = Duration::from_us(numbers.next(1100, 3000));
        }
        draft.tasks.push(task);
    }
    draft
}

/// Three to six tasks that pass values on, with limits of all kinds that may be too tight.
fn tight(numbers: &mut Numbers) -> Draft {
    let mut draft = empty(&[0, 2]);
    let count = numbers.next(3, 6);
    for at in 0..count {
        let period = Duration::from_ms(numbers.next(5, 40));
        let mut task = periodic(&format!("t{at}"), "1s", "1s", "1s");
        let of = real_time(&mut task);
        of.arrival = taut_model::ArrivalDraft::Periodic { period, offset: Duration::ZERO };
        (of.deadline, of.wcet.value) = (period, Duration::from_us(numbers.next(50, 1500)));
        of.wcet.margin_permille = u32::try_from(numbers.next(0, 500)).expect("small");
        of.persistent = Size::from_bytes(numbers.next(0, 3 << 20));
        of.release = Size::from_bytes(numbers.next(0, 1 << 20));
        of.core = numbers.chance(50).then_some(0);
        if numbers.chance(10) {
            of.on_overrun = Overrun::SkipNext;
            of.budget = Some(Duration::from_us(numbers.next(10, 2000)));
        }
        if numbers.chance(5) {
            of.deadline = period.checked_add(period).expect("small");
            of.on_overrun = Overrun::SkipNext;
        }
        if numbers.chance(5) {
            of.deadline = Duration::from_us(numbers.next(10, 1000));
        }
        draft.tasks.push(task);
    }
    draft.services.push(ServiceDraft {
        name: "all".into(),
        persistent: Size::from_bytes(numbers.next(0, 1 << 20)),
        start: taut_model::ServiceStart::Boot,
        on_failure: None,
    });
    if numbers.chance(50) {
        draft.app.safe_state = Some(time("1ms"));
    }
    let mut path = vec!["t0".to_owned()];
    for at in 1..count {
        let (from, to, name) = (format!("t{}", at - 1), format!("t{at}"), format!("c{at}"));
        let channel = if numbers.chance(60) {
            let capacity = numbers.chance(70).then(|| i64::try_from(numbers.next(1, 20)).expect("small"));
            let mut channel = queue(&name, &from, &to, "Sample", capacity);
            channel.sends_per_release = u32::try_from(numbers.next(1, 3)).expect("small");
            channel.takes_per_release = u32::try_from(numbers.next(1, 40)).expect("small");
            channel
        } else {
            state(&name, &from, &to, "Sample")
        };
        draft.channels.push(channel);
        path.extend([name, to]);
    }
    let limit = |numbers: &mut Numbers| Duration::from_ms(numbers.next(1, 300));
    draft.chains.push(ChainDraft {
        name: "whole".into(),
        path,
        max_latency: limit(numbers),
        max_reaction: numbers.chance(60).then(|| limit(numbers)),
    });
    draft.platform.memory = Size::from_bytes(numbers.next(1, 16 << 20));
    draft
}

/// A payload of some fields in any order.
fn fields(numbers: &mut Numbers) -> Payload {
    let scalars = [Scalar::U8, Scalar::I16, Scalar::F32, Scalar::U64];
    let mut of = payload("Mixed", &[]);
    for at in 0..numbers.next(1, 5) {
        let scalar = scalars[usize::try_from(numbers.next(0, 3)).expect("small")];
        let name = if numbers.chance(20) && at == 0 { "reserved".into() } else { format!("f{at}") };
        let len = u32::try_from(numbers.next(1, 4)).expect("small");
        of.fields.push(PayloadField { name, scalar, len });
    }
    of
}

#[test]
fn what_is_advised_is_enough() {
    let mut seen = BTreeMap::new();
    for seed in 0..200 {
        each(seed, &tight(&mut Numbers(seed)), &mut seen);
    }
    for seed in 0..200 {
        let mut draft = any(&mut Numbers(seed));
        draft.platform.memory = Size::from_bytes(Numbers(seed).next(1, 4 << 20));
        each(seed, &draft, &mut seen);
    }
    for seed in 0..50 {
        each(seed, &crowded(&mut Numbers(seed)), &mut seen);
    }
    for seed in 0..100 {
        let mut draft = tight(&mut Numbers(7));
        draft.payloads.push(fields(&mut Numbers(seed)));
        each(seed, &draft, &mut seen);
    }
    let least = |what: &str| seen.get(what).copied().unwrap_or_default();
    for what in
        ["memory", "capacity", "chain", "budget", "deadline", "wcet of the rules", "wcet", "another's wcet"]
    {
        assert!(least(what).0 > 10 && least(what).1 > 5, "{what}: {seen:?}");
    }
    for what in ["auto", "reserved bytes", "order of fields", "another's stretch", "core"] {
        assert!(least(what).0 > 0, "{what}: {seen:?}");
    }
}

/// All figures at once: a user who follows all advice, except that for deadlines, gets none of it again.
#[test]
fn all_that_is_advised_at_once_is_enough() {
    let mut followed = 0;
    for seed in 0..400 {
        let mut draft = tight(&mut Numbers(10_000 + seed));
        let first = errors(&draft);
        // A draft that the rules refuse is not planned.
        let limits = [codes::MEMORY_EXCEEDED, codes::BAD_CAPACITY, codes::CHAIN_TOO_SLOW];
        if draft.clone().build().0.is_none() || first.iter().any(|fault| !limits.contains(&fault.code)) {
            continue;
        }
        for fault in &first {
            match follow(&draft, fault) {
                Some(of) => draft = of.with,
                None => panic!("{seed}: {}", drafts::shown(&first)),
            }
        }
        let left = errors(&draft);
        assert!(left.is_empty(), "{seed}: {}\nthen {}", drafts::shown(&first), drafts::shown(&left));
        followed += u32::from(first.len() > 1);
    }
    assert!(followed > 20, "{followed}");
}

/// A limit that would not fit in 64 bits in whole MiB is given in bytes.
#[test]
fn a_limit_that_is_advised_is_one() {
    let mut draft = empty(&[0]);
    draft.tasks.push(periodic("t0", "10ms", "10ms", "1ms"));
    draft.tasks.push(TaskDraft {
        name: "other".into(),
        service: None,
        class: ClassDraft::BestEffort(BestEffort::default()),
    });
    let rest = {
        let model = drafts::model(&draft);
        Planned::make(&model, Vec::new()).plan.memory.total.as_bytes()
    };
    drafts::task(&mut draft, "t0").persistent = Size::from_bytes(u64::MAX - rest - 1000);
    each(0, &draft, &mut BTreeMap::new());
    let (mut sum, mut seen) = (draft.clone(), BTreeMap::new());
    drafts::task(&mut sum, "t0").persistent = Size::from_bytes(u64::MAX - 128);
    assert!(wrong(&sum).contains(&(codes::MEMORY_EXCEEDED, "platform.memory".into())));
    each(0, &draft, &mut seen);
    assert_eq!(seen["memory"], (1, 1));
}
