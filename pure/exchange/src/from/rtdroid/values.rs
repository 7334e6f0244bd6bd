// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Times, sizes, counts and priorities, in each of their notations. A value that cannot be read is reported.

use taut_time::Duration;

use super::Reader;
use crate::TextPosition;
use crate::number::Decimal;
use crate::xml::{Node, elements, number, shown};

/// The most values per activation that a manifest can state.
const COUNT_MAX: u32 = 1 << 16;
/// Parts of a time as attributes of their own.
const PARTS: [(&str, Duration); 4] = [
    ("ms", Duration::from_ms(1)),
    ("ns", Duration::from_ns(1)),
    ("us", Duration::from_us(1)),
    ("s", Duration::from_s(1)),
];
/// What may hold the times of a component.
const HOLDERS: [&str; 4] = ["periodic", "release", "time", "timing"];

/// The times of a component, as far as the file states them.
#[derive(Default)]
pub(super) struct Times {
    pub(super) start: Option<TimeAt>,
    /// The period, or the least time between two releases.
    pub(super) period: Option<TimeAt>,
    pub(super) deadline: Option<TimeAt>,
    pub(super) cost: Option<TimeAt>,
}

/// A time, and where the file states it.
#[derive(Clone, Copy)]
pub(super) struct TimeAt {
    pub(super) time: Duration,
    pub(super) at: TextPosition,
}

/// The sizes of a component's scopes in bytes, as far as the file states them.
#[derive(Default)]
pub(super) struct Sizes {
    pub(super) persistent: Option<u64>,
    pub(super) release: Option<u64>,
}

/// Bytes of an array element, by the type that stands last in a MIME type, as in `application/rtdroid.int`.
pub(super) fn element(mime: &str) -> Option<u64> {
    Some(match mime.rsplit(['.', '/']).next()?.trim() {
        "byte" | "boolean" | "octet-stream" => 1,
        "char" | "short" => 2,
        "int" | "float" => 4,
        "long" | "double" => 8,
        _ => return None,
    })
}

/// A size such as `250K`, `60M`, `256B`, and whether it states bytes and not a number of elements.
pub(super) fn size(text: &str) -> Option<(u64, bool)> {
    let text = text.trim();
    let bare = text.strip_suffix("iB").or_else(|| text.strip_suffix(['B', 'b'])).unwrap_or(text).trim_end();
    let shift = match bare.chars().last()? {
        'K' | 'k' => 10,
        'M' | 'm' => 20,
        'G' | 'g' => 30,
        _ => return Some((bare.parse().ok()?, bare != text)),
    };
    let bytes = bare[..bare.len() - 1].trim().parse::<u64>().ok()?.checked_mul(1 << shift)?;
    Some((bytes, bare != text))
}

impl<'a, 'i> Reader<'a, 'i, '_> {
    /// The children of these names, recorded as looked for.
    pub(super) fn all(
        node: Node<'a, 'i>,
        names: &'static [&'static str],
    ) -> impl Iterator<Item = Node<'a, 'i>> {
        elements(node).filter(move |child| child.is_called(names)).inspect(|child| child.enter())
    }

    /// An attribute, or the text of a child, and the element that has it.
    pub(super) fn word(
        node: Node<'a, 'i>,
        names: &'static [&'static str],
    ) -> Option<(&'a str, Node<'a, 'i>)> {
        if let Some((text, _)) = node.spelled(names) {
            return Some((text.trim(), node));
        }
        let child = Self::all(node, names).next()?;
        Some((child.text().unwrap_or_default().trim(), child))
    }

    /// The times of a component: from its own attributes, and from the elements that may hold them.
    pub(super) fn times(&mut self, node: Node<'a, 'i>) -> Times {
        let mut times = Times::default();
        self.times_in(node, &mut times, 0);
        times
    }

    fn times_in(&mut self, node: Node<'a, 'i>, times: &mut Times, depth: u32) {
        const START: &[&str] = &["start", "starttime"];
        const PERIOD: &[&str] = &["period", "periodic"];
        const DEADLINE: &[&str] = &["deadline"];
        const COST: &[&str] = &["cost", "wcet"];
        for (names, up) in [(START, false), (PERIOD, false), (DEADLINE, false), (COST, true)] {
            let mut found = Vec::new();
            if let Some((text, byte)) = node.spelled(names) {
                found.push((self.bare(text, up), self.places.at_byte(byte), shown(text)));
            }
            for child in elements(node).filter(|child| child.is_called(names) && !is_holder(*child)) {
                child.enter();
                let (time, text) = self.time(child, up);
                found.push((time, self.places.at(child), shown(&text)));
            }
            for (time, at, text) in found {
                let slot = match names {
                    START => &mut times.start,
                    PERIOD => &mut times.period,
                    DEADLINE => &mut times.deadline,
                    _ => &mut times.cost,
                };
                let name = names[0];
                match (time, *slot) {
                    (Some(time), None) => *slot = Some(TimeAt { time, at }),
                    (Some(_), Some(first)) => {
                        let what = format!(
                            "a second `{name}` is left out ({text}): {} stands before it",
                            first.time
                        );
                        self.sketch.lose(at, what);
                    }
                    (None, _) => {
                        let what = format!(
                            "`{name}` is `{text}`, which is no time from 0 on: write it as in \"8ms\""
                        );
                        self.sketch.lose(at, what);
                    }
                }
            }
        }
        // Deeper ones are reported as unread.
        for holder in elements(node).filter(|child| depth < 2 && is_holder(*child)) {
            holder.enter();
            self.times_in(holder, times, depth + 1);
        }
    }

    /// A time with its unit; without one, in milliseconds.
    fn bare(&mut self, text: &str, up: bool) -> Option<Duration> {
        if let Ok(time) = text.parse::<Duration>() {
            return Some(time);
        }
        let time = Decimal::parse(text)?.of(Duration::from_ms(1), up)?;
        self.bare_times |= !time.is_zero();
        Some(time)
    }

    /// The time of an element: by attributes for its parts, or as text; and what it says.
    fn time(&mut self, node: Node<'a, 'i>, up: bool) -> (Option<Duration>, String) {
        let parts: Vec<_> = PARTS
            .into_iter()
            .filter_map(|(name, unit)| node.spelled(&[name]).map(|(text, _)| (text, unit, name)))
            .collect();
        if !parts.is_empty() {
            let said: Vec<_> = parts.iter().map(|(text, _, name)| format!("{text} {name}")).collect();
            let sum = parts.iter().try_fold(Duration::ZERO, |sum, (text, unit, _)| {
                let part = if text.trim().is_empty() {
                    Duration::ZERO
                } else {
                    Decimal::parse(text)?.of(*unit, up)?
                };
                sum.checked_add(part)
            });
            return (sum, said.join(" "));
        }
        let text = node.spelled(&["value"]).map(|(text, _)| text).or_else(|| node.text()).unwrap_or_default();
        let unit = node.spelled(&["unit"]).map_or("", |(unit, _)| unit);
        let text = format!("{}{}", text.trim(), unit.trim());
        (self.bare(&text, up), text)
    }

    /// The sizes of a component's scopes.
    pub(super) fn sizes(&mut self, node: Node<'a, 'i>) -> Sizes {
        let Some(sizes) = Self::sizes_of(node) else { return Sizes::default() };
        Sizes { persistent: self.scope(sizes, &["persistent"]), release: self.scope(sizes, &["release"]) }
    }

    /// The size of its persistent scope alone.
    pub(super) fn persistent(&mut self, node: Node<'a, 'i>) -> Option<u64> {
        self.scope(Self::sizes_of(node)?, &["persistent"])
    }

    /// The size of its release scope alone.
    pub(super) fn release(&mut self, node: Node<'a, 'i>) -> Option<u64> {
        self.scope(Self::sizes_of(node)?, &["release"])
    }

    pub(super) fn sizes_of(node: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
        const SIZES: &[&str] =
            &["scopesizes", "scopesize", "subscopesize", "subscopesizes", "memsizes", "memsize"];
        Self::all(node, SIZES).next()
    }

    fn scope(&mut self, sizes: Node<'a, 'i>, names: &'static [&'static str]) -> Option<u64> {
        let (text, place) = Self::word(sizes, names)?;
        let found = size(text).map(|(bytes, _)| bytes).filter(|bytes| *bytes <= 1 << 40);
        if found.is_none() {
            let (name, text) = (names[0], shown(text));
            self.lose(place, &format!("`{name}` is `{text}`, which is no size such as 250K: 0 is written"));
        }
        found
    }

    /// How many values per release a filter says.
    pub(super) fn count(&mut self, filter: Node<'a, 'i>) -> Option<u32> {
        let (text, byte) = filter.spelled(&["count", "concurrentcount"])?;
        let count = text.trim().parse().ok().filter(|count| (1..=COUNT_MAX).contains(count));
        if count.is_none() {
            let what =
                format!("`count` is `{}`, which is none of 1 to {COUNT_MAX}: 1 is written", shown(text));
            self.sketch.lose(self.places.at_byte(byte), what);
        }
        count
    }

    /// A component's priority: an element or an attribute.
    pub(super) fn priority(&mut self, node: Node<'a, 'i>) -> Option<i64> {
        if let Some((text, byte)) = node.spelled(&["priority"]) {
            return number(Some(text), "priority", self.places.at_byte(byte), &mut self.sketch);
        }
        let priority = Self::all(node, &["priority"]).next()?;
        if let Some((scheduler, byte)) = priority.spelled(&["scheduler"])
            && !matches!(scheduler.trim(), "FIFO" | "SCHED_FIFO")
        {
            let what = format!("a priority of scheduler `{}` is written like one of FIFO", shown(scheduler));
            self.sketch.lose(self.places.at_byte(byte), what);
        }
        let text = priority.spelled(&["priority", "value"]).map(|(text, _)| text).or_else(|| priority.text());
        let at = self.places.at(priority);
        number(text, "priority", at, &mut self.sketch)
    }
}

/// Whether an element holds times, and is none itself: `<periodic>` may be either.
fn is_holder(node: Node<'_, '_>) -> bool {
    node.is_called(&HOLDERS)
        && (elements(node).next().is_some()
            || node.has_attribute(&["start", "period", "periodic", "deadline", "cost"]))
}
