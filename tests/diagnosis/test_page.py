"""The HTML page: self-contained, small, escaped, keyboard-reachable, and every part there; tables for notebooks."""

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
import torch

import pellucid
from pellucid.diagnosis.page import page


def program(x):
    y = torch.softmax(x @ x.T, -1)
    if y.sum() > 1e9:
        y = y + 1
    return torch.tanh(y) * 2


class Checker(HTMLParser):
    VOID = {"meta", "link", "input", "br", "rect", "line", "circle", "polyline"}

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links = [], set(), []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            assert attrs["id"] not in self.ids
            self.ids.add(attrs["id"])
        self.links += [v for k, v in attrs.items() if k in ("href", "src")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def made():
    fast = pellucid.compile(program)
    with torch.no_grad():
        d = pellucid.diagnose(fast, [(torch.randn(8, 8),), (torch.randn(4, 4),)], seconds=0.05)
    return page(d, fast), d, fast


def test_the_page_is_whole_and_self_contained(made):
    html, _, _ = made
    assert len(html.encode()) < 2_000_000
    c = Checker()
    c.feed(html)
    assert not c.open
    assert {"findings", "calls", "matrix", "source", "failed", "bench", "profile", "guards", "code"} <= c.ids
    assert all(link.startswith(("#", "data:,")) for link in c.links), "nothing is loaded"
    assert all(link[1:] in c.ids for link in c.links if link.startswith("#"))
    assert "prefers-color-scheme:dark" in html and "focus-visible" in html
    assert not re.search(r"https?://", html.split("</style>")[0])


def test_bars_are_reachable_by_keyboard_and_say_what_they_are(made):
    html, d, _ = made
    assert html.count('tabindex="0" role="img"') >= len(d.observation.calls)
    assert 'type="search"' in html and "LLVM" in html and "Memory plan" in html or "memory" not in html


def test_text_of_the_program_is_escaped():
    def f(x, s):
        return x * len(s)
    html = page(pellucid.matrix(f, [(torch.ones(2), "<script>alert(1)</script>")] * 2))
    assert "<script>alert" not in html


def test_a_page_of_something_else_is_refused():
    with pytest.raises(TypeError, match="has no page"):
        page(3)


def test_notebooks_show_tables(made):
    _, d, fast = made
    for shown in (pellucid.explain(fast), pellucid.matrix(fast), pellucid.matrix(fast, [(torch.ones(2, 2),)]), d):
        html = shown._repr_html_()
        c = Checker()
        c.feed(html)
        assert "<table>" in html and not c.open


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
def test_in_chromium(tmp_path):
    """The page runs in a browser: nothing on its console, every part in the document, search by its own script."""
    file = tmp_path / "page.html"
    fast = pellucid.compile(program)
    file.write_text(page(pellucid.diagnose(fast, [(torch.ones(4, 4),), (torch.ones(5, 5),)] * 2, seconds=0.05)))
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         f"--user-data-dir={tmp_path}/profile", "--enable-logging=stderr", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=60)
    assert "CONSOLE" not in done.stderr
    parts = Checker()
    parts.feed(file.read_text())
    assert all(f'id="{i}"' in done.stdout for i in parts.ids) and len(parts.ids) > 3
