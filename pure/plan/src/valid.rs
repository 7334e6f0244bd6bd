// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The rules that a plan must keep for code to rely on its numbers.
//!
//! A `taut.lock` is a text: an editor, a merge or an attacker may have changed it. A [`ValidPlan`] keeps every rule
//! below. No analysis runs here, so a false claim about time can be consistent and pass: rule V8 finds a changed bound
//! only if the terms of that bound are unchanged.
//!
//! ```text
//! V1  regions   each region begins at a multiple of a line (128 bytes), ends inside its map, and shares no byte with
//!               another region; a region of the segment lies behind the header of the segment; a map ends with its
//!               last region, the segment with the page of its last region; regions in different files of the segment
//!               share no page
//! V2  names     each name is well formed and unique; tasks, channels, servers and resources refer to names that exist
//! V3  counts    every position fits in 16 bits
//! V4  channels  the mechanism serves the parties; entries and ways of readers, slots and bytes of the region are those
//!               of the mechanism; a channel is in the segment if and only if a client is a party of it; the lanes of a
//!               message have one reader, order and layout, and ranks from 0, real-time senders first; no client sets alarms;
//!               the sources of a state are states, at least two, with one layout, the same readers, and places from 0;
//!               a client of several processes writes nothing, reads objects in which readers store nothing, and has no event count;
//!               earlier values are kept for clients, as many as the queue holds at most;
//!               each lane of a request has one queue of replies, from its real-time reader to its writer, which is not
//! V5  triggers  a channel releases a reader if and only if the reader is a sporadic task with that trigger, and a sporadic
//!               task has a trigger at least; a reader has
//!               an event count of a line only if it is a reader of a real-time task's queue, and not real-time
//! V6  tasks     the budget of a safe state is above zero and at most a second; cores exist, priorities are 1 to 98 (0
//!               under EDF), times are longer than zero; what Linux does not do is asked of dispatched cores only; a device
//!               thread watches at most 16 devices
//! V7  memory    the total is the sum of its parts; the part of set-ups is the sum of their bounds; a task has a ring of
//!               recorded values, of 64 KiB to 16 MiB and a power of two, if and only if it has an end of a recorded channel;
//!               bulk channels are not recorded
//! V8  proof     if the plan is proven: each bound is the sum of its terms and at most the deadline, each chain is
//!               within its limits, each server has its budget within its period, no core is overloaded, the memory is
//!               within its limit
//! V9  modes     each names services that exist, each once; one of them is the first; each pair of modes has one change; if the
//!               plan is proven, no bound of a mode is above that of the task, and each change has a bound
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::Hash;
use std::ops::Deref;

use taut_policy::{
    ATTACHED_MAX, BLOCKS_MAX, BLOCKS_MIN, CAPACITY_MAX, ChannelKind, ClientReads, DEVICES_MAX, DRIFT_PPM_MAX,
    Flow, LINE_BYTES, Mechanism, Overrun, PRIORITY_MAX, PartyCounts, RESTARTS_MAX, SAFE_STATE_MAX,
    SchedulingPolicy, VALUE_RING_BYTES_MAX, VALUE_RING_BYTES_MIN, Way, is_name,
};
use taut_time::Duration;

use crate::layout::{File, PAGE_BYTES, SEGMENT_HEADER_BYTES, event_count_file, file_of, reservation_file};
use crate::request::REPLY;
use crate::{
    Arrival, ChannelPlan, ClassPlan, CorePlan, MemoryMap, MessageOrder, Plan, ReaderPlan, Region,
    ServicePlan, Size, TaskPlan, WholeNumber,
};

/// A plan that keeps rules V1 to V9.
///
/// Holding a value proves them. `unsafe` code relies on these:
/// - two regions of one map, whatever scopes and channels they belong to, share no byte (V1);
/// - the memory of a channel holds one object for as many parties as the channel has, and a channel that wakes a
///   reader has a line at its end for that (V4, V5);
/// - no two tasks have one name, nor two channels, services, resources or servers (V2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidPlan(Plan);

impl Deref for ValidPlan {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.0
    }
}

impl ValidPlan {
    /// Checks a plan.
    ///
    /// # Errors
    /// The first rule that the plan breaks, and where.
    pub fn new(plan: Plan) -> Result<Self, Invalid> {
        check(&plan)?;
        Ok(Self(plan))
    }

    /// The plan, which the caller may change from then on.
    pub fn into_plan(self) -> Plan {
        self.0
    }
}

/// The rule that a plan breaks. `taut plan` writes no plan that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Invalid {}

/// `Err` with the text, unless the rule holds.
macro_rules! require {
    ($holds:expr, $($text:tt)*) => {
        if !$holds {
            return Err(Invalid(format!($($text)*)));
        }
    };
}

fn check(plan: &Plan) -> Result<(), Invalid> {
    let known = Known::of(plan)?;
    regions(plan)?;
    for core in &plan.cores {
        core_of(plan, core)?;
    }
    for task in &plan.tasks {
        task_of(plan, &known, task)?;
    }
    devices(plan)?;
    clocks(plan)?;
    for channel in &plan.channels {
        channel_of(plan, &known, channel)?;
    }
    messages(plan, &known)?;
    sources(plan, &known)?;
    requests(plan, &known)?;
    attached(plan, &known)?;
    let safe_state = plan.safe_state.is_none_or(|budget| !budget.is_zero() && budget <= SAFE_STATE_MAX);
    require!(safe_state, "the safe state's budget is zero, or longer than {SAFE_STATE_MAX}");
    for service in &plan.services {
        failures(service)?;
    }
    modes(plan, &known)?;
    servers(plan, &known)?;
    resources(plan, &known)?;
    memory(plan)?;
    if plan.proven { proof(plan, &known) } else { Ok(()) }
}

/// The entries of a plan, by name (V2).
struct Known<'p> {
    tasks: HashMap<&'p str, &'p TaskPlan>,
    channels: HashMap<&'p str, &'p ChannelPlan>,
    cores: HashMap<u16, &'p CorePlan>,
    services: HashSet<&'p str>,
    clients: HashSet<&'p str>,
}

impl<'p> Known<'p> {
    fn of(plan: &'p Plan) -> Result<Self, Invalid> {
        require!(is_name(&plan.app), "the application's name {:?} is not well formed", plan.app);
        let names = |what: &str, names: Vec<&'p str>| {
            require!(names.len() <= usize::from(u16::MAX), "there are too many {what}s");
            // A lane has the names of its message and of its sender, and so have replies.
            let is_lane = |name: &str| {
                let halves = name.split_once('/').filter(|_| what == "channel");
                halves.is_some_and(|(whole, party)| {
                    is_name(whole.strip_suffix(REPLY).unwrap_or(whole)) && is_name(party)
                })
            };
            let wrong = names.iter().find(|name| !is_name(name) && !is_lane(name));
            require!(wrong.is_none(), "the {what}'s name {:?} is not well formed", wrong.unwrap_or(&""));
            unique(names.iter().copied(), |name| format!("two {what}s are called `{name}`"))
        };
        let tasks = plan.tasks.iter().map(|task| task.name.as_str()).collect();
        names("task", tasks)?;
        names("channel", plan.channels.iter().map(|channel| channel.name.as_str()).collect())?;
        names("server", plan.servers.iter().map(|server| server.name.as_str()).collect())?;
        names("resource", plan.resources.iter().map(|resource| resource.name.as_str()).collect())?;
        let services = names("service", plan.services.iter().map(|service| service.name.as_str()).collect())?;
        let clients = names("client", plan.clients.iter().map(String::as_str).collect())?;
        require!(plan.cores.len() <= usize::from(u16::MAX), "there are too many cores");
        unique(plan.cores.iter().map(|core| core.cpu), |cpu| format!("two cores have CPU {cpu}"))?;
        // Records number resources first, and then states under locks.
        let numbered = plan.resources.len() + plan.channels.len();
        require!(numbered <= usize::from(u16::MAX), "there are too many resources and channels");
        Ok(Self {
            tasks: plan.tasks.iter().map(|task| (task.name.as_str(), task)).collect(),
            channels: plan.channels.iter().map(|channel| (channel.name.as_str(), channel)).collect(),
            cores: plan.cores.iter().map(|core| (core.cpu, core)).collect(),
            services,
            clients,
        })
    }

    fn is_real_time(&self, party: &str, is_client: bool) -> bool {
        !is_client && self.cpu(party).is_some()
    }

    /// The CPU of a real-time task.
    fn cpu(&self, task: &str) -> Option<u16> {
        match &self.tasks.get(task)?.class {
            ClassPlan::RealTime { cpu, .. } => Some(*cpu),
            ClassPlan::BestEffort {} => None,
        }
    }

    fn is_dispatched(&self, cpu: u16) -> bool {
        self.cores.get(&cpu).is_some_and(|core| core.dispatched.is_some())
    }
}

/// The set of the items; an error if an item occurs twice.
fn unique<T: Copy + Eq + Hash>(
    all: impl Iterator<Item = T>,
    twice: impl Fn(T) -> String,
) -> Result<HashSet<T>, Invalid> {
    let mut seen = HashSet::new();
    for one in all {
        if !seen.insert(one) {
            return Err(Invalid(twice(one)));
        }
    }
    Ok(seen)
}

/// The runtime keeps the instants of a service's last failures, as many as its window allows restarts.
fn failures(service: &ServicePlan) -> Result<(), Invalid> {
    let Some(on_failure) = &service.on_failure else { return Ok(()) };
    let name = &service.name;
    require!(on_failure.restart <= RESTARTS_MAX, "service `{name}` restarts more than {RESTARTS_MAX} times");
    let counts = on_failure.restart == 0 || !on_failure.within.is_zero();
    require!(counts, "service `{name}` counts restarts in a window of zero");
    Ok(())
}

/// V9. The runtime finds the change from each mode to each other one, and starts nothing without its idle time.
fn modes(plan: &Plan, known: &Known<'_>) -> Result<(), Invalid> {
    let names = unique(plan.modes.iter().map(|mode| mode.name.as_str()), |name| {
        format!("two modes are called `{name}`")
    })?;
    require!(names.len() <= usize::from(u16::MAX), "there are too many modes");
    require!(
        plan.first_mode.is_some() != plan.modes.is_empty()
            && plan.first_mode.is_some() == plan.first_mode().is_some(),
        "the mode at release 0 is not one of the modes"
    );
    for mode in &plan.modes {
        let name = &mode.name;
        require!(is_name(name), "the mode's name {name:?} is not well formed");
        let services = mode.services.iter().map(String::as_str);
        let named = unique(services, |service| format!("mode `{name}` names service `{service}` twice"))?;
        let unknown = named.iter().find(|service| !known.services.contains(*service));
        require!(unknown.is_none(), "mode `{name}` names a service that does not exist");
        require!(
            mode.utilisation_ppm.len() == plan.cores.len(),
            "mode `{name}` does not say how much of each core it uses"
        );
        for bound in mode.bounds.iter().filter(|_| plan.proven) {
            let of = plan.task(&bound.task).map(|at| &plan.tasks[at]);
            let whole = of.and_then(|of| match &of.class {
                ClassPlan::RealTime { response, .. } if plan.runs_in(of, plan.mode(name)?) => *response,
                _ => None,
            });
            let holds = bound.response.zip(whole).is_some_and(|(bound, whole)| bound <= whole);
            require!(
                holds,
                "mode `{name}` has a bound of task `{}` that does not fit the task's",
                bound.task
            );
        }
    }
    let pairs = plan.changes.iter().map(|change| (change.from.as_str(), change.to.as_str()));
    let pairs = unique(pairs, |(from, to)| format!("two changes go from `{from}` to `{to}`"))?;
    let complete = pairs.len() == names.len() * names.len().saturating_sub(1)
        && pairs.iter().all(|(from, to)| from != to && names.contains(from) && names.contains(to));
    require!(complete, "the changes are not those from each mode to each other one");
    let unbounded = plan.changes.iter().find(|change| plan.proven && change.latency().is_none());
    require!(unbounded.is_none(), "a change of mode has no bound");
    Ok(())
}

/// V5, of clocks: each has one task that follows it.
fn clocks(plan: &Plan) -> Result<(), Invalid> {
    let clocks = plan.tasks.iter().filter_map(|task| match &task.class {
        ClassPlan::RealTime { arrival, .. } => Some(arrival.clock()?.name.as_str()),
        ClassPlan::BestEffort {} => None,
    });
    unique(clocks, |name| format!("two tasks follow clock `{name}`")).map(drop)
}

/// V6, of the devices that device threads watch.
fn devices(plan: &Plan) -> Result<(), Invalid> {
    for core in &plan.cores {
        let here = plan.tasks.iter().filter(|task| plan.cpu_of(task) == Some(core.cpu));
        let watched = here.filter(|task| plan.is_watched(task)).count();
        require!(watched <= DEVICES_MAX, "the device thread of CPU {} watches {watched} devices", core.cpu);
    }
    Ok(())
}

/// V1: the regions of each map, with their owners.
fn regions(plan: &Plan) -> Result<(), Invalid> {
    let mut process: Vec<(Region, &str, &str)> = Vec::new();
    let mut segment = Vec::new();
    for service in &plan.services {
        process.push((service.persistent, "the persistent scope of service", &service.name));
    }
    for task in &plan.tasks {
        if let ClassPlan::RealTime { persistent, release, .. } = &task.class {
            process.push((*persistent, "the persistent scope of task", &task.name));
            process.push((*release, "the release scope of task", &task.name));
        }
    }
    for channel in &plan.channels {
        let map = match channel.place {
            MemoryMap::Process => &mut process,
            MemoryMap::Segment => &mut segment,
        };
        map.push((channel.region, "channel", &channel.name));
        for reader in &channel.readers {
            if let Some(region) = reader.event_count {
                let map = if reader.client { &mut segment } else { &mut process };
                map.push((region, "an event count of channel", &channel.name));
            }
            if let Some(region) = reader.reservation {
                segment.push((region, "a reservation of channel", &channel.name));
            }
        }
    }
    apart(&mut process, (0, LINE_BYTES), plan.memory.process.as_bytes())?;
    let header = if segment.is_empty() { 0 } else { SEGMENT_HEADER_BYTES };
    apart(&mut segment, (header, PAGE_BYTES), plan.memory.segment.as_bytes())?;
    files(plan)
}

/// Checks that no two files of the segment, each from its first page to its last, share a page.
fn files(plan: &Plan) -> Result<(), Invalid> {
    // The header is in the file of the channels that no client writes.
    let mut files: BTreeMap<File<'_>, (u64, u64, &str)> = BTreeMap::new();
    for channel in plan.channels.iter().filter(|channel| channel.place == MemoryMap::Segment) {
        let is_read_by_clients = channel.readers.iter().any(|reader| reader.client);
        let triggers = channel.readers.iter().any(|reader| reader.triggered);
        let writer = channel.writer.client.then_some(channel.writer.name.as_str());
        let file = file_of(writer, channel.storing_client(), is_read_by_clients, triggers);
        let waits = channel.readers.iter().filter(|reader| reader.client);
        let waits = waits.filter_map(|reader| Some((event_count_file(&reader.name), reader.event_count?)));
        let reserves = channel.readers.iter();
        let reserves =
            reserves.filter_map(|reader| Some((reservation_file(&reader.name), reader.reservation?)));
        files.entry(None).or_insert((0, SEGMENT_HEADER_BYTES, "the header"));
        for (file, Region { offset, size }) in
            std::iter::once((file, channel.region)).chain(waits).chain(reserves)
        {
            let (start, end, _) = files.entry(file).or_insert((offset, offset, &channel.name));
            // No sum overflows: `apart` has checked it.
            (*start, *end) = ((*start).min(offset), (*end).max(offset + size));
        }
    }
    let mut files: Vec<_> = files.into_values().collect();
    files.sort_unstable();
    for pair in files.windows(2) {
        let ((_, end, first), (start, _, second)) = (pair[0], pair[1]);
        let apart = end.div_ceil(PAGE_BYTES) <= start / PAGE_BYTES;
        require!(apart, "`{first}` and `{second}` share a page, but are not written by the same client");
    }
    Ok(())
}

/// Checks that the regions of a map are aligned and disjoint and begin at `start` or after it, and that the map ends
/// with the last region, rounded up to a multiple of `unit`.
fn apart(map: &mut [(Region, &str, &str)], (start, unit): (u64, u64), bytes: u64) -> Result<(), Invalid> {
    map.sort_by_key(|(region, ..)| (region.offset, region.size));
    let (mut end, mut before) = (start, None);
    for (region, what, name) in map.iter() {
        let Region { offset, size } = *region;
        require!(
            offset % LINE_BYTES == 0,
            "{what} `{name}` begins at {offset}, which is not a multiple of \
             {LINE_BYTES}"
        );
        if offset < end {
            let Some((other, its)) = before else {
                return Err(Invalid(format!("{what} `{name}` lies in the segment's header")));
            };
            return Err(Invalid(format!("{other} `{its}` and {what} `{name}` overlap in memory")));
        }
        end = match offset.checked_add(size) {
            Some(last) if last <= bytes => last,
            _ => return Err(Invalid(format!("{what} `{name}` ends beyond its memory map"))),
        };
        before = Some((what, name));
    }
    let end = end.checked_next_multiple_of(unit);
    require!(end == Some(bytes), "a memory map of {bytes} bytes does not end with its last region");
    Ok(())
}

/// V6, of a core.
fn core_of(plan: &Plan, core: &CorePlan) -> Result<(), Invalid> {
    let cpu = core.cpu;
    let needs = core.scheduler == SchedulingPolicy::Edf;
    require!(!needs || core.dispatched.is_some(), "core {cpu} is under EDF, but has no dispatcher");
    let shared = plan.housekeeping.contains(&cpu);
    require!(!shared, "CPU {cpu} is both a real-time core and a housekeeping core");
    Ok(())
}

/// V5 and V6, of a task.
fn task_of(plan: &Plan, known: &Known<'_>, task: &TaskPlan) -> Result<(), Invalid> {
    let name = &task.name;
    if let Some(service) = &task.service {
        require!(
            known.services.contains(service.as_str()),
            "task `{name}` belongs to service `{service}`, which does \
             not exist"
        );
    }
    let ClassPlan::RealTime { cpu, priority, arrival, deadline, wcet, on_overrun, budget, .. } = &task.class
    else {
        return Ok(());
    };
    let Some(core) = known.cores.get(cpu) else {
        return Err(Invalid(format!("task `{name}` is on CPU {cpu}, which is not a real-time core")));
    };
    let priorities = match core.scheduler {
        SchedulingPolicy::Edf => 0..=0,
        SchedulingPolicy::FixedPriority => 1..=PRIORITY_MAX,
    };
    require!(priorities.contains(priority), "task `{name}` cannot have priority {priority}");
    arrival_of(plan, known, name, arrival)?;
    let period = arrival.period();
    for (what, time) in [("period", period), ("deadline", *deadline), ("execution time", *wcet)] {
        let is_none = what == "period" && arrival.is_aperiodic();
        require!(!time.is_zero() || is_none, "the {what} of task `{name}` is zero");
    }
    require!(
        *deadline <= period || *on_overrun == Overrun::RunOn,
        "task `{name}` has a deadline longer than its period"
    );
    require!(*budget != Some(Duration::ZERO), "the budget of task `{name}` is zero");
    let enforced = budget.is_some() || matches!(on_overrun, Overrun::KillJob | Overrun::Demote);
    let served = plan.server_of(name).is_some();
    require!(
        !(enforced || served) || core.dispatched.is_some(),
        "task `{name}` needs a dispatcher, which core {cpu} does not have"
    );
    Ok(())
}

/// V5, of what releases a task, which is on this core.
fn arrival_of(plan: &Plan, known: &Known<'_>, name: &str, arrival: &Arrival<String>) -> Result<(), Invalid> {
    let triggers = arrival.triggers();
    match (arrival, arrival.device()) {
        (Arrival::Periodic { .. }, _) => {}
        (Arrival::Clocked(clock), _) => {
            require!(is_name(&clock.name), "`{}` is not the name of a clock", clock.name);
            require!(clock.drift_ppm <= DRIFT_PPM_MAX, "the clock of task `{name}` drifts too much");
            require!(clock.offset < clock.period, "task `{name}` is released a period after a tick");
            require!(clock.is_distinct(), "the ticks of the clock of task `{name}` are not distinct");
        }
        (_, None) => require!(!triggers.is_empty(), "no channel releases task `{name}`"),
        (_, Some(device)) => require!(is_name(device), "`{device}` is not the name of a device"),
    }
    let served = plan.server_of(name);
    let alone = served.is_some_and(|server| server.tasks.len() == 1);
    require!(!arrival.is_aperiodic() || alone, "task `{name}` is aperiodic and not alone in a server");
    unique(triggers.iter().map(String::as_str), |trigger| {
        format!("task `{name}` waits for `{trigger}` twice")
    })?;
    for trigger in triggers {
        let channel = known.channels.get(trigger.as_str());
        let wakes = channel.is_some_and(|channel| {
            channel.readers.iter().any(|reader| !reader.client && reader.triggered && reader.name == *name)
        });
        require!(wakes, "task `{name}` waits for `{trigger}`, which does not release it");
    }
    Ok(())
}

/// V4 and V5, of a channel.
fn channel_of(plan: &Plan, known: &Known<'_>, channel: &ChannelPlan) -> Result<(), Invalid> {
    let name = &channel.name;
    let parties = parties_of(known, channel)?;
    let mechanism = channel.mechanism;
    let paper = mechanism.paper_name();
    require!(mechanism.serves(channel.kind, &parties), "{paper} does not serve channel `{name}`");
    let client = all_parties(channel).any(|(_, client)| client);
    let fills = channel.kind == ChannelKind::Bulk && channel.writer.client;
    require!(!fills, "a client fills blocks of bulk channel `{name}`");
    require!(
        channel.takes_per_release == 1 || channel.takes_per_release > 0 && channel.kind == ChannelKind::Bulk,
        "channel `{name}` counts what its reader takes, and is no bulk channel, or takes none"
    );
    require!(
        (channel.place == MemoryMap::Segment) == client,
        "channel `{name}` is in the wrong memory map for its parties"
    );
    for reader in &channel.readers {
        reader_of(known, channel, &parties, reader)?;
    }
    require!(
        !(channel.broadcast && channel.writer.client),
        "client `{}` writes broadcast `{name}`",
        channel.writer.name
    );
    history(channel)?;
    if parties.synchronous {
        let periodic = |party: &str| {
            let class = known.tasks.get(party).map(|task| &task.class);
            matches!(class, Some(ClassPlan::RealTime { arrival: Arrival::Periodic { .. }, .. }))
        };
        let all = all_parties(channel).all(|(party, _)| periodic(party));
        require!(
            all,
            "channel `{name}` is a synchronous flow, but one of its parties is not a periodic task"
        );
    }
    let capacities = match channel.kind {
        ChannelKind::State => 1..=1,
        ChannelKind::Queue => 1..=CAPACITY_MAX,
        ChannelKind::Bulk => BLOCKS_MIN..=BLOCKS_MAX,
    };
    require!(
        capacities.contains(&channel.capacity),
        "channel `{name}` cannot have a capacity of {}",
        channel.capacity
    );
    let counted = mechanism.has_ways() || mechanism.preserves_flow() || mechanism.locking().is_some();
    require!(
        channel.buffers.is_some() == counted,
        "channel `{name}` has a number of buffers where {paper} has none, or none where {paper} needs one"
    );
    let room = object_bytes(channel);
    require!(
        room == Some(channel.region.size) || plan.memory.total.as_bytes() == 0,
        "channel `{name}` has {} bytes of memory, but {paper} needs another size",
        channel.region.size
    );
    Ok(())
}

/// V4, of the values that a channel keeps for clients.
fn history(channel: &ChannelPlan) -> Result<(), Invalid> {
    let (name, history) = (&channel.name, channel.history);
    let keeps = channel.mechanism.clients_read() == ClientReads::StoringNothing
        && channel.kind == ChannelKind::Queue
        && channel.readers.iter().any(|reader| reader.client);
    require!(
        history == 0 || keeps && history <= channel.capacity,
        "channel `{name}` keeps {history} earlier values for clients, which it cannot"
    );
    Ok(())
}

/// V4, of the lanes of messages.
fn messages(plan: &Plan, known: &Known<'_>) -> Result<(), Invalid> {
    for channel in &plan.channels {
        let name = &channel.name;
        let Some(lane) = &channel.lane else {
            let is_part = channel.source.is_some() || channel.answers.is_some();
            let is_whole = is_part || !name.contains('/');
            require!(is_whole, "channel `{name}` is called as a part of another, but is none");
            continue;
        };
        let own = format!("{}/{}", lane.message, channel.writer.name);
        require!(*name == own, "channel `{name}` is a lane of `{}` and not called `{own}`", lane.message);
        let [reader] = channel.readers.as_slice() else {
            return Err(Invalid(format!("lane `{name}` has no reader, or several")));
        };
        let real_time = known.is_real_time(&reader.name, reader.client);
        require!(real_time && lane.takes > 0, "nobody takes from lane `{name}`");
        let orders = match (lane.order, lane.by.as_deref()) {
            (MessageOrder::Specified, Some(by)) => WholeNumber::in_layout(&channel.layout, by).is_some(),
            (MessageOrder::Specified, None) => false,
            (_, by) => by.is_none(),
        };
        require!(orders, "lane `{name}` has no whole number that orders its values, or needs none");
        require!(
            !known.channels.contains_key(lane.message.as_str()),
            "`{}` is a channel and a message",
            lane.message
        );
        let is_set_here = !channel.is_timed() || !channel.writer.client;
        require!(is_set_here, "client `{}` sets alarms of `{name}`", channel.writer.name);
        let lanes = plan.lanes(&lane.message);
        for (rank, (_, other)) in lanes.iter().enumerate() {
            let Some(its) = &other.lane else { continue };
            let alike = (its.order, &its.by, its.takes, its.late)
                == (lane.order, &lane.by, lane.takes, lane.late)
                && other.layout == channel.layout;
            let reads =
                other.readers.iter().any(|one| one.name == reader.name && one.triggered == reader.triggered);
            require!(alike && reads, "lanes `{name}` and `{}` are not of one message", other.name);
            require!(
                usize::from(its.rank) == rank,
                "lane `{}` has rank {}, not {rank}",
                other.name,
                its.rank
            );
            let urgent = |of: &ChannelPlan| known.is_real_time(&of.writer.name, of.writer.client);
            let last = rank.checked_sub(1).map(|at| lanes[at].1);
            let sorted = last.is_none_or(|last| urgent(last) || !urgent(other));
            require!(sorted, "lane `{}` of a real-time task comes after one that is not", other.name);
        }
    }
    Ok(())
}

/// V4, of the sources of states that have several.
fn sources(plan: &Plan, known: &Known<'_>) -> Result<(), Invalid> {
    for channel in &plan.channels {
        let Some(source) = &channel.source else { continue };
        let (name, state) = (&channel.name, &source.state);
        let own = format!("{state}/{}", channel.writer.name);
        require!(*name == own, "channel `{name}` is a source of `{state}` and not called `{own}`");
        let newest = channel.kind == ChannelKind::State && channel.flow == Flow::Newest;
        require!(
            newest && channel.lane.is_none(),
            "source `{name}` is no state of which the newest value counts"
        );
        require!(!known.channels.contains_key(state.as_str()), "`{state}` is a channel and has sources");
        let all = plan.sources(state);
        require!(all.len() > 1, "state `{state}` has one source, `{name}`, and names it as one of several");
        let parties = |of: &ChannelPlan| {
            of.readers.iter().map(|reader| (reader.name.clone(), reader.client)).collect::<Vec<_>>()
        };
        for (place, (_, other)) in all.iter().enumerate() {
            let its = other.source.as_ref().map_or(0, |source| usize::from(source.place));
            require!(its == place, "source `{}` has place {its}, not {place}", other.name);
            let alike = (&other.layout, parties(other)) == (&channel.layout, parties(channel));
            require!(alike, "sources `{name}` and `{}` are not of one state", other.name);
        }
    }
    Ok(())
}

/// V4, of the replies of requests: each lane of a request has one channel of replies, from its reader to its writer.
fn requests(plan: &Plan, known: &Known<'_>) -> Result<(), Invalid> {
    for channel in &plan.channels {
        let Some(reply) = &channel.answers else { continue };
        let (name, request) = (&channel.name, &reply.request);
        let [caller] = channel.readers.as_slice() else {
            return Err(Invalid(format!("replies `{name}` go to nobody, or to several")));
        };
        let own = format!("{request}{REPLY}/{}", caller.name);
        require!(*name == own, "channel `{name}` has replies of `{request}` and is not called `{own}`");
        let is_queue =
            channel.kind == ChannelKind::Queue && channel.lane.is_none() && channel.source.is_none();
        require!(
            is_queue && !channel.broadcast && !caller.triggered,
            "replies `{name}` are no queue of their own"
        );
        let urgent = known.is_real_time(&channel.writer.name, channel.writer.client);
        require!(
            urgent && !known.is_real_time(&caller.name, caller.client),
            "replies `{name}` are not those of a real-time task to a caller that is not"
        );
        let lanes = plan.lanes(request);
        let lane = lanes.iter().find(|(_, lane)| {
            lane.writer.name == caller.name
                && lane.readers.iter().all(|reader| reader.name == channel.writer.name)
        });
        let Some((_, lane)) = lane else {
            return Err(Invalid(format!("replies `{name}` answer no lane of `{request}`")));
        };
        let fits = !lane.is_timed() && channel.open_requests() >= 1;
        require!(fits, "replies `{name}` have no room for one of each request, or answer alarms");
        let unanswered = lanes.iter().find(|(_, lane)| plan.replies(request, &lane.writer.name).is_none());
        require!(unanswered.is_none(), "request `{request}` has a lane without replies");
    }
    Ok(())
}

/// V4, of clients of which several processes may be attached: what one of them stored would be another's.
fn attached(plan: &Plan, known: &Known<'_>) -> Result<(), Invalid> {
    let limits = || plan.client_limits.iter().map(|limit| limit.client.as_str());
    unique(limits(), |name| format!("client `{name}` has two limits"))?;
    for limit in &plan.client_limits {
        let client = &limit.client;
        require!(known.clients.contains(client.as_str()), "there is no client `{client}` to limit");
        let is_several = (2..=ATTACHED_MAX).contains(&limit.max_attached);
        require!(is_several, "{} processes of client `{client}` are not several", limit.max_attached);
        for channel in &plan.channels {
            let name = &channel.name;
            let writes = channel.writer.client && channel.writer.name == *client;
            require!(!writes, "several processes of client `{client}` write channel `{name}`");
            let reader = channel.readers.iter().find(|reader| reader.client && reader.name == *client);
            let stores_nothing = channel.mechanism.clients_read() == ClientReads::StoringNothing;
            let is_alone = reader.is_some_and(|reader| !stores_nothing || reader.event_count.is_some());
            require!(!is_alone, "several processes of client `{client}` have one place in channel `{name}`");
        }
    }
    Ok(())
}

/// The parties of a channel by name, the writer first, and whether each is a client.
fn all_parties(channel: &ChannelPlan) -> impl Iterator<Item = (&str, bool)> {
    let writer = (channel.writer.name.as_str(), channel.writer.client);
    std::iter::once(writer).chain(channel.readers.iter().map(|reader| (reader.name.as_str(), reader.client)))
}

/// Counts the parties of a channel. Checks that each exists, and is a party only once.
fn parties_of(known: &Known<'_>, channel: &ChannelPlan) -> Result<PartyCounts, Invalid> {
    let name = &channel.name;
    for (party, client) in all_parties(channel) {
        let is = if client { known.clients.contains(party) } else { known.tasks.contains_key(party) };
        require!(is, "channel `{name}` has a party `{party}`, which does not exist");
    }
    // A task may set an alarm for itself.
    let parties = all_parties(channel).skip(usize::from(channel.is_timed()));
    unique(parties, |(party, _)| format!("channel `{name}` names `{party}` twice"))?;
    let readers = || all_parties(channel).skip(1);
    Ok(PartyCounts {
        real_time_writer: known.is_real_time(&channel.writer.name, channel.writer.client),
        readers: channel.readers.len(),
        real_time_readers: readers().filter(|(party, client)| known.is_real_time(party, *client)).count(),
        client_readers: readers().filter(|(_, client)| *client).count(),
        synchronous: channel.flow == Flow::Synchronous,
        overflow: channel.overflow,
        timed: channel.is_timed(),
        broadcast: channel.broadcast,
        lane: channel.lane.is_some(),
    })
}

/// V4 and V5, of a reader of a channel.
fn reader_of(
    known: &Known<'_>,
    channel: &ChannelPlan,
    parties: &PartyCounts,
    reader: &ReaderPlan,
) -> Result<(), Invalid> {
    let (name, reads, mechanism) = (&channel.name, &reader.name, channel.mechanism);
    let fits = match reader.way {
        None => mechanism.ways().is_empty(),
        Some(Way::Claims) => mechanism.claims_max() > 0 && !reader.client || mechanism.locking().is_some(),
        Some(Way::ByTime) => parties.real_time_writer && known.is_real_time(reads, reader.client),
        Some(Way::LooksOn) => true,
    };
    let claims_only = mechanism.ways() == [Way::Claims];
    let fits = fits && (reader.way.is_none() || !mechanism.ways().is_empty());
    let fits = fits && (!claims_only || reader.way == Some(Way::Claims));
    let paper = mechanism.paper_name();
    require!(fits, "`{reads}` cannot read channel `{name}` in the given way: {paper} has no such readers");
    require!(
        !reader.delayed || parties.synchronous,
        "`{reads}` reads channel `{name}` with a unit delay, but the channel is not a synchronous flow"
    );
    broadcast_to(known, channel, reader)?;
    if let Some(region) = reader.event_count {
        let leaves = parties.leave_real_time()
            || parties.broadcast && parties.real_time_writer && !known.is_real_time(reads, reader.client);
        let waits = channel.kind.is_queued() && leaves;
        require!(waits, "`{reads}` cannot wait for channel `{name}` by an event count");
        require!(
            region.size == LINE_BYTES,
            "the event count of `{reads}` for channel `{name}` is not a line"
        );
    }
    require!(
        reader.reservation.is_some() == (mechanism == Mechanism::ReservedBulk),
        "`{reads}` reserves blocks of channel `{name}`, whose mechanism is {paper}, or does not where it must"
    );
    require!(
        reader.reservation.is_none_or(|region| region.size == LINE_BYTES),
        "the reservation of `{reads}` for channel `{name}` is not a line"
    );
    if reader.triggered {
        let by = known.tasks.get(reads.as_str()).map(|task| &task.class);
        let waits =
            matches!(by, Some(ClassPlan::RealTime { arrival, .. }) if arrival.triggers().contains(name));
        require!(waits && !reader.client, "channel `{name}` releases `{reads}`, which does not wait for it");
        require!(channel.kind.is_queued(), "channel `{name}` releases a task, but is a state");
    }
    Ok(())
}

/// V4, of a reader of a broadcast: the writer respects it if it is real-time, and no other.
fn broadcast_to(known: &Known<'_>, channel: &ChannelPlan, reader: &ReaderPlan) -> Result<(), Invalid> {
    let (name, reads) = (&channel.name, &reader.name);
    let urgent = known.is_real_time(reads, reader.client);
    if channel.mechanism == Mechanism::Broadcast {
        let way = if urgent { Way::Claims } else { Way::LooksOn };
        require!(
            reader.way == Some(way),
            "`{reads}` reads broadcast `{name}` in the way of another class of reader"
        );
    }
    let is_bounded = reader.waiting.is_some() || reader.latency.is_some();
    require!(
        !is_bounded || channel.broadcast && urgent,
        "`{reads}` has bounds of its own for channel `{name}`, but is no real-time reader of a broadcast"
    );
    require!(
        reader.waiting.is_none_or(|waiting| waiting <= channel.capacity),
        "more values can wait for `{reads}` than broadcast `{name}` holds"
    );
    Ok(())
}

/// Bytes of a channel's object, and of the line that wakes its reader if the channel has one; `None` on overflow.
fn object_bytes(channel: &ChannelPlan) -> Option<u64> {
    let slots = channel.buffers.unwrap_or(channel.capacity);
    let value = channel.size.checked_add(channel.kind.stamp_bytes())?;
    let object = channel.mechanism.bytes(value, slots, channel.claims())?;
    let line = if channel.readers.iter().any(|reader| reader.triggered) { LINE_BYTES } else { 0 };
    object.checked_next_multiple_of(LINE_BYTES)?.checked_add(line)
}

/// V6, of servers.
fn servers(plan: &Plan, known: &Known<'_>) -> Result<(), Invalid> {
    let served = plan.servers.iter().flat_map(|server| &server.tasks).map(String::as_str);
    unique(served, |task| format!("task `{task}` is in two servers"))?;
    for server in &plan.servers {
        let (name, cpu) = (&server.name, server.cpu);
        require!(known.is_dispatched(cpu), "server `{name}` is on CPU {cpu}, which is not a dispatched core");
        let priority = server.priority;
        require!((1..=PRIORITY_MAX).contains(&priority), "server `{name}` cannot have priority {priority}");
        let fits = !server.budget.is_zero() && server.budget <= server.period;
        require!(fits, "server `{name}` has a budget that is zero or longer than its period");
        for task in &server.tasks {
            let here =
                known.tasks.contains_key(task.as_str()) && known.cpu(task).is_none_or(|own| own == cpu);
            require!(here, "server `{name}` serves `{task}`, which is not a task of its core");
        }
    }
    Ok(())
}

/// V2 and V6, of resources.
fn resources(plan: &Plan, known: &Known<'_>) -> Result<(), Invalid> {
    let states = plan.channels.iter().filter_map(|channel| {
        let readers = channel.readers.iter().map(|reader| reader.name.as_str());
        let users = std::iter::once(channel.writer.name.as_str()).chain(readers).collect();
        Some((&channel.name, channel.mechanism.locking()?, users))
    });
    let own = plan.resources.iter().map(|resource| {
        let users: Vec<&str> = resource.users.iter().map(String::as_str).collect();
        (&resource.name, resource.protocol, users)
    });
    for (name, protocol, users) in own.chain(states) {
        unique(users.iter().copied(), |user| format!("`{user}` uses `{name}` twice"))?;
        let mut cpus = HashSet::new();
        for user in users {
            let cpu = known.cpu(user).filter(|cpu| known.is_dispatched(*cpu));
            let Some(cpu) = cpu else {
                return Err(Invalid(format!(
                    "`{user}` uses `{name}`, but is not a task of a dispatched core"
                )));
            };
            cpus.insert(cpu);
        }
        let local = protocol.is_local();
        let paper = protocol.paper_name();
        require!(
            !local || cpus.len() <= 1,
            "tasks of several cores use `{name}`, but {paper} is for one core"
        );
    }
    Ok(())
}

/// V7.
fn memory(plan: &Plan) -> Result<(), Invalid> {
    let memory = &plan.memory;
    let sum = |parts: &[Size]| parts.iter().try_fold(0u64, |sum, part| sum.checked_add(part.as_bytes()));
    let parts = [memory.process, memory.segment, memory.runtime, memory.set_up];
    require!(
        sum(&parts) == Some(memory.total.as_bytes()),
        "the total of the memory is not the sum of its parts"
    );
    let bound = |task: &TaskPlan| match &task.class {
        ClassPlan::RealTime { set_up, .. } => *set_up,
        ClassPlan::BestEffort {} => None,
    };
    let set_ups: Vec<_> = plan.tasks.iter().filter_map(bound).collect();
    // A plan whose memory does not fit in 64 bits has no sums.
    require!(
        sum(&set_ups) == Some(memory.set_up.as_bytes()) || memory.total == Size::ZERO,
        "the memory of set-ups is not the sum of their bounds"
    );
    for task in &plan.tasks {
        let fits = |ring: Size| {
            let range = VALUE_RING_BYTES_MIN..=VALUE_RING_BYTES_MAX;
            range.contains(&ring.as_bytes()) && ring.as_bytes().is_power_of_two()
        };
        let records = plan.has_recorded_end(&task.name);
        // A plan whose map does not fit has no memory at all.
        let none = plan.memory.total.as_bytes() == 0 && task.value_ring.is_none();
        require!(
            none || task.value_ring.map_or(!records, |ring| records && fits(ring)),
            "task `{}` has no ring for the values that it records, or one of another size than plans give",
            task.name
        );
    }
    Ok(())
}

/// V8.
fn proof(plan: &Plan, known: &Known<'_>) -> Result<(), Invalid> {
    for channel in plan.channels.iter().filter(|channel| channel.broadcast) {
        let is_written = known.is_real_time(&channel.writer.name, channel.writer.client);
        let mut urgent =
            channel.readers.iter().filter(|reader| known.is_real_time(&reader.name, reader.client));
        let unbounded = urgent.find(|reader| reader.waiting.is_none() || reader.latency.is_none());
        if let Some(reader) = unbounded.filter(|_| is_written) {
            let (name, reader) = (&channel.name, &reader.name);
            return Err(Invalid(format!(
                "the plan is proven, but `{reader}` has no bound for broadcast `{name}`"
            )));
        }
    }
    for task in &plan.tasks {
        let ClassPlan::RealTime { deadline, response, terms, .. } = &task.class else { continue };
        let name = &task.name;
        let Some(response) = response else {
            return Err(Invalid(format!("the plan is proven, but task `{name}` has no bound")));
        };
        require!(
            response <= deadline,
            "the plan is proven, but task `{name}` has a bound longer than its deadline"
        );
        let sum = terms.iter().try_fold(Duration::ZERO, |sum, term| sum.checked_add(term.time));
        require!(sum == Some(*response), "the bound of task `{name}` is not the sum of its terms");
    }
    for server in &plan.servers {
        let kept = server.response.is_some_and(|response| response <= server.period);
        require!(kept, "the plan is proven, but server `{}` has no bound within its period", server.name);
    }
    for core in &plan.cores {
        require!(
            core.utilisation_ppm <= 1_000_000,
            "the plan is proven, but core {} is overloaded",
            core.cpu
        );
    }
    for chain in &plan.chains {
        require!(chain.kept(), "the plan is proven, but chain `{}` may exceed its bound", chain.name);
        let unknown = chain
            .path
            .iter()
            .map(|step| step.name.as_str())
            .find(|step| !known.tasks.contains_key(step) && !known.channels.contains_key(step));
        require!(
            unknown.is_none(),
            "chain `{}` goes through `{}`, which does not exist",
            chain.name,
            unknown.unwrap_or("")
        );
    }
    require!(
        plan.memory.total <= plan.memory.limit,
        "the plan is proven, but needs more memory than its limit"
    );
    Ok(())
}
