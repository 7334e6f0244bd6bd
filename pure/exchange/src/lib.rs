// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Converts other tools' task sets to `taut.toml`, and a model to their languages: text in, text out.
//!
//! [`import()`] reads a task set of another tool and writes a manifest. It reports item by item, with the place in
//! the source, what a manifest cannot say and what it had to guess. A manifest that it wrote loads without error:
//! what no manifest can hold, such as a task that takes longer than its deadline, is left out and reported.
//!
//! ```
//! use taut_exchange::{Options, import};
//!
//! let text = "<taskset><task id='1' period='5000' wcet='1000'/></taskset>";
//! let imported = import(text, &Options::default()).unwrap();
//! assert!(imported.manifest.contains("arrival = { periodic = \"5ms\" }"));
//! ```
#![forbid(unsafe_code)]

mod from;
mod into;
mod kind;
mod names;
mod number;
mod place;
mod settle;
mod sketch;
mod unread;
mod write;
mod xml;

use std::collections::BTreeMap;
use std::fmt;

use taut_model::{Model, TaskSet};
use taut_time::Duration;

pub use place::TextPosition;

/// A language of task sets that [`import()`] reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFormat {
    /// Cheddar, XML version 3.
    Cheddar,
    /// SchedCAT, XML.
    SchedCat,
    /// AMALTHEA, of APP4MC.
    Amalthea,
    /// MAST, as text or XML.
    Mast,
    /// The manifest of an RTDroid application.
    RtDroid,
}

impl SourceFormat {
    /// All languages, with their names.
    pub const ALL: [(&'static str, Self); 5] = [
        ("cheddar", Self::Cheddar),
        ("schedcat", Self::SchedCat),
        ("amalthea", Self::Amalthea),
        ("mast", Self::Mast),
        ("rtdroid", Self::RtDroid),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].0
    }

    /// Its name for display.
    pub fn title(self) -> &'static str {
        match self {
            Self::Cheddar => "Cheddar",
            Self::SchedCat => "SchedCAT",
            Self::Amalthea => "AMALTHEA",
            Self::Mast => "MAST",
            Self::RtDroid => "RTDroid",
        }
    }

    /// How long a time of 1 is by default, where the language has no units.
    pub fn unit(self) -> Duration {
        match self {
            Self::Cheddar => Duration::from_ms(1),
            Self::SchedCat | Self::Mast => Duration::from_us(1),
            Self::Amalthea | Self::RtDroid => Duration::from_ns(1),
        }
    }

    /// The language that a text looks like.
    pub fn guess(text: &str) -> Option<Self> {
        kind::guess(text)
    }
}

/// How to import.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The language; `None` guesses it.
    pub source: Option<SourceFormat>,
    /// How long a time of 1 is, for a language without units; `None` takes the unit that a comment written by
    /// [`export()`] gives, or else [`SourceFormat::unit`].
    pub unit: Option<Duration>,
    /// The application's name, if the source has none; the import makes it well formed.
    pub name: String,
}

/// A language of task sets that [`export()`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// MAST, as text.
    Mast,
    /// SimSo, XML.
    SimSo,
    /// rt-app, JSON.
    RtApp,
    /// Cheddar, XML version 3.
    Cheddar,
}

impl Target {
    /// All languages, with their names.
    pub const ALL: [(&'static str, Self); 4] =
        [("mast", Self::Mast), ("simso", Self::SimSo), ("rt-app", Self::RtApp), ("cheddar", Self::Cheddar)];
}

/// How to export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportOptions {
    /// The language.
    pub target: Target,
    /// Exports the tasks of this core only, by its position in the set; `None` exports all.
    pub core: Option<usize>,
    /// How long the other tool runs the tasks, where its files say so; `None` means 20 times the longest period
    /// (SimSo), 10 s (rt-app).
    pub duration: Option<Duration>,
}

impl ExportOptions {
    /// All cores, with the default duration of the language.
    pub fn new(target: Target) -> Self {
        Self { target, core: None, duration: None }
    }
}

/// A model in another tool's language, and what could not be carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The text.
    pub text: String,
    /// What could not be carried over as it is, by its path in the manifest.
    pub lost: Vec<ConversionLoss>,
}

/// Writes the task set of a model, with the cores and priorities of its plan, in another tool's language.
///
/// Costs include margins and context switches, and jitter includes the release latency, as in the set.
pub fn export(model: &Model, set: &TaskSet, target: Target) -> Exported {
    export_with(model, set, &ExportOptions::new(target))
}

/// As [`export()`], with options. If the set does not have the core, no task is exported.
pub fn export_with(model: &Model, set: &TaskSet, options: &ExportOptions) -> Exported {
    let alone = options.core.map(|core| into::alone(set, core));
    let mut export = into::Export::new(model, alone.as_ref().unwrap_or(set), options);
    match options.target {
        Target::Mast => into::mast::write(&mut export),
        Target::SimSo => into::simso::write(&mut export),
        Target::Cheddar => into::cheddar::write(&mut export),
        Target::RtApp => into::rt_app::write(&mut export),
    }
    Exported { text: export.text, lost: export.lost }
}

/// A manifest, and what could not be carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The language of the source.
    pub source: SourceFormat,
    /// The text of a `taut.toml`.
    pub manifest: String,
    /// What could not be carried over as it is, by place.
    pub lost: Vec<ConversionLoss>,
}

/// Something that could not be carried over, or not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionLoss {
    /// Its place in the source; `None` if it has none.
    pub at: Option<TextPosition>,
    /// In an export: its path in the manifest, such as `tasks.servo.jitter`. If that key is not in the manifest, a
    /// prefix of the path is.
    pub place: Option<String>,
    /// What it is, and what became of it: one line, lower case, no full stop.
    pub what: String,
}

impl fmt::Display for ConversionLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.at, &self.place) {
            (Some(at), _) => write!(f, "{at}: {}", self.what),
            (None, Some(place)) => write!(f, "{place}: {}", self.what),
            (None, None) => f.write_str(&self.what),
        }
    }
}

/// Why the import could read nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Where; `None` if it concerns the text as a whole.
    pub at: Option<TextPosition>,
    /// Why: one line, lower case, no full stop.
    pub why: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{at}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for Unreadable {}

/// Reads a task set of another tool and writes it as a manifest.
///
/// Takes any text; time and memory grow with its length.
///
/// # Errors
/// If the text is not in the language, or has no task that a manifest can hold.
pub fn import(text: &str, options: &Options) -> Result<Imported, Unreadable> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = kind::of(text, options.source)?;
    let (unit, reported) = match (options.unit, place::unit_note(text)) {
        (Some(unit), _) | (None, Some(unit)) => (unit, true),
        (None, None) => (source.unit(), false),
    };
    let mut sketch = match source {
        SourceFormat::Cheddar => from::cheddar::read(text, unit)?,
        SourceFormat::Amalthea => from::amalthea::read(text)?,
        SourceFormat::RtDroid => from::rtdroid::read(text)?,
        SourceFormat::Mast => from::mast::read(text, unit)?,
        SourceFormat::SchedCat => from::schedcat::read(text, unit)?,
    };
    if sketch.name.is_empty() {
        sketch.name.clone_from(&options.name);
    }
    if !reported && sketch.unitless {
        sketch.lose(None, format!("its times have no unit: 1 is taken as {unit}; `--unit` says otherwise"));
    }
    settle::settle(&mut sketch)?;
    let manifest = write::manifest(&sketch, source);
    let mut lost = sketch.lost;
    lost.sort_by_key(|lost| lost.at);
    merge(&mut lost);
    Ok(Imported { source, manifest, lost })
}

/// Merges entries that say the same into one, at the place of the first of them; they are sorted by place.
fn merge(lost: &mut Vec<ConversionLoss>) {
    let mut places = BTreeMap::<String, Vec<TextPosition>>::new();
    for ConversionLoss { at, what, .. } in &*lost {
        places.entry(what.clone()).or_default().extend(at);
    }
    places.values_mut().for_each(Vec::dedup);
    let first =
        |lost: &ConversionLoss| places.get(&lost.what).and_then(|places| places.first()) == lost.at.as_ref();
    lost.dedup();
    lost.retain(first);
    for ConversionLoss { what, .. } in lost {
        if let Some([_, more @ .., last]) = places.get(what).map(Vec::as_slice) {
            *what = format!("{what}; and {} more like it, up to {last}", more.len() + 1);
        }
    }
}
