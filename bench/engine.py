#!/usr/bin/env python3
"""One engine with one model in a process of its own: loads it, then runs it as often as standard input says.

    engine.py ENGINE MODEL INPUTS.npz THREADS OUTPUTS.npz [--library libinlay.so]

Prints a line of JSON once loaded {"load_s", "outputs"}; then, for each line "N" on standard input, runs N times and prints
{"ns": [...], "peak_kb": VmHWM}. ENGINE is inlay (MODEL is a plan), onnxruntime or openvino.
"""

import ctypes
import json
import os
import sys
import time

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when the library is loaded

import numpy as np  # noqa: E402

ELEMENT_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_, 11: np.float64}


class OnnxRuntime:
    def __init__(self, model, inputs, threads):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.inputs = inputs
        self.names = [o.name for o in self.session.get_outputs()]

    def run(self):
        self.outputs = self.session.run(None, self.inputs)

    def results(self):
        return dict(zip(self.names, self.outputs))


class OpenVino:
    def __init__(self, model, inputs, threads):
        import openvino

        core = openvino.Core()
        network = core.read_model(model)
        network.reshape({name: list(value.shape) for name, value in inputs.items()})
        config = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        self.compiled = core.compile_model(network, "CPU", config)
        self.request = self.compiled.create_infer_request()
        for name, value in inputs.items():
            self.request.set_tensor(name, openvino.Tensor(value))

    def run(self):
        self.request.infer()

    def results(self):
        # An output may bear the names of inner values too.
        return {name: self.request.get_tensor(port).data for port in self.compiled.outputs for name in port.names}


class Inlay:
    """The C API of core/session/inlay.h."""

    class Failure(ctypes.Structure):
        _fields_ = [("struct_size", ctypes.c_uint32), ("code", ctypes.c_int32), ("text", ctypes.c_char * 1016)]

    class RuntimeOptions(ctypes.Structure):
        _fields_ = [("struct_size", ctypes.c_uint32), ("threads", ctypes.c_int32), ("plugins", ctypes.c_char_p)]

    class TensorInfo(ctypes.Structure):
        _fields_ = [("struct_size", ctypes.c_uint32), ("type", ctypes.c_int32), ("name", ctypes.c_char_p),
                    ("rank", ctypes.c_int32), ("dims", ctypes.POINTER(ctypes.c_int64)), ("size_bytes", ctypes.c_uint64)]

    class Memory(ctypes.Structure):
        _fields_ = [("struct_size", ctypes.c_uint32), ("type", ctypes.c_int32), ("name", ctypes.c_char_p),
                    ("rank", ctypes.c_int32), ("dims", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p),
                    ("size_bytes", ctypes.c_uint64)]

    def __init__(self, plan, inputs, threads, library):
        self.library = ctypes.CDLL(library)
        self.failure = self.Failure(struct_size=ctypes.sizeof(self.Failure))
        options = self.RuntimeOptions(struct_size=ctypes.sizeof(self.RuntimeOptions), threads=threads, plugins=None)
        runtime = ctypes.c_void_p()
        self.check(self.library.inlay_runtime_create(ctypes.byref(options), ctypes.byref(runtime), ctypes.byref(self.failure)))
        self.session = ctypes.c_void_p()
        self.check(self.library.inlay_session_open(runtime, plan.encode(), None, ctypes.byref(self.session), ctypes.byref(self.failure)))
        sources = [self.memory(info, inputs[info.name.decode()]) for info in self.infos("input")]
        self.outputs = {info.name.decode(): self.empty(info) for info in self.infos("output")}
        targets = [self.memory(info, self.outputs[info.name.decode()]) for info in self.infos("output")]
        self.arguments = (self.session, len(sources), self.pointers(sources), len(targets), self.pointers(targets), ctypes.byref(self.failure))

    def check(self, code):
        if code != 0:
            sys.exit(f"inlay: {self.failure.text.decode()}")

    def infos(self, kind):
        count = getattr(self.library, f"inlay_session_{kind}_count")(self.session)
        for index in range(count):
            info = self.TensorInfo(struct_size=ctypes.sizeof(self.TensorInfo))
            function = getattr(self.library, f"inlay_session_{kind}_info")
            self.check(function(self.session, index, ctypes.byref(info), ctypes.byref(self.failure)))
            yield info

    def empty(self, info):
        return np.empty([info.dims[i] for i in range(info.rank)], ELEMENT_TYPES[info.type])

    def memory(self, info, array):
        return self.Memory(struct_size=ctypes.sizeof(self.Memory), type=info.type, name=info.name, rank=-1, dims=None,
                           data=array.ctypes.data, size_bytes=array.nbytes)

    def pointers(self, items):
        self.kept = getattr(self, "kept", []) + [items]  # ctypes pointers do not keep what they point to
        return (ctypes.POINTER(self.Memory) * len(items))(*[ctypes.pointer(item) for item in items])

    def run(self):
        self.check(self.library.inlay_session_run(*self.arguments))

    def results(self):
        return self.outputs


def peak_kb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def main():
    engine, model, input_file, threads, output_file = sys.argv[1:6]
    with np.load(input_file) as archive:
        inputs = {name: np.ascontiguousarray(archive[name]) for name in archive}
    start = time.perf_counter()
    if engine == "inlay":
        runner = Inlay(model, inputs, int(threads), sys.argv[7])
    else:
        runner = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}[engine](model, inputs, int(threads))
    load_s = time.perf_counter() - start
    runner.run()
    np.savez(output_file, **{name: np.array(value) for name, value in runner.results().items()})
    print(json.dumps({"load_s": load_s, "outputs": list(runner.results())}), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            begin = time.perf_counter_ns()
            runner.run()
            times.append(time.perf_counter_ns() - begin)
        print(json.dumps({"ns": times, "peak_kb": peak_kb()}), flush=True)


if __name__ == "__main__":
    main()
