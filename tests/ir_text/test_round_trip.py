"""Printing what was parsed gives the text back, so the model holds everything the text says."""

from __future__ import annotations

import pytest

from tests.ir_text import support
from tileport.verify import toolchain
from tileport.verify.ir.grammar_ops import FORMATS
from tileport.verify.ir.print import print_module
from tileport.verify.ir.text import parse_module


@pytest.mark.parametrize("name", support.NAMES)
def test_printing_gives_the_text_back(name: str) -> None:
    printed = print_module(support.module(name))
    assert support.normal_lines(printed) == support.normal_lines(support.text(name))


@pytest.mark.parametrize("name", support.NAMES)
def test_printed_locations_read_back(name: str) -> None:
    module = support.module(name)
    again = parse_module(print_module(module, locations=True))
    assert [op.location for op in support.ops(again)] == [op.location for op in support.ops(module)]
    assert [entry.location for entry in again.entries] == [e.location for e in module.entries]
    assert support.fingerprint(again) == support.fingerprint(module)


def test_every_op_with_a_format_is_in_the_fixtures() -> None:
    met = {op.name for name in support.NAMES for op in support.ops(support.module(name))}
    assert met == set(FORMATS)


@pytest.mark.parametrize("name", support.NAMES)
def test_every_op_of_the_fixtures_is_known(name: str) -> None:
    assert support.module(name).unknown == frozenset()


def test_the_fixture_is_what_the_installed_disassembler_prints() -> None:
    if not (toolchain.find("tileirdisasm").version or "").startswith("13.5"):
        pytest.skip("the fixture was printed by tileirdisasm 13.5, which is not installed")
    from tests.ir_text import every_op

    assert "\n".join(every_op.disassembled(every_op.bytecode())) + "\n" == support.text("every_op")
