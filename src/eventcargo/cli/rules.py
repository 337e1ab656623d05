"""`eventcargo rules RUN`: find a short rule for every label of a run and save them in RUN/rules.json."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import eventcargo
import eventcargo.discovery
import eventcargo.rules
from eventcargo.cli.boundaries import print_shortfalls
from eventcargo.cli.data import EVENT, LABEL, LABELS, SEQUENCE_ID, TIME
from eventcargo.cli.options import with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines, print_table
from eventcargo.cli.run_data import hold
from eventcargo.cli.source import check_tables, data_of
from eventcargo.discovery.run_folder import GRAPH, RULES, artefacts, warn_of_outdated, write_rules_of_run
from eventcargo.errors import ConfigError, counted
from eventcargo.progress import progress_bars
from eventcargo.rules import RuleConfig

if TYPE_CHECKING:
    from eventcargo.events import EventDataset
    from eventcargo.rules import Rule

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

Rules = dict[str, "Rule | None"]


@app.command("rules")
@with_options(RuleConfig)
def run_rules(
    run: Annotated[Path, typer.Argument(help="Folder of a run with graph.parquet; rules.json goes there.")],
    events: Annotated[str | None, typer.Argument(help="Events; default: the data of the run.")] = None,
    labels: LABELS = None,
    again: Annotated[bool, typer.Option("--again", help="Find the rules again if RUN has rules.")] = False,
    sequence_id: SEQUENCE_ID = "",
    time: TIME = "",
    event: EVENT = "",
    label: LABEL = "",
    as_json: AS_JSON = False,
    config: RuleConfig = RuleConfig(),  # noqa: B008 (frozen)
) -> None:
    """Write the boundary of every label as a short rule; rules of the same graph are only printed."""
    check_tables(events, labels)
    path = run / RULES
    if again or not path.exists() or artefacts(run).outdated(RULES):
        hold(run)
        data = data_of(run, events, labels, sequence_id=sequence_id, time=time, event=event, label=label).data
        rules = _find(run, data, config)
        write_rules_of_run(run, rules, data, config)
        warn_of_outdated(run)
    elif events is not None or config != RuleConfig():
        raise ConfigError(f"{path} already exists; add --again to find the rules with other data or settings")
    else:
        rules = eventcargo.rules.read_rules(path)
    if as_json:
        print_json({name: None if rule is None else rule.to_dict() for name, rule in rules.items()})
    else:
        _print(rules, path)


def _find(run: Path, data: "EventDataset", config: RuleConfig) -> Rules:
    with progress_bars() as update:
        graph = eventcargo.read_graph(run / GRAPH)
        quality = eventcargo.discovery.read_quality(run)
        return eventcargo.rules.find_rules(data, graph, config, quality=quality, progress=update)


def _print(rules: Rules, path: Path) -> None:
    """Print the rules, by support, and the number of labels without a rule."""
    ordered = sorted(filter(None, rules.values()), key=lambda rule: (-rule.support, rule.label))
    print_table(
        "Rules, scored on held-out sequences",
        ["label", "rule", "support", "precision", "recall"],
        [[rule.label, rule.text, rule.support, rule.precision, rule.recall] for rule in ordered],
    )
    print_shortfalls(rules)
    without = [label for label, rule in rules.items() if rule is None]
    n_rules = counted(len(ordered), "rule")
    lines = [f"{n_rules} in {path}. Support counts the held-out sequences in which a rule holds."]
    if without:
        names = ", ".join(without[:10]) + (", ..." if len(without) > 10 else "")
        lines.append(f"No rule for {counted(len(without), 'label')}: {names}")
    print_lines(lines)
