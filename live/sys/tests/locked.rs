// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The memory of a process with many threads that counts as locked. This is a program of its own, because it locks
//! all of its memory.

use std::sync::Barrier;

use taut_sys::memory;

const THREADS: usize = 50;
const STACK_BYTES: usize = 256 << 10;

/// The locked memory in bytes, as the kernel counts it against a limit.
fn locked() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).expect("it has this line");
    let number = line.trim().strip_suffix(" kB").expect("in this unit");
    number.parse::<usize>().expect("a number") << 10
}

#[test]
fn threads_count_with_their_stacks_and_no_more() {
    if let Err(error) = memory::lock_all() {
        return println!("skipped: {error}");
    }
    let before = locked();
    let (there, seen) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
    std::thread::scope(|threads| {
        for _ in 0..THREADS {
            let work = || {
                // A thread's first allocation would create an arena for it.
                let used = std::hint::black_box(vec![1_u8; 100]);
                there.wait();
                seen.wait();
                drop(used);
            };
            std::thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn_scoped(threads, work)
                .expect("a thread");
        }
        there.wait();
        let each = (locked() - before) / THREADS;
        seen.wait();
        assert!(each >= STACK_BYTES, "{each} bytes");
        assert!(each <= STACK_BYTES + (64 << 10), "{each} bytes for each thread");
    });
}
