//! What is added is one folder and one line of a registry; no other code depends on it. Device models depend on no bus,
//! CPU or other device.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::code::{list, shipped, tokens};
use crate::imports::modules::Tree;
use crate::imports::paths;
use crate::tree::{is_in, root, shipped_crates, short, texts};

/// A folder whose files and folders are additions of one kind, and where each is registered.
struct Registry {
    /// The kind of addition.
    kind: &'static str,
    /// The crate, and the folder below its `src`.
    package: &'static str,
    folder: &'static str,
    /// The file that lists the additions, and the words before the name of one, if other modules are named there.
    list: &'static str,
    before: &'static [&'static str],
    /// Other files that may name an addition.
    beside: &'static [&'static str],
    /// Files that depend on one although they are not part of it: file or folder, addition, reason.
    exceptions: &'static [(&'static str, &'static str, &'static str)],
}

const REGISTRIES: [Registry; 4] = [
    Registry {
        kind: "target",
        package: "bench",
        folder: "endpoint",
        list: "bench/src/endpoint/mod.rs",
        before: &["open", ":"],
        beside: &[],
        exceptions: &[
            (
                "bench/src/endpoint/board",
                "iperf2",
                "a board's agent is measured with iperf 2",
            ),
            (
                "bench/src/endpoint/board",
                "stamp",
                "round trips of a board's agent are those of STAMP",
            ),
            (
                "bench/src/conformance",
                "board",
                "a driver is tested on its board",
            ),
            (
                "bench/src/endpoint/test_board.rs",
                "board",
                "a driver is tested on its board",
            ),
            (
                "bench/src/registers",
                "board",
                "registers of a running board",
            ),
        ],
    },
    Registry {
        kind: "measurement",
        package: "bench",
        folder: "measure",
        list: "bench/src/measure/registry.rs",
        before: &["measure", "::"],
        beside: &["bench/src/measure/mod.rs"],
        exceptions: &[],
    },
    Registry {
        kind: "peer",
        package: "sim",
        folder: "peer",
        list: "sim/src/peer/kinds.rs",
        before: &[],
        beside: &["sim/src/peer/mod.rs"],
        exceptions: &[
            (
                "bench/src",
                "host",
                "settings of [peer]; programs and answers at the other end",
            ),
            (
                "bench/src",
                "generator",
                "settings of [traffic]; measurements that send its frames",
            ),
            (
                "sim/src/peer",
                "host",
                "peers around another one pass its programs on",
            ),
            ("sim/src/peer", "generator", "traffic beside a host"),
            (
                "sim/src/wire/hub.rs",
                "generator",
                "a hub's stations send its frames",
            ),
            ("fuzz/targets", "host", "fuzzed"),
            (
                "lab/src/an440",
                "host",
                "the workstation of the experiment is one",
            ),
            (
                "lab/imx6/src/transfer.rs",
                "host",
                "the other end of the published transfers is one",
            ),
        ],
    },
    Registry {
        kind: "device model",
        package: "sim",
        folder: "device",
        list: "sim/src/device/mod.rs",
        before: &["mod"],
        beside: &[
            "sim/src/chip/esp32c6/wiring.rs",
            "sim/src/chip/esp32c6/soc.rs",
            "sim/src/chip/esp32c6/soc/uart_dma.rs",
            "sim/src/chip/soft_soc/models.rs",
            "sim/src/chip/soft_soc/soc.rs",
        ],
        exceptions: &[
            (
                "sim/src/chip/esp32c6/rom.rs",
                "gpio",
                "functions of the ROM set pads",
            ),
            ("sim/src/lan", "enet", "the other end of its line"),
            (
                "sim/src/chip/esp32c6/line.rs",
                "spi",
                "the other end of its line",
            ),
        ],
    },
];

impl Registry {
    /// The names of the additions: modules of the folder that the list names.
    fn additions(&self) -> Vec<String> {
        let folder = root().join(self.package).join("src").join(self.folder);
        let text = fs::read_to_string(root().join(self.list)).expect("readable");
        let code = shipped(&text);
        let tokens = tokens(&code);
        let listed = tokens.windows(self.before.len() + 1).filter_map(|window| {
            let (name, before) = window.split_last()?;
            (before == self.before).then(|| (*name).to_owned())
        });
        let is_module = |name: &String| {
            name != "tests"
                && (folder.join(name).is_dir() || folder.join(format!("{name}.rs")).is_file())
        };
        let is_part = |name: &String| DEVICE_PARTS.contains(&self.file_of(name).as_str());
        let additions = listed.filter(|name| is_module(name) && !is_part(name));
        additions.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The file of an addition that is no folder.
    fn file_of(&self, addition: &str) -> String {
        format!("{}/src/{}/{addition}.rs", self.package, self.folder)
    }

    /// True if `file` may depend on `addition`.
    fn permits(&self, file: &str, addition: &str) -> bool {
        let own = self.file_of(addition);
        is_in(file, own.trim_end_matches(".rs"))
            || file == own
            || file == self.list
            || self.beside.contains(&file)
            || self
                .exceptions
                .iter()
                .any(|(from, to, _)| is_in(file, from) && *to == addition)
    }
}

#[test]
fn an_addition_is_one_folder_and_one_line() {
    let mut wrong = Vec::new();
    for registry in &REGISTRIES {
        let additions = registry.additions();
        assert!(
            additions.len() > 1,
            "{}: only {additions:?} were found",
            registry.kind
        );
        for (file, addition, item) in dependencies_on(registry, &additions) {
            if !registry.permits(&file, &addition) {
                wrong.push(format!(
                    "{file} depends on the {} {addition} ({item})",
                    registry.kind
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "beyond a folder and a line:{}",
        list(wrong)
    );
}

/// Uses of the additions' items in shipped code: the file, the addition, the item.
fn dependencies_on(registry: &Registry, additions: &[String]) -> Vec<(String, String, String)> {
    let folder = root()
        .join(registry.package)
        .join("src")
        .join(registry.folder);
    let addition_of = |file: &Path| {
        let inside = file.strip_prefix(&folder).ok()?;
        let first = inside
            .components()
            .next()?
            .as_os_str()
            .to_string_lossy()
            .into_owned();
        let name = first.trim_end_matches(".rs").to_owned();
        additions.contains(&name).then_some(name)
    };
    let mut found = Vec::new();
    let library = root().join(registry.package).join("src/lib.rs");
    for (from, to, item) in paths::edges(&Tree::read(&library)) {
        if let Some(addition) = addition_of(&to) {
            found.push((short(&from), addition, item));
        }
    }
    // In other crates, by the whole path.
    let mut prefix = vec![format!("linerate_{}", registry.package)];
    prefix.extend(registry.folder.split('/').map(str::to_owned));
    let modules = shipped_crates()
        .iter()
        .flat_map(|tree| tree.modules.values());
    for module in modules.filter(|it| it.code.contains(&prefix[0])) {
        for path in paths::named(&module.code) {
            let inside = path.strip_prefix(prefix.as_slice()).unwrap_or_default();
            if let Some(addition) = inside.first().filter(|it| additions.contains(it)) {
                found.push((short(&module.file), addition.clone(), path.join("::")));
            }
        }
    }
    found
}

/// Parts of device models, which are no models.
const DEVICE_PARTS: [&str; 8] = [
    "sim/src/device/mod.rs",
    "sim/src/device/clock.rs",
    "sim/src/device/interrupts.rs",
    "sim/src/device/mdio.rs",
    "sim/src/device/phy.rs",
    "sim/src/device/port.rs",
    "sim/src/device/usb_host.rs",
    "sim/src/device/watchdog.rs",
];
/// Further files of the simulator that a device model may use: time, random numbers, and the levels of pads.
const DEVICE_MAY_USE: [&str; 3] = ["sim/src/time.rs", "sim/src/random.rs", "sim/src/pads.rs"];

#[test]
fn a_device_model_depends_on_no_bus_cpu_or_other_device() {
    let tree = Tree::read(&root().join("sim/src/lib.rs"));
    let models: BTreeSet<String> = tree.modules.values().map(|it| short(&it.file)).collect();
    let models = models
        .iter()
        .filter(|it| is_in(it, "sim/src/device"))
        .count();
    assert!(models > 15, "only {models} files of device models");
    let mut wrong = Vec::new();
    for (from, to, item) in paths::edges(&tree) {
        let (from, to) = (short(&from), short(&to));
        let Some(model) = device_model(&from) else {
            continue;
        };
        let is_own = device_model(&to) == Some(model);
        let permitted =
            DEVICE_PARTS.contains(&to.as_str()) || DEVICE_MAY_USE.contains(&to.as_str());
        if !is_own && !permitted {
            wrong.push(format!("{from} uses {item} of {to}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "a device model depends on:{}",
        list(wrong)
    );
}

/// The device model whose part `file` is: the name of its folder, or of its file beside the folders.
fn device_model(file: &str) -> Option<&str> {
    let inside = file.strip_prefix("sim/src/device/")?;
    let first = inside.split('/').next()?;
    Some(first.trim_end_matches(".rs"))
}

/// Shipped code that names a board: file or folder, board, reason.
const BOARDS_NAMED_IN: [(&str, &str, &str); 12] = [
    (
        "xtask/src/stack.rs",
        "rv32-soft-soc",
        "builds a program of this board in C",
    ),
    (
        "lab/src/board_file.rs",
        "rv32-soft-soc",
        "reads the board files of soft SoCs",
    ),
    (
        "lab/src/an440",
        "rv32-soft-soc",
        "the experiment is about systems like this board",
    ),
    (
        "xtask/src",
        "esp32c6-bitbang",
        "the board of the demo and of the scenarios",
    ),
    (
        "lab/src",
        "esp32c6-bitbang",
        "tables of the documents are of this board",
    ),
    (
        "lab/src",
        "qemu-",
        "tables of the documents are of these boards",
    ),
    (
        "sim/src/board/mod.rs",
        "esp32c6-bitbang",
        "the default name in waveforms",
    ),
    (
        "explain/src/sample.rs",
        "esp32c6-bitbang",
        "an example of results, for tests",
    ),
    (
        "xtask/src/linux_board",
        "qemu-linux-sabrelite",
        "the board whose images it makes",
    ),
    (
        "xtask/src/imx6.rs",
        "rv32-enet",
        "the board of the published curves",
    ),
    ("cli/src/args", "", "examples in help texts"),
    ("bench/src/endpoint/mod.rs", "", "examples of URLs"),
];

#[test]
fn a_board_is_one_folder_and_one_line() {
    // One without firmware, which runs Linux, is no package.
    let boards: BTreeSet<String> = fs::read_dir(root().join("boards"))
        .expect("readable")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| folder.join("board.toml").is_file())
        .filter_map(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()))
        .collect();
    let registry = "bench/src/board.rs";
    let text = fs::read_to_string(root().join(registry)).expect("readable");
    let table = text
        .split_once("const BOARDS")
        .and_then(|(_, it)| it.split_once("];"));
    let (table, _) = table.expect("the list of boards");
    let lines = table.lines().filter_map(|line| line.split('"').nth(1));
    let mut listed: BTreeMap<String, usize> = BTreeMap::new();
    for name in lines {
        *listed.entry(name.to_owned()).or_default() += 1;
    }
    let expected: BTreeMap<String, usize> = boards.iter().map(|it| (it.clone(), 1)).collect();
    assert_eq!(
        listed, expected,
        "folders of boards, and lines of {registry}"
    );

    let mut wrong = Vec::new();
    let sources =
        texts().filter(|(name, _)| Path::new(name).extension().is_some_and(|it| it == "rs"));
    for (file, text) in sources {
        let is_shipped =
            file.contains("/src/") && !file.contains("/tests") && !is_in(&file, "boards");
        if !is_shipped || file == registry {
            continue;
        }
        let text = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for (board, line) in code.flat_map(|line| boards.iter().map(move |board| (board, line))) {
            let excused = |(place, name, _): &(&str, &str, &str)| {
                is_in(&file, place) && board.starts_with(name)
            };
            if line.contains(&format!("{board}\"")) && !BOARDS_NAMED_IN.iter().any(excused) {
                wrong.push(format!("{file} names {board}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "beyond a folder and a line:{}",
        list(wrong)
    );
}

/// What `CONTRIBUTING.md` says about adding something is where the tests above look for it.
#[test]
fn contributing_names_the_folder_and_the_list_of_each_addition() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("readable");
    for registry in &REGISTRIES {
        let begin = format!("**A {}.**", registry.kind);
        let entry = text.split(&begin).nth(1).unwrap_or_default();
        let entry = entry.split("\n\n**").next().unwrap_or_default();
        let folder = format!("`{}/src/{}`", registry.package, registry.folder);
        assert!(
            entry.contains(&folder),
            "{begin} names no {folder}: {entry}"
        );
        // The modules of device models are listed in their folder, the devices of a chip in its wiring.
        let lists = [registry.list, "sim/src/chip/esp32c6/wiring.rs"];
        let list = lists[usize::from(registry.kind == "device model")];
        assert!(entry.contains(list), "{begin} names no {list}: {entry}");
    }
}
