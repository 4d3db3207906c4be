//! Memories of a board file.

use super::super::MemoryConfig;
use super::error::FileError;
use super::reader::Section;
use super::{System, period};
use crate::memsys::{ControllerConfig, DramConfig, StaticConfig, TargetConfig};

/// Limit for all memories together: the simulator allocates them.
const MAX_BYTES: u64 = 256 << 20;
/// A row of a DRAM holds at least this much, so a line never spans two.
const MIN_ROW: u64 = 1024;

/// A memory, as far as it is no target of a bus.
pub(super) struct Memory {
    pub memory: MemoryConfig,
    pub is_cacheable: bool,
}

/// Reads all memories, the program's first; their targets are added to the topology.
pub(super) fn read(root: &Section<'_>, system: &mut System) -> Result<Vec<Memory>, FileError> {
    let mut memories = Vec::new();
    let mut program = None;
    let mut total = 0;
    for (name, section) in root.sections("memory")? {
        let bus = section.reference("bus", &system.buses)?;
        let base = section.address("base")?;
        let size = section.number("size", 64..=MAX_BYTES)?;
        total += size;
        if total > MAX_BYTES || !size.is_multiple_of(64) {
            let valid = format!("a multiple of 64, all memories at most {MAX_BYTES} together");
            return Err(section.wrong("size", size, valid));
        }
        let last = u64::from(base) + size - 1;
        if !base.is_multiple_of(64) || last >= u64::from(u32::MAX) {
            let valid = "a multiple of 64, with the end below 0xffffffff";
            return Err(section.wrong("base", format!("{base:#x}"), valid));
        }
        let kind = section.choice("kind", &["on-chip", "ssram", "sdram", "ddr"])?;
        let period = match section.optional_text("clock")? {
            Some(_) => period(system.hertz[system.clock(&section)?]),
            None => system.topology.buses[bus].period,
        };
        let controller = match kind {
            0 | 1 => ControllerConfig::Static(static_memory(&section, period)?),
            _ => ControllerConfig::Dram(dram(&section, period, kind as u32 - 1)?),
        };
        let is_program = section.flag("holds_program")?;
        if is_program && program.replace(memories.len()).is_some() {
            let valid = "false: only one memory is that of the program";
            return Err(section.wrong("holds_program", true, valid));
        }
        memories.push(Memory {
            is_cacheable: section.flag("is_cacheable")?,
            memory: MemoryConfig {
                name: name.clone(),
                base,
                size: size as u32,
            },
        });
        system.topology.targets.push(TargetConfig {
            name,
            bus,
            base,
            size: size as u32,
            controller,
        });
        section.finish()?;
    }
    let Some(program) = program else {
        let valid = "a memory with holds_program = true";
        return Err(root.wrong("memory", "without program", valid));
    };
    memories.swap(0, program);
    Ok(memories)
}

fn static_memory(section: &Section<'_>, period: u64) -> Result<StaticConfig, FileError> {
    Ok(StaticConfig {
        period,
        width: section.power("width_bits", 8..=1024)? / 8,
        read_cycles: section.cycles("read_cycles")?,
        write_cycles: section.cycles("write_cycles")?,
        beat_cycles: section.number("beat_cycles", 1..=1000)? as u32,
        is_pipelined: section.flag("is_pipelined")?,
    })
}

fn dram(
    section: &Section<'_>,
    period: u64,
    transfers_per_cycle: u32,
) -> Result<DramConfig, FileError> {
    let config = DramConfig {
        period,
        width: section.power("width_bits", 8..=128)? / 8,
        transfers_per_cycle,
        burst: section.power("burst", u64::from(transfers_per_cycle)..=16)?,
        banks: section.power("banks", 1..=64)?,
        row_bytes: section.power("row_bytes", MIN_ROW..=65_536)?,
        cas: section.cycles("cas")?,
        write_latency: section.cycles("write_latency")?,
        rcd: section.cycles("rcd")?,
        rp: section.cycles("rp")?,
        ras: section.cycles("ras")?,
        rc: section.cycles("rc")?,
        rrd: section.cycles("rrd")?,
        wr: section.cycles("wr")?,
        wtr: section.cycles("wtr")?,
        rfc: section.cycles("rfc")?,
        refi: section.number("refi", 16..=1_000_000)? as u32,
        front: section.cycles("front")?,
        back: section.cycles("back")?,
        posts_writes: section.flag("posts_writes")?,
    };
    let busy = config.rfc + config.rp + config.ras + config.wr + 16;
    if config.refi <= busy {
        return Err(section.wrong(
            "refi",
            config.refi,
            format!("more than {busy} (rfc + rp + ras + wr + 16)"),
        ));
    }
    Ok(config)
}
