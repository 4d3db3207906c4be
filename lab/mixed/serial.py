"""A serial cable: two pseudoterminals, so many bits per second (a start and a stop bit for each octet): serial.py BAUD FOLDER."""

import os
import select
import sys
import time
import tty

baud, folder = int(sys.argv[1]), sys.argv[2]
masters = []
for at in range(2):
    master, slave = os.openpty()
    tty.setraw(slave)
    os.symlink(os.ttyname(slave), f"{folder}/tty{at}")
    masters.append((master, slave))
most = max(8, baud // 2500)
free = [0.0, 0.0]
while True:
    now = time.monotonic()
    idle = [it for it in range(2) if free[it] <= now]
    wait = min([it - now for it in free if it > now], default=None)
    ready = select.select([masters[it][0] for it in idle], [], [], wait)[0]
    for it in idle:
        if masters[it][0] in ready:
            octets = os.read(masters[it][0], most)
            os.write(masters[1 - it][0], octets)
            free[it] = max(free[it], time.monotonic() - 0.001) + len(octets) * 10 / baud
