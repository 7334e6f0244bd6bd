// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What an application says of itself to the other applications of its machine, and the text of it.
//!
//! A line is a word, a space and the rest of the line. The first line is `taut-application 1`. A reader skips lines whose
//! word it does not know, so that a later version may add some.
//!
//! | word | the rest |
//! |---|---|
//! | `app` | the application's name |
//! | `pid` | its process |
//! | `started` | when that process started, in clock ticks since boot; 0 if unknown |
//! | `namespace` | the PID namespace in which `pid` is that process; absent if unknown |
//! | `since` | when the application was admitted, in ns of `CLOCK_MONOTONIC` |
//! | `memory` | bytes that it locks |
//! | `real-time` | `yes` if it has real-time threads, else `no` |
//! | `core` | a CPU of its tasks, and the utilisation of that CPU in parts per million; `-` if a plan does not bound it |

use taut_plan::{Plan, Size, is_name};
use taut_sys::{clock, outside, process, thread};

use crate::{Guarantee, Guarantees};

/// The most bytes of a registration.
pub(crate) const BYTES_MAX: u64 = 64 << 10;

const FIRST_LINE: &str = "taut-application 1";

/// What an application says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Registration {
    pub(crate) app: String,
    pub(crate) pid: u32,
    pub(crate) started: u64,
    pub(crate) namespace: Option<String>,
    pub(crate) since_ns: u64,
    pub(crate) memory: Size,
    pub(crate) real_time: bool,
    pub(crate) cores: Vec<CoreUse>,
}

/// A CPU on which an application has tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreUse {
    /// The CPU.
    pub cpu: u16,
    /// The utilisation of the CPU by the application's plan, overheads included, in parts per million; `None` if no
    /// plan bounds it, because the system does not keep the application's threads on their CPUs.
    pub utilisation_ppm: Option<u64>,
}

impl Registration {
    /// Describes the application of the calling process.
    pub(crate) fn of(plan: &Plan, guarantees: &Guarantees) -> Self {
        let planned = |core: &taut_plan::CorePlan| CoreUse {
            cpu: core.cpu,
            utilisation_ppm: Some(core.utilisation_ppm),
        };
        let mut cores: Vec<CoreUse> = plan.cores.iter().map(planned).collect();
        if !guarantees.keeps(Guarantee::Cores) {
            let own = |cpu: &u16| plan.cores.iter().all(|core| core.cpu != *cpu);
            // A thread that is not pinned runs where the main thread may run.
            let mut others = thread::online_cpus();
            if plan.housekeeping.iter().any(|cpu| others.contains(cpu)) {
                others.retain(|cpu| plan.housekeeping.contains(cpu));
            }
            cores.extend(others.into_iter().filter(own).map(|cpu| CoreUse { cpu, utilisation_ppm: None }));
        }
        let pid = process::pid();
        Self {
            app: plan.app.clone(),
            pid,
            started: process::start_time_of(pid).unwrap_or(0),
            namespace: process::pid_namespace(),
            since_ns: clock::monotonic_ns(),
            memory: plan.memory.total,
            real_time: !plan.cores.is_empty() && guarantees.keeps(Guarantee::Priorities),
            cores,
        }
    }

    /// Whether the process that registered has ended, as far as this process can tell: another PID namespace has other
    /// numbers.
    pub(crate) fn is_gone(&self) -> bool {
        let another = || {
            let started = process::start_time_of(self.pid);
            self.started != 0 && started.is_some_and(|started| started != self.started)
        };
        self.is_of_this_namespace() && (process::is_gone(self.pid) || another())
    }

    /// Whether the process shows that it can have real-time threads: it belongs to the user who registered
    /// it, and has such a thread.
    pub(crate) fn is_shown(&self, uid: u32) -> bool {
        self.is_of_this_namespace()
            && process::effective_uid_of(self.pid) == Some(uid)
            && outside::has_real_time_thread(self.pid)
    }

    fn is_of_this_namespace(&self) -> bool {
        self.namespace.is_some() && self.namespace == process::pid_namespace()
    }

    pub(crate) fn to_text(&self) -> String {
        let yes = |is| if is { "yes" } else { "no" };
        let mut text =
            format!("{FIRST_LINE}\napp {}\npid {}\nstarted {}\n", self.app, self.pid, self.started);
        if let Some(namespace) = &self.namespace {
            text += &format!("namespace {namespace}\n");
        }
        text += &format!(
            "since {}\nmemory {}\nreal-time {}\n",
            self.since_ns,
            self.memory.as_bytes(),
            yes(self.real_time)
        );
        for core in &self.cores {
            let utilisation = core.utilisation_ppm.map_or("-".to_owned(), |ppm| ppm.to_string());
            text += &format!("core {} {utilisation}\n", core.cpu);
        }
        text
    }

    /// `None` if the text is of another version, or not a registration.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let (mut app, mut pid, mut started, mut namespace) = (None, None, None, None);
        let (mut since_ns, mut memory, mut real_time, mut cores) = (None, None, None, Vec::new());
        for line in lines {
            let (word, rest) = line.split_once(' ')?;
            match word {
                "app" => app = Some(rest.to_owned()).filter(|name| is_name(name)),
                "pid" => pid = rest.parse().ok(),
                "started" => started = rest.parse().ok(),
                "namespace" => namespace = Some(rest.to_owned()),
                "since" => since_ns = rest.parse().ok(),
                "memory" => memory = rest.parse().ok().map(Size::from_bytes),
                "real-time" => {
                    real_time = match rest {
                        "yes" => Some(true),
                        "no" => Some(false),
                        _ => None,
                    }
                }
                "core" => {
                    let (cpu, utilisation) = rest.split_once(' ')?;
                    let utilisation_ppm = match utilisation {
                        "-" => None,
                        ppm => Some(ppm.parse().ok()?),
                    };
                    cores.push(CoreUse { cpu: cpu.parse().ok()?, utilisation_ppm });
                }
                _ => {}
            }
        }
        Some(Self {
            app: app?,
            pid: pid?,
            started: started?,
            namespace,
            since_ns: since_ns?,
            memory: memory?,
            real_time: real_time?,
            cores,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registration() -> Registration {
        let core = |cpu, utilisation_ppm| CoreUse { cpu, utilisation_ppm };
        Registration {
            app: "arm".to_owned(),
            pid: 42,
            started: 7,
            namespace: Some("pid:[1]".to_owned()),
            since_ns: 9,
            memory: Size::from_bytes(4096),
            real_time: true,
            cores: vec![core(0, Some(630_000)), core(3, None)],
        }
    }

    #[test]
    fn a_registration_reads_what_it_wrote() {
        let mut one = registration();
        assert_eq!(Registration::from_text(&one.to_text()), Some(one.clone()));
        (one.namespace, one.real_time, one.cores) = (None, false, Vec::new());
        assert_eq!(Registration::from_text(&one.to_text()), Some(one));
    }

    /// Another user may have written the text: what is damaged is no registration, and what a later version adds is
    /// skipped.
    #[test]
    fn a_damaged_text_is_no_registration() {
        let text = registration().to_text();
        assert_eq!(Registration::from_text(&(text.clone() + "colour red\n")), Some(registration()));
        for (from, to) in [
            ("taut-application 1", "taut-application 2"),
            ("app arm", "app ../arm"),
            ("app arm", "name arm"),
            ("pid 42", "pid -1"),
            ("started 7", "started"),
            ("since 9", "since never"),
            ("memory 4096", "memory 99999999999999999999"),
            ("real-time yes", "real-time maybe"),
            ("core 0 630000", "core 0"),
            ("core 0 630000", "core 70000 630000"),
            ("core 0 630000", "core 0 x"),
        ] {
            let damaged = text.replace(from, to);
            assert_ne!(damaged, text);
            assert_eq!(Registration::from_text(&damaged), None, "{to}");
        }
        assert_eq!(Registration::from_text(""), None);
    }
}
