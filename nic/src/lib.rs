//! The Ethernet layer of a device, `no_std` and without allocation.
//!
//! - [`device`]: the seam between a network device and any stack.
//! - [`link`]: pulses, auto-negotiation, the link integrity test, polarity, jabber.
//! - [`mac`]: the MAC between a bit-level PHY and a stack, in the stages from naive to fast.
//! - [`digest`]: the CRC-32 of a TCP segment's data, from the frame's FCS.
//! - [`filter`]: which destination addresses are accepted.
//! - [`queue`]: the receive queue from interrupt to main thread.
//! - [`ledger`]: where each frame went.
//! - [`mmio`], [`dma`]: registers, and memory that a device uses by itself.
//! - [`mdio`]: PHYs beside a MAC, and what they negotiate.
//! - [`pio`]: what drivers share that copy frames themselves.
//! - [`virtio`], [`lan9118`], [`lan91c111`], [`enet`]: drivers.
//! - [`window`]: the TCP window that a queue can keep.
//! - [`adapter`]: smoltcp and embassy-net, behind features of those names.
//!
//! `unsafe` appears in [`queue`], [`mmio`] and [`dma`] only.
#![cfg_attr(not(loom), no_std)]
#![deny(unsafe_code)]
#![allow(
    clippy::inline_always,
    reason = "what a firmware runs from RAM must not call out into flash"
)]

pub mod adapter;
pub mod bitbang;
pub mod device;
pub mod digest;
#[allow(unsafe_code, reason = "lends memory to devices and takes it back")]
pub mod dma;
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
    reason = "hands disjoint ranges of one memory to two contexts"
)]
pub mod queue;
mod sync;
pub mod virtio;
pub mod window;
