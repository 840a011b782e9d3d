"""`tileport doctor`: what is installed, what is missing, how to get it."""

from __future__ import annotations

import argparse
from importlib import metadata
from pathlib import Path

import msgspec

from tileport.agent.commands.base import Command
from tileport.agent.output import write
from tileport.agent.report import jsonout
from tileport.agent.report.style import Style, style_for
from tileport.agent.report.text import table
from tileport.agent.terminal import abilities
from tileport.agent.versions import version
from tileport.verify.config import load_config
from tileport.verify.errors import ExitCode
from tileport.verify.safe_text import one_line
from tileport.verify.toolchain import Tool, survey
from tileport.verify.workspace import find_workspace, open_state

EXAMPLES = """\
  tileport doctor
  tileport doctor --json
"""

#: Packages the ladder runs on: what without them does not work, and how they are got.
_PACKAGES = {
    "cuda-tile": ("capturing Python kernels", "pip install 'cuda-tile>=1.7,<1.8'"),
    "torch": ("capturing Python kernels", "pip install torch"),
    "tileport-native": ("compiling Rust to Tile IR", "python ffi/native/build.py, or make install"),
    "textual": ("the live session", "pip install textual"),
    "watchfiles": ("seeing files change", "pip install watchfiles"),
    "tree-sitter-rust": ("reading ports", "pip install tree-sitter-rust"),
    "tree-sitter-python": ("marking Python sources", "pip install tree-sitter-python"),
    "anthropic": ("the agent", "pip install anthropic"),
}
#: Without these no operator can be checked.
_NEEDED = frozenset({"cuda-tile", "torch", "tileport-native", "tileirdisasm", "tree-sitter-rust"})


def _package(name: str) -> Tool:
    used_for, how = _PACKAGES[name]
    try:
        return Tool(name=name, used_for=used_for, version=metadata.version(name))
    except metadata.PackageNotFoundError:
        return Tool(name=name, used_for=used_for, how_to_get=how, problem="not installed")


def _configure(_parser: argparse.ArgumentParser) -> None:
    pass


def _tool_lines(tools: list[Tool], style: Style, *, verbose: bool) -> list[str]:
    rows = []
    for tool in tools:
        mark = style("ok", "green") if tool.ok else style("--", "red")
        state = tool.version or "" if tool.ok else tool.problem
        place = tool.path if verbose or tool.name == "GPU" else ""
        rows.append([mark, tool.name, state, tool.used_for, place or ""])
    lines = list(table(rows, indent="  "))
    lines += [
        f"     {tool.name}: {tool.how_to_get}" for tool in tools if not tool.ok and tool.how_to_get
    ]
    return lines


def _run(options: argparse.Namespace) -> int:
    packages = [_package(name) for name in _PACKAGES]
    tools = list(survey())
    terminal = abilities()
    workspace = find_workspace(Path())
    config = load_config(str(workspace))
    state = open_state(workspace)
    missing = [t.name for t in (*packages, *tools) if not t.ok and t.name in _NEEDED]
    code = ExitCode.TOOL_MISSING if missing else ExitCode.CLEAN
    if options.json:
        write(
            jsonout.render(
                {
                    "tileport": version(),
                    "packages": packages,
                    "tools": tools,
                    "terminal": terminal,
                    "workspace": str(workspace),
                    "state": msgspec.to_builtins(state),
                    "config": msgspec.to_builtins(config),
                    "missing": missing,
                    "exit_code": int(code),
                }
            )
        )
        return int(code)
    style = style_for(options.color)
    lines = [f"{style('tileport', 'bold')} {version()}", style("packages", "bold")]
    lines += _tool_lines(packages, style, verbose=options.verbose)
    lines.append(style("tools", "bold"))
    lines += _tool_lines(tools, style, verbose=options.verbose)
    lines.append(style("terminal", "bold"))
    lines += table([[a.name, one_line(a.value, 60), a.advice] for a in terminal], indent="  ")
    lines.append(style("workspace", "bold"))
    lines.append(f"  {workspace}")
    if state.notice:
        lines.append(f"  {state.notice}")
    lines.append(f"  targets {', '.join(config.targets) or 'the local GPU, else sm_100 and sm_90'}")
    if missing:
        lines.append(f"{style('missing', 'bold', 'red')}: {', '.join(missing)}")
    write("".join(line + "\n" for line in lines))
    return int(code)


COMMAND = Command(
    name="doctor",
    summary="say what is installed, what is missing, and how to get it",
    examples=EXAMPLES,
    configure=_configure,
    run=_run,
)
