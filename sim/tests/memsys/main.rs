//! The timed memory system against slow, simple models of its rules, on random systems and traces:
//! each access completes at the same tick.

mod caches;
mod dram;
mod reference;
mod systems;
mod traces;
