//! Random traces on random systems: the fast model and the reference give the same ticks.

use std::collections::VecDeque;

use linerate_sim::memsys::{Bus, Completion, Fabric, HartPorts, Request, Topology};
use proptest::prelude::*;

use super::dram::check;
use super::reference::{Reference, ReferenceFabric};
use super::systems::{DRAM, REMOTE, SRAM, UNCACHED, dram, ports, topology};

/// An access of the hart, `think` cycles after the last one was complete.
#[derive(Clone, Copy, Debug)]
enum HartAccess {
    Fetch(u32),
    Load(u32, u32),
    Store(u32, u32),
    Flush(u32),
    FlushSet(u32),
}

/// Addresses that meet in the same lines, rows and banks.
fn address() -> impl Strategy<Value = u32> {
    let base = prop_oneof![
        4 => Just(DRAM),
        2 => Just(SRAM),
        1 => Just(REMOTE),
        1 => Just(UNCACHED),
        1 => Just(0x90_0000_u32),
    ];
    let offset = prop_oneof![3 => 0..16_u32, 2 => 0..128_u32, 1 => 0..1024_u32];
    (base, offset).prop_map(|(base, word)| base + 4 * word)
}

fn accesses() -> impl Strategy<Value = Vec<(u64, HartAccess)>> {
    let access = prop_oneof![
        address().prop_map(HartAccess::Fetch),
        (address(), 0..3_u32).prop_map(|(addr, width)| HartAccess::Load(addr, 1 << width)),
        (address(), 0..3_u32).prop_map(|(addr, width)| HartAccess::Store(addr, 1 << width)),
        address().prop_map(HartAccess::Flush),
        address().prop_map(HartAccess::FlushSet),
    ];
    let think = prop_oneof![3 => Just(1_u64), 2 => 1..6_u64, 1 => 1..300_u64];
    prop::collection::vec((think, access), 1..60)
}

/// Requests of other masters: gap in cycles of their bus, master, address, words, write.
fn others() -> impl Strategy<Value = Vec<(u64, bool, u32, u32, bool)>> {
    let gap = prop_oneof![2 => 1..4_u64, 1 => 1..100_u64];
    let request = (gap, any::<bool>(), address(), 1..9_u32, any::<bool>());
    prop::collection::vec(request, 0..40)
}

/// Requests by time, each within a row: on the edges of the master's clock.
fn timed(topology: &Topology, others: &[(u64, bool, u32, u32, bool)]) -> Vec<(u64, Request)> {
    let mut now = 0;
    let timed = others.iter().map(|&(gap, remote, addr, words, write)| {
        let master = 2 + usize::from(remote);
        let period = topology.masters[master].period;
        now = (now + gap * period).next_multiple_of(period);
        let bytes = (4 * words).min(64 - addr % 64);
        let request = Request {
            master,
            addr,
            bytes,
            write,
        };
        (now, request)
    });
    timed.collect()
}

/// The fabric with other masters, as the owner of both connects them.
struct Shared {
    fabric: Fabric,
    others: VecDeque<(u64, Request)>,
}

impl Shared {
    fn run_others(&mut self, until: u64) {
        while self.others.front().is_some_and(|&(at, _)| at <= until) {
            let (at, request) = self.others.pop_front().unwrap();
            self.fabric.request(request, at);
        }
    }
}

impl Bus for Shared {
    fn request(&mut self, request: Request, at: u64) -> Option<Completion> {
        self.run_others(at);
        self.fabric.request(request, at)
    }
}

fn system() -> impl Strategy<Value = (Topology, linerate_sim::memsys::PortConfig)> {
    topology().prop_flat_map(|topology| {
        let period = topology.buses[0].period;
        (Just(topology), ports(period))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("LINERATE_LONG").is_some() { 3_000 } else { 300 }))]

    #[test]
    fn every_access_completes_at_the_tick_of_the_reference(
        (topology, config) in system(),
        accesses in accesses(),
        others in others(),
    ) {
        let others = timed(&topology, &others);
        let mut reference = Reference::new(&topology, config.clone(), &others);
        let period = config.period;
        let mut ports = HartPorts::new(config);
        let mut bus = Shared {
            fabric: Fabric::new(&topology).unwrap(),
            others: others.into_iter().collect(),
        };
        let mut now = 0;
        for (think, access) in accesses {
            now += think * period;
            // What the hart does when it stops for another master.
            while let Some(&(at, _)) = bus.others.front().filter(|&&(at, _)| at <= now) {
                ports.write_until(at, &mut bus);
                bus.run_others(at);
            }
            let (fast, slow) = match access {
                HartAccess::Flush(addr) => {
                    ports.flush(addr, now);
                    reference.flush(addr, now);
                    (now, now)
                }
                HartAccess::FlushSet(addr) => {
                    ports.flush_set(addr, now);
                    reference.flush_set(addr, now);
                    (now, now)
                }
                HartAccess::Fetch(addr) => {
                    let line = addr / ports.fetch_line_bytes();
                    let hits = ports.hits_fetch(line);
                    let ready = if hits { now } else { ports.fetch(line, now, &mut bus) };
                    (ready, reference.fetch(line, now))
                }
                HartAccess::Load(addr, bytes) => {
                    let hits = ports.hits_load(addr);
                    let ready = if hits { now } else { ports.load(addr, bytes, now, &mut bus) };
                    (ready, reference.load(addr, bytes, now))
                }
                HartAccess::Store(addr, bytes) => {
                    let hits = ports.hits_store(addr);
                    let ready = if hits { now } else { ports.store(addr, bytes, now, &mut bus) };
                    (ready, reference.store(addr, bytes, now))
                }
            };
            prop_assert_eq!(fast, slow, "{:x?} at {}", access, now);
            now = fast.next_multiple_of(period);
        }
    }

    #[test]
    fn requests_of_four_masters_complete_at_the_ticks_of_the_reference(
        topology in topology(),
        requests in prop::collection::vec((0..4_usize, address(), 1..17_u32, any::<bool>(), 0..20_u64), 1..100),
    ) {
        let mut fabric = Fabric::new(&topology).unwrap();
        let mut reference = ReferenceFabric::new(&topology);
        let mut now = 0;
        for (master, addr, words, write, gap) in requests {
            let period = topology.masters[master].period;
            now = (now + gap).next_multiple_of(period);
            let bytes = (4 * words).min(64 - addr % 64);
            let request = Request { master, addr, bytes, write };
            let fast = fabric.request(request, now).map(|done| (done.first, done.last));
            prop_assert_eq!(fast, reference.request(request, now), "{:x?} at {}", request, now);
        }
    }

    #[test]
    fn a_dram_controller_keeps_the_protocol(
        config in dram(),
        mut topology in topology(),
        requests in prop::collection::vec((address(), 1..17_u32, any::<bool>(), 0..400_u64), 1..80),
    ) {
        use linerate_sim::memsys::ControllerConfig;
        topology.targets[0].controller = ControllerConfig::Dram(config);
        let mut fabric = Fabric::new(&topology).unwrap();
        fabric.dram_mut(0).unwrap().record_commands();
        let period = topology.masters[2].period;
        let mut now = 0;
        let mut requested = 0;
        for (addr, words, write, gap) in requests {
            now = (now + gap).next_multiple_of(period);
            let bytes = (4 * words).min(64 - addr % 64);
            let request = Request { master: 2, addr, bytes, write };
            requested += u32::from(addr < SRAM);
            if let Some(done) = fabric.request(request, now) {
                now = done.last.next_multiple_of(period);
            }
        }
        let commands = fabric.dram_mut(0).unwrap().take_commands();
        prop_assert!(commands.len() as u32 >= requested);
        prop_assert_eq!(check(&config, &commands), Ok(()));
    }
}
