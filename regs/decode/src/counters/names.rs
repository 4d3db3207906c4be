//! Counters by the names of drivers and registers.

use super::Counter;

/// Names in `ethtool -S`: of the i.MX's FEC (`fec_main.c`), the `DesignWare` MAC (`stmmac_ethtool.c`), Intel's e1000e and
/// igb, and others that use the common names of the kernel's statistics.
const DRIVER: [(&str, Counter); 34] = [
    ("ieee_rx_frame_ok", Counter::RxFrames),
    ("ieee_rx_macerr", Counter::RxFifoOverruns),
    ("ieee_rx_crc", Counter::RxFcsErrors),
    ("ieee_rx_fdxfc", Counter::RxPauseFrames),
    ("ieee_tx_frame_ok", Counter::TxFrames),
    ("ieee_tx_fdxfc", Counter::TxPauseFrames),
    ("mmc_rx_fifo_overflow", Counter::RxFifoOverruns),
    ("mmc_rx_crc_error", Counter::RxFcsErrors),
    ("mmc_rx_pause_frames", Counter::RxPauseFrames),
    ("mmc_tx_pause_frame", Counter::TxPauseFrames),
    ("mmc_rx_framecount_gb", Counter::RxFrames),
    ("mmc_tx_framecount_g", Counter::TxFrames),
    ("rx_packets", Counter::RxFrames),
    ("tx_packets", Counter::TxFrames),
    ("rx_frames", Counter::RxFrames),
    ("tx_frames", Counter::TxFrames),
    ("rx_fifo_errors", Counter::RxFifoOverruns),
    ("rx_over_errors", Counter::RxFifoOverruns),
    ("rx_overruns", Counter::RxFifoOverruns),
    ("rx_overrun_errors", Counter::RxFifoOverruns),
    ("rx_resource_errors", Counter::RxDropped),
    ("rx_no_buffer_count", Counter::RxDropped),
    ("rx_missed_errors", Counter::RxDropped),
    ("rx_dropped", Counter::RxDropped),
    ("rx_crc_errors", Counter::RxFcsErrors),
    ("rx_fcs_errors", Counter::RxFcsErrors),
    ("rx_pause", Counter::RxPauseFrames),
    ("rx_pause_frames", Counter::RxPauseFrames),
    ("rx_flow_control_xoff", Counter::RxPauseFrames),
    ("rx_flow_ctrl_xoff", Counter::RxPauseFrames),
    ("tx_pause", Counter::TxPauseFrames),
    ("tx_pause_frames", Counter::TxPauseFrames),
    ("tx_flow_control_xoff", Counter::TxPauseFrames),
    ("tx_flow_ctrl_xoff", Counter::TxPauseFrames),
];

/// Registers of the ENET (i.MX 6Dual/6Quad reference manual), as `devregs` names them.
const REGISTERS: [(&str, Counter); 6] = [
    ("ENET_IEEE_R_FRAME_OK", Counter::RxFrames),
    ("ENET_IEEE_R_MACERR", Counter::RxFifoOverruns),
    ("ENET_IEEE_R_CRC", Counter::RxFcsErrors),
    ("ENET_IEEE_R_FDXFC", Counter::RxPauseFrames),
    ("ENET_IEEE_T_FRAME_OK", Counter::TxFrames),
    ("ENET_IEEE_T_FDXFC", Counter::TxPauseFrames),
];

/// The counter of a line of `ethtool -S` or `devregs`.
pub(super) fn of_driver(line: &str) -> Option<(Counter, u64)> {
    let (name, value) = line.split_once(':')?;
    let (name, value) = (name.trim(), value.trim());
    let find = |table: &[(&str, Counter)], name: &str| {
        let row = table.iter().find(|it| it.0 == name);
        row.map(|it| it.1)
    };
    if let Some(counter) = find(&REGISTERS, name) {
        let (_, digits) = value.split_once("=0x")?;
        return Some((counter, u64::from_str_radix(digits.trim(), 16).ok()?));
    }
    let counter = find(&DRIVER, &name.to_ascii_lowercase())?;
    Some((counter, value.parse().ok()?))
}
