"""For case files: what a case needs that torch does not offer in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def backward(output: Tensor | tuple[Tensor, ...], grad: Tensor | None = None) -> None:
    """Runs the backward pass of `output`, so that its kernels are captured as well.

    Args:
        output: What an operator returned for inputs of which one at least requires a gradient.
            Of a tuple, the tensors that can be differentiated.
        grad: Its gradient; of the same shape and dtype and contiguous, if not given.
    """
    import torch  # noqa: PLC0415 - case files are read where there is no torch

    outputs = output if isinstance(output, tuple) else (output,)
    outputs = tuple(o for o in outputs if isinstance(o, torch.Tensor) and o.requires_grad)
    gradients = tuple(torch.empty_like(o) if grad is None else grad for o in outputs)
    torch.autograd.backward(outputs, gradients)
