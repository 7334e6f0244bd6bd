// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt::{self, Write};

/// A text of at most 2,048 bytes that does not use the heap. What does not fit is cut off.
pub(crate) struct Text {
    bytes: [u8; 2048],
    length: usize,
}

impl Text {
    pub(crate) fn new() -> Self {
        Self { bytes: [0; 2048], length: 0 }
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - self.length;
        let count = text.floor_char_boundary(room);
        self.bytes[self.length..self.length + count].copy_from_slice(&text.as_bytes()[..count]);
        self.length += count;
        if count == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}
