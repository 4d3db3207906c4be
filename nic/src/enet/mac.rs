//! Reset, registers, MDIO, link settings, stop.

use super::net::BUFFER_LEN;
use crate::dma::controller::{InitError, Settings};
use crate::mdio::{FlowControl, LinkSettings, MdioBus, MdioError, Speed};
use crate::mmio::Registers;
use linerate_ether::fcs::{Crc32, SLICING_4};
use linerate_ether::frame::{MAX_TAGGED_LEN, MacAddress};
use linerate_regs::RegisterRef;

/// The registers.
pub(super) mod enet {
    linerate_regs::constants!(linerate_regs::IMX6, "ENET":
        EIR { GRA TXF RXF MII EBERR LC RL UN }
        EIMR RDAR { RDAR } TDAR { TDAR }
        ECR { DBSWP SPEED EN1588 ETHEREN RESET }
        MMFR { ST OP { READ WRITE } PA RA TA DATA }
        MSCR { HOLDTIME MII_SPEED }
        MIBC { MIB_DIS MIB_CLEAR }
        RCR { MAX_FL CFEN RMII_10T RMII_MODE RGMII_EN FCE PROM MII_MODE DRT }
        TCR { FDEN GTS }
        PALR PAUR { PADDR2 } OPD { PAUSE_DUR } IAUR IALR GAUR GALR
        TFWR { STRFWD } RSFL RSEM RAEM RAFL FTRL TACC RACC { SHIFT16 }
        RDSR TDSR MRBR
        IEEE_T_FRAME_OK IEEE_T_OCTETS_OK IEEE_T_FDXFC IEEE_T_DEF IEEE_T_1COL IEEE_T_MCOL IEEE_T_LCOL
        IEEE_T_EXCOL IEEE_T_MACERR IEEE_T_CSERR
        IEEE_R_FRAME_OK IEEE_R_OCTETS_OK IEEE_R_FDXFC IEEE_R_MACERR IEEE_R_CRC IEEE_R_ALIGN
        RMON_R_UNDERSIZE RMON_R_OVERSIZE RMON_R_FRAG RMON_R_JAB
    );
}

/// Maximum polls of a register: an MDIO transfer takes 26 us, the longest frame at 10 Mbit/s 1.2
/// ms.
const MAX_POLLS: u32 = 100_000;
/// MMFR: start of a clause 22 frame, and its turnaround.
const CLAUSE_22: u32 = 1;
const TURNAROUND: u32 = 2;
/// Highest MDIO clock, and reciprocal of the data hold time (IEEE 802.3 clause 22.2.2.13, 22.3.4).
const MDC_HZ: u32 = 2_500_000;
const HOLDS_PER_S: u32 = 100_000_000;
/// Octets before each received frame, with enhanced descriptors: they align the IP header.
pub(super) const SHIFT: usize = 2;

/// Interface between MAC and PHY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// RMII: 10 and 100 Mbit/s.
    Rmii,
    /// RGMII: up to 1000 Mbit/s.
    Rgmii,
}

/// Thresholds of the receive FIFO, in words of 64 bits, and pause frames ("FIFO thresholds", "Full-duplex flow
/// control operation").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveFifo {
    /// A frame is forwarded when this much of it is in the FIFO; 0 waits for the complete frame
    /// (RSFL).
    pub forward_threshold: u16,
    /// PAUSE frames are sent from this level, if negotiated; 0 disables them (RSEM).
    pub pause_threshold: u16,
    /// Reading stops below this level, except at the end of a frame (RAEM).
    pub almost_empty: u16,
    /// A frame is truncated when only this much is left (RAFL).
    pub almost_full: u16,
    /// Pause time in PAUSE frames, in quanta of 512 bit times (OPD).
    pub pause_quanta: u16,
}

impl ReceiveFifo {
    /// Measured to lose no frames on an i.MX 6Quad at 1000 Mbit/s, where the FIFO is drained at
    /// some 600 Mbit/s. A PAUSE frame stops the partner until another one signals that there is
    /// room.
    pub const GIGABIT: Self = Self {
        forward_threshold: 16,
        pause_threshold: 0x84,
        almost_empty: 8,
        almost_full: 8,
        pause_quanta: 0xfff0,
    };
}

/// Board-specific configuration of the MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Interface to the PHY.
    pub interface: Interface,
    /// Bus clock of the MAC (`ipg_clk`), in Hz; the MDIO clock is derived from it.
    pub bus_hz: u32,
    /// The receive FIFO.
    pub fifo: ReceiveFifo,
    /// True to receive all frames, whatever their destination.
    pub promiscuous: bool,
    /// True if the receiver verifies IPv4, TCP and UDP checksums (enhanced descriptors). An
    /// emulated one may not.
    pub verifies_checksums: bool,
}

/// The MAC without its rings: gives access to PHYs.
#[derive(Debug)]
pub struct Mac<R> {
    pub(super) registers: R,
    pub(super) config: Config,
    /// Address in PALR and PAUR before the reset.
    previous_address: MacAddress,
}

impl<R: Registers> Mac<R> {
    /// Resets the MAC and starts the MDIO clock (section 23.5, ECR and MSCR; "Resets and stop
    /// controls").
    ///
    /// # Errors
    /// [`InitError::InReset`].
    pub fn reset(registers: R, config: Config) -> Result<Self, InitError> {
        // A boot loader leaves the MAC address there.
        let high = u64::from(registers.read(enet::PALR));
        let address = high << 16 | u64::from(enet::PAUR::PADDR2.get(registers.read(enet::PAUR)));
        let [_, _, found @ ..] = address.to_be_bytes();
        let mac = Self {
            registers,
            config,
            previous_address: MacAddress(found),
        };
        let reset = enet::ECR::RESET.mask();
        mac.registers.write(enet::ECR, reset);
        if !mac.wait_for(enet::ECR, |control| control & reset == 0) {
            return Err(InitError::InReset);
        }
        let speed = config.bus_hz.div_ceil(2 * MDC_HZ).saturating_sub(1);
        let hold = config.bus_hz.div_ceil(HOLDS_PER_S).saturating_sub(1);
        let speed = enet::MSCR::MII_SPEED.of(speed) | enet::MSCR::HOLDTIME.of(hold);
        mac.registers.write(enet::MSCR, speed);
        Ok(mac)
    }

    /// The address that the MAC had before its reset, if it is a valid station address.
    #[must_use]
    pub fn previous_address(&self) -> Option<MacAddress> {
        let is_station =
            self.previous_address.is_unicast() && self.previous_address != MacAddress::default();
        is_station.then_some(self.previous_address)
    }

    /// Waits until a register satisfies the predicate; returns `false` on a timeout.
    fn wait_for(&self, register: RegisterRef, is_so: impl Fn(u32) -> bool) -> bool {
        (0..MAX_POLLS).any(|_| is_so(self.registers.read(register)))
    }

    /// Configures everything except the content of the rings, in the order of "Initialization", and
    /// enables the MAC.
    pub(super) fn start_mac(&self, settings: &Settings, enhanced: bool) {
        let (registers, fifo) = (&self.registers, &self.config.fifo);
        registers.write(enet::EIMR, 0);
        registers.write(enet::EIR, u32::MAX);
        let address = settings.address.0.iter();
        let address = address.fold(0, |bits, &octet| bits << 8 | u64::from(octet));
        registers.write(enet::PALR, (address >> 16) as u32);
        registers.write(enet::PAUR, enet::PAUR::PADDR2.of(address as u32));
        // The own address is compared completely, not by hash.
        registers.write(enet::IAUR, 0);
        registers.write(enet::IALR, 0);
        self.set_groups(settings.groups);
        let LinkSettings {
            speed,
            full_duplex,
            flow_control,
        } = settings.link;
        registers.write(enet::RCR, self.receive_control(settings.link, enhanced));
        registers.write(enet::TCR, enet::TCR::FDEN.of(full_duplex.into()));
        registers.write(enet::OPD, enet::OPD::PAUSE_DUR.of(fifo.pause_quanta.into()));
        // A checksum precedes the data that it covers: transmission begins with the complete frame
        // in the FIFO.
        registers.write(enet::TFWR, enet::TFWR::STRFWD.mask());
        let pause = if flow_control.send {
            fifo.pause_threshold
        } else {
            0
        };
        registers.write(enet::RSFL, fifo.forward_threshold.into());
        registers.write(enet::RSEM, pause.into());
        registers.write(enet::RAEM, fifo.almost_empty.into());
        registers.write(enet::RAFL, fifo.almost_full.into());
        // Truncates the rest of an overrun, so that no frame appears longer.
        registers.write(enet::FTRL, (MAX_TAGGED_LEN + SHIFT) as u32);
        registers.write(enet::TACC, 0);
        let shift = enet::RACC::SHIFT16.of(enhanced.into());
        registers.write(enet::RACC, shift);
        registers.write(enet::MRBR, BUFFER_LEN as u32);
        registers.write(enet::RDSR, settings.rings[0] as u32);
        registers.write(enet::TDSR, settings.rings[1] as u32);
        let (stand, clear) = (enet::MIBC::MIB_DIS.mask(), enet::MIBC::MIB_CLEAR.mask());
        for control in [stand, stand | clear, stand, 0] {
            registers.write(enet::MIBC, control);
        }
        // The receiver must not find the rings empty before they are filled: it starts when RDAR is
        // written.
        registers.write(
            enet::ECR,
            enet::ECR::DBSWP.mask()
                | enet::ECR::EN1588.of(enhanced.into())
                | enet::ECR::SPEED.of((speed == Speed::Mbit1000).into())
                | enet::ECR::ETHEREN.mask(),
        );
    }

    /// Value of RCR. FCS and padding are not stripped: if the MAC strips padding, its DMA can get
    /// stuck. A receiver may include the octets before a frame in its length, as in QEMU.
    fn receive_control(&self, link: LinkSettings, enhanced: bool) -> u32 {
        let longest = MAX_TAGGED_LEN + if enhanced { SHIFT } else { 0 };
        let interface = match self.config.interface {
            Interface::Rmii => enet::RCR::RMII_MODE,
            Interface::Rgmii => enet::RCR::RGMII_EN,
        };
        interface.mask()
            | enet::RCR::MII_MODE.mask()
            | enet::RCR::MAX_FL.of(longest as u32)
            | enet::RCR::CFEN.mask()
            | enet::RCR::RMII_10T.of((link.speed == Speed::Mbit10).into())
            | enet::RCR::FCE.of((link.flow_control != FlowControl::default()).into())
            | enet::RCR::DRT.of((!link.full_duplex).into())
            | enet::RCR::PROM.of(self.config.promiscuous.into())
    }

    /// Sets the accepted groups: one bit per [`hash_bin`].
    pub(super) fn set_groups(&self, groups: u64) {
        self.registers.write(enet::GAUR, (groups >> 32) as u32);
        self.registers.write(enet::GALR, groups as u32);
    }

    /// Stops after the current transmission, if that ends; the MAC accesses no memory after it.
    pub(super) fn stop_at_frame_end(&self) {
        let registers = &self.registers;
        registers.write(enet::EIMR, 0);
        registers.write(enet::EIR, enet::EIR::GRA.mask());
        let control = registers.read(enet::TCR);
        registers.write(enet::TCR, control | enet::TCR::GTS.mask());
        self.wait_for(enet::EIR, |events| enet::EIR::GRA.is_set(events));
        let control = registers.read(enet::ECR);
        registers.write(enet::ECR, control & !enet::ECR::ETHEREN.mask());
    }

    fn transfer(
        &self,
        operation: u32,
        phy: u8,
        register: RegisterRef,
        data: u16,
    ) -> Result<u16, MdioError> {
        let done = enet::EIR::MII.mask();
        self.registers.write(enet::EIR, done);
        self.registers.write(
            enet::MMFR,
            enet::MMFR::ST.of(CLAUSE_22)
                | enet::MMFR::OP.of(operation)
                | enet::MMFR::PA.of(phy.into())
                | enet::MMFR::RA.of(register.offset)
                | enet::MMFR::TA.of(TURNAROUND)
                | enet::MMFR::DATA.of(data.into()),
        );
        if !self.wait_for(enet::EIR, |events| events & done != 0) {
            return Err(MdioError::Timeout);
        }
        Ok(enet::MMFR::DATA.get(self.registers.read(enet::MMFR)) as u16)
    }
}

impl<R: Registers> MdioBus for Mac<R> {
    fn read(&self, phy: u8, register: RegisterRef) -> Result<u16, MdioError> {
        self.transfer(enet::MMFR::OP::READ, phy, register, 0)
    }

    fn write(&self, phy: u8, register: RegisterRef, value: u16) -> Result<(), MdioError> {
        self.transfer(enet::MMFR::OP::WRITE, phy, register, value)?;
        Ok(())
    }
}

/// Bit of a group in GAUR and GALR (section 23.5): the upper six bits of the CRC of its address.
pub(super) fn hash_bin(group: MacAddress) -> u32 {
    !Crc32::with(&SLICING_4).update(&group.0).finish() >> 26
}
