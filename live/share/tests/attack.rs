// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Attacks of safe code on the objects: sizes that overflow, values of no bytes, forgotten loans, panics in closures
//! that use a lent value. The objects refuse each, or it is harmless; under Miri also to the memory.
#![cfg(not(any(loom, shuttle)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use taut_share::state::flow::Shape;
use taut_share::state::{
    chen, dbp, double_buffer, emeralds, hybrid, improved_chen, improved_double_buffer, improved_peterson,
    nbw_temporal, peterson, presence, sdrtr, sdrtw, spinlock, tccp,
};
use taut_share::{Line, List, Memory, Plain, bulk, queue};

/// So large that the size of a few of them overflows.
type Huge = [u64; 1 << 57];

fn lines(count: usize) -> Vec<Line> {
    (0..count).map(|_| Line::new()).collect()
}

/// For any numbers, an object that does not fit is refused: no size wraps around to a small one.
#[test]
fn sizes_that_overflow_are_refused() {
    let mut lines = lines(4);
    for many in [0, 1, 2, 3, 7, 8, 62, 63, 64, 255, 1 << 16, 1 << 31, u32::MAX - 1, u32::MAX] {
        macro_rules! refused {
            ($($make:expr),* $(,)?) => {
                $({
                    let make = $make;
                    assert!(make(Memory::new(&mut lines)), "{} with {many}", stringify!($make));
                })*
            };
        }
        refused!(
            |m| sdrtr::pair::<Huge>(m).is_err(),
            |m| sdrtw::pair::<Huge>(m).is_err(),
            |m| chen::group::<Huge>(m, many).is_err(),
            |m| double_buffer::group::<Huge>(m, many).is_err(),
            |m| presence::group::<Huge>(m, many).is_err(),
            |m| peterson::group::<Huge>(m, many).is_err(),
            |m| spinlock::group::<Huge>(m, many).is_err(),
            |m| nbw_temporal::pair::<Huge>(m, many).is_err(),
            |m| queue::qrtr::pair::<Huge>(m, many).is_err(),
            |m| bulk::pair::<Huge>(m, many).is_err(),
        );
        for more in [0, 1, 2, 5, 62, 1 << 31, u32::MAX] {
            refused!(
                |m| hybrid::group::<Huge>(m, many, more).is_err(),
                |m| hybrid::observed::<Huge>(m, more).is_err(),
                |m| improved_chen::group::<Huge>(m, many, more).is_err(),
                |m| improved_double_buffer::group::<Huge>(m, many, more).is_err(),
                |m| improved_peterson::group::<Huge>(m, many, more).is_err(),
                |m| emeralds::group::<Huge>(m, many, more).is_err(),
                |m| queue::qrtwo::pair::<Huge>(m, many, more).is_err(),
                |m| queue::qrtwc::pair::<Huge>(m, many, more).is_err(),
                |m| queue::broadcast::group::<Huge>(m, many, more).is_err(),
            );
            for buffers in [0, 1, 3, 1 << 31, u32::MAX] {
                let shape = Shape { lower: many, higher: more, buffers };
                refused!(
                    |m| dbp::group::<Huge>(m, shape).is_err(),
                    |m| tccp::group::<Huge>(m, shape).is_err(),
                    |m| tccp::newest::<Huge>(m, shape).is_err(),
                );
            }
        }
    }
}

/// The same with small values, but too many of them: refused, or it fits.
#[test]
fn small_values_in_large_numbers_fit_or_are_refused() {
    fn each<T: Plain>() {
        let mut lines = lines(4);
        for many in [0, 1, 2, 63, 64, 1 << 16, 1 << 31, u32::MAX] {
            let _ = chen::group::<T>(Memory::new(&mut lines), many).is_ok();
            let _ = double_buffer::group::<T>(Memory::new(&mut lines), many).is_ok();
            let _ = presence::group::<T>(Memory::new(&mut lines), many).is_ok();
            let _ = peterson::group::<T>(Memory::new(&mut lines), many).is_ok();
            let _ = queue::qrtr::pair::<T>(Memory::new(&mut lines), many).is_ok();
            let _ = queue::qrtwo::pair::<T>(Memory::new(&mut lines), many, many).is_ok();
            let _ = queue::broadcast::group::<T>(Memory::new(&mut lines), 2, many).is_ok();
            let _ = queue::lanes::group(Memory::new(&mut lines), many).is_ok();
            let _ = bulk::pair::<T>(Memory::new(&mut lines), many).is_ok();
            let _ = nbw_temporal::pair::<T>(Memory::new(&mut lines), many).is_ok();
            for shape in
                [Shape { lower: many, higher: 1, buffers: 3 }, Shape { lower: 1, higher: 0, buffers: many }]
            {
                let _ = dbp::group::<T>(Memory::new(&mut lines), shape).is_ok();
                let _ = tccp::group::<T>(Memory::new(&mut lines), shape).is_ok();
            }
        }
    }
    each::<()>();
    each::<[u8; 0]>();
    each::<u8>();
    each::<[u8; 3]>();
    each::<List<u8, 0>>();
    each::<List<[u8; 0], { usize::MAX }>>();
}

/// A list of the largest number of items of size 0.
#[test]
fn lists_of_nothing() {
    type Nothing = List<[u8; 0], { usize::MAX }>;
    let mut list = Nothing::of(&[[]; 3]).unwrap();
    assert!(list.extend(&[[]; 4]));
    assert_eq!((list.len(), list.as_slice().len(), list.as_mut_slice().len()), (7, 7, 7));
    let mut lines = lines(8);
    let (mut writer, mut reader) = queue::qrtr::pair::<Nothing>(Memory::new(&mut lines), 2).unwrap();
    writer.push(list).unwrap();
    assert_eq!(reader.pop().unwrap().unwrap().len(), 7);
}

/// A longer list that was in a place earlier does not show in a shorter one.
#[test]
fn a_list_has_no_items_of_its_predecessor() {
    let mut lines = lines(8);
    let (mut writer, mut reader) = queue::qrtr::pair::<List<u8, 20>>(Memory::new(&mut lines), 1).unwrap();
    for bytes in [&b"a long one, whole"[..], b"short", b"", b"x"] {
        writer.push(List::of(bytes).unwrap()).unwrap();
        assert_eq!(&*reader.pop().unwrap().unwrap(), bytes);
        writer.push_with(|list| list.as_mut_slice().fill(b'?')).ok().unwrap();
        reader
            .pop_with(|list| assert!(list.len() <= 20 && list.iter().all(|byte| *byte == b'?')))
            .unwrap()
            .unwrap();
    }
}

/// Chunks that are forgotten, or dropped before their commit: their values are not sent, or not received, and nothing
/// is lent twice at a time.
#[test]
#[allow(
    clippy::forget_non_drop,
    clippy::drop_non_drop,
    reason = "it holds whether a chunk has a destructor or not"
)]
fn forgotten_chunks() {
    let mut lines = lines(8);
    let (mut writer, mut reader) = queue::qrtr::pair::<u64>(Memory::new(&mut lines), 4).unwrap();
    for round in 0..10 {
        let mut chunk = writer.write_chunk(4);
        chunk.iter_mut().for_each(|place| *place = u64::MAX);
        if round % 2 == 0 {
            std::mem::forget(chunk)
        } else {
            drop(chunk)
        }
        writer.push(round).unwrap();
        writer.push(round + 100).unwrap();
        let chunk = reader.read_chunk(2).unwrap();
        assert!(chunk.iter().copied().eq([round, round + 100]));
        if round % 2 == 0 {
            std::mem::forget(chunk)
        } else {
            drop(chunk)
        }
        while reader.pop().unwrap().is_some() {}
    }
}

/// Loans that are forgotten cost a block each, and no more.
#[test]
fn forgotten_loans() {
    let mut lines = lines(16);
    let (sender, receiver) = bulk::pair::<[u64; 2]>(Memory::new(&mut lines), 4).unwrap();
    std::mem::forget(sender.loan().unwrap());
    let mut loan = sender.loan().unwrap();
    *loan = [1, 2];
    loan.send();
    let received = receiver.receive().unwrap().unwrap();
    let mut others = Vec::new();
    while let Some(mut loan) = sender.loan_or_recall() {
        *loan = [7, 7];
        others.push(loan);
    }
    assert_eq!((*received, others.len()), ([1, 2], 2), "what is forgotten, or received, is not lent");
    std::mem::forget(received);
    drop(others);
    let mut lent = Vec::new();
    while let Some(loan) = sender.loan_or_recall() {
        lent.push(loan);
    }
    assert_eq!(lent.len(), 2);
}

/// A panic in a closure that uses a lent value: the object keeps working, for this end and for the other.
#[test]
fn panics_while_a_value_is_lent() {
    fn panics(work: &mut dyn FnMut()) {
        assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
    }
    let stop = || resume_unwind(Box::new(()));
    let mut lines = lines(64);

    let (mut writer, mut readers) = chen::group::<[u64; 2]>(Memory::new(&mut lines), 1).unwrap();
    let mut reader = readers.next().unwrap();
    writer.write(&[1, 1]);
    panics(&mut || {
        writer.write_with(|value| {
            value[0] = 2;
            stop()
        })
    });
    panics(&mut || {
        reader.read_with(|_| stop());
    });
    assert_eq!(reader.read(), Some([1, 1]));
    writer.write(&[3, 3]);
    assert_eq!(reader.read(), Some([3, 3]));

    let (mut writer, mut readers) = presence::group::<[u64; 2]>(Memory::new(&mut lines), 1).unwrap();
    let mut reader = readers.next().unwrap();
    writer.write(&[1, 1]);
    panics(&mut || {
        writer.write_with(|value| {
            value[0] = 2;
            stop()
        })
    });
    panics(&mut || {
        reader.read_with(|_| stop());
    });
    assert_eq!(reader.read(), Some([1, 1]));
    writer.write(&[3, 3]);
    assert_eq!(reader.read(), Some([3, 3]));

    let (mut writer, mut readers) = double_buffer::group::<[u64; 2]>(Memory::new(&mut lines), 1).unwrap();
    let mut reader = readers.next().unwrap();
    writer.write(&[1, 1]);
    panics(&mut || {
        writer.write_with(|value| {
            value[0] = 2;
            stop()
        })
    });
    panics(&mut || {
        reader.read_with(|_| stop());
    });
    writer.write(&[3, 3]);
    assert_eq!(reader.read(), Some([3, 3]));

    let (mut writer, mut reader) = queue::qrtr::pair::<[u64; 2]>(Memory::new(&mut lines), 2).unwrap();
    writer.push([1, 1]).unwrap();
    panics(&mut || {
        let _ = writer.push_with(|value| {
            value[0] = 2;
            stop()
        });
    });
    panics(&mut || {
        let _ = reader.pop_with(|_| stop());
    });
    writer.push([3, 3]).unwrap();
    let left: Vec<_> = std::iter::from_fn(|| reader.pop().unwrap()).collect();
    assert!(left == [[1, 1], [3, 3]] || left == [[3, 3]], "{left:?}");

    let (mut writer, mut reader) = sdrtr::pair::<[u64; 2]>(Memory::new(&mut lines)).unwrap();
    writer.try_publish(&[1, 1]).unwrap();
    panics(&mut || {
        reader.read_with(|_| stop());
    });
    writer.try_publish(&[3, 3]).unwrap();
    assert_eq!(reader.read(), Some([3, 3]));
}

/// A dispatcher that activates jobs at the wrong times, also while values are lent to the writer and the readers, and
/// jobs that are forgotten or never complete: the writer never gets a place that a reader has.
#[test]
fn a_dispatcher_at_the_wrong_times() {
    let shapes = [
        Shape::several_processors(1, 1),
        Shape { lower: 1, higher: 1, buffers: 3 },
        Shape { lower: 2, higher: 0, buffers: 2 },
        Shape { lower: 0, higher: 2, buffers: 3 },
    ];
    for shape in shapes {
        let mut lines = lines(200);
        let (mut dispatcher, mut writer, readers) =
            dbp::group::<[u64; 2]>(Memory::new(&mut lines), shape).unwrap();
        let (mut readers, mut read): (Vec<_>, _) = (readers.collect(), 0);
        for round in 1..40u64 {
            let at_ns = 2 * round;
            let _ = dispatcher.activate_writer(at_ns);
            let _ = dispatcher.activate_reader((round % 2) as u32, at_ns);
            let Some(mut job) = writer.job() else { continue };
            job.write_with(|value| {
                value[0] = round;
                assert!(dispatcher.activate_writer(at_ns + 1).is_err(), "its job is not complete");
                for (which, reader) in readers.iter_mut().enumerate() {
                    let _ = dispatcher.activate_reader(which as u32, at_ns + 1);
                    let Some(mut job) = reader.job() else { continue };
                    let seen = job.read_with(|seen| {
                        value[1] = round + 1;
                        assert_eq!(seen[0], seen[1], "half a value");
                    });
                    read += u32::from(matches!(seen, Ok(Some(()))));
                    if (round + which as u64).is_multiple_of(3) { job.complete() } else { job.go_on() }
                }
                value[1] = round;
            });
            if round % 4 == 1 { job.go_on() } else { job.complete() }
        }
        assert!(read > 0 || shape.higher == 0, "{shape:?}");
    }
}

/// A list that was made in private memory, and whose room was never written, is assigned as a whole to a lent place:
/// the bytes after its items are uninitialised there. Nothing reads them: neither the ends, nor those of the next
/// object on that memory.
#[test]
fn lists_that_are_assigned_where_they_lie() {
    type Short = List<u16, 9>;
    let made = |items: &[u16]| Short::of(items).unwrap();
    let mut lines = lines(64);

    let (mut writer, mut readers) = chen::group::<Short>(Memory::new(&mut lines), 1).unwrap();
    let mut reader = readers.next().unwrap();
    for items in [&[1, 2, 3][..], &[4], &[], &[5; 9]] {
        writer.write_with(|list| *list = made(items));
        assert_eq!(&*reader.read().unwrap(), items);
        let mut into = made(&[7; 9]);
        assert!(reader.read_into(&mut into).is_some() && *into == *items);
        reader.read_with(|list| assert_eq!(&**list, items)).unwrap();
    }

    let (mut writer, mut readers) = presence::group::<Short>(Memory::new(&mut lines), 1).unwrap();
    let mut reader = readers.next().unwrap();
    for items in [&[1, 2, 3][..], &[4], &[], &[5; 9]] {
        writer.write_with(|list| *list = made(items));
        assert_eq!(&*reader.read().unwrap(), items);
        reader.read_with(|list| assert_eq!(&**list, items)).unwrap();
    }

    let (mut writer, mut readers) = double_buffer::group::<Short>(Memory::new(&mut lines), 1).unwrap();
    let mut reader = readers.next().unwrap();
    for items in [&[1, 2, 3][..], &[4], &[], &[5; 9]] {
        writer.write_with(|list| *list = made(items));
        assert_eq!(&*reader.read().unwrap(), items);
        reader.read_with(|list| assert_eq!(&**list, items)).unwrap();
    }

    let shape = Shape::several_processors(1, 1);
    let (mut dispatcher, mut writer, mut readers) =
        dbp::group::<Short>(Memory::new(&mut lines), shape).unwrap();
    let mut reader = readers.next().unwrap();
    for (round, items) in [&[1, 2, 3][..], &[4], &[], &[5; 9]].into_iter().enumerate() {
        let at_ns = 2 * round as u64 + 1;
        dispatcher.activate_writer(at_ns).unwrap();
        let mut job = writer.job().unwrap();
        job.write_with(|list| *list = made(items));
        job.complete();
        dispatcher.activate_reader(0, at_ns + 1).unwrap();
        let mut job = reader.job().unwrap();
        let seen = job.read_with(|list| list.to_vec()).unwrap();
        assert!(seen.is_none_or(|seen| seen.len() <= 9));
        job.complete();
    }

    let (mut writer, mut reader) = queue::qrtr::pair::<Short>(Memory::new(&mut lines), 3).unwrap();
    for items in [&[1, 2, 3][..], &[4], &[], &[5; 9]] {
        writer.push_with(|list| *list = made(items)).ok().unwrap();
        assert_eq!(&*reader.pop().unwrap().unwrap(), items);
        let mut chunk = writer.write_chunk(3);
        chunk.iter_mut().for_each(|list| *list = made(items));
        let count = chunk.len();
        chunk.commit_all();
        let mut into = [made(&[7; 9]); 3];
        assert_eq!(reader.pop_slice(&mut into).unwrap(), count);
        assert!(into[..count].iter().all(|list| **list == *items));
    }

    let (sender, receiver) = bulk::pair::<Short>(Memory::new(&mut lines), 2).unwrap();
    for items in [&[1, 2, 3][..], &[4], &[], &[5; 9]] {
        let mut loan = sender.loan_or_recall().unwrap();
        *loan = made(items);
        loan.send();
        assert_eq!(&**receiver.receive().unwrap().unwrap(), items);
    }

    // The whole memory is zeros again, which are values of the next type.
    let (mut writer, _reader) = queue::qrtr::pair::<[u64; 30]>(Memory::new(&mut lines), 2).unwrap();
    assert_eq!(writer.push_with(|value| value.iter().sum::<u64>()).ok(), Some(0));
}

/// Values whose `Clone`, `PartialEq` and `Ord` panic: no object calls any of them, values are copied as bytes.
#[test]
fn values_that_misbehave() {
    use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

    #[derive(Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Debug)]
    #[repr(C)]
    struct Bad(u64);

    #[allow(clippy::expl_impl_clone_on_copy, clippy::non_canonical_clone_impl, reason = "what is tried")]
    impl Clone for Bad {
        fn clone(&self) -> Self {
            panic!("cloned")
        }
    }
    impl PartialEq for Bad {
        fn eq(&self, _: &Self) -> bool {
            panic!("compared")
        }
    }

    let mut lines = lines(64);
    let (mut writer, mut reader) = queue::qrtr::pair::<Bad>(Memory::new(&mut lines), 4).unwrap();
    assert_eq!(writer.push_slice(&[Bad(1), Bad(2)]), 2);
    writer.push(Bad(3)).unwrap();
    let mut into = [Bad(0), Bad(0), Bad(0)];
    assert_eq!(reader.pop_slice(&mut into).unwrap(), 3);
    assert_eq!(into.map(|bad| bad.0), [1, 2, 3]);

    let (mut writer, mut reader) = queue::qrtwo::pair::<Bad>(Memory::new(&mut lines), 4, 4).unwrap();
    (1..=9).for_each(|n| writer.push(&Bad(n)));
    // The follower begins at the same value, with its own copy of the values that were copied ahead.
    let first = reader.pop().unwrap().unwrap();
    let mut follower = reader.follower();
    let again = follower.pop().unwrap().unwrap();
    let mut second = follower.clone();
    let rest = |reader: &mut dyn FnMut() -> Option<u64>| std::iter::from_fn(reader).collect::<Vec<_>>();
    assert_eq!((first.value.0, again.value.0), (6, 7));
    assert_eq!(rest(&mut || Some(second.pop().unwrap()?.value.0)), [8, 9]);
    assert_eq!(rest(&mut || Some(reader.pop().unwrap()?.value.0)), [7, 8, 9]);
    assert_eq!(rest(&mut || Some(follower.pop().unwrap()?.value.0)), [8, 9]);

    let (mut writer, mut readers) = chen::group::<Bad>(Memory::new(&mut lines), 1).unwrap();
    writer.write(&Bad(5));
    assert_eq!(readers.next().unwrap().read().unwrap().0, 5);

    let mut list = List::<Bad, 4>::of(&[Bad(1)]).unwrap();
    assert!(list.extend(&[Bad(2)]) && list.push(Bad(3)).is_ok());
    let (mut writer, mut reader) = queue::qrtr::pair::<List<Bad, 4>>(Memory::new(&mut lines), 1).unwrap();
    writer.push(list).unwrap();
    assert_eq!(reader.pop().unwrap().unwrap().len(), 3);
}
