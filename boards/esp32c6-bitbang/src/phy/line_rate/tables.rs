//! Lookup tables of the loops, stored once in RAM, and inverse steps of the CRC register.

use linerate_ether::fcs::Tables as CrcTables;

/// The tables, in the order required by the receive loop.
#[repr(C)]
pub(super) struct Tables {
    /// CRC-32, an octet at a time, for both loops.
    pub crc: [u32; 256],
    /// For 8 samples, 1 = taken before the edge: twice the early ones minus twice the late ones.
    pub votes: [i8; 256],
}

/// Offset of the votes in [`Tables`].
pub(super) const VOTES_AT: usize = core::mem::offset_of!(Tables, votes);

#[unsafe(link_section = ".data.linerate_line_rate")]
pub(super) static TABLES: Tables = {
    let mut votes = [0; 256];
    let mut index = 0;
    while index < 256 {
        votes[index] = 2 * (2 * (index as u32).count_ones() as i8 - 8);
        index += 1;
    }
    Tables {
        crc: *CrcTables::<1>::new().bytewise(),
        votes,
    }
};

/// The CRC register from which `octets` lead to the initial register of a frame, all ones (IEEE 802.3 clause
/// 3.2.9): a loop that includes them in the sum starts from it.
pub(super) const fn register_before(octets: &[u8]) -> u32 {
    let tables = CrcTables::<1>::new();
    let table = tables.bytewise();
    let mut register = u32::MAX;
    let mut at = octets.len();
    while at > 0 {
        at -= 1;
        // The table's entries have 256 different high octets, so each step can be inverted.
        let mut index = 0;
        while table[index] >> 24 != register >> 24 {
            index += 1;
        }
        register = (register ^ table[index]) << 8 | (index as u32 ^ octets[at] as u32);
    }
    register
}
