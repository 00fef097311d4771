"""Unpacks wheels that carry C++ libraries into one prefix with include/ and lib/.

usage: unpack_wheel.py PREFIX WHEEL... [NAME[=TARGET]...]

What a wheel would install under a Python's prefix (its *.data/data folder) goes to PREFIX. With NAMEs
inside the wheels, which do not end in .whl, only those are taken, to PREFIX/TARGET; one that ends in /
is a folder and all below it. Wheels cannot hold links, so each
shared library is there three times, as libx.so, libx.so.1 and libx.so.1.2: the one that its SONAME
calls for stays and the others become links to it.
"""

import os
import re
import shutil
import sys
import zipfile


def target_of(name, wanted):
    """Where a file of a wheel goes, below the prefix; None if it is not taken."""
    if not wanted:
        data = re.fullmatch(r"[^/]+\.data/data/(.+[^/])", name)
        return data.group(1) if data else None
    for source, target in wanted.items():
        if name == source or (source.endswith("/") and name.startswith(source) and name != source):
            return target + name[len(source) :]
    return None


def unpack(prefix, wheel, wanted):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            target = target_of(name, wanted)
            if target is None:
                continue
            path = os.path.join(prefix, target)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with archive.open(name) as source, open(path, "wb") as out:
                shutil.copyfileobj(source, out)


def link_copies(folder):
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        stem = re.fullmatch(r"(.+\.so)\.\d+", name)
        if not stem:
            continue
        for copy in names:
            if copy == stem.group(1) or copy.startswith(name + "."):
                os.remove(os.path.join(folder, copy))
                os.symlink(name, os.path.join(folder, copy))


def main():
    prefix, *rest = sys.argv[1:]
    wheels = [name for name in rest if name.endswith(".whl")]
    wanted = {}
    for name in rest:
        if not name.endswith(".whl"):
            source, _, target = name.partition("=")
            wanted[source] = target or source
    for wheel in wheels:
        unpack(prefix, wheel, wanted)
    missing = [name for name in wanted.values() if not os.path.exists(os.path.join(prefix, name))]
    if missing or not os.path.isdir(prefix):
        sys.exit(f"unpack_wheel: {wheels}: expected to hold {sorted(wanted) or 'data files'}")
    link_copies(os.path.join(prefix, "lib"))


main()
