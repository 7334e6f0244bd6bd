// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Queues.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::ground::Done;
use super::{Ground, Scene};
use crate::account::{ByLine, Order};
use crate::objects::{Got, Queue};
use crate::payload::{marked, number};

const CAPACITY: u32 = 3;
const CAPACITY_WORDS: u64 = CAPACITY as u64;
/// Words of QrtR.
const TAIL: usize = 0;
const HEAD: usize = 16;
/// The step bound of an attachment.
const ATTACH_STEPS: u64 = 4;

struct Object<const N: usize, Q: Queue<N>> {
    writer: RefCell<Option<Q::Writer>>,
    reader: RefCell<Option<(Q::Reader, Order)>>,
    /// Number of values that the queue took, including one that it may be taking.
    pushed: Cell<u64>,
    /// Number of values taken by pushes that are complete.
    complete: Cell<u64>,
    /// The model of the queue on a list, as long as no operation has interrupted another.
    policy: RefCell<Option<ByLine>>,
    /// Pops of this reader since the last one that was interrupted.
    alone: Cell<usize>,
    /// Number of values popped since the writer last wrote, and how often a stranger had written then.
    popped: Cell<(u64, u64)>,
    /// The private counters of QrtR's ends, where the test knows them.
    known: RefCell<Known>,
    /// After the ends, so that it is dropped after them.
    ground: Ground,
}

/// An end's own counter, and the other's as the end last loaded it.
#[derive(Clone, Copy, Default)]
struct Counters {
    own: u64,
    seen: u64,
}

#[derive(Default)]
struct Known {
    writer: Option<Counters>,
    reader: Option<Counters>,
}

impl Known {
    /// The counters of a new writer, which assumes that the queue is full.
    fn writer(ground: &Ground) -> Option<Counters> {
        let own = ground.word(TAIL);
        Some(Counters { own, seen: own.wrapping_sub(CAPACITY_WORDS) })
    }

    /// The counters of a new reader, which assumes that it is empty.
    fn reader(ground: &Ground) -> Option<Counters> {
        let own = ground.word(HEAD);
        Some(Counters { own, seen: own })
    }
}

pub(super) fn build<const N: usize, Q: Queue<N>>(ground: Ground) -> Rc<dyn Scene> {
    ground.take(Q::bytes(CAPACITY));
    // SAFETY: the only ends, in one thread, dropped before the ground.
    let (writer, reader) =
        unsafe { (Q::writer(ground.memory(), CAPACITY), Q::reader(ground.memory(), CAPACITY)) };
    Rc::new(Object::<N, Q> {
        writer: RefCell::new(Some(writer)),
        reader: RefCell::new(Some((reader, Order::default()))),
        pushed: Cell::new(0),
        complete: Cell::new(0),
        policy: RefCell::new(Some(ByLine::new(Q::WHEN_FULL, CAPACITY, N))),
        alone: Cell::new(0),
        popped: Cell::new((0, 0)),
        known: RefCell::new(Known { writer: Known::writer(&ground), reader: Known::reader(&ground) }),
        ground,
    })
}

impl<const N: usize, Q: Queue<N>> Object<N, Q> {
    fn push(&self) {
        let Some(mut writer) = self.writer.take() else { return };
        let n = self.pushed.get() + 1;
        let head = self.ground.word(HEAD);
        // A reader can get the value already during the push.
        self.pushed.set(n);
        let Done { result: taken, alone, still } =
            self.ground.run(Q::PUSH_STEPS, || Q::push(&mut writer, marked(n)));
        self.writer.replace(Some(writer));
        self.popped.set((0, 0));
        if !taken {
            self.pushed.set(n - 1);
        }
        self.complete.set(self.pushed.get());
        let mut policy = self.policy.borrow_mut();
        if !alone || !self.ground.is_honest() {
            *policy = None;
        } else if let Some(policy) = &mut *policy {
            assert_eq!(taken, policy.push(n), "{}: push {n}", Q::NAME);
        }
        if Q::NAME == "QrtR" {
            self.judge_push(taken, still, head);
        }
    }

    /// A push is refused if and only if the head means full, or is impossible.
    fn judge_push(&self, taken: bool, still: bool, head: u64) {
        let mut known = self.known.borrow_mut();
        known.writer = known.writer.filter(|_| still).map(|Counters { mut own, mut seen }| {
            let mut full = own.wrapping_sub(seen) >= CAPACITY_WORDS;
            if full {
                full = own.wrapping_sub(head) >= CAPACITY_WORDS;
                seen = if full { seen } else { head };
            }
            assert_eq!(taken, !full, "QrtR: tail {own:#x}, head {head:#x}");
            if taken {
                own = own.wrapping_add(1);
                assert_eq!(self.ground.word(TAIL), own, "QrtR: the tail");
            }
            Counters { own, seen }
        });
    }

    fn pop(&self) {
        let Some((mut reader, mut order)) = self.reader.take() else { return };
        let complete = self.complete.get();
        let tail = self.ground.word(TAIL);
        let Done { result: got, alone, still } = self.ground.run(Q::POP_STEPS, || Q::pop(&mut reader));
        self.alone.set(if alone { self.alone.get() + 1 } else { 0 });
        // One of these pops also copied the value that was returned.
        let copied_alone = self.alone.get() > ByLine::values(Q::WHEN_FULL, N);
        let mut policy = self.policy.borrow_mut();
        if self.ground.is_honest() {
            order.judge::<N, Q>(got, complete, CAPACITY, || self.pushed.get());
            assert!(!alone || got != Got::Unavailable, "{}: nobody writes", Q::NAME);
            match (&mut *policy, got) {
                (Some(policy), Got::Value((value, lost))) if alone => {
                    assert_eq!(Some((number(&value), lost)), policy.pop(), "{}", Q::NAME);
                }
                (Some(policy), Got::Nothing) if alone => assert_eq!(policy.pop(), None, "{}", Q::NAME),
                (policy, _) => *policy = None,
            }
        } else {
            *policy = None;
            if let (Got::Value((value, _)), true) = (got, copied_alone)
                && !self.ground.is_garbage(&value)
                && value != [0; N]
            {
                assert!(number(&value) <= self.pushed.get(), "{}: not written yet", Q::NAME);
            }
        }
        // The values that it saw before, and those that it sees now, are at most the capacity each.
        let (before, then) = self.popped.get();
        let before = if still && then == self.ground.spoils() { before } else { 0 };
        let popped = before + u64::from(matches!(got, Got::Value(_)));
        assert!(popped <= 2 * CAPACITY_WORDS, "{}: {popped} popped, and nothing written", Q::NAME);
        self.popped.set((popped, self.ground.spoils()));
        if Q::NAME == "QrtR" {
            self.judge_pop(matches!(got, Got::Value(_)), got == Got::Unavailable, still, tail);
        }
        self.reader.replace(Some((reader, order)));
    }

    /// A pop is refused if and only if the tail is not within the capacity of the head; then nothing changes.
    fn judge_pop(&self, taken: bool, reported: bool, still: bool, tail: u64) {
        let mut known = self.known.borrow_mut();
        known.reader = known.reader.filter(|_| still).map(|Counters { mut own, mut seen }| {
            let mut corrupt = false;
            if seen == own {
                corrupt = tail.wrapping_sub(own) > CAPACITY_WORDS;
                seen = if corrupt { seen } else { tail };
            }
            assert_eq!(reported, corrupt, "QrtR: head {own:#x}, tail {tail:#x}");
            assert_eq!(taken, !corrupt && seen != own, "QrtR: head {own:#x}, tail {tail:#x}");
            if taken {
                own = own.wrapping_add(1);
                assert_eq!(self.ground.word(HEAD), own, "QrtR: the head");
            }
            Counters { own, seen }
        });
    }
}

impl<const N: usize, Q: Queue<N>> Scene for Object<N, Q> {
    fn ground(&self) -> &Ground {
        &self.ground
    }

    fn ends(&self) -> u8 {
        2
    }

    fn operate(&self, end: u8, _: u8) {
        if end == 0 { self.push() } else { self.pop() }
    }

    fn succeed(&self, end: u8) {
        self.popped.set((0, 0));
        if end == 0 {
            if self.writer.take().is_some() {
                // SAFETY: the previous writer is gone.
                let attach = || unsafe { Q::writer(self.ground.memory(), CAPACITY) };
                self.writer.replace(Some(self.ground.run(ATTACH_STEPS, attach).result));
                self.known.borrow_mut().writer = Known::writer(&self.ground);
            }
        } else if let Some((reader, order)) = self.reader.take() {
            drop(reader);
            if let Some(policy) = &mut *self.policy.borrow_mut() {
                policy.succeed();
            }
            self.alone.set(0);
            // SAFETY: the previous reader is gone.
            let attach = || unsafe { Q::reader(self.ground.memory(), CAPACITY) };
            self.reader.replace(Some((self.ground.run(ATTACH_STEPS, attach).result, order)));
            self.known.borrow_mut().reader = Known::reader(&self.ground);
        }
    }
}
