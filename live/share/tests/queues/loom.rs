// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Every execution of small runs of the queues whose writer never fails, and of QrtR's slices and chunks:
//! `RUSTFLAGS="--cfg loom" cargo test -p taut-share --release --test loom queues::`.

use loom::thread;
use taut_share::queue::ring::{self, DiscardPolicy};
use taut_share::queue::{qrtr, qrtwc, qrtwo};
use taut_share::{LINE_BYTES, List};

use crate::explore::explore_on;
use crate::payload::{marked, number};

/// Three words, of which two show tearing, in a slot of five: a batch of one value, so that the ring is short.
type Alone = List<u64, 4>;
/// Two words in a slot of four: two values make a batch.
type Paired = List<u64, 3>;

fn alone(n: u64) -> Alone {
    List::of(&marked::<2>(n)).unwrap()
}

fn alone_number(value: &Alone) -> u64 {
    number::<2>(value.as_slice().try_into().expect("torn"))
}

fn paired(n: u64) -> Paired {
    List::of(&[n]).unwrap()
}

fn paired_number(value: &Paired) -> u64 {
    assert_eq!(value.len(), 1, "torn");
    value[0]
}

/// The account of a reader: every pushed value is either returned, in order, or counted as lost.
#[derive(Default)]
struct Account {
    last: u64,
    lost: u64,
}

impl Account {
    fn enter(&mut self, n: u64, lost: u64) {
        assert_eq!(n, self.last + lost + 1, "lost, twice, or out of order");
        self.last = n;
        self.lost += lost;
    }
}

fn pops<P: DiscardPolicy + Send + 'static>(
    (mut writer, mut reader): (ring::Writer<'static, Alone, P>, ring::Reader<'static, Alone, P>),
    pushes: u64,
    pops: u64,
    lost_by: fn(u64) -> bool,
) {
    let writing = thread::spawn(move || (1..=pushes).for_each(|n| writer.push(&alone(n))));
    let mut account = Account::default();
    for _ in 0..pops {
        let waiting = reader.len();
        match reader.pop() {
            Ok(Some(popped)) => {
                account.enter(alone_number(&popped.value), popped.lost);
                assert!(lost_by(popped.lost), "not by the policy");
            }
            Ok(None) => assert_eq!(waiting, 0, "len promised a value"),
            Err(ring::Overwritten) => {}
        }
    }
    writing.join().unwrap();
    while let Some(popped) = reader.pop().expect("nobody pushes") {
        account.enter(alone_number(&popped.value), popped.lost);
        assert!(lost_by(popped.lost), "not by the policy");
        assert!(pushes - account.last < reader.capacity() as u64, "discarded");
    }
    assert_eq!((account.last, account.lost), (pushes, reader.lost()));
}

#[test]
fn qrtwo_of_one() {
    explore_on(4 * LINE_BYTES, "qrtwo of 1, 5×1", None, |memory| {
        pops(qrtwo::pair(memory, 1, 0).unwrap(), 5, 1, |_| true)
    });
}

#[test]
fn qrtwo_of_one_twice() {
    explore_on(4 * LINE_BYTES, "qrtwo of 1, 6×2", Some(2), |memory| {
        pops(qrtwo::pair(memory, 1, 0).unwrap(), 6, 2, |_| true)
    });
}

#[test]
fn qrtwo_of_two() {
    explore_on(4 * LINE_BYTES, "qrtwo of 2, 6×2", Some(2), |memory| {
        pops(qrtwo::pair(memory, 2, 0).unwrap(), 6, 2, |_| true)
    });
}

#[test]
fn qrtwc_of_two() {
    explore_on(4 * LINE_BYTES, "qrtwc of 2, 5×1", None, |memory| {
        pops(qrtwc::pair(memory, 2, 0).unwrap(), 5, 1, |l| l % 2 == 0)
    });
}

#[test]
fn qrtwc_of_two_twice() {
    explore_on(4 * LINE_BYTES, "qrtwc of 2, 6×2", Some(2), |memory| {
        pops(qrtwc::pair(memory, 2, 0).unwrap(), 6, 2, |lost| lost % 2 == 0);
    });
}

fn slices<P: DiscardPolicy + Send + 'static>(
    (mut writer, mut reader): (ring::Writer<'static, Paired, P>, ring::Reader<'static, Paired, P>),
) {
    let writing = thread::spawn(move || {
        writer.push_slice(&[1].map(paired));
        writer.push_slice(&[2, 3, 4].map(paired));
        writer.push_slice(&[5, 6, 7].map(paired));
    });
    let mut account = Account::default();
    let mut values = [paired(0); 2];
    let mut pop = |reader: &mut ring::Reader<'static, Paired, P>| {
        let Ok(popped) = reader.pop_slice(&mut values) else { return true };
        for (i, value) in values[..popped.count].iter().enumerate() {
            account.enter(paired_number(value), if i == 0 { popped.lost } else { 0 });
        }
        popped.count > 0
    };
    pop(&mut reader);
    writing.join().unwrap();
    while pop(&mut reader) {}
    assert_eq!((account.last, account.lost), (7, reader.lost()));
}

#[test]
fn qrtwo_by_slices() {
    explore_on(5 * LINE_BYTES, "qrtwo of 2 by slices", None, |memory| {
        slices(qrtwo::pair(memory, 2, 0).unwrap())
    });
}

#[test]
fn qrtwc_by_slices() {
    explore_on(5 * LINE_BYTES, "qrtwc of 2 by slices", None, |memory| {
        slices(qrtwc::pair(memory, 2, 0).unwrap())
    });
}

/// Pops of single values, which the reader copies in lines of two, during pushes of slices; then a pop of a slice,
/// which loads the ring again.
fn by_the_line<P: DiscardPolicy + Send + 'static>(
    (mut writer, mut reader): (ring::Writer<'static, Paired, P>, ring::Reader<'static, Paired, P>),
    pops: u64,
) {
    let writing = thread::spawn(move || {
        writer.push_slice(&[1, 2].map(paired));
        writer.push_slice(&[3, 4, 5].map(paired));
        writer.push_slice(&[6, 7].map(paired));
    });
    let mut account = Account::default();
    for _ in 0..pops {
        let waiting = reader.len();
        match reader.pop() {
            Ok(Some(popped)) => account.enter(paired_number(&popped.value), popped.lost),
            Ok(None) => assert_eq!(waiting, 0, "len promised a value"),
            Err(ring::Overwritten) => {}
        }
    }
    writing.join().unwrap();
    let mut values = [paired(0); 2];
    let popped = reader.pop_slice(&mut values).expect("nobody pushes");
    for (i, value) in values[..popped.count].iter().enumerate() {
        account.enter(paired_number(value), if i == 0 { popped.lost } else { 0 });
    }
    assert_eq!((account.last, account.lost), (7, reader.lost()));
    assert_eq!(reader.pop(), Ok(None));
}

#[test]
fn qrtwo_by_the_line() {
    explore_on(5 * LINE_BYTES, "qrtwo of 2 by the line, 2 pops", None, |memory| {
        by_the_line(qrtwo::pair(memory, 2, 0).unwrap(), 2)
    });
}

#[test]
fn qrtwo_by_the_line_on() {
    explore_on(5 * LINE_BYTES, "qrtwo of 2 by the line, 3 pops", Some(2), |memory| {
        by_the_line(qrtwo::pair(memory, 2, 0).unwrap(), 3)
    });
}

#[test]
fn qrtwc_by_the_line_on() {
    explore_on(5 * LINE_BYTES, "qrtwc of 2 by the line, 3 pops", Some(2), |memory| {
        by_the_line(qrtwc::pair(memory, 2, 0).unwrap(), 3)
    });
}

#[test]
fn qrtwo_with_a_follower() {
    explore_on(4 * LINE_BYTES, "qrtwo with a follower", Some(2), |memory| {
        let (mut writer, mut reader) = qrtwo::pair::<Alone>(memory, 2, 0).unwrap();
        let mut follower = reader.follower();
        let writing = thread::spawn(move || (1..=4).for_each(|n| writer.push(&alone(n))));
        let following = thread::spawn(move || {
            let mut account = Account::default();
            if let Ok(Some(popped)) = follower.pop() {
                account.enter(alone_number(&popped.value), popped.lost);
            }
            (follower, account)
        });
        let mut account = Account::default();
        if let Ok(Some(popped)) = reader.pop() {
            account.enter(alone_number(&popped.value), popped.lost);
        }
        writing.join().unwrap();
        let (mut follower, mut followed) = following.join().unwrap();
        while let Some(popped) = reader.pop().unwrap() {
            account.enter(alone_number(&popped.value), popped.lost);
        }
        while let Some(popped) = follower.pop().unwrap() {
            followed.enter(alone_number(&popped.value), popped.lost);
        }
        assert_eq!((account.last, followed.last), (4, 4));
    });
}

#[test]
fn qrtr_by_slices() {
    explore_on(3 * LINE_BYTES, "qrtr of 3 by slices", None, |memory| {
        let (mut writer, mut reader) = qrtr::pair::<[u64; 2]>(memory, 3).unwrap();
        let writing = thread::spawn(move || {
            let mut pushed = 0;
            for count in [2, 2, 3] {
                let values: Vec<_> = (1..=count).map(|n| marked(pushed + n)).collect();
                pushed += writer.push_slice(&values) as u64;
            }
            pushed
        });
        let (mut popped, mut values) = (0, [[0; 2]; 2]);
        let mut pop = |reader: &mut qrtr::Reader<'static, [u64; 2]>| {
            let count = reader.pop_slice(&mut values).unwrap();
            for value in &values[..count] {
                popped += 1;
                assert_eq!(number(value), popped, "lost, twice, or out of order");
            }
            if count > 0 { None } else { Some(popped) }
        };
        for _ in 0..2 {
            pop(&mut reader);
        }
        let pushed = writing.join().unwrap();
        let popped = loop {
            if let Some(popped) = pop(&mut reader) {
                break popped;
            }
        };
        assert_eq!(popped, pushed, "lost");
    });
}

#[test]
fn qrtr_by_chunks() {
    explore_on(3 * LINE_BYTES, "qrtr of 3 by chunks", None, |memory| {
        let (mut writer, mut reader) = qrtr::pair::<[u64; 2]>(memory, 3).unwrap();
        let writing = thread::spawn(move || {
            let mut pushed = 0;
            for (wanted, committed) in [(3, 2), (2, 2), (1, 1)] {
                let mut chunk = writer.write_chunk(wanted);
                chunk.iter_mut().zip(pushed + 1..).for_each(|(slot, n)| *slot = marked(n));
                pushed += chunk.commit(committed) as u64;
            }
            pushed + u64::from(writer.push_with(|slot| *slot = marked(pushed + 1)).is_ok())
        });
        let mut popped = 0;
        for (wanted, committed) in [(3, 1), (2, 2)] {
            let chunk = reader.read_chunk(wanted).unwrap();
            for (value, n) in chunk.iter().zip(popped + 1..) {
                assert_eq!(number(value), n, "lost, twice, or out of order");
            }
            popped += chunk.commit(committed) as u64;
        }
        let pushed = writing.join().unwrap();
        while let Some(n) = reader.pop_with(number).unwrap() {
            popped += 1;
            assert_eq!(n, popped);
        }
        assert_eq!(popped, pushed, "lost");
    });
}
