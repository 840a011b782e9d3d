"""Reading the Rust: entries, signatures, hints, comments, and text that is not finished."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.port import support
from tileport.verify.model import Severity
from tileport.verify.port import PortFile, parse_port

_PORT = """\
//! tileport: cutile = 0.5
//! A port.

#[cutile::module]
pub mod attend {
    use cutile::core::*;

    type Row<T> = Tensor<T, { [-1] }>;
    const LOG2_E: f32 = 1.442_695;

    fn helper<const N: i32>(x: Tile<f32, { [N] }>) -> Tile<f32, { [N] }> {
        x
    }

    /// What it does.
    ///
    /// tileport: kernel = attend_kernel
    /// tileport: BM = TILE_M
    /// tileport: x_ptr = x.ptr
    /// tileport: launch sm_90 occupancy
    /// tileport: launch num_cta_in_cga = 2
    #[cutile::entry(
        print_ir = false,
        optimization_hints = (
            sm_90 = (occupancy = 2, num_worker_warps_per_cta = 8i32,),
            default = (occupancy = 1,),
        ),
    )]
    #[allow(unused)]
    pub unsafe fn attend<
        'a,
        E: ElementType,
        const BM: i32,
        const FAST: bool,
        const S: [i32; 2],
    >(
        q: &'a Tensor<E, { [-1, BM, 64] }>,
        out: &mut Tensor<E, { [1, BM] }>,
        part: MappedPartitionMut<E, { [BM, 64] }, S>,
        flat: &Tensor<f32, { [-1; 3] }>,
        shaped: &Tensor<E, S>,
        row: &Row<f32>,
        x_ptr: *mut E,
        raw: *const i32,
        mut scale: f32,
        count: E,
    ) {
        let i: i32 = program_id(0); // tileport: allow(hint-lost) because it is slower with it
        // tileport: allow(a-b, c) because the next statement
        // is as it should be
        let j: Tile<i32, { [1] }> =
            constant(0, shape![1]);
    }
}
"""


@pytest.fixture(scope="module")
def port() -> PortFile:
    return parse_port(_PORT, "attend.rs")


def line(text: str) -> int:
    return _PORT[: _PORT.index(text)].count("\n") + 1


def test_module_and_constants_are_read(port: PortFile) -> None:
    assert (port.module, port.module_line) == ("attend", line("pub mod"))
    assert port.errors == ()
    assert [(c.name, c.rust_type, c.value, c.line) for c in port.constants] == [
        ("LOG2_E", "f32", "1.442_695", line("const LOG2_E"))
    ]


def test_only_entries_are_entries(port: PortFile) -> None:
    assert [(entry.name, entry.kernel) for entry in port.entries] == [("attend", "attend_kernel")]
    entry = port.entries[0]
    assert entry.line == line("pub unsafe fn attend")
    assert entry.header_line == line("#[cutile::entry")
    assert entry.end_line == line("constant(0") + 1
    assert entry.complete


def test_generics_are_read_in_order_without_lifetimes(port: PortFile) -> None:
    assert [(g.name, g.kind, g.rust_type, g.length) for g in port.entries[0].generics] == [
        ("E", "type", "ElementType", None),
        ("BM", "const", "i32", None),
        ("FAST", "const", "bool", None),
        ("S", "const", "[i32; 2]", 2),
    ]
    assert port.entries[0].generics[1].line == line("const BM")


def test_parameters_are_read(port: PortFile) -> None:
    found = {p.name: (p.kind, p.element, p.shape, p.rank) for p in port.entries[0].parameters}
    assert found == {
        "q": ("tensor", "E", ("-1", "BM", "64"), 3),
        "out": ("tensor_mut", "E", ("1", "BM"), 2),
        "part": ("mapped", "E", ("BM", "64"), 2),
        "flat": ("tensor", "f32", ("-1", "-1", "-1"), 3),
        "shaped": ("tensor", "E", None, 2),
        "row": ("tensor", "f32", ("-1",), 1),
        "x_ptr": ("pointer", "E", None, None),
        "raw": ("pointer", "i32", None, None),
        "scale": ("scalar", "f32", None, None),
        "count": ("scalar", "E", None, None),
    }
    assert port.entries[0].parameters[0].line == line("q: &'a")
    assert port.entries[0].parameters[4].shape_generic == "S"


def test_hints_are_read_with_their_lines(port: PortFile) -> None:
    entry = port.entries[0]
    assert entry.hints == {
        "sm_90": {"occupancy": 2, "num_worker_warps_per_cta": 8},
        "default": {"occupancy": 1},
    }
    assert entry.hint_lines["sm_90"]["num_worker_warps_per_cta"] == line("sm_90 = (")
    assert entry.hint_lines["default"]["occupancy"] == line("default = (")


def test_tileport_lines_are_read(port: PortFile) -> None:
    entry = port.entries[0]
    assert entry.aliases == {"BM": "TILE_M", "x_ptr": "x.ptr"}
    assert entry.alias_lines["BM"] == line("/// tileport: BM")
    assert entry.launch == {"sm_90": {"occupancy": None}, "default": {"num_cta_in_cga": 2}}


def test_allow_comments_are_read(port: PortFile) -> None:
    trailing, own = port.allows
    assert (trailing.kinds, trailing.reason) == (("hint-lost",), "it is slower with it")
    assert (trailing.first, trailing.last) == (line("program_id"), line("program_id"))
    assert own.kinds == ("a-b", "c")
    assert (own.first, own.last) == (line("let j"), line("constant(0"))


@pytest.mark.parametrize("attribute", ["cutile::entry", "cutile::entry()", "entry()"])
def test_an_entry_needs_no_arguments(attribute: str) -> None:
    text = support.text("scale(x: f32)").replace("cutile::entry()", attribute)
    assert [entry.name for entry in parse_port(text, "a.rs").entries] == ["scale"]


def test_no_module_is_a_fault_and_an_empty_file_is_not_two() -> None:
    assert [e.kind for e in parse_port("fn f() {}\n", "a.rs").errors] == ["module-missing"]
    assert parse_port("", "a.rs").errors == ()


def test_two_entries_for_one_kernel_are_a_fault() -> None:
    one = support.text("scale(x: f32)")
    both = one.replace("}\n}\n", "}\n    #[cutile::entry()]\n    fn scale() {}\n}\n")
    error = parse_port(both, "a.rs").errors[0]
    assert (error.kind, error.severity) == ("entry-twice", Severity.WRONG)


@pytest.mark.parametrize(
    ("version", "fits"),
    [("0.5", True), ("0.5.0", True), ("^0.5", True), ("0", True), ("0.4", False), ("0.2.0", False),
     ("0.5.1", False), ("1.0", False)],
)  # fmt: skip
def test_a_port_for_another_version_of_the_crate_is_told(version: str, fits: bool) -> None:
    text = f"/// tileport: cutile = {version}\n" + support.text("scale(x: f32)")
    errors = parse_port(text, "a.rs").errors
    assert [e.kind for e in errors] == ([] if fits else ["other-cutile"])
    if not fits:
        assert errors[0].rust is not None and errors[0].rust.line == 1
        assert version.lstrip("^") in errors[0].message and "0.5.0" in errors[0].message


def test_lines_that_say_nothing_or_of_nothing_are_notes() -> None:
    file = support.port(
        "scale<const BM: i32>(x: f32)",
        above="/// tileport: BM TILE\n/// tileport: NOPE = TILE\n/// tileport: BM = TILE",
    )
    assert [(e.kind, e.severity) for e in file.errors] == [
        ("line-unreadable", Severity.NOTE),
        ("line-unused", Severity.NOTE),
    ]


def test_words_in_strings_and_bodies_are_no_directives() -> None:
    text = support.text("scale(x: f32)").replace(
        "let i: i32 = program_id(0);",
        'let s = "// tileport: allow(a) because b"; let i: i32 = 0;',
    )
    assert parse_port(text, "a.rs").allows == ()


# ---------------------------------------------------------------- unfinished Rust


def _changed(old: str, new: str) -> PortFile:
    text = support.text(
        "scale<E: ElementType, const BM: i32>(x: &Tensor<E, { [-1, BM] }>, s: f32)",
        attribute="optimization_hints = (sm_90 = (occupancy = 2,),)",
        items="    fn helper(a: i32) -> i32 {\n        a + 1\n    }\n",
        above="/// tileport: BM = TILE",
    )
    assert old in text
    return parse_port(text.replace(old, new), "a.rs")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("let i: i32 = program_id(0);", "let i: i32 = program_id(0"),
        ("let i: i32 = program_id(0);", "let i: i32 = ; x."),
        ("let i: i32 = program_id(0);", 'let s = "open;'),
        ("let i: i32 = program_id(0);", "if i < {"),
        ("a + 1\n    }", "a + 1\n"),
        ("        let i: i32 = program_id(0);\n    }\n}\n", "        let i"),
        ("}\n}\n", "}\n"),
    ],
)
def test_an_entry_is_whole_while_a_body_is_not(old: str, new: str) -> None:
    port = _changed(old, new)
    entry = port.entries[0]
    assert (entry.name, entry.complete) == ("scale", True) or not entry.complete
    assert [g.name for g in entry.generics] == ["E", "BM"]
    assert [p.name for p in entry.parameters] == ["x", "s"]
    assert entry.hints == {"sm_90": {"occupancy": 2}}
    assert entry.aliases == {"BM": "TILE"}
    assert "rust-syntax" in [e.kind for e in port.errors]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x: &Tensor<E, { [-1, BM] }>, s", "x: &Tensor<, s"),
        ("x: &Tensor<E, { [-1, BM] }>, s", "x: &Tensor<E, { [-1, B, s"),
        ("const BM: i32>(", "const BM: i32("),
        (", s: f32)", ", s: f32"),
        ("s: f32)", "s:"),
    ],
)
def test_an_entry_is_found_while_its_signature_is_being_typed(old: str, new: str) -> None:
    port = _changed(old, new)
    assert [entry.name for entry in port.entries] == ["scale"]
    assert port.entries[0].line == 9
    assert "rust-syntax" in [e.kind for e in port.errors]


def test_the_syntax_error_has_a_place() -> None:
    port = _changed("let i: i32 = program_id(0);", "let i: i32 = ;")
    error = next(e for e in port.errors if e.kind == "rust-syntax")
    assert error.rust is not None
    assert (error.rust.file, error.rust.line) == ("a.rs", 10)
    assert error.severity is Severity.WRONG


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_port_is_read_without_an_error(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(_PORT)))
    end = data.draw(st.integers(start, min(len(_PORT), start + 60)))
    new = data.draw(st.text("{}[]()<>,;:#/\"'! \n-=&*mutfnE\x00é\ud800", max_size=6))
    parse_port(_PORT[:start] + new + _PORT[end:], "attend.rs")


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    parse_port(text, "a.rs")
    parse_port("#[cutile::entry]" + text, "a.rs")
    parse_port(f"#[cutile::module]\nmod m {{\n/// tileport: {text}\n#[cutile::entry]\nfn f", "a.rs")


def test_the_ports_of_the_repository_are_read_without_a_fault() -> None:
    ports = sorted((Path(__file__).parents[2] / "ops").glob("*.rs"))
    assert ports
    for path in ports:
        port = parse_port(path.read_text("utf-8"), str(path))
        assert port.errors == (), path
        assert port.entries, path
        assert all(entry.complete for entry in port.entries), path
