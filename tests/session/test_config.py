"""`[tool.tileport]`: what is read, and what is said of what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileport.verify.config import Config, Deadlines, OperatorConfig, load_config
from tileport.verify.errors import TileportError
from tileport.verify.model import Severity


def _load(folder: Path, text: str) -> Config:
    (folder / "pyproject.toml").write_text(text)
    return load_config(str(folder))


def _line(folder: Path, text: str) -> str:
    with pytest.raises(TileportError) as caught:
        _load(folder, text)
    return caught.value.line().replace(str(folder / "pyproject.toml"), "PP")


def test_without_settings_there_are_defaults(tmp_path: Path) -> None:
    assert load_config(str(tmp_path)) == Config()
    assert _load(tmp_path, "[project]\nname = 'x'\n") == Config()
    assert Config().threshold is Severity.SLOW


def test_every_setting_is_read(tmp_path: Path) -> None:
    text = """
[tool.tileport]
targets = ["sm_90", "sm_100a", "sm_90"]
threshold = "unsafe"
workers = 3
cache-size = "1.5 GB"
bytecode-version = "13.5"
all-candidates = true
capture-mode = "fake"
[tool.tileport.deadlines]
compile = 1.5
[tool.tileport.operators]
"ops/x.py" = { port = "p.rs" }
"a.b.c".cases = "c.py"
"""
    assert _load(tmp_path, text) == Config(
        targets=("sm_90", "sm_100a"),
        threshold=Severity.UNSAFE,
        workers=3,
        cache_size=1_500_000_000,
        bytecode_version="13.5",
        all_candidates=True,
        capture_mode="fake",
        deadlines=Deadlines(compile=1.5),
        operators={"ops/x.py": OperatorConfig(port="p.rs"), "a.b.c": OperatorConfig(cases="c.py")},
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "[tool.tileport]\ntreshold = 'slow'\n",
            "PP:2: unknown key 'treshold' in [tool.tileport]; did you mean threshold?",
        ),
        (
            "[tool.tileport]\n\nall_candidates = true\n",
            "PP:3: unknown key 'all_candidates' in [tool.tileport]; did you mean all-candidates?",
        ),
        (
            "[tool.tileport]\nthreshold = 'slov'\n",
            "PP:2: threshold must be one of wrong, unsafe, slow, note, did you mean slow?",
        ),
        (
            "[tool.tileport]\ntargets = ['hopper']\n",
            "PP:2: targets must be GPU architectures such as \"sm_90\", not 'hopper'",
        ),
        (
            "[tool.tileport]\nworkers = true\n",
            "PP:2: workers must be a whole number from 0 (one for each core) to 256",
        ),
        (
            "[tool.tileport.deadlines]\nx = 1\ncompile = -1\n",
            "PP:2: unknown key 'x' in [tool.tileport.deadlines];"
            " known are capture, compile, diff, build",
        ),
        (
            "[tool.tileport.deadlines]\n# a comment\ncompile = -1\n",
            "PP:3: compile must be a number of seconds above 0",
        ),
        (
            "[tool]\ntileport.deadlines = { compile = 0 }\n",
            "PP:2: compile must be a number of seconds above 0",
        ),
        (
            "[tool.tileport.operators.\"ops/x.py\"]\nprot = 'x'\n",
            "PP:2: unknown key 'prot' in [tool.tileport.operators.\"ops/x.py\"];"
            " did you mean port?",
        ),
        (
            "[tool.tileport]\ncache-size = 'big'\n",
            'PP:2: cache-size must be a size, such as "1 GB" or a number of bytes',
        ),
        ("[tool]\ntileport = 1\n", "PP:2: tool.tileport is not a table"),
        ("[tool.tileport]\ndeadlines = 1\n", "PP:2: tool.tileport.deadlines is not a table"),
        ("[tool.tileport]\nx = \n", "PP:2: not TOML: Invalid value"),
        ("a = 1\na = 2\n", "PP:2: not TOML: Cannot overwrite a value"),
    ],
)
def test_a_fault_is_told_with_its_line(tmp_path: Path, text: str, line: str) -> None:
    assert _line(tmp_path, text) == line


_NOISE = st.lists(
    st.sampled_from(
        ["", "# [tool.tileport]", "[other]", "x = 1", "[other.deep]", 'y = "[a]"', "z = ["]
    ),
    max_size=6,
)


@given(_NOISE)
def test_the_line_is_that_of_the_key_whatever_stands_before(noise: list[str]) -> None:
    import tempfile
    import tomllib

    text = "\n".join([*noise, "[tool.tileport]", "threshold = 1", ""])
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    with tempfile.TemporaryDirectory() as folder:
        assert _line(Path(folder), text).startswith(f"PP:{len(noise) + 2}: threshold must be")
