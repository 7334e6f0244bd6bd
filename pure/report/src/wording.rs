// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Breaches and warnings in words, for people.

use taut_time::shown::time as span;

use crate::verdict::{Breach, Cause, Ended, Forbidden, JobLocation, MAIN, Unrest, Warning};

/// A count with its noun.
pub(crate) fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Where a job stood.
pub(crate) fn stood(
    in_call: Option<bool>,
    offset: Option<u64>,
    resource: Option<&str>,
    held: bool,
) -> String {
    let mut text = match in_call {
        Some(true) => "was in a system call",
        Some(false) => "was executing",
        None => "was at an unknown place",
    }
    .to_owned();
    match (in_call, offset) {
        (None, _) => {}
        (Some(_), Some(offset)) => text.push_str(&format!(", at {offset:#x} of the program")),
        (Some(_), None) => text.push_str(", in a library"),
    }
    if let Some(resource) = resource {
        let verb = if held { "holding" } else { "waiting for" };
        text.push_str(&format!(", {verb} `{resource}`"));
    }
    text
}

/// A breach, in a sentence.
pub(crate) fn breach_text(breach: &Breach) -> String {
    match breach {
        Breach::Response {
            task,
            job,
            at_ns,
            response_ns,
            limit_ns,
            missed,
            unfinished,
            stolen_ns,
            cause,
        } => {
            let late = late_response(*missed, *unfinished, *response_ns, *limit_ns);
            let (at, why) = (span(*at_ns), cause_text(cause));
            // Without real-time priorities there is no probe, so no stall was looked for.
            let stolen = match cause {
                Cause::NoPriority { .. } => String::new(),
                _ => format!("; {}", stolen_text(*stolen_ns)),
            };
            format!("`{task}` job {job} at {at} {late}; {why}{stolen}")
        }
        Breach::Latency { channel, at_ns, latency_ns, limit_ns } => {
            late_value(channel, *at_ns, *latency_ns, *limit_ns)
        }
        Breach::Age { chain, at_ns, age_ns, limit_ns } => old_data(chain, *at_ns, *age_ns, *limit_ns),
        Breach::Reaction { chain, at_ns, reaction_ns, limit_ns } => {
            late_reaction(chain, *at_ns, *reaction_ns, *limit_ns)
        }
        Breach::Drop { channel, at_ns, dropped } => lost_values(channel, *at_ns, *dropped),
        Breach::ReleasesDropped { task, releases, at_ns } => dropped_releases(task, *releases, *at_ns),
        Breach::Panicked { task, job, at_ns } => {
            format!("`{task}` job {job} panicked at {}, and its task stopped", span(*at_ns))
        }
        Breach::HeapUsed { task, jobs, at_ns } => heap_used(task, *jobs, *at_ns),
        Breach::ModeChange { from, to, task, at_ns, took_ns, limit_ns } => {
            let (took, at, limit) = (span(*took_ns), span(*at_ns), span(*limit_ns));
            format!(
                "`{task}` had followed the change from mode `{from}` to `{to}` {took} after the request, at {at}; bound {limit}"
            )
        }
        Breach::Lost { task, records } => lost_records(&format!("`{task}`"), *records),
        Breach::LostOnCore { cpu, records } => lost_records(&format!("CPU {cpu}"), *records),
        Breach::Slept { task, times } => slept(task, *times),
        Breach::Moved { task, thread, cpu, policy, priority, unpinned, at_ns } => {
            let thread = thread.as_deref().unwrap_or("thread");
            moved(task.as_deref(), thread, *cpu, &placed(*policy, *priority, *unpinned, *cpu), *at_ns)
        }
        Breach::Stopped { at_ns, lasted_ns } => stopped(*at_ns, *lasted_ns),
        Breach::Traced { pid, at_ns, lasted_ns } => traced(*pid, *at_ns, *lasted_ns),
        Breach::ForeignThread { thread, tid, policy, priority, cpu, ran_ns, at_ns, jobs } => {
            let who = foreign_thread(thread, *tid, *policy, *priority);
            let (ran, at, jobs) = (span(*ran_ns), span(*at_ns), plural(*jobs, "late job", "late jobs"));
            format!("{who}, on CPU {cpu}: it ran for {ran} from {at} on, and caused {jobs}")
        }
        Breach::Damaged { byte, bytes, cut } => damaged(*byte, *bytes, *cut),
        Breach::Unwritten { records, os_error } => unwritten(*records, *os_error),
        Breach::Faulty { task, jobs } => faulty(task, *jobs),
        Breach::Silent { task, at_ns } => {
            format!("`{task}` was not released from {} on, while other tasks were", span(*at_ns))
        }
        Breach::Unknown { records } => unknown(*records),
        Breach::Ended { ending } => ended_text(ending),
        Breach::Stood { task, job, in_call, offset, resource, held } => {
            format!(
                "at that time `{task}`, job {job}, {}",
                stood(*in_call, *offset, resource.as_deref(), *held)
            )
        }
        Breach::NotAtRest { why, took_ns } => not_at_rest(*why, *took_ns),
        Breach::Nothing => "no job of a real-time task completed, so the run shows nothing".to_owned(),
    }
}

/// How late a job was.
fn late_response(missed: bool, unfinished: bool, response_ns: u64, limit_ns: u64) -> String {
    let took = if unfinished { "was not complete after" } else { "took" };
    let over = if missed { "missed its deadline" } else { "is beyond its bound" };
    format!("{over}: it {took} {}, bound {}", span(response_ns), span(limit_ns))
}

/// Why a job was late.
fn cause_text(cause: &Cause) -> String {
    match cause {
        Cause::Wcet { of, wcet_ns, used_ns } => {
            format!("the WCET of `{of}` is too small: {} used, {} planned", span(*used_ns), span(*wcet_ns))
        }
        Cause::Release { late_ns, planned_ns } => format!(
            "it started {} after its core was free for it, but platform.overheads.release allows {}",
            span(*late_ns),
            span(*planned_ns)
        ),
        Cause::NoPriority { late_ns } => format!(
            "it started {} after its core was free of other jobs: it had no real-time priority, so any program \
             could go first",
            span(*late_ns)
        ),
        Cause::ForeignThread { thread, tid, ran_ns } => format!(
            "a foreign real-time thread, `{thread}` ({tid}), had the core for {} at that time",
            span(*ran_ns)
        ),
        Cause::Stopped => "the application was stopped from outside".to_owned(),
        Cause::Traced { pid } => format!("process {pid} traced the application"),
        Cause::NotProven => "the plan does not prove a bound for it".to_owned(),
        Cause::Unfinished { began_ns: None, .. } => "it had not started when the recording ended".to_owned(),
        Cause::Unfinished { began_ns: Some(began_ns), ran_ns, wcet_ns, stood: place } => {
            let JobLocation { in_call, offset, resource, held } = place.clone().unwrap_or_default();
            format!(
                "it was not complete: it started {} after its release, ran for {} at most, {} planned, and {}",
                span(*began_ns),
                span(*ran_ns),
                span(*wcet_ns),
                stood(in_call, offset, resource.as_deref(), held)
            )
        }
        Cause::Unknown => "no WCET was exceeded: an overhead or a blocking is larger than planned".to_owned(),
    }
}

fn stolen_text(stolen_ns: u64) -> String {
    match stolen_ns {
        0 => "no stall at that time".to_owned(),
        stolen => format!("stalls explain {} at most", span(stolen)),
    }
}

fn late_value(channel: &str, at_ns: u64, latency_ns: u64, limit_ns: u64) -> String {
    let (at, latency, limit) = (span(at_ns), span(latency_ns), span(limit_ns));
    format!("a value in `{channel}` waited {latency} until {at}, bound {limit}; no stall explains it")
}

fn old_data(chain: &str, at_ns: u64, age_ns: u64, limit_ns: u64) -> String {
    let (at, age, limit) = (span(at_ns), span(age_ns), span(limit_ns));
    format!("the data at the end of `{chain}` at {at} were {age} old, bound {limit}; no stall explains it")
}

fn late_reaction(chain: &str, at_ns: u64, reaction_ns: u64, limit_ns: u64) -> String {
    let (at, reaction, limit) = (span(at_ns), span(reaction_ns), span(limit_ns));
    format!(
        "the output of `{chain}` at {at} can reflect an event from {reaction} before, bound {limit}; no stall \
         explains it"
    )
}

fn lost_values(channel: &str, at_ns: u64, dropped: u64) -> String {
    let values = plural(dropped, "value", "values");
    format!("`{channel}` lost {values} at {}, though its capacity was proven", span(at_ns))
}

fn dropped_releases(task: &str, releases: u64, at_ns: u64) -> String {
    format!(
        "{} of `{task}` dropped from {} on, because more waited than fall due in a stall of 10 s",
        plural(releases, "release", "releases"),
        span(at_ns)
    )
}

fn heap_used(task: &str, jobs: u64, at_ns: u64) -> String {
    format!(
        "{} of `{task}` used the heap from {} on, which its manifest denies: the heap may take any time",
        plural(jobs, "job", "jobs"),
        span(at_ns)
    )
}

fn lost_records(of: &str, records: u64) -> String {
    let records = plural(records, "record", "records");
    format!("{records} of {of} lost: the report cannot judge what was not recorded")
}

fn slept(task: &str, times: u64) -> String {
    format!(
        "`{task}` slept {} while it held a resource: other jobs of its core may have run meanwhile, against the \
         locking rule",
        plural(times, "time", "times")
    )
}

/// A thread that was moved from outside to another placement.
fn moved(task: Option<&str>, thread: &str, cpu: u16, placed: &str, at_ns: u64) -> String {
    if thread == MAIN {
        return format!(
            "the main thread was moved from outside: to CPU {cpu}, where only tasks may run, seen at {}",
            span(at_ns)
        );
    }
    let who = task.map_or_else(|| format!("{thread} of CPU {cpu}"), |task| format!("`{task}`"));
    format!("{who} was moved from outside: {placed}, seen at {}", span(at_ns))
}

/// The placement of a thread that belongs on a CPU.
fn placed(policy: u64, priority: u64, unpinned: bool, cpu: u16) -> String {
    let pinned = if unpinned { format!(", not on CPU {cpu} alone") } else { String::new() };
    format!("{}{pinned}", policy_text(policy, priority))
}

fn stopped(at_ns: u64, lasted_ns: u64) -> String {
    format!(
        "the application was stopped from outside at {}, for {}, and went on (SIGSTOP, SIGCONT): no job is to blame",
        span(at_ns),
        span(lasted_ns)
    )
}

fn traced(pid: u32, at_ns: u64, lasted_ns: u64) -> String {
    format!(
        "process {pid} traced the application (a debugger, strace) from {} on at the earliest, until {}: no job is to blame",
        span(at_ns),
        span(at_ns.saturating_add(lasted_ns))
    )
}

/// A thread from outside, with its policy.
pub(crate) fn foreign_thread(thread: &str, tid: u32, policy: u64, priority: u64) -> String {
    format!("foreign real-time thread `{thread}` ({tid}), {}", policy_text(policy, priority))
}

fn damaged(byte: u64, bytes: u64, cut: bool) -> String {
    let what = if cut { "is cut" } else { "is damaged" };
    format!("the recording {what} at byte {byte}: the {bytes} from there on are not judged")
}

fn unwritten(records: u64, os_error: u32) -> String {
    let why = match os_error {
        27 => "the file may not grow (EFBIG)".to_owned(),
        28 => "the disk was full (ENOSPC)".to_owned(),
        122 => "the quota was used up (EDQUOT)".to_owned(),
        error => format!("error {error} of the system"),
    };
    let records = plural(records, "record", "records");
    format!("{records} could not be written: {why}; the report does not judge them")
}

fn faulty(task: &str, jobs: u64) -> String {
    let jobs = plural(jobs, "job", "jobs");
    format!("{jobs} of `{task}` not shown: records of them are missing, or contradict each other")
}

fn unknown(records: u64) -> String {
    format!(
        "{} of kinds that this version does not know, or of tasks that the plan does not have",
        plural(records, "record", "records")
    )
}

/// Why the outputs may not be in their safe state.
pub(crate) fn not_at_rest(why: Unrest, took_ns: u64) -> String {
    let why = match why {
        Unrest::Panicked => "the safe state panicked".to_owned(),
        Unrest::Crashed { signal } => format!("signal {signal} in the safe state"),
        Unrest::Late => format!("the safe state did not return within its budget ({})", span(took_ns)),
        Unrest::NotStarted => "the safe state did not get a processor".to_owned(),
        Unrest::Unknown => "this version does not know the result of the safe state".to_owned(),
    };
    format!("outputs may not be at rest: {why}")
}

/// A scheduling policy of Linux, by its number, with its priority.
pub(crate) fn policy_text(policy: u64, priority: u64) -> String {
    match policy {
        0 => "SCHED_OTHER".to_owned(),
        1 => format!("SCHED_FIFO {priority}"),
        2 => format!("SCHED_RR {priority}"),
        6 => "SCHED_DEADLINE".to_owned(),
        other => format!("policy {other}"),
    }
}

/// How a run ended, if it did not come to its own end.
pub(crate) fn ended_text(ending: &Ended) -> String {
    let unseen = "its last moments and the counts of its threads are missing";
    match ending {
        Ended::Overrun { task } => {
            format!("the application stopped itself, as `{task}` overran: `on-overrun = \"stop-app\"`")
        }
        Ended::Panic { task } => format!("the application stopped, as a job of `{task}` panicked"),
        Ended::Killed { signal } => match signal_name(*signal) {
            Some(name) => format!("the application was ended by {name} (signal {signal}): {unseen}"),
            None => format!("the application was ended by signal {signal}: {unseen}"),
        },
        Ended::Exited { code: 0 } => {
            format!("the process exited (exit code 0) before the end of its run: {unseen}")
        }
        Ended::Exited { code } => format!("the application did not end in order: exit code {code}"),
        Ended::Limit { task } => {
            format!("a job of `{task}` did not end after its limit, so the application was ended at once")
        }
        Ended::Jobs => {
            "jobs did not end when the application was asked to end, so it was ended at once".to_owned()
        }
        Ended::Finish => {
            "the work after the last job took too long, so the application was ended at once".to_owned()
        }
        Ended::Start => "release 0 did not come in time".to_owned(),
        Ended::Again { signal } => {
            format!("the application was ended at once by signal {signal}, which followed an earlier signal")
        }
        Ended::Left => "a thread called `exit`, so the application was ended at once".to_owned(),
        Ended::BestEffort { task } => {
            format!("the best-effort task `{task}` did not return, and the application ended without it")
        }
        Ended::Unwritten => {
            format!(
                "the rest of the recording could not be written (a full disk, or a limit on the size of files): {unseen}"
            )
        }
        Ended::Unrecorded => {
            format!("the recording has no end, as after a kill of the application: {unseen}")
        }
    }
}

/// The name of a signal that ends processes, on Linux.
fn signal_name(signal: u32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        _ => return None,
    })
}

/// A warning, in a sentence.
pub(crate) fn warning_text(warning: &Warning) -> String {
    match warning {
        Warning::NotProven => "the plan does not prove every deadline and chain".to_owned(),
        Warning::Degraded { guarantee, why } => {
            format!("ran without the guarantee of {guarantee}, so the proof did not hold: {why}")
        }
        Warning::NoSwitchMark { why, look_ns } => no_switch_mark(why, *look_ns),
        Warning::Wcet { task, wcet_ns, used_ns, jobs } => {
            let (jobs, used, planned) = (plural(*jobs, "job", "jobs"), span(*used_ns), span(*wcet_ns));
            format!("the WCET of `{task}` is too small: {jobs} used up to {used}, {planned} planned")
        }
        Warning::Conduct { task, what, count } => {
            let done = match what {
                Forbidden::HeapUse => plural(*count, "use of the heap", "uses of the heap"),
                Forbidden::PageFault => plural(*count, "page fault", "page faults"),
                Forbidden::BlockingCall => plural(*count, "blocking call", "blocking calls"),
            };
            format!("`{task}` had {done} after release 0; should be none")
        }
        Warning::RestHeap { times } => {
            let times = plural(*times, "time", "times");
            format!(
                "the safe state used the heap {times}; it must not, because a job may hold a lock of the heap"
            )
        }
        Warning::CoreFaults { cpu, count } => {
            let faults = plural(*count, "page fault", "page faults");
            format!(
                "the dispatched tasks of CPU {cpu} had {faults} after release 0, together; should be none"
            )
        }
        Warning::Stopped { task, times } => stood_still(task, *times),
        Warning::ForeignThread { thread, tid, policy, priority, cpu, ran_ns } => {
            let (who, ran) = (foreign_thread(thread, *tid, *policy, *priority), span(*ran_ns));
            format!("{who}, ran for {ran} on CPU {cpu}; it made no job late")
        }
        Warning::Failed { task, jobs, errors } => {
            let named = errors.iter().map(|of| format!("{} {}", of.error, of.jobs)).collect::<Vec<_>>();
            let named = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
            format!("{} of `{task}` returned an error{named}", plural(*jobs, "job", "jobs"))
        }
        Warning::Restarted { task, jobs } => {
            format!("{} of `{task}` panicked, and its service restarted", plural(*jobs, "job", "jobs"))
        }
        Warning::ScopeExceeded { task, times } => {
            let times = plural(*times, "time", "times");
            format!("`{task}` asked its release scope for more than it has, {times}")
        }
        Warning::Dropped { channel, values } => {
            format!("`{channel}` lost {}", plural(*values, "value", "values"))
        }
        Warning::LostBy { channel, reader, values } => {
            format!("`{reader}` lost {} of `{channel}`", plural(*values, "value", "values"))
        }
        Warning::ClockNotLocked { clock } => {
            format!("no release was locked to clock `{clock}`: were enough of its ticks reported?")
        }
        Warning::ClockLost { clock, times } => {
            format!("clock `{clock}` was lost {}", plural(*times, "time", "times"))
        }
        Warning::ClockBroken { clock, times } => {
            let times = plural(*times, "time", "times");
            format!(
                "clock `{clock}` broke its word {times}: its drift or its jitter is larger than the manifest states"
            )
        }
        Warning::TooMany { channel, values } => {
            let values = plural(*values, "value was", "values were");
            format!(
                "`{channel}`: {values} refused, because a job sent more than the manifest allows (`sends-per-release`)"
            )
        }
        Warning::Lost { task, records } => {
            format!("{} of `{task}` lost", plural(*records, "record", "records"))
        }
        Warning::ValuesLost { records } => {
            let records = plural(*records, "record", "records");
            format!("{records} of values lost, so `taut replay --code` cannot replay this run")
        }
        Warning::Since { at_ns, records } => since(*at_ns, *records),
        Warning::NotJudged { findings } => not_judged(*findings),
        Warning::Paused { findings } => format!(
            "{} late or lost because a service on the path was paused or stopped: not judged against a bound",
            plural(*findings, "value", "values")
        ),
    }
}

fn no_switch_mark(why: &str, look_ns: Option<u64>) -> String {
    let cost =
        look_ns.map_or("was not measured".to_owned(), |ns| format!("was {} before release 0", span(ns)));
    format!(
        "the kernel did not report context switches to the threads ({why}): each job read its processor time at its \
         beginning and its end, and the cost of one reading {cost}; sleeps are counted, but not whether the job held \
         a resource"
    )
}

fn stood_still(task: &str, times: u64) -> String {
    format!(
        "`{task}` made no progress {} while it held a resource, but the machine stalled or the application was \
         stopped from outside: the recording does not show whether the task slept",
        plural(times, "time", "times")
    )
}

fn since(at_ns: u64, records: u64) -> String {
    let (at, records) = (span(at_ns), plural(records, "record", "records"));
    format!(
        "judged from {at} on: newer records replaced {records} before that, because the recording has a size limit"
    )
}

fn not_judged(findings: u64) -> String {
    let them = if findings == 1 { "it" } else { "them" };
    let findings = plural(findings, "finding", "findings");
    format!("{findings} not judged: the events that led to {them} are older than the recording")
}
