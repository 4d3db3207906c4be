use super::counts::{Count, SimulatedCounts};
use super::symbols::{Location, Owner};
use super::*;
use linerate_results::record::{Describe as _, Layer};

#[test]
fn the_folder_of_a_file_gives_its_layer() {
    for (file, layer) in [
        (
            "/linerate/agent/src/iperf2/tcp.rs",
            Some(Layer::Application),
        ),
        (
            "/linerate/agent/firmware/src/frames.rs",
            Some(Layer::Application),
        ),
        ("/linerate/agent/firmware/src/run.rs", Some(Layer::MainLoop)),
        (
            "/linerate/boards/qemu-sabrelite/src/machine.rs",
            Some(Layer::MainLoop),
        ),
        ("/linerate/agent/smoltcp/src/tcp.rs", Some(Layer::Stack)),
        ("/linerate/nic/src/adapter/smoltcp.rs", Some(Layer::Stack)),
        ("/crates/smoltcp-0.14.0/src/wire/ip.rs", Some(Layer::Stack)),
        ("/linerate/nic/src/dma/ring/mod.rs", Some(Layer::Driver)),
        (
            "/linerate/boards/qemu-sabrelite/lwip/machine.c",
            Some(Layer::MainLoop),
        ),
        ("/linerate/boards/lwip/main.c", Some(Layer::MainLoop)),
        ("/crates/lwip-0.4.0/src/core/tcp_in.c", Some(Layer::Stack)),
        ("/linerate/nic/c/lwip/linerate_netif.c", Some(Layer::Stack)),
        ("/linerate/nic/c/src/drive.rs", Some(Layer::Stack)),
        (
            "/linerate/agent/c/lwip/linerate_agent_lwip.c",
            Some(Layer::Stack),
        ),
        ("/linerate/agent/c/src/drive.rs", Some(Layer::Application)),
        (
            "/home/somebody/linerate/nic/src/enet/net.rs",
            Some(Layer::Driver),
        ),
        // Libraries count for their callers.
        ("/linerate/nic/src/mmio.rs", None),
        ("/linerate/ether/src/checksum.rs", None),
        ("/rustc/0123/library/core/src/slice/mod.rs", None),
        ("/rustc/0123/library/compiler-builtins/src/mem/mod.rs", None),
    ] {
        assert_eq!(layer::of(file), layer, "{file}");
    }
}

fn location(owner: Owner, function: &str) -> Location {
    Location {
        owner,
        function: function.to_owned(),
        file: String::new(),
    }
}

fn profile(locations: Vec<(Location, Count)>) -> InstructionProfile {
    let request = ProfileRequest {
        target: "qemu://board".to_owned(),
        variant: None,
        program: Workload::Tcp,
        direction: Direction::ToDevice,
        octets: 0,
        null: false,
    };
    total(&request, "board", "variant", (10, 5), locations)
}

#[test]
fn library_code_counts_for_its_caller_once() {
    let own = |executed, library, copied| Count {
        executed,
        library,
        copied,
        ..Count::default()
    };
    let stack = Owner::Layer(Layer::Stack);
    let driver = Owner::Layer(Layer::Driver);
    let profile = profile(vec![
        (location(stack, "emit"), own(100, 0, 300)),
        (location(stack, "emit"), own(50, 0, 0)),
        (location(driver, "consume"), own(40, 7, 20)),
        (location(Owner::Caller, "__udivdi3"), own(7, 0, 0)),
        (location(Owner::CopiesForCaller, "memcpy"), own(320, 0, 0)),
    ]);
    assert_eq!(profile.metrics.instructions, 517);
    assert_eq!(profile.failures(), [""; 0]);
    assert_eq!(profile.metrics.layer(Layer::Stack).own, 150);
    assert_eq!(profile.metrics.layer(Layer::Stack).copies, 300);
    assert_eq!(profile.metrics.layer(Layer::Driver).all(), 67);
    let names = profile.metrics.functions.iter().map(|it| it.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["emit", "consume"]);
}

#[test]
fn accesses_to_registers_are_those_of_the_instruction() {
    let access = Count {
        executed: 30,
        reads: 20,
        writes: 10,
        ..Count::default()
    };
    let layer = Owner::Layer(Layer::Driver);
    let profile = profile(vec![(location(layer, "take"), access)]);
    let driver = profile.metrics.layer(Layer::Driver);
    assert_eq!((driver.reads, driver.writes), (20, 10));
    assert!((profile.metrics.per_frame(driver.reads) - 2.0).abs() < 1e-9);
    let table = tables(&profile, 5).to_string();
    assert!(
        table.contains("10 frames, 5 back; a frame takes 3 instructions"),
        "{table}"
    );
    assert!(table.contains("100.0%    2.00    1.00  driver"), "{table}");
}

#[test]
fn the_simulator_counts_library_code_for_its_caller() {
    let (stack, driver) = (Owner::Layer(Layer::Stack), Owner::Layer(Layer::Driver));
    let owners = [
        (stack, "emit"),
        (driver, "consume"),
        (Owner::Caller, "__udivdi3"),
        (Owner::CopiesForCaller, "memcpy"),
        (Owner::Layer(Layer::Unknown), "outside"),
    ];
    let locations = owners.map(|(owner, function)| location(owner, function));
    let counts = SimulatedCounts::of(0x100..0x108, locations.to_vec());
    counts.executed(0x104, [0, 0]);
    let before = counts.read();
    for (address, accesses) in [
        (0x100, [0, 0]),
        (0x106, [0, 0]),
        (0x106, [0, 0]),
        // A compressed instruction has the address of a half word.
        (0x102, [1, 2]),
        (0x104, [0, 0]),
        (0x5000, [0, 0]),
    ] {
        counts.executed(address, accesses);
    }
    let profile = profile(counts.between(&before, &counts.read()));
    assert_eq!(profile.metrics.instructions, 6);
    let stack = profile.metrics.layer(Layer::Stack);
    assert_eq!((stack.own, stack.library, stack.copies), (1, 0, 2));
    let driver = profile.metrics.layer(Layer::Driver);
    assert_eq!((driver.own, driver.library, driver.copies), (1, 1, 0));
    assert_eq!((driver.reads, driver.writes), (1, 2));
    assert_eq!(profile.metrics.layer(Layer::Unknown).own, 1);
}
