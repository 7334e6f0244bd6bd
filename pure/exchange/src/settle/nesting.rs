// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Nested critical sections.

use std::collections::BTreeSet;

use super::CORES_MAX;
use crate::sketch::{Segment, Sketch};

/// Keeps nested sections only for resources that one core uses.
pub(super) fn nesting(sketch: &mut Sketch) {
    let mut cores = vec![BTreeSet::new(); sketch.resources.len()];
    let one = sketch.cores.len() == 1;
    for (at, task) in sketch.tasks.iter().enumerate() {
        // A task without a core may run anywhere, so its resources may be used anywhere.
        let core = if one { 0 } else { task.core.unwrap_or(CORES_MAX + at) };
        for resource in task.uses() {
            if let Some(cores) = cores.get_mut(resource) {
                cores.insert(core);
            }
        }
    }
    let global: Vec<bool> = cores.iter().map(|cores| cores.len() > 1).collect();
    let mut lost = Vec::new();
    for task in &mut sketch.tasks {
        let mut flattened = false;
        task.segments = flat(&task.segments, &mut Vec::new(), &global, &mut flattened);
        if flattened {
            let name = &task.named.name;
            lost.push((task.at, format!(
                "task `{name}` locks inside of a critical section what it holds, or what several cores use: only the \
                 outer section is carried over"
            )));
        }
    }
    lost.into_iter().for_each(|(at, what)| sketch.lose(at, what));
}

fn flat(segments: &[Segment], held: &mut Vec<usize>, global: &[bool], flattened: &mut bool) -> Vec<Segment> {
    let mut all = Vec::with_capacity(segments.len());
    for segment in segments {
        match segment {
            Segment::Run(time) if time.is_zero() => {}
            Segment::Run(time) => all.push(Segment::Run(*time)),
            Segment::Hold(resource, inside) => {
                let is = |at: &usize| global.get(*at).copied().unwrap_or(true);
                let again = held.contains(resource);
                if again || !held.is_empty() && (is(resource) || held.iter().any(is)) {
                    *flattened = true;
                    all.extend(flat(inside, held, global, flattened));
                } else {
                    held.push(*resource);
                    let inside = flat(inside, held, global, flattened);
                    held.pop();
                    if !inside.is_empty() {
                        all.push(Segment::Hold(*resource, inside));
                    }
                }
            }
        }
    }
    all
}
