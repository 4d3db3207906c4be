//! An RV32IMAC hart with machine mode, exact in its cycles at every access to the chip.

mod block;
mod compressed;
mod csr;
mod decode;
mod execute;
mod hart;
mod instr;
mod platform;
mod predict;
mod timing;
mod trap;

pub use compressed::expand;
pub use csr::{Identity, number as csr_number};
pub use decode::{decode, length};
pub use hart::{Hart, HartConfig};
pub use instr::{Instr, Kind};
pub use platform::{AccessFault, IllegalCsr, Platform, RomCall, Width};
pub use timing::Timing;
pub use trap::{Cause, Fault, Stop};
