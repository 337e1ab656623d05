"""Packages that load a module when one of its names is first used.

So the settings of a stage, which the command line needs for every help text, can be imported without torch,
scipy or polars, which its work needs.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package; `names` has the names that each of its modules provides.

    No name may also be that of a module of the package: importing the module would replace it.

    >>> get, list_names = lazy_names("collections", {"abc": "Sized Hashable"})
    >>> get("Sized"), list_names()
    (<class 'collections.abc.Sized'>, ['Hashable', 'Sized'])
    """
    home = {name: module for module, provided in names.items() for name in provided.split()}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home[name]}"), name)

    return get, lambda: sorted(home)
