// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ends of the channels of one party. Each is a type that dereferences to the end of the layer below. It has the
//! operations of other ends only so that the compiler refuses them, with the lines of the manifest.

use taut_model::{ChannelId, ChannelKind, Model, PartyId};

use crate::lines::{Lines, literal};
use crate::names::{Names, type_name, value_name};
use crate::payloads::Payloads;
use crate::template::fill;

/// The path of the module of payloads, from a module of a party.
const PAYLOADS: &str = "super::super::payload";

/// What a party does with a channel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Send,
    Receive,
    /// Takes the values of a message, from all of its lanes.
    Take,
    /// Takes requests, and answers them.
    Answer,
    /// Sends requests, and takes the answers.
    Call,
    /// Sets alarms, and cancels them.
    Set,
    /// Takes the alarms that are due, of all their setters.
    TakeDue,
    /// Fills blocks, and sends them.
    SendBlocks,
    /// Reads blocks where they lie.
    TakeBlocks,
    Publish,
    Read,
}

/// What the text of all parties is made from.
#[derive(Clone, Copy)]
pub(crate) struct Source<'s> {
    pub(crate) model: &'s Model,
    pub(crate) payloads: &'s Payloads<'s>,
    pub(crate) lines: &'s Lines<'s>,
}

/// The ends of a party.
pub(crate) struct Ends<'s> {
    source: Source<'s>,
    party: PartyId,
    ends: Vec<End>,
    /// The names of fields that are taken.
    pub(crate) fields: Names,
}

struct End {
    channel: ChannelId,
    operation: Operation,
    field: String,
    of_type: String,
    /// The trait that nothing implements.
    only: String,
}

impl<'s> Ends<'s> {
    /// The ends of a party but for its trigger, whose values the runtime takes. `reserved` are names of types that its
    /// module has already.
    pub(crate) fn of(
        source: Source<'s>,
        party: PartyId,
        trigger: Option<ChannelId>,
        reserved: &[&str],
    ) -> Self {
        let model = source.model;
        let (mut fields, mut types) = (Names::with(&[]), Names::with(reserved));
        let mut ends = Vec::new();
        for id in model.channel_ids() {
            let channel = model.channel(id);
            let (reading, writing) = match channel.kind {
                ChannelKind::Queue => (Operation::Receive, Operation::Send),
                ChannelKind::State => (Operation::Read, Operation::Publish),
                ChannelKind::Bulk => (Operation::TakeBlocks, Operation::SendBlocks),
            };
            // The receiver of a message has one end for all lanes, and a reader of a state one for all sources.
            let is_request = model.replies(id).is_some();
            let reading = match &channel.lane {
                Some(_) if channel.is_timed() => Operation::TakeDue,
                Some(_) if is_request => Operation::Answer,
                Some(_) => Operation::Take,
                None => reading,
            };
            let is_first = channel.place() == 0;
            // Both parties have one end for requests and replies.
            if channel.answers.is_some() {
                continue;
            }
            let writing = match channel.is_timed() {
                true => Operation::Set,
                false if is_request => Operation::Call,
                false => writing,
            };
            let reads = channel.readers.contains(&party) && trigger != Some(id) && is_first;
            let writes = channel.writer == party;
            for operation in
                [(reads, reading), (writes, writing)].into_iter().filter_map(|(is, of)| is.then_some(of))
            {
                let (field, of_type) =
                    (fields.add(value_name(channel.table())), types.add(type_name(channel.table())));
                let only = types.add(format!("Only{of_type}"));
                ends.push(End { channel: id, operation, field, of_type, only });
            }
        }
        Self { source, party, ends, fields }
    }

    fn is_client(&self) -> bool {
        matches!(self.party, PartyId::Client(_))
    }

    /// The name by which the manifest and the layer below know the channel.
    fn name(&self, end: &End) -> &'s str {
        self.source.model.channel(end.channel).table()
    }

    /// The path of a channel's payload, from a module of a party.
    pub(crate) fn payload(source: Source<'_>, channel: ChannelId) -> String {
        format!("{PAYLOADS}::{}", source.payloads.name(source.model.channel(channel).payload))
    }

    /// The fields of the party's `Io`; `of` is `<'p>` for a task.
    pub(crate) fn struct_fields(&self) -> String {
        let of = if self.is_client() { "" } else { "<'p>" };
        let field = |end: &End| {
            let doc = format!("            /// {}.\n", self.sentence(end, "This end"));
            format!("{doc}            pub {}: {}{of},\n", end.field, end.of_type)
        };
        let fields: String = self.ends.iter().map(field).collect();
        match self.has_spare_lifetime() {
            true => fields + "            _life: ::core::marker::PhantomData<&'p ()>,\n",
            false => fields,
        }
    }

    /// Whether `Io` has a lifetime that no end uses.
    fn has_spare_lifetime(&self) -> bool {
        !self.is_client() && self.ends.is_empty()
    }

    /// The expressions that make the fields, from a `Create` or a `Client`.
    pub(crate) fn made(&self, from: &str) -> String {
        let made = |end: &End| {
            let (field, of_type, function) = (&end.field, &end.of_type, self.layer(end).1);
            format!("{field}: {of_type}({from}.{function}(\"{}\")?), ", self.name(end))
        };
        let made: String = self.ends.iter().map(made).collect();
        if self.has_spare_lifetime() { made + "_life: ::core::marker::PhantomData, " } else { made }
    }

    /// The end of the layer below, and the function that makes it.
    fn layer(&self, end: &End) -> (&'static str, &'static str) {
        match (self.is_client(), end.operation) {
            (false, Operation::Send) => ("QueueWriter", "queue_writer"),
            (false, Operation::Receive) => ("QueueReader", "queue_reader"),
            (false, Operation::Take) => ("MessageReader", "message_reader"),
            (false, Operation::Answer) => ("RequestReader", "request_reader"),
            (false, Operation::Call) => ("RequestWriter", "request_writer"),
            (false, Operation::Set) => ("AlarmSetter", "alarm_setter"),
            (false, Operation::TakeDue) => ("AlarmReader", "alarm_reader"),
            (false, Operation::SendBlocks) => ("BlockSender", "block_sender"),
            (false, Operation::TakeBlocks) => ("BlockReceiver", "block_receiver"),
            (false, Operation::Publish) => ("StateWriter", "state_writer"),
            (false, Operation::Read) => ("StateReader", "state_reader"),
            (true, Operation::Call) => ("ClientRequests", "requests"),
            (true, Operation::TakeBlocks) => ("ClientBlockReceiver", "block_receiver"),
            // The receiver of a message is a real-time task, and tasks set alarms and fill blocks.
            (true, Operation::Send | Operation::Publish | Operation::Set | Operation::SendBlocks) => {
                ("ClientWriter", "writer")
            }
            (true, Operation::Receive | Operation::Take | Operation::Answer | Operation::TakeDue) => {
                ("ClientReceiver", "receiver")
            }
            (true, Operation::Read) => ("ClientReader", "reader"),
        }
    }

    fn is_of_message(&self, end: &End) -> bool {
        self.source.model.channel(end.channel).lane.is_some()
    }

    fn noun(&self, end: &End) -> &'static str {
        if self.source.model.channel(end.channel).broadcast { "broadcast" } else { "queue" }
    }

    /// What `who` does with a channel.
    fn sentence(&self, end: &End, who: &str) -> String {
        let name = self.name(end);
        match end.operation {
            Operation::Send if self.is_of_message(end) => format!("{who} only sends message `{name}`"),
            Operation::Send => format!("{who} only sends to {} `{name}`", self.noun(end)),
            Operation::Take => format!("{who} only receives message `{name}`"),
            Operation::Answer => format!("{who} only answers request `{name}`"),
            Operation::Call => format!("{who} only calls request `{name}`"),
            Operation::Set => format!("{who} only sets alarm `{name}`"),
            Operation::TakeDue => format!("{who} only receives alarm `{name}`"),
            Operation::SendBlocks => format!("{who} only sends blocks of `{name}`"),
            Operation::TakeBlocks => format!("{who} only receives blocks of `{name}`"),
            Operation::Receive => format!("{who} only receives from {} `{name}`", self.noun(end)),
            Operation::Publish => format!("{who} only publishes to state `{name}`"),
            Operation::Read => format!("{who} only reads state `{name}`"),
        }
    }

    /// The types of the ends.
    pub(crate) fn types(&self) -> String {
        self.ends.iter().map(|end| self.end_type(end)).collect()
    }

    fn end_type(&self, end: &End) -> String {
        let (of_type, only, name) = (&end.of_type, &end.only, self.name(end));
        let payload = Self::payload(self.source, end.channel);
        let (own, any, argument) = match self.is_client() {
            true => ("", "", String::new()),
            false => ("<'p>", "<'_>", "'p, ".to_owned()),
        };
        let carried = self.source.model.channel(end.channel).payload;
        let stored = self.source.payloads.stored(carried, PAYLOADS);
        let reply = self.source.model.replies(end.channel).map(|replies| Self::payload(self.source, replies));
        let reply = reply.map_or_else(String::new, |reply| format!(", {reply}"));
        let target = format!("::taut::{}<{argument}{stored}{reply}>", self.layer(end).0);
        let derived = if self.is_client() { "        #[derive(Debug)]\n" } else { "" };
        let noun = if self.is_client() { "client" } else { "task" };
        let who = format!("{noun} `{}`", self.source.model.party_name(self.party));
        let keys = ["", ".from", ".to"].map(|key| format!("channels.{name}{key}"));
        fill(
            include_str!("templates/end.rs.in"),
            &[
                ("name", name),
                ("derived", derived),
                ("of_type", of_type),
                ("own", own),
                ("any", any),
                ("target", &target),
                ("only", only),
                ("of_several", &self.of_several(end, any, &payload)),
                ("message", &literal(&self.sentence(end, &who))),
                ("notes", &self.source.lines.notes(&keys, "            ")),
                ("refused", &self.refused(end, &payload)),
            ],
        )
    }

    /// The operations of an end of a message that carries several payloads: they have the enum of the payloads in place of what
    /// the channel carries. Nothing for another end.
    fn of_several(&self, end: &End, any: &str, payload: &str) -> String {
        let model = self.source.model;
        if !self.source.payloads.is_one_of(model.channel(end.channel).payload) {
            return String::new();
        }
        let is_best_effort = matches!(self.party, PartyId::Task(_)) && !model.is_real_time(self.party);
        let template = match (end.operation, self.is_client()) {
            (Operation::Take, _) => include_str!("templates/take_one_of.rs.in"),
            (_, true) => include_str!("templates/publish_one_of.rs.in"),
            (_, false) if is_best_effort => {
                concat!(
                    include_str!("templates/send_one_of.rs.in"),
                    include_str!("templates/until_stop.rs.in")
                )
            }
            (_, false) => include_str!("templates/send_one_of.rs.in"),
        };
        let operations = fill(template, &[("payload", payload)]);
        format!("        impl {}{any} {{\n{operations}        }}\n", end.of_type)
    }

    /// The operations that this end does not have, each to be refused where it is called.
    fn refused(&self, end: &End, payload: &str) -> String {
        let only = &end.only;
        let refused = |(function, arguments, result): (&str, String, String)| match self.is_client() {
            true => format!(
                "            pub fn {function}(&mut self{arguments}) -> {result} \
                 where for<'a> &'a (): {only} {{ <&() as {only}>::never() }}\n"
            ),
            false => format!(
                "            pub fn {function}<T: {only}>(&mut self, _: &mut T{arguments}) -> {result} \
                 {{ T::never() }}\n"
            ),
        };
        self.others(end, payload).into_iter().map(refused).collect()
    }

    /// The operations that this end does not have: each name, its arguments beside the caller, and its result.
    fn others(&self, end: &End, payload: &str) -> Vec<(&'static str, String, String)> {
        let value = format!(", _: {payload}");
        let result = |error: &str| format!("::core::result::Result<(), {error}>");
        let option = |of: &str| format!("::core::option::Option<{of}>");
        let numbered = format!("(u64, {payload})");
        // A caller sends, too, but a request.
        let sends = matches!(end.operation, Operation::Send | Operation::Call);
        let writes = matches!(end.operation, Operation::Send | Operation::Publish);
        let all = if self.is_client() {
            let latest = format!("::core::result::Result<{}, ::taut::Overtaken>", option(&numbered));
            vec![
                (writes, "publish", value, result(payload)),
                (end.operation == Operation::Receive, "receive", String::new(), option(&numbered)),
                (end.operation == Operation::Read, "latest", String::new(), latest),
            ]
        } else {
            let error = |kind: &str| result(&format!("::taut::{kind}<{payload}>"));
            vec![
                (sends, "send", value.clone(), error("SendError")),
                (end.operation == Operation::Publish, "publish", value, error("PublishError")),
                (end.operation == Operation::Receive, "receive", String::new(), option(payload)),
                (end.operation == Operation::Read, "latest", String::new(), option(payload)),
                (
                    matches!(
                        end.operation,
                        Operation::Take | Operation::Answer | Operation::TakeDue | Operation::TakeBlocks
                    ),
                    "next",
                    String::new(),
                    option(payload),
                ),
                (
                    end.operation == Operation::SendBlocks,
                    "loan",
                    String::new(),
                    "::core::result::Result<(), ::taut::LoanRefused>".to_owned(),
                ),
                // Other ends have nothing to do with instants.
                (
                    end.operation != Operation::TakeDue,
                    "set",
                    format!(", _: ::taut::Instant, _: {payload}"),
                    format!("::core::result::Result<::taut::AlarmToken, ::taut::AlarmRefused<{payload}>>"),
                ),
            ]
        };
        all.into_iter()
            .filter(|(own, ..)| !own)
            .map(|(_, name, arguments, result)| (name, arguments, result))
            .collect()
    }
}
