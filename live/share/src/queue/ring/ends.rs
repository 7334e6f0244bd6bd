// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The ends of a queue of one policy, as its module offers them.

/// Defines the ends of the ring with `$policy`, and the functions that make them, in the module that calls this.
macro_rules! ends {
    ($policy:ident) => {
        /// The end that pushes. Real-time. See [`ring::Writer`].
        pub type Writer<'m, T> = $crate::queue::ring::Writer<'m, T, $policy>;

        /// The end that pops. See [`ring::Reader`].
        pub type Reader<'m, T> = $crate::queue::ring::Reader<'m, T, $policy>;

        /// An additional reader. See [`ring::Reader`].
        pub type Follower<'m, T> =
            $crate::queue::ring::Reader<'m, T, $policy, $crate::queue::ring::Unpublished>;

        /// Both ends on one memory, for up to `capacity` values, with `spare` more slots that make it rare that the
        /// writer overtakes a pop ([`spare`] recommends a number; each slot costs the memory of a value).
        ///
        /// # Errors
        ///
        /// [`LayoutError`](crate::LayoutError).
        pub fn pair<T: $crate::Plain>(
            memory: taut_atomic::Memory<'_>,
            capacity: u32,
            spare: u32,
        ) -> Result<(Writer<'_, T>, Reader<'_, T>), $crate::LayoutError> {
            $crate::queue::ring::pair(memory, capacity, spare)
        }

        /// The writer's end alone; the reader's end is in another process or made by [`reader`]. If a writer dies, at
        /// any step, this call attaches its successor.
        ///
        /// # Errors
        ///
        /// [`LayoutError`](crate::LayoutError).
        ///
        /// # Safety
        ///
        /// The memory holds this object for this `T`, capacity and spare slots, or zeros. No other writer of it
        /// exists: the last one has ended, and this call happens after that.
        pub unsafe fn writer<T: $crate::Plain>(
            memory: taut_atomic::Memory<'_>,
            capacity: u32,
            spare: u32,
        ) -> Result<Writer<'_, T>, $crate::LayoutError> {
            // SAFETY: the caller's duties are the same.
            unsafe { $crate::queue::ring::writer(memory, capacity, spare) }
        }

        /// The reader's end alone; the writer's end is in another process or made by [`writer`]. If a reader dies, at
        /// any step, this call attaches its successor, which may get values again that the dead one had just copied,
        /// and counts the values that were discarded in between as lost.
        ///
        /// # Errors
        ///
        /// [`LayoutError`](crate::LayoutError).
        ///
        /// # Safety
        ///
        /// The memory holds this object for this `T`, capacity and spare slots, or zeros. No other reader of it exists
        /// but followers: the last one has ended, and this call happens after that.
        pub unsafe fn reader<T: $crate::Plain>(
            memory: taut_atomic::Memory<'_>,
            capacity: u32,
            spare: u32,
        ) -> Result<Reader<'_, T>, $crate::LayoutError> {
            // SAFETY: the caller's duties are the same.
            unsafe { $crate::queue::ring::reader(memory, capacity, spare) }
        }

        /// An additional reader, for the values that are pushed after this call; there may be any number.
        ///
        /// # Errors
        ///
        /// [`LayoutError`](crate::LayoutError).
        ///
        /// # Safety
        ///
        /// The memory holds this object for this `T`, capacity and spare slots, or zeros.
        pub unsafe fn follower<T: $crate::Plain>(
            memory: taut_atomic::Memory<'_>,
            capacity: u32,
            spare: u32,
        ) -> Result<Follower<'_, T>, $crate::LayoutError> {
            // SAFETY: the caller's duties are the same.
            unsafe { $crate::queue::ring::follower(memory, capacity, spare) }
        }

        /// An end that looks whether a value waits for the reader, and takes nothing: for whoever decides when the reader
        /// runs. It stores nothing, and loads words only.
        ///
        /// # Errors
        ///
        /// [`LayoutError`](crate::LayoutError).
        pub fn watcher<T: $crate::Plain>(
            memory: taut_atomic::Memory<'_>,
            capacity: u32,
            spare: u32,
        ) -> Result<$crate::queue::ring::Watcher<'_>, $crate::LayoutError> {
            $crate::queue::ring::watcher::<T>(memory, capacity, spare)
        }
    };
}

pub(in crate::queue) use ends;
