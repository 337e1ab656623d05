"""Refusals of simulator settings: each names the setting, the value got and what is allowed."""

from typing import Any

from eventcargo.errors import ConfigError


def check_count(config: Any, name: str, least: int) -> None:
    """Refuse a setting that is no whole number of at least `least`."""
    value = getattr(config, name)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{name}={value!r}: use a whole number of at least {least:,}")


def check_share(config: Any, name: str, low: float = 0.0, high: float = 1.0) -> None:
    """Refuse a setting outside of `low` to `high`, both allowed."""
    value = getattr(config, name)
    if not _is_number(value) or not low <= value <= high:
        raise ConfigError(f"{name}={value!r}: use a number from {low:g} to {high:g}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
