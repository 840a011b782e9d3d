"""The cases of rms_norm, matmul, silu_and_mul and rope: what each of them launches.

Cases ask for CUDA tensors. Here they get CPU tensors, and `ct.launch` writes down what it was asked
to do: no GPU, and no kernel is compiled.
"""

import importlib.util
import inspect
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import cuda.tile as ct
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.overrides import TorchFunctionMode

import tileport.ops
from tileport.ops import matmul, rms_norm, rope, silu_and_mul
from tileport.verify.port import parse_port

FOLDER = Path(tileport.ops.__file__).parent
OPERATORS: dict[str, ModuleType] = {
    "rms_norm": rms_norm,
    "matmul": matmul,
    "silu_and_mul": silu_and_mul,
    "rope": rope,
}


def cases_of(name: str) -> list[tuple[str, Any]]:
    """The cases of an operator, of the file beside it where there is one."""
    operator = OPERATORS[name]
    beside = FOLDER / f"{name}.cases.py"
    if not beside.exists():
        return list(operator.tileport_cases())
    spec = importlib.util.spec_from_file_location(f"{name}_cases", beside)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.tileport_cases(operator))


CASES = [(name, label) for name in OPERATORS for label, _ in cases_of(name)]


class OnCpu(TorchFunctionMode):
    """Gives CPU tensors to who asks for CUDA tensors."""

    def __torch_function__(
        self,
        func: Any,
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = dict(kwargs or {})
        if str(named.get("device", "cpu")).startswith("cuda"):
            named["device"] = "cpu"
        return func(*args, **named)


class Launch(typing.NamedTuple):
    grid: tuple[int, ...]
    kernel: Any
    args: dict[str, Any]


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Launch]]:
    """What was launched; tensors that are asked for on the GPU lie on the CPU meanwhile."""
    found: list[Launch] = []

    def launch(stream: object, grid: tuple[int, ...], kernel: Any, args: tuple[Any, ...]) -> None:
        bound = inspect.signature(kernel._pyfunc).bind(*args)
        found.append(Launch(grid, kernel, dict(bound.arguments)))

    monkeypatch.setattr(ct, "launch", launch)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: None)
    with OnCpu():
        yield found


def run(name: str, label: str, launches: list[Launch]) -> tuple[Launch, Any]:
    """Runs a case, which must launch one kernel; the launch, and what the wrapper returned."""
    result = dict(cases_of(name))[label]()
    assert len(launches) == 1
    return launches[0], result


def constants_of(kernel: Any) -> set[str]:
    """The names of the parameters annotated `ct.Constant[...]`."""
    hints = typing.get_type_hints(kernel._pyfunc, include_extras=True)
    constant = (ct.Constant[int], ct.Constant[bool])
    return {name for name, hint in hints.items() if hint in constant}


@pytest.mark.parametrize("name", OPERATORS)
def test_there_are_some_cases_of_different_names(name: str) -> None:
    labels = [label for label, _ in cases_of(name)]
    assert 4 <= len(labels) <= 8
    assert all(isinstance(label, str) and label for label in labels)
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("name", OPERATORS)
def test_the_cases_cover_the_three_dtypes(name: str, launches: list[Launch]) -> None:
    seen: Counter[torch.dtype] = Counter()
    for _, case in cases_of(name):
        launches.clear()
        case()
        seen[next(a for a in launches[0].args.values() if isinstance(a, Tensor)).dtype] += 1
    assert set(seen) == {torch.float16, torch.bfloat16, torch.float32}


@pytest.mark.parametrize(("name", "label"), CASES)
def test_a_case_launches_one_kernel_with_what_it_declares(
    name: str, label: str, launches: list[Launch]
) -> None:
    launch, _ = run(name, label, launches)
    assert all(type(extent) is int and extent > 0 for extent in launch.grid)
    constants = constants_of(launch.kernel)
    assert constants
    for parameter, value in launch.args.items():
        if parameter in constants:
            assert type(value) in (int, bool)
        else:
            assert isinstance(value, (Tensor, float))
        if parameter.startswith("TILE_"):
            assert value & (value - 1) == 0


@pytest.mark.parametrize("label", [label for name, label in CASES if name == "rms_norm"])
def test_rms_norm_holds_a_row_in_one_tile(label: str, launches: list[Launch]) -> None:
    launch, out = run("rms_norm", label, launches)
    m, n = launch.args["x"].shape
    assert launch.grid == (m,)
    assert n <= launch.args["TILE_N"] < 2 * n
    assert out is launch.args["out"]
    assert (out.shape, out.dtype) == ((m, n), launch.args["x"].dtype)
    assert launch.args["weight"].shape == (n,)


@pytest.mark.parametrize("label", [label for name, label in CASES if name == "matmul"])
def test_matmul_has_a_block_for_each_tile(label: str, launches: list[Launch]) -> None:
    launch, c = run("matmul", label, launches)
    a, b = launch.args["a"], launch.args["b"]
    (m, k), n = a.shape, b.shape[1]
    assert b.shape[0] == k
    assert c is launch.args["c"]
    assert (c.shape, c.dtype) == ((m, n), a.dtype)
    tile_m, tile_n = launch.args["TILE_M"], launch.args["TILE_N"]
    assert launch.grid == (-(-m // tile_m) * -(-n // tile_n),)
    assert launch.args["USE_TF32"] == (a.dtype == torch.float32 and "no tf32" not in label)
    assert (b.stride(0) == 1) == ("transposed" in label)


@given(rows=st.integers(1, 40), columns=st.integers(1, 40))
def test_the_swizzle_gives_each_tile_to_one_block(rows: int, columns: int) -> None:
    tiles = [matmul._swizzle(block, rows, columns) for block in range(rows * columns)]
    assert sorted(tiles) == [(row, column) for row in range(rows) for column in range(columns)]


def test_the_swizzle_walks_down_a_group_before_it_moves_right() -> None:
    group = matmul.GROUP_SIZE_M
    tiles = [matmul._swizzle(block, 3 * group, 5) for block in range(2 * group)]
    assert tiles == [(row, column) for column in (0, 1) for row in range(group)]


@pytest.mark.parametrize("label", [label for name, label in CASES if name == "silu_and_mul"])
def test_silu_and_mul_covers_the_columns(label: str, launches: list[Launch]) -> None:
    launch, out = run("silu_and_mul", label, launches)
    m, columns = launch.args["x"].shape
    n, tile_n = columns // 2, launch.args["TILE_N"]
    assert out is launch.args["out"]
    assert (out.shape, out.dtype) == ((m, n), launch.args["x"].dtype)
    assert launch.grid == (m, -(-n // tile_n))


@pytest.mark.parametrize("label", [label for name, label in CASES if name == "rope"])
def test_rope_hands_over_the_halves_of_q_and_k_themselves(
    label: str, launches: list[Launch]
) -> None:
    launch, (q, k) = run("rope", label, launches)
    args = launch.args
    assert launch.grid == (q.shape[0],)
    for x, pairs, heads, tile in ((q, "q", "HQ", "TILE_HQ"), (k, "k", "HK", "TILE_HK")):
        tokens, count, _ = x.shape
        half = args["HALF"]
        assert args[heads] == count <= args[tile] < 2 * count
        assert args[pairs].shape == (tokens, count, 2, half)
        rest = x[..., 2 * half :].clone()
        args[pairs][:, :, 0] = 1.0
        args[pairs][:, :, 1] = 2.0
        assert (x[..., :half] == 1.0).all()
        assert (x[..., half : 2 * half] == 2.0).all()
        assert torch.equal(x[..., 2 * half :], rest)
    assert args["HALF"] <= args["TILE_R"] < 2 * args["HALF"]
    assert args["cos"].shape == args["sin"].shape
    assert args["cos"].shape[1] == args["HALF"]
    assert args["positions"].dtype == torch.int32
    assert int(args["positions"].min()) >= 0
    assert int(args["positions"].max()) < args["cos"].shape[0]


def test_the_rope_cases_have_partial_fused_and_odd_heads(launches: list[Launch]) -> None:
    partial = fused = odd = False
    for _, case in cases_of("rope"):
        launches.clear()
        q, _ = case()
        half = launches[0].args["HALF"]
        partial |= 2 * half < q.shape[2]
        odd |= half & (half - 1) != 0
        fused |= not q.is_contiguous()
    assert partial
    assert fused
    assert odd


def test_rope_tables_turn_the_first_position_by_nothing(launches: list[Launch]) -> None:
    cos, sin = rope.tables(8, 6, torch.float32)
    assert cos.shape == sin.shape == (8, 3)
    assert torch.equal(cos[0], torch.ones(3))
    assert torch.equal(sin[0], torch.zeros(3))
    torch.testing.assert_close(cos.square() + sin.square(), torch.ones(8, 3))
    torch.testing.assert_close(
        sin[1], torch.tensor([1.0, 10000 ** (-1 / 3), 10000 ** (-2 / 3)]).sin()
    )


@pytest.mark.parametrize("name", OPERATORS)
def test_the_port_has_an_entry_for_the_kernel_and_names_its_constants(name: str) -> None:
    path = FOLDER / f"{name}.rs"
    port = parse_port(path.read_text(), str(path))
    assert port.errors == ()
    assert [entry.kernel for entry in port.entries] == [f"{name}_kernel"]
    entry = port.entries[0]
    kernel = getattr(OPERATORS[name], entry.kernel)
    constants = {generic.name for generic in entry.generics if generic.kind == "const"}
    assert constants == constants_of(kernel)
    parameters = set(inspect.signature(kernel._pyfunc).parameters)
    for parameter in entry.parameters:
        of = entry.aliases.get(parameter.name, parameter.name)
        assert of.partition(".")[0] in parameters
