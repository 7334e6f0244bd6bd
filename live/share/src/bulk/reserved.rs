// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A pool of large blocks whose receiver is not trusted: it maps the pool read-only, and writes one word of its own.
//!
//! # Use
//! Blocks for another process. The sender always gets a block, whatever the receiver does or writes: it takes back the
//! oldest block that the receiver has not reserved. Between parties that trust each other [`crate::bulk`] needs no fence, and
//! lets a sender wait for the receiver.
//!
//! # Callers
//! `-`: both may run at the same time; `X`: they may not (the types and the safety conditions of [`sender`] and
//! [`receiver`] ensure it). Several loans may exist at once; the receiver has one block at a time.
//!
//! |                              | loan, send, drop of a loan | receive, drop of a received block |
//! |------------------------------|----------------------------|-----------------------------------|
//! | loan, send, drop of a loan   | X                          | -                                 |
//! | receive, drop of a received block | -                     | X                                 |
//!
//! # Progress
//! N blocks, at most [`BLOCKS_MAX`]. Both sides are wait-free and copy nothing.
//!
//! | operation                 | usually                                 | bound                                  |
//! |---------------------------|-----------------------------------------|----------------------------------------|
//! | `loan`                    | 2 loads + 1 store + 1 fence; no shared access if a block is in stock | 3 loads + 2 stores + 2 fences |
//! | `send`                    | 3 stores                                | the same                               |
//! | drop of a loan, `reclaim`, `loan_block` | no shared access          | the same                               |
//! | `receive`                 | 4 loads + 1 store + 1 fence; 2 loads if none waits | N + 1 times 3 loads + 2 stores + 1 fence, and 1 load |
//! | drop of a received block, `reclaim` of one | 1 store                | the same                               |
//!
//! `loan` succeeds if at least two blocks are not lent. `receive` repeats its steps only if the sender recalls blocks
//! meanwhile.
//!
//! # Orderings
//! - O1 send: Release of the order store ↔ Acquire of the receiver's order load.
//! - O2 give: Release of the receiver's reservation stores ↔ Acquire of the sender's reservation loads.
//! - O3 reserve: SeqCst fence between the sender's store of `first` and its load of the reservation ↔ SeqCst fence between
//!   the receiver's store of the reservation and its load of `first`.
//!
//! # Crash
//! A block that a dead receiver has reserved stays reserved until a new [`receiver`] attaches; the sender does without it.
//! The new receiver begins after that block. A sender that dies before the last store of `send` has not sent; a new
//! [`sender`] has all blocks of the dead one.
//!
//! A receiver that writes anything else into its word keeps the sender from at most one block at a time, receives garbage,
//! and makes the sender's counts of recalled blocks wrong. It cannot make the sender use a block that does not exist, and
//! not wait. A correct receiver that attaches after it reads no block that is written meanwhile.
//!
//! # Source
//! Our own. The reservation is a hazard pointer [`Michael 2004`] to a sending in place of an object, of which there is one.

use core::cell::Cell;
use core::fmt;
use core::mem;
use core::ops::{Deref, DerefMut};

use taut_atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use taut_atomic::{AtomicU64, Claimed, LINE_BYTES, LentPlace, LentPlaceMut, Memory, fence};

use super::NotReceived;
use super::pool::{BLOCKS_MAX, Block, Blocks, Owner, Pool, bytes as pool_bytes};
use crate::plain::fit;
use crate::{LayoutError, Plain};

// # State
//
// The pool, which the sender alone writes, is laid out as [`crate::bulk`] says, and one line more:
//
// ```text
// order    word k mod N holds sending k: k << 8 | block
// owners   block i: k << 8, k its last sending
// blocks
// stamps   block i: what the sender's user says of its last sending
// first    sendings below this number are not on the way
// ```
//
// The reservation, which the receiver alone writes, is a word in a line of its own: k << 1 | 1 while it reserves sending
// k, k << 1 when it has given it back.
//
// Sendings are counted from 1. The sender keeps the next number, `first`, the number of each block's last sending, and two
// sets of blocks: its stock, which were never sent or came back unsent, and those lent to its user.
//
// # Invariants
//
// - I1 `first` never decreases, and no sending below it is received by a receiver that reserved it afterwards.
// - I2 A block that is lent to the sender's user, or is in its stock, has a last sending below `first`.
// - I3 When the sender writes sending k into the order, sending k - N is below `first`, as one of the N numbers before k is
//   not the last sending of any block but the lent one: the order names every block that can be reserved.
// - I4 The sender uses of the reservation only whether it is equal to a value, and how a number in it compares with another.
//   What it indexes by are its own numbers.

/// The number of a sending, and its block.
type Sending = (u64, Block);

/// Bytes of the memory that the sender writes, for `blocks` blocks; `None` if it cannot have that many, or if that
/// overflows.
pub const fn bytes<T: Plain>(blocks: u32) -> Option<usize> {
    match pool_bytes::<T>(blocks) {
        Some(pool) => pool.checked_add(LINE_BYTES),
        None => None,
    }
}

/// Bytes of the memory that the receiver writes.
pub const RESERVATION_BYTES: usize = LINE_BYTES;

const fn reserved(number: u64) -> u64 {
    number << 1 | 1
}

const fn given_back(number: u64) -> u64 {
    number << 1
}

/// Both ends, for `blocks` blocks. `pool` is the sender's memory, `reservation` the receiver's.
///
/// ```
/// use taut_share::{Line, Memory, bulk::reserved};
///
/// let mut lines: Vec<Line> = (0..reserved::bytes::<[u8; 4096]>(3).unwrap() / 128).map(|_| Line::new()).collect();
/// let mut line = [const { Line::new() }; 1];
/// let (sender, receiver) = reserved::pair::<[u8; 4096]>(Memory::new(&mut lines), Memory::new(&mut line), 3)?;
/// for number in 1..=4 {
///     // Of three blocks, the third that is sent and the second wait when the fourth takes the first back.
///     let mut image = sender.loan().expect("never refused");
///     assert_eq!(image.recalled(), (number == 4).then_some(1));
///     image.fill(7);
///     image.send(0);
/// }
/// let image = receiver.receive()?.expect("one waits");
/// assert_eq!((image[4095], image.number()), (7, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`LayoutError`].
pub fn pair<'m, T: Plain>(
    pool: Memory<'m>,
    reservation: Memory<'m>,
    blocks: u32,
) -> Result<(RecallingSender<'m, T>, ReservingReceiver<'m, T>), LayoutError> {
    let words = Words::new(&pool.claim(), &reservation.claim(), blocks)?;
    Ok((RecallingSender::attach(words), ReservingReceiver::attach(words)))
}

/// The sender's end alone. If a sender dies, this call attaches its successor, which has all blocks that the dead one had.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memories hold this object for this `T` and number of blocks, or zeros. No other sender of it exists: the last one and its
/// loans have ended, and this call happens after that. Nobody else writes `pool`.
pub unsafe fn sender<'m, T: Plain>(
    pool: Memory<'m>,
    reservation: Memory<'m>,
    blocks: u32,
) -> Result<RecallingSender<'m, T>, LayoutError> {
    Ok(RecallingSender::attach(Words::new(&pool.claim(), &reservation.claim(), blocks)?))
}

/// The receiver's end alone: it loads from `pool`, which may be mapped read-only. If a receiver dies, this call attaches its
/// successor, which begins after the last block that the dead one had reserved, with the oldest that waits. After one that wrote
/// something else, it begins with the next block that is sent.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memories hold this object for this `T` and number of blocks, or zeros. No other receiver of it exists: the last one and the
/// block that it had received have ended, and this call happens after that. `pool` has a sender that keeps to this protocol, or none.
pub unsafe fn receiver<'m, T: Plain>(
    pool: Memory<'m>,
    reservation: Memory<'m>,
    blocks: u32,
) -> Result<ReservingReceiver<'m, T>, LayoutError> {
    Ok(ReservingReceiver::attach(Words::new(&pool.claim(), &reservation.claim(), blocks)?))
}

/// The words and blocks, as both ends see them.
struct Words<'m, T> {
    pool: Pool<'m, T>,
    first: &'m AtomicU64,
    reservation: &'m AtomicU64,
}

impl<T> Clone for Words<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Words<'_, T> {}

impl<'m, T: Plain> Words<'m, T> {
    fn new(pool: &Claimed<'m>, reservation: &Claimed<'m>, blocks: u32) -> Result<Self, LayoutError> {
        let needed = bytes::<T>(blocks).ok_or(LayoutError::Capacity)?;
        fit(pool, needed)?;
        fit(reservation, RESERVATION_BYTES)?;
        Ok(Self {
            pool: Pool::new(pool, blocks)?,
            first: pool.word(needed - LINE_BYTES),
            reservation: reservation.word(0),
        })
    }

    /// The number of the newest sending.
    fn newest(&self) -> u64 {
        let numbers =
            (0..self.pool.count()).map(|place| self.pool.sending(self.pool.order(place).load(Relaxed)).0);
        numbers.max().unwrap_or(0)
    }
}

/// The end that fills blocks and sends them. It takes back what it needs.
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, bulk::reserved};
/// let (mut lines, mut line) = ([const { Line::new() }; 6], [const { Line::new() }; 1]);
/// let ends = reserved::pair::<[u64; 4]>(Memory::new(&mut lines), Memory::new(&mut line), 2).unwrap();
/// let second = ends.0.clone();
/// ```
pub struct RecallingSender<'m, T> {
    words: Words<'m, T>,
    /// The number of the next sending.
    next: Cell<u64>,
    /// Our own copy of `first`.
    first: Cell<u64>,
    /// By block, the number of its last sending.
    numbers: [Cell<u64>; BLOCKS_MAX as usize],
    /// Blocks that nobody has been sent since this end had them.
    stock: Cell<Blocks>,
    /// Blocks that are lent to the sender's user.
    loans: Cell<Blocks>,
}

impl<'m, T: Plain> RecallingSender<'m, T> {
    fn attach(words: Words<'m, T>) -> Self {
        let newest = words.newest();
        let numbers = [const { Cell::new(0) }; BLOCKS_MAX as usize];
        let mut stock = Blocks::NONE;
        for block in words.pool.all() {
            match Owner::of(words.pool.owner(block).load(Relaxed)).0 {
                number if (1..=newest).contains(&number) => numbers[block.index() as usize].set(number),
                // Never sent, or the previous sender died in `send`: no receiver can have seen it.
                _ => stock = stock.with(block),
            }
        }
        let first = Cell::new(words.first.load(Relaxed));
        Self {
            words,
            next: Cell::new(newest + 1),
            first,
            numbers,
            stock: Cell::new(stock),
            loans: Cell::new(Blocks::NONE),
        }
    }

    /// A block for the caller to fill and send; it holds an older value, or zeros. If none is in stock, takes the one of the oldest
    /// sending that the receiver does not have. `None` only if all blocks are lent, or all but one that the receiver has
    /// reserved. Wait-free: at most 3 loads, 2 stores and 2 fences.
    #[inline]
    pub fn loan(&self) -> Option<RecallingLoan<'_, 'm, T>> {
        match self.stock.get().next() {
            Some(block) => Some(self.lend(block, None)),
            None => self.take(),
        }
    }

    /// As [`RecallingSender::loan`], but this one of the blocks, counted from 0, if it is in stock: it was never sent, or its loan was
    /// dropped. No shared access.
    #[inline]
    pub fn loan_block(&self, block: u32) -> Option<RecallingLoan<'_, 'm, T>> {
        let block = self.words.pool.all().nth(block as usize)?;
        self.stock.get().has(block).then(|| self.lend(block, None))
    }

    /// Takes back the loans that were leaked (`mem::forget`), and returns their number. No shared access.
    #[inline]
    pub fn reclaim(&mut self) -> u32 {
        // Proof: A loan borrows this end, and so does every reference into its block. The exclusive borrow excludes them.
        let leaked = self.loans.replace(Blocks::NONE);
        self.stock.set(leaked.fold(self.stock.get(), Blocks::with));
        leaked.count()
    }

    fn take(&self) -> Option<RecallingLoan<'_, 'm, T>> {
        // Proof: The sender takes sending n after it has stored `first` > n and then loaded a reservation that is not that of n.
        // A receiver that reserves n reads it only if it has then loaded `first` ≤ n. If the receiver's fence is before the
        // sender's (O3), the sender's load gives that reservation, or a later store of the receiver: the receiver is through
        // with n, and by O2 its reads are over. If the sender's fence is first, the receiver's load gives `first` > n.
        // So no receiver reads n when the sender takes it, or ever after, whatever a receiver before it wrote (I1).
        //
        // One of two attempts succeeds: the receiver reserves one sending at a time. If it reserves the first candidate, then the
        // second, it is through with the first, of which `first` keeps it away since.
        let held = self.words.reservation.load(Acquire); // O2 give
        let (oldest, second) = self.two_oldest();
        let (at_first, then) = match oldest {
            Some((number, _)) if held == reserved(number) => (second, oldest),
            _ => (oldest, second),
        };
        let at_first = at_first?;
        let word = self.pass(at_first.0);
        if word != reserved(at_first.0) {
            return Some(self.lend_taken(at_first, word));
        }
        let then = then?;
        let word = self.pass(then.0);
        let taken = if word == reserved(then.0) { at_first } else { then };
        Some(self.lend_taken(taken, word))
    }

    /// Lets no receiver reserve this sending or an older one any more, and returns the reservation since.
    #[inline(always)]
    fn pass(&self, number: u64) -> u64 {
        self.first.set(self.first.get().max(number + 1));
        self.words.first.store(self.first.get(), Relaxed);
        fence(SeqCst); // O3 reserve
        self.words.reservation.load(Acquire) // O2 give
    }

    /// The two oldest sendings whose blocks are not lent.
    #[inline]
    fn two_oldest(&self) -> (Option<Sending>, Option<Sending>) {
        let (mut oldest, mut second): (Option<Sending>, Option<Sending>) = (None, None);
        for block in self.words.pool.all().outside(self.stock.get(), self.loans.get()) {
            let number = self.numbers[block.index() as usize].get();
            if oldest.is_none_or(|(least, _)| number < least) {
                (oldest, second) = (Some((number, block)), oldest);
            } else if second.is_none_or(|(least, _)| number < least) {
                second = Some((number, block));
            }
        }
        (oldest, second)
    }

    /// Lends a block that no receiver has; `word` is a reservation since.
    #[inline(always)]
    fn lend_taken(&self, (number, block): Sending, word: u64) -> RecallingLoan<'_, 'm, T> {
        self.lend(block, (number > word >> 1).then_some(number))
    }

    #[inline(always)]
    fn lend(&self, block: Block, recalled: Option<u64>) -> RecallingLoan<'_, 'm, T> {
        self.stock.set(self.stock.get().without(block));
        self.loans.set(self.loans.get().with(block));
        // SAFETY: exclusive until `Filling` is dropped or sent, which happens after the loan of the place ends:
        // - no receiver reads the block, nor will before it is sent again (`take`, I2)
        // - it was not among our loans: neither the stock nor `two_oldest` has those
        let place = unsafe { self.words.pool.lend_mut(block) };
        RecallingLoan { place, recalled, filling: Filling { sender: self, block } }
    }

    /// Number of blocks of the pool.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.words.pool.count() as u32
    }
}

/// A block lent to the sender's user, who writes it and then sends it. If dropped, it goes back to the stock.
#[must_use = "dropped, it goes back to the stock"]
pub struct RecallingLoan<'s, 'm, T: Plain> {
    // In this order: the place's loan ends first.
    place: LentPlaceMut<'m, T>,
    recalled: Option<u64>,
    filling: Filling<'s, 'm, T>,
}

impl<T: Plain> RecallingLoan<'_, '_, T> {
    /// Sends it with a word beside it, such as the instant of the sending, and returns the number of this sending: from 1, each one
    /// more than the last. Wait-free: 3 stores.
    #[inline]
    pub fn send(self, stamp: u64) -> u64 {
        let Self { place, filling, .. } = self;
        place.end();
        let (sender, block) = (filling.sender, filling.block);
        mem::forget(filling);
        let (pool, number) = (&sender.words.pool, sender.next.get());
        sender.next.set(number + 1);
        sender.loans.set(sender.loans.get().without(block));
        sender.numbers[block.index() as usize].set(number);
        pool.owner(block).store(Owner::Sender.word(number), Relaxed);
        pool.stamp(block).store(stamp, Relaxed);
        pool.order(number).store(block.word(number), Release); // O1 send
        number
    }

    /// The number that the next [`RecallingLoan::send`] of this end returns.
    #[inline]
    pub fn number(&self) -> u64 {
        self.filling.sender.next.get()
    }

    /// Which of the blocks it is, counted from 0.
    #[inline]
    pub fn block(&self) -> u32 {
        self.filling.block.index()
    }

    /// The number of the sending from which this block was taken back, if nobody had received that one and nobody will. If the
    /// receiver was reserving a sending just when the sender took another one, that sending may be lost without being named here; the
    /// receiver counts it.
    #[inline]
    pub fn recalled(&self) -> Option<u64> {
        self.recalled
    }
}

impl<T: Plain> Deref for RecallingLoan<'_, '_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.place
    }
}

impl<T: Plain> DerefMut for RecallingLoan<'_, '_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.place
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for RecallingLoan<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The sender's record of a loan: one of its `loans`.
struct Filling<'s, 'm, T: Plain> {
    sender: &'s RecallingSender<'m, T>,
    block: Block,
}

impl<T: Plain> Drop for Filling<'_, '_, T> {
    fn drop(&mut self) {
        self.sender.loans.set(self.sender.loans.get().without(self.block));
        self.sender.stock.set(self.sender.stock.get().with(self.block));
    }
}

/// The end that receives blocks, one at a time. It stores in the reservation alone.
pub struct ReservingReceiver<'m, T> {
    words: Words<'m, T>,
    /// The number of the sending to look for next.
    expected: Cell<u64>,
    /// Whether the receiver's user has a block.
    has: Cell<bool>,
}

impl<'m, T: Plain> ReservingReceiver<'m, T> {
    fn attach(words: Words<'m, T>) -> Self {
        let newest = words.newest();
        // A larger number is not from a receiver of this protocol.
        let taken = (words.reservation.load(Relaxed) >> 1).min(newest);
        // The previous receiver's block, if it had one.
        words.reservation.store(given_back(taken), Release); // O2 give
        Self { words, expected: Cell::new(taken + 1), has: Cell::new(false) }
    }

    /// The number of the sending that this end looks for next: no older one is received. One more than that of the last received
    /// block; of a successor, at first that of what its predecessor received last.
    #[inline]
    pub fn expected(&self) -> u64 {
        self.expected.get()
    }

    /// Gives the received block back that was leaked (`mem::forget`). Wait-free: 1 store, if there is one.
    #[inline]
    pub fn reclaim(&mut self) {
        // Proof: A received block borrows this end, and so does every reference into it. The exclusive borrow excludes them.
        if self.has.replace(false) {
            self.words.reservation.store(given_back(self.expected.get() - 1), Release); // O2 give
        }
    }

    /// The oldest block that waits; `None` if none does, or while the last one is not dropped. It is not recalled until the result
    /// is dropped. Wait-free: 4 loads, a store and a fence; more if blocks are recalled meanwhile (see the module's bounds).
    ///
    /// # Errors
    ///
    /// [`NotReceived`].
    #[inline]
    pub fn receive(&self) -> Result<Option<ReservedBlock<'_, 'm, T>>, NotReceived> {
        // Proof: `take` of the sender has it: one sending is reserved at a time, since a second block is not lent while the user has
        // one. Each attempt after the first saw a recall during this call, as `first` is exact when nobody recalls.
        if self.has.get() {
            return Ok(None);
        }
        let pool = self.words.pool;
        for _ in 0..=pool.count() {
            let expected = self.expected.get().max(self.words.first.load(Relaxed));
            self.expected.set(expected);
            let word = pool.order(expected).load(Acquire); // O1 send
            let (number, block) = pool.sending(word);
            if number < expected {
                return Ok(None);
            }
            let in_place = (number - expected).is_multiple_of(pool.count());
            let block = block.filter(|_| in_place).ok_or(NotReceived::Corrupt)?;
            if number > expected {
                // Those up to `number - count` are not on the way (I3).
                self.expected.set(number - pool.count() + 1);
                continue;
            }
            self.expected.set(number + 1);
            self.words.reservation.store(reserved(number), Release); // O2 give: the block before this one
            fence(SeqCst); // O3 reserve
            if self.words.first.load(Relaxed) > number {
                self.words.reservation.store(given_back(number), Release); // O2 give
                continue;
            }
            // SAFETY: not written until `Reservation` is dropped, which happens after the loan of the place ends:
            // - the sender takes the block of a reserved sending only if it has stored a larger `first` before (`take`)
            // - its content is there, by O1
            let place = unsafe { pool.lend(block) };
            let stamp = pool.stamp(block).load(Relaxed);
            self.has.set(true);
            let held = Reservation { word: self.words.reservation, has: &self.has, number };
            return Ok(Some(ReservedBlock { place, stamp, held }));
        }
        Err(NotReceived::Overtaken)
    }
}

/// A block lent to the receiver's user, who reads it. If dropped, the sender may use it again.
#[must_use = "dropped, it goes back to the sender"]
pub struct ReservedBlock<'r, 'm, T: Plain> {
    // In this order: the place's loan ends first.
    place: LentPlace<'m, T>,
    stamp: u64,
    held: Reservation<'r>,
}

impl<T: Plain> ReservedBlock<'_, '_, T> {
    /// The number of its sending, as [`RecallingLoan::send`] returned it. A missing number was recalled.
    #[inline]
    pub fn number(&self) -> u64 {
        self.held.number
    }

    /// The word that came with it.
    #[inline]
    pub fn stamp(&self) -> u64 {
        self.stamp
    }
}

impl<T: Plain> Deref for ReservedBlock<'_, '_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.place
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for ReservedBlock<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Reserves a sending until it is dropped. It borrows the receiver.
struct Reservation<'r> {
    word: &'r AtomicU64,
    has: &'r Cell<bool>,
    number: u64,
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.has.set(false);
        self.word.store(given_back(self.number), Release); // O2 give
    }
}

// # Checked
//
// - `tests/bulk/reserved.rs`: order, recalls, successors, leaks, and a receiver that writes anything; also Miri
// - `tests/bulk/reserved_steps.rs`: the steps above, counted; the bound of `loan`, by a receiver that comes in between. The
//   bound of `receive` is read off the loop
// - `tests/bulk/reserved_stress.rs`: threads, with blocks of 4 KiB that show tearing; also Miri
// - `live/run/tests/client_blocks.rs`: clients that are killed, stopped, and lie
//
// `tests/bulk/reserved_loom.rs`, payload of 2 words, with preemption bound 3: 2 blocks, 3 sendings × 2 receives: 1 418
// executions; 4 × 2: 9 401; 3 blocks, 5 × 2: 7 145; one kept, 4 × 1: 1 244. With bound 2, beside a sender, a receiver that follows
// one that died with a block: 3 549; one that lied: 11 436, and 6 555.
//
// Not covered: more blocks exhaustively; a sender that follows another beside a receiver; load buffering; AArch64 hardware;
// numbers past 2⁵⁶.
