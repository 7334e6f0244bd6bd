// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Ends move between threads, but threads do not share them: each end belongs to one thread.
#![cfg(not(any(loom, shuttle)))]

#[macro_use]
mod given;

use taut_share::queue::{broadcast, lanes, qrtr, qrtwc, qrtwo, timed_slots};
use taut_share::state::{
    chen, dbp, double_buffer, emeralds, hybrid, improved_chen, improved_double_buffer, nbw_temporal,
    peterson, presence, sdrtr, sdrtw, spinlock, tccp,
};
use taut_share::{List, bulk, owned};

#[test]
fn shared_types_are_send_and_sync() {
    threads! {
        chen::Writer<'static, u64>: send,
        chen::Reader<'static, u64>: send,
        chen::Readers<'static, u64>: send,
        double_buffer::Writer<'static, u64>: send,
        double_buffer::Reader<'static, u64>: send,
        double_buffer::Readers<'static, u64>: send,
        emeralds::Writer<'static, u64>: send,
        emeralds::SlowReader<'static, u64>: send,
        emeralds::SlowReaders<'static, u64>: send,
        hybrid::Writer<'static, u64>: send,
        hybrid::Reader<'static, u64>: send,
        hybrid::Readers<'static, u64>: send,
        hybrid::Observer<'static, u64>: send,
        improved_chen::SlowReader<'static, u64>: send,
        improved_chen::SlowReaders<'static, u64>: send,
        improved_double_buffer::Writer<'static, u64>: send,
        improved_double_buffer::SlowReader<'static, u64>: send,
        improved_double_buffer::SlowReaders<'static, u64>: send,
        improved_double_buffer::FastReader<'static, u64>: send,
        nbw_temporal::Writer<'static, u64>: send,
        nbw_temporal::Reader<'static, u64>: send,
        peterson::Writer<'static, u64>: send,
        peterson::Reader<'static, u64>: send,
        peterson::Readers<'static, u64>: send,
        presence::Writer<'static, u64>: send,
        presence::Reader<'static, u64>: send,
        presence::Readers<'static, u64>: send,
        sdrtr::Writer<'static, u64>: send,
        sdrtr::Reader<'static, u64>: send,
        sdrtw::Writer<'static, u64>: send,
        sdrtw::Reader<'static, u64>: send,
        spinlock::Writer<'static, u64>: send,
        spinlock::Reader<'static, u64>: send,
        spinlock::Readers<'static, u64>: send,
        dbp::Writer<'static, u64>: send,
        dbp::Reader<'static, u64>: send,
        dbp::Readers<'static, u64>: send,
        timed_slots::Setter<'static, u64>: send,
        timed_slots::Taker<'static, u64>: send,
        tccp::Writer<'static, u64>: send,
        tccp::Publisher<'static, u64>: send,
        tccp::Reader<'static, u64>: send,
        tccp::Readers<'static, u64>: send,
        dbp::Dispatcher<'static>: send,
        tccp::Dispatcher<'static>: send,
        dbp::WriterJob<'static, 'static, u64>: send,
        dbp::ReaderJob<'static, 'static, u64>: send,
        tccp::WriterJob<'static, 'static, u64>: send,
        tccp::ReaderJob<'static, 'static, u64>: send,
        qrtr::Writer<'static, u64>: send,
        qrtr::Reader<'static, u64>: send,
        qrtr::WriteChunk<'static, 'static, u64>: neither,
        qrtr::ReadChunk<'static, 'static, u64>: neither,
        qrtwo::Writer<'static, u64>: send,
        qrtwo::Reader<'static, u64>: send,
        qrtwo::Follower<'static, u64>: send,
        qrtwc::Writer<'static, u64>: send,
        qrtwc::Reader<'static, u64>: send,
        qrtwc::Follower<'static, u64>: send,
        broadcast::Writer<'static, u64>: send,
        broadcast::Reader<'static, u64>: send,
        broadcast::Readers<'static, u64>: send,
        broadcast::Follower<'static, u64>: send,
        lanes::Announcer<'static>: send,
        lanes::Announcers<'static>: send,
        lanes::Collector<'static>: send,
        lanes::Writer<'static, qrtr::Writer<'static, u64>>: send,
        lanes::Reader<'static, qrtr::Reader<'static, u64>, [qrtr::Reader<'static, u64>; 2]>: send,
        bulk::BlockSender<'static, u64>: send,
        bulk::Loan<'static, 'static, u64>: neither,
        bulk::BlockReceiver<'static, u64>: send,
        bulk::ReceivedBlock<'static, 'static, u64>: neither,
        bulk::Watcher<'static, u64>: send,
        owned::Owned<hybrid::Writer<'static, u64>>: send,
        owned::Owned<hybrid::Observer<'static, u64>>: send,
        owned::Owned<qrtr::Reader<'static, u64>>: send,
        owned::Owned<bulk::BlockSender<'static, u64>>: send,
        List<u64, 4>: both,
    }
}
