// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! How often a large value is moved on its way out of an object: every `_into` form copies it once, to its
//! destination. The test counts in this process's own `memcpy`, which compilers call for every large move. The
//! reason: a move between two places of the stack takes AMD processors 1.3 to 5.7 µs if the destination lies 1 to 15
//! bytes further in its page, and nothing can prevent that for a caller's value.
#![cfg(not(any(miri, loom, shuttle, steps)))]
#![allow(clippy::unwrap_used, reason = "a test: helpers too")]

use std::cell::Cell;

use taut_share::queue::{broadcast, lanes, qrtr, qrtwc, qrtwo};
use taut_share::state::flow::Shape;
use taut_share::state::{
    chen, dbp, double_buffer, emeralds, hybrid, improved_chen, improved_double_buffer, improved_peterson,
    nbw_temporal, peterson, presence, sdrtr, sdrtw, spinlock, tccp,
};
use taut_share::{LINE_BYTES, Line, Memory};

/// Moves from this size on are counted.
const LARGE: usize = 1024;

thread_local! {
    /// Large moves so far, and where the last one went.
    static MOVES: Cell<(u32, usize)> = const { Cell::new((0, 0)) };
}

/// The function that compilers call for a move.
///
/// # Safety
///
/// There are `bytes` bytes at both places, which do not overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    if bytes >= LARGE {
        let _ = MOVES.try_with(|moves| moves.set((moves.get().0 + 1, to.addr())));
    }
    for at in 0..bytes {
        // SAFETY: both are there (caller). Volatile, so that the compiler does not turn the loop into a call of this
        // function.
        unsafe { to.add(at).write_volatile(from.add(at).read_volatile()) };
    }
    to
}

fn moves(work: impl FnOnce()) -> u32 {
    let before = MOVES.get().0;
    work();
    MOVES.get().0 - before
}

/// Reads into `value` by `read`, and checks that the value is copied at most once, straight to `value`, and is
/// `expected`.
fn straight<T: PartialEq>(name: &str, value: &mut T, expected: &T, read: impl FnOnce(&mut T)) {
    let made = moves(|| read(value));
    assert!(made <= 1, "{name}: {made} moves");
    if made == 1 {
        assert_eq!(MOVES.get().1, core::ptr::from_ref(value).addr(), "{name}: moved to somewhere else first");
    }
    assert!(value == expected, "{name}: another value");
}

fn memory(bytes: usize) -> Memory<'static> {
    let lines: Vec<Line> = (0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect();
    Memory::new(Vec::leak(lines))
}

/// For each reader of the newest value, `read_into` and `read_if_newer_into`, each with a new value.
macro_rules! newest {
    ($N:ident, $first:ident, $second:ident, $value:ident: $($name:literal $pair:expr, $write:ident, $read:ident, $newer:ident;)*) => {$(
        let (mut writer, mut reader) = $pair;
        let _ = writer.$write(&$first);
        straight(concat!($name, "::", stringify!($read)), &mut *$value, &$first, |value| {
            let _ = reader.$read(value);
        });
        let _ = writer.$write(&$second);
        straight(concat!($name, "::", stringify!($newer)), &mut *$value, &$second, |value| {
            let _ = reader.$newer(value);
        });
    )*};
}

fn states<const N: usize>() {
    type V<const N: usize> = [u64; N];
    let (first, second) = (Box::new([1; N]), Box::new([2; N]));
    let mut value: Box<V<N>> = Box::new([0; N]);
    let (first, second): (&V<N>, &V<N>) = (&first, &second);
    newest! { N, first, second, value:
        "chen" chen::pair::<V<N>>(memory(chen::bytes::<V<N>>(1))).unwrap(), write, read_into, read_if_newer_into;
        "hybrid" hybrid::pair::<V<N>>(memory(hybrid::bytes::<V<N>>(1, hybrid::spare::<V<N>>()))).unwrap(), write, read_into, read_if_newer_into;
        "hybrid observer" {
            let (writer, reader) = hybrid::pair::<V<N>>(memory(hybrid::bytes::<V<N>>(1, hybrid::spare::<V<N>>()))).unwrap();
            (writer, reader.observer())
        }, write, try_read_into, read_if_newer_into;
        "double buffer" {
            let (writer, mut readers) = double_buffer::group::<V<N>>(memory(double_buffer::bytes::<V<N>>(1)), 1).unwrap();
            (writer, readers.next().unwrap())
        }, write, read_into, read_if_newer_into;
        "presence" {
            let (writer, mut readers) = presence::group::<V<N>>(memory(presence::bytes::<V<N>>(1)), 1).unwrap();
            (writer, readers.next().unwrap())
        }, write, read_into, read_if_newer_into;
        "peterson" {
            let (writer, mut readers) = peterson::group::<V<N>>(memory(peterson::bytes::<V<N>>(1).unwrap()), 1).unwrap();
            (writer, readers.next().unwrap())
        }, write, read_into, read_if_newer_into;
        "improved peterson, slow" {
            let (writer, mut readers, _) = improved_peterson::group::<V<N>>(memory(improved_peterson::bytes::<V<N>>(1, 4).unwrap()), 1, 4).unwrap();
            (writer, readers.next().unwrap())
        }, write, read_into, read_if_newer_into;
        "emeralds, slow" {
            let (writer, mut readers, _) = emeralds::group::<V<N>>(memory(emeralds::bytes::<V<N>>(1, 4).unwrap()), 1, 4).unwrap();
            (writer, readers.next().unwrap())
        }, write, read_into, read_if_newer_into;
        "nbw" nbw_temporal::pair::<V<N>>(memory(nbw_temporal::bytes::<V<N>>(4).unwrap()), 4).unwrap(), write, read_into, read_if_newer_into;
        "improved chen, slow" {
            let (writer, mut readers, _) = improved_chen::group::<V<N>>(memory(improved_chen::bytes::<V<N>>(1, 2)), 1, 2).unwrap();
            (writer, readers.next().unwrap())
        }, write, read_into, read_if_newer_into;
        "improved double buffer, slow" {
            let (writer, mut readers, _) = improved_double_buffer::group::<V<N>>(memory(improved_double_buffer::bytes::<V<N>>(1, 2).unwrap()), 1, 2).unwrap();
            (writer, readers.next().unwrap())
        }, write, read_into, read_if_newer_into;
        "improved double buffer, fast" {
            let (writer, _, reader) = improved_double_buffer::group::<V<N>>(memory(improved_double_buffer::bytes::<V<N>>(1, 2).unwrap()), 1, 2).unwrap();
            (writer, reader)
        }, write, read_into, read_if_newer_into;
        "sdrtr" sdrtr::pair::<V<N>>(memory(sdrtr::bytes::<V<N>>())).unwrap(), try_publish, read_into, read_into;
        "sdrtw" sdrtw::pair::<V<N>>(memory(sdrtw::bytes::<V<N>>())).unwrap(), write, try_read_into, read_if_newer_into;
        "spinlock" {
            let (writer, mut readers) = spinlock::group::<V<N>>(memory(spinlock::bytes::<V<N>>()), 1).unwrap();
            (writer, readers.next().unwrap())
        }, write, read_into, try_read_if_newer_into;
        "spinlock, try" {
            let (writer, mut readers) = spinlock::group::<V<N>>(memory(spinlock::bytes::<V<N>>()), 1).unwrap();
            (writer, readers.next().unwrap())
        }, write, try_read_into, try_read_into;
    }
}

fn flows<const N: usize>() {
    let shape = Shape { lower: 1, higher: 0, buffers: 4 };
    let (first, second) = (Box::new([1u64; N]), Box::new([2; N]));
    let mut value = Box::new([0; N]);
    let place = memory(dbp::bytes::<[u64; N]>(shape).unwrap());
    let (mut dispatcher, mut writer, mut readers) = dbp::group::<[u64; N]>(place, shape).unwrap();
    let mut reader = readers.next().unwrap();
    for (n, written) in [&first, &second].into_iter().enumerate() {
        dispatcher.activate_writer(4 * n as u64 + 2).unwrap();
        writer.job().unwrap().write(written);
        dispatcher.activate_reader(0, 4 * n as u64 + 3).unwrap();
        let mut job = reader.job().unwrap();
        straight("dbp::read_if_newer_into", &mut *value, written, |value| {
            assert!(job.read_if_newer_into(value).unwrap().is_some());
        });
        value.fill(0);
        straight("dbp::read_into", &mut *value, written, |value| {
            assert!(job.read_into(value).unwrap().is_some());
        });
    }
    let place = memory(tccp::bytes::<[u64; N]>(shape).unwrap());
    let (mut dispatcher, mut writer, mut readers) = tccp::group::<[u64; N]>(place, shape).unwrap();
    let mut reader = readers.next().unwrap();
    for (n, written) in [&first, &second].into_iter().enumerate() {
        dispatcher.activate_writer(4 * n as u64 + 2).unwrap();
        writer.job().unwrap().write(written);
        dispatcher.activate_reader(0, 4 * n as u64 + 3).unwrap();
        let mut job = reader.job().unwrap();
        straight("tccp::read_if_newer_into", &mut *value, written, |value| {
            assert!(job.read_if_newer_into(value).unwrap().is_some());
        });
        value.fill(0);
        straight("tccp::read_into", &mut *value, written, |value| {
            assert!(job.read_into(value).unwrap().is_some());
        });
        drop(job);
        value.fill(0);
        straight("tccp::read_newest_into", &mut *value, written, |value| {
            assert!(reader.read_newest_into(value).unwrap().is_some());
        });
    }
}

fn queues<const N: usize>() {
    let first = Box::new([1u64; N]);
    let mut value = Box::new([0; N]);
    let (mut writer, mut reader) =
        qrtr::pair::<[u64; N]>(memory(qrtr::bytes::<[u64; N]>(2).unwrap()), 2).unwrap();
    assert!(moves(|| assert!(writer.push_from(&first).is_ok())) <= 1, "qrtr::push_from");
    straight("qrtr::pop_into", &mut *value, &*first, |value| assert_eq!(reader.pop_into(value), Ok(true)));
    let bytes = qrtwo::bytes::<[u64; N]>(2, 8).unwrap();
    let (mut writer, mut reader) = qrtwo::pair::<[u64; N]>(memory(bytes), 2, 8).unwrap();
    writer.push(&first);
    value.fill(0);
    straight("qrtwo::pop_into", &mut *value, &*first, |value| {
        assert_eq!(reader.pop_into(value), Ok(Some(0)))
    });
    let (mut writer, mut reader) = qrtwc::pair::<[u64; N]>(memory(bytes), 2, 8).unwrap();
    writer.push(&first);
    value.fill(0);
    straight("qrtwc::pop_into", &mut *value, &*first, |value| {
        assert_eq!(reader.pop_into(value), Ok(Some(0)))
    });
    let bytes = broadcast::bytes::<[u64; N]>(1, 2).unwrap();
    let (mut writer, mut readers) = broadcast::group::<[u64; N]>(memory(bytes), 1, 2).unwrap();
    let mut reader = readers.next().unwrap();
    assert!(moves(|| assert!(writer.push(&first).is_ok())) <= 1, "broadcast::push");
    value.fill(0);
    straight("broadcast::pop_into", &mut *value, &*first, |value| {
        assert_eq!(reader.pop_into(value), Ok(Some(0)))
    });
    let (mut announcers, collector) = lanes::group(memory(lanes::bytes(1)), 1).unwrap();
    let (writer, reader) = qrtr::pair::<[u64; N]>(memory(qrtr::bytes::<[u64; N]>(2).unwrap()), 2).unwrap();
    let mut sender = lanes::Writer::new(writer, announcers.next().unwrap());
    let mut receiver = lanes::Reader::new(collector, [reader]).unwrap();
    assert!(moves(|| assert!(sender.send(&first).is_ok())) <= 1, "lanes::send");
    value.fill(0);
    straight("lanes::next_into", &mut *value, &*first, |value| {
        assert_eq!(receiver.next_into(value), Ok(Some((0, 0))))
    });
}

/// 1 KiB, 4 KiB and the two sizes next to it that are slow in some shape, 8 and 16 KiB.
#[test]
fn a_value_is_copied_once_to_where_it_is_wanted() {
    macro_rules! of {
        ($($words:literal)*) => {$(
            states::<$words>();
            flows::<$words>();
            queues::<$words>();
        )*};
    }
    of!(128 511 512 513 1024 2048);
}

/// Checks that the counter works: the same reads by value do move the value.
#[test]
fn by_value_it_is_moved() {
    const N: usize = 512;
    let (mut writer, mut reader) =
        nbw_temporal::pair::<[u64; N]>(memory(nbw_temporal::bytes::<[u64; N]>(4).unwrap()), 4).unwrap();
    let mut value = Box::new([0; N]);
    writer.write(&[7; N]);
    let made = moves(|| *value = reader.read().unwrap().unwrap().value);
    assert!(made >= 1 && value[N - 1] == 7, "{made}");
}
