// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

/// Storage for values, of fixed length: `[T; N]`, `&mut [T]`, or a boxed slice. This crate never grows it.
pub trait Store<T>: AsRef<[T]> + AsMut<[T]> {}

impl<T, S: AsRef<[T]> + AsMut<[T]>> Store<T> for S {}
