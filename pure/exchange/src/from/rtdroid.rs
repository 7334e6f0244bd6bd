// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! RTDroid manifests: services with periodic tasks, receivers, scopes and channels.
//!
//! RTDroid gives no execution times and no deadlines. The import writes the period as the deadline, and a twentieth
//! of the period as a guess of the execution time, which must be measured. It gives no cores: the import writes one.
//! Sizes of scopes carry the letters K, M and G, powers of 1024.

use taut_time::Duration;

use crate::Unreadable;
use crate::sketch::{Arrival, Channel, Named, Service, Sketch, Task};
use crate::unread::Known;
use crate::xml::{self, Node, Places, child, elements, number, parse, shown};

/// A guess is the period divided by `SHARE`, and at least `LEAST`.
const SHARE: u64 = 20;
const LEAST: Duration = Duration::from_us(1);

/// Reads a whole file.
pub(crate) fn read(source: &str) -> Result<Sketch, Unreadable> {
    let document = parse(source)?;
    let root = document.root_element();
    let places = Places::new(source, Duration::from_ns(1));
    if root.tag() != "manifest" {
        return Err(Unreadable {
            at: Some(places.at(root)),
            why: "the first element is not `manifest`".into(),
        });
    }
    let name = attribute(root, "package").rsplit('.').next().unwrap_or_default().to_owned();
    let sketch = Sketch { name, ..Sketch::default() };
    let mut reader = Reader { places, sketch, channels: Vec::new(), receivers: Vec::new() };
    for node in elements(root) {
        match node.tag() {
            "application" => elements(node).for_each(|node| reader.component(node)),
            "gc" => {
                reader.lose(node, "the garbage collector's heap and priority are left out");
                node.leave_out();
            }
            _ => {}
        }
    }
    reader.join();
    document.report_unread(&reader.places, &KNOWN, &mut reader.sketch);
    if !reader.sketch.tasks.is_empty() {
        let what =
            format!("there are no execution times: a {SHARE}th of the period is written; measure them");
        reader.sketch.lose(None, what);
        reader.sketch.lose(None, "there are no deadlines: periods are written");
        reader.sketch.lose(None, "there are no cores: one is written");
    }
    Ok(reader.sketch)
}

/// An attribute, whatever its namespace.
fn attribute<'a>(node: Node<'a, '_>, name: &str) -> &'a str {
    node.any_attribute(name).unwrap_or_default()
}

/// The last part of a name: that of `android:name="edu.buffalo.ci.Recorder"` is `Recorder`.
fn short<'a>(node: Node<'a, '_>) -> &'a str {
    attribute(node, "name").rsplit('.').next().unwrap_or_default()
}

/// A time in the attributes `ms` and `ns`.
fn time(node: Node<'_, '_>) -> Option<Duration> {
    let number = |name: &str| match attribute(node, name) {
        "" => Some(0),
        text => text.trim().parse::<u64>().ok(),
    };
    Duration::from_ms(1).checked_mul(number("ms")?)?.checked_add(Duration::from_ns(number("ns")?))
}

/// A size such as `250K`, `60M`, `256B`.
fn size(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches(['B', 'b']).trim_end();
    let shift = match text.chars().last()? {
        'K' | 'k' => 10,
        'M' | 'm' => 20,
        'G' | 'g' => 30,
        _ => return text.parse().ok(),
    };
    text[..text.len() - 1].trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Bytes of an array element, by the type that stands last in `mimeType`, as in `application/rtdroid.int`.
fn element(mime: &str) -> Option<u64> {
    Some(match mime.rsplit(['.', '/']).next()? {
        "byte" | "boolean" | "octet-stream" => 1,
        "char" | "short" => 2,
        "int" | "float" => 4,
        "long" | "double" => 8,
        _ => return None,
    })
}

/// The parts of a file that the import does not read.
const KNOWN: Known = Known {
    dull: &[("schemaLocation", &[])],
    why: &[
        (&["activity", "label"], "no task runs it"),
        (&["total"], "the plan adds up the memory"),
        (&["persistent", "release"], "what has a scope of this kind here is another component"),
        (
            &["validation", "drop", "implementation", "concurrentCount", "realtime"],
            "the plan chooses how a channel is made",
        ),
        (&["relative"], "every start is relative to that of the application"),
        (&["priority", "scheduler"], "what runs are tasks, which have their own"),
    ],
};

/// A channel, and the tasks that write and read it.
struct Flow<'a, 'i> {
    node: Node<'a, 'i>,
    from: Vec<usize>,
    to: Vec<usize>,
}

struct Reader<'a, 'i, 't> {
    places: Places<'t>,
    sketch: Sketch,
    channels: Vec<Flow<'a, 'i>>,
    /// The actions that components listen to or send, as `(action, whether the task sends it, task)`.
    receivers: Vec<(String, bool, usize)>,
}

impl<'a, 'i> Reader<'a, 'i, '_> {
    fn lose(&mut self, node: Node<'_, '_>, what: &str) {
        self.sketch.lose(self.places.at(node), what);
    }

    /// Bytes of one value of a channel: a number of elements of a type.
    fn bytes(&mut self, channel: Node<'_, '_>) -> u64 {
        let Some(data) = child(channel, "data") else { return 0 };
        let text = attribute(data, "size");
        let Some(count) = size(text) else {
            self.lose(data, &format!("`size` is `{}`, which is no size", shown(text)));
            return 0;
        };
        let mime = attribute(data, "mimeType");
        let each = element(mime).unwrap_or_else(|| {
            if !mime.is_empty() {
                let mime = shown(mime);
                self.lose(
                    data,
                    &format!("`mimeType` is `{mime}`, of unknown size: `size` is taken as bytes"),
                );
            }
            1
        });
        count.saturating_mul(each)
    }

    fn component(&mut self, node: Node<'a, 'i>) {
        match node.tag() {
            "service" => self.service(node),
            "receiver" => self.receiver(node, None),
            "channel" => self.channels.push(Flow { node, from: Vec::new(), to: Vec::new() }),
            _ => {}
        }
    }

    fn service(&mut self, node: Node<'a, 'i>) {
        let service = self.sketch.services.len();
        let persistent = self.scope(node, "persistent").unwrap_or(0);
        self.sketch.services.push(Service { named: Named::new(short(node)), persistent });
        let mut own = Vec::new();
        for segment in elements(node) {
            match segment.tag() {
                "periodic-task" => own.extend(self.periodic(segment, service)),
                "receiver" => self.receiver(segment, Some(service)),
                _ => {}
            }
        }
        for filter in xml::named(node, "intent-filter") {
            match own.first() {
                Some(task) => self.filter(filter, *task),
                None => {
                    self.lose(filter, "an intent filter of a service without a periodic task is left out");
                    filter.leave_out();
                }
            }
            if own.len() > 1 {
                self.lose(
                    filter,
                    "the file does not say which task of the service uses it: the first is written",
                );
            }
        }
    }

    /// One of the scope sizes of a component.
    fn scope(&mut self, node: Node<'_, '_>, name: &str) -> Option<u64> {
        self.bytes_of(child(node, "scopeSizes")?, name)
    }

    fn bytes_of(&mut self, sizes: Node<'_, '_>, name: &str) -> Option<u64> {
        let text = attribute(sizes, name);
        let found = size(text).filter(|bytes| *bytes <= 1 << 40);
        if found.is_none() {
            self.lose(sizes, &format!("`{name}` is `{}`, which is no size: 0 is written", shown(text)));
        }
        found
    }

    fn priority(&mut self, node: Node<'_, '_>) -> Option<i64> {
        let priority = child(node, "priority")?;
        if attribute(priority, "scheduler") != "FIFO" {
            self.lose(priority, "a priority that is not of FIFO is written like one");
        }
        let at = self.places.at(priority);
        number(priority.any_attribute("priority"), "priority", at, &mut self.sketch)
    }

    fn periodic(&mut self, node: Node<'a, 'i>, service: usize) -> Option<usize> {
        let mut task = Task::new(self.places.at(node), attribute(node, "instance-id"));
        let periodic = child(node, "periodic");
        let mut time_of = |name: &str| {
            let Some(node) = periodic.and_then(|node| child(node, name)) else { return Duration::ZERO };
            let found = time(node);
            if found.is_none() {
                self.lose(node, &format!("`{name}` is no time from 0 on that can be written: 0 is taken"));
            }
            found.unwrap_or_default()
        };
        task.period = time_of("period");
        let start = time_of("startTime");
        task.arrival = Arrival::Periodic(start);
        task.priority = self.priority(node);
        task.service = Some(service);
        if let Some(scope) = child(node, "subScopeSize") {
            task.release = self.bytes_of(scope, "release").unwrap_or(0);
        }
        self.guess(task)
    }

    /// Adds a task with a guessed execution time; returns its position.
    fn guess(&mut self, mut task: Task) -> Option<usize> {
        task.deadline = task.period;
        task.guess = true;
        task.cost = Duration::from_ns(task.period.as_ns() / SHARE).max(LEAST);
        self.sketch.tasks.push(task);
        Some(self.sketch.tasks.len() - 1)
    }

    /// Adds a receiver. Its senders release it; its period follows from the channel, once all channels are known.
    fn receiver(&mut self, node: Node<'a, 'i>, service: Option<usize>) {
        let mut task = Task::new(self.places.at(node), short(node));
        task.priority = self.priority(node);
        task.service = service;
        task.release = self.scope(node, "release").unwrap_or(0);
        task.arrival = Arrival::Sporadic(None);
        let at = self.sketch.tasks.len();
        self.sketch.tasks.push(task);
        for filter in xml::named(node, "intent-filter") {
            self.filter(filter, at);
        }
    }

    /// Subscribers receive; observers send.
    fn filter(&mut self, node: Node<'a, 'i>, task: usize) {
        let sends = match attribute(node, "role") {
            "subscriber" => false,
            "observer" => true,
            other => {
                self.lose(node, &format!("an intent filter of role `{}` is left out", shown(other)));
                return node.leave_out();
            }
        };
        for action in xml::named(node, "action") {
            self.receivers.push((attribute(action, "name").to_owned(), sends, task));
        }
    }

    /// Connects channels to their tasks, and gives receivers their periods.
    fn join(&mut self) {
        for (action, sends, task) in std::mem::take(&mut self.receivers) {
            match self.channels.iter_mut().find(|flow| attribute(flow.node, "name") == action) {
                Some(flow) if sends => flow.from.push(task),
                Some(flow) => flow.to.push(task),
                None => {
                    let at = self.sketch.tasks[task].at;
                    self.sketch.lose(at, format!("there is no channel `{}`", shown(&action)));
                }
            }
        }
        for flow in std::mem::take(&mut self.channels) {
            self.flow(&flow);
        }
        for at in 0..self.sketch.tasks.len() {
            let task = &self.sketch.tasks[at];
            if matches!(task.arrival, Arrival::Sporadic(None)) {
                let (place, name) = (task.at, shown(&task.named.name));
                self.sketch.lose(place, format!("receiver `{name}`: no periodic task sends to it"));
            }
        }
    }

    fn flow(&mut self, flow: &Flow<'a, 'i>) {
        let (node, name) = (flow.node, attribute(flow.node, "name"));
        let bytes = self.bytes(node);
        for writer in &flow.from {
            for reader in flow.to.iter().filter(|reader| *reader != writer) {
                let released = matches!(self.sketch.tasks[*reader].arrival, Arrival::Sporadic(None));
                let period = self.sketch.tasks[*writer].period;
                let channel = self.sketch.channels.len();
                let many = flow.from.len() * flow.to.len() > 1;
                let ours = if many { format!("{name}-{channel}") } else { name.to_owned() };
                self.sketch.channels.push(Channel {
                    at: Some(self.places.at(node)),
                    named: Named::new(&ours),
                    // A task that reads at its own period may read less often than the writer writes: in a queue,
                    // values would pile up.
                    queue: released,
                    from: Some(*writer),
                    to: vec![*reader],
                    bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
                });
                if released && !period.is_zero() {
                    let task = &mut self.sketch.tasks[*reader];
                    task.period = period;
                    task.deadline = period;
                    task.guess = true;
                    task.cost = Duration::from_ns(period.as_ns() / SHARE).max(LEAST);
                    task.arrival = Arrival::Sporadic(Some(channel));
                } else if !released {
                    let what = format!(
                        "channel `{}` to a task that it does not release carries the newest value: `state` is written",
                        shown(name)
                    );
                    self.lose(node, &what);
                }
            }
        }
        if flow.from.is_empty() || flow.to.is_empty() {
            self.lose(node, &format!("channel `{}` has no task at both ends: it is left out", shown(name)));
        }
    }
}
