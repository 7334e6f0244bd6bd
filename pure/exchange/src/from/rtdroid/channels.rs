// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Channels with their senders and receivers.
//!
//! A message channel becomes one message, from all of its senders. A broadcast of one task becomes a broadcast. One of several
//! senders becomes a message for each subscriber; to a party that is not real-time, each real-time sender has a queue. A bulk
//! channel from one task to another moves blocks.

use taut_model::{BLOCK_BYTES_MAX, PAYLOAD_BYTES_MAX};

use super::values::{element, size};
use super::{Access, Reader, short};
use crate::sketch::{Arrival, Carries, Channel, Named, Party, Sender};
use crate::xml::{Node, plain, shown};

/// Bytes of the number that stands for a value that is too large for a channel.
const NUMBER_BYTES: u32 = 8;
/// The most channels that release one task, the lanes of messages counted one by one.
const LANES_MAX: usize = 100;

/// The report of values that are too large for a channel.
fn too_large(bytes: u64, most: u32) -> String {
    format!(
        "a value of {bytes} bytes exceeds the {most} of a channel: the channel carries a number of {NUMBER_BYTES} bytes, and the \
         values go beside it"
    )
}

fn stands_for(bytes: u64) -> String {
    format!("stands for {bytes} bytes")
}

/// How RTDroid implements a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transport {
    Message,
    Broadcast,
    Bulk,
}

impl Transport {
    fn word(self) -> &'static str {
        match self {
            Self::Message => "rt-msg",
            Self::Broadcast => "rt-broadcast",
            Self::Bulk => "rt-bulk",
        }
    }
}

/// A channel as the file declares it.
#[derive(Clone)]
pub(super) struct Declared<'a, 'i> {
    node: Node<'a, 'i>,
    name: String,
    transport: Transport,
    bytes: u32,
    /// What a value consists of.
    comment: String,
    fifo: bool,
    drops_oldest: bool,
}

impl<'a, 'i> Reader<'a, 'i, '_> {
    pub(super) fn declare(&mut self, node: Node<'a, 'i>) {
        let name = node.spelled(&["name"]).map_or("", |(name, _)| name).trim().to_owned();
        if self.declared.iter().any(|other| other.name == name) {
            self.lose(node, &format!("a second channel `{}` is left out", shown(&name)));
            return node.leave_out();
        }
        let transport = self.transport(node);
        let (bytes, comment) = self.payload(node, transport);
        let fifo = self.order(node);
        self.execution(node);
        let drops_oldest = self.overflow(node);
        self.declared.push(Declared { node, name, transport, bytes, comment, fifo, drops_oldest });
    }

    fn transport(&mut self, node: Node<'a, 'i>) -> Transport {
        let Some((text, place)) = Self::word(node, &["implementation", "type"]) else {
            self.lose(node, "the channel has no `type`: it is read as a message channel, `rt-msg`");
            return Transport::Message;
        };
        let word = plain(text);
        let word = word.strip_prefix("rt").unwrap_or(&word);
        let (transport, is_known) = match () {
            () if word.contains("bulk") => {
                (Transport::Bulk, ["bulk", "bulkintent", "broadcastbulkintent"].contains(&word))
            }
            () if word.contains("broadcast") || word.contains("intent") => {
                (Transport::Broadcast, ["broadcast", "intent", "broadcastintent"].contains(&word))
            }
            () if word.contains("cross") => {
                self.lose(place, "a cross-context channel is read as a message channel, from and to clients");
                (Transport::Message, ["cross", "crosscontext"].contains(&word))
            }
            () => (Transport::Message, ["msg", "message", "messagepassing", "handler"].contains(&word)),
        };
        if !is_known {
            let (text, read) = (shown(text), transport.word());
            self.lose(place, &format!("`{text}` is no type of channel known here: it is read as `{read}`"));
        }
        transport
    }

    /// The bytes of a value, and what it consists of.
    fn payload(&mut self, node: Node<'a, 'i>, transport: Transport) -> (u32, String) {
        let Some(data) = Self::all(node, &["data"]).next() else {
            self.lose(node, "the channel has no `data`: a value of 1 byte is written");
            return (1, String::new());
        };
        let (mime, of) = Self::word(data, &["mimetype", "type"]).unwrap_or(("", data));
        let Some((text, place)) = Self::word(data, &["size"]) else {
            self.lose(data, "`data` has no `size`: a value of 1 byte is written");
            return (1, String::new());
        };
        let Some((count, in_bytes)) = size(text).filter(|(count, _)| *count > 0) else {
            let what =
                format!("`size` is `{}`, which is no size such as 256B: a byte is written", shown(text));
            self.lose(place, &what);
            return (1, String::new());
        };
        let each = match element(mime) {
            _ if in_bytes => 1,
            Some(each) => each,
            None => {
                if !mime.is_empty() {
                    let what = format!(
                        "the type of the values is `{}`, of unknown size: `size` is taken as bytes",
                        shown(mime)
                    );
                    self.lose(of, &what);
                }
                1
            }
        };
        let comment = match mime.rsplit(['.', '/']).next().unwrap_or_default().trim() {
            "" => String::new(),
            kind => format!("{} of {}", text.trim(), shown(kind)),
        };
        let bytes = count.saturating_mul(each);
        let most = if transport == Transport::Bulk { BLOCK_BYTES_MAX } else { PAYLOAD_BYTES_MAX };
        match u32::try_from(bytes).ok().filter(|bytes| *bytes <= most) {
            Some(bytes) => (bytes, comment),
            None => {
                self.lose(place, &too_large(bytes, most));
                (NUMBER_BYTES, stands_for(bytes))
            }
        }
    }

    /// Whether values come in the order of sending, whoever sent them.
    fn order(&mut self, node: Node<'a, 'i>) -> bool {
        let Some((text, place)) = Self::word(node, &["order"]) else { return false };
        match plain(text).as_str() {
            "priorityinheritance" | "priority" => false,
            "fifo" => true,
            _ => {
                let what = format!(
                    "`order` is `{}`: `order = \"sender\"` is written, the value of the most urgent sender first",
                    shown(text)
                );
                self.lose(place, &what);
                false
            }
        }
    }

    fn execution(&mut self, node: Node<'a, 'i>) {
        if let Some((text, place)) = Self::word(node, &["execution"])
            && plain(text) != "componentpriority"
        {
            let what =
                format!("`execution` is `{}`: a receiver executes at its own priority here", shown(text));
            self.lose(place, &what);
        }
    }

    /// Whether the oldest value gives way to one that does not fit.
    fn overflow(&mut self, node: Node<'a, 'i>) -> bool {
        let Some((text, place)) = Self::word(node, &["drop"]) else { return false };
        let lower = text.to_ascii_lowercase();
        let drops_oldest = ["oldest", "fifo"].iter().any(|word| lower.contains(word));
        let other = if drops_oldest {
            "any other sender's oldest one gives way"
        } else {
            "any other sender gets back what does not fit"
        };
        let what = format!(
            "`drop` ({}): values of a real-time sender to a real-time task always fit here; {other}",
            shown(text)
        );
        self.lose(place, &what);
        drops_oldest
    }

    /// Connects channels to their parties.
    pub(super) fn join(&mut self) {
        let mut accesses = std::mem::take(&mut self.accesses);
        for declared in std::mem::take(&mut self.declared) {
            let (own, others): (Vec<_>, Vec<_>) =
                accesses.into_iter().partition(|access| access.name == declared.name);
            accesses = others;
            self.connect(&declared, &own);
        }
        for Access { action, name, .. } in accesses {
            let what = format!(
                "there is no channel `{0}`: declare it, as in `<channel name=\"{0}\" type=\"rt-msg\">`",
                shown(&name)
            );
            self.lose(action, &what);
        }
    }

    fn connect(&mut self, declared: &Declared<'a, 'i>, accesses: &[Access<'a, 'i>]) {
        let (mut from, mut to): (Vec<Sender>, Vec<(Party, u32)>) = (Vec::new(), Vec::new());
        for access in accesses {
            let known = match access.sends {
                true => from.iter().any(|sender| sender.party == access.party),
                false => to.iter().any(|(party, _)| *party == access.party),
            };
            let count = access.count.unwrap_or(1);
            match (known, access.sends) {
                (true, _) => {
                    self.lose(access.action, "a second filter of this kind for the same task is left out")
                }
                (false, true) => from.push(Sender { party: access.party, sends: count }),
                (false, false) => to.push((access.party, count)),
            }
        }
        if from.is_empty() && to.is_empty() {
            let what =
                format!("channel `{}` is left out: nothing sends or receives on it", shown(&declared.name));
            return self.lose(declared.node, &what);
        }
        if from.is_empty() {
            let party = self.stand_in(declared, "sends on", "sender");
            from.push(Sender { party, sends: 1 });
        }
        if to.is_empty() {
            to.push((self.stand_in(declared, "receives from", "receiver"), 1));
        }
        if declared.transport == Transport::Bulk && to.len() > 1 {
            self.lose(declared.node, "a bulk channel with several subscribers: each gets blocks of its own");
        } else if declared.transport == Transport::Message && to.len() > 1 {
            self.lose(
                declared.node,
                "a message channel has one receiver: each subscriber gets every value here",
            );
        }
        let many = to.len() > 1;
        for (reader, takes) in to {
            let senders: Vec<Sender> = from.iter().filter(|sender| sender.party != reader).copied().collect();
            if senders.len() < from.len() {
                let what = format!(
                    "`{}` sends to itself on channel `{}`: left out; it may keep the value in its persistent scope",
                    shown(self.name_of(reader)),
                    shown(&declared.name)
                );
                self.lose(declared.node, &what);
            }
            self.between(declared, senders, (reader, takes), many);
        }
    }

    /// A client for the end of a channel that the file does not have.
    fn stand_in(&mut self, declared: &Declared<'a, 'i>, does: &str, role: &str) -> Party {
        let what = format!(
            "no component {does} channel `{}`: a client stands for what is outside of this file",
            shown(&declared.name)
        );
        self.lose(declared.node, &what);
        self.sketch.clients.push(Named::new(&format!("{}-{role}", short(&declared.name))));
        Party::Client(self.sketch.clients.len() - 1)
    }

    fn name_of(&self, party: Party) -> &str {
        match party {
            Party::Task(at) => &self.sketch.tasks[at].named.name,
            Party::Client(at) => &self.sketch.clients[at].name,
        }
    }

    pub(super) fn is_real_time(&self, party: Party) -> bool {
        matches!(party, Party::Task(at) if self.sketch.tasks[at].arrival != Arrival::Any)
    }

    /// Adds the channels from the senders to one reader.
    fn between(
        &mut self,
        declared: &Declared<'a, 'i>,
        senders: Vec<Sender>,
        (reader, takes): (Party, u32),
        many: bool,
    ) {
        let name = |add: Option<&str>| {
            let name = add.map_or_else(|| declared.name.clone(), |add| format!("{}-{add}", declared.name));
            Named { comment: declared.comment.clone(), ..Named::new(&name) }
        };
        let channel = |named: Named, carries: Carries, from: Vec<Sender>, takes: u32| Channel {
            at: None,
            named,
            carries,
            from,
            to: vec![reader],
            bytes: declared.bytes,
            takes,
            fifo: declared.fifo,
            drops_oldest: false,
            part_of: (many && declared.transport != Transport::Message).then(|| declared.name.clone()),
        };
        if senders.is_empty() {
            return;
        }
        if declared.transport == Transport::Bulk {
            if let Some(sender) = self.sender_of_blocks(&senders, reader) {
                let to = self.name_of(reader).to_owned();
                let named = name(many.then_some(to.as_str()));
                return self.push(declared, channel(named, Carries::Blocks, vec![sender], takes));
            }
            return self.copied(declared, senders, (reader, takes), many);
        }
        let to = self.name_of(reader).to_owned();
        if !self.is_real_time(reader) {
            let is_alone = senders.len() == 1 && !many;
            for sender in senders {
                let from = self.name_of(sender.party).to_owned();
                if !self.is_real_time(sender.party) {
                    let what = format!(
                        "what `{}` sends to `{}` is left out: neither is real-time, so the kernel's own means serve them",
                        shown(&from),
                        shown(&to)
                    );
                    self.lose(declared.node, &what);
                    continue;
                }
                let named = name((!is_alone).then(|| format!("{from}-{to}")).as_deref());
                let mut one = channel(named, Carries::Every, vec![sender], takes);
                one.drops_oldest = declared.drops_oldest;
                self.push(declared, one);
            }
            return;
        }
        let named = name(many.then_some(to.as_str()));
        let is_released = matches!(reader, Party::Task(at) if self.is_released(at));
        let is_queue =
            declared.transport != Transport::Message && senders.len() == 1 && (!is_released || takes == 1);
        let carries = if is_queue { Carries::Every } else { Carries::Message };
        let lanes = senders.len();
        let triggers = match reader {
            Party::Task(at) if is_released => self.lanes_of(at) + lanes,
            _ => lanes,
        };
        if triggers > LANES_MAX {
            let what = format!(
                "channel `{}` to `{}` is left out: at most {LANES_MAX} senders release one task",
                shown(&declared.name),
                shown(&to)
            );
            return self.lose(declared.node, &what);
        }
        let drops = declared.drops_oldest && senders.iter().any(|sender| !self.is_real_time(sender.party));
        let mut one = channel(named, carries, senders, takes);
        one.drops_oldest = drops && carries == Carries::Message;
        self.push(declared, one);
    }

    /// Joins the queues from a task to the subscribers of a broadcast into one broadcast, once it is known how many
    /// values each subscriber takes. A subscriber that has a message keeps the message.
    pub(super) fn broadcasts(&mut self) {
        let channels = std::mem::take(&mut self.sketch.channels);
        let is_part = |channel: &Channel| {
            let by_task = matches!(channel.from.as_slice(), [Sender { party: Party::Task(_), .. }]);
            channel.carries == Carries::Every && by_task && channel.part_of.is_some()
        };
        let is_of_one = |one: &Channel, other: &Channel| {
            let sender = |of: &Channel| of.from.first().map(|sender| sender.party);
            one.part_of == other.part_of && sender(one) == sender(other)
        };
        let parts = |of: &Channel| {
            let same = |other: &&Channel| is_part(other) && is_of_one(other, of);
            channels.iter().filter(same).count()
        };
        let joined: Vec<bool> =
            channels.iter().map(|channel| is_part(channel) && parts(channel) > 1).collect();
        let (mut places, mut all): (Vec<usize>, Vec<Channel>) = (Vec::new(), Vec::new());
        for (mut channel, is_joined) in channels.into_iter().zip(joined) {
            let whole = |other: &Channel| other.carries == Carries::Broadcast && is_of_one(other, &channel);
            if is_joined && !channel.drops_oldest {
                self.lose_of_observer(&channel);
            }
            let Some(at) = all.iter().position(|other| is_joined && whole(other)) else {
                if is_joined {
                    let name = channel.part_of.clone().unwrap_or_default();
                    channel.named = Named { comment: channel.named.comment, ..Named::new(&name) };
                    (channel.carries, channel.drops_oldest) = (Carries::Broadcast, false);
                }
                places.push(all.len());
                all.push(channel);
                continue;
            };
            all[at].to.append(&mut channel.to);
            all[at].takes = all[at].takes.max(channel.takes);
            places.push(at);
        }
        self.sketch.channels = all;
        for task in &mut self.sketch.tasks {
            if let Arrival::Sporadic(by) = &mut task.arrival {
                by.iter_mut().for_each(|at| *at = places[*at]);
            }
        }
        for chain in &mut self.sketch.chains {
            chain.channels.iter_mut().for_each(|at| *at = places[*at]);
        }
    }

    /// Reports a subscriber that is not real-time: a full queue of its own would refuse values, and of a broadcast
    /// it loses the oldest.
    fn lose_of_observer(&mut self, channel: &Channel) {
        let [reader] = *channel.to.as_slice() else { return };
        if !self.is_real_time(reader) {
            let (reader, name) =
                (shown(self.name_of(reader)), shown(channel.part_of.as_deref().unwrap_or_default()));
            let what = format!(
                "`{reader}` loses the oldest values of `{name}` if it is too slow: it is not real-time"
            );
            self.sketch.lose(channel.at, what);
        }
    }

    /// The sender of a bulk channel, if it can be one here: one task sends to another, and one of them is real-time.
    fn sender_of_blocks(&self, senders: &[Sender], reader: Party) -> Option<Sender> {
        let [sender] = senders else { return None };
        let tasks = matches!((sender.party, reader), (Party::Task(_), Party::Task(_)));
        let real_time = self.is_real_time(sender.party) || self.is_real_time(reader);
        (tasks && real_time).then_some(*sender)
    }

    /// Adds the channels of a bulk channel that cannot move blocks here: its values are copied, or a number stands
    /// for them.
    fn copied(&mut self, declared: &Declared<'a, 'i>, senders: Vec<Sender>, ends: (Party, u32), many: bool) {
        let mut copied = Declared { transport: Transport::Broadcast, ..declared.clone() };
        if copied.bytes > PAYLOAD_BYTES_MAX {
            self.lose(declared.node, &too_large(copied.bytes.into(), PAYLOAD_BYTES_MAX));
            (copied.comment, copied.bytes) = (stands_for(copied.bytes.into()), NUMBER_BYTES);
        } else {
            self.lose(
                declared.node,
                "a bulk value is copied here: blocks move from one task to another, of which one is real-time",
            );
        }
        self.between(&copied, senders, ends, many);
    }

    fn is_released(&self, task: usize) -> bool {
        matches!(self.sketch.tasks[task].arrival, Arrival::Sporadic(_))
    }

    /// How many senders release a task so far.
    fn lanes_of(&self, task: usize) -> usize {
        let channels = &self.sketch.channels;
        match &self.sketch.tasks[task].arrival {
            Arrival::Sporadic(by) => by.iter().map(|at| channels[*at].from.len()).sum(),
            _ => 0,
        }
    }

    fn push(&mut self, declared: &Declared<'a, 'i>, mut channel: Channel) {
        channel.at = Some(self.places.at(declared.node));
        let at = self.sketch.channels.len();
        if let [Party::Task(reader)] = channel.to.as_slice()
            && let Arrival::Sporadic(by) = &mut self.sketch.tasks[*reader].arrival
        {
            by.push(at);
        }
        self.sketch.channels.push(channel);
    }
}
