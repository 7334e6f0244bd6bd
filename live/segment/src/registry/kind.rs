// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

use std::fmt;
use std::marker::PhantomData;

use taut_share::{Layout, LayoutError, Memory, Plain};

use crate::directory::ChannelEntry;
use crate::{Error, Role};

/// The most characters of an object's name: with `-of-` and its longest endpoint it must fit a client's name.
const OBJECT_LIMIT: usize = 32;

/// The most ends of a numbered endpoint: each is a client's name at the listener.
const EACH_LIMIT: u32 = 256;

/// How many ends an endpoint may have at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// One.
    One,
    /// This many, at most 256. They are numbered from 0, and each number has one end.
    Each(u32),
    /// Any number: such an end leaves no trace, and only loads.
    Any,
}

/// An endpoint of a kind: its name, and how many ends it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointSpec {
    /// Its name: lower-case letters and `-`, at most 12.
    pub endpoint: &'static str,
    /// How many ends.
    pub number: Number,
}

/// A kind of object: a protocol with its shape and the type of its values.
///
/// Anyone can implement it for another protocol; programs then share its objects by name like those of `taut-share`.
///
/// # Safety
///
/// - [`ObjectKind::bytes`] gives the bytes that an object of this shape needs.
/// - No two kinds have one name, and two values of one kind that print the same fields have the same shape.
/// - Within the numbers in [`ObjectKind::endpoints`], the ends that [`Offers::end`] gives keep to the protocol,
///   whichever of them live at a time; and ends of an endpoint with [`Number::Any`] only load.
pub unsafe trait ObjectKind: Copy {
    /// The type of its values.
    type Value: Plain + Layout;

    /// The protocol's name: letters, digits, `-` or `_`.
    const NAME: &'static str;

    /// The fields of its shape: names and numbers, in a fixed order.
    fn fields(&self) -> Vec<(&'static str, u32)>;

    /// Its endpoints.
    fn endpoints(&self) -> Vec<EndpointSpec>;

    /// Bytes of an object.
    ///
    /// # Errors
    /// The shape's fault.
    fn bytes(&self) -> Result<usize, LayoutError>;

    /// An object of this kind, for a registry or to compare with an object of one.
    fn named(&self, name: &str) -> NamedObject {
        const {
            let (said, size) = (<Self::Value as Layout>::WORDS.bytes(), size_of::<Self::Value>());
            assert!(said == size, "the words of a value's layout say how many bytes it has");
        }
        let fields = self.fields();
        let text: Vec<_> = fields.iter().map(|(name, number)| format!("{name}={number}")).collect();
        let capacity = fields.iter().find(|(name, _)| *name == "capacity").map_or(1, |(_, number)| *number);
        NamedObject {
            name: name.to_owned(),
            kind: Self::NAME,
            shape: text.join(" "),
            layout: <Self::Value as Layout>::WORDS.to_string(),
            value_size: size_of::<Self::Value>(),
            capacity,
            bytes: self.bytes(),
            endpoints: self.endpoints(),
        }
    }
}

/// A kind that has an endpoint `P`.
///
/// # Safety
///
/// As [`ObjectKind`]: [`Offers::end`] keeps to the protocol if its caller meets its duties.
pub unsafe trait Offers<P>: ObjectKind {
    /// The end of this endpoint.
    type End<'m>;

    /// The endpoint's name and number, which [`ObjectKind::endpoints`] lists too.
    fn terms(&self) -> EndpointSpec;

    /// Makes the end on an object, as the first end or as a successor.
    ///
    /// # Errors
    /// The memory is too short, or the endpoint has no such number.
    ///
    /// # Safety
    ///
    /// - The memory holds an object of this kind, shape and type of values, or zeros.
    /// - No other end of this endpoint and number lives: the last one has ended, and its end happens before this
    ///   call. This duty does not apply to [`Number::Any`].
    unsafe fn end<'m>(&self, which: u32, memory: Memory<'m>) -> Result<Self::End<'m>, LayoutError>;
}

/// An endpoint of a kind, as a program requests it: the argument of [`Lease::take`](super::Lease::take).
#[derive(Debug)]
pub struct Endpoint<K, P> {
    pub(super) kind: K,
    pub(super) which: u32,
    endpoint: PhantomData<fn(P)>,
}

impl<K: Offers<P>, P> Endpoint<K, P> {
    /// Endpoint `P` of this kind; number `which`, from 0, if it has several.
    pub const fn new(kind: K, which: u32) -> Self {
        Self { kind, which, endpoint: PhantomData }
    }

    pub(super) fn terms(&self) -> EndpointSpec {
        self.kind.terms()
    }

    /// The name of the client that holds it.
    pub(super) fn name(&self, object: &str) -> String {
        format!("{}-of-{object}", endpoint_text(self.terms(), self.which))
    }
}

impl<K: Offers<P>, P> fmt::Display for Endpoint<K, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&endpoint_text(self.terms(), self.which))
    }
}

fn endpoint_text(terms: EndpointSpec, which: u32) -> String {
    match terms.number {
        Number::Each(_) => format!("{}-{which}", terms.endpoint),
        Number::One | Number::Any => terms.endpoint.to_owned(),
    }
}

/// An object of a registry: a kind with a name.
#[derive(Clone, Debug)]
pub struct NamedObject {
    name: String,
    kind: &'static str,
    shape: String,
    layout: String,
    value_size: usize,
    capacity: u32,
    bytes: Result<usize, LayoutError>,
    endpoints: Vec<EndpointSpec>,
}

impl NamedObject {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of its clients, each with its endpoint's terms.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = (String, EndpointSpec)> {
        self.endpoints.iter().flat_map(move |&terms| {
            let count = if let Number::Each(count) = terms.number { count } else { 1 };
            (0..count).map(move |which| (format!("{}-of-{}", endpoint_text(terms, which), self.name), terms))
        })
    }

    fn text(&self) -> String {
        let space = if self.shape.is_empty() { "" } else { " " };
        format!("{}{space}of {}", self.shape, self.layout)
    }

    /// Its line of the directory, for a region at this offset.
    pub(super) fn entry(&self, offset: u64) -> Result<ChannelEntry, Error> {
        if self.name.len() > OBJECT_LIMIT {
            return Err(Error::BadName { name: self.name.clone() });
        }
        let failed = |error| Error::Layout { object: self.name.clone(), error };
        let bytes = self.bytes.map_err(failed)?;
        if self
            .endpoints
            .iter()
            .any(|terms| matches!(terms.number, Number::Each(count) if count > EACH_LIMIT))
        {
            return Err(failed(LayoutError::Readers));
        }
        let value_size = u32::try_from(self.value_size).map_err(|_| failed(LayoutError::Capacity))?;
        Ok(ChannelEntry {
            channel: self.name.clone(),
            role: Role::Reads,
            mechanism: self.kind.to_owned(),
            layout: self.text(),
            value_size,
            capacity: self.capacity,
            // The shape gives them, in the layout.
            readers: 0,
            offset,
            size: bytes.max(1) as u64,
            triggered: false,
            event_count: None,
            history: 0,
            service: None,
            reservation: None,
        })
    }

    /// Checks that the owner's object matches this one.
    pub(super) fn compare(&self, entry: &ChannelEntry) -> Result<(), Error> {
        let differs = |what, ours: &str, theirs: &str| {
            let (object, ours, theirs) = (self.name.clone(), ours.to_owned(), theirs.to_owned());
            Err(Error::ObjectDiffers { object, what, ours, theirs })
        };
        let (shape, layout) = match entry.layout.strip_prefix("of ") {
            Some(layout) => ("", layout),
            None => entry.layout.split_once(" of ").unwrap_or(("", &entry.layout)),
        };
        if entry.mechanism != self.kind {
            return differs("protocol", self.kind, &entry.mechanism);
        }
        if layout != self.layout {
            return differs("type", &self.layout, layout);
        }
        if entry.value_size as usize != self.value_size {
            let bytes = |size| format!("{size} bytes");
            return differs("size of values", &bytes(self.value_size), &bytes(entry.value_size as usize));
        }
        if shape != self.shape {
            return differs("shape", &self.shape, shape);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sdrtw;

    #[test]
    fn an_owner_whose_words_and_bytes_disagree_is_refused() {
        let object = Sdrtw::<[u32; 3]>::new().named("it");
        let mut entry = object.entry(4096).expect("a layout");
        assert_eq!((entry.layout.as_str(), entry.value_size), ("of u32*3", 12));
        assert!(object.compare(&entry).is_ok());
        entry.value_size = 16;
        let reported = object.compare(&entry).expect_err("it lies").to_string();
        assert!(
            reported.contains("size of values: this program has `12 bytes`, the registry `16 bytes`"),
            "{reported}"
        );
    }
}
