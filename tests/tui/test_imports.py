"""The process that paints imports nothing that can crash, hang or take seconds."""

import subprocess
import sys

_FIRST = "import tileport.tui.__main__, tileport.tui.app"
_LATER = (
    "import tileport.tui.screens.ask, tileport.tui.screens.variants, "
    "tileport.tui.screens.specialization, tileport.tui.screens.pager, "
    "tileport.verify.session, tileport.verify.port; "
    "from tileport.tui.text import highlight as h; h.grammar('rust'); h.grammar('python')"
)


def modules_after(code):
    show = "import sys; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {show}"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_the_ui_process_never_imports_torch_or_cuda_tile():
    loaded = modules_after(f"{_FIRST}; {_LATER}")
    assert "tileport.verify.session" in loaded
    bad = {name for name in loaded if name.split(".")[0] in {"torch", "cuda", "numpy", "ml_dtypes"}}
    assert not bad


def test_the_first_paint_waits_for_no_grammar_session_or_further_screen():
    loaded = modules_after(_FIRST)
    late = {
        "tree_sitter_rust",
        "tileport.verify.session",
        "tileport.verify.port",
        "tileport.tui.screens.variants",
        "tileport.tui.screens.pager",
        "watchfiles",
        "anthropic",
    }
    assert late & loaded == set()


def test_help_and_bad_input_do_not_wait_for_textual():
    loaded = modules_after("import tileport.tui.__main__")
    assert "textual" not in loaded
