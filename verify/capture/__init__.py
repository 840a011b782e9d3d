"""Capture: which kernels an operator launches, what Python fixed for them, and their Tile IR.

`client.py` is what the session and the commands use; it asks `server.py`, a warm process with
torch and cuda.tile loaded, which forks a fresh process for every capture and target:

    client.py -> server.py -> jobs.py (fork, deadlines) -> worker.py (the user's Python)

In the worker `driver.py`, `device.py` and `fake_tensors.py` stand in for the GPU, `loader.py` and
`cases.py` bring in the operator and its cases, `recorder.py` sees the launches, and `facts.py`,
`folded.py` and `export.py` turn each into what a Rust port must declare and match.

`command.py` runs any Python command with `recording.py` in its processes, which is started by
`bootstrap/sitecustomize.py` and records the same way.

Other parts import `request`, `client`, `command`, `targets` and `inputs`, which import neither
torch nor cuda.tile; case files import `case_api`.
"""
