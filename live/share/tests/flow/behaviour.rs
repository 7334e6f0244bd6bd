// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! DBP and TCCP in one thread: values, errors, layout, and the successor of an end that is gone.

use core::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};

use taut_atomic::Ordering::Relaxed;
use taut_share::state::dbp::{self, NotActivated, NotYet, Shape};
use taut_share::state::tccp::{self, NotRead, ReaderOvertaken};
use taut_share::{LINE_BYTES, LayoutError, List};

use crate::place::Place;

const BOTH: Shape = Shape { lower: 1, higher: 1, buffers: 4 };

#[test]
fn shapes_count_buffers() {
    let one = |lower, higher| Shape::one_processor(lower, higher).buffers;
    let several = |lower, higher| Shape::several_processors(lower, higher).buffers;
    assert_eq!([one(1, 0), one(5, 0), one(0, 1), one(0, 9), one(2, 3)], [2, 6, 3, 3, 5]);
    assert_eq!([several(1, 0), several(5, 0), several(0, 1), several(0, 9), several(2, 3)], [2, 6, 3, 11, 7]);
    assert_eq!(several(u32::MAX, u32::MAX), u32::MAX);
}

#[test]
fn impossible_shapes_and_small_memory_are_refused() {
    let lines = |n: usize| Place::new(n * LINE_BYTES);
    macro_rules! refused {
        ($protocol:ident) => {
            let refused = |lower, higher, buffers, n| {
                let shape = Shape { lower, higher, buffers };
                $protocol::group::<u64>(lines(n).memory(), shape).map(drop)
            };
            assert_eq!(refused(0, 0, 2, 99), Err(LayoutError::Readers));
            assert_eq!(refused(62, 1, 2, 999), Err(LayoutError::Readers));
            assert_eq!(refused(u32::MAX, 1, 2, 999), Err(LayoutError::Readers));
            assert_eq!(refused(1, 1, 0, 99), Err(LayoutError::Buffers));
            assert_eq!($protocol::bytes::<u64>(Shape { buffers: 0, ..BOTH }), None);
            // Two lines, two for each reader, and buffers of 64 bytes.
            let needed = Err(LayoutError::TooSmall { needed: 8 * 128, given: 7 * 128 });
            assert_eq!(refused(1, 1, 4, 7), needed);
            assert_eq!(refused(1, 1, 4, 8), Ok(()));
            assert_eq!($protocol::bytes::<[u8; 1 << (usize::BITS - 4)]>(Shape { buffers: 64, ..BOTH }), None);
            assert_eq!($protocol::bytes::<u64>(Shape { lower: 0, higher: 0, buffers: 1 }), None);
            let place = lines(8);
            // SAFETY: refused, so no ends are created.
            unsafe {
                let reader = $protocol::reader::<u64>(place.memory(), BOTH, 2).map(drop);
                assert_eq!(reader, Err(LayoutError::Readers));
                let writer = $protocol::writer::<[u64; 99]>(place.memory(), BOTH).map(drop);
                assert!(matches!(writer, Err(LayoutError::TooSmall { .. })));
                let dispatcher = $protocol::dispatcher::<[u64; 99]>(place.memory(), BOTH).map(drop);
                assert!(matches!(dispatcher, Err(LayoutError::TooSmall { .. })));
            }
        };
    }
    refused!(dbp);
    refused!(tccp);
    let shape = Shape { buffers: 65, ..BOTH };
    assert_eq!(dbp::group::<u64>(lines(99).memory(), shape).map(drop), Err(LayoutError::Buffers));
    assert_eq!(dbp::bytes::<u64>(shape), None);
    assert_eq!(tccp::group::<u64>(lines(99).memory(), shape).map(drop), Ok(()));
    assert!(tccp::newest::<u64>(lines(7).memory(), BOTH).is_err());
}

/// What is common to both protocols.
macro_rules! alike {
    ($protocol:ident, $not_yet:expr) => {
        use super::*;

        fn new(shape: Shape) -> (Place, $protocol::Group<'static, [u64; 3]>) {
            let place = Place::new($protocol::bytes::<[u64; 3]>(shape).unwrap());
            let group = $protocol::group(place.memory(), shape).unwrap();
            (place, group)
        }

        #[test]
        fn lower_readers_get_the_latest_and_higher_the_previous() {
            let (_place, (mut dispatcher, mut writer, mut readers)) = new(BOTH);
            assert_eq!(readers.len(), 2);
            let (mut lower, mut higher) = (readers.next().unwrap(), readers.next().unwrap());
            assert!(readers.next().is_none());
            assert!(lower.job().is_none() && writer.job().is_none());
            // Before the writer's first activation there is no value.
            assert_eq!(dispatcher.activate_reader(0, 0), Ok(0));
            assert_eq!(lower.job().unwrap().read(), Ok(None));
            for n in 1..30 {
                assert_eq!(dispatcher.activate_writer(n), Ok(n));
                assert_eq!(dispatcher.activate_reader(0, n), Ok(n));
                assert_eq!(dispatcher.activate_reader(1, n), Ok(n - 1));
                let (mut low, mut high) = (lower.job().unwrap(), higher.job().unwrap());
                assert_eq!((low.version(), high.version()), (n, n - 1));
                assert_eq!((low.number(), high.number()), (n + 1, n));
                let before = (n > 1).then_some([n - 1; 3]);
                assert_eq!(high.read(), Ok(before));
                assert_eq!((low.read(), low.is_ready()), (Err($not_yet), false));
                let mut job = writer.job().unwrap();
                assert_eq!(job.number(), n);
                job.write(&[n + 1000; 3]);
                assert_eq!((low.read(), low.is_ready()), (Err($not_yet), false));
                job.write(&[n; 3]);
                job.complete();
                assert!(writer.job().is_none(), "and asking leaves the value as it is");
                assert!(low.is_ready() && high.is_ready());
                // The same value, whatever happens meanwhile.
                for _ in 0..2 {
                    assert_eq!((low.read(), high.read()), (Ok(Some([n; 3])), Ok(before)));
                }
                low.complete();
                high.complete();
            }
        }

        #[test]
        fn newer_is_what_was_not_read_before() {
            let (_place, (mut dispatcher, mut writer, mut readers)) = new(BOTH);
            let mut lower = readers.next().unwrap();
            dispatcher.activate_reader(0, 0).unwrap();
            assert_eq!(lower.job().unwrap().read_if_newer(), Ok(None));
            for n in 1..5 {
                dispatcher.activate_writer(n).unwrap();
                dispatcher.activate_reader(0, n).unwrap();
                let mut low = lower.job().unwrap();
                assert_eq!(low.read_if_newer(), Err($not_yet));
                writer.job().unwrap().write(&[n; 3]);
                let sample = low.read_if_newer().unwrap().unwrap();
                assert_eq!((sample.value, sample.version), ([n; 3], n));
                assert_eq!(low.read_if_newer(), Ok(None));
                assert_eq!(low.read(), Ok(Some([n; 3])));
                drop(low);
                dispatcher.activate_reader(0, n).unwrap();
                assert_eq!(lower.job().unwrap().read_if_newer(), Ok(None));
            }
        }

        #[test]
        fn forbidden_calls_fail_without_effect() {
            let (_place, (mut dispatcher, mut writer, mut readers)) = new(BOTH);
            let mut lower = readers.next().unwrap();
            assert_eq!(dispatcher.activate_reader(2, 5), Err(NotActivated::NoSuchReader));
            assert_eq!(dispatcher.activate_writer(10), Ok(1));
            assert_eq!(dispatcher.activate_writer(10), Err(NotActivated::Running));
            assert_eq!(dispatcher.activate_writer(9), Err(NotActivated::OutOfOrder));
            assert_eq!(dispatcher.activate_reader(0, 9), Err(NotActivated::OutOfOrder));
            writer.job().unwrap().write(&[1; 3]);
            // At an instant the writer comes before the readers; it may come twice at one.
            assert_eq!(dispatcher.activate_writer(10), Ok(2));
            writer.job().unwrap().write(&[2; 3]);
            assert_eq!(dispatcher.activate_reader(0, 10), Ok(2));
            assert_eq!(dispatcher.activate_writer(10), Err(NotActivated::OutOfOrder));
            assert_eq!(dispatcher.activate_reader(0, 10), Err(NotActivated::Running));
            assert_eq!(dispatcher.activate_reader(0, 20), Err(NotActivated::Running));
            assert_eq!(dispatcher.activate_writer(11), Ok(3), "a refusal at 20 is not an instant");
            assert_eq!(lower.job().unwrap().read(), Ok(Some([2; 3])));
            assert!(lower.job().is_none());
            assert_eq!(dispatcher.activate_reader(1, 11), Ok(2));
            assert_eq!(dispatcher.activate_reader(0, 11), Ok(3));
        }

        #[test]
        fn a_job_goes_on_without_its_guard() {
            let (_place, (mut dispatcher, mut writer, mut readers)) = new(BOTH);
            let (mut lower, mut higher) = (readers.next().unwrap(), readers.next().unwrap());
            for n in 1..20 {
                dispatcher.activate_writer(n).unwrap();
                dispatcher.activate_reader(0, n).unwrap();
                dispatcher.activate_reader(1, n).unwrap();
                let mut job = writer.job().unwrap();
                job.write(&[n; 3]);
                job.go_on();
                assert_eq!(lower.job().map(|mut job| (job.is_ready(), job.go_on())), Some((false, ())));
                assert_eq!(dispatcher.activate_writer(n + 1), Err(NotActivated::Running));
                let job = writer.job().unwrap();
                assert_eq!(job.number(), n);
                // It has written, through the earlier guard.
                job.complete();
                assert!(writer.job().is_none());
                for _ in 0..3 {
                    let (mut low, mut high) = (lower.job().unwrap(), higher.job().unwrap());
                    assert_eq!(low.read(), Ok(Some([n; 3])));
                    assert_eq!(high.read(), Ok((n > 1).then_some([n - 1; 3])));
                    low.go_on();
                    high.go_on();
                }
                lower.job().unwrap().complete();
                higher.job().unwrap().complete();
                assert!(lower.job().is_none() && higher.job().is_none());
            }
        }

        #[test]
        fn a_job_that_does_not_write_holds_the_value() {
            let (_place, (mut dispatcher, mut writer, mut readers)) = new(BOTH);
            let (mut lower, mut higher) = (readers.next().unwrap(), readers.next().unwrap());
            let mut expected = [None; 2];
            for n in 1..30 {
                dispatcher.activate_writer(n).unwrap();
                dispatcher.activate_reader(0, n).unwrap();
                dispatcher.activate_reader(1, n).unwrap();
                let mut job = writer.job().unwrap();
                expected[1] = expected[0];
                if n % 7 == 3 || n % 7 == 4 {
                    job.write(&[n; 3]);
                    expected[0] = Some([n; 3]);
                }
                job.complete();
                assert_eq!(lower.job().unwrap().read(), Ok(expected[0]), "{n}");
                assert_eq!(higher.job().unwrap().read(), Ok(expected[1]), "{n}");
            }
        }

        #[test]
        fn successors_go_on() {
            let (place, (mut dispatcher, mut writer, mut readers)) = new(BOTH);
            let (mut lower, mut higher) = (readers.next().unwrap(), readers.next().unwrap());
            let mut last = None;
            for n in 1..15 {
                assert_eq!(dispatcher.activate_writer(n), Ok(n));
                dispatcher.activate_reader(0, n).unwrap();
                dispatcher.activate_reader(1, n).unwrap();
                let mut job = writer.job().unwrap();
                job.write(&[1000 + n; 3]);
                // All ends die in their jobs.
                forget(job);
                forget(lower.job().unwrap());
                let mut high = higher.job().unwrap();
                assert_eq!(high.read(), Ok(last));
                forget(high);
                // SAFETY: the previous ones are not used again.
                unsafe {
                    dispatcher = $protocol::dispatcher::<[u64; 3]>(place.memory(), BOTH).unwrap();
                    writer = $protocol::writer(place.memory(), BOTH).unwrap();
                    lower = $protocol::reader(place.memory(), BOTH, 0).unwrap();
                    higher = $protocol::reader(place.memory(), BOTH, 1).unwrap();
                }
                assert_eq!(dispatcher.activate_writer(n), Err(NotActivated::Running));
                assert_eq!(dispatcher.activate_reader(0, n), Err(NotActivated::Running));
                let mut job = writer.job().unwrap();
                assert_eq!(job.number(), n);
                let (mut low, mut high) = (lower.job().unwrap(), higher.job().unwrap());
                assert_eq!((low.read(), high.read()), (Err($not_yet), Ok(last)));
                if n % 3 == 0 {
                    job.write(&[n; 3]);
                    last = Some([n; 3]);
                }
                job.complete();
                assert_eq!(low.read(), Ok(last), "{n}");
            }
        }

        #[test]
        fn a_value_that_was_in_the_dead_jobs_buffer_is_gone() {
            let shape = Shape { lower: 1, higher: 0, buffers: 1 };
            let (place, (mut dispatcher, mut writer, mut readers)) = new(shape);
            let mut reader = readers.next().unwrap();
            let mut read = |dispatcher: &mut $protocol::Dispatcher<'_>, at| {
                dispatcher.activate_reader(0, at).unwrap();
                reader.job().unwrap().read().unwrap()
            };
            dispatcher.activate_writer(0).unwrap();
            writer.job().unwrap().write(&[1; 3]);
            dispatcher.activate_writer(1).unwrap();
            writer.job().unwrap().complete();
            assert_eq!(read(&mut dispatcher, 1), Some([1; 3]), "held where it is");
            // The writer dies at any point of its job; its successor cannot know that the job had not begun to write.
            dispatcher.activate_writer(2).unwrap();
            // SAFETY: the previous one is not used again.
            let mut writer = unsafe { $protocol::writer::<[u64; 3]>(place.memory(), shape) }.unwrap();
            writer.job().unwrap().complete();
            assert_eq!(read(&mut dispatcher, 2), None);
            dispatcher.activate_writer(3).unwrap();
            writer.job().unwrap().write(&[2; 3]);
            assert_eq!(read(&mut dispatcher, 3), Some([2; 3]));
            // A successor between jobs loses nothing.
            // SAFETY: as above.
            let mut writer = unsafe { $protocol::writer::<[u64; 3]>(place.memory(), shape) }.unwrap();
            dispatcher.activate_writer(4).unwrap();
            writer.job().unwrap().complete();
            assert_eq!(read(&mut dispatcher, 4), Some([2; 3]));
        }

        #[test]
        fn lists_are_values() {
            let place = Place::new($protocol::bytes::<List<u16, 9>>(BOTH).unwrap());
            let (mut dispatcher, mut writer, mut readers) =
                $protocol::group::<List<u16, 9>>(place.memory(), BOTH).unwrap();
            let mut reader = readers.next().unwrap();
            for n in 0..30u16 {
                let at = u64::from(n);
                dispatcher.activate_writer(at).unwrap();
                dispatcher.activate_reader(0, at).unwrap();
                let list: Vec<u16> = (0..n % 10).collect();
                if n % 4 != 3 {
                    writer.job().unwrap().write(&List::of(&list).unwrap());
                } else {
                    writer.job().unwrap().complete();
                }
                let before: Vec<u16> = (0..(n - u16::from(n % 4 == 3)) % 10).collect();
                assert_eq!(*reader.job().unwrap().read().unwrap().unwrap(), before[..], "{n}");
            }
        }

        #[test]
        fn spoilt_words_do_no_harm() {
            let (place, (mut dispatcher, mut writer, readers)) = new(BOTH);
            let mut readers: Vec<_> = readers.collect();
            let words = place.words();
            let mut random = 77u64;
            for at in 0..if cfg!(miri) { 30 } else { 20_000 } {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let value = if random & 8 == 0 { random } else { random >> 60 };
                words[(random >> 32) as usize % words.len()].store(value, Relaxed);
                if random & 16 == 0 {
                    // SAFETY: the previous ones are not used again.
                    unsafe {
                        dispatcher = $protocol::dispatcher::<[u64; 3]>(place.memory(), BOTH).unwrap();
                        writer = $protocol::writer(place.memory(), BOTH).unwrap();
                    }
                }
                // Whatever the words hold.
                let _ = dispatcher.activate_writer(at);
                let _ = dispatcher.activate_reader(0, at);
                let _ = dispatcher.activate_reader(1, at);
                if let Some(mut job) = writer.job() {
                    if random & 32 == 0 {
                        job.write(&[at; 3]);
                    }
                }
                for reader in &mut readers {
                    if let Some(mut job) = reader.job() {
                        let _ = job.read();
                    }
                }
            }
        }
    };
}

mod as_dbp {
    alike!(dbp, NotYet);
}

mod as_tccp {
    alike!(tccp, NotRead::NotYet);
}

#[test]
fn dbp_says_when_there_is_no_buffer() {
    let shape = Shape { lower: 2, higher: 0, buffers: 2 };
    let place = Place::new(dbp::bytes::<u64>(shape).unwrap());
    let (mut dispatcher, mut writer, readers) = dbp::group::<u64>(place.memory(), shape).unwrap();
    let mut readers: Vec<_> = readers.collect();
    for n in 0..2 {
        dispatcher.activate_writer(n).unwrap();
        writer.job().unwrap().write(&n);
        dispatcher.activate_reader(n as u32, n).unwrap();
    }
    assert_eq!(dispatcher.activate_writer(2), Err(NotActivated::NoBuffer));
    assert_eq!(readers[1].job().unwrap().read(), Ok(Some(1)));
    assert_eq!(dispatcher.activate_writer(1), Err(NotActivated::OutOfOrder), "still the instant of a reader");
    assert_eq!(dispatcher.activate_writer(2), Ok(3));
    writer.job().unwrap().write(&2);
    assert_eq!(readers[0].job().unwrap().read(), Ok(Some(0)));
}

#[test]
fn dbp_in_place() {
    let place = Place::new(dbp::bytes::<[u64; 3]>(BOTH).unwrap());
    let (mut dispatcher, mut writer, mut readers) = dbp::group::<[u64; 3]>(place.memory(), BOTH).unwrap();
    let mut reader = readers.next().unwrap();
    for n in 1..20 {
        dispatcher.activate_writer(n).unwrap();
        dispatcher.activate_reader(0, n).unwrap();
        assert_eq!(reader.job().unwrap().read_with(|value| value[0]), Err(NotYet));
        dispatcher.activate_reader(0, n).unwrap();
        let mut job = writer.job().unwrap();
        job.write_with(|value| *value = [n; 3]);
        assert_eq!(
            job.write_with(|value| {
                value[2] += 1;
                value[0]
            }),
            n,
            "what this job has written"
        );
        drop(job);
        let mut job = reader.job().unwrap();
        assert_eq!(job.read_with(|value| *value), Ok(Some([n, n, n + 1])));
        assert_eq!(job.read(), Ok(Some([n, n, n + 1])));
    }
}

#[test]
fn dbp_a_panic_in_the_middle_of_a_write_leaves_the_value() {
    for shape in [BOTH, Shape { lower: 1, higher: 0, buffers: 1 }] {
        let place = Place::new(dbp::bytes::<[u64; 3]>(shape).unwrap());
        let (mut dispatcher, mut writer, mut readers) =
            dbp::group::<[u64; 3]>(place.memory(), shape).unwrap();
        let mut reader = readers.next().unwrap();
        dispatcher.activate_writer(0).unwrap();
        writer.job().unwrap().write(&[1; 3]);
        dispatcher.activate_writer(1).unwrap();
        dispatcher.activate_reader(0, 1).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            writer.job().unwrap().write_with(|value| {
                value[0] = 2;
                panic!("in the middle");
            });
        }));
        assert!(panicked.is_err());
        // If the job wrote into the buffer of the earlier value, that value is gone.
        let expected = (shape == BOTH).then_some([1; 3]);
        assert_eq!(reader.job().unwrap().read(), Ok(expected));
    }
}

#[test]
fn dbp_with_as_many_readers_as_there_can_be() {
    let shape = Shape::several_processors(31, 31);
    assert_eq!(shape.buffers, 64);
    let place = Place::new(dbp::bytes::<u64>(shape).unwrap());
    let (mut dispatcher, mut writer, readers) = dbp::group::<u64>(place.memory(), shape).unwrap();
    let mut readers: Vec<_> = readers.collect();
    assert_eq!(readers.len(), 62);
    // Each reader holds a different value, which needs all buffers.
    for n in 1..=64u64 {
        assert_eq!(dispatcher.activate_writer(n), Ok(n));
        writer.job().unwrap().write(&n);
        let which = n.checked_sub(2).filter(|which| *which < 62);
        if let Some(which) = which {
            let order = if which % 2 == 0 { which / 2 } else { 31 + which / 2 };
            dispatcher.activate_reader(order as u32, n).unwrap();
        }
    }
    for (which, reader) in (0u64..).zip(&mut readers) {
        let expected = if which < 31 { 2 * which + 2 } else { 2 * (which - 31) + 2 };
        assert_eq!(reader.job().unwrap().read(), Ok(Some(expected)), "{which}");
    }
}

#[test]
fn tccp_overrun_is_exact() {
    for buffers in 1..6u32 {
        let shape = Shape { buffers, ..BOTH };
        let place = Place::new(tccp::bytes::<u64>(shape).unwrap());
        let (mut dispatcher, mut writer, mut readers) = tccp::group::<u64>(place.memory(), shape).unwrap();
        let mut reader = readers.next().unwrap();
        dispatcher.activate_writer(1).unwrap();
        writer.job().unwrap().write(&1);
        dispatcher.activate_reader(0, 1).unwrap();
        let mut job = reader.job().unwrap();
        for n in 2..10u64 {
            let there = n - 1 < 1 + u64::from(buffers);
            let expected = if there { Ok(Some(1)) } else { Err(NotRead::Overrun) };
            assert_eq!(job.read(), expected, "{buffers} buffers, before {n}");
            dispatcher.activate_writer(n).unwrap();
            writer.job().unwrap().write(&n);
        }
    }
}

#[test]
fn tccp_the_newest() {
    let place = Place::new(tccp::bytes::<u64>(BOTH).unwrap());
    let (mut publisher, mut readers) = tccp::newest::<u64>(place.memory(), BOTH).unwrap();
    let (mut reader, mut other) = (readers.next().unwrap(), readers.next().unwrap());
    assert_eq!((reader.read_newest(), reader.read_newest_if_newer()), (Ok(None), Ok(None)));
    for n in 1..50 {
        publisher.write(&(100 + n));
        let sample = reader.read_newest_if_newer().unwrap().unwrap();
        assert_eq!((sample.value, sample.version), (100 + n, n));
        assert_eq!(reader.read_newest_if_newer(), Ok(None));
        assert_eq!(other.read_newest(), Ok(Some(sample)));
        assert!(reader.job().is_none(), "nobody activates");
        if n % 10 == 0 {
            // SAFETY: the previous one is not used again.
            publisher = unsafe { tccp::publisher(place.memory(), BOTH) }.unwrap();
        }
    }
}

#[test]
fn tccp_the_newest_beside_jobs() {
    let place = Place::new(tccp::bytes::<u64>(BOTH).unwrap());
    let (mut dispatcher, mut writer, mut readers) = tccp::group::<u64>(place.memory(), BOTH).unwrap();
    let mut reader = readers.next().unwrap();
    // A job that wrote nothing gives no new value.
    dispatcher.activate_writer(0).unwrap();
    writer.job().unwrap().complete();
    assert_eq!(reader.read_newest(), Ok(None));
    dispatcher.activate_writer(1).unwrap();
    writer.job().unwrap().write(&1);
    dispatcher.activate_reader(0, 1).unwrap();
    dispatcher.activate_writer(2).unwrap();
    assert_eq!(reader.read_newest().unwrap().unwrap().value, 1);
    writer.job().unwrap().write(&2);
    assert_eq!(reader.read_newest().unwrap().unwrap().value, 2);
    assert_eq!(reader.job().unwrap().read(), Ok(Some(1)));
    assert_eq!(reader.read_newest().unwrap().unwrap().value, 2);
}

#[test]
fn errors_say_what_is_wrong() {
    assert_eq!(NotActivated::Running.to_string(), "the task's last job is not complete");
    assert_eq!(
        NotActivated::NoBuffer.to_string(),
        "more unfinished jobs hold values than the number of buffers allows"
    );
    assert_eq!(NotActivated::OutOfOrder.to_string(), "a later activation has already been made");
    assert_eq!(NotActivated::NoSuchReader.to_string(), "the writer has no reader with that number");
    assert_eq!(NotYet.to_string(), "the writer's job is not complete");
    assert_eq!(NotRead::NotYet.to_string(), "the writer's job is not complete");
    let overrun = "more writes took place during the read than the number of buffers allows";
    assert_eq!((NotRead::Overrun.to_string(), ReaderOvertaken.to_string()), (overrun.into(), overrun.into()));
}

#[test]
fn the_dispatcher_names_the_job_that_holds_the_buffer() {
    let one = Shape { lower: 2, higher: 0, buffers: 2 };
    let place = Place::new(dbp::bytes::<[u64; 3]>(one).unwrap());
    let (mut dispatcher, mut writer, readers) = dbp::group::<[u64; 3]>(place.memory(), one).unwrap();
    let mut readers: Vec<_> = readers.collect();
    for n in 1..=2 {
        dispatcher.activate_writer(n).unwrap();
        writer.job().unwrap().write(&[n; 3]);
        assert_eq!(dispatcher.holder(), (n == 2).then_some(1));
        dispatcher.activate_reader(2 - n as u32, n).unwrap();
    }
    assert_eq!(dispatcher.activate_writer(3), Err(NotActivated::NoBuffer));
    assert_eq!(dispatcher.holder(), Some(0));
    readers[0].job().unwrap().complete();
    assert_eq!(dispatcher.holder(), Some(1));
    assert_eq!(dispatcher.activate_writer(3), Ok(3));
    readers[1].job().unwrap().complete();
    assert_eq!(dispatcher.holder(), None);

    let place = Place::new(tccp::bytes::<[u64; 3]>(BOTH).unwrap());
    let (mut dispatcher, mut writer, readers) = tccp::group::<[u64; 3]>(place.memory(), BOTH).unwrap();
    let mut readers: Vec<_> = readers.collect();
    let mut overtaken = Vec::new();
    for n in 1..=7 {
        overtaken.push(dispatcher.overtaken());
        dispatcher.activate_writer(n).unwrap();
        writer.job().unwrap().write(&[n; 3]);
        if n == 2 {
            dispatcher.activate_reader(0, n).unwrap();
            dispatcher.activate_reader(1, n).unwrap();
        }
        if n == 5 {
            assert_eq!(readers[1].job().unwrap().read(), Err(NotRead::Overrun));
        }
    }
    // Reader 1 reads job 1, whose buffer job 5 uses again; it completes after that.
    assert_eq!(overtaken, [None, None, None, None, Some(1), Some(0), Some(0)]);
    readers[0].job().unwrap().complete();
    assert_eq!(dispatcher.overtaken(), None);
}
