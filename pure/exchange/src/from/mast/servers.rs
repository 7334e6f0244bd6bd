// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Processors, their schedulers, and the servers that run on them.

use std::collections::BTreeMap;

use taut_time::Duration;

use super::text::{Entry, Item, entry, leave_out, list, word};
use super::{Reader, is, key};
use crate::TextPosition;
use crate::number::Decimal;
use crate::sketch::Server as Budgeted;
use crate::xml::shown;

/// How deep schedulers may nest.
const DEPTH: usize = 8;

/// Where the activities of a server run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// A position in the list of cores.
    Core(usize),
    Network,
    Unknown,
}

/// A budget and its replenishment.
#[derive(Clone, Copy, Debug)]
pub(super) enum Budget {
    Sporadic {
        capacity: Duration,
        period: Duration,
    },
    /// The budget is the cost of its jobs plus `overhead`.
    Polling {
        period: Duration,
        overhead: Duration,
    },
}

/// A scheduling server, which runs activities.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) at: TextPosition,
    pub(super) name: String,
    pub(super) host: Host,
    pub(super) priority: Option<i64>,
    pub(super) non_preemptive: bool,
    pub(super) budget: Option<Budget>,
}

/// By scheduler: its host, and whether it schedules by deadlines.
pub(super) type Schedulers = BTreeMap<String, (Host, bool)>;

impl Reader {
    pub(super) fn processor(&mut self, item: &Item) {
        let kind = word(&item.entries, "type");
        let name = word(&item.entries, "name");
        if !["regular_processor", "fixed_priority_processor"].iter().any(|known| is(kind, known)) {
            self.lose(item, &format!("a `{}` is no processor: it is left out", shown(kind)));
            self.hosts.insert(key(name), Host::Network);
            return leave_out(&item.entries);
        }
        let speed = match word(&item.entries, "speed_factor") {
            "" => None,
            text => Some(Decimal::parse(text).filter(|speed| Some(*speed) != Decimal::parse("0"))),
        };
        if speed == Some(None) {
            let speed = shown(word(&item.entries, "speed_factor"));
            self.lose(item, &format!("its speed is `{speed}`, which is no number above 0: 1 is taken"));
        }
        self.switch(&item.entries);
        self.hosts.insert(key(name), Host::Core(self.sketch.cores.len()));
        self.sketch.cores.push(name.to_owned());
        self.speeds.push(speed.flatten());
    }

    /// Charges the longest of all context switches on every core.
    fn switch(&mut self, entries: &[Entry]) {
        let time = self.time(entries, "worst_context_switch", true);
        self.switches.insert(time);
        self.sketch.context_switch = self.sketch.context_switch.max(time);
    }

    pub(super) fn scheduler(&mut self, item: &Item) {
        let name = key(word(&item.entries, "name"));
        let policy = list(&item.entries, "policy");
        if !is(word(&item.entries, "type"), "primary_scheduler") {
            let above = key(match word(&item.entries, "server") {
                "" => word(&item.entries, "host"),
                server => server,
            });
            self.secondary.insert(name, above);
            self.lose(item, "it is inside of another one, and is left out: the plan gives priorities");
            return leave_out(&item.entries);
        }
        let host = self.hosts.get(&key(word(&item.entries, "host"))).copied().unwrap_or(Host::Unknown);
        if host == Host::Network {
            self.lose(item, "it is of no processor, and is left out");
            leave_out(&item.entries);
        }
        let mut edf = false;
        if let Host::Core(_) = host {
            self.switch(policy);
            let kind = word(policy, "type");
            edf = is(kind, "edf");
            if !is(kind, "fixed_priority") && !is(kind, "edf") {
                self.lose(item, "its policy is neither fixed priority nor EDF: fixed priorities are written");
            }
        }
        self.schedulers.insert(name, (host, edf));
    }

    pub(super) fn server(&mut self, item: &Item) {
        let name = word(&item.entries, "name").to_owned();
        let parameters = list(&item.entries, "server_sched_parameters");
        let policy = key(word(parameters, "type"));
        let host = match self.schedulers.get(&key(word(&item.entries, "scheduler"))) {
            Some((host, _)) => *host,
            None => {
                let processor = key(word(&item.entries, "server_processing_resource"));
                self.hosts.get(&processor).copied().unwrap_or(Host::Unknown)
            }
        };
        if host == Host::Network {
            self.lose(item, "it is of no processor, and is left out");
            let (priority, non_preemptive, budget) = (None, false, None);
            let server = Server { at: item.at, name, host, priority, non_preemptive, budget };
            self.servers.insert(key(&server.name), server);
            return leave_out(&item.entries);
        }
        let (mut priority, mut budget) = (self.number(parameters, "the_priority"), None);
        match policy.as_str() {
            "fixed_priority_policy" | "non_preemptible_fp_policy" | "edf_policy" => {}
            "sporadic_server_policy" => {
                priority = self.number(parameters, "normal_priority");
                let (capacity, period) = (
                    self.time(parameters, "initial_capacity", false),
                    self.time(parameters, "replenishment_period", true),
                );
                budget = Some(Budget::Sporadic { capacity, period });
                if let Some(found) = entry(parameters, "background_priority") {
                    let priority = shown(found.word());
                    let what = format!(
                        "its execution without budget, at its background priority {priority}, is left out"
                    );
                    self.lose(item, &what);
                }
            }
            "polling_policy" => {
                let (period, overhead) = (
                    self.time(parameters, "polling_period", false),
                    self.time(parameters, "polling_worst_overhead", true),
                );
                budget = Some(Budget::Polling { period, overhead });
            }
            "interrupt_fp_policy" => {
                self.lose(item, "it serves an interrupt: its tasks are written like others")
            }
            _ => {
                self.lose(
                    item,
                    &format!("of policy `{}`: its priority is written, nothing more", shown(&policy)),
                );
            }
        }
        let non_preemptive = policy == "non_preemptible_fp_policy";
        let server = Server { at: item.at, name, host, priority, non_preemptive, budget };
        self.servers.insert(key(&server.name), server);
    }

    /// Moves each server of a secondary scheduler to the host of the server in which that scheduler runs. Such a
    /// server's own priority does not order it on a core, so it is dropped.
    pub(super) fn inside(&mut self, items: &[Item]) {
        let servers = || items.iter().filter(|item| item.kind == "scheduling_server");
        let scheduler = |item: &Item| key(word(&item.entries, "scheduler"));
        let above: BTreeMap<String, String> =
            servers().map(|item| (key(word(&item.entries, "name")), scheduler(item))).collect();
        for item in servers() {
            let (name, mut scheduler) = (key(word(&item.entries, "name")), scheduler(item));
            let mut host = None;
            for _ in 0..DEPTH {
                let Some(server) = self.secondary.get(&scheduler) else { break };
                scheduler = above.get(server).cloned().unwrap_or_default();
                host = Some(self.schedulers.get(&scheduler).map_or(Host::Unknown, |(host, _)| *host));
            }
            let Some(server) = self.servers.get_mut(&name) else { continue };
            if let Some(host) = host {
                (server.host, server.priority) = (host, None);
            }
            if server.host == Host::Unknown {
                self.lose(item, "it is on no processor that is known: the plan chooses a core");
            }
        }
    }

    /// The manifest's server for a server with a budget; the first call adds it.
    pub(super) fn budgeted(&mut self, server: &Server) -> Option<usize> {
        let (policy, budget, period) = match server.budget? {
            Budget::Sporadic { capacity, period } => ("sporadic", capacity, period),
            Budget::Polling { period, overhead } => ("polling", overhead, period),
        };
        if let Some(at) = self.budgets.get(&key(&server.name)) {
            return Some(*at);
        }
        let at = self.sketch.servers.len();
        let core = match server.host {
            Host::Core(core) => Some(core),
            Host::Network | Host::Unknown => None,
        };
        let named = crate::sketch::Named::new(&server.name);
        let priority = server.priority;
        self.sketch.servers.push(Budgeted { at: server.at, named, policy, budget, period, core, priority });
        self.budgets.insert(key(&server.name), at);
        Some(at)
    }

    /// Adds the cost of its jobs to the budget of each polling server.
    pub(super) fn polled(&mut self) {
        for task in &self.sketch.tasks {
            let server = task.server.and_then(|at| self.sketch.servers.get_mut(at));
            if let Some(server) = server.filter(|server| server.policy == "polling") {
                server.budget = server.budget.checked_add(task.cost).unwrap_or(Duration::MAX);
            }
        }
    }
}
