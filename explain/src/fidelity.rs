//! Fidelity.
