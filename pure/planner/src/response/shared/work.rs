// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The work of a job, with the charges of [`super::charge`].

use taut_analysis::Overflow;
use taut_analysis::overheads::Charges;
use taut_analysis::overheads::probe::Slowdown;
use taut_model::{Body, Cost, Request, Segment, Waiting};
use taut_time::Duration;

use crate::placement::Placement;

/// The length of a section whose length does not matter: its holder only raises a ceiling.
const INSTANT: Duration = Duration::from_ns(1);

/// Makes the work of jobs.
pub(crate) struct Works<'a> {
    pub(crate) charges: Charges,
    pub(crate) slowdown: Slowdown,
    /// By resource, whether several cores use it.
    pub(crate) global: &'a [bool],
    /// By resource, whether its waiters are suspended; for resources of several cores.
    pub(crate) suspends: &'a [bool],
}

/// A job, charged.
pub(crate) struct Work {
    pub(crate) body: Body,
    /// C'.
    pub(crate) cost: Duration,
    /// Of that, context switches.
    pub(crate) switching: Duration,
    /// Of that, the probe's share, except in global sections.
    pub(crate) slowed: Duration,
}

/// Sums over the sections of a job.
#[derive(Default)]
struct Sums {
    /// Execution, margins included, that was counted.
    inside: Duration,
    /// The part of that in global sections; `global_charged` is what these are charged as.
    global_inside: Duration,
    global_charged: Duration,
    /// Locks of local sections.
    locking: Duration,
    /// Context switches of suspended waiting.
    switching: Duration,
}

fn add(sum: &mut Duration, more: Duration, times: u32) -> Result<(), Overflow> {
    *sum = more.checked_mul(times.into()).and_then(|more| sum.checked_add(more)).ok_or(Overflow)?;
    Ok(())
}

impl Works<'_> {
    /// The work of a placement's job. `kept` is the resource that stands for its core, if some task blocks the whole
    /// core, and how long this task blocks it.
    pub(crate) fn work(
        &self,
        placement: &Placement<'_>,
        kept: Option<(usize, Duration)>,
    ) -> Result<Work, Overflow> {
        if placement.task.segments.is_empty() {
            self.anywhere(placement, kept)
        } else {
            self.ordered(placement, kept)
        }
    }

    fn anywhere(&self, placement: &Placement<'_>, kept: Option<(usize, Duration)>) -> Result<Work, Overflow> {
        let (mut requests, mut sums) = (Vec::new(), Sums::default());
        for section in &placement.task.sections {
            let (at, count) = (section.resource.index(), section.count);
            let length = placement.task.wcet.with_margin(section.longest).ok_or(Overflow)?;
            add(&mut sums.inside, length, count)?;
            let length = if self.global[at] {
                self.global(at, length, count, &mut sums)?
            } else {
                // Scaled sections are rounded up one by one, but a scaled sum is not.
                add(&mut sums.locking, self.charges.section(INSTANT)?, count)?;
                self.slowdown.slower(self.charges.section(length)?)?
            };
            requests.push(Request { resource: at, count, length, outermost: true });
        }
        // Margins of parts are rounded up one by one, and may exceed that of the whole.
        let own = placement.cost.max(sums.inside);
        if let Some((core, stretch)) = kept {
            let stretch = stretch.max(INSTANT);
            // Count as many as fit in beside the sections: there cannot be more. If a stretch encloses a section, the
            // cost becomes larger than it is.
            let left = own.saturating_sub(sums.inside);
            let count = if stretch == INSTANT { 1 } else { left.div_floor(stretch).unwrap_or(0).max(1) };
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            let over = stretch.checked_mul(count.into()).ok_or(Overflow)?.saturating_sub(left);
            add(&mut sums.locking, over, 1)?;
            add(&mut sums.locking, INSTANT, count)?;
            let length = self.slowdown.slower(stretch)?;
            requests.push(Request { resource: core, count, length, outermost: true });
        }
        let (switching, plain) = self.plain(own, &sums)?;
        let slower = self.slowdown.slower(plain)?;
        let cost = slower.checked_add(sums.global_charged).ok_or(Overflow)?;
        let body = Body::Anywhere { cost, requests };
        Ok(Work { body, cost, switching, slowed: slower.saturating_sub(plain) })
    }

    fn ordered(&self, placement: &Placement<'_>, kept: Option<(usize, Duration)>) -> Result<Work, Overflow> {
        let mut sums = Sums::default();
        let parts = self.parts(&placement.task.segments, &placement.task.wcet, &mut sums)?;
        let own = placement.cost.max(sums.inside);
        let (switching, plain) = self.plain(own, &sums)?;
        let mut segments = vec![Segment::Normal(self.slowdown.slower(switching)?)];
        segments.extend(parts);
        // A stretch here is a section in the background; the last segment has room for it, since the budget's charge
        // includes it.
        let left = own.saturating_sub(sums.inside);
        let stretch = kept.map_or(Duration::ZERO, |(_, stretch)| stretch);
        segments.push(Segment::Normal(self.slowdown.slower(left.saturating_sub(stretch))?));
        if let Some((resource, _)) = kept {
            let stretch = self.slowdown.slower(stretch)?.max(INSTANT);
            segments.push(Segment::Section { resource, inside: vec![Segment::Normal(stretch)] });
        }
        let slowed = self.slowdown.slower(plain)?.saturating_sub(plain);
        Ok(Work { cost: sum(&segments)?, body: Body::Segments(segments), switching, slowed })
    }

    /// Context switches, and all work outside global sections.
    fn plain(&self, own: Duration, sums: &Sums) -> Result<(Duration, Duration), Overflow> {
        let switching = self.charges.job(sums.switching)?;
        let plain = own.saturating_sub(sums.global_inside).checked_add(switching);
        Ok((switching, plain.and_then(|plain| plain.checked_add(sums.locking)).ok_or(Overflow)?))
    }

    fn parts(&self, segments: &[Segment], wcet: &Cost, sums: &mut Sums) -> Result<Vec<Segment>, Overflow> {
        let mut parts = Vec::with_capacity(segments.len());
        for segment in segments {
            match segment {
                Segment::Normal(time) => {
                    let time = wcet.with_margin(*time).ok_or(Overflow)?;
                    add(&mut sums.inside, time, 1)?;
                    parts.push(Segment::Normal(self.slowdown.slower(time)?));
                }
                Segment::Section { resource, inside } if self.global[*resource] => {
                    // No section is nested in it: `nested` has refused that.
                    let length = wcet.with_margin(sum(inside)?).ok_or(Overflow)?;
                    add(&mut sums.inside, length, 1)?;
                    let inside = vec![Segment::Normal(self.global(*resource, length, 1, sums)?)];
                    parts.push(Segment::Section { resource: *resource, inside });
                }
                Segment::Section { resource, inside } => {
                    let lock = self.charges.lock();
                    add(&mut sums.locking, lock, 1)?;
                    let mut within = vec![Segment::Normal(self.slowdown.slower(lock)?)];
                    within.extend(self.parts(inside, wcet, sums)?);
                    parts.push(Segment::Section { resource: *resource, inside: within });
                }
            }
        }
        Ok(parts)
    }

    /// The charged length of a section that other cores wait for.
    fn global(
        &self,
        resource: usize,
        length: Duration,
        count: u32,
        sums: &mut Sums,
    ) -> Result<Duration, Overflow> {
        let waiting = if self.suspends[resource] { Waiting::Suspended } else { Waiting::Spinning };
        let held = self.charges.section_of_several_cores(length, waiting)?;
        let charged = self.slowdown.section(held)?;
        add(&mut sums.global_inside, length, count)?;
        add(&mut sums.global_charged, charged, count)?;
        if waiting == Waiting::Suspended {
            add(&mut sums.switching, self.charges.to_and_from()?, count)?;
        }
        Ok(charged)
    }
}

/// How long segments last.
fn sum(segments: &[Segment]) -> Result<Duration, Overflow> {
    segments.iter().try_fold(Duration::ZERO, |total, segment| {
        let time = match segment {
            Segment::Normal(time) => *time,
            Segment::Section { inside, .. } => sum(inside)?,
        };
        total.checked_add(time).ok_or(Overflow)
    })
}
