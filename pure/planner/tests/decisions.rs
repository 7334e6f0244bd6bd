// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What is decided for states, and what the whole would be with each other mechanism: texts and figures worked out
//! by hand.

mod drafts;

use drafts::{Edit, model, payload, periodic, plan, sharing, shown, size, state, task, time};
use taut_model::{
    Aim, ChainDraft, Draft, Executor, Scalar, SchedulingPolicy, ServerDraft, ServerPolicy, Severity,
};
use taut_plan::{ClassPlan, Mechanism, Overrides, Pin, Plan};
use taut_planner::{Planned, why_channel};
use taut_time::Duration;

fn why(draft: &Draft, overrides: &Overrides) -> String {
    why_channel(&model(draft), overrides, "map").expect("a channel")
}

/// The table of [`why`], words apart by one space, without its heading; by mechanism.
fn rows(draft: &Draft, overrides: &Overrides) -> Vec<String> {
    let text = why(draft, overrides);
    let (_, table) = text.split_once("\n\n").expect("a table");
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    table.lines().skip(1).map(line).collect()
}

fn minimising(aim: Aim) -> Overrides {
    Overrides { minimise: Some(aim), pins: Vec::new() }
}

/// 4,096 bytes with the stamp, of which a copy takes 4 us; a lock takes 2 us.
#[test]
fn all_that_serve() {
    assert_eq!(
        why(&sharing([0, 0, 0]), &Overrides::default()),
        "map: writer -> near, far
SRP: state of real-time tasks on one core, under a ceiling: no task that uses the state preempts its holder; one copy, held for 4.00 µs

  mechanism      bytes    writer    reader
  SRP             4096  +2.00 µs  +2.00 µs  taken
  Improved Chen  12672     +0 ns     +0 ns  would do
  NBW            16512     +0 ns     +0 ns  would do
  Presence       16640     +0 ns     +0 ns  would do
  Chen           16768     +0 ns     +0 ns  would do
  Peterson       17024  +8.00 µs  +4.00 µs  would do
  Hybrid         17024     +0 ns     +0 ns  would do
  Double Buffer  24960     +0 ns     +0 ns  would do
"
    );
    // A job sends three values and takes two: each acquires the lock, or adds the copies after the first.
    let mut several = sharing([0, 0, 1]);
    (several.channels[0].sends_per_release, several.channels[0].takes_per_release) = (3, 2);
    let pin =
        Overrides { minimise: None, pins: vec![Pin { channel: "map".into(), mechanism: Mechanism::Chen }] };
    assert_eq!(
        rows(&several, &pin),
        [
            "MSRP 4224 +6.00 µs +4.00 µs would do",
            "MPCP 4352 +6.00 µs +4.00 µs `writer` would take 4.24 ms, due in 4ms",
            "Presence 16640 +0 ns +0 ns would do",
            "Chen 16768 +0 ns +0 ns taken, since it is pinned",
            "Improved Chen 16768 +0 ns +0 ns would do",
            "Peterson 17024 +24.0 µs +8.00 µs would do",
            "Hybrid 17024 +0 ns +0 ns would do",
            "NBW 20608 +0 ns +0 ns would do",
            "Double Buffer 24960 +0 ns +0 ns would do",
        ]
    );
    let choice = plan(&several).plan.channels[0].choice.clone().expect("a choice");
    assert_eq!((choice.writer, choice.reader), (time("6us"), time("4us")));
    assert_eq!(choice.next.expect("others do").mechanism, Mechanism::Presence);
    assert_eq!(choice.cheaper, []);
}

/// Without a lock `writer` takes 0.64 of 4 ms, `near` 1.17 of 5 ms and `far` 0.64 of 20 ms: 16, 23.4 and 3.2 %.
#[test]
fn told_by_aim() {
    let draft = sharing([0, 0, 1]);
    for (aim, taken, msrp, peterson) in [
        (Aim::Memory, "Improved Chen 12672 +0 ns +0 ns would do", "taken", "would do"),
        (
            Aim::Response,
            "Improved Chen 12672 +0 ns +0 ns taken; responses are 42.6 % of deadlines in all",
            "would do; responses are 54.4 % of deadlines in all",
            "would do; responses are 43.1 % of deadlines in all",
        ),
        (
            Aim::Slack,
            "Improved Chen 12672 +0 ns +0 ns taken; 76.6 % slack at least",
            "would do; 71.8 % slack at least",
            "would do; 76.3 % slack at least",
        ),
    ] {
        let rows = rows(&draft, &minimising(aim));
        assert_eq!(rows[0], format!("MSRP 4224 +2.00 µs +2.00 µs {msrp}"));
        assert_eq!(rows[2], taken);
        assert_eq!(rows[6], format!("Peterson 17024 +8.00 µs +4.00 µs {peterson}"));
    }
}

/// Why the plan does not take a lock although its object is the smallest.
#[test]
fn in_the_way_of_a_lock() {
    let of = |edit: fn(&mut Draft)| {
        let mut draft = sharing([0, 0, 1]);
        edit(&mut draft);
        draft
    };
    let auto = of(|draft| draft.platform.executor = Executor::Auto);
    let more = "it would need 1017 KiB more in total, with the memory of a lock besides its value";
    let native = of(|draft| draft.platform.executor = Executor::Native);
    let linux = "the native executor has no locks: `executor = \"native\"`";
    let guess = of(|draft| draft.platform.overheads.sources.lock = None);
    let guessed = "its cost would be a guess: `overheads.lock` is not stated";
    let late = of(|draft| task(draft, "near").deadline = time("700us"));
    let due = |at: &str| format!("`near` would take {at}, due in 700us");
    let long = of(|draft| draft.platform.overheads.copy = time("200us"));
    let copying = "by `overheads.copy`, `writer` needs 800 µs for copies, but it executes for 500us";
    for (draft, msrp, mpcp, shown) in [
        (auto, more.to_owned(), more.to_owned(), "would do; "),
        (native, linux.into(), linux.into(), ""),
        (guess, guessed.into(), guessed.into(), ""),
        (late, due("889 µs"), due("1.65 ms"), ""),
        (long, copying.into(), copying.into(), ""),
    ] {
        let rows = rows(&draft, &Overrides::default());
        let row = |name: &str| rows.iter().find(|row| row.starts_with(name)).expect("it serves").clone();
        assert!(row("MSRP").ends_with(&format!("+2.00 µs +2.00 µs {shown}{msrp}")), "{rows:?}");
        assert!(row("MPCP").ends_with(&format!("+2.00 µs +2.00 µs {shown}{mpcp}")), "{rows:?}");
        assert_eq!(row("Improved Chen"), "Improved Chen 12672 +0 ns +0 ns taken");
        // The plan says the same.
        let choice = plan(&draft).plan.channels[0].choice.clone().expect("a choice");
        let cheaper: Vec<_> =
            choice.cheaper.into_iter().map(|other| (other.mechanism, other.bytes, other.refused)).collect();
        let refused = [(Mechanism::Msrp, Some(4224), Some(msrp)), (Mechanism::Mpcp, Some(4352), Some(mpcp))];
        assert_eq!(cheaper, refused);
        let next = choice.next.expect("others do");
        assert_eq!((next.mechanism, next.bytes, next.refused), (Mechanism::Nbw, Some(16_512), None));
        assert_eq!((choice.writer, choice.reader), (Duration::ZERO, Duration::ZERO));
    }
    // For another aim, bytes do not matter.
    let auto = rows(&of(|draft| draft.platform.executor = Executor::Auto), &minimising(Aim::Response));
    let msrp = auto.iter().find(|row| row.starts_with("MSRP")).expect("it serves");
    assert_eq!(msrp, "MSRP 4224 +2.00 µs +2.00 µs would do; responses are 54.4 % of deadlines in all");
    // Nothing is locked in a server.
    let served = of(|draft| {
        (task(draft, "far").server, task(draft, "far").core) = (Some("s".into()), None);
        draft.servers = vec![ServerDraft {
            name: "s".into(),
            policy: ServerPolicy::Sporadic,
            budget: time("1ms"),
            period: time("4ms"),
            core: None,
            priority: None,
        }];
    });
    assert!(rows(&served, &Overrides::default())[0].starts_with("Improved Chen "));
}

/// What is said of a plan that is not proven, and of mechanisms that would not prove it either.
#[test]
fn not_proven_as_it_is() {
    let with = |latency: &str, reaction: Option<&str>, memory: &str| {
        let mut draft = sharing([0, 0, 1]);
        draft.chains = vec![ChainDraft {
            name: "c".into(),
            path: ["writer", "map", "far"].map(String::from).to_vec(),
            max_latency: time(latency),
            max_reaction: reaction.map(time),
        }];
        draft.platform.memory = size(memory);
        draft
    };
    let memory = "the plan needs more memory than the platform gives";
    for (draft, now, chen) in [
        (
            with("1ms", None, "64MiB"),
            "chain `c` would take 5.70 ms, 1ms allowed",
            "chain `c` would take 5.28 ms, 1ms allowed",
        ),
        (
            with("1s", Some("2ms"), "64MiB"),
            "chain `c` would react too late",
            "chain `c` would react too late",
        ),
        (with("1s", None, "1MiB"), memory, memory),
    ] {
        let text = why(&draft, &Overrides::default());
        assert_eq!(text.lines().nth(2), Some(&*format!("NOT PROVEN as it is: {now}")));
        let rows = rows(&draft, &Overrides::default());
        assert_eq!(rows[0], "MSRP 4224 +2.00 µs +2.00 µs taken");
        assert_eq!(rows[5], format!("Chen 16768 +0 ns +0 ns {chen}"));
    }
    let kept = with("5280us", Some("1s"), "64MiB");
    assert!(
        rows(&kept, &Overrides::default())[2].ends_with("taken"),
        "only without a lock is it within 5.28 ms"
    );
    assert!(plan(&kept).plan.proven);
    let lock = &rows(&kept, &Overrides::default())[0];
    assert!(lock.ends_with("chain `c` would take 5.70 ms, 5.28ms allowed"), "{lock}");
    // A latency that is exactly as long as allowed is kept.
    let latency = plan(&with("1s", None, "64MiB")).plan.chains[0].latency.expect("a bound");
    let text = why(&with(&latency.to_string(), Some("2ms"), "64MiB"), &Overrides::default());
    assert_eq!(text.lines().nth(2), Some("NOT PROVEN as it is: chain `c` would react too late"));
}

/// The measures of a plan: total memory, Σ R / D and the least slack in millionths.
fn comes_to(plan: &Plan) -> Option<(u64, u64, u64)> {
    let (mut sum, mut slack) = (0, u64::MAX);
    for task in plan.proven.then_some(&plan.tasks)? {
        let ClassPlan::RealTime { response: Some(response), deadline, .. } = &task.class else { continue };
        let (response, deadline) = (response.as_ns(), deadline.as_ns());
        sum += (response * 1_000_000).div_ceil(deadline);
        slack = slack.min((deadline - response) * 1_000_000 / deadline);
    }
    Some((plan.memory.total.as_bytes(), sum, slack))
}

/// Every pair of mechanisms for two states: if the search says that it has found the best, none is nearer to the
/// aim; and no single lock in place of a chosen mechanism is nearer, ties included.
#[test]
fn nothing_is_nearer_to_the_aim() {
    let (mut best, mut locks, mut free) = (0, 0, 0);
    // Cores, a dispatcher that is not there without a lock, a tight deadline and a tight chain, EDF.
    for round in [0b0000u32, 0b0001, 0b0010, 0b0100, 0b0101, 0b1000, 0b1010] {
        let set = |bit: u32| round >> bit & 1 == 1;
        let mut draft = sharing(if set(0) { [0, 1, 0] } else { [0, 0, 1] });
        if set(1) {
            draft.platform.executor = Executor::Auto;
            draft.payloads[0].fields[0].len = 30_000;
        }
        if set(2) {
            task(&mut draft, "near").deadline = time("1700us");
            draft.chains = vec![ChainDraft {
                name: "c".into(),
                path: ["writer", "map", "far"].map(String::from).to_vec(),
                max_latency: time("6ms"),
                max_reaction: None,
            }];
        }
        draft.platform.scheduler =
            if set(3) { SchedulingPolicy::Edf } else { SchedulingPolicy::FixedPriority };
        draft.channels.push(state("log", "far", "near", "Map"));
        let mut all = Vec::new();
        for first in Mechanism::ALL {
            for second in Mechanism::ALL {
                let mut with = draft.clone();
                (with.channels[0].mechanism, with.channels[1].mechanism) = (Some(first), Some(second));
                let (Some(model), faults) = with.build() else { continue };
                if faults.iter().all(|fault| fault.severity != Severity::Error) {
                    let figures = comes_to(&Planned::make(&model, Vec::new()).plan);
                    all.extend(figures.map(|figures| ([first, second], figures)));
                }
            }
        }
        let open = model(&draft);
        for aim in [Aim::Memory, Aim::Response, Aim::Slack] {
            let chosen = Planned::make_with(&open, Vec::new(), minimising(aim)).expect("no pins").plan;
            let key = |(bytes, sum, slack): (u64, u64, u64)| match aim {
                Aim::Memory => (bytes, u64::MAX - slack, sum),
                Aim::Response => (sum, bytes, u64::MAX - slack),
                Aim::Slack => (u64::MAX - slack, bytes, sum),
            };
            let mine = comes_to(&chosen).map(key).expect("some selection is proven");
            let now = [chosen.channels[0].mechanism, chosen.channels[1].mechanism];
            let is_best = chosen.decision.as_ref().is_some_and(|decision| decision.best);
            best += u32::from(is_best);
            for &(pins, figures) in &all {
                let other = key(figures);
                let context = format!("{round:b}, {aim:?}: {now:?} {mine:?}, {pins:?} {other:?}");
                assert!(!is_best || mine.0 <= other.0, "{context}");
                let is_lock = |at: usize| pins[1 - at] == now[1 - at] && pins[at].locking().is_some();
                assert!(!(is_lock(0) || is_lock(1)) || mine <= other, "{context}");
            }
            let taken = now.iter().filter(|mechanism| mechanism.locking().is_some()).count();
            (locks, free) = (locks + taken, free + 2 - taken);
        }
    }
    assert!(best > 5 && locks > 5 && free > 5, "{best} {locks} {free}");
}

/// Two locks that fit alone, but not together: a job of `near` or `far` would hold both for longer than it
/// executes. One of them is refused; nothing is proven as if there were none.
#[test]
fn pinned_locks_that_do_not_fit_together() {
    for (len, fits) in [(30_000, true), (60_000, false)] {
        for scheduler in [SchedulingPolicy::FixedPriority, SchedulingPolicy::Edf] {
            let mut draft = sharing([0, 0, 1]);
            draft.payloads[0].fields[0].len = len;
            draft.platform.scheduler = scheduler;
            draft.channels.push(state("log", "far", "near", "Map"));
            draft.channels.iter_mut().for_each(|channel| channel.mechanism = Some(Mechanism::Msrp));
            let planned = plan(&draft);
            let locks = planned.plan.channels.iter().filter(|channel| channel.mechanism == Mechanism::Msrp);
            assert_eq!(planned.plan.proven, fits, "{len} {scheduler:?}: {}", shown(&planned.faults));
            assert_eq!(locks.count(), if fits { 2 } else { 1 });
            let refused = "TAUT0411: MSRP does not fit channel `log`\n  channels.log.mechanism: with the locks of other \
                           channels its parties would copy for longer than they execute\n  \
                           = help: write \"auto\", which chooses a mechanism without a lock\n";
            assert_eq!(shown(&planned.faults), if fits { "" } else { refused });
        }
    }
}

/// The proof does not leave out a copy whose time does not fit in 64 bits: neither with a mechanism that copies
/// again, nor with a lock.
#[test]
fn copies_beyond_all_times() {
    for mechanism in [Mechanism::Peterson, Mechanism::Chen, Mechanism::Msrp] {
        let mut draft = sharing([0, 0, 1]);
        draft.platform.overheads.copy = time("2000000h");
        draft.channels[0].mechanism = Some(mechanism);
        let planned = plan(&draft);
        assert!(!planned.plan.proven, "{mechanism:?}: {}", shown(&planned.faults));
    }
    let mut draft = sharing([0, 0, 1]);
    draft.platform.overheads.copy = time("2000000h");
    assert!(plan(&draft).plan.proven, "what copies once is in what its parties take");
    // The refused channel is the one that does not fit, not the one after it.
    draft.channels[0].mechanism = Some(Mechanism::Peterson);
    draft.channels.push(state("log", "far", "near", "Small"));
    draft.channels[1].mechanism = Some(Mechanism::Chen);
    draft.payloads.push(payload("Small", &[("", Scalar::U64, 8)]));
    let planned = plan(&draft);
    assert!(shown(&planned.faults).starts_with("TAUT0411: Peterson does not fit channel `map`"));
    assert_eq!(planned.faults.len(), 1, "{}", shown(&planned.faults));
    assert_eq!(planned.plan.channels[1].mechanism, Mechanism::Chen);
}

/// The search knows the limits of chains: what it selects is kept, and known to be the best.
#[test]
fn the_search_minds_chains() {
    for (latency, reaction, mechanism) in [
        ("5500us", None, Mechanism::ImprovedChen),
        ("1s", None, Mechanism::Msrp),
        ("1s", Some("1s"), Mechanism::Msrp),
    ] {
        let mut draft = sharing([0, 0, 1]);
        draft.chains = vec![ChainDraft {
            name: "c".into(),
            path: ["writer", "map", "far"].map(String::from).to_vec(),
            max_latency: time(latency),
            max_reaction: reaction.map(time),
        }];
        let planned = plan(&draft);
        assert!(planned.plan.proven, "{}", shown(&planned.faults));
        let best = planned.plan.decision.map(|decision| decision.best);
        assert_eq!(
            (planned.plan.channels[0].mechanism, best),
            (mechanism, Some(true)),
            "{latency} {reaction:?}"
        );
    }
}

/// The first lock of a core that Linux decides on needs a dispatcher; a core that has one anyway needs no more.
#[test]
fn a_dispatcher_is_charged_to_its_core() {
    let taken = |budget: &str| {
        let mut draft = sharing([0, 0, 0]);
        draft.platform.executor = Executor::Auto;
        for (name, period) in [("other", "4ms"), ("beside", "5ms")] {
            let on = periodic(name, period, period, "500us").with(|task| task.core = Some(1));
            draft.tasks.push(on);
        }
        draft.channels.push(state("chart", "other", "beside", "Map"));
        let task = task(&mut draft, budget);
        (task.budget, task.on_overrun) = (Some(time("600us")), taut_model::Overrun::StopApp);
        let planned = plan(&draft);
        assert!(planned.plan.proven, "{}", shown(&planned.faults));
        [0, 1].map(|at: usize| planned.plan.channels[at].mechanism.locking().is_some())
    };
    assert_eq!(taken("near"), [true, false]);
    assert_eq!(taken("beside"), [false, true]);
}

/// Under EDF a plan is the best if each state has the first lock of its parties and all is kept; if not all have
/// it, or not all is kept, it is only the best that was found.
#[test]
fn best_where_each_has_its_lock() {
    use Mechanism::{ImprovedChen, Msrp, Presence, Srp};
    for (cores, deadline, taken, best) in [
        ([0, 0, 0], "5ms", [Srp, Srp], true),
        ([0, 0, 1], "5ms", [Msrp, Msrp], true),
        ([0, 1, 1], "1ms", [Msrp, Srp], true),
        ([0, 0, 1], "1ms", [Msrp, Presence], false),
        ([0, 1, 1], "700us", [ImprovedChen, Srp], false),
        ([0, 0, 1], "700us", [ImprovedChen, Presence], false),
        ([0, 0, 0], "620us", [Srp, Srp], false),
    ] {
        let mut draft = sharing(cores);
        draft.platform.scheduler = SchedulingPolicy::Edf;
        draft.channels.push(state("chart", "far", "near", "Map"));
        task(&mut draft, "near").deadline = time(deadline);
        let plan = plan(&draft).plan;
        let mechanisms = [0, 1].map(|at: usize| plan.channels[at].mechanism);
        let found = plan.decision.map(|decision| decision.best);
        assert_eq!((mechanisms, found), (taken, Some(best)), "{cores:?} {deadline}");
        assert_eq!(plan.proven, deadline != "620us");
    }
    // Under fixed priorities, and of a kind that the search does not cover.
    let mut draft = sharing([0, 0, 0]);
    task(&mut draft, "near").non_preemptive = time("1us");
    let plan = plan(&draft).plan;
    assert_eq!((plan.proven, plan.decision.map(|decision| decision.best)), (true, Some(false)));
}
