use super::*;

fn refused(url: &str) -> String {
    let opened = open(url, &Options::default()).map(|device| device.name());
    opened.expect_err(url).to_string()
}

#[test]
fn a_url_that_is_no_device_is_explained() {
    assert!(
        refused("sim://esp32c6-bitbang").contains("qemu://BOARD, gdb://HOST:PORT and probe://CHIP")
    );
    assert!(refused("gdb://localhost").contains("`-s` of QEMU has 1234"));
    assert!(refused("qemu://esp32c6-bitbang").contains("is not emulated by QEMU"));
}

#[test]
fn a_probe_is_asked_for_by_its_chip_if_it_has_one() {
    assert_eq!(
        probe::arguments("STM32F407", "127.0.0.1:1"),
        [
            "gdb",
            "--gdb-connection-string",
            "127.0.0.1:1",
            "--chip",
            "STM32F407"
        ]
    );
    assert_eq!(
        probe::arguments("", "127.0.0.1:1"),
        ["gdb", "--gdb-connection-string", "127.0.0.1:1"]
    );
    let device = open("probe://", &Options::default()).expect("a probe");
    assert_eq!(device.name(), "the chip on the debug probe");
}

#[test]
fn a_server_has_its_address_and_sends_nothing() {
    let mut device = open("gdb://[::1]:3333", &Options::default()).expect("a server");
    assert!(device.name().ends_with("[::1]:3333"));
    let error = device.transfer().expect_err("none").to_string();
    assert!(error.contains("--then enter"), "{error}");
}
