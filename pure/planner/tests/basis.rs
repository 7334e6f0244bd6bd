// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a proof rests on: every figure with its source, and how many of them are guesses.

mod drafts;

use drafts::{Edit, empty, model, payload, periodic, plan, shown, state, task, time};
use taut_model::{
    BestEffort, ClassDraft, Draft, Evidence, EvidenceFile, LockingProtocol, OverheadSources, Scalar,
    SectionDraft, Shared, TaskDraft,
};
use taut_plan::{Basis, Mechanism, OverheadBasis, TimeBasis};
use taut_time::Duration;

fn best_effort(name: &str) -> TaskDraft {
    TaskDraft { name: name.into(), service: None, class: ClassDraft::BestEffort(BestEffort::default()) }
}

/// A task for each letter: measured, static, guessed.
fn sources(letters: &str) -> Draft {
    let mut draft = empty(&[3]);
    draft.tasks = (0..)
        .zip(letters.chars())
        .map(|(at, letter)| {
            periodic(&format!("{letter}{at}"), "100ms", "100ms", "1ms").with(|task| {
                task.wcet.source = match letter {
                    'm' => Evidence::Measured,
                    's' => Evidence::Static,
                    _ => Evidence::Guess,
                };
            })
        })
        .collect();
    draft
}

fn basis(draft: &Draft) -> Basis {
    plan(draft).plan.basis().expect("something real-time")
}

/// The names of the costs that the basis lists, with their sources.
fn costs(basis: &Basis) -> String {
    let costs: Vec<_> = basis.overheads.iter().map(|of| format!("{} {}", of.name, of.source)).collect();
    costs.join(", ")
}

#[test]
fn each_figure_has_its_source() {
    let mut draft = sources("msg");
    draft.platform.cores = vec![3, 5];
    draft.platform.overheads.sources = OverheadSources {
        release: Some(Evidence::Measured),
        context_switch: Some(Evidence::Static),
        kernel_blocking: Some(Evidence::Guess),
        ..OverheadSources::NONE
    };
    // The margin is part of the time.
    task(&mut draft, "m0").wcet.margin_permille = 500;
    draft.tasks.insert(1, best_effort("shell"));
    let recorded =
        |file: &str, jobs| EvidenceFile { file: file.into(), hash: format!("sha256:{file}"), jobs };
    let both = || vec![recorded("night/run.taut", Some(900)), recorded("day/run.taut", Some(350))];
    task(&mut draft, "m0").evidence = both();
    let times = [("m0", 1_500_000, Evidence::Measured), ("s1", 1_000_000, Evidence::Static)]
        .into_iter()
        .chain([("g2", 1_000_000, Evidence::Guess)])
        .map(|(task, time_ns, source)| TimeBasis {
            task: task.into(),
            time_ns,
            source,
            evidence: Vec::new(),
            jobs: None,
        });
    let mut times: Vec<TimeBasis> = times.collect();
    (times[0].evidence, times[0].jobs) = (both(), Some(1_250));
    let overheads = [
        ("release", 60_000, "measured"),
        ("context-switch", 5_000, "static"),
        ("kernel-blocking", 50_000, "guess"),
    ]
    .map(|(name, time_ns, source)| OverheadBasis { name: name.into(), time_ns, source });
    let machine =
        "no other real-time thread, interrupt or hypervisor takes more of cores 3, 5 than is stated";
    let linux = "Linux grants SCHED_FIFO and locked memory";
    let expected = Basis {
        execution_times: times,
        overheads: overheads.to_vec(),
        assumptions: vec![machine.into(), linux.into()],
        guesses: 2,
    };
    assert_eq!(basis(&draft), expected);
    assert_eq!(
        expected.lines(),
        [
            "execution times: 1 measured (in 1250 jobs), 1 static, 1 guess (g2)".to_owned(),
            "recordings: night/run.taut, day/run.taut".to_owned(),
            "costs of the machine: release measured; context-switch static; kernel-blocking guess".to_owned(),
            format!("the machine: {machine}; {linux}"),
        ]
    );
    draft.platform.cores = vec![3];
    assert!(basis(&draft).assumptions[0].contains(" takes more of core 3 than "));
    draft.tasks.retain(|task| task.name == "shell");
    assert_eq!(plan(&draft).plan.basis(), None, "nothing is proven of it");
}

/// The cost of a lock counts if a task locks, and that of a copy if a lock is held for it.
#[test]
fn costs_that_count() {
    let mut draft = sources("mm");
    assert_eq!(costs(&basis(&draft)), "release default, context-switch default, kernel-blocking default");
    assert_eq!(basis(&draft).guesses, 3, "a default is a guess of ours");
    let mut locks = draft.clone();
    locks.resources = vec![Shared { name: "bus".into(), protocol: Some(LockingProtocol::Srp) }];
    let section = SectionDraft { resource: "bus".into(), longest: time("10us"), count: 1 };
    task(&mut locks, "m0").sections = vec![section];
    assert_eq!(
        costs(&basis(&locks)),
        "release default, context-switch default, kernel-blocking default, lock default"
    );
    assert_eq!(basis(&locks).guesses, 4);
    let sources = &mut draft.platform.overheads.sources;
    (sources.lock, sources.copy) = (Some(Evidence::Measured), Some(Evidence::Static));
    draft.platform.overheads.copy = time("1us");
    draft.payloads = vec![payload("Map", &[("", Scalar::U64, 510)])];
    draft.channels = vec![state("map", "m0", "m1", "Map")];
    draft.channels[0].mechanism = Some(Mechanism::Srp);
    let guarded = basis(&draft);
    assert_eq!(
        costs(&guarded),
        "release default, context-switch default, kernel-blocking default, lock measured, copy static"
    );
    assert_eq!(guarded.guesses, 3);
    assert_eq!(
        guarded.lines()[1],
        "costs of the machine: release, context-switch, kernel-blocking default; lock measured; copy static"
    );
    draft.channels[0].mechanism = Some(Mechanism::Chen);
    assert!(!costs(&basis(&draft)).contains("lock m"), "nobody waits for a state without one");
}

/// The summary names the first guesses, unless all execution times are guesses.
#[test]
fn guesses_that_are_named() {
    for (letters, guesses, says) in [
        ("mm", 0, "2 measured (in how many jobs is not stated)"),
        ("s", 0, "1 static"),
        ("ggg", 3, "3 guess"),
        ("mgg", 2, "1 measured (in how many jobs is not stated), 2 guess (g1, g2)"),
        ("gsggg", 4, "1 static, 4 guess (g0, g2, g3, g4)"),
        ("mggggg", 5, "1 measured (in how many jobs is not stated), 5 guess (g1, g2, g3, g4 and 1 more)"),
        (
            "mggggggs",
            6,
            "1 measured (in how many jobs is not stated), 1 static, 6 guess (g1, g2, g3, g4 and 2 more)",
        ),
    ] {
        let basis = basis(&sources(letters));
        assert_eq!(basis.lines()[0], format!("execution times: {says}"));
        assert_eq!(basis.guesses, guesses + 3, "{letters}");
    }
    let mut free = plan(&sources("m")).plan;
    free.overheads.clear();
    let lines = free.basis().expect("something real-time").lines();
    assert_eq!(lines.len(), 2, "no cost counts: {lines:?}");
    assert!(lines[1].starts_with("the machine: "));
}

/// The summary says in how many jobs times were measured, as far as the manifest states it.
#[test]
fn measured_jobs_are_counted() {
    let mut draft = sources("mmmmmm");
    let recorded = |jobs| EvidenceFile { file: "run.taut".into(), hash: "sha256:0".into(), jobs };
    let line = |draft: &Draft| basis(draft).lines()[0].clone();
    task(&mut draft, "m1").evidence = vec![recorded(Some(70)), recorded(None)];
    assert_eq!(
        line(&draft),
        "execution times: 6 measured (in how many jobs is not stated)",
        "one of two is not"
    );
    task(&mut draft, "m1").evidence[1].jobs = Some(u64::MAX);
    task(&mut draft, "m3").evidence = vec![recorded(Some(80))];
    assert_eq!(
        line(&draft),
        "execution times: 6 measured (in 80 jobs or more, `m3` in fewest; not stated for m0, m2, m4, m5)"
    );
    let mut more = sources("mmmmmmm");
    task(&mut more, "m3").evidence = vec![recorded(Some(80))];
    assert!(line(&more).ends_with("not stated for m0, m1, m2, m4 and 2 more)"), "{}", line(&more));
}

/// Faults at the places of a manifest that state a guess, or leave a cost to its default.
#[test]
fn guesses_of_a_manifest() {
    let mut draft = sources("mgs");
    draft.tasks.push(best_effort("shell"));
    let of = |draft: &Draft| shown(&taut_planner::guesses(&model(draft)));
    let defaulted = |draft: &Draft| shown(&taut_planner::defaults(&model(draft)));
    let measure = "let `taut bench --out machine.toml` measure them, and give that with `--overlay`";
    let task_guessed = "TAUT0224: the execution time of task `g1` is a guess\n  \
                        tasks.g1.wcet.source: not measured\n  \
                        = help: measure it, as `taut report` does in a run, and write `source = \"measured\"`\n";
    let defaults = |names: &str| {
        format!(
            "TAUT0224: the manifest does not state costs of the machine: {names}\n  \
             platform.overheads: the plan uses defaults, which are guesses\n  = help: {measure}\n"
        )
    };
    let guessed = |names: &str| {
        format!(
            "TAUT0224: costs of the machine are guesses: {names}\n  \
             platform.overheads.source: `source` is `\"guess\"`, or left out\n  \
             = help: {measure}; or write `source = \"measured\"` if they were\n"
        )
    };
    assert_eq!(
        of(&draft),
        task_guessed.to_owned() + &defaults("`release`, `context-switch`, `kernel-blocking`")
    );
    let sources = &mut draft.platform.overheads.sources;
    (sources.release, sources.kernel_blocking) = (Some(Evidence::Guess), Some(Evidence::Guess));
    task(&mut draft, "g1").wcet.source = Evidence::Measured;
    assert_eq!(of(&draft), defaults("`context-switch`") + &guessed("`release`, `kernel-blocking`"));
    let all = Some(Evidence::Measured);
    let sources = &mut draft.platform.overheads.sources;
    (sources.release, sources.context_switch, sources.kernel_blocking) = (all, all, all);
    assert_eq!(of(&draft), "", "the cost of a lock does not count where there is none");
    assert_eq!(defaulted(&draft), "");
    draft.platform.overheads.sources = OverheadSources::NONE;
    draft.platform.overheads.release = Duration::ZERO;
    draft.tasks.retain(|task| task.name == "shell");
    assert_eq!((of(&draft), defaulted(&draft)), (String::new(), String::new()), "nothing is proven of it");
}
