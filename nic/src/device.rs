//! Interface between a network device and any protocol stack.
//!
//! Both directions use tokens: [`Device::receive`] indicates a received frame, and
//! [`RxToken::consume`] gives access to it in place; [`Device::transmit`] indicates room for a
//! frame, and [`TxToken::consume`] builds the frame in the transmit buffer. Nothing is copied
//! between device and stack, and a stack that turns a request into its reply (ping) gets both
//! tokens at once.
//!
//! Lengths are those of frames without preamble and FCS, as stacks use them.

use linerate_ether::frame::{HEADER_LEN, MacAddress};

/// Medium of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Ethernet frames (IEEE 802.3), addressed by MAC addresses.
    Ethernet,
    /// Bare IP packets.
    Ip,
}

/// State of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// No link: frames sent now are lost.
    Down,
    /// The link partner was received recently enough.
    Up,
}

/// Checksum work done by the device for one protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    /// The device verifies it on reception: the stack need not.
    pub receive: bool,
    /// The device fills it in: the stack must leave the field zero, because some devices include it
    /// in the sum.
    pub transmit: bool,
}

/// Checksum offload of a device, by protocol. By default none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checksums {
    /// The IPv4 header's (RFC 791).
    pub ipv4: Offload,
    /// TCP's (RFC 9293).
    pub tcp: Offload,
    /// UDP's (RFC 768).
    pub udp: Offload,
    /// ICMP's (RFC 792), and that of `ICMPv6` (RFC 4443).
    pub icmp: Offload,
}

impl Checksums {
    /// The stack handles all checksums.
    pub const NONE: Self = Self::all(false);
    /// All received checksums are verified: the device drops packets with a wrong one.
    pub const VERIFIED: Self = Self::all(true);

    const fn all(receive: bool) -> Self {
        let offload = Offload {
            receive,
            transmit: false,
        };
        Self {
            ipv4: offload,
            tcp: offload,
            udp: offload,
            icmp: offload,
        }
    }
}

/// Capabilities of a device that a stack needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Medium of the device.
    pub medium: Medium,
    /// The longest IP packet in octets: 1500 for Ethernet.
    pub mtu: usize,
    /// Number of maximum-length frames that the device buffers in a row while the stack does
    /// nothing; `None` if that does not matter to the stack. A stack may limit its TCP window by
    /// it.
    pub max_burst_frames: Option<usize>,
    /// Checksum offload of the device.
    pub checksums: Checksums,
}

impl Capabilities {
    /// Longest frame in octets, link header included, FCS excluded.
    pub const fn max_frame_len(&self) -> usize {
        match self.medium {
            Medium::Ethernet => self.mtu + HEADER_LEN,
            Medium::Ip => self.mtu,
        }
    }
}

/// Error: a frame to send is longer than the medium of the device allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTooLong {
    /// Requested length in octets without FCS.
    pub len: usize,
    /// Longest frame that the device sends.
    pub max: usize,
}

impl core::fmt::Display for FrameTooLong {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "a frame of {} octets exceeds the device's {}",
            self.len, self.max
        )
    }
}

impl core::error::Error for FrameTooLong {}

/// A network device.
pub trait Device {
    /// Token returned by [`receive`](Self::receive).
    type RxToken<'a>: RxToken
    where
        Self: 'a;
    /// Token returned by [`transmit`](Self::transmit).
    type TxToken<'a>: TxToken
    where
        Self: 'a;

    /// Returns the next frame with a token for its reply; `None` if no frame is available.
    fn receive(&mut self) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)>;

    /// Returns a token for a frame to send; `None` if there is no room now.
    fn transmit(&mut self) -> Option<Self::TxToken<'_>>;

    /// True if the device holds a frame that it will send later. No interrupt signals that time:
    /// keep calling [`receive`](Self::receive) or [`transmit`](Self::transmit), and do not sleep.
    fn has_pending_tx(&self) -> bool {
        false
    }

    /// Capabilities of the device.
    fn capabilities(&self) -> Capabilities;

    /// State of the link.
    fn link_state(&self) -> LinkState;

    /// The device's own MAC address.
    fn mac_address(&self) -> MacAddress;
}

/// A received frame that the stack has not read yet.
///
/// If dropped without being consumed, the frame is lost and counted as `RxStackRejected`.
pub trait RxToken {
    /// The frame, without its FCS, for inspection before the stack reads it. Does not consume it.
    fn peek(&mut self) -> &mut [u8];

    /// Calls `f` with the frame, without its FCS. `f` may modify it.
    fn consume<R>(self, f: impl FnOnce(&mut [u8]) -> R) -> R;
}

/// A device that wakes the processor by an interrupt when a frame arrives.
///
/// Frames are read by polling with the interrupt masked, so that a flood causes no interrupts: when
/// no frame is left, [`unmask`](Self::unmask), sleep, [`mask`](Self::mask) (all three are
/// [`sleep_until_frame`](Self::sleep_until_frame)), and poll again.
pub trait InterruptDriven: Device {
    /// Enables the interrupt for received frames. `false`: a frame is already waiting, so do not
    /// sleep.
    fn unmask(&mut self) -> bool;

    /// Disables the interrupt and clears a pending one.
    fn mask(&mut self);

    /// Lets the processor `sleep` until a frame interrupts it, unless one is already waiting.
    fn sleep_until_frame(&mut self, sleep: impl FnOnce()) {
        if self.unmask() {
            sleep();
        }
        self.mask();
    }
}

/// A device managed by a main loop: its link state is followed, and it can be stopped for a while.
pub trait Managed: InterruptDriven {
    /// Reason why it does not restart.
    type Error: core::fmt::Display;

    /// Updates and returns the link state; from then on the device runs with the current settings
    /// of the link. Call it regularly, because not every device interrupts on link changes.
    fn poll_link(&mut self) -> LinkState {
        self.link_state()
    }

    /// Stops receiving and sending, each at the end of a frame; after that the device accesses no
    /// memory. Frames received but not taken are counted as `RxStackRejected`. Until
    /// [`resume`](Self::resume) nothing is received, and there is no room to send.
    fn halt(&mut self);

    /// Restarts a stopped device from reset, with its previous address and groups.
    ///
    /// # Errors
    /// The device does not start; the call can be repeated.
    fn resume(&mut self) -> Result<(), Self::Error>;
}

/// Room for a frame to send. If dropped without being consumed, nothing is sent.
pub trait TxToken {
    /// Calls `f` to write a frame of `len` octets and sends it. The device adds padding and FCS.
    /// The buffer initially holds arbitrary data.
    ///
    /// # Errors
    /// [`FrameTooLong`] when `len` exceeds [`Capabilities::max_frame_len`]; `f` is not called.
    fn consume<R>(self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, FrameTooLong>;
}
