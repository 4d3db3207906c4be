//! The cases: one file per subject, one entry of [`CASES`] per case.

mod address;
mod length;
mod link;
mod ring;
mod state;

use super::Case;

/// Lengths here are without FCS. All devices accept frames from this length on unchanged; shorter ones have
/// separate cases.
const SHORT: usize = 64;
/// The longest frame, without and with a tag.
const MAX_LEN: usize = 1_514;
const MAX_TAGGED_LEN: usize = 1_518;

/// Every case, from the simple to those that build on it.
pub const CASES: &[Case] = &[
    Case {
        name: "lengths",
        about: "frames of every length from 68 to 1518 octets",
        run: length::all,
    },
    Case {
        name: "shortest",
        about: "frames of 64 to 67 octets keep their length",
        run: length::shortest,
    },
    Case {
        name: "runts",
        about: "shorter frames do no harm, and are counted if they are rejected",
        run: length::runts,
    },
    Case {
        name: "tagged",
        about: "frames with a VLAN tag, to 1522 octets",
        run: length::tagged,
    },
    Case {
        name: "over-long",
        about: "longer frames are rejected and counted",
        run: length::over_long,
    },
    Case {
        name: "wrap",
        about: "several times around the rings, one frame at a time and many",
        run: ring::wrap,
    },
    Case {
        name: "bursts",
        about: "bursts of frames back to back, as long as the device can buffer",
        run: ring::bursts,
    },
    Case {
        name: "exhaustion",
        about: "more frames than there are buffers: the rest arrives, and later ones",
        run: ring::exhaustion,
    },
    Case {
        name: "overrun-count",
        about: "frames lost for lack of buffers are counted",
        run: ring::overrun_count,
    },
    Case {
        name: "transmit-full",
        about: "the device sends more than its ring holds: all arrives in order",
        run: ring::transmit_full,
    },
    Case {
        name: "filter",
        about: "own address and broadcasts are accepted, other stations' and groups' are not",
        run: address::filter,
    },
    Case {
        name: "link",
        about: "the link goes down and up: it is reported and counted, frames pass again",
        run: link::down_and_up,
    },
    Case {
        name: "restart",
        about: "the device is stopped and started under load",
        run: state::restart,
    },
    Case {
        name: "random",
        about: "frames of random sizes, each one's content compared",
        run: state::random,
    },
];
