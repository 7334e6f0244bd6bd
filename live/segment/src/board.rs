// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

//! Objects of `taut-share` between processes, by name.
//!
//! An owner makes a *board*: a segment that holds a list of named *objects*, each of a [`Kind`] (a protocol, its shape
//! and the type of its values). Any process of the same user attaches by name and takes a *seat*: the right to play one
//! part of one object, as `writer` or `reader 1`. What both programs share is a constant:
//!
//! ```
//! use taut_segment::board::{Board, Hybrid, Qrtr, Seat};
//!
//! const POSE: Hybrid<[f64; 3]> = Hybrid::new(2, 6); // 2 readers, 6 spare slots
//! const COMMANDS: Qrtr<u64> = Qrtr::new(16); // 16 can wait
//!
//! # let folder = tempfile::tempdir()?;
//! # std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o711))?;
//! # let folder = folder.path();
//! // The owner. (`Board::create` and `Seat::take` do without a folder.)
//! let board = Board::create_in(folder, "robot", &[POSE.named("pose"), COMMANDS.named("commands")])?;
//! let mut writer = Seat::take_in(folder, "robot", "pose", POSE.writer())?;
//! let mut writer = writer.end()?; // a `hybrid::Writer<'_, [f64; 3]>`
//! writer.write(&[1.0, 2.0, 0.5]);
//!
//! // Another process, or this one.
//! let mut seat = Seat::take_in(folder, "robot", "pose", POSE.reader(1))?;
//! let (mut reader, owner) = seat.split()?;
//! assert_eq!(reader.read(), Some([1.0, 2.0, 0.5]));
//! assert_eq!(owner.alive(), taut_segment::Liveness::Alive);
//!
//! // One process plays a part at a time; who only looks, through memory that it cannot write, may be many.
//! let again = Seat::take_in(folder, "robot", "pose", POSE.reader(1)).unwrap_err();
//! assert!(matches!(again, taut_segment::Error::PartTaken { .. }));
//! let mut display = Seat::take_in(folder, "robot", "pose", POSE.observer())?;
//! assert!(!display.attached().mapping("pose")?.writable());
//! assert_eq!(display.end()?.try_read()?.unwrap().version, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What makes it safe
//!
//! The protocols' constructors are `unsafe`: the memory must hold that very object, or zeros, and no other end of that
//! part may live. Here both hold by construction.
//!
//! - *The object.* The owner places objects apart from each other, in memory that the kernel has zeroed and whose size is
//!   sealed. A seat is had only if kind, shape and layout of values are, word for word, those of the owner: of a struct every
//!   field, by name, type and place ([`mod@taut_share::layout`]), and not its type's name.
//! - *One end.* Each part is a client's name at the owner's door, so the door lets in one connection for each. The kernel
//!   closes it when its process dies, however it dies, and then a successor is let in; to go on where the dead one
//!   stopped, at any step, is what the protocols' constructors are made for (section *Crash* of each). Within the process an
//!   end borrows its seat.
//! - *Neighbours.* Each object is a memory file of its own, which only the holders of its parts are given. They can write all
//!   of it, and punch holes into it; no other object's. So an object is for processes that trust each other, and a board for
//!   processes of one user, which could reach into each other anyhow: its door lets nobody else in but root, and
//!   [`Seat::take`] accepts an owner of our own user alone. Between users that distrust each other use the protocols' `unsafe`
//!   constructors and their forms that copy.
//!
//! An end cannot outlive its seat, nor a second one stand beside it:
//!
//! ```compile_fail,E0505
//! # use taut_segment::board::{Seat, Sdrtw, Writer};
//! # fn sit(mut seat: Seat<Sdrtw<u64>, Writer>) {
//! let mut writer = seat.end().unwrap();
//! drop(seat);
//! writer.write(&1);
//! # }
//! ```
//! ```compile_fail,E0499
//! # use taut_segment::board::{Seat, Sdrtw, Writer};
//! # fn sit(mut seat: Seat<Sdrtw<u64>, Writer>) {
//! let mut writer = seat.end().unwrap();
//! let mut second = seat.end().unwrap();
//! writer.write(&1);
//! # }
//! ```
//!
//! A process that forks has its seats twice; only one of the two may go on using them. A child that drops them gives nothing of
//! its parent's back.
//!
//! # Who needs to write
//!
//! A part whose end only loads is given a descriptor that was opened for reading: the memory is mapped so that a write
//! faults. Of these there may be many, up to 128 at a time. All others are exclusive, and map for writing.
//!
//! # When somebody dies
//!
//! - *A holder*: its part is free as soon as the kernel has closed its connection. What the ends of other parts see from
//!   then on is said in each protocol's file.
//! - *The owner*: the memory stays as long as someone maps it, and values still flow between those that are attached;
//!   nobody can attach any more. [`Attached::alive`](crate::Attached::alive) says [`Died`](crate::Liveness::Died), or
//!   [`Ended`](crate::Liveness::Ended) if it ended in order. Its successor has new memory, with another
//!   [`epoch`](crate::Attached::epoch): drop the seat, and take it again.
//!
//! # In the segment
//!
//! Each part is a client of the name `PART-of-OBJECT`, as `reader-1-of-pose`, with one line in its directory:
//! `mechanism` is the kind; `writes` says that the part needs to write to the memory, `reads` that it does not; `capacity`
//! is the shape's, or 1; and the layout is the shape, ` of ` and the words of a value's layout, as
//! `readers=2 spare=6 of f64*3`. The client `catalogue` reads all of them.

mod kind;
mod kinds;

use std::path::Path;

use taut_share::{LayoutError, Memory};

pub use kind::{Kind, Number, Object, Offers, Part, Terms};
pub use kinds::{
    Bulk, Chen, Dbp, Dispatcher, DoubleBuffer, Emeralds, FastReader, Follower, Hybrid, ImprovedChen,
    ImprovedDoubleBuffer, ImprovedPeterson, NbwTemporal, Observer, Peterson, Presence, Publisher, Qrtr,
    Qrtwc, Qrtwo, Reader, Receiver, Sdrtr, Sdrtw, Sender, SlowReader, Spinlock, Tccp, TccpNewest, Writer,
};

use crate::client::Attached;
use crate::directory::Entry;
use crate::owner::{Client, Folder};
use crate::{DoorReport, Error, Owner, PAGE_BYTES, Role};

/// The client that is told of all objects.
const CATALOGUE: &str = "catalogue";

/// The owner's side: a segment with its objects. It plays no part by itself; its process takes seats like any other.
#[derive(Debug)]
pub struct Board(Owner);

impl Board {
    /// A board in the default folder, with all its objects empty.
    ///
    /// # Errors
    /// [`Error::Layout`] if a shape is not one that its protocol takes; [`Error::TooLarge`] if all objects together take
    /// more memory than the machine has; [`Error::BadName`], also of an object with more than 32 characters; and as
    /// [`Owner::create`].
    pub fn create(name: &str, objects: &[Object]) -> Result<Self, Error> {
        Self::create_at(Folder::Default, name, objects)
    }

    /// As [`Board::create`], with the door in another folder.
    ///
    /// # Errors
    /// As [`Board::create`].
    pub fn create_in(folder: &Path, name: &str, objects: &[Object]) -> Result<Self, Error> {
        Self::create_at(Folder::Given(folder), name, objects)
    }

    fn create_at(folder: Folder<'_>, name: &str, objects: &[Object]) -> Result<Self, Error> {
        let mut clients = Vec::new();
        let mut all = Vec::with_capacity(objects.len());
        // Each on pages of its own: what its parts write to is nobody else's.
        let mut end = PAGE_BYTES;
        for object in objects {
            let entry = object.entry(end)?;
            // A kind may take no room; regions have some. A sum that is no number is more than any machine has.
            let after = entry.offset.saturating_add(entry.size);
            end = after.checked_next_multiple_of(PAGE_BYTES).unwrap_or(u64::MAX);
            clients.extend(object.parts().map(|(part, terms)| {
                let role = if terms.number == Number::Any { Role::Reads } else { Role::Writes };
                let entries = vec![Entry { role, ..entry.clone() }];
                Client { name: part, entries, many: role == Role::Reads, lists: false }
            }));
            all.push(entry);
        }
        clients.push(Client { name: CATALOGUE.to_owned(), entries: all, many: true, lists: true });
        let owner = Owner::create_at(folder, name, end, clients, None)?;
        owner.set_running();
        Ok(Self(owner))
    }

    /// The number of this run: random, another every time.
    pub fn epoch(&self) -> u64 {
        self.0.epoch()
    }

    /// Who holds which part, and how often the door was used.
    pub fn report(&self) -> DoorReport {
        self.0.report()
    }

    /// Ends in order, as [`Owner::end`].
    ///
    /// # Errors
    /// As [`Owner::end`].
    pub fn end(self) -> Result<(), Error> {
        self.0.end()
    }
}

/// What stands on a board, in its owner's order: the entries of its objects, all said to be read.
///
/// # Errors
/// As [`Seat::take`], but for what is about an object.
pub fn catalogue(board: &str) -> Result<Vec<Entry>, Error> {
    catalogue_at(Folder::Default, board)
}

/// As [`catalogue`], of a board in another folder.
///
/// # Errors
/// As [`catalogue`].
pub fn catalogue_in(folder: &Path, board: &str) -> Result<Vec<Entry>, Error> {
    catalogue_at(Folder::Given(folder), board)
}

fn catalogue_at(folder: Folder<'_>, board: &str) -> Result<Vec<Entry>, Error> {
    Ok(Attached::attach(folder, board, CATALOGUE)?.directory().entries().to_vec())
}

/// A part of an object, held by this process until it is dropped.
///
/// Holding it proves that no other end of this part lives, that the object is of this kind, and that it stays mapped.
#[derive(Debug)]
pub struct Seat<K, P> {
    attached: Attached,
    object: String,
    part: Part<K, P>,
}

impl<K: Offers<P>, P> Seat<K, P> {
    /// Takes a part of an object, on a board in the default folder. The memory is populated, and locked if the privilege
    /// is there ([`Mapping::locked`](taut_sys::memory::Mapping::locked) says). Waits for at most two seconds; not for
    /// real-time threads.
    ///
    /// # Errors
    /// - [`Error::PartTaken`] while another holds it;
    /// - [`Error::NoObject`], [`Error::NoPart`], [`Error::ObjectDiffers`] if the owner's object is not as we say;
    /// - [`Error::NotPermitted`] if the board is another user's;
    /// - as [`attach`](crate::attach).
    pub fn take(board: &str, object: &str, part: Part<K, P>) -> Result<Self, Error> {
        Self::take_at(Folder::Default, board, object, part)
    }

    /// As [`Seat::take`], of a board in another folder.
    ///
    /// # Errors
    /// As [`Seat::take`].
    pub fn take_in(folder: &Path, board: &str, object: &str, part: Part<K, P>) -> Result<Self, Error> {
        Self::take_at(Folder::Given(folder), board, object, part)
    }

    fn take_at(folder: Folder<'_>, board: &str, object: &str, part: Part<K, P>) -> Result<Self, Error> {
        let ours = part.kind.named(object);
        let name = part.name(object);
        let mut attached = match Attached::attach(folder, board, &name) {
            Ok(attached) => attached,
            Err(Error::NameTaken { reason, .. }) => {
                return Err(Error::PartTaken { object: object.to_owned(), part: part.to_string(), reason });
            }
            Err(Error::UnknownClient { client, reason }) => {
                // The catalogue says why; who has none is no board.
                let entries =
                    catalogue_at(folder, board).map_err(|_| Error::UnknownClient { client, reason })?;
                ours.compare(entry_of(&entries, object)?)?;
                return Err(Error::NoPart { object: object.to_owned(), part: part.to_string() });
            }
            Err(error) => return Err(error),
        };
        if attached.owner_uid() != taut_sys::process::effective_uid() {
            let reason =
                format!("it is a board of user {}, and boards are within one user", attached.owner_uid());
            return Err(Error::NotPermitted { app: board.to_owned(), reason });
        }
        let entry = entry_of(attached.directory().entries(), object)?;
        ours.compare(entry)?;
        // Before a write faults; and who needs none is not let write.
        if (entry.role == Role::Writes) == (part.terms().number == Number::Any) {
            return Err(Error::Inconsistent { what: "rights that the part needs" });
        }
        attached.lock();
        Ok(Self { attached, object: object.to_owned(), part })
    }

    /// The end: its operations are the protocol's. When it has been dropped, another can be had, which goes on as a
    /// successor does.
    ///
    /// # Errors
    /// [`LayoutError`]: only if the owner says less bytes than the object needs.
    pub fn end(&mut self) -> Result<K::End<'_>, LayoutError> {
        Ok(self.split()?.0)
    }

    /// The end, and beside it what there is to know about the owner.
    ///
    /// # Errors
    /// As [`Seat::end`].
    pub fn split(&mut self) -> Result<(K::End<'_>, &Attached), LayoutError> {
        let none = LayoutError::TooSmall { needed: 0, given: 0 };
        let region = self.attached.region(&self.object).map_err(|_| none)?;
        // SAFETY:
        // - mapped until the seat is dropped, whose borrow the memory has, sealed in its size; for writing if the part
        //   needs it (`take_at`), and whoever needs none only loads (`Offers`);
        // - aligned to 128, as the directory proves of its regions;
        // - within this process, others that touch these bytes are ends of other parts of this object, since regions are
        //   apart, over mappings of their own;
        // - other processes are of our user (module's documentation, Neighbours), and use this interface.
        let memory = unsafe { Memory::from_raw(region.cast(), region.len()) };
        // SAFETY:
        // - the owner zeroed it, and placed this kind there, with this shape and type of values (`compare`);
        // - of this part there is one end at a time: the door gives it to one connection, which this seat holds, and
        //   the end borrows the seat. An end that was forgotten is never used again, as if dead.
        let end = unsafe { self.part.kind.end(self.part.which, memory) }?;
        Ok((end, &self.attached))
    }

    /// What there is to know about the owner: whether it lives, its epoch, its process.
    pub fn attached(&self) -> &Attached {
        &self.attached
    }
}

fn entry_of<'e>(entries: &'e [Entry], object: &str) -> Result<&'e Entry, Error> {
    entries.iter().find(|entry| entry.channel == object).ok_or_else(|| Error::NoObject {
        object: object.to_owned(),
        known: entries.iter().map(|entry| entry.channel.clone()).collect(),
    })
}
