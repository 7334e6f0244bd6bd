// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Resources of several cores are never held with another.

use taut_model::{Fault, Model, Place, Segment, codes};

use crate::seats::Seats;

/// Reports every section of a resource of several cores inside or around another; whether there is one.
pub(super) fn refuse(model: &Model, seats: &Seats<'_>, global: &[bool], faults: &mut Vec<Fault>) -> bool {
    let before = faults.len();
    for seat in &seats.seats {
        let path = format!("tasks.{}.segments", seat.name);
        Walk { model, seats, global, task: seat.name, faults }.below(&seat.task.segments, &path, None);
    }
    faults.len() > before
}

struct Walk<'w, 'm> {
    model: &'w Model,
    seats: &'w Seats<'m>,
    global: &'w [bool],
    task: &'w str,
    faults: &'w mut Vec<Fault>,
}

impl Walk<'_, '_> {
    /// `held`: the innermost resource that is held, and where.
    fn below(&mut self, segments: &[Segment], path: &str, held: Option<(usize, &Place)>) {
        for (at, segment) in segments.iter().enumerate() {
            let Segment::Section { resource, inside } = segment else { continue };
            let place = Place::value(format!("{path}.{at}.hold"));
            let around = held.filter(|(outer, _)| self.global[*outer] || self.global[*resource]);
            if let Some((outer, first)) = around {
                self.fault(outer, first, *resource, &place);
            }
            self.below(inside, &format!("{path}.{at}.segments"), Some((*resource, &place)));
        }
    }

    fn fault(&mut self, outer: usize, first: &Place, inner: usize, place: &Place) {
        let name = |at: usize| &self.model.resources()[at].name;
        let message =
            format!("task `{}` locks `{}` while it holds `{}`", self.task, name(inner), name(outer));
        let mut fault = Fault::error(codes::NESTED_GLOBAL, message, place.clone(), "locked here")
            .also(first.clone(), "held from here on");
        let global = if self.global[inner] { inner } else { outer };
        for seat in &self.seats.seats {
            if seat.task.sections.iter().any(|section| section.resource.index() == global) {
                let cpu = self.model.platform().cores[seat.core];
                let text = format!("uses `{}` on core {cpu}", name(global));
                fault = fault.also(Place::key(format!("tasks.{}", seat.name)), text);
            }
        }
        self.faults.push(
            fault
                .note(
                    "who waits for another core and holds something makes others wait, without a bound here",
                )
                .help("give the one back first, or let the users of both be on one core"),
        );
    }
}
