"""What the machine can do and how quiet it is: the limits against which times are read."""

import os
import pathlib
import statistics
import time

import numpy as np

# A fixed piece of work must repeat within this for differences of a few percent between engines to mean anything.
MAX_SPREAD = 0.10
MAX_LOAD = 0.5  # other processes' share of one core


def busy_processes(seconds=0.5):
    """(share of one core, command) of other processes, busiest first, over the given time."""
    tick = os.sysconf("SC_CLK_TCK")

    def snapshot():
        times = {}
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                text = stat.read_text()
            except OSError:
                continue  # it ended
            name = text[text.index("(") + 1:text.rindex(")")]
            fields = text[text.rindex(")") + 2:].split()
            times[stat.parent.name] = (name, int(fields[11]) + int(fields[12]))
        return times

    before = snapshot()
    time.sleep(seconds)
    after = snapshot()
    own = str(os.getpid())
    shares = [((ticks - before[pid][1]) / tick / seconds, name) for pid, (name, ticks) in after.items()
              if pid in before and pid != own]
    return sorted((s for s in shares if s[0] > 0.02), reverse=True)


def spread(repeats=15):
    """Relative distance from the fastest to the upper quartile of a fixed matrix product."""
    a = np.ones((512, 512), np.float32)
    times = []
    for _ in range(repeats + 3):
        start = time.perf_counter()
        for _ in range(4):
            a @ a
        times.append(time.perf_counter() - start)
    times = sorted(times[3:])
    return statistics.quantiles(times, n=4)[2] / times[0] - 1


def noise():
    """Reasons not to trust timings now; empty if there are none."""
    reasons = []
    processes = busy_processes()
    load = sum(share for share, _ in processes)
    if load > MAX_LOAD:
        listed = ", ".join(f"{name} {100 * share:.0f}%" for share, name in processes[:5])
        reasons.append(f"other processes use {100 * load:.0f}% of a core: {listed}")
    found = spread()
    if found > MAX_SPREAD:
        reasons.append(f"a fixed matrix product varies by {100 * found:.0f}% (limit {100 * MAX_SPREAD:.0f}%)")
    return reasons
