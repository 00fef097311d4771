#!/usr/bin/env python3
"""Places models and compares what the plans compute with ONNX Runtime.

    agreement.py --inlay build/release/bin/inlay --model m.onnx --shape x=1x3x48x192
    agreement.py --inlay build/release/bin/inlay --zoo resnet50 --image-size 64

Checks, for each model: the placement and a run of it agree with ONNX Runtime and with the reference plugin within 1e-3 of
each output's largest magnitude; a second placement measures nothing and writes the same bytes. Exit status 1 names what
failed.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

RELATIVE_TOLERANCE = 1e-3  # of the output's largest magnitude: Inlay's end-to-end class
NUMPY_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


def run(command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}exit status {done.returncode}")
    return done.stdout


def parse_shapes(texts):
    shapes = {}
    for text in texts:
        name, dims = text.rsplit("=", 1)
        shapes[name] = [] if dims == "scalar" else [int(d) for d in dims.split("x")]
    return shapes


def make_inputs(session, shapes, limits, seed):
    rng = np.random.default_rng(seed)
    inputs = {}
    for value in session.get_inputs():
        shape = shapes.get(value.name, value.shape)
        dtype = NUMPY_TYPES[value.type]
        if np.issubdtype(dtype, np.floating):
            inputs[value.name] = rng.standard_normal(shape).astype(dtype)
        else:
            inputs[value.name] = rng.integers(0, limits.get(value.name, 2), shape).astype(dtype)
    return inputs


def compare(name, got, want):
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{name}: expected {want.dtype}{want.shape}, found {got.dtype}{got.shape}"
    if not np.issubdtype(want.dtype, np.floating):
        return None if np.array_equal(got, want) else f"{name}: integers differ"
    if want.size == 0:
        return None
    bound = RELATIVE_TOLERANCE * np.abs(want).max()
    if bound == 0:
        return f"{name}: every expected value is 0, so nothing would be checked"
    worst = np.abs(got - want).max()
    print(f"  {name}: worst difference {worst:.3g}, bound {bound:.3g}")
    return None if worst <= bound else f"{name}: worst difference {worst:.3g}, bound {bound:.3g}"


def check(inlay, model, shape_texts, limits, folder, threads, seeds):
    database = folder / "costs.sqlite"
    shape_flags = [flag for text in shape_texts for flag in ("--shape", text)]
    place = [inlay, "place", model, *shape_flags, "--db", database, "--threads", threads]
    report = json.loads(run([*place, "-o", folder / "a.plan", "--json"]))
    again = json.loads(run([*place, "-o", folder / "b.plan", "--json"]))
    failures = []
    if again["pricing"]["measured"] != 0:
        failures.append(f"the second placement measured {again['pricing']['measured']} candidates")
    for ending in ("plan", "weights"):
        if (folder / f"a.{ending}").read_bytes() != (folder / f"b.{ending}").read_bytes():
            failures.append(f"the second placement wrote another {ending}")

    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    for seed in seeds:
        inputs = make_inputs(session, parse_shapes(shape_texts), limits, seed)
        np.savez(folder / "in.npz", **inputs)
        run([inlay, "run", folder / "a.plan", "-i", folder / "in.npz", "-o", folder / "out.npz",
             "--check-against", "reference"])
        got = np.load(folder / "out.npz")
        for value, want in zip(session.get_outputs(), session.run(None, inputs)):
            if value.name not in got:
                failures.append(f"no output '{value.name}'; found {list(got)}")
                continue
            failure = compare(value.name, got[value.name], want)
            failures += [failure] if failure else []
    plugins = ", ".join(f"{row['plugin']} {row['nodes']}" for row in report["by_plugin"])
    print(f"  winner {report['winner']}; nodes: {plugins}")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inlay", required=True)
    parser.add_argument("--model")
    parser.add_argument("--zoo")
    parser.add_argument("--image-size", type=int)
    parser.add_argument("--sequence-length", type=int)
    parser.add_argument("--shape", action="append", default=[])
    parser.add_argument("--limit", action="append", default=[], help="NAME=N: integers below N")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=2)
    flags = parser.parse_args()
    limits = {name: int(n) for name, n in (text.rsplit("=", 1) for text in flags.limit)}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = pathlib.Path(flags.model) if flags.model else folder / f"{flags.zoo}.onnx"
        if flags.zoo:
            sizes = [f for flag, value in (("--image-size", flags.image_size), ("--sequence-length", flags.sequence_length))
                     if value for f in (flag, value)]
            run([flags.inlay, "zoo", "export", flags.zoo, "-o", model, *sizes])
        print(model.name)
        failures = check(flags.inlay, model, flags.shape, limits, folder, flags.threads, range(flags.seeds))
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
