//! Starting a device behind virtio-mmio (virtio 1.2 sections 3.1.1 and 4.2.3.1).

use crate::dma::{Coherence, Virtqueue};
use crate::mmio::Registers;
use core::fmt;

/// The registers.
pub(super) mod mmio {
    linerate_regs::constants!(linerate_regs::VIRTIO, "MMIO":
        MagicValue Version DeviceID { ID { NETWORK } }
        DeviceFeatures DeviceFeaturesSel DriverFeatures DriverFeaturesSel
        QueueSel QueueNumMax QueueNum QueueReady QueueNotify
        InterruptStatus InterruptACK
        Status { ACKNOWLEDGE DRIVER FEATURES_OK DRIVER_OK }
        QueueDescLow QueueDescHigh QueueDriverLow QueueDriverHigh QueueDeviceLow QueueDeviceHigh
    );
}

/// Where the configuration space begins.
pub(super) const CONFIG: usize = 0x100;

/// What Version reads on a device that is not of the time before virtio 1.0.
const MODERN: u32 = 2;

/// Feature bit that every device of today has and every driver accepts (section 6, `VIRTIO_F_VERSION_1`).
pub const VERSION_1: u64 = 1 << 32;

/// Why a device could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitError {
    /// There is no virtio-mmio device: `MagicValue` reads this.
    NoDevice(u32),
    /// The device is of another kind, or none is plugged in (0): `DeviceID` reads this.
    OtherKind(u32),
    /// The device speaks another version of the interface (1: legacy; QEMU has the modern one with
    /// `-global virtio-mmio.force-legacy=false`).
    OtherVersion(u32),
    /// The device has not what the driver cannot do without: these feature bits.
    Missing(u64),
    /// The device does not agree to these feature bits.
    Refused(u64),
    /// The device has no queue of this number, or one that is in use.
    NoQueue(u32),
    /// The queue of this number takes fewer descriptors than the driver has.
    ShortQueue {
        /// Which.
        queue: u32,
        /// What it takes.
        most: u32,
    },
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice(magic) => write!(f, "no virtio device here (MagicValue {magic:#010x})"),
            Self::OtherKind(0) => write!(f, "nothing is plugged into this virtio slot"),
            Self::OtherKind(id) => write!(f, "a virtio device of kind {id}, not a network device"),
            Self::OtherVersion(version) => {
                write!(f, "version {version} of virtio-mmio, not 2")
            }
            Self::Missing(features) => write!(f, "the device lacks the features {features:#x}"),
            Self::Refused(features) => write!(f, "the device refuses the features {features:#x}"),
            Self::NoQueue(queue) => write!(f, "the device has no free queue {queue}"),
            Self::ShortQueue { queue, most } => {
                write!(f, "queue {queue} takes at most {most} descriptors")
            }
        }
    }
}

impl core::error::Error for InitError {}

/// Steps 1 to 6: resets the device of this kind and agrees on features: those of `wanted` that it has, all
/// of `needed`.
pub(super) fn negotiate(
    registers: &impl Registers,
    kind: u32,
    needed: u64,
    wanted: u64,
) -> Result<u64, InitError> {
    let magic = registers.read(mmio::MagicValue);
    if magic != mmio::MagicValue.reset {
        return Err(InitError::NoDevice(magic));
    }
    let version = registers.read(mmio::Version);
    if version != MODERN {
        return Err(InitError::OtherVersion(version));
    }
    let id = registers.read(mmio::DeviceID);
    if id != kind {
        return Err(InitError::OtherKind(id));
    }
    reset(registers);
    registers.write(mmio::Status, mmio::Status::ACKNOWLEDGE.mask());
    registers.write(
        mmio::Status,
        mmio::Status::ACKNOWLEDGE.mask() | mmio::Status::DRIVER.mask(),
    );
    let offered = [0, 1].map(|half| {
        registers.write(mmio::DeviceFeaturesSel, half);
        u64::from(registers.read(mmio::DeviceFeatures)) << (32 * half)
    });
    let offered = offered[0] | offered[1];
    let needed = needed | VERSION_1;
    if offered & needed != needed {
        return Err(InitError::Missing(needed & !offered));
    }
    let agreed = offered & (wanted | needed);
    for half in [0, 1] {
        registers.write(mmio::DriverFeaturesSel, half);
        registers.write(mmio::DriverFeatures, (agreed >> (32 * half)) as u32);
    }
    let agreeing = mmio::Status::ACKNOWLEDGE.mask()
        | mmio::Status::DRIVER.mask()
        | mmio::Status::FEATURES_OK.mask();
    registers.write(mmio::Status, agreeing);
    if registers.read(mmio::Status) & mmio::Status::FEATURES_OK.mask() == 0 {
        return Err(InitError::Refused(agreed));
    }
    Ok(agreed)
}

/// Step 7, for the queue of this number.
pub(super) fn set_up<C: Coherence, const N: usize>(
    registers: &impl Registers,
    number: u32,
    queue: &Virtqueue<C, N>,
) -> Result<(), InitError> {
    registers.write(mmio::QueueSel, number);
    let most = registers.read(mmio::QueueNumMax);
    if most == 0 || registers.read(mmio::QueueReady) != 0 {
        return Err(InitError::NoQueue(number));
    }
    if (most as usize) < N {
        return Err(InitError::ShortQueue {
            queue: number,
            most,
        });
    }
    registers.write(mmio::QueueNum, N as u32);
    let places = [
        (mmio::QueueDescLow, mmio::QueueDescHigh),
        (mmio::QueueDriverLow, mmio::QueueDriverHigh),
        (mmio::QueueDeviceLow, mmio::QueueDeviceHigh),
    ];
    for ((low, high), address) in places.into_iter().zip(queue.addresses()) {
        registers.write(low, address as u32);
        registers.write(high, (address as u64 >> 32) as u32);
    }
    registers.write(mmio::QueueReady, 1);
    Ok(())
}

/// Step 8: the device may go on.
pub(super) fn go(registers: &impl Registers) {
    let all = mmio::Status::ACKNOWLEDGE.mask()
        | mmio::Status::DRIVER.mask()
        | mmio::Status::FEATURES_OK.mask()
        | mmio::Status::DRIVER_OK.mask();
    registers.write(mmio::Status, all);
}

/// Stops the device: it has let go of all memory when this returns (section 2.1.2).
pub(super) fn reset(registers: &impl Registers) {
    registers.write(mmio::Status, 0);
    while registers.read(mmio::Status) != 0 {
        core::hint::spin_loop();
    }
}
