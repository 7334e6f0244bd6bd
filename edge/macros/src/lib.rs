// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The macro `taut::manifest!`, which the crate `taut` exports under its feature `manifest`.

use std::path::Path;

use proc_macro::{Span, TokenStream, TokenTree};
use taut_manifest::{SourceText, load, render};

/// The columns of a rendered diagnostic. rustc puts more in front of each line.
const WIDTH: usize = 100;

/// The items that `taut generate` writes for a manifest: the types of its payloads, the ends of its channels,
/// and the builder of the application. The arguments are paths relative to the folder of the package: the
/// manifest, then its overlays.
///
/// ```ignore
/// mod manifest {
///     taut::manifest!("taut.toml");
/// }
/// ```
///
/// When one of the files changes, Cargo builds the package again. A manifest with faults is a compile error with the
/// diagnostics of `taut check`.
#[proc_macro]
pub fn manifest(input: TokenStream) -> TokenStream {
    match paths(input) {
        Ok(paths) => {
            let span = paths[0].1;
            let text = std::env::var("CARGO_MANIFEST_DIR")
                .map_err(|_| "CARGO_MANIFEST_DIR is not set: Cargo builds this macro's users".to_owned())
                .and_then(|folder| {
                    expanded(Path::new(&folder), paths.into_iter().map(|(path, _)| path).collect())
                });
            text.and_then(|text| {
                text.parse().map_err(|error| format!("the generated text is no Rust: {error}"))
            })
            .unwrap_or_else(|message| error(&message, span))
        }
        Err(span) => {
            error("write the manifest's path as a string, as in `taut::manifest!(\"taut.toml\")`", span)
        }
    }
}

/// The paths of the arguments: at least one.
///
/// # Errors
/// The place of the first token that does not belong there, or of the call if there is no token.
fn paths(input: TokenStream) -> Result<Vec<(String, Span)>, Span> {
    let mut paths = Vec::new();
    let mut tokens = input.into_iter();
    while let Some(token) = tokens.next() {
        let TokenTree::Literal(literal) = &token else { return Err(token.span()) };
        let text = literal.to_string();
        let path = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let path = path.filter(|path| !path.is_empty() && !path.contains('\\')).ok_or(token.span())?;
        paths.push((path.to_owned(), token.span()));
        match tokens.next() {
            None => break,
            Some(TokenTree::Punct(comma)) if comma.as_char() == ',' => {}
            Some(other) => return Err(other.span()),
        }
    }
    if paths.is_empty() { Err(Span::call_site()) } else { Ok(paths) }
}

/// The text for these files of a folder, or the reason why there is none.
fn expanded(folder: &Path, paths: Vec<String>) -> Result<String, String> {
    let read = |name: String| {
        let text = std::fs::read_to_string(folder.join(&name));
        text.map(|text| SourceText { name: name.clone(), text })
            .map_err(|error| format!("cannot read {name}: {error}"))
    };
    let sources = paths.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let Some((manifest, overlays)) = sources.split_first() else {
        return Err("no manifest is named".to_owned());
    };
    let loaded = load(manifest, overlays);
    taut_generate::rust(&loaded, &sources).ok_or_else(|| {
        let shown = render(&loaded.diagnostics, &sources.iter().collect::<Vec<_>>(), false, WIDTH);
        format!("the manifest has faults\n{}", shown.trim_end())
    })
}

/// A compile error at a place.
fn error(message: &str, span: Span) -> TokenStream {
    let tokens: TokenStream = format!("::core::compile_error! {{ {message:?} }}").parse().unwrap_or_default();
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_that_of_the_generator() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/drive");
        let text = expanded(&folder, vec!["taut.toml".to_owned()]);
        let file = std::fs::read_to_string(folder.join("src/manifest.rs"));
        assert!(text.is_ok_and(|text| file.is_ok_and(|file| file.ends_with(&text) && text.len() > 10_000)));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let of = |path: &str| expanded(folder, vec![path.to_owned()]).unwrap_or_else(|message| message);
        assert!(of("taut.toml").starts_with("cannot read taut.toml: "));
        let text = of("Cargo.toml");
        assert!(text.starts_with("the manifest has faults\nerror[TAUT0"), "{text}");
    }
}
