"""`pellucid demo`: compile a real model, check it against eager and float64, time it, and explain what was done."""

from __future__ import annotations

import copy
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def bert(layers: int) -> tuple[Any, dict[str, Any]]:
    """A BertModel with random weights and one example: ids and an attention mask of (1, 128)."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    try:
        from transformers import BertConfig, BertModel
    except ImportError as e:
        raise click.ClickException("the demo needs transformers: pip install 'pellucid[demo]'") from e
    torch.manual_seed(0)
    config = BertConfig(hidden_size=256, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=1024)
    ids = torch.randint(0, config.vocab_size, (1, 128))
    return BertModel(config).eval(), {"input_ids": ids, "attention_mask": torch.ones(1, 128, dtype=torch.long)}


def median_ms(call: Callable[[], Any], seconds: float = 1.0) -> float:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


@click.command()
@click.option("--layers", default=4, show_default=True, help="encoder layers of the BERT model")
@click.option("--explain/--no-explain", default=True, show_default=True, help="print the explanation")
@click.option("--html", type=click.Path(dir_okay=False), help="also watch three shapes and write the HTML page")
def demo(layers: int, explain: bool, html: str | None) -> None:
    """Compile a BERT, check it against eager and float64, and show times and the explanation."""
    import torch

    model, inputs = bert(layers)
    with torch.no_grad():
        model(**inputs)
        start = time.perf_counter()
        import pellucid
        fast = pellucid.compile(model)
        ours = fast(**inputs)
        first = time.perf_counter() - start
        eager = model(**inputs)
        exact = copy.deepcopy(model).double()(**inputs)
        scale = exact.last_hidden_state.abs().max()
        error = {name: ((out.last_hidden_state.double() - exact.last_hidden_state).abs().max() / scale).item()
                 for name, out in (("pellucid", ours), ("eager", eager))}
        eager_ms = median_ms(lambda: model(**inputs))
        ours_ms = median_ms(lambda: fast(**inputs))
    click.echo(f"BertModel, {layers} layers of 256, batch 1, 128 tokens, float32, {torch.get_num_threads()} threads")
    click.echo(f"  first call (import pellucid, compile, run)   {first:8.3f} s")
    click.echo(f"  warm call, median                            {ours_ms:8.3f} ms")
    ratio = eager_ms / ours_ms
    click.echo(f"  eager, median                                {eager_ms:8.3f} ms   ({ratio:.2f} x pellucid)")
    click.echo(f"  error against float64: pellucid {error['pellucid']:.1e}, eager {error['eager']:.1e}")
    limit = max(2 * error["eager"], 4 * torch.finfo(torch.float32).eps * 1024 ** 0.5)
    if not error["pellucid"] <= limit:
        raise click.ClickException(f"the compiled model's error {error['pellucid']:.1e} is over the limit {limit:.1e}")
    counts = pellucid.counters()
    if counts["internal_error_count"] or counts["eager_fallback_count"]:
        raise click.ClickException(f"the model did not run compiled: {counts}")
    if explain:
        click.echo("")
        click.echo(pellucid.explain(fast).text())
    if html is not None:
        from ..diagnosis.diagnose import diagnose
        from ..diagnosis.page import page

        calls = [{k: v[:, :n] for k, v in inputs.items()} for n in (128, 128, 96, 96, 64)]
        with torch.no_grad():
            text = page(diagnose(fast, calls, seconds=0.5), fast)
        Path(html).write_text(text, encoding="utf-8")
        click.echo(f"written: {html}")
