"""`eventcargo rules RUN`: a short rule for every label of a run, as a table; RUN/rules.json keeps them."""

from pathlib import Path
from typing import Annotated

import typer

from eventcargo.cli.data import EVENT, LABEL, LABELS, SEQUENCE_ID, TIME
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table, progress_bar
from eventcargo.cli.source import DataSource, recall
from eventcargo.errors import ConfigError
from eventcargo.events import EventDataset
from eventcargo.io import read_graph
from eventcargo.rules import Rule, RuleConfig, find_rules, read_rules, write_rules

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

Rules = dict[str, Rule | None]


@app.command("rules")
@with_options(RuleConfig)
def run_rules(
    run: Annotated[Path, typer.Argument(help="Folder of a run with graph.parquet; rules.json goes there.")],
    events: Annotated[
        str | None, typer.Argument(help="Events of the data; without it, those that the run was made from.")
    ] = None,
    labels: LABELS = None,
    again: Annotated[bool, typer.Option("--again", help="Find the rules anew where RUN has some.")] = False,
    sequence_id: SEQUENCE_ID = "sequence_id",
    time: TIME = "time",
    event: EVENT = "event",
    label: LABEL = "label",
    as_json: AS_JSON = False,
    config: RuleConfig = RuleConfig(),  # noqa: B008 (frozen)
) -> None:
    """Write the boundary of every label as a short rule; rules that are there already are only shown."""
    if labels is not None and events is None:
        raise ConfigError("--labels is the table that goes with EVENTS; give both or none")
    path = run / "rules.json"
    if again or not _up_to_date(run):
        source = None if events is None else DataSource(events, labels, sequence_id, time, event, label)
        rules = _find(run, recall(run) if source is None else source.read(), config)
        write_rules(rules, path)
    elif events is not None or config != RuleConfig():
        raise ConfigError(f"{path} exists already; add --again to find the rules with other data or settings")
    else:
        rules = read_rules(path)
    if as_json:
        print_json({name: None if rule is None else rule.to_dict() for name, rule in rules.items()})
    else:
        _print(rules, path)


def _up_to_date(run: Path) -> bool:
    """Whether there are rules, found after the graph was made."""
    rules, graph = run / "rules.json", run / "graph.parquet"
    return rules.exists() and not (graph.exists() and graph.stat().st_mtime > rules.stat().st_mtime)


def _find(run: Path, data: EventDataset, config: RuleConfig) -> Rules:
    with progress_bar("rules") as update:
        return find_rules(data, read_graph(run / "graph.parquet"), config, progress=update)


def _print(rules: Rules, path: Path) -> None:
    """Labels with a rule, those that hold most often first, and how many have none."""
    found = sorted(filter(None, rules.values()), key=lambda rule: (-rule.support, rule.label))
    print_table(
        "Rules, judged on held-out sequences",
        ["label", "rule", "support", "precision", "recall"],
        [[rule.label, rule.text, rule.support, rule.precision, rule.recall] for rule in found],
    )
    without = [label for label, rule in rules.items() if rule is None]
    lines = [f"{len(found):,} rules in {path}. Support counts the held-out sequences in which a rule holds."]
    if without:
        lines.append(f"No rule holds for {len(without):,} labels, such as {', '.join(without[:10])}.")
    print_lines(lines)
