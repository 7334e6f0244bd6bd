// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What the four mechanisms of \[Han14\] cost. Its Table II is lost in the text known here; these stand for it, in the
//! order that the text keeps: MPCP above MSRP, DBP above TCCP.

use taut_analysis::multi::Guard;
use taut_plan::select::{Buffers, Count, Equations, Memory, Object, Offer, Problem, ProblemFault};
use taut_time::Duration;

use crate::system::{Shared, System};

/// ns of a request and release, by spinning and by suspending.
const LOCK: [u64; 2] = [1_000, 2_500];
/// ns of an access besides the copy, DBP: writing without readers, for each reader, and reading.
const DBP: [u64; 3] = [500, 150, 500];
/// The same for TCCP: writing and reading.
const TCCP: [u64; 2] = [300, 200];
/// Bytes of a lock, and of an index.
const LOCK_BYTES: u64 = 4;
const INDEX_BYTES: u64 = 1;

/// The question of which mechanism for which object.
pub(crate) fn problem(system: &System, equations: Equations) -> Result<Problem, ProblemFault> {
    let objects = system.objects.iter().enumerate().map(|(at, shared)| object(at, shared)).collect();
    Problem::new(&system.set, objects, |_| Guard::Spinning, equations)
}

fn object(at: usize, shared: &Shared) -> Object {
    let parties = || [shared.writer].into_iter().chain(shared.readers.iter().copied());
    let each = |time: u64| parties().map(|task| (task, Duration::from_ns(time))).collect::<Vec<_>>();
    let apart = |write: u64, read: u64| {
        let mut all = each(read);
        all[0].1 = Duration::from_ns(write);
        all
    };
    let readers = shared.readers.len() as u64;
    let lock = |name: &str, guard, time| Offer {
        name: name.into(),
        guard,
        added: each(time),
        held: Duration::ZERO,
        memory: Memory::Fixed(shared.bytes + LOCK_BYTES),
    };
    let buffers = |name: &str, added, fixed, count| Offer {
        name: name.into(),
        guard: Guard::Absent,
        added,
        held: Duration::ZERO,
        memory: Memory::Timed(Buffers {
            fixed,
            each: shared.bytes,
            writer: shared.writer,
            readers: shared.readers.clone(),
            count,
        }),
    };
    Object {
        name: format!("r{at}"),
        resource: at,
        offers: vec![
            lock("MSRP", Guard::Spinning, LOCK[0]),
            lock("MPCP", Guard::Suspending, LOCK[1]),
            Offer {
                name: "WF-DBP".into(),
                guard: Guard::Absent,
                added: apart(DBP[0] + DBP[1] * readers, DBP[2]),
                held: Duration::ZERO,
                memory: Memory::Fixed((readers + 2) * shared.bytes + (readers + 1) * INDEX_BYTES),
            },
            buffers("WF-TCCP", apart(TCCP[0], TCCP[1]), INDEX_BYTES, Count::Lifetime),
        ],
    }
}
