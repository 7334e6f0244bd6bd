// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Where the kernel keeps its words for each thread that has registered for restartable sequences.

/// The offset from a thread's pointer to its area, if the calling thread is registered; else 0. For boot.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
pub(crate) fn offset() -> isize {
    // SAFETY: the names end with a zero; the symbols, where they exist, are an isize and a u32 that are set before main
    // and never change.
    let (offset, size) = unsafe {
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
        if offset.is_null() || size.is_null() {
            return 0;
        }
        (offset.read(), size.read())
    };
    // The size is 0 where the registration failed or was switched off.
    if offset == 0 || size < 8 || cpu(offset) >= crate::thread::CPU_LIMIT.into() { 0 } else { offset }
}

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
pub(crate) fn offset() -> isize {
    0
}

/// `cpu_id` of `struct rseq`: the CPU, or a negative number while the thread is not registered.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[inline(always)]
pub(crate) fn cpu(offset: isize) -> u32 {
    let cpu: u32;
    // SAFETY: `offset` is the C library's: from any thread's pointer to the thread's own registered area, which lives
    // as long as the thread; one instruction reads the word, as the kernel's interface requires.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            "mov {cpu:e}, dword ptr fs:[{offset} + 4]",
            cpu = lateout(reg) cpu,
            offset = in(reg) offset,
            options(nostack, preserves_flags, readonly)
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            "mrs {pointer}, tpidr_el0",
            "add {pointer}, {pointer}, {offset}",
            "ldr {cpu:w}, [{pointer}, #4]",
            pointer = out(reg) _,
            cpu = lateout(reg) cpu,
            offset = in(reg) offset,
            options(nostack, preserves_flags, readonly)
        );
    }
    cpu
}

/// `rseq_cs` of `struct rseq`: the address of the description of the restartable sequence that the thread is in; 0 if
/// it is in none.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[inline(always)]
pub(crate) fn sequence(offset: isize) -> u64 {
    let at: u64;
    // SAFETY: as in `cpu`. Not `readonly` or `pure`: the kernel writes the word whenever it switches the thread out,
    // so this read must keep its place among the others.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            "mov {at}, qword ptr fs:[{offset} + 8]",
            at = lateout(reg) at,
            offset = in(reg) offset,
            options(nostack, preserves_flags)
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            "mrs {pointer}, tpidr_el0",
            "add {pointer}, {pointer}, {offset}",
            "ldr {at}, [{pointer}, #8]",
            pointer = out(reg) _,
            at = lateout(reg) at,
            offset = in(reg) offset,
            options(nostack, preserves_flags)
        );
    }
    at
}

/// Declares that the thread is in a sequence without instructions. The kernel checks this whenever it has switched
/// the thread out, finds that the thread is not in the sequence, and writes 0.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[inline(always)]
pub(crate) fn set_sequence(offset: isize) {
    let at = (&raw const NOWHERE).addr() as u64;
    // SAFETY: as in `cpu`; the thread may write the word, by one instruction, and `NOWHERE` meets the kernel's
    // interface: 32 bytes, aligned to as many, that stay; a version that the kernel knows; an empty range, so that
    // the kernel always resumes the thread where it was.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(
            "mov qword ptr fs:[{offset} + 8], {at}",
            at = in(reg) at,
            offset = in(reg) offset,
            options(nostack, preserves_flags)
        );
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!(
            "mrs {pointer}, tpidr_el0",
            "add {pointer}, {pointer}, {offset}",
            "str {at}, [{pointer}, #8]",
            pointer = out(reg) _,
            at = in(reg) at,
            offset = in(reg) offset,
            options(nostack, preserves_flags)
        );
    }
}

/// `struct rseq_cs`.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
#[repr(C, align(32))]
struct Sequence {
    version: u32,
    flags: u32,
    start: *const u8,
    length: u64,
    abort: *const u8,
}

// SAFETY: no code writes it.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
unsafe impl Sync for Sequence {}

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
static NOWHERE: Sequence = Sequence {
    version: 0,
    flags: 0,
    start: &raw const taut_sys_rseq_abort,
    length: 0,
    abort: &raw const taut_sys_rseq_abort,
};

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
unsafe extern "C" {
    static taut_sys_rseq_abort: u8;
}

// The kernel ends a process whose description does not name an address with this signature in front, although it
// never jumps there. It is the signature with which the C library registers.
#[cfg(all(target_arch = "x86_64", not(miri)))]
core::arch::global_asm!(
    ".pushsection .text.taut_sys_rseq_abort,\"ax\",@progbits",
    ".balign 16",
    ".byte 0x0f, 0xb9, 0x3d",
    ".long 0x53053053",
    ".globl taut_sys_rseq_abort",
    ".hidden taut_sys_rseq_abort",
    "taut_sys_rseq_abort:",
    "ud2",
    ".popsection",
);
#[cfg(all(target_arch = "aarch64", not(miri)))]
core::arch::global_asm!(
    ".pushsection .text.taut_sys_rseq_abort,\"ax\",@progbits",
    ".balign 16",
    ".inst 0xd428bc00",
    ".globl taut_sys_rseq_abort",
    ".hidden taut_sys_rseq_abort",
    "taut_sys_rseq_abort:",
    "brk #0",
    ".popsection",
);
