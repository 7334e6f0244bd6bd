// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What an operation costs beside a plain copy of the same size: one thread, nobody else on the memory, warm
//! caches. So it shows the instructions and the atomics, not the transfer of cache lines between processors.
//!
//! `cargo bench -p taut-share --bench cost [-- [--json] [--rounds N]]`. Between the start and the end of a batch of
//! operations, divided by their number; rounds of all kinds interleaved; median, least and largest round.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, reason = "a program for a person")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use taut_share::queue::qrtr;
use taut_share::state::{sdrtr, sdrtw};
use taut_share::{LINE_BYTES, Line, Memory};

/// Operations of a batch: small enough to stay in the first cache up to 4 KiB values in the queue, and the queue's
/// capacity.
const BATCH: u32 = 64;
/// Batches of a round.
const BATCHES: u32 = 16;

/// One kind of operation on one size: the rounds measured, ns per operation.
struct Row {
    protocol: &'static str,
    operation: &'static str,
    bytes: usize,
    rounds: Vec<f64>,
}

impl Row {
    fn spread(&self) -> (f64, f64, f64) {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        (sorted[sorted.len() / 2], sorted[0], sorted[sorted.len() - 1])
    }
}

/// The objects of one size, and the times of their operations.
struct Bed<const N: usize> {
    rows: Vec<Row>,
    value: [u8; N],
    copy: [u8; N],
    place: [u8; N],
    sdrtr: (sdrtr::Writer<'static, [u8; N]>, sdrtr::Reader<'static, [u8; N]>),
    sdrtw: (sdrtw::Writer<'static, [u8; N]>, sdrtw::Reader<'static, [u8; N]>),
    qrtr: (qrtr::Writer<'static, [u8; N]>, qrtr::Reader<'static, [u8; N]>),
}

fn memory(bytes: usize) -> Memory<'static> {
    let lines: Vec<Line> = (0..bytes.div_ceil(LINE_BYTES)).map(|_| Line::new()).collect();
    Memory::new(Vec::leak(lines))
}

/// Time of `BATCH` calls, ns per call.
fn time(mut operation: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..BATCH {
        operation();
    }
    start.elapsed().as_nanos() as f64 / f64::from(BATCH)
}

trait Round {
    fn round(&mut self);
    fn rows(&self) -> &[Row];
}

impl<const N: usize> Bed<N> {
    fn boxed() -> Box<dyn Round> {
        let kinds = [
            ("memcpy", "copy"),
            ("SDrtR", "publish"),
            ("SDrtR", "read"),
            ("SDrtW", "write"),
            ("SDrtW", "read"),
            ("SDrtW", "into"),
            ("QrtR", "push"),
            ("QrtR", "pop"),
        ];
        let row = |(protocol, operation)| Row { protocol, operation, bytes: N, rounds: Vec::new() };
        Box::new(Self {
            rows: kinds.map(row).into(),
            value: core::array::from_fn(|i| i as u8 | 1),
            copy: [0; N],
            place: [0; N],
            sdrtr: sdrtr::pair(memory(sdrtr::bytes::<[u8; N]>())).unwrap(),
            sdrtw: sdrtw::pair(memory(sdrtw::bytes::<[u8; N]>())).unwrap(),
            qrtr: qrtr::pair(memory(qrtr::bytes::<[u8; N]>(BATCH).unwrap()), BATCH).unwrap(),
        })
    }
}

impl<const N: usize> Round for Bed<N> {
    fn round(&mut self) {
        let mut sums = [0.0; 8];
        // The result first.
        self.sdrtr.0.try_publish(&self.value).unwrap();
        assert_eq!(self.sdrtr.1.read(), Some(self.value));
        self.sdrtw.0.write(&self.value);
        assert_eq!(self.sdrtw.1.try_read().unwrap().unwrap().value, self.value);
        self.qrtr.0.push(self.value).unwrap();
        assert_eq!(self.qrtr.1.pop(), Ok(Some(self.value)));
        for _ in 0..BATCHES {
            let (value, copy, place) = (&self.value, &mut self.copy, &mut self.place);
            let (a, b) = &mut self.sdrtr;
            let (c, d) = &mut self.sdrtw;
            let (e, f) = &mut self.qrtr;
            let times = [
                time(|| {
                    *copy = *black_box(value);
                    black_box(&*copy);
                }),
                time(|| a.try_publish(black_box(value)).unwrap()),
                time(|| _ = black_box(b.read())),
                time(|| c.write(black_box(value))),
                time(|| _ = black_box(d.try_read())),
                time(|| _ = black_box(d.try_read_into(black_box(place)))),
                time(|| e.push(*black_box(value)).unwrap()),
                time(|| _ = black_box(f.pop())),
            ];
            sums.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
        }
        for (row, sum) in self.rows.iter_mut().zip(sums) {
            row.rounds.push(sum / f64::from(BATCHES));
        }
    }

    fn rows(&self) -> &[Row] {
        &self.rows
    }
}

fn main() -> ExitCode {
    let (mut json, mut rounds) = (false, 31u32);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {} // Cargo's.
            "--json" => json = true,
            "--rounds" => match arguments.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0) {
                Some(n) => rounds = n,
                None => return usage(),
            },
            _ => return usage(),
        }
    }
    let mut beds = [
        Bed::<8>::boxed(),
        Bed::<16>::boxed(),
        Bed::<64>::boxed(),
        Bed::<128>::boxed(),
        Bed::<256>::boxed(),
        Bed::<512>::boxed(),
        Bed::<1024>::boxed(),
        Bed::<4096>::boxed(),
    ];
    for _ in 0..rounds {
        beds.iter_mut().for_each(|bed| bed.round());
    }
    if json {
        let rows =
            beds.iter().flat_map(|bed| bed.rows().iter().map(move |row| (row, bed.rows()[0].spread().0)));
        let rows: Vec<String> = rows
            .map(|(row, copy)| {
                let (median, min, max) = row.spread();
                format!(
                    "{{\"protocol\":\"{}\",\"operation\":\"{}\",\"bytes\":{},\"rounds\":{rounds},\
                     \"ns_median\":{median:.2},\"ns_min\":{min:.2},\"ns_max\":{max:.2},\"over_memcpy\":{:.2}}}",
                    row.protocol,
                    row.operation,
                    row.bytes,
                    median / copy
                )
            })
            .collect();
        println!("[{}]", rows.join(",\n "));
    } else {
        println!("ns per operation, {rounds} rounds of {}: median [least, largest]", BATCH * BATCHES);
        println!(
            "{:>6}  {:<7} {:<8} {:>8}  {:<18} {:>8}",
            "bytes", "", "", "median", "[least, largest]", "× memcpy"
        );
        for bed in &beds {
            let copy = bed.rows()[0].spread().0;
            for row in bed.rows() {
                let (median, min, max) = row.spread();
                let spread = format!("[{min:.1}, {max:.1}]");
                let (protocol, operation, bytes) = (row.protocol, row.operation, row.bytes);
                println!(
                    "{bytes:>6}  {protocol:<7} {operation:<8} {median:>8.1}  {spread:<18} {:>8.1}",
                    median / copy
                );
            }
        }
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: cost [--json] [--rounds N]");
    ExitCode::from(2)
}
