// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The objects that rely on time, or copy on demand, in one thread: layout, values with their numbers, errors, forms
//! in place, successors, corrupt words.

use taut_atomic::Ordering::Relaxed;
use taut_share::state::{
    ReaderOvertaken, Sample, emeralds, improved_peterson, nbw_temporal, peterson, spinlock,
};
use taut_share::{LayoutError, List};

use crate::meddle::{Twice, meanwhile};
use crate::place::Place;

fn sample<T>(value: T, version: u64) -> Option<Sample<T>> {
    Some(Sample { value, version })
}

#[test]
fn the_papers_periods_give_the_papers_buffers() {
    // [Huang 2002, Figure 10]: writer 10, 7; N is 2 2 2 3 3 14 49 there, and we add 2.
    let read_ns = [4, 5, 9, 14, 20, 125, 475];
    let buffers = read_ns.map(|read_ns| nbw_temporal::buffers(read_ns, 7, 10).unwrap());
    assert_eq!(buffers, [4, 4, 4, 5, 5, 16, 51]);
    assert_eq!(nbw_temporal::buffers(0, 0, 1), Some(4));
    assert_eq!(nbw_temporal::buffers(1, 0, 0), None);
    assert_eq!(nbw_temporal::buffers(u64::MAX, 1, 1), None);
    assert_eq!(nbw_temporal::buffers(254, 0, 1), Some(256));
    assert_eq!(nbw_temporal::buffers(254, 1, 1), None);
    assert_eq!(nbw_temporal::buffers(u64::MAX, 0, u64::MAX), Some(4));
}

#[test]
fn sizes() {
    type Value = [u8; 65];
    assert_eq!(nbw_temporal::bytes::<Value>(3), Some(128 + 3 * 128));
    assert_eq!(nbw_temporal::bytes::<u64>(3), Some(128 + 256));
    assert_eq!(nbw_temporal::bytes::<[u64; 0]>(2), Some(128 + 128));
    assert_eq!(nbw_temporal::bytes::<[u8; 1 << (usize::BITS - 4)]>(256), None);
    assert_eq!([0, 1, 257].map(nbw_temporal::bytes::<u64>), [None; 3]);
    assert_eq!(peterson::bytes::<Value>(3), Some(128 + 256 + 3 * (128 + 128)));
    assert_eq!(peterson::bytes::<[u8; 120]>(1), Some(128 + 256 + 128 + 128));
    assert_eq!(peterson::bytes::<[u8; 121]>(1), Some(128 + 256 + 128 + 256));
    assert_eq!([0, 251].map(peterson::bytes::<u64>), [None; 2]);
    assert_eq!(improved_peterson::bytes::<u64>(2, 3), Some(128 + 256 + 2 * 256));
    assert_eq!(improved_peterson::bytes::<u64>(2, 1), None);
    assert_eq!(emeralds::bytes::<u64>(2, 3), improved_peterson::bytes::<u64>(2, 3));
    assert_eq!(emeralds::bytes::<u64>(0, 3), None);
    assert_eq!(spinlock::bytes::<[u8; 120]>(), 256);
    assert_eq!(spinlock::bytes::<[u8; 121]>(), 384);
}

#[test]
fn layouts_that_do_not_fit_are_refused() {
    let small = |needed, given| Err(LayoutError::TooSmall { needed, given });
    let place = Place::new(256);
    assert_eq!(nbw_temporal::pair::<u64>(place.memory(), 3).map(drop), small(384, 256));
    assert_eq!(nbw_temporal::pair::<u64>(place.memory(), 1).map(drop), Err(LayoutError::Buffers));
    assert_eq!(nbw_temporal::pair::<u64>(place.memory(), 257).map(drop), Err(LayoutError::Buffers));
    assert_eq!(nbw_temporal::pair::<u64>(place.memory(), 2).map(drop), Ok(()));
    assert_eq!(peterson::group::<u64>(place.memory(), 1).map(drop), small(512, 256));
    assert_eq!(peterson::group::<u64>(place.memory(), 0).map(drop), Err(LayoutError::Readers));
    assert_eq!(peterson::group::<u64>(place.memory(), 251).map(drop), Err(LayoutError::Readers));
    let place = Place::new(512);
    // SAFETY: in one thread, and the result is not used.
    unsafe {
        assert_eq!(peterson::reader::<u64>(place.memory(), 1, 1).map(drop), Err(LayoutError::Readers));
        assert_eq!(peterson::reader::<u64>(place.memory(), 1, 0).map(drop), Ok(()));
        let reader = improved_peterson::slow_reader::<u64>(place.memory(), 1, 2, 1);
        assert_eq!(reader.map(drop), Err(LayoutError::Readers));
        let reader = emeralds::slow_reader::<u64>(place.memory(), 1, 2, 1);
        assert_eq!(reader.map(drop), Err(LayoutError::Readers));
        let reader = improved_peterson::fast_reader::<u64>(place.memory(), 1, 300);
        assert_eq!(reader.map(drop), Err(LayoutError::Buffers));
    }
    assert_eq!(improved_peterson::group::<u64>(place.memory(), 1, 0).map(drop), Err(LayoutError::Buffers));
    assert_eq!(emeralds::group::<u64>(place.memory(), 0, 2).map(drop), Err(LayoutError::Readers));
    assert_eq!(emeralds::group::<u64>(place.memory(), 1, 5).map(drop), small(768, 512));
    let place = Place::new(128);
    assert_eq!(spinlock::group::<u64>(place.memory(), 1).map(drop), small(256, 128));
    assert_eq!(spinlock::group::<u64>(place.memory(), 0).map(drop), Err(LayoutError::Readers));
}

#[test]
fn errors_speak() {
    assert!(ReaderOvertaken.to_string().contains("more writes"));
    assert!(spinlock::LockHeld.to_string().contains("held"));
    assert!(LayoutError::Buffers.to_string().contains("buffers"));
}

#[test]
fn readers_come_once_each() {
    let place = Place::new(peterson::bytes::<u64>(250).unwrap());
    let (mut writer, readers) = peterson::group::<u64>(place.memory(), 250).unwrap();
    assert_eq!(readers.len(), 250);
    let mut readers: Vec<_> = readers.collect();
    writer.write(&7);
    assert!(readers.iter_mut().all(|reader| reader.read() == Some(7)));
    writer.write(&8);
    // Every other reader makes a new request; each one gets the answer to its request.
    assert!(readers.iter_mut().step_by(2).all(|reader| reader.read_sample() == sample(8, 2)));
    writer.write(&9);
    assert!(readers.iter_mut().all(|reader| reader.read_if_newer() == sample(9, 3)));
    assert!(readers.iter_mut().all(|reader| reader.read_if_newer().is_none() && reader.version() == 3));

    let place = Place::new(emeralds::bytes::<u64>(3, 4).unwrap());
    let (_, mut slow, _) = emeralds::group::<u64>(place.memory(), 3, 4).unwrap();
    assert_eq!((slow.len(), slow.by_ref().count(), slow.len()), (3, 3, 0));
    assert!(slow.next().is_none());
    let place = Place::new(spinlock::bytes::<u64>());
    let (_, mut readers) = spinlock::group::<u64>(place.memory(), 3).unwrap();
    assert_eq!((readers.len(), readers.by_ref().count(), readers.len()), (3, 3, 0));
    assert!(readers.next().is_none());
}

#[test]
fn nbw_temporal_gives_the_newest_with_its_number() {
    for buffers in [2, 3, 7, 256] {
        let place = Place::new(nbw_temporal::bytes::<[u8; 13]>(buffers).unwrap());
        let (mut writer, mut reader) = nbw_temporal::pair::<[u8; 13]>(place.memory(), buffers).unwrap();
        assert_eq!((reader.read(), reader.read_if_newer(), reader.version()), (Ok(None), Ok(None), 0));
        let mut second = reader.clone();
        for n in 1..=if cfg!(miri) { 60 } else { 600 } {
            let value = [n as u8; 13];
            writer.write(&value);
            assert_eq!(reader.version(), n);
            // In turn: each value as it comes, after a gap, and the same value again.
            if n % 5 != 0 {
                assert_eq!(reader.read_if_newer(), Ok(sample(value, n)));
                assert_eq!(reader.read_if_newer(), Ok(None));
                assert_eq!(reader.read(), Ok(sample(value, n)));
            }
            if n % 97 == 0 {
                assert_eq!(second.clone().read(), Ok(sample(value, n)));
                assert_eq!(second.read_if_newer(), Ok(sample(value, n)));
            }
            if n % 50 == 0 {
                // SAFETY: the previous writer is gone.
                writer = unsafe { nbw_temporal::writer(place.memory(), buffers) }.unwrap();
            }
        }
    }
}

#[test]
fn nbw_temporal_after_an_overrun_goes_on() {
    let place = Place::new(nbw_temporal::bytes::<Twice>(3).unwrap());
    let (mut writer, mut reader) = nbw_temporal::pair::<Twice>(place.memory(), 3).unwrap();
    writer.write(&Twice::new(1));
    let mut late = reader.clone();
    meanwhile(move || (2..9).for_each(|n| writer.write(&Twice::new(n))));
    assert_eq!(reader.read_if_newer(), Err(ReaderOvertaken));
    assert_eq!(reader.read_if_newer(), Ok(sample(Twice::new(8), 8)), "what was not returned is not seen");
    assert_eq!(reader.read_if_newer(), Ok(None));
    assert_eq!(late.read(), Ok(sample(Twice::new(8), 8)));
}

#[test]
fn a_word_that_lies_names_a_buffer_that_is_there() {
    for lie in [1, 2, 255, 1 << 8, 3 << 8 | 200, u64::MAX, u64::MAX - 255] {
        let place = Place::new(emeralds::bytes::<u64>(1, 3).unwrap());
        let latest = place.memory().claim().word(0);
        let (mut writer, mut slow, mut fast) = emeralds::group::<u64>(place.memory(), 1, 3).unwrap();
        let mut slow = slow.next().unwrap();
        writer.write(&7);
        latest.store(lie, Relaxed);
        let bits = [0, 7];
        assert!(fast.read().unwrap().is_some_and(|sample| bits.contains(&sample.value)), "{lie}");
        assert!(slow.read().unwrap().is_some_and(|sample| bits.contains(&sample.value)), "{lie}");
        // The writer does not load the word; a new writer does, and continues from whatever it is.
        writer.write(&8);
        assert_eq!(fast.read(), Ok(sample(8, 2)));
        latest.store(lie, Relaxed);
        // SAFETY: the previous writer is not used again.
        let mut writer = unsafe { emeralds::writer::<u64>(place.memory(), 1, 3) }.unwrap();
        writer.write(&9);
        assert!(fast.read().unwrap().is_none_or(|sample| sample.value == 9), "{lie}");
    }
}

#[test]
fn lists_are_values() {
    type Text = List<u8, 300>;
    let text = |n: usize| Text::of(&vec![n as u8; n]).unwrap();
    let places =
        [peterson::bytes::<Text>(1), emeralds::bytes::<Text>(1, 3)].map(|bytes| Place::new(bytes.unwrap()));
    let (mut writer, mut readers) = peterson::group::<Text>(places[0].memory(), 1).unwrap();
    let mut reader = readers.next().unwrap();
    let (mut help, mut slow, mut fast) = emeralds::group::<Text>(places[1].memory(), 1, 3).unwrap();
    let mut slow = slow.next().unwrap();
    for n in [0, 300, 1, 8, 299, 64] {
        writer.write(&text(n));
        help.write(&text(n));
        assert_eq!(reader.read(), Some(text(n)));
        assert_eq!(fast.read().unwrap().unwrap().value, text(n));
        assert_eq!(slow.read().unwrap().unwrap().value, text(n));
    }
    let place = Place::new(spinlock::bytes::<Text>());
    let (mut writer, mut readers) = spinlock::group::<Text>(place.memory(), 1).unwrap();
    let mut reader = readers.next().unwrap();
    writer.write(&Text::of(b"hello!").unwrap());
    assert_eq!(reader.read(), Text::of(b"hello!"));
}

#[test]
fn peterson_successors_go_on() {
    let place = Place::new(peterson::bytes::<Twice>(2).unwrap());
    // SAFETY: the only ends, in one thread.
    let (mut writer, mut reader) = unsafe {
        (
            peterson::writer::<Twice>(place.memory(), 2).unwrap(),
            peterson::reader::<Twice>(place.memory(), 2, 1).unwrap(),
        )
    };
    for n in 1..100 {
        if n % 3 == 0 {
            // SAFETY: the previous writer is gone; some requests are open and some are answered.
            writer = unsafe { peterson::writer(place.memory(), 2) }.unwrap();
        }
        writer.write(&Twice::new(n));
        if n % 2 == 0 {
            // SAFETY: the previous reader is gone, and may have left a request.
            reader = unsafe { peterson::reader(place.memory(), 2, 1) }.unwrap();
        }
        if n % 5 != 0 {
            assert_eq!(reader.read_if_newer(), sample(Twice::new(n), n));
            assert_eq!(reader.read_if_newer(), None);
        }
    }
}

#[test]
fn peterson_answers_that_lie_give_bits() {
    let place = Place::new(peterson::bytes::<u64>(1).unwrap());
    let (asked, answered) = (place.memory().claim().word(256), place.memory().claim().word(256 + 128 + 8));
    let (mut writer, mut readers) = peterson::group::<u64>(place.memory(), 1).unwrap();
    let mut reader = readers.next().unwrap();
    for lie in [0, 1, 2, 3, u64::MAX - 1, u64::MAX] {
        answered.store(lie, Relaxed);
        asked.store(lie ^ 1, Relaxed);
        writer.write(&5);
        assert_eq!(reader.read(), Some(5), "{lie}");
        asked.store(lie, Relaxed);
        writer.write(&5);
        assert_eq!(reader.read(), Some(5), "{lie}");
    }
}

#[test]
fn emeralds_successors_go_on() {
    let place = Place::new(emeralds::bytes::<Twice>(1, 3).unwrap());
    // SAFETY: the only ends, in one thread.
    let mut writer = unsafe { emeralds::writer::<Twice>(place.memory(), 1, 3) }.unwrap();
    let mut fast = {
        // SAFETY: there may be any number.
        unsafe { emeralds::fast_reader::<Twice>(place.memory(), 1, 3) }.unwrap()
    };
    let mut n = 0;
    for round in 0..20 {
        // SAFETY: the previous reader is gone.
        let mut slow = unsafe { emeralds::slow_reader::<Twice>(place.memory(), 1, 3, 0) }.unwrap();
        n += 1;
        writer.write(&Twice::new(n));
        // SAFETY: used between two writes of the other, of which it is the successor.
        let mut between = unsafe { emeralds::writer::<Twice>(place.memory(), 1, 3) }.unwrap();
        meanwhile(move || (n + 1..n + 3).for_each(|n| between.write(&Twice::new(n))));
        // Overtaken. If nobody wrote after the previous reader died, that reader's request was still open; the write
        // above answered it, with the value that was the newest when this read began. Otherwise this reader makes a
        // request, and dies.
        let answered = round > 0 && round % 2 == 0;
        let expected = if answered { Ok(sample(Twice::new(n), n)) } else { Err(ReaderOvertaken) };
        assert_eq!(slow.read_bounded(1), expected, "round {round}");
        n += 2;
        // SAFETY: the previous writer is gone.
        writer = unsafe { emeralds::writer::<Twice>(place.memory(), 1, 3) }.unwrap();
        if round % 2 == 0 {
            n += 1;
            writer.write(&Twice::new(n));
        }
        // SAFETY: the previous reader is gone.
        let mut slow = unsafe { emeralds::slow_reader::<Twice>(place.memory(), 1, 3, 0) }.unwrap();
        assert_eq!(slow.read(), Ok(sample(Twice::new(n), n)));
        assert_eq!((slow.read_if_newer(), slow.version()), (Ok(None), n));
        assert_eq!(fast.read(), Ok(sample(Twice::new(n), n)));
    }
}

#[test]
fn spinlock_gives_the_newest_or_is_busy() {
    let place = Place::new(spinlock::bytes::<[u8; 13]>());
    let lock = place.memory().claim().word(0);
    let (mut writer, mut readers) = spinlock::group::<[u8; 13]>(place.memory(), 2).unwrap();
    let (mut reader, mut second) = (readers.next().unwrap(), readers.next().unwrap());
    assert_eq!((reader.try_read(), reader.read()), (Ok(None), None));
    assert_eq!((reader.try_read_if_newer(), reader.version()), (Ok(None), 0));
    for n in 1..50u8 {
        match n % 2 {
            0 => writer.write(&[n; 13]),
            _ => writer.try_write(&[n; 13]).unwrap(),
        }
        let expected = sample([n; 13], u64::from(n));
        assert_eq!(reader.try_read_if_newer(), Ok(expected));
        assert_eq!(reader.try_read_if_newer(), Ok(None));
        assert_eq!((reader.try_read(), second.read()), (Ok(expected), Some([n; 13])));
        assert_eq!((second.try_read_if_newer(), second.version()), (Ok(None), u64::from(n)));
    }
    // An end that finds the lock held, by the writer or a reader, gets `LockHeld`.
    for mark in 1..4 {
        assert_eq!(lock.swap(mark, Relaxed), 0);
        assert_eq!(
            (reader.try_read(), second.try_read()),
            (Err(spinlock::LockHeld), Err(spinlock::LockHeld))
        );
        assert_eq!(writer.try_write(&[0; 13]), Err(spinlock::LockHeld));
        assert_eq!(lock.swap(0, Relaxed), mark);
    }
    assert_eq!(reader.read(), Some([49; 13]));
}

#[test]
fn spinlock_successors_take_over() {
    let place = Place::new(spinlock::bytes::<u64>());
    let lock = place.memory().claim().word(0);
    let (mut writer, mut readers) = spinlock::group::<u64>(place.memory(), 2).unwrap();
    let mut reader = readers.next().unwrap();
    writer.write(&1);
    // Reader 1 dies with the lock; the successor of another reader does not free it.
    lock.store(3, Relaxed);
    // SAFETY: the previous ends are not used again, or have another number.
    unsafe {
        let mut other = spinlock::reader::<u64>(place.memory(), 0).unwrap();
        assert_eq!(other.try_read(), Err(spinlock::LockHeld));
        let mut writer = spinlock::writer::<u64>(place.memory()).unwrap();
        assert_eq!(writer.try_write(&2), Err(spinlock::LockHeld));
        let mut heir = spinlock::reader::<u64>(place.memory(), 1).unwrap();
        assert_eq!(heir.try_read(), Ok(sample(1, 1)));
        assert_eq!(writer.try_write(&2), Ok(()));
    }
    // The writer dies with the lock, with the value half written: no reader sees that value, and the next one is
    // whole.
    lock.store(1, Relaxed);
    assert_eq!(reader.try_read(), Err(spinlock::LockHeld));
    // SAFETY: the previous writer is not used again.
    assert!(unsafe { spinlock::writer::<u64>(place.memory()) }.is_ok());
    assert_eq!(reader.try_read(), Err(spinlock::LockHeld), "attaching alone makes nothing whole");
    // SAFETY: as above.
    let mut writer = unsafe { spinlock::writer::<u64>(place.memory()) }.unwrap();
    assert_eq!(writer.try_write(&3), Ok(()));
    assert_eq!(reader.try_read(), Ok(sample(3, 3)));
    lock.store(9, Relaxed);
    assert_eq!(writer.try_write(&4), Err(spinlock::LockHeld), "inherited once");
}

/// A reader with a read-only mapping.
#[cfg(all(target_os = "linux", not(miri)))]
#[test]
fn fast_readers_need_no_write_access() {
    use std::ptr::{NonNull, null_mut};

    use taut_share::Memory;

    let bytes = improved_peterson::bytes::<[u64; 12]>(1, 4).unwrap();
    // SAFETY: a new file in memory, of that length, mapped twice at addresses of the kernel's choice.
    let [write, read] = unsafe {
        let file = libc::memfd_create(c"taut-share-test".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0 && libc::ftruncate(file, bytes as libc::off_t) == 0);
        let maps = [libc::PROT_READ | libc::PROT_WRITE, libc::PROT_READ].map(|protection| {
            let start = libc::mmap(null_mut(), bytes, protection, libc::MAP_SHARED, file, 0);
            assert_ne!(start, libc::MAP_FAILED);
            NonNull::new(start.cast::<u8>()).unwrap()
        });
        libc::close(file);
        maps
    };
    // SAFETY: page-aligned, of that length, mapped until the ends are gone; the readers' ends need no write access.
    let (mut writer, mut fast) = unsafe {
        (
            improved_peterson::writer::<[u64; 12]>(Memory::from_raw(write, bytes), 1, 4).unwrap(),
            improved_peterson::fast_reader::<[u64; 12]>(Memory::from_raw(read, bytes), 1, 4).unwrap(),
        )
    };
    assert_eq!(fast.read(), Ok(None));
    for n in 1..20 {
        writer.write(&[n; 12]);
        assert_eq!(fast.read(), Ok(sample([n; 12], n)));
        assert_eq!((fast.read_if_newer(), fast.version()), (Ok(None), n));
    }
    // SAFETY: mapped above, and no end is used again.
    unsafe {
        assert_eq!(libc::munmap(write.as_ptr().cast(), bytes), 0);
        assert_eq!(libc::munmap(read.as_ptr().cast(), bytes), 0);
    }
}
