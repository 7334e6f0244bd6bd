// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Tools that checks need beyond a Rust toolchain. This module installs a missing tool, or reports why it cannot.

use std::path::Path;
use std::time::Duration;

use crate::command::Command;
use crate::nightly;

/// A tool that can be installed, and a command that succeeds once it is installed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component {
    probe: &'static [&'static str],
    from: Source,
    names: &'static [&'static str],
}

/// Where a component comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// rustup: components of the current toolchain (`None`) or of a named one.
    Toolchain(Option<&'static str>),
    /// rustup: components of the nightly toolchain.
    Nightly,
    /// rustup: the standard library of other targets, for the current toolchain.
    Targets,
    /// apt: packages of Debian and its derivatives.
    Packages,
    /// crates.io: a Cargo subcommand, compiled on this machine.
    Registry,
}

/// `cargo fmt` and `cargo clippy`.
pub(crate) const LINTS: [Component; 2] = [
    Component { probe: &["cargo", "fmt", "--version"], from: Source::Toolchain(None), names: &["rustfmt"] },
    Component { probe: &["cargo", "clippy", "--version"], from: Source::Toolchain(None), names: &["clippy"] },
];

/// The oldest compiler that works: `rust-version` in Cargo.toml.
pub(crate) const OLDEST: &str = "1.93.0";

/// That compiler.
pub(crate) const OLDEST_TOOLCHAIN: Component = Component {
    probe: &["rustup", "run", OLDEST, "rustc", "--version"],
    from: Source::Toolchain(Some(OLDEST)),
    names: &["rustc"],
};

/// Nightly with Miri and the sources of the standard library.
pub(crate) const MIRI: Component =
    Component { probe: &["cargo", "miri", "--version"], from: Source::Nightly, names: &["miri", "rust-src"] };

/// Nightly, for the sanitizers of its compiler.
pub(crate) const NIGHTLY: Component =
    Component { probe: &["cargo", "--version"], from: Source::Nightly, names: &["rustc"] };

/// Nightly with the sources of the standard library, which a sanitizer must instrument too.
pub(crate) const SOURCES: Component = Component {
    probe: &["sh", "-c", "test -f \"$(rustc --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock\""],
    from: Source::Nightly,
    names: &["rust-src"],
};

/// The target of processors without 64-bit atomics and without an operating system: Cortex-M4 and -M7.
pub(crate) const THUMB: Component = Component {
    probe: &["sh", "-c", "test -d \"$(rustc --print target-libdir --target thumbv7em-none-eabihf)\""],
    from: Source::Targets,
    names: &["thumbv7em-none-eabihf"],
};

/// The target of Android on AArch64.
pub(crate) const ANDROID: Component = Component {
    probe: &["sh", "-c", "test -d \"$(rustc --print target-libdir --target aarch64-linux-android)\""],
    from: Source::Targets,
    names: &["aarch64-linux-android"],
};

/// GNU parallel. The probe fails with the other program of that name, which does not know `--version`.
pub(crate) const PARALLEL: Component =
    Component { probe: &["parallel", "--version"], from: Source::Packages, names: &["parallel"] };

/// strace, which shows system calls.
pub(crate) const STRACE: Component =
    Component { probe: &["strace", "--version"], from: Source::Packages, names: &["strace"] };

/// cargo-mutants, which changes sources and checks whether a test fails.
pub(crate) const MUTANTS: Component = Component {
    probe: &["cargo", "mutants", "--version"],
    from: Source::Registry,
    names: &["cargo-mutants"],
};

/// rt-app, which runs the workload of a JSON file.
pub(crate) const RT_APP: Component =
    Component { probe: &["rt-app", "--help"], from: Source::Packages, names: &["rt-app"] };

/// The cross compiler for Linux on AArch64, and the emulator that runs its programs on this machine.
pub(crate) const AARCH64: [Component; 3] = [
    Component {
        probe: &["sh", "-c", "test -d \"$(rustc --print target-libdir --target aarch64-unknown-linux-gnu)\""],
        from: Source::Targets,
        names: &["aarch64-unknown-linux-gnu"],
    },
    Component {
        probe: &["sh", "-c", "echo 'int main() {}' | aarch64-linux-gnu-gcc -x c - -o /dev/null"],
        from: Source::Packages,
        names: &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"],
    },
    Component { probe: &["qemu-aarch64", "--version"], from: Source::Packages, names: &["qemu-user"] },
];

/// Compilers of Java and C, and Maven, which fetches classes.
const JVM: [Component; 3] = [
    Component { probe: &["javac", "-version"], from: Source::Packages, names: &["openjdk-17-jdk-headless"] },
    Component { probe: &["mvn", "--version"], from: Source::Packages, names: &["maven"] },
    Component { probe: &["cc", "--version"], from: Source::Packages, names: &["gcc", "libc6-dev"] },
];

/// Installs a JVM with its compiler, Maven and a C compiler, as far as they are missing.
///
/// # Errors
/// Why one is still missing, in one line.
pub fn jvm() -> Result<(), String> {
    JVM.iter().try_for_each(Component::ensure)
}

impl Component {
    /// Installs the component if it is missing.
    ///
    /// # Errors
    /// Why it is still missing, in one line.
    pub(crate) fn ensure(&self) -> Result<(), String> {
        if self.is_there() {
            return Ok(());
        }
        let install = self.installation()?.limit(Duration::from_secs(600));
        let output = install.run();
        if output.success() && self.is_there() {
            return Ok(());
        }
        if let Source::Nightly = self.from
            && nightly::has_substitute()
            && self.answers()
        {
            return Ok(());
        }
        Err(format!("`{}` {}: {}", install.shown(), output.reason(), last_line(&output.text)))
    }

    fn installation(&self) -> Result<Command, String> {
        let missing = |why: &str| Err(format!("{} missing, and {why}", self.names.join(" and ")));
        if let Source::Registry = self.from {
            return Ok(Command::line("cargo install --locked --quiet").args(self.names));
        }
        if let Source::Packages = self.from {
            if !Command::line("apt-get --version").run().success() {
                return missing("there is no apt-get to install it");
            }
            if Command::line("id -u").run().stdout.trim() != "0" {
                return missing("only root may install it with apt-get");
            }
            // In Debian, compilers for several targets conflict: an installed package must stay (`--no-remove`).
            let install = "apt-get update -q && apt-get install -q -y --no-remove --no-install-recommends";
            let script = format!("{install} {}", self.names.join(" "));
            return Ok(Command::new("sh").args(["-c", &script]).env("DEBIAN_FRONTEND", "noninteractive"));
        }
        if !Command::line("rustup --version").run().success() {
            return missing("there is no rustup to install it");
        }
        let (known, toolchain) = match self.from {
            Source::Toolchain(toolchain) => {
                let name = toolchain.unwrap_or("stable");
                let probe = Command::line("rustup run").args([name, "rustc", "--version"]);
                (probe.run().success(), toolchain)
            }
            Source::Nightly => (nightly::is_installed(), Some(nightly::PINNED)),
            _ => return Ok(Command::line("rustup target add").args(self.names)),
        };
        Ok(if known {
            let to = toolchain.map(|toolchain| ["--toolchain", toolchain]);
            Command::line("rustup component add").args(self.names).args(to.into_iter().flatten())
        } else {
            let components = self.names.join(",");
            Command::line("rustup toolchain install --profile minimal --component")
                .args([components.as_str(), toolchain.unwrap_or("stable")])
        })
    }

    fn is_there(&self) -> bool {
        (!matches!(self.from, Source::Nightly) || nightly::is_installed()) && self.answers()
    }

    fn answers(&self) -> bool {
        let probe = Command::new(self.probe[0]).args(&self.probe[1..]).limit(Duration::from_secs(60));
        let probe = if let Source::Nightly = self.from { nightly::with(probe) } else { probe };
        probe.run().success()
    }
}

/// Installs a package of PyPI into a virtual environment, which is made anew.
///
/// # Errors
/// Why it is not installed, in one line.
pub(crate) fn from_pypi(folder: &Path, package: &str) -> Result<(), String> {
    let make = Command::line("python3 -m venv --clear").args([folder]);
    let install = Command::new(folder.join("bin/python")).args(["-m", "pip", "install", "--quiet", package]);
    for command in [make, install] {
        let command = command.limit(Duration::from_secs(300));
        let output = command.run();
        if !output.success() {
            return Err(format!("`{}` {}: {}", command.shown(), output.reason(), last_line(&output.text)));
        }
    }
    Ok(())
}

/// The last line that is not empty of a command's output: for a command that failed, usually the reason.
pub(crate) fn last_line(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output").trim()
}

/// The target of this machine, such as `x86_64-unknown-linux-gnu`.
pub(crate) fn host() -> Result<String, String> {
    let output = Command::line("rustc -vV").run();
    let host = output.stdout.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("rustc does not say its host: {}", output.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_installation_says_why() {
        for from in [Source::Toolchain(None), Source::Nightly, Source::Targets] {
            let component = Component { probe: &["false"], from, names: &["no-such-component"] };
            let why = component.ensure().unwrap_err();
            assert!(why.contains("no-such-component"), "{why}");
        }
    }

    #[test]
    fn packages_are_installed_by_root_alone_and_replace_none() {
        let component =
            Component { probe: &["false"], from: Source::Packages, names: &["one-package", "another"] };
        match component.installation() {
            Ok(install) => {
                let shown = install.shown();
                assert!(shown.contains("--no-remove") && shown.contains("one-package another"), "{shown}");
            }
            Err(why) => {
                assert!(why.contains("one-package and another missing") && why.contains("apt-get"), "{why}");
            }
        }
    }

    #[test]
    fn the_oldest_compiler_is_that_of_the_manifest() {
        let manifest = include_str!("../../../Cargo.toml");
        let version = OLDEST.trim_end_matches(".0");
        assert!(manifest.contains(&format!("rust-version = \"{version}\"")), "{OLDEST}");
    }

    #[test]
    fn host_is_a_target() {
        assert!(host().unwrap().contains("linux"));
    }
}
