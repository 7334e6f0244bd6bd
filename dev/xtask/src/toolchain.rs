// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a check needs beyond a Rust toolchain: installed if it is not there, or a reason why not.

use std::time::Duration;

use crate::command::Command;

/// A component that rustup provides, and a command that works once it is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Component {
    probe: &'static [&'static str],
    toolchain: Option<&'static str>,
    names: &'static [&'static str],
}

/// `cargo fmt` and `cargo clippy`.
pub(crate) const LINTS: [Component; 2] = [
    Component { probe: &["cargo", "fmt", "--version"], toolchain: None, names: &["rustfmt"] },
    Component { probe: &["cargo", "clippy", "--version"], toolchain: None, names: &["clippy"] },
];

/// Nightly with Miri and the sources of the standard library.
pub(crate) const MIRI: Component = Component {
    probe: &["cargo", "+nightly", "miri", "--version"],
    toolchain: Some("nightly"),
    names: &["miri", "rust-src"],
};

/// Nightly with the sources of the standard library, to build it with a sanitizer.
pub(crate) const SOURCES: Component = Component {
    probe: &[
        "sh",
        "-c",
        "test -f \"$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock\"",
    ],
    toolchain: Some("nightly"),
    names: &["rust-src"],
};

impl Component {
    /// Makes sure that it is there.
    ///
    /// # Errors
    /// Why it is not, in one line.
    pub(crate) fn ensure(&self) -> Result<(), String> {
        if self.is_there() {
            return Ok(());
        }
        let toolchain = self.toolchain.unwrap_or("stable");
        if !Command::line("rustup --version").run().success() {
            return Err(format!(
                "{} missing, and there is no rustup to install it",
                self.names.join(" and ")
            ));
        }
        let known = Command::line("rustup run").args([toolchain, "rustc", "--version"]).run().success();
        let install = if known {
            let to = self.toolchain.map(|toolchain| ["--toolchain", toolchain]);
            Command::line("rustup component add").args(self.names).args(to.into_iter().flatten())
        } else {
            let components = self.names.join(",");
            Command::line("rustup toolchain install --profile minimal --component")
                .args([&components, toolchain])
        };
        let install = install.limit(Duration::from_secs(600));
        let output = install.run();
        if output.success() && self.is_there() {
            return Ok(());
        }
        let last = output.text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output");
        Err(format!("`{}` {}: {}", install.shown(), output.reason(), last.trim()))
    }

    fn is_there(&self) -> bool {
        Command::new(self.probe[0]).args(&self.probe[1..]).limit(Duration::from_secs(60)).run().success()
    }
}

/// The machine's own target, as `x86_64-unknown-linux-gnu`.
pub(crate) fn host() -> Result<String, String> {
    let output = Command::line("rustc -vV").run();
    let host = output.stdout.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("rustc does not say its host: {}", output.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_installed_says_why() {
        let component = Component { probe: &["false"], toolchain: None, names: &["no-such-component"] };
        let why = component.ensure().unwrap_err();
        assert!(why.contains("no-such-component"), "{why}");
    }

    #[test]
    fn host_is_a_target() {
        assert!(host().unwrap().contains("linux"));
    }
}
