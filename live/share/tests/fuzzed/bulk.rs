// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A pool of blocks.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::rc::Rc;

use taut_share::bulk::{self, BlockReceiver, BlockSender, Loan, ReceivedBlock};

use super::{Ground, Scene};
use crate::payload::{marked, number};

type Value = [u64; 3];
const BLOCKS: u32 = 4;
const N: u64 = BLOCKS as u64;
/// The step bound of an attachment: two loads and a store for each block, and a load of its place in the order.
const ATTACH_STEPS: u64 = 4 * N;

/// The sender with its loans, or the receiver with its blocks, which come after the end that they borrow from.
struct Lender<E: 'static, B> {
    end: &'static E,
    blocks: VecDeque<B>,
}

impl<E, B> Lender<E, B> {
    fn new(end: E) -> Self {
        Self { end: Box::leak(Box::new(end)), blocks: VecDeque::new() }
    }

    /// Leaves the end as if it had died.
    fn die(mut self) {
        self.blocks.drain(..).for_each(mem::forget);
    }
}

impl<E, B> Drop for Lender<E, B> {
    fn drop(&mut self) {
        self.blocks.clear();
        // SAFETY: from a box; nothing that borrows from it is left.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(self.end).cast_mut()) });
    }
}

type Sending = Lender<BlockSender<'static, Value>, Loan<'static, 'static, Value>>;
type Receiving = Lender<BlockReceiver<'static, Value>, ReceivedBlock<'static, 'static, Value>>;

/// Where a sent block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    OnTheWay,
    Received,
    /// A dead receiver had received it.
    Inherited,
}

struct Object {
    sending: RefCell<Option<Sending>>,
    receiving: RefCell<Option<Receiving>>,
    /// Sendings whose blocks are not back, by their numbers.
    out: RefCell<BTreeMap<u64, Where>>,
    sent: Cell<u64>,
    /// The last number that was received as `OnTheWay`.
    received: Cell<u64>,
    /// After the ends, so that it is dropped after them.
    ground: Ground,
}

pub(super) fn build(ground: Ground) -> Rc<dyn Scene> {
    ground.take(bulk::bytes::<Value>(BLOCKS).unwrap());
    // SAFETY: the only ends, in one thread, dropped before the ground.
    let (sender, receiver) =
        unsafe { (bulk::sender(ground.memory(), BLOCKS), bulk::receiver(ground.memory(), BLOCKS)) };
    Rc::new(Object {
        sending: RefCell::new(Some(Lender::new(sender.unwrap()))),
        receiving: RefCell::new(Some(Lender::new(receiver.unwrap()))),
        out: RefCell::default(),
        sent: Cell::new(0),
        received: Cell::new(0),
        ground,
    })
}

/// # Panics
///
/// If a block is lent to one end twice.
fn all_differ<'a>(blocks: impl Iterator<Item = &'a Value>) {
    let mut all: Vec<_> = blocks.map(std::ptr::from_ref).collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "a block is lent twice");
}

impl Object {
    fn numbers(&self, place: Where) -> Vec<u64> {
        self.out.borrow().iter().filter(|(_, at)| **at == place).map(|(number, _)| *number).collect()
    }

    fn lend(&self, recall: bool) {
        let Some(mut sending) = self.sending.take() else { return };
        let sender = sending.end;
        let on_the_way = self.numbers(Where::OnTheWay);
        let done = if recall {
            self.ground.run(3 * N, || sender.loan_or_recall())
        } else {
            self.ground.run(N, || sender.loan())
        };
        if let Some(loan) = done.result {
            if self.ground.is_honest() && *loan != [0; 3] {
                let number = number(&loan);
                match self.out.borrow_mut().remove(&number) {
                    Some(Where::OnTheWay) => {
                        // Recalled; or a receiver is in the middle of giving it back.
                        assert!(recall || self.receiving.borrow().is_none(), "{number} is on the way");
                        assert!(!done.alone || on_the_way[0] == number, "{number} of {on_the_way:?}");
                    }
                    Some(Where::Inherited) => {
                        assert!(self.receiving.borrow().is_none(), "{number} is not back")
                    }
                    Some(Where::Received) => panic!("the receiver has {number}"),
                    None => {}
                }
            }
            sending.blocks.push_back(loan);
            all_differ(sending.blocks.iter().map(|loan| &**loan));
        } else if self.ground.is_honest() && done.alone {
            assert!(!recall || on_the_way.is_empty(), "refused, and {on_the_way:?} are on the way");
            let lent = sending.blocks.len() + self.out.borrow().len();
            assert_eq!(lent, BLOCKS as usize, "refused, and a block is here");
        }
        self.sending.replace(Some(sending));
    }

    fn send(&self) {
        let Some(mut sending) = self.sending.take() else { return };
        if let Some(mut loan) = sending.blocks.pop_front() {
            let next = self.sent.get() + 1;
            *loan = marked(next);
            self.sent.set(next);
            let sent = self.ground.run(2, || loan.send()).result;
            if self.ground.is_honest() {
                assert_eq!(sent, next);
                self.out.borrow_mut().insert(sent, Where::OnTheWay);
            }
        }
        self.sending.replace(Some(sending));
    }

    fn receive(&self, newest: bool) {
        let Some(mut receiving) = self.receiving.take() else { return };
        let receiver = receiving.end;
        // In the middle of a sender's operation, the block that it recalls may already be gone.
        let whole = self.sending.borrow().is_some();
        let before = self.out.borrow().clone();
        // A load, an exchange and a return for each step; in addition the loads and returns of a successor.
        let done = if newest {
            self.ground.run(3 * (2 * N + 1) + N * N + N, || receiver.receive_newest())
        } else {
            self.ground.run(2 * (2 * N + 1) + N, || receiver.receive())
        };
        if self.ground.is_honest() {
            match &done.result {
                Ok(Some(received)) => {
                    assert_eq!(number(received), received.number());
                    self.judge(received.number(), newest, whole, &before);
                }
                Ok(None) => {
                    let now = self.out.borrow();
                    let waits = before.keys().filter(|number| before[number] != Where::Received);
                    let waits: Vec<_> = waits.filter(|number| now.contains_key(number)).collect();
                    assert!(waits.is_empty() || !whole, "nothing received, and {waits:?} wait");
                }
                Err(_) => assert!(!done.alone, "nobody recalls"),
            }
        }
        if let Ok(Some(received)) = done.result {
            if !self.ground.is_honest()
                && done.alone
                && !self.ground.is_garbage(&*received)
                && *received != [0; 3]
            {
                number(&received);
            }
            receiving.blocks.push_back(received);
            all_differ(receiving.blocks.iter().map(|received| &**received));
        }
        self.receiving.replace(Some(receiving));
    }

    /// Checks that `number` may be received, given the sendings that were out `before`.
    fn judge(&self, number: u64, newest: bool, whole: bool, before: &BTreeMap<u64, Where>) {
        let mut out = self.out.borrow_mut();
        let place = out.insert(number, Where::Received);
        assert!(matches!(place, Some(Where::OnTheWay | Where::Inherited)), "{number} was {place:?}");
        if place == Some(Where::OnTheWay) {
            assert!(number > self.received.get(), "{number} after {}", self.received.get());
            self.received.set(number);
        }
        // Inherited blocks come first.
        let rank = |number: u64, place: Where| (place == Where::OnTheWay, number);
        let ours = rank(number, place.unwrap());
        out.retain(|other, at| {
            if *at == Where::Received {
                return true;
            }
            let is_older = rank(*other, *at) < ours;
            let waited = before.get(other) == Some(at) && whole;
            assert!(!waited || is_older == newest, "{number}, and {other} waits");
            // The receiver gave older blocks back.
            !(newest && is_older)
        });
    }

    fn return_block(&self) {
        let Some(mut receiving) = self.receiving.take() else { return };
        if let Some(received) = receiving.blocks.pop_front() {
            let number = received.number();
            self.ground.run(1, || drop(received));
            self.out.borrow_mut().remove(&number);
        }
        self.receiving.replace(Some(receiving));
    }
}

impl Scene for Object {
    fn ground(&self) -> &Ground {
        &self.ground
    }

    fn ends(&self) -> u8 {
        2
    }

    fn operate(&self, end: u8, how: u8) {
        match (end, how / 2 % 8) {
            (0, 0..=2) => self.lend(how & 1 != 0),
            (0, 3) => {
                if let Some(mut sending) = self.sending.take() {
                    // A dropped loan is back with the sender.
                    sending.blocks.pop_back();
                    self.sending.replace(Some(sending));
                }
            }
            (0, _) => self.send(),
            (_, 0..=3) => self.receive(false),
            (_, 4) => self.receive(true),
            _ => self.return_block(),
        }
    }

    fn succeed(&self, end: u8) {
        let memory = self.ground.memory();
        if end == 0 {
            if let Some(sending) = self.sending.take() {
                sending.die();
                // SAFETY: the previous sender is gone.
                let attach = || unsafe { bulk::sender(memory, BLOCKS) }.unwrap();
                self.sending.replace(Some(Lender::new(self.ground.run(ATTACH_STEPS, attach).result)));
            }
        } else if let Some(receiving) = self.receiving.take() {
            receiving.die();
            for at in self.out.borrow_mut().values_mut() {
                if *at == Where::Received {
                    *at = Where::Inherited;
                }
            }
            // SAFETY: the previous receiver is gone.
            let attach = || unsafe { bulk::receiver(memory, BLOCKS) }.unwrap();
            self.receiving.replace(Some(Lender::new(self.ground.run(ATTACH_STEPS, attach).result)));
        }
    }
}
