// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Names of a manifest: well formed, and each different.

use std::collections::BTreeSet;

use crate::sketch::{Named, Sketch};

/// `MyTask_2` becomes `my-task-2`; `fallback` replaces an empty result.
fn kebab(name: &str, fallback: &str) -> String {
    let mut out = String::new();
    let mut lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && lower {
            out.push('-');
        }
        lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ if !out.ends_with('-') && !out.is_empty() => out.push('-'),
            _ => {}
        }
        if out.len() >= 48 {
            break;
        }
    }
    let out = out.trim_matches('-');
    match out.starts_with(|c: char| c.is_ascii_lowercase()) {
        true => out.to_owned(),
        false => format!("{fallback}-{out}").trim_end_matches('-').to_owned(),
    }
}

/// The wished name, or else the first free one with a number appended. It takes at most as many tries as there are
/// names.
fn free(wanted: &str, taken: &mut BTreeSet<String>) -> String {
    let mut name = wanted.to_owned();
    for number in 2.. {
        if taken.insert(name.clone()) {
            break;
        }
        name = format!("{wanted}-{number}");
    }
    name
}

fn give<'n>(names: impl Iterator<Item = &'n mut Named>, noun: &str, taken: &mut BTreeSet<String>) {
    for named in names {
        named.ours = free(&kebab(&named.name, noun), taken);
    }
}

/// Gives every item its name in the manifest.
pub(crate) fn give_all(sketch: &mut Sketch) {
    sketch.name = kebab(&sketch.name, "imported");
    let (mut tasks, mut channels) = (BTreeSet::new(), BTreeSet::new());
    give(sketch.tasks.iter_mut().map(|task| &mut task.named), "task", &mut tasks);
    give(sketch.clients.iter_mut(), "client", &mut tasks);
    give(sketch.channels.iter_mut().map(|channel| &mut channel.named), "channel", &mut channels);
    for task in sketch.tasks.iter_mut().filter(|task| task.is_released_from_outside()) {
        let event = free(&format!("{}-event", task.named.ours), &mut channels);
        task.outside = (free(&format!("{event}-source"), &mut tasks), event);
    }
    give(sketch.resources.iter_mut(), "resource", &mut BTreeSet::new());
    give(sketch.services.iter_mut().map(|service| &mut service.named), "service", &mut BTreeSet::new());
    give(sketch.servers.iter_mut().map(|server| &mut server.named), "server", &mut BTreeSet::new());
    give(sketch.chains.iter_mut().map(|chain| &mut chain.named), "chain", &mut BTreeSet::new());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_well_formed() {
        for (name, ours) in [
            ("MyTask_2", "my-task-2"),
            ("aircraft_dynamics", "aircraft-dynamics"),
            ("42", "task-42"),
            ("", "task"),
            ("Ünïté", "n-t"),
            ("--", "task"),
            ("PRE_SFM_gpu_POST", "pre-sfm-gpu-post"),
        ] {
            assert_eq!(kebab(name, "task"), ours, "{name}");
        }
    }

    #[test]
    fn names_differ() {
        let mut names = ["a", "A", "a-2", "a"].map(Named::new);
        give(names.iter_mut(), "task", &mut BTreeSet::new());
        assert_eq!(names.map(|named| named.ours), ["a", "a-2", "a-2-2", "a-3"]);
    }
}
