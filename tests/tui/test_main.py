"""The command line: bad input is one line and code 2, before anything opens."""

import re
import subprocess
import sys

import pytest

from tests.support.pty import Terminal


def run(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "tileport.tui", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def in_terminal(folder, *arguments, env=None):
    """Exit code and text of a run in a terminal that is expected to end by itself."""
    command = [sys.executable, "-m", "tileport.tui", *arguments]
    with Terminal(command, cwd=folder, env=env, size=(200, 20)) as terminal:
        code = terminal.wait(20)
        return code, terminal.text.strip()


def test_without_a_terminal_it_says_so_and_names_the_command_for_that():
    done = run("ops/x.py")
    assert done.returncode == 2
    assert done.stdout == ""
    assert re.fullmatch(r"tileport-tui: .*not a terminal.*tileport check.*\n", done.stderr)


def test_help_has_examples_and_needs_no_terminal():
    done = run("--help")
    assert done.returncode == 0
    assert "examples:" in done.stdout
    assert "tileport-tui ops/mla_decode.py" in done.stdout
    for option in ("--port", "--cases", "--target", "--theme", "--version", "--log-file"):
        assert option in done.stdout


def test_version_is_one_line():
    done = run("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"tileport \d+\.\d+\.\d+\S*\n", done.stdout)


@pytest.mark.parametrize(
    "arguments", [(), ("a.py", "--colour"), ("a.py", "b.py"), ("a.py", "--port")]
)
def test_bad_options_are_one_line_and_code_2(arguments):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("tileport-tui: ")


def test_a_missing_operator_is_one_line_before_the_app_opens(tmp_path):
    code, text = in_terminal(tmp_path, "ops/nothing.py")
    assert code == 2
    assert text.startswith("tileport-tui: ops/nothing.py: no such file")
    assert "\n" not in text


def test_an_unknown_theme_is_one_line_that_lists_the_known(tmp_path):
    (tmp_path / "x.py").write_text("import cuda.tile as ct\n")
    code, text = in_terminal(tmp_path, "x.py", "--theme", "mauve")
    assert code == 2
    assert "no theme 'mauve'" in text
    assert "tileport-light" in text


def test_a_bad_theme_file_is_one_line(tmp_path):
    (tmp_path / "x.py").write_text("import cuda.tile as ct\n")
    (tmp_path / "mine.toml").write_text('name = "mine"\n[severity]\nwrong = "reddish on"\n')
    code, text = in_terminal(tmp_path, "x.py", "--theme", "mine.toml")
    assert code == 2
    assert "severity.wrong = 'reddish on' is no style" in text


def test_a_log_file_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "x.py").write_text("import cuda.tile as ct\n")
    code, text = in_terminal(tmp_path, "x.py", "--log-file", "no/such/folder/log")
    assert code == 2
    assert "cannot write the log" in text


def test_a_terminal_that_cannot_place_text_is_said(tmp_path):
    (tmp_path / "x.py").write_text("import cuda.tile as ct\n")
    code, text = in_terminal(tmp_path, "x.py", env={"TERM": "dumb"})
    assert code == 2
    assert "TERM is dumb" in text
