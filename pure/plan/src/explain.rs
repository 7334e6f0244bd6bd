// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Breaks bounds down for people.

use std::fmt::Write;

use taut_time::Duration;

use crate::{Arrival, ChannelPlan, ClassPlan, DeviceClock, MessageOrder, Plan, StepPlan, TaskPlan, TermPlan};

/// Rows of (what, detail, time) in aligned columns, then a line, then the sum.
fn table(rows: &[[String; 3]], sum: &[String; 3]) -> String {
    let width =
        |column: usize| rows.iter().chain([sum]).map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (what, detail, time) = (width(0), width(1), width(2));
    let line = |row: &[String; 3]| format!("  {:what$}  {:detail$}  {:>time$}\n", row[0], row[1], row[2]);
    let mut text: String = rows.iter().map(line).collect();
    let _ = writeln!(text, "  {}", "-".repeat(what + detail + time + 4));
    text + &line(sum)
}

/// When jobs of a task come, in words.
fn arrives(arrival: &Arrival<String>) -> String {
    let listed = |triggers: &[String]| {
        let triggers: Vec<String> = triggers.iter().map(|trigger| format!("`{trigger}`")).collect();
        triggers.join(", ")
    };
    match arrival {
        Arrival::Periodic { period, .. } => format!("every {period}"),
        Arrival::Clocked(clock) => format!("every {} of clock `{}`", clock.period, clock.name),
        Arrival::Sporadic { min_gap, triggers, device } => {
            let device = device.iter().map(|device| format!("device `{device}`"));
            let by: Vec<String> =
                device.chain(triggers.iter().map(|trigger| format!("`{trigger}`"))).collect();
            format!("by {}, at most every {min_gap}", by.join(", "))
        }
        Arrival::Aperiodic { triggers } => format!("by {}, aperiodic", listed(triggers)),
    }
}

/// How the bound of a task is made up; `None` if there is no such task.
///
/// One row per term, in the order of the equation, and their sum: the bound, or, if none is proven, the demand until
/// the deadline, which is more than that deadline. Each row is rounded up by itself, so the rows can add up to a
/// little more than the shown sum; the plan has the exact times.
pub fn explain_task(plan: &Plan, name: &str) -> Option<String> {
    let task = &plan.tasks[plan.task(name)?];
    let ClassPlan::RealTime { cpu, priority, arrival, deadline, response, test, terms, .. } = &task.class
    else {
        return Some(best_effort(plan, name));
    };
    let (is_aperiodic, clock, arrival) = (arrival.is_aperiodic(), arrival.clock().cloned(), arrives(arrival));
    let place = match priority {
        0 => "EDF".to_owned(),
        priority => format!("priority {priority}"),
    };
    let mut text = format!("{name}: CPU {cpu}, {place}, {arrival}\n");
    text += &seen(plan, task, *cpu);
    text += &followed(clock.as_ref());
    let _ = match response {
        Some(response) if is_aperiodic => {
            let response = response.rounded();
            writeln!(
                text,
                "a job takes at most {response} from when a value waits and the last job is complete"
            )
        }
        Some(response) => {
            writeln!(text, "responds within {}, deadline {deadline}", response.rounded())
        }
        None => writeln!(text, "NOT PROVEN: deadline {deadline}"),
    };
    for mode in &plan.modes {
        let found = mode.bounds.iter().find(|bound| bound.task == name).map(|bound| bound.response);
        let _ = match found {
            Some(Some(response)) => writeln!(text, "in mode {}: within {}", mode.name, response.rounded()),
            Some(None) => writeln!(text, "in mode {}: NOT PROVEN", mode.name),
            None => writeln!(text, "in mode {}: does not run", mode.name),
        };
    }
    if terms.is_empty() {
        let _ = writeln!(text, "the test found no bound");
    } else {
        let sum = terms
            .iter()
            .fold(Duration::ZERO, |sum, term| sum.checked_add(term.time).unwrap_or(Duration::MAX));
        let (label, sum) = match response {
            Some(_) => ("bound", sum.rounded()),
            None => ("at least", sum.rounded_above(*deadline)),
        };
        let from = String::from("arrival to completion");
        text.push('\n');
        let rows: Vec<_> = terms.iter().map(row).collect();
        text += &table(&rows, &[label.into(), from, sum]);
    }
    let _ = writeln!(text, "\n{test}");
    if let Some(aperiodic) = plan.aperiodic().iter().find(|task| task.name == name) {
        let _ = write!(text, "\n{}", aperiodic.explained());
    }
    Some(text)
}

/// Who sees the device of a task, and what comes before the task's arrival, if a device thread does.
fn seen(plan: &Plan, task: &TaskPlan, cpu: u16) -> String {
    if !plan.is_watched(task) {
        return String::new();
    }
    let wakes = plan.overheads.iter().filter(|of| ["release", "kernel-blocking"].contains(&of.name.as_str()));
    let wakes = wakes.fold(Duration::ZERO, |sum, of| sum.checked_add(of.time).unwrap_or(Duration::MAX));
    format!(
        "seen by the device thread of CPU {cpu}; its wake, `release` and `kernel-blocking` ({}), comes before the arrival\n",
        wakes.rounded()
    )
}

/// What follows from the clock that a task follows.
fn followed(clock: Option<&DeviceClock>) -> String {
    clock.map_or_else(String::new, |clock| {
        format!(
            "releases are {} to {} apart, and within {} of a tick{} while the grid is locked\n",
            clock.min_gap(),
            clock.max_gap(),
            clock.phase_error(),
            if clock.offset.is_zero() { String::new() } else { format!(" and {}", clock.offset) },
        )
    })
}

fn best_effort(plan: &Plan, name: &str) -> String {
    let Some(server) = plan.server_of(name) else {
        return format!("{name} is best-effort: it has no deadline, and its response time has no bound\n");
    };
    let (cpu, priority) = (server.cpu, server.priority);
    let mut text = format!("{name}: in server `{}`, CPU {cpu}, priority {priority}\n", server.name);
    let _ = match server.response {
        Some(response) => {
            let (budget, period, response) = (server.budget, server.period, response.rounded());
            writeln!(
                text,
                "receives up to {budget} of processor time every {period}, all of it within {response} of the start of the period"
            )
        }
        None => writeln!(text, "NOT PROVEN: {} every {}", server.budget, server.period),
    };
    if let Some(served) = server.served {
        let _ = writeln!(
            text,
            "a request for {} completes within {} of being ready, if no other request is ahead of it",
            server.budget,
            served.rounded()
        );
    }
    text
}

fn row(term: &TermPlan) -> [String; 3] {
    let of = term.of.as_deref().unwrap_or("");
    let detail = match (of, term.count) {
        (of, Some(count)) if term.kind != "blocking" => format!("{of}, {count}x"),
        (of, _) => of.to_owned(),
    };
    [term.kind.clone(), detail, term.time.rounded()]
}

/// How the latency of a chain is made up, and its reaction if the manifest limits it; `None` if there is no such
/// chain.
pub fn explain_chain(plan: &Plan, name: &str) -> Option<String> {
    let chain = plan.chains.iter().find(|chain| chain.name == name)?;
    let allowed = chain.max_latency;
    let Some(latency) = chain.latency else {
        return Some(format!("{name}: NOT PROVEN, at most {allowed} allowed\n"));
    };
    let verdict = if latency <= chain.max_latency { "" } else { "NOT KEPT: " };
    let latency = latency.rounded();
    let mut text = format!(
        "{name}\n{verdict}data are at most {latency} old at the end of the chain, {allowed} allowed\n\n"
    );
    let cells = |step: &StepPlan| [step.name.clone(), step.adds.clone(), step.time.rounded()];
    let rows: Vec<_> = chain.path.iter().map(cells).collect();
    text += &table(&rows, &["bound".into(), "arrival to completion".into(), latency]);
    if let Some(limit) = chain.max_reaction {
        text += &match chain.reaction {
            Some(reaction) => {
                let verdict = if reaction <= limit { "" } else { "NOT KEPT: " };
                let reaction = reaction.rounded();
                let rows: Vec<_> = chain.reaction_path.iter().map(cells).collect();
                let sum = ["bound".into(), "event to completion".into(), reaction.clone()];
                format!(
                    "\n{verdict}an event takes effect within {reaction}, {limit} allowed\n\n{}",
                    table(&rows, &sum)
                )
            }
            None => format!("\nreaction NOT PROVEN, at most {limit} allowed\n"),
        };
    }
    Some(text)
}

/// What carries a channel, why, and where it lies; of a message, what bounds each sender; of a state with several sources,
/// what carries each. `None` if there is no such channel.
pub fn explain_channel(plan: &Plan, name: &str) -> Option<String> {
    let Some(at) = plan.channel(name) else {
        return explain_message(plan, name).or_else(|| explain_sources(plan, name));
    };
    let channel = &plan.channels[at];
    let readers: Vec<&str> = channel.readers.iter().map(|reader| reader.name.as_str()).collect();
    let mut text = format!("{name}: {} -> {}\n", channel.writer.name, readers.join(", "));
    let _ = writeln!(text, "{}: {}", channel.mechanism.paper_name(), channel.reason);
    for other in channel.choice.iter().flat_map(|choice| &choice.cheaper) {
        let bytes = other.bytes.map_or_else(String::new, |bytes| format!(" with {bytes} bytes"));
        let why = other.refused.as_deref().unwrap_or(
            "possible for this channel alone, but not together with the mechanisms of the other channels",
        );
        let _ = writeln!(text, "not {}{bytes}: {why}", other.mechanism.paper_name());
    }
    let _ = writeln!(text, "holds {}", holds(channel));
    let waiting = channel.readers.iter().filter(|reader| reader.event_count.is_some());
    let waiting: Vec<&str> = waiting.map(|reader| reader.name.as_str()).collect();
    if !waiting.is_empty() {
        let _ = writeln!(text, "each send wakes these readers if they sleep: {}", waiting.join(", "));
    }
    for reader in channel.readers.iter().filter(|reader| reader.client) {
        let (client, most) = (&reader.name, plan.max_attached(&reader.name));
        if most > 1 {
            let _ = writeln!(
                text,
                "up to {most} processes may read as {client}: the object and a send stay as they are"
            );
        }
    }
    if channel.history > 0 {
        let _ =
            writeln!(text, "an end that a client makes begins with the {} values before", channel.history);
    }
    for reader in channel.readers.iter().filter(|reader| reader.reservation.is_some()) {
        let _ = writeln!(
            text,
            "`{}` maps the blocks read-only, and writes a line in which it says which one it has",
            reader.name
        );
    }
    if channel.broadcast {
        text.push_str(&(plan.broadcast(channel).lines().join("\n") + "\n"));
    } else if let Some(latency) = channel.latency {
        let from = if channel.is_timed() { "its instant" } else { "being sent" };
        let _ = writeln!(text, "a value is received within {} of {from}", latency.rounded());
    }
    let region = channel.region;
    let _ = writeln!(
        text,
        "{} bytes at {} of the {} map",
        region.size,
        region.offset,
        match channel.place {
            crate::MemoryMap::Process => "process's",
            crate::MemoryMap::Segment => "segment's",
        }
    );
    Some(text)
}

/// The lanes of a message; `None` if there is no such message.
fn explain_message(plan: &Plan, name: &str) -> Option<String> {
    let message = plan.message(name)?;
    let mut text = message.lines().join("\n") + "\n";
    for sender in &message.senders {
        let why = sender.capacity_reason.unwrap_or("as the manifest states");
        let _ = writeln!(text, "\n{name}/{}: holds {}; {why}", sender.name, sender.capacity);
    }
    if message.answered {
        for sender in &message.senders {
            let Some((_, replies)) = plan.replies(name, sender.name) else { continue };
            let why = replies.capacity_reason.as_deref().unwrap_or_default();
            let _ = writeln!(text, "\n{}: holds {}; {why}", replies.name, replies.capacity);
        }
        text.push_str(
            "\nthe receiver answers each request that it takes, or the caller learns that it did not; a reply always finds room if \
             the caller keeps to its number of open requests\n",
        );
        return Some(text);
    }
    text.push_str(match message.order {
        MessageOrder::Sender | MessageOrder::Fifo | MessageOrder::Specified => {
            "\nhandled within: from a send to the end of the job that takes the value, by the busy window of its lane and \
             those in front, in gaps of the receiver\n"
        }
        MessageOrder::Instant => {
            "\nhandled within: from the instant, or the end of the call that set the alarm if that is later, to the end of \
             the job that takes it; at most all that the setters may have pending are in front, and each job of the \
             receiver takes its share of them, a gap apart\n"
        }
    });
    Some(text)
}

/// The sources of a state; `None` if there is no state of this name that has several.
fn explain_sources(plan: &Plan, name: &str) -> Option<String> {
    let state = plan.sourced_state(name)?;
    let mut text = state.lines().join("\n") + "\n";
    for source in &state.sources {
        let _ =
            writeln!(text, "\n{name}/{}: {}: {}", source.name, source.mechanism.paper_name(), source.reason);
    }
    text.push_str(
        "\na reader reads each source once, and gets the value that was written last; of one instant, that of the source \
         that is named first. What a source wrote last stays when it has ended\n",
    );
    Some(text)
}

fn holds(channel: &ChannelPlan) -> String {
    let value = format!("{} bytes each ({})", channel.size, channel.layout);
    if let Some(buffers) = channel.buffers {
        return format!("the latest, {value}, in {buffers} buffers");
    }
    match &channel.capacity_reason {
        Some(reason) => format!("{}, {value}; {reason}", channel.capacity),
        None => format!("{}, {value}", channel.capacity),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One section blocks a task: how many there are of that kind says nothing.
    #[test]
    fn how_often_is_said_but_of_blocking() {
        let cells = |kind: &str, of: Option<&str>, count| {
            let term =
                TermPlan { kind: kind.into(), of: of.map(str::to_owned), count, time: Duration::from_us(3) };
            row(&term)[1].clone()
        };
        assert_eq!(cells("interference", Some("a"), Some(2)), "a, 2x");
        assert_eq!(cells("interference", Some("a"), None), "a");
        assert_eq!(cells("blocking", Some("a"), Some(2)), "a");
        assert_eq!(cells("own", None, None), "");
    }
}
