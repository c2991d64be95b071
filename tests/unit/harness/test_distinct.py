"""Finding descriptions in almost the same words: the same pairs as by comparing all."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from hat.harness.linting.distinct import ALIKE, FEWEST_WORDS, alike_pairs

WORDS = [f"w{number}" for number in range(24)]
TEXTS = st.lists(st.frozensets(st.sampled_from(WORDS), min_size=5), max_size=12)


def edited(text: frozenset[str], left_out: set[str], added: set[str]) -> frozenset[str]:
    return (text - left_out) | added


@st.composite
def similar_texts(draw: st.DrawFn) -> list[frozenset[str]]:
    """Texts of which some are others with a word or two changed, as near the bar as can be."""
    texts = draw(TEXTS)
    for text in list(texts):
        few = st.sets(st.sampled_from(WORDS), max_size=2)
        texts.append(edited(text, draw(few), draw(few)))
    return texts


@settings(deadline=None)
@given(similar_texts())
def test_the_pairs_are_those_of_comparing_every_two(texts: list[frozenset[str]]) -> None:
    expected = [
        (i, j)
        for (i, left), (j, right) in combinations(enumerate(texts), 2)
        if min(len(left), len(right)) >= FEWEST_WORDS and len(left & right) >= ALIKE * len(left | right)
    ]
    assert alike_pairs(texts) == expected
