// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The slots and steps that Chen's protocol [Huang 2002, Fig. 3] needs, shown on a small sequential model, each
//! beside the same sequence of steps on our objects.

use taut_share::state::{chen, hybrid, improved_chen};
use taut_share::{Line, Memory};

/// Fig. 3 in single steps, whose order a test chooses; a slot holds the two words of a value.
struct Printed {
    slots: Vec<[u64; 2]>,
    latest: usize,
    reading: Vec<Option<usize>>,
}

impl Printed {
    fn new(slots: usize, readers: usize) -> Self {
        Self { slots: vec![[0; 2]; slots], latest: 0, reading: vec![Some(0); readers] }
    }

    /// GetBuff: the search, cut off after two rounds; the printed one has no end.
    fn free(&self) -> Option<usize> {
        let behind = (1..=2 * self.slots.len()).map(|step| (self.latest + step) % self.slots.len());
        behind.into_iter().find(|slot| *slot != self.latest && !self.reading.contains(&Some(*slot)))
    }

    /// The writer up to the end of the copy.
    fn fill(&mut self, value: u64) -> Option<usize> {
        let slot = self.free()?;
        self.slots[slot] = [value; 2];
        Some(slot)
    }

    /// The rest of the writer: publishes, and fills the empty entries.
    fn publish(&mut self, slot: usize) {
        self.latest = slot;
        self.reading.iter_mut().for_each(|reading| *reading = reading.or(Some(slot)));
    }

    fn write(&mut self, value: u64) -> bool {
        let slot = self.fill(value);
        slot.map(|slot| self.publish(slot)).is_some()
    }

    /// The reader up to the copy. Returns the slot that it will copy.
    fn claim(&mut self, which: usize) -> usize {
        self.reading[which] = None;
        let latest = self.latest;
        *self.reading[which].get_or_insert(latest)
    }
}

#[test]
fn with_one_slot_fewer_the_search_never_ends() {
    for readers in if cfg!(miri) { 1..3 } else { 1..6 } {
        // Every reader holds a different slot, and latest is one more.
        let story = |slots: usize| {
            let mut printed = Printed::new(slots, readers);
            (0..readers).all(|which| {
                let written = printed.write(which as u64 + 1);
                printed.claim(which);
                written
            }) && printed.write(100)
                && printed.write(101)
        };
        assert!(!story(readers + 1), "{readers} readers");
        assert!(story(readers + 2), "{readers} readers");

        // Ours: the readers hold their slots while the writer continues.
        let count = u32::try_from(readers).unwrap();
        let mut lines: Vec<Line> = (0..chen::bytes::<u64>(count) / 128).map(|_| Line::new()).collect();
        let (mut writer, all) = chen::group::<u64>(Memory::new(&mut lines), count).unwrap();
        let mut held: Vec<_> = all.collect();
        for (n, reader) in (1..).zip(&mut held) {
            writer.write(&n);
            assert_eq!(reader.read(), Some(n));
        }
        let last = if cfg!(miri) { 199 } else { 1099 };
        (100..=last).for_each(|n| writer.write(&n));
        assert!(held.iter_mut().all(|reader| reader.read() == Some(last)));
    }
}

#[test]
fn without_the_claim_a_slow_reader_is_torn() {
    // The reader loads latest and does not claim: the writer uses its slot again.
    let mut printed = Printed::new(3, 1);
    printed.write(1);
    let slot = printed.latest;
    let first = printed.slots[slot][0];
    (2..=4).for_each(|n| assert!(printed.write(n)));
    let second = printed.slots[slot][1];
    assert_ne!(first, second, "torn");

    // With the claim, the value stays.
    let mut printed = Printed::new(3, 1);
    printed.write(1);
    let slot = printed.claim(0);
    let first = printed.slots[slot][0];
    (2..=40).for_each(|n| assert!(printed.write(n)));
    assert_eq!(first, printed.slots[slot][1]);

    // Ours, in place: the value that the reader looks at does not change during 40 writes.
    let mut lines = [const { Line::new() }; 6];
    let (mut writer, mut reader) = chen::pair::<[u64; 2]>(Memory::new(&mut lines)).unwrap();
    writer.write(&[1; 2]);
    let seen = reader.read_with(|value| {
        let first = value[0];
        (2..=40).for_each(|n| writer.write(&[n; 2]));
        [first, value[1]]
    });
    assert_eq!((seen, reader.read()), (Some([1; 2]), Some([40; 2])));
}

/// The smallest number of writes between a fast reader's load of latest and the moment when its slot is filled again,
/// with `slow` slow readers that move their claims at the worst moments.
fn distance(slots: usize, slow: usize) -> usize {
    let mut least = usize::MAX;
    // All combinations of each slow reader making a new claim or not before each of eight writes.
    for plan in 0u64..1 << (8 * slow) {
        let mut printed = Printed::new(slots, slow);
        let mut filled = vec![None; slots];
        for n in 0..8 {
            (0..slow).filter(|which| plan >> (n * slow + which) & 1 == 1).for_each(|which| {
                printed.claim(which);
            });
            let Some(slot) = printed.fill(n as u64) else { return 0 };
            if let Some(before) = filled[slot].replace(n) {
                least = least.min(n - before);
            }
            printed.publish(slot);
        }
    }
    least
}

#[test]
fn one_buffer_fewer_in_the_improved_form_tears_in_time() {
    // A model without any unsafe code: Miri takes minutes for it and cannot find anything there.
    let shapes: &[_] = if cfg!(miri) {
        &[(0, 2), (0, 3)]
    } else {
        &[(0, 2), (0, 3), (1, 2), (1, 3), (1, 4), (2, 2), (2, 3)]
    };
    for &(slow, n) in shapes {
        assert_eq!(distance(slow + n, slow), n, "{slow} slow readers, N = {n}");
        assert!(distance(slow + n - 1, slow) < n, "{slow} slow readers, N = {n}, one fewer");
    }

    // A complete example: N = 3, so 2 writes may overlap a fast read. With one buffer fewer they tear it.
    let mut printed = Printed::new(2, 0);
    printed.write(1);
    let slot = printed.latest;
    let first = printed.slots[slot][0];
    (2..=3).for_each(|n| assert!(printed.write(n)));
    assert_ne!(first, printed.slots[slot][1], "torn, and the reader was in time");

    // Ours, for 2 overlaps: the words of a value that was the newest stay for 2 more writes, whatever a slow reader
    // holds.
    for hold in 0..6 {
        let bytes = improved_chen::bytes::<u64>(1, 2);
        let mut lines: Vec<Line> = (0..bytes / 128).map(|_| Line::new()).collect();
        let start = core::ptr::NonNull::from(lines.as_mut_slice()).cast::<u8>();
        // SAFETY: aligned lines, of that length, which outlive the ends; accessed only through `start`.
        let memory = unsafe { Memory::from_raw(start, bytes) };
        let (mut writer, mut slow, _) = improved_chen::group::<u64>(memory, 1, 2).unwrap();
        let mut slow = slow.next().unwrap();
        // SAFETY: inside, aligned, and accessed only atomically.
        let word = |at: usize| unsafe { taut_atomic::AtomicU64::from_ptr(start.as_ptr().add(at).cast()) };
        let load = |at: usize| word(at).load(taut_atomic::Ordering::Relaxed);
        let mut looks = Vec::new();
        for n in 1..40 {
            writer.write(&n);
            if n % 6 == hold {
                slow.read();
            }
            looks.push((n, 256 + 64 * (load(0) & 0xFF) as usize));
            for (value, at) in looks.iter().rev().take(3) {
                assert_eq!(load(*at), *value, "{} writes later", n - value);
            }
        }
    }
}

#[test]
fn a_fast_reader_that_was_too_slow_gets_an_error() {
    // As printed, it gets whatever the slot holds.
    let mut printed = Printed::new(2, 0);
    printed.write(1);
    let slot = printed.latest;
    (2..=3).for_each(|n| assert!(printed.write(n)));
    assert_eq!(printed.slots[slot], [3; 2], "not what was newest when it looked");

    // Ours: the slot has a different stamp. A reader that may claim does so; an observer gets `ReaderOvertaken`.
    let bytes = hybrid::bytes::<u64>(1, 0);
    let mut lines: Vec<Line> = (0..bytes / 128).map(|_| Line::new()).collect();
    let start = core::ptr::NonNull::from(lines.as_mut_slice()).cast::<u8>();
    // SAFETY: aligned lines, of that length, which outlive the ends; accessed only through `start`.
    let memory = unsafe { Memory::from_raw(start, bytes) };
    let (mut writer, mut all) = hybrid::group::<u64>(memory, 1, 0).unwrap();
    let mut reader = all.next().unwrap();
    let mut observer = reader.observer();
    writer.write(&1);
    // SAFETY: inside, aligned, and accessed only atomically.
    let word = |at: usize| unsafe { taut_atomic::AtomicU64::from_ptr(start.as_ptr().add(at).cast()) };
    let stamp = word(256 + 64 * (word(0).load(taut_atomic::Ordering::Relaxed) & 0xFF) as usize + 8);
    stamp.fetch_add(256 * 3, taut_atomic::Ordering::Relaxed);
    assert_eq!(observer.try_read(), Err(hybrid::ReaderOvertaken));
    assert_eq!(reader.read(), Some(1), "by claim");
    writer.write(&2);
    assert_eq!(observer.try_read().unwrap().unwrap().value, 2);
}
