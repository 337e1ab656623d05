"""Print the quality of a trained model."""

from eventcargo.cli.output import print_lines, print_table
from eventcargo.errors import counted
from eventcargo.quality import Quality

MAX_LABELS = 20
"""Labels shown, by support; quality.json has all of them."""

COLUMNS = {
    "label": "label",
    "support": "support",
    "held_out": "held out",
    "f1": "F1",
    "auroc": "AUROC",
    "average_precision": "average precision",
    "log_loss": "log-loss",
    "base_log_loss": "base rate log-loss",
    "calibration_error": "calibration error",
    "raw_calibration_error": "uncalibrated",
    "trusted": "trusted",
}
"""Fields of a label to show, and their column titles."""


def print_quality(quality: Quality) -> None:
    """Print the labels with the largest support, the averages, the next event and the untrusted labels."""
    ordered = sorted(quality.labels, key=lambda row: (-row.support, row.label))[:MAX_LABELS]
    rows = [[getattr(row, field) for field in COLUMNS] for row in ordered]
    shown = f"{len(ordered):,} of {counted(len(quality.labels), 'label')}"
    print_table(
        f"Quality on held-out sequences, {shown}; all are in quality.json", list(COLUMNS.values()), rows
    )
    print_lines(_summary(quality))


def _summary(quality: Quality) -> list[str]:
    all_labels, events = quality.overall, quality.events
    lines = []
    if all_labels["f1_macro"] is not None:
        lines.append(
            f"All labels: F1 {all_labels['f1_macro']:.3f} macro, {all_labels['f1_weighted']:.3f} weighted; "
            f"log-loss {all_labels['log_loss']:.4f} ({all_labels['raw_log_loss']:.4f} before calibration, "
            f"{all_labels['base_log_loss']:.4f} for base rates)."
        )
    if events:
        single, pairs = events["unigram_perplexity"], events["bigram_perplexity"]
        lines.append(
            f"Next event: perplexity {events['perplexity']:,.1f}; from single events {single:,.1f}, "
            f"from pairs of neighbours {pairs:,.1f}."
        )
    lines += elsewhere_lines(quality) + training_lines(quality)
    untrusted = [row for row in quality.labels if not row.trusted]
    if untrusted:
        lines.append(
            f"Untrusted: {counted(len(untrusted), 'label')}. The model says nothing about their causes:"
        )
        lines += [f"  {row.label}: {row.reason}" for row in untrusted[:MAX_LABELS]]
    if len(untrusted) > MAX_LABELS:
        lines.append(f"  and {len(untrusted) - MAX_LABELS:,} more in quality.json")
    return lines


def elsewhere_lines(quality: Quality) -> list[str]:
    """What a model from elsewhere knows of the data."""
    known = quality.training.get("from")
    if known is None:
        return []
    share = known["known_events"] / max(known["events"], 1)
    return [
        f"The model from elsewhere knows {known['known_types']:,} of "
        f"{counted(known['types'], 'event type')} and {share:.1%} of the events; its next-event loss is "
        f"{known['next_event_loss']:.2f} nats, that of event frequencies {known['frequencies_loss']:.2f}."
    ]


def training_lines(quality: Quality) -> list[str]:
    """What the linear term and the networks cost, and what the networks brought."""
    training = quality.training
    if not training:
        return []
    steps, helped = counted(training["steps"], "step"), counted(len(training["helped"]), "label")
    focused = counted(len(training.get("focused", ())), "label")
    network = "head on the model from elsewhere" if "from" in training else "Transformer"
    lines = [
        f"Training: {training['term_seconds']:,.0f} s for the linear term and focused networks, which help "
        f"{focused}; {training['network_seconds']:,.0f} s for {steps} of the {network}, which helps "
        f"{helped}."
    ]
    if training["ended"]:
        lines.append(f"Training ended early: {training['ended']}.")
    return lines
