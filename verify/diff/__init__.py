"""The difference between the Tile IR of the reference and of the port."""
