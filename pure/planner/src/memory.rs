// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The memory map: where each object lies, in the process's own map or in the segment.

use std::collections::BTreeMap;

use taut_analysis::{Overflow, memory};
use taut_model::{
    Channel, ChannelId, ChannelKind, Class, ClientReads, Fault, Flow, LINE_BYTES, Mechanism, Model, PartyId,
    Reception, Size, codes,
};
use taut_plan::layout::{
    File, PAGE_BYTES, SEGMENT_HEADER_BYTES, event_count_file, file_of, reservation_file,
};
use taut_plan::{MemoryMap, MemoryPlan, Region, ScopePlan};

use crate::channels::flow::Realisation;
use crate::overheads::watched;
use crate::placement::{Placements, dispatch};
use crate::response::shared::Shared;

/// Where everything lies.
#[derive(Default)]
pub(crate) struct Map {
    /// By service: its persistent scope, and the memory of the service with its tasks.
    pub(crate) services: Vec<(ScopePlan, Size)>,
    /// By task: persistent, release; none for a best-effort task.
    pub(crate) tasks: Vec<Option<(ScopePlan, ScopePlan)>>,
    /// By task: its ring of recorded values, in the heap.
    pub(crate) value_rings: Vec<Option<Size>>,
    /// By channel.
    pub(crate) channels: Vec<(MemoryMap, Region)>,
    /// By channel and reader: the event count on which the reader waits; none if it does not wait.
    pub(crate) event_counts: Vec<Vec<Option<Region>>>,
    /// By channel: the line in which the client that receives blocks says which one it has.
    pub(crate) reservations: Vec<Option<Region>>,
    /// Bytes of the process's map.
    pub(crate) process: u64,
    /// Bytes of the segment; 0 without one.
    pub(crate) segment: u64,
}

/// What lies in a file of the segment.
enum Item {
    /// A channel's object.
    Object(usize),
    /// The event count of a channel's reader.
    EventCount(usize, usize),
    /// The reservation of a channel's reader.
    Reservation(usize),
}

/// Hands out regions from the start of a map.
struct Cursor(u64);

impl Cursor {
    fn take(&mut self, size: u64) -> Result<Region, Overflow> {
        let offset = self.0;
        self.0 = memory::aligned(offset.checked_add(size).ok_or(Overflow)?)?;
        Ok(Region { offset, size })
    }

    fn next_page(&mut self) -> Result<(), Overflow> {
        self.0 = self.0.checked_next_multiple_of(PAGE_BYTES).ok_or(Overflow)?;
        Ok(())
    }
}

/// Lays out services, tasks and channels, each in the manifest's order; in the segment file by file.
pub(crate) fn lay_out(model: &Model, channels: &[Realisation]) -> Result<Map, Overflow> {
    let mut process = Cursor(0);
    let mut files: BTreeMap<File<'_>, Vec<Item>> = BTreeMap::new();
    let mut map = Map::default();
    scopes(model, &mut process, &mut map)?;
    for ((id, channel), realisation) in model.channel_ids().zip(model.channels()).zip(channels) {
        let value = model.value_bytes(id).ok_or(Overflow)?;
        let triggers = releases(model, id, channel);
        let slots = realisation.buffers.unwrap_or(realisation.capacity);
        let claims = realisation.claims(channel);
        let size = memory::channel(value, realisation.mechanism, slots, claims, triggers)?;
        let client = |party: &PartyId| match party {
            PartyId::Client(client) => Some(model.client(*client).name.as_str()),
            PartyId::Task(_) => None,
        };
        let reading = channel.readers.iter().find_map(client);
        let writing = client(&channel.writer);
        let at = map.channels.len();
        if reading.is_some() || writing.is_some() {
            let storing = reading.filter(|_| realisation.mechanism.clients_read() == ClientReads::Storing);
            let file = file_of(writing, storing, reading.is_some(), triggers);
            files.entry(file).or_default().push(Item::Object(at));
            map.channels.push((MemoryMap::Segment, Region { offset: 0, size }));
        } else {
            map.channels.push((MemoryMap::Process, process.take(size)?));
        }
        let mut event_counts = vec![None; channel.readers.len()];
        if channel.reception == Reception::Wait {
            // A real-time reader of a broadcast waits for its release instead.
            let readers =
                channel.readers.iter().enumerate().filter(|(_, party)| !model.is_real_time(**party));
            for (reader, party) in readers {
                event_counts[reader] = Some(match client(party) {
                    None => process.take(LINE_BYTES)?,
                    Some(client) => {
                        let file = files.entry(event_count_file(client)).or_default();
                        file.push(Item::EventCount(at, reader));
                        Region { offset: 0, size: LINE_BYTES }
                    }
                });
            }
        }
        map.event_counts.push(event_counts);
        let reserves = reading.filter(|_| realisation.mechanism == Mechanism::ReservedBulk);
        if let Some(client) = reserves {
            files.entry(reservation_file(client)).or_default().push(Item::Reservation(at));
        }
        map.reservations.push(reserves.map(|_| Region { offset: 0, size: LINE_BYTES }));
    }
    map.process = process.0;
    for id in model.task_ids() {
        map.value_rings.push(memory::value_ring(model, id)?.map(Size::from_bytes));
    }
    if !files.is_empty() {
        map.segment = segment(files, &mut map)?;
    }
    Ok(map)
}

/// The scopes of services and tasks, with the memory of each service.
fn scopes(model: &Model, process: &mut Cursor, map: &mut Map) -> Result<(), Overflow> {
    for service in model.services() {
        let scope = process.take(service.persistent.as_bytes())?;
        map.services.push((scope, Size::ZERO));
    }
    for task in model.tasks() {
        map.tasks.push(match &task.class {
            Class::RealTime(rt) => {
                Some((process.take(rt.persistent.as_bytes())?, process.take(rt.release.as_bytes())?))
            }
            Class::BestEffort(_) => None,
        });
        if let Some(service) = task.service {
            let memory = &mut map.services[service.index()].1;
            *memory = Size::from_bytes(memory::sum([memory.as_bytes(), memory::task(task)?])?);
        }
    }
    for (scope, memory) in &mut map.services {
        *memory = Size::from_bytes(memory::sum([memory.as_bytes(), memory::aligned(scope.size)?])?);
    }
    Ok(())
}

/// Lays out the segment: its objects and event counts, file by file. Returns its size.
fn segment(files: BTreeMap<File<'_>, Vec<Item>>, map: &mut Map) -> Result<u64, Overflow> {
    let mut segment = Cursor(SEGMENT_HEADER_BYTES);
    // The file that no client writes sorts first, and has the header.
    for (file, items) in files {
        if file.is_some() {
            segment.next_page()?;
        }
        for item in items {
            match item {
                Item::Object(channel) => {
                    let (_, region) = &mut map.channels[channel];
                    *region = segment.take(region.size)?;
                }
                Item::EventCount(channel, reader) => {
                    map.event_counts[channel][reader] = Some(segment.take(LINE_BYTES)?);
                }
                Item::Reservation(channel) => map.reservations[channel] = Some(segment.take(LINE_BYTES)?),
            }
        }
    }
    segment.next_page()?;
    Ok(segment.0)
}

/// Whether a channel releases one of its readers.
pub(crate) fn releases(model: &Model, id: ChannelId, channel: &Channel) -> bool {
    channel.readers.iter().any(|reader| model.releases(id, *reader))
}

/// Sums up the memory and compares it with what the platform gives. `locks` is the number of bytes of locks between
/// cores, `dispatched` the number of cores on which a dispatcher decides, and `watching` of those with a device thread.
pub(crate) fn totals(
    model: &Model,
    map: &Map,
    locks: u64,
    (dispatched, watching): (usize, usize),
    faults: &mut Vec<Fault>,
) -> Result<MemoryPlan, Overflow> {
    let flows = model.channels().iter().filter(|channel| channel.flow == Flow::Synchronous);
    let flows = flows.map(|channel| memory::flow(channel.readers.len() as u64));
    let flows = memory::sum(flows.collect::<Result<Vec<_>, _>>()?)?;
    let alarms = model.channels().iter().filter(|channel| channel.is_timed());
    let alarms = alarms.map(|channel| memory::alarms(channel.capacity.unwrap_or(1).into()));
    let alarms = memory::sum(alarms.collect::<Result<Vec<_>, _>>()?)?;
    let values = memory::sum(map.value_rings.iter().flatten().map(|ring| ring.as_bytes()))?;
    let threads = memory::runtime(model, dispatched, watching)?.as_bytes();
    let runtime = Size::from_bytes(memory::sum([threads, locks, flows, alarms, values])?);
    let set_up = memory::set_up(model)?;
    let total = memory::sum([map.process, map.segment, runtime.as_bytes(), set_up.as_bytes()])?;
    let limit = model.platform().memory;
    let (process, segment) = (Size::from_bytes(map.process), Size::from_bytes(map.segment));
    if total > limit.as_bytes() {
        let message = "the plan needs more memory than the platform gives";
        let place = taut_model::KeyPath::value("platform.memory");
        let text = format!("gives {limit}, {total} bytes are needed");
        let mut fault = Fault::error(codes::MEMORY_EXCEEDED, message, place, text);
        for (path, size) in largest(model, map) {
            fault = fault.also(taut_model::KeyPath::value(path), format!("takes {size}"));
        }
        let mut parts =
            format!("scopes and channels {process}, segment {segment}, stacks and trace rings {runtime}");
        if set_up > Size::ZERO {
            parts += &format!(", heap of set-ups {set_up}");
        }
        let help = format!("give at least \"{}\", or shrink {}", whole(total), shrinkable(model));
        faults.push(fault.note(parts).help(help));
    }
    Ok(MemoryPlan { process, segment, runtime, set_up, total: Size::from_bytes(total), limit })
}

/// The least size in whole MiB that is enough; in bytes if that does not fit in 64 bits.
fn whole(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match bytes.checked_next_multiple_of(MIB) {
        Some(whole) => format!("{}MiB", whole / MIB),
        None => format!("{bytes}B"),
    }
}

/// What an author may make smaller.
fn shrinkable(model: &Model) -> &'static str {
    match model.channels().iter().any(|channel| channel.kind == ChannelKind::Bulk) {
        true => "a scope or a bulk channel",
        false => "a scope",
    }
}

/// The three largest scopes, set-ups and bulk channels: their paths in the manifest.
fn largest(model: &Model, map: &Map) -> Vec<(String, Size)> {
    let mut scopes = Vec::new();
    for service in model.services() {
        scopes.push((format!("services.{}.persistent", service.name), service.persistent));
    }
    for (_, task, of) in model.real_time() {
        scopes.push((format!("tasks.{}.memory.persistent", task.name), of.persistent));
        scopes.push((format!("tasks.{}.memory.release", task.name), of.release));
        scopes.extend(of.set_up.map(|size| (format!("tasks.{}.memory.set-up", task.name), size)));
    }
    for (channel, (_, region)) in model.channels().iter().zip(&map.channels) {
        if channel.kind == ChannelKind::Bulk {
            scopes.push((format!("channels.{}", channel.name), Size::from_bytes(region.size)));
        }
    }
    scopes.retain(|(_, size)| *size > Size::ZERO);
    scopes.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
    scopes.truncate(3);
    scopes
}

impl Map {
    /// A map in which nothing has a place.
    pub(crate) fn empty(model: &Model) -> Self {
        let nowhere = Region { offset: 0, size: 0 };
        Self {
            services: model.services().iter().map(|_| (nowhere, Size::ZERO)).collect(),
            tasks: model.tasks().iter().map(|_| Some((nowhere, nowhere))).collect(),
            value_rings: vec![None; model.tasks().len()],
            channels: model.channels().iter().map(|_| (MemoryMap::Process, nowhere)).collect(),
            event_counts: model.channels().iter().map(|channel| vec![None; channel.readers.len()]).collect(),
            reservations: vec![None; model.channels().len()],
            process: 0,
            segment: 0,
        }
    }
}

/// The map and its sums; an empty one, with a fault, if they do not fit in 64 bits.
pub(crate) fn memory(
    model: &Model,
    channels: &[Realisation],
    placements: &Placements<'_>,
    shared: Option<&Shared>,
    faults: &mut Vec<Fault>,
) -> (Map, MemoryPlan) {
    let locks = Shared::locks(shared, placements);
    let dispatched = (0..placements.cores.len())
        .filter(|core| dispatch::reason(model, placements, *core).is_some())
        .count();
    let watching = watched::by_core(model, placements).iter().filter(|devices| !devices.is_empty()).count();
    let found = lay_out(model, channels).and_then(|map| {
        totals(model, &map, locks, (dispatched, watching), faults).map(|memory| (map, memory))
    });
    found.unwrap_or_else(|_| {
        let place = taut_model::KeyPath::value("platform.memory");
        let message = "the memory map does not fit in 64 bits";
        let fault = Fault::error(codes::MEMORY_EXCEEDED, message, place, "less than is needed");
        faults.push(fault.help("shrink the largest scope"));
        let zero = taut_model::Size::ZERO;
        let limit = model.platform().memory;
        let memory =
            MemoryPlan { process: zero, segment: zero, runtime: zero, set_up: zero, total: zero, limit };
        (Map::empty(model), memory)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_a_file_for_itself_alone() {
        assert_eq!(file_of(Some("ui"), None, false, false), Some(("ui", false)));
        for (is_read_by_clients, triggers) in [(true, false), (false, true), (true, true)] {
            assert_eq!(file_of(Some("ui"), None, is_read_by_clients, triggers), Some(("ui", true)));
        }
        // No other client maps the file of what it takes from the application; its event count is in the other file.
        assert_eq!(file_of(None, Some("ui"), true, false), Some(("ui", false)));
        assert_eq!(event_count_file("ui"), Some(("ui", true)));
        assert_eq!(file_of(None, None, true, false), None);
    }
}
