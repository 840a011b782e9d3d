"""A scripted session: what the app sees of the real one, at the test's own pace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from tileport.verify import session_events as told
from tileport.verify.diff.model import Assumption, Comparison, DiffRow, DiffVerdict, RowKind
from tileport.verify.errors import TileportError
from tileport.verify.ladder.stages import STAGES, StageSpec
from tileport.verify.ladder.verdict import Verdict, count_findings
from tileport.verify.lock import LockHolder
from tileport.verify.model import (
    ArraySpec,
    CaptureReport,
    ConstantSpec,
    Finding,
    Hints,
    Kernel,
    Parameter,
    Place,
    Severity,
    StageResult,
    StageState,
    Variant,
)
from tileport.verify.operator import Operator
from tileport.verify.port import FactRow
from tileport.verify.session import PortMoved, Recovered

PYTHON = '''\
"""Row-wise softmax."""

import cuda.tile as ct

#: Rows handled by one block.
GROUP = 4


@ct.kernel(occupancy=2)
def softmax(x, out, TILE_N: ct.Constant[int]):
    """Grid (rows,)."""
    row = ct.bid(0)
    group = row // GROUP
    tile = ct.load(x, (row, 0), (1, TILE_N), latency=2)
    peak = ct.max(tile, axis=1)
    scaled = ct.exp2((tile - peak) * 1.4426950408889634)
    total = ct.sum(scaled, axis=1)
    ct.store(out, (row, 0), scaled / total)
'''

RUST = """\
//! Port of `softmax.py`.

#[cutile::module]
pub mod softmax {
    use cutile::core::*;

    const GROUP: i32 = 4;

    /// One row of the matrix.
    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,)))]
    pub fn softmax<E: ElementType, const TILE_N: i32>(
        x: &Tensor<E, { [-1, -1] }>,
        out: &mut Tensor<E, { [-1, -1] }>,
    ) {
        let row: i32 = program_id(0);
        let group: i32 = row / GROUP;
        let tile: Tile<E, { [1, TILE_N] }> = x.partition(shape![1, TILE_N]).load([row, 0]);
        let peak = reduce_max(tile, 1);
        let scaled = exp2((tile - peak) * 1.4426950408889634f32, ftz::Disabled);
        let total = reduce_sum(scaled, 1);
        out.store(scaled / total, [row, 0]);
    }
}
"""


def fact(*values) -> FactRow:
    """A fact by position: parameter, fact, origin, declared as, line, state, severity."""
    names = ("parameter", "fact", "origin", "declared_as", "line", "state", "severity")
    return FactRow(**dict(zip(names, values, strict=True)))


def line_of(text: str, part: str) -> int:
    """1-based line of the first line with `part`."""
    return next(i for i, line in enumerate(text.split("\n"), 1) if part in line)


def array(dtype: str = "f16") -> ArraySpec:
    return ArraySpec(
        dtype=dtype,
        rank=2,
        index_dtype="i32",
        stride_constant=(None, 1),
        shape_constant=(None, None),
        stride_divisible_by=(8, 1),
        shape_divisible_by=(1, 16),
        base_divisible_by=16,
        stride_lower_bound=(0, 0),
        may_alias_internally=False,
        alias_groups=(),
        sample_shape=(512, 1024),
        sample_strides=(1024, 1),
    )


def variant(number: int, target: str, dtype: str, tile: int, kernel: str = "softmax") -> Variant:
    line = line_of(PYTHON, "def softmax")
    place = Place("ops/softmax.py", line, 1)
    return Variant(
        id=f"v{number}",
        kernel=Kernel(name=kernel, qualname=kernel, place=place, end_line=line + 9),
        target=target,
        parameters=(
            Parameter(name="x", place=place, spec=array(dtype)),
            Parameter(name="out", place=place, spec=array(dtype)),
            Parameter(
                name="TILE_N",
                place=place,
                spec=ConstantSpec(value=tile, python_type="int"),
                annotation="ct.Constant[int]",
            ),
        ),
        hints=Hints(occupancy=2),
        folded=(),
        grid=(512, 1, 1),
        cases=(f"rows_{dtype}",),
        via="launch",
        label=f"TILE_N={tile} {dtype}",
        symbol="softmax",
        reference="0" * 64,
        bytecode_version="13.4",
    )


VARIANTS = tuple(
    variant(number, target, dtype, tile)
    for number, (target, dtype, tile) in enumerate(
        [
            ("sm_90", "f16", 1024),
            ("sm_90", "bf16", 1024),
            ("sm_90", "f32", 1024),
            ("sm_90", "f16", 2048),
            ("sm_100", "f16", 1024),
            ("sm_100", "bf16", 1024),
            ("sm_100", "f32", 1024),
            ("sm_100", "f16", 2048),
        ]
    )
)


def facts() -> tuple[FactRow, ...]:
    x = line_of(RUST, "x: &Tensor")
    n = line_of(RUST, "const TILE_N")
    entry = line_of(RUST, "cutile::entry")
    return (
        fact(
            "x",
            "f16, rank 2, strides [?, 1]",
            "the launch",
            "&Tensor<E, {[-1, -1]}>",
            x,
            "declared",
            None,
        ),
        fact(
            "x.base", "divisible by 16", "the launch", "from the launcher", None, "inferred", None
        ),
        fact("x.stride0", "divisible by 8", "the launch", "", x, "missing", Severity.SLOW),
        fact("TILE_N", "1024", "ct.Constant", "const TILE_N: i32", n, "declared", None),
        fact(
            "GROUP",
            "4 (module global)",
            "py 6",
            "const GROUP: i32 = 4",
            line_of(RUST, "const GROUP"),
            "declared",
            None,
        ),
        fact("occupancy", "2", "@ct.kernel", "sm_90 = 2", entry, "declared", None),
    )


def rounding_lost() -> Finding:
    return Finding(
        kind="rounding-lost",
        severity=Severity.WRONG,
        stage="diff",
        message="`/` truncates, Python's `//` floors: they differ where row < 0",
        python=Place("ops/softmax.py", line_of(PYTHON, "row // GROUP"), 13),
        rust=Place("ops/softmax.rs", line_of(RUST, "row / GROUP"), 26),
        reference="divi signed rounding<negative_inf>",
        port="divi signed",
        remedy="use floor_div(row, GROUP)",
        variants=tuple(v.id for v in VARIANTS),
    )


def hint_lost() -> Finding:
    return Finding(
        kind="hint-lost",
        severity=Severity.SLOW,
        stage="diff",
        message="the load has latency 2 in Python, none here",
        python=Place("ops/softmax.py", line_of(PYTHON, "ct.load"), 12),
        rust=Place("ops/softmax.rs", line_of(RUST, ".load(["), 46),
        reference="hints <sm_90 = {latency = 2}>",
        port="hints <sm_90 = {}>",
        remedy="use load_pipelined::<2>",
        variants=("v0", "v1", "v2", "v3"),
    )


def comparison(findings: tuple[Finding, ...] = ()) -> Comparison:
    """A comparison whose lines are those of PYTHON and RUST."""

    def py(part: str) -> int:
        return line_of(PYTHON, part)

    def rs(part: str) -> int:
        return line_of(RUST, part)

    kinds = {finding.kind: index for index, finding in enumerate(findings)}
    rows: list[DiffRow] = [
        DiffRow(
            kind=RowKind.HEADER,
            reference="row = get_tile_block_id",
            python=py("ct.bid"),
            rust=rs("program_id"),
            count=1,
        ),
        DiffRow(kind=RowKind.FOLD, count=1, python=py("ct.bid"), rust=rs("program_id")),
        DiffRow(
            kind=RowKind.HEADER,
            reference="group",
            python=py("row // GROUP"),
            rust=rs("row / GROUP"),
        ),
    ]
    if "rounding-lost" in kinds:
        rows += [
            DiffRow(
                kind=RowKind.CHANGED,
                reference="divi signed rounding<negative_inf>",
                port="divi signed",
                python=py("row // GROUP"),
                rust=rs("row / GROUP"),
                finding=kinds["rounding-lost"],
            ),
        ]
    else:
        rows.append(
            DiffRow(
                kind=RowKind.SAME,
                reference="divi signed rounding<negative_inf>",
                python=py("row // GROUP"),
                rust=rs("row / GROUP"),
            )
        )
    rows.append(
        DiffRow(
            kind=RowKind.HEADER,
            reference="tile = load_view_tko",
            python=py("ct.load"),
            rust=rs(".load(["),
        )
    )
    rows.append(
        DiffRow(
            kind=RowKind.SAME,
            reference="view (1x1024) of x, dim_map [0, 1]",
            python=py("ct.load"),
            rust=rs(".load(["),
        )
    )
    if "hint-lost" in kinds:
        rows += [
            DiffRow(
                kind=RowKind.REMOVED,
                reference="hints <sm_90 = {latency = 2}>",
                python=py("ct.load"),
                finding=kinds["hint-lost"],
            ),
            DiffRow(
                kind=RowKind.ADDED,
                port="hints <sm_90 = {}>",
                rust=rs(".load(["),
                finding=kinds["hint-lost"],
            ),
        ]
    rows += [
        DiffRow(
            kind=RowKind.HEADER,
            reference="peak = reduce max",
            python=py("ct.max"),
            rust=rs("reduce_max"),
        ),
        DiffRow(kind=RowKind.FOLD, count=3, python=py("ct.max"), rust=rs("reduce_max"), depth=1),
        DiffRow(
            kind=RowKind.HEADER, reference="scaled = exp2", python=py("ct.exp2"), rust=rs("exp2")
        ),
        DiffRow(kind=RowKind.FOLD, count=4, python=py("ct.exp2"), rust=rs("exp2")),
        DiffRow(kind=RowKind.FOLD, count=21, python=py("ct.sum"), rust=rs("reduce_sum")),
    ]
    verdict = DiffVerdict.DIFFERENT if findings else DiffVerdict.SAME
    return Comparison(
        verdict=verdict,
        findings=findings,
        rows=tuple(rows),
        reference_hash="a",
        port_hash="b" if findings else "a",
    )


ASSUMPTION = Assumption(
    condition="GROUP > 0",
    rule="floor-division",
    python=Place("ops/softmax.py", line_of(PYTHON, "row // GROUP")),
)


class FakeSession:
    """Follows the contract of `tileport.verify.session.Session`; `judge` decides what is found.

    The file is a real one under a temporary folder. Nothing happens by itself: `submit` starts a
    generation, `finish` ends it; with `automatic` a generation ends at once.
    """

    def __init__(self, operator: Operator, notify: Callable[[told.Event], None]) -> None:
        self.operator = operator
        self._notify = notify
        self.automatic = True
        self.judge: Callable[[str], tuple[Finding, ...]] = lambda text: tuple(
            finding
            for part, finding in (("row / GROUP", rounding_lost()), ("]).load([", hint_lost()))
            if part in text
        )
        self.generation = 0
        self.text: str | None = None
        self.disk_text: str | None = None
        self.report: CaptureReport | None = None
        self.view = ""
        self.lock: LockHolder | None = None
        self.left_over: Recovered | None = None
        self.start_error: TileportError | None = None
        self.capture_error = ""
        self.compile_error = ""
        self.save_error: TileportError | None = None
        self.closed = False
        self.log: list[tuple[object, ...]] = []
        self._undo: list[str | None] = []
        self._results: dict[tuple[str, str], StageResult] = {}
        self._findings: tuple[Finding, ...] = ()
        self._made: tuple[object, Comparison] | None = None
        self.fact_rows: tuple[FactRow, ...] = facts()

    # ------------------------------------------------------------ what is known

    @property
    def stages(self) -> tuple[StageSpec, ...]:
        return STAGES

    @property
    def read_only(self) -> bool:
        return self.lock is not None

    @property
    def lock_holder(self) -> LockHolder | None:
        return self.lock

    @property
    def variants(self) -> tuple[Variant, ...]:
        return self.report.variants if self.report else ()

    def result(self, variant: str, stage: str) -> StageResult | None:
        scope = next(s.scope for s in STAGES if s.name == stage)
        return self._results.get((variant if scope == "variant" else "", stage))

    def findings(self, *, stale: bool = False) -> tuple[Finding, ...]:
        return tuple(sorted(self._findings, key=lambda f: f.severity.rank))

    def verdict(self) -> Verdict:
        counts = count_findings(self._findings)
        total = len(self.variants)
        failed = total if self.compile_error else 0
        done = self._results.get((self.view, "diff"))
        pending = total if done is None or done.state is StageState.RUNNING else 0
        pending = 0 if failed else pending
        different = (
            0 if pending or failed else (max((len(f.variants) for f in self._findings), default=0))
        )
        same = total - pending - different - failed
        found = counts[Severity.WRONG] + counts[Severity.UNSAFE] + counts[Severity.SLOW]
        words = f"SAME IR {same}/{total}"
        if self.report is None:
            words = "NOT CAPTURED" if self.capture_error else "CAPTURING"
        if pending:
            words += f" · {pending} pending"
        if found:
            words += f" · {found} finding" + ("s" if found > 1 else "")
        worst = min(
            (f.severity for f in self._findings if f.allowed is None),
            key=lambda s: s.rank,
            default=None,
        )
        return Verdict(
            same=same,
            different=different,
            failed=failed,
            pending=pending,
            total=total,
            wrong=counts[Severity.WRONG],
            unsafe=counts[Severity.UNSAFE],
            slow=counts[Severity.SLOW],
            note=counts[Severity.NOTE],
            worst=worst,
            text=words,
        )

    def comparison(self, variant: str) -> Comparison | None:
        result = self._results.get((variant, "diff"))
        if result is None or self.text is None:
            return None
        if result.state in {StageState.SKIPPED, StageState.RUNNING}:
            return self._made[1] if self._made is not None else None
        seen = tuple(f for f in self._findings if variant in f.variants and f.stage == "diff")
        key = (variant, seen)
        if self._made is None or self._made[0] != key:
            self._made = (key, comparison(seen))
        return self._made[1]

    def facts(self, variant: str) -> tuple[FactRow, ...]:
        return self.fact_rows if self.report else ()

    async def ir(
        self, variant: str, side: Literal["reference", "port"], *, canonical: bool = False
    ) -> str:
        if self.compile_error and side == "port":
            raise TileportError("the port does not compile", todo="see the findings")
        return (
            "cuda_tile.module @kernels {\n"
            f"  entry @softmax() {{ // {side}\n"
            "    %0, %1, %2 = get_tile_block_id : tile<i32>"
            ' loc("ops/softmax.py":12:10)\n'
            "    return\n  }\n}\n"
        )

    # ------------------------------------------------------------ what can be done

    async def start(self) -> None:
        if self.start_error is not None:
            raise self.start_error
        path = Path(self.operator.port)
        self.disk_text = path.read_bytes().decode() if path.exists() else None
        self.text = self.disk_text
        if self.automatic:
            self.capture()

    def capture(self) -> None:
        """A capture starts and ends."""
        self._notify(told.CaptureStarted(1))
        if self.capture_error:
            self._notify(told.CaptureFailed(1, self.capture_error))
            return
        self.report = CaptureReport(
            operator="softmax",
            source="ops/softmax.py",
            variants=VARIANTS,
            findings=(),
            cases=("rows_f16",),
            inputs="0",
            files=(),
            versions={},
            milliseconds=812.0,
            mode="fake",
        )
        self.view = VARIANTS[0].id
        self._put(StageResult(stage="capture", state=StageState.OK, milliseconds=812.0))
        self._notify(told.CaptureDone(1, self.report, 812.0, False))
        self._generation(saved=True)

    def _put(self, result: StageResult) -> None:
        self._results[result.variant, result.stage] = result

    def submit(self, text: str, *, saved: bool = False) -> int:
        self.log.append(("submit", text, saved))
        if text != self.text:
            self.text = text
            self._generation(saved=saved)
        return self.generation

    def _generation(self, *, saved: bool) -> None:
        self.generation += 1
        self._notify(told.GenerationStarted(self.generation, saved))
        for v in self.variants:
            for stage in ("declare", "compile", "diff"):
                self._put(StageResult(stage=stage, variant=v.id, state=StageState.RUNNING))
        if self.automatic:
            self.finish()

    def finish(self) -> None:
        """All stages of the generation end."""
        text = self.text
        if text is None:
            missing = Finding(
                kind="port-missing",
                severity=Severity.WRONG,
                stage="declare",
                message=f"there is no port at {self.operator.port.rsplit('/', 1)[-1]}",
                remedy="write it in the Rust pane and save",
                variants=tuple(v.id for v in self.variants),
            )
            self._findings = (missing,)
            self._end("declare", StageState.FAILED, 0.4, "there is no port")
        elif self.compile_error:
            failed = Finding(
                kind="compile-error",
                severity=Severity.WRONG,
                stage="compile",
                message=self.compile_error,
                rust=Place("ops/softmax.rs", 16, 9),
                variants=tuple(v.id for v in self.variants),
            )
            self._findings = (failed,)
            self._end("declare", StageState.OK, 3.1)
            self._end("compile", StageState.FAILED, 12.0, self.compile_error)
            self._end("diff", StageState.SKIPPED, 0.0, "the port does not compile")
        else:
            self._findings = self.judge(text)
            self._end("declare", StageState.OK, 3.1)
            self._end("compile", StageState.OK, 71.0)
            found = bool(self._findings)
            self._end("diff", StageState.FINDINGS if found else StageState.OK, 9.0)
            self._put(
                StageResult(stage="build", state=StageState.OK, milliseconds=1840.0, cached=True)
            )
        self._notify(told.GenerationDone(self.generation, 96.0))

    def _end(self, stage: str, state: StageState, took: float, reason: str = "") -> None:
        for v in self.variants:
            seen = tuple(f for f in self._findings if f.stage == stage and v.id in f.variants)
            was = state
            if state is StageState.FINDINGS and not seen:
                was = StageState.OK
            result = StageResult(
                stage=stage,
                variant=v.id,
                state=was,
                findings=seen,
                reason=reason,
                milliseconds=took,
            )
            self._put(result)
            self._notify(told.StageChanged(self.generation, result))

    def look_at(self, variant: str) -> None:
        self.log.append(("look_at", variant))
        self.view = variant

    async def save(self, text: str) -> None:
        path = Path(self.operator.port)
        if self.lock is not None:
            raise TileportError("read-only")
        if self.save_error is not None:
            raise self.save_error
        now = path.read_bytes().decode() if path.exists() else None
        if now != self.disk_text:
            raise PortMoved(str(path), now)
        self._undo.append(now)
        path.write_bytes(text.encode())
        self.disk_text = text
        self.log.append(("save", text))
        self.submit(text, saved=True)

    async def undo_save(self) -> str | None:
        if not self._undo:
            raise TileportError("there is no save to undo")
        before = self._undo.pop()
        path = Path(self.operator.port)
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before.encode())
            self.submit(before, saved=True)
        self.disk_text = before
        return before

    def recovered(self) -> Recovered | None:
        return self.left_over

    def discard_recovered(self) -> None:
        self.left_over = None
        self.log.append(("discard_recovered",))

    async def close(self) -> None:
        self.closed = True

    # ------------------------------------------------------------ the world outside

    def outside(self, text: str | None) -> None:
        """Another program writes or removes the file."""
        path = Path(self.operator.port)
        if text is None:
            path.unlink()
        else:
            path.write_bytes(text.encode())
        clean = self.text == self.disk_text
        self.disk_text = text
        if clean and text is not None:
            self.text = text
            self._generation(saved=True)
        self._notify(told.FileChanged("port", str(path), text))

    def tell(self, severity: Severity, text: str) -> None:
        """A notice."""
        self._notify(told.Notice(severity, text))
