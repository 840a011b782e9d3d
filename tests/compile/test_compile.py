"""Texts of every kind through the compile server: bytecode, or a diagnostic at its place."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.compile.kernels import TWICE, place_of, request
from tileport.verify.compile.model import CompileResult, Diagnostic, DiagnosticSource
from tileport.verify.compile.server import PortServer


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[PortServer]:
    server = PortServer(workers=1)
    await server.start()
    yield server
    await server.close()


pytestmark = pytest.mark.asyncio(loop_scope="module")


def only_fault(result: CompileResult) -> Diagnostic:
    assert result.bytecode is None
    (diagnostic,) = result.diagnostics
    assert diagnostic.severity == "error"
    assert diagnostic.place is not None
    assert diagnostic.place.file == "ports/twice.rs"
    return diagnostic


def at(diagnostic: Diagnostic) -> tuple[int, int]:
    assert diagnostic.place is not None
    return diagnostic.place.line, diagnostic.place.column


async def test_a_good_kernel_becomes_verified_bytecode(server: PortServer) -> None:
    result = await server.compile(request())
    assert result.bytecode is not None
    assert result.bytecode.startswith(b"\x7fTileIR")
    assert result.diagnostics == ()
    assert set(result.milliseconds) == {"parse", "compile", "write", "disassemble"}


async def test_equal_requests_give_equal_bytes(server: PortServer) -> None:
    results = [await server.compile(request()) for _ in range(3)]
    assert len({result.bytecode for result in results}) == 1


async def test_the_target_is_the_one_asked_for(server: PortServer) -> None:
    hint = {"occupancy": 4}  # noted under the target's name
    one = await server.compile(request(target="sm_90", options=hint))
    other = await server.compile(request(target="sm_100", options=hint))
    assert one.bytecode and other.bytecode and one.bytecode != other.bytecode


@pytest.mark.parametrize(
    "old, new, part, source",
    [
        ("let block", "let let block", "let block", DiagnosticSource.SYNTAX),
        ("tile + tile", "tile + tiel", "tiel", DiagnosticSource.FRONTEND),
        ("x.partition", "x.partitoin", "partitoin", DiagnosticSource.FRONTEND),
        ("occupancy", "ocupancy", "ocupancy", DiagnosticSource.FRONTEND),
        ("[block])", "[block + 3000000000])", "3000000000", DiagnosticSource.FRONTEND),
        ("tile + tile", "\u202etile + \N{PARTY POPPER}", "\u202e", DiagnosticSource.SYNTAX),
        ("block", "bl\x00ock", "\x00", DiagnosticSource.SYNTAX),
        ("block", "bl\x1b[31mock", "\x1b", DiagnosticSource.SYNTAX),
        ("tile + tile", "tile + tïle", "tïle", DiagnosticSource.FRONTEND),
    ],
)
async def test_a_fault_is_told_at_its_place(
    server: PortServer, old: str, new: str, part: str, source: DiagnosticSource
) -> None:
    text = TWICE.replace(old, new, 1)
    found = only_fault(await server.compile(request(text)))
    assert at(found) == place_of(text, part)
    assert found.source is source
    assert found.message.isprintable()


async def test_a_missing_entry_names_those_there_are(server: PortServer) -> None:
    found = only_fault(await server.compile(request(entry="thrice")))
    assert at(found) == place_of(TWICE, "doubled")
    assert "`twice`" in found.message


@pytest.mark.parametrize("text", ["", "\n\n", "fn main() {}\n", "// only a comment"])
async def test_a_text_without_a_module_says_what_a_port_is(server: PortServer, text: str) -> None:
    found = only_fault(await server.compile(request(text)))
    assert "#[cutile::module]" in found.message
    assert at(found) == (1, 1)


async def test_a_second_module_is_told_at_its_name(server: PortServer) -> None:
    text = TWICE + "#[cutile::module]\npub mod again {}\n"
    assert at(only_fault(await server.compile(request(text)))) == place_of(text, "again")


async def test_a_tensor_without_specialization_is_told_at_its_parameter(
    server: PortServer,
) -> None:
    found = only_fault(await server.compile(request(tensors=request().tensors[:1])))
    assert at(found) == place_of(TWICE, "y: &Tensor")


async def test_what_only_the_disassembler_refuses_is_told_at_its_place(
    server: PortServer,
) -> None:
    text = TWICE.replace(
        "let mut out", "let odd: Tile<E, { [N] }> = tile.reshape(shape![64]);\n        let mut out"
    )
    found = only_fault(await server.compile(request(text)))
    assert found.source in {DiagnosticSource.VERIFIER, DiagnosticSource.FRONTEND}
    assert at(found)[0] == place_of(text, "let odd")[0]


async def test_a_file_of_20000_lines_compiles(server: PortServer) -> None:
    filler = "".join(
        f"    fn f{i}(a: i32) -> i32 {{\n        a + {i}\n    }}\n" for i in range(6700)
    )
    text = TWICE.replace("    #[cutile::entry", filler + "    #[cutile::entry", 1)
    assert text.count("\n") > 20_000
    result = await server.compile(request(text))
    assert result.bytecode is not None


async def test_nesting_beyond_any_kernel_is_refused(server: PortServer) -> None:
    text = TWICE.replace("tile + tile", "(" * 50_000 + "tile" + ")" * 50_000)
    found = only_fault(await server.compile(request(text)))
    assert "deep" in found.message
    result = await server.compile(request())
    assert result.bytecode is not None


async def test_line_ends_of_windows_do_not_shift_places(server: PortServer) -> None:
    text = TWICE.replace("tile + tile", "tile + tiel").replace("\n", "\r\n")
    found = only_fault(await server.compile(request(text)))
    assert at(found) == place_of(text, "tiel")


async def test_variables_of_the_shell_do_not_change_what_is_compiled(
    server: PortServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTILE_JIT_DEBUG", "full")
    monkeypatch.setenv("CUTILE_DUMP", "all")
    other = PortServer(workers=1)
    result = await other.compile(request())
    await other.close()
    assert result.bytecode == (await server.compile(request())).bytecode
