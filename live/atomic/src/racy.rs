// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Copies between private memory and shared memory that another thread or process may be writing. In the language's
//! memory model they are relaxed atomic accesses. The copy may be torn; the protocol detects that afterwards.
//!
//! The specification is a loop over 64-bit words. Miri and the step counter run this loop; the model checkers have
//! their own in `modelled.rs`. Where the processor has no 64-bit atomics the loop uses 32-bit words: a copy may be
//! torn anywhere anyway, and each 64-bit word of `portable-atomic` costs several accesses. From about half a kibibyte
//! on, the loop costs twice a plain copy, because a compiler may neither join nor reorder the accesses as it may in a
//! plain copy. So on processors that we know, larger values are copied by instructions that are opaque to the
//! compiler:
//!
//! - x86-64, out of shared memory, from 64 bytes on: 16 bytes at a time. A processor makes a load wait for earlier
//!   stores that are smaller than the load. Compilers emit wide loads for code that then reads the copy; these loads do
//!   not wait if the copy was stored in 16-byte pieces (QrtWo, 64 bytes, Zen 4: 4 ns instead of 14). For the same
//!   reason copies into shared memory use words: if the owner of a value has just changed one word of it, 16-byte loads
//!   of the value would wait (3.5 ns by words, 7 ns by 16 bytes).
//! - x86-64, from 512 bytes on: `rep movsb`. In a trial on one processor (Zen 5) it was the fastest copy of such sizes
//!   out of a line that another core has written; other processors are not measured. Each byte of the copy is an
//!   ordinary load and store. The processor reorders neither these loads with later loads nor these stores with later
//!   stores outside of the instruction (Intel SDM 3A, 9.2.4).
//! - AArch64, from 128 bytes on: pairs of words. Each word of a pair is a single access (Arm ARM, B2.2.1).
//!
//! All of these count as relaxed atomic accesses to the shared side, of bytes and of words. As for the loop, the
//! protocols supply the fences that order these accesses: a fence orders every access of its processor.

#[cfg(not(target_has_atomic = "64"))]
use core::sync::atomic::AtomicU32 as Word;
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64 as Word;
use core::sync::atomic::Ordering::Relaxed;

/// The bits of a word.
#[cfg(not(target_has_atomic = "64"))]
type Bits = u32;
#[cfg(target_has_atomic = "64")]
type Bits = u64;

/// Loads the bytes from `done`, a multiple of 8, up to `bytes`, out of places that satisfy the duties of [`load`].
/// Tests run it with words of both widths. A macro compiles as if written in place.
macro_rules! load_words {
    ($word:ty, $from:ident, $to:ident, $done:ident, $bytes:ident) => {
        for at in ($done..$bytes).step_by(size_of::<$word>()) {
            #[cfg(steps)]
            crate::steps::payload();
            // SAFETY: aligned and there (caller); all access in this process is atomic (caller).
            let word = unsafe { <$word>::from_ptr($from.add(at).cast_mut().cast()) };
            let bits = word.load(Relaxed).to_ne_bytes();
            let count = ($bytes - at).min(size_of::<$word>());
            // SAFETY: at most `bytes` in all, for which `to` has room.
            unsafe { core::ptr::copy_nonoverlapping(bits.as_ptr(), $to.add(at), count) };
        }
    };
}

/// Stores the bytes from `done`, a multiple of 8, up to `bytes`, into places that satisfy the duties of [`store`].
macro_rules! store_words {
    ($word:ty, $bits:ty, $from:ident, $to:ident, $done:ident, $bytes:ident) => {
        for at in ($done..$bytes).step_by(size_of::<$word>()) {
            let mut bits = [0; size_of::<$word>()];
            let count = ($bytes - at).min(size_of::<$word>());
            // SAFETY: at most `bytes` in all, which `from` has.
            unsafe { core::ptr::copy_nonoverlapping($from.add(at), bits.as_mut_ptr(), count) };
            #[cfg(steps)]
            crate::steps::payload();
            // SAFETY: aligned and there (caller); all access in this process is atomic (caller).
            unsafe { <$word>::from_ptr($to.add(at).cast()) }.store(<$bits>::from_ne_bytes(bits), Relaxed);
        }
    };
}

/// Copies `bytes` bytes out of shared memory.
///
/// # Safety
///
/// - `from` is aligned to 8, and the words of its first `bytes` bytes, the last one whole, are there.
/// - In this process only [`store`] and atomic words write them during the call.
/// - `to` has room for `bytes` bytes, which nobody else touches.
#[inline(always)]
pub(crate) unsafe fn load(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, steps))))]
    if bytes >= x86_64::LARGE && !x86_64::crawls(from, to) {
        // SAFETY: the caller's duties are the same.
        return unsafe { x86_64::copy(from, to, bytes) };
    }
    // SAFETY: the caller's duties are the same.
    let done = unsafe { pairs(from, to, bytes, LOADED) };
    load_words!(Word, from, to, done, bytes);
}

/// Copies `bytes` bytes into shared memory. If they do not fill the last word, the rest of that word becomes
/// unspecified.
///
/// # Safety
///
/// - `to` is aligned to 8, and the words of its first `bytes` bytes, the last one whole, are there.
/// - In this process only [`load`], [`store`] and atomic words touch them during the call.
/// - `from` has `bytes` initialised bytes.
#[inline(always)]
pub(crate) unsafe fn store(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, steps))))]
    if bytes >= x86_64::LARGE && !x86_64::crawls(from, to) {
        // SAFETY: the caller's duties are the same.
        return unsafe { x86_64::copy(from, to, bytes) };
    }
    // SAFETY: the caller's duties are the same.
    let done = unsafe { pairs(from, to, bytes, STORED) };
    store_words!(Word, Bits, from, to, done, bytes);
}

/// Loads 8 bytes, each of which another party may be storing: 8 relaxed loads of bytes, by one instruction where we
/// know one. The language has no access for that: it does not let atomics of two sizes meet.
///
/// # Safety
///
/// 8 bytes are at `from`, which is aligned to 8; all access to them in this process is atomic, byte by byte.
#[inline(always)]
pub(crate) unsafe fn load_block(from: *const u8) -> [u8; 8] {
    #[cfg(steps)]
    crate::steps::look();
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    {
        let block: u64;
        // SAFETY: the code reads what the caller says is there, and touches no stack. A processor loads an aligned
        // word at once, so each byte of it too. Not `nomem`: no access moves across it.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            core::arch::asm!(
                "mov {block}, qword ptr [{from}]",
                from = in(reg) from,
                block = lateout(reg) block,
                options(nostack, preserves_flags)
            );
            #[cfg(target_arch = "aarch64")]
            core::arch::asm!(
                "ldr {block}, [{from}]",
                from = in(reg) from,
                block = lateout(reg) block,
                options(nostack, preserves_flags)
            );
        }
        block.to_ne_bytes()
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    core::array::from_fn(|at| {
        // SAFETY: there (caller); all access in this process is atomic (caller).
        unsafe { core::sync::atomic::AtomicU8::from_ptr(from.add(at).cast_mut()) }.load(Relaxed)
    })
}

/// Copies `bytes` bytes that nobody else touches, as a compiler would, but avoids `rep movsb` where that instruction
/// would copy one byte at a time (`x86_64::crawls`). The system's own copy does not avoid that case (4 KiB: 1 500 ns
/// instead of 45 on Zen 4).
///
/// # Safety
///
/// `bytes` bytes are there at both places, which do not overlap; no other access to them is concurrent.
#[inline(always)]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, steps))))]
    if bytes >= x86_64::LARGE && x86_64::crawls(from, to) {
        let whole = bytes & !15;
        // SAFETY: a multiple of 16, not 0, and at most `bytes` (caller); the rest behind it.
        return unsafe {
            x86_64::copy_pairs(from, to, whole);
            core::ptr::copy_nonoverlapping(from.add(whole), to.add(whole), bytes - whole);
        };
    }
    // SAFETY: the caller's duties are the same.
    unsafe { core::ptr::copy_nonoverlapping(from, to, bytes) };
}

/// Smallest size in bytes that is worth copying 16 bytes at a time: `LOADED` out of shared memory, `STORED` into it.
/// On x86-64 only copies that `rep movsb` would do one byte at a time reach `STORED`.
#[cfg(target_arch = "aarch64")]
const LOADED: usize = 128;
#[cfg(not(target_arch = "aarch64"))]
const LOADED: usize = 64;
#[cfg(target_arch = "aarch64")]
const STORED: usize = 128;
#[cfg(not(target_arch = "aarch64"))]
const STORED: usize = 512;

/// Copies as many bytes as fit in pieces of 16, if there are at least `least` and the target has an instruction for
/// it. Returns how many it copied.
///
/// # Safety
///
/// `bytes` bytes are there at both places, which do not overlap.
#[inline(always)]
unsafe fn pairs(from: *const u8, to: *mut u8, bytes: usize, least: usize) -> usize {
    #[cfg(all(target_arch = "x86_64", not(any(miri, steps))))]
    if bytes >= least {
        // SAFETY: a multiple of 16, not 0, and at most `bytes` (caller).
        unsafe { x86_64::copy_pairs(from, to, bytes & !15) };
        return bytes & !15;
    }
    #[cfg(all(target_arch = "aarch64", not(any(miri, steps))))]
    if bytes >= least {
        // SAFETY: a multiple of 16, not 0, and at most `bytes` (caller).
        unsafe { aarch64::copy_pairs(from, to, bytes & !15) };
        return bytes & !15;
    }
    let _ = (from, to, bytes, least);
    0
}

#[cfg(all(target_arch = "x86_64", not(any(miri, steps))))]
mod x86_64 {
    /// Smallest size in bytes at which `rep movsb` was faster than the words in a trial on one processor (Zen 5).
    pub(super) const LARGE: usize = 512;

    /// Whether `rep movsb` would copy one byte at a time. On AMD it does when the target lies 1 to 15 bytes further
    /// in its page than the source (4 KiB: 3 600 cycles instead of 130 on Zen 4, 3 000 instead of 180 on Zen 5).
    #[inline(always)]
    pub(super) fn crawls(from: *const u8, to: *const u8) -> bool {
        (to.addr().wrapping_sub(from.addr()) & 0xFFF).wrapping_sub(1) < 15
    }

    /// # Safety
    ///
    /// `bytes`, a multiple of 16, are there at both places, which do not overlap.
    #[inline(always)]
    pub(super) unsafe fn copy_pairs(from: *const u8, to: *mut u8, bytes: usize) {
        for at in (0..bytes).step_by(16) {
            // SAFETY:
            // - the code reads and writes only what the caller says is there, and no stack; the moves need no
            //   alignment;
            // - not `nomem`: to the compiler the code may touch any memory, so no access moves across it.
            unsafe {
                core::arch::asm!(
                    "movups {pair}, [{from}]",
                    "movups [{to}], {pair}",
                    from = in(reg) from.add(at),
                    to = in(reg) to.add(at),
                    pair = out(xmm_reg) _,
                    options(nostack, preserves_flags)
                );
            }
        }
    }

    /// # Safety
    ///
    /// `bytes` bytes are there at both places, which do not overlap.
    #[inline(always)]
    pub(super) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
        // SAFETY:
        // - the code reads and writes only what the caller says is there, and no stack;
        // - the ABI guarantees that the direction flag is clear at entry of every asm block;
        // - not `nomem`: to the compiler the code may touch any memory, so no access moves across it.
        unsafe {
            core::arch::asm!(
                "rep movsb",
                inout("rcx") bytes => _,
                inout("rsi") from => _,
                inout("rdi") to => _,
                options(nostack, preserves_flags)
            );
        }
    }
}

#[cfg(all(target_arch = "aarch64", not(any(miri, steps))))]
mod aarch64 {
    /// # Safety
    ///
    /// `bytes`, a multiple of 16 and not 0, are there at both places, which do not overlap.
    #[inline(always)]
    pub(super) unsafe fn copy_pairs(from: *const u8, to: *mut u8, bytes: usize) {
        // SAFETY:
        // - the code reads and writes only what the caller says is there, and no stack;
        // - not `nomem`: to the compiler the code may touch any memory, so no access moves across it.
        unsafe {
            core::arch::asm!(
                "2:",
                "ldp {a}, {b}, [{from}], #16",
                "stp {a}, {b}, [{to}], #16",
                "subs {left}, {left}, #16",
                "b.ne 2b",
                from = inout(reg) from => _,
                to = inout(reg) to => _,
                left = inout(reg) bytes => _,
                a = out(reg) _,
                b = out(reg) _,
                options(nostack)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::boxed::Box;
    use std::vec;

    /// Checks that a copy of each length, from 0 and from a `done` in the middle, writes exactly these bytes. In
    /// shared memory it may also change the rest of the last word.
    macro_rules! copies {
        ($word:ty, $bits:ty) => {
            #[repr(align(8))]
            struct Shared([u8; 88]);
            let value: [u8; 80] = core::array::from_fn(|i| i as u8 + 1);
            for (bytes, done) in (0..=80usize).flat_map(|bytes| [(bytes, 0), (bytes, bytes / 16 * 16)]) {
                let (mut shared, mut private) = (Shared([0xEE; 88]), [0xEE; 80]);
                let end = done + (bytes - done).next_multiple_of(size_of::<$word>());
                // Both have room for `bytes` and the rest of a word; one thread.
                let (from, to) = (value.as_ptr(), shared.0.as_mut_ptr());
                store_words!($word, $bits, from, to, done, bytes);
                assert_eq!(shared.0[done..bytes], value[done..bytes]);
                assert!(shared.0[..done].iter().chain(&shared.0[end..]).all(|byte| *byte == 0xEE));
                let (from, to) = (shared.0.as_mut_ptr().cast_const(), private.as_mut_ptr());
                load_words!($word, from, to, done, bytes);
                assert_eq!(private[done..bytes], value[done..bytes]);
                assert!(private[..done].iter().chain(&private[bytes..]).all(|byte| *byte == 0xEE));
            }
        };
    }

    /// The functions as their callers use them: every length up to where the instructions change, and a page, between
    /// places at every distance, among them those at which `rep movsb` would copy one byte at a time.
    #[test]
    fn every_length_is_copied_whole_wherever_it_lies() {
        const PAGE: usize = 4096;
        #[repr(align(4096))]
        struct Aligned([u8; 3 * PAGE]);
        let (mut shared, mut private) = (Box::new(Aligned([0; 3 * PAGE])), Box::new(Aligned([0; 3 * PAGE])));
        let bytes: Box<[u8]> = (0..PAGE + 9).map(|i| (i % 251) as u8 + 1).collect();
        let lengths =
            if cfg!(miri) { vec![7, 64, 72, 520] } else { (0..600).chain([PAGE, PAGE + 9]).collect() };
        let step = if cfg!(miri) { 11 } else { 1 };
        for (length, distance) in
            lengths.into_iter().flat_map(|n| (0..34).step_by(step).map(move |at| (n, at)))
        {
            let (from, to) = (&bytes[..length], distance & !7);
            let place = shared.0[to..].as_mut_ptr();
            // SAFETY: aligned to 8, with room for `length` bytes and a last word; one thread.
            unsafe { super::store(from.as_ptr(), place, length) };
            assert_eq!(&shared.0[to..to + length], from, "{length} into {to}");
            shared.0[to..to + length].fill(0);
            // SAFETY: room for `length` bytes at both; one thread.
            unsafe { super::copy(from.as_ptr(), shared.0[to..].as_mut_ptr(), length) };
            assert_eq!(&shared.0[to..to + length], from, "{length} into {to}, alone");
            private.0[..distance + length + 8].fill(0xEE);
            // SAFETY: as above; `private` has room for `length` bytes from `distance` on.
            unsafe {
                super::load(
                    shared.0[to..].as_mut_ptr().cast_const(),
                    private.0[distance..].as_mut_ptr(),
                    length,
                )
            };
            assert_eq!(&private.0[distance..distance + length], from, "{length} from {to} to {distance}");
            assert!(private.0[..distance].iter().all(|byte| *byte == 0xEE), "before");
            assert!(private.0[distance + length..][..8].iter().all(|byte| *byte == 0xEE), "behind");
        }
    }

    #[test]
    fn every_length_is_copied_by_the_words_of_this_target() {
        copies!(super::Word, super::Bits);
    }

    #[test]
    fn every_length_is_copied_by_narrow_words() {
        copies!(AtomicU32, u32);
    }
}
