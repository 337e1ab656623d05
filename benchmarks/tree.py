"""Figures of the source tree: how large it is, and how far a newcomer walks to follow the default run.

    python -m benchmarks.tree [--src src/eventcargo] [--against before.json] [--out after.json]

A module is on the way of the default run if one of its functions is called while `Cargo` fits a small data
set.
A crossing is a pair of top-level packages of which one calls the other in that run; single modules at the top
level, which everything may use, are not counted.
"""

import argparse
import ast
import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

LONG_FUNCTION = 60


def modules(src: Path) -> dict[str, ast.Module]:
    """All modules of a package by dotted name."""
    found = {}
    for path in sorted(src.rglob("*.py")):
        parts = path.relative_to(src.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = ast.parse(path.read_text("utf-8"))
    return found


def imports(name: str, tree: ast.Module, known: set[str]) -> set[str]:
    """Modules of the package that one of them imports at its top level."""
    named = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            named |= (whole & known) or {node.module}
    return (named & known) - {name}


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def cycles(edges: dict[str, set[str]]) -> int:
    """Modules that reach themselves by imports."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = list(edges[start])
        while waiting:
            at = waiting.pop()
            if at not in seen:
                seen.add(at)
                waiting += edges[at]
        return seen

    return sum(name in reached(name) for name in edges)


def room(module: str) -> str:
    """The top-level package a module is in; empty for modules at the top level."""
    parts = module.split(".")
    return parts[1] if len(parts) > 2 else ""


def on_the_way(package: str) -> tuple[int, int]:
    """Modules and crossings of a small default run."""
    from eventcargo import Cargo, EventDataset, EventSequence  # the package at --src

    visited: set[str] = set()
    crossings: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or frame.f_code.co_name in ("<module>", "<lambda>", "<genexpr>", "<listcomp>"):
            return
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(package):
            return
        visited.add(name)
        caller = frame.f_back
        while caller is not None and not caller.f_globals.get("__name__", "").startswith(package):
            caller = caller.f_back
        here, there = room(caller.f_globals["__name__"]) if caller else "", room(name)
        if here and there and here != there:
            crossings.add((here, there))

    kinds = [(("x", "y", "z"), ("bad",)), (("y", "z"), ())] * 60
    data = EventDataset.from_sequences(
        [
            EventSequence(f"{number:03}", events, (0.0, 1.0, 2.0)[: len(events)], labels)
            for number, (events, labels) in enumerate(kinds)
        ]
    )
    warnings.simplefilter("ignore")
    sys.setprofile(note)
    try:
        Cargo(steps=2, n_jobs=1).fit(data)
    finally:
        sys.setprofile(None)
    return len(visited), len(crossings)


def measure(src: Path) -> dict[str, int]:
    trees = modules(src)
    edges = {name: imports(name, tree, set(trees)) for name, tree in trees.items()}
    importers = Counter(target for targets in edges.values() for target in targets)
    classes = Counter(
        node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)
    )
    lengths = [
        (node.end_lineno or 0) - node.lineno + 1 for tree in trees.values() for node in functions(tree)
    ]
    visited, crossings = on_the_way(src.name)
    return {
        "modules": len(trees),
        "lines": sum(len(path.read_text("utf-8").splitlines()) for path in src.rglob("*.py")),
        "modules on the way of the default run": visited,
        "crossings between packages on the way": crossings,
        "class names used twice": sum(count > 1 for count in classes.values()),
        "modules with one importer": sum(importers[name] == 1 for name in trees),
        f"functions over {LONG_FUNCTION} lines": sum(length > LONG_FUNCTION for length in lengths),
        "modules in import cycles": cycles(edges),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--src", type=Path, default=Path(__file__).parents[1] / "src" / "eventcargo")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--against", type=Path, help="JSON file of another state of the tree")
    options = parser.parse_args()
    sys.path.insert(0, str(options.src.parent))
    figures = measure(options.src)
    before = json.loads(options.against.read_text()) if options.against else {}
    for name, value in figures.items():
        print(f"{name:45} {before.get(name, ''):>7} {value:>7}")
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
