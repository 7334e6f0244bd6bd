// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Runs whose truth is known, and the reports about them.

mod recorded;

use recorded::{BEGIN, MS, OUTPUT, PROCESSING, RECORDING, SOURCE, Script, plan, run};
use taut_event::file::Run;
use taut_event::{CodeLocation, Counter, Event, Foreign, GridPhase, Kind, Record, SafeStateOutcome, Stood};
use taut_plan::{
    Arrival, ChangePlan, ChannelKind, ClassPlan, DeviceClock, LanePlan, LatePolicy, Mechanism, MessageOrder,
    ModePlan, OverflowPolicy, ServicePlan, SourcePlan,
};
use taut_report::{
    About, Breach, Cause, CoreFigures, Counts, Ended, Ending, Report, RunVerdict, SetUpFigures, Warning,
};
use taut_time::{Instant, Size};

fn report(script: Script) -> Report {
    Report::new(&plan(), &run(script))
}

#[test]
fn a_quiet_run_is_kept() {
    let report = report(Script::quiet());
    assert_eq!(report.verdict(), &RunVerdict::Kept);
    assert_eq!(report.warnings(), []);
    assert_eq!(report.ending(), Ending::Done);
    for task in &report.tasks()[..3] {
        assert_eq!((task.releases, task.completions, task.missed), (1250, 1250, 0), "{}", task.name);
        assert!(task.response.unwrap().max_ns < task.bound_ns.unwrap());
        assert_eq!(task.counts.unwrap().heap_use, Some(0));
    }
    assert_eq!(report.chains()[0].age.unwrap().count, 1250);
}

/// A stall of 9 ms that covers a release of the recording.
fn stalled() -> Script {
    Script { stalls: vec![(3_999 * MS + 900_000, 9 * MS)], ..Script::quiet() }
}

#[test]
fn a_stall_is_the_machines() {
    let report = report(stalled());
    let RunVerdict::KeptButMachine(late) = report.verdict() else { panic!("{:?}", report.verdict()) };
    assert!(*late >= 2, "recording and, queued behind it, processing: {late}");
    assert!(report.tasks()[0].missed >= 1 && report.tasks()[0].late_ours == 0);
    assert_eq!(report.warnings(), [], "CPU time that a stall inflated is no WCET of ours");
}

#[test]
fn the_same_lateness_without_a_stall_is_ours() {
    let mut run = run(stalled());
    run.records.retain(|record| record.kind != Kind::Stall);
    let report = Report::new(&plan(), &run);
    let RunVerdict::Broken(breaches) = report.verdict() else { panic!("{:?}", report.verdict()) };
    assert!(breaches.iter().any(|breach| matches!(breach,
        Breach::Response { task, missed: true, stolen_ns: 0, .. } if task == "recording")));
    assert_eq!(report.tasks()[0].late_machine, 0);
}

#[test]
fn a_wcet_that_is_too_small_is_named_even_by_its_victims() {
    let report = report(Script { slow: vec![(PROCESSING, 400, 5_200_000)], ..Script::quiet() });
    let RunVerdict::Broken(breaches) = report.verdict() else { panic!("{:?}", report.verdict()) };
    let Breach::Response { task, job: 400, missed: true, cause, .. } = &breaches[0] else { panic!() };
    assert_eq!(task, "processing");
    assert!(matches!(cause, Cause::Wcet { of, wcet_ns: 1_500_000, .. } if of == "processing"), "{cause:?}");
    let victim = report_of_victim();
    let RunVerdict::Broken(breaches) = victim.verdict() else { panic!("{:?}", victim.verdict()) };
    let of_processing = breaches.iter().find_map(|breach| match breach {
        Breach::Response { task, cause, .. } if task == "processing" => Some(cause),
        _ => None,
    });
    assert!(matches!(of_processing, Some(Cause::Wcet { of, .. }) if of == "recording"), "{of_processing:?}");
}

/// The recording overruns into the processing, which is late because of it.
fn report_of_victim() -> Report {
    report(Script { slow: vec![(RECORDING, 300, 4_500_000)], ..Script::quiet() })
}

#[test]
fn a_stall_elsewhere_is_no_excuse() {
    let script = Script {
        stalls: vec![(6_000 * MS + 100_000, 5 * MS)],
        slow: vec![(PROCESSING, 400, 5_200_000)],
        ..Script::quiet()
    };
    let report = report(script);
    assert!(!report.verdict().holds());
    assert_eq!(report.tasks()[1].late_ours, 1);
    assert!(report.late_machine() >= 1);
}

#[test]
fn a_killed_run_says_so() {
    let report = report(Script { killed: true, ..Script::quiet() });
    assert_eq!(report.ending(), Ending::Unrecorded);
    assert_eq!(report.verdict(), &RunVerdict::Broken(vec![Breach::Ended { ending: Ended::Unrecorded }]));
    assert!(report.tasks().iter().all(|task| task.counts.is_none()));
}

/// No recorded job is late, but it is not known what the application did next.
#[test]
fn a_run_that_did_not_come_to_its_own_end_is_not_kept() {
    let output = u32::from(OUTPUT);
    let task = || "output".to_owned();
    for (ending, ended, word, said) in [
        (Ending::Overrun(output), Ended::Overrun { task: task() }, "overrun", "stopped itself, as `output`"),
        (Ending::Panic(output), Ended::Panic { task: task() }, "panic", "a job of `output` panicked"),
        (Ending::Killed(11), Ended::Killed { signal: 11 }, "killed", "ended by SIGSEGV (signal 11)"),
        (Ending::Killed(40), Ended::Killed { signal: 40 }, "killed", "ended by signal 40"),
        (Ending::Exited(0), Ended::Exited { code: 0 }, "exited", "(exit code 0) before the end of its run"),
        (Ending::Exited(4), Ended::Exited { code: 4 }, "exited", "did not end in order: exit code 4"),
        (
            Ending::Limit(output),
            Ended::Limit { task: task() },
            "limit",
            "`output` did not end after its limit",
        ),
        (Ending::Jobs, Ended::Jobs, "jobs", "jobs did not end when"),
        (Ending::Finish, Ended::Finish, "finish", "the work after the last job took too long"),
        (Ending::Start, Ended::Start, "start", "release 0 did not come in time"),
        (Ending::Again(2), Ended::Again { signal: 2 }, "again", "by signal 2, which followed"),
        (Ending::Left, Ended::Left, "left", "a thread called `exit`"),
        (
            Ending::BestEffort(output),
            Ended::BestEffort { task: task() },
            "best-effort",
            "`output` did not return",
        ),
        (Ending::Unwritten, Ended::Unwritten, "unwritten", "the rest of the recording could not be written"),
    ] {
        for orderly in [false, true] {
            // The process is killed before its last record, or after it.
            let mut run = run(Script { killed: !orderly, ..Script::quiet() });
            let last = run.records.iter().map(|record| record.at).max().unwrap();
            run.records.extend(ending.to_record(last));
            let report = Report::new(&plan(), &run);
            let breach = Breach::Ended { ending: ended.clone() };
            assert_eq!(report.verdict(), &RunVerdict::Broken(vec![breach]), "{ending:?}");
            assert_eq!(report.ending(), ending);
            let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
            assert_eq!((&json["verdict"], &json["ending"]), (&"broken".into(), &word.into()));
            let (text, html) = (report.text(140, false), report.html(&About::default()));
            for page in [&text, &html] {
                assert!(page.contains(said) && !page.contains("✔ kept"), "{said}\n{page}");
            }
        }
    }
    // With an intended end, a run that was kept stays kept.
    let mut run = run(Script { killed: true, ..Script::quiet() });
    let last = run.records.iter().map(|record| record.at).max().unwrap();
    run.records.extend(Ending::Signal(15).to_record(last));
    assert_eq!(Report::new(&plan(), &run).verdict(), &RunVerdict::Kept);
}

/// The report about the jobs and outputs of an application that was ended without waiting for its jobs.
#[test]
fn where_jobs_stood_and_whether_outputs_are_at_rest() {
    let with = |records: &[Record]| {
        let mut run = run(Script { killed: true, ..Script::quiet() });
        let last = run.records.iter().map(|record| record.at).max().unwrap();
        run.records.extend(records.iter().map(|record| Record { at: last, ..*record }));
        run.records.extend(Ending::Limit(u32::from(OUTPUT)).to_record(last));
        Report::new(&plan(), &run)
    };
    let now = Instant::from_ns(0);
    let at = Some(CodeLocation { in_call: true, offset: Some(0x1f3c2) });
    let stood = Stood { task: OUTPUT, job: 7, at, resource: Some((0, true)) };
    let report = with(&[stood.to_record(now), SafeStateOutcome::Reached.to_record(now, 41_000, Some(0))]);
    let text = report.text(140, false);
    // The plan has no resource with that number.
    let said = "at that time `output`, job 7, was in a system call, at 0x1f3c2 of the program, holding `?`";
    assert!(text.contains(said) && text.contains("outputs were brought to rest in 41"), "{text}");
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!((&json["rested_ns"], &json["ended_by"]), (&41_000.into(), &"output".into()));
    let place =
        json["breaches"].as_array().unwrap().iter().find(|breach| breach["breach"] == "stood").unwrap();
    assert_eq!((&place["job"], &place["offset"], &place["held"]), (&7.into(), &0x1f3c2.into(), &true.into()));
    assert!(report.html(&About::default()).contains("job 7, was in a system call"));

    let nowhere = Stood { at: None, resource: Some((0, false)), ..stood };
    let text = with(&[nowhere.to_record(now)]).text(140, false);
    assert!(text.contains("was at an unknown place, waiting for `?`"), "{text}");

    for (rest, said) in [
        (SafeStateOutcome::Panicked, "the safe state panicked"),
        (SafeStateOutcome::Crashed(11), "signal 11 in the safe state"),
        (SafeStateOutcome::Late, "the safe state did not return within its budget"),
        (SafeStateOutcome::NotStarted, "the safe state did not get a processor"),
    ] {
        // Also where the run came to its own end.
        let mut run = run(Script::quiet());
        let last = run.records.iter().map(|record| record.at).max().unwrap();
        run.records.push(rest.to_record(last, 9, Some(3)));
        let report = Report::new(&plan(), &run);
        assert!(matches!(report.verdict(), RunVerdict::Broken(breaches) if breaches.len() == 1), "{rest:?}");
        let text = report.text(140, false);
        assert!(text.contains("outputs may not be at rest: ") && text.contains(said), "{text}");
        assert!(text.contains("used the heap 3 times") && !text.contains("were brought to rest"), "{text}");
    }
}

#[test]
fn no_evidence_is_no_verdict() {
    let mut run = run(Script { releases: 3, ..Script::quiet() });
    run.records.retain(|record| record.kind == Kind::Begin);
    let report = Report::new(&plan(), &run);
    let unrecorded = Breach::Ended { ending: Ended::Unrecorded };
    assert_eq!(report.verdict(), &RunVerdict::Broken(vec![unrecorded, Breach::Nothing]));
    run.records.clear();
    assert!(!Report::new(&plan(), &run).verdict().holds());
}

/// A set-up is what was recorded of it; the bound is the plan's. The counts of a set-up are none of jobs.
#[test]
fn a_set_up_stands_beside_its_bound() {
    let mut plan = plan();
    let ClassPlan::RealTime { set_up, .. } = &mut plan.tasks[usize::from(PROCESSING)].class else {
        unreachable!("it is real-time")
    };
    *set_up = Some(Size::from_bytes(64 << 10));
    let mut run = run(Script::quiet());
    let is_of_jobs = |record: &Record| {
        record.kind == Kind::Counted && record.job < Counter::SetUpHeap as u64 && record.subject == SOURCE
    };
    run.records.retain(|record| !is_of_jobs(record));
    let report = Report::new(&plan, &run);
    let of = |task: u16| report.tasks()[usize::from(task)].set_up_heap;
    let (in_use, peak) = (1_000 + u64::from(PROCESSING), 4_096);
    assert_eq!(of(PROCESSING), Some(SetUpFigures { in_use, peak, bound: Some(64 << 10) }));
    assert_eq!(of(OUTPUT).unwrap().bound, None);
    assert!(of(SOURCE).is_some() && report.tasks()[usize::from(SOURCE)].counts.is_none());
    let text = report.text(120, false);
    assert!(text.contains(&format!("{in_use}B of 64KiB\n")), "{text}");
    let sum: u64 = [RECORDING, PROCESSING, OUTPUT, SOURCE].iter().map(|task| 1_000 + u64::from(*task)).sum();
    assert!(text.contains(&format!("set-up heap  {sum}B of 4 tasks, best-effort ones included")), "{text}");
    run.records.retain(|record| record.kind != Kind::Counted || record.job < Counter::SetUpHeap as u64);
    let text = Report::new(&plan, &run).text(120, false);
    assert!(!text.contains("set-up heap  "), "{text}");
}

/// A dispatched core counts some actions per task, and page faults for all of its jobs together.
#[test]
fn what_nobody_counted_is_not_zero() {
    let counted = |count: Counter, value| {
        let (at, job) = (Instant::from_ns(20_000 * MS), count as u64);
        Record { at, kind: Kind::Counted, cpu: 0, subject: PROCESSING, job, value }
    };
    let mut run = run(Script::quiet());
    run.records
        .retain(|record| record.kind != Kind::Counted || record.subject != PROCESSING || record.job == 1);
    let counts = |run: &_| Report::new(&plan(), run).tasks()[usize::from(PROCESSING)].counts.unwrap();
    let only_heap = Counts { heap_use: Some(0), ..Counts::default() };
    assert_eq!(counts(&run), only_heap);
    let text = Report::new(&plan(), &run).text(120, false);
    let row = text.lines().rfind(|line| line.trim_start().starts_with("processing ")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["processing", "0", "-", "-", "-", "-"]);
    run.records.extend([counted(Counter::Blocked, 0), counted(Counter::Preempted, 7)]);
    let dispatched = Counts { blocked: Some(0), preempted: Some(7), ..only_heap };
    assert_eq!(counts(&run), dispatched);
    assert_eq!(Report::new(&plan(), &run).cores(), []);
    for (count, value) in [(Counter::MinorFaults, 3), (Counter::MajorFaults, 1)] {
        run.records.push(Record { kind: Kind::CoreCounted, subject: 0, ..counted(count, value) });
    }
    let report = Report::new(&plan(), &run);
    assert_eq!(report.cores(), [CoreFigures { cpu: plan().cores[0].cpu, minor_faults: 3, major_faults: 1 }]);
    assert_eq!(report.warnings(), [Warning::CoreFaults { cpu: plan().cores[0].cpu, count: 4 }]);
    assert!(report.text(120, false).contains("4 page faults of all its tasks' jobs together"));
}

#[test]
fn a_job_that_slept_with_a_resource_is_not_kept() {
    let mut run = run(Script::quiet());
    let complete = |run: &Run, job| {
        let of = |record: &&Record| {
            record.kind == Kind::Complete && record.subject == PROCESSING && record.job == job
        };
        *run.records.iter().find(of).unwrap()
    };
    for job in [100, 101] {
        run.records.push(Record { kind: Kind::Slept, value: job - 98, ..complete(&run, job) });
    }
    let slept = Breach::Slept { task: "processing".to_owned(), times: 5 };
    assert_eq!(Report::new(&plan(), &run).verdict(), &RunVerdict::Broken(vec![slept]));
    // A job that stood still together with its probe may have been stopped.
    let at = complete(&run, 100).at;
    run.records.push(Record { at, kind: Kind::Stall, cpu: 0, subject: 0, job: 0, value: 400_000 });
    let report = Report::new(&plan(), &run);
    assert_eq!(
        report.verdict(),
        &RunVerdict::Broken(vec![Breach::Slept { task: "processing".to_owned(), times: 3 }])
    );
    assert_eq!(report.warnings(), [Warning::Stopped { task: "processing".to_owned(), times: 2 }]);
}

/// The drive's control, on CPU 1, and its torque, on CPU 0, which reads the value that the control writes at the same
/// instant.
fn drive(control: (u64, u64), torque: (u64, u64), stall: (u16, u64, u64)) -> Report {
    let lock = include_str!("../../../apps/drive/taut.lock");
    let plan = taut_plan::Plan::from_lock(lock).expect("the plan is one");
    let mut records = vec![(Kind::Begin, 0, 0, 0, 0, 0)];
    for (name, cpu, (start, complete)) in [("control", 1, control), ("torque", 0, torque)] {
        let task = plan.task(name).expect("the drive has it") as u16;
        records.push((Kind::Release, 40 * MS, cpu, task, 2, 0));
        records.push((Kind::Start, 40 * MS + start, cpu, task, 2, 0));
        records.push((Kind::Complete, 40 * MS + complete, cpu, task, 2, 30_000));
    }
    let core = plan.cores.iter().position(|core| core.cpu == stall.0).expect("the plan has it") as u16;
    records.push((Kind::Stall, 40 * MS + stall.1, stall.0 as u8, core, 0, stall.2));
    records.push((Kind::End, 80 * MS, 0, 0, 0, 0));
    let record = |(kind, at, cpu, subject, job, value)| Record {
        at: Instant::from_ns(BEGIN + at),
        kind,
        cpu,
        subject,
        job,
        value,
    };
    let records = records.into_iter().map(record).collect();
    let mut run = run(Script { releases: 1, ..Script::quiet() });
    run.records = records;
    // The recording does not contain what came before job 2.
    run.since = Some(Instant::from_ns(BEGIN));
    Report::new(&plan, &run)
}

#[test]
fn a_stall_of_the_core_that_a_job_waited_for_is_its_excuse() {
    let late = (19 * MS, 19 * MS + 50_000);
    let waited = drive((18 * MS, 19 * MS - 50_000), late, (1, 18 * MS, 17 * MS));
    assert!(waited.verdict().holds(), "{:?}", waited.verdict());
    let task = |report: &Report, name: &str| {
        report.tasks().iter().find(|task| task.name == name).map(|task| (task.late_machine, task.late_ours))
    };
    assert_eq!((task(&waited, "torque"), task(&waited, "control")), (Some((1, 0)), Some((1, 0))));
    // The control completed long before: the torque waited for something else.
    let not_waited = drive((100_000, 200_000), late, (1, 18 * MS, 17 * MS));
    assert_eq!(task(&not_waited, "torque"), Some((0, 1)));
    // The torque waited, but the other core stood still for a shorter time.
    let shorter = drive((18 * MS, 19 * MS - 50_000), late, (1, 18 * MS, 8 * MS));
    assert_eq!(task(&shorter, "torque"), Some((0, 1)));
}

#[test]
fn a_thread_that_was_moved_from_outside_is_named() {
    let mut run = run(stalled());
    let at = Instant::from_ns(BEGIN + 5_000 * MS);
    let moved = |kind, subject, value| Record { at, kind, cpu: 0, subject, job: 0, value };
    run.records.extend([moved(Kind::Moved, PROCESSING, 1 << 16), moved(Kind::ProbeMoved, 0, 1 | 40 << 8)]);
    // The main thread, which was kept off the core.
    run.records.push(Record { job: 1, ..moved(Kind::ProbeMoved, 0, 0) });
    let cpu = plan().cores[0].cpu;
    let breach = |task: Option<&str>, thread: Option<&str>, policy, priority, unpinned, at_ns| {
        let (task, thread) = (task.map(str::to_owned), thread.map(str::to_owned));
        Breach::Moved { task, thread, cpu, policy, priority, unpinned, at_ns }
    };
    let report = Report::new(&plan(), &run);
    let seen = [
        breach(Some("processing"), None, 0, 0, true, 5_000 * MS),
        breach(None, Some("main"), 0, 0, false, 5_000 * MS),
        breach(None, Some("probe"), 1, 40, false, 5_000 * MS),
    ];
    assert_eq!(report.verdict(), &RunVerdict::Broken(seen.to_vec()));
    let text = report.text(160, false);
    assert!(text.contains("`processing` was moved from outside: SCHED_OTHER, not on CPU 0 alone"), "{text}");
    assert!(text.contains("probe of CPU 0 was moved from outside: SCHED_FIFO 40"), "{text}");
    assert!(text.contains("the main thread was moved from outside: to CPU 0, where only tasks"), "{text}");
}

/// The run of [`stalled`], but the probes saw nothing; records of interference from outside replace theirs.
fn instead_of_the_stall(others: &[Record]) -> Report {
    let mut run = run(stalled());
    run.records.retain(|record| record.kind != Kind::Stall);
    run.records.extend(others);
    Report::new(&plan(), &run)
}

/// A foreign thread that used this much of a core between two looks.
fn foreign(core: u16, (since, until): (u64, u64), ran_ns: u64) -> [Record; 4] {
    let (since, until) = (Instant::from_ns(BEGIN + since), Instant::from_ns(BEGIN + until));
    let name = *b"multipathd\0\0\0\0\0\0";
    Foreign { core, tid: 4711, policy: 1, priority: 95, name, since, until, ran_ns }.to_records()
}

#[test]
fn a_foreign_thread_that_had_the_core_is_named_and_no_job_is() {
    let report = instead_of_the_stall(&foreign(0, (3_990 * MS, 4_010 * MS), 9 * MS));
    let RunVerdict::Broken(breaches) = report.verdict() else { panic!("{:?}", report.verdict()) };
    let Breach::ForeignThread { thread, tid: 4711, policy: 1, priority: 95, cpu: 0, ran_ns, jobs, .. } =
        &breaches[0]
    else {
        panic!("{breaches:?}")
    };
    assert_eq!((thread.as_str(), *ran_ns), ("multipathd", 9 * MS));
    let late: u64 = report.tasks().iter().map(|task| task.late_outside).sum();
    assert_eq!((late, *jobs as usize), (*jobs, breaches.len() - 1));
    assert!(report.tasks().iter().all(|task| task.late_ours == 0));
    for breach in &breaches[1..] {
        let Breach::Response { cause: Cause::ForeignThread { tid: 4711, .. }, .. } = breach else {
            panic!("{breach:?}")
        };
    }
    let text = report.text(200, false);
    assert!(text.contains("foreign real-time thread `multipathd` (4711), SCHED_FIFO 95, on CPU 0"), "{text}");
    assert!(!text.contains("WCET of"), "{text}");
    assert!(report.json().contains("\"breach\": \"foreign-thread\""));
}

#[test]
fn a_foreign_thread_excuses_no_more_than_it_used() {
    let enough = 9 * MS;
    for (core, span, ran_ns) in [
        (0, (3_990 * MS, 4_010 * MS), 2 * MS),
        (1, (3_990 * MS, 4_010 * MS), enough),
        (0, (3_000 * MS, 3_020 * MS), enough),
        (0, (5_000 * MS, 5_020 * MS), enough),
    ] {
        let report = instead_of_the_stall(&foreign(core, span, ran_ns));
        let late = |task: usize| report.tasks()[task].late_ours;
        assert!(late(0) >= 1, "{core} {span:?} {ran_ns}");
        assert!(!report.verdict().holds());
    }
    // Its time is counted up to a tick late, so the time in the next look belongs to it.
    let looks: Vec<Record> =
        [foreign(0, (3_980 * MS, 4_001 * MS), MS), foreign(0, (4_020 * MS, 4_040 * MS), 8 * MS)].concat();
    assert_eq!(instead_of_the_stall(&looks).tasks()[0].late_ours, 0);
    // In a run without late jobs it is a warning.
    let mut quiet = run(Script::quiet());
    quiet.records.extend(foreign(0, (100 * MS, 120 * MS), MS));
    let report = Report::new(&plan(), &quiet);
    assert!(report.verdict().holds());
    assert!(
        matches!(report.warnings(), [Warning::ForeignThread { tid: 4711, cpu: 0, .. }]),
        "{:?}",
        report.warnings()
    );
    quiet.records.truncate(quiet.records.len() - 4);
    quiet.records.extend(foreign(0, (100 * MS, 120 * MS), MS - 1));
    assert_eq!(Report::new(&plan(), &quiet).warnings(), []);
}

#[test]
fn a_job_that_used_too_much_is_blamed_beside_a_foreign_thread() {
    let mut run = run(Script { slow: vec![(PROCESSING, 400, 5_200_000)], ..Script::quiet() });
    run.records.extend(foreign(0, (3_190 * MS, 3_215 * MS), 9 * MS));
    let report = Report::new(&plan(), &run);
    let RunVerdict::Broken(breaches) = report.verdict() else { panic!("{:?}", report.verdict()) };
    assert!(breaches.iter().all(|breach| !matches!(breach, Breach::ForeignThread { .. })), "{breaches:?}");
    assert!(report.tasks()[1].late_ours >= 1);
}

#[test]
fn a_tracer_and_a_stop_are_named_and_no_job_is() {
    let mark = |at: u64, job, value| {
        let at = Instant::from_ns(BEGIN + at);
        Record { at, kind: Kind::Stopped, cpu: 0, subject: 0, job, value }
    };
    let traced = instead_of_the_stall(&[mark(4_005 * MS, 1, 77), mark(4_025 * MS, 1, 77)]);
    let RunVerdict::Broken(breaches) = traced.verdict() else { panic!("{:?}", traced.verdict()) };
    assert!(matches!(breaches[0], Breach::Traced { pid: 77, .. }), "{breaches:?}");
    assert!(
        breaches[1..]
            .iter()
            .all(|breach| matches!(breach, Breach::Response { cause: Cause::Traced { pid: 77 }, .. }))
    );
    assert!(traced.tasks().iter().all(|task| task.late_ours == 0));
    // A stop counts only if the probes saw it end when the process continued.
    let (from, lasts) = stalled().stalls[0];
    let mut stopped = run(stalled());
    stopped.records.push(mark(from + lasts + MS, 0, 0));
    let report = Report::new(&plan(), &stopped);
    let RunVerdict::Broken(breaches) = report.verdict() else { panic!("{:?}", report.verdict()) };
    assert!(matches!(breaches[..], [Breach::Stopped { .. }]), "{breaches:?}");
    assert!(report.text(200, false).contains("stopped from outside"));
    // Without such a sighting, the signal had no effect.
    let mut quiet = run(Script::quiet());
    quiet.records.push(mark(4_005 * MS, 0, 0));
    assert_eq!(Report::new(&plan(), &quiet).verdict(), &RunVerdict::Kept);
}

#[test]
fn a_moved_thread_of_a_dispatched_core_is_named() {
    let mut run = run(Script::quiet());
    let at = Instant::from_ns(BEGIN + 5_000 * MS);
    let moved = |job, value| Record { at, kind: Kind::CoreMoved, cpu: 0, subject: 0, job, value };
    run.records.extend([moved(0, 0), moved(2, 1 | 95 << 8 | 1 << 16), moved(2, 0)]);
    let report = Report::new(&plan(), &run);
    let text = report.text(200, false);
    let RunVerdict::Broken(breaches) = report.verdict() else { panic!("{:?}", report.verdict()) };
    assert_eq!(breaches.len(), 2, "each thread once: {breaches:?}");
    assert!(text.contains("dispatcher of CPU 0 was moved from outside: SCHED_OTHER, seen at"), "{text}");
    assert!(
        text.contains("thread 2 of CPU 0 was moved from outside: SCHED_FIFO 95, not on CPU 0 alone"),
        "{text}"
    );
}

/// The runtime did not see the move while it lasted, but the jobs' records show where they ran.
#[test]
fn a_job_on_another_cpu_was_moved_there() {
    let mut run = run(Script::quiet());
    let started = |record: &&mut Record| {
        record.kind == Kind::Start && record.subject == PROCESSING && record.job == 400
    };
    let start = run.records.iter_mut().find(started).unwrap();
    start.cpu = 3;
    let at = start.at.as_ns() - BEGIN;
    let report = Report::new(&plan(), &run);
    let RunVerdict::Broken(breaches) = report.verdict() else { panic!("{:?}", report.verdict()) };
    let [Breach::Moved { task: Some(task), unpinned: true, at_ns, .. }] = &breaches[..] else {
        panic!("{breaches:?}")
    };
    assert_eq!((task.as_str(), *at_ns), ("processing", at));
    let Breach::Moved { policy, priority, .. } = &breaches[0] else { unreachable!() };
    let ClassPlan::RealTime { priority: planned, .. } = &plan().tasks[usize::from(PROCESSING)].class else {
        panic!("processing is real-time")
    };
    // The thread moved, and kept its policy and priority.
    assert_eq!((*policy, *priority), (1, u64::from(*planned)), "SCHED_FIFO of its own priority");
    // If threads were not pinned from the beginning, another warning already reports it.
    run.machine.push_str("lost-cores = \"not permitted\"\n");
    assert!(Report::new(&plan(), &run).verdict().holds());
}

#[test]
fn errors_of_jobs_are_told_and_break_no_promise() {
    let mut run = run(Script::quiet());
    let at = run.records[0].at;
    let of = |kind, job| Record { at, kind, cpu: 0, subject: OUTPUT, job, value: 0 };
    run.records.extend([of(Kind::Failed, 3), of(Kind::Failed, 4), of(Kind::ScopeExceeded, 5)]);
    let report = Report::new(&plan(), &run);
    assert_eq!(report.verdict(), &RunVerdict::Kept);
    let task = || "output".to_owned();
    let reported = [
        Warning::Failed { task: task(), jobs: 2, errors: vec![] },
        Warning::ScopeExceeded { task: task(), times: 1 },
    ];
    assert_eq!(report.warnings(), reported);

    // An application may name its errors. The names are no facts of the machine.
    run.machine.push_str("errors-of-output = Behind, Level\n");
    let code = |job, value| Record { value, ..of(Kind::Failed, job) };
    run.records.extend([code(6, 2), code(7, 2), code(8, 1), code(9, 3)]);
    let report = Report::new(&plan(), &run);
    let text = report.text(100, false);
    assert!(text.contains("6 jobs of `output` returned an error: Behind 1, Level 2"), "{text}");
    assert!(report.json().contains("\"error\": \"Level\"") && !report.json().contains("errors-of"));
}

#[test]
fn restarts_are_told_and_a_service_that_stops_by_a_failure_breaks_the_promise() {
    let panicked = |run: &mut Run, job: u64, remedy: u64| {
        let at = Instant::from_ns(BEGIN + job * 8 * MS);
        run.records.push(Record { at, kind: Kind::Panicked, cpu: 0, subject: OUTPUT, job, value: remedy });
    };
    let mut run = run(Script::quiet());
    panicked(&mut run, 3, 0);
    panicked(&mut run, 9, 0);
    let report = Report::new(&plan(), &run);
    assert_eq!(report.verdict(), &RunVerdict::Kept);
    assert_eq!(report.warnings(), [Warning::Restarted { task: "output".to_owned(), jobs: 2 }]);
    assert!(report.text(100, false).contains("2 jobs of `output` panicked, and its service restarted"));
    // The application's ending says so itself.
    panicked(&mut run, 10, 2);
    assert_eq!(Report::new(&plan(), &run).verdict(), &RunVerdict::Kept);
    // A remedy that this version does not know is none that keeps the task.
    for (remedy, job) in [(1, 12), (9, 14)] {
        let mut run = run.clone();
        panicked(&mut run, job, remedy);
        let report = Report::new(&plan(), &run);
        let panicked = Breach::Panicked { task: "output".to_owned(), job, at_ns: job * 8 * MS };
        assert_eq!(report.verdict(), &RunVerdict::Broken(vec![panicked]));
        assert!(report.text(100, false).contains(&format!("`output` job {job} panicked at ")));
        assert!(report.json().contains("\"breach\": \"panicked\""));
    }
}

#[test]
fn releases_that_were_dropped_for_want_of_room_are_told() {
    let mut run = run(Script::quiet());
    let skip = |job: u64, value| {
        let at = Instant::from_ns(BEGIN + (job + 1_250) * 8 * MS);
        Record { at, kind: Kind::Skip, cpu: 0, subject: PROCESSING, job: job + 1_250, value }
    };
    run.records.extend([skip(0, 0), skip(1, 0)]);
    assert_eq!(Report::new(&plan(), &run).verdict(), &RunVerdict::Kept, "the overrun policy's, or a pause's");
    run.records.extend([skip(2, 1), skip(3, 1), skip(4, 1)]);
    let report = Report::new(&plan(), &run);
    let dropped =
        Breach::ReleasesDropped { task: "processing".to_owned(), releases: 3, at_ns: 1_252 * 8 * MS };
    assert_eq!(report.verdict(), &RunVerdict::Broken(vec![dropped]));
    assert!(report.text(200, false).contains("3 releases of `processing` dropped from 10.1 s on"));
    assert!(report.json().contains("\"breach\": \"releases-dropped\""));
}

/// The heap may take any time: a run in which a job used it against the manifest is not as it was proven.
#[test]
fn a_job_that_used_the_heap_is_a_breach() {
    let mut run = run(Script::quiet());
    let of = |job: u64| {
        let at = Instant::from_ns(BEGIN + (job + 1) * 8 * MS);
        Record { at, kind: Kind::HeapUsed, cpu: 0, subject: PROCESSING, job, value: 2 }
    };
    // Sorted by thread, not overall.
    run.records.extend([of(11), of(10), of(12)]);
    let report = Report::new(&plan(), &run);
    let used = Breach::HeapUsed { task: "processing".to_owned(), jobs: 3, at_ns: 88 * MS };
    assert_eq!(report.verdict(), &RunVerdict::Broken(vec![used]));
    let said = "3 jobs of `processing` used the heap from 88.0 ms on, which its manifest denies";
    assert!(report.text(200, false).contains(said), "{}", report.text(200, false));
    assert!(report.json().contains("\"breach\": \"heap-used\""));
}

/// A device's clock that a task follows: since when, how often it was lost, how closely, and a word that it broke.
#[test]
fn a_followed_clock_has_its_figures_and_warnings() {
    let mut plan = plan();
    let us = taut_time::Duration::from_us;
    let ClassPlan::RealTime { arrival, deadline, .. } = &mut plan.tasks[usize::from(PROCESSING)].class else {
        panic!("real-time")
    };
    let clock = DeviceClock {
        period: us(8_000),
        offset: us(0),
        name: "card".to_owned(),
        drift_ppm: 200,
        jitter: us(500),
    };
    *arrival = Arrival::Clocked(clock);
    *deadline = us(7_000);
    let followed = |at: u64, error: u64, phase: GridPhase, has_broken: bool| {
        let error = taut_time::Duration::from_ns(error);
        let event = Event::Followed { task: PROCESSING, release: 1, error, phase, has_broken };
        event.record(Instant::from_ns(BEGIN + at), 0)
    };
    let judged = |more: &[Record]| {
        let mut run = run(Script::quiet());
        run.records.extend_from_slice(more);
        Report::new(&plan, &run)
    };
    use GridPhase::{Approaching, Locked, Unseen};
    let steps = [
        followed(10 * MS, 900_000, Approaching, false),
        followed(100 * MS, 200_000, Locked, false),
        followed(200 * MS, 250_000, Locked, false),
        followed(300 * MS, 270_000, Unseen, false),
        followed(400 * MS, 100_000, Locked, false),
        followed(500 * MS, 800_000, Approaching, true),
        followed(600 * MS, 90_000, Locked, false),
    ];
    let report = judged(&steps);
    let [of] = report.clocks() else { panic!("one clock") };
    assert_eq!((of.locked_since_ns, of.lost, of.broken), (Some(600 * MS), 2, 1));
    assert_eq!((of.error_ns, of.bound_ns), (Some(250_000), 262_800));
    let text = report.text(160, false);
    assert!(text.contains("clock `card` was lost 2 times"), "{text}");
    assert!(text.contains("clock `card` broke its word 1 time: its drift or its jitter"), "{text}");
    assert!(text.contains("locked since") && !text.contains("no release was locked"), "{text}");
    assert!(report.json().contains("\"error_ns\": 250000"));
    let never = judged(&steps[..1]);
    assert!(never.text(160, false).contains("no release was locked to clock `card`"));
    assert_eq!(never.clocks()[0].locked_since_ns, None);
    let unlocked = judged(&steps[..4]);
    assert_eq!(unlocked.clocks()[0].locked_since_ns, None);
    assert!(!report_of_nothing().contains("clocks"));
}

fn report_of_nothing() -> String {
    report(Script::quiet()).json()
}

/// A change of mode is held to its bound: of a task that stops, to that of the first step. The time for which the machine
/// stood still excuses as much.
#[test]
fn a_slow_change_of_mode_is_a_breach() {
    let mut plan = plan();
    let mode = |name: &str, services: &[&str]| ModePlan {
        name: name.to_owned(),
        services: services.iter().map(|name| (*name).to_owned()).collect(),
        utilisation_ppm: vec![0],
        bounds: Vec::new(),
    };
    let of_sound = plan.tasks[usize::from(PROCESSING)].service.clone().unwrap();
    plan.first_mode = Some("on".to_owned());
    plan.modes = vec![mode("on", &[&of_sound]), mode("off", &[])];
    let ms = taut_time::Duration::from_ms;
    let change = |from: &str, to: &str, stop: u64, start: u64| ChangePlan {
        from: from.to_owned(),
        to: to.to_owned(),
        stop: ms(stop),
        idle: Some(ms(1)),
        start: ms(start),
    };
    plan.changes = vec![change("on", "off", 10, 0), change("off", "on", 0, 20)];
    let followed = |at: u64, from: u64, to: u64, since: u64| Record {
        at: Instant::from_ns(BEGIN + at),
        kind: Kind::ModeFollowed,
        cpu: 0,
        subject: PROCESSING,
        job: from | to << 16,
        value: since,
    };
    let judged = |more: &[Record]| {
        let mut run = run(Script::quiet());
        run.records.extend_from_slice(more);
        Report::new(&plan, &run)
    };
    let in_time = [followed(1_000 * MS, 0, 1, 10 * MS), followed(2_000 * MS, 1, 0, 21 * MS)];
    let kept = judged(&in_time);
    assert_eq!(kept.verdict(), &RunVerdict::Kept);
    let figures: Vec<_> =
        kept.changes().iter().map(|of| (of.longest_ns, of.bound_ns, of.late_ours)).collect();
    assert_eq!(figures, [(10 * MS, Some(11 * MS), 0), (21 * MS, Some(21 * MS), 0)]);
    assert!(kept.text(100, false).contains("off -> on"), "{}", kept.text(100, false));
    assert!(kept.json().contains("\"longest_ns\": 21000000"));
    assert!(!report(Script::quiet()).json().contains("\"changes\""));
    let breach = |from: &str, to: &str, took_ns, limit_ns| Breach::ModeChange {
        from: from.to_owned(),
        to: to.to_owned(),
        task: "processing".to_owned(),
        at_ns: 1_000 * MS,
        took_ns,
        limit_ns,
    };
    let stops = judged(&[followed(1_000 * MS, 0, 1, 10 * MS + 1)]);
    assert_eq!(stops.verdict(), &RunVerdict::Broken(vec![breach("on", "off", 10 * MS + 1, 10 * MS)]));
    let starts = judged(&[followed(1_000 * MS, 1, 0, 21 * MS + 1)]);
    assert_eq!(starts.verdict(), &RunVerdict::Broken(vec![breach("off", "on", 21 * MS + 1, 21 * MS)]));
    let said = "`processing` had followed the change from mode `on` to `off` 10.1 ms after the request, at 1.00 s; bound 10.0 ms";
    assert!(stops.text(300, false).contains(said), "{}", stops.text(300, false));
    let stall = |lateness| Record {
        at: Instant::from_ns(BEGIN + 995 * MS),
        kind: Kind::Stall,
        cpu: 0,
        subject: 0,
        job: 0,
        value: lateness,
    };
    let excused = judged(&[followed(1_000 * MS, 0, 1, 13 * MS), stall(3 * MS)]);
    assert_eq!(excused.verdict(), &RunVerdict::KeptButMachine(1));
    assert_eq!(excused.late_machine(), 1);
    let not = judged(&[followed(1_000 * MS, 0, 1, 20 * MS), stall(3 * MS)]);
    assert_eq!(not.verdict(), &RunVerdict::Broken(vec![breach("on", "off", 20 * MS, 10 * MS)]));
    // A request before release 0 counts from there.
    let early = judged(&[followed(9 * MS, 0, 1, 500 * MS)]);
    assert_eq!((early.verdict(), early.changes()[0].longest_ns), (&RunVerdict::Kept, 9 * MS));
    // What was before the recording may have delayed it.
    let mut cut = run(Script::quiet());
    cut.records.push(followed(1_000 * MS, 0, 1, 20 * MS));
    cut.since = Some(Instant::from_ns(BEGIN + 990 * MS));
    cut.records.retain(|record| record.at >= Instant::from_ns(BEGIN + 990 * MS));
    assert_eq!(Report::new(&plan, &cut).changes()[0].late_not_judged, 1);
}

#[test]
fn what_was_lost_is_not_kept() {
    let mut run = run(Script::quiet());
    let at = run.records[0].at;
    let lost = |subject| Record { at, kind: Kind::Lost, cpu: 0, subject, job: 0, value: 5 };
    run.records.push(lost(3));
    let report = Report::new(&plan(), &run);
    assert_eq!(report.verdict(), &RunVerdict::Kept, "a best-effort thread proves nothing");
    assert_eq!(report.warnings(), [Warning::Lost { task: "source".to_owned(), records: 5 }]);
    run.records.push(lost(OUTPUT));
    let breach = Breach::Lost { task: "output".to_owned(), records: 5 };
    assert_eq!(Report::new(&plan(), &run).verdict(), &RunVerdict::Broken(vec![breach]));
}

#[test]
fn what_a_core_lost_is_of_all_its_tasks() {
    let mut run = run(Script::quiet());
    let at = run.records[0].at;
    let lost = |subject, value| Record { at, kind: Kind::CoreLost, cpu: 0, subject, job: 0, value };
    run.records.extend([lost(0, 5), lost(0, 2)]);
    let report = Report::new(&plan(), &run);
    let breach = Breach::LostOnCore { cpu: plan().cores[0].cpu, records: 7 };
    assert_eq!(report.verdict(), &RunVerdict::Broken(vec![breach]));
    let text = report.text(100, false);
    assert!(text.contains("7 records of CPU 0 lost"), "{text}");
}

#[test]
fn a_job_that_never_ends_is_late() {
    let mut run = run(Script::quiet());
    run.records.retain(|r| !(r.kind == Kind::Complete && r.subject == OUTPUT && r.job == 10));
    let report = Report::new(&plan(), &run);
    let RunVerdict::Broken(breaches) = report.verdict() else { panic!() };
    let [Breach::Response { job: 10, unfinished: true, cause, response_ns, .. }] = &breaches[..] else {
        panic!("{breaches:?}")
    };
    let Cause::Unfinished { began_ns: Some(began_ns), ran_ns, wcet_ns: 150_000, stood: None } = cause else {
        panic!("{cause:?}")
    };
    let used = |r: &&Record| r.kind == Kind::Complete && r.at.as_ns() > recorded::BEGIN + 80 * MS;
    let others: u64 = run.records.iter().filter(used).map(|r| r.value).sum();
    assert!(*ran_ns + began_ns < *response_ns && others > 0, "{cause:?} of {response_ns}");
    // The time of jobs that began before it and ended after is not subtracted.
    assert!(ran_ns + began_ns + others >= *response_ns, "{cause:?} of {response_ns}, {others}");
    let text = report.text(300, false);
    assert!(
        text.contains("it was not complete: it started") && text.contains("150 µs planned, and was"),
        "{text}"
    );
    assert!(!text.contains("no WCET was exceeded"), "{text}");

    let begun = run.clone();
    run.records.retain(|r| !(r.kind == Kind::Start && r.subject == OUTPUT && r.job == 10));
    let text = Report::new(&plan(), &run).text(300, false);
    assert!(text.contains("it had not started when the recording ended"), "{text}");

    let stood = Stood {
        task: OUTPUT,
        job: 10,
        at: Some(CodeLocation { in_call: false, offset: Some(0x1234) }),
        resource: None,
    };
    let mut run = begun;
    run.records.push(stood.to_record(run.records[0].at));
    let report = Report::new(&plan(), &run);
    let text = report.text(300, false);
    assert!(text.contains("planned, and was executing, at 0x1234 of the program"), "{text}");
    let json = report.json();
    assert!(json.contains(r#""cause": "unfinished""#) && json.contains(r#""offset": 4660"#), "{json}");
}

#[test]
fn a_drop_between_real_time_tasks_is_a_breach_and_elsewhere_a_warning() {
    let mut run = run(Script::quiet());
    let drop = |subject| Record {
        at: Instant::from_ns(recorded::BEGIN + 80 * MS),
        kind: Kind::Drop,
        cpu: 0,
        subject,
        job: 0,
        value: 1,
    };
    run.records.push(drop(0));
    let report = Report::new(&plan(), &run);
    assert_eq!(report.warnings(), [Warning::Dropped { channel: "samples".to_owned(), values: 1 }]);
    run.records.push(drop(1));
    let breach = Breach::Drop { channel: "audio".to_owned(), at_ns: 80 * MS, dropped: 1 };
    assert_eq!(Report::new(&plan(), &run).verdict(), &RunVerdict::Broken(vec![breach]));
    // Of an alarm its setter knows that all are pending, or that it was late.
    let mut timed = plan();
    timed.channels[1].lane = Some(LanePlan {
        message: "audio".to_owned(),
        order: MessageOrder::Instant,
        by: None,
        rank: 0,
        takes: 1,
        late: LatePolicy::Refuse,
    });
    let report = Report::new(&timed, &run);
    assert_eq!(report.verdict(), &RunVerdict::Kept);
    assert_eq!(report.warnings()[1], Warning::Dropped { channel: "audio".to_owned(), values: 1 });
    // Of a bulk channel its sender took the block back, unless it may not.
    let mut bulk = plan();
    (bulk.channels[1].kind, bulk.channels[1].mechanism) = (ChannelKind::Bulk, Mechanism::Bulk);
    let broken = Report::new(&bulk, &run);
    assert!(matches!(broken.verdict(), RunVerdict::Broken(breaches) if breaches.len() == 1));
    bulk.channels[1].overflow = OverflowPolicy::Recall;
    let report = Report::new(&bulk, &run);
    assert_eq!(report.verdict(), &RunVerdict::Kept);
    assert_eq!(report.warnings()[1], Warning::Dropped { channel: "audio".to_owned(), values: 1 });
}

/// Values beyond `sends-per-release` are no loss of the queue, whoever its reader is.
#[test]
fn values_that_an_end_refused_are_a_warning() {
    for (subject, channel) in [(0, "samples"), (1, "audio")] {
        let mut run = run(Script::quiet());
        let at = Instant::from_ns(recorded::BEGIN + 80 * MS);
        run.records.push(Record { at, kind: Kind::TooMany, cpu: 0, subject, job: 7, value: 2 });
        let report = Report::new(&plan(), &run);
        assert_eq!(report.warnings(), [Warning::TooMany { channel: channel.to_owned(), values: 2 }]);
        assert_eq!(report.verdict(), Report::new(&plan(), &self::run(Script::quiet())).verdict());
        assert_eq!(report.channels()[usize::from(subject)].dropped, 2);
        let text = report.text(100, false);
        assert!(text.contains("2 values were refused"), "{text}");
    }
}

#[test]
fn records_of_another_plan_do_no_harm() {
    let run = run(Script::quiet());
    let mut smaller = plan();
    smaller.tasks.truncate(1);
    smaller.channels.clear();
    smaller.chains.clear();
    smaller.cores.clear();
    let report = Report::new(&smaller, &run);
    assert_eq!(report.tasks().len(), 1);
    assert!(!report.text(80, false).is_empty() && !report.json().is_empty());
}

/// A job that lost its start or release is a breach, not just a smaller count.
#[test]
fn a_job_without_its_records_is_not_kept() {
    let output = || "output".to_owned();
    let quiet = run(Script::quiet());
    let of = |task: u16, kinds: &[Kind], jobs: &[u64]| {
        let mut run = quiet.clone();
        run.records.retain(|r| !(kinds.contains(&r.kind) && r.subject == task && jobs.contains(&r.job)));
        Report::new(&plan(), &run)
    };
    let without = |kinds: &[Kind], jobs: &[u64]| of(OUTPUT, kinds, jobs);
    for kinds in [
        &[Kind::Release][..],
        &[Kind::Start],
        &[Kind::Release, Kind::Start, Kind::Complete],
        &[Kind::Start, Kind::Release],
    ] {
        let report = without(kinds, &[10, 1_000]);
        let breach = Breach::Faulty { task: output(), jobs: 2 };
        assert_eq!(report.verdict(), &RunVerdict::Broken(vec![breach]), "{kinds:?}");
        assert_eq!(report.tasks()[2].completions, 1_248);
        assert!(report.text(120, false).contains("2 jobs of `output` not shown"));
    }
    // All records of a periodic task in the last second and a half, and all that it has.
    let all = [Kind::Release, Kind::Start, Kind::Complete];
    for first in [1_060, 0] {
        let jobs: Vec<u64> = (first..1_250).collect();
        let report = of(PROCESSING, &all, &jobs);
        let RunVerdict::Broken(breaches) = report.verdict() else { panic!("{:?}", report.verdict()) };
        let breach = Breach::Silent { task: "processing".to_owned(), at_ns: (first * 8 + 2) * MS };
        assert!(breaches.contains(&breach), "{breaches:?}");
    }
    let jobs: Vec<u64> = (1_130..1_250).collect();
    assert_eq!(
        of(PROCESSING, &all, &jobs).verdict(),
        &RunVerdict::Kept,
        "it may have been held up at the end"
    );
    assert_eq!(without(&all, &[]).verdict(), &RunVerdict::Kept);
}

#[test]
fn records_that_cannot_be_are_not_kept() {
    type Change<'c> = &'c dyn Fn(&mut Vec<Record>);
    let quiet = run(Script::quiet());
    let changed = |change: Change<'_>| {
        let mut run = quiet.clone();
        change(&mut run.records);
        Report::new(&plan(), &run)
    };
    let of = |records: &mut Vec<Record>, kind, job| {
        records.iter().position(|r| (r.kind, r.subject, r.job) == (kind, OUTPUT, job)).unwrap()
    };
    let changes: [Change<'_>; 6] = [
        &|records| {
            let at = of(records, Kind::Start, 7);
            records.push(records[at]);
        },
        &|records| {
            let at = of(records, Kind::Complete, 7);
            records.push(records[at]);
        },
        &|records| {
            let (start, complete) = (of(records, Kind::Start, 7), of(records, Kind::Complete, 7));
            (records[start].at, records[complete].at) = (records[complete].at, records[start].at);
        },
        &|records| {
            let at = of(records, Kind::Release, 7);
            records[at].at = Instant::from_ns(u64::MAX);
        },
        &|records| {
            let at = of(records, Kind::Complete, 7);
            records[at].at = Instant::from_ns(0);
        },
        &|records| {
            let at = of(records, Kind::Complete, 7);
            records[at].at = Instant::from_ns(u64::MAX);
        },
    ];
    for (number, change) in changes.iter().enumerate() {
        let report = changed(change);
        let breach = Breach::Faulty { task: "output".to_owned(), jobs: 1 };
        assert_eq!(report.verdict(), &RunVerdict::Broken(vec![breach]), "{number}");
        assert!(report.text(100, false).contains("in 10.0 s"), "{number}: {}", report.text(100, false));
    }
    let mut run = quiet;
    run.unknown = 3;
    run.records.push(Record { subject: 77, ..run.records[run.records.len() / 2] });
    run.records.last_mut().unwrap().kind = Kind::Release;
    assert_eq!(
        Report::new(&plan(), &run).verdict(),
        &RunVerdict::Broken(vec![Breach::Unknown { records: 4 }])
    );
}

/// The bytes of a quiet run, changed: the report judges it as far as it is whole, and it is never kept.
#[test]
fn a_damaged_recording_is_not_kept() {
    let quiet = run(Script { releases: 60, ..Script::quiet() });
    let plan = plan();
    let bytes = taut_event::file::recording("", "", &quiet.records).unwrap();
    let read = |bytes: &[u8]| Run::from_bytes(bytes).map(|run| Report::new(&plan, &run));
    assert_eq!(read(&bytes).unwrap().verdict(), &RunVerdict::Kept);
    for at in (0..bytes.len()).step_by(97) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x40;
        for changed in [&changed[..], &bytes[..at]] {
            let Ok(report) = read(changed) else { continue };
            assert!(!report.verdict().holds(), "byte {at}");
            assert!(report.text(100, false).contains("✘ broken"));
            assert!(report.judged() < 1_000 * MS, "byte {at}");
        }
    }
    let mut changed = bytes.clone();
    changed[48 + 64 + 100] ^= 1;
    let report = read(&changed).unwrap();
    let damaged = Breach::Damaged { byte: 48, bytes: bytes.len() as u64 - 48, cut: false };
    assert_eq!(report.verdict(), &RunVerdict::Broken(vec![damaged, Breach::Nothing]));
    assert!(report.text(100, false).contains("the recording is damaged at byte 48"));
    let report = read(&bytes[..bytes.len() - 1]).unwrap();
    assert!(report.text(100, false).contains("the recording is cut at byte"));
}

#[test]
fn what_was_not_written_is_not_kept() {
    let mut run = run(Script::quiet());
    (run.unwritten, run.os_error) = (12, 28);
    let report = Report::new(&plan(), &run);
    assert_eq!(report.verdict(), &RunVerdict::Broken(vec![Breach::Unwritten { records: 12, os_error: 28 }]));
    assert!(report.text(140, false).contains("12 records could not be written: the disk was full (ENOSPC)"));
}

/// The dropped part of a run is not judged, and only one warning mentions it.
#[test]
fn a_recording_with_a_limit_is_judged_from_where_it_begins() {
    // Late before the recording begins, and in time ever after.
    let slow = Script { slow: vec![(PROCESSING, 400, 5_200_000)], ..Script::quiet() };
    let whole = run(slow);
    let judged = |from: u64| {
        let mut run = whole.clone();
        let since = recorded::BEGIN + from;
        let all = run.records.len();
        run.records.retain(|record| record.at.as_ns() > since);
        (run.dropped, run.since) = ((all - run.records.len()) as u64, Some(Instant::from_ns(since)));
        Report::new(&plan(), &run)
    };
    assert!(!judged(1_000 * MS).verdict().holds());
    // The recording may also begin inside jobs.
    for from in (5_000 * MS..5_010 * MS).step_by(1_100_000) {
        let report = judged(from);
        assert_eq!(report.verdict(), &RunVerdict::Kept, "from {from}");
        let [Warning::Since { at_ns, records }] = report.warnings() else {
            panic!("{:?}", report.warnings())
        };
        assert!(*at_ns == from && *records > 3_000);
        for task in &report.tasks()[..3] {
            assert!((620..=626).contains(&task.completions) && task.missed == 0);
        }
        let text = report.text(100, false);
        assert!(text.contains("every bound held from 5.0") && text.contains("judged from 5.0"), "{text}");
        assert!(text.contains(" jobs in 5.0") || text.contains(" jobs in 4.9"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        assert_eq!((&json["judged_from_ns"], &json["records_dropped"]), (&from.into(), &(*records).into()));
    }
}

/// Wherever the recording begins, no task is blamed for a stall, whether the record of the stall is there or was
/// dropped.
#[test]
fn a_stall_that_made_room_is_not_laid_to_the_application() {
    let plan = plan();
    // The stall ends just before the release of the processing, which then queues behind the whole backlog.
    let script = Script { releases: 12, stalls: vec![(39_900_000, 33_900_000)], ..Script::quiet() };
    let whole = run(script);
    assert!(matches!(Report::new(&plan, &whole).verdict(), RunVerdict::KeptButMachine(_)));
    let (mut judged, mut not_judged) = (0, 0);
    for from in (30 * MS..80 * MS).step_by(200_000) {
        let mut run = whole.clone();
        let since = Instant::from_ns(BEGIN + from);
        run.records.retain(|record| record.at > since);
        (run.dropped, run.since) = (1, Some(since));
        let report = Report::new(&plan, &run);
        assert!(report.verdict().holds(), "from {from}: {:?}", report.verdict());
        judged += report.late_machine();
        for warning in report.warnings() {
            match warning {
                Warning::NotJudged { findings } => not_judged += findings,
                Warning::Since { .. } => {}
                other => panic!("from {from}: {other:?}"),
            }
        }
    }
    assert!(judged > 10 && not_judged > 10, "{judged} {not_judged}");
}

/// A quiet run with one more record, 4.005 s after release 0.
fn with(kind: Kind, subject: u16, value: u64, stall: Option<u64>) -> Report {
    let mut run = run(Script::quiet());
    let at = Instant::from_ns(recorded::BEGIN + 4_005 * MS);
    let record = |kind, subject, value| Record { at, kind, cpu: 0, subject, job: 9_999, value };
    run.records.push(record(kind, subject, value));
    run.records.extend(stall.map(|lateness| record(Kind::Stall, 0, lateness)));
    Report::new(&plan(), &run)
}

#[test]
fn a_value_that_waited_too_long_is_judged() {
    let latency_ns = 900_000; // of `electrodes`, which triggers its reader: no period to wait for
    let limit_ns = 580_000;
    let breach =
        Breach::Latency { channel: "electrodes".to_owned(), at_ns: 4_005 * MS, latency_ns, limit_ns };
    assert_eq!(with(Kind::Receive, 2, latency_ns, None).verdict(), &RunVerdict::Broken(vec![breach]));
    let report = with(Kind::Receive, 2, latency_ns, Some(200_000));
    assert_eq!(report.verdict(), &RunVerdict::KeptButMachine(1));
    assert_eq!(report.channels()[2].late_machine, 1);
    assert!(
        with(Kind::Receive, 2, 3 * MS, Some(200_000)).channels()[2].late_ours == 1,
        "a small stall, a long wait"
    );
    assert_eq!(with(Kind::Receive, 2, limit_ns, None).verdict(), &RunVerdict::Kept, "at its bound");
}

/// A reader that takes one value per job and missed two jobs in a stall finds two values waiting from then on.
#[test]
fn values_queued_behind_a_stall_inherit_it() {
    let judged = |stall: bool, until: u64| {
        let mut run = run(Script::quiet());
        let at = |ms: u64| Instant::from_ns(recorded::BEGIN + ms * MS);
        let within = |record: &Record, from: u64, to: u64| {
            (record.kind, record.subject) == (Kind::Receive, 1) && record.at > at(from) && record.at < at(to)
        };
        // The writer misses two jobs.
        run.records.retain(|record| until == 4_000 || !within(record, until, until + 16));
        for record in run.records.iter_mut().filter(|record| within(record, 4_000, until)) {
            record.at = Instant::from_ns(record.at.as_ns() + 16 * MS);
            record.value += 16 * MS;
        }
        // The queue is empty again, and then a value waits for no reason.
        let last =
            Record { at: at(9_000), kind: Kind::Receive, cpu: 0, subject: 1, job: 9_999, value: 17 * MS };
        run.records
            .retain(|record| (record.kind, record.subject) != (Kind::Receive, 1) || record.at < at(8_900));
        run.records.push(last);
        if stall {
            run.records.push(Record {
                at: at(4_012),
                kind: Kind::Stall,
                cpu: 0,
                subject: 0,
                job: 1,
                value: 10 * MS,
            });
        }
        let report = Report::new(&plan(), &run);
        (report.channels()[1].late_machine, report.channels()[1].late_ours)
    };
    let (machine, ours) = judged(true, 5_000);
    assert!(machine > 100 && ours == 1, "{machine} {ours}");
    let (machine, ours) = judged(false, 5_000);
    assert!(machine == 0 && ours > 100, "{machine} {ours}");
    assert_eq!(judged(true, 4_000), (0, 1));
}

/// A stall delays a job that sends; its value and the next one come closer together than the receiver's least gap.
#[test]
fn a_value_that_the_least_gap_holds_up_behind_a_late_one_inherits_its_stall() {
    const LATE: u64 = 500;
    let judged = |stall: bool| {
        let mut run = run(Script::quiet());
        let at = |run: &Run, kind, subject, job| {
            let of = run
                .records
                .iter()
                .find(|record| (record.kind, record.subject, record.job) == (kind, subject, job));
            of.expect("a quiet run should have all records").at.as_ns()
        };
        let begun = at(&run, Kind::Start, PROCESSING, LATE);
        let held_up = at(&run, Kind::Release, OUTPUT, LATE) + (7 + 4) * MS;
        let held_up = held_up - at(&run, Kind::Release, OUTPUT, LATE + 1);
        for record in &mut run.records {
            let (by, waits) = match (record.kind, record.subject, record.job) {
                (Kind::Start | Kind::Complete, PROCESSING, LATE) => (7 * MS, false),
                (Kind::Receive, 1, LATE) => (7 * MS, true),
                (Kind::Send | Kind::Receive, 2, LATE) => (7 * MS, false),
                (Kind::Release | Kind::Start | Kind::Complete, OUTPUT, LATE) => (7 * MS, false),
                (Kind::Release | Kind::Start | Kind::Complete, OUTPUT, job) if job == LATE + 1 => {
                    (held_up, false)
                }
                (Kind::Receive, 2, job) if job == LATE + 1 => (held_up, true),
                _ => continue,
            };
            record.at = Instant::from_ns(record.at.as_ns() + by);
            record.value += if waits { by } else { 0 };
        }
        let seen = Instant::from_ns(begun + 7 * MS);
        let lateness = Record { at: seen, kind: Kind::Stall, cpu: 0, subject: 0, job: 1, value: 7 * MS };
        run.records.extend(stall.then_some(lateness));
        let report = Report::new(&plan(), &run);
        let electrodes = &report.channels()[2];
        (electrodes.late_machine, electrodes.late_ours, report.tasks()[usize::from(OUTPUT)].missed)
    };
    assert_eq!(judged(true), (1, 0, 0));
    assert_eq!(judged(false), (0, 1, 0));
}

#[test]
fn an_age_beyond_its_bound_is_judged() {
    let (age_ns, limit_ns) = (13 * MS, 11_090_000);
    let chain = "microphone-to-electrode".to_owned();
    let breach = Breach::Age { chain, at_ns: 4_005 * MS, age_ns, limit_ns };
    assert_eq!(with(Kind::ChainEnd, 0, age_ns, None).verdict(), &RunVerdict::Broken(vec![breach]));
    assert_eq!(with(Kind::ChainEnd, 0, age_ns, Some(MS)).verdict(), &RunVerdict::KeptButMachine(1));
    // One stall of 1 ms accounts for 2 ms at most, and the processing's next period is 8 ms.
    assert_eq!(with(Kind::ChainEnd, 0, limit_ns + 10 * MS, Some(MS)).chains()[0].late_machine, 1);
    assert_eq!(with(Kind::ChainEnd, 0, limit_ns + 10 * MS + 1, Some(MS)).chains()[0].late_ours, 1);
}

/// The ages derived from sequence numbers are the ages that the simulation knew.
#[test]
fn ages_are_found_from_who_received_what() {
    let (plan, known) = (plan(), run(stalled()));
    let mut bare = known.clone();
    bare.records.retain(|record| record.kind != Kind::ChainEnd);
    assert!(bare.records.len() < known.records.len());
    let (known, found) = (Report::new(&plan, &known), Report::new(&plan, &bare));
    assert_eq!(found.chains()[0].age, known.chains()[0].age);
    assert_eq!(found.verdict(), known.verdict());
    // Without the first task's records no age can be derived.
    bare.records.retain(|record| !(record.kind == Kind::Release && record.subject == RECORDING));
    assert_eq!(Report::new(&plan, &bare).chains()[0].age, None);
}

/// A state with several sources: a job that read the value of another source has no age in a chain from this one.
#[test]
fn a_value_of_another_source_has_no_age() {
    let mut plan = plan();
    let audio = plan.channel("audio").unwrap();
    let source = |place| Some(SourcePlan { state: "audio".to_owned(), place });
    let own = &mut plan.channels[audio];
    (own.kind, own.name, own.source) = (ChannelKind::State, "audio/recording".to_owned(), source(0));
    let mut other = plan.channels[audio].clone();
    (other.name, other.writer.name, other.source) =
        ("audio/output".to_owned(), "output".to_owned(), source(1));
    plan.channels.push(other);
    plan.chains[0].path.truncate(3);
    plan.chains[0].path[1].name = "audio/recording".to_owned();
    let [recording, processing] =
        ["recording", "processing"].map(|name| plan.task(name).expect("the drive has it") as u16);
    let (audio, other) = (audio as u16, plan.channels.len() as u16 - 1);
    let mut run = run(Script::quiet());
    let begin = run.records[0].at.as_ns();
    let at = |at_us: u64, kind, subject, job, value| Record {
        at: Instant::from_ns(begin + at_us * 1_000),
        kind,
        cpu: 0,
        subject,
        job,
        value,
    };
    run.records = vec![at(0, Kind::Begin, 0, 0, 0), at(0, Kind::Release, recording, 0, 0)];
    run.records.extend([at(0, Kind::Start, recording, 0, 0), at(100, Kind::Send, audio, 0, 1)]);
    run.records.push(at(200, Kind::Complete, recording, 0, 200_000));
    // What each job of the reader received: this source's value, the other's, nothing, and both.
    for (job, received) in [&[audio][..], &[other], &[], &[other, audio]].into_iter().enumerate() {
        let (start, job) = (1_000 * (job as u64 + 1), job as u64);
        run.records.push(at(start, Kind::Start, processing, job, 0));
        let receive = |(after, channel): (usize, &u16)| {
            at(start + 100 + after as u64, Kind::Receive, *channel, 1, 300_000)
        };
        run.records.extend(received.iter().enumerate().map(receive));
        run.records.push(at(start + 500, Kind::Complete, processing, job, 500_000));
    }
    run.records.push(at(20_000, Kind::End, 0, 0, 0));
    let age = Report::new(&plan, &run).chains()[0].age.unwrap();
    assert_eq!((age.count, age.max_ns), (2, 4_500_000), "of the first job, and of the last");
    // Without the other's values, each job worked on this one's.
    run.records.retain(|record| record.subject != other || record.kind != Kind::Receive);
    assert_eq!(Report::new(&plan, &run).chains()[0].age.unwrap().count, 4);
}

/// Two readers of one state, a job of one within a job of the other: each has its own value.
#[test]
fn each_reader_has_what_it_received_itself() {
    let mut plan = plan();
    let audio = plan.channel("audio").unwrap();
    plan.channels[audio].kind = taut_plan::ChannelKind::State;
    let mut other = plan.channels[audio].readers[0].clone();
    other.name = "output".to_owned();
    plan.channels[audio].readers.push(other);
    plan.chains[0].path.truncate(3);
    let [recording, processing, output] =
        ["recording", "processing", "output"].map(|name| plan.task(name).expect("the drive has it") as u16);
    let audio = audio as u16;
    let mut run = run(Script::quiet());
    let begin = run.records[0].at.as_ns();
    let at = |at_us: u64, kind, subject, job, value| Record {
        at: Instant::from_ns(begin + at_us * 1_000),
        kind,
        cpu: 0,
        subject,
        job,
        value,
    };
    run.records = vec![
        at(0, Kind::Begin, 0, 0, 0),
        at(0, Kind::Release, recording, 0, 0),
        at(0, Kind::Start, recording, 0, 0),
        at(100, Kind::Send, audio, 0, 1),
        at(200, Kind::Complete, recording, 0, 200_000),
        at(300, Kind::Start, processing, 0, 0),
        at(400, Kind::Receive, audio, 1, 300_000),
        at(600, Kind::Complete, processing, 0, 300_000),
        at(1_000, Kind::Start, output, 0, 0),
        at(1_100, Kind::Receive, audio, 1, 1_000_000),
        at(8_000, Kind::Release, recording, 1, 0),
        at(8_000, Kind::Start, recording, 1, 0),
        at(8_100, Kind::Send, audio, 1, 2),
        at(8_200, Kind::Complete, recording, 1, 200_000),
        at(9_000, Kind::Start, processing, 1, 0),
        at(9_100, Kind::Receive, audio, 2, 1_000_000),
        at(9_500, Kind::Complete, processing, 1, 500_000),
        at(10_000, Kind::Complete, output, 0, 1_000_000),
        at(20_000, Kind::End, 0, 0, 0),
    ];
    let report = Report::new(&plan, &run);
    let age = report.chains()[0].age.unwrap();
    assert_eq!((age.count, age.max_ns), (2, 1_500_000));
    assert_eq!(report.chains()[0].reaction, None, "nobody asks");
    // The second end shows an event just after the first release.
    plan.chains[0].max_reaction = Some(taut_time::Duration::from_ms(12));
    plan.chains[0].reaction = Some(taut_time::Duration::from_ms(9));
    let report = Report::new(&plan, &run);
    let reaction = report.chains()[0].reaction.clone().unwrap();
    let seen = reaction.seen.unwrap();
    assert_eq!((seen.count, seen.max_ns, reaction.late_ours), (1, 9_500_000, 1));
    let late = |breach: &Breach| {
        matches!(breach, Breach::Reaction { reaction_ns: 9_500_000, limit_ns: 9_000_000, .. })
    };
    let RunVerdict::Broken(breaches) = report.verdict() else { panic!("it is late") };
    assert!(breaches.iter().any(late), "{breaches:?}");
    assert!(report.text(100, false).contains("from an event to the first output that reflects it"));
    // A job in between was skipped: there is no reaction time.
    run.records.insert(8, at(4_000, Kind::Skip, processing, 1, 0));
    assert_eq!(Report::new(&plan, &run).chains()[0].reaction.as_ref().unwrap().seen, None);
}

#[test]
fn that_nothing_told_of_switches_is_told() {
    let mut run = run(Script::quiet());
    run.machine.push_str("no-switch-mark = it is not registered\n");
    let why = "it is not registered".to_owned();
    let report = Report::new(&plan(), &run);
    assert_eq!(report.warnings(), [Warning::NoSwitchMark { why: why.clone(), look_ns: None }]);
    assert_eq!(report.verdict(), &RunVerdict::Kept);
    let text = report.text(400, false);
    assert!(text.contains("(it is not registered)") && text.contains("was not measured"), "{text}");
    run.machine.push_str("switch-look-ns = 640\n");
    let report = Report::new(&plan(), &run);
    assert_eq!(report.warnings(), [Warning::NoSwitchMark { why, look_ns: Some(640) }]);
    let text = report.text(400, false);
    assert!(text.contains("was 640 ns before release 0"), "{text}");
    assert!(report.json().contains(r#""look_ns": 640"#), "{}", report.json());
}

#[test]
fn what_the_process_lacked_is_told() {
    let mut run = run(Script::quiet());
    run.machine.push_str("lost-priorities = sched_setscheduler: Operation not permitted (EPERM)\n");
    let report = Report::new(&plan(), &run);
    let why = "sched_setscheduler: Operation not permitted (EPERM)".to_owned();
    assert_eq!(report.warnings(), [Warning::Degraded { guarantee: "priorities".to_owned(), why }]);
    assert!(report.probes().is_empty());
    let text = report.text(100, false);
    assert!(
        text.contains("ran without the guarantee of priorities") && text.contains("not watched"),
        "{text}"
    );
}

/// Without real-time priorities nothing says why a job started late, and nobody looked for stalls.
#[test]
fn a_job_without_priority_may_start_late() {
    let mut run = run(Script { stalls: vec![(100 * MS, 6 * MS)], ..Script::quiet() });
    run.records.retain(|record| record.kind != Kind::Stall);
    let late = |run: &Run| -> Vec<String> {
        // A paragraph wraps its lines.
        let text = Report::new(&plan(), run).text(400, false).replace("\n  ", " ");
        text.lines().filter(|line| line.contains("it started")).map(str::to_owned).collect()
    };
    let with = late(&run);
    assert!(!with.is_empty() && with.iter().all(|text| text.ends_with("no stall at that time")), "{with:?}");
    run.machine.push_str("lost-priorities = sched_setscheduler: Operation not permitted (EPERM)\n");
    let without = late(&run);
    assert_eq!(without.len(), with.len());
    let end = "it had no real-time priority, so any program could go first";
    assert!(without.iter().all(|text| text.ends_with(end)), "{without:?}");
}

/// The tasks of a stopped service need no releases; those of a running one do, whatever the state of another service.
#[test]
fn only_a_stopped_service_may_be_silent() {
    let mut plan = plan();
    let other = ServicePlan { name: "another".to_owned(), ..plan.services[0].clone() };
    plan.services.insert(0, other);
    let mut quiet = run(Script::quiet());
    let all = [Kind::Release, Kind::Start, Kind::Complete];
    quiet.records.retain(|r| !(all.contains(&r.kind) && r.subject == PROCESSING && r.job >= 1_060));
    let is_silent = |service: u16, state: u64| {
        let mut run = quiet.clone();
        let at = Instant::from_ns(BEGIN + 1_060 * 8 * MS);
        let reported = Record { at, kind: Kind::Service, cpu: 0, subject: service, job: 0, value: state };
        run.records.push(reported);
        let report = Report::new(&plan, &run);
        let RunVerdict::Broken(breaches) = report.verdict() else { return false };
        breaches.iter().any(|breach| matches!(breach, Breach::Silent { task, .. } if task == "processing"))
    };
    assert!(!is_silent(1, 3), "it was stopped");
    assert!(is_silent(1, 1), "it runs");
    assert!(is_silent(0, 3), "another was stopped");
}

/// A task without count records has no counts, not zeros; nor has a task whose run was cut before its last records.
#[test]
fn what_nobody_counted_is_no_count() {
    let mut run = run(Script::quiet());
    run.records.retain(|record| !(record.kind == Kind::Counted && record.subject == OUTPUT));
    let counted = |run: &Run| -> Vec<bool> {
        Report::new(&plan(), run).tasks().iter().map(|task| task.counts.is_some()).collect()
    };
    assert_eq!(counted(&run), [true, true, false, true]);
    run.records.retain(|record| record.kind != Kind::End);
    assert_eq!(counted(&run), [false; 4]);
}

/// If the runtime saw a deadline pass, it is missed, even if the other records of the job say otherwise.
#[test]
fn a_deadline_that_the_runtime_saw_pass_is_missed() {
    let mut run = run(Script::quiet());
    let at =
        run.records.iter().find(|r| (r.kind, r.subject, r.job) == (Kind::Complete, OUTPUT, 10)).unwrap().at;
    run.records.push(Record { at, kind: Kind::Miss, cpu: 0, subject: OUTPUT, job: 10, value: 0 });
    let report = Report::new(&plan(), &run);
    assert_eq!(report.tasks()[usize::from(OUTPUT)].missed, 1);
    let RunVerdict::Broken(breaches) = report.verdict() else { panic!("{:?}", report.verdict()) };
    assert!(
        matches!(&breaches[..], [Breach::Response { task, job: 10, missed: true, .. }] if task == "output")
    );
}

/// The file of recorded values is named with its size, and losses are a warning: no deadline rests on it.
#[test]
fn recorded_values_are_shown() {
    let record =
        |kind, job, value| Record { at: Instant::from_ns(BEGIN), kind, cpu: 0, subject: 0, job, value };
    let judged = |more: &[Record]| {
        let mut run = run(Script::quiet());
        run.records.extend_from_slice(more);
        Report::new(&plan(), &run)
    };
    let recorded = record(Kind::ValuesRecorded, 12, 2_049);
    let whole = judged(&[recorded]);
    assert_eq!((whole.verdict(), whole.warnings().len()), (&RunVerdict::Kept, 0));
    assert!(whole.text(100, false).contains("values.mcap has 12 messages in 3 KiB, none lost"));
    assert!(whole.json().contains("\"values_file\": {"));
    let lossy = judged(&[recorded, record(Kind::ValuesLost, 0, 5)]);
    assert_eq!(
        (lossy.verdict(), lossy.warnings()),
        (&RunVerdict::Kept, &[Warning::ValuesLost { records: 5 }][..])
    );
    let text = lossy.text(120, false);
    assert!(text.contains("values.mcap has 12 messages in 3 KiB\n"), "{text}");
    assert!(
        text.contains("5 records of values lost, so `taut replay --code` cannot replay this run"),
        "{text}"
    );
    assert!(!report(Script::quiet()).json().contains("values_file"));
}
