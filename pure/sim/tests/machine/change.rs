// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Changes in records.

use taut_event::{Kind, Record};

use super::Case;
use crate::random::Random;

/// Whether a record matters to the rules.
pub fn counts(record: &&Record) -> bool {
    !matches!(record.kind, Kind::Begin | Kind::Skip | Kind::Overrun | Kind::Looked)
}

/// Positions of a core's records, in their order.
pub fn of_core(case: &Case, records: &[Record], core: usize) -> Vec<usize> {
    let is = |at: &usize| {
        let record = &records[*at];
        counts(&record) && case.set.tasks()[usize::from(record.subject)].core == core
    };
    (0..records.len()).filter(is).collect()
}

fn is_told(kind: Kind) -> bool {
    matches!(kind, Kind::Release | Kind::Granted)
}

fn is_decision(kind: Kind) -> bool {
    matches!(kind, Kind::Start | Kind::Preempt | Kind::Resume)
}

/// The instant of a record; of a release, when its core received it.
pub fn instant(record: &Record) -> u64 {
    record.at.as_ns() + if record.kind == Kind::Release { record.value } else { 0 }
}

/// Changes something. Returns which record then is the first wrong one, if the change makes one wrong.
pub fn change(random: &mut Random, case: &Case, records: &mut Vec<Record>) -> Option<usize> {
    let core = random.below(case.set.cores().len() as u64) as usize;
    let own = of_core(case, records, core);
    let place = random.below(own.len().saturating_sub(1).max(1) as u64) as usize;
    let (&at, &next) = (own.get(place)?, own.get(place + 1)?);
    let record = records[at];
    match random.below(5) {
        // Swaps two records, of which one is a decision, and none a release, whose order may make no difference.
        0 if [record.kind, records[next].kind].into_iter().any(is_decision)
            && ![record.kind, records[next].kind].into_iter().any(is_told) =>
        {
            records.swap(at, next);
            Some(at)
        }
        // Another task.
        1 if is_decision(record.kind) => {
            let others: Vec<usize> =
                case.set.on_core(core).filter(|task| *task != usize::from(record.subject)).collect();
            let other = others.get(random.below(others.len().max(1) as u64) as usize)?;
            records[at].subject = *other as u16;
            Some(at)
        }
        // A lock that cannot be had.
        2 if matches!(record.kind, Kind::Suspend | Kind::Spin) => {
            records[at].kind = Kind::Locked;
            Some(at)
        }
        // A lock that can be had, and is not granted.
        3 if record.kind == Kind::Locked => {
            let before = place.checked_sub(1).map(|before| records[own[before]].kind);
            let waited = matches!(before, Some(Kind::Resume)) || {
                let asked = own[..place].iter().rev().map(|at| &records[*at]);
                let mine = asked.filter(|other| other.subject == record.subject).map(|other| other.kind);
                matches!(mine.take(1).next(), Some(Kind::Spin | Kind::Suspend))
            };
            if waited {
                return None;
            }
            records[at].kind = Kind::Suspend;
            Some(at)
        }
        // A decision that is not made: found at the next record of that core, unless the core receives that record at
        // the same instant.
        4 if record.kind == Kind::Preempt && records[next].kind == Kind::Start => {
            let found = own[place + 2..].iter().copied().find(|at| {
                !is_told(records[*at].kind)
                    || records[*at].at.as_ns() + records[*at].value != record.at.as_ns()
            })?;
            let (first, second) = (at.min(next), at.max(next));
            records.remove(second);
            records.remove(first);
            Some(found - [first, second].iter().filter(|gone| **gone < found).count())
        }
        _ => None,
    }
}
