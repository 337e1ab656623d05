"""The wheel holds the whole program: installed into an empty environment, it runs outside of the checkout.

The environment sees what the program depends on, but neither the checkout nor its editable install: a
`.pth` file adds the packages of a folder, and not what the `.pth` files in it name. `make wheel` installs the
dependencies, too.
"""

import json
import os
import random
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from eventcargo import __version__

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "eventcargo"
COLUMNS = ("--sequence-id", "vin", "--time", "day", "--event", "code", "--label", "failure")


def run(*command: str | Path, cwd: Path) -> str:
    """What a program prints; it knows no folder of this checkout."""
    known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=known, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment with the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    own = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    (Path(own) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with events.csv and labels.csv: the turbo fails where P0299 and P0045 occur together."""
    folder, drawn = tmp_path_factory.mktemp("tables"), random.Random(0)
    codes = ("P0299", "P0045", "P0300", "U0121")
    events, labels = ["vin,day,code"], ["vin,failure"]
    for number in range(300):
        chosen = [code for code in codes if drawn.random() < 0.5] or ["U0121"]
        events += [f"V{number:03},{day},{code}" for day, code in enumerate(chosen)]
        labels += [f"V{number:03},turbo"] * ({"P0299", "P0045"} <= set(chosen))
    (folder / "events.csv").write_text("\n".join(events) + "\n")
    (folder / "labels.csv").write_text("\n".join(labels) + "\n")
    return folder


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("eventcargo/")}
    files = {path.relative_to(SOURCE.parent) for path in SOURCE.rglob("*") if path.is_file()}
    assert packed == {path.as_posix() for path in files if "__pycache__" not in path.parts}
    assert {"eventcargo/py.typed", "eventcargo/report/template/page.html"} <= packed


def test_the_source_distribution_holds_what_a_wheel_is_built_from(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src/eventcargo/py.typed"} <= names
    assert not any(name.startswith(("tests", "benchmarks", ".")) for name in names - {".gitignore"})


def test_the_program_is_that_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = "import eventcargo, sys; print(eventcargo.__file__, *sys.path, sep='\\n')"
    place, *path = run(installed / "python", "-c", code, cwd=tmp_path).splitlines()
    assert Path(place).is_relative_to(installed.parent)
    assert str(ROOT / "src") not in path


def test_the_program_gives_its_version(installed: Path, tmp_path: Path) -> None:
    assert run(installed / "eventcargo", "--version", cwd=tmp_path).split() == ["eventcargo", __version__]


def test_raw_tables_are_checked(installed: Path, tables: Path) -> None:
    source = ("events.csv", "--labels", "labels.csv", *COLUMNS)
    told = json.loads(run(installed / "eventcargo", "validate", *source, "--json", cwd=tables))
    assert told["sequences"] == 300


def test_raw_tables_become_causes_and_a_report(installed: Path, tables: Path) -> None:
    source = ("events.csv", "--labels", "labels.csv", *COLUMNS)
    quick = ("--preset", "fast", "--steps", "3", "--workers", "1")
    told = run(installed / "eventcargo", "discover", *source, "--out", "run", *quick, cwd=tables)
    assert "P0045 & P0299" in told or "P0299 & P0045" in told
    assert (tables / "run" / "report.html").stat().st_size > 10_000
