// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A pool of large blocks that change their owner: they are filled, sent, received and given back in place; one
//! sender, one receiver.
//!
//! # Use
//! Images, point clouds, packets: values that are too large to copy twice. The sender's user fills a block in place,
//! the receiver's user reads it in place, and the object itself moves only a word. Either side may be real-time. For
//! small values use [`crate::queue`] and [`crate::state`], which copy them.
//!
//! A block may hold a [`List`](crate::List), whose length its user sets.
//!
//! # Callers
//! `-`: both may run at the same time; `X`: they may not (the types and the safety conditions of [`sender`] and
//! [`receiver`] ensure it). Several loans, and several received blocks, may exist at once.
//!
//! |                       | loan, recall, send, drop | receive, drop |
//! |-----------------------|--------------------------|---------------|
//! | loan, recall, send, drop of a loan | X           | -             |
//! | receive, drop of a received block  | -           | X             |
//!
//! # Progress
//! N blocks, at most [`BLOCKS_MAX`]. Both sides are wait-free and copy nothing.
//!
//! | operation          | usually                | bound                                                     |
//! |--------------------|------------------------|-----------------------------------------------------------|
//! | `loan`, `loan_block` | no shared access     | N loads if its stock is empty, or lacks that block; the same if refused |
//! | `loan_or_recall`   | as `loan`              | 2 N loads + N exchanges; 1 exchange if the receiver is idle |
//! | `send`, `send_stamped` | 2 stores, 3 stores   | the same                                                  |
//! | drop of a loan, `reclaim` | no shared access | the same                                                  |
//! | `receive`          | 1 load + 1 exchange; 1 load if none waits | 2 N + 1 of these; as a successor, N loads more |
//! | `receive_newest`   | 1 load + 1 exchange + 1 store for each that waits | 2 N + 1 of these; as a successor, N² loads and N stores more |
//! | drop of a received block, `stamp` | 1 store, 1 load | the same; `reclaim`: 1 load and 1 store for each leaked block |
//! | `is_empty`, `oldest` of a watcher | N loads and 1 for each block on the way; `oldest` 1 more | 2 N + 1 loads |
//!
//! `receive` takes more than its first step only if blocks were recalled since the last call, or as a successor.
//!
//! # Orderings
//! - O1 send: Release of the order store ↔ Acquire of the receiver's order load.
//! - O2 give: Release of the receiver's owner store ↔ Acquire of the sender's owner load, and of its failed exchange.
//! - O3 take: Release of the receiver's exchange ↔ Acquire of the sender's failed exchange.
//!
//! # Crash
//! Only the word of a block says where the block is; so no block is lost or in two places, whichever side dies at
//! whatever step.
//!
//! | crash of                             | the block is             | recovery                                       |
//! |--------------------------------------|--------------------------|------------------------------------------------|
//! | sender, with loans                   | `Sender`                 | it is in the stock of a new [`sender`]         |
//! | sender, between the stores of `send` | `Sent`, not in the order | not sent: a new [`sender`] takes it back       |
//! | sender, after them                   | `Sent`                   | the receiver receives it                       |
//! | sender, before or after a recall     | `Sent` or `Sender`       | received, or in the stock                      |
//! | receiver, before its exchange        | `Sent`                   | a new [`receiver`] gets it, or it is recalled  |
//! | receiver, after it                   | `Receiver`               | a new [`receiver`] has it again: at least once |
//! | receiver, after its store            | `Sender`                 | it is in the sender's stock                    |
//!
//! A block that is received again has its old number, and comes before all others. To free the blocks of a dead
//! receiver, attach a new one and drop what it receives. What is leaked (`mem::forget`) the `reclaim` of its end takes back.
//!
//! # Source
//! Our own. Loans move as in iceoryx2, but between one pair of ends and with bounds; take and recall race by one
//! exchange, as the consumer and the overwriting producer do on the shared head of a drop-oldest queue.

use core::cell::Cell;
use core::fmt;
use core::mem;
use core::ops::{Deref, DerefMut, Range};

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{LentPlace, LentPlaceMut, Memory};

mod pool;
pub mod reserved;
mod watcher;

pub use pool::{BLOCKS_MAX, bytes};
use pool::{Block, Blocks, Owner, Pool};
pub use watcher::{Watcher, watcher};

use crate::{LayoutError, Plain};

// # State
//
// ```text
// byte 0   order: N words; word k mod N holds sending k: k << 8 | block (stored by the sender)
// then     owners: N words; block i: k << 8 | owner, k its last sending
// then     N blocks
// then     stamps: N words; block i: what the sender's user says of its last stamped sending. Each of the four begins a
//          line, and so does each block.
//
//                 sender: store              receiver: exchange
// owner:  Sender ───────────────▶ Sent(k) ─────────────────────▶ Receiver(k)
//           ▲ ▲   sender: exchange  │                                │
//           │ └─────────────────────┘       receiver: store          │
//           └────────────────────────────────────────────────────────┘
// ```
//
// Sendings are counted from 1. The sender keeps the next number, a lower bound of those on the way, its own copy of
// the order, and two sets of blocks: its stock, and those lent to its user. The receiver keeps the next number that it
// expects, the set that its user holds, and the set that the previous receiver held.
//
// # Invariants
//
// - I1 A block has one owner, which one word names. Each change of that word is one store or exchange, by the side
//   that has the right to make it (see the figure). Only the sender's user accesses a block of `Sender`, only the
//   receiver's user a block of `Receiver`, and nobody a block of `Sent`.
// - I2 The sendings on the way are a range of numbers a ..= k, with k the last sending: both sides take the smallest
//   number first.
// - I3 When the sender writes sending k into the order, sending k - N is not on the way: otherwise, by I2, all N blocks
//   would be on the way, but the block that it sends is not. So the order names every block that is on the way.
// - I4 Numbers below the receiver's expected one are not on the way, and never will be again.
// - I5 Each side refuses to take a block that it holds, whatever shared memory says.
// - I6 Only the sender stores the stamp of a block, while the block is the sender's; what it stores is published with
//   the block (O1).

// Why one word per block: we considered two index queues, for sent and for free blocks, and a list per side of the
// blocks that it holds. Then a block that changes its owner is for some steps in two of these lists or in none, a
// successor must find out which, and a recall takes from a queue while the other side takes from it. One word per block
// has no such state. Its price: once per emptied stock, the sender looks at N words for blocks that were given back;
// for up to 32 blocks these are one or two lines.

/// Both ends on one memory, for `blocks` blocks.
///
/// The number of blocks: those that the receiver's user holds at once, plus those that the sender's user fills at
/// once, plus those that may wait between them. With 3, a receiver that holds one and a sender that fills one never
/// hinder each other; [`BlockReceiver::receive_newest`] holds one more for a moment. If the receiver is late, the
/// sender chooses at each loan what happens: [`BlockSender::loan`] is refused while all blocks are out;
/// [`BlockSender::loan_or_recall`] takes back the oldest block that was sent and not received. A receiver that needs
/// only the newest block uses [`BlockReceiver::receive_newest`].
///
/// ```
/// use taut_share::{Line, Memory, bulk};
///
/// let mut lines: Vec<Line> = (0..bulk::bytes::<[u8; 4096]>(3).unwrap() / 128).map(|_| Line::new()).collect();
/// let (sender, receiver) = bulk::pair::<[u8; 4096]>(Memory::new(&mut lines), 3)?;
/// let mut image = sender.loan().expect("all blocks are here");
/// image.fill(7);
/// image.send();
/// let image = receiver.receive()?.expect("one was sent");
/// assert_eq!((image[4095], image.number()), (7, 1));
/// drop(image); // gives it back
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`LayoutError`].
pub fn pair<T: Plain>(
    memory: Memory<'_>,
    blocks: u32,
) -> Result<(BlockSender<'_, T>, BlockReceiver<'_, T>), LayoutError> {
    let memory = memory.claim();
    let pool = Pool::new(&memory, blocks)?;
    Ok((BlockSender::attach(pool), BlockReceiver::attach(pool)))
}

/// The sender's end alone; the receiver's end is in another process or made by [`receiver`]. If a sender dies, at any
/// step, this call attaches its successor, which gets all blocks that the dead one had not sent.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T` and number of blocks, or zeros. No other sender of it exists: the last
/// one and its loans have ended, and this call happens after that.
pub unsafe fn sender<T: Plain>(memory: Memory<'_>, blocks: u32) -> Result<BlockSender<'_, T>, LayoutError> {
    let memory = memory.claim();
    Ok(BlockSender::attach(Pool::new(&memory, blocks)?))
}

/// The receiver's end alone; the sender's end is in another process or made by [`sender`]. If a receiver dies, at any
/// step, this call attaches its successor, which first receives again the blocks that the dead one had not given
/// back.
///
/// # Errors
///
/// [`LayoutError`].
///
/// # Safety
///
/// The memory holds this object for this `T` and number of blocks, or zeros. No other receiver of it exists: the last
/// one and the blocks that it had received have ended, and this call happens after that.
pub unsafe fn receiver<T: Plain>(
    memory: Memory<'_>,
    blocks: u32,
) -> Result<BlockReceiver<'_, T>, LayoutError> {
    let memory = memory.claim();
    Ok(BlockReceiver::attach(Pool::new(&memory, blocks)?))
}

/// Why nothing was received although something may wait. Nothing was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReceived {
    /// The sender recalled blocks as fast as this call looked for them; the next call continues after them. Never
    /// happens with a sender that does not recall.
    Overtaken,
    /// A word has a value that this protocol cannot produce: the sender is broken or hostile. The error lasts until
    /// the word is plausible again or the object is created anew.
    Corrupt,
}

impl fmt::Display for NotReceived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overtaken => "the sender recalled every block that the receiver looked at",
            Self::Corrupt => "a word of the pool has a value that this protocol never writes",
        })
    }
}

impl core::error::Error for NotReceived {}

/// The end that fills blocks and sends them.
///
/// The types forbid copying an end, or sharing one between threads:
///
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, bulk};
/// let mut lines = [const { Line::new() }; 5];
/// let (sender, receiver) = bulk::pair::<[u64; 4]>(Memory::new(&mut lines), 2).unwrap();
/// let second = sender.clone();
/// ```
/// ```compile_fail,E0599
/// # use taut_share::{Line, Memory, bulk};
/// let mut lines = [const { Line::new() }; 5];
/// let (sender, receiver) = bulk::pair::<[u64; 4]>(Memory::new(&mut lines), 2).unwrap();
/// let second = receiver.clone();
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, bulk};
/// fn shared<T: Sync>(_: &T) {}
/// let mut lines = [const { Line::new() }; 5];
/// let (sender, receiver) = bulk::pair::<[u64; 4]>(Memory::new(&mut lines), 2).unwrap();
/// shared(&sender);
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, bulk};
/// fn shared<T: Sync>(_: &T) {}
/// let mut lines = [const { Line::new() }; 5];
/// let (sender, receiver) = bulk::pair::<[u64; 4]>(Memory::new(&mut lines), 2).unwrap();
/// shared(&receiver);
/// ```
/// ```
/// # use taut_share::{Line, Memory, bulk};
/// fn moved<T: Send>(_: T) {}
/// let mut lines = [const { Line::new() }; 5];
/// let (sender, receiver) = bulk::pair::<[u64; 4]>(Memory::new(&mut lines), 2).unwrap();
/// moved(sender);
/// moved(receiver);
/// ```
pub struct BlockSender<'m, T> {
    pool: Pool<'m, T>,
    /// The number of the next sending.
    next: Cell<u64>,
    /// No sending with a smaller number than this is on the way.
    oldest: Cell<u64>,
    /// At k mod count, the block that was sent as number k: our own copy of the shared order.
    order: [Cell<Block>; BLOCKS_MAX as usize],
    /// Blocks that this end has and has not lent.
    stock: Cell<Blocks>,
    /// Blocks that are lent to the sender's user.
    loans: Cell<Blocks>,
}

impl<'m, T: Plain> BlockSender<'m, T> {
    fn attach(pool: Pool<'m, T>) -> Self {
        let numbers = (0..pool.count()).map(|place| pool.sending(pool.order(place).load(Relaxed)).0);
        let newest = numbers.max().unwrap_or(0);
        let order = [const { Cell::new(Block::FIRST) }; BLOCKS_MAX as usize];
        let mut stock = Blocks::NONE;
        for block in pool.all() {
            let word = pool.owner(block).load(Acquire); // O2 give
            match Owner::of(word) {
                (_, Some(Owner::Sender)) => stock = stock.with(block),
                (number, Some(Owner::Sent)) => {
                    if pool.order(number).load(Relaxed) == block.word(number) {
                        order[pool.place(number)].set(block);
                    } else {
                        // The previous sender died in `send`: no receiver can have seen the block.
                        pool.owner(block).store(Owner::Sender.word(number), Relaxed);
                        stock = stock.with(block);
                    }
                }
                _ => {}
            }
        }
        Self {
            pool,
            next: Cell::new(newest + 1),
            oldest: Cell::new(0),
            order,
            stock: Cell::new(stock),
            loans: Cell::new(Blocks::NONE),
        }
    }

    /// A block for the caller to fill and send; it holds an older value, or zeros. `None` if all blocks are out:
    /// lent, on the way, or with the receiver. Wait-free: no shared access while blocks are in stock, else one load
    /// for each block that is out.
    #[inline]
    pub fn loan(&self) -> Option<Loan<'_, 'm, T>> {
        if self.stock.get() == Blocks::NONE {
            self.look();
        }
        self.stock.get().next().map(|block| self.lend(block, None))
    }

    /// As [`BlockSender::loan`], but if all blocks are out, takes back the oldest block that was sent and not received:
    /// the receiver will miss its number, which [`Loan::recalled`] tells. `None` if there is no such block either.
    /// Wait-free: at most two loads and an exchange for each block that is out.
    #[inline]
    pub fn loan_or_recall(&self) -> Option<Loan<'_, 'm, T>> {
        self.loan().or_else(|| self.recall()).or_else(|| self.loan())
    }

    /// As [`BlockSender::loan`], but this one of the blocks, counted from 0 ([`Loan::block`]): so who lends the same blocks in the
    /// same order finds in each what was left there. `None` if that block is out, or there is no such block. Wait-free, as
    /// `loan`.
    #[inline]
    pub fn loan_block(&self, block: u32) -> Option<Loan<'_, 'm, T>> {
        let block = self.pool.all().nth(block as usize)?;
        if !self.stock.get().has(block) {
            self.look();
        }
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

    /// Puts the blocks that were given back into the stock.
    fn look(&self) {
        for block in self.pool.all().outside(self.stock.get(), self.loans.get()) {
            let word = self.pool.owner(block).load(Acquire); // O2 give
            if let (_, Some(Owner::Sender)) = Owner::of(word) {
                self.stock.set(self.stock.get().with(block));
            }
        }
    }

    #[cold]
    fn recall(&self) -> Option<Loan<'_, 'm, T>> {
        // Proof: `loan_or_recall` is refused only if at some time during the call the receiver had all blocks that are
        // not lent: once its exchanges have failed, nothing is on the way; by O3 its second look sees all blocks that
        // were given back before the receiver took the last of them.
        let next = self.next.get();
        // Older ones are not on the way (I3).
        for number in self.oldest.get().max(next.saturating_sub(self.pool.count()))..next {
            self.oldest.set(number + 1);
            let block = self.order[self.pool.place(number)].get();
            // The block was sent, taken, and lent again since: sending `number` is not on the way (I5).
            if self.loans.get().has(block) {
                continue;
            }
            let (sent, ours) = (Owner::Sent.word(number), Owner::Sender.word(number));
            // O2 give, O3 take
            match self.pool.owner(block).compare_exchange(sent, ours, Relaxed, Acquire) {
                Ok(_) => return Some(self.lend(block, Some(number))),
                Err(word) if Owner::of(word).1 == Some(Owner::Sender) => return Some(self.lend(block, None)),
                Err(_) => {}
            }
        }
        None
    }

    /// Lends `block`, which is the sender's and not lent; `recalled` is the sending from which it was taken back.
    #[inline(always)]
    fn lend(&self, block: Block, recalled: Option<u64>) -> Loan<'_, 'm, T> {
        // Against a hostile process: each side checks block numbers, its steps are bounded, and it knows by itself
        // what it holds (I5): it never lends a block twice, nor anything outside of the memory. An impossible word is
        // reported as [`NotReceived::Corrupt`], or its block counts as not given back. But the content is lent in
        // place: see [`Memory::from_raw`].
        self.stock.set(self.stock.get().without(block));
        self.loans.set(self.loans.get().with(block));
        // SAFETY: exclusive until `Held` is dropped or sent, which happens after the loan of the place ends:
        // - the block's word says `Sender` (callers), and only we change that (I1); the receiver's reads are over (O2);
        // - it was not among our loans (I5): the stock has none of them, and `recall` checks.
        let place = unsafe { self.pool.lend_mut(block) };
        Loan { place, recalled, held: Held { sender: self, block } }
    }

    /// Number of blocks of the pool.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.pool.count() as u32
    }
}

/// A block lent to the sender's user, who writes it and then sends it. If dropped, it goes back to the stock.
///
/// The types forbid writing a block after it was sent, or a block that was received:
///
/// ```compile_fail,E0382
/// # use taut_share::{Line, Memory, bulk};
/// let mut lines = [const { Line::new() }; 5];
/// let (sender, receiver) = bulk::pair::<[u64; 4]>(Memory::new(&mut lines), 2).unwrap();
/// let mut loan = sender.loan().unwrap();
/// loan.send();
/// loan[0] = 1;
/// ```
/// ```compile_fail,E0594
/// # use taut_share::{Line, Memory, bulk};
/// let mut lines = [const { Line::new() }; 5];
/// let (sender, receiver) = bulk::pair::<[u64; 4]>(Memory::new(&mut lines), 2).unwrap();
/// let mut received = receiver.receive().unwrap().unwrap();
/// received[0] = 1;
/// ```
///
/// They also forbid keeping a block longer than the end that it came from, and moving it to another thread:
///
/// ```compile_fail,E0505
/// # use taut_share::{Line, Memory, bulk};
/// let mut lines = [const { Line::new() }; 5];
/// let (sender, receiver) = bulk::pair::<[u64; 4]>(Memory::new(&mut lines), 2).unwrap();
/// let received = receiver.receive().unwrap();
/// drop(receiver);
/// drop(received);
/// ```
/// ```compile_fail,E0505
/// # use taut_share::{Line, Memory, bulk};
/// let mut lines = [const { Line::new() }; 5];
/// let (sender, receiver) = bulk::pair::<[u64; 4]>(Memory::new(&mut lines), 2).unwrap();
/// let loan = sender.loan();
/// drop(sender);
/// drop(loan);
/// ```
/// ```compile_fail,E0277
/// # use taut_share::{Line, Memory, bulk};
/// fn moved<T: Send>(_: T) {}
/// let mut lines = [const { Line::new() }; 5];
/// let (sender, receiver) = bulk::pair::<[u64; 4]>(Memory::new(&mut lines), 2).unwrap();
/// moved(sender.loan());
/// ```
#[must_use = "dropped, it goes back to the stock"]
pub struct Loan<'s, 'm, T: Plain> {
    // In this order: the place's loan ends first.
    place: LentPlaceMut<'m, T>,
    recalled: Option<u64>,
    held: Held<'s, 'm, T>,
}

impl<T: Plain> Loan<'_, '_, T> {
    /// Sends it, and returns the number of this sending: from 1, each one more than the last. Wait-free: 2 stores.
    #[inline]
    pub fn send(self) -> u64 {
        let Self { place, held, .. } = self;
        place.end();
        held.send()
    }

    /// As [`Loan::send`], with a word beside the block, such as the instant of the sending:
    /// [`ReceivedBlock::stamp`]. Wait-free: 3 stores.
    #[inline]
    pub fn send_stamped(self, stamp: u64) -> u64 {
        let Self { place, held, .. } = self;
        place.end();
        held.sender.pool.stamp(held.block).store(stamp, Relaxed);
        held.send()
    }

    /// The number that the next [`Loan::send`] of this end returns.
    #[inline]
    pub fn number(&self) -> u64 {
        self.held.sender.next.get()
    }

    /// Which of the blocks it is, counted from 0.
    #[inline]
    pub fn block(&self) -> u32 {
        self.held.block.index()
    }

    /// The number of the sending from which this block was taken back: nobody receives it. `None` if the block had
    /// been given back.
    #[inline]
    pub fn recalled(&self) -> Option<u64> {
        self.recalled
    }
}

impl<T: Plain> Deref for Loan<'_, '_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.place
    }
}

impl<T: Plain> DerefMut for Loan<'_, '_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.place
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for Loan<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The sender's record of a loan: one of its `loans`.
struct Held<'s, 'm, T: Plain> {
    sender: &'s BlockSender<'m, T>,
    block: Block,
}

impl<T: Plain> Held<'_, '_, T> {
    #[inline]
    fn send(self) -> u64 {
        let Self { sender, block } = self;
        mem::forget(self);
        let (pool, number) = (&sender.pool, sender.next.get());
        sender.next.set(number + 1);
        sender.loans.set(sender.loans.get().without(block));
        sender.order[pool.place(number)].set(block);
        pool.owner(block).store(Owner::Sent.word(number), Relaxed);
        pool.order(number).store(block.word(number), Release); // O1 send
        number
    }
}

impl<T: Plain> Drop for Held<'_, '_, T> {
    fn drop(&mut self) {
        self.sender.loans.set(self.sender.loans.get().without(self.block));
        self.sender.stock.set(self.sender.stock.get().with(self.block));
    }
}

/// The end that receives blocks and gives them back.
pub struct BlockReceiver<'m, T> {
    pool: Pool<'m, T>,
    /// The number of the sending to look for next (I4).
    expected: Cell<u64>,
    /// Blocks that the receiver's user has.
    held: Cell<Blocks>,
    /// Blocks that the previous receiver had.
    inherited: Cell<Blocks>,
}

impl<'m, T: Plain> BlockReceiver<'m, T> {
    fn attach(pool: Pool<'m, T>) -> Self {
        let dead = |block: &Block| Owner::of(pool.owner(*block).load(Relaxed)).1 == Some(Owner::Receiver);
        let inherited = pool.all().filter(dead).fold(Blocks::NONE, Blocks::with);
        Self { pool, expected: Cell::new(1), held: Cell::new(Blocks::NONE), inherited: Cell::new(inherited) }
    }

    /// The oldest block that waits; `None` if none does. Wait-free: 1 load and 1 exchange; more if blocks were
    /// recalled, or as a successor (see the module's bounds).
    ///
    /// # Errors
    ///
    /// [`NotReceived`].
    #[inline]
    pub fn receive(&self) -> Result<Option<ReceivedBlock<'_, 'm, T>>, NotReceived> {
        self.take(&mut self.steps())
    }

    /// The newest block that waits; gives all older ones back. `None` if none waits. The block is no older than the
    /// newest one that waited at the call, unless the sender recalled that one meanwhile. Wait-free: 1 load, 1
    /// exchange and 1 store for each block that waits; more if blocks were recalled, or as a successor (see the
    /// module's bounds).
    ///
    /// # Errors
    ///
    /// [`NotReceived`].
    #[inline]
    pub fn receive_newest(&self) -> Result<Option<ReceivedBlock<'_, 'm, T>>, NotReceived> {
        let mut steps = self.steps();
        let Some(mut newest) = self.take(&mut steps)? else { return Ok(None) };
        while let Ok(Some(newer)) = self.take(&mut steps) {
            newest = newer;
        }
        Ok(Some(newest))
    }

    /// Gives the received blocks back that were leaked (`mem::forget`), and returns their number. Wait-free: 1 load and 1
    /// store for each.
    #[inline]
    pub fn reclaim(&mut self) -> u32 {
        // Proof: A received block borrows this end, and so does every reference into it. The exclusive borrow excludes them.
        let leaked = self.held.replace(Blocks::NONE);
        for block in leaked {
            let (number, _) = Owner::of(self.pool.owner(block).load(Relaxed));
            self.pool.owner(block).store(Owner::Sender.word(number), Release); // O2 give
        }
        leaked.count()
    }

    /// Steps through the order, enough to pass its present newest sending.
    fn steps(&self) -> Range<u64> {
        // Proof: First in, first out: the receiver looks at the place of the expected number in the order. A larger
        // number there means that no sending that is N or more below it is on the way (I3), so the receiver continues
        // after those; a smaller number means that nothing newer was sent. The receiver walks place by place, and
        // 2 N + 1 steps lead past the sending that was the newest when it began. If it has received nothing by then,
        // each step met a block that was recalled during the walk: [`NotReceived::Overtaken`].
        0..2 * self.pool.count() + 1
    }

    #[inline]
    fn take(&self, steps: &mut Range<u64>) -> Result<Option<ReceivedBlock<'_, 'm, T>>, NotReceived> {
        // Proof: The receiver exchanges `Sent(k)` in the word of block i after it has loaded (k, i) from the order: by
        // O1 the content of sending k is there, and the word holds `Sent(k)` or a later value. Each number is used
        // once, so the exchange succeeds if and only if neither side has taken sending k. From then on the sender's
        // recall of k fails, and the sender writes the block again only after it has loaded `Sender` from its word,
        // which only the receiver's store can have put there: by O2 the user's reads are over. If the sender's
        // exchange comes first, the receiver's exchange fails, and its user never sees the block.
        if self.inherited.get() != Blocks::NONE
            && let Some((number, block)) = self.inherit()
        {
            return Ok(Some(self.lend(number, block)));
        }
        for _ in steps {
            let expected = self.expected.get();
            let word = self.pool.order(expected).load(Acquire); // O1 send
            let (number, block) = self.pool.sending(word);
            if number < expected {
                return Ok(None);
            }
            // A number that is not in its place, or a block that does not exist, is corrupt.
            let in_place = (number - expected).is_multiple_of(self.pool.count());
            let block = block.filter(|_| in_place).ok_or(NotReceived::Corrupt)?;
            if number > expected {
                // `number` is at least `count` above `expected`. Sendings below the new expected number are not on the
                // way (I3).
                self.expected.set(number - self.pool.count() + 1);
                continue;
            }
            self.expected.set(number + 1);
            // The previous receiver received this block, and this receiver has received it again (I5).
            if self.held.get().has(block) {
                continue;
            }
            let (sent, ours) = (Owner::Sent.word(number), Owner::Receiver.word(number));
            // O3 take
            if self.pool.owner(block).compare_exchange(sent, ours, Release, Relaxed).is_ok() {
                return Ok(Some(self.lend(number, block)));
            }
        }
        Err(NotReceived::Overtaken)
    }

    /// The oldest block that the previous receiver had.
    #[cold]
    fn inherit(&self) -> Option<(u64, Block)> {
        let mut oldest: Option<(u64, Block)> = None;
        for block in self.inherited.get() {
            match Owner::of(self.pool.owner(block).load(Relaxed)) {
                (number, Some(Owner::Receiver)) => {
                    if oldest.is_none_or(|(older, _)| number < older) {
                        oldest = Some((number, block));
                    }
                }
                // Only we may change it. If another process did, the block is no longer ours.
                _ => self.inherited.set(self.inherited.get().without(block)),
            }
        }
        let (_, block) = oldest?;
        self.inherited.set(self.inherited.get().without(block));
        oldest
    }

    /// Lends `block`, which is the receiver's and not lent.
    #[inline(always)]
    fn lend(&self, number: u64, block: Block) -> ReceivedBlock<'_, 'm, T> {
        self.held.set(self.held.get().with(block));
        // SAFETY: not written until `Retained` is dropped, which happens after the loan of the place ends:
        // - the block's word says `Receiver` (callers), and only we change that (I1);
        // - its content is there: by O1, or since the previous receiver had it.
        let place = unsafe { self.pool.lend(block) };
        ReceivedBlock { place, kept: Retained { receiver: self, number, block } }
    }

    /// Number of blocks of the pool.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.pool.count() as u32
    }
}

/// A block lent to the receiver's user, who reads it. If dropped, it goes back to the sender.
#[must_use = "dropped, it goes back to the sender"]
pub struct ReceivedBlock<'r, 'm, T: Plain> {
    // In this order: the place's loan ends first.
    place: LentPlace<'m, T>,
    kept: Retained<'r, 'm, T>,
}

impl<T: Plain> ReceivedBlock<'_, '_, T> {
    /// The number of its sending, as [`Loan::send`] returned it. A missing number was recalled, or skipped by
    /// [`BlockReceiver::receive_newest`]; a number that comes again was received by a receiver that died.
    #[inline]
    pub fn number(&self) -> u64 {
        self.kept.number
    }

    /// The word that came with it: [`Loan::send_stamped`]. After a plain [`Loan::send`] it is that of an earlier sending of
    /// the block, or 0. Wait-free: 1 load.
    #[inline]
    pub fn stamp(&self) -> u64 {
        self.kept.receiver.pool.stamp(self.kept.block).load(Relaxed)
    }
}

impl<T: Plain> Deref for ReceivedBlock<'_, '_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.place
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for ReceivedBlock<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The receiver's record of a received block: one of its `held`.
struct Retained<'r, 'm, T: Plain> {
    receiver: &'r BlockReceiver<'m, T>,
    number: u64,
    block: Block,
}

impl<T: Plain> Drop for Retained<'_, '_, T> {
    fn drop(&mut self) {
        let Self { receiver, number, block } = *self;
        receiver.held.set(receiver.held.get().without(block));
        receiver.pool.owner(block).store(Owner::Sender.word(number), Release); // O2 give
    }
}

// # Checked
//
// - `tests/bulk/behaviour.rs`: values, errors, policies, successors, corrupt words, stamps, watchers; also Miri
// - `tests/bulk/steps.rs`: the bounds above, counted
// - `tests/bulk/crashes.rs`: a model of the protocol, every interleaving with a death of either side at every step
// - `tests/bulk/deaths.rs`, `tests/bulk/processes.rs`: SIGKILL before every step of every operation, and at random
// - `tests/bulk/stress.rs`: threads, with blocks of 4 KiB that show tearing; also Miri
// - `tests/bulk/hostile.rs`: a process writes random data into the memory; `tests/fuzzed.rs`: garbage in each word, at
//   each step
//
// `tests/bulk/loom.rs`, payload of 2 words, without preemption bound: 1 block, 3 sendings × 3 receives: 793
// executions; 2 blocks: 2 449, with one held 722; recall with 2 blocks, 4 × 2: 82 506, with 3 and one held, 5 × 2:
// 29 030; the newest with recall, 3 blocks, 4 × 1: 73 604; its freshness: 8 478; a recall's refusal: 94 336; a sender
// that follows another: 7 549; with bound 3: 3 blocks, one held, 5 × 4: 2 955, with recall 5 × 3: 3 135, the newest
// 4 × 2: 1 779; a receiver that follows another: 1 645. The tests fail if any of the seven annotations is weakened.
//
// `tests/bulk/crashes.rs`: 2 blocks, 4 sendings, recall, one death of each side: 3 223 171 states; two deaths of the
// sender, of the receiver, 3 sendings: 352 337, 457 870; 3 blocks, 3 sendings, a death of the receiver: 369 409. The
// model finds six deliberate mistakes.
//
// Not covered: watchers and stamps beside concurrent ends, which load and store words alone; more blocks
// exhaustively; deaths together with weak memory; load buffering (the Release of O2 excludes
// what it could do to the user's reads); AArch64 hardware; numbers past 2⁵⁶.
