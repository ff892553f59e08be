"""Tests of the native runner itself: left out where the reference runner is asked for, or the native one cannot be."""

import os
from pathlib import Path

import pytest

from pellucid.pipeline import unavailable_reason

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    asked = os.environ.get("PELLUCID_RUNNER") == "reference"
    why = "PELLUCID_RUNNER=reference" if asked else unavailable_reason()
    if why is not None:
        for item in items:
            if item.path.is_relative_to(HERE):
                item.add_marker(pytest.mark.skip(reason=why))
