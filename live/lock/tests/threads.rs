// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which types can move between threads, and which can be shared: parties, and values that a lock guards.
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use taut_lock::life::{Alive, Cpu, Lives};
use taut_lock::preemption_control::PreemptionControl;
use taut_lock::request_slot::{RequestSlot, Requester, Responder};
use taut_lock::{
    Asking, EventCount, Guarded, Listener, Notified, Notifier, Serial, SharedValue, SoleListener, Watch,
    futex_mutex, parker, queued, spin,
};

#[test]
fn shared_types_are_send_and_sync() {
    threads! {
        spin::Party<'static>: both,
        spin::Parties<'static>: both,
        queued::Party<'static>: both,
        queued::Parties<'static>: both,
        Asking<'static>: both,
        Guarded<'static, spin::Party<'static>, u64>: send,
        Guarded<'static, queued::Party<'static>, Cell<u64>>: send,
        Guarded<'static, queued::Party<'static>, Rc<u64>>: neither,
        SharedValue<'static, u64>: send,
        Serial<u64>: both,
        Serial<Cell<u64>>: both,
        Serial<Rc<u64>>: neither,
        EventCount: both,
        Notifier<'static>: both,
        Listener<'static>: both,
        SoleListener<'static>: both,
        Watch<Arc<EventCount>>: both,
        Notified<'static, Arc<EventCount>>: both,
        Lives<'static>: both,
        Alive: both,
        Cpu<'static>: both,
        PreemptionControl: both,
        parker::Parker: both,
        futex_mutex::FutexMutex: both,
        RequestSlot<u64, u64>: both,
        RequestSlot<Cell<u64>, u64>: both,
        Requester<'static, u64, u64>: both,
        Requester<'static, Cell<u64>, u64>: both,
        Responder<'static, u64, u64>: both,
        Responder<'static, Cell<u64>, u64>: both,
    }
}
