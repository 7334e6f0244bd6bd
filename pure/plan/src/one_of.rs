// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The layout of a value that is one of several payloads.

/// The payloads of which a value of this layout is one, such as `Volume{value:f32}|Mute{u8}`: by number the name of each and
/// its own layout. Empty for any other layout.
pub fn payloads_of(layout: &str) -> Vec<(&str, &str)> {
    let one = |of| {
        let (name, layout) = str::strip_suffix(of, "}")?.split_once('{')?;
        (!layout.contains(['{', '}'])).then_some((name, layout))
    };
    layout.split('|').map(one).collect::<Option<Vec<_>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::payloads_of;

    #[test]
    fn payloads_are_found_by_number() {
        let some = payloads_of("Volume{value:f32,at:u64}|mute-all{u8*3}");
        assert_eq!(some, [("Volume", "value:f32,at:u64"), ("mute-all", "u8*3")]);
        assert_eq!(payloads_of("One{u8}"), [("One", "u8")]);
        for other in
            ["", "u8", "at:u64,left:i16*2", "A{u8", "A{u8}|", "A{u8}|B", "A{B{u8}}", "A{x:(B{u8}|C{u8})}"]
        {
            assert_eq!(payloads_of(other), [], "{other}");
        }
    }
}
