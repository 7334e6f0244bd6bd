// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The objects with several buffers, in one thread: values, numbers, errors, access in place, and the successors of
//! ends that are gone.

use taut_share::state::{Sample, double_buffer, improved_double_buffer, presence};
use taut_share::{LINE_BYTES, LayoutError, List, Plain};

use crate::place::Place;

/// Rounds of a repeating test; few under Miri, which is slow.
const ROUNDS: u64 = if cfg!(miri) { 30 } else { 2000 };
/// The same, for three nested loops.
const FEW: u64 = if cfg!(miri) { 3 } else { 10 };

fn sample<T>(value: T, version: u64) -> Option<Sample<T>> {
    Some(Sample { value, version })
}

/// The tests that are common to the two protocols that have only one kind of reader.
macro_rules! alike {
    ($tests:ident, $module:ident) => {
        mod $tests {
            use super::*;

            fn writer<T: Plain>(place: &Place, readers: u32) -> $module::Writer<'static, T> {
                // SAFETY: the tests stop using the previous writer.
                unsafe { $module::writer(place.memory(), readers) }.unwrap()
            }

            fn reader<T: Plain>(place: &Place, readers: u32, which: u32) -> $module::Reader<'static, T> {
                // SAFETY: the tests stop using the previous reader, of this number.
                unsafe { $module::reader(place.memory(), readers, which) }.unwrap()
            }

            #[test]
            fn layouts_that_do_not_fit_are_refused() {
                let most = $module::READERS_MAX;
                for readers in [1, 2, 7, most] {
                    let needed = $module::bytes::<[u8; 24]>(readers);
                    assert!(needed.is_multiple_of(LINE_BYTES));
                    let fits = |bytes: usize| {
                        $module::group::<[u8; 24]>(Place::new(bytes).memory(), readers).map(drop)
                    };
                    assert_eq!(fits(needed), Ok(()));
                    let given = needed - LINE_BYTES;
                    assert_eq!(fits(given), Err(LayoutError::TooSmall { needed, given }));
                }
                let place = Place::new(1 << 16);
                for readers in [0, most + 1, u32::MAX] {
                    let group = $module::group::<u64>(place.memory(), readers);
                    assert_eq!(group.map(drop), Err(LayoutError::Readers), "{readers}");
                }
                // SAFETY: refused.
                let none = unsafe { $module::reader::<u64>(place.memory(), 3, 3) };
                assert_eq!(none.map(drop), Err(LayoutError::Readers));
                assert_eq!($module::bytes::<u64>(u32::MAX), $module::bytes::<u64>(most));
            }

            #[test]
            fn readers_are_as_many() {
                let place = Place::new($module::bytes::<u64>(5));
                let (_, mut readers) = $module::group::<u64>(place.memory(), 5).unwrap();
                assert_eq!(readers.len(), 5);
                assert!(readers.next().is_some());
                assert_eq!(readers.len(), 4);
                assert_eq!(readers.by_ref().count(), 4);
                assert_eq!((readers.len(), readers.next().is_none()), (0, true));
            }

            #[test]
            fn the_newest_with_its_number() {
                for readers in [1, 2, 3, if cfg!(miri) { 4 } else { $module::READERS_MAX }] {
                    let place = Place::new($module::bytes::<[u8; 13]>(readers));
                    let (mut writer, group) = $module::group::<[u8; 13]>(place.memory(), readers).unwrap();
                    let mut group: Vec<_> = group.collect();
                    for reader in &mut group {
                        assert_eq!((reader.read(), reader.read_sample()), (None, None));
                        assert_eq!((reader.read_if_newer(), reader.read_with(|_| ())), (None, None));
                    }
                    let mut random = 1u32;
                    let mut returned = vec![0; group.len()];
                    for n in 1..(ROUNDS / 10) as u8 {
                        if n.is_multiple_of(3) {
                            assert_eq!(writer.write_with(|value| *value = [n; 13]), ());
                        } else {
                            writer.write(&[n; 13]);
                        }
                        for (reader, returned) in group.iter_mut().zip(&mut returned) {
                            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                            let newest = [n; 13];
                            match random >> 29 {
                                0 => assert_eq!(reader.read(), Some(newest)),
                                1 => assert_eq!(reader.read_sample(), sample(newest, u64::from(n))),
                                2 => assert_eq!(reader.read_with(|value| *value), Some(newest)),
                                3 => {
                                    let new =
                                        if *returned == n { None } else { sample(newest, u64::from(n)) };
                                    assert_eq!(reader.read_if_newer(), new);
                                    assert_eq!(reader.read_if_newer(), None);
                                }
                                _ => continue,
                            }
                            *returned = n;
                        }
                    }
                }
            }

            #[test]
            fn a_reader_keeps_what_it_looks_at() {
                // The writer continues while the readers stop in the middle of a look.
                let place = Place::new($module::bytes::<[u64; 9]>(3));
                let (mut writer, group) = $module::group::<[u64; 9]>(place.memory(), 3).unwrap();
                let [mut a, mut b, mut c]: [_; 3] = group.collect::<Vec<_>>().try_into().ok().unwrap();
                let mut n = 0;
                let mut more = |writer: &mut $module::Writer<'_, [u64; 9]>| {
                    n += 1;
                    writer.write(&[n; 9]);
                    n
                };
                more(&mut writer);
                let looked = a.read_with(|first| {
                    for _ in 0..FEW {
                        let newest = more(&mut writer);
                        b.read_with(|second| {
                            for _ in 0..FEW {
                                let newest = more(&mut writer);
                                c.read_with(|third| {
                                    for _ in 0..FEW {
                                        more(&mut writer);
                                    }
                                    assert_eq!(*third, [newest; 9]);
                                });
                            }
                            assert_eq!(*second, [newest; 9]);
                        });
                    }
                    *first
                });
                assert_eq!(looked, Some([1; 9]));
                let newest = [n; 9];
                assert_eq!((a.read(), b.read(), c.read()), (Some(newest), Some(newest), Some(newest)));
            }

            #[test]
            fn a_fill_that_panics_publishes_nothing() {
                let place = Place::new($module::bytes::<u64>(1));
                let (mut writer, mut group) = $module::group::<u64>(place.memory(), 1).unwrap();
                let mut reader = group.next().unwrap();
                writer.write(&1);
                let filled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    writer.write_with(|value| {
                        *value = 2;
                        panic!("a test's");
                    })
                }));
                assert!(filled.is_err());
                assert_eq!(reader.read_sample(), sample(1, 1));
                writer.write(&3);
                assert_eq!(reader.read_sample(), sample(3, 2));
            }

            #[test]
            fn values_of_varying_length() {
                type Text = List<u8, 300>;
                let place = Place::new($module::bytes::<Text>(2));
                let (mut writer, group) = $module::group::<Text>(place.memory(), 2).unwrap();
                let mut group: Vec<_> = group.collect();
                for n in [0usize, 300, 7, 1, 299, 0, 8] {
                    let text: Vec<u8> = (0..n).map(|i| (i * 7 + n) as u8).collect();
                    writer.write(&List::of(&text).unwrap());
                    for reader in &mut group {
                        assert_eq!(reader.read_if_newer().unwrap().value.as_slice(), text);
                    }
                }
            }

            #[test]
            fn successors_go_on() {
                let place = Place::new($module::bytes::<[u64; 3]>(2));
                let mut random = 7u32;
                let mut next = |below: u32| {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (random >> 16) % below
                };
                let mut write = writer(&place, 2);
                let mut read: Vec<_> = (0..2).map(|which| reader(&place, 2, which)).collect();
                for n in 1..ROUNDS {
                    if next(3) == 0 {
                        write = writer(&place, 2);
                    }
                    write.write(&[n; 3]);
                    for which in 0..2 {
                        match next(5) {
                            0 => read[which as usize] = reader(&place, 2, which),
                            1 => continue,
                            _ => {}
                        }
                        let newest = sample([n; 3], n);
                        let reader = &mut read[which as usize];
                        let got = if next(2) == 0 { reader.read_sample() } else { reader.read_if_newer() };
                        assert_eq!(got, newest, "reader {which}");
                    }
                }
            }

            #[test]
            fn a_reader_that_is_gone_does_not_stop_anyone() {
                // Each time a reader dies where it is, and its successor dies before it looks.
                let place = Place::new($module::bytes::<u64>(2));
                let (mut write, mut stays) = (writer(&place, 2), reader(&place, 2, 1));
                for n in 1..ROUNDS / 10 {
                    write.write(&n);
                    let mut dies = reader(&place, 2, 0);
                    assert_eq!(dies.read_sample(), sample(n, n));
                    let _successor = reader::<u64>(&place, 2, 0);
                    if n.is_multiple_of(7) {
                        assert_eq!(stays.read(), Some(n));
                    }
                }
            }

            #[test]
            fn lies_are_bounded() {
                // Random data is written into all words except the values: the only guarantee left is that an
                // operation ends and stays inside the memory.
                let place = Place::new($module::bytes::<u64>(3));
                let mut random = 3u64;
                let mut next = || {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    random ^ random >> 29
                };
                let mut write = writer::<u64>(&place, 3);
                let mut read: Vec<_> = (0..3).map(|which| reader::<u64>(&place, 3, which)).collect();
                let words = $module::bytes::<u64>(3) / 8;
                for n in 0..ROUNDS {
                    for _ in 0..next() % 4 {
                        let word = place.memory().claim().word(next() as usize % words * 8);
                        word.store(next() >> (next() % 64), taut_atomic::Ordering::Relaxed);
                    }
                    write.write(&n);
                    for reader in &mut read {
                        reader.read();
                        reader.read_if_newer();
                    }
                    if n.is_multiple_of(10) {
                        write = writer(&place, 3);
                        read[n as usize / 10 % 3] = reader(&place, 3, n as u32 / 10 % 3);
                    }
                }
            }
        }
    };
}

alike!(of_presence, presence);
alike!(of_double_buffer, double_buffer);

/// Bytes of a value so large that no machine has memory for many.
const ABSURD: usize = 1 << (usize::BITS - 4);

#[test]
fn absurd_sizes_do_not_wrap() {
    assert!(presence::bytes::<[u8; ABSURD]>(presence::READERS_MAX) > usize::MAX / 2);
    assert!(double_buffer::bytes::<[u8; ABSURD]>(double_buffer::READERS_MAX) > usize::MAX / 2);
}

#[test]
fn presence_takes_about_half_of_the_memory() {
    for readers in [4u32, 16, 58] {
        let (one, two) =
            (presence::bytes::<[u8; 4096]>(readers), double_buffer::bytes::<[u8; 4096]>(readers));
        assert!(two > one && one < two * 4 / 5, "{readers}: {one} and {two}");
    }
}

#[test]
fn double_buffer_publishes_the_last_complete_value_of_a_dead_writer() {
    let place = Place::new(double_buffer::bytes::<u64>(1));
    let (mut writer, mut group) = double_buffer::group::<u64>(place.memory(), 1).unwrap();
    let mut reader = group.next().unwrap();
    assert_eq!(reader.version(), 0);
    for n in 1..5 {
        writer.write(&n);
        assert_eq!((reader.version(), reader.read()), (n, Some(n)));
    }
    // As if the writer had died before its last store.
    writer.write(&5);
    let latest = place.memory().claim().word(0);
    let published = latest.load(taut_atomic::Ordering::Relaxed);
    assert_eq!(published >> 8, 5);
    let four = (0..4).map(|at| 4 << 8 | at).find(|word| {
        latest.store(*word, taut_atomic::Ordering::Relaxed);
        reader.read_sample() == sample(4, 4)
    });
    assert!(four.is_some(), "write 4 is there still");
    // SAFETY: the previous writer is not used again.
    let mut writer = unsafe { double_buffer::writer::<u64>(place.memory(), 1) }.unwrap();
    assert_eq!(latest.load(taut_atomic::Ordering::Relaxed), published);
    assert_eq!(reader.read_if_newer(), sample(5, 5));
    writer.write(&6);
    assert_eq!(reader.read_if_newer(), sample(6, 6));
}

mod improved {
    use improved_double_buffer::{FastReader, ROWS_MAX, ReaderOvertaken, SlowReader, Writer};

    use super::*;

    fn writer<T: Plain>(place: &Place, slow: u32, overlaps: u32) -> Writer<'static, T> {
        // SAFETY: the tests stop using the previous writer.
        unsafe { improved_double_buffer::writer(place.memory(), slow, overlaps) }.unwrap()
    }

    fn slow_reader<T: Plain>(place: &Place, slow: u32, overlaps: u32, which: u32) -> SlowReader<'static, T> {
        // SAFETY: the tests stop using the previous reader, of this number.
        unsafe { improved_double_buffer::slow_reader(place.memory(), slow, overlaps, which) }.unwrap()
    }

    fn fast_reader<T: Plain>(place: &Place, slow: u32, overlaps: u32) -> FastReader<'static, T> {
        // SAFETY: there may be any number of these readers.
        unsafe { improved_double_buffer::fast_reader(place.memory(), slow, overlaps) }.unwrap()
    }

    fn place<T: Plain>(slow: u32, overlaps: u32) -> Place {
        Place::new(improved_double_buffer::bytes::<T>(slow, overlaps).unwrap())
    }

    #[test]
    fn as_many_rows_as_the_formula_says() {
        // 2 (M + max(1, ceil(N / 2))) slots, N = V + 1; 64 bytes each for values of 56, and the words before them.
        for slow in 0..9u32 {
            for overlaps in 0..12u32 {
                let slots = 2 * (slow + 1.max((overlaps + 1).div_ceil(2))) as usize;
                let words = (8 + 8 * slots / 2).next_multiple_of(LINE_BYTES) + LINE_BYTES * slow as usize;
                let expected = words + (8 + 64 * slots).next_multiple_of(LINE_BYTES);
                let bytes = improved_double_buffer::bytes::<[u64; 7]>(slow, overlaps);
                assert_eq!(bytes, Some(expected), "{slow} and {overlaps}");
            }
        }
        // The example of the paper, 5 readers fast of 7, N = 4: 8 slots, where its prose has 10.
        assert_eq!(
            improved_double_buffer::bytes::<[u64; 7]>(2, 3),
            Some(128 + 2 * 128 + (8 + 64 * 8usize).next_multiple_of(128))
        );
    }

    #[test]
    fn layouts_that_do_not_fit_are_refused() {
        let group = |bytes, slow, overlaps| {
            improved_double_buffer::group::<u64>(Place::new(bytes).memory(), slow, overlaps).map(drop)
        };
        let needed = improved_double_buffer::bytes::<u64>(2, 3).unwrap();
        assert_eq!(group(needed, 2, 3), Ok(()));
        let given = needed - LINE_BYTES;
        assert_eq!(group(given, 2, 3), Err(LayoutError::TooSmall { needed, given }));
        let rows = ROWS_MAX as u32;
        assert_eq!(group(1 << 16, rows - 1, 1), Ok(()));
        assert_eq!(group(1 << 16, rows - 1, 2), Err(LayoutError::Buffers));
        assert_eq!(group(1 << 16, rows, 0), Err(LayoutError::Readers));
        assert_eq!(group(1 << 16, u32::MAX, u32::MAX), Err(LayoutError::Readers));
        assert_eq!(group(1 << 16, 0, u32::MAX), Err(LayoutError::Buffers));
        assert_eq!(improved_double_buffer::bytes::<u64>(rows - 1, 2), None);
        assert_eq!(improved_double_buffer::bytes::<u64>(u32::MAX, u32::MAX), None);
        assert_eq!(improved_double_buffer::bytes::<[u8; ABSURD]>(rows - 1, 1), None);
        // SAFETY: refused.
        let none =
            unsafe { improved_double_buffer::slow_reader::<u64>(Place::new(needed).memory(), 2, 3, 2) };
        assert_eq!(none.map(drop), Err(LayoutError::Readers));
    }

    #[test]
    fn the_newest_with_its_number() {
        for (slow, overlaps) in
            [(0, 0), (0, 1), (0, 5), (1, 0), (1, 3), (3, 4), (if cfg!(miri) { 4 } else { 63 }, 1)]
        {
            let place = place::<[u8; 13]>(slow, overlaps);
            let (mut writer, slows, fast) =
                improved_double_buffer::group::<[u8; 13]>(place.memory(), slow, overlaps).unwrap();
            assert_eq!(slows.len(), slow as usize);
            let mut slows: Vec<_> = slows.collect();
            let mut fasts = [fast.clone(), fast];
            for fast in &mut fasts {
                assert_eq!(
                    (fast.read(), fast.read_sample(), fast.read_if_newer()),
                    (Ok(None), Ok(None), Ok(None))
                );
                assert_eq!(fast.version(), 0);
            }
            for slow in &mut slows {
                assert_eq!((slow.read(), slow.read_sample(), slow.read_if_newer()), (None, None, None));
                assert_eq!(slow.version(), 0);
            }
            for n in 1..(ROUNDS / 20 + 2) as u8 {
                writer.write(&[n; 13]);
                let newest = sample([n; 13], u64::from(n));
                assert!(slows.iter().all(|slow| slow.version() == u64::from(n)));
                assert!(fasts.iter().all(|fast| fast.version() == u64::from(n)));
                for (which, slow) in slows.iter_mut().enumerate() {
                    if (usize::from(n) + which).is_multiple_of(3) {
                        assert_eq!(slow.read_if_newer(), newest);
                        assert_eq!(slow.read_if_newer(), None);
                        assert_eq!((slow.read(), slow.read_sample()), (Some([n; 13]), newest));
                    }
                }
                for fast in &mut fasts {
                    assert_eq!(fast.read_if_newer(), Ok(newest));
                    assert_eq!(fast.read_if_newer(), Ok(None));
                    assert_eq!((fast.read(), fast.read_sample()), (Ok(Some([n; 13])), Ok(newest)));
                }
            }
        }
    }

    /// The read of a fast reader that loaded `latest` when it was `word`, and continues now.
    fn goes_on_with<T: Plain>(
        place: &Place,
        fast: &mut FastReader<'static, T>,
        word: u64,
    ) -> Result<Option<Sample<T>>, ReaderOvertaken> {
        let latest = place.memory().claim().word(0);
        let now = latest.swap(word, taut_atomic::Ordering::Relaxed);
        let result = fast.read_sample();
        latest.store(now, taut_atomic::Ordering::Relaxed);
        result
    }

    #[test]
    fn a_slot_keeps_its_value_as_long_as_promised() {
        // Slow readers read at random. A fast read survives at least as many writes as were asked for, and for some
        // seed and reader exactly the bound of I5: 2 ⌊V / 2⌋ + 1.
        for (slow, overlaps) in [(0u32, 0u32), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 4), (2, 3), (3, 5)]
        {
            let mut least = u64::MAX;
            for seed in 0..ROUNDS / 30 {
                let place = place::<u64>(slow, overlaps);
                let mut write = writer::<u64>(&place, slow, overlaps);
                let mut slows: Vec<_> =
                    (0..slow).map(|which| slow_reader::<u64>(&place, slow, overlaps, which)).collect();
                let mut fast = fast_reader::<u64>(&place, slow, overlaps);
                let mut random = seed * 7919 + 1;
                let mut begun: Vec<(u64, u64)> = Vec::new();
                for n in 1..if cfg!(miri) { 20u64 } else { 200 } {
                    write.write(&n);
                    for slow in &mut slows {
                        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        if (random >> 40).is_multiple_of(8) {
                            assert_eq!(slow.read(), Some(n));
                        }
                    }
                    begun.push((n, place.memory().claim().word(0).load(taut_atomic::Ordering::Relaxed)));
                    begun.retain(|(k, word)| match goes_on_with(&place, &mut fast, *word) {
                        Ok(got) => {
                            assert_eq!(got, sample(*k, *k));
                            true
                        }
                        Err(ReaderOvertaken) => {
                            let survived = n - k - 1;
                            assert!(survived >= u64::from(overlaps), "{slow} {overlaps}: {survived}");
                            least = least.min(survived);
                            false
                        }
                    });
                }
            }
            let bound = 2 * u64::from(overlaps / 2) + 1;
            assert!(
                least >= bound && (cfg!(miri) || least == bound),
                "{slow} {overlaps}: {least}, not {bound}"
            );
        }
    }

    #[test]
    fn a_read_overrun_by_an_unfinished_write_fails() {
        let place = place::<[u64; 2]>(0, 1);
        let mut write = writer::<[u64; 2]>(&place, 0, 1);
        let mut fast = fast_reader::<[u64; 2]>(&place, 0, 1);
        write.write(&[1; 2]);
        let one = place.memory().claim().word(0).load(taut_atomic::Ordering::Relaxed);
        write.write(&[2; 2]);
        assert_eq!(goes_on_with(&place, &mut fast, one), Ok(sample([1; 2], 1)));
        write.write(&[3; 2]);
        assert_eq!(goes_on_with(&place, &mut fast, one), Err(ReaderOvertaken));
        assert_eq!(fast.read_sample(), Ok(sample([3; 2], 3)), "the next read succeeds");
    }

    #[test]
    fn successors_go_on() {
        let place = place::<[u64; 3]>(1, 2);
        let mut write = writer(&place, 1, 2);
        let mut slow = slow_reader(&place, 1, 2, 0);
        for n in 1..ROUNDS {
            if n.is_multiple_of(3) {
                write = writer(&place, 1, 2);
            }
            if n.is_multiple_of(4) {
                slow = slow_reader(&place, 1, 2, 0);
            }
            write.write(&[n; 3]);
            if !n.is_multiple_of(5) {
                assert_eq!(slow.read_sample(), sample([n; 3], n));
            }
            assert_eq!(fast_reader(&place, 1, 2).read_if_newer(), Ok(sample([n; 3], n)));
        }
    }

    #[test]
    fn the_last_complete_value_of_a_dead_writer_is_published() {
        let place = place::<u64>(1, 1);
        let mut write = writer::<u64>(&place, 1, 1);
        let mut slow = slow_reader::<u64>(&place, 1, 1, 0);
        let mut fast = fast_reader::<u64>(&place, 1, 1);
        write.write(&1);
        assert_eq!(slow.read(), Some(1));
        let one = place.memory().claim().word(0).load(taut_atomic::Ordering::Relaxed);
        write.write(&2);
        let two = place.memory().claim().word(0).swap(one, taut_atomic::Ordering::Relaxed);
        assert_eq!((slow.read(), fast.read()), (Some(1), Ok(Some(1))), "not published");
        write = writer(&place, 1, 1);
        assert_eq!(place.memory().claim().word(0).load(taut_atomic::Ordering::Relaxed), two);
        assert_eq!((slow.read(), fast.read()), (Some(2), Ok(Some(2))));
        write.write(&3);
        assert_eq!((slow.read_sample(), fast.read_sample()), (sample(3, 3), Ok(sample(3, 3))));
    }

    #[test]
    fn values_of_varying_length() {
        type Text = List<u8, 300>;
        let place = place::<Text>(1, 1);
        let (mut writer, mut slow, mut fast) =
            improved_double_buffer::group::<Text>(place.memory(), 1, 1).unwrap();
        let mut slow = slow.next().unwrap();
        for n in [0usize, 300, 7, 1, 299, 0, 8] {
            let text: Vec<u8> = (0..n).map(|i| (i * 7 + n) as u8).collect();
            writer.write(&List::of(&text).unwrap());
            assert_eq!(slow.read().unwrap().as_slice(), text);
            assert_eq!(fast.read().unwrap().unwrap().as_slice(), text);
        }
    }

    #[test]
    fn lies_are_bounded() {
        let place = place::<u64>(2, 3);
        let mut random = 3u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            random ^ random >> 29
        };
        let mut write = writer::<u64>(&place, 2, 3);
        let mut slows: Vec<_> = (0..2).map(|which| slow_reader::<u64>(&place, 2, 3, which)).collect();
        let mut fast = fast_reader::<u64>(&place, 2, 3);
        let words = improved_double_buffer::bytes::<u64>(2, 3).unwrap() / 8;
        let mut reported = 0;
        for n in 0..ROUNDS {
            write.write(&n);
            for _ in 0..next() % 4 {
                let word = place.memory().claim().word(next() as usize % words * 8);
                word.store(next() >> (next() % 64), taut_atomic::Ordering::Relaxed);
            }
            for slow in &mut slows {
                slow.read();
                slow.read_if_newer();
            }
            reported += u32::from(fast.read().is_err());
            if n.is_multiple_of(10) {
                write = writer(&place, 2, 3);
                slows[n as usize / 10 % 2] = slow_reader(&place, 2, 3, n as u32 / 10 % 2);
            }
        }
        assert!(cfg!(miri) || reported > 0, "a number that is not the slot's was never noticed");
    }

    #[test]
    fn the_error_speaks() {
        assert!(ReaderOvertaken.to_string().contains("more writes took place"));
    }
}
