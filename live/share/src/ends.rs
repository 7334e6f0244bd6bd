// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! What all ends of a kind can do, whatever their protocol: one form of each operation and of its result, for code that
//! is generic over protocols.
//!
//! | kind             | a writer: [`Write`], [`Push`] | a reader: [`Read`], [`Newer`], [`Pop`]                        |
//! |------------------|-------------------------------|---------------------------------------------------------------|
//! | the newest value | `Result<(), E>`               | `Result<Option<T>, E>`, with its version `Result<Option<Sample<T>>, E>` |
//! | every value      | `Result<(), E>`               | `Result<Option<Popped<T>>, E>`                                |
//!
//! `None`: nothing was written yet, nothing is new, or nothing waits. `E` says why an attempt failed, and is
//! [`Infallible`] if none can fail. Each call is one attempt: it calls the protocol's own operation and has its
//! bounds. Everything else that an end can do (slices, chunks, several attempts, values lent in place) belongs to its
//! protocol.
//!
//! ```
//! use taut_share::ends::{Pop, Push};
//! use taut_share::{Line, Memory, queue::{qrtr, qrtwo}};
//!
//! /// Passes on all values that wait, and returns how many were lost.
//! fn forward<R: Pop, W: Push<Value = R::Value>>(from: &mut R, to: &mut W) -> Result<u64, R::Error> {
//!     let mut lost = 0;
//!     while let Some(popped) = from.pop()? {
//!         lost += popped.lost + u64::from(to.push(&popped.value).is_err());
//!     }
//!     Ok(lost)
//! }
//!
//! let (mut first, mut second) = ([const { Line::new() }; 4], [const { Line::new() }; 3]);
//! let (mut writer, mut reader) = qrtwo::pair::<u64>(Memory::new(&mut first), 2, 0)?;
//! let (mut onward, mut last) = qrtr::pair::<u64>(Memory::new(&mut second), 1)?;
//! (1..=3).for_each(|n| writer.push(&n));
//! assert_eq!(forward(&mut reader, &mut onward), Ok(2));
//! assert_eq!(last.pop(), Ok(Some(2)));
//! # Ok::<(), taut_share::LayoutError>(())
//! ```

use core::convert::Infallible;

use crate::Plain;
pub use crate::queue::ring::Popped;
use crate::queue::ring::{self, DiscardPolicy, Overwritten, Trace};
use crate::queue::{broadcast, qrtr};
pub use crate::state::Sample;
use crate::state::sdrtr;

/// The end of a state that writes.
pub trait Write {
    /// What is written.
    type Value: Plain;
    /// Why an attempt failed.
    type Error;

    /// Makes `value` the newest.
    ///
    /// # Errors
    ///
    /// As the protocol says; the newest value is still the previous one.
    fn write(&mut self, value: &Self::Value) -> Result<(), Self::Error>;
}

/// An end of a state that reads.
pub trait Read {
    /// What is read.
    type Value: Plain;
    /// Why an attempt failed.
    type Error;

    /// The newest value; `None` before the first write.
    ///
    /// # Errors
    ///
    /// As the protocol says.
    fn read(&mut self) -> Result<Option<Self::Value>, Self::Error>;

    /// [`Read::read`] into `value`, without a second move of a large value. Returns whether there is a value.
    ///
    /// # Errors
    ///
    /// As the protocol says; then `value` holds anything.
    fn read_into(&mut self, value: &mut Self::Value) -> Result<bool, Self::Error>;
}

/// An end of a state that reads, and knows which value it has read last.
pub trait Newer: Read {
    /// The newest value, if this end has not read it yet.
    ///
    /// # Errors
    ///
    /// As the protocol says.
    fn read_if_newer(&mut self) -> Result<Option<Sample<Self::Value>>, Self::Error>;
}

/// The end of a queue that pushes.
pub trait Push {
    /// What is pushed.
    type Value: Plain;
    /// Why a value was refused.
    type Error;

    /// Appends a copy of `value`.
    ///
    /// # Errors
    ///
    /// As the protocol says: the queue did not take the value.
    fn push(&mut self, value: &Self::Value) -> Result<(), Self::Error>;
}

/// An end of a queue that pops.
pub trait Pop {
    /// What is popped.
    type Value: Plain;
    /// Why an attempt failed.
    type Error;

    /// Takes the oldest value, with the number of values lost before it; `None` if none is waiting.
    ///
    /// # Errors
    ///
    /// As the protocol says: nothing was taken.
    fn pop(&mut self) -> Result<Option<Popped<Self::Value>>, Self::Error>;

    /// [`Pop::pop`] into `value`, without a second move of a large value. Returns the number of values lost before
    /// it.
    ///
    /// # Errors
    ///
    /// As the protocol says: nothing was taken, and `value` holds anything.
    fn pop_into(&mut self, value: &mut Self::Value) -> Result<Option<u64>, Self::Error>;
}

/// Gives ends of a state their forms here, in the file of their protocol. An end whose attempts may fail has its error
/// and its own operations of these forms; without them it always succeeds, and its operations have these names.
macro_rules! ends {
    ($(write $writer:ident $(: $unwritten:ty = $write:ident)?;)* $(read $reader:ident $(: $unread:ty = $read:ident $into:ident $newer:ident)?;)*) => {
        $($crate::ends::ends!(writer $writer $(: $unwritten = $write)?);)*
        $($crate::ends::ends!(reader $reader $(: $unread = $read $into $newer)?);)*
    };
    (writer $end:ident: $error:ty = $write:ident) => {
        impl<T: $crate::Plain> $crate::ends::Write for $end<'_, T> {
            type Value = T;
            type Error = $error;

            #[inline]
            fn write(&mut self, value: &T) -> Result<(), $error> {
                self.$write(value)
            }
        }
    };
    (writer $end:ident) => {
        impl<T: $crate::Plain> $crate::ends::Write for $end<'_, T> {
            type Value = T;
            type Error = core::convert::Infallible;

            #[inline]
            fn write(&mut self, value: &T) -> Result<(), core::convert::Infallible> {
                $end::write(self, value);
                Ok(())
            }
        }
    };
    (reader $end:ident: $error:ty = $read:ident $into:ident $newer:ident) => {
        impl<T: $crate::Plain> $crate::ends::Read for $end<'_, T> {
            type Value = T;
            type Error = $error;

            #[inline]
            fn read(&mut self) -> Result<Option<T>, $error> {
                Ok($end::$read(self)?.map(|sample| sample.value))
            }

            #[inline]
            fn read_into(&mut self, value: &mut T) -> Result<bool, $error> {
                Ok($end::$into(self, value)?.is_some())
            }
        }

        impl<T: $crate::Plain> $crate::ends::Newer for $end<'_, T> {
            #[inline]
            fn read_if_newer(&mut self) -> Result<Option<$crate::ends::Sample<T>>, $error> {
                $end::$newer(self)
            }
        }
    };
    (reader $end:ident) => {
        impl<T: $crate::Plain> $crate::ends::Read for $end<'_, T> {
            type Value = T;
            type Error = core::convert::Infallible;

            #[inline]
            fn read(&mut self) -> Result<Option<T>, core::convert::Infallible> {
                Ok($end::read(self))
            }

            #[inline]
            fn read_into(&mut self, value: &mut T) -> Result<bool, core::convert::Infallible> {
                Ok($end::read_into(self, value).is_some())
            }
        }

        impl<T: $crate::Plain> $crate::ends::Newer for $end<'_, T> {
            #[inline]
            fn read_if_newer(
                &mut self,
            ) -> Result<Option<$crate::ends::Sample<T>>, core::convert::Infallible> {
                Ok($end::read_if_newer(self))
            }
        }
    };
}
pub(crate) use ends;

impl<T: Plain> Read for sdrtr::Reader<'_, T> {
    type Value = T;
    type Error = Infallible;

    #[inline]
    fn read(&mut self) -> Result<Option<T>, Infallible> {
        Ok(sdrtr::Reader::read(self))
    }

    #[inline]
    fn read_into(&mut self, value: &mut T) -> Result<bool, Infallible> {
        Ok(sdrtr::Reader::read_into(self, value))
    }
}

impl<T: Plain> Push for qrtr::Writer<'_, T> {
    type Value = T;
    type Error = qrtr::QueueFull<()>;

    #[inline]
    fn push(&mut self, value: &T) -> Result<(), qrtr::QueueFull<()>> {
        self.push_from(value)
    }
}

impl<T: Plain> Pop for qrtr::Reader<'_, T> {
    type Value = T;
    type Error = qrtr::Corrupt;

    #[inline]
    fn pop(&mut self) -> Result<Option<Popped<T>>, qrtr::Corrupt> {
        Ok(qrtr::Reader::pop(self)?.map(|value| Popped { value, lost: 0 }))
    }

    #[inline]
    fn pop_into(&mut self, value: &mut T) -> Result<Option<u64>, qrtr::Corrupt> {
        Ok(qrtr::Reader::pop_into(self, value)?.then_some(0))
    }
}

impl<T: Plain> Push for broadcast::Writer<'_, T> {
    type Value = T;
    type Error = qrtr::QueueFull<()>;

    #[inline]
    fn push(&mut self, value: &T) -> Result<(), qrtr::QueueFull<()>> {
        broadcast::Writer::push(self, value)
    }
}

impl<T: Plain, P: DiscardPolicy> Push for ring::Writer<'_, T, P> {
    type Value = T;
    type Error = Infallible;

    #[inline]
    fn push(&mut self, value: &T) -> Result<(), Infallible> {
        ring::Writer::push(self, value);
        Ok(())
    }
}

impl<T: Plain, P: DiscardPolicy, H: Trace> Pop for ring::Reader<'_, T, P, H> {
    type Value = T;
    type Error = Overwritten;

    #[inline]
    fn pop(&mut self) -> Result<Option<Popped<T>>, Overwritten> {
        ring::Reader::pop(self)
    }

    #[inline]
    fn pop_into(&mut self, value: &mut T) -> Result<Option<u64>, Overwritten> {
        ring::Reader::pop_into(self, value)
    }
}
