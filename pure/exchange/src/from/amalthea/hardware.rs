// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Cores, what they are made as, and how fast their clocks are.

use std::collections::BTreeMap;

use roxmltree::Node;
use taut_time::Duration;

use super::runnables::{Ticks, kind};
use super::{identity, named, target};
use crate::number::Decimal;
use crate::sketch::Sketch;
use crate::xml::{Places, child, shown};

/// A core.
pub(super) struct Core {
    pub(super) name: String,
    id: String,
    /// What ticks are told for.
    definition: String,
    /// In Hz.
    frequency: Option<Decimal>,
}

/// The cores that are general ones.
pub(super) struct Hardware {
    pub(super) cores: Vec<Core>,
}

impl Hardware {
    pub(super) fn read(root: Node<'_, '_>, places: &Places<'_>, sketch: &mut Sketch) -> Self {
        let mut cores = Vec::new();
        let (mut domains, mut other) = (BTreeMap::new(), BTreeMap::new());
        for node in root.descendants() {
            match (node.tag_name().name(), kind(node)) {
                ("domains", "FrequencyDomain") => {
                    domains.insert(identity(node), child(node, "defaultValue").and_then(frequency));
                }
                ("definitions", "ProcessingUnitDefinition") => {
                    let made = node.attribute("puType").unwrap_or("CPU");
                    if !["CPU", "_undefined_"].contains(&made) {
                        other.insert(identity(node), made.to_owned());
                    }
                }
                _ => {}
            }
        }
        for node in root.descendants().filter(|node| kind(*node) == "ProcessingUnit") {
            let reference = |key: &str| target(node.attribute(key).unwrap_or_default()).to_owned();
            let (definition, domain) = (reference("definition"), reference("frequencyDomain"));
            let at = places.at(node);
            if let Some(made) = other.get(&definition) {
                sketch.lose(
                    at,
                    format!("processing unit `{}` is a {}: it is left out", shown(named(node)), shown(made)),
                );
                continue;
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

    /// How long ticks take on a core, rounded up.
    pub(super) fn time(&self, core: usize, ticks: &[Ticks]) -> Option<Duration> {
        let core = self.cores.get(core)?;
        let frequency = core.frequency?;
        ticks.iter().try_fold(Duration::ZERO, |sum, ticks| {
            let ns = ticks.on(&core.definition)?.scaled(1_000_000_000, frequency, true)?;
            sum.checked_add(Duration::from_ns(ns))
        })
    }
}

fn frequency(node: Node<'_, '_>) -> Option<Decimal> {
    let unit = match node.attribute("unit")? {
        "Hz" => "",
        "kHz" | "KHz" => "e3",
        "MHz" => "e6",
        "GHz" => "e9",
        _ => return None,
    };
    Decimal::parse(&format!("{}{unit}", node.attribute("value")?))
}
