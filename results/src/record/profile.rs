//! Where a processor's cycles went.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cycles by call stack, from the peer's first frame to the program's end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// Frequency of the processor, hertz.
    pub cycles_per_s: u64,
    /// Frames that the device's stack accepted meanwhile.
    pub frames: u64,
    /// Names of the functions that the stacks are made of. What was inlined belongs to the function
    /// that it was inlined into.
    pub functions: Vec<String>,
    /// Every stack in which time was spent.
    pub stacks: Vec<ProfileStack>,
}

/// A call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileStack {
    /// Whether an interrupt or exception opened it.
    pub interrupt: bool,
    /// Places in `functions`, the outermost first.
    pub path: Vec<u32>,
    /// CPU cycles in the innermost function itself.
    pub cycles: u64,
    /// How often that was entered this way.
    pub calls: u64,
}
