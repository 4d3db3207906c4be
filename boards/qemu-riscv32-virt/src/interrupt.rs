//! The variant `interrupt_per_frame`: the network device's interrupt is taken, and its handler receives the
//! frames.

use crate::Network;
use crate::interrupts;
use crate::machine::{claim, complete};
use linerate_agent_firmware::per_frame::{PerFrame, Shared};

static NETWORK: Shared<Network> = Shared::new();

/// Passes the device to the handler, once. From then on interrupts are taken.
pub fn share(device: Network) -> Option<PerFrame<Network>> {
    let device = NETWORK.share(device)?;
    // SAFETY: the handler shares data with the program through `critical_section` only.
    unsafe { interrupts::enable() };
    Some(device)
}

/// Receives what the device has.
pub extern "C" fn handle() {
    let interrupt = claim();
    NETWORK.receive_all();
    complete(interrupt);
}
