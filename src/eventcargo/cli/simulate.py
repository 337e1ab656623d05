"""`eventcargo simulate REGIME OUT`: write simulated events, labels and truth, one command per regime."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import eventcargo
from eventcargo.cli.options import as_sentence, with_options
from eventcargo.cli.output import AS_JSON, print_json, print_lines
from eventcargo.errors import counted
from eventcargo.files import atomic_folder, check_new_folder
from eventcargo.simulation import RAW_REGIMES, REGIMES, RawRegime, Records, Regime, Simulated
from eventcargo.simulation.meds_folder import write_meds
from eventcargo.simulation.messy import write_messy

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Simulate events with known causes: events, labels, truth (.parquet) and simulation.json.",
)


def _add(name: str, regime: Regime) -> None:
    @with_options(regime.config)
    def simulate_regime(
        out: Annotated[Path, typer.Argument(help="New folder for the tables.")],
        seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same tables.")] = 0,
        as_json: AS_JSON = False,
        config: Any = None,
    ) -> None:
        check_new_folder(out)
        simulated = regime.make(config, seed)
        with atomic_folder(out) as target:
            write_simulated(simulated, target)
        _report(simulated, out, as_json)

    simulate_regime.__doc__ = _first_paragraph(regime)
    app.command(name)(simulate_regime)


def _add_raw(name: str, regime: RawRegime) -> None:
    @with_options(regime.config)
    def simulate_raw(
        out: Annotated[Path, typer.Argument(help="New folder for the tables.")],
        seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same tables.")] = 0,
        format: Annotated[str, typer.Option(help="parquet, csv or jsonl; text has local times.")] = "parquet",
        messy: Annotated[bool, typer.Option("--messy", help="Write messy CSV twins to OUT/messy.")] = False,
        meds: Annotated[bool, typer.Option("--meds", help="Write a MEDS folder to OUT/meds.")] = False,
        as_json: AS_JSON = False,
        config: Any = None,
    ) -> None:
        check_new_folder(out)
        records = regime.make(config, seed)
        with atomic_folder(out) as target:
            write_records(records, target, format, messy, meds)
        _report_records(records, out, as_json)

    simulate_raw.__doc__ = _first_paragraph(regime)
    app.command(name)(simulate_raw)


def _first_paragraph(regime: Regime | RawRegime) -> str:
    text = sys.modules[regime.config.__module__].__doc__ or ""
    return as_sentence(text.split(":", 1)[-1].strip())


def write_simulated(simulated: Simulated, folder: Path) -> None:
    """Write events, labels, truth and settings to a folder."""
    eventcargo.write_events(simulated.data, folder)
    eventcargo.write_graph(simulated.truth, folder / "truth.parquet")
    (folder / "simulation.json").write_text(json.dumps(_description(simulated), indent=1) + "\n", "utf-8")


def write_records(records: Records, folder: Path, form: str, messy: bool, meds: bool) -> None:
    """Write the tables and truth of raw records, and on request their messy twins and a MEDS folder."""
    records.write(folder, form)  # type: ignore[arg-type]  # `write` refuses an unknown format
    eventcargo.write_graph(records.truth, folder / "truth.parquet")
    if messy:
        write_messy(records, folder / "messy")
    if meds:
        write_meds(records, folder / "meds")


def _description(simulated: Simulated) -> dict[str, Any]:
    return {
        "regime": simulated.regime,
        "seed": simulated.seed,
        "settings": dict(simulated.settings),
        "version": eventcargo.__version__,
        "rules": dict(simulated.rules),
    }


def _report(simulated: Simulated, out: Path, as_json: bool) -> None:
    data = simulated.data
    if as_json:
        counts = {"sequences": len(data), "events": data.n_events, "edges": len(simulated.truth)}
        print_json({"folder": str(out), **counts, **_description(simulated)})
    else:
        print_lines(
            [
                repr(data),
                f"  truth               {counted(len(simulated.truth), 'edge')}",
                f"written to {out}",
            ]
        )


def _report_records(records: Records, out: Path, as_json: bool) -> None:
    if as_json:
        counts = {"subjects": len(records.static), "events": len(records.events)}
        counts |= {"outcomes": len(records.outcomes), "edges": len(records.truth)}
        print_json({"folder": str(out), **counts, **records.describe()})
    else:
        truth = f"  truth               {counted(len(records.truth), 'edge')}"
        print_lines([repr(records), truth, f"written to {out}"])


for _name, _regime in REGIMES.items():
    _add(_name, _regime)
for _name, _raw in RAW_REGIMES.items():
    _add_raw(_name, _raw)
