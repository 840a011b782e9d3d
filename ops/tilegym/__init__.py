"""Cases for the operators of TileGym 1.5.1, found by module name.

`tilegym.ops.cutile.NAME` is captured with `NAME.cases.py` from here; its port, if there is one,
lies beside it as `NAME.rs`.
"""
