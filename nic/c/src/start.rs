//! C functions that start drivers.

use core::ffi::c_void;
use core::mem::size_of;

use linerate_ether::frame::MacAddress;
use linerate_nic::dma::Buffer;
use linerate_nic::enet::{self, Config, Enet, Enhanced, Interface, Mac, ReceiveFifo, Rings};
use linerate_nic::lan91c111::{self, Lan91c111};
use linerate_nic::lan9118::{self, IrqPin, Lan9118};
use linerate_nic::ledger::Ledger;
use linerate_nic::mdio::{Abilities, Phy};
use linerate_nic::mmio::Mmio;
use linerate_nic::virtio::{self, Queues, VirtioNet};

use crate::board::{CacheOperation, Caches};
use crate::place::{Nic, fits, make};
use crate::port::{BUFFER, Copies, Driven, FRAMES, Lent, Port};

// The header's LINERATE_NIC_..._STATE and ..._DMA.
const _: () = assert!(fits::<Driven<VirtioNet<Mmio, Caches, FRAMES>, Lent>>(8192));
const _: () = assert!(fits::<Driven<Enet<Mmio, Caches, Enhanced, FRAMES>, Lent>>(
    8192
));
const _: () = assert!(fits::<Driven<Lan9118<Mmio>, Copies>>(1024));
const _: () = assert!(fits::<Driven<Lan91c111<Mmio>, Copies>>(1024));
const _: () = assert!(size_of::<Region<Queues<FRAMES>>>() <= 106_496);
const _: () = assert!(size_of::<Region<Rings<Enhanced, FRAMES>>>() <= 106_496);
const _: () = assert!(size_of::<lan9118::FrameBuffers>() <= 4096);
const _: () = assert!(size_of::<lan91c111::FrameBuffers>() <= 4096);

const _: () = assert!(BUFFER.is_multiple_of(64) && BUFFER >= enet::BUFFER_LEN);
const _: () = assert!(BUFFER >= virtio::net::BUFFER_LEN + VIRTIO_SHIFT);
/// Octets before a buffer of virtio: behind its 12-octet header and the Ethernet header, the packet begins at a word.
const VIRTIO_SHIFT: usize = 2;

/// Results in C.
const STARTED: u8 = 0;
const TOO_SMALL: u8 = 1;
const FAILED: u8 = 2;

/// `linerate_nic_setup` in C.
#[repr(C)]
pub struct Setup {
    state: *mut c_void,
    state_octets: usize,
    memory: *mut c_void,
    memory_octets: usize,
    mac: [u8; 6],
    clean: Option<CacheOperation>,
    invalidate: Option<CacheOperation>,
}

/// `linerate_nic_enet` in C.
#[repr(C)]
pub struct EnetSetup {
    bus_hz: u32,
    phy: u8,
    is_rgmii: bool,
    verifies_checksums: bool,
    promiscuous: bool,
}

/// Memory of a driver with DMA.
#[repr(C, align(64))]
struct Region<Q> {
    queues: Q,
    buffers: Buffers,
}

/// Buffers for received frames, and for frames to send.
#[repr(C, align(64))]
struct Buffers([[[u8; BUFFER]; FRAMES]; 2]);

/// The parts of a region, and the address and distance of its receive buffers.
struct Parts<Q: 'static> {
    queues: &'static mut Q,
    buffers: [[Buffer; FRAMES]; 2],
    lent: Lent,
}

impl Setup {
    const fn caches(&self) -> Caches {
        Caches {
            clean: self.clean,
            invalidate: self.invalidate,
        }
    }

    /// Writes `queues` to the memory, and clears its buffers, which begin `shift` octets later. `None`: it is too small or
    /// not aligned.
    ///
    /// # Safety
    /// The memory is as the header demands.
    unsafe fn region<Q>(&self, queues: Q, shift: usize) -> Option<Parts<Q>> {
        let region = self.memory.cast::<Region<Q>>();
        let fits = self.memory_octets >= size_of::<Region<Q>>();
        if region.is_null() || !region.is_aligned() || !fits {
            return None;
        }
        // SAFETY: size and alignment are checked; the caller passed the memory for good.
        let (queues, buffers) = unsafe {
            (&raw mut (*region).queues).write(queues);
            (&raw mut (*region).buffers).write_bytes(0, 1);
            (&mut (*region).queues, &mut (*region).buffers)
        };
        let first = buffers.0.as_ptr().addr();
        let buffers = buffers
            .0
            .each_mut()
            .map(|way| way.each_mut().map(|it| Buffer::new(&mut it[shift..])));
        Some(Parts {
            queues,
            buffers,
            lent: Lent::new(first),
        })
    }

    /// The memory of a driver without DMA.
    ///
    /// # Safety
    /// The memory is as the header demands.
    unsafe fn frames<T>(&self, empty: T) -> Option<&'static mut T> {
        let frames = self.memory.cast::<T>();
        if frames.is_null() || !frames.is_aligned() || self.memory_octets < size_of::<T>() {
            return None;
        }
        // SAFETY: size and alignment are checked; the caller passed the memory for good.
        unsafe {
            frames.write(empty);
            Some(&mut *frames)
        }
    }

    /// Starts a driver in the state's memory.
    ///
    /// # Safety
    /// The state is as the header demands; `nic` is null or can be written.
    unsafe fn start<P: Port + 'static>(
        &self,
        nic: *mut *mut Nic,
        start: impl FnOnce(&'static Ledger) -> Result<P, u8>,
    ) -> u8 {
        if nic.is_null() {
            return FAILED;
        }
        // SAFETY: the caller's guarantee is the same.
        let made = unsafe { make(self.state, self.state_octets, start) };
        let made = made.unwrap_or(Err(TOO_SMALL));
        // SAFETY: not null; the caller guarantees that it can be written.
        unsafe { nic.write(made.unwrap_or(core::ptr::null_mut())) };
        made.err().unwrap_or(STARTED)
    }
}

/// # Safety
/// `nic` is null or can be written; `setup` is null or as the header demands; `base` is a virtio device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_virtio(
    nic: *mut *mut Nic,
    setup: *const Setup,
    base: usize,
) -> u8 {
    // SAFETY: the caller guarantees null or a setup.
    let Some(setup) = (unsafe { setup.as_ref() }) else {
        return FAILED;
    };
    let start = |ledger| {
        // SAFETY: the caller guarantees the memory.
        let parts = unsafe { setup.region(Queues::<FRAMES>::new(), VIRTIO_SHIFT) };
        let Parts {
            queues,
            buffers,
            lent,
        } = parts.ok_or(TOO_SMALL)?;
        // SAFETY: the caller guarantees the device.
        let registers = unsafe { Mmio::new(base) };
        let (caches, mac) = (setup.caches(), MacAddress(setup.mac));
        let device = VirtioNet::start(registers, caches, queues, buffers, mac, ledger);
        Ok(Driven {
            device: device.map_err(|_| FAILED)?,
            lender: lent,
        })
    };
    // SAFETY: the caller's guarantee is the same.
    unsafe { setup.start(nic, start) }
}

/// # Safety
/// `nic` is null or can be written; `setup` is null or as the header demands; `base` is an ENET; `enet` is null or its
/// settings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_enet_start(
    nic: *mut *mut Nic,
    setup: *const Setup,
    base: usize,
    enet: *const EnetSetup,
) -> u8 {
    // SAFETY: the caller guarantees null or the settings.
    let (Some(setup), Some(enet)) = (unsafe { (setup.as_ref(), enet.as_ref()) }) else {
        return FAILED;
    };
    let config = Config {
        interface: if enet.is_rgmii {
            Interface::Rgmii
        } else {
            Interface::Rmii
        },
        bus_hz: enet.bus_hz,
        fifo: ReceiveFifo::GIGABIT,
        promiscuous: enet.promiscuous,
        verifies_checksums: enet.verifies_checksums,
    };
    let start = |ledger| {
        // SAFETY: the caller guarantees the memory.
        let parts = unsafe { setup.region(Rings::<Enhanced, FRAMES>::new(), 0) };
        let Parts {
            queues,
            buffers,
            lent,
        } = parts.ok_or(TOO_SMALL)?;
        // SAFETY: the caller guarantees the device.
        let registers = unsafe { Mmio::new(base) };
        let mac = Mac::reset(registers, config).map_err(|_| FAILED)?;
        let phy = Phy::at(&mac, enet.phy).map_err(|_| FAILED)?;
        let abilities = Abilities::ALL_SPEEDS.with_flow_control();
        phy.negotiate(&mac, abilities).map_err(|_| FAILED)?;
        let own = mac.previous_address().unwrap_or(MacAddress(setup.mac));
        let device = Enet::start(mac, setup.caches(), queues, buffers, own, None, ledger);
        Ok(Driven {
            device: device.with_phy(phy),
            lender: lent,
        })
    };
    // SAFETY: the caller's guarantee is the same.
    unsafe { setup.start(nic, start) }
}

/// # Safety
/// `nic` is null or can be written; `setup` is null or as the header demands; `base` is a LAN9118.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_lan9118(
    nic: *mut *mut Nic,
    setup: *const Setup,
    base: usize,
    irq_active_high: bool,
) -> u8 {
    // SAFETY: the caller guarantees null or a setup.
    let Some(setup) = (unsafe { setup.as_ref() }) else {
        return FAILED;
    };
    let pin = if irq_active_high {
        IrqPin::ActiveHigh
    } else {
        IrqPin::OpenDrain
    };
    let start = |ledger| {
        // SAFETY: the caller guarantees the memory.
        let frames = unsafe { setup.frames(lan9118::FrameBuffers::new()) }.ok_or(TOO_SMALL)?;
        // SAFETY: the caller guarantees the device.
        let registers = unsafe { Mmio::new(base) };
        let device = Lan9118::start(registers, pin, frames, MacAddress(setup.mac), ledger);
        Ok(Driven {
            device: device.map_err(|_| FAILED)?,
            lender: Copies,
        })
    };
    // SAFETY: the caller's guarantee is the same.
    unsafe { setup.start(nic, start) }
}

/// # Safety
/// `nic` is null or can be written; `setup` is null or as the header demands; `base` is a LAN91C111.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linerate_nic_lan91c111(
    nic: *mut *mut Nic,
    setup: *const Setup,
    base: usize,
) -> u8 {
    // SAFETY: the caller guarantees null or a setup.
    let Some(setup) = (unsafe { setup.as_ref() }) else {
        return FAILED;
    };
    let start = |ledger| {
        // SAFETY: the caller guarantees the memory.
        let frames = unsafe { setup.frames(lan91c111::FrameBuffers::new()) }.ok_or(TOO_SMALL)?;
        // SAFETY: the caller guarantees the device.
        let registers = unsafe { Mmio::new(base) };
        let device = Lan91c111::start(registers, frames, MacAddress(setup.mac), ledger);
        Ok(Driven {
            device: device.map_err(|_| FAILED)?,
            lender: Copies,
        })
    };
    // SAFETY: the caller's guarantee is the same.
    unsafe { setup.start(nic, start) }
}
