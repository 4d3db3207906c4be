//! The layer of a source file.

use linerate_results::record::Layer;

/// Layers by parts of paths; the first match decides. `None`: a library, which counts for its
/// caller.
const LAYERS_BY_PATH: [(&str, Option<Layer>); 22] = [
    ("/rustc/", None),
    ("/rust/library/", None),
    ("compiler-builtins", None),
    ("compiler_builtins", None),
    ("/agent/smoltcp/src/", Some(Layer::Stack)),
    // Boards read their clocks with it, too.
    ("/nic/src/mmio.rs", None),
    ("/nic/src/adapter/", Some(Layer::Stack)),
    ("/smoltcp-", Some(Layer::Stack)),
    // The variant in C: agents and their driver over lwIP; lwIP; its network interface over the drivers.
    ("/agent/c/lwip/", Some(Layer::Stack)),
    ("/agent/c/src/", Some(Layer::Application)),
    ("/lwip-", Some(Layer::Stack)),
    ("/nic/c/", Some(Layer::Stack)),
    ("/managed-", Some(Layer::Stack)),
    ("/heapless-", Some(Layer::Stack)),
    ("/agent/firmware/src/run.rs", Some(Layer::MainLoop)),
    ("/agent/firmware/src/console.rs", Some(Layer::MainLoop)),
    ("/boards/", Some(Layer::MainLoop)),
    ("/agent/firmware/src/null.rs", Some(Layer::Driver)),
    ("/agent/firmware/src/", Some(Layer::Application)),
    ("/agent/src/", Some(Layer::Application)),
    ("/nic/src/", Some(Layer::Driver)),
    // Code used by all layers: `ether`, `regs`, small crates.
    ("", None),
];

/// The layer of `file`; `None`: a library's.
#[must_use]
pub fn of(file: &str) -> Option<Layer> {
    LAYERS_BY_PATH
        .iter()
        .find(|(part, _)| file.contains(part))
        .and_then(|(_, layer)| *layer)
}
