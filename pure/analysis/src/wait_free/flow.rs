// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Buffers where flows are preserved: what a job reads is fixed when it is activated.
//!
//! ```text
//! Equation    DBP, where each reader's buffer is remembered
//!                                              one core, fixed priorities    several cores
//!               no reader above the writer     n_lp + 1                      n_lp + 1
//!               some                           n_lp + 3                      n_lp + n_hp + 2
//!             TCCP, protected by time: max over readers of ⌈(L + J_w) / T_w⌉ + (1 below the writer, 2 above)
//! Symbols     n_lp, n_hp readers of lower and of higher priority than the writer
//!             [ns] L longest time from a reader's activation to the end of its job; T_w the writer's period, J_w the
//!             most by which the writer's activation is late
//! Assumes     A1 a task has one job at a time: R ≤ T   A2 an activation, which fixes what a reader reads, is one step;
//!             at one instant the writer's activation comes before those of its readers   A3 on several cores a reader
//!             below the writer waits until the writer's value is complete (L and R include this)   A4 a reader below
//!             the writer reads the value of the job activated last, a reader above it that of the job before (a unit
//!             delay)
//! Verdict     exact: a search of all states of up to 3 readers needs as many; for TCCP arrivals are searched
//! Cost        one pass
//! Source      [Han14, II-C] for protocols and semantics, [Sofronis06] for the idea; counts are own, those of the paper
//!             are lost in the copy known here
//! ```
//!
//! **Why, DBP.** Each active reader holds one buffer, and the writer's new job needs one that no reader holds; if
//! there are readers above, the value of the last job is kept for them too. On one core, all readers above the writer
//! that are active when the writer is activated were activated before it ran, so they hold the same old value: one
//! buffer for all.
//!
//! **Why, TCCP.** Let a reader be activated at t, and let k be the last job activated by then. Job k + 1 is activated
//! after t, and job k + n not before t + (n − 1) T_w − J_w. From n − 1 = ⌈(L + J_w) / T_w⌉ on, that is not before
//! t + L. A reader above reads k − 1.

use taut_time::Duration;

use crate::wide::{count, ns};
use crate::{Assumption, Overflow, Verdict};

/// Where a writer and its readers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cores {
    /// All on one, by fixed priority.
    One,
    /// On several.
    Several,
}

/// A reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowReader {
    /// T.
    pub period: Duration,
    /// R: from arrival to completion.
    pub response: Duration,
    /// L: from activation to completion, at most R.
    pub from_activation: Duration,
    /// Whether its priority is higher than the writer's.
    pub above: bool,
}

/// The writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowWriter {
    /// T_w.
    pub period: Duration,
    /// R_w: from arrival to completion.
    pub response: Duration,
    /// J_w: from arrival to activation.
    pub jitter: Duration,
}

/// Buffers of DBP for `below` and `above` readers, if A1 to A4 hold; [`dbp`] checks A1.
///
/// # Errors
/// [`Overflow`].
pub fn dbp_for(cores: Cores, below: u64, above: u64) -> Result<u64, Overflow> {
    let more = match (cores, above) {
        (_, 0) => 1,
        (Cores::One, _) => 3,
        (Cores::Several, _) => above.checked_add(2).ok_or(Overflow)?,
    };
    below.checked_add(more).ok_or(Overflow)
}

/// Buffers of DBP.
///
/// # Errors
/// [`Overflow`].
pub fn dbp(cores: Cores, writer: &FlowWriter, readers: &[FlowReader]) -> Result<Verdict<u64>, Overflow> {
    if let Some(assumption) = broken(writer, readers) {
        return Ok(Verdict::NotApplicable(assumption));
    }
    let above = readers.iter().filter(|reader| reader.above).count();
    let number = |readers: usize| u64::try_from(readers).map_err(|_| Overflow);
    dbp_for(cores, number(readers.len() - above)?, number(above)?).map(Verdict::Schedulable)
}

/// Buffers of TCCP; 1 without readers.
///
/// # Errors
/// [`Overflow`].
pub fn tccp(writer: &FlowWriter, readers: &[FlowReader]) -> Result<Verdict<u64>, Overflow> {
    if let Some(assumption) = broken(writer, readers) {
        return Ok(Verdict::NotApplicable(assumption));
    }
    let one = |reader: &FlowReader| {
        let used = (ns(reader.from_activation) + ns(writer.jitter)).div_ceil(ns(writer.period));
        used + if reader.above { 2 } else { 1 }
    };
    count(readers.iter().map(one).max().unwrap_or(1)).map(Verdict::Schedulable)
}

fn broken(writer: &FlowWriter, readers: &[FlowReader]) -> Option<Assumption> {
    let own = (writer.period, writer.response);
    let mut tasks = readers.iter().map(|reader| (reader.period, reader.response)).chain([own]);
    tasks.find_map(|(period, response)| match period {
        Duration::ZERO => Some(Assumption::PositivePeriod),
        _ if response > period => Some(Assumption::OneJobAtATime),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{HashSet, VecDeque};

    use super::*;

    /// Whether the writer's activation finds a buffer in every reachable state.
    fn always_free(cores: Cores, below: usize, above: usize, buffers: usize) -> bool {
        // Whether the writer is active; LATEST, PREVIOUS; what each reader holds, the readers below first.
        type State = (bool, usize, usize, Vec<Option<usize>>);
        let start: State = (false, 0, 0, vec![None; below + above]);
        let mut seen = HashSet::from([start.clone()]);
        let mut open = VecDeque::from([start]);
        while let Some((active, latest, previous, held)) = open.pop_front() {
            let mut next: Vec<State> = Vec::new();
            let on_one = cores == Cores::One;
            if !active {
                let kept = |b: &usize| held.contains(&Some(*b)) || (above > 0 && *b == latest);
                let mut free = (0..buffers).filter(|b| !kept(b)).peekable();
                if free.peek().is_none() {
                    return false;
                }
                next.extend(free.map(|b| (true, b, latest, held.clone())));
            } else if !(on_one && held[below..].iter().any(Option::is_some)) {
                // On one core the readers above complete first.
                next.push((false, latest, previous, held.clone()));
            }
            for reader in 0..below + above {
                let is_below = reader < below;
                let mut now = held.clone();
                now[reader] = match held[reader] {
                    None => Some(if is_below { latest } else { previous }),
                    // A reader below the writer runs after it on one core, and waits for its value on several.
                    Some(buffer) if is_below && active && (on_one || buffer == latest) => continue,
                    Some(_) => None,
                };
                next.push((active, latest, previous, now));
            }
            for state in next {
                if seen.insert(state.clone()) {
                    open.push_back(state);
                }
            }
        }
        true
    }

    #[test]
    fn minimal_for_up_to_three_readers() {
        let mut shapes = 0;
        for cores in [Cores::One, Cores::Several] {
            for below in 0..=3_u64 {
                for above in 0..=3 - below {
                    let found = dbp_for(cores, below, above).expect("small") as usize;
                    let (below, above) = (below as usize, above as usize);
                    assert!(always_free(cores, below, above, found), "{cores:?} {below} {above}");
                    // With readers above on one core, n_lp + 3 covers any number of them; one buffer less does not.
                    assert!(
                        !always_free(cores, below, above, found - 1),
                        "{cores:?} {below} {above}: {found}"
                    );
                    shapes += 1;
                }
            }
        }
        assert_eq!(shapes, 20);
    }

    #[test]
    fn the_table() {
        let row = |cores| {
            [(2, 0), (0, 1), (0, 3), (1, 1), (1, 2)].map(|(l, h)| dbp_for(cores, l, h).expect("small"))
        };
        assert_eq!(row(Cores::One), [3, 3, 3, 4, 4]);
        assert_eq!(row(Cores::Several), [3, 3, 5, 4, 5]);
    }

    fn task(period: u64, response: u64, above: bool) -> FlowReader {
        let response = Duration::from_ns(response);
        FlowReader { period: Duration::from_ns(period), response, from_activation: response, above }
    }

    fn writer(period: u64, jitter: u64) -> FlowWriter {
        let [period, jitter] = [period, jitter].map(Duration::from_ns);
        FlowWriter { period, response: period, jitter }
    }

    /// The fewest buffers for which no activation of the writer can reuse a buffer that is read, over all instants of
    /// a reader's activation and all choices of late jobs: each job on time, or as late as it may be. In half ticks.
    fn least(reader: &FlowReader, writer: &FlowWriter) -> u64 {
        let [period, jitter] = [writer.period, writer.jitter].map(|time| 2 * time.as_ns());
        let lasts = 2 * reader.from_activation.as_ns();
        let mut most = 0;
        for late in 0_u64..6 {
            let activation = |job: u64| job * period + if job <= late { jitter } else { 0 };
            // Jobs behind a late one come no earlier than it.
            let activation = |job: u64| (0..=job).map(activation).max().expect("one");
            for at in activation(2)..activation(8) {
                let latest = (0..30).take_while(|&job| activation(job) <= at).last().expect("some");
                let read = if reader.above { latest - 1 } else { latest };
                let begun = (read + 1..60).take_while(|&job| activation(job) < at + lasts).count();
                most = most.max(begun as u64 + 1);
            }
        }
        most
    }

    #[test]
    fn tccp_searched() {
        let mut cases = 0;
        for period in 1..6 {
            for jitter in [0, 1, period / 2, period] {
                for lasts in 1..14 {
                    for above in [false, true] {
                        let (reader, writer) = (task(20, lasts, above), writer(period, jitter));
                        let found = tccp(&writer, &[reader]).expect("small");
                        let seen = least(&reader, &writer);
                        assert_eq!(found.bound().copied(), Some(seen), "{reader:?} {writer:?}");
                        cases += 1;
                    }
                }
            }
        }
        assert_eq!(cases, 520);
    }

    #[test]
    fn assumptions_and_extremes() {
        let all = |w: &FlowWriter, r: &[FlowReader]| (dbp(Cores::One, w, r), tccp(w, r));
        let no =
            |assumption| (Ok(Verdict::NotApplicable(assumption)), Ok(Verdict::NotApplicable(assumption)));
        assert_eq!(all(&writer(5, 0), &[task(5, 6, false)]), no(Assumption::OneJobAtATime));
        assert_eq!(all(&writer(0, 0), &[]), no(Assumption::PositivePeriod));
        assert_eq!(all(&writer(5, 0), &[]), (Ok(Verdict::Schedulable(1)), Ok(Verdict::Schedulable(1))));
        assert_eq!(dbp_for(Cores::Several, 1, u64::MAX), Err(Overflow));
        assert_eq!(dbp_for(Cores::One, u64::MAX, 1), Err(Overflow));
    }
}
