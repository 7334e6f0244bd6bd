// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The text form of MAST: `Kind ( Key => value, ... );`. Letter case is ignored.

use std::cell::Cell;

use crate::place::Lines;
use crate::sketch::Sketch;
use crate::unread::Known;
use crate::{TextPosition, Unreadable};

/// How deep lists may nest.
const DEPTH: usize = 32;

/// A value after an arrow, or in a list.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Word(String),
    List(Vec<Entry>),
}

/// A value, with the key before it if it has one.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) at: TextPosition,
    /// In lower case; empty if there is none.
    pub(super) key: String,
    pub(super) value: Value,
    /// Whether the import has read its word.
    read: Cell<bool>,
}

/// `Kind ( ... );`
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) at: TextPosition,
    /// In lower case.
    pub(super) kind: String,
    pub(super) entries: Vec<Entry>,
}

/// The entry with a key, which is given in lower case.
pub(super) fn entry<'e>(entries: &'e [Entry], key: &str) -> Option<&'e Entry> {
    entries.iter().find(|entry| entry.key == key)
}

/// The word after a key; empty if there is none.
pub(super) fn word<'e>(entries: &'e [Entry], key: &str) -> &'e str {
    entry(entries, key).map_or("", Entry::word)
}

/// The list after a key; empty if there is none.
pub(super) fn list<'e>(entries: &'e [Entry], key: &str) -> &'e [Entry] {
    entry(entries, key).map_or(&[], Entry::list)
}

/// Records all of these as read, because they are reported as a whole.
pub(super) fn leave_out(entries: &[Entry]) {
    entries.iter().for_each(|entry| {
        entry.word();
        leave_out(entry.list());
    });
}

/// All words of these entries, in order, for a report.
pub(super) fn words<'e>(entries: &'e [Entry]) -> Vec<&'e str> {
    let of = |entry: &'e Entry| match &entry.value {
        Value::Word(word) => vec![word.as_str()],
        Value::List(inside) => words(inside),
    };
    entries.iter().flat_map(of).collect()
}

impl Item {
    /// Reports each value that the import did not read, except those that carry no information. A list of which the
    /// import read nothing gives one report.
    pub(super) fn report_unread(&self, known: &Known, sketch: &mut Sketch) {
        let found = self.entries.iter().find(|entry| entry.key == "name").map(|entry| &entry.value);
        let name = match found {
            Some(Value::Word(name)) => format!("{} {name}", self.kind),
            _ => self.kind.clone(),
        };
        for entry in &self.entries {
            entry.report_unread(&entry.key, &name, known, sketch);
        }
    }
}

impl Entry {
    pub(super) fn new(at: TextPosition, key: &str, value: Value) -> Self {
        Self { at, key: key.to_owned(), value, read: Cell::new(false) }
    }

    fn is_read(&self) -> bool {
        self.read.get() || matches!(&self.value, Value::List(inside) if inside.iter().any(Self::is_read))
    }

    fn is_dull(&self, known: &Known) -> bool {
        match &self.value {
            Value::Word(word) => known.is_dull(&self.key, word),
            Value::List(inside) => inside.iter().all(|entry| entry.is_dull(known)),
        }
    }

    /// `key` is the key of the list, for an entry that has none of its own.
    fn report_unread(&self, key: &str, of: &str, known: &Known, sketch: &mut Sketch) {
        match &self.value {
            Value::List(inside) if self.is_read() => {
                for entry in inside {
                    let key = if entry.key.is_empty() { key } else { &entry.key };
                    entry.report_unread(key, of, known, sketch);
                }
            }
            _ if self.is_read() || self.is_dull(known) => {}
            _ => {
                let values = words(std::slice::from_ref(self)).join(" ");
                sketch.lose(self.at, known.left_out(key, of, &values));
            }
        }
    }

    /// Its list; empty if the value is a word.
    pub(super) fn list(&self) -> &[Self] {
        match &self.value {
            Value::List(entries) => entries,
            Value::Word(_) => &[],
        }
    }

    /// Its word; empty if the value is a list.
    pub(super) fn word(&self) -> &str {
        match &self.value {
            Value::Word(word) => {
                self.read.set(true);
                word
            }
            Value::List(_) => "",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Open,
    Close,
    Comma,
    Semicolon,
    Arrow,
    End,
}

struct Parser<'t> {
    text: &'t str,
    lines: Lines<'t>,
    /// The byte at which `token` starts, and the first byte after it.
    start: usize,
    next: usize,
    token: Token,
}

/// All items of a text.
pub(super) fn items(text: &str) -> Result<Vec<Item>, Unreadable> {
    let mut parser = Parser { text, lines: Lines::new(text), start: 0, next: 0, token: Token::End };
    parser.advance()?;
    let mut items = Vec::new();
    while parser.token != Token::End {
        let at = parser.at();
        let Token::Word(kind) = parser.token.clone() else {
            return Err(parser.wanted("a kind, as in `Operation (`"));
        };
        parser.advance()?;
        let entries = parser.list(DEPTH)?;
        parser.take(&Token::Semicolon, "`;`")?;
        items.push(Item { at, kind: kind.to_ascii_lowercase(), entries });
    }
    Ok(items)
}

impl Parser<'_> {
    fn at(&self) -> TextPosition {
        self.lines.at(self.start)
    }

    fn wanted(&self, what: &str) -> Unreadable {
        let found = if self.token == Token::End { "the end of the text" } else { "something else" };
        Unreadable { at: Some(self.at()), why: format!("not MAST: {found} where {what} belongs") }
    }

    fn take(&mut self, token: &Token, what: &str) -> Result<(), Unreadable> {
        if self.token != *token {
            return Err(self.wanted(what));
        }
        self.advance()
    }

    fn advance(&mut self) -> Result<(), Unreadable> {
        let bytes = self.text.as_bytes();
        loop {
            while bytes.get(self.next).is_some_and(u8::is_ascii_whitespace) {
                self.next += 1;
            }
            if !self.text[self.next..].starts_with("--") {
                break;
            }
            self.next =
                self.text[self.next..].find('\n').map_or(self.text.len(), |length| self.next + length);
        }
        self.start = self.next;
        let rest = &self.text[self.start..];
        let (token, length) = match rest.chars().next() {
            None => (Token::End, 0),
            Some('(') => (Token::Open, 1),
            Some(')') => (Token::Close, 1),
            Some(',') => (Token::Comma, 1),
            Some(';') => (Token::Semicolon, 1),
            Some('=') if rest.starts_with("=>") => (Token::Arrow, 2),
            Some('"') => match rest[1..].find('"') {
                Some(end) => (Token::Word(rest[1..=end].to_owned()), end + 2),
                None => return Err(self.wanted("the end of a name in quotes")),
            },
            Some(c) if c.is_alphanumeric() || "_+-.".contains(c) => {
                let end =
                    rest.find(|c: char| !c.is_alphanumeric() && !"_+-.:/%".contains(c)).unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), end)
            }
            Some(_) => {
                self.token = Token::Semicolon;
                return Err(self.wanted("a word, `(`, `)`, `,`, `;` or `=>`"));
            }
        };
        self.next = self.start + length;
        self.token = token;
        Ok(())
    }

    /// `( a, b => c, (d) )`
    fn list(&mut self, depth: usize) -> Result<Vec<Entry>, Unreadable> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Unreadable { at: Some(self.at()), why: "lists inside lists too deep".into() });
        };
        self.take(&Token::Open, "`(`")?;
        let mut entries = Vec::new();
        while self.token != Token::Close {
            let at = self.at();
            let mut value = self.value(depth)?;
            let mut key = String::new();
            if self.token == Token::Arrow {
                let Value::Word(word) = value else { return Err(self.wanted("a key")) };
                key = word.to_ascii_lowercase();
                self.advance()?;
                value = self.value(depth)?;
            }
            entries.push(Entry::new(at, &key, value));
            if self.token != Token::Close {
                self.take(&Token::Comma, "`,` or `)`")?;
            }
        }
        self.advance()?;
        Ok(entries)
    }

    fn value(&mut self, depth: usize) -> Result<Value, Unreadable> {
        match self.token.clone() {
            Token::Open => Ok(Value::List(self.list(depth)?)),
            Token::Word(word) => {
                self.advance()?;
                Ok(Value::Word(word))
            }
            _ => Err(self.wanted("a value")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "test code")]
mod tests {
    use super::*;

    #[test]
    fn places_of_mistakes() {
        for (text, error) in [
            ("Operation", "1:10: not MAST: the end of the text where `(` belongs"),
            ("Operation (\n Name => a )", "2:13: not MAST: the end of the text where `;` belongs"),
            ("Operation (Name => );", "1:20: not MAST: something else where a value belongs"),
            ("Operation (Name a);", "1:17: not MAST: something else where `,` or `)` belongs"),
            (
                "-- nothing\n $",
                "2:2: not MAST: something else where a word, `(`, `)`, `,`, `;` or `=>` belongs",
            ),
            ("A (Name => \"b);", "1:12: not MAST: something else where the end of a name in quotes belongs"),
        ] {
            assert_eq!(items(text).unwrap_err().to_string(), error, "{text}");
        }
        let deep = format!("A {};", "(".repeat(100));
        assert!(items(&deep).unwrap_err().to_string().ends_with("too deep"));
        assert_eq!(items("-- a comment").unwrap().len(), 0);
    }
}
