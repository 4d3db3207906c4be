//! Totals of the counts.

use std::collections::BTreeMap;

use linerate_results::record::{FunctionCost, InstructionCost, Layer};

use super::counts::Count;
use super::symbols::{Location, Owner};

fn add(cost: &mut InstructionCost, count: &Count) {
    cost.own += count.executed;
    cost.library += count.library;
    cost.copies += count.copied;
    cost.reads += count.reads;
    cost.writes += count.writes;
}

/// Totals of all counts.
pub(super) struct Totals {
    /// All instructions, wherever they are counted.
    pub executed: u64,
    /// Every layer with a cost.
    pub layers: BTreeMap<Layer, InstructionCost>,
    /// Every function, highest cost first.
    pub functions: Vec<FunctionCost>,
}

impl Totals {
    pub(super) fn of(locations: impl IntoIterator<Item = (Location, Count)>) -> Self {
        let mut layers: BTreeMap<Layer, InstructionCost> = BTreeMap::new();
        let mut functions: BTreeMap<(Layer, String, String), InstructionCost> = BTreeMap::new();
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
            add(layers.entry(layer).or_default(), &count);
            let key = (layer, location.function, location.file);
            add(functions.entry(key).or_default(), &count);
        }
        let mut functions: Vec<FunctionCost> = functions
            .into_iter()
            .map(|((layer, name, file), cost)| FunctionCost {
                name,
                file,
                layer,
                cost,
            })
            .collect();
        functions.sort_by_key(|it| std::cmp::Reverse(it.cost.all()));
        Self {
            executed,
            layers,
            functions,
        }
    }
}
