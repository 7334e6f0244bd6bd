// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A trace for Perfetto. Each task has a track of jobs, from release to completion, with bound and deadline as
//! arguments, a track of its deadlines, and a counter of response times. The track of its thread shows the resources
//! that it holds and waits for, changes of its level, exhausted budgets, and values as flows from sender to receiver.
//! Each resource has a track with its holders and its ceilings. Each CPU has the switches, so that its track shows
//! which task ran. Stalls of the machine and the response in focus have tracks of their own, and so have the notable
//! events of the run, and of each channel, chain, server, service and core.
//!
//! The viewer's demands: a flow needs at least two events; a thread that completed leaves its CPU asleep (1) and a
//! preempted one runnable (0); the slices of a track nest, so the slice of a job that waited for its predecessor begins
//! where the predecessor's ends (the job's release is an argument). Field numbers are those of `perfetto_trace.proto`.

use taut_time::Duration;

use crate::notes::Note;
use crate::protobuf::Message;
use crate::tracks::{InstantEvent, Task, Track, Tracks, What};

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
const EXPLICIT_ORDER: u64 = 3;

struct Trace {
    bytes: Vec<u8>,
}

/// The tracks of a task's thread, of its jobs, deadlines and response times, of a core's stalls, and of a resource.
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
fn deadlines_track(task: usize) -> u64 {
    400_000 + task as u64
}
fn resource_track(resource: usize) -> u64 {
    500_000 + resource as u64
}
/// The track of notable events of a subject that is neither a task nor a resource.
fn other_track(other: usize) -> u64 {
    600_000 + other as u64
}
/// The track of the response in focus.
const MARK: u64 = 2;
/// The track of the report's verdict.
const VERDICT: u64 = 3;

fn tid(task: usize) -> u64 {
    PID + 1 + task as u64
}

pub(crate) fn write(tracks: &Tracks) -> Vec<u8> {
    let mut trace = Trace { bytes: Vec::new() };
    trace.tracks(tracks);
    for (at, task) in tracks.tasks.iter().enumerate() {
        trace.jobs(at, task, tracks.end);
        trace.sections(at, task);
        trace.notes(thread_track(at), &task.notes);
    }
    trace.resources(tracks);
    trace.stalls(&tracks.stalls);
    trace.values(tracks);
    if let Some(mark) = &tracks.mark {
        trace.mark(&tracks.tasks[mark.task].name, mark);
    }
    for (at, (_, notes)) in tracks.others.iter().enumerate() {
        trace.notes(other_track(at), notes);
    }
    trace.notes(VERDICT, &tracks.verdict);
    for track in &tracks.cpu_tracks {
        trace.track(&tracks.tasks, track);
    }
    trace.bytes
}

fn begin(track: u64, category: &str, name: &str) -> Message {
    Message::new().uint(9, SLICE_BEGIN).uint(11, track).text(22, category).text(23, name)
}
fn end(track: u64) -> Message {
    Message::new().uint(9, SLICE_END).uint(11, track)
}
fn instant(track: u64, category: &str, name: &str) -> Message {
    Message::new().uint(9, INSTANT).uint(11, track).text(22, category).text(23, name)
}
fn number(event: Message, name: &str, value: u64) -> Message {
    event.message(4, &Message::new().text(10, name).uint(3, value))
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

    fn tracks(&mut self, tracks: &Tracks) {
        let process = Message::new().uint(1, PID).text(6, &tracks.app);
        let track = Message::new().uint(1, PROCESS).message(3, &process).uint(11, EXPLICIT_ORDER);
        self.packet(Message::new().message(60, &track));
        // In this order, for viewers that follow it: related tracks are adjacent. Other viewers sort by name.
        let mut rank = 0;
        let mut under = |uuid, name: &str| {
            rank += 1;
            Message::new().uint(1, uuid).text(2, name).uint(5, PROCESS).uint(12, rank)
        };
        if let Some(mark) = &tracks.mark {
            let name = format!("{}: {}", tracks.tasks[mark.task].name, mark.title);
            self.packet(Message::new().message(60, &under(MARK, &name)));
        }
        if !tracks.verdict.is_empty() {
            self.packet(Message::new().message(60, &under(VERDICT, "verdict")));
        }
        for (at, task) in tracks.tasks.iter().enumerate() {
            let name = &task.name;
            let thread = Message::new().uint(1, PID).uint(2, tid(at)).text(5, name);
            let track = Message::new().uint(1, thread_track(at)).uint(5, PROCESS).message(4, &thread);
            self.packet(Message::new().message(60, &track));
            if task.jobs.is_empty() && task.open.is_empty() && task.dropped.is_empty() {
                continue;
            }
            let jobs = under(jobs_track(at), &format!("{name}: jobs"));
            self.packet(Message::new().message(60, &jobs));
            if task.deadline.is_some() {
                let deadlines = under(deadlines_track(at), &format!("{name}: deadlines"));
                self.packet(Message::new().message(60, &deadlines));
            }
            let counter = Message::new().uint(3, UNIT_TIME_NS);
            let response = under(response_track(at), &format!("{name}: response time")).message(8, &counter);
            self.packet(Message::new().message(60, &response));
        }
        let held =
            tracks.resources.iter().enumerate().filter(|(_, of)| !of.held.is_empty() || !of.notes.is_empty());
        for (at, resource) in held {
            let name = format!("{}: held by", resource.name);
            self.packet(Message::new().message(60, &under(resource_track(at), &name)));
        }
        for track in &tracks.cpu_tracks {
            let name = format!("machine stalls, cpu {}", track.cpu);
            self.packet(Message::new().message(60, &under(stall_track(track.cpu), &name)));
        }
        for (at, (name, _)) in tracks.others.iter().enumerate() {
            self.packet(Message::new().message(60, &under(other_track(at), name)));
        }
    }

    fn jobs(&mut self, at: usize, task: &Task, end_of_run: u64) {
        let mut free = 0;
        let (track, name) = (jobs_track(at), &task.name);
        for work in &task.jobs {
            let job = &work.job;
            let mut event = begin(track, "job", &format!("{name} {}", job.number));
            let numbers = [
                ("job", Some(job.number)),
                ("release_ns", Some(job.release)),
                ("response_ns", Some(job.response())),
                ("bound_ns", task.bound),
                ("deadline_ns", task.deadline),
                ("release_jitter_ns", Some(job.jitter())),
                ("execution_ns", Some(job.cpu)),
                ("delay_ns", work.delay),
            ];
            for (name, value) in numbers {
                let Some(value) = value else { continue };
                event = number(event, name, value);
            }
            if let Some(late) = work.late {
                event = event.message(4, &Message::new().text(10, "late").text(6, late));
            }
            let from = job.release.max(free).min(job.complete);
            self.event(from, &event);
            self.event(job.complete, &end(track));
            free = free.max(job.complete);
            let count = Message::new().uint(9, COUNTER).uint(11, response_track(at)).uint(30, job.response());
            self.event(job.complete, &count);
            self.deadline(at, task, (job.number, job.release), Some(job.complete), end_of_run);
        }
        for (job, release) in &task.open {
            let event = number(begin(track, "job", &format!("{name} {job} resumes")), "job", *job);
            self.event((*release).max(free), &number(event, "release_ns", *release));
            self.deadline(at, task, (*job, *release), None, end_of_run);
        }
        for (job, dropped) in &task.dropped {
            let event = instant(track, "job", &format!("{name} {job} dropped"));
            self.event(*dropped, &number(event, "job", *job));
        }
    }

    /// A deadline within the run; a later one would stretch the trace, and the run would look short.
    fn deadline(
        &mut self,
        at: usize,
        task: &Task,
        (job, release): (u64, u64),
        complete: Option<u64>,
        end_of_run: u64,
    ) {
        let due = task.deadline.and_then(|deadline| release.checked_add(deadline));
        let Some(due) = due.filter(|due| *due <= end_of_run) else { return };
        let missed = complete.is_some_and(|complete| complete > due);
        let name = format!("{} {job}{}", task.name, if missed { ": missed" } else { "" });
        let event = number(instant(deadlines_track(at), "deadline", &name), "job", job);
        self.event(due, &event);
    }

    fn sections(&mut self, at: usize, task: &Task) {
        let track = thread_track(at);
        for section in &task.sections {
            let event = section.begins.as_ref().map_or_else(|| end(track), |name| begin(track, "lock", name));
            self.event(section.at, &event);
        }
    }

    /// The notes of a task, a resource or another subject.
    fn notes(&mut self, track: u64, notes: &[Note]) {
        for note in notes {
            self.event(note.at, &number(instant(track, note.category, &note.text), note.what, note.value));
        }
    }

    /// The successive holders of each resource.
    fn resources(&mut self, tracks: &Tracks) {
        for (at, resource) in tracks.resources.iter().enumerate() {
            let track = resource_track(at);
            for held in &resource.held {
                let task = tracks.tasks.get(held.task).map_or("?", |task| &task.name);
                let event = begin(track, "lock", &format!("{task} {}", held.job));
                self.event(held.from, &number(event, "job", held.job));
                self.event(held.to, &end(track));
            }
            self.notes(track, &resource.notes);
        }
    }

    fn stalls(&mut self, stalls: &[(u16, u64, u64)]) {
        let mut free: std::collections::BTreeMap<u16, u64> = std::collections::BTreeMap::new();
        for &(cpu, at, lateness) in stalls {
            let free = free.entry(cpu).or_default();
            let from = at.saturating_sub(lateness).max(*free);
            *free = at.max(*free);
            let event = begin(stall_track(cpu), "machine", "stall");
            self.event(from, &number(event, "lateness_ns", lateness));
            self.event(at, &end(stall_track(cpu)));
        }
    }

    /// A value from its sender's thread to its receiver's, where both ends are known.
    fn values(&mut self, tracks: &Tracks) {
        for value in &tracks.values {
            let what = if value.sent { "send" } else { "receive" };
            let event = instant(thread_track(value.task), "channel", &format!("{what} {}", value.name));
            let mut event = number(event, "sequence", value.sequence);
            if value.joined {
                let flow = (value.channel as u64 + 1) << 48 | (value.sequence & ((1 << 48) - 1));
                event = event.fixed(47, flow);
            }
            self.event(value.at, &event);
        }
    }

    /// A response beside its bound: first the shorter of the two, then the rest of the longer one.
    fn mark(&mut self, task: &str, mark: &InstantEvent) {
        let Some((arrival, complete)) = mark.seen else { return };
        let response = complete.saturating_sub(arrival);
        let slices = match mark.bound {
            Some(bound) if bound < response => [
                Some((bound, format!("bound {}", Duration::from_ns(bound)))),
                Some((response, format!("exceeded by {}", Duration::from_ns(response - bound)))),
            ],
            Some(bound) => [
                Some((response, format!("response {}", Duration::from_ns(response)))),
                (bound > response)
                    .then(|| (bound, format!("left to the bound {}", Duration::from_ns(bound - response)))),
            ],
            None => [Some((response, format!("response {}", Duration::from_ns(response)))), None],
        };
        let mut from = arrival;
        for (until, name) in slices.into_iter().flatten() {
            let mut event = begin(MARK, "response", &name);
            event = number(number(event, "job", mark.job), "response_ns", response);
            if let Some(bound) = mark.bound {
                event = number(event, "bound_ns", bound);
            }
            self.event(from, &event);
            from = arrival.saturating_add(until);
            self.event(from, &end(MARK));
        }
        let name = format!("{task} {} is complete", mark.job);
        self.event(complete, &number(instant(MARK, "response", &name), "response_ns", response));
    }

    /// The wakes and switches of a CPU, as the kernel would report them.
    fn track(&mut self, tasks: &[Task], track: &Track) {
        // No thread of ours runs: the idle thread.
        let mut last = ("swapper", 0, 120);
        let who = |to: Option<usize>| match to {
            Some(at) => (tasks[at].name.as_str(), tid(at), kernel_priority(tasks[at].priority)),
            None => ("swapper", 0, 120),
        };
        for steps in track.steps.chunks(BUNDLE) {
            let mut bundle = Message::new().uint(1, u64::from(track.cpu));
            for step in steps {
                let event = match step.what {
                    What::Wakes(task) => {
                        let (name, tid, priority) = who(Some(task));
                        let thread = Message::new()
                            .text(1, name)
                            .uint(2, tid)
                            .uint(3, priority)
                            .uint(4, 1)
                            .uint(5, u64::from(track.cpu));
                        Message::new().uint(2, 0).message(20, &thread)
                    }
                    What::Switch { to, sleeps } => {
                        let event = switch(last, u64::from(sleeps), who(to));
                        last = who(to);
                        event
                    }
                };
                bundle = bundle.message(2, &event.uint(1, step.at));
            }
            self.packet(Message::new().message(1, &bundle));
        }
    }
}

/// A priority as the kernel counts it: 0 is most urgent.
fn kernel_priority(priority: u8) -> u64 {
    u64::from(99_u8.saturating_sub(priority))
}

fn switch(previous: (&str, u64, u64), state: u64, next: (&str, u64, u64)) -> Message {
    let switch = Message::new()
        .text(1, previous.0)
        .uint(2, previous.1)
        .uint(3, previous.2)
        .uint(4, state)
        .text(5, next.0)
        .uint(6, next.1)
        .uint(7, next.2);
    Message::new().uint(2, previous.1).message(4, &switch)
}

#[cfg(test)]
mod tests;
