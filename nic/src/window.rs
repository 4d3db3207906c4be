//! The TCP receive window that a receive queue can keep.
//!
//! A sender may have a whole window in flight without hearing from the receiver. If the receiver is
//! slower than the line, all of it lies in the receive queue before the stack sees the first byte.
//! So that no frame of it is lost, every full-sized segment of the window must fit:
//!
//! ```text
//! window = MSS x (frames that always fit - frames kept for everybody else)
//! ```
//!
//! "Always fit" is [`Queue::guaranteed_frames`](crate::queue::Queue::guaranteed_frames), which
//! includes the frame that the stack is reading. MSS is the IP MTU less the IP and TCP headers
//! (RFC 9293 section 3.7.1): 1460 for IPv4. For example a queue for 9 raw frames takes 10 x 384
//! words = 15360 bytes of memory; with 2 frames kept for others its window is 7 x 1460 = 10220
//! bytes, which at 10 Mbit/s arrive in 8.6 ms.
//!
//! What a window cannot promise: a sender that fills it with segments shorter than the MSS sends
//! more frames than counted here. These take less room each, but a header word and the padding of
//! each are not accounted for; frames kept for others cover that too.

/// Header octets of IPv4 without options (RFC 791).
pub const IPV4_HEADER_LEN: usize = 20;
/// Header octets of TCP without options (RFC 9293).
pub const TCP_HEADER_LEN: usize = 20;

/// The largest segment's data, in octets, for IPv4 over an IP MTU of `mtu` octets.
pub const fn mss(mtu: usize) -> usize {
    mtu.saturating_sub(IPV4_HEADER_LEN + TCP_HEADER_LEN)
}

/// The TCP receive window in octets for a queue that always takes `queue_frames` of the longest
/// frames, of which `others` are kept for what is not this connection's data (ARP, broadcasts,
/// a second connection's SYN, a probe). At least one segment.
///
/// ```
/// use linerate_nic::{mac, window};
/// const WORDS: usize = mac::receiver_words(9);
/// const WINDOW: usize = window::receive_window(mac::Receiver::<WORDS>::FRAMES, 2, window::mss(1500));
/// assert_eq!(WINDOW, 10_220);
/// ```
pub const fn receive_window(queue_frames: usize, others: usize, mss: usize) -> usize {
    let frames = queue_frames.saturating_sub(others);
    mss * if frames == 0 { 1 } else { frames }
}
