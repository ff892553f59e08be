"""torch.compile's recompile reasons, read into the failed guards that pellucid's own record holds."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from .observation import Failed

Rule = tuple[re.Pattern[str], Callable[[re.Match[str], str], Failed]]

RULES: list[Rule] = [
    (re.compile(r"tensor '([^']+)' (size|stride) mismatch at index (\d+)\. expected (\S+), actual (\S+)"),
     lambda m, t: Failed(f"{m[1]}.{'shape' if m[2] == 'size' else 'stride()'}[{m[3]}]", m[2], m[4], m[5], t)),
    (re.compile(r"tensor '([^']+)' (dtype|rank|device|requires_grad|device index) mismatch\. expected "
                r"(?:requires_grad=)?(\S+?),?(?: but got|,? actual) (?:requires_grad=)?(\S+)"),
     lambda m, t: Failed(m[1], m[2].split()[0], m[3], m[4], t)),
    (re.compile(r"tensor '([^']+)' requires_grad mismatch"), lambda m, t: Failed(m[1], "requires_grad", "", "", t)),
    (re.compile(r"tensor '([^']+)' dispatch key set mismatch\. expected (.+), actual (.+)"),
     lambda m, t: Failed(m[1], "other", m[2], m[3], t)),
    (re.compile(r"GLOBAL_STATE changed: (grad_mode)"), lambda m, t: Failed("global state", "grad_mode", "", "", t)),
    (re.compile(r"GLOBAL_STATE changed: (.*)"), lambda m, t: Failed("global state", "global", m[1].strip(), "", t)),
    (re.compile(r"len\((.+?)\) == (\d+)"), lambda m, t: Failed(m[1], "len", m[2], "", t)),
    (re.compile(r"___check_obj_id\((.+?), (\d+)\)"), lambda m, t: Failed(
        m[1], "code" if ".__code__" in m[1] else "identity", m[2], "", t)),
    (re.compile(r"___check_type_id\((.+?), "), lambda m, t: Failed(m[1], "type", "", "", t)),
    (re.compile(r"(?:not )?___dict_contains\((.+?), (.+?)\)|(\S+) in (\S+)\.keys\(\)|list\((.+?)\.keys\(\)\)"),
     lambda m, t: Failed(m[2] or m[4] or m[5] or "dict", "keys", m[1] or m[3] or "", "", t)),
    (re.compile(r"(\S+\.(?:size|stride)\(\)\[\d+\])\s*([!=<>]=?)\s*(\S+)|"
                r"(\S+)\s*([<>]=?|[!=]=)\s*(\S+\.(?:size|stride)\(\)\[\d+\])"),
     lambda m, t: Failed(m[1] or m[6], "stride" if "stride" in t else "size", m[3] or m[4], "", t)),
    (re.compile(r"(?:Eq|Ne|Mod)\((.+)\)"), lambda m, t: Failed(m[1], "size", "", "", t)),
    (re.compile(r"^(.+?) (?:==|is) (.+)$"), lambda m, t: Failed(m[1], "equal", m[2], "", t)),
]
"""Pattern -> the guard that it speaks of; the first that fits is taken."""


PLACE = re.compile(r"# (\S+):(\d+) in \w+")


def failed(reason: str, file: str = "") -> tuple[Failed, ...]:
    """The newest version's failed guard of a recompile reason, and those of the versions before it. Of a guard's place
    torch.compile gives the end of the path: the line counts where that fits `file`."""
    out = []
    for line in reason.splitlines():
        found = re.match(r"\s*(?:\d+/\d+): (.*)", line)
        if found is None:
            continue
        text = re.split(r"\s{2,}#|\s+# |\s+\(HINT", found[1])[0].strip()
        made = next((make(m, text) for pattern, make in RULES if (m := pattern.search(text))),
                    Failed("", "other", "", "", text))
        at = PLACE.search(found[1])
        out.append(dataclasses.replace(made, line=int(at[2])) if at is not None and file.endswith(at[1]) else made)
    return tuple(out)
