//! Lengths of an Ethernet packet (IEEE 802.3 clauses 3.1 and 4.2.7.1), in octets.

/// Destination, source, length/type.
pub const HEADER_LEN: usize = 14;
/// Frame check sequence.
pub const FCS_LEN: usize = linerate_ether::fcs::LEN;
/// The shortest frame, FCS included. Shorter data is padded.
pub const MIN_FRAME_LEN: usize = 64;
/// The longest basic frame, FCS included.
pub const MAX_BASIC_FRAME_LEN: usize = 1518;
/// The longest frame with an 802.1Q tag, FCS included.
pub const MAX_FRAME_LEN: usize = MAX_BASIC_FRAME_LEN + 4;
/// Preamble and start frame delimiter.
pub const PREAMBLE_LEN: usize = 8;
/// Seven octets of preamble and the start frame delimiter, as octets whose least significant bit
/// is sent first (clause 4.2.5).
pub const PREAMBLE_AND_SFD: [u8; PREAMBLE_LEN] = [0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xD5];
/// The longest packet: preamble, SFD and frame.
pub const MAX_PACKET_LEN: usize = PREAMBLE_LEN + MAX_FRAME_LEN;
