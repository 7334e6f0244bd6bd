// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The memory map: what stands where in the process's own map and in the segment.

use taut_analysis::{Overflow, memory};
use taut_model::{Channel, ChannelId, Class, Fault, Flow, LINE_BYTES, Model, Party, Size, codes};

use crate::flow::Realisation;
use crate::{MemoryPlan, Place, Region, ScopePlan};

/// Bytes of a segment's header, which stands at its start.
pub(crate) const SEGMENT_HEADER_BYTES: u64 = LINE_BYTES;

/// Where everything is.
#[derive(Default)]
pub(crate) struct Map {
    /// By service.
    pub(crate) services: Vec<(ScopePlan, Size)>,
    /// By task: persistent, release; none for a best-effort task.
    pub(crate) tasks: Vec<Option<(ScopePlan, ScopePlan)>>,
    /// By channel.
    pub(crate) channels: Vec<(Place, Region)>,
    pub(crate) process: u64,
    pub(crate) segment: u64,
}

/// Hands out stretches from the start of a map.
struct Cursor(u64);

impl Cursor {
    fn take(&mut self, size: u64) -> Result<Region, Overflow> {
        let offset = self.0;
        self.0 = memory::aligned(offset.checked_add(size).ok_or(Overflow)?)?;
        Ok(Region { offset, size })
    }
}

/// Lays out services, tasks and channels, each in the manifest's order.
pub(crate) fn lay_out(model: &Model, channels: &[Realisation]) -> Result<Map, Overflow> {
    let mut process = Cursor(0);
    let mut segment = Cursor(SEGMENT_HEADER_BYTES);
    let mut map = Map::default();
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
    for ((id, channel), realisation) in model.channel_ids().zip(model.channels()).zip(channels) {
        let payload = &model.payloads()[channel.payload];
        let triggers = releases(model, id, channel);
        let slots = realisation.buffers.unwrap_or(realisation.capacity);
        let claims = realisation.claims(channel);
        let size = memory::channel(payload, realisation.mechanism, slots, claims, triggers)?;
        let shared = [channel.writer].iter().chain(&channel.readers).any(|p| matches!(p, Party::Client(_)));
        map.channels.push(if shared {
            (Place::Segment, segment.take(size)?)
        } else {
            (Place::Process, process.take(size)?)
        });
    }
    map.process = process.0;
    let shared = map.channels.iter().any(|(place, _)| *place == Place::Segment);
    map.segment = if shared { segment.0 } else { 0 };
    Ok(map)
}

/// Whether a channel releases one of its readers.
pub(crate) fn releases(model: &Model, id: ChannelId, channel: &Channel) -> bool {
    channel
        .readers
        .iter()
        .any(|reader| matches!(reader, Party::Task(task) if model.trigger(*task) == Some(id)))
}

/// Sums up, and compares with what the platform gives. `locks` are bytes of those between cores, `dispatched` the number of
/// cores on which a dispatcher decides.
pub(crate) fn totals(
    model: &Model,
    map: &Map,
    locks: u64,
    dispatched: usize,
    faults: &mut Vec<Fault>,
) -> Result<MemoryPlan, Overflow> {
    let flows = model.channels().iter().filter(|channel| channel.flow == Flow::Synchronous);
    let flows = flows.map(|channel| memory::flow(channel.readers.len() as u64));
    let flows = memory::sum(flows.collect::<Result<Vec<_>, _>>()?)?;
    let runtime =
        Size::from_bytes(memory::sum([memory::runtime(model, dispatched)?.as_bytes(), locks, flows])?);
    let total = memory::sum([map.process, map.segment, runtime.as_bytes()])?;
    let limit = model.platform().memory;
    let (process, segment) = (Size::from_bytes(map.process), Size::from_bytes(map.segment));
    if total > limit.as_bytes() {
        let message = "the plan needs more memory than the platform gives";
        let place = taut_model::Place::value("platform.memory");
        let text = format!("gives {limit}, {total} bytes are needed");
        faults.push(
            Fault::error(codes::MEMORY_EXCEEDED, message, place, text)
                .note(format!(
                    "scopes and channels {process}, segment {segment}, stacks and trace rings {runtime}"
                ))
                .help(format!("give at least \"{}MiB\", or shrink a scope", total.div_ceil(1 << 20))),
        );
    }
    Ok(MemoryPlan { process, segment, runtime, total: Size::from_bytes(total), limit })
}

impl Map {
    /// A map in which nothing has a place.
    pub(crate) fn empty(model: &Model) -> Self {
        let nowhere = Region { offset: 0, size: 0 };
        Self {
            services: model.services().iter().map(|_| (nowhere, Size::ZERO)).collect(),
            tasks: model.tasks().iter().map(|_| Some((nowhere, nowhere))).collect(),
            channels: model.channels().iter().map(|_| (Place::Process, nowhere)).collect(),
            process: 0,
            segment: 0,
        }
    }
}
