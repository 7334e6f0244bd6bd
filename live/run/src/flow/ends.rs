// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ends of a synchronous flow. A task and its job context share each end: the task reads and writes as often as
//! it wants; the job context completes every activated job, whether or not the task used it.
//!
//! Until the task retires, the two use an end in turn, on one thread, so neither waits for the mutex between them.
//! The mutex is there for the compiler, which cannot know that, and costs two exchanges.

use std::sync::{Mutex, MutexGuard, PoisonError};

use taut_share::state::{ReaderOvertaken, dbp, tccp};

use crate::payload::{Payload, Stamped};

/// The writing end.
pub(crate) enum Writer<'p, P: Payload> {
    Dbp(dbp::Writer<'p, Stamped<P>>),
    Tccp(tccp::Writer<'p, Stamped<P>>),
}

/// A reading end.
pub(crate) enum Reader<'p, P: Payload> {
    Dbp(dbp::Reader<'p, Stamped<P>>),
    Tccp(tccp::Reader<'p, Stamped<P>>),
}

/// An end, whatever type it carries.
pub(super) trait End: Send + Sync {
    /// Whether the value that the activated job reads is there.
    fn is_ready(&self) -> bool;

    /// Completes the activated job, if there is one. The value stays as it was if the job of a writer has not
    /// written.
    fn complete(&self);
}

fn own<E>(end: &Mutex<E>) -> MutexGuard<'_, E> {
    // Poison means nothing here: the copy of a payload, which is plain data, does not panic.
    end.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Payload> End for Mutex<Writer<'_, P>> {
    fn is_ready(&self) -> bool {
        true
    }

    fn complete(&self) {
        match &mut *own(self) {
            Writer::Dbp(writer) => drop(writer.job()),
            Writer::Tccp(writer) => drop(writer.job()),
        }
    }
}

impl<P: Payload> End for Mutex<Reader<'_, P>> {
    fn is_ready(&self) -> bool {
        match &mut *own(self) {
            Reader::Dbp(reader) => reader.job().is_none_or(|mut job| {
                let ready = job.is_ready();
                job.go_on();
                ready
            }),
            Reader::Tccp(reader) => reader.job().is_none_or(|mut job| {
                let ready = job.is_ready();
                job.go_on();
                ready
            }),
        }
    }

    fn complete(&self) {
        match &mut *own(self) {
            Reader::Dbp(reader) => drop(reader.job()),
            Reader::Tccp(reader) => drop(reader.job()),
        }
    }
}

/// Sets the value of the activated job; `false` if no job is activated.
pub(crate) fn write<P: Payload>(end: &Mutex<Writer<'_, P>>, value: &Stamped<P>) -> bool {
    match &mut *own(end) {
        Writer::Dbp(writer) => writer.job().is_some_and(|mut job| {
            job.write(value);
            job.go_on();
            true
        }),
        Writer::Tccp(writer) => writer.job().is_some_and(|mut job| {
            job.write(value);
            job.go_on();
            true
        }),
    }
}

/// Copies the value of the activated job to `value`; one job reads the same value every time. `false` if no job is
/// activated, or nothing was ever written.
pub(crate) fn read<P: Payload>(
    end: &Mutex<Reader<'_, P>>,
    value: &mut Stamped<P>,
) -> Result<bool, ReaderOvertaken> {
    match &mut *own(end) {
        Reader::Dbp(reader) => {
            let Some(mut job) = reader.job() else { return Ok(false) };
            let version = job.read_into(value);
            job.go_on();
            // Never `NotYet`: a job begins only when its value is there.
            version.map(|version| version.is_some()).map_err(|dbp::NotYet| ReaderOvertaken)
        }
        Reader::Tccp(reader) => {
            let Some(mut job) = reader.job() else { return Ok(false) };
            let version = job.read_into(value);
            job.go_on();
            version.map(|version| version.is_some()).map_err(|_| ReaderOvertaken)
        }
    }
}
