// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Rules about documents: their links have targets, their commands exist, their lists are complete.

pub(crate) mod citations;
pub(crate) mod commands;
pub(crate) mod dependencies;
pub(crate) mod links;
#[cfg(test)]
mod recipes;
#[cfg(test)]
mod shown;
#[cfg(test)]
mod variables;

/// The lines of a Markdown text outside of fenced blocks, with their numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fence && !fenced).then_some((number + 1, line))
    })
}

/// A line without its code spans, whose content is not Markdown.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("")
}
