// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A trace for Perfetto. Per task a track of jobs, from release to completion, with bound and deadline
//! as arguments, and a counter of response times; per CPU the switches, so that its lane shows who ran; values
//! as flows from sender to receiver; stalls of the machine on a track of their own.
//!
//! What its viewer demands: a flow stands on two events at least; a thread that completed leaves its CPU asleep
//! (1) and a preempted one runnable (0); slices of a track nest, so a job that waited for its predecessor
//! begins where that ended (its release is an argument). Field numbers are those of `perfetto_trace.proto`.

use std::collections::BTreeMap;

use taut_event::Kind;

use crate::jobs::Job;
use crate::protobuf::Message;
use crate::report::{Lateness, Report};
use crate::schedule::slices;

const SEQUENCE: u64 = 1;
const PROCESS: u64 = 1;
const PID: u64 = 1_000;
/// Switches per bundle.
const BUNDLE: usize = 512;

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
const UNIT_TIME_NS: u64 = 1;

struct Trace {
    bytes: Vec<u8>,
}

/// Track of a task's thread, of its jobs, of its response times, and of a core's stalls.
fn thread_track(task: usize) -> u64 {
    100 + task as u64
}
fn jobs_track(task: usize) -> u64 {
    100_000 + task as u64
}
fn response_track(task: usize) -> u64 {
    200_000 + task as u64
}
fn stall_track(cpu: u16) -> u64 {
    300_000 + u64::from(cpu)
}
fn tid(task: usize) -> u64 {
    PID + 1 + task as u64
}

pub(crate) fn write(report: &Report) -> Vec<u8> {
    let mut trace = Trace { bytes: Vec::new() };
    trace.tracks(report);
    for (task, jobs) in report.jobs.iter().enumerate() {
        trace.jobs(report, task, jobs);
    }
    trace.stalls(report);
    trace.flows(report);
    for core in &report.plan.cores {
        trace.switches(report, core.cpu);
    }
    trace.bytes
}

impl Trace {
    fn packet(&mut self, packet: Message) {
        let packet = packet.uint(10, SEQUENCE);
        let trace = Message::new().message(1, &packet);
        self.bytes.extend_from_slice(&trace.into_bytes());
    }

    fn event(&mut self, at: u64, event: &Message) {
        self.packet(Message::new().uint(8, at).message(11, event));
    }

    fn tracks(&mut self, report: &Report) {
        let process = Message::new().uint(1, PID).text(6, &report.plan.app);
        let track = Message::new().uint(1, PROCESS).message(3, &process);
        self.packet(Message::new().message(60, &track));
        for (task, figures) in report.tasks.iter().enumerate() {
            let name = &figures.name;
            let thread = Message::new().uint(1, PID).uint(2, tid(task)).text(5, name);
            let track = Message::new().uint(1, thread_track(task)).uint(5, PROCESS).message(4, &thread);
            self.packet(Message::new().message(60, &track));
            if report.jobs[task].is_empty() {
                continue;
            }
            let under = |uuid, name: &str| Message::new().uint(1, uuid).text(2, name).uint(5, PROCESS);
            let jobs = under(jobs_track(task), &format!("{name}: jobs"));
            self.packet(Message::new().message(60, &jobs));
            let counter = Message::new().uint(3, UNIT_TIME_NS);
            let response =
                under(response_track(task), &format!("{name}: response time")).message(8, &counter);
            self.packet(Message::new().message(60, &response));
        }
        for core in &report.plan.cores {
            let name = format!("machine stalls, cpu {}", core.cpu);
            let track = Message::new().uint(1, stall_track(core.cpu)).text(2, &name).uint(5, PROCESS);
            self.packet(Message::new().message(60, &track));
        }
    }

    fn jobs(&mut self, report: &Report, task: usize, jobs: &[(Job, Lateness)]) {
        let figures = &report.tasks[task];
        let mut free = 0;
        for (job, lateness) in jobs {
            let mut event = Message::new()
                .uint(9, SLICE_BEGIN)
                .uint(11, jobs_track(task))
                .text(22, "job")
                .text(23, &format!("{} {}", figures.name, job.number));
            let numbers = [
                ("job", Some(job.number)),
                ("release_ns", Some(job.release)),
                ("response_ns", Some(job.response())),
                ("bound_ns", figures.bound_ns),
                ("deadline_ns", figures.deadline_ns),
                ("release_jitter_ns", Some(job.jitter())),
                ("execution_ns", Some(job.cpu)),
            ];
            for (name, value) in numbers {
                let Some(value) = value else { continue };
                event = event.message(4, &Message::new().text(10, name).uint(3, value));
            }
            let late = match lateness {
                Lateness::InTime => None,
                Lateness::Machine => Some("the machine's"),
                Lateness::Ours => Some("ours"),
            };
            if let Some(late) = late {
                event = event.message(4, &Message::new().text(10, "late").text(6, late));
            }
            let from = job.release.max(free).min(job.complete);
            self.event(from, &event);
            let end = Message::new().uint(9, SLICE_END).uint(11, jobs_track(task));
            self.event(job.complete, &end);
            free = free.max(job.complete);
            let count =
                Message::new().uint(9, COUNTER).uint(11, response_track(task)).uint(30, job.response());
            self.event(job.complete, &count);
        }
    }

    fn stalls(&mut self, report: &Report) {
        let mut free: BTreeMap<u16, u64> = BTreeMap::new();
        for &(cpu, at, lateness) in &report.stalls {
            let free = free.entry(cpu).or_default();
            let from = at.saturating_sub(lateness).max(*free);
            *free = at.max(*free);
            let begin = Message::new()
                .uint(9, SLICE_BEGIN)
                .uint(11, stall_track(cpu))
                .text(22, "machine")
                .text(23, "stall")
                .message(4, &Message::new().text(10, "lateness_ns").uint(3, lateness));
            self.event(from, &begin);
            self.event(at, &Message::new().uint(9, SLICE_END).uint(11, stall_track(cpu)));
        }
    }

    /// A value from its sender's thread to its receiver's, where both ends are recorded.
    fn flows(&mut self, report: &Report) {
        let mut ends: BTreeMap<(u16, u64), [u64; 2]> = BTreeMap::new();
        let of = |record: &taut_event::Record| match record.kind {
            Kind::Send => (record.value, 0),
            _ => (record.job, 1),
        };
        for record in &report.values {
            let (sequence, end) = of(record);
            ends.entry((record.subject, sequence)).or_default()[end] += 1;
        }
        for record in &report.values {
            let (sequence, end) = of(record);
            let Some(channel) = report.plan.channels.get(usize::from(record.subject)) else { continue };
            let party =
                if end == 0 { Some(&channel.writer.name) } else { channel.readers.first().map(|r| &r.name) };
            let Some(task) = party.and_then(|name| report.plan.task(name)) else { continue };
            let what = if end == 0 { "send" } else { "receive" };
            let mut event = Message::new()
                .uint(9, INSTANT)
                .uint(11, thread_track(task))
                .text(22, "channel")
                .text(23, &format!("{what} {}", channel.name))
                .message(4, &Message::new().text(10, "sequence").uint(3, sequence));
            let both = ends.get(&(record.subject, sequence)).is_some_and(|ends| ends.iter().all(|n| *n > 0));
            if both {
                event = event.fixed(47, (u64::from(record.subject) + 1) << 48 | (sequence & ((1 << 48) - 1)));
            }
            self.event(record.at.as_ns(), &event);
        }
    }

    /// Who ran on a CPU, as the kernel would tell it.
    fn switches(&mut self, report: &Report, cpu: u16) {
        let mut jobs: Vec<(Job, u8)> = Vec::new();
        let on_cpu = report.jobs.iter().zip(&report.tasks).filter(|(_, figures)| figures.cpu == Some(cpu));
        for (found, figures) in on_cpu {
            let priority = figures.priority.unwrap_or(0);
            jobs.extend(found.iter().map(|(job, _)| (*job, priority)));
        }
        let mut events: Vec<(u64, u8, Message)> = Vec::new();
        for (job, priority) in &jobs {
            let thread = Message::new()
                .text(1, &report.tasks[job.task].name)
                .uint(2, tid(job.task))
                .uint(3, kernel_priority(*priority))
                .uint(4, 1)
                .uint(5, u64::from(cpu));
            events.push((job.release.min(job.start), 0, Message::new().uint(2, 0).message(20, &thread)));
        }
        let mut slices = slices(&jobs).into_iter().peekable();
        // Nobody of ours runs: the idle thread.
        let idle = ("swapper", 0, 120, 0);
        let mut last = idle;
        while let Some(slice) = slices.next() {
            let (job, priority) = jobs[slice.job];
            let who = (report.tasks[job.task].name.as_str(), tid(job.task), kernel_priority(priority));
            events.push((slice.from, 1, switch(last, who)));
            last = (who.0, who.1, who.2, u64::from(slice.completes));
            if slices.peek().is_none_or(|next| next.from > slice.to) {
                events.push((slice.to, 1, switch(last, (idle.0, idle.1, idle.2))));
                last = idle;
            }
        }
        events.sort_by_key(|(at, order, _)| (*at, *order));
        for chunk in events.chunks(BUNDLE) {
            let mut bundle = Message::new().uint(1, u64::from(cpu));
            for (at, _, event) in chunk {
                bundle = bundle.message(2, &event.clone().uint(1, *at));
            }
            self.packet(Message::new().message(1, &bundle));
        }
    }
}

/// As the kernel counts it: 0 is most urgent.
fn kernel_priority(priority: u8) -> u64 {
    u64::from(99_u8.saturating_sub(priority))
}

fn switch(previous: (&str, u64, u64, u64), next: (&str, u64, u64)) -> Message {
    let switch = Message::new()
        .text(1, previous.0)
        .uint(2, previous.1)
        .uint(3, previous.2)
        .uint(4, previous.3)
        .text(5, next.0)
        .uint(6, next.1)
        .uint(7, next.2);
    Message::new().uint(2, previous.1).message(4, &switch)
}

#[cfg(test)]
#[path = "../tests/recorded/mod.rs"]
mod recorded;

#[cfg(test)]
mod tests {
    use super::recorded::{MS, Script, plan, run};
    use super::*;
    use crate::protobuf::{Value, fields};

    fn uint(message: &[u8], field: u64) -> Option<u64> {
        fields(message).into_iter().find_map(|(number, value)| match value {
            Value::Uint(value) if number == field => Some(value),
            _ => None,
        })
    }

    fn messages(message: &[u8], field: u64) -> Vec<&[u8]> {
        let of_field = |(number, value)| match value {
            Value::Bytes(bytes) if number == field => Some(bytes),
            _ => None,
        };
        fields(message).into_iter().filter_map(of_field).collect()
    }

    fn report() -> Report {
        let script = Script { stalls: vec![(3_999 * MS + 900_000, 9 * MS)], ..Script::quiet() };
        Report::new(&plan(), &run(script))
    }

    #[test]
    fn slices_nest_and_flows_have_two_ends() {
        let report = report();
        let trace = report.perfetto();
        let mut tracks: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        let mut flows: BTreeMap<u64, u32> = BTreeMap::new();
        let (mut late, mut counters) = (0, 0);
        for packet in messages(&trace, 1) {
            assert_eq!(uint(packet, 10), Some(SEQUENCE));
            for event in messages(packet, 11) {
                let (kind, track) = (uint(event, 9).unwrap(), uint(event, 11).unwrap());
                counters += u32::from(kind == COUNTER);
                if kind == SLICE_BEGIN || kind == SLICE_END {
                    tracks.entry(track).or_default().push((uint(packet, 8).unwrap(), kind));
                }
                late +=
                    messages(event, 4).into_iter().filter(|a| messages(a, 10) == [b"late"]).count() as u64;
                for (_, value) in fields(event).into_iter().filter(|(number, _)| *number == 47) {
                    let Value::Fixed(flow) = value else { panic!("a flow is fixed64") };
                    *flows.entry(flow).or_default() += 1;
                }
            }
        }
        assert_eq!(counters, 3750);
        assert!(late > 0);
        assert_eq!(late, report.late_machine());
        assert_eq!(flows.len(), 3750);
        assert!(flows.values().all(|ends| *ends == 2));
        assert_eq!(tracks.len(), 4, "three tasks and the stalls");
        for events in tracks.values() {
            assert!(events.is_sorted_by_key(|event| event.0));
            let kinds = events.iter().map(|event| event.1);
            assert!(kinds.eq([SLICE_BEGIN, SLICE_END].into_iter().cycle().take(events.len())));
        }
    }

    #[test]
    fn switches_join_and_tell_completion_from_preemption() {
        let trace = report().perfetto();
        let (mut last, mut running) = (0, 0);
        let (mut completed, mut preempted, mut woken) = (0, 0, 0);
        for bundle in messages(&trace, 1).into_iter().flat_map(|packet| messages(packet, 1)) {
            assert_eq!(uint(bundle, 1), Some(0), "the cpu");
            for event in messages(bundle, 2) {
                let at = uint(event, 1).unwrap();
                assert!(at >= last);
                last = at;
                woken += messages(event, 20).len();
                for switch in messages(event, 4) {
                    assert_eq!(uint(switch, 2), Some(running), "who leaves is who ran");
                    match (running, uint(switch, 4)) {
                        (0, Some(0)) => {}
                        (_, Some(1)) => completed += 1,
                        (_, Some(0)) => preempted += 1,
                        (who, state) => panic!("{who} left in state {state:?}"),
                    }
                    running = uint(switch, 6).unwrap();
                }
            }
        }
        assert_eq!(running, 0, "idle at the end");
        assert_eq!((completed, preempted, woken), (3750, 1250, 3750));
    }
}
