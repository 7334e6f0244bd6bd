// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What an application offers: its clients, how many processes of each are attached, and their channels. Who may attach may ask,
//! takes no name by it, and receives no memory.

use crate::DirectoryError;
use crate::directory::{Directory, TEXT_LIMIT, is_name};

/// The name in a request for the list. No client of a manifest has a `_` in its name.
pub(crate) const LISTING: &str = "_channels";

/// The last line of a list that would be longer than a reply may be.
const CUT: &str = "#\n";

/// A client that may attach, as the application describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedClient {
    /// Its name.
    pub client: String,
    /// How many processes may be attached under this name at a time.
    pub max_attached: usize,
    /// How many were when the application answered.
    pub attached: usize,
    /// Its channels.
    pub directory: Directory,
}

/// What an application offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferedClients {
    /// The clients, in the order of the manifest.
    pub clients: Vec<OfferedClient>,
    /// Whether these are all: a reply holds 64 KiB.
    pub complete: bool,
}

/// A client in the list.
pub(crate) struct Listed<'o> {
    pub(crate) client: &'o str,
    pub(crate) max_attached: usize,
    pub(crate) attached: usize,
    /// The text of its directory.
    pub(crate) text: &'o str,
}

/// The list of these clients.
pub(crate) fn text<'o>(clients: impl Iterator<Item = Listed<'o>>) -> String {
    let mut text = String::new();
    for Listed { client, max_attached, attached, text: directory } in clients {
        let head = format!("#{client} max={max_attached} attached={attached}\n");
        if text.len() + head.len() + directory.len() > TEXT_LIMIT - CUT.len() {
            return text + CUT;
        }
        text += &head;
        text += directory;
    }
    text
}

impl OfferedClients {
    /// Parses any text. Work and memory are linear in the text.
    ///
    /// # Errors
    /// The first line that is malformed.
    pub(crate) fn from_text(text: &str) -> Result<Self, DirectoryError> {
        let (whole, complete) = match text.strip_suffix(CUT) {
            Some(whole) if whole.is_empty() || whole.ends_with('\n') => (whole, false),
            _ => (text, true),
        };
        let mut clients: Vec<OfferedClient> = Vec::new();
        let (mut line, mut blocks) = (0, whole.split('#'));
        if blocks.next().is_none_or(|before| !before.is_empty()) {
            return Err(DirectoryError { line: 1, problem: "the list does not begin with a client" });
        }
        for block in blocks {
            let (head, entries) = block.split_once('\n').unwrap_or((block, ""));
            let wrong = |problem| DirectoryError { line: line + 1, problem };
            let (client, max_attached, attached) =
                head_of(head).ok_or_else(|| wrong("the head of a client is malformed"))?;
            let directory = Directory::from_text(entries)
                .map_err(|error| DirectoryError { line: line + 1 + error.line, ..error })?;
            line += block.lines().count();
            clients.push(OfferedClient { client: client.to_owned(), max_attached, attached, directory });
        }
        Ok(Self { clients, complete })
    }
}

/// The name and the numbers in the head of a client's entries.
fn head_of(line: &str) -> Option<(&str, usize, usize)> {
    let mut fields = line.split(' ');
    let client = fields.next().filter(|name| is_name(name))?;
    let max_attached = fields.next()?.strip_prefix("max=")?.parse().ok()?;
    let attached = fields.next()?.strip_prefix("attached=")?.parse().ok()?;
    fields.next().is_none().then_some((client, max_attached, attached))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINE: &str = "levels reads mechanism=sdrtw value=8 capacity=1 readers=0 offset=128 size=1024 triggered=no waits=no \
                        history=0 service=no layout=u64\n";

    fn listed<'o>(client: &'o str, attached: usize, text: &'o str) -> Listed<'o> {
        Listed { client, max_attached: 8, attached, text }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let written = text([listed("panel", 3, LINE), listed("idle", 2, "")].into_iter());
        let read = OfferedClients::from_text(&written).unwrap();
        assert!(read.complete);
        let seen = read
            .clients
            .iter()
            .map(|of| (of.client.as_str(), of.max_attached, of.attached, of.directory.to_text()));
        assert_eq!(
            seen.collect::<Vec<_>>(),
            [("panel", 8, 3, LINE.to_owned()), ("idle", 8, 2, String::new())]
        );
        assert_eq!(
            OfferedClients::from_text("").unwrap(),
            OfferedClients { clients: vec![], complete: true }
        );
    }

    #[test]
    fn a_list_that_is_too_long_says_so() {
        let names: Vec<String> = (0..1_000).map(|at| format!("c{at}")).collect();
        let written = text(names.iter().map(|name| listed(name, 0, LINE)));
        assert!(written.len() <= TEXT_LIMIT);
        let read = OfferedClients::from_text(&written).unwrap();
        assert!(!read.complete && read.clients.len() > 300, "{}", read.clients.len());
    }

    #[test]
    fn faults_name_their_line() {
        let good = format!("#panel max=8 attached=3\n{LINE}#ui max=1 attached=0\n{LINE}");
        assert_eq!(OfferedClients::from_text(&good).map(|offer| offer.clients.len()), Ok(2));
        for (from, to, line) in
            [("#panel", "panel", 1), ("max=8", "max=x", 1), ("value=8", "value=", 2), ("#ui", "#u/i", 3)]
        {
            let text = good.replacen(from, to, 1);
            assert_eq!(OfferedClients::from_text(&text).unwrap_err().line, line, "{text}");
        }
    }

    proptest! {
        #[test]
        #[cfg_attr(miri, ignore = "minutes: hundreds of drawn texts; nothing in it is unsafe")]
        fn any_text_is_survived(text in "[#a-z0-9= \n]{0,200}") {
            let _ = OfferedClients::from_text(&text);
        }
    }
}
