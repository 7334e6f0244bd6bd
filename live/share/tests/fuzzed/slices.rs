// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Queues, by slices of any length, with checks of `len`, and with a follower.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use taut_share::Memory;
use taut_share::queue::{broadcast, qrtr, qrtwc, qrtwo};

use super::{Ground, Scene};
use crate::payload::{marked, number};

const W: u64 = 3;
type Value = [u64; W as usize];
const CAPACITY: u32 = 3;
/// Slots of the rings beyond those that they need.
const SPARE: u32 = 1;
/// Longest slice.
const MOST: usize = 7;
/// The step bound of an attachment.
const ATTACH_STEPS: u64 = 4;

trait Slices: 'static {
    const BYTES: usize;
    /// Whether the queue refuses values and so never loses any.
    const REFUSES: bool;
    /// Step bound of a push of a slice, in addition to its words.
    const PUSH_STEPS: u64;
    /// Step bound of a pop of a slice, in addition to its words.
    const POP_STEPS: u64;
    type Writer: 'static;
    type Reader: 'static;
    type Follower: 'static;
    unsafe fn writer(memory: Memory<'static>) -> Self::Writer;
    unsafe fn reader(memory: Memory<'static>) -> Self::Reader;
    unsafe fn follower(memory: Memory<'static>) -> Option<Self::Follower>;
    /// Returns how many values were taken.
    fn push(writer: &mut Self::Writer, values: &[Value]) -> usize;
    /// Returns how many values came, and how many were lost before them; `None` if the pop reported an error.
    fn pop(reader: &mut Self::Reader, values: &mut [Value]) -> Option<(usize, u64)>;
    fn follow(follower: &mut Self::Follower, values: &mut [Value]) -> Option<(usize, u64)>;
    fn lengths(writer: &Self::Writer, reader: &Self::Reader) -> (usize, usize);
}

enum Qrtr {}

impl Slices for Qrtr {
    const BYTES: usize = qrtr::bytes::<Value>(CAPACITY).unwrap();
    const REFUSES: bool = true;
    const PUSH_STEPS: u64 = 2;
    const POP_STEPS: u64 = 2;
    type Writer = qrtr::Writer<'static, Value>;
    type Reader = qrtr::Reader<'static, Value>;
    type Follower = ();

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { qrtr::writer(memory, CAPACITY) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { qrtr::reader(memory, CAPACITY) }.unwrap()
    }

    unsafe fn follower(_: Memory<'static>) -> Option<()> {
        None
    }

    fn push(writer: &mut Self::Writer, values: &[Value]) -> usize {
        writer.push_slice(values)
    }

    fn pop(reader: &mut Self::Reader, values: &mut [Value]) -> Option<(usize, u64)> {
        reader.pop_slice(values).ok().map(|count| (count, 0))
    }

    fn follow((): &mut (), _: &mut [Value]) -> Option<(usize, u64)> {
        None
    }

    fn lengths(writer: &Self::Writer, reader: &Self::Reader) -> (usize, usize) {
        (writer.len(), reader.len())
    }
}

/// With one reader, which the writer respects.
enum Broadcast {}

impl Slices for Broadcast {
    const BYTES: usize = broadcast::bytes::<Value>(1, CAPACITY).unwrap();
    const REFUSES: bool = true;
    // A look at the reader's head; a store and a fence for each batch, of 2.
    const PUSH_STEPS: u64 = 1 + 2 * MOST.div_ceil(2) as u64;
    const POP_STEPS: u64 = 5;
    type Writer = broadcast::Writer<'static, Value>;
    type Reader = broadcast::Reader<'static, Value>;
    type Follower = ();

    unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
        // SAFETY: the caller's duties are the same.
        unsafe { broadcast::writer(memory, 1, CAPACITY) }.unwrap()
    }

    unsafe fn reader(memory: Memory<'static>) -> Self::Reader {
        // SAFETY: the caller's duties are the same.
        unsafe { broadcast::reader(memory, 1, CAPACITY, 0) }.unwrap()
    }

    unsafe fn follower(_: Memory<'static>) -> Option<()> {
        None
    }

    fn push(writer: &mut Self::Writer, values: &[Value]) -> usize {
        writer.push_slice(values)
    }

    fn pop(reader: &mut Self::Reader, values: &mut [Value]) -> Option<(usize, u64)> {
        reader.pop_slice(values).ok().map(|popped| (popped.count, popped.lost))
    }

    fn follow((): &mut (), _: &mut [Value]) -> Option<(usize, u64)> {
        None
    }

    fn lengths(writer: &Self::Writer, reader: &Self::Reader) -> (usize, usize) {
        (writer.len(), reader.len())
    }
}

macro_rules! ring {
    ($name:ident, $module:ident) => {
        enum $name {}

        impl Slices for $name {
            const BYTES: usize = $module::bytes::<Value>(CAPACITY, SPARE).unwrap();
            const REFUSES: bool = false;
            // A store and a fence for each batch, of 2.
            const PUSH_STEPS: u64 = 2 * MOST.div_ceil(2) as u64;
            const POP_STEPS: u64 = 5;
            type Writer = $module::Writer<'static, Value>;
            type Reader = $module::Reader<'static, Value>;
            type Follower = $module::Follower<'static, Value>;

            unsafe fn writer(memory: Memory<'static>) -> Self::Writer {
                // SAFETY: the caller's duties are the same.
                unsafe { $module::writer(memory, CAPACITY, SPARE) }.unwrap()
            }

            unsafe fn reader(memory: Memory<'static>) -> Self::Reader {
                // SAFETY: the caller's duties are the same.
                unsafe { $module::reader(memory, CAPACITY, SPARE) }.unwrap()
            }

            unsafe fn follower(memory: Memory<'static>) -> Option<Self::Follower> {
                // SAFETY: the caller's duties are the same.
                Some(unsafe { $module::follower(memory, CAPACITY, SPARE) }.unwrap())
            }

            fn push(writer: &mut Self::Writer, values: &[Value]) -> usize {
                writer.push_slice(values);
                values.len()
            }

            fn pop(reader: &mut Self::Reader, values: &mut [Value]) -> Option<(usize, u64)> {
                reader.pop_slice(values).ok().map(|popped| (popped.count, popped.lost))
            }

            fn follow(follower: &mut Self::Follower, values: &mut [Value]) -> Option<(usize, u64)> {
                follower.pop_slice(values).ok().map(|popped| (popped.count, popped.lost))
            }

            fn lengths(writer: &Self::Writer, reader: &Self::Reader) -> (usize, usize) {
                (writer.len(), reader.len())
            }
        }
    };
}
ring!(Qrtwo, qrtwo);
ring!(Qrtwc, qrtwc);

/// The last number that an end has received, where the test knows it.
type Last = Option<u64>;

struct Object<Q: Slices> {
    writer: RefCell<Option<Q::Writer>>,
    reader: RefCell<Option<(Q::Reader, Last)>>,
    follower: RefCell<Option<(Q::Follower, Last)>>,
    /// Number of values whose push is complete.
    pushed: Cell<u64>,
    /// After the ends, so that it is dropped after them.
    ground: Ground,
}

fn build<Q: Slices>(ground: Ground) -> Rc<dyn Scene> {
    ground.take(Q::BYTES);
    // SAFETY: the only ends, in one thread, dropped before the ground.
    let (writer, reader, follower) =
        unsafe { (Q::writer(ground.memory()), Q::reader(ground.memory()), Q::follower(ground.memory())) };
    Rc::new(Object::<Q> {
        writer: RefCell::new(Some(writer)),
        reader: RefCell::new(Some((reader, Some(0)))),
        follower: RefCell::new(follower.map(|follower| (follower, Some(0)))),
        pushed: Cell::new(0),
        ground,
    })
}

pub(super) fn qrtr(ground: Ground) -> Rc<dyn Scene> {
    build::<Qrtr>(ground)
}

pub(super) fn qrtwo(ground: Ground) -> Rc<dyn Scene> {
    build::<Qrtwo>(ground)
}

pub(super) fn qrtwc(ground: Ground) -> Rc<dyn Scene> {
    build::<Qrtwc>(ground)
}

pub(super) fn broadcast(ground: Ground) -> Rc<dyn Scene> {
    build::<Broadcast>(ground)
}

impl<Q: Slices> Object<Q> {
    fn push(&self, count: usize) {
        let Some(mut writer) = self.writer.take() else { return };
        let first = self.pushed.get() + 1;
        let values: [Value; MOST] = std::array::from_fn(|i| marked(first + i as u64));
        let limit = Q::PUSH_STEPS + W * count as u64;
        let done = self.ground.run(limit, || Q::push(&mut writer, &values[..count]));
        assert!(done.result <= count);
        if Q::REFUSES {
            assert!(done.result <= CAPACITY as usize);
        }
        self.pushed.set(first - 1 + done.result as u64);
        self.writer.replace(Some(writer));
    }

    /// Lets an end pop `count` values, and checks them against the last number that it has received. Returns the new
    /// last number.
    fn judge(
        &self,
        count: usize,
        last: Last,
        pop: impl FnOnce(&mut [Value]) -> Option<(usize, u64)>,
    ) -> Last {
        let complete = self.pushed.get();
        let mut values = [[0; W as usize]; MOST];
        let done = self.ground.run(Q::POP_STEPS + W * count as u64, || pop(&mut values[..count]));
        let Some((popped, lost)) = done.result else {
            assert!(!self.ground.is_honest() || !(done.alone || Q::REFUSES), "told, but nobody writes");
            return last;
        };
        assert!(popped <= count && popped <= CAPACITY as usize, "{popped} of {count}");
        let values = &values[..popped];
        if !self.ground.is_honest() {
            for value in values {
                if done.alone && !self.ground.is_garbage(value) && *value != [0; W as usize] {
                    number(value);
                }
            }
            return last;
        }
        let numbers: Vec<u64> = values.iter().map(number).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
        if let (Some(last), Some(first)) = (last, numbers.first()) {
            assert_eq!(*first, last + 1 + lost, "after {last} and {lost} lost");
            assert!(lost == 0 || !Q::REFUSES);
        } else if let (Some(last), true) = (last, count > 0) {
            assert!(complete <= last, "nothing after {last}, {complete} was complete");
        }
        numbers.last().copied().or(last)
    }
}

impl<Q: Slices> Scene for Object<Q> {
    fn ground(&self) -> &Ground {
        &self.ground
    }

    fn ends(&self) -> u8 {
        3
    }

    fn operate(&self, end: u8, how: u8) {
        let count = usize::from(how / 3) % (MOST + 1);
        match end {
            0 => self.push(count),
            1 => {
                if let Some((mut reader, last)) = self.reader.take() {
                    let last = self.judge(count, last, |values| Q::pop(&mut reader, values));
                    if let Some(writer) = self.writer.take() {
                        let lengths = self.ground.run(2, || Q::lengths(&writer, &reader)).result;
                        assert!(lengths.0.max(lengths.1) <= CAPACITY as usize, "{lengths:?}");
                        self.writer.replace(Some(writer));
                    }
                    self.reader.replace(Some((reader, last)));
                }
            }
            _ => {
                if let Some((mut follower, last)) = self.follower.take() {
                    let last = self.judge(count, last, |values| Q::follow(&mut follower, values));
                    self.follower.replace(Some((follower, last)));
                }
            }
        }
    }

    fn succeed(&self, end: u8) {
        let memory = self.ground.memory();
        match end {
            0 => {
                if self.writer.take().is_some() {
                    // SAFETY: the previous end is gone.
                    let writer = self.ground.run(ATTACH_STEPS, || unsafe { Q::writer(memory) }).result;
                    self.writer.replace(Some(writer));
                }
            }
            1 => {
                if let Some((_, last)) = self.reader.take() {
                    // SAFETY: the previous end is gone.
                    let reader = self.ground.run(ATTACH_STEPS, || unsafe { Q::reader(memory) }).result;
                    self.reader.replace(Some((reader, last)));
                }
            }
            _ => {
                if self.follower.take().is_some() {
                    let alone = self.writer.borrow().is_some();
                    // SAFETY: a follower stores nothing in the object.
                    let done = self.ground.run(ATTACH_STEPS, || unsafe { Q::follower(memory) });
                    // A follower that attaches in the middle of a push begins with a value of that slice.
                    let last = (alone && done.alone).then(|| self.pushed.get());
                    let follower = done.result;
                    self.follower.replace(follower.map(|follower| (follower, last)));
                }
            }
        }
    }
}
