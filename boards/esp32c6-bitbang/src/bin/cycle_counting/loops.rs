//! The PHY's loops count their own cycles, to confirm or refute their documented length. GPIO7 shows the
//! output of the transmit loop.

use esp32c6_bitbang::{event, info, phy};

/// Counts the loops and prints a row for each. The receive loop of `line-rate` is counted always late and
/// always early: its synchronization covers the range between the two.
pub fn report() {
    for count in phy::count_loops(100) {
        let (what, written, holds) = (count.what, count.written, count.holds());
        let millicycles = count.millicycles();
        info!(
            "loop: {what:26} {}.{:03} cycles, written for {written}: {}",
            millicycles / 1000,
            millicycles % 1000,
            if holds {
                "as claimed"
            } else {
                "NOT as claimed"
            }
        );
        event!(
            "loop",
            "\"what\":\"{what}\",\"millicycles\":{millicycles},\"written\":{written},\"holds\":{holds}"
        );
    }
}
