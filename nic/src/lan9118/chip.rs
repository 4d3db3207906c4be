//! Detecting, starting and stopping the chip.

use crate::mdio::MdioError;
use crate::mmio::Registers;
use core::fmt;
use linerate_ether::frame::EtherType;
use linerate_regs::{Bits, RegisterRef};

/// Directly accessible registers.
pub(super) mod csr {
    linerate_regs::constants!(linerate_regs::LAN9118, "CSR":
        RX_DATA_FIFO TX_DATA_FIFO
        RX_STATUS_FIFO { LENGTH ES RUNT TOO_LONG COLLISION WATCHDOG DRIBBLE CRC_ERROR }
        TX_STATUS_FIFO {
            TAG ES LOST_CARRIER NO_CARRIER LATE_COLLISION EXCESS_COLLISIONS COLLISIONS EXCESS_DEFERRAL
            DEFERRED
        }
        ID_REV { CHIP_ID }
        IRQ_CFG { IRQ_EN IRQ_POL IRQ_TYPE }
        INT_STS { RXSTOP_INT PHY_INT RXDF_INT RSFL }
        INT_EN
        BYTE_TEST
        FIFO_INT { TX_AVAIL TX_STS }
        RX_CFG { RX_DUMP RXDOFF }
        TX_CFG { TXS_DUMP TXD_DUMP TX_ON STOP_TX }
        HW_CFG { MBO TX_FIF_SZ SRST_TO SRST }
        RX_DP_CTRL { RX_FFWD }
        RX_FIFO_INF { RXSUSED }
        TX_FIFO_INF { TXSUSED TDFREE }
        PMT_CTRL { READY }
        RX_DROP
        MAC_CSR_CMD { CSR_BUSY R_NOT_W CSR_ADDR }
        MAC_CSR_DATA
        AFC_CFG { AFC_HI AFC_LO BACK_DUR FCANY }
        E2P_CMD { EPC_BUSY }
    );
}

/// Registers of the MAC, by number.
pub(super) mod mac {
    linerate_regs::constants!(linerate_regs::LAN9118, "MAC":
        MAC_CR { RCVOWN FDPX PRMS HPFILT TXEN RXEN }
        ADDRH ADDRL HASHH HASHL VLAN1
        MII_ACC { PHY_ADDR MIIRINDA MII_WRITE MII_BUSY }
        MII_DATA
        FLOW { FCPT FCEN }
    );
}

/// Values of `ID_REV.CHIP_ID` on the chip of the data sheet and its siblings with the same
/// registers (section 5.3.1): LAN9115 to LAN9118.
const CHIPS: core::ops::RangeInclusive<u32> = 0x115..=0x118;

/// If `BYTE_TEST` reads another value, the bus changes the byte order (section 5.3.5).
const BYTES_IN_ORDER: u32 = csr::BYTE_TEST.reset;

/// Kilobytes of the 16 used for transmission (section 5.3.9, Table 5.3): 4608 octets of data, 512
/// of status; for reception 10560 and 704.
const TX_KILOBYTES: u32 = 5;
/// Octets of received data in the FIFO.
pub(super) const RX_DATA: u32 = 10_560;

/// Octets before each received frame, so that an IP header begins at a word boundary (section
/// 5.3.7).
pub(super) const OFFSET: usize = 2;

/// Maximum polls of a status bit. A poll takes 45 ns or more (section 6.1); the slowest change,
/// loading the address from the EEPROM, takes some milliseconds.
pub(super) const MAX_POLLS: u32 = 1_000_000;

/// Reads of `BYTE_TEST` to wait before a register is read (tables 6.1 and 6.2): FIFO levels, after
/// the FIFO was used; most others, after a write.
pub(super) const AFTER_FIFO: u32 = 3;
pub(super) const AFTER_STATUS: u32 = 2;
pub(super) const AFTER_WRITE: u32 = 1;

/// Configuration of the interrupt pin (section 5.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IrqPin {
    /// Open drain, active low; needs a pull-up resistor.
    OpenDrain,
    /// Push-pull, low while an interrupt is pending.
    ActiveLow,
    /// Push-pull, high while an interrupt is pending.
    ActiveHigh,
}

/// Reason why the chip could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitError {
    /// It does not become ready: no power, no clock, or not present.
    NotReady,
    /// The bus swaps octets or halfwords: the value of `BYTE_TEST`.
    ByteOrder(u32),
    /// It is another chip: the value of `ID_REV`.
    UnsupportedChip(u32),
    /// Its reset does not end; a PHY without power causes that.
    Reset,
    /// Loading the address from the EEPROM timed out.
    Eeprom,
    /// The internal PHY does not respond.
    Phy(MdioError),
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReady => write!(f, "the chip does not become ready"),
            Self::ByteOrder(read) => {
                write!(
                    f,
                    "the bus changes the order of octets (BYTE_TEST {read:#010x})"
                )
            }
            Self::UnsupportedChip(id) => {
                write!(f, "not a chip of the LAN9118 family (ID_REV {id:#010x})")
            }
            Self::Reset => write!(f, "the chip does not come out of its reset"),
            Self::Eeprom => write!(f, "reading the EEPROM does not end"),
            Self::Phy(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for InitError {}

impl From<MdioError> for InitError {
    fn from(error: MdioError) -> Self {
        Self::Phy(error)
    }
}

/// Registers of the chip, direct and indirect.
#[derive(Debug)]
pub(super) struct Chip<R>(pub(super) R);

impl<R: Registers> Chip<R> {
    #[inline(always)]
    pub(super) fn read(&self, register: RegisterRef) -> u32 {
        self.0.read(register)
    }

    #[inline(always)]
    pub(super) fn write(&self, register: RegisterRef, value: u32) {
        self.0.write(register, value);
    }

    /// Waits for earlier accesses to take effect, by reads without side effect (sections 6.1.1 and
    /// 6.1.2).
    #[inline(always)]
    pub(super) fn settle(&self, reads: u32) {
        for _ in 0..reads {
            self.read(csr::BYTE_TEST);
        }
    }

    /// Waits until the bits have the given value; returns `false` on a timeout.
    pub(super) fn wait_for(&self, register: RegisterRef, bits: Bits, set: bool) -> bool {
        (0..MAX_POLLS).any(|_| {
            self.settle(AFTER_STATUS);
            bits.is_set(self.read(register)) == set
        })
    }

    /// Resets the chip and configures everything except address, link and filter. Nothing is
    /// received or sent yet.
    pub(super) fn start(&self, pin: IrqPin) -> Result<(), InitError> {
        // Until READY only this register and BYTE_TEST can be read (section 5.3.13).
        if !self.wait_for(csr::PMT_CTRL, csr::PMT_CTRL::READY, true) {
            return Err(InitError::NotReady);
        }
        let read = self.read(csr::BYTE_TEST);
        if read != BYTES_IN_ORDER {
            return Err(InitError::ByteOrder(read));
        }
        let id = self.read(csr::ID_REV);
        if !CHIPS.contains(&csr::ID_REV::CHIP_ID.get(id)) {
            return Err(InitError::UnsupportedChip(id));
        }
        self.reset()?;
        // MBO: a frame is sent once it is completely in the FIFO (section 5.3.9), so that the
        // processor may be slow.
        self.write(
            csr::HW_CFG,
            csr::HW_CFG::MBO.mask() | csr::HW_CFG::TX_FIF_SZ.of(TX_KILOBYTES),
        );
        self.write(csr::INT_EN, 0);
        self.write(csr::INT_STS, u32::MAX);
        let pin = match pin {
            IrqPin::OpenDrain => 0,
            IrqPin::ActiveLow => csr::IRQ_CFG::IRQ_TYPE.mask(),
            IrqPin::ActiveHigh => csr::IRQ_CFG::IRQ_TYPE.mask() | csr::IRQ_CFG::IRQ_POL.mask(),
        };
        // No minimum time between interrupts: they are masked while there is work (section 5.3.2).
        self.write(csr::IRQ_CFG, csr::IRQ_CFG::IRQ_EN.mask() | pin);
        // One frame is enough to interrupt; transmit levels are not used (section 5.3.6).
        self.write(
            csr::FIFO_INT,
            csr::FIFO_INT::TX_AVAIL.mask() | csr::FIFO_INT::TX_STS.mask(),
        );
        self.write(csr::RX_CFG, csr::RX_CFG::RXDOFF.of(OFFSET as u32));
        self.write(csr::TX_CFG, csr::TX_CFG::TX_ON.mask());
        // Frames with this tag may be longer by its length (section 5.4.9).
        self.write_mac(mac::VLAN1, EtherType::VLAN.0.into());
        Ok(())
    }

    /// Resets the chip (section 5.3.9, SRST), which then loads its address from an EEPROM, if
    /// present (section 3.9).
    fn reset(&self) -> Result<(), InitError> {
        self.write(csr::HW_CFG, csr::HW_CFG::SRST.mask());
        let over = self.wait_for(csr::HW_CFG, csr::HW_CFG::SRST, false);
        if !over || csr::HW_CFG::SRST_TO.is_set(self.read(csr::HW_CFG)) {
            return Err(InitError::Reset);
        }
        if !self.wait_for(csr::E2P_CMD, csr::E2P_CMD::EPC_BUSY, false) {
            return Err(InitError::Eeprom);
        }
        Ok(())
    }

    /// Stops sending and receiving at the end of a frame, and empties the FIFOs (sections 3.12.9
    /// and 3.13.4).
    pub(super) fn stop(&self) {
        self.write(csr::INT_EN, 0);
        self.stop_receiving();
        self.write(csr::RX_CFG, csr::RX_CFG::RX_DUMP.mask());
        self.wait_for(csr::RX_CFG, csr::RX_CFG::RX_DUMP, false);
        self.write(csr::TX_CFG, csr::TX_CFG::STOP_TX.mask());
        self.wait_for(csr::TX_CFG, csr::TX_CFG::STOP_TX, false);
        self.write_mac(mac::MAC_CR, 0);
        let dumps = csr::TX_CFG::TXS_DUMP.mask() | csr::TX_CFG::TXD_DUMP.mask();
        self.write(csr::TX_CFG, dumps);
        self.wait_for(csr::TX_CFG, csr::TX_CFG::TXD_DUMP, false);
    }

    /// Stops receiving at the end of a frame, if it was enabled (section 3.13.4).
    pub(super) fn stop_receiving(&self) {
        let control = self.read_mac(mac::MAC_CR);
        if mac::MAC_CR::RXEN.is_set(control) {
            self.write(csr::INT_STS, csr::INT_STS::RXSTOP_INT.mask());
            self.write_mac(mac::MAC_CR, control & !mac::MAC_CR::RXEN.mask());
            self.wait_for(csr::INT_STS, csr::INT_STS::RXSTOP_INT, true);
        }
    }

    /// Reads a register of the MAC (section 5.4).
    pub(super) fn read_mac(&self, register: RegisterRef) -> u32 {
        self.mac_command(register, csr::MAC_CSR_CMD::R_NOT_W.mask());
        self.read(csr::MAC_CSR_DATA)
    }

    /// Writes a register of the MAC.
    pub(super) fn write_mac(&self, register: RegisterRef, value: u32) {
        self.write(csr::MAC_CSR_DATA, value);
        self.mac_command(register, 0);
    }

    fn mac_command(&self, register: RegisterRef, direction: u32) {
        let number = csr::MAC_CSR_CMD::CSR_ADDR.of(register.offset);
        let busy = csr::MAC_CSR_CMD::CSR_BUSY;
        self.write(csr::MAC_CSR_CMD, busy.mask() | direction | number);
        self.settle(AFTER_WRITE);
        // This always takes a few cycles.
        (0..MAX_POLLS).any(|_| !busy.is_set(self.read(csr::MAC_CSR_CMD)));
    }
}
