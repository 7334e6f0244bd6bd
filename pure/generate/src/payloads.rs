// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt::Write as _;

use taut_model::{Model, Payload, PayloadField, Scalar};

use crate::names::{NEVER_NAMES, Names, type_name, value_name};

/// The types of a model's payloads.
pub struct Payloads<'m> {
    payloads: &'m [Payload],
    names: Vec<String>,
}

impl<'m> Payloads<'m> {
    /// The types of this model's payloads; no two have one name.
    pub fn of(model: &'m Model) -> Self {
        let payloads = model.payloads();
        // One of several payloads has the name of its message, which stands in front of a `/`.
        let stated =
            |payload: &'m Payload| payload.name.split_once('/').map_or(&*payload.name, |(name, _)| name);
        let names = Names::with(&[]).add_all(payloads.iter().map(|payload| type_name(stated(payload))));
        Self { payloads, names }
    }

    /// The name of the type of the payload at this position.
    pub fn name(&self, at: usize) -> &str {
        &self.names[at]
    }

    /// The type that a channel of the payload at this position carries, if `path` leads to the items of [`Payloads::text`]:
    /// of one of several payloads the stored form of the enum.
    pub fn stored(&self, at: usize, path: &str) -> String {
        let name = &self.names[at];
        match self.is_one_of(at) {
            true => format!("<{path}::{name} as ::taut::OneOf>::Stored"),
            false => format!("{path}::{name}"),
        }
    }

    /// Whether the payload at this position is one of several.
    pub fn is_one_of(&self, at: usize) -> bool {
        !self.payloads[at].one_of.is_empty()
    }

    /// The items that define all types, public, without a name of anything outside but `::taut` and `::core`. A payload
    /// that is one number or array is an alias; one of several is an enum; any other is a struct with the manifest's fields.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (payload, name) in self.payloads.iter().zip(&self.names) {
            if !payload.one_of.is_empty() {
                self.one_of(payload, name, &mut text);
                continue;
            }
            let doc = format!("    /// The payload `{}`.\n", payload.name);
            let has = |word: &&str| payload.fields.iter().any(|field| field.name == *word);
            match payload.fields.as_slice() {
                [array] if array.name.is_empty() => {
                    let _ = writeln!(text, "{doc}    pub type {name} = {};", type_of(array));
                }
                _ if NEVER_NAMES.iter().any(has) => by_hand(payload, name, &doc, &mut text),
                fields => {
                    let names = fields.iter().map(|field| value_name(&field.name)).collect::<Vec<_>>();
                    let fields = struct_fields(fields, &names, "            ");
                    let _ = write!(
                        text,
                        "    ::taut::payload! {{\n    {doc}        #[derive({})]\n        pub struct {name} {{\n{fields}        }}\n    }}\n",
                        equality(payload)
                    );
                }
            }
        }
        text
    }

    /// The enum of a message that carries several payloads.
    fn one_of(&self, payload: &Payload, name: &str, text: &mut String) {
        let variant = |one: &Payload| {
            let at = self.payloads.iter().position(|other| other.name == one.name).unwrap_or_default();
            let of_type = self.name(at);
            let word = if *of_type == one.name { String::new() } else { format!(" = {:?}", one.name) };
            format!("            /// The payload `{}`.\n            {of_type}({of_type}){word},\n", one.name)
        };
        let (message, _) = payload.name.split_once('/').unwrap_or((&payload.name, ""));
        let variants: String = payload.one_of.iter().map(variant).collect();
        let _ = write!(
            text,
            "    ::taut::payload! {{\n        /// A value of message `{message}`: one of its payloads.\n        #[derive({})]\n        \
             pub enum {name} {{\n{variants}        }}\n    }}\n",
            equality(payload)
        );
    }
}

fn equality(payload: &Payload) -> &'static str {
    if has_floats(payload) { "PartialEq" } else { "PartialEq, Eq" }
}

fn has_floats(payload: &Payload) -> bool {
    let is_float = |field: &PayloadField| matches!(field.scalar, Scalar::F32 | Scalar::F64);
    payload.fields.iter().any(is_float) || payload.one_of.iter().any(has_floats)
}

fn struct_fields(fields: &[PayloadField], names: &[String], indent: &str) -> String {
    let field = |(field, name): (&PayloadField, &String)| {
        format!("{indent}/// The field `{}`.\n{indent}pub {name}: {},\n", field.name, type_of(field))
    };
    fields.iter().zip(names).map(field).collect()
}

/// A payload with the words of its layout: a field has a name that no field in Rust can have.
fn by_hand(payload: &Payload, name: &str, doc: &str, text: &mut String) {
    let names = Names::with(&[]).add_all(payload.fields.iter().map(|field| value_name(&field.name)));
    let fields = struct_fields(&payload.fields, &names, "        ");
    let words = payload.fields.iter().map(|field| {
        format!("            (\"{}\", <{} as ::taut::Layout>::WORDS),\n", field.name, type_of(field))
    });
    let derived = ["FromBytes", "IntoBytes", "Immutable", "KnownLayout"];
    let derived = derived.map(|of| format!("::taut::zerocopy::{of}")).join(", ");
    let _ = write!(
        text,
        "{doc}    #[derive(Clone, Copy, Debug, {}, {derived})]\n    #[zerocopy(crate = \"taut::zerocopy\")]\n    #[repr(C)]\n    \
         pub struct {name} {{\n{fields}    }}\n    impl ::taut::Layout for {name} {{\n        \
         const WORDS: ::taut::Words = ::taut::Words::Fields(&[\n{}        ]);\n    }}\n",
        equality(payload),
        words.collect::<String>()
    );
}

fn type_of(field: &PayloadField) -> String {
    match field.len {
        1 => field.scalar.name().to_owned(),
        len => format!("[{}; {len}]", field.scalar.name()),
    }
}
