// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What an application offers: its clients, how many processes of each are attached, and their channels. Who may attach may ask,
//! takes no name by it, and receives no memory.

use std::os::fd::AsFd;
use std::path::Path;

use crate::client::{attach_to, exchange};
use crate::directory::{Directory, TEXT_LIMIT, is_name};
use crate::folder::Folder;
use crate::listener::Grant;
use crate::{DirectoryError, Error};

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
pub struct Offer {
    /// The clients, in the order of the manifest.
    pub clients: Vec<OfferedClient>,
    /// Whether these are all: a reply holds 64 KiB.
    pub complete: bool,
}

/// Asks the running application `app` what it offers. Waits for at most two seconds, as [`attach`](crate::attach).
///
/// # Errors
/// As [`attach`](crate::attach), but for those about the client's name.
pub fn offered(app: &str) -> Result<Offer, Error> {
    offered_at(Folder::Default, app)
}

/// As [`offered`], in another folder.
///
/// # Errors
/// As [`offered`].
pub fn offered_in(folder: &Path, app: &str) -> Result<Offer, Error> {
    offered_at(Folder::Given(folder), app)
}

fn offered_at(folder: Folder<'_>, app: &str) -> Result<Offer, Error> {
    let (path, own) = folder.resolve();
    attach_to(&path, own, app, LISTING, |connection, _, deadline| {
        let (_, _, text) = exchange(connection.as_fd(), app, LISTING, deadline)?;
        Offer::from_text(&text).map_err(|error| Error::Directory { client: LISTING.to_owned(), error })
    })
}

/// The list of all grants; `attached` counts the processes of a grant.
pub(crate) fn text(grants: &[Grant], attached: impl Fn(usize) -> usize) -> String {
    let mut text = String::new();
    for (at, grant) in grants.iter().enumerate() {
        let head = format!("#{} max={} attached={}\n", grant.client, grant.limit, attached(at));
        if text.len() + head.len() + grant.text.len() > TEXT_LIMIT - CUT.len() {
            return text + CUT;
        }
        text += &head;
        text += &grant.text;
    }
    text
}

impl Offer {
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

    fn grant(client: &str, text: &str) -> Grant {
        Grant { client: client.to_owned(), text: text.to_owned(), extents: Vec::new(), limit: 8 }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let grants = [grant("panel", LINE), grant("idle", "")];
        let written = text(&grants, |at| 3 - at);
        let read = Offer::from_text(&written).unwrap();
        assert!(read.complete);
        let seen = read
            .clients
            .iter()
            .map(|of| (of.client.as_str(), of.max_attached, of.attached, of.directory.to_text()));
        assert_eq!(
            seen.collect::<Vec<_>>(),
            [("panel", 8, 3, LINE.to_owned()), ("idle", 8, 2, String::new())]
        );
        assert_eq!(Offer::from_text("").unwrap(), Offer { clients: vec![], complete: true });
    }

    #[test]
    fn a_list_that_is_too_long_says_so() {
        let grants: Vec<Grant> = (0..1_000).map(|at| grant(&format!("c{at}"), LINE)).collect();
        let written = text(&grants, |_| 0);
        assert!(written.len() <= TEXT_LIMIT);
        let read = Offer::from_text(&written).unwrap();
        assert!(!read.complete && read.clients.len() > 300, "{}", read.clients.len());
    }

    #[test]
    fn faults_name_their_line() {
        let good = format!("#panel max=8 attached=3\n{LINE}#ui max=1 attached=0\n{LINE}");
        assert_eq!(Offer::from_text(&good).map(|offer| offer.clients.len()), Ok(2));
        for (from, to, line) in
            [("#panel", "panel", 1), ("max=8", "max=x", 1), ("value=8", "value=", 2), ("#ui", "#u/i", 3)]
        {
            let text = good.replacen(from, to, 1);
            assert_eq!(Offer::from_text(&text).unwrap_err().line, line, "{text}");
        }
    }

    proptest! {
        #[test]
        #[cfg_attr(miri, ignore = "minutes: hundreds of drawn texts; nothing in it is unsafe")]
        fn any_text_is_survived(text in "[#a-z0-9= \n]{0,200}") {
            let _ = Offer::from_text(&text);
        }
    }
}
