"""The parser on the IR of every launch of TileGym's 24 operators."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from pathlib import Path

import pytest

from tests.ir_text import support
from tileport.verify.capture.client import CaptureRequest, CaptureServer, OperatorSource
from tileport.verify.ir.disassemble import disassemble
from tileport.verify.ir.print import print_module
from tileport.verify.ir.text import parse_module
from tileport.verify.port.names import flattened

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("tilegym") is None, reason="tilegym is not installed"
    ),
]

_CASES = Path(__file__).parents[2] / "ops" / "tilegym"

#: Milliseconds for the 450 lines of an attention kernel.
_BUDGET = 10.0


@pytest.fixture(scope="module")
def launches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Text and parameter names of each launch for sm_90, by operator, kernel and reference."""
    blobs = tmp_path_factory.mktemp("blobs")

    async def capture() -> dict[str, tuple[str, tuple[str, ...]]]:
        found: dict[str, tuple[str, tuple[str, ...]]] = {}
        server = CaptureServer()
        try:
            for cases in sorted(_CASES.glob("*.cases.py")):
                name = cases.name.removesuffix(".cases.py")
                report = await server.capture(
                    CaptureRequest(
                        operator=OperatorSource(
                            kind="module", name=f"tilegym.ops.cutile.{name}", cases=str(cases)
                        ),
                        workspace=str(tmp_path_factory.getbasetemp()),
                        targets=("sm_90",),
                        blobs=str(blobs),
                    )
                )
                assert report.variants, name
                for variant in report.variants:
                    text = disassemble((blobs / variant.reference).read_bytes())
                    key = f"{name}/{variant.kernel.name}/{variant.reference[:8]}"
                    found[key] = (text, flattened(variant))
        finally:
            await server.close()
        return found

    return asyncio.run(capture())


def test_all_operators_are_there(launches: dict[str, tuple[str, tuple[str, ...]]]) -> None:
    assert len(list(_CASES.glob("*.cases.py"))) == 24
    assert len({key.partition("/")[0] for key in launches}) == 24
    assert len({key.rpartition("/")[0] for key in launches}) >= 45
    assert len(launches) >= 66


def test_every_op_is_known_and_printed_back(
    launches: dict[str, tuple[str, tuple[str, ...]]],
) -> None:
    for key, (text, _) in launches.items():
        module = parse_module(text)
        assert module.unknown == frozenset(), key
        printed = support.normal_lines(print_module(module))
        assert printed == support.normal_lines(text), key
        again = parse_module(print_module(module, locations=True))
        assert [op.location for op in support.ops(again)] == [
            op.location for op in support.ops(module)
        ], key


def test_every_parameter_has_a_name(launches: dict[str, tuple[str, tuple[str, ...]]]) -> None:
    for key, (text, names) in launches.items():
        parameters = parse_module(text).entry().parameters
        assert len(parameters) == len(names), key
        for name, value in zip(names, parameters, strict=True):
            assert name.endswith(".ptr") == ("ptr<" in value.type), (key, name, value.type)


def test_attention_is_read_in_time(launches: dict[str, tuple[str, tuple[str, ...]]]) -> None:
    """In processor time, for what else the machine does is not the parser's; best of ten."""
    texts = [text for key, (text, _) in launches.items() if "/_fmha" in key]
    assert texts
    for text in texts:
        taken = []
        for _ in range(10):
            start = time.process_time()
            parse_module(text)
            taken.append((time.process_time() - start) * 1000)
        assert min(taken) * 450 / text.count("\n") < _BUDGET
