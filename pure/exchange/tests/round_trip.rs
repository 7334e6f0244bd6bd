// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Exports random models and reads them back: every difference is reported, and everything reported differs.
#![allow(clippy::unwrap_used, reason = "test code")]

mod read_back;

use std::collections::BTreeSet;
use std::fmt::Write;

use proptest::prelude::*;
use read_back::{Facts, rt_app, simso};
use taut_exchange::{Exported, Options, Target, export, import};
use taut_model::{Model, SchedulingPolicy, Severity, TaskSet};

fn load(text: &str) -> Model {
    let source = taut_manifest::SourceText { name: "taut.toml".into(), text: text.into() };
    let loaded = taut_manifest::load(&source, &[]);
    let faults: Vec<_> = loaded.diagnostics.iter().filter(|one| one.severity == Severity::Error).collect();
    loaded.model.unwrap_or_else(|| panic!("{faults:#?}\n{text}"))
}

/// A task as it was drawn, in units of time.
#[derive(Clone, Debug)]
struct Drawn {
    core: usize,
    period: u64,
    /// In percent of the period.
    offset: u64,
    deadline: u64,
    jitter: u64,
    cost: u64,
    sporadic: bool,
    /// Resources: `true` for the shared one of all cores, `false` for a local one of the core; how often the job
    /// locks it; whether it locks another local one inside.
    uses: Vec<(bool, u32, bool)>,
    placed: bool,
    keeps: bool,
}

fn task() -> impl Strategy<Value = Drawn> {
    let times = (1_000u64..100_000, 0u64..100, 40u64..=150, 0u64..30, 1u64..30);
    let uses = prop::collection::vec((any::<bool>(), prop_oneof![1u32..4, 60u32..70], any::<bool>()), 0..3);
    (0usize..3, times, any::<bool>(), uses, any::<bool>(), any::<bool>()).prop_map(
        |(core, (period, offset, deadline, jitter, cost), sporadic, uses, placed, keeps)| Drawn {
            core,
            period,
            offset,
            deadline,
            jitter,
            cost,
            sporadic,
            uses,
            placed,
            keeps,
        },
    )
}

/// A manifest of the tasks. A time of 1 is `unit` ns.
fn manifest(cores: usize, edf: bool, unit: u64, overhead: u64, server: bool, tasks: &[Drawn]) -> String {
    let mut text = format!(
        "manifest = 1\n[app]\nname = \"drawn\"\n[platform]\ncores = [{}]\nscheduler = \"{}\"\nmemory = \"256MiB\"\n\
         [platform.overheads]\nrelease = \"{overhead}ns\"\ncontext-switch = \"{overhead}ns\"\nkernel-blocking = \"{overhead}ns\"\n\
         lock = \"0ns\"\n[payloads]\nByte = {{ type = \"u8\" }}\n[resources.of-all]\n",
        (0..cores).map(|core| (2 * core + 1).to_string()).collect::<Vec<_>>().join(", "),
        if edf { "edf" } else { "fp" },
    );
    for core in 0..cores {
        write!(text, "[resources.of-{core}]\n[resources.in-{core}]\n").unwrap();
    }
    if server && !edf {
        text.push_str("[servers.guest]\npolicy = \"sporadic\"\nbudget = \"1ms\"\nperiod = \"90ms\"\ncore = 1\npriority = 98\n");
        text.push_str("[tasks.visitor]\nclass = \"best-effort\"\nserver = \"guest\"\n");
    }
    for (at, task) in tasks.iter().enumerate() {
        let core = task.core % cores;
        let ns = |share: u64| share * unit;
        let (period, cost) = (ns(task.period), ns(task.period * task.cost / 100).max(1));
        let deadline = ns(task.period * task.deadline / 100).max(cost);
        let jitter = ns(task.period * task.jitter / 100).min(deadline - 1);
        writeln!(text, "[tasks.task-{at}]").unwrap();
        match task.sporadic {
            true => {
                writeln!(text, "arrival = {{ sporadic = \"{period}ns\", trigger = \"event-{at}\" }}").unwrap()
            }
            false => {
                let offset = ns(task.period * task.offset / 100);
                writeln!(text, "arrival = {{ periodic = \"{period}ns\", offset = \"{offset}ns\" }}").unwrap();
            }
        }
        writeln!(text, "deadline = \"{deadline}ns\"\njitter = \"{jitter}ns\"").unwrap();
        writeln!(text, "wcet = {{ value = \"{cost}ns\", source = \"static\" }}\ncore = {}", 2 * core + 1)
            .unwrap();
        if deadline > period {
            text.push_str("on-overrun = \"run-on\"\n");
        }
        if !edf {
            writeln!(text, "priority = {}", 97 - at).unwrap();
        }
        if task.keeps && !edf && !task.placed {
            writeln!(text, "non-preemptive = \"{}ns\"", cost / 2 + 1).unwrap();
        }
        body(&mut text, task, core, cost);
        if task.sporadic {
            let (event, source) = (format!("event-{at}"), format!("source-{at}"));
            writeln!(text, "[tasks.{source}]\nclass = \"best-effort\"\nmin-gap = \"{period}ns\"").unwrap();
            writeln!(text, "[channels.{event}]\nkind = \"queue\"\nfrom = \"{source}\"\nto = \"task-{at}\"\npayload = \"Byte\"").unwrap();
        }
    }
    text
}

fn body(text: &mut String, task: &Drawn, core: usize, cost: u64) {
    let name = |all: bool| if all { "of-all".to_owned() } else { format!("of-{core}") };
    // Each piece takes at least 1 ns, and all together take no longer than the job.
    let count: u64 = task.uses.iter().map(|(_, count, _)| u64::from(*count)).sum();
    let length = cost / (3 * count.max(1));
    if length == 0 || count == 0 {
        return;
    }
    if task.placed {
        let parts = task.uses.iter().map(|(all, _, inner)| match (all, inner) {
            (false, true) => format!(
                "{{ hold = \"{}\", segments = [{{ run = \"{length}ns\" }}, {{ hold = \"in-{core}\", run = \"{length}ns\" }}] }}",
                name(*all)
            ),
            _ => format!("{{ hold = \"{}\", run = \"{length}ns\" }}, {{ run = \"{length}ns\" }}", name(*all)),
        });
        writeln!(text, "segments = [{}]", parts.collect::<Vec<_>>().join(", ")).unwrap();
        return;
    }
    let mut seen = BTreeSet::new();
    let sections = task.uses.iter().filter(|(all, ..)| seen.insert(*all)).map(|(all, count, _)| {
        format!("{{ resource = \"{}\", longest = \"{length}ns\", count = {count} }}", name(*all))
    });
    writeln!(text, "sections = [{}]", sections.collect::<Vec<_>>().join(", ")).unwrap();
}

/// All differences of a task, as the last components of the paths under which they are reported.
fn differences(before: &Facts, after: &Facts, edf: bool) -> BTreeSet<&'static str> {
    let all = [
        ("arrival", before.arrival == after.arrival && before.period == after.period),
        ("deadline", before.deadline == after.deadline),
        ("jitter", before.jitter == after.jitter),
        ("wcet", before.cost == after.cost),
        ("core", before.core == after.core),
        ("priority", edf || before.priority == after.priority),
        ("sections", before.body == after.body),
    ];
    all.into_iter().filter(|(_, same)| !same).map(|(key, _)| key).collect()
}

/// Checks that every difference is reported, and that everything reported differs.
fn reported(set: &TaskSet, exported: &Exported, after: &[Facts]) {
    let edf = set.cores().first() == Some(&SchedulingPolicy::Edf);
    let places: BTreeSet<&str> = exported.lost.iter().filter_map(|lost| lost.place.as_deref()).collect();
    let before = Facts::all(set);
    assert_eq!(before.len(), after.len(), "{}", exported.text);
    for (task, before) in before.iter().enumerate() {
        let after =
            after.iter().find(|after| after.name == before.name).unwrap_or_else(|| panic!("{}", before.name));
        let place = match before.name.strip_prefix("server-") {
            Some(server) => format!("servers.{server}"),
            None => format!("tasks.{}", before.name),
        };
        let differ = differences(before, after, edf);
        let used = set
            .requests(task)
            .iter()
            .map(|request| format!("resources.{}", set.resources()[request.resource].name));
        let used: Vec<String> = used.collect();
        for key in &differ {
            let reported = places.contains(format!("{place}.{key}").as_str())
                || *key == "sections" && used.iter().all(|used| places.contains(used.as_str()))
                || *key == "sections" && places.contains(format!("{place}.wcet").as_str());
            assert!(
                reported,
                "{place}.{key} differs and is not told: {before:?}\n{after:?}\n{}",
                exported.text
            );
        }
        for key in ["arrival", "deadline", "jitter", "wcet", "core", "priority", "sections"] {
            let reported = places.contains(format!("{place}.{key}").as_str());
            assert!(
                !reported || differ.contains(key),
                "{place}.{key} is told and does not differ\n{}",
                exported.text
            );
        }
    }
    // All other reports concern things that exist.
    for place in places {
        let whole =
            ["tasks.", "servers.", "resources.", "channels.", "platform.overheads.", "platform.cores"];
        assert!(place == "tasks" || whole.iter().any(|start| place.starts_with(start)), "{place}");
    }
}

fn again(model: &Model, set: &TaskSet, target: Target) {
    let exported = export(model, set, target);
    let after = match target {
        Target::SimSo => simso(&exported.text),
        Target::RtApp => {
            rt_app(&exported.text, &model.cores().map(|core| model.cpu(core)).collect::<Vec<_>>())
        }
        Target::Mast | Target::Cheddar => {
            let imported = import(&exported.text, &Options::default()).unwrap();
            let back = taut_planner::task_set(&load(&imported.manifest)).unwrap();
            assert_eq!(back.cores(), set.cores());
            Facts::all(&back)
        }
    };
    reported(set, &exported, &after);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn what_differs_is_told(
        cores in 1usize..4,
        edf in any::<bool>(),
        unit in prop_oneof![Just(1u64), Just(1_000), Just(1_000_000)],
        overhead in prop_oneof![Just(0u64), Just(7), Just(20)],
        server in any::<bool>(),
        tasks in prop::collection::vec(task(), 1..6),
    ) {
        let model = load(&manifest(cores, edf, unit, overhead * unit, server, &tasks));
        let set = taut_planner::task_set(&model).unwrap();
        for (_, target) in Target::ALL {
            again(&model, &set, target);
        }
    }
}
