// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The layout of the bytes of a value, in words that two programs compare before they share the value.
//!
//! The grammar of the words, without spaces:
//!
//! ```text
//! value  = item | fields | one-of
//! item   = number | "(" fields ")" | "(" one-of ")" | item "*" count | item "*.." count
//! fields = name ":" item { "," name ":" item }
//! one-of = name "{" value "}" { "|" name "{" value "}" }
//! number = "u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "u64" | "i64" | "f32" | "f64"
//! count  = a decimal number without sign and leading zeros
//! name   = that of the field in the program, without the `r#` of a raw identifier, or its position from 0 in a struct
//!          whose fields have no names
//! ```
//!
//! | words                          | what                                                                    |
//! |--------------------------------|-------------------------------------------------------------------------|
//! | `u8`, `f32`, ..                | one number, in the processor's byte order; `f32` and `f64` are IEEE 754 |
//! | `f32*3`                        | 3 of them, one after the other                                          |
//! | `f32*3*4`                      | 4 times 3 of them                                                       |
//! | `frame:u64,levels:u8*176`      | a struct: its fields in the order of their addresses                    |
//! | `at:u64,tip:(x:f32,y:f32)*2`   | a struct with structs in it                                             |
//! | `u8*..1500`                    | a [`List`](crate::List) of up to 1500: a `u64` that says how many, and room for all |
//! | `Volume{f32}\|Mute{channel:u8}` | one of them: a `u64` that says which, counted from 0, and room for the largest |
//!
//! There is no padding except after a list and after one of several, whose rooms are multiples of 8 bytes. So the
//! words determine the place of
//! each byte, and do not contain alignment. They contain names: if two numbers of one type change places, only the
//! names show it.
//!
//! A manifest's payload, an object of a registry, and a client in another language use these words.

use core::fmt;

/// A type whose layout has words.
///
/// Numbers have words, and so do arrays and [`List`](crate::List)s of types that have words;
/// [`layout!`](crate::layout!) gives them to a struct. A wrapper type may take over the words of its content by hand:
///
/// ```
/// use taut_share::{Layout, Words};
///
/// #[repr(transparent)]
/// struct Celsius(f32);
///
/// impl Layout for Celsius {
///     const WORDS: Words = f32::WORDS;
/// }
/// ```
pub trait Layout {
    /// The words. A value has [`Words::bytes`] bytes: if that is wrong, nothing is shared.
    const WORDS: Words;
}

/// The words of a layout. `Display` writes them out, in the grammar of [this module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// A number: its word, and its size in bytes.
    Number(&'static str, usize),
    /// An array: its items, and how many.
    Array(&'static Words, usize),
    /// A list: its items, and at most how many.
    List(&'static Words, usize),
    /// Named fields.
    Fields(&'static [(&'static str, Words)]),
    /// One of several, each with its name.
    OneOf(&'static [(&'static str, Words)]),
}

impl Words {
    /// Number of bytes of a value.
    pub const fn bytes(&self) -> usize {
        match self {
            Self::Number(_, bytes) => *bytes,
            Self::Array(item, count) => item.bytes() * *count,
            Self::List(item, count) => 8 + (item.bytes() * *count).next_multiple_of(8),
            Self::Fields(fields) => {
                let (mut sum, mut at) = (0, 0);
                while at < fields.len() {
                    sum += fields[at].1.bytes();
                    at += 1;
                }
                sum
            }
            Self::OneOf(all) => {
                let (mut most, mut at) = (0, 0);
                while at < all.len() {
                    let bytes = all[at].1.bytes();
                    most = if bytes > most { bytes } else { most };
                    at += 1;
                }
                8 + most.next_multiple_of(8)
            }
        }
    }

    /// Whether bytes are those of a value: of one of several, whether their number is that of one of them. Any bytes of the
    /// right size are a value of another layout.
    #[inline]
    pub fn admits(&self, value: &[u8]) -> bool {
        let Self::OneOf(all) = self else { return true };
        let number = value.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
        number.is_some_and(|number| number < all.len() as u64)
    }

    /// The name of a field from its text in the program: without the `r#` of a raw identifier. For [`layout!`](crate::layout!).
    #[doc(hidden)]
    pub const fn field_name(text: &'static str) -> &'static str {
        match text.as_bytes() {
            [b'r', b'#', ..] => text.split_at(2).1,
            _ => text,
        }
    }

    fn write_item(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(word, _) => f.write_str(word),
            Self::Array(item, count) => {
                item.write_item(f)?;
                write!(f, "*{count}")
            }
            Self::List(item, count) => {
                item.write_item(f)?;
                write!(f, "*..{count}")
            }
            Self::Fields(_) | Self::OneOf(_) => write!(f, "({self})"),
        }
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fields(fields) => {
                for (at, (name, item)) in fields.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "," })?;
                    write!(f, "{name}:")?;
                    item.write_item(f)?;
                }
                Ok(())
            }
            Self::OneOf(all) => {
                for (at, (name, value)) in all.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { "|" })?;
                    write!(f, "{name}{{{value}}}")?;
                }
                Ok(())
            }
            _ => self.write_item(f),
        }
    }
}

macro_rules! numbers {
    ($($number:ident)*) => {$(
        impl Layout for $number {
            const WORDS: Words = Words::Number(stringify!($number), size_of::<$number>());
        }
    )*};
}

numbers!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

impl<T: Layout, const N: usize> Layout for [T; N] {
    const WORDS: Words = Words::Array(&T::WORDS, N);
}

/// Gives a struct its words, from its fields, which are listed in the order of their addresses. The compiler checks
/// that they are all of its fields, of these types and in this order, without padding.
///
/// ```
/// use taut_share::{Layout, layout};
///
/// #[repr(C)]
/// struct Pose {
///     at: u64,
///     tips: [[f32; 3]; 2],
/// }
/// layout!(Pose { at: u64, tips: [[f32; 3]; 2] });
///
/// #[repr(C)]
/// struct Step(u64, Pose);
/// layout!(Step { 0: u64, 1: Pose });
///
/// assert_eq!(Pose::WORDS.to_string(), "at:u64,tips:f32*3*2");
/// assert_eq!(Step::WORDS.to_string(), "0:u64,1:(at:u64,tips:f32*3*2)");
/// ```
///
/// ```compile_fail,E0080
/// #[repr(C)]
/// struct Pose {
///     x: f64,
///     y: f64,
/// }
/// taut_share::layout!(Pose { y: f64, x: f64 }); // not their order
/// ```
/// ```compile_fail,E0080
/// #[repr(C)]
/// struct Pose {
///     x: f64,
///     y: f64,
/// }
/// taut_share::layout!(Pose { x: f64 }); // not all of them
/// ```
/// ```compile_fail,E0080
/// #[repr(C)]
/// struct Gap {
///     a: u8,
///     b: u64,
/// }
/// taut_share::layout!(Gap { a: u8, b: u64 }); // seven bytes of padding
/// ```
/// ```compile_fail,E0308
/// #[repr(C)]
/// struct Angle {
///     bits: u32,
/// }
/// taut_share::layout!(Angle { bits: f32 }); // not its type
/// ```
#[macro_export]
macro_rules! layout {
    ($name:ident { $($field:tt : $type:ty),+ $(,)? }) => {
        impl $crate::Layout for $name {
            const WORDS: $crate::Words = {
                let mut end = 0;
                $(
                    assert!(
                        ::core::mem::offset_of!($name, $field) == end,
                        "the fields of a layout stand in the order of their addresses, without padding"
                    );
                    end += ::core::mem::size_of::<$type>();
                    // The field has this type.
                    let _ = |value: &$name| -> *const $type { &raw const value.$field };
                )+
                assert!(end == ::core::mem::size_of::<$name>(), "a layout names all fields, and there is no padding");
                $crate::Words::Fields(&[
                    $(($crate::Words::field_name(::core::stringify!($field)), <$type as $crate::Layout>::WORDS)),+
                ])
            };
        }

        // Evaluates the words here, and not only where a value is shared.
        const _: $crate::Words = <$name as $crate::Layout>::WORDS;
    };
}
