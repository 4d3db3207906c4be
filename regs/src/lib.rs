//! Register maps as data: name, address, reset value and fields of each register.
//!
//! Drivers and device models may share a map, never behaviour. A map is a text file under `data/`
//! that is parsed on demand, so this crate needs neither an allocator nor a generator:
//!
//! ```text
//! # a comment
//! map NAME TITLE                       name of the chip
//! source DOCUMENT                      source document of the map
//! block NAME BASE ATTRIBUTES TITLE     a peripheral and its base address, - if that is not known
//! OFFSET NAME RESET ATTRIBUTES TITLE   a register
//! OFFSET+STRIDE*COUNT ...              an array; {} in the name is the index
//!  BITS NAME ATTRIBUTES TITLE          a field, after one space: its bit, or highest:lowest
//!   NUMBER NAME TITLE                  name of a value of the field, after two spaces
//! ```
//!
//! Numbers are hexadecimal, bits decimal. Attributes, each optional: `rw`, `ro`, `wo`, `w1c`, `rc`,
//! `sc`, `re` ([`Access`]), `/16` the width in bits, `@8.17` the section of the source, `like=NAME`
//! the register that has the same fields. A register inherits them from its block, a field from its
//! register. A title that begins like an attribute is preceded by `- `.
//!
//! Drivers use [`constants!`]; [`Register::decode`] explains values to a person.
#![no_std]
#![forbid(unsafe_code)]

mod attributes;
mod map;
mod reference;
mod register;
mod text;

pub use attributes::Access;
pub use map::{Block, Found, Index, Map, ParseError};
pub use reference::{Bits, RegisterRef};
pub use register::{Decoded, Field, Register, Value};

/// The `DesignWare` MAC, universal 3.x.
pub const DWMAC: Map<'static> = Map(include_str!("../data/dwmac.regs"));
/// The ESP32-C6: all peripherals, without their fields.
pub const ESP32C6: Map<'static> = Map(include_str!("../data/esp32c6.regs"));
/// The i.MX 6Dual/6Quad: its Ethernet MAC.
pub const IMX6: Map<'static> = Map(include_str!("../data/imx6.regs"));
/// The LAN91C111.
pub const LAN91C111: Map<'static> = Map(include_str!("../data/lan91c111.regs"));
/// The LAN9118.
pub const LAN9118: Map<'static> = Map(include_str!("../data/lan9118.regs"));
/// The MDIO registers of PHYs.
pub const MII: Map<'static> = Map(include_str!("../data/mii.regs"));
/// The Triple-Speed Ethernet MAC of FPGAs, and its scatter-gather DMA.
pub const TSE: Map<'static> = Map(include_str!("../data/tse.regs"));
/// Memory-mapped virtio devices, and the network device.
pub const VIRTIO: Map<'static> = Map(include_str!("../data/virtio.regs"));

/// All maps.
pub const MAPS: [Map<'static>; 8] = [DWMAC, ESP32C6, IMX6, LAN9118, LAN91C111, MII, TSE, VIRTIO];
