// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Payload layouts: no padding anywhere, so that the writer sets every byte of a value.

use std::collections::HashSet;

use super::faults::Faults;
use super::one_of;
use crate::{
    BLOCK_BYTES_MAX, ChannelDraft, ChannelKind, Draft, Fault, KeyPath, PAYLOAD_BYTES_MAX, Payload,
    PayloadField, codes,
};

pub(super) fn check(draft: &Draft, faults: &mut Faults<'_>) {
    for payload in &draft.payloads {
        if one_of::is_joined(payload) {
            one_of::size(draft, payload, faults);
        } else {
            check_one(payload, faults);
            size(draft, payload, faults);
        }
    }
}

/// Checks that a value is not too large for the channels that carry it: only a bulk channel copies none.
fn size(draft: &Draft, payload: &Payload, faults: &mut Faults<'_>) {
    let bytes = payload
        .fields
        .iter()
        .map(|field| u64::from(field.scalar.size()).saturating_mul(u64::from(field.len)))
        .fold(0, u64::saturating_add);
    let path = |channel: &ChannelDraft, key: &str| format!("channels.{}.{key}", channel.table());
    let mut carried = draft.channels.iter().filter(|channel| channel.carries(&payload.name)).peekable();
    let moved = carried.peek().is_some();
    let copied =
        carried.find(|channel| channel.kind != ChannelKind::Bulk && !faults.wrong(&path(channel, "kind")));
    let most = if copied.is_none() && moved { BLOCK_BYTES_MAX } else { PAYLOAD_BYTES_MAX };
    if bytes <= u64::from(most) {
        return;
    }
    let message = format!("a value of payload `{}` is too large", payload.name);
    let whole = KeyPath::key(format!("payloads.{}", payload.name));
    let fault = Fault::error(codes::BAD_LAYOUT, message, whole, format!("{bytes} bytes, at most {most}"));
    if bytes > u64::from(BLOCK_BYTES_MAX) {
        faults.push(fault.help("send it in pieces"));
        return;
    }
    let fault = fault.help("write `kind = \"bulk\"`: a bulk channel copies no value; or send it in pieces");
    match copied {
        // A channel whose payload or kind could not be read may be a bulk channel of it.
        None if faults.any_wrong("channels", &["payload", "kind"]) => {}
        None => faults.push(fault),
        Some(channel) => faults.push(fault.also(KeyPath::value(path(channel, "kind")), "copies each value")),
    }
}

fn place(payload: &Payload, field: &PayloadField) -> KeyPath {
    if field.name.is_empty() {
        KeyPath::value(format!("payloads.{}", payload.name))
    } else {
        KeyPath::value(format!("payloads.{}.fields.{}", payload.name, field.name))
    }
}

fn check_one(payload: &Payload, faults: &mut Faults<'_>) {
    let name = &payload.name;
    let fault = |message: String, place, text: String| Fault::error(codes::BAD_LAYOUT, message, place, text);
    if payload.fields.is_empty() {
        let place = KeyPath::value(format!("payloads.{name}.fields"));
        faults.push(
            fault(format!("payload `{name}` has no field"), place, "empty".into())
                .help("give it a field, as in `{ fields = { value = \"f32\" } }`"),
        );
        return;
    }
    let mut seen = HashSet::new();
    let mut offset = 0u64;
    let mut align = 1;
    let mut aligned = true;
    for field in &payload.fields {
        if !field.name.is_empty() {
            check_field_name(payload, field, &mut seen, faults);
        }
        if field.len == 0 {
            faults.push(
                fault(
                    format!("a field of payload `{name}` has no element"),
                    place(payload, field),
                    "0".into(),
                )
                .help("a length is at least 1"),
            );
        }
        // The end of a field without a size, and so the place of the next field, is unknown.
        aligned &= !faults.wrong(place(payload, field).path());
        let size = u64::from(field.scalar.size());
        if aligned && !offset.is_multiple_of(size) {
            aligned = false;
            let message = format!("payload `{name}` would need padding before `{}`", field.name);
            let text = format!("at byte {offset}, which is not a multiple of {size}");
            faults.push(reordered(payload, fault(message, place(payload, field), text)));
        }
        align = align.max(size);
        // An overflow would need 2³² fields of 2³⁵ bytes, more than any memory holds.
        offset = offset.saturating_add(size.saturating_mul(u64::from(field.len)));
    }
    if aligned && !offset.is_multiple_of(align) {
        let missing = align - offset % align;
        let message = format!("payload `{name}` would need padding at its end");
        let text = format!("{offset} bytes, which is not a multiple of its largest field's {align}");
        faults.push(
            fault(message, KeyPath::key(format!("payloads.{name}")), text)
                .help(format!("add a last field `reserved = \"u8*{missing}\"`, or enlarge another")),
        );
    }
}

fn check_field_name<'p>(
    payload: &'p Payload,
    field: &'p PayloadField,
    seen: &mut HashSet<&'p str>,
    faults: &mut Faults<'_>,
) {
    let (name, place) = (&field.name, KeyPath::key(place(payload, field).path()));
    if !seen.insert(name) {
        let message = format!("field `{name}` appears twice in payload `{}`", payload.name);
        faults.push(
            Fault::error(codes::DUPLICATE_NAME, message, place, "defined twice").help("rename one of them"),
        );
    } else if !(name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= 63
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'))
    {
        let message = format!("`{}` is not a name for a field", name.escape_debug());
        faults.push(
            Fault::error(codes::BAD_NAME, message, place, "not well formed").note(
                "a field's name is as in Rust: a lower-case letter, then lower-case letters, digits, `_`",
            ),
        );
    }
}

/// The fault. If the sizes allow an order of fields that needs no padding, its help is that order.
fn reordered(payload: &Payload, fault: Fault) -> Fault {
    let mut fields = payload.fields.iter().collect::<Vec<_>>();
    fields.sort_by_key(|field| std::cmp::Reverse(field.scalar.size()));
    let order = fields.iter().map(|f| format!("`{}`", f.name)).collect::<Vec<_>>().join(", ");
    fault.note("every field is aligned to its size").help(format!("put the large ones first: {order}"))
}
