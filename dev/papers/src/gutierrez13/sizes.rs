// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Table 1: the size of each rule, counted from its source by a method that the page states.

use crate::page::{Values, table};

/// The source of a rule.
struct Source {
    text: &'static str,
    /// The name of its types.
    name: &'static str,
    /// The source of its mutex, if the rule's own source does not define it.
    locks: &'static str,
    mutex: &'static str,
    task: &'static str,
    /// The name of its attribute.
    attribute: &'static str,
    /// The source that reads and changes the attributes that all rules have.
    attributes: &'static str,
}

const SRP_LIST: Source = Source {
    text: include_str!("unsound/srp_list.rs"),
    name: "SrpList",
    locks: "",
    mutex: "SrpListResource",
    task: "SrpListTask",
    attribute: "ceiling",
    attributes: "",
};
const DFP_QUEUE: Source = Source {
    text: include_str!("unsound/dfp_queue.rs"),
    name: "DfpQueue",
    locks: "",
    mutex: "DfpQueueResource",
    task: "DfpQueueTask",
    attribute: "floor",
    attributes: "",
};
const SRP: Source = Source {
    text: include_str!("../../../../pure/policy/src/srp.rs"),
    name: "Srp",
    locks: SECTIONS,
    mutex: "LocalResource",
    task: "SrpTask",
    attribute: "ceiling",
    attributes: ATTRIBUTES,
};
const DFP: Source = Source {
    text: include_str!("../../../../pure/policy/src/dfp.rs"),
    name: "Dfp",
    locks: SECTIONS,
    mutex: "LocalResource",
    // DFP shares the fields of a task with all rules that order tasks by one number.
    task: "",
    attribute: "floor",
    attributes: ATTRIBUTES,
};
/// The locks under [`SRP`], [`DFP`] and immediate ceilings.
const SECTIONS: &str = include_str!("../../../../pure/policy/src/sections.rs");
/// Reads and changes the levels, ceilings and floors of any rule.
const ATTRIBUTES: &str = include_str!("../../../../pure/policy/src/attribute.rs");
/// The source that [`DFP`] shares with other rules.
const SHARED: &str = include_str!("../../../../pure/policy/src/ranked.rs");

/// The fields of any mutex: its holder, and how deep it is nested inside of others.
const OF_ANY_MUTEX: [&str; 3] = ["holder", "depth", "below"];
/// The fields of a task under EDF.
const OF_ANY_TASK: [&str; 5] = ["relative", "absolute", "state", "held", "last"];

/// Lines of code up to the tests: no blank lines, no comments, no `use`.
fn code_lines(text: &str) -> Vec<&str> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut importing = false;
    let mut lines = Vec::new();
    for line in code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        importing |= line.starts_with("use ") || line.starts_with("pub use ");
        if !importing {
            lines.push(line);
        }
        importing &= !line.ends_with(';');
    }
    lines
}

/// The number of code lines in `source` that `other` does not have. The names of types do not count as a difference.
fn own_lines(source: &Source, other: &Source) -> usize {
    let lines = |source: &Source| {
        let lines = code_lines(source.text).into_iter().map(|line| line.replace(source.name, "RULE"));
        lines.collect::<Vec<_>>()
    };
    let mut others = lines(other);
    let shared = lines(source).into_iter().filter(|line| {
        let found = others.iter().position(|other| other == line);
        found.map(|at| others.swap_remove(at)).is_some()
    });
    let shared = shared.count();
    code_lines(source.text).len() - shared
}

/// The names of a struct's fields.
fn fields<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let Some((_, body)) = text.split_once(&format!("struct {name} {{")) else { return Vec::new() };
    let body = body.split('}').next().unwrap_or_default();
    let names = body.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let names = names.filter_map(|line| line.split_once(':')).map(|(name, _)| name);
    names.map(|name| name.rsplit(' ').next().unwrap_or(name)).collect()
}

/// Public functions with a word in their signature.
fn functions<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let heads = text.split("pub fn ").skip(1).filter_map(|rest| rest.split('{').next());
    heads.filter(|head| head.contains(word)).filter_map(|head| head.split(['(', '<']).next()).collect()
}

/// A count, and the names that were counted.
fn named(names: &[&str]) -> String {
    match names {
        [] => "0".into(),
        _ => format!("{}: `{}`", names.len(), names.join("`, `")),
    }
}

impl Source {
    fn mutex_fields(&self) -> Vec<&str> {
        let text = if self.locks.is_empty() { self.text } else { self.locks };
        fields(text, self.mutex).into_iter().filter(|name| !OF_ANY_MUTEX.contains(name)).collect()
    }

    fn mutex_operations(&self) -> Vec<&str> {
        // Whatever a rule calls its attribute, the common source calls it a ceiling.
        let own = functions(self.text, self.attribute);
        own.into_iter().chain(functions(self.attributes, "ceiling")).collect()
    }

    fn task_operations(&self) -> Vec<&str> {
        functions(self.text, "level").into_iter().chain(functions(self.attributes, "level")).collect()
    }

    fn task_fields(&self) -> Vec<&str> {
        let all = fields(self.text, self.task);
        all.into_iter().filter(|name| !OF_ANY_TASK.contains(name)).collect()
    }
}

/// Fills in the table.
pub(super) fn report(values: &mut Values) {
    let ours = [(&SRP_LIST, &DFP_QUEUE), (&DFP_QUEUE, &SRP_LIST), (&SRP, &DFP), (&DFP, &SRP)];
    let row = |name: &str, printed: [u32; 2], of: &dyn Fn(&Source, &Source) -> String| {
        let mut row = vec![name.to_owned()];
        row.extend(printed.map(|count| count.to_string()));
        row.extend(ours.iter().map(|(source, other)| of(source, other)));
        row
    };
    let head =
        ["", "SRP, printed", "DFP, printed", "SRP & list", "DFP & list or heap", "SRP, ours", "DFP, ours"];
    let rows = vec![
        head.map(str::to_owned).to_vec(),
        row("mutex fields", [2, 2], &|source, _| named(&source.mutex_fields())),
        row("mutex operations", [4, 4], &|source, _| named(&source.mutex_operations())),
        row("task fields", [1, 0], &|source, _| named(&source.task_fields())),
        row("task operations", [4, 0], &|source, _| named(&source.task_operations())),
        row("code lines", [54, 34], &|source, other| {
            format!("{} of {}", own_lines(source, other), code_lines(source.text).len())
        }),
    ];
    values.set("table 1", table(&rows));
    values.set("lock lines", code_lines(SECTIONS).len());
    values.set("shared lines", code_lines(SHARED).len());
    values.set("mutex common", OF_ANY_MUTEX.map(|name| format!("`{name}`")).join(", "));
    values.set("task common", OF_ANY_TASK.map(|name| format!("`{name}`")).join(", "));
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "//! A head.\nuse a::{\n    b,\n};\n\n/// A lock.\npub struct Lock {\n    /// Its ceiling.\n    pub(crate) \
                        ceiling: u64,\n    holder: u32,\n}\n\nimpl Lock {\n    pub fn set_ceiling(\n        &mut self,\n    ) {\n    }\n    \
                        fn own(ceiling: u64) {}\n}\n#[cfg(test)]\nmod tests {}\n";

    #[test]
    fn lines_fields_and_functions() {
        assert_eq!(code_lines(TEXT).len(), 11);
        assert_eq!(fields(TEXT, "Lock"), ["ceiling", "holder"]);
        assert_eq!(functions(TEXT, "ceiling"), ["set_ceiling"]);
        assert_eq!((named(&[]), named(&["a", "b"])), ("0".to_owned(), "2: `a`, `b`".to_owned()));
    }

    #[test]
    fn lines_of_ones_own() {
        let (name, none) = ("Srp", "");
        let source = |text| Source {
            text,
            name,
            locks: none,
            mutex: none,
            task: none,
            attribute: none,
            attributes: none,
        };
        let (one, other) = (source("a\nb\nb\nSrp {\n"), Source { name: "Dfp", ..source("b\nDfp {\nc\n") });
        assert_eq!((own_lines(&one, &other), own_lines(&other, &one)), (2, 1));
    }

    /// By the paper's method, the published forms have the sizes that the paper prints.
    #[test]
    fn gutierrez13_table_1() {
        assert_eq!((SRP_LIST.mutex_fields().len(), DFP_QUEUE.mutex_fields().len()), (2, 2));
        assert_eq!((SRP_LIST.task_fields().len(), DFP_QUEUE.task_fields().len()), (1, 0));
        assert!(own_lines(&SRP_LIST, &DFP_QUEUE) > 0 && own_lines(&DFP_QUEUE, &SRP_LIST) > 0);
        assert_eq!(
            (SRP.mutex_fields(), DFP.mutex_fields()),
            (vec!["limit", "before"], vec!["limit", "before"])
        );
        assert_eq!(DFP.mutex_operations(), ["new", "ceiling", "set_ceiling"]);
        assert_eq!((SRP.task_fields(), SRP.task_operations()), (vec!["stacked"], vec!["level", "set_level"]));
    }
}
