// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The drive really runs, with the privilege for real-time scheduling if there is one, and without it. What it reads
//! equals what the model reads. The same blocks without a synchronous flow read other values, which shows that the
//! comparison detects it.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use taut_drive::BLOCKS;
use taut_event::file::Run;
use taut_event::{Kind, Record};
use taut_manifest::{SourceText, load, render};
use taut_plan::{Arrival, ChannelPlan, ClassPlan, Flow, Input, Plan, digest};
use taut_planner::Planned;

/// Only one application runs at a time: all want the same CPUs.
static TURN: Mutex<()> = Mutex::new(());

fn manifest() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("taut.toml")).unwrap()
}

/// The same application, with a dispatcher on both cores.
fn dispatched(manifest: &str) -> String {
    let manifest = manifest.replacen("[platform]\n", "[platform]\nexecutor = \"dispatched\"\n", 1);
    assert!(plan(&manifest).cores.iter().all(|core| core.dispatched.is_some()));
    manifest
}

/// The same application with flows that give the newest values.
fn newest() -> String {
    let lines = manifest();
    let lines = lines.lines().filter(|line| !line.starts_with("delayed"));
    lines.map(|line| line.replace("\"synchronous\"", "\"newest\"") + "\n").collect()
}

fn plan(manifest: &str) -> Plan {
    let source = SourceText { name: "taut.toml".to_owned(), text: manifest.to_owned() };
    let loaded = load(&source, &[]);
    let shown = render(&loaded.diagnostics, &[&source], false, 100);
    let model = loaded.model.unwrap_or_else(|| panic!("{shown}"));
    let input = Input { path: "taut.toml".to_owned(), hash: digest(manifest.as_bytes()) };
    let planned = Planned::make(&model, vec![input]);
    assert!(planned.plan.proven, "{:#?}", planned.faults);
    planned.plan
}

/// The exit code of a run, and its standard output.
struct Outcome {
    code: Option<i32>,
    said: String,
    /// How many guarantees were missing.
    lost: usize,
    /// How many values of the channel `telemetry` were sent.
    telemetry: u64,
}

fn run(manifest: &str, program: Command) -> Outcome {
    run_beside(manifest, program, "800ms", |_| {})
}

/// As [`run`], while `others` run; they are given the folder by which clients find the application.
fn run_beside(manifest: &str, mut program: Command, length: &str, others: impl FnOnce(&Path)) -> Outcome {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taut.toml"), manifest).unwrap();
    let lock = folder.path().join("taut.lock");
    std::fs::write(&lock, plan(manifest).to_lock().unwrap()).unwrap();
    let out = folder.path().join("out");
    program.env("TAUT_LOCK", lock).env("TAUT_OUT", &out).env("TAUT_FOR", length);
    program.env("TAUT_APPLICATIONS_DIR", folder.path().join("applications"));
    program.env("TAUT_RUNTIME_DIR", folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = program.spawn().unwrap();
    others(folder.path());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some(), "ended by a signal: {reported}");
    let run = Run::from_bytes(&std::fs::read(out.join("run.taut")).unwrap()).unwrap();
    let lost = run.machine.lines().filter(|line| line.starts_with("lost-")).count();
    let plan = Plan::from_lock(&run.plan).unwrap();
    let channel = plan.channels.iter().position(|channel| channel.name == "telemetry").unwrap();
    let sent = |record: &&Record| record.kind == Kind::Send && usize::from(record.subject) == channel;
    let telemetry = run.records.iter().filter(sent).count() as u64;
    Outcome { code: output.status.code(), said, lost, telemetry }
}

fn drive() -> Command {
    Command::new(env!("CARGO_BIN_EXE_taut-drive"))
}

/// The number at the start of the line that contains `words`.
fn number(said: &str, words: &str) -> u64 {
    let line = said.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{said}"));
    line.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn the_manifest_has_the_model() {
    let plan = plan(&manifest());
    let real_time = plan.tasks.iter().filter(|task| matches!(task.class, ClassPlan::RealTime { .. }));
    assert_eq!(real_time.count(), BLOCKS.len());
    for block in BLOCKS {
        let ClassPlan::RealTime { arrival, .. } = &plan.tasks[plan.task(block.name).unwrap()].class else {
            panic!()
        };
        let Arrival::Periodic { period, offset } = arrival else { panic!() };
        assert_eq!((period.as_ns(), offset.as_ns()), (block.period_ms * 1_000_000, 0), "{}", block.name);
        let reads = plan.channels.iter().filter_map(|channel| {
            let reader = channel.readers.iter().find(|reader| reader.name == block.name)?;
            Some((channel.name.as_str(), reader.delayed))
        });
        let mut reads: Vec<_> = reads.collect();
        let mut model = block.reads.to_vec();
        reads.sort_unstable();
        model.sort_unstable();
        assert_eq!(reads, model, "{}", block.name);
        let gives = plan
            .channels
            .iter()
            .find(|channel| channel.writer.name == block.name && channel.flow == Flow::Synchronous);
        assert_eq!(gives.map(|channel| channel.name.as_str()), block.gives, "{}", block.name);
    }
    let (signals, others): (Vec<&ChannelPlan>, Vec<&ChannelPlan>) =
        plan.channels.iter().partition(|channel| channel.flow == Flow::Synchronous);
    assert_eq!(others.iter().map(|channel| channel.name.as_str()).collect::<Vec<_>>(), ["telemetry"]);
    // The plan uses both mechanisms.
    let words: std::collections::BTreeSet<&str> =
        signals.iter().map(|channel| channel.mechanism.word()).collect();
    assert_eq!(words.into_iter().collect::<Vec<_>>(), ["dbp", "tccp"]);
}

#[test]
fn all_values_equal_the_model() {
    for manifest in [manifest(), dispatched(&manifest())] {
        let mut values = 0;
        // One run reads 260 values if the machine gives it its processors.
        for _ in 0..5 {
            let outcome = run(&manifest, drive());
            assert_eq!(outcome.code, Some(0), "{}", outcome.said);
            assert!(outcome.said.ends_with("all values equal the model\n"), "{}", outcome.said);
            values += number(&outcome.said, "values, read in");
            if values > 200 {
                break;
            }
        }
        assert!(values > 200, "{values}");
    }
}

/// A panel that is killed, again and again, knows each set point of its time or knows that it lost it; so does the logger.
/// The drive notices nothing.
#[test]
fn panels_die_and_no_set_point_is_lost_uncounted() {
    for manifest in [manifest(), dispatched(&manifest())] {
        let mut seen = 0;
        let outcome = run_beside(&manifest, drive(), "3s", |folder| {
            // The first attempts may find no drive yet, and the last ones no more.
            for round in 0_u64..40 {
                let mut panel = Command::new(env!("CARGO_BIN_EXE_drive-panel"));
                panel.env("TAUT_RUNTIME_DIR", folder).stdout(Stdio::piped()).stderr(Stdio::null());
                let mut panel = panel.spawn().unwrap();
                std::thread::sleep(Duration::from_millis(20 + round * 37 % 60));
                panel.kill().unwrap();
                let output = panel.wait_with_output().unwrap();
                let said = String::from_utf8(output.stdout).unwrap();
                // The last line may have been cut off.
                let whole = said.split_inclusive('\n').filter(|line| line.ends_with('\n'));
                let points =
                    whole.map(|line| (number_in(line, ""), number_in(line, "job "), number_in(line, ", ")));
                let points: Vec<_> = points.collect();
                let before = |at: usize| points[at].0 - points[at].2 - at as u64;
                for (at, (number, job, lost)) in points.iter().enumerate() {
                    assert_eq!(before(at), before(0), "value {number} of job {job}, {lost} lost");
                }
                assert!(points.is_sorted_by_key(|&(_, job, _)| job), "{points:?}");
                seen += points.len();
            }
        });
        assert_eq!(outcome.code, Some(0), "{}", outcome.said);
        assert!(seen > 20, "{seen} set points seen by panels");
        let logged = number(&outcome.said, "set points logged");
        let lost = number_in(outcome.said.lines().find(|line| line.contains("logged")).unwrap(), "logged, ");
        let counted = logged + lost;
        // The logger may stop a little before the drive does.
        let sent = outcome.telemetry;
        assert!(counted <= sent && sent - counted <= 5, "{logged} logged, {lost} lost, {sent} sent");
    }
}

/// The number behind `words` in a line.
fn number_in(line: &str, words: &str) -> u64 {
    let behind = &line[line.find(words).unwrap() + words.len()..];
    let digits = behind.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(behind.len());
    behind[..digits].parse().unwrap_or_else(|_| panic!("{words}: {line}"))
}

#[test]
fn without_privilege_as_well() {
    let given_up = ["--bounding-set=-sys_nice", "--inh-caps=-sys_nice"];
    let may = Command::new("setpriv").args(given_up).arg("true").output();
    // A process that may not drop the privilege has none. Without `setpriv`, the test above has covered what is
    // possible.
    let without = may.is_ok_and(|output| output.status.success());
    if !without {
        println!("skipped: no `setpriv`, or no privilege to give up");
    }
    for manifest in [manifest(), dispatched(&manifest())] {
        let mut program = drive();
        if without {
            program = Command::new("setpriv");
            program.args(given_up).arg(env!("CARGO_BIN_EXE_taut-drive"));
        }
        let outcome = run(&manifest, program);
        assert_eq!(outcome.code, Some(0), "{}", outcome.said);
        assert!(outcome.said.ends_with("all values equal the model\n"), "{}", outcome.said);
        assert!(outcome.lost > 0 || !without, "something is missing");
    }
}

#[test]
fn without_a_flow_it_is_not_the_model() {
    // The control reads the reference before the planner has computed it for that instant: the planner takes 3 ms on
    // the other core, and the control begins at once.
    for manifest in [newest(), dispatched(&newest())] {
        let outcome = run(&manifest, drive());
        assert_eq!(outcome.code, Some(1), "{}", outcome.said);
        let (different, all) =
            (number(&outcome.said, "differ from the model"), number(&outcome.said, "values, read in"));
        assert!(different > 20 && different < all, "{}", outcome.said);
    }
}

#[test]
fn a_variable_that_cannot_be_read_ends_the_program() {
    let wanted =
        [("TAUT_FOR", "a duration, as in \"10s\""), ("TAUT_RECORD_LIMIT", "a size, as in \"64MiB\"")];
    for (variable, what) in wanted {
        let output = drive().env(variable, "much").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(said.trim_end(), format!("error: {variable}: `much` is not {what}"));
    }
}
