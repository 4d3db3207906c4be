//! Boards: a chip, a wire and a peer put together, and what was seen while they ran.

pub mod attribution;
