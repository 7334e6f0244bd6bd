// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The file of recorded values, read by the crate that the authors of the format MCAP keep.
#![allow(clippy::unwrap_used, reason = "test code")]

use taut_event::mcap::McapEncoder;
use taut_event::values::{VALUES, VALUES_END, jobs_topic, value_topic, values_end, values_head};
use taut_event::{Interaction, JobOutcome, RanCode};

/// Two chunks: a job of task 2 that sends two values of channel 0.
fn file() -> Vec<u8> {
    let of = ("control", "at:u64,left:i16*2", "uint64 at\nint16[2] left\n");
    let topics = [value_topic((0, "levels"), of, None), jobs_topic(2, "control")];
    let (mut encoder, mut bytes) = McapEncoder::new(VALUES, &values_head(7, "sha256:00"), &topics);
    let begin = Interaction::Begin { job: 3, release_ns: 1_000, code: RanCode::Task };
    encoder.message(1, 1, 1_010, &begin.to_bytes());
    for (number, at_ns, left) in [(1, 1_020u64, [-1i16, 300]), (2, 1_030, [2, -3])] {
        let value = [&at_ns.to_le_bytes()[..], &left.map(i16::to_le_bytes).concat()].concat();
        encoder.message(0, number, at_ns, &value);
        let sent = Interaction::Sent { channel: 0, number: number.into() };
        encoder.message(1, number + 1, at_ns, &sent.to_bytes());
        bytes.extend(encoder.chunk());
    }
    bytes.extend(encoder.chunk());
    let end = Interaction::End { job: 3, outcome: JobOutcome::Done };
    encoder.message(1, 4, 1_040, &end.to_bytes());
    bytes.extend(encoder.chunk());
    bytes.extend(encoder.finish(VALUES_END, &values_end(0)));
    bytes
}

#[test]
fn every_message_is_read_with_its_topic_and_schema() {
    let bytes = file();
    let messages: Vec<_> = mcap::MessageStream::new(&bytes).unwrap().collect::<Result<_, _>>().unwrap();
    let seen: Vec<_> = messages
        .iter()
        .map(|message| {
            (message.channel.topic.as_str(), message.sequence, message.log_time, message.data.len())
        })
        .collect();
    let expected = [
        ("taut/jobs/control", 1, 1_010, 19),
        ("levels", 1, 1_020, 12),
        ("taut/jobs/control", 2, 1_020, 19),
        ("levels", 2, 1_030, 12),
        ("taut/jobs/control", 3, 1_030, 19),
        ("taut/jobs/control", 4, 1_040, 19),
    ];
    assert_eq!(seen, expected);
    let levels = &messages[3];
    let schema = levels.channel.schema.as_ref().unwrap();
    assert_eq!((schema.name.as_str(), schema.encoding.as_str()), ("taut/levels", "ros1msg"));
    assert_eq!(
        (&*schema.data, levels.channel.message_encoding.as_str()),
        (&b"uint64 at\nint16[2] left\n"[..], "ros1")
    );
    let facts = &levels.channel.metadata;
    assert_eq!((facts["channel"].as_str(), facts["writer"].as_str()), ("0", "control"));
    // Little-endian numbers, one after the other: what ROS 1 says of this definition.
    assert_eq!(levels.data[..8], 1_030u64.to_le_bytes());
    assert_eq!([2i16, -3].map(i16::to_le_bytes).concat(), levels.data[8..]);
}

/// The summary, by which tools find their way in long files.
#[test]
fn the_summary_is_that_of_the_file() {
    let bytes = file();
    let summary = mcap::Summary::read(&bytes).unwrap().unwrap();
    let statistics = summary.stats.as_ref().unwrap();
    assert_eq!((statistics.message_count, statistics.chunk_count, statistics.metadata_count), (6, 3, 2));
    assert_eq!((statistics.message_start_time, statistics.message_end_time), (1_010, 1_040));
    assert_eq!((statistics.channel_message_counts[&0], statistics.channel_message_counts[&1]), (2, 4));
    assert_eq!((summary.channels.len(), summary.schemas.len()), (2, 2));
    let mut read = 0;
    for chunk in &summary.chunk_indexes {
        read += summary.stream_chunk(&bytes, chunk).unwrap().map(Result::unwrap).count();
        // The indexes of messages lie where the summary says.
        let indexes = summary.read_message_indexes(&bytes, chunk).unwrap();
        assert_eq!(indexes.len(), chunk.message_index_offsets.len());
        for (channel, entries) in indexes {
            for entry in entries {
                let message = summary.seek_message(&bytes, chunk, &entry).unwrap();
                assert_eq!(
                    (message.channel.topic.as_str(), message.log_time),
                    (channel.topic.as_str(), entry.log_time)
                );
            }
        }
    }
    assert_eq!(read, 6);
    let index = &summary.metadata_indexes;
    let names: Vec<&str> = index.iter().map(|index| index.name.as_str()).collect();
    assert_eq!(names, [VALUES, VALUES_END]);
    let head = mcap::read::metadata(&bytes, &index[0]).unwrap();
    assert_eq!(head.metadata["run"], "7");
}
