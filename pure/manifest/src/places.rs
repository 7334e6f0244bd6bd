// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::HashMap;
use std::ops::Range;

use taut_model::KeyPath;

use crate::tree::{Node, Value};

/// The place of every key and value: from the path of a key to a range of a file.
#[derive(Clone, Debug, Default)]
pub struct PlaceMap {
    spots: HashMap<String, Spot>,
    /// The place for missing tables: the end of the manifest.
    end: usize,
}

/// The result of a search.
pub(crate) struct Found {
    pub(crate) file: usize,
    pub(crate) range: Range<usize>,
    /// Whether neither the place nor a parent of it is written.
    pub(crate) is_missing: bool,
}

#[derive(Clone, Debug)]
struct Spot {
    file: usize,
    key: Range<usize>,
    value: Range<usize>,
}

impl PlaceMap {
    /// The places in a manifest's tree and text.
    pub(crate) fn new(root: &Node<'_>, text: &str) -> Self {
        let last = text.trim_end().len();
        let end = text[last..].find('\n').map_or(text.len(), |newline| last + newline + 1);
        let mut map = Self { spots: HashMap::new(), end };
        map.add(String::new(), root);
        map
    }

    fn add(&mut self, path: String, node: &Node<'_>) {
        let child = |name: &dyn std::fmt::Display| match path.as_str() {
            "" => name.to_string(),
            path => format!("{path}.{name}"),
        };
        match &node.value {
            Value::Table(entries) => entries.iter().for_each(|(name, node)| self.add(child(name), node)),
            Value::List(items) => items.iter().enumerate().for_each(|(at, node)| self.add(child(&at), node)),
            _ => {}
        }
        let spot = Spot { file: node.file, key: node.key.clone(), value: node.span.clone() };
        self.spots.insert(path, spot);
    }

    /// The file's position (0 is the manifest, then the overlays in order) and the range of bytes in it. A value that
    /// is not written, such as a default, has the place of its nearest parent. Without a parent it has the place
    /// after the manifest's last line, where its table can be written.
    pub fn resolve(&self, place: &KeyPath) -> (usize, Range<usize>) {
        let Found { file, range, .. } = self.find(place);
        (file, range)
    }

    pub(crate) fn find(&self, place: &KeyPath) -> Found {
        let mut path = place.path();
        let mut key = place.is_key();
        loop {
            if let Some(spot) = self.spots.get(path) {
                let range = if key { spot.key.clone() } else { spot.value.clone() };
                return Found { file: spot.file, range, is_missing: false };
            }
            // A parent's value says more than its key: `[tasks.output]` stands for the whole task.
            key = false;
            path = match path.rsplit_once('.') {
                Some((parent, _)) => parent,
                None => return Found { file: 0, range: self.end..self.end, is_missing: true },
            };
        }
    }
}
