// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Appendix A on threads. The executor decides, and each job computes for its given time. The page shows each
//! recorded run beside the expected schedule, as a picture and as a trace for Perfetto.

use std::time::Duration as Time;

use taut_event::file::Run;
use taut_event::{Kind, Record};
use taut_exec::{CoreResource, Job, LocalRule, RecordingLevel, Release, Setup, TaskSetup, Wanted};
use taut_manifest::SourceText;
use taut_plan::{Input, Plan, digest};
use taut_planner::Planned;
use taut_report::Report;
use taut_sys::{clock, thread};
use taut_time::{Duration, Instant};

use crate::figure::{Axis, Body, Figure, Panel, part};
use crate::output::Output;
use crate::page::Values;

/// The template of the page.
const PAGE: &str = include_str!("../../pages/gutierrez13-appendix.md.in");

/// The length of one of the paper's units.
const UNIT: Duration = Duration::from_ms(5);
/// The units that all jobs take together.
const UNITS: usize = 13;
/// The most runs of the example: it runs again as long as the machine disturbs it.
const ATTEMPTS: u32 = 20;
/// The task that runs in each unit; a star follows the holder of R1.
pub(super) const EXPECTED: &str = "A A* A* A* A* A* A* B B* C C A A";

const NAMES: [&str; 3] = ["TA", "TB", "TC"];
/// For each task, in units: release and relative deadline, and what its job computes before, inside and after R1.
const TASKS: [([u64; 2], [u64; 3]); 3] = [([0, 20], [1, 6, 2]), ([2, 8], [1, 1, 0]), ([4, 7], [2, 0, 0])];

/// A rule of the executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decides {
    word: &'static str,
    protocol: &'static str,
    rule: LocalRule,
}

const RULES: [Decides; 2] = [
    Decides { word: "srp", protocol: "SRP", rule: LocalRule::Srp },
    Decides { word: "dfp", protocol: "DFP", rule: LocalRule::Dfp },
];

/// A span in which one task ran, in ns after release 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    task: usize,
    holds: bool,
    from: u64,
    to: u64,
}

/// One recorded run.
#[derive(Clone, Debug)]
struct Recorded {
    records: Vec<Record>,
    spans: Vec<Span>,
}

fn units(count: u64) -> Duration {
    Duration::from_ns(count * UNIT.as_ns())
}

/// The example as a manifest for this processor.
fn manifest(cpu: u16, decides: Decides) -> String {
    let mut text = format!(
        "manifest = 1\n[app]\nname = \"appendix-a\"\n[platform]\ncores = [{cpu}]\nmemory = \"4MiB\"\nscheduler = \"edf\"\n\
         [resources.r1]\nprotocol = \"{}\"\n",
        decides.word
    );
    for (name, ([release, deadline], [before, inside, behind])) in NAMES.iter().zip(TASKS) {
        text += &format!(
            "[tasks.{}]\narrival = {{ periodic = \"1s\", offset = \"{}\" }}\ndeadline = \"{}\"\nwcet = {{ value = \"{}\", \
             source = \"static\" }}\n",
            name.to_lowercase(),
            units(release),
            units(deadline),
            units(before + inside + behind)
        );
        if inside > 0 {
            text += &format!("sections = [{{ resource = \"r1\", longest = \"{}\" }}]\n", units(inside));
        }
    }
    text
}

/// The plan of the example. It is not proven: the analysis assumes the worst arrivals, not those of the example.
fn plan(cpu: u16, decides: Decides) -> Result<Plan, String> {
    let source = SourceText { name: "taut.toml".into(), text: manifest(cpu, decides) };
    let loaded = taut_manifest::load(&source, &[]);
    let reported = || taut_manifest::render(&loaded.diagnostics, &[&source], false, 100);
    let model = loaded.model.as_ref().ok_or_else(reported)?;
    let input = Input { path: source.name.clone(), hash: digest(source.text.as_bytes()) };
    Ok(Planned::make(model, vec![input]).plan)
}

/// Uses `count` units of processor time.
fn compute(count: u64) {
    let end = clock::thread_cpu_ns() + units(count).as_ns();
    while clock::thread_cpu_ns() < end {
        std::hint::spin_loop();
    }
}

/// Runs the example once.
fn run(cpu: u16, rule: LocalRule) -> Result<Recorded, String> {
    let mut setup = Setup::new();
    let core = setup.core(cpu, rule);
    let resource: CoreResource<()> = setup.resource(core, ());
    for (name, ([release, deadline], [before, inside, behind])) in NAMES.iter().zip(TASKS) {
        let each = Release::Periodic { period: Duration::from_ms(1_000), offset: units(release) };
        let mut task = TaskSetup::new(name, each).deadline(units(deadline));
        if inside > 0 {
            task = task.uses(&resource);
        }
        let resource = resource.clone();
        setup.task(core, task, move |job: &mut Job<'_>| {
            compute(before);
            if inside > 0 && job.lock(&resource, |(), _| compute(inside)).is_err() {
                return;
            }
            compute(behind);
        });
    }
    let mut drain = setup.record(core, RecordingLevel::All, 1_024);
    let ran = setup.run(Wanted::Strict, |exec| {
        exec.wait(Some(Time::from_nanos(units(2 * UNITS as u64).as_ns())));
        exec.origin()
    });
    let (origin, _) = ran.map_err(|error| error.to_string())?;
    let begin = |kind| Record { at: origin, kind, cpu: cpu as u8, subject: 0, job: 0, value: 0 };
    let mut records = vec![begin(Kind::Begin)];
    drain.drain(|record| records.push(record));
    let last = records.iter().map(|record| record.at).max().unwrap_or(origin);
    let spans = spans(&records, origin);
    records.push(Record { at: last, ..begin(Kind::End) });
    Ok(Recorded { records, spans })
}

/// The spans in which each task ran.
fn spans(records: &[Record], origin: Instant) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let (mut running, mut holder) = (None::<(usize, u64)>, None);
    for record in records {
        let (task, at) = (usize::from(record.subject), record.at.as_ns().saturating_sub(origin.as_ns()));
        let cuts = matches!(
            record.kind,
            Kind::Start | Kind::Resume | Kind::Preempt | Kind::Complete | Kind::Locked | Kind::Unlock
        );
        if let Some((task, from)) = running.filter(|(_, from)| cuts && *from < at) {
            spans.push(Span { task, holds: holder == Some(task), from, to: at });
        }
        match record.kind {
            Kind::Start | Kind::Resume => running = Some((task, at)),
            Kind::Preempt | Kind::Complete => running = None,
            Kind::Locked | Kind::Unlock => {
                holder = (record.kind == Kind::Locked).then_some(task);
                running = running.map(|(task, _)| (task, at));
            }
            _ => {}
        }
    }
    spans
}

/// The task that ran in the middle of each unit.
pub(super) fn unit_by_unit(spans: &[Span]) -> String {
    let at = |unit: usize| {
        let middle = UNIT.as_ns() * (2 * unit as u64 + 1) / 2;
        let span = spans.iter().find(|span| (span.from..span.to).contains(&middle));
        span.map_or("-".to_owned(), |span| {
            format!("{}{}", &NAMES[span.task][1..], if span.holds { "*" } else { "" })
        })
    };
    (0..UNITS).map(at).collect::<Vec<_>>().join(" ")
}

/// Runs the example until the machine does not disturb a run, at most [`ATTEMPTS`] times. Returns the number of runs,
/// and the last run.
fn attempts(cpu: u16, rule: LocalRule) -> Result<(u32, Recorded), String> {
    let mut count = 0;
    loop {
        count += 1;
        let recorded = run(cpu, rule)?;
        if unit_by_unit(&recorded.spans) == EXPECTED || count == ATTEMPTS {
            return Ok((count, recorded));
        }
    }
}

/// Writes the page, its picture and its traces.
///
/// # Errors
/// There is no privilege for SCHED_FIFO, or a file cannot be written.
pub(super) fn written(output: &Output) -> Result<(), String> {
    let cpu =
        thread::affinity().map_err(|error| error.to_string())?.first().copied().ok_or("no processor")?;
    let mut values = Values::default();
    let mut panels = vec![panel("expected", &expected())];
    let mut reported = Vec::new();
    for decides in RULES {
        let plan = plan(cpu, decides)?;
        let (count, recorded) = attempts(cpu, decides.rule)?;
        let seen = unit_by_unit(&recorded.spans);
        let found = if seen == EXPECTED { "as expected" } else { "**other than expected**" };
        reported.push(format!("| {} | `{seen}` | {found} | {count} |", decides.protocol));
        panels.push(panel(&format!("{}, recorded by threads", decides.protocol), &recorded.spans));
        let text = plan.to_lock().map_err(|error| error.to_string())?;
        let mut run = Run::of(recorded.records);
        run.plan = text;
        let trace = Report::new(&plan, &run).perfetto();
        output.bytes(&format!("gutierrez13-appendix-{}.perfetto-trace", decides.word), &trace)?;
    }
    let head =
        "| rule | in the middle of each unit | | runs until one was not disturbed |\n|---|---|---|---:|\n";
    values.set("runs", format!("{head}{}", reported.join("\n")));
    values.set("expected", EXPECTED);
    values.set("unit", UNIT);
    output.figure("gutierrez13-appendix", &figure(panels))?;
    output.text("gutierrez13-appendix.md", &values.fill(PAGE)?)
}

/// [`EXPECTED`] as spans.
fn expected() -> Vec<Span> {
    let unit = UNIT.as_ns();
    let span = |(at, word): (u64, &str)| Span {
        task: usize::from(word.as_bytes()[0] - b'A'),
        holds: word.ends_with('*'),
        from: at * unit,
        to: (at + 1) * unit,
    };
    (0..).zip(EXPECTED.split(' ')).map(span).collect()
}

fn panel(title: &str, spans: &[Span]) -> Panel {
    let unit = UNIT.as_ns() as f64;
    let row = |task: usize| {
        let own = spans.iter().filter(|span| span.task == task);
        let of = |span: &Span| {
            ([span.from as f64 / unit, span.to as f64 / unit], part(if span.holds { 1 } else { 2 }))
        };
        (NAMES[task].to_owned(), own.map(of).collect())
    };
    Panel {
        title: title.into(),
        x: Axis::linear("t", 0.0, UNITS as f64 + 1.0, 1.0),
        y: Axis::names("", 0),
        body: Body::Spans((0..NAMES.len()).map(row).collect()),
    }
}

fn figure(panels: Vec<Panel>) -> Figure {
    Figure {
        title: "Appendix A on threads".into(),
        caption: vec![format!(
            "In units of {UNIT}. TA, TB and TC are released at 0, 2 and 4 and due at 20, 10 and 11; TA and TB use R1."
        )],
        panels,
        columns: 1,
        legend: vec![("runs".into(), part(2)), ("holds R1".into(), part(1))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_is_of_this_rule() {
        for decides in RULES {
            let plan = plan(0, decides).expect("in order");
            assert_eq!(plan.resources[0].protocol.paper_name(), decides.protocol);
            let names: Vec<_> = plan.tasks.iter().map(|task| task.name.as_str()).collect();
            // Records name tasks by position.
            assert_eq!(names, NAMES.map(str::to_lowercase));
        }
    }

    #[test]
    fn spans_end_where_something_is_decided() {
        let record = |kind, subject, at: u64| Record {
            at: Instant::from_ns(100 + at * UNIT.as_ns()),
            kind,
            cpu: 0,
            subject,
            job: 0,
            value: 0,
        };
        let records = [
            record(Kind::Start, 0, 0),
            record(Kind::Locked, 0, 1),
            record(Kind::Release, 1, 2),
            record(Kind::Unlock, 0, 3),
            record(Kind::Preempt, 0, 3),
            record(Kind::Start, 1, 3),
            record(Kind::Complete, 1, 4),
            record(Kind::Resume, 0, 4),
            record(Kind::Complete, 0, 5),
        ];
        let text = unit_by_unit(&spans(&records, Instant::from_ns(100)));
        assert!(text.starts_with("A A* A* B A - -"), "{text}");
        assert_eq!(unit_by_unit(&expected()), EXPECTED);
    }

    /// Whatever else the machine does, the jobs run in the order of the text, if TA alone holds R1 when the others
    /// are released.
    #[test]
    fn threads_keep_the_order_or_the_privilege_is_missing() {
        let cpu = thread::affinity().expect("some")[0];
        for decides in RULES {
            for _ in 0..ATTEMPTS {
                let recorded = match run(cpu, decides.rule) {
                    Ok(recorded) => recorded,
                    Err(why) => {
                        assert!(why.contains("sched"), "{why}");
                        return println!("skipped: {why}");
                    }
                };
                let at = |kind, task| {
                    let is_it = |record: &&Record| record.kind == kind && record.subject == task;
                    recorded.records.iter().find(is_it).map(|record| record.at)
                };
                let has = at(Kind::Locked, 0) < at(Kind::Release, 1);
                if !has || at(Kind::Unlock, 0) < at(Kind::Release, 2) {
                    // The machine stalled, or other threads had the processor.
                    continue;
                }
                let order = |of: fn(&Span) -> Option<usize>| {
                    let mut order: Vec<_> = recorded.spans.iter().filter_map(of).collect();
                    order.dedup();
                    order
                };
                assert_eq!(order(|span| Some(span.task)), [0, 1, 2, 0], "{decides:?}");
                assert_eq!(order(|span| span.holds.then_some(span.task)), [0, 1], "{decides:?}");
                break;
            }
        }
    }
}
