//! The seam between a network device and a protocol stack, whichever stack it is.
//!
//! Both directions go by tokens: [`Device::receive`] says that a frame is there,
//! [`RxToken::consume`] looks at it where it lies; [`Device::transmit`] says that there is room,
//! [`TxToken::consume`] builds the frame where it will be sent from. Nothing is copied between
//! device and stack, and a stack that turns a request into its reply (ping) gets both at once.
//!
//! Lengths here are those of frames without preamble and FCS: that is what stacks handle.

use linerate_ether::frame::{HEADER_LEN, MacAddress};

/// What a device carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Ethernet frames (IEEE 802.3), addressed by MAC addresses.
    Ethernet,
    /// Bare IP packets.
    Ip,
}

/// Whether the link partner is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// No link: frames sent now reach nobody.
    Down,
    /// The partner was heard recently enough.
    Up,
}

/// Who computes and verifies a protocol's checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    /// The device verified it: the stack need not.
    pub receive: bool,
    /// The device will fill it in: the stack leaves it zero, as some devices sum it, too.
    pub transmit: bool,
}

/// The checksums that a device relieves the stack of. By default none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checksums {
    /// The IPv4 header's (RFC 791).
    pub ipv4: Offload,
    /// TCP's (RFC 9293).
    pub tcp: Offload,
    /// UDP's (RFC 768).
    pub udp: Offload,
    /// ICMP's (RFC 792), and that of ICMP for IPv6 (RFC 4443).
    pub icmp: Offload,
}

impl Checksums {
    /// All are left to the stack.
    pub const NONE: Self = Self::all(false);
    /// All of what was received are verified: the device hands on no packet with a wrong one.
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

/// What a stack must know about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// What the device carries.
    pub medium: Medium,
    /// The longest IP packet in octets: 1500 for Ethernet.
    pub mtu: usize,
    /// How many of the longest frames the device takes in a row while the stack does nothing;
    /// `None` when a stack should not care. A stack may limit its TCP window by it.
    pub max_burst_frames: Option<usize>,
    /// The checksums that the device relieves the stack of.
    pub checksums: Checksums,
}

impl Capabilities {
    /// The longest frame in octets, link header included, FCS not.
    pub const fn max_frame_len(&self) -> usize {
        match self.medium {
            Medium::Ethernet => self.mtu + HEADER_LEN,
            Medium::Ip => self.mtu,
        }
    }
}

/// A frame to be sent is longer than the device's medium allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTooLong {
    /// What was asked for, in octets without FCS.
    pub len: usize,
    /// What the device sends at most.
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
    /// What [`receive`](Self::receive) hands out.
    type RxToken<'a>: RxToken
    where
        Self: 'a;
    /// What [`transmit`](Self::transmit) hands out.
    type TxToken<'a>: TxToken
    where
        Self: 'a;

    /// The next frame, with the means to answer it; `None` when there is none.
    fn receive(&mut self) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)>;

    /// Room for a frame to send; `None` when there is none now.
    fn transmit(&mut self) -> Option<Self::TxToken<'_>>;

    /// Whether the device has a frame that it will send later by itself. No interrupt tells when: call
    /// [`receive`](Self::receive) or [`transmit`](Self::transmit) again and again, and do not sleep.
    fn holds_frame(&self) -> bool {
        false
    }

    /// What the stack must know.
    fn capabilities(&self) -> Capabilities;

    /// Whether the link partner is there.
    fn link_state(&self) -> LinkState;

    /// The device's own address.
    fn mac_address(&self) -> MacAddress;
}

/// A received frame that the stack has not looked at yet.
///
/// Dropped unconsumed, the frame is gone, and counted as `RxStackRejected`.
pub trait RxToken {
    /// The frame, without its FCS, for somebody who looks before the stack does. It is not consumed.
    fn peek(&mut self) -> &mut [u8];

    /// Hands the frame to `f`, without its FCS. `f` may change it.
    fn consume<R>(self, f: impl FnOnce(&mut [u8]) -> R) -> R;
}

/// A device that wakes the processor when a frame has come.
///
/// Frames are taken in turns with the interrupt masked, so that a flood costs none: when no frame is left,
/// [`unmask`](Self::unmask), sleep, [`mask`](Self::mask) (all three are [`rest`](Self::rest)), and take again.
pub trait Interrupting: Device {
    /// From now on a frame that comes interrupts. `false`: there is one already, so do not sleep.
    fn unmask(&mut self) -> bool;

    /// No more interrupts; takes back one that is pending.
    fn mask(&mut self);

    /// Lets the processor `sleep` until a frame interrupts it, if none is there.
    fn rest(&mut self, sleep: impl FnOnce()) {
        if self.unmask() {
            sleep();
        }
        self.mask();
    }
}

/// A device that a main loop looks after: its link is followed, and it can be stopped for a while.
pub trait Managed: Interrupting {
    /// Why it does not start again.
    type Error: core::fmt::Display;

    /// The link's state, followed: from here on the device runs with what the link has come to. To be called
    /// now and then, as not every device interrupts when the link comes or goes.
    fn watch_link(&mut self) -> LinkState {
        self.link_state()
    }

    /// Stops receiving and sending, each at the end of a frame: the device uses no memory any more. What has
    /// come and was not taken is counted as `RxStackRejected`. Until [`resume`](Self::resume) nothing is
    /// received, and there is no room to send.
    fn halt(&mut self);

    /// Starts a device that was stopped, from its reset on, with the address and the groups that it had.
    ///
    /// # Errors
    /// It does not start; it can be tried again.
    fn resume(&mut self) -> Result<(), Self::Error>;
}

/// Room for a frame to send. Dropped unconsumed, nothing is sent.
pub trait TxToken {
    /// Lets `f` write a frame of `len` octets and sends it. The device adds padding and FCS. The
    /// buffer holds whatever was there before.
    ///
    /// # Errors
    /// [`FrameTooLong`] when `len` exceeds [`Capabilities::max_frame_len`]; `f` is not called.
    fn consume<R>(self, len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, FrameTooLong>;
}
