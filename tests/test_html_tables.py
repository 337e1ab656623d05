import re

import pytest

from eventcargo import LabelGraph
from eventcargo.html_tables import LONGEST_NAME, MAX_ROWS, block, listed, name, number, table
from eventcargo.rules import Literal, Rule
from eventcargo.verdicts import Verdict, Verdicts

HOSTILE = '</td><script>alert("x")</script>'


def words(html: str) -> str:
    """The text of HTML, without tags and styles."""
    return re.sub(r"<style>.*?</style>|<[^>]*>", " ", html, flags=re.DOTALL)


@pytest.mark.parametrize(
    "html",
    [
        table([HOSTILE], [[HOSTILE]]),
        listed([HOSTILE]).html,
        name(HOSTILE * 9),
        block(HOSTILE),
        LabelGraph.from_boundaries({HOSTILE: [HOSTILE]})._repr_html_(),
        LabelGraph.from_boundaries({"a": [HOSTILE]}).with_kinds({HOSTILE: (HOSTILE,)})._repr_html_(),
        Verdicts({HOSTILE: Verdict(HOSTILE, "doubt", (HOSTILE,), (HOSTILE,))})._repr_html_(),
        Verdict(HOSTILE, "trust", (HOSTILE,))._repr_html_(),
        Rule(HOSTILE, ((Literal("presence", (HOSTILE,)),),), 1, 1, 1.0, 1.0)._repr_html_(),
    ],
)
def test_names_are_shown_as_text_whatever_they_contain(html: str) -> None:
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_a_long_table_is_cut_with_a_count() -> None:
    html = table(["name", "size"], [[f"n{at}", at] for at in range(MAX_ROWS + 7)])
    assert html.count("<tr>") == MAX_ROWS + 1
    assert "and 7 more" in words(html)


def test_a_table_of_which_only_the_first_rows_are_given_counts_the_others() -> None:
    assert "and 1,233 more" in words(table(["name"], [["a"]], n_rows=1234))


def test_a_table_that_is_shown_whole_counts_nothing() -> None:
    assert "more" not in table(["name"], [["a"]] * MAX_ROWS)


def test_a_long_name_is_cut_but_can_be_read_in_whole() -> None:
    html = name("x" * (LONGEST_NAME + 1))
    assert f'title="{"x" * (LONGEST_NAME + 1)}"' in html
    assert len(words(html).strip()) == LONGEST_NAME + len("&hellip;")


def test_a_name_that_is_half_a_surrogate_pair_can_be_sent() -> None:
    assert name("a\ud800").encode("utf-8") == b"a?"


def test_only_columns_of_numbers_are_aligned_as_numbers() -> None:
    html = table(["name", "size", "mixed"], [["a", 1, None], ["b", None, "x"]])
    assert html.count("class=number") == 3
    assert "&ndash;" in html


def test_truth_values_are_words_not_numbers() -> None:
    html = table(["name", "right"], [["a", True]])
    assert "<td>True</td>" in html
    assert "class=number" not in html


def test_the_first_column_is_the_head_of_its_row() -> None:
    assert '<th scope="row">a</th><td class=number>1</td>' in table(["name", "size"], [["a", 1]])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (7, "7"),
        (1234567, "1,234,567"),
        (0.0123456, "0.0123"),
        (999.7, "1,000"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_are_short(value: float, shown: str) -> None:
    assert number(value) == shown


def test_a_graph_of_many_labels_shows_the_most_frequent_first() -> None:
    graph = LabelGraph.from_boundaries({f"L{at}": ["P01"] for at in range(500)}, {"L321": 9, "L7": 3})
    shown = words(graph._repr_html_())
    assert shown.index("L321") < shown.index("L7 ") < shown.index("L0 ")
    assert "and 480 more" in shown


def test_verdicts_show_the_worst_first_in_text_and_html() -> None:
    verdicts = Verdicts({n: Verdict(n, level, ("why",)) for n, level in [("a", "trust"), ("b", "doubt")]})
    for shown in (repr(verdicts), words(verdicts._repr_html_())):
        assert "Verdicts on 2 labels: trust 1, caution 0, doubt 1" in shown
        assert shown.index("doubt, why" if "doubt, why" in shown else "b ") < shown.rindex("a")
    assert verdicts == {"a": verdicts["a"], "b": verdicts["b"]}


def test_many_verdicts_are_cut_in_text() -> None:
    verdicts = Verdicts({f"L{at}": Verdict(f"L{at}", "trust", ()) for at in range(40)})
    assert repr(verdicts).splitlines()[-1] == "  ... and 30 more"


def test_a_rule_reads_as_a_sentence() -> None:
    rule = Rule("brake", ((Literal("presence", ("A",)),),), 12, 13, 1.0, 12 / 13)
    assert repr(rule) == "Rule of brake: A (precision 1.000, recall 0.923 on held-out sequences)"
