"""Tests of abi_header.py, and the present header's lint."""

import pathlib
import unittest

import abi_header

ROOT = pathlib.Path(__file__).parents[3]
HEADER = (ROOT / "core/abi/inlay_plugin.h").read_text(encoding="utf-8")
FROZEN = sorted((ROOT / "tests/data/abi").glob("v*"))
LAYOUTS = [(ROOT / "tests/core/abi/layout.inc").read_text(encoding="utf-8"),
           *((folder / "layout.inc").read_text(encoding="utf-8") for folder in FROZEN)]


class AbiHeader(unittest.TestCase):
    def test_every_field_of_the_header_has_its_place_asserted(self):
        self.assertEqual(abi_header.lint(HEADER, LAYOUTS), [])

    def test_a_struct_without_assertions_is_a_fault(self):
        text = HEADER.replace("typedef struct inlay_option {",
                              "typedef struct inlay_extra {\n  uint32_t struct_size;\n"
                              "  int32_t (*call)(void* it, int32_t n);\n  char name[8];\n"
                              "} inlay_extra;\ntypedef struct inlay_option {")
        self.assertEqual(
            [fault.split(":")[0] for fault in abi_header.lint(text, LAYOUTS)],
            ["inlay_extra.struct_size", "inlay_extra.call", "inlay_extra.name"])

    def test_a_field_added_or_taken_away_is_a_fault(self):
        added = HEADER.replace("} inlay_estimate;", "  double watts;\n} inlay_estimate;")
        self.assertEqual([fault.split(":")[0] for fault in abi_header.lint(added, LAYOUTS)],
                         ["inlay_estimate.watts"])
        gone = HEADER.replace("  double energy_pj;\n} inlay_estimate;", "} inlay_estimate;")
        self.assertEqual(abi_header.lint(gone, LAYOUTS),
                         ["inlay_estimate.energy_pj: asserted, but not in the header"])

    def test_a_struct_without_its_size_first_is_a_fault(self):
        text = HEADER.replace("typedef struct inlay_option {\n  uint32_t struct_size;",
                              "typedef struct inlay_option {")
        self.assertIn("inlay_option: expected struct_size first, found key",
                      abi_header.lint(text, LAYOUTS))

    def test_released_structs_only_grew(self):
        present = abi_header.structs(HEADER)
        for folder in FROZEN:
            header = (folder / "core/abi/inlay_plugin.h").read_text(encoding="utf-8")
            for name, fields in abi_header.structs(header).items():
                self.assertEqual(present[name][:len(fields)], fields, f"{folder.name}: {name}")

    def test_a_newer_header_has_more_in_every_struct(self):
        newer = abi_header.structs(abi_header.newer(HEADER))
        for name, fields in abi_header.structs(HEADER).items():
            self.assertEqual(newer[name], [*fields, "of_a_later_minor", "later_call"])


if __name__ == "__main__":
    unittest.main()
