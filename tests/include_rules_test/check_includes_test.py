"""Proves that check_includes.py can fail: it finds violations planted in a small tree."""

import pathlib
import tempfile
import unittest

from check_includes import Rules, check

RULES = Rules(pathlib.Path(__file__).with_name("rules.txt").read_text())

# (file, what it includes, allowed)
CASES = [
    ("core/base/a.cpp", '"core/base/b.h"', True),
    ("core/base/a.cpp", "<vector>", True),
    ("core/base/a.cpp", "<sys/mman.h>", True),
    ("core/base/a.cpp", '"core/abi/b.h"', False),
    ("core/base/a.cpp", '"graphs/ir/b.h"', False),
    ("core/base/a.cpp", '"core/base/absent.h"', False),
    ("core/base/a.cpp", '"b.h"', False),
    ("core/base/a.cpp", '"../base/b.h"', False),
    ("core/base/a.cpp", "<eigen3/Eigen/Core>", False),
    ("core/abi/a.h", "<stdint.h>", True),
    ("core/abi/a.h", "<vector>", False),
    ("core/abi/a.h", "<unistd.h>", False),
    ("core/sdk/a.cpp", '"core/base/b.h"', False),
    ("core/plan/a.cpp", '"core/host/b.h"', False),
    ("core/host/a.cpp", '"core/plan/b.h"', True),
    ("core/host/a.cpp", "<boost/dll.hpp>", True),
    ("core/run/a.cpp", "<boost/dll.hpp>", False),
    ("core/run/a.cpp", "<tbb/task_group.h>", True),
    ("core/run/a.cpp", "<oneapi/tbb/task_group.h>", True),
    ("core/sdk/a.h", "<tbb/task_group.h>", False),
    ("graphs/ir/a.cpp", "<boost/graph/adjacency_list.hpp>", True),
    ("graphs/ir/a.cpp", '"graphs/onnx/b.h"', False),
    ("graphs/ir/a.cpp", '"core/host/b.h"', False),
    ("graphs/ir/a.cpp", '"search/cost/b.h"', False),
    ("graphs/onnx/a.cpp", '"onnx/onnx.pb.h"', True),
    ("graphs/zoo/a.cpp", '"onnx/onnx.pb.h"', False),
    ("search/cost/a.cpp", "<sqlite3.h>", True),
    ("search/place/a.cpp", "<sqlite3.h>", False),
    ("search/cost/a.cpp", '"search/verify/b.h"', True),
    ("search/verify/a.cpp", '"search/cost/b.h"', False),
    ("search/verify/a.cpp", '"search/cost/database.h"', True),
    ("search/lower/region_plan.cpp", '"search/lower/region_plan.h"', True),
    ("search/lower/region_plan.cpp", '"search/strategies/b.h"', False),
    ("search/cli/a.cpp", "<CLI/CLI.hpp>", True),
    ("search/report/a.cpp", "<spdlog/spdlog.h>", False),
    ("search/cost/a.cpp", '"plugins/one/b.h"', False),
    ("plugins/one/a.cpp", '"plugins/one/b.h"', True),
    ("plugins/one/a.cpp", '"core/sdk/b.h"', True),
    ("plugins/one/a.cpp", '"plugins/two/b.h"', False),
    ("plugins/one/a.cpp", '"core/base/b.h"', False),
    ("plugins/one/a.cpp", "<cblas.h>", False),
    ("plugins/openblas/a.cpp", "<cblas.h>", True),
    ("plugins/onednn/a.cpp", "<oneapi/dnnl/dnnl.hpp>", True),
    ("plugins/openblas/a.cpp", "<oneapi/dnnl/dnnl.hpp>", False),
    ("search/unheard_of/a.cpp", "<vector>", False),
]


class CheckIncludes(unittest.TestCase):
    def test_judges_planted_includes(self):
        for file, include, allowed in CASES:
            with self.subTest(file=file, include=include), tempfile.TemporaryDirectory() as folder:
                root = pathlib.Path(folder)
                for name in {include.strip('"<>'), file}:
                    # Only project headers that start at a layer exist in the tree.
                    if name.split("/")[0] in ("core", "graphs", "search", "plugins") \
                            and "absent" not in name:
                        (root / name).parent.mkdir(parents=True, exist_ok=True)
                        (root / name).touch()
                (root / file).write_text(f"// a comment\n#  include {include}\nint a;\n")
                violations, count = check(root, RULES)
                self.assertEqual(count, 1)
                self.assertEqual(not violations, allowed, violations)
                if violations:
                    self.assertIn(f"{file}:2:", violations[0])

    def test_rejects_rules_that_form_a_cycle(self):
        with self.assertRaisesRegex(ValueError, "a -> b -> a"):
            Rules("folder a: b\nfolder b: a\n")

    def test_rejects_a_line_it_cannot_read(self):
        with self.assertRaisesRegex(ValueError, "line 2"):
            Rules("folder a: b\nfolders b: a\n")


if __name__ == "__main__":
    unittest.main()
