// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The protocols of `taut-share` as kinds. Each kind has its shape, its endpoints, and the constructor of each
//! endpoint's end.

use std::marker::PhantomData;

use taut_share::queue::{qrtr, qrtwc, qrtwo};
use taut_share::state::flow::Shape;
use taut_share::state::{
    chen, dbp, double_buffer, emeralds, hybrid, improved_chen, improved_double_buffer, improved_peterson,
    nbw_temporal, peterson, presence, sdrtr, sdrtw, spinlock, tccp,
};
use taut_share::{Layout, LayoutError, Memory, Plain, bulk};

use super::kind::{Endpoint, EndpointSpec, NamedObject, Number, ObjectKind, Offers};

macro_rules! endpoints {
    ($($(#[$doc:meta])* $endpoint:ident $text:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $endpoint {}

        impl $endpoint {
            const TEXT: &str = $text;
        }
    )*};
}

endpoints! {
    /// The writer.
    Writer "writer";
    /// A reader with a number.
    Reader "reader";
    /// A reader with a number, whose reads may take any time.
    SlowReader "slow-reader";
    /// A reader that leaves no trace, and that must be fast enough for the writer not to overtake it.
    FastReader "fast-reader";
    /// A reader that leaves no trace.
    Observer "observer";
    /// A reader of a queue that leaves no trace, beside the reader that does.
    Follower "follower";
    /// Activates the jobs of writer and readers.
    Dispatcher "dispatcher";
    /// Dispatcher and writer in one.
    Publisher "publisher";
    /// The sender of blocks.
    Sender "sender";
    /// The receiver of blocks.
    Receiver "receiver";
}

/// How many ends an endpoint may have.
macro_rules! number {
    ($kind:ident one) => {
        Number::One
    };
    ($kind:ident any) => {
        Number::Any
    };
    ($kind:ident each $first:ident $(+ $second:ident)?) => {
        Number::Each($kind.$first$(.saturating_add($kind.$second))?)
    };
}

/// For each kind: its documentation, `Type(fields) "name"`, and its endpoints as `Marker method(number) [how many]
/// End = constructor`. The names `self`, `memory` and `which` come first, for the constructors to use.
macro_rules! kinds {
    ($self:ident $memory:ident $which:ident; $(
        $(#[$doc:meta])*
        $kind:ident($($field:ident),*) $name:literal {$(
            $endpoint:ident $method:ident($($arg:ident)?) [$($number:tt)*] $end:ty = $make:expr;
        )*}
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $kind<T> {
            $($field: u32,)*
            values: PhantomData<fn() -> T>,
        }

        impl<T> Clone for $kind<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $kind<T> {}

        #[allow(clippy::new_without_default, reason = "few kinds have a meaningful default")]
        impl<T: Plain + Layout> $kind<T> {
            /// A kind of this shape, for values of this type. The protocol's module says what the numbers mean, and
            /// which values it accepts; a registry refuses others.
            pub const fn new($($field: u32),*) -> Self {
                Self { $($field,)* values: PhantomData }
            }

            /// An object of this kind, for a registry.
            pub fn named(&self, name: &str) -> NamedObject {
                ObjectKind::named(self, name)
            }

            $(
                #[doc = concat!("The part [`", stringify!($endpoint), "`].")]
                pub const fn $method(self $(, $arg: u32)?) -> Endpoint<Self, $endpoint> {
                    Endpoint::new(self, 0 $(+ $arg)?)
                }
            )*
        }

        // SAFETY:
        // - the protocol itself says how many bytes it needs;
        // - each name stands for one protocol, and its shape is the fields;
        // - the endpoints are the protocol's ends, each in the number that its constructor's duties allow.
        unsafe impl<T: Plain + Layout> ObjectKind for $kind<T> {
            type Value = T;
            const NAME: &'static str = $name;

            fn fields(&self) -> Vec<(&'static str, u32)> {
                vec![$((stringify!($field), self.$field)),*]
            }

            fn endpoints(&self) -> Vec<EndpointSpec> {
                vec![$(Offers::<$endpoint>::terms(self)),*]
            }

            fn bytes(&self) -> Result<usize, LayoutError> {
                let mut most = 0;
                $(most = most.max(needed::<Self, $endpoint>(self)?);)*
                Ok(most)
            }
        }

        $(
            // SAFETY: the constructor's duties are the caller's.
            unsafe impl<T: Plain + Layout> Offers<$endpoint> for $kind<T> {
                type End<'m> = $end;

                fn terms(&self) -> EndpointSpec {
                    EndpointSpec { endpoint: $endpoint::TEXT, number: number!(self $($number)*) }
                }

                unsafe fn end<'m>(
                    &$self,
                    $which: u32,
                    $memory: Memory<'m>,
                ) -> Result<Self::End<'m>, LayoutError> {
                    let _ = $which;
                    // SAFETY: the caller's duties are the constructor's.
                    unsafe { $make }
                }
            }
        )*
    )*};
}

/// The bytes that an endpoint's end needs: the constructor reports them when it is given no memory.
fn needed<K: Offers<P>, P>(kind: &K) -> Result<usize, LayoutError> {
    if kind.terms().number == Number::Each(0) {
        return Ok(0);
    }
    // SAFETY: the memory is empty, and nobody else has it.
    match unsafe { kind.end(0, Memory::new(&mut [])) } {
        Ok(_) => Ok(0),
        Err(LayoutError::TooSmall { needed, .. }) => Ok(needed),
        Err(error) => Err(error),
    }
}

const fn shape(lower: u32, higher: u32, buffers: u32) -> Shape {
    Shape { lower, higher, buffers }
}

kinds! { self memory which;
    /// [`hybrid`]: the newest value; the first choice.
    Hybrid(readers, spare) "hybrid" {
        Writer writer() [one] hybrid::Writer<'m, T> = hybrid::writer(memory, self.readers, self.spare);
        Reader reader(which) [each readers] hybrid::Reader<'m, T> = hybrid::reader(memory, self.readers, self.spare, which);
        Observer observer() [any] hybrid::Observer<'m, T> = hybrid::observer(memory, self.readers, self.spare);
    }
    /// [`chen`]: the newest value, read in place.
    Chen(readers) "chen" {
        Writer writer() [one] chen::Writer<'m, T> = chen::writer(memory, self.readers);
        Reader reader(which) [each readers] chen::Reader<'m, T> = chen::reader(memory, self.readers, which);
    }
    /// [`improved_chen`]: as hybrid, with fewer slots, if the duration of reads is bounded.
    ImprovedChen(slow, overlaps) "improved-chen" {
        Writer writer() [one] improved_chen::Writer<'m, T> = improved_chen::writer(memory, self.slow, self.overlaps);
        SlowReader slow_reader(which) [each slow] improved_chen::SlowReader<'m, T> =
            improved_chen::slow_reader(memory, self.slow, self.overlaps, which);
        FastReader fast_reader() [any] improved_chen::FastReader<'m, T> =
            improved_chen::fast_reader(memory, self.slow, self.overlaps);
    }
    /// [`presence`]: the newest value, with a presence bit for each reader.
    Presence(readers) "presence" {
        Writer writer() [one] presence::Writer<'m, T> = presence::writer(memory, self.readers);
        Reader reader(which) [each readers] presence::Reader<'m, T> = presence::reader(memory, self.readers, which);
    }
    /// [`double_buffer`]: the newest value, with two buffers for each reader.
    DoubleBuffer(readers) "double-buffer" {
        Writer writer() [one] double_buffer::Writer<'m, T> = double_buffer::writer(memory, self.readers);
        Reader reader(which) [each readers] double_buffer::Reader<'m, T> =
            double_buffer::reader(memory, self.readers, which);
    }
    /// [`improved_double_buffer`]: as `double_buffer`, with fast readers protected by time.
    ImprovedDoubleBuffer(slow, overlaps) "improved-double-buffer" {
        Writer writer() [one] improved_double_buffer::Writer<'m, T> =
            improved_double_buffer::writer(memory, self.slow, self.overlaps);
        SlowReader slow_reader(which) [each slow] improved_double_buffer::SlowReader<'m, T> =
            improved_double_buffer::slow_reader(memory, self.slow, self.overlaps, which);
        FastReader fast_reader() [any] improved_double_buffer::FastReader<'m, T> =
            improved_double_buffer::fast_reader(memory, self.slow, self.overlaps);
    }
    /// [`peterson`]: the newest value, with a copy for each reader that requests one.
    Peterson(readers) "peterson" {
        Writer writer() [one] peterson::Writer<'m, T> = peterson::writer(memory, self.readers);
        Reader reader(which) [each readers] peterson::Reader<'m, T> = peterson::reader(memory, self.readers, which);
    }
    /// [`improved_peterson`]: as `peterson`, with fast readers protected by time.
    ImprovedPeterson(slow, buffers) "improved-peterson" {
        Writer writer() [one] improved_peterson::Writer<'m, T> = improved_peterson::writer(memory, self.slow, self.buffers);
        SlowReader slow_reader(which) [each slow] improved_peterson::SlowReader<'m, T> =
            improved_peterson::slow_reader(memory, self.slow, self.buffers, which);
        FastReader fast_reader() [any] improved_peterson::FastReader<'m, T> =
            improved_peterson::fast_reader(memory, self.slow, self.buffers);
    }
    /// [`emeralds`]: the newest value, with help for readers that the writer overtook.
    Emeralds(slow, buffers) "emeralds" {
        Writer writer() [one] emeralds::Writer<'m, T> = emeralds::writer(memory, self.slow, self.buffers);
        SlowReader slow_reader(which) [each slow] emeralds::SlowReader<'m, T> =
            emeralds::slow_reader(memory, self.slow, self.buffers, which);
        FastReader fast_reader() [any] emeralds::FastReader<'m, T> =
            emeralds::fast_reader(memory, self.slow, self.buffers);
    }
    /// [`nbw_temporal`]: the newest value, protected by time alone.
    NbwTemporal(buffers) "nbw-temporal" {
        Writer writer() [one] nbw_temporal::Writer<'m, T> = nbw_temporal::writer(memory, self.buffers);
        Observer observer() [any] nbw_temporal::Reader<'m, T> = nbw_temporal::reader(memory, self.buffers);
    }
    /// [`sdrtr`]: the newest value for one real-time reader.
    Sdrtr() "sdrtr" {
        Writer writer() [one] sdrtr::Writer<'m, T> = sdrtr::writer(memory);
        Reader reader() [one] sdrtr::Reader<'m, T> = sdrtr::reader(memory);
    }
    /// [`sdrtw`]: the newest value of one real-time writer.
    Sdrtw() "sdrtw" {
        Writer writer() [one] sdrtw::Writer<'m, T> = sdrtw::writer(memory);
        Observer observer() [any] sdrtw::Reader<'m, T> = sdrtw::reader(memory);
    }
    /// [`spinlock`]: the newest value under a lock, for comparison.
    Spinlock(readers) "spinlock" {
        Writer writer() [one] spinlock::Writer<'m, T> = spinlock::writer(memory);
        Reader reader(which) [each readers] spinlock::Reader<'m, T> = spinlock::reader(memory, which);
    }
    /// [`dbp`]: the value that a job's predecessor wrote, under any schedule.
    Dbp(lower, higher, buffers) "dbp" {
        Dispatcher dispatcher() [one] dbp::Dispatcher<'m> =
            dbp::dispatcher::<T>(memory, shape(self.lower, self.higher, self.buffers));
        Writer writer() [one] dbp::Writer<'m, T> = dbp::writer(memory, shape(self.lower, self.higher, self.buffers));
        Reader reader(which) [each lower + higher] dbp::Reader<'m, T> =
            dbp::reader(memory, shape(self.lower, self.higher, self.buffers), which);
    }
    /// [`tccp`]: as `dbp`, protected by time.
    Tccp(lower, higher, buffers) "tccp" {
        Dispatcher dispatcher() [one] tccp::Dispatcher<'m> =
            tccp::dispatcher::<T>(memory, shape(self.lower, self.higher, self.buffers));
        Writer writer() [one] tccp::Writer<'m, T> = tccp::writer(memory, shape(self.lower, self.higher, self.buffers));
        Reader reader(which) [each lower + higher] tccp::Reader<'m, T> =
            tccp::reader(memory, shape(self.lower, self.higher, self.buffers), which);
    }
    /// [`tccp`] in its run-time form: the newest value, protected by time.
    TccpNewest(lower, higher, buffers) "tccp-newest" {
        Publisher publisher() [one] tccp::Publisher<'m, T> =
            tccp::publisher(memory, shape(self.lower, self.higher, self.buffers));
        Reader reader(which) [each lower + higher] tccp::Reader<'m, T> =
            tccp::reader(memory, shape(self.lower, self.higher, self.buffers), which);
    }
    /// [`qrtr`]: every value in order; a full queue returns the value to the writer.
    Qrtr(capacity) "qrtr" {
        Writer writer() [one] qrtr::Writer<'m, T> = qrtr::writer(memory, self.capacity);
        Reader reader() [one] qrtr::Reader<'m, T> = qrtr::reader(memory, self.capacity);
    }
    /// [`qrtwo`]: values in order; a full queue drops the oldest.
    Qrtwo(capacity, spare) "qrtwo" {
        Writer writer() [one] qrtwo::Writer<'m, T> = qrtwo::writer(memory, self.capacity, self.spare);
        Reader reader() [one] qrtwo::Reader<'m, T> = qrtwo::reader(memory, self.capacity, self.spare);
        Follower follower() [any] qrtwo::Follower<'m, T> = qrtwo::follower(memory, self.capacity, self.spare);
    }
    /// [`qrtwc`]: values in order; a full queue drops all values that wait.
    Qrtwc(capacity, spare) "qrtwc" {
        Writer writer() [one] qrtwc::Writer<'m, T> = qrtwc::writer(memory, self.capacity, self.spare);
        Reader reader() [one] qrtwc::Reader<'m, T> = qrtwc::reader(memory, self.capacity, self.spare);
        Follower follower() [any] qrtwc::Follower<'m, T> = qrtwc::follower(memory, self.capacity, self.spare);
    }
    /// [`bulk`]: large values in place.
    Bulk(blocks) "bulk" {
        Sender sender() [one] bulk::BlockSender<'m, T> = bulk::sender(memory, self.blocks);
        Receiver receiver() [one] bulk::BlockReceiver<'m, T> = bulk::receiver(memory, self.blocks);
    }
}
