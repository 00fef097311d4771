"""Checks every #include below core/, graphs/, search/ and plugins/ against rules.txt.

usage: check_includes.py ROOT [RULES]

Prints one line for each violation and exits with 1 if there is any. Includes of the project start
at ROOT, name files that exist, and point one way; a third-party header has a home.
"""

import pathlib
import re
import sys

LAYERS = ("core", "graphs", "search", "plugins")
SOURCES = {".h", ".hpp", ".c", ".cc", ".cpp", ".inc", ".cu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


def below(path, folder):
    return path == folder or path.startswith(folder + "/")


class Rules:
    """The tables of rules.txt; ValueError if it cannot read a line or the folders form a cycle."""

    def __init__(self, text):
        self.folders, self.homes, self.system, self.abi = {}, {}, [], []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            form = re.fullmatch(r"(folder|home)\s+(\S+):\s*(.*)|(system|abi):\s*(.+)", line)
            if not form:
                raise ValueError(f"rules line {number}: cannot read '{line}'")
            if form.group(1):
                table = self.folders if form.group(1) == "folder" else self.homes
                table[form.group(2)] = form.group(3).split()
            else:
                getattr(self, form.group(4)).extend(form.group(5).split())
        self.check_acyclic()

    def reached(self, folder):
        """The folders of the table that `folder` may include."""
        return [other for other in self.folders if other != folder
                and any(below(other, allowed) for allowed in self.folders[folder])]

    def check_acyclic(self):
        done, active = set(), []

        def visit(folder):
            if folder in active:
                raise ValueError("rules form a cycle: " + " -> ".join([*active, folder]))
            if folder not in done:
                active.append(folder)
                for other in self.reached(folder):
                    visit(other)
                active.pop()
                done.add(folder)

        for folder in self.folders:
            visit(folder)

    def folder_of(self, path):
        """The folder whose rule counts for `path`, and what it allows; None if there is no rule."""
        for name in sorted(self.folders, key=len, reverse=True):
            if name.endswith("/*"):
                parts = path.split("/")
                own = "/".join(parts[: name.count("/") + 1])
                if below(path, name[:-2]) and len(parts) > name.count("/") + 1:
                    return own, self.folders[name]
            elif below(path, name):
                return name, self.folders[name]
        return None

    def judge(self, path, include, root):
        """Why the file `path` must not include `include`; None if it may."""
        rule = self.folder_of(path)
        if rule is None:
            return "its folder has no rule"
        own, allowed = rule
        homes = [prefix for prefix in self.homes if include.startswith(prefix)]
        home = max(homes, key=len, default=None)
        if include.split("/")[0] in LAYERS:
            if not (root / include).is_file():
                return "there is no such file"
            if not any(below(include, folder) for folder in [own, *allowed]):
                return f"{own} may include {', '.join(allowed) or 'nothing but itself'}"
            return None
        if own == "core/abi":
            return None if include in self.abi else f"core/abi may include {', '.join(self.abi)}"
        if home is not None:
            if any(below(path, folder) for folder in self.homes[home]):
                return None
            return f"{home} lives in {', '.join(self.homes[home])}"
        if re.fullmatch(r"[a-z_0-9]+", include):
            return None
        if any(include == name or name.endswith("/") and include.startswith(name)
               for name in self.system):
            return None
        return "it does not start at the root, or is of a library that has no home in rules.txt"


def check(root, rules):
    """Returns the violations, and how many includes were looked at."""
    violations, count = [], 0
    for layer in LAYERS:
        for file in sorted((root / layer).rglob("*")):
            if file.suffix not in SOURCES or not file.is_file():
                continue
            path = file.relative_to(root).as_posix()
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                if match:
                    count += 1
                    include = match.group(1) or match.group(2)
                    reason = rules.judge(path, include, root)
                    if reason:
                        violations.append(f"{path}:{number}: must not include {include}: {reason}")
    return violations, count


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    beside = pathlib.Path(__file__).with_name("rules.txt")
    table = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else beside
    violations, count = check(root, Rules(table.read_text()))
    print("\n".join(violations + [f"{count} includes, {len(violations)} violations"]))
    sys.exit(1 if violations or count == 0 else 0)


if __name__ == "__main__":
    main()
