// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `taut new`: makes an application.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::arguments::{New, Template};
use crate::generate;
use crate::input::unreachable;
use crate::outcome::{Failure, Outcome};
use crate::package::{LIBRARY, dependency, versions};
use crate::plan;
use crate::say::outln;

const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// The most housekeeping CPUs that a new manifest lists: people read it.
const HOUSEKEEPING_MAX: usize = 8;

pub(crate) fn new(arguments: &New) -> Result<Outcome, Failure> {
    let path = &arguments.path;
    let name = name(path, arguments.template)?;
    let mut made = Made::default();
    if !is_there(path)? {
        made.folder(path.clone())?;
    }
    // Without the list of CPUs, the manifest names CPU 0, which every machine has.
    let cpus = taut_sys::thread::affinity().unwrap_or_default();
    let files = files(name, arguments.template, &cpus)?;
    for (relative, text) in &files {
        made.file(path, relative, text)?;
    }
    made.keep();
    let names: Vec<&str> = files.iter().map(|(relative, _)| *relative).collect();
    let (command, path) = (quoted(&command()), path.display());
    outln!("wrote {path}: {}", names.join(", "));
    outln!("next:");
    outln!("  cd {}", quoted(&path.to_string()));
    outln!("  {command} check      # is every deadline kept?");
    outln!("  {command} run        # builds it, runs it for 10 s, and reports");
    Ok(Outcome::Yes)
}

/// The application's name: the last part of the path, if that is a name for a manifest and for a package of Cargo.
fn name(path: &Path, template: Template) -> Result<&str, Failure> {
    let Some(last) = path.file_name() else {
        let path = path.display();
        let text =
            format!("{path} has no last part for the application's name: write one, as in `taut new arm`");
        return Err(Failure::Usage(text));
    };
    let refuse = |why: &str| {
        let shown = last.to_string_lossy();
        Err(Failure::Usage(format!("`{}` cannot be the application's name: {why}", shown.escape_debug())))
    };
    let rule = "a name is a lower-case letter, then lower-case letters, digits and single `-`; at most 63";
    let Some(name) = last.to_str() else { return refuse(rule) };
    if !taut_model::is_name(name) {
        let proposal = name.to_lowercase().replace(['_', ' ', '.'], "-");
        return match taut_model::is_name(&proposal) {
            true => refuse(&format!("{rule}; `{proposal}` would be one")),
            false => refuse(rule),
        };
    }
    let is_program = |(path, _): &(&str, &str)| path.ends_with(&format!("/{name}.rs"));
    let reasons = [
        (
            taut_generate::KEYWORDS.contains(&name),
            "it is a keyword of Rust, and the application is a package of Cargo",
        ),
        (RESERVED.contains(&name), "Rust or Cargo has something of that name"),
        (name == "taut" || name.starts_with("taut-"), "the crates of taut have such names"),
        (template.programs().iter().any(is_program), "this template has another program of that name"),
    ];
    match reasons.iter().find(|(applies, _)| *applies) {
        Some((_, why)) => refuse(why),
        None => Ok(name),
    }
}

/// The libraries of Rust, and the folders that Cargo makes among its results.
const RESERVED: &[&str] =
    &["alloc", "build", "core", "deps", "examples", "incremental", "proc-macro", "std", "test"];

/// Whether the folder exists and is empty.
///
/// # Errors
/// If something else is there, or the folder above is not.
fn is_there(path: &Path) -> Result<bool, Failure> {
    let shown = path.display();
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(true),
        Ok(false) => Err(Failure::Usage(format!("{shown} exists and is not empty"))),
        Err(error) if error.kind() == ErrorKind::NotADirectory && fs::symlink_metadata(path).is_ok() => {
            Err(Failure::Usage(format!("{shown} exists and is not a folder")))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty());
            let above = above.unwrap_or_else(|| Path::new("."));
            fs::metadata(above).map_err(|error| unreachable(above, &error))?;
            Ok(false)
        }
        Err(error) => Err(unreachable(path, &error)),
    }
}

/// The folders and files that the command has made. Removes them when it is dropped before
/// [`Made::keep`].
#[derive(Default)]
struct Made(Vec<PathBuf>);

impl Made {
    fn folder(&mut self, path: PathBuf) -> Result<(), Failure> {
        fs::create_dir(&path).map_err(Failure::write(&path))?;
        self.0.push(path);
        Ok(())
    }

    /// Makes a file, and the folders between it and `root`.
    fn file(&mut self, root: &Path, relative: &str, text: &str) -> Result<(), Failure> {
        let mut folder = root.to_owned();
        for part in Path::new(relative).parent().into_iter().flatten() {
            folder.push(part);
            if !self.0.contains(&folder) {
                self.folder(folder.clone())?;
            }
        }
        let path = root.join(relative);
        let mut file = File::create_new(&path).map_err(Failure::write(&path))?;
        self.0.push(path.clone());
        file.write_all(text.as_bytes()).map_err(Failure::write(&path))
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // The last first, so that folders are empty. What cannot be removed stays; the error that led here is reported.
        for path in self.0.iter().rev() {
            let _ = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
        }
    }
}

impl Template {
    fn manifest(self) -> &'static str {
        match self {
            Self::Control => include_str!("../templates/control/taut.toml"),
            Self::Pipeline => include_str!("../templates/pipeline/taut.toml"),
            Self::Sporadic => include_str!("../templates/sporadic/taut.toml"),
        }
    }

    fn main(self) -> &'static str {
        match self {
            Self::Control => include_str!("../templates/control/main.rs"),
            Self::Pipeline => include_str!("../templates/pipeline/main.rs"),
            Self::Sporadic => include_str!("../templates/sporadic/main.rs"),
        }
    }

    /// Its other programs, each with its path.
    fn programs(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Control | Self::Pipeline => &[],
            Self::Sporadic => &[("src/bin/buttons.rs", include_str!("../templates/sporadic/buttons.rs"))],
        }
    }
}

/// The files of an application, each with its path and its text.
fn files(name: &str, template: Template, cpus: &[u16]) -> Result<Vec<(&'static str, String)>, Failure> {
    let manifest = template.manifest().replace("{name}", name).replace("{cpus}", &platform(cpus));
    let generated = generate::fresh(&manifest)
        .ok_or_else(|| Failure::Internal(format!("the manifest of the template has faults:\n{manifest}")))?;
    let plan = plan::fresh(&manifest)
        .ok_or_else(|| Failure::Internal(format!("the template is not proven:\n{manifest}")))?;
    let mut files = vec![
        (".gitignore", "/target\n".to_owned()),
        ("Cargo.toml", cargo_toml(name, &dependency(Path::new(LIBRARY)))),
        ("Cargo.lock", versions()),
        ("README.md", readme(name, template)),
        ("taut.toml", manifest),
        ("taut.lock", plan),
        ("src/main.rs", without_head(template.main())),
        ("src/manifest.rs", generated),
    ];
    files.extend(template.programs().iter().map(|(path, text)| (*path, without_head(text))));
    Ok(files)
}

/// A source without the lines about the licence of the template: what is made from it belongs to who made it.
fn without_head(source: &str) -> String {
    source.split_once("\n\n").map_or(source, |(_, rest)| rest).to_owned()
}

/// The keys of `[platform]` for a process that may run on these CPUs: the last is for real-time tasks.
fn platform(cpus: &[u16]) -> String {
    let line =
        |key: &str, cpus: &[u16], comment: &str| format!("{:<39}# {comment}", format!("{key} = {cpus:?}"));
    match cpus.split_last() {
        None => line("cores", &[0], "for real-time tasks"),
        Some((last, [])) => line("cores", &[*last], "for real-time tasks, and the only one for all others"),
        Some((last, others)) => {
            let others = &others[..others.len().min(HOUSEKEEPING_MAX)];
            let cores = line("cores", &[*last], "for real-time tasks");
            format!("{cores}\n{}", line("housekeeping", others, "for everything else"))
        }
    }
}

fn cargo_toml(name: &str, dependency: &str) -> String {
    format!(
        r#"[package]
name = "{name}"
version = "0.1.0"
edition = "2024"
rust-version = "{RUST_VERSION}"

[dependencies]
taut = {{ {dependency} }}

# For tests: the application in virtual time.
[dev-dependencies]
taut = {{ {dependency}, features = ["bench"] }}

# The application is a workspace of its own, also in the folder of another one.
[workspace]

# With this, `addr2line` finds the line for an address in a report.
[profile.release]
debug = "line-tables-only"

# It reads taut.lock, once. To optimise it would take a fifth of the first build.
[profile.release.package.taut-plan]
opt-level = 0
"#
    )
}

fn readme(name: &str, template: Template) -> String {
    let mut text = format!(
        "# {name}\n\n    \
             taut check                           # is every deadline kept?\n    \
             taut run                             # builds it, runs it for 10 s, and reports\n    \
             cargo test                           # runs it in virtual time, as taut.lock plans it\n    \
             taut plan                            # renews taut.lock, after a change of taut.toml\n"
    );
    for (path, _) in template.programs() {
        let program = path.trim_start_matches("src/bin/").trim_end_matches(".rs");
        let line = format!("cargo run --release --bin {program}");
        text += &format!("    {line:<37}# its client, in a second terminal while it runs\n");
    }
    text
}

/// The command as a shell finds it in any folder: the name by which the user called it, if `PATH` has it, else the path
/// of the program.
fn command() -> String {
    let called = std::env::args_os().next().unwrap_or_default().to_string_lossy().into_owned();
    if !called.is_empty() && !called.contains('/') {
        return called;
    }
    std::env::current_exe().map_or(called, |path| path.display().to_string())
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cpu_is_for_real_time_tasks() {
        let keys = |cpus: &[u16]| {
            let text = platform(cpus);
            let keys = text.lines().map(|line| line.split_once('#').unwrap().0.trim().to_owned());
            keys.collect::<Vec<_>>()
        };
        assert_eq!(keys(&[0, 1]), ["cores = [1]", "housekeeping = [0]"]);
        assert_eq!(keys(&[2, 5, 7]), ["cores = [7]", "housekeeping = [2, 5]"]);
        assert_eq!(keys(&[3]), ["cores = [3]"]);
        assert_eq!(keys(&[]), ["cores = [0]"]);
        let many: Vec<u16> = (0..64).collect();
        assert_eq!(keys(&many), ["cores = [63]", "housekeeping = [0, 1, 2, 3, 4, 5, 6, 7]"]);
    }

    #[test]
    fn a_shell_reads_a_word_as_it_is() {
        assert_eq!(quoted("/opt/taut-1.0/bin/taut"), "/opt/taut-1.0/bin/taut");
        assert_eq!(quoted("my arm"), "'my arm'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
