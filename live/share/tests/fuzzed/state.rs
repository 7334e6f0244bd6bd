// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Protocols of the newest value.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::ground::Done;
use super::{Ground, Scene};
use crate::account::Newest;
use crate::objects::{Got, State};
use crate::payload::{marked, number};

/// Protocols whose readers may miss the last written value after a stranger has written: the readers depend on words
/// that a write does not store each time. Readers of all other protocols find the value.
const UNMENDED: [&str; 3] = ["Double Buffer", "Improved Double Buffer", "TCCP"];

/// The step bound of an attachment: a few words for each end and slot.
const ATTACH_STEPS: u64 = 64;

/// None while it is in the middle of an operation.
type End<E> = RefCell<Option<E>>;

struct Object<const N: usize, S: State<N>> {
    writer: End<S::Writer>,
    readers: Vec<End<(S::Reader, Newest)>>,
    /// Number of the last write that has begun.
    begun: Cell<u64>,
    /// Number of the last write that is complete.
    complete: Cell<u64>,
    /// Numbers of the writes that the protocol refused.
    refused: RefCell<Vec<u64>>,
    /// The newest value that any reader has returned.
    newest: Cell<u64>,
    /// The word of SDrtR as its writer left it, where the test knows it.
    left: Cell<Option<u64>>,
    /// The last write that nothing interrupted, and how often a stranger had written then.
    written: Cell<(u64, u64)>,
    /// After the ends, so that it is dropped after them.
    ground: Ground,
}

pub(super) fn build<const N: usize, S: State<N>>(ground: Ground) -> Rc<dyn Scene> {
    ground.take(S::bytes());
    // SAFETY: the only ends, each once, in one thread, dropped before the ground.
    let (writer, readers) = unsafe {
        let reader = |which| RefCell::new(Some((S::reader(ground.memory(), which), Newest::default())));
        (S::writer(ground.memory()), (0..S::READERS).map(reader).collect())
    };
    Rc::new(Object::<N, S> {
        writer: RefCell::new(Some(writer)),
        readers,
        begun: Cell::new(0),
        complete: Cell::new(0),
        refused: RefCell::default(),
        newest: Cell::new(0),
        left: Cell::new(Some(0)),
        written: Cell::new((0, 0)),
        ground,
    })
}

impl<const N: usize, S: State<N>> Object<N, S> {
    fn write(&self) {
        let Some(mut writer) = self.writer.take() else { return };
        let n = self.begun.get() + 1;
        self.begun.set(n);
        let found = self.ground.word(0);
        let Done { result: wrote, alone, still } =
            self.ground.run(S::WRITE_STEPS, || S::write(&mut writer, &marked(n)));
        self.writer.replace(Some(writer));
        if wrote {
            self.complete.set(n);
            if still {
                self.written.set((n, self.ground.spoils()));
            }
        } else {
            self.refused.borrow_mut().push(n);
        }
        if self.ground.is_honest() {
            assert!(wrote || !(alone || S::WRITES_ALWAYS), "{}: refused, but nobody reads", S::NAME);
        }
        if S::NAME == "SDrtR" {
            if let (true, Some(left)) = (still, self.left.get()) {
                assert_eq!(wrote, found == left, "SDrtR: {found:#x}, where {left:#x} was left");
            }
            if !still {
                self.left.set(None);
            } else if wrote {
                self.left.set(Some(self.ground.word(0)));
            }
        }
    }

    fn read(&self, which: usize) {
        let Some((mut reader, mut account)) = self.readers[which].take() else { return };
        let newest = if S::ATOMIC { self.newest.get() } else { 0 };
        let complete = self.complete.get().max(newest);
        let Done { result: got, alone, still } = self.ground.run(S::READ_STEPS, || S::read(&mut reader));
        if self.ground.is_honest() {
            if let Some(n) = account.judge::<N, S>(got, complete) {
                assert!(n <= self.begun.get(), "{}: {n} is not written yet", S::NAME);
                assert!(!self.refused.borrow().contains(&n), "{}: {n} was refused", S::NAME);
                self.newest.set(self.newest.get().max(n));
            }
            assert!(!alone || got != Got::Unavailable, "{}: nobody writes", S::NAME);
        } else {
            self.judge_spoilt(got, alone, still);
        }
        self.readers[which].replace(Some((reader, account)));
    }

    fn judge_spoilt(&self, got: Got<[u64; N]>, alone: bool, still: bool) {
        if let (Got::Value(value), true) = (got, alone)
            && !self.ground.is_garbage(&value)
            && value != [0; N]
        {
            let n = number(&value);
            assert!(n <= self.begun.get(), "{}: {n} is not written yet", S::NAME);
        }
        let (last, spoils) = self.written.get();
        if still && last == self.begun.get() && spoils == self.ground.spoils() && !UNMENDED.contains(&S::NAME)
        {
            assert_eq!(got, Got::Value(marked(last)), "{}: not what was written last", S::NAME);
        }
    }
}

impl<const N: usize, S: State<N>> Scene for Object<N, S> {
    fn ground(&self) -> &Ground {
        &self.ground
    }

    fn ends(&self) -> u8 {
        1 + S::READERS as u8
    }

    fn operate(&self, end: u8, _: u8) {
        match end {
            0 => self.write(),
            which => self.read(usize::from(which) - 1),
        }
    }

    fn succeed(&self, end: u8) {
        if end == 0 {
            if self.writer.take().is_some() {
                // SAFETY: the previous writer is gone.
                let attach = || unsafe { S::writer(self.ground.memory()) };
                self.writer.replace(Some(self.ground.run(ATTACH_STEPS, attach).result));
                self.left.set(Some(self.ground.word(0) & 6));
            }
        } else if let Some((reader, account)) = self.readers[usize::from(end) - 1].take() {
            drop(reader);
            // SAFETY: the reader of that number before is gone.
            let attach = || unsafe { S::reader(self.ground.memory(), u32::from(end) - 1) };
            let reader = self.ground.run(ATTACH_STEPS, attach).result;
            self.readers[usize::from(end) - 1].replace(Some((reader, account)));
        }
    }
}
