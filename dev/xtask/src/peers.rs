// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! `dev/peers`, which is a separate workspace.

use crate::absence::PEERS;
use crate::command::Command;
use crate::tree::Tree;

/// A Cargo command for the workspace of the peers, with a separate target folder.
pub fn cargo(what: &str, tree: &Tree) -> Command {
    Command::line(&format!("cargo {what} --locked --manifest-path {PEERS}/Cargo.toml"))
        .args(["--target-dir".as_ref(), tree.target().join("peers").as_os_str()])
        .dir(tree.root())
}
