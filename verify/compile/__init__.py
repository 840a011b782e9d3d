"""Rust text to Tile IR: the compile server, its workers, and `cargo check` behind them."""
