// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The first number of a value that differs from another value, by its place in the layout.

use taut_plan::{PAYLOAD_NUMBER_BYTES, payloads_of};

/// The bytes that say which of several payloads a value is.
type Number = [u8; PAYLOAD_NUMBER_BYTES as usize];

/// A number of a value: its place, as `levels[3]`, and both numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DifferingField {
    /// Empty if the value is a single number.
    pub(crate) place: String,
    pub(crate) recorded: String,
    pub(crate) replayed: String,
}

/// The first number in which two values of a layout differ; `None` if they are equal, or not of the layout. Of one of
/// several payloads, the place begins with the name of the payload, or is empty if they are two.
pub(crate) fn first_difference(layout: &str, was: &[u8], is: &[u8]) -> Option<DifferingField> {
    let payloads = payloads_of(layout);
    if payloads.is_empty() {
        return first_difference_in_fields(layout, was, is);
    }
    let (was_number, was) = was.split_first_chunk()?;
    let (is_number, is) = is.split_first_chunk()?;
    let payload = |number: &Number| payloads.get(usize::try_from(u64::from_le_bytes(*number)).ok()?);
    let (name, layout) = payload(was_number)?;
    if was_number != is_number {
        let (recorded, replayed) = ((*name).to_owned(), payload(is_number)?.0.to_owned());
        return Some(DifferingField { place: String::new(), recorded, replayed });
    }
    let field = first_difference_in_fields(layout, was, is)?;
    let dot = if field.place.is_empty() || field.place.starts_with('[') { "" } else { "." };
    Some(DifferingField { place: format!("{name}{dot}{}", field.place), ..field })
}

fn first_difference_in_fields(layout: &str, was: &[u8], is: &[u8]) -> Option<DifferingField> {
    let mut at = 0usize;
    for field in layout.split(',') {
        let (name, item) = field.split_once(':').unwrap_or(("", field));
        let (number, count) =
            item.split_once('*').map_or((item, None), |(number, count)| (number, Some(count)));
        let size = number.get(1..)?.parse::<usize>().ok().map(|bits| bits / 8).filter(|size| *size > 0)?;
        for element in 0..count.map_or(Some(1), |count| count.parse::<usize>().ok())? {
            let end = at.checked_add(size)?;
            let (recorded, replayed) = (was.get(at..end)?, is.get(at..end)?);
            if recorded != replayed {
                let place = if count.is_some() { format!("{name}[{element}]") } else { name.to_owned() };
                let (recorded, replayed) = shown(number, recorded, replayed)?;
                return Some(DifferingField { place, recorded, replayed });
            }
            at = end;
        }
    }
    None
}

/// Both numbers as text, or their bits if the texts are the same, as for two different NaNs.
fn shown(number: &str, recorded: &[u8], replayed: &[u8]) -> Option<(String, String)> {
    let words = (word(number, recorded)?, word(number, replayed)?);
    if words.0 != words.1 {
        return Some(words);
    }
    let bits =
        |bytes: &[u8]| bytes.iter().rev().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}"));
    Some((bits(recorded), bits(replayed)))
}

fn word(number: &str, bytes: &[u8]) -> Option<String> {
    macro_rules! numbers {
        ($($name:literal $type:ty),*) => {
            match number {
                $($name => <$type>::from_le_bytes(bytes.try_into().ok()?).to_string(),)*
                _ => return None,
            }
        };
    }
    Some(numbers!(
        "u8" u8, "i8" i8, "u16" u16, "i16" i16, "u32" u32, "i32" i32, "u64" u64, "i64" i64, "f32" f32, "f64" f64
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_that_differs_is_named() {
        let layout = "at:u64,left:i16*2,gain:f32";
        let value = |at: u64, left: [i16; 2], gain: f32| {
            let mut bytes = at.to_le_bytes().to_vec();
            left.iter().for_each(|one| bytes.extend(one.to_le_bytes()));
            bytes.extend(gain.to_le_bytes());
            bytes
        };
        let was = value(1, [2, -3], 0.5);
        let found = |is: &[u8]| {
            first_difference(layout, &was, is).map(|found| (found.place, found.recorded, found.replayed))
        };
        let expected =
            |place: &str, was: &str, is: &str| Some((place.to_owned(), was.to_owned(), is.to_owned()));
        assert_eq!(found(&was), None);
        assert_eq!(found(&value(9, [2, -4], 0.5)), expected("at", "1", "9"));
        assert_eq!(found(&value(1, [2, -4], 0.7)), expected("left[1]", "-3", "-4"));
        assert_eq!(found(&value(1, [2, -3], 0.25)), expected("gain", "0.5", "0.25"));
        assert_eq!(found(&was[..5]), None, "too short");
        let nan = |bits: u32| value(1, [2, -3], f32::from_bits(bits));
        let other = first_difference(layout, &nan(0x7fc0_0000), &nan(0x7fc0_0001)).unwrap();
        assert_eq!((other.recorded.as_str(), other.replayed.as_str()), ("0x7fc00000", "0x7fc00001"));
        let single = first_difference("u8", &[1], &[2]).unwrap();
        assert_eq!((single.place.as_str(), single.recorded.as_str()), ("", "1"));
        assert_eq!(first_difference("i16*2", &[0; 4], &[0, 0, 1, 0]).unwrap().place, "[1]");
    }

    /// Of one of several payloads: which, and then what is in it.
    #[test]
    fn payloads_are_named() {
        let layout = "Volume{left:f32,right:f32}|Mute{u8*2}";
        let value = |number: u64, rest: [u8; 8]| [number.to_le_bytes(), rest].concat();
        let volume = |left: f32, right: f32| {
            value(0, [left.to_le_bytes(), right.to_le_bytes()].concat().try_into().unwrap())
        };
        let found = |was: &[u8], is: &[u8]| {
            first_difference(layout, was, is).map(|found| (found.place, found.recorded, found.replayed))
        };
        let expected = |place: &str, was: &str, is: &str| Some((place.into(), was.into(), is.into()));
        assert_eq!(found(&volume(1.0, 2.0), &volume(1.0, 2.5)), expected("Volume.right", "2", "2.5"));
        let mute = |second| value(1, [1, second, 0, 0, 0, 0, 0, 0]);
        assert_eq!(found(&mute(2), &mute(3)), expected("Mute[1]", "2", "3"));
        assert_eq!(found(&volume(1.0, 2.0), &mute(3)), expected("", "Volume", "Mute"));
        assert_eq!(found(&value(2, [0; 8]), &value(2, [1; 8])), None, "no such payload");
        assert_eq!(found(&[0; 7], &[1; 7]), None, "too short");
    }

    /// A recorded plan may say anything.
    #[test]
    fn other_layouts_are_not_read() {
        for layout in [
            "",
            "u7",
            "x:u8*",
            "u8*99999999999999999999",
            "é",
            "u8*18446744073709551615",
            "u1*18446744073709551615",
        ] {
            let found = first_difference(layout, &[1], &[1]);
            assert_eq!(found, None, "{layout}");
        }
    }
}
