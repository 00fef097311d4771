"""Follows docs/plugin_guide.md as a reader would, in a folder that is not the tree's.

usage: guide_test.py --bin DIR --guide FILE --include DIR --compiler CXX [--skip COMMAND]

Blocks of the guide, by their first line:
  ```sh             commands, run one after the other
  ```cpp FILE       the file, written whole
  ```cmake FILE     lines put at the end of the file
  ```cpp fragment   a source that is compiled as it stands behind the usual first lines
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.S | re.M)
FRAGMENT_HEAD = '#include "core/sdk/plugin.h"\n\nusing namespace inlay::sdk;\n\n'
WARNINGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
            "-Wno-unused-function"]
# What a command must print for the guide's words to be true of it.
EXPECTED = {
    "inlay match acme/build/acme.so gcn.onnx": ["acme covers 2 of 14 nodes", "conv2.add, softmax"],
    "inlay match linear/build/linear.so nasnet.onnx": ["in 2 layouts"],
    "inlay explain after.plan --node softmax": ["bias_softmax"],
    "inlay run after.plan": ["agrees with"],
    "inlay run isolated.plan": ["agrees with"],
}
# As many lines of one's own as it may take.
MOST_LINES = 60


class Reader:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.environment = {"PATH": f"{arguments.bin}:{os.environ['PATH']}",
                            "HOME": str(folder), "CMAKE_BUILD_PARALLEL_LEVEL": "2"}

    def run(self, command):
        print(f"$ {command}", flush=True)
        # Short budgets measure less, and nothing here claims a time.
        if command.startswith("inlay place"):
            command += " --budget 2 --threads 1"
        result = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment,
                                text=True, capture_output=True)
        if result.returncode != 0:
            raise SystemExit(f"status {result.returncode}\n{result.stdout}{result.stderr}")
        for start, texts in EXPECTED.items():
            for text in texts if command.startswith(start) else []:
                if text not in result.stdout:
                    raise SystemExit(f"expected '{text}', found\n{result.stdout}")

    def shell(self, text):
        for command in text.strip().splitlines():
            if self.arguments.skip and command.startswith(self.arguments.skip):
                print(f"left out: {command}")
            else:
                self.run(command)

    def write(self, name, text, mode):
        path = self.folder / name
        if not path.exists():
            raise SystemExit(f"{name}: the guide writes into a file that is not there")
        with open(path, mode, encoding="utf-8") as file:
            file.write(text)

    def compile(self, text):
        source = self.folder / "fragment.cpp"
        source.write_text(FRAGMENT_HEAD + text, encoding="utf-8")
        self.run(" ".join([self.arguments.compiler, *WARNINGS, "-shared", "-fPIC",
                           f"-I{self.arguments.include}", str(source), "-o", "fragment.so"]))
        self.run("inlay plugins --with $PWD/fragment.so | grep hooked")

    def follow(self, guide):
        blocks = BLOCK.findall(guide)
        if len(blocks) < 8 or guide.count("\n```") != 2 * len(blocks):
            raise SystemExit(f"{len(blocks)} blocks read; one has a form that is not known")
        for kind, name, text in blocks:
            if kind == "sh" and not name:
                self.shell(text)
            elif kind == "cpp" and name == "fragment":
                self.compile(text)
            elif kind == "cpp" and name:
                lines = sum(bool(line.strip()) for line in text.splitlines())
                if name.startswith("acme/") and lines > MOST_LINES:
                    raise SystemExit(f"{name}: {lines} lines, promised {MOST_LINES}")
                self.write(name, text, "w")
            elif kind == "cmake" and name:
                self.write(name, "\n" + text, "a")
            else:
                raise SystemExit(f"block '{kind} {name}': not known what to do with it")


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--bin", "--guide", "--include", "--compiler"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--skip")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="inlay_guide_"))
    try:
        Reader(arguments, folder).follow(
            pathlib.Path(arguments.guide).read_text(encoding="utf-8"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
