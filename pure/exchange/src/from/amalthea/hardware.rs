// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Cores, their processing unit definitions, and their clock frequencies.

use std::collections::BTreeMap;

use taut_time::Duration;

use super::runnables::{Ticks, is_kind};
use super::{identity, named, target, value_and_unit};
use crate::number::Decimal;
use crate::sketch::Sketch;
use crate::xml::{Node, Places, child, shown};

/// A core.
pub(super) struct Core {
    pub(super) name: String,
    id: String,
    /// The name of its definition, by which runnables give their ticks.
    definition: String,
    /// In Hz.
    frequency: Option<Decimal>,
}

/// The general-purpose cores.
pub(super) struct Hardware {
    pub(super) cores: Vec<Core>,
}

impl Hardware {
    pub(super) fn read(root: Node<'_, '_>, places: &Places<'_>, sketch: &mut Sketch) -> Self {
        let mut cores = Vec::new();
        let (mut domains, mut made_as) = (BTreeMap::new(), BTreeMap::new());
        for node in root.descendants() {
            match node.tag() {
                "domains" if is_kind(node, "FrequencyDomain") => {
                    let found = child(node, "defaultValue");
                    domains.insert(identity(node), found.and_then(|node| frequency(node, places, sketch)));
                }
                "definitions" if is_kind(node, "ProcessingUnitDefinition") => {
                    let made = node.attribute("puType").unwrap_or("CPU");
                    made_as.insert(identity(node), made.to_owned());
                }
                _ => {}
            }
        }
        for node in root.descendants().filter(|node| is_kind(*node, "ProcessingUnit")) {
            let reference = |key: &str| target(node.attribute(key).unwrap_or_default()).to_owned();
            let (definition, domain) = (reference("definition"), reference("frequencyDomain"));
            let at = places.at(node);
            match made_as.get(&definition).map(String::as_str) {
                Some("CPU" | "_undefined_") => {}
                Some(made) => {
                    let what = format!(
                        "processing unit `{}` is a {}: it is left out",
                        shown(named(node)),
                        shown(made)
                    );
                    sketch.lose(at, what);
                    node.leave_out();
                    continue;
                }
                None if definition.is_empty() => {}
                None => {
                    let (name, definition) = (shown(named(node)), shown(&definition));
                    let what = format!("core `{name}` is made as `{definition}`, which is not defined");
                    sketch.lose(at, what);
                }
            }
            let frequency = domains.get(&domain).copied().flatten();
            if frequency.is_none() {
                sketch.lose(
                    at,
                    format!("core `{}` has no frequency: what runs there takes no time", shown(named(node))),
                );
            }
            cores.push(Core { name: named(node).to_owned(), id: identity(node), definition, frequency });
        }
        Self { cores }
    }

    pub(super) fn core(&self, id: &str) -> Option<usize> {
        self.cores.iter().position(|core| core.id == id)
    }

    /// How long `ticks` take on a core, rounded up.
    pub(super) fn time(&self, core: usize, ticks: &[Ticks]) -> Option<Duration> {
        let core = self.cores.get(core)?;
        let frequency = core.frequency?;
        ticks.iter().try_fold(Duration::ZERO, |sum, ticks| {
            let ns = ticks.on(&core.definition)?.scaled(1_000_000_000, frequency, true)?;
            sum.checked_add(Duration::from_ns(ns))
        })
    }
}

fn frequency(node: Node<'_, '_>, places: &Places<'_>, sketch: &mut Sketch) -> Option<Decimal> {
    let (value, unit) = value_and_unit(node);
    let power = match unit {
        "Hz" => Some(""),
        "kHz" | "KHz" => Some("e3"),
        "MHz" => Some("e6"),
        "GHz" => Some("e9"),
        _ => None,
    };
    let found = power.and_then(|power| Decimal::parse(&format!("{value}{power}")));
    if found.is_none() {
        let what = format!("`{} {}` is no frequency that can be read", shown(value), shown(unit));
        sketch.lose(places.at(node), what);
    }
    found
}
