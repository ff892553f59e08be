"""docs/errors.md is what the catalogue generates, and every entry says what to change."""

from pathlib import Path

from pellucid.errors.breaks import BREAKS
from pellucid.errors.catalogue import page


def test_the_page_is_up_to_date():
    assert (Path(__file__).parents[2] / "docs" / "errors.md").read_text() == page(), \
        "run: python -m pellucid.errors.catalogue > docs/errors.md"


def test_every_entry_is_complete():
    for code, kind in BREAKS.items():
        assert code == kind.code and kind.title and kind.explanation.endswith(".") and kind.remedy
