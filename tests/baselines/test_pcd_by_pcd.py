from eventcargo.baselines.pcd_by_pcd import PcdByPcd

from .tables import chain, independence_of, label


def test_only_the_direct_cause_of_a_label_is_found() -> None:
    bits, target = chain(3000, seed=0)
    assert PcdByPcd(independence_of(bits), 0.001)(label(target)) == [1]


def test_a_link_holds_only_if_the_other_end_cannot_separate_it() -> None:
    bits, target = chain(3000, seed=1)  # 0 -> 1 -> label
    search = PcdByPcd(independence_of(bits), 0.001)
    assert search._claims(1, label(target))
    assert not search._claims(0, label(target))
