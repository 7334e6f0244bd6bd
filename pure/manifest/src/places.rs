// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::collections::HashMap;
use std::ops::Range;

use taut_model::Place;

use crate::tree::{Node, Value};

/// Where everything stands: from the path of a key to a stretch of a file.
#[derive(Clone, Debug, Default)]
pub struct PlaceMap {
    spots: HashMap<String, Spot>,
}

#[derive(Clone, Debug)]
struct Spot {
    file: usize,
    key: Range<usize>,
    value: Range<usize>,
}

impl PlaceMap {
    pub(crate) fn new(root: &Node<'_>) -> Self {
        let mut map = Self::default();
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

    /// The file's position (0 is the manifest, then the overlays in order) and the range of bytes in it. What does
    /// not stand there, such as a default, is where its nearest parent is; the manifest's start if it has none.
    pub fn resolve(&self, place: &Place) -> (usize, Range<usize>) {
        let mut path = place.path();
        let mut key = place.is_key();
        loop {
            if let Some(spot) = self.spots.get(path) {
                return (spot.file, if key { spot.key.clone() } else { spot.value.clone() });
            }
            // A parent's value says more than its key: `[tasks.output]` stands for the whole task.
            key = false;
            path = match path.rsplit_once('.') {
                Some((parent, _)) => parent,
                None => return (0, 0..0),
            };
        }
    }
}
