"""Importing the parts that do not need torch does not load it; checked in a fresh interpreter."""

import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import eventcargo

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def _torch_free_modules() -> list[str]:
    contracts = tomllib.loads(PYPROJECT.read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    return next(c["source_modules"] for c in contracts if c.get("forbidden_modules") == ["torch"])


def _with_submodules(names: list[str]) -> list[str]:
    every = [module.name for module in pkgutil.walk_packages(eventcargo.__path__, "eventcargo.")]
    return [name for name in every if any(name == top or name.startswith(f"{top}.") for top in names)]


def _loaded_after(statements: list[str], module: str) -> bool:
    code = "\n".join(["import sys", *statements, f"sys.exit(3 if {module!r} in sys.modules else 0)"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr
    return done.returncode == 3


def test_check_detects_a_loaded_module() -> None:
    assert _loaded_after(["import fractions"], "fractions")


def test_check_does_not_see_a_module_that_was_not_loaded() -> None:
    assert not _loaded_after(["import eventcargo"], "fractions")


@pytest.mark.parametrize("heavy", ["torch", "polars"])
def test_import_of_the_package_is_light(heavy: str) -> None:
    assert not _loaded_after(["import eventcargo"], heavy)


def test_contract_names_modules_that_exist() -> None:
    every = {module.name for module in pkgutil.walk_packages(eventcargo.__path__, "eventcargo.")}
    assert set(_torch_free_modules()) <= every


def test_modules_of_the_contract_do_not_load_torch() -> None:
    modules = _with_submodules(_torch_free_modules())
    assert not _loaded_after([f"import {name}" for name in modules], "torch")


def test_every_public_name_can_be_had() -> None:
    assert [name for name in eventcargo.__all__ if getattr(eventcargo, name, None) is None] == []


def test_unknown_name_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = eventcargo.no_such_name


def test_dir_lists_the_public_names() -> None:
    assert "EventDataset" in dir(eventcargo)
