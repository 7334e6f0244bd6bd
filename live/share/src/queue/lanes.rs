// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Lanes: many senders, one receiver. Each sender has a queue of its own, its lane, and a flag that says that there is
//! news in it; the receiver finds the most urgent lane with a value without a look at all of them.
//!
//! # Use
//! Requests to one task from many; no plan uses it yet: channels of kind `message` have lanes without flags. Senders share
//! no word, so none waits for another or loses to it. The receiver takes values in the order of the lanes
//! ([`Reader::next`]: lane 0 is the most urgent) or of stamps ([`Reader::next_by_stamp`]). A lane is any queue of
//! [`crate::queue`]. Up to about 8 lanes need no flags: a [`Reader`] looks at all lanes that are beyond its [`Collector`].
//! The lane of a process that may lie has no flag either: such a process gets the memory of its lane alone, and none in
//! which flags of others are.
//!
//! # Callers
//! `-`: both may run at the same time; `X`: they may not (the types and the duties of [`announcer`] and [`collector`]
//! ensure it). The queues have their own tables.
//!
//! |                        | `announce` of lane i | `announce` of lane j | `next`, `next_by_stamp` |
//! |------------------------|----------------------|----------------------|-------------------------|
//! | `announce` of lane i   | X                    | -                    | -                       |
//! | `next`, `next_by_stamp` | -                   | -                    | X                       |
//!
//! # Progress
//! N lanes, F of them with flags. Beside the steps of their queues; all sides are wait-free.
//!
//! | operation       | bound                                                                                      |
//! |-----------------|--------------------------------------------------------------------------------------------|
//! | `send`          | a push + 1 store                                                                           |
//! | `next`          | ⌈F / 8⌉ loads + 1 exchange for each flag that it finds raised + an empty pop for each lane that was flagged in vain or has no flag, up to the block of 8 in which it finds a value; + 1 pop |
//! | `next_by_stamp` | twice: ⌈F / 8⌉ loads + 1 exchange for each flag that it finds raised, a look and 1 word for each lane that was flagged or has no flag; + 1 pop |
//!
//! So at most F exchanges and N pops. Each raised flag is found once, so over time each value costs at most 1 exchange and
//! 1 empty pop. The first call of a receiver's end looks at each lane.
//!
//! # Orderings
//! - O1 news: Release of the sender's store to its flag ↔ Acquire of the receiver's exchange that finds it raised.
//!
//! # Crash
//! | crash of                              | the others see            | recovery                                      |
//! |---------------------------------------|---------------------------|-----------------------------------------------|
//! | sender, before its push is complete   | nothing                   | as its queue says                             |
//! | sender, between the push and the flag | nothing, or the value     | with the flag of a new [`announcer`], the value |
//! | receiver, anywhere                    | nothing                   | a new [`collector`] looks at all lanes once   |
//!
//! A sender that raises its flag in vain costs each call 1 exchange and 1 empty pop. A process that writes flags of others
//! can hide their values until they announce again.
//!
//! # Source
//! A queue per producer is the usual wait-free queue of several producers [Aldinucci 2012]; a flag per queue that the
//! consumer claims is our own.

use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;

use taut_atomic::Ordering::{Acquire, Release};
use taut_atomic::{Claimed, Flag, Flags, Memory, flag_bytes};

use super::qrtr;
use crate::ends::{Pop, Push};
use crate::plain::{fit, line_bytes};
use crate::{LayoutError, Plain};

// # State
//
// ```text
// byte i    flag of lane i: not 0 if there is news in it (raised by its sender, claimed by the receiver)
// ```
//
// The receiver keeps a set of the lanes whose flags it has claimed and which it has not found empty since.
//
// # Invariants
//
// - I1 Only the sender of a lane raises its flag, by a plain store of 1. The receiver never stores 1.
// - I2 If a value waits in a lane and its sender has announced it, then its flag is raised or the lane is in the set.

/// The maximum number of lanes with flags.
pub const LANES_MAX: u32 = 512;

/// Bytes that the flags of `lanes` lanes need (more than [`LANES_MAX`] count as [`LANES_MAX`]).
pub const fn bytes(lanes: u32) -> usize {
    let lanes = if lanes > LANES_MAX { LANES_MAX } else { lanes };
    line_bytes(flag_bytes(lanes as usize))
}

fn flags<'m>(memory: &Claimed<'m>, lanes: u32) -> Result<Flags<'m>, LayoutError> {
    if lanes > LANES_MAX {
        return Err(LayoutError::Lanes);
    }
    fit(memory, bytes(lanes))?;
    // SAFETY: this object uses its memory for flags only.
    Ok(unsafe { memory.flags(0, lanes as usize) })
}

/// The flags of all lanes on one memory: an announcer for each sender, and the receiver's collector.
///
/// ```
/// use taut_share::queue::{lanes, qrtr};
/// use taut_share::{Line, Memory};
///
/// let (mut flags, mut first, mut second) =
///     ([const { Line::new() }; 1], [const { Line::new() }; 3], [const { Line::new() }; 3]);
/// let (mut announcers, collector) = lanes::group(Memory::new(&mut flags), 2)?;
/// let (urgent, from_urgent) = qrtr::pair::<u64>(Memory::new(&mut first), 2)?;
/// let (other, from_other) = qrtr::pair::<u64>(Memory::new(&mut second), 2)?;
/// let mut urgent = lanes::Writer::new(urgent, announcers.next().expect("two"));
/// let mut other = lanes::Writer::new(other, announcers.next().expect("two"));
/// let mut receiver = lanes::Reader::new(collector, [from_urgent, from_other])?;
///
/// assert_eq!((other.send(&7), urgent.send(&8)), (Ok(()), Ok(())));
/// let taken = receiver.next().expect("sane").expect("two wait");
/// assert_eq!((taken.lane, taken.value), (0, 8));
/// let taken = receiver.next().expect("sane").expect("one waits");
/// assert_eq!((taken.lane, taken.value), (1, 7));
/// assert_eq!(receiver.next(), Ok(None));
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
///
/// # Errors
///
/// [`LayoutError`]: too small, or more lanes than [`LANES_MAX`].
pub fn group(memory: Memory<'_>, lanes: u32) -> Result<(Announcers<'_>, Collector<'_>), LayoutError> {
    let flags = flags(&memory.claim(), lanes)?;
    Ok((Announcers { flags, next: 0 }, Collector::attach(flags)))
}

/// The announcer of lane `which`, from 0, alone. It raises the flag, for what the sender before it may have pushed without
/// announcing it.
///
/// # Errors
///
/// [`LayoutError`], as [`group`], or [`LayoutError::Lanes`] if there is no lane `which`.
///
/// # Safety
///
/// The memory holds the flags of so many lanes, or zeros. No other announcer of this lane is alive: the last one has
/// ended, and its end happens before this call.
pub unsafe fn announcer(memory: Memory<'_>, lanes: u32, which: u32) -> Result<Announcer<'_>, LayoutError> {
    let flags = flags(&memory.claim(), lanes)?;
    flags.get(which as usize).map(Announcer::attach).ok_or(LayoutError::Lanes)
}

/// The collector alone. After the death of a receiver, at any step, this call makes its successor's.
///
/// # Errors
///
/// [`LayoutError`], as [`group`].
///
/// # Safety
///
/// The memory holds the flags of so many lanes, or zeros. No other collector of it is alive: the last one has ended, and
/// its end happens before this call.
pub unsafe fn collector(memory: Memory<'_>, lanes: u32) -> Result<Collector<'_>, LayoutError> {
    Ok(Collector::attach(flags(&memory.claim(), lanes)?))
}

/// The announcers of all lanes, from lane 0 on.
pub struct Announcers<'m> {
    flags: Flags<'m>,
    next: usize,
}

impl<'m> Iterator for Announcers<'m> {
    type Item = Announcer<'m>;

    fn next(&mut self) -> Option<Announcer<'m>> {
        let flag = self.flags.get(self.next)?;
        self.next += 1;
        Some(Announcer::attach(flag))
    }
}

/// A sender's side of a flag. Real-time.
pub struct Announcer<'m> {
    flag: Flag<'m>,
    /// Ends move between threads, but threads do not share them.
    end: PhantomData<Cell<()>>,
}

impl<'m> Announcer<'m> {
    fn attach(flag: Flag<'m>) -> Self {
        let mut announcer = Self { flag, end: PhantomData };
        announcer.announce();
        announcer
    }

    /// Says that there is news in the lane. Call it after each push. Wait-free: 1 store.
    #[inline(always)]
    pub fn announce(&mut self) {
        // Proof: The receiver's exchange reads a store of this sender, the only one that stores 1 (I1). It synchronises
        // with that store (O1), and with all before it: so the receiver's next look at the lane's queue finds all values
        // that were announced by then. A later store is after the exchange in the flag's order, and stays there for the
        // next one. Were a flag raised by several senders, the exchange would synchronise with the last of them alone.
        self.flag.raise(Release); // O1 news
    }
}

/// The receiver's side of all flags: which lanes may have a value.
pub struct Collector<'m> {
    flags: Flags<'m>,
    /// Bit i of byte b: lane 8 b + i may have a value, as far as its flag said so.
    set: [u8; LANES_MAX as usize / 8],
}

impl<'m> Collector<'m> {
    fn attach(flags: Flags<'m>) -> Self {
        let mut set = [0; LANES_MAX as usize / 8];
        // The receiver before this one may have claimed flags, and its set is gone.
        for lane in 0..flags.count() {
            set[lane / 8] |= 1 << (lane % 8);
        }
        Self { flags, set }
    }

    /// Number of lanes that have flags.
    #[inline]
    pub fn lanes(&self) -> usize {
        self.flags.count()
    }

    fn blocks(&self) -> usize {
        self.flags.count().div_ceil(8)
    }

    /// Claims the raised flags of a block, and returns its lanes that may have a value, a bit each.
    #[inline(always)]
    fn collect(&mut self, block: usize) -> u8 {
        let mut raised = self.flags.raised(block);
        while raised != 0 {
            let at = raised.trailing_zeros() / 8;
            raised &= !(0xFF << (8 * at));
            // O1 news. The load has shown the flag raised, and only this side lowers it: the result is true, unless
            // another process writes it.
            if self.flags.get(8 * block + at as usize).is_some_and(|flag| flag.claim(Acquire)) {
                self.set[block] |= 1 << at;
            }
        }
        self.set[block]
    }

    /// Removes a lane that was found empty after its flag was claimed.
    #[inline(always)]
    fn remove(&mut self, lane: usize) {
        // Proof: I2. The receiver claims a flag, puts the lane into the set, looks at the lane, and removes it only if the
        // look finds it empty. A value that was announced before the claim is found by the look. For a value that is
        // announced after it, the flag is raised again. The receiver has no store that could hide that.
        self.set[lane / 8] &= !(1 << (lane % 8));
    }
}

/// A value, the lane that it comes from, and what was lost before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneValue<T> {
    /// The number of the lane.
    pub lane: usize,
    /// The value.
    pub value: T,
    /// Number of values of this lane that were discarded between the last one that was taken from it and this one.
    pub lost: u64,
}

/// No lane gave a value, and the queue of this one reported an error. The lane is looked at again in the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneUnavailable<E> {
    /// The number of the lane.
    pub lane: usize,
    /// What its queue reported.
    pub error: E,
}

impl<E: fmt::Display> fmt::Display for LaneUnavailable<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lane {}: {}", self.lane, self.error)
    }
}

impl<E: core::error::Error> core::error::Error for LaneUnavailable<E> {}

/// A sender's end: a lane and its flag. As real-time as the writer of its queue, `W`.
pub struct Writer<'m, W> {
    queue: W,
    announcer: Announcer<'m>,
}

impl<'m, W: Push> Writer<'m, W> {
    /// The end that pushes to `queue`, and announces with `announcer`, which is of the same lane.
    pub fn new(queue: W, announcer: Announcer<'m>) -> Self {
        Self { queue, announcer }
    }

    /// Appends a copy of `value` to the lane, and announces it. Wait-free: a push and 1 store; no store if the queue refuses
    /// the value.
    ///
    /// # Errors
    ///
    /// As the queue's push: the lane did not take the value.
    #[inline]
    pub fn send(&mut self, value: &W::Value) -> Result<(), W::Error> {
        self.queue.push(value)?;
        self.announcer.announce();
        Ok(())
    }

    /// The queue, for its own operations. Those that push need an [`Announcer::announce`].
    pub fn parts(&mut self) -> (&mut W, &mut Announcer<'m>) {
        (&mut self.queue, &mut self.announcer)
    }
}

/// The receiver's end: the queues of all lanes, in any list of them (an array, a slice, a `Vec`). As real-time as their
/// readers.
pub struct Reader<'m, R, Q> {
    collector: Collector<'m>,
    queues: Q,
    /// The reader of a lane.
    each: PhantomData<fn() -> R>,
}

impl<'m, R: Pop, Q: AsRef<[R]> + AsMut<[R]>> Reader<'m, R, Q> {
    /// The end that takes from `queues`. The first ones are the lanes of `collector`; those beyond have no flag, and are
    /// looked at in each call. The collector of no lanes needs no memory: then all are looked at.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Lanes`]: there are fewer queues than lanes with flags.
    pub fn new(collector: Collector<'m>, queues: Q) -> Result<Self, LayoutError> {
        if queues.as_ref().len() < collector.lanes() {
            return Err(LayoutError::Lanes);
        }
        Ok(Self { collector, queues, each: PhantomData })
    }

    /// Takes the oldest value of the most urgent lane that has one: of the least number. `None` if no value waits.
    ///
    /// A value that was announced before the call goes before all values of less urgent lanes.
    ///
    /// # Errors
    ///
    /// [`LaneUnavailable`]: nothing was taken; a lane reported an error, and no other lane has a value.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "an iterator would end where no value waits")]
    pub fn next(&mut self) -> Result<Option<LaneValue<R::Value>>, LaneUnavailable<R::Error>> {
        let taken = self.first(R::pop)?;
        Ok(taken.map(|(lane, popped)| LaneValue { lane, value: popped.value, lost: popped.lost }))
    }

    /// [`Reader::next`] into `value`, without a second move of a large value. Returns the lane, and how many values of it
    /// were lost before this one; `None` if no value waits, and then `value` holds anything.
    ///
    /// # Errors
    ///
    /// [`LaneUnavailable`], as [`Reader::next`]; `value` holds anything.
    #[inline]
    pub fn next_into(
        &mut self,
        value: &mut R::Value,
    ) -> Result<Option<(usize, u64)>, LaneUnavailable<R::Error>> {
        self.first(|queue| queue.pop_into(value))
    }

    /// The first lane with a value, and what `pop` takes of it.
    #[inline(always)]
    fn first<V>(
        &mut self,
        mut pop: impl FnMut(&mut R) -> Result<Option<V>, R::Error>,
    ) -> Result<Option<(usize, V)>, LaneUnavailable<R::Error>> {
        let Self { collector, queues, .. } = self;
        let queues = queues.as_mut();
        let mut failed = None;
        for block in 0..collector.blocks() {
            let mut lanes = collector.collect(block);
            while lanes != 0 {
                let lane = 8 * block + lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                let Some(queue) = queues.get_mut(lane) else { continue };
                match pop(queue) {
                    Ok(Some(value)) => return Ok(Some((lane, value))),
                    Ok(None) => collector.remove(lane),
                    Err(error) => failed = failed.or(Some(LaneUnavailable { lane, error })),
                }
            }
        }
        for (lane, queue) in queues.iter_mut().enumerate().skip(collector.lanes()) {
            match pop(queue) {
                Ok(Some(value)) => return Ok(Some((lane, value))),
                Ok(None) => {}
                Err(error) => failed = failed.or(Some(LaneUnavailable { lane, error })),
            }
        }
        failed.map_or(Ok(None), Err)
    }
}

impl<'q, T: Plain, Q> Reader<'_, qrtr::Reader<'q, T>, Q>
where
    Q: AsRef<[qrtr::Reader<'q, T>]> + AsMut<[qrtr::Reader<'q, T>]>,
{
    /// Takes the value with the least stamp among the oldest ones of all lanes, by the first word of each value: the
    /// instant at which its sender made it, of a clock that all senders share. `None` if no value waits.
    ///
    /// A value whose send has ended before the send of another began goes before the other. Of equal stamps the one of the
    /// more urgent lane goes first. The values of one lane stay in order, whatever their stamps are.
    ///
    /// # Errors
    ///
    /// [`LaneUnavailable`], as [`Reader::next`].
    #[inline]
    pub fn next_by_stamp(&mut self) -> Result<Option<LaneValue<T>>, LaneUnavailable<qrtr::Corrupt>> {
        // Proof: Let the result be value x, and a the value of a send that ended before that of x began, so that its stamp
        // is not greater. If the first look finds x, then a was announced before x, and the second look, which comes
        // after the claim of x's flag, finds a. If only the second look finds x, then its stamp is less than that of a
        // value y that the first look found; a was stamped before x, so before y, and its send ended before y was
        // announced: the second look finds it. One look alone could find the lane of a before its announcement and that
        // of x after it.
        let Some(_) = self.least()? else { return Ok(None) };
        let Some(lane) = self.least()? else { return Ok(None) };
        let Some(queue) = self.queues.as_mut().get_mut(lane) else { return Ok(None) };
        match queue.pop() {
            Ok(value) => Ok(value.map(|value| LaneValue { lane, value, lost: 0 })),
            Err(error) => Err(LaneUnavailable { lane, error }),
        }
    }

    /// The lane whose oldest value has the least stamp.
    fn least(&mut self) -> Result<Option<usize>, LaneUnavailable<qrtr::Corrupt>> {
        let Self { collector, queues, .. } = self;
        let queues = queues.as_mut();
        let (mut least, mut failed) = (None, None);
        let mut look = |lane: usize, queue: &mut qrtr::Reader<'q, T>| match queue.first_word() {
            Ok(None) => false,
            Ok(Some(stamp)) => {
                if least.is_none_or(|(other, _)| stamp < other) {
                    least = Some((stamp, lane));
                }
                true
            }
            Err(error) => {
                failed = failed.or(Some(LaneUnavailable { lane, error }));
                true
            }
        };
        for block in 0..collector.blocks() {
            let mut lanes = collector.collect(block);
            while lanes != 0 {
                let lane = 8 * block + lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                let Some(queue) = queues.get_mut(lane) else { continue };
                if !look(lane, queue) {
                    collector.remove(lane);
                }
            }
        }
        for (lane, queue) in queues.iter_mut().enumerate().skip(collector.lanes()) {
            look(lane, queue);
        }
        match (least, failed) {
            (Some((_, lane)), _) => Ok(Some(lane)),
            (None, Some(failed)) => Err(failed),
            (None, None) => Ok(None),
        }
    }
}

// # Checked
//
// - `tests/messages/behaviour.rs`: up to 520 lanes beside lists, by rank and by stamp; lies, successors; also Miri
// - `tests/messages/steps.rs`: the bounds above, counted for 1 to 512 lanes
// - as a queue of one sender in the second of two lanes, the test programs that run all queues: `conformance`, `stress`
//   (also Miri, where a flag is raised by a store), `loom`, `shuttle`, `steps`, `processes`, `deaths`, `hostile`
//
// `tests/messages/loom.rs`, payload of 2 words, 2 lanes, their senders in threads of their own: 1 send each × 2 takes
// without preemption bound: 17 341 executions; 2 each × 2 takes, bound 2: 1 054; 1 each × 2 takes by stamp, bound 3: 3 003;
// what was sent comes first, by rank without bound: 2 067; by stamp, bound 4: 11 670.
// The tests fail if either annotation of O1 is weakened, if a sender announces before it pushes, if the receiver removes a
// lane that gave a value or begins with an empty set, and if it looks once by stamp.
//
// Not covered: more than two lanes exhaustively; the store to a flag by loom (`taut_atomic` says why); load buffering;
// AArch64 hardware; a clock that runs apart on the senders' processors.
