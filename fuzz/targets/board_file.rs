//! Any text as a board file; what is accepted serves requests.
#![no_main]

use linerate_sim::chip::soft_soc::file;
use linerate_sim::memsys::{Fabric, HartPorts};

libfuzzer_sys::fuzz_target!(|text: &str| {
    match file::parse(text, "fuzz.toml") {
        Err(error) => assert!(error.to_string().starts_with("fuzz.toml:"), "{error}"),
        Ok(board) => {
            let config = board.config;
            let mut fabric = Fabric::new(&config.topology).expect("checked by the parser");
            let mut ports = HartPorts::new(config.ports.clone());
            let mut now = 0;
            for memory in &config.memories {
                for offset in [0, 4, memory.size / 2, memory.size - 4] {
                    let at = now;
                    now = ports.load(memory.base + offset, 4, at, &mut fabric);
                    now = ports.store(memory.base + offset, 4, now, &mut fabric);
                    assert!(now >= at);
                    now = now.next_multiple_of(config.ports.period);
                }
            }
        }
    }
});
