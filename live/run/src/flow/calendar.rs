// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The activations of one flow, in their nominal order, by whoever comes first.
//!
//! Activations are at instants that the plan knows: offset + k · period of each member. So nobody needs to be on time
//! for them to be made in order: who is released at t makes those that come before its own, on behalf of others, and
//! then its own. Before the writer's activation at s come all of readers before s; before a reader's at s come all of
//! the writer's up to s, for the writer comes first at an instant. Readers have no order among themselves.
//!
//! An activation that cannot be made yet is waited for, and never left out: the task's last job is not complete, or
//! there is no buffer that nobody reads. Every wait is for a job that was activated before. So it ends when that job
//! does, nobody waits in a circle, and what is read does not depend on who is late.
//!
//! Progress: one call makes as many activations as have come due since the last one that nobody has made; in a period of
//! the caller at most Σ ⌈T / T_m⌉ + 1 over the members.

use std::sync::Arc;

use taut_share::state::{dbp, flow::NotActivated, tccp};

use super::ends::End;

/// Who is to be waited for: a task's position in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocked {
    pub(super) task: usize,
}

/// Which end of a flow a task has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Writer,
    /// By its number in the object.
    Reader(u32),
}

/// The end of the object at which activations are made.
pub(super) enum Dispatcher<'p> {
    Dbp(Box<dbp::Dispatcher<'p>>),
    Tccp(Box<tccp::Dispatcher<'p>>),
}

/// What stood in the way of an activation.
enum Refused {
    /// Its own last job.
    Running,
    /// A reader's.
    Reader(u32),
}

impl Dispatcher<'_> {
    /// The object's order counts activations of the writer; `at` tells between which of them this one is.
    fn activate_writer(&mut self, at: u64) -> Result<(), Refused> {
        let refused = match self {
            Self::Dbp(dispatcher) => match dispatcher.activate_writer(at) {
                Err(NotActivated::NoBuffer) => {
                    return Err(dispatcher.holder().map_or(Refused::Running, Refused::Reader));
                }
                other => other,
            },
            Self::Tccp(dispatcher) => match dispatcher.overtaken() {
                // It would lose its value, by a time that was not kept.
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

/// A task at a flow, and when it is activated next, in ns behind release 0.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) task: usize,
    pub(super) next_ns: u64,
    pub(super) period_ns: u64,
    /// A reader that is activated no more: its service was stopped.
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

/// The members of a flow and its dispatcher: behind a short lock.
pub(super) struct Calendar<'p> {
    pub(super) dispatcher: Dispatcher<'p>,
    pub(super) writer: Member,
    /// By their numbers in the object.
    pub(super) readers: Vec<Member>,
    /// Activations of the writer so far.
    pub(super) written: u64,
    /// The end of a writer whose service was stopped: its jobs do nothing, and are complete at once.
    pub(super) left: Option<Arc<dyn End + 'p>>,
}

impl<'p> Calendar<'p> {
    /// Makes a member's activation at `at_ns` behind release 0, and those before it; none if it has been made.
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

    /// A member has done its last job. A reader is activated no more; a writer, whose end this is, goes on with jobs that
    /// do nothing.
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
