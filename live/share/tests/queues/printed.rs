// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The mistakes of the printed queues with a real-time writer [Perez Ruiz 2020, Listings 3 and 4], shown on small
//! models of the listings in single steps, whose order a test chooses, each beside the same sequence of steps on our
//! queues.

use taut_share::queue::{qrtwc, qrtwo};
use taut_share::{Line, Memory};

const OVERWRITE: usize = 1;
const CHANGING: usize = 2;

/// Listing 3.
struct PrintedQrtwo {
    tail: usize,
    head: usize,
    slots: Vec<u64>,
}

/// An enqueue between lines 30 and 31: the first of its two compare-and-swaps is next.
struct Enqueue {
    current: usize,
    local: usize,
}

impl PrintedQrtwo {
    fn new(size: usize) -> Self {
        Self { tail: size - 1, head: 0, slots: vec![0; size] }
    }

    fn cas(&mut self, expected: usize, new: usize) -> bool {
        let equal = self.head == expected;
        if equal {
            self.head = new;
        }
        equal
    }

    fn next(&self, index: usize) -> usize {
        (index + 1) % self.slots.len()
    }

    /// Lines 24 to 29.
    fn begin(&mut self, value: u64) -> Enqueue {
        let (current, at) = (self.head, self.next(self.tail));
        self.slots[at] = value;
        Enqueue { current, local: current | CHANGING }
    }

    /// Line 31, up to the `||`.
    fn first_attempt(&mut self, enqueue: &Enqueue) -> bool {
        let full = self.next(self.next(self.tail)) == enqueue.local >> 2;
        full && self.cas(enqueue.current & !OVERWRITE, enqueue.local)
    }

    /// Line 31, from the `||` on, to 37.
    fn end(&mut self, enqueue: &Enqueue, first: bool) {
        let full = self.next(self.next(self.tail)) == enqueue.local >> 2;
        if full && (first || self.cas(enqueue.current | OVERWRITE, enqueue.local)) {
            let new = (self.next(enqueue.local >> 2) << 2 | OVERWRITE) & !CHANGING;
            self.cas(enqueue.local, new);
        }
        self.tail = self.next(self.tail);
    }

    fn enqueue(&mut self, value: u64) {
        let enqueue = self.begin(value);
        let first = self.first_attempt(&enqueue);
        self.end(&enqueue, first);
    }

    /// Line 42, with both its words loaded at one instant.
    fn is_empty(&self) -> bool {
        self.looks_empty(self.tail)
    }

    /// Line 42, with a tail that was loaded earlier.
    fn looks_empty(&self, tail: usize) -> bool {
        self.next(tail) == self.head >> 2
    }

    /// Lines 47 to 52: the head that it expects, and the value.
    fn copy(&self) -> (usize, u64) {
        let local = self.head & !(OVERWRITE | CHANGING);
        (local, self.slots[local >> 2])
    }

    /// Lines 53 to 61. Returns whether the copy is valid.
    fn accept(&mut self, local: usize) -> bool {
        let success = self.cas(local, self.next(local >> 2) << 2);
        if !success {
            let local = self.head;
            self.cas(local & !CHANGING, local & !(OVERWRITE | CHANGING));
        }
        success
    }

    /// Lines 42 to 63, without interference.
    fn dequeue(&mut self) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        loop {
            let (local, value) = self.copy();
            if self.accept(local) {
                return Some(value);
            }
        }
    }
}

fn all_of<P: taut_share::queue::ring::DiscardPolicy>(
    reader: &mut taut_share::queue::ring::Reader<'_, u64, P>,
) -> Vec<u64> {
    core::iter::from_fn(|| reader.pop().unwrap().map(|popped| popped.value)).collect()
}

#[test]
fn the_printed_overwriting_queue_works_without_interference() {
    let mut printed = PrintedQrtwo::new(4);
    for n in 1..=9 {
        printed.enqueue(n);
    }
    assert_eq!([(); 4].map(|()| printed.dequeue()), [Some(7), Some(8), Some(9), None]);
}

#[test]
fn the_printed_overwriting_queue_misses_that_it_is_full() {
    let mut printed = PrintedQrtwo::new(4);
    for n in 1..=4 {
        printed.enqueue(n);
    }
    // The last one has discarded 1 and set OVERWRITE. The next finds the queue full; its first compare-and-swap expects
    // no OVERWRITE and fails; a reader whose copy was refused clears it; the second expects it and fails as well.
    let enqueue = printed.begin(5);
    let stale = 0;
    let first = printed.first_attempt(&enqueue);
    assert!(!first);
    assert!(!printed.accept(stale), "a dequeue that had copied 1 before");
    printed.end(&enqueue, first);
    // The tail has advanced, the head has not: four values in four slots look like none.
    assert!(printed.is_empty(), "the printed check is content");
    assert_eq!(printed.dequeue(), None, "2, 3, 4 and 5 are there");
    printed.enqueue(6);
    assert_eq!(printed.dequeue(), Some(6), "and 2, 3, 4 and 5 are gone without an overflow of that size");

    let mut lines = [const { Line::new() }; 4];
    let (mut writer, mut reader) = qrtwo::pair::<u64>(Memory::new(&mut lines), 3, 0).unwrap();
    writer.push_slice(&[1, 2, 3, 4, 5]);
    assert_eq!(all_of(&mut reader), [3, 4, 5]);
    writer.push(&6);
    assert_eq!(all_of(&mut reader), [6]);
}

#[test]
fn the_printed_overwriting_queue_says_empty_when_it_is_full() {
    let mut printed = PrintedQrtwo::new(4);
    printed.enqueue(1);
    printed.enqueue(2);
    // Line 42 loads the tail, the writer enqueues twice (the second discards 1), line 42 loads the head.
    let tail = printed.tail;
    printed.enqueue(3);
    printed.enqueue(4);
    assert!(!printed.looks_empty(tail), "one slot more than what it takes");
    printed.enqueue(5);
    assert!(printed.looks_empty(tail), "the reader is told that nothing waits");
    assert!(!printed.is_empty(), "and three values have waited all the time");

    // Ours: the reader loads one word, and its own head is private: "empty" was true at that instant.
    let mut lines = [const { Line::new() }; 4];
    let (mut writer, mut reader) = qrtwo::pair::<u64>(Memory::new(&mut lines), 3, 0).unwrap();
    writer.push_slice(&[1, 2]);
    assert!(!reader.is_empty());
    writer.push_slice(&[3, 4, 5]);
    assert!(!reader.is_empty());
    assert_eq!(all_of(&mut reader), [3, 4, 5]);
}

#[test]
fn the_printed_overwriting_queue_of_one_says_empty_while_it_overwrites() {
    // Two slots, of which one is usable.
    let mut printed = PrintedQrtwo::new(2);
    printed.enqueue(1);
    // The next enqueue discards 1 and has not moved the tail yet: the queue has lost its newest complete value.
    let enqueue = printed.begin(2);
    let first = printed.first_attempt(&enqueue);
    assert!(first);
    let new = (printed.next(enqueue.local >> 2) << 2 | OVERWRITE) & !CHANGING;
    printed.cas(enqueue.local, new);
    assert!(printed.is_empty(), "a value was complete, none was taken, and none waits");

    let mut lines = [const { Line::new() }; 4];
    let (mut writer, mut reader) = qrtwo::pair::<u64>(Memory::new(&mut lines), 1, 0).unwrap();
    for n in 1..100 {
        writer.push(&n);
        assert!(!reader.is_empty());
        if n % 3 == 0 {
            assert_eq!(reader.pop().unwrap().unwrap().value, n);
        }
    }
}

/// Listing 4.
struct PrintedQrtwc {
    tail: usize,
    counter: u32,
    head: usize,
    slots: Vec<u64>,
}

impl PrintedQrtwc {
    fn new(size: usize) -> Self {
        Self { tail: size - 1, counter: 0, head: 0, slots: vec![0; size] }
    }

    fn next(&self, index: usize) -> usize {
        (index + 1) % self.slots.len()
    }

    /// Lines 21 to 25.
    fn enqueue(&mut self, value: u64) {
        self.counter += 1;
        self.tail = self.next(self.tail);
        self.slots[self.tail] = value;
        self.counter += 1;
    }

    /// Line 30.
    fn is_empty(&self) -> bool {
        self.next(self.tail) == self.head
    }

    /// Lines 33 to 40, without interference.
    fn copy(&mut self) -> u64 {
        let value = self.slots[self.head];
        self.head = self.next(self.head);
        value
    }

    fn dequeue(&mut self) -> Option<u64> {
        if self.is_empty() { None } else { Some(self.copy()) }
    }
}

#[test]
fn the_printed_clearing_queue_returns_what_it_has_discarded() {
    let mut printed = PrintedQrtwc::new(3);
    printed.enqueue(1);
    printed.enqueue(2);
    // Line 30: not empty. Then the writer clears, and has finished before line 33 loads the counter.
    assert!(!printed.is_empty());
    printed.enqueue(3);
    assert!(printed.is_empty(), "1, 2 and 3 are discarded, says the listing");
    assert_eq!(printed.copy(), 1, "and returned");
    assert_eq!([(); 3].map(|()| printed.dequeue()), [Some(2), Some(3), None], "and so on");

    // Ours: the values that wait follow from the tail against which the reader checks its copy.
    let mut lines = [const { Line::new() }; 4];
    let (mut writer, mut reader) = qrtwc::pair::<u64>(Memory::new(&mut lines), 2, 0).unwrap();
    writer.push_slice(&[1, 2]);
    assert!(!reader.is_empty());
    writer.push(&3);
    assert_eq!(reader.pop(), Ok(Some(qrtwc::Popped { value: 3, lost: 2 })));
    assert_eq!(reader.pop(), Ok(None));
}

#[test]
fn the_printed_clearing_queue_discards_the_newest_too() {
    let mut printed = PrintedQrtwc::new(3);
    (1..=3).for_each(|n| printed.enqueue(n));
    assert_eq!(printed.dequeue(), None, "3 is not old data");

    let mut lines = [const { Line::new() }; 4];
    let (mut writer, mut reader) = qrtwc::pair::<u64>(Memory::new(&mut lines), 2, 0).unwrap();
    writer.push_slice(&[1, 2, 3]);
    assert_eq!(all_of(&mut reader), [3]);
}

#[test]
fn the_printed_clearing_queue_holds_one_less_than_its_slots() {
    let mut printed = PrintedQrtwc::new(3);
    let held = (1..).take_while(|n| {
        printed.enqueue(*n);
        !printed.is_empty()
    });
    assert_eq!(held.count(), 2);

    let mut lines = [const { Line::new() }; 4];
    let (mut writer, mut reader) = qrtwc::pair::<u64>(Memory::new(&mut lines), 3, 0).unwrap();
    writer.push_slice(&[1, 2, 3]);
    assert_eq!(all_of(&mut reader), [1, 2, 3]);
}
