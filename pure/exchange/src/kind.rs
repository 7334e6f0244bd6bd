// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Which language a text is in; if it is none that we read, what else it may be.

use crate::{SourceFormat, Unreadable, from, xml};

/// The language that a text looks like.
pub(crate) fn guess(text: &str) -> Option<SourceFormat> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if from::mast::looks_like(text) {
        return Some(SourceFormat::Mast);
    }
    match xml::root(text)? {
        "cheddar" => Some(SourceFormat::Cheddar),
        "Amalthea" => Some(SourceFormat::Amalthea),
        "manifest" => Some(SourceFormat::RtDroid),
        "taskset" | "testpoint" => Some(SourceFormat::SchedCat),
        "MAST_MODEL" => Some(SourceFormat::Mast),
        _ => None,
    }
}

/// The language in which to read a text.
pub(crate) fn of(text: &str, wished: Option<SourceFormat>) -> Result<SourceFormat, Unreadable> {
    let whole = |why: String| Err(Unreadable { at: None, why });
    if text.trim().is_empty() {
        return whole("it is empty".into());
    }
    match (wished, guess(text)) {
        (Some(wished), Some(found)) if wished != found => {
            let (found, name, wished) = (found.title(), found.name(), wished.title());
            whole(format!("it looks like {found}, not {wished}: `--from {name}`, or no `--from`"))
        }
        (Some(source), _) | (None, Some(source)) => Ok(source),
        (None, None) => {
            let names: Vec<_> = SourceFormat::ALL.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            match other(text) {
                Some(other) => whole(format!("it looks like {other}; taut reads {names}")),
                None => whole(format!("in none of the formats that taut reads: {names}")),
            }
        }
    }
}

/// A description of a text in a format that we do not read.
fn other(text: &str) -> Option<&'static str> {
    let begins = |word: &str| {
        let start = text.trim_start();
        start.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    match xml::root(text) {
        Some("simulation") => return Some("SimSo's, which taut writes but does not read"),
        Some("REAL_TIME_SITUATION") => return Some("results of MAST: taut reads its model"),
        Some("XMI" | "MAST_Model" | "Model") if text.contains("mast2") => {
            return Some("MAST 2, which taut does not read: write it in the form of MAST 1");
        }
        _ => {}
    }
    match () {
        () if begins("real_time_situation") => Some("results of MAST: taut reads its model"),
        () if begins("{") && text.contains("\"tasks\"") => {
            Some("rt-app's, which taut writes but does not read")
        }
        () if text.lines().any(|line| line.trim_end() == "manifest = 1") => {
            Some("a manifest of taut, which needs no import")
        }
        () => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "test code")]
mod tests {
    use super::*;

    #[test]
    fn what_else_it_may_be() {
        for (text, why) in [
            ("", "it is empty"),
            (" \n", "it is empty"),
            (
                "<?xml version=\"1.0\"?><simulation/>",
                "it looks like SimSo's, which taut writes but does not read; taut reads",
            ),
            ("{ \"tasks\": {} }", "it looks like rt-app's, which taut writes"),
            ("Real_Time_Situation (", "it looks like results of MAST"),
            ("# mine\nmanifest = 1\n", "it looks like a manifest of taut, which needs no import"),
            ("<xmi:XMI xmlns:mast2=\"x\"/>", "it looks like MAST 2, which taut does not read"),
            ("<html/>", "in none of the formats that taut reads: cheddar, schedcat, amalthea, mast, rtdroid"),
        ] {
            let found = of(text, None).unwrap_err().why;
            assert!(found.starts_with(why), "{text}: {found}");
        }
        let found = of("<cheddar/>", Some(SourceFormat::Mast)).unwrap_err().why;
        assert_eq!(found, "it looks like Cheddar, not MAST: `--from cheddar`, or no `--from`");
        assert_eq!(of("\u{feff}<cheddar/>", None), Ok(SourceFormat::Cheddar));
        assert_eq!(of("<x/>", Some(SourceFormat::Mast)), Ok(SourceFormat::Mast));
    }
}
