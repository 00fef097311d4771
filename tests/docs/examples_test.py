"""Installs Inlay, builds docs/examples against the installation, runs them, and runs a bundle where
nothing else is installed.

usage: examples_test.py --cmake CMAKE --generator NAME --build DIR --examples DIR --model-maker PROGRAM
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ARGUMENTS = None
# With x all ones each sum is 16 * 0.5 - 3 = 5; then relu, and 1 is added.
EXPECTED = "starts with 6"


def run(*command, check=True, **options):
    """Runs with an empty environment: nothing is found by LD_LIBRARY_PATH, say."""
    result = subprocess.run([str(c) for c in command], text=True, capture_output=True,
                            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"}, **options)
    if check and result.returncode != 0:
        raise AssertionError(f"{command}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result


def arrays(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def run_paths(path):
    """Where the loader looks for the libraries of this one, by its own word."""
    lines = run("readelf", "-d", path).stdout.split("\n")
    texts = [line.split("[")[1].split("]")[0] for line in lines if "PATH)" in line]
    return [folder for text in texts for folder in text.split(":")]


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="inlay_examples_"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        prefix, build = cls.folder / "first", cls.folder / "build"
        run(ARGUMENTS.cmake, "--install", ARGUMENTS.build, "--prefix", prefix)
        # An installation may be moved before it is used.
        cls.prefix = prefix.rename(cls.folder / "prefix")
        run(ARGUMENTS.cmake, "-S", ARGUMENTS.examples, "-B", build, "-G", ARGUMENTS.generator,
            f"-DCMAKE_PREFIX_PATH={cls.prefix}", "-DCMAKE_BUILD_TYPE=Release")
        run(ARGUMENTS.cmake, "--build", build)
        cls.build = build
        cls.model = cls.folder / "small.onnx"
        run(ARGUMENTS.model_maker, cls.model)
        cls.plan = cls.place("small.plan")

    @classmethod
    def place(cls, name, *flags):
        plan = cls.folder / name
        run(cls.prefix / "bin/inlay", "place", cls.model, "-o", plan, "--db", cls.folder / "costs",
            "--threads", 1, "--budget", 2, *flags)
        return plan

    def test_cpp_program_runs_a_plan(self):
        out = run(self.build / "run_plan", self.plan, self.prefix / "lib/inlay/plugins").stdout
        self.assertIn(EXPECTED, out)

    def test_cpp_program_says_what_is_wrong(self):
        result = run(self.build / "run_plan", self.folder / "no.plan", check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("not_found: ", result.stderr)

    def test_c_program_runs_a_plan_on_the_plugins_near_the_library(self):
        self.assertIn(EXPECTED, run(self.build / "run_plan_c", self.plan).stdout)

    def test_plugin_outside_the_tree_is_placed_and_run(self):
        plugin = self.build / "plugins/acme.so"
        plan = self.place("acme.plan", "--with", plugin, "--pin", "relu=acme")
        self.assertIn("acme", plan.read_text())
        out = run(self.prefix / "bin/inlay", "run", plan, "--with", plugin, "--check-against",
                  "reference").stdout
        self.assertIn("agrees with the whole model run on", out)
        exports = run("nm", "-D", "--defined-only", plugin).stdout.split("\n")
        self.assertEqual([line.split()[-1] for line in exports if line], ["inlay_plugin_query"])

    def test_new_plugin_of_an_installation_builds_against_it_alone(self):
        folder = self.folder / "new plugin"
        run(self.prefix / "bin/inlay", "new-plugin", "brand_new", "--dir", folder)
        run(ARGUMENTS.cmake, "-S", folder, "-B", folder / "build")
        run(ARGUMENTS.cmake, "--build", folder / "build")
        plugin = folder / "build/brand_new.so"
        self.assertIn(str(self.prefix), (folder / "build/CMakeCache.txt").read_text())
        plan = self.place("new.plan", "--with", plugin, "--pin", "relu=brand_new")
        self.assertIn("brand_new", plan.read_text())
        result = run(self.prefix / "bin/inlay", "new-plugin", "brand_new", "--dir", folder,
                     check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("expected a new or empty folder", result.stderr)

    def test_plugin_in_plain_c_is_used(self):
        plugin = self.build / "plugins/plain_c.so"
        plan = self.place("c.plan", "--with", plugin, "--pin", "relu=plain_c")
        self.assertIn("plain_c", plan.read_text())

    def test_installed_files_find_each_other_by_relative_places_only(self):
        objects = [path for path in self.prefix.rglob("*")
                   if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
        self.assertGreater(len(objects), 6)
        for path in objects:
            for folder in run_paths(path):
                self.assertTrue(folder.startswith("$ORIGIN"), f"{path}: {folder}")

    def test_bundle_runs_where_nothing_else_is_installed(self):
        root = self.folder / "root"
        bundle = root / "bundle"
        # oneDNN brings the longest chain of libraries; it may be missing here.
        has_onednn = (self.prefix / "lib/inlay/plugins/onednn.so").exists()
        plan = self.place("bundled.plan", *(["--pin", "product=onednn"] if has_onednn else []))
        run(self.prefix / "bin/inlay", "bundle", plan, "-o", bundle)
        self.assertEqual((bundle / "lib/libdnnl.so.3").exists(), has_onednn)
        self.assertTrue((bundle / "lib/libstdc++.so.6").exists())
        self.assertFalse((bundle / "lib/libc.so.6").exists())
        self.assertEqual(run_paths(bundle / "run"), ["$ORIGIN/lib"])
        for path in bundle.glob("lib/*"):
            self.assertEqual(run_paths(path), [], path)
        for path in bundle.glob("plugins/*"):
            self.assertEqual(run_paths(path), ["$ORIGIN/../lib"], path)
        self.enter(root)
        expected = self.folder / "expected.npz"
        run(self.prefix / "bin/inlay", "run", plan, "--seed", 3, "-o", expected)
        out = self.run_inside(root, "/bundle/run", "--seed", "3", "-o", "/out.npz")
        self.assertIn("output ", out)
        self.assertEqual(arrays(root / "out.npz"), arrays(expected))

    def test_bundle_leaves_a_full_folder_alone(self):
        full = self.folder / "full"
        full.mkdir()
        (full / "mine").write_text("mine")
        result = run(self.prefix / "bin/inlay", "bundle", self.plan, "-o", full, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("expected a new or empty folder", result.stderr)
        self.assertEqual(os.listdir(full), ["mine"])

    @staticmethod
    def enter(root):
        """Makes a root with glibc, which no bundle holds, and nothing else."""
        for name in ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"):
            target = root / "lib/x86_64-linux-gnu" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(pathlib.Path("/lib/x86_64-linux-gnu") / name, target)
        (root / "lib64").mkdir()
        shutil.copy("/lib64/ld-linux-x86-64.so.2", root / "lib64")
        # The loader asks /proc for the program's place; a link stands in for a mounted /proc.
        (root / "proc/self").mkdir(parents=True)
        (root / "proc/self/exe").symlink_to("/bundle/run")

    def run_inside(self, root, *command):
        prefix = ["chroot"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "chroot"]
        if run(*prefix, root, "/bundle/run", "--help", check=False).returncode == 125:
            self.skipTest("no permission to chroot here")
        return run(*prefix, root, *command).stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for flag in ("--cmake", "--generator", "--build", "--examples", "--model-maker"):
        parser.add_argument(flag, required=True)
    ARGUMENTS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
