// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Our locks between processors.

use taut_lock::{Line, Memory, Patience, queued, spin};

use super::partner::{Partner, Waits};

/// Memory that is never freed: a trial's lock is small, and there are few trials.
fn memory(bytes: usize) -> Memory<'static> {
    let lines: Vec<Line> = (0..bytes.div_ceil(size_of::<Line>())).map(|_| Line::new()).collect();
    Memory::new(Box::leak(lines.into_boxed_slice()))
}

/// Waiting cores spin, and receive the lock in the order of their requests.
pub(super) struct Msrp;

impl Partner for Msrp {
    const NAME: &'static str = "MSRP";
    const OURS: bool = true;
    const WAITS: Waits = Waits::Spinning;
    type Side = spin::Party<'static>;

    fn sides() -> Result<[Self::Side; 2], String> {
        let mut parties = spin::group(memory(spin::bytes(2)), 2).map_err(|error| error.to_string())?;
        parties.next().zip(parties.next()).map(|(one, other)| [one, other]).ok_or_else(|| "no party".into())
    }

    #[inline(always)]
    fn with<R>(side: &mut Self::Side, section: impl FnOnce() -> R) -> R {
        // With endless patience the request cannot time out.
        let _ = side.enter(Patience::Endless);
        let made = section();
        side.leave();
        made
    }
}

/// Waiting tasks sleep, and receive the lock by priority.
pub(super) struct Mpcp;

impl Partner for Mpcp {
    const NAME: &'static str = "MPCP";
    const OURS: bool = true;
    const WAITS: Waits = Waits::Sleeping;
    type Side = queued::Party<'static>;

    fn sides() -> Result<[Self::Side; 2], String> {
        let mut parties = queued::group(memory(queued::bytes(2)), 2).map_err(|error| error.to_string())?;
        parties.next().zip(parties.next()).map(|(one, other)| [one, other]).ok_or_else(|| "no party".into())
    }

    #[inline(always)]
    fn with<R>(side: &mut Self::Side, section: impl FnOnce() -> R) -> R {
        if side.request(1) == queued::RequestOutcome::Waits {
            let _ = side.wait(Patience::Endless);
        }
        let made = section();
        side.release();
        made
    }
}
