"""Backward passes on fake tensors: the autograd graph walked in Python.

The forward pass builds torch's own graph also on fake tensors. What cannot run is the C++ engine
that walks it: it wants a stream of a real device and ends the process. The nodes themselves can
be called from Python, so this walks them in the engine's order, and an operator's own backward
(`torch.autograd.Function`) runs with real saved tensors and real gradients' shapes.

Hooks on tensors are not run, and gradients of gradients are not offered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

Node = Any
Gradients = list["torch.Tensor | None"]


def _is_leaf_sink(node: Node) -> bool:
    return hasattr(node, "variable")


def _uses(roots: Sequence[Node]) -> dict[Node, int]:
    """How many edges lead to each node that can be reached."""
    uses: dict[Node, int] = dict.fromkeys(roots, 0)
    stack = list(uses)
    while stack:
        for following, _ in stack.pop().next_functions:
            if following is None:
                continue
            if following not in uses:
                uses[following] = 0
                stack.append(following)
            uses[following] += 1
    return uses


def _fit(gradient: torch.Tensor, metadata: Any) -> torch.Tensor:
    """As the engine does: a broadcast operand's gradient is summed, a cast one's cast back."""
    shape = tuple(metadata.shape)
    if tuple(gradient.shape) != shape:
        gradient = gradient.sum_to_size(shape)
    return gradient if gradient.dtype == metadata.dtype else gradient.to(metadata.dtype)


def _add(into: Gradients, index: int, gradient: torch.Tensor, metadata: Any) -> None:
    gradient = _fit(gradient, metadata)
    held = into[index]
    into[index] = gradient if held is None else held + gradient


def _zeros(metadata: Any) -> torch.Tensor:
    return torch.zeros(tuple(metadata.shape), dtype=metadata.dtype, device=metadata.device)


def _call(node: Node, gradients: Gradients) -> list[tuple[Node, int, torch.Tensor]]:
    """Runs one node; the gradients it gives to each of the nodes that follow."""
    edges = node.next_functions
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        if getattr(node, "materialize_grads", True):
            metadata = getattr(node, "_input_metadata", ())
            gradients = [
                _zeros(what) if gradient is None else gradient
                for gradient, what in zip(gradients, metadata, strict=True)
            ]
        apply: Callable[..., Any] = node.apply
        results = apply(*gradients)
        results = results if isinstance(results, tuple) else (results,)
        # One result per argument of forward, but one edge per tensor argument. The edges that
        # lead anywhere are those of the arguments that need a gradient, in the same order.
        results = [r for r, needed in zip(results, node.needs_input_grad, strict=False) if needed]
        edges = [edge for edge in edges if edge[0] is not None]
    else:
        results = node(*gradients)
        results = results if isinstance(results, tuple) else (results,)
    return [
        (following, index, result)
        for (following, index), result in zip(edges, results, strict=False)
        if following is not None and result is not None
    ]


def _walk(
    outputs: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor | None],
    sink: Callable[[torch.Tensor, torch.Tensor], None],
    inputs: dict[tuple[Node, int], torch.Tensor],
) -> None:
    """Walks the graph of `outputs`; `sink` gets each leaf, and each of `inputs`, with its gradient.

    `inputs` are tensors by the node that made them and their number among its results.
    """
    roots = [(_edge(output), output, grad) for output, grad in zip(outputs, gradients, strict=True)]
    uses = _uses([node for (node, _), _, _ in roots])
    held: dict[Node, Gradients] = {node: [None] * len(node._input_metadata) for node in uses}
    for (node, index), output, gradient in roots:
        start = torch.ones_like(output) if gradient is None else gradient
        _add(held[node], index, start, node._input_metadata[index])
    ready = [node for node, count in uses.items() if count == 0]
    while ready:
        node = ready.pop()
        received = held.pop(node)
        for index, gradient in enumerate(received):
            tensor = inputs.get((node, index))
            if tensor is not None and gradient is not None:
                sink(tensor, gradient)
        if _is_leaf_sink(node):
            gradient = received[0]
            if gradient is not None and (node, 0) not in inputs:
                sink(node.variable, gradient)
        elif any(gradient is not None for gradient in received):
            for following, index, result in _call(node, received):
                _add(held[following], index, result, following._input_metadata[index])
        for following, _ in node.next_functions:
            if following is not None:
                uses[following] -= 1
                if uses[following] == 0:
                    ready.append(following)


def _edge(tensor: torch.Tensor) -> tuple[Node, int]:
    """The node that takes the gradient of a tensor, and as which of its inputs."""
    if not tensor.requires_grad:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    return tuple(torch.autograd.graph.get_gradient_edge(tensor))[:2]  # type: ignore[return-value]


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _backward(outputs: Any, gradients: Any = None) -> None:
    outputs = _as_tuple(outputs)
    given = _as_tuple(gradients) if gradients is not None else (None,) * len(outputs)

    def accumulate(leaf: torch.Tensor, gradient: torch.Tensor) -> None:
        leaf.grad = gradient if leaf.grad is None else leaf.grad + gradient

    with torch.no_grad():
        _walk(outputs, given, accumulate, {})


def _grad(outputs: Any, inputs: Any, gradients: Any = None) -> tuple[torch.Tensor | None, ...]:
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    given = _as_tuple(gradients) if gradients is not None else (None,) * len(outputs)
    found: dict[int, torch.Tensor] = {}

    def note(tensor: torch.Tensor, gradient: torch.Tensor) -> None:
        found[id(tensor)] = gradient

    with torch.no_grad():
        _walk(outputs, given, note, {_edge(tensor): tensor for tensor in inputs})
    return tuple(found.get(id(tensor)) for tensor in inputs)


def install() -> None:
    """Puts this in the place of `torch.autograd.backward` and `.grad` for fake tensors."""
    engine_backward, engine_grad = torch.autograd.backward, torch.autograd.grad

    def backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> None:
        if any(isinstance(tensor, FakeTensor) for tensor in _as_tuple(tensors)):
            _backward(tensors, grad_tensors)
        else:
            engine_backward(tensors, grad_tensors, *args, **kwargs)

    def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(tensor, FakeTensor) for tensor in _as_tuple(outputs)):
            return _grad(outputs, inputs, grad_outputs)
        return engine_grad(outputs, inputs, grad_outputs, *args, **kwargs)

    for name, function in {"backward": backward, "grad": grad}.items():
        setattr(torch.autograd, name, function)
