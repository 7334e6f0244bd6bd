// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Readers of a broadcast that pause: their controls, and the ends that look for whoever decides when they run.

use taut_share::LayoutError;
use taut_share::queue::broadcast;

use crate::place::Place;

/// Two words: the number, and its complement. A line holds four of them.
type Narrow = [u64; 2];
/// A batch of one.
type Wide = [u64; 9];

const CAPACITY: u32 = 3;

/// A released reader does not hold the writer, and has no values; it rejoins behind all that was pushed before.
fn a_reader_pauses<const W: usize>()
where
    [u64; W]: taut_share::Plain,
{
    let value = |number: u64| [number; W];
    let place = Place::new(broadcast::bytes::<[u64; W]>(2, CAPACITY).unwrap());
    let (mut writer, mut readers) = broadcast::group::<[u64; W]>(place.memory(), 2, CAPACITY).unwrap();
    let (mut first, mut second) = (readers.next().unwrap(), readers.next().unwrap());
    // SAFETY: the memory holds this object.
    let mut control =
        unsafe { broadcast::reader_control::<[u64; W]>(place.memory(), 2, CAPACITY, 1) }.unwrap();
    // SAFETY: the same.
    let watcher = unsafe { broadcast::reader_watcher::<[u64; W]>(place.memory(), 2, CAPACITY, 1) }.unwrap();
    let mut pushed = 0;
    for pause in 0..6 {
        // It may have copied values ahead that it has not returned.
        for _ in 0..2 {
            assert_eq!(writer.push(&value(pushed)), Ok(()));
            pushed += 1;
        }
        assert!(first.goes_on() && second.goes_on());
        assert_eq!((watcher.is_empty(), watcher.oldest_word()), (false, Some(pushed - 2)));
        assert_eq!(second.pop().unwrap().map(|popped| popped.value), Some(value(pushed - 2)));
        assert_eq!(watcher.oldest_word(), Some(pushed - 1));
        control.release();
        assert!(!second.goes_on());
        for _ in 0..4 * CAPACITY + pause {
            while first.pop().unwrap().is_some() {}
            assert_eq!(writer.push(&value(pushed)), Ok(()), "a paused reader holds the writer");
            pushed += 1;
            assert_eq!((watcher.is_empty(), watcher.oldest_word()), (true, None));
        }
        control.rejoin();
        assert!(second.goes_on() && watcher.is_empty());
        assert_eq!(second.pop(), Ok(None), "values of its pause");
        while first.pop().unwrap().is_some() {}
        // From now on it gets every value, and the writer respects it.
        for _ in 0..CAPACITY {
            assert_eq!(writer.push(&value(pushed)), Ok(()));
            pushed += 1;
            while first.pop().unwrap().is_some() {}
        }
        assert!(writer.push(&value(pushed)).is_err(), "the writer does not respect it");
        for number in pushed - u64::from(CAPACITY)..pushed {
            assert_eq!(watcher.oldest_word(), Some(number));
            assert!(second.goes_on());
            let popped = second.pop().unwrap().unwrap();
            assert_eq!((popped.value, popped.lost), (value(number), 0));
        }
        // One that takes part does not move.
        control.rejoin();
        assert!(second.goes_on() && watcher.is_empty());
    }
    assert_eq!(second.lost(), 0);
}

#[test]
fn a_reader_pauses_and_rejoins() {
    a_reader_pauses::<2>();
    a_reader_pauses::<9>();
}

#[test]
fn there_is_no_control_of_a_reader_that_there_is_not() {
    let place = Place::new(broadcast::bytes::<Narrow>(2, CAPACITY).unwrap());
    // SAFETY: zeros.
    unsafe {
        let control = broadcast::reader_control::<Narrow>(place.memory(), 2, CAPACITY, 2);
        assert_eq!(control.err(), Some(LayoutError::Readers));
        let watcher = broadcast::reader_watcher::<Narrow>(place.memory(), 2, CAPACITY, 2);
        assert_eq!(watcher.err(), Some(LayoutError::Readers));
        let small = broadcast::reader_watcher::<Wide>(place.memory(), 2, CAPACITY, 1).err();
        assert!(matches!(small, Some(LayoutError::TooSmall { .. })));
    }
}

/// A watcher and a reader of a head that lies: no panic, and no index out of the memory.
#[test]
fn a_watcher_accepts_any_head() {
    let place = Place::new(broadcast::bytes::<Narrow>(1, CAPACITY).unwrap());
    let (mut writer, mut readers) = broadcast::group::<Narrow>(place.memory(), 1, CAPACITY).unwrap();
    let mut reader = readers.next().unwrap();
    // SAFETY: the memory holds this object.
    let watcher = unsafe { broadcast::reader_watcher::<Narrow>(place.memory(), 1, CAPACITY, 0) }.unwrap();
    for number in 0..5 {
        let _ = writer.push(&[number; 2]);
        for lie in [0, 1, 2, 77, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX] {
            place.words()[16].store(lie, std::sync::atomic::Ordering::Relaxed);
            let waits = watcher.oldest_word().is_some();
            assert_eq!(watcher.is_empty(), !waits, "{lie}");
            if reader.goes_on() {
                let _ = reader.pop();
            }
        }
    }
}
