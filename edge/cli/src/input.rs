// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! From a path on the command line to a model, or to diagnostics on stderr.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use taut_manifest::{Diagnostic, LoadedManifest, SourceText};
use taut_model::{Fault, Model, Severity};
use taut_plan::{Input, Overrides, Plan, PlanTextError, digest};
use taut_planner::Planned;

use crate::arguments::{Manifest, Screen};
use crate::outcome::Failure;
use crate::say::{err, errln};

/// A manifest that was found, with its overlays.
#[derive(Debug)]
pub(crate) struct Files {
    /// The manifest's folder.
    pub(crate) folder: PathBuf,
    /// Where its plan is.
    pub(crate) lock: PathBuf,
    pub(crate) manifest: PathBuf,
    overlays: Vec<PathBuf>,
}

/// A manifest and its overlays, read.
#[derive(Debug)]
pub(crate) struct Text {
    loaded: LoadedManifest,
    /// The manifest, then the overlays.
    sources: Vec<SourceText>,
    inputs: Vec<Input>,
    /// Requests beside the manifest: those of the lock, if the lock was made from the same inputs.
    overrides: Overrides,
}

impl Files {
    pub(crate) fn find(manifest: &Manifest) -> Result<Self, Failure> {
        Self::at(&manifest.path, &manifest.overlay)
    }

    pub(crate) fn at(path: &Path, overlays: &[PathBuf]) -> Result<Self, Failure> {
        let found = std::fs::metadata(path).map_err(|error| unreachable(path, &error))?;
        let manifest = if found.is_dir() { path.join("taut.toml") } else { path.to_owned() };
        if found.is_dir() {
            // Distinguishes a missing manifest from a folder that this user may not read.
            let inside = std::fs::metadata(&manifest).map_err(|error| match error.kind() {
                ErrorKind::NotFound => Failure::Usage(format!(
                    "{} has no taut.toml: go to the folder of an application or name it, or make one with `taut new`",
                    path.display()
                )),
                _ => unreachable(&manifest, &error),
            })?;
            regular(&manifest, &inside)?;
        } else {
            regular(path, &found)?;
        }
        let folder = match manifest.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let mut name = String::from("taut");
        for overlay in overlays {
            name.push('+');
            name.push_str(&overlay.file_stem().unwrap_or_default().to_string_lossy());
        }
        let lock = folder.join(name + ".lock");
        Ok(Self { folder, lock, manifest, overlays: overlays.to_vec() })
    }

    /// The manifest, then the overlays.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.manifest).chain(&self.overlays)
    }

    pub(crate) fn load(&self) -> Result<Text, Failure> {
        let mut sources = Vec::new();
        let mut inputs = Vec::new();
        for path in self.paths() {
            let bytes = read(path)?;
            inputs.push(Input { path: self.relative(path), hash: digest(&bytes) });
            let text = String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                Failure::Usage(format!("{} is not UTF-8 text: byte {at}", path.display()))
            })?;
            sources.push(SourceText { name: path.display().to_string(), text });
        }
        let Some((manifest, overlays)) = sources.split_first() else {
            return Err(Failure::Internal("no manifest was read".to_owned()));
        };
        let loaded = taut_manifest::load(manifest, overlays);
        // Requests in the lock still hold, even if somebody edited the lock; everything else is decided anew.
        let lock = self.lock_text().and_then(|text| match Plan::from_lock(&text) {
            Ok(plan) => Some(plan),
            Err(PlanTextError::Edited(plan)) => Some(*plan),
            Err(_) => None,
        });
        let overrides =
            lock.filter(|lock| lock.inputs == inputs).map(|lock| lock.overrides).unwrap_or_default();
        Ok(Text { loaded, sources, inputs, overrides })
    }

    /// The content of the lock file, if it is text.
    pub(crate) fn lock_text(&self) -> Option<String> {
        read(&self.lock).ok().and_then(|bytes| String::from_utf8(bytes).ok())
    }

    /// A path as the lock names it: relative to the lock's folder if it lies below, else absolute.
    fn relative(&self, path: &Path) -> String {
        if path == self.manifest {
            return path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
        let (Ok(folder), Ok(path)) = (self.folder.canonicalize(), path.canonicalize()) else {
            return path.display().to_string();
        };
        path.strip_prefix(&folder).unwrap_or(&path).display().to_string()
    }
}

/// Why a path cannot be reached: a usage error if nothing is there, an environment error if something is there but
/// this user or machine cannot reach it.
pub(crate) fn unreachable(path: &Path, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::Usage(format!("{} does not exist", path.display())),
        ErrorKind::NotADirectory => Failure::Usage(format!(
            "{} does not exist: a component of the path is a file, not a folder",
            path.display()
        )),
        ErrorKind::PermissionDenied => {
            Failure::Environment(format!("cannot access {}: permission denied", path.display()))
        }
        _ => Failure::Environment(format!("cannot access {}: {error}", path.display())),
    }
}

/// Reads a file; refuses devices, pipes and sockets, which have no end or may never have a writer.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    regular(path, &std::fs::metadata(path).map_err(|error| unreachable(path, &error))?)?;
    std::fs::read(path).map_err(Failure::read(path))
}

/// Refuses devices, pipes and sockets, which have no end and no size: a manifest is a file.
fn regular(path: &Path, found: &std::fs::Metadata) -> Result<(), Failure> {
    let kind = found.file_type();
    if kind.is_file() {
        return Ok(());
    }
    let what = if kind.is_dir() { "a folder" } else { "a device, a pipe or a socket" };
    Err(Failure::Usage(format!("{} is {what}, not a file", path.display())))
}

impl Text {
    /// The model; `None` if the manifest has faults, which are among the diagnostics.
    pub(crate) fn model(&self) -> Option<&Model> {
        self.loaded.model.as_ref()
    }

    /// The Rust text of the manifest, which its package finds by these names; `None` if the manifest has faults.
    pub(crate) fn rust(&self, names: &[String]) -> Option<String> {
        let sources = names
            .iter()
            .zip(&self.sources)
            .map(|(name, source)| SourceText { name: name.clone(), ..source.clone() });
        taut_generate::rust(&self.loaded, &sources.collect::<Vec<_>>())
    }

    /// Plans the model.
    ///
    /// # Errors
    /// A request that cannot be met.
    pub(crate) fn plan(&self, model: &Model) -> Result<Planned, Failure> {
        Planned::make_with(model, self.inputs.clone(), self.overrides.clone())
            .map_err(|error| Failure::Usage(error.to_string()))
    }

    /// Plans the model, if there is one.
    pub(crate) fn planned(&self) -> Result<Option<Planned>, Failure> {
        self.model().map(|model| self.plan(model)).transpose()
    }

    /// The requests beside the manifest.
    pub(crate) fn overrides(&self) -> &Overrides {
        &self.overrides
    }

    /// Replaces the requests beside the manifest.
    pub(crate) fn with_overrides(self, overrides: Overrides) -> Self {
        Self { overrides, ..self }
    }

    /// Shows diagnostics on stderr.
    pub(crate) fn show(&self, planned: Option<&Planned>, screen: &Screen) {
        let diagnostics = self.diagnostics(planned);
        let sources: Vec<&SourceText> = self.sources.iter().collect();
        err!("{}", taut_manifest::render(&diagnostics, &sources, screen.color_err, screen.width));
        let count =
            |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        if errors + warnings > 0 {
            let plural = |number: usize, what: &str| match number {
                1 => format!("1 {what}"),
                number => format!("{number} {what}s"),
            };
            errln!("{}, {}", plural(errors, "error"), plural(warnings, "warning"));
        }
    }

    /// Shows faults that other parts of the command found in the manifest, on stderr.
    pub(crate) fn report(&self, faults: &[Fault], screen: &Screen) {
        let sources: Vec<&SourceText> = self.sources.iter().collect();
        let diagnostics = self.loaded.diagnose(faults);
        err!("{}", taut_manifest::render(&diagnostics, &sources, screen.color_err, screen.width));
    }

    /// The same faults, as JSON.
    pub(crate) fn json_of(&self, faults: &[Fault]) -> serde_json::Value {
        let sources: Vec<&SourceText> = self.sources.iter().collect();
        taut_manifest::to_json(&self.loaded.diagnose(faults), &sources)
    }

    /// All diagnostics, as JSON.
    pub(crate) fn json(&self, planned: Option<&Planned>) -> serde_json::Value {
        let sources: Vec<&SourceText> = self.sources.iter().collect();
        taut_manifest::to_json(&self.diagnostics(planned), &sources)
    }

    /// The diagnostics of the manifest, then those of its plan.
    fn diagnostics(&self, planned: Option<&Planned>) -> Vec<Diagnostic> {
        let mut diagnostics = self.loaded.diagnostics.clone();
        if let Some(planned) = planned {
            diagnostics.extend(self.loaded.diagnose(&planned.faults));
        }
        diagnostics
    }
}
