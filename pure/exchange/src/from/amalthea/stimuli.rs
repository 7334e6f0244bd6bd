// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Stimuli, which release tasks.

use std::collections::BTreeMap;

use taut_time::Duration;

use super::{Reader, identity, kind, named, quantity};
use crate::number::Decimal;
use crate::sketch::Arrival;
use crate::xml::{Node, child, shown};

/// A stimulus: how it releases tasks.
pub(super) enum Stimulus {
    Events(Events),
    Triggered,
    Other(String),
}

/// Periodic events, or events at least `period` apart.
pub(super) struct Events {
    pub(super) arrival: Arrival,
    pub(super) period: Duration,
    pub(super) jitter: Duration,
    /// How many arrive at once, or close together.
    pub(super) count: u32,
}

/// A number above 0, rounded up.
fn whole(text: Option<&str>) -> Option<u32> {
    let number = Decimal::parse(text?)?.scaled(1, Decimal::ONE, true)?;
    u32::try_from(number).ok().filter(|count| *count > 0)
}

impl Reader<'_, '_, '_> {
    /// A bound of a distribution, or the value of a constant.
    fn bound(&mut self, node: Node<'_, '_>, name: &str, up: bool) -> Option<Duration> {
        let node = child(node, name).or_else(|| child(node, "value"))?;
        self.time(node, up)
    }

    pub(super) fn stimuli(&mut self) -> BTreeMap<String, Stimulus> {
        let mut all = BTreeMap::new();
        for node in self.models("stimuliModel", "stimuli") {
            let stimulus = match kind(node) {
                "InterProcessStimulus" => {
                    if let Some(counter) = child(node, "counter") {
                        self.without(node, "the counter");
                        counter.leave_out();
                    }
                    Some(Stimulus::Triggered)
                }
                _ => self.events(node).map(Stimulus::Events),
            };
            let stimulus = stimulus.unwrap_or_else(|| Stimulus::Other(kind(node).to_owned()));
            all.insert(identity(node), stimulus);
        }
        all
    }

    fn without(&mut self, node: Node<'_, '_>, what: &str) {
        let (at, name) = (self.places.at(node), shown(named(node)));
        self.sketch.lose(at, format!("{what} of stimulus `{name}` is left out"));
    }

    fn events(&mut self, node: Node<'_, '_>) -> Option<Events> {
        let offset = self.time_of(node, "offset").unwrap_or_default();
        let sporadic = |period| {
            Some(Events { arrival: Arrival::Sporadic(Vec::new()), period, jitter: Duration::ZERO, count: 1 })
        };
        match kind(node) {
            "PeriodicStimulus" => self.periodic(node, offset),
            "RelativePeriodicStimulus" => {
                if !offset.is_zero() {
                    self.without(node, "the offset");
                }
                sporadic(self.bound(child(node, "nextOccurrence")?, "lowerBound", false)?)
            }
            "SporadicStimulus" => {
                let deviation =
                    ["occurrence", "stimulusDeviation"].iter().find_map(|name| child(node, name))?;
                sporadic(self.bound(deviation, "lowerBound", false)?)
            }
            "PeriodicBurstStimulus" => {
                let count = whole(node.attribute("occurrenceCount"))?;
                Some(Events {
                    arrival: Arrival::Periodic(offset),
                    period: self.time_of(node, "recurrence")?,
                    jitter: Duration::ZERO,
                    count,
                })
            }
            "VariableRateStimulus" => {
                let most = child(node, "occurrencesPerStep")?;
                let most = most.attribute("upperBound").or_else(|| most.attribute("value"));
                Some(Events { count: whole(most)?, ..sporadic(self.time_of(node, "step")?)? })
            }
            _ => None,
        }
    }

    fn time_of(&mut self, node: Node<'_, '_>, name: &str) -> Option<Duration> {
        child(node, name).and_then(|node| self.time(node, false))
    }

    fn periodic(&mut self, node: Node<'_, '_>, offset: Duration) -> Option<Events> {
        let jitter = child(node, "jitter").map_or(Duration::ZERO, |deviation| self.jitter(node, deviation));
        if let Some(least) = child(node, "minDistance") {
            self.without(node, "the least distance");
            least.leave_out();
        }
        let period = self.time_of(node, "recurrence")?;
        Some(Events { arrival: Arrival::Periodic(offset), period, jitter, count: 1 })
    }

    /// The jitter of a stimulus; zero, with a report, for a deviation that is not from 0 to some bound.
    fn jitter(&mut self, node: Node<'_, '_>, deviation: Node<'_, '_>) -> Duration {
        // If events may also come early, the deviation's lower bound is below 0, and `quantity` does not read it as a
        // time.
        let least = child(deviation, "lowerBound").or_else(|| child(deviation, "value"));
        let least = least.and_then(|node| quantity(node, false));
        match least.and_then(|least| Some((least, self.bound(deviation, "upperBound", true)?))) {
            Some((least, late)) => {
                if !least.is_zero() {
                    self.without(node, &format!("the lower bound {least} of the jitter"));
                }
                late
            }
            None => {
                self.without(node, "the jitter, which is not from 0 to some bound,");
                deviation.leave_out();
                Duration::ZERO
            }
        }
    }
}
