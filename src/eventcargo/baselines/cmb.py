"""CMB (Gao and Ji 2015): parents and children by HITON-PC, then their orientation.

Orientation tells causes from effects of the target. A label is a sink, so all its links are causes and the
orientation steps have nothing to decide; the answer is HITON-PC's.
"""

from eventcargo.baselines.independence import IndependenceTest, Target
from eventcargo.baselines.pc import hiton_pc


def cmb(test: IndependenceTest, target: Target, alpha: float) -> list[int]:
    """The parents of a label (parents and children of an event type), as event numbers."""
    return hiton_pc(test, target, alpha)
