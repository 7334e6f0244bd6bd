// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the machine adds to tasks. No other place adds any of this to a time.
//!
//! | what | symbol | charged |
//! |---|---|---|
//! | context switch | x | C' = C + 2x, one switch to the job and one from it; 2x more whenever a job suspends itself |
//! | release, from a timer's expiry to the first instruction | y | J' = J + y |
//! | kernel blocking | k | on a core by itself B = S + k; in a set whose tasks lock, J' = J + y + k |
//! | lock | l | a section is longer by l |
//! | section for which other cores wait | | longer by l + k, since they wait for the kernel too; by y more if waiters sleep: one that has been granted the resource holds it while it wakes up |
//! | enforced budget | | C'' = B + max(s + l, S) + y + 2x, with s the longest section and S the longest non-preemptive stretch |
//! | device thread, execution of a wake | d | as the platform probe, for each device that it watches: 2d + 6x in each least gap: [`Charges::device`] |
//! | platform probe | | on a core by itself a task above all others; in a set whose tasks lock, time that goes slower: [`probe`] |
//!
//! **Kernel blocking** comes once before a job's first instruction. Both ways of charging it are sound. As blocking it
//! delays the task under analysis alone. As jitter it also brings the next job of a task that interferes closer: the
//! analyses of sets take it so, because their blocking is always by a section of some task.
//!
//! A charge that does not fit in 64 bits is an [`Overflow`].

pub mod probe;

use taut_model::{Overheads, Waiting};
use taut_time::Duration;

use crate::Overflow;

/// Context switches of [`Charges::device`].
pub(crate) const DEVICE_SWITCHES: u64 = 6;

/// Adds the overheads of a machine to times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charges(Overheads);

fn sum<const N: usize>(times: [Duration; N]) -> Result<Duration, Overflow> {
    times.into_iter().try_fold(Duration::ZERO, Duration::checked_add).ok_or(Overflow)
}

impl Charges {
    /// The charges of a machine with these overheads.
    pub fn of(overheads: &Overheads) -> Self {
        Self(*overheads)
    }

    /// n · x: this many context switches.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn switches(&self, count: u64) -> Result<Duration, Overflow> {
        self.0.context_switch.checked_mul(count).ok_or(Overflow)
    }

    /// 2x: to a job and from it, when it runs and completes, or suspends itself and goes on.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn to_and_from(&self) -> Result<Duration, Overflow> {
        self.switches(2)
    }

    /// C' = C + 2x.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn job(&self, cost: Duration) -> Result<Duration, Overflow> {
        sum([cost, self.to_and_from()?])
    }

    /// y.
    pub fn release(&self) -> Duration {
        self.0.release
    }

    /// J' = J + y.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn released(&self, jitter: Duration) -> Result<Duration, Overflow> {
        sum([jitter, self.0.release])
    }

    /// k.
    pub fn kernel_blocking(&self) -> Duration {
        self.0.kernel_blocking
    }

    /// B = S + k, for a core by itself.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn blocking(&self, section: Duration) -> Result<Duration, Overflow> {
        sum([section, self.0.kernel_blocking])
    }

    /// J' = J + y + k, for a set whose tasks lock.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn released_and_blocked(&self, jitter: Duration) -> Result<Duration, Overflow> {
        sum([jitter, self.0.release, self.0.kernel_blocking])
    }

    /// l.
    pub fn lock(&self) -> Duration {
        self.0.lock
    }

    /// A section with its lock: s + l.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn section(&self, length: Duration) -> Result<Duration, Overflow> {
        sum([length, self.0.lock])
    }

    /// A section for which jobs on other cores wait: s + l + k, and + y if they suspend themselves.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn section_of_several_cores(&self, length: Duration, waiting: Waiting) -> Result<Duration, Overflow> {
        let wakes = match waiting {
            Waiting::Spinning => Duration::ZERO,
            Waiting::Suspended => self.0.release,
        };
        sum([length, self.0.lock, self.0.kernel_blocking, wakes])
    }

    /// 2d + 6x: what the device thread of a core takes for a device in each least gap T of its task. It wakes once for the
    /// device, and once to look at it again, which it does not before T is over; with each wake come two switches. Two more
    /// are the dispatcher's, which the event wakes in vain if it comes while a job of the task runs.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn device(&self) -> Result<Duration, Overflow> {
        sum([self.0.device, self.0.device, self.switches(DEVICE_SWITCHES)?])
    }

    /// C'' = B + max(s + l, S) + y + 2x: what the dispatcher lets a job have whose budget B it enforces. `section` is
    /// s, zero if the task has no section; `stretch` is S.
    ///
    /// # Errors
    /// [`Overflow`].
    pub fn budget(
        &self,
        budget: Duration,
        section: Duration,
        stretch: Duration,
    ) -> Result<Duration, Overflow> {
        let locked = if section.is_zero() { section } else { self.section(section)? };
        sum([budget, locked.max(stretch), self.0.release, self.to_and_from()?])
    }
}
