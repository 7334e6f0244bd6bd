// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A job with a resource of several cores: asked for, held, given back.

use taut_lock::Entry;

use crate::across::Request;
use crate::error::LockError;
use crate::global::{Global, Inner, Parties};
use crate::job::Job;
use crate::shared::Shared;

impl Job<'_> {
    /// Runs `section` with what a resource of several cores holds, while nobody else has it: as [`Job::lock`], but the job
    /// may wait here, spinning or away from its core, by the resource's protocol.
    ///
    /// *Real-time*: waits for sections of others alone, as many as the protocol's analysis says. At most
    /// [`taut_lock::PARTIES_LIMIT`] steps more than those of the lock; system calls only where jobs sleep.
    ///
    /// # Errors
    /// [`LockError`]: [`LockError::Nested`] inside of another section, [`LockError::NotListed`] if the task does not use it,
    /// [`LockError::Poisoned`] if the value was left half changed: see [`Job::recover_global`].
    pub fn lock_global<T: Send, R>(
        &mut self,
        global: &Global<'_, T>,
        section: impl FnOnce(&mut T, &mut Self) -> R,
    ) -> Result<R, LockError> {
        let held = self.hold(&global.inner)?;
        if let Some(party) = held.asking.inner.torn_by() {
            // It has changed nothing.
            held.give_back();
            return Err(LockError::Poisoned { by: party });
        }
        Ok(self.inside(held, section))
    }

    /// As [`Job::lock_global`], also if a job panicked or a process died in the middle of a change: then `section` gets the party that this
    /// was, and a value of which any part may be the old one or the new one. It makes it whole; what it leaves counts as
    /// whole when it returns, and not if it panics or its process dies. `None` if the value is whole.
    ///
    /// *Real-time*: as [`Job::lock_global`].
    ///
    /// # Errors
    /// As [`Job::lock_global`], but for [`LockError::Poisoned`].
    pub fn recover_global<T: Send, R>(
        &mut self,
        global: &Global<'_, T>,
        section: impl FnOnce(&mut T, Option<u32>, &mut Self) -> R,
    ) -> Result<R, LockError> {
        let held = self.hold(&global.inner)?;
        let torn = held.asking.inner.torn_by();
        Ok(self.inside(held, |value, job| {
            let result = section(value, torn, job);
            if torn.is_some() {
                global.inner.mend();
            }
            result
        }))
    }

    /// Asks, and waits.
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
        let entry = asking.take()?;
        let held = Holding { asking };
        if let Entry::OwnerDied(party) = entry {
            inner.tear(party);
        }
        Ok(held)
    }

    fn inside<T, R>(&mut self, held: Holding<'_, '_, T>, section: impl FnOnce(&mut T, &mut Self) -> R) -> R {
        let depth = Depth::of(self);
        // Behind it, so that a panic drops it first: it is given back before anybody asks whether the job slept.
        let held = held;
        // SAFETY: we hold the lock until `held` is given back or dropped, which is after the last use of the reference; not
        // twice, for sections are not inside of others; what the last holder did is seen by the lock's own orderings.
        let result = unsafe { held.asking.inner.with(|value| section(value, depth.0)) };
        held.give_back();
        result
    }
}

/// The job is inside of one section more, until this is dropped: also by a panic that the job catches.
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

/// A job that asks for a resource of several cores, or has it.
struct Asking<'h, 'm, T> {
    shared: &'h Shared,
    request: Request,
    inner: &'h Inner<'m, T>,
    /// Its position among those of this process.
    party: u32,
}

impl<T> Asking<'_, '_, T> {
    fn take(&self) -> Result<Entry, LockError> {
        match &self.inner.parties {
            // SAFETY: the party of the request's core.
            Parties::Spin(parties) => unsafe {
                self.shared.spin(self.request, &parties[self.party as usize])
            },
            // SAFETY: the party of the request's task, whose one job this is.
            Parties::Queued(parties) => unsafe {
                self.shared.sleep_for(self.request, &parties[self.party as usize])
            },
        }
    }

    fn give(&self) {
        match &self.inner.parties {
            // SAFETY: as in `take`, by which it was had.
            Parties::Spin(parties) => unsafe {
                self.shared.unspin(self.request, &parties[self.party as usize])
            },
            // SAFETY: as in `take`.
            Parties::Queued(parties) => unsafe {
                self.shared.give_on(self.request, &parties[self.party as usize]);
            },
        }
    }
}

/// A resource of several cores is held.
struct Holding<'h, 'm, T> {
    asking: Asking<'h, 'm, T>,
}

impl<T> Holding<'_, '_, T> {
    fn give_back(self) {
        self.asking.give();
        std::mem::forget(self);
    }
}

impl<T> Drop for Holding<'_, '_, T> {
    /// The section panics: those that go on with the value, in this process or in others, are told as if its party had died.
    #[cold]
    fn drop(&mut self) {
        let Asking { inner, party, .. } = self.asking;
        inner.tear_own(party);
        self.asking.give();
    }
}
