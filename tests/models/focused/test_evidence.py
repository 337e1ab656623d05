import numpy as np
import torch

from eventcargo.batches import Batches
from eventcargo.events import EventDataset, EventSequence
from eventcargo.models.focused.evidence import held_losses, shows_evidence
from eventcargo.models.focused.network import FocusedNetwork, measured, quantile_edges
from eventcargo.models.focused.projection import Projection, project
from eventcargo.models.focused.term import slots_of
from eventcargo.vocabulary import Vocabulary


def sequences(n: int) -> Projection:
    """Random orders of a, b and c, all in every sequence, projected on the three."""
    rng = np.random.default_rng(1)
    texts = [rng.permutation(list("aabbccxxxx")).tolist() for _ in range(n)]
    data = EventDataset.from_sequences(
        [EventSequence(str(at), text, tuple(map(float, range(10))), ()) for at, text in enumerate(texts)]
    )
    vocabulary = Vocabulary(tuple("abcx"))
    slots = slots_of(vocabulary.lookup(tuple("abc")), len(vocabulary))
    return project(Batches(data, vocabulary, 64).take(np.arange(n)), slots, 3, 16)


def random_network(projection: Projection) -> FocusedNetwork:
    """A network that listens to all three; its logits have mean 0 and standard deviation 3."""
    edges = [
        torch.from_numpy(quantile_edges(each, n)[None])
        for each, n in zip(measured(projection, 3), (4, 3, 3), strict=True)
    ]
    network = FocusedNetwork(edges, 16, [5]).eval()
    with torch.no_grad():
        network.out.copy_(torch.linspace(-1, 1, 32)[None, :, None])
        network.out.mul_(3 / network([projection]).std())
        network.bias.sub_(network([projection]).mean())
    return network


def shown(projection: Projection, truth: np.ndarray) -> list[bool]:
    network, rng = random_network(projection), np.random.default_rng(2)
    return shows_evidence(network, projection, truth, np.arange(len(truth)), rng).tolist()


def test_labels_that_follow_the_network_are_evidence_for_all_it_listens_to() -> None:
    projection = sequences(1_500)
    with torch.no_grad():
        logits = random_network(projection)([projection])[0].numpy()
    truth = np.random.default_rng(3).random(1_500) < 1 / (1 + np.exp(-logits))
    assert shown(projection, truth) == [True, True, True]


def test_random_labels_are_no_evidence_however_much_the_network_listens() -> None:
    projection = sequences(1_500)
    assert shown(projection, np.random.default_rng(3).random(1_500) < 0.5) == [False, False, False]


def test_losses_do_not_depend_on_how_many_go_through_at_once() -> None:
    projection, truth = sequences(1_500), np.arange(1_500) % 2 == 0
    network, some = random_network(projection), np.arange(0, 1_500, 7)
    whole = held_losses(network, projection, truth)
    np.testing.assert_allclose(
        whole[some], held_losses(network, projection.rows(some), truth[some]), rtol=1e-4
    )
