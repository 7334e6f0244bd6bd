// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Threads that measure.

use std::thread::{Builder, Scope, ScopedJoinHandle};

use taut_sys::{Error, Result, thread};

/// Above all but what guards the system.
pub(crate) const MEASURES: Option<u8> = Some(98);
/// What wakes it and is preempted.
pub(crate) const SERVES: Option<u8> = Some(10);
/// An ordinary thread: one that is busy all the time must not be real-time, or the kernel's throttle would stop all that
/// are.
pub(crate) const ORDINARY: Option<u8> = None;

/// A thread at its station, ended with what it found.
pub(crate) type Posted<'s, T> = ScopedJoinHandle<'s, Result<T>>;

/// Starts a thread that goes to a CPU and a priority and works there.
pub(crate) fn post<'s, T: Send + 's>(
    scope: &'s Scope<'s, '_>,
    cpu: u16,
    priority: Option<u8>,
    work: impl FnOnce() -> T + Send + 's,
) -> Result<Posted<'s, T>> {
    let body = move || {
        thread::set_affinity(&[cpu])?;
        match priority {
            Some(priority) => thread::set_fifo(priority)?,
            None => thread::set_other()?,
        }
        thread::prefault_stack(64 << 10);
        let found = work();
        // A thread may always give its priority up.
        let _ = thread::set_other();
        Ok(found)
    };
    Builder::new()
        .name("taut-gauge".into())
        .spawn_scoped(scope, body)
        .map_err(|error| Error { call: "clone", errno: error.raw_os_error().unwrap_or(taut_sys::ENOMEM) })
}

/// What a thread found. One that panicked passes its panic on.
pub(crate) fn joined<T>(thread: Posted<'_, T>) -> Result<T> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
