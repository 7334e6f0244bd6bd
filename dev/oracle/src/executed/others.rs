// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Detects real-time threads of other processes. Such a thread runs before ours whenever it is more urgent, so no
//! bound holds then, while the probe, above all of them, is on time. A thread that only waits disturbs nothing: many
//! machines have some that always wait.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration as Time;

use taut_sys::clock;

/// The time between two looks.
const EVERY: Time = Time::from_millis(15);
/// A thread that was seen to run within this time of a set may have run during the set: the thread that looks is an
/// ordinary one, and real-time threads delay it first.
const NEAR_NS: u64 = 1_000_000_000;

/// Looks for such threads as long as the process lives.
pub(crate) struct Others {
    /// When a look last found that one had run; 0 if never.
    last_ns: Arc<AtomicU64>,
    names: Arc<Mutex<BTreeSet<String>>>,
}

impl Others {
    pub(crate) fn new() -> Self {
        let last_ns = Arc::new(AtomicU64::new(0));
        let names = Arc::new(Mutex::new(BTreeSet::new()));
        let (seen, named) = (Arc::clone(&last_ns), Arc::clone(&names));
        std::thread::spawn(move || {
            let mut before = now();
            loop {
                std::thread::sleep(EVERY);
                let after = now();
                let ran = ran(&before, &after);
                if !ran.is_empty() {
                    seen.store(clock::monotonic_ns(), Ordering::Relaxed);
                    named.lock().unwrap_or_else(PoisonError::into_inner).extend(ran);
                }
                before = after;
            }
        });
        Self { last_ns, names }
    }

    /// The names of all threads that ran.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Whether one ran between [`NEAR_NS`] before `begin_ns` and now.
    pub(crate) fn since(&self, begin_ns: u64) -> bool {
        let last_ns = self.last_ns.load(Ordering::Relaxed);
        last_ns > 0 && last_ns + NEAR_NS >= begin_ns
    }

    /// The same, but keeps looking for up to [`NEAR_NS`] from now.
    pub(crate) fn about(&self, begin_ns: u64) -> bool {
        let end_ns = clock::monotonic_ns() + NEAR_NS;
        while !self.since(begin_ns) {
            if clock::monotonic_ns() >= end_ns {
                return false;
            }
            std::thread::sleep(EVERY);
        }
        true
    }
}

/// The flag that marks a kernel thread.
const OF_THE_KERNEL: u64 = 0x0020_0000;
/// SCHED_FIFO, SCHED_RR and SCHED_DEADLINE.
const REAL_TIME: [u64; 3] = [1, 2, 6];

/// A thread's name, and its run time so far, ns; none if this kernel does not report it.
pub(crate) type Thread = (String, Option<u64>);

/// The real-time threads of other processes, by thread number.
pub(crate) fn now() -> BTreeMap<u64, Thread> {
    let own = std::process::id().to_string();
    let number = |name: std::ffi::OsString| name.into_string().ok()?.parse::<u64>().ok();
    let entries = |path: &str| fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let processes = entries("/proc").filter_map(|entry| number(entry.file_name()));
    let mut found = BTreeMap::new();
    for process in processes.filter(|process| process.to_string() != own) {
        for thread in entries(&format!("/proc/{process}/task")) {
            let Some(id) = number(thread.file_name()) else { continue };
            let Some(name) =
                fs::read_to_string(thread.path().join("stat")).ok().and_then(|stat| foreign(&stat))
            else {
                continue;
            };
            let ran = fs::read_to_string(thread.path().join("schedstat"));
            let ran = ran.ok().and_then(|text| text.split(' ').next()?.parse().ok());
            found.insert(id, (name, ran));
        }
    }
    found
}

/// The names of the threads that ran between two looks, may have run, appeared or ended.
pub(crate) fn ran(before: &BTreeMap<u64, Thread>, after: &BTreeMap<u64, Thread>) -> BTreeSet<String> {
    let idle = |id: &u64| matches!((before.get(id), after.get(id)), (Some((_, Some(a))), Some((_, Some(b)))) if a == b);
    let all = before.iter().chain(after);
    all.filter(|(id, _)| !idle(id)).map(|(_, (name, _))| name.clone()).collect()
}

/// The name of a real-time thread that is not a kernel thread, from its `stat` line in `/proc`.
fn foreign(stat: &str) -> Option<String> {
    // The second field is the name, in brackets; it may contain any character. The third is the state.
    let (name, rest) = stat.rsplit_once(')')?;
    let field = |number: usize| rest.split_whitespace().nth(number - 3)?.parse::<u64>().ok();
    let is_ours = field(9)? & OF_THE_KERNEL == 0 && REAL_TIME.contains(&field(41)?);
    is_ours.then(|| name.split_once('(').map_or(name, |(_, name)| name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_own_are_not_meant() {
        let line = |flags: &str, policy: &str| {
            let before = format!("77 (a) b) R 1 1 1 0 -1 {flags}");
            let between = "0 ".repeat(31);
            format!("{before} {between}{policy} 0 0")
        };
        assert_eq!(foreign(&line("4194304", "1")).as_deref(), Some("a) b"), "{}", line("4194304", "1"));
        assert_eq!(foreign(&line("4194304", "0")), None);
        assert_eq!(foreign(&line("2097152", "1")), None);
        assert_eq!(foreign("nonsense"), None);
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        assert_eq!(foreign(&own), None, "{own}");
    }

    #[test]
    fn threads_that_only_wait_disturb_nothing() {
        let all = |threads: &[(u64, Option<u64>)]| -> BTreeMap<u64, Thread> {
            threads.iter().map(|(id, ran)| (*id, (format!("t{id}"), *ran))).collect()
        };
        let names = |before: &[_], after: &[_]| Vec::from_iter(ran(&all(before), &all(after)));
        assert_eq!(names(&[(1, Some(7)), (2, Some(9))], &[(1, Some(7)), (2, Some(9))]), [""; 0]);
        assert_eq!(names(&[(1, Some(7)), (2, Some(9))], &[(1, Some(7)), (2, Some(10))]), ["t2"]);
        assert_eq!(names(&[(1, Some(7))], &[]), ["t1"], "it ended");
        assert_eq!(names(&[], &[(1, Some(7))]), ["t1"], "it began");
        assert_eq!(names(&[(1, None)], &[(1, None)]), ["t1"], "nobody knows");
    }
}
