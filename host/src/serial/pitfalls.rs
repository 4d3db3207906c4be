//! What makes serial ports slow or unusable, as Linux shows it in `/sys` and `/proc`.
//!
//! The roots are arguments, so that the tests use trees of files. Not tried on hardware.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Longest latency timer of an FTDI adapter that does no harm, milliseconds.
const GOOD_LATENCY_MS: u32 = 1;
/// Speed of USB full speed, Mbit/s.
const FULL_SPEED: u32 = 12;
/// Program that opens new serial ports to look for modems.
const MODEM_MANAGER: &str = "ModemManager";

/// A process that has a port open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortUser {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
}

impl PortUser {
    /// Who it is, and what to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        let Self { pid, name } = self;
        if name == MODEM_MANAGER {
            return format!(
                "{name} (process {pid}) looks for a modem: wait half a minute, or keep it away with a udev rule that \
                 sets ENV{{ID_MM_DEVICE_IGNORE}}=\"1\""
            );
        }
        format!(
            "{name} (process {pid}) has it open; two readers would share the octets, so close it there"
        )
    }
}

/// The process that has the device at `path` open, as far as this user may see it; not this one.
#[must_use]
pub fn user_of(proc_root: &Path, path: &Path) -> Option<PortUser> {
    let device = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let own = std::process::id();
    let entries = fs::read_dir(proc_root).ok()?;
    entries.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let files = fs::read_dir(entry.path().join("fd")).ok()?;
        let mut links = files
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok());
        let has_it = pid != own && links.any(|link| link == device);
        has_it.then(|| PortUser {
            pid,
            name: read(&entry.path().join("comm")).unwrap_or_else(|| "a process".to_owned()),
        })
    })
}

/// Name of the group that a device belongs to; its number if it has no name.
#[must_use]
pub fn group_of(path: &Path) -> String {
    let Ok(metadata) = fs::metadata(path) else {
        return "dialout".to_owned();
    };
    let number = metadata.gid().to_string();
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    let mut lines = groups
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let line = lines.find(|fields| fields.get(2) == Some(&number.as_str()));
    line.and_then(|fields| fields.first().map(|name| (*name).to_owned()))
        .unwrap_or(number)
}

/// What Linux knows about a serial port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PortFacts {
    /// Kernel driver: `ftdi_sio`, `cdc_acm`, `cp210x`.
    pub driver: Option<String>,
    /// Name of the USB device.
    pub product: Option<String>,
    /// Speed of its bus, Mbit/s.
    pub usb_mbit_per_s: Option<u32>,
    /// Time that an FTDI adapter waits for more octets, milliseconds.
    pub latency_timer_ms: Option<u32>,
    latency_file: PathBuf,
}

impl PortFacts {
    /// The facts on the port at `path`; `sys_root` is `/sys`.
    #[must_use]
    pub fn of(sys_root: &Path, path: &Path) -> Self {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let Some(name) = path.file_name() else {
            return Self::default();
        };
        let device = sys_root.join("class/tty").join(name).join("device");
        let Ok(real) = fs::canonicalize(&device) else {
            return Self::default();
        };
        let driver = fs::read_link(real.join("driver")).ok();
        let driver = driver.and_then(|link| Some(link.file_name()?.to_str()?.to_owned()));
        let latency_file = device.join("latency_timer");
        let usb = real
            .ancestors()
            .find(|folder| folder.join("idVendor").exists());
        let of_usb = |file: &str| read(&usb?.join(file));
        Self {
            driver,
            product: of_usb("product"),
            usb_mbit_per_s: of_usb("speed").and_then(|speed| speed.parse().ok()),
            latency_timer_ms: read(&latency_file).and_then(|text| text.parse().ok()),
            latency_file,
        }
    }

    /// Short description: product and driver.
    #[must_use]
    pub fn description(&self) -> Option<String> {
        let driver = self.driver.as_ref()?;
        let product = self.product.as_deref().unwrap_or("serial port");
        let bus = self
            .usb_mbit_per_s
            .map_or_else(String::new, |speed| format!(", USB at {speed} Mbit/s"));
        Some(format!("{product} ({driver}{bus})"))
    }

    /// What limits the port before anything is measured at `baud`, a sentence each, with what to do.
    #[must_use]
    pub fn pitfalls(&self, baud: u32) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(ms) = self.latency_timer_ms.filter(|ms| *ms > GOOD_LATENCY_MS) {
            found.push(format!(
                "the adapter's latency timer is {ms} ms: octets that do not fill a USB packet wait that long, so round \
                 trips take at least {ms} ms; set it with `echo {GOOD_LATENCY_MS} | sudo tee {}`",
                self.latency_file.display()
            ));
        }
        if self.driver.as_deref() == Some("cdc_acm") {
            let speed = self.usb_mbit_per_s.unwrap_or(FULL_SPEED);
            found.push(format!(
                "the port is USB itself ({speed} Mbit/s): {baud} baud only matters if the device has a UART behind it"
            ));
        }
        found
    }
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// The files of a USB adapter, as Linux 6 has them.
    fn adapter(root: &Path, tty: &str, driver: &str, speed: &str, latency: Option<&str>) {
        let usb = root.join("devices/pci0000:00/0000:00:14.0/usb1/1-2");
        write(&usb.join("idVendor"), "0403\n");
        write(&usb.join("product"), "FT232R USB UART\n");
        write(&usb.join("speed"), speed);
        let port = usb.join("1-2:1.0").join(tty);
        fs::create_dir_all(&port).expect("made");
        if let Some(latency) = latency {
            write(&port.join("latency_timer"), latency);
        }
        let drivers = root.join("bus/usb-serial/drivers").join(driver);
        fs::create_dir_all(&drivers).expect("made");
        symlink(&drivers, port.join("driver")).expect("linked");
        let class = root.join("class/tty").join(tty);
        fs::create_dir_all(&class).expect("made");
        symlink(&port, class.join("device")).expect("linked");
    }

    #[test]
    fn the_latency_timer_of_an_ftdi_adapter_is_named() {
        let root = tempfile::tempdir().expect("a folder");
        adapter(root.path(), "ttyUSB0", "ftdi_sio", "12\n", Some("16\n"));
        let facts = PortFacts::of(root.path(), Path::new("/dev/ttyUSB0"));
        assert_eq!(
            facts.description().as_deref(),
            Some("FT232R USB UART (ftdi_sio, USB at 12 Mbit/s)")
        );
        let [pitfall] = &facts.pitfalls(3_000_000)[..] else {
            panic!("{facts:?}");
        };
        assert!(pitfall.contains("latency timer is 16 ms"), "{pitfall}");
        assert!(
            pitfall.contains("class/tty/ttyUSB0/device/latency_timer"),
            "{pitfall}"
        );
    }

    #[test]
    fn a_short_latency_timer_and_an_ordinary_port_are_no_pitfall() {
        let root = tempfile::tempdir().expect("a folder");
        adapter(root.path(), "ttyUSB0", "ftdi_sio", "480\n", Some("1\n"));
        let facts = PortFacts::of(root.path(), Path::new("/dev/ttyUSB0"));
        assert_eq!(facts.latency_timer_ms, Some(1));
        assert!(facts.pitfalls(9_600).is_empty());
        assert_eq!(
            PortFacts::of(root.path(), Path::new("/dev/ttyS9")),
            PortFacts::default()
        );
    }

    #[test]
    fn the_baud_rate_of_a_usb_device_means_nothing() {
        let root = tempfile::tempdir().expect("a folder");
        adapter(root.path(), "ttyACM0", "cdc_acm", "12\n", None);
        let facts = PortFacts::of(root.path(), Path::new("/dev/ttyACM0"));
        assert!(facts.pitfalls(115_200)[0].contains("USB itself (12 Mbit/s)"));
    }

    #[test]
    fn the_process_that_has_a_port_open_is_named() {
        let root = tempfile::tempdir().expect("a folder");
        for (pid, name, file) in [
            (71, "bash\n", "/dev/null"),
            (812, "ModemManager\n", "/dev/ttyACM7"),
        ] {
            let process = root.path().join(pid.to_string());
            write(&process.join("comm"), name);
            fs::create_dir_all(process.join("fd")).expect("made");
            symlink(file, process.join("fd/9")).expect("linked");
        }
        let user = user_of(root.path(), Path::new("/dev/ttyACM7")).expect("found");
        assert_eq!((user.pid, user.name.as_str()), (812, "ModemManager"));
        assert!(
            user.advice().contains("ID_MM_DEVICE_IGNORE"),
            "{}",
            user.advice()
        );
        assert_eq!(user_of(root.path(), Path::new("/dev/ttyACM8")), None);
        let other = PortUser {
            pid: 5,
            name: "minicom".to_owned(),
        };
        assert!(other.advice().contains("minicom (process 5)"));
    }
}
