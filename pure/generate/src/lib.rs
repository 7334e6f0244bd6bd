// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The Rust text of an application, from its manifest: the types of its payloads, the ends of its channels by party, and a
//! builder that takes the code of every task.
//!
//! The text is the inside of a module. `taut generate` writes it as a file, and the macro `taut::manifest!` expands to it;
//! docs/generated.md describes both. The text calls `taut::App` and `taut::Create`, and needs no crate but `taut`.
//!
//! ```
//! use taut_manifest::{SourceText, load};
//!
//! let text = "manifest = 1\n[app]\nname = \"blink\"\n[platform]\ncores = [0]\n[tasks.led]\n\
//!     arrival = { periodic = \"1s\" }\ndeadline = \"1s\"\nwcet = { value = \"1us\", source = \"guess\" }\n";
//! let sources = [SourceText { name: "taut.toml".into(), text: text.into() }];
//! let loaded = load(&sources[0], &[]);
//! let rust = taut_generate::rust(&loaded, &sources).expect("a valid manifest");
//! assert!(rust.contains("pub trait Led"));
//! ```
#![forbid(unsafe_code)]

mod ends;
mod fnv;
mod lines;
mod names;
mod parties;
mod payloads;
mod setup;
mod template;

use std::fmt::Write as _;

use taut_manifest::{LoadedManifest, SourceText};

use crate::ends::Source;
use crate::lines::{Lines, literal};
use crate::parties::PartyNames;

pub use names::KEYWORDS;
pub use payloads::Payloads;
pub use template::fill;

/// The attributes of each module, since users format and check their sources by rules of their own.
const ATTRIBUTES: &str = "#[rustfmt::skip]\n\
    #[allow(\n    \
        clippy::all, clippy::pedantic, clippy::nursery, nonstandard_style, unused, unreachable_pub,\n    \
        missing_debug_implementations, single_use_lifetimes, unused_lifetimes, unused_qualifications,\n)]\n";

/// The function of `fnv.rs`, as the generated text contains it.
const FNV: &str = include_str!("fnv.rs");

/// The Rust text of a manifest, which was loaded from these sources: the manifest, then the overlays. `None` if the manifest
/// has faults.
///
/// The name of a source is its path from the folder of the package that compiles the text. The same names and texts give the
/// same text, wherever the files lie. The text compiles only while the files are as they were.
pub fn rust(loaded: &LoadedManifest, sources: &[SourceText]) -> Option<String> {
    let model = loaded.model.as_ref()?;
    let (payloads, names) = (Payloads::of(model), PartyNames::of(model));
    let lines = Lines::new(loaded, sources);
    let source = Source { model, payloads: &payloads, lines: &lines };
    let (setup, exported) = setup::text(model, &names);
    let mut text = is_current(sources);
    let _ = write!(
        text,
        "\n/// The application's name, by which its clients find it.\n#[allow(unused, unreachable_pub)]\npub const NAME: &str = \"{}\";\n\
         \n#[allow(unused, unreachable_pub)]\npub use setup::{{{}}};\n",
        model.app().name,
        exported.join(", ")
    );
    for (doc, module, items) in [
        ("The values that channels carry.", "payload", payloads.text()),
        ("The tasks: the trait of each one's code, and its ends.", "task", parties::tasks(source, &names)),
        (
            "The clients, which are processes of their own: their ends.",
            "client",
            parties::clients(source, &names),
        ),
        ("What gives the application its code.", "setup", setup),
    ] {
        if !items.is_empty() {
            let _ = write!(text, "\n/// {doc}\n{ATTRIBUTES}pub mod {module} {{\n{items}}}\n");
        }
    }
    Some(text)
}

/// The item that compiles only while the sources are as they were.
fn is_current(sources: &[SourceText]) -> String {
    let function = FNV.split_once("\n/// ").map_or(FNV, |(_, function)| function);
    let function = function.split_once('\n').map_or(function, |(_, function)| function);
    let function: String =
        function.replace("pub(crate) ", "").lines().map(|line| format!("    {line}\n")).collect();
    let checks = sources.iter().map(|source| {
        let path = format!("/{}", source.name);
        format!(
            "    assert!(\n        \
                 fnv1a(include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))) == {:#018x},\n        \
                 {},\n    );\n",
            fnv::fnv1a(source.text.as_bytes()),
            literal(&format!("{} has changed since this was made from it: run `taut generate`", source.name))
        )
    });
    let checks: String = checks.collect();
    format!(
        "#[rustfmt::skip]\n#[allow(clippy::all, clippy::pedantic, long_running_const_eval)]\nconst _: () = {{\n{function}{checks}}};\n"
    )
}
