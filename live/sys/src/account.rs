// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The processor time that a thread has used, and how often it lost its processor. System calls are needed only after
//! a loss.
//!
//! While [`SwitchMark`] stands, the thread has kept its processor without a gap: its processor time advances like the
//! clock, and its counts of switches stay. So one reading is enough for as long as the mark stands. When the mark is
//! gone, [`Account::look`] reads again, and returns the difference from the reading before.
//!
//! The account does not report a thread's own sleeps between its jobs. [`Account::idle`] reads the processor time
//! before the sleep, where the reading delays no job, and counts the sleep. [`Account::wait`], in the middle of a job,
//! reads everything after the sleep.
//!
//! [`Account::idle`] does not measure the processor time of going to sleep and waking. The account subtracts from the
//! job half of the shortest such time in the first jobs. The rest, usually some microseconds, counts as the job's if
//! the job is switched out: the account never reports less than the job used. Page faults do not clear the mark, so
//! the account cannot assign them to a job: it counts all page faults since the account began.
//!
//! Without a mark, every look is a reading: two system calls.

use std::cell::Cell;

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::switched::SwitchMark;
use crate::usage::{Usage, thread_usage};

/// The readings from which the account takes the shortest time for going to sleep and waking.
const SAMPLES: u8 = 8;
/// The looks of which [`look_ns`] takes the median.
const LOOKS: usize = 101;
/// The sleeps that are counted before a new reading: a wake-up before the sleep may make each count one too many.
const COUNTED_MAX: u64 = 64;

/// How often a thread lost its processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// How often the thread slept or waited in a system call, other than by [`Account::idle`] and [`Account::wait`],
    /// or was stopped.
    pub blocked: u64,
    /// How often another thread preempted this thread.
    pub preempted: u64,
}

/// The account of a thread, which the thread keeps itself.
#[derive(Debug)]
pub struct Account {
    mark: SwitchMark,
    /// Processor time at the instant `at_ns`; both advance alike as long as the mark stands.
    cpu_ns: Cell<u64>,
    at_ns: Cell<u64>,
    /// The shortest processor time of going to sleep and waking.
    wake_ns: Cell<u64>,
    samples: Cell<u8>,
    /// Whether `cpu_ns` was read before a sleep, and is less than the processor time at `at_ns`.
    slept: Cell<bool>,
    usage: Cell<Usage>,
    /// The thread's own sleeps since that reading, which the account does not report.
    sleeps: Cell<u64>,
    first: Cell<Usage>,
    /// Switches that the account has seen and [`Account::take`] has not returned yet.
    seen: Cell<Switches>,
}

impl Account {
    /// Opens the account of the calling thread, from now on.
    pub fn new(mark: SwitchMark) -> Self {
        mark.set();
        let (usage, cpu_ns) = read();
        Self {
            mark,
            cpu_ns: Cell::new(cpu_ns),
            at_ns: Cell::new(monotonic_ns()),
            wake_ns: Cell::new(u64::MAX),
            samples: Cell::new(0),
            slept: Cell::new(false),
            usage: Cell::new(usage),
            sleeps: Cell::new(0),
            first: Cell::new(usage),
            seen: Cell::new(Switches::default()),
        }
    }

    /// The thread's processor time at `now_ns`, the current value of [`monotonic_ns`]. *Real-time*: one load; two
    /// system calls, about a microsecond, if the thread was switched out since the last look.
    #[inline]
    pub fn look(&self, now_ns: u64) -> u64 {
        if !self.mark.is_set() {
            return self.read_anew();
        }
        let cpu_ns = self.cpu_ns.get() + now_ns.saturating_sub(self.at_ns.get());
        if self.slept.get() {
            return self.woken(cpu_ns, now_ns);
        }
        cpu_ns
    }

    /// Reads in advance what the next [`Account::look`] would read. *Real-time*: as [`Account::look`].
    #[inline]
    pub fn catch_up(&self) {
        if !self.mark.is_set() {
            self.read_anew();
        }
    }

    /// How often the thread lost its processor, up to the last look; restarts the count at 0.
    pub fn take(&self) -> Switches {
        self.seen.take()
    }

    /// Page faults and switches of the thread since the account began. *Real-time*: one system call.
    pub fn total(&self) -> Usage {
        read().0.since(self.first.get())
    }

    /// Sleeps between two jobs; `sleep` returns how often it may have slept. Returns the instant after the sleep.
    /// *Real-time*: one system call more than `sleep`; a second one if the thread was switched out since the last
    /// look, and every 64 sleeps.
    pub fn idle(&self, sleep: impl FnOnce() -> u32) -> u64 {
        if !self.mark.exists() {
            sleep();
            self.begin_anew();
            return self.at_ns.get();
        }
        if !self.mark.is_set() || self.sleeps.get() >= COUNTED_MAX {
            self.begin_anew();
        } else {
            self.cpu_ns.set(thread_cpu_ns());
        }
        let slept = sleep();
        if !self.mark.is_set() {
            self.sleeps.set(self.sleeps.get() + u64::from(slept));
            self.mark.set();
        }
        let now_ns = monotonic_ns();
        self.at_ns.set(now_ns);
        self.slept.set(true);
        now_ns
    }

    /// Sleeps in the middle of a job; `sleep` may sleep any number of times. *Real-time*: up to four system calls
    /// more than `sleep`.
    pub fn wait<R>(&self, sleep: impl FnOnce() -> R) -> R {
        if !self.mark.is_set() {
            self.read_anew();
        }
        let result = sleep();
        self.begin_anew();
        result
    }

    /// Starts a new reading: the account does not report switches until now. Processor time includes the time until
    /// now.
    fn begin_anew(&self) {
        self.mark.set();
        let (usage, cpu_ns) = read();
        self.usage.set(usage);
        self.sleeps.set(0);
        self.cpu_ns.set(cpu_ns);
        self.at_ns.set(monotonic_ns());
        self.slept.set(false);
    }

    #[cold]
    fn read_anew(&self) -> u64 {
        // Sets the mark first: the next look finds any later switch, whether or not these readings include it.
        let before = self.usage.get();
        let sleeps = self.sleeps.get();
        self.begin_anew();
        let since = self.usage.get().since(before);
        let Switches { blocked, preempted } = self.seen.get();
        self.seen.set(Switches {
            blocked: blocked + since.voluntary_switches.saturating_sub(sleeps),
            preempted: preempted + since.involuntary_switches,
        });
        self.cpu_ns.get()
    }

    /// The first look after a sleep.
    fn woken(&self, mut cpu_ns: u64, now_ns: u64) -> u64 {
        if self.samples.get() < SAMPLES {
            let real_ns = thread_cpu_ns();
            // Otherwise the reading includes another switch.
            if self.mark.is_set() {
                self.samples.set(self.samples.get() + 1);
                self.wake_ns.set(self.wake_ns.get().min(real_ns.saturating_sub(cpu_ns)));
                cpu_ns = real_ns;
            }
        } else {
            cpu_ns += self.wake_ns.get() / 2;
        }
        self.cpu_ns.set(cpu_ns);
        self.at_ns.set(now_ns);
        self.slept.set(false);
        cpu_ns
    }
}

/// Both readings. Miri supports neither.
fn read() -> (Usage, u64) {
    if cfg!(miri) { (Usage::default(), 0) } else { (thread_usage(), thread_cpu_ns()) }
}

/// The duration of a look without a mark, ns: the median of several looks. For boot.
pub fn look_ns() -> u64 {
    let mut taken = [0; LOOKS];
    for took in &mut taken {
        let from_ns = monotonic_ns();
        std::hint::black_box(read());
        *took = monotonic_ns().saturating_sub(from_ns);
    }
    taken.sort_unstable();
    taken[LOOKS / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::sleep_until;

    fn work(ns: u64) {
        let end = thread_cpu_ns() + ns;
        while thread_cpu_ns() < end {}
    }

    fn idle(account: &Account, ns: u64) -> u64 {
        account.idle(|| {
            sleep_until(monotonic_ns() + ns);
            1
        })
    }

    fn on_a_thread(test: impl FnOnce() + Send + 'static) {
        std::thread::spawn(test).join().unwrap();
    }

    fn check_sleeps(mark: SwitchMark) {
        on_a_thread(move || {
            let account = Account::new(mark);
            for _ in 0..100 {
                account.look(idle(&account, 300_000));
                work(10_000);
                account.look(monotonic_ns());
            }
            // The account allows each of the thread's own sleeps.
            assert_eq!(account.take().blocked, 0);
            for times in 1..5 {
                account.look(idle(&account, 300_000));
                (0..times).for_each(|_| sleep_until(monotonic_ns() + 20_000));
                account.wait(|| sleep_until(monotonic_ns() + 20_000));
                account.look(monotonic_ns());
                assert_eq!(account.take().blocked, times);
                assert_eq!(account.take(), Switches::default());
            }
        });
    }

    #[test]
    #[cfg_attr(miri, ignore = "waits for its own processor time, which Miri does not count")]
    fn every_sleep_that_is_not_its_own_is_counted() {
        check_sleeps(SwitchMark::new());
    }

    #[test]
    #[cfg_attr(miri, ignore = "waits for its own processor time, which Miri does not count")]
    fn without_a_mark_as_well() {
        check_sleeps(SwitchMark::none());
    }

    /// Holds however long another thread had the processor, and whether or not the thread slept before.
    #[test]
    #[cfg_attr(miri, ignore = "waits for its own processor time, which Miri does not count")]
    fn processor_time_is_the_threads_own() {
        for mark in [SwitchMark::new(), SwitchMark::none()] {
            on_a_thread(move || {
                let account = Account::new(mark);
                for round in 0..40 {
                    // The time of waking may count as the job's, including a pause of a virtual machine during it.
                    let real_ns = thread_cpu_ns();
                    let begin_ns = account.look(idle(&account, 20_000));
                    work(200_000);
                    if round % 2 == 0 {
                        sleep_until(monotonic_ns() + 3_000_000);
                    }
                    let used_ns = account.look(monotonic_ns()) - begin_ns;
                    let most_ns = thread_cpu_ns() - real_ns + 100_000;
                    assert!((200_000..most_ns).contains(&used_ns), "{round}: {used_ns}, {most_ns}");
                }
            });
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "calls sched_getcpu")]
    fn being_preempted_is_no_sleep() {
        use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
        static OVER: AtomicBool = AtomicBool::new(false);
        let cpu = crate::thread::current_cpu();
        let other = std::thread::spawn(move || {
            crate::thread::set_affinity(&[cpu]).unwrap();
            while !OVER.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        on_a_thread(move || {
            crate::thread::set_affinity(&[cpu]).unwrap();
            let account = Account::new(SwitchMark::new());
            let began_ns = monotonic_ns();
            let (mut seen, mut used_ns) = (Switches::default(), 0);
            while seen.preempted == 0 && monotonic_ns() < began_ns + 5_000_000_000 {
                let before_ns = account.look(monotonic_ns());
                work(5_000_000);
                used_ns += account.look(monotonic_ns()) - before_ns;
                let more = account.take();
                seen.preempted += more.preempted;
                seen.blocked += more.blocked;
            }
            OVER.store(true, Relaxed);
            assert!(seen.preempted > 0 && seen.blocked == 0, "{seen:?}");
            assert!(used_ns <= monotonic_ns() - began_ns);
        });
        other.join().unwrap();
    }
}
