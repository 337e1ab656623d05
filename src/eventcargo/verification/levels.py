"""Levels of the claims on a label: one threshold for each scale, one level for each family."""

from eventcargo.baselines.levels import Levels
from eventcargo.verification.claims import Claim
from eventcargo.verification.label_test import LabelTest


def settle_levels(label_test: LabelTest, alpha: float) -> None:
    """Settle the scales and families of a boundary; what replaces a claim must be confirmed like it."""
    verify_data = label_test.verify_data
    if not label_test.claims or not (verify_data.kinds.scales or verify_data.kinds.families):
        return
    levels = Levels(
        verify_data.test,
        label_test.positives,
        verify_data.kinds,
        alpha,
        label_test.min_gain,
        label_test.barred,
        [claim.event for claim in label_test.claims if claim.is_required],
    )
    settled = levels.settle(label_test.members)
    known = {claim.event: claim for claim in label_test.claims}
    claims = [known.get(event) or Claim(event, is_new=True) for event in settled.boundary]
    label_test.replace(claims)
    label_test.alternatives = settled.alternatives
