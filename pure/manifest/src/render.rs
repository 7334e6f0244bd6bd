// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, renderer::DecorStyle};
use taut_model::Severity;

use crate::diagnostic::Span;
use crate::{Diagnostic, Source};

/// The diagnostics as text for people, in the look of rustc; `width` in columns.
pub fn render(diagnostics: &[Diagnostic], sources: &[&Source], color: bool, width: usize) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(width);
    let mut text = String::new();
    for diagnostic in diagnostics {
        text.push_str(&renderer.render(&[group(diagnostic, sources)]));
        text.push_str("\n\n");
    }
    text
}

fn group<'d>(diagnostic: &'d Diagnostic, sources: &[&'d Source]) -> Group<'d> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.to_string());
    let mut group = Group::with_title(title);
    // The file of the primary place first, then the others, each once.
    let mut files = vec![diagnostic.primary.file];
    for span in &diagnostic.secondary {
        if !files.contains(&span.file) {
            files.push(span.file);
        }
    }
    for file in files {
        let Some(source) = sources.get(file) else { continue };
        let mut snippet = Snippet::source(source.text.as_str()).path(source.name.as_str());
        let annotation = |kind: AnnotationKind, span: &'d Span| {
            let end = span.range.end.min(source.text.len());
            kind.span(span.range.start.min(end)..end).label(span.text.as_str())
        };
        if diagnostic.primary.file == file {
            snippet = snippet.annotation(annotation(AnnotationKind::Primary, &diagnostic.primary));
        }
        for span in diagnostic.secondary.iter().filter(|span| span.file == file) {
            snippet = snippet.annotation(annotation(AnnotationKind::Context, span));
        }
        group = group.element(snippet);
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    group
}
