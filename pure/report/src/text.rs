// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use taut_time::Size;
use taut_time::shown::{micros, time as span};

use crate::Ending;
use crate::figures::{CoreFigures, Distribution, SetUpFigures};
use crate::report::Report;
use crate::table::{Table, number, word};
use crate::verdict::{RunVerdict, Warning};
use crate::wording::{breach_text, plural, warning_text};

const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";
const BOLD: &str = "1";
const DIM: &str = "2";

/// The most breaches listed one by one; the rest is only counted.
const BREACHES_SHOWN: usize = 8;

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
    page.changes(report);
    page.clocks(report);
    page.resources(report);
    page.conduct(report);
    page.probes(report);
    page.text
}

/// The row of one reader of a broadcast, below that of the channel.
fn reader_row(reader: &crate::ReaderFigures) -> Vec<String> {
    let of = |get: fn(Distribution) -> u64| micros(reader.latency.map(get));
    vec![
        String::new(),
        format!("→ {}", reader.name),
        String::new(),
        String::new(),
        String::new(),
        reader.received.to_string(),
        reader.lost.to_string(),
        of(|s| s.p50_ns),
        of(|s| s.p99_ns),
        of(|s| s.max_ns),
        micros(reader.bound_ns),
    ]
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
            RunVerdict::Kept => (GREEN, "✔ kept", format!("every bound held{since}")),
            RunVerdict::KeptButMachine(late) => (
                YELLOW,
                "✔ kept, but for the machine",
                format!("{late} late{since}{}, each explained by a stall", beyond_deadline(report)),
            ),
            RunVerdict::Broken(breaches) => {
                (RED, "✘ broken", plural(breaches.len() as u64, "breach", "breaches"))
            }
        };
        let mark = self.paint(&format!("{BOLD};{style}"), mark);
        let app = self.paint(BOLD, &report.plan.app);
        self.line(&format!("{mark}  {app}"));
        self.line(&format!("  {claim}; {} in {seconds}", plural(jobs, "job", "jobs")));
        if let RunVerdict::Broken(breaches) = &report.verdict {
            for breach in breaches.iter().take(BREACHES_SHOWN) {
                self.item(RED, "✘", &breach_text(breach));
            }
            if let Some(more) = breaches.len().checked_sub(BREACHES_SHOWN).filter(|more| *more > 0) {
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
        if let Some(file) = report.values_file {
            let (messages, kib) =
                (plural(file.messages, "message", "messages"), file.bytes.div_ceil(1 << 10));
            let lost = if report.warnings.iter().any(|of| matches!(of, Warning::ValuesLost { .. })) {
                ""
            } else {
                ", none lost"
            };
            self.item(DIM, "·", &format!("values.mcap has {messages} in {kib} KiB{lost}"));
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
            let of = |spread: Option<Distribution>, get: fn(Distribution) -> u64| micros(spread.map(get));
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
            let of = |get: fn(Distribution) -> u64| micros(channel.latency.map(get));
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
            for reader in &channel.by_reader {
                table.row(reader_row(reader));
                let (max, limit) = (reader.latency.map(|s| s.max_ns), reader.bound_ns);
                let (machine, ours, not_judged, paused) = (0, 0, 0, 0);
                tails.push(Tail { max, limit, machine, ours, outside: 0, not_judged, paused });
            }
        }
        self.heading("channels", "latency from send to receive, in µs");
        self.bars(&table, &tails);
    }

    fn changes(&mut self, report: &Report) {
        if report.changes.is_empty() {
            return;
        }
        let columns = vec![word("change", 0), number("followed", 2), number("max", 3), number("bound", 4)];
        let mut table = Table::new(columns, "max / bound", 26);
        let mut tails = Vec::new();
        for change in &report.changes {
            table.row(vec![
                format!("{} -> {}", change.from, change.to),
                change.followed.to_string(),
                micros(Some(change.longest_ns)),
                micros(change.bound_ns),
            ]);
            tails.push(Tail {
                max: Some(change.longest_ns),
                limit: change.bound_ns,
                machine: change.late_machine,
                ours: change.late_ours,
                not_judged: change.late_not_judged,
                outside: 0,
                paused: 0,
            });
        }
        self.heading("changes of mode", "from the request until a task had followed, in µs");
        self.bars(&table, &tails);
    }

    fn clocks(&mut self, report: &Report) {
        if report.clocks.is_empty() {
            return;
        }
        let columns = vec![word("clock", 0), word("task", 2), word("locked since", 3), number("lost", 4)];
        let more = [number("broken", 4), number("error", 0), number("bound", 1)];
        let mut table = Table::new(columns.into_iter().chain(more).collect(), "error / bound", 26);
        let mut tails = Vec::new();
        for clock in &report.clocks {
            table.row(vec![
                clock.clock.clone(),
                clock.task.clone(),
                clock.locked_since_ns.map_or_else(|| "not".to_owned(), span),
                clock.lost.to_string(),
                clock.broken.to_string(),
                micros(clock.error_ns),
                micros(Some(clock.bound_ns)),
            ]);
            tails.push(Tail {
                max: clock.error_ns,
                limit: Some(clock.bound_ns),
                machine: 0,
                ours: 0,
                not_judged: 0,
                outside: 0,
                paused: 0,
            });
        }
        self.heading("clocks of devices", "how far a release can have been from its tick, in µs");
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
            let of = |get: fn(Distribution) -> u64| micros(chain.age.map(get));
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
            let of = |get: fn(Distribution) -> u64| micros(reaction.seen.map(get));
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
            self.heading("reactions", "from an event to the first output that reflects it, in µs");
            self.bars(&table, &tails);
        }
    }

    fn resources(&mut self, report: &Report) {
        if report.resources.is_empty() {
            return;
        }
        self.heading("locks", "from the request for a resource to its grant, in µs");
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
        self.heading("real-time threads", "after release 0; heap of the set-up before");
        let mut table = Table::new(
            vec![
                word("task", 0),
                number("heap use", 0),
                number("page faults", 0),
                number("blocked", 0),
                number("preempted", 1),
                number("set-up heap", 2),
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
                set_up_heap(task.set_up_heap),
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
        let counted: Vec<_> = report.tasks.iter().filter_map(|task| task.set_up_heap).collect();
        if !counted.is_empty() {
            let sum = counted.iter().fold(0u64, |sum, of| sum.saturating_add(of.in_use));
            let name = self.paint(BOLD, "set-up heap");
            let tasks = plural(counted.len() as u64, "task", "tasks, best-effort ones included");
            self.line(&format!("{name}  {} of {tasks}", Size::from_bytes(sum)));
        }
    }

    fn probes(&mut self, report: &Report) {
        self.line("");
        if report.probes.is_empty() && report.tasks.iter().any(|task| task.deadline_ns.is_some()) {
            self.line(
                "machine  not watched: without real-time priorities, its stalls look like the application's",
            );
        }
        for probe in &report.probes {
            let found = match probe.stalls {
                0 => "never late: no stall explains a late job here".to_owned(),
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

/// What a set-up left in use of the heap, and its bound; `-` if nothing counted it.
fn set_up_heap(found: Option<SetUpFigures>) -> String {
    let Some(SetUpFigures { in_use, bound, .. }) = found else { return "-".to_owned() };
    let in_use = Size::from_bytes(in_use);
    bound.map_or_else(|| in_use.to_string(), |bound| format!("{in_use} of {}", Size::from_bytes(bound)))
}
