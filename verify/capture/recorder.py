"""What stands in for `ct.launch` and the tuner: every launch is described, exported, reported.

Without a GPU nothing runs after that; with one the real launch follows. Argument errors are
those of the real launch, since cuda.tile's own code describes the arguments.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import cuda.tile as ct
from cuda.tile import _cext, tune
from cuda.tile._cext import launch as real_launch
from cuda.tile.tune import _tune

from tileport.verify.capture import facts
from tileport.verify.capture.export import export_bytecode, signature_of, store_blob
from tileport.verify.capture.folded import folded_names
from tileport.verify.capture.request import Event, LaunchRecord, RepeatedLaunch
from tileport.verify.model import FoldedName

real_search = _tune.exhaustive_search

#: The attribute that marks an exception of a kernel that does not compile; holds the kernel.
REFUSED = "_tileport_refused_kernel"


class _Candidate:
    """A launch as it was asked for: kernel, grid, arguments, and its signature."""

    def __init__(self, kernel: Any, grid: Any, args: Sequence[Any]) -> None:
        if not isinstance(kernel, ct.kernel):
            raise TypeError(f"launch() takes a kernel, not {type(kernel).__name__}")
        self.kernel = kernel
        self.grid = _grid(grid)
        self.args = tuple(args)
        with warnings.catch_warnings():
            # torch warns that the address of a fake tensor is fake.
            warnings.simplefilter("ignore")
            self.signature = signature_of(kernel, self.args)

    def key(self, function: object) -> tuple[object, ...]:
        """Equal for launches that compile to the same code; `function` is from `_Identity`."""
        return (function, repr(self.kernel._compiler_options), self.signature.symbol)


def _grid(grid: Any) -> tuple[int, ...]:
    sizes = tuple(grid) if isinstance(grid, tuple | list) else (grid,)
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"Grid must have 1 to 3 dimensions, got {len(sizes)}")
    return tuple(int(size) for size in sizes)


class _Identity:
    """Tells functions apart as a compiler must: by code, globals, and closed-over values.

    A kernel made anew by a factory at every call has the same code each time; it is the same
    kernel only if the values it closes over are.
    """

    def __init__(self) -> None:
        self._kept: dict[int, object] = {}

    def of(self, kernel: Any) -> object:
        """A hashable identity, good as long as this object lives."""
        function = kernel._pyfunc
        cells = []
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:
                value = None
            if isinstance(value, bool | int | float | str | None):
                cells.append((type(value).__name__, repr(value)))
            else:
                cells.append(("object", self._name(value)))
        return (function.__code__, self._name(function.__globals__), tuple(cells))

    def _name(self, value: object) -> str:
        # Held, so that the id cannot come to mean another object.
        self._kept[id(value)] = value
        return str(id(value))


class Recorder:
    """Records the launches of one process.

    Args:
        target: What the kernels are exported for.
        bytecode_version: Of the exported bytecode.
        blobs: Folder the bytecode goes to.
        emit: Gets each `LaunchRecord` and `RepeatedLaunch` as it happens.
        case: Names the case that runs now.
        all_candidates: Record every tuning candidate, not the launched one alone.
        real: Launch and tune for real after recording: there is a GPU.
    """

    def __init__(
        self,
        *,
        target: str,
        bytecode_version: str,
        blobs: str,
        emit: Callable[[Event], None],
        case: Callable[[], str],
        all_candidates: bool = False,
        real: bool = False,
    ) -> None:
        self._case = case
        self._target = target
        self._version = bytecode_version
        self._blobs = blobs
        self._emit = emit
        self._all = all_candidates
        self._real = real
        self._identity = _Identity()
        self._exported: dict[tuple[object, ...], str] = {}
        self._folded: dict[object, tuple[FoldedName, ...]] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        self._reported: set[tuple[object, ...]] = set()
        # Tuned, but not launched yet: the best candidates and how many others there were.
        self._tuned: list[tuple[_Candidate, tuple[object, ...], int]] = []

    def install(self) -> None:
        """Puts `launch` and `search` in the place of cuda.tile's own; before the user's imports."""
        for module in (ct, _cext):
            module.launch = self.launch
        for module in (_tune, tune):
            module.exhaustive_search = self.search

    # -------------------------------------------------------- what the user's Python calls

    def launch(
        self,
        stream: Any,
        grid: Any,
        kernel: Any,
        kernel_args: tuple[Any, ...],
        /,
        *,
        programmatic_dependent_launch: bool = False,
    ) -> None:
        """`cuda.tile.launch`."""
        candidate = _Candidate(kernel, grid, kernel_args)
        key = candidate.key(self._identity.of(kernel))
        self._record(candidate, key, "launch", self._tuned_others(key))
        if self._real:
            real_launch(
                stream,
                grid,
                kernel,
                kernel_args,
                programmatic_dependent_launch=programmatic_dependent_launch,
            )

    def search(  # noqa: PLR0917 - cuda.tile's own signature
        self,
        search_space: Sequence[Any],
        stream: Any,
        grid_fn: Callable[[Any], Any],
        kernel: Any,
        args_fn: Callable[[Any], tuple[Any, ...]],
        hints_fn: Callable[[Any], dict[str, Any]] | None = None,
        **options: Any,
    ) -> Any:
        """`cuda.tile.tune.exhaustive_search`: without a GPU the first that compiles is best."""
        space = list(search_space)

        def candidate(config: Any) -> _Candidate:
            base = kernel if isinstance(kernel, ct.kernel) else kernel(config)
            hints = hints_fn(config) if hints_fn is not None else {}
            return _Candidate(base.replace_hints(**hints), grid_fn(config), args_fn(config))

        if self._real:
            result = real_search(space, stream, grid_fn, kernel, args_fn, hints_fn, **options)
        else:
            result = self._first_that_compiles(space, candidate)
        best = candidate(result.best.config)
        key = best.key(self._identity.of(best.kernel))
        self._tuned.append((best, key, len(space) - 1))
        if self._all:
            self._record_all([m.config for m in result.successes], candidate, key)
        return result

    def end_case(self) -> None:
        """Records kernels that were tuned in the case that ended, but not launched.

        Host code that tunes several kernels launches the fastest, which only a GPU can tell.
        """
        tuned, self._tuned = self._tuned, []
        for best, key, others in tuned:
            self._record(best, key, "tune", others)

    def start_over(self) -> None:
        """Forgets what was reported: the reports go elsewhere from now on."""
        self._numbers.clear()
        self._reported.clear()

    # -------------------------------------------------------- recording

    def _tuned_others(self, key: tuple[object, ...]) -> int:
        """How many candidates were tuned beside the one launched by `key`.

        Host code may launch the best configuration with other hints than it was tuned with, so a
        tuning of the same function counts; one with the very same specialization goes first.
        """
        same = [tuned for tuned in self._tuned if tuned[1] == key]
        same = same or [tuned for tuned in self._tuned if tuned[1][0] == key[0]]
        if not same:
            return 0
        self._tuned.remove(same[-1])
        return same[-1][2]

    def _first_that_compiles(self, space: list[Any], candidate: Callable[[Any], _Candidate]) -> Any:
        if not space:
            raise ValueError("Search space is empty.")
        failures: list[tuple[Any, type[BaseException], str]] = []
        for config in space:
            try:
                tried = candidate(config)
                self._export(tried, tried.key(self._identity.of(tried.kernel)))
            except Exception as error:  # as the tuner does: a candidate may fail in any way
                failures.append((config, type(error), str(error)))
            else:
                break
        else:
            config, kind, text = failures[0]
            raise ValueError(
                f"No valid config found in search space.\nConfig: {config}\n{kind.__name__}: {text}"
            )
        measured = [
            _tune.Measurement(config=c, mean_us=1.0, num_samples=1, error_margin_us=0.0)
            for c in space[len(failures) :]
        ]
        return _tune.TuningResult(
            best=measured[0], successes=tuple(measured), failures=tuple(failures)
        )

    def _record_all(
        self,
        configs: list[Any],
        candidate: Callable[[Any], _Candidate],
        best: tuple[object, ...],
    ) -> None:
        for config in configs:
            try:
                other = candidate(config)
                key = other.key(self._identity.of(other.kernel))
                if key != best:
                    self._record(other, key, "tune", 0)
            except Exception:  # a candidate the tuner would have dropped as well
                continue

    def _export(self, candidate: _Candidate, key: tuple[object, ...]) -> str:
        if key not in self._exported:
            try:
                data = export_bytecode(
                    candidate.kernel, candidate.signature, self._target, self._version
                )
            except Exception as error:
                setattr(error, REFUSED, candidate.kernel)
                raise
            self._exported[key] = store_blob(self._blobs, data)
        return self._exported[key]

    def _record(
        self,
        candidate: _Candidate,
        key: tuple[object, ...],
        via: Literal["launch", "tune"],
        others: int,
    ) -> None:
        case = self._case()
        number = self._numbers.get(key)
        if number is not None:
            seen = (key, case, via)
            if others or seen not in self._reported:
                self._reported.add(seen)
                self._emit(RepeatedLaunch(launch=number, case=case, via=via, candidates=others))
            return
        reference = self._export(candidate, key)
        kernel = candidate.kernel
        identity = key[0]
        if identity not in self._folded:
            self._folded[identity] = folded_names(kernel._pyfunc)
        self._numbers[key] = len(self._numbers)
        self._reported.add((key, case, via))
        self._emit(
            LaunchRecord(
                kernel=facts.kernel_of(kernel),
                parameters=facts.parameters_of(kernel, candidate.signature, candidate.args),
                hints=facts.hints_for(kernel, self._target),
                folded=self._folded[identity],
                grid=candidate.grid,
                case=case,
                via=via,
                symbol=candidate.signature.symbol or kernel._pyfunc.__name__,
                reference=reference,
                candidates=others,
            )
        )
