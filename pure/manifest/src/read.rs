// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reads a tree by the tables of keys, and reports everything that can be wrong with a single key or value.

use std::collections::BTreeSet;
use std::fmt::Display;

use taut_model::{Fault, KeyPath, Scalar, Size, codes, nearest};
use taut_time::Duration;

use crate::spec::{By, Choice, Key, Need, Table, Type, Variant, Word};
use crate::tree::{Entries, Node, Value};
use crate::{habits, homes, quantity};

/// A value that matches its type.
#[derive(Debug)]
pub(crate) enum Item<'t> {
    Text(&'t str),
    Duration(Duration),
    Size(Size),
    Permille(u32),
    Scalar(Scalar, u32),
    Integer(i64),
    Truth(bool),
    Word(&'static str),
    Auto,
    Many(Vec<Item<'t>>),
    Fields(Fields<'t>),
    /// Entries by name, in the order of the text; `None` for those that could not be read.
    Entries(Vec<(&'t str, Option<Item<'t>>)>),
    /// An item of a list that could not be read.
    Unread,
}

/// A table that was read. A key's default, if it has one, also replaces a wrong value.
#[derive(Debug)]
pub(crate) struct Fields<'t> {
    items: Vec<(&'static str, Item<'t>)>,
    /// Keys that the author wrote; other keys have their defaults.
    written: Vec<&'static str>,
    /// The variant's selector, if this table is a variant of a choice.
    pub(crate) variant: &'static str,
}

impl<'t> Fields<'t> {
    /// The fields of an empty table.
    pub(crate) fn of_defaults(table: &'static Table) -> Self {
        let items = table.keys.iter().filter_map(|key| match key.need {
            Need::Default(text) => Some((key.name, default(&key.kind, text)?)),
            _ => None,
        });
        Self { items: items.collect(), written: Vec::new(), variant: "" }
    }
    /// Whether the author wrote the key, so that its value is not a default.
    pub(crate) fn is_written(&self, name: &str) -> bool {
        self.written.contains(&name)
    }
    fn item(&self, name: &str) -> Option<&Item<'t>> {
        self.items.iter().find(|(key, _)| *key == name).map(|(_, item)| item)
    }
    pub(crate) fn text(&self, name: &str) -> Option<&'t str> {
        if let Item::Text(text) = self.item(name)? { Some(text) } else { None }
    }
    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        if let Item::Duration(duration) = self.item(name)? { Some(*duration) } else { None }
    }
    pub(crate) fn size(&self, name: &str) -> Option<Size> {
        if let Item::Size(size) = self.item(name)? { Some(*size) } else { None }
    }
    pub(crate) fn permille(&self, name: &str) -> Option<u32> {
        if let Item::Permille(permille) = self.item(name)? { Some(*permille) } else { None }
    }
    pub(crate) fn scalar(&self, name: &str) -> Option<Scalar> {
        if let Item::Scalar(scalar, _) = self.item(name)? { Some(*scalar) } else { None }
    }
    /// `None` for `"auto"`, too.
    pub(crate) fn integer(&self, name: &str) -> Option<i64> {
        if let Item::Integer(number) = self.item(name)? { Some(*number) } else { None }
    }
    pub(crate) fn truth(&self, name: &str) -> Option<bool> {
        if let Item::Truth(truth) = self.item(name)? { Some(*truth) } else { None }
    }
    pub(crate) fn word(&self, name: &str) -> Option<&'static str> {
        if let Item::Word(word) = self.item(name)? { Some(word) } else { None }
    }
    pub(crate) fn many(&self, name: &str) -> &[Item<'t>] {
        if let Some(Item::Many(items)) = self.item(name) { items } else { &[] }
    }
    pub(crate) fn fields(&self, name: &str) -> Option<&Fields<'t>> {
        if let Item::Fields(fields) = self.item(name)? { Some(fields) } else { None }
    }
    pub(crate) fn entries(&self, name: &str) -> &[(&'t str, Option<Item<'t>>)] {
        if let Some(Item::Entries(entries)) = self.item(name) { entries } else { &[] }
    }
}

/// Reads a tree, and collects faults.
pub(crate) struct Reader<'d> {
    pub(crate) faults: Vec<Fault>,
    /// Paths of values that the author did not state correctly: wrong, missing, or written under an unknown name.
    pub(crate) faulty: BTreeSet<String>,
    /// Tables in which missing keys are not reported, by file and start of header.
    damaged: &'d BTreeSet<(usize, usize)>,
    /// Tables with keys of another table, and the header that those keys lack; reported once.
    strayed: BTreeSet<(String, String)>,
}

/// A chosen table, and how certain the choice is.
#[derive(Clone, Copy)]
struct Chosen {
    choice: &'static Choice,
    variant: &'static Variant,
    /// Whether the author chose it explicitly; then keys of other variants are misplaced.
    said: bool,
    /// Whether the table can be of no other variant; then missing keys of this variant are reported.
    evident: bool,
}

/// The last name of a path, unless it is a position in a list.
fn own_name(path: &str) -> Option<&str> {
    path.rsplit('.').next().filter(|name| name.contains(|c: char| !c.is_ascii_digit()))
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The fault of a key of variant `other` in a table that is explicitly of the chosen variant.
fn misplaced(path: &str, name: &str, chosen: Chosen, other: &Variant) -> Fault {
    let shown = name.escape_debug();
    let place = KeyPath::key(join(path, name));
    let Chosen { choice, variant: Variant { selector, table }, .. } = chosen;
    match choice.by {
        By::Word(key) => {
            let message = format!("`{shown}` does not go with `{key} = \"{selector}\"`");
            let label = format!("a key of a {}", other.table.noun);
            Fault::error(codes::MISPLACED_KEY, message, place, label)
                .also(KeyPath::value(join(path, key)), format!("this is a {}", table.noun))
                .help(format!("remove it, or write `{key} = \"{}\"`", other.selector))
        }
        By::Presence => {
            let message = format!("`{shown}` does not go with `{selector}`");
            Fault::error(codes::MISPLACED_KEY, message, place, format!("goes with `{}`", other.selector))
                .also(KeyPath::key(join(path, selector)), format!("this makes it a {}", table.noun))
                .help("remove one of the two")
        }
    }
}

impl<'d> Reader<'d> {
    pub(crate) fn new(damaged: &'d BTreeSet<(usize, usize)>) -> Self {
        Self { faults: Vec::new(), faulty: BTreeSet::new(), damaged, strayed: BTreeSet::new() }
    }

    /// Reads a table; `None` if the value is not one.
    pub(crate) fn table<'t>(
        &mut self,
        path: &str,
        node: &'t Node<'_>,
        table: &'static Table,
    ) -> Option<Fields<'t>> {
        let entries = self.entries(path, node, table.noun, &Type::Table(table).example())?;
        Some(self.keys(path, node, entries, table, None))
    }

    fn entries<'t, 's>(
        &mut self,
        path: &str,
        node: &'t Node<'s>,
        noun: &str,
        example: &str,
    ) -> Option<&'t Entries<'s>> {
        match &node.value {
            Value::Table(entries) => Some(entries),
            Value::Broken => None,
            _ => {
                let message = match own_name(path) {
                    Some(name) => {
                        format!("`{}` must be a table, not {}", name.escape_debug(), node.type_name())
                    }
                    None => format!("a {noun} must be a table, not {}", node.type_name()),
                };
                self.faults.push(
                    Fault::error(codes::WRONG_TYPE, message, KeyPath::value(path), "not a table").help(
                        match (example, own_name(path)) {
                            ("{ … }", _) | (_, None) => {
                                "as in `{ key = \"value\" }`, or a header `[…]` with keys under it".to_owned()
                            }
                            (example, Some(name)) => {
                                let name = name.escape_debug();
                                match text_in(noun, &node.value, example) {
                                    Some(whole) => format!("write `{name} = {whole}`"),
                                    None => format!("as in `{name} = {example}`"),
                                }
                            }
                        },
                    ),
                );
                None
            }
        }
    }

    fn keys<'t>(
        &mut self,
        path: &str,
        node: &Node<'_>,
        entries: &'t Entries<'_>,
        table: &'static Table,
        chosen: Option<Chosen>,
    ) -> Fields<'t> {
        let variant = chosen.map_or("", |chosen| chosen.variant.selector);
        let mut fields = Fields { items: Vec::with_capacity(table.keys.len()), written: Vec::new(), variant };
        // Keys that are present under a wrong name.
        let mut misnamed = Vec::new();
        for (name, entry) in entries {
            if !table.keys.iter().any(|key| key.name == name) {
                let meant = self.unknown(path, name, table, chosen);
                if let Some(meant) = meant {
                    self.meant(path, name, entry, meant, node.get(meant.name));
                    misnamed.push(meant.name);
                }
            }
        }
        let hurt = self.hurt(path, node);
        for key in table.keys {
            let found = entries.iter().find(|(name, _)| name == key.name).map(|(_, node)| node);
            let item = match found {
                Some(node) => self.value(&join(path, key.name), node, key),
                None => {
                    let place = join(path, key.name);
                    let reported = hurt || misnamed.contains(&key.name) || self.faulty.contains(&place);
                    let wanted = match key.need {
                        Need::Required => true,
                        Need::Unless(key, other) => node.get(key).is_none_or(|of| of.get(other).is_none()),
                        Need::Ruled | Need::Optional | Need::Default(_) => false,
                    };
                    if wanted && !reported && chosen.is_none_or(|chosen| chosen.evident) {
                        self.missing(path, table, key);
                    }
                    // `meant` has noted the entries of a misnamed map by their names.
                    let named = path.is_empty() && matches!(key.kind, Type::Map(..)) && !hurt;
                    if (wanted || reported) && !named {
                        self.faulty.insert(place);
                    }
                    None
                }
            };
            if item.is_some() {
                fields.written.push(key.name);
            }
            let item = item.or_else(|| match key.need {
                Need::Default(text) => default(&key.kind, text),
                _ => None,
            });
            if let Some(item) = item {
                fields.items.push((key.name, item));
            }
        }
        fields
    }

    /// Whether part of a table could not be read, so that a key that seems missing may be in that part.
    fn hurt(&self, path: &str, node: &Node<'_>) -> bool {
        // Damage under the table's own header; for the whole file, under any of its headers.
        let of_table = |(file, start): &(usize, usize)| {
            *file == node.file && (*start == node.span.start || path.is_empty())
        };
        !self.damaged.is_empty() && self.damaged.iter().any(of_table)
    }

    /// Handles an unknown name that the author certainly meant as a key: the entries of a table like `[task.control]`
    /// or `[plaform]` exist, though at the wrong place. The entries of a map are read as well, to find their other
    /// faults. `own` is the value under the correct key, and takes precedence.
    fn meant(
        &mut self,
        path: &str,
        name: &str,
        node: &Node<'_>,
        meant: &'static Key,
        own: Option<&Node<'_>>,
    ) {
        let Value::Table(entries) = &node.value else { return };
        if matches!(meant.kind, Type::Map(..)) {
            let _ = self.value(&join(path, name), node, meant);
        }
        let right = join(path, meant.name);
        let entries = entries.iter().map(|(entry, _)| entry);
        let absent = entries.filter(|entry| own.is_none_or(|own| own.get(entry).is_none()));
        self.faulty.extend(absent.map(|entry| join(&right, entry)));
    }

    fn missing(&mut self, path: &str, table: &'static Table, key: &'static Key) {
        let name = key.name;
        let (code, message, label) = if path.is_empty() && name == "manifest" {
            (
                codes::FORMAT_VERSION,
                "the manifest does not state its format".to_owned(),
                "starts without `manifest = 1`",
            )
        } else {
            let named = own_name(path).filter(|_| path.contains('.'));
            let whose = named.map_or(String::new(), |name| format!(" `{}`", name.escape_debug()));
            (codes::MISSING_KEY, format!("the {}{whose} has no `{name}`", table.noun), "")
        };
        let is_whole = matches!(key.kind, Type::Table(_)) && path.is_empty();
        let (place, label) = match label {
            "" if is_whole => (join(path, name), format!("`[{name}]` belongs here")),
            "" => (join(path, name), format!("`{name}` belongs here")),
            label => (path.to_owned(), label.to_owned()),
        };
        let example = if name == "manifest" { "1".into() } else { key.kind.example() };
        let help = match is_whole {
            true => format!("add a table `[{name}]`: {}", lower_first(key.doc)),
            false => format!("add `{name} = {example}`: {}", lower_first(key.doc)),
        };
        self.faults.push(Fault::error(code, message, KeyPath::value(place), label).help(help));
    }

    /// Reports a key that the table does not have; returns the key that the author most likely meant.
    fn unknown(
        &mut self,
        path: &str,
        name: &str,
        table: &'static Table,
        chosen: Option<Chosen>,
    ) -> Option<&'static Key> {
        if let Some(chosen) = chosen
            && let Some(other) = chosen.choice.with_key(name)
        {
            if chosen.said {
                self.faults.push(misplaced(path, name, chosen, other));
            }
            return None;
        }
        let what = if path.is_empty() { "table or key" } else { "key" };
        let message = format!("unknown {what} `{}` in the {}", name.escape_debug(), table.noun);
        let fault = Fault::error(codes::UNKNOWN_KEY, message, KeyPath::key(join(path, name)), "unknown");
        let keys = table.keys.iter().map(|key| key.name);
        if let Some(help) = habits::key(table.noun, name) {
            self.faults.push(fault.help(help));
            return None;
        }
        let near = nearest(name, keys.clone());
        if let (None, Some(header)) = (near, homes::header_of(name)) {
            // Only the first such key is reported, for all that follow.
            if self.strayed.insert((path.to_owned(), header.clone())) {
                self.faults.push(fault.help(format!(
                    "it is a key of `{header}`: write that header above it, or move it there"
                )));
            }
            self.faulty.extend(homes::table_of(&header));
            return None;
        }
        self.faults.push(match near {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => {
                let list = keys.map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
                fault.help(format!("the known keys are {list}"))
            }
        });
        table.keys.iter().find(|key| Some(key.name) == near)
    }

    fn value<'t>(&mut self, path: &str, node: &'t Node<'_>, key: &'static Key) -> Option<Item<'t>> {
        self.typed(path, node, key.name, &key.kind)
    }

    /// Reads a value of a type. If the value is not of that type, reports it, notes its path and returns `None`.
    fn typed<'t>(
        &mut self,
        path: &str,
        node: &'t Node<'_>,
        name: &str,
        kind: &'static Type,
    ) -> Option<Item<'t>> {
        let item = self.read(path, node, name, kind);
        if item.is_none() {
            self.faulty.insert(path.to_owned());
        }
        item
    }

    fn read<'t>(
        &mut self,
        path: &str,
        node: &'t Node<'_>,
        name: &str,
        kind: &'static Type,
    ) -> Option<Item<'t>> {
        match (kind, &node.value) {
            (_, Value::Broken) => None,
            (Type::Auto(_), Value::Text(text)) if text == "auto" => Some(Item::Auto),
            (Type::Auto(inner), Value::Integer(_)) => self.typed(path, node, name, inner),
            (Type::OneOrMany(inner) | Type::List(inner), Value::List(items)) => {
                Some(self.list(path, items, name, inner))
            }
            (Type::OneOrMany(inner), Value::Text(_)) => {
                Some(Item::Many(vec![self.typed(path, node, name, inner)?]))
            }
            (Type::Table(table) | Type::Nested(table), _) => self.table(path, node, table).map(Item::Fields),
            (Type::Choice(choice), _) => self.choice(path, node, choice).map(Item::Fields),
            (Type::Map(noun, inner), Value::Table(entries)) => {
                Some(self.map(path, node, entries, noun, inner))
            }
            _ => plain(path, node, name, kind).map_err(|fault| self.faults.push(fault)).ok(),
        }
    }

    fn list<'t>(&mut self, path: &str, items: &'t [Node<'_>], name: &str, inner: &'static Type) -> Item<'t> {
        let mut many = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let item = self.typed(&format!("{path}.{at}"), item, &format!("{name}[{at}]"), inner);
            many.push(item.unwrap_or(Item::Unread));
        }
        Item::Many(many)
    }

    fn map<'t>(
        &mut self,
        path: &str,
        node: &Node<'_>,
        entries: &'t Entries<'_>,
        noun: &'static str,
        inner: &'static Type,
    ) -> Item<'t> {
        let mut items = Vec::with_capacity(entries.len());
        // An entry that could not be read may be any entry to which others refer.
        if self.hurt(path, node) {
            self.faulty.insert(path.to_owned());
        }
        let stray = self.stray(path, entries, noun, inner);
        for (name, node) in entries.iter().filter(|(name, _)| !stray.contains(&name.as_ref())) {
            items.push((name.as_ref(), self.typed(&join(path, name), node, noun, inner)));
        }
        Item::Entries(items)
    }

    /// Names in a map that are keys of a table whose header is missing; reported once, at the first.
    fn stray<'t>(
        &mut self,
        path: &str,
        entries: &'t Entries<'_>,
        noun: &str,
        inner: &'static Type,
    ) -> Vec<&'t str> {
        // Fields of a payload may have any name.
        if !matches!(inner, Type::Table(_) | Type::Choice(_)) {
            return Vec::new();
        }
        // A table with a header, or with keys of its own kind, is an entry with that name.
        let is_entry = |node: &Node<'_>| match &node.value {
            Value::Table(own) => {
                let mut names = own.iter().map(|(name, _)| name.as_ref());
                own.is_empty() || !node.is_inline() || names.any(|name| homes::has_key(inner, name))
            }
            Value::Broken => true,
            _ => false,
        };
        let loose = entries.iter().filter(|(_, node)| !is_entry(node)).map(|(name, _)| name.as_ref());
        let own = |name: &&str| homes::has_key(inner, name) || homes::header_of(name).is_some();
        let stray: Vec<&str> = loose.filter(own).collect();
        let Some(first) = stray.first() else { return stray };
        // The missing header: that of an entry of this map, whose name is not known, or that of another table.
        let header = match stray.iter().all(|name| homes::has_key(inner, name)) {
            true => Some(format!("[{path}.…]")),
            false => stray.iter().find_map(|name| homes::header_of(name)),
        };
        let header = header.unwrap_or_default();
        let message = format!("`{}` is in the place of a {noun} with a name", first.escape_debug());
        let label = format!("`{header}` is missing above");
        self.faults.push(
            Fault::error(codes::UNKNOWN_KEY, message, KeyPath::key(join(path, first)), label)
                .help(format!("write the header `{header}`, with a name, above this line")),
        );
        self.faulty.extend(homes::table_of(&header));
        stray
    }

    fn choice<'t>(&mut self, path: &str, node: &'t Node<'_>, choice: &'static Choice) -> Option<Fields<'t>> {
        let example = Type::Choice(choice).example();
        let entries = self.entries(path, node, choice.variants[0].table.noun, &example)?;
        let said = match choice.by {
            By::Presence => choice.variants.iter().find(|variant| node.get(variant.selector).is_some()),
            By::Word(key) => match word_of(choice, key, node).map(|(name, word)| (name, &word.value)) {
                None => choice.variants.first(),
                Some((name, Value::Text(text))) if name == key => {
                    choice.variants.iter().find(|variant| variant.selector == text)
                }
                Some(_) => None,
            },
        };
        let chosen = match said {
            Some(variant) => {
                // If the table has only keys of another variant, the word for that variant is missing, not this
                // variant's keys.
                let own = |v: &Variant| entries.iter().filter(|(name, _)| choice.only(v, name)).count();
                let other = choice.variants.iter().any(|other| own(other) > 0);
                let evident = own(variant) > 0 || !other || matches!(choice.by, By::Presence);
                Chosen { choice, variant, said: true, evident }
            }
            None => self.guess(path, node, choice),
        };
        Some(self.keys(path, node, entries, chosen.variant.table, Some(chosen)))
    }

    /// The variant that the author most likely meant, if the manifest does not state it: by the value in the place of
    /// the selector, or by the other keys.
    fn guess(&mut self, path: &str, node: &Node<'_>, choice: &'static Choice) -> Chosen {
        let selectors = choice.variants.iter().map(|variant| variant.selector);
        let names = match &node.value {
            Value::Table(entries) => entries.iter().map(|(name, _)| name.as_ref()).collect(),
            _ => Vec::new(),
        };
        let has = |variant: &Variant, name: &str| variant.table.keys.iter().any(|key| key.name == name);
        let known = |name: &str| choice.variants.iter().any(|variant| has(variant, name));
        let near = match choice.by {
            By::Presence => {
                names.iter().filter(|name| !known(name)).find_map(|name| nearest(name, selectors.clone()))
            }
            By::Word(key) => match word_of(choice, key, node).map(|(_, word)| &word.value) {
                Some(Value::Text(text)) => nearest(&text.to_lowercase(), selectors.clone()),
                _ => None,
            },
        };
        if let Some(variant) = choice.variants.iter().find(|variant| Some(variant.selector) == near) {
            return Chosen { choice, variant, said: false, evident: true };
        }
        if matches!(choice.by, By::Presence) {
            self.faulty.insert(path.to_owned());
            // The fault of a key that `habits` knows says the same.
            let habit = |name: &&str| habits::key(choice.variants[0].table.noun, name).is_some();
            if !self.hurt(path, node) && !names.iter().any(habit) {
                let selectors = selectors.map(|name| format!("`{name}`")).collect::<Vec<_>>();
                let message = format!("neither {} is given", selectors.join(" nor "));
                let label = format!("{} belongs here", selectors.join(" or "));
                let fault = Fault::error(codes::MISSING_KEY, message, KeyPath::value(path), label);
                let ways = choice.variants.iter();
                let ways = ways.map(|v| format!("`{}` ({})", v.selector, lower_first(v.table.doc)));
                let help = format!("use {}", ways.collect::<Vec<_>>().join(" or "));
                self.faults.push(fault.help(help));
            }
        }
        // The variant with the most keys that no other has; the first of equals.
        let own = |variant: &&'static Variant| names.iter().filter(|name| choice.only(variant, name)).count();
        let variant = choice.variants.iter().rev().max_by_key(own).unwrap_or(&choice.variants[0]);
        // By presence, the missing key is already reported.
        let evident = matches!(choice.by, By::Word(_)) && own(&variant) > 0;
        Chosen { choice, variant, said: false, evident }
    }
}

/// The key that chooses a variant and its value, or the entry whose name most likely means that key.
fn word_of<'n, 't>(choice: &Choice, key: &str, node: &'n Node<'t>) -> Option<(&'n str, &'n Node<'t>)> {
    let Value::Table(entries) = &node.value else { return None };
    let known = || choice.variants.iter().flat_map(|variant| variant.table.keys).map(|key| key.name);
    let exact = entries.iter().find(|(name, _)| name == key);
    let meant =
        || entries.iter().find(|(name, _)| known().all(|k| k != name) && nearest(name, known()) == Some(key));
    exact.or_else(meant).map(|(name, node)| (name.as_ref(), node))
}

/// The word if this version has it; otherwise, as an error, the known word that this version does not have, if there
/// is one.
fn word(words: &'static [Word], text: &str) -> Result<&'static str, Option<&'static Word>> {
    match words.iter().find(|word| word.name == text) {
        Some(word) if word.now => Ok(word.name),
        known => Err(known),
    }
}

fn not_a_word(name: &str, text: &str, words: &'static [Word], known: Option<&Word>, place: KeyPath) -> Fault {
    let now = words.iter().filter(|word| word.now).map(|word| word.name);
    let list = now.clone().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    if let Some(known) = known {
        let message = format!("`{text}` is not in this version");
        return Fault::error(codes::NOT_IN_THIS_VERSION, message, place, lower_first(known.doc))
            .help(format!("use one of {list}"));
    }
    let message = format!("`{}` is not a word for `{name}`", text.escape_debug());
    let fault = Fault::error(codes::UNKNOWN_WORD, message, place, "unknown");
    let names: Vec<&str> = now.clone().collect();
    match habits::word(&names, text).or_else(|| nearest(&text.to_lowercase(), now)) {
        Some(near) => fault.help(format!("did you mean \"{near}\"?")),
        None => fault.help(format!("use one of {list}")),
    }
}

/// Reads a value that contains no other values.
#[expect(clippy::result_large_err, reason = "a fault is rare, and never in a hot loop")]
fn plain<'t>(path: &str, node: &'t Node<'_>, name: &str, kind: &'static Type) -> Result<Item<'t>, Fault> {
    let place = KeyPath::value(path);
    match (kind, &node.value) {
        (Type::Text, Value::Text(text)) => Ok(Item::Text(text)),
        (Type::Duration, Value::Text(text)) => quantity::duration(text, place).map(Item::Duration),
        (Type::Size { min, max }, Value::Text(text)) => {
            let size = quantity::size(text, place.clone())?;
            if (min..=max).contains(&&size.as_bytes()) {
                return Ok(Item::Size(size));
            }
            Err(out_of_range(name, Size::from_bytes(*min), Size::from_bytes(*max), place))
        }
        (Type::Percent, Value::Text(text)) => quantity::percent(text, place).map(Item::Permille),
        (Type::Scalar, Value::Text(text)) => {
            quantity::scalar(text, place).map(|(scalar, len)| Item::Scalar(scalar, len))
        }
        (Type::Element, Value::Text(text)) => {
            quantity::element(text, place).map(|scalar| Item::Scalar(scalar, 1))
        }
        (Type::Truth, Value::Boolean(truth)) => Ok(Item::Truth(*truth)),
        (Type::Words(words), Value::Text(text)) => {
            word(words, text).map(Item::Word).map_err(|known| not_a_word(name, text, words, known, place))
        }
        (Type::Integer { min, max }, Value::Integer(number)) => {
            let number = number.and_then(|number| i64::try_from(number).ok());
            match number.filter(|number| (min..=max).contains(&number)) {
                Some(number) => Ok(Item::Integer(number)),
                None if name == "manifest" => Err(unknown_format(place)),
                None => Err(out_of_range(name, *min, *max, place)),
            }
        }
        (Type::Ruled { min, max }, Value::Integer(number)) => {
            // A number that does not fit is certainly out of the range; so is the nearest number that fits.
            let number = number.map(|n| n.clamp(i128::from(i64::MIN), i128::from(i64::MAX)));
            let number = number.and_then(|number| i64::try_from(number).ok());
            number.map(Item::Integer).ok_or_else(|| out_of_range(name, *min, *max, place))
        }
        (Type::Map(..), Value::List(items)) => Err(unnamed_entries(node, items, name, kind, place)),
        _ => Err(wrong_type(name, node, kind, place)),
    }
}

fn unknown_format(place: KeyPath) -> Fault {
    let message = "the manifest has a format that this version does not know";
    Fault::error(codes::FORMAT_VERSION, message, place, "not 1")
        .help("write `manifest = 1`, or use the version of taut for which the manifest was written")
}

fn out_of_range<T: Display>(name: &str, min: T, max: T, place: KeyPath) -> Fault {
    let message = format!("`{name}` is out of range");
    Fault::error(codes::OUT_OF_RANGE, message, place, format!("not in {min} to {max}"))
        .help(format!("use {min} to {max}"))
}

/// The fault of a list where the entries of a map belong.
fn unnamed_entries(node: &Node<'_>, items: &[Node<'_>], name: &str, kind: &Type, place: KeyPath) -> Fault {
    let named = |item: &Node<'_>| match item.get("name").map(|name| &name.value) {
        Some(Value::Text(name)) => Some(name.escape_debug().to_string()),
        _ => None,
    };
    let first = items.first().and_then(named).unwrap_or_else(|| "…".to_owned());
    wrong_type(name, node, kind, place).help(format!(
        "write one table for each entry, with the name in its header: `[{name}.{first}]`, without `name`"
    ))
}

fn wrong_type(name: &str, node: &Node<'_>, kind: &Type, place: KeyPath) -> Fault {
    let code = match (kind, &node.value) {
        (Type::Duration, Value::Integer(_) | Value::Float(_)) => codes::BAD_DURATION,
        (Type::Size { .. }, Value::Integer(_) | Value::Float(_)) => codes::BAD_SIZE,
        (Type::Percent, Value::Integer(_) | Value::Float(_)) => codes::BAD_PERCENT,
        _ => codes::WRONG_TYPE,
    };
    let message = format!("`{}` must be {}, not {}", name.escape_debug(), kind.name(), node.type_name());
    let label = match code {
        codes::WRONG_TYPE => node.type_name(),
        _ => "a quantity needs quotes and a unit",
    };
    let fault = Fault::error(code, message, place, label);
    match (kind, &node.value) {
        (Type::Duration, Value::Float(seconds)) if quantity::of_seconds(*seconds).is_some() => {
            let time = quantity::of_seconds(*seconds).unwrap_or_default();
            fault.help(format!("write \"{time}\" if seconds are meant"))
        }
        // A number this large means bytes, not a number of larger units.
        (Type::Size { .. }, Value::Integer(Some(number @ 4096..))) if u64::try_from(*number).is_ok() => {
            let size = Size::from_bytes(u64::try_from(*number).unwrap_or(u64::MAX));
            fault.help(format!("write \"{size}\" if bytes are meant"))
        }
        (Type::List(Type::Integer { .. }), Value::Integer(Some(number))) => {
            fault.help(format!("write [{number}]"))
        }
        (Type::List(Type::Integer { .. }), Value::Text(text)) if quantity::range(text).is_some() => {
            let numbers: Vec<String> =
                quantity::range(text).into_iter().flatten().map(|number| number.to_string()).collect();
            fault.help(format!("write [{}]", numbers.join(", ")))
        }
        (
            Type::Integer { .. } | Type::Ruled { .. } | Type::Auto(Type::Integer { .. } | Type::Ruled { .. }),
            Value::Text(text),
        ) if text.trim().parse::<i64>().is_ok() => {
            fault.help(format!("write {} without quotes", text.trim()))
        }
        (Type::Auto(Type::Ruled { min, max }), _) if name == "priority" => {
            fault.help(format!("use {min} to {max}, larger = more urgent, or \"auto\""))
        }
        (Type::Truth, Value::Text(text)) if text.parse::<bool>().is_ok() => {
            fault.help(format!("write {text} without quotes"))
        }
        (Type::Duration, Value::Integer(Some(number @ 0..))) => {
            fault.help(format!("write \"{number}ms\" if milliseconds are meant"))
        }
        (Type::Size { .. }, Value::Integer(Some(number @ 0..))) => {
            fault.help(format!("write \"{number}KiB\" if kibibytes are meant"))
        }
        (Type::Percent, Value::Integer(Some(number @ 0..))) => fault.help(format!("write \"{number}%\"")),
        (Type::Auto(inner), _) => fault.help(format!("as in {}, or \"auto\"", inner.example())),
        _ => fault.help(format!("as in {}", kind.example())),
    }
}

/// The example of a table with the author's single value in it, if the value fits there.
fn text_in(noun: &str, value: &Value<'_>, example: &str) -> Option<String> {
    let Value::Text(text) = value else { return None };
    let (stands, fits) = match noun {
        "periodic arrival" => ("\"8ms\"", text.parse::<Duration>().is_ok()),
        "execution time" => ("\"1ms\"", text.parse::<Duration>().is_ok()),
        "payload of one array" => ("\"i16\"", Scalar::ALL.iter().any(|(name, _)| name == text)),
        _ => return None,
    };
    fits.then(|| example.replacen(stands, &format!("\"{text}\""), 1))
}

/// The value of a default's text; `None` only for a faulty table of keys, which a test rules out.
fn default<'t>(kind: &Type, text: &'static str) -> Option<Item<'t>> {
    let place = KeyPath::value("");
    match kind {
        Type::Text => Some(Item::Text(text)),
        Type::Duration => quantity::duration(text, place).ok().map(Item::Duration),
        Type::Size { .. } => quantity::size(text, place).ok().map(Item::Size),
        Type::Percent => quantity::percent(text, place).ok().map(Item::Permille),
        Type::Integer { .. } | Type::Ruled { .. } => text.parse().ok().map(Item::Integer),
        Type::Truth => text.parse().ok().map(Item::Truth),
        Type::Words(words) => word(words, text).ok().map(Item::Word),
        Type::Auto(_) if text == "auto" => Some(Item::Auto),
        Type::List(_) if text == "[]" => Some(Item::Many(Vec::new())),
        _ => None,
    }
}

/// A sentence as it continues after a colon, without its full stop.
fn lower_first(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut chars = sentence.chars();
    match chars.next() {
        // Abbreviations keep their capitals.
        Some(first) if !chars.as_str().starts_with(|c: char| c.is_uppercase()) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_in_its_range() {
        static BETWEEN: Type = Type::Size { min: 64 << 10, max: 1 << 20 };
        let read = |text: &str| {
            let node = Node { file: 0, key: 0..0, span: 0..0, value: Value::Text(text.to_owned().into()) };
            match plain("tasks.servo.stack", &node, "stack", &BETWEEN) {
                Ok(Item::Size(size)) => Ok(size.as_bytes()),
                Ok(other) => panic!("{other:?}"),
                Err(fault) => Err((fault.code, fault.help)),
            }
        };
        assert_eq!([read("64KiB"), read("1MiB")], [Ok(64 << 10), Ok(1 << 20)]);
        let outside = Err((codes::OUT_OF_RANGE, Some("use 64KiB to 1MiB".to_owned())));
        for text in ["65535B", "1048577B", "0B"] {
            assert_eq!(read(text), outside, "{text}");
        }
    }
}
