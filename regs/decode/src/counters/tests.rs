//! Outputs of the tools: of a veth interface (ethtool 6, net-tools 2, iproute2 6), of the article about the i.MX 6, and
//! composed in the format of the FEC driver.

use super::Counter::{
    RxDropped, RxFcsErrors, RxFifoOverruns, RxFrames, RxPauseFrames, TxFrames, TxPauseFrames,
};
use super::{Counter, InterfaceCounters};

fn values<const N: usize>(text: &str, counters: [Counter; N]) -> [Option<u64>; N] {
    let read = InterfaceCounters::parse(text);
    counters.map(|it| read.get(it))
}

#[test]
fn both_formats_of_ifconfig_are_read() {
    let old = "\
eth0      Link encap:Ethernet  HWaddr 00:19:b8:00:fa:9a
          RX packets:3901387 errors:782502 dropped:5 overruns:782502 frame:782502
          TX packets:3775053 errors:0 dropped:9 overruns:7 carrier:0
          collisions:0 txqueuelen:1000
          RX bytes:4178248807 (4.1 GB)  TX bytes:853327178 (853.3 MB)
";
    let all = [RxFrames, RxFifoOverruns, RxDropped, TxFrames];
    let expected = [3_901_387, 782_502, 5, 3_775_053].map(Some);
    assert_eq!(values(old, all), expected);
    let new = "\
v0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
        inet 192.0.2.1  netmask 255.255.255.0  broadcast 0.0.0.0
        ether 5a:d2:fe:e7:22:4c  txqueuelen 1000  (Ethernet)
        RX packets 3  bytes 266 (266.0 B)
        RX errors 0  dropped 4  overruns 6  frame 0
        TX packets 7  bytes 558 (558.0 B)
        TX errors 0  dropped 9 overruns 9  carrier 0  collisions 0
";
    assert_eq!(values(new, all), [3, 6, 4, 7].map(Some));
}

#[test]
fn ip_is_read_by_its_column_names() {
    let text = "\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    RX:  bytes packets errors dropped  missed   mcast
         99999     999      9       9       9       9
3: v0@v1: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP mode DEFAULT group default qlen 1000
    link/ether 5a:d2:fe:e7:22:4c brd ff:ff:ff:ff:ff:ff
    RX:  bytes packets errors dropped  missed   mcast
           266       3      0       2       0       0
    RX errors:  length    crc   frame    fifo overrun
                     0      5      0       4       0
    TX:  bytes packets errors dropped carrier collsns
           600       8      0       0       0       0
    TX errors: aborted   fifo  window heartbt transns
                     0     77       0       0       2
";
    let all = [RxFrames, RxDropped, RxFcsErrors, RxFifoOverruns, TxFrames];
    assert_eq!(values(text, all), [3, 2, 5, 4, 8].map(Some));
}

#[test]
fn proc_net_dev_is_read_without_the_loopback_interface() {
    let text = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     999     999    9    9    9     9          9         9      999     999    9    9    9     9       9          9
  eth0:     266       3    0    1    2     0          0         0      600       8    0    0    0     0       0          0
  eth1:       5       5    5    5    5     5          5         5        5       5    5    5    5     5       5          5
";
    let all = [RxFrames, RxDropped, RxFifoOverruns, TxFrames];
    assert_eq!(values(text, all), [3, 1, 2, 8].map(Some));
}

#[test]
fn counters_of_the_mac_go_before_those_of_the_interface() {
    let text = "\
eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500
        RX packets 3  bytes 266 (266.0 B)
        RX errors 0  dropped 0  overruns 6  frame 0
NIC statistics:
     IEEE_tx_fdxfc: 3436
     IEEE_rx_macerr: 12
     IEEE_rx_fdxfc: 2
     rx_queue_0_drops: 77
";
    let all = [RxFrames, RxFifoOverruns, TxPauseFrames, RxPauseFrames];
    assert_eq!(values(text, all), [3, 12, 3_436, 2].map(Some));
    let registers = "\
root@linaro-nano:~ # devregs ENET_IEEE
ENET_IEEE_T_FDXFC:0x02188270    =0x00000d6c
ENET_IEEE_R_MACERR:0x021882d8    =0x00000000
ENET_RCR:0x02188084     =0x05ee0264
";
    let all = [TxPauseFrames, RxFifoOverruns, RxFrames];
    assert_eq!(values(registers, all), [Some(3_436), Some(0), None]);
}

#[test]
fn other_text_has_no_counters() {
    for text in [
        "",
        ":",
        "RX",
        "RX packets",
        "RX:",
        "a: 1 2 3",
        "NIC statistics:\n     peer_ifindex: 2",
    ] {
        assert!(InterfaceCounters::parse(text).is_empty(), "{text}");
    }
}
