//! Configuration, reset, registers, MDIO, link settings, stop.

use super::descriptor::Linkage;
use crate::dma::controller::{InitError, Settings};
use crate::mdio::{LinkSettings, MdioBus, MdioError, Speed};
use crate::mmio::Registers;
use linerate_ether::fcs::{Crc32, SLICING_4};
use linerate_ether::frame::MacAddress;
use linerate_regs::RegisterRef;

/// The registers.
pub(super) mod dwmac {
    linerate_regs::constants!(linerate_regs::DWMAC, "ETH":
        MACCR { PS FES ROD DM IPCO TE RE }
        MACFFR { PCF { NONE } HM PM }
        MACHTHR MACHTLR
        MACMIIAR { PA MR CR { DIV42 DIV62 DIV16 DIV26 DIV102 DIV124 } MW MB } MACMIIDR { MD }
        MACFCR { PT PLT { MINUS28 } RFCE TFCE }
        MACA0HR { MACA0H } MACA0LR
        MMCCR { CR } MMCRIMR MMCTIMR
        MMCTGFCR TX_OCTETCOUNT_G TX_PAUSE_FRAME TX_UNDERFLOW_ERROR RX_FRAMECOUNT_GB RX_OCTETCOUNT_G RX_PAUSE_FRAMES
        RX_FIFO_OVERFLOW MMCRFCECR RX_UNDERSIZE_G RX_OVERSIZE_G RX_RUN_ERROR RX_JABBER_ERROR
        DMABMR { PBL EDFE SR } DMATPDR DMARPDR DMARDLAR DMATDLAR
        DMASR { TPS { STOPPED SUSPENDED } RPS { STOPPED SUSPENDED } NIS AIS FBES RBUS RS ROS TS }
        DMAOMR { DTCEFD RSF RFA2 RFD2 TSF TTC ST RFD RFA EFC FEF RTC OSF SR }
        DMAIER { NISE AISE FBEIE RIE TIE }
        DMAMFBOCR { OFOC MFA OMFC MFC }
        DMAHWFR { ENHDESSEL RXTYP2COE TXCOESEL }
    );
}

/// Offset of the DMA registers from those of the MAC.
const DMA: usize = 0x1000;
/// Maximum polls of a register: an MDIO transfer takes 26 us, the longest frame at 10 Mbit/s 1.2 ms.
const MAX_POLLS: u32 = 100_000;

/// Order of the two blocks of registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RegisterOrder {
    /// The MAC at 0 and the DMA at 0x1000: STM32 and most others.
    #[default]
    MacFirst,
    /// The DMA at 0 and the MAC at 0x1000: ESP32.
    DmaFirst,
}

/// Options that the core was built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// It inserts checksums (TXCOESEL).
    pub inserts_checksums: bool,
    /// It verifies checksums and reports them in descriptors (RXTYP2COE).
    pub verifies_checksums: bool,
    /// It has descriptors of eight words (ENHDESSEL).
    pub has_enhanced_descriptors: bool,
}

impl Features {
    /// No option.
    pub const NONE: Self = Self {
        inserts_checksums: false,
        verifies_checksums: false,
        has_enhanced_descriptors: false,
    };
}

/// When a FIFO passes a frame on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    /// When all of it is stored. Required to insert or to drop by checksums.
    Stored,
    /// From this number of octets on. Sending: 64, 128, 192, 256, 40, 32, 24 or 16; receiving: 64, 32, 96 or 128. Another
    /// number stands for 64.
    From(u16),
}

/// PAUSE frames that are sent if negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Their time, in quanta of 512 bit times.
    pub quanta: u16,
    /// Receive FIFOs from 4 KiB: they are sent from this many KiB below full on, 1 to 7.
    pub start_kib_below: u8,
    /// And end at this many KiB below full, 1 to 7.
    pub end_kib_below: u8,
}

/// Configuration of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Clock of the register bus in hertz, from 20 to 300 MHz; the MDIO clock is derived from it.
    pub bus_hz: u32,
    /// Order of the two blocks of registers.
    pub order: RegisterOrder,
    /// The core's options; `None` to read them from its feature register, which STM32 and ESP32 do not have.
    pub features: Option<Features>,
    /// Linkage of the descriptors.
    pub linkage: Linkage,
    /// The receive FIFO.
    pub receive: Forwarding,
    /// The transmit FIFO.
    pub transmit: Forwarding,
    /// Longest burst of the DMA in words of its bus: 1, 2, 4, 8, 16 or 32.
    pub burst_words: u8,
    /// PAUSE frames.
    pub pause: Pause,
    /// True to receive all frames, whatever their destination.
    pub promiscuous: bool,
}

/// The registers in the order of the map.
#[derive(Debug)]
pub(super) struct Block<R> {
    registers: R,
    /// Exchanges the two blocks.
    swap: usize,
}

impl<R: Registers> Block<R> {
    #[inline]
    pub fn read(&self, register: RegisterRef) -> u32 {
        self.registers.read_at(register.offset as usize ^ self.swap)
    }

    #[inline]
    pub fn write(&self, register: RegisterRef, value: u32) {
        self.registers
            .write_at(register.offset as usize ^ self.swap, value);
    }

    /// Waits until a register satisfies the predicate; returns `false` on a timeout.
    fn wait_for(&self, register: RegisterRef, is_so: impl Fn(u32) -> bool) -> bool {
        (0..MAX_POLLS).any(|_| is_so(self.read(register)))
    }
}

/// The MAC without its rings: gives access to PHYs.
#[derive(Debug)]
pub struct Mac<R> {
    pub(super) registers: Block<R>,
    pub(super) config: Config,
    features: Features,
    /// Address before the reset.
    previous_address: MacAddress,
    /// Overflows that descriptors reported: the register of lost frames counts them, too.
    pub(super) reported_overflows: u32,
}

impl<R: Registers> Mac<R> {
    /// Resets the MAC ("Initialization of a transfer using Ethernet DMA").
    ///
    /// # Errors
    /// [`InitError::InReset`].
    pub fn reset(registers: R, config: Config) -> Result<Self, InitError> {
        let swap = match config.order {
            RegisterOrder::MacFirst => 0,
            RegisterOrder::DmaFirst => DMA,
        };
        let registers = Block { registers, swap };
        // A boot loader leaves the MAC address there.
        let low = registers.read(dwmac::MACA0LR).to_le_bytes();
        let high = registers.read(dwmac::MACA0HR).to_le_bytes();
        let address = [low[0], low[1], low[2], low[3], high[0], high[1]];
        let mut mac = Self {
            registers,
            config,
            features: Features::NONE,
            previous_address: MacAddress(address),
            reported_overflows: 0,
        };
        if !mac.reset_core() {
            return Err(InitError::InReset);
        }
        mac.features = config.features.unwrap_or_else(|| {
            let word = mac.registers.read(dwmac::DMAHWFR);
            Features {
                inserts_checksums: dwmac::DMAHWFR::TXCOESEL.is_set(word),
                verifies_checksums: dwmac::DMAHWFR::RXTYP2COE.is_set(word),
                has_enhanced_descriptors: dwmac::DMAHWFR::ENHDESSEL.is_set(word),
            }
        });
        Ok(mac)
    }

    /// Resets everything but the PHY; returns `false` if the reset does not end.
    fn reset_core(&self) -> bool {
        let reset = dwmac::DMABMR::SR.mask();
        self.registers.write(dwmac::DMABMR, reset);
        self.registers.wait_for(dwmac::DMABMR, |it| it & reset == 0)
    }

    /// Options of the core, as configured or read.
    #[must_use]
    pub const fn features(&self) -> Features {
        self.features
    }

    /// True if checksums are inserted: a frame must be stored for that.
    pub(super) fn inserts_checksums(&self) -> bool {
        self.features.inserts_checksums && self.config.transmit == Forwarding::Stored
    }

    /// The address that the MAC had before its reset, if it is a valid station address.
    #[must_use]
    pub fn previous_address(&self) -> Option<MacAddress> {
        let found = self.previous_address;
        (found.is_unicast() && found != MacAddress::default()).then_some(found)
    }

    /// Resets the MAC and configures everything except the content of the rings. It neither receives nor sends yet.
    ///
    /// # Errors
    /// [`InitError::InReset`].
    pub(super) fn configure_core(
        &self,
        settings: &Settings,
        enhanced: bool,
    ) -> Result<(), InitError> {
        if !self.reset_core() {
            return Err(InitError::InReset);
        }
        let registers = &self.registers;
        let burst = dwmac::DMABMR::PBL.of(self.config.burst_words.into());
        let enhanced = dwmac::DMABMR::EDFE.of(enhanced.into());
        registers.write(dwmac::DMABMR, burst | enhanced);
        registers.write(dwmac::DMARDLAR, settings.rings[0] as u32);
        registers.write(dwmac::DMATDLAR, settings.rings[1] as u32);
        registers.write(dwmac::DMAIER, 0);
        let octets = settings.address.0;
        let high = u32::from(u16::from_le_bytes([octets[4], octets[5]]));
        let low = u32::from_le_bytes([octets[0], octets[1], octets[2], octets[3]]);
        // The lower half completes the address.
        registers.write(dwmac::MACA0HR, dwmac::MACA0HR::MACA0H.of(high));
        registers.write(dwmac::MACA0LR, low);
        self.set_groups(settings.groups);
        let promiscuous = dwmac::MACFFR::PM.of(self.config.promiscuous.into());
        let control = dwmac::MACFFR::PCF.of(dwmac::MACFFR::PCF::NONE);
        registers.write(
            dwmac::MACFFR,
            dwmac::MACFFR::HM.mask() | promiscuous | control,
        );
        registers.write(dwmac::MACFCR, self.flow_control(settings.link));
        registers.write(dwmac::MMCCR, dwmac::MMCCR::CR.mask());
        registers.write(dwmac::MMCRIMR, u32::MAX);
        registers.write(dwmac::MMCTIMR, u32::MAX);
        registers.write(dwmac::DMAOMR, self.operation_mode());
        registers.write(dwmac::MACCR, self.mac_control(settings.link));
        Ok(())
    }

    /// Starts to receive and to send; the rings are filled.
    pub(super) fn start(&self) {
        let registers = &self.registers;
        let mode = registers.read(dwmac::DMAOMR);
        let both = dwmac::DMAOMR::ST.mask() | dwmac::DMAOMR::SR.mask();
        registers.write(dwmac::DMAOMR, mode | both);
        let control = registers.read(dwmac::MACCR);
        let both = dwmac::MACCR::TE.mask() | dwmac::MACCR::RE.mask();
        registers.write(dwmac::MACCR, control | both);
    }

    fn flow_control(&self, link: LinkSettings) -> u32 {
        let flow = link.flow_control;
        dwmac::MACFCR::PT.of(self.config.pause.quanta.into())
            | dwmac::MACFCR::PLT.of(dwmac::MACFCR::PLT::MINUS28)
            | dwmac::MACFCR::TFCE.of(flow.send.into())
            | dwmac::MACFCR::RFCE.of(flow.receive.into())
    }

    /// Value of MACCR without TE and RE. FCS and padding are not stripped.
    fn mac_control(&self, link: LinkSettings) -> u32 {
        dwmac::MACCR::PS.of((link.speed != Speed::Mbit1000).into())
            | dwmac::MACCR::FES.of((link.speed == Speed::Mbit100).into())
            | dwmac::MACCR::DM.of(link.full_duplex.into())
            | dwmac::MACCR::ROD.of((!link.full_duplex).into())
            | dwmac::MACCR::IPCO.of(self.features.verifies_checksums.into())
    }

    /// Value of DMAOMR without ST and SR. Frames with errors are forwarded, to be counted.
    fn operation_mode(&self) -> u32 {
        use dwmac::DMAOMR as It;
        let level = |kib: u8| u32::from(kib.clamp(1, 8)) - 1;
        let start = level(self.config.pause.start_kib_below);
        let end = level(self.config.pause.end_kib_below);
        let receive = match self.config.receive {
            Forwarding::Stored => It::RSF.mask(),
            Forwarding::From(octets) => It::RTC.of(place(&[64, 32, 96, 128], octets)),
        };
        let transmit = match self.config.transmit {
            Forwarding::Stored => It::TSF.mask(),
            Forwarding::From(octets) => {
                It::TTC.of(place(&[64, 128, 192, 256, 40, 32, 24, 16], octets))
            }
        };
        receive
            | transmit
            | It::EFC.mask()
            | It::RFA.of(start)
            | It::RFA2.of(start >> 2)
            | It::RFD.of(end)
            | It::RFD2.of(end >> 2)
            | It::FEF.mask()
            | It::DTCEFD.mask()
            | It::OSF.mask()
    }

    /// Sets the accepted groups: one bit per [`hash_bin`].
    pub(super) fn set_groups(&self, groups: u64) {
        self.registers.write(dwmac::MACHTHR, (groups >> 32) as u32);
        self.registers.write(dwmac::MACHTLR, groups as u32);
    }

    /// Stops at the end of the current frames; the MAC accesses no memory after it.
    pub(super) fn stop_at_frame_end(&self) {
        let registers = &self.registers;
        registers.write(dwmac::DMAIER, 0);
        let mode = registers.read(dwmac::DMAOMR);
        registers.write(dwmac::DMAOMR, mode & !dwmac::DMAOMR::ST.mask());
        // Suspended, it accesses no memory either.
        let is_idle = |status| {
            use dwmac::DMASR::TPS::{STOPPED, SUSPENDED};
            matches!(dwmac::DMASR::TPS.get(status), STOPPED | SUSPENDED)
        };
        let has_ended = registers.wait_for(dwmac::DMASR, is_idle);
        let control = registers.read(dwmac::MACCR);
        let both = dwmac::MACCR::TE.mask() | dwmac::MACCR::RE.mask();
        registers.write(dwmac::MACCR, control & !both);
        let mode = registers.read(dwmac::DMAOMR);
        registers.write(dwmac::DMAOMR, mode & !dwmac::DMAOMR::SR.mask());
        let is_idle = |status| {
            use dwmac::DMASR::RPS::{STOPPED, SUSPENDED};
            matches!(dwmac::DMASR::RPS.get(status), STOPPED | SUSPENDED)
        };
        if !(registers.wait_for(dwmac::DMASR, is_idle) && has_ended) {
            // A frame that waits for a pause to end, or for a carrier: nothing but a reset ends it.
            self.reset_core();
        }
    }

    /// Clock of MDC, at most 2.5 MHz, by the clock of the bus.
    const fn mdio_clock(&self) -> u32 {
        use dwmac::MACMIIAR::CR::{DIV16, DIV26, DIV42, DIV62, DIV102, DIV124};
        match self.config.bus_hz / 1_000_000 {
            0..35 => DIV16,
            35..60 => DIV26,
            60..100 => DIV42,
            100..150 => DIV62,
            150..250 => DIV102,
            _ => DIV124,
        }
    }

    fn transfer(&self, write: bool, phy: u8, register: RegisterRef) -> Result<(), MdioError> {
        let busy = dwmac::MACMIIAR::MB.mask();
        self.registers.write(
            dwmac::MACMIIAR,
            busy | dwmac::MACMIIAR::PA.of(phy.into())
                | dwmac::MACMIIAR::MR.of(register.offset)
                | dwmac::MACMIIAR::CR.of(self.mdio_clock())
                | dwmac::MACMIIAR::MW.of(write.into()),
        );
        let is_done = |it| it & busy == 0;
        let ends = self.registers.wait_for(dwmac::MACMIIAR, is_done);
        ends.then_some(()).ok_or(MdioError::Timeout)
    }
}

/// Place of `octets` in a table of thresholds, the first one if it is not there.
fn place(table: &[u16], octets: u16) -> u32 {
    let found = table.iter().position(|it| *it == octets);
    found.unwrap_or(0) as u32
}

impl<R: Registers> MdioBus for Mac<R> {
    fn read(&self, phy: u8, register: RegisterRef) -> Result<u16, MdioError> {
        self.transfer(false, phy, register)?;
        Ok(dwmac::MACMIIDR::MD.get(self.registers.read(dwmac::MACMIIDR)) as u16)
    }

    fn write(&self, phy: u8, register: RegisterRef, value: u16) -> Result<(), MdioError> {
        self.registers
            .write(dwmac::MACMIIDR, dwmac::MACMIIDR::MD.of(value.into()));
        self.transfer(true, phy, register)
    }
}

/// Bit of a group in MACHTHR and MACHTLR ("Hash table high register"): the upper six bits of the CRC of its address, most
/// significant bit first.
pub(super) fn hash_bin(group: MacAddress) -> u32 {
    let crc = Crc32::with(&SLICING_4).update(&group.0).finish();
    crc.reverse_bits() >> 26
}
