// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Sections that can block a window, of the tasks of a core under EDF.

use taut_model::TaskSet;

use super::demand::Blocking;
use crate::Overflow;

/// A section, and jobs that started above it, that block windows with `from` ≤ t < `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) time: u64,
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) task: usize,
    pub(crate) resource: usize,
}

/// A task of the core, with the cost of all that it does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// Its position in the set.
    pub(crate) task: usize,
    pub(crate) cost: u64,
    /// Its preemption level, as a time: shorter is higher.
    pub(crate) level: u64,
    /// D.
    pub(crate) deadline: u64,
    /// D − J.
    pub(crate) due: u64,
}

/// b of `super::srp`, in pieces of constant length: b(t) is the longest piece that holds at t. Leaves out sections on
/// resources that are not `local`.
pub(crate) fn by_ceilings(
    set: &TaskSet,
    members: &[Member],
    local: impl Fn(usize) -> bool,
) -> Result<Vec<Section>, Overflow> {
    let mut ceilings = vec![u64::MAX; set.resources().len()];
    for member in members {
        for request in set.requests(member.task) {
            ceilings[request.resource] = ceilings[request.resource].min(member.level);
        }
    }
    let mut all = Vec::new();
    for member in members {
        for request in set.requests(member.task).iter().filter(|request| local(request.resource)) {
            let (task, resource, ceiling) = (member.task, request.resource, ceilings[request.resource]);
            let others = || members.iter().filter(|other| other.task != task);
            // 1. From which window on a job may be due that the ceiling keeps out.
            let kept_out = others().filter(|other| other.level >= ceiling);
            let Some(from) = kept_out.map(|other| other.due).min().filter(|&from| from < member.deadline)
            else {
                continue;
            };
            // 2. Tasks whose jobs may have started above it and be due later still: from `due` on, their cost is in
            // the demand.
            let above: Vec<_> = others().filter(|k| k.level < ceiling && k.due > from).collect();
            // 3. Pieces.
            let mut ends: Vec<u64> = above.iter().map(|k| k.due).collect();
            ends.push(member.due);
            ends.sort_unstable();
            let mut begin = from;
            for until in ends {
                if until <= begin {
                    continue;
                }
                let own = if begin < member.due { request.length.as_ns() } else { 0 };
                let whole = above.iter().filter(|k| begin < k.due);
                let time = whole.map(|k| k.cost).try_fold(own, u64::checked_add).ok_or(Overflow)?;
                all.push(Section { time, from: begin, until, task, resource });
                begin = until;
            }
        }
    }
    Ok(all)
}

/// b of `super::dfp`. `floors` has one entry per resource.
pub(crate) fn by_floors(set: &TaskSet, members: &[Member], floors: &[u64]) -> Vec<Section> {
    let of_member = |member: &Member| {
        let Member { task, due, .. } = *member;
        set.requests(task).iter().map(move |request| Section {
            time: request.length.as_ns(),
            from: floors[request.resource],
            until: due,
            task,
            resource: request.resource,
        })
    };
    members.iter().flat_map(of_member).filter(|section| section.from < section.until).collect()
}

/// The longest first.
pub(crate) fn sort(sections: &mut [Section]) {
    sections.sort_by_key(|section| core::cmp::Reverse(section.time));
}

/// b(t): the first section that blocks is the longest, since they are sorted.
pub(crate) fn blocking(sections: &[Section], window: u64) -> Blocking {
    let blocks = |section: &&Section| section.from <= window && window < section.until;
    sections.iter().find(blocks).map(|section| (section.time, section.task, section.resource))
}
