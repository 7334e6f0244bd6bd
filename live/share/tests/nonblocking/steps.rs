// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The steps that the files of SDrtR, SDrtW and QrtR state, counted exactly:
//! `RUSTFLAGS="--cfg steps" cargo test -p taut-share --test steps nonblocking::`.

use core::ptr::NonNull;

use taut_atomic::Ordering::Relaxed;
use taut_atomic::steps::{Steps, count};
use taut_share::queue::qrtr;
use taut_share::state::{sdrtr, sdrtw};
use taut_share::{LINE_BYTES, Line, Memory};

const NONE: Steps = Steps { loads: 0, stores: 0, exchanges: 0, fences: 0, words: 0 };

fn lines() -> Vec<Line> {
    (0..40).map(|_| Line::new()).collect()
}

fn steps(work: impl FnOnce()) -> Steps {
    count(work).1
}

fn sdrtr_takes<const N: usize>() {
    let words = N.div_ceil(8) as u64;
    let mut lines = lines();
    let start = NonNull::from(lines.as_mut_slice()).cast::<u8>();
    let idx = start.cast::<u64>().as_ptr();
    // SAFETY: aligned lines, of that length, which outlive the ends; accessed only through `start`.
    let memory = unsafe { Memory::from_raw(start, 40 * LINE_BYTES) };
    let (mut writer, mut reader) = sdrtr::pair::<[u8; N]>(memory).unwrap();
    let around = Steps { exchanges: 1, stores: 1, ..NONE };
    assert_eq!(steps(|| assert!(reader.read().is_none())), around);
    assert_eq!(steps(|| assert!(reader.read_with(|_| ()).is_none())), around);
    let publish = Steps { words, exchanges: 1, ..NONE };
    assert_eq!(steps(|| assert!(writer.try_publish(&[1; N]).is_ok())), publish);
    assert_eq!(steps(|| assert!(reader.read().is_some())), Steps { words, ..around });
    assert_eq!(steps(|| assert!(reader.read_with(|_| ()).is_some())), Steps { words, ..around });
    assert_eq!(steps(|| assert!(reader.read_into(&mut [0; N]))), Steps { words, ..around });
    assert_eq!(steps(|| assert!(writer.publish_within(&[2; N], 9).is_ok())), publish);
    // SAFETY: the word outlives this function's use of it, and is accessed only atomically.
    unsafe { taut_atomic::AtomicU64::from_ptr(idx) }.fetch_add(1, Relaxed);
    assert_eq!(steps(|| assert!(writer.try_publish(&[3; N]).is_err())), publish);
    let busy = Steps { words, exchanges: 9, ..NONE };
    assert_eq!(steps(|| assert!(writer.publish_within(&[3; N], 9).is_err())), busy);
}

fn sdrtw_takes<const N: usize>() {
    let words = N.div_ceil(8) as u64;
    let mut lines = lines();
    let start = NonNull::from(lines.as_mut_slice()).cast::<u8>();
    let counter = start.cast::<u64>().as_ptr();
    // SAFETY: aligned lines, of that length, which outlive the ends; accessed only through `start`.
    let memory = unsafe { Memory::from_raw(start, 40 * LINE_BYTES) };
    let (mut writer, mut reader) = sdrtw::pair::<[u8; N]>(memory).unwrap();
    let look = Steps { loads: 1, ..NONE };
    assert_eq!(steps(|| assert_eq!(reader.try_read(), Ok(None))), look);
    assert_eq!(steps(|| assert_eq!(reader.try_read_into(&mut [0; N]), Ok(None))), look);
    assert_eq!(steps(|| writer.write(&[1; N])), Steps { stores: 2, fences: 1, words, ..NONE });
    let read = Steps { loads: 2, fences: 2, words, ..NONE };
    assert_eq!(steps(|| assert!(reader.try_read().is_ok())), read);
    assert_eq!(steps(|| assert_eq!(reader.try_read_into(&mut [0; N]), Ok(Some(1)))), read);
    assert_eq!(steps(|| assert!(reader.read_bounded(9).is_ok())), read);
    assert_eq!(steps(|| assert_eq!(reader.read_if_newer(), Ok(None))), look);
    assert_eq!(steps(|| assert_eq!(reader.version(), 1)), look);
    writer.write(&[2; N]);
    assert_eq!(steps(|| assert!(reader.read_if_newer().is_ok())), read);
    // SAFETY: the word outlives this function's use of it, and is accessed only atomically.
    unsafe { taut_atomic::AtomicU64::from_ptr(counter) }.store(5, Relaxed);
    assert_eq!(steps(|| assert!(reader.try_read().is_err())), look);
    assert_eq!(steps(|| assert!(reader.read_bounded(9).is_err())), Steps { loads: 9, ..NONE });
}

fn qrtr_takes<const N: usize>() {
    let words = N.div_ceil(8) as u64;
    let mut lines = lines();
    let (mut writer, mut reader) = qrtr::pair::<[u8; N]>(Memory::new(&mut lines), 2).unwrap();
    let look = Steps { loads: 1, ..NONE };
    let looked = Steps { loads: 1, stores: 1, words, ..NONE };
    let known = Steps { stores: 1, words, ..NONE };
    assert_eq!(steps(|| assert_eq!(reader.pop(), Ok(None))), look);
    assert_eq!(steps(|| assert!(writer.push([1; N]).is_ok())), looked);
    assert_eq!(steps(|| assert!(writer.push([2; N]).is_ok())), known);
    assert_eq!(steps(|| assert!(writer.push([3; N]).is_err())), look);
    assert_eq!(steps(|| assert!(reader.pop() == Ok(Some([1; N])))), looked);
    assert_eq!(steps(|| assert!(reader.pop() == Ok(Some([2; N])))), known);
    assert_eq!(steps(|| assert_eq!(reader.pop(), Ok(None))), look);
    assert_eq!(steps(|| assert_eq!(reader.len() + writer.len(), 0)), Steps { loads: 2, ..NONE });
}

#[test]
fn steps_are_as_documented() {
    macro_rules! each { ($($n:literal)*) => { $( sdrtr_takes::<$n>(); sdrtw_takes::<$n>(); qrtr_takes::<$n>(); )* } }
    each!(1 8 20 64 256 1000);
}
