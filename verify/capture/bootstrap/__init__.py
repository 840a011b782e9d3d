"""A folder for PYTHONPATH: its `sitecustomize` has Python processes record their launches."""
