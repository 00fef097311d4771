"""What the ABI's header declares, and a simulated newer one.

usage: abi_header.py lint HEADER LAYOUT...     every field of every struct is in a LAYOUT file, and
                                               every struct begins with struct_size
       abi_header.py newer HEADER OUTPUT       the header as a later minor might be: each struct has
                                               fields more at its end
"""

import re
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRUCT = re.compile(r"^(?:typedef )?struct (inlay_\w+) \{(.*?)^\}", re.S | re.M)
FIELD = re.compile(r"\(\*(\w+)\)\s*\(|(\w+)\s*(?:\[[^\]]*\])?\s*$")
LINE = re.compile(r"^INLAY_FIELD\((\w+), (\w+), \d+, \d+\)$", re.M)


def structs(text):
    """Struct name -> names of its fields, in order."""
    found = {}
    for name, body in STRUCT.findall(COMMENT.sub("", text)):
        fields = []
        for declaration in body.split(";"):
            declaration = " ".join(declaration.split())
            if not declaration:
                continue
            match = FIELD.search(declaration)
            if not match:
                raise ValueError(f"{name}: cannot read '{declaration}'")
            fields.append(match.group(1) or match.group(2))
        found[name] = fields
    return found


def lint(header, layouts):
    """The faults found, one line each."""
    declared = structs(header)
    asserted = [pair for layout in layouts for pair in LINE.findall(layout)]
    faults = [f"{name}: expected struct_size first, found {fields[0]}"
              for name, fields in declared.items() if fields[0] != "struct_size"]
    for name, fields in declared.items():
        faults += [f"{name}.{field}: no line INLAY_FIELD({name}, {field}, offset, size)"
                   for field in fields if (name, field) not in asserted]
    faults += [f"{name}.{field}: asserted, but not in the header" for name, field in asserted
               if field not in declared.get(name, [])]
    return faults


def newer(header):
    """A later minor of the same major."""
    text = header
    for name in structs(header):
        text, count = re.subn(
            rf"(^(?:typedef )?struct {name} \{{.*?)(^\}})",
            rf"\1  uint64_t of_a_later_minor[3];\n  void (*later_call)(void);\n\2",
            text, count=1, flags=re.S | re.M)
        if count != 1:
            raise ValueError(f"{name}: not found again")
    text, count = re.subn(r"(#define INLAY_ABI_MINOR )\d+u", r"\g<1>77u", text)
    if count != 1:
        raise ValueError("INLAY_ABI_MINOR: not found")
    return text


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(arguments):
    if len(arguments) >= 3 and arguments[0] == "lint":
        faults = lint(read(arguments[1]), [read(path) for path in arguments[2:]])
        for fault in faults:
            print(fault)
        return 1 if faults else 0
    if len(arguments) == 3 and arguments[0] == "newer":
        with open(arguments[2], "w", encoding="utf-8") as file:
            file.write(newer(read(arguments[1])))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
