// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Collects faults, and leaves out those that only follow from something that was reported already.
//!
//! What could not be read stands in the draft as some neutral value, and its path in [`Draft::faulty`]. Every rule
//! runs, whatever is faulty. A fault says what it rests on by its labels, and by [`Faults::push_resting_on`] where
//! that is more than it shows: if one of these is not the author's value, the fault says nothing about the author.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::{Draft, Fault, Place};

/// Faults that were found, and what they may not rest on.
pub(super) struct Faults<'d> {
    faulty: &'d BTreeSet<String>,
    found: Vec<Fault>,
}

impl<'d> Faults<'d> {
    pub(super) fn new(draft: &'d Draft) -> Self {
        Self { faulty: &draft.faulty, found: Vec::new() }
    }

    /// Adds a fault, unless one of its labels is at a faulty value.
    pub(super) fn push(&mut self, fault: Fault) {
        let labels = std::iter::once(&fault.primary).chain(&fault.secondary);
        if self.faulty.is_empty() || !labels.into_iter().any(|label| self.touches(&label.place)) {
            self.found.push(fault);
        }
    }

    /// Adds a fault that rests on more than its labels: on everything at, in and around these paths.
    pub(super) fn push_resting_on(&mut self, fault: Fault, paths: &[&str]) {
        if !paths.iter().any(|path| self.spoiled(path)) {
            self.push(fault);
        }
    }

    /// Whether a value, or a table that it stands in, is not the author's.
    pub(super) fn wrong(&self, path: &str) -> bool {
        let mut path = path;
        loop {
            if self.faulty.contains(path) {
                return true;
            }
            match path.rsplit_once('.') {
                Some((parent, _)) => path = parent,
                None => return false,
            }
        }
    }

    /// The same, or something in it.
    pub(super) fn spoiled(&self, path: &str) -> bool {
        if self.faulty.is_empty() {
            return false;
        }
        let inside = format!("{path}.");
        let mut below = self.faulty.range::<str, _>((Bound::Included(inside.as_str()), Bound::Unbounded));
        self.wrong(path) || below.next().is_some_and(|first| first.starts_with(&inside))
    }

    /// Whether some entry of a table is faulty at one of its keys or as a whole; with no keys, the table itself.
    pub(super) fn any_wrong(&self, table: &str, keys: &[&str]) -> bool {
        let inside = format!("{table}.");
        let below = self.faulty.range::<str, _>((Bound::Included(inside.as_str()), Bound::Unbounded));
        let mut entries = below.map_while(|path| path.strip_prefix(&inside));
        self.faulty.contains(table)
            || entries.any(|path| match path.split_once('.') {
                None => true,
                Some((_, rest)) => keys.contains(&rest.split('.').next().unwrap_or_default()),
            })
    }

    /// A key is what it is, whatever its value.
    fn touches(&self, place: &Place) -> bool {
        match (place.is_key(), place.path().rsplit_once('.')) {
            (false, _) => self.wrong(place.path()),
            (true, Some((parent, _))) => self.wrong(parent),
            (true, None) => false,
        }
    }

    /// What was found so far.
    pub(super) fn found(&self) -> &[Fault] {
        &self.found
    }

    pub(super) fn into_found(self) -> Vec<Fault> {
        self.found
    }
}
