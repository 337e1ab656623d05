"""`--config FILE`: the options of a command from a YAML, TOML or JSON file.

Keys are the names of options, with dashes or underscores, or of positional arguments. Options of several
commands may be in one file, each under the name of its command. Values are read as text, as on the command
line, so that `sequence-id: 007` stays what it is.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import typer

from eventcargo.errors import ConfigError, arguments_shown_by, did_you_mean, shortened, shown_value
from eventcargo.knowledge.parsing import parse

ALONE = ("config", "help")
"""Options that make no sense in a file."""

LONGEST = 60
"""Characters of a key in a message."""


def take_options(ctx: typer.Context, path: Path) -> None:
    """Make the file's values the defaults of the command's options, and name its keys in later errors."""
    own = _section(ctx, path, _read(path))
    options = _options(ctx)
    values: dict[str, Any] = {}
    keys: dict[str, str] = {}
    for key, value in own.items():
        name = _plain(key)
        if name not in options:
            raise ConfigError(f"{path}: {_unknown(ctx, key, list(options))}")
        option = options[name]
        if option.name in values:
            raise ConfigError(f"{path}: {key} and {keys[option.name]} are the same option; keep one of them")
        values[option.name], keys[option.name] = _checked(ctx, path, key, option, value), key
    ctx.default_map = {**(ctx.default_map or {}), **values}
    ctx.with_resource(arguments_shown_by(partial(_in_file, ctx, path, keys)))


def _read(path: Path) -> Mapping[str, Any]:
    try:
        content = parse(path, values=True)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise ConfigError(f"{path} is {shown_value(content, 60)}, not options by their names")
    return content


def _section(ctx: typer.Context, path: Path, content: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says of this command: what stands under its name, and what stands under no name."""
    way: list[tuple[Any, str]] = []
    at: Any = ctx
    while at.parent is not None:
        way.insert(0, (at.parent, at.info_name))
        at = at.parent
    own = dict(content)
    for group, name in way:
        sections = {key: own.pop(key) for key in list(own) if isinstance(own[key], Mapping)}
        for key in sections:
            if key in (known := group.command.list_commands(group)):
                continue  # also if an option has this name, too
            if _plain(key) in _options(ctx):
                raise ConfigError(f"{path}: {key} has entries of its own; give a value or a list of values")
            raise ConfigError(f"{path}: {_unknown(ctx, key, [*_options(ctx), *known])}")
        own |= sections.get(name, {})
    return own


def _options(ctx: typer.Context) -> dict[str, Any]:
    """The options and arguments of a command by the names that a file may use."""
    options: dict[str, Any] = {}
    for one in ctx.command.params:
        names = [_plain(name) for name in one.opts if name.startswith("--")] or [_plain(one.name)]
        options |= {name: one for name in names if name not in ALONE}
    return options


def _plain(key: str) -> str:
    return key.lstrip("-").replace("_", "-")


def _unknown(ctx: typer.Context, key: str, allowed: list[str]) -> str:
    meant = did_you_mean(_plain(key), allowed)
    advice = f"did you mean {meant}?" if meant else f"`{ctx.command_path} --help` lists its options"
    return f"{shortened(key, LONGEST)} is no option of {ctx.info_name}; {advice}"


def _checked(ctx: typer.Context, path: Path, key: str, option: Any, value: Any) -> Any:
    """The value of a key, refused if the option cannot take it."""
    many = bool(getattr(option, "multiple", False)) or option.nargs != 1
    values = value if isinstance(value, list) else [value]
    is_many = isinstance(value, list)
    if not all(isinstance(one, str) for one in values) or (is_many and not many):
        wanted = "a value or a list of values" if many else "one value"
        raise ConfigError(f"{path}: {key} is {shown_value(value, 60)}; give {wanted}")
    given = values if many else value
    try:
        option.process_value(ctx, given)
    except Exception as error:
        words = getattr(error, "message", "") or str(error)
        if not hasattr(error, "exit_code"):
            raise
        raise ConfigError(f"{path}: {key} is {shown_value(value, 60)}: {words}") from None
    return given


def _in_file(ctx: typer.Context, path: Path, keys: Mapping[str, str], name: str, value: Any) -> str:
    """An argument as messages show it: the key of a file, if its value came from there."""
    from eventcargo.cli import as_option
    from eventcargo.errors import UNSET

    source = ctx.get_parameter_source(name)
    if name not in keys or source is None or source.name != "DEFAULT_MAP":
        return as_option(name, value)
    return f"{path}: {keys[name]}" if value is UNSET else f"{path}: {keys[name]} {shown_value(value)}"
