// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The list of a client's channels. The text comes from another process: nothing in it is trusted.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::header::{HEADER_BYTES, SERVICES_MAX};

/// The most bytes that a directory's text may have.
pub(crate) const TEXT_LIMIT: usize = 65536;

/// The most bytes that a name may have.
pub(crate) const NAME_LIMIT: usize = 64;

const LAYOUT_LIMIT: usize = 4096;

/// Regions are aligned to two cache lines: the adjacent-line prefetcher fetches lines in such pairs.
const ALIGNMENT: u64 = 128;

/// Bytes of an event count.
pub const EVENT_COUNT_BYTES: u64 = ALIGNMENT;

/// Bytes of a reservation.
pub const RESERVATION_BYTES: u64 = ALIGNMENT;

/// What a client does with a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It writes values.
    Writes,
    /// It reads values, and stores nothing.
    Reads,
    /// It reads values, and stores in the region how far it has read.
    Takes,
}

impl Role {
    /// The word for this role in the text.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Writes => "writes",
            Self::Reads => "reads",
            Self::Takes => "takes",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A channel, as one client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelEntry {
    /// The channel's name; of a lane of a message, `message/sender`.
    pub channel: String,
    /// What the client does with it.
    pub role: Role,
    /// The protocol that implements the channel.
    pub mechanism: String,
    /// The layout of a value, in one line.
    pub layout: String,
    /// Bytes of a value.
    pub value_size: u32,
    /// The values that a queue can hold; for a state the copies that its object holds, if its protocol counts them,
    /// else 1.
    pub capacity: u32,
    /// Readers that have a place of their own in the object.
    pub readers: u32,
    /// Bytes from the start of the segment; a multiple of 128.
    pub offset: u64,
    /// Bytes of the region.
    pub size: u64,
    /// Whether a value of this channel releases a task.
    pub triggered: bool,
    /// Bytes from the start of the segment to the event count of [`EVENT_COUNT_BYTES`] on which the client waits for a
    /// value; a multiple of 128. `None` if nothing wakes the client.
    pub event_count: Option<u64>,
    /// With how many earlier values an end of a queue begins that the client makes; at most the capacity.
    pub history: u32,
    /// The service of the task that writes the channel, as a number of [`Owner::set_service`](crate::Owner::set_service). `None` if
    /// the owner publishes no state of the writer: then it counts as running.
    pub service: Option<u16>,
    /// Bytes from the start of the segment to the line of [`RESERVATION_BYTES`] in which the client says which block it has; a
    /// multiple of 128. `None` of a channel without such a line: the client only reads a channel that has one.
    pub reservation: Option<u64>,
}

/// The channels of one client. Holding a directory proves that names are unique and well-formed; that regions are
/// aligned, lie behind the header and are not empty; and that their ends do not overflow. [`Directory::fits`] checks
/// whether they lie within a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    entries: Vec<ChannelEntry>,
}

/// Why a text or a list of entries is not a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryError {
    /// The line, counted from 1; 0 for the whole text.
    pub line: usize,
    /// What is wrong.
    pub problem: &'static str,
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(self.problem),
            line => write!(f, "line {line}: {}", self.problem),
        }
    }
}

impl std::error::Error for DirectoryError {}

impl Directory {
    /// Makes a directory from its entries.
    ///
    /// # Errors
    /// The first entry that a directory cannot hold (`line` counts entries), or `line` 0 if the text would be too
    /// long.
    pub fn new(entries: Vec<ChannelEntry>) -> Result<Self, DirectoryError> {
        let mut names = HashSet::new();
        for (index, entry) in entries.iter().enumerate() {
            let wrong = |problem| DirectoryError { line: index + 1, problem };
            entry.check().map_err(wrong)?;
            if !names.insert(&entry.channel) {
                return Err(wrong("the channel is named twice"));
            }
        }
        let directory = Self { entries };
        if directory.to_text().len() > TEXT_LIMIT {
            return Err(DirectoryError { line: 0, problem: "longer than 64 KiB" });
        }
        Ok(directory)
    }

    /// Its entries, in order.
    pub fn entries(&self) -> &[ChannelEntry] {
        &self.entries
    }

    /// The entry of a channel.
    pub fn entry(&self, channel: &str) -> Option<&ChannelEntry> {
        self.entries.iter().find(|entry| entry.channel == channel)
    }

    /// Whether the client writes any channel.
    pub fn writes(&self) -> bool {
        self.entries.iter().any(|entry| entry.role == Role::Writes)
    }

    /// Whether every region, every event count and every reservation ends within a segment of `total` bytes.
    pub fn fits(&self, total: u64) -> bool {
        let beside = |entry: &ChannelEntry| entry.event_count_end().max(entry.reservation_end());
        self.entries.iter().all(|entry| entry.end().max(beside(entry)) <= total)
    }

    /// The text, as the crate's documentation defines it.
    pub fn to_text(&self) -> String {
        self.entries.iter().map(|entry| format!("{entry}\n")).collect()
    }

    /// Parses any text. Work and memory are linear in the text, which is at most 64 KiB.
    ///
    /// # Errors
    /// The first line that is malformed, or `line` 0 for a fault of the whole text.
    pub fn from_text(text: &str) -> Result<Self, DirectoryError> {
        if text.len() > TEXT_LIMIT {
            return Err(DirectoryError { line: 0, problem: "longer than 64 KiB" });
        }
        if !text.is_empty() && !text.ends_with('\n') {
            return Err(DirectoryError { line: 0, problem: "cut off: the last line does not end" });
        }
        let mut entries = Vec::new();
        for (index, line) in text.split_terminator('\n').enumerate() {
            let entry = parse(line).map_err(|problem| DirectoryError { line: index + 1, problem })?;
            entries.push(entry);
        }
        Self::new(entries)
    }
}

impl ChannelEntry {
    /// The first byte after its region; [`ChannelEntry::check`] rules out an overflow.
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }

    /// The first byte after its event count, or 0; [`ChannelEntry::check`] rules out an overflow.
    fn event_count_end(&self) -> u64 {
        self.event_count.map_or(0, |offset| offset.saturating_add(EVENT_COUNT_BYTES))
    }

    /// The first byte after its reservation, or 0; [`ChannelEntry::check`] rules out an overflow.
    fn reservation_end(&self) -> u64 {
        self.reservation.map_or(0, |offset| offset.saturating_add(RESERVATION_BYTES))
    }

    /// Whether the client stores words in the region.
    pub(crate) fn stores(&self) -> bool {
        self.role != Role::Reads
    }

    fn check(&self) -> Result<(), &'static str> {
        let lane =
            self.channel.split_once('/').filter(|(message, sender)| is_name(message) && is_name(sender));
        if !is_name(&self.channel) && lane.is_none() {
            return Err(
                "the channel's name is not 1 to 64 letters, digits, `-` or `_`, nor a lane of two such names",
            );
        }
        if !is_name(&self.mechanism) {
            return Err("the mechanism's name is not 1 to 64 letters, digits, `-` or `_`");
        }
        let layout = &self.layout;
        if layout.is_empty() || layout.len() > LAYOUT_LIMIT || layout.chars().any(char::is_control) {
            return Err("the layout is not one line of 1 to 4096 bytes");
        }
        if self.offset < HEADER_BYTES as u64 || !self.offset.is_multiple_of(ALIGNMENT) {
            return Err("the region's offset is not a multiple of 128 behind the header");
        }
        if self.size == 0 || self.offset.checked_add(self.size).is_none() {
            return Err("the region's size is zero, or too large for any memory");
        }
        if let Some(offset) = self.event_count
            && (offset < HEADER_BYTES as u64
                || !offset.is_multiple_of(ALIGNMENT)
                || offset.checked_add(EVENT_COUNT_BYTES).is_none())
        {
            return Err("the event count's offset is not a multiple of 128 behind the header");
        }
        if self.history > self.capacity {
            return Err("the history is longer than the queue");
        }
        if self.service.is_some_and(|service| service >= SERVICES_MAX) {
            return Err("the header has no state of such a service");
        }
        if let Some(offset) = self.reservation
            && (offset < HEADER_BYTES as u64
                || !offset.is_multiple_of(ALIGNMENT)
                || offset.checked_add(RESERVATION_BYTES).is_none())
        {
            return Err("the reservation's offset is not a multiple of 128 behind the header");
        }
        if self.reservation.is_some() && self.stores() {
            return Err("a client that stores in the region reserves blocks");
        }
        Ok(())
    }
}

impl fmt::Display for ChannelEntry {
    /// Its line of text, without the line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { channel, role, mechanism, layout, value_size, capacity, readers, offset, size, .. } = self;
        let triggered = if self.triggered { "yes" } else { "no" };
        let waits = self.event_count.map_or_else(|| "no".to_owned(), |offset| offset.to_string());
        let service = self.service.map_or_else(|| "no".to_owned(), |service| service.to_string());
        let history = self.history;
        write!(f, "{channel} {role} mechanism={mechanism} value={value_size} capacity={capacity} ")?;
        write!(
            f,
            "readers={readers} offset={offset} size={size} triggered={triggered} waits={waits} history={history} "
        )?;
        write!(f, "service={service} ")?;
        if let Some(offset) = self.reservation {
            write!(f, "reserves={offset} ")?;
        }
        write!(f, "layout={layout}")
    }
}

fn parse(line: &str) -> Result<ChannelEntry, &'static str> {
    let mut fields = line.splitn(13, ' ');
    let mut next = |key: &str, problem| {
        let field = fields.next().ok_or(problem)?;
        field.strip_prefix(key).ok_or(problem)
    };
    let mut entry = ChannelEntry {
        channel: next("", "no name")?.to_owned(),
        role: match next("", "no role")? {
            "writes" => Role::Writes,
            "reads" => Role::Reads,
            "takes" => Role::Takes,
            _ => return Err("the role is not `writes`, `reads` or `takes`"),
        },
        mechanism: next("mechanism=", "`mechanism=` is missing or out of place")?.to_owned(),
        value_size: number(next("value=", "`value=` is missing or out of place")?)?,
        capacity: number(next("capacity=", "`capacity=` is missing or out of place")?)?,
        readers: number(next("readers=", "`readers=` is missing or out of place")?)?,
        offset: number(next("offset=", "`offset=` is missing or out of place")?)?,
        size: number(next("size=", "`size=` is missing or out of place")?)?,
        triggered: match next("triggered=", "`triggered=` is missing or out of place")? {
            "yes" => true,
            "no" => false,
            _ => return Err("`triggered=` is neither `yes` nor `no`"),
        },
        event_count: match next("waits=", "`waits=` is missing or out of place")? {
            "no" => None,
            offset => Some(number(offset)?),
        },
        history: number(next("history=", "`history=` is missing or out of place")?)?,
        service: match next("service=", "`service=` is missing or out of place")? {
            "no" => None,
            service => Some(number(service)?),
        },
        reservation: None,
        layout: String::new(),
    };
    let mut rest = next("", "`layout=` is missing or out of place")?;
    if let Some((offset, layout)) = rest.strip_prefix("reserves=").and_then(|rest| rest.split_once(' ')) {
        (entry.reservation, rest) = (Some(number(offset)?), layout);
    }
    rest.strip_prefix("layout=").ok_or("`layout=` is missing or out of place")?.clone_into(&mut entry.layout);
    Ok(entry)
}

/// Parses decimal digits, without sign and without leading zeros: each number has one spelling.
fn number<N: std::str::FromStr>(text: &str) -> Result<N, &'static str> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let needless = text.len() > 1 && text.starts_with('0');
    if !digits || needless {
        return Err("a number is not plain decimal digits");
    }
    text.parse().map_err(|_| "a number is missing or too large")
}

/// Whether a text can be the name of a client, a channel or a mechanism.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=NAME_LIMIT).contains(&text.len()) && text.bytes().all(plain)
}

/// The text whose hash distinguishes one layout from another.
pub(crate) fn layout_text(clients: &[(String, Directory)]) -> String {
    clients.iter().map(|(name, directory)| format!("client {name}\n{}", directory.to_text())).collect()
}

/// 64-bit FNV-1a.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Two entries whose regions or event counts overlap, or one channel with two regions.
pub(crate) fn conflict(clients: &[(String, Directory)]) -> Option<(&ChannelEntry, &ChannelEntry)> {
    let entries = || clients.iter().flat_map(|(_, directory)| directory.entries());
    let mut first: HashMap<&str, &ChannelEntry> = HashMap::new();
    let mut stretches: Vec<(u64, u64, &ChannelEntry)> = Vec::new();
    for entry in entries() {
        let same = *first.entry(&entry.channel).or_insert(entry);
        if (same.offset, same.size) != (entry.offset, entry.size) {
            return Some((same, entry));
        }
        if std::ptr::eq(same, entry) {
            stretches.push((entry.offset, entry.end(), entry));
        }
        stretches.extend(entry.event_count.map(|offset| (offset, entry.event_count_end(), entry)));
        stretches.extend(entry.reservation.map(|offset| (offset, entry.reservation_end(), entry)));
    }
    stretches.sort_by_key(|&(start, end, _)| (start, end));
    // In this order, no stretch so far ends after the last one.
    let overlap = stretches.windows(2).find(|pair| pair[1].0 < pair[0].1)?;
    Some((overlap[0].2, overlap[1].2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(channel: &str, offset: u64, size: u64) -> ChannelEntry {
        ChannelEntry {
            channel: channel.to_owned(),
            role: Role::Reads,
            mechanism: "sdrtw".to_owned(),
            layout: "frame:u64 levels:u8*176".to_owned(),
            value_size: 184,
            capacity: 1,
            readers: 0,
            offset,
            size,
            triggered: false,
            event_count: None,
            history: 0,
            service: None,
            reservation: None,
        }
    }

    #[test]
    fn the_documented_line() {
        let line = "levels reads mechanism=sdrtw value=184 capacity=1 readers=0 offset=128 size=768 triggered=no \
                    waits=no history=0 service=no layout=frame:u64 levels:u8*176\n";
        let directory = Directory::from_text(line).unwrap();
        assert_eq!(directory.entries(), [entry("levels", 128, 768)]);
        assert_eq!(directory.to_text(), line);
        assert!(directory.fits(896) && !directory.fits(895));
        assert!(!directory.writes());
        assert!(Directory::from_text(&line.replace("reads", "writes")).unwrap().writes());
        let waits = line.replace("reads", "takes").replace("waits=no", "waits=1024");
        let waits = Directory::from_text(&waits).unwrap();
        assert_eq!((waits.entries()[0].role, waits.entries()[0].event_count), (Role::Takes, Some(1024)));
        assert!(waits.fits(1152) && !waits.fits(1151) && !waits.writes());
        assert_eq!(Directory::from_text("").unwrap().entries(), []);
    }

    #[test]
    fn fnv_vectors() {
        // Fowler, Noll, Vo: published test vectors of FNV-1a, 64 bits.
        assert_eq!(hash(b""), 0xcbf29ce484222325);
        assert_eq!(hash(b"a"), 0xaf63dc4c8601ec8c);
        assert_eq!(hash(b"foobar"), 0x85944171f73967e8);
    }

    #[test]
    fn faults_name_their_line() {
        let good = entry("levels", 128, 768).to_string();
        for (from, to, problem) in [
            ("levels reads", "levels", "not `writes`, `reads` or `takes`"),
            ("levels", "le/vel/s", "channel's name"),
            ("value=184", "value=", "missing or too large"),
            ("value=184", "value=4294967296", "too large"),
            ("value=184", "value=+184", "decimal digits"),
            ("value=184", "value=0184", "decimal digits"),
            ("offset=128", "offset=0", "behind the header"),
            ("offset=128", "offset=136", "multiple of 128"),
            ("offset=128", "offset=18446744073709551488", "too large for any memory"),
            ("size=768", "size=0", "size is zero"),
            ("triggered=no", "triggered=maybe", "neither `yes` nor `no`"),
            ("waits=no", "waits=yes", "decimal digits"),
            ("waits=no", "waits=64", "the event count's offset"),
            ("waits=no", "waits=200", "the event count's offset"),
            ("waits=no", "waits=18446744073709551488", "the event count's offset"),
            ("service=no", "service=no reserves=200", "the reservation's offset"),
            ("service=no", "service=no reserves=64", "the reservation's offset"),
            ("service=no", "service=no reserves=no", "decimal digits"),
            ("service=no", "service=no reserves=256 reserves=256", "`layout=` is missing"),
            ("service=no", "service=no reserves=", "a number is missing"),
            ("waits=no ", "", "`waits=` is missing"),
            ("mechanism=sdrtw", "mechanism=\u{1b}[2J", "mechanism's name"),
            ("layout=frame:u64 levels:u8*176", "layout=", "the layout"),
            ("layout=frame:u64", "layout=\u{1b}[2J", "the layout"),
            (" layout=frame:u64 levels:u8*176", "", "`layout=` is missing"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            let text = format!("{}\n{bad}\n", entry("other", 1024, 128));
            let error = Directory::from_text(&text).unwrap_err();
            assert!(error.problem.contains(problem), "{bad}: {error}");
            assert_eq!(error.line, 2);
        }
        assert_eq!(Directory::from_text(&good).unwrap_err().line, 0, "no line feed at the end");
        let twice = format!("{good}\n{good}\n");
        assert_eq!(Directory::from_text(&twice).unwrap_err().problem, "the channel is named twice");
        assert_eq!(Directory::from_text(&"\n".repeat(TEXT_LIMIT + 1)).unwrap_err().line, 0);
    }

    #[test]
    fn overlaps_are_found() {
        let with = |entries: &[&[ChannelEntry]]| -> Vec<(String, Directory)> {
            let directory =
                |entries: &&[ChannelEntry]| ("x".to_owned(), Directory::new(entries.to_vec()).unwrap());
            entries.iter().map(directory).collect()
        };
        let [a, b] = [entry("a", 128, 256), entry("b", 384, 128)];
        assert_eq!(conflict(&with(&[&[a.clone(), b.clone()], &[b.clone(), a.clone()]])), None);
        let inside = entry("c", 256, 64);
        assert!(conflict(&with(&[&[a.clone(), b.clone()], std::slice::from_ref(&inside)])).is_some());
        let moved = entry("a", 1024, 256);
        assert!(conflict(&with(&[std::slice::from_ref(&a), &[moved]])).is_some());
        let [wide, first, second] = [entry("w", 128, 4096), entry("f", 4224, 128), entry("s", 2048, 128)];
        assert!(conflict(&with(&[&[wide, first, second]])).is_some());
        let [third, fourth] = [entry("t", 512, 256), entry("f", 640, 128)];
        let each = [a.clone(), b.clone(), third, fourth];
        assert!(conflict(&with(&[&each])).is_some(), "the first two are in nobody's way");
        // An event count is its client's alone.
        let waits = |offset| ChannelEntry { event_count: Some(offset), ..a.clone() };
        assert_eq!(conflict(&with(&[&[waits(512), b.clone()], &[waits(640)]])), None);
        for overlapping in [128, 256, 384] {
            assert!(conflict(&with(&[&[waits(overlapping), b.clone()]])).is_some(), "{overlapping}");
        }
        assert!(conflict(&with(&[&[waits(512)], &[waits(512)]])).is_some());
        // So is a reservation.
        let reserves = |offset| ChannelEntry { reservation: Some(offset), ..a.clone() };
        assert_eq!(conflict(&with(&[&[reserves(512), b.clone()], &[waits(640)]])), None);
        assert!(conflict(&with(&[&[reserves(256)]])).is_some());
        assert!(conflict(&with(&[&[reserves(512)], &[waits(512)]])).is_some());
    }

    /// The longest text and the longest line, and one byte more.
    #[test]
    #[cfg_attr(miri, ignore = "texts of 64 KiB; nothing in it is unsafe")]
    fn the_longest_is_a_directory() {
        let with_layout =
            |count: usize| ChannelEntry { layout: "x".repeat(count), ..entry("levels", 128, 768) };
        assert!(Directory::new(vec![with_layout(4096)]).is_ok());
        assert_eq!(Directory::new(vec![with_layout(4097)]).unwrap_err().line, 1);
        let longest = |more: usize| {
            let mut entries: Vec<_> =
                (0..17).map(|at| ChannelEntry { channel: format!("c{at:02}"), ..with_layout(1) }).collect();
            let text: usize = entries.iter().map(|entry| entry.to_string().len() + 1).sum();
            let mut left = TEXT_LIMIT + more - text;
            for entry in &mut entries {
                let here = left.min(4095);
                entry.layout += &"x".repeat(here);
                left -= here;
            }
            assert_eq!(left, 0);
            entries
        };
        let directory = Directory::new(longest(0)).unwrap();
        let text = directory.to_text();
        assert_eq!(text.len(), TEXT_LIMIT);
        assert_eq!(Directory::from_text(&text), Ok(directory));
        let too_long = DirectoryError { line: 0, problem: "longer than 64 KiB" };
        assert_eq!(Directory::new(longest(1)), Err(too_long.clone()));
        assert_eq!(Directory::from_text(&format!("{text}\n")), Err(too_long));
    }

    #[test]
    fn a_zero_is_a_number() {
        assert_eq!((number::<u32>("0"), number::<u32>("10")), (Ok(0), Ok(10)));
        assert!(number::<u32>("00").is_err() && number::<u32>("").is_err());
    }

    proptest! {
        #[test]
        #[cfg_attr(miri, ignore = "minutes: hundreds of drawn texts; nothing in it is unsafe")]
        fn any_text_is_survived(text in "\\PC{0,400}") {
            let _ = Directory::from_text(&format!("{text}\n"));
        }

        #[test]
        #[cfg_attr(miri, ignore = "minutes: hundreds of drawn texts; nothing in it is unsafe")]
        fn damaged_text_is_refused_or_well_formed(position in 0usize..100, byte in 0u8..128) {
            let mut text = format!("{}\n", entry("levels", 128, 768)).into_bytes();
            let position = position % text.len();
            text[position] = byte;
            let text = String::from_utf8(text).unwrap();
            if let Ok(directory) = Directory::from_text(&text) {
                prop_assert_eq!(directory.to_text(), text);
            }
        }

        #[test]
        #[cfg_attr(miri, ignore = "minutes: hundreds of drawn texts; nothing in it is unsafe")]
        fn text_and_back(
            names in prop::collection::btree_set("[a-z][a-z0-9_-]{0,63}", 0..20),
            layout in "[!-~][ -~é]{0,99}",
            numbers: (u32, u32, u32, u32),
            flags: (bool, bool),
        ) {
            let entries = names.into_iter().map(|channel| ChannelEntry {
                channel,
                role: if flags.0 { Role::Writes } else { Role::Reads },
                mechanism: "qrtr".to_owned(),
                layout: layout.clone(),
                value_size: numbers.0,
                capacity: numbers.1,
                readers: numbers.3 / 2,
                offset: 128 + 128 * u64::from(numbers.2),
                size: 1 + u64::from(numbers.3),
                triggered: flags.1,
                event_count: flags.1.then_some(128 + 128 * u64::from(numbers.1)),
                history: 0,
                service: None,
                reservation: (!flags.0 && flags.1).then_some(128 + 128 * u64::from(numbers.2)),
            });
            let directory = Directory::new(entries.collect()).unwrap();
            prop_assert_eq!(Directory::from_text(&directory.to_text()), Ok(directory));
        }
    }
}
