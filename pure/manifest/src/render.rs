// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet, renderer::DecorStyle};
use taut_model::Severity;

use crate::diagnostic::Span;
use crate::{Diagnostic, SourceText};

/// If two places of a file are more than this many lines apart, each is shown separately: the renderer's time grows
/// with the lines in its input, so thousands of diagnostics of a long file would take minutes.
const APART: usize = 1_000;

/// The diagnostics as text for people, in the style of rustc; `width` in columns.
pub fn render(diagnostics: &[Diagnostic], sources: &[&SourceText], color: bool, width: usize) -> String {
    render_apart(diagnostics, sources, color, width, APART)
}

/// As [`render`]; places that are more than `apart` lines from each other are shown separately.
fn render_apart(
    diagnostics: &[Diagnostic],
    sources: &[&SourceText],
    color: bool,
    width: usize,
    apart: usize,
) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(width);
    let lines: Vec<Lines<'_>> = sources.iter().map(|source| Lines::new(&source.text)).collect();
    let mut text = String::new();
    for diagnostic in diagnostics {
        text.push_str(&renderer.render(&[group(diagnostic, sources, &lines, apart)]));
        text.push_str("\n\n");
    }
    text
}

fn group<'d>(
    diagnostic: &'d Diagnostic,
    sources: &[&'d SourceText],
    lines: &[Lines<'d>],
    apart: usize,
) -> Group<'d> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.to_string());
    let mut group = Group::with_title(title);
    // The file of the primary place comes first, then the others, each once.
    let mut files = vec![diagnostic.primary.file];
    for span in &diagnostic.secondary {
        if !files.contains(&span.file) {
            files.push(span.file);
        }
    }
    for file in files {
        let Some(source) = sources.get(file) else { continue };
        let lines = &lines[file];
        // The primary place comes first, so that its excerpt is shown first.
        let mut places = Vec::new();
        if diagnostic.primary.file == file {
            places.push((AnnotationKind::Primary, &diagnostic.primary));
        }
        let others = diagnostic.secondary.iter().filter(|span| span.file == file);
        places.extend(others.map(|span| (AnnotationKind::Context, span)));
        for (shown, places) in lines.excerpts(places, apart) {
            let text = &source.text[lines.bytes(&shown)];
            let start = lines.starts[shown.start];
            let annotation = |(kind, span): (AnnotationKind, &'d Span)| -> Annotation<'d> {
                let Range { start: from, end } = clamped(&span.range, &source.text);
                kind.span(from - start..end - start).label(span.text.as_str())
            };
            let snippet = Snippet::source(text).path(source.name.as_str()).line_start(shown.start + 1);
            group = group.element(snippet.annotations(places.into_iter().map(annotation)));
        }
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    group
}

/// A range, limited to a text.
fn clamped(range: &Range<usize>, text: &str) -> Range<usize> {
    let end = range.end.min(text.len());
    range.start.min(end)..end
}

/// Where the lines of a text start.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

/// Lines that are shown together, and the spans in them.
type Excerpt<'d> = (Range<usize>, Vec<(AnnotationKind, &'d Span)>);

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// The lines of a range, from 0, with one more on each side: the renderer looks at a line's neighbours.
    fn around(&self, range: &Range<usize>) -> Range<usize> {
        let Range { start, end } = clamped(range, self.text);
        let line = |at| self.starts.partition_point(|start| *start <= at) - 1;
        line(start).saturating_sub(1)..(line(end) + 2).min(self.starts.len())
    }

    /// The bytes of these lines.
    fn bytes(&self, lines: &Range<usize>) -> Range<usize> {
        self.starts[lines.start]..self.starts.get(lines.end).copied().unwrap_or(self.text.len())
    }

    /// The places, grouped by excerpt; the excerpt of the first place comes first.
    fn excerpts<'d>(&self, places: Vec<(AnnotationKind, &'d Span)>, apart: usize) -> Vec<Excerpt<'d>> {
        let mut stretches: Vec<Range<usize>> =
            places.iter().map(|(_, span)| self.around(&span.range)).collect();
        let first = stretches.first().map(|lines| lines.start);
        stretches.sort_by_key(|lines| lines.start);
        let mut excerpts: Vec<Excerpt<'d>> = Vec::new();
        for lines in stretches {
            match excerpts.last_mut() {
                Some((last, _)) if lines.start <= last.end.saturating_add(apart) => {
                    last.end = last.end.max(lines.end);
                }
                _ => excerpts.push((lines, Vec::new())),
            }
        }
        for (kind, span) in places {
            let line = self.around(&span.range).start;
            let excerpt = excerpts.partition_point(|(lines, _)| lines.start <= line);
            excerpts[excerpt - 1].1.push((kind, span));
        }
        if let Some(at) =
            excerpts.iter().position(|(lines, _)| first.is_some_and(|first| lines.contains(&first)))
        {
            excerpts[..=at].rotate_right(1);
        }
        excerpts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The renderer's output for the whole text.
    fn whole(diagnostics: &[Diagnostic], source: &SourceText) -> String {
        let renderer = Renderer::plain().decor_style(DecorStyle::Ascii).term_width(100);
        let mut text = String::new();
        for diagnostic in diagnostics {
            let mut snippet = Snippet::source(source.text.as_str()).path(source.name.as_str());
            let all = std::iter::once((AnnotationKind::Primary, &diagnostic.primary));
            let all = all.chain(diagnostic.secondary.iter().map(|span| (AnnotationKind::Context, span)));
            for (kind, span) in all {
                let range = clamped(&span.range, &source.text);
                snippet = snippet.annotation(kind.span(range).label(span.text.as_str()));
            }
            let title =
                Level::ERROR.primary_title(diagnostic.message.as_str()).id(diagnostic.code.to_string());
            text.push_str(&renderer.render(&[Group::with_title(title).element(snippet)]));
            text.push_str("\n\n");
        }
        text
    }

    fn diagnostic(ranges: &[Range<usize>]) -> Diagnostic {
        let span = |range: &Range<usize>| Span { file: 0, range: range.clone(), text: "here".into() };
        Diagnostic {
            code: taut_model::codes::NOT_SHOWN,
            severity: Severity::Error,
            message: "something".into(),
            primary: span(&ranges[0]),
            secondary: ranges[1..].iter().map(span).collect(),
            notes: Vec::new(),
            help: None,
        }
    }

    fn source(text: String) -> SourceText {
        SourceText { name: "taut.toml".into(), text }
    }

    #[test]
    fn parts_of_a_text_look_as_in_the_whole() {
        let mut state = 1u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for _ in 0..500 {
            let mut text = String::new();
            for _ in 0..draw(40) {
                text.push_str(
                    ["a = 1", "", "\tb = \"µ\"", "[tables.of-some-length]", "c = [\n1,\n2]"][draw(5)],
                );
                text.push_str(["\n", "\r\n"][draw(2)]);
            }
            text.push_str(["", "last = 1", "last = 1\n\n\n"][draw(3)]);
            let mut ranges = Vec::new();
            for _ in 0..=draw(4) {
                let at = |at: usize| text.floor_char_boundary(at);
                let from = at(draw(text.len() + 1));
                ranges.push(from..at((from + draw(30)).min(text.len())));
            }
            let (of, source) = (diagnostic(&ranges), source(text));
            let shown = render(std::slice::from_ref(&of), &[&source], false, 100);
            assert_eq!(shown, whole(&[of], &source), "{:?} {ranges:?}", source.text);
        }
    }

    #[test]
    fn places_far_from_each_other_are_parts() {
        let line = "key = 1\n";
        let at = |number: usize| number * line.len()..number * line.len() + 3;
        let source = source(line.repeat(9_000));
        let of = diagnostic(&[at(8_000), at(1), at(2), at(8_001)]);
        let shown = render(&[of], &[&source], false, 100);
        in_order(&shown, &["--> taut.toml:8001:1", "8002 | key = 1", "::: taut.toml:2:1", "   3 | key = 1"]);
    }

    /// Checks that these excerpts occur in the text, in this order.
    fn in_order(text: &str, excerpts: &[&str]) {
        let mut rest = text;
        for excerpt in excerpts {
            let at = rest.find(excerpt).unwrap_or_else(|| panic!("{excerpt:?} is not in {text}"));
            rest = &rest[at + excerpt.len()..];
        }
    }
}
