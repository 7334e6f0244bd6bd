// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use core::fmt;

use taut_atomic::{Claimed, LINE_BYTES};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A value that can be stored in shared memory: every bit pattern is a value (so a malicious peer can at worst send a
/// wrong one), and it has no padding, no address and nothing to drop. Derive zerocopy's four traits and `Copy` to get
/// this trait; a [`List`](crate::List) of such values has it too.
///
/// Its alignment is at most 8 bytes; code that builds an object for a type of a larger alignment does not compile.
///
/// # Values that are not plain bytes
///
/// Store a `bool` or an enum as a `u8`, and convert it back after reading; replace padding by a field. The reader
/// decides what bytes mean that no writer of this program stores:
///
/// ```
/// use taut_share::ends::{Read, Write};
/// use taut_share::owned;
/// use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Gear {
///     Park,
///     Drive,
/// }
///
/// #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
/// #[repr(C)]
/// struct Lever {
///     moved_ns: u64,
///     gear: u8,
///     locked: u8,
///     rest: [u8; 6],
/// }
///
/// impl Lever {
///     fn new(moved_ns: u64, gear: Gear, locked: bool) -> Self {
///         Self { moved_ns, gear: gear as u8, locked: locked.into(), rest: [0; 6] }
///     }
///
///     fn gear(&self) -> Option<Gear> {
///         [Gear::Park, Gear::Drive].into_iter().find(|gear| *gear as u8 == self.gear)
///     }
///
///     fn locked(&self) -> bool {
///         self.locked != 0
///     }
/// }
///
/// let (mut lever, mut display) = owned::state::<Lever>()?;
/// let Ok(()) = lever.write(&Lever::new(1_000, Gear::Drive, true));
/// let Ok(Some(seen)) = display.read() else { panic!("written") };
/// assert_eq!((seen.gear(), seen.locked()), (Some(Gear::Drive), true));
/// // Another process may write anything.
/// assert_eq!(Lever { gear: 7, ..seen }.gear(), None);
/// # Ok::<(), taut_share::LayoutError>(())
/// ```
///
/// The struct without these changes does not compile: not every byte is a `bool`, and six bytes of padding follow the
/// two bytes.
///
/// ```compile_fail
/// use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
///
/// #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
/// #[repr(C)]
/// struct Lever {
///     moved_ns: u64,
///     gear: u8,
///     locked: bool,
/// }
/// ```
///
/// Nor may it be a type that threads cannot share: two readers that look at the newest value in place refer to the
/// same one.
///
/// ```compile_fail,E0277
/// use core::cell::Cell;
/// use core::marker::PhantomData;
///
/// use taut_share::{Line, Memory, state::chen};
/// use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
///
/// /// A handle of one thread: other threads do not know what it stands for.
/// #[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
/// #[repr(C)]
/// struct Handle(u64, PhantomData<Cell<()>>);
///
/// let mut lines = [const { Line::new() }; 20];
/// let (mut writer, mut readers) = chen::group::<Handle>(Memory::new(&mut lines), 2).unwrap();
/// let (mut first, mut second) = (readers.next().unwrap(), readers.next().unwrap());
/// writer.write(&Handle(7, PhantomData));
/// std::thread::scope(|scope| {
///     for reader in [&mut first, &mut second] {
///         scope.spawn(move || reader.read_with(|handle| println!("{handle:p} in two threads")));
///     }
/// });
/// ```
///
/// # Safety
///
/// - Every initialised bit pattern is a value, and it holds no address.
/// - The first [`Plain::used`] bytes of every value are initialised, and none of them is padding.
/// - If [`Plain::VARYING`]: bytes that are not among the first `used` may be uninitialised in a value; there are at
///   least 8 bytes, the first 8 are a `u64` that [`Plain::used_by`] understands, and `used` and `used_by` agree.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a value in an object of taut",
    label = "not a `taut_share::Plain`",
    note = "every bit pattern must be a valid value: derive `Clone`, `Copy` and zerocopy's `FromBytes`, `IntoBytes`, \
            `Immutable`, `KnownLayout`, with `#[repr(C)]`",
    note = "use a `u8` in place of a `bool` or an enum; fill padding with a field of bytes: \
            docs/which-one-do-i-need.md has recipes"
)]
pub unsafe trait Plain: Copy + Send + Sync + 'static {
    /// Whether values use different numbers of bytes, so that fewer need to be copied.
    const VARYING: bool = false;

    /// Number of bytes of this value, from its start, that need to be copied.
    #[inline(always)]
    fn used(&self) -> usize {
        size_of::<Self>()
    }

    /// The same, for a value whose first word is `head`: between 8 and the size, for any `head`.
    #[inline(always)]
    fn used_by(head: u64) -> usize {
        let _ = head;
        size_of::<Self>()
    }
}

// SAFETY: FromBytes: every bit pattern; IntoBytes: no padding, all initialised; an address has a provenance, and
// types that have one are not FromBytes and IntoBytes.
unsafe impl<T: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + Send + Sync + 'static> Plain for T {}

/// Copies `from` to `to`, as `*to = *from`, in a time that depends only on the size, also for a large value, wherever
/// the two lie. (The processor's fastest copy instruction copies byte by byte if `to` lies 1 to 15 bytes further in
/// its page, which takes 30 times as long, and the copy that compilers call does not check for that:
/// `docs/which-one-do-i-need.md`.)
#[inline]
pub fn copy<T: Plain>(from: &T, to: &mut T) {
    // SAFETY: what is copied is a T.
    unsafe { taut_atomic::copy(from, to) };
}

/// Why an object cannot be built on this memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// The memory is too short.
    TooSmall {
        /// Bytes that the object needs.
        needed: usize,
        /// Bytes that the memory has.
        given: usize,
    },
    /// The capacity is 0, more than the protocol takes, or so large that the object's size overflows.
    Capacity,
    /// The number of readers is 0 or more than the protocol takes, or there is no reader of that number.
    Readers,
    /// There are more lanes than the protocol takes, no lane of that number, or fewer queues than lanes.
    Lanes,
    /// The number of buffers is not one that the protocol takes, or the object's size with that many overflows.
    Buffers,
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooSmall { needed, given } => write!(f, "the object needs {needed} bytes and gets {given}"),
            Self::Capacity => f.write_str(
                "the capacity is 0 or above the protocol's limit, or the size of the object overflows",
            ),
            Self::Readers => f.write_str(
                "the number of readers is 0 or above the protocol's limit, or the object has no reader \
                 with that number",
            ),
            Self::Lanes => f.write_str(
                "the number of lanes is above the protocol's limit, there is no lane with that number, or fewer \
                 queues than lanes",
            ),
            Self::Buffers => f.write_str("the protocol does not support this number of buffers"),
        }
    }
}

impl core::error::Error for LayoutError {}

/// Checks that an object of `needed` bytes fits in `memory`.
pub(crate) fn fit(memory: &Claimed<'_>, needed: usize) -> Result<(), LayoutError> {
    let given = memory.bytes();
    if given < needed { Err(LayoutError::TooSmall { needed, given }) } else { Ok(()) }
}

/// Bytes of a `T` in whole words.
pub(crate) const fn word_bytes<T>() -> usize {
    const { assert!(align_of::<T>() <= 8, "a value in shared memory is aligned to at most 8 bytes") };
    size_of::<T>().next_multiple_of(8)
}

/// Bytes from one value of a row to the next: contiguous below 64 bytes, else each on cache lines of its own.
pub(crate) const fn slot_bytes<T>() -> usize {
    let word = word_bytes::<T>();
    if word < 64 { word } else { word.next_multiple_of(64) }
}

/// `bytes` rounded up to whole lines. A size that has saturated stays nearly at the maximum, which never fits.
pub(crate) const fn line_bytes(bytes: usize) -> usize {
    bytes.saturating_add(LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES
}
