// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use crate::{BLOCKS_MAX, ChannelKind, LINE_BYTES, LockingProtocol, OverflowPolicy};

/// What the planner, the runtime and people must know of a mechanism: a row of the table below.
struct Facts {
    /// Its word in a manifest, in a plan and in the directory that a client receives.
    word: &'static str,
    /// The name as the paper prints it.
    paper: &'static str,
    form: MechanismForm,
    /// The ways of its readers, for a plan that counts those with a place of their own.
    ways: &'static [Way],
    /// The most readers that can have a place of their own.
    claims_max: usize,
    /// Whether the writer makes a copy for each reader that it meets.
    answers: bool,
    /// Whether clients may read it, and what they need for that.
    clients_read: ClientReads,
    /// Its place in [`Mechanism::ALL`]: the lowest rank comes first, and of one rank the upper row.
    rank: u8,
    /// The line on it in the manual of the manifest.
    manual: &'static str,
    /// Which parties it is for, as a message says it: [`Mechanism::serves`] in words.
    parties: &'static str,
}

/// Makes the type, [`Mechanism::ALL`] and the facts from one table. A row is a variant with all its facts. The manual
/// lists the mechanisms in the order of the rows.
macro_rules! mechanisms {
    ($($(#[$doc:meta])* $name:ident $facts:tt)*) => {
        /// A protocol of `taut-share`, under its paper's name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(
            feature = "serde",
            derive(serde::Serialize, serde::Deserialize),
            serde(rename_all = "kebab-case")
        )]
        pub enum Mechanism {
            $($(#[$doc])* $name,)*
        }

        impl Mechanism {
            /// All mechanisms, in the order in which the planner considers those that serve a channel's parties: by
            /// rank, then by row. It takes the first of them. Only if that one has [ways](Self::has_ways), it compares
            /// bytes, with the others that have ways, and takes the smallest, of equally small ones the first. So
            /// SDrtR carries each state that it serves, and SDrtW only those of manifests that ask for it.
            pub const ALL: [Self; [$(Self::$name),*].len()] = ranked([$(Self::$name),*]);

            const fn facts(self) -> &'static Facts {
                match self {
                    $(Self::$name => &Facts $facts,)*
                }
            }
        }
    };
}

mechanisms! {
    /// Latest value; a non-real-time writer, one real-time reader.
    Sdrtr {
        word: "sdrtr",
        paper: "SDrtR",
        form: MechanismForm::Slots,
        ways: &[],
        claims_max: 1,
        answers: false,
        clients_read: ClientReads::Never,
        rank: 0,
        manual: "SDrtR: the state of a writer that is not real-time, one real-time reader.",
        parties: "is for the state of a writer that is not real-time and one real-time reader",
    }
    /// Latest value; a real-time writer, non-real-time readers.
    Sdrtw {
        word: "sdrtw",
        paper: "SDrtW",
        form: MechanismForm::Slots,
        ways: &[],
        claims_max: 0,
        answers: false,
        clients_read: ClientReads::StoringNothing,
        rank: 3,
        manual: "SDrtW: the state of a real-time writer, in one buffer; readers that are not real-time may retry \
                 for long.",
        parties: "is for the state of a real-time writer and readers that are not real-time",
    }
    /// Queue that refuses when full; one writer, one reader, of which one or both are real-time.
    Qrtr {
        word: "qrtr",
        paper: "QrtR",
        form: MechanismForm::Queue,
        ways: &[],
        claims_max: 1,
        answers: false,
        clients_read: ClientReads::Storing,
        rank: 0,
        manual: "QrtR: a queue that refuses when full, one reader.",
        parties: "is for a queue with one reader that rejects when it is full; writer or reader are real-time",
    }
    /// Queue that discards its oldest value when full; a real-time writer, readers that are not real-time; or the lane of a
    /// message whose sender is not real-time.
    Qrtwo {
        word: "qrtwo",
        paper: "QrtWo",
        form: MechanismForm::Queue,
        ways: &[],
        claims_max: 0,
        answers: false,
        clients_read: ClientReads::StoringNothing,
        rank: 0,
        manual: "QrtWo: a queue of a real-time writer, or a lane of another sender, that discards its oldest value when full.",
        parties: "is for a queue of a real-time writer that drops the oldest value when it is full, and readers that are \
             not real-time; and for such a lane of a message from a sender that is not real-time",
    }
    /// Queue that discards all its values when full; a real-time writer, readers that are not real-time.
    Qrtwc {
        word: "qrtwc",
        paper: "QrtWc",
        form: MechanismForm::Queue,
        ways: &[],
        claims_max: 0,
        answers: false,
        clients_read: ClientReads::StoringNothing,
        rank: 0,
        manual: "QrtWc: a queue of a real-time writer that discards all waiting values when full.",
        parties: "is for a queue of a real-time writer that drops all waiting values when it is full, and readers that \
             are not real-time",
    }
    /// Every value for each of several real-time readers, in one copy; others lose the oldest.
    Broadcast {
        word: "broadcast",
        paper: "Broadcast",
        form: MechanismForm::Queue,
        ways: &[Way::Claims, Way::LooksOn],
        claims_max: 250,
        answers: false,
        clients_read: ClientReads::StoringNothing,
        rank: 0,
        manual: "Broadcast: every value for each of several real-time readers, in one copy.",
        parties: "is for broadcasts: write `kind = \"broadcast\"`",
    }
    /// Values that wait for their instants, and that their writer can take back; one real-time reader.
    TimedSlots {
        word: "timed-slots",
        paper: "Timed Slots",
        form: MechanismForm::Queue,
        ways: &[],
        claims_max: 1,
        answers: false,
        clients_read: ClientReads::Never,
        rank: 0,
        manual: "Timed Slots: the alarms of one setter.",
        parties: "is for alarms: write `kind = \"alarm\"`",
    }
    /// Latest value; readers claim a buffer each.
    Chen {
        word: "chen",
        paper: "Chen",
        form: MechanismForm::Buffers,
        ways: &[Way::Claims],
        claims_max: 250,
        answers: false,
        clients_read: ClientReads::Never,
        rank: 2,
        manual: "Chen: a state with a real-time reader; readers, all tasks, claim a buffer each.",
        parties: "is for a state with a real-time reader and at most 250 readers, all of them tasks: a reader stores a \
             word, but a client has only read access to the states that it reads",
    }
    /// Latest value; two buffers for each reader, which publishes the row that it uses.
    DoubleBuffer {
        word: "double-buffer",
        paper: "Double Buffer",
        form: MechanismForm::Buffers,
        ways: &[Way::Claims],
        claims_max: 63,
        answers: false,
        clients_read: ClientReads::Never,
        rank: 2,
        manual: "Double Buffer: as Chen; two buffers for each, no exchanges by readers.",
        parties: "is for a state with a real-time reader and at most 63 readers, all of them tasks: a reader stores a \
             word, but a client has only read access to the states that it reads",
    }
    /// Latest value; readers register their presence in the newest buffer.
    Presence {
        word: "presence",
        paper: "Presence",
        form: MechanismForm::Buffers,
        ways: &[Way::Claims],
        claims_max: 58,
        answers: false,
        clients_read: ClientReads::Never,
        rank: 1,
        manual: "Presence: as Chen; readers are counted into the newest buffer, no fences.",
        parties: "is for a state with a real-time reader and at most 58 readers, all of them tasks: a reader stores a \
             word, but a client has only read access to the states that it reads",
    }
    /// Latest value; the writer makes a copy for each reader that it meets.
    Peterson {
        word: "peterson",
        paper: "Peterson",
        form: MechanismForm::Buffers,
        ways: &[Way::Claims],
        claims_max: 250,
        answers: true,
        clients_read: ClientReads::Never,
        rank: 2,
        manual: "Peterson: as Chen; the writer copies for each reader that is reading.",
        parties: "is for a state with a real-time reader and at most 250 readers, all of them tasks: a reader stores a \
             word, but a client has only read access to the states that it reads",
    }
    /// Latest value; a reader claims a buffer only if the writer returned to the buffer that the reader copied.
    Hybrid {
        word: "hybrid",
        paper: "Hybrid",
        form: MechanismForm::Buffers,
        ways: &[Way::Claims, Way::LooksOn],
        claims_max: 250,
        answers: false,
        clients_read: ClientReads::StoringNothing,
        rank: 2,
        manual: "Hybrid: a state with a real-time reader, or a real-time writer; clients may read without a claim.",
        parties: "is for a state with 1 to 250 real-time readers, or for the state of a real-time writer with other readers",
    }
    /// Latest value; some readers claim a buffer, the others finish before the writer returns.
    ImprovedChen {
        word: "improved-chen",
        paper: "Improved Chen",
        form: MechanismForm::Buffers,
        ways: &[Way::Claims, Way::ByTime, Way::LooksOn],
        claims_max: 250,
        answers: false,
        clients_read: ClientReads::StoringNothing,
        rank: 2,
        manual: "Improved Chen: a real-time writer; some readers claim, others are fast enough.",
        parties: "is for the state of a real-time writer with a real-time reader: it relies on the least time between two \
                  writes",
    }
    /// Latest value; all readers finish before the writer returns.
    Nbw {
        word: "nbw",
        paper: "NBW",
        form: MechanismForm::Buffers,
        ways: &[Way::ByTime, Way::LooksOn],
        claims_max: 0,
        answers: false,
        clients_read: ClientReads::StoringNothing,
        rank: 2,
        manual: "NBW: a real-time writer; all real-time readers are fast enough.",
        parties: "is for the state of a real-time writer with a real-time reader: it relies on the least time between two \
                  writes",
    }
    /// Latest value, one copy; tasks of one core, under a ceiling.
    Srp {
        word: "srp",
        paper: "SRP",
        form: MechanismForm::Lock(LockingProtocol::Srp),
        ways: &[],
        claims_max: 0,
        answers: false,
        clients_read: ClientReads::Never,
        rank: 3,
        manual: "SRP: a state of tasks of one core, one copy under a ceiling.",
        parties: "is a lock, for a state of real-time tasks only: a real-time task never waits for another party",
    }
    /// Latest value, one copy; tasks of several cores, which spin for the lock.
    Msrp {
        word: "msrp",
        paper: "MSRP",
        form: MechanismForm::Lock(LockingProtocol::Msrp),
        ways: &[],
        claims_max: 0,
        answers: false,
        clients_read: ClientReads::Never,
        rank: 3,
        manual: "MSRP: a state of tasks of several cores, one copy; a waiting job spins.",
        parties: "is a lock, for a state of real-time tasks only: a real-time task never waits for another party",
    }
    /// Latest value, one copy; tasks of several cores, which suspend until they get the lock.
    Mpcp {
        word: "mpcp",
        paper: "MPCP",
        form: MechanismForm::Lock(LockingProtocol::Mpcp),
        ways: &[Way::Claims],
        claims_max: 0,
        answers: false,
        clients_read: ClientReads::Never,
        rank: 3,
        manual: "MPCP: a state of tasks of several cores, one copy; a waiting job is suspended.",
        parties: "is a lock, for a state of real-time tasks only: a real-time task never waits for another party",
    }
    /// The value of the job that the synchronous model reads; readers record which buffer they use.
    Dbp {
        word: "dbp",
        paper: "DBP",
        form: MechanismForm::Flow,
        ways: &[],
        claims_max: 62,
        answers: false,
        clients_read: ClientReads::Never,
        rank: 3,
        manual: "DBP: a synchronous flow; the object records which buffer each reader reads.",
        parties: "is for a synchronous flow: write `flow = \"synchronous\"`",
    }
    /// As `Dbp`, protected by time: the writer uses the buffers in turn and reuses none while a reader reads it.
    Tccp {
        word: "tccp",
        paper: "TCCP",
        form: MechanismForm::Flow,
        ways: &[],
        claims_max: 62,
        answers: false,
        clients_read: ClientReads::Never,
        rank: 3,
        manual: "TCCP: a synchronous flow; buffers in turn, as many as the periods and bounds require.",
        parties: "is for a synchronous flow: write `flow = \"synchronous\"`",
    }
    /// Blocks that change their owner: filled, sent, received and given back in place; one writer, one reader.
    Bulk {
        word: "bulk",
        paper: "Bulk",
        form: MechanismForm::Queue,
        ways: &[],
        claims_max: 1,
        answers: false,
        clients_read: ClientReads::Never,
        rank: 3,
        manual: "Bulk: the blocks of a bulk channel.",
        parties: "is for blocks between tasks: write `kind = \"bulk\"`",
    }
    /// As `Bulk`, but the reader is a client: it maps the blocks read-only, and says in a line of its own which one it has.
    ReservedBulk {
        word: "reserved-bulk",
        paper: "Reserved Bulk",
        form: MechanismForm::Queue,
        ways: &[],
        claims_max: 0,
        answers: false,
        clients_read: ClientReads::StoringNothing,
        rank: 3,
        manual: "Reserved Bulk: the blocks of a bulk channel to a client, which maps them read-only.",
        parties: "is for blocks from a task to a client: write `kind = \"bulk\"` and `overflow = \"recall\"`",
    }
}

/// The pattern of all mechanisms that are locks, for a match on mechanisms that treats locks alike, and should have an arm
/// for each other mechanism.
#[macro_export]
macro_rules! lock_mechanisms {
    () => {
        $crate::Mechanism::Srp | $crate::Mechanism::Msrp | $crate::Mechanism::Mpcp
    };
}

/// The mechanisms by rank; of one rank, in the given order.
const fn ranked<const N: usize>(mut mechanisms: [Mechanism; N]) -> [Mechanism; N] {
    let mut sorted = 1;
    while sorted < N {
        let mut at = sorted;
        while at > 0 && mechanisms[at].facts().rank < mechanisms[at - 1].facts().rank {
            (mechanisms[at - 1], mechanisms[at]) = (mechanisms[at], mechanisms[at - 1]);
            at -= 1;
        }
        sorted += 1;
    }
    mechanisms
}

/// What a plan decides of a mechanism's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MechanismForm {
    /// A queue: its capacity.
    Queue,
    /// A state in a fixed number of slots: nothing.
    Slots,
    /// A state in buffers: how many, and the [`Way`] of each reader.
    Buffers,
    /// One copy of a state under a lock: what it costs those who wait.
    Lock(LockingProtocol),
    /// A synchronous flow in buffers: how many.
    Flow,
}

/// Whether a client, which is another process, may read a mechanism's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientReads {
    /// A client may not: its readers store words in the object, which others read.
    Never,
    /// A client may if it is the only reader, and the object lies in a file that it may write: it stores how far it has
    /// read.
    Storing,
    /// Any number of clients may: they store nothing in the object.
    StoringNothing,
}

/// How a reader gets a value that the writer does not change during the read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Way {
    /// The reader has a place of its own in the object, and is safe whatever the timing.
    Claims,
    /// The reader's job ends before the writer returns to the buffer. If that assumption fails, the read reports it.
    ByTime,
    /// The reader has no place of its own, and retries when the read reports that the writer overtook it.
    LooksOn,
}

impl Way {
    /// How many of these readers have a place of their own.
    pub fn claims(ways: impl IntoIterator<Item = Self>) -> u32 {
        let claims = ways.into_iter().filter(|way| *way == Self::Claims).count();
        u32::try_from(claims).unwrap_or(u32::MAX)
    }
}

/// The numbers of a channel's parties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartyCounts {
    /// Whether the writer is real-time.
    pub real_time_writer: bool,
    /// All readers.
    pub readers: usize,
    /// Readers that are real-time.
    pub real_time_readers: usize,
    /// Readers that are clients, which map the object read-only.
    pub client_readers: usize,
    /// Whether the readers read what the synchronous model reads: [`Flow::Synchronous`](crate::Flow::Synchronous).
    pub synchronous: bool,
    /// What happens to a value that does not fit.
    pub overflow: OverflowPolicy,
    /// Whether each value waits for an instant of its own: [`MessageOrder::Instant`](crate::MessageOrder::Instant).
    pub timed: bool,
    /// Whether each real-time reader gets every value, and the others lose the oldest: a broadcast.
    pub broadcast: bool,
    /// Whether it is a lane of a message.
    pub lane: bool,
}

impl PartyCounts {
    /// Whether values leave the real-time side: the writer is real-time, and no reader is.
    pub fn leave_real_time(&self) -> bool {
        self.real_time_writer && self.readers > 0 && self.real_time_readers == 0
    }
}

impl Mechanism {
    /// The name as the paper prints it.
    pub const fn paper_name(self) -> &'static str {
        self.facts().paper
    }

    /// Its word in a manifest, and in the directory that a client receives.
    pub const fn word(self) -> &'static str {
        self.facts().word
    }

    /// The line on it in the manual of the manifest.
    pub const fn manual(self) -> &'static str {
        self.facts().manual
    }

    /// Which parties it is for, in words, after its name: `is for ..`. [`Self::serves`] is the rule.
    pub const fn parties(self) -> &'static str {
        self.facts().parties
    }

    /// What a plan decides of its object.
    pub const fn form(self) -> MechanismForm {
        self.facts().form
    }

    /// The ways in which its readers read, if the plan says one for each reader; else empty.
    pub const fn ways(self) -> &'static [Way] {
        self.facts().ways
    }

    /// The mechanism with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| mechanism.word() == word)
    }

    /// Whether it serves a channel of `kind` between these parties. Does not check conditions on timing.
    ///
    /// [`Mechanism::clients_read`] says which clients may read. Hybrid also serves any number of readers that store
    /// nothing, even if there are no others. Improved Chen and NBW rely on a bound on the rate of writes, which only a
    /// real-time writer guarantees. All parties of a lock are real-time, so that none waits for a party that is not. A
    /// queue has one real-time party at least, and drops waiting values only of readers that are not real-time; but a lane of
    /// a message drops the oldest values of a sender that is not. A broadcast without a real-time reader is such a
    /// queue, which drops the oldest values. A bulk channel between
    /// tasks has one real-time party at least. No client fills blocks: it could write one while its owner uses it. A client
    /// that receives blocks maps them read-only, and the writer takes back what it needs.
    pub fn serves(self, kind: ChannelKind, parties: &PartyCounts) -> bool {
        let &PartyCounts {
            real_time_writer,
            readers,
            real_time_readers,
            client_readers,
            synchronous,
            overflow,
            timed,
            broadcast,
            lane,
        } = parties;
        let clients_fit = match self.clients_read() {
            ClientReads::Never => client_readers == 0,
            ClientReads::Storing => client_readers == 0 || readers == 1,
            ClientReads::StoringNothing => true,
        };
        if kind.is_queued() != (self.form() == MechanismForm::Queue)
            || (kind == ChannelKind::Bulk) != matches!(self, Self::Bulk | Self::ReservedBulk)
            || synchronous != self.preserves_flow()
            || timed != (self == Self::TimedSlots)
            || broadcast && !matches!(self, Self::Broadcast | Self::Qrtwo)
            || !clients_fit
        {
            return false;
        }
        match self {
            Self::Sdrtr => !real_time_writer && readers == 1 && real_time_readers == 1,
            Self::Sdrtw => real_time_writer && readers >= 1 && real_time_readers == 0,
            Self::Qrtr => {
                overflow == OverflowPolicy::Reject
                    && readers == 1
                    && (real_time_writer || real_time_readers == 1)
            }
            Self::TimedSlots => overflow == OverflowPolicy::Reject && readers == 1 && real_time_readers == 1,
            Self::Broadcast => {
                broadcast
                    && overflow == OverflowPolicy::Reject
                    && (1..=self.claims_max()).contains(&real_time_readers)
            }
            Self::Bulk => {
                matches!(overflow, OverflowPolicy::Reject | OverflowPolicy::Recall)
                    && readers == 1
                    && (real_time_writer || real_time_readers == 1)
            }
            Self::ReservedBulk => overflow == OverflowPolicy::Recall && (readers, client_readers) == (1, 1),
            Self::Qrtwo => {
                let drops = if broadcast { OverflowPolicy::Reject } else { OverflowPolicy::DropOldest };
                let is_own = lane && !real_time_writer && readers == 1 && real_time_readers == 1;
                overflow == drops && (parties.leave_real_time() || is_own)
            }
            Self::Qrtwc => overflow == OverflowPolicy::Clear && parties.leave_real_time(),
            Self::Chen | Self::DoubleBuffer | Self::Presence | Self::Peterson => {
                real_time_readers >= 1 && readers <= self.claims_max()
            }
            Self::Hybrid if real_time_readers == 0 => real_time_writer && readers >= 1,
            Self::Hybrid => real_time_readers <= self.claims_max(),
            Self::ImprovedChen | Self::Nbw => real_time_writer && real_time_readers >= 1,
            lock_mechanisms!() => real_time_writer && readers >= 1 && real_time_readers == readers,
            Self::Dbp | Self::Tccp => {
                real_time_writer && real_time_readers == readers && (1..=self.claims_max()).contains(&readers)
            }
        }
    }

    /// Whether jobs read what the synchronous model reads; only DBP and TCCP guarantee that.
    pub fn preserves_flow(self) -> bool {
        match self.form() {
            MechanismForm::Flow => true,
            MechanismForm::Queue | MechanismForm::Slots | MechanismForm::Buffers | MechanismForm::Lock(_) => {
                false
            }
        }
    }

    /// The locking protocol, if the mechanism is a lock.
    pub fn locking(self) -> Option<LockingProtocol> {
        match self.form() {
            MechanismForm::Lock(locking) => Some(locking),
            MechanismForm::Queue | MechanismForm::Slots | MechanismForm::Buffers | MechanismForm::Flow => {
                None
            }
        }
    }

    /// How often a write copies the value, and how often a read does. `claims` is the number of readers with a place
    /// of their own.
    ///
    /// Peterson: a writer makes a copy for every reader that it meets; a reader may copy the newest value and its own
    /// copy.
    pub fn copies(self, claims: u32) -> (u32, u32) {
        if self.facts().answers { (claims.saturating_add(1), 2) } else { (1, 1) }
    }

    /// The most readers that can have a place of their own.
    pub const fn claims_max(self) -> usize {
        self.facts().claims_max
    }

    /// Whether clients may read it, and what they need for that. Of Hybrid, Improved Chen and NBW: readers that have no
    /// place of their own.
    pub const fn clients_read(self) -> ClientReads {
        self.facts().clients_read
    }

    /// Whether its readers read in one of the [`Way`]s, and the plan must count its buffers.
    pub const fn has_ways(self) -> bool {
        match self.form() {
            MechanismForm::Buffers => true,
            MechanismForm::Queue | MechanismForm::Slots | MechanismForm::Lock(_) | MechanismForm::Flow => {
                false
            }
        }
    }

    /// Whether some reader may be safe by time only. Then the buffers, and so the bytes, depend on response times.
    pub fn rests_on_time(self) -> bool {
        self.ways().contains(&Way::ByTime)
    }

    /// The fewest bytes that an object with [ways](Self::has_ways) can have beside a real-time reader: those of three
    /// buffers, and of one reader with a place of its own unless the mechanism can do without. `None` on overflow.
    pub fn bytes_min(self, value: u32) -> Option<u64> {
        self.bytes(value, 3, u32::from(!self.rests_on_time()))
    }

    /// Bytes of an object for values of `value` bytes, by the formulas of `taut-share`, whose tests check them.
    /// `None` on overflow.
    ///
    /// `slots` is the number of values that can wait in a queue, of blocks, and of copies of the value in a state (SDrtR,
    /// SDrtW, Peterson and locks have a fixed number); `claims` is the number of readers with a place of their own.
    ///
    /// A line has [`LINE_BYTES`]. SDrtR: a line and two slots. SDrtW: a counter and one slot. QrtR: two lines and the
    /// slots, which are packed if they have less than 64 bytes, and otherwise on cache lines of their own; QrtWo and
    /// QrtWc: the same with more slots, 2 for each value that fits in 64 bytes (at least 2) and [`spare_slots`]. Broadcast:
    /// a line, one for each claiming reader, and slots as those of QrtR, 2 more for each value that fits in 64 bytes (at
    /// least 2). Timed Slots: a line, a byte and 4 words for each slot, and slots as those of QrtR. The others: slots on
    /// cache lines of their own (Peterson: two), in Hybrid and Improved Chen with a stamp each; one line of the writer
    /// (Double Buffer: 3 words per row and one more; Presence: 1 word per slot and one more) and one line per claiming
    /// reader (Presence: a word; Peterson: also its copy with a stamp). Under a lock there is one value; MSRP has a line for
    /// the queue of waiters; MPCP has a line for the holder and a word for each of the `claims + 1` parties that may wait.
    /// DBP and TCCP have two lines, two for each reader, and slots on cache lines of their own. Bulk: three words for each
    /// block, and blocks of whole lines; `None` unless there are 1 to [`BLOCKS_MAX`] blocks. Reserved Bulk: a line more.
    pub fn bytes(self, value: u32, slots: u32, claims: u32) -> Option<u64> {
        let lines = |bytes: u64| bytes.checked_next_multiple_of(LINE_BYTES);
        let word = u64::from(value).checked_next_multiple_of(8)?;
        let (slots, claims) = (u64::from(slots), u64::from(claims));
        let spread = |slot: u64| lines(slot.checked_next_multiple_of(64)?.checked_mul(slots)?);
        let own = LINE_BYTES.checked_mul(claims)?;
        match self {
            Self::Sdrtr => lines(word)?.checked_mul(2)?.checked_add(LINE_BYTES),
            Self::Sdrtw => lines(word.checked_add(8)?),
            Self::Qrtr => lines(queue_slot(word)?.checked_mul(slots)?)?.checked_add(2 * LINE_BYTES),
            Self::TimedSlots => {
                let rows = lines(slots.checked_mul(32)?)?;
                let flags = lines(slots.checked_next_multiple_of(8)?)?;
                let values = lines(queue_slot(word)?.checked_mul(slots)?)?;
                LINE_BYTES.checked_add(flags)?.checked_add(rows)?.checked_add(values)
            }
            Self::Bulk if (1..=u64::from(BLOCKS_MAX)).contains(&slots) => {
                let words = lines(8 * slots)?;
                lines(word)?.checked_mul(slots)?.checked_add(3 * words)
            }
            Self::ReservedBulk => Self::Bulk.bytes(value, slots.try_into().ok()?, 1)?.checked_add(LINE_BYTES),
            Self::Bulk => None,
            Self::Qrtwo | Self::Qrtwc => {
                let slot = queue_slot(word)?;
                let slots = slots.checked_add(2 * batch(slot))?.checked_add(spare_slots(value).into())?;
                lines(slot.checked_mul(slots)?)?.checked_add(2 * LINE_BYTES)
            }
            Self::Broadcast => {
                let slot = queue_slot(word)?;
                let slots = slots.checked_add(2 * batch(slot))?;
                lines(slot.checked_mul(slots)?)?.checked_add(own)?.checked_add(LINE_BYTES)
            }
            Self::Chen => spread(word)?.checked_add(own)?.checked_add(LINE_BYTES),
            Self::Hybrid | Self::ImprovedChen => {
                spread(word.checked_add(8)?)?.checked_add(own)?.checked_add(LINE_BYTES)
            }
            Self::DoubleBuffer => {
                let words = lines((slots / 2).checked_mul(24)?.checked_add(8)?)?;
                spread(word)?.checked_add(words)?.checked_add(own)
            }
            Self::Presence => {
                let words = lines(slots.checked_mul(8)?.checked_add(8)?)?;
                spread(word)?.checked_add(words)?.checked_add(lines(claims.checked_mul(8)?)?)
            }
            Self::Peterson => {
                let main = lines(word.max(1).checked_next_multiple_of(64)?.checked_mul(2)?)?;
                let copies = lines(word.checked_add(8)?)?.checked_mul(claims)?;
                main.checked_add(copies)?.checked_add(own)?.checked_add(LINE_BYTES)
            }
            Self::Nbw => spread(word.max(1))?.checked_add(LINE_BYTES),
            Self::Srp => lines(word),
            Self::Msrp => lines(word)?.checked_add(LINE_BYTES),
            Self::Mpcp => {
                let waiting = lines(claims.checked_add(1)?.checked_mul(8)?)?;
                lines(word)?.checked_add(LINE_BYTES)?.checked_add(waiting)
            }
            Self::Dbp | Self::Tccp => spread(word)?.checked_add(own.checked_add(LINE_BYTES)?.checked_mul(2)?),
        }
    }
}

/// Bytes of a slot of a queue, for a value of this many bytes in whole words.
fn queue_slot(word: u64) -> Option<u64> {
    if word < 64 { Some(word) } else { word.checked_next_multiple_of(64) }
}

/// How many slots of this many bytes fit in 64 bytes, at least 1.
fn batch(slot: u64) -> u64 {
    if slot == 0 || slot > 64 { 1 } else { 64 / slot }
}

/// The spare slots of a QrtWo or QrtWc for values of `value` bytes, stamp included: the number that
/// `taut_share::queue::qrtwo::spare` recommends, so that a writer hardly ever overtakes a reader.
pub fn spare_slots(value: u32) -> u32 {
    let slot = queue_slot(u64::from(value).next_multiple_of(8)).unwrap_or(u64::MAX);
    match 8192u64.checked_div(slot) {
        Some(slots @ 8..=256) => slots as u32,
        Some(257..) => 256,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_plan() {
        for mechanism in Mechanism::ALL {
            assert_eq!(Mechanism::from_word(mechanism.word()), Some(mechanism));
        }
        assert_eq!(Mechanism::from_word("lock"), None);
    }

    #[test]
    fn locks_are_those_with_a_protocol() {
        for mechanism in Mechanism::ALL {
            let is_lock = matches!(mechanism, lock_mechanisms!());
            assert_eq!(is_lock, mechanism.locking().is_some(), "{mechanism:?}");
            // A lock is named as its protocol.
            let named = mechanism.locking().is_none_or(|protocol| {
                (protocol.word(), protocol.paper_name()) == (mechanism.word(), mechanism.paper_name())
            });
            assert!(named, "{mechanism:?}");
        }
    }

    /// Plans rely on the order: it decides among mechanisms that are equally small.
    #[test]
    fn each_is_once_in_the_order_of_preference() {
        let words = "sdrtr qrtr qrtwo qrtwc broadcast timed-slots presence chen double-buffer peterson hybrid improved-chen nbw sdrtw srp msrp mpcp dbp tccp bulk reserved-bulk";
        assert_eq!(Mechanism::ALL.map(Mechanism::word).join(" "), words);
    }

    #[test]
    fn bytes_of_objects() {
        assert_eq!(Mechanism::Sdrtr.bytes(24, 1, 1), Some(128 + 2 * 128));
        assert_eq!(Mechanism::Sdrtw.bytes(120, 1, 0), Some(128));
        assert_eq!(Mechanism::Sdrtw.bytes(121, 1, 0), Some(256));
        assert_eq!(Mechanism::Qrtr.bytes(24, 4, 1), Some(256 + 128));
        assert_eq!(Mechanism::TimedSlots.bytes(24, 4, 1), Some(128 + 128 + 128 + 128));
        assert_eq!(Mechanism::TimedSlots.bytes(272, 5, 1), Some(128 + 128 + 256 + 13 * 128));
        assert_eq!(Mechanism::Qrtr.bytes(272, 4, 1), Some(256 + 4 * 320));
        assert_eq!(Mechanism::Bulk.bytes(256, 3, 1), Some(384 + 3 * 256));
        assert_eq!(Mechanism::Bulk.bytes(129, 17, 1), Some(768 + 17 * 256));
        assert_eq!([0, 65].map(|blocks| Mechanism::Bulk.bytes(8, blocks, 1)), [None; 2]);
        assert_eq!(Mechanism::ReservedBulk.bytes(129, 17, 0), Some(768 + 17 * 256 + 128));
        assert_eq!([0, 65].map(|blocks| Mechanism::ReservedBulk.bytes(8, blocks, 0)), [None; 2]);
        // 40 bytes: batches of 1, so 2 + 204 more slots; 272 bytes are in slots of 320: 2 + 25 more.
        assert_eq!(Mechanism::Qrtwo.bytes(40, 4, 0), Some(256 + (40u64 * 210).next_multiple_of(128)));
        assert_eq!(
            Mechanism::Qrtwc.bytes(24, 4, 0),
            Some(256 + (24u64 * (4 + 4 + 256)).next_multiple_of(128))
        );
        assert_eq!(Mechanism::Qrtwc.bytes(272, 4, 0), Some(256 + (31u64 * 320).next_multiple_of(128)));
        // The tail, 3 heads; batches of 2, and of 1.
        assert_eq!(
            Mechanism::Broadcast.bytes(24, 4, 3),
            Some(4 * 128 + (24u64 * (4 + 4)).next_multiple_of(128))
        );
        assert_eq!(Mechanism::Broadcast.bytes(272, 4, 3), Some(4 * 128 + 6 * 320));
        // The values in docs/which-one-do-i-need.md.
        assert_eq!(Mechanism::Hybrid.bytes(64, 2, 0), Some(384));
        assert_eq!(Mechanism::Hybrid.bytes(256, 10, 2), Some(3584));
        assert_eq!(Mechanism::Chen.bytes(256, 4, 2), Some(1408));
        assert_eq!(Mechanism::Presence.bytes(256, 4, 2), Some(1280));
        assert_eq!(Mechanism::DoubleBuffer.bytes(256, 6, 2), Some(1920));
        assert_eq!(Mechanism::Peterson.bytes(256, 4, 2), Some(1664));
        assert_eq!(Mechanism::Nbw.bytes(256, 4, 0), Some(1152));
        assert_eq!(Mechanism::Srp.bytes(200, 1, 0), Some(256));
        assert_eq!(Mechanism::Msrp.bytes(256, 1, 2), Some(384));
        assert_eq!(Mechanism::Mpcp.bytes(256, 1, 2), Some(512));
        assert_eq!(Mechanism::Mpcp.bytes(256, 1, 16), Some(640));
        assert_eq!(Mechanism::Dbp.bytes(24, 4, 2), Some(256 + 512 + 256));
        assert_eq!(Mechanism::Tccp.bytes(256, 3, 1), Some(256 + 256 + 768));
    }

    /// A plan relies on it: if every state has such a lock, no other choice is smaller.
    #[test]
    fn one_copy_under_a_lock_is_the_smallest() {
        for value in (1..4_096).step_by(7) {
            let locks =
                [Mechanism::Srp, Mechanism::Msrp, Mechanism::Mpcp].map(|lock| lock.bytes(value, 1, 1));
            assert!(locks.is_sorted() && locks.iter().all(Option::is_some), "{value}: {locks:?}");
            for mechanism in Mechanism::ALL.into_iter().filter(|mechanism| mechanism.has_ways()) {
                assert!(mechanism.bytes_min(value) > locks[1], "{mechanism:?} of {value}");
            }
        }
    }

    /// A plan relies on it: the smallest mechanism copies once. Both serve the same parties, and have the same
    /// buffers.
    #[test]
    fn chen_is_no_larger_than_peterson() {
        for value in (1..4_096).step_by(7) {
            for readers in 1..=250 {
                let [chen, peterson] =
                    [Mechanism::Chen, Mechanism::Peterson].map(|all| all.bytes(value, readers + 2, readers));
                assert!(chen <= peterson && chen.is_some(), "{value} for {readers}: {chen:?}, {peterson:?}");
            }
        }
    }

    #[test]
    fn parties_of_each() {
        use Mechanism::{Chen, DoubleBuffer, Hybrid, ImprovedChen, Mpcp, Msrp, Nbw, Peterson, Presence, Srp};
        let locks = [Srp, Msrp, Mpcp];
        let of = |kind, real_time_writer, readers, real_time_readers, client_readers| {
            let parties = PartyCounts {
                real_time_writer,
                readers,
                real_time_readers,
                client_readers,
                synchronous: false,
                overflow: OverflowPolicy::Reject,
                timed: false,
                broadcast: false,
                lane: false,
            };
            let flow = PartyCounts { synchronous: true, ..parties };
            let preserving = [Mechanism::Dbp, Mechanism::Tccp].map(|mechanism| mechanism.serves(kind, &flow));
            let real_time = real_time_writer && readers == real_time_readers && (1..=62).contains(&readers);
            assert_eq!(preserving, [kind == ChannelKind::State && real_time; 2]);
            let fit = Mechanism::ALL.into_iter().filter(|mechanism| mechanism.serves(kind, &parties));
            fit.collect::<Vec<_>>()
        };
        let claiming = vec![Presence, Chen, DoubleBuffer, Peterson, Hybrid];
        assert_eq!(
            of(ChannelKind::State, false, 1, 1, 0),
            [vec![Mechanism::Sdrtr], claiming.clone()].concat()
        );
        assert_eq!(of(ChannelKind::State, true, 3, 0, 1), [Hybrid, Mechanism::Sdrtw]);
        assert_eq!(
            of(ChannelKind::State, true, 2, 1, 0),
            [claiming.clone(), vec![ImprovedChen, Nbw]].concat()
        );
        assert_eq!(of(ChannelKind::State, true, 2, 1, 1), [Hybrid, ImprovedChen, Nbw]);
        assert_eq!(of(ChannelKind::State, false, 2, 2, 0), claiming);
        assert_eq!(of(ChannelKind::State, true, 60, 60, 0)[0], Chen);
        assert_eq!(of(ChannelKind::State, true, 2, 2, 0)[7..], locks);
        assert_eq!(
            of(ChannelKind::State, true, 251, 251, 0),
            [vec![ImprovedChen, Nbw], locks.to_vec()].concat()
        );
        assert_eq!(of(ChannelKind::Queue, false, 1, 1, 0), [Mechanism::Qrtr]);
        assert_eq!(of(ChannelKind::Queue, true, 1, 1, 0), [Mechanism::Qrtr]);
        assert_eq!(of(ChannelKind::Queue, true, 1, 0, 1), [Mechanism::Qrtr]);
        assert_eq!(of(ChannelKind::Queue, true, 1, 0, 0), [Mechanism::Qrtr]);
        assert_eq!(of(ChannelKind::Queue, true, 2, 0, 1), []);
        assert_eq!(of(ChannelKind::Queue, false, 1, 0, 0), []);
        assert_eq!(of(ChannelKind::State, false, 1, 0, 1), []);
        assert_eq!(of(ChannelKind::State, true, 0, 0, 0), []);
    }

    /// Alarms have their own mechanism, and nothing else has it.
    #[test]
    fn only_timed_slots_wait_for_instants() {
        for real_time_writer in [false, true] {
            let one = PartyCounts {
                real_time_writer,
                readers: 1,
                real_time_readers: 1,
                client_readers: 0,
                synchronous: false,
                overflow: OverflowPolicy::Reject,
                timed: true,
                broadcast: false,
                lane: false,
            };
            let fit = |kind, parties: &PartyCounts| {
                Mechanism::ALL.into_iter().filter(|all| all.serves(kind, parties)).collect::<Vec<_>>()
            };
            assert_eq!(fit(ChannelKind::Queue, &one), [Mechanism::TimedSlots]);
            assert_eq!(fit(ChannelKind::State, &one), []);
            for wrong in [
                PartyCounts { readers: 2, real_time_readers: 2, ..one },
                PartyCounts { real_time_readers: 0, ..one },
                PartyCounts { overflow: OverflowPolicy::DropOldest, ..one },
            ] {
                assert_eq!(fit(ChannelKind::Queue, &wrong), [], "{wrong:?}");
            }
        }
    }

    /// A broadcast with a real-time reader has its own mechanism, and nothing else has it; one without is QrtWo.
    #[test]
    fn broadcasts_reach_all_readers() {
        let of = |kind, parties: &PartyCounts| {
            Mechanism::ALL.into_iter().filter(|all| all.serves(kind, parties)).collect::<Vec<_>>()
        };
        for real_time_writer in [false, true] {
            for (readers, real_time_readers, client_readers) in
                [(1, 1, 0), (4, 4, 0), (4, 1, 3), (4, 0, 1), (300, 250, 50), (251, 251, 0), (0, 0, 0)]
            {
                let parties = PartyCounts {
                    real_time_writer,
                    readers,
                    real_time_readers,
                    client_readers,
                    synchronous: false,
                    overflow: OverflowPolicy::Reject,
                    timed: false,
                    broadcast: true,
                    lane: false,
                };
                let expected = match real_time_readers {
                    0 if real_time_writer && readers > 0 => vec![Mechanism::Qrtwo],
                    0 | 251 => vec![],
                    _ => vec![Mechanism::Broadcast],
                };
                assert_eq!(of(ChannelKind::Queue, &parties), expected, "{parties:?}");
                assert_eq!(of(ChannelKind::State, &parties), []);
                for wrong in [OverflowPolicy::DropOldest, OverflowPolicy::Clear] {
                    let dropping = PartyCounts { overflow: wrong, ..parties };
                    assert_eq!(of(ChannelKind::Queue, &dropping), [], "{dropping:?}");
                }
                let timed = PartyCounts { timed: true, ..parties };
                assert_eq!(of(ChannelKind::Queue, &timed), []);
                let not = PartyCounts { broadcast: false, ..parties };
                assert!(!Mechanism::Broadcast.serves(ChannelKind::Queue, &not));
            }
        }
    }

    /// A bulk channel has mechanisms of its own, and one reader; it rejects or recalls, and recalls if its reader is a client.
    #[test]
    fn blocks_move_between_two_parties() {
        let policies = [
            OverflowPolicy::Reject,
            OverflowPolicy::DropOldest,
            OverflowPolicy::Clear,
            OverflowPolicy::Recall,
        ];
        for (at, overflow) in policies.into_iter().enumerate() {
            for (real_time_writer, readers, real_time_readers, client_readers) in [
                (true, 1, 1, 0),
                (false, 1, 1, 0),
                (true, 1, 0, 0),
                (false, 1, 0, 0),
                (true, 2, 1, 0),
                (true, 1, 0, 1),
                (false, 1, 0, 1),
                (true, 2, 0, 1),
                (true, 2, 0, 2),
            ] {
                let parties = PartyCounts {
                    real_time_writer,
                    readers,
                    real_time_readers,
                    client_readers,
                    synchronous: false,
                    overflow,
                    timed: false,
                    broadcast: false,
                    lane: false,
                };
                let fit = |kind| {
                    Mechanism::ALL.into_iter().filter(|all| all.serves(kind, &parties)).collect::<Vec<_>>()
                };
                let fits = (at == 0 || at == 3)
                    && (readers, client_readers) == (1, 0)
                    && (real_time_writer || real_time_readers == 1);
                let leaves = at == 3 && (readers, client_readers) == (1, 1);
                let expected: &[_] = match (fits, leaves) {
                    (true, _) => &[Mechanism::Bulk],
                    (_, true) => &[Mechanism::ReservedBulk],
                    _ => &[],
                };
                assert_eq!(fit(ChannelKind::Bulk), expected, "{parties:?}");
                assert!(
                    !fit(ChannelKind::Queue)
                        .iter()
                        .any(|one| matches!(one, Mechanism::Bulk | Mechanism::ReservedBulk))
                );
                assert!(overflow != OverflowPolicy::Recall || fit(ChannelKind::Queue).is_empty());
            }
        }
    }

    /// A queue drops waiting values only if its writer is real-time and its readers are not.
    /// A lane drops the oldest values of a sender that is not real-time, and none of a real-time one.
    #[test]
    fn lanes_drop_what_is_not_real_time() {
        let policies = [OverflowPolicy::Reject, OverflowPolicy::DropOldest, OverflowPolicy::Clear];
        for real_time_writer in [false, true] {
            let lane = |overflow| PartyCounts {
                real_time_writer,
                readers: 1,
                real_time_readers: 1,
                client_readers: 0,
                synchronous: false,
                overflow,
                timed: false,
                broadcast: false,
                lane: true,
            };
            let fit = |parties: &PartyCounts| {
                let fit = Mechanism::ALL.into_iter().filter(|all| all.serves(ChannelKind::Queue, parties));
                fit.collect::<Vec<_>>()
            };
            let [rejects, drops, clears] = policies.map(|overflow| fit(&lane(overflow)));
            assert_eq!((rejects, clears), (vec![Mechanism::Qrtr], vec![]));
            let expected: &[Mechanism] = if real_time_writer { &[] } else { &[Mechanism::Qrtwo] };
            assert_eq!(drops, expected);
            for wrong in [
                PartyCounts { lane: false, ..lane(OverflowPolicy::DropOldest) },
                PartyCounts { timed: true, ..lane(OverflowPolicy::DropOldest) },
                PartyCounts { real_time_readers: 0, ..lane(OverflowPolicy::DropOldest) },
                PartyCounts { readers: 2, ..lane(OverflowPolicy::DropOldest) },
            ] {
                let leaves = real_time_writer && wrong.real_time_readers == 0;
                assert_eq!(fit(&wrong).is_empty(), !leaves, "{wrong:?}");
            }
        }
    }

    /// A queue drops waiting values only of readers that are not real-time, to a real-time writer.
    #[test]
    fn queues_that_drop_leave_the_real_time_side() {
        let policies = [OverflowPolicy::Reject, OverflowPolicy::DropOldest, OverflowPolicy::Clear];
        let queues = [Mechanism::Qrtr, Mechanism::Qrtwo, Mechanism::Qrtwc];
        for (overflow, queue) in policies.into_iter().zip(queues) {
            for real_time_writer in [false, true] {
                for readers in 0..4 {
                    for real_time_readers in 0..=readers {
                        for client_readers in 0..=readers - real_time_readers {
                            let parties = PartyCounts {
                                real_time_writer,
                                readers,
                                real_time_readers,
                                client_readers,
                                synchronous: false,
                                overflow,
                                timed: false,
                                broadcast: false,
                                lane: false,
                            };
                            let fit =
                                queues.into_iter().filter(|all| all.serves(ChannelKind::Queue, &parties));
                            let leaves = real_time_writer && real_time_readers == 0 && readers > 0;
                            let is_served = match queue {
                                Mechanism::Qrtr => {
                                    readers == 1 && (real_time_writer || real_time_readers == 1)
                                }
                                _ => leaves,
                            };
                            let expected: Vec<_> = is_served.then_some(queue).into_iter().collect();
                            assert_eq!(fit.collect::<Vec<_>>(), expected, "{parties:?}");
                        }
                    }
                }
            }
        }
    }
}
