"""Engines in processes of their own that run in turn, and the interval of what comes of it.

    engines = [Engine("inlay", plan, inputs, threads, folder, library), Engine("onnxruntime", model, ...)]
    for engine in engines: engine.run_round(times)
"""

import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / "build/bench-venv/bin/python3"
if VENV.exists() and os.environ.get("INLAY_BENCH_VENV") != "1":
    os.environ["INLAY_BENCH_VENV"] = "1"
    os.execv(VENV, [str(VENV), *sys.argv])

import numpy as np  # noqa: E402

# (degrees of freedom, two-sided 95% quantile), from the highest; the next lower degrees widen the interval
STUDENT_95 = [(120, 1.980), (60, 2.000), (29, 2.045), (19, 2.093), (14, 2.145), (11, 2.201), (9, 2.262), (7, 2.365),
              (5, 2.571), (4, 2.776), (3, 3.182), (2, 4.303), (1, 12.706)]


class Failure(Exception):
    pass


def interval(values):
    """Mean and 95% interval by Student's t."""
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, -math.inf, math.inf
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1))
    t = next(t for degrees, t in STUDENT_95 if degrees <= n - 1)
    half = t * deviation / math.sqrt(n)
    return mean, mean - half, mean + half


class Engine:
    def __init__(self, name, model, inputs, threads, folder, library):
        self.name = name
        self.output_file = folder / f"{name}.npz"
        command = [sys.executable, ROOT / "bench/engine.py", name, model, inputs, str(threads), self.output_file]
        if name == "inlay":
            command += ["--library", library]
        self.errors = open(folder / f"{name}.err", "w+")
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True)
        self.load_s = self.answer()["load_s"]
        self.ns = []
        self.rounds = []
        self.peak_kb = 0

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise Failure(f"{self.name}: {self.errors.read().strip().splitlines()[-1:]}")
        return json.loads(line)

    def outputs(self):
        with np.load(self.output_file) as archive:
            return {name: archive[name] for name in archive}

    def run(self, times):
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        answer = self.answer()
        self.peak_kb = answer["peak_kb"]
        return answer["ns"]

    def run_round(self, times):
        ns = self.run(times)
        self.ns += ns
        self.rounds.append(sorted(ns)[len(ns) // 2])

    def median_ns(self):
        return sorted(self.ns)[len(self.ns) // 2]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
