"""The whole error catalogue as one table, and its page in docs (generated: python -m pellucid.errors.catalogue)."""

from __future__ import annotations

from .breaks import BREAKS

HEADER = """# Error catalogue

Generated from `src/pellucid/errors/` by `python -m pellucid.errors.catalogue > docs/errors.md`; a test
compares the two.

## Graph breaks
An operation that cannot be captured runs in Python; capture goes on right after it. `pellucid.explain` lists each
with the user's line and call path; `fullgraph=True` makes the first one an error.
"""


def page() -> str:
    """The catalogue as Markdown."""
    parts = [HEADER]
    for kind in sorted(BREAKS.values(), key=lambda k: k.code):
        parts.append(f"### {kind.code}: {kind.title}\n{kind.explanation}\n\nWhat to change: {kind.remedy}.\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
