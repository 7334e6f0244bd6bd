// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What safe code can try against the system calls: thread slots in any order and on other threads. A slot holds the
//! stack on which a thread's handlers run.

use taut_sys::interrupt::{self, ThreadSlot};

/// Whether the calling thread has a stack for handlers.
fn has_stack() -> bool {
    let mut now = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: only queries; `now` is ours and writable.
    assert_eq!(unsafe { libc::sigaltstack(std::ptr::null(), &mut now) }, 0);
    now.ss_flags & libc::SS_DISABLE == 0
}

/// The calling thread handles a signal and returns.
fn handles() {
    // SAFETY: the handler is the crate's (`allow`).
    assert_eq!(unsafe { libc::raise(libc::SIGURG) }, 0);
}

/// Two slots of one thread, dropped in either order, dropped on another thread, and forgotten: dropping frees no
/// stack on which a handler may still run, and takes no stack from the other slot.
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
        // The slot of a thread that has ended.
        drop(own);
        handles();
        std::mem::forget(ThreadSlot::take());
        handles();
    });
    thread.join().expect("it ends");
    // The places are free again, except that of the forgotten slot.
    for _ in 0..1_000 {
        drop(ThreadSlot::take());
        handles();
    }
}
