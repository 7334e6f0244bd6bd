// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Chen, Improved Chen and Hybrid in one thread: values, versions, layout, access in place, successors.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

#[path = "../place/mod.rs"]
mod place;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use place::Place;
use taut_atomic::Ordering::Relaxed;
use taut_share::state::{self, Sample, chen, hybrid, improved_chen};
use taut_share::{LINE_BYTES, LayoutError, List};

#[test]
fn sizes() {
    // Latest, a claim per reader, and the slots.
    assert_eq!(chen::bytes::<u64>(1), 128 * 2 + 3 * 64 + 64);
    assert_eq!(chen::bytes::<[u8; 64]>(2), 128 * 3 + 4 * 64);
    assert_eq!(chen::bytes::<[u8; 4096]>(20), 128 * 21 + 22 * 4096);
    assert_eq!(hybrid::bytes::<u64>(1, 0), 128 * 2 + 3 * 64 + 64);
    assert_eq!(hybrid::bytes::<[u8; 56]>(1, 6), 128 * 2 + 9 * 64 + 64);
    assert_eq!(hybrid::bytes::<[u8; 57]>(1, 6), 128 * 2 + 9 * 128);
    assert_eq!(improved_chen::bytes::<u64>(0, 1), 128 + 2 * 64);
    assert_eq!(improved_chen::bytes::<u64>(3, 4), hybrid::bytes::<u64>(3, 3));
    assert_eq!(
        state::bytes::<u64>(1, state::spare::<u64>()),
        hybrid::bytes::<u64>(1, hybrid::spare::<u64>())
    );
    // Absurd numbers do not wrap: the size stays so large that no memory fits it.
    const ABSURD: usize = 1 << (usize::BITS - 4);
    assert!(chen::bytes::<[u8; ABSURD]>(250) > usize::MAX / 2);
    assert!(hybrid::bytes::<[u8; ABSURD]>(250, u32::MAX) > usize::MAX / 2);
    let all = u32::MAX as usize / 128 * 128;
    assert!(chen::bytes::<u64>(u32::MAX) >= all && hybrid::bytes::<u64>(u32::MAX, u32::MAX) >= all);
}

#[test]
fn shapes_that_cannot_be_are_refused() {
    let mut places = Vec::new();
    let mut memory = |bytes| {
        places.push(Place::new(bytes));
        places.last_mut().unwrap().memory()
    };
    let readers = Err(LayoutError::Readers);
    assert_eq!(chen::group::<u64>(memory(65_536), 0).map(drop), readers);
    assert_eq!(chen::group::<u64>(memory(65_536), 251).map(drop), readers);
    assert_eq!(chen::group::<u64>(memory(65_536), 250).map(drop), Ok(()));
    assert_eq!(hybrid::group::<u64>(memory(65_536), 0, 2).map(drop), readers);
    assert_eq!(hybrid::group::<u64>(memory(65_536), 251, 0).map(drop), readers);
    assert_eq!(hybrid::group::<u64>(memory(65_536), 250, 4).map(drop), Ok(()));
    assert_eq!(hybrid::group::<u64>(memory(65_536), 250, 5).map(drop), Err(LayoutError::Capacity));
    assert_eq!(hybrid::group::<u64>(memory(65_536), 1, u32::MAX).map(drop), Err(LayoutError::Capacity));
    assert_eq!(improved_chen::group::<u64>(memory(65_536), 0, 255).map(drop), Ok(()));
    assert_eq!(improved_chen::group::<u64>(memory(65_536), 0, 256).map(drop), Err(LayoutError::Capacity));
    let small = Err(LayoutError::TooSmall { needed: 512, given: 384 });
    assert_eq!(chen::pair::<u64>(memory(384)).map(drop), small);
    assert_eq!(hybrid::group::<u64>(memory(384), 1, 0).map(drop), small);
    // SAFETY: zeros, and no other ends.
    unsafe {
        assert_eq!(chen::reader::<u64>(memory(4096), 3, 3).map(drop), readers);
        assert_eq!(hybrid::reader::<u64>(memory(4096), 3, 0, 3).map(drop), readers);
        assert_eq!(improved_chen::slow_reader::<u64>(memory(4096), 0, 1, 0).map(drop), readers);
        // Without registered readers there are only observers and the writer.
        assert_eq!(hybrid::reader::<u64>(memory(4096), 0, 0, 0).map(drop), readers);
        assert_eq!(hybrid::observer::<u64>(memory(4096), 0, 0).map(drop), Ok(()));
        assert_eq!(
            hybrid::writer::<u64>(memory(128), 0, 0).map(drop),
            Err(LayoutError::TooSmall { needed: 256, given: 128 })
        );
        assert_eq!(hybrid::writer::<u64>(memory(65_536), 0, 255).map(drop), Err(LayoutError::Capacity));
        assert_eq!(improved_chen::fast_reader::<u64>(memory(4096), 0, 1).map(drop), Ok(()));
        assert_eq!(chen::writer::<u64>(memory(384), 1).map(drop), small);
    }
}

#[test]
fn chen_gives_the_newest_with_its_number() {
    let place = Place::new(chen::bytes::<[u8; 13]>(3));
    let (mut writer, all) = chen::group::<[u8; 13]>(place.memory(), 3).unwrap();
    assert_eq!(all.len(), 3);
    let mut readers: Vec<_> = all.collect();
    for reader in &mut readers {
        assert_eq!((reader.read(), reader.read_if_newer(), reader.version()), (None, None, 0));
        assert_eq!((reader.read_with(|_| ()), reader.has_newer()), (None, false));
    }
    for n in 1..100u8 {
        writer.write(&[n; 13]);
        let sample = Some(Sample { value: [n; 13], version: u64::from(n) });
        for (which, reader) in
            readers.iter_mut().enumerate().filter(|(which, _)| (n as usize).is_multiple_of(which + 1))
        {
            assert!(reader.has_newer(), "{which}");
            assert_eq!(reader.read_if_newer(), sample);
            assert_eq!((reader.read_if_newer(), reader.has_newer()), (None, false));
            assert_eq!(reader.read_sample(), sample);
            assert_eq!((reader.read(), reader.version()), (Some([n; 13]), u64::from(n)));
        }
    }
}

#[test]
fn chen_in_place() {
    let place = Place::new(chen::bytes::<[u64; 40]>(2));
    let (mut writer, mut all) = chen::group::<[u64; 40]>(place.memory(), 2).unwrap();
    let (mut first, mut second) = (all.next().unwrap(), all.next().unwrap());
    assert!(all.next().is_none());
    for n in 1..50 {
        let before = writer.write_with(|value| {
            // A whole older value, or zeros.
            let before = value[0];
            assert!(value.iter().all(|word| *word == before));
            value.fill(n);
            before
        });
        assert!(before < n);
        assert_eq!(first.read_with(|value| value.iter().sum::<u64>()), Some(40 * n));
        // The value that a reader looks at stays while the writer continues; and no reader sees a value before the
        // writer has finished it.
        let sums = second.read_with(|value| {
            writer.write_with(|next| {
                next.fill(n);
                assert_eq!(first.read().unwrap()[39], n);
            });
            value.iter().sum::<u64>()
        });
        assert_eq!(sums, Some(40 * n));
    }
}

#[test]
fn chen_a_closure_that_panics_publishes_nothing() {
    let place = Place::new(chen::bytes::<u64>(1));
    let (mut writer, mut reader) = chen::pair::<u64>(place.memory()).unwrap();
    writer.write(&1);
    for n in 2..20 {
        let torn = catch_unwind(AssertUnwindSafe(|| {
            writer.write_with(|value| {
                *value = 1000 + n;
                resume_unwind(Box::new("in the middle"))
            })
        }));
        assert!(torn.is_err());
        assert_eq!(reader.read(), Some(n - 1));
        writer.write(&n);
        assert_eq!(reader.read(), Some(n));
        let look = catch_unwind(AssertUnwindSafe(|| {
            reader.read_with(|_| -> u64 { resume_unwind(Box::new("at a look")) })
        }));
        assert!(look.is_err());
    }
    assert_eq!(reader.version(), 19);
}

#[test]
fn values_of_varying_length() {
    type Frame = List<u8, 100>;
    let frame = |n: usize| Frame::of(&vec![n as u8; n]).unwrap();
    let place = Place::new(chen::bytes::<Frame>(1));
    let (mut writer, mut reader) = chen::pair::<Frame>(place.memory()).unwrap();
    let other = Place::new(hybrid::bytes::<Frame>(1, hybrid::spare::<Frame>()));
    let (mut fast_writer, mut fast) = hybrid::pair::<Frame>(other.memory()).unwrap();
    for n in (0..100).chain((0..100).rev()) {
        writer.write(&frame(n));
        assert_eq!(reader.read(), Some(frame(n)));
        assert_eq!(reader.read_with(|frame| frame.len()), Some(n));
        fast_writer.write(&frame(n));
        assert_eq!(fast.read(), Some(frame(n)));
        // Into a longer list, of which the rest stays in place.
        let mut place = frame(100);
        assert_eq!((fast.read_into(&mut place), place), (Some(fast.version()), frame(n)));
    }
    writer.write_with(|frame| {
        frame.clear();
        assert!(frame.extend(b"in place"));
    });
    assert_eq!(reader.read_with(|frame| frame.to_vec()), Some(b"in place".to_vec()));
}

#[test]
#[cfg_attr(miri, ignore = "minutes: arithmetic of slots, on memory that the other tests touch")]
fn many_readers() {
    // More slots than a word has bits.
    let place = Place::new(chen::bytes::<u64>(250));
    let (mut writer, all) = chen::group::<u64>(place.memory(), 250).unwrap();
    let mut readers: Vec<_> = all.collect();
    for (n, reader) in (1..).zip(&mut readers) {
        writer.write(&n);
        assert_eq!(reader.read(), Some(n));
    }
    // All readers hold different slots, and keep them.
    let last = if cfg!(miri) { 1020 } else { 2000 };
    (1000..=last).for_each(|n| writer.write(&n));
    for (n, reader) in (1..).zip(&mut readers) {
        let held = reader.read_with(|value| *value);
        assert_eq!(held, Some(last), "reader {n}");
    }
    let place = Place::new(hybrid::bytes::<u64>(200, 50));
    let (mut writer, all) = hybrid::group::<u64>(place.memory(), 200, 50).unwrap();
    let (mut observer, mut readers) = (all.observer(), all.collect::<Vec<_>>());
    for n in 1..if cfg!(miri) { 60 } else { 600 } {
        writer.write(&n);
        assert_eq!(readers[n as usize % 200].read(), Some(n));
        assert_eq!(observer.try_read(), Ok(Some(Sample { value: n, version: n })));
    }
}

#[test]
fn hybrid_gives_the_newest_with_its_number() {
    for spare in [0, 1, hybrid::spare::<[u8; 13]>()] {
        let place = Place::new(hybrid::bytes::<[u8; 13]>(3, spare));
        let (mut writer, all) = hybrid::group::<[u8; 13]>(place.memory(), 3, spare).unwrap();
        assert_eq!(all.len(), 3);
        let mut readers: Vec<_> = all.collect();
        let mut observer = readers[0].observer();
        assert_eq!(
            (observer.try_read(), observer.read_if_newer(), observer.version()),
            (Ok(None), Ok(None), 0)
        );
        let mut place = [9; 13];
        assert_eq!((observer.try_read_into(&mut place), place), (Ok(None), [9; 13]));
        for reader in &mut readers {
            assert_eq!((reader.read(), reader.read_if_newer(), reader.version()), (None, None, 0));
            assert_eq!((reader.read_into(&mut place), place), (None, [9; 13]));
        }
        for n in 1..100u8 {
            writer.write(&[n; 13]);
            let sample = Some(Sample { value: [n; 13], version: u64::from(n) });
            let mut late = observer.clone();
            assert_eq!((observer.try_read(), observer.read_if_newer()), (Ok(sample), Ok(None)));
            assert_eq!((late.try_read_into(&mut place), place), (Ok(Some(u64::from(n))), [n; 13]));
            assert_eq!(late.read_if_newer(), Ok(None));
            let mut late = readers[0].observer();
            assert_eq!((late.read_if_newer(), late.version()), (Ok(sample), u64::from(n)));
            for (which, reader) in readers.iter_mut().enumerate() {
                if (n as usize).is_multiple_of(which + 1) {
                    assert_eq!(reader.read_if_newer(), sample);
                    assert_eq!(reader.read_if_newer(), None);
                    assert_eq!(reader.read_sample(), sample);
                    assert_eq!((reader.read(), reader.version()), (Some([n; 13]), u64::from(n)));
                    assert_eq!((reader.read_into(&mut place), place), (Some(u64::from(n)), [n; 13]));
                }
            }
        }
    }
}

#[test]
fn improved_chen_gives_the_newest_with_its_number() {
    for (slow, overlaps) in [(0, 1), (0, 4), (1, 0), (2, 2), (3, 7)] {
        let place = Place::new(improved_chen::bytes::<u64>(slow, overlaps));
        let (mut writer, all, mut fast) =
            improved_chen::group::<u64>(place.memory(), slow, overlaps).unwrap();
        assert_eq!(all.len(), slow as usize);
        let mut readers: Vec<_> = all.collect();
        assert_eq!(fast.try_read(), Ok(None));
        assert!(readers.iter_mut().all(|reader| reader.read().is_none() && reader.read_if_newer().is_none()));
        for n in 1..100 {
            writer.write(&n);
            let sample = Some(Sample { value: n, version: n });
            assert_eq!((fast.clone().try_read(), fast.read_if_newer()), (Ok(sample), Ok(sample)));
            for (which, reader) in (1..).zip(&mut readers).filter(|(which, _)| n % which == 0) {
                assert_eq!((reader.read_if_newer(), reader.read_if_newer()), (sample, None), "{which}");
                assert_eq!((reader.read_sample(), reader.read(), reader.version()), (sample, Some(n), n));
            }
        }
    }
}

#[test]
fn successors_go_on() {
    let place = Place::new(chen::bytes::<u64>(2));
    let (_, mut all) = chen::group::<u64>(place.memory(), 2).unwrap();
    let (mut first, mut held) = (all.next().unwrap(), all.next().unwrap());
    let memory = place.memory().claim();
    for n in 1..if cfg!(miri) { 40 } else { 200 } {
        // SAFETY: the previous writer was dropped.
        let mut writer = unsafe { chen::writer::<u64>(place.memory(), 2) }.unwrap();
        // The writer dies in a write: it has filled a slot and not published it.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            writer.write_with(|value| {
                *value = u64::MAX;
                resume_unwind(Box::new("in a write"))
            })
        }));
        // SAFETY: the previous writer is not used again.
        let mut writer = unsafe { chen::writer::<u64>(place.memory(), 2) }.unwrap();
        assert_eq!(first.read(), (n > 1).then_some(n - 1));
        writer.write(&n);
        if n % 7 == 0 {
            assert_eq!(held.read(), Some(n));
        }
        // The reader dies with its claim, or in the middle of one; the next reader of its number continues.
        if n % 3 == 0 {
            memory.word(LINE_BYTES).store(1, Relaxed);
        }
        // SAFETY: the previous reader is dropped by this assignment and not used meanwhile.
        first = unsafe { chen::reader::<u64>(place.memory(), 2, 0) }.unwrap();
        assert_eq!((first.read_sample(), first.version()), (Some(Sample { value: n, version: n }), n));
    }
}

#[test]
fn hybrid_successors_go_on() {
    let place = Place::new(hybrid::bytes::<u64>(2, 0));
    let memory = place.memory().claim();
    let (_, mut all) = hybrid::group::<u64>(place.memory(), 2, 0).unwrap();
    let (mut first, mut second) = (all.next().unwrap(), all.next().unwrap());
    for n in 1..if cfg!(miri) { 40 } else { 200 } {
        // SAFETY: the previous writer was dropped.
        let mut writer = unsafe { hybrid::writer::<u64>(place.memory(), 2, 0) }.unwrap();
        writer.write(&n);
        // The reader dies in the middle of a claim, or with one on a slot that stays reserved.
        let claim = memory.word(LINE_BYTES);
        if n % 3 == 0 {
            claim.store(1, Relaxed);
        } else if n % 5 == 0 {
            claim.store(memory.word(0).load(Relaxed), Relaxed);
        }
        // SAFETY: the previous reader is dropped by this assignment and not used meanwhile.
        first = unsafe { hybrid::reader::<u64>(place.memory(), 2, 0, 0) }.unwrap();
        assert_eq!((first.read_if_newer(), second.read()), (Some(Sample { value: n, version: n }), Some(n)));
        // SAFETY: of this object.
        let mut observer = unsafe { hybrid::observer::<u64>(place.memory(), 2, 0) }.unwrap();
        assert_eq!(observer.try_read(), Ok(Some(Sample { value: n, version: n })));
    }
    let last = first.version();
    // SAFETY: of this object, whose ends are not used again. Improved Chen's layout is the same.
    unsafe {
        let mut slow = improved_chen::slow_reader::<u64>(place.memory(), 2, 1, 0).unwrap();
        let mut fast = improved_chen::fast_reader::<u64>(place.memory(), 2, 1).unwrap();
        let mut writer = improved_chen::writer::<u64>(place.memory(), 2, 1).unwrap();
        assert_eq!((slow.read(), fast.try_read().unwrap().unwrap().version), (Some(last), last));
        writer.write(&200);
        assert_eq!((slow.read(), fast.try_read().unwrap().unwrap().value), (Some(200), 200));
    }
}

/// A small random generator: the result is below `below`.
fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

#[test]
fn a_slot_rests_for_as_long_as_is_promised() {
    // Readers claim, hold, and are caught in the middle, in any order; writers die. Also with more slots than a word
    // has bits.
    for (readers, spare) in [(1, 0), (1, 3), (2, 1), (5, 6), (40, 60)] {
        let place = Place::new(hybrid::bytes::<u64>(readers, spare));
        let memory = place.memory().claim();
        let (latest, claim) = (memory.word(0), |which| memory.word(LINE_BYTES * (1 + which as usize)));
        let mut random = random(u64::from(readers));
        let mut filled: Vec<u64> = Vec::new();
        let mut most = 0;
        for _ in 0..if cfg!(miri) { 20 } else { 400 } {
            // SAFETY: the previous writer was dropped.
            let mut writer = unsafe { hybrid::writer::<u64>(place.memory(), readers, spare) }.unwrap();
            for _ in 0..random(20) {
                let which = random(readers.into()) as u32;
                let word = [1, latest.load(Relaxed), 0][random(3) as usize];
                claim(which).store(word, Relaxed);
                let held: Vec<u64> = (0..readers).map(|which| claim(which).load(Relaxed)).collect();
                writer.write(&0);
                let slot = latest.load(Relaxed) & 0xFF;
                assert!(held.iter().all(|word| *word <= 1 || word & 0xFF != slot), "a claimed slot");
                let rested = filled.iter().rev().position(|other| *other == slot);
                assert!(rested.is_none_or(|rested| rested > spare as usize), "{slot} after {rested:?}");
                filled.push(slot);
                most = most.max(slot);
            }
        }
        assert!(u64::from(readers + 2 + spare) > most);
        // Nobody claims: the writer uses as few slots in turn as it can.
        (0..readers).for_each(|which| claim(which).store(0, Relaxed));
        // SAFETY: as above.
        let mut writer = unsafe { hybrid::writer::<u64>(place.memory(), readers, spare) }.unwrap();
        let round = |writer: &mut hybrid::Writer<'_, u64>| -> Vec<u64> {
            let write = |_| {
                writer.write(&0);
                latest.load(Relaxed) & 0xFF
            };
            (0..spare + 2).map(write).collect()
        };
        // A claim of nothing names slot 0, which costs at most one turn.
        round(&mut writer);
        assert_eq!(round(&mut writer), round(&mut writer));
    }
}

#[test]
fn words_that_lie_lead_nowhere_else() {
    // Any slot number, in latest and in the claims: bits may be wrong, but nothing outside of the memory is accessed.
    // (Miri checks that; there, the numbers near the number of slots and near the limit of a byte are enough.)
    let lies = || {
        let looked_at = |lie: &u64| !cfg!(miri) || *lie < 12 || (250..262).contains(lie);
        (0..600).filter(looked_at).chain([u64::MAX, u64::MAX - 255])
    };
    let place = Place::new(hybrid::bytes::<u64>(2, 0));
    let memory = place.memory().claim();
    let (mut writer, mut all) = hybrid::group::<u64>(place.memory(), 2, 0).unwrap();
    let (mut reader, _) = (all.next().unwrap(), all.next());
    let mut observer = reader.observer();
    for lie in lies() {
        memory.word(0).store(lie, Relaxed);
        reader.read();
        let _ = observer.try_read();
        memory.word(LINE_BYTES).store(lie, Relaxed);
        memory.word(2 * LINE_BYTES).store(!lie, Relaxed);
        writer.write(&lie);
        memory.word(0).store(lie, Relaxed);
        // SAFETY: the previous writer is not used again.
        writer = unsafe { hybrid::writer::<u64>(place.memory(), 2, 0) }.unwrap();
    }
    let place = Place::new(chen::bytes::<u64>(1));
    let memory = place.memory().claim();
    let (mut writer, mut reader) = chen::pair::<u64>(place.memory()).unwrap();
    for lie in lies() {
        memory.word(0).store(lie, Relaxed);
        reader.read();
        memory.word(LINE_BYTES).store(!lie, Relaxed);
        writer.write(&lie);
    }
}

#[test]
fn errors_speak() {
    assert!(hybrid::ReaderOvertaken.to_string().contains("more writes"));
    assert_eq!(hybrid::ReaderOvertaken, improved_chen::ReaderOvertaken);
}
