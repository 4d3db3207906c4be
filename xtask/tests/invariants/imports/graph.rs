//! Strongly connected components of the files (Tarjan 1972).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A dependency: the file, the file that it depends on, and the name of the item.
pub type Edge = (PathBuf, PathBuf, String);

/// Sets of at least two files that all reach each other.
pub fn circles(edges: &[Edge]) -> Vec<BTreeSet<PathBuf>> {
    let mut search = Search::default();
    for (from, to, _) in edges {
        search.next.entry(from).or_default().insert(to);
    }
    let files: Vec<&PathBuf> = search.next.keys().copied().collect();
    for file in files {
        if !search.order.contains_key(file) {
            search.visit(file);
        }
    }
    search.found
}

#[derive(Default)]
struct Search<'a> {
    next: BTreeMap<&'a PathBuf, BTreeSet<&'a PathBuf>>,
    order: BTreeMap<&'a PathBuf, usize>,
    lowest: BTreeMap<&'a PathBuf, usize>,
    stack: Vec<&'a PathBuf>,
    found: Vec<BTreeSet<PathBuf>>,
}

impl<'a> Search<'a> {
    fn visit(&mut self, file: &'a PathBuf) -> usize {
        let order = self.order.len();
        self.order.insert(file, order);
        self.lowest.insert(file, order);
        self.stack.push(file);
        for next in self.next.get(file).cloned().unwrap_or_default() {
            let reached = match self.order.get(next) {
                None => self.visit(next),
                Some(order) if self.stack.contains(&next) => *order,
                Some(_) => continue,
            };
            let lowest = self.lowest[file].min(reached);
            self.lowest.insert(file, lowest);
        }
        let lowest = self.lowest[file];
        if lowest == order {
            let at = self.stack.iter().position(|it| *it == file).unwrap_or(0);
            let circle: BTreeSet<PathBuf> = self.stack.split_off(at).into_iter().cloned().collect();
            if circle.len() > 1 {
                self.found.push(circle);
            }
        }
        lowest
    }
}
