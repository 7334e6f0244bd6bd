// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! MAST 1, as text or XML: processors, servers, operations and transactions.
//!
//! Times are numbers without a unit. A larger priority is more urgent. Execution times are for a speed of 1.

mod events;
mod operations;
mod servers;
mod text;
mod transactions;
mod xml;

use std::collections::{BTreeMap, BTreeSet};

use taut_time::Duration;

use self::operations::Operations;
use self::servers::{Host, Schedulers, Server};
use self::text::{Entry, Item, entry, leave_out, word};
use crate::Unreadable;
use crate::number::Decimal;
use crate::sketch::{Named, Sketch};
use crate::unread::Known;
use crate::xml::{number, shown};

/// Whether a text looks like MAST.
pub(crate) fn looks_like(text: &str) -> bool {
    let kinds = [
        "model",
        "processing_resource",
        "scheduler",
        "transaction",
        "operation",
        "shared_resource",
        "scheduling_server",
    ];
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("--"));
    let first = first.unwrap_or_default().to_ascii_lowercase();
    kinds.iter().any(|kind| {
        first
            .strip_prefix(kind)
            .is_some_and(|rest| rest.trim_start().starts_with('(') || rest.trim().is_empty())
    })
}

/// The parts of a file that the import does not read: the type of a thing that has only one, values that equal the
/// default, and parts on which no bound depends.
const KNOWN: Known = Known {
    dull: &[
        ("model_date", &[]),
        ("type", &["regular", "composite", "fixed_priority", "fixed_priority_policy", "srp_parameters"]),
        ("preassigned", &["yes"]),
        ("speed_factor", &["1", "1.0", "1.00"]),
        ("worst_isr_switch", ZERO),
        ("avg_isr_switch", ZERO),
        ("best_isr_switch", ZERO),
        ("avg_context_switch", ZERO),
        ("best_context_switch", ZERO),
        ("worst_context_switch", ZERO),
    ],
    why: &[
        (
            &[
                "avg_isr_switch",
                "best_isr_switch",
                "avg_context_switch",
                "best_context_switch",
                "average_case_execution_time",
                "avg_case_execution_time",
                "best_case_execution_time",
                "avg_interarrival",
                "distribution",
            ],
            "a bound needs the worst case",
        ),
        (
            &["ceiling", "preassigned", "synchronization_parameters", "preemption_level"],
            "the plan computes ceilings",
        ),
        (
            &["max_priority", "min_priority", "max_interrupt_priority", "min_interrupt_priority"],
            "priorities are numbered from 1 to 98",
        ),
        (&["max_pending_replenishments"], "any number of replenishments may be pending"),
        (
            &["worst_isr_switch", "system_timer"],
            "the overheads of the manifest replace it, and have to be measured",
        ),
    ],
};
const ZERO: &[&str] = &["0", "0.0", "0.00", "0.000"];

/// Reads a whole file.
pub(crate) fn read(source: &str, unit: Duration) -> Result<Sketch, Unreadable> {
    let mut reader = Reader::new(unit);
    let items = match source.trim_start().starts_with('<') {
        true => xml::items(source, &mut reader.sketch)?,
        false => text::items(source)?,
    };
    reader.named_twice(&items);
    for item in &items {
        match item.kind.as_str() {
            "model" => reader.sketch.name = word(&item.entries, "model_name").to_owned(),
            "processing_resource" => reader.processor(item),
            "shared_resource" => reader.resource(item),
            "scheduler" | "scheduling_server" | "operation" | "transaction" => {}
            _ => {
                reader.lose(item, "a manifest has no such thing");
                leave_out(&item.entries);
            }
        }
    }
    items.iter().filter(|item| item.kind == "scheduler").for_each(|item| reader.scheduler(item));
    items.iter().filter(|item| item.kind == "scheduling_server").for_each(|item| reader.server(item));
    reader.inside(&items);
    let operations =
        Operations::read(items.iter().filter(|item| item.kind == "operation"), unit, &mut reader.sketch);
    for item in items.iter().filter(|item| item.kind == "transaction") {
        reader.transaction(item, &operations);
    }
    reader.polled();
    reader.same_for_all();
    reader.unused(&items, &operations);
    items.iter().for_each(|item| item.report_unread(&KNOWN, &mut reader.sketch));
    Ok(reader.sketch)
}

struct Reader {
    unit: Duration,
    sketch: Sketch,
    /// Processors and networks.
    hosts: BTreeMap<String, Host>,
    /// The speed of each core; `None` if it is 1.
    speeds: Vec<Option<Decimal>>,
    /// The context-switch times of all processors and schedulers.
    switches: BTreeSet<Duration>,
    schedulers: Schedulers,
    /// By secondary scheduler, which runs inside a server: the name of that server.
    secondary: BTreeMap<String, String>,
    servers: BTreeMap<String, Server>,
    /// Positions in the sketch of the servers with budgets that tasks run in.
    budgets: BTreeMap<String, usize>,
    /// The servers and operations that activities refer to.
    used: BTreeSet<String>,
}

/// Letter case does not distinguish names.
fn key(name: &str) -> String {
    name.to_ascii_lowercase()
}

fn is(found: &str, wanted: &str) -> bool {
    found.eq_ignore_ascii_case(wanted)
}

impl Reader {
    fn new(unit: Duration) -> Self {
        Self {
            unit,
            sketch: Sketch { unitless: true, ..Sketch::default() },
            hosts: BTreeMap::new(),
            speeds: Vec::new(),
            switches: BTreeSet::new(),
            schedulers: Schedulers::new(),
            secondary: BTreeMap::new(),
            servers: BTreeMap::new(),
            budgets: BTreeMap::new(),
            used: BTreeSet::new(),
        }
    }

    /// Reports things of the same kind and name; of those, the last counts.
    fn named_twice(&mut self, items: &[Item]) {
        let mut seen = BTreeSet::new();
        for item in items.iter().rev() {
            let name = key(word(&item.entries, "name"));
            if !name.is_empty() && !seen.insert((item.kind.as_str(), name)) && item.kind != "transaction" {
                self.lose(item, "another one has the same name: a reference to the name is ambiguous");
            }
        }
    }

    /// Reports servers and operations that no activity uses.
    fn unused(&mut self, items: &[Item], operations: &Operations) {
        for item in items {
            let name = key(word(&item.entries, "name"));
            let what = match item.kind.as_str() {
                "scheduling_server" if !self.used.contains(&name) => "no activity uses it: it is left out",
                "operation" if operations.is_idle(&name, &self.used) => "no activity uses it: it is left out",
                _ => continue,
            };
            self.lose(item, what);
        }
    }

    /// A whole number; reports one that cannot be read.
    fn number(&mut self, entries: &[Entry], name: &str) -> Option<i64> {
        let found = entry(entries, name)?;
        number(Some(found.word()), name, found.at, &mut self.sketch)
    }

    fn lose(&mut self, item: &Item, what: &str) {
        let name = shown(word(&item.entries, "name"));
        self.sketch.lose(item.at, format!("{} `{name}`: {what}", item.kind));
    }

    fn time(&mut self, entries: &[Entry], name: &str, up: bool) -> Duration {
        let Some(found) = entry(entries, name) else { return Duration::ZERO };
        let time = Decimal::parse(found.word()).and_then(|number| number.of(self.unit, up));
        if time.is_none() {
            let what = format!("`{name}` is `{}`, which is no time from 0 on", shown(found.word()));
            self.sketch.lose(found.at, what);
        }
        time.unwrap_or_default()
    }

    fn resource(&mut self, item: &Item) {
        let kind = word(&item.entries, "type");
        if is(kind, "priority_inheritance_resource") {
            self.lose(item, "of priority inheritance: the plan chooses a protocol");
        }
        let name = key(word(&item.entries, "name"));
        self.sketch.add_resource(Named { comment: kind.to_owned(), ..Named::new(&name) });
    }

    /// Chooses one scheduler and one context-switch time for all cores, as a manifest has only one of each.
    fn same_for_all(&mut self) {
        let cores = self.schedulers.values().filter(|(host, _)| matches!(host, Host::Core(_)));
        let (edf, all) = cores.fold((0, 0), |(edf, all), (_, by)| (edf + usize::from(*by), all + 1));
        self.sketch.edf = edf > 0 && edf == all;
        if edf > 0 && !self.sketch.edf {
            self.sketch.lose(
                None,
                "some cores go by deadlines, others by priorities: fixed priorities are written for all",
            );
        }
        self.switches.remove(&Duration::ZERO);
        if self.switches.len() > 1 {
            let longest = self.sketch.context_switch;
            self.sketch.lose(
                None,
                format!("context switches take different times: the longest, {longest}, is written"),
            );
        }
    }
}
