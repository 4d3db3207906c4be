//! Work that runs at the same time: two tasks, or a list of items with a number of workers.

use crate::sh;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Runs `beside` in a thread and `here` in this one; returns the results of both. A panic of either is passed on
/// once both have ended.
pub fn both<A: Send, B>(beside: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> (A, B) {
    let is_low_priority = sh::is_low_priority();
    thread::scope(|scope| {
        let beside = scope.spawn(move || {
            sh::set_low_priority(is_low_priority);
            beside()
        });
        let here = here();
        match beside.join() {
            Ok(beside) => (beside, here),
            Err(panic) => resume_unwind(panic),
        }
    })
}

/// Calls `work` for each item, at most `workers` at a time; returns the results in the order of the items.
pub fn map<T: Sync, R: Send>(items: &[T], workers: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let is_low_priority = sh::is_low_priority();
    let worker = || {
        sh::set_low_priority(is_low_priority);
        let mut results = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return results;
            };
            results.push((index, work(item)));
        }
    };
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let started: Vec<_> = (0..workers.min(items.len()))
            .map(|_| scope.spawn(worker))
            .collect();
        let ended = started.into_iter().map(|thread| match thread.join() {
            Ok(results) => results,
            Err(panic) => resume_unwind(panic),
        });
        ended.flatten().collect()
    });
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Number of processor cores, at least 1.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::{both, map};
    use std::sync::Barrier;

    #[test]
    fn results_stand_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..50).collect();
        let doubled = map(&items, 3, |item| item * 2);
        assert_eq!(doubled, (0..50).map(|item| item * 2).collect::<Vec<_>>());
        assert!(map(&[] as &[u32], 2, |item| *item).is_empty());
    }

    #[test]
    fn two_tasks_run_at_the_same_time() {
        // Either waits for the other.
        let met = Barrier::new(2);
        let (left, right) = both(|| met.wait().is_leader(), || met.wait().is_leader());
        assert_ne!(left, right);
    }
}
