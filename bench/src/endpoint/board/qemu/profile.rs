//! A board in QEMU whose instructions are counted by a plugin.

use std::path::{Path, PathBuf};
use std::time::Duration;

use linerate_results::record::InstructionProfile;

use super::start;
use crate::endpoint::board::counted::{self, Readings};
use crate::endpoint::board::runner::{BoardTarget, tcp_of};
use crate::endpoint::board::session::{BoardSession, START_TIMEOUT};
use crate::endpoint::{Options, Target as _, TargetError, Trial};
use crate::firmware::Image;
use crate::profile::ProfileRequest;
use crate::profile::counts::{Count, Counts};
use crate::profile::symbols::Symbols;

/// The plugin's file, in the folder of the firmware.
const PLUGIN: &str = "liblinerate_qemu_plugin.so";
/// Frames to the board within this time are delivered together. The board is mostly faster than the host, so
/// frames are held back this long: a round of its main loop finds as many frames as on a fully loaded line,
/// however busy the host is.
const BATCH_INTERVAL: Duration = Duration::from_millis(10);

/// Runs `image` on a board, with every instruction counted.
pub(in crate::endpoint::board) fn run(
    request: &ProfileRequest,
    options: &Options,
    target: &BoardTarget,
    image: &Image,
    trial: &Trial,
) -> Result<InstructionProfile, TargetError> {
    let failed = |what: String| target.failure(what);
    let symbols = Symbols::read(&image.elf).map_err(failed)?;
    let folder = tempfile::tempdir();
    let folder = folder.map_err(|error| failed(format!("no temporary folder: {error}")))?;
    let counts = Counts::new(&folder.path().join("counts"), &symbols);
    let cannot_count =
        |error: std::io::Error| failed(format!("instructions cannot be counted: {error}"));
    let counts = counts.map_err(cannot_count)?;
    let plugin = plugin(&options.elf_dir).map_err(failed)?;
    let further = [
        // A second of its time is 10^9 instructions.
        "-icount".to_owned(),
        "shift=0".to_owned(),
        "-plugin".to_owned(),
        format!("{},{}", plugin.display(), counts.arguments()),
        "-object".to_owned(),
        format!(
            "filter-buffer,id=f0,netdev=n0,queue=tx,interval={}",
            BATCH_INTERVAL.as_micros()
        ),
    ];
    let board = start(target, &image.elf, tcp_of(trial), &further)?;
    let monitor = board.emulator.monitor();
    let session = BoardSession::begin(Box::new(board), target.name(), START_TIMEOUT)?;
    let read = || {
        let read = monitor.with_stopped(|| counts.read()).map_err(failed)?;
        read.map_err(cannot_count)
    };
    let between = |from: &[Count], to: &[Count]| counts.between(from, to);
    let readings = Readings {
        read: &read,
        between: &between,
    };
    counted::measure(request, target, trial, session, &readings)
}

fn plugin(folder: &Path) -> Result<PathBuf, String> {
    let path = folder.join(PLUGIN);
    path.canonicalize().map_err(|_| {
        format!(
            "there is no plugin {}: `cargo xtask firmware --board BOARD` builds it with the firmware",
            path.display()
        )
    })
}
