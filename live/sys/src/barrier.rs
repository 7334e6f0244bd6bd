// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A memory barrier on every processor that runs a thread of this process: one side pays for both.

use crate::Result;
use crate::error::check;

/// Announces that this process will use [`everywhere`]. To be called once, at boot; again does no harm.
///
/// # Errors
/// EINVAL, ENOSYS on a kernel that has no such barrier.
pub fn register() -> Result {
    call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

/// Orders what the calling thread does before and after, and likewise, at some instant of this call, every other thread
/// of the process that is running. Where the others keep the compiler from reordering, this is a full fence on both
/// sides.
///
/// *Real-time*: one system call that does not block; it interrupts processors that run threads of the process.
///
/// # Errors
/// EPERM if [`register`] was not called.
pub fn everywhere() -> Result {
    call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}

fn call(command: i32) -> Result {
    // SAFETY: plain integers.
    check("membarrier", unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) as libc::c_int })
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_it_works() {
        assert_eq!(register(), Ok(()));
        assert_eq!(everywhere(), Ok(()));
    }
}
