// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Each object in one thread: values, errors, layout, and the successor of an end that is gone.

use taut_model::Mechanism;
use taut_share::queue::{broadcast, qrtr, qrtwc, qrtwo};
use taut_share::state::{
    chen, double_buffer, hybrid, improved_chen, nbw_temporal, peterson, presence, sdrtr, sdrtw,
};
use taut_share::{LayoutError, Line, Memory};

use crate::place::Place;

#[test]
#[cfg_attr(miri, ignore = "slow: thousands of sizes; nothing in it is unsafe")]
fn sizes_are_the_models() {
    fn check<const N: usize>() {
        let n = u32::try_from(N).unwrap();
        let of = |mechanism: Mechanism, capacity| mechanism.bytes(n, capacity, 1).unwrap();
        assert_eq!(sdrtr::bytes::<[u8; N]>() as u64, of(Mechanism::Sdrtr, 1), "SDrtR of {N}");
        assert_eq!(sdrtw::bytes::<[u8; N]>() as u64, of(Mechanism::Sdrtw, 1), "SDrtW of {N}");
        for capacity in [1, 2, 3, 4, 7, 8, 64, 100, 1023, 65_536] {
            // The model's number does not fit in a size where addresses have 32 bits.
            let size = usize::try_from(of(Mechanism::Qrtr, capacity)).ok();
            assert_eq!(qrtr::bytes::<[u8; N]>(capacity), size, "QrtR of {capacity} × {N}");
            let spare = qrtwo::spare::<[u8; N]>();
            for (mechanism, bytes) in [
                (Mechanism::Qrtwo, qrtwo::bytes::<[u8; N]>(capacity, spare)),
                (Mechanism::Qrtwc, qrtwc::bytes::<[u8; N]>(capacity, spare)),
            ] {
                assert_eq!(
                    bytes.map(|bytes| bytes as u64),
                    Some(of(mechanism, capacity)),
                    "{mechanism:?} of {N}"
                );
            }
        }
        let of = |mechanism: Mechanism, slots, claims| mechanism.bytes(n, slots, claims);
        let known = |bytes: usize| Some(bytes as u64);
        for readers in [1, 2, 3, 5, 31, 58, 63, 200, 250] {
            let what = format!("{readers} readers of {N}");
            assert_eq!(
                known(chen::bytes::<[u8; N]>(readers)),
                of(Mechanism::Chen, readers + 2, readers),
                "{what}"
            );
            let bytes = peterson::bytes::<[u8; N]>(readers).and_then(known);
            assert_eq!(bytes, of(Mechanism::Peterson, readers + 2, readers), "{what}");
            for capacity in [1, 2, 7, 1023] {
                let bytes = broadcast::bytes::<[u8; N]>(readers, capacity).and_then(known);
                assert_eq!(bytes, of(Mechanism::Broadcast, capacity, readers), "{what}");
            }
            for spare in [0, 1, 2, 4] {
                let bytes = known(hybrid::bytes::<[u8; N]>(readers, spare));
                assert_eq!(bytes, of(Mechanism::Hybrid, readers + 2 + spare, readers), "{what}");
            }
            if readers <= presence::READERS_MAX {
                let bytes = known(presence::bytes::<[u8; N]>(readers));
                assert_eq!(bytes, of(Mechanism::Presence, readers + 2, readers), "{what}");
            }
            if readers <= double_buffer::READERS_MAX {
                let bytes = known(double_buffer::bytes::<[u8; N]>(readers));
                assert_eq!(bytes, of(Mechanism::DoubleBuffer, 2 * (readers + 1), readers), "{what}");
            }
        }
        for (slow, overlaps) in [(0, 1), (0, 2), (1, 1), (1, 2), (4, 3), (20, 9), (200, 40)] {
            let bytes = known(improved_chen::bytes::<[u8; N]>(slow, overlaps));
            assert_eq!(
                bytes,
                of(Mechanism::ImprovedChen, slow + overlaps + 1, slow),
                "{slow} slow, {overlaps}"
            );
        }
        for buffers in [2, 3, 4, 17, 256] {
            let bytes = nbw_temporal::bytes::<[u8; N]>(buffers).and_then(known);
            assert_eq!(bytes, of(Mechanism::Nbw, buffers, 0), "{buffers} buffers of {N}");
        }
    }
    macro_rules! each { ($($n:literal)*) => { $(check::<$n>();)* } }
    each!(0 1 2 4 7 8 9 16 24 48 55 56 57 63 64 65 72 112 119 120 121 127 128 129 184 192 256 272 1000 4096 65537);
    assert_eq!(qrtr::bytes::<[u8; 1 << (usize::BITS - 24)]>(u32::MAX), None);
}

#[test]
fn too_small_or_without_capacity_is_refused() {
    let small = |given| Err(LayoutError::TooSmall { needed: 384, given });
    assert_eq!(sdrtr::pair::<u64>(Place::new(256).memory()).map(drop), small(256));
    assert_eq!(qrtr::pair::<u64>(Place::new(256).memory(), 4).map(drop), small(256));
    let needed = Err(LayoutError::TooSmall { needed: 256, given: 128 });
    assert_eq!(sdrtw::pair::<[u64; 16]>(Place::new(128).memory()).map(drop), needed);
    assert_eq!(qrtr::pair::<u64>(Place::new(512).memory(), 0).map(drop), Err(LayoutError::Capacity));
    assert_eq!(sdrtr::pair::<u64>(Place::new(384).memory()).map(drop), Ok(()));
    assert_eq!(sdrtw::pair::<[u64; 15]>(Place::new(128).memory()).map(drop), Ok(()));
    assert_eq!(qrtr::pair::<u64>(Place::new(384).memory(), 16).map(drop), Ok(()));
}

#[test]
fn objects_stand_side_by_side() {
    let mut lines: Vec<Line> = (0..7).map(|_| Line::new()).collect();
    let (first, rest) = Memory::new(&mut lines).split(sdrtr::bytes::<u64>()).unwrap();
    let (second, third) = rest.split(sdrtw::bytes::<u64>()).unwrap();
    let (mut a, mut b) = sdrtr::pair::<u64>(first).unwrap();
    let (mut c, mut d) = sdrtw::pair::<u64>(second).unwrap();
    let (mut e, mut f) = qrtr::pair::<u64>(third, 16).unwrap();
    a.try_publish(&1).unwrap();
    c.write(&2);
    for n in 0..16 {
        e.push(n).unwrap();
    }
    assert_eq!(b.read(), Some(1));
    assert_eq!(d.try_read().unwrap().unwrap().value, 2);
    assert!((0..16).all(|n| f.pop() == Ok(Some(n))));
}

#[test]
fn sdrtr_gives_the_newest() {
    let place = Place::new(sdrtr::bytes::<[u8; 13]>());
    let (mut writer, mut reader) = sdrtr::pair::<[u8; 13]>(place.memory()).unwrap();
    assert_eq!(reader.read(), None);
    assert_eq!(reader.read_with(|_| ()), None);
    let mut place = [9; 13];
    assert_eq!((reader.read_into(&mut place), place), (false, [9; 13]));
    for n in 1..if cfg!(miri) { 20 } else { 100 } {
        assert_eq!(writer.try_publish(&[n; 13]), Ok(()));
        let looked = reader.read_with(|value| {
            let busy = writer.try_publish(&[0; 13]);
            assert_eq!(busy, Err(sdrtr::NotPublished::Busy), "the reader looks");
            *value
        });
        assert_eq!(looked, Some([n; 13]));
        assert_eq!((reader.read_into(&mut place), place), (true, [n; 13]));
        assert_eq!(reader.read(), Some([n; 13]));
    }
}

#[test]
fn sdrtr_lets_the_writer_go_on_when_a_look_panics() {
    let place = Place::new(sdrtr::bytes::<u64>());
    let (mut writer, mut reader) = sdrtr::pair::<u64>(place.memory()).unwrap();
    writer.try_publish(&1).unwrap();
    let look = std::panic::AssertUnwindSafe(|| reader.read_with(|_| panic!("on purpose")));
    assert!(std::panic::catch_unwind(look).is_err());
    assert_eq!(writer.try_publish(&2), Ok(()));
    assert_eq!(reader.read(), Some(2));
}

#[test]
fn sdrtr_busy_and_then_not() {
    let place = Place::new(sdrtr::bytes::<u64>());
    let idx = place.memory().claim().word(0);
    let (mut writer, mut reader) = sdrtr::pair::<u64>(place.memory()).unwrap();
    writer.try_publish(&1).unwrap();
    idx.fetch_add(1, taut_atomic::Ordering::Relaxed); // A reader in the middle of its copy.
    assert_eq!(writer.try_publish(&2), Err(sdrtr::NotPublished::Busy));
    assert_eq!(writer.publish_within(&3, 100), Err(sdrtr::NotPublished::Busy));
    assert_eq!(writer.publish_within(&3, 0), Err(sdrtr::NotPublished::Busy));
    idx.fetch_sub(1, taut_atomic::Ordering::Relaxed); // It has finished.
    assert_eq!(reader.read(), Some(1), "what was not published is not seen");
    assert_eq!(writer.publish_within(&4, 0), Ok(()));
    assert_eq!(reader.read(), Some(4));
}

#[test]
fn sdrtr_says_when_its_word_is_spoilt() {
    let place = Place::new(sdrtr::bytes::<u64>());
    let idx = place.memory().claim().word(0);
    let (mut writer, mut reader) = sdrtr::pair::<u64>(place.memory()).unwrap();
    writer.try_publish(&1).unwrap();
    for word in [0, 2, 3, 4, 5, 8, 1 << 63, u64::MAX] {
        idx.store(word, taut_atomic::Ordering::Relaxed);
        assert_eq!(writer.publish_within(&2, 5), Err(sdrtr::NotPublished::Corrupt), "{word}");
        reader.read();
    }
}

#[test]
fn sdrtr_successors_go_on() {
    let place = Place::new(sdrtr::bytes::<u64>());
    let idx = place.memory().claim().word(0);
    let (_, mut reader) = sdrtr::pair::<u64>(place.memory()).unwrap();
    for n in 0..10 {
        // SAFETY: the previous writer was dropped.
        let mut writer = unsafe { sdrtr::writer::<u64>(place.memory()) }.unwrap();
        assert_eq!(writer.try_publish(&n), Ok(()));
        assert_eq!(reader.read(), Some(n));
        // The reader dies in the middle of its copy; the owner clears its mark, or the next reader does.
        idx.fetch_add(1, taut_atomic::Ordering::Relaxed);
        assert_eq!(writer.try_publish(&100), Err(sdrtr::NotPublished::Busy));
        if n % 2 == 0 {
            // SAFETY: no reader uses the object meanwhile.
            unsafe { writer.release_reader() };
            assert_eq!(writer.try_publish(&(n + 1000)), Ok(()));
            assert_eq!(reader.read(), Some(n + 1000));
        }
        // SAFETY: the previous reader is dropped by this assignment and not used meanwhile.
        reader = unsafe { sdrtr::reader::<u64>(place.memory()) }.unwrap();
        assert_eq!(reader.read(), Some(if n % 2 == 0 { n + 1000 } else { n }));
        assert_eq!(writer.try_publish(&(n + 2000)), Ok(()));
    }
}

#[test]
fn sdrtw_gives_the_newest_with_its_number() {
    let place = Place::new(sdrtw::bytes::<[u8; 13]>());
    let (mut writer, mut reader) = sdrtw::pair::<[u8; 13]>(place.memory()).unwrap();
    assert_eq!((reader.try_read(), reader.read_if_newer(), reader.version()), (Ok(None), Ok(None), 0));
    assert_eq!(reader.read_bounded(0), Ok(None));
    let mut place = [9; 13];
    assert_eq!((reader.try_read_into(&mut place), place), (Ok(None), [9; 13]));
    let mut second = reader.clone();
    for n in 1..if cfg!(miri) { 20u8 } else { 100 } {
        writer.write(&[n; 13]);
        let sample = Ok(Some(sdrtw::Sample { value: [n; 13], version: u64::from(n) }));
        assert_eq!(reader.read_if_newer(), sample);
        assert_eq!(reader.read_if_newer(), Ok(None));
        assert_eq!(reader.try_read(), sample);
        assert_eq!((reader.try_read_into(&mut place), place), (Ok(Some(u64::from(n))), [n; 13]));
        assert_eq!(second.read_bounded(1), sample);
        assert_eq!(second.read_if_newer(), Ok(None));
        assert_eq!(second.version(), u64::from(n));
    }
}

#[test]
fn sdrtw_writer_dead_in_a_write_leaves_retry_and_a_gap() {
    let place = Place::new(sdrtw::bytes::<u64>());
    let counter = place.memory().claim().word(0);
    let (mut writer, mut reader) = sdrtw::pair::<u64>(place.memory()).unwrap();
    writer.write(&1);
    counter.store(3, taut_atomic::Ordering::Relaxed); // Dead after the odd store of write 2.
    assert_eq!(reader.read_bounded(10), Err(sdrtw::Retry));
    assert_eq!(reader.read_if_newer(), Err(sdrtw::Retry));
    assert_eq!(reader.try_read_into(&mut 0), Err(sdrtw::Retry));
    assert_eq!(reader.version(), 1);
    // SAFETY: the previous writer is not used again.
    let mut writer = unsafe { sdrtw::writer::<u64>(place.memory()) }.unwrap();
    assert_eq!(reader.try_read(), Err(sdrtw::Retry), "attaching alone makes nothing whole");
    writer.write(&3);
    assert_eq!(reader.try_read(), Ok(Some(sdrtw::Sample { value: 3, version: 3 })));
    // SAFETY: the previous writer is not used again.
    let mut writer = unsafe { sdrtw::writer::<u64>(place.memory()) }.unwrap();
    assert_eq!(reader.try_read(), Ok(Some(sdrtw::Sample { value: 3, version: 3 })));
    writer.write(&4);
    // SAFETY: readers may be many.
    let mut reader = unsafe { sdrtw::reader::<u64>(place.memory()) }.unwrap();
    assert_eq!(reader.read_if_newer(), Ok(Some(sdrtw::Sample { value: 4, version: 4 })));
}

#[test]
fn qrtr_keeps_order_and_refuses_when_full() {
    for capacity in 1..=5u32 {
        let place = Place::new(qrtr::bytes::<[u8; 3]>(capacity).unwrap());
        let (mut writer, mut reader) = qrtr::pair::<[u8; 3]>(place.memory(), capacity).unwrap();
        let mut queue = std::collections::VecDeque::new();
        let mut random = 1u32;
        for n in 0..if cfg!(miri) { 60 } else { 1000u32 } {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = [n as u8, (n >> 8) as u8, 7];
            if random >> 31 == 0 {
                let full = queue.len() == capacity as usize;
                assert_eq!(writer.push(value), if full { Err(qrtr::QueueFull(value)) } else { Ok(()) });
                if !full {
                    queue.push_back(value);
                }
            } else {
                assert_eq!(reader.pop(), Ok(queue.pop_front()));
            }
            assert_eq!((writer.len(), reader.len()), (queue.len(), queue.len()));
            assert_eq!((writer.is_empty(), reader.is_empty()), (queue.is_empty(), queue.is_empty()));
            assert_eq!((writer.capacity(), reader.capacity()), (capacity as usize, capacity as usize));
        }
    }
}

#[test]
fn qrtr_successors_go_on() {
    let place = Place::new(qrtr::bytes::<u64>(3).unwrap());
    let (mut pushed, mut popped) = (0, 0);
    for round in 0..if cfg!(miri) { 12 } else { 50u64 } {
        // SAFETY: the ends of the previous round were dropped.
        let (mut writer, mut reader) = unsafe {
            (qrtr::writer::<u64>(place.memory(), 3).unwrap(), qrtr::reader::<u64>(place.memory(), 3).unwrap())
        };
        for _ in 0..round % 4 {
            if writer.push(pushed).is_ok() {
                pushed += 1;
            }
        }
        for _ in 0..round % 3 {
            if let Some(value) = reader.pop().unwrap() {
                assert_eq!(value, popped);
                popped += 1;
            }
        }
        assert_eq!(writer.len() as u64, pushed - popped);
    }
    assert!(popped > if cfg!(miri) { 5 } else { 40 });
}

#[test]
fn qrtr_bounds_what_the_other_side_says() {
    let place = Place::new(qrtr::bytes::<u64>(4).unwrap());
    let (tail, head) = (place.memory().claim().word(0), place.memory().claim().word(128));
    let (mut writer, mut reader) = qrtr::pair::<u64>(place.memory(), 4).unwrap();
    writer.push(1).unwrap();
    writer.push(2).unwrap();
    assert_eq!(reader.pop(), Ok(Some(1)));
    for lie in [0, 6, 1 << 32, u64::MAX] {
        let mut reader = {
            // SAFETY: the reader above is not used meanwhile.
            unsafe { qrtr::reader::<u64>(place.memory(), 4) }.unwrap()
        };
        tail.store(lie, taut_atomic::Ordering::Relaxed);
        assert_eq!(reader.pop(), Err(qrtr::Corrupt), "{lie}");
        assert_eq!((reader.len(), reader.is_empty()), (0, true));
        tail.store(2, taut_atomic::Ordering::Relaxed);
        assert_eq!(reader.len(), 1);
    }
    assert_eq!(reader.pop(), Ok(Some(2)), "the truth is believed again");
    // The writer has room for 4 values after the head that it last loaded (0); then it loads the head again, which is
    // false.
    writer.push(3).unwrap();
    writer.push(4).unwrap();
    for lie in [5, 1 << 32, u64::MAX] {
        head.store(lie, taut_atomic::Ordering::Relaxed);
        assert_eq!(writer.push(5), Err(qrtr::QueueFull(5)), "{lie}");
        assert_eq!(writer.len(), 4);
    }
    head.store(2, taut_atomic::Ordering::Relaxed);
    assert_eq!(writer.push(5), Ok(()));
}

#[test]
fn errors_speak() {
    assert_eq!(
        LayoutError::TooSmall { needed: 2, given: 1 }.to_string(),
        "the object needs 2 bytes and gets 1"
    );
    assert!(LayoutError::Capacity.to_string().contains("capacity is 0"));
    assert!(sdrtr::NotPublished::Busy.to_string().contains("copying"));
    assert!(sdrtr::NotPublished::Corrupt.to_string().contains("shared word"));
    assert!(sdrtw::Retry.to_string().contains("write"));
    assert!(qrtr::QueueFull(1).to_string().contains("full"));
    assert!(qrtr::Corrupt.to_string().contains("tail"));
}
