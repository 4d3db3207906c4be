//! A chip behind a bus with byte enables, and the accesses that a driver makes to it.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use linerate_nic::mmio::Registers;

/// A chip on a line.
pub trait Chip {
    /// Reads `octets` at `offset`, in one access.
    fn read(&mut self, offset: u32, octets: u32) -> u32;
    /// Writes `octets` at `offset`, in one access.
    fn write(&mut self, offset: u32, octets: u32, value: u32);
    /// A frame without FCS arrives; returns when it is in the memory of the chip.
    fn deliver(&mut self, frame: &[u8]);
    /// Waits for the next frame that the chip sends, and returns it without FCS.
    fn take_sent(&mut self) -> Vec<u8>;
}

/// An access to the chip.
#[derive(Clone, PartialEq, Eq)]
pub struct Access {
    pub is_read: bool,
    /// Selected before the access.
    pub bank: u32,
    pub offset: u32,
    pub octets: u32,
    /// 0 for a read that is not compared.
    pub value: u32,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bank, bits, value) = (self.bank, 8 * self.octets, self.value);
        let verb = if self.is_read { "read" } else { "write" };
        write!(
            f,
            "{verb} of {bits} bits at {} of bank {bank}: {value:#x}",
            self.offset
        )
    }
}

/// `BANK`, in every bank.
const BANK: u32 = 14;
/// `MGMT`: bank and offset.
const MGMT: (u32, u32) = (3, 8);
/// `MGMT.MDI`.
const MDI: u32 = 1 << 1;

struct Record<C> {
    chip: C,
    bank: u32,
    accesses: Vec<Access>,
}

/// A chip whose accesses are recorded.
pub struct Traced<C>(Rc<RefCell<Record<C>>>);

impl<C> Clone for Traced<C> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<C: Chip> Traced<C> {
    pub fn new(chip: C) -> Self {
        Self(Rc::new(RefCell::new(Record {
            chip,
            bank: 0,
            accesses: Vec::new(),
        })))
    }

    pub fn deliver(&self, frame: &[u8]) {
        self.0.borrow_mut().chip.deliver(frame);
    }

    pub fn take_sent(&self) -> Vec<u8> {
        self.0.borrow_mut().chip.take_sent()
    }

    pub fn accesses(&self) -> Vec<Access> {
        self.0.borrow().accesses.clone()
    }

    fn read_octets(&self, offset: usize, octets: u32) -> u32 {
        let record = &mut *self.0.borrow_mut();
        let offset = offset as u32;
        let value = record.chip.read(offset, octets);
        let bank = record.bank;
        let seen = if (bank, offset) == MGMT {
            value & MDI
        } else {
            value
        };
        record.accesses.push(Access {
            is_read: true,
            bank,
            offset,
            octets,
            value: seen,
        });
        value
    }

    fn write_octets(&self, offset: usize, octets: u32, value: u32) {
        let record = &mut *self.0.borrow_mut();
        let (offset, bank) = (offset as u32, record.bank);
        record.chip.write(offset, octets, value);
        if offset == BANK {
            record.bank = value & 7;
        }
        record.accesses.push(Access {
            is_read: false,
            bank,
            offset,
            octets,
            value,
        });
    }
}

macro_rules! width {
    ($($word:ty),*) => {$(
        impl<C: Chip> Registers<$word> for Traced<C> {
            fn read_at(&self, offset: usize) -> $word {
                self.read_octets(offset, size_of::<$word>() as u32) as $word
            }

            fn write_at(&self, offset: usize, value: $word) {
                self.write_octets(offset, size_of::<$word>() as u32, value.into());
            }
        }
    )*};
}

width!(u8, u16, u32);
