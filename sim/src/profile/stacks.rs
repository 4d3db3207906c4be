//! Call stacks as a tree, and the program's position in it.

use super::Stack;
use super::functions::{FunctionId, Functions};

/// Deeper calls are treated as jumps.
const MAX_DEPTH: usize = 256;
/// Name of the time without execution.
const SLEEP_NAME: &str = "waits for an interrupt";

/// A function with a call path.
#[derive(Debug)]
struct Node {
    function: FunctionId,
    parent: Option<u32>,
    children: Vec<u32>,
    interrupt: bool,
    cycles: u64,
    calls: u64,
}

/// A call that has not returned.
#[derive(Debug, Clone, Copy)]
struct Call {
    node: u32,
    return_addr: u32,
}

/// The calls of the main thread or of one interrupt, the innermost last. Never empty.
#[derive(Debug)]
struct Thread {
    calls: Vec<Call>,
}

/// The tree and the current position.
#[derive(Debug)]
pub(super) struct Stacks {
    nodes: Vec<Node>,
    /// The main thread, and the nested interrupts.
    threads: Vec<Thread>,
    /// Outermost functions.
    roots: Vec<u32>,
    asleep: u64,
}

impl Stacks {
    pub fn new(entry: FunctionId) -> Self {
        let mut stacks = Self {
            nodes: Vec::new(),
            threads: Vec::new(),
            roots: Vec::new(),
            asleep: 0,
        };
        stacks.restart(entry);
        stacks
    }

    /// Restarts with only `entry` running.
    pub fn restart(&mut self, entry: FunctionId) {
        self.threads.clear();
        self.open(entry, false, 0);
    }

    /// Clears the charged cycles; keeps the position.
    pub fn clear(&mut self) {
        for node in &mut self.nodes {
            (node.cycles, node.calls) = (0, 0);
        }
        self.asleep = 0;
    }

    /// Opens a thread with `function` as the outermost one.
    fn open(&mut self, function: FunctionId, interrupt: bool, return_addr: u32) {
        let node = self.child(None, function, interrupt);
        self.nodes[node as usize].calls += 1;
        let calls = vec![Call { node, return_addr }];
        self.threads.push(Thread { calls });
    }

    fn child(&mut self, parent: Option<u32>, function: FunctionId, interrupt: bool) -> u32 {
        let siblings = match parent {
            Some(parent) => &self.nodes[parent as usize].children,
            None => &self.roots,
        };
        let fits = |&&node: &&u32| {
            let node = &self.nodes[node as usize];
            node.function == function && node.interrupt == interrupt
        };
        if let Some(&node) = siblings.iter().find(fits) {
            return node;
        }
        let id = self.nodes.len() as u32;
        self.nodes.push(Node {
            function,
            parent,
            children: Vec::new(),
            interrupt,
            cycles: 0,
            calls: 0,
        });
        match parent {
            Some(parent) => self.nodes[parent as usize].children.push(id),
            None => self.roots.push(id),
        }
        id
    }

    fn thread(&mut self) -> &mut Thread {
        let last = self.threads.len() - 1;
        &mut self.threads[last]
    }

    fn top(&self) -> Call {
        let calls = &self.threads[self.threads.len() - 1].calls;
        calls[calls.len() - 1]
    }

    /// The function that runs.
    pub fn function(&self) -> FunctionId {
        self.nodes[self.top().node as usize].function
    }

    /// True if an interrupt runs.
    pub fn in_interrupt(&self) -> bool {
        self.threads.len() > 1
    }

    /// Charges `cycles` to the running function.
    pub fn charge(&mut self, cycles: u64) {
        let top = self.top().node;
        self.nodes[top as usize].cycles += cycles;
    }

    /// Charges `cycles` to waiting.
    pub fn charge_asleep(&mut self, cycles: u64) {
        self.asleep += cycles;
    }

    /// An interrupt or exception begins in `handler` and will return to `return_addr`.
    pub fn trap(&mut self, handler: FunctionId, return_addr: u32) {
        if self.threads.len() < MAX_DEPTH {
            self.open(handler, true, return_addr);
        }
    }

    /// The innermost trap returns to `next`.
    pub fn end_of_trap(&mut self, next: u32, functions: &mut Functions) {
        if self.threads.len() > 1 {
            self.threads.pop();
        }
        self.move_to(next, functions);
    }

    /// `function` is called and will return to `return_addr`.
    pub fn call(&mut self, function: FunctionId, return_addr: u32) {
        let Call { node, .. } = self.top();
        let interrupt = self.nodes[node as usize].interrupt;
        if self.thread().calls.len() >= MAX_DEPTH {
            return;
        }
        let node = self.child(Some(node), function, interrupt);
        self.nodes[node as usize].calls += 1;
        self.thread().calls.push(Call { node, return_addr });
    }

    /// A function returns to `next`: pops to the innermost call with that return address.
    pub fn return_to(&mut self, next: u32, functions: &mut Functions) {
        let calls = &mut self.thread().calls;
        if let Some(at) = calls.iter().rposition(|call| call.return_addr == next)
            && at > 0
        {
            calls.truncate(at);
        }
        self.move_to(next, functions);
    }

    /// The program is at `pc`: if that is another function, it replaces the running one.
    pub fn move_to(&mut self, pc: u32, functions: &mut Functions) {
        let Call { node, return_addr } = self.top();
        let Node {
            function,
            parent,
            interrupt,
            ..
        } = self.nodes[node as usize];
        if functions.range(function).contains(&pc) {
            return;
        }
        let node = self.child(parent, functions.at(pc), interrupt);
        self.nodes[node as usize].calls += 1;
        let calls = &mut self.thread().calls;
        calls.pop();
        calls.push(Call { node, return_addr });
    }

    /// Every stack with cycles.
    pub fn list(&self, functions: &Functions) -> Vec<Stack> {
        let spent = self.nodes.iter().filter(|node| node.cycles > 0);
        let mut stacks: Vec<Stack> = spent
            .map(|node| Stack {
                interrupt: node.interrupt,
                functions: self.path(node, functions),
                cycles: node.cycles,
                calls: node.calls,
            })
            .collect();
        if self.asleep > 0 {
            stacks.push(Stack {
                interrupt: false,
                functions: vec![SLEEP_NAME.to_owned()],
                cycles: self.asleep,
                calls: 0,
            });
        }
        stacks
    }

    fn path(&self, node: &Node, functions: &Functions) -> Vec<String> {
        let up = |node: &&Node| node.parent.map(|parent| &self.nodes[parent as usize]);
        let mut path: Vec<String> = core::iter::successors(Some(node), up)
            .map(|node| functions.name(node.function).to_owned())
            .collect();
        path.reverse();
        path
    }
}
