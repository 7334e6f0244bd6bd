// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What lies where in a segment.

use taut_policy::LINE_BYTES;

/// Bytes of a segment's header, which lies at its start.
pub const SEGMENT_HEADER_BYTES: u64 = LINE_BYTES;

/// The part of the segment in each file begins at a multiple of this many bytes, and the segment ends at one.
pub const PAGE_BYTES: u64 = 4096;

/// The segment's file in which a channel lies. One file, `None`, holds all channels in which no client stores. Each
/// client has two files, in which no other client may store: one for channels that no other client reads and that
/// release no task, so that this client alone maps it, and one for the rest.
pub type File<'a> = Option<(&'a str, bool)>;

/// The file of a channel in the segment. `writer` is the client that writes the channel; `storing` is the client that
/// reads it and stores in its object how far it has read.
pub fn file_of<'a>(
    writer: Option<&'a str>,
    storing: Option<&'a str>,
    is_read_by_clients: bool,
    triggers: bool,
) -> File<'a> {
    match (writer, storing) {
        (Some(client), _) => Some((client, is_read_by_clients || triggers)),
        (None, client) => client.map(|client| (client, false)),
    }
}

/// The file of the line in which a client says which block it has. The writer looks at it, and wakes nobody there, so it may lie
/// where the client cannot punch holes.
pub fn reservation_file(client: &str) -> File<'_> {
    Some((client, false))
}

/// The file of the event count on which a client waits. The application's wake must find it, so it is not in the file
/// that the client alone maps.
pub fn event_count_file(client: &str) -> File<'_> {
    Some((client, true))
}
