// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every limit of the judge, to the nanosecond: the verdict exactly at it, and 1 ns beyond.

mod recorded;

use recorded::{BEGIN, MS, OUTPUT, PROCESSING, RECORDING, plan};
use taut_event::file::Run;
use taut_event::{Kind, Record};
use taut_plan::{ClassPlan, Plan, TermPlan};
use taut_report::blame::{PROBE_PERIOD_NS, UNSEEN_TIMES};
use taut_report::{Breach, Cause, Report, RunVerdict, Warning};
use taut_time::{Duration, Instant};

const RECORDING_BOUND: u64 = 420_000;
const RECORDING_DEADLINE: u64 = 2 * MS;
const RECORDING_WCET: u64 = 300_000;
const PROCESSING_BOUND: u64 = 2_090_000;
const OUTPUT_WCET: u64 = 150_000;
const ELECTRODES_BOUND: u64 = 580_000;
const AUDIO_BOUND: u64 = 8_060_000;
const PERIOD: u64 = 8 * MS;
const AGE_BOUND: u64 = 11_090_000;
const AGE_LIMIT: u64 = 16 * MS;

const AUDIO: u16 = 1;
const ELECTRODES: u16 = 2;

/// A plan and records at instants after release 0.
struct Case {
    plan: Plan,
    records: Vec<Record>,
    /// If set, the records up to this instant were dropped.
    since: Option<u64>,
}

impl Case {
    fn new() -> Self {
        let case = Self { plan: plan(), records: Vec::new(), since: None };
        case.put(Kind::Begin, 0, 0, 0, 0)
    }

    fn put(mut self, kind: Kind, at: u64, subject: u16, job: u64, value: u64) -> Self {
        let at = Instant::from_ns(BEGIN + at);
        self.records.push(Record { at, kind, cpu: 0, subject, job, value });
        self
    }

    /// The next job of a task, which starts at its release and uses no processor time to speak of.
    fn job(self, task: u16, release: u64, complete: u64) -> Self {
        self.ran(task, release, release, complete, 0)
    }

    fn ran(self, task: u16, release: u64, start: u64, complete: u64, cpu: u64) -> Self {
        let of_task = |record: &&Record| (record.kind, record.subject) == (Kind::Release, task);
        let number = self.records.iter().filter(of_task).count() as u64;
        self.put(Kind::Release, release, task, number, 0).put(Kind::Start, start, task, number, 0).put(
            Kind::Complete,
            complete,
            task,
            number,
            cpu,
        )
    }

    /// A late wake of the probe that accounts for exactly [from, to].
    fn stall(self, from: u64, to: u64) -> Self {
        let most = (to - from).checked_sub(PROBE_PERIOD_NS).expect("longer than the probe's period");
        assert!(
            UNSEEN_TIMES * most >= PROBE_PERIOD_NS,
            "a wake that accounts for the whole period before it"
        );
        self.late_wake(to, most)
    }

    fn late_wake(self, to: u64, lateness: u64) -> Self {
        self.put(Kind::Stall, to, 0, 0, lateness)
    }

    fn class(mut self, task: u16, change: impl Fn(&mut ClassPlan)) -> Self {
        change(&mut self.plan.tasks[usize::from(task)].class);
        self
    }

    fn bound(self, task: u16, bound: Option<u64>) -> Self {
        self.class(task, |class| {
            if let ClassPlan::RealTime { response, .. } = class {
                *response = bound.map(Duration::from_ns);
            }
        })
    }

    fn priority(self, task: u16, level: u8) -> Self {
        self.class(task, |class| {
            if let ClassPlan::RealTime { priority, .. } = class {
                *priority = level;
            }
        })
    }

    /// A recording with a limit that keeps the records after this instant.
    fn since(self, since: u64) -> Self {
        Self { since: Some(since), ..self }
    }

    fn judged(self, end: u64) -> String {
        found(&self.report(end))
    }

    fn report(self, end: u64) -> Report {
        let Self { plan, mut records, since } = self.put(Kind::End, end, 0, 0, 0);
        let since = since.map(|since| Instant::from_ns(BEGIN + since));
        records.retain(|record| since.is_none_or(|since| record.at > since));
        let begin = Some(Instant::from_ns(BEGIN));
        let mut run = Run::of(records);
        (run.since, run.begin) = (since, begin);
        Report::new(&plan, &run)
    }
}

/// The verdict and the warnings, in one line.
fn found(report: &Report) -> String {
    let mut said = match report.verdict() {
        RunVerdict::Kept => vec!["kept".to_owned()],
        RunVerdict::KeptButMachine(late) => vec![format!("machine {late}")],
        RunVerdict::Broken(breaches) => breaches.iter().map(breach).collect(),
    };
    said.extend(report.warnings().iter().map(|warning| match warning {
        Warning::Wcet { task, jobs, .. } => format!("{jobs} of {task} beyond the WCET"),
        Warning::Stopped { task, .. } => format!("{task} stopped"),
        Warning::Conduct { task, what, count } => format!("{count} {what:?} of {task}"),
        Warning::CoreFaults { count, .. } => format!("{count} faults"),
        Warning::Dropped { channel, values } => format!("{values} lost in {channel}"),
        Warning::TooMany { channel, values } => format!("{values} too many in {channel}"),
        Warning::LostBy { channel, reader, values } => format!("{values} of {channel} lost by {reader}"),
        Warning::Lost { task, records } => format!("{records} of {task} lost"),
        Warning::Since { .. } => "since".to_owned(),
        Warning::NotJudged { findings } => format!("{findings} not judged"),
        Warning::Paused { findings } => format!("{findings} paused"),
        Warning::Restarted { task, jobs } => format!("{jobs} of {task} restarted"),
        other => format!("{other:?}"),
    }));
    said.join("; ")
}

fn breach(breach: &Breach) -> String {
    match breach {
        Breach::Panicked { task, .. } => format!("{task} panicked"),
        Breach::Response { task, missed, unfinished, stolen_ns, cause, .. } => {
            let missed = if *missed { ", missed" } else { "" };
            let unfinished = if *unfinished { ", unfinished" } else { "" };
            let cause = match cause {
                Cause::Wcet { of, .. } => format!("WCET of {of}"),
                Cause::NotProven => "not proven".to_owned(),
                Cause::Release { .. } => "release".to_owned(),
                Cause::NoPriority { .. } => "no priority".to_owned(),
                Cause::ForeignThread { thread, .. } => format!("foreign {thread}"),
                Cause::Stopped => "stopped".to_owned(),
                Cause::Traced { .. } => "traced".to_owned(),
                Cause::Unfinished { .. } => "not ended".to_owned(),
                Cause::Unknown => "unknown".to_owned(),
            };
            format!("{task} late{missed}{unfinished}, stolen {stolen_ns}, {cause}")
        }
        Breach::Latency { channel, .. } => format!("{channel} late"),
        Breach::Age { .. } => "age".to_owned(),
        Breach::Reaction { .. } => "reaction".to_owned(),
        Breach::Drop { channel, .. } => format!("{channel} lost a value"),
        Breach::Slept { task, .. } => format!("{task} slept"),
        Breach::Faulty { task, .. } => format!("{task} faulty"),
        Breach::Silent { task, .. } => format!("{task} silent"),
        other => format!("{other:?}"),
    }
}

/// A limit: `at(0)` is exactly there, `at(1)` is 1 ns beyond.
type Limit<'a> = (&'a str, &'a dyn Fn(u64) -> String, &'a str, &'a str);

fn check(limits: &[Limit<'_>]) {
    let wrong = limits.iter().flat_map(|(what, at, there, beyond)| {
        let sides = [(0, *there), (1, *beyond)];
        sides.into_iter().filter_map(move |(ns, expected)| {
            let found = at(ns);
            (found != expected).then(|| format!("{what}, {ns} ns beyond: {found}, not {expected}"))
        })
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const T: u64 = 100 * MS;
const END: u64 = 150 * MS;
const STALL: u64 = 2 * MS;

#[test]
fn responses() {
    let recording = |response| Case::new().job(RECORDING, T, T + response);
    let unfinished = |release| {
        let case = Case::new().job(OUTPUT, T, T);
        case.put(Kind::Release, release, RECORDING, 0, 0).put(Kind::Start, release, RECORDING, 0, 0)
    };
    check(&[
        (
            "bound",
            &|ns| recording(RECORDING_BOUND + ns).judged(END),
            "kept",
            "recording late, stolen 0, unknown",
        ),
        (
            "deadline behind a bound",
            &|ns| recording(RECORDING_DEADLINE + ns).judged(END),
            "recording late, stolen 0, unknown",
            "recording late, missed, stolen 0, unknown",
        ),
        (
            "deadline without a bound",
            &|ns| recording(RECORDING_DEADLINE + ns).bound(RECORDING, None).judged(END),
            "kept",
            "recording late, missed, stolen 0, not proven",
        ),
        (
            "deadline of a job that is not done",
            &|ns| unfinished(END - RECORDING_DEADLINE - ns).judged(END),
            "kept",
            "recording late, missed, unfinished, stolen 0, not ended",
        ),
        (
            "a bound as long as the deadline is one",
            &|ns| {
                let late = Case::new().job(RECORDING, T, T + RECORDING_DEADLINE + 1);
                late.stall(T, T + STALL).bound(RECORDING, Some(RECORDING_DEADLINE + ns)).judged(END)
            },
            "machine 1",
            "recording late, missed, stolen 2000000, not proven",
        ),
        (
            "release overhead",
            &|ns| {
                let start = T + 10_000 + ns;
                let case = Case::new().ran(RECORDING, T, start, T + RECORDING_BOUND + 1, 0);
                let time = Duration::from_ns(10_000);
                let release = TermPlan {
                    kind: "overhead".to_owned(),
                    of: Some("release".to_owned()),
                    count: None,
                    time,
                };
                let with = case.class(RECORDING, |class| {
                    if let ClassPlan::RealTime { terms, .. } = class {
                        terms.push(release.clone());
                    }
                });
                with.judged(END)
            },
            "recording late, stolen 0, unknown",
            "recording late, stolen 0, release",
        ),
    ]);
    let report = |response| recording(response).report(END);
    assert_eq!(report(RECORDING_DEADLINE).tasks()[0].missed, 0);
    assert_eq!(report(RECORDING_DEADLINE + 1).tasks()[0].missed, 1);
    let of = Case::new().ran(RECORDING, T, T + 7, T + 9, 5).report(END);
    let task = &of.tasks()[0];
    let max = [task.jitter, task.response, task.execution].map(|spread| spread.unwrap().max_ns);
    assert_eq!(max, [7, 9, 5]);
}

#[test]
fn stalls() {
    let late = |excess| Case::new().job(RECORDING, T, T + RECORDING_BOUND + excess);
    let none = "recording late, stolen 0, unknown";
    let done = T + RECORDING_BOUND + 1;
    // The processing is 1 ns late. The output was released 1.5 ms before it and stood still for 1 ms of that time.
    let behind = |output: u64, priority| {
        let case =
            Case::new().job(OUTPUT, T - 1_500_000, output).job(PROCESSING, T, T + PROCESSING_BOUND + 1);
        case.stall(T - 2_000_000, T - 500_000).priority(OUTPUT, priority).judged(END)
    };
    check(&[
        (
            "a stall explains its own length",
            &|ns| late(STALL + ns).stall(T, T + STALL).judged(END),
            "machine 1",
            "recording late, missed, stolen 2000000, unknown",
        ),
        (
            "a late wake explains four times its lateness",
            &|ns| late(4 * 150_000 + ns).late_wake(T + MS, 150_000).judged(END),
            "machine 1",
            "recording late, stolen 600000, unknown",
        ),
        (
            "and a period more than its lateness",
            &|ns| late(MS + 500_000 + ns).late_wake(T + 1_800_000, 500_000).judged(END),
            "machine 1",
            "recording late, stolen 1500000, unknown",
        ),
        (
            "a stall behind the completion",
            &|ns| late(1).stall(done - ns, done + STALL).judged(END),
            none,
            "machine 1",
        ),
        (
            "a stall before the release",
            &|ns| late(1).stall(T + ns - STALL, T + ns).judged(END),
            none,
            "machine 1",
        ),
        (
            "done before the release of the next",
            &|ns| behind(T + ns, 75),
            "processing late, stolen 0, unknown",
            "machine 2",
        ),
        (
            "less urgent than who is late",
            &|levels| behind(T + 1, 70 - levels as u8),
            "machine 2",
            "processing late, stolen 0, unknown",
        ),
    ]);
}

/// More urgent work counts if it was released while the job was late.
#[test]
fn work_that_came_in_the_delay() {
    let due = T + PROCESSING_BOUND;
    let came = |release, excess, cpu, priority| {
        let done = due + STALL + excess;
        let case = Case::new().job(PROCESSING, T, done).ran(OUTPUT, release, release, release + 1_000, cpu);
        case.stall(T, T + STALL).priority(OUTPUT, priority).judged(END)
    };
    let none = "processing late, stolen 2000000, unknown";
    check(&[
        ("when the job was due", &|ns| came(due + ns, 1, 1, 75), none, "machine 1"),
        ("when it was done", &|ns| came(due + STALL + 1 + ns, 1, 1, 75), "machine 1", none),
        ("as urgent", &|levels| came(due + 1, 1, 1, 71 - levels as u8), "machine 1", none),
        ("its processor time", &|ns| came(due + 1, 1_000 + ns, 1_000, 75), "machine 1", none),
        (
            "its WCET",
            &|ns| came(due + 1, OUTPUT_WCET + ns, OUTPUT_WCET + ns, 75),
            "machine 1",
            "processing late, stolen 2000000, WCET of output; 1 of output beyond the WCET",
        ),
    ]);
}

#[test]
fn processor_time() {
    let ran = |cpu| Case::new().ran(RECORDING, T, T, T + 350_000, cpu);
    let beyond = "kept; 1 of recording beyond the WCET";
    check(&[
        ("WCET", &|ns| ran(RECORDING_WCET + ns).judged(END), "kept", beyond),
        (
            "WCET and what a stall took",
            &|ns| ran(RECORDING_WCET + 100_000 + ns).stall(T - STALL, T + 100_000).judged(END),
            "kept",
            beyond,
        ),
    ]);
    let exhausted =
        |times| (0..times).fold(ran(1), |case, job| case.put(Kind::Exhausted, T, RECORDING, job, 1));
    for times in [0, 1, 2] {
        assert_eq!(exhausted(times).report(END).tasks()[0].exhausted, times, "budgets used up");
    }
}

#[test]
fn channels() {
    let case = || Case::new().job(RECORDING, T, T);
    let received = |channel, waited| case().put(Kind::Receive, T, channel, 0, waited);
    // Two values: the first was received when the second was sent, and the stall was before that.
    let behind = |ns| {
        let case = case().put(Kind::Receive, T + ns, AUDIO, 0, 4 * MS + ns);
        let case = case.put(Kind::Receive, T + AUDIO_BOUND + 1, AUDIO, 1, AUDIO_BOUND + 1);
        case.stall(T - 3 * MS, T - MS)
    };
    let lost = |channel, values| case().put(Kind::Drop, T, channel, 0, values);
    // Capacity + 1 periods of its writer.
    let span = 3 * PERIOD;
    check(&[
        ("bound", &|ns| received(ELECTRODES, ELECTRODES_BOUND + ns).judged(END), "kept", "electrodes late"),
        (
            "a stall explains its own length",
            &|ns| {
                let late = received(ELECTRODES, ELECTRODES_BOUND + STALL + ns);
                late.stall(T - 100_000 - STALL, T - 100_000).judged(END)
            },
            "machine 1",
            "electrodes late",
        ),
        (
            "a stall, and a period of who reads by the clock",
            &|ns| {
                let late = received(AUDIO, AUDIO_BOUND + STALL + PERIOD + ns);
                late.stall(T - 100_000 - STALL, T - 100_000).judged(END)
            },
            "machine 1",
            "audio late",
        ),
        (
            "a stall before it was sent",
            &|ns| {
                let sent = T - ELECTRODES_BOUND - 1;
                received(ELECTRODES, ELECTRODES_BOUND + 1).stall(sent + ns - STALL, sent + ns).judged(END)
            },
            "electrodes late",
            "machine 1",
        ),
        (
            "a stall behind its reception",
            &|ns| received(ELECTRODES, ELECTRODES_BOUND + 1).stall(T - ns, T + STALL).judged(END),
            "electrodes late",
            "machine 1",
        ),
        ("queued behind another", &|ns| behind(ns).judged(END), "audio late", "machine 1"),
        (
            "a state is not queued",
            &|state| {
                let mut case = behind(1);
                if state == 1 {
                    case.plan.channels[usize::from(AUDIO)].kind = taut_plan::ChannelKind::State;
                }
                case.judged(END)
            },
            "machine 1",
            "audio late",
        ),
        (
            "a stall before the periods in which a queue fills",
            &|ns| lost(AUDIO, 1).stall(T - span + ns - STALL, T - span + ns).judged(END),
            "audio lost a value",
            "machine 1",
        ),
        ("none lost", &|values| lost(0, values).judged(END), "kept", "kept; 1 lost in samples"),
    ]);
}

/// A pause of the reader, until its effects are over; the records contain `State as u64` of `taut_run`.
#[test]
fn pauses() {
    const GAP: u64 = 4 * MS;
    const SENT: u64 = T - ELECTRODES_BOUND - 1;
    let paused = |case: Case, task: u16, from: u64, until: u64| {
        case.put(Kind::Service, from, 0, task.into(), 2).put(Kind::Service, until, 0, task.into(), 1)
    };
    let late = || Case::new().job(RECORDING, T, T).put(Kind::Receive, T, ELECTRODES, 0, ELECTRODES_BOUND + 1);
    // The first value was sent in the pause and received at its end; the second one was queued behind it.
    let behind = |taken: u64, ns: u64| {
        let case = Case::new().job(RECORDING, T, T).put(Kind::Receive, taken, AUDIO, 0, 30 * MS);
        let case = paused(case, PROCESSING, T - 40 * MS, taken);
        case.put(Kind::Receive, taken + ns + AUDIO_BOUND + 1, AUDIO, 1, AUDIO_BOUND + 1)
    };
    let lost = || Case::new().job(RECORDING, T, T).put(Kind::Drop, T, AUDIO, 0, 1);
    let span = 3 * PERIOD;
    check(&[
        (
            "until it was sent",
            &|ns| paused(late(), OUTPUT, SENT - 9 * MS, SENT - ns).judged(END),
            "kept; 1 paused",
            "electrodes late",
        ),
        (
            "from when it was received on",
            &|ns| late().put(Kind::Service, T + ns, 0, OUTPUT.into(), 2).judged(END),
            "kept; 1 paused",
            "electrodes late",
        ),
        (
            "of somebody else",
            &|ns| paused(late(), if ns == 0 { OUTPUT } else { PROCESSING }, SENT, T).judged(END),
            "kept; 1 paused",
            "electrodes late",
        ),
        (
            "from the failure of its service on, until its reset",
            &|ns| {
                let case = late().put(Kind::Panicked, SENT - MS, PROCESSING, 7, 0);
                case.put(Kind::Service, SENT - ns, 0, OUTPUT.into(), 4).judged(END)
            },
            "kept; 1 of processing restarted; 1 paused",
            "electrodes late; 1 of processing restarted",
        ),
        (
            "an earlier failure is over with its own reset",
            &|ns| {
                let reset = |case: Case, at| case.put(Kind::Service, at, 0, OUTPUT.into(), 4);
                let case = late().put(Kind::Panicked, SENT - 60 * MS, PROCESSING, 7, 0);
                // The service is started again later, without a failure.
                let case = reset(case, if ns == 0 { T } else { SENT - 50 * MS });
                if ns == 0 { case.judged(END) } else { reset(case, T + MS).judged(END) }
            },
            "kept; 1 of processing restarted; 1 paused",
            "electrodes late; 1 of processing restarted",
        ),
        (
            "from when its component failed for good on",
            &|ns| late().put(Kind::Panicked, T + ns, OUTPUT, 7, 1).judged(END),
            "output panicked; 1 paused",
            "output panicked; electrodes late",
        ),
        (
            "from its failure on, until its service was started again",
            &|ns| {
                let case = late().put(Kind::Panicked, SENT - MS, OUTPUT, 7, 1);
                case.put(Kind::Service, SENT - ns, 0, OUTPUT.into(), 4).judged(END)
            },
            "output panicked; 1 paused",
            "output panicked; electrodes late",
        ),
        (
            "its job waits for the gap behind the one in which the end of the pause was heard",
            &|ns| {
                let resumed = SENT - GAP - ns;
                paused(late().job(OUTPUT, resumed, resumed), OUTPUT, T - 20 * MS, resumed).judged(END)
            },
            "kept; 1 paused",
            "electrodes late",
        ),
        (
            "queued behind what had waited",
            &|ns| behind(T, ns).judged(END),
            "kept; 2 paused",
            "audio late; 1 paused",
        ),
        (
            "in the periods in which a queue fills",
            &|ns| paused(lost(), PROCESSING, T - 2 * span, T - span - ns).judged(END),
            "kept; 1 paused",
            "audio lost a value",
        ),
        (
            "in the time of an age",
            &|ns| {
                let case = Case::new().job(RECORDING, T, T).put(Kind::ChainEnd, T, 0, 0, AGE_LIMIT + 1);
                paused(case, PROCESSING, T - 2 * AGE_LIMIT, T - AGE_LIMIT - 1 - ns).judged(END)
            },
            "kept; 1 paused",
            "age",
        ),
    ]);
}

#[test]
fn ages() {
    let chain = |bound: Option<u64>, limit: u64, age: u64| {
        let mut case = Case::new().job(RECORDING, T, T).put(Kind::ChainEnd, T, 0, 0, age);
        case.plan.chains[0].latency = bound.map(Duration::from_ns);
        case.plan.chains[0].max_latency = Duration::from_ns(limit);
        case
    };
    let bound = Some(AGE_BOUND);
    let stalled = |case: Case| case.stall(T - MS - STALL, T - MS).judged(END);
    check(&[
        ("bound", &|ns| chain(bound, AGE_LIMIT, AGE_BOUND + ns).judged(END), "kept", "age"),
        ("limit without a bound", &|ns| chain(None, AGE_LIMIT, AGE_LIMIT + ns).judged(END), "kept", "age"),
        ("limit below a bound", &|ns| chain(bound, MS, MS + ns).judged(END), "kept", "age"),
        (
            "what is not proven to be within the limit is not the machine's",
            &|ns| stalled(chain(bound, AGE_BOUND - ns, AGE_BOUND + 1)),
            "machine 1",
            "age",
        ),
        (
            "without a bound nothing is the machine's",
            &|none| stalled(chain((none == 0).then_some(AGE_BOUND), AGE_BOUND, AGE_BOUND + 1)),
            "machine 1",
            "age",
        ),
        (
            "a stall, and a period of who reads by the clock",
            &|ns| stalled(chain(bound, AGE_LIMIT, AGE_BOUND + STALL + PERIOD + ns)),
            "machine 1",
            "age",
        ),
    ]);
}

/// An event just after the recording's first release shows 10.5 ms later, at the end of the processing's second job.
#[test]
fn reactions() {
    const REACTION: u64 = 10_500_000;
    let chain = |bound: Option<u64>, limit: u64| {
        let case = Case::new()
            .job(RECORDING, T, T + 100_000)
            .put(Kind::Send, T + 90_000, AUDIO, 0, 0)
            .ran(PROCESSING, T + 2 * MS, T + 2 * MS, T + 2_500_000, 0)
            .put(Kind::Receive, T + 2_100_000, AUDIO, 0, 2_010_000)
            .job(RECORDING, T + PERIOD, T + PERIOD + 100_000)
            .put(Kind::Send, T + PERIOD + 90_000, AUDIO, 1, 1)
            .ran(PROCESSING, T + PERIOD + 2 * MS, T + PERIOD + 2 * MS, T + REACTION, 0)
            .put(Kind::Receive, T + PERIOD + 2_100_000, AUDIO, 1, 2_010_000);
        let mut case = case;
        let chain = &mut case.plan.chains[0];
        chain.path.truncate(3);
        chain.reaction = bound.map(Duration::from_ns);
        chain.max_reaction = Some(Duration::from_ns(limit));
        case
    };
    let stalled = |case: Case| case.stall(T + 3 * MS, T + 3 * MS + STALL).judged(END);
    let paused = |case: Case, until| {
        case.put(Kind::Service, 0, 0, PROCESSING.into(), 2).put(Kind::Service, until, 0, PROCESSING.into(), 1)
    };
    check(&[
        (
            "where somebody was paused, nothing is said",
            &|ns| paused(chain(Some(REACTION - 1), AGE_LIMIT), T - ns).judged(END),
            "kept",
            "reaction",
        ),
        ("bound", &|ns| chain(Some(REACTION - ns), AGE_LIMIT).judged(END), "kept", "reaction"),
        ("limit without a bound", &|ns| chain(None, REACTION - ns).judged(END), "kept", "reaction"),
        ("limit below a bound", &|ns| chain(Some(AGE_LIMIT), REACTION - ns).judged(END), "kept", "reaction"),
        (
            "what is not proven to be within the limit is not the machine's",
            &|ns| stalled(chain(Some(REACTION - 1), REACTION - 1 - ns)),
            "machine 1",
            "reaction",
        ),
        (
            "a stall, and a period of who reads by the clock",
            &|ns| stalled(chain(Some(REACTION - STALL - PERIOD - ns), AGE_LIMIT)),
            "machine 1",
            "reaction",
        ),
    ]);
}

#[test]
fn records() {
    let ran = |release, start, complete| {
        Case::new().job(OUTPUT, T, T).ran(RECORDING, release, start, complete, 0).judged(END)
    };
    let one = || Case::new().job(RECORDING, T, T);
    let faults = taut_event::Counter::MinorFaults as u64;
    let slept = || Case::new().job(PROCESSING, T, T + 2_000).put(Kind::Slept, T + 1_000, PROCESSING, 0, 1);
    // The processing, whose first release is due after 2 ms, has no release for two periods and a second.
    let silence = 2 * MS + 2 * PERIOD + 1_000 * MS;
    check(&[
        ("the end", &|ns| ran(END - 9, END - 9, END + ns), "kept", "recording faulty"),
        ("started when released", &|ns| ran(T, T - ns, T), "kept", "recording faulty"),
        ("done when started", &|ns| ran(T, T + 1, T + 1 - ns), "kept", "recording faulty"),
        (
            "no release for two periods and a second",
            &|ns| Case::new().job(RECORDING, silence + ns, silence + ns).judged(2_000 * MS),
            "kept",
            "processing silent",
        ),
        (
            "a stall before the job that slept",
            &|ns| slept().stall(T + ns - STALL, T + ns).judged(END),
            "processing slept",
            "kept; processing stopped",
        ),
        (
            "a stall after it slept",
            &|ns| slept().stall(T + 1_000 - ns, T + STALL).judged(END),
            "processing slept",
            "kept; processing stopped",
        ),
        (
            "page faults",
            &|count| {
                let zero = |case: Case, kind| case.put(Kind::Counted, END, RECORDING, kind, 0);
                let all = (1..=5).filter(|kind| *kind != faults).fold(one(), zero);
                all.put(Kind::Counted, END, RECORDING, faults, count).judged(END)
            },
            "kept",
            "kept; 1 PageFault of recording",
        ),
        (
            "page faults of a core",
            &|count| {
                let none = one().put(Kind::CoreCounted, END, 0, taut_event::Counter::MajorFaults as u64, 0);
                none.put(Kind::CoreCounted, END, 0, faults, count).judged(END)
            },
            "kept",
            "kept; 1 faults",
        ),
        (
            "records lost",
            &|records| one().put(Kind::Lost, T, RECORDING, 0, records).judged(END),
            "kept",
            "Lost { task: \"recording\", records: 1 }",
        ),
        (
            "records of a core lost",
            &|records| one().put(Kind::CoreLost, T, 0, 0, records).judged(END),
            "kept",
            "LostOnCore { cpu: 0, records: 1 }",
        ),
    ]);
}

/// Lateness whose cause may be before a recording with a limit counts as nobody's fault.
#[test]
fn what_was_before_the_recording() {
    let one = || Case::new().job(RECORDING, T, T);
    let late = || Case::new().job(RECORDING, T, T + RECORDING_BOUND + 1);
    // The processing is 1 ns late. The output, released 1 ms earlier, was pending until the processing's release or
    // longer.
    let behind = |output, priority| {
        let case = Case::new().job(OUTPUT, T - MS, output).job(PROCESSING, T, T + PROCESSING_BOUND + 1);
        case.priority(OUTPUT, priority).since(T - MS).judged(END)
    };
    let ours = "processing late, stolen 0, unknown; since";
    let received = |channel, waited| one().put(Kind::Receive, T + 1, channel, 0, waited + 1);
    let queued = |before| {
        let sent = T - AUDIO_BOUND - 1;
        let case = one().put(Kind::Receive, sent + before, AUDIO, 0, MS + before);
        case.put(Kind::Receive, T, AUDIO, 1, AUDIO_BOUND + 1).since(sent - MS + 1).judged(END)
    };
    let chain = |bound: u64, limit: u64, age: u64, since: u64| {
        let mut case = one().put(Kind::ChainEnd, T + 1, 0, 0, age);
        case.plan.chains[0].latency = Some(Duration::from_ns(bound));
        case.plan.chains[0].max_latency = Duration::from_ns(limit);
        case.since(since).judged(END)
    };
    let age = AGE_BOUND + 1;
    let slept = |since| {
        let case = Case::new().job(RECORDING, T + 1, T + 1).job(PROCESSING, T, T + 2_000);
        case.put(Kind::Slept, T + 1_000, PROCESSING, 0, 1).since(since).judged(END)
    };
    check(&[
        (
            "a job released before it is none of its own",
            &|ns| late().job(RECORDING, END - MS, END - MS).since(T - 1 + ns).judged(END),
            "recording late, stolen 0, unknown; since",
            "kept; since",
        ),
        ("a job that was there at the release", &|ns| behind(T + ns, 75), ours, "kept; since; 1 not judged"),
        ("a less urgent one", &|levels| behind(T + 1, 70 - levels as u8), "kept; since; 1 not judged", ours),
        (
            "what is not proven is ours",
            &|proven| {
                let case = Case::new().job(OUTPUT, T - MS, T + 1).job(PROCESSING, T, T + 5 * MS + 1);
                let bound = (proven == 1).then_some(PROCESSING_BOUND);
                case.bound(PROCESSING, bound).since(T - MS).judged(END)
            },
            "processing late, missed, stolen 0, not proven; since",
            "kept; since; 1 not judged",
        ),
        (
            "a value",
            &|ns| received(ELECTRODES, ELECTRODES_BOUND + 1).since(T - ELECTRODES_BOUND - 1 + ns).judged(END),
            "electrodes late; since",
            "kept; since; 1 not judged",
        ),
        ("a value queued behind another", &queued, "audio late; since", "kept; since; 1 not judged"),
        (
            "a value lost",
            &|ns| one().put(Kind::Drop, T + 1, AUDIO, 0, 1).since(T + 1 - 3 * PERIOD + ns).judged(END),
            "audio lost a value; since",
            "kept; since; 1 not judged",
        ),
        (
            "an age",
            &|ns| chain(AGE_BOUND, AGE_LIMIT, age, T + 1 - age + ns),
            "age; since",
            "kept; since; 1 not judged",
        ),
        (
            "an age that is not proven",
            &|ns| chain(AGE_BOUND, AGE_BOUND - 1 + ns, age, T + 1 - age + 1),
            "age; since",
            "kept; since; 1 not judged",
        ),
        ("a job that slept", &|ns| slept(T - 1 + ns), "processing slept; since", "kept; since; 1 not judged"),
        (
            "no release for two periods and a second",
            &|ns| {
                let silence = T + 2 * PERIOD + 1_000 * MS + ns;
                let kinds = [Kind::Release, Kind::Start, Kind::Complete];
                let put = |case: Case, kind| case.put(kind, silence, RECORDING, silence / PERIOD, 0);
                kinds.into_iter().fold(Case::new(), put).since(T).judged(2_000 * MS)
            },
            "kept; since",
            "processing silent; since",
        ),
    ]);
    let report = late().job(OUTPUT, T - MS, T + 1).since(T - MS).report(END);
    let recording = &report.tasks()[0];
    assert_eq!(
        (recording.late_not_judged, recording.late_ours, recording.late_machine),
        (0, 1, 0),
        "more urgent"
    );
    let report = late().job(OUTPUT, T - MS, T + 1).priority(OUTPUT, 80).since(T - MS).report(END);
    assert_eq!(report.tasks()[0].late_not_judged, 1);
    let said = "1 finding not judged: the events that led to it are older than the recording";
    assert!(report.text(120, false).contains(said), "{}", report.text(120, false));
    assert!(report.text(160, false).contains("· not judged 1"), "{}", report.text(160, false));
}

/// The same for another core: a lock that was acquired before the recording, and a writer whose job began before it.
#[test]
fn what_another_core_did_before_the_recording() {
    let lock = include_str!("../../../apps/drive/taut.lock");
    let plan = Plan::from_lock(lock).expect("the plan is one");
    let [control, torque] =
        ["control", "torque"].map(|name| plan.task(name).expect("the drive has it") as u16);
    let judged = |since: u64, done: u64| {
        let mut records = Vec::new();
        for (kind, at, cpu, task, value) in [
            (Kind::Release, T, 1, control, 0),
            (Kind::Start, T, 1, control, 0),
            (Kind::Complete, done, 1, control, 30_000),
            (Kind::Release, T + 1, 0, torque, 0),
            (Kind::Start, T + 19 * MS, 0, torque, 0),
            (Kind::Complete, T + 19 * MS + 50_000, 0, torque, 30_000),
            (Kind::End, END, 0, 0, 0),
        ] {
            let (at, job) = (Instant::from_ns(BEGIN + at), 2);
            records.push(Record { at, kind, cpu, subject: task, job, value });
        }
        let since = Instant::from_ns(BEGIN + since);
        records.retain(|record| record.at > since);
        let mut run = Run::of(records);
        (run.since, run.begin) = (Some(since), Some(Instant::from_ns(BEGIN)));
        let report = Report::new(&plan, &run);
        let task = &report.tasks()[usize::from(torque)];
        (task.late_ours, task.late_machine, task.late_not_judged)
    };
    assert_eq!(
        judged(T - 1, T + 19 * MS),
        (1, 0, 0),
        "it waited for one that is recorded, and nothing stood still"
    );
    assert_eq!(judged(T, T + 19 * MS), (0, 0, 1), "it waited for one that came before");
    assert_eq!(judged(T, T + 19 * MS + 1), (1, 0, 0), "it did not wait for it");
    assert_eq!(judged(T, T + 1), (1, 0, 0), "it was done");
}

/// Each reader of a broadcast is judged by its own bound; what one that is not real-time loses is a note.
#[test]
fn readers_of_a_broadcast() {
    const SOURCE: u16 = 3;
    const BOUNDS: [(u16, u64); 2] = [(PROCESSING, AUDIO_BOUND), (OUTPUT, 2 * MS)];
    let case = || {
        let mut case = Case::new().job(RECORDING, T, T);
        let audio = &mut case.plan.channels[usize::from(AUDIO)];
        let reader = |task: u16, bound: Option<u64>| taut_plan::ReaderPlan {
            name: case.plan.tasks[usize::from(task)].name.clone(),
            latency: bound.map(Duration::from_ns),
            ..audio.readers[0].clone()
        };
        let readers =
            [reader(PROCESSING, Some(AUDIO_BOUND)), reader(OUTPUT, Some(2 * MS)), reader(SOURCE, None)];
        (audio.broadcast, audio.readers) = (true, readers.into());
        case
    };
    assert_eq!(case().plan.tasks[usize::from(SOURCE)].name, "source");
    let of = |reader: u16, sequence: u64| sequence | u64::from(reader) << 48;
    for (reader, bound) in BOUNDS {
        let received = |waited| case().put(Kind::ReceivedBy, T, AUDIO, of(reader, 1), waited);
        check(&[("its own bound", &|ns| received(bound + ns).judged(END), "kept", "audio late")]);
        let lost = |values| case().put(Kind::LostBy, T, AUDIO, reader.into(), values).judged(END);
        assert_eq!(lost(1), "audio lost a value");
    }
    // What waits for an observer has no bound, and what it loses is no breach.
    let observed = case()
        .put(Kind::ReceivedBy, T, AUDIO, of(SOURCE, 1), 100 * AUDIO_BOUND)
        .put(Kind::LostBy, T, AUDIO, SOURCE.into(), 4)
        .put(Kind::ReceivedBy, T, AUDIO, of(OUTPUT, 1), 1_000)
        .put(Kind::ReceivedBy, T, AUDIO, of(OUTPUT, 2), 3_000);
    let report = observed.report(END);
    assert_eq!(found(&report), "kept; 4 of audio lost by source");
    let figures = &report.channels()[usize::from(AUDIO)];
    let each: Vec<_> = figures.by_reader.iter().map(|of| (of.name.as_str(), of.received, of.lost)).collect();
    assert_eq!(each, [("processing", 0, 0), ("output", 2, 0), ("source", 1, 4)]);
    assert_eq!((figures.received, figures.dropped), (3, 4));
    assert_eq!(figures.by_reader[1].latency.map(|latency| latency.max_ns), Some(3_000));
    // A value that the writer could not send was proven to fit.
    assert_eq!(case().put(Kind::Drop, T, AUDIO, 0, 1).judged(END), "audio lost a value");
}
