"""Commands, and how late this machine runs them."""

import os
import subprocess
import threading
import time

NICE = ["nice", "-n", "-12"]


def run(*words):
    done = subprocess.run([str(it) for it in words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


class Lateness(threading.Thread):
    """Measures how late this machine runs a program that waits for 2 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.late, self.ends = [], False

    def run(self):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -12)
        while not self.ends:
            until = time.monotonic() + 0.002
            time.sleep(0.002)
            self.late.append(time.monotonic() - until)

    def end(self):
        self.ends = True
        self.join()
        late = sorted(self.late) or [0.0]
        return {"late_p99_ms": round(1e3 * late[len(late) * 99 // 100], 2), "late_max_ms": round(1e3 * late[-1], 2)}
