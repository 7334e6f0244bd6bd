// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A process that kills itself with SIGKILL before the n-th shared step of an operation, for every n, protocol and
//! operation: the other ends continue, and so does a successor. `RUSTFLAGS="--cfg steps" cargo test -p taut-share
//! --test deaths`.
#![cfg(steps)]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

mod account;
mod objects;
mod payload;
mod process;

use std::os::unix::process::ExitStatusExt;

use account::{ByLine, Newest};
use objects::{Got, Queue, State, WhenFull, every_queue, every_state};
use payload::{marked, number};
use process::{Mapping, orders};
use taut_atomic::steps::{count, strike_at};

/// Words of a value.
const N: usize = 3;
const CAPACITY: u32 = 2;

fn die() {
    // SAFETY: it kills this process, on purpose.
    unsafe { libc::raise(libc::SIGKILL) };
}

/// The started processes: each attaches, begins one operation, and dies before its n-th step. The number in its
/// orders is n, and above 16 bits the value to write or the number of the reader.
#[test]
fn process() {
    let Some((role, mapping, number)) = orders() else {
        return println!("no test: for processes that tests start");
    };
    let (protocol, end) = role.split_once('-').unwrap();
    let (n, what) = (number & 0xFFFF, number >> 16);
    macro_rules! states {
        ($($module:ident $object:ident)*) => {
            match protocol {
                $(stringify!($module) => state_process::<objects::$object>(end, &mapping, n, what),)*
                _ => {}
            }
        };
    }
    every_state!(states);
    macro_rules! queues {
        ($($module:ident $object:ident)*) => {
            match protocol {
                $(stringify!($module) => queue_process::<objects::$object>(end, &mapping, n, what),)*
                _ => {}
            }
        };
    }
    every_queue!(queues);
}

fn state_process<S: State<N>>(end: &str, mapping: &Mapping, n: u64, what: u64) {
    if end == "writer" {
        // SAFETY: the test starts one at a time.
        let mut writer = unsafe { S::writer(mapping.memory()) };
        strike_at(n, die);
        S::write(&mut writer, &marked(what));
    } else {
        // SAFETY: the test starts one of each number at a time.
        let mut reader = unsafe { S::reader(mapping.memory(), u32::try_from(what).unwrap()) };
        strike_at(n, die);
        if let Got::Value(value) = S::read(&mut reader) {
            number(&value);
        }
    }
}

fn queue_process<Q: Queue<N>>(end: &str, mapping: &Mapping, n: u64, what: u64) {
    if end == "writer" {
        // SAFETY: the test starts one at a time.
        let mut writer = unsafe { Q::writer(mapping.memory(), CAPACITY) };
        strike_at(n, die);
        Q::push(&mut writer, marked(what));
    } else {
        // SAFETY: the test starts one at a time.
        let mut reader = unsafe { Q::reader(mapping.memory(), CAPACITY) };
        strike_at(n, die);
        if let Got::Value((value, _)) = Q::pop(&mut reader) {
            number(&value);
        }
    }
}

/// Lets a process in `role` die before step `n` of an operation, and returns whether it died: if not, the operation
/// has fewer steps.
fn dies(mapping: &Mapping, role: &str, n: u64, what: u64) -> bool {
    let status = mapping.start(role, n | what << 16).wait();
    let died = status.signal() == Some(libc::SIGKILL);
    assert!(died || status.success(), "{role} at step {n}: {status}");
    died
}

/// An object with all its readers except `absent`; they have read every value that was written.
struct Scene<S: State<N>> {
    readers: Vec<(S::Reader, Newest)>,
    /// Number of the last write.
    last: u64,
    /// After the ends, so that it is dropped after them.
    mapping: Mapping,
}

impl<S: State<N>> Scene<S> {
    /// With values 1 to `history`.
    fn new(history: u64, absent: Option<u32>) -> (Self, S::Writer) {
        let mapping = Mapping::create(S::bytes());
        // SAFETY: the only ends, each once.
        let (mut writer, readers) = unsafe {
            let present = (0..S::READERS).filter(|which| Some(*which) != absent);
            let readers = present.map(|which| (S::reader(mapping.memory(), which), Newest::default()));
            (S::writer(mapping.memory()), readers.collect())
        };
        let mut scene = Self { mapping, readers, last: 0 };
        scene.writes_arrive(&mut writer, history, "before");
        (scene, writer)
    }

    /// Lets every reader read. Each gets a value from `complete` to `begun`, or a report that it cannot; in an atomic
    /// protocol none gets an older value than the reader before it.
    fn look(&mut self, mut complete: u64, begun: u64) {
        for (reader, newest) in &mut self.readers {
            if let Some(n) = newest.judge::<N, S>(S::read(reader), complete) {
                assert!(n <= begun, "{}: {n} was never written", S::NAME);
                if S::ATOMIC {
                    complete = complete.max(n);
                }
            }
        }
    }

    /// Writes `count` values, each of which arrives at every reader.
    fn writes_arrive(&mut self, writer: &mut S::Writer, count: u64, at: &str) {
        for _ in 0..count {
            self.last += 1;
            assert!(S::write(writer, &marked(self.last)), "{}, {at}: not written", S::NAME);
            for (reader, newest) in &mut self.readers {
                let got = newest.judge::<N, S>(S::read(reader), self.last);
                assert_eq!(got, Some(self.last), "{}, {at}", S::NAME);
            }
        }
    }

    /// A write while a dead reader has no successor yet: it may be refused, if the protocol says so.
    fn one_write_or_none(&mut self, writer: &mut S::Writer) {
        let n = self.last + 1;
        if S::write(writer, &marked(n)) {
            self.last = n;
        } else {
            assert!(!S::WRITES_ALWAYS, "{}: a write that did not", S::NAME);
        }
        self.look(self.last, self.last);
    }

    fn successor(&self) -> S::Writer {
        // SAFETY: the previous writer has ended or is not used again.
        unsafe { S::writer(self.mapping.memory()) }
    }

    /// Attaches the reader of number `which` (again); it gets the last value at once.
    fn reader_comes(&mut self, which: u32, at: &str) {
        // SAFETY: the previous reader has ended.
        let mut reader = unsafe { S::reader(self.mapping.memory(), which) };
        let mut newest = Newest::default();
        let got = newest.judge::<N, S>(S::read(&mut reader), self.last);
        assert_eq!(got.unwrap_or(0), self.last, "{}, {at}: a new reader", S::NAME);
        self.readers.push((reader, newest));
    }
}

/// Values written before the death: none, so that the death is in the first write; one; and more than there are slots
/// in turn.
const HISTORIES: [u64; 3] = [0, 1, 5];
/// Values written after the death: so many that every slot is used again.
const AFTERWARDS: u64 = 12;

fn writer_dies<S: State<N>>(role: &str) {
    for history in HISTORIES {
        let (scene, _) = Scene::<S>::new(history, None);
        let (written, steps) =
            count_of(&mut scene.successor(), |writer| S::write(writer, &marked(history + 1)));
        assert!(written && steps <= S::WRITE_STEPS, "{}: {steps} steps", S::NAME);
        // At each step, with an object of its own.
        for n in 1..=steps + 1 {
            let at = format!("step {n} of {steps} after {history}");
            let (mut scene, _) = Scene::<S>::new(history, None);
            let died = dies(&scene.mapping, role, n, history + 1);
            assert_eq!(died, n <= steps, "{}, {at}", S::NAME);
            for _ in 0..3 {
                scene.look(history + u64::from(!died), history + 1);
            }
            scene.last = history + 1;
            let mut next = scene.successor();
            scene.writes_arrive(&mut next, AFTERWARDS, &at);
        }
        // One death after the other, without a complete write in between.
        let (mut scene, _) = Scene::<S>::new(history, None);
        let mut complete = history;
        for n in 1..=steps {
            scene.last += 1;
            // A successor may need fewer steps, and then lives.
            if !dies(&scene.mapping, role, n, scene.last) {
                complete = scene.last;
            }
            scene.look(complete, scene.last);
        }
        let mut next = scene.successor();
        scene.writes_arrive(&mut next, AFTERWARDS, "all the deaths");
    }
}

fn reader_dies<S: State<N>>(role: &str) {
    for (history, which) in
        HISTORIES.into_iter().flat_map(|history| [(history, 0), (history, S::READERS - 1)])
    {
        let (scene, _writer) = Scene::<S>::new(history, Some(which));
        // SAFETY: the only reader of its number.
        let mut reader = unsafe { S::reader(scene.mapping.memory(), which) };
        let (_, steps) = count_of(&mut reader, S::read);
        assert!(steps <= S::READ_STEPS, "{}: {steps} steps", S::NAME);
        for n in 1..=steps + 1 {
            let at = format!("reader {which}, step {n} of {steps} after {history}");
            let (mut scene, mut writer) = Scene::<S>::new(history, Some(which));
            let died = dies(&scene.mapping, role, n, u64::from(which));
            assert_eq!(died, n <= steps, "{}, {at}", S::NAME);
            if S::READERS_MAY_DIE || !died {
                scene.writes_arrive(&mut writer, AFTERWARDS, &at);
            } else {
                scene.one_write_or_none(&mut writer);
            }
            scene.reader_comes(which, &at);
            scene.writes_arrive(&mut writer, AFTERWARDS, &at);
        }
        // One death after the other: each process is the successor of the previous one, and the last reader is the
        // successor of all.
        let (mut scene, mut writer) = Scene::<S>::new(history, Some(which));
        for n in 1..=steps {
            dies(&scene.mapping, role, n, u64::from(which));
            if S::READERS_MAY_DIE {
                scene.writes_arrive(&mut writer, 1, "so many deaths");
            } else {
                scene.one_write_or_none(&mut writer);
            }
        }
        scene.reader_comes(which, "all the deaths");
        scene.writes_arrive(&mut writer, AFTERWARDS, "all the deaths");
    }
}

/// The steps that `operation` takes.
fn count_of<E, R>(end: &mut E, operation: impl FnOnce(&mut E) -> R) -> (R, u64) {
    let (result, steps) = count(|| operation(end));
    (result, steps.total())
}

/// A queue, and the possibilities of what it holds: a death leaves two of them, and the next pops exclude one.
struct Line<Q: Queue<N>> {
    may_be: Vec<ByLine>,
    /// Number of the last push.
    last: u64,
    mapping: Mapping,
    queue: std::marker::PhantomData<Q>,
}

impl<Q: Queue<N>> Line<Q> {
    /// After this many pushes, and pops.
    fn new((pushes, pops): (u64, u64)) -> (Self, Q::Writer, Q::Reader) {
        let mapping = Mapping::create(Q::bytes(CAPACITY));
        // SAFETY: the only ends.
        let (mut writer, mut reader) =
            unsafe { (Q::writer(mapping.memory(), CAPACITY), Q::reader(mapping.memory(), CAPACITY)) };
        let may_be = vec![ByLine::new(Q::WHEN_FULL, CAPACITY, N)];
        let mut line = Self { may_be, last: 0, mapping, queue: std::marker::PhantomData };
        (0..pushes).for_each(|_| line.push(&mut writer, "before"));
        (0..pops).for_each(|_| line.pop(&mut reader, "before"));
        (line, writer, reader)
    }

    fn push(&mut self, writer: &mut Q::Writer, at: &str) {
        self.last += 1;
        let taken = Q::push(writer, marked(self.last));
        self.may_be.retain_mut(|policy| policy.push(self.last) == taken);
        assert!(!self.may_be.is_empty(), "{}, {at}: {}, taken: {taken}", Q::NAME, self.last);
    }

    fn pop(&mut self, reader: &mut Q::Reader, at: &str) {
        let popped = match Q::pop(reader) {
            Got::Value((value, lost)) => Some((number(&value), lost)),
            Got::Nothing => None,
            Got::Unavailable => panic!("{}, {at}: nobody writes", Q::NAME),
        };
        let before = self.may_be.clone();
        self.may_be.retain_mut(|policy| policy.pop() == popped);
        assert!(!self.may_be.is_empty(), "{}, {at}: {popped:?} of {before:?}", Q::NAME);
    }

    /// Adds the possibility that `operation` took place.
    fn perhaps(&mut self, operation: impl Fn(&mut ByLine)) {
        for mut after in self.may_be.clone() {
            operation(&mut after);
            if !self.may_be.contains(&after) {
                self.may_be.push(after);
            }
        }
    }

    /// The previous reader has ended.
    fn reader_ends(&mut self) {
        self.may_be.iter_mut().for_each(ByLine::succeed);
    }

    /// More pushes and pops, through every slot, until the queue is empty at last.
    fn goes_on(&mut self, writer: &mut Q::Writer, reader: &mut Q::Reader, at: &str) {
        for round in 0..12 {
            (0..round % 4).for_each(|_| self.push(writer, at));
            (0..round % 3).for_each(|_| self.pop(reader, at));
        }
        (0..=CAPACITY).for_each(|_| self.pop(reader, at));
    }
}

/// Empty and new, one, full, overfull, empty again, one again.
const FILLS: [(u64, u64); 6] = [(0, 0), (1, 0), (2, 0), (5, 0), (2, 2), (3, 2)];

fn pusher_dies<Q: Queue<N>>(role: &str) {
    for fill in FILLS {
        let (line, _, _) = Line::<Q>::new(fill);
        // SAFETY: the previous writer is gone.
        let mut next = unsafe { Q::writer(line.mapping.memory(), CAPACITY) };
        let (_, steps) = count_of(&mut next, |writer| Q::push(writer, marked(line.last + 1)));
        assert!(steps <= Q::PUSH_STEPS, "{}: {steps} steps", Q::NAME);
        for n in 1..=steps + 1 {
            for look_first in [false, true] {
                let at = format!("step {n} of {steps} after {fill:?}");
                let (mut line, _, mut reader) = Line::<Q>::new(fill);
                line.last += 1;
                let value = line.last;
                let died = dies(&line.mapping, role, n, value);
                assert_eq!(died, n <= steps, "{}, {at}", Q::NAME);
                if died {
                    line.perhaps(|policy| {
                        policy.push(value);
                    });
                } else {
                    line.may_be[0].push(value);
                }
                if look_first {
                    // A writer that stopped in the middle of a push may keep a reader from the value that it would
                    // overwrite, if the protocol reports that.
                    match Q::pop(&mut reader) {
                        Got::Unavailable => {
                            assert!(died && Q::WHEN_FULL != WhenFull::Refuse, "{}, {at}", Q::NAME)
                        }
                        Got::Nothing => line.may_be.retain_mut(|policy| policy.pop().is_none()),
                        Got::Value((value, lost)) => {
                            line.may_be.retain_mut(|policy| policy.pop() == Some((number(&value), lost)));
                        }
                    }
                    assert!(!line.may_be.is_empty(), "{}, {at}", Q::NAME);
                }
                // SAFETY: the previous writers have ended or are not used again.
                let mut next = unsafe { Q::writer(line.mapping.memory(), CAPACITY) };
                line.push(&mut next, &at);
                line.goes_on(&mut next, &mut reader, &at);
            }
        }
    }
}

fn popper_dies<Q: Queue<N>>(role: &str) {
    for fill in FILLS {
        let (line, _writer, _) = Line::<Q>::new(fill);
        // SAFETY: the previous reader is gone.
        let mut next = unsafe { Q::reader(line.mapping.memory(), CAPACITY) };
        let (_, steps) = count_of(&mut next, Q::pop);
        assert!(steps <= Q::POP_STEPS, "{}: {steps} steps", Q::NAME);
        for n in 1..=steps + 1 {
            for push_first in [false, true] {
                let at = format!("step {n} of {steps} after {fill:?}");
                let (mut line, mut writer, _) = Line::<Q>::new(fill);
                line.reader_ends();
                let died = dies(&line.mapping, role, n, 0);
                assert_eq!(died, n <= steps, "{}, {at}", Q::NAME);
                if died {
                    // The value that it was taking comes once more, or not.
                    line.perhaps(|policy| {
                        policy.pop();
                    });
                } else {
                    line.may_be[0].pop();
                }
                // It has returned at most one value of the line that it copied.
                line.reader_ends();
                if push_first {
                    line.push(&mut writer, &at);
                }
                // SAFETY: the previous readers have ended or are not used again.
                let mut next = unsafe { Q::reader(line.mapping.memory(), CAPACITY) };
                line.goes_on(&mut writer, &mut next, &at);
            }
        }
        // One death after the other: each reader takes at most one value.
        let (mut line, mut writer, _) = Line::<Q>::new(fill);
        line.reader_ends();
        for n in 1..=steps {
            dies(&line.mapping, role, n, 0);
            line.perhaps(|policy| {
                policy.pop();
            });
            line.reader_ends();
        }
        // SAFETY: the previous readers have ended or are not used again.
        let mut next = unsafe { Q::reader(line.mapping.memory(), CAPACITY) };
        line.goes_on(&mut writer, &mut next, "all the deaths");
    }
}

macro_rules! states {
    ($($module:ident $object:ident)*) => {$(
        mod $module {
            #[test]
            fn writer() {
                super::writer_dies::<super::objects::$object>(concat!(stringify!($module), "-writer"));
            }

            #[test]
            fn reader() {
                super::reader_dies::<super::objects::$object>(concat!(stringify!($module), "-reader"));
            }
        }
    )*};
}
every_state!(states);

macro_rules! queues {
    ($($module:ident $object:ident)*) => {$(
        mod $module {
            #[test]
            fn writer() {
                super::pusher_dies::<super::objects::$object>(concat!(stringify!($module), "-writer"));
            }

            #[test]
            fn reader() {
                super::popper_dies::<super::objects::$object>(concat!(stringify!($module), "-reader"));
            }
        }
    )*};
}
every_queue!(queues);
