// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Objects of `taut-share` that processes share by name.
//!
//! An owner makes a *registry*: a segment that holds a list of named *objects*, each of an [`ObjectKind`] (a protocol,
//! its shape and the type of its values). An object has *endpoints*, such as `writer` or `reader 1`. Any process of the
//! same user attaches by name and takes a *lease*: the right to use one endpoint of one object. The lease gives an
//! *end*: the protocol's own type, with its operations. Both programs share a constant:
//!
//! ```
//! use taut_segment::registry::{Registry, Hybrid, Qrtr, Lease};
//!
//! const POSE: Hybrid<[f64; 3]> = Hybrid::new(2, 6); // 2 readers, 6 spare slots
//! const COMMANDS: Qrtr<u64> = Qrtr::new(16); // 16 can wait
//!
//! # let folder = tempfile::tempdir()?;
//! # std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o711))?;
//! # let folder = folder.path();
//! // The owner. (`Registry::create` and `Lease::take` need no folder.)
//! let registry = Registry::create_in(folder, "robot", &[POSE.named("pose"), COMMANDS.named("commands")])?;
//! let mut writer = Lease::take_in(folder, "robot", "pose", POSE.writer())?;
//! let mut writer = writer.end()?; // a `hybrid::Writer<'_, [f64; 3]>`
//! writer.write(&[1.0, 2.0, 0.5]);
//!
//! // Another process, or this one.
//! let mut lease = Lease::take_in(folder, "robot", "pose", POSE.reader(1))?;
//! let (mut reader, owner) = lease.split()?;
//! assert_eq!(reader.read(), Some([1.0, 2.0, 0.5]));
//! assert_eq!(owner.alive(), taut_segment::Liveness::Alive);
//!
//! // One process at a time holds an endpoint. Many may hold an endpoint that only reads; they cannot write its memory.
//! let again = Lease::take_in(folder, "robot", "pose", POSE.reader(1)).unwrap_err();
//! assert!(matches!(again, taut_segment::Error::EndpointTaken { .. }));
//! let mut display = Lease::take_in(folder, "robot", "pose", POSE.observer())?;
//! assert!(!display.attached().mapping("pose")?.writable());
//! assert_eq!(display.end()?.try_read()?.unwrap().version, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What makes it safe
//!
//! The protocols' constructors are `unsafe`: the memory must hold that very object, or zeros, and no other end of
//! that endpoint may live. A registry satisfies both by construction.
//!
//! - *The object.* The owner places objects apart from each other, in memory that the kernel has zeroed and whose
//!   size is sealed. A process gets a lease only if its kind, shape and layout of values are, word for word, those of
//!   the owner. The layout of a struct names every field, with type and place ([`mod@taut_share::layout`]); it does
//!   not name the struct's type.
//! - *One end.* Each endpoint is a client's name at the owner's listener, so the listener accepts one connection for
//!   each. The kernel closes the connection when its process dies, however it dies, and then the listener accepts a
//!   successor. The protocols' constructors let the successor go on where the dead process stopped, at any step
//!   (section *Crash* of each). Within the process an end borrows its lease.
//! - *Neighbours.* Each object is a memory file of its own, which only the holders of its endpoints receive. They can
//!   write all of the file, and punch holes into it; they cannot reach the file of any other object. So an object is
//!   for processes that trust each other, and a registry for processes of one user, which could interfere with each
//!   other anyhow: the registry's listener accepts only that user and root, and [`Lease::take`] accepts only an owner
//!   of the caller's own user. Between users that distrust each other use the protocols' `unsafe` constructors and
//!   their forms that copy.
//!
//! An end cannot outlive its lease, and a lease has one end at a time:
//!
//! ```compile_fail,E0505
//! # use taut_segment::registry::{Lease, Sdrtw, Writer};
//! # fn sit(mut lease: Lease<Sdrtw<u64>, Writer>) {
//! let mut writer = lease.end().unwrap();
//! drop(lease);
//! writer.write(&1);
//! # }
//! ```
//! ```compile_fail,E0499
//! # use taut_segment::registry::{Lease, Sdrtw, Writer};
//! # fn sit(mut lease: Lease<Sdrtw<u64>, Writer>) {
//! let mut writer = lease.end().unwrap();
//! let mut second = lease.end().unwrap();
//! writer.write(&1);
//! # }
//! ```
//!
//! After a fork both processes have the leases; only one of the two may go on using them. A child that drops them does
//! not release its parent's leases.
//!
//! # Which endpoints write
//!
//! An endpoint whose end only loads receives a descriptor that was opened for reading: the memory is mapped so that a
//! write faults. Up to 128 processes at a time may hold such an endpoint. All other endpoints are exclusive, and map
//! for writing.
//!
//! # When a process dies
//!
//! - *A holder*: its endpoint is free as soon as the kernel has closed its connection. Each protocol's file says what
//!   the ends of other endpoints see from then on.
//! - *The owner*: the memory stays as long as a process maps it, and values still flow between the attached
//!   processes; no process can attach any more. [`Attached::alive`](crate::Attached::alive) says
//!   [`Died`](crate::Liveness::Died), or [`Ended`](crate::Liveness::Ended) after an orderly end. The next owner has
//!   new memory, with another [`epoch`](crate::Attached::epoch): drop the lease, and take it again.
//!
//! # In the segment
//!
//! Each endpoint is a client of the name `ENDPOINT-of-OBJECT`, as `reader-1-of-pose`, with one line in its directory.
//! There `mechanism` is the kind; `writes` says that the endpoint needs to write to the memory, `reads` that it does
//! not; `capacity` is the shape's, or 1. The layout is the shape, then ` of `, then the words of a value's layout, as
//! `readers=2 spare=6 of f64*3`. The client `catalogue` reads all objects.

mod kind;
mod kinds;

use std::path::Path;

use taut_share::{LayoutError, Memory};

pub use kind::{Endpoint, EndpointSpec, NamedObject, Number, ObjectKind, Offers};
pub use kinds::*;

use crate::client::Attached;
use crate::directory::ChannelEntry;
use crate::owner::{ClientGrant, Folder};
use crate::{Error, ListenerReport, Owner, PAGE_BYTES, Role};

/// The most processes that may hold an endpoint that only reads, or list all objects, at a time: descriptors are limited.
const MANY: u16 = 128;

/// The client whose directory lists all objects.
const CATALOGUE: &str = "catalogue";

/// The owner's side: a segment with its objects. It holds no endpoint by itself; its process takes leases like any
/// other.
#[derive(Debug)]
pub struct Registry(Owner);

impl Registry {
    /// Makes a registry in the default folder; all its objects are empty.
    ///
    /// # Errors
    /// [`Error::Layout`] if a protocol does not accept its object's shape; [`Error::TooLarge`] if all objects
    /// together take more memory than the machine has; [`Error::BadName`], also for an object's name of more than 32
    /// characters; and as [`Owner::create`].
    pub fn create(name: &str, objects: &[NamedObject]) -> Result<Self, Error> {
        Self::create_at(Folder::Default, name, objects)
    }

    /// As [`Registry::create`], with the socket in another folder.
    ///
    /// # Errors
    /// As [`Registry::create`].
    pub fn create_in(folder: &Path, name: &str, objects: &[NamedObject]) -> Result<Self, Error> {
        Self::create_at(Folder::Given(folder), name, objects)
    }

    fn create_at(folder: Folder<'_>, name: &str, objects: &[NamedObject]) -> Result<Self, Error> {
        let mut clients = Vec::new();
        let mut all = Vec::with_capacity(objects.len());
        // Each object lies on pages of its own, so its endpoints write to no other object's pages.
        let mut end = PAGE_BYTES;
        for object in objects {
            let entry = object.entry(end)?;
            // `entry` gives an object that needs no memory one byte. A sum that saturates is more than any machine has.
            let after = entry.offset.saturating_add(entry.size);
            end = after.checked_next_multiple_of(PAGE_BYTES).unwrap_or(u64::MAX);
            clients.extend(object.endpoints().map(|(endpoint, terms)| {
                let role = if terms.number == Number::Any { Role::Reads } else { Role::Writes };
                let entries = vec![ChannelEntry { role, ..entry.clone() }];
                let max_attached = if role == Role::Reads { MANY } else { 1 };
                ClientGrant { max_attached, ..ClientGrant::new(endpoint, entries) }
            }));
            all.push(entry);
        }
        let catalogue = ClientGrant::new(CATALOGUE.to_owned(), all);
        clients.push(ClientGrant { max_attached: MANY, lists: true, ..catalogue });
        let owner = Owner::create_at(folder, name, end, clients, None)?;
        owner.set_running();
        Ok(Self(owner))
    }

    /// The number of this run: random, different every time.
    pub fn epoch(&self) -> u64 {
        self.0.epoch()
    }

    /// Which process holds which endpoint, and how often the listener was used.
    pub fn report(&self) -> ListenerReport {
        self.0.report()
    }

    /// Ends in an orderly way, as [`Owner::end`].
    ///
    /// # Errors
    /// As [`Owner::end`].
    pub fn end(self) -> Result<(), Error> {
        self.0.end()
    }
}

/// The objects of a registry, in its owner's order: their entries, all with the role `reads`.
///
/// # Errors
/// As [`Lease::take`], without the errors about an object.
pub fn catalogue(registry: &str) -> Result<Vec<ChannelEntry>, Error> {
    catalogue_at(Folder::Default, registry)
}

/// As [`catalogue`], for a registry in another folder.
///
/// # Errors
/// As [`catalogue`].
pub fn catalogue_in(folder: &Path, registry: &str) -> Result<Vec<ChannelEntry>, Error> {
    catalogue_at(Folder::Given(folder), registry)
}

fn catalogue_at(folder: Folder<'_>, registry: &str) -> Result<Vec<ChannelEntry>, Error> {
    Ok(Attached::attach(folder, registry, CATALOGUE)?.directory().entries().to_vec())
}

/// An endpoint of an object, held by this process until the lease is dropped.
///
/// Holding a lease proves that no other end of this endpoint lives (unless the endpoint only reads), that the object
/// is of this kind, and that it stays mapped.
#[derive(Debug)]
pub struct Lease<K, P> {
    attached: Attached,
    object: String,
    endpoint: Endpoint<K, P>,
}

impl<K: Offers<P>, P> Lease<K, P> {
    /// Takes an endpoint of an object, from a registry in the default folder. The memory is populated, and locked if
    /// the process has the privilege ([`Mapping::locked`](taut_sys::memory::Mapping::locked) reports it). Waits for
    /// at most two seconds; not for real-time threads.
    ///
    /// # Errors
    /// - [`Error::EndpointTaken`] while another process holds the endpoint;
    /// - [`Error::NoObject`], [`Error::NoEndpoint`], [`Error::ObjectDiffers`] if the owner's object does not match
    ///   the caller's;
    /// - [`Error::NotPermitted`] if the registry is another user's;
    /// - as [`attach`](crate::attach).
    pub fn take(registry: &str, object: &str, endpoint: Endpoint<K, P>) -> Result<Self, Error> {
        Self::take_at(Folder::Default, registry, object, endpoint)
    }

    /// As [`Lease::take`], from a registry in another folder.
    ///
    /// # Errors
    /// As [`Lease::take`].
    pub fn take_in(
        folder: &Path,
        registry: &str,
        object: &str,
        endpoint: Endpoint<K, P>,
    ) -> Result<Self, Error> {
        Self::take_at(Folder::Given(folder), registry, object, endpoint)
    }

    fn take_at(
        folder: Folder<'_>,
        registry: &str,
        object: &str,
        endpoint: Endpoint<K, P>,
    ) -> Result<Self, Error> {
        let ours = endpoint.kind.named(object);
        let name = endpoint.name(object);
        let mut attached = match Attached::attach(folder, registry, &name) {
            Ok(attached) => attached,
            Err(Error::NameTaken { reason, .. }) => {
                return Err(Error::EndpointTaken {
                    object: object.to_owned(),
                    endpoint: endpoint.to_string(),
                    reason,
                });
            }
            Err(Error::UnknownClient { client, reason }) => {
                // The catalogue shows the cause; an owner without a catalogue is no registry.
                let entries =
                    catalogue_at(folder, registry).map_err(|_| Error::UnknownClient { client, reason })?;
                ours.compare(entry_of(&entries, object)?)?;
                return Err(Error::NoEndpoint { object: object.to_owned(), endpoint: endpoint.to_string() });
            }
            Err(error) => return Err(error),
        };
        if attached.owner_uid() != taut_sys::process::effective_uid() {
            let reason = format!(
                "the registry belongs to user {}, and only processes of that user may use it",
                attached.owner_uid()
            );
            return Err(Error::NotPermitted { app: registry.to_owned(), reason });
        }
        let entry = entry_of(attached.directory().entries(), object)?;
        ours.compare(entry)?;
        // Without this check a write could fault, or an endpoint that only reads could write.
        if (entry.role == Role::Writes) == (endpoint.terms().number == Number::Any) {
            return Err(Error::Inconsistent { what: "rights that the endpoint needs" });
        }
        attached.lock();
        Ok(Self { attached, object: object.to_owned(), endpoint })
    }

    /// The end, with the protocol's operations. After dropping it the caller can get another end, which goes on as a
    /// successor does.
    ///
    /// # Errors
    /// [`LayoutError`]: only if the owner's region has fewer bytes than the object needs.
    pub fn end(&mut self) -> Result<K::End<'_>, LayoutError> {
        Ok(self.split()?.0)
    }

    /// The end, and beside it the attachment, which gives information about the owner.
    ///
    /// # Errors
    /// As [`Lease::end`].
    pub fn split(&mut self) -> Result<(K::End<'_>, &Attached), LayoutError> {
        let none = LayoutError::TooSmall { needed: 0, given: 0 };
        let region = self.attached.region(&self.object).map_err(|_| none)?;
        // SAFETY:
        // - mapped until the lease is dropped, which the memory borrows; its size is sealed; mapped for writing if the
        //   endpoint needs to write (`take_at`), and the end of an endpoint that does not only loads (`Offers`);
        // - aligned to 128, as the directory proves of its regions;
        // - within this process, only ends of other endpoints of this object, and further ends of an endpoint that
        //   only loads, touch these bytes, over mappings of their own, since regions do not overlap;
        // - other processes are of the same user (module's documentation, Neighbours), and use this interface.
        let memory = unsafe { Memory::from_raw(region.cast(), region.len()) };
        // SAFETY:
        // - the owner zeroed the memory, and placed this kind there, with this shape and type of values (`compare`);
        // - this endpoint has one end at a time: the listener grants it to one connection, which this lease holds, and
        //   the end borrows the lease. For an endpoint of [`Number::Any`] that is no duty: it may have several ends. A
        //   forgotten end is never used again, as if its process had died.
        let end = unsafe { self.endpoint.kind.end(self.endpoint.which, memory) }?;
        Ok((end, &self.attached))
    }

    /// The attachment, which reports whether the owner lives, its epoch and its process.
    pub fn attached(&self) -> &Attached {
        &self.attached
    }
}

fn entry_of<'e>(entries: &'e [ChannelEntry], object: &str) -> Result<&'e ChannelEntry, Error> {
    entries.iter().find(|entry| entry.channel == object).ok_or_else(|| Error::NoObject {
        object: object.to_owned(),
        known: entries.iter().map(|entry| entry.channel.clone()).collect(),
    })
}
