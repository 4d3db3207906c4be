//! Random systems: a hart's bus with a static memory and a DRAM, a second bus behind a bridge.

use linerate_sim::memsys::{
    Arbitration, BridgeConfig, BusConfig, CacheConfig, ControllerConfig, DramConfig, Geometry,
    MasterConfig, PortConfig, Resume, StaticConfig, TargetConfig, Topology, WritePolicy,
};
use proptest::prelude::*;

/// Addresses of the targets.
pub const DRAM: u32 = 0;
pub const SRAM: u32 = 0x10_0000;
pub const REMOTE: u32 = 0x20_0000;
pub const UNCACHED: u32 = 0x30_0000;

pub fn dram() -> impl Strategy<Value = DramConfig> {
    let shape = (1..4_u64, 1..5_u32, 1..3_u32, 0..3_u32, 6..9_u32, 0..3_u32);
    let timing = (1..4_u32, 0..2_u32, 1..4_u32, 1..4_u32, 1..8_u32, 0..3_u32);
    let more = (
        1..10_u32,
        0..3_u32,
        1..3_u32,
        3..12_u32,
        60..200_u32,
        0..4_u32,
        0..3_u32,
        any::<bool>(),
    );
    (shape, timing, more).prop_map(
        |(
            (period, width, per_cycle, banks, row, burst),
            (cas, write_latency, rcd, rp, ras, rc),
            (rrd, wr, wtr, rfc, refi, front, back, posts_writes),
        )| DramConfig {
            period,
            width: 1 << (width / 2),
            transfers_per_cycle: per_cycle,
            burst: 2 << burst,
            banks: 1 << banks,
            row_bytes: 1 << row,
            cas,
            write_latency,
            rcd,
            rp,
            ras,
            rc: ras + rp + rc,
            // Never longer than for the same bank.
            rrd: rrd.min(ras + rp + rc),
            wr,
            wtr,
            rfc,
            refi,
            front,
            back,
            posts_writes,
        },
    )
}

fn memory() -> impl Strategy<Value = StaticConfig> {
    (
        1..4_u64,
        0..3_u32,
        0..5_u32,
        0..5_u32,
        1..4_u32,
        any::<bool>(),
    )
        .prop_map(
            |(period, width, read_cycles, write_cycles, beat_cycles, is_pipelined)| StaticConfig {
                period,
                width: 1 << width,
                read_cycles,
                write_cycles,
                beat_cycles,
                is_pipelined,
            },
        )
}

fn bus(name: &'static str) -> impl Strategy<Value = BusConfig> {
    (1..4_u64, 0..3_u32, 0..3_u32, 0..3_u32, any::<bool>()).prop_map(
        move |(period, width, request_cycles, response_cycles, shared)| BusConfig {
            name: name.to_owned(),
            period,
            width: 2 << width,
            request_cycles,
            response_cycles,
            arbitration: if shared {
                Arbitration::Shared
            } else {
                Arbitration::PerTarget
            },
        },
    )
}

/// Masters 0 and 1 are the hart's instruction and data ports, 2 and 3 other masters.
pub fn topology() -> impl Strategy<Value = Topology> {
    let bridge = (0..4_u32, 0..4_u32, any::<bool>());
    let masters = prop::array::uniform4(0..4_u32);
    let memories = (memory(), memory(), memory(), dram());
    (bus("main"), bus("remote"), bridge, masters, memories).prop_map(
        |(main, remote, bridge, shares, (sram, device, uncached, dram))| {
            let target = |name: &str, bus, base, controller| TargetConfig {
                name: name.to_owned(),
                bus,
                base,
                size: 0x1_0000,
                controller,
            };
            let masters = shares
                .iter()
                .enumerate()
                .map(|(number, &shares)| MasterConfig {
                    name: format!("master {number}"),
                    // The last one is on the remote bus, from which only that bus is reached.
                    bus: usize::from(number == 3),
                    period: if number == 3 {
                        remote.period
                    } else {
                        main.period
                    },
                    shares: shares * 2,
                });
            let masters = masters.collect();
            Topology {
                bridges: vec![BridgeConfig {
                    name: "bridge".to_owned(),
                    from: 0,
                    to: 1,
                    request_cycles: bridge.0,
                    response_cycles: bridge.1,
                    posts_writes: bridge.2,
                }],
                targets: vec![
                    target("dram", 0, DRAM, ControllerConfig::Dram(dram)),
                    target("sram", 0, SRAM, ControllerConfig::Static(sram)),
                    target("device", 1, REMOTE, ControllerConfig::Static(device)),
                    target("plain", 1, UNCACHED, ControllerConfig::Static(uncached)),
                ],
                masters,
                buses: vec![main, remote],
            }
        },
    )
}

fn cache() -> impl Strategy<Value = Option<CacheConfig>> {
    let shape = (1..3_u32, 0..3_u32, 2..6_u32);
    let some = (shape, any::<bool>(), any::<bool>(), 0..3_u32).prop_map(
        |((ways, sets, line), back, whole, miss_cycles)| CacheConfig {
            geometry: Geometry {
                size: ways << sets << line,
                line: 1 << line,
                ways,
            },
            write_policy: if back {
                WritePolicy::Back
            } else {
                WritePolicy::Through
            },
            resume: if whole {
                Resume::WholeLine
            } else {
                Resume::CriticalWord
            },
            miss_cycles,
        },
    );
    prop_oneof![1 => Just(None), 5 => some.prop_map(Some)]
}

pub fn ports(period: u64) -> impl Strategy<Value = PortConfig> {
    (cache(), cache(), 0..4_u32).prop_map(move |(instructions, data, write_buffer)| PortConfig {
        period,
        instruction_master: 0,
        data_master: 1,
        instruction_cache: instructions,
        data_cache: data,
        write_buffer,
        cacheable: vec![
            DRAM..DRAM + 0x1_0000,
            SRAM..SRAM + 0x1_0000,
            REMOTE..REMOTE + 0x1_0000,
        ],
    })
}
