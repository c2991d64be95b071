"""Messages about unknown names."""

from hat.nearest import known_names


def test_the_most_similar_name_comes_first():
    assert (
        known_names("live_shop", ["desk", "live-shop"]) == "Did you mean 'live-shop'? Known: desk, live-shop."
    )
    assert known_names("Desk", ["desk", "live-shop"]) == "Did you mean 'desk'? Known: desk, live-shop."


def test_nothing_similar_and_nothing_at_all_are_said():
    assert known_names("zzz", ["desk", "live-shop"]) == "Known: desk, live-shop."
    assert known_names("zzz", []) == "There are none."


def test_a_long_list_is_cut_at_the_end_that_matters_less():
    versions = [f"1.{minor}.0" for minor in range(30)]
    assert known_names("zzz", versions, shown=2) == "Known: 1.0.0, 1.1.0 and 28 more."
    assert known_names("zzz", versions, shown=2, from_end=True) == "Known: 1.28.0, 1.29.0 and 28 more."
