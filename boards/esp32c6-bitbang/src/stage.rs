//! What the firmware's variants are: the four stages of the article "Implementing and optimizing an Ethernet 10BASE-T MAC layer for
//! maximum throughput" (Timon Van Overveldt, 2024), and one that goes on from there.
//!
//! | stage | frame is checked | between PHY and queue | code and `memcpy` | TCP window |
//! |---|---|---|---|---|
//! | `isr-all` | in the interrupt | copied | flash (PHY loops: RAM) | 10,240 octets |
//! | `main-thread` | on the main thread | copied | flash; `memcpy`, interrupt: RAM | 10,240 octets |
//! | `zero-copy` | on the main thread | received in place | RAM | about the queue |
//! | `windowed` | on the main thread | received in place | RAM | less than the queue |
//! | `line-rate` | as it is received | received in place | RAM | less than a larger queue |
//!
//! The first two also align, check and copy as slowly as the article's code (feature
//! `article-mac`). `windowed-article` is `windowed` with that: what the article's last stage does
//! here, beside which `windowed` shows what our MAC buys.

use linerate_nic::{mac, window};

use crate::config;

/// The stage's name, as in results.
pub const NAME: &str = if cfg!(feature = "isr-all") {
    "isr-all"
} else if cfg!(feature = "main-thread") {
    "main-thread"
} else if cfg!(feature = "zero-copy") {
    "zero-copy"
} else if cfg!(feature = "windowed-article") {
    "windowed-article"
} else if cfg!(feature = "line-rate") {
    "line-rate"
} else {
    "windowed"
};

/// How receptions are aligned and checked: with the libraries of the article's implementation, or by
/// words.
#[cfg(not(feature = "line-rate"))]
type Check = cfg_select! {
    feature = "article-mac" => { crate::naive::Bitvec }
    _ => { mac::Wordwise }
};

/// Who does what between PHY and stack.
pub type Receive = cfg_select! {
    feature = "isr-all" => { mac::IsrAll<Check> }
    feature = "main-thread" => { mac::MainThread<Check> }
    feature = "zero-copy" => { mac::ZeroCopy<Check> }
    feature = "line-rate" => { mac::LineRate }
    _ => { mac::Windowed<Check> }
};

/// The longest frames that the receive queue takes in a row.
pub const QUEUE_FRAMES: usize = if cfg!(feature = "line-rate") {
    config::queue_frames(38)
} else if cfg!(feature = "windowed") {
    9
} else {
    10
};

/// The receive queue's size in words.
pub const QUEUE_WORDS: usize = mac::receiver_words(QUEUE_FRAMES);

/// Frames of the queue that are kept free of a TCP connection's data: in the last stage those to
/// groups, and as many for other connections.
const OTHERS: usize = if cfg!(feature = "line-rate") {
    2 * mac::GROUP_FRAMES
} else {
    2
};

const MSS: usize = window::mss(1500);

/// A TCP socket's receive buffer in bytes, which is the window that it offers: in the first two
/// stages what the article's capture of that time shows, then as much as the queue holds, then as
/// much as the queue can keep beside others' frames.
pub const TCP_WINDOW: usize = if cfg!(any(feature = "windowed", feature = "line-rate")) {
    window::receive_window(QUEUE_FRAMES, OTHERS, MSS)
} else if cfg!(feature = "zero-copy") {
    QUEUE_FRAMES * MSS
} else {
    10_240
};

/// A TCP socket's transmit buffer in bytes, where a program has much to send.
pub const TX_BUFFER: usize = 22 * MSS;
