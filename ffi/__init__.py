"""The native side: the Rust helper today, built ports behind `ct.launch` later."""
