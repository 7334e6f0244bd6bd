// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The pool of blocks as a small model with one shared access per step: every interleaving of both sides, with a
//! death of either side at every step and a successor at any time after, sequentially consistent. In every reachable
//! state the test also lets both sides die: their successors must then find every block, and every value that was
//! sent and not given back. `cargo test -p taut-share --release --test crashes_bulk` runs all of it; without
//! optimisation the model makes only two sendings. (Loom checks the orderings; `deaths.rs` checks that the code
//! agrees with this model.)
#![cfg(not(any(loom, shuttle, miri)))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test: helpers too, and its figures")]

use std::collections::{HashSet, VecDeque};

const MOST: usize = 3;
const SENDER: u8 = 0;
const SENT: u8 = 1;
const RECEIVER: u8 = 2;
/// Content while it is being written.
const DIRTY: u8 = u8::MAX;

/// What a search covers.
#[derive(Clone, Copy)]
struct Config {
    blocks: usize,
    sendings: u8,
    sender_deaths: u8,
    receiver_deaths: u8,
    recall: bool,
    /// A mistake that the search must find.
    mistake: Mistake,
}

#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    /// `send` writes the order first.
    OrderFirst,
    /// A successor sender treats the number of an interrupted sending as used.
    NumberUsed,
    /// A successor sender leaves an interrupted sending as it is.
    LeftAsSent,
    /// A recall stores instead of exchanging.
    RecallStores,
    /// A successor receiver begins at the newest sending.
    StartsAtNewest,
    /// `loan_or_recall` does not look a second time.
    LooksOnce,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum SenderAt {
    Idle,
    /// Looks at block `i`; then: 0 lend or refuse, 1 lend or recall, 2 lend or refuse as the end of a recall.
    Look(usize, u8),
    Recall(u8),
    SendFirst(usize),
    SendSecond(usize, u8),
    AttachOrder(usize),
    AttachOwner(usize),
    AttachCheck(usize),
    AttachBack(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Sender {
    at: SenderAt,
    next: u8,
    oldest: u8,
    stock: u8,
    loans: u8,
    order: [u8; MOST],
    /// At some time during this call the receiver had all blocks that are not lent.
    all_out: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ReceiverAt {
    Idle,
    /// Loads the order, with this many steps left.
    Load(usize),
    Exchange(usize, u8, u8),
    /// Looks at block `i`; the oldest so far.
    Inherit(usize, Option<(u8, u8)>),
    Give(u8),
    Attach(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Receiver {
    at: ReceiverAt,
    expected: u8,
    held: u8,
    inherited: u8,
    numbers: [u8; MOST],
    /// At some time during this call nothing was on the way.
    nothing: bool,
    /// During this call a block was recalled.
    recalled: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct World {
    order: [(u8, u8); MOST],
    owner: [(u8, u8); MOST],
    content: [u8; MOST],
    sender: Option<Sender>,
    receiver: Option<Receiver>,
    sendings: u8,
    sender_deaths: u8,
    receiver_deaths: u8,
    /// The largest number ever received.
    last: u8,
}

fn bit(block: usize) -> u8 {
    1 << block
}

impl World {
    fn new(config: &Config) -> Self {
        let mut world = Self {
            order: [(0, 0); MOST],
            owner: [(0, SENDER); MOST],
            content: [0; MOST],
            sender: None,
            receiver: None,
            sendings: config.sendings,
            sender_deaths: config.sender_deaths,
            receiver_deaths: config.receiver_deaths,
            last: 0,
        };
        world.attach(config);
        world
    }

    /// Attaches both ends again, one after the other.
    fn attach(&mut self, config: &Config) {
        self.attach_sender();
        self.attach_receiver();
        self.finish(config);
    }

    fn attach_sender(&mut self) {
        self.sender = Some(Sender {
            at: SenderAt::AttachOrder(0),
            next: 1,
            oldest: 0,
            stock: 0,
            loans: 0,
            order: [0; MOST],
            all_out: false,
        });
    }

    fn attach_receiver(&mut self) {
        self.receiver = Some(Receiver {
            at: ReceiverAt::Attach(0),
            expected: 1,
            held: 0,
            inherited: 0,
            numbers: [0; MOST],
            nothing: false,
            recalled: false,
        });
    }

    /// Runs both ends, one after the other, to the end of their present operations.
    fn finish(&mut self, config: &Config) {
        while self.sender.is_some_and(|sender| sender.at != SenderAt::Idle) {
            self.sender_steps(config);
        }
        while self.receiver.is_some_and(|receiver| receiver.at != ReceiverAt::Idle) {
            self.receiver_steps(config);
        }
    }

    /// Whether `block` waits to be received.
    fn waits(&self, config: &Config, block: usize) -> bool {
        let (number, owner) = self.owner[block];
        owner == SENT && self.order[number as usize % config.blocks] == (number, block as u8)
    }

    /// One shared access of the sender, which is in the middle of an operation.
    fn sender_steps(&mut self, config: &Config) {
        let n = config.blocks;
        let mut sender = self.sender.unwrap();
        let lend = |sender: &mut Sender, block: usize, content: &mut [u8; MOST]| {
            sender.stock &= !bit(block);
            assert_eq!(sender.loans & bit(block), 0, "lent twice");
            sender.loans |= bit(block);
            content[block] = DIRTY;
            sender.at = SenderAt::Idle;
        };
        match sender.at {
            SenderAt::Idle => unreachable!("it is at no access"),
            SenderAt::Look(i, then) => {
                if (sender.stock | sender.loans) & bit(i) == 0 && self.owner[i].1 == SENDER {
                    sender.stock |= bit(i);
                }
                sender.at = if i + 1 < n {
                    SenderAt::Look(i + 1, then)
                } else if sender.stock != 0 {
                    let block = sender.stock.trailing_zeros() as usize;
                    lend(&mut sender, block, &mut self.content);
                    SenderAt::Idle
                } else if then == 1 {
                    SenderAt::Recall(sender.oldest.max(sender.next.saturating_sub(n as u8)))
                } else {
                    assert!(then == 0 || sender.all_out, "refused, and the receiver never had all");
                    SenderAt::Idle
                };
            }
            SenderAt::Recall(number) if number >= sender.next => {
                if config.mistake == Mistake::LooksOnce {
                    assert!(sender.all_out, "refused, and the receiver never had all");
                    sender.at = SenderAt::Idle;
                } else {
                    sender.at = SenderAt::Look(0, 2);
                }
            }
            SenderAt::Recall(number) => {
                sender.oldest = number + 1;
                sender.at = SenderAt::Recall(number + 1);
                let block = sender.order[number as usize % n] as usize;
                if sender.loans & bit(block) == 0 {
                    let waits = self.owner[block] == (number, SENT);
                    if waits || config.mistake == Mistake::RecallStores {
                        self.owner[block] = (number, SENDER);
                        if let Some(receiver) = &mut self.receiver {
                            receiver.recalled = true;
                        }
                    }
                    if self.owner[block].1 == SENDER {
                        lend(&mut sender, block, &mut self.content);
                    }
                }
            }
            SenderAt::SendFirst(block) => {
                let number = sender.next;
                sender.next += 1;
                sender.loans &= !bit(block);
                sender.order[number as usize % n] = block as u8;
                if config.mistake == Mistake::OrderFirst {
                    self.order[number as usize % n] = (number, block as u8);
                } else {
                    self.owner[block] = (number, SENT);
                }
                sender.at = SenderAt::SendSecond(block, number);
            }
            SenderAt::SendSecond(block, number) => {
                // The content is stored now at the latest: nothing orders it before the first of the two stores.
                self.content[block] = number;
                if config.mistake == Mistake::OrderFirst {
                    self.owner[block] = (number, SENT);
                } else {
                    self.order[number as usize % n] = (number, block as u8);
                }
                sender.at = SenderAt::Idle;
            }
            SenderAt::AttachOrder(i) => {
                sender.next = sender.next.max(self.order[i].0 + 1);
                sender.at = if i + 1 < n { SenderAt::AttachOrder(i + 1) } else { SenderAt::AttachOwner(0) };
            }
            SenderAt::AttachOwner(i) => {
                let on = if i + 1 < n { SenderAt::AttachOwner(i + 1) } else { SenderAt::Idle };
                let (number, owner) = self.owner[i];
                sender.at = match owner {
                    SENT => {
                        if config.mistake == Mistake::NumberUsed {
                            sender.next = sender.next.max(number + 1);
                        }
                        SenderAt::AttachCheck(i)
                    }
                    SENDER => {
                        sender.stock |= bit(i);
                        on
                    }
                    _ => on,
                };
            }
            SenderAt::AttachCheck(i) => {
                let number = self.owner[i].0;
                sender.at = if i + 1 < n { SenderAt::AttachOwner(i + 1) } else { SenderAt::Idle };
                if self.order[number as usize % n] == (number, i as u8) {
                    sender.order[number as usize % n] = i as u8;
                } else if config.mistake != Mistake::LeftAsSent {
                    sender.at = SenderAt::AttachBack(i);
                }
            }
            SenderAt::AttachBack(i) => {
                self.owner[i].1 = SENDER;
                sender.stock |= bit(i);
                sender.at = if i + 1 < n { SenderAt::AttachOwner(i + 1) } else { SenderAt::Idle };
            }
        }
        self.sender = Some(sender);
    }

    /// One shared access of the receiver, which is in the middle of an operation.
    fn receiver_steps(&mut self, config: &Config) {
        let n = config.blocks;
        let mut receiver = self.receiver.unwrap();
        match receiver.at {
            ReceiverAt::Idle => unreachable!("it is at no access"),
            ReceiverAt::Attach(i) => {
                if self.owner[i].1 == RECEIVER {
                    receiver.inherited |= bit(i);
                }
                if config.mistake == Mistake::StartsAtNewest {
                    receiver.expected = receiver.expected.max(self.order[i].0);
                }
                receiver.at = if i + 1 < n { ReceiverAt::Attach(i + 1) } else { ReceiverAt::Idle };
            }
            ReceiverAt::Inherit(i, mut oldest) => {
                if receiver.inherited & bit(i) != 0 {
                    let (number, owner) = self.owner[i];
                    assert_eq!(owner, RECEIVER, "somebody took what the dead one had");
                    if oldest.is_none_or(|(older, _)| number < older) {
                        oldest = Some((number, i as u8));
                    }
                }
                receiver.at = ReceiverAt::Inherit(i + 1, oldest);
                if i + 1 == n {
                    let (number, block) = oldest.unwrap();
                    assert!(number <= self.last, "never received, but had");
                    receiver.inherited &= !bit(block as usize);
                    receiver.held |= bit(block as usize);
                    receiver.numbers[block as usize] = number;
                    receiver.at = ReceiverAt::Idle;
                }
            }
            ReceiverAt::Load(left) => {
                let (number, block) = self.order[receiver.expected as usize % n];
                if number < receiver.expected {
                    assert!(receiver.nothing, "said that nothing waits, and something did all the time");
                    receiver.at = ReceiverAt::Idle;
                } else if left == 0 {
                    assert!(receiver.recalled, "overtaken, and nothing was recalled");
                    receiver.at = ReceiverAt::Idle;
                } else if number > receiver.expected {
                    receiver.expected = number - n as u8 + 1;
                    receiver.at = ReceiverAt::Load(left - 1);
                } else {
                    receiver.expected = number + 1;
                    receiver.at = if receiver.held & bit(block as usize) != 0 {
                        ReceiverAt::Load(left - 1)
                    } else {
                        ReceiverAt::Exchange(left - 1, number, block)
                    };
                }
            }
            ReceiverAt::Exchange(left, number, block) => {
                if self.owner[block as usize] == (number, SENT) {
                    self.owner[block as usize] = (number, RECEIVER);
                    assert!(number > self.last, "received twice, or out of order");
                    self.last = number;
                    receiver.held |= bit(block as usize);
                    receiver.numbers[block as usize] = number;
                    receiver.at = ReceiverAt::Idle;
                } else {
                    receiver.at = ReceiverAt::Load(left);
                }
            }
            ReceiverAt::Give(block) => {
                self.owner[block as usize].1 = SENDER;
                receiver.at = ReceiverAt::Idle;
            }
        }
        self.receiver = Some(receiver);
    }

    /// All events that may happen next.
    fn next(&self, config: &Config) -> Vec<Self> {
        let mut next = Vec::new();
        let mut then = |change: &dyn Fn(&mut Self)| {
            let mut world = *self;
            change(&mut world);
            world.watch(config);
            next.push(world);
        };
        match self.sender {
            None => then(&|world| world.attach_sender()),
            Some(sender) => {
                if self.sender_deaths > 0 {
                    then(&|world| {
                        world.sender_deaths -= 1;
                        world.sender = None;
                    });
                }
                if sender.at != SenderAt::Idle {
                    then(&|world| world.sender_steps(config));
                } else {
                    for recall in [false, true] {
                        if recall && !config.recall {
                            continue;
                        }
                        then(&|world| {
                            let sender = world.sender.as_mut().unwrap();
                            sender.all_out = false;
                            if sender.stock == 0 {
                                sender.at = SenderAt::Look(0, u8::from(recall));
                            } else {
                                let block = sender.stock.trailing_zeros() as usize;
                                sender.stock &= !bit(block);
                                sender.loans |= bit(block);
                                world.content[block] = DIRTY;
                            }
                        });
                    }
                    for block in (0..config.blocks).filter(|block| sender.loans & bit(*block) != 0) {
                        then(&|world| {
                            let sender = world.sender.as_mut().unwrap();
                            sender.loans &= !bit(block);
                            sender.stock |= bit(block);
                        });
                        if self.sendings > 0 {
                            then(&|world| {
                                world.sendings -= 1;
                                world.sender.as_mut().unwrap().at = SenderAt::SendFirst(block);
                            });
                        }
                    }
                }
            }
        }
        match self.receiver {
            None => then(&|world| world.attach_receiver()),
            Some(receiver) => {
                if self.receiver_deaths > 0 {
                    then(&|world| {
                        world.receiver_deaths -= 1;
                        world.receiver = None;
                    });
                }
                if receiver.at != ReceiverAt::Idle {
                    then(&|world| world.receiver_steps(config));
                } else {
                    then(&|world| world.receive(config));
                    for block in (0..config.blocks).filter(|block| receiver.held & bit(*block) != 0) {
                        then(&|world| world.give(block));
                    }
                }
            }
        }
        next
    }

    fn receive(&mut self, config: &Config) {
        let receiver = self.receiver.as_mut().unwrap();
        (receiver.nothing, receiver.recalled) = (false, false);
        receiver.at = if receiver.inherited != 0 {
            ReceiverAt::Inherit(0, None)
        } else {
            ReceiverAt::Load(2 * config.blocks + 1)
        };
    }

    fn give(&mut self, block: usize) {
        let receiver = self.receiver.as_mut().unwrap();
        receiver.held &= !bit(block);
        receiver.at = ReceiverAt::Give(block as u8);
    }

    /// Records what the calls in progress have seen, and checks the invariants.
    fn watch(&mut self, config: &Config) {
        let waiting = (0..config.blocks).filter(|block| self.waits(config, *block)).count();
        let mut theirs = 0;
        if let Some(receiver) = &mut self.receiver {
            receiver.nothing |= waiting == 0;
            theirs = receiver.held;
            for block in 0..config.blocks {
                if receiver.held & bit(block) != 0 {
                    assert_eq!(self.owner[block].1, RECEIVER, "a block is taken from its user");
                    assert_eq!(self.content[block], receiver.numbers[block], "another's content");
                }
            }
        }
        if let Some(sender) = &mut self.sender {
            let lent = |block: usize| sender.loans & bit(block) != 0;
            sender.all_out |= (0..config.blocks).all(|block| lent(block) || self.owner[block].1 == RECEIVER);
            assert_eq!(sender.stock & sender.loans, 0, "lent, and in stock");
            assert_eq!((sender.stock | sender.loans) & theirs, 0, "in two hands");
        }
    }

    /// Lets both sides die, and checks what their successors find.
    fn all_is_found(mut self, config: &Config) {
        (self.sender, self.receiver) = (None, None);
        self.attach(config);
        self.all_is_there(config);
    }

    /// Receives all blocks that are there, gives them back, and lends all blocks.
    fn all_is_there(mut self, config: &Config) {
        let n = config.blocks;
        let expected: Vec<usize> =
            (0..n).filter(|block| self.waits(config, *block) || self.owner[*block].1 == RECEIVER).collect();
        for _ in 0..=n {
            self.receive(config);
            self.watch(config);
            self.finish(config);
        }
        let held = self.receiver.unwrap().held;
        assert!(expected.iter().all(|block| held & bit(*block) != 0), "what was sent is lost");
        for block in 0..n {
            if held & bit(block) != 0 {
                assert_eq!(self.content[block], self.owner[block].0, "another's content");
                self.give(block);
                self.finish(config);
            }
        }
        let mut sender = self.sender.unwrap();
        for block in 0..n {
            if (sender.stock | sender.loans) & bit(block) == 0 && self.owner[block].1 == SENDER {
                sender.stock |= bit(block);
            }
        }
        assert_eq!((sender.stock | sender.loans).count_ones() as usize, n, "a block is lost");
    }
}

/// Visits every state; returns how many there are.
fn explore(config: &Config) -> usize {
    let start = World::new(config);
    let mut seen = HashSet::from([start]);
    let mut queue = VecDeque::from([start]);
    while let Some(world) = queue.pop_front() {
        world.all_is_found(config);
        let idle = world.sender.is_some_and(|sender| sender.at == SenderAt::Idle)
            && world.receiver.is_some_and(|receiver| receiver.at == ReceiverAt::Idle);
        if idle {
            world.all_is_there(config);
        }
        for next in world.next(config) {
            if seen.insert(next) {
                queue.push_back(next);
            }
        }
    }
    seen.len()
}

const TWO: Config = Config {
    blocks: 2,
    sendings: 4,
    sender_deaths: 1,
    receiver_deaths: 1,
    recall: true,
    mistake: Mistake::None,
};

#[test]
fn every_death_leaves_every_block() {
    let configs = [
        Config { blocks: 1, sendings: 4, ..TWO },
        TWO,
        Config { sendings: 3, sender_deaths: 2, receiver_deaths: 0, ..TWO },
        Config { sendings: 3, sender_deaths: 0, receiver_deaths: 2, ..TWO },
        Config { blocks: 3, sendings: 3, sender_deaths: 0, recall: false, ..TWO },
    ];
    for mut config in configs {
        // Without optimisation, all of them take too long.
        if cfg!(debug_assertions) {
            config.sendings = 2;
        }
        let states = explore(&config);
        println!(
            "{} blocks, {} sendings, {} + {} deaths, recall {}: {states} states",
            config.blocks, config.sendings, config.sender_deaths, config.receiver_deaths, config.recall
        );
        assert!(states > 500);
    }
}

#[test]
fn mistakes_are_found() {
    let mistakes = [
        Mistake::OrderFirst,
        Mistake::NumberUsed,
        Mistake::LeftAsSent,
        Mistake::RecallStores,
        Mistake::StartsAtNewest,
        Mistake::LooksOnce,
    ];
    for (i, mistake) in mistakes.into_iter().enumerate() {
        let found = std::panic::catch_unwind(|| explore(&Config { mistake, ..TWO }));
        assert!(found.is_err(), "mistake {i} was not found in {found:?} states");
    }
}
