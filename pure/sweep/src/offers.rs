// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a file's mechanisms cost for an object of n bytes: time for the tasks that access it, and bytes.
//!
//! ```text
//! a lock      n bytes and the lock; each task: time of a request with its release, and the growth of a section
//! dbp         r + 2 buffers for r readers, r + 1 indices; the writer: write + r · write-per-reader + n · per-byte
//! tccp        as many buffers as values can be written while one is read, an index; the writer: write + n · per-byte
//! both        a reader: read + n · per-byte
//! ```

use taut_analysis::multi::Guard;
use taut_model::Mechanism;
use taut_planner::select::{self, BufferCount, Buffers, Offer, OfferMemory, Problem};
use taut_time::Duration;

use crate::generator::{Buffered, Costs, Generator, Lock};
use crate::method::label;
use crate::row::NoRow;
use crate::system::{SharedObject, System};

impl Generator {
    /// The problem of choosing a mechanism for each object. An object's offers are those of [`Generator::offered`],
    /// in their order.
    ///
    /// # Errors
    /// The system is not from this generator, or times or bytes do not fit in 64 bits.
    pub fn problem(&self, row: u64, system: &System) -> Result<Problem, NoRow> {
        let objects: Option<Vec<_>> =
            system.objects.iter().enumerate().map(|(at, object)| self.object(at, object)).collect();
        let objects = objects.ok_or(NoRow::Overflow { row })?;
        Problem::new(&system.set, objects, |_| Guard::Spinning, self.equations)
            .map_err(|why| NoRow::Problem { row, why })
    }

    /// The mechanisms that the file offers.
    pub fn offered(&self) -> Vec<Mechanism> {
        self.mechanisms.iter().map(|(mechanism, _)| *mechanism).collect()
    }

    fn object(&self, at: usize, object: &SharedObject) -> Option<select::ObjectOffers> {
        let offer = |&(mechanism, costs): &(Mechanism, Costs)| match costs {
            Costs::Lock(guard, costs) => lock(mechanism, guard, costs, object),
            Costs::Buffered(costs) => buffered(mechanism, costs, object),
        };
        let offers = self.mechanisms.iter().map(offer).collect::<Option<_>>()?;
        Some(select::ObjectOffers { name: format!("r{at}"), resource: at, offers })
    }
}

fn lock(mechanism: Mechanism, guard: Guard, lock: Lock, object: &SharedObject) -> Option<Offer> {
    let parties = [object.writer].into_iter().chain(object.readers.iter().copied());
    Some(Offer {
        name: label(mechanism),
        guard,
        added: parties.map(|task| (task, Duration::from_ns(lock.time))).collect(),
        held: Duration::from_ns(lock.held),
        memory: OfferMemory::Fixed(object.bytes.checked_add(lock.bytes)?),
    })
}

fn buffered(mechanism: Mechanism, costs: Buffered, object: &SharedObject) -> Option<Offer> {
    let readers = object.readers.len() as u64;
    let copy = costs.per_byte.checked_mul(object.bytes)?;
    let read = Duration::from_ns(costs.read.checked_add(copy)?);
    let by_reader = costs.write_per_reader.checked_mul(readers)?;
    let write = Duration::from_ns(costs.write.checked_add(by_reader)?.checked_add(copy)?);
    let mut added = vec![(object.writer, write)];
    added.extend(object.readers.iter().map(|reader| (*reader, read)));
    let memory = match mechanism {
        Mechanism::Tccp => OfferMemory::Timed(Buffers {
            fixed: costs.index,
            each: object.bytes,
            writer: object.writer,
            readers: object.readers.clone(),
            count: BufferCount::Lifetime,
        }),
        _ => {
            let buffers = object.bytes.checked_mul(readers + 2)?;
            OfferMemory::Fixed(buffers.checked_add(costs.index.checked_mul(readers + 1)?)?)
        }
    };
    Some(Offer { name: label(mechanism), guard: Guard::Absent, added, held: Duration::ZERO, memory })
}
