// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The mistakes of the printed Double Buffer and Improved Double Buffer [Huang 2002, Fig. 6 and 8], shown on a small
//! sequential model of the listings, each beside the same sequence of steps on our objects; and the effect of one
//! slot less than the protocols have.

use taut_share::state::{double_buffer, improved_double_buffer, presence};

use crate::place::Place;

/// Figures 6 and 8 in single steps, whose order a test chooses. Values are numbers of writes.
struct Printed {
    latest: usize,
    readers: Vec<u32>,
    column: Vec<usize>,
    slots: Vec<[u64; 2]>,
}

/// A reader between its lines: the row that it has loaded.
#[derive(Clone, Copy)]
struct Inside(usize);

impl Printed {
    fn new(rows: usize) -> Self {
        Self { latest: 0, readers: vec![0; rows], column: vec![0; rows], slots: vec![[0; 2]; rows] }
    }

    /// Figure 6, line 1.
    fn load_latest(&self) -> Inside {
        Inside(self.latest)
    }

    /// Lines 2 to 4.
    fn read(&mut self, inside: Inside) -> u64 {
        self.readers[inside.0] += 1;
        let value = self.slots[inside.0][self.column[inside.0]];
        self.readers[inside.0] -= 1;
        value
    }

    /// The writer's search from row `start` on, modulo the number of rows, as the listing means it.
    fn find(&self, start: usize) -> usize {
        let rows = self.readers.len();
        (start..start + 2 * rows).map(|row| row % rows).find(|row| self.readers[*row] == 0).unwrap()
    }

    /// The writer up to the line that sets `Cl`. Returns the row, for [`Printed::publish`].
    fn write_and_set_column(&mut self, start: usize, value: u64) -> usize {
        let row = self.find(start);
        let column = 1 - self.column[row];
        self.slots[row][column] = value;
        self.column[row] = column;
        row
    }

    /// The line that sets `Latest`.
    fn publish(&mut self, row: usize) {
        self.latest = row;
    }

    fn write(&mut self, start: usize, value: u64) {
        let row = self.write_and_set_column(start, value);
        self.publish(row);
    }
}

#[test]
fn a_printed_read_goes_backwards() {
    // Figure 8: one slow reader, two rows, the search from Latest + 1 on.
    let mut printed = Printed::new(2);
    let late = printed.load_latest(); // Row 0, a long time before the reader continues.
    printed.write(1, 1); // To row 1.
    let row = printed.write_and_set_column(printed.latest + 1, 2); // Back to row 0: `Cl` names it, `Latest` not yet.
    assert_eq!(row, 0);
    assert_eq!(printed.read(late), 2, "before it is published");
    let next = printed.load_latest();
    assert_eq!(printed.read(next), 1, "and then the one before");
    printed.publish(row);

    // Figure 6, two readers, three rows, the search from Latest on: the other reader drives the writer from row to
    // row.
    let mut printed = Printed::new(3);
    let late = printed.load_latest(); // Row 0.
    printed.readers[0] += 1; // The other reader, in row 0.
    printed.write(0, 1);
    assert_eq!(printed.latest, 1);
    printed.readers[0] -= 1;
    printed.readers[1] += 1; // It goes to row 1,
    printed.write(1, 2); // and on to row 2,
    printed.readers[1] -= 1;
    printed.readers[2] += 1;
    let row = printed.write_and_set_column(2, 3);
    assert_eq!(row, 0);
    assert_eq!(printed.read(late), 3, "before it is published");
    let next = printed.load_latest();
    assert_eq!(printed.read(next), 2, "and then the one before");
}

/// Ours: a reader reads before each step of a write, also between the stores of `cl` and latest.
#[cfg(steps)]
#[test]
fn our_read_does_not_go_backwards() {
    use std::cell::RefCell;

    use taut_atomic::steps::{count, strike_at};
    use taut_share::{LINE_BYTES, Line, Memory};

    fn memory(bytes: usize) -> Memory<'static> {
        Memory::new(Vec::leak((0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect()))
    }

    macro_rules! ours {
        ($reader:ty, $group:expr) => {{
            type Reader = $reader;
            thread_local!(static READER: RefCell<(Option<Reader>, u64)> = const { RefCell::new((None, 0)) });
            fn come() {
                READER.with_borrow_mut(|(reader, last)| {
                    let reader = reader.as_mut().unwrap();
                    for _ in 0..2 {
                        let sample = reader.read_sample();
                        let version = sample.map_or(0, |sample| sample.version);
                        assert_eq!(sample.map_or(0, |sample| sample.value), version);
                        assert!(version >= *last, "backwards: {version} after {last}");
                        *last = version;
                    }
                });
            }
            let mut stopped = 0;
            for writes in 1..=5 {
                for at in 1..=16 {
                    let (mut writer, reader) = $group;
                    READER.set((Some(reader), 0));
                    for n in 1..=writes {
                        strike_at(at, come);
                        let ((), took) = count(|| writer.write(&n));
                        stopped += u32::from(took.total() > 8);
                        // Clears a strike that found no step.
                        strike_at(u64::MAX, || {});
                        READER.with_borrow(|(_, last)| assert!(*last <= n, "from the future"));
                    }
                    come();
                    READER.with_borrow(|(_, last)| assert_eq!(*last, writes, "not the newest"));
                }
            }
            assert!(stopped > 20, "reads came in between");
        }};
    }
    ours!(double_buffer::Reader<'static, u64>, {
        let memory = memory(double_buffer::bytes::<u64>(1));
        let (writer, mut group) = double_buffer::group::<u64>(memory, 1).unwrap();
        (writer, group.next().unwrap())
    });
    ours!(improved_double_buffer::SlowReader<'static, u64>, {
        let memory = memory(improved_double_buffer::bytes::<u64>(1, 1).unwrap());
        let (writer, mut slows, _) = improved_double_buffer::group::<u64>(memory, 1, 1).unwrap();
        (writer, slows.next().unwrap())
    });
    ours!(presence::Reader<'static, u64>, {
        let memory = memory(presence::bytes::<u64>(1));
        let (writer, mut group) = presence::group::<u64>(memory, 1).unwrap();
        (writer, group.next().unwrap())
    });
}

/// The smallest number of writes after which the slot of a write is written again, with `rows` rows, of which `slow`
/// are held.
fn distance(rows: usize, slow: usize, first_test: usize) -> u64 {
    let mut printed = Printed::new(rows);
    for held in 0..slow {
        printed.readers[rows - 1 - held] += 1;
    }
    let mut written: Vec<(usize, usize)> = Vec::new();
    let mut least = u64::MAX;
    for n in 1..100 {
        printed.write(printed.latest + first_test, n);
        let slot = (printed.latest, printed.column[printed.latest]);
        if let Some(before) = written.iter().rev().position(|at| *at == slot) {
            least = least.min(before as u64 + 1);
        }
        written.push(slot);
    }
    least
}

#[test]
fn a_printed_loop_that_starts_too_late_breaks_the_distance() {
    // `i = (Latest + 1) mod NRows`, followed by a loop whose only clause is another step: with an even number of rows
    // it uses only every other row, and with two always the same one.
    for overlaps in [3u64, 5, 7] {
        let rows = overlaps as usize / 2 + 1;
        assert_eq!(distance(rows, 0, 1), 2 * rows as u64, "as meant");
        let late = distance(rows, 0, 2);
        assert_eq!(late > overlaps, rows % 2 == 1, "{rows} rows: {late}");
    }
    // Ours, V = 3: a value is still there after 3 writes; the late start loses it after 2.
    assert_eq!(distance(2, 0, 2), 2);
    let mut printed = Printed::new(2);
    printed.write(printed.latest + 2, 1);
    let first = (printed.latest, printed.column[printed.latest]);
    for n in 2..=3 {
        printed.write(printed.latest + 2, n);
    }
    assert_eq!(printed.slots[first.0][first.1], 3, "write 1 is overwritten by write 3");
    let place = Place::new(improved_double_buffer::bytes::<u64>(0, 3).unwrap());
    let latest = place.memory().claim().word(0);
    let (mut writer, _, mut fast) = improved_double_buffer::group::<u64>(place.memory(), 0, 3).unwrap();
    writer.write(&1);
    let first = latest.load(taut_atomic::Ordering::Relaxed);
    for n in 2..=4 {
        writer.write(&n);
        let now = latest.swap(first, taut_atomic::Ordering::Relaxed);
        assert_eq!(fast.read(), Ok(Some(1)), "as a fast reader that was held up for {} writes", n - 1);
        latest.store(now, taut_atomic::Ordering::Relaxed);
    }
}

#[test]
fn the_printed_index_runs_past_the_last_row() {
    // Figure 6, lines 6 to 11: only the test uses the index modulo the number of rows.
    let mut printed = Printed::new(3);
    printed.latest = 2;
    printed.readers[2] += 1;
    let rows = printed.readers.len();
    let mut i = printed.latest;
    while printed.readers[i % rows] != 0 {
        i += 1;
    }
    assert_eq!(i, 3, "the index that is written to, and becomes Latest");
    assert!(printed.slots.get(i).is_none(), "there are rows 0 to 2");

    // Ours, three rows: readers in any row, and the writer uses every row.
    let place = Place::new(double_buffer::bytes::<u64>(2));
    let latest = place.memory().claim().word(0);
    let (mut writer, group) = double_buffer::group::<u64>(place.memory(), 2).unwrap();
    let mut group: Vec<_> = group.collect();
    let mut used = [0; 3];
    for n in 1..100u64 {
        writer.write(&n);
        used[(latest.load(taut_atomic::Ordering::Relaxed) >> 1 & 127) as usize] += 1;
        assert_eq!(group[n as usize % 2].read(), Some(n));
    }
    assert!(used.iter().all(|row| *row > 20), "{used:?}");
}

#[test]
fn one_slot_less_is_too_few_for_presence() {
    // P readers are in P different slots, and the newest value is in one more: with P + 1 slots none is free.
    for readers in 1..=5u32 {
        let free = |slots: u32| {
            let at: Vec<u32> = (0..readers).collect(); // Reader i entered when slot i was the newest.
            let newest = readers;
            (0..slots).any(|slot| slot != newest && !at.contains(&slot))
        };
        assert!(!free(readers + 1) && free(readers + 2));

        // Ours, in that situation: each reader stays with a different value, and the writer continues.
        let place = Place::new(presence::bytes::<u64>(readers));
        let (mut writer, group) = presence::group::<u64>(place.memory(), readers).unwrap();
        let mut group: Vec<_> = group.collect();
        let mut number = 0;
        fn stay(
            group: &mut [presence::Reader<'static, u64>],
            writer: &mut presence::Writer<'static, u64>,
            number: &mut u64,
        ) {
            *number += 1;
            writer.write(number);
            let mine = *number;
            match group.split_first_mut() {
                Some((reader, rest)) => {
                    let kept = reader.read_with(|value| {
                        stay(rest, writer, number);
                        *value
                    });
                    assert_eq!(kept, Some(mine));
                }
                None => (0..10).for_each(|_| {
                    *number += 1;
                    writer.write(number);
                }),
            }
        }
        stay(&mut group, &mut writer, &mut number);
        assert!(group.iter_mut().all(|reader| reader.read() == Some(number)));
    }
}
