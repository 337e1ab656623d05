"""What docs/security.md promises, where no other test guards it, and that each promise there has a test."""

import ast
import os
import re
from pathlib import Path

import pytest

from eventcargo import EventDataset, EventSequence, discover
from eventcargo.discovery import DiscoverConfig
from eventcargo.errors import ConfigError
from eventcargo.files import atomic_file, atomic_folder, replacing_folder, sweep, write_document
from eventcargo.locks import _not_through_links, hold_folder

ROOT = Path(__file__).parents[1]
PROMISES = ROOT / "docs" / "security.md"

PIPES = {"engines/local.py", "engines/worker.py"}
"""The two ends of a pipe between a driver and the worker that it has started."""

CODE = {"eval", "exec", "compile", "__import__"}
"""Built-in functions that run text as code."""

LOADERS = {("torch", "load"), ("yaml", "load"), ("yaml", "unsafe_load"), ("joblib", "load"), ("os", "system")}
"""Functions of others that may run what they read."""


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.AST]:
    """All modules of the package, parsed."""
    package = ROOT / "src" / "eventcargo"
    return {str(path.relative_to(package)): ast.parse(path.read_text()) for path in package.rglob("*.py")}


def calls(tree: ast.AST) -> set[str | tuple[str, str]]:
    """The functions that a module calls: by their name, or by the name before a dot and theirs."""
    found = set[str | tuple[str, str]]()
    for node in ast.walk(tree):
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(function, ast.Name):
            found.add(function.id)
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            found.add((function.value.id, function.attr))
    return found


def imports(tree: ast.AST) -> set[str]:
    named = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    return {
        name
        for node in named
        for name in [getattr(node, "module", None), *(a.name for a in node.names)]
        if name
    }


def allowances(tree: ast.AST) -> list[object]:
    """The values of every argument that allows pickles or shells, or code from elsewhere."""
    names = {"allow_pickle", "shell", "trust_remote_code"}
    keywords = (word for node in ast.walk(tree) if isinstance(node, ast.Call) for word in node.keywords)
    return [getattr(word.value, "value", "?") for word in keywords if word.arg in names]


def loads_arrays(tree: ast.AST) -> list[set[str | None]]:
    """The arguments of every call of numpy.load."""
    loads = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("np.load", "numpy.load")
    )
    return [{word.arg for word in node.keywords} for node in loads]


def test_nothing_is_unpickled_but_what_a_driver_and_its_workers_send_each_other(
    trees: dict[str, ast.AST],
) -> None:
    assert {name for name, tree in trees.items() if imports(tree) & {"pickle", "dill", "joblib"}} == PIPES
    assert all("allow_pickle" in words for tree in trees.values() for words in loads_arrays(tree))


def test_no_text_is_run_as_code_and_no_command_goes_through_a_shell(trees: dict[str, ast.AST]) -> None:
    assert len(trees) > 100
    assert {name: found for name, tree in trees.items() if (found := calls(tree) & (CODE | LOADERS))} == {}
    assert {name: found for name, tree in trees.items() if any(found := allowances(tree))} == {}


HOSTILE = (
    "../../outside",
    "/tmp/outside",
    "outside\x00",
    "~/outside",
    "C:\\outside",
    "outside;touch outside",
)


@pytest.mark.slow
def test_no_name_becomes_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "a" / "b"
    home.mkdir(parents=True)
    monkeypatch.chdir(home)
    names = [name for name in HOSTILE if "\x00" not in name]
    data = EventDataset.from_sequences(
        EventSequence(
            f"{names[at % 5]}{at}", (names[at % 5], "other"), (0.0, 1.0), names[at % 2 : at % 2 + 1]
        )
        for at in range(200)
    )
    discover(data, "run", DiscoverConfig(preset="fast", steps=2))
    written = [path.relative_to(tmp_path) for path in tmp_path.rglob("*")]
    assert Path("a/b/run/report.html") in written
    assert [path for path in written if not re.fullmatch(r"a(/b(/run(/[\w.-]+)*)?)?", str(path))] == []
    assert [path for path in written if "outside" in str(path)] == []
    assert not list(Path("/tmp").glob("outside*"))


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file that somebody wants to be overwritten."""
    path = tmp_path / "victim"
    path.write_text("precious")
    return path


def test_a_link_in_place_of_a_file_is_replaced_and_not_followed(victim: Path, tmp_path: Path) -> None:
    link = tmp_path / "result.json"
    link.symlink_to(victim)
    write_document(link, "example", 1, {"number": 1})
    assert not link.is_symlink()
    assert victim.read_text() == "precious"
    link.unlink()
    link.symlink_to(victim)
    with atomic_file(link) as target:
        target.write_text("other")
    assert (link.read_text(), victim.read_text()) == ("other", "precious")


def test_a_link_in_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "result"
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), atomic_folder(link) as target:
        (target / "x").write_text("1")
    (tmp_path / "elsewhere" / "x").write_text("precious")
    with replacing_folder(link) as target:
        (target / "x").write_text("1")
    assert not link.is_symlink()
    assert (tmp_path / "elsewhere" / "x").read_text() == "precious"


def test_a_link_in_place_of_a_lock_is_refused(victim: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / ".lock").symlink_to(victim)
    with pytest.raises(ConfigError, match=r"\.lock is a symbolic link"):
        hold_folder(run)
    with pytest.raises(OSError, match="symbolic link"):  # one that is made at this very moment
        _not_through_links(str(run / ".lock"), os.O_RDWR)
    assert victim.read_text() == "precious"


def test_what_a_link_points_to_is_not_swept(victim: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".x.part").symlink_to(victim)
    (folder / "loop").symlink_to(tmp_path)
    (tmp_path / ".y.part").mkdir()
    sweep(folder)
    assert (folder / ".x.part").is_symlink()
    assert victim.exists()
    assert (tmp_path / ".y.part").exists()


def test_every_promise_names_a_test_that_exists() -> None:
    rows = [line for line in PROMISES.read_text("utf-8").splitlines() if re.match(r"\| [A-Z]", line)]
    assert len(rows) > 10
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, row
        for path, test in named:
            assert f"def {test}(" in (ROOT / path).read_text("utf-8"), row
