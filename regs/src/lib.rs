//! Register maps as data: what a register is called, where it lies, what it holds after reset, and what its
//! bits mean.
//!
//! Drivers and device models may share a map, never behaviour. A map is a text file under `data/` that is
//! read on demand, so that this crate needs neither an allocator nor a generator:
//!
//! ```text
//! # a comment
//! map NAME TITLE                       what the chip is called
//! source DOCUMENT                      what the map was made from
//! block NAME BASE ATTRIBUTES TITLE     a peripheral and its first address, - where that is not known
//! OFFSET NAME RESET ATTRIBUTES TITLE   a register
//! OFFSET+STRIDE*COUNT ...              an array; {} in the name is the index
//!  BITS NAME ATTRIBUTES TITLE          a field, behind one space: its bit, or its highest:lowest
//!   NUMBER NAME TITLE                  what a value of the field is called, behind two spaces
//! ```
//!
//! Numbers are hexadecimal, bits decimal. Attributes, each where it is needed: `rw`, `ro`, `wo`, `w1c`, `rc`,
//! `sc`, `re` ([`Access`]), `/16` the width in bits, `@8.17` the section of the source, `like=NAME` the register
//! that has the same fields. A register has them from its block, a field from its register. A title that begins
//! like one of them stands behind `- `.
//!
//! A driver has its registers from [`constants!`]; a person who has values, from [`Register::decode`].
#![no_std]
#![forbid(unsafe_code)]

mod attributes;
mod map;
mod place;
mod register;
mod text;

pub use attributes::Access;
pub use map::{Block, Fault, Found, Map};
pub use place::{Bits, Place};
pub use register::{Decoded, Field, Register, Value};

/// The ESP32-C6: all peripherals, without their fields.
pub const ESP32C6: Map<'static> = Map(include_str!("../data/esp32c6.regs"));
/// The i.MX 6Dual/6Quad: its Ethernet MAC.
pub const IMX6: Map<'static> = Map(include_str!("../data/imx6.regs"));
/// The LAN91C111.
pub const LAN91C111: Map<'static> = Map(include_str!("../data/lan91c111.regs"));
/// The LAN9118.
pub const LAN9118: Map<'static> = Map(include_str!("../data/lan9118.regs"));
/// The registers of PHYs behind MDIO.
pub const MII: Map<'static> = Map(include_str!("../data/mii.regs"));
/// Virtio devices in the memory, and their network device.
pub const VIRTIO: Map<'static> = Map(include_str!("../data/virtio.regs"));

/// All of them.
pub const MAPS: [Map<'static>; 6] = [ESP32C6, IMX6, LAN9118, LAN91C111, MII, VIRTIO];
