// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Finds or builds an application's program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::outcome::Failure;

/// The program of an application: the manifest's `exec`, relative to the manifest, else the Cargo package
/// beside it, built with optimisation.
pub(crate) fn program(folder: &Path, exec: Option<&str>) -> Result<PathBuf, Failure> {
    if let Some(exec) = exec {
        let path = folder.join(exec);
        if !path.is_file() {
            let path = path.display();
            return Err(Failure::Program(format!(
                "exec: {path} does not exist; build the application first"
            )));
        }
        return Ok(path);
    }
    let manifest = folder.join("Cargo.toml");
    if !manifest.is_file() {
        return Err(Failure::Program(format!(
            "{} has no Cargo.toml to build; name the application's program in the manifest: [app] exec = \"…\"",
            folder.display()
        )));
    }
    build(&manifest)
}

/// Builds the package of a Cargo.toml with optimisation; returns its program.
pub(crate) fn build(manifest: &Path) -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "--message-format=json-render-diagnostics", "--manifest-path"])
        .arg(manifest)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| {
            let help = "it builds the application, and comes with Rust: https://rustup.rs";
            Failure::Program(format!("cannot start cargo: {error}; {help}"))
        })?;
    if !output.status.success() {
        return Err(Failure::Program(format!("cannot build {}", manifest.display())));
    }
    let programs = programs(&String::from_utf8_lossy(&output.stdout), manifest);
    match programs.as_slice() {
        [(_, program)] => Ok(program.clone()),
        [] => Err(Failure::Program(format!("{} builds no program", manifest.display()))),
        several => {
            several.iter().find(|(main, _)| *main).map(|(_, program)| program.clone()).ok_or_else(|| {
                Failure::Program(format!(
                    "{} builds several programs and none from src/main.rs; name one: [app] exec = \"…\"",
                    manifest.display()
                ))
            })
        }
    }
}

/// The programs that Cargo reports as built from a manifest, each with whether it is the package's main one.
fn programs(messages: &str, manifest: &Path) -> Vec<(bool, PathBuf)> {
    let manifest = manifest.canonicalize().unwrap_or_else(|_| manifest.to_owned());
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let of_manifest = |artifact: &serde_json::Value| {
        let path = artifact["manifest_path"].as_str().map(Path::new);
        path.and_then(|path| path.canonicalize().ok()).is_some_and(|path| path == manifest)
    };
    artifacts
        .filter(|artifact| artifact["reason"] == "compiler-artifact" && of_manifest(artifact))
        .filter_map(|artifact| {
            let program = PathBuf::from(artifact["executable"].as_str()?);
            let main = artifact["target"]["src_path"].as_str()?.ends_with("src/main.rs");
            Some((main, program))
        })
        .collect()
}
