"""The way of one variant up the ladder: which stage follows which, and what each is given."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any, Protocol

from tileport.verify.compile.model import DiffRequest
from tileport.verify.ladder import climb
from tileport.verify.ladder.asking import Asking
from tileport.verify.ladder.climb import Outcome
from tileport.verify.ladder.servers import PortServing
from tileport.verify.ladder.stages import StageSpec
from tileport.verify.model import ArraySpec, ListSpec, Variant
from tileport.verify.operator import Operator
from tileport.verify.port import Binding, PortFile
from tileport.verify.port.names import leaves
from tileport.verify.store import Store


class Notes(Protocol):
    """Where a climb writes what came of it."""

    def run(self, variant: str, stage: str) -> None:
        """A stage began."""
        ...

    def put(self, outcome: Outcome[Any]) -> None:
        """A stage ended."""
        ...


class Route:
    """Takes variants through the stages that are theirs.

    Args:
        operator: Whose variants.
        stages: The stages that run.
        store: Has the reference bytecode.
        server: Compiles and compares.
        asking: Caches what the server says.
        lost: Called where the reference bytecode of a variant is gone.
    """

    def __init__(
        self,
        operator: Operator,
        stages: tuple[StageSpec, ...],
        store: Store,
        server: PortServing,
        asking: Asking,
        *,
        lost: Callable[[], None],
    ) -> None:
        self._operator = operator
        self._names = frozenset(stage.name for stage in stages)
        self._store = store
        self._server = server
        self._asking = asking
        self._lost = lost
        #: One declaration at a time, so that the event loop gets its turns between them.
        self._declaring = asyncio.Lock()

    async def climb(
        self,
        port: PortFile | None,
        variant: Variant,
        kin: tuple[Variant, ...],
        rank: Callable[[int], tuple[int, ...]],
        notes: Notes,
        *,
        at_once: bool,
    ) -> None:
        """Declare, compile and compare one variant, as far as it gets.

        Args:
            port: The port as it was read; None where there is none.
            variant: Which variant.
            kin: All variants of its kernel.
            rank: Its place in the line, by how many stages are left after the one asked for.
            notes: Gets the outcomes.
            at_once: Do not wait for the declarations of other variants.
        """
        if "declare" not in self._names:
            return
        binding = await self._declare(port, variant, kin, notes, at_once=at_once)
        if "compile" not in self._names:
            return
        if binding is None or binding.request is None:
            reason = "there is no port" if port is None else "the port does not declare the entry"
            self._skip(variant, ("compile", "diff"), reason, notes)
            return
        compiled = await climb.compile_port(
            binding.request,
            variant.id,
            self._server,
            self._asking,
            functools.partial(rank, 1),
            begun=functools.partial(notes.run, variant.id, "compile"),
        )
        notes.put(compiled)
        if "diff" not in self._names:
            return
        if compiled.product is None or compiled.product.bytecode is None:
            self._skip(variant, ("diff",), "the port does not compile", notes)
            return
        request = await self._request(variant, binding, compiled.product.bytecode)
        if request is None:
            self._lost()
            reason = "the reference was removed from the cache; it is captured again"
            notes.put(Outcome(climb.failure("diff", variant.id, reason)))
            return
        compared = await climb.compare(
            request,
            variant.id,
            self._server,
            self._asking,
            functools.partial(rank, 0),
            begun=functools.partial(notes.run, variant.id, "diff"),
        )
        notes.put(compared)

    async def _declare(
        self,
        port: PortFile | None,
        variant: Variant,
        kin: tuple[Variant, ...],
        notes: Notes,
        *,
        at_once: bool,
    ) -> Binding | None:
        if at_once:
            declared = climb.declare(port, variant, self._operator, kin)
        else:
            async with self._declaring:
                await asyncio.sleep(0)
                declared = climb.declare(port, variant, self._operator, kin)
        notes.put(declared)
        return declared.product

    async def _request(
        self, variant: Variant, binding: Binding, bytecode: bytes
    ) -> DiffRequest | None:
        """What to compare; None where the reference is gone."""
        reference = await asyncio.to_thread(self._store.blob, variant.reference)
        if reference is None:
            return None
        return DiffRequest(
            reference=reference,
            port=bytecode,
            target=variant.target,
            reference_parameters=binding.reference_parameters,
            port_parameters=binding.port_parameters,
            constants=binding.constants,
            alias_groups={
                leaf.name: leaf.spec.alias_groups
                for leaf in leaves(variant).values()
                if isinstance(leaf.spec, ArraySpec | ListSpec)
            },
            python_source=variant.kernel.place.file,
            rust_source=self._operator.port,
        )

    def _skip(self, variant: Variant, stages: tuple[str, ...], reason: str, notes: Notes) -> None:
        for stage in stages:
            if stage in self._names:
                notes.put(Outcome(climb.skipped(stage, variant.id, reason)))
