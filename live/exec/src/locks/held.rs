// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How a job asks for, holds and releases a resource of several cores.

use taut_lock::AcquiredState;

use crate::error::LockError;
use crate::job::Job;
use crate::locks::across::Request;
use crate::locks::global::{GlobalResource, Inner, Parties};
use crate::shared::Shared;

impl Job<'_> {
    /// Runs `section` with the value of a resource of several cores, while no other job has it. As [`Job::lock`], but
    /// by the resource's protocol the job may wait here: it spins, or leaves its core.
    ///
    /// *Real-time*: waits for sections of other jobs only, as many as the protocol's analysis says. At most
    /// [`taut_lock::PARTIES_LIMIT`] steps more than those of the lock; system calls only where jobs sleep.
    ///
    /// # Errors
    /// [`LockError`]: [`LockError::Nested`] inside another section, [`LockError::NotListed`] if the task does not use
    /// the resource, [`LockError::Poisoned`] if a job or process left the value half changed: see
    /// [`Job::recover_global`].
    pub fn lock_global<T: Send, R>(
        &mut self,
        global: &GlobalResource<'_, T>,
        section: impl FnOnce(&mut T, &mut Self) -> R,
    ) -> Result<R, LockError> {
        let held = self.hold(&global.inner)?;
        if let Some(party) = held.asking.inner.torn_by() {
            // This section has changed nothing.
            held.release();
            return Err(LockError::Poisoned { by: party });
        }
        Ok(self.in_section(held, section))
    }

    /// As [`Job::lock_global`], also if a job panicked or a process died in the middle of a change. Then `section`
    /// gets the party that failed, and a value of which any part may be old or new. It must repair the value. The
    /// value counts as whole when `section` returns, but not if `section` panics or its process dies. If the value is
    /// whole, `section` gets `None`.
    ///
    /// *Real-time*: as [`Job::lock_global`].
    ///
    /// # Errors
    /// As [`Job::lock_global`], but for [`LockError::Poisoned`].
    pub fn recover_global<T: Send, R>(
        &mut self,
        global: &GlobalResource<'_, T>,
        section: impl FnOnce(&mut T, Option<u32>, &mut Self) -> R,
    ) -> Result<R, LockError> {
        let held = self.hold(&global.inner)?;
        let torn = held.asking.inner.torn_by();
        Ok(self.in_section(held, |value, job| {
            let result = section(value, torn, job);
            if torn.is_some() {
                global.inner.mend();
            }
            result
        }))
    }

    /// Asks for the resource, and waits until it has it.
    fn hold<'h, 'm, T>(&self, inner: &'h Inner<'m, T>) -> Result<Holding<'h, 'm, T>, LockError>
    where
        Self: 'h,
    {
        let user = inner.user(self.shared.brand, self.task);
        let not_listed = LockError::NotListed { task: self.task, resource: inner.number };
        let user = user.ok_or(not_listed)?;
        if self.depth > 0 || self.shared.holds(self.worker, self.task) {
            return Err(LockError::Nested);
        }
        self.before_section();
        let request = Request {
            worker: self.worker,
            task: self.task,
            number: inner.number,
            urgency: inner.urgency(user),
            rank: inner.rank(user),
        };
        let asking = Asking { shared: self.shared, request, inner, party: user.party };
        let entry = asking.acquire()?;
        let held = Holding { asking };
        if let AcquiredState::OwnerDied(party) = entry {
            inner.tear(party);
        }
        Ok(held)
    }

    fn in_section<T, R>(
        &mut self,
        held: Holding<'_, '_, T>,
        section: impl FnOnce(&mut T, &mut Self) -> R,
    ) -> R {
        let depth = Depth::of(self);
        // Declared after `depth`, so that a panic drops it first: it releases the lock before `depth` checks whether
        // the job slept.
        let held = held;
        // SAFETY: we hold the lock until `held` is released or dropped, which is after the last use of the reference.
        // We do not hold it twice, for sections do not nest. The lock's own orderings make the last holder's writes
        // visible.
        let result = unsafe { held.asking.inner.with(|value| section(value, depth.0)) };
        held.release();
        result
    }
}

/// Counts the job as inside one more section until this is dropped, also by a panic that the job catches.
struct Depth<'d, 'j>(&'d mut Job<'j>);

impl<'d, 'j> Depth<'d, 'j> {
    fn of(job: &'d mut Job<'j>) -> Self {
        job.depth += 1;
        Self(job)
    }
}

impl Drop for Depth<'_, '_> {
    fn drop(&mut self) {
        self.0.depth -= 1;
        self.0.after_section();
    }
}

/// A job that asks for a resource of several cores, or holds it.
struct Asking<'h, 'm, T> {
    shared: &'h Shared,
    request: Request,
    inner: &'h Inner<'m, T>,
    /// Its position among the parties of this process.
    party: u32,
}

impl<T> Asking<'_, '_, T> {
    fn acquire(&self) -> Result<AcquiredState, LockError> {
        match &self.inner.parties {
            // SAFETY: the party of the request's core.
            Parties::Spin(parties) => unsafe {
                self.shared.acquire_spinning(self.request, &parties[self.party as usize])
            },
            // SAFETY: the party of the request's task, and this is that task's only job.
            Parties::Queued(parties) => unsafe {
                self.shared.acquire_suspending(self.request, &parties[self.party as usize])
            },
        }
    }

    fn release(&self) {
        match &self.inner.parties {
            // SAFETY: as in `acquire`, which took the lock.
            Parties::Spin(parties) => unsafe {
                self.shared.release_spinning(self.request, &parties[self.party as usize])
            },
            // SAFETY: as in `acquire`.
            Parties::Queued(parties) => unsafe {
                self.shared.release_suspending(self.request, &parties[self.party as usize]);
            },
        }
    }
}

/// The job holds a resource of several cores.
struct Holding<'h, 'm, T> {
    asking: Asking<'h, 'm, T>,
}

impl<T> Holding<'_, '_, T> {
    fn release(self) {
        self.asking.release();
        std::mem::forget(self);
    }
}

impl<T> Drop for Holding<'_, '_, T> {
    /// The section panics. Later holders, in this process or in others, learn of it as if this party had died.
    #[cold]
    fn drop(&mut self) {
        let Asking { inner, party, .. } = self.asking;
        inner.tear_own(party);
        self.asking.release();
    }
}
