#!/usr/bin/env python3
"""Places models and compares what the plans compute with ONNX Runtime.

    agreement.py --inlay build/release/bin/inlay --real ppocrv2_cls --alone onednn --alone openblas
    agreement.py --inlay build/release/bin/inlay --zoo resnet50 --image-size 64

Checks: the placement, and that of each plugin named by --alone with the reference plugin in its gaps, agree with ONNX
Runtime and with the reference plugin within 1e-3 of each output's largest magnitude, for each seed; a second placement
measures nothing and writes the same bytes (not with --budget, which leaves something to measure). Exit status 1 names what
failed.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

ROOT = pathlib.Path(__file__).resolve().parents[2]
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


def page_of_letters(shape, rng):
    """A light page of dark random glyphs in rows: a text reader's outputs are about 0 for anything else."""
    page = np.ones((*shape[:-2], shape[-2], shape[-1]))
    for top in range(8, shape[-2] - 24, 40):
        for left in range(8, shape[-1] - 12, 18):
            glyph = rng.integers(0, 2, (6, 4)).repeat(4, axis=0).repeat(3, axis=1)
            page[..., top:top + 24, left:left + 12] -= 2 * glyph
    return page + 0.05 * rng.standard_normal(shape)


def make_inputs(session, shapes, limits, pages, seed):
    rng = np.random.default_rng(seed)
    inputs = {}
    for value in session.get_inputs():
        shape = shapes.get(value.name, value.shape)
        dtype = NUMPY_TYPES[value.type]
        if value.name in pages:
            inputs[value.name] = page_of_letters(shape, rng).astype(dtype)
        elif np.issubdtype(dtype, np.floating):
            inputs[value.name] = np.asarray(rng.standard_normal(shape)).astype(dtype)
        else:
            inputs[value.name] = np.asarray(rng.integers(0, limits.get(value.name, 2), shape)).astype(dtype)
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


def expected_outputs(model, shapes, limits, pages, values, seeds):
    """Inputs, and what ONNX Runtime makes of them by output's name, for each seed. Inputs that have a value are none."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    cases = []
    for seed in seeds:
        inputs = make_inputs(session, shapes, limits, pages, seed)
        for name, number in values.items():
            inputs[name] = np.full_like(inputs[name], number)
        outputs = dict(zip(names, session.run(None, inputs)))
        cases.append(({name: array for name, array in inputs.items() if name not in values}, outputs))
    return cases


def check_run(inlay, plan, cases, folder):
    failures = []
    for inputs, wanted in cases:
        np.savez(folder / "in.npz", **inputs)
        run([inlay, "run", plan, "-i", folder / "in.npz", "-o", folder / "out.npz", "--check-against", "reference"])
        got = np.load(folder / "out.npz")
        for name, want in wanted.items():
            failure = compare(name, got[name], want) if name in got else f"no output '{name}'; found {list(got)}"
            failures += [failure] if failure else []
    return failures


def check_again(again, folder):
    failures = []
    if again["pricing"]["measured"] != 0:
        failures.append(f"the second placement measured {again['pricing']['measured']} candidates")
    for ending in ("plan", "weights"):
        if (folder / f"plan.{ending}").read_bytes() != (folder / f"again.{ending}").read_bytes():
            failures.append(f"the second placement wrote another {ending}")
    return failures


def plugins_besides(inlay, plugin):
    """Every plugin but this one and the reference, which a plan may always need."""
    listed = json.loads(run([inlay, "plugins", "--json"]))
    names = [entry["name"] for entry in listed]
    if plugin not in names:
        sys.exit(f"--alone {plugin}: no such plugin; found {', '.join(names)}")
    return [name for name in names if name not in (plugin, "reference")]


def check(model, shape_texts, limits, pages, flags, folder):
    input_flags = [flag for text in shape_texts for flag in ("--shape", text)]
    values = {name: int(number) for name, number in (text.rsplit("=", 1) for text in flags.value)}
    input_flags += [flag for text in flags.value for flag in ("--value", text)]
    cases = expected_outputs(model, parse_shapes(shape_texts), limits, pages, values, range(flags.seeds))
    place = [flags.inlay, "place", model, *input_flags, "--db", folder / "costs.sqlite", "--threads", flags.threads]
    if flags.budget:
        place += ["--budget", flags.budget]
    failures = []
    for plugin in [None, *flags.alone]:
        others = plugins_besides(flags.inlay, plugin) if plugin else []
        alone = ["--strategy", "single", *(f for other in others for f in ("--exclude", other))] if plugin else []
        start = time.monotonic()
        report = json.loads(run([*place, *alone, "-o", folder / "plan.plan", "--json"]))
        nodes = ", ".join(f"{row['plugin']} {row['nodes']}" for row in report["by_plugin"])
        print(f"  {plugin + ' alone' if plugin else 'placement'}: winner {report['winner']}; nodes: {nodes}; "
              f"{time.monotonic() - start:.0f} s to place")
        found = check_run(flags.inlay, folder / "plan.plan", cases, folder)
        if plugin is None and not flags.budget:
            again = json.loads(run([*place, "-o", folder / "again.plan", "--json"]))
            found += check_again(again, folder)
        failures += [f"{plugin or 'placement'}: {failure}" for failure in found]
    return failures


def find_model(flags, folder):
    """The model's file, the shapes of its inputs as flags, the limits of its integers, and which inputs are pages."""
    limits = {name: int(n) for name, n in (text.rsplit("=", 1) for text in flags.limit)}
    if flags.model:
        return pathlib.Path(flags.model), flags.shape, limits, []
    name = flags.real or flags.zoo
    known = json.loads((ROOT / "scripts" / "model-shapes.json").read_text()).get(name, {"shapes": {}})
    limits = {**known.get("limits", {}), **limits}
    if flags.real:
        shapes = [f"{key}={'x'.join(map(str, dims)) or 'scalar'}" for key, dims in known["shapes"].items()]
        model = pathlib.Path(flags.models) / f"{name}.onnx"
        if not model.exists():
            run([ROOT / "scripts" / "fetch-model", name, "-o", model])
        return model, shapes + flags.shape, limits, known.get("pages", [])
    model = folder / f"{name}.onnx"
    sizes = [f for flag, value in (("--image-size", flags.image_size), ("--nodes", flags.nodes),
                                         ("--sequence-length", flags.sequence_length)) if value for f in (flag, value)]
    run([flags.inlay, "zoo", "export", name, "-o", model, *sizes])
    return model, flags.shape, limits, []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--inlay", required=True)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--model", help="a file")
    what.add_argument("--real", help="a name of scripts/models.txt; shapes are in scripts/model-shapes.json")
    what.add_argument("--zoo", help="a name of inlay zoo list")
    parser.add_argument("--models", default=ROOT / "build" / "models", help="folder of the --real models")
    parser.add_argument("--image-size", type=int)
    parser.add_argument("--sequence-length", type=int)
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--shape", action="append", default=[])
    parser.add_argument("--limit", action="append", default=[], help="NAME=N: integers below N")
    parser.add_argument("--value", action="append", default=[], help="NAME=N: the input is this integer, at import")
    parser.add_argument("--alone", action="append", default=[], help="this plugin alone too")
    parser.add_argument("--budget", type=float, help="seconds to spend on measuring, for each placement")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=2)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model, shapes, limits, pages = find_model(flags, folder)
        print(model.name)
        failures = check(model, shapes, limits, pages, flags, folder)
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
