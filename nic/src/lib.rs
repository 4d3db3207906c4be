//! The Ethernet layer of a device.
#![no_std]
