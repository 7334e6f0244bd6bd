// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Writes down a set with a response above its bound: the records and the signs of life, on one time axis.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use taut_event::Record;
use taut_model::TaskSet;

use super::kind::Proven;
use super::probe::Sign;
use super::silence::Stall;

/// All that is known about a run.
pub(crate) struct Evidence<'a> {
    pub(crate) proven: &'a Proven,
    pub(crate) records: &'a [Record],
    /// For each core.
    pub(crate) signs: &'a [Vec<Sign>],
    pub(crate) stalls: &'a [Vec<Stall>],
}

impl Evidence<'_> {
    /// Writes the evidence beside the state file; returns the path.
    pub(crate) fn write(&self, state: &Path, seed: u64) -> Result<PathBuf, String> {
        let path = state.with_file_name(format!("above-{seed}.txt"));
        std::fs::write(&path, self.text()).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    fn text(&self) -> String {
        let set = &self.proven.set;
        let mut text = String::new();
        for (at, (task, bound)) in set.tasks().iter().zip(&self.proven.bounds).enumerate() {
            let _ = writeln!(
                text,
                "task {at}: core {}, priority {}, period {}, deadline {}, cost {}, bound {bound}",
                task.core,
                task.priority,
                task.period,
                task.deadline,
                set.cost(at)
            );
        }
        let begin = self.records.first().map_or(0, |record| record.at.as_ns());
        let mut lines: Vec<(u64, usize, String)> = Vec::new();
        for record in self.records {
            let core = core_of(set, record);
            let Record { at, kind, subject, job, value, .. } = record;
            lines.push((at.as_ns(), core, format!("{kind:?} of task {subject}, job {job}, value {value}")));
        }
        for (core, signs) in self.signs.iter().enumerate() {
            lines.extend(signs.iter().map(|sign| match *sign {
                Sign::Look { due_ns, seen_ns } => (seen_ns, core, format!("look, {} late", seen_ns - due_ns)),
                Sign::Alive { from_ns, to_ns } => {
                    (from_ns, core, format!("computes, for {}", to_ns - from_ns))
                }
                Sign::Spare { from_ns, to_ns } => (from_ns, core, format!("spare, for {}", to_ns - from_ns)),
            }));
        }
        for (core, stalls) in self.stalls.iter().enumerate() {
            lines.extend(stalls.iter().map(|(from, to)| (*from, core, format!("STALL, for {}", to - from))));
        }
        lines.sort();
        for (at, core, what) in lines {
            let _ = writeln!(text, "{:>12} core {core} {what}", at.saturating_sub(begin));
        }
        text
    }
}

fn core_of(set: &TaskSet, record: &Record) -> usize {
    set.tasks().get(usize::from(record.subject)).map_or(0, |task| task.core)
}
