// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Channels and chains: figures, and the coarser rule of blame at the end of [`crate::blame`].

use taut_plan::{ChainPlan, ChannelPlan, OverflowPolicy};
use taut_time::Duration;

use crate::ages::{self, History};
use crate::blame::Stalls;
use crate::figures::{
    ChainFigures, ChannelFigures, ReactionFigures, ReaderFigures, StepFigures, TaskFigures, Values,
};
use crate::judge::{Judge, PlannedTiming};
use crate::observations::OfReader;
use crate::verdict::{Breach, Warning};

/// A channel, and who sends and receives its values.
struct ChannelFlow<'p> {
    channel: &'p ChannelPlan,
    /// Names: the writer, then the readers.
    parties: Vec<&'p str>,
    /// The readers that are tasks, by position in the plan.
    readers: Vec<usize>,
}

impl Judge<'_> {
    fn planned(&self, task: &str) -> Option<&PlannedTiming> {
        self.planned.get(self.plan.task(task)?)?.as_ref()
    }

    /// Whether an excess is the machine's fault, for a value that reached its end at `at`, after `way` ns on its way.
    /// `tasks` are the tasks on its way, in order. The search for stalls begins at `since`, on the CPUs of these tasks and of
    /// all that send to them.
    fn excused(&self, tasks: &[&str], at: u64, (way, limit): (u64, u64), since: u64) -> bool {
        let planned: Vec<&PlannedTiming> = tasks.iter().filter_map(|task| self.planned(task)).collect();
        let senders = tasks.iter().filter_map(|task| self.plan.task(task));
        let senders = senders.flat_map(|task| self.backlogs.cpus(task)).copied();
        let mut cpus: Vec<u16> = planned.iter().map(|planned| planned.cpu).chain(senders).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let from = since.min(at.saturating_sub(way));
        let on = |cpu: &u16| self.stalls.get(cpu).map_or(0, |stalls: &Stalls| stalls.stolen(from, at));
        let stolen = cpus.iter().map(on).fold(0, u64::saturating_add);
        let later = planned.iter().skip(1).filter(|planned| planned.periodic);
        let waits = later.map(|planned| planned.period).fold(0, u64::saturating_add);
        stolen > 0 && way.saturating_sub(limit) <= stolen.saturating_add(waits)
    }

    /// Where the search for stalls begins for a value that was on its way between two instants.
    fn since_on(&self, path: &[&str], from: u64, to: u64) -> u64 {
        let tasks = path.iter().filter_map(|step| self.plan.task(step));
        tasks.map(|task| self.backlogs.since(task, from, to)).fold(from, u64::min)
    }

    pub(crate) fn channel(&mut self, at: usize) -> ChannelFigures {
        let channel = &self.plan.channels[at];
        let mut parties = vec![channel.writer.name.as_str()];
        parties.extend(channel.readers.iter().map(|reader| reader.name.as_str()));
        let readers = channel.readers.iter().filter_map(|reader| self.plan.task(&reader.name)).collect();
        let flow = ChannelFlow { channel, parties, readers };
        let mut figures = self.channel_figures(at);
        let mut breaches = Vec::new();
        let (seen, too_many) = (&self.seen.channels[at], self.seen.channels[at].too_many);
        // A sender that is not real-time may be stopped between its stamp and its send, or lie about it.
        let is_stamped_in_time = self.planned(&channel.writer.name).is_some() && !channel.writer.client;
        if let Some(limit) = figures.bound_ns.filter(|_| !channel.broadcast && is_stamped_in_time) {
            self.latencies(&flow, (&seen.received, limit), &mut figures, &mut breaches);
        }
        // A setter may find that all of its alarms are pending, or that one is late; a sender may take blocks back; the queue
        // of an aperiodic task may be full.
        let mut readers = channel.readers.iter();
        let may_be_full = readers.any(|reader| self.plan.is_aperiodic(&reader.name) && !reader.client);
        let may_lose = channel.is_timed() || channel.overflow == OverflowPolicy::Recall || may_be_full;
        if channel.broadcast {
            self.broadcast(at, &mut figures, &mut breaches);
        } else if flow.parties.iter().all(|party| self.planned(party).is_some()) && !may_lose {
            self.drops(&flow, &seen.dropped, &mut figures, &mut breaches);
        } else if figures.dropped > too_many {
            let (channel, values) = (channel.name.clone(), figures.dropped - too_many);
            self.warnings.push(Warning::Dropped { channel, values });
        }
        if too_many > 0 {
            self.warnings.push(Warning::TooMany { channel: channel.name.clone(), values: too_many });
        }
        figures.late_ours = breaches.len() as u64;
        self.machine += figures.late_machine;
        self.not_judged += figures.late_not_judged;
        self.paused += figures.late_paused;
        self.breaches.append(&mut breaches);
        figures
    }

    /// Judges a broadcast: each real-time reader by its own bound, and what was lost against the proof. What others lose, and
    /// what a writer that is not real-time gets back, is a note.
    fn broadcast(&mut self, at: usize, figures: &mut ChannelFigures, breaches: &mut Vec<Breach>) {
        let channel = &self.plan.channels[at];
        let seen = &self.seen.channels[at];
        let writer = channel.writer.name.as_str();
        let mut warnings = Vec::new();
        let flow_of = |reader: &'_ taut_plan::ReaderPlan| {
            let task = self.plan.task(&reader.name).filter(|_| !reader.client)?;
            Some((u16::try_from(task).ok()?, task))
        };
        let mut urgent = ChannelFlow { channel, parties: vec![writer], readers: Vec::new() };
        for reader in &channel.readers {
            let Some((number, task)) = flow_of(reader) else { continue };
            let flow = ChannelFlow { channel, parties: vec![writer, &reader.name], readers: vec![task] };
            let none = OfReader::default();
            let of = seen.by_reader.get(&number).unwrap_or(&none);
            let lost = of.lost.iter().map(|(_, values)| *values).fold(0, u64::saturating_add);
            if let Some(limit) = reader.latency {
                self.latencies(&flow, (&of.received, limit.as_ns()), figures, breaches);
            }
            let proven = flow.parties.iter().all(|party| self.planned(party).is_some());
            if proven {
                urgent.parties.push(&reader.name);
                urgent.readers.push(task);
                self.drops(&flow, &of.lost, figures, breaches);
            } else if lost > 0 {
                let (channel, reader) = (channel.name.clone(), reader.name.clone());
                warnings.push(Warning::LostBy { channel, reader, values: lost });
            }
            figures.by_reader.push(ReaderFigures {
                name: reader.name.clone(),
                received: of.received.len() as u64,
                lost,
                latency: Values::of(of.received.iter().map(|(_, latency)| *latency)).spread(),
                bound_ns: reader.latency.map(Duration::as_ns),
            });
        }
        let refused = seen.dropped.iter().map(|(_, values)| *values).fold(0, u64::saturating_add);
        if self.planned(writer).is_some() {
            self.drops(&urgent, &seen.dropped, figures, breaches);
        } else if refused > 0 {
            warnings.push(Warning::Dropped { channel: channel.name.clone(), values: refused });
        }
        self.warnings.append(&mut warnings);
    }

    /// The figures of a channel before anything is judged.
    fn channel_figures(&self, at: usize) -> ChannelFigures {
        let (channel, seen) = (&self.plan.channels[at], &self.seen.channels[at]);
        ChannelFigures {
            name: channel.name.clone(),
            writer: channel.writer.name.clone(),
            readers: channel.readers.iter().map(|reader| reader.name.clone()).collect(),
            mechanism: channel.mechanism.paper_name(),
            capacity: channel.buffers.unwrap_or(channel.capacity),
            sent: seen.sent,
            received: seen.received.len() as u64,
            dropped: seen
                .dropped
                .iter()
                .chain(seen.by_reader.values().flat_map(|reader| &reader.lost))
                .map(|(_, values)| *values)
                .fold(seen.too_many, u64::saturating_add),
            latency: Values::of(seen.received.iter().map(|(_, latency)| *latency)).spread(),
            bound_ns: channel.latency.map(Duration::as_ns),
            late_machine: 0,
            late_ours: 0,
            late_not_judged: 0,
            late_paused: 0,
            by_reader: Vec::new(),
        }
    }

    /// Judges how long each value waited.
    fn latencies(
        &self,
        flow: &ChannelFlow<'_>,
        (received, limit_ns): (&[(u64, u64)], u64),
        figures: &mut ChannelFigures,
        breaches: &mut Vec<Breach>,
    ) {
        for &(end, latency_ns) in received.iter().filter(|(_, latency_ns)| *latency_ns > limit_ns) {
            let sent = end.saturating_sub(latency_ns);
            let readers = flow.readers.iter().map(|reader| self.backlogs.since(*reader, end, end));
            let since = readers.fold(sent, u64::min);
            if self.is_unrecorded(since) {
                figures.late_not_judged += 1;
            } else if self.pauses.touch(flow.readers.iter().copied(), sent, end) {
                figures.late_paused += 1;
            } else if self.excused(&flow.parties, end, (latency_ns, limit_ns), since) {
                figures.late_machine += 1;
            } else {
                let (channel, at_ns) = (flow.channel.name.clone(), self.since_begin(end));
                breaches.push(Breach::Latency { channel, at_ns, latency_ns, limit_ns });
            }
        }
    }

    /// Judges the losses of a channel whose capacity was proven.
    fn drops(
        &self,
        flow: &ChannelFlow<'_>,
        lost: &[(u64, u64)],
        figures: &mut ChannelFigures,
        breaches: &mut Vec<Breach>,
    ) {
        let period = self.planned(flow.parties[0]).map_or(0, |writer| writer.period);
        let span = period.saturating_mul(u64::from(flow.channel.capacity).saturating_add(1));
        for &(end, dropped) in lost {
            let from = end.saturating_sub(span);
            if self.is_unrecorded(from) {
                figures.late_not_judged += 1;
            } else if self.pauses.touch(flow.readers.iter().copied(), from, end) {
                figures.late_paused += 1;
            } else if self.excused(&flow.parties, end, (span, span), from) {
                figures.late_machine += 1;
            } else {
                let (channel, at_ns) = (flow.channel.name.clone(), self.since_begin(end));
                breaches.push(Breach::Drop { channel, at_ns, dropped });
            }
        }
    }

    pub(crate) fn chain(
        &mut self,
        at: usize,
        tasks: &[TaskFigures],
        channels: &[ChannelFigures],
        history: &History<'_>,
    ) -> ChainFigures {
        let chain = &self.plan.chains[at];
        let most = |name: &str| {
            let task = tasks.iter().find(|task| task.name == name).and_then(|task| task.response);
            let channel = channels.iter().find(|channel| channel.name == name);
            task.or_else(|| channel.and_then(|channel| channel.latency)).map(|spread| spread.max_ns)
        };
        let bound = chain.latency.map(Duration::as_ns);
        let max_latency = chain.max_latency.as_ns();
        let limit_ns = bound.map_or(max_latency, |bound| bound.min(max_latency));
        let path: Vec<&str> = chain.path.iter().map(|step| step.name.as_str()).collect();
        let tasks_of_path: Vec<usize> = path.iter().filter_map(|step| self.plan.task(step)).collect();
        let (mut late_machine, mut late_not_judged, mut late_paused) = (0, 0, 0);
        let mut breaches = Vec::new();
        for &(end, age_ns) in self.seen.chains[at].iter().filter(|(_, age)| *age > limit_ns) {
            let proven = bound.is_some_and(|bound| bound <= max_latency);
            let begin = end.saturating_sub(age_ns);
            let since = self.since_on(&path, begin, end);
            if proven && self.is_unrecorded(since) {
                late_not_judged += 1;
            } else if self.pauses.touch(tasks_of_path.iter().copied(), begin, end) {
                late_paused += 1;
            } else if proven && self.excused(&path, end, (age_ns, limit_ns), since) {
                late_machine += 1;
            } else {
                let (chain, at_ns) = (chain.name.clone(), self.since_begin(end));
                breaches.push(Breach::Age { chain, at_ns, age_ns, limit_ns });
            }
        }
        let steps = chain.path.iter().map(|step| StepFigures {
            name: step.name.clone(),
            adds: step.adds.clone(),
            bound_ns: step.time.as_ns(),
            max_ns: most(&step.name),
        });
        let figures = ChainFigures {
            name: chain.name.clone(),
            age: Values::of(self.seen.chains[at].iter().map(|(_, age)| *age)).spread(),
            bound_ns: bound,
            limit_ns: max_latency,
            late_machine,
            late_ours: breaches.len() as u64,
            late_not_judged,
            late_paused,
            steps: steps.collect(),
            reaction: self.reaction(chain, history),
        };
        self.machine += late_machine;
        self.not_judged += late_not_judged;
        self.paused += late_paused;
        self.breaches.append(&mut breaches);
        figures
    }

    /// The reaction times of a chain, if the manifest limits them.
    fn reaction(&mut self, chain: &ChainPlan, history: &History<'_>) -> Option<ReactionFigures> {
        let max_reaction = chain.max_reaction?.as_ns();
        let bound = chain.reaction.map(Duration::as_ns);
        let limit_ns = bound.map_or(max_reaction, |bound| bound.min(max_reaction));
        let path: Vec<&str> = chain.path.iter().map(|step| step.name.as_str()).collect();
        let seen = ages::reactions(self.plan, chain, history, &self.pauses);
        let (mut late_machine, mut late_ours, mut late_not_judged) = (0, 0, 0);
        for &(end, reaction_ns) in seen.iter().filter(|(_, reaction)| *reaction > limit_ns) {
            let proven = bound.is_some_and(|bound| bound <= max_reaction);
            let since = self.since_on(&path, end.saturating_sub(reaction_ns), end);
            if proven && self.is_unrecorded(since) {
                late_not_judged += 1;
            } else if proven && self.excused(&path, end, (reaction_ns, limit_ns), since) {
                late_machine += 1;
            } else {
                late_ours += 1;
                let (chain, at_ns) = (chain.name.clone(), self.since_begin(end));
                self.breaches.push(Breach::Reaction { chain, at_ns, reaction_ns, limit_ns });
            }
        }
        self.machine += late_machine;
        self.not_judged += late_not_judged;
        let steps = chain.reaction_path.iter().map(|step| StepFigures {
            name: step.name.clone(),
            adds: step.adds.clone(),
            bound_ns: step.time.as_ns(),
            max_ns: None,
        });
        Some(ReactionFigures {
            seen: Values::of(seen.into_iter().map(|(_, reaction)| reaction)).spread(),
            bound_ns: bound,
            limit_ns: max_reaction,
            late_machine,
            late_ours,
            late_not_judged,
            steps: steps.collect(),
        })
    }
}
