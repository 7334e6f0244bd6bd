// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The step bounds of the protocols that rely on time, or copy on demand, counted exactly:
//! `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test steps temporal::`.

use taut_atomic::AtomicU64;
use taut_atomic::Ordering::Relaxed;
use taut_atomic::steps::{Steps, count};
use taut_share::state::{ReaderOvertaken, emeralds, improved_peterson, nbw_temporal, peterson, spinlock};

use crate::place::Place;

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };
const LOOK: Steps = Steps { loads: 1, ..NONE };

fn steps(work: impl FnOnce()) -> Steps {
    count(work).1
}

fn nbw_temporal_takes<const N: usize>() {
    let words = N.div_ceil(8) as u64;
    let place = Place::new(nbw_temporal::bytes::<[u8; N]>(4).unwrap());
    let latest = place.memory().claim().word(0);
    let (mut writer, mut reader) = nbw_temporal::pair::<[u8; N]>(place.memory(), 4).unwrap();
    assert_eq!(steps(|| assert_eq!(reader.read(), Ok(None))), LOOK);
    let read = Steps { loads: 2, fences: 2, words, ..NONE };
    for n in 1..20 {
        assert_eq!(steps(|| writer.write(&[n; N])), Steps { stores: 1, fences: 1, words, ..NONE });
        if n % 3 == 0 {
            assert_eq!(steps(|| assert!(reader.read_if_newer().unwrap().is_some())), read);
            assert_eq!(steps(|| assert!(reader.read().unwrap().is_some())), read);
            assert_eq!(steps(|| assert_eq!(reader.read_if_newer(), Ok(None))), LOOK);
        }
    }
    assert_eq!(steps(|| assert_eq!(reader.version(), 19)), LOOK);
    for lie in [1, 255, 1 << 8, 77 << 8 | 255, u64::MAX] {
        latest.store(lie, Relaxed);
        assert_eq!(steps(|| assert!(reader.read() != Ok(None))), read);
    }
}

fn peterson_takes<const N: usize>() {
    let words = N.div_ceil(8) as u64;
    let place = Place::new(peterson::bytes::<[u8; N]>(2).unwrap());
    let (mut writer, mut readers) = peterson::group::<[u8; N]>(place.memory(), 2).unwrap();
    let (mut first, mut second) = (readers.next().unwrap(), readers.next().unwrap());
    let undisturbed = Steps { loads: 3, stores: 1, fences: 2, words, ..NONE };
    let quiet = Steps { stores: 1, fences: 2, loads: 2, words, ..NONE };
    let answers = |readers: u64| Steps { stores: 1 + readers, words: words * (1 + readers), ..quiet };
    let nothing = Steps { loads: 2, stores: 1, fences: 1, ..NONE };
    assert_eq!(steps(|| assert!(first.read().is_none())), nothing);
    assert_eq!(steps(|| assert!(first.read_if_newer().is_none())), LOOK);
    assert_eq!(steps(|| writer.write(&[1; N])), answers(1), "the read in vain has asked");
    assert_eq!(steps(|| writer.write(&[2; N])), quiet);
    assert_eq!(steps(|| assert!(first.read() == Some([2; N]))), undisturbed);
    assert_eq!(steps(|| assert!(first.read() == Some([2; N]))), undisturbed);
    assert_eq!(steps(|| assert!(second.read() == Some([2; N]))), undisturbed);
    assert_eq!(steps(|| writer.write(&[3; N])), answers(2));
    let newer = Steps { loads: 4, ..undisturbed };
    assert_eq!(steps(|| assert!(second.read_if_newer().is_some())), newer);
    assert_eq!(steps(|| assert!(second.read_if_newer().is_none())), LOOK);
    assert_eq!(steps(|| assert_eq!(second.version(), 3)), LOOK);
}

/// A read that finds its answer: the test itself stores what a writer would store in the middle of the read.
fn peterson_rescued_takes() {
    let place = Place::new(peterson::bytes::<u64>(1).unwrap());
    let answered = place.memory().claim().word(256 + 128 + 8);
    let (mut writer, mut readers) = peterson::group::<u64>(place.memory(), 1).unwrap();
    let mut reader = readers.next().unwrap();
    writer.write(&1);
    reader.read();
    writer.write(&2);
    // Both bits are 1, so the next read makes its request with 0.
    assert_eq!(answered.load(Relaxed), 2 << 1 | 1);
    let asked = place.memory().claim().word(256);
    assert_eq!(asked.load(Relaxed), 1);
    let rescued = Steps { loads: 3, stores: 1, fences: 2, words: 2, ..NONE };
    // A strike at the reader's last load acts as the writer, and answers.
    thread_local!(static WORD: core::cell::Cell<Option<&'static AtomicU64>> = const { core::cell::Cell::new(None) });
    WORD.set(Some(answered));
    let (sample, steps) = count(|| {
        taut_atomic::steps::strike_at(7, || WORD.get().unwrap().store(2 << 1, Relaxed));
        reader.read_sample().unwrap()
    });
    // The store of the strike counts as well.
    assert_eq!(steps, Steps { stores: 2, ..rescued });
    assert_eq!((sample.value, sample.version), (2, 2), "the copy");
}

fn improved_peterson_takes<const N: usize>() {
    let words = N.div_ceil(8) as u64;
    let place = Place::new(improved_peterson::bytes::<[u8; N]>(1, 4).unwrap());
    let (mut writer, mut slow, mut fast) = improved_peterson::group::<[u8; N]>(place.memory(), 1, 4).unwrap();
    let mut slow = slow.next().unwrap();
    for n in 1..10 {
        let write = Steps { stores: 1, fences: 2, loads: 1, words, ..NONE };
        let answers = Steps { stores: 2, words: 2 * words, ..write };
        assert_eq!(steps(|| writer.write(&[n; N])), if n == 1 { write } else { answers });
        let read = Steps { loads: 2, fences: 2, words, ..NONE };
        assert_eq!(steps(|| assert!(fast.read().unwrap().is_some())), read);
        let read = Steps { loads: 3, stores: 1, fences: 2, words, ..NONE };
        assert_eq!(steps(|| assert!(slow.read() == Some([n; N]))), read);
    }
}

fn emeralds_takes<const N: usize>() {
    let words = N.div_ceil(8) as u64;
    let place = Place::new(emeralds::bytes::<[u8; N]>(2, 4).unwrap());
    let (mut writer, slow, mut fast) = emeralds::group::<[u8; N]>(place.memory(), 2, 4).unwrap();
    let mut slow: Vec<_> = slow.collect();
    assert_eq!(steps(|| assert_eq!(slow[0].read(), Ok(None))), LOOK);
    for n in 1..10 {
        assert_eq!(steps(|| writer.write(&[n; N])), Steps { stores: 1, fences: 1, loads: 2, words, ..NONE });
        let read = Steps { loads: 2, fences: 1, words, ..NONE };
        assert_eq!(steps(|| assert!(slow[0].read().unwrap().is_some())), read);
        assert_eq!(steps(|| assert!(slow[1].read_bounded(9).unwrap().is_some())), read);
        assert_eq!(steps(|| assert_eq!(slow[1].read_if_newer(), Ok(None))), LOOK);
        let read = Steps { fences: 2, ..read };
        assert_eq!(steps(|| assert!(fast.read().unwrap().is_some())), read);
    }
}

/// A slow read that is overtaken in each attempt: a strike increases the number, as three writes would.
fn emeralds_overtaken_takes() {
    thread_local!(static WORD: core::cell::Cell<Option<&'static AtomicU64>> = const { core::cell::Cell::new(None) });
    fn overtake() {
        let word = WORD.get().unwrap();
        let latest = word.load(Relaxed);
        word.store(latest + (3 << 8), Relaxed);
    }
    let place = Place::new(emeralds::bytes::<u64>(1, 4).unwrap());
    WORD.set(Some(place.memory().claim().word(0)));
    let (mut writer, mut slow, _) = emeralds::group::<u64>(place.memory(), 1, 4).unwrap();
    let mut slow = slow.next().unwrap();
    writer.write(&1);
    let strike = Steps { loads: 1, stores: 1, ..NONE };
    let (result, steps) = count(|| {
        // Load, word, the strike, fence, load: overtaken. Load of the answer, store of the bit.
        taut_atomic::steps::strike_at(3, overtake);
        slow.read_bounded(1)
    });
    assert_eq!(result, Err(ReaderOvertaken));
    let overtaken = Steps { loads: 3, stores: 1, fences: 1, words: 1, ..NONE };
    assert_eq!(
        steps,
        Steps {
            loads: overtaken.loads + strike.loads,
            stores: overtaken.stores + strike.stores,
            ..overtaken
        }
    );
    // Once more: the request is already made.
    let (result, steps) = count(|| {
        taut_atomic::steps::strike_at(3, overtake);
        slow.read_bounded(1)
    });
    assert_eq!(result, Err(ReaderOvertaken));
    assert_eq!(steps, Steps { loads: 3 + 1, stores: 1, fences: 1, words: 1, ..NONE });
    // The next write answers: a word and a store more than the write after it.
    let write = Steps { loads: 1, stores: 1, fences: 1, words: 1, ..NONE };
    assert_eq!(count(|| writer.write(&2)).1, Steps { stores: 2, words: 2, ..write });
    assert_eq!(count(|| writer.write(&3)).1, write);
}

fn spinlock_takes<const N: usize>() {
    let words = N.div_ceil(8) as u64;
    let place = Place::new(spinlock::bytes::<[u8; N]>());
    let lock = place.memory().claim().word(0);
    let (mut writer, mut readers) = spinlock::group::<[u8; N]>(place.memory(), 1).unwrap();
    let mut reader = readers.next().unwrap();
    let empty = Steps { exchanges: 1, loads: 1, stores: 1, ..NONE };
    assert_eq!(steps(|| assert_eq!(reader.try_read(), Ok(None))), empty);
    assert_eq!(steps(|| assert_eq!(reader.try_read_if_newer(), Ok(None))), LOOK);
    let write = Steps { exchanges: 1, stores: 2, words, ..NONE };
    assert_eq!(steps(|| writer.try_write(&[1; N]).unwrap()), write);
    assert_eq!(steps(|| writer.write(&[1; N])), write);
    let read = Steps { exchanges: 1, loads: 1, stores: 1, words, ..NONE };
    assert_eq!(steps(|| assert!(reader.try_read().unwrap().is_some())), read);
    assert_eq!(steps(|| assert!(reader.read() == Some([1; N]))), read);
    assert_eq!(steps(|| assert_eq!(reader.version(), 2)), LOOK);
    lock.store(9, Relaxed);
    let busy = Steps { exchanges: 1, ..NONE };
    assert_eq!(steps(|| assert_eq!(writer.try_write(&[1; N]), Err(spinlock::LockHeld))), busy);
    assert_eq!(steps(|| assert_eq!(reader.try_read(), Err(spinlock::LockHeld))), busy);
}

#[test]
fn steps_are_as_documented() {
    macro_rules! each {
        ($($n:literal)*) => {$(
            nbw_temporal_takes::<$n>();
            peterson_takes::<$n>();
            improved_peterson_takes::<$n>();
            emeralds_takes::<$n>();
            spinlock_takes::<$n>();
        )*};
    }
    each!(1 8 20 64 256 1000);
    peterson_rescued_takes();
    emeralds_overtaken_takes();
}
