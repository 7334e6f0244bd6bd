// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use crate::{ChannelKind, LINE_BYTES, LockingProtocol};

/// A protocol of `taut-share`, under its paper's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Mechanism {
    /// Latest value; a non-real-time writer, one real-time reader.
    Sdrtr,
    /// Latest value; a real-time writer, non-real-time readers.
    Sdrtw,
    /// Queue that refuses when full; one writer, one real-time reader.
    Qrtr,
    /// Latest value; readers claim a buffer each.
    Chen,
    /// Latest value; two buffers for each reader, which publishes the row that it uses.
    DoubleBuffer,
    /// Latest value; readers register their presence in the newest buffer.
    Presence,
    /// Latest value; the writer makes a copy for each reader that it meets.
    Peterson,
    /// Latest value; a reader claims a buffer only if the writer returned to the buffer that the reader copied.
    Hybrid,
    /// Latest value; some readers claim a buffer, the others finish before the writer returns.
    ImprovedChen,
    /// Latest value; all readers finish before the writer returns.
    Nbw,
    /// Latest value, one copy; tasks of one core, under a ceiling.
    Srp,
    /// Latest value, one copy; tasks of several cores, which spin for the lock.
    Msrp,
    /// Latest value, one copy; tasks of several cores, which suspend until they get the lock.
    Mpcp,
    /// The value of the job that the synchronous model reads; readers record which buffer they use.
    Dbp,
    /// As `Dbp`, protected by time: the writer uses the buffers in turn and reuses none while a reader reads it.
    Tccp,
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
}

impl Mechanism {
    /// All mechanisms. Where several fit and are equally small, the planner chooses the first.
    pub const ALL: [Self; 15] = [
        Self::Sdrtr,
        Self::Qrtr,
        Self::Presence,
        Self::Chen,
        Self::DoubleBuffer,
        Self::Peterson,
        Self::Hybrid,
        Self::ImprovedChen,
        Self::Nbw,
        // After Hybrid, which serves the same parties: its one slot is for manifests that ask for it.
        Self::Sdrtw,
        Self::Srp,
        Self::Msrp,
        Self::Mpcp,
        Self::Dbp,
        Self::Tccp,
    ];

    /// The name as the paper prints it.
    pub fn paper_name(self) -> &'static str {
        match self {
            Self::Sdrtr => "SDrtR",
            Self::Sdrtw => "SDrtW",
            Self::Qrtr => "QrtR",
            Self::Chen => "Chen",
            Self::DoubleBuffer => "Double Buffer",
            Self::Presence => "Presence",
            Self::Peterson => "Peterson",
            Self::Hybrid => "Hybrid",
            Self::ImprovedChen => "Improved Chen",
            Self::Nbw => "NBW",
            Self::Srp => "SRP",
            Self::Msrp => "MSRP",
            Self::Mpcp => "MPCP",
            Self::Dbp => "DBP",
            Self::Tccp => "TCCP",
        }
    }

    /// Its word in a manifest, and in the directory that a client receives.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sdrtr => "sdrtr",
            Self::Sdrtw => "sdrtw",
            Self::Qrtr => "qrtr",
            Self::Chen => "chen",
            Self::DoubleBuffer => "double-buffer",
            Self::Presence => "presence",
            Self::Peterson => "peterson",
            Self::Hybrid => "hybrid",
            Self::ImprovedChen => "improved-chen",
            Self::Nbw => "nbw",
            Self::Srp => "srp",
            Self::Msrp => "msrp",
            Self::Mpcp => "mpcp",
            Self::Dbp => "dbp",
            Self::Tccp => "tccp",
        }
    }

    /// The mechanism with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| mechanism.word() == word)
    }

    /// Whether it serves a channel of `kind` between these parties. Does not check conditions on timing.
    ///
    /// The readers of Chen, Double Buffer, Presence and Peterson store words that the writer reads; a client maps the
    /// object read-only and cannot store them. Hybrid also serves any number of readers that store nothing, even if
    /// there are no others. Improved Chen and NBW rely on a bound on the rate of writes, which only a real-time writer
    /// guarantees. All parties of a lock are real-time, so that none waits for a party that is not.
    pub fn serves(self, kind: ChannelKind, parties: &PartyCounts) -> bool {
        let &PartyCounts { real_time_writer, readers, real_time_readers, client_readers, synchronous } =
            parties;
        if (kind == ChannelKind::Queue) != (self == Self::Qrtr) || synchronous != self.preserves_flow() {
            return false;
        }
        match self {
            Self::Sdrtr => !real_time_writer && readers == 1 && real_time_readers == 1,
            Self::Sdrtw => real_time_writer && readers >= 1 && real_time_readers == 0,
            Self::Qrtr => readers == 1 && real_time_readers == 1,
            Self::Chen | Self::DoubleBuffer | Self::Presence | Self::Peterson => {
                real_time_readers >= 1 && client_readers == 0 && readers <= self.claims_max()
            }
            Self::Hybrid if real_time_readers == 0 => real_time_writer && readers >= 1,
            Self::Hybrid => real_time_readers <= self.claims_max(),
            Self::ImprovedChen | Self::Nbw => real_time_writer && real_time_readers >= 1,
            Self::Srp | Self::Msrp | Self::Mpcp => {
                real_time_writer && readers >= 1 && real_time_readers == readers
            }
            Self::Dbp | Self::Tccp => {
                real_time_writer && real_time_readers == readers && (1..=self.claims_max()).contains(&readers)
            }
        }
    }

    /// Whether jobs read what the synchronous model reads; only DBP and TCCP guarantee that.
    pub fn preserves_flow(self) -> bool {
        matches!(self, Self::Dbp | Self::Tccp)
    }

    /// The locking protocol, if the mechanism is a lock.
    pub fn locking(self) -> Option<LockingProtocol> {
        match self {
            Self::Srp => Some(LockingProtocol::Srp),
            Self::Msrp => Some(LockingProtocol::Msrp),
            Self::Mpcp => Some(LockingProtocol::Mpcp),
            _ => None,
        }
    }

    /// How often a write copies the value, and how often a read does. `claims` is the number of readers with a place
    /// of their own.
    ///
    /// Peterson: a writer makes a copy for every reader that it meets; a reader may copy the newest value and its own
    /// copy.
    pub fn copies(self, claims: u32) -> (u32, u32) {
        match self {
            Self::Peterson => (claims.saturating_add(1), 2),
            _ => (1, 1),
        }
    }

    /// The most readers that can have a place of their own.
    pub fn claims_max(self) -> usize {
        match self {
            Self::Sdrtr | Self::Qrtr => 1,
            Self::Sdrtw | Self::Nbw | Self::Srp | Self::Msrp | Self::Mpcp => 0,
            Self::Presence => 58,
            Self::DoubleBuffer => 63,
            Self::Dbp | Self::Tccp => 62,
            Self::Chen | Self::Peterson | Self::Hybrid | Self::ImprovedChen => 250,
        }
    }

    /// Whether its readers read in one of the [`Way`]s, and the plan must count its buffers.
    pub fn has_ways(self) -> bool {
        !matches!(self, Self::Sdrtr | Self::Sdrtw | Self::Qrtr)
            && self.locking().is_none()
            && !self.preserves_flow()
    }

    /// Bytes of an object for values of `value` bytes, by the formulas of `taut-share`, whose tests check them.
    /// `None` on overflow.
    ///
    /// `slots` is the number of values that can wait in a queue, and of copies of the value in a state (SDrtR and
    /// SDrtW have a fixed number); `claims` is the number of readers with a place of their own.
    ///
    /// A line has [`LINE_BYTES`]. SDrtR: a line and two slots. SDrtW: a counter and one slot. QrtR: two lines and the
    /// slots, which are packed if they have less than 64 bytes, and otherwise on cache lines of their own. The others:
    /// slots on cache lines of their own, in Hybrid and Improved Chen with a stamp each; one line of the writer
    /// (Double Buffer: 3 words per row and one more; Presence: 1 word per slot and one more) and one line per claiming
    /// reader (Presence: a word; Peterson: also its copy with a stamp). Under a lock there is one value; MSRP has a
    /// line for the queue of waiters; MPCP has a line for the holder and a word for each of the `claims + 1` parties
    /// that may wait. DBP and TCCP have two lines, two for each reader, and slots on cache lines of their own.
    pub fn bytes(self, value: u32, slots: u32, claims: u32) -> Option<u64> {
        let lines = |bytes: u64| bytes.checked_next_multiple_of(LINE_BYTES);
        let word = u64::from(value).checked_next_multiple_of(8)?;
        let (slots, claims) = (u64::from(slots), u64::from(claims));
        let spread = |slot: u64| lines(slot.checked_next_multiple_of(64)?.checked_mul(slots)?);
        let own = LINE_BYTES.checked_mul(claims)?;
        match self {
            Self::Sdrtr => lines(word)?.checked_mul(2)?.checked_add(LINE_BYTES),
            Self::Sdrtw => lines(word.checked_add(8)?),
            Self::Qrtr => {
                let slot = if word < 64 { word } else { word.checked_next_multiple_of(64)? };
                lines(slot.checked_mul(slots)?)?.checked_add(2 * LINE_BYTES)
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
    fn bytes_of_objects() {
        assert_eq!(Mechanism::Sdrtr.bytes(24, 1, 1), Some(128 + 2 * 128));
        assert_eq!(Mechanism::Sdrtw.bytes(120, 1, 0), Some(128));
        assert_eq!(Mechanism::Sdrtw.bytes(121, 1, 0), Some(256));
        assert_eq!(Mechanism::Qrtr.bytes(24, 4, 1), Some(256 + 128));
        assert_eq!(Mechanism::Qrtr.bytes(272, 4, 1), Some(256 + 4 * 320));
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
                // The fewest buffers that any mechanism can have, and the fewest readers with a place.
                let slots = if mechanism == Mechanism::Peterson { 2 } else { 3 };
                let claims = u32::from(!matches!(mechanism, Mechanism::Nbw | Mechanism::ImprovedChen));
                assert!(mechanism.bytes(value, slots, claims) > locks[1], "{mechanism:?} of {value}");
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
        assert_eq!(of(ChannelKind::Queue, true, 1, 0, 1), []);
        assert_eq!(of(ChannelKind::State, false, 1, 0, 1), []);
        assert_eq!(of(ChannelKind::State, true, 0, 0, 0), []);
    }
}
