#!/usr/bin/env python3
"""Copies the modules that the emulated machine uses, with those they need, and lists them in the order of loading: modules.py FROM TO."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

WANTED = """crc32c_generic virtio_pci 9pnet_virtio 9p overlay veth ifb tun sch_netem sch_tbf sch_htb sch_cake sch_sfq sch_pie sch_red sch_fq sch_ingress
act_police act_gact cls_matchall cls_u32 nf_tables nf_conntrack nft_limit nft_ct nft_reject_inet tcp_bbr tcp_diag udp_diag af_packet_diag""".split()


def main(source, target):
    found = {it.stem.replace("-", "_"): it for it in Path(source).rglob("*.ko")}
    order = []

    def add(name):
        name = name.replace("-", "_")
        # Others are built in.
        if name in order or name not in found:
            return
        needed = subprocess.run(["modinfo", "-F", "depends", found[name]], capture_output=True, text=True, check=True).stdout
        for it in filter(None, needed.strip().split(",")):
            add(it)
        order.append(name)
        shutil.copy(found[name], Path(target) / f"{name}.ko")

    # A set may need more.
    for name in [*WANTED, *os.environ.get("MODULES", "").split()]:
        add(name)
    (Path(target) / "order").write_text("\n".join(order) + "\n")


main(*sys.argv[1:])
