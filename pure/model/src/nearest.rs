// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

/// The candidate that a mistyped name most likely means (Jaro-Winkler similarity above 0.8, the first of equals).
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let mut best = None;
    for candidate in candidates {
        let likeness = strsim::jaro_winkler(name, candidate);
        if likeness > best.map_or(0.8, |(likeness, _)| likeness) {
            best = Some((likeness, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        let keys = ["deadline", "priority", "core"];
        assert_eq!(nearest("dedline", keys), Some("deadline"));
        assert_eq!(nearest("prioriy", keys), Some("priority"));
        assert_eq!(nearest("zebra", keys), None);
    }
}
