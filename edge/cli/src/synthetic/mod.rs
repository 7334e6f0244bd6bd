// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut run --synthetic`: a program that stands in for the code of an application and of its clients.

mod generate;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use taut_model::Model;

use crate::arguments::{Execution, Run};
use crate::build;
use crate::outcome::Failure;
use crate::package::{LIBRARY, dependency};
use crate::plan::write;
use crate::report::output_folder;
use crate::say::errln;

/// The versions of all crates in the checkout that has [`LIBRARY`].
const VERSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");

/// The folder of a manifest's program, and of the files that its runs write.
pub(crate) fn folder(manifest: &Path) -> PathBuf {
    output_folder(manifest).join("synthetic")
}

/// Writes the program of a model into a folder, as far as it has changed, and builds it.
pub(crate) fn program(model: &Model, folder: &Path) -> Result<PathBuf, Failure> {
    let source = dependency(Path::new(LIBRARY));
    let sources = folder.join("src");
    std::fs::create_dir_all(&sources).map_err(Failure::write(&sources))?;
    renew(&folder.join("Cargo.toml"), &generate::cargo_toml(&model.app().name, &source))?;
    renew(&sources.join("load.rs"), generate::LOAD)?;
    renew(&sources.join("main.rs"), &generate::main_rs(model))?;
    if source.starts_with("path") {
        copy_if_newer(Path::new(VERSIONS), &folder.join("Cargo.lock"))?;
    }
    let clients: Vec<_> = model.clients().iter().map(|client| format!("`{}`", client.name)).collect();
    let clients = match clients.as_slice() {
        [] => String::new(),
        [client] => format!(" and of its client {client}"),
        clients => format!(" and of its clients {}", clients.join(", ")),
    };
    errln!("synthetic: {} runs in place of the code of `{}`{clients}", folder.display(), model.app().name);
    build::build(&folder.join("Cargo.toml"))
}

/// Writes a file if its text differs, so that cargo builds only what has changed.
fn renew(path: &Path, text: &str) -> Result<(), Failure> {
    if std::fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
        return Ok(());
    }
    write(path, text)
}

/// Copies a file unless its copy is as new: Cargo reduces the copy to what the program needs.
fn copy_if_newer(from: &Path, to: &Path) -> Result<(), Failure> {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|found| found.modified());
    let source = match changed(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        source => source.map_err(Failure::read(from))?,
    };
    if changed(to).is_ok_and(|copy| copy >= source) {
        return Ok(());
    }
    write(to, std::fs::read(from).map_err(Failure::read(from))?)
}

/// The arguments of the program for the application.
pub(crate) fn arguments(run: &Run) -> Vec<OsString> {
    let words = match run.execution {
        Execution::Full => vec!["--execution".to_owned(), "full".to_owned()],
        Execution::Drawn => {
            let seed = run.seed.unwrap_or(1).to_string();
            ["--execution", "drawn", "--seed", &seed].map(str::to_owned).to_vec()
        }
    };
    words.into_iter().map(OsString::from).collect()
}

/// The clients of an application, each a process. They end when this value is dropped, and when this process ends.
pub(crate) struct Clients(Vec<Child>);

impl Clients {
    /// Starts the clients of a model; each attaches as soon as the application runs. If a client cannot be
    /// started, this prints a warning, and the others run without it.
    pub(crate) fn start(program: &Path, model: &Model) -> Self {
        let start = |name: &str| {
            let mut command = Command::new(program);
            // The client ends when the other end of its standard input is closed.
            command.args(["--client", name]).stdin(Stdio::piped()).stdout(Stdio::null());
            command.spawn().inspect_err(|error| errln!("warning: cannot start client `{name}`: {error}")).ok()
        };
        // Of a client of several processes, as many as may be attached.
        let all = model.clients().iter().flat_map(|client| vec![&client.name; client.max_attached.into()]);
        Self(all.filter_map(|name| start(name)).collect())
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        for client in &mut self.0 {
            // An error means that it has ended.
            let _ = client.kill();
            let _ = client.wait();
        }
    }
}
