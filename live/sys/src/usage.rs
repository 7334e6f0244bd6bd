// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Page faults and context switches of the calling thread.

/// The resources that the calling thread has used so far. The difference of two readings counts the events between
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Page faults served without reading a disk.
    pub minor_faults: u64,
    /// Page faults that read a disk.
    pub major_faults: u64,
    /// Times that it gave up the processor: it slept or waited.
    pub voluntary_switches: u64,
    /// Times that the kernel preempted it.
    pub involuntary_switches: u64,
    /// Time in user space, ns; coarse where Linux samples it.
    pub user_ns: u64,
    /// Time in the kernel, ns; coarse where Linux samples it.
    pub system_ns: u64,
}

impl Usage {
    /// The difference from an earlier reading.
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }
}

/// The calling thread's usage. *Real-time*: one short system call.
pub fn thread_usage() -> Usage {
    // SAFETY: all fields are integers, for which zero is a value.
    let mut raw: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `raw` is ours and writable. With these arguments the call cannot fail.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut raw) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    Usage {
        minor_faults: raw.ru_minflt as u64,
        major_faults: raw.ru_majflt as u64,
        voluntary_switches: raw.ru_nvcsw as u64,
        involuntary_switches: raw.ru_nivcsw as u64,
        user_ns: ns(raw.ru_utime),
        system_ns: ns(raw.ru_stime),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{monotonic_ns, sleep_until};

    #[test]
    #[cfg_attr(miri, ignore = "calls getrusage")]
    fn counts_what_happened() {
        let before = thread_usage();
        for _ in 0..10 {
            sleep_until(monotonic_ns() + 100_000);
        }
        assert!(thread_usage().since(before).voluntary_switches >= 10);

        const PAGES: usize = 64;
        // Larger than the allocator's largest threshold; a new mapping is certain to fault.
        let map = crate::memory::map_untouched(PAGES * 4096).unwrap();
        let before = thread_usage();
        for page in 0..PAGES {
            // SAFETY: within the mapping, which is ours and zeroed.
            unsafe { map.ptr().add(page * 4096).write_volatile(1) };
        }
        assert!(thread_usage().since(before).minor_faults >= 1);
    }
}
