"""Importing a part loads only what it needs: settings nothing heavy, most packages no torch."""

import pkgutil
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import eventcargo
import eventcargo.fusion

from .loaded import after_statement

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"

EVERY = {module.name: module for module in pkgutil.walk_packages(eventcargo.__path__, "eventcargo.")}
PACKAGES = ["eventcargo", *(name for name, module in EVERY.items() if module.ispkg)]
LAZY = [name for name in PACKAGES if hasattr(import_module(name), "lazy_names")]
"""Packages that load a module when one of its names is first used."""


def _torch_free_modules() -> list[str]:
    contracts = tomllib.loads(PYPROJECT.read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    return next(c["source_modules"] for c in contracts if c.get("forbidden_modules") == ["torch"])


def _with_submodules(names: list[str]) -> list[str]:
    return [name for name in EVERY if any(name == top or name.startswith(f"{top}.") for top in names)]


def test_import_of_the_package_is_light() -> None:
    assert after_statement("import eventcargo; dir(eventcargo)") == set()


def test_import_of_the_estimator_is_light() -> None:
    assert after_statement("from eventcargo import Cargo; Cargo()") == set()


def test_settings_are_light() -> None:
    settings = [name for name in EVERY if name.endswith(".config")]
    assert len(settings) > 8
    assert after_statement("\n".join(f"import {name}" for name in settings)) == set()


@pytest.mark.parametrize("package", LAZY)
def test_every_name_of_a_package_that_loads_on_first_use_can_be_had(package: str) -> None:
    module = import_module(package)
    assert set(module.__all__) == set(dir(module))
    assert [name for name in module.__all__ if getattr(module, name, None) is None] == []


@pytest.mark.parametrize("package", LAZY)
def test_no_name_of_such_a_package_is_replaced_by_a_module(package: str) -> None:
    assert [name for name in import_module(package).__all__ if f"{package}.{name}" in EVERY] == []


def test_a_package_that_loads_on_first_use_refuses_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match=r"'eventcargo\.fusion' has no attribute 'no_such_name'"):
        _ = eventcargo.fusion.no_such_name


def test_contract_names_modules_that_exist() -> None:
    assert set(_torch_free_modules()) <= set(EVERY)


def test_modules_of_the_contract_do_not_load_torch() -> None:
    modules = _with_submodules(_torch_free_modules())
    assert "torch" not in after_statement("\n".join(f"import {name}" for name in modules))


def test_unknown_name_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = eventcargo.no_such_name


def test_dir_lists_the_public_names() -> None:
    assert "EventDataset" in dir(eventcargo)
