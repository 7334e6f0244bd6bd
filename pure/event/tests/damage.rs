// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The reader of a damaged recording reads the part that is whole, and reports the damage.
#![expect(clippy::unwrap_used, reason = "a test panics to fail")]

use taut_event::file::{
    BLOCK_BYTES, BLOCK_RECORDS, Blocks, HEAD_BYTES, Head, Malformed, Run, SEGMENTS, recording,
};
use taut_event::{Ending, Kind, Record};
use taut_time::Instant;

const PLAN: &str = "lock = 1\n";

fn record(kind: Kind, number: u64) -> Record {
    Record { at: Instant::from_ns(1_000 + number * 10), kind, cpu: 1, subject: 2, job: number, value: 7 }
}

/// Records of a run that ended by itself.
fn records(count: u64) -> Vec<Record> {
    let mut records = vec![record(Kind::Begin, 0)];
    records.extend((1..count).map(|number| record(Kind::Start, number)));
    records.extend(Ending::Done.to_record(Instant::from_ns(1_000 + count * 10)));
    records
}

/// A file with these blocks of records, and the byte range of each block.
fn written(id: u64, limit: Option<u64>, blocks: &[&[Record]]) -> (Vec<u8>, Vec<(usize, usize)>) {
    let (mut maker, mut bytes) = Blocks::new(&Head { plan: PLAN, machine: "", id, limit }).unwrap();
    let (mut block, mut places) = (Vec::new(), Vec::new());
    let last: (&[Record], bool) = (&[], true);
    for (records, last) in blocks.iter().map(|records| (*records, false)).chain([last]) {
        let place = usize::try_from(maker.block(records, last, 0, &mut block)).unwrap();
        bytes.resize(bytes.len().max(place + block.len()), 0);
        bytes[place..place + block.len()].copy_from_slice(&block);
        places.push((place, place + block.len()));
    }
    (bytes, places)
}

/// A short recording of several blocks, and the byte range of each.
fn short() -> (Vec<u8>, Vec<(usize, usize)>) {
    let records = records(40);
    written(3, None, &records.chunks(9).collect::<Vec<_>>())
}

/// Reads a changed recording: it must not give more than was written, nor an ordinary end.
fn is_no_whole_run(bytes: &[u8], of: &Run, what: &str) {
    match Run::from_bytes(bytes) {
        Err(Malformed::NotARun | Malformed::Version(_) | Malformed::Truncated | Malformed::Damaged) => {}
        Ok(run) => {
            assert!(of.records.starts_with(&run.records), "{what}: records that nobody wrote");
            assert_eq!(run.ending(), Ending::Unrecorded, "{what}");
            assert!(run.damage.is_some() || !run.closed, "{what}");
            assert_eq!((&run.plan, &run.machine), (&of.plan, &of.machine), "{what}");
        }
    }
}

#[test]
fn what_was_written_is_read() {
    let (bytes, places) = short();
    let run = Run::from_bytes(&bytes).unwrap();
    assert_eq!((run.records.as_slice(), run.plan.as_str()), (records(40).as_slice(), PLAN));
    assert_eq!((run.ending(), run.damage, run.closed), (Ending::Done, None, true));
    assert_eq!((run.dropped, run.since, run.unwritten, run.unknown), (0, None, 0, 0));
    assert_eq!(run.begin, Some(Instant::from_ns(1_000)));
    assert_eq!(run.whole_bytes(), Some(bytes.len() as u64));
    assert_eq!(places.len(), 6);
    let whole = recording(PLAN, "cpu = 1\n", &records(5_000)).unwrap();
    let run = Run::from_bytes(&whole).unwrap();
    assert_eq!((run.records, run.machine.as_str()), (records(5_000), "cpu = 1\n"));
}

#[test]
fn any_flipped_bit_is_found() {
    let (bytes, _) = short();
    let whole = Run::from_bytes(&bytes).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        is_no_whole_run(&bytes, &whole, &format!("bit {bit}"));
    }
}

#[test]
fn any_cut_is_found() {
    let (bytes, places) = short();
    let whole = Run::from_bytes(&bytes).unwrap();
    for cut in 0..bytes.len() {
        is_no_whole_run(&bytes[..cut], &whole, &format!("cut at {cut}"));
        // The whole blocks are kept.
        if let Ok(run) = Run::from_bytes(&bytes[..cut]) {
            let blocks = places.iter().filter(|(_, end)| *end <= cut).count();
            assert_eq!(run.records.len(), (blocks * 9).min(41), "cut at {cut}");
            let inside = !places.iter().any(|(from, _)| *from == cut);
            assert_eq!(run.damage.is_some_and(|damage| damage.cut), inside, "cut at {cut}");
        }
        // The same for cuts at the front.
        assert_eq!(Run::from_bytes(&bytes[bytes.len() - cut..]).unwrap_err(), Malformed::NotARun);
    }
}

#[test]
fn blocks_in_another_order_are_found() {
    let (bytes, places) = short();
    let whole = Run::from_bytes(&bytes).unwrap();
    let put = |order: &[usize]| {
        let mut file = bytes[..places[0].0].to_vec();
        order.iter().for_each(|at| file.extend_from_slice(&bytes[places[*at].0..places[*at].1]));
        file
    };
    assert_eq!(put(&[0, 1, 2, 3, 4, 5]), bytes);
    for a in 0..6 {
        for b in 0..6 {
            let mut swapped = vec![0, 1, 2, 3, 4, 5];
            swapped.swap(a, b);
            let mut twice = vec![0, 1, 2, 3, 4, 5];
            twice.insert(b, a);
            let mut without = vec![0, 1, 2, 3, 4, 5];
            without.remove(a);
            for order in [swapped, twice, without] {
                if order != [0, 1, 2, 3, 4, 5] {
                    is_no_whole_run(&put(&order), &whole, &format!("{order:?}"));
                }
            }
        }
    }
}

#[test]
fn a_block_of_another_recording_does_not_fit() {
    let records = records(40);
    let blocks: Vec<&[Record]> = records.chunks(9).collect();
    let (bytes, places) = written(3, None, &blocks);
    let (other, _) = written(4, None, &blocks);
    let whole = Run::from_bytes(&bytes).unwrap();
    for (from, to) in places {
        let mut bytes = bytes.clone();
        bytes[from..to].copy_from_slice(&other[from..to]);
        is_no_whole_run(&bytes, &whole, "a block of another run");
    }
}

/// The reader does not trust the sizes in a file, and allocates no memory for them.
#[test]
fn hostile_sizes() {
    let (bytes, places) = short();
    let whole = Run::from_bytes(&bytes).unwrap();
    let heads = [12, 16, 20, 24, 28].map(|at| (0, at));
    let blocks = places.iter().map(|(from, _)| (*from, 4));
    for (from, at) in heads.into_iter().chain(blocks) {
        for value in [1, 2_046, 2_047, 1 << 20, u32::MAX / 32, u32::MAX] {
            let mut bytes = bytes.clone();
            bytes[from + at..from + at + 4].copy_from_slice(&u32::to_le_bytes(value));
            if bytes != short().0 {
                is_no_whole_run(&bytes, &whole, &format!("{value} at {from} + {at}"));
            }
        }
    }
}

/// Damage of every sort at once, from a seed.
#[test]
fn random_damage() {
    let (bytes, _) = short();
    let whole = Run::from_bytes(&bytes).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    for round in 0..4_000 {
        let mut file = bytes.clone();
        for _ in 0..=random(4) {
            let (from, length) = (random(file.len()), 1 + random(200));
            let to = (from + length).min(file.len());
            match random(4) {
                0 => file[from..to].iter_mut().for_each(|byte| *byte = random(256) as u8),
                1 => file[from..to].fill(0),
                2 => drop(file.drain(from..to)),
                _ => {
                    let copy = file[from..to].to_vec();
                    let at = random(file.len());
                    file.splice(at..at, copy);
                }
            }
            if file.is_empty() {
                break;
            }
        }
        if file != bytes {
            is_no_whole_run(&file, &whole, &format!("round {round}"));
        }
    }
}

#[test]
fn rubbish_behind_the_end_is_found() {
    let (mut bytes, _) = short();
    let whole = Run::from_bytes(&bytes).unwrap();
    bytes.push(0);
    is_no_whole_run(&bytes, &whole, "one more byte");
    assert_eq!(Run::from_bytes(&bytes).unwrap().damage.unwrap().bytes, 1);
}

#[test]
fn the_old_format_is_refused_with_words() {
    let (mut bytes, _) = short();
    bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
    let refused = Run::from_bytes(&bytes).unwrap_err();
    assert_eq!(refused, Malformed::Version(1));
    assert!(refused.to_string().contains("format 1, which has no checksums"));
}

/// A process that saw how the application ended appends after the whole blocks.
#[test]
fn an_end_can_be_added() {
    let (bytes, places) = short();
    let killed = Ending::Killed(11).to_record(Instant::from_ns(9_999)).unwrap();
    for (_, end) in places {
        let mut file = bytes[..end].to_vec();
        let run = Run::from_bytes(&file).unwrap();
        let mut block = Vec::new();
        assert_eq!(Blocks::behind(&run).block(&[killed], true, 0, &mut block), end as u64);
        file.extend_from_slice(&block);
        let added = Run::from_bytes(&file).unwrap();
        assert_eq!((added.ending(), added.damage, added.unwritten), (Ending::Killed(11), None, 0));
        assert_eq!(added.records.len(), run.records.len() + 1);
    }
}

/// The reader counts records that could not be written while a disk was full.
#[test]
fn what_could_not_be_written_is_counted() {
    let (mut maker, mut bytes) = Blocks::new(&Head { plan: PLAN, ..Head::default() }).unwrap();
    let (records, mut block) = (records(30), Vec::new());
    maker.block(&records[..10], false, 0, &mut block);
    bytes.extend_from_slice(&block);
    let place = maker.block(&records[10..20], false, 0, &mut block);
    maker.take_back(place, 0);
    let place = maker.block(&records[20..], false, 28, &mut block);
    maker.take_back(place, 1);
    maker.block(&records[30..], true, 28, &mut block);
    bytes.extend_from_slice(&block);
    let run = Run::from_bytes(&bytes).unwrap();
    assert_eq!((run.unwritten, run.os_error, run.records.len()), (20, 28, 11));
    assert_eq!((run.ending(), run.damage), (Ending::Done, None));
}

const BLOCK: usize = 1_000;
/// The head, and eight segments of four such blocks and a bit.
const LIMIT: u64 = (HEAD_BYTES + PLAN.len() + 8 * (4 * (BLOCK_BYTES + BLOCK * Record::SIZE) + 8_000)) as u64;

#[test]
fn a_limit_keeps_the_newest() {
    for count in [1, 3, 31, 32, 33, 36, 37, 64, 65, 100, 333] {
        let all = records(count * BLOCK as u64 - 1);
        let blocks: Vec<&[Record]> = all.chunks(BLOCK).collect();
        let (bytes, _) = written(1, Some(LIMIT), &blocks);
        assert!(bytes.len() as u64 <= LIMIT, "{count} blocks");
        let run = Run::from_bytes(&bytes).unwrap();
        assert_eq!((run.damage, run.closed, run.ending()), (None, true, Ending::Done), "{count} blocks");
        assert!(all.ends_with(&run.records), "{count} blocks");
        assert_eq!(run.dropped + run.records.len() as u64, all.len() as u64);
        // At least seven segments.
        assert!(run.records.len() >= all.len().min(27 * BLOCK), "{count} blocks: {}", run.records.len());
        assert_eq!(run.since.is_some(), run.dropped > 0);
        assert_eq!(run.begin, Some(Instant::from_ns(1_000)), "known although its record is gone");
        if let Some(since) = run.since {
            assert!(run.records.iter().all(|record| record.at > since));
        }
    }
}

/// Wherever the writer stops, the newest whole blocks remain, and the reader reports no ordinary end.
#[test]
fn a_limit_and_a_killed_writer() {
    let all = records(100 * BLOCK as u64 - 1);
    let blocks: Vec<&[Record]> = all.chunks(BLOCK).collect();
    let (mut maker, mut bytes) =
        Blocks::new(&Head { plan: PLAN, machine: "", id: 1, limit: Some(LIMIT) }).unwrap();
    let mut block = Vec::new();
    for (at, records) in blocks.iter().enumerate() {
        let place = usize::try_from(maker.block(records, false, 0, &mut block)).unwrap();
        bytes.resize(bytes.len().max(place + block.len()), 0);
        // The writer wrote half of the block.
        let half = block.len() / 2;
        bytes[place..place + half].copy_from_slice(&block[..half]);
        let run = Run::from_bytes(&bytes).unwrap();
        assert_eq!((run.ending(), run.closed), (Ending::Unrecorded, false), "{at}");
        let written = &all[..at * BLOCK];
        assert!(written.ends_with(&run.records), "{at}");
        assert!(run.records.len() >= written.len().min(24 * BLOCK), "{at}: {}", run.records.len());
        // A process that appends an ending finds the place.
        let mut file = bytes.clone();
        let killed = Ending::Killed(9).to_record(Instant::from_ns(u64::MAX)).unwrap();
        let mut added = Vec::new();
        let behind = usize::try_from(Blocks::behind(&run).block(&[killed], true, 0, &mut added)).unwrap();
        file.resize(file.len().max(behind + added.len()), 0);
        file[behind..behind + added.len()].copy_from_slice(&added);
        let after = Run::from_bytes(&file).unwrap();
        assert_eq!((after.ending(), after.damage), (Ending::Killed(9), None), "{at}");
        bytes[place..place + block.len()].copy_from_slice(&block);
    }
}

/// However a recording with a limit is damaged, the reader returns only records that were written, in order. If some
/// are missing, it reports that.
#[test]
fn a_limit_and_damage() {
    let all = records(100 * BLOCK as u64 - 1);
    let (bytes, places) = written(1, Some(LIMIT), &all.chunks(BLOCK).collect::<Vec<_>>());
    let whole = Run::from_bytes(&bytes).unwrap();
    let mut newest: Vec<(usize, usize)> = places[places.len() - 30..].to_vec();
    newest.sort_unstable();
    for (from, to) in newest.into_iter().step_by(7) {
        let spots = [from, from + 4, from + 8, from + 60, from + 64, (from + to) / 2, to - 1];
        for at in spots.into_iter().filter(|at| *at < to) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            let run = Run::from_bytes(&bytes).unwrap();
            assert!(run.damage.is_some() || !run.closed, "{at}");
            assert_eq!(run.ending(), Ending::Unrecorded, "{at}");
            assert!(
                all.windows(run.records.len()).any(|window| window == run.records) || run.records.is_empty()
            );
            assert!(run.records.len() <= whole.records.len());
        }
    }
    for cut in (0..bytes.len()).step_by(4_999) {
        if let Ok(run) = Run::from_bytes(&bytes[..cut]) {
            assert_eq!(run.ending(), Ending::Unrecorded, "cut at {cut}");
        }
    }
}

#[test]
fn a_limit_without_room_is_refused() {
    let head = Head { plan: PLAN, limit: Some(100_000), ..Head::default() };
    let refused = Blocks::new(&head).unwrap_err();
    let taut_event::file::WriteError::Limit(least) = refused else { panic!("{refused:?}") };
    assert!(Blocks::new(&Head { limit: Some(least), ..head }).is_ok());
    assert!(Blocks::new(&Head { limit: Some(least - 1), ..head }).is_err());
}

/// A block that fills its segment to the last byte stays in it; the next block starts the next segment.
#[test]
fn a_segment_is_filled_to_its_end() {
    let segment = 2 * (BLOCK_BYTES + BLOCK_RECORDS * Record::SIZE) as u64;
    let front = HEAD_BYTES as u64;
    let head = Head { plan: "", machine: "", id: 0, limit: Some(front + u64::from(SEGMENTS) * segment) };
    let (mut blocks, _) = Blocks::new(&head).expect("room for two blocks in each");
    let all = records(BLOCK_RECORDS as u64);
    let mut block = Vec::new();
    let places: Vec<u64> = (0..4).map(|_| blocks.block(&all, false, 0, &mut block) - front).collect();
    assert_eq!(places, [0, segment / 2, segment, segment + segment / 2]);
}
