// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Manifests, plans, and other tools' task sets.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use taut_exchange::{Options, Target};
use taut_manifest::{Diagnostic, LoadedManifest, SourceText};
use taut_model::{Model, Severity};
use taut_plan::Input;
use taut_planner::Planned;

use crate::set::{Set, faults};
use crate::work::{free, time};

/// Adds the types and functions of this file to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Read>()?;
    module.add_class::<Made>()?;
    module.add_function(wrap_pyfunction!(import_text, module)?)?;
    module.add_function(wrap_pyfunction!(page, module)?)
}

/// A manifest with its overlays, read.
#[pyclass(name = "Read", module = "taut._taut", frozen)]
#[derive(Debug)]
struct Read {
    loaded: LoadedManifest,
    sources: Vec<SourceText>,
    inputs: Vec<Input>,
}

/// A plan, with its diagnostics.
#[pyclass(name = "Made", module = "taut._taut", frozen)]
#[derive(Debug)]
struct Made {
    planned: Planned,
    /// Those of the manifest, then those of the plan.
    diagnostics: Vec<Diagnostic>,
}

impl Read {
    fn model(&self) -> PyResult<&Model> {
        self.loaded.model.as_ref().ok_or_else(|| PyValueError::new_err("the manifest has faults"))
    }

    fn of<'a>(&'a self, made: Option<&'a Bound<'_, Made>>) -> &'a [Diagnostic] {
        made.map_or(&self.loaded.diagnostics, |made| &made.get().diagnostics)
    }

    fn sources(&self) -> Vec<&SourceText> {
        self.sources.iter().collect()
    }
}

#[pymethods]
impl Read {
    /// Texts, the manifest first, each with the name that messages use and the path that a plan's file uses.
    #[new]
    fn new(py: Python<'_>, texts: Vec<(String, String, String)>) -> PyResult<Self> {
        let input = |(_, path, text): &(String, String, String)| Input {
            path: path.clone(),
            hash: taut_plan::digest(text.as_bytes()),
        };
        let inputs = texts.iter().map(input).collect();
        let sources: Vec<_> = texts.into_iter().map(|(name, _, text)| SourceText { name, text }).collect();
        let Some((manifest, overlays)) = sources.split_first() else {
            return Err(PyValueError::new_err("no text"));
        };
        let loaded = free(py, || taut_manifest::load(manifest, overlays))?;
        Ok(Self { loaded, sources, inputs })
    }

    /// Whether it has a model.
    fn is_valid(&self) -> bool {
        self.loaded.model.is_some()
    }

    /// Diagnostics as JSON, with those of a plan.
    #[pyo3(signature = (made=None))]
    fn diagnostics(&self, made: Option<&Bound<'_, Made>>) -> String {
        taut_manifest::to_json(self.of(made), &self.sources()).to_string()
    }

    /// Diagnostics as the command shows them.
    #[pyo3(signature = (made, color, width))]
    fn render(
        &self,
        py: Python<'_>,
        made: Option<&Bound<'_, Made>>,
        color: bool,
        width: usize,
    ) -> PyResult<String> {
        let (diagnostics, sources) = (self.of(made), self.sources());
        free(py, || taut_manifest::render(diagnostics, &sources, color, width))
    }

    /// The application, and names of tasks, channels, chains, resources, clients; CPUs.
    fn names(&self) -> PyResult<(String, [Vec<String>; 5], Vec<u16>)> {
        let model = self.model()?;
        let names = [
            model.tasks().iter().map(|it| it.name.clone()).collect(),
            model.channels().iter().map(|it| it.name.clone()).collect(),
            model.chains().iter().map(|it| it.name.clone()).collect(),
            model.resources().iter().map(|it| it.name.clone()).collect(),
            model.clients().iter().map(|it| it.name.clone()).collect(),
        ];
        Ok((model.app().name.clone(), names, model.platform().cores.clone()))
    }

    /// Its tasks with the cores and priorities of its plan.
    fn set(&self, py: Python<'_>) -> PyResult<Set> {
        let model = self.model()?;
        let made = free(py, || taut_planner::task_set(model))?;
        made.map(Set).map_err(|found| faults(found, |at| format!("number {at}")))
    }

    /// Its plan.
    fn plan(&self, py: Python<'_>) -> PyResult<Made> {
        let model = self.model()?;
        free(py, || {
            let planned = Planned::make(model, self.inputs.clone());
            let mut diagnostics = self.loaded.diagnostics.clone();
            diagnostics.extend(self.loaded.diagnose(&planned.faults));
            Made { planned, diagnostics }
        })
    }

    /// What each test says of a task, and its room or what would make it fit; empty if there is no such task or no
    /// deadline.
    fn advice(&self, py: Python<'_>, task: &str) -> PyResult<String> {
        let model = self.model()?;
        Ok(free(py, || taut_planner::advise_task(model, task))?.unwrap_or_default())
    }

    /// Its task set in another tool's language, and what was not carried over.
    fn export(&self, py: Python<'_>, language: &str) -> PyResult<(String, Vec<String>)> {
        let Some((_, target)) = Target::ALL.into_iter().find(|(name, _)| *name == language) else {
            let names: Vec<_> = Target::ALL.iter().map(|(name, _)| *name).collect();
            return Err(PyValueError::new_err(format!("`{language}` is not one of {}", names.join(", "))));
        };
        let (model, set) = (self.model()?, self.set(py)?);
        let exported = free(py, || taut_exchange::export(model, &set.0, target))?;
        Ok((exported.text, exported.lost.iter().map(ToString::to_string).collect()))
    }
}

#[pymethods]
impl Made {
    fn is_proven(&self) -> bool {
        self.planned.plan.proven
    }

    /// Whether a diagnostic is an error.
    fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// The plan as JSON, in the words of its file.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.planned.plan).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The text of its file.
    fn lock(&self) -> PyResult<String> {
        self.planned.plan.to_lock().map_err(|error| PyOverflowError::new_err(error.to_string()))
    }

    /// Explains the bound of a task, a channel or a chain; `None` if the plan has nothing of that name.
    fn explain(&self, py: Python<'_>, what: &str, name: &str) -> PyResult<Option<String>> {
        let plan = &self.planned.plan;
        free(py, || match what {
            "task" => taut_plan::explain_task(plan, name),
            "channel" => taut_plan::explain_channel(plan, name),
            _ => taut_plan::explain_chain(plan, name),
        })
    }
}

/// The language and the manifest, and each loss with its line and column; or no manifest, and where and why reading
/// failed.
type Imported = (Option<(String, String)>, Vec<(Option<(u32, u32)>, String)>);

/// Another tool's task set as a manifest.
#[pyfunction]
fn import_text(
    py: Python<'_>,
    text: &str,
    language: Option<&str>,
    unit: Option<u64>,
    name: String,
) -> PyResult<Imported> {
    let source = match language {
        None => None,
        Some(language) => {
            let known = taut_exchange::SourceFormat::ALL.into_iter().find(|(known, _)| *known == language);
            let names = || {
                taut_exchange::SourceFormat::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
            };
            let unknown = || PyValueError::new_err(format!("`{language}` is not one of {}", names()));
            Some(known.ok_or_else(unknown)?.1)
        }
    };
    let options = Options { source, unit: unit.map(time), name };
    let place = |at: Option<taut_exchange::TextPosition>| at.map(|at| (at.line, at.column));
    Ok(match free(py, || taut_exchange::import(text, &options))? {
        Ok(imported) => {
            let lost = imported.lost.into_iter().map(|lost| (place(lost.at), lost.what)).collect();
            (Some((imported.source.name().to_owned(), imported.manifest)), lost)
        }
        Err(unreadable) => (None, vec![(place(unreadable.at), unreadable.why)]),
    })
}

/// What a code means, at length.
#[pyfunction]
fn page(code: &str) -> Option<&'static str> {
    taut_manifest::parse_code(code).and_then(taut_manifest::explain)
}
