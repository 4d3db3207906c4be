//! The numbers of an object, by the names of its members.

use super::scan::Event;

/// Name of a member, and the power of ten with which its number is multiplied.
pub(crate) type Member = (&'static str, u8);

/// Number of members whose values are kept; of those behind them, it is only known if they are 0.
const VALUES: usize = 7;

/// Objects to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Objects {
    /// The document itself; false and true are the numbers 0 and 1.
    Document,
    /// Those in the document's array with this name.
    InArray(&'static str),
}

/// Reads objects of a document.
#[derive(Debug)]
pub(crate) struct Reader {
    /// Of the last complete object, or the current one. Members that are missing are 0.
    pub(crate) values: [u64; VALUES],
    /// Bits of the members that are present, and of those whose value is no number, negative or too large.
    pub(crate) present: u16,
    pub(crate) invalid: u16,
    /// Bits of the members that are not 0.
    pub(crate) set: u16,
    /// Number of the member whose value follows, from 1; or 0.
    member: u8,
    /// The array's name was read; the array has begun; an object has begun.
    is_array_next: bool,
    in_array: bool,
    in_object: bool,
    /// An object was read completely.
    pub(crate) has_ended: bool,
}

impl Reader {
    pub(crate) const fn new() -> Self {
        Self {
            values: [0; VALUES],
            present: 0,
            invalid: 0,
            set: 0,
            member: 0,
            is_array_next: false,
            in_array: false,
            in_object: false,
            has_ended: false,
        }
    }

    /// Handles an event of the scanner; true at the end of an object.
    pub(crate) fn on_event(
        &mut self,
        objects: Objects,
        members: &[Member],
        depth: u8,
        event: &Event<'_>,
    ) -> bool {
        let (of_object, is_in_document) = match objects {
            Objects::Document => (1, true),
            Objects::InArray(name) => {
                match (depth, event) {
                    (1, Event::Key(key)) => self.is_array_next = *key == name.as_bytes(),
                    (2, Event::Begin { object }) => self.in_array = self.is_array_next && !object,
                    (2, Event::End { .. }) => self.in_array = false,
                    _ => {}
                }
                (3, false)
            }
        };
        if depth != of_object {
            // A value that is no number, if it begins here.
            self.set(None);
            return false;
        }
        match event {
            Event::Begin { object } => {
                let in_object = *object && (is_in_document || self.in_array);
                *self = Self {
                    in_object,
                    in_array: self.in_array,
                    ..Self::new()
                };
            }
            Event::End { .. } => {
                self.has_ended = core::mem::take(&mut self.in_object);
                return self.has_ended;
            }
            Event::Key(key) => {
                let place = members.iter().position(|(name, _)| name.as_bytes() == *key);
                self.member = place.map_or(0, |place| place as u8 + 1);
            }
            Event::Number(number) => {
                let member = members.get(usize::from(self.member).wrapping_sub(1));
                self.set(member.and_then(|(_, power)| number.scaled(*power)));
            }
            Event::Bool(value) if is_in_document => self.set(Some(u64::from(*value))),
            _ => self.set(None),
        }
        false
    }

    /// Sets the member whose value was read, if it is a valid number.
    fn set(&mut self, value: Option<u64>) {
        let Some(member) = core::mem::take(&mut self.member).checked_sub(1) else {
            return;
        };
        let bit = 1 << member;
        match value {
            Some(value) => {
                if let Some(place) = self.values.get_mut(usize::from(member)) {
                    *place = value;
                }
                self.present |= bit;
                self.set &= !bit;
                if value != 0 {
                    self.set |= bit;
                }
            }
            None => self.invalid |= bit,
        }
    }
}
