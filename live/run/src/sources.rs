// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reading a state with several sources: each has an object of its own, and a read takes the newest value of all.
//!
//! Use        the reading ends of tasks and clients; a state with one writer has one source, and no choice.
//! Progress   one read of each source, by the steps of its mechanism, and a clock read for each new value of a client. A source
//!            that is stopped, killed or hostile in the middle of a write is as its mechanism's file says; it holds up no other.
//! State      of each source that is not trusted, the stamp seen last and the instant at which it counts; of the reader, the
//!            instant and the source of the value that it got last.
//! Invariants I1 the instants at which the values of one source count never fall: see `SourceStamps::counts`.
//!            I2 `newest` never falls, in the order of [`Written`].
//! Crash      a writer that ends leaves its last value, which counts as before; a reader that ends leaves nothing, and its
//!            successor begins anew: it may get a value that is older than what the one before it got last.
//! Source     decision 0060; no published one: the proofs stand below.

// Proof: fresh. Let a write of source s with stamp t end before a read begins. The object of s gives the read this value or a later
// one of s, which counts at t or later: a trusted writer takes its stamps from one clock, in the order of its writes.
// The read takes
// the largest of what all sources give, so what it gets counts at t or later. Of a client that tells the truth the same holds, for
// its stamp is before the instant at which the reader sees the value. If a reader without a place of its own is overtaken at a
// source, it gets what the others have, but nothing older than before (I2).
//
// Proof: monotone. Let a read get the value w of s, and let r be a later read by the same end. The object of s gives
// r the value w or
// a later one of s, which counts no earlier (I1). So the largest of what r finds is no older than w, unless s gave
// nothing, for r was
// overtaken or did not get a lock. Then `newest` decides: r gets nothing rather than an older value (I2).
//
// Proof: what a client says harms itself alone. Its value counts at the latest when the reader sees it first, so a stamp from the
// future does not hide what others write later; a stamp from the past hides the client's own value only.

use std::cmp::Reverse;

use taut_share::state::ReaderOvertaken;

use crate::payload::{Own, Payload, Stamped};

/// When a value counts as written, and by which source; the larger is the newer. Of one instant, the source that is named first
/// is the newer.
type Written = (u64, Reverse<usize>);

/// The instants at which the values of a source count as written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceStamps {
    /// Whether the writer is in this process, so that its stamps can be believed.
    trusted: bool,
    /// The stamp seen last: when it says that it was sent, and its number.
    seen: (u64, u64),
    counts_ns: u64,
}

impl SourceStamps {
    pub(crate) fn new(trusted: bool) -> Self {
        Self { trusted, seen: (0, 0), counts_ns: 0 }
    }

    /// When a value with this stamp counts as written (ns): when it was sent; if the writer may lie, not after the reader has seen
    /// it, and not before an earlier value of the source (I1).
    fn counts(&mut self, stamp: (u64, u64), now_ns: impl FnOnce() -> u64) -> u64 {
        if self.trusted {
            return stamp.0;
        }
        if stamp != self.seen {
            self.seen = stamp;
            self.counts_ns = stamp.0.min(now_ns()).max(self.counts_ns);
        }
        self.counts_ns
    }
}

/// How a reader looks at its sources.
pub(crate) trait Look<E, P: Payload> {
    /// Copies the value of a source to `place`, and says whether it has one.
    ///
    /// # Errors
    /// [`ReaderOvertaken`]: the source's writer overtook the reader at every attempt.
    fn read(&mut self, end: &mut E, place: &mut Stamped<P>) -> Result<bool, ReaderOvertaken>;

    /// The time (ns).
    fn now_ns(&mut self) -> u64;
}

/// The sources of a state, as one reader sees them: at least one.
pub(crate) struct Sources<E, P: Payload> {
    ends: Box<[(E, SourceStamps)]>,
    /// What the reader got last (I2).
    newest: Option<Written>,
    /// For the value of a further source, if there are several.
    other: Option<Own<P>>,
}

impl<E, P: Payload> Sources<E, P> {
    /// `ends` are in the order of the plan.
    pub(crate) fn new(ends: Vec<(E, SourceStamps)>) -> Self {
        let other = (ends.len() > 1).then(Own::new);
        Self { ends: ends.into(), newest: None, other }
    }

    /// Copies the newest value of all sources to `own`, and returns the place of its source; `None` if there is none. Then, and
    /// after an error, `own` holds anything.
    ///
    /// # Errors
    /// [`ReaderOvertaken`], if the writer of a source overtook the reader, and no other source has a value that is at least as new
    /// as the last one that was read. Else the overtaken source is left out, and may have had a newer one.
    #[inline]
    pub(crate) fn read(
        &mut self,
        own: &mut Own<P>,
        look: &mut impl Look<E, P>,
    ) -> Result<Option<usize>, ReaderOvertaken> {
        let Some(other) = &mut self.other else {
            let Some((end, _)) = self.ends.first_mut() else { return Ok(None) };
            return look.read(end, own.stamped_mut()).map(|is_there| is_there.then_some(0));
        };
        let (mut found, mut overtaken): (Option<Written>, _) = (None, false);
        for (place, (end, stamps)) in self.ends.iter_mut().enumerate() {
            match look.read(end, other.stamped_mut()) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(ReaderOvertaken) => {
                    overtaken = true;
                    continue;
                }
            }
            let stamped = other.stamped();
            let stamp = (stamped.sent_ns, stamped.sequence);
            let written = (stamps.counts(stamp, || look.now_ns()), Reverse(place));
            if found < Some(written) {
                found = Some(written);
                std::mem::swap(own, other);
            }
        }
        match found.filter(|_| found >= self.newest) {
            Some(written) => {
                self.newest = Some(written);
                Ok(Some(written.1.0))
            }
            None if overtaken => Err(ReaderOvertaken),
            None => Ok(None),
        }
    }

    /// The end at a place.
    pub(crate) fn end(&self, place: usize) -> &E {
        &self.ends[place].0
    }

    /// The ends with their stamps.
    pub(crate) fn into_ends(self) -> impl Iterator<Item = (E, SourceStamps)> {
        self.ends.into_vec().into_iter()
    }

    /// The ends, in the order of the plan.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &E> {
        self.ends.iter().map(|(end, _)| end)
    }
}

#[cfg(test)]
mod tests;
