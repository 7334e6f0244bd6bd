// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! The words of layouts: they follow the grammar, and differ for layouts that differ.

use taut_share::{Layout, List, Words, layout};

#[repr(C)]
struct Tip {
    x: f32,
    y: f32,
}
layout!(Tip { x: f32, y: f32 });

#[repr(C)]
struct Arm {
    at: u64,
    tips: [Tip; 2],
    names: List<u16, 3>,
}
layout!(Arm { at: u64, tips: [Tip; 2], names: List<u16, 3> });

#[repr(C, packed)]
struct Packed {
    kind: u8,
    value: f64,
}
layout!(Packed { kind: u8, value: f64 });

#[repr(C)]
struct Turned {
    y: f32,
    x: f32,
}
layout!(Turned { y: f32, x: f32 });

#[repr(C)]
struct Keywords {
    r#type: u64,
    r: u32,
    r#match: u32,
}
layout!(Keywords { r#type: u64, r: u32, r#match: u32 });

#[test]
fn words_are_those_of_the_grammar() {
    fn check<T: Layout>(words: &str) {
        assert_eq!(T::WORDS.to_string(), words);
        assert_eq!(T::WORDS.bytes(), size_of::<T>(), "{words}");
    }
    check::<u8>("u8");
    check::<f64>("f64");
    check::<[i16; 128]>("i16*128");
    check::<[u8; 0]>("u8*0");
    check::<[[f32; 3]; 4]>("f32*3*4");
    check::<List<u8, 1500>>("u8*..1500");
    check::<List<u8, 3>>("u8*..3");
    check::<[List<[u8; 3], 3>; 2]>("u8*3*..3*2");
    check::<Tip>("x:f32,y:f32");
    check::<[Tip; 2]>("(x:f32,y:f32)*2");
    check::<Arm>("at:u64,tips:(x:f32,y:f32)*2,names:u16*..3");
    check::<Packed>("kind:u8,value:f64");
    check::<Keywords>("type:u64,r:u32,match:u32");
}

/// One of several: a number in front of the largest, in whole words.
#[test]
fn one_of_several_has_room_for_the_largest() {
    let words = |all| Words::OneOf(all);
    let some = words(&[("Tip", Tip::WORDS), ("Names", <[u16; 5]>::WORDS), ("Off", u8::WORDS)]);
    assert_eq!((some.to_string().as_str(), some.bytes()), ("Tip{x:f32,y:f32}|Names{u16*5}|Off{u8}", 8 + 16));
    let inside = Words::Fields(&[("at", u64::WORDS), ("what", Words::OneOf(&[("Off", u8::WORDS)]))]);
    assert_eq!((inside.to_string().as_str(), inside.bytes()), ("at:u64,what:(Off{u8})", 8 + 16));
    let mut value = [0xFF; 24];
    for (number, is_one) in [(0u64, true), (2, true), (3, false), (0x1_0000_0000, false), (u64::MAX, false)] {
        value[..8].copy_from_slice(&number.to_ne_bytes());
        assert_eq!(some.admits(&value), is_one, "{number}");
    }
    assert!(!some.admits(&[0; 7]), "too short");
    assert!(Tip::WORDS.admits(&value), "any bytes");
}

#[test]
fn any_difference_of_layouts_changes_their_words() {
    let all = [
        Tip::WORDS,
        Turned::WORDS,
        <[Tip; 1]>::WORDS,
        <[f32; 2]>::WORDS,
        <[u32; 2]>::WORDS,
        <[i32; 2]>::WORDS,
        u64::WORDS,
        <[[f32; 2]; 1]>::WORDS,
        <[[f32; 1]; 2]>::WORDS,
        Words::Fields(&[("x", Tip::WORDS)]),
        Words::Fields(&[("x", f32::WORDS), ("y", u32::WORDS)]),
    ];
    let payloads = [
        Words::OneOf(&[("A", u8::WORDS), ("B", u8::WORDS)]),
        Words::OneOf(&[("B", u8::WORDS), ("A", u8::WORDS)]),
        Words::OneOf(&[("A", u8::WORDS)]),
        Words::OneOf(&[("A", u8::WORDS), ("B", i8::WORDS)]),
    ];
    for (one, words) in payloads.iter().enumerate() {
        for (other, others) in payloads.iter().enumerate() {
            assert_eq!(words.to_string() == others.to_string(), one == other, "{words} and {others}");
        }
    }
    for (one, words) in all.iter().enumerate() {
        assert_eq!(words.bytes(), 8);
        for (other, others) in all.iter().enumerate() {
            assert_eq!(words.to_string() == others.to_string(), one == other, "{words} and {others}");
        }
    }
}
