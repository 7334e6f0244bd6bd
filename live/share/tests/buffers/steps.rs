// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The step bounds that the files of the protocols with several buffers state, counted exactly:
//! `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test steps buffers::`.

use std::cell::{Cell, RefCell};

use taut_atomic::steps::{Steps, count, strike_at};
use taut_share::state::{double_buffer, improved_double_buffer, presence};
use taut_share::{LINE_BYTES, Line, Memory};

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };

fn memory(bytes: usize) -> Memory<'static> {
    Memory::new(Vec::leak((0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect()))
}

fn steps(work: impl FnOnce()) -> Steps {
    count(work).1
}

fn presence_takes<const N: usize>(readers: u32) {
    let words = N.div_ceil(8) as u64;
    let memory = memory(presence::bytes::<[u8; N]>(readers));
    let (mut writer, group) = presence::group::<[u8; N]>(memory, readers).unwrap();
    let mut group: Vec<_> = group.collect();
    let look = Steps { loads: 1, ..NONE };
    let enter = Steps { loads: 1, exchanges: 1, ..NONE };
    for reader in &mut group {
        assert_eq!(steps(|| assert!(reader.read().is_none())), enter, "the first look sets the bit");
        assert_eq!(steps(|| assert!(reader.read().is_none())), look);
        assert_eq!(steps(|| assert!(reader.read_if_newer().is_none())), look);
        assert_eq!(steps(|| assert!(reader.read_with(|_| ()).is_none())), look);
    }
    // Every reader has looked: one exchange detects that.
    let written = |found: u64, stores: u64| Steps { exchanges: 1 + found, stores: 1 + stores, words, ..NONE };
    assert_eq!(steps(|| writer.write(&[1; N])), written(1, u64::from(readers)));
    assert_eq!(steps(|| writer.write(&[2; N])), written(0, 0), "nobody has looked");
    assert_eq!(steps(|| writer.write_with(|value| *value = [3; N])), written(0, 0));
    for reader in &mut group {
        assert_eq!(steps(|| assert_eq!(reader.read(), Some([3; N]))), Steps { words, ..enter });
        assert_eq!(steps(|| assert_eq!(reader.read(), Some([3; N]))), Steps { words, ..look });
        let sample = Steps { loads: 2, words, ..NONE };
        assert_eq!(steps(|| assert_eq!(reader.read_sample().unwrap().version, 3)), sample);
        assert_eq!(steps(|| assert!(reader.read_if_newer().is_none())), look);
    }
    assert_eq!(steps(|| writer.write(&[4; N])), written(1, u64::from(readers)));
    let newer = Steps { loads: 2, exchanges: 1, words, ..NONE };
    assert_eq!(steps(|| assert!(group[0].read_if_newer().is_some())), newer);
    writer.write(&[5; N]);
    let inside = steps(|| assert!(group[0].read_with(|value| *value == [5; N]).unwrap()));
    assert_eq!(inside, Steps { words, ..enter });
}

/// The worst case of a write: before each of its exchanges a reader sets its bit. Here a strike before a step makes
/// the readers do so, in the same thread.
#[test]
fn presence_worst_write() {
    const READERS: u32 = 5;
    thread_local!(static LEFT: RefCell<Vec<presence::Reader<'static, u64>>> = const { RefCell::new(Vec::new()) });
    fn come() {
        let Some(mut reader) = LEFT.with_borrow_mut(Vec::pop) else { return };
        assert_eq!(reader.read(), None);
        // After the exchange, which fails now: the store that records the reader, then the next exchange.
        strike_at(2, come);
    }
    let memory = memory(presence::bytes::<u64>(READERS));
    let (mut writer, group) = presence::group::<u64>(memory, READERS).unwrap();
    LEFT.set(group.collect());
    // The word, the number, the exchange.
    strike_at(3, come);
    let took = steps(|| writer.write(&1));
    assert!(LEFT.with_borrow(Vec::is_empty), "every reader came in between");
    // Including the readers' own steps, a load and an exchange each.
    let readers = u64::from(READERS);
    let expected =
        Steps { loads: readers, exchanges: 2 * readers + 1, stores: 1 + readers, words: 1, fences: 0 };
    assert_eq!(took, expected);
}

fn double_buffer_takes<const N: usize>(readers: u32) {
    let words = N.div_ceil(8) as u64;
    let memory = memory(double_buffer::bytes::<[u8; N]>(readers));
    let (mut writer, group) = double_buffer::group::<[u8; N]>(memory, readers).unwrap();
    let mut group: Vec<_> = group.collect();
    let look = Steps { loads: 1, ..NONE };
    let write = Steps { fences: 1, loads: u64::from(readers), stores: 3, words, ..NONE };
    let stay = Steps { loads: 1, words, ..NONE };
    let go = Steps { loads: 3, stores: 1, fences: 1, words, ..NONE };
    for reader in &mut group {
        assert_eq!(steps(|| assert!(reader.read().is_none())), look);
        assert_eq!(steps(|| assert!(reader.read_if_newer().is_none())), look);
    }
    assert_eq!(steps(|| writer.write(&[1; N])), write);
    for reader in &mut group {
        assert_eq!(steps(|| assert_eq!(reader.read(), Some([1; N]))), go);
        assert_eq!(steps(|| assert_eq!(reader.read(), Some([1; N]))), stay);
        assert_eq!(steps(|| assert_eq!(reader.read_sample().unwrap().version, 1)), stay);
        assert_eq!(steps(|| assert!(reader.read_if_newer().is_none())), look);
        assert_eq!(steps(|| assert_eq!(reader.version(), 1)), look);
    }
    assert_eq!(steps(|| writer.write_with(|value| *value = [2; N])), write);
    assert_eq!(steps(|| assert!(group[0].read_if_newer().is_some())), go);
    writer.write(&[3; N]);
    assert_eq!(steps(|| assert!(group[0].read_with(|value| *value == [3; N]).unwrap())), go);
}

fn improved_takes<const N: usize>(slow: u32, overlaps: u32) {
    let words = N.div_ceil(8) as u64;
    let memory = memory(improved_double_buffer::bytes::<[u8; N]>(slow, overlaps).unwrap());
    let (mut writer, slows, mut fast) =
        improved_double_buffer::group::<[u8; N]>(memory, slow, overlaps).unwrap();
    let mut slows: Vec<_> = slows.collect();
    let look = Steps { loads: 1, ..NONE };
    let fences = 1 + u64::from(slow > 0);
    let write = Steps { fences, loads: u64::from(slow), stores: 3, words, ..NONE };
    let stay = Steps { loads: 1, words, ..NONE };
    let go = Steps { loads: 4, stores: 2, fences: 2, words, ..NONE };
    let quick = Steps { loads: 2, fences: 2, words, ..NONE };
    assert_eq!(steps(|| assert_eq!(fast.read(), Ok(None))), look);
    for slow in &mut slows {
        assert_eq!(steps(|| assert!(slow.read().is_none())), look);
    }
    for n in 1..5 {
        assert_eq!(steps(|| writer.write(&[n; N])), write);
        for slow in &mut slows {
            assert_eq!(steps(|| assert_eq!(slow.read(), Some([n; N]))), go);
            assert_eq!(steps(|| assert_eq!(slow.read(), Some([n; N]))), stay);
            assert_eq!(steps(|| assert!(slow.read_if_newer().is_none())), look);
            assert_eq!(steps(|| assert_eq!(slow.version(), u64::from(n))), look);
        }
        assert_eq!(steps(|| assert!(fast.read_if_newer().unwrap().is_some())), quick);
        assert_eq!(steps(|| assert!(fast.read_if_newer().unwrap().is_none())), look);
        assert_eq!(steps(|| assert_eq!(fast.version(), u64::from(n))), look);
        assert_eq!(steps(|| assert_eq!(fast.read(), Ok(Some([n; N])))), quick);
    }
}

#[test]
fn steps_are_as_documented() {
    macro_rules! each {
        ($($n:literal)*) => {$(
            for readers in [1, 2, 5] {
                presence_takes::<$n>(readers);
                double_buffer_takes::<$n>(readers);
            }
            for (slow, overlaps) in [(0, 1), (0, 4), (1, 0), (1, 3), (3, 5)] {
                improved_takes::<$n>(slow, overlaps);
            }
        )*};
    }
    each!(1 8 20 64 256 1000);
}

/// A reader comes to a row during a write in it: `cl` names that write, latest does not. One load more.
#[test]
fn double_buffer_reader_comes_into_a_write() {
    thread_local!(static COMES: RefCell<Option<double_buffer::Reader<'static, u64>>> = const { RefCell::new(None) });
    thread_local!(static TOOK: Cell<Steps> = const { Cell::new(NONE) });
    fn come() {
        let mut reader = COMES.take().unwrap();
        let (sample, took) = count(|| reader.read_sample().unwrap());
        assert_eq!((sample.value, sample.version), (1, 1), "write 2 is not published");
        TOOK.set(took);
        COMES.set(Some(reader));
    }
    let memory = memory(double_buffer::bytes::<u64>(1));
    let (mut writer, mut group) = double_buffer::group::<u64>(memory, 1).unwrap();
    COMES.set(group.next());
    writer.write(&1);
    // Fence, load, word, number, `cl`.
    strike_at(6, come);
    writer.write(&2);
    assert_eq!(TOOK.get(), Steps { loads: 4, stores: 1, fences: 1, words: 1, exchanges: 0 });
    let mut reader = COMES.take().unwrap();
    assert_eq!(reader.read_if_newer().map(|sample| (sample.value, sample.version)), Some((2, 2)));
}

#[test]
fn improved_slow_reader_comes_into_a_write() {
    type Slow = improved_double_buffer::SlowReader<'static, u64>;
    thread_local!(static COMES: RefCell<Option<Slow>> = const { RefCell::new(None) });
    thread_local!(static TOOK: Cell<Steps> = const { Cell::new(NONE) });
    fn come() {
        let mut reader = COMES.take().unwrap();
        let (sample, took) = count(|| reader.read_sample().unwrap());
        assert_eq!((sample.value, sample.version), (4, 4), "write 5 is not published");
        TOOK.set(took);
        COMES.set(Some(reader));
    }
    let memory = memory(improved_double_buffer::bytes::<u64>(2, 1).unwrap());
    let (mut writer, mut slows, _) = improved_double_buffer::group::<u64>(memory, 2, 1).unwrap();
    let (mut first, mut second) = (slows.next().unwrap(), slows.next().unwrap());
    // Of rows 1, 2 and 0 the readers take 1 and 0, so that writes 4 and 5 both go to row 2.
    writer.write(&1);
    assert_eq!(second.read(), Some(1));
    writer.write(&2);
    writer.write(&3);
    assert_eq!(first.read(), Some(3));
    writer.write(&4);
    COMES.set(Some(first));
    // Fence, loads, number, fence, word, `cl`.
    strike_at(8, come);
    writer.write(&5);
    assert_eq!(TOOK.get(), Steps { loads: 5, stores: 2, fences: 2, words: 1, exchanges: 0 });
    let mut reader = COMES.take().unwrap();
    assert_eq!(reader.read_if_newer().map(|sample| (sample.value, sample.version)), Some((5, 5)));
}
