"""Where state is kept, also where the workspace cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tileport.verify.errors import TileportError
from tileport.verify.workspace import cache_home, find_workspace, open_state


def test_state_lies_in_the_workspace_and_git_does_not_see_it(tmp_path: Path) -> None:
    state = open_state(tmp_path)
    assert state.root == tmp_path / ".tileport"
    assert state.notice == ""
    assert (state.root / ".gitignore").read_text() == "*\n"


def test_where_the_workspace_cannot_be_written_the_cache_folder_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / ".tileport").write_text("in the way")
    state = open_state(workspace)
    assert state.root.is_relative_to(tmp_path / "cache" / "tileport")
    assert str(state.root) in state.notice
    assert open_state(workspace).root == state.root
    other = tmp_path / "other"
    other.mkdir()
    (other / ".tileport").write_text("in the way")
    assert open_state(other).root != state.root


def test_a_file_system_without_writing_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert open_state("/proc").root.is_relative_to(tmp_path)


def test_no_place_at_all_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".tileport").write_text("in the way")
    (tmp_path / "cache").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(TileportError, match="no place for tileport's state"):
        open_state(tmp_path)


def test_the_cache_folder_is_the_one_that_is_set_if_that_is_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_home() == tmp_path
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_home() == tmp_path / ".cache"


def test_a_broken_project_file_that_names_tileport_marks_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.tileport]\nx = \n")
    (tmp_path / "deep").mkdir()
    assert find_workspace(tmp_path / "deep") == tmp_path
