// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What a read of several sources gets: the newest value, and never an older one than before.

use super::*;

/// A source as a test plays it: what it has written, and whether its writer overtakes readers.
#[derive(Clone, Copy, Default)]
struct Played {
    /// When it says that it wrote, its number, and the value.
    written: Option<(u64, u64, u64)>,
    overtakes: bool,
}

struct Looking {
    now_ns: u64,
}

impl Look<Played, u64> for Looking {
    fn read(&mut self, end: &mut Played, place: &mut Stamped<u64>) -> Result<bool, ReaderOvertaken> {
        if end.overtakes {
            // The place holds anything then.
            place.value = u64::MAX;
            return Err(ReaderOvertaken);
        }
        let Some((sent_ns, sequence, value)) = end.written else { return Ok(false) };
        (place.sent_ns, place.sequence, place.value) = (sent_ns, sequence, value);
        Ok(true)
    }

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }
}

struct Reader {
    sources: Sources<Played, u64>,
    own: Own<u64>,
    look: Looking,
}

impl Reader {
    /// `trusted`: by source.
    fn of(trusted: &[bool]) -> Self {
        let ends = trusted.iter().map(|trusted| (Played::default(), SourceStamps::new(*trusted)));
        Self { sources: Sources::new(ends.collect()), own: Own::new(), look: Looking { now_ns: 0 } }
    }

    fn write(&mut self, source: usize, sent_ns: u64, value: u64) {
        let end = &mut self.sources.ends[source].0;
        let number = end.written.map_or(1, |(_, number, _)| number + 1);
        end.written = Some((sent_ns, number, value));
    }

    fn overtakes(&mut self, source: usize, overtakes: bool) {
        self.sources.ends[source].0.overtakes = overtakes;
    }

    fn read(&mut self) -> Result<Option<(usize, u64)>, ReaderOvertaken> {
        let found = self.sources.read(&mut self.own, &mut self.look)?;
        Ok(found.map(|place| (place, *self.own.value())))
    }
}

#[test]
fn the_newest_comes_and_of_one_instant_that_of_the_first_source() {
    let mut reader = Reader::of(&[true, true, true]);
    assert_eq!(reader.read(), Ok(None));
    reader.write(2, 10, 100);
    assert_eq!(reader.read(), Ok(Some((2, 100))));
    reader.write(1, 10, 200);
    assert_eq!(reader.read(), Ok(Some((1, 200))), "source 1 is named before source 2");
    reader.write(0, 9, 300);
    assert_eq!(reader.read(), Ok(Some((1, 200))), "source 0 wrote before");
    reader.write(2, 11, 101);
    assert_eq!([reader.read(), reader.read()], [Ok(Some((2, 101))); 2], "what was written last stays");
}

#[test]
fn an_overtaken_reader_gets_nothing_rather_than_something_older() {
    let mut reader = Reader::of(&[true, true]);
    reader.write(0, 10, 100);
    reader.write(1, 20, 200);
    assert_eq!(reader.read(), Ok(Some((1, 200))));
    reader.overtakes(1, true);
    assert_eq!(reader.read(), Err(ReaderOvertaken), "100 is older");
    reader.write(0, 30, 101);
    assert_eq!(reader.read(), Ok(Some((0, 101))), "newer than what the reader got");
    reader.overtakes(1, false);
    reader.overtakes(0, true);
    assert_eq!(reader.read(), Err(ReaderOvertaken));
}

#[test]
fn a_client_that_lies_about_the_time_hides_nobody() {
    let mut reader = Reader::of(&[true, false]);
    reader.look.now_ns = 50;
    reader.write(1, u64::MAX, 666);
    assert_eq!(reader.read(), Ok(Some((1, 666))), "it counts as written when the reader sees it, at 50");
    reader.look.now_ns = 90;
    reader.write(0, 60, 100);
    assert_eq!(reader.read(), Ok(Some((0, 100))), "written after that");
    // From the past, behind what the same client wrote before: it is no older than that.
    reader.write(1, 0, 667);
    assert_eq!(reader.read(), Ok(Some((0, 100))));
    reader.write(1, 80, 668);
    assert_eq!(reader.read(), Ok(Some((1, 668))), "a client that tells the truth counts by its stamp");
    reader.write(0, 79, 101);
    assert_eq!(reader.read(), Ok(Some((1, 668))));
}

/// Random sources, honest and not, written, read and overtaken at random instants: whatever happens, a read gets nothing that is
/// older than what was written by an honest source before it, or than what it got before.
#[test]
fn no_read_goes_back() {
    for seed in 1..=if cfg!(miri) { 20u64 } else { 2_000 } {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut pick = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let trusted: Vec<bool> = (0..2 + pick(4)).map(|_| pick(3) > 0).collect();
        let mut reader = Reader::of(&trusted);
        // By source: the instant of its newest value, and by value the instant at which it was written in truth.
        let (mut honest, mut truth, mut got) = (vec![None; trusted.len()], vec![0u64], None);
        for _ in 0..100 {
            reader.look.now_ns += pick(3);
            let now_ns = reader.look.now_ns;
            let at = pick(trusted.len() as u64) as usize;
            match pick(4) {
                0 | 1 => {
                    let said = if trusted[at] { now_ns } else { [now_ns, 0, u64::MAX][pick(3) as usize] };
                    reader.write(at, said, truth.len() as u64);
                    truth.push(now_ns);
                    if trusted[at] {
                        honest[at] = Some(now_ns);
                    }
                }
                2 => {
                    let overtakes = pick(2) == 0;
                    reader.overtakes(at, overtakes);
                }
                _ => {
                    let before = reader.sources.newest;
                    let Ok(found) = reader.read() else { continue };
                    assert!(reader.sources.newest >= before, "seed {seed}");
                    let Some((place, value)) = found else { continue };
                    let is_readable = |at: &usize| !reader.sources.ends[*at].0.overtakes;
                    let newest = (0..trusted.len()).filter(is_readable).filter_map(|at| honest[at]).max();
                    let counts = reader.sources.newest.map(|(counts_ns, _)| counts_ns);
                    assert!(counts >= newest, "seed {seed}: {counts:?} is older than {newest:?}");
                    assert!(counts <= Some(now_ns), "seed {seed}: from the future");
                    // Between honest sources the instants are the true ones.
                    if let Some((last_place, last)) = got.filter(|_| trusted[place]) {
                        let _: usize = last_place;
                        let last: u64 = last;
                        assert!(
                            !trusted[last_place] || truth[value as usize] >= truth[last as usize],
                            "seed {seed}: back from {last} to {value}"
                        );
                    }
                    got = Some((place, value));
                }
            }
        }
    }
}
