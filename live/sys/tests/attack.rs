// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What safe code can try against the calls of Linux: seats in any order and on other threads, which hold the stack that a
//! thread's handlers run on.

use taut_sys::interrupt::{self, ThreadSlot};

/// Whether the calling thread has a stack for handlers.
fn has_stack() -> bool {
    let mut now = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: only asks; `now` is ours and writable.
    assert_eq!(unsafe { libc::sigaltstack(std::ptr::null(), &mut now) }, 0);
    now.ss_flags & libc::SS_DISABLE == 0
}

/// A signal is handled by the calling thread, which comes back.
fn handles() {
    // SAFETY: the handler is the crate's (`allow`).
    assert_eq!(unsafe { libc::raise(libc::SIGURG) }, 0);
}

/// Two seats of one thread, dropped in either order, dropped on another thread, and forgotten: no stack is freed, or taken from the
/// other seat, that a handler may still run on.
#[test]
fn seats_in_any_order() {
    interrupt::allow().expect("a handler");
    let thread = std::thread::spawn(|| {
        let (first, second) = (ThreadSlot::take(), ThreadSlot::take());
        handles();
        drop(first);
        assert!(has_stack(), "it is the second's");
        handles();
        drop(second);
        assert!(!has_stack());
        handles();
        let (first, second) = (ThreadSlot::take(), ThreadSlot::take());
        drop(second);
        assert!(!has_stack(), "it was the second's");
        drop(first);
        let sent = ThreadSlot::take();
        let thread = std::thread::spawn(|| {
            let own = ThreadSlot::take();
            drop(sent);
            assert!(has_stack(), "its own");
            handles();
            own
        });
        let own = thread.join().expect("it ends");
        assert!(has_stack(), "the thread slot is gone, and not what this thread's handlers run on");
        handles();
        // Of a thread that has ended.
        drop(own);
        handles();
        std::mem::forget(ThreadSlot::take());
        handles();
    });
    thread.join().expect("it ends");
    // The places are free again, but for the one that was forgotten.
    for _ in 0..1_000 {
        drop(ThreadSlot::take());
        handles();
    }
}
