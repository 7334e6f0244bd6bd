// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Names: well formed, unique in their namespace, resolved, and used.

use std::collections::HashMap;

use super::channels::Link;
use super::faults::Faults;
use crate::{
    ChannelDraft, ChannelId, ClassDraft, ClientId, Draft, Fault, KeyPath, PartyId, Payload, ResourceId,
    ServiceId, TaskDraft, TaskId, codes, is_name, nearest,
};

/// The entry of each name; of duplicates, the first.
pub(super) struct Names<'d> {
    draft: &'d Draft,
    parties: HashMap<&'d str, PartyId>,
    channels: HashMap<&'d str, ChannelId>,
    services: HashMap<&'d str, ServiceId>,
    resources: HashMap<&'d str, ResourceId>,
    payloads: HashMap<&'d str, usize>,
}

/// What kind of thing a reference names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    Party,
    Channel,
    /// A channel that releases its reader.
    Queue,
    Service,
    Mode,
    Resource,
    Server,
    Payload,
}

impl<'d> Names<'d> {
    pub(super) fn new(draft: &'d Draft) -> Self {
        let mut parties = HashMap::new();
        for (id, task) in (0..u16::MAX).zip(&draft.tasks) {
            parties.entry(task.name.as_str()).or_insert(PartyId::Task(TaskId(id)));
        }
        for (id, client) in (0..u16::MAX).zip(&draft.clients) {
            parties.entry(client.name.as_str()).or_insert(PartyId::Client(ClientId(id)));
        }
        let mut channels = HashMap::new();
        for (id, channel) in (0..u16::MAX).zip(&draft.channels) {
            channels.entry(channel.name.as_str()).or_insert(ChannelId(id));
        }
        let mut services = HashMap::new();
        for (id, service) in (0..u16::MAX).zip(&draft.services) {
            services.entry(service.name.as_str()).or_insert(ServiceId(id));
        }
        let mut resources = HashMap::new();
        for (id, resource) in (0..u16::MAX).zip(&draft.resources) {
            resources.entry(resource.name.as_str()).or_insert(ResourceId(id));
        }
        let mut payloads = HashMap::new();
        for (at, payload) in draft.payloads.iter().enumerate() {
            payloads.entry(payload.name.as_str()).or_insert(at);
        }
        Self { draft, parties, channels, services, resources, payloads }
    }

    pub(super) fn party(&self, name: &str) -> Option<PartyId> {
        self.parties.get(name).copied()
    }

    pub(super) fn channel(&self, name: &str) -> Option<ChannelId> {
        self.channels.get(name).copied()
    }

    pub(super) fn service(&self, name: &str) -> Option<ServiceId> {
        self.services.get(name).copied()
    }

    pub(super) fn resource(&self, name: &str) -> Option<ResourceId> {
        self.resources.get(name).copied()
    }

    pub(super) fn payload(&self, name: &str) -> Option<usize> {
        self.payloads.get(name).copied()
    }

    /// Reports a name that is not defined, unless its definition could not be read.
    pub(super) fn dangling(&self, want: Want, name: &str, place: KeyPath, faults: &mut Faults<'_>) {
        if !self.reported(want, name) {
            faults.push(self.not_defined(want, name, place));
        }
    }

    /// Whether a missing name was already reported at its definition.
    fn reported(&self, want: Want, name: &str) -> bool {
        let faulty = &self.draft.faulty;
        let mut tables = want.tables().iter();
        tables.any(|table| faulty.contains(*table) || faulty.contains(&format!("{table}.{name}")))
    }

    fn not_defined(&self, want: Want, name: &str, place: KeyPath) -> Fault {
        let noun = want.noun();
        let fault =
            Fault::error(codes::DANGLING_NAME, format!("there is no {noun} `{name}`"), place, "not defined");
        let known = self.known(want);
        match nearest(name, known.iter().copied()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None if known.is_empty() => {
                let with = if want == Want::Queue { " with `kind = \"queue\"`" } else { "" };
                fault.help(format!("define it: `[{}.{name}]`{with}", want.tables()[0]))
            }
            None => {
                let mut list = known.iter().take(8).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
                if known.len() > 8 {
                    list.push_str(", …");
                }
                fault.help(format!("the defined names are {list}"))
            }
        }
    }

    fn known(&self, want: Want) -> Vec<&'d str> {
        let tasks = self.draft.tasks.iter().map(|t| t.name.as_str());
        match want {
            Want::Party => tasks.chain(self.draft.clients.iter().map(|c| c.name.as_str())).collect(),
            Want::Channel => stated(self.draft.channels.iter()),
            Want::Queue => stated(self.draft.channels.iter().filter(|c| c.kind.is_queued())),
            Want::Service => self.draft.services.iter().map(|s| s.name.as_str()).collect(),
            Want::Mode => self.draft.modes.iter().map(|m| m.name.as_str()).collect(),
            Want::Resource => self.draft.resources.iter().map(|r| r.name.as_str()).collect(),
            Want::Server => self.draft.servers.iter().map(|s| s.name.as_str()).collect(),
            Want::Payload => {
                self.draft.payloads.iter().filter(stated_payload).map(|p| p.name.as_str()).collect()
            }
        }
    }

    /// Checks the form and uniqueness of all names.
    pub(super) fn check(&self, faults: &mut Faults<'_>) {
        let draft = self.draft;
        kebab("application", &draft.app.name, KeyPath::value("app.name"), faults);
        let names = draft.payloads.iter().filter(stated_payload).map(|p| p.name.as_str());
        for name in names.clone() {
            if !is_type_name(name) {
                let place = KeyPath::key(format!("payloads.{name}"));
                faults.push(bad("payload", name, place, "a letter, then letters, digits, `-` or `_`"));
            }
        }
        duplicates("payloads", names, faults);
        let mut table = |table: &str, noun: &str, names: &mut dyn Iterator<Item = &str>| {
            let names = names.collect::<Vec<_>>();
            for name in &names {
                kebab(noun, name, KeyPath::key(format!("{table}.{name}")), faults);
            }
            duplicates(table, names.into_iter(), faults);
        };
        table("services", "service", &mut draft.services.iter().map(|s| s.name.as_str()));
        table("modes", "mode", &mut draft.modes.iter().map(|m| m.name.as_str()));
        table("resources", "resource", &mut draft.resources.iter().map(|r| r.name.as_str()));
        table("servers", "server", &mut draft.servers.iter().map(|s| s.name.as_str()));
        table("tasks", "task", &mut draft.tasks.iter().map(|t| t.name.as_str()));
        table("clients", "client", &mut draft.clients.iter().map(|c| c.name.as_str()));
        table("channels", "channel", &mut stated(draft.channels.iter()).into_iter());
        for client in &draft.clients {
            if let Some(PartyId::Task(_)) = self.party(&client.name) {
                let name = &client.name;
                let message = format!("`{name}` is a task and a client");
                let place = KeyPath::key(format!("clients.{name}"));
                faults.push(
                    Fault::error(codes::DUPLICATE_NAME, message, place, "the client")
                        .also(KeyPath::key(format!("tasks.{name}")), "the task")
                        .note("channels name tasks and clients alike, so they share one namespace")
                        .help("rename one of them"),
                );
            }
        }
        let mut seen = HashMap::new();
        for (at, chain) in draft.chains.iter().enumerate() {
            let place = KeyPath::value(format!("chains.{at}.name"));
            kebab("chain", &chain.name, place.clone(), faults);
            if let Some(first) = seen.insert(chain.name.as_str(), at) {
                let message = format!("two chains are called `{}`", chain.name);
                let also = KeyPath::value(format!("chains.{first}.name"));
                faults.push(
                    Fault::error(codes::DUPLICATE_NAME, message, place, "again here")
                        .also(also, "first here")
                        .help("rename one of them"),
                );
            }
        }
    }

    /// Warns about unused definitions, but not about one that a reference may use: a reference that could not be read,
    /// or a reference to an undefined name to which no other name is nearer.
    pub(super) fn unused(&self, links: &[Link], faults: &mut Faults<'_>) {
        let draft = self.draft;
        let unread_payload = faults.any_wrong("channels", &["payload"]);
        let unread_party = faults.any_wrong("channels", &["from", "to"]);
        let unread_service = faults.any_wrong("tasks", &["service"]);
        let unread_section = faults.any_wrong("tasks", &["sections", "segments"]);
        let unread_server = faults.any_wrong("tasks", &["server", "class"]);
        let used = self.used(links);
        let mut warnings = UnusedWarnings { missed: self.missed(), faults };
        // Of two definitions with one name, references mean the first.
        for (at, (payload, used)) in draft.payloads.iter().zip(used.payloads).enumerate() {
            let is_stated = self.payload(&payload.name) == Some(at) && stated_payload(&payload);
            if !used && !unread_payload && is_stated {
                warnings.push(Want::Payload, "payloads", "payload", &payload.name, "no channel carries it");
            }
        }
        for (at, (service, used)) in draft.services.iter().zip(used.services).enumerate() {
            if !used && !unread_service && self.service(&service.name).is_some_and(|id| id.index() == at) {
                warnings.push(Want::Service, "services", "service", &service.name, "no task belongs to it");
            }
        }
        for (at, (resource, used)) in draft.resources.iter().zip(used.resources).enumerate() {
            if !used && !unread_section && self.resource(&resource.name).is_some_and(|id| id.index() == at) {
                warnings.push(Want::Resource, "resources", "resource", &resource.name, "no task uses it");
            }
        }
        for server in draft.servers.iter().map(|server| &server.name) {
            let used = draft.tasks.iter().any(|task| served_by(task) == Some(server));
            if !used && !unread_server {
                warnings.push(Want::Server, "servers", "server", server, "no task runs in it");
            }
        }
        for (at, (client, used)) in draft.clients.iter().zip(used.clients).enumerate() {
            let own = matches!(self.party(&client.name), Some(PartyId::Client(id)) if id.index() == at);
            if !used && !unread_party && own {
                warnings.push(Want::Party, "clients", "client", &client.name, "no channel names it");
            }
        }
    }

    fn used(&self, links: &[Link]) -> Used {
        let draft = self.draft;
        let mut used = Used {
            payloads: vec![false; draft.payloads.len()],
            clients: vec![false; draft.clients.len()],
            services: vec![false; draft.services.len()],
            resources: vec![false; draft.resources.len()],
        };
        for name in draft.channels.iter().flat_map(|channel| &channel.one_of) {
            if let Some(payload) = self.payload(name) {
                used.payloads[payload] = true;
            }
        }
        for link in links {
            if let Some(payload) = link.payload {
                used.payloads[payload] = true;
            }
            for party in link.writers.iter().chain(&link.readers) {
                if let PartyId::Client(id) = party {
                    used.clients[id.index()] = true;
                }
            }
        }
        for service in draft.tasks.iter().filter_map(|task| task.service.as_deref()) {
            if let Some(id) = self.service(service) {
                used.services[id.index()] = true;
            }
        }
        for resource in draft.tasks.iter().flat_map(held) {
            if let Some(id) = self.resource(resource) {
                used.resources[id.index()] = true;
            }
        }
        used
    }

    /// All references to undefined names, each with the name that it most likely means.
    fn missed(&self) -> Vec<(Want, Option<&'d str>)> {
        let draft = self.draft;
        let mut missed = Vec::new();
        let mut miss = |want: Want, name: &str, found: bool| {
            if !found && !self.reported(want, name) {
                missed.push((want, nearest(name, self.known(want))));
            }
        };
        let of_modes = draft.modes.iter().flat_map(|mode| &mode.services).map(String::as_str);
        for service in draft.tasks.iter().filter_map(|task| task.service.as_deref()).chain(of_modes) {
            miss(Want::Service, service, self.service(service).is_some());
        }
        for resource in draft.tasks.iter().flat_map(held) {
            miss(Want::Resource, resource, self.resource(resource).is_some());
        }
        for server in draft.tasks.iter().filter_map(served_by) {
            miss(Want::Server, server, draft.servers.iter().any(|other| other.name == server));
        }
        for channel in &draft.channels {
            let payloads = if channel.one_of.is_empty() {
                std::slice::from_ref(&channel.payload)
            } else {
                &channel.one_of
            };
            for payload in payloads {
                miss(Want::Payload, payload, self.payload(payload).is_some());
            }
            for party in channel.from.iter().chain(&channel.to) {
                miss(Want::Party, party, self.party(party).is_some());
            }
        }
        missed
    }
}

/// Whether some reference names the definition at each position of its table.
struct Used {
    payloads: Vec<bool>,
    clients: Vec<bool>,
    services: Vec<bool>,
    resources: Vec<bool>,
}

/// Warns about unused definitions, except those that a reference to an undefined name may mean.
struct UnusedWarnings<'n, 'f, 'd> {
    /// What each such reference names, and the definition that it most likely means.
    missed: Vec<(Want, Option<&'n str>)>,
    faults: &'f mut Faults<'d>,
}

impl UnusedWarnings<'_, '_, '_> {
    fn push(&mut self, want: Want, table: &str, noun: &str, name: &str, what: &str) {
        let meant =
            |(other, near): &(Want, Option<&str>)| *other == want && near.is_none_or(|near| near == name);
        if self.missed.iter().any(meant) {
            return;
        }
        let place = KeyPath::key(format!("{table}.{name}"));
        self.faults.push(
            Fault::error(codes::UNUSED, format!("{noun} `{name}` is not used"), place, what)
                .warning()
                .help("remove it, or use it"),
        );
    }
}

impl Want {
    fn noun(self) -> &'static str {
        match self {
            Self::Party => "task or client",
            Self::Channel | Self::Queue => "channel",
            Self::Service => "service",
            Self::Mode => "mode",
            Self::Resource => "resource",
            Self::Server => "server",
            Self::Payload => "payload",
        }
    }

    fn tables(self) -> &'static [&'static str] {
        match self {
            Self::Party => &["tasks", "clients"],
            Self::Channel | Self::Queue => &["channels"],
            Self::Service => &["services"],
            Self::Mode => &["modes"],
            Self::Resource => &["resources"],
            Self::Server => &["servers"],
            Self::Payload => &["payloads"],
        }
    }
}

/// Whether the manifest has this payload, and no rule made it.
fn stated_payload(payload: &&Payload) -> bool {
    !super::one_of::is_joined(payload)
}

/// The names of channels as the manifest has them: one of each message, and of each state.
fn stated<'d>(channels: impl Iterator<Item = &'d ChannelDraft>) -> Vec<&'d str> {
    channels.filter(|channel| channel.is_first()).map(ChannelDraft::table).collect()
}

/// The server that a task names.
pub(super) fn served_by(task: &TaskDraft) -> Option<&str> {
    match &task.class {
        ClassDraft::BestEffort(best_effort) => best_effort.server.as_deref(),
        ClassDraft::RealTime(real_time) => real_time.server.as_deref(),
    }
}

/// The resources that a task names.
fn held(task: &TaskDraft) -> Vec<&str> {
    match &task.class {
        ClassDraft::RealTime(real_time) => real_time.held(),
        ClassDraft::BestEffort(_) => Vec::new(),
    }
}

fn duplicates<'n>(table: &str, names: impl Iterator<Item = &'n str>, faults: &mut Faults<'_>) {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(name) {
            let place = KeyPath::key(format!("{table}.{name}"));
            let message = format!("`{name}` appears twice in `{table}`");
            faults.push(
                Fault::error(codes::DUPLICATE_NAME, message, place, "defined twice")
                    .help("rename one of them"),
            );
        }
    }
}

fn is_type_name(name: &str) -> bool {
    name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn kebab(noun: &str, name: &str, place: KeyPath, faults: &mut Faults<'_>) {
    if is_name(name) {
        return;
    }
    let rule = "a lower-case letter, then lower-case letters, digits and single `-`; at most 63";
    let fault = bad(noun, name, place, rule);
    let proposal = proposal(name);
    faults.push(if is_name(&proposal) { fault.help(format!("write `{proposal}`")) } else { fault });
}

fn bad(noun: &str, name: &str, place: KeyPath, rule: &str) -> Fault {
    let message = format!("`{}` is not a name for {} {noun}", name.escape_debug(), article(noun));
    Fault::error(codes::BAD_NAME, message, place, "not well formed").note(format!("a name is {rule}"))
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// `MyTask_2` becomes `my-task-2`.
fn proposal(name: &str) -> String {
    let mut out = String::new();
    let mut lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && lower {
            out.push('-');
        }
        lower = c.is_ascii_lowercase();
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ if !out.ends_with('-') && !out.is_empty() => out.push('-'),
            _ => {}
        }
    }
    out.trim_end_matches('-').to_owned()
}
