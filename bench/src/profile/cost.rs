//! Totals of the counts.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Layer;
use super::counts::Count;
use super::symbols::{Location, Owner};

/// Cost of a layer or a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Its own instructions.
    pub own: u64,
    /// Those of the language's library that it called: divisions, comparisons, bounds.
    pub library: u64,
    /// Those that moved, set or compared octets for it.
    pub copies: u64,
    /// Reads of devices' registers.
    pub reads: u64,
    /// Writes to them.
    pub writes: u64,
}

impl Cost {
    /// All instructions.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.own + self.library + self.copies
    }

    fn add(&mut self, count: &Count) {
        self.own += count.executed;
        self.library += count.library;
        self.copies += count.copied;
        self.reads += count.reads;
        self.writes += count.writes;
    }
}

/// Cost of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LayerCost {
    /// The layer.
    pub layer: Layer,
    /// Its cost.
    #[serde(flatten)]
    pub cost: Cost,
}

/// Cost of a function, wherever it was inlined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its source file.
    pub file: String,
    /// Its layer.
    pub layer: Layer,
    /// Its cost.
    #[serde(flatten)]
    pub cost: Cost,
}

/// Totals of all counts.
pub(super) struct Totals {
    /// All instructions, wherever they are counted.
    pub executed: u64,
    /// Every layer with a cost.
    pub layers: Vec<LayerCost>,
    /// Every function, highest cost first.
    pub functions: Vec<Function>,
}

impl Totals {
    pub(super) fn of(locations: impl IntoIterator<Item = (Location, Count)>) -> Self {
        let mut layers: BTreeMap<Layer, Cost> = BTreeMap::new();
        let mut functions: BTreeMap<(Layer, String, String), Cost> = BTreeMap::new();
        let mut executed = 0;
        for (location, count) in locations {
            executed += count.executed;
            let (layer, count) = match location.owner {
                Owner::Layer(layer) => (layer, count),
                // Its instructions are in the caller's library count; the caller of its register accesses
                // is unknown.
                Owner::Caller | Owner::CopiesForCaller => {
                    let Count { reads, writes, .. } = count;
                    let count = Count {
                        reads,
                        writes,
                        ..Count::default()
                    };
                    (Layer::Unknown, count)
                }
            };
            if count == Count::default() {
                continue;
            }
            layers.entry(layer).or_default().add(&count);
            let key = (layer, location.function, location.file);
            functions.entry(key).or_default().add(&count);
        }
        let mut functions: Vec<Function> = functions
            .into_iter()
            .map(|((layer, name, file), cost)| Function {
                name,
                file,
                layer,
                cost,
            })
            .collect();
        functions.sort_by_key(|it| std::cmp::Reverse(it.cost.all()));
        Self {
            executed,
            layers: layers
                .into_iter()
                .map(|(layer, cost)| LayerCost { layer, cost })
                .collect(),
            functions,
        }
    }
}
