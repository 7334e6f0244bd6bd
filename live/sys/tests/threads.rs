// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A descriptor or number that the kernel gives a process belongs to all of its threads; an account belongs to one.
//! Values about the calling thread (marks, slots, masks) are an address or a number: called on another thread, they
//! act on that thread.

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use taut_sys::account::{Account, Switches};
use taut_sys::clock::Interrupted;
use taut_sys::cpu::CpuReader;
use taut_sys::crash::{Crash, LeftToGuardian};
use taut_sys::futex::{Awaited, Waited};
use taut_sys::interrupt::{Running, ThreadLocation, ThreadSlot};
use taut_sys::life::Life;
use taut_sys::machine::DmaLatencyHold;
use taut_sys::memory::{Mapping, Seals};
use taut_sys::mutex::{Had, PiMutex};
use taut_sys::outside::RealTimeThread;
use taut_sys::process::{Capability, Rlimit, RlimitResource};
use taut_sys::safe_state::{ThreadEnd, ThreadReport};
use taut_sys::signals::Taken;
use taut_sys::socket::{Peer, Poll, Received};
use taut_sys::switched::SwitchMark;
use taut_sys::thread::ThreadPolicy;
use taut_sys::timer::{LastResort, Timer};
use taut_sys::usage::Usage;

#[test]
fn shared_types_are_send_and_sync() {
    threads! {
        Account: send,
        Switches: both,
        Interrupted: both,
        CpuReader: both,
        Crash: both,
        LeftToGuardian: both,
        taut_sys::Error: both,
        Awaited<'static>: both,
        Waited: both,
        Running: both,
        ThreadSlot: both,
        ThreadLocation: both,
        Life: both,
        DmaLatencyHold: both,
        Mapping: both,
        Seals: both,
        PiMutex: both,
        Had: both,
        RealTimeThread: both,
        Capability: both,
        Rlimit: both,
        RlimitResource: both,
        ThreadEnd: both,
        ThreadReport: both,
        Taken: both,
        Peer: both,
        Poll<'static>: both,
        Received: both,
        SwitchMark: both,
        ThreadPolicy: both,
        Timer: both,
        LastResort: both,
        Usage: both,
    }
}
