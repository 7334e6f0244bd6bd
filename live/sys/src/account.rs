// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a thread has used of its processor, and how often it lost it, with system calls only where it did.
//!
//! While [`SwitchMark`] stands, the thread has had its processor without a gap: its processor time advances as the clock
//! does, and its counts of switches do not. So one reading is enough for as long as that goes on. [`Account::look`] reads
//! anew where the mark is gone, and gives what has happened since the reading before.
//!
//! A thread's own sleeps between its jobs are no events: [`Account::idle`] takes its processor time before, which delays
//! nobody, and counts the sleep; [`Account::wait`], in the middle of a job, reads everything behind it.
//!
//! What [`Account::idle`] leaves out: the processor time of going to sleep and waking. Half of the shortest that was seen
//! in the first jobs is taken off; what is left, mostly some microseconds, counts as the job's, if that is switched out: never
//! less than the job had. Of page faults nobody knows in which
//! job they were, as they do not clear the mark: they are counted from the beginning of the account.
//!
//! Where there is no mark, every look is a reading: two system calls.

use std::cell::Cell;

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::switched::SwitchMark;
use crate::usage::{Usage, thread_usage};

/// Readings from which the shortest way through a sleep is taken.
const SAMPLES: u8 = 8;
/// Of so many looks the median is taken.
const LOOKS: usize = 101;
/// Sleeps that are counted until they are read: in each, one that was woken before it slept may be counted as well.
const COUNTED_MAX: u64 = 64;

/// How often a thread lost its processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// It slept or waited by a call, other than by [`Account::idle`] and [`Account::wait`]; so does one that is stopped.
    pub blocked: u64,
    /// Another thread was preferred.
    pub preempted: u64,
}

/// The account of a thread, kept by itself.
#[derive(Debug)]
pub struct Account {
    mark: SwitchMark,
    /// Processor time at an instant; both advance alike as long as the mark stands.
    cpu_ns: Cell<u64>,
    at_ns: Cell<u64>,
    /// The least processor time of going to sleep and waking.
    wake_ns: Cell<u64>,
    samples: Cell<u8>,
    /// Whether `cpu_ns` was taken before a sleep, and is less than it was at `at_ns`.
    slept: Cell<bool>,
    usage: Cell<Usage>,
    /// Sleeps since then that are no events.
    sleeps: Cell<u64>,
    first: Cell<Usage>,
    /// What was seen and not taken.
    seen: Cell<Switches>,
}

impl Account {
    /// Of the calling thread, from now on.
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

    /// The thread's processor time at `now_ns`, which is now, of [`monotonic_ns`]. *Real-time*: one load; two system calls,
    /// about a microsecond, if the thread was switched out since the last look.
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

    /// Reads anew what [`Account::look`] will need, if it does. *Real-time*: as that.
    #[inline]
    pub fn catch_up(&self) {
        if !self.mark.is_set() {
            self.read_anew();
        }
    }

    /// How often the thread lost its processor, as far as was looked; counts from 0 again.
    pub fn take(&self) -> Switches {
        self.seen.take()
    }

    /// Page faults and switches of the thread since the account began. *Real-time*: one system call.
    pub fn total(&self) -> Usage {
        read().0.since(self.first.get())
    }

    /// Sleeps between two jobs; `sleep` gives how often it may have slept. The instant behind it. *Real-time*: one system
    /// call more than `sleep`; a second one where the thread was switched out since the last look, and each 64 sleeps.
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

    /// Sleeps in the middle of a job as it may, as often as it likes. *Real-time*: up to four system calls more than `sleep`.
    pub fn wait<R>(&self, sleep: impl FnOnce() -> R) -> R {
        if !self.mark.is_set() {
            self.read_anew();
        }
        let result = sleep();
        self.begin_anew();
        result
    }

    /// What happened until now is no event. Processor time does not change by that.
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
        // First: a switch behind it is found by the next look, whether or not it is in these readings.
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

    /// The first look behind a sleep.
    fn woken(&self, mut cpu_ns: u64, now_ns: u64) -> u64 {
        if self.samples.get() < SAMPLES {
            let real_ns = thread_cpu_ns();
            // Else the reading is of something else as well.
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

/// Both readings. The interpreter knows neither.
fn read() -> (Usage, u64) {
    if cfg!(miri) { (Usage::default(), 0) } else { (thread_usage(), thread_cpu_ns()) }
}

/// What a look takes where there is no mark, ns: the median of some. For boot.
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
            // Each of its own sleeps is one that it may.
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

    /// However long somebody else had the processor, and whether or not the thread slept before.
    #[test]
    #[cfg_attr(miri, ignore = "waits for its own processor time, which Miri does not count")]
    fn processor_time_is_the_threads_own() {
        for mark in [SwitchMark::new(), SwitchMark::none()] {
            on_a_thread(move || {
                let account = Account::new(mark);
                for round in 0..40 {
                    // What waking takes may count as the job's, a pause of a virtual machine in it included.
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
