// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Collects faults, and leaves out those that only follow from a fault that was already reported.
//!
//! Where the manifest could not be read, the draft has a neutral value, and its path in [`Draft::faulty`]. Every rule
//! runs regardless. A fault rests on the values at its labels, and on further ones that the rule names in
//! [`Faults::push_resting_on`]. If one of these values is not the author's, the fault says nothing about the author's
//! text and is left out.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::{Draft, Fault, KeyPath};

/// The faults found, and the values on which no fault may rest.
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

    /// How many faults were found so far.
    pub(super) fn count(&self) -> usize {
        self.found.len()
    }

    /// Adds a fault that rests on more than its labels: on everything at, inside and around these paths.
    pub(super) fn push_resting_on(&mut self, fault: Fault, paths: &[&str]) {
        if !paths.iter().any(|path| self.spoiled(path)) {
            self.push(fault);
        }
    }

    /// Whether the value, or a table around it, is not the author's.
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

    /// The same, or whether something inside it is not.
    pub(super) fn spoiled(&self, path: &str) -> bool {
        if self.faulty.is_empty() {
            return false;
        }
        let inside = format!("{path}.");
        let mut below = self.faulty.range::<str, _>((Bound::Included(inside.as_str()), Bound::Unbounded));
        self.wrong(path) || below.next().is_some_and(|first| first.starts_with(&inside))
    }

    /// Whether some entry of a table is faulty at one of these keys or as a whole, or the table itself is; with no
    /// keys, entries count only as a whole.
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

    /// A key is the author's, even if its value is not.
    fn touches(&self, place: &KeyPath) -> bool {
        match (place.is_key(), place.path().rsplit_once('.')) {
            (false, _) => self.wrong(place.path()),
            (true, Some((parent, _))) => self.wrong(parent),
            (true, None) => false,
        }
    }

    /// The faults found so far.
    pub(super) fn found(&self) -> &[Fault] {
        &self.found
    }

    pub(super) fn into_found(self) -> Vec<Fault> {
        self.found
    }
}
