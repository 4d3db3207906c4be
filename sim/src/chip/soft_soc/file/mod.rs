//! Board files: a soft SoC in TOML. Each number has a source, its own or that of its section;
//! a source that begins with `guess` marks it as one.

mod error;
mod memories;
mod reader;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use toml::de::DeTable;

use super::{Config, DeviceConfig, Parameter, models};
use crate::mem::Window;
use crate::memsys::{
    Arbitration, BridgeConfig, BusConfig, CacheConfig, ControllerConfig, Geometry, MasterConfig,
    PortConfig, Resume, StaticConfig, TargetConfig, Topology, WritePolicy,
};
use crate::rv32::Timing;
use crate::time::{Span, TICKS_PER_SECOND};
pub use error::{FileError, Problem};
pub use reader::Figure;
use reader::{Document, Section};

/// The contents of a board file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// One-line description.
    pub description: String,
    /// The SoC.
    pub config: Config,
    /// Every number with its source, in the order of reading.
    pub figures: Vec<Figure>,
}

/// Version of the format.
const SCHEMA: u64 = 1;

/// Reads the board file `text`; `file` is its name for messages.
///
/// # Errors
/// [`FileError`] names file, line, field, and what would be valid.
pub fn parse(text: &str, file: &str) -> Result<Description, FileError> {
    let document = Document {
        file,
        text,
        figures: RefCell::new(Vec::new()),
    };
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let problem = Problem::Syntax(error.message().to_owned());
        document.error(span, "TOML".to_owned(), problem)
    })?;
    let root = Section::new(&document, String::new(), table.get_ref(), 0..0, None)?;
    root.unsourced("schema", SCHEMA)?;
    let name = root.text("name")?.to_owned();
    let description = root.text("description")?.to_owned();
    let mut system = System::default();
    system.read_clocks(&root)?;
    system.read_buses(&root)?;
    system.read_bridges(&root)?;
    let (pipeline, ports, wfi) = system.read_hart(&root)?;
    let memories = memories::read(&root, &mut system)?;
    let windows = read_windows(&root)?;
    let devices = system.read_devices(&root)?;
    root.finish()?;
    let ports = PortConfig {
        cacheable: memories
            .iter()
            .filter(|it| it.is_cacheable)
            .map(|it| it.memory.base..it.memory.base + it.memory.size)
            .collect(),
        ..ports
    };
    let config = Config {
        name,
        pipeline,
        wfi_exit: wfi.exit,
        wfi_ignores: wfi.ignores,
        ports,
        topology: system.topology,
        memories: memories.into_iter().map(|it| it.memory).collect(),
        windows,
        devices,
    };
    config.topology.check().map_err(|error| {
        document.error(0..0, "bus".to_owned(), Problem::Syntax(error.to_string()))
    })?;
    Ok(Description {
        description,
        config,
        figures: document.figures.into_inner(),
    })
}

/// What was read so far, with the names that fields refer to.
#[derive(Default)]
struct System {
    clocks: Vec<String>,
    hertz: Vec<u64>,
    buses: Vec<String>,
    bus_clocks: Vec<usize>,
    topology: Topology,
}

/// Sleep of the hart: time to leave it, and the interrupt lines that do not end it.
struct Wfi {
    exit: Span,
    ignores: u32,
}

/// Period of a clock in ticks.
fn period(hertz: u64) -> u64 {
    (TICKS_PER_SECOND + hertz / 2) / hertz
}

impl System {
    fn read_clocks(&mut self, root: &Section<'_>) -> Result<(), FileError> {
        for (name, clock) in root.sections("clock")? {
            self.hertz
                .push(clock.number("hertz", 1_000_000..=1_000_000_000)?);
            self.clocks.push(name);
            clock.finish()?;
        }
        Ok(())
    }

    fn clock(&self, section: &Section<'_>) -> Result<usize, FileError> {
        section.reference("clock", &self.clocks)
    }

    fn read_buses(&mut self, root: &Section<'_>) -> Result<(), FileError> {
        for (name, bus) in root.sections("bus")? {
            let clock = self.clock(&bus)?;
            let arbitration = bus.choice("arbitration", &["per-target", "shared"])?;
            self.topology.buses.push(BusConfig {
                name: name.clone(),
                period: period(self.hertz[clock]),
                width: bus.power("width_bits", 8..=1024)? / 8,
                request_cycles: bus.cycles("request_cycles")?,
                response_cycles: bus.cycles("response_cycles")?,
                arbitration: [Arbitration::PerTarget, Arbitration::Shared][arbitration],
            });
            self.bus_clocks.push(clock);
            self.buses.push(name);
            bus.finish()?;
        }
        Ok(())
    }

    fn read_bridges(&mut self, root: &Section<'_>) -> Result<(), FileError> {
        for (name, bridge) in root.sections("bridge")? {
            let (from, to) = (
                bridge.reference("from", &self.buses)?,
                bridge.reference("to", &self.buses)?,
            );
            let kind = bridge.choice("kind", &["pipeline", "clock-crossing"])?;
            if kind == 0 && self.bus_clocks[from] != self.bus_clocks[to] {
                let valid = "clock-crossing, or a bus of the same clock";
                return Err(bridge.wrong("kind", "pipeline", valid));
            }
            self.topology.bridges.push(BridgeConfig {
                name,
                from,
                to,
                request_cycles: bridge.cycles("request_cycles")?,
                response_cycles: bridge.cycles("response_cycles")?,
                posts_writes: bridge.flag("posts_writes")?,
            });
            bridge.finish()?;
        }
        Ok(())
    }

    /// The number of a new master on the bus that `section` names.
    fn master(
        &mut self,
        name: String,
        section: &Section<'_>,
        field: &'static str,
        shares: &'static str,
        period: Option<u64>,
    ) -> Result<usize, FileError> {
        let bus = section.reference(field, &self.buses)?;
        self.topology.masters.push(MasterConfig {
            name,
            bus,
            period: period.unwrap_or(self.topology.buses[bus].period),
            shares: section.optional(shares, 0..=1024)?.unwrap_or(0) as u32,
        });
        Ok(self.topology.masters.len() - 1)
    }

    fn read_hart(&mut self, root: &Section<'_>) -> Result<(Timing, PortConfig, Wfi), FileError> {
        let mut harts = root.sections("hart")?;
        if harts.len() != 1 {
            let valid = "exactly one section [hart.NAME]";
            return Err(root.wrong("hart", format!("{} harts", harts.len()), valid));
        }
        let (name, hart) = harts.remove(0);
        hart.choice("isa", &["rv32im", "rv32imc", "rv32ima", "rv32imac"])?;
        let period = period(self.hertz[self.clock(&hart)?]);
        let instruction_master = self.master(
            format!("{name} instruction"),
            &hart,
            "instruction_bus",
            "instruction_shares",
            Some(period),
        )?;
        let data_master = self.master(
            format!("{name} data"),
            &hart,
            "data_bus",
            "data_shares",
            Some(period),
        )?;
        let write_buffer = hart.number("write_buffer", 0..=64)? as u32;
        let ports = PortConfig {
            period,
            instruction_master,
            data_master,
            instruction_cache: cache(&hart, "instruction_cache", false)?,
            data_cache: cache(&hart, "data_cache", true)?,
            write_buffer,
            cacheable: Vec::new(),
        };
        let pipeline = pipeline(&hart)?;
        let exit_ns = hart.optional("wfi_exit_ns", 0..=100_000_000)?;
        let ignores = hart.optional("wfi_ignores", 0..=u32::MAX.into())?;
        let wfi = Wfi {
            exit: Span::from_ns(exit_ns.unwrap_or(0)),
            ignores: ignores.unwrap_or(0) as u32,
        };
        hart.finish()?;
        Ok((pipeline, ports, wfi))
    }

    fn read_devices(&mut self, root: &Section<'_>) -> Result<Vec<DeviceConfig>, FileError> {
        let names: Vec<&str> = models().map(|model| model.name).collect();
        let mut devices: Vec<DeviceConfig> = Vec::new();
        let sections = root.sections("device")?;
        let all: Vec<String> = sections.iter().map(|it| it.0.clone()).collect();
        for (name, device) in &sections {
            let name = name.clone();
            let model = names[device.choice("model", &names)?];
            let model = models().find(|it| it.name == model);
            let Some(model) = model else { continue };
            let bus = device.reference("bus", &self.buses)?;
            let base = device.address("base")?;
            if !base.is_multiple_of(model.size.next_power_of_two()) {
                let valid = format!("a multiple of {}", model.size.next_power_of_two());
                return Err(device.wrong("base", format!("{base:#x}"), valid));
            }
            let ports = device.list("port")?;
            if ports.len() != model.masters {
                let valid = format!("{} sections [[device.{name}.port]]", model.masters);
                return Err(device.wrong("port", ports.len(), valid));
            }
            let mut masters = Vec::new();
            for (number, port) in ports.iter().enumerate() {
                let master = format!("{name} port {number}");
                masters.push(self.master(master, port, "bus", "shares", None)?);
                port.finish()?;
            }
            self.topology.targets.push(TargetConfig {
                name: name.clone(),
                bus,
                base,
                size: model.size,
                controller: ControllerConfig::Static(StaticConfig {
                    period: self.topology.buses[bus].period,
                    width: 4,
                    read_cycles: device.cycles("read_cycles")?,
                    write_cycles: device.cycles("write_cycles")?,
                    beat_cycles: 1,
                    is_pipelined: false,
                }),
            });
            let interrupt = device.optional("interrupt", 0..=31)?.map(|line| line as u8);
            let taken = |it: &&DeviceConfig| interrupt.is_some() && it.interrupt == interrupt;
            if let (Some(line), Some(other)) = (interrupt, devices.iter().find(taken)) {
                let valid = format!("a line that {} does not use", other.name);
                return Err(device.wrong("interrupt", line, valid));
            }
            let stream_to = if model.streams.output {
                Some(device.reference("stream_to", &all)?)
            } else {
                None
            };
            let parameters = model.parameters.iter().map(|it| parameter(device, it));
            let parameters = parameters.collect::<Result<_, _>>()?;
            device.finish()?;
            devices.push(DeviceConfig {
                name,
                model: model.name.to_owned(),
                base,
                interrupt,
                hertz: self.hertz[self.bus_clocks[bus]],
                masters,
                stream_to,
                parameters,
            });
        }
        check_streams(&sections, &devices)?;
        Ok(devices)
    }
}

/// A number for a device.
fn parameter(device: &Section<'_>, parameter: &Parameter) -> Result<u64, FileError> {
    let Parameter { name, valid, .. } = parameter;
    if parameter.is_power_of_two {
        device.power(name, valid.clone()).map(u64::from)
    } else {
        device.number(name, valid.clone())
    }
}

/// Each stream leads to an input that no other stream leads to.
fn check_streams(
    sections: &[(String, Section<'_>)],
    devices: &[DeviceConfig],
) -> Result<(), FileError> {
    let has_input =
        |it: &DeviceConfig| models().any(|model| model.name == it.model && model.streams.input);
    for (number, (device, (_, section))) in devices.iter().zip(sections).enumerate() {
        let Some(to) = device.stream_to else { continue };
        let is_taken = devices[..number].iter().any(|it| it.stream_to == Some(to));
        if is_taken || to == number || !has_input(&devices[to]) {
            let valid = "a device with a stream input that no other stream leads to";
            return Err(section.wrong("stream_to", &devices[to].name, valid));
        }
    }
    Ok(())
}

/// The pipeline's costs: all of them, by the names of [`Timing::NAMES`].
fn pipeline(hart: &Section<'_>) -> Result<Timing, FileError> {
    let Some(section) = hart.section("pipeline")? else {
        return Err(hart.wrong("pipeline", "left out", "a section [hart.NAME.pipeline]"));
    };
    let mut timing = Timing::ideal();
    for name in Timing::NAMES {
        let value = section.cycles(name)?;
        if let Some(entry) = timing.entry(name) {
            *entry = value;
        }
    }
    if timing.target_buffer_entries == 0 {
        return Err(section.wrong("target_buffer_entries", 0, "at least 1"));
    }
    section.finish()?;
    Ok(timing)
}

fn cache(
    hart: &Section<'_>,
    name: &'static str,
    is_written: bool,
) -> Result<Option<CacheConfig>, FileError> {
    let Some(section) = hart.section(name)? else {
        return Ok(None);
    };
    let geometry = Geometry {
        size: section.number("size", 16..=1 << 24)? as u32,
        line: section.power("line", 4..=1024)?,
        ways: section.number("ways", 1..=64)? as u32,
    };
    if geometry.sets().is_none() {
        let valid = "line x ways x a power of two";
        return Err(section.wrong("size", geometry.size, valid));
    }
    let policy = if is_written {
        section.choice("write_policy", &["back", "through"])?
    } else {
        0
    };
    let resume = section.choice("resume", &["whole-line", "critical-word"])?;
    let config = CacheConfig {
        geometry,
        write_policy: [WritePolicy::Back, WritePolicy::Through][policy],
        resume: [Resume::WholeLine, Resume::CriticalWord][resume],
        miss_cycles: section.cycles("miss_cycles")?,
    };
    section.finish()?;
    Ok(Some(config))
}

fn read_windows(root: &Section<'_>) -> Result<Vec<Window>, FileError> {
    let mut windows = Vec::new();
    for (_, window) in root.sections("window")? {
        windows.push(Window {
            base: window.address("base")?,
            size: window.address("size")?,
            target: window.address("target")?,
        });
        window.finish()?;
    }
    Ok(windows)
}
