// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Reads a trace back, for tests, with the names and order that its viewer would use.

use std::collections::BTreeMap;

use crate::protobuf::{Value, fields};

/// The first number of a field.
pub(crate) fn uint(message: &[u8], field: u64) -> Option<u64> {
    fields(message).into_iter().find_map(|(number, value)| match value {
        Value::Uint(value) if number == field => Some(value),
        _ => None,
    })
}

/// All messages, or texts, of a field.
pub(crate) fn messages(message: &[u8], field: u64) -> Vec<&[u8]> {
    let of_field = |(number, value)| match value {
        Value::Bytes(bytes) if number == field => Some(bytes),
        _ => None,
    };
    fields(message).into_iter().filter_map(of_field).collect()
}

fn text(message: &[u8], field: u64) -> Option<String> {
    messages(message, field).first().map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
}

/// Tracks and their names, in the order of the file.
pub(crate) fn tracks(trace: &[u8]) -> Vec<(u64, String)> {
    let descriptors = messages(trace, 1).into_iter().flat_map(|packet| messages(packet, 60));
    let name = |track: &[u8]| {
        let thread = messages(track, 4).first().and_then(|thread| text(thread, 5));
        let process = messages(track, 3).first().and_then(|process| text(process, 6));
        let own = text(track, 2).or(thread.map(|name| format!("thread {name}")));
        (uint(track, 1).unwrap(), own.or(process.map(|name| format!("process {name}"))).unwrap())
    };
    descriptors.map(name).collect()
}

/// An event on a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: u64,
    pub(crate) track: String,
    pub(crate) kind: u64,
    pub(crate) category: String,
    pub(crate) name: String,
    pub(crate) numbers: BTreeMap<String, u64>,
    pub(crate) flow: Option<u64>,
}

/// Events on tracks, in the order of the file.
pub(crate) fn entries(trace: &[u8]) -> Vec<Entry> {
    let names: BTreeMap<u64, String> = tracks(trace).into_iter().collect();
    let mut entries = Vec::new();
    for packet in messages(trace, 1) {
        for event in messages(packet, 11) {
            let mut numbers = BTreeMap::new();
            for argument in messages(event, 4) {
                if let (Some(name), Some(value)) = (text(argument, 10), uint(argument, 3)) {
                    numbers.insert(name, value);
                }
            }
            numbers.extend(uint(event, 30).map(|value| ("counter".to_owned(), value)));
            let flow = fields(event).into_iter().find_map(|(number, value)| match value {
                Value::Fixed(flow) if number == 47 => Some(flow),
                _ => None,
            });
            entries.push(Entry {
                at: uint(packet, 8).unwrap(),
                track: names[&uint(event, 11).unwrap()].clone(),
                kind: uint(event, 9).unwrap(),
                category: text(event, 22).unwrap_or_default(),
                name: text(event, 23).unwrap_or_default(),
                numbers,
                flow,
            });
        }
    }
    entries
}

/// Which thread ran on each CPU, as lines; checks that the thread that leaves is the one that ran.
pub(crate) fn cpu_tracks(trace: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut running: BTreeMap<u64, u64> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for bundle in messages(trace, 1).into_iter().flat_map(|packet| messages(packet, 1)) {
        let cpu = uint(bundle, 1).unwrap();
        for event in messages(bundle, 2) {
            let at = uint(event, 1).unwrap();
            assert!(last.insert(cpu, at).is_none_or(|last| last <= at), "by time");
            for woken in messages(event, 20) {
                lines.push(format!("{at:>9} cpu {cpu}: {} wakes", text(woken, 1).unwrap()));
            }
            for switch in messages(event, 4) {
                let runs = running.entry(cpu).or_default();
                assert_eq!(uint(switch, 2), Some(*runs), "who leaves is who ran, at {at}");
                let state = if uint(switch, 4) == Some(1) { "sleeps" } else { "could go on" };
                *runs = uint(switch, 6).unwrap();
                let (from, to) = (text(switch, 1).unwrap(), text(switch, 5).unwrap());
                lines.push(format!("{at:>9} cpu {cpu}: {from} {state}, {to} runs"));
            }
        }
    }
    assert!(running.values().all(|who| *who == 0), "idle at the end");
    lines
}

/// The events of each track by time, then the switches of each CPU, as lines.
pub(crate) fn lines(trace: &[u8]) -> String {
    let mut text = String::new();
    for (uuid, name) in tracks(trace) {
        text += &format!("track {name}\n");
        for entry in entries(trace).into_iter().filter(|entry| entry.track == name) {
            let what = match entry.kind {
                1 => "begins",
                2 => "ends",
                3 => "instant",
                _ => "counts",
            };
            let Entry { at, name, category, numbers, flow, .. } = entry;
            let line = format!("{at:>9} {what} {name} [{category}] {numbers:?}");
            let line = line.replace(" [] {}", "").replace("  []", "").replace('"', "");
            text += &(line + &flow.map_or_else(String::new, |flow| format!(" flow {flow:x}")) + "\n");
        }
        assert!(uuid > 0);
    }
    cpu_tracks(trace).into_iter().for_each(|line| text += &(line + "\n"));
    text
}
