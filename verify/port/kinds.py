"""The kinds of finding that reading a port and holding it against Python can make.

Kinds that the comparison of the IR has too (`tileport.verify.diff.kinds`) mean the same there, so
that one allow comment is for both.
"""

from __future__ import annotations

from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    # the file
    "module-missing": "the file has no #[cutile::module]",
    "rust-syntax": "the Rust does not parse",
    "entry-twice": "two entries port one kernel",
    "other-cutile": "the port says it is for another version of the crates",
    "line-unreadable": "a tileport: line says nothing that is known",
    "line-unused": "a tileport: line is for a name the entry does not have",
    "allow-without-reason": "a finding is allowed without a reason, and so it is not",
    "allow-unused": "a finding is allowed that is not there",
    # generics
    "generic-unknown": "a const generic stands for nothing in Python",
    "generic-unbound": "nothing says which type a generic is",
    "type-contradiction": "one generic would have to be two types",
    "constant-type": "a Python constant is of no type that its generic can be",
    "scalar-as-constant": "the port is compiled for a value that Python reads at run time",
    # parameters
    "parameter-unknown": "a parameter of the port stands for nothing in Python",
    "parameter-missing": "the port does not take a parameter that Python uses",
    "constant-as-runtime": "a constant of Python comes in at run time",
    "rank-changed": "an array has another number of dimensions",
    "dtype-changed": "an array or scalar has another element type",
    "index-width-changed": "extents and strides have fewer bits than Python counts with",
    # what Python fixed
    "shape-not-static": "an extent that Python fixed is read at run time",
    "shape-static": "an extent is fixed that Python reads at run time",
    "shape-changed": "an extent is fixed to another value",
    "stride-not-static": "a stride that Python fixed is read at run time",
    "divisibility-shifted": "cutile's own launcher would put a divisibility on another dimension",
    "hint-lost": "a compiler option of Python is not given",
    "hint-extra": "a compiler option is given that Python does not give",
    "hint-changed": "a compiler option has another value",
    "constant-not-declared": "a constant of Python has no generic in the port",
    "constant-changed": "a constant has another value",
    "global-changed": "a const item has another value than the Python global of its name",
}
