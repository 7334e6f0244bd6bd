// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Refuses sections in which a resource of several cores is held together with another.

use taut_model::{Fault, KeyPath, Model, Segment, codes};

use crate::placement::Placements;

/// Reports every section of a resource of several cores inside or around another; returns whether there is one.
pub(crate) fn refuse(
    model: &Model,
    placements: &Placements<'_>,
    global: &[bool],
    faults: &mut Vec<Fault>,
) -> bool {
    let before = faults.len();
    for placement in &placements.placements {
        let path = format!("tasks.{}.segments", placement.name);
        Walk { model, placements, global, task: placement.name, faults }.below(
            &placement.task.segments,
            &path,
            None,
        );
    }
    faults.len() > before
}

struct Walk<'w, 'm> {
    model: &'w Model,
    placements: &'w Placements<'m>,
    global: &'w [bool],
    task: &'w str,
    faults: &'w mut Vec<Fault>,
}

impl Walk<'_, '_> {
    /// `held` is the innermost resource that the job holds, and the place where it locks it.
    fn below(&mut self, segments: &[Segment], path: &str, held: Option<(usize, &KeyPath)>) {
        for (at, segment) in segments.iter().enumerate() {
            let Segment::Section { resource, inside } = segment else { continue };
            let place = KeyPath::value(format!("{path}.{at}.hold"));
            let around = held.filter(|(outer, _)| self.global[*outer] || self.global[*resource]);
            if let Some((outer, first)) = around {
                self.fault(outer, first, *resource, &place);
            }
            self.below(inside, &format!("{path}.{at}.segments"), Some((*resource, &place)));
        }
    }

    fn fault(&mut self, outer: usize, first: &KeyPath, inner: usize, place: &KeyPath) {
        let name = |at: usize| &self.model.resources()[at].name;
        let message =
            format!("task `{}` locks `{}` while it holds `{}`", self.task, name(inner), name(outer));
        let mut fault = Fault::error(codes::NESTED_GLOBAL, message, place.clone(), "locked here")
            .also(first.clone(), "held from here on");
        let global = if self.global[inner] { inner } else { outer };
        for placement in &self.placements.placements {
            if placement.task.sections.iter().any(|section| section.resource.index() == global) {
                let cpu = self.model.platform().cores[placement.core];
                let text = format!("uses `{}` on core {cpu}", name(global));
                fault = fault.also(KeyPath::key(format!("tasks.{}", placement.name)), text);
            }
        }
        self.faults.push(
            fault
                .note(
                    "a job that waits for another core while it holds a resource delays other jobs, and this analysis \
                     has no bound for that",
                )
                .help("release the first resource before, or place the users of both on one core"),
        );
    }
}
