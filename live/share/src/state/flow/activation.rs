// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The dispatcher's side: which activations may come now, and what it announces to readers.

use core::cell::Cell;
use core::marker::PhantomData;

use taut_atomic::Ordering::{Acquire, Relaxed, Release};
use taut_atomic::{AtomicU64, Claimed};

use super::{Layout, Mailbox, NotActivated, READERS_MAX, Shape};

/// What a dispatcher keeps of the activations, whatever protects the values.
pub(in crate::state) struct Activation<'m> {
    writer_completed: &'m AtomicU64,
    mailboxes: [Mailbox<'m>; READERS_MAX as usize],
    lower: u32,
    readers: u32,
    instants: Instants,
    /// The number of activated jobs of each reader.
    announced: [u64; READERS_MAX as usize],
    /// The dispatcher moves between threads, but is not shared.
    apart: PhantomData<Cell<()>>,
}

impl<'m> Activation<'m> {
    pub(in crate::state) fn attach(memory: &Claimed<'m>, shape: Shape, readers: u32) -> Self {
        let mailboxes: [Mailbox<'m>; READERS_MAX as usize] =
            core::array::from_fn(|which| Mailbox::new(memory, (which as u32).min(readers - 1)));
        Self {
            writer_completed: memory.word(Layout::COMPLETED),
            mailboxes,
            lower: shape.lower,
            readers,
            instants: Instants::default(),
            // Relaxed: the last dispatcher has ended before this call.
            announced: mailboxes.map(|mailbox| mailbox.announced.load(Relaxed)),
            apart: PhantomData,
        }
    }

    /// The number of readers.
    #[inline(always)]
    pub(in crate::state) fn readers(&self) -> u32 {
        self.readers
    }

    /// Checks whether the writer's job after `last` may be activated at `at_ns`. 1 load.
    ///
    /// # Errors
    ///
    /// [`NotActivated`]: `OutOfOrder` or `Running`.
    #[inline(always)]
    pub(in crate::state) fn admit_writer(&self, at_ns: u64, last: u64) -> Result<(), NotActivated> {
        self.instants.admit_writer(at_ns)?;
        // Relaxed: readers load the word themselves. The dispatcher's later stores come after this load, so readers of
        // higher priority find the last job complete.
        if self.writer_completed.load(Relaxed) == last { Ok(()) } else { Err(NotActivated::Running) }
    }

    /// Records that the writer was activated.
    #[inline(always)]
    pub(in crate::state) fn pass_writer(&mut self, at_ns: u64) {
        self.instants.pass(at_ns, false);
    }

    /// Checks whether a job of reader `which` may be activated at `at_ns`; not whether its last job is complete.
    ///
    /// # Errors
    ///
    /// [`NotActivated`]: `NoSuchReader` or `OutOfOrder`.
    #[inline(always)]
    pub(in crate::state) fn admit_reader(&self, which: u32, at_ns: u64) -> Result<(), NotActivated> {
        if which >= self.readers {
            return Err(NotActivated::NoSuchReader);
        }
        self.instants.admit_reader(at_ns)
    }

    /// Whether reader `which` has a lower priority than the writer, and so reads LATEST; others read PREVIOUS.
    #[inline(always)]
    pub(in crate::state) fn is_lower(&self, which: u32) -> bool {
        which < self.lower
    }

    /// Whether the last job of reader `which` is not complete. 1 load.
    #[inline(always)]
    pub(in crate::state) fn is_running(&self, which: usize) -> bool {
        // O4 leave: the reader's loads of its mailbox and accesses to its value are over.
        self.mailboxes[which].completed.load(Acquire) != self.announced[which]
    }

    /// What the last job of reader `which` reads, as [`Activation::announce`] stored it. 1 load.
    #[inline(always)]
    pub(in crate::state) fn what(&self, which: usize) -> u64 {
        // Relaxed: only the dispatcher stores it.
        self.mailboxes[which].what.load(Relaxed)
    }

    /// Activates the next job of reader `which` at `at_ns`: it reads `what`. 2 stores.
    #[inline(always)]
    pub(in crate::state) fn announce(&mut self, which: usize, at_ns: u64, what: u64) {
        // Proof: there is one dispatcher (`&mut`), so activations have one order, which gives LATEST and PREVIOUS
        // their meaning. The reader loads `what` after `announced` (O3), and the dispatcher stores `what` again only
        // once it has seen that job complete (O4): so a job reads what was announced to it, the same each time.
        self.instants.pass(at_ns, true);
        self.announced[which] = self.announced[which].wrapping_add(1);
        let mailbox = &self.mailboxes[which];
        mailbox.what.store(what, Relaxed);
        mailbox.announced.store(self.announced[which], Release); // O3 announce
    }
}

/// The order of activations that preserves the flow.
#[derive(Default)]
struct Instants {
    /// The instant of the last activation, in nanoseconds of any clock.
    last: u64,
    /// Whether a reader was activated at that instant.
    reader: bool,
}

impl Instants {
    /// Checks whether an activation of the writer may come now.
    fn admit_writer(&self, at_ns: u64) -> Result<(), NotActivated> {
        let late = at_ns < self.last || (at_ns == self.last && self.reader);
        if late { Err(NotActivated::OutOfOrder) } else { Ok(()) }
    }

    /// Checks whether an activation of a reader may come now.
    fn admit_reader(&self, at_ns: u64) -> Result<(), NotActivated> {
        if at_ns < self.last { Err(NotActivated::OutOfOrder) } else { Ok(()) }
    }

    /// Records an activation.
    fn pass(&mut self, at_ns: u64, reader: bool) {
        self.reader = reader || (self.reader && at_ns == self.last);
        self.last = at_ns;
    }
}
