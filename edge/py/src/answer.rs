// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Verdicts of analyses as tuples.

use taut_analysis::{Assumption, Verdict, Why};

/// The verdict, what the analysis found, and, if it could show nothing, the reason as a word and as a sentence.
pub(crate) type Answer<T> = (&'static str, Option<T>, Option<String>, Option<String>);

/// A verdict as a tuple; `show` converts what the analysis found.
pub(crate) fn answer<B, T>(verdict: Verdict<B>, show: impl FnOnce(B) -> T) -> Answer<T> {
    let not_shown = |value, word: &str, text: String| ("not shown", value, Some(word.into()), Some(text));
    match verdict {
        Verdict::Schedulable(found) => ("schedulable", Some(show(found)), None, None),
        Verdict::Unschedulable(found) => ("unschedulable", Some(show(found)), None, None),
        Verdict::NotShown(Why::Passes(found)) => {
            not_shown(Some(show(found)), "passes", "the bound exceeds the limit".into())
        }
        Verdict::NotShown(Why::Rate) => {
            not_shown(None, "rate", "more work arrives than is served, so there is no bound".into())
        }
        Verdict::NotShown(Why::Steps(steps)) => {
            not_shown(None, "steps", format!("gave up after {steps} steps"))
        }
        Verdict::NotApplicable(assumption) => {
            ("not applicable", None, Some(word(assumption)), Some(assumption.to_string()))
        }
    }
}

/// The name of an assumption, such as `constrained-deadline`.
pub(crate) fn word(assumption: Assumption) -> String {
    kebab(&format!("{assumption:?}"))
}

/// `CamelCase` as `camel-case`.
pub(crate) fn kebab(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}
