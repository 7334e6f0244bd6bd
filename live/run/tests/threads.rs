// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which types of the runtime threads may share or send.
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use std::cell::Cell;
use std::rc::Rc;

use taut_run::{
    App, Attachment, ClientEnd, Context, Control, Create, Job, QueueReader, QueueWriter, Resource, Service,
    StateReader, StateWriter,
};

#[test]
fn shared_types_are_send_and_sync() {
    threads! {
        App<'static>: neither,
        Service<'static, 'static>: neither,
        Create<'static, 'static>: neither,
        Job<'static>: neither,
        Context<'static>: both,
        Control: both,
        Attachment: both,
        ClientEnd<u64>: send,
        QueueWriter<'static, u64>: send,
        QueueReader<'static, u64>: send,
        StateWriter<'static, u64>: send,
        StateReader<'static, u64>: send,
        Resource<u64>: both,
        Resource<Cell<u64>>: both,
        Resource<Rc<u64>>: neither,
    }
}
