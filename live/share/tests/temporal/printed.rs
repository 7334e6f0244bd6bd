// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The errors that come from fewer buffers, a laxer check, a bit of the reader's own, or an answer that the reader
//! takes without a check: each on a small sequential model, driven through the bad interleaving, beside the same
//! sequence of steps on our objects [Huang 2002].

use taut_share::state::{ReaderOvertaken, emeralds, improved_peterson, nbw_temporal, peterson};

use crate::meddle::{Twice, all_took_place, meanwhile};
use crate::place::Place;

/// Buffers of two words, written in turn.
struct Printed {
    buffers: Vec<[u64; 2]>,
    latest: u64,
}

impl Printed {
    fn new(buffers: usize) -> Self {
        Self { buffers: vec![[0; 2]; buffers], latest: 0 }
    }

    /// The first word of the next write.
    fn begin(&mut self) {
        let next = self.latest + 1;
        let count = self.buffers.len();
        self.buffers[next as usize % count][0] = next;
    }

    /// Its second word, and its number.
    fn end(&mut self) {
        let next = self.latest + 1;
        let count = self.buffers.len();
        self.buffers[next as usize % count][1] = next;
        self.latest = next;
    }

    fn write(&mut self) {
        self.begin();
        self.end();
    }

    fn word(&self, number: u64, word: usize) -> u64 {
        self.buffers[number as usize % self.buffers.len()][word]
    }
}

/// A read that three writes overlap, of which two end: the reader copies its second word before them, and its first
/// one during the third. Returns the words and the number at the end.
fn overlapped_by_three(printed: &mut Printed) -> ([u64; 2], u64) {
    printed.write();
    let number = printed.latest;
    let second = printed.word(number, 1);
    printed.write();
    printed.write();
    printed.begin();
    ([printed.word(number, 0), second], printed.latest)
}

/// The result of our object for a reader if `writes` writes end in the middle of its copy of the first.
fn ours(buffers: u32, writes: u64) -> Result<u64, ReaderOvertaken> {
    let place = Place::new(nbw_temporal::bytes::<Twice>(buffers).unwrap());
    let (mut writer, mut reader) = nbw_temporal::pair::<Twice>(place.memory(), buffers).unwrap();
    writer.write(&Twice::new(1));
    meanwhile(move || (2..2 + writes).for_each(|n| writer.write(&Twice::new(n))));
    let result = reader.read().map(|sample| sample.unwrap().value.number());
    assert!(all_took_place());
    result
}

#[test]
fn as_many_buffers_as_overlapping_writes_are_too_few() {
    let (words, _) = overlapped_by_three(&mut Printed::new(3));
    assert_eq!(words, [4, 1], "torn, and three writes were allowed for");
    let (words, _) = overlapped_by_three(&mut Printed::new(4));
    assert_eq!(words, [1, 1]);

    // Ours with as many buffers as it recommends for three writes; with fewer, it reports the overrun.
    assert_eq!(nbw_temporal::buffers(2_500, 500, 1_000), Some(5));
    assert_eq!(ours(5, 3), Ok(1));
    assert_eq!(ours(4, 3), Err(ReaderOvertaken));
    assert_eq!(ours(3, 3), Err(ReaderOvertaken));
}

#[test]
fn a_laxer_check_lets_a_torn_value_pass() {
    // Three buffers, and a check that accepts a number that has increased by two: one more than ours.
    let (words, latest) = overlapped_by_three(&mut Printed::new(3));
    assert!(latest - 1 <= 2, "the laxer check is content");
    assert_ne!(words[0], words[1], "and the value is torn");

    for buffers in 2..9 {
        let accepted = u64::from(buffers) - 2;
        assert_eq!(ours(buffers, accepted), Ok(1));
        assert_eq!(ours(buffers, accepted + 1), Err(ReaderOvertaken));
        // The same buffers, with slow readers in addition.
        for writes in [accepted, accepted + 1] {
            let place = Place::new(improved_peterson::bytes::<Twice>(1, buffers).unwrap());
            let (mut writer, _, mut fast) =
                improved_peterson::group::<Twice>(place.memory(), 1, buffers).unwrap();
            writer.write(&Twice::new(1));
            meanwhile(move || (2..2 + writes).for_each(|n| writer.write(&Twice::new(n))));
            let read = fast.read().map(|sample| sample.unwrap().value.number());
            assert_eq!(read, if writes == accepted { Ok(1) } else { Err(ReaderOvertaken) });
        }
    }
}

#[test]
fn a_bit_of_the_readers_own_returns_what_was_never_written() {
    // Peterson, one reader; the writer has written 1 and then does nothing.
    let (newest, copy, answered) = (1, 0, 0);
    let (mut own, mut seen) = (0, Vec::new());
    for _ in 0..2 {
        own = 1 - own; // Printed nowhere, but the obvious way to "toggle".
        seen.push(if answered == own { copy } else { newest });
    }
    assert_eq!(seen, [1, 0], "the second read takes a copy that was never written");
    // The complement of the answered bit.
    let asked = 1 - answered;
    assert_eq!([(); 2].map(|()| if answered == asked { copy } else { newest }), [1, 1]);

    let place = Place::new(peterson::bytes::<Twice>(1).unwrap());
    let (mut writer, mut readers) = peterson::group::<Twice>(place.memory(), 1).unwrap();
    let mut reader = readers.next().unwrap();
    writer.write(&Twice::new(1));
    for _ in 0..5 {
        assert_eq!(reader.read().map(Twice::number), Some(1));
    }
}

#[test]
fn two_buffers_without_the_answer_are_torn() {
    // The purpose of Peterson's copy: the reader's words are of two writes if two end in between.
    let (words, _) = overlapped_by_three(&mut Printed::new(2));
    assert_ne!(words[0], words[1]);

    for writes in 0..5 {
        let place = Place::new(peterson::bytes::<Twice>(1).unwrap());
        let (mut writer, mut readers) = peterson::group::<Twice>(place.memory(), 1).unwrap();
        let mut reader = readers.next().unwrap();
        writer.write(&Twice::new(1));
        meanwhile(move || (2..2 + writes).for_each(|n| writer.write(&Twice::new(n))));
        let sample = reader.read_sample().unwrap();
        assert!(all_took_place());
        // If nobody writes: the value that was the newest at the begin of the read. Else the copy that the first
        // write in between has left.
        let expected = if writes == 0 { 1 } else { 2 };
        assert_eq!((sample.value.number(), sample.version), (expected, expected), "{writes} writes");
    }
}

#[test]
fn an_answer_that_is_taken_as_it_comes_is_stale() {
    // EMERALDS: a read was overtaken, made a request, and then found a value without help. The answer comes after
    // that, and stays.
    let (answer, newest_at_begin) = (5, 9);
    let taken_as_it_comes = answer;
    assert!(taken_as_it_comes < newest_at_begin, "the next read that is overtaken gets this");

    let place = Place::new(emeralds::bytes::<Twice>(1, 3).unwrap());
    let answered = place.memory().claim().word(384 + 128 + 16);
    let (writer, mut slow, _) = emeralds::group::<Twice>(place.memory(), 1, 3).unwrap();
    let writer = std::rc::Rc::new(std::cell::RefCell::new((writer, 0)));
    let write = move |times: u64| {
        let (writer, written) = &mut *writer.borrow_mut();
        for _ in 0..times {
            *written += 1;
            writer.write(&Twice::new(*written));
        }
    };
    let mut slow = slow.next().unwrap();
    let later = |times| {
        let write = write.clone();
        meanwhile(move || write(times));
    };
    write(1);
    // Overtaken, makes a request; nothing disturbs the second attempt.
    later(2);
    assert_eq!(slow.read().map(|sample| sample.unwrap().value.number()), Ok(3));
    // The answer.
    write(1);
    let (version, bit) = (4, 1);
    assert_eq!(answered.load(taut_atomic::Ordering::Relaxed), version << 1 | bit);
    write(5);
    // Overtaken: the answer is there, but is an old one.
    later(2);
    assert_eq!(slow.read().map(|sample| sample.unwrap().value.number()), Ok(11));
    // Overtaken each time: by the end of the second attempt, the first write during it has answered.
    write(5);
    later(2);
    later(2);
    let sample = slow.read().unwrap().unwrap();
    assert!(all_took_place());
    assert_eq!((sample.value.number(), sample.version), (19, 19), "17 and 18 came in the first, 19 answers");
    // With one attempt: reported.
    later(2);
    assert_eq!(slow.read_bounded(1), Err(ReaderOvertaken));
    assert_eq!(slow.read_bounded(0).map(|sample| sample.unwrap().value.number()), Ok(22));
}
