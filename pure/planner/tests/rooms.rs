// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How much room a task has and what would make it fit, against figures worked out by hand. The only overhead is
//! the probe, 10 us every millisecond above all tasks.

mod drafts;

use drafts::{Edit, cost, empty, model, periodic, task, time};
use taut_model::{Draft, Overrun, SectionDraft, SegmentDraft, Shared, TaskDraft};
use taut_planner::advise_task;
use taut_time::Duration;

fn bare(cores: &[u16], tasks: Vec<TaskDraft>) -> Draft {
    let mut draft = empty(cores);
    let overheads = &mut draft.platform.overheads;
    (overheads.release, overheads.context_switch) = (Duration::ZERO, Duration::ZERO);
    (overheads.kernel_blocking, overheads.lock) = (Duration::ZERO, Duration::ZERO);
    draft.tasks = tasks;
    draft
}

/// The second table of the advice: its heading and its rows, words apart by one space.
fn room(draft: &Draft, name: &str) -> Vec<String> {
    let text = advise_task(&model(draft), name).expect("a task");
    let (_, table) = text.split_once("\n\n").expect("two tables");
    table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The row that begins so.
fn row(draft: &Draft, name: &str, what: &str) -> String {
    let rows = room(draft, name);
    let row = rows.iter().find_map(|row| row.strip_prefix(what)?.strip_prefix(' '));
    row.unwrap_or_else(|| panic!("no {what}: {rows:?}")).to_owned()
}

/// Alone: C and one probe per begun millisecond, so C <= 9.9 ms in 10 ms, the margin on top; in whole us from 1 us
/// on.
#[test]
fn alone() {
    for (permille, wcet, deadline, margin) in [
        (0, "9.9ms", "1.02ms", ""),
        (500, "6.6ms", "1.52ms", " (with its margin of 50 % on top)"),
        (55, "9.383ms", "1.075ms", " (with its margin of 5.5 % on top)"),
        (5, "9.85ms", "1.025ms", " (with its margin of 0.5 % on top)"),
    ] {
        let mut draft = bare(&[0], vec![periodic("a", "10ms", "10ms", "1ms")]);
        task(&mut draft, "a").wcet.margin_permille = permille;
        let heading = "room, each alone, with all deadlines and chains kept".to_owned();
        let rows =
            [format!("wcet up to {wcet}, now 1ms{margin}"), format!("deadline down to {deadline}, now 10ms")];
        assert_eq!(room(&draft, "a"), [heading].into_iter().chain(rows).collect::<Vec<_>>());
    }
    for (wcet, now, most) in
        [("500ns", "20500ns", "10.5us"), ("999ns", "20500ns", "10.5us"), ("1us", "20500ns", "10us")]
    {
        let draft = bare(&[0], vec![periodic("a", "10ms", now, wcet)]);
        assert_eq!(row(&draft, "a", "wcet"), format!("up to {most}, now {wcet}"));
        assert_eq!(row(&draft, "a", "deadline"), "down to 11us, now 20.5us");
    }
    // Rounded against the task, and never past what is left for it.
    let draft = bare(&[0], vec![periodic("a", "10ms", "10ms", "1000500ns")]);
    assert_eq!(row(&draft, "a", "deadline"), "down to 1.021ms, now 10ms");
    let full = bare(&[0], vec![periodic("a", "10ms", "1020500ns", "1000500ns")]);
    assert_eq!(row(&full, "a", "deadline"), "no shorter than now, 1020.5us");
    assert_eq!(row(&full, "a", "wcet"), "no longer than now, 1000.5us");
}

/// `above` takes 3 ms every 7 ms. In 10 ms that leaves 3.9 ms with 10 probes; 3.93 ms complete just before it comes
/// again.
#[test]
fn later_deadlines() {
    let draft = |wcet: &str, deadline: &str, on_overrun: Overrun| {
        let above = periodic("above", "7ms", "7ms", "3ms").with(|task| {
            (task.wcet, task.priority) = (cost("2ms", 50), Some(50));
        });
        let below = periodic("below", "10ms", deadline, wcet).with(|task| {
            (task.on_overrun, task.priority) = (on_overrun, Some(40));
        });
        bare(&[0], vec![above, below])
    };
    let margin = "now 2ms (with its margin of 50 % on top)";
    // 5 ms of its own, two jobs of `above`, 12 probes.
    let late = draft("5ms", "10ms", Overrun::RunOn);
    assert_eq!(
        room(&late, "below"),
        [
            "what would make it fit, each alone".to_owned(),
            "wcet at most 3.93ms, now 5ms".into(),
            "deadline at least 11.12ms, now 10ms".into(),
            format!("another's wcet `above`: at most 1.633ms, {margin}"),
            "the search did not use offsets, which may allow more".into(),
        ]
    );
    // A job that does not run on ends within its period, so no later deadline is searched for.
    let ends = draft("5ms", "10ms", Overrun::SkipNext);
    assert_eq!(row(&ends, "below", "deadline"), "no longer one would do, now 10ms, every 10ms");
    let within = draft("4ms", "9ms", Overrun::SkipNext);
    assert_eq!(row(&within, "below", "deadline"), "no longer one would do, now 9ms, every 10ms");
    let sooner = draft("3.85ms", "6ms", Overrun::SkipNext);
    assert_eq!(row(&sooner, "below", "deadline"), "at least 6.92ms, now 6ms");
    assert_eq!(row(&sooner, "below", "another's wcet"), format!("`above`: at most 1.393ms, {margin}"));
    // More is asked for than there is: no deadline is late enough.
    let more = draft("9ms", "10ms", Overrun::RunOn);
    assert_eq!(row(&more, "below", "deadline"), "no longer one would do, now 10ms, every 10ms");
    assert_eq!(row(&more, "below", "another's wcet"), format!("`above`: at most 300us, {margin}"));
}

/// Other cores are tried up to the sixteenth.
#[test]
fn other_cores() {
    let draft = |count: u16, free: u16| {
        let cores: Vec<u16> = (0..count).map(|at| 2 * at).collect();
        let late = |task: &mut taut_model::RealTimeDraft| (task.core, task.priority) = (Some(0), Some(40));
        let mut tasks = vec![periodic("late", "10ms", "5ms", "4ms").with(late)];
        tasks.extend((0..count.min(free)).map(|at| {
            periodic(&format!("busy{at}"), "10ms", "10ms", "9ms").with(|task| {
                (task.core, task.priority) = (Some(2 * at), Some(50));
            })
        }));
        bare(&cores, tasks)
    };
    for (count, free, says) in [
        (2, 2, "no other takes it as it is"),
        (2, 1, "2 takes it as it is; the manifest fixes 0"),
        (4, 2, "4, 6 each take it as it is; the manifest fixes 0"),
        (17, 17, "no other takes it as it is"),
        (17, 16, "32 takes it as it is; the manifest fixes 0"),
        (18, 17, "none of those tried takes it as it is"),
        (18, 18, "none of those tried takes it as it is"),
        (18, 16, "32 takes it as it is; the manifest fixes 0"),
    ] {
        assert_eq!(row(&draft(count, free), "late", "core"), says, "{count} cores, from {free} on free");
    }
    // Its own core is the one that it is on, whatever task comes before it in the manifest.
    let mut second = draft(2, 1);
    second.tasks.insert(0, periodic("first", "10ms", "10ms", "10us").with(|task| task.core = Some(2)));
    assert_eq!(row(&second, "late", "core"), "2 takes it as it is; the manifest fixes 0");
    let one = draft(1, 1);
    assert!(room(&one, "late").iter().all(|row| !row.starts_with("core")), "there is no other");
}

/// No job is shorter than its sections, its segments or its non-preemptive stretch: the search for a figure starts
/// there, for a manifest may state nothing shorter.
#[test]
fn not_shorter_than_its_parts() {
    let mut draft =
        bare(&[0], vec![periodic("above", "10ms", "10ms", "4ms"), periodic("below", "10ms", "10ms", "7ms")]);
    (task(&mut draft, "above").priority, task(&mut draft, "below").priority) = (Some(50), Some(40));
    draft.resources = vec![Shared { name: "bus".into(), protocol: None }];
    // 10 ms less 4 ms and 10 probes.
    assert_eq!(row(&draft, "below", "wcet"), "at most 5.9ms, now 7ms");
    assert_eq!(row(&draft, "below", "another's wcet"), "`above`: at most 2.9ms, now 4ms");
    let section =
        |longest: &str, count| SectionDraft { resource: "bus".into(), longest: time(longest), count };
    let run = |long: &str| SegmentDraft { hold: None, run: Some(time(long)), segments: Vec::new() };
    let mut sections = draft.clone();
    task(&mut sections, "below").sections = vec![section("1500us", 2)];
    let mut keeps = draft.clone();
    task(&mut keeps, "below").non_preemptive = time("3ms");
    let mut ordered = draft.clone();
    let hold = SegmentDraft { hold: Some("bus".into()), run: None, segments: vec![run("1ms"), run("500us")] };
    task(&mut ordered, "below").segments = vec![run("1500us"), hold];
    for (draft, most) in [(&sections, "5.889ms"), (&keeps, "5.9ms"), (&ordered, "5.889ms")] {
        assert_eq!(row(draft, "below", "wcet"), format!("at most {most}, now 7ms"));
    }
    let mut both = draft.clone();
    task(&mut both, "above").sections = vec![section("600us", 2)];
    assert_eq!(row(&both, "below", "another's wcet"), "`above`: at most 2.889ms, now 4ms");
    // All of it is one section, which is too long.
    task(&mut sections, "below").sections = vec![section("3500us", 2)];
    assert_eq!(row(&sections, "below", "wcet"), "no shorter one would do, now 7ms");
}

/// The search goes in whole us from the stated figure on, whatever that is.
#[test]
fn figures_between_microseconds() {
    // 10 us of probe in up to 1 ms: one probe.
    let draft = bare(&[0], vec![periodic("a", "10ms", "500us", "400700ns")]);
    assert_eq!(row(&draft, "a", "wcet"), "up to 490us, now 400.7us");
    assert_eq!(row(&draft, "a", "deadline"), "down to 411us, now 500us");
}

/// Advice shows what makes the task wait longest.
#[test]
fn what_delays() {
    // 2 ms less 1 ms and 2 probes are left for a stretch.
    let draft = |wcet: &str, stretch: &str| {
        let mut draft = bare(
            &[0],
            vec![
                periodic("urgent", "2ms", "2ms", wcet),
                periodic("keeps", "50ms", "50ms", "5ms"),
                periodic("brief", "60ms", "60ms", "5ms"),
            ],
        );
        task(&mut draft, "keeps").non_preemptive = time(stretch);
        task(&mut draft, "brief").non_preemptive = time("100ns");
        draft
    };
    let long = draft("1ms", "1500us");
    assert_eq!(row(&long, "urgent", "section"), "`keeps`, non-preemptive: at most 980us, now 1.5ms");
    assert!(room(&long, "urgent").iter().all(|row| !row.starts_with("another")), "none is above it");
    let short = draft("1979500ns", "900ns");
    assert_eq!(row(&short, "urgent", "section"), "`keeps`, non-preemptive: at most 500ns, now 900ns");
    assert_eq!(
        row(&draft("1985us", "900us"), "urgent", "section"),
        "`keeps`, non-preemptive: no shorter one would do, now 900us"
    );
    // The same if something is shared.
    let mut shared = long.clone();
    shared.resources = vec![Shared { name: "bus".into(), protocol: None }];
    let section = || vec![SectionDraft { resource: "bus".into(), longest: time("1us"), count: 1 }];
    (task(&mut shared, "urgent").sections, task(&mut shared, "brief").sections) = (section(), section());
    assert_eq!(row(&shared, "urgent", "section"), "`keeps`, non-preemptive: at most 969us, now 1.5ms");
    let longer = SectionDraft { resource: "bus".into(), longest: time("1600us"), count: 1 };
    task(&mut shared, "brief").sections = vec![longer];
    assert_eq!(row(&shared, "urgent", "section"), "`brief` in `bus`: no shorter one would do, now 1.6ms");
    task(&mut shared, "keeps").non_preemptive = Duration::ZERO;
    assert_eq!(row(&shared, "urgent", "section"), "`brief` in `bus`: at most 969us, now 1.6ms");
    // A section among segments has no length of its own, and is not a non-preemptive stretch either.
    (task(&mut shared, "brief").sections, task(&mut shared, "brief").non_preemptive) =
        (Vec::new(), Duration::ZERO);
    let hold = SegmentDraft { hold: Some("bus".into()), run: None, segments: vec![drafts::run("1600us")] };
    task(&mut shared, "brief").segments = vec![drafts::run("1ms"), hold];
    assert!(
        room(&shared, "urgent").iter().all(|row| !row.starts_with("section")),
        "{:?}",
        room(&shared, "urgent")
    );
    // Two tasks above: 1 ms in 10 ms, and 3 times 1.5 ms; the second one takes more.
    let above = bare(
        &[0],
        vec![
            periodic("rare", "10ms", "2ms", "1ms"),
            periodic("often", "4ms", "3ms", "1500us"),
            periodic("late", "10ms", "10ms", "5ms"),
        ],
    );
    assert_eq!(row(&above, "late", "another's wcet"), "`often`: at most 1.3ms, now 1.5ms");
}

/// Offsets are looked at if few jobs have phases; else the advice says that they were not.
#[test]
fn offsets() {
    let says = "the search did not use offsets, which may allow more";
    for (period, reported) in [("10ms", false), ("130ms", true)] {
        let draft =
            bare(&[0], vec![periodic("a", "10ms", "5ms", "1ms"), periodic("b", period, "10ms", "1ms")]);
        assert_eq!(room(&draft, "a").iter().any(|row| row == says), reported, "{period}");
    }
}
