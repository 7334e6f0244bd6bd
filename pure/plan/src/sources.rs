// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! A state with several sources as these make it up: for people, and for the runtime.

use serde::Serialize;
use taut_policy::{Mechanism, STAMP_BYTES};

use crate::{ChannelPlan, Plan};

/// A state with several sources, of which its readers get the newest value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourcedState<'p> {
    /// Its name.
    pub name: &'p str,
    /// The readers.
    pub readers: Vec<&'p str>,
    /// Bytes that a read copies of each source at least: a value with its stamp.
    pub copied: u32,
    /// The sources; of two values of one instant, that of the earlier source is the newer.
    pub sources: Vec<SourceView<'p>>,
}

/// A source of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceView<'p> {
    /// The party that writes.
    pub name: &'p str,
    /// Whether that is a client.
    pub client: bool,
    /// What carries its values.
    pub mechanism: Mechanism,
    /// Why.
    pub reason: &'p str,
    /// Bytes of its object.
    pub bytes: u64,
}

impl Plan {
    /// The states with several sources, in the order of their first sources.
    pub fn sourced_states(&self) -> Vec<SourcedState<'_>> {
        let firsts = self.channels.iter().filter_map(|channel| channel.source.as_ref());
        let firsts = firsts.filter(|source| source.place == 0);
        firsts.filter_map(|source| self.sourced_state(&source.state)).collect()
    }

    /// The sources of a state that has several, each with its position among the channels, by their places; empty if there is
    /// no such state.
    pub fn sources(&self, state: &str) -> Vec<(usize, &ChannelPlan)> {
        let of = |channel: &ChannelPlan| channel.source.as_ref().is_some_and(|source| source.state == state);
        let mut all: Vec<_> = self.channels.iter().enumerate().filter(|(_, channel)| of(channel)).collect();
        all.sort_by_key(|(_, channel)| channel.source.as_ref().map(|source| source.place));
        all
    }

    /// The state of this name, if it has several sources.
    pub fn sourced_state(&self, name: &str) -> Option<SourcedState<'_>> {
        let all = self.sources(name);
        let (_, first) = all.first()?;
        let sources = all.iter().map(|&(_, channel)| SourceView {
            name: &channel.writer.name,
            client: channel.writer.client,
            mechanism: channel.mechanism,
            reason: &channel.reason,
            bytes: channel.region.size,
        });
        Some(SourcedState {
            name: &first.source.as_ref()?.state,
            readers: first.readers.iter().map(|reader| reader.name.as_str()).collect(),
            copied: first.size.saturating_add(STAMP_BYTES),
            sources: sources.collect(),
        })
    }
}

impl SourcedState<'_> {
    /// A line about the state, and one about each source.
    pub fn lines(&self) -> Vec<String> {
        let (name, readers, count) = (self.name, self.readers.join(", "), self.sources.len());
        let head = format!(
            "state {name} -> {readers}: the newest of {count} sources; a read copies {} bytes of each",
            self.copied
        );
        let width = self.sources.iter().map(|source| source.name.len()).max().unwrap_or(0);
        let source = |of: &SourceView<'_>| {
            let paper = of.mechanism.paper_name();
            let client = if of.client { ", a client" } else { "" };
            format!("  {:<width$}  {paper}, {} bytes{client}", of.name, of.bytes)
        };
        std::iter::once(head).chain(self.sources.iter().map(source)).collect()
    }
}
