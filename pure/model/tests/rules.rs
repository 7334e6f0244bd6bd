// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Rules on drafts that no manifest can express, at the ends of the number ranges, and without cascades.

use std::collections::BTreeSet;

use taut_model::{
    App, ArrivalDraft, BestEffort, ChainDraft, ChannelDraft, ChannelKind, ClassDraft, ClientDraft,
    ClientKind, Code, Cost, Draft, Evidence, OnMissingPrivilege, OverflowPolicy, OverheadSources, Overheads,
    Payload, PayloadField, Platform, RealTimeDraft, Reception, Scalar, SchedulingPolicy, ServiceDraft,
    ServiceStart, Size, Stated, TaskDraft, TriggerDraft, codes,
};
use taut_time::Duration;

fn empty() -> Draft {
    Draft {
        app: App { name: "demo".into(), ..App::default() },
        platform: Platform {
            cores: vec![1],
            housekeeping: vec![0],
            scheduler: SchedulingPolicy::FixedPriority,
            memory: Size::from_bytes(1 << 30),
            overheads: Overheads {
                release: Duration::ZERO,
                context_switch: Duration::ZERO,
                kernel_blocking: Duration::ZERO,
                lock: Duration::ZERO,
                sources: OverheadSources::default(),
                copy: Duration::ZERO,
                device: Duration::ZERO,
            },
            on_missing_privilege: OnMissingPrivilege::Fail,
            minimise: taut_model::Aim::Memory,
            executor: taut_model::Executor::Auto,
            group: None,
        },
        payloads: vec![Payload::new(
            "Sample",
            vec![PayloadField { name: String::new(), scalar: Scalar::F32, len: 1 }],
        )],
        services: Vec::new(),
        modes: Vec::new(),
        resources: Vec::new(),
        servers: Vec::new(),
        tasks: Vec::new(),
        clients: Vec::new(),
        channels: Vec::new(),
        chains: Vec::new(),
        faulty: BTreeSet::new(),
    }
}

fn service(name: &str) -> ServiceDraft {
    ServiceDraft { name: name.into(), persistent: Size::ZERO, start: ServiceStart::Boot, on_failure: None }
}

fn task(name: &str, period: Duration) -> TaskDraft {
    TaskDraft {
        name: name.into(),
        service: None,
        class: ClassDraft::RealTime(RealTimeDraft {
            arrival: ArrivalDraft::Periodic { period, offset: Duration::ZERO },
            stated: Stated::new(
                period,
                Cost { value: Duration::from_ns(1), source: Evidence::Guess, margin_permille: 0 },
            ),
            evidence: Vec::new(),
            sections: Vec::new(),
            segments: Vec::new(),
            server: None,
            core: None,
            priority: None,
        }),
    }
}

fn real_time(task: &mut TaskDraft) -> &mut RealTimeDraft {
    match &mut task.class {
        ClassDraft::RealTime(real_time) => real_time,
        ClassDraft::BestEffort(_) => panic!("not real-time"),
    }
}

fn queue(name: &str, from: &str, to: &str) -> ChannelDraft {
    ChannelDraft {
        name: name.into(),
        kind: ChannelKind::Queue,
        from: vec![from.into()],
        to: vec![to.into()],
        payload: "Sample".into(),
        one_of: Vec::new(),
        capacity: None,
        overflow: OverflowPolicy::Reject,
        reception: Reception::default(),
        flow: taut_model::Flow::Newest,
        delayed: Vec::new(),
        mechanism: None,
        sends_per_release: 1,
        takes_per_release: 1,
        order: None,
        order_by: None,
        sends_by_sender: Vec::new(),
        late: None,
        lane: None,
        source: None,
        request: false,
        reply: None,
        answers: None,
        broadcast: false,
        record: false,
        history: 0,
    }
}

fn pair(sent_every: Duration, taken_every: Duration) -> Draft {
    let mut draft = empty();
    draft.tasks = vec![task("writer", sent_every), task("reader", taken_every)];
    draft.channels = vec![queue("values", "writer", "reader")];
    draft
}

/// The codes of the draft's faults. There must be a model exactly if none of them is an error.
fn check(draft: Draft) -> Vec<Code> {
    let complete = draft.faulty.is_empty();
    let (model, faults) = draft.build();
    let warnings = [codes::UNUSED, codes::LATE_OFFSET];
    assert_eq!(
        model.is_some(),
        complete && faults.iter().all(|fault| warnings.contains(&fault.code)),
        "{faults:?}"
    );
    faults.into_iter().map(|fault| fault.code).collect()
}

#[test]
fn a_draft_without_fault_is_a_model() {
    let mut draft = pair(Duration::from_ms(8), Duration::from_ms(8));
    draft.chains.push(ChainDraft {
        name: "through".into(),
        path: vec!["writer".into(), "values".into(), "reader".into()],
        max_latency: Duration::from_ms(9),
        max_reaction: None,
    });
    let (model, faults) = draft.build();
    assert!(faults.is_empty(), "{faults:?}");
    let model = model.unwrap();
    assert_eq!(model.chains()[0].path.len(), 3);
    assert_eq!(model.party_name(model.channels()[0].writer), "writer");
}

#[test]
fn rates_are_compared_exactly() {
    let ns = Duration::from_ns;
    assert_eq!(check(pair(ns(1_000_000_007), ns(1_000_000_007))), []);
    assert_eq!(check(pair(ns(1_000_000_006), ns(1_000_000_007))), [codes::RATE_OVERFLOW]);
    assert_eq!(check(pair(ns(1_000_000_008), ns(1_000_000_007))), []);
    // The products are far above 64 bits.
    let mut draft = pair(ns(u64::MAX - 1), Duration::MAX);
    draft.platform.memory = Size::from_bytes(u64::MAX);
    draft.channels[0].sends_per_release = u32::MAX;
    draft.channels[0].takes_per_release = u32::MAX;
    assert_eq!(check(draft.clone()), [codes::RATE_OVERFLOW]);
    draft.channels[0].sends_per_release -= 1;
    assert_eq!(check(draft), []);
}

#[test]
fn a_writer_without_a_gap_may_be_refused() {
    let mut draft = pair(Duration::from_ms(1), Duration::from_ms(8));
    draft.tasks[0].class = ClassDraft::BestEffort(BestEffort::default());
    assert_eq!(check(draft.clone()), []);
    draft.tasks[0].class =
        ClassDraft::BestEffort(BestEffort { min_gap: Some(Duration::from_ms(7)), server: None });
    assert_eq!(check(draft.clone()), [codes::RATE_OVERFLOW]);
    draft.tasks[0].class = ClassDraft::BestEffort(BestEffort { min_gap: Some(Duration::ZERO), server: None });
    assert_eq!(check(draft), [codes::ZERO_PERIOD]);
}

#[test]
fn sums_do_not_wrap() {
    let mut draft = empty();
    draft.tasks.push(task("a", Duration::MAX));
    let a = real_time(&mut draft.tasks[0]);
    a.wcet = Cost { value: Duration::from_ns(u64::MAX - 1), source: Evidence::Guess, margin_permille: 1 };
    assert!(check(draft).contains(&codes::BAD_WCET));

    let mut draft = empty();
    draft.payloads[0].fields[0].len = u32::MAX;
    assert!(check(draft).contains(&codes::BAD_LAYOUT));
}

#[test]
fn names_are_unique_where_the_format_does_not_see_to_it() {
    let mut draft = pair(Duration::from_ms(8), Duration::from_ms(8));
    draft.tasks.push(task("reader", Duration::from_ms(8)));
    draft.channels.push(queue("values", "writer", "reader"));
    draft.payloads.push(draft.payloads[0].clone());
    draft.services = vec![service("s"); 2];
    draft.clients =
        vec![
            ClientDraft { name: "writer".into(), kind: ClientKind::Process, max_attached: 1, min_gap: None };
            2
        ];
    let found = check(draft);
    assert_eq!(found.iter().filter(|code| **code == codes::DUPLICATE_NAME).count(), 7, "{found:?}");
}

#[test]
fn numbers_that_a_manifest_refuses_are_refused_here_too() {
    let mut draft = pair(Duration::from_ms(8), Duration::from_ms(8));
    draft.channels[0].sends_per_release = 0;
    draft.channels[0].takes_per_release = 0;
    assert_eq!(check(draft), [codes::OUT_OF_RANGE, codes::OUT_OF_RANGE]);
    for (budget, faults) in [(0, 1), (1, 0), (1_000_000_000, 0), (1_000_000_001, 1)] {
        let mut draft = pair(Duration::from_ms(8), Duration::from_ms(8));
        draft.app.safe_state = Some(Duration::from_ns(budget));
        assert_eq!(check(draft), vec![codes::OUT_OF_RANGE; faults], "{budget}");
    }
    for capacity in [i64::MIN, 0, 65_537, i64::MAX] {
        let mut draft = pair(Duration::from_ms(8), Duration::from_ms(8));
        draft.channels[0].capacity = Some(capacity);
        assert_eq!(check(draft), [codes::BAD_CAPACITY], "{capacity}");
    }
    for priority in [i64::MIN, 0, 99, 100, i64::MAX] {
        let mut draft = pair(Duration::from_ms(8), Duration::from_ms(8));
        real_time(&mut draft.tasks[0]).priority = Some(priority);
        assert_eq!(check(draft), [codes::PRIORITY_RANGE], "{priority}");
    }
}

#[test]
fn a_core_has_98_priorities() {
    let mut draft = empty();
    draft.payloads.clear();
    draft.tasks = (0..98).map(|i| task(&format!("t{i}"), Duration::from_ms(1))).collect();
    assert_eq!(check(draft.clone()), []);
    draft.tasks.push(task("one-more", Duration::from_ms(1)));
    assert_eq!(check(draft.clone()), [codes::CORE_FULL]);
    draft.platform.cores.push(2);
    assert_eq!(check(draft), [], "the plan chooses a core");
}

#[test]
fn equal_priorities_on_different_cores_are_no_tie() {
    let mut draft = pair(Duration::from_ms(8), Duration::from_ms(8));
    for task in &mut draft.tasks {
        real_time(task).priority = Some(5);
    }
    assert_eq!(check(draft.clone()), [codes::PRIORITY_SHARED]);
    draft.platform.cores = vec![1, 2];
    real_time(&mut draft.tasks[0]).core = Some(1);
    real_time(&mut draft.tasks[1]).core = Some(2);
    assert_eq!(check(draft), []);
}

#[test]
fn more_than_can_be_numbered() {
    let mut draft = empty();
    draft.clients = (0..=u32::from(u16::MAX))
        .map(|i| ClientDraft {
            name: format!("c{i}"),
            kind: ClientKind::Process,
            max_attached: 1,
            min_gap: None,
        })
        .collect();
    assert_eq!(check(draft.clone()), [codes::TOO_MANY]);
    draft.clients.pop();
    draft.payloads.clear();
    assert!(check(draft).iter().all(|code| *code == codes::UNUSED));
}

#[test]
fn what_is_faulty_is_not_reported_again() {
    let mut draft = pair(Duration::from_ms(8), Duration::from_ms(8));
    draft.tasks.clear();
    draft.tasks.push(task("writer", Duration::from_ms(8)));
    draft.payloads.clear();
    draft.services.push(service("unused"));
    let path = vec!["writer".into(), "values".into(), "reader".into()];
    draft.chains.push(ChainDraft {
        name: "through".into(),
        path,
        max_latency: Duration::from_ms(9),
        max_reaction: None,
    });
    assert_eq!(check(draft.clone()).len(), 4, "reader twice, the payload, and the service that nobody uses");
    draft.faulty.insert("tasks.reader".into());
    draft.faulty.insert("payloads".into());
    assert_eq!(check(draft), []);
}

/// A neutral value stands for a faulty one: no rule reports it, and every other rule still runs.
#[test]
fn every_rule_runs_around_what_is_faulty() {
    let ms = Duration::from_ms;
    let mut draft = pair(ms(8), ms(8));
    {
        let writer = real_time(&mut draft.tasks[0]);
        writer.arrival = ArrivalDraft::Periodic { period: Duration::ZERO, offset: Duration::ZERO };
        writer.wcet.value = ms(9);
        writer.core = Some(7);
        writer.priority = Some(120);
    }
    let given = check(draft.clone());
    assert!(given.contains(&codes::ZERO_PERIOD) && given.contains(&codes::WCET_OVER_DEADLINE), "{given:?}");
    for path in ["tasks.writer.arrival.periodic", "tasks.writer.arrival"] {
        draft.faulty = BTreeSet::from([path.into()]);
        let rest = [codes::CORE_NOT_OWNED, codes::PRIORITY_RANGE, codes::WCET_OVER_DEADLINE];
        assert_eq!(check(draft.clone()), rest, "{path}");
    }
    draft.faulty = BTreeSet::from(["tasks.writer".into()]);
    assert_eq!(check(draft), []);
}

#[test]
fn a_receiver_takes_one_value() {
    let ms = Duration::from_ms;
    let mut draft = pair(ms(8), ms(8));
    real_time(&mut draft.tasks[1]).arrival =
        ArrivalDraft::Sporadic { min_gap: ms(8), triggers: TriggerDraft::only("values"), device: None };
    assert_eq!(check(draft.clone()), []);
    draft.channels[0].takes_per_release = 2;
    assert_eq!(check(draft.clone()), [codes::RECEIVER_TAKES]);
    // `takes-per-release` of a receiver does not make up for the rate.
    draft.channels[0].sends_per_release = 2;
    assert_eq!(check(draft), [codes::RECEIVER_TAKES, codes::RATE_OVERFLOW]);
}

/// Triggers of a task: `triggers = [..]`.
fn triggers(names: &[&str]) -> Vec<TriggerDraft> {
    let one =
        |(at, name): (usize, &&str)| TriggerDraft { channel: (*name).into(), key: format!("triggers.{at}") };
    names.iter().enumerate().map(one).collect()
}

#[test]
fn several_channels_release_a_task() {
    let ms = Duration::from_ms;
    let draft = |triggers: Vec<TriggerDraft>| {
        let mut draft = pair(ms(8), ms(8));
        draft.tasks.push(task("also", ms(4)));
        draft.channels.push(queue("others", "also", "reader"));
        draft.channels[1].takes_per_release = 2;
        real_time(&mut draft.tasks[1]).arrival =
            ArrivalDraft::Sporadic { min_gap: ms(8), triggers, device: None };
        draft
    };
    let both = draft(triggers(&["values", "others"]));
    let (model, faults) = both.clone().build();
    assert!(faults.is_empty(), "{faults:?}");
    let model = model.unwrap();
    let reader = model.task_ids().nth(1).unwrap();
    let names = model.triggers(reader).iter().map(|id| model.channel(*id).name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["values", "others"]);
    assert!(model.channel_ids().all(|id| model.releases(id, taut_model::PartyId::Task(reader))));

    assert_eq!(check(draft(Vec::new())), [codes::BAD_TRIGGER], "none");
    // Nothing then bounds the other queue.
    let twice = check(draft(triggers(&["values", "values"])));
    assert_eq!(twice, [codes::NO_DELIVERY, codes::BAD_TRIGGER], "twice");
    let mut mixed = triggers(&["values"]);
    mixed.extend(TriggerDraft::only("others"));
    assert_eq!(check(draft(mixed)), [codes::BAD_TRIGGER], "both keys");
    assert_eq!(check(draft(triggers(&["values", "other"]))), [codes::DANGLING_NAME]);
    // Each job takes from all of them: a queue is as long as its own rate asks for.
    let mut slow = both;
    slow.channels[1].takes_per_release = 1;
    assert_eq!(check(slow), [codes::RATE_OVERFLOW]);
    let mut many = draft(Vec::new());
    let names: Vec<String> = (0..101).map(|at| format!("q{at}")).collect();
    many.channels.extend(names.iter().map(|name| queue(name, "writer", "reader")));
    let names: Vec<&str> = ["values", "others"].into_iter().chain(names.iter().map(String::as_str)).collect();
    real_time(&mut many.tasks[1]).arrival =
        ArrivalDraft::Sporadic { min_gap: ms(1), triggers: triggers(&names), device: None };
    assert_eq!(check(many), [codes::BAD_TRIGGER], "too many to wait for");
}

/// A queue between real-time tasks is bounded by its reader's period, or by what it releases.
#[test]
fn something_bounds_when_a_reader_looks_at_a_queue() {
    let ms = Duration::from_ms;
    let draft = |names: &[&str]| {
        let mut draft = pair(ms(8), ms(8));
        draft.tasks.push(task("tick", ms(8)));
        draft.channels.push(queue("ticks", "tick", "reader"));
        real_time(&mut draft.tasks[1]).arrival =
            ArrivalDraft::Sporadic { min_gap: ms(8), triggers: triggers(names), device: None };
        draft
    };
    // Were the tick paused, `values` would be full after some releases of its writer.
    let (_, faults) = draft(&["ticks"]).build();
    let [fault] = faults.as_slice() else { panic!("{faults:?}") };
    assert_eq!(fault.code, codes::NO_DELIVERY);
    assert_eq!(fault.message, "queue `values`: nothing bounds when `reader` looks at it");
    assert_eq!(fault.primary.text, "other channels release it");
    assert_eq!(check(draft(&["values", "ticks"])), []);
    // A writer that is not real-time learns that the queue is full.
    let mut best = draft(&["ticks"]);
    best.tasks[0].class = ClassDraft::BestEffort(BestEffort::default());
    assert_eq!(check(best), []);
    // A trigger that does not exist may be the queue's name misspelt.
    assert_eq!(check(draft(&["value"])), [codes::DANGLING_NAME]);
}

/// Tasks that trigger each other start if something else triggers one of them.
#[test]
fn a_circle_of_triggers_starts_from_outside() {
    let ms = Duration::from_ms;
    let mut draft = pair(ms(8), ms(8));
    draft.tasks.push(task("starts", ms(80)));
    draft.channels.push(queue("back", "reader", "writer"));
    draft.channels.push(queue("first", "starts", "writer"));
    let released = |triggers| ArrivalDraft::Sporadic { min_gap: ms(8), triggers, device: None };
    real_time(&mut draft.tasks[1]).arrival = released(TriggerDraft::only("values"));
    let mut closed = draft.clone();
    closed.channels.pop();
    closed.tasks.pop();
    real_time(&mut closed.tasks[0]).arrival = released(TriggerDraft::only("back"));
    assert_eq!(check(closed), [codes::TRIGGER_CYCLE]);
    real_time(&mut draft.tasks[0]).arrival = released(triggers(&["back", "first"]));
    assert_eq!(check(draft), []);
}

/// Only readers that are not real-time lose values or wait, and only a real-time writer drops or wakes.
#[test]
fn queues_that_leave_the_real_time_side() {
    let best = |name: &str| TaskDraft {
        name: name.into(),
        service: None,
        class: ClassDraft::BestEffort(BestEffort::default()),
    };
    let ms = Duration::from_ms;
    let draft = |from: &str, to: &[&str], overflow, reception| {
        let mut draft = empty();
        draft.tasks = vec![task("control", ms(1)), task("output", ms(1)), best("logger"), best("source")];
        draft.clients = vec![ClientDraft {
            name: "ui".into(),
            kind: ClientKind::Process,
            max_attached: 1,
            min_gap: Some(ms(7)),
        }];
        let to = to.iter().map(|name| (*name).to_owned()).collect();
        draft.channels = vec![ChannelDraft { to, overflow, reception, ..queue("values", from, "") }];
        let unused = [codes::UNUSED];
        check(draft).into_iter().filter(|code| !unused.contains(code)).collect::<Vec<_>>()
    };
    use OverflowPolicy::{Clear, DropOldest, Reject};
    use Reception::{Poll, Wait};
    for overflow in [DropOldest, Clear] {
        for reception in [Poll, Wait] {
            assert_eq!(draft("control", &["logger"], overflow, reception), []);
            assert_eq!(draft("control", &["ui"], overflow, reception), []);
            assert_eq!(draft("control", &["logger", "ui", "source"], overflow, reception), []);
        }
        assert_eq!(draft("control", &["output"], overflow, Poll), [codes::BAD_OVERFLOW]);
        assert_eq!(draft("source", &["output"], overflow, Poll), [codes::BAD_OVERFLOW]);
        assert_eq!(draft("ui", &["output"], overflow, Poll), [codes::BAD_OVERFLOW]);
        let both = [codes::MANY_READERS, codes::BAD_OVERFLOW];
        assert_eq!(draft("control", &["output", "logger"], overflow, Poll), both);
    }
    // The gap of a client bounds what it sends, and says nothing of how often it reads.
    assert_eq!(draft("control", &["ui"], Reject, Wait), []);
    assert_eq!(draft("control", &["logger"], Reject, Poll), []);
    assert_eq!(draft("control", &["logger", "ui"], Reject, Poll), [codes::MANY_READERS]);
    assert_eq!(draft("source", &["ui"], Reject, Poll), [codes::NO_MECHANISM]);
    assert_eq!(draft("source", &["logger"], Reject, Poll), [codes::NO_MECHANISM]);
    assert_eq!(draft("control", &["output"], Reject, Wait), [codes::BAD_RECEPTION]);
    assert_eq!(draft("source", &["output"], Reject, Wait), [codes::BAD_RECEPTION]);
}

/// Broadcasts between all sets of parties, with every policy and reception, beside a statement of what is refused.
#[test]
fn broadcasts_of_all_parties() {
    let ms = Duration::from_ms;
    let best = |name: &str| TaskDraft {
        name: name.into(),
        service: None,
        class: ClassDraft::BestEffort(BestEffort::default()),
    };
    // By name: whether it is real-time. `seen` is released by a queue of its own, so nothing bounds when it looks at another.
    let parties = [("fast", true), ("slow", true), ("seen", true), ("logger", false), ("ui", false)];
    let policies = [OverflowPolicy::Reject, OverflowPolicy::DropOldest, OverflowPolicy::Clear];
    let (mut accepted, mut refused) = (0, 0);
    for writer in ["control", "plays", "screen"] {
        for set in 1..1 << parties.len() {
            let to: Vec<_> =
                (0..parties.len()).filter(|at| set >> at & 1 == 1).map(|at| parties[at]).collect();
            for overflow in policies {
                for reception in [Reception::Poll, Reception::Wait] {
                    let mut draft = empty();
                    draft.tasks = vec![task("control", ms(4)), task("fast", ms(2)), task("slow", ms(8))];
                    draft.tasks.extend([task("seen", ms(2)), best("logger"), best("plays")]);
                    real_time(&mut draft.tasks[3]).arrival = ArrivalDraft::Sporadic {
                        min_gap: ms(2),
                        triggers: TriggerDraft::only("own"),
                        device: None,
                    };
                    let client = |name: &str| ClientDraft {
                        name: name.into(),
                        kind: ClientKind::Process,
                        max_attached: 1,
                        min_gap: None,
                    };
                    draft.clients = vec![client("ui"), client("screen")];
                    let names = to.iter().map(|(name, _)| (*name).to_owned()).collect();
                    let values = queue("values", writer, "");
                    draft.channels = vec![
                        ChannelDraft { to: names, overflow, reception, broadcast: true, ..values },
                        queue("own", "control", "seen"),
                    ];
                    let found: std::collections::BTreeSet<_> =
                        check(draft).into_iter().filter(|code| *code != codes::UNUSED).collect();
                    let has = |name: &str| to.iter().any(|(party, _)| *party == name);
                    let (urgent, real_time) = (to.iter().any(|(_, urgent)| *urgent), writer == "control");
                    let observed = to.iter().any(|(_, urgent)| !urgent);
                    let mut expected = std::collections::BTreeSet::new();
                    let mut expect = |is: bool, code| _ = is.then(|| expected.insert(code));
                    expect(
                        writer == "screen" || !urgent && !real_time && overflow == OverflowPolicy::Reject,
                        codes::NO_MECHANISM,
                    );
                    expect(overflow != OverflowPolicy::Reject, codes::BAD_OVERFLOW);
                    expect(has("seen"), codes::NO_DELIVERY);
                    // One every 4 ms, and one taken every 8 ms.
                    expect(has("slow") && real_time, codes::RATE_OVERFLOW);
                    expect(reception == Reception::Wait && !(real_time && observed), codes::BAD_RECEPTION);
                    assert_eq!(found, expected, "{writer} -> {to:?}, {overflow:?}, {reception:?}");
                    if found.is_empty() { accepted += 1 } else { refused += 1 }
                }
            }
        }
    }
    assert!(accepted > 20 && refused > 400, "{accepted} {refused}");
}
