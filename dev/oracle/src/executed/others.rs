// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Real-time threads of other processes. They run beside ours whenever theirs are more urgent, so no bound holds then, and
//! the probe, above them all, is on time.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration as Time;

use taut_sys::clock;

/// Between two looks.
const EVERY: Time = Time::from_millis(15);
/// One that was seen so long before or after a set, or less, may have been there meanwhile: who looks is an ordinary
/// thread, and the first to wait for them.
const NEAR_NS: u64 = 1_000_000_000;

/// Looks for them as long as the process lives.
pub(crate) struct Others {
    /// When there were some for the last time; 0 if never.
    last_ns: Arc<AtomicU64>,
}

impl Others {
    pub(crate) fn new() -> Self {
        let last_ns = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&last_ns);
        std::thread::spawn(move || {
            loop {
                if are_here() {
                    seen.store(clock::monotonic_ns(), Ordering::Relaxed);
                }
                std::thread::sleep(EVERY);
            }
        });
        Self { last_ns }
    }

    /// Whether there were some, from a while before an instant until now.
    pub(crate) fn since(&self, begin_ns: u64) -> bool {
        let last_ns = self.last_ns.load(Ordering::Relaxed);
        last_ns > 0 && last_ns + NEAR_NS >= begin_ns
    }

    /// The same, and for a while from now on.
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

/// Of the flags of a task: it is the kernel's own.
const OF_THE_KERNEL: u64 = 0x0020_0000;
/// SCHED_FIFO, SCHED_RR and SCHED_DEADLINE.
const REAL_TIME: [u64; 3] = [1, 2, 6];

/// Whether there are any now.
pub(crate) fn are_here() -> bool {
    let own = std::process::id().to_string();
    let Ok(all) = fs::read_dir("/proc") else { return false };
    let names = all.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let processes = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own);
    processes.into_iter().any(|process| {
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return false };
        threads
            .filter_map(Result::ok)
            .any(|thread| fs::read_to_string(thread.path().join("stat")).is_ok_and(|stat| is_foreign(&stat)))
    })
}

/// Whether it is a real-time thread that is not the kernel's, by its line of `/proc`.
fn is_foreign(stat: &str) -> bool {
    // The name comes second, in brackets, and may have anything in it; the state is the third.
    let Some((_, rest)) = stat.rsplit_once(')') else { return false };
    let field = |number: usize| rest.split_whitespace().nth(number - 3)?.parse::<u64>().ok();
    field(9).is_some_and(|flags| flags & OF_THE_KERNEL == 0)
        && field(41).is_some_and(|policy| REAL_TIME.contains(&policy))
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
        assert!(is_foreign(&line("4194304", "1")), "{}", line("4194304", "1"));
        assert!(!is_foreign(&line("4194304", "0")));
        assert!(!is_foreign(&line("2097152", "1")));
        assert!(!is_foreign("nonsense"));
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        assert!(!is_foreign(&own), "{own}");
    }
}
