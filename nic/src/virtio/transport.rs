//! Starting a virtio-mmio device (virtio 1.2 sections 3.1.1 and 4.2.3.1).

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

/// Offset of the configuration space.
pub(super) const CONFIG: usize = 0x100;

/// Value of Version on a device of virtio 1.0 or later.
const MODERN: u32 = 2;

/// Feature bit that every modern device offers and every driver accepts (section 6,
/// `VIRTIO_F_VERSION_1`).
pub const VERSION_1: u64 = 1 << 32;

/// Reason why a device could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitError {
    /// There is no virtio-mmio device: the value of `MagicValue`.
    NoDevice(u32),
    /// The device is of another type, or the slot is empty (0): the value of `DeviceID`.
    WrongDevice(u32),
    /// The device implements another version of the interface (1: legacy; QEMU provides the modern
    /// one with `-global virtio-mmio.force-legacy=false`).
    UnsupportedVersion(u32),
    /// The device lacks these required feature bits.
    MissingFeatures(u64),
    /// The device does not accept these feature bits.
    FeaturesRejected(u64),
    /// The device has no queue with this number, or it is in use.
    QueueUnavailable(u32),
    /// The queue is smaller than required by the driver.
    QueueTooSmall {
        /// Number of the queue.
        queue: u32,
        /// Maximum number of descriptors.
        max: u32,
    },
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDevice(magic) => write!(f, "no virtio device here (MagicValue {magic:#010x})"),
            Self::WrongDevice(0) => write!(f, "this virtio slot is empty"),
            Self::WrongDevice(id) => {
                write!(f, "a virtio device of type {id}, not a network device")
            }
            Self::UnsupportedVersion(version) => {
                write!(f, "version {version} of virtio-mmio, not 2")
            }
            Self::MissingFeatures(features) => {
                write!(f, "the device lacks the features {features:#x}")
            }
            Self::FeaturesRejected(features) => {
                write!(f, "the device rejects the features {features:#x}")
            }
            Self::QueueUnavailable(queue) => write!(f, "the device has no free queue {queue}"),
            Self::QueueTooSmall { queue, max } => {
                write!(f, "queue {queue} takes at most {max} descriptors")
            }
        }
    }
}

impl core::error::Error for InitError {}

/// Steps 1 to 6: resets the device of type `kind` and negotiates features: those of `wanted` that
/// it offers, and all of `needed`.
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
        return Err(InitError::UnsupportedVersion(version));
    }
    let id = registers.read(mmio::DeviceID);
    if id != kind {
        return Err(InitError::WrongDevice(id));
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
        return Err(InitError::MissingFeatures(needed & !offered));
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
        return Err(InitError::FeaturesRejected(agreed));
    }
    Ok(agreed)
}

/// Step 7, for the queue with this number.
pub(super) fn set_up_queue<C: Coherence, const N: usize>(
    registers: &impl Registers,
    number: u32,
    queue: &Virtqueue<C, N>,
) -> Result<(), InitError> {
    registers.write(mmio::QueueSel, number);
    let max = registers.read(mmio::QueueNumMax);
    if max == 0 || registers.read(mmio::QueueReady) != 0 {
        return Err(InitError::QueueUnavailable(number));
    }
    if (max as usize) < N {
        return Err(InitError::QueueTooSmall { queue: number, max });
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

/// Step 8: the device may start.
pub(super) fn set_driver_ok(registers: &impl Registers) {
    let all = mmio::Status::ACKNOWLEDGE.mask()
        | mmio::Status::DRIVER.mask()
        | mmio::Status::FEATURES_OK.mask()
        | mmio::Status::DRIVER_OK.mask();
    registers.write(mmio::Status, all);
}

/// Stops the device: it accesses no memory after this returns (section 2.1.2).
pub(super) fn reset(registers: &impl Registers) {
    registers.write(mmio::Status, 0);
    while registers.read(mmio::Status) != 0 {
        core::hint::spin_loop();
    }
}
