from eventcargo.baselines.pc import cmb

from ..statistics.tables import chain, independence_of, label


def test_only_the_direct_cause_of_a_label_is_found() -> None:
    bits, target = chain(3000, seed=0)
    assert cmb(independence_of(bits), label(target), 0.001) == [1]
