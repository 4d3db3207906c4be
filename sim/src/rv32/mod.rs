//! An RV32IMAC hart with machine mode, exact in its cycles at every access to the chip.
//!
//! # Pipeline
//! The rules that the figures of [`Timing`] belong to. They were fitted to measurements of an
//! ESP32-C6 (the `cycle_counting` example of <https://github.com/timonvo/niccle>, 36 loops with
//! 1, 2, 3, 4 and 1000 rounds), all of whose 180 rows they reproduce.
//!
//! 1. An instruction takes one cycle; a load one more if the next instruction uses its result.
//! 2. A conditional branch is predicted taken if it goes backward, else not taken. A wrong
//!    prediction takes 3.
//! 3. A direct jump, and a branch that is rightly predicted taken, takes 1 if the branch-target
//!    buffer knows it, else 2. It is put into the buffer when it is decoded, so even if the
//!    prediction was wrong. The oldest entry makes room.
//! 4. After a wrong prediction, the first instruction on the wrong path was decoded, too: if it is
//!    a direct jump, the buffer knows it from then on.
//! 5. A jump that the buffer knew, and that lands on a direct jump, takes one more.
//! 6. If fetching starts anew at a 32-bit instruction that straddles a word, that takes one more.
//!
//! # Speed
//! Straight runs of instructions are translated once into blocks of compact operations, linked to
//! what follows them; the cycles that are known beforehand are added up then. Frequent sequences of
//! operations are one step, and hand their results on without the register file. The cycle of each
//! access to the chip is still that of its own instruction, and the hart stops at a deadline to the
//! instruction.

mod arith;
mod block;
mod border;
mod compressed;
mod csr;
mod decode;
mod elsewhere;
mod execute;
mod hart;
mod index;
mod instr;
mod op;
mod platform;
mod predict;
mod sequence;
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
