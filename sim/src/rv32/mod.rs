//! An RV32IMAC hart with machine mode, exact in its cycles at every access to the chip.
//!
//! # Pipeline
//! The rules to which the figures of [`Timing`] apply. They were fitted to measurements of an
//! ESP32-C6 (the `cycle_counting` example of <https://github.com/timonvo/niccle>, 36 loops with 1,
//! 2, 3, 4 and 1000 rounds), and they reproduce all of its 180 rows.
//!
//! 1. An instruction takes one cycle; a load one more if the next instruction uses its result.
//! 2. A conditional branch is predicted taken if it goes backward, else not taken. A wrong
//!    prediction takes 3.
//! 3. A direct jump, and a branch that is correctly predicted taken, takes 1 if it is in the
//!    branch-target buffer, else 2. It enters the buffer when it is decoded, even if the prediction
//!    was wrong. The oldest entry is replaced.
//! 4. After a wrong prediction, the first instruction on the wrong path was also decoded: if it is
//!    a direct jump, it is in the buffer from then on.
//! 5. A jump that was in the buffer and lands on a direct jump takes one more.
//! 6. If fetching restarts at a 32-bit instruction that straddles a word, it takes one more.
//!
//! # Speed
//! Straight runs of instructions are translated once into blocks of compact operations, linked to
//! their successors; statically known cycles are added up at translation. Frequent sequences of
//! operations are one step and forward their results without the register file. Each access to the
//! chip still has the cycle of its own instruction, and the hart stops at a deadline exactly to the
//! instruction.

mod arith;
mod block;
mod block_index;
mod compressed;
mod csr;
mod decode;
mod dispatch;
mod execute;
mod hart;
mod instr;
mod op;
mod platform;
mod predict;
mod sequence;
mod slow_path;
mod timing;
mod translate;
mod trap;
mod value;

pub use compressed::expand;
pub use csr::{Identity, number as csr_number};
pub use decode::{decode, length};
pub use hart::{Hart, HartConfig};
pub use instr::{Instr, Kind};
pub use platform::{AccessFault, IllegalCsr, Platform, RomCall, Width};
pub use timing::Timing;
pub use trap::{Cause, Fault, Stop};
