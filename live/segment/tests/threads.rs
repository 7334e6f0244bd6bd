// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Several threads may share an owner and an attachment; one thread at a time uses a lease.
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
#[path = "../../share/tests/given/mod.rs"]
mod given;

use taut_segment::registry::{Bulk, Hybrid, Lease, Qrtr, Reader, Registry, Sender, Writer};
use taut_segment::{Attached, AttachedClient, Directory, Owner};

#[test]
fn shared_types_are_send_and_sync() {
    threads! {
        Owner: both,
        Attached: both,
        AttachedClient: both,
        Directory: both,
        Registry: both,
        Lease<Hybrid<u64>, Writer>: both,
        Lease<Qrtr<u64>, Reader>: both,
        Lease<Bulk<u64>, Sender>: both,
    }
}
