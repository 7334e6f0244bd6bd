// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The step bounds of Chen, Improved Chen and Hybrid, counted exactly:
//! `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test steps claims::`.

use core::ptr::NonNull;

use taut_atomic::AtomicU64;
use taut_atomic::Ordering::Relaxed;
use taut_atomic::steps::{Steps, count};
use taut_share::state::{chen, hybrid, improved_chen};
use taut_share::{LINE_BYTES, Line, Memory};

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };
const LOOK: Steps = Steps { loads: 1, ..NONE };
const LINES: usize = 210;
/// A reader that has given its claim back and not made the next one.
const EMPTY: u64 = 1;

fn steps(work: impl FnOnce()) -> Steps {
    count(work).1
}

/// Memory for an object, with its claim words; it lives for the rest of the process.
fn place() -> (Memory<'static>, impl Fn(u32) -> &'static AtomicU64) {
    let lines: &'static mut [Line] = Vec::leak((0..LINES).map(|_| Line::new()).collect());
    let start = NonNull::from(lines).cast::<u8>();
    // SAFETY: aligned lines, of that length, leaked; accessed only through `start`.
    let memory = unsafe { Memory::from_raw(start, LINES * LINE_BYTES) };
    let claim = move |which: u32| {
        // SAFETY: inside, aligned, leaked, and accessed only atomically.
        unsafe { AtomicU64::from_ptr(start.as_ptr().add(LINE_BYTES * (1 + which as usize)).cast()) }
    };
    (memory, claim)
}

fn chen_takes<const N: usize>(readers: u32) {
    let (words, p) = (N.div_ceil(8) as u64, u64::from(readers));
    let (memory, claim) = place();
    let (mut writer, mut all) = chen::group::<[u8; N]>(memory, readers).unwrap();
    let mut reader = all.next().unwrap();
    assert_eq!(steps(|| assert!(reader.read().is_none())), LOOK);
    let write = Steps { fences: 1, loads: p, words, stores: 1, ..NONE };
    assert_eq!(steps(|| writer.write(&[1; N])), write);
    let fresh = Steps { loads: 2, stores: 1, fences: 1, exchanges: 1, words };
    let again = Steps { loads: 1, words, ..NONE };
    assert_eq!(steps(|| assert!(reader.read().is_some())), fresh);
    assert_eq!(steps(|| assert!(reader.read().is_some())), again);
    assert_eq!(steps(|| assert!(reader.read_with(|_| ()).is_some())), again);
    assert_eq!(steps(|| assert!(reader.read_if_newer().is_none())), LOOK);
    assert_eq!(steps(|| assert!(!reader.has_newer() && reader.version() == 1)), Steps { loads: 2, ..NONE });
    assert_eq!(steps(|| writer.write_with(|value| value[0] = 2)), write);
    assert_eq!(steps(|| assert!(reader.read_with(|_| ()).is_some())), fresh);
    writer.write(&[3; N]);
    assert_eq!(steps(|| assert!(reader.read_if_newer().is_some())), fresh);
    // All readers are in the middle of a claim.
    (0..readers).for_each(|which| claim(which).store(EMPTY, Relaxed));
    assert_eq!(steps(|| writer.write(&[4; N])), Steps { exchanges: p, ..write });
}

fn hybrid_takes<const N: usize>(readers: u32, spare: u32) {
    let (words, p) = (N.div_ceil(8) as u64, u64::from(readers));
    let (memory, claim) = place();
    let (mut writer, mut all) = hybrid::group::<[u8; N]>(memory, readers, spare).unwrap();
    let mut reader = all.next().unwrap();
    let mut observer = reader.observer();
    assert_eq!(steps(|| assert!(reader.read().is_none())), LOOK);
    assert_eq!(steps(|| assert!(observer.try_read() == Ok(None))), LOOK);
    let write = Steps { fences: 2, loads: p, words, stores: 2, ..NONE };
    assert_eq!(steps(|| writer.write(&[1; N])), write);
    let read = Steps { loads: 2, fences: 1, words, ..NONE };
    assert_eq!(steps(|| assert!(reader.read().is_some())), read);
    assert_eq!(steps(|| assert!(reader.read().is_some())), read);
    let observed = Steps { fences: 2, ..read };
    let mut place = [0; N];
    assert_eq!(steps(|| assert!(reader.read_into(&mut place).is_some())), read);
    assert_eq!(steps(|| assert!(reader.read_if_newer().is_none())), LOOK);
    assert_eq!(steps(|| assert!(observer.read_if_newer().is_ok_and(|sample| sample.is_some()))), observed);
    assert_eq!(steps(|| assert!(observer.read_if_newer() == Ok(None))), LOOK);
    assert_eq!(steps(|| assert_eq!(reader.version() + observer.version(), 2)), Steps { loads: 2, ..NONE });
    (0..readers).for_each(|which| claim(which).store(EMPTY, Relaxed));
    assert_eq!(steps(|| writer.write(&[2; N])), Steps { exchanges: p, ..write });
    // Overtaken, as far as the reader can see: the stamp is different.
    let stamp = claim(0).as_ptr().cast::<u8>();
    let offset = LINE_BYTES * readers as usize + N.next_multiple_of(8);
    let stride = (N.next_multiple_of(8) + 8).next_multiple_of(64);
    for slot in 0..readers as usize + 2 + spare as usize {
        // SAFETY: inside, aligned, leaked, and accessed only atomically.
        unsafe { AtomicU64::from_ptr(stamp.add(offset + stride * slot).cast()) }.store(0, Relaxed);
    }
    let claimed = Steps { loads: 3, stores: 1, exchanges: 1, fences: 2, words: 2 * words };
    assert_eq!(steps(|| assert!(reader.read().is_some())), claimed);
    assert_eq!(steps(|| assert!(reader.read_into(&mut place).is_some())), claimed);
    assert_eq!(steps(|| assert!(observer.try_read().is_err())), observed);
}

fn improved_chen_takes<const N: usize>(slow: u32, overlaps: u32) {
    let (words, m) = (N.div_ceil(8) as u64, u64::from(slow));
    let (memory, claim) = place();
    let (mut writer, mut all, mut fast) = improved_chen::group::<[u8; N]>(memory, slow, overlaps).unwrap();
    // The full fence is before the loads of the claims.
    let write = Steps { fences: 1 + m.min(1), loads: m, words, stores: 2, ..NONE };
    assert_eq!(steps(|| writer.write(&[1; N])), write);
    assert_eq!(steps(|| assert!(fast.try_read().is_ok())), Steps { loads: 2, fences: 2, words, ..NONE });
    let Some(mut reader) = all.next() else { return };
    let fresh = Steps { loads: 2, stores: 1, fences: 1, exchanges: 1, words };
    assert_eq!(steps(|| assert!(reader.read().is_some())), fresh);
    assert_eq!(steps(|| assert!(reader.read().is_some())), Steps { loads: 1, words, ..NONE });
    assert_eq!(steps(|| assert!(reader.read_if_newer().is_none())), LOOK);
    (0..slow).for_each(|which| claim(which).store(EMPTY, Relaxed));
    assert_eq!(steps(|| writer.write(&[2; N])), Steps { exchanges: m, ..write });
}

#[test]
fn steps_are_as_documented() {
    macro_rules! each {
        ($($n:literal)*) => { $(
            for readers in [1, 2, 7] {
                chen_takes::<$n>(readers);
                hybrid_takes::<$n>(readers, 0);
                hybrid_takes::<$n>(readers, 6);
                improved_chen_takes::<$n>(readers, 2);
            }
            // The same object as `hybrid::observed`.
            improved_chen_takes::<$n>(0, 1);
            chen_takes::<$n>(63);
        )* };
    }
    each!(1 8 20 64 256);
    hybrid_takes::<1000>(2, hybrid::spare::<[u8; 1000]>());
}
