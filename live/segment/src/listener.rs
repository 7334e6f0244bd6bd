// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The owner's listener: an ordinary thread that answers clients. It does not trust them.
//!
//! The thread is one loop around `poll`; no step of the loop waits for a single peer. Each connection is greeting (its
//! request arrives), answering (its reply leaves), or attached (it holds a name, and the listener only watches for its
//! end).
//!
//! Bounds: [`GREETING_LIMIT`] connections that hold no name, the oldest of which gives way to a new one; two seconds
//! for each connection to become attached; a fixed buffer for a request; one reply of at most 64 KiB.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use taut_sys::socket::{self, Peer, Poll};
use taut_sys::{process, signals, thread};

use crate::directory::Directory;
use crate::files::Extent;
use crate::header::Header;
use crate::message::{self, REQUEST_LIMIT, Refusal, Request};
use crate::offer::{self, LISTING, Listed};

/// The most connections that hold no name yet.
const GREETING_LIMIT: usize = 32;

/// The time that a connection has to become attached.
const GREETING_PATIENCE: Duration = Duration::from_secs(2);

/// The most names that a refusal lists.
const NAMES: usize = 64;

/// New connections per round: after this many, the listener serves the existing connections.
const ACCEPT_LIMIT: usize = 16;

/// What the listener has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListenerReport {
    /// The attached clients, in the order of arrival.
    pub attached: Vec<AttachedClient>,
    /// Requests granted. The listener counts a request after it has sent the reply: the client may have the reply
    /// shortly before.
    pub granted: u64,
    /// Requests refused, with a reply that says why.
    pub refused: u64,
    /// Connections dropped without a refusal: too slow, too many, out of turn, or closed before the request was
    /// complete.
    pub dropped: u64,
}

/// An attached client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedClient {
    /// Its name in the manifest.
    pub client: String,
    /// Its process.
    pub pid: u32,
    /// Its user.
    pub uid: u32,
}

/// What the listener shares with the owner's other threads; not for real-time threads.
pub(crate) type Shared = Arc<Mutex<ListenerReport>>;

pub(crate) fn look(shared: &Shared) -> MutexGuard<'_, ListenerReport> {
    // Every change below is complete in itself: a panic elsewhere leaves nothing half done.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client that may attach.
pub(crate) struct Grant {
    pub(crate) client: String,
    pub(crate) text: String,
    /// The files of the segment that the client receives, each with the position of its descriptor.
    pub(crate) extents: Vec<(Extent, usize)>,
    /// How many connections may be attached at a time.
    pub(crate) limit: usize,
}

impl Grant {
    pub(crate) fn new(
        (client, directory): &(String, Directory),
        extents: Vec<(Extent, usize)>,
        limit: usize,
    ) -> Self {
        Self { client: client.clone(), text: directory.to_text(), extents, limit }
    }
}

pub(crate) struct SegmentListener {
    /// The owner closes the other end when it ends.
    pub(crate) stop: OwnedFd,
    pub(crate) listener: OwnedFd,
    pub(crate) grants: Vec<Grant>,
    /// A group whose members may attach, besides the owner's own user and root.
    pub(crate) group: Option<u32>,
    pub(crate) header: Header,
    /// The descriptors of the segment's files.
    pub(crate) descriptors: Vec<OwnedFd>,
    pub(crate) shared: Shared,
}

struct Connection {
    fd: OwnedFd,
    since: Instant,
    phase: Phase,
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Closing the descriptor alone may not end the connection: a child that the application is forking at this
        // moment holds copies of all descriptors until it executes its program.
        let _ = socket::shutdown(self.fd.as_fd());
    }
}

enum Phase {
    Greeting { request: Vec<u8> },
    Answering { reply: Vec<u8>, sent: usize, grant: Option<usize> },
    Attached { grant: usize, peer: Peer },
}

impl Phase {
    /// The position of the grant whose name this connection holds.
    fn holds(&self) -> Option<usize> {
        match *self {
            Self::Greeting { .. } => None,
            Self::Answering { grant, .. } => grant,
            Self::Attached { grant, .. } => Some(grant),
        }
    }

    fn is_attached(&self) -> bool {
        matches!(self, Self::Attached { .. })
    }
}

/// What the listener does with a connection after a round.
enum Fate {
    Keep,
    /// Close it: its reply is sent, or the peer has left.
    Close,
    /// End it without a refusal, and count it as dropped.
    Drop,
}

impl SegmentListener {
    /// Runs until the owner ends.
    pub(crate) fn run(self) {
        // Whatever the creator's policy, this is an ordinary thread, and it takes no signals. Neither call can fail.
        let _ = signals::block_all();
        let _ = thread::set_other();
        let _ = thread::name(c"taut-listener");
        let mut connections: Vec<Connection> = Vec::new();
        loop {
            let mut polls = vec![Poll::hung_up(self.stop.as_fd()), Poll::readable(self.listener.as_fd())];
            polls.extend(connections.iter().map(|connection| match connection.phase {
                Phase::Answering { .. } => Poll::writable(connection.fd.as_fd()),
                Phase::Greeting { .. } | Phase::Attached { .. } => Poll::readable(connection.fd.as_fd()),
            }));
            if socket::poll(&mut polls, patience(&connections)).is_err() {
                // The kernel is out of memory: do not spin.
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
            let ready: Vec<bool> = polls.iter().map(Poll::ready).collect();
            if ready[0] {
                return;
            }
            let mut fates = Vec::with_capacity(connections.len());
            for (index, &ready) in ready[2..].iter().enumerate() {
                let fate = if ready { self.serve(&mut connections, index) } else { Fate::Keep };
                fates.push(fate);
            }
            self.bury(&mut connections, fates);
            self.publish(&connections);
            if ready[1] {
                self.accept(&mut connections);
            }
        }
    }

    fn bury(&self, connections: &mut Vec<Connection>, fates: Vec<Fate>) {
        let mut fates = fates.into_iter();
        connections.retain(|connection| {
            let slow = !connection.phase.is_attached() && connection.since.elapsed() >= GREETING_PATIENCE;
            match fates.next() {
                Some(Fate::Close) => {}
                Some(Fate::Drop) => look(&self.shared).dropped += 1,
                Some(Fate::Keep) | None if slow => look(&self.shared).dropped += 1,
                Some(Fate::Keep) | None => return true,
            }
            false
        });
    }

    /// Updates the report of attached clients. If two connections hold one exclusive name, the first is dead, and the
    /// listener has not processed the end of that connection yet.
    fn publish(&self, connections: &[Connection]) {
        let successor =
            |grant, rest: &[Connection]| rest.iter().any(|other| other.phase.holds() == Some(grant));
        let visitors = connections.iter().enumerate().filter_map(|(index, connection)| {
            let Phase::Attached { grant, peer } = connection.phase else { return None };
            let client = || self.grants[grant].client.clone();
            let single = self.grants[grant].limit == 1;
            let dead = single && successor(grant, &connections[index + 1..]);
            (!dead).then(|| AttachedClient { client: client(), pid: peer.pid, uid: peer.uid })
        });
        look(&self.shared).attached = visitors.collect();
    }

    fn accept(&self, connections: &mut Vec<Connection>) {
        for _ in 0..ACCEPT_LIMIT {
            match socket::accept(self.listener.as_fd()) {
                Ok(fd) => {
                    let mut waiting = connections.iter().map(|connection| !connection.phase.is_attached());
                    let count = waiting.clone().filter(|&waiting| waiting).count();
                    // The connections are in the order of arrival: the first is the oldest.
                    let oldest = waiting.position(|waiting| waiting);
                    if let Some(oldest) = oldest.filter(|_| count >= GREETING_LIMIT) {
                        look(&self.shared).dropped += 1;
                        connections.remove(oldest);
                    }
                    let phase = Phase::Greeting { request: Vec::with_capacity(REQUEST_LIMIT + 1) };
                    connections.push(Connection { fd, since: Instant::now(), phase });
                }
                Err(error) if error.would_block() => return,
                // No descriptors are left, or the peer has left again: the peers that still wait are there next time.
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(10));
                    return;
                }
            }
        }
    }

    fn serve(&self, connections: &mut [Connection], index: usize) -> Fate {
        let connection = &mut connections[index];
        match &mut connection.phase {
            Phase::Greeting { request } => {
                // One byte more than the longest request, so that a longer one is noticed.
                let mut buffer = [0; REQUEST_LIMIT + 1];
                let room = buffer.len() - request.len();
                // Descriptors that the peer sends are closed unused.
                match socket::receive(connection.fd.as_fd(), &mut buffer[..room]) {
                    Ok(received) if received.bytes == 0 => return Fate::Drop,
                    Ok(received) => request.extend_from_slice(&buffer[..received.bytes]),
                    Err(error) if error.would_block() => return Fate::Keep,
                    Err(_) => return Fate::Drop,
                }
                let answer = match Request::read(request) {
                    Request::Partial => return Fate::Keep,
                    Request::Whole(LISTING) if self.permitted(connection.fd.as_fd()) => {
                        connections[index].phase = self.list(connections);
                        return self.send(&mut connections[index]);
                    }
                    Request::Wrong(refusal) => Err((refusal, complaint(refusal))),
                    Request::Whole(name) => {
                        let name = name.to_owned();
                        self.judge(connections, index, &name)
                    }
                };
                connections[index].phase = self.answer(answer);
                self.send(&mut connections[index])
            }
            Phase::Answering { .. } => self.send(connection),
            Phase::Attached { .. } => match socket::receive(connection.fd.as_fd(), &mut [0; 64]) {
                Ok(received) if received.bytes == 0 => Fate::Close,
                Err(error) if error.would_block() => Fate::Keep,
                Err(_) => Fate::Close,
                // The protocol lets an attached client send nothing.
                Ok(_) => Fate::Drop,
            },
        }
    }

    /// The reply that lists what the application offers; it gives no memory, and holds no name.
    fn list(&self, connections: &[Connection]) -> Phase {
        let holds = |grant: usize| {
            let live = |of: &&Connection| of.phase.holds() == Some(grant) && !gone(of);
            connections.iter().filter(live).count()
        };
        let listed = self.grants.iter().enumerate().map(|(at, grant)| Listed {
            client: &grant.client,
            max_attached: grant.limit,
            attached: holds(at),
            text: &grant.text,
        });
        let reply = message::granted(&offer::text(listed), std::iter::empty(), [0; 3]);
        Phase::Answering { reply, sent: 0, grant: None }
    }

    /// Checks whether the peer may have this name; returns the position of the name's grant.
    fn judge(
        &self,
        connections: &[Connection],
        index: usize,
        name: &str,
    ) -> Result<usize, (Refusal, String)> {
        let fd = connections[index].fd.as_fd();
        if !self.permitted(fd) {
            return Err((Refusal::NotPermitted, complaint(Refusal::NotPermitted)));
        }
        let Some(grant) = self.grants.iter().position(|grant| grant.client == name) else {
            let known: Vec<_> = self.grants.iter().take(NAMES).map(|grant| grant.client.as_str()).collect();
            let known = match self.grants.len() {
                0 => "the application has no clients".to_owned(),
                1..=NAMES => format!("the clients of the application are {}", known.join(", ")),
                all => format!(
                    "the clients of the application are {}, and {} more",
                    known.join(", "),
                    all - NAMES
                ),
            };
            return Err((Refusal::UnknownClient, known));
        };
        // A holder may have died since this round began; the peer may be its successor, or come after a successor.
        let live = |connection: &&Connection| connection.phase.holds() == Some(grant) && !gone(connection);
        let holders: Vec<u32> = connections.iter().filter(live).map(pid).collect();
        let limit = self.grants[grant].limit;
        match holders.as_slice() {
            holders if holders.len() < limit => Ok(grant),
            [pid] => Err((Refusal::NameTaken, format!("process {pid} holds it: end that process first"))),
            holders => {
                let pids: Vec<_> = holders.iter().take(NAMES).map(u32::to_string).collect();
                let what = format!(
                    "all its {limit} places are taken, by the processes {}: end one first",
                    pids.join(", ")
                );
                Err((Refusal::NameTaken, what))
            }
        }
    }

    fn permitted(&self, fd: std::os::fd::BorrowedFd<'_>) -> bool {
        let Ok(peer) = socket::peer(fd) else { return false };
        let member = |group| socket::peer_has_group(fd, group).unwrap_or(false);
        peer.uid == process::effective_uid() || peer.uid == 0 || self.group.is_some_and(member)
    }

    fn answer(&self, answer: Result<usize, (Refusal, String)>) -> Phase {
        let (reply, grant) = match answer {
            Ok(grant) => {
                let Header { layout_hash, epoch, total, .. } = self.header;
                let Grant { text, extents, .. } = &self.grants[grant];
                let extents = extents.iter().map(|(extent, _)| *extent);
                (message::granted(text, extents, [layout_hash, epoch, total]), Some(grant))
            }
            Err((refusal, text)) => {
                look(&self.shared).refused += 1;
                (message::refused(refusal, &text), None)
            }
        };
        Phase::Answering { reply, sent: 0, grant }
    }

    /// Sends as much as there is room for; a grant's descriptors go with the first byte.
    fn send(&self, connection: &mut Connection) -> Fate {
        let Phase::Answering { reply, sent, grant } = &mut connection.phase else { return Fate::Keep };
        let grant_files = grant.filter(|_| *sent == 0).map(|grant| &self.grants[grant].extents);
        let files = grant_files.into_iter().flatten().map(|&(_, at)| self.descriptors[at].as_fd());
        match socket::send(connection.fd.as_fd(), &reply[*sent..], &files.collect::<Vec<_>>()) {
            Ok(count) => *sent += count,
            Err(error) if error.would_block() => return Fate::Keep,
            Err(_) => return Fate::Drop,
        }
        if *sent < reply.len() {
            return Fate::Keep;
        }
        let Some(grant) = *grant else { return Fate::Close };
        let Ok(peer) = socket::peer(connection.fd.as_fd()) else { return Fate::Drop };
        look(&self.shared).granted += 1;
        connection.phase = Phase::Attached { grant, peer };
        Fate::Keep
    }
}

/// How long the next round may wait: until the time of the oldest connection without a name is over.
fn patience(connections: &[Connection]) -> Option<Duration> {
    let waiting = connections.iter().filter(|connection| !connection.phase.is_attached());
    waiting.map(|connection| GREETING_PATIENCE.saturating_sub(connection.since.elapsed())).min()
}

/// The process at the other end; 0 if it is not known.
fn pid(connection: &Connection) -> u32 {
    socket::peer(connection.fd.as_fd()).map_or(0, |peer| peer.pid)
}

fn gone(connection: &Connection) -> bool {
    let mut polls = [Poll::hung_up(connection.fd.as_fd())];
    socket::poll(&mut polls, Some(Duration::ZERO)).is_ok_and(|ready| ready > 0)
}

fn complaint(refusal: Refusal) -> String {
    match refusal {
        Refusal::Malformed => "the request is malformed".to_owned(),
        Refusal::Version => format!("this application speaks version {}", crate::PROTOCOL_VERSION),
        Refusal::NotPermitted => {
            "only root, the user of the application, and the group in its manifest (platform.group) may \
             attach"
                .to_owned()
        }
        Refusal::UnknownClient => "unknown client".to_owned(),
        Refusal::NameTaken => "name taken".to_owned(),
    }
}
