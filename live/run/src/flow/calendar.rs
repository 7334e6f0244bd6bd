// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Makes the activations of one flow in their nominal order; whichever member comes first makes those that are due.
//!
//! The plan fixes the instant of every activation: offset + k · period of each member. So no member must be
//! punctual: a task released at t first makes all earlier activations, on behalf of the other members, and then its
//! own. All readers' activations before s precede the writer's activation at s. All the writer's activations up to
//! and including s precede a reader's activation at s: at one instant the writer comes first. Readers have no order
//! among themselves.
//!
//! An activation that cannot be made yet is never left out; the caller waits for it. Either the last job of the
//! activated task is not complete, or readers hold every buffer. Every wait is for a job that was activated
//! earlier. So the wait ends when that job ends, waits form no cycle, and the values that jobs read do not depend
//! on which job is late.
//!
//! Progress: one call makes all activations that have come due and that no member has made yet; in a period T of
//! the caller these are at most Σ ⌈T / T_m⌉ + 1 over the members.

use std::sync::Arc;

use taut_share::state::{dbp, flow::NotActivated, tccp};

use super::ends::End;

/// The task to wait for, by its position in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocked {
    pub(super) task: usize,
}

/// Which end of a flow a task holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Writer,
    /// By its number in the object.
    Reader(u32),
}

/// The end of the object that makes activations.
pub(super) enum Dispatcher<'p> {
    Dbp(Box<dbp::Dispatcher<'p>>),
    Tccp(Box<tccp::Dispatcher<'p>>),
}

/// Why the object refused an activation.
enum Refused {
    /// The last job of the member itself is not complete.
    Running,
    /// A job of this reader is in the way; the reader's number in the object.
    Reader(u32),
}

impl Dispatcher<'_> {
    /// `at` is the position of this activation in the object's order, which counts the writer's activations.
    fn activate_writer(&mut self, at: u64) -> Result<(), Refused> {
        let refused = match self {
            Self::Dbp(dispatcher) => match dispatcher.activate_writer(at) {
                Err(NotActivated::NoBuffer) => {
                    return Err(dispatcher.holder().map_or(Refused::Running, Refused::Reader));
                }
                other => other,
            },
            Self::Tccp(dispatcher) => match dispatcher.overtaken() {
                // The activation would overwrite the value of this reader, whose job is later than planned.
                Some(reader) => return Err(Refused::Reader(reader)),
                None => dispatcher.activate_writer(at),
            },
        };
        refused.map(drop).map_err(|_| Refused::Running)
    }

    fn activate_reader(&mut self, which: u32, at: u64) -> Result<(), Refused> {
        let activated = match self {
            Self::Dbp(dispatcher) => dispatcher.activate_reader(which, at),
            Self::Tccp(dispatcher) => dispatcher.activate_reader(which, at),
        };
        activated.map(drop).map_err(|_| Refused::Running)
    }
}

/// A task that takes part in a flow, and the instant of its next activation, in ns after release 0.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) task: usize,
    pub(super) next_ns: u64,
    pub(super) period_ns: u64,
    /// A reader without further activations: its service was stopped.
    pub(super) gone: bool,
}

impl Member {
    fn is_due(&self, until_ns: u64) -> bool {
        !self.gone && self.next_ns <= until_ns
    }

    fn pass(&mut self) {
        self.next_ns = self.next_ns.saturating_add(self.period_ns);
    }
}

/// The members of a flow and its dispatcher, behind a short lock.
pub(super) struct Calendar<'p> {
    pub(super) dispatcher: Dispatcher<'p>,
    pub(super) writer: Member,
    /// By their numbers in the object.
    pub(super) readers: Vec<Member>,
    /// Activations of the writer so far.
    pub(super) written: u64,
    /// The end of a writer whose service was stopped: its jobs do nothing, and complete at once.
    pub(super) left: Option<Arc<dyn End + 'p>>,
}

impl<'p> Calendar<'p> {
    /// Makes a member's activation at `at_ns` after release 0, and all earlier ones. Does nothing if it was already
    /// made.
    pub(super) fn advance(&mut self, role: Role, at_ns: u64) -> Result<(), Blocked> {
        if !self.member(role).is_some_and(|member| member.is_due(at_ns)) {
            return Ok(());
        }
        while self.writer.is_due(at_ns) {
            for which in 0..self.readers.len() {
                while self
                    .writer
                    .next_ns
                    .checked_sub(1)
                    .is_some_and(|before| self.readers[which].is_due(before))
                {
                    self.activate_reader(which)?;
                }
            }
            let at = self.written.saturating_mul(2).saturating_add(2);
            match self.dispatcher.activate_writer(at) {
                Ok(()) => {}
                Err(Refused::Running) => return Err(Blocked { task: self.writer.task }),
                Err(Refused::Reader(which)) => {
                    let reader = self.readers.get(which as usize).unwrap_or(&self.writer);
                    return Err(Blocked { task: reader.task });
                }
            }
            if let Some(end) = &self.left {
                end.complete();
            }
            self.written += 1;
            self.writer.pass();
        }
        if let Role::Reader(which) = role {
            while self.readers[which as usize].is_due(at_ns) {
                self.activate_reader(which as usize)?;
            }
        }
        Ok(())
    }

    fn activate_reader(&mut self, which: usize) -> Result<(), Blocked> {
        let at = self.written.saturating_mul(2).saturating_add(1);
        let reader = &mut self.readers[which];
        let number = u32::try_from(which).unwrap_or(u32::MAX);
        self.dispatcher.activate_reader(number, at).map_err(|_| Blocked { task: reader.task })?;
        reader.pass();
        Ok(())
    }

    fn member(&self, role: Role) -> Option<&Member> {
        match role {
            Role::Writer => Some(&self.writer),
            Role::Reader(which) => self.readers.get(which as usize),
        }
    }

    /// A member has done its last job. A reader gets no further activations; a writer, whose end `end` is, gets
    /// further jobs that do nothing.
    pub(super) fn retire(&mut self, role: Role, end: Arc<dyn End + 'p>) {
        match role {
            Role::Writer => self.left = Some(end),
            Role::Reader(which) => {
                if let Some(reader) = self.readers.get_mut(which as usize) {
                    reader.gone = true;
                }
            }
        }
    }
}
