// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;
use std::ptr::NonNull;

use taut_plan::{ChannelPlan, MemoryMap, Plan, ReaderPlan, Region, ValidPlan};
use taut_scope::Scope;
use taut_segment::{ChannelEntry, ClientGrant, Owner, Role, SERVICES_MAX};
use taut_share::Memory;
use taut_sys::memory::Mapping;

/// The alignment of every region.
const LINE_BYTES: usize = taut_share::LINE_BYTES;

/// All memory of an application, taken before release 0 and released after the end: the process's own map and, if
/// there are clients, the segment, whose files the clients map.
#[derive(Debug)]
pub struct Maps {
    process: Option<Mapping>,
    clients: ClientMemory,
}

/// The memory of the channels of clients.
#[derive(Debug)]
enum ClientMemory {
    /// There are no clients.
    None,
    /// The segment.
    Segment(Owner),
    /// Memory of this process alone.
    Private(Mapping),
}

/// Why the planned memory is not available.
#[derive(Debug)]
pub enum MapError {
    /// The system does not have that much memory.
    System(taut_sys::Error),
    /// The segment cannot be made or published.
    Segment(taut_segment::Error),
    /// A region lies outside of its map: the region is not from the plan for which the maps were taken.
    Outside(String),
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(f, "cannot map the planned memory: {error}"),
            Self::Segment(error) => error.fmt(f),
            Self::Outside(what) => write!(f, "taut.lock puts {what} outside of its memory map"),
        }
    }
}

impl std::error::Error for MapError {}

impl Maps {
    /// Takes the memory of a plan, zeroed and present, and publishes the segment under the application's name.
    ///
    /// # Errors
    /// [`MapError`]; nothing is left behind then.
    pub fn take(plan: &ValidPlan) -> Result<Self, MapError> {
        let bytes = |size: taut_plan::Size| usize::try_from(size.as_bytes()).unwrap_or(usize::MAX);
        let process = match bytes(plan.memory.process) {
            0 => None,
            size => Some(taut_sys::memory::map_anonymous(size).map_err(MapError::System)?),
        };
        let clients = match bytes(plan.memory.segment) {
            0 => ClientMemory::None,
            _ => {
                let (size, group) = (plan.memory.segment.as_bytes(), plan.group.as_deref());
                let owner = Owner::create(&plan.app, size, directory(plan), group);
                ClientMemory::Segment(owner.map_err(MapError::Segment)?)
            }
        };
        Ok(Self { process, clients })
    }

    /// As [`Maps::take`], but publishes nothing: all memory is of this process alone, and no client can attach.
    ///
    /// # Errors
    /// [`MapError::System`].
    pub fn private(plan: &ValidPlan) -> Result<Self, MapError> {
        let map = |size: taut_plan::Size| match usize::try_from(size.as_bytes()).unwrap_or(usize::MAX) {
            0 => Ok(None),
            size => taut_sys::memory::map_anonymous(size).map(Some).map_err(MapError::System),
        };
        let clients = map(plan.memory.segment)?.map_or(ClientMemory::None, ClientMemory::Private);
        Ok(Self { process: map(plan.memory.process)?, clients })
    }

    /// The segment, if there are clients.
    pub fn segment(&self) -> Option<&Owner> {
        match &self.clients {
            ClientMemory::Segment(owner) => Some(owner),
            ClientMemory::None | ClientMemory::Private(_) => None,
        }
    }

    /// A scope over a region of the process's map.
    ///
    /// # Errors
    /// [`MapError::Outside`].
    ///
    /// # Safety
    /// The region belongs to a scope of the [`ValidPlan`] for which the maps were taken, and no other scope is made
    /// over it while the result lives. Regions of other scopes and channels have no byte in common with it (V1 of a
    /// valid plan).
    pub unsafe fn scope(&self, region: Region, of: &str) -> Result<Scope<'_>, MapError> {
        let (base, size) = self.locate(MemoryMap::Process, region, of)?;
        // SAFETY:
        // - `locate` checked that the region lies inside the map, which lives as long as self
        // - no other scope is made over it: the caller's duty; nothing else lies there: V1 of a valid plan
        Ok(unsafe { Scope::from_raw(base, size) })
    }

    /// The memory of a channel's protocol: its region, without the last line if the channel releases a reader.
    ///
    /// # Errors
    /// [`MapError::Outside`].
    ///
    /// # Safety
    /// The channel belongs to the [`ValidPlan`] for which the maps were taken, and no other kind of object is made
    /// over its region while the result lives. Regions of scopes and other channels have no byte in common with it
    /// (V1 of a valid plan).
    pub unsafe fn channel(&self, channel: &ChannelPlan) -> Result<Memory<'_>, MapError> {
        let (base, mut size) = self.locate(channel.place, channel.region, &channel.name)?;
        if channel.readers.iter().any(|reader| reader.triggered) {
            size = size.saturating_sub(LINE_BYTES);
        }
        // SAFETY:
        // - as in `scope`; regions start at multiples of 128 bytes of a page-aligned map
        // - both maps are zeroed when taken; the last line of a triggering channel is left out
        Ok(unsafe { Memory::from_raw(base, size) })
    }

    /// The start of a channel's region, and the region's size in bytes; it holds zeros until somebody writes there.
    ///
    /// # Errors
    /// [`MapError::Outside`].
    pub fn place(&self, channel: &ChannelPlan) -> Result<(NonNull<u8>, usize), MapError> {
        self.locate(channel.place, channel.region, &channel.name)
    }

    /// The last line of a channel's region, which its protocol leaves to the event count that wakes its reader.
    ///
    /// # Errors
    /// [`MapError::Outside`]; also if the region has no such line.
    pub fn last_line(&self, channel: &ChannelPlan) -> Result<NonNull<u8>, MapError> {
        let (base, size) = self.locate(channel.place, channel.region, &channel.name)?;
        let offset = size.checked_sub(LINE_BYTES).filter(|offset| offset % LINE_BYTES == 0);
        let offset = offset.ok_or_else(|| MapError::Outside(format!("`{}`", channel.name)))?;
        // SAFETY:
        // - offset < size, and `locate` checked that the region lies inside the map
        Ok(unsafe { base.add(offset) })
    }

    /// The line of the event count on which a reader of this channel waits; `None` if it has none.
    ///
    /// # Errors
    /// [`MapError::Outside`].
    pub fn event_count(&self, reader: &ReaderPlan, channel: &str) -> Result<Option<NonNull<u8>>, MapError> {
        let Some(region) = reader.event_count else { return Ok(None) };
        let place = if reader.client { MemoryMap::Segment } else { MemoryMap::Process };
        let (base, size) = self.locate(place, region, channel)?;
        if size < LINE_BYTES { Err(MapError::Outside(format!("`{channel}`"))) } else { Ok(Some(base)) }
    }

    /// The line in which a client says which block of this channel it has; `None` of a channel without one.
    ///
    /// # Errors
    /// [`MapError::Outside`].
    pub fn reservation(&self, reader: &ReaderPlan, channel: &str) -> Result<Option<NonNull<u8>>, MapError> {
        let Some(region) = reader.reservation else { return Ok(None) };
        let (base, size) = self.locate(MemoryMap::Segment, region, channel)?;
        if size < LINE_BYTES { Err(MapError::Outside(format!("`{channel}`"))) } else { Ok(Some(base)) }
    }

    fn locate(&self, place: MemoryMap, region: Region, of: &str) -> Result<(NonNull<u8>, usize), MapError> {
        let outside = || MapError::Outside(format!("`{of}`"));
        let map = match (place, &self.clients) {
            (MemoryMap::Segment, ClientMemory::Segment(owner)) => {
                // The segment's files begin at multiples of a page, and so do their maps.
                let aligned = region.offset.is_multiple_of(LINE_BYTES as u64);
                let bytes = owner.region(region.offset, region.size).filter(|_| aligned);
                let bytes = bytes.ok_or_else(outside)?;
                return Ok((bytes.cast(), bytes.len()));
            }
            (MemoryMap::Segment, ClientMemory::None) => return Err(outside()),
            (MemoryMap::Segment, ClientMemory::Private(map)) => Some(map),
            (MemoryMap::Process, _) => self.process.as_ref(),
        };
        let map = map.and_then(|map| Some((NonNull::new(map.ptr())?, map.len())));
        let (base, size) = map.unwrap_or((NonNull::dangling(), 0));
        let offset = usize::try_from(region.offset).map_err(|_| outside())?;
        let length = usize::try_from(region.size).map_err(|_| outside())?;
        let end = offset.checked_add(length).ok_or_else(outside)?;
        if end > size || offset % LINE_BYTES != 0 {
            return Err(outside());
        }
        // SAFETY:
        // - offset ≤ end ≤ size
        Ok((unsafe { base.add(offset) }, length))
    }
}

/// The service of the task that writes a channel, if the segment's header has a place for its state.
fn sending_service(plan: &Plan, channel: &ChannelPlan) -> Option<u16> {
    let task = plan.task(&channel.writer.name).filter(|_| !channel.writer.client)?;
    let name = plan.tasks[task].service.as_ref()?;
    let service = plan.services.iter().position(|service| service.name == *name)?;
    u16::try_from(service).ok().filter(|service| *service < SERVICES_MAX)
}

/// The channels to which each client may attach.
fn directory(plan: &Plan) -> Vec<ClientGrant> {
    let entry = |channel: &ChannelPlan, role: Role, reader: Option<&ReaderPlan>| ChannelEntry {
        channel: channel.name.clone(),
        role,
        mechanism: channel.mechanism.word().to_owned(),
        layout: channel.layout.clone(),
        value_size: channel.size,
        capacity: channel.buffers.unwrap_or(channel.capacity),
        readers: channel.claims(),
        offset: channel.region.offset,
        size: channel.region.size,
        triggered: channel.readers.iter().any(|reader| reader.triggered),
        event_count: reader.and_then(|reader| reader.event_count).map(|region| region.offset),
        history: if role == Role::Reads { channel.history } else { 0 },
        service: sending_service(plan, channel),
        reservation: reader.and_then(|reader| reader.reservation).map(|region| region.offset),
    };
    let of_client = |client: &String| {
        let channels = plan.channels.iter().filter_map(|channel| {
            if channel.writer.client && channel.writer.name == *client {
                return Some(entry(channel, Role::Writes, None));
            }
            let reader = channel.readers.iter().find(|reader| reader.client && reader.name == *client)?;
            let takes = channel.storing_client() == Some(client);
            Some(entry(channel, if takes { Role::Takes } else { Role::Reads }, Some(reader)))
        });
        let mut grant = ClientGrant::new(client.clone(), channels.collect());
        grant.max_attached = plan.max_attached(client);
        grant
    };
    plan.clients.iter().map(of_client).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"manifest = 1
app.name = "boot-maps"
[platform]
cores = [0]
memory = "32MiB"
on-missing-privilege = "degrade"
[payloads]
Word = { type = "u64" }
[tasks.first]
arrival = { periodic = "1ms" }
deadline = "1ms"
wcet = { value = "50us", source = "guess" }
[tasks.second]
arrival = { periodic = "1ms" }
deadline = "1ms"
wcet = { value = "50us", source = "guess" }
[clients.screen]
[clients.keys]
[channels.within]
kind = "state"
from = "first"
to = "second"
payload = "Word"
[channels.shown]
kind = "state"
from = "first"
to = "screen"
payload = "Word"
[channels.typed]
kind = "state"
from = "keys"
to = "first"
payload = "Word"
"#;

    fn planned() -> ValidPlan {
        let source = taut_manifest::SourceText { name: "taut.toml".to_owned(), text: MANIFEST.to_owned() };
        let loaded = taut_manifest::load(&source, &[]);
        let shown = taut_manifest::render(&loaded.diagnostics, &[&source], false, 100);
        let model = loaded.model.unwrap_or_else(|| panic!("{shown}"));
        ValidPlan::new(taut_planner::Planned::make(&model, Vec::new()).plan).unwrap()
    }

    /// A client's directory lists the channels that it writes or reads, and no others.
    #[test]
    #[cfg_attr(miri, ignore = "slow: a plan is made; nothing in it is unsafe")]
    fn a_client_s_directory_is_its_channels() {
        let mut plan = planned().into_plan();
        let of = |plan: &Plan| {
            let entries = |entries: Vec<ChannelEntry>| {
                entries.into_iter().map(|entry| (entry.channel, entry.role)).collect::<Vec<_>>()
            };
            let mut all =
                directory(plan).into_iter().map(|of| (of.name, entries(of.entries))).collect::<Vec<_>>();
            all.sort_by(|(one, _), (other, _)| one.cmp(other));
            all
        };
        let keys = ("keys".to_owned(), vec![("typed".to_owned(), Role::Writes)]);
        let screen = ("screen".to_owned(), vec![("shown".to_owned(), Role::Reads)]);
        assert_eq!(of(&plan), [keys, screen]);
        // Tasks with the names of clients are not clients.
        for channel in &mut plan.channels {
            channel.writer.client = false;
            channel.readers.iter_mut().for_each(|reader| reader.client = false);
        }
        assert_eq!(of(&plan), [("keys".to_owned(), vec![]), ("screen".to_owned(), vec![])]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls mmap with MAP_POPULATE")]
    fn a_plan_with_clients_has_a_segment() {
        let maps = Maps::take(&planned()).unwrap();
        assert!(maps.segment().is_some());
    }

    #[test]
    fn each_error_says_what_is_wrong() {
        let system = taut_sys::Error { call: "mmap", errno: 12 };
        let name = taut_segment::Error::BadName { name: "?".to_owned() };
        assert_eq!(MapError::System(system).to_string(), format!("cannot map the planned memory: {system}"));
        let said = name.to_string();
        assert!(said.contains('?'), "{said}");
        assert_eq!(MapError::Segment(name).to_string(), said);
        assert_eq!(
            MapError::Outside("`words`".to_owned()).to_string(),
            "taut.lock puts `words` outside of its memory map"
        );
    }
}
