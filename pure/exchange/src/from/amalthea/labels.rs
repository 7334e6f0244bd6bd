// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Labels: each becomes a state channel or a resource, or is left out.

use std::collections::BTreeMap;

use taut_time::Duration;

use super::{Counts, Reader, identity, named, value_and_unit};
use crate::TextPosition;
use crate::number::Decimal;
use crate::sketch::{Carries, Channel, Named};
use crate::xml::{Node, child, shown};

impl Reader<'_, '_, '_> {
    /// Carries over all labels, according to the tasks that read and write them.
    pub(super) fn labels(&mut self) {
        for node in self.models("swModel", "labels") {
            let (at, name) = (self.places.at(node), named(node).to_owned());
            let accesses = self.accesses.remove(&identity(node)).unwrap_or_default();
            let bytes = child(node, "size").and_then(|size| {
                let found = bytes(size);
                if found.is_none() {
                    let (value, unit) = value_and_unit(size);
                    let what = format!("`{} {}` is no size that can be read", shown(value), shown(unit));
                    self.sketch.lose(self.places.at(size), what);
                }
                found
            });
            self.label(at, &name, bytes, &accesses);
        }
        for label in std::mem::take(&mut self.accesses).into_keys() {
            self.sketch
                .lose(None, format!("label `{}` is accessed and not defined: it is left out", shown(&label)));
        }
    }

    fn label(
        &mut self,
        at: TextPosition,
        name: &str,
        bytes: Option<u64>,
        accesses: &BTreeMap<usize, Counts>,
    ) {
        let writers: Vec<usize> =
            accesses.iter().filter(|(_, (_, writes))| *writes > 0).map(|(task, _)| *task).collect();
        let others = |writer: usize| accesses.keys().copied().filter(move |task| *task != writer);
        let mut leave =
            |why: &str| self.sketch.lose(at, format!("label `{}` is left out: {why}", shown(name)));
        let Some(bytes) = bytes.filter(|bytes| *bytes > 0) else { return leave("it has no size") };
        if bytes > u64::from(taut_model::PAYLOAD_BYTES_MAX) {
            let most = taut_model::PAYLOAD_BYTES_MAX;
            return leave(&format!("its {bytes} bytes are more than the {most} that a value can have"));
        }
        match writers.as_slice() {
            [] => leave("no task writes it"),
            [writer] if others(*writer).next().is_none() => leave("it is its task's own"),
            [writer] => {
                let to = others(*writer).collect();
                let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                let (named, ends) = (Named::new(name), (*writer, to));
                self.sketch.channels.push(Channel::of_tasks(at, named, Carries::Latest, ends, bytes));
            }
            many => {
                let longest = Duration::from_ns(bytes.max(1_000));
                let what = format!(
                    "label `{}` has {} writers: it is a resource, whose sections are guessed to last {longest}",
                    shown(name),
                    many.len()
                );
                self.sketch.lose(at, what);
                let resource =
                    self.sketch.add_resource(Named { comment: format!("{bytes} bytes"), ..Named::new(name) });
                for (task, (reads, writes)) in accesses {
                    self.sketch.tasks[*task].section(resource, longest, reads.saturating_add(*writes));
                }
            }
        }
    }
}

/// The bytes of a size: `<size value="4" unit="kB"/>`.
fn bytes(node: Node<'_, '_>) -> Option<u64> {
    let (value, unit) = value_and_unit(node);
    let unit: u64 = match unit {
        "bit" => return Decimal::parse(value)?.scaled(1, Decimal::parse("8")?, true),
        "B" => 1,
        "kB" => 1_000,
        "KiB" => 1 << 10,
        "MB" => 1_000_000,
        "MiB" => 1 << 20,
        "GB" => 1_000_000_000,
        "GiB" => 1 << 30,
        _ => return None,
    };
    Decimal::parse(value)?.scaled(unit, Decimal::ONE, true)
}
