//! The receive loop counts itself: what its documentation says of its length, confirmed or refuted.

use esp32c6_bitbang::{
    event, info,
    phy::{PAIR_CYCLES, count_rounds},
};

/// Rounds to count: the first one, in which the branch back is met for the first time, apart.
const ROUNDS: [u32; 3] = [1, 2, 1001];

/// Counts and prints a row for the loop that is always late and one for the loop that is always
/// early: between them lies what its steering can make up for.
pub fn report() {
    let mut room = [0u16; ROUNDS[2] as usize + 1];
    // SAFETY: two octets in place of each pair; every value is one.
    let room = unsafe {
        core::slice::from_raw_parts_mut(room.as_mut_ptr().cast::<u8>(), size_of_val(&room))
    };
    // SAFETY: lets the counter count cycles; no other effect.
    unsafe { core::arch::asm!("csrwi 0x7e0, 1", "csrwi 0x7e1, 1") }
    for (late, expected) in [true, false].into_iter().zip(PAIR_CYCLES) {
        let cycles = ROUNDS.map(|rounds| count_rounds(room, rounds, !late));
        let millicycles = (cycles[2] - cycles[0]) as u64 * 1000 / u64::from(ROUNDS[2] - ROUNDS[0]);
        let what = if late { "late" } else { "early" };
        let holds = millicycles == u64::from(expected) * 1000;
        info!(
            "receive loop, two octets, {what:5}: {}.{:03} cycles, expected {expected}: {}",
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
            "\"what\":\"receive, two octets, {what}\",\"rounds\":{ROUNDS:?},\"cycles\":{cycles:?},\
             \"expected\":{expected},\"holds\":{holds}"
        );
    }
}
