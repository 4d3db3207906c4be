//! The TCP receive window that a receive queue can buffer.
//!
//! A sender may have a full window in flight without an acknowledgment from the receiver. If the
//! receiver is slower than the line, all of it is in the receive queue before the stack reads the
//! first byte. To lose no frame of it, all full-sized segments of the window must fit:
//!
//! ```text
//! window = MSS x (frames that always fit - frames kept for everybody else)
//! ```
//!
//! "Always fit" is [`Queue::guaranteed_frames`](crate::queue::Queue::guaranteed_frames), which
//! includes the frame that the stack is reading. MSS is the IP MTU less the IP and TCP headers (RFC
//! 9293 section 3.7.1): 1460 for IPv4. For example, a queue for 9 raw frames takes 10 x 384 words =
//! 15360 bytes of memory; with 2 frames kept for others its window is 7 x 1460 = 10220 bytes, which
//! arrive in 8.6 ms at 10 Mbit/s.
//!
//! A window does not cover a sender that fills it with segments shorter than the MSS: it sends more
//! frames than counted here. Each of these takes less room, but their header words and padding are
//! not accounted for; frames kept for others cover that too.

/// Header octets of IPv4 without options (RFC 791).
pub const IPV4_HEADER_LEN: usize = 20;
/// Header octets of TCP without options (RFC 9293).
pub const TCP_HEADER_LEN: usize = 20;

/// Maximum segment size in octets, for IPv4 over an IP MTU of `mtu` octets.
pub const fn mss(mtu: usize) -> usize {
    mtu.saturating_sub(IPV4_HEADER_LEN + TCP_HEADER_LEN)
}

/// TCP receive window in octets for a queue that always takes `queue_frames` frames of maximum
/// length, of which `others` are kept for other traffic (ARP, broadcasts, a second connection's
/// SYN, a probe). At least one segment.
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
