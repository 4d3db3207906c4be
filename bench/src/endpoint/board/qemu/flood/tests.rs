//! Every board and variant under a flood.

use super::*;
use crate::endpoint::board::qemu::tests::installed;
use crate::endpoint::board::runner::PROGRAM;
use crate::firmware;
use linerate_results::record::Describe as _;

/// Maximum frames received in a round of the main loop (`agent/firmware/src/run.rs`).
const BUDGET: u64 = 16;

#[test]
fn every_frame_of_a_flood_is_delivered_or_lost_at_a_known_place() {
    for (board, folder) in installed() {
        for variant in &board.firmware.variants {
            let image = firmware::find(&folder, &board.name, PROGRAM, variant).expect("built");
            let name = format!("{} {variant}", board.name);
            let came = flood(&board, variant, &image.elf, Duration::from_secs(1));
            let came = came.unwrap_or_else(|error| panic!("{name}: {error}"));
            println!("{name}: {came:?}");
            assert_eq!(came.failures(), [""; 0], "{name}");
            // Several times more than the board can receive.
            assert!(
                came.metrics.sent_frames > 3 * came.ledger.delivered_frames,
                "{name}: {came:?}"
            );
            let (frames, _) = came.longest();
            if variant == "interrupt_per_frame" {
                assert!(frames > 4 * BUDGET, "{name}: {came:?}");
            } else {
                assert!(frames <= BUDGET, "{name}: {came:?}");
            }
        }
    }
}
