// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::shown::{micros, time as span};

use crate::Ending;
use crate::figures::{CoreFigures, Spread};
use crate::report::Report;
use crate::table::{Table, number, word};
use crate::verdict::{Breach, Cause, Ended, MAIN, Place, Unrest, Verdict, Warning};

const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";
const BOLD: &str = "1";
const DIM: &str = "2";

/// The most breaches listed one by one; the rest is only counted.
const BREACHES_TOLD: usize = 8;

struct Page {
    text: String,
    width: usize,
    color: bool,
}

/// The content of a bar: the largest value, its limit, and the number of values beyond it by fault.
struct Tail {
    max: Option<u64>,
    limit: Option<u64>,
    machine: u64,
    ours: u64,
    not_judged: u64,
    outside: u64,
    paused: u64,
}

impl Tail {
    fn note(&self) -> String {
        let mark = match (self.ours + self.outside, self.machine) {
            (0, 0) => "·",
            (0, _) => "⚑",
            _ => "✘",
        };
        let whose = [
            ("ours", self.ours),
            ("outside", self.outside),
            ("machine", self.machine),
            ("not judged", self.not_judged),
            ("paused", self.paused),
        ];
        let whose = whose.iter().filter(|(_, late)| *late > 0);
        let whose: Vec<String> = whose.map(|(whose, late)| format!("{whose} {late}")).collect();
        if whose.is_empty() { String::new() } else { format!(" {mark} {}", whose.join(", ")) }
    }
}

pub(crate) fn write(report: &Report, width: usize, color: bool) -> String {
    let mut page = Page { text: String::new(), width: width.clamp(60, 160), color };
    page.verdict(report);
    page.tasks(report);
    page.channels(report);
    page.chains(report);
    page.resources(report);
    page.conduct(report);
    page.probes(report);
    page.text
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    fn paint(&self, style: &str, text: &str) -> String {
        if self.color { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn heading(&mut self, name: &str, note: &str) {
        let line = format!("{}  {}", self.paint(BOLD, name), self.paint(DIM, note));
        self.line("");
        self.line(&line);
    }

    /// Lines of at most the width, the first after `mark`, the others indented under it.
    fn item(&mut self, style: &str, mark: &str, text: &str) {
        let room = self.width.saturating_sub(3).max(20);
        let mut line = String::new();
        let mut first = true;
        for piece in text.split(' ').chain(["\n"]) {
            if piece == "\n" || line.chars().count() + piece.chars().count() + 1 > room {
                let mark = if first { self.paint(style, mark) } else { " ".to_owned() };
                let whole = format!("{mark} {line}");
                self.line(&whole);
                first = false;
                line.clear();
                line.push_str(piece);
            } else {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(piece);
            }
        }
    }

    fn verdict(&mut self, report: &Report) {
        let seconds = span(report.judged());
        let since = match report.since {
            0 => String::new(),
            since => format!(" from {} on", span(since)),
        };
        let jobs: u64 = report.tasks.iter().map(|task| task.completions).sum();
        let (style, mark, claim) = match &report.verdict {
            Verdict::Kept => (GREEN, "✔ kept", format!("every bound held{since}")),
            Verdict::KeptButMachine(late) => (
                YELLOW,
                "✔ kept, but for the machine",
                format!("{late} late{since}{}, each explained by a stall", beyond_deadline(report)),
            ),
            Verdict::Broken(breaches) => {
                (RED, "✘ broken", plural(breaches.len() as u64, "breach", "breaches"))
            }
        };
        let mark = self.paint(&format!("{BOLD};{style}"), mark);
        let app = self.paint(BOLD, &report.plan.app);
        self.line(&format!("{mark}  {app}"));
        self.line(&format!("  {claim}; {} in {seconds}", plural(jobs, "job", "jobs")));
        if let Verdict::Broken(breaches) = &report.verdict {
            for breach in breaches.iter().take(BREACHES_TOLD) {
                self.item(RED, "✘", &breach_text(breach));
            }
            if let Some(more) = breaches.len().checked_sub(BREACHES_TOLD).filter(|more| *more > 0) {
                self.item(RED, "✘", &format!("and {more} more, in report.json"));
            }
        }
        if let Ending::Signal(signal) = report.ending {
            self.item(DIM, "·", &format!("ended by signal {signal}, orderly"));
        }
        if let Some(basis) = report.plan.basis().filter(|basis| basis.guesses > 0) {
            let lines = basis.lines();
            self.item(
                DIM,
                "·",
                &format!("the bounds rest on guesses: {}", lines[..lines.len() - 1].join("; ")),
            );
        }
        if let Some(took_ns) = report.rested_ns {
            self.item(DIM, "·", &format!("outputs were brought to rest in {}", span(took_ns)));
        }
        for warning in &report.warnings {
            self.item(YELLOW, "!", &warning_text(warning));
        }
    }

    fn tasks(&mut self, report: &Report) {
        let mut table = Table::new(
            vec![
                word("task", 0),
                number("cpu", 7),
                number("prio", 8),
                number("jobs", 2),
                number("skipped", 6),
                number("late", 1),
                number("p50", 3),
                number("p99", 3),
                number("p99.9", 5),
                number("max", 0),
                number("bound", 0),
                number("deadline", 4),
                number("jitter p99", 9),
                number("cpu max", 10),
                number("wcet", 10),
            ],
            "max / bound",
            26,
        );
        let mut tails = Vec::new();
        for task in &report.tasks {
            let Some(cpu) = task.cpu else { continue };
            let of = |spread: Option<Spread>, get: fn(Spread) -> u64| micros(spread.map(get));
            table.row(vec![
                task.name.clone(),
                cpu.to_string(),
                task.priority.map(|p| p.to_string()).unwrap_or_default(),
                task.completions.to_string(),
                task.skipped.to_string(),
                (task.late_ours + task.late_outside + task.late_machine + task.late_not_judged).to_string(),
                of(task.response, |s| s.p50_ns),
                of(task.response, |s| s.p99_ns),
                of(task.response, |s| s.p999_ns),
                of(task.response, |s| s.max_ns),
                micros(task.bound_ns),
                micros(task.deadline_ns),
                of(task.jitter, |s| s.p99_ns),
                of(task.execution, |s| s.max_ns),
                micros(task.wcet_ns),
            ]);
            let limit = task.bound_ns.or(task.deadline_ns);
            let max = task.response.map(|s| s.max_ns);
            let (machine, ours, not_judged) = (task.late_machine, task.late_ours, task.late_not_judged);
            tails.push(Tail { max, limit, machine, ours, outside: task.late_outside, not_judged, paused: 0 });
        }
        self.heading("tasks", "response time from release to completion, in µs");
        self.bars(&table, &tails);
        for task in report.tasks.iter().filter(|task| task.exhausted > 0) {
            let jobs = if task.exhausted == 1 { "job" } else { "jobs" };
            self.item(YELLOW, "!", &format!("{}: {} {jobs} used up the budget", task.name, task.exhausted));
        }
    }

    fn bars(&mut self, table: &Table, tails: &[Tail]) {
        let (head, rows) = table.lines(self.width);
        let head = self.paint(DIM, &head);
        self.line(&head);
        let longest = tails.iter().map(|tail| tail.note().chars().count()).max().unwrap_or(0);
        for ((line, left), tail) in rows.iter().zip(tails) {
            // " 100%" and the notes are to the right of the bars, which have the same length.
            let room = left.saturating_sub(6 + longest).min(24);
            let bar = self.bar(tail, room);
            self.line(&format!("{line}{bar}"));
        }
    }

    /// `max / limit` as a bar and in percent, rounded up, with whose fault an excess was.
    fn bar(&self, tail: &Tail, room: usize) -> String {
        let (Some(max), Some(limit)) = (tail.max, tail.limit) else { return self.paint(DIM, "-") };
        let percent = u128::from(max).saturating_mul(100).div_ceil(u128::from(limit.max(1)));
        let style = match (tail.ours + tail.outside, tail.machine) {
            (0, 0) => GREEN,
            (0, _) => YELLOW,
            _ => RED,
        };
        let full = usize::try_from(percent).unwrap_or(usize::MAX).min(100) * room / 100;
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(room - full));
        let note = self.paint(style, &tail.note());
        format!("{} {percent:>4}%{note}", self.paint(style, &bar))
    }

    fn channels(&mut self, report: &Report) {
        if report.channels.is_empty() {
            return;
        }
        let mut table = Table::new(
            vec![
                word("channel", 0),
                word("from → to", 4),
                word("mechanism", 3),
                number("slots", 5),
                number("sent", 2),
                number("received", 6),
                number("dropped", 0),
                number("p50", 7),
                number("p99", 1),
                number("max", 0),
                number("bound", 0),
            ],
            "max / bound",
            26,
        );
        let mut tails = Vec::new();
        for channel in &report.channels {
            let of = |get: fn(Spread) -> u64| micros(channel.latency.map(get));
            table.row(vec![
                channel.name.clone(),
                format!("{} → {}", channel.writer, channel.readers.join(", ")),
                channel.mechanism.to_owned(),
                channel.capacity.to_string(),
                channel.sent.to_string(),
                channel.received.to_string(),
                channel.dropped.to_string(),
                of(|s| s.p50_ns),
                of(|s| s.p99_ns),
                of(|s| s.max_ns),
                micros(channel.bound_ns),
            ]);
            let max = channel.latency.map(|s| s.max_ns);
            let (limit, machine, ours) = (channel.bound_ns, channel.late_machine, channel.late_ours);
            let (not_judged, paused) = (channel.late_not_judged, channel.late_paused);
            tails.push(Tail { max, limit, machine, ours, outside: 0, not_judged, paused });
        }
        self.heading("channels", "latency from send to receive, in µs");
        self.bars(&table, &tails);
    }

    fn chains(&mut self, report: &Report) {
        if report.chains.is_empty() {
            return;
        }
        let columns =
            vec![word("chain", 0), number("ends", 2), number("p50", 3), number("p99", 3), number("max", 0)];
        let more = [number("bound", 0), number("limit", 4)];
        let mut table = Table::new(columns.into_iter().chain(more).collect(), "max / bound", 26);
        let mut tails = Vec::new();
        for chain in &report.chains {
            let of = |get: fn(Spread) -> u64| micros(chain.age.map(get));
            table.row(vec![
                chain.name.clone(),
                chain.age.map_or(0, |age| age.count).to_string(),
                of(|s| s.p50_ns),
                of(|s| s.p99_ns),
                of(|s| s.max_ns),
                micros(chain.bound_ns),
                micros(Some(chain.limit_ns)),
            ]);
            let limit = chain.bound_ns.or(Some(chain.limit_ns));
            let max = chain.age.map(|s| s.max_ns);
            let (machine, ours, not_judged) = (chain.late_machine, chain.late_ours, chain.late_not_judged);
            let paused = chain.late_paused;
            tails.push(Tail { max, limit, machine, ours, outside: 0, not_judged, paused });
        }
        self.heading("chains", "age of the data at the end, in µs");
        self.bars(&table, &tails);
        self.reactions(report);
    }

    fn reactions(&mut self, report: &Report) {
        let columns =
            vec![word("chain", 0), number("ends", 2), number("p50", 3), number("p99", 3), number("max", 0)];
        let more = [number("bound", 0), number("limit", 4)];
        let mut table = Table::new(columns.into_iter().chain(more).collect(), "max / bound", 26);
        let mut tails = Vec::new();
        for (chain, reaction) in
            report.chains.iter().filter_map(|chain| Some((chain, chain.reaction.as_ref()?)))
        {
            let of = |get: fn(Spread) -> u64| micros(reaction.seen.map(get));
            table.row(vec![
                chain.name.clone(),
                reaction.seen.map_or(0, |seen| seen.count).to_string(),
                of(|s| s.p50_ns),
                of(|s| s.p99_ns),
                of(|s| s.max_ns),
                micros(reaction.bound_ns),
                micros(Some(reaction.limit_ns)),
            ]);
            let limit = reaction.bound_ns.or(Some(reaction.limit_ns));
            let (machine, ours) = (reaction.late_machine, reaction.late_ours);
            let (max, not_judged) = (reaction.seen.map(|s| s.max_ns), reaction.late_not_judged);
            tails.push(Tail { max, limit, machine, ours, outside: 0, not_judged, paused: 0 });
        }
        if !tails.is_empty() {
            self.heading("reactions", "from an event to the first end that shows it, in µs");
            self.bars(&table, &tails);
        }
    }

    fn resources(&mut self, report: &Report) {
        if report.resources.is_empty() {
            return;
        }
        self.heading("locks", "from asking for a resource to having it, in µs");
        let columns = vec![
            word("resource", 0),
            word("protocol", 3),
            number("locks", 2),
            number("waited", 0),
            number("p99", 1),
            number("max", 0),
            number("held max", 0),
        ];
        let mut table = Table::new(columns, "", 0);
        for resource in &report.resources {
            table.row(vec![
                resource.name.clone(),
                resource.protocol.to_owned(),
                resource.wait.map_or(0, |wait| wait.count).to_string(),
                resource.waited.to_string(),
                micros(resource.wait.map(|wait| wait.p99_ns)),
                micros(resource.wait.map(|wait| wait.max_ns)),
                micros(resource.held.map(|held| held.max_ns)),
            ]);
        }
        self.plain(&table);
    }

    fn plain(&mut self, table: &Table) {
        let (head, rows) = table.lines(self.width);
        let head = self.paint(DIM, &head);
        self.line(&head);
        for (row, _) in rows {
            self.line(&row);
        }
    }

    fn conduct(&mut self, report: &Report) {
        self.heading("real-time threads", "after release 0");
        let mut table = Table::new(
            vec![
                word("task", 0),
                number("heap use", 0),
                number("page faults", 0),
                number("blocked", 0),
                number("preempted", 1),
            ],
            "",
            0,
        );
        for task in report.tasks.iter().filter(|task| task.cpu.is_some()) {
            let of = |get: fn(crate::Counts) -> Option<u64>| {
                task.counts.and_then(get).map_or("-".to_owned(), |count| count.to_string())
            };
            table.row(vec![
                task.name.clone(),
                of(|c| c.heap_use),
                of(|c| c.faults()),
                of(|c| c.blocked),
                of(|c| c.preempted),
            ]);
        }
        self.plain(&table);
        for core in &report.cores {
            let CoreFigures { cpu, minor_faults, major_faults } = *core;
            let name = self.paint(BOLD, &format!("cpu {cpu}, dispatched"));
            let faults = minor_faults.saturating_add(major_faults);
            let faults = plural(faults, "page fault", "page faults");
            self.line(&format!("{name}  {faults} of all its tasks' jobs together"));
        }
    }

    fn probes(&mut self, report: &Report) {
        self.line("");
        if report.probes.is_empty() && report.tasks.iter().any(|task| task.deadline_ns.is_some()) {
            self.line("machine  not watched: without priorities nothing can tell its stalls from ours");
        }
        for probe in &report.probes {
            let found = match probe.stalls {
                0 => "never late: a late job here would be ours".to_owned(),
                stalls => format!(
                    "{} above 100 µs, {} in all, the longest {}",
                    plural(stalls, "stall", "stalls"),
                    span(probe.total_ns),
                    span(probe.max_ns)
                ),
            };
            let name = self.paint(BOLD, &format!("machine, cpu {}", probe.cpu));
            self.line(&format!("{name}  {found}"));
        }
    }
}

/// How many late jobs also missed a deadline, if all late jobs were judged.
fn beyond_deadline(report: &Report) -> String {
    let missed: u64 = report.tasks.iter().map(|task| task.missed).sum();
    let all_judged = report.tasks.iter().all(|task| task.late_not_judged == 0);
    match missed {
        1.. if all_judged => format!(", {missed} beyond a deadline"),
        _ => String::new(),
    }
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Where a job stood.
fn stood(in_call: Option<bool>, offset: Option<u64>, resource: Option<&str>, held: bool) -> String {
    let mut text = match in_call {
        Some(true) => "stood in a call of the kernel",
        Some(false) => "stood computing",
        None => "stood nobody knows where",
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
            let took = if *unfinished { "was not done after" } else { "took" };
            let over = if *missed { "missed its deadline" } else { "is beyond its bound" };
            let why = match cause {
                Cause::Wcet { of, wcet_ns, used_ns } => {
                    format!(
                        "the WCET of `{of}` is too small: {} used, {} planned",
                        span(*used_ns),
                        span(*wcet_ns)
                    )
                }
                Cause::Release { late_ns, planned_ns } => format!(
                    "it started {} after its core was free for it, where platform.overheads.release allows {}",
                    span(*late_ns),
                    span(*planned_ns)
                ),
                Cause::ForeignThread { thread, tid, ran_ns } => format!(
                    "a real-time thread of somebody else, `{thread}` ({tid}), had the core for {} there",
                    span(*ran_ns)
                ),
                Cause::Stopped => "the application was stopped from outside".to_owned(),
                Cause::Traced { pid } => format!("process {pid} traced the application"),
                Cause::NotProven => "the plan does not prove a bound for it".to_owned(),
                Cause::Unfinished { began_ns, ran_ns, wcet_ns, stood: place } => {
                    let Place { in_call, offset, resource, held } = place.clone().unwrap_or_default();
                    match began_ns {
                        Some(began_ns) => format!(
                            "it had not ended: it began {} after its release, ran for {} at most, {} planned, and {}",
                            span(*began_ns),
                            span(*ran_ns),
                            span(*wcet_ns),
                            stood(in_call, offset, resource.as_deref(), held)
                        ),
                        None => "it had not begun when the records end".to_owned(),
                    }
                }
                Cause::Unknown => {
                    "no WCET was exceeded: an overhead or a blocking is larger than planned".to_owned()
                }
            };
            let stolen = match stolen_ns {
                0 => "no stall there".to_owned(),
                stolen => format!("stalls explain {} at most", span(*stolen)),
            };
            format!(
                "`{task}` job {job} at {} {over}: it {took} {}, bound {}; {why}; {stolen}",
                span(*at_ns),
                span(*response_ns),
                span(*limit_ns)
            )
        }
        Breach::Latency { channel, at_ns, latency_ns, limit_ns } => format!(
            "a value in `{channel}` waited {} until {}, bound {}; no stall explains it",
            span(*latency_ns),
            span(*at_ns),
            span(*limit_ns)
        ),
        Breach::Age { chain, at_ns, age_ns, limit_ns } => format!(
            "the data at the end of `{chain}` at {} were {} old, bound {}; no stall explains it",
            span(*at_ns),
            span(*age_ns),
            span(*limit_ns)
        ),
        Breach::Reaction { chain, at_ns, reaction_ns, limit_ns } => format!(
            "`{chain}` showed at {} what can have happened {} before, bound {}; no stall explains it",
            span(*at_ns),
            span(*reaction_ns),
            span(*limit_ns)
        ),
        Breach::Drop { channel, at_ns, dropped } => format!(
            "`{channel}` lost {} at {}, though its capacity was proven",
            plural(*dropped, "value", "values"),
            span(*at_ns)
        ),
        Breach::ReleasesDropped { task, releases, at_ns } => format!(
            "{} of `{task}` dropped from {} on, as more waited than fall due in a stall of 10 s",
            plural(*releases, "release", "releases"),
            span(*at_ns)
        ),
        Breach::Lost { task, records } => format!(
            "{} of `{task}` lost: what is not recorded cannot be shown to be kept",
            plural(*records, "record", "records")
        ),
        Breach::LostOnCore { cpu, records } => format!(
            "{} of CPU {cpu} lost: what is not recorded cannot be shown to be kept",
            plural(*records, "record", "records")
        ),
        Breach::Slept { task, times } => format!(
            "`{task}` slept {} while it held a resource: others of its core may have run meanwhile, against the rule",
            plural(*times, "time", "times")
        ),
        Breach::Moved { task, thread, cpu, policy, priority, unpinned, at_ns } => {
            let thread = thread.as_deref().unwrap_or("thread");
            let who =
                task.as_ref().map_or_else(|| format!("{thread} of CPU {cpu}"), |task| format!("`{task}`"));
            let pinned = if *unpinned { format!(", not on CPU {cpu} alone") } else { String::new() };
            let policy = policy_text(*policy, *priority);
            if thread == MAIN {
                return format!(
                    "the main thread was moved from outside: to CPU {cpu}, where only tasks belong, seen at {}",
                    span(*at_ns)
                );
            }
            format!("{who} was moved from outside: {policy}{pinned}, seen at {}", span(*at_ns))
        }
        Breach::Stopped { at_ns, lasted_ns } => format!(
            "the application was stopped from outside at {}, for {}, and went on (SIGSTOP, SIGCONT): no job is to blame",
            span(*at_ns),
            span(*lasted_ns)
        ),
        Breach::Traced { pid, at_ns, lasted_ns } => format!(
            "process {pid} traced the application (a debugger, strace) from {} on at the earliest, until {}: no job is to blame",
            span(*at_ns),
            span(at_ns.saturating_add(*lasted_ns))
        ),
        Breach::ForeignThread { thread, tid, policy, priority, cpu, ran_ns, at_ns, jobs } => format!(
            "foreign real-time thread `{thread}` ({tid}), {}, on CPU {cpu}: {} of it from {} on, and {} by that",
            policy_text(*policy, *priority),
            span(*ran_ns),
            span(*at_ns),
            plural(*jobs, "late job", "late jobs")
        ),
        Breach::Damaged { byte, bytes, cut } => {
            let what = if *cut { "is cut" } else { "is damaged" };
            format!("the recording {what} at byte {byte}: the {bytes} from there on are not judged")
        }
        Breach::Unwritten { records, os_error } => {
            let why = match os_error {
                27 => "the file may not grow (EFBIG)".to_owned(),
                28 => "the disk was full (ENOSPC)".to_owned(),
                122 => "the quota was used up (EDQUOT)".to_owned(),
                error => format!("error {error} of the system"),
            };
            format!(
                "{} could not be written: {why}; what they tell is not judged",
                plural(*records, "record", "records")
            )
        }
        Breach::Faulty { task, jobs } => format!(
            "{} of `{task}` not shown: records of them are missing, or contradict each other",
            plural(*jobs, "job", "jobs")
        ),
        Breach::Silent { task, at_ns } => {
            format!("`{task}` was not released from {} on, while others were", span(*at_ns))
        }
        Breach::Unknown { records } => format!(
            "{} of kinds that this version does not know, or of tasks that the plan does not have",
            plural(*records, "record", "records")
        ),
        Breach::Ended { ending } => ended_text(ending),
        Breach::Stood { task, job, in_call, offset, resource, held } => {
            format!("there `{task}`, job {job}, {}", stood(*in_call, *offset, resource.as_deref(), *held))
        }
        Breach::NotAtRest { why, took_ns } => {
            let why = match why {
                Unrest::Panicked => "the safe state panicked".to_owned(),
                Unrest::Crashed { signal } => format!("signal {signal} in the safe state"),
                Unrest::Late => {
                    format!("the safe state did not return within its budget ({})", span(*took_ns))
                }
                Unrest::NotStarted => "the safe state did not get a processor".to_owned(),
                Unrest::Unknown => "this version does not know what became of the safe state".to_owned(),
            };
            format!("outputs may not be at rest: {why}")
        }
        Breach::Nothing => "no job of a real-time task completed: nothing was shown".to_owned(),
    }
}

/// A scheduling policy of Linux, by its number, with its priority.
fn policy_text(policy: u64, priority: u64) -> String {
    match policy {
        0 => "SCHED_OTHER".to_owned(),
        1 => format!("SCHED_FIFO {priority}"),
        2 => format!("SCHED_RR {priority}"),
        6 => "SCHED_DEADLINE".to_owned(),
        other => format!("policy {other}"),
    }
}

/// How a run ended, if it did not come to its own end.
fn ended_text(ending: &Ended) -> String {
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
            format!("the process ended by itself (exit code 0) before its run did: {unseen}")
        }
        Ended::Exited { code } => format!("the application did not end in order: exit code {code}"),
        Ended::Limit { task } => {
            format!(
                "a job of `{task}` did not end after its limit, so the application was ended where it stood"
            )
        }
        Ended::Jobs => {
            "jobs did not end when the application was asked to, so it was ended where it stood".to_owned()
        }
        Ended::Finish => {
            "what follows the last job took too long, so the application was ended where it stood".to_owned()
        }
        Ended::Start => "release 0 did not come in time".to_owned(),
        Ended::Again { signal } => {
            format!(
                "the application was ended where it stood by signal {signal}, which followed an earlier one"
            )
        }
        Ended::Left => "a thread called `exit`, so the application was ended where it stood".to_owned(),
        Ended::BestEffort { task } => {
            format!("the best-effort task `{task}` did not return, and the application ended without it")
        }
        Ended::Unwritten => {
            format!(
                "the rest of the recording could not be written (a full disk, or a limit on the size of files): {unseen}"
            )
        }
        Ended::Unrecorded => {
            format!("the recording has no end, as that of an application that was killed: {unseen}")
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

pub(crate) fn warning_text(warning: &Warning) -> String {
    match warning {
        Warning::NotProven => "the plan does not prove every deadline and chain".to_owned(),
        Warning::Degraded { guarantee, why } => {
            format!("ran without the guarantee of {guarantee}, so the proof did not hold: {why}")
        }
        Warning::NoSwitchMark { why, look_ns } => {
            let cost = look_ns
                .map_or("was not measured".to_owned(), |ns| format!("was {} before release 0", span(ns)));
            format!(
                "nothing told threads that they were switched out ({why}): processor times were read at the beginning and the \
                 end of each job, whose cost, each time, {cost}; a sleep is counted, and not whether something was held"
            )
        }
        Warning::Wcet { task, wcet_ns, used_ns, jobs } => format!(
            "the WCET of `{task}` is too small: {} {} used up to {}, {} planned",
            jobs,
            if *jobs == 1 { "job" } else { "jobs" },
            span(*used_ns),
            span(*wcet_ns)
        ),
        Warning::Conduct { task, what, count } => {
            format!("`{task}` had {count} {what} after release 0; should be none")
        }
        Warning::RestHeap { times } => {
            format!(
                "what brings outputs to rest used the heap {}; it must not, as a job may stand in there",
                plural(*times, "time", "times")
            )
        }
        Warning::CoreFaults { cpu, count } => {
            let faults = plural(*count, "page fault", "page faults");
            format!(
                "the dispatched tasks of CPU {cpu} had {faults} after release 0, together; should be none"
            )
        }
        Warning::Stopped { task, times } => format!(
            "`{task}` stood still {} while it held a resource, and so did the machine, or all was stopped from outside: \
             whether it slept cannot be told",
            plural(*times, "time", "times")
        ),
        Warning::ForeignThread { thread, tid, policy, priority, cpu, ran_ns } => format!(
            "foreign real-time thread `{thread}` ({tid}), {}, had {} of CPU {cpu}; no job was late by it",
            policy_text(*policy, *priority),
            span(*ran_ns)
        ),
        Warning::Failed { task, jobs } => {
            format!("{} of `{task}` returned an error", plural(*jobs, "job", "jobs"))
        }
        Warning::ScopeExceeded { task, times } => {
            format!(
                "`{task}` asked its release scope for more than it has, {}",
                plural(*times, "time", "times")
            )
        }
        Warning::Dropped { channel, values } => {
            format!("`{channel}` lost {}", plural(*values, "value", "values"))
        }
        Warning::Lost { task, records } => {
            format!("{} of `{task}` lost", plural(*records, "record", "records"))
        }
        Warning::Since { at_ns, records } => format!(
            "judged from {} on: {} before that made room for newer ones, as the recording has a limit",
            span(*at_ns),
            plural(*records, "record", "records")
        ),
        Warning::NotJudged { findings } => format!(
            "{} not judged: what led to {} began before the recording does",
            plural(*findings, "finding", "findings"),
            if *findings == 1 { "it" } else { "them" }
        ),
        Warning::Paused { findings } => format!(
            "{} late or lost as a service on the way was paused or stopped: not held against a bound",
            plural(*findings, "value", "values")
        ),
    }
}
