// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Real-time threads of other processes that used a CPU.

use std::fmt;

use taut_sys::clock;
use taut_sys::outside::{RealTimeThread, real_time_threads};
use taut_time::shown;

/// The share of time, in thousandths, below which a thread is not reported: the kernel's own threads use as much.
const NAMED_PERMILLE: u64 = 10;

/// How much of a CPU's time a real-time thread of another process used.
#[derive(Clone, Debug)]
pub(crate) struct Had {
    thread: RealTimeThread,
    ns: u64,
    of_ns: u64,
}

/// Samples all real-time threads of other processes, whenever called. In between it does nothing.
pub(crate) struct Others {
    at_ns: u64,
    threads: Vec<RealTimeThread>,
    had: Vec<Had>,
}

impl Others {
    /// Takes the first sample.
    pub(crate) fn look() -> Self {
        let mut threads = Vec::new();
        real_time_threads(|thread| threads.push(thread));
        Self { at_ns: clock::monotonic_ns(), threads, had: Vec::new() }
    }

    /// Takes another sample: the threads that used these CPUs since the last sample, by decreasing use.
    pub(crate) fn since(&mut self, cpus: &[u16]) -> Vec<Had> {
        let now = Self::look();
        let of_ns = now.at_ns.saturating_sub(self.at_ns);
        let before = |thread: &RealTimeThread| {
            let same = |old: &&RealTimeThread| (old.tid, old.started) == (thread.tid, thread.started);
            self.threads.iter().find(same).map_or(0, |old| old.ran_ns)
        };
        let mut new: Vec<Had> = now
            .threads
            .iter()
            .filter(|thread| cpus.contains(&thread.cpu))
            .map(|thread| {
                let ns = thread.ran_ns.saturating_sub(before(thread)).min(of_ns);
                Had { thread: thread.clone(), ns, of_ns }
            })
            .filter(|had| had.ns.saturating_mul(1_000) >= of_ns.saturating_mul(NAMED_PERMILLE))
            .collect();
        new.sort_by_key(|had| std::cmp::Reverse(had.ns));
        for had in &new {
            let same = |old: &&mut Had| {
                (old.thread.tid, old.thread.started, old.thread.cpu)
                    == (had.thread.tid, had.thread.started, had.thread.cpu)
            };
            match self.had.iter_mut().find(same) {
                Some(old) => (old.ns, old.of_ns) = (old.ns + had.ns, old.of_ns + had.of_ns),
                None => self.had.push(had.clone()),
            }
        }
        (self.at_ns, self.threads) = (now.at_ns, now.threads);
        new
    }

    /// The threads that used a CPU, summed over all samples in which they were reported.
    pub(crate) fn had(self) -> Vec<Had> {
        self.had
    }
}

impl Had {
    fn name(&self) -> String {
        let end = self.thread.name.iter().position(|byte| *byte == 0).unwrap_or(self.thread.name.len());
        String::from_utf8_lossy(&self.thread.name[..end]).escape_debug().to_string()
    }

    /// As JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "thread": self.name(),
            "pid": self.thread.pid,
            "tid": self.thread.tid,
            "policy": self.thread.policy,
            "priority": self.thread.priority,
            "cpu": self.thread.cpu,
            "had_ns": self.ns,
            "of_ns": self.of_ns,
        })
    }
}

impl fmt::Display for Had {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RealTimeThread { tid, pid, policy, priority, cpu, .. } = self.thread;
        write!(f, "`{}` (", self.name())?;
        if tid != pid {
            write!(f, "thread {tid} of ")?;
        }
        write!(f, "process {pid}), ")?;
        match policy {
            1 => write!(f, "SCHED_FIFO {priority}"),
            2 => write!(f, "SCHED_RR {priority}"),
            _ => f.write_str("SCHED_DEADLINE"),
        }?;
        write!(f, ", which used {} of {} of CPU {cpu}", shown::time(self.ns), shown::time(self.of_ns))
    }
}
