// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! RTDroid manifests: services, periodic tasks, receivers, scopes and channels.
//!
//! Three vocabularies are in use, and a file may mix them: that of the published applications (`scopeSizes`,
//! `<periodic><period ms="8"/></periodic>`, `role="observer"`, `implementation`), that of figures 4.7 and 4.10 of `Yan18`
//! (`memSizes`, `<release start="0ms" periodic="8ms"/>`, `role="publisher"`, `type="rt-msg"`), and that of its chapter 5
//! (`<time>` with `<start>`, `<cost>`, `<periodic>`, `<deadline>`, and `<mem-size>`). Names count without `-`, `_`, letter case and
//! namespace. Every value that no code here asks for is reported ([`crate::unread`]).
//!
//! | there | here |
//! |---|---|
//! | service | a service; its tasks are what has a period, and the handler of its messages |
//! | periodic task | a periodic task |
//! | receiver, handler | a task that its channels release |
//! | message channel | a message: a lane for each sender |
//! | broadcast channel | of one task a broadcast, of several senders a message for each subscriber |
//! | bulk channel | from one task to others, a bulk channel for each, whose sender takes blocks back; else as a broadcast channel: values are copied, or numbers stand for those that are too large |
//! | activity, what the file does not have at the other end of a channel | a client |
//!
//! It gives no cores: the import writes one. Sizes carry the letters K, M and G, powers of 1024.
//!
//! Source: `Yan18`, sections 4.2 to 4.4, 5.2, and the manifests that were published with it.

mod channels;
mod components;
mod rates;
mod values;

use taut_time::Duration;

use crate::Unreadable;
use crate::sketch::{Party, Sketch};
use crate::unread::Known;
use crate::xml::{Node, Places, elements, parse, shown};

/// Reads a whole file.
pub(crate) fn read(source: &str) -> Result<Sketch, Unreadable> {
    let document = parse(source)?;
    let root = document.root_element();
    let places = Places::new(source, Duration::from_ms(1));
    if !root.is_called(&["manifest"]) {
        let what = shown(root.tag());
        let why = format!(
            "the first element is `{what}`, not `manifest`: write `<manifest><application>` around the components"
        );
        return Err(Unreadable { at: Some(places.at(root)), why });
    }
    let package = root.spelled(&["package"]).map_or("", |(package, _)| package);
    let name = package.rsplit('.').next().unwrap_or_default().to_owned();
    let sketch = Sketch { name, runs: true, ..Sketch::default() };
    let mut reader = Reader {
        places,
        sketch,
        declared: Vec::new(),
        accesses: Vec::new(),
        sporadic: Vec::new(),
        bare_times: false,
        guessed_costs: false,
        guessed_deadlines: false,
    };
    for node in elements(root) {
        match node.is_called(&["application"]) {
            true => elements(node).for_each(|node| reader.entry(node)),
            false => reader.entry(node),
        }
    }
    reader.join();
    reader.rates();
    reader.broadcasts();
    document.report_unread(&reader.places, &KNOWN, &mut reader.sketch);
    if !reader.sketch.tasks.is_empty() {
        reader.assumptions();
    }
    Ok(reader.sketch)
}

/// The parts of a file that the import does not read.
const KNOWN: Known = Known {
    dull: &[("schemaLocation", &[])],
    why: &[
        (&["activity", "provider", "label", "icon", "theme"], "no task runs it"),
        (
            &[
                "versionCode",
                "versionName",
                "uses-permission",
                "uses-sdk",
                "uses-feature",
                "permission",
                "exported",
            ],
            "it tells Android, and no task depends on it",
        ),
        (&["maxHeap", "gc"], "there is no garbage collector here"),
        (&["persistent", "release"], "what has a scope of this kind here is another component"),
        (&["total"], "the plan adds up the memory"),
        (&["validation"], "`taut check` judges every manifest"),
        (&["realtime"], "whether a party is real-time follows from its component"),
        (
            &["bound"],
            "services start at boot; `start = \"demand\"` of a service lets `Control::start_service` start it",
        ),
        (&["start", "startTime"], "it starts with its first value, or with its service"),
        (&["relative"], "every start is relative to that of the application"),
        (&["priority", "scheduler"], "what runs are tasks, which have their own"),
    ],
};

/// A component that sends to a channel, or receives from it.
struct Access<'a, 'i> {
    action: Node<'a, 'i>,
    name: String,
    party: Party,
    sends: bool,
    /// How many values per release; `None` if the file does not say.
    count: Option<u32>,
}

/// A task that values release. Its period may follow from its senders.
struct Sporadic {
    task: usize,
    deadline: Option<Duration>,
    cost: Option<Duration>,
}

struct Reader<'a, 'i, 't> {
    places: Places<'t>,
    sketch: Sketch,
    declared: Vec<channels::Declared<'a, 'i>>,
    accesses: Vec<Access<'a, 'i>>,
    sporadic: Vec<Sporadic>,
    /// Whether a time had no unit.
    bare_times: bool,
    guessed_costs: bool,
    guessed_deadlines: bool,
}

impl<'a, 'i> Reader<'a, 'i, '_> {
    fn lose(&mut self, node: Node<'_, '_>, what: &str) {
        self.sketch.lose(self.places.at(node), what);
    }

    /// An element of the application, or of the manifest.
    fn entry(&mut self, node: Node<'a, 'i>) {
        match () {
            () if node.is_called(&["service", "realtimeservice"]) => self.service(node),
            () if node.is_called(&["receiver", "realtimereceiver"]) => self.receiver(node, None),
            () if node.is_called(&["activity"]) => self.client(node),
            () if node.is_called(&["channel", "realtimechannel"]) => self.declare(node),
            () if node.is_called(&["gc"]) => node.enter(),
            () if node.is_called(&["periodictask"]) => {
                self.lose(node, "a periodic task outside of a service is read as one of no service");
                self.periodic(node, None, None);
            }
            () => {}
        }
    }

    /// What holds for the file as a whole.
    fn assumptions(&mut self) {
        if self.bare_times {
            self.sketch.lose(None, "times without a unit are taken as ms");
        }
        if self.guessed_costs {
            let share = components::SHARE;
            let what = format!(
                "there are no execution times for some tasks: a {share}th of the period is written; measure them"
            );
            self.sketch.lose(None, what);
        }
        if self.guessed_deadlines {
            self.sketch.lose(None, "there are no deadlines for some tasks: periods are written");
        }
        self.sketch.lose(None, "there are no cores: one is written");
    }
}

/// The last part of a name: that of `edu.buffalo.ci.Recorder` is `Recorder`.
fn short(name: &str) -> &str {
    name.trim().rsplit('.').next().unwrap_or_default()
}
