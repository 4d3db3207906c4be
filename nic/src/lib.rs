//! The Ethernet layer of a device, `no_std` and without allocation.
//!
//! - [`device`]: the interface between a network device and any stack.
//! - [`link`]: pulses, auto-negotiation, the link integrity test, polarity, jabber.
//! - [`mac`]: the MAC between a bit-level PHY and a stack, with receive stages from naive to fast.
//! - [`digest`]: the CRC-32 of the data of a TCP segment, derived from the FCS of the frame.
//! - [`filter`]: which destination addresses are accepted.
//! - [`queue`]: the receive queue from interrupt to main thread.
//! - [`ledger`]: counters for the fate of each frame.
//! - [`mmio`], [`dma`]: registers, and memory that a device accesses by DMA.
//! - [`mdio`]: external PHYs and the result of their auto-negotiation.
//! - [`pio`]: code shared by drivers whose processor copies frames (programmed I/O).
//! - [`virtio`], [`lan9118`], [`lan91c111`], [`enet`], [`dwmac`], [`tse`], [`w5500`]: drivers.
//! - [`window`]: the TCP receive window that a queue can buffer.
//! - [`adapter`]: smoltcp and embassy-net, each behind the feature of that name.
//!
//! `unsafe` is used only in [`queue`], [`mmio`] and [`dma`].
#![cfg_attr(not(loom), no_std)]
#![deny(unsafe_code)]
#![allow(
    clippy::inline_always,
    reason = "code that firmware runs from RAM must not call into flash"
)]

mod accounts;
pub mod adapter;
pub mod bitbang;
pub mod device;
pub mod digest;
#[allow(unsafe_code, reason = "lends memory to devices and reclaims it")]
pub mod dma;
pub mod dwmac;
pub mod enet;
pub mod filter;
pub mod lan9118;
pub mod lan91c111;
pub mod ledger;
pub mod link;
pub mod mac;
pub mod mdio;
#[allow(unsafe_code, reason = "registers are addresses")]
pub mod mmio;
pub mod pio;
#[allow(
    unsafe_code,
    reason = "gives two contexts disjoint ranges of one memory"
)]
pub mod queue;
mod sync;
pub mod tse;
pub mod virtio;
pub mod w5500;
pub mod window;
