"""Parameters of an estimator, as scikit-learn asks for them, without loading scikit-learn.

Importing `sklearn.base` loads scipy.stats and, where it is installed, pandas: seconds before the first line
of a program. What scikit-learn needs of an estimator is a handful of methods: `get_params` and `set_params`
for `clone` and searches, `__sklearn_tags__` for everything that takes estimators.
"""

import inspect
from typing import Any, Self

from eventcargo.errors import ConfigError


class WithParameters:
    """The arguments of `__init__`, kept as attributes of the same names, read and set by name.

    >>> class Example(WithParameters):
    ...     def __init__(self, size: int = 1, kind: str = "a") -> None:
    ...         self.size, self.kind = size, kind
    >>> Example().set_params(size=3)
    Example(size=3)
    >>> Example().get_params()
    {'kind': 'a', 'size': 1}
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The arguments of `__init__`, sorted by name, with their defaults."""
        arguments = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {one.name: one.default for one in sorted(arguments, key=lambda one: one.name)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep`, those of a parameter that has some follow as name__inner."""
        own = {name: getattr(self, name) for name in self._defaults()}
        inner = {name: value for name, value in own.items() if deep and _has_parameters(value)}
        return own | {
            f"{name}__{key}": part
            for name, value in inner.items()
            for key, part in value.get_params().items()
        }

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; `name__inner` sets a parameter of a parameter."""
        known = self._defaults()
        for name, value in params.items():
            owner, _, inner = name.partition("__")
            if owner not in known:
                raise ConfigError(f"unknown parameter {owner!r}; use {', '.join(known)}")
            if inner:
                getattr(self, owner).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def _changed(self) -> list[str]:
        """The names of parameters that differ from their defaults."""
        return [
            name for name, default in self._defaults().items() if repr(getattr(self, name)) != repr(default)
        ]

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._changed())
        return f"{type(self).__name__}({changed})"


def _has_parameters(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)
