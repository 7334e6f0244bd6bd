// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

/// Places for values, as many as at construction: `[T; N]`, `&mut [T]`, or a boxed slice. Nothing here makes them
/// grow.
pub trait Store<T>: AsRef<[T]> + AsMut<[T]> {}

impl<T, S: AsRef<[T]> + AsMut<[T]>> Store<T> for S {}
