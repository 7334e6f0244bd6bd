// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Locks of the standard library and of other crates.

use std::sync::{Arc, Mutex, PoisonError};

use mcslock::raw::MutexNode;

use super::partner::{Partner, Waits};

/// The mutex of the standard library, a futex.
pub(super) struct Std;

impl Partner for Std {
    const NAME: &'static str = "std mutex";
    const WAITS: Waits = Waits::Sleeping;
    type Side = Arc<Mutex<()>>;

    fn sides() -> Result<[Self::Side; 2], String> {
        let lock = Arc::new(Mutex::new(()));
        Ok([lock.clone(), lock])
    }

    #[inline(always)]
    fn with<R>(side: &mut Self::Side, section: impl FnOnce() -> R) -> R {
        let _held = side.lock().unwrap_or_else(PoisonError::into_inner);
        section()
    }
}

/// The mutex that many programs use instead.
pub(super) struct ParkingLot;

impl Partner for ParkingLot {
    const NAME: &'static str = "parking_lot";
    const WAITS: Waits = Waits::Sleeping;
    type Side = Arc<parking_lot::Mutex<()>>;

    fn sides() -> Result<[Self::Side; 2], String> {
        let lock = Arc::new(parking_lot::Mutex::new(()));
        Ok([lock.clone(), lock])
    }

    #[inline(always)]
    fn with<R>(side: &mut Self::Side, section: impl FnOnce() -> R) -> R {
        let _held = side.lock();
        section()
    }
}

/// A ticket lock: one word hands out tickets, another serves them.
pub(super) struct Ticket;

impl Partner for Ticket {
    const NAME: &'static str = "ticket lock (spin)";
    const WAITS: Waits = Waits::Spinning;
    type Side = Arc<spin::mutex::ticket::TicketMutex<()>>;

    fn sides() -> Result<[Self::Side; 2], String> {
        let lock = Arc::new(spin::mutex::ticket::TicketMutex::new(()));
        Ok([lock.clone(), lock])
    }

    #[inline(always)]
    fn with<R>(side: &mut Self::Side, section: impl FnOnce() -> R) -> R {
        let _held = side.lock();
        section()
    }
}

/// A queue of nodes; each node is watched by its owner alone.
pub(super) struct Mcs;

/// A lock and a node on lines of its own.
#[repr(align(128))]
pub(super) struct McsSide {
    node: MutexNode,
    lock: Arc<mcslock::raw::spins::Mutex<()>>,
}

impl Partner for Mcs {
    const NAME: &'static str = "MCS lock (mcslock)";
    const WAITS: Waits = Waits::Spinning;
    type Side = Box<McsSide>;

    fn sides() -> Result<[Self::Side; 2], String> {
        let lock = Arc::new(mcslock::raw::spins::Mutex::new(()));
        Ok([lock.clone(), lock].map(|lock| Box::new(McsSide { node: MutexNode::new(), lock })))
    }

    #[inline(always)]
    fn with<R>(side: &mut Self::Side, section: impl FnOnce() -> R) -> R {
        let McsSide { node, lock } = &mut **side;
        lock.lock_with_then(node, |()| section())
    }
}
