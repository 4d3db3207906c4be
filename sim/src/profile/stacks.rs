//! Call stacks as a tree, and where in it the program is.

use super::Stack;
use super::functions::{FunctionId, Functions};

/// Deeper calls are taken for jumps.
const DEEPEST: usize = 256;
/// A name for what takes time without executing anything.
const ASLEEP: &str = "waits for an interrupt";

/// A function called from somewhere.
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
    back: u32,
}

/// The calls of the main thread or of one interrupt, the innermost last. Never empty.
#[derive(Debug)]
struct Thread {
    calls: Vec<Call>,
}

/// The tree and the place.
#[derive(Debug)]
pub(super) struct Stacks {
    nodes: Vec<Node>,
    /// The main thread, and the interrupts on top of each other.
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

    /// Nothing runs but `entry`.
    pub fn restart(&mut self, entry: FunctionId) {
        self.threads.clear();
        self.open(entry, false, 0);
    }

    /// Forgets what was charged; the place stays.
    pub fn clear(&mut self) {
        for node in &mut self.nodes {
            (node.cycles, node.calls) = (0, 0);
        }
        self.asleep = 0;
    }

    /// Opens a thread with `function` as its outermost one.
    fn open(&mut self, function: FunctionId, interrupt: bool, back: u32) {
        let node = self.child(None, function, interrupt);
        self.nodes[node as usize].calls += 1;
        let calls = vec![Call { node, back }];
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

    /// Whether an interrupt runs.
    pub fn in_interrupt(&self) -> bool {
        self.threads.len() > 1
    }

    /// The running function took `cycles`.
    pub fn charge(&mut self, cycles: u64) {
        let top = self.top().node;
        self.nodes[top as usize].cycles += cycles;
    }

    /// Nothing ran for `cycles`.
    pub fn charge_asleep(&mut self, cycles: u64) {
        self.asleep += cycles;
    }

    /// An interrupt or exception begins in `handler` and will come back to `back`.
    pub fn trap(&mut self, handler: FunctionId, back: u32) {
        if self.threads.len() < DEEPEST {
            self.open(handler, true, back);
        }
    }

    /// The innermost trap is over and the program goes on at `next`.
    pub fn end_of_trap(&mut self, next: u32, functions: &mut Functions) {
        if self.threads.len() > 1 {
            self.threads.pop();
        }
        self.settle(next, functions);
    }

    /// `function` is called and will come back to `back`.
    pub fn call(&mut self, function: FunctionId, back: u32) {
        let Call { node, .. } = self.top();
        let interrupt = self.nodes[node as usize].interrupt;
        if self.thread().calls.len() >= DEEPEST {
            return;
        }
        let node = self.child(Some(node), function, interrupt);
        self.nodes[node as usize].calls += 1;
        self.thread().calls.push(Call { node, back });
    }

    /// A function returns to `next`: to the innermost call that waits for that.
    pub fn ret(&mut self, next: u32, functions: &mut Functions) {
        let calls = &mut self.thread().calls;
        if let Some(at) = calls.iter().rposition(|call| call.back == next)
            && at > 0
        {
            calls.truncate(at);
        }
        self.settle(next, functions);
    }

    /// The program is at `pc`: if that is another function, it takes the running one's place.
    pub fn settle(&mut self, pc: u32, functions: &mut Functions) {
        let Call { node, back } = self.top();
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
        calls.push(Call { node, back });
    }

    /// Every stack with something in it.
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
                functions: vec![ASLEEP.to_owned()],
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
