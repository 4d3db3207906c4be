//! Programs in C of `boards/rv32-soft-soc` with `lwIP` and the `FreeRTOS` kernel, whose sources cargo fetches; Debian's
//! cross compiler builds them.

use crate::cross::{self, Compiler, sources_in};
use crate::sh;
use anyhow::{Context, Result};
use std::path::PathBuf;

/// The compiler.
pub const COMPILER: &str = "riscv64-unknown-elf-gcc";
/// Debian's package of the compiler.
pub const PACKAGE: &str = "gcc-riscv64-unknown-elf";

/// -O3 as the compiler of AN 440, unless a program's own flags differ.
const FLAGS: [&str; 9] = [
    "-O3",
    "-march=rv32im_zicsr",
    "-mabi=ilp32",
    "-nostdlib",
    "-std=gnu11",
    "-ffunction-sections",
    // Loops of the C library's own functions stay loops.
    "-fno-tree-loop-distribute-patterns",
    "-Wall",
    "-g1",
];
/// `-march` of the linker selects the compiler's library, which has no variant with `zicsr`.
const LINK_FLAGS: [&str; 7] = [
    "-march=rv32im",
    "-mabi=ilp32",
    "-nostdlib",
    "-nostartfiles",
    "-Wl,--gc-sections",
    "-Wl,--no-warn-rwx-segments",
    "-Wl,--build-id=none",
];

/// A program.
#[derive(Debug)]
pub struct Program {
    /// Its folder below that of the board; a folder `port` in it configures kernel and stack.
    pub folder: &'static str,
    /// Files of [`BENCHMARK`]'s folder that it uses, too.
    shared: &'static [&'static str],
    /// Further flags of the compiler, and of the linker.
    flags: &'static [&'static str],
    link_flags: &'static [&'static str],
}

/// The benchmark of AN 440. The pools' allocator takes the place of lwIP's for packets.
pub const BENCHMARK: Program = Program {
    folder: "stack",
    shared: &[],
    flags: &[],
    link_flags: &["-Wl,--wrap=pbuf_alloc"],
};

/// Datagrams by several ways: docs/udp-path.md.
pub const UDP_PATH: Program = Program {
    folder: "udp-path",
    shared: &["start.S", "board.c", "console.c"],
    flags: &["-Os"],
    link_flags: &[],
};

/// Sources of the kernel, in its folder.
const KERNEL: [&str; 6] = [
    "tasks.c",
    "queue.c",
    "list.c",
    "portable/GCC/RISC-V/port.c",
    "portable/GCC/RISC-V/portASM.S",
    "portable/MemMang/heap_4.c",
];
/// Sources of `lwIP`, in its folder; of folders all `.c` files.
const LWIP: [&str; 9] = [
    "contrib/ports/freertos/sys_arch.c",
    "src/api/api_lib.c",
    "src/api/api_msg.c",
    "src/api/err.c",
    "src/api/netbuf.c",
    "src/api/sockets.c",
    "src/api/tcpip.c",
    "src/netif/ethernet.c",
    "src/core",
];
/// Beside [`LWIP`]: a folder in a folder.
const LWIP_IPV4: &str = "src/core/ipv4";

/// Builds `program` with `further` flags of the compiler, in `target/stack/<name>`, with a map of the linker beside the
/// ELF (`stack.map`); `None` without the compiler.
///
/// # Errors
/// The sources cannot be fetched, or do not compile.
pub fn build(program: &Program, name: &str, further: &[&str]) -> Result<Option<PathBuf>> {
    if !sh::has(COMPILER) {
        return Ok(None);
    }
    let sources = cross::fetch()?;
    let package = |name: &str| {
        let found = sources.get(name);
        found.with_context(|| format!("the lock file of the sources has no {name}"))
    };
    let (lwip, kernel) = (
        package("lwip")?,
        package("freertos-next")?.join("FreeRTOS-Kernel"),
    );
    let own = board().join(program.folder);
    let base = board().join(BENCHMARK.folder);
    let port = kernel.join("portable/GCC/RISC-V");
    let includes = [
        own.clone(),
        own.join("port"),
        base.clone(),
        base.join("libc"),
        base.join("port"),
        lwip.join("src/include"),
        lwip.join("contrib/ports/freertos/include"),
        kernel.join("include"),
        port.join("chip_specific_extensions/RISCV_no_extensions"),
        port,
    ];
    let mut files = sources_in(&own)?;
    files.extend(program.shared.iter().map(|file| base.join(file)));
    files.extend(sources_in(&base.join("libc"))?);
    for path in LWIP.iter().chain([&LWIP_IPV4]).map(|it| lwip.join(it)) {
        files.extend(if path.is_dir() {
            sources_in(&path)?
        } else {
            vec![path]
        });
    }
    files.extend(KERNEL.iter().map(|file| kernel.join(file)));
    let out = sh::out("stack").join(name);
    std::fs::create_dir_all(&out)?;
    let flags: Vec<&str> = FLAGS
        .iter()
        .chain(program.flags)
        .chain(further)
        .copied()
        .collect();
    // The ELF is the same wherever cargo has put the sources.
    let prefixes = [
        (lwip.as_path(), "lwip"),
        (&kernel, "FreeRTOS-Kernel"),
        (&own, program.folder),
        (&base, BENCHMARK.folder),
    ];
    let compiler = Compiler {
        program: COMPILER,
        flags: &flags,
        includes: &includes,
        prefixes: &prefixes,
    };
    let objects = compiler.compile(&files, &out)?;
    let elf = out.join("stack.elf");
    let mut link = sh::cmd(COMPILER);
    link.args(LINK_FLAGS).args(program.link_flags);
    link.arg("-T").arg(own.join("link.x"));
    let mut map = std::ffi::OsString::from("-Wl,-Map=");
    map.push(elf.with_extension("map"));
    link.arg(map);
    link.args(&objects);
    sh::read(link.arg("-lgcc").arg("-o").arg(&elf))?;
    Ok(Some(elf))
}

/// Folder of the board.
fn board() -> PathBuf {
    sh::root().join("boards/rv32-soft-soc")
}
