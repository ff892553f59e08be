"""The function that switches grad mode, as torch.compile's own graphs name it."""

from __future__ import annotations

import torch

set_grad_enabled = torch._C._set_grad_enabled
